"""Rows of the speed table for sampled CFR on limit hold'em."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ..abstraction import AbstractionConfig, CardAbstraction, RoundConfig, build_abstraction
from ..game.presets import preset
from ..solver.betting_tree import SHOWDOWN, BettingTree, betting_tree
from ..solver.mccfr import SAMPLINGS, MonteCarlo
from ..solver.tables import Tables
from ..solver.vector_cfr import VectorCFR

_REPEATS = 5  # measurements of which the fastest counts: the machine may be busy with other things


def percentile_abstraction(buckets: int) -> CardAbstraction:
    """Limit hold'em in percentile buckets, from the cache if it is there."""
    rounds = (RoundConfig("preflop-classes"), *[RoundConfig("ehs", buckets)] * 3)
    return build_abstraction(AbstractionConfig(preset("acpc-limit"), rounds))


def _solver(storage: str = "float32", **options: Any) -> MonteCarlo:
    tree, abstraction = betting_tree(preset("acpc-limit")), percentile_abstraction(200)
    return MonteCarlo(tree, abstraction, Tables(tree, abstraction.num_buckets, storage), **options)


def _speed(solver: MonteCarlo, seconds: float = 1.0) -> tuple[float, float]:
    """Iterations and nodes a second."""
    began, before, iterations = perf_counter(), solver.touched_nodes, 0
    while (passed := perf_counter() - began) < seconds:
        solver.run(solver.chunk)
        iterations += solver.chunk
    return iterations / passed, (solver.touched_nodes - before) / passed


def peer_speed(solver: Any, iterations: int) -> float:
    """Iterations a second of a solver of OpenSpiel."""
    began = perf_counter()
    for _ in range(iterations):
        solver.run_iteration()
    return iterations / (perf_counter() - began)


def external() -> dict[str, Any]:
    """External sampling against OpenSpiel's C++ solver on universal_poker, one thread each."""
    import pyspiel

    solver = _solver()
    solver.run(4 * solver.chunk)  # compiled, and past the first iterations, which visit less
    game = pyspiel.universal_poker.load_universal_poker_from_acpc_gamedef(preset("acpc-limit").to_acpc())
    peer = pyspiel.ExternalSamplingMCCFRSolver(game, seed=1)
    peer_speed(peer, 4000)  # its first iterations, on empty tables, are twice as fast as the later ones
    # In turns, so that a drift of the machine's speed shows in both.
    theirs, ours = [], []
    for _ in range(_REPEATS):
        theirs.append(peer_speed(peer, 1000))
        ours.append(_speed(solver))
    speed, nodes = max(ours)
    return {
        "iterations_per_second": speed,
        "nodes_per_second": nodes,
        "peer_iterations_per_second": max(theirs),
        "ratio": speed / max(theirs),
        "result": f"external sampling on acpc-limit, 169-200-200-200: {speed:,.0f} iterations a second "
        f"({nodes / 1e6:.0f} million nodes); {speed / max(theirs):.0f} times OpenSpiel's C++ solver on "
        f"universal_poker ({max(theirs):,.0f})",
    }


def threads() -> dict[str, Any]:
    """External sampling with two threads on shared tables against one."""
    one, two = _solver(), _solver(threads=2)
    for solver in (one, two):
        solver.run(4 * solver.chunk)
    pairs = [(_speed(one)[0], _speed(two)[0]) for _ in range(_REPEATS)]
    first, second = max(speed for speed, _ in pairs), max(speed for _, speed in pairs)
    return {
        "iterations_per_second": second,
        "one_thread_iterations_per_second": first,
        "ratio": second / first,
        "result": f"external sampling on acpc-limit with two threads: {second:,.0f} iterations a second; "
        f"{second / first:.2f} times one thread ({first:,.0f})",
    }


def samplers() -> dict[str, Any]:
    """Every sampler, in float32 and int16, one thread: iterations and nodes a second, bytes an infoset."""
    row: dict[str, Any] = {}
    texts = []
    for storage in ("float32", "int16"):
        for sampling in SAMPLINGS:
            solver = _solver(storage, sampling=sampling)
            solver.run(2 * solver.chunk)
            speed, nodes = max(_speed(solver, 0.5) for _ in range(_REPEATS))
            row[f"{sampling}_{storage}"] = {"iterations_per_second": speed, "nodes_per_second": nodes}
            texts.append(f"{sampling} {storage} {speed:,.0f} ({nodes / 1e6:.0f} M)")
    return row | {"result": "iterations (nodes) a second on acpc-limit: " + ", ".join(texts)}


def public_chance() -> dict[str, Any]:
    """Public chance sampling in 2,000 percentile buckets a round, and CFR-BR from the river, one thread each.

    The twin visits the same pairs of node and hand one board at a time in NumPy, without learning.
    """
    tree, abstraction = betting_tree(preset("acpc-limit")), percentile_abstraction(2000)
    speeds = {}
    for name, response in (("public chance sampling", None), ("CFR-BR from the river", "river")):
        solver = VectorCFR(tree, abstraction, "lcfr", "public-chance", response)
        solver.run(2)
        measured = []
        for _ in range(_REPEATS):
            began, before, done = perf_counter(), solver.touched_nodes, solver.iterations
            solver.run(10)
            passed = perf_counter() - began
            measured.append(
                ((solver.touched_nodes - before) / passed, (solver.iterations - done) / passed)
            )
        speeds[name] = max(measured)
    nodes, iterations = speeds["public chance sampling"]
    twin = _plain_visits(tree)
    others = "; ".join(
        f"{name} {rate:,.1f} iterations ({visits / 1e6:,.0f} million)"
        for name, (visits, rate) in speeds.items()
    )
    return {
        "node_hands_per_second": nodes,
        "iterations_per_second": iterations,
        "twin_node_hands_per_second": twin,
        "ratio": nodes / twin,
        "result": f"acpc-limit, 169-2000-2000-2000, a second (node-hands): {others}; {nodes / twin:.0f} "
        f"times a NumPy walk of the river without learning ({twin / 1e6:,.0f} million)",
    }


def _plain_visits(tree: BettingTree) -> float:
    """Pairs of node and hand a second of a river round history by history in NumPy, hands as vectors."""
    rng = np.random.default_rng(0)
    hands = 1081
    payoff = np.sign(rng.random((hands, 1)) - rng.random(hands)).astype(np.float32)
    chances = rng.random((tree.num_slots[3], hands), dtype=np.float32)
    roots = [
        node for node in range(1, len(tree))
        if tree.round[node] == 3 and tree.num_actions[node] and tree.round[tree.parent[node]] < 3
    ][:40]  # fmt: skip
    visited = 0

    def value(node: int, reach: np.ndarray) -> np.ndarray:
        nonlocal visited
        visited += hands
        if tree.num_actions[node] == 0:
            chips = float(tree.spent[node].min())
            return payoff @ reach * chips if tree.kind[node] == SHOWDOWN else chips * reach.sum() - reach
        first, slot = int(tree.first_child[node]), int(tree.action_slot[node])
        found = []
        for action in range(tree.num_actions[node]):
            chance = chances[slot + action]
            if tree.kind[node] == 0:
                found.append(chance * value(first + action, reach))
            else:
                found.append(value(first + action, reach * chance))
        return np.sum(found, axis=0)

    began = perf_counter()
    for root in roots:
        value(root, np.ones(hands, np.float32))
    return visited / (perf_counter() - began)

"""The speed table: each row measures us and a peer or twin in the same run, as a ratio."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from ..game.hand import new_hand
from ..game.presets import preset
from ..game.strength import hand_strength
from ..solver.betting_tree import betting_tree
from ..solver.mccfr import CHUNK, MonteCarlo
from ..solver.public_tree import Deal, Scratch, Walk
from ..solver.strategy import Strategy
from ..solver.tables import Tables
from . import bench_abstraction, bench_solvers, bench_tabular


def run_benchmarks(names: Sequence[str] = ()) -> Iterator[dict[str, Any]]:
    """Measure the rows of those names (default: all but MINUTES), one after the other.

    Raises ValueError for a name that there is not.
    """
    for name in names:
        if name not in BENCHMARKS:
            raise ValueError(f"unknown benchmark {name!r}: choose from {', '.join(BENCHMARKS)}")
    for name in names or (name for name in BENCHMARKS if name not in MINUTES):
        yield {"name": name, **BENCHMARKS[name]()}


def _best_seconds(call: Callable[[], Any], repeats: int = 5) -> float:
    """Shortest of several runs, after one that compiles and warms up."""
    call()
    times = []
    for _ in range(repeats):
        started = perf_counter()
        call()
        times.append(perf_counter() - started)
    return min(times)


def _strength() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    order = rng.random((1_000_000, 52), dtype=np.float32)
    hands = np.argpartition(order, 7, axis=1)[:, :7].astype(np.uint8)
    del order
    ours = len(hands) / _best_seconds(lambda: hand_strength(hands))
    row: dict[str, Any] = {"hands_per_second": ours}
    text = f"{ours / 1e6:.0f} million random 7-card hands a second from batches"
    try:
        from phevaluator import evaluate_cards
    except ImportError:
        text += " (phevaluator is not installed: no ratio)"
    else:
        few = hands[:20_000].tolist()
        peer = len(few) / _best_seconds(lambda: [evaluate_cards(*hand) for hand in few], 3)
        row |= {"peer_hands_per_second": peer, "ratio": ours / peer}
        text += f"; {ours / peer:.0f} times phevaluator one by one ({peer / 1e6:.2f} million)"
    return row | {"result": text}


def _best_response() -> dict[str, Any]:
    """The river round of limit hold'em on one board: 567 histories, one position."""
    rules = preset("acpc-limit")
    tree = betting_tree(rules)
    abstraction = bench_solvers.percentile_abstraction(200)
    tables = Tables(tree, abstraction.num_buckets)
    MonteCarlo(tree, abstraction, tables).run(10 * CHUNK)
    walk = Walk(0, Strategy(tree, abstraction, tables.average_strategy()), precision="single")
    scratch = Scratch(walk)
    rng = np.random.default_rng(0)
    scratch.reach_in[3][:] = rng.random(scratch.reach_in[3].shape)
    board = tuple(rng.permutation(52)[:5].tolist())
    river = [Deal(board[4:], 1, np.array([0]))]
    out = np.zeros_like(scratch.values_in[3])
    seconds = _best_seconds(lambda: walk._visit(3, board[:4], river, 1.0, out, scratch), 20)
    histories = int((walk.plans[3].entries >= 0).sum())
    twin_seconds = _showdown_twin_seconds(board)
    return {
        "milliseconds": 1000 * seconds,
        "histories": histories,
        "twin_milliseconds": 1000 * twin_seconds,
        "ratio": twin_seconds / seconds,
        "result": f"best response on a river board, {histories} histories, one position: "
        f"{1000 * seconds:.1f} ms; "
        f"its {9 * histories:,} showdowns alone as a NumPy matrix product: {1000 * twin_seconds:.0f} ms "
        f"({twin_seconds / seconds:.1f} times)",
    }


def _showdown_twin_seconds(board: tuple[int, ...]) -> float:
    """The showdowns of that round by a dense payoff matrix over live hands."""
    deck = preset("acpc-limit").deck
    cards = [hand for hand in deck.hand_cards.tolist() if not set(hand) & set(board)]
    strength = hand_strength(np.array([[*hand, *board] for hand in cards]))
    pairs = np.array(cards)
    apart = (pairs[:, None, :, None] != pairs[None, :, None, :]).all(axis=(2, 3))
    payoff = (np.sign(strength[:, None] - strength[None, :]) * apart).astype(np.float32)
    reach = np.random.default_rng(0).random((len(cards), 9 * 567), dtype=np.float32)
    return _best_seconds(lambda: payoff @ reach, 3)


def _openspiel() -> dict[str, Any]:
    """OpenSpiel's C++ solver on our Leduc poker through its cached tree, and on its own."""
    import pyspiel

    from ..game import openspiel  # noqa: F401 - registers the game

    def speed(name: str) -> float:
        solver = pyspiel.ExternalSamplingMCCFRSolver(pyspiel.load_game(name), seed=1)
        bench_solvers.peer_speed(solver, 5_000)  # the cache fills
        return bench_solvers.peer_speed(solver, 20_000)

    theirs, ours = speed("leduc_poker"), speed("cached_tree(game=python_holdem(rules=leduc))")
    return {
        "iterations_per_second": ours,
        "peer_iterations_per_second": theirs,
        "ratio": ours / theirs,
        "result": f"OpenSpiel's C++ external sampling on cached_tree(game=python_holdem(rules=leduc)): "
        f"{ours:,.0f} iterations a second; {ours / theirs:.1f} times its own leduc_poker ({theirs:,.0f})",
    }


def _hands() -> dict[str, Any]:
    """Random limit hands in plain Python, dealt, played and settled."""
    rules = preset("acpc-limit")
    rng = np.random.default_rng(0)

    def ours() -> None:
        for _ in range(300):
            hand = new_hand(rules, seed=rng)
            while not hand.is_over:
                passive = hand.betting.passive_actions()[-1]
                bounds = hand.betting.raise_bounds()
                raises = bounds is not None and rng.random() < 0.3
                hand = hand.play(hand.betting.raise_action(bounds[0]) if raises and bounds else passive)
            assert sum(hand.winnings) == 0

    speed = 300 / _best_seconds(ours, 3)
    row: dict[str, Any] = {"hands_per_second": speed}
    text = f"{speed:,.0f} random hands of acpc-limit a second, dealt, played and settled one by one"
    try:
        from pokerkit import Automation, FixedLimitTexasHoldem
    except ImportError:
        return row | {"result": text + " (pokerkit is not installed: no ratio)"}

    def theirs() -> None:
        for _ in range(50):
            state = FixedLimitTexasHoldem.create_state(
                tuple(Automation), True, 0, (5, 10), 10, 20, (1000, 1000), 2
            )
            while state.status:
                if state.can_complete_bet_or_raise_to() and rng.random() < 0.3:
                    state.complete_bet_or_raise_to()
                else:
                    state.check_or_call()

    peer = 50 / _best_seconds(theirs, 3)
    text += f"; {speed / peer:.1f} times pokerkit ({peer:,.0f})"
    return row | {"peer_hands_per_second": peer, "ratio": speed / peer, "result": text}


BENCHMARKS: dict[str, Callable[[], dict[str, Any]]] = {
    "strength": _strength,
    "tables": bench_abstraction.tables,
    "histograms": bench_abstraction.histograms,
    "lookup": bench_abstraction.lookup,
    "leduc-cfr": bench_tabular.leduc_cfr,
    "leduc-external": bench_tabular.leduc_external,
    "mccfr": bench_solvers.external,
    "threads": bench_solvers.threads,
    "samplers": bench_solvers.samplers,
    "public-chance": bench_solvers.public_chance,
    "best-response": _best_response,
    "openspiel": _openspiel,
    "hands": _hands,
    "abstraction-200": bench_abstraction.small_abstraction,
    "abstraction-2000": bench_abstraction.large_abstraction,
}
MINUTES = ("abstraction-200", "abstraction-2000")  # rows that take minutes: measured when they are named

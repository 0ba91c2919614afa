"""The solvers of hold'em that a run can be driven by: one for each sampling, all with one face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..abstraction.bets import BetMenu
from ..abstraction.buckets import CardAbstraction
from ..game.rules import Rules
from .betting_tree import MAX_NODES, BettingTree, betting_tree
from .ground import is_whole
from .lanes import LANES
from .mccfr import SCHEMES_OF, MonteCarlo, check_combination, check_scheme
from .public_tree import check_walkable
from .regret import SCHEMES, make_scheme
from .round_plan import TRAIN, round_plans
from .tables import Tables
from .tree_size import TreeSize, tree_size
from .vector_cfr import (
    ROUND_NAMES,
    VECTOR_SAMPLINGS,
    VectorCFR,
    check_vector_options,
    sampled_rounds,
)

if TYPE_CHECKING:
    from .config import SolveConfig


class HoldemSolver(Protocol):
    """What a run needs of a solver.

    Attributes:
        unit: what `touched_nodes` counts.
    """

    unit: str

    @property
    def iterations(self) -> int:
        """Iterations done so far, those of a checkpoint included."""

    @property
    def chunk(self) -> int:
        """A good number of iterations for one call of `run`: some tenths of a second."""

    @property
    def touched_nodes(self) -> int:
        """Nodes visited since the solver was made."""

    def run(self, iterations: int) -> None:
        """Do that many more iterations. How they are divided among calls must not matter."""

    def average_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]."""

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]."""

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write a checkpoint of everything that is needed to go on."""

    def load(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Continue from a checkpoint; its header. ValueError if it is damaged or does not have `header`."""


@dataclass(frozen=True)
class SolverKind:
    """How the solver of a sampling is made, and what it can do.

    Attributes:
        make: from the configuration, the tree, the abstraction and the file for mapped tables (None: in
            memory).
        schemes: names of the schemes that it knows.
        memory: from the configuration and the size of the tree: bytes by what they are for.
        options: those fields of OPTIONS that it has.
        check: raises ValueError for choices that do not go together.
        unit: what its solver counts, see `HoldemSolver`.
    """

    make: Callable[[SolveConfig, BettingTree, CardAbstraction, Path | None], HoldemSolver]
    schemes: tuple[str, ...]
    memory: Callable[[SolveConfig, TreeSize], dict[str, int]]
    options: tuple[str, ...]
    check: Callable[[SolveConfig], None]
    unit: str


#: Fields of `SolveConfig` that only some solvers have.
OPTIONS = (
    "storage", "averages", "memory_map", "pruning", "discounting", "exploration", "average_sampling",
    "best_response_from",
)  # fmt: skip


def _monte_carlo(
    config: SolveConfig, tree: BettingTree, abstraction: CardAbstraction, path: Path | None
) -> MonteCarlo:
    tables = Tables(tree, abstraction.num_buckets, config.storage, config.averages, path)
    own = {"exploration": config.exploration} if config.exploration is not None else {}
    return MonteCarlo(
        tree,
        abstraction,
        tables,
        config.weighting(),
        config.sampling,
        config.seed,
        config.threads,
        pruning=config.pruning,
        discounting=config.discounting,
        average_sampling=config.average_sampling,
        **own,
    )


def _monte_carlo_memory(config: SolveConfig, size: TreeSize) -> dict[str, int]:
    assert size.num_buckets is not None
    both = tree_size(config.rules, config.bets, size.num_buckets, None, config.storage, config.averages)
    alone = tree_size(config.rules, config.bets, size.num_buckets, None, config.storage, ())
    total, regrets = both.table_bytes or 0, alone.table_bytes or 0
    return {"regrets": regrets, "averages": total - regrets}


def _check_monte_carlo(config: SolveConfig) -> None:
    keeps_all = config.averages is None or len(config.averages) == config.rules.num_rounds
    check_combination(config.scheme, config.sampling, config.pruning, config.discounting, keeps_all)
    check_scheme(config.weighting())


def _monte_carlo_kind(sampling: str) -> SolverKind:
    own = {
        "external": ("pruning",),
        "outcome": ("exploration",),
        "average-strategy": ("average_sampling",),
    }
    options = ("storage", "averages", "memory_map", "discounting", *own.get(sampling, ()))
    schemes = SCHEMES_OF[sampling]
    return SolverKind(
        _monte_carlo, schemes, _monte_carlo_memory, options, _check_monte_carlo, MonteCarlo.unit
    )


def _vector(
    config: SolveConfig, tree: BettingTree, abstraction: CardAbstraction, path: Path | None
) -> VectorCFR:
    return VectorCFR(
        tree,
        abstraction,
        config.weighting(),
        config.sampling,
        config.best_response_from,
        config.seed,
        config.threads,
    )


def _vector_memory(config: SolveConfig, size: TreeSize) -> dict[str, int]:
    """Of the walks what grows with the tables is counted: whole strategies, values of actions and visits."""
    assert size.num_buckets is not None
    if size.nodes > MAX_NODES or not size.is_complete:
        total = size.table_bytes or 0
        return {"regrets": total // 2, "averages": total // 2}
    entries, visits = _lane_entries(config.rules, config.bets)
    taken = 4 * sum(count * buckets for count, buckets in zip(entries, size.num_buckets, strict=True))
    memory = {"regrets": taken, "averages": taken}
    if config.weighting().predictive:
        memory["predictions"] = taken
    if config.best_response_from is not None:
        rounds = ROUND_NAMES.index(config.best_response_from)
        early = zip(entries[:rounds], size.num_buckets[:rounds], strict=True)
        memory["opponents"] = len(memory) * 4 * sum(count * buckets for count, buckets in early)
    response = check_vector_options(
        config.weighting(), config.sampling, config.best_response_from, config.rules.num_rounds
    )
    rounds = config.rules.num_rounds
    sampled = sampled_rounds(config.sampling, response, rounds)
    copies = config.threads if config.sampling == "none" and response is None else 1
    memory["walks"] = 4 * sum(
        buckets * (count + copies * (count + nodes)) * (2 if index < (response or 0) else 1)
        for index, (count, nodes, buckets) in enumerate(
            zip(entries, visits, size.num_buckets, strict=True)
        )
        if is_whole(index, rounds, sampled)
    )
    return {name: taken for name, taken in memory.items() if taken}


@lru_cache(maxsize=8)
def _lane_entries(rules: Rules, bets: BetMenu) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """By round, entries of a bucket for actions and for nodes of both players, with their padding."""
    tree = betting_tree(rules, bets)
    everything = np.ones(len(tree), bool)
    found, nodes = [0] * rules.num_rounds, [0] * rules.num_rounds
    for player in (0, 1):
        for index, plan in enumerate(round_plans(tree, player, TRAIN, everything)):
            found[index] += int(plan.own_nodes[:, :, 1].sum()) * LANES
            nodes[index] += int(np.count_nonzero(plan.own_nodes[:, :, 1])) * LANES
    return tuple(found), tuple(nodes)


def _check_vector(config: SolveConfig) -> None:
    check_walkable(config.rules)
    check_vector_options(
        config.weighting(), config.sampling, config.best_response_from, config.rules.num_rounds
    )


def _vector_kind(sampling: str) -> SolverKind:
    schemes = []
    for name in SCHEMES:
        scheme = make_scheme(name, horizon=1)
        if not (scheme.adaptive or (sampling != "none" and (scheme.sweeps or scheme.predictive))):
            schemes.append(name)
    options = ("best_response_from",)
    return SolverKind(_vector, tuple(schemes), _vector_memory, options, _check_vector, VectorCFR.unit)


#: The kinds by the names that `sampling` has in a configuration.
SOLVERS: dict[str, SolverKind] = {
    **{sampling: _monte_carlo_kind(sampling) for sampling in SCHEMES_OF},
    **{sampling: _vector_kind(sampling) for sampling in VECTOR_SAMPLINGS},
}

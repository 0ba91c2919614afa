"""The solvers of hold'em that a run can be driven by: one for each sampling, all with one face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..abstraction.buckets import CardAbstraction
from .betting_tree import BettingTree
from .mccfr import SCHEMES_OF, MonteCarlo, check_combination
from .tables import Tables
from .tree_size import TreeSize, tree_size

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
    """

    make: Callable[[SolveConfig, BettingTree, CardAbstraction, Path | None], HoldemSolver]
    schemes: tuple[str, ...]
    memory: Callable[[SolveConfig, TreeSize], dict[str, int]]
    options: tuple[str, ...]
    check: Callable[[SolveConfig], None]


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


def _monte_carlo_kind(sampling: str) -> SolverKind:
    own = {
        "external": ("pruning",),
        "outcome": ("exploration",),
        "average-strategy": ("average_sampling",),
    }
    options = ("storage", "averages", "memory_map", "discounting", *own.get(sampling, ()))
    schemes = SCHEMES_OF[sampling]
    return SolverKind(_monte_carlo, schemes, _monte_carlo_memory, options, _check_monte_carlo)


#: The kinds by the names that `sampling` has in a configuration.
SOLVERS: dict[str, SolverKind] = {sampling: _monte_carlo_kind(sampling) for sampling in SCHEMES_OF}

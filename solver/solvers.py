"""The solvers of hold'em that a run can be driven by: one for each sampling, all with one face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..abstraction.buckets import CardAbstraction
from .betting_tree import BettingTree
from .mccfr import SAMPLINGS, SCHEMES, MonteCarlo
from .tables import Tables
from .tree_size import TreeSize

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
        make: from the configuration, the tree, the abstraction and the folder for mapped tables (None: in
            memory).
        schemes: names of the schemes that it knows.
        memory: from the configuration and the size of the tree: bytes by what they are for.
        options: fields of `SolveConfig` that only some solvers have and this one has.
    """

    make: Callable[[SolveConfig, BettingTree, CardAbstraction, Path | None], HoldemSolver]
    schemes: tuple[str, ...]
    memory: Callable[[SolveConfig, TreeSize], dict[str, int]]
    options: tuple[str, ...] = ()


def _monte_carlo(
    config: SolveConfig, tree: BettingTree, abstraction: CardAbstraction, folder: Path | None
) -> MonteCarlo:
    tables = Tables(tree, abstraction.num_buckets)
    return MonteCarlo(
        tree, abstraction, tables, config.scheme, config.sampling, config.seed, config.threads
    )


def _monte_carlo_memory(config: SolveConfig, size: TreeSize) -> dict[str, int]:
    total = size.table_bytes or 0
    return {"regrets": total // 2, "averages": total // 2}


_MONTE_CARLO = SolverKind(_monte_carlo, SCHEMES, _monte_carlo_memory)

#: The kinds by the names that `sampling` has in a configuration.
SOLVERS: dict[str, SolverKind] = dict.fromkeys(SAMPLINGS, _MONTE_CARLO)

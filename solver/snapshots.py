"""An average that is rebuilt from snapshots of the current strategy.

A table of averages doubles the memory of a round. Where a run keeps none for a round, it stores its current
strategy there from time to time, and the mean of these takes the average's place (Brown and Sandholm,
"Superhuman AI for multiplayer poker", Science 2019, do so on all rounds but the first).

The mean is one of probabilities, weighted as the scheme weighs iterations; the average of CFR weighs a
strategy also by how often its own player gets there, which buckets without memory do not tell. It is thus
another strategy than the average, and without the theorem that the average converges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.arrays import load_arrays, save_arrays


class Snapshots:
    """Snapshots of the current strategy in some rounds, in a folder each.

    Args:
        folder: where they are kept.
        rounds: the rounds that they are of.
        weight: of the iteration that a snapshot was taken after.
    """

    def __init__(self, folder: Path, rounds: Sequence[int], weight: Callable[[int], float]):
        self.folder, self.rounds, self.weight = folder, list(rounds), weight

    def take(self, iterations: int, strategy: Sequence[np.ndarray]) -> None:
        """Store the strategy after so many iterations, float32 [bucket, slot] by round."""
        arrays = {f"round{index}": strategy[index] for index in self.rounds}
        header: dict[str, Any] = {"iterations": iterations}
        save_arrays(self.folder / f"{iterations:015d}", "snapshot", header, arrays)

    def iterations(self) -> list[int]:
        """The iterations that snapshots were taken after, ascending."""
        return sorted(int(path.name) for path in self.folder.glob("[0-9]*"))

    def means(self, current: Sequence[np.ndarray]) -> dict[int, np.ndarray]:
        """Mean strategies by round, float32 [bucket, slot]; the plain mean where no weight is above 0.

        Args:
            current: the current strategy, which is taken where no snapshot was.
        """
        taken = self.iterations()
        if not taken:
            return {index: current[index] for index in self.rounds}
        weights = np.array([self.weight(iterations) for iterations in taken])
        if not weights.any():  # all of them before the delay of cfr+: they count the same
            weights[:] = 1.0
        found = {index: np.zeros(current[index].shape, np.float32) for index in self.rounds}
        for iterations, share in zip(taken, weights / weights.sum(), strict=True):
            _, arrays = load_arrays(self.folder / f"{iterations:015d}", "snapshot")
            for index in self.rounds:
                found[index] += np.float32(share) * arrays[f"round{index}"]
        return found

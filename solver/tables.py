"""Regrets and averages of a betting tree, bucket first, with checkpoints.

The tables of all rounds are one flat float32 array. A round has a row for each bucket; in the row every
decision node has a record: the cumulative regrets of its actions, then the cumulative strategy. A deal
touches one row a round and player.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.arrays import load_arrays, save_arrays
from .betting_tree import BettingTree


class Tables:
    """Cumulative regrets and strategies.

    Attributes:
        tree: the betting tree.
        num_buckets: buckets by round.
        values: float32 [all records].
        iterations: iterations done so far.
    """

    def __init__(self, tree: BettingTree, num_buckets: list[int]):
        self.tree, self.num_buckets = tree, list(num_buckets)
        self._row_length = [2 * slots for slots in tree.num_slots]
        sizes = [length * buckets for length, buckets in zip(self._row_length, num_buckets, strict=True)]
        self._round_start = np.concatenate([[0], np.cumsum(sizes)])
        self.values = np.zeros(int(self._round_start[-1]), np.float32)
        self.iterations = 0

    def row_start(self, round_index: int, buckets: np.ndarray) -> np.ndarray:
        """Where the rows of these buckets start in `values`."""
        return self._round_start[round_index] + buckets * self._row_length[round_index]

    def average_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: the average strategy; uniform where nothing was visited."""
        return self._normalised(average=True)

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: regret matching on the regrets so far; uniform without one."""
        return self._normalised(average=False)

    def _normalised(self, average: bool) -> list[np.ndarray]:
        tree, result = self.tree, []
        for index, buckets in enumerate(self.num_buckets):
            start, end = self._round_start[index : index + 2]
            rows = self.values[start:end].reshape(buckets, -1)
            out = np.empty((buckets, tree.num_slots[index]), np.float32)
            decisions = np.flatnonzero((tree.round == index) & (tree.num_actions > 0))
            for count in np.unique(tree.num_actions[decisions]):
                nodes = decisions[tree.num_actions[decisions] == count]
                slots = tree.action_slot[nodes][:, None] + np.arange(count)
                records = 2 * tree.action_slot[nodes][:, None] + count * average + np.arange(count)
                sums = np.maximum(rows[:, records], 0)  # [bucket, node, action]
                total = sums.sum(axis=2, keepdims=True)
                with np.errstate(invalid="ignore"):
                    out[:, slots] = np.where(total > 0, sums / total, np.float32(1 / count))
            result.append(out)
        return result

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write a checkpoint beside the old one, sync it and rename it into place."""
        save_arrays(
            path, "checkpoint", {**header, "iterations": self.iterations}, {"values": self.values}
        )

    def load(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Continue from a checkpoint; returns its header.

        Raises ValueError if it is damaged or of another run than `header` says.
        """
        found, arrays = load_arrays(path, "checkpoint")
        for key, value in header.items():
            if found.get(key) != value:
                raise ValueError(
                    f"checkpoint {path} is of another run: its {key} is {found.get(key)!r}, not {value!r}"
                )
        if arrays["values"].shape != self.values.shape:
            raise ValueError(f"checkpoint {path} does not fit the tables of this run")
        self.values[:] = arrays["values"]
        self.iterations = int(found["iterations"])
        return found

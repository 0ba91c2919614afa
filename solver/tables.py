"""Regrets and averages of a betting tree, bucket first, with checkpoints.

The tables of all rounds are one flat array. A round has a row for each bucket; in the row every decision
node has a record: the cumulative regrets of its actions, then, if the round keeps averages, the cumulative
strategy. A deal touches one row a round and player.

Numbers are float32, or int16 with a binary exponent for the regrets and one for the averages of a record
(`solver.sampling_kernels`): a little more than half the memory, 13 to 15 bits of precision.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.arrays import load_arrays, save_arrays
from .betting_tree import BettingTree
from .tree_size import check_averages, record_length, storage_type

_BLOCK = 1 << 22  # numbers that are turned into probabilities at a time


class Tables:
    """Cumulative regrets and strategies.

    Args:
        tree: the betting tree.
        num_buckets: buckets by round.
        storage: "float32" or "int16".
        averages: the rounds that keep an average; None: all of them.
        path: a file to hold the values, for tables larger than memory: a .npy that is made anew, with all of
            its room on disk reserved, and may be deleted afterwards. A checkpoint is a full copy
            beside it; while one is written, the old one is still there. None: in memory.

    Attributes:
        tree, num_buckets, storage: as given.
        averages: the rounds that keep an average, ascending.
        values: float32 or int16 [all records].
        record: int32 [node]: where in its row the regrets of a decision node begin.
        iterations: iterations done so far.

    Raises ValueError for an unknown storage or round, and where `path` cannot be written or
    the disk has no room for it.
    """

    def __init__(
        self,
        tree: BettingTree,
        num_buckets: Sequence[int],
        storage: str = "float32",
        averages: Sequence[int] | None = None,
        path: str | Path | None = None,
    ):
        self.tree, self.num_buckets, self.storage = tree, list(num_buckets), storage
        self.averages = check_averages(averages, tree.rules.num_rounds)
        dtype = storage_type(storage)
        header = record_length(storage, 0, False)
        self.record = np.zeros(len(tree), np.int32)
        self._row_length = []
        for index in range(tree.rules.num_rounds):
            nodes = self._decisions(index)
            lengths = record_length(storage, tree.num_actions[nodes], index in self.averages)
            ends = np.cumsum(lengths)
            self.record[nodes] = ends - lengths + header
            self._row_length.append(int(ends[-1]) if len(ends) else 0)
        sizes = [length * buckets for length, buckets in zip(self._row_length, num_buckets, strict=True)]
        self._round_start = np.concatenate([[0], np.cumsum(sizes)])
        self.values = _empty(int(self._round_start[-1]), dtype, path)
        self.iterations = 0

    def _decisions(self, round_index: int) -> np.ndarray:
        """The decision nodes of a round in the order of their records."""
        tree = self.tree
        nodes = np.flatnonzero((tree.round == round_index) & (tree.num_actions > 0))
        return nodes[np.argsort(tree.action_slot[nodes])]

    @property
    def has_header(self) -> bool:
        """Whether a header stands before each record."""
        return self.storage == "int16"

    def row_start(self, round_index: int, buckets: np.ndarray) -> np.ndarray:
        """Where the rows of these buckets start in `values`."""
        return self._round_start[round_index] + buckets * self._row_length[round_index]

    def layout(self, round_index: int) -> tuple[int, int, int, np.ndarray]:
        """Start, row length and number of rows of a round, and int64 [decision, 2]: place of each record in
        a row, number of its actions.
        """
        nodes = self._decisions(round_index)
        records = np.stack([self.record[nodes], self.tree.num_actions[nodes]], axis=1).astype(np.int64)
        start, length = int(self._round_start[round_index]), self._row_length[round_index]
        return start, length, self.num_buckets[round_index], records

    def cumulative(self, round_index: int, average: bool = False) -> np.ndarray:
        """Regrets, or averages, of a round in their own unit: float64 [bucket, slot]."""
        if average and round_index not in self.averages:
            raise ValueError(f"the tables keep no average of round {round_index}")
        out = np.empty((self.num_buckets[round_index], self.tree.num_slots[round_index]))
        for rows, slots, sums in self._blocks(round_index, average):
            out[rows, slots] = sums
        return out

    def average_strategy(self, rebuilt: Mapping[int, np.ndarray] | None = None) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: the average strategy; uniform where nothing was visited.

        Args:
            rebuilt: for the rounds without an average, what takes its place, such as the mean of snapshots.

        Raises ValueError for a round that has neither.
        """
        given = dict(rebuilt or {})
        for index in range(len(self.num_buckets)):
            if index not in self.averages and index not in given:
                raise ValueError(
                    f"the tables keep no average of round {index}: rebuild it from snapshots of the "
                    "current strategy"
                )
        return [
            self._normalised(index, True) if index in self.averages else given[index]
            for index in range(len(self.num_buckets))
        ]

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: regret matching on the regrets so far; uniform without one."""
        return [self._normalised(index, False) for index in range(len(self.num_buckets))]

    def _normalised(self, index: int, average: bool) -> np.ndarray:
        """Probabilities float32 [bucket, slot] in proportion to the positive parts of regrets or averages."""
        out = np.empty((self.num_buckets[index], self.tree.num_slots[index]), np.float32)
        for rows, slots, sums in self._blocks(index, average):
            np.maximum(sums, 0, out=sums)
            total = sums.sum(axis=2, keepdims=True)
            with np.errstate(invalid="ignore"):
                out[rows, slots] = np.where(total > 0, sums / total, 1 / sums.shape[2])
        return out

    def _blocks(self, index: int, average: bool) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Rows, slots [node, action] and the sums there, float64 [row, node, action]; block by block."""
        tree, decisions = self.tree, self._decisions(index)
        start, end = self._round_start[index : index + 2]
        table = self.values[start:end].reshape(self.num_buckets[index], -1)
        for count in np.unique(tree.num_actions[decisions]):
            nodes = decisions[tree.num_actions[decisions] == count]
            places = self.record[nodes][:, None] + count * average + np.arange(count)
            slots = tree.action_slot[nodes][:, None] + np.arange(count)
            step = max(1, _BLOCK // slots.size)
            for row in range(0, len(table), step):
                rows = slice(row, row + step)
                sums = table[rows][:, places].astype(np.float64)
                if self.has_header:
                    headers = table[rows][:, self.record[nodes] - 1]
                    exponents = (headers >> 8 if average else headers).astype(np.int8)
                    sums *= np.ldexp(1.0, exponents)[:, :, None]
                yield rows, slots, sums

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
        values = arrays["values"]
        if (values.shape, values.dtype) != (self.values.shape, self.values.dtype):
            raise ValueError(f"checkpoint {path} does not fit the tables of this run")
        self.values[:] = values
        self.iterations = int(found["iterations"])
        return found


def _empty(size: int, dtype: np.dtype, path: str | Path | None) -> np.ndarray:
    """Zeros in memory or in a file."""
    if path is None:
        return np.zeros(size, dtype)
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        mapped = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=(size,))
        _reserve(Path(path))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            Path(path).unlink(missing_ok=True)
            raise ValueError(
                f"{path}: the disk has no room for tables of {size * dtype.itemsize / 2**20:,.1f} MiB: "
                "free some space or choose another folder"
            ) from None
        raise ValueError(f"the tables cannot be kept in {path}: {error.strerror or error}") from None
    return np.asarray(mapped)  # a plain array: one type for compiled code


def _reserve(path: Path) -> None:
    """Take the room of a sparse file on disk now: to run out of it later ends the process without a word."""
    if not hasattr(os, "posix_fallocate"):  # macOS and Windows
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):  # some file systems
                raise

"""Equal points merged: suits that do not matter leave many hands with exactly the same feature.

On the turn of a full deck 13,960,050 hands have 1,317,777 different histograms of 50 bins: clustering these,
each with the weight of all that share it, gives the same clusters in a tenth of the time.
"""

from __future__ import annotations

import numba as nb
import numpy as np


def merge_equal(starts: np.ndarray, *columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct ones among points that are runs of numbers.

    Args:
        starts: int64 [point + 1]: point p is the entries starts[p] to starts[p + 1] - 1 of each column.
        columns: one or two arrays of integers.

    Returns:
        int64 [distinct]: the first point of each kind, ascending; int64 [point]: the place in there of the
        point that each is equal to.
    """
    first, second = columns if len(columns) == 2 else (columns[0], columns[0])
    count = len(starts) - 1
    hashes = np.empty(count, np.uint64)
    _hash_runs(starts, first, second, hashes)
    order = np.argsort(hashes, kind="stable")
    same_as = np.empty(count, np.int64)
    _find_equal(starts, first, second, hashes, order, same_as)
    is_first = same_as == np.arange(count)
    place = np.cumsum(is_first) - 1
    return np.flatnonzero(is_first), place[same_as]


def merge_equal_rows(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`merge_equal` for the rows of a table of integers [point, ...]."""
    flat = rows.reshape(len(rows), -1)
    return merge_equal(np.arange(len(flat) + 1) * flat.shape[1], flat.reshape(-1))


@nb.njit(cache=True, nogil=True)
def _hash_runs(starts, first, second, hashes):
    for point in range(hashes.shape[0]):
        value = np.uint64(0x2545F4914F6CDD1D)
        for entry in range(starts[point], starts[point + 1]):
            value ^= np.uint64(first[entry]) + (np.uint64(second[entry]) << np.uint64(32))
            value *= np.uint64(0x9E3779B97F4A7C15)
            value ^= value >> np.uint64(29)
        hashes[point] = value


@nb.njit(cache=True, nogil=True)
def _find_equal(starts, first, second, hashes, order, same_as):
    """The first point with the same run as each, from the points in order of their hashes.

    order: modified in place: where a hash begins come the distinct points that have it.
    """
    begin, leaders = 0, 0
    for place in range(order.shape[0]):
        point = order[place]
        if hashes[point] != hashes[order[begin]]:
            begin, leaders = place, 0
        same_as[point] = point
        for leader in order[begin : begin + leaders]:
            if _equal_runs(starts, first, second, point, leader):
                same_as[point] = leader
                break
        if same_as[point] == point:
            order[begin + leaders] = point
            leaders += 1


@nb.njit(cache=True, nogil=True)
def _equal_runs(starts, first, second, point, other):
    one, two = starts[point], starts[other]
    length = starts[point + 1] - one
    if length != starts[other + 1] - two:
        return False
    for entry in range(length):
        if first[one + entry] != first[two + entry] or second[one + entry] != second[two + entry]:
            return False
    return True

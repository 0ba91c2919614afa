"""Percentile buckets: hands sorted by a number and cut into parts of equal size."""

from __future__ import annotations

import numba as nb
import numpy as np

_SMALL = 1 << 22  # values below this are counted in an array, larger ones are sorted


def percentile_buckets(values: np.ndarray, weights: np.ndarray, buckets: int) -> np.ndarray:
    """uint16 [point]: percentile buckets of whole numbers, every real hand counting once.

    A value falls into the bucket of the middle of its own range of percentiles, so equal values stay
    together; buckets that remain empty are left out of the numbering.

    Args:
        values: integers [point], not negative.
        weights: integers [point]: real hands behind each point.
        buckets: largest number of buckets.
    """
    out = np.empty(len(values), np.uint16)
    places = values
    if int(values.max()) < _SMALL:
        hands = np.zeros(int(values.max()) + 1, np.int64)
    else:
        distinct, places = np.unique(values, return_inverse=True)
        hands = np.zeros(len(distinct), np.int64)
    _add_weights(places, weights, hands)
    _assign(places, _bucket_of_values(hands, buckets), out)
    return out


def _bucket_of_values(hands: np.ndarray, buckets: int) -> np.ndarray:
    """uint16 [value]: bucket of each value from the numbers of hands int64 [value] that have it."""
    total = int(hands.sum())
    middle_doubled = 2 * np.cumsum(hands) - hands  # twice the middle of the value's range
    if 2 * total * buckets < 1 << 63:
        bucket = middle_doubled * buckets // (2 * total)
    else:
        bucket = np.array([int(m) * buckets // (2 * total) for m in middle_doubled])
    used = np.unique(bucket[hands > 0])
    return np.minimum(np.searchsorted(used, bucket), len(used) - 1).astype(np.uint16)


@nb.njit(cache=True, nogil=True)
def _add_weights(places, weights, hands):
    for i in range(places.shape[0]):
        hands[places[i]] += weights[i]


@nb.njit(cache=True, nogil=True)
def _assign(places, bucket_of, out):
    for i in range(places.shape[0]):
        out[i] = bucket_of[places[i]]

"""The buckets of one round: the matrix, and what the buckets are like.

Buckets are numbered by the mean equity of their centres, the weakest first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numba as nb
import numpy as np

from .hands import CanonicalHands


@dataclass(frozen=True)
class RoundBuckets:
    """Buckets of one round.

    Attributes:
        matrix: uint16 or uint32 [board_row, hand].
        num_buckets: their number.
        arrays: what else is known of each bucket, by name (nothing where a bucket is just a class of
            hands): ``equity`` float64 [bucket], mean equity of the centre; ``size`` int64 [bucket], real
            hands; ``spread`` float64 [bucket], mean distance of the hands from the centre; ``nearest`` and
            ``farthest`` int64 [bucket], canonical hands; ``centres`` [bucket, ...]; ``board_clusters`` uint16
            [board_row] where there are public clusters.
        notes: JSON values: the distance that is meant, the objective after each pass, messages.
        checksum: of the matrix as stored; 0 where it is not.
    """

    matrix: np.ndarray
    num_buckets: int
    arrays: dict[str, np.ndarray] = field(default_factory=dict)
    notes: dict[str, Any] = field(default_factory=dict)
    checksum: int = 0


def describe_buckets(
    hands: CanonicalHands,
    weights: np.ndarray,
    labels: np.ndarray,
    distances: np.ndarray,
    equity: np.ndarray,
    centres: np.ndarray,
    notes: dict[str, Any],
) -> RoundBuckets:
    """Buckets from labels, renumbered by equity, with sizes, spreads and examples.

    Args:
        hands: the canonical hands of the round.
        weights: uint8 [canonical_hand]: `hands.weights`.
        labels: uint16 [canonical_hand], modified in place; every label below len(equity) occurs.
        distances: float32 [canonical_hand]: distance from the centre of the bucket.
        equity: float64 [bucket]: mean equity of each centre.
        centres: [bucket, ...].
        notes: to be kept.
    """
    order = np.argsort(equity, kind="stable")
    rank = np.empty(len(order), np.uint16)
    rank[order] = np.arange(len(order))
    _relabel(labels, rank)
    count = len(equity)
    size, spread = np.zeros(count, np.int64), np.zeros(count)
    nearest, farthest = np.full(count, -1), np.full(count, -1)
    _tally(labels, weights, distances, size, spread, nearest, farthest)
    arrays = {
        "equity": equity[order],
        "size": size,
        "spread": spread / np.maximum(size, 1),
        "nearest": nearest,
        "farthest": farthest,
        "centres": centres[order],
    }
    return RoundBuckets(hands.spread(labels), count, arrays, notes)


@nb.njit(cache=True, nogil=True)
def _relabel(labels, rank):
    for i in range(labels.shape[0]):
        labels[i] = rank[labels[i]]


@nb.njit(cache=True, nogil=True)
def _tally(labels, weights, distances, size, spread, nearest, farthest):
    """Sizes, sums of distances and the nearest and farthest points of each label."""
    for i in range(labels.shape[0]):
        label = labels[i]
        size[label] += weights[i]
        spread[label] += weights[i] * distances[i]
        if nearest[label] < 0 or distances[i] < distances[nearest[label]]:
            nearest[label] = i
        if farthest[label] < 0 or distances[i] > distances[farthest[label]]:
            farthest[label] = i

"""Public clusters: boards that change the strength of starting hands alike.

A board is described by how the mean equities of the hands on it are distributed, apart for each of a few
clusters of starting hands; the distance of two boards is the sum over these clusters of the earth mover's
distances, weighted by the number of hands. This follows the idea of clustering public states by the
transitions of private hands (Brown, Ganzfried and Sandholm 2015, whose measure counts transitions between
buckets).
"""

from __future__ import annotations

from math import comb

import numba as nb
import numpy as np

from .clustering import HistogramSpace, cluster
from .equity import Progress
from .hands import CanonicalHands

BINS = 50
STARTING_GROUPS = 8  # clusters of starting hands that are told apart
_SCALE = 65_535
_RESTARTS = 3


def public_clusters(
    hands: CanonicalHands,
    equity: np.ndarray,
    groups: np.ndarray,
    number: int,
    seed: int = 0,
    progress: Progress | None = None,
) -> np.ndarray:
    """uint16 [board_row]: cluster of each canonical board.

    Args:
        hands: the canonical hands of the round.
        equity: float32 [canonical_hand]: their mean equities.
        groups: uint8 [hand]: cluster of each pair of hole cards before the flop.
        number: largest number of clusters.
        seed: of the clustering.
        progress: called while boards are clustered.
    """
    boards = hands.boards
    counts = np.zeros((len(boards), int(groups.max()) + 1, BINS), np.uint16)
    _count_equities(hands.spread(equity), boards.hands_alive, groups, counts)
    cumulative = counts.cumsum(axis=2, dtype=np.uint32).reshape(len(boards), -1)
    live = comb(boards.deck.size - boards.size, 2)
    space = HistogramSpace((cumulative * _SCALE // live).astype(np.uint16))
    weights = boards.orbit.astype(np.uint8)
    return cluster(space, weights, number, seed=seed, restarts=_RESTARTS, progress=progress).labels


@nb.njit(cache=True, nogil=True)
def _count_equities(equity, alive, groups, counts):
    """Count the live hands of boards by group and bin of their equity [board_row, hand]."""
    bins = counts.shape[2]
    for row in range(equity.shape[0]):
        for hand in range(equity.shape[1]):
            if alive[row, hand]:
                counts[row, groups[hand], min(bins - 1, int(equity[row, hand] * bins))] += 1

"""The features by which the hands of a round are put together: exact tables, and how they are grouped."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numba as nb
import numpy as np
from scipy.spatial.distance import cdist

from ..game.cards import Deck
from .boards import canonical_boards
from .clustering import Clustering, HistogramSpace, L2Space, Space, cluster
from .config import RoundConfig
from .distinct import merge_equal, merge_equal_rows
from .equity import (
    Progress,
    earlier_sums,
    last_round_equity,
    num_completions,
    num_opponents,
    strength_table,
)
from .hands import CanonicalHands
from .histograms import equity_histograms
from .ochs import UNIT, ochs_features, opponent_clusters
from .percentiles import percentile_buckets
from .potential import PotentialSpace, next_bucket_distributions, potential_ground
from .round_buckets import RoundBuckets

_OCHS_UNIT = 1 / UNIT  # of the stored equities


class Feature(NamedTuple):
    """A feature of all canonical hands of a round.

    measure: the distance between hands that is meant, in words.
    unit: what a distance of 1 between the feature's numbers is in that measure.
    power: clusters minimise the mean of the distance to this power.
    group: Clustering of some points (an index array, or None for all) with their weights into at most so
        many buckets.
    equity: float64 [bucket]: mean equity of centres [bucket, ...].
    """

    measure: str
    unit: float
    power: int
    group: Callable[[np.ndarray | None, np.ndarray, int], Clustering]
    equity: Callable[[np.ndarray], np.ndarray]


class FeatureTables:
    """The exact tables of a game's cards, made when they are first needed and kept for the other rounds.

    Args:
        deck: the deck.
        board_sizes: numbers of community cards by round.
        progress: called while a table is made.
    """

    def __init__(self, deck: Deck, board_sizes: tuple[int, ...], progress: Progress | None = None):
        self.deck, self.board_sizes, self.progress = deck, board_sizes, progress
        self.last = canonical_boards(deck, board_sizes[-1])
        self._sums: dict[tuple[str, int], np.ndarray] = {}
        self._opponents: dict[int, np.ndarray] = {}

    @cached_property
    def strength(self) -> np.ndarray:
        """uint16 [last board_row, hand]."""
        return strength_table(self.last, self.progress)

    @cached_property
    def equity(self) -> np.ndarray:
        """uint16 [last board_row, hand]: 2 * wins + ties."""
        return last_round_equity(self.strength, self.last, self.progress)

    def sums(self, feature: str, size: int) -> np.ndarray:
        """[board_row, hand]: sums of "ehs" or "ehs2" over the deals to come, up to a constant factor."""
        if size == self.last.size:
            return self.equity  # the square orders hands as the equity itself does
        if (feature, size) not in self._sums:
            later = min(other for other in self.board_sizes if other > size)
            if later < self.last.size:
                table = self.sums(feature, later)
            else:
                table = self.equity if feature == "ehs" else np.square(self.equity, dtype=np.uint32)
            boards = canonical_boards(self.deck, later)
            self._sums[feature, size] = earlier_sums(table, boards, size, self.progress)
        return self._sums[feature, size]

    def mean_equity(self, hands: CanonicalHands) -> np.ndarray:
        """float32 [canonical_hand]: mean equity against a random hand, rounded from exact sums."""
        scale = 2.0 * num_opponents(self.deck, self.last.size)
        sizes = sorted({size for size in self.board_sizes if size >= hands.boards.size})
        for before, after in pairwise(sizes):
            scale *= num_completions(self.deck, before, after)
        sums = hands.gather(self.sums("ehs", hands.boards.size))
        return np.divide(sums, scale, dtype=np.float32, casting="unsafe")

    def opponents(self, clusters: int) -> np.ndarray:
        """uint8 [hand]: cluster of each pair of hole cards as an opponent's, the weakest first."""
        if clusters not in self._opponents:
            found = opponent_clusters(self.equity, self.last, clusters, progress=self.progress)
            self._opponents[clusters] = found
        return self._opponents[clusters]


def percentiles(tables: FeatureTables, hands: CanonicalHands, entry: RoundConfig) -> Feature:
    """Percentiles of the mean equity or its square; the centre of a bucket is its mean equity."""
    values = hands.gather(tables.sums(entry.feature, hands.boards.size))
    mean = tables.mean_equity(hands)

    def group(points: np.ndarray | None, weights: np.ndarray, buckets: int) -> Clustering:
        own, equity = (values, mean) if points is None else (values[points], mean[points])
        labels = percentile_buckets(own, weights, buckets)
        centres = _weighted_means(labels, equity, weights)
        distances = np.empty(len(labels), np.float32)
        _distances_from(centres, labels, equity, distances)
        count = len(centres)
        message = "" if count == buckets else f"values crowd: {count:,} buckets instead of {buckets:,}"
        return Clustering(labels, centres, distances, (), message)

    return Feature("difference of mean equities", 1.0, 1, group, np.asarray)


def histograms(tables: FeatureTables, hands: CanonicalHands, entry: RoundConfig, seed: int) -> Feature:
    """Equity histograms by earth mover's distance; the centre is the median histogram."""
    assert entry.bins is not None
    counts = equity_histograms(tables.equity, tables.last, hands, entry.bins, tables.progress)
    chosen, place = merge_equal_rows(counts)
    space = HistogramSpace.from_counts(counts[chosen])
    del counts

    def equity(centres: np.ndarray) -> np.ndarray:
        # The mean number of a bin is the sum over the bins of the share beyond them.
        shares = centres / centres[:, -1:]
        return ((1 - shares).sum(axis=1) + 0.5) / centres.shape[1]

    unit = 1 / (entry.bins * int(space.points[0, -1]))
    group = _grouping(space, entry, seed, tables.progress, place)
    return Feature("earth mover's distance of equity histograms", unit, space.power, group, equity)


def ochs(tables: FeatureTables, hands: CanonicalHands, entry: RoundConfig, seed: int) -> Feature:
    """Equities against clusters of opposing hands by Euclidean distance; the centre is the mean.

    The mean equity of a centre weighs the clusters by their hands in a full deck, whatever the cards that a
    hand and its board take out of them: an approximation, by which buckets are numbered.
    """
    assert entry.opponents is not None
    opponents = tables.opponents(entry.opponents)
    space = L2Space(ochs_features(tables.strength, hands, opponents, tables.progress))
    shares = np.bincount(opponents) / len(opponents)
    return Feature(
        "Euclidean distance of equities against clusters of opposing hands",
        _OCHS_UNIT,
        space.power,
        _grouping(space, entry, seed, tables.progress),
        lambda centres: centres @ shares * _OCHS_UNIT,
    )


def potential(
    tables: FeatureTables,
    hands: CanonicalHands,
    entry: RoundConfig,
    seed: int,
    later: RoundBuckets,
    ground: np.ndarray,
) -> Feature:
    """Distributions over the next round's buckets by approximate earth mover's distance; mean centres.

    Args:
        tables, hands, entry, seed: as for the other features.
        later: the buckets of the next round.
        ground: float32 [bucket, bucket]: distances between them.
    """
    size = min(other for other in tables.board_sizes if other > hands.boards.size)
    boards = canonical_boards(tables.deck, size)
    distributions = next_bucket_distributions(hands, boards, later.matrix, tables.progress)
    entries = distributions.buckets, distributions.counts
    chosen, place = merge_equal(distributions.starts, *entries)
    space = PotentialSpace(distributions.subset(chosen), ground)
    del distributions, entries
    return Feature(
        "earth mover's distance of distributions over the next round's buckets",
        1.0,
        space.power,
        _grouping(space, entry, seed, tables.progress, place),
        lambda centres: centres @ later.arrays["equity"],
    )


def ground_distances(feature: str, centres: np.ndarray, later_ground: np.ndarray | None) -> np.ndarray:
    """float32 [bucket, bucket]: distances between the centres of a round's buckets, in its measure.

    Args:
        feature: the feature of the round.
        centres: [bucket, ...].
        later_ground: those of the next round, for a potential-aware one.
    """
    if feature == "potential-aware":
        assert later_ground is not None
        return potential_ground(centres, later_ground)
    if feature == "histogram-emd":
        shares = centres / centres[:, -1:]
        return (cdist(shares, shares, "cityblock") / centres.shape[1]).astype(np.float32)
    points = centres.reshape(len(centres), -1)
    unit = _OCHS_UNIT if feature == "ochs" else 1.0
    return (cdist(points, points) * unit).astype(np.float32)


def _grouping(
    space: Space,
    entry: RoundConfig,
    seed: int,
    progress: Progress | None,
    place: np.ndarray | None = None,
) -> Callable[[np.ndarray | None, np.ndarray, int], Clustering]:
    """Clusterings of points, which are at `place` [point] of the space where equal ones were merged."""
    restarts = entry.restarts or 1

    def group(points: np.ndarray | None, weights: np.ndarray, buckets: int) -> Clustering:
        own, here = space, place
        if points is not None:
            chosen, here = (
                (points, None) if place is None else np.unique(place[points], return_inverse=True)
            )
            own = space.subset(chosen)
        if here is not None:
            weights = _add_up(here, weights)
        found = cluster(own, weights, buckets, seed=seed, restarts=restarts, progress=progress)
        if here is None:
            return found
        return replace(found, labels=found.labels[here], distances=found.distances[here])

    return group


@nb.njit(cache=True, nogil=True)
def _add_up(places, weights):
    """int64 [place]: sums of weights [point]; every place occurs."""
    sums = np.zeros(places.max() + 1, np.int64)
    for i in range(places.shape[0]):
        sums[places[i]] += weights[i]
    return sums


@nb.njit(cache=True, nogil=True)
def _weighted_means(labels, values, weights):
    """float64 [label]: weighted means of values [point] by label; every label occurs."""
    sums, total = np.zeros(labels.max() + 1), np.zeros(labels.max() + 1)
    for i in range(labels.shape[0]):
        sums[labels[i]] += weights[i] * np.float64(values[i])
        total[labels[i]] += weights[i]
    return sums / total


@nb.njit(cache=True, nogil=True)
def _distances_from(centres, labels, values, out):
    for i in range(labels.shape[0]):
        out[i] = abs(values[i] - centres[labels[i]])

"""Spaces of points for k-means: what is near, and which centre suits a cluster best.

Both spaces here are metrics, and their search leaves out what the triangle inequality rules out (Elkan 2003
and the sorted neighbours of Phillips 2002), so that it finds exactly what a search of all centres finds: a
centre c' is no nearer than c if dist(c, c') >= 2 dist(point, c), nor if the heights of c' and the point, a
number that changes by no more than the distance does, are further apart than the best distance so far.
"""

from __future__ import annotations

from functools import cached_property
from math import sqrt
from typing import Protocol

import numba as nb
import numpy as np

from .threads import Tick, in_chunks

_POINTS = 1 << 15  # points in a chunk: the piece that a thread works on
_NEIGHBOURS = 256  # nearest other centres to keep for each centre
_BINS = 1024  # of the distances from a centre, to find its neighbours
_LANES = 32  # rows are padded to multiples of this, so that loops over them are vector instructions
_LOOSE = 1 + 1e-6  # bounds are taken this much wider, for the rounding of float32
_MOST_BINS = 32_767  # sums of uint16 differences fit into int32


class Space(Protocol):
    """Points and the distance between them and centres.

    power: the objective is the weighted mean of ``distance ** power``.
    """

    power: int

    def __len__(self) -> int:
        """Number of points."""

    def subset(self, points: np.ndarray) -> Space:
        """The space of some points, int [...]."""

    def centres_at(self, points: np.ndarray) -> np.ndarray:
        """Points as centres [len(points), ...]."""

    def nearest(
        self,
        centres: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
        threads: int,
        tick: Tick | None = None,
    ) -> int:
        """Nearest centre of every point, of equals the smallest number; number of distances computed.

        Args:
            centres: [centre, ...].
            labels: uint16 [point]: guesses, replaced by the nearest centres.
            distances: float32 [point], filled.
            threads: threads to work in.
            tick: called as points get done.
        """

    def relax(
        self, centre: np.ndarray, label: int, labels: np.ndarray, distances: np.ndarray, threads: int
    ) -> None:
        """Give the points that are nearer to a new centre than their distance that label and distance."""

    def centres(self, labels: np.ndarray, weights: np.ndarray, k: int, threads: int) -> np.ndarray:
        """[k, ...]: best centres of the clusters, none of which is empty.

        Args:
            labels: uint16 [point], below k.
            weights: integers [point].
            k: number of clusters.
            threads: threads to work in.
        """


class _MetricSpace:
    """A space of rows of whole numbers with a metric; a subclass says which one and how to find centres.

    Distances are Euclidean for power 2 and sums of absolute differences for power 1.
    """

    power: int
    _unit: float  # the sum of a row times this changes by no more than the distance
    _work: np.dtype  # of centres in kernels

    def __init__(self, points: np.ndarray):
        if points.ndim != 2 or not points.size:
            raise ValueError(f"points are a table [point, component], not of shape {points.shape}")
        self.points = points

    def __len__(self) -> int:
        return len(self.points)

    def nearest(
        self,
        centres: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
        threads: int,
        tick: Tick | None = None,
    ) -> int:
        """As in `Space`."""
        k, dim = centres.shape
        padded = np.zeros((k, -(-dim // _LANES) * _LANES if self.power == 1 else dim), self._work)
        padded[:, :dim] = centres
        heights = np.empty(k)
        _sums(padded, self._unit, heights)
        by_height = np.argsort(heights, kind="stable")
        sorted_heights = heights[by_height]
        kept = min(k - 1, _NEIGHBOURS)
        near, gaps = np.empty((k, kept), np.uint16), np.empty((k, kept), np.float32)

        def find_neighbours(part: slice) -> None:
            _neighbours(padded, part.start, self.power, near[part], gaps[part])

        def search(part: slice) -> int:
            return _nearest(
                self.points[part],
                padded,
                heights,
                by_height,
                sorted_heights,
                near,
                gaps,
                self.power,
                self._unit,
                labels[part],
                distances[part],
            )

        in_chunks(find_neighbours, k, 64, threads)
        return sum(in_chunks(search, len(self), _POINTS, threads, tick))

    def relax(
        self, centre: np.ndarray, label: int, labels: np.ndarray, distances: np.ndarray, threads: int
    ) -> None:
        """As in `Space`."""
        centre = centre.astype(self._work)
        height = float(centre.sum(dtype=np.float64)) * self._unit
        heights = self._heights

        def search(part: slice) -> None:
            _relax(
                self.points[part],
                heights[part],
                centre,
                height,
                self.power,
                label,
                labels[part],
                distances[part],
            )

        in_chunks(search, len(self), _POINTS, threads)

    @cached_property
    def _heights(self) -> np.ndarray:
        """float32 [point]."""
        out = np.empty(len(self), np.float32)
        _sums(self.points, self._unit, out)
        return out


class L2Space(_MetricSpace):
    """Euclidean distance; the centre of a cluster is its weighted mean, from exact sums.

    Args:
        points: uint16 [point, component].

    Raises ValueError for anything else.
    """

    power = 2
    _work = np.dtype(np.float64)

    def __init__(self, points: np.ndarray):
        if points.dtype != np.uint16:
            raise ValueError(f"points must be uint16, not {points.dtype}")
        super().__init__(points)
        self._unit = 1 / sqrt(points.shape[1])

    def subset(self, points: np.ndarray) -> L2Space:
        """The space of some points, int [...]."""
        return L2Space(self.points[points])

    def centres_at(self, points: np.ndarray) -> np.ndarray:
        """float32 [len(points), component]."""
        return self.points[points].astype(np.float32)

    def centres(self, labels: np.ndarray, weights: np.ndarray, k: int, threads: int) -> np.ndarray:
        """float32 [k, component]: weighted means."""

        def add(part: slice) -> tuple[np.ndarray, np.ndarray]:
            sums = np.zeros((k, self.points.shape[1]), np.int64)
            sizes = np.zeros(k, np.int64)
            for at in range(part.start, part.stop, _POINTS):
                some = slice(at, min(at + _POINTS, part.stop))
                _add_points(self.points[some], weights[some], labels[some], sums, sizes)
            return sums, sizes

        parts = in_chunks(add, len(self), -(-len(self) // threads), threads)
        sums, sizes = (sum(arrays) for arrays in zip(*parts, strict=True))
        return (sums / sizes[:, None]).astype(np.float32)


class HistogramSpace(_MetricSpace):
    """Earth mover's distance of histograms with a common total, in units of bins times total.

    In one dimension this is the sum of the absolute differences of the cumulative counts. The best centre
    of a cluster is the histogram whose cumulative counts are the weighted medians of its members'; where an
    interval of medians is equally good, the lower end is taken.

    Args:
        cumulative: uint8 or uint16 [point, bin]: cumulative counts. Several histograms side by side are
            fine: their distances add up.

    Raises ValueError for anything else.
    """

    power = 1
    _unit = 1.0

    def __init__(self, cumulative: np.ndarray):
        if cumulative.dtype not in (np.uint8, np.uint16):
            raise ValueError(f"cumulative counts must be uint8 or uint16, not {cumulative.dtype}")
        super().__init__(cumulative)
        if cumulative.shape[1] > _MOST_BINS:
            raise ValueError(f"{cumulative.shape[1]:,} bins are too many: at most {_MOST_BINS:,}")
        self._work = cumulative.dtype

    @classmethod
    def from_counts(cls, counts: np.ndarray) -> HistogramSpace:
        """The space of histograms, unsigned integers [point, bin], every row with the same total.

        A total above 65,535 is scaled down to that (cumulative counts are rounded down).

        Raises ValueError for rows with different totals or without any counts.
        """
        if counts.ndim != 2 or not counts.size:
            raise ValueError(f"counts are a table [point, bin], not of shape {counts.shape}")
        total, most = int(counts[0].sum()), np.iinfo(np.uint16).max
        dtype = np.min_scalar_type(min(total, most))
        cumulative = np.empty(counts.shape, dtype)
        if total == 0 or not _accumulate(counts, total, min(total, most), cumulative):
            raise ValueError(f"every histogram must have the same positive total; the first has {total}")
        return cls(cumulative)

    def subset(self, points: np.ndarray) -> HistogramSpace:
        """The space of some points, int [...]."""
        return HistogramSpace(self.points[points])

    def centres_at(self, points: np.ndarray) -> np.ndarray:
        """uint8 or uint16 [len(points), bin]."""
        return self.points[points]

    def centres(self, labels: np.ndarray, weights: np.ndarray, k: int, threads: int) -> np.ndarray:
        """uint8 or uint16 [k, bin]: weighted lower medians by bin."""
        starts, order = np.zeros(k + 1, np.int64), np.empty(len(self), np.uint32)
        _sort_by_label(labels, starts, order)
        out = np.empty((k, self.points.shape[1]), self.points.dtype)

        def find(part: slice) -> None:
            bounds = starts[part.start : part.stop + 1]
            _medians(self.points, weights, order, bounds, 8 * (self._work.itemsize - 1), out[part])

        in_chunks(find, k, max(1, k // 128), threads)
        return out


@nb.njit(cache=True, nogil=True)
def _gap(point, centre, power):
    """The distance to its power, for as many components as the centre has; exact for power 1."""
    if power == 2:
        squares = 0.0
        for i in range(centre.shape[0]):
            difference = np.float64(point[i]) - np.float64(centre[i])
            squares += difference * difference
        return squares
    total = np.int32(0)
    for i in range(centre.shape[0]):  # casts to int32 all the way, or the sum would be of int64
        step = np.int32(np.int32(point[i]) - np.int32(centre[i]))
        total = np.int32(total + np.int32(abs(step)))
    return np.float64(total)


@nb.njit(cache=True, nogil=True)
def _distance(gap, power):
    return np.sqrt(gap) if power == 2 else gap


@nb.njit(cache=True, nogil=True)
def _sums(rows, unit, out):
    """Heights of rows [row, component]: their sums times unit."""
    for i in range(rows.shape[0]):
        total = 0.0
        for j in range(rows.shape[1]):
            total += np.float64(rows[i, j])
        out[i] = total * unit


@nb.njit(cache=True, nogil=True)
def _neighbours(centres, first, power, near, gaps):
    """The nearest other centres of centres first, first + 1, ...: numbers and distances, ascending."""
    k, kept = centres.shape[0], near.shape[1]
    if not kept:
        return
    row, found = np.empty(k, np.float32), np.empty(k, np.int64)
    bins = np.empty(_BINS + 1, np.int64)
    for i in range(near.shape[0]):
        most = np.float32(0)
        for c in range(k):
            row[c] = _distance(_gap(centres[first + i], centres[c], power), power)
            most = max(most, row[c])
        row[first + i] = np.inf
        # Sort only those below the first cut, among equally wide ones, that leaves enough.
        scale = _BINS / most if most else np.float32(0)
        bins[:] = 0
        for c in range(k):
            if c != first + i:
                bins[int(row[c] * scale)] += 1
        cut, within = 0, bins[0]
        while within < kept:
            cut += 1
            within += bins[cut]
        count = 0
        for c in range(k):
            if c != first + i and int(row[c] * scale) <= cut:
                found[count] = c
                count += 1
        order = np.argsort(row[found[:count]])
        for j in range(kept):
            near[i, j] = found[order[j]]
            gaps[i, j] = row[found[order[j]]]


@nb.njit(cache=True, nogil=True)
def _nearest(
    points, centres, heights, by_height, sorted_heights, near, gaps, power, unit, labels, distances
):
    """Replace guesses by the nearest centres of points [point, component]; number of distances computed.

    The search walks the sorted neighbours of an anchor: at first the guess, or the centre of the point
    before, as neighbours in memory are often alike. If neither is near, the centre of about the same height
    is tried.

    Args:
        points: [point, component].
        centres: [centre, component], padded with zeros.
        heights: float64 [centre].
        by_height, sorted_heights: int64, float64 [centre]: centres by height, and these heights.
        near, gaps: [centre, place]: the nearest other centres and their distances, ascending.
        power, unit: as in the space.
        labels, distances: [point], filled.
    """
    k, kept = near.shape
    dim = points.shape[1]
    row = np.zeros(centres.shape[1], centres.dtype)
    tolerance = 1e-9 * (1 + np.abs(heights).max())
    previous = np.int64(labels[0])
    computed = 0
    for i in range(points.shape[0]):
        total = 0.0
        for j in range(dim):
            row[j] = points[i, j]
            total += np.float64(points[i, j])
        height = total * unit
        best = np.int64(labels[i])
        best_gap = _gap(row, centres[best], power)
        computed += 1
        if previous != best:
            gap = _gap(row, centres[previous], power)
            computed += 1
            if gap < best_gap or (gap == best_gap and previous < best):
                best, best_gap = previous, gap
        distance = _distance(best_gap, power)
        if kept and distance > gaps[best, 0]:
            c = by_height[min(np.searchsorted(sorted_heights, height), k - 1)]
            gap = _gap(row, centres[c], power)
            computed += 1
            if gap < best_gap or (gap == best_gap and c < best):
                best, best_gap, distance = c, gap, _distance(gap, power)
        anchor = best
        reach = distance  # of the anchor
        place = 0
        while place < kept and gaps[anchor, place] <= (reach + distance) * _LOOSE:
            c = np.int64(near[anchor, place])
            place += 1
            if abs(heights[c] - height) > distance + tolerance:
                continue
            gap = _gap(row, centres[c], power)
            computed += 1
            if gap < best_gap or (gap == best_gap and c < best):
                best, best_gap, distance = c, gap, _distance(gap, power)
                if distance < 0.9 * reach:
                    anchor, reach, place = c, distance, 0
        if place == kept and kept < k - 1:  # the neighbours that are kept did not suffice
            for other in range(k):
                if abs(heights[other] - height) > distance + tolerance:
                    continue
                gap = _gap(row, centres[other], power)
                computed += 1
                if gap < best_gap or (gap == best_gap and other < best):
                    best, best_gap, distance = np.int64(other), gap, _distance(gap, power)
        labels[i] = best
        distances[i] = distance
        previous = best
    return computed


@nb.njit(cache=True, nogil=True)
def _relax(points, heights, centre, height, power, label, labels, distances):
    """Label the points that are nearer to a centre than their distance (of equals the smaller number)."""
    tolerance = 1e-6 * (1 + abs(height))
    for i in range(points.shape[0]):
        bound = abs(np.float64(heights[i]) - height)
        if bound > distances[i] * _LOOSE + tolerance + 1e-6 * bound:
            continue
        distance = np.float32(_distance(_gap(points[i], centre, power), power))
        if distance < distances[i] or (distance == distances[i] and label < labels[i]):
            labels[i] = label
            distances[i] = distance


@nb.njit(cache=True, nogil=True)
def _add_points(points, weights, labels, sums, sizes):
    """Add points times weights to the sums [label, component], and weights to the sizes [label]."""
    for i in range(points.shape[0]):
        label, weight = labels[i], np.int64(weights[i])
        sizes[label] += weight
        for j in range(points.shape[1]):
            sums[label, j] += weight * np.int64(points[i, j])


@nb.njit(cache=True, nogil=True)
def _accumulate(counts, total, scale, out):
    """Cumulative counts of each row, times scale / total; whether every row has that total."""
    for i in range(counts.shape[0]):
        so_far = np.int64(0)
        for j in range(counts.shape[1]):
            so_far += np.int64(counts[i, j])
            if so_far > total:
                return False
            out[i, j] = so_far if scale == total else so_far * scale // total
        if so_far != total:
            return False
    return True


@nb.njit(cache=True, nogil=True)
def _sort_by_label(labels, starts, order):
    """Points in order of their labels, into order; those of label l are order[starts[l] : starts[l + 1]]."""
    for label in labels:
        starts[label + 1] += 1
    for label in range(1, starts.shape[0]):
        starts[label] += starts[label - 1]
    place = starts[:-1].copy()
    for i in range(labels.shape[0]):
        order[place[labels[i]]] = i
        place[labels[i]] += 1


@nb.njit(cache=True, nogil=True)
def _medians(points, weights, order, starts, shift, out):
    """Weighted lower medians by component of the points order[starts[c] : starts[c + 1]] of each cluster c.

    Values are counted by their high byte, then those with the median's by their low byte; shift is 8 for
    values of two bytes, and 0 for values that have only one.
    """
    dim = points.shape[1]
    counts = np.empty((dim, 256), np.int64)
    high, below = np.empty(dim, np.int64), np.empty(dim, np.int64)
    for c in range(out.shape[0]):
        members = order[starts[c] : starts[c + 1]]
        counts[:] = 0
        total = np.int64(0)
        for point in members:
            weight = np.int64(weights[point])
            total += weight
            for j in range(dim):
                counts[j, points[point, j] >> shift] += weight
        for j in range(dim):
            high[j], below[j] = _reaches_half(counts[j], 0, total)
            out[c, j] = high[j]
        if not shift:
            continue
        counts[:] = 0
        for point in members:
            for j in range(dim):
                if points[point, j] >> shift == high[j]:
                    counts[j, points[point, j] & 255] += np.int64(weights[point])
        for j in range(dim):
            low, _ = _reaches_half(counts[j], below[j], total)
            out[c, j] = (high[j] << shift) + low


@nb.njit(cache=True, nogil=True)
def _reaches_half(counts, below, total):
    """The smallest value with which half of the total is reached, and the weight below it."""
    value = 0
    while 2 * (below + counts[value]) < total:
        below += counts[value]
        value += 1
    return value, below

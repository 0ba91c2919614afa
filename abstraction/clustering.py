"""k-means over any space of points: k-means++ seeding, Lloyd's passes, restarts.

Seeds are drawn in proportion to weight times distance to the power of the space (Arthur and Vassilvitskii
2007). Of many points, a weighted sample is clustered first (with restarts), and the winner goes on with a
few passes over all points. Answers depend on the seed, not on the number of threads.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numba as nb
import numpy as np

from .equity import Progress
from .spaces import HistogramSpace, L2Space, Space
from .threads import Tick

__all__ = ["Clustering", "HistogramSpace", "L2Space", "Space", "cluster"]

MAX_CLUSTERS = 65_535

_SAMPLE_PASSES = 60
_SAMPLE_TOLERANCE = 1e-3  # stop when a pass lowers the objective by a smaller share than this
_PASSES = 5  # over all points, if they were not the sample
_TOLERANCE = 2e-3
_PATIENCE = 3  # passes in a row that may fail to lower the objective


@dataclass(frozen=True)
class Clustering:
    """Points put together.

    Attributes:
        labels: uint16 [point]: number of the nearest centre; every number from 0 occurs.
        centres: [cluster, ...] as the space has them.
        distances: float32 [point]: from that centre.
        objective: weighted mean of ``distance ** power`` after the seeding and after each pass, of the
            restart that won; the last one belongs to the labels.
        message: what the caller may want to know, or "".
        sample_passes: how many of the objectives are those of the sample; the others are of all points.
    """

    labels: np.ndarray
    centres: np.ndarray
    distances: np.ndarray
    objective: tuple[float, ...]
    message: str
    sample_passes: int = 0


def cluster(
    space: Space,
    weights: np.ndarray,
    k: int,
    seed: int = 0,
    restarts: int = 1,
    threads: int | None = None,
    progress: Progress | None = None,
    sample: int | None = None,
) -> Clustering:
    """Put the points of a space into at most k clusters.

    There are fewer if there are fewer distinct points; the message says so.

    Args:
        space: the points.
        weights: positive integers [point]: how often each counts.
        k: number of clusters, 1 to 65,535.
        seed: of the sample and of the k-means++ seeds.
        restarts: times to start afresh; the best objective wins.
        threads: threads to work in; as many as there are cores if None.
        progress: called with the points done in each pass.
        sample: number of points to find the clusters with first; all if there are not more. None: the larger
            of 200,000 and 100 a cluster.

    Raises ValueError for arguments out of range.
    """
    weights = _checked(space, weights, k, restarts, threads, sample)
    run = _Run(k, threads or os.cpu_count() or 1, progress)
    size = max(200_000, 100 * k) if sample is None else sample
    some: Space = space
    some_weights = weights
    if size < len(space):
        points, some_weights = _draw(weights, size, seed)
        some = space.subset(points)
    found = run.best(some, some_weights, seed, restarts)
    if some is not space:
        found = run.extend(space, weights, found)
    count, message = len(found.centres), ""
    if count < k:
        message = f"only {_count(count, 'distinct point')}: {_count(count, 'cluster')} instead of {k:,}"
    return Clustering(
        found.labels, found.centres, found.distances, found.objective, message, found.sample_passes
    )


class _Run:
    """Clusterings into at most k clusters."""

    def __init__(self, k: int, threads: int, progress: Progress | None):
        self.k, self.threads, self.progress = k, threads, progress

    def best(self, space: Space, weights: np.ndarray, seed: int, restarts: int) -> Clustering:
        """The best of some restarts."""
        best: Clustering | None = None
        for restart in range(restarts):
            note = f"start {restart + 1} of {restarts}, " if restarts > 1 else ""
            rng = np.random.default_rng((seed, restart))
            labels, distances = np.zeros(len(space), np.uint16), np.empty(len(space), np.float32)
            centres = self._seeds(space, weights, labels, distances, rng, note)
            found = self._passes(
                space, weights, centres, labels, distances, note, _SAMPLE_PASSES, _SAMPLE_TOLERANCE
            )
            if best is None or found.objective[-1] < best.objective[-1]:
                best = found
        assert best is not None
        return best

    def extend(self, space: Space, weights: np.ndarray, of_sample: Clustering) -> Clustering:
        """A clustering of all points from that of a sample."""
        labels, distances = np.zeros(len(space), np.uint16), np.empty(len(space), np.float32)
        tick = self._tick("all points, pass 1", _PASSES, len(space))
        space.nearest(of_sample.centres, labels, distances, self.threads, tick)
        centres = self._fill(space, weights, of_sample.centres, labels, distances)
        found = self._passes(
            space, weights, centres, labels, distances, "all points, ", _PASSES, _TOLERANCE, done=1
        )
        objective = of_sample.objective + found.objective
        return Clustering(labels, found.centres, distances, objective, "", len(of_sample.objective))

    def _seeds(
        self,
        space: Space,
        weights: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
        rng: np.random.Generator,
        note: str,
    ) -> np.ndarray:
        """k-means++ seeds as centres, fewer if all points are seeds; labels and distances are filled."""
        distances[:] = 1  # the first one is drawn by weight alone
        chosen: list[int] = []
        text = f"clustering {_count(self.k, 'bucket')}, {note}first centres"
        while len(chosen) < self.k:
            point = _draw_one(weights, distances, space.power, rng.random())
            if point < 0:
                break
            if not chosen:
                distances[:] = np.inf
            centre = space.centres_at(np.array([point]))[0]
            space.relax(centre, len(chosen), labels, distances, self.threads)
            labels[point], distances[point] = len(chosen), 0  # even where a distance is no metric
            chosen.append(point)
            if self.progress is not None and (len(chosen) % 64 == 0 or len(chosen) == self.k):
                self.progress(text, len(chosen), self.k)
        return space.centres_at(np.array(chosen))

    def _passes(
        self,
        space: Space,
        weights: np.ndarray,
        centres: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
        note: str,
        passes: int,
        tolerance: float,
        done: int = 0,
    ) -> Clustering:
        """Lloyd's passes until the objective hardly falls, from centres, labels and distances that fit.

        Where centres are not the best ones, a pass may raise the objective, the first one above all (seeds
        are points, and nothing is nearer to a point than itself): then the passes go on for a while, and the
        best one is kept.
        """
        objective = [_objective(weights, distances, space.power)]
        lowest, kept = objective[0], centres
        in_vain = 0
        while done < passes and objective[-1] > 0 and in_vain < _PATIENCE:
            done += 1
            tick = self._tick(f"{note}pass {done}", passes, len(space))
            centres = space.centres(labels, weights, len(centres), self.threads)
            space.nearest(centres, labels, distances, self.threads, tick)
            centres = self._fill(space, weights, centres, labels, distances)
            objective.append(_objective(weights, distances, space.power))
            gain = lowest - objective[-1]
            if gain >= 0:
                lowest, kept = objective[-1], centres
                if gain <= tolerance * objective[-1]:
                    break
            in_vain = 0 if gain > 0 else in_vain + 1
        if kept is not centres:
            centres = kept
            space.nearest(centres, labels, distances, self.threads)
            objective.append(_objective(weights, distances, space.power))
        return Clustering(labels, centres, distances, tuple(objective), "", len(objective))

    def _fill(
        self,
        space: Space,
        weights: np.ndarray,
        centres: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
    ) -> np.ndarray:
        """Centres with one in place of each that has no points, and more up to k.

        A new one is the point that adds most to the objective. If no point adds anything, every distinct
        point is a cluster: what is still empty goes, and labels become dense.
        """
        sizes = np.zeros(self.k, np.int64)
        for _ in range(self.k):  # a new centre keeps its point, so there are no more steps than this
            sizes[:] = 0
            _count_labels(labels, sizes)
            empty = np.flatnonzero(sizes == 0)
            if not len(empty):
                return centres
            point = _farthest(weights, distances, space.power)
            if point < 0:
                break
            label = int(empty[0])
            centre = space.centres_at(np.array([point]))
            centres = np.concatenate([centres[:label], centre, centres[label + 1 :]])
            space.relax(centre[0], label, labels, distances, self.threads)
            labels[point], distances[point] = label, 0
        sizes[:] = 0
        _count_labels(labels, sizes)
        kept = np.flatnonzero(sizes)
        if len(kept) < len(centres):
            _renumber(labels, (np.cumsum(sizes > 0) - 1).astype(np.uint16))
        return centres[kept]

    def _tick(self, what: str, passes: int, points: int) -> Tick | None:
        progress = self.progress
        if progress is None:
            return None
        text = f"clustering {_count(self.k, 'bucket')}, {what} of at most {passes}"
        return lambda done: progress(text, done, points)


def _checked(
    space: Space,
    weights: np.ndarray,
    k: int,
    restarts: int,
    threads: int | None,
    sample: int | None,
) -> np.ndarray:
    """The weights as uint8 if they fit, else as int64."""
    for name, value in (("k", k), ("restarts", restarts), ("threads", threads), ("sample", sample)):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, not {value}")
    if k > MAX_CLUSTERS:
        raise ValueError(f"k must be at most {MAX_CLUSTERS:,}, not {k:,}")
    if not np.issubdtype(weights.dtype, np.integer) or weights.shape != (len(space),):
        raise ValueError(
            f"weights must be {len(space):,} whole numbers, one a point, "
            f"not {weights.dtype} of shape {weights.shape}"
        )
    if weights.min() < 1:
        raise ValueError(f"weights must be positive, not {weights.min()}")
    if weights.dtype == np.uint8:
        return weights
    return weights.astype(np.uint8 if weights.max() < 256 else np.int64)


def _draw(weights: np.ndarray, size: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A weighted sample: ascending points int64 [...], and how often each was drawn.

    The total weight is cut into equal parts and one place is drawn in each, so that the sample is spread
    evenly along the points.
    """
    places = np.random.default_rng(seed).random(size)
    places += np.arange(size)
    places *= weights.sum(dtype=np.int64) / size
    drawn = np.empty(size, np.int64)
    _points_at(weights, places, drawn)
    points, times = np.unique(drawn, return_counts=True)
    return points, times.astype(np.uint8 if times.max() < 256 else np.int64)


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


_CHUNK = 4096  # points whose losses are added up before they are added to the others


@nb.njit(cache=True, nogil=True)
def _loss(weight, distance, power):
    distance = np.float64(distance)
    return weight * (distance * distance if power == 2 else distance)


@nb.njit(cache=True, nogil=True)
def _loss_sums(weights, distances, power):
    """float64 [chunk]: sums of weight * distance ** power over fixed chunks of points."""
    sums = np.empty(-(-weights.shape[0] // _CHUNK))
    for chunk in range(sums.shape[0]):
        total = 0.0
        for i in range(chunk * _CHUNK, min(weights.shape[0], (chunk + 1) * _CHUNK)):
            total += _loss(weights[i], distances[i], power)
        sums[chunk] = total
    return sums


@nb.njit(cache=True, nogil=True)
def _objective(weights, distances, power):
    """Weighted mean of distance ** power."""
    total = np.int64(0)
    for i in range(weights.shape[0]):
        total += np.int64(weights[i])
    return _loss_sums(weights, distances, power).sum() / total


@nb.njit(cache=True, nogil=True)
def _draw_one(weights, distances, power, place):
    """The point at a share of the sum of all losses, 0 <= place < 1; -1 if that sum is 0."""
    sums = _loss_sums(weights, distances, power)
    left = place * sums.sum()
    chosen, point = -1, -1
    for chunk in range(sums.shape[0]):  # rounding may leave a little at the end, but not for a loss of 0
        if sums[chunk] > 0:
            chosen = chunk
            if left < sums[chunk]:
                break
            left -= sums[chunk]
    if chosen < 0:
        return point
    for i in range(chosen * _CHUNK, min(weights.shape[0], (chosen + 1) * _CHUNK)):
        loss = _loss(weights[i], distances[i], power)
        if loss > 0:
            point = i
            if left < loss:
                break
            left -= loss
    return point


@nb.njit(cache=True, nogil=True)
def _farthest(weights, distances, power):
    """The point with the largest loss, the first of equals; -1 if no point has any."""
    best, most = -1, 0.0
    for i in range(weights.shape[0]):
        loss = _loss(weights[i], distances[i], power)
        if loss > most:
            best, most = i, loss
    return best


@nb.njit(cache=True, nogil=True)
def _count_labels(labels, sizes):
    for label in labels:
        sizes[label] += 1


@nb.njit(cache=True, nogil=True)
def _renumber(labels, numbers):
    for i in range(labels.shape[0]):
        labels[i] = numbers[labels[i]]


@nb.njit(cache=True, nogil=True)
def _points_at(weights, places, out):
    """The points at ascending places along the sums of weights."""
    point, end = 0, np.int64(weights[0])
    for i in range(places.shape[0]):
        while end <= places[i] and point < weights.shape[0] - 1:
            point += 1
            end += np.int64(weights[point])
        out[i] = point

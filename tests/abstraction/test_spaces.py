"""Distances, nearest centres and best centres against plain NumPy twins and SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import spaces
from nashfold.abstraction.spaces import HistogramSpace, L2Space
from scipy.stats import wasserstein_distance


def all_distances(space, centres: np.ndarray) -> np.ndarray:
    """float64 [point, centre], the plain way."""
    steps = space.points.astype(float)[:, None] - centres.astype(float)[None]
    if isinstance(space, HistogramSpace):
        return np.abs(steps).sum(axis=2)
    squares = np.zeros(steps.shape[:2])
    for component in range(steps.shape[2]):  # added one by one, as floats must be to be equal
        squares += steps[:, :, component] ** 2
    return np.sqrt(squares)


def nearest(space, centres: np.ndarray, guess: np.ndarray, threads: int = 1):
    labels, distances = guess.astype(np.uint16), np.full(len(space), np.nan, np.float32)
    computed = space.nearest(centres, labels, distances, threads)
    return labels, distances, computed


def weighted_lower_median(values: np.ndarray, weights: np.ndarray) -> int:
    """By sorting every value as often as it counts."""
    everything = np.sort(np.repeat(values, weights))
    return int(everything[(len(everything) - 1) // 2])


def correlated(
    rng: np.random.Generator, points: int, bins: int, total: int, dtype=np.uint8
) -> np.ndarray:
    """Cumulative counts of histograms that change slowly from a point to the next."""
    strength = np.clip(np.cumsum(rng.normal(0, 0.02, points)) % 1.4 - 0.2, 0, 1)
    draws = np.clip(rng.normal(strength[:, None], 0.15, (points, total)), 0, 0.999)
    counts = np.zeros((points, bins), int)
    np.add.at(counts, (np.arange(points)[:, None], (draws * bins).astype(int)), 1)
    return counts.cumsum(axis=1).astype(dtype)


def some_space(kind: str, rng: np.random.Generator, points: int, dim: int, most: int):
    if kind == "l2":
        return L2Space(rng.integers(0, most + 1, (points, dim)).astype(np.uint16))
    dtype = np.uint8 if kind == "uint8" else np.uint16
    return HistogramSpace(np.sort(rng.integers(0, most + 1, (points, dim)), axis=1).astype(dtype))


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["l2", "uint8", "uint16"]),
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 60),
    k=st.integers(1, 40),
    dim=st.integers(1, 70),
    most=st.sampled_from([1, 2, 5, 255]),
    kept=st.sampled_from([1, 3, 512]),
)
def test_nearest_centres_are_those_of_brute_force_whatever_the_guess(
    kind, seed, points, k, dim, most, kept
):
    """Few distinct values give duplicates and ties; few kept neighbours reach the search of all centres."""
    rng = np.random.default_rng(seed)
    space = some_space(kind, rng, points, dim, most)
    centres = some_space(kind, rng, k, dim, most).centres_at(np.arange(k))
    if kind == "l2" and seed % 2:
        centres += rng.random(centres.shape, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spaces, "_NEIGHBOURS", kept)
        labels, distances, computed = nearest(space, centres, rng.integers(0, k, points))
    expected = all_distances(space, centres)
    assert labels.tolist() == expected.argmin(axis=1).tolist()
    assert distances.tolist() == expected.min(axis=1).astype(np.float32).tolist()
    assert points <= computed


@pytest.mark.parametrize("kind", ["l2", "uint8"])
def test_most_distances_are_never_computed(kind):
    rng = np.random.default_rng(3)
    if kind == "l2":
        steps = np.cumsum(rng.normal(0, 800, (40_000, 8)) + rng.normal(0, 800, (40_000, 1)), axis=0)
        space = L2Space((np.abs(steps) % 65_535).astype(np.uint16))
    else:
        space = HistogramSpace(correlated(rng, 40_000, 50, 46))
    centres = space.centres_at(rng.choice(40_000, 300, replace=False))
    labels, _, computed = nearest(space, centres, np.zeros(40_000))
    again, _, computed_again = nearest(space, centres, labels)
    assert (
        labels[:2000].tolist()
        == all_distances(space.subset(np.arange(2000)), centres).argmin(1).tolist()
    )
    assert again.tolist() == labels.tolist()
    assert computed_again < computed < 0.25 * 40_000 * 300


def test_relaxing_centre_by_centre_finds_the_nearest_ones():
    rng = np.random.default_rng(5)
    for kind in ("l2", "uint8", "uint16"):
        space = some_space(kind, rng, 3000, 6, 9)
        centres = space.centres_at(np.arange(0, 3000, 200))
        labels, distances = np.zeros(3000, np.uint16), np.full(3000, np.inf, np.float32)
        for number in rng.permutation(len(centres)):
            space.relax(centres[number], int(number), labels, distances, 2)
        expected, expected_distances, _ = nearest(space, centres, labels)
        assert labels.tolist() == expected.tolist()
        assert distances.tolist() == expected_distances.tolist()


@settings(max_examples=60, deadline=None)
@given(
    dtype=st.sampled_from([np.uint8, np.uint16]),
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 50),
    bins=st.integers(1, 12),
    most=st.sampled_from([1, 46, 255, 1081, 65_535]),
)
def test_medians_are_those_of_sorted_repeated_values(dtype, seed, points, bins, most):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, min(most, np.iinfo(dtype).max) + 1, (points, bins)).astype(dtype)
    values[rng.integers(0, points)] = values[0]
    labels = np.unique(rng.integers(0, 5, points), return_inverse=True)[1].astype(np.uint16)
    weights = rng.integers(1, 25, points).astype(np.uint8)
    centres = HistogramSpace(values).centres(labels, weights, int(labels.max()) + 1, 2)
    assert centres.dtype == dtype
    for label, centre in enumerate(centres):
        inside = labels == label
        expected = [weighted_lower_median(values[inside, b], weights[inside]) for b in range(bins)]
        assert centre.tolist() == expected


def test_the_median_of_histograms_is_a_histogram_and_no_histogram_is_better():
    rng = np.random.default_rng(8)
    cumulative = correlated(rng, 500, 10, 20)
    weights = rng.integers(1, 25, 500).astype(np.uint8)
    space = HistogramSpace(cumulative)
    centre = space.centres(np.zeros(500, np.uint16), weights, 1, 1)
    assert (np.diff(centre[0].astype(int)) >= 0).all()
    assert centre[0, -1] == 20
    least = weights @ all_distances(space, centre)[:, 0]
    others = np.sort(rng.integers(0, 21, (2000, 10)), axis=1)
    near = np.clip(centre.astype(int) + rng.integers(-1, 2, (2000, 10)), 0, 20)
    for tried in (others, near, cumulative, np.average(cumulative, axis=0, weights=weights)[None]):
        assert (weights @ all_distances(space, tried) >= least).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_distance_is_the_earth_movers_distance_of_scipy(dtype):
    rng = np.random.default_rng(11)
    total, bins = {np.uint8: 46, np.uint16: 1081, np.uint32: 2_118_760}[dtype], 25
    shares = rng.dirichlet(np.full(bins, 0.4), 24)
    counts = np.array([rng.multinomial(total, share) for share in shares]).astype(dtype)
    space = HistogramSpace.from_counts(counts)
    scale = min(total, 65_535)
    assert (space.points[:, -1] == scale).all()
    places = np.arange(bins)
    for number in range(24):
        labels, distances, _ = nearest(space, space.centres_at(np.array([number])), np.zeros(24))
        assert not labels.any()
        expected = [wasserstein_distance(places, places, counts[number], other) for other in counts]
        rounding = 0 if total == scale else 2 * bins / scale
        assert distances / scale == pytest.approx(expected, abs=1e-6 + rounding)


def test_means_come_from_exact_sums():
    rng = np.random.default_rng(2)
    points = rng.integers(0, 65_536, (70_000, 3)).astype(np.uint16)
    labels = rng.integers(0, 7, 70_000).astype(np.uint16)
    weights = rng.integers(1, 25, 70_000).astype(np.uint8)
    centres = L2Space(points).centres(labels, weights, 7, 2)
    for label, centre in enumerate(centres):
        inside = labels == label
        exact = weights[inside].astype(int) @ points[inside].astype(int) / weights[inside].sum()
        assert centre.tolist() == exact.astype(np.float32).tolist()


def test_points_that_are_none_are_refused():
    with pytest.raises(ValueError, match="must be uint16, not float64"):
        L2Space(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="must be uint8 or uint16, not int64"):
        HistogramSpace(np.zeros((3, 2), int))
    with pytest.raises(ValueError, match=r"a table \[point, component\], not of shape \(0, 2\)"):
        L2Space(np.zeros((0, 2), np.uint16))
    with pytest.raises(ValueError, match="32,768 bins are too many"):
        HistogramSpace(np.zeros((1, 32_768), np.uint8))
    for counts in ([[1, 2], [2, 2]], [[0, 0], [0, 0]], [[2, 2], [1, 2]]):
        with pytest.raises(ValueError, match="the same positive total"):
            HistogramSpace.from_counts(np.array(counts, np.uint8))

"""k-means against a plain twin, SciPy's, and what must hold of every clustering."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.clustering import HistogramSpace, L2Space, _draw, _draw_one, _Run, cluster
from scipy.cluster.vq import kmeans2
from test_spaces import all_distances, correlated, weighted_lower_median


def ones(points: int) -> np.ndarray:
    return np.ones(points, np.uint8)


def smooth_space(kind: str, points: int, seed: int = 1):
    rng = np.random.default_rng(seed)
    if kind == "l2":
        return L2Space(np.abs(np.cumsum(rng.normal(0, 900, (points, 5)), axis=0)).astype(np.uint16))
    if kind == "uint8":
        return HistogramSpace(correlated(rng, points, 20, 46))
    return HistogramSpace(correlated(rng, points, 20, 300, np.uint16))


def twin_step(space, weights: np.ndarray, labels: np.ndarray, k: int):
    """Centres of clusters and the labels that follow, in plain NumPy."""
    points, centres = space.points.astype(float), []
    for label in range(k):
        inside = labels == label
        if space.power == 2:
            centres.append(
                np.average(points[inside], axis=0, weights=weights[inside]).astype(np.float32)
            )
        else:
            columns = space.points[inside].T
            centres.append([weighted_lower_median(column, weights[inside]) for column in columns])
    distances = all_distances(space, np.array(centres))
    return np.array(centres), distances.argmin(axis=1), distances.min(axis=1)


@pytest.mark.parametrize("kind", ["l2", "uint8", "uint16"])
def test_passes_equal_a_plain_twin_step_by_step(kind):
    k, points = 12, 600
    space = smooth_space(kind, points)
    weights = np.random.default_rng(0).integers(1, 25, points).astype(np.uint8)
    run = _Run(k, 2, None)
    for passes in (0, 1, 2, 3, 4, 8):
        labels, distances = np.zeros(points, np.uint16), np.empty(points, np.float32)
        centres = space.centres_at(np.arange(0, points, points // k))
        space.nearest(centres, labels, distances, 1)
        expected = labels.astype(int)
        found = run._passes(space, weights, centres, labels, distances, "", passes, 0.0)
        for _ in range(len(found.objective) - 1):
            expected_centres, expected, gaps = twin_step(space, weights, expected, k)
        assert found.labels.tolist() == expected.tolist()
        if passes:
            assert found.centres.tolist() == expected_centres.tolist()
            mean = np.average(gaps**space.power, weights=weights)
            assert found.objective[-1] == pytest.approx(mean, rel=1e-6)
        assert len(found.objective) == passes + 1 or passes == 8


def test_means_are_those_of_scipys_kmeans_from_the_same_start():
    space = smooth_space("l2", 1500)
    centres = space.centres_at(np.arange(0, 1500, 100))
    labels, distances = np.zeros(1500, np.uint16), np.empty(1500, np.float32)
    space.nearest(centres, labels, distances, 1)
    found = _Run(15, 1, None)._passes(space, ones(1500), centres, labels, distances, "", 12, 0.0)
    count = len(found.objective) - 1
    expected, expected_labels = kmeans2(
        space.points.astype(float), centres.astype(float), count, minit="matrix"
    )
    assert found.centres == pytest.approx(expected, rel=1e-6)
    # SciPy labels the points before its last step.
    again = all_distances(space, expected).argmin(axis=1)
    assert (found.labels == again).mean() > 0.999
    assert len(expected_labels) == 1500


@pytest.mark.parametrize("kind", ["l2", "uint8", "uint16"])
@pytest.mark.parametrize("sample", [None, 3000])
def test_every_pass_lowers_the_objective_and_the_answer_fits_together(kind, sample):
    points, k = 12_000, 60
    space = smooth_space(kind, points)
    weights = np.random.default_rng(0).integers(1, 25, points).astype(np.uint8)
    found = cluster(space, weights, k, seed=3, sample=sample)
    first, rest = found.objective[: found.sample_passes], found.objective[found.sample_passes :]
    assert bool(rest) == (sample is not None)
    for values in (first, rest):
        assert (np.diff(values) <= 0).all()
    assert first[-1] < 0.9 * first[0]
    assert found.labels.dtype == np.uint16
    assert np.unique(found.labels).tolist() == list(range(k))
    assert found.message == ""
    expected = all_distances(space, found.centres)
    assert found.labels.tolist() == expected.argmin(axis=1).tolist()
    assert found.distances == pytest.approx(expected.min(axis=1), rel=1e-6)
    mean = np.average(expected.min(axis=1) ** space.power, weights=weights)
    assert found.objective[-1] == pytest.approx(mean, rel=1e-6)


@pytest.mark.parametrize("kind", ["l2", "uint8"])
@pytest.mark.parametrize("sample", [None, 5000])
def test_the_answer_depends_on_the_seed_but_not_on_the_threads(kind, sample):
    space, weights = smooth_space(kind, 70_000), ones(70_000)
    one = cluster(space, weights, 20, seed=9, restarts=2, threads=1, sample=sample)
    for threads in (2, 3):
        other = cluster(space, weights, 20, seed=9, restarts=2, threads=threads, sample=sample)
        assert (one.labels == other.labels).all()
        assert one.centres.tobytes() == other.centres.tobytes()
        assert one.distances.tobytes() == other.distances.tobytes()
        assert one.objective == other.objective
    different = cluster(space, weights, 20, seed=10, restarts=2, threads=2, sample=sample)
    assert one.objective != different.objective


@pytest.mark.parametrize("kind", ["l2", "uint8"])
def test_a_weight_counts_as_so_many_points(kind):
    space = smooth_space(kind, 800)
    weights = np.random.default_rng(4).integers(1, 9, 800).astype(np.uint8)
    repeated = space.subset(np.repeat(np.arange(800), weights))
    weighted, plain = (
        cluster(space, weights, 15, seed=2),
        cluster(repeated, ones(len(repeated)), 15, seed=2),
    )
    assert np.repeat(weighted.labels, weights).tolist() == plain.labels.tolist()
    assert weighted.centres.tolist() == plain.centres.tolist()
    assert weighted.objective == pytest.approx(plain.objective)


def test_the_best_restart_wins():
    space, weights = smooth_space("uint8", 2000), ones(2000)
    single = [cluster(space, weights, 8, seed=1, restarts=count).objective[-1] for count in range(1, 9)]
    assert single == sorted(single, reverse=True)
    assert single[-1] < single[0]


def test_two_distinct_points_make_two_clusters_instead_of_three():
    points = np.array([[0], [0], [0], [1]])
    for space in (L2Space(points.astype(np.uint16)), HistogramSpace(points.astype(np.uint8))):
        found = cluster(space, ones(4), 3)
        assert sorted(found.centres[found.labels, 0].tolist()) == [0, 0, 0, 1]
        assert len(found.centres) == 2
        assert found.distances.tolist() == [0, 0, 0, 0]
        assert found.objective[-1] == 0
        assert found.message == "only 2 distinct points: 2 clusters instead of 3"


@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    points=st.integers(1, 40),
    k=st.integers(1, 50),
    most=st.sampled_from([0, 1, 3, 200]),
    sample=st.sampled_from([None, 1, 7]),
    kind=st.sampled_from(["l2", "uint8"]),
)
def test_no_cluster_is_empty_and_each_distinct_point_gets_one_if_there_are_enough(
    seed, points, k, most, sample, kind
):
    """A sample of few points finds fewer clusters than there should be: the passes over all fill them up."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, most + 1, (points, 2))
    space = L2Space(rows.astype(np.uint16)) if kind == "l2" else HistogramSpace(rows.astype(np.uint8))
    found = cluster(space, rng.integers(1, 300, points), k, seed=seed, sample=sample, threads=1)
    distinct = len(np.unique(rows, axis=0))
    assert (
        np.unique(found.labels).tolist()
        == list(range(min(k, distinct)))
        == list(range(len(found.centres)))
    )
    assert bool(found.message) == (distinct < k)
    assert np.isfinite(found.objective).all()
    assert (np.diff(found.objective[found.sample_passes :]) <= 0).all()
    if distinct <= k:
        assert not found.distances.any()


def test_empty_clusters_take_the_points_that_are_farthest_off():
    points = np.array([[0], [1], [2], [500], [510], [511], [40_000]], np.uint16)
    space = L2Space(points)
    weights = np.array([1, 1, 1, 9, 1, 1, 1], np.uint8)
    labels, distances = np.zeros(7, np.uint16), np.empty(7, np.float32)
    centres = np.full((3, 1), 2, np.float32)  # the last two are never the nearest
    space.nearest(centres, labels, distances, 1)
    filled = _Run(3, 1, None)._fill(space, weights, centres, labels, distances)
    assert filled.tolist() == [[2], [40_000], [500]]
    assert labels.tolist() == [0, 0, 0, 2, 2, 2, 1]
    assert distances.tolist() == [2, 1, 0, 0, 10, 11, 0]


def test_one_cluster_of_one_point():
    found = cluster(L2Space(np.array([[7, 9]], np.uint16)), ones(1), 1)
    assert (found.labels.tolist(), found.centres.tolist(), found.message) == ([0], [[7, 9]], "")


def test_seeds_are_drawn_by_weight_and_squared_distance():
    """The first seed by weight, the second by weight * distance ** 2 from the first."""
    space = L2Space(np.array([[0], [1], [3]], np.uint16))
    weights = np.array([1, 1, 2], np.uint8)
    run, drawn = _Run(2, 1, None), np.zeros((3, 3))
    for seed in range(4000):
        labels, distances = np.zeros(3, np.uint16), np.empty(3, np.float32)
        rng = np.random.default_rng(seed)
        first, second = run._seeds(space, weights, labels, distances, rng, "")[:, 0].astype(int)
        drawn[[0, 1, 1, 2][first], [0, 1, 1, 2][second]] += 1
    places = np.array([0, 1, 3])
    chance = weights * (places[:, None] - places) ** 2
    expected = 4000 * (weights / 4)[:, None] * chance / chance.sum(axis=1, keepdims=True)
    assert (np.abs(drawn - expected) < 5 * np.sqrt(expected + 1)).all()


@pytest.mark.parametrize("power", [1, 2])
def test_a_point_is_drawn_where_the_share_of_the_losses_falls(power):
    """Over several chunks of points, with none for points without a loss, wherever these are."""
    rng = np.random.default_rng(power)
    weights = rng.integers(1, 25, 20_000).astype(np.uint8)
    distances = (rng.random(20_000) * (rng.random(20_000) < 0.1)).astype(np.float32)
    distances[:5000] = distances[15_000:] = 0
    ends = np.cumsum(weights * distances.astype(float) ** power)
    shares = (np.arange(300) + 0.5) / 300
    expected = np.searchsorted(ends, shares * ends[-1], side="right")
    assert [_draw_one(weights, distances, power, share) for share in shares] == expected.tolist()
    for share in (0.0, np.nextafter(1.0, 0), 1.0):
        assert distances[_draw_one(weights, distances, power, share)] > 0
    assert _draw_one(weights, np.zeros(20_000, np.float32), power, 0.5) == -1


def test_a_sample_holds_every_point_about_as_often_as_its_weight_says():
    weights = np.random.default_rng(0).integers(1, 25, 1000).astype(np.uint8)
    step = weights.sum(dtype=int) / 300
    total = np.zeros(1000)
    for seed in range(400):
        points, times = _draw(weights, 300, seed)
        assert times.sum() == 300
        assert (np.diff(points) > 0).all()
        assert (times <= weights[points] / step + 2).all()
        total[points] += times
    expected = weights * (400 / step)
    assert (np.abs(total - expected) < 6 * np.sqrt(expected + 1)).all()


def test_progress_moves_within_a_pass():
    calls: list[tuple[str, int, int]] = []
    space = smooth_space("uint8", 100_000)
    cluster(space, ones(100_000), 3, sample=2000, restarts=2, progress=lambda *call: calls.append(call))
    texts = dict.fromkeys(text for text, _, _ in calls)
    assert "clustering 3 buckets, start 1 of 2, first centres" in texts
    assert "clustering 3 buckets, start 2 of 2, pass 1 of at most 60" in texts
    done = [(done, total) for text, done, total in calls if "all points, pass 1 of at most 5" in text]
    assert len(done) > 3
    assert done == sorted(done)
    assert done[-1] == (100_000, 100_000)


def test_arguments_out_of_range_are_refused():
    space = L2Space(np.zeros((3, 1), np.uint16))
    with pytest.raises(ValueError, match="k must be at least 1, not 0"):
        cluster(space, ones(3), 0)
    with pytest.raises(ValueError, match="k must be at most 65,535, not 65,536"):
        cluster(space, ones(3), 65_536)
    with pytest.raises(ValueError, match="restarts must be at least 1, not 0"):
        cluster(space, ones(3), 1, restarts=0)
    with pytest.raises(ValueError, match="weights must be 3 whole numbers"):
        cluster(space, np.ones(3), 1)
    with pytest.raises(
        ValueError, match=r"weights must be 3 whole numbers, .* not uint8 of shape \(2,\)"
    ):
        cluster(space, ones(2), 1)
    with pytest.raises(ValueError, match="weights must be positive, not 0"):
        cluster(space, np.array([1, 0, 1]), 1)

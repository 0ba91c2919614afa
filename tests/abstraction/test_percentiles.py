"""Percentile buckets against a plain twin over every real board and hand."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.percentiles import percentile_buckets


def twin(values: list[int], weights: list[int], buckets: int) -> dict[int, int]:
    """Bucket of each value, in plain Python, with each point repeated as often as its weight says."""
    everything = sorted(
        v for value, weight in zip(values, weights, strict=True) for v in [value] * weight
    )
    found = {}
    for value in set(everything):
        first, last = bisect_left(everything, value), bisect_right(everything, value)
        found[value] = int(Fraction(first + last, 2 * len(everything)) * buckets)
    used = sorted(set(found.values()))
    return {value: used.index(bucket) for value, bucket in found.items()}


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(1, 24)), min_size=1, max_size=200),
    st.integers(1, 70),
    st.sampled_from([1, 1 << 22, 1 << 40]),
)
def test_percentile_buckets_equal_a_plain_twin(points, buckets, scale):
    """Small values are counted in a table, large ones are sorted: `scale` reaches both."""
    values, weights = map(list, zip(*points, strict=True))
    expected = twin(values, weights, buckets)
    found = percentile_buckets(np.array(values) * scale, np.array(weights, np.uint8), buckets)
    assert found.dtype == np.uint16
    assert found.tolist() == [expected[value] for value in values]


@pytest.mark.parametrize("scale", [1, 1 << 22])
@pytest.mark.parametrize("buckets", [1, 2, 7, 100])
def test_buckets_of_distinct_values_are_nearly_equal_in_size(buckets, scale):
    rng = np.random.default_rng(4)
    values, weights = rng.permutation(20_000), rng.integers(1, 25, 20_000).astype(np.uint8)
    sizes = np.bincount(percentile_buckets(values * scale, weights, buckets), weights)
    assert len(sizes) == buckets
    assert np.abs(sizes - weights.sum() / buckets).max() <= weights.max()


def test_equal_values_stay_together_and_empty_buckets_are_left_out():
    values = np.where(np.arange(66) < 60, 5, 9)
    weights = np.ones(66, np.uint8)
    found = percentile_buckets(values, weights, 50)
    assert set(found[:60].tolist()) == {0}
    assert set(found[60:].tolist()) == {1}
    assert set(percentile_buckets(np.full(66, 3), weights, 50).tolist()) == {0}

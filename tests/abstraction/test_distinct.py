"""Merging of equal points against dictionaries."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.distinct import merge_equal, merge_equal_rows

RUNS = st.lists(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), max_size=3), min_size=1, max_size=60
)


@settings(max_examples=100, deadline=None)
@given(RUNS)
def test_points_are_merged_if_and_only_if_their_runs_are_equal(runs):
    starts = np.concatenate([[0], np.cumsum([len(run) for run in runs])]).astype(np.int64)
    entries = np.array([entry for run in runs for entry in run], np.uint16).reshape(-1, 2)
    chosen, place = merge_equal(starts, entries[:, 0].copy(), entries[:, 1].copy())
    firsts: dict[tuple, int] = {}
    for number, run in enumerate(runs):
        firsts.setdefault(tuple(run), number)
    assert chosen.tolist() == sorted(firsts.values())
    assert [runs[chosen[at]] for at in place] == runs


def test_rows_of_tables_are_runs():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (500, 7)).astype(np.uint8)
    chosen, place = merge_equal_rows(rows)
    np.testing.assert_array_equal(rows[chosen][place], rows)
    assert len(chosen) == len(np.unique(rows, axis=0))

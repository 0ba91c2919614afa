"""Schedules: what is a duration, and when marks are passed."""

from itertools import pairwise

import pytest
from nashfold.solver.schedule import Every, parse_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1h30m", 5400), (12, 12), ("1.5h", 5400), ("45", 45)],
)
def test_durations(text, seconds):
    assert parse_duration(text) == seconds
    assert Every.from_value(text) == Every(seconds=seconds)


@pytest.mark.parametrize("text", ["", "m", "-3s", "0", 0, "1d", True, None, float("inf"), "9" * 400])
def test_what_is_no_duration(text):
    with pytest.raises(ValueError, match="is not a duration"):
        parse_duration(text)
    with pytest.raises(ValueError, match=r"is not a duration: .* or 100_000 iterations"):
        Every.from_value(text)


@pytest.mark.parametrize("text", ["100_000 iterations", "100,000 iterations", " 100000iterations "])
def test_iterations(text):
    every = Every.from_value(text)
    assert every == Every(iterations=100_000)
    assert Every.from_value(every.to_value()) == every
    assert str(every) == "100,000 iterations"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give one of them"),
        ({"seconds": 1.0, "iterations": 1}, "give one of them"),
        ({"iterations": 0}, "iterations must be a positive number, not 0"),
        ({"iterations": True}, "must be a positive number"),
        ({"seconds": -1.0}, "is not a duration"),
    ],
)
def test_what_is_no_schedule(options, message):
    with pytest.raises(ValueError, match=message):
        Every(**options)


def test_marks_are_passed_once_each():
    by_iterations, by_time = Every(iterations=10), Every(seconds=2.0)
    assert [by_iterations.iterations_left(done) for done in (0, 3, 9, 10)] == [10, 7, 1, 10]
    assert by_time.iterations_left(3) == float("inf")
    states = [(0, 0.0), (9, 1.9), (10, 2.0), (11, 2.1), (35, 6.5)]
    steps = list(pairwise(states))
    assert [by_iterations.passed(*step) for step in steps] == [False, True, False, True]
    assert [by_time.passed(*step) for step in steps] == [False, True, False, True]

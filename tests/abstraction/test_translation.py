"""Bets off the menu, against figures of the papers and of the field."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashfold.abstraction.translation import (
    DETERMINISTIC,
    TRANSLATIONS,
    pseudo_harmonic,
    soft,
    translate,
)


def test_sizes_within_and_outside_of_the_menu():
    """AB-06: the raw formula gives -1 for two pots and 2.4545 for a tenth."""
    half, pot = 0.5, 1
    found = {x: translate(x, [half, pot]) for x in (0.75, 0.5, 1, 2, 0.1)}
    assert found[0.75] == pytest.approx({0: 0.428571, 1: 1 - 0.428571}, abs=1e-6)
    assert found[0.5] == {0: 1}
    assert found[1] == {1: 1}
    assert found[2] == {1: 1}
    assert pseudo_harmonic(2, half, pot) == -1
    assert found[0.1] == {0: 1}
    assert pseudo_harmonic(0.1, half, pot) == pytest.approx(2.4545, abs=1e-4)
    assert translate(0.1, [0, half])[0] == pytest.approx(0.727273, abs=1e-6)


def test_even_chances_are_where_the_paper_has_them():
    """(A + B + 2 A B) / (A + B + 2) for pseudo-harmonic; the geometric mean for soft translation."""
    for lower, upper in [(0, 1), (0.5, 1), (1, 4), (Fraction(1, 3), 2)]:
        even = (lower + upper + 2 * lower * upper) / (lower + upper + 2)
        assert pseudo_harmonic(even, lower, upper) == pytest.approx(0.5)
        if lower:
            assert soft((lower * upper) ** 0.5, float(lower), upper) == pytest.approx(0.5)


def test_each_translation_has_its_own_border():
    """Between one and four pots: 13/7 (pseudo-harmonic), 2 (geometric), 2.5 (the middle)."""

    def border(name: str) -> float:
        steps = [1 + i / 1000 for i in range(1, 3000)]
        return next(x for x in steps if translate(x, [1, 4], name).get(0, 0) < 0.5)

    assert border("pseudo-harmonic") == pytest.approx(13 / 7, abs=1e-3)
    assert border("deterministic") == pytest.approx(13 / 7, abs=1e-3)
    assert border("soft") == pytest.approx(2, abs=2e-3)
    assert border("nearest") == pytest.approx(2.5, abs=2e-3)
    assert translate(2.5, [1, 4], "nearest") == {0: 1}  # a tie goes down


def test_soft_translation_takes_no_bet_for_a_check():
    assert translate(0.01, [0, 0.5], "soft") == {1: 1}
    assert translate(0, [0, 0.5], "soft") == {0: 1}


SIZES = st.lists(st.fractions(0, 20, max_denominator=1000), min_size=1, max_size=6, unique=True).map(
    sorted
)


@pytest.mark.parametrize("name", TRANSLATIONS)
@given(x=st.fractions(0, 30, max_denominator=1000), sizes=SIZES)
def test_probabilities_of_neighbours_add_up_to_one(name, x, sizes):
    found = translate(x, sizes, name)
    assert sum(found.values()) == pytest.approx(1)
    assert all(0 < p <= 1 for p in found.values())
    assert len(found) <= (2 if name in ("pseudo-harmonic", "soft") else 1)
    below, above = [s for s in sizes if s <= x], [s for s in sizes if s >= x]
    neighbours = {*below[-1:], *above[:1]}
    assert {sizes[i] for i in found} <= neighbours
    for i, size in enumerate(sizes):
        assert translate(size, sizes, name) == {i: 1}


@given(lower=st.fractions(0, 5), gap=st.fractions(1 / 100, 5), share=st.fractions(0, 1))
def test_a_larger_bet_is_never_taken_for_the_lower_size_more_often(lower, gap, share):
    x = lower + gap * share
    for name in TRANSLATIONS:
        here = translate(x, [lower, lower + gap], name).get(0, 0)
        assert here >= translate(x + gap / 100, [lower, lower + gap], name).get(0, 0) - 1e-12


def test_the_deterministic_twin_takes_what_is_more_probable():
    for name, single in DETERMINISTIC.items():
        assert DETERMINISTIC[single] == single
        assert set(translate(0.6, [0.5, 1], single).values()) == {1}
        assert name in TRANSLATIONS


@pytest.mark.parametrize(
    ("x", "sizes", "name", "message"),
    [
        (1, [0.5], "harmonic", "unknown translation 'harmonic': choose one of pseudo-harmonic"),
        (-1, [0.5], "nearest", "a bet's share of the pot cannot be -1"),
        (float("nan"), [0.5], "nearest", "cannot be nan"),
        (1, [], "nearest", "at least one, finite, ascending"),
        (1, [1, 0.5], "nearest", "at least one, finite, ascending"),
        (1, [0.5, 0.5], "nearest", "at least one, finite, ascending"),
        (1, [-0.5, 0.5], "nearest", "not negative"),
    ],
)
def test_what_makes_no_sense_is_refused(x, sizes, name, message):
    with pytest.raises(ValueError, match=message):
        translate(x, sizes, name)

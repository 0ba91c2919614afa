"""Ranges of hole cards: every form of item against the names of its hands."""

from __future__ import annotations

import doctest
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import Deck, parse_range, ranges
from nashfold.game.cards import RANKS, SUITS, hand_index, parse_cards

PAIRS = [2 * rank for rank in reversed(RANKS)]
#: All hands by class, in words: "AKs" -> {("As", "Ks"), ...}
BY_CLASS: dict[str, set[tuple[str, str]]] = {}
for high, low in combinations([rank + suit for rank in reversed(RANKS) for suit in SUITS], 2):
    kind = "" if high[0] == low[0] else "s" if high[1] == low[1] else "o"
    BY_CLASS.setdefault(high[0] + low[0] + kind, set()).add((high, low))

ITEMS = [
    # item, number of hands, classes
    ("AA", 6, ["AA"]),
    ("22", 6, ["22"]),
    ("AKs", 4, ["AKs"]),
    ("AKo", 12, ["AKo"]),
    ("AK", 16, ["AKs", "AKo"]),
    ("KA", 16, ["AKs", "AKo"]),
    ("KAs", 4, ["AKs"]),
    ("TT+", 30, ["TT", "JJ", "QQ", "KK", "AA"]),
    ("22+", 78, PAIRS),
    ("AA+", 6, ["AA"]),
    ("ATs+", 16, ["ATs", "AJs", "AQs", "AKs"]),
    ("A2s+", 48, [f"A{rank}s" for rank in RANKS[:-1]]),
    ("T8o+", 24, ["T8o", "T9o"]),
    ("98+", 16, ["98s", "98o"]),
    ("KQ+", 16, ["KQs", "KQo"]),
    ("QQ-88", 30, ["QQ", "JJ", "TT", "99", "88"]),
    ("88-QQ", 30, ["QQ", "JJ", "TT", "99", "88"]),
    ("77-77", 6, ["77"]),
    ("A9s-A6s", 16, ["A9s", "A8s", "A7s", "A6s"]),
    ("A6s-A9s", 16, ["A9s", "A8s", "A7s", "A6s"]),
    ("K4o-K2o", 36, ["K4o", "K3o", "K2o"]),
    ("Q5-Q4", 32, ["Q5s", "Q5o", "Q4s", "Q4o"]),
    ("23s", 4, ["32s"]),
    ("AKs, QQ", 10, ["AKs", "QQ"]),
    ("AKs QQ,,22", 16, ["AKs", "QQ", "22"]),
    ("  AKs ,\n QQ\t", 10, ["AKs", "QQ"]),
]


def indices(classes) -> list[int]:
    return sorted(hand_index(*parse_cards(hand)) for name in classes for hand in BY_CLASS[name])


def test_the_names_of_this_test_are_the_169_classes():
    assert len(BY_CLASS) == 169
    assert indices(BY_CLASS) == list(range(1326))


@pytest.mark.parametrize(("text", "count", "classes"), ITEMS)
def test_items_mean_their_classes(text, count, classes):
    weights = parse_range(text)
    assert weights.shape == (1326,)
    assert weights.dtype == np.float64
    assert np.flatnonzero(weights).tolist() == indices(classes)
    assert weights.sum() == np.count_nonzero(weights) == count


@pytest.mark.parametrize("text", ["AsAh", "AhAs", "2c7d", "7d2c", "KcQc"])
def test_a_single_hand_is_one_hand(text):
    assert np.flatnonzero(parse_range(text)).tolist() == [hand_index(*parse_cards(text))]


def test_all_hands_can_be_written_and_weigh_1326():
    suited = [f"{rank}2s+" for rank in RANKS[1:]]
    text = ", ".join(["22+", *suited, *(item.replace("s", "o") for item in suited)])
    assert (parse_range(text) == 1).all()


@pytest.mark.parametrize(
    ("text", "total"),
    [
        ("KQo:0.5", 6), ("AA:1", 6), ("AA:0", 0), ("AA:1.0,KK:0.25", 7.5), ("AsAh:.5", 0.5), ("TT+:0.1", 3),
        ("QQ-88:0.5", 15), ("A9s-A6s:0.25", 4), ("AA, KK:0.5", 9), ("AA:1e-1", 0.6),
    ],
)  # fmt: skip
def test_weights(text, total):
    assert parse_range(text).sum() == pytest.approx(total, abs=1e-12)


def test_a_later_item_overrides_an_earlier_one():
    weights = parse_range("AA, AsAh:0.5, KK:0.3, KK")
    assert weights[hand_index(*parse_cards("AsAh"))] == 0.5
    assert weights[hand_index(*parse_cards("AsAd"))] == 1
    assert weights.sum() == 5.5 + 6
    assert parse_range("AsAh:0.5, AA").sum() == 6


@pytest.mark.parametrize("text", ["", " ", ",", " , \n"])
def test_an_empty_range_is_refused(text):
    with pytest.raises(ValueError, match="the range is empty"):
        parse_range(text)


@pytest.mark.parametrize(
    "item",
    [
        "A", "AKx", "aks", "AKS", "1010", "AK-", "-AK", "AK+-AQ", "AAs", "AAo+", "KK-QQs", "AKs-AQo",
        "AK-AQs", "AKs-KQs", "AA-AK", "AK-AA", "QQ-88+", "AsA", "AsKsQs", "Asks", "XX", "AKs++", "random",
        "A♠K♠", "AsAs",
    ],
)  # fmt: skip
def test_a_malformed_item_is_named(item):
    with pytest.raises(
        ValueError, match=r"is malformed|neither suited nor offsuit|named twice"
    ) as error:
        parse_range(f"QQ, {item}")
    assert len(str(error.value).splitlines()) == 1
    if item != "AsAs":  # the card is named there
        assert f"range item {item!r}" in str(error.value)


@pytest.mark.parametrize("weight", ["", "x", "1.1", "-0.1", "nan", "inf", "0.5:0.5", "50%", "1,5"])
def test_a_weight_that_is_none_is_named_with_its_item(weight):
    shown = weight.split(",")[0]
    item = f"AKs:{weight}"
    with pytest.raises(ValueError, match="range item") as error:
        parse_range(item)
    assert repr("5" if "," in weight else f"AKs:{shown}") in str(error.value)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(BY_CLASS)), st.integers(0, 100)), min_size=1, max_size=9)
)
def test_any_list_of_weighted_classes_against_a_dictionary(items):
    expected = {}
    for name, percent in items:
        expected |= dict.fromkeys(indices([name]), percent / 100)
    text = ", ".join(f"{name}:{percent / 100}" for name, percent in items)
    weights = parse_range(text)
    assert {hand: weights[hand] for hand in expected} == expected
    assert np.count_nonzero(weights) == sum(weight > 0 for weight in expected.values())


def test_hands_stand_at_the_index_that_decks_name():
    for hand in np.flatnonzero(parse_range("T9s, 33, A2o")):
        name = Deck().hand_name(hand)
        assert name[0] + name[2] in ("T9", "33", "A2")


def test_the_example_of_the_documentation_holds():
    assert doctest.testmod(ranges) == (0, 1)

"""Perfect recall and no abstraction at all, against plain Python over every deal of a small deck."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.abstraction import recall as recall_module
from nashfold.abstraction.hands import num_canonical_hands
from nashfold.game import preset
from nashfold.game.cards import hand_index
from small_abstractions import CLASSES, TINY_RULES

ROUNDS = (CLASSES, RoundConfig("ehs", 4), RoundConfig("ehs", 5))


def perfect(rules=TINY_RULES, rounds=ROUNDS):
    return build_abstraction(AbstractionConfig(rules, rounds, recall="perfect"))


def deals(deck):
    """Every (hole cards, flop, turn) of a deck as card numbers."""
    for flop in combinations(range(deck.size), 3):
        for turn in set(range(deck.size)) - set(flop):
            left = sorted(set(range(deck.size)) - {*flop, turn})
            for hole in combinations(left, 2):
                yield hole, flop, turn


def test_buckets_are_the_tuples_of_the_rounds_that_occur():
    abstraction = perfect()
    own = build_abstraction(AbstractionConfig(TINY_RULES, ROUNDS))
    everything = list(deals(TINY_RULES.deck))
    hands = np.array([hand_index(*hole) for hole, _, _ in everything])
    boards = np.array([[*flop, turn] for _, flop, turn in everything])
    found = abstraction.lookup_rounds(hands, boards)
    parts = own.lookup_rounds(hands, boards)
    for index in range(3):
        tuples = list(zip(*(part.tolist() for part in parts[: index + 1]), strict=True))
        numbers = {entry: number for number, entry in enumerate(sorted(set(tuples)))}
        assert abstraction.num_buckets[index] == len(numbers)
        assert found[index].tolist() == [numbers[entry] for entry in tuples]
        for entry, number in numbers.items():
            assert abstraction.own_buckets(index, number) == entry
    assert abstraction.num_buckets[2] > own.num_buckets[2]
    with pytest.raises(ValueError, match="has buckets 0 to"):
        abstraction.own_buckets(2, abstraction.num_buckets[2])


def test_sorted_keys_give_the_same_tuples_as_marks(monkeypatch, tmp_path):
    expected = perfect()
    monkeypatch.setattr(recall_module, "_MARKS", 0)
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    found = perfect()
    assert found.hash == expected.hash
    for ours, theirs in zip(found.tuples, expected.tuples, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_cards_that_came_as_turn_are_remembered():
    """The same four cards in another order: imperfect recall forgets it, perfect recall does not."""
    rounds = (CLASSES, RoundConfig("ehs", 40), RoundConfig("ehs", 40))
    ours, own = (
        perfect(preset("short-limit"), rounds),
        build_abstraction(AbstractionConfig(preset("short-limit"), rounds)),
    )
    assert ours.bucket(2, "AsKs", "9hTdJcQs") != ours.bucket(2, "AsKs", "QsTdJc9h")
    assert own.bucket(2, "AsKs", "9hTdJcQs") == own.bucket(2, "AsKs", "QsTdJc9h")
    assert ours.bucket(2, "AsKs", "9hTdJcQs") == ours.bucket(2, "KsAs", "JcTd9hQs")


def test_rows_are_lookups_of_all_hands():
    deck = TINY_RULES.deck
    boards = np.array([[0, 4, 7, 9], [0, 4, 9, 7], [1, 2, 3, 11]])
    for abstraction in (perfect(), build_abstraction(AbstractionConfig.lossless(TINY_RULES))):
        for index, size in enumerate((0, 3, 4)):
            rows = abstraction.rows(index, boards[:, :size])
            for row, board in zip(rows, boards[:, :size], strict=True):
                alive = ~np.isin(deck.hand_cards, board).any(axis=1)
                expected = abstraction.lookup(index, np.flatnonzero(alive), board[None])
                np.testing.assert_array_equal(row[alive], expected)


def test_lossless_buckets_are_the_deals_up_to_a_renaming_of_suits():
    abstraction = build_abstraction(AbstractionConfig.lossless(TINY_RULES))
    deck = TINY_RULES.deck
    renamings = [
        np.array([card - card % 3 + suits[card % 3] for card in range(deck.size)])
        for suits in permutations(range(3))
    ]
    everything = list(deals(deck))
    hands = np.array([hand_index(*hole) for hole, _, _ in everything])
    boards = np.array([[*flop, turn] for _, flop, turn in everything])
    found = abstraction.lookup(2, hands, boards).tolist()
    classes: dict[tuple, int] = {}
    for (hole, flop, turn), bucket in zip(everything, found, strict=True):
        smallest = min(
            (tuple(sorted(to[list(hole)])), tuple(sorted(to[list(flop)])), to[turn]) for to in renamings
        )
        assert classes.setdefault(smallest, bucket) == bucket
    assert len(set(classes.values())) == len(classes) == abstraction.num_buckets[2]


@pytest.mark.parametrize("name", ["short-limit", "flop-limit"])
def test_lossless_counts_are_those_of_burnside(name):
    rules = preset(name)
    abstraction = build_abstraction(AbstractionConfig.lossless(rules))
    assert abstraction.num_buckets == [
        num_canonical_hands(rules.deck, rules.board_cards[: index + 1])
        for index in range(rules.num_rounds)
    ]


@settings(max_examples=100, deadline=None)
@given(st.permutations(range(24)), st.permutations(range(4)), st.data())
def test_suits_and_orders_never_change_a_bucket(order, suits, data):
    for abstraction in (
        perfect(preset("short-limit")),
        build_abstraction(AbstractionConfig.lossless(preset("short-limit"))),
    ):
        cards = np.array(order[:6])
        others = cards - cards % 4 + np.array(suits)[cards % 4]
        flop = data.draw(st.permutations([2, 3, 4]))
        names = abstraction.deck.cards
        bucket = abstraction.bucket(2, names[cards[:2]], names[cards[2:]])
        assert bucket == abstraction.bucket(2, names[others[[1, 0]]], names[others[[*flop, 5]]])

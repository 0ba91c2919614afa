"""What is told of an abstraction is what an enumeration of all real hands finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from itertools import combinations
from math import comb

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction, trivial_abstraction
from nashfold.abstraction.build import built_round
from nashfold.abstraction.summary import bucket_sizes, summary
from nashfold.game import hand_strength
from small_abstractions import CLASSES, SHORT, TINY_RULES

TINY = AbstractionConfig(TINY_RULES, (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs2", 6)))


@pytest.fixture(scope="module")
def tiny():
    return build_abstraction(TINY)


def real_buckets(abstraction, round_index):
    """The bucket of every real hand on every real board, as the abstraction looks it up."""
    deck, size = abstraction.deck, abstraction.config.board_sizes[round_index]
    found = {}
    for board in combinations(range(deck.size), size):
        hands = [h for h, cards in enumerate(deck.hand_cards.tolist()) if not {*cards} & {*board}]
        buckets = abstraction.lookup(round_index, np.array(hands), np.tile(board, (len(hands), 1)))
        for hand, bucket in zip(hands, buckets.tolist(), strict=True):
            found[board, hand] = bucket
    return found


def bucket_of(abstraction, round_index, hand: str) -> int:
    hole, _, board = hand.partition(" on ")
    return abstraction.bucket(round_index, hole, board)


@pytest.mark.parametrize("round_index", range(3))
@pytest.mark.parametrize("features", ["clustered", "none", "lossless"])
def test_sizes_count_real_hands(tiny, features, round_index):
    abstraction = {
        "clustered": lambda: tiny,
        "none": lambda: trivial_abstraction(TINY_RULES),
        "lossless": lambda: build_abstraction(
            AbstractionConfig(TINY_RULES, (RoundConfig("lossless"),) * 3)
        ),
    }[features]()
    expected = Counter(real_buckets(abstraction, round_index).values())
    sizes = bucket_sizes(abstraction, round_index)
    assert {bucket: size for bucket, size in enumerate(sizes.tolist()) if size} == expected
    told = summary(abstraction).rounds[round_index]
    values = sorted(expected.values())
    assert (told.smallest, told.largest) == (values[0], values[-1])
    assert told.median == int(np.median(values))
    assert told.empty == abstraction.num_own_buckets[round_index] - len(expected)
    total = comb(12, told.board_size) * comb(12 - told.board_size, 2)
    for bucket in told.buckets:
        assert bucket.size == expected[bucket.bucket]
        assert bucket.share == bucket.size / total


@pytest.mark.parametrize("round_index", [1, 2])
def test_spread_is_the_mean_distance_of_real_hands_from_the_centre(tiny, round_index):
    built = built_round(TINY, round_index)
    hands = tiny.canonical_hands(round_index)
    # Mean equities by enumeration of what may still be dealt, in the plain way.
    equity = {}
    for (board, hand), bucket in real_buckets(tiny, round_index).items():
        equity.setdefault(bucket, []).append(mean_equity(tiny, board, hand))
    told = summary(tiny, shown=6).rounds[round_index]
    assert len(told.buckets) == built.num_buckets
    spreads = []
    for bucket in told.buckets:
        values = np.array(equity[bucket.bucket])
        assert bucket.equity == pytest.approx(values.mean(), abs=1e-6)
        assert bucket.spread == pytest.approx(np.abs(values - values.mean()).mean(), abs=1e-6)
        spreads.append((bucket.spread, bucket.bucket))
    everything = sum(len(values) for values in equity.values())
    assert everything == comb(12, hands.boards.size) * comb(12 - hands.boards.size, 2)
    assert told.spread == pytest.approx(
        sum(s * len(equity[bucket]) for s, bucket in spreads) / everything, abs=1e-9
    )
    assert told.widest == tuple(bucket for _, bucket in sorted(spreads, key=lambda s: -s[0])[:3])


_EQUITIES: dict[tuple, float] = {}


def mean_equity(abstraction, board, hand) -> float:
    """Mean over the last boards of wins and half of ties against all hands that may be held."""
    deck = abstraction.deck
    mine = set(deck.hand_cards[hand].tolist())
    left = [card for card in range(deck.size) if card not in mine and card not in board]
    results = []
    for more in combinations(left, 4 - len(board)):
        last = tuple(sorted([*board, *more]))
        if (last, hand) not in _EQUITIES:
            others = [
                pair for pair in combinations(range(deck.size), 2) if not {*pair} & (mine | {*last})
            ]
            cards = np.array([[*pair, *last] for pair in [tuple(mine), *others]])
            own, *theirs = hand_strength(deck.cards[cards]).tolist()
            _EQUITIES[last, hand] = np.mean([(own > other) + (own == other) / 2 for other in theirs])
        results.append(_EQUITIES[last, hand])
    return float(np.mean(results))


def test_examples_are_in_their_buckets(tiny):
    for abstraction in (tiny, build_abstraction(SHORT)):
        for told in summary(abstraction, examples=4).rounds:
            for bucket in told.buckets:
                named = [hand for hand in (bucket.nearest, bucket.farthest) if hand]
                assert len(named) == (0 if told.measure is None else 2)
                hands = [*named, *bucket.examples]
                assert hands
                for hand in hands:
                    assert bucket_of(abstraction, told.index, hand) == bucket.bucket
                assert len(set(bucket.examples)) == len(bucket.examples)
                assert not set(named) & set(bucket.examples)


def test_the_text_says_what_the_data_say(tiny):
    told = summary(tiny)
    assert f"tiny, imperfect recall: buckets 16-5-6, hash {TINY.hash}" in str(told)
    flop = told.rounds[1]
    text = str(flop)
    assert f"ehs, buckets = 5; 5 buckets of {flop.hands:,} hands up to suits" in text
    assert f"difference of mean equities from the centre: {flop.spread:.4f}" in text
    rows = text.splitlines()[-5:]
    for row, bucket in zip(rows, flop.buckets, strict=True):
        assert row.split()[:5] == [
            str(bucket.bucket), f"{bucket.size:,}", f"{100 * bucket.share:.4f}%",
            f"{bucket.equity:.4f}", f"{bucket.spread:.4f}",
        ]  # fmt: skip
        assert f"{bucket.nearest}  {bucket.farthest}  {'  '.join(bucket.examples)}" in row
        assert str(bucket).split() == row.split()
    assert asdict(told)["rounds"][1]["buckets"][0]["size"] == flop.buckets[0].size


def test_buckets_that_equal_values_leave_unused_are_told():
    config = AbstractionConfig(TINY_RULES, (CLASSES, RoundConfig("ehs", 3), RoundConfig("ehs", 60_000)))
    last = summary(build_abstraction(config)).rounds[2]
    assert last.num_own_buckets < last.max_buckets == 60_000
    assert "(no more of 60,000 are used)" in str(last)


def test_perfect_recall_counts_tuples():
    rounds = (RoundConfig("ehs", 3), RoundConfig("ehs", 4), RoundConfig("ehs", 5))
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, rounds, recall="perfect"))
    told = summary(abstraction)
    assert [entry.num_own_buckets for entry in told.rounds] == [3, 4, 5]
    assert [entry.num_buckets for entry in told.rounds] == abstraction.num_buckets
    assert f"{abstraction.num_buckets[2]:,} with the rounds before" in str(told.rounds[2])

"""Random hands are drawn as the deck deals them."""

from __future__ import annotations

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction, canonical_hands
from nashfold.abstraction.build import built_round
from nashfold.abstraction.equity import last_round_equity, strength_table
from nashfold.abstraction.samples import canonical_texts, draw_equities, draw_hands, draw_members
from scipy.stats import chisquare
from small_abstractions import CLASSES, TINY_RULES


@pytest.mark.parametrize("size", [0, 3, 4])
def test_every_real_hand_is_as_likely(size):
    hands = canonical_hands(TINY_RULES.deck, size)
    rows, drawn = draw_hands(hands, 300_000, np.random.default_rng(5))
    numbers = hands.index(drawn, hands.boards.cards[rows])  # refuses hands that share a card
    counts = np.bincount(numbers, minlength=len(hands))
    weights = hands.weights.astype(float)
    assert chisquare(counts, weights * len(rows) / weights.sum()).pvalue > 1e-3


@pytest.fixture(scope="module")
def tiny():
    rounds = (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs", 6))
    return build_abstraction(AbstractionConfig(TINY_RULES, rounds))


def test_members_are_in_their_buckets(tiny):
    for bucket, (rows, drawn) in zip([4, 1], draw_members(tiny, 1, [4, 1]), strict=True):
        assert len(rows) > 1_000
        assert (tiny.matrices[1][rows, drawn] == bucket).all()


@pytest.mark.parametrize("round_index", [1, 2])
def test_equities_have_the_mean_of_the_bucket(tiny, round_index):
    built = built_round(tiny.config, round_index)
    drawn = draw_equities(tiny, round_index, range(built.num_buckets), 4_000)
    error = drawn.std(axis=1) / np.sqrt(drawn.shape[1])
    assert (np.abs(drawn.mean(axis=1) - built.arrays["equity"]) < 4 * error + 1e-6).all()


def test_equities_of_the_last_round_are_those_of_the_exact_table(tiny):
    boards = tiny.boards(2)
    exact = last_round_equity(strength_table(boards), boards) / (2 * 15)  # hands of the six cards left
    for bucket, drawn in enumerate(draw_equities(tiny, 2, range(6), 200)):
        inside = (tiny.matrices[2] == bucket) & boards.hands_alive
        assert np.isin(drawn.round(9), exact[inside].round(9)).all()


def test_a_bucket_too_rare_to_be_drawn_is_refused(tiny):
    with pytest.raises(ValueError, match="bucket 99 of round 1 is too rare for random hands"):
        draw_equities(tiny, 1, [99], 10)


def test_texts_name_a_hand_once_up_to_suits():
    hands = canonical_hands(TINY_RULES.deck, 0)
    deck = hands.boards.deck
    texts = canonical_texts(hands, np.zeros(deck.num_hands, int), np.arange(deck.num_hands))
    assert len(texts) == len(hands)
    rows, drawn = np.zeros(3, int), np.arange(3)
    flop = canonical_texts(canonical_hands(deck, 3), rows + 5, drawn + 40)
    assert all(text[4:8] == " on " and len(text) == 14 for text in flop)

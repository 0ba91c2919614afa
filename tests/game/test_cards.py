"""Cards, decks and the indices of hole cards."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from nashfold.game.cards import RANKS, SUITS, Deck, format_cards, hand_index, parse_card, parse_cards


def test_numbers_are_those_of_openspiel():
    pyspiel = pytest.importorskip("pyspiel")
    state = pyspiel.load_game(
        "universal_poker(numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3)"
    ).new_initial_state()
    for card in (0, 3, 50, 51):
        state.apply_action(card)
    hole = [line.removeprefix(f"P{i} Cards: ") for i, line in enumerate(str(state).split("\n")[1:3])]
    assert [set(parse_cards(cards)) for cards in hole] == [{0, 3}, {50, 51}]


def test_every_card_reads_back_from_its_text_in_any_case():
    for card in range(52):
        text = format_cards([card])
        assert text == RANKS[card // 4] + SUITS[card % 4]
        assert parse_card(text) == parse_card(text.lower()) == parse_card(text.upper()) == card


@pytest.mark.parametrize("text", ["AsKdTc", "As Kd Tc", "As,Kd,10c", " as kD 10C ", "As, Kd, tc"])
def test_lists_of_cards_may_be_separated_or_not(text):
    assert parse_cards(text) == (51, 45, 32)


def test_lists_may_mix_texts_and_numbers():
    assert parse_cards(["As", 45, np.int64(32), "10d"]) == (51, 45, 32, 33)
    assert parse_cards("") == parse_cards([]) == ()


@pytest.mark.parametrize(
    "text", ["", " ", "A", "s", "1s", "11s", "Ax", "sA", "23s", "JQs", "100s", "A♠", "AsK", "As-Kd"]
)
def test_malformed_cards_are_refused_by_name(text):
    with pytest.raises(ValueError, match="is not a card"):
        parse_cards([text])


@pytest.mark.parametrize("token", [-1, 52, 3.0, 3.7, None, b"As"])
def test_what_is_no_card_number_is_refused(token):
    with pytest.raises(ValueError, match="is not a card number"):
        parse_cards([token])


@pytest.mark.parametrize("cards", ["AsAs", "As as", ["As", 51], "2c 3d 2c"])
def test_a_card_named_twice_is_refused(cards):
    with pytest.raises(ValueError, match="is named twice"):
        parse_cards(cards)


@pytest.mark.parametrize(("num_ranks", "num_suits"), [(13, 4), (6, 4), (13, 1), (3, 2), (1, 4)])
def test_a_deck_has_the_top_ranks_and_suits_in_order(num_ranks, num_suits):
    deck = Deck(num_ranks, num_suits)
    expected = [
        4 * RANKS.index(rank) + SUITS.index(suit)
        for rank in RANKS[13 - num_ranks :]
        for suit in SUITS[4 - num_suits :]
    ]
    assert deck.cards.tolist() == expected
    assert deck.size == len(expected)
    assert [deck.number(card) for card in expected] == list(range(deck.size))
    for card in set(range(52)) - set(expected):
        with pytest.raises(ValueError, match="is not in a deck"):
            deck.number(card)


@pytest.mark.parametrize("shape", [(0, 4), (14, 4), (13, 0), (13, 5)])
def test_impossible_decks_are_refused(shape):
    with pytest.raises(ValueError, match="a deck has"):
        Deck(*shape)


@pytest.mark.parametrize("deck", [Deck(), Deck(6, 4), Deck(3, 2)])
def test_hand_indices_count_every_pair_once_in_either_order(deck):
    pairs = list(combinations(range(deck.size), 2))
    indices = [hand_index(low, high) for low, high in pairs]
    assert indices == [hand_index(high, low) for low, high in pairs]
    assert sorted(indices) == list(range(deck.num_hands))
    for (low, high), index in zip(pairs, indices, strict=True):
        assert deck.hand_cards[index].tolist() == [high, low]
        assert parse_cards(deck.hand_name(index)) == (deck.cards[high], deck.cards[low])


def test_a_full_deck_has_1326_hands_and_aces_are_the_last():
    assert Deck().num_hands == 1326
    assert Deck().hand_name(1325) == "AsAh"
    assert Deck().hand_name(0) == "2d2c"

"""Canonical hands against published counts and brute force over all renamings of suits."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.boards import canonical_boards, suit_permutations
from nashfold.abstraction.hands import canonical_hands, num_canonical_hands
from nashfold.game import Deck, parse_cards
from nashfold.game.cards import hand_index


def index_of(hole: str, board: str) -> int:
    """Canonical hand of cards of a full deck in text."""
    cards = np.array(parse_cards(board), int)
    return int(
        canonical_hands(Deck(), len(cards)).index(np.array(hand_index(*parse_cards(hole))), cards)
    )


@pytest.mark.parametrize(
    ("size", "count"), [(0, 169), (3, 1_286_792), (4, 13_960_050), (5, 123_156_254)]
)
def test_published_counts_of_a_full_deck(size, count):
    """Field case IS-03; Waugh 2013 and Johanson 2013 for the turn and the river."""
    hands = canonical_hands(Deck(), size)
    assert len(hands) == count
    rng = np.random.default_rng(size)
    numbers = np.unique(np.concatenate([[0, count - 1], rng.integers(count, size=2_000)]))
    rows, hole = hands.unindex(numbers)
    np.testing.assert_array_equal(hands.index(hole, hands.boards.cards[rows]), numbers)
    # Any renaming of the suits, with the board in another order, has the same number.
    group = suit_permutations(Deck())
    renaming = rng.integers(len(group), size=len(numbers))
    boards = group.cards[renaming[:, None], hands.boards.cards[rows]][:, ::-1]
    np.testing.assert_array_equal(hands.index(group.hands[renaming, hole], boards), numbers)


@pytest.mark.parametrize(
    ("dealt", "count"),
    [
        ([], 169),
        ([3], 1_286_792),
        ([4], 13_960_050),
        ([5], 123_156_254),
        ([0, 3, 1], 55_190_538),
        ([0, 3, 1, 1], 2_428_287_420),
    ],
)
def test_burnside_counts_are_the_published_ones(dealt, count):
    """Waugh 2013, table 1 (rounds told apart), and Johanson 2013."""
    assert num_canonical_hands(Deck(), dealt) == count


@pytest.mark.parametrize("size", [0, 3, 4])
def test_weights_count_every_real_hand_once(size):
    hands = canonical_hands(Deck(), size)
    weights = hands.weights
    assert weights.dtype == np.uint8
    assert len(weights) == len(hands)
    total = {0: 1326, 3: 22_100 * 1176, 4: 270_725 * 1128}[size]
    assert weights.sum(dtype=np.int64) == total
    assert set(np.unique(weights)) <= {4, 6, 12, 24}


@pytest.mark.parametrize("deck", [Deck(6, 4), Deck(4, 3), Deck(6, 2), Deck(3, 4), Deck(9, 1)])
@pytest.mark.parametrize("size", [0, 2, 3])
def test_small_decks_equal_brute_force(deck, size):
    """Classes of (hand, board) by applying every renaming to every pair of them."""
    hands, group = canonical_hands(deck, size), suit_permutations(deck)
    numbers: dict[tuple, int] = {}
    found: dict[int, set] = {}
    for board in combinations(range(deck.size), size):
        left = [card for card in range(deck.size) if card not in board]
        pairs = list(combinations(left, 2))
        index = [hand_index(*pair) for pair in pairs]
        for pair, number in zip(pairs, hands.index(np.array(index), np.array(board, int)), strict=True):
            numbers[pair, board] = number
            found.setdefault(int(number), set()).add((pair, board))
    assert sorted(found) == list(range(len(hands)))
    assert len(hands) == num_canonical_hands(deck, [size])
    weights = hands.weights
    for number, members in found.items():
        pair, board = next(iter(members))
        orbit = {
            (tuple(sorted(cards[list(pair)])), tuple(sorted(cards[list(board)])))
            for cards in group.cards
        }
        assert members == orbit
        assert weights[number] == len(members)


def test_spread_and_gather_are_inverse_and_follow_the_index():
    deck = Deck(6, 4)
    for size in (0, 3, 4):
        hands = canonical_hands(deck, size)
        table = hands.spread(np.arange(1, len(hands) + 1))
        np.testing.assert_array_equal(hands.gather(table), np.arange(1, len(hands) + 1))
        np.testing.assert_array_equal(table > 0, hands.boards.hands_alive)
        rows, hole = np.nonzero(table)
        index = hands.index(hole, hands.boards.cards[rows])
        np.testing.assert_array_equal(table[rows, hole], index + 1)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_suits_and_orders_never_matter(data):
    order = data.draw(st.permutations(range(52)))
    size = data.draw(st.sampled_from([0, 3, 4, 5]))
    suits = suit_permutations(Deck()).cards[data.draw(st.integers(0, 23))]
    hands = canonical_hands(Deck(), size)
    board, hole = np.array(order[:size], int), order[size : size + 2]
    shuffled = np.array(data.draw(st.permutations(board.tolist())), int)
    one = hands.index(np.array(hand_index(*hole)), board)
    other = hands.index(np.array(hand_index(*(int(suits[card]) for card in hole))), suits[shuffled])
    assert one == other


def test_field_case_is_01_same_and_different_hands():
    for same in (["KcQc", "KdQd", "KsQs"], ["KhQc", "KhQs"], ["KdQs", "KcQd"]):
        assert len({index_of(hole, "9h6h2h") for hole in same}) == 1
    different = ["KcQc", "KhQh", "KhQc", "KcQh", "KdQs"]
    assert len({index_of(hole, "9h6h2h") for hole in different}) == 5


def test_field_case_is_08_blockers_are_kept():
    assert index_of("Kh3s", "Th8h4h") != index_of("Ks3h", "Th8h4h")


def test_a_dead_hand_is_refused():
    hands = canonical_hands(Deck(), 3)
    with pytest.raises(ValueError, match="shares a card"):
        hands.index(np.array(hand_index(0, 1)), canonical_boards(Deck(), 3).cards[0])

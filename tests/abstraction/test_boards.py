"""Canonical boards against published counts and brute force over all renamings of suits."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import Boards, canonical_boards
from nashfold.abstraction.boards import is_suit_invariant, suit_permutations
from nashfold.game import Deck, parse_cards
from nashfold.game.cards import hand_index

SMALL = [Deck(6, 4), Deck(5, 3), Deck(7, 2), Deck(13, 1), Deck(2, 4), Deck(3, 3)]


def name(deck: Deck) -> str:
    return f"{deck.num_ranks}x{deck.num_suits}"


def renamed(deck: Deck, cards, suits) -> list[int]:
    """Card numbers with suit s replaced by suits[s], in the same order."""
    return [number - number % deck.num_suits + suits[number % deck.num_suits] for number in cards]


def classes(deck: Deck, size: int) -> dict[frozenset[int], set[frozenset[int]]]:
    """All boards by brute force: one member of each class -> the members of the class."""
    found: dict[frozenset[int], set[frozenset[int]]] = {}
    seen: set[frozenset[int]] = set()
    renamings = list(permutations(range(deck.num_suits)))
    for board in combinations(range(deck.size), size):
        if frozenset(board) not in seen:
            members = {frozenset(renamed(deck, board, suits)) for suits in renamings}
            seen |= members
            found[frozenset(board)] = members
    return found


@st.composite
def boards_of_some_deck(draw, least: int = 0):
    deck = draw(st.sampled_from([Deck(), Deck(), *SMALL]))
    order = draw(st.permutations(range(deck.size)))
    size = draw(st.integers(least, min(5, deck.size - 2)))
    suits = draw(st.permutations(range(deck.num_suits)))
    return deck, order[:size], order[size : size + 2], suits


@pytest.mark.parametrize(
    ("size", "rows", "boards"), [(3, 1_755, 22_100), (4, 16_432, 270_725), (5, 134_459, 2_598_960)]
)
def test_published_counts_of_a_full_deck(size, rows, boards):
    canonical = canonical_boards(Deck(), size)
    assert len(canonical) == len(canonical.cards) == len(canonical.orbit) == rows
    assert canonical.orbit.sum() == len(canonical.row_of) == boards
    np.testing.assert_array_equal(np.bincount(canonical.row_of), canonical.orbit)
    assert set(np.unique(canonical.orbit)) <= {1, 4, 6, 12, 24}  # divisors that occur: 24 / stabiliser


def test_the_empty_board_is_one_row():
    canonical = canonical_boards(Deck(), 0)
    assert (len(canonical), canonical.orbit.tolist(), canonical.cards.shape) == (1, [1], (1, 0))
    assert canonical.locate(np.empty((5, 0), int))[0].tolist() == [0] * 5
    assert canonical.hands_alive.all()


@pytest.mark.parametrize("deck", SMALL, ids=name)
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_rows_are_the_classes_that_brute_force_finds(deck, size):
    expected = classes(deck, size)
    canonical = canonical_boards(deck, size)
    assert len(canonical) == len(expected)
    assert canonical.orbit.sum() == comb(deck.size, size)
    for members in expected.values():
        boards = np.array([sorted(board) for board in members])
        rows = set(canonical.locate(boards)[0].tolist())
        assert len(rows) == 1
        (row,) = rows
        assert canonical.orbit[row] == len(members)
        assert frozenset(canonical.cards[row].tolist()) in members


@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_canonical_board_is_found_at_its_own_row_and_is_the_smallest_of_its_class(size):
    canonical = canonical_boards(Deck(), size)
    rows, numbers = canonical.locate(canonical.cards)
    np.testing.assert_array_equal(rows, np.arange(len(canonical)))
    assert (numbers == 0).all()  # the identity
    assert (np.diff(canonical.cards, axis=1) > 0).all()
    colex = np.array([[comb(c, i + 1) for c in range(52)] for i in range(size)])
    index = colex[np.arange(size), canonical.cards].sum(axis=1)
    assert (np.diff(index) > 0).all()
    group = suit_permutations(Deck()).cards
    for cards in group:
        image = np.sort(cards[canonical.cards], axis=1)
        assert (colex[np.arange(size), image].sum(axis=1) >= index).all()


@settings(deadline=None)
@given(boards_of_some_deck())
def test_the_permutation_of_locate_leads_to_the_canonical_board(case):
    deck, board, _, _ = case
    canonical = canonical_boards(deck, len(board))
    row, number = canonical.locate(np.array(board, int))
    suits = suit_permutations(deck).suits[number]
    assert sorted(renamed(deck, board, suits)) == canonical.cards[row].tolist()


@settings(deadline=None)
@given(boards_of_some_deck(), st.randoms(use_true_random=False))
def test_renamed_and_reordered_boards_have_the_same_row(case, random):
    deck, board, _, suits = case
    canonical = canonical_boards(deck, len(board))
    other = renamed(deck, board, suits)
    random.shuffle(other)
    rows, _ = canonical.locate(np.array([board, other], int))
    assert rows[0] == rows[1]


def test_locate_keeps_the_shape_of_a_batch():
    canonical = canonical_boards(Deck(), 3)
    keys = np.random.default_rng(3).random((4, 5, 52))
    boards = np.argsort(keys, axis=-1)[:, :, :3]
    rows, numbers = canonical.locate(boards)
    assert rows.shape == numbers.shape == (4, 5)
    for place in np.ndindex(4, 5):
        assert canonical.locate(boards[place]) == (rows[place], numbers[place])


@pytest.mark.parametrize("deck", [Deck(), *SMALL], ids=name)
def test_suit_permutations_move_suits_and_keep_ranks(deck):
    group = suit_permutations(deck)
    assert len(group) == len({tuple(row) for row in group.suits.tolist()}) == factorial(deck.num_suits)
    assert group.cards[0].tolist() == list(range(deck.size))
    assert group.hands[0].tolist() == list(range(deck.num_hands))
    for suits, cards, hands in zip(group.suits, group.cards, group.hands, strict=True):
        assert cards.tolist() == renamed(deck, range(deck.size), suits)
        for hand in range(0, deck.num_hands, 7):
            high, low = deck.hand_cards[hand]
            assert hands[hand] == hand_index(int(cards[high]), int(cards[low]))
        assert len(set(hands.tolist())) == deck.num_hands


@pytest.mark.parametrize("deck", [Deck(5, 3), Deck(4, 4)], ids=name)
def test_stabilisers_and_live_hands_against_brute_force(deck):
    canonical = canonical_boards(deck, 3)
    group = suit_permutations(deck)
    alive = canonical.hands_alive
    for row, board in enumerate(canonical.cards.tolist()):
        keeps = [
            number
            for number, suits in enumerate(group.suits)
            if set(renamed(deck, board, suits)) == set(board)
        ]
        assert canonical.stabiliser(canonical.cards[row]).tolist() == keeps
        assert canonical.orbit[row] * len(keeps) == len(group)
        assert canonical.stabiliser(canonical.cards[row], np.array([0, 1])).tolist() == [
            number for number in keeps if number < 2
        ]
        for hand, cards in enumerate(deck.hand_cards.tolist()):
            assert alive[row, hand] == (not set(cards) & set(board))


def test_hands_and_flops_together_have_1286792_classes():
    """Burnside: orbits of live hands = mean number of live hands that a permutation leaves alone."""
    canonical = canonical_boards(Deck(), 3)
    hands = suit_permutations(Deck()).hands
    fixed_by = hands == np.arange(Deck().num_hands)  # [permutation, hand]
    fixed = canonical.hands_alive.astype(np.int64) @ fixed_by.T.astype(np.int64)  # [row, permutation]
    total = 0
    for row, board in enumerate(canonical.cards):
        keeps = canonical.stabiliser(board)
        orbits, rest = divmod(int(fixed[row, keeps].sum()), len(keeps))
        assert rest == 0
        total += orbits
    assert total == 1_286_792


def lossless_key(hole: str, board: str) -> tuple[int, int]:
    """Board row and the smallest hand that the permutations keeping the board make of the hand."""
    cards = parse_cards(board)
    canonical = canonical_boards(Deck(), len(cards))
    row, number = canonical.locate(np.array(cards))
    hands = suit_permutations(Deck()).hands
    hand = hands[number, hand_index(*parse_cards(hole))]
    return int(row), int(hands[canonical.stabiliser(canonical.cards[row]), hand].min())


def test_hands_that_are_equal_up_to_suits_share_a_key_and_no_others_do():
    """Published questions about suit isomorphism (field cases IS-01 and IS-08)."""
    for same in (["KcQc", "KdQd", "KsQs"], ["KhQc", "KhQs"], ["KdQs", "KcQd"]):
        assert len({lossless_key(hole, "9h6h2h") for hole in same}) == 1
    different = ["KcQc", "KhQh", "KhQc", "KcQh", "KdQs"]
    assert len({lossless_key(hole, "9h6h2h") for hole in different}) == 5
    assert lossless_key("Kh3s", "Th8h4h") != lossless_key("Ks3h", "Th8h4h")


@settings(deadline=None)
@given(boards_of_some_deck())
def test_an_invariant_table_reads_the_same_for_every_renaming_of_a_state(case):
    """The whole lookup: the orbit of a hand under the permutations that keep its board."""
    deck, board, hole, suits = case
    canonical = canonical_boards(deck, len(board))
    group = suit_permutations(deck)
    keys = []
    for cards, own in ((board, hole), (renamed(deck, board, suits), renamed(deck, hole, suits))):
        row, number = canonical.locate(np.array(cards, int))
        hand = group.hands[number, hand_index(*own)]
        keys.append((int(row), group.hands[canonical.stabiliser(canonical.cards[row]), hand].min()))
    assert keys[0] == keys[1]


def test_a_table_is_suit_invariant_unless_an_entry_differs_within_an_orbit():
    deck = Deck(4, 3)
    canonical = canonical_boards(deck, 3)
    group = suit_permutations(deck)
    table = np.zeros((len(canonical), deck.num_hands), np.uint16)
    assert is_suit_invariant(table, canonical)
    caught = 0
    for row, board in enumerate(canonical.cards):
        images = group.hands[canonical.stabiliser(board)]
        for hand in range(deck.num_hands):
            table[row, hand] = 1
            alone = (images[:, hand] == hand).all()
            assert is_suit_invariant(table, canonical) == alone
            caught += not alone
            table[row, hand] = 0
    assert caught > 1000


def test_boards_too_many_for_tables_are_refused():
    with pytest.raises(ValueError, match="752,538,150 boards of 8 cards are too many"):
        Boards(Deck(), 8)

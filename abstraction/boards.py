"""Canonical boards: sets of community cards up to a renaming of suits.

The boards of one size are numbered twice. A `board_index` numbers all sets of card numbers in
colexicographic order; a `board_row` numbers the classes of sets that a renaming of suits turns into
each other (1,755 / 16,432 / 134,459 rows for three, four and five cards of a full deck). The member
of a class with the smallest board index is its canonical board. Tables have a row for each board row
and a column for each hand index, and a state is looked up in three steps: board -> board row and the
suit permutation that turns the board into the canonical one; hand -> the hand permuted likewise;
entry [board row, permuted hand]. Where several permutations lead to the canonical board any of them
will do, as long as the table's rows do not change under the permutations that leave the board alone.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from math import comb

import numba as nb
import numpy as np

from ..game.cards import Deck


class SuitPermutations:
    """All renamings of the suits of a deck; number 0 is the identity.

    Attributes:
        suits: int64 [permutations, num_suits]: the new suit of each suit.
        cards: int64 [permutations, deck.size]: the new card number of each card number.
        hands: int32 [permutations, deck.num_hands]: the new hand index of each hand index.
    """

    def __init__(self, deck: Deck):
        suits = deck.num_suits
        self.suits = np.array(list(permutations(range(suits))), np.int64)
        rank, suit = np.divmod(np.arange(deck.size), suits)
        self.cards = rank * suits + self.suits[:, suit]
        moved = np.sort(self.cards[:, deck.hand_cards], axis=2)
        self.hands = (moved[:, :, 1] * (moved[:, :, 1] - 1) // 2 + moved[:, :, 0]).astype(np.int32)

    def __len__(self) -> int:
        return len(self.suits)


class Boards:
    """The canonical boards of one size.

    Attributes:
        deck: the deck.
        size: number of community cards.
        cards: int64 [board_row, size]: card numbers of each canonical board, ascending.
        orbit: int64 [board_row]: number of real boards in each class.
        row_of: int32 [board_index]: board row of each set of cards.
        permutation_of: uint8 [board_index]: a suit permutation that leads to the canonical board.
        binomials: int64 [deck.size + 1, size + 1]: binomial coefficients, for board indices.
    """

    def __init__(self, deck: Deck, size: int):
        total = comb(deck.size, size)
        if total > 50_000_000:
            raise ValueError(f"{total:,} boards of {size} cards are too many for tables by board")
        self.deck, self.size = deck, size
        self.binomials = np.array(
            [[comb(card, chosen) for chosen in range(size + 1)] for card in range(deck.size + 1)]
        )
        self.row_of = np.full(total, -1, np.int32)
        self.permutation_of = np.zeros(total, np.uint8)
        group = suit_permutations(deck)
        cards = np.empty((total, size), np.int64)
        orbit = np.zeros(total, np.int64)
        inverse = np.argsort(group.suits, axis=1)
        inverse_of = np.array([int((group.suits == row).all(axis=1).argmax()) for row in inverse])
        rows = _number_boards(
            self.binomials, group.cards, inverse_of, self.row_of, self.permutation_of, cards, orbit
        )
        self.cards, self.orbit = cards[:rows].copy(), orbit[:rows].copy()

    def __len__(self) -> int:
        return len(self.cards)

    def locate(self, boards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Board row and suit permutation of boards int [..., size] of card numbers in any order."""
        cards = np.sort(np.asarray(boards, np.int64), axis=-1)
        index = self.binomials[cards, np.arange(1, self.size + 1)].sum(axis=-1)
        return self.row_of[index], self.permutation_of[index]

    @property
    def hands_alive(self) -> np.ndarray:
        """bool [board_row, hand]: whether the hand shares no card with the board."""
        return hands_alive(self.deck, self.cards)

    def stabiliser(self, board: np.ndarray, within: np.ndarray | None = None) -> np.ndarray:
        """Suit permutations (of those in `within`, default all) that leave a set of cards alone."""
        moved = suit_permutations(self.deck).cards
        candidates = np.arange(len(moved)) if within is None else within
        same = np.sort(moved[candidates][:, board], axis=1) == np.sort(board)
        return candidates[same.all(axis=1)]


def hands_alive(deck: Deck, boards: np.ndarray) -> np.ndarray:
    """bool [board, hand]: whether the hand shares no card with boards int [board, cards]."""
    first, second = deck.hand_cards.T
    on_board = np.zeros((len(boards), deck.size), bool)
    np.put_along_axis(on_board, boards, True, axis=1)
    return ~(on_board[:, first] | on_board[:, second])


@cache
def suit_permutations(deck: Deck) -> SuitPermutations:
    return SuitPermutations(deck)


@cache
def canonical_boards(deck: Deck, size: int) -> Boards:
    """The canonical boards of that many cards; computed once a process."""
    return Boards(deck, size)


def is_suit_invariant(table: np.ndarray, boards: Boards) -> bool:
    """Whether no row of table [board_row, hand] changes under the permutations that keep its board."""
    group = suit_permutations(boards.deck)
    return bool(_rows_invariant(table, boards.cards, group.cards, group.hands))


@nb.njit(cache=True, nogil=True)
def _number_boards(binomials, moved_cards, inverse_of, row_of, permutation_of, cards, orbit):
    """Fill row_of, permutation_of, cards and orbit in colexicographic order; number of rows."""
    size = cards.shape[1]
    board = np.arange(size)
    image = np.empty(size, np.int64)
    rows = 0
    for index in range(row_of.shape[0]):
        if row_of[index] < 0:
            cards[rows] = board
            for permutation in range(moved_cards.shape[0]):
                for place in range(size):  # insertion sort of the image
                    card = moved_cards[permutation, board[place]]
                    at = place
                    while at > 0 and image[at - 1] > card:
                        image[at] = image[at - 1]
                        at -= 1
                    image[at] = card
                other = 0
                for place in range(size):
                    other += binomials[image[place], place + 1]
                if row_of[other] < 0:
                    row_of[other] = rows
                    permutation_of[other] = inverse_of[permutation]
                    orbit[rows] += 1
            rows += 1
        # The next set: raise the lowest card that can be raised, and put those below it at the bottom.
        place = 0
        while place + 1 < size and board[place] + 1 == board[place + 1]:
            board[place] = place
            place += 1
        if size:
            board[place] += 1
    return rows


@nb.njit(cache=True, nogil=True)
def _rows_invariant(table, boards, moved_cards, moved_hands):
    for permutation in range(1, moved_cards.shape[0]):
        for row in range(boards.shape[0]):
            fixed = True
            for card in boards[row]:
                image = moved_cards[permutation, card]
                found = False
                for other in boards[row]:
                    found |= other == image
                fixed &= found
            if fixed:
                for hand in range(table.shape[1]):
                    if table[row, hand] != table[row, moved_hands[permutation, hand]]:
                        return False
    return True

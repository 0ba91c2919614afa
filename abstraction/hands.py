"""Canonical hands: hole cards on a board, up to a renaming of suits.

On a canonical board, hands that a suit permutation which leaves the board alone turns into each other are
the same; the one with the smallest hand index stands for them. Canonical hands are numbered in order of
board row, then of that index: 169 before the flop of a full deck, 1,286,792 on the flop, 13,960,050 on the
turn and 123,156,254 on the river (order within the board ignored; Waugh 2013 counts the same). Features
have a row for each `canonical_hand`: in the order of the boards, without dead hands and without copies.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numba as nb
import numpy as np

from ..game.cards import Deck
from .boards import Boards, canonical_boards, suit_permutations


class CanonicalHands:
    """The canonical hands on the boards of one size.

    Attributes:
        boards: the canonical boards.
        first: int64 [board_row + 1]: row r has the canonical hands first[r] to first[r + 1] - 1.
        group_of: uint8 [board_row]: which group of suit permutations leaves the board alone.
        smallest: int32 [group, hand]: smallest hand index of the orbit of each hand under the group.
        orbit_size: uint8 [group, hand]: size of that orbit.
    """

    def __init__(self, boards: Boards):
        self.boards = boards
        deck, permutations = boards.deck, suit_permutations(boards.deck)
        ranks, suits = np.divmod(boards.cards, deck.num_suits)
        ranks_of = np.zeros((len(boards), deck.num_suits), np.int64)
        np.bitwise_or.at(ranks_of, (np.arange(len(boards))[:, None], suits), 1 << ranks)
        # A permutation leaves the board alone if it turns suits into suits of the same ranks.
        keeps = np.stack([(ranks_of == ranks_of[:, to]).all(axis=1) for to in permutations.suits])
        codes, group_of = np.unique((1 << np.arange(len(permutations))) @ keeps, return_inverse=True)
        self.group_of = group_of.astype(np.uint8)
        members = (codes[:, None] >> np.arange(len(permutations))) & 1 > 0
        smallest = [permutations.hands[member].min(axis=0) for member in members]
        self.smallest = np.array(smallest, np.int32)
        sizes = [np.bincount(row, minlength=deck.num_hands)[row] for row in smallest]
        self.orbit_size = np.array(sizes, np.uint8)
        counts = np.empty(len(boards), np.int64)
        _count(boards.cards, deck.hand_cards, self.group_of, self.smallest, counts)
        self.first = np.concatenate([[0], np.cumsum(counts)])

    def __len__(self) -> int:
        return int(self.first[-1])

    @property
    def weights(self) -> np.ndarray:
        """uint8 [canonical_hand]: real hands (a board and hole cards) behind each; at most 24."""
        orbit = self.boards.orbit.astype(np.uint8)
        return self.gather(orbit[:, None] * self.orbit_size[self.group_of])

    def index(self, hands: np.ndarray, boards: np.ndarray) -> np.ndarray:
        """int64 [...]: canonical hands of hand indices int [...] on boards int [..., cards], in any order.

        Raises ValueError for a hand that shares a card with its board.
        """
        rows, permutation = self.boards.locate(boards)
        moved = suit_permutations(self.boards.deck).hands[permutation, hands]
        shape = np.broadcast(rows, moved).shape
        rows = np.broadcast_to(rows, shape).astype(np.int64).ravel()
        moved = np.broadcast_to(moved, shape).astype(np.int64).ravel()
        out = np.empty(len(rows), np.int64)
        _index(rows, moved, *self._arrays(), self.first, out)
        if (out < 0).any():
            raise ValueError("a hand shares a card with its board")
        return out.reshape(shape)

    def unindex(self, canonical_hands: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Board rows and hand indices, int64 [...] each, of canonical hands int [...]."""
        numbers = np.asarray(canonical_hands, np.int64)
        rows = np.searchsorted(self.first, numbers, side="right") - 1
        hands = np.empty(numbers.size, np.int64)
        places = (numbers - self.first[rows]).ravel()
        _unindex(rows.ravel(), places, *self._arrays(), hands)
        return rows, hands.reshape(numbers.shape)

    def spread(self, values: np.ndarray) -> np.ndarray:
        """[board_row, hand]: the values [canonical_hand] of all hands, 0 for dead ones."""
        out = np.zeros((len(self.boards), self.boards.deck.num_hands), values.dtype)
        _spread(values, *self._arrays(), self.first, out)
        return out

    def gather(self, table: np.ndarray) -> np.ndarray:
        """[canonical_hand]: entries of a table [board_row, hand]."""
        out = np.empty(len(self), table.dtype)
        _gather(table, *self._arrays(), self.first, out)
        return out

    def _arrays(self) -> tuple[np.ndarray, ...]:
        return self.boards.cards, self.boards.deck.hand_cards, self.group_of, self.smallest


@cache
def canonical_hands(deck: Deck, board_size: int) -> CanonicalHands:
    """The canonical hands on boards of that many cards; computed once a process."""
    return CanonicalHands(canonical_boards(deck, board_size))


def num_canonical_hands(deck: Deck, dealt: Sequence[int]) -> int:
    """Number of hole cards with boards up to a renaming of suits, by Burnside's lemma; nothing is listed.

    Args:
        deck: the deck.
        dealt: numbers of community cards dealt together: [4] is a board of four cards, [3, 1] a flop and a
            turn that are told apart (13,960,050 and 55,190,538 in a full deck).
    """
    return _num_canonical_sets(deck, (2, *(size for size in dealt if size)))


def num_canonical_boards(deck: Deck, size: int) -> int:
    """Number of boards of so many cards up to a renaming of suits."""
    return _num_canonical_sets(deck, (size,))


@cache
def _num_canonical_sets(deck: Deck, sets: tuple[int, ...]) -> int:
    """Number of ways to draw disjoint sets of cards of these sizes, up to a renaming of suits."""
    permutations = suit_permutations(deck)
    fixed = 0
    for to in permutations.suits:
        # ways[i, j, ...]: how to fill the sets with i, j, ... cards so that the permutation keeps each set:
        # every cycle of cards goes into one set, or into none.
        ways = np.zeros([size + 1 for size in sets], object)
        ways[(0,) * len(sets)] = 1
        for length in _cycle_lengths(to) * deck.num_ranks:
            more = ways.copy()
            for axis, size in enumerate(sets):
                if length <= size:
                    source = [slice(None)] * len(sets)
                    target = list(source)
                    source[axis], target[axis] = slice(0, size + 1 - length), slice(length, None)
                    more[tuple(target)] += ways[tuple(source)]
            ways = more
        fixed += int(ways[tuple(sets)])
    return fixed // len(permutations)


def _cycle_lengths(to: np.ndarray) -> list[int]:
    """Lengths of the cycles of a permutation."""
    lengths, seen = [], set()
    for start in range(len(to)):
        length, place = 0, start
        while place not in seen:
            seen.add(place)
            place, length = int(to[place]), length + 1
        if length:
            lengths.append(length)
    return lengths


@nb.njit(cache=True, nogil=True, inline="always")
def _mask(cards):
    """Set of card numbers, one bit each."""
    mask = np.uint64(0)
    for card in cards:
        mask |= np.uint64(1) << np.uint64(card)
    return mask


@nb.njit(cache=True, nogil=True)
def representatives(board, hand_cards, smallest, out):
    """Write the canonical hands of a board, ascending, into out; their number."""
    taken = _mask(board)
    count = 0
    for hand in range(hand_cards.shape[0]):
        if smallest[hand] == hand and not taken & _mask(hand_cards[hand]):
            out[count] = hand
            count += 1
    return count


@nb.njit(cache=True, nogil=True)
def _count(boards, hand_cards, group_of, smallest, counts):
    found = np.empty(hand_cards.shape[0], np.int64)
    for row in range(boards.shape[0]):
        counts[row] = representatives(boards[row], hand_cards, smallest[group_of[row]], found)


@nb.njit(cache=True, nogil=True)
def _gather(table, boards, hand_cards, group_of, smallest, first, out):
    found = np.empty(hand_cards.shape[0], np.int64)
    for row in range(boards.shape[0]):
        count = representatives(boards[row], hand_cards, smallest[group_of[row]], found)
        for place in range(count):
            out[first[row] + place] = table[row, found[place]]


@nb.njit(cache=True, nogil=True)
def _spread(values, boards, hand_cards, group_of, smallest, first, out):
    place_of = np.empty(hand_cards.shape[0], np.int64)
    for row in range(boards.shape[0]):
        taken = _mask(boards[row])
        orbit = smallest[group_of[row]]
        number = first[row]
        for hand in range(hand_cards.shape[0]):
            if not taken & _mask(hand_cards[hand]):
                if orbit[hand] == hand:
                    place_of[hand] = number
                    number += 1
                out[row, hand] = values[place_of[orbit[hand]]]


@nb.njit(cache=True, nogil=True)
def _index(rows, hands, boards, hand_cards, group_of, smallest, first, out):
    found = np.empty(hand_cards.shape[0], np.int64)
    for i in range(rows.shape[0]):
        row = rows[i]
        orbit = smallest[group_of[row]]
        count = representatives(boards[row], hand_cards, orbit, found)
        place = np.searchsorted(found[:count], orbit[hands[i]])
        alive = place < count and found[place] == orbit[hands[i]]
        out[i] = first[row] + place if alive else -1


@nb.njit(cache=True, nogil=True)
def _unindex(rows, places, boards, hand_cards, group_of, smallest, hands):
    found = np.empty(hand_cards.shape[0], np.int64)
    for i in range(rows.shape[0]):
        representatives(boards[rows[i]], hand_cards, smallest[group_of[rows[i]]], found)
        hands[i] = found[places[i]]

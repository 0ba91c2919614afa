"""Exact equities of every hand on every canonical board, as whole-number tables by board.

Against a uniformly random opposing hand, a win counts two and a tie one. `last_round_equity` holds
these counts on the boards of the last round; sums over all ways to complete an earlier board are
sums over rows of the boards with one card more. Nothing is sampled and nothing is rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

import numba as nb
import numpy as np

from ..game.cards import Deck
from ..game.strength import MAX_STRENGTH, board_strengths
from .boards import Boards, canonical_boards, suit_permutations
from .threads import in_chunks

Progress = Callable[[str, int, int], None]
"""Called with what is being done, the rows done and the rows in all."""

_CHUNK = 2048  # board rows between two calls of the progress function


def strength_table(boards: Boards, progress: Progress | None = None) -> np.ndarray:
    """uint16 [board_row, hand]: `hand_strength` of hole cards and board, 0 where they share a card."""
    out = np.empty((len(boards), boards.deck.num_hands), np.uint16)

    def fill(rows: slice) -> None:
        board_strengths(boards.cards[rows], boards.deck, out[rows])

    by_chunks(fill, len(boards), "hand strengths", progress)
    return out


def last_round_equity(
    strength: np.ndarray, boards: Boards, progress: Progress | None = None
) -> np.ndarray:
    """uint16 [board_row, hand]: 2 * wins + ties against the hands that are still possible.

    Divide by ``2 * num_opponents(boards.deck, boards.size)`` for the equity. 0 for dead hands.

    Args:
        strength: uint16 [board_row, hand] from `strength_table`.
        boards: the canonical boards of the last round.
    """
    out = np.zeros(strength.shape, np.uint16)
    hand_cards = boards.deck.hand_cards

    def fill(rows: slice) -> None:
        _equity_rows(strength[rows], hand_cards, boards.deck.size, MAX_STRENGTH, out[rows])

    by_chunks(fill, len(boards), "last-round equities", progress)
    return out


def earlier_sums(
    table: np.ndarray, boards: Boards, size: int, progress: Progress | None = None
) -> np.ndarray:
    """int64 [board_row, hand]: sums of a table over all completions of the boards of a smaller size.

    Args:
        table: [board_row, hand] over `boards`, 0 for dead hands.
        boards: the canonical boards of the table.
        size: number of cards of the earlier boards; at most that of `boards`.
    """
    deck = boards.deck
    hands = suit_permutations(deck).hands
    sums = table
    for smaller in range(boards.size - 1, size - 1, -1):
        parents, children = canonical_boards(deck, smaller), canonical_boards(deck, smaller + 1)
        out = np.zeros((len(parents), deck.num_hands), np.int64)
        # A completion by m cards is reached through each of its cards as the next one: m times.
        times = boards.size - smaller

        def fill(
            rows: slice,
            parents: Boards = parents,
            children: Boards = children,
            sums: np.ndarray = sums,
            out: np.ndarray = out,
            times: int = times,
        ) -> None:
            _sum_rows(
                parents.cards[rows],
                deck.size,
                children.binomials,
                children.row_of,
                children.permutation_of,
                hands,
                sums,
                times,
                out[rows],
            )

        by_chunks(fill, len(parents), f"sums over boards of {smaller} cards", progress)
        sums = out
    return sums


def num_opponents(deck: Deck, board_size: int) -> int:
    """Number of hands an opponent may hold beside a known hand and a board."""
    return comb(deck.size - board_size - 2, 2)


def num_completions(deck: Deck, board_size: int, last_size: int) -> int:
    """Number of ways to complete a board beside a known hand."""
    return comb(deck.size - board_size - 2, last_size - board_size)


def preflop_classes(deck: Deck) -> np.ndarray:
    """uint16 [hand]: class of each pair of hole cards up to a renaming of suits (169 in a full deck).

    With R ranks the class is ``R * row + column`` of the usual grid, aces first: pairs on the
    diagonal, suited hands above it, offsuit hands below.
    """
    rank, suit = np.divmod(deck.hand_cards, deck.num_suits)
    place = deck.num_ranks - 1 - rank  # 0 = ace; the high card's place is the smaller one
    suited = suit[:, 0] == suit[:, 1]
    row, column = np.where(suited, place.T, place.T[::-1])
    return (deck.num_ranks * row + column).astype(np.uint16)


def by_chunks(
    fill: Callable[[slice], Any],
    rows: int,
    what: str,
    progress: Progress | None,
    chunk: int = _CHUNK,
) -> list[Any]:
    """Results of a kernel on chunks of rows in two threads; progress is told how far it got."""
    return in_chunks(fill, rows, chunk, tick=progress and (lambda done: progress(what, done, rows)))


@nb.njit(cache=True, nogil=True)
def sort_by_strength(ranks, starts, order):
    """Write the live hands, those of strength ranks [hand] > 0, into order, the weakest first; their number.

    A counting sort; starts [largest strength + 2] is its working space.
    """
    starts[:] = 0
    for rank in ranks:
        starts[rank + 1] += 1
    starts[1] = 0  # dead hands have strength 0
    for value in range(1, starts.shape[0]):
        starts[value] += starts[value - 1]
    alive = starts[starts.shape[0] - 1]
    for hand in range(ranks.shape[0]):
        if ranks[hand]:
            order[starts[ranks[hand]]] = hand
            starts[ranks[hand]] += 1
    return alive


@nb.njit(cache=True, nogil=True)
def _equity_rows(strength, hand_cards, deck_size, top, out):
    """2 * wins + ties of strength [rows, hands] into out [rows, hands].

    The hands of a board are sorted by strength; what a hand beats is what comes before its group of
    equals, less the hands that share one of its cards.
    """
    starts = np.empty(top + 2, np.int64)
    order = np.empty(strength.shape[1], np.int64)
    below = np.empty(deck_size, np.int64)
    for row in range(strength.shape[0]):
        ranks = strength[row]
        alive = sort_by_strength(ranks, starts, order)
        below[:] = 0
        begin = 0
        while begin < alive:
            end = begin
            while end < alive and ranks[order[end]] == ranks[order[begin]]:
                end += 1
            for i in range(begin, end):
                first, second = hand_cards[order[i], 0], hand_cards[order[i], 1]
                out[row, order[i]] = begin - below[first] - below[second]
            for i in range(begin, end):
                below[hand_cards[order[i], 0]] += 1
                below[hand_cards[order[i], 1]] += 1
            for i in range(begin, end):
                first, second = hand_cards[order[i], 0], hand_cards[order[i], 1]
                # wins + (wins + ties); the hand itself is in both of its cards' counts and in `end`
                out[row, order[i]] += end - below[first] - below[second] + 1
            begin = end


@nb.njit(cache=True, nogil=True)
def _sum_rows(boards, deck_size, binomials, row_of, permutation_of, moved_hands, table, times, out):
    """Sums over the next card of rows of table [child row, hand], divided by times, into out."""
    size = boards.shape[1]
    for row in range(boards.shape[0]):
        board = boards[row]
        sums = out[row]
        for card in range(deck_size):
            index = 0
            place = 0
            taken = False
            for i in range(size):
                taken |= board[i] == card
                if board[i] < card:
                    index += binomials[board[i], i + 1]
                    place = i + 1
                else:
                    index += binomials[board[i], i + 2]
            if taken:
                continue
            index += binomials[card, place + 1]
            _add_permuted(table[row_of[index]], moved_hands[permutation_of[index]], sums)
        for hand in range(sums.shape[0]):
            sums[hand] //= times


@nb.njit(cache=True, nogil=True)
def _add_permuted(values, moved, out):
    for hand in range(out.shape[0]):
        out[hand] += values[np.uint32(moved[hand])]

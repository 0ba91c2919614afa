"""Equity histograms: how a hand's final equity is distributed over the deals to come, exactly.

Every completion of the board to the last round counts once, by the bin of the hand's equity there against
a uniformly random opposing hand. Johanson, Burch, Valenzano and Bowling (2013) cluster hands by the earth
mover's distance between such histograms.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .boards import Boards, suit_permutations
from .equity import Progress, by_chunks, num_completions, num_opponents
from .hands import CanonicalHands, representatives

_CHUNK = 64  # board rows between two calls of the progress function
MAX_BINS = 250


def equity_histograms(
    equity: np.ndarray,
    last: Boards,
    hands: CanonicalHands,
    bins: int = 50,
    progress: Progress | None = None,
) -> np.ndarray:
    """uint8, uint16 or uint32 [canonical_hand, bin]: numbers of completions by the equity they lead to.

    Bin b holds the equities from b / bins up to (b + 1) / bins, the last bin 1 as well. The type is the
    smallest that holds the number of completions: 46 rivers after a turn, 1,081 turns and rivers after a
    flop, 2,118,760 boards before it.

    Args:
        equity: uint16 [last board_row, hand] from `last_round_equity`.
        last: the canonical boards of the last round.
        hands: the canonical hands of an earlier round.
        bins: number of bins, 1 to MAX_BINS.
        progress: called with the board rows done.

    Raises ValueError for a round that is not earlier, or a number of bins out of range.
    """
    size, deck = hands.boards.size, last.deck
    if size >= last.size:
        raise ValueError(f"boards of {size} cards are not earlier than the last round's of {last.size}")
    if not 1 <= bins <= MAX_BINS:
        raise ValueError(f"a histogram has 1 to {MAX_BINS} bins, not {bins}")
    completions = num_completions(deck, size, last.size)
    out = np.zeros((len(hands), bins), np.min_scalar_type(completions))
    bin_of = _bin_of(2 * num_opponents(deck, last.size), bins)
    moved_hands = suit_permutations(deck).hands

    def fill(rows: slice) -> None:
        _count_rows(
            hands.boards.cards[rows],
            hands.group_of[rows],
            hands.smallest,
            hands.first[rows],
            deck.hand_cards,
            deck.size,
            completions,
            last.binomials,
            last.row_of,
            last.permutation_of,
            moved_hands,
            equity,
            bin_of,
            out,
        )

    by_chunks(fill, len(hands.boards), f"equity histograms on {size} cards", progress, _CHUNK)
    return out


def _bin_of(top: int, bins: int) -> np.ndarray:
    """uint8 [value]: bin of each count of 2 * wins + ties, from 0 to top."""
    return np.minimum(np.arange(top + 1) * bins // top, bins - 1).astype(np.uint8)


@nb.njit(cache=True, nogil=True)
def _count_rows(
    boards,
    group_of,
    smallest,
    first,
    hand_cards,
    deck_size,
    completions,
    binomials,
    row_of,
    permutation_of,
    moved_hands,
    equity,
    bin_of,
    out,
):
    """Histograms of the canonical hands of some boards into out [canonical_hand, bin].

    For each completed board the row of equities is read through the permutation that leads to it. Dead
    hands have equity 0 and are counted too: each hand is dead on equally many completed boards, which are
    taken off bin 0 in the end. The unsigned counts may wrap around before that, never after it.
    """
    size, last_size = boards.shape[1], binomials.shape[1] - 1
    added = last_size - size
    rest = np.empty(deck_size - size, np.int64)
    chosen = np.empty(added, np.int64)
    found = np.empty(hand_cards.shape[0], np.int64)
    for row in range(boards.shape[0]):
        board = boards[row]
        count = representatives(board, hand_cards, smallest[group_of[row]], found)
        counts = out[first[row] : first[row] + count]
        place = 0
        total = 0
        for card in range(deck_size):
            if place < size and board[place] == card:
                place += 1
            else:
                rest[card - place] = card
        for i in range(added):
            chosen[i] = i
        while chosen[added - 1] < rest.shape[0]:
            index = 0
            i, j = 0, 0
            for place in range(1, last_size + 1):  # merge of the board and the cards chosen
                if j == added or (i < size and board[i] < rest[chosen[j]]):
                    index += binomials[board[i], place]
                    i += 1
                else:
                    index += binomials[rest[chosen[j]], place]
                    j += 1
            values, moved = equity[row_of[index]], moved_hands[permutation_of[index]]
            for i in range(count):
                counts[i, bin_of[values[np.uint32(moved[found[i]])]]] += 1
            total += 1
            # The next set: raise the lowest card that can be raised, and put those below it at the bottom.
            place = 0
            while place + 1 < added and chosen[place] + 1 == chosen[place + 1]:
                chosen[place] = place
                place += 1
            chosen[place] += 1
        for i in range(count):
            counts[i, 0] -= total - completions

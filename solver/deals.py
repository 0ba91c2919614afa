"""Random deals for sampled CFR: whose table rows they meet, and who wins at a showdown.

Looking up the buckets of a deal is eight accesses to tables of up to hundreds of megabytes. For one deal
after the other that would take as long as a fifth of the walk; for a batch all places are computed first and
asked for, so that the waits for memory overlap.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..abstraction.buckets import CardAbstraction
from ..game.strength import hand_strength
from .prefetch import prefetch
from .sampling_kernels import deal_cards
from .tables import Tables


class Deals:
    """Deals of a game by their number.

    Args:
        abstraction: buckets of the hands.
        tables: whose rows are to be found.
        seed: the deals follow from it and their numbers.
    """

    def __init__(self, abstraction: CardAbstraction, tables: Tables, seed: int):
        self.abstraction, self.tables, self.seed = abstraction, tables, seed
        self._rules = tables.tree.rules
        self._deck_cards = self._rules.deck.cards

    def __call__(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Table rows int64 [deal, player, round] and outcomes int8 [deal] (+1: player 0 wins)."""
        cards = self.cards(first, count)
        hands, board = _hand_indices(cards[:, :4].reshape(count, 2, 2)), cards[:, 4:]
        rows = np.empty((count, 2, self._rules.num_rounds), np.int64)
        for index, buckets in enumerate(self._buckets(hands, board)):
            rows[:, :, index] = self.tables.row_start(index, buckets)
        real = self._deck_cards[cards].astype(np.uint8)
        first_strength, second_strength = (
            hand_strength(np.concatenate([real[:, hole], real[:, 4:]], axis=1))
            for hole in (slice(0, 2), slice(2, 4))
        )
        return rows, np.sign(first_strength - second_strength).astype(np.int8)

    def cards(self, first: int, count: int) -> np.ndarray:
        """Card numbers int64 [deal, card]: the hole cards of player 0, of player 1, the board."""
        board_size = self._rules.board_size(self._rules.num_rounds - 1)
        cards = np.empty((count, 4 + board_size), np.int64)
        deal_cards(first, self.seed, len(self._deck_cards), cards)
        return cards

    def _buckets(self, hands: np.ndarray, board: np.ndarray) -> list[np.ndarray]:
        """By round, int64 [deal, player]."""
        abstraction, places = self.abstraction, np.empty(len(hands), np.int64)
        found: list[np.ndarray] = []
        for index, size in enumerate(abstraction.config.board_sizes):
            buckets = np.empty(hands.shape, np.int64)
            _look_up(hands, board[:, :size].copy(), *abstraction.tables[index], places, buckets)
            if abstraction.tuples and index:
                keys = found[-1] * abstraction.num_own_buckets[index] + buckets
                buckets = np.searchsorted(abstraction.tuples[index], keys)
            found.append(buckets)
        return found


def _hand_indices(hole: np.ndarray) -> np.ndarray:
    """Hand indices of hole int64 [..., 2]."""
    high, low = hole.max(axis=-1), hole.min(axis=-1)
    return high * (high - 1) // 2 + low


@nb.njit(cache=True, nogil=True)
def _look_up(hands, boards, binomials, row_of, permutation_of, moved_hands, matrix, places, buckets):
    """Own buckets of a round into buckets int64 [deal, player].

    Args:
        hands: int64 [deal, player].
        boards: int64 [deal, card].
        binomials, row_of, permutation_of, moved_hands, matrix: a `RoundTable`.
        places: int64 [deal], scratch.
    """
    width = matrix.shape[1]
    for deal in range(hands.shape[0]):
        index = 0
        for card in boards[deal]:
            smaller = 0
            for other in boards[deal]:
                smaller += other < card
            index += binomials[card, smaller + 1]
        places[deal] = index
        prefetch(row_of, index)
        prefetch(permutation_of, index)
    for deal in range(hands.shape[0]):
        row = np.int64(row_of[places[deal]])
        moved = moved_hands[permutation_of[places[deal]]]
        places[deal] = row
        for player in range(hands.shape[1]):
            hand = moved[hands[deal, player]]
            buckets[deal, player] = hand
            prefetch(matrix, row * width + hand)  # harmless where all rows are one and the same
    for deal in range(hands.shape[0]):
        for player in range(hands.shape[1]):
            buckets[deal, player] = matrix[places[deal], buckets[deal, player]]

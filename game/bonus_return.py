"""What the Multi-Pay Bonus returns to a player who never folds, counted over all deals."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import chain, combinations
from math import comb, sqrt

import numba as nb
import numpy as np

from .bonus import CLASS_OF_STRENGTH, HAND_CLASSES, INTERVALS, PayTable
from .cards import Deck
from .strength import board_strengths, hand_strength


@dataclass(frozen=True)
class BonusReturn:
    """What the bonus returns, in stakes: profits for one credit staked.

    Attributes:
        pay_table: name of the pay table.
        kind: "exact" or "estimate" (sampled boards).
        intervals: names of the intervals that exist; the tuples below have an entry for each.
        mean: mean profit.
        standard_deviation: of the profit.
        total_mean, total_standard_deviation: of the sum of the intervals, which share cards, and of the
            stake that is paid once, if it is.
        hit_frequency: how often a line pays; empty where it was not counted.
        exact_mean, exact_total_mean: the means as fractions in lowest terms, such as "-1/9", where exact.
        standard_error, total_standard_error: of the means, where sampled.
    """

    pay_table: str
    kind: str
    intervals: tuple[str, ...]
    mean: tuple[float, ...]
    standard_deviation: tuple[float, ...]
    total_mean: float
    total_standard_deviation: float
    hit_frequency: tuple[float, ...] = ()
    exact_mean: tuple[str, ...] = ()
    exact_total_mean: str = ""
    standard_error: tuple[float, ...] = ()
    total_standard_error: float = 0.0


def bonus_return(pay_table: PayTable, deck: Deck | None = None) -> BonusReturn:
    """Exact return of the bonus for a player who never folds, by enumeration of all cards.

    All hands of five cards with every turn and every river are counted, in whole numbers: a few seconds
    for a full deck, once a process.

    Args:
        pay_table: the pay table.
        deck: default: 52 cards.

    Raises ValueError for a deck of fewer than seven cards.
    """
    counts = class_counts(deck or Deck())
    sums = np.full(counts.shape, Fraction(pay_table.start_profit))
    moments, hits = [], []
    for index in pay_table.intervals:
        rows = pay_table.profit_by_class(index)
        profits = np.array([profit for profit, _ in rows])
        marginal = counts.sum(axis=tuple({0, 1, 2} - {index}))
        moments.append(_moments(profits, marginal))
        hits.append(float(marginal[[is_paid for _, is_paid in rows]].sum() / counts.sum()))
        sums = sums + np.expand_dims(profits, tuple({0, 1, 2} - {index}))
    total_mean, total_deviation = _moments(sums, counts)
    return BonusReturn(
        pay_table=pay_table.name,
        kind="exact",
        intervals=tuple(INTERVALS[index] for index in pay_table.intervals),
        mean=tuple(float(mean) for mean, _ in moments),
        standard_deviation=tuple(deviation for _, deviation in moments),
        total_mean=float(total_mean),
        total_standard_deviation=total_deviation,
        hit_frequency=tuple(hits),
        exact_mean=tuple(str(mean) for mean, _ in moments),
        exact_total_mean=str(total_mean),
    )


def _moments(values: np.ndarray, counts: np.ndarray) -> tuple[Fraction, float]:
    """Mean and standard deviation of fractions by their numbers of occurrences, summed without rounding."""
    weights = counts[counts > 0].astype(object)  # of Python's unbounded integers
    values, total = values[counts > 0], Fraction(int(counts.sum()))
    mean = (weights * values).sum() / total
    variance = (weights * values**2).sum() / total - mean**2
    return mean, sqrt(variance)


@cache
def class_counts(deck: Deck) -> np.ndarray:
    """int64 [class, class, class]: deals by `HAND_CLASSES` on five, six and seven cards; read-only.

    A deal is a set of five cards, one turn and one river: C(n, 5) * (n - 5) * (n - 6) of them in a deck
    of n cards. Which two of the five are the player's own does not matter. Sets that a renaming of suits
    turns into each other are evaluated once (134,459 in a full deck, with 1,081 pairs of turn and river).
    Takes 0.1 GB on the way.

    Raises ValueError for a deck of fewer than seven cards.
    """
    if deck.size < 7:
        raise ValueError(f"a deck of {deck.size} cards has no hands of seven")
    sets, times = _five_card_sets(deck)
    counts = np.zeros((len(HAND_CLASSES),) * 3, np.int64)
    for start in range(0, len(sets), _CHUNK):
        five = sets[start : start + _CHUNK]
        on_board = np.zeros((len(five), deck.size), bool)
        np.put_along_axis(on_board, five, True, axis=1)
        row, card = np.nonzero(~on_board)
        six = np.concatenate([five[row], card[:, None]], axis=1)
        by_card = np.zeros(on_board.shape, np.int32)
        by_card[row, card] = hand_strength(deck.cards[six])
        by_pair = board_strengths(five, deck, np.empty((len(five), deck.num_hands), np.uint16))
        _count_deals(
            CLASS_OF_STRENGTH[hand_strength(deck.cards[five])],
            CLASS_OF_STRENGTH[by_card],
            by_pair,
            CLASS_OF_STRENGTH,
            times[start : start + _CHUNK],
            counts,
        )
    counts.flags.writeable = False
    return counts


_CHUNK = 1024  # sets of five cards whose hands are in memory at once


def _five_card_sets(deck: Deck) -> tuple[np.ndarray, np.ndarray]:
    """int64 [sets, 5], [sets]: sets of five card numbers up to a renaming of suits, and how many each is."""
    total = comb(deck.size, 5)
    cards = np.fromiter(chain.from_iterable(combinations(range(deck.size), 5)), np.int8, 5 * total)
    cards = cards.reshape(total, 5)
    rank, suit = np.divmod(np.arange(deck.size), deck.num_suits)
    bits = np.uint64(1) << (16 * suit + rank).astype(np.uint64)
    sets = np.zeros(total, np.uint64)
    for place in range(5):
        sets |= bits[cards[:, place]]
    sets.view(np.uint16).reshape(total, 4).sort(axis=1)  # sets of ranks, a suit each
    _, first, times = np.unique(sets, return_index=True, return_counts=True)
    return cards[first].astype(np.int64), times


@nb.njit(cache=True, nogil=True)
def _count_deals(by_five, by_card, by_pair, class_of, times, counts):
    """Add the deals of rows of five cards to counts [class, class, class].

    by_five [row] and by_card [row, card] are classes; by_pair [row, hand] strengths, 0 for taken cards.
    """
    for row in range(by_pair.shape[0]):
        hand = 0
        for high in range(by_card.shape[1]):
            for low in range(high):
                if by_pair[row, hand]:
                    last = class_of[by_pair[row, hand]]
                    counts[by_five[row], by_card[row, high], last] += times[row]
                    counts[by_five[row], by_card[row, low], last] += times[row]
                hand += 1

"""Opponent cluster hand strength: equity against each of some clusters of opposing hands, exactly.

Johanson, Burch, Valenzano and Bowling (AAMAS 2013): "Evaluating state-space abstractions in
extensive-form games". The preflop hands are clustered by the earth mover's distance between their equity
histograms; the feature of a hand on the last board is its equity against each of the clusters.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..game.cards import Deck
from ..game.strength import MAX_STRENGTH
from .boards import Boards, suit_permutations
from .clustering import HistogramSpace, cluster
from .equity import Progress, by_chunks, earlier_sums, sort_by_strength
from .hands import CanonicalHands, canonical_hands, representatives
from .histograms import equity_histograms

UNIT = 65_535  # a stored equity of 1
_BINS = 50  # of the histograms that the opposing hands are clustered by
_RESTARTS = 10
_CHUNK = 1024  # board rows between two calls of the progress function
_LANES = 8  # clusters that are counted together


def opponent_clusters(
    equity: np.ndarray,
    last: Boards,
    clusters: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> np.ndarray:
    """uint8 [hand]: cluster of each pair of hole cards before the flop, from weakest to strongest.

    k-means by the earth mover's distance between equity histograms (counts scaled to a total of 65,535 where
    theirs is larger), the clusters numbered by their mean equity; fewer clusters where there are fewer
    different histograms.

    Args:
        equity: uint16 [last board_row, hand] from `last_round_equity`.
        last: the canonical boards of the last round.
        clusters: number of clusters, 1 to 250.
        seed: of the clustering.
        progress: called while the tables are made.

    Raises ValueError for a number of clusters out of range.
    """
    if not 1 <= clusters <= 250:
        raise ValueError(f"opposing hands are put into 1 to 250 clusters, not {clusters}")
    hands = canonical_hands(last.deck, 0)
    weights = hands.weights
    space = HistogramSpace.from_counts(equity_histograms(equity, last, hands, _BINS, progress))
    found = cluster(space, weights, clusters, seed=seed, restarts=_RESTARTS)
    used, labels = np.unique(found.labels, return_inverse=True)
    sums = hands.gather(earlier_sums(equity, last, 0, progress))
    means = np.bincount(labels, sums * weights) / np.bincount(
        labels, weights
    )  # of whole numbers < 2 ** 53
    place = np.empty(len(used), np.uint8)
    place[np.argsort(means, kind="stable")] = np.arange(len(used))
    return hands.spread(place[labels])[0]


def ochs_features(
    strength: np.ndarray,
    hands: CanonicalHands,
    opponents: np.ndarray,
    progress: Progress | None = None,
) -> np.ndarray:
    """uint16 [canonical_hand, cluster]: equity against each cluster, in units of 1 / UNIT, rounded.

    A cluster's hands that are possible beside the hand and the board are equally likely, and ties count
    one half. Where there is no such hand the equity is one half (rounded up).

    Args:
        strength: uint16 [board_row, hand] from `strength_table`, on the boards of `hands`.
        hands: the canonical hands of the last round.
        opponents: [hand]: cluster of each pair of hole cards, from 0; the same for hands that are the same
            up to suits.
        progress: called with the board rows done.

    Raises ValueError for tables that do not fit the hands, and clusters that tell suits apart.
    """
    boards, deck = hands.boards, hands.boards.deck
    if strength.shape != (len(boards), deck.num_hands):
        raise ValueError(f"strengths of shape {strength.shape}, not {(len(boards), deck.num_hands)}")
    labels, width = _labels_and_width(deck, opponents)
    if (labels[suit_permutations(deck).hands] != labels).any():
        raise ValueError("hands that are the same up to suits must be in the same cluster")
    out = np.empty((len(hands), int(labels.max()) + 1), np.uint16)

    def fill(rows: slice) -> None:
        _feature_rows(
            strength[rows],
            boards.cards[rows],
            hands.group_of[rows],
            hands.smallest,
            hands.first[rows],
            deck.hand_cards,
            deck.size,
            labels,
            width,
            MAX_STRENGTH,
            out,
        )

    by_chunks(fill, len(boards), "equities against opponent clusters", progress, _CHUNK)
    return out


def opponent_counts(
    strength: np.ndarray, deck: Deck, opponents: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What `ochs_features` divides: 2 * wins + ties, and the number of opposing hands, by cluster.

    Args:
        strength: uint16 [board, hand]: strengths on some boards, 0 for dead hands.
        deck: the deck.
        opponents: [hand]: cluster of each pair of hole cards, from 0.

    Returns int32 [board, hand, cluster] each; the first is 0 for dead hands, the second means nothing there.
    """
    labels, width = _labels_and_width(deck, opponents)
    wins = np.zeros((len(strength), deck.num_hands, width), np.int32)
    totals = np.zeros_like(wins)
    _count_rows(strength, deck.hand_cards, deck.size, labels, MAX_STRENGTH, wins, totals)
    clusters = int(labels.max()) + 1
    return wins[:, :, :clusters], totals[:, :, :clusters]


def _labels_and_width(deck: Deck, opponents: np.ndarray) -> tuple[np.ndarray, int]:
    """Checked clusters as int64 [hand], and their number rounded up to a multiple of _LANES."""
    labels = np.asarray(opponents, np.int64)
    if labels.shape != (deck.num_hands,) or labels.min() < 0:
        raise ValueError(f"clusters of opposing hands must be {deck.num_hands} numbers from 0")
    return labels, -(-(int(labels.max()) + 1) // _LANES) * _LANES


@nb.njit(cache=True, nogil=True)
def _count_wins(ranks, hand_cards, labels, starts, order, held, wins):
    """2 * wins + ties by cluster of strengths ranks [hand] into wins [hand, cluster].

    From the weakest hands to the strongest: what a hand beats is what came before its group of equals, less
    the hands that share one of its cards. Leaves in held [card, cluster] the numbers of live hands with each
    card, in its last row those of all. Clusters are padded to whole vectors of _LANES.
    """
    alive = sort_by_strength(ranks, starts, order)
    everything = held.shape[0] - 1
    held[:] = 0
    begin = 0
    while begin < alive:
        end = begin + 1
        while end < alive and ranks[order[end]] == ranks[order[begin]]:
            end += 1
        for i in range(begin, end):
            _others(hand_cards[order[i]], held, wins[order[i]], False)
        for i in range(begin, end):
            label = labels[order[i]]
            held[hand_cards[order[i], 0], label] += 1
            held[hand_cards[order[i], 1], label] += 1
            held[everything, label] += 1
        for i in range(begin, end):
            _others(hand_cards[order[i]], held, wins[order[i]], True)
            wins[order[i], labels[order[i]]] += 1  # the hand itself was taken off twice
        begin = end


@nb.njit(cache=True, nogil=True, inline="always")
def _others(cards, held, out, add):
    """Numbers of hands that share neither of two cards, by cluster, into out or on top of it."""
    all_held, first, second = held[held.shape[0] - 1], held[cards[0]], held[cards[1]]
    for block in range(0, out.shape[0], _LANES):
        for lane in range(block, block + _LANES):
            count = all_held[lane] - first[lane] - second[lane]
            out[lane] = out[lane] + count if add else count


@nb.njit(cache=True, nogil=True)
def _count_rows(strength, hand_cards, deck_size, labels, top, wins, totals):
    starts = np.empty(top + 2, np.int64)
    order = np.empty(strength.shape[1], np.int64)
    held = np.empty((deck_size + 1, wins.shape[2]), np.int32)
    for row in range(strength.shape[0]):
        _count_wins(strength[row], hand_cards, labels, starts, order, held, wins[row])
        for hand in range(strength.shape[1]):
            _others(hand_cards[hand], held, totals[row, hand], False)
            totals[row, hand, labels[hand]] += 1


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _feature_rows(
    strength, boards, group_of, smallest, first, hand_cards, deck_size, labels, width, top, out
):
    """Rounded equities of the canonical hands of some boards into out [canonical_hand, cluster]."""
    num_hands = strength.shape[1]
    starts = np.empty(top + 2, np.int64)
    order = np.empty(num_hands, np.int64)
    found = np.empty(num_hands, np.int64)
    held = np.empty((deck_size + 1, width), np.int32)
    wins = np.empty((num_hands, width), np.int32)
    totals = np.empty(width, np.int32)
    shares = np.empty(width, np.uint16)
    for row in range(strength.shape[0]):
        _count_wins(strength[row], hand_cards, labels, starts, order, held, wins)
        count = representatives(boards[row], hand_cards, smallest[group_of[row]], found)
        for place in range(count):
            hand = found[place]
            _others(hand_cards[hand], held, totals, False)
            totals[labels[hand]] += 1
            for block in range(0, width, _LANES):
                for lane in range(block, block + _LANES):
                    total, won = totals[lane], wins[hand, lane]
                    if total == 0:  # one half
                        total = np.int32(1)
                        won = np.int32(1)
                    # Rounding to nearest. The quotient of doubles cannot reach a whole number from below.
                    shares[lane] = np.int32(
                        np.float64(won * np.int32(UNIT) + total) / np.float64(2 * total)
                    )
            for cluster_number in range(out.shape[1]):
                out[first[row] + place, cluster_number] = shares[cluster_number]

"""Public clusters of boards, against plain Python and by what they must keep together."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from nashfold.abstraction.features import FeatureTables
from nashfold.abstraction.hands import canonical_hands
from nashfold.abstraction.public import BINS, _count_equities, public_clusters
from nashfold.game import Deck

DECK = Deck(6, 4)


def test_boards_are_described_by_the_equities_of_the_hands_on_them():
    """Counts by group of starting hands and bin, from every real hand on the board."""
    tables = FeatureTables(DECK, (0, 3, 4))
    hands, groups = canonical_hands(DECK, 3), tables.opponents(4)
    equity = hands.spread(tables.mean_equity(hands))
    counts = np.zeros((len(hands.boards), int(groups.max()) + 1, BINS), np.uint16)
    _count_equities(equity, hands.boards.hands_alive, groups, counts)
    for row in (0, 77, len(counts) - 1):
        expected = np.zeros(counts.shape[1:], int)
        left = set(range(DECK.size)) - set(hands.boards.cards[row].tolist())
        for low, high in combinations(sorted(left), 2):
            hand = high * (high - 1) // 2 + low
            expected[groups[hand], min(BINS - 1, int(BINS * equity[row, hand]))] += 1
        np.testing.assert_array_equal(counts[row], expected)
        assert counts[row].sum() == 210


def test_clusters_are_dense_and_boards_alike_share_one():
    tables = FeatureTables(DECK, (0, 3, 4))
    hands = canonical_hands(DECK, 3)
    args = hands, tables.mean_equity(hands), tables.opponents(8)
    found = public_clusters(*args, 5, seed=1)
    assert found.dtype == np.uint16
    assert sorted(set(found.tolist())) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(found, public_clusters(*args, 5, seed=1))
    assert len(set(public_clusters(*args, 1).tolist())) == 1
    # As many clusters as boards that can be told apart: monotone and rainbow boards of the same ranks are.
    every = public_clusters(*args, len(hands.boards))
    row = hands.boards.locate(np.array([[0, 4, 8], [0, 5, 10]]))[0]
    assert every[row[0]] != every[row[1]]

"""The bonus by board and hand against hands settled one by one and the exact returns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import canonical_boards
from nashfold.abstraction.boards import is_suit_invariant
from nashfold.abstraction.bonus_table import bonus_table
from nashfold.game import Deck
from nashfold.game.bonus import EXAMPLE, INTERVALS, PayTable
from nashfold.game.bonus_return import bonus_return

SHORT = Deck(6, 4)
TURN_ONLY = PayTable.from_dict({"name": "turn only", "turn": {"pair of K or better": 0.75, "flush": 4}})


@pytest.mark.parametrize("stake", ["each", "once"])
@pytest.mark.parametrize(("deck", "size"), [(Deck(), 3), (Deck(), 4), (SHORT, 5)])
def test_entries_are_the_profits_of_hands_settled_one_by_one(deck, size, stake):
    table = replace(EXAMPLE, stake=stake)
    boards = canonical_boards(deck, size)
    profits = bonus_table(table, boards)
    assert profits.dtype == np.float32
    assert profits.shape == (len(boards), deck.num_hands)
    rng = np.random.default_rng(size)
    for row in rng.choice(len(boards), 100):
        board = boards.cards[row]
        for hand in rng.choice(deck.num_hands, 10):
            hole = deck.hand_cards[hand]
            if set(hole) & set(board):
                assert profits[row, hand] == 0
            else:
                settled = table.profits(deck.cards[hole], deck.cards[board])
                assert profits[row, hand] == settled[INTERVALS[size - 3]]


@pytest.mark.parametrize(
    ("deck", "size"), [(Deck(), 3), (Deck(), 4), (SHORT, 3), (SHORT, 4), (SHORT, 5)]
)
def test_the_mean_over_all_real_hands_and_boards_is_the_exact_return(deck, size):
    """Two ways to count all cards: by canonical boards with hands, by hands of five with what follows."""
    boards = canonical_boards(deck, size)
    profits = bonus_table(EXAMPLE, boards).sum(axis=1, dtype=np.float64)
    hands = (deck.size - size) * (deck.size - size - 1) // 2
    mean = boards.orbit @ profits / (hands * boards.orbit.sum())
    assert mean == pytest.approx(bonus_return(EXAMPLE, deck).mean[size - 3], abs=1e-12)


def test_renaming_suits_changes_nothing():
    for size in (3, 4, 5):
        boards = canonical_boards(SHORT, size)
        assert is_suit_invariant(bonus_table(EXAMPLE, boards), boards)


def test_progress_counts_up_to_all_rows():
    calls: list[tuple[str, int, int]] = []
    boards = canonical_boards(Deck(), 4)
    bonus_table(TURN_ONLY, boards, lambda *call: calls.append(call))
    assert [done for _, done, _ in calls] == [*range(2048, len(boards), 2048), len(boards)]
    assert {(what, total) for what, _, total in calls} == {("bonus on the turn", len(boards))}


@pytest.mark.parametrize("size", [0, 2, 3, 5])
def test_boards_on_which_nothing_is_judged_are_refused(size):
    with pytest.raises(ValueError, match=rf"judged on boards of 4 \(turn\) cards, not {size}"):
        bonus_table(TURN_ONLY, canonical_boards(SHORT, size))

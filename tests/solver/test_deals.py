"""Deals: uniform, with the rows of the real buckets and the outcome of the real cards."""

from dataclasses import replace

import eval7
import numpy as np
import pytest
from nashfold.abstraction import build_abstraction
from nashfold.game import format_cards, preset
from nashfold.game.cards import hand_index
from nashfold.solver import betting_tree
from nashfold.solver.deals import Deals
from nashfold.solver.sampling_kernels import deal_cards
from nashfold.solver.tables import Tables
from strategies import percentile_config


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
@pytest.mark.parametrize("name", ["short-limit", "flop-limit"])
def test_rows_are_those_of_the_buckets_and_the_better_hand_wins(name, recall):
    rules = preset(name)
    abstraction = build_abstraction(replace(percentile_config(rules, 5), recall=recall))
    tables = Tables(betting_tree(rules), abstraction.num_buckets)
    deals = Deals(abstraction, tables, seed=4)
    rows, outcome = deals(100, 300)
    cards = deals.cards(100, 300)
    assert rows.shape == (300, 2, rules.num_rounds)
    for deal, (a, b, c, d, *board) in enumerate(cards.tolist()):
        for player, hole in enumerate([(a, b), (c, d)]):
            buckets = abstraction.lookup_rounds(np.array(hand_index(*hole)), np.array(board))
            expected = [tables.row_start(index, bucket) for index, bucket in enumerate(buckets)]
            assert rows[deal, player].tolist() == expected
        real = [eval7.Card(format_cards([card])) for card in rules.deck.cards[cards[deal]].tolist()]
        mine, theirs = (eval7.evaluate(real[start : start + 2] + real[4:]) for start in (0, 2))
        assert outcome[deal] == (mine > theirs) - (mine < theirs)


def test_deals_are_uniform_have_no_card_twice_and_depend_on_their_number_alone():
    cards, some = np.empty((40_000, 9), np.int64), np.empty((100, 9), np.int64)
    deal_cards(0, 1, 52, cards)
    deal_cards(77, 1, 52, some)
    np.testing.assert_array_equal(some, cards[77:177])
    ordered = np.sort(cards, axis=1)
    assert (np.diff(ordered, axis=1) > 0).all()
    assert (ordered[:, 0] >= 0).all()
    assert (ordered[:, -1] < 52).all()
    for place in range(9):  # chi-square with 51 degrees of freedom: 99.99 % below 98
        counts = np.bincount(cards[:, place], minlength=52)
        assert ((counts - 40_000 / 52) ** 2 / (40_000 / 52)).sum() < 98

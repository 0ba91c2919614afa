from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import CardAbstraction
from nashfold.abstraction.boards import suit_permutations
from nashfold.game import preset
from nashfold.solver import Strategy
from nashfold.solver.public_tree import Deal, Scratch, Walk, canonical_deals, reachable_nodes
from strategies import random_strategy

SHORT = preset("short-limit")


def test_boards_of_limit_holdem_up_to_suits():
    deck = preset("acpc-limit").deck
    flops = canonical_deals(deck, (), 3, tuple(range(24)))
    assert len(flops) == 1755
    assert sum(deal.orbit for deal in flops) == 22_100


@pytest.mark.slow
def test_river_boards_of_limit_holdem_up_to_suits():
    """2,554,656 (flop, turn, river) boards, standing for 22,100 x 49 x 48."""
    deck = preset("acpc-limit").deck
    boards = total = 0
    for flop in canonical_deals(deck, (), 3, tuple(range(24))):
        for turn in canonical_deals(deck, flop.cards, 1, tuple(flop.group.tolist())):
            board = tuple(sorted(flop.cards + turn.cards))
            orbits = [deal.orbit for deal in canonical_deals(deck, board, 1, tuple(turn.group.tolist()))]
            boards += len(orbits)
            total += flop.orbit * turn.orbit * sum(orbits)
    assert boards == 2_554_656
    assert total == 22_100 * 49 * 48


@pytest.mark.parametrize("mix", [False, True])
def test_renaming_suits_renames_values_and_nothing_else(mix):
    own = random_strategy(SHORT, 8) if mix else None
    walk = Walk(0, random_strategy(SHORT, 7), own)
    scratch = Scratch(walk)
    group = suit_permutations(SHORT.deck)
    deal = walk.first_deals()[11]
    alone = Deal(deal.cards, 1, np.array([0]))
    values = walk.deal_values(alone, scratch)
    assert np.abs(values).max() > 1e-3
    for permutation in (1, 9, 23):
        moved = tuple(sorted(group.cards[permutation][list(deal.cards)].tolist()))
        renamed = walk.deal_values(Deal(moved, 1, np.array([0])), scratch)
        np.testing.assert_allclose(renamed[:, group.hands[permutation]], values, rtol=1e-12, atol=1e-12)


def test_merging_equivalent_cards_changes_no_value():
    rules = replace(SHORT, num_ranks=4)
    strategy = random_strategy(rules, 5)
    totals = []
    for merge in (True, False):
        walk = Walk(1, strategy, merge_suits=merge)
        scratch = Scratch(walk)
        deals = walk.first_deals()
        assert (len(deals) == 560) == (not merge)
        totals.append(
            walk.symmetrised(sum(deal.orbit * walk.deal_values(deal, scratch) for deal in deals))
        )
    np.testing.assert_allclose(totals[0], totals[1], rtol=1e-10, atol=1e-10)


def test_suits_are_not_merged_for_a_strategy_that_tells_them_apart():
    strategy = random_strategy(SHORT, 5)
    matrices = [np.array(matrix) for matrix in strategy.abstraction.matrices]
    matrices[0][0, 0] = (matrices[0][0, 0] + 1) % strategy.abstraction.num_buckets[0]
    abstraction = strategy.abstraction
    broken = CardAbstraction(abstraction.config, matrices, abstraction.num_buckets)
    strategy = Strategy(strategy.tree, broken, strategy.tables)
    assert len(Walk(0, strategy).group) == 1
    with pytest.raises(ValueError, match="tells them apart"):
        Walk(0, strategy, merge_suits=True)


def test_never_reached_subtrees_are_left_out():
    strategy = random_strategy(SHORT, 5)
    tables = [np.zeros_like(table) for table in strategy.tables]
    tree = strategy.tree
    for node in np.flatnonzero(tree.num_actions > 0):  # never fold, never raise
        kinds = [action.kind for action in tree.actions[node]]
        passive = kinds.index("call" if "call" in kinds else "check")
        tables[tree.round[node]][:, tree.action_slot[node] + passive] = 1
    caller = Strategy(tree, strategy.abstraction, tables)
    reachable = reachable_nodes(tree, [None, caller])
    assert reachable.sum() < len(tree) / 3
    walk = Walk(0, caller)
    lanes = [int((plan.entries >= 0).sum()) for plan in walk.plans]
    assert lanes == [1, 2, 4]  # the responder bets or not in each round, and is called

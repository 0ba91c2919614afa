"""Best responses in buckets."""

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.game import preset
from nashfold.solver import Strategy, best_response
from nashfold.solver.betting_tree import betting_tree
from nashfold.solver.scoring.abstract_response import (
    abstract_best_response,
    check_few_boards,
    own_heights,
)
from nashfold.solver.vector_cfr import VectorCFR

SHORT = preset("short-limit")
FLOP = replace(
    SHORT,
    num_ranks=4,
    num_suits=2,
    board_cards=(0, 3),
    max_bets=(2, 2),
    bet_sizes=(2, 4),
    first_player=(1, 0),
)
TURN = replace(SHORT, num_ranks=2, board_cards=(0, 2, 1), max_bets=(1, 1, 1))


def strategy(rules, config, seed=1):
    tree, cards = betting_tree(rules), build_abstraction(config)
    rng = np.random.default_rng(seed)
    solver = VectorCFR(tree, cards, "cfr", "none")
    for tables in solver.tables:
        for array in tables.regrets:
            array[:] = rng.uniform(-1, 1, array.shape)
    return Strategy(tree, cards, solver.current_strategy())


@pytest.mark.parametrize("rules", [FLOP, TURN], ids=["flop", "turn"])
def test_without_abstraction_it_is_the_best_response(rules):
    found = strategy(rules, AbstractionConfig.lossless(rules))
    ours, real = abstract_best_response(found), best_response(found)
    assert ours.kind == "exact"
    np.testing.assert_allclose(ours.per_position, real.per_position, rtol=1e-9)


@pytest.mark.parametrize("recall", ["perfect", "imperfect"])
def test_buckets_hide_what_a_real_responder_sees(recall):
    rounds = (RoundConfig("preflop-classes"), RoundConfig("ehs", 3), RoundConfig("ehs", 3))
    found = strategy(TURN, AbstractionConfig(TURN, rounds, recall=recall))
    ours, real = abstract_best_response(found), best_response(found)
    assert ours.kind == ("exact" if recall == "perfect" else "lower bound")
    assert all(own < other for own, other in zip(ours.per_position, real.per_position, strict=True))
    assert ours.nash_conv > 0


def test_an_abstraction_is_learnt_by_heart():
    """Its own exploitability falls towards zero; that in the real game does not."""
    rounds = (RoundConfig("preflop-classes"), RoundConfig("ehs", 2))
    config = AbstractionConfig(FLOP, rounds, recall="perfect")
    tree, cards = betting_tree(FLOP), build_abstraction(config)
    solver = VectorCFR(tree, cards, "cfr+", "none")
    figures = []
    for iterations in (20, 180):
        solver.run(iterations)
        found = Strategy(tree, cards, solver.average_strategy())
        figures.append((abstract_best_response(found).mbb_per_hand, best_response(found).mbb_per_hand))
    assert figures[1][0] < figures[0][0] / 5
    assert figures[1][1] > 20 * figures[1][0]


def test_heights_count_own_decisions():
    tree = betting_tree(SHORT)
    for player in (0, 1):
        heights = own_heights(tree, player)
        assert heights[0] == heights.max()
        leaves = tree.num_actions == 0
        assert not heights[leaves].any()
        own = ~leaves & (tree.kind == player)
        assert (heights[own] >= 1).all()


def test_games_of_many_boards_are_refused():
    with pytest.raises(ValueError, match="acpc-limit has 2,598,960 boards: best responses within"):
        check_few_boards(preset("acpc-limit"))
    check_few_boards(preset("flop-limit"))

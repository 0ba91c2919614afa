from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, build_abstraction
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, best_response, betting_tree, solve
from nashfold.solver.mccfr import MonteCarlo
from nashfold.solver.tables import Tables
from strategies import percentile_config

SHORT, FLOP = preset("short-limit"), preset("flop-limit")


def _solver(rules=SHORT, buckets=6, **options):
    tree = betting_tree(rules)
    abstraction = build_abstraction(percentile_config(rules, buckets))
    return MonteCarlo(tree, abstraction, Tables(tree, abstraction.num_buckets), **options)


@pytest.mark.parametrize(("rules", "bound"), [(SHORT, 250), (FLOP, 90)], ids=["short", "flop"])
def test_solving_lowers_exploitability_in_the_real_game(rules, bound):
    values = []
    for iterations in (1_000, 200_000):
        config = SolveConfig(rules, percentile_config(rules, 30), iterations=iterations)
        values.append(best_response(solve(config).strategy).mbb_per_hand)
    assert values[1] < bound
    assert values[1] < values[0] / 3


def test_without_abstraction_exploitability_goes_to_zero():
    """Every hand on every board in a bucket of its own: what is left is the noise of sampling."""
    rules = replace(
        SHORT,
        num_ranks=4,
        num_suits=3,
        board_cards=(0, 3),
        bet_sizes=(2, 4),
        max_bets=(3, 2),
        first_player=(1, 0),
    )
    tree = betting_tree(rules)
    abstraction = build_abstraction(AbstractionConfig.lossless(rules))
    tables = Tables(tree, abstraction.num_buckets)
    solver = MonteCarlo(tree, abstraction, tables, seed=1)
    values = []
    for iterations in (40_000, 360_000, 3_600_000):
        solver.run(iterations)
        strategy = Strategy(tree, abstraction, solver.tables.average_strategy())
        values.append(best_response(strategy).mbb_per_hand)
    # The error falls about as the root of the number of iterations: 1 : 1 / 3 : 1 / 10.
    assert values[1] < values[0] / 2
    assert 0 < values[2] < min(40, values[0] / 8)


def test_linear_weights_beat_equal_ones_early():
    scores = {}
    for scheme in ("cfr", "lcfr"):
        config = SolveConfig(FLOP, percentile_config(FLOP, 30), scheme=scheme, iterations=60_000)
        scores[scheme] = best_response(solve(config).strategy).mbb_per_hand
    assert scores["lcfr"] < scores["cfr"]


def test_chunks_and_resuming_do_not_change_the_walks():
    whole, parts = _solver(seed=5), _solver(seed=5)
    whole.run(20_000)
    for count in (1, 8192, 3000, 8807):
        parts.run(count)
    assert parts.tables.iterations == whole.tables.iterations == 20_000
    np.testing.assert_array_equal(parts.tables.values, whole.tables.values)
    other = _solver(seed=6)
    other.run(20_000)
    assert (other.tables.values != whole.tables.values).any()


def test_two_threads_reach_a_strategy_as_good():
    scores = []
    for threads in (1, 2):
        config = SolveConfig(FLOP, percentile_config(FLOP, 30), iterations=200_000, threads=threads)
        run = solve(config)
        assert run.iterations == 200_000
        scores.append(best_response(run.strategy).mbb_per_hand)
    assert scores[1] < 1.3 * scores[0]


def test_unknown_schemes_and_foreign_abstractions_are_refused():
    with pytest.raises(ValueError, match="scheme 'pcfr\\+' does not go with external sampling"):
        _solver(scheme="pcfr+")
    tree = betting_tree(SHORT)
    abstraction = build_abstraction(percentile_config(FLOP, 5))
    with pytest.raises(ValueError, match="does not fit short-limit: it is for 13 ranks"):
        MonteCarlo(tree, abstraction, Tables(betting_tree(FLOP), abstraction.num_buckets))

"""Best responses and values against figures and programs that nobody here computed or wrote."""

from dataclasses import replace

import nashfold.game.openspiel  # noqa: F401 - registers the game
import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig
from nashfold.game import preset
from nashfold.solver import SolveConfig, best_response, expected_value, solve
from oracle import best_response_value
from oracle import expected_value as oracle_value
from strategies import as_function, percentile_config, random_strategy

SHORT = preset("short-limit")
SMALL_DECKS = {
    "three ranks": replace(SHORT, num_ranks=3),
    "three suits": replace(SHORT, num_ranks=4, num_suits=3),
    "two cards on the last round": replace(SHORT, num_ranks=3, board_cards=(0, 1, 2)),
    "two rounds": replace(
        SHORT,
        num_ranks=4,
        board_cards=(0, 3),
        bet_sizes=(2, 4),
        max_bets=(3, 2),
        first_player=(1, 0),
    ),
}


@pytest.mark.parametrize("name", ["short-limit", "flop-limit"])
def test_always_fold_loses_the_blinds(name):
    result = best_response("always-fold", rules=preset(name))
    assert result.per_position == pytest.approx((500, 1000), abs=1e-9)
    assert result.mbb_per_hand == pytest.approx(750, abs=1e-9)
    assert (result.kind, result.standard_error) == ("exact", 0)


@pytest.mark.parametrize(("name", "value"), [("short-limit", 756.1701), ("flop-limit", 388.3055)])
def test_always_call_loses_what_others_computed(name, value):
    result = best_response("always-call", rules=preset(name))
    assert result.per_position == pytest.approx((value, value), abs=5e-5)
    assert result.nash_conv == pytest.approx(2 * value, abs=1e-4)


@pytest.mark.parametrize("rules", SMALL_DECKS.values(), ids=SMALL_DECKS)
def test_a_random_strategy_against_plain_enumeration(rules):
    strategy, other = random_strategy(rules, 1), random_strategy(rules, 2, buckets=5)
    result = best_response(strategy)
    plain = as_function(strategy)
    expected = [best_response_value(rules, plain, player) for player in (0, 1)]
    assert result.per_position == pytest.approx(tuple(expected), abs=1e-6)
    values = [oracle_value(rules, as_function(other), plain, player) for player in (0, 1)]
    assert expected_value(other, strategy) == pytest.approx(np.mean(values), abs=1e-6)
    assert expected_value(strategy, other) == pytest.approx(-np.mean(values), abs=1e-6)
    assert max(values) < result.mbb_per_hand


CLASSES = RoundConfig("preflop-classes")
CONFIGS = {
    "perfect recall": lambda rules: replace(percentile_config(rules, 4), recall="perfect"),
    "lossless": AbstractionConfig.lossless,
    "lossless, but forgetful": lambda rules: replace(
        AbstractionConfig.lossless(rules), recall="imperfect"
    ),
    "potential-aware": lambda rules: AbstractionConfig(
        rules, (CLASSES, RoundConfig("potential-aware", 6), RoundConfig("ochs", 9))
    ),
    "public clusters": lambda rules: AbstractionConfig(
        rules, (CLASSES, RoundConfig("histogram-emd", 3, public=3), RoundConfig("ehs", 4, public=2))
    ),
}


@pytest.mark.parametrize("make", CONFIGS.values(), ids=CONFIGS)
def test_every_kind_of_abstraction_against_plain_enumeration(make):
    rules = SMALL_DECKS["three suits"]
    strategy = random_strategy(rules, 1, config=make(rules))
    other = random_strategy(rules, 2, config=percentile_config(rules, 3))
    plain = as_function(strategy)
    expected = [best_response_value(rules, plain, player) for player in (0, 1)]
    assert best_response(strategy).per_position == pytest.approx(tuple(expected), abs=1e-6)
    values = [oracle_value(rules, as_function(other), plain, player) for player in (0, 1)]
    assert expected_value(other, strategy) == pytest.approx(np.mean(values), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "solved"])
def test_short_limit_against_plain_enumeration(kind):
    if kind == "random":
        strategy = random_strategy(SHORT, 1)
    else:
        strategy = solve(SolveConfig(SHORT, percentile_config(SHORT, 20), iterations=300_000)).strategy
    other = random_strategy(SHORT, 2, buckets=5)
    plain = as_function(strategy)
    expected = [best_response_value(SHORT, plain, player) for player in (0, 1)]
    assert best_response(strategy).per_position == pytest.approx(tuple(expected), abs=1e-6)
    single = best_response(strategy, precision="single")
    assert single.per_position == pytest.approx(tuple(expected), abs=1e-3)
    values = [oracle_value(SHORT, as_function(other), plain, player) for player in (0, 1)]
    assert expected_value(other, strategy) == pytest.approx(np.mean(values), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("always-fold", 750), ("always-call", 1163.476)])
def test_limit_holdem_through_the_general_walk(name, value):
    """All 2,554,656 boards; subtrees that the strategy never leads to are skipped."""
    result = best_response(name, rules=preset("acpc-limit"))
    assert result.mbb_per_hand == pytest.approx(value, abs=2e-3)
    if name == "always-call":
        assert result.per_position == pytest.approx((1163.4758, 1163.4758), abs=2e-3)


def test_sampled_flops_estimate_the_exact_values():
    """Over many draws: expected values unbiased, plug-in above and cross-fitted below the truth."""
    rules = SMALL_DECKS["two rounds"]
    strategy, other = random_strategy(rules, 1), random_strategy(rules, 2)
    exact = best_response(strategy).mbb_per_hand
    runs = [best_response(strategy, flops=6, seed=seed) for seed in range(60)]
    assert {run.kind for run in runs} == {"estimate"}
    assert {run.flops for run in runs} == {6}
    for name, below, above in (("mbb_per_hand", 0, 1), ("lower_bound", 1, 0)):
        values = np.array([getattr(run, name) for run in runs])
        error = values.std(ddof=1) / np.sqrt(len(values))
        assert values.mean() < exact + 3 * error + 1e9 * above
        assert values.mean() > exact - 3 * error - 1e9 * below
    # The standard errors that single runs report are about the spread between runs.
    for value, error in (
        ("mbb_per_hand", "standard_error"),
        ("lower_bound", "lower_bound_standard_error"),
    ):
        spread = np.std([getattr(run, value) for run in runs], ddof=1)
        reported = np.sqrt(np.mean([getattr(run, error) ** 2 for run in runs]))
        assert 0.7 < reported / spread < 1.7
    exact_value = expected_value(other, strategy)
    values = np.array([expected_value(other, strategy, flops=6, seed=seed) for seed in range(60)])
    assert abs(values.mean() - exact_value) < 3 * values.std(ddof=1) / np.sqrt(60)


def test_many_sampled_flops_come_close():
    strategy = random_strategy(SMALL_DECKS["three ranks"], 1)
    exact = best_response(strategy).mbb_per_hand
    run = best_response(strategy, flops=400, seed=3)
    assert run.mbb_per_hand == pytest.approx(exact, abs=5 * run.standard_error + 0.02 * exact)
    assert run.lower_bound <= run.mbb_per_hand


def test_the_result_does_not_depend_on_the_number_of_threads():
    strategy = random_strategy(SMALL_DECKS["three ranks"], 1)
    for flops in ("all", 7):
        results = [best_response(strategy, flops, threads=threads) for threads in (1, 3)]
        assert results[0].per_position == results[1].per_position
        assert results[0].lower_bound == results[1].lower_bound


def test_a_single_flop_has_no_standard_error():
    run = best_response(random_strategy(SMALL_DECKS["two rounds"], 1), flops=1)
    assert np.isnan(run.standard_error)
    assert np.isnan(run.lower_bound)


@pytest.mark.parametrize("flops", [0, -3, 10**11, "some", 2.5, True])
def test_a_bad_number_of_flops_is_refused(flops):
    with pytest.raises(ValueError, match='flops must be "all" or a positive number'):
        best_response("always-call", flops, rules=SHORT)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="needs rules"):
        best_response("always-call")
    with pytest.raises(ValueError, match="unknown strategy 'nobody'"):
        best_response("nobody", rules=SHORT)
    with pytest.raises(ValueError, match="precision must be single or double"):
        best_response("always-call", rules=SHORT, precision="half")
    with pytest.raises(ValueError, match="not for flop-limit"):
        best_response(random_strategy(SHORT, 1), rules=preset("flop-limit"))
    with pytest.raises(ValueError, match="hands need 3 to 5 community cards"):
        best_response("always-call", rules=replace(SHORT, board_cards=(0, 1, 1)))

"""solve_game: one call for any game, every scheme and sampling; certificates by OpenSpiel."""

from __future__ import annotations

import importlib

import numpy as np
import pyspiel
import pytest
from nashfold.solver import solve_game
from nashfold.solver.regret import SCHEMES, make_scheme
from nashfold.solver.tabular import TabularGame
from small_games import FACTS, GOOFSPIEL, tabular

importlib.import_module("nashfold.game.openspiel")
exploitability = importlib.import_module("open_spiel.python.algorithms.exploitability")


def test_the_policy_is_an_openspiel_policy_and_its_score_is_openspiels():
    game = pyspiel.load_game("leduc_poker")
    found = solve_game(game, "dcfr", iterations=100)
    assert (found.iterations, found.sampling, str(found.scheme)) == (
        100,
        None,
        "dcfr(alpha=1.5, beta=0, gamma=2)",
    )
    assert found.exploitability == pytest.approx(FACTS["leduc"]["DCFR"]["100"], abs=1e-9)
    assert found.nash_conv == 2 * found.exploitability == pytest.approx(sum(found.response_values))
    assert exploitability.nash_conv(game, found.policy) == pytest.approx(found.nash_conv, abs=1e-12)
    assert exploitability.nash_conv(game, found.last_policy) > 10 * found.nash_conv
    assert found.value == pytest.approx(FACTS["leduc"]["value"], abs=found.nash_conv)
    assert isinstance(found.game, TabularGame)
    assert found.seconds > 0
    found.solver.run(900)
    assert found.solver.iterations == 1000


# NashConv after 400 iterations on Kuhn poker, Goofspiel with three cards and Liar's dice with three sides.
GAMES = ("kuhn_poker", GOOFSPIEL, "liars_dice(dice_sides=3)")
AFTER_400 = {
    "cfr": (3.85e-3, 3.96e-3, 4.23e-3),
    "cfr+": (5.08e-4, 2.29e-5, 6.04e-5),
    "lcfr": (5.74e-4, 2.29e-5, 2.49e-4),
    "dcfr": (8.88e-4, 1.09e-7, 1.23e-6),
    "pcfr+": (7.34e-7, 1.09e-7, 2.21e-6),
    "pdcfr+": (5.52e-11, 1.36e-14, 1.08e-10),
    "apcfr+": (3.33e-7, 1.09e-7, 1.01e-6),
    "sapcfr+": (3.33e-7, 1.09e-7, 1.01e-6),
    "apdcfr+": (1.77e-4, 7.48e-9, 4.66e-7),
    "hs-dcfr": (1.98e-3, 0.0, 0.0),
    "hs-pcfr+": (0.0, 0.0, 0.0),
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_solves_every_game(scheme):
    """Not worse than it was, but for a quarter and the last bits."""
    for game, expected in zip(GAMES, AFTER_400[scheme], strict=True):
        found = solve_game(tabular(game), scheme, iterations=400)
        assert -1e-14 < found.nash_conv < 1.25 * expected + 1e-11
        assert found.nash_conv > 0.8 * expected - 1e-11
        assert found.scheme.horizon == (400 if scheme.startswith("hs-") else None)


@pytest.mark.parametrize("sampling", ["external", "outcome", "chance", "average-strategy"])
def test_samplings_go_through_the_same_call(sampling):
    """SV-09: also after a single iteration everything is a policy."""
    one = solve_game("kuhn_poker", "cfr", 1, sampling, seed=3)
    assert np.isfinite(one.nash_conv)
    found = solve_game("kuhn_poker", "lcfr", 20_000, sampling, seed=3)
    assert found.sampling == sampling
    assert found.nash_conv < 0.1
    again = solve_game("kuhn_poker", "lcfr", 20_000, sampling, seed=3)
    np.testing.assert_array_equal(found.policy.probabilities, again.policy.probabilities)
    other = solve_game("kuhn_poker", "lcfr", 20_000, sampling, seed=4)
    assert (other.policy.probabilities != found.policy.probabilities).any()


def test_checks_on_the_way():
    told = []
    found = solve_game("kuhn_poker", "cfr+", 250, check_every=100, progress=told.append)
    assert tuple(told) == found.checks
    assert [check.iterations for check in told] == [100, 200, 250]
    assert told[0].nash_conv == pytest.approx(2 * FACTS["kuhn"]["CFR+"]["100"], abs=1e-9)
    assert told[-1].nash_conv == found.nash_conv
    assert told[0].seconds < told[1].seconds < told[2].seconds == found.seconds


def test_starts():
    first = solve_game("leduc_poker", "cfr", 100)
    warm = solve_game("leduc_poker", "cfr", 20, policy=first.policy)
    cold = solve_game("leduc_poker", "cfr", 20)
    assert warm.nash_conv < cold.nash_conv / 2
    theirs = pyspiel.CFRSolver(pyspiel.load_game("leduc_poker"))
    theirs.evaluate_and_update_policy()
    assert solve_game("leduc_poker", "cfr", 0, policy=theirs.average_policy()).iterations == 0
    for sampling in (None, "external"):
        start = solve_game("leduc_poker", "cfr", 0, sampling, regrets=first.solver.regrets)
        np.testing.assert_allclose(start.last_policy.probabilities, first.last_policy.probabilities)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations": -1}, "iterations must not be negative, got -1"),
        ({"check_every": 0}, "at least one iteration between them, got 0"),
        ({"scheme": "dcfr2"}, "unknown scheme 'dcfr2'"),
        ({"sampling": "robust"}, "unknown sampling 'robust'"),
        ({"baseline": "infoset"}, "full-width CFR has no option 'baseline': choose from alternating"),
        ({"sampling": "external", "merge": True}, "sampled CFR has no option 'merge': choose from baseline"),
        ({"sampling": "external", "policy": 1}, "starts from regrets, not from a policy"),
        ({"max_nodes": 50}, "more than 50 nodes"),
        ({"sampling": "external", "scheme": "pcfr+"}, "pcfr\\+"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_game("kuhn_poker", **arguments)


def test_other_constants():
    found = solve_game("kuhn_poker", make_scheme("dcfr", gamma=5), 100)
    assert found.nash_conv != solve_game("kuhn_poker", "dcfr", 100).nash_conv
    assert found.nash_conv < 0.01

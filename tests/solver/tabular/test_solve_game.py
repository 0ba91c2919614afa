"""solve_game: one call for any game, every scheme and sampling; certificates by OpenSpiel."""

from __future__ import annotations

import importlib
import re

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


# And after 20 on Kuhn poker, where none is at rest yet and rounding does not matter.
AFTER_20 = {
    "cfr": 0.0813403955,
    "cfr+": 0.0202179547,
    "lcfr": 0.0217099997,
    "dcfr": 0.0230412662,
    "pcfr+": 0.00527918213,
    "pdcfr+": 0.00367206568,
    "apcfr+": 0.0025086918,
    "sapcfr+": 0.00252869913,
    "apdcfr+": 0.0186795143,
    "hs-dcfr": 0.125410694,
    "hs-pcfr+": 0.00960893886,
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_solves_every_game(scheme):
    """Not worse than it was, but for a quarter and the last bits."""
    for game, expected in zip(GAMES, AFTER_400[scheme], strict=True):
        found = solve_game(tabular(game), scheme, iterations=400)
        assert -1e-14 < found.nash_conv < 1.25 * expected + 1e-11
        if expected > 1e-8:
            assert found.nash_conv > 0.8 * expected
        assert found.scheme.horizon == (400 if scheme.startswith("hs-") else None)
    early = solve_game(tabular("kuhn_poker"), scheme, iterations=20)
    assert early.nash_conv == pytest.approx(AFTER_20[scheme], rel=1e-6)


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
    listed = solve_game("leduc_poker", "cfr", 20, policy=first.policy.probabilities.tolist())
    assert listed.nash_conv == warm.nash_conv
    for sampling in (None, "external"):
        start = solve_game("leduc_poker", "cfr", 0, sampling, regrets=first.solver.regrets.tolist())
        np.testing.assert_allclose(start.last_policy.probabilities, first.last_policy.probabilities)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iterations": -1}, "iterations must be a whole number, 0 or more; got -1"),
        ({"iterations": float("inf")}, "iterations must be a whole number, 0 or more; got inf"),
        ({"iterations": "10"}, "iterations must be a whole number, 0 or more; got '10'"),
        ({"iterations": None}, "iterations must be a whole number, 0 or more; got None"),
        ({"check_every": 0}, "from one check to the next, must be a whole number, 1 or more; got 0"),
        ({"check_every": 2.5}, "from one check to the next, must be a whole number"),
        ({"max_nodes": None}, "max_nodes must be a whole number, 1 or more; got None"),
        ({"max_nodes": float("nan")}, "max_nodes must be a whole number, 1 or more; got nan"),
        ({"policy": {}}, "the policy has nothing for '0': give missing='uniform' to TabularPolicy"),
        ({"policy": {"0": None}}, "the policy has nothing for '0'"),
        ({"policy": {"zero": {0: 0.5, 1: 0.5}}}, "the policy has 'zero', which is no information state"),
        ({"policy": "uniform"}, "one of OpenSpiel's or a dictionary, not str"),
        ({"scheme": "dcfr2"}, "unknown scheme 'dcfr2'"),
        ({"sampling": "robust"}, "unknown sampling 'robust'"),
        ({"baseline": "infoset"}, "no option 'baseline': choose from alternating, counted, merge$"),
        ({"sampling": "external", "merge": True}, "sampled CFR has no option 'merge': choose from baseline"),
        ({"sampling": "external", "policy": 1}, "starts from regrets, not from a policy"),
        ({"max_nodes": 50}, "more than 50 nodes, which need less than 0.1 GB"),
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


@pytest.mark.parametrize("game", [None, 3, pyspiel.load_game("kuhn_poker").new_initial_state()])
def test_what_is_no_game_is_refused(game):
    with pytest.raises(ValueError, match=r"^a game is one of OpenSpiel's or its name, not "):
        solve_game(game)


def test_a_solution_is_told_in_one_line():
    found = solve_game("kuhn_poker", "cfr+", 1000, "external")
    assert re.fullmatch(
        r"GameSolution\(kuhn_poker\(\), cfr\+\(delay=0\), external sampling, 1,000 iterations, "
        r"NashConv [0-9.e-]+\)",
        repr(found),
    )

"""Values, best responses and NashConv: by hand, by recursion, and OpenSpiel's."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from nashfold.solver.tabular import Scorer, TabularPolicy, best_response, expected_value, nash_conv
from plain_cfr import plain_best_response, plain_value
from small_games import FACTS, GOOFSPIEL, reference_game, rows, tabular

exploitability = importlib.import_module("open_spiel.python.algorithms.exploitability")


def random_policy(game, seed, pure=False):
    rng = np.random.default_rng(seed)
    policy = game.uniform_policy()
    for first, count in zip(game.first_sequence, game.num_actions, strict=True):
        row = np.eye(count)[rng.integers(count)] if pure else rng.dirichlet(np.ones(count))
        policy[first : first + count] = row
    return policy


def test_uniform_play_of_kuhn():
    """SV-11, BR-01: the value is 1/8, best responses win 1/2 and 5/12; one who saw the other card would
    win 1/2 in both places.
    """
    game = tabular("kuhn_poker")
    uniform = game.uniform_policy()
    assert expected_value(game, uniform) == pytest.approx(1 / 8)
    score = nash_conv(game, uniform)
    assert score.responses == pytest.approx((1 / 2, 5 / 12))
    assert (score.nash_conv, score.exploitability) == pytest.approx((11 / 12, 11 / 24))
    for player, value in enumerate(score.responses):
        response = best_response(game, uniform, player)
        assert response.value == value
        own, other = game.sequences[player], game.sequences[1 - player]
        assert set(response.policy[own]) == {0.0, 1.0}  # one action at each information set
        np.testing.assert_array_equal(response.policy[other], uniform[other])
        sign = 1 - 2 * player
        assert sign * expected_value(game, response.policy) == pytest.approx(value)
    # Terminal reach adds up to 1.
    reach = Scorer(game).reach(uniform)
    ends = np.flatnonzero(game.kind == 3)
    chances = 1 / 6
    assert (chances * reach[game.last_sequence[0, ends]] * reach[game.last_sequence[1, ends]]).sum() == (
        pytest.approx(1)
    )


@pytest.mark.parametrize("name", FACTS)
def test_uniform_play_of_the_reference_games(name):
    game = reference_game(name)
    score = nash_conv(game, game.uniform_policy())
    assert score.exploitability == pytest.approx(FACTS[name]["uniform"], abs=1e-12)


@pytest.mark.parametrize("name", ["kuhn_poker", GOOFSPIEL, "liars_dice(dice_sides=2)"])
@pytest.mark.parametrize("pure", [False, True])
def test_scores_are_those_of_recursion_and_of_openspiel(name, pure):
    game = tabular(name)
    for seed in range(3):
        policy = random_policy(game, seed, pure)
        plain = rows(game, policy)
        score = nash_conv(game, policy)
        expected = [plain_best_response(game.game, plain, player) for player in range(2)]
        assert score.responses == pytest.approx(expected, abs=1e-12)
        root = game.game.new_initial_state()
        assert expected_value(game, policy) == pytest.approx(plain_value(root, plain), abs=1e-12)
        theirs = exploitability.nash_conv(game.game, TabularPolicy(game, policy))
        assert score.nash_conv == pytest.approx(theirs, abs=1e-12)


def test_scores_on_leduc_are_openspiels():
    game = tabular("leduc_poker")
    policy = random_policy(game, 5)
    theirs = exploitability.nash_conv(
        game.game, TabularPolicy(game, policy), return_only_nash_conv=False
    )
    score = nash_conv(game, policy)
    value = expected_value(game, policy)
    gains = [score.responses[0] - value, score.responses[1] + value]
    np.testing.assert_allclose(gains, theirs.player_improvements, atol=1e-12)


def test_best_responses_to_best_responses_stay_legal():
    """BR-04: an action everywhere, also where the other never lets the responder come."""
    game = tabular("leduc_poker")
    policy = random_policy(game, 2, pure=True)
    scorer = Scorer(game)
    for step in range(6):
        policy = scorer.best_response(policy, step % 2).policy
        real = (policy == 1) & (game.sequence_infoset >= 0)
        assert np.bincount(game.sequence_infoset[real], minlength=game.num_infosets).tolist() == (
            [1] * game.num_infosets
        )
        assert scorer.nash_conv(policy).nash_conv >= 0


def test_what_is_no_policy_is_refused():
    game = tabular("kuhn_poker")
    uniform = game.uniform_policy()
    with pytest.raises(ValueError, match=r"must be 26 finite numbers, one a sequence; got .*\(25,\)"):
        nash_conv(game, uniform[1:])
    for bad in (uniform * 0.9, np.where(game.sequence_infoset == 3, [[1.5], [-0.5]][0], uniform)):
        with pytest.raises(ValueError, match="0 or more and add up to 1: they do not at"):
            nash_conv(game, bad)
    below = uniform.copy()
    below[game.first_sequence[2] : game.first_sequence[2] + 2] = 1.5, -0.5
    with pytest.raises(ValueError, match=f"they do not at {game.infoset_text[2]!r}"):
        nash_conv(game, below)
    broken = uniform.copy()
    broken[1] = np.nan
    with pytest.raises(ValueError, match="26 finite numbers, one a sequence; got nan"):
        nash_conv(game, broken)
    # What stands at the empty sequences is nobody's choice.
    empty = np.where(game.sequence_infoset < 0, -1.0, uniform)
    assert nash_conv(game, empty) == nash_conv(game, uniform)
    for player in (-1, 2, 1.0, None):
        with pytest.raises(ValueError, match="a player is 0 or 1, got"):
            best_response(game, uniform, player)

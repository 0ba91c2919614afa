"""Policies between our arrays and OpenSpiel: each side scores the other's."""

from dataclasses import replace

import numpy as np
import pyspiel
import pytest
from nashfold.solver.tabular.game import TabularGame
from nashfold.solver.tabular.policy import TabularPolicy
from nashfold.solver.tabular.sampled import Sampled
from nashfold.solver.tabular.scoring import Scorer
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms import cfr, exploitability

RPS = "turn_based_simultaneous_game(game=matrix_rps())"


@pytest.fixture(scope="module")
def kuhn():
    return TabularGame.from_openspiel("kuhn_poker")


@pytest.fixture(scope="module")
def leduc():
    return TabularGame.from_openspiel("leduc_poker")


def _random(game, seed=0):
    rng = np.random.default_rng(seed)
    policy = np.ones(game.num_sequences)
    for first, count in zip(game.first_sequence, game.num_actions, strict=True):
        policy[first : first + count] = rng.dirichlet(np.ones(count))
    return TabularPolicy(game, policy)


def _openspiel_nash_conv(policy):
    """By OpenSpiel's C++ best responses, which walk its states."""
    return pyspiel.nash_conv(policy.game, policy.to_pyspiel())


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
def test_openspiel_scores_our_policies_as_we_do(name):
    game = TabularGame.from_openspiel(name)
    policy = _random(game)
    ours = Scorer(game).nash_conv(policy.probabilities).nash_conv
    assert ours > 0.1
    np.testing.assert_allclose(_openspiel_nash_conv(policy), ours, atol=1e-9)


def test_openspiels_python_best_response_takes_our_policy(kuhn):
    policy = _random(kuhn, 4)
    ours = Scorer(kuhn).nash_conv(policy.probabilities).nash_conv
    np.testing.assert_allclose(exploitability.nash_conv(kuhn.game, policy), ours, atol=1e-12)
    tabular = policy.to_tabular()
    np.testing.assert_allclose(exploitability.nash_conv(kuhn.game, tabular), ours, atol=1e-12)


def test_we_score_openspiels_policies_as_it_does(leduc):
    solver = pyspiel.CFRPlusSolver(leduc.game)
    for _ in range(10):
        solver.evaluate_and_update_policy()
    theirs = solver.average_policy()  # a C++ policy that is not a table
    ours = TabularPolicy.from_openspiel(leduc, theirs)
    expected = pyspiel.nash_conv(leduc.game, theirs)
    np.testing.assert_allclose(
        Scorer(leduc).nash_conv(ours.probabilities).nash_conv, expected, atol=1e-9
    )


def test_python_policies_of_openspiel(kuhn):
    solver = cfr.CFRSolver(kuhn.game)
    for _ in range(5):
        solver.evaluate_and_update_policy()
    ours = TabularPolicy.from_openspiel(kuhn, solver.average_policy())
    expected = exploitability.nash_conv(kuhn.game, solver.average_policy())
    np.testing.assert_allclose(
        Scorer(kuhn).nash_conv(ours.probabilities).nash_conv, expected, atol=1e-12
    )
    uniform = openspiel_policy.UniformRandomPolicy(kuhn.game)
    np.testing.assert_array_equal(
        TabularPolicy.from_openspiel(kuhn, uniform).probabilities, kuhn.uniform_policy()
    )


@pytest.mark.parametrize("form", ["dict", "pyspiel", "python", "ours", "pairs"])
def test_there_and_back(leduc, form):
    policy = _random(leduc, 7)
    other = {
        "dict": policy.to_dict,
        "pyspiel": policy.to_pyspiel,
        "python": policy.to_tabular,
        "ours": lambda: policy,
        "pairs": lambda: {text: list(row.items()) for text, row in policy.to_dict().items()},
    }[form]()
    back = TabularPolicy.from_openspiel(leduc, other)
    np.testing.assert_allclose(back.probabilities, policy.probabilities, atol=1e-15)


def test_a_text_that_both_players_have_is_refused_where_it_says_too_little(kuhn):
    texts = (*kuhn.infoset_text[:-1], kuhn.infoset_text[0])
    policy = TabularPolicy(replace(kuhn, infoset_text=texts), kuhn.uniform_policy())
    with pytest.raises(
        ValueError, match=r"both players of kuhn_poker\(\) have the information state '0'"
    ):
        policy.to_dict()
    with pytest.raises(ValueError, match="cannot tell them apart"):
        policy.to_pyspiel()


def test_turn_based_forms_of_simultaneous_games():
    game = TabularGame.from_openspiel(RPS)
    policy = _random(game, 2)
    state = game.game.new_initial_state()
    rows = [policy.action_probabilities(place) for place in (state, state.child(0))]
    found = [probability for row in rows for probability in row.values()]
    np.testing.assert_array_equal(found, policy.probabilities[game.sequence_infoset >= 0])


def test_one_outcome_sampling_iteration_leaves_a_whole_policy_sv_09(kuhn):
    solver = Sampled(kuhn, "cfr", "outcome", seed=3)
    scorer = Scorer(kuhn)
    start = TabularPolicy(kuhn, solver.average_policy())
    np.testing.assert_allclose(exploitability.nash_conv(kuhn.game, start), 11 / 12)
    solver.run(1)
    policy = TabularPolicy(kuhn, solver.average_policy())
    rows = policy.to_dict()
    assert len(rows) == 12
    unvisited = 0
    for text, row in rows.items():
        assert abs(sum(row.values()) - 1) < 1e-12, text
        unvisited += set(row.values()) == {0.5}
    assert unvisited >= 8
    assert np.isfinite(scorer.nash_conv(policy.probabilities).nash_conv)
    assert np.isfinite(_openspiel_nash_conv(policy))


def test_openspiels_sampled_average_is_read(kuhn):
    solver = pyspiel.OutcomeSamplingMCCFRSolver(kuhn.game)
    solver.run_iteration()
    policy = TabularPolicy.from_openspiel(kuhn, solver.average_policy(), missing="uniform")
    assert 0 < Scorer(kuhn).nash_conv(policy.probabilities).nash_conv < 4


def test_mistakes_are_named(kuhn):
    whole = _random(kuhn).to_dict()
    text = kuhn.infoset_text[0]
    with pytest.raises(ValueError, match=r"nothing for '0': give missing='uniform'"):
        TabularPolicy.from_openspiel(kuhn, {k: v for k, v in whole.items() if k != text})
    filled = TabularPolicy.from_openspiel(kuhn, {}, missing="uniform")
    np.testing.assert_array_equal(filled.probabilities, kuhn.uniform_policy())
    with pytest.raises(ValueError, match=r"plays 7 at '0', where the legal actions are \[0, 1\]"):
        TabularPolicy.from_openspiel(kuhn, whole | {text: {7: 1.0}})
    with pytest.raises(ValueError, match="add up to 1"):
        TabularPolicy.from_openspiel(kuhn, whole | {text: {0: 0.4, 1: 0.5}})
    for row in (np.array([0.5, 0.5]), "ab", 3, [("a", 1.0)]):
        with pytest.raises(ValueError, match=r"^probabilities are a dictionary by action .* as at '0'$"):
            TabularPolicy.from_openspiel(kuhn, whole | {text: row})
    with pytest.raises(ValueError, match=r"the policy has '0 ', which is no information state of kuhn"):
        TabularPolicy.from_openspiel(kuhn, whole | {"0 ": {0: 1.0}}, missing="uniform")
    with pytest.raises(ValueError, match="not ndarray"):
        TabularPolicy.from_openspiel(kuhn, kuhn.uniform_policy())
    with pytest.raises(ValueError, match="'uniform' or refused"):
        TabularPolicy.from_openspiel(kuhn, whole, missing="zero")
    with pytest.raises(ValueError, match=r"26 numbers|one a sequence"):
        TabularPolicy(kuhn, np.ones(3))


def test_states_that_cannot_be_asked_are_named(kuhn, leduc):
    policy = _random(kuhn)
    state = kuhn.game.new_initial_state()
    with pytest.raises(ValueError, match="nobody is to act"):
        policy.action_probabilities(state)
    state = state.child(0).child(1)
    with pytest.raises(ValueError, match="player 1 was asked for, player 0 is to act"):
        policy.action_probabilities(state, 1)
    other = leduc.game.new_initial_state().child(0).child(1)
    with pytest.raises(ValueError, match="not an information state of kuhn"):
        policy.action_probabilities(other)


def test_policies_of_another_game_are_named(kuhn, leduc):
    solver = pyspiel.CFRSolver(leduc.game)
    solver.evaluate_and_update_policy()
    table = openspiel_policy.TabularPolicy(leduc.game)
    for other in (table, table.to_dict(), solver.average_policy()):
        with pytest.raises(
            ValueError, match=r"the policy (is of another game|has '.*', which is no inf)"
        ):
            TabularPolicy.from_openspiel(kuhn, other)

"""OpenSpiel's algorithms on `python_holdem`: the figures they have on OpenSpiel's own games, and ours.

The C++ algorithms get the game's cached tree, which asks a Python state everything only once.
"""

from __future__ import annotations

import importlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig
from nashfold.game.presets import parse_rules
from nashfold.solver import SolveConfig, best_response, expected_value, solve
from strategies import random_strategy

pyspiel = pytest.importorskip("pyspiel")
importlib.import_module("nashfold.game.openspiel")
cfr = importlib.import_module("open_spiel.python.algorithms.cfr")
exploitability = importlib.import_module("open_spiel.python.algorithms.exploitability")
external_sampling = importlib.import_module("open_spiel.python.algorithms.external_sampling_mccfr")

FACTS = json.loads((Path(__file__).parents[1] / "data" / "openspiel_convergence.json").read_text())[
    "games"
]
QUICK = ("kuhn", "leduc", "up_limit_4x2_1hole_1r")
# Two hole cards of seven in one suit, then three on the board: hold'em that fits into a tree.
TINY = (
    "limit;numPlayers 2;numRounds 2;blind 2 1;raiseSize 2 2;firstPlayer 2 1;maxRaises 0 1;"
    "numSuits 1;numRanks 7;numHoleCards 2;numBoardCards 0 3"
)
SOLVERS = {"CFR": pyspiel.CFRSolver, "CFR+": pyspiel.CFRPlusSolver}


def holdem(rules: str):
    return pyspiel.load_game(f"python_holdem(rules={rules})")


@cache
def cached_tree(rules: str):
    """The game behind OpenSpiel's cache; its states are those of C++, with nothing of ours."""
    return pyspiel.load_game(f"cached_tree(game=python_holdem(rules={rules}))")


def run(solver, iterations: int):
    """The solver after so many iterations. In C++ its policies live only as long as it does: keep it."""
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver


def best_response_values(game, policy) -> list[float]:
    root = game.new_initial_state()
    return [
        pyspiel.TabularBestResponse(game, player, policy).value_from_state(root) for player in (0, 1)
    ]


# The trees ---------------------------------------------------------------------------------------


def kuhn_action(facing_bet: bool, action: int) -> int:
    """kuhn_poker's pass and bet for our fold, check or call, raise."""
    return action if facing_bet else action - 1


@pytest.mark.parametrize("name", ["kuhn", "leduc"])
def test_the_tree_is_that_of_openspiels_own_game(name):
    """Players, chances, returns and information states; in Leduc poker the same numbers of actions too."""
    nodes = {"chance": 0, "decision": 0, "terminal": 0}
    infosets: dict[tuple, tuple] = {}

    def walk(ours, theirs):
        assert ours.current_player() == theirs.current_player()
        if ours.is_terminal():
            nodes["terminal"] += 1
            assert ours.returns() == theirs.returns()
            return
        legal = ours.legal_actions()
        if ours.is_chance_node():
            nodes["chance"] += 1
            assert ours.chance_outcomes() == theirs.chance_outcomes()
            same = legal
        else:
            nodes["decision"] += 1
            kuhn = name == "kuhn"
            same = [kuhn_action(0 in legal, action) if kuhn else action for action in legal]
            assert same == theirs.legal_actions()
            sides = [
                (state.current_player(), state.information_state_string()) for state in (ours, theirs)
            ]
            assert infosets.setdefault(("ours", *sides[0]), sides[1]) == sides[1]
            assert infosets.setdefault(("theirs", *sides[1]), sides[0]) == sides[0]
        for action, other in zip(legal, same, strict=True):
            walk(ours.child(action), theirs.child(other))

    walk(cached_tree(name).new_initial_state(), pyspiel.load_game(f"{name}_poker").new_initial_state())
    facts = FACTS[name]
    assert list(nodes.values()) == facts["nodes"]
    assert len(infosets) == 2 * sum(facts["infosets"])


# Full-width solvers ------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", SOLVERS)
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FACTS]
)
def test_cfr_has_the_figures_of_openspiels_own_games(name, scheme):
    """Exploitability after 1, 10, 100 iterations, to twelve digits; best responses enclose the value."""
    facts, game = FACTS[name], cached_tree(FACTS[name]["rules"])
    assert pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game)) == pytest.approx(
        facts["uniform"], abs=1e-12
    )
    solver, done = SOLVERS[scheme](game), 0
    for iterations in (1, 10, 100) if name in QUICK else (1, 10):
        policy = run(solver, iterations - done).average_policy()
        done = iterations
        expected = facts[scheme][str(iterations)]
        assert pyspiel.exploitability(game, policy) == pytest.approx(expected, abs=1e-12)
    first, second = best_response_values(game, policy)
    assert -second - 1e-12 <= facts["value"] <= first + 1e-12
    assert first + second == pytest.approx(2 * expected, abs=1e-12)


def test_the_value_of_kuhn_poker_is_minus_one_eighteenth():
    game = cached_tree("kuhn")
    solver = run(pyspiel.CFRPlusSolver(game), 1000)
    policy = solver.average_policy()
    first, second = best_response_values(game, policy)
    assert -second <= -1 / 18 <= first
    assert first + second < 2e-4
    values = pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)
    assert values[0] == pytest.approx(-1 / 18, abs=1e-4)
    assert values[1] == -values[0]


def test_cpp_and_python_agree_with_and_without_the_cache():
    expected = pytest.approx(FACTS["kuhn"]["CFR"]["10"], abs=1e-12)
    for game in (holdem("kuhn"), cached_tree("kuhn")):
        solver = run(pyspiel.CFRSolver(game), 10)
        assert pyspiel.exploitability(game, solver.average_policy()) == expected
        assert exploitability.exploitability(game, solver.average_policy()) == expected
        average = run(cfr.CFRSolver(game), 10).average_policy()
        assert exploitability.nash_conv(game, average) / 2 == expected


@pytest.mark.slow
def test_cpp_agrees_on_leduc_poker_with_and_without_the_cache():
    solvers = [run(pyspiel.CFRSolver(game("leduc")), 3) for game in (holdem, cached_tree)]
    plain, cached = (
        pyspiel.exploitability(cached_tree("leduc"), solver.average_policy()) for solver in solvers
    )
    assert plain == cached


def test_python_cfr_agrees_on_leduc_poker():
    game = cached_tree("leduc")
    average = run(cfr.CFRSolver(game), 2).average_policy()
    solver = run(pyspiel.CFRSolver(game), 2)
    expected = pyspiel.exploitability(game, solver.average_policy())
    assert exploitability.exploitability(game, average) == pytest.approx(expected, abs=1e-12)


# Sampling ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "bound"), [("kuhn", 0.02), ("leduc", 0.5)])
def test_external_sampling_in_cpp_walks_as_on_openspiels_own_game(name, bound):
    """One seed, the same samples: equal to the last bits, and far below uniform play (0.46, 2.37)."""
    figures = []
    for game in (cached_tree(name), pyspiel.load_game(f"{name}_poker")):
        solver = pyspiel.ExternalSamplingMCCFRSolver(game, 1)
        for _ in range(5000):
            solver.run_iteration()
        figures.append(pyspiel.exploitability(game, solver.average_policy()))
    assert figures[0] == pytest.approx(figures[1], abs=1e-12)
    assert figures[0] < bound


@pytest.mark.parametrize(("name", "iterations"), [("kuhn", 1000), ("leduc", 30)])
def test_external_sampling_in_python_walks_as_on_openspiels_own_game(name, iterations):
    figures = []
    for game in (cached_tree(name), pyspiel.load_game(f"{name}_poker")):
        np.random.seed(1)  # noqa: NPY002 - the solver draws from the global state
        solver = external_sampling.ExternalSamplingSolver(game)
        for _ in range(iterations):
            solver.iteration()
        figures.append(exploitability.exploitability(game, solver.average_policy()))
    assert figures[0] == pytest.approx(figures[1], abs=1e-12)
    if name == "kuhn":
        assert figures[0] < 0.06


# Hold'em: our scores -------------------------------------------------------------------------------


@cache
def one_state_each(rules: str) -> dict[str, list[int]]:
    """A history that leads to each information state, by its text."""
    histories: dict[str, list[int]] = {}

    def walk(state) -> None:
        if state.is_terminal():
            return
        if not state.is_chance_node():
            histories.setdefault(state.information_state_string(), state.history())
        for action in state.legal_actions():
            walk(state.child(action))

    walk(cached_tree(rules).new_initial_state())
    return histories


def as_table(strategy):
    """A strategy as OpenSpiel's table, asked at one state of each information state."""
    game = holdem(TINY)
    policy = strategy.to_openspiel(game)
    table = {}
    for text, history in one_state_each(TINY).items():
        state = game.new_initial_state()
        for action in history:
            state.apply_action(action)
        table[text] = list(policy.action_probabilities(state).items())
    return pyspiel.TabularPolicy(table)


def test_openspiel_values_strategies_as_we_do():
    """Best responses and expected values of a random and of a solved strategy, position by position.

    And its own solver finds the value of the game that ours does: best responses enclose it.
    """
    rules, game = parse_rules(TINY), cached_tree(TINY)
    scale = 1000 / rules.big_blind
    features = (RoundConfig("preflop-classes"), RoundConfig("ehs", buckets=10))
    solved = solve(SolveConfig(rules, AbstractionConfig(rules, features), iterations=50_000)).strategy
    chance = random_strategy(rules, 3, buckets=3)
    tables = [as_table(strategy) for strategy in (solved, chance)]
    for strategy, table in zip((solved, chance), tables, strict=True):
        values = best_response_values(game, table)
        assert best_response(strategy).per_position == pytest.approx(
            [scale * value for value in values], abs=1e-3
        )
    root = game.new_initial_state()
    as_big_blind = pyspiel.expected_returns(root, tables, -1, True)[0]
    as_button = pyspiel.expected_returns(root, tables[::-1], -1, True)[1]
    theirs = scale * (as_big_blind + as_button) / 2
    assert expected_value(solved, chance) == pytest.approx(theirs, abs=1e-3)

    ours = best_response(solved)
    assert ours.mbb_per_hand < 1
    solver = run(pyspiel.CFRPlusSolver(game), 10)
    first, second = best_response_values(game, solver.average_policy())
    assert scale * (first + second) < 60
    assert -scale * second < ours.per_position[0]
    assert -ours.per_position[1] < scale * first

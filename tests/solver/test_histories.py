"""Strategies of a bet menu in the real game: every legal history has an answer, and tables say the same."""

import pickle
from dataclasses import replace
from fractions import Fraction

import nashfold.game.openspiel  # noqa: F401 - registers the game
import numpy as np
import pyspiel
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import trivial_abstraction
from nashfold.abstraction.bets import MENUS, BetMenu
from nashfold.abstraction.translation import TRANSLATIONS, pseudo_harmonic
from nashfold.game import Action, Betting, new_hand, play_match, preset
from nashfold.solver import (
    SolveConfig,
    Strategy,
    best_response,
    betting_tree,
    expected_value,
    solve,
)
from nashfold.solver.histories import Histories
from strategies import percentile_config

DEEP, SHORT = preset("acpc-nolimit"), preset("short-nolimit")
SMALL = replace(SHORT, stacks=(6, 6), num_ranks=3)
HALF_POT = BetMenu.from_value({"preflop": ["50%, 100%", "50%, 100%", ""]})


def random_table(rules, menu, seed=1, translation="pseudo-harmonic") -> Strategy:
    """Random probabilities on the tree of a menu, one bucket a round."""
    tree = betting_tree(rules, menu)
    tables = [np.zeros((1, slots), np.float32) for slots in tree.num_slots]
    rng = np.random.default_rng(seed)
    for node in np.flatnonzero(tree.num_actions):
        slot, count = tree.action_slot[node], tree.num_actions[node]
        tables[tree.round[node]][0, slot : slot + count] = rng.dirichlet(np.ones(count))
    return Strategy(tree, trivial_abstraction(rules), tables, f"random {seed}", translation)


def at(rules, line: str, seed: int = 1):
    hand = new_hand(rules, seed=seed)
    for word in line.split():
        hand = hand.play(word)
    return hand


STRATEGIES = {
    (bets, name): random_table(DEEP, MENUS.get(bets, HALF_POT), 1, name)
    for bets in ("fcpa", "fc", "half pot")
    for name in TRANSLATIONS
}


@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize(("bets", "translation"), STRATEGIES)
@given(seed=st.integers(0, 10**6))
def test_every_real_state_has_probabilities_of_legal_actions(bets, translation, seed):
    strategy, rng = STRATEGIES[bets, translation], np.random.default_rng(seed)
    hand = new_hand(DEEP, seed=seed)
    while not hand.is_over:
        found = strategy.probabilities(hand)
        assert sum(found.values()) == pytest.approx(1, abs=1e-5)
        assert all(hand.betting.is_legal(Action.parse(text)) for text in found)
        assert list(map(str, hand.betting.passive_actions())) == list(found)[: 1 + ("fold" in found)]
        bounds = hand.betting.raise_bounds()
        if bounds and rng.random() < 0.5:
            low, high = bounds
            size = int(min(high, low + rng.exponential(3 * hand.pot))) if rng.random() < 0.9 else high
            hand = hand.play(hand.betting.raise_action(size))
        else:
            hand = hand.play(hand.betting.passive_actions()[-1])


@pytest.mark.parametrize("translation", TRANSLATIONS)
def test_on_the_menu_a_strategy_says_what_its_table_says(translation):
    strategy, rng = random_table(DEEP, MENUS["fcpa"], 2, translation), np.random.default_rng(0)
    tree = strategy.tree
    for seed in range(60):
        hand = new_hand(DEEP, seed=seed)
        while not hand.is_over:
            node = tree.find(hand.betting)
            slot, count = tree.action_slot[node], tree.num_actions[node]
            found = strategy.probabilities(hand)
            assert list(found) == list(map(str, tree.actions[node]))
            row = strategy.tables[hand.round][0, slot : slot + count]
            np.testing.assert_allclose(list(found.values()), row, rtol=1e-6)
            hand = hand.play(tree.actions[node][rng.choice(count, p=row / row.sum())])


def test_own_bets_are_the_menus_sizes_in_the_real_state():
    """The other player raised to 260, not 300: half the pot is half of 520, to 260 + 260."""
    strategy = random_table(DEEP, HALF_POT, translation="nearest")
    found = strategy.probabilities(at(DEEP, "raise-to:260"))
    assert list(found) == ["fold", "call", "raise-to:520", "raise-to:780"]


def test_a_tiny_bet_taken_for_a_check_is_called_never_folded_to():
    strategy = random_table(DEEP, MENUS["fcpa"], translation="nearest")
    hand = at(DEEP, "raise-to:1000 call bet:100")  # a twentieth of the pot
    found = strategy.probabilities(hand)
    assert found["fold"] == 0
    tree = strategy.tree
    node = Histories(tree, "nearest").node(hand.betting, hand.to_act)
    assert str(tree.actions[node][0]) == "check"
    slot = tree.action_slot[node]
    assert found["call"] == pytest.approx(float(strategy.tables[1][0, slot]), rel=1e-6)


def test_after_an_all_in_that_was_none_was_called_the_rest_is_checked_and_called():
    strategy = random_table(DEEP, MENUS["fcpa"], translation="nearest")
    hand = at(DEEP, "raise-to:15000 call")  # nearer to all-in than to the pot
    assert strategy.probabilities(hand) == {"check": 1}
    assert strategy.probabilities(hand.play("bet:100")) == {"fold": 0, "call": 1}


def test_a_raise_where_the_tree_has_none_is_called_until_the_round_is_over():
    menu = BetMenu.from_value({"preflop": ["100%", ""]})
    strategy = random_table(DEEP, menu, translation="nearest")
    hand = at(DEEP, "raise-to:300 raise-to:900")
    assert strategy.probabilities(hand) == {"fold": 0, "call": 1}
    flop = hand.play("call")
    found = strategy.probabilities(flop)
    assert list(found) == ["check", "bet:1800"]
    node = strategy.tree.find(at(DEEP, "raise-to:300 call").betting)
    slot = strategy.tree.action_slot[node]
    np.testing.assert_allclose(list(found.values()), strategy.tables[1][0, slot : slot + 2], rtol=1e-6)


def test_probabilities_are_the_mixture_over_abstract_histories():
    """By hand: the raise to 200 is a third of the way; the own call weighs the histories (Bayes)."""
    strategy = random_table(DEEP, HALF_POT)
    tree = strategy.tree

    def chance(line: str, action: str) -> float:
        node = tree.find(at(DEEP, line).betting)
        return float(
            strategy.tables[tree.round[node]][0, tree.action_slot[node] + _index(tree, node, action)]
        )

    # 150 on top of 100 is three quarters of the pot of 200.
    half = pseudo_harmonic(Fraction(3, 4), Fraction(1, 2), 1)
    weights = {"raise-to:200": half, "raise-to:300": 1 - half}
    hand = at(DEEP, "raise-to:250")
    found = strategy.probabilities(hand)
    fold = sum(weight * chance(line, "fold") for line, weight in weights.items())
    assert found["fold"] == pytest.approx(fold, rel=1e-5)
    called = {line: weight * chance(line, "call") for line, weight in weights.items()}
    total = sum(called.values())
    check = sum(weight / total * chance(f"{line} call", "check") for line, weight in called.items())
    assert strategy.probabilities(hand.play("call"))["check"] == pytest.approx(check, rel=1e-5)


def _index(tree, node, action: str) -> int:
    return [str(known) for known in tree.actions[node]].index(action)


@pytest.mark.parametrize("menu", ["fcpa", "fchpa", "fc", "33%, 2.5x", "e"])
@pytest.mark.parametrize("translation", ["deterministic", "nearest"])
def test_tables_on_the_tree_of_every_bet_say_the_same_at_every_state(menu, translation):
    strategy = random_table(SMALL, BetMenu.from_value(menu), 3, translation)
    full = strategy.on_tree(betting_tree(SMALL))
    assert full.translation == translation
    pending, hand = [Betting.start(SMALL)], new_hand(SMALL, seed=1)
    compared = 0
    while pending:
        betting = pending.pop()
        if betting.is_over:
            continue
        state = replace(hand, betting=betting)
        expected = {action: p for action, p in full.probabilities(state).items() if p}
        found = {action: p for action, p in strategy.probabilities(state).items() if p}
        assert found == pytest.approx(expected, rel=1e-5)
        compared += 1
        pending += [betting.play(action) for action in betting.legal_actions() if action.kind != "fold"]
    assert compared == sum(full.tree.num_decisions)


def test_a_solved_menu_is_scored_exactly_against_every_legal_bet():
    config = SolveConfig(SMALL, percentile_config(SMALL, 4), bets="fcpa", iterations=20_000)
    strategy = solve(config).strategy
    exact, menu = best_response(strategy), best_response(strategy, bets="menu")
    assert (exact.kind, menu.kind) == ("exact", "lower bound")
    assert 0 < menu.mbb_per_hand < exact.mbb_per_hand
    assert "bets off the menu by deterministic translation" in str(exact)
    assert "lower bound; the responder has only the bets fcpa" in str(menu)
    full = best_response(strategy.on_tree(betting_tree(SMALL)))
    assert full.per_position == exact.per_position
    sampled = best_response(strategy, flops=2, bets="menu")
    assert sampled.kind == "estimate"
    assert "the responder has only the bets fcpa: a lower bound" in str(sampled)
    # Within the menu nothing is translated: both trees give the same value.
    other = replace(config, seed=7, iterations=500)
    weak = solve(other).strategy
    on_menu = expected_value(strategy, weak)
    on_full = expected_value(*(s.on_tree(betting_tree(SMALL)) for s in (strategy, weak)))
    assert on_menu == pytest.approx(on_full, abs=1e-6)
    assert expected_value("always-call", strategy) == pytest.approx(
        -expected_value(strategy, "always-call"), abs=1e-6
    )
    with pytest.raises(ValueError, match="bets must be full or menu, not 'half'"):
        best_response(strategy, bets="half")


def test_strategies_with_different_menus_meet_on_the_tree_of_every_bet_or_not_at_all():
    one, other = random_table(SMALL, MENUS["fcpa"]), random_table(SMALL, HALF_POT)
    value = expected_value(one, other)
    assert value == pytest.approx(-expected_value(other, one), abs=1e-6)
    with pytest.raises(ValueError, match="too large to put strategies with the bets fcpa and preflop"):
        expected_value(STRATEGIES["fcpa", "nearest"], STRATEGIES["half pot", "nearest"])


def test_the_menu_is_saved_loaded_pickled_and_played(tmp_path):
    config = SolveConfig(SMALL, percentile_config(SMALL, 3), bets="50%, a", iterations=500)
    strategy = solve(config, tmp_path / "run").strategy
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    copies = [Strategy.load(tmp_path / "run", translation="soft"), pickle.loads(pickle.dumps(strategy))]
    assert [copy.translation for copy in copies] == ["soft", "pseudo-harmonic"]
    for copy in copies:
        assert copy.tree is strategy.tree
        for ours, theirs in zip(strategy.tables, copy.tables, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    other = random_table(SMALL, MENUS["fchpa"])
    result = play_match([strategy.player(1), other.player(2)], SMALL, hands=200)
    assert result.forfeit is None
    with pytest.raises(ValueError, match="its bets is 50%, a, not fcpa"):
        solve(replace(config, bets="fcpa"), tmp_path / "run", resume=True)


@pytest.mark.parametrize("bets", ["full", "50%;a"])
def test_an_openspiel_policy_plays_games_of_every_bet_and_of_the_menu(bets):
    strategy = random_table(SHORT, BetMenu.from_value("50%, a"))
    game = pyspiel.load_game(f"python_holdem(rules=short-nolimit,bets={bets})")
    policy, rng = strategy.to_openspiel(game), np.random.default_rng(1)
    for _ in range(30):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(rng.choice([action for action, _ in state.chance_outcomes()])))
                continue
            found = policy.action_probabilities(state)
            assert sorted(found) == state.legal_actions()
            assert sum(found.values()) == pytest.approx(1, abs=1e-5)
            state.apply_action(int(rng.choice(list(found))))


def test_a_bet_that_the_openspiel_game_lacks_is_refused():
    strategy = random_table(SHORT, BetMenu.from_value("50%, a"))
    game = pyspiel.load_game("python_holdem(rules=short-nolimit,bets=fcpa)")
    state = game.new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    with pytest.raises(ValueError, match="the strategy plays raise-to:4, which the game does not offer"):
        strategy.to_openspiel(game).action_probabilities(state)


def test_an_unknown_translation_is_refused():
    with pytest.raises(ValueError, match="unknown translation 'harmonic'"):
        random_table(SMALL, MENUS["fcpa"], translation="harmonic")


@pytest.mark.slow
def test_short_no_limit_scored_against_every_legal_bet():
    config = SolveConfig(SHORT, percentile_config(SHORT, 10), bets="fcpa", iterations=200_000)
    strategy = solve(config).strategy
    exact, menu = best_response(strategy), best_response(strategy, bets="menu")
    assert (
        menu.mbb_per_hand < exact.mbb_per_hand < best_response("always-call", rules=SHORT).mbb_per_hand
    )

"""python_holdem: OpenSpiel's own checks, universal_poker as the oracle, and what a player may see."""

from __future__ import annotations

import importlib
import pickle
import random
import subprocess
import sys
import unittest
from copy import deepcopy
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from absl import flags
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import PRESETS, Betting, Rules, preset
from nashfold.game.presets import rules_text

pyspiel = pytest.importorskip("pyspiel")
universal_poker = importlib.import_module("universal").universal_poker
holdem = importlib.import_module("nashfold.game.openspiel")
observation = pytest.importorskip("open_spiel.python.observation")

api_test = pytest.importorskip("open_spiel.integration_tests.api_test")
playthroughs = pytest.importorskip("open_spiel.python.algorithms.generate_playthrough")

# One suit of seven ranks, three board cards, one round: the whole tree can be walked.
TINY = (
    "limit;numPlayers 2;numRounds 1;blind 2 1;raiseSize 2;firstPlayer 2;maxRaises 1;"
    "numSuits 1;numRanks 7;numHoleCards 2;numBoardCards 3"
)
GAMES = [
    *(f"python_holdem(rules={name})" for name in PRESETS),
    "python_holdem(rules=acpc-nolimit,bets=fcpa)",
    "python_holdem(rules=short-nolimit,bets=fcpa)",
    "python_holdem(rules=match-nolimit,bets=50%;2.5x;20c;a,stacks=70 90)",
    "python_holdem(rules=sartre-limit,stacks=9 30)",
    f"python_holdem(rules={TINY})",
]


def definition(rules: Rules) -> str:
    """The value of the parameter `rules` in words of the ACPC server, for rules of any name."""
    return rules_text(replace(rules, name="custom"))


def deal(game, hole=("AsKd", "7h7c"), board="QhJc2s4d5d", actions=()):
    """The state after that deal and the action ids or texts, board cards dealt as they are due."""
    texts = [cards[i : i + 2] for cards in (*hole, board) for i in range(0, len(cards), 2)]
    cards = iter(texts)
    state = game.new_initial_state()
    actions = list(actions)
    while not state.is_terminal() and (state.is_chance_node() or actions):
        player = state.current_player()
        if state.is_chance_node():
            state.apply_action(state.string_to_action(player, f"deal {next(cards)}"))
        else:
            action = actions.pop(0)
            text = isinstance(action, str)
            state.apply_action(state.string_to_action(player, action) if text else action)
    return state


def random_states(game, count: int, seed: int):
    """States of random hands, terminal ones included."""
    rng = random.Random(seed)
    state = game.new_initial_state()
    for _ in range(count):
        yield state.clone()
        if state.is_terminal():
            state = game.new_initial_state()
        else:
            legal = state.legal_actions()
            state.apply_action(rng.choice(legal[:3] + legal[-1:]))


def deal_first(game, moves: int):
    """The state after so many first actions of the list, card or choice."""
    state = game.new_initial_state()
    while moves and not state.is_terminal():
        state.apply_action(state.legal_actions()[0])
        moves -= 1
    return state


# OpenSpiel's checks ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_openspiels_random_simulation_passes(name):
    game = pyspiel.load_game(name)
    sims = 2 if game.num_distinct_actions() > 1000 else 10  # it looks at a mask of all actions
    pyspiel.random_sim_test(game, num_sims=sims, serialize=True, verbose=False, mask_test=True)


@pytest.mark.parametrize("name", GAMES)
def test_openspiels_checks_of_the_programming_interface_pass(name):
    """On up to 400 states, and on all of Kuhn poker."""
    base = api_test.EnforceAPIOnPartialTreeBase
    attributes = {"game": pyspiel.load_game(name), "game_name": name}
    if "kuhn" in name:
        base = api_test.EnforceAPIOnFullTreeBase
        # These two look in tables of OpenSpiel's own games.
        attributes |= {"test_number_of_nodes": None, "test_game_is_perfect_recall": None}
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(type("Checks", (base,), attributes)).run(result)
    assert result.testsRun >= 5
    assert not result.failures + result.errors


@pytest.mark.parametrize("name", GAMES)
def test_names_read_back_as_the_same_game(name):
    game = pyspiel.load_game(name)
    for again in (pyspiel.load_game(str(game)), pickle.loads(pickle.dumps(game)), deepcopy(game)):
        assert str(again) == str(game)
        assert again.get_parameters() == game.get_parameters()
        assert (again.rules, again.menu) == (game.rules, game.menu)
        assert str(deal_first(again, 8)) == str(deal_first(game, 8))
    assert str(pickle.loads(pickle.dumps(game.get_type()))) == str(game.get_type())


@pytest.mark.parametrize("name", sorted(set(PRESETS) - {"sartre-limit"}))
def test_a_definition_in_one_line_is_the_same_game_as_the_preset(name):
    game = pyspiel.load_game(f"python_holdem(rules={definition(preset(name))})")
    assert game.rules == preset(name)
    assert str(pyspiel.load_game(str(game))) == str(game)


def test_parameters_that_a_game_string_cannot_hold_are_spelled_otherwise():
    """pyspiel takes a single number for no text, and splits at "=" and ","."""
    parameters = {
        "rules": preset("acpc-nolimit").to_acpc(),
        "stacks": "5000",
        "bets": "50.0%, 2.50x  a",
    }
    game = pyspiel.load_game("python_holdem", parameters)
    assert game.rules == replace(preset("acpc-nolimit"), stacks=(5000, 5000))
    assert "stacks=5000 5000" in str(game)
    assert "bets=50%;2.5x;a" in str(game)
    again = pyspiel.load_game(str(game))
    assert (again.rules, again.menu, str(again)) == (game.rules, game.menu, str(game))


def test_stacks_replace_those_of_the_rules():
    default = pyspiel.load_game("python_holdem(rules=acpc-nolimit)")
    assert default.rules is preset("acpc-nolimit")
    same = pyspiel.load_game("python_holdem(rules=acpc-nolimit,stacks=20000 20000)")
    assert same.rules.name == "acpc-nolimit"
    game = pyspiel.load_game("python_holdem(rules=acpc-nolimit,stacks=300 1000)")
    assert (game.rules.stacks, game.rules.name) == ((300, 1000), "custom")
    assert deal(game).legal_actions() == [0, 1, *range(200, 1001)]
    assert (game.max_utility(), game.num_distinct_actions()) == (300, 1001)
    limit = pyspiel.load_game("python_holdem(rules=acpc-limit,stacks=35 100)")
    state = deal(limit, actions=[2, 2, 2])
    assert state.table.betting.spent == (30, 40)
    assert state.legal_actions() == [0, 1]
    assert limit.max_utility() == 35


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("python_holdem(rules=holdem)", "unknown preset 'holdem': choose one of"),
        ("python_holdem(rules=limit;numJokers 2)", "'numJokers' is not a key"),
        (
            "python_holdem(rules=match-nolimit,bets=half)",
            "must be full, fcpa or a menu .* 'half' is not",
        ),
        ("python_holdem(rules=match-nolimit,bets=;)", "a bet menu needs at least one size"),
        ("python_holdem(rules=match-nolimit,bets=0%)", "bet size '0%' must be above 0%"),
        ("python_holdem(bets=50%;a)", "'50%;a': limit betting has one size"),
        ("python_holdem(stacks=many)", "stacks must be chips of both players, .* not 'many'"),
        ("python_holdem(stacks=1 2 3)", "stacks must be chips of both players, .* not '1 2 3'"),
        ("python_holdem(stacks=-5 5)", "stacks must be chips of both players, .* not '-5 5'"),
        ("python_holdem(stacks=0 5)", "there must be two positive stacks"),
    ],
)
def test_faulty_parameters_are_refused_in_one_line(name, message):
    with pytest.raises(ValueError, match=message) as error:
        pyspiel.load_game(name)
    assert "\n" not in str(error.value)


def test_the_game_is_registered_once_and_a_reload_does_not_register_it_again(monkeypatch):
    assert pyspiel.registered_names().count(holdem.SHORT_NAME) == 1
    calls = []
    monkeypatch.setattr(pyspiel, "register_game", lambda *args: calls.append(args))
    kept = dict(vars(holdem))
    importlib.reload(holdem)
    vars(holdem).update(kept)  # the classes that the registered factory makes
    assert calls == []


def test_the_first_import_registers_the_game_exactly_once():
    script = (
        "import pyspiel; calls = []; real = pyspiel.register_game\n"
        "pyspiel.register_game = lambda *args: (calls.append(args), real(*args))\n"
        "import importlib, nashfold.game.openspiel as module; importlib.reload(module)\n"
        "print(len(calls), pyspiel.load_game('python_holdem'))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["1", "python_holdem(bets=full,rules=acpc-limit)"]


def test_without_openspiel_the_import_names_the_package_to_install(monkeypatch):
    """PK-03."""
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    monkeypatch.delitem(sys.modules, "nashfold.game.openspiel")
    with pytest.raises(ImportError) as error:
        importlib.import_module("nashfold.game.openspiel")
    assert "open_spiel" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", GAMES)
def test_states_survive_pickling_cloning_and_serialising(name):
    game = pyspiel.load_game(name)
    for state in random_states(game, 25, seed=1):
        copies = [state.clone(), pickle.loads(pickle.dumps(state))]
        copies.append(game.deserialize_state(state.serialize()))
        copies.append(
            pyspiel.deserialize_game_and_state(pyspiel.serialize_game_and_state(game, state))[1]
        )
        replayed = game.new_initial_state()
        for action in state.history():
            replayed.apply_action(action)
        for copy in (*copies, replayed):
            assert str(copy) == str(state)
            assert copy.history() == state.history()
            assert copy.legal_actions() == state.legal_actions()
            assert copy.returns() == state.returns()
        if not state.is_terminal():
            action = state.legal_actions()[-1]
            child = state.child(action)
            assert str(child) != str(state)
            assert str(child) == str(copies[0].child(action))
            text = state.action_to_string(action)
            assert state.string_to_action(state.current_player(), text) == action


@pytest.mark.parametrize("name", GAMES)
def test_playthroughs_replay(name, tmp_path):
    flags.FLAGS.mark_as_parsed()  # the generator asks for one of the flags of its command
    if name == "python_holdem(rules=acpc-nolimit)":
        name = "python_holdem(rules=acpc-nolimit,stacks=400 900)"  # 20,000 actions a line are many
    path = tmp_path / "playthrough.txt"
    path.write_text(playthroughs.playthrough(name, action_sequence=None, seed=1))
    expected, actual = playthroughs.replay(str(path))
    assert expected == actual


def test_copies_of_a_state_share_the_immutable_hand():
    """The C++ side deep-copies every attribute of a state for a clone: there is one, and it is shared."""
    state = deal(pyspiel.load_game("python_holdem"))
    child = state.child(1)
    assert list(vars(state)) == ["table"]
    assert state.clone().table is state.table
    assert len(state.serialize()) < 1_000
    assert child.table is not state.table
    assert child.table.hole is state.table.hole


# Sizes and bounds ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_are_those_of_universal_poker(name):
    """Except the lengths, for which universal_poker has only a rough bound."""
    game = pyspiel.load_game(f"python_holdem(rules={name})")
    theirs = universal_poker(preset(name))
    assert game.max_chance_outcomes() == theirs.max_chance_outcomes()
    assert game.min_utility() == theirs.min_utility()
    assert game.max_utility() == theirs.max_utility()
    if preset(name).betting == "no-limit":
        assert game.num_distinct_actions() == theirs.num_distinct_actions()
    else:
        assert game.num_distinct_actions() == 3


@pytest.mark.parametrize(
    ("name", "largest"),
    [
        ("acpc-limit", 240),
        ("sartre-limit", 98),
        ("casino-limit", 50),
        ("flop-limit", 800),
        ("short-limit", 16),
        ("kuhn", 2),
        ("leduc", 13),
    ],
)
def test_utility_bounds_of_limit_games_are_reached_by_raising_to_the_cap(name, largest):
    game = pyspiel.load_game(f"python_holdem(rules={name})")
    state = game.new_initial_state()
    while not state.is_terminal():
        state.apply_action(state.legal_actions()[-1])
    assert game.max_utility() == -game.min_utility() == largest
    assert sorted(state.returns()) in ([-largest, largest], [0, 0])
    assert state.table.betting.spent == (largest, largest)


@pytest.mark.parametrize("stacks", [(20, 20), (7, 20), (20, 5), (3, 3), (2, 9), (9, 1), (1, 1), (1, 9)])
@pytest.mark.parametrize("bets", ["full", "fcpa", "50% a", "70%;100%", "4c a", "a", "2x 50%", "1.5x;a"])
def test_the_longest_line_is_found_exactly_in_small_no_limit_games(stacks, bets):
    rules = Rules(
        betting="no-limit", blinds=(2, 1), stacks=stacks, first_player=(1, 0), board_cards=(0, 3)
    )

    def longest(table) -> int:
        betting = table.betting
        if betting.is_over:
            return 0
        # More chips in the middle never lengthen a hand: the smallest and the largest raise suffice.
        ids = table.legal_ids()
        few = {*ids[:3], ids[-1]} if bets in ("full", "fcpa") else ids
        return 1 + max(longest(table._replace(betting=betting.play(table.action(i)))) for i in few)

    _, menu = holdem.parse_parameters(definition(rules), bets=bets)
    reached = longest(holdem.Table(menu, Betting.start(rules)))
    if "x" in bets:  # multiples of a bet are bounded round by round
        assert reached <= holdem.longest_line(rules, menu) <= reached + 4
    else:
        assert reached == holdem.longest_line(rules, menu)
    assert holdem.largest_win(rules) == min(stacks)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("stacks", [(300, 40), (40, 300), (100, 300), (300, 100), (20, 300), (300, 20)])
def test_no_line_is_longer_than_the_tensor_where_a_stack_is_below_the_big_blind(stacks, first):
    rules = Rules(
        betting="no-limit", blinds=(100, 20), stacks=stacks, first_player=(first, 0), board_cards=(0, 3)
    )

    def longest(betting) -> int:
        legal = betting.legal_actions()
        return max((1 + longest(betting.play(a)) for a in {*legal[:3], *legal[-1:]}), default=0)

    assert longest(Betting.start(rules)) == holdem.longest_line(rules, None)


@pytest.mark.parametrize(
    ("name", "length"),
    [
        ("acpc-limit", 23),
        ("sartre-limit", 40),
        ("casino-limit", 24),
        ("flop-limit", 11),
        ("short-limit", 11),
        ("kuhn", 3),
        ("leduc", 8),
    ],
)
def test_the_longest_line_of_limit_games(name, length):
    """A check or a limp, every raise and a call in every round."""
    rules = preset(name)
    betting, decisions = Betting.start(rules), 0
    while not betting.is_over:
        opening = not betting.history[-1]
        betting = betting.play(betting.passive_actions()[-1] if opening else betting.legal_actions()[-1])
        decisions += 1
    assert holdem.longest_line(rules, None) == decisions == length


def test_the_longest_line_of_no_limit_holdem_is_199_raises_and_two_passive_actions_a_round():
    """GM-22. universal_poker offers fold and call only after 63 actions in a round."""
    game = pyspiel.load_game("python_holdem(rules=acpc-nolimit)")
    ours = deal(game, actions=[1] * 7)
    theirs = universal_poker(game.rules).new_initial_state()
    for action in ours.history():
        theirs.apply_action(action)
    raises = 0
    while len(ours.legal_actions()) > 2:
        if len(ours.table.betting.history[-1]) < 63:
            assert ours.legal_actions() == theirs.legal_actions()
            theirs.apply_action(200 + 100 * raises)
        ours.apply_action(200 + 100 * raises)
        raises += 1
    assert theirs.legal_actions() == [0, 1]
    ours.apply_action(1)
    assert raises == 199
    assert ours.is_terminal()
    decisions = len(ours.history()) - 9
    assert decisions == holdem.longest_line(game.rules, None) == game.max_game_length() == 207
    ours.information_state_tensor(0)


# Chance ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_chance_deals_every_remaining_card_of_the_deck_with_equal_probability(name):
    game = pyspiel.load_game(f"python_holdem(rules={name})")
    theirs = universal_poker(game.rules).new_initial_state()
    ours = game.new_initial_state()
    rng = random.Random(3)
    dealt: list[int] = []
    while not ours.is_terminal():
        if ours.is_chance_node():
            outcomes = ours.chance_outcomes()
            numbers = [number for number, _ in outcomes]
            assert numbers == sorted(set(range(game.rules.deck.size)) - set(dealt))
            assert numbers == [number for number, _ in theirs.chance_outcomes()]
            assert all(probability == 1 / len(numbers) for _, probability in outcomes)
            action = rng.choice(numbers)
            dealt.append(action)
        else:
            action = 1
        ours.apply_action(action)
        theirs.apply_action(action)
    assert len(dealt) == 2 * game.rules.num_hole_cards + sum(game.rules.board_cards)


def test_small_decks_are_numbered_without_gaps_from_their_lowest_card():
    state = pyspiel.load_game("python_holdem(rules=short-limit)").new_initial_state()
    names = [state.action_to_string(number) for number in (0, 1, 4, 23)]
    assert names == ["deal 9c", "deal 9d", "deal Tc", "deal As"]


def test_the_deal_goes_to_player_0_then_player_1_then_to_the_board():
    state = deal(pyspiel.load_game("python_holdem"), actions=[1, 1, 1, 1])
    assert str(state).startswith("AsKd|7h7c /QhJc2s/4d/ ")


def test_flops_are_sampled_afresh_from_one_state():
    """GM-23: from one state 48 cards at 1/48, none of them in a hand; 20,000 draws by chi-square."""
    state = deal(pyspiel.load_game("python_holdem"))
    state.apply_action(1)
    state.apply_action(1)
    outcomes = state.chance_outcomes()
    assert len(outcomes) == 48
    rng = np.random.default_rng(0)
    numbers, probabilities = zip(*outcomes, strict=True)
    counts = np.bincount(rng.choice(numbers, 20_000, p=probabilities), minlength=52)
    assert (counts[[51, 45, 22, 20]] == 0).all()
    drawn = np.delete(counts, [51, 45, 22, 20])
    assert ((drawn - 20_000 / 48) ** 2 / (20_000 / 48)).sum() < 47 + 5 * (2 * 47) ** 0.5


# universal_poker as the oracle -----------------------------------------------------------------


def random_action(legal: list[int], rng: random.Random) -> int:
    """Mostly passive, sometimes the smallest or largest raise, rarely a fold: long hands."""
    draw = rng.random()
    if draw < 0.08 or len(legal) <= 2:
        return rng.choice(legal)
    raises = legal[1:] if legal[0] == 1 else legal[2:]
    if draw < 0.5 or not raises:
        return 1
    if draw < 0.9:  # small raises, so that hands last
        return raises[min(int(rng.expovariate(0.1)), len(raises) - 1)]
    return rng.choice([raises[0], raises[-1], rng.choice(raises)])


def compare_hands(rules: Rules, hands: int, seed: int, bets: str = "full") -> None:
    """Random hands on both games: same players, legal actions and returns.

    Two differences are meant. Where one player is all-in and the other one owes nothing,
    universal_poker asks for a check that cannot matter; here the betting is over. And it allows 64
    actions in a round at most (never reached here).
    """
    text = rules.name if rules.name in PRESETS else definition(rules)
    menu = {"fchpa": "100%;a;50%"}.get(bets, bets)
    ours_game = pyspiel.load_game(f"python_holdem(rules={text},bets={menu})")
    theirs_game = universal_poker(rules, "fullgame" if bets == "full" else bets)
    rng = random.Random(seed)
    showdowns = 0
    for _ in range(hands):
        ours, theirs = ours_game.new_initial_state(), theirs_game.new_initial_state()
        while not ours.is_terminal():
            legal = theirs.legal_actions()
            if theirs.current_player() >= 0 and ours.current_player() != theirs.current_player():
                betting = ours.table.betting
                assert legal == [1]
                assert betting.is_all_in_showdown
                assert not betting.is_all_in(theirs.current_player())
                theirs.apply_action(1)
                continue
            assert ours.current_player() == theirs.current_player()
            listed = ours.legal_actions()
            if bets == "fchpa" and ours.current_player() >= 0 and 2 not in legal:
                listed = [
                    action for action in listed if action != 4
                ]  # universal_poker offers half the pot only beside the whole one
            assert listed == legal, str(ours)
            action = rng.choice(legal) if ours.is_chance_node() else random_action(legal, rng)
            ours.apply_action(action)
            theirs.apply_action(action)
        while not theirs.is_terminal():  # the same needless check after the last card
            assert theirs.legal_actions() == [1]
            theirs.apply_action(1)
        assert ours.returns() == theirs.returns(), str(ours)
        showdowns += ours.table.betting.folded is None
    assert showdowns > hands // 5


def nolimit(big_blind: int, small_blind: int) -> Rules:
    base = preset("acpc-nolimit")
    return Rules(betting="no-limit", blinds=base.blinds, stacks=(big_blind, small_blind))


LIMIT_RULES = [preset(name) for name in PRESETS if preset(name).betting == "limit"]
NOLIMIT_RULES = [
    preset("short-nolimit"),
    preset("match-nolimit"),
    nolimit(1500, 1500),
    nolimit(300, 1000),
    nolimit(1000, 300),
    nolimit(777, 1333),
    nolimit(1000, 100),
    nolimit(100, 1000),
    nolimit(1000, 50),
]


def rules_id(rules: Rules) -> str:
    return rules.name if rules.name != "custom" else "stacks {} {}".format(*rules.stacks)


@pytest.mark.parametrize("rules", LIMIT_RULES, ids=rules_id)
def test_limit_hands_are_those_of_universal_poker(rules):
    compare_hands(rules, 400, seed=1)


@pytest.mark.parametrize("rules", NOLIMIT_RULES, ids=rules_id)
def test_no_limit_hands_are_those_of_universal_poker(rules):
    compare_hands(rules, 250, seed=2)


def test_deep_no_limit_hands_are_those_of_universal_poker():
    compare_hands(preset("acpc-nolimit"), 30, seed=3)


@pytest.mark.parametrize("rules", [preset("acpc-nolimit"), *NOLIMIT_RULES], ids=rules_id)
def test_fcpa_hands_are_those_of_universal_poker(rules):
    compare_hands(rules, 250, seed=4, bets="fcpa")


@pytest.mark.slow
@pytest.mark.parametrize("rules", LIMIT_RULES, ids=rules_id)
def test_20_000_limit_hands_are_those_of_universal_poker(rules):
    compare_hands(rules, 20_000, seed=5)


@pytest.mark.slow
@pytest.mark.parametrize("rules", NOLIMIT_RULES, ids=rules_id)
def test_many_no_limit_hands_are_those_of_universal_poker(rules):
    compare_hands(rules, 3_000, seed=6)
    compare_hands(rules, 3_000, seed=7, bets="fcpa")


@pytest.mark.parametrize("rules", [preset("acpc-nolimit"), *NOLIMIT_RULES[2:]], ids=rules_id)
def test_hands_with_half_the_pot_too_are_those_of_universal_poker(rules):
    """Its menu fchpa numbers the half pot last. Pots are even here: it rounds halves of a chip down."""
    compare_hands(rules, 100, seed=8, bets="fchpa")


def test_menus_number_their_sizes_in_order():
    name = "python_holdem(rules=acpc-nolimit,stacks=1000 1000,bets=2.5x;50%;20c;200%;a)"
    state = deal(pyspiel.load_game(name))
    sizes = {2: "raise-to:250", 3: "raise-to:200", 5: "raise-to:500", 6: "raise-to:1000"}
    assert state.legal_actions() == [0, 1, *sizes]  # 20c is the smallest raise, as 50% is already
    assert {number: state.action_to_string(number) for number in sizes} == sizes
    state = deal(state.get_game(), actions=[1, 1])
    assert [state.action_to_string(number) for number in state.legal_actions()] == [
        "check",
        "bet:100",
        "bet:400",
        "bet:900",
    ]


@pytest.mark.parametrize("name", GAMES)
def test_the_bounds_of_raises_are_the_first_and_the_last_in_the_list_of_actions(name):
    game = pyspiel.load_game(name)
    for state in random_states(game, 200, seed=6):
        raises = [] if state.current_player() < 0 else [a for a in state.legal_actions() if a > 1]
        assert state.raise_bounds() == ((raises[0], raises[-1]) if raises else None)
        if raises and game.menu is None and game.rules.betting == "no-limit":
            assert raises == list(range(raises[0], raises[-1] + 1))


@pytest.mark.parametrize("bets", ["50%;100%;a", "fcpa", "2x 33%", "20c;a;2.2x", "a"])
def test_every_action_that_is_listed_is_accepted(bets):
    """GM-17, in random hands with unequal stacks; no two actions are the same."""
    game = pyspiel.load_game(f"python_holdem(rules=acpc-nolimit,stacks=777 1333,bets={bets})")
    for state in random_states(game, 600, seed=7):
        if state.current_player() >= 0:
            legal = state.legal_actions()
            assert len({state.action_to_string(action) for action in legal}) == len(legal)
            assert all(str(state.child(action)) != str(state) for action in legal)


def test_pot_and_all_in_sizes():
    """GM-17: r300, r900, then no pot above the stack and no action twice."""
    rules = nolimit(1000, 1000)
    game = pyspiel.load_game(f"python_holdem(rules={definition(rules)},bets=fcpa)")
    state = deal(game, actions=[2])
    assert state.table.betting.spent == (100, 300)
    state.apply_action(2)
    assert state.table.betting.spent == (900, 300)
    assert state.legal_actions() == [0, 1, 3]
    assert state.action_to_string(3) == "raise-to:1000"
    half = pyspiel.load_game(f"python_holdem(rules={definition(rules)},bets=50%;100%;a)")
    state = deal(half, actions=[3, 3])
    assert state.table.betting.spent == (900, 300)
    assert [state.action_to_string(action) for action in state.legal_actions()[2:]] == ["raise-to:1000"]
    deep = pyspiel.load_game("python_holdem(rules=acpc-nolimit,bets=50%;100%;a)")
    assert deal(deep, actions=[3]).action_to_string(2) == "raise-to:600"


def test_a_pot_that_is_all_in_is_offered_once_as_the_pot():
    game = pyspiel.load_game(f"python_holdem(rules={definition(nolimit(300, 300))},bets=fcpa)")
    state = deal(game)
    assert state.legal_actions() == [0, 1, 2]
    assert state.action_to_string(2) == "raise-to:300"


@pytest.mark.parametrize("name", ["python_holdem(rules=acpc-nolimit,bets=fcpa)", "python_holdem"])
@pytest.mark.parametrize("action", [-1, 0, 3, 4, 100])
def test_actions_that_are_not_legal_are_refused(name, action):
    state = deal(pyspiel.load_game(name), actions=[1])  # the big blind may check or raise
    if action in state.legal_actions():
        return
    with pytest.raises(ValueError, match="not legal"):
        state.table.action(action)


# Information states and tensors ----------------------------------------------------------------

LINES = [[], [1], [2], [1, 1], [2, 1, 1, 2], [1] * 6, [2, 0], [1] * 7 + [2, 0]]


@pytest.mark.parametrize("name", ["python_holdem", "python_holdem(rules=acpc-nolimit,bets=fcpa)"])
@pytest.mark.parametrize("line", LINES, ids=str)
def test_the_other_players_cards_never_show(name, line):
    """IS-04: strings and tensors are the same whatever the other player holds, at a showdown too."""
    game = pyspiel.load_game(name)
    for actions in (line, [*line, *[1] * 9][:8]):
        a = deal(game, ("AsKd", "7h7c"), actions=actions)
        b = deal(game, ("AsKd", "9h3c"), actions=actions)
        assert a.information_state_string(0) == b.information_state_string(0)
        assert a.observation_string(0) == b.observation_string(0)
        assert a.information_state_tensor(0) == b.information_state_tensor(0)
        assert a.observation_tensor(0) == b.observation_tensor(0)
        assert a.information_state_string(1) != b.information_state_string(1)
        assert a.information_state_tensor(1) != b.information_state_tensor(1)


def views(state, player: int) -> tuple:
    return (
        state.information_state_string(player),
        tuple(state.information_state_tensor(player)),
    )


def all_views(state, player: int) -> tuple:
    return (
        *views(state, player),
        state.observation_string(player),
        tuple(state.observation_tensor(player)),
    )


def replay(game, groups: list[list[int]], actions: list[int]):
    """The state after these cards, by hand and round, and these actions."""
    cards = [card for group in groups for card in group]
    state = game.new_initial_state()
    while cards or actions:
        state.apply_action(cards.pop(0) if state.is_chance_node() else actions.pop(0))
    return state


@pytest.mark.parametrize("name", [*GAMES[: len(PRESETS)], GAMES[len(PRESETS) + 2]])
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_what_a_player_sees_of_random_hands(name, seed):
    """Own cards and the rounds of the board as sets; no other card, and all of the betting."""
    game = pyspiel.load_game(name)
    rng = random.Random(seed)
    state = game.new_initial_state()
    sizes = [game.rules.num_hole_cards] * 2 + list(game.rules.board_cards)
    cards: list[int] = []
    actions: list[int] = []
    for _ in range(rng.randrange(2, 30)):
        if state.is_terminal():
            break
        legal = state.legal_actions()
        # Mostly passive, so that boards are seen.
        action = rng.choice([*legal[:3], legal[-1], *[1] * 4]) if state.current_player() >= 0 else -1
        action = action if action in legal else rng.choice(legal)
        (cards if state.is_chance_node() else actions).append(action)
        state.apply_action(action)
    ends = np.cumsum([0, *sizes])
    groups = [cards[first:last] for first, last in pairwise(ends)]

    def other(changed: list[list[int]]):
        return replay(game, changed, actions.copy())

    assert str(other(groups)) == str(state)
    shuffled = other([rng.sample(group, len(group)) for group in groups])
    unused = [number for number in range(game.rules.deck.size) if number not in cards]
    for player in (0, 1):
        seen = all_views(state, player)
        assert all_views(shuffled, player) == seen
        hands = [groups[player], groups[1 - player]]
        hidden = rng.sample(unused, min(len(unused), len(hands[1])))
        hands[1] = hidden + hands[1][len(hidden) :]
        changed = other([hands[player], hands[1 - player], *groups[2:]])
        assert all_views(changed, player) == seen
        if hidden:
            for before, after in zip(
                all_views(state, 1 - player), all_views(changed, 1 - player), strict=True
            ):
                assert before != after
        visible = [index for index in (player, *range(2, len(groups))) if groups[index]]
        for first, second in combinations(visible, 2):  # hole and board cards, flop and turn, ...
            swapped = [list(group) for group in groups]
            swapped[first][0], swapped[second][0] = groups[second][0], groups[first][0]
            for before, after in zip(seen, all_views(other(swapped), player), strict=True):
                assert before != after


def test_the_order_of_the_deal_within_hand_and_flop_does_not_show():
    game = pyspiel.load_game("python_holdem")
    a = deal(game, ("AsKd", "7h7c"), "QhJc2s4d5d", [1] * 5)
    b = deal(game, ("KdAs", "7c7h"), "2sQhJc4d5d", [1] * 5)
    for player in (0, 1):
        assert views(a, player) == views(b, player)


def test_the_rounds_of_the_board_are_kept_apart():
    """Which card came as the turn, and which as the river, is part of the information."""
    game = pyspiel.load_game("python_holdem")
    boards = ["QhJc2s4d5d", "QhJc4d2s5d", "QhJc2s5d4d", "5dJc2s4dQh"]
    for player in (0, 1):
        seen = [views(deal(game, board=board, actions=[1] * 7), player) for board in boards]
        assert len({text for text, _ in seen}) == len({tensor for _, tensor in seen}) == len(boards)


def test_hole_and_board_cards_are_kept_apart():
    game = pyspiel.load_game("python_holdem")
    a = deal(game, ("AsKd", "7h7c"), "QhJc2s4d5d", [1, 1])
    b = deal(game, ("QhJc", "7h7c"), "AsKd2s4d5d", [1, 1])
    for first, second in zip(views(a, 0), views(b, 0), strict=True):
        assert first != second


@pytest.mark.parametrize(
    "lines",
    [
        (["raise-to:300"], ["raise-to:475"]),  # GM-22
        (["raise-to:300"], ["raise-to:301"]),
        (["raise-to:19999"], ["raise-to:20000"]),
        # IS-06: the same pot by another road
        (
            ["raise-to:300", "raise-to:900", "raise-to:2700", "call"],
            ["raise-to:400", "raise-to:1000", "raise-to:2700", "call"],
        ),
        (["raise-to:900", "call"], ["raise-to:300", "raise-to:900", "call"]),
        (["call", "raise-to:900", "call"], ["raise-to:900", "call"]),
        (["call", "check", "check", "bet:100", "call"], ["call", "check", "bet:100", "call"]),
        (["raise-to:200", "call", "bet:100", "call"], ["raise-to:300", "call", "check", "check"]),
    ],
    ids=str,
)
def test_the_whole_betting_is_in_the_information_state(lines):
    game = pyspiel.load_game("python_holdem(rules=acpc-nolimit)")
    a, b = (deal(game, actions=line) for line in lines)
    for player in (0, 1):
        for first, second in zip(views(a, player), views(b, player), strict=True):
            assert first != second


def test_an_information_state_in_full():
    game = pyspiel.load_game("python_holdem(rules=acpc-nolimit)")
    line = ["raise-to:300", "call", "check", "bet:100", "raise-to:400"]
    state = deal(game, ("KdAs", "7h7c"), "QhJc2s4d5d", line)
    assert state.information_state_string(0) == (
        "[player 0][hole AsKd][board /QhJc2s//][betting raise-to:300 call/check bet:100 raise-to:400]"
    )
    assert state.observation_string(0) == "[player 0][hole AsKd][board /QhJc2s//][chips 700 400]"


def test_tensors_hold_the_pieces_that_their_names_say():
    game = pyspiel.load_game("python_holdem(rules=acpc-nolimit)")
    line = ["raise-to:300", "call", "check", "bet:100", "raise-to:400"]
    state = deal(game, ("AsKd", "7h7c"), "QhJc2s4d5d", line)
    info = pyspiel.IIGObservationType(perfect_recall=True)
    observer = observation.make_observation(game, info)
    observer.set_from(state, 1)
    assert observer.dict["player"].tolist() == [0, 1]
    assert np.flatnonzero(observer.dict["private_cards"]).tolist() == [20, 22]
    cards = observer.dict["community_cards"]
    assert [np.flatnonzero(row).tolist() for row in cards] == [[], [3, 36, 42], [], []]
    betting = observer.dict["betting"]
    assert betting[:5].tolist() == [
        [0, 0, 1, 300],
        [0, 1, 0, 0],
        [0, 1, 0, 0],
        [0, 0, 1, 400],  # chips over the whole hand
        [0, 0, 1, 700],
    ]
    assert not betting[5:].any()
    limped = deal(game, actions=["call", "check", "bet:100", "raise-to:250", "call", "bet:100"])
    observer.set_from(limped, 0)
    assert observer.dict["betting"][:6, 3].tolist() == [0, 0, 200, 350, 0, 450]
    plain = observation.make_observation(game, pyspiel.IIGObservationType(perfect_recall=False))
    plain.set_from(state, 1)
    assert plain.dict["contribution"].tolist() == [700, 400]
    assert "betting" not in plain.dict


def test_observers_show_public_and_private_parts_as_asked():
    game = pyspiel.load_game("python_holdem(rules=short-limit)")
    state = deal(game, ("AsKd", "ThTc"), "QhJcJsAd", [1, 1])
    other = deal(game, ("AsKd", "9h9c"), "QhJcJsAd", [1, 1])
    private = pyspiel.PrivateInfoType
    for recall in (False, True):
        for public in (False, True):
            for cards in (private.NONE, private.SINGLE_PLAYER, private.ALL_PLAYERS):
                kind = pyspiel.IIGObservationType(
                    perfect_recall=recall, public_info=public, private_info=cards
                )
                observer = observation.make_observation(game, kind)
                text = observer.string_from(state, 0)
                assert ("AsKd" in text) == (cards != private.NONE)
                assert ("ThTc" in text) == (cards == private.ALL_PLAYERS)
                assert ("QhJsJc" in text) == public
                assert ("call check" in text) == (public and recall)
                assert ("[chips 2 2]" in text) == (public and not recall)
                observer.set_from(state, 0)
                seen = observer.tensor.copy()
                observer.set_from(other, 0)
                assert (seen == observer.tensor).all() == (cards != private.ALL_PLAYERS)
                assert sum(part.size for part in observer.dict.values()) == observer.tensor.size


def test_strings_and_tensors_make_the_same_information_states():
    """Each string has one tensor and the other way round, over many random states."""
    for name in ("python_holdem(rules=short-nolimit)", f"python_holdem(rules={TINY})"):
        game = pyspiel.load_game(name)
        tensors: dict = {}
        for state in random_states(game, 2_500, seed=5):
            if state.current_player() >= 0:
                text, tensor = views(state, state.current_player())
                assert tensors.setdefault(text, tensor) == tensor
        assert len(set(tensors.values())) == len(tensors) > 200


@pytest.mark.slow
def test_a_whole_small_game_passes_openspiels_checks_and_has_perfect_recall():
    """All 59,060 states; 840 information states: 21 hands x 10 boards x 4 places in the betting."""
    api_test = pytest.importorskip("open_spiel.integration_tests.api_test")
    game = pyspiel.load_game(f"python_holdem(rules={TINY})")
    assert len(api_test._assert_is_perfect_recall(game)) == 840
    uniform = pyspiel.UniformRandomPolicy(game)
    assert pyspiel.exploitability(game, uniform) == pytest.approx(1.0)

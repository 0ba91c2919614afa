import pickle
from collections import Counter

import nashfold.game.openspiel  # noqa: F401 - registers the game
import numpy as np
import pyspiel
import pytest
from nashfold.abstraction.arrays import load_arrays, save_arrays
from nashfold.game import Action, new_hand, play_match, preset
from nashfold.solver import BUILT_INS, BuiltIn, Strategy, StrategyPlayer, betting_tree, open_strategy
from strategies import random_strategy

SHORT = preset("short-limit")


def _line(hand, *actions):
    for action in actions:
        hand = hand.play(action)
    return hand


@pytest.mark.parametrize("name", ["acpc-limit", "acpc-nolimit", "short-nolimit", "flop-limit"])
@pytest.mark.parametrize("built_in", BUILT_INS)
def test_built_in_strategies_play_every_game_to_its_end(name, built_in):
    strategy = BuiltIn(built_in)
    rng = np.random.default_rng(3)
    for seed in range(20):
        hand = new_hand(preset(name), seed=seed)
        while not hand.is_over:
            found = strategy.probabilities(hand)
            assert sum(found.values()) == pytest.approx(1)
            assert all(hand.betting.is_legal(Action.parse(text)) for text in found)
            hand = hand.play(rng.choice(list(found), p=list(found.values())))
        assert sum(hand.winnings) == 0


def test_what_the_built_in_strategies_do():
    hand = new_hand(preset("acpc-limit"), seed=1)
    raised = _line(hand, "raise-to:20", "raise-to:30", "raise-to:40")
    assert BuiltIn("always-fold").probabilities(hand) == {"fold": 1}
    assert BuiltIn("always-fold").probabilities(_line(hand, "call")) == {"check": 1}
    assert BuiltIn("always-call").probabilities(raised) == {"call": 1}
    assert BuiltIn("always-raise").probabilities(hand) == {"raise-to:20": 1}
    assert BuiltIn("always-raise").probabilities(raised) == {"call": 1}
    assert BuiltIn("call-or-raise").probabilities(hand) == {"call": 0.5, "raise-to:20": 0.5}
    assert BuiltIn("call-or-raise").probabilities(raised) == {"call": 1}
    third = pytest.approx(1 / 3)
    assert BuiltIn("random").probabilities(hand) == {"fold": third, "call": third, "raise-to:20": third}
    no_limit = new_hand(preset("acpc-nolimit"), seed=1)
    assert BuiltIn("always-raise").probabilities(no_limit) == {"raise-to:300": 1}
    assert set(BuiltIn("random").probabilities(no_limit)) == {
        "fold",
        "call",
        "raise-to:300",
        "raise-to:20000",
    }


def test_a_built_in_table_says_the_same_everywhere():
    table = BuiltIn("random").table(SHORT)
    for seed in range(30):
        hand = new_hand(SHORT, seed=seed)
        rng = np.random.default_rng(seed)
        while not hand.is_over:
            plain = BuiltIn("random").probabilities(hand)
            found = table.probabilities(hand)
            assert {action: p for action, p in found.items() if p} == pytest.approx(plain)
            hand = hand.play(rng.choice(list(plain)))


def test_probabilities_are_those_of_the_bucket_and_the_node():
    strategy = random_strategy(SHORT, 1)
    hand = new_hand(SHORT, ("AsKs", "QdQc"), "9c Td Jh 9s")
    hand = _line(hand, "raise-to:4", "call", "check", "bet:2", "raise-to:4", "call", "check")
    found = strategy.probabilities(hand)
    bucket = strategy.abstraction.bucket(2, "QcQd" if hand.to_act else "KsAs", "Td 9s Jh 9c")
    tree = strategy.tree
    slot = tree.action_slot[tree.find(hand.betting)]
    assert list(found.values()) == strategy.tables[2][bucket, slot : slot + 2].tolist()
    assert list(found) == ["check", "bet:4"]
    # A player sees as much as is needed, and only when it is his turn.
    assert strategy.probabilities(hand.observation(hand.to_act)) == found
    with pytest.raises(ValueError, match="player 1 is to act, not player 0"):
        strategy.probabilities(hand.observation(0))
    with pytest.raises(ValueError, match="the hand is over"):
        strategy.probabilities(_line(hand, "check"))
    with pytest.raises(ValueError, match="for short-limit, the hand is of flop-limit"):
        strategy.probabilities(new_hand(preset("flop-limit"), seed=1))


def test_suits_and_order_do_not_change_a_strategy():
    strategy = random_strategy(SHORT, 1)
    lines = ("raise-to:4", "call", "check", "bet:2", "call")
    same = [
        (("AsKs", "QdQc"), "9c Td Jh 9s"),
        (("KsAs", "QcQd"), "Jh 9c Td 9s"),
        (("AhKh", "QsQd"), "9d Ts Jc 9h"),
    ]
    found = [strategy.probabilities(_line(new_hand(SHORT, *cards), *lines)) for cards in same]
    assert found[0] == found[1] == found[2]


def test_saving_and_loading(tmp_path, monkeypatch):
    strategy = random_strategy(SHORT, 1)
    strategy.save(tmp_path / "strategy")
    for path in (tmp_path, tmp_path / "strategy"):  # a run folder will do as well
        loaded = Strategy.load(path)
        assert loaded.rules == SHORT
        assert loaded.rules.name == "short-limit"
        assert loaded.name == strategy.name
        for ours, theirs in zip(strategy.tables, loaded.tables, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    # Without the cache the abstraction is built again from its description.
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "empty"))
    again = Strategy.load(tmp_path)
    for ours, theirs in zip(strategy.abstraction.matrices, again.abstraction.matrices, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_no_strategy_is_refused(tmp_path):
    strategy = random_strategy(SHORT, 1)
    with pytest.raises(ValueError, match="unknown strategy 'no-such'"):
        open_strategy("no-such", SHORT)
    with pytest.raises(ValueError, match="no header"):
        Strategy.load(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="nothing was overwritten"):
        strategy.save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    strategy.save(tmp_path / "s")
    header, arrays = load_arrays(tmp_path / "s", "strategy")
    header["abstraction"]["hash"] = "0" * 16
    del header["arrays"]
    save_arrays(tmp_path / "s", "strategy", header, arrays)
    with pytest.raises(ValueError, match="needs abstraction 0000000000000000"):
        Strategy.load(tmp_path / "s")
    with pytest.raises(ValueError, match="the table of round 0 has shape"):
        Strategy(betting_tree(SHORT), strategy.abstraction, [table[:2] for table in strategy.tables])


def test_an_openspiel_policy_says_what_the_strategy_says():
    strategy = random_strategy(SHORT, 1)
    game = pyspiel.load_game("python_holdem(rules=short-limit)")
    policy = strategy.to_openspiel(game)
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(20):
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(int(rng.choice([action for action, _ in state.chance_outcomes()])))
                continue
            found = policy.action_probabilities(state)
            assert sorted(found) == state.legal_actions()
            table = state.table
            own = table.hole[state.current_player()]
            expected = strategy.node_probabilities(table.betting, own, table.board)
            assert list(found.values()) == list(expected.values())
            compared += 1
            state.apply_action(int(rng.choice(list(found))))
    assert compared > 60
    with pytest.raises(ValueError, match="the strategy is for short-limit"):
        strategy.to_openspiel(pyspiel.load_game("python_holdem(rules=flop-limit)"))
    with pytest.raises(ValueError, match="plays python_holdem games"):
        strategy.to_openspiel(pyspiel.load_game("kuhn_poker"))


def test_a_player_draws_from_the_probabilities():
    strategy = BuiltIn("random")
    act = StrategyPlayer(strategy, seed=1)
    observation = new_hand(preset("acpc-limit"), seed=1).observation(1)
    drawn = [act(observation) for _ in range(3000)]
    for action, probability in strategy.probabilities(observation).items():
        assert drawn.count(action) == pytest.approx(3000 * probability, abs=5 * 26)


@pytest.mark.parametrize("source", ["solved", "built-in"])
def test_a_strategy_travels_to_another_process_with_what_it_knows(source):
    strategy = random_strategy(SHORT, seed=5) if source == "solved" else BuiltIn("random").table(SHORT)
    again = pickle.loads(pickle.dumps(strategy))
    assert (again.name, again.rules) == (strategy.name, strategy.rules)
    hand = new_hand(SHORT, seed=3)
    assert again.probabilities(hand) == strategy.probabilities(hand)
    assert len(pickle.dumps(strategy.abstraction)) < 5_000  # opened from the cache, not sent


def test_a_draw_depends_on_seed_hand_position_and_actions_so_far_alone():
    player = StrategyPlayer(BuiltIn("random"), seed=1)
    hand = new_hand(preset("acpc-limit"), seed=3)
    views = [hand.observation(1), hand.play("call").observation(0)]

    def draws(seed: int, view: int) -> list[str]:
        player = StrategyPlayer(BuiltIn("random"), seed)
        found = []
        for number in range(300):
            player.begin(number)
            found.append(player(views[view]).partition(":")[0])
            assert player(views[view]).partition(":")[0] == found[-1]
        return found

    assert draws(1, 0) == draws(1, 0) != draws(2, 0)
    counts = Counter(draws(1, 0))
    assert set(counts) == {"fold", "call", "raise-to"}
    assert min(counts.values()) > 60
    player.begin(7)
    match = [player(views[0]), play_match([player, player], preset("acpc-limit"), 1).winnings]
    player.begin(7)
    assert match == [player(views[0]), play_match([player, player], preset("acpc-limit"), 1).winnings]


def test_draws_of_actions_are_no_draws_of_the_deals():
    """Matches deal from (seed, hand): a player of the same seed must not see the same numbers."""

    class Recorder:
        def probabilities(self, observation):
            return {"fold": 0.5, "call": 0.5}

    player, view = StrategyPlayer(Recorder(), seed=7), new_hand(SHORT, seed=1).observation(1)
    agreements = 0
    for number in range(200):
        player.begin(number)
        deals = np.random.default_rng((7, number)).random()
        agreements += (player(view) == "fold") == (deals < 0.5)
    assert 60 < agreements < 140


def test_two_players_of_one_seed_are_independent():
    """Independent players agree in a quarter of the hands on each pair of first actions, about."""
    players = [StrategyPlayer(BuiltIn("call-or-raise")) for _ in range(2)]
    pairs = Counter()
    for number in range(400):
        hand = new_hand(preset("acpc-limit"), seed=number)
        words = []
        for _ in range(2):
            position = hand.to_act
            players[position].begin(number)
            words.append(players[position](hand.observation(position)).partition(":")[0])
            hand = hand.play(
                hand.legal_actions()[
                    [str(a) for a in hand.legal_actions()].index(
                        next(str(a) for a in hand.legal_actions() if str(a).startswith(words[-1]))
                    )
                ]
            )
        pairs[tuple(word == "raise-to" for word in words)] += 1
    assert all(
        60 < pairs[pair] < 140 for pair in ((False, False), (False, True), (True, False), (True, True))
    )


def test_a_negative_seed_is_refused():
    with pytest.raises(ValueError, match="seed must be a whole number from 0 to 4294967295, not -1"):
        StrategyPlayer(BuiltIn("random"), seed=-1)

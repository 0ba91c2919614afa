"""Unrolling: sizes, the arrays against a walk over OpenSpiel's states, and what is refused."""

from __future__ import annotations

import importlib

import numpy as np
import pyspiel
import pytest
from nashfold.solver.tabular import TabularGame
from nashfold.solver.tabular.game import CHANCE, TERMINAL, estimate_nodes
from small_games import FACTS, GOOFSPIEL, reference_game, tabular

importlib.import_module("nashfold.game.openspiel")


def chain(length: int) -> pyspiel.Game:
    """Two players by turns: stop, or go on, so many times."""
    lines = ['EFG 2 R "chain" { "a" "b" }']
    for place in range(length):
        player = 1 + place % 2
        lines.append(f'p "" {player} {place // 2 + 1} "" {{ "stop" "go" }} 0')
        won = place + 1 if player == 1 else -(place + 1)
        lines.append(f't "" {place + 1} "" {{ {won}, {-won} }}')
    return pyspiel.load_efg_game("\n".join([*lines, f't "" {length + 1} "" {{ 0, 0 }}']))


@pytest.mark.parametrize("name", FACTS)
def test_sizes_are_known(name):
    """SV-16: Kuhn 58 nodes, 30 terminals, 12 information sets; Leduc 9,457, 5,520, 936."""
    game = reference_game(name)
    assert list(game.node_counts) == FACTS[name]["nodes"]
    assert [part.stop - part.start for part in game.infosets] == FACTS[name]["infosets"]
    # Vectors of a solver grow with information sets times actions, not with histories.
    assert game.num_sequences == 2 + game.num_actions.sum()
    assert game.nbytes < 60 * game.num_nodes + 1000


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", GOOFSPIEL, "python_holdem(rules=kuhn)"])
def test_arrays_are_what_a_walk_over_the_states_sees(name):
    game = tabular(name)
    seen = 0

    def walk(node, state, last):
        nonlocal seen
        seen += 1
        np.testing.assert_array_equal(game.last_sequence[:, node], last)
        children = range(game.first_child[node], game.first_child[node] + game.num_children[node])
        if state.is_terminal():
            assert game.kind[node] == TERMINAL
            assert game.utility[node] == state.returns()[0]
            assert not children
            return
        assert [game.action[child] for child in children] == state.legal_actions()
        if state.is_chance_node():
            assert game.kind[node] == CHANCE
            assert [game.probability[child] for child in children] == [
                p for _, p in state.chance_outcomes()
            ]
        else:
            player = state.current_player()
            assert game.kind[node] == player
            infoset = game.infoset[node]
            assert game.infoset_player[infoset] == player
            assert game.infoset_text[infoset] == state.information_state_string(player)
            assert game.infoset_numbers[player][game.infoset_text[infoset]] == infoset
            assert game.parent_sequence[infoset] == last[player]
            assert game.parent_sequence[infoset] < game.first_sequence[infoset]
        for place, child in enumerate(children):
            lower = list(last)
            if game.kind[node] < 2:
                lower[player] = game.first_sequence[infoset] + place
                assert game.sequence_infoset[lower[player]] == infoset
                assert game.sequence_action[lower[player]] == game.action[child]
                assert game.sequences[player].start < lower[player] < game.sequences[player].stop
            walk(child, state.child(game.action[child]), lower)

    walk(0, game.game.new_initial_state(), [part.start for part in game.sequences])
    assert seen == game.num_nodes
    uniform = game.uniform_policy()
    assert uniform[game.sequence_infoset < 0].tolist() == [1, 1]
    real = game.sequence_infoset >= 0
    np.testing.assert_allclose(uniform[real], 1 / game.num_actions[game.sequence_infoset[real]])


def test_our_leduc_is_openspiels():
    theirs, ours = tabular("leduc_poker"), tabular("python_holdem(rules=leduc)")
    for field in ("kind", "first_child", "infoset", "probability", "utility", "last_sequence"):
        np.testing.assert_array_equal(getattr(ours, field), getattr(theirs, field))


def test_long_lines_need_no_recursion():
    """SV-17: 2,500 decisions in a row."""
    game = TabularGame.from_openspiel(chain(2500))
    assert game.node_counts == (0, 2500, 2501)
    assert game.num_infosets == 2500


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("goofspiel", "goofspiel is a simultaneous game: load it as turn_based_simultaneous_game"),
        ("leduc_poker(players=3)", "has 3 players: only two-player games"),
        ("tiny_hanabi", "tiny_hanabi is not zero-sum"),
        ("breakthrough", "has no information state strings"),
        (
            "turn_based_simultaneous_game(game=goofspiel(num_cards=4,points_order=descending))",
            "has imperfect recall: player 0's information state .* follows different own moves",
        ),
        (
            "universal_poker(betting=limit,numPlayers=2,numRounds=3,blind=1 1,firstPlayer=1 1 1,numSuits=2,"
            "numRanks=3,numHoleCards=1,numBoardCards=0 1 1,raiseSize=1 1 1,maxRaises=0 1 1)",
            "universal_poker has imperfect recall",
        ),
        ("no_such_game", "OpenSpiel does not load 'no_such_game': "),
        # SV-17 and BR-04: refused at once, with the number and the setting.
        ("python_holdem(rules=acpc-limit)", r"about .e\+1. nodes, .* the limit is 5,000,000 nodes: raise"),
        ("python_holdem(rules=acpc-nolimit)", "nodes, which need more than any machine has"),
    ],
)  # fmt: skip
def test_other_games_are_refused_in_one_line(name, message):
    with pytest.raises(ValueError, match=message) as error:
        TabularGame.from_openspiel(name)
    assert "\n" not in str(error.value)


class Line:
    """States of a made-up game: a list of (player, text, legal actions), then returns."""

    def __init__(self, steps, returns):
        self.steps, self.final = steps, returns

    def get_type(self):
        return pyspiel.load_game("kuhn_poker").get_type()

    def num_players(self):
        return 2

    def new_initial_state(self):
        return Line(self.steps, self.final)

    def child(self, action):
        return Line(self.steps[1:], self.final)

    def apply_action(self, action):
        self.steps = self.steps[1:]

    def is_terminal(self):
        return not self.steps

    def current_player(self):
        return self.steps[0][0] if self.steps else int(pyspiel.PlayerId.TERMINAL)

    def information_state_string(self, player):
        return self.steps[0][1]

    def legal_actions(self):
        return self.steps[0][2]

    def returns(self):
        return self.final


def test_games_that_are_not_what_they_say_are_caught():
    with pytest.raises(ValueError, match="not zero-sum: it pays"):
        TabularGame.from_openspiel(Line([(0, "a", [0])], [1.0, 1.0]))
    # Absent-minded: the same information state twice on one line.
    with pytest.raises(ValueError, match="imperfect recall: player 0's information state 'a'"):
        TabularGame.from_openspiel(Line([(0, "a", [0, 1]), (0, "a", [0, 1])], [1.0, -1.0]))
    with pytest.raises(ValueError, match="legal actions at player 1's information state 'b'"):
        TabularGame.from_openspiel(Hidden())


class Hidden(Line):
    """Player 1 has more actions after the second action of player 0, which he does not see."""

    def __init__(self, steps=((0, "a", [0, 1]),), returns=(1.0, -1.0)):
        super().__init__(list(steps), list(returns))

    def new_initial_state(self):
        return Hidden(self.steps, self.final)

    def child(self, action):
        second = [(1, "b", [0, 1, 2][: 2 + action])] if self.steps[0][0] == 0 else []
        return Hidden(second, self.final)


def test_limit_and_progress():
    with pytest.raises(ValueError, match=r"more than 9,456 nodes, .* raise max_nodes"):
        TabularGame.from_openspiel("leduc_poker", max_nodes=9456)
    told = []
    game = TabularGame.from_openspiel("liars_dice(dice_sides=5)", max_nodes=51_181, progress=told.append)
    assert game.num_nodes == 51_181
    assert len(told) == 5
    assert told == sorted(told)


def test_games_clearly_above_the_limit_are_refused_before_they_are_unrolled():
    told = []
    with pytest.raises(ValueError, match=r"^tic_tac_toe has about 5e\+05 nodes, which need 0.1 GB"):
        TabularGame.from_openspiel("tic_tac_toe", max_nodes=100_000, progress=told.append)
    assert told == []
    # Playouts of this one differ a lot: a game that only may be too large is unrolled.
    with pytest.raises(ValueError, match=r"more than 25,000 nodes"):
        TabularGame.from_openspiel("liars_dice", max_nodes=25_000, progress=told.append)
    assert told


def test_names_that_openspiel_does_not_know(monkeypatch):
    with pytest.raises(
        ValueError, match=r"^OpenSpiel does not load 'no_game': Unknown game 'no_game'\.$"
    ):
        TabularGame.from_openspiel("no_game")
    # Ours is registered by its module, which a name is enough to import.
    imported = []
    monkeypatch.setattr("nashfold.solver.tabular.game.importlib.import_module", imported.append)
    for name in ("kuhn_poker", "python_holdem(rules=kuhn)"):
        assert TabularGame.from_openspiel(name).num_infosets == 12
    assert imported == ["nashfold.game.openspiel"]


def test_the_estimate_is_right_on_average():
    game = pyspiel.load_game("leduc_poker")
    guesses = [estimate_nodes(game, playouts=20, seed=seed) for seed in range(60)]
    error = np.std(guesses) / np.sqrt(len(guesses))
    assert abs(np.mean(guesses) - 9457) < 4 * error
    assert error < 500

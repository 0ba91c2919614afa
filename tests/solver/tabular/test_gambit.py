"""Gambit files, read back by Gambit and by a small reader of our own."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from nashfold.solver.tabular.gambit import write_efg
from nashfold.solver.tabular.game import TabularGame
from nashfold.solver.tabular.scoring import Scorer

GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(num_cards=3,imp_info=True,points_order=descending))"
)
GAMES = ["kuhn_poker", "leduc_poker(suit_isomorphism=True)", GOOFSPIEL]


def _read(text):
    """Values under uniform play and information sets, from the file's words alone: (value of player 1,
    nodes by kind, information sets by player).
    """
    words = re.findall(r'"(?:[^"\\]|\\.)*"|[{}]|[^\s{},]+', text)
    assert words[:3] == ["EFG", "2", "R"]
    place = words.index("}", 4) + 2
    counts, infosets = {"c": 0, "p": 0, "t": 0}, {}

    def visit():
        nonlocal place
        kind, place = words[place], place + 2
        counts[kind] += 1
        if kind == "t":
            outcome = words[place + 3 : place + 5]
            place += 6
            assert Fraction(outcome[0]) == -Fraction(outcome[1])
            return Fraction(outcome[0])
        owner = 0
        if kind == "p":
            owner, place = int(words[place]), place + 1
        number, label = int(words[place]), words[place + 1]
        place += 3
        items = []
        while words[place] != "}":
            items.append(words[place])
            place += 1
        assert words[place + 1] == "0"
        place += 2
        if kind == "c":
            odds = [Fraction(word) for word in items[1::2]]
            assert sum(odds) == 1
        else:
            odds = [Fraction(1, len(items))] * len(items)
            assert infosets.setdefault((owner, number), (label, items)) == (label, items)
        return sum((odd * visit() for odd in odds), Fraction(0))

    value = visit()
    assert place == len(words)
    sizes = [sum(owner == player for owner, _ in infosets) for player in (1, 2)]
    return value, (counts["c"], counts["p"], counts["t"]), sizes


def _written(game, tmp_path):
    path = tmp_path / "game.efg"
    write_efg(game, path)
    return path


@pytest.mark.parametrize("name", GAMES, ids=["kuhn", "leduc", "goofspiel"])
def test_a_plain_reader_finds_the_game_in_the_file(name, tmp_path):
    game = TabularGame.from_openspiel(name)
    value, counts, sizes = _read(_written(game, tmp_path).read_text())
    np.testing.assert_allclose(
        float(value), Scorer(game).expected_value(game.uniform_policy()), atol=1e-12
    )
    assert counts == game.node_counts
    assert sizes == [part.stop - part.start for part in game.infosets]


@pytest.mark.parametrize("name", GAMES, ids=["kuhn", "leduc", "goofspiel"])
def test_gambit_reads_the_file(name, tmp_path):
    gambit = pytest.importorskip("pygambit")
    game = TabularGame.from_openspiel(name)
    read = gambit.read_efg(_written(game, tmp_path))
    assert read.is_perfect_recall
    assert read.is_const_sum
    assert len(read.nodes) == game.num_nodes
    assert len(read.infosets) == game.num_infosets
    uniform = read.mixed_behavior_profile()
    for player, sign in (("Player 0", 1), ("Player 1", -1)):
        expected = sign * Scorer(game).expected_value(game.uniform_policy())
        np.testing.assert_allclose(float(uniform.payoff(player)), expected, atol=1e-12)
    infosets = [read.players[f"Player {player}"].infosets for player in (0, 1)]
    found = [len(infoset.actions) for infosets_of in infosets for infoset in infosets_of]
    assert sorted(found) == sorted(game.num_actions.tolist())


def test_gambit_solves_kuhn_to_the_letter(tmp_path):
    gambit = pytest.importorskip("pygambit")
    path = _written("kuhn_poker", tmp_path)
    equilibrium = gambit.nash.lp_solve(gambit.read_efg(path), rational=True).equilibria[0]
    assert equilibrium.payoff("Player 0") == Fraction(-1, 18)
    lines = path.read_text().splitlines()
    assert lines[0] == 'EFG 2 R "kuhn_poker()" { "Player 0" "Player 1" }'
    assert lines[3] == 'c "" 2 "" { "Deal:1" 1/2 "Deal:2" 1/2 } 0'
    assert lines[5] == 'p "" 2 1 "1p" { "Pass" "Bet" } 0'


def test_labels_that_gambit_would_refuse_are_made_ones(tmp_path):
    kuhn = TabularGame.from_openspiel("kuhn_poker")
    odd = ['a "quoted"  word\n', "back\\", "twice\n", " twice", "Über", ""]
    changed = replace(kuhn, infoset_text=(*odd, *kuhn.infoset_text[6:]))
    path = _written(changed, tmp_path)
    text = path.read_text(encoding="ascii")
    for label in ('"a \\"quoted\\" word"', '"back/"', '"twice #2"', '"twice #3"', '"?ber"'):
        assert label in text
    assert _read(text)[1] == kuhn.node_counts
    gambit = pytest.importorskip("pygambit")
    labels = {infoset.label for infoset in gambit.read_efg(path).players["Player 0"].infosets}
    assert {'a "quoted" word', "back/", "twice #2", "twice #3"} <= labels


def test_probabilities_and_payoffs_that_are_no_simple_fractions(tmp_path):
    kuhn = TabularGame.from_openspiel("kuhn_poker")
    root = slice(int(kuhn.first_child[0]), int(kuhn.first_child[0]) + 3)
    probability, utility = kuhn.probability.copy(), kuhn.utility.copy()
    probability[root] = [0.123456789012345, 0.7, 0.176543210987655]
    utility[utility == 2.0] = 1e-7
    changed = replace(kuhn, probability=probability, utility=utility)
    text = _written(changed, tmp_path).read_text()
    assert "0.0000001, -0.0000001" in text
    value = _read(text)[0]
    np.testing.assert_allclose(
        float(value), Scorer(changed).expected_value(kuhn.uniform_policy()), atol=1e-12
    )


def test_other_games_are_refused(tmp_path):
    with pytest.raises(ValueError, match="simultaneous"):
        write_efg("matrix_rps", tmp_path / "game.efg")
    assert not (tmp_path / "game.efg").exists()

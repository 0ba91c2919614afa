"""Rules, presets and the ACPC server's game definitions."""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import FrozenInstanceError, replace
from dataclasses import fields as dataclass_fields

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashfold.game import PRESETS, Rules, preset
from nashfold.game.betting import Betting
from nashfold.game.presets import preset_readings, read_rules, rules_value
from nashfold.game.toml_file import toml_value

# The server's own files for heads-up games with the blinds of position 0 and 1 reversed.
SERVER_LIMIT = """GAMEDEF
limit
numPlayers = 2
numRounds = 4
blind = 10 5
raiseSize = 10 10 20 20
firstPlayer = 2 1 1 1
maxRaises = 3 4 4 4
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""
SERVER_NOLIMIT = """GAMEDEF
nolimit
numPlayers = 2
numRounds = 4
stack = 20000 20000
blind = 100 50
firstPlayer = 2 1 1 1
numSuits = 4
numRanks = 13
numHoleCards = 2
numBoardCards = 0 3 1 1
END GAMEDEF
"""


@pytest.mark.parametrize(
    ("name", "text"), [("acpc-limit", SERVER_LIMIT), ("acpc-nolimit", SERVER_NOLIMIT)]
)
def test_acpc_presets_are_the_servers_games(name, text):
    assert Rules.from_acpc(text) == preset(name)
    assert preset(name).to_acpc() == text


@pytest.mark.parametrize(
    ("name", "deck", "board", "blinds", "stacks", "sizes", "raises"),
    [
        ("acpc-nolimit", 52, (0, 3, 1, 1), (100, 50), (20_000, 20_000), (), None),
        ("match-nolimit", 52, (0, 3, 1, 1), (2, 1), (200, 200), (), None),
        ("acpc-limit", 52, (0, 3, 1, 1), (10, 5), None, (10, 10, 20, 20), [3, 4, 4, 4]),
        ("sartre-limit", 52, (0, 3, 1, 1), (2, 1), None, (2, 2, 4, 4), [8, 8, 8, 8]),
        ("casino-limit", 52, (0, 3, 1, 1), (2, 1), None, (2, 2, 4, 4), [4, 4, 4, 4]),
        ("flop-limit", 52, (0, 3), (100, 50), None, (100, 100), [3, 4]),
        ("short-limit", 24, (0, 3, 1), (2, 1), None, (2, 2, 4), [1, 2, 2]),
        ("short-nolimit", 24, (0, 3, 1), (2, 1), (20, 20), (), None),
    ],
)
def test_presets_are_as_published(name, deck, board, blinds, stacks, sizes, raises):
    rules = preset(name)
    assert name in PRESETS
    assert rules.name == name
    assert rules.deck.size == deck
    assert rules.board_cards == board
    assert rules.blinds == blinds
    assert rules.stacks == stacks
    assert rules.bet_sizes == sizes
    assert rules.first_player == (1, *[0] * (len(board) - 1))
    if raises is None:
        assert rules.max_bets is None
    else:
        assert [rules.max_raises(index) for index in range(rules.num_rounds)] == raises


def test_the_small_games_are_openspiels():
    """Three cards and one bet of 1; six cards, bets of 2 and 4, two a round; player 0 acts first."""
    kuhn, leduc = preset("kuhn"), preset("leduc")
    assert (kuhn.deck.size, kuhn.board_cards, kuhn.bet_sizes, kuhn.max_bets) == (3, (0,), (1,), (1,))
    assert (leduc.num_ranks, leduc.num_suits, leduc.board_cards) == (3, 2, (0, 1))
    assert (leduc.bet_sizes, leduc.max_bets, leduc.blind_is_bet) == ((2, 4), (2, 2), False)
    for rules in (kuhn, leduc):
        assert rules.blinds == (1, 1)
        assert rules.big_blind == 1
        assert set(rules.first_player) == {0}
        assert rules.num_hole_cards == 1


def test_all_presets_of_the_design_are_there_each_with_a_line_for_people():
    assert set(PRESETS) == {
        "acpc-nolimit", "match-nolimit", "acpc-limit", "sartre-limit", "casino-limit", "flop-limit",
        "short-limit", "short-nolimit", "kuhn", "leduc",
    }  # fmt: skip
    lines = [preset(name).description for name in PRESETS]
    assert len(set(lines)) == len(lines)
    assert all(30 < len(line) < 105 for line in lines)


def test_readings_name_parameters_that_exist():
    """Where a document is open, the reading names the parameter that selects the alternative."""
    fields = {f.name for f in dataclass_fields(Rules)}
    for name in ("acpc-nolimit", "match-nolimit", "sartre-limit", "casino-limit"):
        readings = preset_readings(name)
        assert "lternative" in readings
        named = set(re.findall(r"`(\w+)`|``(\w+)=", readings))
        parameters = {one or other for one, other in named}
        assert parameters
        assert parameters <= fields | {"faults", "time_limit", "play_match", "split_pot"}
    assert preset_readings("kuhn") == ""


def test_rules_in_words_tell_caps_apart():
    sartre, casino = preset("sartre-limit"), preset("casino-limit")
    assert "cap: 4 4 4 4 bets and raises by round, each player; forced bets do not count" in (
        sartre.in_words()
    )
    assert "both players together" in casino.in_words()
    assert "the big blind is the first" in preset("acpc-limit").in_words()
    assert "stacks: 20,000 20,000" in preset("acpc-nolimit").in_words()
    words = [preset(name).in_words() for name in PRESETS]
    assert len(set(words)) == len(words)


def test_an_unknown_preset_is_refused_with_a_list():
    with pytest.raises(ValueError, match=r"unknown preset 'holdem': choose one of .*acpc-limit"):
        preset("holdem")


def test_rules_are_immutable_and_hashable():
    rules = preset("acpc-limit")
    assert len({rules, replace(rules, name="other")}) == 1  # a name makes no other game
    with pytest.raises(FrozenInstanceError):
        rules.blinds = (1, 1)


def expressible(rules: Rules) -> bool:
    try:
        rules.to_acpc()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", [name for name in PRESETS if expressible(preset(name))])
def test_a_definition_reads_back_as_the_same_rules(name):
    rules = preset(name)
    assert Rules.from_acpc(rules.to_acpc()) == rules


def one_line(text: str) -> str:
    return ";".join(text.replace("=", "").split("\n"))


@pytest.mark.parametrize(
    "change",
    [
        one_line,
        str.upper,
        str.lower,
        lambda text: text.replace(" = ", "="),
        lambda text: text.replace("=", ""),
        lambda text: "# a comment\n\n" + text.replace("limit\n", "limit # fixed\n", 1),
        lambda text: text.replace("firstPlayer = 2 1 1 1", "firstPlayer = 2 1 1 1 1 1"),
    ],
)
def test_definitions_are_free_of_case_separator_and_comments(change):
    assert Rules.from_acpc(change(SERVER_LIMIT)) == preset("acpc-limit")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("numPlayers = 2", "numPlayers = 3", "two players"),
        ("numRounds = 4", "numRounds = 5", "numRounds must be 1 to 4"),
        ("numRounds = 4\n", "", "lacks numRounds"),
        ("blind = 10 5", "blind = 10", "blind needs 2 numbers"),
        ("blind = 10 5", "blind = ten five", "whole numbers"),
        ("blind = 10 5", "blind = 10.5 5", "whole numbers"),
        ("blind = 10 5", "blind = -10 5", "not negative"),
        ("blind = 10 5", "blind = 0 0", "positive"),
        ("raiseSize = 10 10 20 20", "raiseSize = 10 10 20", "raiseSize needs 4"),
        ("raiseSize = 10 10 20 20", "raiseSize = 10 10 20 0", "positive entries"),
        ("firstPlayer = 2 1 1 1", "firstPlayer = 2 1 1 3", "firstPlayer"),
        ("numSuits = 4", "numSuits = 5", "4 suits"),
        ("numRanks = 13", "numRanks = 2", "too small"),
        ("numRanks = 13", "numJokers = 2", "'numJokers' is not a key"),
        ("limit\n", "limit\nnolimit\n", "either limit or nolimit"),
        ("limit\n", "", "either limit or nolimit"),
        ("limit\n", "nolimit\n", "needs stacks"),
    ],
)
def test_faulty_definitions_are_refused_by_name(old, new, message):
    with pytest.raises(ValueError, match=message):
        Rules.from_acpc(SERVER_LIMIT.replace(old, new, 1))


@pytest.mark.parametrize(
    "change",
    [
        {"betting": "pot-limit"},
        {"board_cards": ()},
        {"board_cards": (0, 3, 1, 1, 1)},
        {"board_cards": (0, -3, 1, 1)},
        {"first_player": (1, 0)},
        {"first_player": (1, 0, 0, 2)},
        {"blinds": (0, 0)},
        {"bet_sizes": (10, 10)},
        {"max_bets": None},
        {"max_bets": (4, 4)},
        {"stacks": (0, 100)},
        {"cap_counts": "hand"},
        {"num_hole_cards": 4},
        {"num_hole_cards": 0},
        {"num_ranks": 2},
        {"num_hole_cards": 3},
        {"max_bets": (1.5, 4, 4, 4)},
        {"num_ranks": 13.0},
        {"blind_is_bet": "false"},
        {"name": "a\nb"},
        {"name": ["a"]},
        {"description": 7},
        {"board_cards": (0, 3.0, 1, 1)},
    ],
)
def test_impossible_rules_are_refused(change):
    with pytest.raises(ValueError):  # noqa: PT011 - every message is about another field
        replace(preset("acpc-limit"), **change)


def test_a_cap_on_each_player_is_not_expressible():
    rules = replace(preset("acpc-limit"), cap_counts="player")
    with pytest.raises(ValueError, match="each player's own bets"):
        rules.to_acpc()


@given(st.data())
def test_any_definition_gives_back_the_same_betting(data):
    """Caps may be read back with or without the blind as a bet; what can be played is the same."""
    rounds = data.draw(st.integers(1, 4))

    def row(low: int, high: int):
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=rounds, max_size=rounds)))

    limit = data.draw(st.booleans())
    blinds = data.draw(st.tuples(st.integers(1, 9), st.integers(0, 9)))
    rules = Rules(
        betting="limit" if limit else "no-limit",
        blinds=blinds,
        stacks=None if limit else data.draw(st.tuples(st.integers(1, 30), st.integers(1, 30))),
        bet_sizes=row(1, 9) if limit else (),
        max_bets=row(0, 4) if limit else None,
        blind_is_bet=data.draw(st.booleans()),
        first_player=row(0, 1),
        board_cards=data.draw(st.sampled_from([(0, 3, 1, 1), (2, 0, 1, 2), (0, 1, 0, 3)]))[:rounds],
        num_ranks=data.draw(st.integers(3, 13)),
    )
    again = Rules.from_acpc(rules.to_acpc())
    assert again.to_acpc() == rules.to_acpc()
    ours, theirs = Betting.start(rules), Betting.start(again)
    while not ours.is_over:
        legal = ours.legal_actions()
        assert legal == theirs.legal_actions()
        action = data.draw(st.sampled_from(legal))
        ours, theirs = ours.play(action), theirs.play(action)
    assert theirs.is_over


def test_lists_will_do_where_tuples_are_kept():
    rules = replace(preset("acpc-limit"), max_bets=[4, 4, 4, 4], blinds=[10, 5])
    assert rules == preset("acpc-limit")
    assert hash(rules) == hash(preset("acpc-limit"))


@pytest.mark.parametrize("name", PRESETS)
def test_rules_travel_through_files(name):
    """A preset as its name, changed ones as a table: also those that no definition can say."""
    changed = replace(preset(name), cap_counts="player", blind_is_bet=False, name="mine")
    assert rules_value(preset(name)) == name
    for rules in (preset(name), changed):
        text = toml_value(rules_value(rules), "rules")
        assert read_rules(tomllib.loads(f"rules = {text}")["rules"]) == rules


@pytest.mark.parametrize("value", [7, None, {}, {"betting": "limit"}, {"betting": "limit", "jokers": 2}])
def test_other_values_are_no_rules(value):
    with pytest.raises(ValueError, match="rules"):
        read_rules(value)


def test_chips_in_milli_big_blinds_per_hand():
    rules = preset("acpc-nolimit")
    assert rules.mbb_per_hand(-50, 2) == -250
    assert math.isnan(rules.mbb_per_hand(0, 0))

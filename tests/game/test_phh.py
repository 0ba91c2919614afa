"""PHH histories: their text, pokerkit as another reader, our own reader, what is refused."""

from __future__ import annotations

import doctest
import re
import tomllib
from dataclasses import replace
from datetime import time
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import PRESETS, Hand, Rules, new_hand, phh, preset
from nashfold.game.phh import phh_text, phhs_text, read_phh

HOLE, BOARD = ("AhAd", "KhKd"), "2c7d9hJsQd"
GAMES = ("acpc-nolimit", "match-nolimit", "acpc-limit", "sartre-limit", "casino-limit")


def play(rules: Rules, line: str = "", hole=HOLE, board=BOARD) -> Hand:
    hand = new_hand(rules, hole, board)
    for action in line.split():
        hand = hand.play(action)
    return hand


def actions(text: str) -> list[str]:
    return tomllib.loads(text)["actions"]


@st.composite
def any_rules(draw) -> Rules:
    rules = preset(draw(st.sampled_from(GAMES)))
    stack = st.integers(1, 12 * rules.big_blind)
    stacks = draw(st.just(rules.stacks) | st.tuples(stack, stack))
    return replace(rules, stacks=stacks)


@st.composite
def any_hand(draw, over: bool | None = None) -> Hand:
    """A random line, often with raises; whole or broken off."""
    hand = new_hand(draw(any_rules()), seed=draw(st.integers(0, 2**32 - 1)))
    length = 100 if over else draw(st.integers(0, 30))
    while not hand.is_over and len(hand.betting.actions) < length:
        bounds = hand.betting.raise_bounds()
        choice = draw(st.sampled_from(["call", "call", "call", "raise", "raise", "fold"]))
        if choice == "raise" and bounds is not None:
            low, high = bounds
            near = st.integers(low, min(high, low + 2 * hand.rules.big_blind))
            amount = draw(near | st.integers(low, high))
            hand = hand.play(hand.betting.raise_action(amount))
        else:
            hand = hand.play(hand.betting.passive_actions()[0 if choice == "fold" else -1])
    return hand


# The text ---------------------------------------------------------------------------------------


def test_a_called_all_in_shows_both_hands_before_the_streets_to_come():
    text = phh_text(
        play(preset("acpc-nolimit"), "raise-to:300 call bet:19700 call"),
        hand_number=12,
        players=("Big", "Button"),
    )
    assert text == (
        'variant = "NT"\n'
        "antes = [0, 0]\n"
        "blinds_or_straddles = [50, 100]\n"
        "min_bet = 100\n"
        "starting_stacks = [20000, 20000]\n"
        "actions = [\n"
        '  "d dh p1 AhAd",\n'
        '  "d dh p2 KhKd",\n'
        '  "p2 cbr 300",\n'
        '  "p1 cc",\n'
        '  "d db 2c7d9h",\n'
        '  "p1 cbr 19700",\n'
        '  "p2 cc",\n'
        '  "p1 sm AhAd",\n'
        '  "p2 sm KhKd",\n'
        '  "d db Js",\n'
        '  "d db Qd",\n'
        "]\n"
        "hand = 12\n"
        'players = ["Big", "Button"]\n'
        "finishing_stacks = [40000, 0]\n"
        "winnings = [40000, 0]\n"
        '_rules = "acpc-nolimit"\n'
    )


def test_a_limit_history_without_stacks_keeps_its_caps():
    text = phh_text(play(preset("sartre-limit"), "call raise-to:4 fold"))
    assert tomllib.loads(text) == {
        "variant": "FT",
        "antes": [0, 0],
        "blinds_or_straddles": [1, 2],
        "small_bet": 2,
        "big_bet": 4,
        "starting_stacks": [inf, inf],
        "actions": ["d dh p1 AhAd", "d dh p2 KhKd", "p2 cc", "p1 cbr 4", "p2 f"],
        "winnings": [4, 0],
        "_rules": "sartre-limit",
        "_max_bets": [4, 4, 4, 4],
        "_cap_counts": "player",
        "_blind_is_bet": False,
        "_undealt": BOARD,
    }


def test_a_viewer_reads_no_card_that_he_has_not_seen():
    for line in ("", "raise-to:300 call", "raise-to:300 call bet:200 fold"):
        hand = play(preset("acpc-nolimit"), line)
        for viewer, other in ((0, "KhKd"), (1, "AhAd")):
            text = phh_text(hand, viewer=viewer)
            assert actions(text)[1 - viewer] == f"d dh p{2 - viewer} ????"
            assert HOLE[viewer] in text
            assert other not in text
            assert "Js" not in text
            assert text.replace("????", other) in phh_text(hand)  # nothing else is different


def test_each_viewer_sees_the_shown_hands():
    hand = play(preset("acpc-nolimit"), "raise-to:20000 call")
    for viewer in (0, 1):
        text = phh_text(hand, viewer=viewer)
        assert actions(text)[1 - viewer] == f"d dh p{2 - viewer} ????"
        assert actions(text)[4:6] == ["p1 sm AhAd", "p2 sm KhKd"]
        assert read_phh(text) == [hand]


def test_more_fields_are_those_of_phh_or_begin_with_an_underscore():
    fields = {
        "event": 'Tab\tand "quotes", \\ and \u00fc\U0001f0a1\x7f',
        "year": 2026,
        "time": time(12, 30),
        "seats": [2, 1],
        "_bonus": {"flop": "-1", "a b": [0.5, True]},
    }
    text = phh_text(play(preset("casino-limit"), "fold"), hand_number="7b", **fields)
    document = tomllib.loads(text)
    assert fields.items() <= document.items()
    assert document["hand"] == "7b"
    assert len(read_phh(text)) == 1
    hand = play(preset("casino-limit"))
    for key in ("bonus", "actions", "winnings", "_undealt", "_Bonus", "_", "_a.b"):
        with pytest.raises(ValueError, match="is not a field to add: write one of PHH's optional"):
            phh_text(hand, **{key: 1})
    for value in (None, object(), {1: 2}, "\ud800", [None]):
        with pytest.raises(ValueError, match=r"_x = .* cannot be written"):
            phh_text(hand, _x=value)
    with pytest.raises(ValueError, match="names of two players"):
        phh_text(hand, players=("one",))
    with pytest.raises(ValueError, match="viewer is player 0, player 1 or None, not 2"):
        phh_text(hand, viewer=2)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_quoted_so_that_toml_reads_it_back(words):
    text = phh_text(play(preset("acpc-limit")), author=words, _note=[words])
    assert tomllib.loads(text)["author"] == words
    assert tomllib.loads(text)["_note"] == [words]


@pytest.mark.parametrize(
    "rules",
    [
        *map(preset, ("flop-limit", "short-limit", "short-nolimit", "kuhn", "leduc")),
        replace(preset("acpc-limit"), first_player=(1, 1, 0, 0)),
        replace(preset("acpc-limit"), bet_sizes=(10, 20, 20, 20)),
        replace(preset("acpc-nolimit"), blinds=(50, 100)),
        replace(preset("acpc-nolimit"), blinds=(50, 50)),
        replace(preset("acpc-nolimit"), num_suits=3),
    ],
    ids=lambda rules: rules.name,
)
def test_games_without_a_code_of_phh_are_refused(rules):
    with pytest.raises(ValueError, match=f"PHH cannot express {rules.name}: it has hold'em with 52"):
        phh_text(new_hand(rules, seed=1))


def test_the_examples_in_the_docstrings_run():
    result = doctest.testmod(phh)
    assert result.failed == 0
    assert result.attempted >= 6


# pokerkit ---------------------------------------------------------------------------------------


def replayed(text: str):
    """pokerkit's state after the history."""
    pokerkit = pytest.importorskip("pokerkit")
    *_, state = pokerkit.HandHistory.loads(text)
    return state


def most_bets(hand: Hand) -> int:
    return max(sum(action.amount > 0 for action in actions) for actions in hand.betting.history)


def test_pokerkit_seats_the_players_as_the_text_says():
    state = replayed(phh_text(play(preset("acpc-nolimit"))))
    assert state.bets == [100, 50]  # p1 is the big blind
    assert state.actor_index == 1
    state = replayed(phh_text(play(preset("acpc-nolimit"), "call check")))
    assert state.actor_index == 0


@settings(max_examples=150, deadline=None)
@given(any_hand(), st.sampled_from([None, 0, 1]))
def test_pokerkit_reads_every_history_back_to_the_same_result(hand, viewer):
    if hand.rules.betting == "limit" and most_bets(hand) > 4:
        return  # see below
    text = phh_text(hand, viewer=viewer, hand_number=3, players=("a", "b"))
    state = replayed(text)
    assert state.status == (not hand.is_over)
    assert state.actor_index == hand.to_act
    assert len([card for cards in state.board_cards for card in cards]) == len(hand.board)
    if hand.is_over:
        assert tuple(state.payoffs) == hand.winnings
        document = tomllib.loads(text)
        if hand.rules.stacks is not None:
            assert document["finishing_stacks"] == state.stacks
        assert document["winnings"] == list(hand.payouts)
    else:
        assert tuple(-chips for chips in state.payoffs) == hand.betting.spent
        assert state.total_pot_amount == hand.pot


@pytest.mark.parametrize("name", ["sartre-limit", "casino-limit"])
def test_pokerkit_refuses_a_fifth_bet_in_a_round_and_reads_four(name):
    rules = preset(name)
    hand = play(rules, "raise-to:4 raise-to:6 raise-to:8 raise-to:10")
    assert tuple(-chips for chips in replayed(phh_text(hand)).payoffs) == (10, 8)
    if name == "sartre-limit":
        text = phh_text(hand.play("raise-to:12"))
        with pytest.raises(ValueError, match="repair"):
            replayed(text)
        assert read_phh(text) == [hand.play("raise-to:12")]


def test_pokerkit_allows_one_raise_more_than_the_competition_before_the_flop():
    """PHH does not say a cap, and pokerkit does not count the big blind."""
    hand = play(preset("acpc-limit"), "raise-to:20 raise-to:30 raise-to:40")
    assert hand.betting.raise_bounds() is None
    assert replayed(phh_text(hand)).min_completion_betting_or_raising_to_amount == 50


def test_pokerkit_reads_collections():
    pokerkit = pytest.importorskip("pokerkit")
    hands = [play(preset(name), "fold") for name in GAMES]
    text = phhs_text(phh_text(hand, hand_number=n, _a={"b": 1}) for n, hand in enumerate(hands))
    histories = list(pokerkit.HandHistory.loads_all(text))
    assert [history.hand for history in histories] == list(range(len(GAMES)))
    assert [tuple(list(history)[-1].payoffs) for history in histories] == [h.winnings for h in hands]
    assert read_phh(text) == hands


# Reading ----------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.lists(any_hand(), min_size=1, max_size=3))
def test_histories_are_read_back_to_equal_hands(hands):
    texts = [phh_text(hand, hand_number=1, players=("a", "b"), _note="x") for hand in hands]
    assert read_phh(phhs_text(texts)) == hands
    for hand, text in zip(hands, texts, strict=True):
        (again,) = read_phh(text)
        assert again == hand
        changed = hand.rules.name in PRESETS and preset(hand.rules.name) != hand.rules
        assert again.rules.name == ("custom" if changed else hand.rules.name)
        assert phh_text(again, hand_number=1, players=("a", "b"), _note="x") == text


@settings(max_examples=30, deadline=None)
@given(any_hand(over=True), st.sampled_from([0, 1]))
def test_a_viewers_history_is_read_if_both_hands_were_shown(hand, viewer):
    text = phh_text(hand, viewer=viewer)
    if hand.betting.folded is None:
        assert read_phh(text) == [hand]
    else:
        with pytest.raises(ValueError, match=r"^the hole cards of p[12] are not said"):
            read_phh(text)


def test_remarks_and_spaces_in_actions_are_skipped():
    text = phh_text(play(preset("acpc-nolimit"), "call check"))
    text = text.replace('"p2 cc"', '" p2  cc # a limp", "", "# the option"')
    assert read_phh(text) == [play(preset("acpc-nolimit"), "call check")]


WRITTEN = phh_text(play(preset("casino-limit"), "raise-to:4 call check bet:2 fold"))
ALL_IN = phh_text(play(preset("match-nolimit"), "raise-to:200 call"))


@pytest.mark.parametrize(
    ("text", "old", "new", "message"),
    [
        (WRITTEN, '"FT"', '"PO"', "variant must be FT or NT (hold'em), not 'PO'"),
        (WRITTEN, "variant =", "variants =", "neither a variant nor tables of hands"),
        (WRITTEN, "antes = [0, 0]", "antes = [1, 1]", "antes must be [0, 0]"),
        (WRITTEN, "antes = [0, 0]\n", "", "the field antes is missing"),
        (WRITTEN, "[1, 2]", "[2, 1]", "PHH cannot express casino-limit"),
        (WRITTEN, "[1, 2]", "[1, 2, 0]", "blinds_or_straddles must be two whole numbers"),
        (WRITTEN, "[1, 2]", "[0.5, 2]", "blinds_or_straddles must be two whole numbers"),
        (WRITTEN, "small_bet = 2", "small_bet = true", "small_bet must be a whole number"),
        (WRITTEN, "small_bet = 2", "small_bet = 0", "bet_sizes needs 4 positive entries"),
        (WRITTEN, "[inf, inf]", "[inf, 10]", "starting_stacks must be two whole numbers or [inf, inf]"),
        (ALL_IN, "[200, 200]", "[inf, inf]", "starting_stacks must be two whole numbers, not"),
        (ALL_IN, "[200, 200]", "[200, 0]", "two positive stacks"),
        (ALL_IN, "min_bet = 2", "min_bet = 4", "min_bet must be the big blind, 2, not 4"),
        (WRITTEN, "_max_bets = [4, 4, 4, 4]\n", "", "_max_bets is missing"),
        (WRITTEN, "[4, 4, 4, 4]", "[4, 4]", "max_bets needs 4 entries"),
        (WRITTEN, "[4, 4, 4, 4]", "4", "_max_bets must be numbers"),
        (WRITTEN, "[4, 4, 4, 4]", "[1, 0, 4, 4]", "action 'p2 cbr 2': bet:2 is not legal here; legal: ch"),
        (WRITTEN, "_blind_is_bet = false", "_blind_is_bet = 0", "_blind_is_bet must be true or false"),
        (WRITTEN, "_blind_is_bet = false", '_cap_counts = "hand"', "cap_counts must be round or player"),
        (WRITTEN, '_undealt = "JsQd"', "_undealt = 3", "_undealt must be a text, not 3"),
        (WRITTEN, '_undealt = "JsQd"', "", "the cards that were to come (_undealt) are not said"),
        (WRITTEN, '_undealt = "JsQd"', '_undealt = "Js"', "the board needs 5 cards, not 4"),
        (WRITTEN, '_undealt = "JsQd"', '_undealt = "JsAh"', "Ah is named twice"),
        (WRITTEN, '"p2 cbr 4"', '"p2 cbr 5"', "action 'p2 cbr 5': raise-to:5 is not legal here; legal"),
        (WRITTEN, '"p2 cbr 4"', '"p2 cbr -4"', "action 'p2 cbr -4': it is none that may stand here"),
        (WRITTEN, '"p2 cbr 4"', '"p1 cbr 4"', "action 3 should be 'p2 cbr 4', not 'p1 cbr 4'"),
        (WRITTEN, '"p2 cbr 4"', '"p3 cbr 4"', "action 'p3 cbr 4': it is none that may stand here"),
        (WRITTEN, '"p1 f"', '"p1 f", "p2 cc"', "action 'p2 cc': it is none that may stand here"),
        (WRITTEN, '"p1 f"', '"p1 f", "p2 f"', "action 'p2 f': fold is not legal here; legal: none"),
        (WRITTEN, '"p1 f"', '"p1 f", "p2 sm KhKd"', "action 'p2 sm KhKd' comes after the end"),
        (WRITTEN, '  "p1 f",\n', '  "p1 f",\n  "d db Js",\n', "Js is named twice"),
        (WRITTEN, '"d db 2c7d9h"', '"d db 2c7d"', "the board needs 5 cards, not 4"),
        (WRITTEN, '"d db 2c7d9h"', '"d db 2c7d9x"', "action 'd db 2c7d9x': '9x' is not a card"),
        (WRITTEN, '"d dh p1 AhAd"', '"d dh p1 AhAc2c"', "player 0 needs 2 hole cards, not 3"),
        (WRITTEN, '"d dh p1 AhAd"', '"d dh p1 ????"', "the hole cards of p1 are not said"),
        (WRITTEN, "actions = [", "actions = [1, ", "actions must be a list of texts"),
        (WRITTEN, "winnings = [0, 8]", "winnings = [8, 0]", "winnings should be [0, 8], not [8, 0]"),
        (ALL_IN, "[400, 0]", "[200, 200]", "finishing_stacks should be [400, 0], not [200, 200]"),
        (ALL_IN, '  "p1 sm AhAd",\n', "", "action 5 should be 'p1 sm AhAd', not 'p2 sm KhKd'"),
        (ALL_IN, '  "d db Qd",\n', '  "d db Qd"\n  "d db 3c",\n', "this is no PHH text: "),
        (ALL_IN, '"p2 sm KhKd"', '"p2 sm KhKs"', "action 2 should be 'd dh p2 KhKs', not 'd dh p2 KhKd'"),
        (ALL_IN, '  "p1 cc",\n', "", "action 'p1 sm AhAd' comes after the end of the history"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(text, old, new, message):
    assert text.count(old) >= 1
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        read_phh(text.replace(old, new, 1))
    assert "\n" not in str(error.value)
    if "no PHH text" not in str(error.value):
        with pytest.raises(ValueError, match=r"^hand \[2\]: "):
            read_phh(phhs_text([text, text.replace(old, new, 1)]))


@settings(max_examples=300, deadline=None)
@given(st.sampled_from([WRITTEN, ALL_IN]), st.data())
def test_damaged_text_is_refused_or_read_and_nothing_else(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 8)))
    piece = data.draw(st.text(st.sampled_from('0123456789pdcbrAsKh?[]",\n =#x.-'), max_size=4))
    try:
        hands = read_phh(text[:start] + piece + text[end:])
    except ValueError:
        return
    for hand in hands:
        assert read_phh(phh_text(hand)) == [hand]


@pytest.mark.parametrize(
    "text", ["", "x = 1", "[1]\n[2]\nx = 1", "\x00", WRITTEN + WRITTEN, "[1]\n" * 2]
)
def test_other_texts_are_no_phh(text):
    with pytest.raises(ValueError, match=r"no PHH text|hand \[1\]: the field variant is missing"):
        read_phh(text)


def test_numbers_of_numpy_and_names_of_presets_that_were_changed():
    """What is written is TOML, and no name of a game that it is not."""
    hand = new_hand(replace(preset("acpc-nolimit"), stacks=(500, 700)), seed=1).play("fold")
    document = tomllib.loads(phh_text(hand, _score=np.float64(1.5)))
    assert document["_score"] == 1.5
    assert document["_rules"] == "custom"

"""Whole hands: replayed logs, published cases, what a player may see, winnings."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nashfold.game import Hand, IllegalAction, format_cards, new_hand, parse_cards, preset
from nashfold.game.hand import split_pot

DATA = Path(__file__).parents[1] / "data"
CASES = json.loads((DATA / "field_cases.json").read_text("utf-8"))
NOLIMIT = preset("acpc-nolimit")
HOLE, BOARD = ("AhAd", "KhKd"), "2c7d9hJsQd"


def play_acpc(hand: Hand, line: str) -> Hand:
    """The hand after a line of the ACPC server: f, c, r and (no-limit) the chips over the whole hand."""
    for letter, total in re.findall(r"([fcr])(\d*)", line):
        player = hand.to_act
        assert player is not None, line
        if letter == "r":
            low, high = hand.betting.raise_bounds()
            amount = int(total) - hand.betting.round_start[player] if total else low
            assert low <= amount <= high, (line, total)
            hand = hand.play(hand.betting.raise_action(amount))
        else:
            passive = hand.betting.passive_actions()
            assert letter == "c" or len(passive) == 2, line
            hand = hand.play(passive[-1] if letter == "c" else passive[0])
    return hand


# Hands of the ACPC server's own dealer ---------------------------------------------------------

LOGS = sorted((DATA / "acpc_logs").glob("*.log"))


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.stem)
def test_every_hand_of_the_acpc_dealer_is_replayed_with_its_winnings(log):
    rules = preset("acpc-limit" if log.stem.startswith("limit") else "acpc-nolimit")
    states = [line for line in log.read_text("utf-8").splitlines() if line.startswith("STATE:")]
    assert len(states) >= 60
    for state in states:
        _, _, line, cards, values, _ = state.split(":")
        holes, *rounds = cards.split("/")
        # The log shows the board as far as it came; the rest is any other cards.
        board = parse_cards("".join(rounds))
        seen = {*parse_cards(holes.replace("|", "")), *board}
        rest = [card for card in range(52) if card not in seen]
        hand = new_hand(rules, holes.split("|"), [*board, *rest[: 5 - len(board)]])
        hand = play_acpc(hand, line)
        assert hand.is_over, state
        assert hand.board == board, state
        assert hand.winnings == tuple(int(value) for value in values.split("|")), state
        sent = line.rstrip("/").count("/")
        assert hand.round == sent, state


# Published cases -------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES["legal"], ids=lambda case: f"{case['id']} {case['symptom']}")
def test_published_legal_actions(case):
    rules = replace(NOLIMIT, stacks=tuple(case["stacks"]))
    hand = play_acpc(new_hand(rules, HOLE, BOARD), case["line"])
    assert hand.to_act == case["to_act"]
    assert hand.betting.legal_text() == case["legal"]


@pytest.mark.parametrize("case", CASES["winnings"], ids=lambda case: f"{case['id']} {case['symptom']}")
def test_published_winnings(case):
    rules = replace(NOLIMIT, stacks=tuple(case["stacks"]))
    hand = play_acpc(new_hand(rules, case["hole"], case["board"]), case["line"])
    assert hand.winnings == tuple(case["winnings"])


@pytest.mark.parametrize("case", CASES["limit"], ids=lambda case: f"{case['id']} {case['symptom']}")
def test_published_limit_caps(case):
    hand = play_acpc(new_hand(preset("acpc-limit"), HOLE, BOARD), case["line"])
    assert hand.betting.spent == tuple(case["spent"])
    assert hand.betting.legal_text() == case["legal"]
    assert [str(action) for action in hand.legal_actions()] == ["fold", "call"]


@pytest.mark.parametrize("case", CASES["cards"], ids=lambda case: case["id"])
def test_published_texts_of_cards_are_read_or_refused_by_name(case):
    for text, name in case["read"].items():
        assert format_cards(parse_cards([text])) == name
        hand = new_hand(NOLIMIT, ([text, "Kd"], "QdQc"), BOARD.replace("Qd", "3h"))
        assert format_cards(hand.hole[0]) == name + "Kd"
    for text in case["refused"]:
        with pytest.raises(ValueError, match=re.escape(f"{text!r} is not a card")):
            new_hand(NOLIMIT, ([text, "Kd"], "QdQc"), BOARD)


@pytest.mark.parametrize("case", CASES["compare"], ids=lambda case: case["id"])
def test_published_winners(case):
    for hole, winnings in (
        (case["hole"], case["winnings"]),
        (case["hole"][::-1], case["winnings"][::-1]),
    ):
        hand = play_acpc(new_hand(NOLIMIT, hole, case["board"]), "cc/cc/cc/cc")
        assert hand.winnings == tuple(winnings)


@pytest.mark.parametrize("case", CASES["dead_chips"], ids=lambda case: case["id"])
def test_the_odd_chip_of_a_split_pot_is_the_big_blinds(case):
    assert split_pot(case["pot"]) == tuple(case["shares"])
    for chips in range(50):
        shares = split_pot(chips)
        assert sum(shares) == chips
        assert shares[0] - shares[1] in (0, 1)


def test_raising_beyond_the_other_stack_or_not_puts_the_same_chips_at_stake():
    """GM-07: the smallest raise is not shrunk to the other stack; the excess is never at stake."""
    rules = replace(NOLIMIT, stacks=(500, 1500))
    for size in ("650", "1500"):
        hand = play_acpc(new_hand(rules, HOLE, BOARD), f"r250r450r{size}c")
        assert hand.winnings == (500, -500)


# The deal --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["acpc-limit", "flop-limit", "short-limit"])
def test_seeded_deals_are_repeatable_and_every_card_is_as_likely_as_any_other(name):
    """GM-23: 6,000 whole deals of different cards, each place of the deal by chi-square."""
    rules = preset(name)
    size = 4 + sum(rules.board_cards)
    rng = np.random.default_rng(1)
    counts = np.zeros((size, rules.deck.size))
    hands = 6_000
    for _ in range(hands):
        hand = new_hand(rules, seed=rng)
        cards = [*hand.hole[0], *hand.hole[1], *hand.deal]
        assert len(set(cards)) == len(cards) == size
        for place, card in enumerate(cards):
            counts[place, rules.deck.number(card)] += 1
    expected = hands / rules.deck.size
    chi_square = ((counts - expected) ** 2 / expected).sum(axis=1)
    freedom = rules.deck.size - 1
    # Mean `freedom`, variance twice that: five standard deviations for each place of the deal.
    assert (chi_square < freedom + 5 * (2 * freedom) ** 0.5).all()
    assert new_hand(rules, seed=7) == new_hand(rules, seed=7) != new_hand(rules, seed=8)


@pytest.mark.parametrize(
    ("hole", "board", "message"),
    [
        (("AsKs", "QdQ"), BOARD, "'Q' is not a card"),
        (("AsKs", "QdQx"), BOARD, "'Qx' is not a card"),
        (("AsKs", "AsQc"), BOARD, "As is named twice"),
        (("AsAs", "QdQc"), BOARD, "As is named twice"),
        (("AsKs", "QdQc"), "2c7d9hJsQd", "Qd is named twice"),
        (("AsKs", "QhQc"), "2c2c9hJsQd", "2c is named twice"),
        (("As", "QhQc"), BOARD, "player 0 needs 2 hole cards, not 1"),
        (("AsKs", "QhQcQs"), BOARD, "player 1 needs 2 hole cards, not 3"),
        (("AsKs",), BOARD, "two players, not 1"),
        (("AsKs", "QhQc", "2h2d"), BOARD, "two players, not 3"),
        (("AsKs", "QhQc"), "2c7d9h", "the board needs 5 cards, not 3"),
        (("AsKs", "QhQc"), "2c7d9hJsQd3d", "the board needs 5 cards, not 6"),
        (("AsKs", "QhQc"), None, "give hole and board"),
        (None, BOARD, "give hole and board"),
    ],
)
def test_malformed_deals_are_refused_by_name(hole, board, message):
    with pytest.raises(ValueError, match=message):
        new_hand(NOLIMIT, hole, board)


def test_cards_outside_of_a_short_deck_are_refused():
    with pytest.raises(ValueError, match="2c is not in a deck of 24 cards"):
        new_hand(preset("short-limit"), ("AsKs", "QhQc"), "2cTdJhQd")


def test_cards_and_seed_together_are_refused():
    with pytest.raises(ValueError, match="not both"):
        new_hand(NOLIMIT, HOLE, BOARD, seed=1)


# Playing ---------------------------------------------------------------------------------------


def test_hands_are_immutable():
    hand = new_hand(NOLIMIT, HOLE, BOARD)
    raised = hand.play("raise-to:300")
    assert (hand.pot, raised.pot) == (150, 400)
    assert hand.to_act == 1
    with pytest.raises(IllegalAction):
        hand.play("check")
    assert hand == new_hand(NOLIMIT, HOLE, BOARD)


def test_the_board_appears_round_by_round_as_soon_as_the_round_begins():
    """PR-04: a call that ends a round starts the next one for both players at once."""
    hand = new_hand(NOLIMIT, HOLE, BOARD)
    shown = []
    for action in ("raise-to:250", "call", *["check"] * 6):
        shown.append(len(hand.board))
        assert hand.observation(0).board == hand.observation(1).board == hand.board
        hand = hand.play(action)
    assert shown == [0, 0, 3, 3, 4, 4, 5, 5]
    assert hand.is_over


def test_a_called_all_in_shows_the_whole_board_and_asks_for_nothing():
    hand = new_hand(NOLIMIT, HOLE, BOARD).play("raise-to:20000")
    assert hand.board == ()
    hand = hand.play("call")
    assert format_cards(hand.board) == BOARD
    assert hand.legal_actions() == []
    assert hand.winnings == (20000, -20000)


def test_a_fold_leaves_the_board_where_it_was():
    hand = play_acpc(new_hand(NOLIMIT, HOLE, BOARD), "cc/r200f")
    assert format_cards(hand.board) == BOARD[:6]
    assert hand.winnings == (100, -100)


def test_winnings_are_known_only_at_the_end():
    hand = new_hand(NOLIMIT, HOLE, BOARD)
    with pytest.raises(ValueError, match="not over"):
        _ = hand.winnings
    assert hand.observation(0).winnings is None


@pytest.mark.parametrize(
    ("stacks", "winnings"),
    [((60, 1000), 60), ((30, 1000), 30), ((1000, 30), 30), ((1000, 70), 70), ((30, 40), 30)],
)
def test_hands_with_a_short_blind_are_won_and_lost_for_the_shorter_stack(stacks, winnings):
    hand = new_hand(replace(NOLIMIT, stacks=stacks), HOLE, BOARD)
    while not hand.is_over:
        hand = hand.play("call")
    assert format_cards(hand.board) == BOARD
    assert hand.winnings == (winnings, -winnings)


def test_flop_limit_is_decided_by_five_cards():
    hand = new_hand(preset("flop-limit"), ("AsKs", "2d2h"), "2cAdKd")
    assert play_acpc(hand, "cc/cc").winnings == (-100, 100)


def test_short_deck_games_use_the_standard_ranking():
    """Nine to ace, six cards: a full house beats a flush, and ace-nine is no straight."""
    hand = new_hand(preset("short-limit"), ("AhTh", "KcKs"), "KhQh9hQd")
    assert play_acpc(hand, "cc/cc/cc").winnings == (-2, 2)
    hand = new_hand(preset("short-limit"), ("Ac9s", "KcKs"), "TdJhQdAd")
    assert play_acpc(hand, "cc/cc/cc").winnings == (-2, 2)


# What a player may see -------------------------------------------------------------------------

LINES = ["", "c", "r300", "cc/", "r300c/cc/r700", "cc/cc/cc/r200"]


@pytest.mark.parametrize("line", [*LINES, "f", "r300f", "cc/cc/cc/r200f"])
def test_the_other_cards_and_cards_to_come_change_nothing_before_a_showdown(line):
    """IS-04: equal observations, by value and as text, whatever the other player holds."""
    hand = play_acpc(new_hand(NOLIMIT, ("AsKd", "7h7c"), "QhJc2s4d5d"), line)
    visible = len(hand.board)
    others = play_acpc(new_hand(NOLIMIT, ("AsKd", "9h3c"), "QhJc2s4d5d"), line)
    assert hand.observation(0) == others.observation(0)
    assert repr(hand.observation(0)) == repr(others.observation(0))
    assert hand.observation(0).shown is None
    assert hand.observation(0).hole == parse_cards("AsKd")
    future = parse_cards("QhJc2s4d5d")[:visible] + parse_cards("8c8d8h8sTd")[visible:]
    changed = play_acpc(new_hand(NOLIMIT, ("AsKd", "7h7c"), future), line)
    for player in (0, 1):
        assert hand.observation(player) == changed.observation(player)
        assert hand.observation(player) != hand.observation(1 - player)


@pytest.mark.parametrize("line", ["cc/cc/cc/cc", "r20000c", "r300c/r20000c"])
def test_both_hands_are_shown_at_a_showdown(line):
    hand = play_acpc(new_hand(NOLIMIT, HOLE, BOARD), line)
    for player in (0, 1):
        seen = hand.observation(player)
        assert format_cards(seen.shown) == HOLE[1 - player]
        assert seen.winnings == hand.winnings[player]


def test_illegal_action_messages_contain_no_cards():
    hand = play_acpc(new_hand(NOLIMIT, ("AsKd", "7h7c"), "QhJc2s4d5d"), "cc/")
    with pytest.raises(IllegalAction) as error:
        hand.play("raise-to:1")
    assert not re.search(r"[2-9TJQKA][cdhs]", str(error.value))
    assert "7" not in str(error.value)

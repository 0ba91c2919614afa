"""Who sees what, and when."""

from __future__ import annotations

from dataclasses import replace

from nashfold.game import format_cards, new_hand, preset
from nashfold.game.events import hand_events

NOLIMIT = preset("acpc-nolimit")
HOLE, BOARD = ("AhAd", "KhKd"), "2c7d9hJsQd"


def told(line: str, viewer: int | None = None, rules=NOLIMIT) -> list[str]:
    """The events of a line as words."""
    hand = new_hand(rules, HOLE, BOARD)
    for action in line.split():
        hand = hand.play(action)
    words = []
    for event in hand_events(hand, viewer):
        what = event.action or format_cards(event.cards) or event.chips
        words.append(
            f"{event.kind} {'' if event.player is None else event.player} {what}".replace("  ", " ")
        )
    return words


def test_after_a_called_all_in_both_hands_are_shown_first_then_the_streets_one_by_one():
    assert told("raise-to:300 call bet:19700 call", viewer=1) == [
        "blind 1 50",
        "blind 0 100",
        "hole 1 KhKd",
        "action 1 raise-to:300",
        "action 0 call",
        "board 2c7d9h",
        "action 0 bet:19700",
        "action 1 call",
        "show 0 AhAd",
        "show 1 KhKd",
        "board Js",
        "board Qd",
        "pay 0 40000",
    ]


def test_a_showdown_comes_after_the_last_round():
    limped = "call check check check check check check check"
    assert told(limped)[-6:] == [
        "board Qd",
        "action 0 check",
        "action 1 check",
        "show 0 AhAd",
        "show 1 KhKd",
        "pay 0 200",
    ]


def test_after_a_fold_no_cards_are_shown_and_the_uncalled_bet_goes_back():
    events = told("raise-to:300 call bet:500 raise-to:1500 fold", viewer=0)
    assert events[-3:] == ["action 0 fold", "return 1 1000", "pay 1 1600"]
    assert not any(word.startswith("show") for word in events)
    assert [word for word in events if "KhKd" in word] == []


def test_the_excess_over_a_short_stack_is_returned():
    rules = replace(NOLIMIT, stacks=(300, 1000))
    assert told("raise-to:1000 call", rules=rules)[-8:] == [
        "action 0 call",
        "return 1 700",
        "show 0 AhAd",
        "show 1 KhKd",
        "board 2c7d9h",
        "board Js",
        "board Qd",
        "pay 0 600",
    ]


def test_nobody_sees_the_other_hand_or_cards_to_come_while_the_hand_is_in_play():
    for viewer, own, other in ((0, "AhAd", "KhKd"), (1, "KhKd", "AhAd")):
        events = " ".join(told("call check bet:100", viewer))
        assert own in events
        assert other not in events
        assert "Js" not in events


def test_chips_in_and_out_balance():
    for line in ("fold", "call check bet:100 fold", "raise-to:20000 call"):
        hand = new_hand(NOLIMIT, HOLE, BOARD)
        for action in line.split():
            hand = hand.play(action)
        out = sum(event.chips for event in hand_events(hand) if event.kind in ("return", "pay"))
        assert out == hand.pot


def test_a_forced_bet_of_nothing_is_no_event():
    assert told("fold", rules=replace(NOLIMIT, blinds=(100, 0)))[:3] == [
        "blind 0 100",
        "hole 0 AhAd",
        "hole 1 KhKd",
    ]

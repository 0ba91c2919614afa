"""The four published rule documents, sentence by sentence: each rule in our own words, and its proof.

A row is (rule, check). The documents are: the ACPC's no-limit hold'em, the Sartre page on limit hold'em,
the no-limit match of ten hands, and the casino's limit hold'em with its bonus. Where a document leaves
something open, the readings are in `game.presets`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from nashfold.game import (
    Betting,
    Hand,
    IllegalAction,
    format_cards,
    hand_strength,
    new_hand,
    parse_cards,
    play_match,
    preset,
)
from nashfold.game.bonus import EXAMPLE, BonusBet
from nashfold.game.events import hand_events
from nashfold.game.hand import split_pot
from nashfold.game.match import Match
from nashfold.game.strength import CATEGORIES, CATEGORY_TOP

Check = Callable[[], None]
ACES, KINGS, BOARD = "AhAd", "KhKd", "2c7d9hJsQd"
DEAL = (ACES, KINGS, BOARD)  # player 0 (big blind), player 1 (button), board
TIE = ("AhKd", "AdKh", BOARD)
CHECKED = "call check / check check / check check / check check"  # a hand without a bet


def played(name: str, line: str = "", cards=DEAL, stacks=None) -> Hand:
    rules = preset(name) if stacks is None else replace(preset(name), stacks=stacks)
    hand = new_hand(rules, cards[:2], cards[2])
    for number, actions in enumerate(line.split("/")):
        for action in actions.split():
            assert hand.round == number, f"{line}: {action}"
            hand = hand.play(action)
    return hand


# Checks -----------------------------------------------------------------------------------------


ANYBODY = -1  # where it does not matter who is to act; None: nobody is


def at(
    name: str, line: str, legal: str = "", *, refuses: str = "", to_act: int | None = ANYBODY, cards=DEAL,
    stacks=None, **facts,
) -> Check:  # fmt: skip
    """After the line these actions are legal, those are refused, and the hand has these attributes."""

    def check() -> None:
        hand = played(name, line, cards, stacks)
        if legal:
            assert hand.betting.legal_text() == legal
        if to_act != ANYBODY:
            assert hand.to_act == to_act
        for action in refuses.split():
            with pytest.raises(IllegalAction, match="is not legal here"):
                hand.play(action)
        for key, value in facts.items():
            found = getattr(hand if hasattr(hand, key) else hand.betting, key)
            assert (format_cards(found) if key == "board" else found) == value, key

    return check


def told(name: str, line: str, words: str, cards=DEAL) -> Check:
    """The last events of the hand, in this order."""

    def check() -> None:
        events = [
            f"{event.kind}{'' if event.player is None else event.player} "
            f"{event.action or format_cards(event.cards) or event.chips}"
            for event in hand_events(played(name, line, cards))
        ]
        expected = [word.strip() for word in words.split(",")]
        assert events[-len(expected) :] == expected

    return check


def order_of_play(name: str, players: list[tuple[int, int]]) -> Check:
    """(round, player) of every decision of a hand in which nobody bets."""

    def check() -> None:
        hand, order = played(name), []
        while not hand.is_over:
            order.append((hand.round, hand.to_act))
            hand = hand.play(hand.betting.passive_actions()[-1])
        assert order == players

    return check


def strength(text: str) -> int:
    return int(hand_strength(np.array(parse_cards(text))))


def descending(*hands: str) -> Check:
    """Each hand beats the next."""

    def check() -> None:
        for better, worse in pairwise(hands):
            assert strength(better) > strength(worse), (better, worse)

    return check


def tied(*hands: str) -> Check:
    def check() -> None:
        assert len({strength(hand) for hand in hands}) == 1

    return check


def is_a(category: str, *hands: str) -> Check:
    def check() -> None:
        found = [CATEGORIES[np.searchsorted(CATEGORY_TOP, strength(hand))] for hand in hands]
        assert found == [category] * len(hands)

    return check


def fact(holds: Callable[[], bool]) -> Check:
    def check() -> None:
        assert holds()

    return check


def all_of(*checks: Check) -> Check:
    def check() -> None:
        for each in checks:
            each()

    return check


def hole_cards_are_private(name: str) -> Check:
    def check() -> None:
        hand = played(name, "call check /")
        for player, own in enumerate((ACES, KINGS)):
            view = hand.observation(player)
            assert (format_cards(view.hole), view.shown) == (own, None)
            events = [event for event in hand_events(hand, player) if event.kind == "hole"]
            assert [format_cards(event.cards) for event in events] == [own]

    return check


# Players and matches ----------------------------------------------------------------------------


def passive(view) -> str:
    return str(view.betting.passive_actions()[-1])


def jam(view) -> str:
    """All chips in, whenever a bet or raise is legal."""
    bounds = view.betting.raise_bounds()
    return passive(view) if bounds is None else str(view.betting.raise_action(bounds[1]))


def fold(view) -> str:
    return str(view.betting.passive_actions()[0])


def starts_afresh(name: str, hands: int) -> Check:
    """Every hand of a match begins alike, though chips were won and lost for all there is before."""

    def check() -> None:
        first_views = []

        def watching_jam(view) -> str:
            if not view.betting.actions:
                first_views.append(view)
            return jam(view)

        result = play_match([watching_jam, watching_jam], preset(name), hands, seed=5)
        assert result.hands == hands == len(first_views)
        assert {view.betting for view in first_views} == {Betting.start(preset(name))}
        assert {view.betting.raise_bounds()[1] for view in first_views} == {preset(name).stacks[1]}
        assert abs(result.winnings) > 0

    return check


def seats_alternate(name: str) -> Check:
    """The first player has the big blind, then the button, and so on; the button acts first."""

    def check() -> None:
        match, positions = Match(preset(name), hands=6, seed=1), []
        while not match.is_over:
            positions.append(match.position(0))
            button = 1 if match.position(1) == 1 else 0
            assert match.to_act == button
            match.play(button, "fold")
        assert positions == [0, 1] * 3

    return check


def limit_round(name: str, number: int, before: str, size: int) -> Check:
    """The options after the flop, the turn or the river, as the casino's rules list them."""
    bet, raised, again = (
        f"{word}:{n * size}" for n, word in enumerate(("bet", "raise-to", "raise-to"), 1)
    )
    return all_of(
        at(name, before, f"check, {bet}", to_act=0, round=number),
        at(name, f"{before} check", f"check, {bet}", to_act=1),
        at(name, f"{before} {bet}", f"fold, call, {raised}", to_act=1),
        at(name, f"{before} check {bet}", f"fold, call, {raised}", to_act=0),
        at(name, f"{before} {bet} {raised}", f"fold, call, {again}", to_act=0),
    )


# The competition's no-limit hold'em --------------------------------------------------------------

A = "acpc-nolimit"
AT_FLOP = "raise-to:300 call /"


def one_deck() -> None:
    rules = preset(A)
    assert sorted(rules.deck.cards) == list(range(52))
    for seed in range(50):
        hand = new_hand(rules, seed=seed)
        assert len({*hand.hole[0], *hand.hole[1], *hand.deal}) == 9


def no_cards_are_shown_after_a_fold() -> None:
    hand = played(A, "raise-to:300 call / bet:200 fold")
    assert not [event for event in hand_events(hand) if event.kind == "show"]
    assert hand.observation(0).shown is hand.observation(1).shown is None


def results_add_up() -> None:
    match = Match(preset(A), hands=8, seed=3)
    while not match.is_over:
        match.play(match.to_act, jam(match.observation(match.to_act)))
    alone = []
    for number in range(8):  # the same deals, each hand as a match of its own
        part = Match(preset(A), hands=1, seed=3, first=number)
        while not part.is_over:
            part.play(part.to_act, jam(part.observation(part.to_act)))
        alone += part.results
    assert alone == match.results
    assert match.match_chips == (sum(alone), -sum(alone))
    result = play_match([jam, jam], preset(A), hands=8, seed=3)
    assert result.mbb_per_hand == pytest.approx(1000 * sum(alone) / 100 / 8)


# fmt: off
ACPC_NOLIMIT: list[tuple[str, Check]] = [
    # Overview
    ("two players", fact(lambda: len(played(A).hole) == len(preset(A).blinds) == 2)),
    ("one deck of 52 cards without jokers", one_deck),
    ("blinds of 50 and 100", at(A, "", spent=(100, 50))),
    ("no ante: only the blinds are in the pot at the start", at(A, "", pot=150)),
    ("both have 20,000 chips, 200 big blinds", fact(lambda: preset(A).stacks == (200 * 100, 200 * 100))),
    ("stacks are reset every hand, nobody busts out, nothing is carried over", starts_afresh(A, 12)),
    (
        "a hand goes from the deal to the award of the pot",
        told(A, "fold", "blind1 50, blind0 100, hole0 AhAd, hole1 KhKd, action1 fold, return0 50, pay0 100"),
    ),
    ("no rake: the pot goes to the winner whole",
     at(A, "raise-to:300 call / bet:500 call / check check / check check", pot=1600, payouts=(1600, 0))),
    ("the two results sum to nothing", at(A, "raise-to:300 call / bet:500 fold", winnings=(300, -300))),
    # Positions
    ("the button is the small blind, the other player the big blind",
     at(A, "", spent=(100, 50), to_act=1)),
    ("the button alternates every hand", seats_alternate(A)),
    (
        "before the flop the button acts first, after the flop the big blind",
        order_of_play(A, [(0, 1), (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)]),
    ),
    # How a hand goes
    ("the blinds are posted, then each gets two cards",
     told(A, "", "blind1 50, blind0 100, hole0 AhAd, hole1 KhKd")),
    ("hole cards are seen only by their owner", hole_cards_are_private(A)),
    ("no community cards before the flop", at(A, "raise-to:300", board="")),
    ("the flop brings three cards and a round that the big blind opens",
     at(A, AT_FLOP, board="2c7d9h", to_act=0, round=1)),
    ("the turn brings a fourth card and a round",
     at(A, AT_FLOP + "check check /", board="2c7d9hJs", to_act=0, round=2)),
    ("the river brings a fifth card and the last round",
     at(A, AT_FLOP + "check check / check check /", board=BOARD, to_act=0, round=3)),
    ("if nobody folded both show and the better hand wins",
     told(A, CHECKED, "action0 check, action1 check, show0 AhAd, show1 KhKd, pay0 200")),
    ("the better hand wins whoever has it",
     at(A, CHECKED, cards=(KINGS, ACES, BOARD), winnings=(-100, 100))),
    ("a fold ends the hand at once",
     at(A, AT_FLOP + "bet:200 fold", "none, the betting is over", is_over=True)),
    ("after a fold the other player wins the pot",
     at(A, AT_FLOP + "bet:200 fold", payouts=(600, 0), winnings=(300, -300))),
    ("after a fold no cards are shown", no_cards_are_shown_after_a_fold),
    # What you can do on your turn
    ("check where nobody has bet in this round",
     at(A, AT_FLOP, "check, bet:100..19700", refuses="fold call")),
    ("check where the highest bet is matched already", at(A, "call", "check, raise-to:200..20000")),
    ("no check against a bet",
     at(A, AT_FLOP + "bet:200", "fold, call, raise-to:400..19700", refuses="check")),
    ("a call matches the highest bet",
     at(A, AT_FLOP + "bet:200 raise-to:700 call /", spent=(1000, 1000), round=2)),
    ("a bet opens the betting of a round",
     at(A, AT_FLOP + "check", "check, bet:100..19700", refuses="raise-to:200")),
    ("a raise answers a bet",
     at(A, AT_FLOP + "check bet:200", "fold, call, raise-to:400..19700", refuses="bet:400")),
    ("a raise names the total for this round, not how much more",
     at(A, AT_FLOP + "bet:200 raise-to:500", spent=(500, 800))),
    ("a fold leaves what was put in to the other player",
     at(A, "raise-to:300 raise-to:900 fold", winnings=(300, -300))),
    ("all-in puts in all chips that are left", at(A, AT_FLOP + "bet:19700", spent=(20_000, 300))),
    ("the smallest raise is by the last bet or raise of this round",
     at(A, AT_FLOP + "bet:450 raise-to:1000", "fold, call, raise-to:1550..19700",
        refuses="raise-to:1549")),
    ("a raise of an earlier round does not count",
     at(A, "raise-to:5000 call / check", "check, bet:100..15000")),
    ("the smallest bet is a big blind", at(A, AT_FLOP, "check, bet:100..19700", refuses="bet:99 bet:0")),
    ("the big blind counts as a bet before the flop: the first raise is to 200",
     at(A, "", "fold, call, raise-to:200..20000", refuses="raise-to:199 bet:200")),
    ("the example: from 100 a raise to 300 (by 200) makes 500 the smallest",
     at(A, "raise-to:300", "fold, call, raise-to:500..20000", refuses="raise-to:499")),
    ("no largest bet but all-in", at(A, "raise-to:20000", "fold, call", spent=(100, 20_000))),
    ("nobody bets more than he has", at(A, AT_FLOP, refuses="bet:19701 bet:20000")),
    # Special situations
    ("an all-in below a full raise is legal",
     at(A, "raise-to:500", "fold, call, raise-to:800", stacks=(800, 2000))),
    ("it does not reopen the betting: only call or fold is left",
     at(A, "raise-to:500 raise-to:800", "fold, call", stacks=(800, 2000),
        refuses="raise-to:1100 raise-to:2000")),
    ("an all-in below a full bet likewise",
     at(A, "raise-to:500 call / bet:60", "fold, call", stacks=(560, 2000))),
    ("after a limp the big blind may still check or raise",
     at(A, "call", "check, raise-to:200..20000", to_act=0, round=0)),
    ("a bet that is not called goes back",
     told(A, AT_FLOP + "bet:200 raise-to:900 fold", "action0 fold, return1 700, pay1 1000")),
    ("the part of an all-in above the other stack goes back",
     at(A, "raise-to:1000 call", stacks=(300, 1000), winnings=(300, -300), payouts=(600, 0))),
    ("after a called all-in nobody acts any more",
     at(A, "raise-to:20000 call", "none, the betting is over", to_act=None, is_over=True)),
    ("after a called all-in the remaining cards are dealt at once",
     at(A, "raise-to:20000 call", board=BOARD)),
    ("after a called all-in both hands are shown first, then the streets one by one",
     told(A, "raise-to:300 call / bet:19700 call",
          "action1 call, show0 AhAd, show1 KhKd, board Js, board Qd, pay0 40000")),
    ("the same before the flop",
     told(A, "raise-to:20000 call",
        "show0 AhAd, show1 KhKd, board 2c7d9h, board Js, board Qd, pay0 40000")),
    ("equal hands split the pot evenly",
     at(A, "raise-to:301 call / check check / check check / check check", cards=TIE, payouts=(301, 301),
        winnings=(0, 0))),
    ("there is never an odd chip, with unequal stacks neither",
     at(A, "raise-to:1333 call", stacks=(777, 1333), cards=TIE, payouts=(777, 777))),
    # Hand rankings
    ("the best five of seven cards may use both hole cards",
     at(A, CHECKED, cards=("AsKs", "9c9d", "QsJsTs2h3h"), winnings=(100, -100))),
    ("or one of them", at(A, CHECKED, cards=("As2d", "9c9d", "KsQsJs2h8s"), winnings=(100, -100))),
    ("or none of them: the board plays for both",
     at(A, CHECKED, cards=("2c3d", "AhAd", "TsJsQsKsAs"), winnings=(0, 0))),
    ("straight flush, as in 9 10 J Q K of spades",
     is_a("straight flush", "9s10sJsQsKs", "9s10sJsQsKs2d3d", "AsKsQsJs10s")),
    ("four of a kind, as in 8 8 8 8 K", is_a("four of a kind", "8c8d8h8sKc", "8c8d8h8sKcKdQs")),
    ("full house, as in 5 5 5 J J",
     is_a("full house", "5c5d5hJcJd", "5c5d5hJcJdJh2s", "5c5d5hJcJdQhQs")),
    ("flush, as in 2 6 9 J A of hearts", is_a("flush", "2h6h9hJhAh", "2h6h9hJhAhAcAd")),
    ("straight, as in 6 7 8 9 10", is_a("straight", "6c7d8h9s10c", "6c7d8h9s10c10d10h")),
    ("three of a kind, as in Q Q Q 4 9", is_a("three of a kind", "QcQdQh4s9c")),
    ("two pair, as in 7 7 3 3 A", is_a("two pair", "7c7d3h3sAc", "7c7d3h3sAcKdKh")),
    ("one pair, as in 10 10 A 8 2", is_a("pair", "10c10dAh8s2c")),
    ("high card, as in A J 9 6 3", is_a("high card", "AcJd9h6s3c")),
    (
        "the examples in the order of the table",
        descending(
            "9s10sJsQsKs", "8c8d8h8sKc", "5c5d5hJcJd", "2h6h9hJhAh", "6c7d8h9s10c", "QcQdQh4s9c",
            "7c7d3h3sAc", "10c10dAh8s2c", "AcJd9h6s3c",
        ),
    ),
    (
        "the least hand of each kind beats the best of the next",
        all_of(
            descending("As2s3s4s5s", "AcAdAhAsKc"),
            descending("2c2d2h2s3c", "AcAdAhKcKd"),
            descending("2c2d2h3c3d", "AcKcQcJc9c"),
            descending("2c3c4c5c7c", "AcKdQhJs10c"),
            descending("Ac2d3h4s5c", "AcAdAhKcQd"),
            descending("2c2d2h3s4c", "AcAdKhKsQc"),
            descending("3c3d2h2s4c", "AcAdKhQsJc"),
            descending("2c2d3h4s5c", "AcKdQhJs9c"),
        ),
    ),
    ("ranks from high to low: A K Q J 10 9 8 7",
     descending(*(f"{rank}c{rank}d6h5s3c" for rank in ("A", "K", "Q", "J", "10", "9", "8", "7")))),
    ("and 7 6 5 4 3 2", descending(*(f"{rank}c{rank}dKhQsJc" for rank in "765432"))),
    (
        "suits are equal",
        all_of(tied(*(f"2{s}6{s}9{s}J{s}A{s}" for s in "cdhs")), tied(*(f"A{s}Jd9h6s3c" for s in "chs"))),
    ),
    ("the ace is low in A 2 3 4 5, the lowest straight",
     all_of(is_a("straight", "Ac2d3h4s5c"), descending("2c3d4h5s6c", "Ac2d3h4s5c"))),
    ("no straight goes from the king round to the deuce",
     is_a("high card", "QcKdAh2s3c", "KcAd2h3s4c", "JcQdKhAs2c")),
    (
        "equal kinds compare the ranks that make them",
        all_of(
            descending("3c3d3h3s2c", "2c2d2h2sAc"),
            descending("3c3d3h2s2c", "2c2d2hAsAc"),
            descending("7c6c4c3c2c", "7d5d4d3d2d"),
            descending("KcKd2h2s3c", "QcQdJhJsAc"),
            descending("3c3d4h5s6c", "2c2dAhKsQc"),
        ),
    ),
    (
        "then the kickers",
        all_of(
            descending("8c8d8h8sKc", "8c8d8h8sQc"),
            descending("QcQdQh9s4c", "QcQdQh8s7c"),
            descending("7c7d3h3sAc", "7h7s3c3dKc"),
            descending("10c10dAh8s3c", "10h10sAc8d2c"),
            descending("AcJd9h6s3c", "AdJh9s6c2d"),
        ),
    ),
    ("five identical ranks split",
     all_of(tied("10c10dAh8s2c", "10h10sAc8d2s"),
        at(A, CHECKED, cards=("AcKd", "AdKc", "Ts8h5d3c2s"), winnings=(0, 0)))),
    # Scoring
    ("a result is the chips won back less those put in",
     at(A, "raise-to:300 call / bet:450 call / check check / check check", winnings=(750, -750))),
    ("in big blinds: divided by 100",
     at(A, "raise-to:300 call / bet:450 call / check check / check check", winnings_bb=(7.5, -7.5))),
    ("a folded small blind is half a big blind",
     at(A, "fold", winnings=(50, -50), winnings_bb=(0.5, -0.5))),
    ("results of hands are added and compared", results_add_up),
]
# fmt: on

# Sartre's limit hold'em --------------------------------------------------------------------------

S = "sartre-limit"  # in half-dollar chips: the small bet is 2, the big bet 4
EIGHT = "raise-to:4 raise-to:6 raise-to:8 raise-to:10 raise-to:12 raise-to:14 raise-to:16 raise-to:18"
EIGHT_BETS = "bet:2 raise-to:4 raise-to:6 raise-to:8 raise-to:10 raise-to:12 raise-to:14 raise-to:16"
EIGHT_BIG = "bet:4 raise-to:8 raise-to:12 raise-to:16 raise-to:20 raise-to:24 raise-to:28 raise-to:32"


def a_folded_player_goes_on_in_the_next_hand() -> None:
    result = play_match([fold, passive], preset(S), hands=4, seed=1)
    assert result.hands == 4
    assert result.faults == ()


# fmt: off
SARTRE: list[tuple[str, Check]] = [
    ("four stages: preflop, flop, turn and river",
     order_of_play(S, [(0, 1), (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)])),
    ("a fold contributes nothing and ends the player's part in the hand",
     at(S, "raise-to:4 fold", spent=(2, 4), is_over=True, folded=0)),
    ("a player who folded plays in later hands", a_folded_player_goes_on_in_the_next_hand),
    ("a check invests nothing", at(S, "call check / check", spent=(2, 2))),
    ("a call invests the least that is needed, more than nothing",
     at(S, "raise-to:4 call /", spent=(4, 4))),
    ("no call where nothing is needed", at(S, "call check /", refuses="call fold")),
    ("no check where something is needed", at(S, "raise-to:4", refuses="check")),
    ("adding money where a check is possible is a bet",
     at(S, "call check /", "check, bet:2", refuses="raise-to:2")),
    ("adding money where a call is possible is a raise",
     at(S, "call check / bet:2", "fold, call, raise-to:4", refuses="bet:4")),
    ("the big bet is twice the small bet: the $1/$2 game",
     fact(lambda: preset(S).bet_sizes == (2, 2, 4, 4))),
    ("before the flop bets and raises are of the small bet",
     at(S, "raise-to:4", "fold, call, raise-to:6", refuses="raise-to:5 raise-to:8")),
    ("on the flop too",
     all_of(at(S, "call check /", refuses="bet:1 bet:4"),
        at(S, "call check / bet:2 raise-to:4", "fold, call, raise-to:6"))),
    ("on the turn they are of the big bet",
     at(S, "call check / check check / bet:4", "fold, call, raise-to:8", refuses="raise-to:6")),
    ("on the river too",
     at(S, "call check / check check / check check / bet:4 raise-to:8", "fold, call, raise-to:12")),
    ("at most four bets by each player in a stage: preflop",
     all_of(at(S, EIGHT, "fold, call", bets=(4, 4)),
        at(S, EIGHT[:-12], legal="fold, call, raise-to:18"))),
    ("on the flop", at(S, f"call check / {EIGHT_BETS}", "fold, call", bets=(4, 4))),
    ("on the turn", at(S, f"call check / check check / {EIGHT_BIG}", "fold, call", bets=(4, 4))),
    ("on the river",
     at(S, f"call check / check check / check check / {EIGHT_BIG}", "fold, call", bets=(4, 4))),
    ("with the other player opening too",
     at(S, f"call check / check {EIGHT_BETS}", "fold, call", bets=(4, 4))),
    ("the blinds are half a small bet and one small bet", at(S, "", spent=(2, 1))),
    ("they are forced before the hand begins",
     told(S, "", "blind1 1, blind0 2, hole0 AhAd, hole1 KhKd")),
    ("each gets two hole cards that only he sees", hole_cards_are_private(S)),
    ("the turn to act goes round the table",
     all_of(at(S, "", to_act=1), at(S, "raise-to:4", to_act=0),
        at(S, "raise-to:4 raise-to:6", to_act=1))),
    ("with two players left play goes on to the next stage",
     at(S, "raise-to:4 call /", round=1, is_over=False)),
    ("if all but one fold, that one wins the pot",
     at(S, "raise-to:4 raise-to:6 fold", winnings=(4, -4), is_over=True)),
    ("in any stage",
     all_of(at(S, "call check / bet:2 fold", winnings=(2, -2)),
        at(S, "call check / check check / bet:4 fold", winnings=(2, -2)),
        at(S, "call check / check check / check check / bet:4 fold", winnings=(2, -2)))),
    ("the flop deals three cards, shared by both", at(S, "call check /", board="2c7d9h", round=1)),
    ("the turn deals one more, with a round of betting",
     at(S, "call check / check check /", "check, bet:4", board="2c7d9hJs")),
    ("the river deals the last one, with the last round",
     at(S, "call check / check check / check check /", "check, bet:4", board=BOARD)),
    ("any combination of own and shared cards makes the hand",
     at(S, CHECKED, cards=("Ts8h", "AhAd", BOARD), winnings=(2, -2))),
    ("at the showdown all hole cards are shown",
     told(S, CHECKED, "action1 check, show0 AhAd, show1 KhKd, pay0 4")),
    ("the highest hand wins the whole pot", at(S, CHECKED, payouts=(4, 0))),
    ("the pot is split evenly between equal hands",
     at(S, CHECKED, cards=TIE, payouts=(2, 2), winnings=(0, 0))),
]
# fmt: on

# The no-limit match ------------------------------------------------------------------------------

M = "match-nolimit"
LIMPED = "call check /"


def finished(*hands: str) -> Match:
    """A match whose hands were played by these lines; cards as they fall from seed 1."""
    match = Match(preset(M), seed=1, hands=len(hands))
    for line in hands:
        for action in line.replace("/", " ").split():
            match.play(match.to_act, action)
    assert match.is_over
    return match


def more_chips_win() -> None:
    match = finished(*["fold"] * 9, "raise-to:4 fold")
    # The first player has the button in the hands 1, 3, 5, 7 and 9, and wins the last one with a raise.
    assert match.results == [1, -1, 1, -1, 1, -1, 1, -1, 1, 2]
    assert match.match_chips == (3, -3)
    assert match.winner == 0


def running_sum() -> None:
    match, sums = Match(preset(M), seed=1), []  # ten hands if nothing else is said
    while not match.is_over:
        match.play(match.to_act, "fold")
        sums.append(match.match_chips[0])
    assert sums == [1, 0] * 5


def forfeits(player: int, sent) -> Check:
    """An answer in the second hand that loses the match outright, whoever is ahead."""

    def check() -> None:
        match = Match(preset(M), seed=1)
        match.play(match.to_act, "fold")  # player 1 had the button and lost a chip
        assert match.match_chips == (1, -1)
        assert match.to_act == 0
        match.play(player, sent)
        assert match.is_over
        assert match.winner == 1 - player
        assert match.to_act is None

    return check


def every_action_is_listed() -> None:
    hand = played(M)
    words = [str(action) for action in hand.observation(1).legal_actions()]
    assert words == ["fold", "call", *(f"raise-to:{amount}" for amount in range(4, 201))]
    flop = played(M, LIMPED)
    words = [str(action) for action in flop.observation(0).legal_actions()]
    assert words == ["check", *(f"bet:{amount}" for amount in range(2, 199))]
    for word in words:
        assert flop.play(word).betting.actions[-1] == flop.legal_actions()[words.index(word)]


# fmt: off
MATCH: list[tuple[str, Check]] = [
    ("two players, no-limit", at(M, "", "fold, call, raise-to:4..200")),
    ("a match is ten hands, won by the higher sum of chips", more_chips_win),
    ("every hand begins with exactly 200 chips each, whatever happened before", starts_afresh(M, 10)),
    ("the match score is the running sum of the hands' chips", running_sum),
    ("up to four betting rounds, with community cards between them",
     order_of_play(M, [(0, 1), (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)])),
    ("the community cards: three, one, one",
     all_of(at(M, LIMPED, board="2c7d9h"), at(M, LIMPED + "check check /", board="2c7d9hJs"),
        at(M, LIMPED + "check check / check check /", board=BOARD))),
    ("sizes are not fixed: any whole number of chips",
     all_of(at(M, "raise-to:5", spent=(2, 5)), at(M, LIMPED + "bet:3", spent=(5, 2)))),
    ("before the flop the small blind, who has the button, acts first",
     at(M, "", spent=(2, 1), to_act=1)),
    ("after it the big blind",
     all_of(at(M, LIMPED, to_act=0), at(M, LIMPED + "check check /", to_act=0),
        at(M, LIMPED + "check check / check check /", to_act=0))),
    ("each turn has a list with every single bet:N and raise-to:N", every_action_is_listed),
    ("what is not on the list is illegal",
     all_of(at(M, "", refuses="check bet:4 raise-to:3 raise-to:201"),
        at(M, LIMPED, refuses="fold call bet:1 bet:199 raise-to:4"))),
    ("the smallest opening bet is the big blind, 2 chips, on any street",
     all_of(at(M, LIMPED, "check, bet:2..198"), at(M, LIMPED + "check check /", "check, bet:2..198"),
        at(M, LIMPED + "check check / check check /", "check, bet:2..198"))),
    ("above it any whole number up to the stack", at(M, LIMPED, "check, bet:2..198", refuses="bet:199")),
    ("the smallest raise is by the previous bet or raise of this street",
     all_of(at(M, LIMPED + "bet:5", "fold, call, raise-to:10..198"),
        at(M, LIMPED + "bet:5 raise-to:20", "fold, call, raise-to:35..198"))),
    ("those of an earlier street do not count",
     at(M, "raise-to:50 call / bet:2", "fold, call, raise-to:4..150")),
    ("an all-in below a full raise is legal",
     at(M, "raise-to:150", "fold, call, raise-to:200", refuses="raise-to:199")),
    ("it does not reopen the action", at(M, "raise-to:150 raise-to:200", "fold, call")),
    ("nor does one that leaves the other player with chips",
     at(M, "raise-to:40 raise-to:50", "fold, call", stacks=(50, 200),
        refuses="raise-to:60 raise-to:78 raise-to:200")),
    ("the most is what is left of the stack",
     at(M, "raise-to:60 call / bet:140", "fold, call", spent=(200, 60))),
    ("raise-to:N is the total of this round, not the step",
     at(M, "raise-to:10 call / bet:10 raise-to:30", spent=(20, 40))),
    ("a call of more than the stack puts in what is left",
     at(M, "raise-to:200 call", stacks=(80, 200), spent=(80, 200), is_over=True)),
    ("the excess goes back; there are no side pots",
     at(M, "raise-to:200 call", stacks=(80, 200), payouts=(160, 0), winnings=(80, -80))),
    ("a showdown if nobody folded by the river: the best five of seven cards",
     at(M, CHECKED, cards=("Ts8h", "AhAd", BOARD), winnings=(2, -2))),
    (
        "straight flush > four of a kind > full house > flush > straight > three > two pair > pair > high",
        descending("2s3s4s5s6s", "2c2d2h2s3c", "2c2d2h3c3d", "2c3c4c5c7c", "2c3d4h5s6c", "2c2d2h3s4c",
                   "3c3d2h2s4c", "2c2d3h4s5c", "7c5d4h3s2c"),
    ),
    ("ties split the pot", at(M, CHECKED, cards=TIE, payouts=(2, 2))),
    ("an odd chip goes to the player who is not on the button",
     fact(lambda: split_pot(205) == (103, 102))),
    ("heads-up there is none, as both have put in the same",
     at(M, "raise-to:7 call / check check / check check / check check", cards=TIE, payouts=(7, 7))),
    ("after hand ten the higher total wins",
     fact(lambda: finished(*["fold"] * 9, "raise-to:4 fold").winner == 0)),
    ("whichever player has it", fact(lambda: finished("raise-to:4 fold", *["fold"] * 9).winner == 1)),
    ("equal totals are a draw", fact(lambda: finished(*["fold"] * 10).winner is None)),
    ("an action that is not legal loses the match outright", forfeits(0, "raise-to:3")),
    ("so does a check where chips are owed", forfeits(0, "check")),
    ("so does an action out of turn, though it would be legal", forfeits(1, "call")),
    ("so does a malformed one",
     all_of(forfeits(0, "raise 4"), forfeits(0, "FOLD"), forfeits(0, ""), forfeits(0, None))),
    ("between players too: who forfeits has lost, however far ahead",
     fact(lambda: play_match([lambda view: "bet:2" if view.betting.round else jam(view), fold],
        preset(M), hands=10).winner == 0)),
]
# fmt: on

# The casino's limit hold'em ----------------------------------------------------------------------

C = "casino-limit"
FOUR = "raise-to:4 raise-to:6 raise-to:8 raise-to:10"
FOUR_BETS = "bet:2 raise-to:4 raise-to:6 raise-to:8"
FOUR_BIG = "bet:4 raise-to:8 raise-to:12 raise-to:16"
FOURS, FOURS_BOARD = "4s4d", "4cAhThAd2c"


def bonus_profits(line: str, credits: int = 1, player: int = 0, cards=(FOURS, "9s8d", FOURS_BOARD)):
    return BonusBet(EXAMPLE, credits).profits(played(C, line, cards), player)


def the_bonus_takes_one_to_five_credits() -> None:
    for credits in range(1, 6):
        assert BonusBet(EXAMPLE, credits).credits == credits
    for credits in (0, 6, -1, 1.5, True):
        with pytest.raises(ValueError, match="the bonus takes 1 to 5 whole credits"):
            BonusBet(EXAMPLE, credits)


def five_credits_pay_five_times_one() -> None:
    for cards in ((FOURS, "9s8d", FOURS_BOARD), ("9s8d", FOURS, FOURS_BOARD)):  # won, and lost
        one, five = bonus_profits(CHECKED, 1, cards=cards), bonus_profits(CHECKED, 5, cards=cards)
        assert five == {interval: 5 * profit for interval, profit in one.items()}


def the_bonus_is_paid_by_its_table() -> None:
    # Three fours on the flop, fours full of aces on the turn, and on the river still.
    pays = [dict(EXAMPLE.lines[index]) for index in range(3)]
    expected = {
        "flop": pays[0]["three of a kind"],
        "turn": pays[1]["full house"],
        "river": pays[2]["full house"],
    }
    assert bonus_profits(CHECKED) == expected == {"flop": 6, "turn": 12, "river": 9}


# fmt: off
CASINO: list[tuple[str, Check]] = [
    ("one standard deck of 52 cards", fact(lambda: preset(C).deck.size == 52)),
    ("each gets two cards, then five community cards follow",
     fact(lambda: [len(cards) for cards in (*played(C).hole, played(C, CHECKED).board)] == [2, 2, 5])),
    ("the best five cards of any combination win",
     at(C, CHECKED, cards=("Ts8h", "AhAd", BOARD), winnings=(2, -2))),
    ("the player begins a session in the big blind, then the blinds alternate", seats_alternate(C)),
    ("forced bets of two credits and one", at(C, "", spent=(2, 1))),
    ("four betting rounds: start, flop, turn, river",
     order_of_play(C, [(0, 1), (0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1)])),
    ("bets of two credits at the start",
     at(C, "raise-to:4", "fold, call, raise-to:6", refuses="raise-to:8")),
    ("and on the flop", at(C, LIMPED, "check, bet:2", refuses="bet:4")),
    ("of four on the turn", at(C, LIMPED + "check check /", "check, bet:4", refuses="bet:2")),
    ("and on the river", at(C, LIMPED + "check check / check check /", "check, bet:4", refuses="bet:2")),
    ("at most four bets in a round; the blinds do not count",
     all_of(at(C, FOUR, "fold, call"), at(C, FOUR[:-12], "fold, call, raise-to:10"))),
    ("a limp is no bet: four raises may follow it", at(C, "call " + FOUR, "fold, call")),
    ("on the flop", at(C, LIMPED + FOUR_BETS, "fold, call")),
    ("on the turn", at(C, LIMPED + "check check /" + FOUR_BIG, "fold, call")),
    ("on the river", at(C, LIMPED + "check check / check check /" + FOUR_BIG, "fold, call")),
    ("after a fold the player who bet or raised last wins the pot",
     all_of(at(C, "raise-to:4 fold", winnings=(-2, 2)),
        at(C, "raise-to:4 raise-to:6 fold", winnings=(4, -4)),
        at(C, LIMPED + "check bet:2 fold", winnings=(-2, 2)))),
    ("a small blind that folds at once leaves the blinds to the big blind",
     at(C, "fold", winnings=(1, -1))),
    # Start
    ("start: the small blind may fold, call or raise", at(C, "", "fold, call, raise-to:4", to_act=1)),
    ("if it calls, the big blind may check or raise", at(C, "call", "check, raise-to:4", to_act=0)),
    ("if it raises, the big blind may fold, call or re-raise",
     at(C, "raise-to:4", "fold, call, raise-to:6", to_act=0)),
    ("if the big blind raises or re-raises, the small blind is to act again",
     all_of(at(C, "call raise-to:4", "fold, call, raise-to:6", to_act=1),
        at(C, "raise-to:4 raise-to:6", "fold, call, raise-to:8", to_act=1))),
    # Flop, turn, river
    ("flop: who may do what, by position", limit_round(C, 1, LIMPED, 2)),
    ("turn: the same with bets of four", limit_round(C, 2, LIMPED + "check check /", 4)),
    ("river: the same", limit_round(C, 3, LIMPED + "check check / check check /", 4)),
    ("after the last round the best five-card hand wins the pot", at(C, CHECKED, payouts=(4, 0))),
    ("identical hands split it", at(C, CHECKED, cards=TIE, payouts=(2, 2))),
    # The bonus
    ("the bonus takes one to five credits, and cannot be left out", the_bonus_takes_one_to_five_credits),
    ("it pays by credit: five credits win or lose five times as much", five_credits_pay_five_times_one),
    ("it goes by the player's own two cards",
     fact(lambda: [bonus_profits(LIMPED, player=who)["flop"] for who in (0, 1)] == [6, -1])),
    ("with the community cards dealt so far: nothing is judged before the flop",
     fact(lambda: bonus_profits("call") == {})),
    ("it is judged after the flop", fact(lambda: bonus_profits(LIMPED) == {"flop": 6})),
    ("and after the turn",
     fact(lambda: bonus_profits(LIMPED + "check check /") == {"flop": 6, "turn": 12})),
    ("and after the river", fact(lambda: list(bonus_profits(CHECKED)) == ["flop", "turn", "river"])),
    ("by the pay table", the_bonus_is_paid_by_its_table),
    ("apart from the hand's own result",
     at(C, CHECKED, cards=(FOURS, "9s8d", FOURS_BOARD), winnings=(2, -2))),
]
# fmt: on

DOCUMENTS = {"acpc": ACPC_NOLIMIT, "sartre": SARTRE, "match": MATCH, "casino": CASINO}


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(check, id=f"{name}: {rule}")
        for name, rows in DOCUMENTS.items()
        for rule, check in rows
    ],
)
def test_rule(check):
    check()


def test_every_rule_is_said_once():
    for rows in DOCUMENTS.values():
        assert len({rule for rule, _ in rows}) == len(rows)

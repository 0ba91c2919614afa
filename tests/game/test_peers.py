"""Random hands played beside other programs: OpenSpiel's C++ poker and pokerkit.

Players, legal actions and results must be equal at every step, except where a comment says what the
other program does differently.
"""

from __future__ import annotations

import importlib
import random
from collections import Counter
from dataclasses import replace

import pytest
from nashfold.game import Action, Betting, Hand, Rules, format_cards, new_hand, preset

pyspiel = pytest.importorskip("pyspiel")
universal_poker = importlib.import_module("universal").universal_poker


def with_stacks(name: str, big_blind: int, small_blind: int) -> Rules:
    """A preset with stacks of the players in these positions."""
    return replace(preset(name), stacks=(big_blind, small_blind))


# Unequal, odd, just above a blind, below a smallest raise.
STACKS = [
    (1500, 1500), (300, 1000), (1000, 300), (777, 1333), (1000, 100), (100, 1000), (1000, 50), (251, 249),
]  # fmt: skip
NOLIMIT = [*map(preset, ("acpc-nolimit", "match-nolimit", "short-nolimit"))]
NOLIMIT += [with_stacks("acpc-nolimit", *stacks) for stacks in STACKS]
NOLIMIT += [with_stacks("match-nolimit", 13, 40), with_stacks("short-nolimit", 7, 5)]
LIMIT = [*map(preset, ("acpc-limit", "sartre-limit", "casino-limit", "flop-limit", "short-limit"))]
LIMIT += [*map(preset, ("kuhn", "leduc"))]


def name_of(rules: Rules) -> str:
    usual = preset(rules.name).stacks == rules.stacks
    return rules.name if usual else "{} {} {}".format(rules.name, *rules.stacks)


def choose(hand: Hand, rng: random.Random, mood: float) -> Action:
    """Mostly check or call, sometimes the smallest, largest or any raise, rarely a fold."""
    passive, bounds = hand.betting.passive_actions(), hand.betting.raise_bounds()
    if rng.random() < 0.06:
        return passive[0]
    if bounds is None or rng.random() > mood or len(hand.betting.history[-1]) > 60:
        return passive[-1]
    low, high = bounds
    if (draw := rng.random()) < 0.8:  # small ones, so that hands last
        return hand.betting.raise_action(min(high, low + int(rng.expovariate(1) * (draw > 0.4) * low)))
    return hand.betting.raise_action(rng.choice([high, rng.randint(low, high)]))


# universal_poker --------------------------------------------------------------------------------


def action_id(hand: Hand, action: Action) -> int:
    """0 fold, 1 check or call; 2 a limit raise; a no-limit raise is its chips over the whole hand."""
    if action.kind in ("fold", "check", "call"):
        return int(action.kind != "fold")
    return 2 if hand.rules.betting == "limit" else hand.betting.round_start[hand.to_act] + action.amount


def legal_ids(hand: Hand) -> list[int]:
    ids = [action_id(hand, action) for action in hand.betting.passive_actions()]
    if (bounds := hand.betting.raise_bounds()) is not None:
        low, high = (action_id(hand, Action("bet", amount)) for amount in bounds)
        ids += range(low, high + 1)
    return ids


def compare_with_universal_poker(rules: Rules, hands: int, seed: int) -> None:
    """Two differences are meant, both without effect on the result.

    Where one player is all-in and the other one owes nothing, universal_poker asks for a check; here
    the betting is over. And it allows 64 actions in a round: here lines stop raising before. It cannot
    be asked for stacks below a blind, and takes no notice of stacks in limit games: see pokerkit.
    """
    game = universal_poker(rules)
    rng = random.Random(seed)
    ends = Counter[str]()
    for _ in range(hands):
        hand = new_hand(rules, seed=rng.getrandbits(32))
        cards = iter([*hand.hole[0], *hand.hole[1], *hand.deal])
        state, mood = game.new_initial_state(), rng.random()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(rules.deck.number(next(cards)))
            elif hand.is_over:
                assert state.legal_actions() == [1]
                assert hand.betting.is_all_in_showdown
                assert not hand.betting.is_all_in(state.current_player())
                state.apply_action(1)
            else:
                assert state.current_player() == hand.to_act
                assert state.legal_actions() == legal_ids(hand), str(hand)
                action = choose(hand, rng, mood)
                state.apply_action(action_id(hand, action))
                hand = hand.play(action)
        assert hand.is_over
        assert tuple(state.returns()) == hand.winnings, str(hand)
        ends[end_of(hand)] += 1
    check_variety(rules, ends)


def end_of(hand: Hand) -> str:
    if hand.betting.folded is not None:
        return "fold"
    return "all-in" if hand.betting.is_all_in_showdown else "showdown"


def check_variety(rules: Rules, ends: Counter) -> None:
    """A comparison says something only if hands end in every way that the game has."""
    if ends.total() < 200:
        return
    wanted = set() if Betting.start(rules).is_over else {"fold"}
    wanted.add("showdown" if rules.stacks is None else "all-in")
    assert all(ends[end] > ends.total() // 50 for end in wanted), ends


@pytest.mark.parametrize("rules", [*NOLIMIT, *LIMIT], ids=name_of)
def test_hands_are_those_of_universal_poker(rules):
    """About 5,000 hands in all; deep stacks are slow because every list of 19,801 actions is compared."""
    compare_with_universal_poker(rules, 40 if rules == preset("acpc-nolimit") else 262, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("rules", [*NOLIMIT, *LIMIT], ids=name_of)
def test_10_000_hands_of_each_game_are_those_of_universal_poker(rules):
    """200,000 hands in all."""
    compare_with_universal_poker(rules, 10_000, seed=2)


@pytest.mark.parametrize(("name", "nodes"), [("kuhn", (4, 24, 30)), ("leduc", (157, 3780, 5520))])
def test_the_whole_trees_of_the_small_games_are_those_of_openspiel(name, nodes):
    """Node counts (chance, decision, terminal) are the published ones."""
    rules, counts = preset(name), Counter[str]()

    def walk(state, cards: tuple[int, ...], betting: Betting) -> None:
        if state.is_chance_node():
            counts["chance"] += 1
            for number, _ in state.chance_outcomes():
                walk(state.child(number), (*cards, number), betting)
            return
        assert betting.to_act == (None if state.is_terminal() else state.current_player())
        if state.is_terminal():
            counts["terminal"] += 1
            rest = [number for number in range(rules.deck.size) if number not in cards]
            first, second, *board = rules.deck.cards[[*cards, *rest]].tolist()
            hand = Hand(betting, ((first,), (second,)), tuple(board[: sum(rules.board_cards)]))
            assert hand.winnings == tuple(state.returns())
            return
        counts["decision"] += 1
        legal = betting.legal_actions()
        numbers = state.legal_actions()
        # Leduc: 0 fold, 1 check or call, 2 bet or raise. Kuhn: 0 check or fold, 1 bet or call.
        words = {"fold": 0, "check": 1, "call": 1, "bet": 2, "raise-to": 2}
        assert numbers == ([0, 1] if name == "kuhn" else [words[action.kind] for action in legal])
        for number, action in zip(numbers, legal, strict=True):
            walk(state.child(number), cards, betting.play(action))

    walk(pyspiel.load_game(f"{name}_poker").new_initial_state(), (), Betting.start(rules))
    assert (counts["chance"], counts["decision"], counts["terminal"]) == nodes


# pokerkit ---------------------------------------------------------------------------------------

# Stacks below a blind, and limit games whose stacks end the raising.
SHORT = [(60, 1000), (50, 1000), (30, 1000), (1000, 30), (1000, 70), (30, 40), (101, 1000), (150, 149)]
POKERKIT = [*map(preset, ("acpc-nolimit", "match-nolimit"))]
POKERKIT += [with_stacks("acpc-nolimit", *stacks) for stacks in (*STACKS, *SHORT)]
POKERKIT += [*map(preset, ("acpc-limit", "sartre-limit", "casino-limit"))]
POKERKIT += [
    with_stacks(name, *stacks)
    for name in ("acpc-limit", "casino-limit", "sartre-limit")
    for stacks in ((35, 200), (200, 47), (21, 19), (4, 30))
]


def pokerkit_state(rules: Rules):
    """pokerkit's table of the same rules after the blinds: its player 0 has the big blind too."""
    pokerkit = pytest.importorskip("pokerkit")
    manual = {pokerkit.Automation.HOLE_DEALING, pokerkit.Automation.BOARD_DEALING}
    automations = tuple(step for step in pokerkit.Automation if step not in manual)
    blinds = rules.blinds[::-1]  # heads-up it takes the small blind first, which the last player posts
    stacks = rules.stacks or (10_000, 10_000)
    if rules.betting == "limit":
        sizes = rules.bet_sizes[0], rules.bet_sizes[2]
        return pokerkit.FixedLimitTexasHoldem.create_state(
            automations, True, 0, blinds, *sizes, stacks, 2
        )
    return pokerkit.NoLimitTexasHoldem.create_state(
        automations, True, 0, blinds, rules.big_blind, stacks, 2
    )


def follows_cap(hand: Hand) -> bool:
    """Whether the cap is that of pokerkit's limit games: four bets a round, the blinds not counted.

    The competition allows one fewer before the flop, and Sartre's four for each player are eight.
    """
    made = sum(action.amount > 0 for action in hand.betting.history[-1])
    short = hand.rules.name == "acpc-limit" and hand.round == 0 and made == 3
    return not short and not (hand.rules.name == "sartre-limit" and made == 4)


def compare_with_pokerkit(rules: Rules, hands: int, seed: int) -> None:
    """Where the caps differ the line goes on with a check or call."""
    rng = random.Random(seed)
    ends = Counter[str]()
    for _ in range(hands):
        hand = new_hand(rules, seed=rng.getrandbits(32))
        state, mood = pokerkit_state(rules), rng.random()
        for cards in hand.hole:
            state.deal_hole(format_cards(cards))
        size = 0
        while True:
            while state.can_deal_board():
                count = state.board_dealing_count
                state.deal_board(format_cards(hand.deal[size : size + count]))
                size += count
            assert state.actor_index == hand.to_act, str(hand)
            if hand.to_act is None:
                break
            player, betting = hand.to_act, hand.betting
            owed = betting.spent[1 - player] - betting.spent[player]
            assert state.can_fold() == (owed > 0)
            left = state.stacks[player] if rules.stacks is not None else owed
            assert state.checking_or_calling_amount == min(max(owed, 0), left)
            bounds, theirs = betting.raise_bounds(), None
            if state.can_complete_bet_or_raise_to():
                theirs = (
                    state.min_completion_betting_or_raising_to_amount,
                    state.max_completion_betting_or_raising_to_amount,
                )
            if follows_cap(hand):
                assert theirs == bounds, str(hand)
                action = choose(hand, rng, mood)
            else:
                action = betting.passive_actions()[-1]
            hand = hand.play(action)
            if action.kind == "fold":
                state.fold()
            elif action.kind in ("check", "call"):
                state.check_or_call()
            else:
                state.complete_bet_or_raise_to(action.amount)
        assert hand.is_over
        assert not state.status
        assert tuple(state.payoffs) == hand.winnings, str(hand)
        assert size == len(hand.board)
        ends[end_of(hand)] += 1
    check_variety(rules, ends)


@pytest.mark.parametrize("rules", POKERKIT, ids=name_of)
def test_hands_are_those_of_pokerkit(rules):
    """330 hands in all."""
    compare_with_pokerkit(rules, 10, seed=3)


@pytest.mark.slow
@pytest.mark.parametrize("rules", POKERKIT, ids=name_of)
def test_620_hands_of_each_game_are_those_of_pokerkit(rules):
    """20,460 hands in all."""
    compare_with_pokerkit(rules, 620, seed=4)

"""Random legal and illegal lines in every preset, beside a little reference written from the rule texts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from nashfold.game import PRESETS, Action, Hand, IllegalAction, Rules, new_hand, preset
from nashfold.game.events import hand_events

GARBAGE = (
    "", " ", "f", "Fold", "FOLD", "fold ", "fold\n", "call:50", "check:0", "raise", "raise-to", "raise-to:",
    "raise-to:-1", "raise-to:+200", "raise-to:1e3", "raise-to: 200", "raise-to:200.0", "raise:200", "bet",
    "bet:0x10", "bet:9999999999", "all-in", "bet:\u0662\u0660\u0660", None, 3, b"fold", ["fold"], ("bet", 4),
)  # fmt: skip


class Table:
    """The betting as a dealer would keep it: chips in front of the players, and who still has to act.

    Written from the rule texts, not from `game.betting`.
    """

    def __init__(self, rules: Rules):
        self.rules = rules
        self.behind = [10**9, 10**9] if rules.stacks is None else list(rules.stacks)
        self.put_in = [0, 0]  # over the hand
        self.front = [0, 0]  # in this round
        for player in (0, 1):
            self.pay(player, rules.blinds[player])
        self.round = 0
        self.counted = [0, 0]  # bets and raises, for the cap
        if rules.blind_is_bet:
            self.counted[0 if rules.blinds[0] == rules.big_blind else 1] = 1
        self.last_raise = rules.big_blind
        self.waiting = [rules.first_player[0], 1 - rules.first_player[0]]
        self.folded: int | None = None
        self.over = False
        self.settle()

    def pay(self, player: int, chips: int) -> None:
        chips = min(chips, self.behind[player])
        self.behind[player] -= chips
        self.put_in[player] += chips
        self.front[player] += chips

    def owed(self, player: int) -> int:
        return max(0, self.front[1 - player] - self.front[player])

    def settle(self) -> None:
        """Who acts next, or the next round, or the end."""
        if 0 in self.behind:  # somebody is all-in: only a debt of the other one is still asked for
            self.waiting = [p for p in self.waiting if self.behind[p] and self.owed(p)]
            self.over = self.folded is not None or not self.waiting
        if self.folded is not None:
            self.over = True
        elif not self.over and not self.waiting:
            self.round += 1
            if self.round == self.rules.num_rounds:
                self.round -= 1
                self.over = True
                return
            self.front, self.counted = [0, 0], [0, 0]
            self.last_raise = self.rules.big_blind
            first = self.rules.first_player[self.round]
            self.waiting = [first, 1 - first]

    @property
    def to_act(self) -> int | None:
        return None if self.over else self.waiting[0]

    def sizes(self) -> range:
        """The totals in this round that a bet or raise may reach."""
        rules, player = self.rules, self.waiting[0]
        everything = self.front[player] + self.behind[player]
        highest = max(self.front)
        if not self.behind[1 - player] or everything <= highest:
            return range(0)
        if rules.max_bets is not None:
            made = self.counted[player] if rules.cap_counts == "player" else sum(self.counted)
            if made >= rules.max_bets[self.round]:
                return range(0)
        if rules.betting == "limit":
            total = min(everything, highest + rules.bet_sizes[self.round])
            return range(total, total + 1)
        return range(min(everything, highest + self.last_raise), everything + 1)

    def legal(self) -> tuple[list[str], str, range]:
        """The words that are legal, the word for a bet or raise, and its sizes."""
        word = "bet" if self.round and not any(self.front) else "raise-to"
        if self.over:
            return [], word, range(0)
        return ["fold", "call"] if self.owed(self.waiting[0]) else ["check"], word, self.sizes()

    def act(self, kind: str, amount: int) -> None:
        player = self.waiting.pop(0)
        if kind == "fold":
            self.folded = player
        elif kind == "call":
            self.pay(player, self.owed(player))
        elif kind != "check":
            raised = amount - max(self.front)
            self.last_raise = max(self.last_raise, raised)
            self.counted[player] += 1
            self.pay(player, amount - self.front[player])
            self.waiting = [1 - player]
        self.settle()


@st.composite
def any_game(draw) -> Rules:
    """A preset, often with odd and unequal stacks, in limit games too; sometimes a variant of it."""
    rules = preset(draw(st.sampled_from(PRESETS)))
    unit = rules.big_blind
    stack = st.integers(1, 3 * unit) | st.integers(1, 40 * unit)
    rules = replace(rules, stacks=draw(st.just(rules.stacks) | st.tuples(stack, stack)))
    if draw(st.integers(0, 3)):
        return rules
    caps = st.tuples(*[st.integers(0, 4)] * rules.num_rounds)
    return replace(
        rules,
        blinds=draw(st.permutations(rules.blinds).map(tuple)),
        first_player=draw(st.tuples(*[st.integers(0, 1)] * rules.num_rounds)),
        max_bets=draw(caps if rules.betting == "limit" else caps | st.none()),
        cap_counts=draw(st.sampled_from(["round", "player"])),
        blind_is_bet=draw(st.booleans()),
    )


class HandMachine(RuleBasedStateMachine):
    """One hand after another; every step is made on the hand and on the reference table."""

    @initialize(rules=any_game(), seed=st.integers(0, 2**32 - 1))
    def start(self, rules: Rules, seed: int) -> None:
        self.game = rules
        self.hand = new_hand(rules, seed=seed)
        self.table = Table(rules)

    @precondition(lambda self: self.hand.is_over)
    @rule(rules=any_game(), seed=st.integers(0, 2**32 - 1))
    def next_hand(self, rules: Rules, seed: int) -> None:
        self.start(rules, seed)

    def step(self, action: Action) -> None:
        before, text = self.hand, str(action)
        assert Action.parse(text) == action
        after = before.play(text)
        assert after == before.play(action)
        assert after.betting.actions == (*before.betting.actions, action)
        self.table.act(action.kind, action.amount)
        self.hand = after

    @precondition(lambda self: not self.hand.is_over)
    @rule(choice=st.sampled_from(["first", "last", "last", "last"]))
    def fold_check_or_call(self, choice: str) -> None:
        words, _, _ = self.table.legal()
        self.step(Action(words[0 if choice == "first" else -1]))

    @precondition(lambda self: not self.hand.is_over and self.table.sizes())
    @rule(data=st.data())
    def bet_or_raise(self, data) -> None:
        _, word, sizes = self.table.legal()
        near = st.integers(sizes[0], min(sizes[-1], sizes[0] + self.game.big_blind))
        amount = data.draw(st.just(sizes[0]) | near | st.integers(sizes[0], sizes[-1]))
        self.step(Action(word, amount))

    @rule(garbage=st.sampled_from(GARBAGE) | st.text(max_size=12))
    def play_garbage(self, garbage) -> None:
        words, word, sizes = self.table.legal()
        if garbage not in [*words, *(f"{word}:{size}" for size in sizes)]:
            self.refused(garbage)

    @rule(kind=st.sampled_from(["fold", "check", "call", "bet", "raise-to"]), data=st.data())
    def play_near_misses(self, kind: str, data) -> None:
        words, word, sizes = self.table.legal()
        if kind in ("fold", "check", "call"):
            if kind not in words:
                self.refused(Action(kind))
            self.refused(Action(kind, 1))
            return
        ends = {sizes[0] - 1, sizes[-1] + 1} if sizes else {self.game.big_blind}
        for amount in {0, -1, *ends, *((sizes[0], sizes[-1]) if kind != word and sizes else ())}:
            self.refused(Action(kind, amount))
        amount = data.draw(st.integers(-5, 3 * (sizes[-1] if sizes else self.game.big_blind)))
        if kind != word or amount not in sizes:
            self.refused(Action(kind, amount))
        for amount in (float(self.game.big_blind), str(self.game.big_blind), None):
            self.refused(Action(kind, amount))

    def refused(self, action) -> None:
        """The action is refused, as an object and as text, and nothing has changed."""
        hand, copy = self.hand, replace(self.hand)
        texts = (
            [str(action)] if isinstance(action, Action) and not isinstance(action.amount, float) else []
        )
        for attempt in (action, *texts):
            words, word, sizes = self.table.legal()
            if isinstance(attempt, str) and attempt in [*words, *(f"{word}:{size}" for size in sizes)]:
                continue  # Action("fold", 1) has the text of a legal fold
            with pytest.raises(IllegalAction) as error:
                hand.play(attempt)
            assert hand.betting.legal_text() in str(error.value)
            assert "\n" not in str(error.value)
            assert hand == copy == self.hand

    # Invariants -------------------------------------------------------------------------------

    @invariant()
    def the_reference_agrees(self) -> None:
        betting, table = self.hand.betting, self.table
        assert self.hand.to_act == table.to_act
        assert self.hand.is_over == table.over
        assert self.hand.round == table.round
        assert betting.spent == tuple(table.put_in)
        assert betting.folded == table.folded
        words, word, sizes = table.legal()
        assert [str(action) for action in betting.passive_actions()] == words
        assert betting.raise_bounds() == ((sizes[0], sizes[-1]) if sizes else None)
        text = f"{word}:{sizes[0]}" + (f"..{sizes[-1]}" if len(sizes) > 1 else "") if sizes else ""
        expected = ", ".join([*words, *([text] if text else [])])
        assert betting.legal_text() == (expected or "none, the betting is over")

    @invariant()
    def the_list_of_legal_actions_is_complete(self) -> None:
        words, word, sizes = self.table.legal()
        assert self.hand.betting.num_legal_actions == len(words) + len(sizes)
        if len(sizes) <= 2_000:  # longer ones have a test of their own
            legal = self.hand.legal_actions()
            assert legal == [*map(Action, words), *(Action(word, size) for size in sizes)]

    @invariant()
    def chips_are_conserved(self) -> None:
        hand = self.hand
        assert hand.pot == sum(self.table.put_in)
        if self.game.stacks is not None:
            assert hand.pot + sum(self.table.behind) == sum(self.game.stacks)
        if hand.is_over:
            events = hand_events(hand)
            assert sum(event.chips for event in events if event.kind in ("return", "pay")) == hand.pot

    @invariant()
    def results_are_known_at_the_end_and_sum_to_zero(self) -> None:
        hand = self.hand
        if not hand.is_over:
            for result in ("payouts", "winnings", "winnings_bb"):
                with pytest.raises(ValueError, match="the hand is not over"):
                    getattr(hand, result)
            return
        assert hand.legal_actions() == []
        assert hand.betting.num_legal_actions == 0
        at_stake = min(self.table.put_in)
        assert sum(hand.winnings) == 0
        assert sum(hand.payouts) == 2 * at_stake
        assert all(type(chips) is int for chips in hand.winnings)
        assert hand.winnings_bb == tuple(chips / self.game.big_blind for chips in hand.winnings)
        if hand.betting.folded is not None:
            assert hand.winnings[hand.betting.folded] == -at_stake
        else:
            assert abs(hand.winnings[0]) in (0, at_stake)
            swapped = Hand(hand.betting, hand.hole[::-1], hand.deal)
            assert swapped.winnings == hand.winnings[::-1]

    @invariant()
    def the_board_has_the_cards_of_the_round(self) -> None:
        dealt = sum(self.game.board_cards[: self.table.round + 1])
        runs_out = self.table.over and self.table.folded is None
        assert self.hand.board == self.hand.deal[: None if runs_out else dealt]

    @invariant()
    def nobody_sees_the_other_hand_before_a_showdown(self) -> None:
        hand, table = self.hand, self.table
        if table.over and table.folded is None:
            for player in (0, 1):
                assert hand.observation(player).shown == hand.hole[1 - player]
            return
        visible = len(hand.board)
        for player in (0, 1):
            seen = hand.observation(player)
            assert seen.shown is None
            # Any other cards in the places that the player does not see make no difference.
            known = {*hand.hole[player], *hand.board}
            other = [card for card in self.game.deck.cards.tolist() if card not in known][::-1]
            hole = list(hand.hole)
            size = self.game.num_hole_cards
            hole[1 - player] = tuple(other[:size])
            unseen = tuple(other[size : size + len(hand.deal) - visible])
            changed = Hand(hand.betting, tuple(hole), hand.deal[:visible] + unseen)
            assert repr(changed.observation(player)) == repr(seen)


HandMachine.TestCase.settings = settings(max_examples=50, stateful_step_count=40, deadline=None)
TestHands = HandMachine.TestCase


@pytest.mark.slow
class TestManyHands(HandMachine.TestCase):
    settings = settings(max_examples=1_500, stateful_step_count=60, deadline=None)


@pytest.mark.parametrize("name", ["acpc-nolimit", "match-nolimit", "short-nolimit"])
def test_every_size_on_the_list_is_accepted_and_read_back_from_its_text(name):
    hand = new_hand(preset(name), seed=1)
    for action in hand.legal_actions():
        assert hand.play(str(action)).betting.actions == (action,)

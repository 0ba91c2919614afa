"""The betting of one hand, without cards: who acts, what is legal, who has put in how much."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .rules import Rules


class IllegalAction(ValueError):  # noqa: N818 - the published name
    """An action that the rules do not allow now; the message names what was legal."""


@dataclass(frozen=True, slots=True)
class Action:
    """``fold``, ``check``, ``call``, ``bet:N`` or ``raise-to:N``.

    N is the number of chips that the player has put in in this round after the action, blinds
    included. ``str(action)`` is the text, `Action.parse` reads it back.
    """

    kind: str
    amount: int = 0

    def __str__(self) -> str:
        return f"{self.kind}:{self.amount}" if self.kind in ("bet", "raise-to") else f"{self.kind}"

    @classmethod
    def parse(cls, text: str) -> Action:
        """The action of that text; IllegalAction for a text that is none."""
        known = r"(fold|check|call)|(bet|raise-to):([0-9]{1,9})"
        match = re.fullmatch(known, text) if isinstance(text, str) else None
        if match is None:
            raise IllegalAction(
                f"{text!r} is not an action: write fold, check, call, bet:N or raise-to:N"
            )
        plain, sized, amount = match.groups()
        return cls(plain) if plain else cls(sized, int(amount))


FOLD, CHECK, CALL = Action("fold"), Action("check"), Action("call")


@dataclass(frozen=True, slots=True)
class Betting:
    """State of the betting in one hand. Immutable: `play` returns a new one.

    Attributes:
        spent: chips that player 0 and player 1 have put in so far, the uncalled part included.
        round: index of the betting round, 0 = preflop.
        round_start: chips that each player had put in when the round began (0 in the first).
        bets: bets and raises in this round by each player, the big blind included if it counts.
        to_act: the player to act, or None when the betting is over.
        folded: the player who folded, or None.
        min_raise_to: no-limit: smallest full raise, in chips over the whole hand.
        history: the actions, one tuple a round.
    """

    rules: Rules
    spent: tuple[int, int]
    round: int
    round_start: tuple[int, int]
    bets: tuple[int, int]
    to_act: int | None
    folded: int | None
    min_raise_to: int
    history: tuple[tuple[Action, ...], ...]

    @classmethod
    def start(cls, rules: Rules) -> Betting:
        """The betting after the blinds are posted; a stack below its blind is all-in with it."""
        stacks = rules.stacks or rules.blinds
        spent = (min(rules.blinds[0], stacks[0]), min(rules.blinds[1], stacks[1]))
        first = rules.first_player[0]
        bets = [0, 0]
        if rules.blind_is_bet:
            bets[0 if rules.blinds[0] >= rules.blinds[1] else 1] = 1
        state = cls(
            rules=rules,
            spent=spent,
            round=0,
            round_start=(0, 0),
            bets=(bets[0], bets[1]),
            to_act=first,
            folded=None,
            min_raise_to=2 * rules.big_blind,
            history=((),),
        )
        # A player whom the blind puts all-in has no action; the other one acts only if he owes chips.
        for player in (first, 1 - first):
            owes = spent[player] < spent[1 - player]
            if not state.is_all_in(player) and (owes or not state.is_all_in(1 - player)):
                return state._replace(to_act=player)
        return state._replace(to_act=None)

    def _replace(self, **changes) -> Betting:
        fields = {name: getattr(self, name) for name in self.__slots__}
        return Betting(**(fields | changes))

    @property
    def is_over(self) -> bool:
        """Whether nobody acts any more: a fold, the end of the last round, or an all-in called."""
        return self.to_act is None

    @property
    def pot(self) -> int:
        """Chips in the middle, current bets included."""
        return sum(self.spent)

    @property
    def actions(self) -> tuple[Action, ...]:
        """All actions of the hand in order."""
        return tuple(action for actions in self.history for action in actions)

    @property
    def raise_totals(self) -> tuple[tuple[int, ...], ...]:
        """By round, for each bet or raise the player's chips over the whole hand after it, else 0."""
        rows: list[tuple[int, ...]] = []
        round_start = 0  # later rounds begin with the highest bet of the one before, matched
        for actions in self.history:
            rows.append(tuple(round_start + a.amount if a.amount else 0 for a in actions))
            round_start = max((round_start, self.rules.big_blind, *rows[-1]))
        return tuple(rows)

    @property
    def at_stake(self) -> int:
        """Chips of each player that the other one has matched; anything above is returned."""
        return min(self.spent)

    @property
    def is_all_in_showdown(self) -> bool:
        """Whether the betting ended with an all-in before the last round was played out."""
        return self.is_over and self.folded is None and (self.is_all_in(0) or self.is_all_in(1))

    def is_all_in(self, player: int) -> bool:
        return self.rules.stacks is not None and self.spent[player] >= self.rules.stacks[player]

    def raise_bounds(self) -> tuple[int, int] | None:
        """Smallest and largest legal bet or raise, as chips of the player in this round, or None.

        In limit games both are the same. An all-in below a full raise is legal; a raise may exceed
        what the other player has left (the excess is returned), as in the ACPC server.
        """
        player, rules = self.to_act, self.rules
        if player is None or self.is_all_in(1 - player):
            return None
        if rules.max_bets is not None:
            counted = sum(self.bets) if rules.cap_counts == "round" else self.bets[player]
            if counted >= rules.max_bets[self.round]:
                return None
        highest = max(self.spent)
        if rules.betting == "limit":
            low = high = highest + rules.bet_sizes[self.round]
        else:
            low = high = self.min_raise_to
        if rules.stacks is not None:
            stack = rules.stacks[player]
            if stack <= highest:
                return None
            high = stack if rules.betting == "no-limit" else min(high, stack)
            low = min(low, stack)
        return low - self.round_start[player], high - self.round_start[player]

    def raise_action(self, amount: int) -> Action:
        """The bet or raise that brings the player to `amount` chips in this round."""
        opens = self.round > 0 and self.spent == self.round_start
        return Action("bet" if opens else "raise-to", amount)

    def passive_actions(self) -> list[Action]:
        """Fold and call where chips are owed, check where none are; [] when over."""
        if self.to_act is None:
            return []
        owes = self.spent[self.to_act] < self.spent[1 - self.to_act]
        return [FOLD, CALL] if owes else [CHECK]

    def legal_actions(self) -> list[Action]:
        """Fold (if chips are owed), check or call, then every size ascending; [] when over."""
        actions = self.passive_actions()
        bounds = self.raise_bounds()
        if bounds is not None:
            actions += [self.raise_action(amount) for amount in range(bounds[0], bounds[1] + 1)]
        return actions

    @property
    def num_legal_actions(self) -> int:
        """Length of `legal_actions`, without making the list."""
        bounds = self.raise_bounds()
        return len(self.passive_actions()) + (0 if bounds is None else bounds[1] - bounds[0] + 1)

    def legal_text(self) -> str:
        """The legal actions in words, sizes as a range, such as ``fold, call, raise-to:200..20000``."""
        if self.is_over:
            return "none, the betting is over"
        words = [str(action) for action in self.passive_actions()]
        bounds = self.raise_bounds()
        if bounds is not None:
            low, high = bounds
            words.append(str(self.raise_action(low)) + (f"..{high}" if high > low else ""))
        return ", ".join(words)

    def is_legal(self, action: Action) -> bool:
        if action.kind not in ("bet", "raise-to"):
            return action in self.passive_actions()
        bounds = self.raise_bounds()
        return (
            bounds is not None
            and type(action.amount) is int
            and bounds[0] <= action.amount <= bounds[1]
            and action == self.raise_action(action.amount)
        )

    def __str__(self) -> str:
        """The line so far, such as ``raise-to:300 call/check``."""
        return "/".join(" ".join(map(str, actions)) for actions in self.history)

    def play(self, action: Action | str) -> Betting:
        """The state after an action; IllegalAction if it is not legal."""
        if not isinstance(action, Action):
            try:
                action = Action.parse(action)
            except IllegalAction as error:
                raise IllegalAction(f"{error}; legal: {self.legal_text()}") from None
        if not self.is_legal(action):
            raise IllegalAction(f"{action} is not legal here; legal: {self.legal_text()}")
        player = self.to_act
        assert player is not None
        other = 1 - player
        history = (*self.history[:-1], (*self.history[-1], action))
        if action.kind == "fold":
            return self._replace(to_act=None, folded=player, history=history)
        if action.kind in ("bet", "raise-to"):
            total = self.round_start[player] + action.amount
            bets = list(self.bets)
            bets[player] += 1
            return self._replace(
                spent=_pair(player, total, self.spent[other]),
                bets=tuple(bets),
                to_act=other,
                min_raise_to=max(self.min_raise_to, 2 * total - max(self.spent)),
                history=history,
            )
        total = max(self.spent)
        if self.rules.stacks is not None:
            total = min(total, self.rules.stacks[player])
        after = self._replace(
            spent=_pair(player, max(total, self.spent[player]), self.spent[other]), history=history
        )
        if after.is_all_in(player) or after.is_all_in(other):
            return after._replace(to_act=None)
        if len(self.history[-1]) == 0:  # the other player has not acted in this round yet
            return after._replace(to_act=other)
        if self.round + 1 == self.rules.num_rounds:
            return after._replace(to_act=None)
        return after._replace(
            round=self.round + 1,
            round_start=after.spent,
            bets=(0, 0),
            to_act=self.rules.first_player[self.round + 1],
            min_raise_to=max(after.spent) + self.rules.big_blind,
            history=(*history, ()),
        )


def _pair(player: int, own: int, others: int) -> tuple[int, int]:
    return (own, others) if player == 0 else (others, own)

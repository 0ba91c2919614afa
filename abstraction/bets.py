"""Bet abstraction: the bets and raises that a strategy knows, by round and by raises made so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ..game.bet_sizes import BetSize, Menu, parse_menu, wanted_bet
from ..game.betting import Action, Betting

ROUNDS = ("preflop", "flop", "turn", "river")
ALL_IN = BetSize.parse("a")
MINIMUM = BetSize.parse("min")
_THRESHOLDS = ("all_in_share", "add_all_in", "force_all_in")


@dataclass(frozen=True)
class BetMenu:
    """Which bets and raises a player has; folding, checking and calling are always there.

    A menu is a text for all rounds, or a table as in a TOML file (`from_value`):

        bets = "50%, 100%, a"

        [bets]
        preflop = ["2.5x, a", "100%, a"]    # first raise; later ones
        flop = ["33%, 75%, e", "2.5x, a"]   # the turn and river are as the flop
        min_raise = true

    The sizes are those of `game.bet_sizes`. An entry of a list stands for the number of bets and raises
    that were made in the round (blinds are none); the last one goes on for higher numbers, and "" offers
    nothing. A round that is left out is as the one before it. Every size is clipped to what is legal:
    whole chips, each amount once, ascending. In limit games an entry with any size means the one legal bet.

    Attributes:
        rounds: by round, by number of bets and raises made in it, the sizes; the last ones go on. None:
            every legal amount.
        min_raise: whether the smallest legal amount is on offer wherever an entry has sizes.
        all_in_share: a bet of more than this share of the player's remaining chips becomes all-in.
        force_all_in: a bet becomes all-in if at most so many pots are behind after a call.
        add_all_in: all-in is on offer too where it is at most so many pots (and the entry has sizes).
    """

    rounds: tuple[tuple[Menu, ...], ...] | None
    min_raise: bool = False
    all_in_share: float | None = None
    force_all_in: float | None = None
    add_all_in: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.min_raise, bool):
            raise ValueError(f"min_raise must be true or false, not {self.min_raise!r}")
        for key in _THRESHOLDS:
            value = getattr(self, key)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
                raise ValueError(f"{key} must be a positive number, not {value!r}")
            object.__setattr__(self, key, float(value))
        if self.rounds is None:
            if self.min_raise or any(getattr(self, key) is not None for key in _THRESHOLDS):
                raise ValueError("a menu of every legal bet has no min_raise and no all-in thresholds")
            return
        if not 1 <= len(self.rounds) <= len(ROUNDS) or not all(self.rounds):
            raise ValueError("a bet menu has sizes for one to four rounds")
        if not all(isinstance(size, BetSize) for row in self.rounds for entry in row for size in entry):
            raise ValueError("the entries of a bet menu are BetSize: BetMenu.from_value reads texts")
        # What goes on anyway is left out, so that equal menus are equal.
        rounds = _without_repeats([_without_repeats(entries) for entries in self.rounds])
        object.__setattr__(self, "rounds", rounds)

    @property
    def is_full(self) -> bool:
        """Whether every legal bet is on offer."""
        return self.rounds is None

    def sizes(self, betting: Betting) -> dict[int, BetSize]:
        """The bets and raises on offer, ascending, and the size in the menu behind each.

        Amounts are chips of the player in this round, as in `Action`; {} where no raise is legal.
        """
        bounds, player = betting.raise_bounds(), betting.to_act
        if bounds is None or player is None:
            return {}
        low, high = bounds
        # What puts the shorter stack all-in is all-in: more of the longer one is the same bet.
        stacks = betting.rules.stacks
        top = high if stacks is None else max(low, min(high, min(stacks) - betting.round_start[player]))
        bet = max(betting.spent) - betting.round_start[player]
        if self.rounds is None:
            return {n: BetSize(Fraction(n - bet), "c") for n in range(low, high + 1)}
        entries = self.rounds[min(betting.round, len(self.rounds) - 1)]
        made = sum(1 for action in betting.history[-1] if action.amount)
        menu = entries[min(made, len(entries) - 1)]
        if not menu:
            return {}
        if betting.rules.betting == "limit":
            return {low: MINIMUM}
        wanted = [(MINIMUM, low)] if self.min_raise else []
        wanted += [(size, amount) for size in menu if (amount := wanted_bet(size, betting)) is not None]
        pot = max(betting.spent) + betting.spent[1 - player]
        if self.add_all_in is not None and top - bet <= _exact(self.add_all_in) * pot:
            wanted.append((ALL_IN, high))
        has_all_in = any(size == ALL_IN for size, _ in wanted)
        own = betting.spent[player] - betting.round_start[player]
        found: dict[int, BetSize] = {}
        for size, amount in wanted:
            if amount > high and has_all_in:
                continue  # beyond all-in: it gives way, as in `menu_bets`
            if amount >= top or self._becomes_all_in(amount, top, bet, own, pot):
                size, amount = ALL_IN, high
            found.setdefault(amount, size)
        return dict(sorted(found.items()))

    def _becomes_all_in(self, amount: int, top: int, bet: int, own: int, pot: int) -> bool:
        if self.all_in_share is not None and amount - own > _exact(self.all_in_share) * (top - own):
            return True
        after_call = pot + 2 * (amount - bet)
        return self.force_all_in is not None and top - amount <= _exact(self.force_all_in) * after_call

    def actions(self, betting: Betting) -> list[Action]:
        """Fold (if chips are owed), check or call, then the menu's bets ascending; [] when over."""
        if self.rounds is None:
            return betting.legal_actions()
        return betting.passive_actions() + [betting.raise_action(n) for n in self.sizes(betting)]

    def num_actions(self, betting: Betting) -> int:
        """Length of `actions`, without making the list where every bet is legal."""
        return betting.num_legal_actions if self.rounds is None else len(self.actions(betting))

    @classmethod
    def from_value(cls, value: Any) -> BetMenu:
        """The menu that a TOML or JSON value says: a preset's name, sizes as text, or a table.

        Raises ValueError for what is none.
        """
        if isinstance(value, BetMenu):
            return value
        if isinstance(value, str):
            if value in MENUS:
                return MENUS[value]
            return cls(((_sizes(value, "bets"),),))
        if not isinstance(value, Mapping):
            raise ValueError(
                f"bets must be {', '.join(MENUS)}, sizes such as '50%, 100%, a', or a table of rounds, "
                f"not {value!r}"
            )
        known = (*ROUNDS, "min_raise", *_THRESHOLDS)
        if unknown := [key for key in value if key not in known]:
            raise ValueError(f"unknown key {unknown[0]!r}: a table of bets has {', '.join(known)}")
        if ROUNDS[0] not in value:
            raise ValueError(f"a table of bets begins with {ROUNDS[0]}, the first round")
        rounds: list[tuple[Menu, ...]] = []
        last = max(ROUNDS.index(key) for key in value if key in ROUNDS)
        for name in ROUNDS[: last + 1]:
            rounds.append(_entries(value[name], f"bets.{name}") if name in value else rounds[-1])
        return cls(
            tuple(rounds), **{key: value[key] for key in known if key in value and key not in ROUNDS}
        )

    def to_value(self) -> Any:
        """The shortest value that `from_value` reads back: a name, a text or a table."""
        for name, menu in MENUS.items():
            if menu == self:
                return name
        assert self.rounds is not None  # FULL has a name
        rest = {key: getattr(self, key) for key in ("min_raise", *_THRESHOLDS) if getattr(self, key)}
        if not rest and len(self.rounds) == len(self.rounds[0]) == 1:
            return _text(self.rounds[0][0])
        rounds = zip(ROUNDS, self.rounds, strict=False)
        return {name: list(map(_text, entries)) for name, entries in rounds} | rest

    def __str__(self) -> str:
        """The menu in a line."""
        value = self.to_value()
        if isinstance(value, str):
            return value
        return "; ".join(
            f"{key} {' | '.join(entry) if isinstance(entry, list) else entry}"
            for key, entry in value.items()
        )


def _exact(threshold: float) -> Fraction:
    """A threshold as it was written: 0.1 is a tenth."""
    return Fraction(repr(threshold))


def _without_repeats(entries: Sequence[Any]) -> tuple[Any, ...]:
    """The entries without those at the end that repeat the one before."""
    count = len(entries)
    while count > 1 and entries[count - 1] == entries[count - 2]:
        count -= 1
    return tuple(entries[:count])


def _sizes(text: Any, key: str) -> Menu:
    if not isinstance(text, str):
        raise ValueError(f"{key} must be sizes such as '50%, 100%, a', not {text!r}")
    try:
        return parse_menu(text) if text.strip() else ()
    except ValueError as error:
        hint = f"; or a preset: {', '.join(MENUS)}" if key == "bets" else ""
        raise ValueError(f"{key}: {error}{hint}") from None


def _entries(value: Any, key: str) -> tuple[Menu, ...]:
    if isinstance(value, str):
        return (_sizes(value, key),)
    if not isinstance(value, list | tuple) or not value:
        raise ValueError(f"{key} must be sizes, or a list of them by raises made, not {value!r}")
    return tuple(_sizes(entry, key) for entry in value)


def _text(menu: Menu) -> str:
    return ", ".join(map(str, menu))


FULL = BetMenu(None)
_DENSE = {
    "preflop": ["50%, 75%, 100%, 150%, 300%, a", "50%, 75%, 100%, 200%, a", "100%, a", "a"],
    "flop": ["33%, 50%, 75%, 100%, 200%, a", "50%, 100%, 200%, a", "100%, a", "a"],
    "turn": ["50%, 75%, 100%, 200%, a", "50%, 100%, a", "a"],
    "river": ["33%, 50%, 75%, 100%, 200%, a", "50%, 100%, a", "a"],
}
#: Menus by name: every legal bet; none; the pot and all-in; half the pot too; many sizes early in a hand
#: and for first bets, fewer for later raises.
MENUS: dict[str, BetMenu] = {"full": FULL}
MENUS["fc"] = BetMenu.from_value("")
MENUS["fcpa"] = BetMenu.from_value("100%, a")
MENUS["fchpa"] = BetMenu.from_value("50%, 100%, a")
MENUS["dense"] = BetMenu.from_value(_DENSE)

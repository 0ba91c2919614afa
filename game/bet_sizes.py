"""Bet sizes as text, such as ``50%``, ``2.5x``, ``20c`` or ``a``, and menus of them.

    50%    bet half the pot; raise by half of what the pot is after calling
    2.5x   raise to 2.5 times the previous bet of this round (no bet: not on offer)
    20c    bet 20 chips; raise by 20 chips
    a      all-in

Numbers are exact fractions, and halves of a chip are rounded up: 57% of 100 chips is 57, 50% of 25
is 13. The big blind is the previous bet before the flop.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fractions import Fraction
from math import floor
from typing import NamedTuple

from .betting import Betting

_PATTERN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([%xc])")  # few enough digits for `str`


class BetSize(NamedTuple):
    """One size of a menu.

    Attributes:
        number: percent of the pot, times the previous bet or chips; 0 for all-in.
        unit: ``"%"``, ``"x"``, ``"c"``, or ``"a"`` for all-in.
    """

    number: Fraction
    unit: str

    @classmethod
    def parse(cls, text: str) -> BetSize:
        """The size of that text; ValueError for a text that is none."""
        if text == "a":
            return cls(Fraction(0), "a")
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a bet size: write sizes such as 50%, 2.5x, 20c, or a")
        number, unit = Fraction(match[1]), match[2]
        least = 1 if unit == "x" else 0
        if number <= least:
            raise ValueError(f"bet size {text!r} must be above {least}{unit}")
        if unit == "c" and number.denominator > 1:
            raise ValueError(f"bet size {text!r}: chips are whole numbers")
        return cls(number, unit)

    def __str__(self) -> str:
        number = f"{float(self.number):.6f}".rstrip("0").rstrip(".")
        return "a" if self.unit == "a" else number + self.unit

    def step(self, pot: int, bet: int) -> int | None:
        """Chips on top of the previous bet, or None where the size says none (``a``; ``2x`` of no bet).

        Args:
            pot: chips in the middle after calling.
            bet: chips of the previous bet in this round, 0 for none.
        """
        if self.unit == "%":
            return _round(self.number * pot / 100)
        if self.unit == "x":
            return _round(self.number * bet) - bet if bet else None
        return int(self.number) if self.unit == "c" else None


Menu = tuple[BetSize, ...]


def parse_menu(text: str) -> Menu:
    """The sizes of a menu, separated by semicolons, commas or blanks.

    Raises ValueError for an empty menu and for a text that is no bet size.
    """
    sizes = tuple(BetSize.parse(word) for word in re.split(r"[;,\s]+", text) if word)
    if not sizes:
        raise ValueError("a bet menu needs at least one size, such as 50%;100%;a")
    return sizes


def menu_bets(menu: Sequence[BetSize], betting: Betting) -> dict[int, int]:
    """The bets or raises of a menu that the player to act has, by index in the menu.

    Amounts are chips of the player in this round, as in `Betting.raise_bounds` and `Action`; {} where
    no bet or raise is legal. A size below the smallest legal amount becomes that amount. One beyond
    all-in gives way to the menu's ``a``, and becomes all-in where there is none. Of equal amounts the
    first in the menu stays.
    """
    bounds, player = betting.raise_bounds(), betting.to_act
    if bounds is None or player is None:
        return {}
    low, high = bounds
    bet = max(betting.spent) - betting.round_start[player]
    pot = max(betting.spent) + betting.spent[1 - player]
    has_all_in = any(size.unit == "a" for size in menu)
    bets: dict[int, int] = {}
    for index, size in enumerate(menu):
        step = size.step(pot, bet)
        if step is None and size.unit != "a":
            continue
        amount = high if step is None else max(low, bet + step)
        if amount > high:
            if has_all_in:
                continue
            amount = high
        if amount not in bets.values():
            bets[index] = amount
    return bets


def _round(number: Fraction) -> int:
    """The nearest whole number, of two the larger one."""
    return floor(number + Fraction(1, 2))

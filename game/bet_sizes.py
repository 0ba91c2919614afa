"""Bet sizes as text, such as ``50%``, ``2.5x``, ``20c`` or ``a``, and menus of them.

    50%    bet half the pot; raise by half of what the pot is after calling
    2.5x   raise to 2.5 times the previous bet of this round (no bet: not on offer)
    20c    bet 20 chips; raise by 20 chips
    a      all-in
    e      geometric: the share of the pot that, bet and called once in this and every later round,
           puts the shorter stack all-in with the last bet
    2e     the same in two bets, whatever the rounds to come
    min    the smallest legal bet or raise

Numbers are exact fractions, and halves of a chip are rounded up: 57% of 100 chips is 57, 50% of 25
is 13. The big blind is the previous bet before the flop.

    >>> BetSize.parse("e").step(pot=200, bet=0, behind=800, bets_left=2)  # 200, then 600 into 600
    200
    >>> [BetSize.parse(text).step(pot=100, bet=40) for text in ("50%", "2.5x", "20c")]
    [50, 60, 20]
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

from .betting import Betting

_PATTERN = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)([%xce])")  # few enough digits for `str`
_PLAIN = ("a", "e", "min")  # units that need no number
_MOST_BETS = 20  # of a geometric size: beyond this each one is next to nothing


class BetSize(NamedTuple):
    """One size of a menu.

    Attributes:
        number: percent of the pot, times the previous bet, chips, or bets of a geometric size (0: one in
            each round); 0 for all-in and the minimum.
        unit: ``"%"``, ``"x"``, ``"c"``, ``"e"``, ``"a"`` (all-in) or ``"min"``.
    """

    number: Fraction
    unit: str

    @classmethod
    def parse(cls, text: str) -> BetSize:
        """The size of that text; ValueError for a text that is none."""
        if text in _PLAIN:
            return cls(Fraction(0), text)
        match = _PATTERN.fullmatch(text)
        if match is None:
            raise ValueError(
                f"{text!r} is not a bet size: write sizes such as 50%, 2.5x, 20c, or a (all-in), "
                "e (geometric), min"
            )
        number, unit = Fraction(match[1]), match[2]
        least = 1 if unit == "x" else 0
        if number <= least:
            raise ValueError(f"bet size {text!r} must be above {least}{unit}")
        if unit == "c" and number.denominator > 1:
            raise ValueError(f"bet size {text!r}: chips are whole numbers")
        if unit == "e" and (number.denominator > 1 or number > _MOST_BETS):
            raise ValueError(f"bet size {text!r}: write e, or in how many bets, 1e to {_MOST_BETS}e")
        return cls(number, unit)

    def __str__(self) -> str:
        if not self.number:
            return self.unit
        return f"{float(self.number):.6f}".rstrip("0").rstrip(".") + self.unit

    def step(self, pot: int, bet: int, behind: int = 0, bets_left: int = 1) -> int | None:
        """Chips on top of the previous bet, or None where the size says none (``a``; ``2x`` of no bet).

        Args:
            pot: chips in the middle after calling.
            bet: chips of the previous bet in this round, 0 for none.
            behind: chips of the shorter stack after calling (geometric sizes).
            bets_left: this round and the rounds to come (``e``).
        """
        number, unit = self.number, self.unit
        if unit == "%":
            return _nearest(number.numerator * pot, 100 * number.denominator)
        if unit == "x":
            return _nearest(number.numerator * bet, number.denominator) - bet if bet else None
        if unit == "c":
            return int(number)
        if unit == "e":
            return _geometric(pot, behind, int(number) or bets_left)
        return 0 if unit == "min" else None


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
    bounds = betting.raise_bounds()
    if bounds is None:
        return {}
    high = bounds[1]
    has_all_in = any(size.unit == "a" for size in menu)
    bets: dict[int, int] = {}
    for index, size in enumerate(menu):
        amount = wanted_bet(size, betting)
        if amount is None or (amount > high and has_all_in):
            continue
        amount = min(amount, high)
        if amount not in bets.values():
            bets[index] = amount
    return bets


def wanted_bet(size: BetSize, betting: Betting) -> int | None:
    """Chips of the player in this round after a bet or raise of that size.

    At least the smallest legal amount; a size may ask for more than the largest one. None where no bet or
    raise is legal, or the size says none.
    """
    bounds, player = betting.raise_bounds(), betting.to_act
    if bounds is None or player is None:
        return None
    low, high = bounds
    if size.unit == "a":
        return high
    highest, rules = max(betting.spent), betting.rules
    bet, pot = highest - betting.round_start[player], highest + betting.spent[1 - player]
    behind = min(rules.stacks) - highest if rules.stacks else 0
    step = size.step(pot, bet, behind, rules.num_rounds - betting.round)
    return None if step is None else max(low, bet + step)


def _nearest(numerator: int, denominator: int) -> int:
    """The whole number nearest to a fraction, of two the larger one."""
    return (2 * numerator + denominator) // (2 * denominator)


def _geometric(pot: int, behind: int, bets: int) -> int:
    """Chips of the first of so many bets, equal shares of the pot, that put a stack all-in.

    A called share f makes (1 + 2 f) pots of one, so that (1 + 2 f)^bets = (pot + 2 behind) / pot. The
    nearest whole number without taking a root: f * pot >= k - 1/2 is a comparison of integers.
    """
    end = (pot + 2 * behind) * pot ** (bets - 1)
    return bisect_right(range(1, behind + 1), end, key=lambda chips: (pot + 2 * chips - 1) ** bets)

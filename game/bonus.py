"""The Multi-Pay Bonus: a side bet on the player's own hand after the flop, the turn and the river.

Casino rules of heads-up limit hold'em make it mandatory, for one to five credits: the player's two cards
with the board are judged on five, six and seven cards and paid by a pay table. The rules that are
published print no table, so it is read from TOML. Pairs and better hands on the board count as the
player's own. The bonus is apart from the chips of the hand: `Hand.winnings` stays zero-sum.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from .cards import RANKS, parse_cards
from .hand import Hand
from .rules import Rules
from .strength import CATEGORIES, CATEGORY_TOP, MAX_STRENGTH, hand_strength
from .toml_file import read_toml

INTERVALS = ("flop", "turn", "river")
"""When the bonus is judged: with three, four and five cards on the board."""
MAX_CREDITS = 5
MAX_PAY = 1_000_000

_RANK_WORDS = (
    "deuces", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines", "tens", "jacks", "queens",
    "kings", "aces",
)  # fmt: skip
_PAIRS = tuple(f"pair of {word}" for word in _RANK_WORDS)
#: The finest classes of hands that a pay table can tell apart, ascending.
HAND_CLASSES = (CATEGORIES[0], *_PAIRS, *CATEGORIES[2:], "royal flush")
#: Smallest strength of each class: the pairs of one rank are 220 hands, by their three kickers.
_CLASS_FIRST = np.concatenate(
    [[1], CATEGORY_TOP[0] + 1 + 220 * np.arange(13), CATEGORY_TOP[1:-1] + 1, [MAX_STRENGTH]]
)
#: uint8 [MAX_STRENGTH + 1]: class of each strength; that of 0, "no hand", means nothing.
CLASS_OF_STRENGTH = np.maximum(
    np.searchsorted(_CLASS_FIRST, np.arange(MAX_STRENGTH + 1), side="right") - 1, 0
).astype(np.uint8)

# The classes [first, end) of each line that a pay table may have.
_LINES = {
    name: (HAND_CLASSES.index(name), HAND_CLASSES.index(name) + 1)
    for name in CATEGORIES
    if name != "pair"
}
_LINES["straight flush"] = (len(HAND_CLASSES) - 2, len(HAND_CLASSES))
_LINES["royal flush"] = (len(HAND_CLASSES) - 1, len(HAND_CLASSES))
_LINES["pair"] = (1, 14)
_LINES |= {f"{pair} or better": (place, 14) for place, pair in enumerate(_PAIRS, start=1)}
_LETTERS = {
    f"pair of {letter.lower()} or better": f"{pair} or better"
    for letter, pair in zip((*RANKS, "10"), (*_PAIRS, _PAIRS[8]), strict=True)
}


@dataclass(frozen=True)
class PayTable:
    """What the bonus pays, and how the points that the published rules leave open are read.

    A line names a category of hands (`CATEGORIES`, also "royal flush") or "pair of jacks or better" (any
    rank, as a word or a letter), and its pay "to one". Where several lines name a hand, the narrowest
    one holds: a royal flush has its own line or that of the straight flush, a pair the line with the
    highest rank that it reaches. "Or better" means better pairs: a category without a line pays nothing.

    Attributes:
        name: of the table; it goes into everything that is printed or saved with a result.
        lines: by interval (`INTERVALS`), pairs of line and pay, or a mapping; without lines the interval
            does not exist. Pays are kept as fractions: 0 to a million, at most four decimals.
        stake: "each": every interval is a bet of its own, which wins the pay or loses the stake; a pay of
            0 gives the stake back. "once": one stake is paid at the start and is gone; each interval
            pays its line or nothing.
        fold_ends: whether a fold forfeits the intervals that are not yet judged. "never": they are dealt
            and judged all the same. "player": the fold of the bonus's own player does. "any": either
            player's does.
        forfeit: with "each", what a forfeited interval costs: "lost": its stake, as the bet is mandatory;
            "returned": nothing. With "once" there is nothing to return.

    Raises ValueError for anything else.
    """

    name: str
    lines: tuple[tuple[tuple[str, Fraction], ...], ...]
    stake: str = "each"
    fold_ends: str = "never"
    forfeit: str = "lost"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.strip() or not self.name.isprintable():
            raise ValueError('a pay table needs a name in one line: name = "..."')
        for key, known in _CHOICES.items():
            if getattr(self, key) not in known:
                raise ValueError(
                    f"pay table {self.name}: {key} is one of {', '.join(known)}, not {getattr(self, key)!r}"
                )
        if len(self.lines) != len(INTERVALS):
            raise ValueError(
                f"pay table {self.name}: lines need an entry for each of {', '.join(INTERVALS)}"
            )
        lines = tuple(
            self._check_lines(interval, rows)
            for interval, rows in zip(INTERVALS, self.lines, strict=True)
        )
        if not any(lines):
            raise ValueError(f"pay table {self.name} is empty: give lines in [flop], [turn] or [river]")
        object.__setattr__(self, "lines", lines)

    def _check_lines(
        self, interval: str, rows: Mapping[str, Any] | Iterable[tuple[str, Any]]
    ) -> tuple[tuple[str, Fraction], ...]:
        where = f"pay table {self.name}, {interval}"
        checked: dict[tuple[int, int], tuple[str, Fraction]] = {}
        for text, pay in rows.items() if isinstance(rows, Mapping) else rows:
            line = _LETTERS.get(text.lower(), text.lower())
            if line not in _LINES:
                raise ValueError(
                    f"{where}: unknown line {text!r}: lines are {', '.join(CATEGORIES)}, royal flush, "
                    "pair of jacks or better (or of another rank)"
                )
            if _LINES[line] in checked:
                raise ValueError(
                    f"{where}: {text!r} and {checked[_LINES[line]][0]!r} are the same hands"
                )
            checked[_LINES[line]] = line, _exact_pay(pay, f"{where}: {line}")
        return tuple(checked.values())

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> PayTable:
        """From the keys of a PAYTABLE.toml; ValueError for unknown or missing ones."""
        known = ("name", *_CHOICES, *INTERVALS)
        if unknown := set(values) - set(known):
            raise ValueError(f"unknown key {min(unknown)!r}: a pay table has {', '.join(known)}")
        for interval in INTERVALS:
            if interval in values and not (isinstance(values[interval], Mapping) and values[interval]):
                raise ValueError(
                    f'{interval} is a table of lines and pays, such as [{interval}] and "two pair" = 2; '
                    "leave it out if the bonus is not judged then"
                )
        rest = {key: values[key] for key in _CHOICES if key in values}
        lines = tuple(values.get(interval, {}) for interval in INTERVALS)
        return cls(values.get("name", ""), lines, **rest)  # checked and converted there

    @classmethod
    def from_toml(cls, source: str | Path) -> PayTable:
        """Read a PAYTABLE.toml, or its text (with line breaks); see `EXAMPLE.to_toml()` for the form.

        Raises ValueError, with the file's name, for anything wrong in it.
        """
        if isinstance(source, str) and "\n" in source:
            return cls.from_dict(tomllib.loads(source))
        return read_toml(source, cls.from_dict)

    def to_toml(self) -> str:
        """Text that `from_toml` reads back."""
        rows = [f"name = {json.dumps(self.name, ensure_ascii=False)}"]
        rows += [f'{key} = "{getattr(self, key)}"' for key in _CHOICES]
        for index in self.intervals:
            rows += ["", f"[{INTERVALS[index]}]"]
            rows += [
                f'"{line}" = {pay.numerator if pay.denominator == 1 else float(pay)}'
                for line, pay in self.lines[index]
            ]
        return "\n".join(rows) + "\n"

    @property
    def intervals(self) -> tuple[int, ...]:
        """Indices into `INTERVALS` of those that exist."""
        return tuple(index for index, rows in enumerate(self.lines) if rows)

    @property
    def start_profit(self) -> int:
        """Profit in stakes that is added to the sum of the intervals: the one stake of "once"."""
        return -1 if self.stake == "once" else 0

    @property
    def forfeit_profit(self) -> int:
        """Profit in stakes of an interval that a fold forfeits."""
        return -1 if self.stake == "each" and self.forfeit == "lost" else 0

    def profit_by_class(self, interval: int) -> tuple[tuple[Fraction, bool], ...]:
        """By `HAND_CLASSES`, the profit in stakes and whether a line pays it.

        Raises ValueError for an interval that does not exist.
        """
        if interval not in self.intervals:
            raise ValueError(f"pay table {self.name} has no interval {interval}")
        profits = [(Fraction(-1 if self.stake == "each" else 0), False)] * len(HAND_CLASSES)
        # The lines of a category end at the same hand, so that the narrower ones come later.
        for line, pay in sorted(self.lines[interval], key=lambda row: _LINES[row[0]]):
            first, end = _LINES[line]
            profits[first:end] = [(pay, True)] * (end - first)
        return tuple(profits)

    def profit_by_strength(self, interval: int) -> np.ndarray:
        """float64 [MAX_STRENGTH + 1]: profit in stakes by hand strength; entry 0 is a forfeited interval's.

        Raises ValueError for an interval that does not exist.
        """
        by_class = np.array([float(profit) for profit, _ in self.profit_by_class(interval)])
        out = by_class[CLASS_OF_STRENGTH]
        out[0] = self.forfeit_profit
        return out

    def check_fits(self, rules: Rules) -> None:
        """ValueError unless the game deals two hole cards and the boards of all intervals."""
        sizes = [rules.board_size(index) for index in range(rules.num_rounds)]
        needed = [0, *(3 + index for index in range(max(self.intervals) + 1))]
        if rules.num_hole_cards != 2 or sizes[: len(needed)] != needed:
            raise ValueError(
                f"pay table {self.name} needs two hole cards and boards of {'-'.join(map(str, needed))} "
                f"cards; {rules.name} has {rules.num_hole_cards} and {'-'.join(map(str, sizes))}"
            )

    def profits(
        self,
        hole: str | Iterable[str | int],
        board: str | Iterable[str | int],
        ended: int | None = None,
    ) -> dict[str, Fraction]:
        """Profit in stakes of each interval settled so far; their sum is the whole.

        Args:
            hole: the player's two cards.
            board: the community cards dealt so far, in order: none, or three to five.
            ended: the round (0 = preflop) whose betting ended the bonus, or None.

        Returns the intervals that are judged or forfeited, after "stake" where it is paid once.
        Raises ValueError for bad cards, or a board that the round of the end has not reached.
        """
        own, table = parse_cards(hole), parse_cards(board)
        parse_cards([*own, *table])
        if len(own) != 2 or len(table) not in (0, 3, 4, 5):
            raise ValueError(
                f"the bonus takes two hole cards and a board of 0 or 3 to 5, not {len(own)} and {len(table)}"
            )
        if ended is not None and not 0 <= ended <= min(3, max(0, len(table) - 2)):
            raise ValueError(f"the bonus cannot end in round {ended} on a board of {len(table)} cards")
        settled = {"stake": Fraction(self.start_profit)} if self.stake == "once" else {}
        for index in self.intervals:
            if ended is not None and index >= ended:  # judged in the round after
                settled[INTERVALS[index]] = Fraction(self.forfeit_profit)
            elif len(table) >= 3 + index:
                strength = int(hand_strength(np.array([*own, *table[: 3 + index]])))
                profit, _ = self.profit_by_class(index)[CLASS_OF_STRENGTH[strength]]
                settled[INTERVALS[index]] = profit
        return settled


_CHOICES = {
    "stake": ("each", "once"),
    "fold_ends": ("never", "player", "any"),
    "forfeit": ("lost", "returned"),
}


def _exact_pay(pay: Any, where: str) -> Fraction:
    """The pay as the decimal that was written; ValueError unless it is one between 0 and MAX_PAY."""
    if isinstance(pay, (int, float, Fraction)) and not isinstance(pay, bool) and 0 <= pay <= MAX_PAY:
        exact = Fraction(str(pay))
        if (exact * 10_000).denominator == 1:
            return exact
    raise ValueError(
        f'{where} pays {pay!r}: a pay is a number "to one" from 0 to {MAX_PAY:,}, with four decimals at most'
    )


EXAMPLE = PayTable.from_dict(
    {
        "name": "nashfold example (no casino's table)",
        "flop": {
            "pair of jacks or better": 2,
            "two pair": 4,
            "three of a kind": 6,
            "straight": 8,
            "flush": 12,
            "full house": 20,
            "four of a kind": 50,
            "straight flush": 100,
        },
        "turn": {
            "two pair": 2,
            "three of a kind": 4,
            "straight": 6,
            "flush": 8,
            "full house": 12,
            "four of a kind": 30,
            "straight flush": 60,
            "royal flush": 200,
        },
        "river": {
            "three of a kind": 2,
            "straight": 4,
            "flush": 6,
            "full house": 9,
            "four of a kind": 20,
            "straight flush": 40,
            "royal flush": 100,
        },
    }
)
"""A pay table to try things out with; as a file it is `EXAMPLE.to_toml()`."""


@dataclass(frozen=True)
class BonusBet:
    """A bonus of one to five whole credits; ValueError for another stake."""

    pay_table: PayTable
    credits: int = 1

    def __post_init__(self) -> None:
        if type(self.credits) is not int or not 1 <= self.credits <= MAX_CREDITS:
            raise ValueError(f"the bonus takes 1 to {MAX_CREDITS} whole credits, not {self.credits!r}")

    def board(self, hand: Hand, player: int) -> tuple[int, ...]:
        """Community cards that the bonus of a player is judged on so far.

        After a fold that does not end the bonus they are all of the hand's, dealt or not yet.
        """
        folded = hand.betting.folded
        return hand.board if folded is None or self._has_ended(hand, player) else hand.deal

    def _has_ended(self, hand: Hand, player: int) -> bool:
        ends = {"never": (), "player": (player,), "any": (0, 1)}[self.pay_table.fold_ends]
        return hand.betting.folded in ends

    def profits(self, hand: Hand, player: int) -> dict[str, Fraction]:
        """Profit in credits of each interval settled so far, for a player of a hand in play.

        After a fold the intervals still to come are forfeited, or judged on the cards that would have
        been dealt, as the pay table says. Apart from `Hand.winnings`; see `PayTable.profits`.

        Raises ValueError where the pay table does not fit the rules of the hand.
        """
        self.pay_table.check_fits(hand.rules)
        ended = hand.round if self._has_ended(hand, player) else None
        by_stake = self.pay_table.profits(hand.hole[player], self.board(hand, player), ended)
        return {interval: self.credits * profit for interval, profit in by_stake.items()}

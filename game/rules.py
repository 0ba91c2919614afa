"""The rules of a two-player poker game, and the ACPC server's game definitions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from math import nan
from numbers import Integral
from typing import Any

from .cards import Deck

MAX_CHIPS = 10**9
NO_CAP = 255  # the ACPC server's default for maxRaises: in effect no cap


_ACPC_KEYS = (
    "numPlayers",
    "numRounds",
    "stack",
    "blind",
    "raiseSize",
    "firstPlayer",
    "maxRaises",
    "numSuits",
    "numRanks",
    "numHoleCards",
    "numBoardCards",
    "limit",
    "nolimit",
)


def is_whole(value: Any, least: int, most: int | None = None) -> bool:
    """Whether a value is a whole number (of Python or NumPy, no bool) in a range."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return least <= int(value) and (most is None or int(value) <= most)


_TUPLES = ("blinds", "stacks", "bet_sizes", "max_bets", "first_player", "board_cards")


# One object for each size, so that its arrays are computed once. Nobody writes to them.
_deck = cache(Deck)


@dataclass(frozen=True)
class Rules:
    """Rules of a heads-up game. Chips are integers; tuples over rounds have one entry a round.

    Player 0 is the big blind and acts first after the flop; player 1 is the button and small blind.

    Attributes:
        betting: ``"limit"`` or ``"no-limit"``.
        blinds: forced bets of player 0 and player 1.
        stacks: chips of player 0 and player 1 at the start, or None for as many as needed (limit only).
        bet_sizes: limit only: chips of a bet or raise, by round.
        max_bets: largest number of bets and raises, by round, or None for no cap.
        cap_counts: ``"round"``: `max_bets` limits both players' bets together; ``"player"``: each
            player's own bets.
        blind_is_bet: whether the big blind counts as the first bet of the first round.
        first_player: the player who acts first, by round.
        board_cards: community cards dealt at the start of each round.
        num_ranks, num_suits: the deck: ranks and suits counted from the top.
        name, description: for people; two games of other names may have equal rules.
    """

    betting: str
    blinds: tuple[int, int]
    stacks: tuple[int, int] | None = None
    bet_sizes: tuple[int, ...] = ()
    max_bets: tuple[int, ...] | None = None
    cap_counts: str = "round"
    blind_is_bet: bool = True
    first_player: tuple[int, ...] = (1, 0, 0, 0)
    board_cards: tuple[int, ...] = (0, 3, 1, 1)
    num_ranks: int = 13
    num_suits: int = 4
    num_hole_cards: int = 2
    name: str = field(default="custom", compare=False)
    description: str = field(default="", compare=False, repr=False)

    def __post_init__(self) -> None:
        for key in _TUPLES:  # lists will do
            value = getattr(self, key)
            object.__setattr__(self, key, tuple(value) if isinstance(value, list) else value)
        rounds = len(self.board_cards)

        def need(ok: bool, message: str) -> None:
            if not ok:
                raise ValueError(f"rules {self.name}: {message}")

        chips = (*self.blinds, *(self.stacks or ()), *self.bet_sizes)
        need(
            all(type(value) is int and value < MAX_CHIPS for value in chips),
            f"chips must be whole numbers below {MAX_CHIPS:,}",
        )
        counts = (
            *self.board_cards, *self.first_player, *(self.max_bets or ()),
            self.num_ranks, self.num_suits, self.num_hole_cards,
        )  # fmt: skip
        need(
            all(type(value) is int for value in counts), "cards, players and caps must be whole numbers"
        )
        texts = (self.name, self.description)
        need(
            all(isinstance(t, str) and t.isprintable() for t in texts), "name and description are lines"
        )
        need(isinstance(self.blind_is_bet, bool), "blind_is_bet must be true or false")
        need(self.betting in ("limit", "no-limit"), "betting must be limit or no-limit")
        need(1 <= rounds <= 4, "there must be 1 to 4 rounds")
        need(min(self.board_cards) >= 0, "board cards cannot be negative")
        need(len(self.first_player) == rounds, f"first_player needs {rounds} entries, one a round")
        need(set(self.first_player) <= {0, 1}, "first_player must be 0 or 1")
        need(len(self.blinds) == 2 and min(self.blinds) >= 0, "there must be two blinds, not negative")
        need(max(self.blinds) > 0, "at least one blind must be positive")
        if self.betting == "limit":
            need(
                len(self.bet_sizes) == rounds and min(self.bet_sizes) > 0,
                f"bet_sizes needs {rounds} positive entries, one a round",
            )
            need(self.max_bets is not None, "limit betting needs max_bets")
        else:
            need(self.stacks is not None, "no-limit betting needs stacks")
            need(not self.bet_sizes, "bet_sizes belong to limit betting")
        if self.stacks is not None:
            need(len(self.stacks) == 2 and min(self.stacks) > 0, "there must be two positive stacks")
        if self.max_bets is not None:
            need(
                len(self.max_bets) == rounds and min(self.max_bets) >= 0,
                f"max_bets needs {rounds} entries, one a round",
            )
        need(self.cap_counts in ("round", "player"), "cap_counts must be round or player")
        need(1 <= self.num_hole_cards <= 3, "there must be 1 to 3 hole cards")
        need(
            2 * self.num_hole_cards + sum(self.board_cards) <= self.deck.size,
            f"a deck of {self.deck.size} cards is too small for these hole and board cards",
        )
        need(
            self.num_hole_cards + sum(self.board_cards) <= 7,
            "hands have at most seven cards, hole cards and board together",
        )

    @property
    def num_rounds(self) -> int:
        return len(self.board_cards)

    @property
    def deck(self) -> Deck:
        return _deck(self.num_ranks, self.num_suits)

    @property
    def big_blind(self) -> int:
        """The larger blind in chips: the unit of mbb/h."""
        return max(self.blinds)

    def mbb_per_hand(self, chips: float, hands: int = 1) -> float:
        """Chips over so many hands in milli big blinds per hand; not a number without a hand."""
        return 1000 * chips / self.big_blind / hands if hands else nan

    def board_size(self, round_index: int) -> int:
        """Number of community cards on the table in a round."""
        return sum(self.board_cards[: round_index + 1])

    def in_words(self) -> str:
        """The rules in words, one a line: what an ACPC definition cannot say too."""

        def row(values: Iterable[int]) -> str:
            return " ".join(f"{value:,}" for value in values)

        lines = [
            f"deck: {self.deck.size} cards, the top {self.num_ranks} ranks in {self.num_suits} suits",
            f"cards: {self.num_hole_cards} in each hand, on the board {row(self.board_cards)} by round",
            f"first to act: player {row(self.first_player)} by round",
            f"forced bets: player 0 {self.blinds[0]:,}, player 1 {self.blinds[1]:,}",
            "stacks: as many chips as needed" if self.stacks is None else f"stacks: {row(self.stacks)}",
            f"betting: {self.betting}" + (f", bets {row(self.bet_sizes)}" if self.bet_sizes else ""),
        ]
        if self.max_bets is not None:
            whose = "both players together" if self.cap_counts == "round" else "each player"
            blind = "the big blind is the first" if self.blind_is_bet else "forced bets do not count"
            lines.append(f"cap: {row(self.max_bets)} bets and raises by round, {whose}; {blind}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values; `from_dict` reads them back."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Rules:
        """Rules from `to_dict`, also after a way through JSON; ValueError for unknown or missing fields."""
        try:
            return cls(**values)
        except TypeError as error:
            raise ValueError(f"rules are a table of the fields of Rules: {error}") from None

    # The ACPC server's definitions --------------------------------------------------------------

    def to_acpc(self) -> str:
        """The rules as an ACPC game definition; ValueError where it cannot express them."""
        if self.cap_counts != "round":
            raise ValueError("an ACPC game definition has no cap on each player's own bets")
        rounds = range(self.num_rounds)

        def row(values) -> str:
            return " ".join(str(value) for value in values)

        lines = ["GAMEDEF", self.betting.replace("-", ""), "numPlayers = 2"]
        lines.append(f"numRounds = {self.num_rounds}")
        if self.stacks is not None:
            lines.append(f"stack = {row(self.stacks)}")
        lines.append(f"blind = {row(self.blinds)}")
        if self.betting == "limit":
            lines.append(f"raiseSize = {row(self.bet_sizes)}")
        lines.append(f"firstPlayer = {row(player + 1 for player in self.first_player)}")
        if self.max_bets is not None:
            lines.append(f"maxRaises = {row(self.max_raises(r) for r in rounds)}")
        lines.append(f"numSuits = {self.num_suits}")
        lines.append(f"numRanks = {self.num_ranks}")
        lines.append(f"numHoleCards = {self.num_hole_cards}")
        lines.append(f"numBoardCards = {row(self.board_cards)}")
        return "\n".join([*lines, "END GAMEDEF"]) + "\n"

    def max_raises(self, round_index: int) -> int | None:
        """Bets that may still be made after the forced ones, both players together (None: no cap)."""
        if self.max_bets is None:
            return None
        players = 2 if self.cap_counts == "player" else 1
        forced = int(self.blind_is_bet and round_index == 0)
        return max(0, players * self.max_bets[round_index] - forced)

    @classmethod
    def from_acpc(cls, text: str) -> Rules:
        """Rules from an ACPC game definition: lines, or one line with fields separated by ";".

        Keys are free of case and ``=`` is optional, as in the server. Raises ValueError for a key or
        value it does not know, and for games of more than two players.
        """
        values: dict[str, list[str]] = {}
        keys = {key.lower(): key for key in _ACPC_KEYS}
        uncommented = re.sub(r"#.*", "", text)
        for field_text in re.split(r"[\n;]", uncommented):
            line = field_text.replace("=", " ").strip()
            if not line or re.fullmatch(r"(end\s*)?gamedef", line, re.IGNORECASE):
                continue
            word, *rest = line.split()
            if word.lower() not in keys:
                raise ValueError(
                    f"{word!r} is not a key of an ACPC game definition: {', '.join(keys.values())}"
                )
            values[keys[word.lower()]] = rest

        def numbers(key: str, count: int, default: list[int] | None = None) -> tuple[int, ...]:
            if key not in values:
                if default is None:
                    raise ValueError(f"the game definition lacks {key}")
                return tuple(default)
            try:
                row = [int(value) for value in values[key]]
            except ValueError:
                raise ValueError(f"{key} takes whole numbers, not {' '.join(values[key])!r}") from None
            if len(row) < count:
                raise ValueError(f"{key} needs {count} numbers, not {len(row)}")
            return tuple(row[:count])

        if ("limit" in values) == ("nolimit" in values):
            raise ValueError("the game definition must say either limit or nolimit")
        limit = "limit" in values
        if numbers("numPlayers", 1) != (2,):
            raise ValueError("only games of two players are supported: numPlayers = 2")
        (rounds,) = numbers("numRounds", 1)
        if not 1 <= rounds <= 4:
            raise ValueError(f"numRounds must be 1 to 4, not {rounds}")
        first = numbers("firstPlayer", rounds, [1] * rounds)
        if not set(first) <= {1, 2}:
            raise ValueError("firstPlayer must be 1 or 2")
        big_blind, small_blind = numbers("blind", 2)
        stacks = None
        if "stack" in values:
            first_stack, second_stack = numbers("stack", 2)
            stacks = (first_stack, second_stack)
        raises = numbers("maxRaises", rounds, [NO_CAP] * rounds)
        # "3 4 4 4" is the usual way to say that the big blind is the first of four bets.
        blind_is_bet = rounds > 1 and raises[0] + 1 == raises[1]
        capped = limit or min(raises) < NO_CAP
        return cls(
            betting="limit" if limit else "no-limit",
            blinds=(big_blind, small_blind),
            stacks=stacks,
            bet_sizes=numbers("raiseSize", rounds) if limit else (),
            max_bets=(raises[0] + blind_is_bet, *raises[1:]) if capped else None,
            blind_is_bet=blind_is_bet or not capped,
            first_player=tuple(player - 1 for player in first),
            board_cards=numbers("numBoardCards", rounds),
            num_ranks=numbers("numRanks", 1)[0],
            num_suits=numbers("numSuits", 1)[0],
            num_hole_cards=numbers("numHoleCards", 1)[0],
        )

"""The texts of the ACPC protocol 2.0.0: betting, match states, log files, and deals from a seed.

Two totals are kept apart: on the wire a no-limit raise ``rN`` names the player's chips over the whole
hand, an `Action` those of this round.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .betting import FOLD, Action, Betting, IllegalAction
from .cards import format_cards, parse_cards
from .hand import Hand, Observation
from .rules import Rules

MAX_LINE = 4096  # bytes: longer than any state that the server can send
MAX_SEED = 2**32 - 1


# Betting ----------------------------------------------------------------------------------------


def action_text(betting: Betting, action: Action) -> str:
    """An action of the player to act as the wire has it: ``f``, ``c``, ``r`` or no-limit ``rN``."""
    assert betting.to_act is not None
    return _action_text(betting.rules, action, betting.round_start[betting.to_act] + action.amount)


def _action_text(rules: Rules, action: Action, total: int) -> str:
    if action.kind not in ("bet", "raise-to"):
        return "f" if action == FOLD else "c"
    return "r" if rules.betting == "limit" else f"r{total}"


def betting_text(betting: Betting) -> str:
    """All actions of a hand, such as ``r250c/cr500c/``: the slash stands as soon as a round has ended.

    After a called all-in the rounds without betting follow as empty ones: ``r20000c///``.
    """
    rows = [
        "".join(_action_text(betting.rules, action, total) for action, total in zip(*row, strict=True))
        for row in zip(betting.history, betting.raise_totals, strict=True)
    ]
    return "/".join(rows + [""] * (_rounds_shown(betting) - len(rows)))


def parse_betting(text: str, rules: Rules) -> Betting:
    """The betting of that text.

    Raises ValueError for an action that is malformed or not legal, and for missing or misplaced
    slashes.
    """
    betting = Betting.start(rules)
    for match in re.finditer(r"r[0-9]{0,10}|.", text, re.DOTALL):
        if match[0] == "/":
            continue
        try:
            betting = betting.play(_parse_action(betting, match[0]))
        except IllegalAction as error:
            raise ValueError(
                f"betting {text!r} is not one of {rules.name}: after {text[: match.start()]!r} {error}"
            ) from None
    if betting_text(betting) != text:
        raise ValueError(f"betting {text!r} of {rules.name} should be written {betting_text(betting)!r}")
    return betting


def _parse_action(betting: Betting, text: str) -> Action:
    """The action of a text as `action_text` writes it; IllegalAction for another one."""
    if betting.to_act is None:
        raise IllegalAction(f"nothing may follow, not {text!r}: the betting is over")
    if text == "f":
        return FOLD
    if text == "c":
        return betting.passive_actions()[-1]
    limit = betting.rules.betting == "limit"
    if re.fullmatch("r" if limit else "r[0-9]+", text) is None:
        raise IllegalAction(f"{text!r} is not an action: f, c and {'r' if limit else 'rN'} are")
    bounds = betting.raise_bounds()
    if bounds is None:
        raise IllegalAction(f"{text!r} is not legal: no raise is")
    start = betting.round_start[betting.to_act]
    low, high = bounds[0] + start, bounds[1] + start
    total = low if limit else int(text[1:])
    if not low <= total <= high:
        raise IllegalAction(f"{text!r} is not legal: raises are r{low} to r{high}")
    return betting.raise_action(total - start)


def _rounds_shown(betting: Betting) -> int:
    """Rounds whose betting and cards a text shows: all of them after a called all-in."""
    return betting.rules.num_rounds if betting.is_all_in_showdown else betting.round + 1


# Cards and match states -------------------------------------------------------------------------


def match_state_text(hand_number: int, view: Observation) -> str:
    """What the server tells a player, without the end of the line.

    >>> from nashfold.game import new_hand, preset
    >>> hand = new_hand(preset("acpc-nolimit"), hole=("AsKs", "QdQc"), board="2c3d4h5s9c")
    >>> match_state_text(7, hand.play("raise-to:250").play("call").observation(1))
    'MATCHSTATE:1:7:r250c/:|QdQc/2c3d4h'
    """
    hole = (view.hole, view.shown or ())
    if view.player == 1:
        hole = hole[1], hole[0]
    cards = _cards_text(view.betting, hole, view.board)
    return f"MATCHSTATE:{view.player}:{hand_number}:{betting_text(view.betting)}:{cards}"


def parse_match_state(text: str, rules: Rules) -> tuple[int, Observation]:
    """Number of the hand, and what the player to whom the text was sent may see.

    Raises ValueError, quoting the text, for a text that is no match state under these rules.
    """
    try:
        match = re.fullmatch(r"MATCHSTATE:([01]):([0-9]{1,10}):([^:]*):([^:]*)", text)
        if match is None:
            raise ValueError("write MATCHSTATE:position:hand:betting:cards")
        player, betting = int(match[1]), parse_betting(match[3], rules)
        hole, board = _parse_cards(betting, match[4])
        showdown = betting.is_over and betting.folded is None
        need = rules.num_hole_cards
        if len(hole[player]) != need or len(hole[1 - player]) != (need if showdown else 0):
            shown = "both players'" if showdown else "only the player's own"
            raise ValueError(f"it must show {shown} {need} hole cards")
    except ValueError as error:
        raise ValueError(f"{text!r} is no match state of {rules.name}: {error}") from None
    hand = Hand(betting, hole, board)
    winnings = hand.winnings[player] if hand.is_over else None
    shown_cards = hole[1 - player] or None
    return int(match[2]), Observation(betting, player, hole[player], board, shown_cards, winnings)


Holes = tuple[tuple[int, ...], tuple[int, ...]]


def _cards_text(betting: Betting, hole: Holes, board: tuple[int, ...]) -> str:
    """Hole cards, then the board by rounds: ``5d9c|2h8c/Qs9s2d/Jd``; hidden cards are left out."""
    rules, text = betting.rules, "|".join(map(format_cards, hole))
    for index in range(_rounds_shown(betting)):
        size = rules.board_size(index)
        cards = board[size - rules.board_cards[index] : size]
        text += ("/" if index else "") + format_cards(cards)
    return text


def _parse_cards(betting: Betting, text: str) -> tuple[Holes, tuple[int, ...]]:
    """Hole cards (none where hidden) and the board from what `_cards_text` writes."""
    rules = betting.rules
    first, *later = text.split("/")
    own, _, other = first.partition("|")
    cut = max(0, len(other) - 2 * rules.board_cards[0])  # cards dealt at once to all follow directly
    hole = parse_cards(own), parse_cards(other[:cut])
    board = parse_cards(other[cut:] + "".join(later))
    for card in parse_cards([*hole[0], *hole[1], *board]):
        rules.deck.number(card)
    size = rules.board_size(_rounds_shown(betting) - 1)
    if len(board) != size:
        raise ValueError(f"the board has {len(board)} cards, it should have {size}")
    if _cards_text(betting, hole, board) != text:
        raise ValueError(f"cards {text!r} should be written {_cards_text(betting, hole, board)!r}")
    return hole, board


# Deals ------------------------------------------------------------------------------------------


def competition_deals(rules: Rules, seed: int) -> Iterator[Hand]:
    """The hands that the competition's server deals from a seed, one after the other, without end.

    Its generator is the Mersenne Twister (Matsumoto and Nishimura 1998), seeded by one number of 32
    bits. Every card of a hand is drawn, also those of rounds that are not reached.

    Raises ValueError for a seed that is not one of 0 to 4294967295.
    """
    if not 0 <= seed <= MAX_SEED:
        raise ValueError(f"a competition seed is a number from 0 to {MAX_SEED}, not {seed}")
    return _deals(rules, np.random.RandomState(seed))  # a stream that NumPy has frozen


def _deals(rules: Rules, twister: np.random.RandomState) -> Iterator[Hand]:
    holes, size = rules.num_hole_cards, rules.board_size(rules.num_rounds - 1)
    deck = sorted(rules.deck.cards.tolist(), key=lambda card: (card % 4, card))  # suit by suit
    start = Betting.start(rules)
    while True:
        left, cards = list(deck), []
        for draw in twister.randint(0, 2**32, 2 * holes + size, np.uint32).tolist():
            place = draw % len(left)
            cards.append(left[place])
            left[place] = left[-1]
            left.pop()
        yield Hand(
            start, (tuple(cards[:holes]), tuple(cards[holes : 2 * holes])), tuple(cards[2 * holes :])
        )


# Log files --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TimeLimits:
    """What a program may take, in milliseconds; the defaults are the server's.

    Attributes:
        response: for an answer.
        hand: for its answers of one hand together.
        per_hand: for a hand, on the average over the hands of the match.
    """

    response: int = 600_000
    hand: int = 600_000
    per_hand: int = 7_000

    def __post_init__(self) -> None:
        for name in ("response", "hand", "per_hand"):
            value = getattr(self, name)
            if not 1 <= value <= 10**9:
                raise ValueError(f"time limits are 1 to {10**9} milliseconds, not {value} ({name})")


@dataclass(frozen=True)
class LogHeader:
    """The first lines of a log: name of the match and of the game, hands asked for, seed, time limits."""

    name: str
    game: str
    hands: int
    seed: int
    limits: TimeLimits = TimeLimits()

    def __str__(self) -> str:
        limits = self.limits
        name, game = ("_".join(text.split()) for text in (self.name, self.game))  # blanks are separators
        return (
            f"# name/game/hands/seed {name} {game} {self.hands} {self.seed}\n"
            f"#--t_response {limits.response}\n#--t_hand {limits.hand}\n#--t_per_hand {limits.per_hand}"
        )


@dataclass(frozen=True)
class LoggedHand:
    """A finished hand with its number in the match; names and values stand by position.

    The `deal` of the hand ends with the last round that was reached. `values` are the chips won as the
    log tells them.
    """

    number: int
    hand: Hand
    values: tuple[int, int]
    names: tuple[str, str]

    def __str__(self) -> str:
        hand = self.hand
        cards = _cards_text(hand.betting, hand.hole, hand.board)
        ending = f"{_pair_text(self.values)}:{_pair_text(self.names)}"
        return f"STATE:{self.number}:{betting_text(hand.betting)}:{cards}:{ending}"


@dataclass(frozen=True)
class Score:
    """The last line of a match that was played to its end: chips won and names by seat."""

    values: tuple[int, int]
    names: tuple[str, str]

    def __str__(self) -> str:
        return f"SCORE:{_pair_text(self.values)}:{_pair_text(self.names)}"


@dataclass(frozen=True)
class MatchLog:
    """A log file. `header` is None where the file has none, `score` where the match ended early."""

    header: LogHeader | None
    hands: tuple[LoggedHand, ...]
    score: Score | None

    def __str__(self) -> str:
        lines = [
            *([self.header] if self.header else []),
            *self.hands,
            *([self.score] if self.score else []),
        ]
        return "".join(f"{line}\n" for line in lines)

    def winnings(self, name: str) -> int:
        """Chips that a program won in all hands, by their `values`."""
        return sum(
            value
            for hand in self.hands
            for value, player in zip(hand.values, hand.names, strict=True)
            if player == name
        )


def read_log(path: str | Path, rules: Rules, check: bool = False) -> MatchLog:
    """The log in a file; see `parse_log`."""
    return parse_log(Path(path).read_text("utf-8", "backslashreplace"), rules, check, str(path))


def parse_log(text: str, rules: Rules, check: bool = False, source: str = "log") -> MatchLog:
    """A log in the server's format. Comments and blank lines are skipped.

    Args:
        text: the text of the log.
        rules: the game that was played.
        check: compare the values with the winnings of every hand, and the score with their sums.
        source: what messages call the log.

    Raises ValueError naming source and line for a line that is damaged, or that does not stand a check.
    """
    hands: list[LoggedHand] = []
    score = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if not line.strip() or line[0] in "#;":
            continue
        try:
            if score is not None:
                raise ValueError("nothing may follow the line SCORE")
            if line.startswith("SCORE:"):
                score = _parse_score(line)
                if check:
                    _check_score(score, MatchLog(None, tuple(hands), score))
                continue
            hand = _parse_hand(line, rules)
            if hands and hand.number != hands[-1].number + 1:
                raise ValueError(f"hand {hands[-1].number + 1} should follow, not {hand.number}")
            if check and hand.values != hand.hand.winnings:
                won = _pair_text(hand.hand.winnings)
                raise ValueError(f"hand {hand.number} won {won}, not {_pair_text(hand.values)}")
            hands.append(hand)
        except ValueError as error:
            raise ValueError(f"{source}, line {number}: {error}") from None
    return MatchLog(_parse_header(text), tuple(hands), score)


_VALUES, _NAMES = r"(-?[0-9]{1,15})\|(-?[0-9]{1,15})", r"([^:|]+)\|([^:|]+)"


def _parse_hand(line: str, rules: Rules) -> LoggedHand:
    match = re.fullmatch(rf"STATE:([0-9]{{1,10}}):([^:]*):([^:]*):{_VALUES}:{_NAMES}", line)
    if match is None:
        raise ValueError("a hand is STATE:number:betting:cards:value|value:name|name")
    betting = parse_betting(match[2], rules)
    if not betting.is_over:
        raise ValueError(f"the hand is not over after {match[2]!r}")
    hole, board = _parse_cards(betting, match[3])
    if {len(cards) for cards in hole} != {rules.num_hole_cards}:
        raise ValueError(f"each player needs {rules.num_hole_cards} hole cards")
    values = int(match[4]), int(match[5])
    return LoggedHand(int(match[1]), Hand(betting, hole, board), values, (match[6], match[7]))


def _parse_score(line: str) -> Score:
    match = re.fullmatch(f"SCORE:{_VALUES}:{_NAMES}", line)
    if match is None:
        raise ValueError("a score is SCORE:value|value:name|name")
    return Score((int(match[1]), int(match[2])), (match[3], match[4]))


def _check_score(score: Score, log: MatchLog) -> None:
    # Two programs of one name cannot be told apart.
    if score.names[0] != score.names[1]:
        for value, name in zip(score.values, score.names, strict=True):
            if value != log.winnings(name):
                raise ValueError(f"{name} won {log.winnings(name)} in all hands, not {value}")


def _parse_header(text: str) -> LogHeader | None:
    match = re.search(
        r"^# name/game/hands/seed (\S+) (\S+) ([0-9]+) ([0-9]+)\r?\n"
        r"#--t_response ([0-9]+)\r?\n#--t_hand ([0-9]+)\r?\n#--t_per_hand ([0-9]+)\r?$",
        text,
        re.MULTILINE,
    )
    if match is None:
        return None
    name, game, *numbers = match.groups()
    hands, seed, response, hand, per_hand = map(int, numbers)
    return LogHeader(name, game, hands, seed, TimeLimits(response, hand, per_hand))


def _pair_text(pair: Sequence[object]) -> str:
    return "|".join(map(str, pair))

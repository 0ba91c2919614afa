"""The command `nashfold play`: a person against a strategy, in the terminal."""

from __future__ import annotations

import argparse
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from io import TextIOWrapper
from types import FrameType
from typing import Any

import numpy as np

from ..game.betting import CALL, CHECK, FOLD, Action, Betting, IllegalAction
from ..game.bonus import EXAMPLE, BonusBet, PayTable
from ..game.cards import format_cards
from ..game.events import Event, hand_events
from ..game.hand import Hand
from ..game.match import Match
from ..game.players import begin_hand
from ..game.presets import BONUS_GAMES, MATCH_HANDS, preset_name
from ..game.strength import CATEGORIES, CATEGORY_TOP, hand_strength
from .history import History
from .options import add_translation_option, given_rules, set_translation

YOU = 0  # the person is the first player of the match: in the big blind first
NO_END = 10**9
MAX_CREDIT = 10**9
HELP = """  f        fold              c        check or call (k: check)
  r N      bet or raise to N chips in this round (limit games: r)
  a        all-in            l        list every legal action
  q        leave the table (so do Ctrl-C and Ctrl-D); everything is saved
  The words of the rules work too: fold, check, call, bet:N, raise-to:N."""


def add_play_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("strategy", metavar="STRATEGY", help="a run, a strategy or a built-in name")
    parser.add_argument("--rules", metavar="NAME", help="the game, for built-in strategies")
    add_translation_option(parser)
    parser.add_argument("--hands", type=int, metavar="N", help="leave after so many hands")
    parser.add_argument("--seed", type=int, metavar="S", help="of the deals; default: drawn anew")
    parser.add_argument(
        "--history", metavar="FILE", help="where the hands are kept; default: a new file here"
    )
    parser.add_argument(
        "--bonus", metavar="PAYTABLE.toml", help="the side bet's pay table (casino-limit)"
    )
    parser.add_argument("--stake", type=int, metavar="1..5", help="of the side bet at first; default: 1")
    parser.add_argument("--credits", type=int, metavar="N", help="to begin with; default: 100")


def run_play(options: argparse.Namespace) -> dict[str, Any]:
    """Play until the hands are played or the person leaves; nothing that was played is lost.

    Raises ValueError for options that do not fit together.
    """
    from ..solver.strategy import StrategyPlayer, playing_strategy

    opponent, rules = playing_strategy(options.strategy, given_rules(options))
    set_translation(options.translation, [opponent])
    if Betting.start(rules).is_over:
        raise ValueError("there is nothing to play: the blinds put a player all-in before anybody acts")
    if sys.stdin is None or sys.stdout is None or sys.stderr is None:
        raise ValueError("a table needs standard input and output: a terminal, or files")
    game = preset_name(rules)
    hands = MATCH_HANDS.get(game or "", NO_END) if options.hands is None else options.hands
    bet = _bonus_bet(game, options)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    match, player = Match(rules, hands, seed), StrategyPlayer(opponent, seed)
    history = History(options.history, rules)
    if isinstance(sys.stdin, TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # a stray byte is a bad answer, not the end
    session = Session(
        match,
        player,
        history,
        opponent.name,
        bet,
        100 if options.credits is None else options.credits,
        sys.stderr if options.json else sys.stdout,
    )
    session.run()
    return session.report() | {"seed": seed}


def _bonus_bet(game: str | None, options: argparse.Namespace) -> BonusBet | None:
    if game not in BONUS_GAMES:
        for name in ("bonus", "stake", "credits"):
            if getattr(options, name) is not None:
                raise ValueError(
                    f"--{name} goes with {' or '.join(BONUS_GAMES)}, not with {game or 'other rules'}"
                )
        return None
    pay_table = EXAMPLE if options.bonus is None else PayTable.from_toml(options.bonus)
    if options.credits is not None and not 0 <= options.credits <= MAX_CREDIT:
        raise ValueError(f"--credits takes a number from 0 to {MAX_CREDIT:,}, not {options.credits}")
    return BonusBet(pay_table, 1 if options.stake is None else options.stake)


def read_action(text: str, betting: Betting) -> Action:
    """The action that a person means; IllegalAction, with what is legal, for anything else.

    >>> from nashfold.game import Betting, preset
    >>> betting = Betting.start(preset("match-nolimit"))
    >>> [str(read_action(text, betting)) for text in ("f", "c", "R 6", "all-in", "raise-to:8")]
    ['fold', 'call', 'raise-to:6', 'raise-to:200', 'raise-to:8']
    """
    word, *rest = text.lower().replace(":", " ").split() or [""]
    bounds = betting.raise_bounds()
    action: Action | None = None
    if word in ("f", "fold") and not rest:
        action = FOLD
    elif word in ("c", "k", "check", "call") and not rest:
        # "c" is whichever of the two is possible, the others are taken at their word.
        action = {"k": CHECK, "check": CHECK, "call": CALL}.get(word, betting.passive_actions()[-1])
    elif word in ("a", "all-in", "allin") and not rest and betting.rules.betting == "no-limit":
        action = betting.raise_action(bounds[1]) if bounds else betting.passive_actions()[-1]
    elif word in ("r", "b", "raise", "bet", "raise-to") and bounds:
        if not rest and bounds[0] == bounds[1]:
            action = betting.raise_action(bounds[0])
        elif len(rest) == 1 and rest[0].isascii() and rest[0].isdecimal() and len(rest[0]) < 10:
            action = betting.raise_action(int(rest[0]))
    if action is None or not betting.is_legal(action):
        raise IllegalAction(f"{text!r} is not possible here; legal: {betting.legal_text()}")
    return action


class Leave(Exception):  # noqa: N818 - no error
    """The person leaves the table."""


class Session:
    """A person at the table against one opponent.

    Args:
        match: the hands; the person is its first player.
        opponent: the second player.
        history: where hands are kept.
        name: of the opponent.
        bet: the side bet, or None in games without.
        credit: credits to begin with, where there is a side bet; the balance may fall below zero.
        out: where everything is printed.
    """

    def __init__(
        self,
        match: Match,
        opponent: Callable[..., str],
        history: History,
        name: str,
        bet: BonusBet | None = None,
        credit: int = 100,
        out: Any = sys.stdout,
    ):
        self.match, self.opponent, self.history = match, opponent, history
        self.names = ("you", name)
        self.bet, self.credits, self.out = bet, Fraction(credit), out
        self.bonus = Fraction(0)
        self.stopped = False
        self._open: tuple[Hand, int] | None = (
            None  # the hand in play and the person's position, not kept yet
        )
        self._shown = 0  # events of the hand that were told already
        self._told: dict[str, Fraction] = {}  # intervals of the bonus that were told already
        self._waiting = self._signalled = False

    def run(self) -> None:
        """Play until the match is over or the person leaves."""
        rules = self.match.rules
        self._say(f"{rules.name}: {rules.description}.")
        self._say(f"Your opponent: {self.names[1]}. Hands are kept in {self.history.path}.")
        self._say(f"Type ? for help. The deals are those of --seed {self.match.seed}.")
        if self.bet is not None:
            self._say(f"Bonus pay table: {self.bet.pay_table.name}.")
        with self._interrupts():
            try:
                while not self.match.is_over:
                    self._play_hand()
            except (Leave, EOFError, KeyboardInterrupt):
                self.stopped = True
            finally:  # whatever happened, also where nothing can be printed any more
                left = self._open
                if left is not None:
                    self._keep(*left)
        if self.stopped:
            self._say("\nYou leave the table.")
        if left is not None:
            self._say("The hand in play is kept as it stands; its chips do not count.")
            if self.bet is not None:
                settled = self._settle_bonus(*left)
                self._say(f"What the bonus has settled does: {_signed(settled)}.")
        self._say_result()

    def report(self) -> dict[str, Any]:
        """The result for `--json`."""
        match = self.match
        hands, chips = len(match.results), match.match_chips[YOU]
        result: dict[str, Any] = {
            "rules": match.rules.name,
            "opponent": self.names[1],
            "hands": hands,
            "winnings": chips,
            "mbb_per_hand": match.rules.mbb_per_hand(chips, hands),
            "winner": None if match.winner is None else self.names[match.winner],
            "finished": match.is_over,
            "history": str(self.history.path) if self.history.path.exists() else None,
        }
        if self.bet is not None:
            result["pay_table"] = self.bet.pay_table.name
            result |= {"bonus": float(self.bonus), "credits": float(self.credits)}
        return result

    def _play_hand(self) -> None:
        match, number = self.match, self.match.number
        position = match.position(YOU)
        self._shown, self._told = 0, {}
        seats = (
            ("the big blind", "the button") if len({*match.rules.blinds}) == 2 else ("first", "second")
        )
        self._say(f"\nHand {number + 1}: you are {seats[position]}.")
        if self.bet is not None:
            self._ask_stake(self.bet)
        begin_hand(self.opponent, number)
        hand = match.hand
        while not hand.is_over:
            self._open = hand, position
            self._tell(hand, position)
            player = match.to_act
            assert player is not None
            if player == YOU:
                hand = match.play(YOU, self._ask_action(hand.betting))
            else:
                hand = match.play(player, self.opponent(match.observation(player)))
        try:
            self._keep(hand, position)
        finally:  # where it cannot be written, the person is told at least
            self._tell(hand, position)
            self._settle(hand, position)

    def _settle(self, hand: Hand, position: int) -> None:
        chips = hand.winnings[position]
        text = f"This hand: {chips:+,}. In all: {self.match.match_chips[YOU]:+,} chips."
        if self.bet is not None:
            won = self._settle_bonus(hand, position)
            self.credits += chips
            text += f" Bonus: {_signed(won)}. Balance: {_decimal(self.credits)} credits."
        self._say(text)

    def _settle_bonus(self, hand: Hand, position: int) -> Fraction:
        """Credits of the intervals that are settled, added to the balance."""
        assert self.bet is not None
        won = sum(self.bet.profits(hand, position).values(), Fraction())
        self.bonus += won
        self.credits += won
        return won

    def _keep(self, hand: Hand, position: int) -> None:
        names = (self.names[position], self.names[1 - position])
        fields: dict[str, Any] = {}
        if self.bet is not None:
            settled = self.bet.profits(hand, position)
            fields["_bonus_pay_table"] = self.bet.pay_table.name
            fields["_bonus_stake"] = self.bet.credits
            fields["_bonus_profits"] = [float(profit) for profit in settled.values()]
            fields["_bonus_board"] = format_cards(self.bet.board(hand, position))
        self._open = None
        self.history.add(hand, names, position, **fields)

    # What is told ---------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        print(text, file=self.out, flush=True)

    def _say_result(self) -> None:
        match = self.match
        hands, chips = len(match.results), match.match_chips[YOU]
        per_hand = f", {chips / match.rules.big_blind / hands:+.2f} big blinds a hand" if hands else ""
        self._say(f"\n{hands:,} hands, {chips:+,} chips{per_hand}.")
        if match.is_over:
            self._say("A draw." if match.winner is None else f"Winner: {self.names[match.winner]}.")
        if self.bet is not None:
            self._say(f"Bonus {_signed(self.bonus)}; balance {_decimal(self.credits)} credits.")

    def _tell(self, hand: Hand, position: int) -> None:
        """Say what has happened since the last call."""
        events = hand_events(hand, position)
        board: tuple[int, ...] = ()
        for count, event in enumerate(events):
            if event.kind == "board":
                board += event.cards
            if count >= self._shown:
                self._say("  " + self._words(hand, event, board, position))
        self._shown = len(events)
        if self.bet is not None:
            judged_on = self.bet.board(hand, position)
            if judged_on != hand.board:
                self._say(f"  dealt for the bonus: {_spaced(judged_on)}")
            for interval, profit in self.bet.profits(hand, position).items():
                if interval not in self._told:
                    self._told[interval] = profit
                    self._say(f"  bonus, {interval}: {_signed(profit)}")

    def _words(self, hand: Hand, event: Event, board: tuple[int, ...], position: int) -> str:
        is_you = event.player == position
        who = "you" if is_you else self.names[1]
        s = "" if is_you else "s"
        if event.kind == "blind":
            return f"{who} post{s} {event.chips:,}"
        if event.kind == "hole":
            return f"your cards: {_spaced(event.cards)}"
        if event.kind == "board":
            names = {3: "flop", 4: "turn", 5: "river"} if hand.rules.board_cards[0] == 0 else {}
            return f"{names.get(len(board), 'board')}: {_spaced(board)}"
        if event.kind == "return":
            return f"{event.chips:,} uncalled go back to {who}"
        if event.kind == "show":
            whose = "your hand" if is_you else f"{who}'s hand"
            return f"{whose}: {_spaced(event.cards)}"
        if event.kind == "pay":
            assert event.player is not None
            shown = hand.betting.folded is None
            best = _category(hand.hole[event.player] + hand.deal) if shown else ""
            return f"{who} get{s} {event.chips:,}{best}"
        action = event.action
        assert action is not None
        if action.kind in ("bet", "raise-to"):
            verb = "bet" if action.kind == "bet" else "raise"
            return f"{who} {verb}{s}{' to' if verb == 'raise' else ''} {action.amount:,}"
        return f"{who} {action}{s}"

    # What is asked --------------------------------------------------------------------------------

    def _ask_action(self, betting: Betting) -> Action:
        player = betting.to_act
        assert player is not None
        owed = betting.spent[1 - player] - betting.spent[player]
        state = f"pot {betting.pot:,}" + (f", {owed:,} to call" if owed > 0 else "")
        if betting.rules.stacks is not None:
            state += f", {betting.rules.stacks[player] - betting.spent[player]:,} behind"
        while True:
            text = self._ask(f"({state}) {betting.legal_text()} > ")
            if text in ("?", "h", "help"):
                self._say(HELP)
            elif text in ("l", "list"):
                self._say("  " + " ".join(map(str, betting.legal_actions())))
            else:
                try:
                    return read_action(text, betting)
                except IllegalAction as error:
                    self._say(f"  {error}")

    def _ask_stake(self, bet: BonusBet) -> None:
        while True:
            text = self._ask(f"bonus stake, 1 to 5 credits [{bet.credits}] > ")
            if not text:
                return
            try:
                self.bet = BonusBet(bet.pay_table, int(text))
                return
            except ValueError:
                self._say(f"  {text!r} is no stake: write a number from 1 to 5")

    def _ask(self, prompt: str) -> str:
        self._waiting = True
        try:
            if self._signalled:
                raise KeyboardInterrupt
            if self.out is sys.stdout:
                text = input(prompt)
            else:
                print(prompt, end="", file=self.out, flush=True)
                text = input()
        finally:
            self._waiting = False
        text = text.strip()
        if text.lower() in ("q", "quit", "exit"):
            raise Leave
        return text

    @contextmanager
    def _interrupts(self) -> Iterator[None]:
        """Signals to end take effect while the person is asked, never while a hand is written."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def handle(number: int, frame: FrameType | None) -> None:
            self._signalled = True
            if self._waiting:
                raise KeyboardInterrupt

        numbers = [signal.SIGINT, signal.SIGTERM]
        if hasattr(signal, "SIGHUP"):
            numbers.append(signal.SIGHUP)  # the terminal is closed
        before = [signal.signal(number, handle) for number in numbers]
        try:
            yield
        finally:
            for number, handler in zip(numbers, before, strict=True):
                signal.signal(number, handler)


def _spaced(cards: tuple[int, ...]) -> str:
    return " ".join(format_cards([card]) for card in cards)


def _category(cards: tuple[int, ...]) -> str:
    """The category of a hand; nothing in games with fewer than five cards."""
    if len(cards) < 5:
        return ""
    return f" ({CATEGORIES[int(CATEGORY_TOP.searchsorted(hand_strength(np.array(cards))))]})"


def _decimal(value: Fraction) -> str:
    """All digits of a number with at most four decimals, as pays and so balances are."""
    text = f"{Decimal(int(value * 10_000)).scaleb(-4):,f}"
    return text.rstrip("0").rstrip(".")


def _signed(value: Fraction) -> str:
    return ("+" if value >= 0 else "") + _decimal(value)

"""A client of an ACPC dealer: joins a match over TCP and lets a player act."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedReader

import numpy as np

from .acpc import MAX_LINE, action_text, parse_match_state
from .betting import Action, IllegalAction
from .hand import new_hand
from .players import Player, begin_hand
from .rules import Rules
from .statistics import standard_error

VERSION = "VERSION:2.0.0"


@dataclass(frozen=True)
class ClientResult:
    """A match, from the side of one program.

    Attributes:
        hands: finished hands.
        winnings: chips won in them.
        mbb_per_hand: the same in milli big blinds per hand; not a number without a hand.
        standard_error: of mbb_per_hand.
        complete: whether the dealer left after a hand, not within one or before the first.
    """

    hands: int
    winnings: int
    mbb_per_hand: float
    standard_error: float
    complete: bool

    def __str__(self) -> str:
        return f"{self.mbb_per_hand:+.1f} +- {self.standard_error:.1f} mbb/h over {self.hands:,} hands"


def play_acpc(
    player: Player,
    host: str,
    port: int,
    rules: Rules,
    progress: Callable[[int], None] | None = None,
) -> ClientResult:
    """Join the dealer at an address and play until it closes the connection.

    Args:
        player: told what it may see, it answers with the text of an action. If it has a method
            ``begin``, that is called with the number of every hand before its first state.
        host, port: where the dealer listens for this program.
        rules: the game that is dealt there.
        progress: called after every hand with the number of finished hands.

    Raises ConnectionError where no dealer can be reached, ValueError for a bad port and for a line that is
    no match state under the rules (a sign of other rules), IllegalAction (naming the hand) for an action
    of the player that is not legal.
    """
    if not 1 <= port <= 65535:
        raise ValueError(f"a port is a number from 1 to 65535, not {port}")
    _warm_up(rules)
    try:
        connection = socket.create_connection((host, port), timeout=10)
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConnectionError(f"no dealer can be reached at {host}:{port}: {error}") from None
    with connection, connection.makefile("rb") as lines:
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return _Seat(player, rules, progress).play(connection, lines)


def _warm_up(rules: Rules) -> None:
    """Settle a hand, so that what is compiled at first use does not run on the dealer's clock."""
    hand = new_hand(rules, seed=0)
    while not hand.is_over:
        hand = hand.play(hand.betting.passive_actions()[-1])
    assert sum(hand.winnings) == 0


class _Seat:
    """The state of one match at the client."""

    def __init__(self, player: Player, rules: Rules, progress: Callable[[int], None] | None):
        self.player, self.rules, self.progress = player, rules, progress
        self.hand: int | None = None  # number of the hand at play
        self.finished = False
        self.states: set[str] = set()  # of this hand, as the dealer told them
        self.results: list[int] = []

    def play(self, connection: socket.socket, lines: BufferedReader) -> ClientResult:
        try:
            connection.sendall(f"{VERSION}\r\n".encode())
            while line := lines.readline(MAX_LINE):
                text = line.decode("ascii", "backslashreplace")
                if not text.endswith("\n"):
                    if len(line) == MAX_LINE:
                        raise ValueError(f"the dealer sent a line of more than {MAX_LINE} bytes")
                    self.finished = False  # it left within a line
                    break
                answer = self.read(text.rstrip("\r\n"))
                if answer is not None:
                    connection.sendall(f"{answer}\r\n".encode())
        except ConnectionError:
            pass  # the dealer is gone: the result says whether within a hand
        hands, winnings = len(self.results), sum(self.results)
        return ClientResult(
            hands=hands,
            winnings=winnings,
            mbb_per_hand=self.rules.mbb_per_hand(winnings, hands),
            standard_error=self.rules.mbb_per_hand(standard_error(np.array(self.results))),
            complete=self.finished,
        )

    def read(self, line: str) -> str | None:
        """The answer to a line of the dealer, or None where it asks for none."""
        # A state that is told twice is answered once.
        if not line or line[0] in "#;" or line in self.states:
            return None
        number, view = parse_match_state(line, self.rules)
        if number != self.hand:
            self.hand, self.finished = number, False
            self.states.clear()
            begin_hand(self.player, number)
        self.states.add(line)
        if view.winnings is not None:
            self.finished = True
            self.results.append(view.winnings)
            if self.progress:
                self.progress(len(self.results))
        if view.to_act != view.player:
            return None
        try:
            answer = self.player(view)
            action = answer if isinstance(answer, Action) else Action.parse(answer)
            view.betting.play(action)
        except IllegalAction as error:
            raise IllegalAction(f"hand {number}: {error}") from None
        return f"{line}:{action_text(view.betting, action)}"

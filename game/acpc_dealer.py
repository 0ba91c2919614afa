"""A dealer for two programs that speak the ACPC protocol over TCP, as the competition's server does it.

One thread, and never more than one program waited for: only the one who is to act is read from. What
the other one sends stays in its own connection until its turn, so that a flood holds up its sender.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import TextIO

from .acpc import (
    MAX_LINE,
    LoggedHand,
    LogHeader,
    Score,
    TimeLimits,
    competition_deals,
    match_state_text,
)
from .betting import FOLD, Action, Betting
from .hand import Hand
from .rules import Rules

MAX_ACTIONS = 64  # of a round: the server's arrays end there, so that no raise is legal before the end
MAX_REMARKS = 20  # kept of a seat; a flood must not fill the memory


@dataclass(frozen=True)
class SeatReport:
    """What a program did in a match.

    Attributes:
        winnings: chips in all finished hands.
        invalid_actions: actions that had to be changed.
        ignored_lines: lines that did not answer the state at hand.
        remarks: the first of both, with hand and text, and a wrong version.
        milliseconds: taken for all answers.
    """

    name: str
    winnings: int
    invalid_actions: int
    ignored_lines: int
    remarks: tuple[str, ...]
    milliseconds: float


@dataclass(frozen=True)
class DealerResult:
    """A match, from the dealer's side.

    Attributes:
        hands: the finished hands; positions are those of the rules, see `positions`.
        seats: the two programs.
        fault: why the match ended before its last hand, or None.
        culprit: the seat (0 or 1) that ended it, or None.
        fixed_seats: whether seat 0 was player 0 in every hand.
    """

    hands: tuple[Hand, ...]
    seats: tuple[SeatReport, SeatReport]
    fault: str | None
    culprit: int | None
    fixed_seats: bool

    @property
    def complete(self) -> bool:
        """Whether all hands were played."""
        return self.fault is None

    @property
    def winnings(self) -> tuple[int, int]:
        """Chips of the two seats in all finished hands."""
        return self.seats[0].winnings, self.seats[1].winnings

    @property
    def score(self) -> Score:
        """The last line of the server's output; ValueError where the match was not played to its end."""
        if self.fault is not None:
            raise ValueError(f"a match without its end has no score: {self.fault}")
        return Score(self.winnings, (self.seats[0].name, self.seats[1].name))


class Dealer:
    """Listens for programs, one port for each, and plays matches between two of them.

    Used as a context manager, which closes the ports at its end::

        with Dealer(preset("acpc-limit"), hands=3000, seed=7, names=("alice", "bob")) as dealer:
            print(*dealer.ports)  # where the programs connect, in the order of their names
            result = dealer.run()

    Args:
        rules: the game.
        hands: of a match.
        seed: of the competition's generator, the same for every match.
        names: of the programs, for logs and reports: two or more, without spaces, ``:``, ``|`` and ``/``.
        host: address to listen at; an empty one means every address of this machine.
        ports: one for each program; 0 lets the system choose.
        limits: what the programs may take.
        start_timeout: milliseconds for both programs of a match to connect; None for no limit.
        max_invalid: invalid actions that a program may make in a match; None for no limit.
        fixed_seats: whether the button stays with the second program.

    Raises ValueError for arguments out of range, OSError where a port cannot be had.
    """

    def __init__(
        self,
        rules: Rules,
        hands: int,
        seed: int = 0,
        names: Sequence[str] = ("A", "B"),
        *,
        host: str = "127.0.0.1",
        ports: Sequence[int] | None = None,
        limits: TimeLimits | None = None,
        start_timeout: int | None = None,
        max_invalid: int | None = None,
        fixed_seats: bool = False,
    ):
        if hands < 1:
            raise ValueError(f"a match has a positive number of hands, not {hands}")
        if len(names) < 2 or len(set(names)) < len(names):
            raise ValueError(f"a dealer needs two or more different names, not {' '.join(names)!r}")
        for name in names:
            if not re.fullmatch(r"[^\s:|/]+", name):
                raise ValueError(f"{name!r} is no name for logs: write it without spaces and : | /")
        ports = [0] * len(names) if ports is None else ports
        if len(ports) != len(names) or not all(0 <= port < 65536 for port in ports):
            raise ValueError(f"give one port from 0 to 65535 for each of the {len(names)} names")
        if start_timeout is not None and not 0 < start_timeout <= 10**9:
            raise ValueError(f"the start timeout is 1 to 1000000000 milliseconds, not {start_timeout}")
        if max_invalid is not None and max_invalid < 0:
            raise ValueError(f"the number of invalid actions cannot be negative: {max_invalid}")
        competition_deals(rules, seed)  # refuses a bad seed before anything is opened
        self.rules, self.hands, self.seed, self.names = rules, hands, seed, tuple(names)
        self.limits = limits or TimeLimits()
        self.start_timeout, self.max_invalid, self.fixed_seats = start_timeout, max_invalid, fixed_seats
        with ExitStack() as stack:
            self._listeners = [stack.enter_context(_listen(host, port)) for port in ports]
            self._stack = stack.pop_all()
        self.ports: tuple[int, ...] = tuple(sock.getsockname()[1] for sock in self._listeners)

    def __enter__(self) -> Dealer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._stack.close()

    def run(
        self,
        seats: tuple[int, int] = (0, 1),
        log: str | Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> DealerResult:
        """Wait for two of the programs and play a match between them.

        A program that does not connect, dies, or is too slow ends the match: the result says so. All
        connections are closed at the end, whatever it is.

        Args:
            seats: the numbers of the two programs; the first one begins as player 0 (the big blind).
            log: a file for the log, written hand by hand; its stem is the name of the match.
            progress: called now and then with the hands played and the hands in all.

        Raises OSError where the log cannot be written.
        """
        with ExitStack() as stack:
            file = None if log is None else stack.enter_context(open(log, "w", 1, "utf-8"))
            if log is not None and file is not None:
                header = LogHeader(Path(log).stem, self.rules.name, self.hands, self.seed, self.limits)
                print(header, file=file)
            programs = [_Program(self.names[seat], self) for seat in seats]
            match = _Match(self, programs, file, progress)
            fault = culprit = None
            try:
                deadline = _deadline(self.start_timeout)
                for seat, program in zip(seats, programs, strict=True):
                    stack.callback(program.close)
                    program.accept(self._listeners[seat], deadline, self.start_timeout)
                for program in programs:
                    program.read_version()
                match.play()
            except _SeatError as error:
                fault, culprit = str(error), programs.index(error.program)
            reports = [
                SeatReport(
                    program.name,
                    winnings,
                    program.invalid_actions,
                    program.ignored_lines,
                    tuple(program.remarks),
                    1000 * program.match_seconds,
                )
                for program, winnings in zip(programs, match.winnings, strict=True)
            ]
            hands = tuple(match.finished)
            return DealerResult(hands, (reports[0], reports[1]), fault, culprit, self.fixed_seats)


class _Match:
    """The hands of one match."""

    def __init__(
        self,
        dealer: Dealer,
        programs: list[_Program],
        log: TextIO | None,
        progress: Callable[[int, int], None] | None,
    ):
        self.dealer, self.programs, self.log, self.progress = dealer, programs, log, progress
        self.finished: list[Hand] = []
        self.winnings = [0, 0]

    def play(self) -> None:
        dealer = self.dealer
        deals = islice(competition_deals(dealer.rules, dealer.seed), dealer.hands)
        for number, hand in enumerate(deals):
            turned = number % 2 == 1 and not dealer.fixed_seats
            table = self.programs[::-1] if turned else self.programs  # by position
            hand = _play_hand(table, number, hand)
            self.finished.append(hand)
            values = hand.winnings
            for program, value in zip(table, values, strict=True):
                self.winnings[self.programs.index(program)] += value
            if self.log is not None:
                print(LoggedHand(number, hand, values, (table[0].name, table[1].name)), file=self.log)
            if self.progress and (number + 1) % 64 == 0:
                self.progress(number + 1, dealer.hands)
        if self.log is not None:
            names = self.programs[0].name, self.programs[1].name
            print(Score((self.winnings[0], self.winnings[1]), names), file=self.log)


def _play_hand(table: Sequence[_Program], number: int, hand: Hand) -> Hand:
    """Play a hand to its end; the programs stand by position."""
    for program in table:
        program.begin_hand(number)
    while True:
        states = [match_state_text(number, hand.observation(position)) for position in (0, 1)]
        for program, state in zip(table, states, strict=True):
            program.send(state)
        if hand.to_act is None:
            return hand
        hand = hand.play(table[hand.to_act].answer(states[hand.to_act], hand.betting))


class _SeatError(Exception):
    """A program ends the match."""

    def __init__(self, program: _Program, reason: str):
        super().__init__(f"{program.name} {reason}{program.place}")
        self.program = program


class _Program:
    """A program at the other end of a connection. Whatever it does, only a `_SeatError` is raised."""

    def __init__(self, name: str, dealer: Dealer):
        self.name, self.limits, self.max_invalid = name, dealer.limits, dealer.max_invalid
        self.match_limit = dealer.limits.per_hand * dealer.hands
        self.invalid_actions = self.ignored_lines = 0
        self.remarks: list[str] = []
        self.hand_seconds = self.match_seconds = 0.0
        self.place = ""  # in the match, for messages
        self.socket: socket.socket | None = None
        self.received = bytearray()
        self.unread = False  # whether it stopped to take what it is sent

    # The connection

    def accept(self, listener: socket.socket, deadline: float | None, timeout: int | None) -> None:
        try:
            listener.settimeout(None if deadline is None else max(deadline - monotonic(), 1e-3))
            self.socket = listener.accept()[0]
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except TimeoutError:
            raise _SeatError(self, f"did not connect within {timeout} ms") from None
        except OSError as error:
            raise _SeatError(self, f"could not connect: {error}") from None

    def close(self) -> None:
        if self.socket is not None:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
                # What is left unread would make the system reset the connection, and the last state be lost.
                self.socket.setblocking(False)
                for _ in range(64):
                    if not self.socket.recv(MAX_LINE):
                        break
            self.socket.close()

    def read_version(self) -> None:
        late = f"did not send its version within {self.limits.response} ms"
        line = self._read_line(monotonic() + self.limits.response / 1000, late)
        version = re.match(r"VERSION:([0-9]+)\.([0-9]+)\.[0-9]+", line)
        if version is None:
            raise _SeatError(self, f"should begin with VERSION:2.0.0, not {line[:80]!r}")
        if version.groups() != ("2", "0"):
            self._remark(f"speaks {line[:80]!r}, the dealer 2.0.0")

    def send(self, line: str) -> None:
        """Send a line. That the program is gone is found out when it is to act."""
        assert self.socket is not None
        if not self.unread:
            try:
                self.socket.settimeout(self.limits.response / 1000)
                self.socket.sendall(f"{line}\r\n".encode())
            except TimeoutError:
                self.unread = True
            except OSError:
                pass

    def _read_line(self, deadline: float, late: str) -> str:
        assert self.socket is not None
        while (end := self.received.find(b"\n")) < 0 and len(self.received) <= MAX_LINE:
            left = deadline - monotonic()
            try:
                self.socket.settimeout(max(left, 1e-6))
                data = self.socket.recv(MAX_LINE) if left > 0 else None
            except TimeoutError:
                data = None
            except OSError:
                data = b""
            if data is None:
                raise _SeatError(self, late)
            if not data:
                raise _SeatError(self, "closed the connection")
            self.received += data
        if not 0 <= end <= MAX_LINE:
            raise _SeatError(self, f"sent a line of more than {MAX_LINE} bytes")
        line = bytes(self.received[:end])
        del self.received[: end + 1]
        return line.decode("ascii", "backslashreplace").removesuffix("\r")

    # The play

    def begin_hand(self, number: int) -> None:
        self.place, self.hand_seconds = f" in hand {number}", 0.0

    def answer(self, state: str, betting: Betting) -> Action:
        """The program's action in a state, changed where it is not legal."""
        if self.unread:
            raise _SeatError(self, "does not read what it is sent")
        limits, begun = self.limits, monotonic()
        left, late = min(
            (limits.response / 1000, f"did not answer within {limits.response} ms"),
            (limits.hand / 1000 - self.hand_seconds, f"took more than {limits.hand} ms"),
            (
                self.match_limit / 1000 - self.match_seconds,
                f"took more than {limits.per_hand} ms a hand over the match",
            ),
        )
        try:
            while True:
                line = self._read_line(begun + left, late)
                if line[:1] in ("#", ";"):
                    continue
                if line == state or line.startswith(f"{state}:"):
                    break
                self.ignored_lines += 1
                self._remark(f"ignored {line[:200]!r}")
        finally:
            self.hand_seconds += monotonic() - begun
            self.match_seconds += monotonic() - begun
        action, objection = read_answer(betting, line[len(state) + 1 :])
        if objection is not None:
            self.invalid_actions += 1
            self._remark(f"{objection}, taken as {action}")
            if self.max_invalid is not None and self.invalid_actions > self.max_invalid:
                raise _SeatError(self, f"made more than {self.max_invalid} invalid actions")
        return action

    def _remark(self, text: str) -> None:
        if len(self.remarks) < MAX_REMARKS:
            self.remarks.append(f"{text}{self.place}")


def read_answer(betting: Betting, text: str) -> tuple[Action, str | None]:
    """The action that an answer stands for, and what was wrong with it, or None.

    As in the competition's server: letters in either case, k and b for c and r; what follows an action
    is ignored; a no-limit size out of range is moved into it; anything else that is not legal is a call.
    Unlike there, a second action makes the answer invalid.
    """
    call, bounds = betting.passive_actions()[-1], betting.raise_bounds()
    match = re.match(r"([fckrb])\s*([+-]?[0-9]+)?", text, re.IGNORECASE)
    if match is None:
        return call, f"{text[:80]!r} is no action"
    if re.match(r"[^0-9a-z]*[fckrb]", text[match.end() :], re.IGNORECASE):
        return call, f"{text[:80]!r} is more than one action"
    letter = match[1].lower()
    if letter in "ck":
        return call, None
    if letter == "f":
        owes = FOLD in betting.passive_actions()
        return (FOLD, None) if owes else (call, "fold where nothing is owed")
    # The other player's call must fit into the round, too.
    if bounds is None or len(betting.history[-1]) + 2 > MAX_ACTIONS:
        return call, f"{text[:80]!r} where no raise is legal"
    if betting.rules.betting == "limit":
        return betting.raise_action(bounds[0]), None
    if match[2] is None:
        return call, f"{text[:80]!r} has no size"
    assert betting.to_act is not None
    wanted = int(match[2]) - betting.round_start[betting.to_act]
    amount = min(max(wanted, bounds[0]), bounds[1])
    objection = None if amount == wanted else f"{text[:80]!r} is not a legal size"
    return betting.raise_action(amount), objection


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise OSError(f"cannot listen on {host}:{port}: {error.strerror}") from None


def _deadline(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else monotonic() + milliseconds / 1000

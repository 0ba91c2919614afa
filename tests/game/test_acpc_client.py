"""The ACPC client against a dealer that is played by hand, line by line."""

from __future__ import annotations

import math
import re
import socket
import statistics
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from nashfold.game import IllegalAction, Observation, preset
from nashfold.game.acpc_client import ClientResult, play_acpc

pytestmark = [
    pytest.mark.filterwarnings("error::ResourceWarning"),
    pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"),
]

NOLIMIT = preset("acpc-nolimit")
LONG = 30  # seconds: nothing here takes so long


def caller(view: Observation) -> str:
    return "call" if "call" in map(str, view.betting.passive_actions()) else "check"


class Script:
    """A dealer's end of a connection to a client that plays in a thread."""

    def __init__(self, connection: socket.socket, client: Future[ClientResult]):
        self.connection, self.client = connection, client
        self.lines = connection.makefile("rb")

    def tell(self, *lines: str) -> None:
        self.connection.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def hear(self) -> str:
        line = self.lines.readline().decode()
        assert line.endswith("\r\n")
        return line[:-2]

    def result(self) -> ClientResult:
        """The client's result after the dealer has left; the client sent nothing more."""
        self.connection.shutdown(socket.SHUT_WR)
        result = self.client.result(LONG)
        assert self.lines.read() == b""
        return result


@contextmanager
def client(player=caller, rules=NOLIMIT, progress=None) -> Iterator[Script]:
    threads = threading.active_count()
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:
        listener.settimeout(LONG)
        port = listener.getsockname()[1]
        future = pool.submit(play_acpc, player, "127.0.0.1", port, rules, progress)
        with listener.accept()[0] as connection:
            connection.settimeout(LONG)
            script = Script(connection, future)
            with script.lines:
                assert script.hear() == "VERSION:2.0.0"
                yield script
    assert threading.active_count() == threads


def test_it_answers_with_the_state_and_its_action_when_it_is_its_turn():
    with client() as dealer:
        dealer.tell("MATCHSTATE:1:0::|QcQd")
        assert dealer.hear() == "MATCHSTATE:1:0::|QcQd:c"
        dealer.tell("MATCHSTATE:1:0:c:|QcQd")  # not its turn
        dealer.tell("MATCHSTATE:1:0:cr300:|QcQd")
        assert dealer.hear() == "MATCHSTATE:1:0:cr300:|QcQd:c"
        dealer.tell(
            "MATCHSTATE:1:0:cr300c/:|QcQd/3h8d2c",
            "MATCHSTATE:1:0:cr300c/cc/cc/cc:AhKd|QcQd/3h8d2c/2s/9s",
        )
        assert dealer.client.done() is False
        result = dealer.result()
    assert result == ClientResult(1, 300, 3000.0, pytest.approx(math.nan, nan_ok=True), True)


def test_sizes_go_over_the_wire_as_chips_of_the_whole_hand():
    answers = iter(["raise-to:250", "bet:300", "raise-to:19750"])
    with client(lambda view: next(answers)) as dealer:
        for state, answer in (
            ("MATCHSTATE:1:4::|QcQd", "r250"),
            ("MATCHSTATE:1:4:r250c/c:|QcQd/3h8dKc", "r550"),
            ("MATCHSTATE:1:4:r250c/cr550r1000:|QcQd/3h8dKc", "r20000"),
        ):
            dealer.tell(state)
            assert dealer.hear() == f"{state}:{answer}"
        dealer.tell("MATCHSTATE:1:4:r250c/cr550r1000r20000c//:AhKd|QcQd/3h8dKc/2s/9s")
        assert dealer.result().winnings == -20_000


def test_comments_blank_lines_and_several_states_in_one_packet():
    with client() as dealer:
        dealer.tell(
            "# hello", "; again", "",
            "MATCHSTATE:1:0::|QcQd", "MATCHSTATE:1:0:c:|QcQd", "MATCHSTATE:1:0:cr300:|QcQd",
        )  # fmt: skip
        assert dealer.hear() == "MATCHSTATE:1:0::|QcQd:c"
        assert dealer.hear() == "MATCHSTATE:1:0:cr300:|QcQd:c"
        assert not dealer.result().complete


def test_a_state_in_pieces_is_answered_when_it_is_whole():
    asked = []

    def player(view: Observation) -> str:
        asked.append(view)
        return caller(view)

    with client(player) as dealer:
        for piece in ("MATCH", "STATE:1:12::|Q", "cQ", "d\r"):
            dealer.connection.sendall(piece.encode())
        dealer.connection.settimeout(0.1)
        with pytest.raises(TimeoutError):
            dealer.connection.recv(1)
        assert asked == []
        dealer.connection.settimeout(LONG)
        dealer.connection.sendall(b"\n")
        assert dealer.hear() == "MATCHSTATE:1:12::|QcQd:c"


def test_a_state_that_is_told_again_is_answered_once_and_a_hand_counted_once():
    with client() as dealer:
        dealer.tell("MATCHSTATE:1:0::|QcQd", "MATCHSTATE:1:0::|QcQd")
        dealer.tell("MATCHSTATE:1:0:c:|QcQd", "MATCHSTATE:1:0::|QcQd")
        dealer.tell("MATCHSTATE:1:0:cr300:|QcQd", "MATCHSTATE:1:0:cr300:|QcQd")
        assert [dealer.hear() for _ in range(2)] == [
            "MATCHSTATE:1:0::|QcQd:c",
            "MATCHSTATE:1:0:cr300:|QcQd:c",
        ]
        end = "MATCHSTATE:1:0:cr300c/cc/cc/cc:AhKd|QcQd/3h8d2c/2s/9s"
        dealer.tell(end, end)
        # The next hand may begin with the same betting and the same cards.
        dealer.tell("MATCHSTATE:1:1::|QcQd")
        assert dealer.hear() == "MATCHSTATE:1:1::|QcQd:c"
        result = dealer.result()
    assert (result.hands, result.winnings, result.complete) == (1, 300, False)


def test_a_player_is_told_when_a_hand_begins_and_progress_when_it_ends():
    told: list[object] = []

    class Player:
        def begin(self, number: int) -> None:
            told.append(f"begin {number}")

        def __call__(self, view: Observation) -> str:
            told.append(len(view.betting.actions))
            return "fold"

    with client(Player(), progress=lambda hands: told.append(f"end of {hands}")) as dealer:
        dealer.tell("MATCHSTATE:1:0::|QcQd")
        dealer.hear()
        dealer.tell("MATCHSTATE:1:0:f:|QcQd", "MATCHSTATE:0:1::QcQd|", "MATCHSTATE:0:1:r500:QcQd|")
        dealer.hear()
        dealer.tell("MATCHSTATE:0:1:r500f:QcQd|")
        dealer.result()
    assert told == ["begin 0", 0, "end of 1", "begin 1", 1, "end of 2"]


def test_winnings_and_their_error_against_a_plain_computation():
    ends = [
        ("MATCHSTATE:0:0:f:AhKd|", 50),
        ("MATCHSTATE:1:1:f:|AhKd", -50),
        ("MATCHSTATE:0:2:r20000c///:AhKd|QcQd/3h8dKc/2s/9s", 20_000),
        ("MATCHSTATE:1:3:r20000c///:AhKd|QcQd/3h8dKc/2s/9s", -20_000),
        ("MATCHSTATE:0:4:cc/cc/cc/cc:AhKd|AcKh/3h8d2c/2s/9s", 0),
        ("MATCHSTATE:0:5:r700c/cr900f:AhKd|/3h8dKc", -700),
    ]
    with client() as dealer:
        dealer.tell(*(line for line, _ in ends))
        result = dealer.result()
    rates = [chips * 10 for _, chips in ends]  # the big blind is 100
    assert (result.hands, result.winnings) == (6, -700)
    assert result.mbb_per_hand == pytest.approx(statistics.mean(rates))
    assert result.standard_error == pytest.approx(statistics.stdev(rates) / math.sqrt(6))
    assert result.complete
    assert str(result) == f"{result.mbb_per_hand:+.1f} +- {result.standard_error:.1f} mbb/h over 6 hands"


@pytest.mark.parametrize(
    ("lines", "rest", "hands"),
    [
        ([], b"", 0),
        (["MATCHSTATE:0:0::AhKd|"], b"", 0),
        (["MATCHSTATE:0:0:f:AhKd|"], b"MATCHSTATE:1:", 1),
        (["MATCHSTATE:0:0:f:AhKd|", "MATCHSTATE:1:1:r200:|AhKd"], b"", 1),
    ],
)
def test_a_dealer_that_leaves_early_ends_the_match_with_what_was_finished(lines, rest, hands):
    with client() as dealer:
        dealer.tell(*lines)
        dealer.connection.sendall(rest)
        result = dealer.result()
    assert (result.hands, result.winnings, result.complete) == (hands, 50 * hands, False)
    assert math.isnan(result.mbb_per_hand) == (hands == 0)


def test_a_dealer_that_is_gone_when_the_answer_comes_ends_the_match():
    gone = threading.Event()

    def slow(view: Observation) -> str:
        assert gone.wait(LONG)
        return "fold"

    with client(slow) as dealer:
        dealer.tell("MATCHSTATE:0:0:f:AhKd|", *(f"MATCHSTATE:1:{n}::|AhKd" for n in range(1, 50)))
        # With an unread line in it the connection is reset, not ended.
        dealer.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        dealer.lines.close()
        dealer.connection.close()
        gone.set()
        result = dealer.client.result(LONG)
    assert not result.complete


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ("acpc-limit", "MATCHSTATE:1:0:r250:|QcQd"),
        ("acpc-nolimit", "MATCHSTATE:1:0:cr:|QcQd"),
        ("short-limit", "MATCHSTATE:1:0::|2c2d"),
        ("acpc-nolimit", "HELLO"),
        ("acpc-nolimit", "MATCHSTATE:1:0::|QcQd" + " " * 5000),
    ],
)
def test_a_line_that_is_no_state_of_the_rules_is_refused(rules, line):
    message = f"{line!r} is no match state of {rules}: " if len(line) < 100 else "more than 4096 bytes"
    with client(rules=preset(rules)) as dealer:
        dealer.tell(line)
        with pytest.raises(ValueError, match=re.escape(message)):
            dealer.client.result(LONG)


@pytest.mark.parametrize("answer", ["", "f", "raise-to:150", "check", "bet:200", "raise-to:20001"])
def test_an_illegal_action_of_the_player_is_not_sent(answer):
    with client(lambda view: answer) as dealer:
        dealer.tell("MATCHSTATE:1:17::|QcQd")
        with pytest.raises(IllegalAction, match=r"^hand 17: "):
            dealer.client.result(LONG)
        assert dealer.lines.read() == b""


def test_a_player_that_fails_closes_the_connection():
    def fails(view: Observation) -> str:
        raise RuntimeError("out of ideas")

    with client(fails) as dealer:
        dealer.tell("MATCHSTATE:1:17::|QcQd")
        with pytest.raises(RuntimeError, match="out of ideas"):
            dealer.client.result(LONG)
        assert dealer.lines.read() == b""


@pytest.mark.parametrize("port", [-1, 0, 70_000, 99_999])
def test_numbers_that_are_no_port_are_refused(port):
    with pytest.raises(ValueError, match=f"a port is a number from 1 to 65535, not {port}"):
        play_acpc(caller, "127.0.0.1", port, NOLIMIT)


def test_where_no_dealer_listens_one_line_says_so():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]  # free again now
    with pytest.raises(ConnectionError, match=rf"no dealer can be reached at 127\.0\.0\.1:{port}: .+"):
        play_acpc(caller, "127.0.0.1", port, NOLIMIT)


def test_an_unknown_host_is_named():
    with pytest.raises(
        ConnectionError, match=r"no dealer can be reached at no\.such\.host\.invalid:5000: "
    ):
        play_acpc(caller, "no.such.host.invalid", 5000, NOLIMIT)

"""The ACPC dealer over TCP: the server's logs byte for byte, its wire, its faults, hostile programs."""

from __future__ import annotations

import gc
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from nashfold.game import Betting, Observation, new_hand, preset
from nashfold.game.acpc import (
    MatchLog,
    TimeLimits,
    competition_deals,
    match_state_text,
    parse_betting,
    parse_match_state,
    read_log,
)
from nashfold.game.acpc_client import ClientResult, play_acpc
from nashfold.game.acpc_dealer import MAX_REMARKS, Dealer, DealerResult, read_answer

pytestmark = [
    pytest.mark.filterwarnings("error::ResourceWarning"),
    pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"),
]

LOGS = sorted((Path(__file__).parents[1] / "data" / "acpc_logs").glob("*.log"))
NOLIMIT, LIMIT = preset("acpc-nolimit"), preset("acpc-limit")
LONG = 30  # seconds: nothing here takes so long


@pytest.fixture(autouse=True, scope="module")
def strength_tables_are_built():
    """Before any clock runs."""
    assert new_hand(NOLIMIT, seed=1).play("raise-to:20000").play("call").winnings[0] in (
        -20000,
        0,
        20000,
    )


@pytest.fixture(autouse=True)
def nothing_is_left_open():
    """No thread, no socket: after every test as before it."""
    before = threading.active_count(), len(os.listdir("/dev/fd"))
    yield
    assert (threading.active_count(), len(os.listdir("/dev/fd"))) == before
    gc.collect(1)  # what this test left over, so that its warnings are this test's


class Program:
    """A program written by hand: sends what it is told to send, and reads line by line."""

    def __init__(self, port: int, version: bytes = b"VERSION:2.0.0\r\n"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=LONG)
        self.lines = self.socket.makefile("rb")
        self.send(version)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: object) -> None:
        self.lines.close()
        self.socket.close()

    def send(self, data: str | bytes) -> None:
        """Sends without a complaint where the dealer is gone already."""
        with suppress(OSError):
            self.socket.sendall(data if isinstance(data, bytes) else data.encode())

    def read(self) -> str:
        """The next line without its end; "" at the end of the match."""
        try:
            line = self.lines.readline().decode()
        except ConnectionResetError:
            return ""
        assert not line or line.endswith("\r\n")
        return line.removesuffix("\r\n")

    def read_until_turn(self, rules=NOLIMIT) -> str:
        """The next state in which this program is to act."""
        while line := self.read():
            _, view = parse_match_state(line, rules)
            if view.to_act == view.player:
                return line
        return ""


def caller(view: Observation) -> str:
    return "call" if "call" in map(str, view.betting.passive_actions()) else "check"


def folder(view: Observation) -> str:
    return str(view.betting.passive_actions()[0])


class Table:
    """A dealer that runs in a thread, and programs that play honestly in others."""

    def __init__(self, dealer: Dealer, pool: ThreadPoolExecutor, log: Path | None):
        self.dealer, self.pool = dealer, pool
        self.outcome: Future[DealerResult] = pool.submit(dealer.run, (0, 1), log)

    def join(self, seat: int, player=caller) -> Future[ClientResult]:
        port, rules = self.dealer.ports[seat], self.dealer.rules
        return self.pool.submit(play_acpc, player, "127.0.0.1", port, rules)

    def result(self) -> DealerResult:
        return self.outcome.result(LONG)


@contextmanager
def table(rules=NOLIMIT, hands=4, seed=7, log=None, limits=None, **options) -> Iterator[Table]:
    limits = limits or TimeLimits(response=20_000)
    with (
        ThreadPoolExecutor() as pool,
        Dealer(
            rules, hands, seed, ("hero", "villain"), limits=limits, start_timeout=20_000, **options
        ) as dealer,
    ):
        yield Table(dealer, pool, log)


# The server's logs ------------------------------------------------------------------------------


class Replay:
    """Plays what the player in its position played in a log."""

    def __init__(self, log: MatchLog):
        self.log = log

    def begin(self, number: int) -> None:
        self.actions = self.log.hands[number].hand.betting.actions

    def __call__(self, view: Observation) -> str:
        return str(self.actions[len(view.betting.actions)])


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            marks=pytest.mark.slow
            if path.stem.startswith("nolimit_") and not path.stem.endswith("bad")
            else (),
            id=path.stem,
        )
        for path in LOGS
    ],
)
def test_the_servers_matches_dealt_again_give_the_servers_logs_byte_for_byte(path, tmp_path):
    game = "limit" if path.name.startswith("limit") else "nolimit"
    rules = replace(preset(f"acpc-{game}"), name=f"holdem.{game}.2p.reverse_blinds.game")
    log = read_log(path, rules)
    copy = tmp_path / path.name
    with (
        ThreadPoolExecutor() as pool,
        Dealer(
            rules, log.header.hands, log.header.seed, log.score.names, start_timeout=20_000
        ) as dealer,
    ):
        outcome = pool.submit(dealer.run, log=copy)
        clients = [
            pool.submit(play_acpc, Replay(log), "127.0.0.1", port, rules) for port in dealer.ports
        ]
        result, sides = outcome.result(LONG), [client.result(LONG) for client in clients]
    assert copy.read_bytes() == path.read_bytes()
    assert str(result.score) == path.read_text().splitlines()[-1]
    assert result.winnings == log.score.values == tuple(side.winnings for side in sides)
    assert [side.hands for side in sides] == [len(log.hands)] * 2
    assert all(side.complete for side in sides)
    assert [hand.winnings for hand in result.hands] == [hand.values for hand in log.hands]
    assert [(seat.invalid_actions, seat.ignored_lines, seat.remarks) for seat in result.seats] == [
        (0, 0, ())
    ] * 2


# The wire ---------------------------------------------------------------------------------------


def test_both_players_are_told_every_state_as_the_server_tells_it():
    """Before every action and at the end, to both; a plain end of line is accepted from them."""
    answers = (["r250", "c", "c", "c", "c", "c", "c", "c"], ["r300", "f"])

    def play(port: int) -> list[str]:
        told = []
        with Program(port) as program:
            while line := program.read():
                told.append(line)
                number, view = parse_match_state(line, NOLIMIT)
                if view.to_act == view.player:
                    program.send(f"{line}:{answers[number][len(view.betting.actions)]}\n")
        return told

    with table(hands=2) as match:
        programs = [match.pool.submit(play, port) for port in match.dealer.ports]
        told = [program.result(LONG) for program in programs]
        result = match.result()
    assert [line.split(":")[3] for line in told[0]] == [
        "", "r250", "r250c/", "r250c/c", "r250c/cc/", "r250c/cc/c", "r250c/cc/cc/", "r250c/cc/cc/c",
        "r250c/cc/cc/cc", "", "r300", "r300f",
    ]  # fmt: skip
    deals = competition_deals(NOLIMIT, 7)
    expected: list[list[str]] = [[], []]
    for number, (hand, final) in enumerate(zip(deals, result.hands, strict=False)):
        states = [hand]
        for action in final.betting.actions:
            states.append(states[-1].play(action))
        for seat in (0, 1):
            views = [state.observation((seat - number) % 2) for state in states]
            expected[seat] += [match_state_text(number, view) for view in views]
    assert told == expected
    own, other = told[0][0].split(":")[4], told[1][0].split(":")[4]
    assert re.fullmatch(r"[2-9TJQKA][cdhs][2-9TJQKA][cdhs]\|", own)
    assert re.fullmatch(r"\|[2-9TJQKA][cdhs][2-9TJQKA][cdhs]", other)
    assert told[0][8].split(":")[4].startswith(f"{own}{other[1:]}/")  # shown at the showdown
    assert told[0][11].split(":")[4].startswith("|")  # and not after a fold
    assert result.complete


@pytest.mark.parametrize(
    ("fixed", "asked", "winnings"), [(False, [1, 1], (0, 0)), (True, [], (200, -200))]
)
def test_the_button_moves_unless_seats_are_fixed(fixed, asked, winnings):
    """The small blind folds at once: the big one wins 50 and is not asked."""
    seen = []

    def player(view: Observation) -> str:
        seen.append(view.player)
        return folder(view)

    with table(fixed_seats=fixed) as match:
        match.join(0, player)
        match.join(1, folder)
        result = match.result()
    assert (seen, result.winnings, result.fixed_seats) == (asked, winnings, fixed)
    assert [hand.winnings for hand in result.hands] == [(50, -50)] * 4


def test_comments_are_skipped_and_other_versions_play_on():
    with (
        table(hands=1) as match,
        Program(match.dealer.ports[1], b"VERSION:1.7.3\n") as program,
    ):
        match.join(0)
        state = program.read_until_turn()
        program.send(f"# thinking\r\n;still\r\n{state}:f\r\n")
        result = match.result()
    assert result.complete
    assert result.seats[1].remarks == ("speaks 'VERSION:1.7.3', the dealer 2.0.0",)
    assert (result.seats[1].ignored_lines, result.seats[1].winnings) == (0, -50)


# Answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "betting", "answer", "action", "valid"),
    [
        # Spellings that the server accepts
        (NOLIMIT, "", "c", "call", True),
        (NOLIMIT, "", "K", "call", True),
        (NOLIMIT, "", "F", "fold", True),
        (NOLIMIT, "", "B300", "raise-to:300", True),
        (NOLIMIT, "r250c/c", "r550", "bet:300", True),
        (NOLIMIT, "r250c/c", "c", "check", True),
        (LIMIT, "", "r", "raise-to:20", True),
        # What follows an action is ignored
        (NOLIMIT, "", "c5", "call", True),
        (NOLIMIT, "", "f9", "fold", True),
        (NOLIMIT, "", "r300 ", "raise-to:300", True),
        (NOLIMIT, "", "call", "call", True),
        (NOLIMIT, "", "fold", "fold", True),
        (LIMIT, "", "r99", "raise-to:20", True),
        (LIMIT, "", "raise", "raise-to:20", True),
        # Taken as calls
        (NOLIMIT, "c", "f", "check", False),
        (NOLIMIT, "", "x", "call", False),
        (NOLIMIT, "", "", "call", False),
        (NOLIMIT, "", " c", "call", False),
        (NOLIMIT, "", "r", "call", False),
        (NOLIMIT, "", "rABC", "call", False),
        (NOLIMIT, "r20000", "r20000", "call", False),
        (LIMIT, "rrr", "r", "call", False),
        (LIMIT, "cc/rrrr", "r", "call", False),
        # More than one action (field case PR-03)
        (NOLIMIT, "r200", "r600c", "call", False),
        (NOLIMIT, "r200", "r600 c", "call", False),
        (NOLIMIT, "r200", "r600:c", "call", False),
        (NOLIMIT, "r200", "r600r1200", "call", False),
        (NOLIMIT, "r200", "cc", "call", False),
        (NOLIMIT, "r200", "fc", "call", False),
        (NOLIMIT, "r200", "cf", "call", False),
        (LIMIT, "r", "rr", "call", False),
        # Sizes moved into their range
        (NOLIMIT, "r200", "r-50", "raise-to:300", False),
        (NOLIMIT, "r200", "r1", "raise-to:300", False),
        (NOLIMIT, "r200", "r299", "raise-to:300", False),
        (NOLIMIT, "r200", "r99999999", "raise-to:20000", False),
        (NOLIMIT, "r200", "r" + "9" * 4000, "raise-to:20000", False),
        (NOLIMIT, "r250c/c", "r300", "bet:100", False),
        (NOLIMIT, "r20000", "f", "fold", True),
    ],
)
def test_answers_are_taken_as_the_server_takes_them(rules, betting, answer, action, valid):
    state = parse_betting(betting, rules)
    taken, objection = read_answer(state, answer)
    assert str(taken) == action
    assert state.is_legal(taken)
    assert (objection is None) == valid


def test_no_raise_is_taken_where_a_round_has_no_room_for_it_and_its_call():
    """The server has room for 64 actions a round."""
    betting = Betting.start(NOLIMIT)
    for count in range(63):
        assert betting.raise_bounds() is not None
        action, objection = read_answer(betting, "r0")
        assert objection is not None
        assert action == betting.raise_action(betting.raise_bounds()[0])
        assert len(betting.history[0]) == count
        betting = betting.play(action)
    assert betting.raise_bounds() is not None
    assert str(read_answer(betting, "r20000")[0]) == "call"


def test_replies_with_two_actions_or_an_altered_history_are_not_accepted():
    """Field case PR-03, over the wire: only the first kind of reply is taken as it is."""
    with table(hands=8) as match, Program(match.dealer.ports[0]) as program:

        def raiser(view: Observation) -> str:
            return "raise-to:200" if not view.betting.actions else caller(view)

        match.join(1, raiser)
        taken = {}
        while state := program.read_until_turn():
            number, view = parse_match_state(state, NOLIMIT)
            if str(view.betting.history[0]) != str(parse_betting("r200", NOLIMIT).history[0]) or (
                view.round > 0
            ):
                program.send(f"{state}:c\r\n")
                continue
            reply = {
                0: [f"{state}:c"],
                2: [state.replace(":r200:", ":r2000:") + ":c", "0c", f"{state}:f"],
                4: [f"{state}:r600c"],
                6: [f"{state}:r-50"],
            }[number]
            program.send("".join(f"{line}\r\n" for line in reply))
            taken[number] = view.hole
        result = match.result()
    assert sorted(taken) == [0, 2, 4, 6]
    assert [str(result.hands[number].betting.history[0][1]) for number in taken] == [
        "call", "fold", "call", "raise-to:300",
    ]  # fmt: skip
    assert all(str(result.hands[number].betting.history[0][0]) == "raise-to:200" for number in taken)
    seat = result.seats[0]
    assert (seat.invalid_actions, seat.ignored_lines) == (2, 2)
    assert seat.remarks[1:] == (
        "ignored '0c' in hand 2",
        "'r600c' is more than one action, taken as call in hand 4",
        "'r-50' is not a legal size, taken as raise-to:300 in hand 6",
    )
    assert ":r2000:" in seat.remarks[0]
    assert result.seats[1].remarks == ()


def test_an_old_answer_or_the_same_one_twice_never_reaches_the_next_hand():
    """Field case PR-06."""
    with table(hands=6) as match, Program(match.dealer.ports[0]) as program:
        other = match.join(1)
        first = ""
        while state := program.read_until_turn():
            # The answer to the first state was a call; later it comes again as an all-in.
            program.send(f"{first}{state}:c\r\n{state}:c\r\n")
            first = first or f"{state}:r20000\r\n"
        result = match.result()
        assert other.result(LONG).complete
    assert result.complete
    assert all(set(map(str, hand.betting.actions)) <= {"call", "check"} for hand in result.hands)
    assert result.seats[0].invalid_actions == 0
    # Of its 24 turns the first one leaves one line too many, the others two; the last one is never read.
    assert result.seats[0].ignored_lines == 23 + 23
    assert len(result.seats[0].remarks) == MAX_REMARKS


def test_too_many_invalid_actions_end_the_match():
    with table(max_invalid=2) as match, Program(match.dealer.ports[0]) as program:
        other = match.join(1)
        while state := program.read_until_turn():
            program.send(f"{state}:nonsense\r\n")
        result = match.result()
        assert not other.result(LONG).complete
    assert result.fault == "hero made more than 2 invalid actions in hand 0"
    assert (result.culprit, result.seats[0].invalid_actions) == (0, 3)


# Faults -----------------------------------------------------------------------------------------


def check_other_seat(match: Table, other: Future[ClientResult], hands: int) -> None:
    """The other seat was served until the end, and told of it by the end of its connection."""
    side, result = other.result(LONG), match.result()
    assert side.hands == len(result.hands) == hands
    assert side.winnings == result.winnings[1]
    assert not result.complete
    assert result.culprit == 0
    with pytest.raises(ValueError, match="a match without its end has no score"):
        _ = result.score


def test_a_program_that_dies_in_a_hand_ends_the_match_and_finished_hands_stay(tmp_path):
    path = tmp_path / "dead.log"
    with table(hands=10, log=path) as match:
        other = match.join(1)
        with Program(match.dealer.ports[0]) as program:
            while state := program.read_until_turn():
                number, view = parse_match_state(state, NOLIMIT)
                if number == 3 and view.round == 2:
                    break
                program.send(f"{state}:c\r\n")
        check_other_seat(match, other, 3)
        assert match.result().fault == "hero closed the connection in hand 3"
    log = read_log(path, NOLIMIT, check=True)
    assert [entry.hand for entry in log.hands] == list(match.result().hands)
    assert log.score is None
    assert log.header.name == "dead"


def test_a_program_that_dies_while_the_other_one_thinks_is_noticed_at_its_turn():
    gone = threading.Event()

    def slow(view: Observation) -> str:
        assert gone.wait(LONG)
        return caller(view)

    with table(hands=10) as match:
        other = match.join(1, slow)
        with Program(match.dealer.ports[0]) as program:
            program.read()
        gone.set()
        check_other_seat(match, other, 0)
        assert match.result().fault == "hero closed the connection in hand 0"


def test_a_program_that_dies_after_its_last_action_loses_nothing():
    """Nothing is asked of it any more; the hand goes on to its end."""
    with table(hands=1) as match:

        def waits(view: Observation) -> str:
            assert not view.round or gone.wait(LONG)
            return caller(view)

        gone = threading.Event()
        other = match.join(0, waits)
        with Program(match.dealer.ports[1]) as program:
            program.send(program.read_until_turn() + ":r20000\r\n")
        gone.set()
        assert other.result(LONG).complete
        assert match.result().complete
        assert match.result().hands[0].betting.is_all_in_showdown


@pytest.mark.parametrize(
    ("version", "fault"),
    [
        (b"", "hero closed the connection"),
        (b"VERSION:2.0.0", "hero closed the connection"),
        (b"HELLO\r\n", "hero should begin with VERSION:2.0.0, not 'HELLO'"),
        (b"VERSION:two\r\n", "hero should begin with VERSION:2.0.0, not 'VERSION:two'"),
        (b"\xff\xfe\r\n", r"hero should begin with VERSION:2.0.0, not '\\xff\\xfe'"),
        (b"V" * 5000, "hero sent a line of more than 4096 bytes"),
    ],
)
def test_a_program_without_a_version_ends_the_match(version, fault):
    with table() as match:
        other = match.join(1)
        with Program(match.dealer.ports[0], version) as program:
            program.socket.shutdown(socket.SHUT_WR)
            assert program.read() == ""
        check_other_seat(match, other, 0)
        assert match.result().fault == fault


def test_a_flood_without_an_end_of_line_ends_the_match():
    with table() as match, Program(match.dealer.ports[0]) as program:
        other = match.join(1)
        program.read_until_turn()
        for _ in range(100):
            program.send(b"x" * 10_000)
        check_other_seat(match, other, 0)
        assert match.result().fault == "hero sent a line of more than 4096 bytes in hand 0"


def test_a_flood_of_lines_out_of_turn_holds_up_its_sender_only():
    """More than all buffers of the system hold, while the other one thinks and plays on."""
    stop = threading.Event()

    def flood(program: Program) -> None:
        line = b"MATCHSTATE:0:0::AhKd|:r20000\r\n" * 2000
        program.socket.settimeout(0.2)
        while not stop.is_set():
            with suppress(OSError):
                program.socket.sendall(line)

    def thinks(view: Observation) -> str:
        time.sleep(0.2 if view.round == 0 else 0)
        return caller(view)

    limits = TimeLimits(response=1_000)
    with table(limits=limits) as match, Program(match.dealer.ports[0]) as program:
        other = match.join(1, thinks)

        flooding = match.pool.submit(flood, program)
        check_other_seat(match, other, 0)
        stop.set()
        flooding.result(LONG)
        assert match.result().fault == "hero did not answer within 1000 ms in hand 0"
        seat = match.result().seats[0]
        assert seat.ignored_lines > 1000
        assert len(seat.remarks) == MAX_REMARKS


def test_a_flood_before_the_turn_does_not_spoil_an_honest_answer_after_it():
    with table(hands=1) as match, Program(match.dealer.ports[0]) as program:
        match.join(1)
        program.send(b"MATCHSTATE:0:0:c:AhKd|:f\r\n" * 3000)
        while state := program.read_until_turn():
            program.send(f"{state}:c\r\n")
        result = match.result()
    assert result.complete
    assert result.seats[0].ignored_lines == 3000


def test_a_program_that_does_not_read_is_not_waited_for_longer_than_for_an_answer():
    """With fixed seats and a small blind that folds, player 0 is told much and asked nothing."""
    limits, hands = TimeLimits(response=1_000), 600
    with (
        Dealer(NOLIMIT, 10_000, 7, ("hero", "villain"), limits=limits, fixed_seats=True) as dealer,
        ThreadPoolExecutor() as pool,
    ):
        # Small buffers: what is not read soon fills them.
        dealer._listeners[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        outcome = pool.submit(dealer.run)
        with socket.socket() as silent, Program(dealer.ports[1]) as program:
            silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            silent.connect(("127.0.0.1", dealer.ports[0]))
            silent.sendall(b"VERSION:2.0.0\r\n")
            for _ in range(hands):
                program.send(f"{program.read_until_turn()}:f\r\n")
            program.send(f"{program.read_until_turn()}:c\r\n")  # now the other one is asked
            result = outcome.result(LONG)
    assert result.fault == f"hero does not read what it is sent in hand {hands}"
    assert (len(result.hands), result.winnings) == (hands, (50 * hands, -50 * hands))


@pytest.mark.parametrize(
    ("limits", "fault"),
    [
        (TimeLimits(response=1_000), "hero did not answer within 1000 ms in hand 0"),
        (TimeLimits(hand=1_000), "hero took more than 1000 ms in hand 0"),
        (TimeLimits(per_hand=100), "hero took more than 100 ms a hand over the match in hand 0"),
    ],
)
def test_time_limits_are_kept(limits, fault):
    """It takes 0.3 seconds for each of four answers, or sleeps on the turn."""
    with table(hands=10, limits=limits) as match, Program(match.dealer.ports[0]) as program:
        other = match.join(1)
        while state := program.read_until_turn():
            _, view = parse_match_state(state, NOLIMIT)
            if view.round == 2 and limits.response == 1_000:
                assert program.read() == ""
                break
            time.sleep(0.3)
            program.send(f"{state}:c\r\n")
        check_other_seat(match, other, 0)
        assert match.result().fault == fault
        assert match.result().seats[0].milliseconds >= 1_000


def test_a_line_that_comes_in_drops_does_not_stretch_the_time():
    with (
        table(limits=TimeLimits(response=400)) as match,
        Program(match.dealer.ports[0]) as program,
    ):
        other = match.join(1)
        state = program.read_until_turn()
        begun = time.monotonic()
        for letter in f"{state}:c\r\n" * 20:
            program.send(letter)
            time.sleep(0.05)
            if match.outcome.done():
                break
        assert time.monotonic() - begun < 20 * len(state) * 0.05
        check_other_seat(match, other, 0)
        assert match.result().fault == "hero did not answer within 400 ms in hand 0"


def test_a_program_that_does_not_connect_ends_the_match():
    with (
        Dealer(NOLIMIT, 5, 1, ("a", "b"), start_timeout=200) as dealer,
        Program(dealer.ports[0]) as program,
    ):
        result = dealer.run()
        assert result.fault == "b did not connect within 200 ms"
        assert (result.culprit, result.hands, result.winnings) == (1, (), (0, 0))
        assert program.read() == ""
    assert not result.complete


# The dealer -------------------------------------------------------------------------------------


def test_several_programs_play_in_pairs_through_one_port_each():
    with (
        ThreadPoolExecutor() as pool,
        Dealer(LIMIT, 20, 3, ("a", "b", "c"), start_timeout=20_000) as dealer,
    ):
        results = []
        for pair in ((0, 1), (0, 2), (1, 2)):
            outcome = pool.submit(dealer.run, pair)
            for seat in pair:
                pool.submit(
                    play_acpc, (caller, caller, folder)[seat], "127.0.0.1", dealer.ports[seat], LIMIT
                )
            results.append(outcome.result(LONG))
    assert [tuple(seat.name for seat in result.seats) for result in results] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]
    # The same cards in every match: what folds loses 5 as the small blind and checks as the big one.
    assert results[1].hands == results[2].hands
    assert results[1].winnings[0] > 0
    assert [hand.hole for hand in results[0].hands] == [hand.hole for hand in results[1].hands]


def test_progress_is_reported_and_a_closed_dealer_listens_no_more():
    calls: list[tuple[int, int]] = []
    with ThreadPoolExecutor() as pool, Dealer(NOLIMIT, 130, start_timeout=20_000) as dealer:
        for port in dealer.ports:
            pool.submit(play_acpc, folder, "127.0.0.1", port, NOLIMIT)
        dealer.run(progress=lambda *call: calls.append(call))
    assert calls == [(64, 130), (128, 130)]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", dealer.ports[0]), timeout=LONG)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hands": 0}, "a positive number of hands, not 0"),
        ({"seed": -1}, "from 0 to 4294967295, not -1"),
        ({"names": ("a",)}, "two or more different names, not 'a'"),
        ({"names": ("a", "a")}, "two or more different names, not 'a a'"),
        ({"names": ("a", "b|c")}, "'b|c' is no name for logs"),
        ({"names": ("a", "")}, "'' is no name for logs"),
        ({"ports": (0,)}, "one port from 0 to 65535 for each of the 2 names"),
        ({"ports": (0, 70_000)}, "one port from 0 to 65535"),
        ({"start_timeout": 0}, "the start timeout is 1 to 1000000000 milliseconds, not 0"),
        ({"max_invalid": -1}, "cannot be negative: -1"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Dealer(NOLIMIT, **({"hands": 1} | options))


@pytest.mark.parametrize("name", ["response", "hand", "per_hand"])
@pytest.mark.parametrize("value", [0, -1, 10**10])
def test_bad_time_limits_are_refused(name, value):
    message = re.escape(f"time limits are 1 to 1000000000 milliseconds, not {value} ({name})")
    with pytest.raises(ValueError, match=message):
        TimeLimits(**{name: value})


def test_a_port_in_use_is_named_and_nothing_stays_open():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1:{port}: "):
            Dealer(NOLIMIT, 1, ports=(0, port))


def test_an_interrupt_closes_everything(monkeypatch):
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nashfold.game.acpc_dealer.match_state_text", interrupt)
    with (
        Dealer(NOLIMIT, 5, 1, start_timeout=20_000) as dealer,
        Program(dealer.ports[0]) as first,
        Program(dealer.ports[1]) as second,
    ):
        with pytest.raises(KeyboardInterrupt):
            dealer.run()
        assert first.read() == second.read() == ""

"""The commands acpc and dealer: their text, their JSON, and what they say when a match goes wrong."""

from __future__ import annotations

import argparse
import json
import re
import socket
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from nashfold.experiments.acpc import add_acpc_options, add_dealer_options, run_acpc, run_dealer
from nashfold.game import preset
from nashfold.game.acpc import read_log
from nashfold.game.acpc_client import play_acpc

LIMIT_LOG = Path(__file__).parents[1] / "data" / "acpc_logs" / "limit_bad.log"
LONG = 60  # seconds: nothing here takes so long


def parsed(add: Callable[[argparse.ArgumentParser], None], words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    add(parser)
    return parser.parse_args(words.split())


class Screen:
    """Stands for an output: the whole lines of several threads, in the order in which they end."""

    def __init__(self) -> None:
        self.begun = threading.local()
        self.ended: list[str] = []
        self.queue: Queue[str] = Queue()

    def write(self, text: str) -> int:
        *lines, self.begun.text = (getattr(self.begun, "text", "") + text).split("\n")
        for line in lines:
            self.ended.append(line)
            self.queue.put(line)
        return len(text)

    def flush(self) -> None:
        pass


class Stage:
    """Commands in threads, and what they print."""

    def __init__(self, pool: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch):
        self.pool, self.patch = pool, monkeypatch
        self.out, self.err = Screen(), Screen()

    def dealer(self, words: str) -> tuple[Future[dict[str, Any]], list[int]]:
        """A dealer and its ports: of the first line of numbers, as programs that start one read it."""
        self.patch.setattr(sys, "stdout", self.out)
        self.patch.setattr(sys, "stderr", self.err)
        options = parsed(add_dealer_options, f"--start-timeout 20000 {words}")
        dealer = self.pool.submit(run_dealer, options)
        screen = self.err if options.json else self.out
        while not re.fullmatch(r"[0-9]+( [0-9]+)+", line := screen.queue.get(timeout=LONG)):
            assert options.json, line
        return dealer, [int(port) for port in line.split()]

    def client(self, strategy: str, port: int, more: str = "") -> Future[dict[str, Any]]:
        words = f"{strategy} 127.0.0.1 {port} {more}"
        return self.pool.submit(run_acpc, parsed(add_acpc_options, words))


@pytest.fixture
def stage(monkeypatch):
    with ThreadPoolExecutor() as pool:
        yield Stage(pool, monkeypatch)


def test_two_strategies_play_a_match_from_ports_to_score(stage, tmp_path):
    log = tmp_path / "demo.log"
    dealer, ports = stage.dealer(f"--rules acpc-limit --hands 70 --seed 5 --names alice bob --log {log}")
    alice = stage.client("always-call", ports[0], "--rules acpc-limit")
    bob = stage.client("random", ports[1], "--rules acpc-limit --seed 3")
    result, own, other = dealer.result(LONG), alice.result(LONG), bob.result(LONG)

    out = stage.out.ended
    assert out[0] == f"{ports[0]} {ports[1]}"
    scores = [line for line in out if line.startswith("SCORE:")]
    assert scores == [f"SCORE:{own['winnings']}|{other['winnings']}:alice|bob"]
    assert any(line.startswith(f"always-call won {own['winnings']:+,} chips: ") for line in out)
    assert (own["strategy"], own["hands"], own["complete"]) == ("always-call", 70, True)
    assert own["winnings"] == -other["winnings"] != 0
    assert own["mbb_per_hand"] == pytest.approx(own["winnings"] * 1000 / 10 / 70)

    (match,) = result["matches"]
    assert (match["names"], match["hands"], match["fault"]) == (["alice", "bob"], 70, None)
    assert match["winnings"] == (own["winnings"], other["winnings"])
    assert result["complete"]
    assert result["ports"] == tuple(ports)
    assert [row["winnings"] for row in result["totals"]] == sorted(match["winnings"], reverse=True)
    json.dumps(result)

    text = log.read_text()
    assert text.startswith("# name/game/hands/seed demo acpc-limit 70 5\n#--t_response 600000\n")
    read = read_log(log, preset("acpc-limit"), check=True)
    assert read.score.values == match["winnings"]


def test_the_command_deals_a_match_of_the_server_again_from_its_definition(stage, tmp_path):
    """Names, game, seed and hands as in the log's header: the log comes out byte for byte."""
    game = tmp_path / "holdem.limit.2p.reverse_blinds.game"
    game.write_text(preset("acpc-limit").to_acpc())
    log = tmp_path / "limit_bad.log"
    dealer, ports = stage.dealer(
        f"--rules {game} --hands 60 --seed 48 --names A_bad B_passive --log {log}"
    )
    rules = preset("acpc-limit")
    lines = read_log(LIMIT_LOG, rules)

    def replay() -> Any:
        hand = 0

        def player(view) -> str:
            return str(lines.hands[hand].hand.betting.actions[len(view.betting.actions)])

        def begin(number: int) -> None:
            nonlocal hand
            hand = number

        player.begin = begin  # type: ignore[attr-defined]
        return player

    for port in ports:
        stage.pool.submit(play_acpc, replay(), "127.0.0.1", port, rules)
    assert dealer.result(LONG)["complete"]
    assert log.read_bytes() == LIMIT_LOG.read_bytes()
    assert stage.out.ended[-1] == lines_of(LIMIT_LOG)[-1]


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_json_leaves_standard_output_to_the_result(stage):
    dealer, ports = stage.dealer("--json --rules short-limit --hands 3")
    for port in ports:
        stage.client("always-fold", port, "--json --rules short-limit")
    assert dealer.result(LONG)["matches"][0]["names"] == ["A", "B"]
    assert stage.out.ended == []


def test_three_programs_play_every_pair_and_a_table_ends_it(stage, tmp_path):
    dealer, ports = stage.dealer(
        f"--rules acpc-limit --hands 8 --names ann bo cy --log {tmp_path}/table.log"
    )
    assert len(ports) == 3

    def again(strategy: str, port: int) -> list[Any]:
        options = parsed(add_acpc_options, f"{strategy} 127.0.0.1 {port} --rules acpc-limit --json")
        return [run_acpc(options) for _ in range(2)]

    players = ("always-call", "always-raise", "always-fold")
    sides = [stage.pool.submit(again, *pair) for pair in zip(players, ports, strict=True)]
    result = dealer.result(LONG)
    assert [match["names"] for match in result["matches"]] == [
        ["ann", "bo"],
        ["ann", "cy"],
        ["bo", "cy"],
    ]
    totals = {row["name"]: row["winnings"] for row in result["totals"]}
    for name, side in zip(("ann", "bo", "cy"), sides, strict=True):
        assert totals[name] == sum(match["winnings"] for match in side.result(LONG))
    assert sum(totals.values()) == 0
    assert totals["cy"] < 0
    assert [row["hands"] for row in result["totals"]] == [16, 16, 16]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "table-ann-bo.log", "table-ann-cy.log", "table-bo-cy.log",
    ]  # fmt: skip
    out = stage.out.ended
    assert [line[:6] for line in out[1:4]] == ["SCORE:"] * 3
    best = result["totals"][0]
    assert re.fullmatch(
        rf"{best['name']} +\+{best['winnings']} chips in +16 hands: +\+{best['mbb_per_hand']:.1f} mbb/h",
        out[4],
    )
    assert len(out) == 7


def test_a_program_that_dies_leaves_a_line_and_no_score(stage):
    dealer, ports = stage.dealer("--rules acpc-limit --hands 5 --names alice bob")
    alice = stage.client("always-call", ports[0], "--rules acpc-limit")
    with socket.create_connection(("127.0.0.1", ports[1]), timeout=LONG) as connection:
        connection.sendall(b"VERSION:2.0.0\r\n")
    result = dealer.result(LONG)
    assert not result["complete"]
    (match,) = result["matches"]
    assert (match["fault"], match["culprit"]) == ("bob closed the connection in hand 0", "bob")
    assert not alice.result(LONG)["complete"]
    err = stage.err.ended
    message = "nashfold: bob closed the connection in hand 0: the match ends after 0 hands"
    assert sum(message in line for line in err) == 1
    assert sum("nashfold: the dealer left before the end of the match" in line for line in err) == 1
    assert "SCORE" not in "".join(stage.out.ended)


def test_invalid_actions_are_told_and_limited(stage):
    dealer, ports = stage.dealer("--rules acpc-nolimit --hands 5 --max-invalid 0 --fixed-seats")
    stage.client("always-call", ports[0], "--rules acpc-nolimit")
    with (
        socket.create_connection(("127.0.0.1", ports[1]), timeout=LONG) as connection,
        connection.makefile("rb") as lines,
    ):
        connection.sendall(b"VERSION:2.0.0\n")
        state = lines.readline().strip()
        connection.sendall(b"junk\r\n" + state + b":r600c\r\n")
        result = dealer.result(LONG)
    seat = result["matches"][0]["seats"][1]
    assert (seat["invalid_actions"], seat["ignored_lines"]) == (1, 1)
    assert result["matches"][0]["fault"] == "B made more than 0 invalid actions in hand 0"
    err = "\n".join(stage.err.ended)
    assert "B: 1 invalid actions, 1 lines ignored\nB: ignored 'junk' in hand 0\n" in err
    assert "B: 'r600c' is more than one action, taken as call in hand 0\n" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--rules nowhere --hands 1", "unknown preset 'nowhere'"),
        ("--rules acpc-limit --hands 0", "a positive number of hands, not 0"),
        ("--rules acpc-limit --hands 1 --seed 4294967296", "0 to 4294967295, not 4294967296"),
        ("--rules acpc-limit --hands 1 --names a", "two or more different names"),
        ("--rules acpc-limit --hands 1 --ports 1", "one port from 0 to 65535"),
        ("--rules acpc-limit --hands 1 --t-hand 0", "milliseconds, not 0 (hand)"),
        ("--rules acpc-limit --hands 1 --start-timeout -5", "milliseconds, not -5"),
    ],
)
def test_mistakes_in_dealer_options_are_value_errors(words, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run_dealer(parsed(add_dealer_options, words))


def test_a_damaged_or_missing_game_file_is_named(tmp_path):
    game = tmp_path / "broken.game"
    game.write_text("GAMEDEF\nlimit\nnumPlayers = 3\nEND GAMEDEF\n")
    with pytest.raises(ValueError, match=r"broken\.game: .*only games of two players"):
        run_dealer(parsed(add_dealer_options, f"--rules {game} --hands 1"))
    with pytest.raises(ValueError, match=r"cannot read .*none\.game: No such file"):
        run_dealer(parsed(add_dealer_options, f"--rules {tmp_path}/none.game --hands 1"))


def test_a_log_that_cannot_be_written_stops_the_command(tmp_path, capsys):
    options = parsed(add_dealer_options, f"--rules acpc-limit --hands 1 --log {tmp_path}/no/where.log")
    with pytest.raises(ValueError, match=r"where\.log cannot be written: .* no folder to write in"):
        run_dealer(options)


def test_a_log_that_is_there_is_not_overwritten(tmp_path, capsys):
    path = tmp_path / "mine.log"
    path.write_text("precious")
    options = parsed(add_dealer_options, f"--rules acpc-limit --hands 1 --log {path}")
    with pytest.raises(ValueError, match=r"mine\.log exists: name another file"):
        run_dealer(options)
    assert path.read_text() == "precious"
    assert capsys.readouterr().out == ""  # no program was invited


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (
            "always-call 127.0.0.1 5000",
            ValueError,
            "always-call needs --rules: one of acpc-nolimit",
        ),
        ("no-such-run 127.0.0.1 5000", ValueError, "unknown strategy 'no-such-run'"),
        (
            "always-call 127.0.0.1 99999 --rules acpc-limit",
            ValueError,
            "a port is a number from 1 to 65535, not 99999",
        ),
    ],
)
def test_mistakes_in_client_options_are_one_line(words, error, message, capsys):
    with pytest.raises(error, match=re.escape(message)):
        run_acpc(parsed(add_acpc_options, words))


def test_a_strategy_from_a_folder_brings_its_rules(stage, tmp_path):
    from nashfold.solver.strategy import BuiltIn

    BuiltIn("call-or-raise").table(preset("short-limit")).save(tmp_path / "strategy")
    dealer, ports = stage.dealer("--rules short-limit --hands 12")
    sides = [
        stage.client(str(tmp_path / "strategy"), ports[0]),
        stage.client("always-call", ports[1], "--rules short-limit"),
    ]
    assert dealer.result(LONG)["complete"]
    assert [side.result(LONG)["hands"] for side in sides] == [12, 12]
    assert all(seat["invalid_actions"] == 0 for seat in dealer.result()["matches"][0]["seats"])
    with pytest.raises(ValueError, match="the strategy is for short-limit, not for acpc-limit"):
        run_acpc(parsed(add_acpc_options, f"{tmp_path / 'strategy'} 127.0.0.1 1 --rules acpc-limit"))

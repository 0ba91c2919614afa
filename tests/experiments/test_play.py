"""A person at the table, through a pseudo-terminal and as a session."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

import pexpect
import pytest
from nashfold.experiments.cli import main
from nashfold.experiments.history import History
from nashfold.experiments.play import Session, _decimal, _signed, read_action
from nashfold.game import Betting, IllegalAction, Match, new_hand, preset
from nashfold.game.acpc import parse_match_state
from nashfold.game.bonus import EXAMPLE, BonusBet
from nashfold.game.phh import read_phh
from nashfold.solver import BuiltIn, StrategyPlayer

COMMAND = [sys.executable, "-m", "nashfold.experiments.cli", "play"]


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Sits down at a table in a terminal of its own."""
    monkeypatch.chdir(tmp_path)
    tables = []

    def sit_down(*arguments: str) -> pexpect.spawn:
        child = pexpect.spawn(
            COMMAND[0], [*COMMAND[1:], *arguments], encoding="utf-8", timeout=20, dimensions=(60, 200)
        )
        tables.append(child)
        return child

    yield sit_down
    for child in tables:
        child.close(force=True)


def answer(child: pexpect.spawn, text: str) -> None:
    child.expect(r" > ")
    child.sendline(text)


def play_out(child: pexpect.spawn, action: str = "c", otherwise: str | None = None) -> str:
    """Answer every question the same way until the end; returns all that was printed.

    `otherwise` is the answer where nothing can be folded.
    """
    printed = ""
    while child.expect([r" > ", pexpect.EOF]) == 0:
        printed += child.before
        assert "is not possible here" not in child.before
        child.sendline(
            otherwise if otherwise and "fold" not in child.before.split("(pot")[-1] else action
        )
    child.wait()
    return printed + child.before


def histories(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.phhs"), *folder.glob("*.states")])


@pytest.mark.parametrize("name", ["acpc-nolimit", "match-nolimit", "sartre-limit"])
def test_hands_are_played_in_the_terminal_and_kept(table, tmp_path, name):
    child = table("random", "--rules", name, "--seed", "1", "--hands", "4")
    printed = play_out(child)
    assert child.exitstatus == 0
    assert "Hand 1: you are the big blind." in printed
    assert "Hand 2: you are the button." in printed
    assert "4 hands, " in printed
    assert "Winner: " in printed or "A draw." in printed
    (path,) = histories(tmp_path)
    assert str(path.name) in printed
    kept = tomllib.loads(path.read_text("utf-8"))
    assert [kept[key]["hand"] for key in kept] == [1, 2, 3, 4]
    assert [sorted(kept[key]["players"]) for key in kept] == [["random", "you"]] * 4
    assert kept["1"]["players"][0] == kept["2"]["players"][1] == "you"  # seats swap


def test_casino_hands_have_a_stake_a_bonus_and_a_balance(table, tmp_path):
    child = table(
        "call-or-raise", "--rules", "casino-limit", "--seed", "3", "--hands", "2", "--credits", "50"
    )
    child.expect("Bonus pay table: nashfold example")
    answer(child, "6")
    child.expect("'6' is no stake: write a number from 1 to 5")
    answer(child, "2")
    printed = ""
    while child.expect([r"credits \[2\] > ", r" > ", pexpect.EOF]) < 2:
        printed += child.before
        child.sendline("" if "bonus stake" in child.after or "stake" in child.before[-40:] else "c")
    printed += child.before
    child.wait()
    assert child.exitstatus == 0
    kept = tomllib.loads(histories(tmp_path)[0].read_text("utf-8"))
    assert [hand["_bonus_stake"] for hand in kept.values()] == [2, 2]
    assert all(len(hand["_bonus_profits"]) == 3 for hand in kept.values())
    chips = bonus = 0
    for hand in kept.values():
        seat = hand["players"].index("you")
        spent = sum(hand["winnings"]) // 2
        chips += hand["winnings"][seat] - spent
        bonus += sum(hand["_bonus_profits"])
        assert hand["_bonus_pay_table"].startswith("nashfold example")
    assert f"balance {50 + chips + bonus:g} credits." in printed
    assert "bonus, flop: " in printed


@pytest.mark.parametrize("strategy", ["always-raise", "always-call"])
def test_small_games_are_kept_as_match_states_without_cards_that_were_not_seen(
    table, tmp_path, strategy
):
    action = "f" if strategy == "always-raise" else "c"
    for _ in range(2):
        options = ("--rules", "leduc", "--seed", "1", "--hands", "3", "--history", "mine.states")
        printed = play_out(table(strategy, *options), action, "r" if action == "f" else None)
    assert "Hand 1: you are first." in printed
    lines = (tmp_path / "mine.states").read_text("utf-8").splitlines()
    views = [parse_match_state(line, preset("leduc")) for line in lines if line[0] != "#"]
    assert [number for number, _ in views] == [1, 2, 3, 4, 5, 6]
    assert all(view.is_over for _, view in views)
    assert {view.shown is None for _, view in views} == {action == "f"}


def test_bad_answers_are_explained_and_asked_again(table):
    child = table("always-call", "--rules", "match-nolimit", "--seed", "1")
    answer(child, "?")
    child.expect("leave the table")
    answer(child, "l")
    child.expect("check raise-to:4 raise-to:5 ")
    for text in (
        "",
        "zzz",
        "f",
        "r 3",
        "r 201",
        "r",
        "bet 1e2",
        "call",
        "r -5",
        "raise-to:9999999999999",
    ):
        answer(child, text)
        child.expect_exact(f"{text!r} is not possible here; legal: check, raise-to:4..200")
    answer(child, "r 6")
    child.expect("you raise to 6")


@pytest.mark.parametrize("way", ["ctrl-c", "ctrl-d", "q", "hangup", "terminate"])
def test_leaving_in_the_middle_of_a_hand_loses_nothing(table, tmp_path, way):
    child = table("always-call", "--rules", "match-nolimit", "--seed", "1")
    for text in ["c"] * 4 + ["r 6"]:  # a hand to its showdown, and a second one begun
        answer(child, text)
    child.expect(r"> ")
    {
        "ctrl-c": lambda: child.sendintr(),
        "ctrl-d": lambda: child.sendeof(),
        "q": lambda: child.sendline("q"),
        "hangup": lambda: child.kill(signal.SIGHUP),
        "terminate": lambda: child.kill(signal.SIGTERM),
    }[way]()
    child.expect("You leave the table")
    child.expect("The hand in play is kept")
    child.expect("1 hands, ")
    child.expect(pexpect.EOF)
    child.wait()
    assert child.exitstatus == 0
    (path,) = histories(tmp_path)
    first, second = tomllib.loads(path.read_text("utf-8")).values()
    assert "winnings" in first
    assert "winnings" not in second
    assert second["actions"][-4:-2] == ["p2 cbr 6", "p1 cc"]
    assert second["actions"][-2].startswith("d db ")
    assert second["actions"][-1] == "p1 cc"


def test_leaving_before_anything_happened_leaves_no_file(table, tmp_path):
    child = table("always-call", "--rules", "casino-limit")
    child.expect("bonus stake")
    child.sendintr()
    child.expect("You leave the table")
    child.expect(pexpect.EOF)
    child.wait()
    assert histories(tmp_path) == []


def test_a_history_is_continued(table, tmp_path):
    for _ in range(2):
        play_out(table("always-call", "--rules", "acpc-limit", "--hands", "2", "--history", "mine.phhs"))
    kept = tomllib.loads((tmp_path / "mine.phhs").read_text("utf-8"))
    assert list(kept) == ["1", "2", "3", "4"]
    assert len(read_phh((tmp_path / "mine.phhs").read_text("utf-8"))) == 4  # every hand was shown


@pytest.mark.parametrize(("action", "is_shown"), [("f", False), ("c", True)])
def test_the_history_shows_no_cards_that_the_person_has_not_seen(table, tmp_path, action, is_shown):
    play_out(table("always-raise", "--rules", "acpc-limit", "--hands", "4", "--seed", "5"), action)
    for hand in tomllib.loads(histories(tmp_path)[0].read_text("utf-8")).values():
        other = 2 - hand["players"].index("you")
        dealt = next(line for line in hand["actions"] if line.startswith(f"d dh p{other}"))
        assert dealt.endswith("????")
        assert any(line.startswith(f"p{other} sm ") for line in hand["actions"]) == is_shown


def test_json_is_the_only_thing_on_standard_output(tmp_path):
    arguments = [*COMMAND, "always-call", "--rules", "match-nolimit", "--hands", "2", "--json"]
    done = subprocess.run(
        arguments, input="c\n" * 20, capture_output=True, text=True, cwd=tmp_path, timeout=60
    )
    result = json.loads(done.stdout)
    assert (result["hands"], result["finished"], done.returncode) == (2, True, 0)
    assert Path(tmp_path, result["history"]).exists()
    assert "Hand 2: you are the button." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["always-call"], "needs --rules"),
        (["nobody", "--rules", "leduc"], "unknown strategy 'nobody'"),
        (["random", "--rules", "leduc", "--hands", "0"], "hands must be a positive number, not 0"),
        (
            ["random", "--rules", "leduc", "--bonus", "x.toml"],
            "--bonus goes with casino-limit, not with leduc",
        ),
        (["random", "--rules", "casino-limit", "--stake", "6"], "1 to 5 whole credits, not 6"),
        (["random", "--rules", "casino-limit", "--bonus", "none.toml"], "cannot read none.toml"),
        (["random", "--rules", "leduc", "--stake", "1"], "--stake goes with casino-limit"),
        (["random", "--rules", "leduc", "--credits", "9"], "--credits goes with casino-limit"),
        (
            [
                "random",
                "--rules",
                "nolimit;numPlayers 2;numRounds 1;stack 2 1;blind 2 1;numSuits 4;"
                "numRanks 13;numHoleCards 2;numBoardCards 5",
            ],
            "there is nothing to play",
        ),
        (["random", "--rules", "casino-limit", "--credits", "-5"], "a number from 0 to 1,000,000,000"),
        (["random", "--rules", "leduc", "--history", "."], "is no regular file"),
        (
            ["random", "--rules", "leduc", "--seed", "-1"],
            "the seed must be a whole number from 0 to 4294967295, not -1",
        ),
    ],
)
def test_bad_options_are_refused_in_one_line_and_leave_nothing(
    arguments, message, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert histories(tmp_path) == []


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("acpc-limit", "this is = no [toml"),
        ("acpc-limit", '[project]\nname = "mine"\n'),
        ("acpc-limit", 'variant = "FT"\nantes = [0, 0]\n'),
        ("acpc-limit", '[1]\nname = "mine"\n'),
        ("leduc", "STATE:0:cc/cc:Kh|As/Ah:-1|1:a|b\n"),
        ("leduc", "my notes\n"),
    ],
)
def test_other_files_are_never_written_to(rules, text, tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text(text, "utf-8")
    assert main(["play", "random", "--rules", rules, "--history", str(path)]) == 2
    assert "mine.txt cannot be continued" in capsys.readouterr().err
    assert path.read_text("utf-8") == text


def sit_down(history: History, out) -> Session:
    """A session at acpc-limit against always-call."""
    match = Match(preset("acpc-limit"), hands=5, seed=1)
    return Session(match, StrategyPlayer(BuiltIn("always-call")), history, "it", out=out)


def test_a_file_is_made_with_the_first_hand_and_made_again_if_it_is_gone(tmp_path):
    hand = new_hand(preset("acpc-limit"), seed=1).play("fold")
    history = History(tmp_path / "mine.phhs", preset("acpc-limit"))
    assert not history.path.exists()
    for _ in range(2):
        history.add(hand, ("you", "it"), 0)
        assert list(tomllib.loads(history.path.read_text("utf-8"))) == ["1"]
        history.path.unlink()


def test_a_hand_that_cannot_be_written_is_told_all_the_same(tmp_path, monkeypatch):
    class Full(History):
        def add(self, *arguments, **fields) -> None:
            raise OSError(28, "No space left on device")

    history, out = Full(tmp_path / "mine.phhs", preset("acpc-limit")), io.StringIO()
    monkeypatch.setattr("builtins.input", lambda prompt="": "c")
    with pytest.raises(OSError, match="No space left"):
        sit_down(history, out).run()
    assert "This hand: " in out.getvalue()


def test_what_the_bonus_has_settled_counts_for_a_person_who_leaves(tmp_path, monkeypatch):
    history, out = History(tmp_path / "mine.phhs", preset("casino-limit")), io.StringIO()
    answers = iter(["5", "c", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(answers))
    match = Match(history_rules := preset("casino-limit"), seed=3)
    player = StrategyPlayer(BuiltIn("always-call"))
    session = Session(match, player, history, "it", BonusBet(EXAMPLE), 100, out)
    session.run()
    (kept,) = tomllib.loads(history.path.read_text("utf-8")).values()
    assert history_rules.name == kept["_rules"]
    (flop,) = kept["_bonus_profits"]
    assert session.report()["bonus"] == flop != 0
    assert session.report()["credits"] == 100 + flop


def test_a_file_without_a_last_line_break_is_continued(tmp_path):
    history = History(tmp_path / "mine.phhs", preset("acpc-limit"))
    hand = new_hand(preset("acpc-limit"), seed=1).play("fold")
    history.add(hand, ("you", "it"), 0)
    history.path.write_text(history.path.read_text("utf-8").rstrip("\n"), "utf-8")
    History(history.path, preset("acpc-limit")).add(hand, ("you", "it"), 0)
    assert list(tomllib.loads(history.path.read_text("utf-8"))) == ["1", "2"]


def test_two_sessions_may_share_a_file(tmp_path):
    hand = new_hand(preset("acpc-limit"), seed=1).play("fold")
    histories = [History(tmp_path / "mine.phhs", preset("acpc-limit")) for _ in range(2)]
    for history in (*histories, *histories):
        history.add(hand, ("you", "it"), 0)
    assert list(tomllib.loads(histories[0].path.read_text("utf-8"))) == ["1", "2", "3", "4"]


def test_a_full_disk_leaves_whole_hands(tmp_path, monkeypatch):
    history = History(tmp_path / "mine.phhs", preset("acpc-limit"))
    hand = new_hand(preset("acpc-limit"), seed=1).play("fold")
    history.add(hand, ("you", "it"), 0)
    before = history.path.read_bytes()

    def no_space(number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", no_space)  # as some file systems tell it late
    with pytest.raises(OSError, match="No space left"):
        history.add(hand, ("you", "it"), 0)
    assert history.path.read_bytes() == before


def test_where_nothing_can_be_printed_any_more_the_hand_in_play_is_kept(tmp_path, monkeypatch):
    class Broken(io.StringIO):
        def write(self, text: str) -> int:
            if "flop" in text:
                raise BrokenPipeError
            return super().write(text)

    history = History(tmp_path / "mine.phhs", preset("acpc-limit"))
    monkeypatch.setattr("builtins.input", lambda prompt="": "c")
    with pytest.raises(BrokenPipeError):
        sit_down(history, Broken()).run()
    (kept,) = tomllib.loads(history.path.read_text("utf-8")).values()
    assert any(action.startswith("d db ") for action in kept["actions"])
    assert "winnings" not in kept


def test_bonus_cards_that_the_hand_did_not_come_to_are_shown_and_kept(tmp_path, monkeypatch):
    rules = preset("casino-limit")
    history, out = History(tmp_path / "mine.phhs", rules), io.StringIO()
    answers = iter(["2", "f", "", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt="": next(answers))
    player = StrategyPlayer(BuiltIn("always-raise"))
    Session(Match(rules, seed=1), player, history, "it", BonusBet(EXAMPLE), 100, out).run()
    kept = tomllib.loads(history.path.read_text("utf-8"))["1"]
    board = kept["_bonus_board"]
    assert len(board) == 10
    assert (
        "dealt for the bonus: " + " ".join(board[i : i + 2] for i in range(0, 10, 2)) in out.getvalue()
    )
    hole = next(line for line in kept["actions"] if line.startswith("d dh p1"))[-4:]
    profits = [2 * profit for profit in EXAMPLE.profits(hole, board).values()]
    assert kept["_bonus_profits"] == profits
    assert (
        f"Bonus: {_signed(sum(profits))}. Balance: {_decimal(98 + sum(profits))} credits."
        in out.getvalue()
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [("0", "0"), ("100", "100"), ("-7.5", "-7.5"), ("100.6665", "100.6665"),
     ("5000026.3325", "5,000,026.3325"), ("3000007.5", "3,000,007.5"), ("-1000000", "-1,000,000")],
)  # fmt: skip
def test_balances_are_written_with_all_their_digits(value, text):
    assert _decimal(Fraction(value)) == text


def test_a_stray_byte_is_a_bad_answer(tmp_path):
    done = subprocess.run(
        [*COMMAND, "always-call", "--rules", "match-nolimit", "--hands", "1"],
        input=b"\xff\xfe\nc\nc\nc\nc\nc\n",
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8:strict"},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"is not possible here" in done.stdout


def test_a_collection_with_a_gap_is_continued_behind_its_last_hand(tmp_path):
    history = History(tmp_path / "mine.phhs", preset("acpc-limit"))
    hand = new_hand(preset("acpc-limit"), seed=1).play("fold")
    for _ in range(3):
        history.add(hand, ("you", "it"), 0)
    text = history.path.read_text("utf-8")
    history.path.write_text(text[text.index("[2]") :], "utf-8")
    History(history.path, preset("acpc-limit")).add(hand, ("you", "it"), 0)
    assert list(tomllib.loads(history.path.read_text("utf-8"))) == ["2", "3", "4"]


def test_an_interrupt_while_a_hand_is_written_waits_for_the_next_question(tmp_path, monkeypatch):
    """The signal comes in the middle of `History.add`: the hand is whole, and the person has left."""

    class Interrupted(History):
        def add(self, *arguments, **fields) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().add(*arguments, **fields)

    history, out = Interrupted(tmp_path / "mine.phhs", preset("acpc-limit")), io.StringIO()
    monkeypatch.setattr("builtins.input", lambda prompt="": "c")
    session = sit_down(history, out)
    session.run()
    assert session.stopped
    assert session.report()["hands"] == 1
    kept = list(tomllib.loads(history.path.read_text("utf-8")).values())
    assert "winnings" in kept[0]
    assert "You leave the table." in out.getvalue()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


LIMIT, NOLIMIT = Betting.start(preset("acpc-limit")), Betting.start(preset("acpc-nolimit"))


@pytest.mark.parametrize(
    ("betting", "text", "meant"),
    [
        (NOLIMIT, "f", "fold"), (NOLIMIT, "FOLD", "fold"), (NOLIMIT, "c", "call"),
        (LIMIT.play("call"), "k", "check"), (NOLIMIT, "b 250", "raise-to:250"),
        (NOLIMIT, "raise-to:250", "raise-to:250"),
        (NOLIMIT, "a", "raise-to:20000"), (NOLIMIT.play("raise-to:20000"), "a", "call"),
        (LIMIT, "r", "raise-to:20"), (LIMIT, "raise", "raise-to:20"), (LIMIT, "r 20", "raise-to:20"),
        (LIMIT.play("call").play("check"), "bet", "bet:10"), (LIMIT.play("call"), "c", "check"),
    ],
)  # fmt: skip
def test_what_a_person_means(betting, text, meant):
    assert str(read_action(text, betting)) == meant


@pytest.mark.parametrize(
    ("betting", "text"),
    [(NOLIMIT, "check"), (NOLIMIT, "k"), (NOLIMIT, "r"), (NOLIMIT, "r 250 300"), (LIMIT, "a"),
     (NOLIMIT, "r \u0663\u0660\u0660"), (LIMIT, "r 30"),
     (LIMIT.play("call"), "f"), (NOLIMIT, "c c"), (NOLIMIT, "")],
)  # fmt: skip
def test_what_a_person_cannot_mean(betting, text):
    with pytest.raises(IllegalAction, match="is not possible here; legal: "):
        read_action(text, betting)

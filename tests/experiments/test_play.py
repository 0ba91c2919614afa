"""A person at the table, through a pseudo-terminal and as a session."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pexpect
import pytest
from nashfold.experiments.cli import main
from nashfold.experiments.play import read_action
from nashfold.game import Betting, IllegalAction, preset
from nashfold.game.acpc import read_log
from nashfold.game.phh import read_phh

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


def play_out(child: pexpect.spawn, action: str = "c") -> str:
    """Answer every question the same way until the end; returns all that was printed."""
    printed = ""
    while child.expect([r" > ", pexpect.EOF]) == 0:
        printed += child.before
        assert "is not possible here" not in child.before
        child.sendline(action)
    child.wait()
    return printed + child.before


def histories(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.phhs"), *folder.glob("*.log")])


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


def test_small_games_are_kept_as_a_log(table, tmp_path):
    child = table("random", "--rules", "leduc", "--seed", "1", "--hands", "3")
    printed = play_out(child)
    assert "Hand 1: you are first." in printed
    (path,) = histories(tmp_path)
    assert len(read_log(path, preset("leduc"), check=True).hands) == 3


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
        (["random", "--rules", "acpc-limit", "--history", "bad.phhs"], "bad.phhs is no PHH collection"),
    ],
)
def test_bad_options_are_refused_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("bad.phhs").write_text("this is = no [toml")
    assert main(["play", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


LIMIT, NOLIMIT = Betting.start(preset("acpc-limit")), Betting.start(preset("acpc-nolimit"))


@pytest.mark.parametrize(
    ("betting", "text", "meant"),
    [
        (NOLIMIT, "f", "fold"), (NOLIMIT, "FOLD", "fold"), (NOLIMIT, "c", "call"),
        (NOLIMIT, "k", "call"), (NOLIMIT, "b 250", "raise-to:250"), (NOLIMIT, "raise-to:250", "raise-to:250"),
        (NOLIMIT, "a", "raise-to:20000"), (NOLIMIT.play("raise-to:20000"), "a", "call"),
        (LIMIT, "r", "raise-to:20"), (LIMIT, "raise", "raise-to:20"), (LIMIT, "r 20", "raise-to:20"),
        (LIMIT.play("call").play("check"), "bet", "bet:10"), (LIMIT.play("call"), "c", "check"),
    ],
)  # fmt: skip
def test_what_a_person_means(betting, text, meant):
    assert str(read_action(text, betting)) == meant


@pytest.mark.parametrize(
    ("betting", "text"),
    [(NOLIMIT, "check"), (NOLIMIT, "r"), (NOLIMIT, "r 250 300"), (NOLIMIT, "r \u0663\u0660\u0660"),
     (LIMIT, "a"), (LIMIT, "r 30"), (LIMIT.play("call"), "f"), (NOLIMIT, "c c"), (NOLIMIT, "")],
)  # fmt: skip
def test_what_a_person_cannot_mean(betting, text):
    with pytest.raises(IllegalAction, match="is not possible here; legal: "):
        read_action(text, betting)

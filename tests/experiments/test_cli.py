"""The command line: results, JSON, exits, and runs that are broken off and resumed."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sysconfig
import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock
from nashfold.abstraction.build import build_abstraction
from nashfold.abstraction.config import AbstractionConfig
from nashfold.experiments.cli import main
from nashfold.game import PRESETS, Rules, new_hand, play_match, preset
from nashfold.solver import SolveConfig, Strategy
from nashfold.solver.mccfr import CHUNK, MonteCarlo

ABSTRACTION = """
rules = "short-limit"
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs"
buckets = 12
[[round]]
feature = "ehs"
buckets = 9
"""
CONFIG = """
rules = "short-limit"
abstraction = "abstraction.toml"
iterations = 20_000
seed = 3
"""
EXPLOITABILITY = {
    "mbb_per_hand", "nash_conv", "kind", "standard_error", "lower_bound", "lower_bound_standard_error",
    "flops", "per_position",
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    """A cache folder for this module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASHFOLD_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an abstraction and a configuration, and the current one."""
    (tmp_path / "abstraction.toml").write_text(ABSTRACTION)
    (tmp_path / "config.toml").write_text(CONFIG)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys):
    """Run a command: its exit code, standard output and standard error."""

    def run(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return run


@pytest.fixture
def json_of(cli):
    """Run a command with --json: the one object on its standard output."""

    def run(*arguments) -> dict:
        result = cli(*arguments, "--json")
        assert result.code == 0, result.err
        assert result.out.endswith("}\n")
        assert result.out.count("\n") == 1
        return json.loads(result.out, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))

    return run


@pytest.fixture
def refused(cli):
    """Run a command that must fail: exit 2, nothing on standard output, one line; that line."""

    def run(*arguments) -> str:
        result = cli(*arguments)
        assert result.code == 2, result
        assert result.out == ""
        assert result.err.startswith("nashfold: ")
        assert result.err.count("\n") == 1
        return result.err

    return run


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The run of CONFIG, never broken off: its folder."""
    path = tmp_path_factory.mktemp("finished")
    (path / "abstraction.toml").write_text(ABSTRACTION)
    (path / "config.toml").write_text(CONFIG)
    assert main(["solve", str(path / "config.toml"), "--out", str(path / "run")]) == 0
    return path / "run"


def tables(run) -> list[bytes]:
    return [(Path(run) / "strategy" / f"round{index}.npy").read_bytes() for index in range(3)]


# games ----------------------------------------------------------------------------------------------


def test_games_lists_all_presets(cli, json_of):
    lines = cli("games").out.splitlines()
    assert [line.split()[0] for line in lines] == list(PRESETS)
    assert all(len(line.split()) > 4 for line in lines)
    assert list(json_of("games")["games"]) == list(PRESETS)


@pytest.mark.parametrize("name", [name for name in PRESETS if name != "sartre-limit"])
def test_a_game_is_printed_as_an_acpc_definition_that_reads_back(cli, json_of, name):
    """With its readings as comments behind it."""
    result = cli("games", name)
    assert result.code == 0
    assert result.err == ""
    assert result.out.startswith("GAMEDEF\n")
    assert Rules.from_acpc(result.out).to_acpc() == preset(name).to_acpc()
    shown = json_of("games", name)
    assert shown["name"] == name
    assert result.out.startswith(shown["acpc"])
    assert shown["readings"].replace("\n", "") in result.out.replace("# ", "").replace("\n", "")


def test_a_game_that_no_definition_can_say_is_printed_in_words(cli, json_of):
    result = cli("games", "sartre-limit")
    assert result.code == 0
    assert "4 4 4 4 bets and raises by round, each player" in result.out
    assert 'cap_counts="round"' in result.out
    assert json_of("games", "sartre-limit")["acpc"] is None


def test_an_unknown_game_is_refused_with_the_list(refused):
    message = refused("games", "texas")
    assert "unknown preset 'texas'" in message
    assert all(name in message for name in PRESETS)


def test_the_console_script_is_installed():
    script = Path(sysconfig.get_path("scripts")) / "nashfold"
    result = subprocess.run([script, "games", "short-limit", "--json"], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    assert Rules.from_acpc(json.loads(result.stdout)["acpc"]) == preset("short-limit")
    result = subprocess.run([script, "games", "nothing"], capture_output=True, text=True)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("nashfold: unknown preset")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "arguments are required: COMMAND"),
        (["shuffle"], "invalid choice: 'shuffle'"),
        (["games", "short-limit", "--tall"], "unrecognized arguments: --tall"),
        (["solve", "config.toml"], "arguments are required: --out"),
        (["match", "random", "random"], "arguments are required: --hands"),
        (["match", "random", "random", "--hands", "ten"], "invalid int value: 'ten'"),
    ],
)
def test_wrong_usage_is_one_line(refused, arguments, message):
    assert message in refused(*arguments)


# build ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"ehs"', '"ehs7"', "unknown feature 'ehs7'"),
        ("buckets = 12", "buckets = 0", "needs buckets = 1 to 65535, not 0"),
        ("buckets = 12", "clusters = 12", "table has the keys feature, buckets"),
        ("[[round]]", "[[rounds]]", "unknown key 'rounds'"),
        ("buckets = 12", "buckets =", "Invalid value"),
        ('"short-limit"', '"acpc-limit"', "acpc-limit has 4 rounds"),
    ],
)
def test_a_mistaken_abstraction_is_named(here, refused, old, new, message):
    (here / "abstraction.toml").write_text(ABSTRACTION.replace(old, new))
    error = refused("build", "abstraction.toml")
    assert "abstraction.toml: " in error
    assert message in error
    assert message in refused("solve", "config.toml", "--out", "run")
    assert not (here / "run").exists()


def test_missing_files_are_named(here, refused):
    assert "cannot read no.toml: No such file" in refused("build", "no.toml", "--json")
    assert "cannot read no.toml: No such file" in refused("solve", "no.toml", "--out", "run")
    (here / "abstraction.toml").unlink()
    assert "abstraction.toml: No such file" in refused("solve", "config.toml", "--out", "run")


# solve ----------------------------------------------------------------------------------------------


def test_solve_makes_a_run_folder(here, json_of, finished):
    run = json_of("solve", "config.toml", "--out", "run")
    assert run["iterations"] == 20_000
    assert run["path"] == "run"
    assert run["seconds"] > 0
    assert run["abstraction"] == AbstractionConfig.from_toml("abstraction.toml").hash
    present = {entry.name for entry in (here / "run").iterdir()}
    assert present == {
        "config.toml",
        "versions.json",
        "metrics.jsonl",
        "checkpoints",
        "strategy",
        "figures",
        "lock",
    }
    metrics = [json.loads(line) for line in (here / "run" / "metrics.jsonl").read_text().splitlines()]
    assert metrics[-1]["iterations"] == 20_000
    assert {"python", "nashfold", "numpy"} <= set(
        json.loads((here / "run" / "versions.json").read_text())
    )
    assert tables("run") == tables(finished)  # the same seed, bit for bit


def test_a_run_starts_again_from_its_own_configuration(here, json_of, finished):
    (here / "resolved.toml").write_text((finished / "config.toml").read_text())
    (here / "abstraction.toml").unlink()  # the resolved one needs no other file
    json_of("solve", "resolved.toml", "--out", "again")
    assert tables("again") == tables(finished)


def test_a_run_by_hash_of_its_abstraction(here, json_of, finished):
    config = AbstractionConfig.from_toml("abstraction.toml")
    build_abstraction(config)
    (here / "config.toml").write_text(CONFIG.replace("abstraction.toml", config.hash))
    json_of("solve", "config.toml", "--out", "run")
    assert tables("run") == tables(finished)


def test_a_strategy_of_a_run_can_be_opened(finished):
    strategy = Strategy.load(finished)
    hand = new_hand(preset("short-limit"), hole=("AsAh", "9c9d"), board="KdTh9hJc")
    probabilities = strategy.probabilities(hand)
    assert set(probabilities) == {str(action) for action in hand.legal_actions()}
    assert sum(probabilities.values()) == pytest.approx(1)


def test_a_folder_that_another_run_is_at_work_in_is_refused(here, refused, json_of, finished):
    with FileLock(finished / "lock"):
        error = refused("solve", finished / "config.toml", "--out", finished, "--resume")
    assert "another run is at work in this folder" in error
    assert (
        json_of("solve", finished / "config.toml", "--out", finished, "--resume")["iterations"] == 20_000
    )


def test_errors_of_the_system_are_told_without_their_number(refused, monkeypatch):
    for error, message in (
        (OSError(errno.EROFS, "Read-only file system", "run/lock"), "run/lock: Read-only file system"),
        (OSError("odd"), "odd"),
        (OSError(errno.EPIPE, "Broken pipe"), "Broken pipe"),
        (OverflowError("int too big"), "a number is too large: int too big"),
        (MemoryError(), "that takes more memory than there is: use smaller numbers"),
    ):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("nashfold.experiments.cli.preset", fail)
        assert refused("games", "kuhn") == f"nashfold: {message}\n"


def test_an_existing_folder_is_not_overwritten(here, refused, json_of):
    (here / "run").mkdir()
    (here / "run" / "precious.txt").write_text("precious")
    assert "run is in the way" in refused("solve", "config.toml", "--out", "run")
    assert "holds no run to resume" in refused("solve", "config.toml", "--out", "run", "--resume")
    assert [entry.name for entry in (here / "run").iterdir()] == ["precious.txt"]
    (here / "file").write_text("precious")
    assert "file is in the way" in refused("solve", "config.toml", "--out", "file")
    assert (here / "file").read_text() == "precious"
    assert "holds no run to resume" in refused("solve", "config.toml", "--out", "nothing", "--resume")
    assert not (here / "nothing").exists()


def test_a_finished_run_is_not_begun_again(here, refused, finished):
    before = tables(finished)
    assert "is in the way" in refused("solve", "config.toml", "--out", finished)
    assert tables(finished) == before


def test_more_iterations_are_added_to_a_run(here, json_of, finished):
    (here / "config.toml").write_text(CONFIG.replace("20_000", "7_000"))
    assert json_of("solve", "config.toml", "--out", "run")["iterations"] == 7_000
    assert tables("run") != tables(finished)
    (here / "config.toml").write_text(CONFIG)
    resumed = json_of("solve", "config.toml", "--out", "run", "--resume")
    assert resumed["iterations"] == 20_000
    assert tables("run") == tables(finished)
    lines = (here / "run" / "metrics.jsonl").read_text().splitlines()
    done = [json.loads(line)["iterations"] for line in lines]
    assert done == [7_000, 20_000]


def test_an_interrupted_run_resumes_and_ends_where_the_unbroken_one_ends(
    here, cli, json_of, finished, monkeypatch
):
    run = MonteCarlo.run
    calls = []

    def interrupted(self, iterations):
        calls.append(iterations)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGINT)  # caught in the middle of an iteration's updates
        return run(self, iterations)

    with monkeypatch.context() as patch:
        patch.setattr(MonteCarlo, "run", interrupted)
        result = cli("solve", "config.toml", "--out", "run", "--check-every", "5_000_000 iterations")
    assert result.code == 130
    assert result.out == ""
    again = "nashfold solve config.toml --out run --resume --check-every '5_000_000 iterations'"
    assert f"stopped; go on with: {again}\n" in result.err
    assert not (here / "run" / "strategy").exists()
    assert [int(entry.name) for entry in (here / "run" / "checkpoints").iterdir()] == [2 * CHUNK]
    resumed = json_of("solve", "config.toml", "--out", "run", "--resume")
    assert resumed["iterations"] == 20_000
    assert tables("run") == tables(finished)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3", "seed = 4", "its seed is 3, not 4"),
        ("seed = 3", 'seed = 3\nscheme = "cfr"', "its scheme is lcfr, not cfr"),
        ("buckets = 9", "buckets = 8", "its abstraction is"),
    ],
)
def test_another_run_is_not_resumed(here, refused, json_of, old, new, message):
    (here / "config.toml").write_text(CONFIG.replace("20_000", "100"))
    json_of("solve", "config.toml", "--out", "run")
    before = tables("run")
    for file, text in (("config.toml", CONFIG), ("abstraction.toml", ABSTRACTION)):
        (here / file).write_text(text.replace(old, new))
    error = refused("solve", "config.toml", "--out", "run", "--resume")
    assert "run is another run" in error
    assert message in error
    assert tables("run") == before


def test_a_time_limit_replaces_the_iterations(here, json_of):
    run = json_of("solve", "config.toml", "--out", "run", "--time", "0.3s")
    assert run["iterations"] % CHUNK == 0
    assert run["iterations"] > 0
    assert 0.3 <= run["seconds"] < 5
    assert "time = 0.3" in (here / "run" / "config.toml").read_text()
    longer = json_of("solve", "config.toml", "--out", "run", "--time", "0.6s", "--resume")
    assert longer["iterations"] > run["iterations"]
    assert longer["seconds"] >= 0.6


def test_threads_are_taken_from_the_command_line(here, json_of, refused):
    run = json_of("solve", "config.toml", "--out", "run", "--threads", "2")
    assert run["iterations"] == 20_000
    assert "threads = 2" in (here / "run" / "config.toml").read_text()
    assert "threads must be a positive number" in refused(
        "solve", "config.toml", "--out", "other", "--threads", "0"
    )
    assert not (here / "other").exists()


def test_the_size_of_a_run_is_told_and_nothing_is_made(here, cli, json_of):
    told = json_of("solve", "config.toml", "--estimate")
    assert told["decisions"] == [4, 18, 90]
    assert told["infosets"] == sum(np.multiply(told["decisions"], told["buckets"]))
    assert (
        told["memory_bytes"]
        == sum(told["memory"].values())
        == (8 * sum(np.multiply(told["slots"], told["buckets"])))
    )
    text = cli("solve", "config.toml", "--estimate").out
    assert text.startswith("short-limit, bets full: 112 decision nodes (4 18 90 by round), buckets")
    assert text.count("\n") == 1
    assert not (here / "run").exists()


def test_checks_are_asked_for_on_the_command_line(here, cli, json_of, finished):
    checks = ["--check-every", "10_000 iterations", "--check-flops", "2"]
    run = json_of("solve", "config.toml", "--out", "run", *checks)
    assert [check["iterations"] for check in run["checks"]] == [10_000, 20_000]
    assert [check["flops"] for check in run["checks"]] == [2, 2]
    assert run["check_seconds"] > 0
    assert run["touched_nodes_per_second"] == pytest.approx(run["touched_nodes"] / run["seconds"])
    assert run["unit"] == "nodes"
    assert tables("run") == tables(finished)  # they change nothing
    assert (here / "run" / "figures" / "exploitability.png").read_bytes().startswith(b"\x89PNG")
    result = cli("solve", "config.toml", "--out", "other", *checks)
    assert "after 10,000 iterations" in result.out
    assert "mbb/h (estimate on 2 flops" in result.out


def test_options_take_the_place_of_what_the_file_says(here, json_of, refused):
    options = ["--iterations", "3000", "--scheme", "dcfr", "--sampling", "outcome", "--seed", "5"]
    options += ["--checkpoint-every", "1000 iterations"]
    (here / "config.toml").write_text(CONFIG.replace("iterations = 20_000", 'time = "1h"'))
    assert json_of("solve", "config.toml", "--out", "run", *options)["iterations"] == 3000
    config = SolveConfig.from_toml(here / "run" / "config.toml")
    assert (config.scheme, config.sampling, config.seed, config.time) == ("dcfr", "outcome", 5, None)
    lines = (here / "run" / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["iterations"] for line in lines] == [1000, 2000, 3000]
    for wrong, message in (
        (["--scheme", "best"], "scheme must be"),
        (["--sampling", "some"], "sampling must be external"),
        (["--iterations", "0"], "iterations must be a positive number, not 0"),
        (["--iterations", "5", "--time", "5m"], "not allowed with"),
        (["--check-every", "never"], "check.every: 'never' is not a duration"),
        (["--check-flops", "5"], "check.flops goes with check.every"),
        (
            ["--check-flops", "some", "--check-every", "5m"],
            "--check-flops takes all or a positive number",
        ),
        (["--snapshots-every", "5m"], "snapshots are for rounds that keep no average"),
        (["--checkpoint-every", "0"], "checkpoint.every: '0' is not a duration"),
    ):
        assert message in refused("solve", "config.toml", "--out", "other", *wrong)
    assert not (here / "other").exists()


@pytest.mark.parametrize("time", ["soon", "0", "-5m", "10x", ""])
def test_a_time_that_is_none_is_refused(here, refused, time):
    assert "is not a duration: write 90s, 10m or 1h30m" in refused(
        "solve", "config.toml", "--out", "run", f"--time={time}"
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 3", "sead = 3", "unknown key 'sead': a run has abstraction, average_sampling, "),
        ("seed = 3", "seed = ", "Invalid value"),
        ("seed = 3", "seed = -1", "seed must be a whole number from 0 to 2**63 - 1, not -1"),
        ("seed = 3", "threads = 0", "threads must be a positive number, not 0"),
        ("seed = 3", 'scheme = "best"', "with external sampling, not 'best'"),
        ("seed = 3", 'sampling = "guess"', "sampling must be external"),
        ("seed = 3", 'bets = "fpca"', "'fpca' is not a bet size"),
        ("seed = 3", '[checkpoint]\nevery = "now"', "'now' is not a duration"),
        ("seed = 3", '[checkpoint]\nwhen = "5m"', "unknown key 'when' in [checkpoint]: it has every = "),
        ("seed = 3", 'time = "never"', "'never' is not a duration"),
        ("iterations = 20_000", "", "give iterations = N or time ="),
        ("20_000", "0", "iterations must be a positive number"),
        ("20_000", "2.5", "iterations must be a positive number"),
        ('rules = "short-limit"', "", "the key rules is missing"),
        ('abstraction = "abstraction.toml"', "", "the key abstraction is missing"),
        ('"short-limit"', '"long-limit"', "unknown preset 'long-limit'"),
        ('"abstraction.toml"', "7", 'abstraction must be a file name, a hash, "lossless" or a table'),
        ('"abstraction.toml"', '"0123456789abcdef"', "there is no such folder"),
    ],
)
def test_a_mistaken_configuration_is_named_and_leaves_nothing(here, refused, old, new, message):
    assert old in CONFIG
    (here / "config.toml").write_text(CONFIG.replace(old, new))
    error = refused("solve", "config.toml", "--out", "run")
    assert "config.toml: " in error
    assert message in error
    assert not (here / "run").exists()


def test_an_abstraction_of_another_game_is_refused(here, refused):
    (here / "config.toml").write_text(CONFIG.replace('"short-limit"', '"flop-limit"'))
    assert "does not fit flop-limit" in refused("solve", "config.toml", "--out", "run")
    assert not (here / "run" / "strategy").exists()


# score ----------------------------------------------------------------------------------------------


def test_score_of_a_run_is_exact(json_of, finished, cli):
    score = json_of("score", finished)
    assert set(score) >= EXPLOITABILITY
    assert score["kind"] == "exact"
    assert score["flops"] == 166
    assert score["nash_conv"] == pytest.approx(2 * score["mbb_per_hand"])
    assert score["nash_conv"] == pytest.approx(sum(score["per_position"]))
    assert score["lower_bound"] == score["mbb_per_hand"]
    assert score["standard_error"] == score["lower_bound_standard_error"] == 0
    assert 30 < score["mbb_per_hand"] < 500  # better than always-call, far from solved
    text = cli("score", finished / "strategy", "--rules", "short-limit").out
    assert f"{score['mbb_per_hand']:.3f} mbb/h (exact)" in text
    assert f"NashConv {score['nash_conv']:.3f}" in text


@pytest.mark.parametrize(
    ("name", "values"), [("always-call", (756.1701, 756.1701)), ("always-fold", (500, 1000))]
)
def test_known_scores_of_built_in_strategies(json_of, name, values):
    score = json_of("score", name, "--rules", "short-limit")
    assert score["kind"] == "exact"
    assert score["per_position"] == pytest.approx(values, abs=1e-3)
    assert score["mbb_per_hand"] == pytest.approx(sum(values) / 2, abs=1e-3)


def test_score_on_sampled_flops_is_an_estimate(json_of, cli, finished):
    score = json_of("score", finished, "--flops", "10", "--seed", "5")
    assert set(score) >= EXPLOITABILITY
    assert score["kind"] == "estimate"
    assert score["flops"] == 10
    assert score["standard_error"] > 0
    assert score["lower_bound_standard_error"] > 0
    assert score["lower_bound"] < score["mbb_per_hand"]
    again = json_of("score", finished, "--flops", "10", "--seed", "5", "--threads", "1")
    assert {**again, "seconds": 0} == {**score, "seconds": 0}
    other = json_of("score", finished, "--flops", "10", "--seed", "6")
    assert other["mbb_per_hand"] != score["mbb_per_hand"]
    assert "estimate on 10 flops" in cli("score", finished, "--flops", "10").out


def test_an_unknown_standard_error_is_null_in_json(json_of, finished):
    score = json_of("score", finished, "--flops", "1")
    assert score["standard_error"] is None
    assert score["lower_bound"] is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "needs rules"),
        (["--rules", "texas"], "unknown preset 'texas'"),
        (["--rules", "short-limit", "--flops", "many"], "--flops takes all or a positive number"),
        (["--rules", "short-limit", "--flops", "0"], "--flops takes all or a positive number"),
        (["--rules", "short-limit", "--flops=-3"], "--flops takes all or a positive number"),
        (["--rules", "short-limit", "--flops", "1.5"], "--flops takes all or a positive number"),
        (["--rules", "short-limit", "--method", "guess"], "method guess is not available"),
        (["--rules", "short-limit", "--seed", "x"], "invalid int value: 'x'"),
        (["--rules", "short-limit", "--cluster", "here"], "--cluster is not available"),
    ],
)
def test_what_cannot_be_scored_is_refused(refused, arguments, message):
    assert message in refused("score", "always-call", *arguments)


def test_what_is_no_strategy_is_refused(here, refused, finished):
    assert "unknown strategy 'always-win'" in refused("score", "always-win", "--rules", "short-limit")
    assert "config.toml" in refused("score", "config.toml")
    (here / "empty").mkdir()
    assert "empty holds no strategy" in refused("score", "empty")
    assert "for short-limit, not for flop-limit" in refused("score", finished, "--rules", "flop-limit")


def test_a_damaged_strategy_is_refused(here, refused, finished):
    copy = here / "strategy"
    copy.mkdir()
    for file in (finished / "strategy").iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    table = np.load(copy / "round1.npy")
    np.save(copy / "round1.npy", 1 - table)
    assert "is damaged: round1.npy" in refused("score", "strategy")
    (copy / "header.json").write_text('{"nashfold": "strategy"}')
    assert "format" in refused("score", "strategy")


# match ----------------------------------------------------------------------------------------------


def test_match_reports_the_first_players_winnings(json_of, cli, finished):
    arguments = ("match", finished, "always-raise", "--rules", "short-limit", "--hands", "200")
    result = json_of(*arguments, "--duplicate", "--seed", "4")
    assert set(result) >= {"mbb_per_hand", "standard_error", "hands"}
    assert result["hands"] == 200
    assert result["duplicate"] is True
    assert result["standard_error"] > 0
    assert result["mbb_per_hand"] == pytest.approx(result["winnings"] / 200 * 500)
    assert json_of(*arguments, "--duplicate", "--seed", "4") == result
    assert json_of(*arguments, "--duplicate", "--seed", "5")["winnings"] != result["winnings"]
    assert "mbb/h over 200 hands" in cli(*arguments).out


def test_a_match_of_ten_hands_has_a_winner(json_of, cli):
    arguments = ("match", "always-call", "random", "--rules", "match-nolimit", "--hands", "10")
    result = json_of(*arguments)
    assert result["hands"] == 10
    assert result["winner"] == int(result["winnings"] < 0)
    assert (result["forfeit"], result["faults"]) == (None, [])
    assert f"winner: {('always-call', 'random')[result['winner']]}" in cli(*arguments).out
    assert json_of(*arguments, "--workers", "2") == result


def test_matches_with_known_results(json_of):
    even = json_of(
        "match", "always-call", "always-call", "--rules", "short-limit", "--hands", "60", "--duplicate"
    )
    assert (even["winnings"], even["mbb_per_hand"], even["standard_error"]) == (0, 0, 0)
    lost = json_of("match", "always-fold", "always-raise", "--rules", "short-limit", "--hands", "60")
    assert (lost["winnings"], lost["mbb_per_hand"]) == (-90, -750)
    won = json_of("match", "always-raise", "always-fold", "--rules", "short-limit", "--hands", "60")
    assert (won["winnings"], won["mbb_per_hand"]) == (90, 750)
    single = json_of("match", "always-fold", "always-raise", "--rules", "short-limit", "--hands", "1")
    assert single["standard_error"] is None


def test_an_interrupted_match_of_processes_ends_in_one_line():
    """Ctrl-C reaches all processes of a terminal; only the first one has something to say."""
    script = Path(sysconfig.get_path("scripts")) / "nashfold"
    process = subprocess.Popen(
        [
            script,
            "match",
            "random",
            "random",
            "--rules",
            "leduc",
            "--hands",
            "9000000",
            "--workers",
            "2",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stderr is not None
    beginning = process.stderr.read(10)  # of the bar: the processes play
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, b"")
    assert b"Traceback" not in beginning + err
    assert err.splitlines()[-1].endswith(b"nashfold: interrupted")


def test_a_match_of_more_hands_than_fit_into_memory_begins_at_once():
    """The parts of a match are made as they are played."""
    tracemalloc.start()
    calls = []

    def stop(done: int, total: int) -> None:
        calls.append((done, total))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_match([lambda seen: "fold"] * 2, preset("acpc-limit"), 10**18, progress=stop)
    assert calls == [(64, 10**18)]
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--hands", "7", "--duplicate", "--rules", "short-limit"],
            "hands must be an even number, not 7",
        ),
        (["--hands", "0", "--rules", "short-limit"], "hands must be a positive number, not 0"),
        (["--hands=-2", "--rules", "short-limit"], "hands must be a positive number, not -2"),
        (["--hands", "10"], "needs --rules"),
        (["--hands", "10", "--rules", "texas"], "unknown preset 'texas'"),
    ],
)
def test_matches_that_cannot_be_played_are_refused(refused, arguments, message):
    assert message in refused("match", "always-call", "random", *arguments)


# bench ----------------------------------------------------------------------------------------------


def test_an_unknown_benchmark_is_refused(refused):
    assert "unknown benchmark 'speed'" in refused("bench", "speed")

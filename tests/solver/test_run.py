import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, solve
from nashfold.solver.schedule import Every
from nashfold.solver.tables import Tables
from strategies import percentile_config

SHORT = preset("short-limit")
CONFIG = SolveConfig(SHORT, percentile_config(SHORT, 6), iterations=50_000, seed=3)


def _same(one: Strategy, other: Strategy) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.tables, other.tables, strict=True))


def test_a_run_folder_holds_what_the_run_was(tmp_path):
    seen = []
    run = solve(CONFIG, tmp_path / "run", progress=seen.append)
    assert run.iterations == 50_000
    assert [state.iterations for state in seen] == sorted(state.iterations for state in seen)
    assert seen[-1].iterations == 50_000
    again = SolveConfig.from_toml(tmp_path / "run" / "config.toml")
    assert again == CONFIG
    assert set(json.loads((tmp_path / "run" / "versions.json").read_text())) >= {"nashfold", "numpy"}
    metrics = [
        json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    assert metrics[-1]["iterations"] == 50_000
    assert _same(Strategy.load(tmp_path / "run"), run.strategy)
    assert _same(solve(CONFIG).strategy, run.strategy)


def test_rules_of_ones_own_are_kept_in_full(tmp_path):
    rules = replace(SHORT, num_ranks=4)  # still called short-limit, but another game
    config = SolveConfig(rules, percentile_config(rules, 3), iterations=100)
    solve(config, tmp_path / "run")
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    assert Strategy.load(tmp_path / "run").rules == rules
    other = replace(config, rules=replace(rules, bet_sizes=(2, 2, 2)))
    with pytest.raises(
        ValueError, match=r"its rules\.bet_sizes is \[2, 2, 4\], not \[2, 2, 2\]; resume"
    ):
        solve(other, tmp_path / "run", resume=True)


def test_rules_that_no_definition_can_say_are_solved_in_a_run_folder(tmp_path):
    """A cap on each player's own bets: the alternative that casino-limit's readings name."""
    rules = replace(SHORT, cap_counts="player", max_bets=(1, 1, 1), blind_is_bet=False)
    config = replace(CONFIG, rules=rules, abstraction=percentile_config(rules, 6))
    run = solve(config, tmp_path / "run")
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    assert _same(solve(config, tmp_path / "run", resume=True).strategy, run.strategy)
    assert Strategy.load(tmp_path / "run").rules == rules


def test_a_resumed_run_ends_where_the_unbroken_one_does(tmp_path):
    whole = solve(CONFIG)
    solve(replace(CONFIG, iterations=20_000), tmp_path / "run")
    resumed = solve(CONFIG, tmp_path / "run", resume=True)
    assert resumed.iterations == 50_000
    assert _same(resumed.strategy, whole.strategy)
    assert _same(solve(CONFIG, tmp_path / "run", resume=True).strategy, whole.strategy)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_done(tmp_path, number):
    def stop(state):
        if state.iterations >= 16_384:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        solve(CONFIG, tmp_path / "run", progress=stop)
    assert signal.getsignal(number) == before
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert int(checkpoint.name) == 16_384
    assert _same(solve(CONFIG, tmp_path / "run", resume=True).strategy, solve(CONFIG).strategy)


def test_killed_at_any_moment_a_run_goes_on(tmp_path):
    """Ended while solving or writing checkpoints, three times; then bit for bit as the unbroken run."""
    config = replace(CONFIG, iterations=2_000_000, checkpoint_every=0.05)
    (tmp_path / "config.toml").write_text(config.to_toml())
    command = [sys.executable, "-m", "nashfold.experiments.cli", "solve", str(tmp_path / "config.toml")]
    command += ["--out", str(tmp_path / "run")]
    rng = np.random.default_rng(0)
    kills = 0
    for attempt, number in enumerate([signal.SIGKILL, signal.SIGINT, signal.SIGKILL]):
        resume = ["--resume"] if (tmp_path / "run" / "config.toml").exists() else []
        process = subprocess.Popen(
            command + resume, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        checkpoints = tmp_path / "run" / "checkpoints"
        known = len(list(checkpoints.glob("[0-9]*"))) if attempt else 0
        deadline = time.monotonic() + 60
        while not known and not list(checkpoints.glob("[0-9]*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(rng.uniform(1.5, 2.0) if attempt else rng.uniform(0, 0.3))
        if process.poll() is None:
            os.kill(process.pid, number)
            kills += 1
        process.wait()
    assert kills
    resumed = solve(config, tmp_path / "run", resume=True)
    assert resumed.iterations == 2_000_000
    assert _same(resumed.strategy, solve(config).strategy)


def test_the_size_is_known_and_limited_before_anything_is_built(tmp_path, monkeypatch):
    run = solve(replace(CONFIG, iterations=10))
    taken = Tables(run.strategy.tree, run.strategy.abstraction.num_buckets).values.nbytes
    assert taken <= CONFIG.estimate_bytes() < 1.1 * taken
    limit = preset("acpc-limit")
    config = SolveConfig(limit, percentile_config(limit, 60_000), iterations=10)
    assert config.estimate_bytes() > 6 << 30
    monkeypatch.setattr("nashfold.solver.run.MEMORY_LIMIT", 1 << 30)
    monkeypatch.setattr("nashfold.solver.run.build_abstraction", lambda *_: pytest.fail("built"))
    with pytest.raises(ValueError, match=r"the tables would take 7.4 GiB, the limit is 1 GiB"):
        solve(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_time_limits_a_run():
    run = solve(replace(CONFIG, iterations=None, time=0.3))
    assert run.iterations > 0
    assert run.seconds >= 0.3


def test_nothing_is_overwritten(tmp_path):
    solve(CONFIG, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="is in the way"):
        solve(CONFIG, tmp_path / "run")
    with pytest.raises(ValueError, match="is another run: its seed is 3, not 4"):
        solve(replace(CONFIG, seed=4), tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match="holds no run to resume"):
        solve(CONFIG, tmp_path / "nowhere", resume=True)
    (values,) = (tmp_path / "run" / "checkpoints").glob("*/values.npy")
    values.write_bytes(values.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is damaged"):
        solve(replace(CONFIG, iterations=60_000), tmp_path / "run", resume=True)
    values.write_bytes(before[values])
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after == before


GOOD = """
rules = "short-limit"
abstraction = "a.toml"
iterations = 1000
"""
ABSTRACTION = """
rules = "short-limit"
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs"
buckets = 5
[[round]]
feature = "ehs"
buckets = 5
"""


def test_a_configuration_file(tmp_path):
    (tmp_path / "a.toml").write_text(ABSTRACTION)
    text = GOOD.replace("iterations = 1000", 'time = "1h30m"\nthreads = 2\n[checkpoint]\nevery = "90s"')
    (tmp_path / "c.toml").write_text(text)
    config = SolveConfig.from_toml(tmp_path / "c.toml")
    assert config.time == 5400
    assert config.threads == 2
    assert config.checkpoint_every == Every(90)
    assert [entry.buckets for entry in config.abstraction.rounds] == [None, 5, 5]
    run = solve(replace(config, iterations=10, time=None))
    (tmp_path / "d.toml").write_text(GOOD.replace("a.toml", run.strategy.abstraction.hash))
    assert SolveConfig.from_toml(tmp_path / "d.toml").abstraction.hash == config.abstraction.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"short-limit"', '"chess"', "unknown preset 'chess'"),
        ("iterations", "iteration", "unknown key 'iteration'"),
        ("iterations = 1000", "", "how long to solve"),
        ("iterations = 1000", "iterations = 0", "iterations must be a positive number"),
        ("iterations = 1000", 'time = "soon"', "'soon' is not a duration"),
        ('"a.toml"', '"b.toml"', "cannot read"),
        ('"a.toml"', '"0123456789abcdef"', "there is no such folder"),
        ("iterations", 'scheme = "magic"\niterations', "with external sampling, not 'magic'"),
        ("iterations", "seed = -1\niterations", "seed must be a whole number"),
        ("iterations", "threads = 0\niterations", "threads must be a positive number"),
        ("iterations", 'bets = "half"\niterations', "bets: 'half' is not a bet size"),
        ("iterations = 1000", "iterations = ", "c.toml"),
    ],
)
def test_a_bad_configuration_says_what_is_wrong(tmp_path, old, new, message):
    (tmp_path / "a.toml").write_text(ABSTRACTION)
    (tmp_path / "c.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as error:
        SolveConfig.from_toml(tmp_path / "c.toml")
    assert "\n" not in str(error.value)


def test_an_abstraction_of_another_game_is_refused():
    with pytest.raises(ValueError, match="does not fit flop-limit"):
        SolveConfig(preset("flop-limit"), CONFIG.abstraction, iterations=10)

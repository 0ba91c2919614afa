"""The folder of a run: what a killed run may leave in it is taken back."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from filelock import FileLock
from nashfold.game import preset
from nashfold.solver import SolveConfig, solve
from strategies import percentile_config

RULES = replace(preset("short-limit"), num_ranks=4, name="tiny")
CONFIG = SolveConfig(
    RULES,
    percentile_config(RULES, 4),
    iterations=3_000,
    averages=["preflop"],
    checkpoint_every="1_000 iterations",
    snapshots_every="1_000 iterations",
)


def _tree(run: Path) -> set[str]:
    return {str(path.relative_to(run)) for path in run.rglob("*")}


def test_what_came_after_the_checkpoint_is_taken_back(tmp_path):
    run = tmp_path / "run"
    solve(replace(CONFIG, iterations=2_000), run)
    kept = (run / "metrics.jsonl").read_text()
    with open(run / "metrics.jsonl", "a") as file:
        file.write('{"event": "snapshot", "iterations": 3000, "seconds": 9}\n')
        file.write(kept.splitlines()[-1] + "\n")  # once more
        file.write('{"event": "check", "iterat')
    before = _tree(run)
    for name in (".config.toml.new", ".metrics.jsonl.new"):
        (run / name).write_text("half")
    for name in (
        ".strategy.7-7.new",
        "checkpoints/.000000000003000.7-7.new",
        "checkpoints/.000000000002000.7-7.old",
        "snapshots/.000000000003000.7-7.new",
        "snapshots/000000000003000",
    ):
        (run / name).mkdir()
        (run / name / "values.npy").write_bytes(b"half")
    again = solve(replace(CONFIG, iterations=2_000), run, resume=True)  # nothing is left to do
    assert again.iterations == 2_000
    assert _tree(run) == before
    assert (run / "metrics.jsonl").read_text() == kept
    solve(CONFIG, run, resume=True)
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    expected = [(event, n) for n in (1000, 2000, 3000) for event in ("snapshot", "checkpoint")]
    assert [(line["event"], line["iterations"]) for line in lines] == expected
    assert len(list((run / "checkpoints").iterdir())) == 1


def test_a_run_killed_before_it_was_one_can_be_started(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".config.toml.new").write_text("half")
    with pytest.raises(ValueError, match="holds no run to resume: solve without --resume starts one"):
        solve(CONFIG, tmp_path / "run", resume=True)
    assert solve(CONFIG, tmp_path / "run").iterations == 3_000
    assert not list((tmp_path / "run").glob(".*"))


def test_a_killed_run_keeps_its_newest_checkpoint(tmp_path):
    """Two of them, where it was killed between writing one and dropping the other."""
    run, other = tmp_path / "run", tmp_path / "other"
    solve(replace(CONFIG, iterations=1_000), run)
    solve(replace(CONFIG, iterations=2_000), other)
    (checkpoint,) = (other / "checkpoints").iterdir()
    checkpoint.rename(run / "checkpoints" / checkpoint.name)
    assert len(list((run / "checkpoints").iterdir())) == 2
    resumed = solve(replace(CONFIG, iterations=2_000), run, resume=True)
    assert resumed.iterations == 2_000
    assert resumed.touched_nodes == 0


def _state(run: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in run.rglob("*") if path.is_file()]
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_one_run_at_a_time_works_in_a_folder(tmp_path):
    run, seen = tmp_path / "run", []

    def another(state):
        for resume, message in ((True, "another run is at work in this folder"), (False, "in the way")):
            with pytest.raises(ValueError, match=message) as error:
                solve(CONFIG, run, resume=resume)
            seen.append(str(error.value))

    solve(CONFIG, run, progress=another)
    assert seen
    assert solve(replace(CONFIG, iterations=4_000), run, resume=True).iterations == 4_000


def test_two_runs_that_begin_at_once_do_not_mix(tmp_path):
    """The second one has found the folder free before the first one made it."""
    (tmp_path / "run").mkdir()
    with FileLock(tmp_path / "run" / "lock"), pytest.raises(ValueError, match="at work in this folder"):
        solve(CONFIG, tmp_path / "run")
    assert solve(CONFIG, tmp_path / "run").iterations == 3_000


def test_the_lock_of_a_killed_run_is_none(tmp_path):
    hold = "import sys, time, filelock; l = filelock.FileLock(sys.argv[1]); l.acquire(); print('held')"
    solve(replace(CONFIG, iterations=1_000), tmp_path / "run")
    lock = str(tmp_path / "run" / "lock")
    program = [sys.executable, "-uc", f"{hold}; time.sleep(60)", lock]
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        with pytest.raises(ValueError, match="at work in this folder"):
            solve(CONFIG, tmp_path / "run", resume=True)
        process.send_signal(signal.SIGKILL)
    assert solve(CONFIG, tmp_path / "run", resume=True).iterations == 3_000


@pytest.mark.parametrize("iterations", [3_000, 2_000])
@pytest.mark.parametrize("options", [{}, {"memory_map": True}])
def test_a_finished_run_that_is_resumed_is_left_as_it_is(tmp_path, monkeypatch, iterations, options):
    config = replace(CONFIG, **options)
    run = solve(config, tmp_path / "run")
    before = _state(tmp_path / "run")
    monkeypatch.setattr("os.access", lambda *_: False)  # as in a folder that can only be read
    again = solve(replace(config, iterations=iterations), tmp_path / "run", resume=True)
    assert _state(tmp_path / "run") == before
    assert (again.iterations, again.seconds, again.unit) == (3_000, run.seconds, run.unit)
    for one, other in zip(again.strategy.tables, run.strategy.tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_run_killed_before_its_strategy_is_given_one(tmp_path):
    """Of the checkpoint; another goal that is past already changes nothing in its configuration."""
    run = tmp_path / "run"
    solve(replace(CONFIG, iterations=1_000), run)
    early = _state(run / "strategy")
    solve(CONFIG, run, resume=True)
    whole = (run / "strategy" / "round1.npy").read_bytes()
    for path, (_, content) in early.items():
        Path(path).write_bytes(content)
    text = (run / "config.toml").read_text()
    assert solve(replace(CONFIG, iterations=2_000), run, resume=True).iterations == 3_000
    assert (run / "strategy" / "round1.npy").read_bytes() == whole
    assert (run / "config.toml").read_text() == text


@pytest.mark.parametrize(
    "error",
    [OSError("5688 requested and 3040 written"), OSError(errno.ENOSPC, "No space left on device")],
    ids=["short", "full"],
)
def test_a_full_disk_keeps_the_last_checkpoint_and_says_what_to_do(tmp_path, monkeypatch, error):
    run, real = tmp_path / "run", np.save

    def full(file, array, **options):
        if "/checkpoints/.000000000002000" in file.name:
            raise error
        real(file, array, **options)

    with monkeypatch.context() as patch:
        patch.setattr("numpy.save", full)
        with pytest.raises(
            OSError, match=r"the disk is full: free some space, then .* --resume"
        ) as found:
            solve(CONFIG, run)
    assert found.value.filename == str(run / "checkpoints" / "000000000002000")
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["000000000001000"]
    resumed, whole = solve(CONFIG, run, resume=True), solve(CONFIG)
    for one, other in zip(resumed.strategy.tables, whole.strategy.tables, strict=True):
        np.testing.assert_array_equal(one, other)


def test_mapped_tables_that_do_not_fit_on_the_disk_are_refused(tmp_path, monkeypatch):
    config = replace(CONFIG, memory_map=True)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=10_000))
    with pytest.raises(ValueError, match="and 2 checkpoints of that size do not fit on the disk, which"):
        solve(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_snapshots_without_weight_count_the_same(tmp_path):
    config = replace(CONFIG, scheme={"name": "cfr+", "delay": 10_000})
    run = solve(config, tmp_path / "run")
    taken = [np.load(path / "round1.npy") for path in sorted((tmp_path / "run" / "snapshots").iterdir())]
    assert len(taken) == 3
    np.testing.assert_allclose(run.strategy.tables[1], np.mean(taken, axis=0), atol=1e-6)


def test_an_older_checkpoint_that_was_being_removed_is_taken_away(tmp_path):
    run = tmp_path / "run"
    solve(CONFIG, run)
    newest = [path.name for path in (run / "checkpoints").iterdir()]
    (run / "checkpoints" / "000000000000500").mkdir()  # killed before the folder itself was gone
    solve(CONFIG, run, resume=True)
    assert [path.name for path in (run / "checkpoints").iterdir()] == newest

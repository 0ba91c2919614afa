"""The folder of a run: what a killed run may leave in it is taken back."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
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

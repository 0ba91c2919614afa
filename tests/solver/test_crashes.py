"""Killed at 20 random moments, every resume goes on, and the run ends bit for bit as the unbroken one."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from nashfold.game import preset
from nashfold.solver import SolveConfig
from nashfold.solver.mccfr import Discounting
from strategies import percentile_config

KILLS = 20
RULES = replace(preset("short-limit"), num_ranks=4, name="tiny")
CONFIG = SolveConfig(
    RULES,
    percentile_config(RULES, 4),
    iterations=80_000,
    seed=3,
    checkpoint_every="2_000 iterations",
    check_every="20_000 iterations",
    check_flops=1,
)
REBUILT = {"averages": ["preflop"], "snapshots_every": "20_000 iterations"}
CASES = {
    "float32": CONFIG,
    "int16": replace(CONFIG, storage="int16", scheme="dcfr", discounting=Discounting(5_000, 40_000)),
    "mapped": replace(CONFIG, memory_map=True, **REBUILT),
    "vectors": replace(
        CONFIG,
        sampling="public-chance",
        iterations=240,
        checkpoint_every="12 iterations",
        check_every="60 iterations",
    ),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A folder for each of CASES, with the runs in it."""
    path = tmp_path_factory.mktemp("crashes")
    for name, config in CASES.items():
        (path / name).mkdir()
        (path / name / "config.toml").write_text(config.to_toml())
    return path


@pytest.fixture(scope="module")
def crashes(folder) -> dict[str, dict]:
    """What came of killing the runs, by name."""
    program = Path(__file__).with_name("crashes.py")
    command = [sys.executable, str(program), str(folder), str(KILLS), "1"]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    return {case["name"]: case for case in found}


@pytest.mark.parametrize("name", CASES)
def test_a_killed_run_ends_as_the_unbroken_one(crashes, name):
    case = crashes[name]
    assert len(case["checkpoints"]) == KILLS
    assert len(set(case["checkpoints"])) > KILLS // 4  # it was killed all along the way
    assert case["iterations"] == CASES[name].iterations
    assert case["same"] == [True] * 3


def test_some_kills_came_while_a_checkpoint_was_written(crashes):
    assert sum(case["half_written"] for case in crashes.values()) > 0


@pytest.mark.parametrize("name", CASES)
def test_its_folder_is_that_of_an_unbroken_run(crashes, folder, name):
    """The same files, metrics of the same events, and checks that found the same."""

    def files(run: Path) -> list[str]:
        return sorted(str(path.relative_to(run)) for path in run.rglob("*"))

    def metrics(run: Path) -> list[dict]:
        records = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        return [
            {key: value for key, value in record.items() if "second" not in key} for record in records
        ]

    whole, killed = folder / name / "whole", folder / name / crashes[name]["run"]
    assert files(killed) == files(whole)
    assert metrics(killed) == metrics(whole)
    events = [record["event"] for record in metrics(whole)]
    checkpoints = 20 if name == "vectors" else 40
    assert (events.count("checkpoint"), events.count("check")) == (checkpoints, 4)
    assert events.count("snapshot") == (4 if name == "mapped" else 0)

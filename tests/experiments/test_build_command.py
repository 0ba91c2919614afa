"""The command that builds abstractions: what it tells, what it keeps when it is broken off."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, build_abstraction
from nashfold.abstraction.build import abstraction_path, round_path
from nashfold.abstraction.estimate import estimate_build
from nashfold.abstraction.summary import summary
from nashfold.experiments.cli import main
from nashfold.experiments.progress import stage_bar

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
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "abstractions").glob("*.toml"))

# The command, which ends itself by a signal in the middle of the work that follows the first finished round.
BROKEN_OFF = """
import os, signal, sys
from contextlib import contextmanager
from nashfold.abstraction import AbstractionConfig
from nashfold.abstraction.build import round_path
from nashfold.experiments import build, cli

config = AbstractionConfig.from_toml("abstraction.toml")
bar = build.stage_bar

@contextmanager
def ending_bar(unit):
    with bar(unit) as show:
        def progress(what, done, total):
            show(what, done, total)
            if round_path(config.round_hash(2)).exists():
                os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        yield progress

build.stage_bar = ending_bar
sys.exit(cli.main(["build", "abstraction.toml"]))
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with an abstraction and an empty cache, and the current one."""
    (tmp_path / "abstraction.toml").write_text(ABSTRACTION)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def build(here, capsys):
    """Run the command in that folder: its exit code, standard output and standard error."""

    def run(*arguments: str) -> SimpleNamespace:
        capsys.readouterr()
        code = main(["build", *arguments])
        captured = capsys.readouterr()
        return SimpleNamespace(code=code, out=captured.out, err=captured.err)

    return run


def result_of(run: SimpleNamespace) -> dict:
    assert run.code == 0, run.err
    assert run.out.count("\n") == 1
    return json.loads(run.out)


def test_build_puts_an_abstraction_into_the_cache(here, build):
    built = result_of(build("abstraction.toml", "--json"))
    config = AbstractionConfig.from_toml("abstraction.toml")
    assert built["hash"] == config.hash
    assert Path(built["path"]) == abstraction_path(config.hash)
    assert built["buckets"] == [36, 12, 9]
    assert built["seconds"] > 0
    files = {file: file.stat().st_mtime_ns for file in (here / "cache").rglob("*.*")}
    assert {file.parent.name for file in files} >= {config.hash, config.round_hash(2)}
    again = result_of(build("abstraction.toml", "--json"))
    same = ("hash", "path", "buckets")
    assert [again[key] for key in same] == [built[key] for key in same]
    assert {file: file.stat().st_mtime_ns for file in (here / "cache").rglob("*.*")} == files
    text = build("abstraction.toml").out
    assert f"abstraction {config.hash}, buckets 36 12 9, " in text
    assert built["path"] in text


def test_the_size_is_told_before_the_work_begins(here, build):
    estimate = estimate_build(AbstractionConfig.from_toml("abstraction.toml"))
    told = build("abstraction.toml", "--estimate")
    assert (told.code, told.out, told.err) == (0, f"{estimate}\n", "")
    assert not (here / "cache").exists()
    run = build("abstraction.toml")
    assert run.err.startswith(f"{estimate}\n")
    assert run.err.index(str(estimate)) < run.err.index("hand strengths")  # the first bar
    found = result_of(build("abstraction.toml", "--json"))["estimate"]
    assert found["stored_bytes"] == estimate.stored_bytes
    assert [entry["is_stored"] for entry in found["rounds"]] == [False, True, True]


def test_the_bars_tell_the_time_left(capsys):
    with stage_bar("boards") as show:
        show("hand strengths", 1, 4)
        time.sleep(0.15)  # longer than tqdm's least time between two pictures
        show("hand strengths", 2, 4)
    assert re.search(r"hand strengths: +50%.* 2/4 \[\d\d:\d\d<\d\d:\d\d", capsys.readouterr().err)


def test_the_summary_is_printed(build):
    text = build("abstraction.toml", "--summary").out
    expected = summary(build_abstraction("abstraction.toml"))
    assert text.endswith(f"\n\n{expected}\n")
    found = result_of(build("abstraction.toml", "--summary", "--json"))["summary"]
    assert [entry["num_buckets"] for entry in found["rounds"]] == [36, 12, 9]
    assert found["rounds"][1]["spread"] == expected.rounds[1].spread


def test_figures_are_drawn(here, build):
    found = result_of(build("abstraction.toml", "--figures", "deep/figures", "--json"))["figures"]
    names = ["preflop", "round1-sizes", "round1-equities", "round2-sizes", "round2-equities"]
    assert found == [str(Path("deep/figures") / f"{name}.png") for name in names]
    for file in found:
        assert (here / file).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("name", "status", "said"),
    [
        ("SIGKILL", -signal.SIGKILL, ""),
        ("SIGINT", 130, "stopped (kept in the cache: round 2); go on with: "),
    ],
)
def test_a_build_that_is_broken_off_goes_on_with_what_is_missing(
    here, build, monkeypatch, name, status, said
):
    """Field case AB-07."""
    broken = subprocess.run([sys.executable, "-c", BROKEN_OFF, name], capture_output=True, text=True)
    assert broken.returncode == status, broken.stderr
    assert broken.stdout == ""
    assert said in broken.stderr
    assert not said or f"{said}nashfold build abstraction.toml" in broken.stderr
    config = AbstractionConfig.from_toml("abstraction.toml")
    last, earlier = (round_path(config.round_hash(index)) for index in (2, 1))
    assert last.exists()
    assert not earlier.exists()
    assert not abstraction_path(config.hash).exists()
    before = {file: file.stat().st_mtime_ns for file in last.iterdir()}
    run = build("abstraction.toml")
    assert run.code == 0
    assert "in the cache already: round 2" in run.err
    assert {file: file.stat().st_mtime_ns for file in last.iterdir()} == before
    resumed = [np.array(matrix) for matrix in build_abstraction(config).matrices]
    monkeypatch.setenv("NASHFOLD_CACHE", str(here / "another"))
    for matrix, unbroken in zip(resumed, build_abstraction(config).matrices, strict=True):
        np.testing.assert_array_equal(matrix, unbroken)


def test_a_missing_file_is_named(build):
    run = build("no.toml", "--json")
    assert (run.code, run.out) == (2, "")
    assert "cannot read no.toml: No such file" in run.err


def test_figures_do_not_go_into_a_file(here, build):
    (here / "file").write_text("precious")
    run = build("abstraction.toml", "--figures", "file")
    assert run.code == 2
    assert run.err.splitlines()[-1].startswith("nashfold: ")
    assert (here / "file").read_text() == "precious"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_abstractions(build, path):
    told = result_of(build(str(path), "--estimate", "--json"))["estimate"]
    assert told["memory_bytes"] < 6e9
    buckets = "-".join(str(entry["max_buckets"]) for entry in told["rounds"])
    if re.search(r"\d", path.stem):  # the name tells the buckets
        assert path.stem.endswith(buckets)


def test_there_are_examples():
    assert len(EXAMPLES) >= 4

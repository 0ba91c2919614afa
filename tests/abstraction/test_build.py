"""Built abstractions come from the cache, and from the rounds in it that are whole."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.abstraction.arrays import load_arrays, save_arrays
from nashfold.abstraction.build import abstraction_path, cache_folder, round_path
from small_abstractions import CLASSES, TINY_RULES


class Calls:
    """A progress function that notes what was done."""

    def __init__(self):
        self.made: list[str] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        assert 0 < done <= total
        self.made.append(what)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A freshly built abstraction of twelve cards."""
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    config = AbstractionConfig(TINY_RULES, (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs2", 6)))
    assert not abstraction_path(config.hash).exists()
    calls = Calls()
    abstraction = build_abstraction(config, calls)
    assert {"hand strengths", "last-round equities"} < set(calls.made)
    return config, [np.array(matrix) for matrix in abstraction.matrices]


def check_same(abstraction, matrices):
    assert len(abstraction.matrices) == len(matrices)
    for found, expected in zip(abstraction.matrices, matrices, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_second_build_reads_what_the_first_one_wrote(cached):
    config, matrices = cached
    files = [file for file in cache_folder().rglob("*.*") if file.is_file() and file.suffix != ".lock"]
    before = {file: file.stat().st_mtime_ns for file in files}
    assert {file.parent.name for file in files} == {
        config.hash,
        config.round_hash(1),
        config.round_hash(2),
    }
    calls = Calls()
    check_same(build_abstraction(config, calls), matrices)
    check_same(build_abstraction(replace(config, seed=5), calls), matrices)
    assert not calls.made
    after = [file for file in cache_folder().rglob("*.*") if file.is_file() and file.suffix != ".lock"]
    assert {file: file.stat().st_mtime_ns for file in after} == before


def test_abstractions_share_the_rounds_that_they_have_in_common(cached):
    config, matrices = cached
    other = replace(config, rounds=(CLASSES, RoundConfig("ehs", 4), RoundConfig("ehs2", 6)))
    river = round_path(config.round_hash(2)) / "matrix.npy"
    before = river.stat().st_mtime_ns
    calls = Calls()
    abstraction = build_abstraction(other, calls)
    assert calls.made
    assert abstraction.num_buckets[1] == 4
    assert river.stat().st_mtime_ns == before
    check_same(build_abstraction(config), matrices)


DAMAGE = {
    "an array cut short": lambda path: (path / "matrix.npy").write_bytes(b"short"),
    "an array gone": lambda path: (path / "matrix.npy").unlink(),
    "other values": lambda path: np.save(path / "matrix.npy", 1 - np.load(path / "matrix.npy")),
    "no header": lambda path: (path / "header.json").unlink(),
    "half a header": lambda path: (path / "header.json").write_text('{"nashfold": "round b'),
    "a bare header": lambda path: (path / "header.json").write_text('{"nashfold": "round buckets"}'),
    "a header without arrays": lambda path: (path / "header.json").write_text(
        '{"nashfold": "round buckets", "format": 1}'
    ),
    "another round": lambda path: (path / "header.json").write_text(
        (path / "header.json").read_text().replace('"ehs"', '"ehs2"')
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_round_is_built_again(cached, damage):
    config, matrices = cached
    path = round_path(config.round_hash(1))
    header = (path / "header.json").read_text()
    damage(path)
    calls = Calls()
    check_same(build_abstraction(config, calls), matrices)
    assert "hand strengths" in calls.made
    assert (path / "header.json").read_text() == header
    calls.made.clear()
    check_same(build_abstraction(config, calls), matrices)
    assert not calls.made


def test_a_damaged_entry_of_the_whole_is_written_again(cached):
    config, matrices = cached
    header = abstraction_path(config.hash) / "header.json"
    before = header.read_text()
    header.write_text(before.replace("perfect", "prefect"))
    check_same(build_abstraction(config), matrices)
    assert header.read_text() == before


def test_tuples_are_found_again_where_a_round_has_other_numbers(tmp_path, monkeypatch):
    """As after a change of versions that gives other buckets under the same name."""
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    rounds = (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs", 6))
    config = AbstractionConfig(TINY_RULES, rounds, recall="perfect")
    before = build_abstraction(config)
    path = round_path(config.round_hash(1))
    header, arrays = load_arrays(path, "round buckets", memory_map=False)
    kept = {key: header[key] for key in ("round", "num_buckets", "notes", "versions")}
    turned = (arrays.pop("matrix") + 1) % 5
    save_arrays(path, "round buckets", kept, {"matrix": turned.astype(np.uint16), **arrays})
    after = build_abstraction(config)
    assert len(after.tuples[1]) == len(before.tuples[1])
    assert (after.tuples[1] != before.tuples[1]).any()


def test_two_processes_build_the_same_abstraction_once(tmp_path):
    """The second waits, and finds what the first one stored."""
    code = (
        "from small_abstractions import SHORT; from nashfold.abstraction import build_abstraction; "
        "made = []; build_abstraction(SHORT, lambda *state: made.append(state[0])); print(len(made) > 0)"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"NASHFOLD_CACHE": str(tmp_path), "PYTHONPATH": paths}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    answers = [process.communicate(timeout=120)[0].strip() for process in running]
    assert all(process.returncode == 0 for process in running)
    assert "True" in answers
    assert len(list(tmp_path.rglob("header.json"))) == 3


def test_the_cache_folder_is_the_users_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("NASHFOLD_CACHE")
    assert cache_folder().name == "nashfold"

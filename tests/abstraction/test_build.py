"""Built abstractions come from the cache, and from the rounds in it that are whole."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
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
    files = [file for file in cache_folder().rglob("*") if file.is_file()]
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
    assert {file: file.stat().st_mtime_ns for file in cache_folder().rglob("*.*")} == before


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


def test_the_cache_folder_is_the_users_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("NASHFOLD_CACHE")
    assert cache_folder().name == "nashfold"

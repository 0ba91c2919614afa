"""Sizes that are told beforehand are those of what is built."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, boards, build_abstraction
from nashfold.abstraction.build import round_path
from nashfold.abstraction.estimate import estimate_build
from nashfold.game import preset
from small_abstractions import CLASSES, SHORT, TINY_RULES

TINY = AbstractionConfig(TINY_RULES, (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs2", 6)))


@pytest.mark.parametrize(
    "config", [TINY, SHORT, AbstractionConfig.lossless(TINY_RULES), replace(TINY, recall="perfect")]
)
def test_the_sizes_are_those_of_what_is_built(config):
    told = estimate_build(config)
    abstraction = build_abstraction(config)
    for index, entry in enumerate(told.rounds):
        assert entry.hands == len(abstraction.canonical_hands(index))
        assert entry.stored_bytes == abstraction.matrices[index].nbytes
        assert entry.max_buckets >= abstraction.num_own_buckets[index]
    assert told.stored_bytes == sum(matrix.nbytes for matrix in abstraction.matrices)
    assert told.memory_bytes >= told.stored_bytes


def test_a_full_deck_is_estimated_without_listing_a_board(monkeypatch):
    monkeypatch.setattr(boards, "Boards", None)
    rounds = (CLASSES, *[RoundConfig("histogram-emd", 2_000)] * 2, RoundConfig("ochs", 2_000))
    told = estimate_build(AbstractionConfig(preset("acpc-limit"), rounds))
    assert [entry.hands for entry in told.rounds] == [169, 1_286_792, 13_960_050, 123_156_254]
    assert [entry.max_buckets for entry in told.rounds] == [169, 2_000, 2_000, 2_000]
    assert told.stored_bytes == 2 * 1_326 * (1 + 1_755 + 16_432 + 134_459)
    # 1,081 runouts need two bytes a bin, 46 rivers one; equities against eight clusters two bytes each.
    assert [entry.feature_bytes for entry in told.rounds] == [
        0, 2 * 50 * 1_286_792, 50 * 13_960_050, 2 * 8 * 123_156_254
    ]  # fmt: skip
    assert told.stored_bytes + told.rounds[3].feature_bytes < told.memory_bytes < 6e9
    assert str(told).startswith(
        "169 + 1,286,792 + 13,960,050 + 123,156,254 hands into at most 169-2000-2000-2000 buckets: "
        "405 MB of tables, about "
    )


def test_rounds_in_the_cache_take_nothing_to_build(tmp_path, monkeypatch):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    before = estimate_build(TINY)
    assert not any(entry.is_stored for entry in before.rounds)
    build_abstraction(TINY)
    after = estimate_build(TINY)
    assert [entry.is_stored for entry in after.rounds] == [False, True, True]
    assert after.memory_bytes == after.stored_bytes == before.stored_bytes
    assert str(after).endswith("; in the cache already: round 1, 2")
    round_path(TINY.round_hash(2)).rename(tmp_path / "gone")
    assert [entry.is_stored for entry in estimate_build(TINY).rounds] == [False, True, False]

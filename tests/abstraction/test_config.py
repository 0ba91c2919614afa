"""Card abstractions in words: what a file may say, and what the hash follows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.game import preset
from small_abstractions import CLASSES, FLOP, SHORT, TINY_RULES

TOML = """
rules = "short-limit"
recall = "imperfect"
seed = 7
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs2"
buckets = 30
[[round]]
feature = "ehs"
buckets = 40
"""


def test_a_configuration_is_read_from_toml(tmp_path):
    (tmp_path / "a.toml").write_text(TOML)
    assert AbstractionConfig.from_toml(tmp_path / "a.toml") == replace(SHORT, seed=7)
    assert AbstractionConfig.from_toml(str(tmp_path / "a.toml")).hash == SHORT.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"ehs2"',
            '"ehs3"',
            "unknown feature 'ehs3': choose one of none, preflop-classes, lossless, ehs, ehs2",
        ),
        ('"ehs2"', "2", "unknown feature 2"),
        ('"ehs2"', "[1]", r"unknown feature \[1\]"),
        ("30", "0", "feature ehs2 needs buckets = 1 to 65535, not 0"),
        ("30", "65536", "feature ehs2 needs buckets = 1 to 65535, not 65536"),
        ("30", "-1", "feature ehs2 needs buckets = 1 to 65535, not -1"),
        ("30", "2.0", "feature ehs2 needs buckets = 1 to 65535, not 2.0"),
        ("30", "true", "feature ehs2 needs buckets = 1 to 65535, not True"),
        ("30", '"30"', "feature ehs2 needs buckets = 1 to 65535, not '30'"),
        ("buckets = 30", "", "feature ehs2 needs buckets = 1 to 65535, not None"),
        (
            '"preflop-classes"',
            '"preflop-classes"\nbuckets = 9',
            "feature preflop-classes takes no buckets",
        ),
        ('"ehs2"\nbuckets = 30', '"none"\nbuckets = 1', "feature none takes no buckets"),
        ('"ehs2"\nbuckets = 30', '"preflop-classes"', "is for a round without community cards"),
        (
            "buckets = 30",
            "bucket = 30",
            r"a \[\[round\]\] table has the keys feature, buckets, public, .*; feature is needed",
        ),
        ('feature = "ehs2"', "", r"a \[\[round\]\] table has the keys .*; feature is needed"),
        ("seed = 7", "sead = 7", "unknown key 'sead': an abstraction has recall, round, rules, seed"),
        ('"short-limit"', '"short-limits"', "unknown preset 'short-limits': choose one of"),
        ('rules = "short-limit"', "", 'an abstraction needs rules = "NAME"'),
        ('"short-limit"', "7", "rules must be the name of a preset, an ACPC definition or a table"),
        ('"imperfect"', '"prefect"', "recall must be imperfect or perfect, not 'prefect'"),
        ("seed = 7", "seed = -1", "seed must be a whole number from 0 to 2\\*\\*63 - 1, not -1"),
        ("buckets = 40", "buckets = 40\nbins = 9", "feature ehs takes no bins: histogram-emd do"),
        (
            "buckets = 40",
            "buckets = 40\npublic = 0",
            "public must be a whole number from 1 to 10000, not 0",
        ),
        (
            "buckets = 40",
            "buckets = 900\npublic = 90",
            "90 public clusters of 900 buckets are more than",
        ),
        ('"ehs"\nbuckets = 40', '"histogram-emd"\nbuckets = 40', "the last round takes ochs or ehs"),
        ('"ehs"\nbuckets = 40', '"potential-aware"\nbuckets = 40', "the last round takes ochs or ehs"),
        ('"ehs2"', '"ochs"', "feature ochs is for the last round: earlier ones take histogram-emd"),
        ('"preflop-classes"', '"ehs"\nbuckets = 9\npublic = 2', "for rounds with community cards"),
        (
            'feature = "ehs2"\nbuckets = 30\n[[round]]\nfeature = "ehs"\nbuckets = 40',
            'feature = "potential-aware"\nbuckets = 30\n[[round]]\nfeature = "lossless"',
            "potential-aware needs a next round in buckets: lossless has none",
        ),
        ('"short-limit"', '"acpc-limit"', r"acpc-limit has 4 rounds: give as many .* not 3"),
        ('"short-limit"', '"flop-limit"', r"flop-limit has 2 rounds: give as many .* not 3"),
        ("[[round]]", "[round]", "Cannot"),
        ("seed = 7", "seed = ", "Invalid value"),
    ],
)
def test_mistakes_are_one_line_that_names_the_file_and_the_problem(tmp_path, old, new, message):
    assert old in TOML
    path = tmp_path / "mistaken.toml"
    path.write_text(TOML.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        AbstractionConfig.from_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path, reason in ((tmp_path / "no.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ValueError, match=f"cannot read {path}: {reason}"):
            build_abstraction(path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bytes\.toml: .*utf-8"):
        build_abstraction(tmp_path / "bytes.toml")


def test_games_with_other_hole_cards_are_refused():
    rules = replace(preset("flop-limit"), num_hole_cards=1)
    with pytest.raises(ValueError, match="two hole cards"):
        AbstractionConfig(rules, (CLASSES, RoundConfig("ehs", 5)))


def test_the_hash_follows_what_affects_the_buckets_and_nothing_else():
    def short(*rounds, **changes):
        return AbstractionConfig(preset("short-limit"), rounds or SHORT.rounds, **changes)

    ochs, histograms = RoundConfig("ochs", 40), RoundConfig("histogram-emd", 30)
    potential = RoundConfig("potential-aware", 30)
    different = [
        SHORT,
        short(recall="perfect"),
        short(CLASSES, RoundConfig("ehs2", 31), RoundConfig("ehs", 40)),
        short(CLASSES, RoundConfig("ehs2", 30), RoundConfig("ehs", 41)),
        short(CLASSES, RoundConfig("ehs", 30), RoundConfig("ehs", 40)),
        short(CLASSES, RoundConfig("ehs2", 30, public=2), RoundConfig("ehs", 40)),
        short(CLASSES, RoundConfig("ehs2", 30, public=2), RoundConfig("ehs", 40), seed=1),
        short(RoundConfig("none"), RoundConfig("ehs2", 30), RoundConfig("ehs", 40)),
        short(CLASSES, histograms, ochs),
        short(CLASSES, histograms, ochs, seed=1),
        short(CLASSES, replace(histograms, bins=51), ochs),
        short(CLASSES, replace(histograms, restarts=2), ochs),
        short(CLASSES, histograms, replace(ochs, opponents=7)),
        short(CLASSES, potential, ochs),
        short(CLASSES, potential, replace(ochs, buckets=39)),
        AbstractionConfig(TINY_RULES, SHORT.rounds),
        AbstractionConfig(replace(preset("short-limit"), num_ranks=7), SHORT.rounds),
        AbstractionConfig(replace(preset("short-limit"), board_cards=(0, 2, 2)), SHORT.rounds),
        AbstractionConfig.lossless(preset("short-limit")),
        FLOP,
    ]
    assert len({config.hash for config in different}) == len(different)
    assert all(len(config.hash) == 16 and int(config.hash, 16) >= 0 for config in different)
    same = [short(), short(seed=99), AbstractionConfig(preset("short-nolimit"), SHORT.rounds)]
    assert {config.hash for config in same} == {SHORT.hash}
    assert short(CLASSES, replace(histograms, bins=50, restarts=1), ochs) == short(
        CLASSES, histograms, ochs
    )
    # Rounds are shared between abstractions; a potential-aware one depends on the next.
    assert short(CLASSES, histograms, ochs).round_hash(2) == short(CLASSES, potential, ochs).round_hash(
        2
    )
    other = short(CLASSES, potential, replace(ochs, buckets=39))
    assert other.round_hash(1) != short(CLASSES, potential, ochs).round_hash(1)


def test_cards_that_a_feature_cannot_judge_are_refused_at_once():
    def build(board_cards, *rounds):
        rules = replace(
            TINY_RULES,
            board_cards=board_cards,
            bet_sizes=(2,) * len(rounds),
            max_bets=(2,) * len(rounds),
            first_player=(1,) + (0,) * (len(rounds) - 1),
        )
        return AbstractionConfig(rules, rounds)

    ehs, potential = RoundConfig("ehs", 5), RoundConfig("potential-aware", 5)
    with pytest.raises(ValueError, match="needs showdowns on three to five community cards, tiny has 2"):
        build((0, 2), ehs, ehs)
    with pytest.raises(ValueError, match="potential-aware needs new cards in the next round"):
        build((0, 0, 3), potential, ehs, ehs)
    assert build((0, 2), RoundConfig("lossless"), RoundConfig("lossless")).max_buckets()[0] > 1


def test_a_configuration_goes_through_its_dictionary():
    rounds = (CLASSES, RoundConfig("potential-aware", 9, restarts=3), RoundConfig("ochs", 40, public=3))
    for config in (SHORT, FLOP, AbstractionConfig(SHORT.rules, rounds, "perfect", seed=11)):
        assert AbstractionConfig.from_dict(config.to_dict()) == config


def test_largest_numbers_of_buckets_before_anything_is_built():
    assert SHORT.max_buckets() == [36, 30, 40]
    rounds = (CLASSES, RoundConfig("ehs", 5, public=3), RoundConfig("ehs", 200))
    assert replace(SHORT, rounds=rounds).max_buckets() == [36, 15, 200]
    assert replace(SHORT, rounds=rounds, recall="perfect").max_buckets() == [36, 540, 108_000]
    acpc = AbstractionConfig.lossless(preset("acpc-limit"))
    assert acpc.max_buckets() == [169, 1_286_792, 55_190_538, 2_428_287_420]
    assert replace(acpc, recall="imperfect").max_buckets() == [169, 1_286_792, 13_960_050, 123_156_254]
    # Information states of short-limit: 4, 18 and 90 decision nodes by round; computed independently.
    short = AbstractionConfig.lossless(preset("short-limit")).max_buckets()
    assert 4 * short[0] + 18 * short[1] + 90 * short[2] == 33_083_244

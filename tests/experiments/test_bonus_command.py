"""The command that tells what the side bet returns."""

from __future__ import annotations

import argparse
import json
from types import SimpleNamespace

import pytest
from nashfold.experiments.bonus import add_bonus_options, run_bonus
from nashfold.game import preset
from nashfold.game.bonus import EXAMPLE, PayTable
from nashfold.game.bonus_return import bonus_return

TABLE = """
name = "two lines"
fold_ends = "player"
[flop]
"pair of jacks or better" = 1
[turn]
"flush" = 9.5
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "table.toml"
    path.write_text(TABLE)
    return path


def run(*words: object, as_json: bool = True) -> SimpleNamespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    add_bonus_options(parser)
    result = run_bonus(parser.parse_args([*map(str, words), *(["--json"] if as_json else [])]))
    json.dumps(result)  # what the command prints
    return SimpleNamespace(**result)


def test_without_a_table_the_example_is_told_by_its_name(capsys):
    result = run(as_json=False)
    out = capsys.readouterr().out
    assert out.splitlines()[0] == f"pay table: {EXAMPLE.name}; stake: one for each interval"
    assert out.splitlines()[1] == "casino-limit, nobody folds: exact, in stakes"
    expected = bonus_return(EXAMPLE)
    for place, words in enumerate(line.split() for line in out.splitlines()[3:6]):
        name, cards, hits, percent, deviation, mean = words
        assert (name, cards, percent) == (expected.intervals[place], str(5 + place), "%")
        assert float(hits) == pytest.approx(100 * expected.hit_frequency[place], abs=5e-5)
        assert float(deviation) == pytest.approx(expected.standard_deviation[place], abs=5e-7)
        assert float(mean) == pytest.approx(expected.mean[place], abs=5e-7)
    assert out.splitlines()[6].split() == [
        "sum", f"{expected.total_standard_deviation:.6f}", f"{expected.total_mean:+.6f}"
    ]  # fmt: skip
    assert (result.pay_table, result.rules, result.kind) == (EXAMPLE.name, "casino-limit", "exact")
    assert (result.stake, result.fold_ends, result.forfeit) == ("each", "never", "lost")


def test_the_example_as_toml_is_the_same_table(capsys, tmp_path):
    run("--example", as_json=False)
    printed = capsys.readouterr().out
    assert PayTable.from_toml(printed) == EXAMPLE
    assert run("--example").toml == printed
    (tmp_path / "example.toml").write_text(printed)
    assert run(tmp_path / "example.toml") == run()


def test_a_table_of_ones_own_in_a_smaller_game(file, capsys):
    result = run(file, "--rules", "short-limit")
    expected = bonus_return(PayTable.from_toml(file), preset("short-limit").deck)
    assert capsys.readouterr().out == ""
    assert result.pay_table == "two lines"
    assert result.intervals == ("flop", "turn")
    assert result.mean == expected.mean
    assert result.exact_total_mean == expected.exact_total_mean
    assert run(file, "--fold-ends", "any").fold_ends == "any"
    assert result.fold_ends == "player"


def test_a_player_who_never_folds_has_the_exact_return(file):
    played = run(file, "--rules", "short-limit", "--strategy", "always-call", "--opponent", "random")
    counted = run(file, "--rules", "short-limit")
    assert (played.strategy, played.opponent, played.rules) == ("always-call", "random", "short-limit")
    assert played.kind == "exact"
    assert played.mean == pytest.approx(counted.mean, abs=1e-12)
    assert played.total_standard_deviation == pytest.approx(counted.total_standard_deviation, abs=1e-12)


def test_a_fold_before_the_flop_loses_both_stakes(file, capsys):
    """Always-fold checks in the big blind when the other does not bet; the button folds at once."""
    result = run(
        file, "--rules", "short-limit", "--strategy", "always-fold", "--opponent", "always-call",
        as_json=False,
    )  # fmt: skip
    counted = run(file, "--rules", "short-limit")
    assert result.per_position == pytest.approx((counted.total_mean, -2), abs=1e-12)
    assert result.total_mean == pytest.approx((counted.total_mean - 2) / 2, abs=1e-12)
    out = capsys.readouterr().out
    assert "short-limit, always-fold against always-call, the player's fold ends the bonus: exact" in out
    assert f"{counted.total_mean:+.6f}, -2.000000" in out


def test_sampled_flops_give_an_estimate_that_a_seed_repeats(file, capsys):
    words = (file, "--rules", "short-limit", "--strategy", "random", "--flops", 3, "--seed", 5)
    first, second = run(*words), run(*words, "--threads", 1)
    assert first.kind == "estimate"
    assert (first.mean, first.standard_error) == (second.mean, second.standard_error)
    assert first.mean != run(*words[:-1], 6).mean
    run(*words, as_json=False)
    assert f"{first.total_mean:+.6f} +- {first.total_standard_error:.6f}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.toml"], r"cannot read missing\.toml"),
        (["--rules", "short-limit"], "needs two hole cards and boards of 0-3-4-5 cards"),
        (["--rules", "poker"], "unknown preset 'poker'"),
        (["--fold-ends", "both"], "fold_ends is one of never, player, any, not 'both'"),
        (["--opponent", "random"], "go with --strategy"),
        (["--flops", "3"], "go with --strategy"),
        (["--strategy", "random", "--flops", "some"], "--flops takes all or a positive number"),
        (["--strategy", "random", "--flops", "0"], "--flops takes all or a positive number"),
        (["--strategy", "nobody"], "unknown strategy 'nobody'"),
        (["--strategy", "random", "--rules", "short-limit"], "boards of 0-3-4-5 cards"),
    ],
)
def test_options_that_make_no_sense_are_refused(words, message):
    with pytest.raises(ValueError, match=message):
        run(*words)

"""No-limit blueprints: the examples make sense; a small one is solved, scored and played in the real game."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from nashfold.experiments.cli import main
from nashfold.game import new_hand, preset
from nashfold.solver import SolveConfig, Strategy

EXAMPLES = Path(__file__).parents[2] / "examples"
BLUEPRINTS = sorted((EXAMPLES / "blueprints").glob("*.toml"))
ABSTRACTION = """
rules = "short-nolimit"
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs"
buckets = 4
[[round]]
feature = "ehs"
buckets = 3
"""
CONFIG = """
rules = "short-nolimit"
abstraction = "abstraction.toml"
iterations = 40_000
seed = 1
[bets]
preflop = ["60%, a", "a"]
flop = ["40%, 150%, a", "a"]
[check]
every = "40_000 iterations"
flops = 1
"""


@pytest.mark.parametrize("path", BLUEPRINTS, ids=lambda path: path.stem)
def test_the_examples_fit_into_memory(path):
    config = SolveConfig.from_toml(path)
    size = config.size()
    assert size.is_complete
    assert config.estimate_bytes() < 4 << 30


@pytest.fixture(scope="module")
def blueprint(tmp_path_factory) -> Path:
    """A run of CONFIG."""
    folder = tmp_path_factory.mktemp("blueprint")
    (folder / "abstraction.toml").write_text(ABSTRACTION)
    (folder / "config.toml").write_text(CONFIG)
    assert main(["solve", str(folder / "config.toml"), "--out", str(folder / "run")]) == 0
    return folder / "run"


@pytest.fixture
def json_of(capsys):
    """Run a command with --json: the object on its standard output."""

    def run(*arguments) -> dict:
        capsys.readouterr()
        assert main([*map(str, arguments), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


def test_checks_on_the_way_are_of_the_real_game(blueprint, json_of):
    records = [json.loads(line) for line in (blueprint / "metrics.jsonl").read_text().splitlines()]
    checks = [record for record in records if record["event"] == "check"]
    assert [check["iterations"] for check in checks] == [40_000]
    score = json_of("score", blueprint, "--flops", 1, "--seed", 1)
    assert checks[-1]["mbb_per_hand"] == score["mbb_per_hand"]
    assert score["responder"] == "every legal bet"
    assert score["translation"] == "deterministic"
    assert (blueprint / "figures" / "exploitability.png").stat().st_size > 10_000


def test_a_responder_with_the_menu_alone_wins_less(blueprint, json_of, capsys):
    sample = ["score", blueprint, "--flops", 1]
    full = json_of(*sample)
    menu = json_of(*sample, "--bets", "menu")
    nearest = json_of(*sample, "--translation", "nearest")
    assert menu["responder"].startswith("the bets preflop 60%, a | a; flop 40%")
    assert menu["mbb_per_hand"] < full["mbb_per_hand"]
    assert nearest["translation"] == "nearest"
    assert nearest["mbb_per_hand"] != full["mbb_per_hand"]
    assert main(["score", str(blueprint), "--bets", "all"]) == 2
    assert "--bets takes full or menu, not 'all'" in capsys.readouterr().err


def test_it_plays_the_real_game_through_translation(blueprint, json_of, capsys):
    """Against bets that its tree does not have; it beats what calls or raises with anything."""
    hand = new_hand(preset("short-nolimit"), hole=("AsAh", "KdKc"), board="9c9hTsJd")
    hand = hand.play("raise-to:5")
    probabilities = Strategy.load(blueprint).probabilities(hand)
    assert sum(probabilities.values()) == pytest.approx(1)
    match = ["match", blueprint, "call-or-raise", "--hands", 3_000, "--duplicate"]
    result = json_of(*match)
    assert result["mbb_per_hand"] > 4 * result["standard_error"]
    assert json_of(*match, "--translation", "pseudo-harmonic") == result
    assert json_of(*match, "--translation", "nearest") != result
    arguments = ["match", "random", "always-call", "--rules", "leduc", "--hands", "10"]
    assert main([*arguments, "--translation", "soft"]) == 2
    assert "--translation goes with a strategy on a bet menu" in capsys.readouterr().err
    assert main([*map(str, match), "--translation", "hard"]) == 2
    assert "unknown translation 'hard'" in capsys.readouterr().err

"""No-limit blueprints: the examples make sense; a small one is solved, scored and played in the real game."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from nashfold.abstraction import AbstractionConfig, BetMenu, RoundConfig
from nashfold.experiments.cli import main
from nashfold.game import new_hand, preset
from nashfold.solver import SolveConfig, Strategy
from nashfold.solver.schedule import Every

EXAMPLES = Path(__file__).parents[2] / "examples"
BLUEPRINTS = sorted((EXAMPLES / "blueprints").glob("*.toml"))
RULES = replace(preset("short-nolimit"), stacks=(10, 10), name="tiny-nolimit")
ROUNDS = (RoundConfig("preflop-classes"), RoundConfig("ehs", 4), RoundConfig("ehs", 3))
CONFIG = SolveConfig(
    RULES,
    AbstractionConfig(RULES, ROUNDS),
    BetMenu.from_value({"preflop": ["60%, a", "a"], "flop": ["40%, 150%, a", "a"]}),
    iterations=40_000,
    check_every=Every(iterations=20_000),
    check_flops=2,
)


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
    (folder / "config.toml").write_text(CONFIG.to_toml())
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
    assert [check["iterations"] for check in checks] == [20_000, 40_000]
    score = json_of("score", blueprint, "--flops", 2, "--seed", 1)
    assert checks[-1]["mbb_per_hand"] == score["mbb_per_hand"]
    assert score["responder"] == "every legal bet"
    assert score["translation"] == "deterministic"
    assert (blueprint / "figures" / "exploitability.png").stat().st_size > 10_000


def test_a_responder_with_the_menu_alone_wins_less(blueprint, json_of, capsys):
    sample = ["score", blueprint, "--flops", 3]
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
    hand = new_hand(RULES, hole=("AsAh", "KdKc"), board="9c9hTsJd")
    hand = hand.play("raise-to:5")
    probabilities = Strategy.load(blueprint).probabilities(hand)
    assert sum(probabilities.values()) == pytest.approx(1)
    match = ["match", blueprint, "call-or-raise", "--duplicate", "--hands"]
    result = json_of(*match, 3_000)
    assert result["mbb_per_hand"] > 3 * result["standard_error"]
    few = json_of(*match, 300)
    assert json_of(*match, 300, "--translation", "pseudo-harmonic") == few
    assert json_of(*match, 300, "--translation", "nearest") != few
    arguments = ["match", "random", "always-call", "--rules", "leduc", "--hands", "10"]
    assert main([*arguments, "--translation", "soft"]) == 2
    assert "--translation goes with a strategy on a bet menu" in capsys.readouterr().err
    assert main([*map(str, match), "9", "--translation", "hard"]) == 2
    assert "unknown translation 'hard'" in capsys.readouterr().err

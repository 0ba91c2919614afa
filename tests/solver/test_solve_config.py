"""The configuration of a run: read, written, checked."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nashfold.abstraction import BetMenu, build_abstraction
from nashfold.game import preset
from nashfold.solver import SolveConfig, betting_tree, solve
from nashfold.solver.mccfr import AverageSampling, Discounting, Pruning
from nashfold.solver.schedule import Every
from nashfold.solver.solvers import SOLVERS
from strategies import percentile_config

SHORT = preset("short-limit")
CONFIG = SolveConfig(SHORT, percentile_config(SHORT, 6), iterations=100)
NO_LIMIT = preset("short-nolimit")
VARIANTS = {
    "plain": CONFIG,
    "times": replace(CONFIG, iterations=None, time=90.5, threads=2, checkpoint_every="30s"),
    "scheme": replace(
        CONFIG, scheme={"name": "dcfr", "alpha": 1, "gamma": 1.5, "order": "discount-add"}
    ),
    "discounting": replace(CONFIG, scheme="dcfr", discounting={"every": 10, "until": 50}),
    "pruning": replace(CONFIG, pruning={"threshold": -30.0}),
    "pruning with a floor": replace(CONFIG, pruning=Pruning(-3e5, -4e5, 1000, 0.9)),
    "outcome": replace(CONFIG, sampling="outcome", exploration=0.3),
    "average": replace(CONFIG, sampling="average-strategy", average_sampling=AverageSampling(0.1, 10.0)),
    "tables": replace(
        CONFIG, storage="int16", memory_map=True, averages=["turn", 0], snapshots_every="10 iterations"
    ),
    "checks": replace(CONFIG, check_every="1h", check_flops=7),
    "public chance": replace(CONFIG, sampling="public-chance"),
    "best responses": replace(CONFIG, sampling="public-chance", best_response_from="turn"),
    "full width": replace(CONFIG, sampling="none", scheme="hs-dcfr"),
    "full width for some time": replace(
        CONFIG, sampling="none", scheme={"name": "hs-dcfr", "horizon": 50}, iterations=None, time=5.0
    ),
    "bets": SolveConfig(
        NO_LIMIT,
        percentile_config(NO_LIMIT, 6),
        BetMenu.from_value({"preflop": ["50%, a", "a"], "turn": "60%", "min_raise": True}),
        iterations=100,
    ),
}


@pytest.mark.parametrize("config", VARIANTS.values(), ids=VARIANTS)
def test_what_is_written_is_read_again(tmp_path, config):
    (tmp_path / "config.toml").write_text(config.to_toml())
    again = SolveConfig.from_toml(tmp_path / "config.toml")
    assert again == config
    assert again.identity() == config.identity()


def test_everything_that_changes_a_run_is_part_of_its_identity():
    identities = [config.identity() for config in VARIANTS.values()]
    same = {"plain", "times", "checks"}
    expected = 1 + len(VARIANTS) - len(same)
    assert (
        sum(all(one != other for other in identities[:i]) for i, one in enumerate(identities))
        == expected
    )
    for name in same:
        assert VARIANTS[name].identity() == CONFIG.identity()
    assert replace(CONFIG, memory_map=True).identity() == CONFIG.identity()  # the same numbers
    assert replace(CONFIG, scheme={"name": "dcfr", "alpha": 1.5}).identity() == (
        replace(CONFIG, scheme="dcfr").identity()
    )  # a constant as it is anyway


def test_runs_of_earlier_versions_have_the_identity_that_they_had():
    assert set(CONFIG.identity()) == {"rules", "abstraction", "bets", "scheme", "sampling", "seed"}


def test_a_mapping_of_the_scheme_or_pruning_is_resolved():
    config = VARIANTS["scheme"]
    assert (config.scheme, config.constants["alpha"]) == ("dcfr", 1)
    weighting = config.weighting()
    assert weighting.constants == {"alpha": 1.0, "beta": 0.0, "gamma": 1.5}
    assert weighting.order == "discount-add"
    assert VARIANTS["pruning"].pruning == Pruning(-30.0)
    assert VARIANTS["discounting"].discounting == Discounting(10, 50)
    assert VARIANTS["tables"].averages == (0, 2)
    assert VARIANTS["tables"].rebuilt_rounds == (1,)
    assert replace(CONFIG, averages=[2, 1, 0]).averages is None
    assert VARIANTS["checks"].check_flops == 7
    assert replace(CONFIG, check_every="1h").check_flops == "all"  # a small deck


def test_averages_from_a_round_on(tmp_path):
    (tmp_path / "a.toml").write_text(ABSTRACTION)
    snapshots = '\n[snapshots]\nevery = "10 iterations"'
    for first, kept in (("preflop", None), ("flop", (1, 2)), ("turn", (2,))):
        text = f'{GOOD}\n[tables]\naverage_from = "{first}"{snapshots if kept else ""}'
        (tmp_path / "c.toml").write_text(text)
        config = SolveConfig.from_toml(tmp_path / "c.toml")
        assert config.averages == kept
        (tmp_path / "d.toml").write_text(config.to_toml())
        assert SolveConfig.from_toml(tmp_path / "d.toml") == config


def test_a_schedule_follows_the_iterations_of_the_run():
    config = VARIANTS["full width"]
    assert config.weighting().horizon == 100
    assert replace(config, iterations=200).weighting().horizon == 200
    assert replace(config, iterations=200).identity() != config.identity()  # another run
    assert replace(CONFIG, iterations=200).identity() == CONFIG.identity()
    assert VARIANTS["full width for some time"].weighting().horizon == 50


def test_memory_is_told_by_what_it_is_for():
    memory = CONFIG.memory()
    assert set(memory) == {"regrets", "averages"}
    assert memory["regrets"] == memory["averages"] == CONFIG.size().table_bytes / 2
    assert VARIANTS["tables"].memory()["regrets"] < 0.8 * memory["regrets"]
    assert VARIANTS["tables"].memory()["averages"] < 0.5 * memory["averages"]
    assert set(VARIANTS["best responses"].memory()) == {"regrets", "averages", "opponents"}
    predictive = replace(CONFIG, sampling="none", scheme="pdcfr+")
    assert set(predictive.memory()) == {"regrets", "averages", "predictions", "walks"}


@pytest.mark.parametrize("name", ["public chance", "best responses", "full width"])
def test_the_memory_of_vectors_is_what_they_take(name):
    config = VARIANTS[name]
    abstraction = build_abstraction(config.abstraction)
    solver = SOLVERS[config.sampling].make(config, betting_tree(SHORT), abstraction, None)
    assert solver.nbytes == config.estimate_bytes()


GOOD = """
rules = "short-limit"
abstraction = "a.toml"
iterations = 1000
"""
ABSTRACTION = """
rules = "short-limit"
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs"
buckets = 5
[[round]]
feature = "ehs"
buckets = 5
"""


def test_a_configuration_file(tmp_path):
    (tmp_path / "a.toml").write_text(ABSTRACTION)
    text = GOOD.replace("iterations = 1000", 'time = "1h30m"\nthreads = 2\n[checkpoint]\nevery = "90s"')
    (tmp_path / "c.toml").write_text(text)
    config = SolveConfig.from_toml(tmp_path / "c.toml")
    assert config.time == 5400
    assert config.threads == 2
    assert config.checkpoint_every == Every(90)
    assert [entry.buckets for entry in config.abstraction.rounds] == [None, 5, 5]
    run = solve(replace(config, iterations=10, time=None))
    (tmp_path / "d.toml").write_text(GOOD.replace("a.toml", run.strategy.abstraction.hash))
    assert SolveConfig.from_toml(tmp_path / "d.toml").abstraction.hash == config.abstraction.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"short-limit"', '"chess"', "unknown preset 'chess'"),
        ("iterations", "iteration", "unknown key 'iteration'"),
        ("iterations = 1000", "", "how long to solve"),
        ("iterations = 1000", "iterations = 0", "iterations must be a positive number"),
        ("iterations = 1000", 'time = "soon"', "'soon' is not a duration"),
        ('"a.toml"', '"b.toml"', "cannot read"),
        ('"a.toml"', '"0123456789abcdef"', "there is no such folder"),
        ("iterations", 'scheme = "magic"\niterations', "with external sampling, not 'magic'"),
        ("iterations", "seed = -1\niterations", "seed must be a whole number"),
        ("iterations", "threads = 0\niterations", "threads must be a positive number"),
        ("iterations", 'bets = "half"\niterations', "bets: 'half' is not a bet size"),
        ("iterations = 1000", "iterations = ", "c.toml"),
        ("iterations", 'scheme = "hs-dcfr"\niterations', "with external sampling, not 'hs-dcfr'"),
        ("iterations", "scheme = {alpha = 1}\niterations", "a table of the scheme has a name"),
        (
            "iterations",
            'scheme = {name = "dcfr", delta = 1}\niterations',
            "dcfr has no constant 'delta'",
        ),
        (
            "iterations",
            'scheme = {name = "dcfr", alpha = "a"}\niterations',
            "alpha of dcfr must be a number",
        ),
        ("iterations", 'scheme = {name = "dcfr", horizon = 0}\niterations', "must be a positive number"),
        ("iterations", 'scheme = {name = "lcfr", order = "any"}\niterations', "unknown order 'any'"),
        ("iterations", 'sampling = "guess"\niterations', "sampling must be external, "),
        ("iterations", 'sampling = ["chance"]\niterations', "sampling must be external, "),
        (
            "iterations",
            'sampling = "public-chance"\nscheme = "dcfr"\niterations',
            "cfr, cfr. or lcfr",
        ),
        (
            "iterations",
            'sampling = "none"\nscheme = "apcfr+"\niterations',
            "none sampling, not 'apcfr.'",
        ),
        (
            "iterations = 1000",
            'sampling = "none"\nscheme = "hs-dcfr"\ntime = 5',
            "follows a plan: give",
        ),
        (
            "iterations",
            'best_response_from = "turn"\niterations',
            "goes with public-chance or none sampling",
        ),
        ("iterations", 'best_response_from = "river"\niterations', "must be preflop, flop or turn, not"),
        (
            "iterations",
            'best_response_from = "river"\nsampling = "none"\niterations',
            "best_response_from must be",
        ),
        (
            "iterations",
            'best_response_from = "preflop"\nsampling = "public-chance"\niterations',
            "need every board",
        ),
        ("iterations", "exploration = 0.5\niterations", "exploration goes with outcome sampling, not"),
        ("iterations", 'sampling = "outcome"\nexploration = 2\niterations', "at most 1, not 2"),
        ("iterations", "exploration = true\niterations", "exploration must be a number"),
        ("1000", "1000\ncheckpoint = 5", "checkpoint must be a table"),
        ("1000", '1000\n[checkpoint]\nevery = "soon"', "checkpoint.every: 'soon' is not a duration"),
        (
            "1000",
            '1000\n[check]\nevery = "0 iterations"',
            "check.every: iterations must be a positive number, not 0",
        ),
        ("1000", "1000\n[check]\nflops = 3", "check.flops goes with check.every"),
        (
            "1000",
            '1000\n[check]\nevery = "1m"\nflops = 0',
            'check.flops must be "all" or a number of flops',
        ),
        ("1000", '1000\n[check]\nevery = "1m"\nflops = "some"', "check.flops must be"),
        ("1000", '1000\n[tables]\nstorage = "int8"', "unknown storage 'int8'"),
        ("1000", "1000\n[tables]\nmemory_map = 1", "tables.memory_map must be true or false, not 1"),
        ("1000", '1000\n[tables]\naverages = "flop"', "tables.averages must be a list of rounds"),
        (
            "1000",
            '1000\n[tables]\naverages = ["river"]',
            "'river' is no round: there are preflop, flop, turn",
        ),
        ("1000", '1000\n[tables]\naverages = ["flop"]', "is rebuilt from snapshots: say how often"),
        (
            "1000",
            '1000\n[tables]\naverage_from = "river"',
            "must be one of preflop, flop, turn, not 'river'",
        ),
        ("1000", '1000\n[tables]\naverage_from = "flop"\naverages = ["flop"]', "give one of them"),
        ("1000", '1000\n[snapshots]\nevery = "1m"', "snapshots are for rounds that keep no average"),
        (
            "1000",
            "1000\n[tables]\nrows = 3",
            r"unknown key 'rows' in \[tables\]: it has storage = \"int16\"",
        ),
        ("1000", "1000\n[pruning]\nfloor = -3", r"\[pruning\] needs the key threshold"),
        ("1000", "1000\npruning = true", r"must be a table \[pruning\] with the keys threshold, floor"),
        ("1000", '1000\ndiscounting = "x"', r"must be a table \[discounting\] .*, not 'x'"),
        (
            "1000",
            "1000\naverage_sampling = 3",
            r"must be a table \[average_sampling\] with the keys eps",
        ),
        ("1000", "1000\nthreads = 257", "threads must be at most 256, not 257"),
        (
            "1000",
            '1000\nscheme = {name = "dcfr", gamma = 30}',
            r"gamma=30\) is too steep for sampling: choose a gamma of at most 25",
        ),
        ("1000", "1000\n[pruning]\nthreshold = -3\nwhen = 2", r"unknown key 'when' in \[pruning\]"),
        ("1000", '1000\n[pruning]\nthreshold = "low"', "pruning.threshold must be a number, not 'low'"),
        ("1000", "1000\n[pruning]\nthreshold = 3", "pruning.threshold must be below 0"),
        ("1000", "1000\n[discounting]\nevery = 10", "discounting in periods is the scheme dcfr"),
        (
            "1000",
            "1000\n[average_sampling]\nbeta = 3",
            "average_sampling goes with average-strategy sampling",
        ),
    ],
)
def test_a_bad_configuration_says_what_is_wrong(tmp_path, old, new, message):
    (tmp_path / "a.toml").write_text(ABSTRACTION)
    (tmp_path / "c.toml").write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as error:
        SolveConfig.from_toml(tmp_path / "c.toml")
    assert "\n" not in str(error.value)


def test_an_abstraction_of_another_game_is_refused():
    with pytest.raises(ValueError, match="does not fit flop-limit"):
        SolveConfig(preset("flop-limit"), percentile_config(SHORT, 6), iterations=10)


def test_a_list_is_no_pruning():
    with pytest.raises(ValueError, match=r"pruning must be a table \[pruning\] .*, not \[1\]"):
        replace(CONFIG, pruning=[1])

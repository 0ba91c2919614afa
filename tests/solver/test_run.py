import json
import os
import shutil
import signal
from dataclasses import replace

import numpy as np
import pytest
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, best_response, solve
from nashfold.solver.run import _deferred_interrupts
from nashfold.solver.tables import Tables
from strategies import percentile_config

SHORT = preset("short-limit")
CONFIG = SolveConfig(SHORT, percentile_config(SHORT, 6), iterations=50_000, seed=3)


def _same(one: Strategy, other: Strategy) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one.tables, other.tables, strict=True))


def test_a_run_folder_holds_what_the_run_was(tmp_path):
    seen = []
    run = solve(CONFIG, tmp_path / "run", progress=seen.append)
    assert run.iterations == 50_000
    assert [state.iterations for state in seen] == sorted(state.iterations for state in seen)
    assert seen[-1].iterations == 50_000
    again = SolveConfig.from_toml(tmp_path / "run" / "config.toml")
    assert again == CONFIG
    assert set(json.loads((tmp_path / "run" / "versions.json").read_text())) >= {"nashfold", "numpy"}
    metrics = [
        json.loads(line) for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    ]
    assert metrics[-1]["iterations"] == 50_000
    assert _same(Strategy.load(tmp_path / "run"), run.strategy)
    assert _same(solve(CONFIG).strategy, run.strategy)


def test_rules_of_ones_own_are_kept_in_full(tmp_path):
    rules = replace(SHORT, num_ranks=4)  # still called short-limit, but another game
    config = SolveConfig(rules, percentile_config(rules, 3), iterations=100)
    solve(config, tmp_path / "run")
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    assert Strategy.load(tmp_path / "run").rules == rules
    other = replace(config, rules=replace(rules, bet_sizes=(2, 2, 2)))
    with pytest.raises(
        ValueError, match=r"its rules\.bet_sizes is \[2, 2, 4\], not \[2, 2, 2\]; resume"
    ):
        solve(other, tmp_path / "run", resume=True)


def test_rules_that_no_definition_can_say_are_solved_in_a_run_folder(tmp_path):
    """A cap on each player's own bets: the alternative that casino-limit's readings name."""
    rules = replace(SHORT, cap_counts="player", max_bets=(1, 1, 1), blind_is_bet=False)
    config = replace(CONFIG, rules=rules, abstraction=percentile_config(rules, 6))
    run = solve(config, tmp_path / "run")
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    assert _same(solve(config, tmp_path / "run", resume=True).strategy, run.strategy)
    assert Strategy.load(tmp_path / "run").rules == rules


def test_a_resumed_run_ends_where_the_unbroken_one_does(tmp_path):
    whole = solve(CONFIG)
    solve(replace(CONFIG, iterations=20_000), tmp_path / "run")
    resumed = solve(CONFIG, tmp_path / "run", resume=True)
    assert resumed.iterations == 50_000
    assert _same(resumed.strategy, whole.strategy)
    assert _same(solve(CONFIG, tmp_path / "run", resume=True).strategy, whole.strategy)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_done(tmp_path, number):
    def stop(state):
        if state.iterations >= 16_384:
            os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        solve(CONFIG, tmp_path / "run", progress=stop)
    assert signal.getsignal(number) == before
    (checkpoint,) = (tmp_path / "run" / "checkpoints").iterdir()
    assert int(checkpoint.name) == 16_384
    assert _same(solve(CONFIG, tmp_path / "run", resume=True).strategy, solve(CONFIG).strategy)


CHECKED = replace(CONFIG, check_every="20_000 iterations", check_flops=3)


def _metrics(run) -> list[dict]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def test_checks_on_the_way_change_nothing(tmp_path):
    seen = []
    run = solve(CHECKED, tmp_path / "run", progress=seen.append)
    assert _same(run.strategy, solve(CONFIG).strategy)
    assert [check.iterations for check in run.checks] == [20_000, 40_000, 50_000]
    assert run.checks[-1].exploitability.mbb_per_hand == (
        best_response(run.strategy, flops=3, seed=CONFIG.seed).mbb_per_hand
    )
    checks = [record for record in _metrics(tmp_path / "run") if record["event"] == "check"]
    assert checks == [check.to_dict() | {"event": "check"} for check in run.checks]
    assert run.check_seconds >= sum(check["check_seconds"] for check in checks) > 0
    assert run.seconds + run.check_seconds == pytest.approx(
        seen[-1].seconds + seen[-1].check_seconds
    )  # told apart
    assert {state.checking for state in seen} == {None, *((done, 3) for done in range(4))}
    assert seen[-1].check == run.checks[-1]
    assert seen[-1].seconds_left == 0


def test_progress_tells_the_speed_of_this_session(tmp_path):
    solve(replace(CONFIG, iterations=20_000), tmp_path / "run")
    seen = []
    run = solve(CONFIG, tmp_path / "run", resume=True, progress=seen.append)
    last, before = seen[-1], _metrics(tmp_path / "run")[0]["seconds"]
    here = last.seconds - before
    assert last.iterations == 50_000
    assert last.iterations_per_second == pytest.approx(30_000 / here, rel=0.05)
    assert last.nodes_per_second == pytest.approx(last.touched_nodes / here, rel=0.05)
    assert (run.touched_nodes, run.unit) == (last.touched_nodes, last.unit)
    assert last.unit == "nodes"


def test_an_interrupted_check_is_made_when_the_run_goes_on(tmp_path):
    def stop(state):
        if state.checking == (2, 3):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        solve(CHECKED, tmp_path / "run", progress=stop)
    assert [record["event"] for record in _metrics(tmp_path / "run")] == ["checkpoint"]
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    assert solve(CONFIG, tmp_path / "copy", resume=True).checks == ()  # none is wanted any more
    resumed = solve(CHECKED, tmp_path / "run", resume=True)
    whole = solve(CHECKED)
    assert _same(resumed.strategy, whole.strategy)
    found = [
        [(check.iterations, check.exploitability.mbb_per_hand) for check in run.checks]
        for run in (resumed, whole)
    ]
    assert found[0] == found[1]


def test_an_average_is_rebuilt_from_snapshots(tmp_path):
    """Of the rounds after the first; worth about as much as the average, and more than the last strategy."""
    config = replace(
        CONFIG, iterations=200_000, averages=["preflop"], snapshots_every="10_000 iterations"
    )
    run = solve(config, tmp_path / "run")
    assert len(list((tmp_path / "run" / "snapshots").iterdir())) == 20
    assert _same(solve(config).strategy, run.strategy)  # in memory
    whole = solve(replace(CONFIG, iterations=200_000)).strategy
    last = solve(replace(config, snapshots_every="200_000 iterations")).strategy
    scores = [best_response(strategy).mbb_per_hand for strategy in (whole, run.strategy, last)]
    assert scores[1] < 1.1 * scores[0]
    assert scores[2] > 1.2 * scores[1]


@pytest.mark.parametrize("options", [{"storage": "int16"}, {"memory_map": True}])
def test_a_strategy_from_other_tables(tmp_path, options):
    """Mapped tables are the same numbers; int16 ones nearly so, in less memory."""
    config = replace(CONFIG, **options)
    run, plain = solve(config, tmp_path / "run"), solve(CONFIG)
    assert not (tmp_path / "run" / "tables.npy").exists()
    if config.memory_map:
        assert _same(run.strategy, plain.strategy)
    else:
        assert config.estimate_bytes() < 0.75 * CONFIG.estimate_bytes()
        scores = [best_response(strategy).mbb_per_hand for strategy in (run.strategy, plain.strategy)]
        assert scores[0] == pytest.approx(scores[1], rel=0.1)


def test_the_size_is_known_and_limited_before_anything_is_built(tmp_path, monkeypatch):
    run = solve(replace(CONFIG, iterations=10))
    taken = Tables(run.strategy.tree, run.strategy.abstraction.num_buckets).values.nbytes
    assert taken <= CONFIG.estimate_bytes() < 1.1 * taken
    limit = preset("acpc-limit")
    config = SolveConfig(limit, percentile_config(limit, 60_000), iterations=10)
    assert config.estimate_bytes() > 6 << 30
    monkeypatch.setattr("nashfold.solver.run.MEMORY_LIMIT", 1 << 30)
    monkeypatch.setattr("nashfold.solver.run.build_abstraction", lambda *_: pytest.fail("built"))
    with pytest.raises(ValueError, match=r"the tables would take 7.4 GiB, the limit is 1 GiB"):
        solve(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_time_limits_a_run():
    run = solve(replace(CONFIG, iterations=None, time=0.3))
    assert run.iterations > 0
    assert run.seconds >= 0.3


def test_nothing_is_overwritten(tmp_path):
    solve(CONFIG, tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="is in the way"):
        solve(CONFIG, tmp_path / "run")
    with pytest.raises(ValueError, match="is another run: its seed is 3, not 4"):
        solve(replace(CONFIG, seed=4), tmp_path / "run", resume=True)
    with pytest.raises(ValueError, match="holds no run to resume"):
        solve(CONFIG, tmp_path / "nowhere", resume=True)
    (values,) = (tmp_path / "run" / "checkpoints").glob("*/values.npy")
    values.write_bytes(values.read_bytes()[:-1])
    with pytest.raises(ValueError, match="is damaged"):
        solve(replace(CONFIG, iterations=60_000), tmp_path / "run", resume=True)
    values.write_bytes(before[values])
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after == before


def test_a_second_signal_does_not_wait_for_the_iteration():
    with _deferred_interrupts() as caught:
        os.kill(os.getpid(), signal.SIGINT)
        assert caught == [signal.SIGINT]
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert caught == [signal.SIGINT, signal.SIGTERM]


def test_checks_within_the_abstraction(tmp_path):
    """What is left to win in buckets falls, and stands beside the real figure in the metrics."""
    rules = replace(SHORT, num_ranks=3)
    config = SolveConfig(
        rules,
        percentile_config(rules, 6),
        iterations=40_000,
        check_every="20_000 iterations",
        check_abstract=True,
    )
    run = solve(config, tmp_path / "run")
    lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
    checks = [json.loads(line) for line in lines if '"check"' in line]
    found = [check["abstract_mbb_per_hand"] for check in checks]
    assert [check["abstract_kind"] for check in checks] == ["lower bound"] * 2
    assert 0 < found[-1] < found[0] < checks[0]["mbb_per_hand"]
    assert run.checks[-1].abstract.mbb_per_hand == found[-1]
    assert SolveConfig.from_toml(tmp_path / "run" / "config.toml") == config
    with pytest.raises(ValueError, match=r"check\.abstract goes with check\.every"):
        replace(CONFIG, check_abstract=True)

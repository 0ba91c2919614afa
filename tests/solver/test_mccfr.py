"""Sampled CFR converges with every sampling, scheme and storage, and can be cut, resumed and shared."""

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, build_abstraction
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, best_response, betting_tree, solve
from nashfold.solver.mccfr import (
    SAMPLINGS,
    SCHEMES_OF,
    AverageSampling,
    Discounting,
    MonteCarlo,
    Pruning,
)
from nashfold.solver.regret import make_scheme
from nashfold.solver.tables import Tables
from strategies import percentile_config

SHORT, FLOP = preset("short-limit"), preset("flop-limit")
# Twelve cards and two rounds; without abstraction exploitability goes to zero.
SMALL = replace(
    SHORT,
    num_ranks=4,
    num_suits=3,
    board_cards=(0, 3),
    bet_sizes=(2, 4),
    max_bets=(3, 2),
    first_player=(1, 0),
)


def _solver(storage="float32", averages=None, **options):
    tree, abstraction = betting_tree(SMALL), build_abstraction(AbstractionConfig.lossless(SMALL))
    tables = Tables(tree, abstraction.num_buckets, storage, averages)
    return MonteCarlo(tree, abstraction, tables, **options)


def _exploitability(solver, strategy=None):
    tables = solver.average_strategy() if strategy is None else strategy
    return best_response(Strategy(solver.tree, solver.abstraction, tables)).mbb_per_hand


SELECTIVE = {"average_sampling": AverageSampling(0.1, 10, 10)}


@pytest.mark.parametrize(
    ("sampling", "scheme", "storage", "options", "iterations", "bound"),
    [
        ("external", "lcfr", "int16", {}, 400_000, 120),
        ("external", "cfr", "float32", {}, 400_000, 150),
        ("external", "cfr+", "float32", {}, 400_000, 250),
        ("external", "dcfr", "int16", {"discounting": Discounting(10_000, 200_000)}, 400_000, 150),
        ("external", "lcfr", "float32", {"pruning": Pruning(-100, -120)}, 400_000, 130),
        ("outcome", "lcfr", "float32", {}, 1_000_000, 450),
        ("outcome", "cfr", "int16", {"exploration": 0.4}, 1_000_000, 450),
        ("average-strategy", "lcfr", "float32", SELECTIVE, 400_000, 180),
        ("chance", "lcfr", "float32", {}, 200_000, 130),
        ("chance", "cfr+", "int16", {}, 200_000, 180),
    ],
)  # fmt: skip
def test_every_sampling_converges(sampling, scheme, storage, options, iterations, bound):
    solver = _solver(storage, sampling=sampling, scheme=scheme, seed=1, **options)
    values = []
    for done in (iterations // 20, iterations):
        solver.run(done - solver.iterations)
        values.append(_exploitability(solver))
    assert values[1] < bound
    assert values[1] < values[0] / 1.7  # as the root: 1 / 4.5, with noise on both


def test_without_abstraction_exploitability_goes_to_zero():
    """Every hand on every board in a bucket of its own: what is left is the noise of sampling."""
    solver, values = _solver(seed=1), []
    for iterations in (40_000, 360_000, 1_600_000):
        solver.run(iterations)
        values.append(_exploitability(solver))
    # The error falls about as the root of the number of iterations: 1 : 1 / 3 : 1 / 7.
    assert values[1] < values[0] / 2
    assert 0 < values[2] < min(60, values[0] / 6)


def test_solving_lowers_exploitability_in_a_real_game_of_52_cards():
    config = SolveConfig(FLOP, percentile_config(FLOP, 30), iterations=200_000)
    assert best_response(solve(config).strategy).mbb_per_hand < 90


def test_linear_weights_beat_equal_ones_early():
    scores = {}
    for scheme in ("cfr", "lcfr"):
        solver = _solver(scheme=scheme, seed=1)
        solver.run(40_000)
        scores[scheme] = _exploitability(solver)
    assert scores["lcfr"] < 0.9 * scores["cfr"]


@pytest.mark.parametrize(
    "options",
    [
        {"scheme": "dcfr", "discounting": Discounting(3000, 12_000)},
        {"pruning": Pruning(-50, start=7000), "storage": "int16"},
        {"sampling": "outcome", "scheme": "cfr"},
        {"sampling": "average-strategy"},
        {"sampling": "chance", "storage": "int16"},
    ],
)
def test_neither_cuts_nor_checkpoints_change_what_one_thread_does(options, tmp_path):
    """Field case SV-19: one worker ends bit for bit the same, however a run is cut."""
    whole, parts = _solver(seed=5, **options), _solver(seed=5, **options)
    whole.run(20_000)
    for number, count in enumerate((1, 8192, 3000, 8807)):
        parts.run(count)
        parts.save(tmp_path / str(number), {"seed": 5})
        parts = _solver(seed=5, **options)
        parts.load(tmp_path / str(number), {"seed": 5})
    assert parts.iterations == whole.iterations == 20_000
    np.testing.assert_array_equal(parts.tables.values, whole.tables.values)
    other = _solver(seed=6, **options)
    other.run(20_000)
    assert (other.tables.values != whole.tables.values).any()


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_several_threads_reach_a_strategy_as_good(storage):
    """Field case SV-19, on tables so small that threads often meet in them."""
    scores = []
    for threads in (1, 2, 4):
        solver = _solver(storage, threads=threads, seed=1)
        for _ in range(4):
            solver.run(75_000)
        assert solver.iterations == 300_000
        scores.append(_exploitability(solver))
    assert max(scores[1:]) < 1.2 * scores[0]


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_wherever_a_player_may_get_his_average_was_added_to(sampling):
    """Field case SV-04: a sampler that forgets the average leaves it uniform."""
    solver = _solver(sampling=sampling, seed=2)
    solver.run(20_000)
    tree, average = solver.tree, solver.average_strategy()
    sums = solver.tables.cumulative(0, average=True)
    reach = np.ones((len(tree), 2, solver.tables.num_buckets[0]))
    positive = 0
    for node in np.flatnonzero((tree.round == 0) & (tree.num_actions > 0)):
        slots = slice(tree.action_slot[node], tree.action_slot[node] + tree.num_actions[node])
        own = reach[node, tree.kind[node]] > 0.02  # sampled often enough
        assert (sums[own, slots].sum(axis=1) > 0).all()
        positive += own.sum()
        for action in range(tree.num_actions[node]):
            child = tree.first_child[node] + action
            reach[child] = reach[node]
            reach[child, tree.kind[node]] *= average[0][:, slots.start + action]
    assert positive > 50
    assert np.abs(average[0] - 1 / 3).max() > 0.5


@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_after_one_iteration_everything_is_a_strategy(sampling):
    """Field case SV-09: uniform where nothing was visited, sums of 1 everywhere, a finite best response."""
    solver = _solver(sampling=sampling)
    solver.run(1)
    for tables in (solver.average_strategy(), solver.current_strategy()):
        for index, table in enumerate(tables):
            for node in np.flatnonzero((solver.tree.round == index) & (solver.tree.num_actions > 0)):
                slot, count = solver.tree.action_slot[node], solver.tree.num_actions[node]
                np.testing.assert_allclose(table[:, slot : slot + count].sum(axis=1), 1, rtol=1e-6)
        untouched = solver.tree.action_slot[0] + np.arange(solver.tree.num_actions[0])
        assert (tables[0][:, untouched] == np.float32(1 / len(untouched))).all(axis=1).sum() >= 14
        assert 0 < _exploitability(solver, tables) < 10_000


def test_pruning_saves_visits_keeps_to_its_floor_and_waits_for_its_start():
    tree, abstraction = betting_tree(SHORT), build_abstraction(percentile_config(SHORT, 6))
    solvers = {
        name: MonteCarlo(
            tree, abstraction, Tables(tree, abstraction.num_buckets), pruning=pruning, seed=1
        )
        for name, pruning in (
            ("none", None),
            ("late", Pruning(-50, start=5000)),
            ("early", Pruning(-50, -55)),
        )
    }
    for solver in solvers.values():
        solver.run(5000)
    np.testing.assert_array_equal(solvers["none"].tables.values, solvers["late"].tables.values)
    for solver in solvers.values():
        solver.run(60_000)
    visits = {name: solver.touched_nodes for name, solver in solvers.items()}
    assert max(visits["early"], visits["late"]) < 0.9 * visits["none"]
    for index in range(3):  # in the weight of the last iteration, which is 65,000
        assert solvers["none"].tables.cumulative(index).min() < -1000 * 65_000
        assert -55.001 * 65_000 < solvers["early"].tables.cumulative(index).min() < -50 * 65_000


def test_rounds_without_averages_are_rebuilt_or_refused():
    solver, full = _solver(averages=[0], seed=1), _solver(seed=1)
    solver.run(30_000)
    full.run(30_000)
    with pytest.raises(ValueError, match="the tables keep no average of round 1: rebuild it"):
        solver.average_strategy()
    last = solver.current_strategy()[1]
    tables = solver.average_strategy({1: last})
    assert tables[1] is last
    # Sums are rounded elsewhere, but the walks begin as the full ones do.
    assert np.abs(tables[0] - full.average_strategy()[0]).mean() < 0.02
    assert solver.tables.values.nbytes < 0.52 * full.tables.values.nbytes


@pytest.mark.parametrize("scheme", ["cfr", "lcfr", "cfr+"])
def test_weights_are_those_of_the_scheme(scheme):
    solver = _solver(scheme=scheme)
    for iteration in (1, 2, 1000):
        expected = make_scheme(scheme).weights(iteration)
        assert solver.average_weight(iteration) == expected.average_weight
        assert solver._weights(iteration - 1, 1)[0, 0] == expected.gain
        assert (expected.positive, expected.negative, expected.average_decay) == (1, 1, 1)


def test_discounting_weighs_periods_as_dcfr_weighs_iterations():
    solver = _solver(scheme="dcfr", discounting=Discounting(10, 30))
    weights = [solver.average_weight(t) for t in (1, 10, 11, 30, 31, 1000)]
    assert weights == [1, 1, 4, 9, 16, 16]


def test_discounting_knows_both_orders():
    """After the first period regrets are multiplied by d(1), or, to be discounted first, by d(2)."""
    found = {}
    for order in ("add-discount", "discount-add"):
        scheme = make_scheme("dcfr", alpha=1.5, beta=-1.0, order=order)
        solver = _solver(scheme=scheme, discounting=Discounting(2_000, 4_000), seed=1)
        solver.run(2_000)
        found[order] = solver.tables.cumulative(0)
    late, early = found["add-discount"], found["discount-add"]
    one, two = make_scheme("dcfr", beta=-1.0).weights(1), make_scheme("dcfr", beta=-1.0).weights(2)
    assert (late > 0).any()
    assert (late < 0).any()
    factor = np.where(late > 0, two.positive / one.positive, two.negative / one.negative)
    np.testing.assert_allclose(early, late * factor, rtol=1e-5)
    assert abs(two.positive / one.positive - 1) > 0.4


def test_what_does_not_go_together_is_refused():
    for sampling, schemes in SCHEMES_OF.items():
        for scheme in schemes:
            _solver(sampling=sampling, scheme=scheme)
    for message, options in [
        ("unknown sampling 'all': choose external, outcome, chance or", {"sampling": "all"}),
        (r"scheme 'pcfr\+' does not go with external sampling: choose cfr, lcfr", {"scheme": "pcfr+"}),
        (r"scheme 'cfr\+' does not go with outcome", {"scheme": "cfr+", "sampling": "outcome"}),
        ("pruning goes with external", {"pruning": Pruning(-1), "sampling": "chance"}),
        (r"cfr\+ has no negative regrets", {"pruning": Pruning(-1), "scheme": "cfr+"}),
        ("is the scheme dcfr, not lcfr", {"discounting": Discounting()}),
        ("too steep for sampling", {"scheme": make_scheme("dcfr", gamma=30)}),
        ("update players by turns", {"scheme": replace(make_scheme("lcfr"), alternating=False)}),
        ("exploration must be above 0", {"exploration": 0.0}),
        ("needs the averages of all rounds", {"sampling": "average-strategy", "averages": [0]}),
        ("unknown storage 'float16': choose float32 or int16", {"storage": "float16"}),
        ("rounds are numbered from 0 to 1", {"averages": [2]}),
    ]:
        with pytest.raises(ValueError, match=message):
            _solver(**options)
    for make, values, message in [
        (Pruning, {"threshold": 0}, "must be below 0"),
        (Pruning, {"threshold": -5, "floor": -4}, "nothing would be pruned"),
        (Pruning, {"threshold": -5, "probability": 2}, "from 0 to 1"),
        (Pruning, {"threshold": -5, "start": 0.5}, "a number of iterations"),
        (Pruning, {"threshold": "-5"}, "must be a number"),
        (Discounting, {"every": 0}, "a positive number of iterations"),
        (AverageSampling, {"epsilon": 0}, "above 0 and at most 1"),
        (AverageSampling, {"beta": -1}, "positive numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            make(**values)


def test_foreign_abstractions_and_tables_are_refused():
    tree = betting_tree(SHORT)
    abstraction = build_abstraction(percentile_config(FLOP, 5))
    with pytest.raises(ValueError, match="does not fit short-limit: it is for 13 ranks"):
        MonteCarlo(tree, abstraction, Tables(betting_tree(FLOP), abstraction.num_buckets))
    fitting = build_abstraction(percentile_config(SHORT, 5))
    with pytest.raises(ValueError, match="the tables are of another betting tree or other buckets"):
        MonteCarlo(tree, fitting, Tables(tree, [36, 6, 5]))

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import AbstractionConfig, build_abstraction
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, best_response, betting_tree, solve
from nashfold.solver import mccfr as mccfr_module
from nashfold.solver.betting_tree import FOLD
from nashfold.solver.mccfr import MonteCarlo
from nashfold.solver.tables import Tables
from strategies import percentile_config

SHORT, FLOP = preset("short-limit"), preset("flop-limit")


def _solver(rules=SHORT, buckets=6, **options):
    tree = betting_tree(rules)
    abstraction = build_abstraction(percentile_config(rules, buckets))
    return MonteCarlo(tree, abstraction, Tables(tree, abstraction.num_buckets), **options)


class _PlainWalk:
    """External sampling as a recursion over dictionaries, drawing the same random numbers."""

    def __init__(self, solver, first, count):
        self.solver, self.tree = solver, solver.tree
        self.rows, self.outcome = solver._deal(first, count)
        self.regret: dict[tuple, np.ndarray] = {}
        self.average: dict[tuple, np.ndarray] = {}
        for deal in range(count):
            weight = first + deal + 1 if solver.scheme == "lcfr" else 1
            for traverser in (0, 1):
                stream = self._splitmix(first + deal, traverser)
                self.visit(0, deal, traverser, weight, stream)

    def _splitmix(self, iteration, stream):
        mask = (1 << 64) - 1
        state = (self.solver.seed * 0xD1342543DE82EF95 + iteration * 4 + stream) & mask
        state = state * 0x9E3779B97F4A7C15 & mask
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
        state = (state ^ state >> 27) * 0x94D049BB133111EB & mask
        while True:
            state = state + 0x9E3779B97F4A7C15 & mask
            z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & mask
            z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
            yield ((z ^ z >> 31) >> 11) / (1 << 53)

    def visit(self, node, deal, traverser, weight, stream):
        tree = self.tree
        kind, count = tree.kind[node], int(tree.num_actions[node])
        if not count:
            stake = int(tree.spent[node].min())
            if kind == FOLD:
                return -stake if tree.folded[node] == traverser else stake
            return stake * int(self.outcome[deal]) * (1 if traverser == 0 else -1)
        key = (int(self.rows[deal, kind, tree.round[node]]), node)
        regret = self.regret.setdefault(key, np.zeros(count, np.float32))
        average = self.average.setdefault(key, np.zeros(count, np.float32))
        positive = np.maximum(regret, np.float32(0))
        total = sum(positive, start=np.float32(0))  # in order, as rounding depends on it
        first = int(tree.first_child[node])
        if kind == traverser:
            values = [self.visit(first + a, deal, traverser, weight, stream) for a in range(count)]
            mean = sum(values) / count
            if total:  # float: a float32 divisor would make the quotient one
                mean = sum(float(p) * v for p, v in zip(positive, values, strict=True)) / float(total)
            for action in range(count):
                regret[action] += np.float32(weight * (values[action] - mean))
            return mean
        draw = next(stream)
        if total:
            average += np.float32(weight) / total * positive
            left, chosen = draw * float(total), count - 1
            for action in reversed(range(count)):
                if left < np.cumsum(positive.astype(float))[action]:
                    chosen = action
        else:
            average += np.float32(weight / count)
            chosen = int(draw * count)
        return self.visit(first + chosen, deal, traverser, weight, stream)


@pytest.mark.parametrize("scheme", ["cfr", "lcfr"])
@pytest.mark.parametrize("rules", [SHORT, FLOP], ids=lambda rules: rules.name)
def test_the_kernel_equals_a_plain_recursion(scheme, rules):
    solver = _solver(rules, scheme=scheme, seed=3)
    solver.run(400)
    plain = _PlainWalk(solver, 0, 400)
    values = solver.tables.values
    assert len(plain.regret) > 700
    touched = 0
    for key, regret in plain.regret.items():
        row, node = key
        start = row + 2 * int(solver.tree.action_slot[node])
        count = len(regret)
        np.testing.assert_allclose(values[start : start + count], regret, rtol=1e-5, atol=1e-3)
        averages = values[start + count : start + 2 * count]
        np.testing.assert_allclose(averages, plain.average[key], rtol=1e-5)
        touched += 2 * count
    assert np.count_nonzero(values) <= touched


def test_deals_are_uniform_and_have_no_card_twice():
    cards = np.empty((40_000, 9), np.int64)
    mccfr_module._deal_cards(0, 1, 52, cards)
    ordered = np.sort(cards, axis=1)
    assert (np.diff(ordered, axis=1) > 0).all()
    assert (ordered[:, 0] >= 0).all()
    assert (ordered[:, -1] < 52).all()
    for place in range(9):  # chi-square with 51 degrees of freedom: 99.99 % below 98
        counts = np.bincount(cards[:, place], minlength=52)
        assert ((counts - 40_000 / 52) ** 2 / (40_000 / 52)).sum() < 98


def test_the_outcome_is_that_of_the_real_cards():
    solver = _solver()
    _, outcome = solver._deal(0, 2000)
    assert set(outcome.tolist()) == {-1, 0, 1}
    assert abs(outcome.mean()) < 0.1  # no seat is favoured


@pytest.mark.parametrize(("rules", "bound"), [(SHORT, 250), (FLOP, 90)], ids=["short", "flop"])
def test_solving_lowers_exploitability_in_the_real_game(rules, bound):
    values = []
    for iterations in (1_000, 200_000):
        config = SolveConfig(rules, percentile_config(rules, 30), iterations=iterations)
        values.append(best_response(solve(config).strategy).mbb_per_hand)
    assert values[1] < bound
    assert values[1] < values[0] / 3


def test_without_abstraction_exploitability_goes_to_zero():
    """Every hand on every board in a bucket of its own: what is left is the noise of sampling."""
    rules = replace(
        SHORT,
        num_ranks=4,
        num_suits=3,
        board_cards=(0, 3),
        bet_sizes=(2, 4),
        max_bets=(3, 2),
        first_player=(1, 0),
    )
    tree = betting_tree(rules)
    abstraction = build_abstraction(AbstractionConfig.lossless(rules))
    tables = Tables(tree, abstraction.num_buckets)
    solver = MonteCarlo(tree, abstraction, tables, seed=1)
    values = []
    for iterations in (40_000, 360_000, 3_600_000):
        solver.run(iterations)
        strategy = Strategy(tree, abstraction, solver.tables.average_strategy())
        values.append(best_response(strategy).mbb_per_hand)
    # The error falls about as the root of the number of iterations: 1 : 1 / 3 : 1 / 10.
    assert values[1] < values[0] / 2
    assert 0 < values[2] < min(40, values[0] / 8)


def test_linear_weights_beat_equal_ones_early():
    scores = {}
    for scheme in ("cfr", "lcfr"):
        config = SolveConfig(FLOP, percentile_config(FLOP, 30), scheme=scheme, iterations=60_000)
        scores[scheme] = best_response(solve(config).strategy).mbb_per_hand
    assert scores["lcfr"] < scores["cfr"]


def test_chunks_and_resuming_do_not_change_the_walks():
    whole, parts = _solver(seed=5), _solver(seed=5)
    whole.run(20_000)
    for count in (1, 8192, 3000, 8807):
        parts.run(count)
    assert parts.tables.iterations == whole.tables.iterations == 20_000
    np.testing.assert_array_equal(parts.tables.values, whole.tables.values)
    other = _solver(seed=6)
    other.run(20_000)
    assert (other.tables.values != whole.tables.values).any()


def test_two_threads_reach_a_strategy_as_good():
    scores = []
    for threads in (1, 2):
        config = SolveConfig(FLOP, percentile_config(FLOP, 30), iterations=200_000, threads=threads)
        run = solve(config)
        assert run.iterations == 200_000
        scores.append(best_response(run.strategy).mbb_per_hand)
    assert scores[1] < 1.3 * scores[0]


def test_unknown_schemes_and_foreign_abstractions_are_refused():
    with pytest.raises(ValueError, match="unknown scheme 'dcfr'"):
        _solver(scheme="dcfr")
    tree = betting_tree(SHORT)
    abstraction = build_abstraction(percentile_config(FLOP, 5))
    with pytest.raises(ValueError, match="does not fit short-limit: it is for 13 ranks"):
        MonteCarlo(tree, abstraction, Tables(betting_tree(FLOP), abstraction.num_buckets))

"""The compiled walks do bit for bit what plain recursions do; sums are rounded fairly and saturate."""

from dataclasses import replace

import numpy as np
import pytest
from nashfold.abstraction import BetMenu, build_abstraction
from nashfold.game import preset
from nashfold.solver import betting_tree
from nashfold.solver.mccfr import AverageSampling, Discounting, MonteCarlo, Pruning
from nashfold.solver.tables import Tables
from plain_sampling import PlainSampling, PlainTables, next_bits
from strategies import percentile_config

LIMIT = preset("short-limit")
MENU = BetMenu.from_value("fcpa")
NO_LIMIT = replace(preset("short-nolimit"), stacks=(9, 12))


def _solver(rules=LIMIT, storage="float32", averages=None, **options):
    tree = betting_tree(rules) if rules is LIMIT else betting_tree(rules, MENU)
    abstraction = build_abstraction(percentile_config(rules, 3))
    tables = Tables(tree, abstraction.num_buckets, storage, averages)
    return MonteCarlo(tree, abstraction, tables, seed=3, **options)


SAMPLED = {"average_sampling": AverageSampling(0.1, 3.0, 2.0)}
CASES = [
    ("external", "lcfr", {}),
    ("external", "cfr+", {}),
    ("external", "lcfr", {"pruning": Pruning(-0.5, -3.0, start=30, probability=0.8)}),
    ("outcome", "cfr", {"exploration": 0.5}),
    ("average-strategy", "lcfr", SAMPLED),
    ("chance", "lcfr", {}),
    ("chance", "dcfr", {"discounting": Discounting(7, 21)}),
    ("external", "dcfr", {"discounting": Discounting(50, 100)}),
]


@pytest.mark.parametrize("storage", ["float32", "int16"])
@pytest.mark.parametrize("rules", [LIMIT, NO_LIMIT], ids=["limit", "no-limit"])
@pytest.mark.parametrize(("sampling", "scheme", "options"), CASES)
def test_the_kernels_equal_plain_recursions(sampling, scheme, options, rules, storage):
    solver = _solver(rules, storage, sampling=sampling, scheme=scheme, **options)
    plain = PlainSampling(solver)
    iterations = {"chance": 25, "outcome": 400}.get(sampling, 150)
    plain.run(iterations)
    solver.run(iterations)
    np.testing.assert_array_equal(solver.tables.values, plain.values)
    assert np.count_nonzero(solver.tables.values) > 300
    assert (plain.skipped > 100) == (sampling in ("outcome", "average-strategy"))
    assert (plain.pruned > 100) == ("pruning" in options)


@pytest.mark.parametrize("sampling", ["external", "chance"])
def test_rounds_without_averages_are_walked_alike(sampling):
    """Their records hold regrets alone."""
    solver = _solver(averages=[1], storage="int16", sampling=sampling)
    plain = PlainSampling(solver)
    plain.run(20)
    solver.run(20)
    np.testing.assert_array_equal(solver.tables.values, plain.values)
    assert solver.tables.cumulative(1, average=True).any()
    with pytest.raises(ValueError, match="the tables keep no average of round 2"):
        solver.tables.cumulative(2, average=True)


def test_a_float64_is_rounded_to_either_neighbour_with_the_right_mean():
    bits, found = 1, []
    for _ in range(4000):
        bits = next_bits(bits)
        found.append(PlainTables.rounded(float(2**25) + 1.0, -np.inf, bits))
    assert set(found) == {2.0**25, 2.0**25 + 4}
    assert abs(np.mean(found) - 2**25 - 1) < 4 * 4 * np.sqrt(0.25 * 0.75 / 4000)


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_sums_go_on_growing_when_increments_are_far_below_their_last_digit(storage):
    """Each visit adds 1 in all to the averages of player 1's first node, which stand at 2**26 or so."""
    solver = _solver(storage=storage, scheme="cfr")
    values, record = solver.tables.values, int(solver.tables.record[0])
    start, length, buckets, _ = solver.tables.layout(0)
    count = int(solver.tree.num_actions[0])
    for row in range(start, start + buckets * length, length):
        if storage == "int16":
            values[row + record - 1] = 12 << 8  # averages in units of 2**12
        values[row + record + count : row + record + 2 * count] = 16384 * (
            4096 if storage == "float32" else 1
        )
    slots = slice(solver.tree.action_slot[0], solver.tree.action_slot[0] + count)
    before = solver.tables.cumulative(0, average=True)[:, slots].sum()
    assert before == 2**26 * count * buckets
    solver.run(40_000)
    grown = solver.tables.cumulative(0, average=True)[:, slots].sum() - before
    # A sum in units of 8, or 4096, gains one such unit with probability p: the variance of a visit is at
    # most p times the unit squared.
    unit = 8 if storage == "float32" else 4096
    assert abs(grown - 40_000) < 4 * np.sqrt(40_000 * unit)


@pytest.mark.parametrize("storage", ["float32", "int16"])
def test_sums_saturate_and_never_wrap(storage):
    """Field case SV-14: 2147468647 + 20000 in 32 bits wraps to -2147478649."""
    solver = _solver(storage=storage, scheme="cfr")
    table = PlainTables(solver.tables)
    record = int(solver.tables.record[0])
    table.add(record, 0, [2147468647.0, -2147468647.0, 0.0], -np.inf, 1)
    table.add(record, 0, [20000.0, -20000.0, 0.0], -np.inf, 2)
    regrets = np.array(table.numbers(record, 3)) * table.unit(record, 0)
    resolution = 256 if storage == "float32" else 2**17
    np.testing.assert_allclose(regrets, [2147488647.0, -2147488647.0, 0.0], atol=resolution)

    # At the very ends of the numbers the compiled walk keeps signs and stays finite.
    values = solver.tables.values
    for index in range(3):
        start, length, buckets, records = solver.tables.layout(index)
        for row in range(start, start + buckets * length, length):
            for place, count in records.tolist():
                ends = values[row + place : row + place + 2 * count]
                ends[:count] = np.resize([1, -1], count)
                ends[count:] = 1
                if storage == "int16":
                    values[row + place - 1] = 127 << 8 | 127
                    ends *= 32767
                else:
                    ends *= np.float32(2.9e38)
    before = np.sign(solver.tables.cumulative(0))
    solver.scheme = replace(solver.scheme, name="lcfr")
    solver.tables.iterations = 2**62  # the weight of an iteration
    for _ in range(3):
        solver.run(500)
    for index in range(3):
        for average in (False, True):
            found = solver.tables.cumulative(index, average)
            assert np.isfinite(found).all()
            assert average is False or (found > 0).all()
    assert (np.sign(solver.tables.cumulative(0)) == before).all()

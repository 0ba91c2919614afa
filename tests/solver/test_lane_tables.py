"""The passes over tables in lanes against NumPy, and what strategies are read from them."""

import numpy as np
import pytest
from nashfold.solver.lane_tables import Block, Sheet
from nashfold.solver.lanes import LANES
from nashfold.solver.regret import Weights, make_scheme

NODES = np.array([[0, 3], [3, 2], [5, 2]])


def block(rng, dtype, predictive):
    shape = (6, 7, LANES)
    regrets = rng.uniform(-1, 1, shape).astype(dtype)
    regrets[2] = 0  # no regrets at all
    regrets[3] = -np.abs(regrets[3])
    before = rng.uniform(-1, 1, shape).astype(dtype) if predictive else np.empty((0, 7, LANES), dtype)
    averages = rng.random(shape).astype(dtype)
    return Block(regrets, averages, before, NODES, np.arange(7 * LANES).reshape(7, LANES))


def matched(regrets):
    """Regret matching of [row, action, LANES], node by node."""
    out = np.maximum(regrets, 0)
    for first, count in NODES:
        total = out[:, first : first + count].sum(axis=1, keepdims=True)
        part = np.where(
            total > 0, out[:, first : first + count] / np.where(total > 0, total, 1), 1 / count
        )
        out[:, first : first + count] = part
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "weights",
    [
        make_scheme("cfr").weights(5),
        make_scheme("cfr+").weights(5),
        make_scheme("dcfr", beta=-1.0).weights(5),
        make_scheme("dcfr", order="discount-add").weights(5),
        make_scheme("hs-pcfr+", horizon=10).weights(5),
        make_scheme("pdcfr+").weights(5),
    ],
)
def test_a_sheet_equals_numpy(dtype, weights):
    rng = np.random.default_rng(1)
    tables = block(rng, dtype, weights.prediction != 0)
    regrets, averages, before = (
        array.astype(float) for array in (tables.regrets, tables.averages, tables.before)
    )
    buckets = np.array([1, 2, 3, 5])
    sheet = Sheet(tables, None, len(buckets))
    sheet.open(buckets, weights)
    predicted = regrets[buckets]
    if weights.prediction:
        predicted = predicted + weights.prediction * before[buckets]
    chances = matched(predicted)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(sheet.chances[0], chances, atol=tolerance)
    sheet.gains[0] = rng.normal(size=sheet.gains.shape[1:])
    sheet.visits[0] = rng.random(sheet.visits.shape[1:])
    sheet.learn(weights)
    sheet.remember(weights)
    gains, visits = sheet.gains[0].astype(float), sheet.visits[0].astype(float)
    for number, (first, count) in enumerate(NODES):
        part = slice(first, first + count)
        mean = (chances[:, part] * gains[:, part]).sum(axis=1, keepdims=True)
        instant = gains[:, part] - mean
        old = regrets[buckets, part]

        def discounted(values):
            return values * np.where(values > 0, weights.positive, weights.negative)

        if weights.discount_first:
            new = discounted(old) + weights.gain * instant
        else:
            new = discounted(old + weights.gain * instant)
        regrets[buckets, part] = np.maximum(new, 0) if weights.floor else new
        added = weights.average_weight * visits[:, number : number + 1] * chances[:, part]
        averages[buckets, part] = weights.average_decay * averages[buckets, part] + added
        if weights.prediction:
            before[buckets, part] = instant
    tolerance *= 1e4 if weights.average_weight > 100 else 10
    np.testing.assert_allclose(tables.regrets, regrets, atol=tolerance)
    np.testing.assert_allclose(tables.averages, averages, rtol=1e-5, atol=tolerance)
    if weights.prediction:
        np.testing.assert_allclose(tables.before, before, atol=tolerance)


def test_regret_matching_leaves_the_regrets_alone():
    """Field case SV-05: they are neither cut nor normalised."""
    nodes = np.array([[0, 3]])
    regrets = np.zeros((1, 3, LANES))
    regrets[0] = np.array([-5.0, 3.0, 1.0])[:, None]
    tables = Block(regrets, np.zeros_like(regrets), regrets[:0], nodes, np.zeros((3, LANES), int))
    out = np.empty((1, 3, LANES))
    tables.match(np.array([0]), Weights(), out)
    np.testing.assert_allclose(out[0, :, 0], [0, 0.75, 0.25])
    assert regrets[0, :, 7].tolist() == [-5, 3, 1]
    for floor, after, strategy in (
        (False, [-1, 3, 1], [0, 0.75, 0.25]),
        (True, [4, 3, 1], [0.5, 0.375, 0.125]),
    ):
        tables.regrets[0] = np.array([0.0 if floor else -5.0, 3.0, 1.0])[:, None]
        sheet = Sheet(tables, None, 1)
        sheet.open(np.array([0]), Weights())
        # Values of actions whose instantaneous regrets are 4, 0, 0.
        sheet.gains[0, 0] = np.array([4.0, 0.0, 0.0])[:, None]
        sheet.learn(Weights(floor=floor))
        np.testing.assert_allclose(tables.regrets[0, :, 3], after)
        tables.match(np.array([0]), Weights(), out)
        np.testing.assert_allclose(out[0, :, 3], strategy)

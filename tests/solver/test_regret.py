"""The schemes' numbers, worked out by hand from the papers, and what is refused."""

from __future__ import annotations

import copy
import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from nashfold.solver.regret import LARGEST_POWER, ORDERS, SCHEMES, Weights, make_scheme

THIRD = 3**1.5 / (3**1.5 + 1)
W3 = 20 * 3**1.5 / (500 + 3**1.5)  # APDCFR+ at iteration 3
# Iteration 3 (of a horizon of 10), as the papers have it.
EXPECTED = {
    "cfr": Weights(),
    "cfr+": Weights(floor=True, average_weight=3),
    "lcfr": Weights(gain=3, average_weight=3),
    "dcfr": Weights(positive=THIRD, negative=0.5, average_weight=9),
    "pcfr+": Weights(floor=True, average_weight=9, prediction=1),
    "pdcfr+": Weights(positive=3**2.3 / (3**2.3 + 1), floor=True, average_weight=243, prediction=1),
    "apcfr+": Weights(floor=True, average_weight=9, prediction=1, asymmetry_limit=5),
    "sapcfr+": Weights(floor=True, average_weight=9, prediction=1 / 3),
    "apdcfr+": Weights(gain=W3, floor=True, average_weight=3**2.5, prediction=1 / W3, asymmetry_limit=9),
    "hs-dcfr": Weights(
        positive=3**1.9 / (3**1.9 + 1),
        negative=3**-1.6 / (3**-1.6 + 1),
        average_decay=(2 / 3) ** 29,
    ),
    "hs-pcfr+": Weights(floor=True, average_decay=(2 / 3) ** 29, prediction=1),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_the_numbers_of_each_scheme_are_those_of_its_paper(name):
    scheme = make_scheme(name, horizon=10)
    np.testing.assert_allclose(scheme.weights(3), EXPECTED[name], rtol=1e-14)
    assert scheme.alternating
    assert len(scheme.about) > 100
    table = scheme.table(2, 3)
    assert table.shape == (3, len(Weights._fields))
    np.testing.assert_array_equal(table, [scheme.weights(t) for t in (2, 3, 4)])


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_that_discount_have_an_order(name):
    scheme = make_scheme(name, horizon=10, order="add-discount")
    assert scheme == make_scheme(name, horizon=10)
    if scheme.weights(3).positive == 1:
        with pytest.raises(ValueError, match="discounts nothing and has no order: only dcfr, pdcfr"):
            make_scheme(name, horizon=10, order="discount-add")
    else:
        later = make_scheme(name, horizon=10, order="discount-add")
        assert later.weights(3) == scheme.weights(3)._replace(discount_first=True)
        np.testing.assert_array_equal(later.table(2, 3), [later.weights(t) for t in (2, 3, 4)])


def test_which_schemes_predict_adapt_and_sweep():
    schemes = [make_scheme(name, horizon=10) for name in SCHEMES]
    assert {s.name for s in schemes if s.predictive} == {
        "pcfr+", "pdcfr+", "apcfr+", "sapcfr+", "apdcfr+", "hs-pcfr+",
    }  # fmt: skip
    assert {s.name for s in schemes if s.adaptive} == {"apcfr+", "apdcfr+"}
    assert {s.name for s in schemes if s.sweeps} == {"dcfr", "pdcfr+", "hs-dcfr", "hs-pcfr+"}


def test_constants_are_named_and_schemes_pass_through():
    scheme = make_scheme("dcfr", alpha=1, beta=-math.inf, gamma=3)
    assert scheme.weights(4) == Weights(positive=0.8, negative=0.0, average_weight=64)
    assert make_scheme("dcfr", alpha=math.inf).weights(1).positive == 1
    assert str(scheme) == "dcfr(alpha=1, beta=-inf, gamma=3)"
    assert str(make_scheme("hs-dcfr", horizon=7, order=ORDERS[1], gamma=15)) == (
        "hs-dcfr(gamma=15, horizon=7, order=discount-add)"
    )
    assert make_scheme(scheme) is scheme
    delayed = make_scheme("cfr+", delay=5)
    assert [delayed.weights(t).average_weight for t in (4, 5, 6, 8)] == [0, 0, 1, 3]
    assert make_scheme("cfr+", delay=-2).weights(1).average_weight == 3
    assert make_scheme("dcfr", horizon=9).horizon is None
    with pytest.raises(FrozenInstanceError):
        scheme.name = "cfr"
    with pytest.raises(TypeError):
        scheme.constants["alpha"] = 2.0
    assert pickle.loads(pickle.dumps(scheme)) == copy.deepcopy(scheme) == scheme
    numpys = make_scheme("hs-dcfr", horizon=np.int64(7), gamma=np.float32(15))
    assert numpys == make_scheme("hs-dcfr", horizon=7, gamma=15)
    assert make_scheme("dcfr", gamma=np.int64(3)).constants["gamma"] == 3
    # Told without loss, since a run is known by it.
    assert str(make_scheme("pcfr+", gamma=2.00000001)) == "pcfr+(gamma=2.00000001)"
    assert str(replace(scheme, alternating=False)).endswith("gamma=3, alternating=False)")


def test_powers_beyond_floats_are_their_limits():
    weights = make_scheme("dcfr", alpha=300, beta=-300, gamma=0).weights(10**6)
    assert (weights.positive, weights.negative) == (1.0, 0.0)
    # After the horizon a schedule stays where it is.
    late, last = (make_scheme("hs-dcfr", horizon=5).weights(t) for t in (7, 6))
    assert late.positive == 7**4 / (7**4 + 1)
    assert last.average_decay == pytest.approx((5 / 6) ** 25)


@pytest.mark.parametrize("gamma", [25.5, 120, 200, math.inf])
def test_averages_by_large_powers_are_kept_by_ratios(gamma):
    """The share of each of three iterations is t^gamma."""
    for name in ("dcfr", "pcfr+", "pdcfr+", "apcfr+", "sapcfr+", "apdcfr+"):
        scheme, shares = make_scheme(name, gamma=gamma), np.zeros(3)
        for place, weights in enumerate(scheme.weights(t) for t in (1, 2, 3)):
            shares *= weights.average_decay
            shares[place] += weights.average_weight
        expected = np.array([(1 / 3) ** gamma, (2 / 3) ** gamma, 1])
        np.testing.assert_allclose(shares, expected, rtol=1e-12)
        assert np.isfinite(scheme.weights(10**9)).all()


EXTREMES = {
    "delay": (-1e15, 1e15), "limit": (0, math.inf), "asymmetry": (0, math.inf), "scale": (1e-9, 1e9),
    "offset": (0, 1e9), "alpha": (-math.inf, math.inf), "beta": (0, math.inf),
    "gamma": (0, LARGEST_POWER, math.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", SCHEMES)
def test_constants_at_the_ends_of_their_ranges_leave_finite_weights(name):
    for key in make_scheme(name, horizon=5).constants:
        for value in EXTREMES[key]:
            table = make_scheme(name, horizon=5, **{key: value}).table(1, 9)
            table = table[:, : Weights._fields.index("asymmetry_limit")]
            assert np.isfinite(table).all(), (key, value)
            assert (table >= 0).all(), (key, value)


@pytest.mark.parametrize(
    ("name", "key", "values"),
    [
        ("cfr+", "delay", [-math.inf, math.inf]),
        ("apdcfr+", "scale", [math.inf, 0, -1]),
        ("apdcfr+", "offset", [math.inf, -1]),
        ("apdcfr+", "beta", [-math.inf]),
        ("sapcfr+", "asymmetry", [-1]),
        ("apcfr+", "limit", [-1]),
        ("hs-dcfr", "gamma", [-math.inf, -50]),
        ("dcfr", "gamma", [10**400]),
        ("dcfr", "gamma", [1j, np.bool_(True), None]),
    ],
)
def test_constants_out_of_range_are_refused_in_one_line(name, key, values):
    for value in values:
        with pytest.raises(ValueError, match=rf"^constant {key} of [^\n]* must be [^\n]*$"):
            make_scheme(name, horizon=5, **{key: value})


@pytest.mark.parametrize("horizon", [math.nan, math.inf, 1.5, True, "a", 0])
def test_a_horizon_is_a_whole_number(horizon):
    with pytest.raises(ValueError, match=r"needs its horizon, .* 1 or more; got"):
        make_scheme("hs-dcfr", horizon=horizon)


@pytest.mark.parametrize(
    ("arguments", "constants", "message"),
    [
        ((["cfr"],), {}, "unknown scheme \\['cfr'\\]"),
        (("cfr++",), {}, "unknown scheme 'cfr\\+\\+': choose from cfr, cfr\\+, lcfr"),
        (("dcfr", None, "first"), {}, "unknown order 'first': choose from add-discount, discount-add"),
        (("dcfr",), {"delta": 1}, "dcfr has no constant 'delta': its constants are alpha, beta, gamma"),
        (("cfr",), {"alpha": 1}, "cfr has no constant 'alpha': it has none"),
        (("dcfr",), {"alpha": "1"}, "alpha of dcfr must be a number, got '1'"),
        (("dcfr",), {"alpha": math.nan}, "alpha of dcfr must be a number, got nan"),
        (("hs-dcfr",), {}, "hs-dcfr needs its horizon"),
        (("hs-pcfr+", 0), {}, "hs-pcfr\\+ needs its horizon"),
        ((make_scheme("cfr"),), {"alpha": 1}, "cfr has its constants already"),
    ],
)  # fmt: skip
def test_what_is_refused(arguments, constants, message):
    with pytest.raises(ValueError, match=message):
        make_scheme(*arguments, **constants)


def test_iterations_are_counted_from_one():
    with pytest.raises(ValueError, match="counted from 1, got 0"):
        make_scheme("cfr").weights(0)

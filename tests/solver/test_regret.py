"""The schemes' numbers, worked out by hand from the papers, and what is refused."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from nashfold.solver.regret import ORDERS, SCHEMES, Weights, make_scheme

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
    later = make_scheme(name, horizon=10, order="discount-add")
    assert later.weights(3) == scheme.weights(3)._replace(discount_first=True)
    table = later.table(2, 3)
    assert table.shape == (3, len(Weights._fields))
    np.testing.assert_array_equal(table, [later.weights(t) for t in (2, 3, 4)])


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
    assert make_scheme("cfr+", delay=5).weights(4).average_weight == 0
    assert make_scheme("dcfr", horizon=9).horizon is None
    with pytest.raises(FrozenInstanceError):
        scheme.name = "cfr"


def test_powers_beyond_floats_are_their_limits():
    weights = make_scheme("dcfr", alpha=300, beta=-300, gamma=0).weights(10**6)
    assert (weights.positive, weights.negative) == (1.0, 0.0)
    # After the horizon a schedule stays where it is.
    late, last = (make_scheme("hs-dcfr", horizon=5).weights(t) for t in (7, 6))
    assert late.positive == 7**4 / (7**4 + 1)
    assert last.average_decay == pytest.approx((5 / 6) ** 25)


@pytest.mark.parametrize(
    ("arguments", "constants", "message"),
    [
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

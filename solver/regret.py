"""The schemes of counterfactual regret minimisation: how regrets and averages are weighted.

A scheme is a set of numbers for each iteration t = 1, 2, ... Solvers take these numbers and do not know
the names of schemes. With R the cumulative regrets of an information set, r its instantaneous
counterfactual regrets at iteration t (0 before the first) and x the strategy, an iteration is

    match     x is proportional to [R + prediction r_before]+, uniform where that is zero
    regrets   R <- discount(R + gain r)               order "add-discount"
              R <- discount(R) + gain r               order "discount-add"
    floor     R <- [R]+                               where the scheme is a "plus"
    average   C <- average_decay C + average_weight (own reach) x

where discount multiplies an entry by `positive` or `negative` according to its sign before it (0 counts as
positive: it stays 0). Schemes that are not predictive match on R alone.

About the order. Papers write the discount of iteration t in two ways: regrets are added and then multiplied
by d(t) (Brown and Sandholm's "on each iteration t", OpenSpiel), or the regrets of the last iteration are
multiplied by d(t - 1) and the new ones added (Xu et al., Zhang et al.). Both are one algorithm: what is
matched differs by a common positive factor only. This is the default here, "add-discount". Multiplying by
d(t) and then adding is another one: its discounts are those of one iteration later, and a prediction is set
against regrets that are not yet discounted. Exploitability in chips on Leduc poker after
1,000 iterations, and on Leduc with nine ranks after 5,000, full-width, by turns:

    scheme     add-discount  discount-add     nine ranks: add-discount  discount-add
    dcfr          1.43e-4       2.12e-4                  7.6e-6           13.0e-6
    hs-dcfr       5.47e-4       5.72e-4                 13.2e-6           13.6e-6
    dcfr(1,1,1)   4.83e-3       5.13e-3                 5.0e-4            4.1e-4
    pdcfr+        9.00e-4       4.04e-4                  8.7e-6           15.8e-6

So the order moves figures by up to a factor of two, either way. The other schemes discount nothing and have
no order: "lcfr" weighs the new regrets instead, which is DCFR(1, 1, 1) with "add-discount".

Simultaneous updates do far more harm: CFR+ goes from 2.6e-4 to 6.9e-3, APDCFR+ from 2.2e-4 to 7.8e-3.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..game.rules import is_whole

ORDERS = ("add-discount", "discount-add")
# What samplers say to a scheme of simultaneous updates.
BY_TURNS = "simultaneous updates are for full width: sampled walks update players by turns"
LARGEST_POWER = 25.0  # exponent of averages up to which iterations may be counted in billions


class Weights(NamedTuple):
    """The numbers of one iteration; see the head of this module."""

    positive: float = 1.0  # factor on positive cumulative regrets
    negative: float = 1.0  # factor on negative ones
    gain: float = 1.0  # factor on the instantaneous regrets that are added
    floor: bool = False  # cut cumulative regrets at 0 (regret matching+)
    average_decay: float = 1.0  # factor on the average so far
    average_weight: float = 1.0  # factor on reach * strategy that is added to it
    prediction: float = 0.0  # factor on the last instantaneous regrets when matching
    # Above 0 the prediction of an information set is divided by 1 + min(sqrt(A / B), this): A is the sum of
    # ||r - r_before||^2 and B that of ||R - R_before||^2 over the iterations done (0 / 0 counts as 0).
    asymmetry_limit: float = 0.0
    discount_first: bool = False  # order "discount-add"


@dataclass(frozen=True)
class Scheme:
    """One of SCHEMES with its constants; made by `make_scheme`.

    Attributes:
        name: one of SCHEMES.
        constants: by name, read-only; what they mean is said in `about`.
        horizon: iterations planned in all, for schedules; None for the others.
        order: one of ORDERS; the default where a scheme does not discount.
        alternating: whether the players are updated by turns, player 0 first, the second against the new
            strategy of the first. All the papers' figures are made so, except those of the first CFR paper.
            Full-width solvers also take simultaneous updates, by their own argument `alternating` or with
            `dataclasses.replace(scheme, alternating=False)`; sampled ones go by turns.
    """

    name: str
    constants: Mapping[str, float] = field(hash=False)
    horizon: int | None = None
    order: str = "add-discount"
    alternating: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "constants", MappingProxyType(dict(self.constants)))

    def __reduce__(self) -> tuple[Any, ...]:  # views of dictionaries can be neither pickled nor copied
        return type(self), (self.name, dict(self.constants), self.horizon, self.order, self.alternating)

    def weights(self, iteration: int) -> Weights:
        """The numbers of that iteration, the first being 1. Raises ValueError below 1."""
        if iteration < 1:
            raise ValueError(f"iterations are counted from 1, got {iteration}")
        weights = _SCHEMES[self.name](iteration, self.horizon, **self.constants)
        return weights._replace(discount_first=self.order == "discount-add")

    def table(self, first: int, count: int) -> np.ndarray:
        """The numbers of iterations first, first + 1, ...: float64 [count, len(Weights._fields)]."""
        numbers, constants = _SCHEMES[self.name], self.constants
        rows = [numbers(t, self.horizon, **constants) for t in range(first, first + count)]
        table = np.array(rows, np.float64).reshape(count, len(Weights._fields))
        table[:, Weights._fields.index("discount_first")] = self.order == "discount-add"
        return table

    @property
    def about(self) -> str:
        """Paper, constants, and what it is not."""
        return inspect.getdoc(_SCHEMES[self.name]) or ""

    @property
    def predictive(self) -> bool:
        """Whether the last instantaneous regrets are needed."""
        return self.weights(2).prediction != 0

    @property
    def adaptive(self) -> bool:
        """Whether each information set learns the weight of its prediction."""
        return self.weights(2).asymmetry_limit > 0

    @property
    def sweeps(self) -> bool:
        """Whether every entry is multiplied in every iteration, visited or not: samplers that visit few
        information sets cannot do this.
        """
        weights = self.weights(2)
        return (weights.positive, weights.negative, weights.average_decay) != (1, 1, 1)

    def __str__(self) -> str:
        items = [f"{key}={_short(value)}" for key, value in self.constants.items()]
        items += [f"horizon={self.horizon}"] * (self.horizon is not None)
        items += [f"order={self.order}"] * (self.order != ORDERS[0])
        items += ["alternating=False"] * (not self.alternating)
        return f"{self.name}({', '.join(items)})" if items else self.name


def make_scheme(
    name: str | Scheme, horizon: int | None = None, order: str | None = None, **constants: float
) -> Scheme:
    """The scheme of that name, with other constants where they are given; a Scheme passes through.

        make_scheme("dcfr", alpha=1.5, beta=0, gamma=2)
        make_scheme("hs-dcfr", horizon=10_000)

    Args:
        name: one of SCHEMES.
        horizon: iterations planned in all; schedules need it, the others ignore it.
        order: one of ORDERS; default "add-discount".
        constants: see `Scheme.about` of each.

    Raises ValueError for an unknown name, order or constant, a constant that is not a number or out of its
    range, a schedule without horizon, an order of what does not discount, and constants beside a Scheme.
    """
    if isinstance(name, Scheme):
        if constants or order is not None:
            raise ValueError(f"{name} has its constants already: give a name to set others")
        return name
    if not isinstance(name, str) or name not in _SCHEMES:
        raise ValueError(f"unknown scheme {name!r}: choose from {', '.join(SCHEMES)}")
    if order is not None and order not in ORDERS:
        raise ValueError(f"unknown order {order!r}: choose from {', '.join(ORDERS)}")
    if order == "discount-add" and name not in _DISCOUNTING:
        raise ValueError(
            f"{name} discounts nothing and has no order: only {', '.join(_DISCOUNTING)} have"
        )
    known = {
        key: parameter.default
        for key, parameter in inspect.signature(_SCHEMES[name]).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    for key, value in constants.items():
        if key not in known:
            allowed = f"its constants are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"{name} has no constant {key!r}: {allowed}")
        known[key] = _constant(name, key, value)
    if not name.startswith("hs-"):
        horizon = None
    elif not is_whole(horizon, 1):
        raise ValueError(
            f"{name} needs its horizon, the number of iterations planned in all, 1 or more; got {horizon!r}"
        )
    return Scheme(name, known, None if horizon is None else int(horizon), order or ORDERS[0])


def _constant(name: str, key: str, value: Any) -> float:
    """A constant as a number in its range. Raises ValueError for others."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or value != value:
        raise ValueError(f"constant {key} of {name} must be a number, got {value!r}")
    low, high = _RANGES.get((name, key), (-math.inf, math.inf))
    if not low <= value <= high:
        raise ValueError(f"constant {key} of {name} must be from {low:g} to {high:g}, got {value!r}")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"constant {key} of {name} must be a number that fits a float") from None


def _short(value: float) -> str:
    """A number as short as it can be told without loss."""
    text = f"{value:g}"
    return text if float(text) == value else repr(value)


def _averaging(t: int, gamma: float) -> dict[str, Any]:
    """Averages weighted by t^gamma. Where such powers would leave the floats, the average so far is
    multiplied by the ratio of two of them instead, which is the same up to a common factor.
    """
    if gamma <= LARGEST_POWER:
        return {"average_weight": float(t) ** gamma}
    return {"average_decay": ((t - 1) / t) ** gamma}


def _discount(t: float, exponent: float) -> float:
    """t^exponent / (t^exponent + 1), written so, also where the power is beyond floats."""
    if exponent > 0 and exponent * math.log(t) > 700:
        return 1.0
    if math.isinf(exponent):
        return 1.0 if exponent > 0 else 0.0
    return t**exponent / (t**exponent + 1)


def _cfr(t: int, horizon: int | None) -> Weights:
    """CFR (Zinkevich, Johanson, Bowling and Piccione 2007): all iterations count the same.

    Not the simultaneous updates of the paper, unless the solver is told so.
    """
    return Weights()


def _cfr_plus(t: int, horizon: int | None, delay: float = 0.0) -> Weights:
    """CFR+ (Tammelin 2014): regrets cut at 0, averages weighted by max(t - delay, 0).

    Not uniform averaging, nor the current strategy that Cepheus played.
    """
    return Weights(floor=True, average_weight=max(t - delay, 0.0))


def _lcfr(t: int, horizon: int | None) -> Weights:
    """Linear CFR (Brown and Sandholm 2019): regrets and averages of iteration t weigh t.

    The same as DCFR(1, 1, 1) up to a factor; nothing is discounted, so that it also suits samplers.
    Not CFR+ with linear averaging.
    """
    return Weights(gain=float(t), average_weight=float(t))


def _dcfr(
    t: int, horizon: int | None, alpha: float = 1.5, beta: float = 0.0, gamma: float = 2.0
) -> Weights:
    """Discounted CFR (Brown and Sandholm 2019): positive regrets times t^alpha / (t^alpha + 1), negative
    ones times t^beta / (t^beta + 1), averages weighted by t^gamma. The paper's choice is 1.5, 0, 2.

    beta = 0 halves negative regrets in every iteration; it does not leave them alone.
    """
    return Weights(_discount(t, alpha), _discount(t, beta), **_averaging(t, gamma))


def _pcfr_plus(t: int, horizon: int | None, gamma: float = 2.0) -> Weights:
    """Predictive CFR+ (Farina, Kroer and Sandholm 2021): matches on [R + r_before]+; averages weighted by
    t^gamma, quadratic in the paper.

    The prediction enters the strategy only: it is not added to the cumulative regrets.
    """
    return Weights(floor=True, **_averaging(t, gamma), prediction=1.0)


def _pdcfr_plus(t: int, horizon: int | None, alpha: float = 2.3, gamma: float = 5.0) -> Weights:
    """Predictive discounted CFR+ (Xu et al. 2024, arXiv:2404.13891): PCFR+ whose regrets are multiplied by
    t^alpha / (t^alpha + 1), also before the prediction is added; averages weighted by t^gamma.

    Not DCFR with prediction: no negative regrets remain, hence no beta.
    """
    return Weights(_discount(t, alpha), floor=True, **_averaging(t, gamma), prediction=1.0)


def _apcfr_plus(t: int, horizon: int | None, limit: float = 5.0, gamma: float = 2.0) -> Weights:
    """Asymmetric PCFR+ (Meng et al. 2025, arXiv:2503.12770): the prediction is divided by 1 + a, where each
    information set learns a = min(sqrt(sum ||r - r_before||^2 / sum ||R - R_before||^2), limit) from the
    iterations before this one.

    a belongs to an information set, not to the game, and is not an exponent.
    """
    return Weights(floor=True, **_averaging(t, gamma), prediction=1.0, asymmetry_limit=limit)


def _sapcfr_plus(t: int, horizon: int | None, asymmetry: float = 2.0, gamma: float = 2.0) -> Weights:
    """Simple asymmetric PCFR+ (Meng et al. 2025, arXiv:2503.12770): the prediction is divided by
    1 + asymmetry, which is 3 in the paper.

    Nothing is sampled, whatever the letter s suggests.
    """
    return Weights(floor=True, **_averaging(t, gamma), prediction=1.0 / (1.0 + asymmetry))


def _apdcfr_plus(
    t: int,
    horizon: int | None,
    scale: float = 20.0,
    offset: float = 500.0,
    beta: float = 1.5,
    limit: float = 9.0,
    gamma: float = 2.5,
) -> Weights:
    """Asymmetric predictive discounted CFR+ (Meng et al. 2025, arXiv:2503.12770, appendix C): regrets of
    iteration t enter with the weight w = scale t^beta / (offset + t^beta), and the strategy matches
    [w R + r_before / (1 + a)]+ with a as in APCFR+. The constants were tuned on no-limit subgames.

    Not PDCFR+ with an asymmetry: old regrets are never multiplied, and the weight stands on R, not on the
    prediction, when matching.
    """
    weight = scale / (1.0 + offset * float(t) ** -beta)
    return Weights(
        gain=weight,
        floor=True,
        **_averaging(t, gamma),
        prediction=1.0 / weight,
        asymmetry_limit=limit,
    )


def _hs_dcfr(t: int, horizon: int | None, gamma: float = 30.0) -> Weights:
    """HS-DCFR(30) (Zhang, McAleer and Sandholm 2024, arXiv:2404.09097): DCFR whose constants move with
    t / horizon: alpha = 1 + 3 t / n, beta = -1 - 2 t / n, gamma = 30 - 5 t / n; after the horizon they stay.
    gamma = 15 gives HS-DCFR(15).

    The average is multiplied by ((t - 1) / t)^gamma in every iteration: with a moving gamma this is not the
    same as the weight t^gamma.
    """
    assert horizon is not None
    share = min(t / horizon, 1.0)
    return Weights(
        _discount(t, 1.0 + 3.0 * share),
        _discount(t, -1.0 - 2.0 * share),
        average_decay=_hs_decay(t, horizon, gamma),
    )


def _hs_pcfr_plus(t: int, horizon: int | None, gamma: float = 30.0) -> Weights:
    """HS-PCFR+(30) (Zhang, McAleer and Sandholm 2024, arXiv:2404.09097): PCFR+ whose averaging exponent is
    30 - 5 t / n; gamma = 15 gives HS-PCFR+(15).

    Regrets are not discounted.
    """
    assert horizon is not None
    return Weights(floor=True, average_decay=_hs_decay(t, horizon, gamma), prediction=1.0)


def _hs_decay(t: int, horizon: int, gamma: float) -> float:
    """What iteration t leaves of the average of the t - 1 before it."""
    before = t - 1
    return (before / t) ** (gamma - 5.0 * min(before / horizon, 1.0))


_SCHEMES: dict[str, Callable[..., Weights]] = {
    "cfr": _cfr,
    "cfr+": _cfr_plus,
    "lcfr": _lcfr,
    "dcfr": _dcfr,
    "pcfr+": _pcfr_plus,
    "pdcfr+": _pdcfr_plus,
    "apcfr+": _apcfr_plus,
    "sapcfr+": _sapcfr_plus,
    "apdcfr+": _apdcfr_plus,
    "hs-dcfr": _hs_dcfr,
    "hs-pcfr+": _hs_pcfr_plus,
}
SCHEMES = tuple(_SCHEMES)
_DISCOUNTING = ("dcfr", "pdcfr+", "hs-dcfr")

_FROM_0 = (0.0, math.inf)
# Where a constant is not free: beyond, weights would be infinite, 0 or negative.
_RANGES = {
    ("cfr+", "delay"): (-1e15, 1e15),
    ("apcfr+", "limit"): _FROM_0,
    ("sapcfr+", "asymmetry"): _FROM_0,
    ("apdcfr+", "scale"): (1e-9, 1e9),
    ("apdcfr+", "offset"): (0.0, 1e9),
    ("apdcfr+", "beta"): _FROM_0,
    ("apdcfr+", "limit"): _FROM_0,
    ("hs-dcfr", "gamma"): _FROM_0,
    ("hs-pcfr+", "gamma"): _FROM_0,
}

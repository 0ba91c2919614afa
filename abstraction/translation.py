"""Action translation: which bets of a menu a bet off the menu is taken for.

Sizes are shares of the pot: chips on top of the previous bet divided by the pot after calling it, each in
the state that the bet was made in (real bets by the real pot, the menu's by the abstract one). 0 is a check
or call. A size between two neighbours A < x < B of the menu is taken for

- "pseudo-harmonic": A with probability (B - x)(1 + A) / ((B - A)(1 + x)), else B (Ganzfried and Sandholm,
  "Action Translation in Extensive-Form Games with Large Action Spaces", IJCAI 2013);
- "deterministic": the one that the pseudo-harmonic probability favours, A at one half;
- "nearest": the one at the smaller distance, A where they are equal;
- "soft": A and B by their geometric similarity, (A/x - A/B) and (x/B - A/B), normalised: A with probability
  A (B - x) / (A (B - x) + x (x - A)) (Schnizlein, Bowling and Szafron, "Probabilistic State Translation in
  Extensive Games with Large Action Sets", IJCAI 2009). No bet is similar to 0: with A = 0 it is B.

At or below the smallest size of the menu it is that one, at or above the largest that one.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from math import inf

Size = float | Fraction


def pseudo_harmonic(x: Size, lower: Size, upper: Size) -> float:
    """Probability that a size between two others is taken for the lower one."""
    return float((upper - x) * (1 + lower) / ((upper - lower) * (1 + x)))


def soft(x: Size, lower: Size, upper: Size) -> float:
    """Probability of the lower one by geometric similarity, normalised over the two."""
    if not lower:
        return 0.0  # nothing is similar to no bet
    down, up = lower * (upper - x), x * (x - lower)
    return float(down / (down + up))


def _deterministic(x: Size, lower: Size, upper: Size) -> float:
    return float(pseudo_harmonic(x, lower, upper) >= 0.5)


def _nearest(x: Size, lower: Size, upper: Size) -> float:
    return float(x - lower <= upper - x)


TRANSLATIONS: dict[str, Callable[[Size, Size, Size], float]] = {
    "pseudo-harmonic": pseudo_harmonic,
    "deterministic": _deterministic,
    "nearest": _nearest,
    "soft": soft,
}
#: For each translation the one that scoring takes instead, which takes each size for a single other one.
DETERMINISTIC = {name: "nearest" if name == "nearest" else "deterministic" for name in TRANSLATIONS}


def check_translation(name: str) -> str:
    """The name; ValueError for an unknown one."""
    if name not in TRANSLATIONS:
        raise ValueError(f"unknown translation {name!r}: choose one of {', '.join(TRANSLATIONS)}")
    return name


def translate(x: Size, sizes: Sequence[Size], translation: str = "pseudo-harmonic") -> dict[int, float]:
    """The sizes of a menu that a size is taken for: probabilities by index, none of them zero.

    Args:
        x: share of the pot.
        sizes: shares of the pot, ascending and different; 0 for a check or call.
        translation: one of TRANSLATIONS.

    Raises ValueError for an unknown translation, a negative size, or a menu that is empty or not ascending.
    """
    rule = TRANSLATIONS[check_translation(translation)]
    rising = all(a < b for a, b in pairwise(sizes))
    if len(sizes) == 0 or not rising or not 0 <= sizes[0] <= sizes[-1] < inf:
        raise ValueError(
            f"sizes must be at least one, finite, ascending and not negative: {list(sizes)}"
        )
    if not x >= 0:
        raise ValueError(f"a bet's share of the pot cannot be {x}")
    above = bisect_right(sizes, x)
    if above == 0:
        return {0: 1.0}
    if above == len(sizes) or sizes[above - 1] == x:
        return {above - 1: 1.0}
    lower = rule(x, sizes[above - 1], sizes[above])
    return {i: p for i, p in ((above - 1, lower), (above, 1 - lower)) if p > 0}

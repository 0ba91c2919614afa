"""Checks of what the solvers of this package are given, and of the states that they go on from."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ...game.rules import is_whole

if TYPE_CHECKING:
    from .game import TabularGame

LARGEST = 1e300  # of numbers that are added up


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number of Python or NumPy in a range. Raises ValueError for anything else."""
    if not is_whole(value, least, most):
        span = f"{least} or more" if most is None else f"from {least} to {most}"
        raise ValueError(f"{name} must be a whole number, {span}; got {value!r}")
    return int(value)


def number(name: str, value: Any, span: str, low: float, high: float, low_included: bool) -> float:
    """A number in a range, `span` in words. Raises ValueError for anything else, NaN too."""
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not low <= value <= high or (value == low and not low_included):
        raise ValueError(f"{name} must be {span}, got {value!r}")
    return float(value)


def by_sequence(game: TabularGame, values: Any, name: str) -> np.ndarray:
    """Numbers of every sequence as float64 [sequence]. Raises ValueError for anything else."""
    try:
        found = np.asarray(values)
    except ValueError:  # rows of different lengths
        found = np.asarray(None)
    if found.shape != (game.num_sequences,):
        wrong = f"the shape {found.shape}"
    elif found.dtype.kind not in "biuf":
        wrong = f"entries of type {found.dtype}"
    elif not (np.abs(found) <= LARGEST).all():
        wrong = f"{found[~(np.abs(found) <= LARGEST)][0]}"
    else:
        return found.astype(np.float64)
    raise ValueError(
        f"{name} of this game must be {game.num_sequences} finite numbers, one a sequence; got {wrong}"
    )


def restored(
    state: Mapping[str, np.ndarray], settings: str, kept: Mapping[str, np.ndarray]
) -> tuple[int, int]:
    """Copy the arrays of a state over `kept`; the two numbers of its "iterations".

    Raises ValueError for the state of another solver or game, before anything is changed.
    """
    for name in ("settings", "iterations", *kept):
        if name not in state:
            raise ValueError(f"not a state of this solver: it has no {name!r}")
    if str(state["settings"]) != settings:
        raise ValueError(f"the state is that of {state['settings']}, the solver is {settings}")
    found = {name: np.asarray(state[name]) for name in ("iterations", *kept)}
    for name, values in kept.items():
        if found[name].shape != values.shape:
            raise ValueError(
                f"the state does not fit the game and its merging: {name} has another shape"
            )
        if found[name].dtype.kind != "f" or not np.isfinite(found[name]).all():
            raise ValueError(f"the state is spoilt: {name} must be finite numbers")
    counts = found["iterations"]
    if counts.shape != (2,) or counts.dtype.kind not in "iu" or (counts < 0).any():
        raise ValueError("the state is spoilt: its iterations must be two whole numbers, 0 or more")
    for name, values in kept.items():
        values[...] = found[name]
    return int(counts[0]), int(counts[1])

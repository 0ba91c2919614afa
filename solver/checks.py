"""Exploitability along the way: best responses in the real game to the average strategy of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from .scoring.best_response import Exploitability, best_response
from .scoring.sampling import BoardProgress
from .strategy import Strategy


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes:
        iterations, seconds: of solving when it was made.
        exploitability: in the real game, exact or on sampled flops; `exploitability.seconds` is the time that
            the check took.
    """

    iterations: int
    seconds: float
    exploitability: Exploitability

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: the figures of the exploitability, its seconds as check_seconds, null for nan."""
        found: dict[str, Any] = asdict(self.exploitability)
        found["check_seconds"] = round(found.pop("seconds"), 3)
        found["per_position"] = [*found["per_position"]]
        for key, value in found.items():
            if isinstance(value, float) and isnan(value):
                found[key] = None
        return {"iterations": self.iterations, "seconds": round(self.seconds, 3)} | found


def check(
    strategy: Strategy,
    iterations: int,
    seconds: float,
    flops: str | int,
    seed: int,
    threads: int,
    progress: BoardProgress | None = None,
) -> Check:
    """Score a strategy; the same flops for the same seed, so that checks of a run can be compared.

    Args:
        strategy: the average strategy so far.
        iterations, seconds: of solving.
        flops: "all" or a number, as in `best_response`.
        seed: of the flops.
        threads: for the best response; the result does not depend on it.
        progress: called with the flops done and in all; may raise to break the check off.
    """
    found = best_response(strategy, flops, seed, threads=threads, progress=progress)
    return Check(iterations, seconds, found)

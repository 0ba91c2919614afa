"""Exploitability along the way: best responses in the real game to the average strategy of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from .scoring.abstract_response import abstract_best_response
from .scoring.best_response import Exploitability, best_response
from .scoring.sampling import BoardProgress
from .strategy import Strategy


@dataclass(frozen=True)
class Check:
    """What a check found.

    Attributes:
        iterations, seconds: of solving when it was made.
        exploitability: in the real game, exact or on sampled flops; its `seconds` are the time that it took.
        abstract: within the abstraction, if that was asked for.
    """

    iterations: int
    seconds: float
    exploitability: Exploitability
    abstract: Exploitability | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values: the figures of the exploitability, its seconds as check_seconds, null for nan.

        The abstract one's are abstract_mbb_per_hand, abstract_kind and abstract_seconds.
        """
        found: dict[str, Any] = asdict(self.exploitability)
        found["check_seconds"] = round(found.pop("seconds"), 3)
        found["per_position"] = [*found["per_position"]]
        for key, value in found.items():
            if isinstance(value, float) and isnan(value):
                found[key] = None
        if self.abstract is not None:
            found["abstract_mbb_per_hand"] = self.abstract.mbb_per_hand
            found["abstract_kind"] = self.abstract.kind
            found["abstract_seconds"] = round(self.abstract.seconds, 3)
        return {"iterations": self.iterations, "seconds": round(self.seconds, 3)} | found


def check(
    strategy: Strategy,
    iterations: int,
    seconds: float,
    flops: str | int,
    seed: int,
    threads: int,
    progress: BoardProgress | None = None,
    abstract: bool = False,
) -> Check:
    """Score a strategy; the same flops for the same seed, so that checks of a run can be compared.

    Args:
        strategy: the average strategy so far.
        iterations, seconds: of solving.
        flops: "all" or a number, as in `best_response`.
        seed: of the flops.
        threads: for the best response; the result does not depend on it.
        progress: called with the flops done and in all; may raise to break the check off.
        abstract: whether to measure the exploitability within the abstraction too.
    """
    found = best_response(strategy, flops, seed, threads=threads, progress=progress)
    return Check(iterations, seconds, found, abstract_best_response(strategy) if abstract else None)

"""How often something happens in a run: every so many seconds of solving, or every so many iterations."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import inf
from typing import Any

from ..game.rules import is_whole


def parse_duration(value: Any) -> float:
    """Seconds from a number or a text such as "90s", "10m" or "1h30m"; ValueError for anything else."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < inf:
        return float(value)
    match = re.fullmatch(r"(?:(\d+(?:\.\d+)?)h)?(?:(\d+(?:\.\d+)?)m)?(?:(\d+(?:\.\d+)?)s?)?", str(value))
    seconds = (
        sum(float(part or 0) * unit for part, unit in zip(match.groups(), (3600, 60, 1), strict=True))
        if match
        else 0
    )
    if not 0 < seconds < inf:
        raise ValueError(f"{value!r} is not a duration: write 90s, 10m or 1h30m")
    return seconds


@dataclass(frozen=True)
class Every:
    """A schedule: marks at the multiples of a number of iterations or of seconds of solving.

    Iterations are the same in every run of one thread, so what happens by them is reproducible bit for bit;
    what happens by time falls on other iterations on another day.

    Attributes:
        seconds: of solving (checks are not counted), or None.
        iterations: or None; one of the two is set.
    """

    seconds: float | None = None
    iterations: int | None = None

    def __post_init__(self) -> None:
        if (self.seconds is None) == (self.iterations is None):
            raise ValueError("a schedule counts seconds or iterations: give one of them")
        if self.seconds is not None:
            object.__setattr__(self, "seconds", parse_duration(self.seconds))
        elif not is_whole(self.iterations, 1):
            raise ValueError(f"iterations must be a positive number, not {self.iterations!r}")

    @classmethod
    def from_value(cls, value: Any) -> Every:
        """From a duration ("5m"; a number is seconds), or a text such as "100_000 iterations".

        Raises ValueError for anything else.
        """
        if isinstance(value, Every):
            return value
        if isinstance(value, str) and (
            match := re.fullmatch(r"([\d_,]*\d) *iterations?", value.strip())
        ):
            return cls(iterations=int(re.sub("[_,]", "", match.group(1))))
        try:
            return cls(seconds=parse_duration(value))
        except ValueError:
            raise ValueError(
                f"{value!r} is not a duration: write 90s, 10m or 1h30m, or 100_000 iterations"
            ) from None

    def to_value(self) -> float | str:
        """What `from_value` reads back."""
        return self.seconds if self.seconds is not None else f"{self.iterations} iterations"

    def iterations_left(self, iterations: int) -> float:
        """Iterations to the next mark; infinity where marks are counted in seconds."""
        return inf if self.iterations is None else self.iterations - iterations % self.iterations

    def passed(self, before: tuple[int, float], now: tuple[int, float]) -> bool:
        """Whether a mark lies between two states (iterations, seconds), the second one included."""
        if self.iterations is not None:
            return now[0] // self.iterations > before[0] // self.iterations
        assert self.seconds is not None
        return now[1] // self.seconds > before[1] // self.seconds

    def __str__(self) -> str:
        return f"{self.seconds:g}s" if self.seconds is not None else f"{self.iterations:,} iterations"

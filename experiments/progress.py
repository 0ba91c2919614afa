"""Progress bars on standard error for what the library reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from ..solver.run import SolveConfig, SolveProgress


@contextmanager
def stage_bar(unit: str) -> Iterator[Callable[..., None]]:
    """A bar that is told (what is done, done, in all[, a remark]); another stage starts another bar."""
    bar: tqdm | None = None
    stage = ""

    def show(what: str, done: float, total: float, remark: str = "") -> None:
        nonlocal bar, stage
        if bar is None or what != stage:
            if bar is not None:
                bar.close()
            stage = what
            bar = tqdm(total=total, desc=what, unit=f" {unit}", file=sys.stderr, leave=False)
        bar.set_postfix_str(remark, refresh=False)
        bar.update(done - bar.n)
        if done >= total:  # make room for what comes next
            bar.close()
            bar = None

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()


@contextmanager
def counting_bar(what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that is told (done, in all)."""
    with stage_bar(unit) as show:
        yield lambda done, total: show(what, done, total)


@contextmanager
def solve_bar(config: SolveConfig) -> Iterator[Callable[[SolveProgress], None]]:
    """Progress of solving, in iterations or in seconds, whichever limits the run."""
    with stage_bar("it" if config.iterations is not None else "s") as show:

        def progress(state: SolveProgress) -> None:
            rate = state.iterations / state.seconds if state.seconds else 0
            remark = f"{state.iterations:,} iterations, {rate:,.0f}/s"
            if config.iterations is not None:
                show("solving", state.iterations, config.iterations, remark)
            elif config.time is not None:
                show("solving", min(round(state.seconds, 1), config.time), config.time, remark)

        yield progress

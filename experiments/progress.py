"""Progress bars on standard error for what the library reports."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tqdm import tqdm

from ..solver.config import SolveConfig
from ..solver.run import SolveProgress


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
    """Progress of solving, in iterations or in seconds, whichever limits the run; checks have their own."""
    solving = stage_bar("it" if config.iterations is not None else "s")
    with solving as show, counting_bar("checking", "flops") as show_check:

        def progress(state: SolveProgress) -> None:
            if state.checking is not None:
                show_check(*state.checking)
            elif config.iterations is not None:
                show("solving", state.iterations, config.iterations, state_in_words(state))
            elif config.time is not None:
                show(
                    "solving",
                    min(round(state.seconds, 1), config.time),
                    config.time,
                    state_in_words(state),
                )

        yield progress


def state_in_words(state: SolveProgress) -> str:
    """Speed and the last check of a run in words."""
    rate = _in_words(state.nodes_per_second)
    text = (
        f"{state.iterations:,} iterations, {state.iterations_per_second:,.0f}/s, {rate} {state.unit}/s"
    )
    if state.check is None:
        return text
    found = state.check.exploitability
    error = f" +- {found.standard_error:.1f}" if found.standard_error > 0 else ""
    return f"{text}, {found.mbb_per_hand:.1f}{error} mbb/h after {state.check.iterations:,}"


def _in_words(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"

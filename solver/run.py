"""From a configuration to a strategy: `solve`, with checkpoints, snapshots and checks on the way."""

from __future__ import annotations

import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter

from ..abstraction.buckets import CardAbstraction
from ..abstraction.build import build_abstraction
from ..abstraction.equity import Progress
from ..abstraction.estimate import estimate_build
from .betting_tree import BettingTree, betting_tree, check_nodes
from .checks import Check, check
from .compile_clock import CompileClock, compile_clock
from .config import SolveConfig
from .mccfr import MonteCarlo
from .run_folder import RunFolder, full_disk_told
from .schedule import Every
from .snapshots import Snapshots
from .solvers import SOLVERS, HoldemSolver
from .strategy import Strategy
from .tree_size import tree_size

MEMORY_LIMIT = 16 << 30  # bytes of tables above which a run is refused


@dataclass(frozen=True)
class SolveProgress:
    """State of a run.

    Attributes:
        iterations: done in all.
        seconds: of solving in all, checks and compiling (`solver.compile_clock`) apart.
        check_seconds: of checking in all.
        seconds_left: estimate of the time to the end of the run, with its checks; infinite if unknown.
        touched_nodes: visited in this session.
        unit: what these are.
        iterations_per_second, nodes_per_second: of solving in this session.
        check: the last check of this session, if there was one.
        checking: flops done and in all while a check is made; None while solving.
    """

    iterations: int
    seconds: float
    check_seconds: float
    seconds_left: float
    touched_nodes: int
    unit: str
    iterations_per_second: float
    nodes_per_second: float
    check: Check | None = None
    checking: tuple[int, int] | None = None


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        config: what was done.
        strategy: the average strategy.
        iterations, seconds, check_seconds: done and spent in all, resumed parts included.
        path: the run folder, or None for a run in memory.
        touched_nodes, nodes_per_second: in this session.
        unit: what these count.
        checks: of this session.
    """

    config: SolveConfig
    strategy: Strategy
    iterations: int
    seconds: float
    path: Path | None = None
    check_seconds: float = 0.0
    touched_nodes: int = 0
    nodes_per_second: float = 0.0
    unit: str = "nodes"
    checks: tuple[Check, ...] = ()


def solve(
    config: SolveConfig | str | Path,
    out: str | Path | None = None,
    resume: bool = False,
    progress: Callable[[SolveProgress], None] | None = None,
    build_progress: Progress | None = None,
    announce: Callable[[str], None] | None = None,
) -> Run:
    """Solve a game in an abstraction.

    Args:
        config: the configuration or a CONFIG.toml.
        out: run folder for checkpoints, metrics and the strategy; None keeps everything in memory.
        resume: continue the run in `out` from its newest checkpoint.
        progress: called a few times a second.
        build_progress: called while the abstraction is built.
        announce: called with a line that says how large it will be, before anything is built, and with one
            when something has to be compiled first.

    A finished run that is resumed is given back as it is; nothing is written.

    Raises ValueError for a configuration that makes no sense, a folder that is in the way or that another
    run is at work in, a checkpoint of another run, or tables larger than the limit or than the disk has room
    for; nothing is overwritten then. OSError where something cannot be written, as on a full disk. SIGINT and
    SIGTERM end the run after the iterations at hand with a checkpoint and a KeyboardInterrupt (a second one
    at once, without); a check that is being made is broken off, and made when the run is resumed.
    """
    if not isinstance(config, SolveConfig):
        config = SolveConfig.from_toml(config)
    folder = None if out is None else RunFolder(Path(out), config, resume)
    with ExitStack() as stack:
        if folder and resume:
            stack.enter_context(folder.held())
            if (finished := _finished(config, folder, build_progress)) is not None:
                return finished
        check_nodes(config.rules, config.bets)
        _check_memory(config)
        if announce:
            announce(size_in_words(config))
        clock = stack.enter_context(compile_clock(announce))
        tree = betting_tree(config.rules, config.bets)
        abstraction = build_abstraction(config.abstraction, build_progress)
        if config.memory_map:
            _check_disk(config, abstraction, folder)
        if folder and not resume:
            stack.enter_context(folder.held())
            folder.begin()
        work = folder.path if folder else Path(stack.enter_context(TemporaryDirectory()))
        mapped = work / "tables.npy" if config.memory_map else None
        if mapped:
            stack.callback(mapped.unlink, missing_ok=True)
        solver = SOLVERS[config.sampling].make(config, tree, abstraction, mapped)
        driver = _Driver(config, tree, abstraction, solver, folder, work / "snapshots", progress, clock)
        with _deferred_interrupts() as driver.interrupted:
            driver.go()
        return driver.result()


def _finished(config: SolveConfig, folder: RunFolder, build_progress: Progress | None) -> Run | None:
    """The run of a folder with its strategy, if there is nothing left to do or to tidy up."""
    header = folder.newest_header()
    iterations, seconds = int(header.get("iterations", 0)), float(header.get("seconds", 0.0))
    if not iterations or not _is_over(config, iterations, seconds):
        return None
    if (config.check_every is not None and header.get("check_is_due")) or not folder.is_tidy(iterations):
        return None
    try:
        strategy = Strategy.load(folder.path / "strategy", build_progress)
    except ValueError:  # killed before it was written, or damaged: it is made of the checkpoint again
        return None
    if strategy.name != _strategy_name(config, iterations):  # of an earlier end of the run
        return None
    return Run(
        config,
        strategy,
        iterations,
        seconds,
        folder.path,
        float(header.get("check_seconds", 0.0)),
        unit=SOLVERS[config.sampling].unit,
    )


def _is_over(config: SolveConfig, iterations: int, seconds: float) -> bool:
    by_time = config.time is not None and seconds >= config.time
    return by_time or (config.iterations is not None and iterations >= config.iterations)


def _strategy_name(config: SolveConfig, iterations: int) -> str:
    return f"{config.rules.name} {config.scheme} {iterations:,} iterations"


def _check_memory(config: SolveConfig) -> None:
    taken = config.estimate_bytes()
    if taken > MEMORY_LIMIT and not config.memory_map:
        ways = [f"use fewer buckets{'' if config.rules.betting == 'limit' else ' or bets'}"]
        if "memory_map" in SOLVERS[config.sampling].options:
            ways += ['storage = "int16"'] * (config.storage != "int16") + ["memory_map = true"]
        raise ValueError(
            f"the tables would take {taken / 2**30:.1f} GiB, the limit is {MEMORY_LIMIT / 2**30:.0f} GiB: "
            + " or ".join(ways)
        )


def _check_disk(config: SolveConfig, abstraction: CardAbstraction, folder: RunFolder | None) -> None:
    """ValueError where mapped tables and their checkpoints do not fit on the disk."""
    size = tree_size(config.rules, config.bets, abstraction.num_buckets)
    taken = sum(SOLVERS[config.sampling].memory(config, size).values())
    place = folder.path.absolute() if folder else Path(gettempdir())
    leftover = place / "tables.npy"  # of a killed run: it is made anew in its own place
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free + (leftover.stat().st_size if leftover.is_file() else 0)
    # A new checkpoint is written before the last one goes; a run that is resumed has one already.
    copies = 1 if folder is None else 2 if folder.resume else 3
    if taken * copies > free:
        checkpoints = f"and {copies - 1} checkpoint{'s' * (copies > 2)} of that size " * (copies > 1)
        raise ValueError(
            f"{folder.path if folder else place}: tables of {_mebibytes(taken)} {checkpoints}do not fit "
            f"on the disk, which has {_mebibytes(free)} free: free some space or choose another folder"
        )


def size_in_words(config: SolveConfig) -> str:
    """A line that says how large a run is: tree, information sets, memory. Nothing is built."""
    size, memory = config.size(), config.memory()
    buckets = "-".join(map(str, config.abstraction.max_buckets()))
    parts = [f"{name} {_mebibytes(taken)}" for name, taken in memory.items()]
    cards = _mebibytes(estimate_build(config.abstraction).stored_bytes)
    more = "" if size.is_complete else "more than "
    by_round = " ".join(f"{count:,}" for count in size.decisions)
    return (
        f"{config.rules.name}, bets {config.bets}: {more}{sum(size.decisions):,} decision nodes "
        f"({by_round} by round), buckets at "
        f"most {buckets}, {size.infosets:,} infosets, tables at most {_mebibytes(sum(memory.values()))} "
        f"in {config.storage}{', mapped from a file' if config.memory_map else ''} ({', '.join(parts)}); "
        f"the abstraction's own {cards} are mapped from the cache"
    )


def _mebibytes(taken: int) -> str:
    return f"{taken / 2**20:,.1f} MiB"


class _Driver:
    """Drives a solver through a run.

    Attributes:
        interrupted: signals that came; not empty: the run ends after the iterations at hand.
    """

    interrupted: list[int]

    def __init__(
        self,
        config: SolveConfig,
        tree: BettingTree,
        abstraction: CardAbstraction,
        solver: HoldemSolver,
        folder: RunFolder | None,
        snapshots: Path,
        progress: Callable[[SolveProgress], None] | None,
        clock: CompileClock,
    ):
        self.config, self.tree, self.abstraction = config, tree, abstraction
        self.solver, self.folder, self.progress, self._clock = solver, folder, progress, clock
        header = folder.load(solver) if folder else {}
        self.seconds = self._seconds_before = float(header.get("seconds", 0.0))
        self.check_seconds = float(header.get("check_seconds", 0.0))
        self._check_is_due = config.check_every is not None and bool(header.get("check_is_due"))
        self._begun_at = solver.iterations
        self._checks: list[Check] = []
        self._snapshots: Snapshots | None = None
        if config.rebuilt_rounds:
            assert isinstance(solver, MonteCarlo)
            self._snapshots = Snapshots(snapshots, config.rebuilt_rounds, solver.average_weight)
        if folder and folder.resume:
            folder.take_back(solver.iterations)
            if not self._is_over():  # else it stays the run that it was
                folder.begin()

    def go(self) -> None:
        """Solve until the run is over; KeyboardInterrupt, with a checkpoint, after a signal."""
        self._check_if_due()
        while not self._is_over() and not self.interrupted:
            before = self._state()
            began, compiled = perf_counter(), self._clock.seconds
            self.solver.run(self._step())
            self.seconds += max(perf_counter() - began - (self._clock.seconds - compiled), 0.0)
            self._report()
            self._happen(before)
        if self.interrupted:
            self._save()
            raise KeyboardInterrupt
        if self.solver.iterations > self._begun_at:
            last = self._checks[-1].iterations if self._checks else -1
            self._check_is_due = self.config.check_every is not None and last < self.solver.iterations
            self._check_if_due()
            self._save()
            if self.interrupted:
                raise KeyboardInterrupt

    def _state(self) -> tuple[int, float]:
        return self.solver.iterations, self.seconds

    def _is_over(self) -> bool:
        return _is_over(self.config, *self._state())

    def _step(self) -> int:
        """Iterations until the next thing happens that happens by iterations, at most a chunk."""
        done, config = self.solver.iterations, self.config
        steps: list[float] = [self.solver.chunk]
        if config.iterations is not None:
            steps.append(config.iterations - done)
        schedules = (config.snapshots_every, config.check_every, config.checkpoint_every)
        steps += [every.iterations_left(done) for every in schedules if every is not None]
        return int(min(steps))

    def _happen(self, before: tuple[int, float]) -> None:
        """What is due after a step."""

        def is_due(every: Every | None) -> bool:
            return every is not None and every.passed(before, self._state())

        if self._snapshots and is_due(self.config.snapshots_every):
            with full_disk_told(self._snapshots.folder):
                self._snapshots.take(self.solver.iterations, self.solver.current_strategy())
            if self.folder:
                iterations, seconds = self._state()
                record = {"iterations": iterations, "seconds": round(seconds, 3)}
                self.folder.note({"event": "snapshot"} | record)
        self._check_is_due = is_due(self.config.check_every)
        self._check_if_due()
        if is_due(self.config.checkpoint_every) and not self._is_over():
            self._save()

    def _check_if_due(self) -> None:
        if not self._check_is_due or self.interrupted:
            return
        config = self.config
        assert config.check_flops is not None

        def keep_on(done: int, total: int) -> None:
            self._report((done, total))
            if self.interrupted:
                raise KeyboardInterrupt

        began = perf_counter()
        try:
            found = check(
                self.strategy(),
                *self._state(),
                flops=config.check_flops,
                seed=config.seed,
                threads=config.threads,
                progress=keep_on,
                abstract=config.check_abstract,
            )
        except KeyboardInterrupt:
            if not self.interrupted:  # not ours: a caller's, out of its progress function
                raise
            return
        self._check_is_due = False
        self.check_seconds += perf_counter() - began
        self._checks.append(found)
        if self.folder:
            self.folder.note({"event": "check"} | found.to_dict())
        self._report()

    def _report(self, checking: tuple[int, int] | None = None) -> None:
        if self.progress is None:
            return
        here = self.seconds - self._seconds_before
        iterations, nodes = self.solver.iterations, self.solver.touched_nodes
        self.progress(
            SolveProgress(
                iterations=iterations,
                seconds=self.seconds,
                check_seconds=self.check_seconds,
                seconds_left=self._seconds_left(),
                touched_nodes=nodes,
                unit=self.solver.unit,
                iterations_per_second=(iterations - self._begun_at) / here if here else 0.0,
                nodes_per_second=nodes / here if here else 0.0,
                check=self._checks[-1] if self._checks else None,
                checking=checking,
            )
        )

    def _seconds_left(self) -> float:
        """By the stricter of the two limits, with as many checks as so far."""
        left, config = inf, self.config
        if config.time is not None:
            left = config.time - self.seconds
        if config.iterations is not None:
            here = self.solver.iterations - self._begun_at
            to_do = config.iterations - self.solver.iterations
            if to_do <= 0:
                left = 0.0
            elif here:
                left = min(left, to_do * (self.seconds - self._seconds_before) / here)
        with_checks = 1 + self.check_seconds / self.seconds if self.seconds else 1.0
        return max(left, 0.0) * with_checks

    def _save(self) -> None:
        """A checkpoint, unless there is nothing new."""
        if self.folder is None or self.solver.iterations == self._begun_at:
            return
        header = {
            "seconds": self.seconds,
            "check_seconds": self.check_seconds,
            "check_is_due": self._check_is_due,
        }
        here = self.seconds - self._seconds_before
        record = {
            "event": "checkpoint",
            "iterations": self.solver.iterations,
            "seconds": round(self.seconds, 3),
            "check_seconds": round(self.check_seconds, 3),
            "iterations_per_second": round((self.solver.iterations - self._begun_at) / here, 1)
            if here
            else 0.0,
            "nodes_per_second": round(self.solver.touched_nodes / here, 1) if here else 0.0,
        }
        self.folder.save(self.solver, header, record)

    def strategy(self) -> Strategy:
        """The average strategy so far."""
        name = _strategy_name(self.config, self.solver.iterations)
        if self._snapshots is None:
            tables = self.solver.average_strategy()
        else:
            assert isinstance(self.solver, MonteCarlo)
            tables = self.solver.average_strategy(self._snapshots.means(self.solver.current_strategy()))
        return Strategy(self.tree, self.abstraction, tables, name)

    def result(self) -> Run:
        """The run when it is over; its folder gets the strategy."""
        strategy = self.strategy()
        if self.folder:
            with full_disk_told(self.folder.path / "strategy"):
                strategy.save(self.folder.path / "strategy")
        here = self.seconds - self._seconds_before
        nodes = self.solver.touched_nodes
        return Run(
            self.config,
            strategy,
            self.solver.iterations,
            self.seconds,
            self.folder.path if self.folder else None,
            self.check_seconds,
            nodes,
            nodes / here if here else 0.0,
            self.solver.unit,
            tuple(self._checks),
        )


@contextmanager
def _deferred_interrupts() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of stopping in the middle of an iteration.

    An interrupt between two updates would leave tables that no number of iterations describes. A second
    signal stops there all the same, for iterations that take minutes: what was done since the last checkpoint
    is lost. Signals reach the main thread only: elsewhere the list stays empty.
    """
    caught: list[int] = []

    def catch(number: int, frame: object) -> None:
        caught.append(number)
        if len(caught) > 1:
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, catch) for number in signals]
    try:
        yield caught
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

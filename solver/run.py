"""From a configuration to a strategy: `solve`, its run folder, checkpoints and resuming."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from math import inf
from pathlib import Path
from time import perf_counter
from typing import Any

from ..abstraction.arrays import load_arrays
from ..abstraction.bets import FULL, BetMenu
from ..abstraction.buckets import CardAbstraction
from ..abstraction.build import abstraction_path, build_abstraction
from ..abstraction.config import AbstractionConfig
from ..abstraction.equity import Progress
from ..game.presets import read_rules, rules_value
from ..game.rules import Rules
from ..game.toml_file import read_toml, toml_value
from .betting_tree import betting_tree, check_nodes
from .mccfr import CHUNK, SCHEMES, MonteCarlo
from .strategy import Strategy
from .tables import Tables
from .tree_size import TreeSize, tree_size

MEMORY_LIMIT = 16 << 30  # bytes of tables above which a run is refused


@dataclass(frozen=True)
class SolveConfig:
    """What a run does: the dataclass behind CONFIG.toml.

    Attributes:
        rules: the game.
        abstraction: the card abstraction to solve in.
        bets: the bets on offer, a BetMenu or a value of one: "full" (every legal bet), another preset, sizes
            as text, or a table.
        scheme: weighting of iterations, "lcfr" (linear) or "cfr".
        sampling: "external".
        iterations: iterations to do in all (None: until the time is over).
        time: seconds to solve in all (None: until the iterations are done).
        seed: everything random follows from it.
        threads: solver threads; runs of one thread are reproducible bit for bit.
        checkpoint_every: seconds between checkpoints.
    """

    rules: Rules
    abstraction: AbstractionConfig
    bets: BetMenu = FULL
    scheme: str = "lcfr"
    sampling: str = "external"
    iterations: int | None = None
    time: float | None = None
    seed: int = 1
    threads: int = 1
    checkpoint_every: float = 300.0

    def __post_init__(self) -> None:
        def need(ok: bool, message: str) -> None:
            if not ok:
                raise ValueError(message)

        object.__setattr__(self, "bets", BetMenu.from_value(self.bets))
        need(self.scheme in SCHEMES, f"scheme must be {' or '.join(SCHEMES)}, not {self.scheme!r}")
        need(self.sampling == "external", f'sampling must be "external", not {self.sampling!r}')
        need(
            self.iterations is not None or self.time is not None,
            'give iterations = N or time = "10m": how long to solve',
        )
        need(
            self.iterations is None or _is_whole(self.iterations, 1),
            "iterations must be a positive number",
        )
        need(self.time is None or 0 < self.time < inf, "time must be a positive number of seconds")
        need(
            _is_whole(self.seed, 0) and self.seed < 1 << 63,
            f"seed must be a whole number from 0 to 2**63 - 1, not {self.seed!r}",
        )
        need(_is_whole(self.threads, 1), f"threads must be a positive number, not {self.threads!r}")
        need(self.checkpoint_every > 0, "checkpoint.every must be positive")
        self.abstraction.check_fits(self.rules)

    @classmethod
    def from_dict(cls, values: dict[str, Any], folder: Path) -> SolveConfig:
        """From the keys of a CONFIG.toml; file names are relative to `folder`."""
        values = dict(values)
        known = set(cls.__dataclass_fields__) - {"checkpoint_every"} | {"checkpoint"}
        if unknown := set(values) - known:
            raise ValueError(f"unknown key {min(unknown)!r}: a run has {', '.join(sorted(known))}")
        for key in ("rules", "abstraction"):
            if key not in values:
                raise ValueError(f"the key {key} is missing")
        checkpoint = values.pop("checkpoint", {})
        if not isinstance(checkpoint, dict) or set(checkpoint) - {"every"}:
            raise ValueError('[checkpoint] has the one key every = "5m"')
        values["rules"] = read_rules(values["rules"])
        values["abstraction"] = _abstraction_config(values["abstraction"], values["rules"], folder)
        if "time" in values:
            values["time"] = parse_duration(values["time"])
        return cls(**values, checkpoint_every=parse_duration(checkpoint.get("every", "5m")))

    @classmethod
    def from_toml(cls, path: str | Path) -> SolveConfig:
        """Read a CONFIG.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, lambda values: cls.from_dict(values, Path(path).parent))

    def to_toml(self) -> str:
        """The configuration with everything resolved; a run can be started from it again."""
        lines = [f"rules = {toml_value(rules_value(self.rules), 'rules')}"]
        lines.append(f"bets = {toml_value(self.bets.to_value(), 'bets')}")
        for key in ("scheme", "sampling", "iterations", "time", "seed", "threads"):
            value = getattr(self, key)
            if value is not None:
                lines.append(f"{key} = {json.dumps(value)}")
        lines += ["", "[checkpoint]", f"every = {self.checkpoint_every}", "", "[abstraction]"]
        described = self.abstraction.to_dict()
        rounds = described.pop("round")
        lines += [f"{key} = {toml_value(value, key)}" for key, value in described.items()]
        for entry in rounds:
            lines += ["", "[[abstraction.round]]"]
            lines += [f"{key} = {toml_value(value, key)}" for key, value in entry.items()]
        return "\n".join(lines) + "\n"

    def size(self) -> TreeSize:
        """Size of the betting tree and at most of the tables, known before anything is built."""
        return tree_size(self.rules, self.bets, self.abstraction.max_buckets())

    def estimate_bytes(self) -> int:
        """Memory that the tables take at most; a lower bound for a tree too large to be counted."""
        return self.size().table_bytes or 0

    def identity(self) -> dict[str, Any]:
        """What must agree for a run to continue another one: everything but how long and how fast."""
        rules = rules_value(self.rules)
        if isinstance(rules, dict):  # two games of other names may have equal rules
            rules = {key: value for key, value in rules.items() if key not in ("name", "description")}
        return {
            "rules": rules,
            "abstraction": self.abstraction.hash,
            "bets": self.bets.to_value(),
            "scheme": self.scheme,
            "sampling": self.sampling,
            "seed": self.seed,
        }


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _abstraction_config(source: Any, rules: Rules, folder: Path) -> AbstractionConfig:
    """From a file name, a table, "lossless", or the hash of an abstraction in the cache."""
    if isinstance(source, dict):
        return AbstractionConfig.from_dict(source)
    if not isinstance(source, str):
        raise ValueError('abstraction must be a file name, a hash, "lossless" or a table')
    if source == "lossless":
        return AbstractionConfig.lossless(rules)
    if re.fullmatch(r"[0-9a-f]{16}", source):
        header, _ = load_arrays(abstraction_path(source), "abstraction")
        return AbstractionConfig.from_dict(header["config"])
    return AbstractionConfig.from_toml(folder / source)


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
    if seconds <= 0:
        raise ValueError(f"{value!r} is not a duration: write 90s, 10m or 1h30m")
    return seconds


@dataclass(frozen=True)
class SolveProgress:
    """State of a run: iterations and seconds so far, nodes visited in this session, seconds left."""

    iterations: int
    seconds: float
    touched_nodes: int
    seconds_left: float


@dataclass(frozen=True)
class Run:
    """A finished run.

    Attributes:
        config: what was done.
        strategy: the average strategy.
        iterations, seconds: done in all, resumed parts included.
        path: the run folder, or None for a run in memory.
    """

    config: SolveConfig
    strategy: Strategy
    iterations: int
    seconds: float
    path: Path | None = None


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
        announce: called with a line that says how large it will be, before anything is built.

    Raises ValueError for a configuration that makes no sense, a folder that is in the way, a checkpoint
    of another run, or tables larger than the limit; nothing is overwritten then. SIGINT and
    SIGTERM end the run after the iterations at hand with a checkpoint and a KeyboardInterrupt.
    """
    if not isinstance(config, SolveConfig):
        config = SolveConfig.from_toml(config)
    folder = None if out is None else _RunFolder(Path(out), config, resume)
    check_nodes(config.rules, config.bets)
    size = config.size()
    taken = size.table_bytes or 0
    if taken > MEMORY_LIMIT:
        raise ValueError(
            f"the tables would take {taken / 2**30:.1f} GiB, the limit is {MEMORY_LIMIT / 2**30:.0f} GiB: "
            f"use fewer buckets{'' if config.rules.betting == 'limit' else ' or bets'}"
        )
    if announce:
        buckets = "-".join(map(str, config.abstraction.max_buckets()))
        announce(
            f"{config.rules.name}, bets {config.bets}: {sum(size.decisions):,} decision nodes, buckets at "
            f"most {buckets}, {size.infosets:,} infosets, tables at most {taken / 2**20:,.1f} MiB"
        )
    tree = betting_tree(config.rules, config.bets)
    abstraction: CardAbstraction = build_abstraction(config.abstraction, build_progress)
    tables = Tables(tree, abstraction.num_buckets)
    seconds = folder.load(tables) if folder else 0.0
    if folder:
        folder.begin(resume)
    begun_at = tables.iterations
    solver = MonteCarlo(
        tree, abstraction, tables, config.scheme, config.sampling, config.seed, config.threads
    )
    saved = perf_counter()
    with _deferred_interrupts() as interrupted:
        while (left := _time_left(config, tables.iterations, seconds)) > 0 and not interrupted:
            step = CHUNK * config.threads
            if config.iterations is not None:
                step = min(step, config.iterations - tables.iterations)
            began = perf_counter()
            solver.run(step)
            seconds += perf_counter() - began
            if progress:
                progress(SolveProgress(tables.iterations, seconds, solver.touched_nodes, left))
            if folder and perf_counter() - saved > config.checkpoint_every:
                folder.save(tables, seconds)
                saved = perf_counter()
        if interrupted:
            if folder and tables.iterations > begun_at:
                folder.save(tables, seconds)
            raise KeyboardInterrupt
    name = f"{config.rules.name} {config.scheme} {tables.iterations:,} iterations"
    strategy = Strategy(tree, abstraction, tables.average_strategy(), name)
    if folder:
        if tables.iterations > begun_at:
            folder.save(tables, seconds)
        strategy.save(folder.path / "strategy")
    return Run(config, strategy, tables.iterations, seconds, folder.path if folder else None)


@contextmanager
def _deferred_interrupts() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM instead of stopping in the middle of an iteration.

    An interrupt between two updates would leave tables that no number of iterations describes. Signals
    reach the main thread only: elsewhere the list stays empty.
    """
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield caught
        return
    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, _: caught.append(number)) for number in signals]
    try:
        yield caught
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _time_left(config: SolveConfig, iterations: int, seconds: float) -> float:
    """Seconds left by the stricter of the two limits; 0 when the run is over."""
    left = float("inf")
    if config.time is not None:
        left = config.time - seconds
    if config.iterations is not None:
        to_do = config.iterations - iterations
        if to_do <= 0:
            return 0.0
        if iterations and seconds:
            left = min(left, to_do * seconds / iterations)
    return max(left, 0.0)


def _difference(key: str, first: Any, second: Any) -> str:
    """Where two values differ; of tables only the entries that do."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return f"{key} is {first}, not {second}"
    return ", ".join(
        f"{key}.{entry} is {first.get(entry)}, not {second.get(entry)}"
        for entry in sorted({*first, *second})
        if first.get(entry) != second.get(entry)
    )


class _RunFolder:
    """The folder of a run: checks first, writes later."""

    def __init__(self, path: Path, config: SolveConfig, resume: bool):
        self.path, self.config = path, config
        self._checkpoints = path / "checkpoints"
        if resume and not (path / "config.toml").is_file():
            raise ValueError(f"{path} holds no run to resume: solve without --resume starts one")
        if not resume and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(
                f"{path} is in the way: choose another folder, or --resume to go on with its run"
            )
        self._newest = None
        if resume:
            started_as = SolveConfig.from_toml(path / "config.toml").identity()
            for key, value in config.identity().items():
                if started_as[key] != value:
                    raise ValueError(
                        f"{path} is another run: its {_difference(key, started_as[key], value)}; "
                        "resume with its own config.toml"
                    )
            names = sorted(entry.name for entry in self._checkpoints.glob("[0-9]*"))
            self._newest = self._checkpoints / names[-1] if names else None

    def load(self, tables: Tables) -> float:
        """Continue from the newest checkpoint, if there is one; seconds spent before."""
        if self._newest is None:
            return 0.0
        return float(tables.load(self._newest, self.config.identity())["seconds"])

    def begin(self, resume: bool) -> None:
        self._checkpoints.mkdir(parents=True, exist_ok=True)
        (self.path / "figures").mkdir(exist_ok=True)
        self._write("config.toml", self.config.to_toml())
        packages = ("nashfold", "numpy", "numba", "open_spiel")
        versions = {"python": platform.python_version()} | {name: version(name) for name in packages}
        self._write("versions.json", json.dumps(versions, indent=1) + "\n")
        if not resume:
            (self.path / "metrics.jsonl").touch()

    def _write(self, name: str, text: str) -> None:
        """Write a file beside its old version and rename it into place."""
        fresh = self.path / f".{name}.new"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self.path / name)

    def save(self, tables: Tables, seconds: float) -> None:
        """Write a checkpoint under a new name, then drop the older ones, and note the progress."""
        path = self._checkpoints / f"{tables.iterations:015d}"
        tables.save(path, {**self.config.identity(), "seconds": seconds})
        for other in self._checkpoints.iterdir():
            if other != path:
                shutil.rmtree(other, ignore_errors=True)
        record = {"iterations": tables.iterations, "seconds": round(seconds, 3)}
        with open(self.path / "metrics.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")

"""The folder of a run: what it was told, its checkpoints, its metrics; whole at every moment.

    config.toml     the configuration with everything resolved
    versions.json   of Python and the packages
    metrics.jsonl   one JSON object a line: checkpoints, snapshots and checks as they came
    checkpoints/    the newest one, named by its iterations
    snapshots/      strategies of the way, where averages are rebuilt from them
    strategy/       the average strategy, when the run is over
    figures/
    tables.npy      the tables at work, where they are mapped from a file; worth nothing afterwards
    lock            held while a run is at work; the system lets go of it when a run is killed

Checkpoints are written beside the old ones, synced and renamed; a line of metrics is written before the
checkpoint that it is of. Whatever a killed run left beyond its newest checkpoint is taken back when it is
resumed, so that its metrics and snapshots are those of a run that was never killed.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from .config import SolveConfig
from .solvers import HoldemSolver

_PACKAGES = ("nashfold", "numpy", "numba", "open_spiel")


class RunFolder:
    """The folder of a run: checks first, writes later.

    Args:
        path: the folder.
        config: what is to be done.
        resume: whether to go on with the run in the folder.

    Raises ValueError for a folder that is in the way, or one that holds no run or another one to resume.
    """

    def __init__(self, path: Path, config: SolveConfig, resume: bool):
        self.path, self.config, self.resume = path, config, resume
        self._checkpoints, self._snapshots = path / "checkpoints", path / "snapshots"
        if resume and not (path / "config.toml").is_file():
            raise ValueError(f"{path} holds no run to resume: solve without --resume starts one")
        if resume:
            self._check_same(SolveConfig.from_toml(path / "config.toml").identity())
        else:
            self._check_free()

    def _check_free(self) -> None:
        if self.path.exists() and not (self.path.is_dir() and _is_empty(self.path)):
            raise ValueError(
                f"{self.path} is in the way: choose another folder, or --resume to go on with its run"
            )

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runs out of the folder, which is made where there is none.

        Raises ValueError where another run is at work in it. What cannot be written to needs no lock.
        """
        if not self.resume:
            self.path.mkdir(parents=True, exist_ok=True)
        elif not os.access(self.path, os.W_OK):
            yield
            return
        with alone_in(self.path, "run"):
            if not self.resume:
                self._check_free()  # again: nobody else has begun a run there meanwhile
            yield

    @property
    def _newest(self) -> Path | None:
        """The newest checkpoint of a run to be resumed."""
        names = sorted(entry.name for entry in self._checkpoints.glob("[0-9]*")) if self.resume else []
        return self._checkpoints / names[-1] if names else None

    def newest_header(self) -> dict[str, Any]:
        """What the newest checkpoint says of itself, unchecked; {} where there is none."""
        newest = self._newest
        try:
            found = {} if newest is None else json.loads((newest / "header.json").read_text("utf-8"))
        except (OSError, ValueError):  # `load` says what is wrong with it
            return {}
        return found if isinstance(found, dict) else {}

    def _check_same(self, started_as: dict[str, Any]) -> None:
        wanted = self.config.identity()
        for key in (*wanted, *started_as):
            before, now = started_as.get(key), wanted.get(key)
            if before != now:
                raise ValueError(
                    f"{self.path} is another run: its {_difference(key, before, now)}; "
                    "resume with its own config.toml"
                )

    def load(self, solver: HoldemSolver) -> dict[str, Any]:
        """Go on from the newest checkpoint: its header, or {} where there is none."""
        newest = self._newest
        return {} if newest is None else solver.load(newest, self.config.identity())

    def begin(self) -> None:
        """Make the folder, or write down with what it goes on."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._write("config.toml", self.config.to_toml())  # first: a folder with it is a run
        for folder in (self._checkpoints, self.path / "figures"):
            folder.mkdir(exist_ok=True)
        versions = {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}
        self._write("versions.json", json.dumps(versions, indent=1) + "\n")
        if not self.resume:
            self._write("metrics.jsonl", "")

    def take_back(self, iterations: int) -> None:
        """Take back what a killed run did beyond its checkpoint of so many iterations."""
        self._clear_unfinished()
        kept = self._kept_metrics(iterations)
        if kept != self._metrics_text():
            self._write("metrics.jsonl", kept)
        for path in self._later_snapshots(iterations):
            shutil.rmtree(path)

    def is_tidy(self, iterations: int) -> bool:
        """Whether there is nothing to take back beyond a checkpoint of so many iterations."""
        leftovers = [*self._unfinished(), *self._later_snapshots(iterations)]
        if leftovers or (self.path / "tables.npy").exists():
            return False
        return self._kept_metrics(iterations) == self._metrics_text()

    def _kept_metrics(self, iterations: int) -> str:
        """Metrics as far as a checkpoint, each record once."""
        kept: dict[tuple[str, int], str] = {}
        for record in self.metrics():
            if record.get("iterations", 0) <= iterations:
                name = record.get("event", ""), record.get("iterations", 0)
                kept.setdefault(name, json.dumps(record) + "\n")
        return "".join(kept.values())

    def _metrics_text(self) -> str | None:
        path = self.path / "metrics.jsonl"
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None

    def _later_snapshots(self, iterations: int) -> list[Path]:
        return [path for path in self._snapshots.glob("[0-9]*") if int(path.name) > iterations]

    def _unfinished(self) -> list[Path]:
        """What was half-written, or half-removed, when a run was killed."""
        folders = (self.path, self._checkpoints, self._snapshots)
        found = [
            path for folder in folders for end in ("new", "old") for path in folder.glob(f".*.{end}")
        ]
        return found + sorted(self._checkpoints.glob("[0-9]*"))[:-1]

    def _clear_unfinished(self) -> None:
        for path in self._unfinished():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)

    def _write(self, name: str, text: str) -> None:
        """Write a file beside its old version and rename it into place."""
        fresh = self.path / f".{name}.new"
        with full_disk_told(self.path / name):
            with open(fresh, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(fresh, self.path / name)

    def metrics(self) -> list[dict[str, Any]]:
        """The records of metrics.jsonl; a line that was not finished is left out."""
        found = []
        for line in (self._metrics_text() or "").splitlines():
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                found.append(record)
        return found

    def note(self, record: dict[str, Any]) -> None:
        """Add a line to metrics.jsonl."""
        path = self.path / "metrics.jsonl"
        with full_disk_told(path), open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def save(self, solver: HoldemSolver, header: dict[str, Any], record: dict[str, Any]) -> None:
        """Note a record, write a checkpoint under a new name, then drop the older ones.

        A checkpoint of these iterations that is there already is left alone: it is not to be in danger.

        Args:
            solver: whose checkpoint it is.
            header: what the run must know to go on.
            record: for metrics.jsonl.
        """
        path = self._checkpoints / f"{solver.iterations:015d}"
        if path.exists():
            return
        self.note(record)
        try:
            with full_disk_told(path):
                solver.save(path, {**self.config.identity(), **header})
        except OSError:
            self._clear_unfinished()  # room for others; the last checkpoint is whole
            raise
        for other in self._checkpoints.iterdir():
            if other != path:
                shutil.rmtree(other, ignore_errors=True)


@contextmanager
def alone_in(folder: Path, what: str) -> Iterator[None]:
    """Hold the lock of a folder; ValueError where another run (or whatever `what` says) is at work in it."""
    lock = FileLock(folder / "lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"{folder}: another {what} is at work in this folder: wait for its end or choose another one"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _is_empty(folder: Path) -> bool:
    """Whether there is nothing, or the first things that a run writes, not yet whole."""
    return all(entry.name in (".config.toml.new", "lock") for entry in folder.iterdir())


@contextmanager
def full_disk_told(path: Path) -> Iterator[None]:
    """Turn the errors of a full disk into an OSError that says so, and what to do."""
    try:
        yield
    except OSError as error:
        # NumPy tells of a short write in words alone: "5688 requested and 3040 written".
        is_short = error.errno is None and "requested and" in str(error)
        if not is_short and error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise OSError(
            errno.ENOSPC, "the disk is full: free some space, then go on with --resume", str(path)
        ) from error


def _difference(key: str, first: Any, second: Any) -> str:
    """Where two values differ; of tables only the entries that do."""
    if not (isinstance(first, dict) and isinstance(second, dict)):
        return f"{key} is {first}, not {second}"
    return ", ".join(
        f"{key}.{entry} is {first.get(entry)}, not {second.get(entry)}"
        for entry in sorted({*first, *second})
        if first.get(entry) != second.get(entry)
    )

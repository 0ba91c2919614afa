"""The folder of a study: what was asked, the results so far, table and figure, and the runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..solver.run_folder import alone_in
from .study_entries import Cell
from .study_file import Study
from .study_report import study_figure, study_table


class StudyFolder:
    """The folder of a study and the results in it.

        study.toml      what was ever studied here
        results.jsonl   an object for each cell and mark, in the order in which they came
        table.md
        study.png
        runs/           a run folder for each cell
        lock            held while a study is at work

    Args:
        path: the folder; `held` opens it.
        study: what is to be done. Marks, seeds, abstractions and solvers may differ from those before.

    Raises ValueError if the folder holds something else; `held` also if it holds another study, or if one is
    at work in it.
    """

    def __init__(self, path: Path, study: Study):
        self.path, self.study = path, study
        self._rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        holds_study = (path / "study.toml").is_file()
        free = not path.exists() or (
            path.is_dir() and all(entry.name == "lock" for entry in path.iterdir())
        )
        if not holds_study and not free:
            raise ValueError(f"{path} holds no study: choose another folder with --out")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Open the folder, which is made where it is missing, and keep other studies out of it."""
        self.path.mkdir(parents=True, exist_ok=True)
        with alone_in(self.path, "study"):
            everything = self.study
            if (self.path / "study.toml").is_file():
                before = Study.from_toml(self.path / "study.toml")
                self._check_same(before)
                self._read_results()
                everything = _joined(self.study, before)
            self._write("study.toml", everything.to_toml())
            yield

    def _check_same(self, before: Study) -> None:
        def refuse(what: str, way: str = "") -> None:
            raise ValueError(
                f"{self.path} is another study: its {what}: {way}choose another folder with --out"
            )

        study = self.study
        for key in ("rules", "scheme", "flops", "threads_per_run"):
            if getattr(before, key) != getattr(study, key):
                refuse(f"{key} differ")
        if before.by_time != study.by_time:
            refuse("marks are times" if before.by_time else "marks are iterations")
        if bool(before.solvers) != bool(study.solvers):
            refuse("solvers have names" if before.solvers else "solver has no name")
        rename = "give it another name, or "
        for contender in study.contenders:
            for other in before.contenders:
                same = other.with_seed(0).hash == contender.with_seed(0).hash
                if other.name == contender.name and not same:
                    refuse(f"abstraction {other.name!r} differs", rename)
        for solver in study.solvers:
            for former in before.solvers:
                if former.name == solver.name and {**former.keys} != {**solver.keys}:
                    refuse(f"solver {former.name!r} differs", rename)

    def _read_results(self) -> None:
        """Read the results so far; a line that was broken off is dropped."""
        path = self.path / "results.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if whole != lines:
            self._write("results.jsonl", "".join(whole))
        for number, line in enumerate(whole, 1):
            try:
                self._add(json.loads(line))
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}: line {number} is not a result of a study") from None

    def _add(self, row: dict[str, Any]) -> None:
        mark = row["time"] if self.study.by_time else row["iterations"]
        # Results of earlier versions have no solver.
        self._rows[row["name"], row.get("solver", ""), row["seed"], mark] = row

    def _write(self, name: str, text: str) -> None:
        """Write a file beside its old version and rename it into place."""
        fresh = self.path / f".{name}.new"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self.path / name)

    def run(self, cell: Cell) -> Path:
        """The folder of a run."""
        contender, solver, seed = cell.key
        runs = self.path / "runs"
        return (
            runs / contender / f"{solver} seed {seed}" if solver else runs / f"{contender} seed {seed}"
        )

    def missing(self, cell: Cell) -> list[int] | list[float]:
        """The marks that have no result yet, ascending."""
        return [mark for mark in self.study.marks if (*cell.key, mark) not in self._rows]

    def append(self, row: dict[str, Any]) -> None:
        """Take a new result, on disk as well."""
        self._add(row)
        with open(self.path / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def results(self) -> list[dict[str, Any]]:
        """The study's results, in its order."""
        study = self.study
        return [self._rows[*cell.key, mark] for cell in study.cells() for mark in study.marks]

    def summarise(self) -> None:
        """Write the table and the figure of the study's results."""
        rows = self.results()
        self._write("table.md", study_table(self.study, rows))
        figure = study_figure(self.study, rows)
        figure.savefig(self.path / "study.png", dpi=110)


def _joined(study: Study, before: Study) -> Study:
    """A study with what an earlier one had beside: its results stay, and must stay what they are of."""
    contenders = {contender.name for contender in study.contenders}
    solvers = {solver.name for solver in study.solvers}
    return replace(
        study,
        contenders=study.contenders + tuple(c for c in before.contenders if c.name not in contenders),
        solvers=study.solvers + tuple(s for s in before.solvers if s.name not in solvers),
    )

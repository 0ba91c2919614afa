"""Studies in words: one game solved in several card abstractions, or by several solvers, each result scored.

A STUDY.toml has:

    rules = "short-limit"
    iterations = [1_000_000, 10_000_000]     # where each strategy is scored, ascending, or:
    times = ["1m", "10m"]                    # seconds of solving, however many iterations these are
    seeds = [1, 2]                           # of clusterings and sampling; default [1]
    scheme = "lcfr"                          # default; or [[solver]] tables
    threads_per_run = 1                      # default
    flops = "all"                            # exact scores (default), or the number of flops to draw

    [[abstraction]]
    name = "lossless"
    lossless = true

    [[abstraction]]
    name = "mine"
    file = "ABSTRACTION.toml"                # beside the study

    [[abstraction]]
    name = "ehs"                             # three abstractions, "ehs 5" to "ehs 100": each number is the
    buckets = [5, 20, 100]                   # buckets of those rounds that take some and do not say how many
    recall = "perfect"                       # default "imperfect"
    round = [{ feature = "preflop-classes" }, { feature = "ehs" }, { feature = "ehs" }]

    [[solver]]                               # every solver in every abstraction; default: external sampling
    name = "CFR-BR"
    sampling = "public-chance"               # this and all else about the solver as in a CONFIG.toml
    best_response_from = "turn"

An abstraction with a `seed` of its own, or from a file, is the same for all seeds of the study. Abstractions
or solvers of one `group` (default: those of one table) share a colour in the figure.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product
from math import inf
from pathlib import Path
from typing import Any

from ..game.presets import read_rules, rules_value
from ..game.rules import Rules, is_whole
from ..game.toml_file import read_toml, toml_value
from ..solver.config import SolveConfig
from ..solver.schedule import parse_duration
from .study_entries import Cell, Contender, StudySolver, read_contenders, read_solver

SHIPPED = Path(__file__).parent / "studies"


@dataclass(frozen=True)
class Study:
    """A study in words: the dataclass behind STUDY.toml.

    Attributes:
        rules: the game.
        contenders: the abstractions, of different names.
        iterations: where each cell is scored, ascending; or
        times: the same in seconds of solving. One of the two is empty.
        scheme: of external sampling, where no solvers are named; a name or a table, as in `SolveConfig`.
        seeds: each abstraction is built, solved and scored once for each.
        flops: "all", or the number of flops drawn for an estimate, as in `best_response`; the same ones for
            every cell, so that what they hide is hidden from all.
        solvers: of different names.
        threads_per_run: solver threads of each cell.
    """

    rules: Rules
    contenders: tuple[Contender, ...]
    iterations: tuple[int, ...] = ()
    scheme: Any = "lcfr"
    seeds: tuple[int, ...] = (1,)
    flops: str | int = "all"
    solvers: tuple[StudySolver, ...] = ()
    threads_per_run: int = 1
    times: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        self._check_marks()
        if not self.seeds or not all(is_whole(seed, 0) for seed in self.seeds):
            raise ValueError(f"each seed must be a whole number, not {[*self.seeds]}")
        if len({*self.seeds}) < len(self.seeds):
            raise ValueError(f"seeds must be different whole numbers, not {[*self.seeds]}")
        if self.flops != "all" and not is_whole(self.flops, 1):
            raise ValueError(f'flops must be "all" or a positive number, not {self.flops!r}')
        if not is_whole(self.threads_per_run, 1):
            raise ValueError(f"threads_per_run must be a positive number, not {self.threads_per_run!r}")
        if not self.contenders:
            raise ValueError("a study needs [[abstraction]] tables")
        _check_different(self.contenders, "abstractions")
        _check_different(self.solvers, "solvers")
        if self.solvers and self.scheme != "lcfr":
            raise ValueError("with [[solver]] tables the scheme is said in each of them")
        for cell in self.cells():
            try:
                self.solve_config(cell)  # which checks the rest
            except ValueError as error:
                name = cell.solver.name
                raise ValueError(f"solver {name!r}: {error}" if name else str(error)) from None

    def _check_marks(self) -> None:
        if bool(self.iterations) == bool(self.times):
            raise ValueError(
                "a study has iterations or times, where everything is scored: give one list"
            )
        marks: tuple[float, ...] = self.marks
        if self.by_time:
            if not all(0 < mark < inf for mark in marks) or sorted({*marks}) != [*marks]:
                raise ValueError(f"times must be positive seconds, ascending, not {[*marks]}")
        elif not all(is_whole(mark, 1) for mark in marks) or sorted({*marks}) != [*marks]:
            raise ValueError(f"iterations must be positive whole numbers, ascending, not {[*marks]}")

    @property
    def by_time(self) -> bool:
        """Whether marks are seconds of solving, not iterations."""
        return bool(self.times)

    @property
    def marks(self) -> tuple[int, ...] | tuple[float, ...]:
        """Where each cell is scored: iterations, or seconds of solving."""
        return self.times or self.iterations

    def mark_name(self, mark: float) -> str:
        """A mark in words: "1,000", or with times "1m30s"."""
        if not self.by_time:
            return f"{mark:,}"
        minutes, seconds = divmod(mark, 60)
        hours, minutes = divmod(int(minutes), 60)
        parts = ((hours, "h"), (minutes, "m"), (round(seconds, 3), "s"))
        return "".join(f"{number:g}{unit}" for number, unit in parts if number)

    def cells(self) -> list[Cell]:
        """Every abstraction with every solver and seed, in the order of the study."""
        solvers = self.solvers or (StudySolver("", {"scheme": self.scheme}),)
        return [Cell(*cell) for cell in product(self.contenders, solvers, self.seeds)]

    def solve_config(self, cell: Cell, mark: float | None = None) -> SolveConfig:
        """The run of a cell, up to a mark; default: the last."""
        config = SolveConfig(
            self.rules,
            cell.contender.with_seed(cell.seed),
            seed=cell.seed,
            threads=self.threads_per_run,
            **self._until(self.marks[-1]),
            **cell.solver.fields(self.rules),
        )
        horizon = config.weighting().horizon
        if horizon is not None:  # of a schedule: the same at all marks
            config = replace(config, constants={**config.constants, "horizon": horizon})
        return config if mark is None else replace(config, **self._until(mark))

    def _until(self, mark: float) -> dict[str, Any]:
        """The field of a `SolveConfig` that ends a run at a mark."""
        return {"time" if self.by_time else "iterations": mark}

    def at_times(self, times: Iterable[Any]) -> Study:
        """The study scored at other marks: seconds of solving, or texts such as "20s"."""
        return replace(self, iterations=(), times=tuple(map(parse_duration, times)))

    def only(self, names: Iterable[str]) -> Study:
        """The part of the study about some abstractions or solvers, by their names or groups.

        Where no abstraction is named all are kept, and so with solvers. Raises ValueError for unknown names.
        """
        names = [*names]
        entries: list[Contender | StudySolver] = [*self.contenders, *self.solvers]
        known = [name for entry in entries for name in (entry.name, entry.group)]
        if unknown := next((name for name in names if name not in known), None):
            raise ValueError(
                f"nothing in the study is called {unknown!r}: there are {', '.join(dict.fromkeys(known))}"
            )
        contenders = [entry for entry in self.contenders if {entry.name, entry.group} & {*names}]
        solvers = [entry for entry in self.solvers if {entry.name, entry.group} & {*names}]
        return replace(
            self,
            contenders=tuple(contenders) or self.contenders,
            solvers=tuple(solvers) or self.solvers,
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any], folder: Path) -> Study:
        """From the keys of a STUDY.toml; files of abstractions are relative to `folder`."""
        lists = {"abstraction", "solver", "iterations", "times", "seeds"}
        known = {"rules", "scheme", "flops", "threads_per_run", *lists}
        if unknown := set(values) - known:
            raise ValueError(f"unknown key {min(unknown)!r}: a study has {', '.join(sorted(known))}")
        for key in ("rules", "abstraction", *(() if "times" in values else ("iterations",))):
            if key not in values:
                raise ValueError(f"the key {key} is missing")
        for key in sorted(lists):
            if not isinstance(values.get(key, []), list):
                raise ValueError(f"{key} must be a list, not {values[key]!r}")
        rules = read_rules(values["rules"])
        contenders = [
            contender
            for table in values["abstraction"]
            for contender in read_contenders(table, rules, folder)
        ]
        single = ("scheme", "flops", "threads_per_run")
        rest: dict[str, Any] = {key: values[key] for key in single if key in values}
        rest |= {key: tuple(values[key]) for key in ("iterations", "seeds") if key in values}
        rest["times"] = tuple(map(parse_duration, values.get("times", ())))
        rest["solvers"] = tuple(map(read_solver, values.get("solver", ())))
        return cls(rules, tuple(contenders), **rest)

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Read a STUDY.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, lambda values: cls.from_dict(values, Path(path).parent))

    def to_toml(self) -> str:
        """The study with everything resolved: grids spread out, files read."""
        values = {
            "rules": rules_value(self.rules),
            "times" if self.by_time else "iterations": self.marks,
        }
        if not self.solvers:
            values["scheme"] = self.scheme
        for key in ("seeds", "flops", "threads_per_run"):
            values[key] = getattr(self, key)
        lines = _lines(values)
        for contender in self.contenders:
            lines += ["", "[[abstraction]]", *_lines(contender.to_dict())]
        for solver in self.solvers:
            lines += ["", "[[solver]]", *_lines(solver.to_dict())]
        return "\n".join(lines) + "\n"


def _check_different(entries: tuple[Contender, ...] | tuple[StudySolver, ...], what: str) -> None:
    names = [entry.name for entry in entries]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"two {what} are called {twice!r}: give them names of their own")


def _lines(values: dict[str, Any]) -> list[str]:
    return [f"{key} = {toml_value(value, key)}" for key, value in values.items()]


def open_study(source: str) -> Study:
    """A study from a file, or one that is shipped by its name; ValueError if there is neither."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}
    if source in shipped and not Path(source).exists():
        return Study.from_toml(shipped[source])
    if not Path(source).exists():
        raise ValueError(f"unknown study {source!r}: a file, or one of {', '.join(shipped)}")
    return Study.from_toml(source)

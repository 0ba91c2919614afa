"""Studies: one game solved in several card abstractions, every strategy scored in the real game.

A STUDY.toml has:

    rules = "short-limit"
    iterations = [1_000_000, 10_000_000]     # where each strategy is scored, ascending
    seeds = [1, 2]                           # of clusterings and sampling; default [1]
    scheme = "lcfr"                          # default
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

An abstraction with a `seed` of its own, or from a file, is the same for all seeds of the study. Those of one
`group` (default: those of one table) share a colour in the figure.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from ..abstraction.build import build_abstraction
from ..abstraction.config import BUCKETED, AbstractionConfig
from ..abstraction.equity import Progress
from ..game.presets import read_rules, rules_value
from ..game.rules import Rules, is_whole
from ..game.statistics import standard_error
from ..game.toml_file import read_toml, toml_value
from ..solver.run import SolveConfig, SolveProgress, solve
from ..solver.scoring.best_response import best_response
from .progress import stage_bar

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHIPPED = Path(__file__).parent / "studies"


@dataclass(frozen=True)
class Contender:
    """An abstraction of a study.

    Attributes:
        name: what it is called in results; also the name of its folder of runs.
        config: the abstraction.
        group: those of a group share a colour.
        keeps_seed: whether its seed is its own; else it is that of the study.
    """

    name: str
    config: AbstractionConfig
    group: str
    keeps_seed: bool = False

    def with_seed(self, seed: int) -> AbstractionConfig:
        """The abstraction in a study of this seed."""
        return self.config if self.keeps_seed else replace(self.config, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """The keys of an [[abstraction]] table, as TOML values."""
        described = self.config.to_dict()
        del described["rules"]
        if not self.keeps_seed:
            del described["seed"]
        return {"name": self.name, "group": self.group, **described}


@dataclass(frozen=True)
class Study:
    """A study in words: the dataclass behind STUDY.toml.

    Attributes:
        rules: the game.
        contenders: the abstractions, of different names.
        iterations: where each is scored, ascending.
        scheme: as in `SolveConfig`.
        seeds: each abstraction is built, solved and scored once for each.
        flops: "all", or the number of flops drawn for an estimate, as in `best_response`.
    """

    rules: Rules
    contenders: tuple[Contender, ...]
    iterations: tuple[int, ...]
    scheme: str = "lcfr"
    seeds: tuple[int, ...] = (1,)
    flops: str | int = "all"

    def __post_init__(self) -> None:
        marks = self.iterations
        if not marks or not all(is_whole(mark, 1) for mark in marks) or sorted({*marks}) != [*marks]:
            raise ValueError(f"iterations must be positive whole numbers, ascending, not {[*marks]}")
        if not self.seeds or not all(is_whole(seed, 0) for seed in self.seeds):
            raise ValueError(f"each seed must be a whole number, not {[*self.seeds]}")
        if len({*self.seeds}) < len(self.seeds):
            raise ValueError(f"seeds must be different whole numbers, not {[*self.seeds]}")
        if self.flops != "all" and not is_whole(self.flops, 1):
            raise ValueError(f'flops must be "all" or a positive number, not {self.flops!r}')
        names = [contender.name for contender in self.contenders]
        if not names:
            raise ValueError("a study needs [[abstraction]] tables")
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise ValueError(f"two abstractions are called {twice!r}: give them names of their own")
        for contender in self.contenders:
            for seed in self.seeds:
                self.solve_config(contender, seed)  # which checks the rest

    def solve_config(self, contender: Contender, seed: int) -> SolveConfig:
        """The run of an abstraction, up to the last mark."""
        return SolveConfig(
            self.rules,
            contender.with_seed(seed),
            scheme=self.scheme,
            iterations=self.iterations[-1],
            seed=seed,
        )

    @classmethod
    def from_dict(cls, values: dict[str, Any], folder: Path) -> Study:
        """From the keys of a STUDY.toml; files of abstractions are relative to `folder`."""
        known = {"rules", "abstraction", "iterations", "scheme", "seeds", "flops"}
        if unknown := set(values) - known:
            raise ValueError(f"unknown key {min(unknown)!r}: a study has {', '.join(sorted(known))}")
        for key in ("rules", "abstraction", "iterations"):
            if key not in values:
                raise ValueError(f"the key {key} is missing")
        for key in ("abstraction", "iterations", "seeds"):
            if not isinstance(values.get(key, []), list):
                raise ValueError(f"{key} must be a list, not {values[key]!r}")
        rules = read_rules(values["rules"])
        contenders = [
            contender
            for table in values["abstraction"]
            for contender in _read_contenders(table, rules, folder)
        ]
        rest: dict[str, Any] = {key: values[key] for key in ("scheme", "flops") if key in values}
        rest |= {key: tuple(values[key]) for key in ("iterations", "seeds") if key in values}
        return cls(rules, tuple(contenders), **rest)

    @classmethod
    def from_toml(cls, path: str | Path) -> Study:
        """Read a STUDY.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, lambda values: cls.from_dict(values, Path(path).parent))

    def to_toml(self) -> str:
        """The study with everything resolved: grids spread out, files read."""
        values = {
            "rules": rules_value(self.rules),
            "iterations": self.iterations,
            "scheme": self.scheme,
            "seeds": self.seeds,
            "flops": self.flops,
        }
        lines = [f"{key} = {toml_value(value, key)}" for key, value in values.items()]
        for contender in self.contenders:
            lines += ["", "[[abstraction]]"]
            lines += [f"{key} = {toml_value(value, key)}" for key, value in contender.to_dict().items()]
        return "\n".join(lines) + "\n"


def _read_contenders(table: Any, rules: Rules, folder: Path) -> list[Contender]:
    """The abstractions of an [[abstraction]] table: several where `buckets` is a list."""
    known = {"name", "group", "lossless", "file", "buckets", "round", "recall", "seed"}
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or set(table) - known:
        raise ValueError(
            f"an [[abstraction]] has a name and some of {', '.join(sorted(known - {'name'}))}"
        )
    name, group = table["name"], table.get("group", table["name"])
    if not name or name.startswith(".") or "/" in name or "\\" in name or not isinstance(group, str):
        raise ValueError(f"{name!r} cannot be the name of an abstraction: it names a folder, too")
    try:
        if "file" in table or "lossless" in table:
            if set(table) - {"name", "group"} not in ({"file"}, {"lossless"}):
                raise ValueError("with file or lossless there is nothing else to say")
            if "file" in table:
                config = AbstractionConfig.from_toml(folder / str(table["file"]))
                return [Contender(name, config, group, keeps_seed=True)]
            if table["lossless"] is not True:
                raise ValueError("lossless is true or left out")
            return [Contender(name, AbstractionConfig.lossless(rules), group)]
        numbers = table.get("buckets")
        if numbers is not None and (not isinstance(numbers, list) or not numbers):
            raise ValueError(f"buckets must be a list such as [5, 20, 100], not {numbers!r}")
        rest = {key: table[key] for key in ("recall", "seed") if key in table}
        contenders = []
        for number in numbers or [None]:
            entries = table.get("round")
            if number is not None and isinstance(entries, list):
                entries = [_with_buckets(entry, number) for entry in entries]
            config = AbstractionConfig.from_dict({"rules": rules_value(rules), "round": entries, **rest})
            own = name if number is None else f"{name} {number}"
            contenders.append(Contender(own, config, group, "seed" in table))
        return contenders
    except ValueError as error:
        raise ValueError(f"abstraction {name!r}: {error}") from None


def _with_buckets(entry: Any, number: int) -> Any:
    """A round with this number of buckets, where it takes one and has none."""
    if not isinstance(entry, dict) or "buckets" in entry or entry.get("feature") not in BUCKETED:
        return entry
    return entry | {"buckets": number}


def run_study(
    study: Study,
    out: str | Path,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    build_progress: Progress | None = None,
    announce: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Solve and score whatever is missing in the folder of a study; all its results.

    Each abstraction is solved in one thread, so that results are reproducible, and scored at every mark on
    the way. A study that was broken off goes on, also with more abstractions, seeds or marks than before.

    Args:
        study: what to do.
        out: its folder: study.toml, results.jsonl (an object for each abstraction, seed and mark, in the
            order in which they came), table.md, study.png, and the runs, which `nashfold score` or
            `nashfold match` can open.
        threads: number of abstractions that are solved side by side.
        progress: called with the iterations done and to do, from several threads but never twice at once.
        build_progress: called while abstractions are built.
        announce: called with each new result.

    Returns a dict for each abstraction, seed and mark, in the order of the study: name, seed, hash,
    buckets, iterations, seconds (of solving), scoring_seconds, and the fields of `Exploitability`.

    Raises ValueError if `out` holds something else, or another study.
    """
    if not is_whole(threads, 1):
        raise ValueError(f"threads must be a positive number, not {threads!r}")
    folder = _StudyFolder(Path(out), study)
    runs = [(contender, seed) for contender in study.contenders for seed in study.seeds]
    # The longest first: nobody waits for them in the end.
    runs.sort(key=lambda run: -study.solve_config(*run).estimate_bytes())
    wanted = [run for run in runs if folder.missing(*run)]
    for contender, seed in wanted:
        build_abstraction(contender.with_seed(seed), build_progress)
    done = dict.fromkeys(((contender.name, seed) for contender, seed in wanted), 0)
    lock, stop = threading.Lock(), threading.Event()

    def work(contender: Contender, seed: int) -> None:
        def tell(state: SolveProgress) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            if progress:
                with lock:
                    done[contender.name, seed] = state.iterations
                    progress(sum(done.values()), study.iterations[-1] * len(done))

        for mark in folder.missing(contender, seed):
            row = _solve_and_score(study, contender, seed, mark, folder.run(contender, seed), tell)
            with lock:
                folder.append(row)
                if announce:
                    announce(row)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, *run) for run in wanted]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    rows = folder.results()
    folder.summarise(rows)
    return rows


def _solve_and_score(
    study: Study,
    contender: Contender,
    seed: int,
    mark: int,
    run_folder: Path,
    progress: Callable[[SolveProgress], None],
) -> dict[str, Any]:
    """Go on with a run up to a mark; the result there."""
    config = replace(study.solve_config(contender, seed), iterations=mark)
    if not (run_folder / "config.toml").is_file():  # killed before it began
        shutil.rmtree(run_folder, ignore_errors=True)
    run = solve(config, run_folder, run_folder.exists(), progress)
    if run.iterations > mark:  # the mark is new to the study
        shutil.rmtree(run_folder)
        run = solve(config, run_folder, progress=progress)
    score = asdict(best_response(run.strategy, study.flops, seed, threads=1))
    score["per_position"] = [*score["per_position"]]  # as it is read again
    return {
        "name": contender.name,
        "seed": seed,
        "hash": config.abstraction.hash,
        "buckets": run.strategy.abstraction.num_buckets,
        "iterations": mark,
        "seconds": run.seconds,
        "scoring_seconds": score.pop("seconds"),
        **score,
    }


class _StudyFolder:
    """The folder of a study and the results in it."""

    def __init__(self, path: Path, study: Study):
        self.path, self.study = path, study
        self._rows: dict[tuple[str, int, int], dict[str, Any]] = {}
        if (path / "study.toml").is_file():
            self._check_same(Study.from_toml(path / "study.toml"))
            self._read_results()
        elif path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ValueError(f"{path} holds no study: choose another folder with --out")
        path.mkdir(parents=True, exist_ok=True)
        self._write("study.toml", study.to_toml())

    def _check_same(self, before: Study) -> None:
        for key in ("rules", "scheme", "flops"):
            if getattr(before, key) != getattr(self.study, key):
                raise ValueError(
                    f"{self.path} is another study: its {key} differ: choose another folder with --out"
                )
        for contender in self.study.contenders:
            for other in before.contenders:
                same = other.with_seed(0).hash == contender.with_seed(0).hash
                if other.name == contender.name and not same:
                    raise ValueError(
                        f"{self.path} is another study: its abstraction {other.name!r} differs: "
                        "give it another name, or choose another folder with --out"
                    )

    def _read_results(self) -> None:
        """Read the results so far; a line that was broken off is dropped."""
        path = self.path / "results.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if whole != lines:
            self._write("results.jsonl", "".join(whole))
        for number, line in enumerate(whole, 1):
            try:
                row = json.loads(line)
                self._rows[row["name"], row["seed"], row["iterations"]] = row
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{path}: line {number} is not a result of a study") from None

    def _write(self, name: str, text: str) -> None:
        """Write a file beside its old version and rename it into place."""
        fresh = self.path / f".{name}.new"
        fresh.write_text(text, encoding="utf-8")
        os.replace(fresh, self.path / name)

    def run(self, contender: Contender, seed: int) -> Path:
        """The folder of a run."""
        return self.path / "runs" / f"{contender.name} seed {seed}"

    def missing(self, contender: Contender, seed: int) -> list[int]:
        """The marks that have no result yet, ascending."""
        return [m for m in self.study.iterations if (contender.name, seed, m) not in self._rows]

    def append(self, row: dict[str, Any]) -> None:
        self._rows[row["name"], row["seed"], row["iterations"]] = row
        with open(self.path / "results.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def results(self) -> list[dict[str, Any]]:
        """The study's results, in its order."""
        return [
            self._rows[contender.name, seed, mark]
            for contender in self.study.contenders
            for seed in self.study.seeds
            for mark in self.study.iterations
        ]

    def summarise(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write the table and the figure."""
        self._write("table.md", study_table(self.study, rows))
        figure = study_figure(self.study, rows)
        figure.savefig(self.path / "study.png", dpi=110)


def _scores(rows: Sequence[dict[str, Any]], name: str, mark: int) -> np.ndarray:
    """Exploitability in mbb/h of an abstraction at a mark, double [seed]."""
    found = [row for row in rows if row["name"] == name and row["iterations"] == mark]
    return np.array([row["mbb_per_hand"] for row in found])


def study_table(study: Study, rows: Sequence[dict[str, Any]]) -> str:
    """The results as a Markdown table: exploitability in mbb/h, with several seeds its mean and error."""
    header = ["abstraction", "buckets", *(f"{mark:,}" for mark in study.iterations), "seconds"]
    lines = [header]
    for contender in study.contenders:
        own = [row for row in rows if row["name"] == contender.name]
        cells = []
        for mark in study.iterations:
            scores = _scores(rows, contender.name, mark)
            error = f" ± {standard_error(scores):.1f}" if len(scores) > 1 else ""
            cells.append(f"{scores.mean():.1f}{error}")
        seconds = np.mean([row["seconds"] for row in own if row["iterations"] == study.iterations[-1]])
        buckets = "-".join(map(str, own[0]["buckets"]))
        lines.append([contender.name, buckets, *cells, f"{seconds:.0f}"])
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * widths[0], "-" * widths[1], *(f"{'-' * (width - 1)}:" for width in widths[2:])]
    text = ""
    for line in [lines[0], rule, *lines[1:]]:
        padded = [
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text += f"| {' | '.join(padded)} |\n"
    return text


def study_figure(study: Study, rows: Sequence[dict[str, Any]]) -> Figure:
    """Exploitability against iterations, a line for each abstraction."""
    from matplotlib.figure import Figure

    from .plots import exploitability_curves

    curves = [
        (
            contender.name,
            contender.group,
            [(mark, float(_scores(rows, contender.name, mark).mean())) for mark in study.iterations],
        )
        for contender in study.contenders
    ]
    figure = Figure(figsize=(9, 6), layout="constrained")
    how = "exact" if study.flops == "all" else f"estimated on {study.flops} flops"
    title = f"{study.rules.name}: best response in the real game, {how}"
    exploitability_curves(curves, title, "iterations of external sampling", figure.add_subplot())
    return figure


def open_study(source: str) -> Study:
    """A study from a file, or one that is shipped by its name; ValueError if there is neither."""
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}
    if source in shipped and not Path(source).exists():
        return Study.from_toml(shipped[source])
    if not Path(source).exists():
        raise ValueError(f"unknown study {source!r}: a file, or one of {', '.join(shipped)}")
    return Study.from_toml(source)


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("study", metavar="STUDY.toml", help="or the name of a shipped study")
    parser.add_argument("--out", metavar="FOLDER", help="default: runs/NAME of the study")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="abstractions that are solved side by side"
    )


def run_study_command(options: argparse.Namespace) -> dict[str, Any]:
    """Run a study, print its table (with `options.json` nothing), and give its results."""
    study = open_study(options.study)
    out = Path(options.out or Path("runs") / Path(options.study).stem)
    with stage_bar("boards") as building, stage_bar("it") as solving:

        def announce(row: dict[str, Any]) -> None:
            text = (
                f"{row['name']}, seed {row['seed']}: {row['iterations']:,} iterations in "
                f"{row['seconds']:.1f} s, {row['mbb_per_hand']:.1f} mbb/h"
            )
            tqdm.write(text, file=sys.stderr)

        rows = run_study(
            study,
            out,
            options.threads,
            lambda done, total: solving("solving", done, total),
            building,
            announce,
        )
    if not options.json:
        print(f"{study.rules.name}: exploitability in the real game in mbb/h after so many iterations\n")
        print(study_table(study, rows))
        print(f"results, table and figure: {out}")
    return {"path": str(out), "results": rows}

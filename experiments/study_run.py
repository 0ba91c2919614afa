"""Running a study: every abstraction solved by every solver, and scored in the real game on the way."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from ..abstraction.build import build_abstraction
from ..abstraction.equity import Progress
from ..game.rules import is_whole
from ..solver.config import SolveConfig
from ..solver.run import Run, SolveProgress, solve
from ..solver.run_folder import RunFolder
from ..solver.scoring.best_response import best_response
from .study_entries import Cell
from .study_file import Study
from .study_folder import StudyFolder

FLOPS_SEED = 1  # of the flops of an estimate, the same for every cell


def run_study(
    study: Study,
    out: str | Path,
    threads: int = 1,
    progress: Callable[[float, float], None] | None = None,
    build_progress: Progress | None = None,
    announce: Callable[[dict[str, Any]], None] | None = None,
) -> list[dict[str, Any]]:
    """Solve and score whatever is missing in the folder of a study; all its results.

    Each cell (an abstraction, a solver and a seed) is a run that is scored at every mark on the way. With
    marks in iterations and one thread a run, results are reproducible. With marks in seconds those of solving
    are counted, without compiling, building and scoring; a run ends with the iterations at hand, so that it
    may be over the mark by some tenths of a second, or by an iteration where these are longer. Such marks are
    to be compared only where every run had a core for each of its threads.

    A study that was broken off goes on, also with more abstractions, solvers, seeds or marks than before.

    Args:
        study: what to do.
        out: its folder (`StudyFolder`); `nashfold score` or `nashfold match` can open the runs in it.
        threads: number of cells that are solved side by side.
        progress: called with the iterations, or seconds, done and to do, from several threads but never twice
            at once.
        build_progress: called while abstractions are built.
        announce: called with each new result.

    Returns a dict for each cell and mark, in the order of the study: name (of the abstraction), solver, seed,
    hash, buckets, time (of the mark, with marks in seconds only), iterations, seconds (of solving),
    touched_nodes_per_second (since the run was last taken up, as a rule at the mark before), unit (what these
    count), scoring_seconds, and the fields of `Exploitability`.

    Raises ValueError if `out` holds something else, or another study, or one is at work in it.
    """
    if not is_whole(threads, 1):
        raise ValueError(f"threads must be a positive number, not {threads!r}")
    folder = StudyFolder(Path(out), study)
    with folder.held():
        return _run(study, folder, threads, progress, build_progress, announce)


def _run(
    study: Study,
    folder: StudyFolder,
    threads: int,
    progress: Callable[[float, float], None] | None,
    build_progress: Progress | None,
    announce: Callable[[dict[str, Any]], None] | None,
) -> list[dict[str, Any]]:
    """`run_study` in an open folder."""
    wanted = [cell for cell in study.cells() if folder.missing(cell)]
    if not study.by_time:  # the longest first: nobody waits for them in the end
        wanted.sort(key=lambda cell: -study.solve_config(cell).estimate_bytes())
    for contender, seed in dict.fromkeys((cell.contender, cell.seed) for cell in wanted):
        build_abstraction(contender.with_seed(seed), build_progress)
    done: dict[Any, float] = dict.fromkeys((cell.key for cell in wanted), 0)
    lock, stop = threading.Lock(), threading.Event()
    # A study of one run at a time scores with all cores.
    scoring_threads = None if threads == 1 else study.threads_per_run

    def work(cell: Cell) -> None:
        def tell(state: SolveProgress) -> None:
            if stop.is_set():
                raise KeyboardInterrupt
            if progress:
                with lock:
                    last = study.marks[-1]
                    done[cell.key] = min(state.seconds if study.by_time else state.iterations, last)
                    progress(sum(done.values()), last * len(done))

        if study.by_time:
            _warm_up(study.solve_config(cell))
        for mark in folder.missing(cell):
            if stop.is_set():
                raise KeyboardInterrupt
            row = _solve_and_score(study, cell, mark, folder.run(cell), tell, scoring_threads)
            with lock:
                folder.append(row)
                if announce:
                    announce(row)

    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, cell) for cell in wanted]
        try:
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    folder.summarise()
    return folder.results()


def _warm_up(config: SolveConfig) -> None:
    """One iteration elsewhere, so that nothing is compiled on the clock."""
    solve(replace(config, iterations=1, time=None))


def _solve_and_score(
    study: Study,
    cell: Cell,
    mark: float,
    run_folder: Path,
    progress: Callable[[SolveProgress], None],
    scoring_threads: int | None,
) -> dict[str, Any]:
    """Go on with a run up to a mark; the result there."""
    config = study.solve_config(cell, mark)
    run, speed = _solve(config, run_folder, progress)
    score = asdict(best_response(run.strategy, study.flops, FLOPS_SEED, threads=scoring_threads))
    score["per_position"] = [*score["per_position"]]  # as it is read again
    return {
        "name": cell.contender.name,
        "solver": cell.solver.name,
        "seed": cell.seed,
        "hash": config.abstraction.hash,
        "buckets": run.strategy.abstraction.num_buckets,
        **({"time": mark} if study.by_time else {}),
        "iterations": run.iterations,
        "seconds": run.seconds,
        "touched_nodes_per_second": speed,
        "unit": run.unit,
        "scoring_seconds": score.pop("seconds"),
        **score,
    }


def _solve(
    config: SolveConfig, path: Path, progress: Callable[[SolveProgress], None]
) -> tuple[Run, float]:
    """A run in its folder, up to its mark, and the nodes a second of the session that got there."""
    if not (path / "config.toml").is_file():  # killed before it began
        shutil.rmtree(path, ignore_errors=True)
    elif _is_past(config, path):  # the mark is new to the study: leave the run where it is
        run = solve(config, progress=progress)
        return run, run.nodes_per_second
    run = solve(config, path, path.exists(), progress)
    # This session has nothing to say where the last one was killed while it scored.
    speeds = [
        record["nodes_per_second"]
        for record in RunFolder(path, config, resume=True).metrics()
        if record.get("event") == "checkpoint" and record["iterations"] == run.iterations
    ]
    return run, speeds[-1] if speeds else run.nodes_per_second


def _is_past(config: SolveConfig, path: Path) -> bool:
    """Whether the run in a folder has gone beyond the mark, on its way to a later one."""
    goal = SolveConfig.from_toml(path / "config.toml")
    records = RunFolder(path, config, resume=True).metrics()
    reached = [record for record in records if record.get("event") == "checkpoint"]
    if config.iterations is not None:
        return any(record["iterations"] > config.iterations for record in reached)
    assert config.time is not None
    assert goal.time is not None
    return goal.time > config.time and any(record["seconds"] > config.time for record in reached)

"""The command `nashfold study`: abstractions or solvers compared by real-game exploitability."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tqdm import tqdm

from .progress import stage_bar
from .study_file import Study, open_study
from .study_report import study_table
from .study_run import run_study


def add_study_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("study", metavar="STUDY.toml", help="or the name of a shipped study")
    parser.add_argument("--out", metavar="FOLDER", help="default: runs/NAME of the study")
    parser.add_argument(
        "--threads", type=int, default=1, metavar="N", help="runs that are solved side by side"
    )
    parser.add_argument(
        "--times", metavar="TIME,...", help="seconds of solving to score at, such as 20s,1m"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="these abstractions, solvers or groups of them alone"
    )


def _asked_for(options: argparse.Namespace) -> Study:
    """The study of the file, with what the options say; ValueError for anything wrong."""
    study = open_study(options.study)
    if options.times is not None:
        study = study.at_times(options.times.split(","))
    return study if options.only is None else study.only(options.only)


def run_study_command(options: argparse.Namespace) -> dict[str, Any]:
    """Run a study, print its table (with `options.json` nothing), and give its results."""
    study = _asked_for(options)
    out = Path(options.out or Path("runs") / Path(options.study).stem)
    with stage_bar("boards") as building, stage_bar("s" if study.by_time else "it") as solving:

        def announce(row: dict[str, Any]) -> None:
            names = ", ".join(filter(None, (row["name"], row["solver"])))
            text = (
                f"{names}, seed {row['seed']}: {row['iterations']:,} iterations in "
                f"{row['seconds']:.1f} s, {row['mbb_per_hand']:.1f} mbb/h"
            )
            tqdm.write(text, file=sys.stderr)

        rows = run_study(
            study,
            out,
            options.threads,
            lambda done, total: solving("solving", round(done, 1), total),
            building,
            announce,
        )
    if not options.json:
        marks = "such times of solving" if study.by_time else "so many iterations"
        print(
            f"{study.rules.name}: exploitability in the real game in mbb/h after {marks}{_how(study, rows)}\n"
        )
        print(study_table(study, rows))
        print(f"results, table and figure: {out}")
    return {"path": str(out), "results": rows}


def _how(study: Study, rows: list[dict[str, Any]]) -> str:
    """What is to be said of estimates."""
    if study.flops == "all":
        return ""
    estimated = f",\nestimated on {study.flops} flops, the same ones for all"
    if study.flops == 1:  # which says nothing about its error
        return estimated
    error = max(row["standard_error"] for row in rows)
    return f"{estimated} (standard errors up to {error:.1f})"

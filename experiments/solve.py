"""The command `nashfold solve`: a run in its folder, with progress, checks and a way to go on."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..abstraction.estimate import estimate_build
from ..solver.config import SolveConfig
from ..solver.run import Run, size_in_words, solve
from ..solver.schedule import parse_duration
from .options import read_flops_option
from .progress import solve_bar, stage_bar

_RESUMED_WITH = (
    "time", "iterations", "threads", "scheme", "sampling", "seed", "checkpoint_every", "snapshots_every",
    "check_every", "check_flops",
)  # fmt: skip


def add_solve_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""

    def option(name: str, metavar: str, text: str, **details: Any) -> None:
        parser.add_argument(name, metavar=metavar, help=text, **details)

    parser.add_argument("config", metavar="CONFIG.toml")
    option("--out", "RUN", "folder of the run; needed, but for --estimate")
    parser.add_argument("--resume", action="store_true", help="go on with the run in that folder")
    parser.add_argument("--estimate", action="store_true", help="say how large it is, and solve nothing")
    limit = parser.add_mutually_exclusive_group()
    limit.add_argument("--time", metavar="TIME", help="how long to solve in all, such as 10m")
    limit.add_argument("--iterations", metavar="N", type=int, help="how many to do in all")
    option("--threads", "N", "threads to solve with", type=int)
    option("--seed", "S", "of everything random", type=int)
    option("--scheme", "NAME", "weighting of the iterations")
    option("--sampling", "NAME", "what an iteration visits")
    when = "a time such as 5m, or '100_000 iterations'"
    option("--checkpoint-every", "WHEN", f"how often to save: {when}")
    option("--snapshots-every", "WHEN", "how often to keep the current strategy")
    option("--check-every", "WHEN", "how often to measure the exploitability in the real game")
    option("--check-flops", "all|N", "on all flops, or on so many drawn by weight")


def configured(options: argparse.Namespace) -> SolveConfig:
    """The configuration of the file with what the options say instead.

    Raises ValueError for wrong values.
    """
    config = SolveConfig.from_toml(options.config)
    changes: dict[str, Any] = {
        name: getattr(options, name) for name in _RESUMED_WITH if getattr(options, name) is not None
    }
    if "time" in changes:
        changes |= {"time": parse_duration(changes["time"]), "iterations": None}
    elif "iterations" in changes:
        changes["time"] = None
    if "scheme" in changes:
        changes["constants"] = {}
    if "check_flops" in changes:
        changes["check_flops"] = read_flops_option(changes["check_flops"], "--check-flops")
    return replace(config, **changes)


def run_solve(options: argparse.Namespace) -> dict[str, Any]:
    """Solve, and print what came of it; the same as JSON values.

    Raises ValueError for a mistake in the configuration and KeyboardInterrupt, having said how to go on.
    """
    if options.out is None and not options.estimate:
        raise ValueError(
            "the following arguments are required: --out (nashfold solve --help tells the options)"
        )
    config = configured(options)
    if options.estimate:
        return _estimate(config, options.json)
    try:
        with stage_bar("boards") as building, solve_bar(config) as solving:
            run = solve(config, options.out, options.resume, solving, building, _say)
    except KeyboardInterrupt:
        if (Path(options.out) / "config.toml").exists():
            words = ["nashfold", "solve", options.config, "--out", options.out, "--resume"]
            for name in _RESUMED_WITH:
                if getattr(options, name) is not None:
                    words += [f"--{name.replace('_', '-')}", str(getattr(options, name))]
            print(f"stopped; go on with: {shlex.join(words)}", file=sys.stderr)
        raise
    if not options.json:
        print(f"{run.strategy.name} in {run.seconds:.1f} s: {run.path}")
        for check in run.checks:
            print(
                f"after {check.iterations:,} iterations, {check.seconds:.1f} s: {check.exploitability}"
            )
    found = {
        "path": str(run.path),
        "iterations": run.iterations,
        "seconds": run.seconds,
        "check_seconds": run.check_seconds,
        "touched_nodes": run.touched_nodes,
        "touched_nodes_per_second": run.nodes_per_second,
        "unit": run.unit,
        "abstraction": run.strategy.abstraction.hash,
        "checks": [check.to_dict() for check in run.checks],
    }
    if run.checks:
        found["figure"] = str(_draw(run))
        if not options.json:
            print(f"figure: {found['figure']}")
    return found


def _estimate(config: SolveConfig, json_only: bool) -> dict[str, Any]:
    """How large a run is: nothing is built."""
    size = config.size()
    if not json_only:
        print(size_in_words(config))
    return {
        "rules": config.rules.name,
        "bets": config.bets.to_value(),
        "nodes": size.nodes,
        "decisions": list(size.decisions),
        "slots": list(size.slots),
        "is_complete": size.is_complete,
        "buckets": config.abstraction.max_buckets(),
        "infosets": size.infosets,
        "storage": config.storage,
        "memory": config.memory(),
        "memory_bytes": config.estimate_bytes(),
        "abstraction_bytes": estimate_build(config.abstraction).stored_bytes,
    }


def _draw(run: Run) -> Path:
    """Exploitability against time of solving, of all the checks in the run's folder."""
    from matplotlib.figure import Figure

    from .plots import exploitability_curve

    assert run.path is not None
    lines = (run.path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    checks = [record for record in map(json.loads, lines) if record.get("event") == "check"]
    points = [(record["seconds"], record["mbb_per_hand"]) for record in checks]
    flops = checks[-1]["flops"] if checks[-1]["kind"] == "estimate" else "all"
    title = (
        f"{run.config.rules.name}, {run.config.scheme}, {run.config.sampling} sampling: {flops} flops"
    )
    path = run.path / "figures" / "exploitability.png"
    figure = Figure(figsize=(6.4, 4), layout="constrained")
    exploitability_curve(points, title, "seconds of solving", figure.add_subplot())
    figure.savefig(path, dpi=110)
    return path


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)

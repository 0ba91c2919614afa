"""The main road in a few minutes: rules, abstraction, solving, scoring in the real game, a match.

Run by `make demo`; everything it writes stands in the folder that it is given (default runs/demo).
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from matplotlib.figure import Figure

from ..abstraction.config import AbstractionConfig, RoundConfig
from ..game.match import play_match
from ..game.presets import preset
from ..solver.config import SolveConfig
from ..solver.run import Run, solve
from ..solver.schedule import Every
from ..solver.scoring.best_response import Exploitability, best_response
from ..solver.strategy import BuiltIn, Strategy, StrategyPlayer
from .plots import exploitability_curve, strategy_grid
from .progress import counting_bar, solve_bar, stage_bar


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="runs/demo", help="folder for the results; made anew")
    parser.add_argument("--seconds", type=float, default=60.0, help="for solving, and for scoring")
    options = parser.parse_args()
    out = Path(options.out)
    if out.exists():
        if not (out / "demo.json").exists() and any(out.iterdir()):
            print(f"{out} is not a folder of the demo: choose another one with --out", file=sys.stderr)
            return 2
        shutil.rmtree(out)
    out.mkdir(parents=True)
    (out / "demo.json").write_text("{}\n", encoding="utf-8")
    try:
        demo(out, options.seconds)
    except KeyboardInterrupt:
        print("\nstopped; `make demo` starts again from the abstraction in the cache", file=sys.stderr)
        return 130
    return 0


def demo(out: Path, seconds: float = 60.0) -> dict[str, Any]:
    """Run the demo with that much time for solving and as much for scoring; the figures as JSON values."""
    started = perf_counter()
    _title(
        "1. Limit hold'em (acpc-limit): an abstraction of 169-50-50-50 buckets, and external sampling"
    )
    print("   (the first run compiles the kernels: some seconds more at each step)", flush=True)
    limit = preset("acpc-limit")
    buckets = (RoundConfig("preflop-classes"), *[RoundConfig("ehs", 50)] * 3)
    config = SolveConfig(
        limit,
        AbstractionConfig(limit, buckets),
        time=seconds,
        threads=2,
        checkpoint_every=Every(30.0),
    )
    run = _solve(config, out / "acpc-limit")
    print(f"   {run.iterations:,} iterations in {run.seconds:.0f} s; {run.strategy.abstraction}")

    _title("2. Scored in the real game: best responses that see real cards, on flops drawn by weight")
    best_response("always-call", flops=1, rules=limit)  # compiles
    trial = best_response(run.strategy, flops=2, seed=2)
    flops = max(6, int(seconds / (trial.seconds / 2)))
    scores = [_score(run.strategy, flops)]
    scores += [_score(name, flops) for name in ("always-call", "always-fold")]
    print(
        "   exploitability in mbb/h, average over positions; 750 and 1163.476 are exact for the last two"
    )

    _title("3. 20,000 hands of the real game with duplicate deals against call-or-raise")
    opponent = StrategyPlayer(BuiltIn("call-or-raise"), seed=2)
    with counting_bar("   hands", "hands") as progress:
        match = play_match(
            [run.strategy.player(1), opponent], limit, 20_000, seed=1, duplicate=True, progress=progress
        )
    print(f"   {run.strategy.name}: {match}")

    _title("4. Flop hold'em (flop-limit) with 200 buckets: exact real-game exploitability against time")
    curve, solved = _flop_curve(seconds)
    figure = Figure(figsize=(11, 5.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    exploitability_curve(
        [(point["seconds"], point["mbb_per_hand"]) for point in curve],
        "flop-limit, 169-200 buckets, external sampling:\nexact best response in the real game",
        "seconds of solving (one thread)",
        left,
    )
    strategy_grid(solved, ax=right)
    path = out / "flop-limit.png"
    figure.savefig(path, dpi=110)
    print(f"   figure: {path}")

    results = {
        "acpc_limit": {"iterations": run.iterations, "seconds": run.seconds},
        "scores": [asdict(score) for score in scores],
        "match": asdict(match),
        "flop_limit": curve,
        "seconds": perf_counter() - started,
    }
    (out / "demo.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(f"\nDone in {results['seconds']:.0f} s; all figures: {out / 'demo.json'}")
    return results


def _title(text: str) -> None:
    print(f"\n{text}", flush=True)


def _solve(config: SolveConfig, out: Path | None = None) -> Run:
    with stage_bar("boards") as building, solve_bar(config) as solving:
        return solve(config, out, progress=solving, build_progress=building)


def _score(strategy: Strategy | str, flops: int) -> Exploitability:
    with counting_bar("   best response", "flops") as progress:
        score = best_response(strategy, flops, seed=1, rules=preset("acpc-limit"), progress=progress)
    print(f"   {score.strategy:42} {score}", flush=True)
    return score


def _flop_curve(seconds: float) -> tuple[list[dict[str, Any]], Strategy]:
    """Solve flop-limit for longer and longer and score each strategy exactly."""
    rules = preset("flop-limit")
    rounds = (RoundConfig("preflop-classes"), RoundConfig("ehs", 200))
    config = SolveConfig(rules, AbstractionConfig(rules, rounds), iterations=1)
    points: list[dict[str, Any]] = []
    strategy = None
    iterations = 10_000
    while strategy is None or points[-1]["seconds"] < seconds / 8:
        run = _solve(replace(config, iterations=iterations))
        strategy = run.strategy
        with counting_bar("   best response", "flops") as progress:
            score = best_response(strategy, progress=progress)
        points.append(asdict(score) | {"seconds": run.seconds, "iterations": iterations})
        print(
            f"   {iterations:>12,} iterations, {run.seconds:5.1f} s: {score.mbb_per_hand:7.1f} mbb/h",
            flush=True,
        )
        iterations *= 3
    return points, strategy


if __name__ == "__main__":
    sys.exit(main())

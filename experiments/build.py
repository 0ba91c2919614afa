"""The command `nashfold build`: a card abstraction into the cache folder, and what it is like."""

from __future__ import annotations

import argparse
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any

from ..abstraction.build import abstraction_path, build_abstraction
from ..abstraction.config import AbstractionConfig
from ..abstraction.estimate import estimate_build
from ..abstraction.summary import summary
from .progress import stage_bar


def add_build_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument("config", metavar="ABSTRACTION.toml")
    parser.add_argument(
        "--estimate", action="store_true", help="say how big it would be, and build nothing"
    )
    parser.add_argument("--summary", action="store_true", help="say what the buckets are like")
    parser.add_argument("--figures", metavar="FOLDER", help="draw what the buckets are like")


def run_build(options: argparse.Namespace) -> dict[str, Any]:
    """Build an abstraction, or find it in the cache, and print what was asked for; the same as JSON values.

    Raises ValueError for a configuration that makes no sense.
    """
    config = AbstractionConfig.from_toml(options.config)
    path = abstraction_path(config.hash)
    estimate = estimate_build(config)
    found: dict[str, Any] = {"hash": config.hash, "path": str(path), "estimate": asdict(estimate)}
    if options.estimate:
        if not options.json:
            print(estimate)
        return found
    print(estimate, file=sys.stderr, flush=True)
    started = perf_counter()
    try:
        with stage_bar("boards") as progress:
            abstraction = build_abstraction(config, progress)
    except KeyboardInterrupt:
        rounds_now = estimate_build(config).rounds
        kept = [str(index) for index, entry in enumerate(rounds_now) if entry.is_stored]
        rounds = f"kept in the cache: round {', '.join(kept)}" if kept else "no round was finished"
        command = shlex.join(["nashfold", "build", options.config])
        print(f"stopped ({rounds}); go on with: {command}", file=sys.stderr)
        raise
    found |= {"buckets": abstraction.num_buckets, "seconds": perf_counter() - started}
    if not options.json:
        print(f"abstraction {abstraction.hash}, buckets {' '.join(map(str, abstraction.num_buckets))}, "
              f"{found['seconds']:.1f} s: {path}")  # fmt: skip
    if options.summary:
        described = summary(abstraction)
        found["summary"] = asdict(described)
        if not options.json:
            print(f"\n{described}")
    if options.figures is not None:
        from .plots import abstraction_figures

        found["figures"] = [
            str(file) for file in abstraction_figures(abstraction, Path(options.figures))
        ]
        if not options.json:
            print("figures:", *found["figures"])
    return found

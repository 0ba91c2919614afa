"""A program that starts runs, kills them at random moments, and lets them go on each time.

It compiles everything once and then forks, so that a kill costs milliseconds; it runs in a process of its
own, since one with threads should not fork. What came of it goes to standard output, a line for each
configuration.

    python crashes.py FOLDER KILLS SEED        FOLDER holds NAME/config.toml for each run
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from nashfold.solver import solve

SHARE = 0.12  # of an unbroken run: the longest life of a process


def is_killed(config: Path, run: Path, life: float) -> bool:
    """Begin or resume a run in another process and kill it after so many seconds; whether it still lived."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            solve(config, run, resume=(run / "config.toml").exists())
            code = 0
        finally:
            os._exit(code)
    time.sleep(life)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a run that was killed before did not go on: {run}")
    return os.WIFSIGNALED(status)


def crash(folder: Path, kills: int, rng: np.random.Generator) -> dict:
    """Kill a run so many times and let it end; compare it with the same run unbroken."""
    config, run = folder / "config.toml", folder / "killed"
    began = time.perf_counter()
    whole = solve(config, folder / "whole")
    longest = SHARE * (time.perf_counter() - began)
    checkpoints, half_written = [], 0
    while len(checkpoints) < kills:
        if not is_killed(config, run, rng.uniform(0, longest)):  # it was through: kill another one
            run = folder / f"killed{len(checkpoints)}"
            continue
        found = [int(path.name) for path in (run / "checkpoints").glob("[0-9]*")]
        checkpoints.append(max(found, default=0))
        half_written += any(run.rglob(".*"))
    resumed = solve(config, run, resume=(run / "config.toml").exists())
    same = [
        bool(np.array_equal(one, other))
        for one, other in zip(whole.strategy.tables, resumed.strategy.tables, strict=True)
    ]
    return {
        "name": folder.name,
        "run": run.name,
        "checkpoints": checkpoints,
        "half_written": half_written,
        "same": same,
        "iterations": resumed.iterations,
    }


if __name__ == "__main__":
    random = np.random.default_rng(int(sys.argv[3]))
    for path in sorted(Path(sys.argv[1]).glob("*/config.toml")):
        print(json.dumps(crash(path.parent, int(sys.argv[2]), random)), flush=True)

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

MOST = 3  # checkpoints that a process lives to write, at most
SHARE = 0.04  # of the time of an unbroken run: the longest life after that


def newest(run: Path) -> int:
    """Iterations of the newest checkpoint, 0 where there is none."""
    return max((int(path.name) for path in (run / "checkpoints").glob("[0-9]*")), default=0)


def is_killed(config: Path, run: Path, written: int, life: float) -> bool:
    """Begin or resume a run in another process and kill it; whether it still lived.

    It dies so many seconds after it has written so many checkpoints: counted so, kills fall all along the way
    on a slow machine as well.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            solve(config, run, resume=(run / "config.toml").exists())
            code = 0
        finally:
            os._exit(code)
    last, ended, status = newest(run), 0, 0
    while written and not ended:
        time.sleep(0.001)
        ended, status = os.waitpid(child, os.WNOHANG)
        if (found := newest(run)) != last:
            last, written = found, written - 1
    if not ended:
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
        written, life = int(rng.integers(MOST + 1)), rng.uniform(0, longest)
        if not is_killed(config, run, written, life):  # it was through: kill another one
            run = folder / f"killed{len(checkpoints)}"
            continue
        checkpoints.append(newest(run))
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

"""Which flops a score walks, drawn by weight or all, and with how many threads."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

MAX_FLOPS = 1_000_000

BoardProgress = Callable[[int, int], None]
"""Called with the boards done and the boards in all."""


def num_threads(threads: int | None) -> int:
    """Threads to walk flops with: as many as there are cores where it is left open.

    Raises ValueError for less than one.
    """
    if threads is None:
        return os.cpu_count() or 1
    if threads < 1:
        raise ValueError(f"threads must be a positive number, not {threads}")
    return threads


def draw_flops(orbits: np.ndarray, flops: str | int, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Numbers of the distinct flops to walk, and for each draw its place among them (None for all flops).

    Args:
        orbits: number of real flops that each flop stands for: its weight.
        flops: "all" or the number of draws.
        seed: of the draw.

    Raises ValueError for another `flops`, or a negative seed.
    """
    if flops == "all":
        return np.arange(len(orbits)), None
    if not isinstance(flops, int) or isinstance(flops, bool) or not 1 <= flops <= MAX_FLOPS:
        raise ValueError(
            f'flops must be "all" or a positive number of flops up to {MAX_FLOPS:,}, not {flops!r}'
        )
    if seed < 0:
        raise ValueError(f"the seed must not be negative, not {seed}")
    drawn = np.random.default_rng(seed).choice(len(orbits), size=flops, p=orbits / orbits.sum())
    return np.unique(drawn, return_inverse=True)

"""Kernels, which release the GIL, on chunks of their points in several threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

Tick = Callable[[int], Any]
"""Called with the number of points done."""


def in_chunks(
    work: Callable[[slice], Any], size: int, step: int, threads: int = 2, tick: Tick | None = None
) -> list[Any]:
    """Results of `work` on the chunks of so many steps of 0 to size - 1, in their order."""
    slices = [slice(at, min(at + step, size)) for at in range(0, size, max(step, 1))]
    pool = ThreadPoolExecutor(threads)
    results = []
    try:
        found = pool.map(work, slices) if len(slices) > 1 else map(work, slices)
        for part, result in zip(slices, found, strict=True):
            results.append(result)
            if tick is not None:
                tick(part.stop)
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt does not wait for the chunks that are left
    return results

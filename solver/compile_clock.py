"""How long compiling takes, which is not solving."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from numba.core.event import Listener, install_listener

COMPILING = "compiling what this machine has not run before: once, later runs find it in a cache"


class CompileClock(Listener):
    """Adds up the time that Numba compiles while it is listened to; loading from its cache is not counted.

    Numba compiles under a lock, so that the times of several threads do not overlap; what other threads
    solve meanwhile is not told apart from it.

    Args:
        announce: called with a line, once, when compiling begins.

    Attributes:
        seconds: so far.
    """

    def __init__(self, announce: Callable[[str], None] | None = None):
        self.seconds = 0.0
        self._announce = announce
        self._depth = 0  # a kernel that calls another one compiles it on the way
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        self._depth += 1
        if self._depth == 1:
            self._began = perf_counter()
        if self._announce:
            self._announce(COMPILING)
            self._announce = None

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += perf_counter() - self._began


@contextmanager
def compile_clock(announce: Callable[[str], None] | None = None) -> Iterator[CompileClock]:
    """A clock that runs while something is compiled in the block."""
    clock = CompileClock(announce)
    with install_listener("numba:compile", clock):
        yield clock

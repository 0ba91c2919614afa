"""Compiling is told once and is no time of solving."""

from __future__ import annotations

from time import perf_counter

import numba
from nashfold.solver.compile_clock import COMPILING, CompileClock, compile_clock


def test_the_time_of_compiling_is_told_apart():
    @numba.njit
    def inner(x):
        return x + 1

    @numba.njit
    def outer(x):
        return inner(x) * 2

    said: list[str] = []
    with compile_clock(said.append) as clock:
        assert clock.seconds == 0
        began = perf_counter()
        assert outer(1) == 4
        whole = perf_counter() - began
        compiled = clock.seconds
        assert 0 < compiled < whole
        assert outer(2) == 6
        assert clock.seconds == compiled
        assert outer(1.0) == 4.0
        assert clock.seconds > compiled
    assert said == [COMPILING]
    before = clock.seconds
    outer(1j)
    assert clock.seconds == before


def test_what_is_compiled_on_the_way_does_not_count_twice(monkeypatch):
    times = iter([10.0, 17.0, 20.0, 21.5])
    monkeypatch.setattr("nashfold.solver.compile_clock.perf_counter", lambda: next(times))
    clock = CompileClock()
    for event in (clock.on_start, clock.on_start, clock.on_end, clock.on_end):
        event(None)
    assert clock.seconds == 7
    clock.on_start(None)
    clock.on_end(None)
    assert clock.seconds == 8.5

"""What progress bars say about a run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from nashfold.experiments.progress import state_in_words
from nashfold.solver import SolveProgress
from nashfold.solver.checks import Check
from nashfold.solver.scoring.best_response import Exploitability

STATE = SolveProgress(
    iterations=1_234_567,
    seconds=12.0,
    check_seconds=3.0,
    seconds_left=7.0,
    touched_nodes=180_000_000,
    unit="nodes",
    iterations_per_second=102_880.6,
    nodes_per_second=15_000_000.0,
)
EXACT = Exploitability(253.83, 507.66, "exact", (200.0, 307.66), 0.0, 253.83, 0.0, 166)


def test_the_speed_is_told():
    assert state_in_words(STATE) == "1,234,567 iterations, 102,881/s, 15.0M nodes/s"
    slow = replace(STATE, nodes_per_second=999.4, unit="node-hands")
    assert state_in_words(slow).endswith(", 999 node-hands/s")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (EXACT, "253.8 mbb/h after 1,000,000"),
        (replace(EXACT, kind="estimate", standard_error=9.87), "253.8 +- 9.9 mbb/h after 1,000,000"),
        (replace(EXACT, kind="estimate", standard_error=float("nan")), "253.8 mbb/h after 1,000,000"),
    ],
)
def test_the_last_check_is_told(found, words):
    state = replace(STATE, check=Check(1_000_000, 10.0, found))
    assert state_in_words(state).endswith(f"nodes/s, {words}")

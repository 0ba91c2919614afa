"""The results of a study as a table and as a figure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..game.statistics import standard_error
from .study_entries import Cell
from .study_file import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Rows = Sequence[dict[str, Any]]


def study_table(study: Study, rows: Rows) -> str:
    """The results as a Markdown table: exploitability in mbb/h, with several seeds its mean and error.

    Beside it stand the iterations (where marks are times; with the seconds that they took where the last one
    ended long after the mark) and the nodes touched in a second.
    """
    texts = ["abstraction", *["solver"] * bool(study.solvers), "buckets"]
    header = [*texts]
    for mark in study.marks:
        header += [study.mark_name(mark), *["iterations", "touched"] * study.by_time]
    lines = [header if study.by_time else [*header, "seconds", "touched"]]
    for cell, at_marks in _by_mark(study, rows):
        line = [cell.contender.name, *[cell.solver.name] * bool(study.solvers)]
        line.append("-".join(map(str, at_marks[0][0]["buckets"])))
        for own in at_marks:
            scores = _column(own, "mbb_per_hand")
            error = f" ± {standard_error(scores):.1f}" if len(scores) > 1 else ""
            line.append(f"{scores.mean():.1f}{error}")
            if study.by_time:
                line += [_iterations(own), _touched(own)]
        if not study.by_time:
            line += [f"{_column(at_marks[-1], 'seconds').mean():.0f}", _touched(at_marks[-1])]
        lines.append(line)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    left = len(texts)
    rule = [
        "-" * width if place < left else f"{'-' * (width - 1)}:" for place, width in enumerate(widths)
    ]
    text = ""
    for line in [lines[0], rule, *lines[1:]]:
        padded = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        text += f"| {' | '.join(padded)} |\n"
    return text


def study_figure(study: Study, rows: Rows) -> Figure:
    """Exploitability against iterations or seconds, a line for each abstraction and solver."""
    from matplotlib.figure import Figure

    from .plots import exploitability_curves

    curves = []
    for cell, at_marks in _by_mark(study, rows):
        parts = [(cell.contender.name, cell.contender.group), (cell.solver.name, cell.solver.group)]
        if not study.solvers:
            parts = parts[:1]
        elif len(study.contenders) == 1:
            parts = parts[1:]
        name, group = (", ".join(part) for part in zip(*parts, strict=True))
        key = "seconds" if study.by_time else "iterations"
        points = [
            (float(_column(own, key).mean()), float(_column(own, "mbb_per_hand").mean()))
            for own in at_marks
        ]
        curves.append((name, group, points))
    figure = Figure(figsize=(9, 6), layout="constrained")
    how = "exact" if study.flops == "all" else f"estimated on {study.flops} flops"
    title = f"{study.rules.name}: best response in the real game, {how}"
    unit = "iterations" if study.solvers else "iterations of external sampling"
    unit = "seconds of solving" if study.by_time else unit
    exploitability_curves(curves, title, unit, figure.add_subplot())
    return figure


def _by_mark(study: Study, rows: Rows) -> Iterator[tuple[Cell, list[Rows]]]:
    """For each abstraction and solver its cell of the first seed, and the results of all seeds by mark."""
    key = "time" if study.by_time else "iterations"
    for cell in study.cells():
        if cell.seed == study.seeds[0]:
            names = cell.key[:2]
            own = [row for row in rows if (row["name"], row.get("solver", "")) == names]
            yield cell, [[row for row in own if row[key] == mark] for mark in study.marks]


def _column(rows: Rows, key: str) -> np.ndarray:
    """A figure of some results, double [seed]."""
    return np.array([row[key] for row in rows], float)


def _iterations(rows: Rows) -> str:
    """The mean iterations at a time, such as "1,000"; or "1 (12.0 s)" where these took over 5 % longer."""
    seconds = _column(rows, "seconds").mean()
    late = f" ({seconds:.1f} s)" if seconds > 1.05 * rows[0]["time"] else ""
    return f"{_column(rows, 'iterations').mean():,.0f}{late}"


def _touched(rows: Rows) -> str:
    """The mean speed, such as "12.3M nodes/s"; nothing for results of earlier versions."""
    if any("unit" not in row for row in rows):
        return ""
    return f"{_column(rows, 'touched_nodes_per_second').mean() / 1e6:.2f}M {rows[0]['unit']}/s"

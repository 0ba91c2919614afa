"""Figures: exploitability against time, and strategies on the 13 x 13 grid of starting hands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogFormatter

from ..abstraction.equity import preflop_classes
from ..game.betting import Action
from ..game.cards import RANKS
from ..solver.strategy import Strategy

#: Fold coldest, all-in most intense; told apart by colour-blind readers (after Okabe and Ito 2008).
PALETTE = {
    "fold": "#56b4e9",
    "check": "#009e73",
    "call": "#009e73",
    "bet": "#e69f00",
    "raise-to": "#e69f00",
    "all-in": "#d55e00",
}
#: Lines, told apart by colour-blind readers (Okabe and Ito 2008).
LINE_COLOURS = ("#000000", "#d55e00", "#0072b2", "#009e73", "#e69f00", "#cc79a7", "#56b4e9", "#b0a000")


def exploitability_curve(
    points: Sequence[tuple[float, float]], title: str, unit: str = "seconds", ax: Axes | None = None
) -> Axes:
    """Plot exploitability in mbb/h against time or iterations, both on logarithmic scales.

    Args:
        points: (time, exploitability) pairs.
        title: what was solved and how it was scored.
        unit: of the first numbers.
        ax: where to draw; default: a new figure.
    """
    ax = ax or Figure(figsize=(6.4, 4), layout="constrained").add_subplot()
    time, value = np.array(points).T
    ax.loglog(time, value, marker="o", color="#0072b2")
    _draw_log_axes(ax, title, unit)
    return ax


def exploitability_curves(
    curves: Sequence[tuple[str, str, Sequence[tuple[float, float]]]],
    title: str,
    unit: str = "iterations",
    ax: Axes | None = None,
) -> Axes:
    """Plot several curves of exploitability in mbb/h, with a legend beside the axes.

    Curves of a group share a colour and differ in their dashes and markers; after eight groups colours come
    again, with other markers.

    Args:
        curves: (name, group, (time, exploitability) pairs).
        title, unit, ax: as in `exploitability_curve`.
    """
    ax = ax or Figure(figsize=(9, 6), layout="constrained").add_subplot()
    groups = list(dict.fromkeys(group for _, group, _ in curves))
    drawn = dict.fromkeys(groups, 0)
    for name, group, points in curves:
        place, member = groups.index(group), drawn[group]
        drawn[group] += 1
        time, value = np.array(points).T
        ax.loglog(
            time,
            value,
            color=LINE_COLOURS[place % len(LINE_COLOURS)],
            linestyle=("-", "--", ":", "-.")[member % 4],
            marker="os^DvP"[(member + place // len(LINE_COLOURS)) % 6],
            markersize=5,
            label=name,
        )
    _draw_log_axes(ax, title, unit)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, handlelength=3.5)
    return ax


def _draw_log_axes(ax: Axes, title: str, unit: str) -> None:
    ax.set(xlabel=unit, ylabel="exploitability (mbb/h)", title=title)
    for axis in (ax.xaxis, ax.yaxis):  # 200 rather than 2 x 10^2
        axis.set_major_formatter(LogFormatter())
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    ax.grid(True, which="both", alpha=0.3)


def strategy_grid(strategy: Strategy, line: Sequence[str] = (), ax: Axes | None = None) -> Axes:
    """Draw the strategy of the first round as a grid: pairs on the diagonal, suited hands above it.

    Args:
        strategy: any strategy for a game of two hole cards.
        line: actions so far in the first round, such as ``("call", "raise-to:20")``.
        ax: where to draw; default: a new figure.

    Raises ValueError for a line that is not in the betting tree or goes beyond the first round.
    """
    tree, deck = strategy.tree, strategy.abstraction.deck
    node = 0
    for text in line:
        node = tree.child(node, Action.parse(text))
    if tree.round[node] > 0 or not tree.actions[node]:
        raise ValueError(f"the line {' '.join(line)} does not end at a decision of the first round")
    actions = tree.actions[node]
    slot = tree.action_slot[node]
    table = strategy.tables[0][strategy.abstraction.matrices[0][0], slot : slot + len(actions)]
    classes = preflop_classes(deck)
    ranks = deck.num_ranks
    ax = ax or Figure(figsize=(6.4, 6.6), layout="constrained").add_subplot()
    colours = [_colour(action, tree.rules.stacks) for action in actions]
    names = RANKS[::-1]
    for cell in np.unique(classes):
        row, column = divmod(int(cell), ranks)
        shares = table[classes == cell].mean(axis=0)
        left = float(column)
        for share, colour in zip(shares, colours, strict=True):
            ax.add_patch(Rectangle((left, row), float(share), 1.0, color=colour, linewidth=0))
            left += float(share)
        high, low = sorted((row, column))
        text = names[high] + names[low] + ("" if row == column else "s" if column > row else "o")
        ax.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7)
    for edge in range(ranks + 1):
        ax.axhline(edge, color="white", linewidth=0.8)
        ax.axvline(edge, color="white", linewidth=0.8)
    ax.set(xlim=(0, ranks), ylim=(ranks, 0), aspect="equal", xticks=[], yticks=[])
    ax.set_title(f"{tree.rules.name}: {' '.join(line) or 'first action'}")
    patches = [
        Patch(color=colour, label=str(action)) for action, colour in zip(actions, colours, strict=True)
    ]
    ax.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(patches), frameon=False
    )
    return ax


def _colour(action: Action, stacks: tuple[int, int] | None) -> str:
    all_in = stacks is not None and action.amount >= min(stacks)
    return PALETTE["all-in" if all_in else action.kind]

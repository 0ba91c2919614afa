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
    ax.set(xlabel=unit, ylabel="exploitability (mbb/h)", title=title)
    for axis in (ax.xaxis, ax.yaxis):  # 200 rather than 2 x 10^2
        axis.set_major_formatter(LogFormatter())
        axis.set_minor_formatter(LogFormatter(minor_thresholds=(1.5, 0.6)))
    ax.grid(True, which="both", alpha=0.3)
    return ax


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

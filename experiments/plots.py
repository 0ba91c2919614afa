"""Figures: exploitability against time; strategies and buckets on the 13 x 13 grid of starting hands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from matplotlib.ticker import LogFormatter, MaxNLocator

from ..abstraction.boards import hands_alive
from ..abstraction.buckets import CardAbstraction
from ..abstraction.build import built_round
from ..abstraction.equity import preflop_classes
from ..abstraction.round_buckets import RoundBuckets
from ..abstraction.samples import draw_equities
from ..game.betting import Action
from ..game.cards import RANKS, format_cards, parse_cards
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
BUCKET_COLOURS = "cividis"  # made to look the same to colour-blind readers


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
    for cell in np.unique(classes):
        row, column = divmod(int(cell), ranks)
        shares = table[classes == cell].mean(axis=0)
        left = float(column)
        for share, colour in zip(shares, colours, strict=True):
            ax.add_patch(Rectangle((left, row), float(share), 1.0, color=colour, linewidth=0))
            left += float(share)
        ax.text(column + 0.5, row + 0.5, _class_name(row, column), ha="center", va="center", fontsize=7)
    _draw_grid(ax, ranks)
    ax.set_title(f"{tree.rules.name}: {' '.join(line) or 'first action'}")
    patches = [
        Patch(color=colour, label=str(action)) for action, colour in zip(actions, colours, strict=True)
    ]
    ax.legend(
        handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=len(patches), frameon=False
    )
    return ax


def bucket_map(
    abstraction: CardAbstraction,
    round_index: int = 0,
    board: str | Iterable[str | int] = (),
    ax: Axes | None = None,
) -> Axes:
    """Draw which buckets the starting hands are in: pairs on the diagonal, suited hands above it.

    The colour is that of the mean bucket of the class's hands, below its name stands the bucket, or the least
    and the greatest. Grey classes have no hand that shares no card with the board.

    Args:
        abstraction: any.
        round_index: the round.
        board: its board, in the order in which it was dealt.
        ax: where to draw; default: a new figure.

    Raises ValueError for a board that does not fit the round.
    """
    deck = abstraction.deck
    cards = parse_cards(board)
    if len(cards) != abstraction.config.board_sizes[round_index]:
        raise ValueError(
            f"round {round_index} has {abstraction.config.board_sizes[round_index]} community cards, "
            f"not {len(cards)}"
        )
    numbers = np.array([[deck.number(card) for card in cards]], np.int64)
    buckets = abstraction.rows(round_index, numbers)[0]
    alive = hands_alive(deck, numbers)[0]
    classes, ranks = preflop_classes(deck), deck.num_ranks
    ax = ax or Figure(figsize=(7.2, 6.4), layout="constrained").add_subplot()
    colours = ScalarMappable(Normalize(0, abstraction.num_buckets[round_index] - 1), BUCKET_COLOURS)
    for cell in np.unique(classes):
        row, column = divmod(int(cell), ranks)
        own = buckets[(classes == cell) & alive]
        colour = to_rgb(tuple(colours.to_rgba(own.mean()))) if len(own) else to_rgb("0.85")
        ax.add_patch(Rectangle((column, row), 1.0, 1.0, color=colour, linewidth=0))
        size = 104 / max(ranks, 9)
        ink = "white" if np.dot(colour, (0.299, 0.587, 0.114)) < 0.5 else "black"
        middle = column + 0.5
        ax.text(
            middle,
            row + 0.34,
            _class_name(row, column),
            ha="center",
            va="center",
            fontsize=size,
            color=ink,
        )
        if len(own):
            text = str(own.min()) if own.min() == own.max() else f"{own.min()}-{own.max()}"
            ax.text(middle, row + 0.72, text, ha="center", va="center", fontsize=0.75 * size, color=ink)
    _draw_grid(ax, ranks)
    where = f" on {format_cards(cards)}" if cards else ""
    feature = abstraction.config.rounds[round_index].feature
    ax.set_title(
        f"{abstraction.config.rules.name}{where}: {feature}, {abstraction.num_buckets[round_index]:,} buckets"
    )
    colourbar = ax.figure.colorbar(colours, ax=ax, shrink=0.8, label="bucket (mean of the class)")
    colourbar.ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def bucket_scatter(abstraction: CardAbstraction, round_index: int, ax: Axes | None = None) -> Axes:
    """Plot the sizes of a round's own buckets against the mean equities of their centres.

    The colour is the mean distance of the hands from the centre.

    Raises ValueError for a round whose buckets are just classes of hands.
    """
    built = built_round(abstraction.config, round_index)
    _check_has_centres(abstraction, round_index, built)
    size, spread = built.arrays["size"], built.arrays["spread"]
    ax = ax or Figure(figsize=(6.8, 4), layout="constrained").add_subplot()
    points = ax.scatter(
        built.arrays["equity"],
        100 * size / size.sum(),
        c=spread,
        cmap=BUCKET_COLOURS,
        s=14,
        linewidths=0,
    )
    ax.set(
        xlim=(0, 1),
        ylim=(0, None),
        xlabel="mean equity of the bucket's centre",
        ylabel="hands in the bucket (% of the round's)",
        title=_round_title(abstraction, round_index),
    )
    ax.grid(True, alpha=0.3)
    ax.figure.colorbar(points, ax=ax, label="mean distance from the centre")
    return ax


def bucket_histograms(
    abstraction: CardAbstraction,
    round_index: int,
    buckets: Sequence[int] | None = None,
    number: int = 4_000,
    bins: int = 50,
    seed: int = 0,
    figure: Figure | None = None,
) -> Figure:
    """Draw how the final equity of the hands in some own buckets is distributed over the cards to come.

    The filled histogram is that of random hands of the bucket with random cards to come; where hands were put
    together by their histograms, the line is the centre of the bucket, a median of histograms.

    Args:
        abstraction: any.
        round_index: the round.
        buckets: own buckets; default: eight from the weakest to the strongest.
        number: random hands for each.
        bins: of the histograms; those of the feature where it has some.
        seed: of the random hands.
        figure: where to draw; default: a new one.

    Raises ValueError for a bucket that is too rare for random hands.
    """
    built = built_round(abstraction.config, round_index)
    entry = abstraction.config.rounds[round_index]
    if buckets is None:
        buckets = np.unique(np.linspace(0, built.num_buckets - 1, 8).astype(int)).tolist()
    bins = entry.bins or bins
    equities = draw_equities(abstraction, round_index, buckets, number, seed)
    columns = min(4, len(buckets))
    rows = -(-len(buckets) // columns)
    figure = figure or Figure(figsize=(2.7 * columns, 0.7 + 1.8 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, squeeze=False)
    edges = np.linspace(0, 1, bins + 1)
    for ax, bucket, own in zip(grid.flat, buckets, equities, strict=False):
        counts = np.histogram(own, edges)[0]
        ax.stairs(100 * counts / number, edges, fill=True, color="#56b4e9")
        if entry.feature == "histogram-emd":
            centre = np.diff(built.arrays["centres"][bucket].astype(float), prepend=0)
            ax.stairs(100 * centre / centre.sum(), edges, color="#d55e00", linewidth=1.2)
        mean = built.arrays["equity"][bucket] if "equity" in built.arrays else own.mean()
        ax.set_title(f"bucket {bucket}: mean {mean:.3f}", fontsize=9)
        ax.tick_params(labelsize=7)
    for ax in grid.flat[len(buckets) :]:
        ax.axis("off")
    figure.suptitle(_round_title(abstraction, round_index), fontsize=10)
    figure.supxlabel("equity when all cards are dealt", fontsize=9)
    figure.supylabel("deals (%)", fontsize=9)
    if entry.feature == "histogram-emd":
        handles = [Patch(color="#56b4e9", label="hands"), Patch(color="#d55e00", label="centre")]
        figure.legend(handles=handles, loc="outside lower right", ncols=2, fontsize=8, frameon=False)
    return figure


def abstraction_figures(abstraction: CardAbstraction, folder: Path) -> list[Path]:
    """Draw an abstraction into a folder as PNG files, and give their paths.

    A map of the starting hands before the flop, and for each round with centres the buckets by size and
    equity, and some of them as histograms.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures: dict[str, Any] = {"preflop": bucket_map(abstraction).figure}
    for index, entry in enumerate(abstraction.config.rounds):
        if entry.buckets is not None:
            figures[f"round{index}-sizes"] = bucket_scatter(abstraction, index).figure
            figures[f"round{index}-equities"] = bucket_histograms(abstraction, index)
    paths = []
    for name, figure in figures.items():
        paths.append(folder / f"{name}.png")
        figure.savefig(paths[-1], dpi=110)
    return paths


def _check_has_centres(abstraction: CardAbstraction, index: int, built: RoundBuckets) -> None:
    if "equity" not in built.arrays:
        feature = abstraction.config.rounds[index].feature
        raise ValueError(
            f"the buckets of round {index} are classes of hands ({feature}) without equities"
        )


def _round_title(abstraction: CardAbstraction, index: int) -> str:
    config = abstraction.config
    return (
        f"{config.rules.name}, boards of {config.board_sizes[index]} cards: "
        f"{config.rounds[index].feature}, {abstraction.num_own_buckets[index]:,} buckets"
    )


def _class_name(row: int, column: int) -> str:
    """Name of a class of starting hands by its place on the grid, such as AKs."""
    high, low = sorted((row, column))
    names = RANKS[::-1]
    return names[high] + names[low] + ("" if row == column else "s" if column > row else "o")


def _draw_grid(ax: Axes, ranks: int) -> None:
    """White lines between the cells, and nothing around them."""
    for edge in range(ranks + 1):
        ax.axhline(edge, color="white", linewidth=0.8)
        ax.axvline(edge, color="white", linewidth=0.8)
    ax.set(xlim=(0, ranks), ylim=(ranks, 0), aspect="equal", xticks=[], yticks=[])


def _colour(action: Action, stacks: tuple[int, int] | None) -> str:
    all_in = stacks is not None and action.amount >= min(stacks)
    return PALETTE["all-in" if all_in else action.kind]

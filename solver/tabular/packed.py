"""What the walks of sampled CFR read of a game: one small record a node, chance by the alias method."""

from __future__ import annotations

from typing import NamedTuple

import numba as nb
import numpy as np

from .game import CHANCE, TERMINAL, TabularGame
from .walks import CHILD, COUNT, KIND, SLOT


class PackedGame(NamedTuple):
    """Chance nodes that follow one another are one node with all their outcomes; those within are passed
    over.
    """

    nodes: np.ndarray  # int32 [node, 4]: KIND, COUNT, SLOT, CHILD
    outcomes: np.ndarray  # int32 [outcome, 2]: the node behind, the other outcome of the alias method
    odds: np.ndarray  # float64 [outcome, 2]: threshold of the alias method, probability
    payoffs: np.ndarray  # float64: different utilities of player 0
    slots: np.ndarray  # int64 [infoset, 2]: where its regrets begin, and its number of actions


def pack(game: TabularGame) -> PackedGame:
    """The game as the walks read it. Information sets have a place for the regrets of their actions and
    then one for the averages.
    """
    starts = 2 * (np.cumsum(game.num_actions) - game.num_actions)
    nodes = np.zeros((game.num_nodes, 4), np.int32)
    nodes[:, KIND], nodes[:, COUNT] = game.kind, game.num_children
    nodes[:, CHILD] = game.first_child
    acting = game.infoset >= 0
    nodes[acting, SLOT] = starts[game.infoset[acting]]
    ends = game.kind == TERMINAL
    payoffs, nodes[ends, SLOT] = np.unique(game.utility[ends], return_inverse=True)

    within = np.zeros(game.num_nodes, bool)
    targets: list[int] = []
    odds: list[float] = []
    aliases: list[int] = []
    thresholds: list[float] = []
    for node in np.flatnonzero(game.kind == CHANCE).tolist():  # those above come first
        if within[node]:
            continue
        found: list[tuple[int, float]] = []
        waiting = [(node, 1.0)]
        while waiting:
            here, reach = waiting.pop()
            if game.kind[here] != CHANCE:
                found.append((here, reach))
                continue
            within[here] = True
            first, count = int(game.first_child[here]), int(game.num_children[here])
            waiting += [
                (child, reach * float(game.probability[child]))
                for child in reversed(range(first, first + count))
            ]
        found = [(child, reach) for child, reach in found if reach > 0]
        nodes[node, COUNT], nodes[node, SLOT] = len(found), len(targets)
        threshold, alias = alias_table([reach for _, reach in found])
        targets += [child for child, _ in found]
        odds += [reach for _, reach in found]
        thresholds += threshold
        aliases += alias
    outcomes = np.array([targets, aliases], np.int32).reshape(2, -1).T.copy()
    alias_odds = np.array([thresholds, odds]).reshape(2, -1).T.copy()
    slots = np.stack([starts, game.num_actions], axis=1).astype(np.int64)
    return PackedGame(nodes, outcomes, alias_odds, payoffs, slots)


def views(game: TabularGame) -> tuple[np.ndarray, int]:
    """Where the baselines of a node begin for each traverser, int32 [traverser, node], and how many there
    are in all.

    Nodes that the traverser cannot tell apart have them in common. At his own moves these are the nodes of
    an information set. At the other player's they have the same last move of his own, and each action leads
    to the same again: his next information set, another such view, chance, or the end.
    """
    starts = np.zeros((2, game.num_nodes), np.int32)
    entries = 0
    kinds, infosets = game.kind.tolist(), game.infoset.tolist()
    first, count = game.first_child.tolist(), game.num_children.tolist()
    for traverser in range(2):
        last = game.last_sequence[traverser].tolist()
        numbers: dict[tuple[int, ...], int] = {}
        begins: list[int] = []
        view = [0] * game.num_nodes
        for node in range(game.num_nodes - 1, -1, -1):  # those below come first
            kind = kinds[node]
            if kind == traverser:
                key: tuple[int, ...] = (kind, infosets[node])
            elif kind in (CHANCE, TERMINAL):
                key = (kind, last[node] if kind == CHANCE else 0)
            else:
                key = (kind, last[node], *view[first[node] : first[node] + count[node]])
            number = numbers.setdefault(key, len(numbers))
            if number == len(begins):
                begins.append(entries)
                entries += count[node] if kind < CHANCE else 0
            view[node] = number
        starts[traverser] = np.array(begins)[view]
    return starts, entries


def alias_table(odds: list[float]) -> tuple[list[float], list[int]]:
    """Thresholds and other outcomes of the alias method (Walker 1977, by Vose's construction 1991): a
    column drawn uniformly stands for itself below its threshold in [0, 1], else for its other outcome.
    """
    count = len(odds)
    total = sum(odds)
    left = [odd * count / total for odd in odds]
    threshold, alias = [1.0] * count, list(range(count))
    small = [k for k in range(count) if left[k] < 1]
    large = [k for k in range(count) if left[k] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    return threshold, alias


def longest_line(game: TabularGame) -> int:
    """Nodes below the root on the longest line of play."""
    return int(_depths(game.first_child, game.num_children, np.zeros(game.num_nodes, np.int32)))


@nb.njit(cache=True, nogil=True)
def _depths(first_child, num_children, depth):
    """Nodes below the root on the longest line; depth int32 [node] is filled."""
    for node in range(len(first_child)):  # parents stand before their children
        for child in range(first_child[node], first_child[node] + num_children[node]):
            depth[child] = depth[node] + 1
    return int(depth.max())

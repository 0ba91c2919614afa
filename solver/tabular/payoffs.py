"""What each pair of sequences pays: the sparse matrix of the sequence form (von Stengel 1996)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .game import TERMINAL, TabularGame


class Payoffs(NamedTuple):
    """Rows of one player: the values of his sequences against the other's reach probabilities y are
    values[s] = sum of payoff[k] y[column[k]] over k in first[s] .. first[s + 1] - 1, where s counts his own
    sequences from 0.
    """

    first: np.ndarray  # int32 [own sequence + 1]
    column: np.ndarray  # int32 [entry]: sequence of the other player, in the numbers of the game
    payoff: np.ndarray  # float64 [entry]: chance's reach * what this player wins, terminals added up


def payoffs(game: TabularGame) -> tuple[Payoffs, Payoffs]:
    """The payoffs of both players. Terminals with the same pair of sequences are one entry, and pairs that
    pay nothing are none.
    """
    reach = chance_reach(game)
    ends = np.flatnonzero(game.kind == TERMINAL)
    ours, theirs = game.last_sequence[:, ends].astype(np.int64)
    pairs, place = np.unique(ours * game.num_sequences + theirs, return_inverse=True)
    values = np.bincount(place, reach[ends] * game.utility[ends], len(pairs))
    pairs, values = pairs[values != 0], values[values != 0]
    ours, theirs = pairs // game.num_sequences, pairs % game.num_sequences
    turned = np.lexsort((ours, theirs))
    return (
        _rows(ours, theirs, values, game.sequences[0]),
        _rows(theirs[turned], ours[turned], -values[turned], game.sequences[1]),
    )


def chance_reach(game: TabularGame) -> np.ndarray:
    """Product of the chance probabilities on the way to each node: float64 [node]."""
    reach = np.empty(game.num_nodes)
    _chance_reach(game, reach)
    return reach


def _chance_reach(game: TabularGame, reach: np.ndarray) -> None:
    # Parents stand before their children, and children of one parent side by side: level by level.
    reach[0] = 1.0
    level = np.array([0])
    while len(level):
        level = level[game.kind[level] != TERMINAL]
        sizes = game.num_children[level]
        parents = np.repeat(level, sizes)
        starts = np.repeat(game.first_child[level] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        level = starts + np.arange(len(starts))
        reach[level] = reach[parents] * game.probability[level]


def _rows(ours: np.ndarray, theirs: np.ndarray, values: np.ndarray, own: slice) -> Payoffs:
    first = np.searchsorted(ours, np.arange(own.start, own.stop + 1))
    return Payoffs(first.astype(np.int32), theirs.astype(np.int32), np.ascontiguousarray(values))

"""Perfect recall: which tuples of the rounds' own buckets occur, found by going through all deals."""

from __future__ import annotations

from itertools import combinations

import numba as nb
import numpy as np

from .boards import hands_alive
from .buckets import CardAbstraction
from .equity import Progress, by_chunks

_MARKS = 1 << 29  # keys up to here are marked in an array of so many bytes, larger ones are sorted


def occurring_tuples(own: CardAbstraction, progress: Progress | None = None) -> list[np.ndarray]:
    """By round, int64 [bucket], ascending: the tuples of own buckets that occur.

    A tuple is written as the number of the tuple of the rounds before, times the number of own buckets of
    the round, plus the own bucket. Takes half a gigabyte, or where there are more keys than that some eight
    bytes for each canonical sequence of deals.

    Args:
        own: an abstraction with imperfect recall.
        progress: called with the boards of the first deal that are done.
    """
    tuples: list[np.ndarray] = []
    for index in range(len(own.num_own_buckets)):
        so_far = CardAbstraction(own.config, own.matrices, own.num_own_buckets, tuples)
        tuples.append(_round_tuples(so_far, index, progress))
    return tuples


def _round_tuples(so_far: CardAbstraction, index: int, progress: Progress | None) -> np.ndarray:
    """The tuples of a round from those of the rounds before."""
    count = so_far.num_own_buckets[index]
    size = (len(so_far.tuples[-1]) if index else 1) * count
    marks = np.zeros(size, bool) if size <= _MARKS else None
    # A renaming of suits never changes a tuple: the first boards need not all be visited.
    first = next((i for i in range(index + 1) if so_far.config.board_sizes[i]), 0)
    boards = so_far.boards(first).cards

    def work(rows: slice) -> np.ndarray:
        return _keys_behind(so_far, index, first, count, marks, boards[rows.start])

    what = f"tuples of buckets of {index + 1} rounds"
    found = by_chunks(work, len(boards), what, progress, 1)
    return np.flatnonzero(marks) if marks is not None else np.unique(np.concatenate(found))


def _keys_behind(
    so_far: CardAbstraction,
    index: int,
    first: int,
    count: int,
    marks: np.ndarray | None,
    board: np.ndarray,
) -> np.ndarray:
    """The keys int64 [key] of all deals after a first board, marked in `marks` where that is an array."""
    deck = so_far.deck
    boards = board[None]
    for dealt in so_far.config.rules.board_cards[first + 1 : index + 1]:
        boards = np.array(
            [
                [*start, *more]
                for start in boards.tolist()
                for more in combinations(sorted(set(range(deck.size)) - set(start)), dealt)
            ],
            np.int64,
        )
    own = so_far.own_rows(index, boards)
    if index:
        earlier, place = np.unique(
            boards[:, : so_far.config.board_sizes[index - 1]], axis=0, return_inverse=True
        )
        before = so_far.rows(index - 1, earlier)
    else:
        before, place = np.zeros((1, deck.num_hands), np.int64), np.zeros(len(boards), np.int64)
    alive = hands_alive(deck, boards)
    if marks is None:
        keys = np.empty(own.size, np.int64)
        return np.unique(keys[: _collect_keys(before, place.ravel(), own, alive, count, keys)])
    _mark_keys(before, place.ravel(), own, alive, count, marks)
    return np.empty(0, np.int64)


@nb.njit(cache=True, nogil=True)
def _mark_keys(before, place, own, alive, count, marks):
    """Mark the keys of own buckets own [board, hand] after the buckets before [earlier board, hand]."""
    for row in range(own.shape[0]):
        for hand in range(own.shape[1]):
            if alive[row, hand]:
                marks[before[place[row], hand] * count + own[row, hand]] = True


@nb.njit(cache=True, nogil=True)
def _collect_keys(before, place, own, alive, count, keys):
    """The same keys, written one after the other into keys; their number."""
    found = 0
    for row in range(own.shape[0]):
        for hand in range(own.shape[1]):
            if alive[row, hand]:
                keys[found] = before[place[row], hand] * count + own[row, hand]
                found += 1
    return found

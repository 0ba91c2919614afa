"""Parts of the tables of a full deck, for tests that shall not take the time of all boards."""

from __future__ import annotations

from copy import copy
from itertools import combinations

import numpy as np
from nashfold.abstraction import Boards, canonical_boards
from nashfold.abstraction.equity import last_round_equity, strength_table
from nashfold.game import Deck


def some_boards(deck: Deck, boards: list[list[int]]) -> Boards:
    """The canonical boards of some boards of one size; any others have no row."""
    part = copy(canonical_boards(deck, len(boards[0])))
    rows = np.unique(part.locate(np.array(boards, int))[0])
    new_row = np.full(len(part), -1, np.int32)
    new_row[rows] = np.arange(len(rows))
    part.cards, part.orbit, part.row_of = part.cards[rows], part.orbit[rows], new_row[part.row_of]
    return part


def equities_after(deck: Deck, boards: list[list[int]], last_size: int) -> tuple[Boards, np.ndarray]:
    """Last-round equities on the boards that complete some earlier ones, and these last boards."""
    completed = {
        tuple(sorted([*board, *more]))
        for board in boards
        for more in combinations(sorted(set(range(deck.size)) - set(board)), last_size - len(board))
    }
    last = some_boards(deck, [list(board) for board in completed])
    return last, last_round_equity(strength_table(last), last)

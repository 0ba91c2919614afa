"""The side bet's profit for every hand on every canonical board."""

from __future__ import annotations

import numpy as np

from ..game.bonus import INTERVALS, PayTable
from ..game.strength import board_strengths
from .boards import Boards
from .equity import Progress

_CHUNK = 2048  # board rows whose strengths are in memory at once


def bonus_table(pay_table: PayTable, boards: Boards, progress: Progress | None = None) -> np.ndarray:
    """float32 [board_row, hand]: profit in stakes of the interval that is judged on these boards.

    0 for hands that share a card with the board, so that sums over hands skip them: a mean divides by the
    hands alive, not by all. Of a bonus paid for once this is the interval's pay alone, without the stake.
    Takes ``4 * len(boards) * boards.deck.num_hands`` bytes and 6 MB beside: in a full deck 9 MB on the
    flop, 87 MB on the turn, 713 MB on the river.

    Args:
        pay_table: the pay table.
        boards: the canonical boards of three, four or five cards.
        progress: called now and then with the rows done.

    Raises ValueError where the pay table has no interval with so many cards.
    """
    interval = boards.size - 3
    if interval not in pay_table.intervals:
        sizes = [f"{3 + index} ({INTERVALS[index]})" for index in pay_table.intervals]
        raise ValueError(
            f"pay table {pay_table.name} is judged on boards of {', '.join(sizes)} cards, not {boards.size}"
        )
    profit = pay_table.profit_by_strength(interval).astype(np.float32)
    profit[0] = 0  # of a dead hand
    table = np.empty((len(boards), boards.deck.num_hands), np.float32)
    strength = np.empty((min(_CHUNK, len(boards)), boards.deck.num_hands), np.uint16)
    for start in range(0, len(boards), _CHUNK):
        part = table[start : start + _CHUNK]
        board_strengths(boards.cards[start : start + _CHUNK], boards.deck, strength[: len(part)])
        np.take(profit, strength[: len(part)], out=part, mode="clip")  # "raise" would buffer
        if progress is not None:
            progress(f"bonus on the {INTERVALS[interval]}", start + len(part), len(boards))
    return table

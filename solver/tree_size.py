"""How large a betting tree and its tables will be, before anything is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..abstraction.bets import FULL, BetMenu
from ..game.betting import Betting
from ..game.rules import Rules

MAX_WORK = 300_000  # actions of distinct states looked at before counting is given up
STORAGES = ("float32", "int16")  # of the numbers in tables


def storage_type(storage: str) -> np.dtype:
    """The dtype of tables; ValueError for an unknown storage."""
    if storage not in STORAGES:
        raise ValueError(f"unknown storage {storage!r}: choose {' or '.join(STORAGES)}")
    return np.dtype(storage)


def record_length(storage: str, num_actions: Any, average: bool) -> Any:
    """Numbers that the record of a decision node takes: a header in int16, regrets, maybe averages."""
    return (storage == "int16") + num_actions * (1 + average)


def check_averages(averages: Sequence[int] | None, num_rounds: int) -> tuple[int, ...]:
    """The rounds that keep an average, ascending; None means all. ValueError for rounds that are not."""
    found = tuple(range(num_rounds)) if averages is None else tuple(sorted({*averages}))
    if any(not 0 <= index < num_rounds for index in found):
        raise ValueError(f"averages of rounds {found}: rounds are numbered from 0 to {num_rounds - 1}")
    return found


@dataclass(frozen=True)
class TreeSize:
    """Size of a betting tree, and of tables on it.

    Attributes:
        nodes: of the tree, leaves included.
        decisions: decision nodes by round.
        slots: (decision node, action) pairs by round: the length of a table row.
        num_buckets: buckets by round; None: no tables are meant.
        is_complete: whether everything was counted; if not, all figures are lower bounds.
        storage: of the tables, "float32" or "int16".
        averages: the rounds whose tables keep averages; None: all.
    """

    nodes: int
    decisions: tuple[int, ...]
    slots: tuple[int, ...]
    num_buckets: tuple[int, ...] | None = None
    is_complete: bool = True
    storage: str = "float32"
    averages: tuple[int, ...] | None = None

    @property
    def infosets(self) -> int | None:
        """Information states: a decision node with a bucket; None without buckets."""
        return None if self.num_buckets is None else _dot(self.decisions, self.num_buckets)

    @property
    def table_bytes(self) -> int | None:
        """Memory of the regrets and averages, headers of records included; None without buckets."""
        if self.num_buckets is None:
            return None
        header = record_length(self.storage, 0, False)
        lengths = [
            header * (decisions - 1) + record_length(self.storage, slots, self._keeps(index))
            for index, (decisions, slots) in enumerate(zip(self.decisions, self.slots, strict=True))
        ]
        return storage_type(self.storage).itemsize * _dot(lengths, self.num_buckets)

    def _keeps(self, round_index: int) -> bool:
        return self.averages is None or round_index in self.averages

    def __str__(self) -> str:
        more = "" if self.is_complete else "more than "
        by_round = " ".join(f"{count:,}" for count in self.decisions)
        text = f"{more}{self.nodes:,} nodes, {sum(self.decisions):,} of them decisions ({by_round} by round)"
        if self.infosets is None or self.table_bytes is None:
            return text
        return f"{text}, {self.infosets:,} infosets, tables {self.table_bytes / 2**20:,.1f} MiB"


def tree_size(
    rules: Rules,
    menu: BetMenu = FULL,
    num_buckets: Sequence[int] | None = None,
    most: int | None = None,
    storage: str = "float32",
    averages: Sequence[int] | None = None,
) -> TreeSize:
    """Size of the betting tree with a menu, counted without building it.

    Histories that lead to the same state are counted together: within a round those of the same length,
    and at the beginning of a round all with the same chips.

    Args:
        rules: the game.
        menu: the bets on offer.
        num_buckets: buckets by round, for the size of tables.
        most: counting may end when there are more nodes than this.
        storage: of the numbers in tables, one of STORAGES.
        averages: the rounds whose tables keep averages; None: all.

    Counting also ends after `MAX_WORK` actions; the figures then are lower bounds.
    """
    counted = _count(rules, menu, most)
    if num_buckets is None:
        return counted
    storage_type(storage)
    kept = check_averages(averages, rules.num_rounds)
    return replace(counted, num_buckets=tuple(num_buckets), storage=storage, averages=kept)


@lru_cache(maxsize=32)
def _count(rules: Rules, menu: BetMenu, most: int | None) -> TreeSize:
    decisions, slots = [0] * rules.num_rounds, [0] * rules.num_rounds
    nodes, work = 1, 0
    start = Betting.start(rules)
    entries: dict[tuple, list[Any]] = {} if start.is_over else {_key(start): [start, 1]}
    for index in range(rules.num_rounds):
        level, entries = entries, {}
        while level:
            widths = [menu.num_actions(state) for state, _ in level.values()]
            counts = [histories for _, histories in level.values()]
            added = _dot(widths, counts)
            decisions[index] += sum(counts)
            slots[index] += added
            nodes += added
            work += sum(widths)
            if work > MAX_WORK or (most is not None and nodes > most):
                return _size(nodes, decisions, slots, is_complete=False)
            following: dict[tuple, list[Any]] = {}
            for state, histories in level.values():
                for action in menu.actions(state):
                    child = state.play(action)
                    if not child.is_over:
                        same = following if child.round == index else entries
                        same.setdefault(_key(child), [child, 0])[1] += histories
            level = following
    return _size(nodes, decisions, slots, is_complete=True)


def _size(nodes: int, decisions: list[int], slots: list[int], is_complete: bool) -> TreeSize:
    return TreeSize(nodes, tuple(decisions), tuple(slots), is_complete=is_complete)


def _key(state: Betting) -> tuple:
    """What the rest of the betting depends on."""
    actions = state.history[-1]
    made = sum(1 for action in actions if action.amount)
    return (
        state.spent,
        state.round_start,
        state.to_act,
        state.min_raise_to,
        state.bets,
        made,
        not actions,
    )


def _dot(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))

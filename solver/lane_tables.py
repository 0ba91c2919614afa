"""Regrets and averages of one player in lanes of histories: what the walk over the public tree learns.

The tables of a betting round are cut into the blocks of its plan (`solver.round_plan`): in each block an
entry for every bucket, action of the block's program and lane. A `Sheet` holds what one walk needs of a
block for the buckets at hand: the current strategy, and what the walk adds up - the values of actions and
the reach with which nodes are visited. As hands of one bucket play alike, these sums are all that regrets
and averages need; they are settled when the walk is done, so that a strategy stays as it is while it is
walked.
"""

from __future__ import annotations

from collections.abc import Sequence

import numba as nb
import numpy as np

from .lanes import LANES, greater, load, maximum, splat, store
from .regret import Weights
from .round_plan import RoundPlan


class Block:
    """The tables of one block.

    Attributes:
        regrets, averages: float [bucket, action, LANES]; views into the player's tables.
        before: float [bucket, action, LANES]: the last instantaneous regrets, where the scheme is predictive;
            else an empty array.
        nodes: int64 [node, 2]: the first action of a node and their number.
        slots: int64 [action, LANES]: where an entry stands in a row of a strategy's table, -1: nowhere.
    """

    def __init__(
        self,
        regrets: np.ndarray,
        averages: np.ndarray,
        before: np.ndarray,
        nodes: np.ndarray,
        slots: np.ndarray,
    ):
        self.regrets, self.averages, self.before = regrets, averages, before
        self.nodes, self.slots = nodes, slots

    def match(self, buckets: np.ndarray, weights: Weights, out: np.ndarray) -> None:
        """The current strategy of some buckets (Hart and Mas-Colell 2000) into out [row, action, LANES]."""
        _match(self.regrets, self.before, weights.prediction, self.nodes, buckets, out)


class LaneTables:
    """Cumulative regrets and strategies of one player.

    Attributes:
        blocks: by round, the blocks of its plan.
        regrets, averages, before: by round, one float array with all blocks; what a checkpoint keeps.
    """

    def __init__(
        self,
        plans: Sequence[RoundPlan],
        num_buckets: Sequence[int],
        dtype: type,
        predictive: bool = False,
        rounds: int | None = None,
    ):
        """Tables of the player whose nodes are the `own_nodes` of the plans, for the first rounds only if
        `rounds` says so.
        """
        self.blocks: list[list[Block]] = []
        self.regrets: list[np.ndarray] = []
        self.averages: list[np.ndarray] = []
        self.before: list[np.ndarray] = []
        self.num_slots = [int(plan.own_slots.max(initial=-1)) + 1 for plan in plans]
        for plan, buckets in list(zip(plans, num_buckets, strict=True))[:rounds]:
            nodes = [rows[rows[:, 1] > 0] for rows in plan.own_nodes]
            widths = [int(rows.sum(axis=1).max(initial=0)) for rows in nodes]
            starts = np.cumsum([0, *[buckets * width * LANES for width in widths]])
            arrays = [np.zeros(starts[-1], dtype) for _ in range(2)]
            arrays.append(np.zeros(starts[-1] if predictive else 0, dtype))
            for kept, array in zip((self.regrets, self.averages, self.before), arrays, strict=True):
                kept.append(array)
            self.blocks.append([])
            for block, width in enumerate(widths):
                part = slice(starts[block], starts[block + 1])
                regrets, averages, before = (
                    array[part].reshape(buckets if array.size else 0, width, LANES) for array in arrays
                )
                slots = plan.own_slots[block, :width]
                self.blocks[-1].append(Block(regrets, averages, before, nodes[block], slots))

    @property
    def nbytes(self) -> int:
        return sum(a.nbytes for arrays in (self.regrets, self.averages, self.before) for a in arrays)

    def fill(self, index: int, table: np.ndarray, average: bool, weights: Weights) -> None:
        """Write the player's part of the strategy of a round into its table [bucket, slot].

        Args:
            index: the round.
            table: float [bucket, slot], modified in place.
            average: the average strategy (uniform where nothing was visited), or the current one.
            weights: of the iteration at hand; the current strategy needs them.
        """
        for block in self.blocks[index]:
            buckets = np.arange(len(table))
            out = np.empty_like(block.regrets)
            if average:
                nothing = block.before[:0]
                _match(block.averages, nothing, 0.0, block.nodes, buckets, out)
            else:
                block.match(buckets, weights, out)
            real = block.slots >= 0
            table[:, block.slots[real]] = out[:, real]


class Sheet:
    """What one walk needs of a block, for some buckets.

    Attributes:
        chances, gains: float [1, row, action, LANES]: the current strategy; the values of actions so far.
        visits: float [1, row, node, LANES]: the player's own reach so far.
        buckets: int64 [row]: the bucket behind each row.
    """

    def __init__(
        self, block: Block, memory: tuple[np.ndarray, np.ndarray, np.ndarray] | None, rows: int
    ):
        """With `memory` from `sheet_memory`, or with its own."""
        width, nodes = block.regrets.shape[1], len(block.nodes)
        sizes = [rows * count * LANES for count in (width, width, nodes)]
        if memory is None:
            own = [np.zeros(size, block.regrets.dtype) for size in sizes]
            memory = own[0], own[1], own[2]
        self.block = block
        self.chances = memory[0][: sizes[0]].reshape(1, rows, width, LANES)
        self.gains = memory[1][: sizes[1]].reshape(1, rows, width, LANES)
        self.visits = memory[2][: sizes[2]].reshape(1, rows, nodes, LANES)
        self.buckets = np.arange(rows)

    def open(self, buckets: np.ndarray, weights: Weights) -> None:
        """Take the current strategy of these buckets and begin to add up."""
        self.buckets = buckets
        self.block.match(buckets, weights, self.chances[0])
        self.gains[:] = 0
        self.visits[:] = 0

    def learn(self, weights: Weights) -> None:
        """Settle the regrets of what was added up."""
        block = self.block
        _learn(
            block.regrets, block.before, self.gains[0], self.chances[0], block.nodes, self.buckets,
            weights.positive, weights.negative, weights.gain, weights.floor, weights.discount_first,
        )  # fmt: skip

    def remember(self, weights: Weights) -> None:
        """Settle the average strategy."""
        block = self.block
        _remember(
            block.averages, self.visits[0], self.chances[0], block.nodes, self.buckets,
            weights.average_decay, weights.average_weight,
        )  # fmt: skip


def sheet_memory(
    blocks: Sequence[Block], rows: int, dtype: type
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Memory for the sheets of any of these blocks, one at a time."""
    width = max(block.regrets.shape[1] for block in blocks)
    nodes = max(len(block.nodes) for block in blocks)
    chances: np.ndarray = np.empty(rows * width * LANES, dtype)
    return chances, np.empty_like(chances), np.empty(rows * nodes * LANES, dtype)


_TINY = 1e-30  # regrets that add up to less are taken for zero: uniform play


@nb.njit(cache=True, nogil=True)
def _match(regrets, before, prediction, nodes, buckets, out):
    """Regret matching: out [row, action, LANES] from regrets [bucket, action, LANES] of the rows' buckets.

    before: as regrets, or empty; added with the factor `prediction`. nodes: int64 [node, 2].
    """
    stride = regrets.shape[1]
    zero, one, tiny = splat(out, 0.0), splat(out, 1.0), splat(out, _TINY)
    factor = splat(out, prediction)
    predictive = prediction != 0.0 and before.shape[0] > 0
    for row in range(buckets.shape[0]):
        source, target = buckets[row] * stride, row * out.shape[1]
        for node in range(nodes.shape[0]):
            first, last = nodes[node, 0], nodes[node, 0] + nodes[node, 1]
            total = zero
            for action in range(first, last):
                value = load(regrets, source + action)
                if predictive:
                    value = value + factor * load(before, source + action)
                value = maximum(value, zero)
                total = total + value
                store(out, target + action, value)
            none = greater(tiny, total)
            scale = (one - none) / maximum(total, tiny)
            flat = none * splat(out, 1.0 / nodes[node, 1])
            for action in range(first, last):
                store(out, target + action, load(out, target + action) * scale + flat)


@nb.njit(cache=True, nogil=True)
def _learn(
    regrets, before, gains, chances, nodes, buckets, positive, negative, gain, floor, discount_first
):
    """Instantaneous regrets from the values of actions, added to the cumulative ones as a scheme says.

    regrets, before: float [bucket, action, LANES], modified in place (before may be empty).
    gains, chances: float [row, action, LANES].
    """
    stride = regrets.shape[1]
    zero = splat(regrets, 0.0)
    up, down, factor = splat(regrets, positive), splat(regrets, negative), splat(regrets, gain)
    discounts = positive != 1.0 or negative != 1.0
    keeps = before.shape[0] > 0
    for row in range(buckets.shape[0]):
        target, source = buckets[row] * stride, row * gains.shape[1]
        for node in range(nodes.shape[0]):
            first, last = nodes[node, 0], nodes[node, 0] + nodes[node, 1]
            mean = zero
            for action in range(first, last):
                mean = mean + load(chances, source + action) * load(gains, source + action)
            for action in range(first, last):
                instant = load(gains, source + action) - mean
                value = load(regrets, target + action)
                if keeps:
                    store(before, target + action, instant)
                if discounts and discount_first:
                    above = maximum(value, zero)
                    value = above * up + (value - above) * down
                value = value + factor * instant
                if discounts and not discount_first:
                    above = maximum(value, zero)
                    value = above * up + (value - above) * down
                if floor:
                    value = maximum(value, zero)
                store(regrets, target + action, value)


@nb.njit(cache=True, nogil=True)
def _remember(averages, visits, chances, nodes, buckets, decay, weight):
    """The average strategy: averages [bucket, action, LANES] gain weight * reach * strategy, in place.

    visits: float [row, node, LANES]; chances: float [row, action, LANES].
    """
    stride = averages.shape[1]
    keep, factor = splat(averages, decay), splat(averages, weight)
    for row in range(buckets.shape[0]):
        target, source = buckets[row] * stride, row * chances.shape[1]
        for node in range(nodes.shape[0]):
            reach = factor * load(visits, row * visits.shape[1] + node)
            for action in range(nodes[node, 0], nodes[node, 0] + nodes[node, 1]):
                value = load(averages, target + action) * keep
                store(averages, target + action, value + reach * load(chances, source + action))

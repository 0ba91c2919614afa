"""The walk over the public tree that learns: vector CFR for one player at a time.

As `public_tree.Walk` it recurses over boards, with the betting of a round on a board in rows of histories;
but both players play by regret matching on tables in lanes (`lane_tables`), and what the walked player's
actions are worth is added up on the way. Boards of some rounds may be sampled: then one random board
stands for all, with the inverse of its probability, and the tables are settled as soon as the walk leaves a
round. Where a round is entered more than once a walk, tables are settled after the whole walk.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..abstraction.boards import suit_permutations
from ..game.cards import Deck
from . import rows
from .betting_tree import BettingTree
from .ground import Board, Ground, Place, Places
from .lane_tables import LaneTables, Sheet, sheet_memory
from .lanes import LANES
from .public_tree import Deal, Scratch, layout
from .regret import Weights
from .round_plan import RoundPlan, round_plans


class Valuation:
    """The plans of a walk that values one player's hands, for `Scratch`."""

    def __init__(self, ground: Ground, player: int, mode: str):
        self.rules, self.deck, self.dtype = ground.rules, ground.deck, ground.dtype
        self.player = player
        everything = np.ones(len(ground.tree), bool)
        self.plans: list[RoundPlan] = round_plans(ground.tree, player, mode, everything)

    def enter(self, scratch: Scratch) -> None:
        """The game begins in lane 0 with every hand."""
        scratch.reach_in[0][0, :, 0] = 1


class SheetBook:
    """The sheets of a player's tables for one thread's walks.

    Attributes:
        whole: by round, the sheets of all blocks with a row for each bucket; None unless `Ground.is_whole`.
    """

    def __init__(self, ground: Ground, tables: LaneTables, share: SheetBook | None = None):
        """With `share`, the current strategy of another thread's book is read instead of an own one."""
        self.tables, self._ground, self._borrows = tables, ground, share is not None
        self.whole: list[list[Sheet] | None] = []
        for index, blocks in enumerate(tables.blocks):
            if not ground.is_whole(index):
                self.whole.append(None)
                continue
            sheets = [Sheet(block, None, len(block.regrets)) for block in blocks]
            if share is not None:
                theirs = share.whole[index]
                assert theirs is not None
                for mine, other in zip(sheets, theirs, strict=True):
                    mine.chances = other.chances
            self.whole.append(sheets)
        self._memory: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def sheet(self, index: int, block: int, place: Place, weights: Weights) -> Sheet:
        """A sheet for the hands of a place; the next one of the same round may take its memory."""
        whole, buckets = self.whole[index], place.present
        if whole is not None:
            return whole[block]
        assert buckets is not None
        blocks = self.tables.blocks[index]
        memory = self._memory.get(index)
        width = max(part.regrets.shape[1] for part in blocks)
        if memory is None or len(memory[0]) < len(buckets) * width * LANES:
            rows_needed = min(len(blocks[0].regrets), len(buckets) + len(buckets) // 4)
            memory = self._memory[index] = sheet_memory(blocks, rows_needed, self._ground.dtype)
        sheet = Sheet(blocks[block], memory, len(buckets))
        sheet.open(buckets, weights)
        return sheet

    def sheets(self, index: int, place: Place, weights: Weights) -> list[Sheet]:
        """The sheets of every block for the hands of a place, side by side."""
        whole, buckets = self.whole[index], place.present
        if whole is not None:
            return whole
        assert buckets is not None
        sheets = [Sheet(block, None, len(buckets)) for block in self.tables.blocks[index]]
        for sheet in sheets:
            sheet.open(buckets, weights)
        return sheets

    def open_whole(self, weights: Weights) -> None:
        """Take the current strategy of all rounds that are settled after the whole walk."""
        for sheet in self._whole_sheets():
            sheet.open(np.arange(len(sheet.block.regrets)), weights)

    def gather(self, other: SheetBook) -> None:
        """Take over what another thread's walk has added up."""
        for mine, theirs in zip(self._whole_sheets(), other._whole_sheets(), strict=True):
            for own, found in ((mine.gains, theirs.gains), (mine.visits, theirs.visits)):
                own += found
                found[:] = 0

    def learn(self, weights: Weights) -> None:
        """Settle the regrets of the rounds that are settled after the whole walk."""
        for sheet in self._whole_sheets():
            sheet.learn(weights)

    def remember(self, weights: Weights) -> None:
        """Settle their average strategy."""
        for sheet in self._whole_sheets():
            sheet.remember(weights)

    @property
    def nbytes(self) -> int:
        """Memory of the sheets with a row for each bucket, without a strategy that another book owns."""
        sheets = self._whole_sheets()
        return sum(
            sheet.gains.nbytes + sheet.visits.nbytes + (0 if self._borrows else sheet.chances.nbytes)
            for sheet in sheets
        )

    def forget_gains(self) -> None:
        """Begin to add up the values of actions anew."""
        for sheet in self._whole_sheets():
            sheet.gains[:] = 0

    def _whole_sheets(self) -> list[Sheet]:
        return [sheet for sheets in self.whole for sheet in sheets or []]


class _Betting(NamedTuple):
    """The betting of a round on a board, on the way down: what the way up needs again."""

    round: int
    board: Board
    place: Place
    own: list[Sheet]  # by block, of the player whose hands are valued
    other: list[Sheet]


class TrainingWalk:
    """One thread's walks of vector CFR, each for one player against the other one's current strategy.

    Attributes:
        books: of both players.
        touched: (node of the betting tree, live hand) pairs visited.
    """

    def __init__(
        self,
        ground: Ground,
        valuations: Sequence[Valuation],
        books: Sequence[SheetBook],
        stop: threading.Event,
    ):
        self.ground, self.valuations, self.books = ground, valuations, books
        self.scratch = [Scratch(valuation, stop) for valuation in valuations]
        self.touched = 0
        self._nodes_in_round = nodes_in_round(ground.tree)
        self._places = Places(ground)
        self._path: list[Board] = []

    def iterate(self, path: list[Board], weights: Weights) -> None:
        """Both players' walks on one sampled board, player 0 first, and what they learn."""
        for player in (0, 1):
            self.begin(player, path, weights)
            self.boards()
            self.end()

    def begin(self, player: int, path: list[Board], weights: Weights) -> None:
        """Start to value the hands of a player: the first round, downwards."""
        if path != self._path:
            self._places.forget()
        self._player, self._path, self._weights = player, [*path], weights
        self._group = self.ground.group_after(0, path)
        self._root = self._descend(0, ())

    def boards(self, part: slice = slice(None)) -> None:
        """Value what follows the first round; `part` of the deals of the second one only."""
        self._part = part
        values = self.scratch[self._player].values_in[1]
        values[:] = 0
        self._visit(1, (), self._group, 1.0, values)

    def end(self) -> None:
        """The first round, upwards."""
        self._ascend(self._root, self._group, 1.0, 1.0, self.scratch[self._player].values_in[0])

    def _visit(self, index: int, board: Board, group: np.ndarray, scale: float, out: np.ndarray) -> None:
        """Add the values of a round after each of its deals to out [block, hand, LANES].

        scale: the product of the weights of the deals before.
        """
        ground, scratch = self.ground, self.scratch[self._player]
        if scratch.stop.is_set():
            raise RuntimeError("the walk was stopped")
        deals, chance = ground.deals(index, self._path, board, group)
        if index == 1:
            deals = deals[self._part]
        if index + 1 == ground.rules.num_rounds:
            self._last(index, board, deals, chance, scale, out)
            return
        for deal in deals:
            state = self._descend(index, board + deal.cards)
            weight = chance * deal.orbit
            values = scratch.values_in[index + 1]
            values[:] = 0
            self._visit(index + 1, state.board, deal.group, scale * weight, values)
            self._ascend(state, deal.group, weight, scale, out)

    def _descend(self, index: int, board: Board) -> _Betting:
        """The other player's reach through the betting of a round before the last one on a board."""
        player = self._player
        scratch = self.scratch[player]
        place = self._places.on(index, board)
        own, other = (book.sheets(index, place, self._weights) for book in self._both_books())
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        for block in range(plan.num_blocks):
            rows.pass_down(
                block, block + 1, *arrays[:4], place.hands[0], place.lines, other[block].chances,
                scratch.reach_in[index], scratch.reach_in[index + 1], scratch.reach,
            )  # fmt: skip
        return _Betting(index, board, place, own, other)

    def _ascend(
        self, state: _Betting, group: np.ndarray, weight: float, scale: float, out: np.ndarray
    ) -> None:
        """Add weight times the values of that betting to out, and what is learnt from it."""
        index, _, place, own, other = state
        ground, player = self.ground, self._player
        scratch = self.scratch[player]
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        value_next = scratch.values_in[index + 1]
        symmetrise(value_next, ground.deck, group)
        for block in range(plan.num_blocks):
            rows.pass_up(
                block, block + 1, *arrays, *place.hands, NO_GROUPS, place.lines,
                other[block].chances, place.lines, own[block].chances, own[block].gains, other[block].visits,
                scale * weight, scratch.reach_in[index], value_next, weight, out, scratch.reach,
                scratch.values, scratch.by_card,
            )  # fmt: skip
        self.touched += self._nodes_in_round[index] * len(place.lines)
        if not ground.is_whole(index):
            for mine, theirs in zip(own, other, strict=True):
                mine.learn(self._weights)
                theirs.remember(self._weights)

    def _both_books(self) -> tuple[SheetBook, SheetBook]:
        """The book of the player whose hands are valued, and the other one's."""
        return self.books[self._player], self.books[1 - self._player]

    def _last(
        self,
        index: int,
        board: Board,
        deals: list[Deal],
        chance: float,
        scale: float,
        out: np.ndarray,
    ) -> None:
        """Add the values of the last round after each of its deals to out."""
        ground, player = self.ground, self._player
        scratch = self.scratch[player]
        weights = np.array([chance * deal.orbit for deal in deals])
        place = self._places.last(board, deals)
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        for block in range(plan.num_blocks):
            own, other = (book.sheet(index, block, place, self._weights) for book in self._both_books())
            rows.value_boards(
                block, block + 1, *arrays, *place.hands, place.lines, other.chances, place.lines,
                own.chances, own.gains, other.visits, scale, scratch.reach_in[index], weights, out,
                scratch.reach, scratch.values, scratch.by_card,
            )  # fmt: skip
            if not ground.is_whole(index):
                own.learn(self._weights)
                other.remember(self._weights)
        self.touched += self._nodes_in_round[index] * int(place.hands[1].sum())


NO_GROUPS = np.zeros(1, np.int64)  # where a round has no showdowns


def nodes_in_round(tree: BettingTree) -> list[int]:
    """Number of nodes by round, leaves included."""
    return np.bincount(tree.round, minlength=tree.rules.num_rounds).tolist()


def symmetrise(values: np.ndarray, deck: Deck, group: np.ndarray) -> None:
    """Average values [block, hand, LANES] over the permutations under which boards were merged, in place."""
    if len(group) > 1:
        moved = suit_permutations(deck).hands
        values[:] = np.mean([values[:, moved[number]] for number in group], axis=0)

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
from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..abstraction.boards import suit_permutations
from ..abstraction.buckets import CardAbstraction
from ..game.cards import Deck
from ..game.rules import Rules
from ..game.strength import board_strengths
from . import rows
from .betting_tree import BettingTree
from .lane_tables import LaneTables, Sheet, sheet_memory
from .lanes import LANES
from .public_tree import Deal, Scratch, canonical_deals, layout
from .regret import Weights
from .round_plan import RoundPlan, round_plans

Board = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ground:
    """What all walks of a solver stand on.

    Attributes:
        tree, abstraction: the game as it is solved.
        dtype: of tables and walks.
        sampled_rounds: the boards of rounds up to this one are sampled; -1: of none.
    """

    tree: BettingTree
    abstraction: CardAbstraction
    dtype: Any
    sampled_rounds: int

    @property
    def rules(self) -> Rules:
        return self.tree.rules

    @property
    def deck(self) -> Deck:
        return self.tree.rules.deck

    def buckets(self, index: int, boards: np.ndarray) -> np.ndarray:
        """int64 [board, hand]."""
        return self.abstraction.rows(index, boards)

    def hands(self, index: int, board: Board) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Live hands int64 [live], their cards [live, 2] and buckets [live] on a board."""
        deck = self.deck
        hands = np.flatnonzero(~np.isin(deck.hand_cards, board).any(axis=1))
        buckets = self.buckets(index, np.array([board], np.int64))[0, hands]
        return hands, deck.hand_cards[hands], buckets

    def sorted_hands(
        self, index: int, board: Board, deals: list[Deal]
    ) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
        """Hands of boards of the last round as from `rows.sort_boards`, and their buckets."""
        deck = self.deck
        boards = np.array([board + deal.cards for deal in deals], np.int64)
        strength = board_strengths(boards, deck, np.zeros((len(boards), deck.num_hands), np.uint16))
        found = rows.sort_boards(strength, deck.hand_cards)
        return found, np.take_along_axis(self.buckets(index, boards), found[0], axis=1)

    def is_sampled(self, index: int) -> bool:
        return index <= self.sampled_rounds

    def is_whole(self, index: int) -> bool:
        """Whether the tables of a round are settled after the whole walk only."""
        return is_whole(index, self.rules.num_rounds, self.sampled_rounds)

    def sample(self, rng: np.random.Generator) -> list[Board]:
        """Cards dealt by round, for the rounds whose boards are sampled."""
        counts = [count for index, count in enumerate(self.rules.board_cards) if self.is_sampled(index)]
        cards = rng.permutation(self.deck.size)[: sum(counts)].tolist()
        ends = np.cumsum(counts)
        return [tuple(sorted(cards[end - count : end])) for count, end in zip(counts, ends, strict=True)]

    def deals(
        self, index: int, path: list[Board], board: Board, group: np.ndarray
    ) -> tuple[list[Deal], float]:
        """The deals of a round to a board, and the factor for each member of their orbits.

        It is one over the number of boards that two players' cards leave, times, where one board is
        sampled, the number that it was drawn from.
        """
        count = self.rules.board_cards[index]
        chance = 1.0 / comb(self.deck.size - 4 - len(board), count)
        if self.is_sampled(index):
            alone = Deal(path[index], 1, self.group_after(index, path))
            return [alone], chance * comb(self.deck.size - len(board), count)
        return canonical_deals(self.deck, tuple(sorted(board)), count, tuple(group.tolist())), chance

    def group_after(self, index: int, path: list[Board]) -> np.ndarray:
        """Suit permutations that leave the sampled deals up to a round alone, for merging those that follow.

        The identity alone where nothing is to be merged: the next deal is sampled too, or suits matter.
        """
        is_last = index + 1 == self.rules.num_rounds
        if is_last or self.is_sampled(index + 1) or not self.abstraction.is_suit_invariant:
            return np.array([0])
        moved = suit_permutations(self.deck).cards
        return np.array(
            [
                number
                for number, cards in enumerate(moved)
                if all(tuple(sorted(cards[list(deal)])) == deal for deal in path[: index + 1])
            ]
        )


def is_whole(index: int, num_rounds: int, sampled_rounds: int) -> bool:
    """Whether a walk settles the tables of a round in the end only: it may come there more than once."""
    return index > sampled_rounds and (index + 1 < num_rounds or index > sampled_rounds + 1)


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
        whole: by round, the sheets of all blocks with a row for each bucket; None where a round is sampled.
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

    def opened(self, index: int, block: int, buckets: np.ndarray, weights: Weights) -> Sheet:
        """A sheet with rows for these buckets; the next one of the same round takes its place."""
        blocks = self.tables.blocks[index]
        memory = self._memory.get(index)
        width = max(part.regrets.shape[1] for part in blocks)
        if memory is None or len(memory[0]) < len(buckets) * width * LANES:
            rows_needed = min(len(blocks[0].regrets), len(buckets) + len(buckets) // 4)
            memory = self._memory[index] = sheet_memory(blocks, rows_needed, self._ground.dtype)
        sheet = Sheet(blocks[block], memory, len(buckets))
        sheet.open(buckets, weights)
        return sheet

    def own_sheets(self, index: int, buckets: np.ndarray, weights: Weights) -> list[Sheet]:
        """A sheet of its own memory for every block."""
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
        for sheet in self._whole_sheets():
            sheet.gains[:] = 0

    def _whole_sheets(self) -> list[Sheet]:
        return [sheet for sheets in self.whole for sheet in sheets or []]


class _Betting(NamedTuple):
    """The betting of a round on a board, on the way down: what the way up needs again."""

    round: int
    board: Board
    hands: np.ndarray  # int64 [live]
    cards: np.ndarray  # int64 [live, 2]
    lines: np.ndarray  # int64 [live]: row of each hand in the sheets
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

    def iterate(self, path: list[Board], weights: Weights) -> None:
        """Both players' walks on one sampled board, player 0 first, and what they learn."""
        for player in (0, 1):
            self.begin(player, path, weights)
            self.boards()
            self.end()

    def begin(self, player: int, path: list[Board], weights: Weights) -> None:
        """Start to value the hands of a player: the first round, downwards."""
        self._player, self._path, self._weights = player, path, weights
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
        ground, player = self.ground, self._player
        scratch = self.scratch[player]
        hands, cards, buckets = ground.hands(index, board)
        own, other, lines = self._sheets(index, buckets)
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        for block in range(plan.num_blocks):
            rows.pass_down(
                block, block + 1, *arrays[:4], hands, lines, other[block].chances,
                scratch.reach_in[index], scratch.reach_in[index + 1], scratch.reach,
            )  # fmt: skip
        return _Betting(index, board, hands, cards, lines, own, other)

    def _ascend(
        self, state: _Betting, group: np.ndarray, weight: float, scale: float, out: np.ndarray
    ) -> None:
        """Add weight times the values of that betting to out, and what is learnt from it."""
        index, _, hands, cards, lines, own, other = state
        ground, player = self.ground, self._player
        scratch = self.scratch[player]
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        value_next = scratch.values_in[index + 1]
        symmetrise(value_next, ground.deck, group)
        for block in range(plan.num_blocks):
            rows.pass_up(
                block, block + 1, *arrays, hands, cards, NO_GROUPS, lines,
                other[block].chances, lines, own[block].chances, own[block].gains, other[block].visits,
                scale * weight, scratch.reach_in[index], value_next, weight, out, scratch.reach,
                scratch.values, scratch.by_card,
            )  # fmt: skip
        self.touched += self._nodes_in_round[index] * len(hands)
        if not ground.is_whole(index):
            for mine, theirs in zip(own, other, strict=True):
                mine.learn(self._weights)
                theirs.remember(self._weights)

    def _sheets(self, index: int, buckets: np.ndarray) -> tuple[list[Sheet], list[Sheet], np.ndarray]:
        """The sheets of both players for a round, and the row of each hand."""
        books = self.books[self._player], self.books[1 - self._player]
        whole = books[0].whole[index], books[1].whole[index]
        if whole[0] is not None and whole[1] is not None:
            return whole[0], whole[1], buckets
        present, lines = compacted(buckets, self.ground.abstraction.num_buckets[index])
        own, other = (book.own_sheets(index, present, self._weights) for book in books)
        return own, other, lines

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
        sorted_hands, buckets = ground.sorted_hands(index, board, deals)
        plan = self.valuations[player].plans[index]
        arrays = layout(plan, scratch.amounts[index])
        books = self.books[player], self.books[1 - player]
        whole = books[0].whole[index], books[1].whole[index]
        lines = buckets
        if whole[0] is None:
            present, lines = compacted(buckets, ground.abstraction.num_buckets[index])
        for block in range(plan.num_blocks):
            if whole[0] is not None and whole[1] is not None:
                own, other = whole[0][block], whole[1][block]
            else:
                own, other = (book.opened(index, block, present, self._weights) for book in books)
            rows.value_boards(
                block, block + 1, *arrays, *sorted_hands, lines, other.chances, lines, own.chances,
                own.gains, other.visits, scale, scratch.reach_in[index], weights, out, scratch.reach,
                scratch.values, scratch.by_card,
            )  # fmt: skip
            if whole[0] is None:
                own.learn(self._weights)
                other.remember(self._weights)
        self.touched += self._nodes_in_round[index] * int(sorted_hands[1].sum())


NO_GROUPS = np.zeros(1, np.int64)  # where a round has no showdowns


def nodes_in_round(tree: BettingTree) -> list[int]:
    """Number of nodes by round, leaves included."""
    return np.bincount(tree.round, minlength=tree.rules.num_rounds).tolist()


def compacted(buckets: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The buckets that occur, ascending, and for each entry the place of its bucket among them."""
    occurs = np.zeros(count, bool)
    occurs[buckets] = True
    present = np.flatnonzero(occurs)
    place = np.zeros(count, np.int64)
    place[present] = np.arange(len(present))
    return present, place[buckets]


def symmetrise(values: np.ndarray, deck: Deck, group: np.ndarray) -> None:
    """Average values [block, hand, LANES] over the permutations under which boards were merged, in place."""
    if len(group) > 1:
        moved = suit_permutations(deck).hands
        values[:] = np.mean([values[:, moved[number]] for number in group], axis=0)

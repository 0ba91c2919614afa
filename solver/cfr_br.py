"""CFR-BR: one player learns against an opponent who plays best responses in the real game.

(Johanson, Bard, Burch and Bowling, "Finding optimal abstract strategies in extensive-form games", AAAI 2012.)
The opponent is a hybrid: before the round of his responses he learns in the abstraction like anybody; from
then on he sees real cards, and on each board plays a best response to the current strategy of the player who
is trained. What that player's average strategy loses to best responses falls to the least that his
abstraction allows, up to what the opponent's own abstraction of the early rounds hides.

On each board the opponent's choices need the values of all boards that follow. So these are valued first,
then his choices are made and carried down, and on the way up the trained player learns.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import rows
from .ground import Board, Ground, Places
from .lane_tables import LaneTables
from .lanes import LANES
from .public_tree import Deal, Scratch, layout
from .regret import Weights
from .round_plan import BEST_RESPONSE, CHOOSE
from .training_walk import NO_GROUPS, SheetBook, Valuation, nodes_in_round, symmetrise


class ResponseWalk:
    """One thread's walks that train one player.

    Args:
        ground: the game.
        trained: plans of both players' learning walks.
        player: who is trained.
        response: the round from which the opponent plays best responses.
        tables: of the player; modified in place.
        opponent: tables of the opponent for the rounds before; modified in place.
        stop: set to end a walk with a RuntimeError.

    Attributes:
        touched: (node of the betting tree, live hand) pairs visited, of all passes.
    """

    def __init__(
        self,
        ground: Ground,
        trained: Sequence[Valuation],
        player: int,
        response: int,
        tables: LaneTables,
        opponent: LaneTables,
        stop: threading.Event,
    ):
        self.ground, self.player, self.response = ground, player, response
        self.touched = 0
        self._mine = trained[player]
        self._theirs = trained[1 - player]
        self._choosing = Valuation(ground, 1 - player, CHOOSE)
        self._responding = Valuation(ground, 1 - player, BEST_RESPONSE)
        self._scratch = Scratch(self._mine, stop)  # values of the player, reach of the opponent
        self._their_scratch = Scratch(self._choosing, stop)  # the other way round
        self._book = SheetBook(ground, tables)
        self._their_book = SheetBook(ground, opponent)
        self._places = Places(ground)
        self._nodes = nodes_in_round(ground.tree)
        dtype: Any = ground.dtype
        self._nothing = np.zeros((1, 1, 1, LANES), dtype)
        self._no_visits = np.zeros((1, 0, 1, LANES), dtype)
        # The opponent's choices on a board, by round and block: [1, live hand, action, LANES].
        self._choices: list[list[np.ndarray]] = []
        for index, plan in enumerate(self._choosing.plans):
            widths = [int(nodes.sum(axis=1).max(initial=0)) for nodes in plan.own_nodes]
            if index + 1 == len(self._choosing.plans):
                widths = [max(widths)]  # one block at a time
            self._choices.append(
                [np.zeros((1, ground.deck.num_hands, width, LANES), dtype) for width in widths]
            )

    @property
    def nbytes(self) -> int:
        """Memory of what is settled after whole walks, beside the tables."""
        return self._book.nbytes + self._their_book.nbytes

    def iterate(self, path: list[Board], weights: Weights) -> None:
        """Train on sampled boards, or where nothing is sampled on all of them."""
        self._path, self._weights = path, weights
        self._places.forget()
        self._book.open_whole(weights)
        self._their_book.open_whole(weights)
        start = [Deal((), 1, self.ground.group_after(0, path))]
        out, their_out = self._scratch.values_in[0], self._their_scratch.values_in[0]
        self._visit(0, (), start, 1.0, 1.0, out, their_out)
        self._book.learn(weights)
        self._book.remember(weights)
        self._their_book.learn(weights)

    def _visit(
        self,
        index: int,
        board: Board,
        deals: list[Deal],
        chance: float,
        scale: float,
        out: np.ndarray,
        their_out: np.ndarray,
    ) -> None:
        """Add both players' values of a round after each deal to out and their_out [block, hand, LANES]."""
        if self._scratch.stop.is_set():
            raise RuntimeError("the walk was stopped")
        if index + 1 == self.ground.rules.num_rounds:
            self._last(index, board, deals, chance, scale, out, their_out)
            return
        visit = self._before_responses if index < self.response else self._respond
        for deal in deals:
            weight = chance * deal.orbit
            visit(index, board + deal.cards, deal.group, weight, scale, out, their_out)

    def _before_responses(
        self,
        index: int,
        board: Board,
        group: np.ndarray,
        weight: float,
        scale: float,
        out: np.ndarray,
        their_out: np.ndarray,
    ) -> None:
        """A round on a board in which both players learn."""
        place = self._places.on(index, board)
        (hands, cards), lines, _ = place
        books = self._book, self._their_book
        sheets, theirs = (book.sheets(index, place, self._weights) for book in books)
        self._carry(self._mine, self._scratch, index, hands, lines, [s.chances for s in theirs])
        self._carry(self._theirs, self._their_scratch, index, hands, lines, [s.chances for s in sheets])
        self._next(index, board, group, scale * weight)
        for block in range(len(sheets)):
            self._up(
                self._theirs, self._their_scratch, index, block, hands, cards, lines, sheets[block].chances,
                lines, theirs[block].chances, theirs[block].gains, sheets[block].visits, weight, scale,
                their_out,
            )  # fmt: skip
            self._up(
                self._mine, self._scratch, index, block, hands, cards, lines, theirs[block].chances,
                lines, sheets[block].chances, sheets[block].gains, self._no_visits, weight, scale, out,
            )  # fmt: skip
        self.touched += 2 * self._nodes[index] * len(hands)
        if not self.ground.is_whole(index):
            for sheet, their_sheet in zip(sheets, theirs, strict=True):
                sheet.learn(self._weights)
                sheet.remember(self._weights)
                their_sheet.learn(self._weights)

    def _respond(
        self,
        index: int,
        board: Board,
        group: np.ndarray,
        weight: float,
        scale: float,
        out: np.ndarray,
        their_out: np.ndarray,
    ) -> None:
        """A round before the last one on a board where the opponent responds."""
        ground = self.ground
        place = self._places.on(index, board)
        (hands, cards), lines, _ = place
        sheets = self._book.sheets(index, place, self._weights)
        every = np.arange(len(hands))
        scratch, choices = self._their_scratch, self._choices[index]
        self._carry(self._choosing, scratch, index, hands, lines, [s.chances for s in sheets])
        deals, chance = ground.deals(index + 1, self._path, board, group)
        values = scratch.values_in[index + 1]
        values[:] = 0
        self._best(index + 1, board, deals, chance, values)
        symmetrise(values, ground.deck, group)
        for block, sheet in enumerate(sheets):
            self._up(
                self._choosing, scratch, index, block, hands, cards, lines, sheet.chances, every,
                choices[block], self._nothing, sheet.visits, weight, scale, their_out,
            )  # fmt: skip
        self._carry(self._mine, self._scratch, index, hands, every, choices)
        own_values = self._scratch.values_in[index + 1]
        own_values[:] = 0
        self._visit(index + 1, board, deals, chance, scale * weight, own_values, values)
        symmetrise(own_values, ground.deck, group)
        for block, sheet in enumerate(sheets):
            self._up(
                self._mine, self._scratch, index, block, hands, cards, every, choices[block], lines,
                sheet.chances, sheet.gains, self._no_visits, weight, scale, out,
            )  # fmt: skip
        self.touched += 2 * self._nodes[index] * len(hands)
        if not ground.is_whole(index):
            for sheet in sheets:
                sheet.learn(self._weights)
                sheet.remember(self._weights)

    def _last(
        self,
        index: int,
        board: Board,
        deals: list[Deal],
        chance: float,
        scale: float,
        out: np.ndarray,
        their_out: np.ndarray,
    ) -> None:
        """The last round after each deal: the opponent chooses, then the player learns."""
        deck, scratch, their_scratch = self.ground.deck, self._scratch, self._their_scratch
        place = self._places.last(board, deals)
        (hands, live, groups, num_groups, cards), lines, _ = place
        every = np.arange(deck.num_hands)
        choosing, mine = self._choosing.plans[index], self._mine.plans[index]
        theirs = layout(choosing, their_scratch.amounts[index])
        own = layout(mine, scratch.amounts[index])
        for block in range(mine.num_blocks):
            sheet = self._book.sheet(index, block, place, self._weights)
            width = int(choosing.own_nodes[block].sum(axis=1).max(initial=0))
            flat = self._choices[index][0].reshape(-1)
            choices = flat[: deck.num_hands * width * LANES].reshape(1, deck.num_hands, width, LANES)
            for number, deal in enumerate(deals):
                end, weight = live[number], chance * deal.orbit
                here = hands[number, :end], cards[number, :end], groups[number, : num_groups[number] + 1]
                line, all_lines = lines[number, :end], every[:end]
                rows.pass_up(
                    block, block + 1, *theirs, *here, line, sheet.chances, all_lines, choices,
                    self._nothing, sheet.visits, scale * weight, their_scratch.reach_in[index],
                    their_scratch.values, weight, their_out, their_scratch.reach, their_scratch.values,
                    their_scratch.by_card,
                )  # fmt: skip
                rows.pass_up(
                    block, block + 1, *own, *here, all_lines, choices, line, sheet.chances, sheet.gains,
                    self._no_visits, scale * weight, scratch.reach_in[index], scratch.values, weight, out,
                    scratch.reach, scratch.values, scratch.by_card,
                )  # fmt: skip
            if not self.ground.is_whole(index):
                sheet.learn(self._weights)
                sheet.remember(self._weights)
        self.touched += 2 * self._nodes[index] * int(live.sum())

    def _best_on(
        self, index: int, board: Board, group: np.ndarray, weight: float, out: np.ndarray
    ) -> None:
        """As `_best`, for a round before the last one on a board."""
        ground, scratch = self.ground, self._their_scratch
        place = self._places.on(index, board)
        (hands, cards), lines, _ = place
        sheets = self._book.sheets(index, place, self._weights)
        chances = [sheet.chances for sheet in sheets]
        self._carry(self._responding, scratch, index, hands, lines, chances)
        deals, chance = ground.deals(index + 1, self._path, board, group)
        values = scratch.values_in[index + 1]
        values[:] = 0
        self._best(index + 1, board, deals, chance, values)
        symmetrise(values, ground.deck, group)
        for block in range(len(sheets)):
            self._up(
                self._responding, scratch, index, block, hands, cards, lines, chances[block], lines,
                self._nothing, self._nothing, self._no_visits, weight, 0.0, out,
            )  # fmt: skip
        self.touched += self._nodes[index] * len(hands)

    def _best(self, index: int, board: Board, deals: list[Deal], chance: float, out: np.ndarray) -> None:
        """Add the values of the opponent's best responses from a round on to out."""
        if self._scratch.stop.is_set():
            raise RuntimeError("the walk was stopped")
        ground, scratch = self.ground, self._their_scratch
        if index + 1 < ground.rules.num_rounds:
            for deal in deals:
                self._best_on(index, board + deal.cards, deal.group, chance * deal.orbit, out)
            return
        place = self._places.last(board, deals)
        weights = np.array([chance * deal.orbit for deal in deals])
        arrays = layout(self._responding.plans[index], scratch.amounts[index])
        for block in range(self._responding.plans[index].num_blocks):
            sheet = self._book.sheet(index, block, place, self._weights)
            rows.value_boards(
                block, block + 1, *arrays, *place.hands, place.lines, sheet.chances, place.lines,
                self._nothing, self._nothing, self._no_visits, 0.0, scratch.reach_in[index], weights, out,
                scratch.reach, scratch.values, scratch.by_card,
            )  # fmt: skip
        self.touched += self._nodes[index] * int(place.hands[1].sum())

    def _carry(
        self,
        valuation: Valuation,
        scratch: Scratch,
        index: int,
        hands: np.ndarray,
        lines: np.ndarray,
        chances: list[np.ndarray],
    ) -> None:
        """The reach of whoever is not valued through a round."""
        arrays = layout(valuation.plans[index], scratch.amounts[index])
        for block, probabilities in enumerate(chances):
            rows.pass_down(
                block, block + 1, *arrays[:4], hands, lines, probabilities, scratch.reach_in[index],
                scratch.reach_in[index + 1], scratch.reach,
            )  # fmt: skip

    def _next(self, index: int, board: Board, group: np.ndarray, scale: float) -> None:
        """Both players' values of the round after `index`, in their scratch."""
        deals, chance = self.ground.deals(index + 1, self._path, board, group)
        values = self._scratch.values_in[index + 1], self._their_scratch.values_in[index + 1]
        for value in values:
            value[:] = 0
        self._visit(index + 1, board, deals, chance, scale, *values)
        for value in values:
            symmetrise(value, self.ground.deck, group)

    def _up(
        self,
        valuation: Valuation,
        scratch: Scratch,
        index: int,
        block: int,
        hands: np.ndarray,
        cards: np.ndarray,
        lines: np.ndarray,
        chances: np.ndarray,
        own_lines: np.ndarray,
        own_chances: np.ndarray,
        gains: np.ndarray,
        visits: np.ndarray,
        weight: float,
        scale: float,
        out: np.ndarray,
    ) -> None:
        """`rows.pass_up` for one block of a round before the last one."""
        rows.pass_up(
            block, block + 1, *layout(valuation.plans[index], scratch.amounts[index]), hands, cards,
            NO_GROUPS, lines, chances, own_lines, own_chances, gains, visits, scale * weight,
            scratch.reach_in[index], scratch.values_in[index + 1], weight, out, scratch.reach,
            scratch.values, scratch.by_card,
        )  # fmt: skip

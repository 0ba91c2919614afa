"""Best responses within the abstraction: a responder who sees buckets instead of cards.

What such a responder wins says how well a strategy is solved, not how good it is: it falls towards zero as a
solver learns its abstraction by heart, while the real-game figure of `best_response` may rise.

The responder's choices are found from his last decisions backwards: a walk over all boards adds up what each
action is worth to each bucket, and the best action is taken where nothing of his is left to decide below.
With perfect recall that is the best response; with imperfect recall (buckets that forget) choosing so is
only a way to play, and what it wins is a lower bound.
"""

from __future__ import annotations

import threading
from math import comb
from time import perf_counter

import numpy as np

from ...game.rules import Rules
from ..betting_tree import BettingTree
from ..ground import Ground
from ..lane_tables import LaneTables, Sheet
from ..lanes import FLOATS
from ..public_tree import check_walkable
from ..regret import Weights
from ..round_plan import TRAIN
from ..strategy import Strategy
from ..training_walk import SheetBook, TrainingWalk, Valuation
from .best_response import Exploitability

MAX_BOARDS = 300_000  # of the last round, suits told apart


def abstract_best_response(strategy: Strategy, precision: str = "double") -> Exploitability:
    """Exploitability of a strategy in its own abstract game, in milli big blinds per hand.

    Every board is walked, once for each decision that a player may have to make in a hand: for games whose
    boards are few, such as short-limit and flop-limit.

    Args:
        strategy: the strategy, in its abstraction and with its bets.
        precision: "single" or "double".

    Raises ValueError for games of many boards.

    Returns an Exploitability of kind "exact" with perfect recall, else "lower bound".
    """
    started = perf_counter()
    check_walkable(strategy.rules)
    check_few_boards(strategy.rules)
    ground = Ground(strategy.tree, strategy.abstraction, FLOATS[precision], -1)
    valuations = [Valuation(ground, player, TRAIN) for player in (0, 1)]
    tables = [
        LaneTables(valuation.plans, strategy.abstraction.num_buckets, ground.dtype)
        for valuation in valuations
    ]
    per_position = []
    for player in (0, 1):
        books = [SheetBook(ground, table) for table in tables]
        walk = TrainingWalk(ground, valuations, books, threading.Event())
        for index, table in enumerate(strategy.tables):
            for book in books:
                for sheet in _sheets(book, index):
                    _write(sheet, table)
        per_position.append(_response(strategy.tree, walk, books[player], player))
    average = sum(per_position) / 2
    return Exploitability(
        mbb_per_hand=average,
        nash_conv=sum(per_position),
        kind="exact" if strategy.abstraction.tuples else "lower bound",
        per_position=(per_position[0], per_position[1]),
        standard_error=0.0,
        lower_bound=average,
        lower_bound_standard_error=0.0,
        flops=len(ground.deals(1, [], (), ground.group_after(0, []))[0]),
        strategy=strategy.name,
        seconds=perf_counter() - started,
        responder=f"the buckets of the abstraction and the bets {strategy.tree.menu}",
    )


def check_few_boards(rules: Rules) -> None:
    """ValueError where walking every board again and again would take days."""
    boards = comb(rules.deck.size, rules.board_size(rules.num_rounds - 1))
    if boards > MAX_BOARDS:
        raise ValueError(
            f"{rules.name} has {boards:,} boards: best responses within the abstraction are for games of at "
            f"most {MAX_BOARDS:,}, such as short-limit or flop-limit"
        )


def _response(tree: BettingTree, walk: TrainingWalk, book: SheetBook, player: int) -> float:
    """What the responder wins in mbb per hand; his strategy in the book becomes his response."""
    heights = own_heights(tree, player)
    value = 0.0
    for height in range(1, int(heights.max()) + 2):  # and once more for the value
        out = walk.scratch[player].values_in[0]
        out[:] = 0
        book.forget_gains()
        walk.begin(player, [], Weights())
        walk.boards()
        walk.end()
        deck = tree.rules.deck
        value = float(out[0, :, 0].mean()) / comb(deck.size - 2, 2) * 1000 / tree.rules.big_blind
        for index in range(tree.rules.num_rounds):
            for sheet in _sheets(book, index):
                _choose(sheet, tree, index, heights == height)
    return value


def own_heights(tree: BettingTree, player: int) -> np.ndarray:
    """int64 [node]: the most decisions that a player may have from a node on, this one included."""
    heights = np.zeros(len(tree), np.int64)
    for node in range(len(tree) - 1, -1, -1):  # children are numbered after their parents
        heights[node] += int(tree.num_actions[node] > 0 and tree.kind[node] == player)
        if node:
            parent = tree.parent[node]
            heights[parent] = max(heights[parent], heights[node])
    return heights


def _sheets(book: SheetBook, index: int) -> list[Sheet]:
    sheets = book.whole[index]
    assert sheets is not None  # nothing is sampled
    return sheets


def _write(sheet: Sheet, table: np.ndarray) -> None:
    """The player's part of a strategy's table [bucket, slot] as the strategy of a sheet."""
    real = sheet.block.slots >= 0
    sheet.chances[0][:, real] = table[:, sheet.block.slots[real]]


def _choose(sheet: Sheet, tree: BettingTree, index: int, chosen: np.ndarray) -> None:
    """At the chosen nodes, bool [node], the best action of each bucket becomes certain."""
    slot_is_chosen = np.zeros(tree.num_slots[index] + 1, bool)  # the last one is that of padding
    for node in np.flatnonzero(chosen & (tree.round == index) & (tree.num_actions > 0)):
        slot_is_chosen[tree.action_slot[node] + np.arange(tree.num_actions[node])] = True
    for first, count in sheet.block.nodes:
        part = slice(first, first + count)
        lanes = slot_is_chosen[sheet.block.slots[first]]
        best = sheet.gains[0][:, part][:, :, lanes].argmax(axis=1)
        sheet.chances[0][:, part, lanes] = np.moveaxis(np.eye(count)[best], 2, 1)

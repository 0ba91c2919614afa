"""The game as vector solvers walk it: boards that are sampled or visited, and the hands on them."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any, NamedTuple

import numpy as np

from ..abstraction.boards import hands_alive, suit_permutations
from ..abstraction.buckets import CardAbstraction
from ..game.cards import Deck
from ..game.rules import Rules
from ..game.strength import board_strengths
from . import rows
from .betting_tree import BettingTree
from .public_tree import Deal, canonical_deals

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


class Place(NamedTuple):
    """Live hands and their rows in sheets: on a board, or for each of the last round's boards.

    Attributes:
        hands: int64 [live], and cards int64 [live, 2], of one board; in the last round all that
            `rows.sort_boards` returns.
        lines: int64 [live] ([board, hand] in the last round): the row of each hand in the sheets.
        present: int64 [row]: the bucket behind each row; None where sheets have a row for every bucket.
    """

    hands: tuple[np.ndarray, ...]
    lines: np.ndarray
    present: np.ndarray | None


class Places:
    """The places that a thread's walks come to.

    Those of a sampled path are kept, as walks may come there several times, until `forget`. On one path the
    deals to a board must be the same each time.
    """

    def __init__(self, ground: Ground):
        self.ground = ground
        self._kept: dict[tuple[int, Board], Place] = {}

    def forget(self) -> None:
        """The next walks are on another path: of what is kept only the empty board stays."""
        self._kept = {key: place for key, place in self._kept.items() if key == (0, ())}

    def on(self, index: int, board: Board) -> Place:
        """The place of a board in a round before the last one."""
        kept = self._kept.get((index, board))
        if kept is not None:
            return kept
        ground = self.ground
        boards = np.array([board], np.int64)
        hands = np.flatnonzero(hands_alive(ground.deck, boards))
        buckets = ground.abstraction.rows(index, boards)[0, hands]
        place = self._place(index, (hands, ground.deck.hand_cards[hands]), buckets)
        if ground.is_sampled(index):
            self._kept[index, board] = place
        return place

    def last(self, board: Board, deals: list[Deal]) -> Place:
        """The place of the last round's boards after all `deals` to a board, in their order."""
        ground = self.ground
        index = ground.rules.num_rounds - 1
        kept = self._kept.get((index, board))
        if kept is not None:
            return kept
        size = ground.rules.board_size(index)
        boards = np.array([board + deal.cards for deal in deals], np.int64).reshape(len(deals), size)
        strength = np.zeros((len(boards), ground.deck.num_hands), np.uint16)
        hands = rows.sort_boards(board_strengths(boards, ground.deck, strength), ground.deck.hand_cards)
        buckets = np.take_along_axis(ground.abstraction.rows(index, boards), hands[0], axis=1)
        place = self._place(index, hands, buckets)
        if ground.is_sampled(index - 1):
            self._kept[index, board] = place
        return place

    def _place(self, index: int, hands: tuple[np.ndarray, ...], buckets: np.ndarray) -> Place:
        if self.ground.is_whole(index):
            return Place(hands, buckets, None)
        occurs = np.zeros(self.ground.abstraction.num_buckets[index], bool)
        occurs[buckets] = True
        present = np.flatnonzero(occurs)
        row_of = np.zeros(len(occurs), np.int64)
        row_of[present] = np.arange(len(present))
        return Place(hands, row_of[buckets], present)

"""The card abstraction: which hands a strategy treats as the same, as one matrix of buckets a round.

A round's own buckets are a matrix [board_row, hand]. With imperfect recall the bucket of a state is that of
its round alone; with perfect recall it is the tuple of the buckets of all rounds so far (Waugh et al. 2009
compare the two), and the tuples that occur are numbered in order. Tuples remember which card came as turn
and which as river, although each matrix ignores the order of its board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numba as nb
import numpy as np

from ..game.cards import Deck, hand_index, parse_cards
from ..game.rules import Rules
from .boards import Boards, canonical_boards, is_suit_invariant, suit_permutations
from .config import AbstractionConfig
from .hands import CanonicalHands, canonical_hands


class RoundTable(NamedTuple):
    """The arrays of one round for compiled code: ``bucket_of(hand, board, *table)``.

    binomials: int64 [card + 1, place + 1]; row_of: int32 [board_index]; permutation_of: uint8 [board_index];
    moved_hands: int32 [permutation, hand]; matrix: uint16 or uint32 [board_row, hand].
    """

    binomials: np.ndarray
    row_of: np.ndarray
    permutation_of: np.ndarray
    moved_hands: np.ndarray
    matrix: np.ndarray


class CardAbstraction:
    """Buckets of every hand on every board of every round.

    Attributes:
        config: the description it was built from.
        matrices: by round, uint16 or uint32 [board_row, hand]: the round's own buckets; entries of hands
            that share a card with the board mean nothing.
        num_own_buckets: by round, the number of these.
        num_buckets: by round, the number of buckets that a strategy has: with imperfect recall the same,
            with perfect recall the number of tuples that occur.
        tuples: with perfect recall, by round, int64 [bucket], ascending: the bucket of the round before
            times the number of own buckets plus the own bucket; () with imperfect recall.
    """

    def __init__(
        self,
        config: AbstractionConfig,
        matrices: Sequence[np.ndarray],
        num_buckets: Sequence[int],
        tuples: Sequence[np.ndarray] = (),
    ):
        self.config = config
        self.matrices = list(matrices)
        self.num_own_buckets = list(num_buckets)
        self.tuples = list(tuples)
        self.num_buckets = [len(keys) for keys in tuples] or self.num_own_buckets
        self.tables = [
            RoundTable(
                boards.binomials,
                boards.row_of,
                boards.permutation_of,
                suit_permutations(self.deck).hands,
                _read_only(matrix),
            )
            for boards, matrix in zip(map(self.boards, range(len(matrices))), matrices, strict=True)
        ]
        self._invariant: bool | None = None
        self._origin: tuple[Callable, Any] | None = None

    def __reduce__(self):
        # Another process opens the cached files itself; they are too big to send.
        if self._origin is None:
            return CardAbstraction, (self.config, self.matrices, self.num_own_buckets, self.tuples)
        origin, argument = self._origin
        return origin, (argument,)

    @property
    def deck(self) -> Deck:
        return self.config.rules.deck

    @property
    def hash(self) -> str:
        return self.config.hash

    def boards(self, round_index: int) -> Boards:
        """The canonical boards of a round."""
        return canonical_boards(self.deck, self.config.board_sizes[round_index])

    def canonical_hands(self, round_index: int) -> CanonicalHands:
        """The canonical hands of a round."""
        return canonical_hands(self.deck, self.config.board_sizes[round_index])

    def row(self, round_index: int, board_row: int) -> np.ndarray:
        """[hand]: the round's own buckets on a canonical board."""
        return self.matrices[round_index][board_row]

    def lookup(self, round_index: int, hands: np.ndarray, boards: np.ndarray) -> np.ndarray:
        """Buckets of hands on boards, int64 [...].

        Args:
            round_index: the round.
            hands: hand indices, int [...].
            boards: card numbers, int [..., cards] in the order in which they were dealt (within one deal in
                any order).
        """
        return self.lookup_rounds(hands, boards, round_index + 1)[round_index]

    def lookup_rounds(
        self, hands: np.ndarray, boards: np.ndarray, rounds: int | None = None
    ) -> list[np.ndarray]:
        """Buckets int64 [...] in each of the first rounds (default: in all), as in `lookup`."""
        boards = np.asarray(boards, np.int64)
        count = self.config.rules.num_rounds if rounds is None else rounds
        self._check_cards(self._check_round(count - 1), np.asarray(hands), boards)
        shape = np.broadcast_shapes(np.shape(hands), boards.shape[:-1])
        flat_hands = np.broadcast_to(hands, shape).astype(np.int64).ravel()
        flat = np.broadcast_to(boards, (*shape, boards.shape[-1])).reshape(len(flat_hands), -1)
        found: list[np.ndarray] = []
        for index in range(count):
            own = np.empty(len(flat_hands), np.int64)
            dealt = np.ascontiguousarray(flat[:, : self.config.board_sizes[index]])
            _lookup(flat_hands, dealt, *self.tables[index], own)
            found.append(self._with_recall(index, found[-1] if found else 0, own))
        return [buckets.reshape(shape) for buckets in found]

    def _check_round(self, round_index: int) -> int:
        if not 0 <= round_index < len(self.matrices):
            raise ValueError(
                f"rounds are numbered from 0 to {len(self.matrices) - 1}, not {round_index}"
            )
        return round_index

    def _check_cards(self, round_index: int, hands: np.ndarray, boards: np.ndarray) -> None:
        """ValueError for numbers that would lead compiled code astray."""
        size = self.config.board_sizes[round_index]
        if boards.ndim == 0 or boards.shape[-1] < size:
            raise ValueError(
                f"boards of round {round_index} have {size} cards, not shape {boards.shape}"
            )
        for what, numbers, most in (
            ("hands", hands, self.deck.num_hands),
            ("cards", boards, self.deck.size),
        ):
            if numbers.size and not 0 <= numbers.min() <= numbers.max() < most:
                raise ValueError(f"{what} are numbered from 0 to {most - 1}")

    def own_rows(self, round_index: int, boards: np.ndarray) -> np.ndarray:
        """int64 [board, hand]: the round's own buckets of all hands on boards int [board, cards].

        Entries of hands that share a card with the board mean nothing.
        """
        out = np.empty((len(boards), self.deck.num_hands), np.int64)
        row, permutation = self.boards(round_index).locate(boards)
        table = self.tables[round_index]
        _gather_rows(row, permutation, table.moved_hands, table.matrix, out)
        return out

    def rows(self, round_index: int, boards: np.ndarray) -> np.ndarray:
        """int64 [board, hand]: buckets of all hands on boards int [board, cards], as in `lookup`.

        For walks over vectors of hands; entries of hands that share a card with the board mean nothing.
        """
        own = self.own_rows(round_index, boards)
        if not (self.tuples and round_index):
            return self._with_recall(round_index, 0, own)
        size = self.config.board_sizes[round_index - 1]
        earlier, place = np.unique(boards[:, :size], axis=0, return_inverse=True)
        return self._with_recall(round_index, self.rows(round_index - 1, earlier)[place.ravel()], own)

    def _with_recall(self, index: int, before: np.ndarray | int, own: np.ndarray) -> np.ndarray:
        """Buckets from those of the round before and the own ones of this round."""
        if not self.tuples:
            return own
        keys = self.tuples[index]
        found = np.searchsorted(keys, before * self.num_own_buckets[index] + own)
        return np.minimum(found, len(keys) - 1)  # dead hands may be anywhere

    def own_buckets(self, round_index: int, bucket: int) -> tuple[int, ...]:
        """The own buckets of the rounds so far that a bucket stands for: one with imperfect recall."""
        if not 0 <= bucket < self.num_buckets[self._check_round(round_index)]:
            raise ValueError(
                f"round {round_index} has buckets 0 to {self.num_buckets[round_index] - 1}, not {bucket}"
            )
        if not self.tuples:
            return (bucket,)
        parts = []
        for index in range(round_index, -1, -1):
            bucket, own = divmod(int(self.tuples[index][bucket]), self.num_own_buckets[index])
            parts.append(own)
        return tuple(parts[::-1])

    def members(self, round_index: int, own_bucket: int) -> tuple[np.ndarray, np.ndarray]:
        """Board rows and hand indices, int64 [member] each, of the canonical hands in an own bucket.

        With perfect recall `own_buckets` tells the own bucket of a round that a bucket stands for.
        """
        hands = self.canonical_hands(self._check_round(round_index))
        labels = hands.gather(np.asarray(self.matrices[round_index]))
        return hands.unindex(np.flatnonzero(labels == own_bucket))

    def bucket(
        self, round_index: int, hole: str | Iterable[str | int], board: str | Iterable[str | int] = ()
    ) -> int:
        """Bucket of a pair of hole cards on a board; ValueError for cards that do not fit the round."""
        hole, board = parse_cards(hole), parse_cards(board)
        parse_cards([*hole, *board])
        size = self.config.board_sizes[self._check_round(round_index)]
        if len(hole) != 2 or len(board) != size:
            raise ValueError(
                f"round {round_index} has two hole cards and {size} community cards, "
                f"not {len(hole)} and {len(board)}"
            )
        number = self.deck.number
        hand = hand_index(number(hole[0]), number(hole[1]))
        return int(
            self.lookup(round_index, np.array(hand), np.array([number(card) for card in board], int))
        )

    def check_fits(self, rules: Rules) -> None:
        """ValueError unless the abstraction is for the cards of these rules."""
        self.config.check_fits(rules)

    @property
    def is_suit_invariant(self) -> bool:
        """Whether a renaming of suits that leaves a board alone never changes a bucket (checked)."""
        if self._invariant is None:
            self._invariant = all(
                is_suit_invariant(matrix, self.boards(index))
                for index, matrix in enumerate(self.matrices)
            )
        return self._invariant

    def __repr__(self) -> str:
        buckets = "-".join(map(str, self.num_buckets))
        recall = ", perfect recall" if self.tuples else ""
        return f"CardAbstraction({self.config.rules.name}, buckets {buckets}{recall}, hash {self.hash})"


def _read_only(matrix: np.ndarray) -> np.ndarray:
    """The same data as a plain array: for compiled code, memory maps are then of the same type."""
    view = np.asarray(matrix).view()
    view.flags.writeable = False
    return view


@nb.njit(cache=True, nogil=True)
def bucket_of(hand, board, binomials, row_of, permutation_of, moved_hands, matrix):
    """A round's own bucket of a hand index on a board of card numbers in any order; for compiled code.

    The last arguments are a `RoundTable`.
    """
    index = 0
    for card in board:
        smaller = 0
        for other in board:
            smaller += other < card
        index += binomials[card, smaller + 1]
    return matrix[row_of[index], moved_hands[permutation_of[index], hand]]


@nb.njit(cache=True, nogil=True)
def _lookup(hands, boards, binomials, row_of, permutation_of, moved_hands, matrix, out):
    """Own buckets of hands [state] on boards [state, cards] into out [state]."""
    for state in range(hands.shape[0]):
        out[state] = bucket_of(
            hands[state], boards[state], binomials, row_of, permutation_of, moved_hands, matrix
        )


@nb.njit(cache=True, nogil=True)
def _gather_rows(rows, permutations, moved_hands, matrix, out):
    """Rows of a matrix [board_row, hand] after a permutation of the hands into out [row, hand]."""
    for row in range(rows.shape[0]):
        values, moved = matrix[rows[row]], moved_hands[permutations[row]]
        for hand in range(out.shape[1]):
            out[row, hand] = values[np.uint32(moved[hand])]

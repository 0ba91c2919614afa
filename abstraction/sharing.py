"""What shares a bucket: the hands that an abstraction takes for the one that is asked about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..game.cards import format_cards, hand_index, parse_cards
from .boards import hands_alive, suit_permutations
from .buckets import CardAbstraction
from .samples import canonical_texts, draw_members


@dataclass(frozen=True)
class Sharing:
    """What shares the bucket of a hand.

    Attributes:
        round: the round.
        hand: the hand and its board as text.
        bucket: its bucket, of `num_buckets`.
        num_buckets: the number of buckets.
        renamed: hole cards that are the same hand on this board, up to a renaming of suits.
        merged: other hole cards on this board in the bucket: what the abstraction cannot tell apart.
        elsewhere: hands on other boards in the bucket, up to a renaming of suits.
        complete: whether `elsewhere` names all of them; if not, it is a random sample of real hands.
    """

    round: int
    hand: str
    bucket: int
    num_buckets: int
    renamed: tuple[str, ...]
    merged: tuple[str, ...]
    elsewhere: tuple[str, ...]
    complete: bool

    def __str__(self) -> str:
        lines = [f"{self.hand}: bucket {self.bucket} of {self.num_buckets:,} in round {self.round}"]
        for title, hands in (
            ("the same up to suits", self.renamed),
            ("merged on this board", self.merged),
            ("on other boards" + ("" if self.complete else ", among others"), self.elsewhere),
        ):
            shown = ", ".join(hands[:_SHOWN]) if hands else "nothing"
            more = f" and {len(hands) - _SHOWN} more" if len(hands) > _SHOWN else ""
            lines.append(f"  {title}: {shown}{more}")
        return "\n".join(lines)


_SHOWN = 24


def what_shares(
    abstraction: CardAbstraction,
    round_index: int,
    hole: str | Iterable[str | int],
    board: str | Iterable[str | int] = (),
    limit: int = 20,
    seed: int = 0,
) -> Sharing:
    """What shares the bucket of a pair of hole cards on a board: every loss of the abstraction shows here.

    Args:
        abstraction: any.
        round_index: the round.
        hole: the hole cards.
        board: the board, in the order in which it was dealt.
        limit: largest number of hands on other boards to name. With imperfect recall all are named if they
            are no more than that.
        seed: of the random choice among more.

    Raises ValueError for cards that do not fit the round.
    """
    hole, board = parse_cards(hole), parse_cards(board)
    bucket = abstraction.bucket(round_index, hole, board)
    deck = abstraction.deck
    numbers = np.array([deck.number(card) for card in board], np.int64)
    hand = hand_index(deck.number(hole[0]), deck.number(hole[1]))
    same = suit_permutations(deck).hands[_keeping(abstraction, round_index, numbers), hand]
    here = (abstraction.rows(round_index, numbers[None]) == bucket) & hands_alive(deck, numbers[None])
    merged = np.setdiff1d(np.flatnonzero(here[0]), same)
    elsewhere, complete = _elsewhere(abstraction, round_index, bucket, numbers, limit, seed)
    return Sharing(
        round=round_index,
        hand=f"{format_cards(hole)} on {format_cards(board)}" if board else format_cards(hole),
        bucket=bucket,
        num_buckets=abstraction.num_buckets[round_index],
        renamed=_names(abstraction, np.setdiff1d(same, [hand])),
        merged=_names(abstraction, merged),
        elsewhere=tuple(elsewhere),
        complete=complete,
    )


def _keeping(abstraction: CardAbstraction, round_index: int, board: np.ndarray) -> np.ndarray:
    """Suit permutations that leave all alone that a player remembers of the board."""
    sizes = abstraction.config.board_sizes[: round_index + 1]
    kept = None
    for index, size in enumerate(sizes):
        if abstraction.tuples or index == round_index:
            kept = abstraction.boards(index).stabiliser(board[:size], kept)
    assert kept is not None
    return kept


def _elsewhere(
    abstraction: CardAbstraction,
    round_index: int,
    bucket: int,
    board: np.ndarray,
    limit: int,
    seed: int,
) -> tuple[list[str], bool]:
    """Hands on other boards in a bucket as text, and whether these are all."""
    hands = abstraction.canonical_hands(round_index)
    if not len(board):
        return [], True
    row = int(hands.boards.locate(board)[0])
    own = abstraction.own_buckets(round_index, bucket)[-1]
    ((rows, drawn),) = draw_members(abstraction, round_index, [own], seed)
    texts = canonical_texts(hands, rows[rows != row][: 4 * limit], drawn[rows != row][: 4 * limit])
    few = len(texts) <= limit
    if few:
        rows, drawn = abstraction.members(round_index, own)
    rows, drawn = rows[rows != row], drawn[rows != row]
    if not len(rows):
        return [], True
    complete = few and len(rows) <= limit and not abstraction.tuples
    if few and not complete:  # weights of real hands, as drawn hands have them
        weights = hands.boards.orbit[rows] * hands.orbit_size[hands.group_of[rows], drawn]
        order = np.random.default_rng(seed).choice(len(rows), len(rows), False, weights / weights.sum())
        rows, drawn = rows[order], drawn[order]
    if abstraction.tuples:
        return _in_tuple(abstraction, round_index, bucket, rows, drawn, seed)[:limit], complete
    rows, drawn = rows[: 50 * limit], drawn[: 50 * limit]
    return canonical_texts(hands, rows, drawn)[:limit], complete


def _in_tuple(
    abstraction: CardAbstraction,
    round_index: int,
    bucket: int,
    rows: np.ndarray,
    hands: np.ndarray,
    seed: int,
) -> list[str]:
    """Those of some hands, on boards dealt in a random order, that are in a bucket of perfect recall."""
    rng = np.random.default_rng(seed)
    boards = rng.permuted(abstraction.boards(round_index).cards[rows], axis=1)
    inside = np.flatnonzero(abstraction.lookup(round_index, hands, boards) == bucket)
    deck = abstraction.deck
    texts = (
        f"{deck.hand_name(int(hands[i]))} on {format_cards(deck.cards[boards[i]].tolist())}"
        for i in inside
    )
    return list(dict.fromkeys(texts))


def _names(abstraction: CardAbstraction, hands: np.ndarray) -> tuple[str, ...]:
    """Texts of hand indices, the highest cards first."""
    return tuple(abstraction.deck.hand_name(int(hand)) for hand in np.sort(hands)[::-1])

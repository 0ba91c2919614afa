"""Random hands of a round, for reports and figures; whatever counts in a strategy is exact instead."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..game.cards import format_cards
from ..game.strength import board_strengths
from .boards import hands_alive
from .buckets import CardAbstraction
from .hands import CanonicalHands

_DRAWS = 1 << 18
_CHUNK = 1024  # boards whose strengths are computed at a time


def draw_hands(
    hands: CanonicalHands, number: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Board rows and hand indices, int64 [number] each: every real hand on every real board is as likely."""
    boards, deck = hands.boards, hands.boards.deck
    rows = rng.choice(len(boards), number, p=boards.orbit / boards.orbit.sum())
    drawn = np.empty(number, np.int64)
    # As many hands are alive on each board, so drawing the others again favours none.
    left = np.arange(number)
    while len(left):
        drawn[left] = rng.integers(deck.num_hands, size=len(left))
        left = left[_share_cards(deck.hand_cards[drawn[left]], boards.cards[rows[left]])]
    return rows, drawn


def draw_members(
    abstraction: CardAbstraction, round_index: int, buckets: Sequence[int], seed: int = 0
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Board rows and hand indices of random hands in each of some own buckets.

    There are as many as a quarter of a million random hands gave: none for a bucket that is rare.
    """
    hands = abstraction.canonical_hands(round_index)
    rows, drawn = draw_hands(hands, _DRAWS, np.random.default_rng(seed))
    labels = abstraction.matrices[round_index][rows, drawn]
    places = [np.flatnonzero(labels == bucket) for bucket in buckets]
    return [(rows[place], drawn[place]) for place in places]


def draw_equities(
    abstraction: CardAbstraction, round_index: int, buckets: Sequence[int], number: int, seed: int = 0
) -> np.ndarray:
    """Float64 [bucket, number]: equities of random hands in own buckets after random cards to come.

    Each is a win's share against all hands that an opponent may hold when the last card is dealt, a tie
    counting one half. Raises ValueError for a bucket that is too rare to be drawn.
    """
    deck, sizes = abstraction.deck, abstraction.config.board_sizes
    rng = np.random.default_rng(seed)
    out = np.empty((len(buckets), number))
    members = draw_members(abstraction, round_index, buckets, seed)
    for bucket, (rows, hands), equities in zip(buckets, members, out, strict=True):
        if not len(rows):
            raise ValueError(f"bucket {bucket} of round {round_index} is too rare for random hands")
        chosen = rng.integers(len(rows), size=number)
        board = abstraction.boards(round_index).cards[rows[chosen]]
        hand = hands[chosen]
        order = rng.random((number, deck.size))
        known = np.concatenate([board, deck.hand_cards[hand]], axis=1)
        np.put_along_axis(order, known, 2.0, axis=1)  # known cards come last
        more = order.argsort(axis=1)[:, : sizes[-1] - sizes[round_index]]
        equities[:] = _equities(hand, np.concatenate([board, more], axis=1), abstraction)
    return out


def _equities(hands: np.ndarray, boards: np.ndarray, abstraction: CardAbstraction) -> np.ndarray:
    """float64 [state]: equities of hands [state] on last boards [state, cards]."""
    deck = abstraction.deck
    cards = deck.hand_cards
    out = np.empty(len(hands))
    for start in range(0, len(hands), _CHUNK):
        part = slice(start, start + _CHUNK)
        strength = np.empty((len(hands[part]), deck.num_hands), np.uint16)
        board_strengths(boards[part], deck, strength)
        own = np.take_along_axis(strength, hands[part, None], axis=1)
        alive = hands_alive(deck, np.concatenate([boards[part], cards[hands[part]]], axis=1))
        won = (2 * (strength < own) + (strength == own)) * alive
        out[part] = won.sum(axis=1) / (2 * alive.sum(axis=1))
    return out


def canonical_texts(hands: CanonicalHands, rows: np.ndarray, drawn: np.ndarray) -> list[str]:
    """Texts such as ``AsKd on Qs7c2h`` of hands on canonical boards, without repetitions, in their order."""
    smallest = hands.smallest[hands.group_of[rows], drawn]
    texts = [hand_text(hands, int(row), int(hand)) for row, hand in zip(rows, smallest, strict=True)]
    return list(dict.fromkeys(texts))


def hand_text(hands: CanonicalHands, row: int, hand: int) -> str:
    """Text of a hand on a canonical board: ``AsKd on Qs7c2h``, before the flop ``AsKd``."""
    boards = hands.boards
    name = boards.deck.hand_name(hand)
    if not boards.size:
        return name
    return f"{name} on {format_cards(boards.deck.cards[boards.cards[row][::-1]].tolist())}"


def _share_cards(hand_cards: np.ndarray, boards: np.ndarray) -> np.ndarray:
    """bool [state]: whether hole cards int [state, 2] are on boards int [state, cards]."""
    shared = np.zeros(len(boards), bool)
    for card in boards.T:  # column by column: faster than all pairs at once
        shared |= (hand_cards[:, 0] == card) | (hand_cards[:, 1] == card)
    return shared

"""Hand strength of five to seven cards, for whole batches and for all hands on a board.

The strength of a hand is a number from 1 (seven high) to 7462 (royal flush): the classes of equal
five-card hands in order. Larger is better, equal numbers tie.

Method: the sum of ``5 ** rank`` over the cards names their ranks uniquely (no rank occurs more than
four times), and a two-level perfect hash (hash and displace: Belazzougui, Botelho and Dietzfelbinger
2009) turns it into a table row. Flushes go by the 13-bit set of ranks in the suit.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement
from typing import NamedTuple

import numba as nb
import numpy as np

from .cards import Deck, format_cards

CATEGORIES = (
    "high card",
    "pair",
    "two pair",
    "three of a kind",
    "straight",
    "flush",
    "full house",
    "four of a kind",
    "straight flush",
)
_CLASSES = (1277, 2860, 858, 858, 10, 1277, 156, 156, 10)  # distinct hands in each category
#: Largest strength of each category, in the order of CATEGORIES.
CATEGORY_TOP = np.cumsum(_CLASSES).astype(np.int32)
MAX_STRENGTH = int(CATEGORY_TOP[-1])

_BUCKET_BITS, _SLOT_BITS = 13, 17
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 / golden ratio, a usual choice for hashing


class StrengthTables(NamedTuple):
    """Lookup tables of the kernels.

    card_keys: uint64 [64]: ``5 ** rank`` in the low half, a count of the suit in the high half.
    card_masks: uint64 [64]: bit ``16 * suit + rank``; bit 63 marks numbers that are no card.
    displacements: uint16 [2**13]: shift of each bucket of the perfect hash.
    by_ranks: uint16 [2**17]: strength by hashed rank sum, without flushes.
    by_flush: uint16 [2**13]: strength by the set of ranks in a flush.
    """

    card_keys: np.ndarray
    card_masks: np.ndarray
    displacements: np.ndarray
    by_ranks: np.ndarray
    by_flush: np.ndarray


@cache
def strength_tables() -> StrengthTables:
    """The lookup tables, computed once a process (a fraction of a second)."""
    counts = np.concatenate([_rank_counts(size) for size in (5, 6, 7)])
    flushes = np.arange(1 << 13)
    flush_sets = (flushes[:, None] >> np.arange(13)) & 1
    long_enough = flush_sets.sum(axis=1) >= 5
    codes = np.concatenate([_codes(counts), _codes(flush_sets[long_enough], flush=True)])
    order, dense = np.unique(codes, return_inverse=True)
    assert len(order) == CATEGORY_TOP[-1]
    strengths = (dense + 1).astype(np.uint16)

    card = np.arange(64, dtype=np.uint64)
    rank, suit = card >> np.uint64(2), card & np.uint64(3)
    is_card = card < 52
    one = np.uint64(1)
    keys = np.uint64(5) ** rank + (one << (np.uint64(32) + np.uint64(4) * suit))
    masks = np.where(is_card, one << (np.uint64(16) * suit + rank), one << np.uint64(63))
    sums = counts.astype(np.uint64) @ (np.uint64(5) ** np.arange(13, dtype=np.uint64))
    displacements, by_ranks = _place(sums, strengths[: len(sums)])
    by_flush = np.zeros(1 << 13, np.uint16)
    by_flush[long_enough] = strengths[len(sums) :]
    return StrengthTables(np.where(is_card, keys, 0), masks, displacements, by_ranks, by_flush)


def _rank_counts(size: int) -> np.ndarray:
    """int64 [n, 13]: every way to have `size` cards with at most four of a rank."""
    picks = np.array(list(combinations_with_replacement(range(13), size)))
    counts = np.zeros((len(picks), 13), np.int64)
    np.add.at(counts, (np.arange(len(picks))[:, None], picks), 1)
    return counts[counts.max(axis=1) <= 4]


def _codes(counts: np.ndarray, flush: bool = False) -> np.ndarray:
    """int64 [n]: a number for the best five cards, ordered as the hands are. counts: [n, 13]."""
    straights = np.full(len(counts), -1)
    for low in range(-1, 9):  # -1 is the ace below the deuce
        run = [rank % 13 for rank in range(low, low + 5)]
        straights = np.where((counts[:, run] > 0).all(axis=1), low + 4, straights)
    is_straight = straights >= 0
    remaining = counts.copy()
    index = np.arange(len(counts))

    def take(at_least: int) -> np.ndarray:
        """Highest rank that occurs so often, removed from `remaining`; -1 where none does."""
        ranks = np.where(remaining >= at_least, np.arange(13), -1).max(axis=1)
        remaining[index[ranks >= 0], ranks[ranks >= 0]] = 0
        return ranks

    def packed(category: int, *ranks: np.ndarray) -> np.ndarray:
        code = np.full(len(counts), category)
        for place in range(5):
            code = code * 16 + (ranks[place] + 1 if place < len(ranks) else 0)
        return code

    def take_with(group: np.ndarray, kickers: int) -> list[np.ndarray]:
        """The group's rank and the best single cards beside it."""
        nonlocal remaining
        saved = remaining
        remaining = counts.copy()
        for ranks in np.atleast_2d(group):
            remaining[index[ranks >= 0], ranks[ranks >= 0]] = 0
        result = [take(1) for _ in range(kickers)]
        remaining = saved
        return result

    if flush:
        singles = [take(1) for _ in range(5)]
        return np.where(is_straight, packed(8, straights), packed(5, *singles))
    quads = take(4)
    remaining = counts.copy()
    trips = take(3)
    trips_pair = take(2)
    remaining = counts.copy()
    pair = take(2)
    second = take(2)
    remaining = counts.copy()
    singles = [take(1) for _ in range(5)]
    code = packed(0, *singles)
    code = np.where(pair >= 0, packed(1, pair, *take_with(pair, 3)), code)
    two_pair = packed(2, pair, second, *take_with(np.stack([pair, second]), 1))
    code = np.where(second >= 0, two_pair, code)
    code = np.where(trips >= 0, packed(3, trips, *take_with(trips, 2)), code)
    code = np.where(is_straight, packed(4, straights), code)
    code = np.where((trips >= 0) & (trips_pair >= 0), packed(6, trips, trips_pair), code)
    return np.where(quads >= 0, packed(7, quads, *take_with(quads, 1)), code)


def _place(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Displacements and table of a perfect hash for distinct keys (uint64 [n], values uint16 [n])."""
    hashes = keys * _MULTIPLIER
    buckets = (hashes >> np.uint64(64 - _BUCKET_BITS)).astype(np.int64)
    slots = (hashes >> np.uint64(64 - _BUCKET_BITS - _SLOT_BITS)).astype(np.int64)
    slots &= (1 << _SLOT_BITS) - 1
    sizes = np.bincount(buckets, minlength=1 << _BUCKET_BITS)
    displacements = np.zeros(1 << _BUCKET_BITS, np.uint16)
    table = np.zeros(1 << _SLOT_BITS, np.uint16)
    free = np.ones(1 << _SLOT_BITS, bool)
    members = np.split(np.argsort(buckets, kind="stable"), np.cumsum(sizes)[:-1])
    for bucket in np.argsort(-sizes, kind="stable"):
        if sizes[bucket] == 0:
            break
        own = slots[members[bucket]]
        for start in range(0, 1 << 16, 256):
            tries = (own + np.arange(start, start + 256)[:, None]) & ((1 << _SLOT_BITS) - 1)
            fits = free[tries].all(axis=1)
            if fits.any():
                place = tries[fits.argmax()]
                displacements[bucket] = start + fits.argmax()
                free[place] = False
                table[place] = values[members[bucket]]
                break
        else:
            raise AssertionError("no displacement keeps the hash free of collisions")
    return displacements, table


def hand_strength(cards: np.ndarray) -> np.ndarray:
    """Strength of hands of five to seven cards: larger is better, equal is a tie.

    Args:
        cards: integer array [..., n] of cards (``4 * rank + suit``), n = 5, 6 or 7.

    Returns:
        int32 array [...]: 1 to 7462. `CATEGORY_TOP` tells the category.

    Raises ValueError for another number of cards, numbers outside 0 to 51 and repeated cards.
    """
    cards = np.asarray(cards)
    if cards.dtype.kind not in "iu":
        raise ValueError(f"cards must be integers, not {cards.dtype}")
    if cards.ndim == 0 or not 5 <= cards.shape[-1] <= 7:
        raise ValueError(f"a hand has 5, 6 or 7 cards along the last axis, not shape {cards.shape}")
    flat = np.ascontiguousarray(cards).reshape(-1, cards.shape[-1])
    strength = np.empty(len(flat), np.int32)
    bad = _strength_batch(flat, *strength_tables(), strength)
    if bad >= 0:
        row = [int(card) for card in flat[bad]]
        for card in row:
            if not 0 <= card < 52:
                raise ValueError(f"{card} is not a card number: 0 (2c) to 51 (As)")
        raise ValueError(f"hand {format_cards(row)} names a card twice")
    return strength.reshape(cards.shape[:-1])


def partial_strength(cards: np.ndarray) -> np.ndarray:
    """Strength of hands of one to four cards (small games): pairs and the like, then high cards.

    There are no straights and flushes. Only hands of equally many cards compare.

    Args:
        cards: integer array [..., n] of distinct cards, n = 1 to 4.

    Returns:
        int32 array [...]: larger is better, equal is a tie.

    Raises ValueError for another number of cards.
    """
    cards = np.asarray(cards)
    if cards.ndim == 0 or not 1 <= cards.shape[-1] <= 4:
        raise ValueError(f"a partial hand has 1 to 4 cards, not shape {cards.shape}")
    ranks = cards // 4
    counts = (ranks[..., None] == ranks[..., None, :]).sum(axis=-1)
    # The sum of the counts tells the kinds of hands apart; then decide the ranks, larger groups first.
    strength = counts.sum(axis=-1)
    for place in np.moveaxis(np.sort(16 * counts + ranks), -1, 0)[::-1]:
        strength = 16 * strength + place % 16
    return strength.astype(np.int32)


def board_strengths(boards: np.ndarray, deck: Deck, out: np.ndarray) -> np.ndarray:
    """Strength of every pair of hole cards on every board, 0 for hands that share a card with it.

    Args:
        boards: int [boards, n] card numbers of the deck, n = 3 to 5.
        deck: the deck that the numbers and the hand indices count in.
        out: uint16 [boards, deck.num_hands], modified in place.

    Raises ValueError for boards of another size, or where `out` does not fit.
    """
    if boards.ndim != 2 or not 3 <= boards.shape[1] <= 5:
        raise ValueError(f"boards have 3 to 5 cards, not shape {boards.shape}")
    if out.shape != (len(boards), deck.num_hands):
        raise ValueError(f"out has shape {out.shape}, it should have {(len(boards), deck.num_hands)}")
    tables = strength_tables()
    card_sums = np.stack([tables.card_keys[deck.cards], tables.card_masks[deck.cards]], axis=1)
    boards = np.ascontiguousarray(boards, dtype=np.int64)
    _strength_rows(boards, card_sums, tables.displacements, tables.by_ranks, tables.by_flush, out)
    return out


# Kernels. The passes over a block of hands are apart so that all but the rare flushes vectorise.

_BLOCK = 256


@nb.njit(cache=True, nogil=True)
def _strength_batch(cards, card_keys, card_masks, displacements, by_ranks, by_flush, out):
    """Strengths of cards [hands, n] into out [hands]; index of the first bad hand, or -1."""
    keys = np.empty(_BLOCK, np.uint64)
    masks = np.empty(_BLOCK, np.uint64)
    for start in range(0, cards.shape[0], _BLOCK):
        block = cards[start : start + _BLOCK]
        size = block.shape[0]
        if _sum_cards(block, card_keys, card_masks, keys, masks):
            for i in range(size):
                if _sum_cards(block[i : i + 1], card_keys, card_masks, keys, masks):
                    return start + i
        _strengths_by_ranks(keys[:size], displacements, by_ranks, out[start : start + size])
        _strengths_by_flush(keys[:size], masks[:size], by_flush, out[start : start + size])
    return -1


@nb.njit(cache=True, nogil=True)
def _sum_cards(cards, card_keys, card_masks, keys, masks):
    """Sums of card keys and unions of card masks of cards [hands, n]; non-zero if a hand is bad."""
    bad = np.uint64(0)
    if cards.shape[1] == 7:
        for i in range(cards.shape[0]):
            key, mask, fault = _sum_hand(cards[i], 7, card_keys, card_masks)
            keys[i], masks[i] = key, mask
            bad |= fault
    else:
        for i in range(cards.shape[0]):
            key, mask, fault = _sum_hand(cards[i], cards.shape[1], card_keys, card_masks)
            keys[i], masks[i] = key, mask
            bad |= fault
    return bad


@nb.njit(cache=True, nogil=True, inline="always")
def _sum_hand(hand, size, card_keys, card_masks):
    key, mask, total, seen = np.uint64(0), np.uint64(0), np.uint64(0), np.uint64(0)
    for j in range(size):
        card = np.uint64(hand[j])
        seen |= card
        card &= np.uint64(63)
        key += card_keys[card]
        mask |= card_masks[card]
        total += card_masks[card]
    # A repeated card makes the sum of the masks differ from their union.
    return key, mask, (mask ^ total) | (mask >> np.uint64(63)) | (seen >> np.uint64(6))


@nb.njit(cache=True, nogil=True)
def _strengths_by_ranks(keys, displacements, by_ranks, out):
    for i in range(keys.shape[0]):
        h = (keys[i] & np.uint64(0xFFFFFFFF)) * np.uint64(0x9E3779B97F4A7C15)
        slot = (h >> np.uint64(34)) + np.uint64(displacements[h >> np.uint64(51)])
        out[i] = by_ranks[slot & np.uint64(0x1FFFF)]


@nb.njit(cache=True, nogil=True)
def _strengths_by_flush(keys, masks, by_flush, out):
    """Strengths of the flushes among the hands; others are left as they are.

    With seven cards a flush rules out four of a kind and a full house, so the flush decides.
    """
    for i in range(keys.shape[0]):
        flush = ((keys[i] >> np.uint64(32)) + np.uint64(0x3333)) & np.uint64(0x8888)
        if flush:  # some nibble counts five or more of a suit
            suit_bits = np.uint64(0)
            while flush > np.uint64(8):
                flush >>= np.uint64(4)
                suit_bits += np.uint64(16)
            out[i] = by_flush[(masks[i] >> suit_bits) & np.uint64(0x1FFF)]


@nb.njit(cache=True, nogil=True)
def _strength_rows(boards, card_sums, displacements, by_ranks, by_flush, out):
    """Strengths of all hands on boards [boards, n] of deck numbers into out [boards, hands]."""
    size, num_hands = card_sums.shape[0], out.shape[1]
    hand_keys = np.empty(num_hands, np.uint64)
    hand_masks = np.empty(num_hands, np.uint64)
    hand = 0
    for high in range(size):
        for low in range(high):
            hand_keys[hand] = card_sums[high, 0] + card_sums[low, 0]
            hand_masks[hand] = card_sums[high, 1] | card_sums[low, 1]
            hand += 1
    keys = np.empty(num_hands, np.uint64)
    masks = np.empty(num_hands, np.uint64)
    for row in range(boards.shape[0]):
        board_key, board_mask = np.uint64(0), np.uint64(0)
        for number in boards[row]:
            board_key += card_sums[number, 0]
            board_mask |= card_sums[number, 1]
        for hand in range(num_hands):
            keys[hand] = board_key + hand_keys[hand]
            masks[hand] = board_mask | hand_masks[hand]
        _strengths_by_ranks(keys, displacements, by_ranks, out[row])
        three_suited = ((board_key >> np.uint64(32)) + np.uint64(0x5555)) & np.uint64(0x8888)
        if three_suited:
            _strengths_by_flush(keys, masks, by_flush, out[row])
        for hand in range(num_hands):
            if board_mask & hand_masks[hand]:
                out[row, hand] = 0

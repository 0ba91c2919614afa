"""Equity histograms against enumeration with eval7, exact mean equities and plain twins on small decks."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from nashfold.abstraction import CanonicalHands, canonical_boards, canonical_hands, histograms
from nashfold.abstraction.boards import suit_permutations
from nashfold.abstraction.equity import (
    earlier_sums,
    last_round_equity,
    strength_table,
)
from nashfold.abstraction.histograms import equity_histograms
from nashfold.game import Deck, format_cards, parse_cards
from nashfold.game.cards import hand_index
from some_boards import equities_after, some_boards

FULL = Deck()


def eval7_cards(deck: Deck) -> list:
    """eval7's cards by card number of the deck."""
    eval7 = pytest.importorskip("eval7")
    return [eval7.Card(format_cards([int(card)])) for card in deck.cards]


def bin_of(won: int, top: int, bins: int) -> int:
    """Bin of 2 * wins + ties of at most top."""
    return min(bins - 1, bins * won // top)


def enumerated(deck: Deck, hole: list[int], board: list[int], last: int, bins: int) -> list[int]:
    """Histogram of a hand on a board by eval7 and counting."""
    eval7 = pytest.importorskip("eval7")
    cards = eval7_cards(deck)
    counts = [0] * bins
    for more in combinations(sorted(set(range(deck.size)) - {*hole, *board}), last - len(board)):
        table = [cards[i] for i in [*board, *more]]
        rest = sorted(set(range(deck.size)) - {*hole, *board, *more})
        own = eval7.evaluate([*table, *(cards[i] for i in hole)])
        others = [eval7.evaluate([*table, cards[i], cards[j]]) for i, j in combinations(rest, 2)]
        won = sum((own > other) + (own >= other) for other in others)
        counts[bin_of(won, 2 * len(others), bins)] += 1
    return counts


def mean_within_bins(counts: np.ndarray, sums: np.ndarray, top: int) -> bool:
    """Whether sums of equities, in 1 / top, are between those of the lower and the upper ends of the bins."""
    bins = counts.shape[1]
    for start in range(0, len(counts), 1 << 16):
        part = counts[start : start + (1 << 16)].astype(float)
        low, exact = part @ np.arange(bins) * top, bins * sums[start : start + (1 << 16)]
        if not ((low <= exact) & (exact <= low + part.sum(axis=1) * top)).all():
            return False
    return True


# A full deck ----------------------------------------------------------------------------------------

FLOPS = ("7c4d2h", "QsQd2h", "Th8h4h")


@pytest.fixture(scope="module")
def flops():
    """Histograms of all hands on some flops."""
    boards = [parse_cards(board) for board in FLOPS]
    hands = CanonicalHands(some_boards(FULL, boards))
    last, equity = equities_after(FULL, boards, 5)
    return hands, equity_histograms(equity, last, hands), equity, last


def on_flop(flops, hole: str, board: str) -> np.ndarray:
    hands, counts, _, _ = flops
    return counts[hands.index(hand_index(*parse_cards(hole)), np.array(parse_cards(board)))]


@pytest.mark.parametrize(("hole", "board"), [("QsQd", "7c4d2h"), ("7c4d", "QsQd2h")])
def test_flop_histograms_are_those_of_eval7(flops, hole, board):
    """The hands of field case AB-03: the same five cards, in the hand and on the board."""
    expected = enumerated(FULL, parse_cards(hole), parse_cards(board), 5, 50)
    assert on_flop(flops, hole, board).tolist() == expected


@pytest.mark.parametrize(
    ("hole", "board", "wins", "ties"),
    [("QsQd", "7c4d2h", 873_564, 990), ("7c4d", "QsQd2h", 225_337, 68_168)],
)
def test_flop_histograms_have_the_known_means(flops, hole, board, wins, ties):
    """Field case AB-03, counted by eval7, to within the width of a bin."""
    counts = on_flop(flops, hole, board)[None]
    assert mean_within_bins(counts, np.array([2 * wins + ties]), 2 * 990)


def test_a_flush_draw_is_not_a_bare_card(flops):
    """Field case IS-08: the same ranks, but the king or the three is of the board's suit."""
    king, three = (on_flop(flops, hole, "Th8h4h") for hole in ("Kh3s", "Ks3h"))
    assert (king != three).any()
    assert king[45:].sum() > three[45:].sum()  # the better flushes


def test_all_hands_on_a_flop_have_means_within_their_bins(flops):
    hands, counts, equity, last = flops
    assert counts.dtype == np.uint16
    assert (counts.sum(axis=1) == 1081).all()
    sums = np.zeros((len(hands.boards), FULL.num_hands), np.int64)
    for row, board in enumerate(hands.boards.cards.tolist()):
        for more in combinations(sorted(set(range(52)) - set(board)), 2):
            last_row, permutation = last.locate(np.array([*board, *more]))
            sums[row] += equity[last_row, suit_permutations(FULL).hands[permutation]]
    assert mean_within_bins(counts, hands.gather(sums), 2 * 990)


def test_turn_histograms_are_those_of_eval7():
    rng = np.random.default_rng(11)
    deals = [rng.permutation(52)[:6].tolist() for _ in range(5)]
    boards = [cards[2:] for cards in deals]
    hands = CanonicalHands(some_boards(FULL, boards))
    last, equity = equities_after(FULL, boards, 5)
    counts = equity_histograms(equity, last, hands)
    assert counts.dtype == np.uint8
    assert (counts.sum(axis=1) == 46).all()
    for cards in deals:
        found = counts[hands.index(hand_index(*cards[:2]), np.array(cards[2:]))]
        assert found.tolist() == enumerated(FULL, cards[:2], cards[2:], 5, 50)


@pytest.fixture(scope="module")
def full():
    """Equities of a full deck."""
    last = canonical_boards(FULL, 5)
    return last, last_round_equity(strength_table(last), last)


@pytest.mark.slow
@pytest.mark.parametrize(("size", "dtype"), [(0, np.uint32), (3, np.uint16), (4, np.uint8)])
def test_all_histograms_add_up_and_have_the_exact_mean_within_their_bins(full, size, dtype):
    last, equity = full
    hands = canonical_hands(FULL, size)
    counts = equity_histograms(equity, last, hands)
    assert counts.shape == (len(hands), 50)
    assert counts.dtype == dtype
    assert np.unique(counts.sum(axis=1, dtype=np.int64)).tolist() == [comb(50 - size, 5 - size)]
    assert mean_within_bins(counts, hands.gather(earlier_sums(equity, last, size)), 2 * 990)


@pytest.mark.slow
def test_means_before_the_flop_are_the_published_equities(full):
    last, equity = full
    hands = canonical_hands(FULL, 0)
    counts = equity_histograms(equity, last, hands, 250)
    means = counts @ (np.arange(250) + 0.5) / 250 / counts.sum(axis=1)
    for hole, percent in [("AcAd", 85.20), ("AhKs", 65.32), ("2d2s", 50.33), ("7h2c", 34.58)]:
        found = means[hands.index(hand_index(*parse_cards(hole)), np.array([], int))]
        assert found == pytest.approx(percent / 100, abs=0.5 / 250)


# Small decks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deck", "last", "bins"), [(Deck(4, 3), 4, 7), (Deck(3, 4), 3, 50), (Deck(9, 1), 3, 1)], ids=str
)
def test_every_state_of_a_small_deck_against_exhaustive_enumeration(deck, last, bins):
    """All hands on all real boards of every size, so in every naming of the suits."""
    eval7 = pytest.importorskip("eval7")
    cards = eval7_cards(deck)
    expected = {}
    for board in combinations(range(deck.size), last):
        rest = sorted(set(range(deck.size)) - set(board))
        strength = {
            hole: eval7.evaluate([cards[i] for i in [*hole, *board]]) for hole in combinations(rest, 2)
        }
        for hole, own in strength.items():
            others = [strength[pair] for pair in strength if not set(pair) & set(hole)]
            won = sum((own > other) + (own >= other) for other in others)
            for size in range(last):
                for earlier in combinations(board, size):
                    counts = expected.setdefault((earlier, hole), [0] * bins)
                    counts[bin_of(won, 2 * len(others), bins)] += 1
    boards = canonical_boards(deck, last)
    equity = last_round_equity(strength_table(boards), boards)
    for size in range(last):
        hands = canonical_hands(deck, size)
        table = equity_histograms(equity, boards, hands, bins)
        states = [state for state in expected if len(state[0]) == size]
        numbers = hands.index(
            np.array([hand_index(*hole) for _, hole in states]),
            np.array([board for board, _ in states], int).reshape(len(states), size),
        )
        assert set(numbers.tolist()) == set(range(len(hands)))
        np.testing.assert_array_equal(table[numbers], np.array([expected[state] for state in states]))


@pytest.mark.parametrize(("size", "bins"), [(0, 50), (2, 10), (3, 250)])
def test_short_deck_histograms_are_those_of_eval7(size, bins):
    """24 cards, four of them on the last board."""
    deck = Deck(6, 4)
    last = canonical_boards(deck, 4)
    hands = canonical_hands(deck, size)
    table = equity_histograms(last_round_equity(strength_table(last), last), last, hands, bins)
    cards = np.random.default_rng(size).permutation(24).tolist()
    hole, board = cards[:2], cards[2 : 2 + size]
    found = table[hands.index(hand_index(*hole), np.array(board, int))]
    assert found.tolist() == enumerated(deck, hole, board, 4, bins)


def test_dead_completions_do_not_overflow_the_counts():
    """231 completions fit a byte, the 276 with cards of the hand do not."""
    deck = Deck(13, 2)
    last, hands = canonical_boards(deck, 4), canonical_hands(deck, 2)
    table = equity_histograms(last_round_equity(strength_table(last), last), last, hands, 1)
    assert table.dtype == np.uint8
    assert (table == 231).all()


def test_chunks_do_not_matter(monkeypatch):
    deck = Deck(6, 4)
    last, hands = canonical_boards(deck, 4), canonical_hands(deck, 3)
    equity = last_round_equity(strength_table(last), last)
    expected = equity_histograms(equity, last, hands)
    calls = []
    for chunk in (1, 50, 10_000):
        monkeypatch.setattr(histograms, "_CHUNK", chunk)
        found = equity_histograms(equity, last, hands, 50, lambda *call: calls.append(call))
        np.testing.assert_array_equal(found, expected)
        rows = len(hands.boards)
        assert calls[-1] == ("equity histograms on 3 cards", rows, rows)


# Bad input ------------------------------------------------------------------------------------------


def test_only_earlier_rounds_have_histograms():
    deck = Deck(4, 3)
    last = canonical_boards(deck, 2)
    equity = np.zeros((len(last), deck.num_hands), np.uint16)
    with pytest.raises(ValueError, match="boards of 2 cards are not earlier than the last round's of 2"):
        equity_histograms(equity, last, canonical_hands(deck, 2))


@pytest.mark.parametrize("bins", [0, 251])
def test_a_histogram_has_1_to_250_bins(bins):
    deck = Deck(4, 3)
    last = canonical_boards(deck, 2)
    equity = np.zeros((len(last), deck.num_hands), np.uint16)
    with pytest.raises(ValueError, match=f"1 to 250 bins, not {bins}"):
        equity_histograms(equity, last, canonical_hands(deck, 0), bins)

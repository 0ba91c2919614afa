"""Exact equities against enumeration with eval7, published figures and known values of games."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from math import comb
from types import SimpleNamespace

import numpy as np
import pytest
from nashfold.abstraction import canonical_boards
from nashfold.abstraction.boards import suit_permutations
from nashfold.abstraction.equity import (
    earlier_sums,
    last_round_equity,
    num_completions,
    num_opponents,
    preflop_classes,
    strength_table,
)
from nashfold.game import Deck, Rules, format_cards, hand_strength, parse_cards, preset
from nashfold.game.cards import hand_index

FULL = Deck()


def entry(table: np.ndarray, deck: Deck, hole, board) -> int:
    """Entry of a table for card numbers of the deck."""
    rows, numbers = canonical_boards(deck, len(board)).locate(np.array(board, int))
    hand = suit_permutations(deck).hands[numbers, hand_index(*hole)]
    return int(table[rows, hand])


def count(hole: list, board: list, unseen: list) -> tuple[int, int, int]:
    """Wins, ties and losses against every hand of the unseen cards, by eval7."""
    eval7 = pytest.importorskip("eval7")
    own = eval7.evaluate(hole + board)
    others = [eval7.evaluate([*pair, *board]) for pair in combinations(unseen, 2)]
    wins = sum(own > other for other in others)
    ties = sum(own == other for other in others)
    return wins, ties, len(others) - wins - ties


def eval7_cards(deck: Deck) -> list:
    """eval7's cards by card number of the deck."""
    eval7 = pytest.importorskip("eval7")
    return [eval7.Card(format_cards([int(card)])) for card in deck.cards]


def random_states(deck: Deck, board_size: int, number: int, seed: int):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        cards = rng.permutation(deck.size).tolist()
        yield cards[:2], cards[2 : 2 + board_size], cards[2 + board_size :]


@pytest.fixture(scope="module")
def full():
    """Tables of a full deck with five board cards: about ten seconds, 0.9 GB at the most."""
    boards = {size: canonical_boards(FULL, size) for size in (0, 3, 4, 5)}
    strength = strength_table(boards[5])
    river = last_round_equity(strength, boards[5])
    turn = earlier_sums(river, boards[5], 4)
    sums = {
        5: river,
        4: turn,
        3: earlier_sums(river, boards[5], 3),
        0: earlier_sums(river, boards[5], 0),
    }
    return SimpleNamespace(strength=strength[::97].copy(), sums=sums, boards=boards)


def equity(full, hole: str, board: str = "") -> float:
    hand, table = parse_cards(hole), parse_cards(board)
    size = len(table)
    runouts = num_opponents(FULL, 5) * num_completions(FULL, size, 5)
    return entry(full.sums[size], FULL, hand, table) / (2 * runouts)


# Strengths and last-round equities ------------------------------------------------------------------


def test_strengths_are_those_of_hand_strength(full):
    rows = full.boards[5].cards[::97]
    for row in range(0, len(rows), 20):
        board = rows[row]
        expected = np.zeros(FULL.num_hands, int)
        alive = ~np.isin(FULL.hand_cards, board).any(axis=1)
        seven = [[*cards, *board] for cards in FULL.hand_cards[alive].tolist()]
        expected[alive] = hand_strength(np.array(seven))
        np.testing.assert_array_equal(full.strength[row], expected)


@pytest.mark.parametrize("size", [3, 4])
def test_strengths_of_short_decks_are_those_of_hand_strength(size):
    deck = Deck(6, 4)
    boards = canonical_boards(deck, size)
    table = strength_table(boards)
    for row in range(0, len(boards), 23):
        for hand, cards in enumerate(deck.hand_cards.tolist()):
            if set(cards) & set(boards.cards[row].tolist()):
                assert table[row, hand] == 0
            else:
                numbers = np.array([*cards, *boards.cards[row]])
                assert table[row, hand] == hand_strength(deck.cards[numbers])


@pytest.mark.parametrize(
    ("hole", "board", "wins", "ties", "strength"),
    [
        ("KdQc", "7h7s7dKc2s", 855, 84, 0.906061),
        ("9c8d", "JsJd4h4cAs", 0, 661, 0.333838),
    ],
)
def test_a_tie_counts_half(full, hole, board, wins, ties, strength):
    """Field case AB-01: ties are neither wins nor losses nor left out."""
    assert entry(full.sums[5], FULL, parse_cards(hole), parse_cards(board)) == 2 * wins + ties
    assert equity(full, hole, board) == pytest.approx(strength, abs=5e-7)


def test_river_equities_are_those_of_eval7(full):
    cards = eval7_cards(FULL)
    seen = Counter()
    for hole, board, unseen in random_states(FULL, 5, 25, seed=5):
        wins, ties, losses = count(*([cards[i] for i in row] for row in (hole, board, unseen)))
        assert wins + ties + losses == num_opponents(FULL, 5) == 990
        assert entry(full.sums[5], FULL, hole, board) == 2 * wins + ties
        seen["ties"] += ties
    assert seen["ties"] > 0


def test_dead_hands_have_no_equity_and_live_ones_balance(full):
    """Against each other all live hands win one half: wins of one are losses of another."""
    river, boards = full.sums[5], full.boards[5]
    rows = np.random.default_rng(0).choice(len(boards), 300, replace=False)
    alive = np.array([~np.isin(FULL.hand_cards, board).any(axis=1) for board in boards.cards[rows]])
    assert (river[rows][~alive] == 0).all()
    np.testing.assert_array_equal(river[rows].sum(axis=1, dtype=np.int64), 1081 * 990)


# Earlier rounds -------------------------------------------------------------------------------------


def test_turn_equities_are_those_of_eval7(full):
    cards = eval7_cards(FULL)
    for hole, board, unseen in random_states(FULL, 4, 2, seed=6):
        expected = 0
        for river in unseen:
            rest = [cards[i] for i in unseen if i != river]
            wins, ties, _ = count([cards[i] for i in hole], [cards[i] for i in [*board, river]], rest)
            expected += 2 * wins + ties
        assert entry(full.sums[4], FULL, hole, board) == expected


@pytest.mark.parametrize(
    ("hole", "board", "wins", "ties", "strength"),
    [
        ("QsQd", "7c4d2h", 873_564, 990, 0.816733),
        ("7c4d", "QsQd2h", 225_337, 68_168, 0.242406),
    ],
)
def test_own_pair_and_board_pair_are_different(full, hole, board, wins, ties, strength):
    """Field case AB-03: the same five cards, 1,070,190 runouts each, counted by eval7."""
    assert num_opponents(FULL, 5) * num_completions(FULL, 3, 5) == 1_070_190
    assert entry(full.sums[3], FULL, parse_cards(hole), parse_cards(board)) == 2 * wins + ties
    assert equity(full, hole, board) == pytest.approx(strength, abs=6e-7)


def test_aces_win_85_percent_before_the_flop(full):
    assert equity(full, "AsAh") == pytest.approx(0.8520371, abs=5e-8)


@pytest.mark.parametrize(
    ("hole", "percent"),
    [
        ("AcAd", 85.20), ("KhKd", 82.40), ("AhKh", 67.04), ("AhKs", 65.32), ("2d2s", 50.33), ("7h2c", 34.58),
        ("3s2d", 32.30),
    ],
)  # fmt: skip
def test_published_equities_before_the_flop(full, hole, percent):
    assert 100 * equity(full, hole) == pytest.approx(percent, abs=0.0051)


def test_sums_may_skip_rounds_or_go_one_by_one(full):
    """A completion by two cards is reached in two orders, one by three in six."""
    by_steps = earlier_sums(full.sums[4], full.boards[4], 3)
    np.testing.assert_array_equal(by_steps, 2 * full.sums[3])
    np.testing.assert_array_equal(earlier_sums(full.sums[3], full.boards[3], 0), 10 * full.sums[0])


def test_sums_over_no_card_are_the_table():
    boards = canonical_boards(Deck(4, 3), 2)
    table = np.arange(len(boards) * 66).reshape(len(boards), 66)
    np.testing.assert_array_equal(earlier_sums(table, boards, 2), table)


@pytest.mark.parametrize(("deck", "last"), [(Deck(4, 4), 3), (Deck(5, 3), 4)], ids=["4x4", "5x3"])
def test_every_state_of_a_small_deck_against_exhaustive_enumeration(deck, last):
    """All hands on all real boards of every size: nothing but eval7 and additions."""
    eval7 = pytest.importorskip("eval7")
    cards = eval7_cards(deck)
    hands = deck.hand_cards.tolist()
    shares = (deck.hand_cards[:, None, :, None] == deck.hand_cards[None, :, None, :]).any(axis=(2, 3))
    totals = {size: {} for size in range(last + 1)}
    for board in combinations(range(deck.size), last):
        table = [cards[number] for number in board]
        live = [hand for hand, own in enumerate(hands) if not set(own) & set(board)]
        strength = np.array(
            [eval7.evaluate([cards[hands[h][0]], cards[hands[h][1]], *table]) for h in live], np.int64
        )
        points = 1 + np.sign(strength[:, None] - strength[None, :])
        result = np.zeros(len(hands), np.int64)
        result[live] = (points * ~shares[np.ix_(live, live)]).sum(axis=1)
        for size in range(last + 1):
            for earlier in combinations(board, size):
                totals[size][earlier] = totals[size].get(earlier, 0) + result

    boards = canonical_boards(deck, last)
    river = last_round_equity(strength_table(boards), boards)
    for size in range(last + 1):
        table = river if size == last else earlier_sums(river, boards, size)
        real = list(totals[size])
        rows, numbers = canonical_boards(deck, size).locate(np.array(real, int).reshape(len(real), size))
        found = np.take_along_axis(
            table[rows].astype(np.int64), suit_permutations(deck).hands[numbers].astype(int), axis=1
        )
        np.testing.assert_array_equal(found, np.array([totals[size][board] for board in real]))


@pytest.mark.slow
def test_flop_equities_of_all_hands_are_those_of_eval7(full):
    eval7 = pytest.importorskip("eval7")
    cards = eval7_cards(FULL)
    hands = FULL.hand_cards.tolist()
    shares = (FULL.hand_cards[:, None, :, None] == FULL.hand_cards[None, :, None, :]).any(axis=(2, 3))
    flop = np.random.default_rng(8).permutation(52)[:3].tolist()
    totals = np.zeros(1326, np.int64)
    for runout in combinations(sorted(set(range(52)) - set(flop)), 2):
        board = [*flop, *runout]
        live = np.array([hand for hand, own in enumerate(hands) if not set(own) & set(board)])
        table = [cards[number] for number in board]
        strength = [eval7.evaluate([cards[i] for i in hands[h]] + table) for h in live]
        strength = np.unique(strength, return_inverse=True)[1].astype(np.int16)
        points = 1 + np.sign(strength[:, None] - strength[None, :])
        totals[live] += (points * ~shares[np.ix_(live, live)]).sum(axis=1)
    assert [entry(full.sums[3], FULL, hand, flop) for hand in hands] == totals.tolist()


# What equities alone say about games ----------------------------------------------------------------


def mean_gain(sums: np.ndarray, deck: Deck, size: int, last: int) -> float:
    """E[max(0, E[wins - losses | hand, board])] over all live hands on all boards of a size."""
    boards = canonical_boards(deck, size)
    even = num_opponents(deck, last) * num_completions(deck, size, last)  # half of the largest sum
    total = 0
    for start in range(0, len(boards), 4096):
        part = slice(start, start + 4096)
        gains = np.maximum(sums[part].astype(np.int64) - even, 0).sum(axis=1)
        total += int((boards.orbit[part] * gains).sum())
    return total / even / (comb(deck.size, size) * num_opponents(deck, size - 2))


def response_to_always_call(rules: Rules, gains: list[float]) -> float:
    """Best-response value in mbb/h against a player who always calls.

    He never raises, so the responder bets once in each round if his expectation given his hand and
    the board is positive; bets add up, and none affects a later choice. The blinds, called, are
    at stake with expectation zero. Folding loses the blind, more than any hand loses by calling.
    """
    bets = zip(rules.bet_sizes, gains, strict=True)
    return 1000 / rules.big_blind * sum(size * gain for size, gain in bets)


def test_published_gains_and_best_response_to_always_call_in_limit_holdem(full):
    gains = [mean_gain(full.sums[size], FULL, size, 5) for size in (0, 3, 4, 5)]
    assert gains[1:] == pytest.approx([0.1667726, 0.2019988, 0.2562542], abs=6e-8)
    assert response_to_always_call(preset("acpc-limit"), gains) == pytest.approx(1163.4758, abs=1e-4)


@pytest.mark.parametrize(("name", "value"), [("flop-limit", 388.3055), ("short-limit", 756.1701)])
def test_best_response_to_always_call_in_the_smaller_games(name, value):
    rules = preset(name)
    sizes = [rules.board_size(index) for index in range(rules.num_rounds)]
    last = canonical_boards(rules.deck, sizes[-1])
    table = last_round_equity(strength_table(last), last)
    sums = [earlier_sums(table, last, size) for size in sizes]
    gains = [mean_gain(row, rules.deck, size, sizes[-1]) for row, size in zip(sums, sizes, strict=True)]
    assert response_to_always_call(rules, gains) == pytest.approx(value, abs=1e-4)


# Classes before the flop ----------------------------------------------------------------------------


@pytest.mark.parametrize("deck", [Deck(), Deck(6, 4), Deck(5, 3), Deck(13, 1)], ids=str)
def test_preflop_classes_are_the_hands_up_to_suits(deck):
    ids = preflop_classes(deck)
    by_name: dict[str, set[int]] = {}
    for hand, number in enumerate(ids.tolist()):
        high, first, low, second = deck.hand_name(hand)
        kind = "" if high == low else "s" if first == second else "o"
        by_name.setdefault(high + low + kind, set()).add(number)
    assert all(len(numbers) == 1 for numbers in by_name.values())
    assert len(set().union(*by_name.values())) == len(by_name)
    orbits = suit_permutations(deck).hands.min(axis=0)
    assert len(np.unique(orbits)) == len(by_name)
    assert len(set(zip(orbits.tolist(), ids.tolist(), strict=True))) == len(by_name)


def test_the_169_classes_stand_on_the_usual_grid():
    sizes = Counter(preflop_classes(FULL).tolist())
    assert sorted(sizes) == list(range(169))
    grid = np.array([sizes[number] for number in range(169)]).reshape(13, 13)
    expected = 12 * np.tri(13, k=-1) + 6 * np.eye(13) + 4 * np.tri(13, k=-1).T
    np.testing.assert_array_equal(grid, expected)
    ids = preflop_classes(FULL)
    known = {"AsAh": 0, "AdKd": 1, "KdAc": 13, "AcKd": 13, "KhKc": 14, "Td8d": 4 * 13 + 6, "2c2d": 168}
    assert {hole: int(ids[hand_index(*parse_cards(hole))]) for hole in known} == known


# Progress -------------------------------------------------------------------------------------------


def test_progress_counts_up_to_all_rows():
    boards = canonical_boards(FULL, 4)
    calls: list[tuple[str, int, int]] = []
    strength = strength_table(boards, lambda *call: calls.append(call))
    assert [done for _, done, _ in calls] == [*range(2048, len(boards), 2048), len(boards)]
    assert {(what, total) for what, _, total in calls} == {("hand strengths", len(boards))}
    calls.clear()
    equities = last_round_equity(strength, boards, lambda *call: calls.append(call))
    earlier_sums(equities, boards, 0, lambda *call: calls.append(call))
    last_calls = {what: (done, total) for what, done, total in calls}
    expected = {
        f"sums over boards of {size} cards": len(canonical_boards(FULL, size)) for size in range(4)
    }
    expected["last-round equities"] = len(boards)
    assert last_calls == {what: (rows, rows) for what, rows in expected.items()}

"""Equities against clusters of opposing hands: enumeration with eval7, exact identities, plain twins."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import Boards, CanonicalHands, canonical_boards, canonical_hands, ochs
from nashfold.abstraction.boards import hands_alive, suit_permutations
from nashfold.abstraction.equity import (
    earlier_sums,
    last_round_equity,
    preflop_classes,
    strength_table,
)
from nashfold.abstraction.ochs import UNIT, ochs_features, opponent_clusters, opponent_counts
from nashfold.game import Deck, format_cards, hand_strength, parse_cards
from nashfold.game.cards import hand_index
from some_boards import some_boards

FULL, SHORT = Deck(), Deck(6, 4)


def some_clusters(deck: Deck, number: int) -> np.ndarray:
    """uint8 [hand]: hands of a class together, neighbouring classes mostly apart."""
    return (preflop_classes(deck) * 7 % number).astype(np.uint8)


def counted(deck: Deck, hole: list[int], board: list[int], clusters: np.ndarray) -> dict[int, list[int]]:
    """2 * wins + ties and opposing hands by cluster, by eval7 and counting."""
    eval7 = pytest.importorskip("eval7")
    cards = [eval7.Card(format_cards([int(card)])) for card in deck.cards]
    table = [cards[i] for i in board]
    own = eval7.evaluate([*table, *(cards[i] for i in hole)])
    found = {int(label): [0, 0] for label in np.unique(clusters)}
    for pair in combinations(sorted(set(range(deck.size)) - {*hole, *board}), 2):
        other = eval7.evaluate([*table, *(cards[i] for i in pair)])
        entry = found[int(clusters[hand_index(*pair)])]
        entry[0] += (own > other) + (own >= other)
        entry[1] += 1
    return found


def rounded(won: int, total: int) -> int:
    """Equity in units of 1 / UNIT, to the nearest, one half upwards; one half without opponents."""
    equity = Fraction(won, 2 * total) if total else Fraction(1, 2)
    return int(equity * UNIT + Fraction(1, 2))


def features_of(boards: Boards, clusters: np.ndarray) -> tuple[CanonicalHands, np.ndarray]:
    hands = CanonicalHands(boards)
    return hands, ochs_features(strength_table(boards), hands, clusters)


# A full deck ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 8, 9, 20])
def test_river_features_are_those_of_eval7(number):
    rng = np.random.default_rng(number)
    deals = [rng.permutation(52)[:7].tolist() for _ in range(5)]
    clusters = some_clusters(FULL, number)
    hands, features = features_of(some_boards(FULL, [cards[2:] for cards in deals]), clusters)
    assert features.dtype == np.uint16
    assert features.shape == (len(hands), number)
    for cards in deals:
        found = features[hands.index(hand_index(*cards[:2]), np.array(cards[2:]))]
        expected = counted(FULL, cards[:2], cards[2:], clusters)
        assert found.tolist() == [rounded(*expected[label]) for label in range(number)]


@pytest.mark.parametrize("number", [3, 8, 13])
def test_clusters_together_are_all_opposing_hands(number):
    """For all hands on some boards, in whole numbers."""
    boards = canonical_boards(FULL, 5).cards[::20_000]
    part = some_boards(FULL, boards.tolist())
    strength = strength_table(part)
    wins, totals = opponent_counts(strength, FULL, some_clusters(FULL, number))
    alive = hands_alive(FULL, part.cards)
    np.testing.assert_array_equal(wins.sum(axis=2), last_round_equity(strength, part))
    assert (totals.sum(axis=2)[alive] == 990).all()
    assert ((wins >= 0) & (wins <= 2 * totals))[alive].all()


def test_features_are_the_rounded_shares_of_the_counts():
    """For all hands on some boards."""
    clusters = some_clusters(FULL, 8)
    part = some_boards(FULL, canonical_boards(FULL, 5).cards[::15_000].tolist())
    hands, features = features_of(part, clusters)
    wins, totals = opponent_counts(strength_table(part), FULL, clusters)
    rows, own = hands.unindex(np.arange(len(hands)))
    won, total = wins[rows, own].astype(np.int64), totals[rows, own].astype(np.int64)
    assert (total > 0).all()
    np.testing.assert_array_equal(features, (2 * UNIT * won + 2 * total) // (4 * total))


def test_a_flush_is_not_a_bare_card():
    """Field case IS-08: the same ranks, but the king or the three is of the board's suit."""
    board = parse_cards("Th8h4h7h2c")
    hands, features = features_of(some_boards(FULL, [board]), some_clusters(FULL, 8))
    king, three = (
        features[hands.index(hand_index(*parse_cards(hole)), np.array(board))].astype(int)
        for hole in ("Kh3s", "Ks3h")
    )
    assert (king > three).all()


@pytest.mark.slow
def test_all_river_features_and_the_eight_clusters_of_a_full_deck():
    last = canonical_boards(FULL, 5)
    strength = strength_table(last)
    equity = last_round_equity(strength, last)
    clusters = opponent_clusters(equity, last)
    assert np.unique(clusters).tolist() == list(range(8))
    label = {hole: clusters[hand_index(*parse_cards(hole))] for hole in ("AsAd", "KcKh", "7h2c", "3d2s")}
    assert label["AsAd"] == label["KcKh"] == 7
    assert label["3d2s"] == label["7h2c"] == 0
    check_order(clusters, equity, last)

    hands = canonical_hands(FULL, 5)
    features = ochs_features(strength, hands, clusters)
    assert features.shape == (123_156_254, 8)
    for row in range(0, len(last), 4001):
        won, total = (table[0] for table in opponent_counts(strength[row : row + 1], FULL, clusters))
        own = hands.unindex(np.arange(hands.first[row], hands.first[row + 1]))[1]
        expected = np.floor(UNIT * won[own] / (2 * np.maximum(total[own], 1)) + 0.5)
        found = features[hands.first[row] : hands.first[row + 1]]
        np.testing.assert_array_equal(found, np.where(total[own] > 0, expected, (UNIT + 1) // 2))


# Small decks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deck", "size", "number"), [(Deck(4, 3), 4, 3), (Deck(3, 4), 3, 6), (Deck(9, 1), 3, 36)], ids=str
)
def test_every_state_of_a_small_deck_against_a_plain_twin(deck, size, number):
    """All hands on all real boards, so in every naming of the suits; some without a hand in a cluster."""
    clusters = np.unique(some_clusters(deck, number), return_inverse=True)[1]
    hands, features = features_of(canonical_boards(deck, size), clusters)
    empty = 0
    for board in combinations(range(deck.size), size):
        pairs = list(combinations(sorted(set(range(deck.size)) - set(board)), 2))
        strength = hand_strength(deck.cards[np.array([[*pair, *board] for pair in pairs])]).tolist()
        states = list(zip(pairs, strength, strict=True))
        numbers = hands.index(np.array([hand_index(*pair) for pair in pairs]), np.array(board))
        for number, (own, value) in zip(numbers, states, strict=True):
            won, total = [0] * features.shape[1], [0] * features.shape[1]
            for pair, other in states:
                if not set(pair) & set(own):
                    label = clusters[hand_index(*pair)]
                    won[label] += (value > other) + (value >= other)
                    total[label] += 1
            empty += total.count(0)
            assert features[number].tolist() == [
                rounded(*entry) for entry in zip(won, total, strict=True)
            ]
    assert empty > 0


@pytest.fixture(scope="module")
def short():
    """Tables of 24 cards, four on the last board, and six clusters."""
    last = canonical_boards(SHORT, 4)
    strength = strength_table(last)
    equity = last_round_equity(strength, last)
    clusters = opponent_clusters(equity, last, 6)
    return last, strength, equity, clusters, ochs_features(strength, canonical_hands(SHORT, 4), clusters)


@settings(max_examples=60, deadline=None)
@given(cards=st.permutations(range(24)), permutation=st.integers(0, 23))
def test_renaming_suits_changes_nothing(short, cards, permutation):
    *_, clusters, features = short
    hands = canonical_hands(SHORT, 4)
    moved = suit_permutations(SHORT).cards[permutation][cards[:6]].tolist()
    expected = counted(SHORT, moved[:2], moved[2:], clusters)
    found = features[hands.index(hand_index(*cards[:2]), np.array(cards[2:6]))]
    assert found.tolist() == [rounded(*expected[label]) for label in range(6)]


def test_chunks_do_not_matter(short, monkeypatch):
    _, strength, _, clusters, features = short
    hands, calls = canonical_hands(SHORT, 4), []
    for chunk in (1, 77, 100_000):
        monkeypatch.setattr(ochs, "_CHUNK", chunk)
        found = ochs_features(strength, hands, clusters, lambda *call: calls.append(call))
        np.testing.assert_array_equal(found, features)
        assert calls[-1] == ("equities against opponent clusters", len(hands.boards), len(hands.boards))


# Clusters of opposing hands -------------------------------------------------------------------------


def check_order(clusters: np.ndarray, equity: np.ndarray, last: Boards) -> None:
    """Clusters do not tell suits apart, and their mean equities ascend."""
    assert (clusters[suit_permutations(last.deck).hands] == clusters).all()
    sums = earlier_sums(equity, last, 0)[0]
    means = [sums[clusters == label].mean() for label in range(clusters.max() + 1)]
    assert (np.diff(means) > 0).all()


@pytest.mark.parametrize("number", [1, 2, 6, 20])
def test_clusters_are_ordered_by_equity_and_do_not_tell_suits_apart(short, number):
    last, _, equity, *_ = short
    clusters = opponent_clusters(equity, last, number)
    assert clusters.dtype == np.uint8
    assert np.unique(clusters).tolist() == list(range(number))
    check_order(clusters, equity, last)
    sums = earlier_sums(equity, last, 0)[0]
    assert clusters[sums.argmax()] == number - 1  # kings, in this deck
    assert clusters[sums.argmin()] == 0


def test_clusters_are_nearer_to_each_other_than_to_other_medians(short):
    """No hand is better off with the median histogram of another cluster, by plain arithmetic."""
    last, _, equity, clusters, _ = short
    hands = canonical_hands(SHORT, 0)
    counts = ochs.equity_histograms(equity, last, hands)
    labels, weights = hands.gather(clusters[None]), hands.weights
    cumulative = np.cumsum(counts, axis=1, dtype=np.int64)
    medians = np.array(
        [
            np.percentile(
                np.repeat(cumulative[labels == label], weights[labels == label], axis=0),
                50,
                axis=0,
                method="inverted_cdf",
            )
            for label in range(6)
        ]
    )
    distances = np.abs(cumulative[:, None] - medians).sum(axis=2)
    own = distances[np.arange(len(hands)), labels]
    better = own > distances.min(axis=1)
    assert weights[better].sum() <= 0.02 * weights.sum()  # k-means may stop a pass early


def test_there_are_no_more_clusters_than_different_histograms():
    deck = Deck(3, 3)
    last = canonical_boards(deck, 3)
    equity = last_round_equity(strength_table(last), last)
    hands = canonical_hands(deck, 0)
    distinct = len(np.unique(ochs.equity_histograms(equity, last, hands), axis=0))
    assert distinct <= len(hands) < 40
    clusters = opponent_clusters(equity, last, 40)
    assert np.unique(clusters).tolist() == list(range(distinct))


# Bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 251])
def test_there_are_1_to_250_clusters(short, number):
    last, _, equity, *_ = short
    with pytest.raises(ValueError, match=f"1 to 250 clusters, not {number}"):
        opponent_clusters(equity, last, number)


def test_clusters_must_not_tell_suits_apart(short):
    _, strength, *_ = short
    clusters = np.zeros(SHORT.num_hands, np.uint8)
    clusters[5] = 1
    with pytest.raises(ValueError, match="the same up to suits must be in the same cluster"):
        ochs_features(strength, canonical_hands(SHORT, 4), clusters)


def test_clusters_are_a_number_for_each_hand(short):
    _, strength, *_ = short
    with pytest.raises(ValueError, match="clusters of opposing hands must be 276 numbers from 0"):
        ochs_features(strength, canonical_hands(SHORT, 4), np.zeros(275, np.uint8))


def test_strengths_must_be_those_of_the_hands(short):
    _, strength, _, clusters, _ = short
    with pytest.raises(ValueError, match=r"strengths of shape \(\d+, 276\), not \(\d+, 276\)"):
        ochs_features(strength, canonical_hands(SHORT, 3), clusters)

"""Hand strength against published counts, two other evaluators and a plain twin."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import Deck, hand_strength, parse_cards
from nashfold.game.strength import CATEGORIES, CATEGORY_TOP, board_strengths, partial_strength

CASES = json.loads((Path(__file__).parents[1] / "data" / "field_cases.json").read_text("utf-8"))

# High card to straight flush, of all hands of five and of seven cards.
FIVE_CARD_COUNTS = [1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40]
SEVEN_CARD_COUNTS = [
    23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584,
]  # fmt: skip


def strength(text: str) -> int:
    return int(hand_strength(np.array(parse_cards(text))))


def random_hands(count: int, size: int, seed: int) -> np.ndarray:
    """int64 [count, size]: random different cards."""
    keys = np.random.default_rng(seed).random((count, 52), dtype=np.float32)
    return np.argpartition(keys, size, axis=1)[:, :size]


def twin_key(cards) -> tuple:
    """The best five of the cards, as a tuple that orders hands as the rules of poker do."""
    return max(_five_key(five) for five in combinations([int(card) for card in cards], 5))


def _five_key(five: tuple[int, ...]) -> tuple:
    ranks = sorted((card // 4 for card in five), reverse=True)
    groups = sorted(Counter(ranks).items(), key=lambda item: (item[1], item[0]), reverse=True)
    shape = [count for _, count in groups]
    order = [rank for rank, _ in groups]
    if ranks == [12, 3, 2, 1, 0]:
        order = ranks = [3, 2, 1, 0, -1]
    flush = len({card % 4 for card in five}) == 1
    straight = len(set(ranks)) == 5 and ranks[0] - ranks[4] == 4
    if flush and straight:
        category = 8
    elif flush:
        category = 5
    elif straight:
        category = 4
    else:
        shapes = [[1, 1, 1, 1, 1], [2, 1, 1, 1], [2, 2, 1], [3, 1, 1], None, None, [3, 2], [4, 1]]
        category = shapes.index(shape)
    return (category, *order)


@pytest.mark.parametrize("case", CASES["ranks"], ids=lambda case: case["id"])
def test_published_ranks(case):
    assert {hand: 7463 - strength(hand) for hand in case["hands"]} == case["hands"]


def test_counts_of_all_five_card_hands():
    hands = np.array(list(combinations(range(52), 5)), np.int8)
    strengths = hand_strength(hands)
    categories = np.searchsorted(CATEGORY_TOP, np.arange(7463))
    counts = np.bincount(categories[strengths], minlength=len(CATEGORIES))
    assert counts.tolist() == FIVE_CARD_COUNTS
    assert np.unique(strengths).tolist() == list(range(1, 7463))


@pytest.mark.slow
def test_counts_of_all_seven_card_hands():
    """Every board with every pair of hole cards: each seven cards occur C(7, 5) = 21 times."""
    deck = Deck()
    boards = np.array(list(combinations(range(52), 5)), np.int8)
    out = np.empty((20_000, deck.num_hands), np.uint16)
    counts = np.zeros(7463, np.int64)
    for start in range(0, len(boards), len(out)):
        chunk = boards[start : start + len(out)]
        rows = board_strengths(chunk, deck, out[: len(chunk)])
        counts += np.bincount(rows.reshape(-1), minlength=7463)
    blocked = len(boards) * (1326 - 47 * 46 // 2)
    assert counts[0] == blocked  # strength 0: a hole card is on the board
    by_category = np.add.reduceat(counts, [1, *(CATEGORY_TOP[:-1] + 1)])
    assert by_category.tolist() == [21 * count for count in SEVEN_CARD_COUNTS]


def check_against_phevaluator(count: int, size: int, seed: int) -> None:
    phevaluator = pytest.importorskip("phevaluator")
    hands = random_hands(count, size, seed)
    theirs = [phevaluator.evaluate_cards(*hand) for hand in hands.tolist()]
    np.testing.assert_array_equal(7463 - hand_strength(hands), theirs)


@pytest.mark.parametrize("size", [5, 6, 7])
def test_strength_is_7463_minus_phevaluators_rank(size):
    check_against_phevaluator(100_000, size, seed=size)


@pytest.mark.slow
@pytest.mark.parametrize("size", [5, 6, 7])
def test_strength_is_7463_minus_phevaluators_rank_on_two_million_hands(size):
    for seed in range(20):
        check_against_phevaluator(100_000, size, seed=100 + seed)


def test_order_is_that_of_eval7():
    eval7 = pytest.importorskip("eval7")
    deck = sorted(eval7.Deck().cards, key=lambda card: parse_cards(str(card)))
    hands = random_hands(100_000, 7, seed=11)
    theirs = np.array([eval7.evaluate([deck[card] for card in hand]) for hand in hands.tolist()])
    ours = hand_strength(hands)
    order = np.argsort(theirs, kind="stable")
    np.testing.assert_array_equal(
        np.sign(np.diff(ours[order])), np.sign(np.diff(theirs[order].astype(np.int64)))
    )


@pytest.mark.parametrize("size", [5, 6, 7])
def test_order_is_that_of_a_plain_twin_on_random_hands(size):
    hands = random_hands(2_000, size, seed=20 + size)
    keys = [twin_key(hand) for hand in hands]
    ours = hand_strength(hands)
    order = np.argsort(ours, kind="stable")
    for first, second in pairwise(order):
        assert (keys[first] < keys[second]) == (ours[first] < ours[second])
        assert (keys[first] == keys[second]) == (ours[first] == ours[second])


# Few ranks or few suits: flushes, straights, full houses and quads are common.
dense_deck = st.one_of(
    st.just(range(52)),
    st.just(range(0, 52, 4)).map(lambda suit: [*suit, 1, 5, 50, 51]),
    st.just(range(16)),
    st.just([*range(0, 20), *range(48, 52)]),
)


@settings(max_examples=300)
@given(st.data())
def test_order_is_that_of_a_plain_twin_on_dense_hands(data):
    cards = data.draw(dense_deck)
    size = data.draw(st.integers(5, 7))
    hand = st.lists(st.sampled_from(cards), min_size=size, max_size=size, unique=True)
    first, second = data.draw(hand), data.draw(hand)
    ours = hand_strength(np.array([first, second]))
    keys = twin_key(first), twin_key(second)
    assert (ours[0] > ours[1], ours[0] == ours[1]) == (keys[0] > keys[1], keys[0] == keys[1])
    assert np.searchsorted(CATEGORY_TOP, ours[0]) == keys[0][0]


@given(st.permutations(range(7)), st.permutations(range(4)), st.integers(0, 2**32 - 1))
def test_strength_ignores_the_order_of_cards_and_the_names_of_suits(order, suits, seed):
    hand = random_hands(1, 7, seed)[0]
    renamed = hand[order] // 4 * 4 + np.array(suits)[hand[order] % 4]
    assert hand_strength(hand) == hand_strength(renamed)


def test_extremes_are_1_and_7462():
    assert strength("7c5d4h3s2c") == 1
    assert strength("AsKsQsJsTs") == strength("AsKsQsJsTs9s8s") == 7462


@pytest.mark.parametrize("num_cards", [3, 4, 5])
@pytest.mark.parametrize("deck", [Deck(), Deck(6, 4), Deck(13, 2)], ids=["52", "24", "26"])
def test_board_strengths_are_those_of_hand_strength_and_0_where_cards_clash(deck, num_cards):
    rng = np.random.default_rng(num_cards)
    boards = np.array([rng.permutation(deck.size)[:num_cards] for _ in range(20)])
    rows = board_strengths(boards, deck, np.full((20, deck.num_hands), 9, np.uint16))
    for board, row in zip(boards, rows, strict=True):
        clash = np.isin(deck.hand_cards, board).any(axis=1)
        assert (row[clash] == 0).all()
        hands = deck.hand_cards[~clash]
        cards = np.concatenate([hands, np.tile(board, (len(hands), 1))], axis=1)
        np.testing.assert_array_equal(row[~clash], hand_strength(deck.cards[cards]))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0), (2, 3, 4)])
def test_any_integer_type_and_leading_shape(dtype, shape):
    cards = np.broadcast_to(np.array([51, 47, 43, 39, 35], dtype), (*shape, 5))
    result = hand_strength(cards)
    assert result.shape == shape
    assert result.dtype == np.int32
    assert (result == 7462).all()


def test_strided_views_are_read_as_they_are():
    hands = random_hands(100, 7, seed=5)
    wide = np.zeros((200, 14), np.int64)
    wide[::2, ::2] = hands
    np.testing.assert_array_equal(hand_strength(wide[::2, ::2]), hand_strength(hands))


@pytest.mark.parametrize("size", [5, 6, 7])
def test_a_repeated_card_is_refused_wherever_it_stands(size):
    good = random_hands(1, size, seed=size)[0]
    for first, second in combinations(range(size), 2):
        bad = good.copy()
        bad[second] = bad[first]
        with pytest.raises(ValueError, match="names a card twice"):
            hand_strength(np.array([good, bad]))


def test_hands_of_one_card_many_times_are_refused():
    for card in range(52):
        for size in (5, 6, 7):
            with pytest.raises(ValueError, match="names a card twice"):
                hand_strength(np.full(size, card))


@pytest.mark.parametrize("card", [52, 63, 64, 115, 1 << 40, -1, -64])
def test_numbers_that_are_no_cards_are_refused(card):
    for place in range(7):
        hand = random_hands(1, 7, seed=3)[0]
        hand[place] = card
        with pytest.raises(ValueError, match=f"{card} is not a card number"):
            hand_strength(hand)


@pytest.mark.parametrize("shape", [(), (4,), (8,), (5, 4), (0,), (7, 1)])
def test_a_wrong_number_of_cards_is_refused(shape):
    with pytest.raises(ValueError, match="5, 6 or 7 cards"):
        hand_strength(np.zeros(shape, np.int64))


@pytest.mark.parametrize("cards", [[0.0, 1, 2, 3, 4], ["As"] * 5, [True, False] * 3, [None] * 5])
def test_what_is_no_integer_is_refused(cards):
    with pytest.raises(ValueError, match="integers"):
        hand_strength(np.array(cards))


# One to four cards ------------------------------------------------------------------------------


def by_definition(cards: tuple[int, ...]) -> tuple:
    """Ranks in groups, the larger groups first: what decides between hands of equally many cards."""
    ranks = [card // 4 for card in cards]
    groups = sorted(((ranks.count(rank), rank) for rank in set(ranks)), reverse=True)
    return tuple(count for count, _ in groups), tuple(rank for _, rank in groups)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_hands_of_one_to_four_cards_go_by_groups_of_ranks(size):
    rng = np.random.default_rng(size)
    hands = np.array([rng.permutation(52)[:size] for _ in range(400)])
    strengths = partial_strength(hands).tolist()
    definitions = [by_definition(tuple(hand)) for hand in hands.tolist()]
    for i, j in rng.integers(0, 400, (4_000, 2)).tolist():
        assert (strengths[i] > strengths[j]) == (definitions[i] > definitions[j])
        assert (strengths[i] == strengths[j]) == (definitions[i] == definitions[j])


def test_partial_hands_keep_the_shape_and_refuse_other_sizes():
    assert partial_strength(np.zeros((2, 3, 1), int)).shape == (2, 3)
    assert partial_strength(np.array([51])).dtype == np.int32
    for cards in (np.zeros((2, 0), int), np.arange(5), np.array(3)):
        with pytest.raises(ValueError, match="1 to 4 cards"):
            partial_strength(cards)

"""Card abstractions: built buckets against enumeration, and invariance under suits and order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction import (
    AbstractionConfig,
    RoundConfig,
    build_abstraction,
    canonical_boards,
    trivial_abstraction,
)
from nashfold.abstraction.build import built_round
from nashfold.abstraction.equity import last_round_equity, preflop_classes, strength_table
from nashfold.game import Deck, format_cards, hand_strength, parse_cards, preset
from nashfold.game.cards import hand_index
from small_abstractions import CLASSES, CLUSTERED, FLOP, PUBLIC, SHORT, TINY_RULES


def weights_of(buckets: np.ndarray, boards) -> np.ndarray:
    """Number of real hands in each bucket."""
    alive = boards.hands_alive
    orbits = np.broadcast_to(boards.orbit[:, None], buckets.shape)[alive]
    return np.bincount(buckets[alive], weights=orbits).astype(int)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The abstractions of SHORT and FLOP, by name of the rules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NASHFOLD_CACHE", str(tmp_path_factory.mktemp("abstractions")))
        return {config.rules.name: build_abstraction(config) for config in (SHORT, FLOP)}


def test_shapes_and_numbers_of_buckets(built):
    short = built["short-limit"]
    assert [matrix.shape for matrix in short.matrices] == [(1, 276), (166, 276), (696, 276)]
    assert all(matrix.dtype == np.uint16 for matrix in short.matrices)
    assert short.num_buckets == [36, 30, 40]
    for index, matrix in enumerate(short.matrices):
        boards = canonical_boards(Deck(6, 4), (0, 3, 4)[index])
        sizes = weights_of(np.asarray(matrix), boards)
        assert len(sizes) == short.num_buckets[index]
        assert (sizes > 0).all()
        np.testing.assert_array_equal(short.row(index, len(matrix) - 1), matrix[-1])
        assert short.boards(index) is boards
    assert built["flop-limit"].num_buckets[0] == 169
    assert built["flop-limit"].config == FLOP


def test_buckets_rise_with_equity_and_equal_equities_share_one(built):
    for name, last in (("short-limit", 2), ("flop-limit", 1)):
        abstraction = built[name]
        boards = abstraction.boards(last)
        alive = boards.hands_alive
        equity = last_round_equity(strength_table(boards), boards)[alive]
        buckets = np.asarray(abstraction.matrices[last])[alive]
        order = np.argsort(equity, kind="stable")
        assert (np.diff(buckets[order].astype(int)) >= 0).all()
        assert len(set(zip(equity.tolist(), buckets.tolist(), strict=True))) == len(np.unique(equity))
        assert abstraction.num_buckets[last] == len(np.unique(buckets))


def test_preflop_buckets_are_the_classes(built):
    np.testing.assert_array_equal(built["flop-limit"].matrices[0], preflop_classes(Deck())[None])
    assert built["flop-limit"].bucket(0, "AsAh") == 0
    assert built["flop-limit"].bucket(0, "2c2d") == 168
    assert built["flop-limit"].bucket(0, "KdAc") == built["flop-limit"].bucket(0, "AsKh") == 13


@pytest.mark.parametrize("feature", ["ehs", "ehs2"])
def test_earlier_buckets_against_plain_enumeration_on_twelve_cards(tmp_path, monkeypatch, feature):
    """Mean (squared) equity of every hand on every real board, by loops over runouts and opponents."""
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    deck = TINY_RULES.deck
    entry = RoundConfig(feature, 12)
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, (entry, entry, entry)))
    hands = deck.hand_cards.tolist()
    power = 2 if feature == "ehs2" else 1
    equity: dict[tuple[int, ...], dict[int, int]] = {}  # board -> hand -> 2 * wins + ties
    for board in combinations(range(deck.size), 4):
        live = {h: set(own) for h, own in enumerate(hands) if not set(own) & set(board)}
        cards = {h: deck.cards[[*hands[h], *board]] for h in live}
        strength = {h: int(hand_strength(cards[h])) for h in live}
        equity[board] = {
            h: sum(
                1 + int(np.sign(strength[h] - strength[o]))
                for o, other in live.items()
                if not own & other
            )
            for h, own in live.items()
        }
    for index, size in ((0, 0), (1, 3), (2, 4)):
        means: dict[tuple[tuple[int, ...], int], int] = {}
        for board, by_hand in equity.items():
            for earlier in combinations(board, size):
                for hand, points in by_hand.items():
                    means[earlier, hand] = means.get((earlier, hand), 0) + points**power
        states = list(means)
        values = sorted(means.values())
        expected = {}
        for value in set(values):
            middle = Fraction(bisect_left(values, value) + bisect_right(values, value), 2 * len(values))
            expected[value] = int(middle * 12)
        used = sorted(set(expected.values()))
        boards = np.array([board for board, _ in states], int).reshape(len(states), size)
        found = abstraction.lookup(index, np.array([hand for _, hand in states]), boards)
        wanted = [used.index(expected[means[state]]) for state in states]
        if feature == "ehs":
            assert found.tolist() == wanted
        else:  # the same sets of hands, but numbered by their mean equity
            assert len(set(zip(found.tolist(), wanted, strict=True))) == len(used) == found.max() + 1


def test_mean_and_mean_square_are_different_features(tmp_path, monkeypatch):
    """A draw and a made hand of the same mean: the square tells them apart, so orders differ."""
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    matrices = []
    for feature in ("ehs", "ehs2"):
        entry = RoundConfig(feature, 40)
        abstraction = build_abstraction(
            AbstractionConfig(preset("short-limit"), (CLASSES, entry, entry))
        )
        matrices.append([np.asarray(matrix) for matrix in abstraction.matrices])
    assert (matrices[0][1] != matrices[1][1]).mean() > 0.1
    np.testing.assert_array_equal(
        matrices[0][2], matrices[1][2]
    )  # on the last round nothing is averaged


@pytest.fixture(scope="module")
def by_config():
    return {config: build_abstraction(config) for config in (SHORT, FLOP, CLUSTERED, PUBLIC)}


@st.composite
def renamed_states(draw):
    """Rules, round, hole cards and board, and the same under other suits in another order of each deal."""
    config = draw(st.sampled_from([SHORT, FLOP, CLUSTERED, PUBLIC]))
    index = draw(st.integers(0, len(config.rounds) - 1))
    cards = draw(st.permutations(config.rules.deck.cards.tolist()))
    size = config.board_sizes[index]
    hole, board = cards[:2], cards[2 : 2 + size]
    suits = draw(st.permutations(range(4)))
    others = [
        draw(st.permutations([card - card % 4 + suits[card % 4] for card in part]))
        for part in (hole, board[:3], board[3:])
    ]
    return config, index, (hole, board), (others[0], [*others[1], *others[2]])


@settings(max_examples=400, deadline=None)
@given(renamed_states())
def test_suits_and_order_never_change_a_bucket(by_config, state):
    config, index, cards, others = state
    abstraction = by_config[config]
    bucket = abstraction.bucket(index, *cards)
    assert bucket == abstraction.bucket(index, *others)
    assert bucket == abstraction.bucket(index, *(format_cards(row) for row in others))
    assert 0 <= bucket < abstraction.num_buckets[index]


def test_what_is_known_of_clustered_buckets_fits_their_members(by_config):
    for config in (CLUSTERED, PUBLIC):
        abstraction = by_config[config]
        for index in range(3):
            found = built_round(config, index)
            hands = abstraction.canonical_hands(index)
            weights = hands.weights
            assert found.num_buckets == abstraction.num_own_buckets[index]
            assert (np.diff(found.arrays["equity"]) >= 0).all()
            assert found.arrays["size"].sum() == weights.sum(dtype=int)
            for bucket in range(found.num_buckets):
                rows, holes = abstraction.members(index, bucket)
                numbers = hands.index(holes, hands.boards.cards[rows])
                assert found.arrays["size"][bucket] == weights[numbers].sum(dtype=int) > 0
                assert {found.arrays["nearest"][bucket], found.arrays["farthest"][bucket]} <= {*numbers}
                if "board_clusters" in found.arrays:  # a bucket is on boards of one public cluster
                    assert len(np.unique(found.arrays["board_clusters"][rows])) == 1


def test_a_seed_decides_a_clustering_and_threads_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "one"))
    one = build_abstraction(CLUSTERED)
    other_seed = build_abstraction(replace(CLUSTERED, seed=3))
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "two"))
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    again = build_abstraction(CLUSTERED)
    assert one.hash == again.hash != other_seed.hash
    for ours, theirs in zip(one.matrices, again.matrices, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert any((a != b).any() for a, b in zip(one.matrices, other_seed.matrices, strict=True))


def test_built_abstractions_are_suit_invariant_and_a_broken_one_is_caught(built):
    abstraction = built["short-limit"]
    assert abstraction.is_suit_invariant
    matrices = [np.array(matrix) for matrix in abstraction.matrices]
    matrices[0][0, hand_index(0, 4)] += 1  # one suited hand
    broken = type(abstraction)(abstraction.config, matrices, [37, 30, 40])
    assert not broken.is_suit_invariant


def test_hands_that_are_equal_up_to_suits_share_buckets_and_blockers_count(built):
    """Field cases IS-01 and IS-08; 5,000 buckets keep nearly all equities apart."""
    bucket = built["flop-limit"].bucket
    for same in (["KcQc", "KdQd", "KsQs"], ["KhQc", "KhQs"], ["KdQs", "KcQd"]):
        assert len({bucket(1, hole, "9h6h2h") for hole in same}) == 1
    flush, pair, nothing = (bucket(1, hole, "9h6h2h") for hole in ("KhQh", "Kc9c", "KcQc"))
    assert flush > pair > nothing
    assert bucket(1, "Kh3s", "Th8h4h") != bucket(1, "Ks3h", "Th8h4h")
    assert bucket(0, "KhQh") == bucket(0, "KcQc") != bucket(0, "KhQc")


def test_own_pair_and_board_pair_have_different_buckets(built):
    """Field case AB-03: the same five cards."""
    assert built["flop-limit"].bucket(1, "QsQd", "7c4d2h") > built["flop-limit"].bucket(
        1, "7c4d", "QsQd2h"
    )


def test_lookup_of_a_batch_is_bucket_by_bucket(built):
    abstraction = built["short-limit"]
    rng = np.random.default_rng(2)
    cards = np.array([rng.permutation(24)[:6] for _ in range(40)]).reshape(8, 5, 6)
    high, low = cards[..., :2].max(axis=-1), cards[..., :2].min(axis=-1)
    found = abstraction.lookup(2, high * (high - 1) // 2 + low, cards[..., 2:])
    assert found.shape == (8, 5)
    names = abstraction.deck.cards
    for place in np.ndindex(8, 5):
        assert found[place] == abstraction.bucket(2, names[cards[place][:2]], names[cards[place][2:]])


@pytest.mark.parametrize(
    ("index", "hole", "board", "message"),
    [
        (1, "AsKs", "9hTd", "round 1 has two hole cards and 3 community cards, not 2 and 2"),
        (1, "AsKs", "9hTdJcQc", "round 1 has two hole cards and 3 community cards, not 2 and 4"),
        (0, "AsKs", "9hTdJc", "round 0 has two hole cards and 0 community cards, not 2 and 3"),
        (1, "AsKsQs", "9hTdJc", "not 3 and 3"),
        (1, "As", "9hTdJc", "not 1 and 3"),
        (1, "AsAs", "9hTdJc", "card As is named twice"),
        (1, "AsKs", "9hTdAs", "card As is named twice"),
        (1, "As2s", "9hTdJc", "2s is not in a deck of 24 cards"),
        (1, "AsKs", "9hTd8c", "8c is not in a deck of 24 cards"),
        (1, "AsKx", "9hTdJc", "'Kx' is not a card"),
    ],
)
def test_cards_that_do_not_fit_are_refused(built, index, hole, board, message):
    with pytest.raises(ValueError, match=message):
        built["short-limit"].bucket(index, hole, board)


def test_numbers_out_of_range_are_refused(built):
    short = built["short-limit"]
    board = np.array([0, 4, 8, 12])
    for hands, boards, message in (
        (np.array(276), board, "hands are numbered from 0 to 275"),
        (np.array(-1), board, "hands are numbered"),
        (np.array(5), np.array([0, 4, 8, 24]), "cards are numbered from 0 to 23"),
        (np.array(5), board[:3], "boards of round 2 have 4 cards"),
    ):
        with pytest.raises(ValueError, match=message):
            short.lookup(2, hands, boards)
    for call in (lambda: short.bucket(3, "AsKs", ""), lambda: short.members(-1, 0)):
        with pytest.raises(ValueError, match="rounds are numbered from 0 to 2"):
            call()


def test_an_abstraction_fits_rules_of_the_same_cards_only(built):
    short = built["short-limit"]
    short.check_fits(preset("short-limit"))
    short.check_fits(preset("short-nolimit"))
    message = (
        "does not fit flop-limit: it is for 6 ranks in 4 suits, 2 hole cards, boards of 0-3-4 cards, "
        "the game has 13 ranks in 4 suits, 2 hole cards, boards of 0-3 cards"
    )
    with pytest.raises(ValueError, match=message):
        short.check_fits(preset("flop-limit"))
    for change in (
        {"num_suits": 3},
        {"num_ranks": 7},
        {"num_hole_cards": 3},
        {"board_cards": (0, 3, 2)},
    ):
        with pytest.raises(ValueError, match="does not fit"):
            short.check_fits(replace(preset("short-limit"), **change))


def test_the_trivial_abstraction_has_one_bucket_a_round_and_stores_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "cache"))
    trivial = trivial_abstraction(preset("acpc-limit"))
    assert trivial.num_buckets == [1, 1, 1, 1]
    assert trivial.bucket(3, "AsKs", "2c3d4h5s9c") == trivial.bucket(0, "AsKs") == 0
    assert trivial.is_suit_invariant
    assert not (tmp_path / "cache").exists()
    built = build_abstraction(AbstractionConfig(TINY_RULES, (RoundConfig("none"),) * 3))
    assert built.num_buckets == [1, 1, 1]
    assert [set(np.unique(matrix)) for matrix in built.matrices] == [{0}] * 3


def test_field_cases_of_hole_cards_in_any_order(built):
    bucket = built["flop-limit"].bucket
    assert bucket(1, "QcKc", "6h2h9h") == bucket(1, ["Kc", "Qc"], "9h 6h 2h")
    assert bucket(1, parse_cards("Kc Qc"), parse_cards("2h,9h,6h")) == bucket(1, "KcQc", "9h6h2h")

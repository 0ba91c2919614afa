"""Card abstractions: configuration, percentile buckets, the cache, and invariance under suits and order."""

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
from nashfold.abstraction.boards import suit_permutations
from nashfold.abstraction.buckets import abstraction_path, cache_folder, percentile_buckets
from nashfold.abstraction.equity import last_round_equity, preflop_classes, strength_table
from nashfold.game import Deck, Rules, format_cards, hand_strength, parse_cards, preset
from nashfold.game.cards import hand_index

CLASSES = RoundConfig("preflop-classes")
SHORT = AbstractionConfig(
    preset("short-limit"), (CLASSES, RoundConfig("ehs2", 30), RoundConfig("ehs", 40))
)
FLOP = AbstractionConfig(preset("flop-limit"), (CLASSES, RoundConfig("ehs", 5_000)))
TINY_RULES = Rules(
    betting="limit",
    blinds=(2, 1),
    bet_sizes=(2, 2, 2),
    max_bets=(2, 2, 2),
    first_player=(1, 0, 0),
    board_cards=(0, 3, 1),
    num_ranks=4,
    num_suits=3,
    name="tiny",
)

TOML = """
rules = "short-limit"
recall = "imperfect"
seed = 7
[[round]]
feature = "preflop-classes"
[[round]]
feature = "ehs2"
buckets = 30
[[round]]
feature = "ehs"
buckets = 40
"""


# Configuration --------------------------------------------------------------------------------------


def test_a_configuration_is_read_from_toml(tmp_path):
    (tmp_path / "a.toml").write_text(TOML)
    assert AbstractionConfig.from_toml(tmp_path / "a.toml") == replace(SHORT, seed=7)
    assert AbstractionConfig.from_toml(str(tmp_path / "a.toml")).hash == SHORT.hash


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"ehs2"', '"ehs3"', "unknown feature 'ehs3': choose one of none, preflop-classes, ehs, ehs2"),
        ('"ehs2"', "2", "unknown feature 2"),
        ('"ehs2"', "[1]", r"unknown feature \[1\]"),
        ("30", "0", "feature ehs2 needs buckets = 1 to 65535, not 0"),
        ("30", "65536", "feature ehs2 needs buckets = 1 to 65535, not 65536"),
        ("30", "-1", "feature ehs2 needs buckets = 1 to 65535, not -1"),
        ("30", "2.0", "feature ehs2 needs buckets = 1 to 65535, not 2.0"),
        ("30", "true", "feature ehs2 needs buckets = 1 to 65535, not True"),
        ("30", '"30"', "feature ehs2 needs buckets = 1 to 65535, not 30"),
        ("buckets = 30", "", "feature ehs2 needs buckets = 1 to 65535, not None"),
        (
            '"preflop-classes"',
            '"preflop-classes"\nbuckets = 9',
            "feature preflop-classes takes no buckets",
        ),
        ('"ehs2"\nbuckets = 30', '"none"\nbuckets = 1', "feature none takes no buckets"),
        ('"ehs2"\nbuckets = 30', '"preflop-classes"', "is for a round without community cards"),
        ("buckets = 30", "bucket = 30", r"a \[\[round\]\] table has the keys feature and buckets"),
        ('feature = "ehs2"', "", r"a \[\[round\]\] table has the keys feature and buckets"),
        ("seed = 7", "sead = 7", "unknown key 'sead': an abstraction has recall, round, rules, seed"),
        ('"short-limit"', '"short-limits"', "unknown preset 'short-limits': choose one of"),
        ('rules = "short-limit"', "", 'an abstraction needs rules = "NAME"'),
        ('"short-limit"', "7", "rules must be the name of a preset, an ACPC definition or a table"),
        ('"imperfect"', '"perfect"', "recall must be imperfect, not 'perfect'"),
        ('"short-limit"', '"acpc-limit"', r"acpc-limit has 4 rounds: give as many .* not 3"),
        ('"short-limit"', '"flop-limit"', r"flop-limit has 2 rounds: give as many .* not 3"),
        ("[[round]]", "[round]", "Cannot"),
        ("seed = 7", "seed = ", "Invalid value"),
    ],
)
def test_mistakes_are_one_line_that_names_the_file_and_the_problem(tmp_path, old, new, message):
    assert old in TOML
    path = tmp_path / "mistaken.toml"
    path.write_text(TOML.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as caught:
        AbstractionConfig.from_toml(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert len(str(caught.value).splitlines()) == 1


def test_files_that_cannot_be_read_are_named(tmp_path):
    for path, reason in ((tmp_path / "no.toml", "No such file"), (tmp_path, "Is a directory")):
        with pytest.raises(ValueError, match=f"cannot read {path}: {reason}"):
            build_abstraction(path)
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"bytes\.toml: .*utf-8"):
        build_abstraction(tmp_path / "bytes.toml")


def test_games_with_other_hole_cards_are_refused():
    rules = replace(preset("flop-limit"), num_hole_cards=1)
    with pytest.raises(ValueError, match="two hole cards"):
        AbstractionConfig(rules, (CLASSES, RoundConfig("ehs", 5)))


def test_the_hash_follows_what_affects_the_buckets_and_nothing_else():
    def short(*rounds, **changes):
        return AbstractionConfig(preset("short-limit"), rounds or SHORT.rounds, **changes)

    different = [
        SHORT,
        short(CLASSES, RoundConfig("ehs2", 31), RoundConfig("ehs", 40)),
        short(CLASSES, RoundConfig("ehs2", 30), RoundConfig("ehs", 41)),
        short(CLASSES, RoundConfig("ehs", 30), RoundConfig("ehs", 40)),
        short(RoundConfig("none"), RoundConfig("ehs2", 30), RoundConfig("ehs", 40)),
        AbstractionConfig(TINY_RULES, SHORT.rounds),
        AbstractionConfig(replace(preset("short-limit"), num_ranks=7), SHORT.rounds),
        AbstractionConfig(replace(preset("short-limit"), board_cards=(0, 1, 1)), SHORT.rounds),
        FLOP,
    ]
    assert len({config.hash for config in different}) == len(different)
    assert all(len(config.hash) == 16 and int(config.hash, 16) >= 0 for config in different)
    same = [short(), short(seed=99), AbstractionConfig(preset("short-nolimit"), SHORT.rounds)]
    assert {config.hash for config in same} == {SHORT.hash}


# Percentile buckets ---------------------------------------------------------------------------------


def twin(values: np.ndarray, deck: Deck, board_size: int, buckets: int) -> dict[int, int]:
    """Bucket of each value, in plain Python, over every real board and hand."""
    canonical = canonical_boards(deck, board_size)
    everything = []
    for board in combinations(range(deck.size), board_size):
        row, number = canonical.locate(np.array(board, int))
        moved = suit_permutations(deck).hands[number]
        for high, low in combinations(sorted(set(range(deck.size)) - set(board), reverse=True), 2):
            everything.append(int(values[row, moved[hand_index(high, low)]]))
    everything.sort()
    found = {}
    for value in set(everything):
        first, last = bisect_left(everything, value), bisect_right(everything, value)
        found[value] = int(Fraction(first + last, 2 * len(everything)) * buckets)
    used = sorted(set(found.values()))
    return {value: used.index(bucket) for value, bucket in found.items()}


def table_of_values(deck: Deck, board_size: int, seed: int, largest: int) -> np.ndarray:
    """A random table [board_row, hand] of whole numbers, crowded at the low end."""
    rng = np.random.default_rng(seed)
    shape = (len(canonical_boards(deck, board_size)), deck.num_hands)
    return (largest * rng.random(shape) ** 3).astype(np.int64)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from([(Deck(4, 3), 2), (Deck(3, 3), 3), (Deck(4, 2), 0), (Deck(3, 4), 1)]),
    st.integers(0, 10**6),
    st.integers(1, 400),
    st.integers(1, 70),
    st.sampled_from([1, 1 << 22, 1 << 40]),
)
def test_percentile_buckets_equal_a_plain_twin(case, seed, largest, buckets, scale):
    """Small values are counted in a table, large ones are sorted: `scale` reaches both."""
    deck, size = case
    values = table_of_values(deck, size, seed, largest)
    expected = twin(values, deck, size, buckets)
    boards = canonical_boards(deck, size)
    found = percentile_buckets(values * scale, boards, buckets)
    assert found.dtype == np.uint16
    for place in zip(*np.nonzero(boards.hands_alive), strict=True):
        assert found[place] == expected[int(values[place])]


def weights_of(buckets: np.ndarray, boards) -> np.ndarray:
    """Number of real hands in each bucket."""
    alive = boards.hands_alive
    orbits = np.broadcast_to(boards.orbit[:, None], buckets.shape)[alive]
    return np.bincount(buckets[alive], weights=orbits).astype(int)


@pytest.mark.parametrize("scale", [1, 1 << 22])
@pytest.mark.parametrize("buckets", [1, 2, 7, 100])
def test_buckets_of_distinct_values_are_nearly_equal_in_size(buckets, scale):
    boards = canonical_boards(Deck(6, 4), 3)
    rng = np.random.default_rng(4)
    values = rng.permutation(len(boards) * 276).reshape(len(boards), 276)
    sizes = weights_of(percentile_buckets(values * scale, boards, buckets), boards)
    assert len(sizes) == buckets
    assert sizes.sum() == 2024 * 210
    assert np.abs(sizes - 2024 * 210 / buckets).max() <= boards.orbit.max()


def test_equal_values_stay_together_and_empty_buckets_are_left_out():
    boards = canonical_boards(Deck(4, 3), 2)
    values = np.where(np.arange(66) < 60, 5, 9) * np.ones((len(boards), 1), int)
    found = percentile_buckets(values, boards, 50)
    assert set(found[:, :60][boards.hands_alive[:, :60]].tolist()) == {0}
    assert set(found[:, 60:][boards.hands_alive[:, 60:]].tolist()) == {1}
    assert set(percentile_buckets(np.full((len(boards), 66), 3), boards, 50).ravel().tolist()) == {0}


def test_dead_hands_do_not_count():
    """Whatever stands in the places of dead hands, live ones keep their buckets."""
    boards = canonical_boards(Deck(4, 3), 3)
    values = table_of_values(Deck(4, 3), 3, seed=1, largest=100)
    alive = boards.hands_alive
    expected = percentile_buckets(values, boards, 9)[alive]
    for other in (0, 57, 1000):
        found = percentile_buckets(np.where(alive, values, other), boards, 9)[alive]
        np.testing.assert_array_equal(found, expected)


# Built abstractions ---------------------------------------------------------------------------------


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
        assert found.tolist() == [used.index(expected[means[state]]) for state in states]


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


@st.composite
def renamed_states(draw):
    """Rules, round, hole cards and board, and the same under other suits in another order."""
    config = draw(st.sampled_from([SHORT, FLOP]))
    index = draw(st.integers(0, len(config.rounds) - 1))
    cards = draw(st.permutations(config.rules.deck.cards.tolist()))
    size = config.board_sizes[index]
    hole, board = cards[:2], cards[2 : 2 + size]
    suits = draw(st.permutations(range(4)))
    others = [
        draw(st.permutations([card - card % 4 + suits[card % 4] for card in row]))
        for row in (hole, board)
    ]
    return config.rules.name, index, (hole, board), others


@settings(max_examples=300, deadline=None)
@given(renamed_states())
def test_suits_and_order_never_change_a_bucket(built, state):
    name, index, cards, others = state
    abstraction = built[name]
    bucket = abstraction.bucket(index, *cards)
    assert bucket == abstraction.bucket(index, *others)
    assert bucket == abstraction.bucket(index, *(format_cards(row) for row in others))
    assert 0 <= bucket < abstraction.num_buckets[index]


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


# The cache ------------------------------------------------------------------------------------------


class Calls:
    """A progress function that notes what was done."""

    def __init__(self):
        self.made: list[str] = []

    def __call__(self, what: str, done: int, total: int) -> None:
        assert 0 < done <= total
        self.made.append(what)


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """A freshly built abstraction of twelve cards and its folder in the cache."""
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path))
    config = AbstractionConfig(TINY_RULES, (CLASSES, RoundConfig("ehs", 5), RoundConfig("ehs2", 6)))
    assert not abstraction_path(config.hash).exists()
    calls = Calls()
    abstraction = build_abstraction(config, calls)
    assert {"hand strengths", "last-round equities"} < set(calls.made)
    return config, [np.array(matrix) for matrix in abstraction.matrices], abstraction_path(config.hash)


def check_same(abstraction, matrices):
    assert len(abstraction.matrices) == len(matrices)
    for found, expected in zip(abstraction.matrices, matrices, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_second_build_reads_what_the_first_one_wrote(cached):
    config, matrices, path = cached
    assert path.parent.parent == cache_folder()
    before = {file: file.stat().st_mtime_ns for file in path.iterdir()}
    calls = Calls()
    check_same(build_abstraction(config, calls), matrices)
    check_same(build_abstraction(replace(config, seed=5), calls), matrices)
    assert not calls.made
    assert {file: file.stat().st_mtime_ns for file in path.iterdir()} == before


def test_another_number_of_buckets_is_another_entry(cached):
    config, matrices, path = cached
    other = replace(config, rounds=(CLASSES, RoundConfig("ehs", 4), RoundConfig("ehs2", 6)))
    calls = Calls()
    abstraction = build_abstraction(other, calls)
    assert calls.made
    assert abstraction.num_buckets[1] == 4
    assert {entry.name for entry in path.parent.iterdir()} == {config.hash, other.hash}
    check_same(build_abstraction(config), matrices)


DAMAGE = {
    "an array cut short": lambda path: (path / "round1.npy").write_bytes(b"short"),
    "an array gone": lambda path: (path / "round2.npy").unlink(),
    "other values": lambda path: np.save(path / "round1.npy", 1 - np.load(path / "round1.npy")),
    "no header": lambda path: (path / "header.json").unlink(),
    "half a header": lambda path: (path / "header.json").write_text('{"nashfold": "abstr'),
    "a bare header": lambda path: (path / "header.json").write_text('{"nashfold": "abstraction"}'),
    "a header without arrays": lambda path: (path / "header.json").write_text(
        '{"nashfold": "abstraction", "format": 1}'
    ),
    "another abstraction": lambda path: (path / "header.json").write_text(
        (path / "header.json").read_text().replace('"ehs2"', '"ehs"')
    ),
    "another version": lambda path: (path / "header.json").write_text(
        (path / "header.json").read_text().replace('"version": 1', '"version": 0')
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=list(DAMAGE))
def test_a_damaged_entry_is_built_again(cached, damage):
    config, matrices, path = cached
    header = (path / "header.json").read_text()
    damage(path)
    calls = Calls()
    check_same(build_abstraction(config, calls), matrices)
    assert "hand strengths" in calls.made
    assert (path / "header.json").read_text() == header
    calls.made.clear()
    check_same(build_abstraction(config, calls), matrices)
    assert not calls.made


def test_the_cache_folder_is_the_users_unless_the_environment_says_otherwise(monkeypatch, tmp_path):
    monkeypatch.setenv("NASHFOLD_CACHE", str(tmp_path / "here"))
    assert cache_folder() == tmp_path / "here"
    monkeypatch.delenv("NASHFOLD_CACHE")
    assert cache_folder().name == "nashfold"


def test_field_cases_of_hole_cards_in_any_order(built):
    bucket = built["flop-limit"].bucket
    assert bucket(1, "QcKc", "6h2h9h") == bucket(1, ["Kc", "Qc"], "9h 6h 2h")
    assert bucket(1, parse_cards("Kc Qc"), parse_cards("2h,9h,6h")) == bucket(1, "KcQc", "9h6h2h")

"""Potential-aware distances against exact optimal transport, and every kernel against a plain twin."""

from __future__ import annotations

from copy import copy
from functools import cache
from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.boards import canonical_boards, suit_permutations
from nashfold.abstraction.clustering import cluster
from nashfold.abstraction.equity import (
    earlier_sums,
    last_round_equity,
    num_completions,
    num_opponents,
    preflop_classes,
    strength_table,
)
from nashfold.abstraction.hands import CanonicalHands, canonical_hands
from nashfold.abstraction.percentiles import percentile_buckets
from nashfold.abstraction.potential import (
    Distributions,
    PotentialSpace,
    lipschitz_maps,
    next_bucket_distributions,
    potential_distance,
    potential_ground,
)
from nashfold.game import Deck
from nashfold.game.cards import hand_index
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

SHORT = Deck(6, 4)
UNITS = 1 << 22


def exact_emd(a: np.ndarray, b: np.ndarray, ground: np.ndarray) -> float:
    """Earth mover's distance of distributions as a linear programme (HiGHS)."""
    rows, columns = np.flatnonzero(a), np.flatnonzero(b)
    costs = ground[np.ix_(rows, columns)].astype(float)
    flow = np.arange(costs.size).reshape(costs.shape)
    constraints = np.zeros((len(rows) + len(columns), costs.size))
    for i, places in enumerate([*flow, *flow.T]):
        constraints[i, places] = 1
    masses = np.concatenate([a[rows] / a.sum(), b[columns] / b.sum()])
    found = linprog(costs.ravel(), A_eq=constraints[:-1], b_eq=masses[:-1], method="highs")
    assert found.status == 0
    return float(found.fun)


def twin(point: list[int], mean: list[int], ground: np.ndarray, as_printed: bool = False) -> float:
    """Algorithm 2 of the paper on whole masses, sweep by sweep, or with the slip of the printed version."""
    targets, remaining = {b: m for b, m in enumerate(point) if m}, list(mean)
    cost = 0.0
    for sweep in range(len(mean)):
        for bucket in list(targets):
            mean_bucket = int(np.argsort(ground[bucket], kind="stable")[sweep])
            amount, distance = remaining[mean_bucket], float(ground[bucket, mean_bucket])
            if amount < targets[bucket]:
                cost += amount * distance
                targets[bucket] -= amount
                remaining[mean_bucket] = 0
            else:
                cost += targets[bucket] * distance
                if not as_printed:
                    remaining[mean_bucket] -= targets[bucket]
                del targets[bucket]
    assert not targets
    if not as_printed:
        assert not any(remaining)
    return cost


def in_units(a: np.ndarray) -> list[int]:
    """A distribution in whole units as potential_distance rounds it: largest remainders."""
    exact = np.asarray(a, float) * (UNITS / np.sum(a))
    out = np.floor(exact)
    out[np.argsort(out - exact, kind="stable")[: UNITS - int(out.sum())]] += 1
    return out.astype(int).tolist()


@st.composite
def grounds(draw, least: int = 1) -> np.ndarray:
    """Symmetric distances, metric (points in the plane) or not, with ties and zeros among them."""
    size = draw(st.integers(least, 9))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    if draw(st.booleans()):
        points = rng.integers(0, 6, (size, 2))
        return cdist(points, points).astype(np.float32)
    upper = np.triu(rng.integers(0, 8, (size, size)), 1)
    return (upper + upper.T).astype(np.float32) / 4


def distribution(draw, size: int, whole: int = 30) -> np.ndarray:
    """Whole masses [size] with a sum above zero."""
    masses = draw(st.lists(st.integers(0, whole), min_size=size, max_size=size).filter(any))
    return np.array(masses)


def space_of(counts: np.ndarray, ground: np.ndarray) -> PotentialSpace:
    """The space of dense counts [point, bucket] with equal sums."""
    rows, buckets = np.nonzero(counts)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(counts)))])
    values = counts[rows, buckets].astype(np.uint16)
    deals = int(counts[0].sum())
    points = Distributions(starts, buckets.astype(np.uint16), values, deals, counts.shape[1])
    return PotentialSpace(points, ground)


@cache
def short_round(board_size: int, buckets: int) -> tuple[np.ndarray, np.ndarray]:
    """Buckets [board_row, hand] of the 24-card deck by percentiles of equity, and their mean equities."""
    last = canonical_boards(SHORT, 5)
    equity = last_round_equity(strength_table(last), last)
    sums = earlier_sums(equity, last, board_size)
    hands = canonical_hands(SHORT, board_size)
    values, weights = hands.gather(sums), hands.weights
    labels = percentile_buckets(values, weights, buckets)
    means = np.bincount(labels, values * weights.astype(float)) / np.bincount(labels, weights)
    scale = 2 * num_opponents(SHORT, 5) * num_completions(SHORT, board_size, 5)
    return hands.spread(labels), means / scale


@cache
def short_space(board_size: int, buckets: int = 40) -> PotentialSpace:
    """Hands of the 24-card deck over the next round's buckets; ground: difference of mean equities and,
    to make it more than a line, distance of the spreads of what follows."""
    matrix, means = short_round(board_size + 1, buckets)
    hands = canonical_hands(SHORT, board_size)
    points = next_bucket_distributions(hands, canonical_boards(SHORT, board_size + 1), matrix)
    bend = np.column_stack([means, 0.3 * np.sin(12 * means)])
    return PotentialSpace(points, cdist(bend, bend).astype(np.float32))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_the_distance_equals_a_plain_twin_and_is_never_below_optimal_transport(data):
    ground = data.draw(grounds())
    a, b = distribution(data.draw, len(ground)), distribution(data.draw, len(ground))
    found = potential_distance(a, b, ground)
    assert found == twin(in_units(a), in_units(b), ground) / UNITS
    assert found >= exact_emd(a, b, ground) - 1e-5


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_the_distance_is_exact_where_no_choice_is_left(data):
    """From a distribution to itself (no two buckets being the same), from a single bucket, between two."""
    ground = data.draw(grounds(least=2))
    size = len(ground)
    a, b = distribution(data.draw, size), distribution(data.draw, size)
    apart = ground + (1 - np.eye(size, dtype=np.float32))
    assert potential_distance(a, a, apart) == 0
    single = np.eye(size)[data.draw(st.integers(0, size - 1))]
    assert potential_distance(single, b, ground) == pytest.approx(exact_emd(single, b, ground), abs=1e-5)
    two = ground[:2, :2]
    a, b = distribution(data.draw, 2), distribution(data.draw, 2)
    assert potential_distance(a, b, two) == pytest.approx(exact_emd(a, b, two), abs=1e-5)


def test_the_printed_algorithm_would_move_more_mass_than_there_is():
    """Zeroing an element's mass before it is subtracted lets every element use the same mean bucket."""
    ground = np.abs(np.subtract.outer(np.arange(3), np.arange(3))).astype(np.float32)
    point, mean = np.array([0, 1, 1]), np.array([0, 2, 0])
    assert twin(point.tolist(), mean.tolist(), ground) == 1
    point, mean = np.array([1, 0, 1]), np.array([1, 1, 0])
    assert potential_distance(point, mean, ground) == exact_emd(point, mean, ground) == 0.5
    mean = np.array([0, 1, 1])
    point = np.array([1, 1, 0])
    assert twin(point.tolist(), mean.tolist(), ground) == 2
    assert twin(point.tolist(), mean.tolist(), ground, as_printed=True) == 1
    assert potential_distance(point, mean, ground) == exact_emd(point, mean, ground) == 1


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_maps_to_the_line_never_exceed_the_ground(data):
    ground = data.draw(grounds())
    maps = lipschitz_maps(ground)
    gaps = np.abs(maps[:, None] - maps[None])
    assert (gaps <= ground[:, :, None].astype(float) + 1e-9).all()


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_nearest_and_relax_equal_brute_force(data):
    """Whatever the guess and the ground; of equals the smallest number."""
    ground = data.draw(grounds())
    size = len(ground)
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 30)))
    counts = rng.multinomial(12, rng.dirichlet(np.full(size, 0.5), 20))
    space = space_of(counts, ground)
    k = data.draw(st.integers(1, 7))
    weights = rng.integers(1, 25, len(space))
    labels = np.concatenate([np.arange(k), rng.integers(k, size=len(space) - k)]).astype(np.uint16)
    centres = space.centres(labels, weights, k, 1)
    centres[rng.integers(k)] = centres[0]  # ties
    costs = np.array([[potential_distance(c / 12, m, ground) for m in centres] for c in counts])
    guesses = rng.integers(k, size=len(space)).astype(np.uint16)
    distances = np.empty(len(space), np.float32)
    space.nearest(centres, guesses, distances, 1)
    # Units of a deal and of the whole differ, so that costs do by rounding.
    np.testing.assert_allclose(distances, costs.min(axis=1), atol=1e-5)
    np.testing.assert_allclose(costs[np.arange(len(space)), guesses], costs.min(axis=1), atol=1e-5)
    alone = np.empty((k, len(space)), np.float32)
    for label in range(k):
        space.nearest(centres[label : label + 1], np.zeros(len(space), np.uint16), alone[label], 1)
    np.testing.assert_array_equal(distances, alone.min(axis=0))
    np.testing.assert_array_equal(guesses, alone.argmin(axis=0))
    seeded, near = np.full(len(space), 99, np.uint16), np.full(len(space), np.inf, np.float32)
    for label in range(k):
        space.relax(centres[label], label, seeded, near, 1)
    np.testing.assert_array_equal(near, distances)
    np.testing.assert_array_equal(seeded, guesses)


@pytest.mark.parametrize("board_size", [3, 4])
def test_nearest_equals_brute_force_on_real_hands(board_size):
    space = short_space(board_size).subset(np.arange(0, len(short_space(board_size)), 7))
    rng = np.random.default_rng(board_size)
    k = 30
    centres = space.centres(rng.integers(k, size=len(space)) // 3 * 3, np.ones(len(space), int), k, 2)
    real = rng.choice(k, 20, replace=False)
    centres[real] = space.centres_at(rng.choice(len(space), 20))
    some = centres[centres.any(axis=1)]
    labels, distances = np.zeros(len(space), np.uint16), np.empty(len(space), np.float32)
    computed = space.nearest(some, labels, distances, 2)
    assert computed < len(space) * len(some) / 2  # the bounds do leave some out
    alone = np.empty((len(some), len(space)), np.float32)
    for label, centre in enumerate(some):
        space.nearest(centre[None], np.zeros(len(space), np.uint16), alone[label], 2)
    np.testing.assert_array_equal(labels, alone.argmin(axis=0))
    np.testing.assert_array_equal(distances, alone.min(axis=0))
    one, near = np.full(len(space), 5, np.uint16), np.empty(len(space), np.float32)
    space.nearest(some, one, near, 1)
    np.testing.assert_array_equal(one, labels)
    np.testing.assert_array_equal(near, distances)


def test_centres_are_weighted_means_whatever_the_threads():
    space = short_space(3)
    rng = np.random.default_rng(0)
    labels = rng.integers(5, size=len(space)).astype(np.uint16)
    weights = canonical_hands(SHORT, 3).weights
    centres = space.centres(labels, weights, 6, 2)
    dense = space.centres_at(np.arange(len(space))).astype(float)
    for label in range(5):
        mine = labels == label
        expected = np.average(dense[mine], axis=0, weights=weights[mine])
        np.testing.assert_allclose(centres[label], expected, atol=1e-6)
    assert not centres[5].any()
    np.testing.assert_array_equal(centres, space.centres(labels, weights, 6, 1))


def test_the_mean_of_an_empty_cluster_attracts_nothing():
    space = short_space(3).subset(np.arange(50))
    centres = np.concatenate([np.zeros((1, 40), np.float32), space.centres_at(np.array([3]))])
    labels, distances = np.zeros(50, np.uint16), np.empty(50, np.float32)
    space.nearest(centres, labels, distances, 1)
    assert (labels == 1).all()
    assert distances[3] == 0


def test_the_distance_is_near_optimal_transport_on_real_hands():
    """Means of many hands are dense, and hands sparse: what the method is for."""
    space = short_space(4)
    k = 12
    found = cluster(space, canonical_hands(SHORT, 4).weights, k, seed=1)
    rng = np.random.default_rng(2)
    approximate, exact = [], []
    for point in rng.choice(len(space), 100, replace=False):
        own = space.centres_at(np.array([point]))[0]
        for centre in rng.choice(k, 2, replace=False):
            approximate.append(potential_distance(own, found.centres[centre], space.ground.distances))
            exact.append(exact_emd(own, found.centres[centre], space.ground.distances))
    error = np.array(approximate) / np.array(exact) - 1
    assert error.min() > -1e-4
    assert error.mean() < 0.15
    print(f"relative error: mean {error.mean():.4f}, most {error.max():.4f}")


@pytest.mark.parametrize("board_size", [3, 4])
def test_the_objective_falls_on_real_hands(board_size):
    space = short_space(board_size)
    found = cluster(space, canonical_hands(SHORT, board_size).weights, 20, seed=3)
    objective = np.array(found.objective)
    assert len(objective) > 3
    assert (np.diff(objective) < 0).all()
    assert objective[-1] < 0.9 * objective[0]
    labels, distances = found.labels.copy(), np.empty(len(space), np.float32)
    space.nearest(found.centres, labels, distances, 2)
    weights = canonical_hands(SHORT, board_size).weights
    assert np.average(distances, weights=weights) == pytest.approx(objective[-1], rel=1e-5)


def test_ground_between_means_of_a_round():
    space = short_space(4)
    centres = space.centres_at(np.arange(0, len(space), 5000))
    ground = space.ground.distances
    found = potential_ground(centres, ground)
    assert found.dtype == np.float32
    for i, a in enumerate(centres):
        for j, b in enumerate(centres):
            both = potential_distance(a, b, ground) + potential_distance(b, a, ground)
            assert found[i, j] == pytest.approx(both / 2 if i != j else 0, rel=1e-6)


def on_boards(hands: CanonicalHands, rows: np.ndarray) -> CanonicalHands:
    """The canonical hands on some boards only."""
    some = copy(hands)
    some.boards = copy(hands.boards)
    some.boards.cards, some.group_of = hands.boards.cards[rows], hands.group_of[rows]
    some.first = np.concatenate([[0], np.cumsum(np.diff(hands.first)[rows])])
    return some


def plain_distribution(deck: Deck, hole: tuple[int, int], board: tuple[int, ...], dealt: int, bucket):
    """Buckets of the next round and how many deals lead there, deal by deal."""
    left = [card for card in range(deck.size) if card not in hole + board]
    deals = np.array(list(combinations(left, dealt)))
    boards = canonical_boards(deck, len(board) + dealt)
    rows, permutations = boards.locate(np.concatenate([np.tile(board, (len(deals), 1)), deals], axis=1))
    return np.unique(bucket(rows, permutations, hole), return_counts=True)


@pytest.mark.parametrize(
    ("deck", "size", "dealt"),
    [
        pytest.param(Deck(), 4, 1, marks=pytest.mark.slow),
        (Deck(), 3, 1),
        (SHORT, 0, 3),
        (Deck(5, 3), 0, 2),
        (Deck(5, 3), 2, 2),
    ],
)
def test_distributions_equal_plain_enumeration(deck, size, dealt):
    """Of a full deck, on some boards only."""
    before, after = canonical_hands(deck, size), canonical_boards(deck, size + dealt)
    if size:
        before = on_boards(before, np.linspace(0, len(before.boards) - 1, 4).astype(int))
    # Any numbers that are the same for hands up to a renaming of suits.
    rows, classes = np.arange(len(after), dtype=np.uint16)[:, None], preflop_classes(deck)
    matrix = (rows * np.uint16(40_503) + classes * np.uint16(24_571)) % np.uint16(1009)
    found = next_bucket_distributions(before, after, matrix)
    assert len(found) == len(before)
    deals = comb(deck.size - size - 2, dealt)
    assert found.deals == deals
    np.testing.assert_array_equal(np.add.reduceat(found.counts.astype(int), found.starts[:-1]), deals)
    moved = suit_permutations(deck).hands
    number = 0
    for row, board in enumerate(before.boards.cards.tolist()):
        smallest = before.smallest[before.group_of[row]]
        for hand, hole in enumerate(deck.hand_cards.tolist()):
            if smallest[hand] != hand or set(hole) & set(board):
                continue
            if number % max(1, len(before) // 60) == 0:
                part = slice(found.starts[number], found.starts[number + 1])
                buckets, counts = plain_distribution(
                    deck,
                    tuple(hole),
                    tuple(board),
                    dealt,
                    lambda rows, permutations, hole: matrix[
                        rows, moved[permutations, hand_index(*hole)]
                    ],
                )
                np.testing.assert_array_equal(found.buckets[part], buckets)
                np.testing.assert_array_equal(found.counts[part], counts)
            number += 1
    assert number == len(before)


def test_grounds_that_are_none_are_refused():
    space = short_space(3)
    points, ground = space.points, space.ground.distances
    with pytest.raises(ValueError, match="shape"):
        PotentialSpace(points, ground[:, :-1])
    with pytest.raises(ValueError, match="both directions"):
        PotentialSpace(points, np.triu(ground))
    with pytest.raises(ValueError, match="diagonal"):
        PotentialSpace(points, ground + 1)
    with pytest.raises(ValueError, match="the ground has 39 buckets, the points have 40"):
        PotentialSpace(points, ground[:-1, :-1])
    with pytest.raises(ValueError, match="community cards"):
        next_bucket_distributions(
            canonical_hands(SHORT, 3), canonical_boards(SHORT, 3), np.zeros((1, 1))
        )

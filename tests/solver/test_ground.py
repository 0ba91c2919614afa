"""What walks need to know of a board: against the definitions, hand by hand."""

from dataclasses import replace
from math import comb

import numpy as np
import pytest
from nashfold.abstraction.build import build_abstraction
from nashfold.abstraction.config import AbstractionConfig, RoundConfig
from nashfold.game.presets import preset
from nashfold.game.strength import hand_strength
from nashfold.solver.betting_tree import betting_tree
from nashfold.solver.ground import Ground, Places
from nashfold.solver.public_tree import Deal

RULES = replace(
    preset("short-limit"), num_ranks=3, num_suits=3, board_cards=(0, 2, 1), max_bets=(1, 1, 1)
)


def ground(sampled_rounds):
    rounds = (RoundConfig("preflop-classes"), *[RoundConfig("ehs", buckets=4)] * 2)
    cards = build_abstraction(AbstractionConfig(RULES, rounds))
    return Ground(betting_tree(RULES), cards, np.float64, sampled_rounds)


def buckets_behind(place):
    """The bucket of each hand of a place."""
    return place.lines if place.present is None else place.present[place.lines]


@pytest.mark.parametrize("sampled_rounds", [-1, 1, 2])
def test_a_place_has_the_live_hands_and_their_buckets(sampled_rounds):
    here = ground(sampled_rounds)
    place = Places(here).on(1, (5, 2))
    hands, cards = place.hands
    deck = RULES.deck
    assert hands.tolist() == [
        hand for hand, pair in enumerate(deck.hand_cards.tolist()) if not {5, 2} & {*pair}
    ]
    np.testing.assert_array_equal(cards, deck.hand_cards[hands])
    expected = here.abstraction.lookup(1, hands, np.array([5, 2]))
    np.testing.assert_array_equal(buckets_behind(place), expected)
    assert (place.present is None) == here.is_whole(1)


@pytest.mark.parametrize("sampled_rounds", [-1, 1, 2])
def test_hands_of_the_last_round_come_by_strength(sampled_rounds):
    here, deck = ground(sampled_rounds), RULES.deck
    deals = [Deal((card,), 1, np.array([0])) for card in (0, 7)]
    place = Places(here).last((5, 2), deals)
    hands, live, groups, num_groups, cards = place.hands
    for number, deal in enumerate(deals):
        board = {5, 2, *deal.cards}
        end = live[number]
        found = hands[number, :end]
        assert end == comb(deck.size - 3, 2)
        assert all(not board & {*deck.hand_cards[hand].tolist()} for hand in found)
        np.testing.assert_array_equal(cards[number, :end], deck.hand_cards[found])
        strength = [
            hand_strength([int(deck.cards[card]) for card in (*board, *deck.hand_cards[hand])])
            for hand in found
        ]
        assert strength == sorted(strength)
        begins = [i for i in range(end) if i == 0 or strength[i] != strength[i - 1]]
        assert groups[number, : num_groups[number] + 1].tolist() == [*begins, end]
        expected = here.abstraction.lookup(2, found, np.array([5, 2, *deal.cards]))
        np.testing.assert_array_equal(buckets_behind(place)[number, :end], expected)


def test_only_sampled_boards_are_kept_and_only_on_their_path():
    deals = [Deal((card,), 1, np.array([0])) for card in (0, 7)]
    places = Places(ground(1))
    root, flop, last = places.on(0, ()), places.on(1, (2, 5)), places.last((2, 5), deals)
    assert places.on(1, (2, 5)) is flop
    assert places.last((2, 5), deals) is last
    places.forget()
    assert places.on(0, ()) is root
    assert places.on(1, (2, 5)) is not flop
    assert places.last((2, 5), deals) is not last
    everywhere = Places(ground(-1))
    assert everywhere.on(1, (2, 5)) is not everywhere.on(1, (2, 5))


def test_sampled_boards_are_disjoint_and_equally_likely():
    here = ground(2)
    rng = np.random.default_rng(1)
    paths = [here.sample(rng) for _ in range(3600)]
    assert all([len(cards) for cards in path] == [0, 2, 1] for path in paths)
    assert all(len({*path[1], *path[2]}) == 3 for path in paths)
    counts = np.bincount([9 * path[1][0] + path[1][1] for path in paths], minlength=81)
    seen = counts[counts > 0]  # 36 flops, 100 times each in expectation
    assert len(seen) == 36
    assert ((seen - 100) ** 2 / 100).sum() < 69.2  # chi-squared, 35 degrees of freedom: 0.9995

"""Sampled regrets and averages are unbiased: means over many walks against an enumeration of all deals.

Field case SV-07 (probabilities that do not add up to 1 used as importance weights) would show in outcome and
average-strategy sampling as a factor on everything below the first such node.
"""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from nashfold.abstraction import build_abstraction
from nashfold.game import hand_strength, preset
from nashfold.game.cards import hand_index
from nashfold.solver import betting_tree
from nashfold.solver.betting_tree import FOLD
from nashfold.solver.mccfr import AverageSampling, MonteCarlo, Pruning
from nashfold.solver.tables import Tables
from strategies import percentile_config

CUT = {"num_ranks": 4, "num_suits": 2, "board_cards": (0, 3), "first_player": (1, 0)}
LIMIT = replace(preset("short-limit"), bet_sizes=(2, 4), max_bets=(2, 2), **CUT)
NO_LIMIT = replace(preset("short-nolimit"), stacks=(5, 6), **CUT)


def _solver(rules, **options):
    tree = betting_tree(rules)
    abstraction = build_abstraction(percentile_config(rules, 4))
    tables = Tables(tree, abstraction.num_buckets)
    return MonteCarlo(tree, abstraction, tables, scheme="cfr", **options)


def _all_deals(rules, abstraction):
    """Buckets [deal, player, round] and the sign of player 0's winnings, of all deals of hands and board."""
    deals = [
        (*mine, *other, *board)
        for mine in combinations(range(rules.deck.size), 2)
        for other in combinations(sorted({*range(rules.deck.size)} - {*mine}), 2)
        for board in combinations(sorted({*range(rules.deck.size)} - {*mine, *other}), 3)
    ]
    cards = np.array(deals)
    hands = np.array([[hand_index(a, b), hand_index(c, d)] for a, b, c, d, *_ in deals])
    buckets = np.stack(abstraction.lookup_rounds(hands, cards[:, None, 4:]), axis=-1)
    real = rules.deck.cards[cards]
    strength = [hand_strength(real[:, [2 * p, 2 * p + 1, 4, 5, 6]]) for p in (0, 1)]
    return buckets, np.sign(strength[0] - strength[1])


def _enumerated(solver):
    """Counterfactual regrets and the average's increments for the current strategies: [value] as in the
    tables, by visiting all nodes with all deals at once.
    """
    tree, tables = solver.tree, solver.tables
    buckets, outcome = _all_deals(tree.rules, solver.abstraction)
    expected = np.zeros(len(tables.values))
    strategies = tables.current_strategy()

    def visit(node, reach):
        kind, count = tree.kind[node], tree.num_actions[node]
        if not count:
            stake = tree.spent[node].min()
            if kind == FOLD:
                return np.full(len(outcome), -stake if tree.folded[node] == 0 else stake)
            return stake * outcome
        own = buckets[:, kind, tree.round[node]]
        slot = tree.action_slot[node]
        chances = strategies[tree.round[node]][own, slot : slot + count].astype(float)
        values = []
        for action in range(count):
            below = list(reach)
            below[kind] = below[kind] * chances[:, action]
            values.append(visit(tree.first_child[node] + action, below))
        value = (chances * np.stack(values, axis=1)).sum(axis=1)
        places = tables.row_start(tree.round[node], own) + tables.record[node]
        for action in range(count):
            gain = (1 if kind == 0 else -1) * reach[1 - kind] * (values[action] - value)
            np.add.at(expected, places + action, gain / len(outcome))
            grown = reach[kind] * chances[:, action]
            np.add.at(expected, places + count + action, grown / len(outcome))
        return value

    visit(0, [np.ones(len(outcome)), np.ones(len(outcome))])
    return expected


SAMPLED = {"average_sampling": AverageSampling(0.2, 1.0, 2.0)}
CASES = [
    ("external", {}, 6000),
    ("external", {"pruning": Pruning(-1e30)}, 3000),
    ("outcome", {"exploration": 0.6}, 40_000),
    ("average-strategy", SAMPLED, 12_000),
    ("chance", {}, 3000),
]


@pytest.mark.parametrize("rules", [LIMIT, NO_LIMIT], ids=["limit", "no-limit"])
@pytest.mark.parametrize(("sampling", "options", "walks"), CASES)
def test_means_of_samples_are_the_exact_counterfactual_regrets(rules, sampling, options, walks):
    """From strategies that are neither uniform nor everywhere positive; every walk starts from them anew.

    An iteration updates player 0 first, and player 1 against the new strategy of player 0: regrets at the
    start are so far from 0 that this one changes by thousandths.
    """
    solver = _solver(rules, sampling=sampling, seed=11, **options)
    rng = np.random.default_rng(2)
    values = solver.tables.values
    start = (
        rng.choice([-1e5, 1e5], len(values), p=[0.4, 0.6]) * rng.uniform(0.1, 1, len(values))
    ).astype(np.float32)
    for index in range(rules.num_rounds):
        first, length, buckets, records = solver.tables.layout(index)
        for row in range(first, first + buckets * length, length):
            for place, count in records.tolist():
                averages = slice(row + place + count, row + place + 2 * count)
                start[averages] = rng.random(count) * 3
    values[:] = start
    expected = _enumerated(solver)

    rows, outcome = solver._deals(0, walks)
    total, squares, moved = np.zeros(len(values)), np.zeros(len(values)), np.zeros(len(values), int)
    for walk in range(walks):
        values[:] = start
        solver._walk(walk, rows[walk : walk + 1], outcome[walk : walk + 1])
        gain = values.astype(float) - start
        total += gain
        squares += gain * gain
        moved += gain != 0
    mean = total / walks
    error = np.sqrt(np.maximum(squares / walks - mean**2, 0) / walks)
    often = moved >= 50  # enough for a standard error
    z = (mean - expected)[often] / error[often]
    assert often.sum() > 0.5 * (expected != 0).sum()
    assert np.abs(z).max() < 4.5
    assert 0.8 < np.sqrt((z**2).mean()) < 1.15
    assert np.median(np.abs(expected[often]) / error[often]) > 5  # enough to tell wrong factors

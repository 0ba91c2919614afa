"""The compiled program: orders, classes and lists against plain Python."""

from __future__ import annotations

import numpy as np
import pytest
from nashfold.solver.tabular import program
from nashfold.solver.tabular.game import CHANCE, TERMINAL
from nashfold.solver.tabular.payoffs import chance_reach, payoffs
from nashfold.solver.tabular.program import compile_program
from small_games import GOOFSPIEL, tabular

GAMES = ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)", GOOFSPIEL]


def children(game, node):
    return range(game.first_child[node], game.first_child[node] + game.num_children[node])


def walk(game):
    """Nodes as a depth-first walk meets them."""
    stack = [0]
    while stack:
        node = stack.pop()
        yield node
        stack += reversed(children(game, node))


def plain_classes(game):
    """Classes of nodes and information sets, refined by tuples."""
    reach = chance_reach(game)
    members = {}
    for node in walk(game):
        if game.kind[node] < 2:
            members.setdefault(int(game.infoset[node]), []).append(node)
    sets = [(int(p), int(n)) for p, n in zip(game.infoset_player, game.num_actions, strict=True)]

    def sequence(number):
        infoset = game.sequence_infoset[number]
        return ("empty",) if infoset < 0 else (sets[infoset], int(number - game.first_sequence[infoset]))

    while True:
        numbers, values = {}, [0] * game.num_nodes
        for node in range(game.num_nodes - 1, -1, -1):
            kind = int(game.kind[node])
            what = {CHANCE: "chance", TERMINAL: float(game.utility[node])}.get(kind)
            what = sets[game.infoset[node]] if what is None else what
            below = tuple((values[c], float(game.probability[c])) for c in children(game, node))
            values[node] = numbers.setdefault((kind, what, below), len(numbers))
        after = [
            (
                sets[i],
                sequence(game.parent_sequence[i]),
                tuple(
                    (values[n], float(reach[n]), sequence(game.last_sequence[1 - game.kind[n], n]))
                    for n in members[i]
                ),
            )
            for i in range(game.num_infosets)
        ]
        numbers = {}
        after = [numbers.setdefault(key, len(numbers)) for key in after]
        if len(set(after)) == len(set(sets)):
            return values, after
        sets = after


@pytest.mark.parametrize("name", GAMES)
def test_orders_are_those_of_plain_walks(name):
    game = tabular(name)
    order = program._depth_first(game)
    np.testing.assert_array_equal(order[list(walk(game))], np.arange(game.num_nodes))
    height, depth = np.zeros(game.num_nodes, np.int32), np.zeros(game.num_infosets, np.int32)
    program._heights(game.first_child, game.num_children, height)
    program._own_depths(game.parent_sequence, game.sequence_infoset, depth)
    reach = np.ones(game.num_nodes)
    for node in range(game.num_nodes):
        for child in children(game, node):
            reach[child] = reach[node] * game.probability[child]
            assert height[node] > height[child]
        if game.num_children[node]:
            assert height[node] == 1 + max(height[child] for child in children(game, node))
    np.testing.assert_array_equal(chance_reach(game), reach)
    for infoset in range(game.num_infosets):
        steps, above = 0, game.sequence_infoset[game.parent_sequence[infoset]]
        while above >= 0:
            steps, above = steps + 1, game.sequence_infoset[game.parent_sequence[above]]
        assert depth[infoset] == steps


@pytest.mark.parametrize("name", GAMES)
def test_classes_are_those_of_plain_refinement(name):
    game = tabular(name)
    values, sets = plain_classes(game)
    found = compile_program(game)
    places = [int(found.place_of[first]) for first in game.first_sequence]
    assert len({*zip(places, sets, strict=True)}) == len(set(places)) == len(set(sets))
    assert len(found.payoff) + found.blocks[-1, 1] == len(set(values))
    single = compile_program(game, merge=False)
    assert len(single.num_actions) == game.num_infosets
    assert len(single.payoff) + single.blocks[-1, 1] == game.num_nodes


@pytest.mark.parametrize("merge", [True, False])
@pytest.mark.parametrize("name", GAMES)
def test_the_lists_say_what_recursion_says(name, merge):
    """Values of all histories and regrets of all information sets, the policy being alike where it must."""
    game = tabular(name)
    found = compile_program(game, merge)
    rng = np.random.default_rng(1)
    odds = np.concatenate([np.ones(found.num_places), found.chance])
    for first, count in zip(found.first_place.astype(int), found.num_actions.astype(int), strict=True):
        odds[first : first + count] = rng.dirichlet(np.ones(count))
    policy = found.spread(odds)
    # By recursion.
    value = game.utility.copy()
    for node in range(game.num_nodes - 1, -1, -1):
        for place, child in enumerate(children(game, node)):
            if game.kind[node] == CHANCE:
                value[node] += game.probability[child] * value[child]
            else:
                value[node] += policy[game.first_sequence[game.infoset[node]] + place] * value[child]
    reach, chances = np.ones(game.num_sequences), chance_reach(game)
    for infoset in range(game.num_infosets):
        first = game.first_sequence[infoset]
        part = slice(first, first + game.num_actions[infoset])
        reach[part] = reach[game.parent_sequence[infoset]] * policy[part]
    regrets = np.zeros(game.num_sequences)
    for node in np.flatnonzero(game.kind < 2):
        player, first = game.kind[node], game.first_sequence[game.infoset[node]]
        others = chances[node] * reach[game.last_sequence[1 - player, node]] * (1 - 2 * player)
        for place, child in enumerate(children(game, node)):
            regrets[first + place] += others * (value[child] - value[node])
    # By the lists.
    values = list(found.payoff)
    for first, end, width, edge in found.blocks:
        for number in range(end - first):
            edges = range(edge + number * width, edge + (number + 1) * width)
            values.append(sum(odds[found.odds[e]] * values[found.child[e]] for e in edges))
    assert sum(width * (end - first) for first, end, width, _ in found.blocks) == len(found.child)
    by_place = np.ones(found.num_places)
    gains = np.zeros(found.num_places)
    for number, (first, count) in enumerate(zip(found.first_place, found.num_actions, strict=True)):
        assert found.parent[number] < first  # above before below
        part = slice(int(first), int(first) + int(count))
        by_place[part] = by_place[found.parent[number]] * odds[part]
    for number, (first, count) in enumerate(zip(found.first_place, found.num_actions, strict=True)):
        histories = range(int(found.first_history[number]), int(found.first_history[number + 1]))
        for action in range(int(count)):
            for place, history in enumerate(histories):
                behind = found.result[int(found.first_result[number]) + action * len(histories) + place]
                others = found.weight[history] * by_place[found.other[history]]
                gains[int(first) + action] += others * (values[behind] - values[found.value[history]])
    np.testing.assert_allclose(found.spread(gains), regrets, atol=1e-12)
    np.testing.assert_allclose(found.spread(by_place), reach, rtol=1e-12)
    np.testing.assert_array_equal(found.spread(found.gathered(policy)), policy)
    assert values[-1] == pytest.approx(value[0], abs=1e-12)


def test_colliding_hashes_are_noticed(monkeypatch):
    """Were all hashes the same, nothing would be merged."""

    def same(*arguments):
        arguments[-2][:] = 7
        arguments[-1][:] = 7

    monkeypatch.setattr(program, "_hash_round", same)
    assert len(compile_program(tabular("leduc_poker")).num_actions) == 936


def test_payoffs_are_the_terminals_added_up():
    game = tabular("leduc_poker")
    reach = chance_reach(game)
    ours, theirs = payoffs(game)
    dense = np.zeros((game.num_sequences, game.num_sequences))
    for node in np.flatnonzero(game.kind == TERMINAL):
        dense[tuple(game.last_sequence[:, node])] += reach[node] * game.utility[node]
    for player, rows in enumerate((ours, theirs)):
        found = np.zeros_like(dense)
        start = game.sequences[player].start
        for row in range(len(rows.first) - 1):
            part = slice(rows.first[row], rows.first[row + 1])
            found[start + row, rows.column[part]] = rows.payoff[part]
        np.testing.assert_allclose(found, dense if player == 0 else -dense.T, atol=1e-15)
        assert (rows.payoff != 0).all()

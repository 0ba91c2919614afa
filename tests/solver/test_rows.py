"""The compiled passes against dense matrices over hands, lane by lane."""

import numpy as np
import pytest
from nashfold.game import hand_strength, preset
from nashfold.game.strength import MAX_STRENGTH
from nashfold.solver import rows
from nashfold.solver.betting_tree import FOLD, SHOWDOWN
from nashfold.solver.lanes import LANES
from nashfold.solver.public_tree import Deal, Scratch, Walk
from strategies import random_strategy


def _board(rules, seed):
    """Live hands by strength on a random last-round board, and dense matrices over them."""
    deck = rules.deck
    board = np.random.default_rng(seed).permutation(deck.size)[: rules.board_size(rules.num_rounds - 1)]
    strength = np.zeros(deck.num_hands, np.uint16)
    for hand, cards in enumerate(deck.hand_cards):
        if not set(cards) & set(board):
            strength[hand] = hand_strength(deck.cards[[*cards, *board]])
    hands, groups = np.empty(deck.num_hands, np.int64), np.empty(deck.num_hands + 1, np.int64)
    live, count = rows._sort_hands(strength, np.empty(MAX_STRENGTH + 2, np.int64), hands, groups)
    hands, groups, cards = hands[:live], groups[: count + 1], deck.hand_cards[hands[:live]]
    assert live == np.count_nonzero(strength)
    assert (np.diff(strength[hands].astype(int)) >= 0).all()
    changes = np.flatnonzero(np.diff(strength[hands].astype(int))) + 1
    assert groups.tolist() == [0, *changes, live]
    apart = (cards[:, None, :, None] != cards[None, :, None, :]).all(axis=(2, 3))
    better = np.sign(strength[hands].astype(int)[:, None] - strength[hands].astype(int)[None, :])
    return board, hands, cards, groups, apart.astype(float), better * apart


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("action", [-1, 2])
def test_sums_and_sweeps_equal_dense_matrices(dtype, action):
    rules = preset("acpc-limit")
    _, _, cards, groups, apart, payoff = _board(rules, 5)
    rng = np.random.default_rng(1)
    reach = rng.random((len(cards), LANES)).astype(dtype)
    chances = rng.random((2, 9, 3, LANES)).astype(dtype)
    buckets = rng.integers(9, size=len(cards))
    weight = reach.astype(float)
    if action >= 0:
        weight = weight * chances[1, buckets, action]
    sums = np.empty((53, LANES), dtype)
    out = np.empty_like(reach)
    rows._sum(reach, 1, action, buckets, chances, cards, sums)
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    np.testing.assert_allclose(sums[52], weight.sum(axis=0), rtol=tolerance)
    np.testing.assert_allclose(sums[7], weight[(cards == 7).any(axis=1)].sum(axis=0), rtol=tolerance)
    rows._sweep(reach, 1, action, buckets, chances, cards, groups, sums, out)
    others = sums[52] - sums[cards[:, 0]] - sums[cards[:, 1]]
    np.testing.assert_allclose(out - others, payoff @ weight, atol=2000 * tolerance)
    np.testing.assert_allclose(others + weight, apart @ weight, atol=2000 * tolerance)


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("mix", [False, True])
def test_a_river_round_equals_a_plain_recursion(player, mix):
    """All histories of the last round on one board, against a recursion over single nodes."""
    rules = preset("acpc-limit")
    opponent = random_strategy(rules, 3, buckets=4)
    own = random_strategy(rules, 4, buckets=5) if mix else None
    walk = Walk(player, opponent, own)
    scratch = Scratch(walk)
    board, hands, _, _, apart, payoff = _board(rules, 11)
    rng = np.random.default_rng(2)
    reach = rng.random(scratch.reach_in[3].shape)
    scratch.reach_in[3][:] = reach
    out = np.zeros_like(reach)
    river = [Deal(tuple(board[4:].tolist()), 1, np.array([0]))]
    walk._visit(3, tuple(board[:4].tolist()), river, 0.5, out, scratch)
    tree, table, buckets = (
        walk.tree,
        opponent.tables[3],
        opponent.abstraction.rows(3, board[None])[0, hands],
    )

    def value(node, reach):
        if tree.kind[node] == FOLD:
            chips = tree.spent[node].min() * (-1 if tree.folded[node] == player else 1)
            return chips * (apart @ reach)
        if tree.kind[node] == SHOWDOWN:
            return tree.spent[node].min() * (payoff @ reach)
        children = tree.first_child[node] + np.arange(tree.num_actions[node])
        slots = tree.action_slot[node] + np.arange(tree.num_actions[node])
        if tree.kind[node] != player:
            return sum(
                value(child, reach * table[buckets, slot])
                for child, slot in zip(children, slots, strict=True)
            )
        values = np.array([value(child, reach) for child in children])
        if own is None:
            return values.max(axis=0)
        chances = own.tables[3][own.abstraction.rows(3, board[None])[0, hands]][:, slots].T
        return (chances * values).sum(axis=0)

    checked = 0
    for block, lane in np.argwhere(walk.plans[3].entries >= 0)[::17]:
        node = walk.plans[3].entries[block, lane]
        expected = value(node, reach[block, hands, lane])
        np.testing.assert_allclose(out[block, hands, lane], 0.5 * expected, rtol=1e-9, atol=1e-7)
        checked += 1
    assert checked > 5
    dead = np.setdiff1d(np.arange(1326), hands)
    assert not out[:, dead].any()

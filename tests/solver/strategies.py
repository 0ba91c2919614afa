"""Strategies for the tests: random tables in real abstractions, and the oracle's view of a strategy."""

from __future__ import annotations

import numpy as np
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction, canonical_boards
from nashfold.abstraction.boards import suit_permutations
from nashfold.game import Rules
from nashfold.solver import Strategy, betting_tree


def percentile_config(rules: Rules, buckets: int, feature: str = "ehs") -> AbstractionConfig:
    rounds = (RoundConfig("preflop-classes"), *[RoundConfig(feature, buckets)] * (rules.num_rounds - 1))
    return AbstractionConfig(rules, rounds)


def random_strategy(
    rules: Rules,
    seed: int,
    buckets: int = 7,
    zeros: float = 0.2,
    config: AbstractionConfig | None = None,
) -> Strategy:
    """Random probabilities, a share of them zero, so that some subtrees are never reached."""
    rng = np.random.default_rng(seed)
    tree = betting_tree(rules)
    abstraction = build_abstraction(config or percentile_config(rules, buckets))
    tables = []
    for index, slots in enumerate(tree.num_slots):
        table = rng.random((abstraction.num_buckets[index], slots), np.float32)
        table[rng.random(table.shape) < zeros] = 0
        table[:, rng.random(slots) < zeros] = 0  # actions that no bucket ever takes
        for node in np.flatnonzero((tree.round == index) & (tree.num_actions > 0)):
            here = slice(tree.action_slot[node], tree.action_slot[node] + tree.num_actions[node])
            table[:, here] += (table[:, here].sum(axis=1, keepdims=True) == 0).astype(np.float32)
            table[:, here] /= table[:, here].sum(axis=1, keepdims=True)
        tables.append(table)
    return Strategy(tree, abstraction, tables, f"random {seed}")


def as_function(strategy: Strategy):
    """The strategy as the oracle takes it: [hand, action] from the betting and the cards dealt by round."""
    nodes: dict[int, tuple] = {}
    rows: dict[tuple, np.ndarray] = {}
    deck, abstraction = strategy.rules.deck, strategy.abstraction
    tuples = [
        {abstraction.own_buckets(index, bucket): bucket for bucket in range(count)}
        for index, count in enumerate(abstraction.num_buckets)
    ]

    def own_buckets(round_index: int, cards: list[int]) -> np.ndarray:
        row, permutation = canonical_boards(deck, len(cards)).locate(np.array(cards, int))
        moved = suit_permutations(deck).hands[permutation]
        return abstraction.matrices[round_index][row][moved].astype(int)

    def buckets(round_index: int, board: tuple) -> np.ndarray:
        if board not in rows:
            if len(rows) > 1000:
                rows.clear()
            rounds = range(round_index + 1) if abstraction.tuples else [round_index]
            sizes = abstraction.config.board_sizes
            cards = [deck.number(card) for dealt in board for card in dealt]
            parts = np.stack([own_buckets(index, cards[: sizes[index]]) for index in rounds], axis=1)
            # Dead hands may have tuples that do not occur.
            rows[board] = np.array([tuples[round_index].get(tuple(row), 0) for row in parts.tolist()])
        return rows[board]

    def probabilities(betting, board):
        if id(betting) not in nodes:
            nodes[id(betting)] = (betting, strategy.tree.find(betting))
        node = nodes[id(betting)][1]
        slot, count = strategy.tree.action_slot[node], strategy.tree.num_actions[node]
        return strategy.tables[betting.round][buckets(betting.round, board), slot : slot + count]

    return probabilities

"""External-sampling Monte Carlo CFR on hold'em tables (Lanctot, Waugh, Zinkevich and Bowling 2009).

One iteration deals one hand and walks the betting tree once for each player: every action of the
traverser is visited, one action of the other player is drawn. Regrets of the traverser and the average
strategy of the other player are updated with the weight of the iteration: its number under linear
weighting ("lcfr", Brown and Sandholm 2019), 1 under "cfr".

Tables are single precision: a sum stops growing when its increments fall below a 2**24th of it, after some
10 million visits of one bucket with equal weights and later with linear ones.

All randomness of an iteration comes from the seed and its number, so that a run that is broken off
and resumed takes the same walks as an unbroken one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np

from ..abstraction.buckets import CardAbstraction
from ..game.strength import hand_strength
from .betting_tree import SHOWDOWN, BettingTree
from .tables import Tables

SCHEMES = ("cfr", "lcfr")
SAMPLINGS = ("external",)
CHUNK = 8192  # iterations dealt at a time

# Columns of the packed node records: all that a visit needs, in half a cache line.
_KIND, _ROUND, _FIRST_CHILD, _NUM_ACTIONS, _SLOT, _STAKE = range(6)


class MonteCarlo:
    """Sampled CFR on the tables of a betting tree and a card abstraction.

    Args:
        tree: the betting tree.
        abstraction: buckets of the hands; must fit the tree's rules.
        tables: regrets and averages, modified in place.
        scheme: one of SCHEMES.
        sampling: one of SAMPLINGS.
        seed: everything random follows from it.
        threads: above 1, threads share the tables without locks; the result then depends on how they
            happen to interleave.

    Raises ValueError for an abstraction that does not fit or an unknown scheme.
    """

    def __init__(
        self,
        tree: BettingTree,
        abstraction: CardAbstraction,
        tables: Tables,
        scheme: str = "lcfr",
        sampling: str = "external",
        seed: int = 0,
        threads: int = 1,
    ):
        if scheme not in SCHEMES:
            raise ValueError(
                f"unknown scheme {scheme!r} for external sampling: choose {' or '.join(SCHEMES)}"
            )
        if sampling not in SAMPLINGS:
            raise ValueError(f"unknown sampling {sampling!r}: choose {' or '.join(SAMPLINGS)}")
        abstraction.check_fits(tree.rules)
        self.tree, self.abstraction, self.tables = tree, abstraction, tables
        self.scheme, self.sampling = scheme, sampling
        self.seed, self.threads = seed, threads
        self.touched_nodes = 0
        self._nodes = _packed_nodes(tree)
        self._depth = _depth(tree)
        self._deck_cards = tree.rules.deck.cards

    unit = "nodes"  # what touched_nodes counts

    @property
    def iterations(self) -> int:
        """Iterations done so far, those of a checkpoint included."""
        return self.tables.iterations

    @property
    def chunk(self) -> int:
        """A good number of iterations for one call of `run`: some tenths of a second."""
        return CHUNK * self.threads

    def average_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]."""
        return self.tables.average_strategy()

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: what regret matching plays now."""
        return self.tables.current_strategy()

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write a checkpoint, see `Tables.save`."""
        self.tables.save(path, header)

    def load(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Continue from a checkpoint, see `Tables.load`."""
        return self.tables.load(path, header)

    def run(self, iterations: int) -> None:
        """Do that many more iterations."""
        first = self.tables.iterations
        starts = range(first, first + iterations, CHUNK)
        chunks = [(start, min(CHUNK, first + iterations - start)) for start in starts]
        if self.threads == 1:
            touched = [self._chunk(*chunk) for chunk in chunks]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                touched = list(pool.map(lambda chunk: self._chunk(*chunk), chunks))
        self.touched_nodes += sum(touched)
        self.tables.iterations += iterations

    def _chunk(self, first: int, count: int) -> int:
        rows, outcome = self._deal(first, count)
        frames = np.empty((self._depth, 3), np.int64)
        action_values = np.empty((self._depth, int(self.tree.num_actions.max())))
        linear = self.scheme == "lcfr"
        return _iterate(
            first,
            linear,
            self.seed,
            self._nodes,
            rows,
            outcome,
            self.tables.values,
            frames,
            action_values,
        )

    def _deal(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Table rows int64 [deal, player, round] and outcomes int8 [deal] (+1: player 0 wins)."""
        rules = self.tree.rules
        board_size = rules.board_size(rules.num_rounds - 1)
        cards = np.empty((count, 4 + board_size), np.int64)
        _deal_cards(first, self.seed, len(self._deck_cards), cards)
        hole, board = cards[:, :4].reshape(count, 2, 2), cards[:, 4:]
        hands = _hand_indices(hole)
        rows = np.empty((count, 2, rules.num_rounds), np.int64)
        for index, buckets in enumerate(self.abstraction.lookup_rounds(hands, board[:, None])):
            rows[:, :, index] = self.tables.row_start(index, buckets)
        real = self._deck_cards[cards].astype(np.uint8)
        both = [
            hand_strength(np.concatenate([real[:, 2 * p : 2 * p + 2], real[:, 4:]], axis=1))
            for p in (0, 1)
        ]
        return rows, np.sign(both[0] - both[1]).astype(np.int8)


def _hand_indices(hole: np.ndarray) -> np.ndarray:
    """Hand indices of hole int64 [..., 2]."""
    high, low = hole.max(axis=-1), hole.min(axis=-1)
    return high * (high - 1) // 2 + low


def _packed_nodes(tree: BettingTree) -> np.ndarray:
    """int32 [node, 8]: node records; the stake of a fold is signed: what player 0 wins."""
    nodes = np.zeros((len(tree), 8), np.int32)
    nodes[:, _KIND] = tree.kind
    nodes[:, _ROUND] = tree.round
    nodes[:, _FIRST_CHILD] = tree.first_child
    nodes[:, _NUM_ACTIONS] = tree.num_actions
    nodes[:, _SLOT] = 2 * tree.action_slot
    stake = tree.spent.min(axis=1)
    if stake.max() >= 1 << 31:
        raise ValueError(f"stakes of {stake.max():,} chips are too large: use smaller units")
    nodes[:, _STAKE] = np.where(tree.folded == 0, -stake, stake)
    return nodes


def _depth(tree: BettingTree) -> int:
    depth = np.zeros(len(tree), np.int64)
    for node in range(1, len(tree)):  # parents are numbered before their children
        depth[node] = depth[tree.parent[node]] + 1
    return int(depth.max())


@nb.njit(cache=True, nogil=True, inline="always")
def _seeded(seed, iteration, stream):
    """Start of a stream of random numbers: a hash of seed, iteration and stream (SplitMix64)."""
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(iteration) * np.uint64(4)
    state = (state + np.uint64(stream)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


@nb.njit(cache=True, nogil=True, inline="always")
def _uniform(state):
    """Number in [0, 1) from the state of a stream, which grows by a constant between two draws
    (SplitMix64, Steele, Lea and Flood 2014).
    """
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True)
def _deal_cards(first, seed, deck_size, cards):
    """Card numbers [deal, cards] drawn without replacement (the start of a Fisher-Yates shuffle)."""
    deck = np.empty(deck_size, np.int64)
    for deal in range(cards.shape[0]):
        random = _seeded(seed, first + deal, 2)
        for card in range(deck_size):
            deck[card] = card
        for place in range(cards.shape[1]):
            random += np.uint64(0x9E3779B97F4A7C15)
            other = place + int(_uniform(random) * (deck_size - place))
            deck[place], deck[other] = deck[other], deck[place]
            cards[deal, place] = deck[place]


@nb.njit(cache=True, nogil=True)
def _iterate(first, linear, seed, nodes, rows, outcome, values, frames, action_values):
    """One iteration for each deal of rows [deal, player, round]; number of nodes visited.

    nodes: int32 [node, 8] from `_packed_nodes`.
    outcome: int8 [deal], the sign of player 0's winnings at a showdown.
    values: float32, modified in place: for each bucket and decision node the regrets of its actions,
        then their average.
    frames: int64 [depth, 3]: the traverser's nodes above the current one: node, record, action.
    action_values: float64 [depth, action]: what the actions of these nodes were found to be worth.

    A loop with a stack of its own: only the traverser's nodes are pushed, since a value passes through
    the other player's nodes unchanged.
    """
    touched = 0
    for deal in range(rows.shape[0]):
        weight = np.float64(first + deal + 1) if linear else 1.0
        for traverser in range(2):
            random = _seeded(seed, first + deal, traverser)
            sign = 1.0 if traverser == 0 else -1.0
            showdown = outcome[deal] * sign
            depth = 0
            node = np.uint64(0)
            while True:
                touched += 1
                kind = nodes[node, _KIND]
                num_actions = nodes[node, _NUM_ACTIONS]
                if kind == traverser:
                    record = np.uint64(rows[deal, kind, nodes[node, _ROUND]] + nodes[node, _SLOT])
                    frames[depth, 0] = node
                    frames[depth, 1] = record
                    frames[depth, 2] = 0
                    depth += 1
                    node = np.uint64(nodes[node, _FIRST_CHILD])
                    continue
                if kind <= 1:
                    record = np.uint64(rows[deal, kind, nodes[node, _ROUND]] + nodes[node, _SLOT])
                    total = np.float32(0.0)
                    for action in range(num_actions):
                        total += max(values[record + np.uint64(action)], np.float32(0.0))
                    random += np.uint64(0x9E3779B97F4A7C15)
                    draw = _uniform(random)
                    chosen = num_actions - 1
                    if total > 0.0:
                        left = draw * total
                        scale = np.float32(weight) / total
                        for action in range(num_actions):
                            share = max(values[record + np.uint64(action)], np.float32(0.0))
                            values[record + np.uint64(num_actions + action)] += scale * share
                            if left >= 0.0:
                                left -= share
                                if left < 0.0:
                                    chosen = action
                    else:
                        share = np.float32(weight / num_actions)
                        for action in range(num_actions):
                            values[record + np.uint64(num_actions + action)] += share
                        chosen = int(draw * num_actions)
                    node = np.uint64(nodes[node, _FIRST_CHILD] + chosen)
                    continue
                value = nodes[node, _STAKE] * (showdown if kind == SHOWDOWN else sign)
                while depth > 0:
                    node = np.uint64(frames[depth - 1, 0])
                    num_actions = nodes[node, _NUM_ACTIONS]
                    action = frames[depth - 1, 2]
                    action_values[depth - 1, action] = value
                    if action + 1 < num_actions:
                        frames[depth - 1, 2] = action + 1
                        node = np.uint64(nodes[node, _FIRST_CHILD] + action + 1)
                        break
                    record = np.uint64(frames[depth - 1, 1])
                    total = np.float32(0.0)
                    value = 0.0
                    flat = 0.0
                    for action in range(num_actions):
                        share = max(values[record + np.uint64(action)], np.float32(0.0))
                        total += share
                        value += share * action_values[depth - 1, action]
                        flat += action_values[depth - 1, action]
                    value = value / total if total > 0.0 else flat / num_actions
                    for action in range(num_actions):
                        gain = weight * (action_values[depth - 1, action] - value)
                        values[record + np.uint64(action)] += np.float32(gain)
                    depth -= 1
                else:
                    break
    return touched

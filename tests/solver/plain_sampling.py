"""Sampled CFR as plain recursions over Python numbers, drawing the same random numbers as the kernels.

Twins of `solver.sampling_kernels`: what they do to the values of the tables must be the same bit for bit.
"""

from __future__ import annotations

import math
import struct

import numpy as np
from nashfold.solver.betting_tree import FOLD

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def seeded(seed: int, iteration: int, stream: int) -> int:
    state = (seed * 0xD1342543DE82EF95 + iteration * 4 + stream) & MASK
    state = state * STEP & MASK
    state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    return (state ^ state >> 27) * 0x94D049BB133111EB & MASK


def uniform(state: int) -> float:
    z = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
    return ((z ^ z >> 31) >> 11) / (1 << 53)


def rounding_bits(state: int, place: int) -> int:
    z = (state ^ place * 0xD6E8FEB86659FD93 & MASK) * 0xA0761D6478BD642F & MASK
    return z ^ z >> 32


def next_bits(bits: int) -> int:
    return (bits * 6364136223846793005 + 1442695040888963407) & MASK


class PlainTables:
    """The values of `Tables` as records of Python numbers: (regrets or averages of a bucket at a node)."""

    def __init__(self, tables):
        self.tables, self.is_int16 = tables, tables.storage == "int16"
        self.values = tables.values.tolist()

    def numbers(self, place, count):
        """The stored numbers as they are: for int16 the codes."""
        return [float(value) for value in self.values[place : place + count]]

    def exponent(self, record, half):
        byte = self.values[record - 1] >> 8 * half & 0xFF
        return byte - 256 if byte > 127 else byte

    def unit(self, record, half):
        return 2.0 ** self.exponent(record, half) if self.is_int16 else 1.0

    def add(self, record, half, gains, floor, bits):
        """Add to the regrets (half 0) or averages (half 1) of a record."""
        place = record + half * len(gains)
        unit = self.unit(record, half)
        totals = [
            max(old * unit + gain, floor)
            for old, gain in zip(self.numbers(place, len(gains)), gains, strict=True)
        ]
        if not self.is_int16:
            for action, total in enumerate(totals):
                bits = next_bits(bits)
                self.values[place + action] = self.rounded(total, floor, bits)
            return
        exponent = self.exponent(record, half)
        largest = max(map(abs, totals))
        while largest > 32767 * 2.0**exponent and exponent < 127:
            exponent += 1
        while 0 < largest < 8191 * 2.0**exponent and exponent > -127:
            exponent -= 1
        least = max(math.ceil(floor / 2.0**exponent), -32767) if floor > -math.inf else -32767
        for action, total in enumerate(totals):
            bits = next_bits(bits)
            code = math.floor(total / 2.0**exponent + (bits >> 40) / 2**24)
            self.values[place + action] = min(max(code, least), 32767)
        header = (self.values[record - 1] & 0xFFFF) & ~(0xFF << 8 * half)
        header |= (exponent & 0xFF) << 8 * half
        self.values[record - 1] = header - 65536 if header > 32767 else header

    @staticmethod
    def rounded(total, floor, bits):
        """A float64 as one of the two float32 around it: the farther, the less likely."""
        total = min(max(total, -3e38), 3e38)
        pattern = struct.unpack("<Q", struct.pack("<d", total))[0] + (bits >> 35)
        pattern &= ~((1 << 29) - 1)
        return float(np.float32(max(struct.unpack("<d", struct.pack("<Q", pattern))[0], floor)))


class PlainSampling:
    """The iterations of a MonteCarlo solver from where its tables are; the solver itself is left alone.

    Attributes:
        skipped, pruned: actions of the traverser that were not drawn, or pruned.
    """

    def __init__(self, solver):
        self.skipped = self.pruned = 0
        self.solver, self.tree = solver, solver.tree
        self.table = PlainTables(solver.tables)
        self.done = solver.iterations

    @property
    def values(self):
        return np.array(self.table.values, self.solver.tables.values.dtype)

    def run(self, iterations):
        solver = self.solver
        self.rows, self.outcome = solver._deals(self.done, iterations)
        self.rows = self.rows.tolist()
        for self.deal in range(iterations):
            number = self.done + 1
            self.weights = self._weights(number)
            if solver.sampling == "chance":
                self.random = seeded(solver.seed, self.done, 0)
                self.whole(0, [1.0, 1.0])
            else:
                for traverser in (0, 1):
                    self.random = seeded(solver.seed, self.done, traverser)
                    self.prune_below = -math.inf
                    pruning = solver.pruning
                    if pruning and self.done >= pruning.start and self.draw() < pruning.probability:
                        self.prune_below = pruning.threshold * self.weights[0]
                    self.visit(0, traverser, 1.0)
            self.done += 1
            self._discount()

    def _weights(self, number):
        scheme, discounting = self.solver.scheme, self.solver.discounting
        if scheme.name == "dcfr":
            period = min((number - 1) // discounting.every, discounting.until // discounting.every) + 1
            return 1.0, scheme.weights(period).average_weight
        weights = scheme.weights(number)
        return weights.gain, weights.average_weight

    def _floor(self):
        if self.solver.scheme.name == "cfr+":
            return 0.0
        return self.solver.pruning.floor * self.weights[0] if self.solver.pruning else -math.inf

    def draw(self):
        self.random = (self.random + STEP) & MASK
        return uniform(self.random)

    def leaf(self, node):
        """What player 0 wins."""
        stake = int(self.tree.spent[node].min())
        if self.tree.kind[node] == FOLD:
            return -stake if self.tree.folded[node] == 0 else stake
        return stake * int(self.outcome[self.deal])

    def strategy(self, record, count):
        """Positive parts of the regrets, their sum, and the probabilities."""
        positive = [max(number, 0.0) for number in self.table.numbers(record, count)]
        total = 0.0
        for number in positive:
            total += number
        return positive, total, [n / total if total > 0 else 1 / count for n in positive]

    def visit(self, node, traverser, boost):
        """Value for the traverser, over the probability of his sampled actions."""
        tree, solver = self.tree, self.solver
        kind, count = int(tree.kind[node]), int(tree.num_actions[node])
        if not count:
            return self.leaf(node) * (1.0 if traverser == 0 else -1.0) * boost
        first = int(tree.first_child[node])
        record = self.rows[self.deal][kind][tree.round[node]] + int(solver.tables.record[node])
        positive, total, chances = self.strategy(record, count)
        if kind != traverser:
            draw = self.draw()
            weight = self.weights[1] * boost
            if total > 0:
                gains = [weight / total * share for share in positive]
                left, chosen = draw * total, None
                for action in range(count):
                    left -= positive[action]
                    if chosen is None and left < 0:
                        chosen = action
                chosen = count - 1 if chosen is None else chosen
            else:
                gains, chosen = [weight / count] * count, int(draw * count)
            if tree.round[node] in solver.tables.averages:
                self.table.add(record, 1, gains, 0.0, rounding_bits(self.random, record))
            return self.visit(first + chosen, traverser, boost)

        sampled = self.sampled(node, record, count, chances)
        self.skipped += sampled.count(0.0)
        self.pruned += sampled.count(None)
        values = [
            self.visit(first + action, traverser, boost / chance) if chance else 0.0
            for action, chance in enumerate(sampled)
        ]
        value = flat = 0.0
        for share, worth in zip(positive, values, strict=True):
            value += share * worth
            flat += worth
        value = value / total if total > 0 else flat / count
        gains = [
            0.0 if chance is None else self.weights[0] * (worth - value)
            for chance, worth in zip(sampled, values, strict=True)
        ]
        bits = rounding_bits(~self.random & MASK, record)
        self.table.add(record, 0, gains, self._floor(), bits)
        return value

    def sampled(self, node, record, count, chances):
        """By action, with which probability sampling goes on to it: 0 where not, None where pruned."""
        tree, solver = self.tree, self.solver
        first = int(tree.first_child[node])
        if solver.sampling == "external":
            unit = self.table.unit(record, 0)
            regrets = [number * unit for number in self.table.numbers(record, count)]
            last = tree.round[node] == tree.rules.num_rounds - 1
            return [
                None
                if regret < self.prune_below and not last and tree.num_actions[first + action]
                else 1.0
                for action, regret in enumerate(regrets)
            ]
        exploration, epsilon, beta, tau = solver._constants.tolist()
        if solver.sampling == "average-strategy":
            unit = self.table.unit(record, 1) / self.weights[1]
            sums = [number * unit for number in self.table.numbers(record + count, count)]
            visits = beta
            for number in sums:
                visits += number
            result = []
            for number in sums:
                chance = min(max(epsilon, (beta + tau * number) / visits), 1.0)
                result.append(chance if self.draw() < chance else 0.0)
            return result
        draw = self.draw()
        mixed = [exploration / count + (1.0 - exploration) * chance for chance in chances]
        for action in range(count):  # the last one takes what rounding leaves
            if action == count - 1 or draw - mixed[action] < 0:
                break
            draw -= mixed[action]
        return [mixed[action] if action == other else 0.0 for other in range(count)]

    def whole(self, node, reach):
        """Value for player 0 with every action visited; updates both players."""
        tree = self.tree
        kind, count = int(tree.kind[node]), int(tree.num_actions[node])
        if not count:
            return float(self.leaf(node))
        record = self.rows[self.deal][kind][tree.round[node]] + int(self.solver.tables.record[node])
        _, _, chances = self.strategy(record, count)
        values, value = [], 0.0
        for action, chance in enumerate(chances):
            below = list(reach)
            below[kind] *= chance
            if below == [0.0, 0.0]:
                values.append(0.0)
                continue
            values.append(self.whole(int(tree.first_child[node]) + action, below))
            if chance > 0:
                value += chance * values[action]
        bits = rounding_bits(self.random, record)
        if reach[1 - kind] > 0:
            weight = self.weights[0] * reach[1 - kind] * (1.0 if kind == 0 else -1.0)
            gains = [weight * (worth - value) for worth in values]
            self.table.add(record, 0, gains, self._floor(), bits)
        if reach[kind] > 0 and tree.round[node] in self.solver.tables.averages:
            weight = self.weights[1] * reach[kind]
            self.table.add(record, 1, [weight * chance for chance in chances], 0.0, ~bits & MASK)
        return value

    def _discount(self):
        solver, discounting = self.solver, self.solver.discounting
        if (
            solver.scheme.name != "dcfr"
            or self.done % discounting.every
            or self.done > discounting.until
        ):
            return
        factors = solver.scheme.weights(self.done // discounting.every)
        random = seeded(solver.seed, self.done, 3)
        for index, buckets in enumerate(solver.tables.num_buckets):
            for row in solver.tables.row_start(index, np.arange(buckets)).tolist():
                for node in np.flatnonzero((self.tree.round == index) & (self.tree.num_actions > 0)):
                    count, record = (
                        int(self.tree.num_actions[node]),
                        row + int(solver.tables.record[node]),
                    )
                    unit = self.table.unit(record, 0)
                    gains = [
                        ((factors.positive if number > 0 else factors.negative) - 1.0) * (number * unit)
                        for number in self.table.numbers(record, count)
                    ]
                    self.table.add(record, 0, gains, -math.inf, rounding_bits(random, record))

"""Plain twins of the sampled solver: a recursion over dictionaries, random streams, and all outcomes of
them in turn.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, MutableMapping

import numpy as np
from nashfold.solver.tabular.game import CHANCE, TERMINAL, TabularGame

MASK = (1 << 64) - 1


class Stream:
    """The random numbers of one walk, as the kernels draw them."""

    def __init__(self, seed: int, iteration: int, traverser: int):
        state = (seed * 0xD1342543DE82EF95 + iteration * 4 + traverser) & MASK
        state = state * 0x9E3779B97F4A7C15 & MASK
        state = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & MASK
        self.state = (state ^ state >> 27) * 0x94D049BB133111EB & MASK

    def uniform(self) -> float:
        self.state = self.state + 0x9E3779B97F4A7C15 & MASK
        z = self.state
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & MASK
        return ((z ^ z >> 31) >> 11) / (1 << 53)

    def chance(self, odds: list[float]) -> int:
        """Only uniform odds: the alias method has a test of its own."""
        np.testing.assert_allclose(odds, 1 / len(odds))
        return int(self.uniform() * len(odds))

    def by_weight(self, weights: list[float]) -> int:
        """Weights that add up to anything; uniform where they are zero."""
        draw, total = self.uniform(), sum(weights, 0.0)
        return self._first(draw * total, weights) if total else int(draw * len(weights))

    def by_probability(self, probabilities: list[float]) -> int:
        return self._first(self.uniform(), probabilities)

    def _first(self, draw: float, weights: list[float]) -> int:
        passed = 0.0
        for place, weight in enumerate(weights):
            passed += weight
            if draw < passed:
                return place
        return len(weights) - 1

    def coin(self, probability: float) -> bool:
        return self.uniform() < probability


class Script:
    """Draws that follow a list, and then take the first outcome that can be; `probability` is that of all."""

    def __init__(self, path: list[int]):
        self.path, self.length = path, 0
        self.options: list[list[float]] = []
        self.probability = 1.0

    def by_probability(self, probabilities: list[float]) -> int:
        assert abs(sum(probabilities) - 1) < 1e-12
        if self.length == len(self.path):
            self.path.append(next(k for k, p in enumerate(probabilities) if p > 0))
        choice = self.path[self.length]
        self.length += 1
        self.options.append(probabilities)
        self.probability *= probabilities[choice]
        return choice

    chance = by_probability

    def by_weight(self, weights: list[float]) -> int:
        total = sum(weights)
        return self.by_probability([(w / total if total else 1 / len(weights)) for w in weights])

    def coin(self, probability: float) -> bool:
        return self.by_probability([probability, 1 - probability]) == 0


def all_outcomes(walk: Callable[[Script], None]) -> Iterator[float]:
    """Call the walk once with each outcome of its draws; the probabilities of these outcomes."""
    path: list[int] = []
    while True:
        script = Script(path)
        walk(script)
        yield script.probability
        while path:
            options = script.options[len(path) - 1]
            later = [k for k in range(path[-1] + 1, len(options)) if options[k] > 0]
            if later:
                path[-1] = later[0]
                break
            path.pop()
        else:
            return


class PlainSampler:
    """What `Sampled` does, one walk at a time. Tables are lists by infoset, baselines by what is seen
    and action.
    """

    def __init__(self, game: TabularGame, sampling: str, baseline: str | None = None, **numbers: float):
        self.game, self.sampling, self.baseline = game, sampling, baseline
        self.numbers = {"exploration": 0.6, "epsilon": 0.05, "tau": 1000.0, "beta": 1e6}
        self.numbers |= {"learning_rate": 0.5, **numbers}
        self.regret = [[0.0] * n for n in game.num_actions.tolist()]
        self.average = [[0.0] * n for n in game.num_actions.tolist()]
        self.baselines: MutableMapping[tuple, float] = defaultdict(float)
        self.last = game.last_sequence.tolist()
        self.kind, self.infoset = game.kind.tolist(), game.infoset.tolist()
        self.first, self.count = game.first_child.tolist(), game.num_children.tolist()
        self.utility, self.odds = game.utility.tolist(), game.probability.tolist()

    def walk(self, draws, traverser, gain=1.0, weight=1.0, floor=False):
        self.draws, self.traverser, self.gain, self.weight = draws, traverser, gain, weight
        self.floor, self.steps = floor, []
        self.visit(0, 1.0, 1.0, 1.0)
        for infoset, steps in self.steps:  # of chance sampling, which meets an infoset several times
            self.add(infoset, steps)

    def add(self, infoset, steps):
        for action, step in enumerate(steps):
            regret = self.regret[infoset][action] + step
            self.regret[infoset][action] = max(regret, 0.0) if self.floor else regret

    def outcomes(self, node, reach=1.0):
        """Nodes behind a chance node and the chance nodes that follow it, with their odds."""
        if self.kind[node] != CHANCE:
            return [(node, reach)]
        children = range(self.first[node], self.first[node] + self.count[node])
        return [found for child in children for found in self.outcomes(child, reach * self.odds[child])]

    def view(self, node):
        """What the traverser sees: words that are the same where he cannot tell nodes apart."""
        kind = self.kind[node]
        if kind == self.traverser:
            return "mine", self.infoset[node]
        if kind in (CHANCE, TERMINAL):
            return ("chance", self.last[self.traverser][node]) if kind == CHANCE else ("end",)
        children = range(self.first[node], self.first[node] + self.count[node])
        return "other", self.last[self.traverser][node], tuple(self.view(child) for child in children)

    def key(self, node, action):
        if self.baseline == "history":
            return node, action
        return (self.traverser, self.view(node), action) if self.kind[node] != CHANCE else None

    def b(self, key):
        return self.baselines[key] if self.baseline and key else 0.0

    def learn(self, key, value):
        if self.baseline and key:
            old = self.b(key)
            self.baselines[key] = old + self.numbers["learning_rate"] * (value - old)

    def through(self, node, shares, drawn, value):
        """Value of a node where one action was drawn by its own shares."""
        keys = [self.key(node, action) for action in range(len(shares))]
        if not self.baseline or keys[0] is None:
            return value
        mean = 0.0
        for share, key in zip(shares, keys, strict=True):
            mean += share * self.b(key)
        result = mean + (value - self.b(keys[drawn]))
        self.learn(keys[drawn], value)
        return result

    def visit(self, node, tried, own, other):
        kind, full = self.kind[node], self.sampling == "chance"
        if kind == TERMINAL:
            return self.utility[node]
        if kind == CHANCE:
            found = self.outcomes(node)
            drawn = self.draws.chance([reach for _, reach in found])
            value = self.visit(found[drawn][0], tried, own, other)
            return self.through(node, [reach for _, reach in found], drawn, value)
        infoset, first, count = self.infoset[node], self.first[node], self.count[node]
        positive = [max(r, 0.0) for r in self.regret[infoset]]
        total = sum(positive, 0.0)
        shares = [(p / total if total else 1 / count) for p in positive]
        mine, average = kind == self.traverser, self.average[infoset]
        if mine == full:
            weight = self.weight * own if full else self.weight / tried
            for action in range(count):
                average[action] += weight / total * positive[action] if total else weight / count
        if not mine and not full:
            drawn = self.draws.by_weight(positive)
            return self.through(node, shares, drawn, self.visit(first + drawn, tried, own, other))
        drawn_with = [1.0] * count
        if mine and self.sampling == "outcome":
            rate = self.numbers["exploration"]
            odds = [rate / count + (1.0 - rate) * share for share in shares]
            chosen = self.draws.by_probability(odds)
            drawn_with = [odds[a] if a == chosen else 0.0 for a in range(count)]
        elif mine and self.sampling == "average-strategy":
            epsilon, tau, beta = (self.numbers[name] for name in ("epsilon", "tau", "beta"))
            profile = sum(average, 0.0)
            for action in reversed(range(count)):
                share = min(max((beta + tau * average[action]) / (beta + profile), epsilon), 1.0)
                drawn_with[action] = share if self.draws.coin(share) else 0.0
        values = [0.0] * count
        for action, odds in enumerate(drawn_with):
            if odds:
                below = (
                    (tried * odds, own * shares[action], other)
                    if mine
                    else (tried, own, other * shares[action])
                )
                value = self.visit(first + action, *below)
                key = self.key(node, action)
                values[action] = (
                    self.b(key) + (value - self.b(key)) / odds if self.baseline else value / odds
                )
                self.learn(key, value)
        for action, odds in enumerate(drawn_with):
            if not odds:
                values[action] = self.b(self.key(node, action))
        value = 0.0
        for share, found in zip(shares, values, strict=True):
            value += share * found
        if mine:
            scale = (1.0 if self.traverser == 0 else -1.0) * self.gain * other / tried
            steps = [scale * (found - value) for found in values]
            if full:
                self.steps.append((infoset, steps))
            else:
                self.add(infoset, steps)
        return value

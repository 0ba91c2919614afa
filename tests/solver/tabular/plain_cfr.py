"""Plain twins: CFR and best responses by recursion over OpenSpiel's states, with the papers' own equations.

Nothing is shared with the solvers. Information sets are dictionaries by (player, text).
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np


class PlainCFR:
    """Any scheme, in the recurrences of its paper: what is discounted is what stood before."""

    def __init__(self, game, scheme, alternating=True, horizon=None):
        self.game, self.scheme, self.alternating, self.horizon = game, scheme, alternating, horizon
        self.iteration = 0
        self.size, self.strategy = {}, {}
        self._survey(game.new_initial_state())
        zeros = lambda: {key: np.zeros(n) for key, n in self.size.items()}  # noqa: E731
        self.regret, self.before, self.average = zeros(), zeros(), zeros()
        self.sums = {key: np.zeros(2) for key in self.size}

    def _survey(self, state):
        if state.is_terminal():
            return
        if not state.is_chance_node():
            player = state.current_player()
            key = player, state.information_state_string(player)
            self.size[key] = len(state.legal_actions())
            self.strategy[key] = np.full(self.size[key], 1 / self.size[key])
        for action in state.legal_actions():
            self._survey(state.child(action))

    def run(self, iterations):
        for _ in range(iterations):
            self.iteration += 1
            for players in ((0,), (1,)) if self.alternating else ((0, 1),):
                gains = defaultdict(lambda: 0.0)
                own_reach = {}
                self._walk(self.game.new_initial_state(), np.ones(3), gains, own_reach)
                for key in self.size:
                    if key[0] in players:
                        self._update(key, gains[key], own_reach[key])

    def _walk(self, state, reach, gains, own_reach):
        """Utilities of both players; gains [action] of every information set on the way."""
        if state.is_terminal():
            return np.array(state.returns())
        if state.is_chance_node():
            total = np.zeros(2)
            for action, odds in state.chance_outcomes():
                lower = reach * (1, 1, odds)
                total = total + odds * self._walk(state.child(action), lower, gains, own_reach)
            return total
        player = state.current_player()
        key = player, state.information_state_string(player)
        strategy = self.strategy[key]
        below = []
        for probability, action in zip(strategy, state.legal_actions(), strict=True):
            lower = reach.copy()
            lower[player] *= probability
            below.append(self._walk(state.child(action), lower, gains, own_reach))
        value = strategy @ np.array(below)
        others = reach[1 - player] * reach[2]
        gains[key] = gains[key] + others * (np.array(below)[:, player] - value[player])
        own_reach[key] = reach[player]
        return value

    def _update(self, key, r, own_reach):
        t, old = self.iteration, self.regret[key]

        def d(time, exponent):
            return 0.0 if time == 0 else time**exponent / (time**exponent + 1)

        def plus(x):
            return np.maximum(x, 0.0)

        weight, prediction, scheme = 1.0, None, self.scheme
        if scheme == "cfr":
            new, gamma = old + r, 0
        elif scheme == "cfr+":
            new, gamma = plus(old + r), 1
        elif scheme == "lcfr":
            new, gamma = old + t * r, 1
        elif scheme in ("dcfr", "dcfr later"):
            time = t if scheme == "dcfr later" else t - 1
            new, gamma = old * np.where(old > 0, d(time, 1.5), d(time, 0)) + r, 2
        elif scheme == "hs-dcfr":
            s = (t - 1) / self.horizon
            new = old * np.where(old > 0, d(t - 1, 1 + 3 * s), d(t - 1, -1 - 2 * s)) + r
            gamma = 30 - 5 * s
        elif scheme == "pdcfr+":
            new, gamma, prediction = plus(old * d(t - 1, 2.3) + r), 5, r
        elif scheme == "apdcfr+":
            weight = 20 * t**1.5 / (500 + t**1.5)
            new, gamma, prediction = plus(old + weight * r), 2.5, r
        else:  # pcfr+, apcfr+, sapcfr+, hs-pcfr+
            new, gamma, prediction = plus(old + r), 2, r
            if scheme == "hs-pcfr+":
                gamma = 30 - 5 * (t - 1) / self.horizon
        if prediction is not None:
            self.sums[key] += ((r - self.before[key]) ** 2).sum(), ((new - old) ** 2).sum()
        self.before[key], self.regret[key] = r, new
        self.average[key] = self.average[key] * ((t - 1) / t) ** gamma + own_reach * self.strategy[key]
        explicit = new
        if prediction is not None:
            a = {"sapcfr+": 2.0}.get(scheme, 0.0)
            if scheme in ("apcfr+", "apdcfr+") and self.sums[key][0] > 0:
                up, low = self.sums[key]
                limit = 5 if scheme == "apcfr+" else 9
                a = min(np.sqrt(up / low), limit) if low > 0 else limit
            if scheme == "pdcfr+":
                explicit = new * d(t, 2.3) + r
            elif scheme == "apdcfr+":
                later = 20 * (t + 1) ** 1.5 / (500 + (t + 1) ** 1.5)
                explicit = later * new + r / (1 + a)
            else:
                explicit = new + r / (1 + a)
        positive = plus(explicit)
        total = positive.sum()
        size = len(positive)
        self.strategy[key] = positive / total if total > 0 else np.full(size, 1 / size)

    def by_sequence(self, game, rows):
        """rows (by key) as a vector over the sequences of a TabularGame."""
        found = np.ones(game.num_sequences)
        for infoset, text in enumerate(game.infoset_text):
            first = game.first_sequence[infoset]
            part = slice(first, first + game.num_actions[infoset])
            found[part] = rows[int(game.infoset_player[infoset]), text]
        return found

    def average_policy(self, game):
        rows = {
            key: row / row.sum() if row.sum() > 0 else np.full(len(row), 1 / len(row))
            for key, row in self.average.items()
        }
        return self.by_sequence(game, rows)


def plain_value(state, policy):
    """Expected utility of player 0; policy: probability by (player, text) and place of the action."""
    if state.is_terminal():
        return state.returns()[0]
    if state.is_chance_node():
        return sum(odds * plain_value(state.child(a), policy) for a, odds in state.chance_outcomes())
    player = state.current_player()
    row = policy[player, state.information_state_string(player)]
    return sum(
        p * plain_value(state.child(a), policy) for p, a in zip(row, state.legal_actions(), strict=True)
    )


def plain_best_response(game, policy, responder):
    """Value of a best response: information sets decided from the longest own line to the shortest."""
    members, lengths = defaultdict(list), {}

    def collect(state, reach, own):
        if state.is_terminal():
            return
        if state.is_chance_node():
            for action, odds in state.chance_outcomes():
                collect(state.child(action), reach * odds, own)
            return
        player = state.current_player()
        key = player, state.information_state_string(player)
        if player == responder:
            members[key].append((state.clone(), reach))
            lengths[key] = own
        for place, action in enumerate(state.legal_actions()):
            factor = 1.0 if player == responder else policy[key][place]
            collect(state.child(action), reach * factor, own + (player == responder))

    collect(game.new_initial_state(), 1.0, 0)
    choice = {}

    def value(state):
        if state.is_terminal():
            return state.returns()[responder]
        if state.is_chance_node():
            return sum(odds * value(state.child(a)) for a, odds in state.chance_outcomes())
        player = state.current_player()
        key = player, state.information_state_string(player)
        actions = state.legal_actions()
        if player == responder:
            return value(state.child(actions[choice[key]]))
        return sum(p * value(state.child(a)) for p, a in zip(policy[key], actions, strict=True))

    for key in sorted(members, key=lambda key: -lengths[key]):
        actions = members[key][0][0].legal_actions()
        worth = [sum(reach * value(s.child(a)) for s, reach in members[key]) for a in actions]
        choice[key] = int(np.argmax(worth))
    return value(game.new_initial_state())

"""Best responses and expected values by enumerating every board: slow, plain, and on its own.

Shares nothing with the solver: hands are ranked by eval7, every real board is visited, no two suits or
boards are taken to be alike, and all numbers are float64. Only the rules of betting are the package's.

On one board all betting of a round is handled at once, by arrays [betting nodes, hands]: downwards the
probability that the other player's strategy reaches a node with each of his hands, upwards the
counterfactual value of the node for each hand of the player (sums over the other player's hands and the
boards to come, weighted by their probabilities but not by the player's own).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

import eval7
import numpy as np
from nashfold.game import Betting, Rules, format_cards

Board = tuple[tuple[int, ...], ...]  # the cards (0..51) dealt by round, each round's ascending
Strategy = Callable[[Betting, Board], np.ndarray]  # [num_hands, num_actions]; dead hands arbitrary


def best_response_value(rules: Rules, strategy: Strategy, player: int) -> float:
    """Value in mbb per hand of the exact best response of `player` to the other one's `strategy`."""
    return _Walk(rules, player, None, strategy).value()


def expected_value(rules: Rules, a: Strategy, b: Strategy, player: int) -> float:
    """Value in mbb per hand of strategy `a`, played by `player`, against `b`."""
    return _Walk(rules, player, a, b).value()


class _Round:
    """The betting nodes of one round, parents first: the states it can begin with, then what follows.

    Attributes:
        nodes: the betting at each node; a leaf is over or in a later round.
        children: for each decision node the range of its children, in the order of its actions.
        folds: the leaves where a player has folded.
        fold_chips: [folds, 1] what `player` gets there.
        exits: the other leaves: the states the next round begins with, or after the last one showdowns.
        exit_chips: [exits, 1] what the better hand gets there if it is a showdown.
    """

    def __init__(self, starts: list[Betting], index: int, player: int) -> None:
        self.nodes = list(starts)
        self.children: dict[int, slice] = {}
        for i, betting in enumerate(self.nodes):  # grows while it runs
            if betting.round == index and not betting.is_over:
                first = len(self.nodes)
                self.nodes += [betting.play(action) for action in betting.legal_actions()]
                self.children[i] = slice(first, len(self.nodes))
        leaves = [i for i in range(len(self.nodes)) if i not in self.children]
        self.folds = [i for i in leaves if self.nodes[i].folded is not None]
        self.exits = [i for i in leaves if self.nodes[i].folded is None]
        ends = [self.nodes[i] for i in self.folds]
        chips = [-end.at_stake if end.folded == player else end.at_stake for end in ends]
        self.fold_chips = np.array(chips, dtype=float)[:, None]
        self.exit_chips = np.array([self.nodes[i].at_stake for i in self.exits], dtype=float)[:, None]


class _Walk:
    """One walk over all boards: `player` with `own` (None: best response) against `other`."""

    def __init__(self, rules: Rules, player: int, own: Strategy | None, other: Strategy) -> None:
        assert rules.num_hole_cards == 2
        assert 5 <= 2 + sum(rules.board_cards) <= 7
        self.rules, self.player, self.own, self.other = rules, player, own, other
        self.cards = [int(card) for card in rules.deck.cards]
        self.eval7_cards = {card: eval7.Card(format_cards([card])) for card in self.cards}
        self.hands = rules.deck.cards[rules.deck.hand_cards]
        self.holds = (self.hands[:, :, None] == np.arange(52)).any(axis=1)  # [hands, 52]
        self.apart = np.ones((len(self.hands), len(self.hands)))  # 1 where two hands share no card
        self.apart[(self.holds[:, None] & self.holds).any(axis=2)] = 0
        self.rounds: list[_Round] = []
        starts = [Betting.start(rules)]
        for index in range(rules.num_rounds):
            self.rounds.append(_Round(starts, index, player))
            starts = [self.rounds[-1].nodes[i] for i in self.rounds[-1].exits]

    def value(self) -> float:
        """Value of the game for the player in mbb per hand."""
        chips = self.deal((), np.ones((1, len(self.hands)))).sum() / self.apart.sum()
        return float(1000 * chips / self.rules.big_blind)

    def deal(self, board: Board, reach: np.ndarray) -> np.ndarray:
        """Values [starts, hands] of the next round before its cards are dealt, given `reach` alike."""
        left = [card for card in self.cards if card not in sum(board, ())]
        count = self.rules.board_cards[len(board)]
        values = np.zeros(reach.shape)
        for cards in combinations(left, count):
            self.add_round((*board, cards), reach, values)
        return values / comb(len(left) - 4, count)  # the boards that any two given hands leave

    def add_round(self, board: Board, reach_full: np.ndarray, values_full: np.ndarray) -> None:
        """Add the values of the states that the round on this board begins with to `values_full`."""
        index = len(board) - 1
        tree = self.rounds[index]
        live = np.flatnonzero(~self.holds[:, list(sum(board, ()))].any(axis=1))
        apart = self.apart[np.ix_(live, live)]

        reach = np.empty((len(tree.nodes), len(live)))
        reach[: len(reach_full)] = reach_full[:, live]
        plays: dict[int, np.ndarray] = {}  # node -> [actions, live hands]
        for i, below in tree.children.items():
            mine = tree.nodes[i].to_act == self.player
            strategy = self.own if mine else self.other
            if strategy is not None:
                table = strategy(tree.nodes[i], board)
                assert table.shape == (len(self.hands), below.stop - below.start)
                plays[i] = table[live].T
            reach[below] = reach[i] if mine else reach[i] * plays[i]

        values = np.zeros(reach.shape)
        values[tree.folds] = tree.fold_chips * (reach[tree.folds] @ apart)
        if index == self.rules.num_rounds - 1:
            ranks = self.ranks(board, live)
            wins = np.sign(ranks[:, None] - ranks) * apart  # [player's hand, other's hand]
            values[tree.exits] = tree.exit_chips * (reach[tree.exits] @ wins.T)
        else:
            reach_exits = np.zeros((len(tree.exits), len(self.hands)))
            reach_exits[:, live] = reach[tree.exits]
            values[tree.exits] = self.deal(board, reach_exits)[:, live]
        for i, below in reversed(tree.children.items()):
            if tree.nodes[i].to_act != self.player:
                values[i] = values[below].sum(axis=0)
            elif self.own is None:
                values[i] = values[below].max(axis=0)
            else:
                values[i] = (values[below] * plays[i]).sum(axis=0)
        values_full[:, live] += values[: len(reach_full)]

    def ranks(self, board: Board, live: np.ndarray) -> np.ndarray:
        """Strength of each live hand on a complete board by eval7; higher wins."""
        of = self.eval7_cards
        shared = [of[card] for card in sum(board, ())]
        hands = self.hands[live].tolist()
        return np.array([eval7.evaluate([of[a], of[b], *shared]) for a, b in hands], dtype=float)

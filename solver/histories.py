"""Histories of the real game in the betting tree of a menu, and the menu's actions in the real game.

A real history is followed action by action. Folds, checks and calls are what they are. A bet or raise is
compared, as a share of the pot, with the bets that the tree has at its own node (`abstraction.translation`);
checking or calling counts as a bet of size 0 where the other player then still acts in the round. Going
all-in is all-in where the tree has it. Where the tree has no bet, it is a check or call.

The tree may so be ahead: its hand is over, because a bet was taken for all-in and called, or its round is
closed. Then the real actions change nothing, and the strategy checks and calls, until the real hand is there.

A raise is never taken for less than the tree's smallest one, so many small raises in a row make the tree's
pot grow faster than the real one: after five minimum raises on both sides a tree of pot-sized raises is
all-in, and the strategy answers a small real raise as it would an all-in. Menus with "min" among their later
raises follow such lines. A best response in the real game sees this weakness.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ..abstraction.translation import DETERMINISTIC, check_translation, translate
from ..game.bet_sizes import BetSize, wanted_bet
from ..game.betting import CALL, CHECK, Action, Betting
from .betting_tree import BettingTree

#: Probability of each action at a node, in the order of the tree: the strategy with given cards.
NodeStrategy = Callable[[int], list[float]]


class Histories:
    """Follows real histories in a betting tree.

    Args:
        tree: the betting tree of a menu.
        translation: one of `abstraction.translation.TRANSLATIONS`.
    """

    def __init__(self, tree: BettingTree, translation: str = "pseudo-harmonic"):
        self.tree, self.translation = tree, check_translation(translation)
        self.is_deterministic = DETERMINISTIC[translation] == translation
        self._sizes: dict[int, list[BetSize | None]] = {}
        self._known_bets: dict[int, tuple[list[int], list[Fraction], int | None]] = {}

    def is_ahead(self, node: int, betting: Betting) -> bool:
        """Whether the tree's hand is over, or its round closed, while the real one goes on."""
        return not self.tree.num_actions[node] or bool(self.tree.round[node] > betting.round)

    def real_actions(self, node: int, betting: Betting) -> list[Action]:
        """What each action of a node is in a real state: the sizes of the menu, clipped to what is legal.

        Where no raise is legal it is a call, and where nothing is owed folding is checking and the other way
        round. A tree that is ahead has the one action of checking or calling.
        """
        passive = betting.passive_actions()
        if self.is_ahead(node, betting):
            return passive[-1:]
        bounds = betting.raise_bounds()
        found = []
        for action, size in zip(self.tree.actions[node], self._node_sizes(node), strict=True):
            if size is None:
                found.append(passive[0] if action.kind == "fold" else passive[-1])
            elif bounds is None:
                found.append(passive[-1])
            else:
                # A multiple of a previous bet has none where that bet was taken for a check.
                wanted = wanted_bet(size, betting)
                amount = bounds[0] if wanted is None else min(wanted, bounds[1])
                found.append(betting.raise_action(amount))
        return found

    def follow(self, node: int, betting: Betting, action: Action) -> dict[int, float]:
        """The nodes that a real action leads to from a node, with probabilities.

        Args:
            node: where the history before the action is in the tree.
            betting: the real state before the action.
            action: the real action; not a fold.
        """
        if self.is_ahead(node, betting):
            return {node: 1.0}
        children, sizes, all_in = self._bets(node)
        passive = int(self.tree.first_child[node]) + self.tree.actions[node].index(self._passive(node))
        if not action.amount or not children:
            return {passive: 1.0}
        player, stacks = betting.to_act, self.tree.rules.stacks
        assert player is not None
        total = betting.round_start[player] + action.amount
        if all_in is not None and stacks is not None and total >= min(stacks):
            return {all_in: 1.0}
        found = translate(pot_share(betting.spent, player, total), sizes, self.translation)
        return {children[index]: probability for index, probability in found.items()}

    def own(self, node: int, betting: Betting, action: Action) -> dict[int, list[int]]:
        """The nodes that a player's own real action may have led to, with the actions behind it.

        Those that `real_actions` turns into it; {} where it is none of them.
        """
        if self.is_ahead(node, betting):
            return {node: [0]}
        first, found = int(self.tree.first_child[node]), {}
        behind = [i for i, real in enumerate(self.real_actions(node, betting)) if real == action]
        if action.amount:
            return {first + index: [index] for index in behind}
        if behind:
            (child,) = self.follow(node, betting, action)
            found[child] = behind
        return found

    def step(
        self,
        node: int,
        betting: Betting,
        action: Action,
        is_own: bool,
        chances: NodeStrategy | None = None,
    ) -> dict[int, float]:
        """The nodes after a real action, with weights.

        A player's own action is taken for those of the tree that become it, weighted by their probability
        where `chances` says it (else all alike); if there are none, it is translated like the other player's.
        """
        if not is_own or not (behind := self.own(node, betting, action)):
            found = self.follow(node, betting, action)
        elif chances is None or self.is_ahead(node, betting):
            found = dict.fromkeys(behind, 1.0)
        else:
            row = chances(node)
            found = {child: sum(row[index] for index in indices) for child, indices in behind.items()}
        return found

    def node(self, betting: Betting, player: int) -> int:
        """The one node of a real state for a deterministic translation, seen by a player."""
        state, node = Betting.start(self.tree.rules), 0
        for action in betting.actions:
            node = self.single(node, state, action, state.to_act == player)
            state = state.play(action)
        return node

    def single(self, node: int, betting: Betting, action: Action, is_own: bool) -> int:
        """The one node after a real action for a deterministic translation.

        Of several own actions that become the real one it is the one that translation takes, or the first.
        """
        found = self.step(node, betting, action, is_own)
        if len(found) > 1:
            (taken,) = self.follow(node, betting, action)
            return taken if taken in found else min(found)
        return next(iter(found))

    def weights(self, betting: Betting, player: int, chances: NodeStrategy) -> dict[int, float]:
        """The nodes that a real state may be at for a player with certain cards: probabilities by node.

        The probability that translation leads there, times the strategy's own probability of the player's
        actions on the way (Bayes' rule). An action of his own that the strategy never takes at any of the
        nodes says nothing about them.

        Args:
            betting: the real state.
            player: the player, whose own actions are known to be his strategy's.
            chances: his strategy with his cards.
        """
        if self.is_deterministic:
            return {self.node(betting, player): 1.0}
        state, weights = Betting.start(self.tree.rules), {0: 1.0}
        for action in betting.actions:
            is_own = state.to_act == player
            after = self._after(weights, state, action, is_own, chances)
            if not after:
                after = self._after(weights, state, action, is_own, None)
            total = sum(after.values())
            weights = {node: weight / total for node, weight in after.items()}
            state = state.play(action)
        return weights

    def _after(
        self,
        weights: dict[int, float],
        state: Betting,
        action: Action,
        is_own: bool,
        chances: NodeStrategy | None,
    ) -> dict[int, float]:
        found: dict[int, float] = {}
        for node, weight in weights.items():
            for child, chance in self.step(node, state, action, is_own, chances).items():
                if weight * chance > 0:
                    found[child] = found.get(child, 0.0) + weight * chance
        return found

    def _passive(self, node: int) -> Action:
        return next(action for action in self.tree.actions[node] if action in (CHECK, CALL))

    def _node_sizes(self, node: int) -> list[BetSize | None]:
        """By action of a node, the size in the menu behind a bet or raise, else None."""
        if node not in self._sizes:
            sizes = self.tree.menu.sizes(self.tree.state(node))
            self._sizes[node] = [sizes.get(action.amount) for action in self.tree.actions[node]]
        return self._sizes[node]

    def _bets(self, node: int) -> tuple[list[int], list[Fraction], int | None]:
        """What a bet at a node may be taken for: children and their sizes, and the all-in among them.

        Nothing where the node has no bet. The first is checking or calling if the round then goes on.
        """
        if node in self._known_bets:
            return self._known_bets[node]
        tree, first, player = self.tree, int(self.tree.first_child[node]), int(self.tree.kind[node])
        spent = (int(tree.spent[node, 0]), int(tree.spent[node, 1]))
        children = [first + i for i, action in enumerate(tree.actions[node]) if action.amount]
        totals = [int(tree.spent[child, player]) for child in children]
        sizes = [pot_share(spent, player, total) for total in totals]
        enough = min(tree.rules.stacks) if tree.rules.stacks else max(totals, default=0) + 1
        all_in = next((c for c, total in zip(children, totals, strict=True) if total >= enough), None)
        passive = first + tree.actions[node].index(self._passive(node))
        if children and tree.num_actions[passive] and tree.round[passive] == tree.round[node]:
            children, sizes = [passive, *children], [Fraction(0), *sizes]
        self._known_bets[node] = children, sizes, all_in
        return self._known_bets[node]


def table_moves(histories: Histories, tree: BettingTree) -> list[tuple[np.ndarray, np.ndarray]]:
    """By round of a tree, which table columns of a strategy on the histories' tree make up its own.

    Returns int64 [move] twice: slots of the histories' tree (-1: probability one), and slots of `tree`, which
    get the sum of theirs.

    Args:
        histories: of the strategy's tree, with a deterministic translation.
        tree: another tree of the same rules, with all bets that the strategy may make.
    """
    moves: list[tuple[list[int], list[int]]] = [([], []) for _ in tree.num_slots]
    # Where a history is depends on who sees it: his own bets are not translated.
    pending = [(0, Betting.start(tree.rules), (0, 0))]
    while pending:
        node, state, places = pending.pop()
        player, first = int(tree.kind[node]), int(tree.first_child[node])
        place, slot = places[player], int(tree.action_slot[node])
        is_ahead = histories.is_ahead(place, state)
        source = int(histories.tree.action_slot[place])
        sources, targets = moves[state.round]
        for index, action in enumerate(histories.real_actions(place, state)):
            sources.append(-1 if is_ahead else source + index)
            targets.append(slot + tree.child(node, action) - first)
        for child, action in enumerate(tree.actions[node], first):
            if tree.num_actions[child]:
                after = [histories.single(places[p], state, action, p == player) for p in (0, 1)]
                pending.append((child, state.play(action), (after[0], after[1])))
    return [(np.array(sources, np.int64), np.array(targets, np.int64)) for sources, targets in moves]


def pot_share(spent: tuple[int, int], player: int, total: int) -> Fraction:
    """Size of a bet: chips on top of the previous one, by the pot after calling that.

    Args:
        spent: chips of both players before the bet.
        player: who bets.
        total: his chips over the whole hand after it.
    """
    highest = max(spent)
    return Fraction(total - highest, highest + spent[1 - player])

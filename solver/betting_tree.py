"""The public betting tree as flat arrays, without cards.

Nodes are numbered so that the children of a node stand side by side and a betting round that follows
one history stands together: tables in this order keep what one deal touches close. Closing a round
leads straight to the first node of the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..abstraction.bets import FULL, BetMenu
from ..game.betting import Action, Betting
from ..game.rules import Rules
from .tree_size import tree_size

FOLD, SHOWDOWN = 2, 3  # values of `kind` at the leaves; 0 and 1 are the player to act
MAX_NODES = 5_000_000  # above this, building the tree alone takes minutes


@dataclass(frozen=True, eq=False)
class BettingTree:
    """Arrays over the nodes of a betting tree. Node 0 is the first decision.

    Attributes:
        rules: the game.
        menu: the bets on offer.
        kind: int8 [node]: the player to act (0 or 1), FOLD or SHOWDOWN.
        round: int8 [node]: betting round; of a leaf, the round in which the betting ended.
        first_child: int32 [node]: the child after the first action; 0 at leaves.
        num_actions: int32 [node]: 0 at leaves.
        parent: int32 [node]: -1 at the root.
        spent: int64 [node, 2]: chips that each player has put in.
        folded: int8 [node]: the player who folded, -1 where none did.
        action_slot: int32 [node]: place of the first action among the actions of the round.
        num_slots: by round, the number of (decision node, action) pairs: the length of a table row.
        actions: by node, the actions on offer in order; empty at leaves.
    """

    rules: Rules
    menu: BetMenu
    kind: np.ndarray
    round: np.ndarray
    first_child: np.ndarray
    num_actions: np.ndarray
    parent: np.ndarray
    spent: np.ndarray
    folded: np.ndarray
    action_slot: np.ndarray
    num_slots: tuple[int, ...]
    actions: tuple[tuple[Action, ...], ...]

    def __len__(self) -> int:
        return len(self.kind)

    @property
    def num_decisions(self) -> tuple[int, ...]:
        """Number of decision nodes by round."""
        counts = np.bincount(self.round[self.num_actions > 0], minlength=self.rules.num_rounds)
        return tuple(counts.tolist())

    def child(self, node: int, action: Action) -> int:
        """The node after an action; ValueError if the tree has no such action there."""
        try:
            return int(self.first_child[node]) + self.actions[node].index(action)
        except ValueError:
            legal = ", ".join(map(str, self.actions[node]))
            raise ValueError(
                f"the betting tree has no {action} here, only {legal or 'nothing'}"
            ) from None

    def find(self, betting: Betting) -> int:
        """The node of a state of the betting; ValueError if it is not in the tree."""
        node = 0
        for action in betting.actions:
            node = self.child(node, action)
        return node

    def state(self, node: int) -> Betting:
        """The state of the betting at a node."""
        line = []
        while node:
            above = int(self.parent[node])
            line.append(self.actions[above][node - int(self.first_child[above])])
            node = above
        betting = Betting.start(self.rules)
        for action in reversed(line):
            betting = betting.play(action)
        return betting


def betting_tree(rules: Rules, menu: BetMenu = FULL, max_nodes: int = MAX_NODES) -> BettingTree:
    """The betting tree with the bets of a menu: by default every legal action.

    Raises ValueError, before anything is made, if the tree has more than `max_nodes` nodes.
    """
    return _checked(rules, menu, max_nodes)


@cache  # behind a function whose default arguments are filled in: one game, one tree
def _checked(rules: Rules, menu: BetMenu, max_nodes: int) -> BettingTree:
    check_nodes(rules, menu, max_nodes)
    return _build(rules, menu)


def check_nodes(rules: Rules, menu: BetMenu = FULL, max_nodes: int = MAX_NODES) -> None:
    """ValueError, naming a menu to use, if a betting tree has more than `max_nodes` nodes; none is built."""
    # Trees of a menu are counted to the end, for the message; with every bet that may take ages.
    size = tree_size(rules, menu, most=max_nodes if menu.is_full else None)
    if size.nodes > max_nodes or not size.is_complete:
        more = "" if size.is_complete else "more than "
        bets = "every legal bet" if menu.is_full else f"the bets {menu}"
        raise ValueError(
            f"the betting tree of {rules.name} with {bets} has {more}{size.nodes:,} nodes, the limit is "
            f'{max_nodes:,}: use a menu of fewer bets, such as bets = "fcpa"'
        )


def _build(rules: Rules, menu: BetMenu) -> BettingTree:
    states = [Betting.start(rules)]
    if states[0].is_over:
        raise ValueError(f"in {rules.name} the blinds put a player all-in: there is nothing to decide")
    actions: list[tuple[Action, ...]] = [()]
    first_child, parent = [0], [-1]
    # Children are numbered together when their parent is expanded; the most recent node is expanded
    # first, so that a whole subtree is numbered before the next one begins.
    pending = [0]
    while pending:
        node = pending.pop()
        legal = tuple(menu.actions(states[node]))
        if not legal:
            continue
        children = [states[node].play(action) for action in legal]
        actions[node], first_child[node] = legal, len(states)
        for child in children:
            pending.append(len(states))
            states.append(child)
            actions.append(())
            first_child.append(0)
            parent.append(node)
    kind = [_kind(state) for state in states]
    round_of = np.array([state.round for state in states], np.int8)
    num_actions = np.array([len(legal) for legal in actions], np.int32)
    action_slot = np.zeros(len(states), np.int32)
    num_slots = [0] * rules.num_rounds
    pending = [0]
    while pending:  # depth first, a node before its children: what follows one history stands together
        node = pending.pop()
        action_slot[node] = num_slots[round_of[node]]
        num_slots[round_of[node]] += int(num_actions[node])
        pending += range(first_child[node], first_child[node] + len(actions[node]))
    return BettingTree(
        rules=rules,
        menu=menu,
        kind=np.array(kind, np.int8),
        round=round_of,
        first_child=np.array(first_child, np.int32),
        num_actions=num_actions,
        parent=np.array(parent, np.int32),
        spent=np.array([state.spent for state in states], np.int64),
        folded=np.array([-1 if s.folded is None else s.folded for s in states], np.int8),
        action_slot=action_slot,
        num_slots=tuple(num_slots),
        actions=tuple(actions),
    )


def _kind(state: Betting) -> int:
    if state.to_act is not None:
        return state.to_act
    return SHOWDOWN if state.folded is None else FOLD

"""The walk over the public tree: boards, with the betting of each round in rows of histories.

Down go the opponent's reach probabilities, up come the counterfactual values of one player's hands. The
walk recurses over boards only; the betting of a round on a board is one call of a compiled pass over
[hand, history] (`solver.rows`). Cards that a renaming of suits turns into each other, while it leaves
the board so far alone, are visited once; their values are added for each member of the orbit. This is
valid only while the strategies do not change under such renamings, which is checked.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..abstraction.boards import hands_alive, suit_permutations
from ..game.cards import Deck
from ..game.rules import Rules
from ..game.strength import board_strengths
from . import rows
from .betting_tree import FOLD, BettingTree
from .lanes import FLOATS, LANES
from .round_plan import BEST_RESPONSE, EVALUATE, RoundPlan, round_plans
from .strategy import Strategy


class Deal(NamedTuple):
    """Cards dealt to the board that stand for all that a renaming of suits makes of them."""

    cards: tuple[int, ...]  # card numbers, ascending
    orbit: int  # number of deals that they stand for
    group: np.ndarray  # suit permutations that leave the board and these cards alone


@lru_cache(maxsize=64)
def canonical_deals(
    deck: Deck, board: tuple[int, ...], count: int, group: tuple[int, ...]
) -> list[Deal]:
    """The ways to deal `count` cards to a board, up to a group of suit permutations that keeps it."""
    free = [card for card in range(deck.size) if card not in board]
    sets = np.array(list(combinations(free, count)), np.int64).reshape(comb(len(free), count), count)
    moved = suit_permutations(deck).cards
    base = deck.size ** np.arange(count)[::-1]
    codes = np.stack([np.sort(moved[g][sets], axis=1) @ base for g in group])
    smallest = codes.min(axis=0)
    own = np.sort(sets, axis=1) @ base
    representatives = np.flatnonzero(own == smallest)
    orbits = np.bincount(np.searchsorted(own[representatives], smallest))
    fixed = codes[:, representatives] == own[representatives]
    return [
        Deal(tuple(sets[row].tolist()), int(orbits[i]), np.array(group)[fixed[:, i]])
        for i, row in enumerate(representatives)
    ]


def check_walkable(rules: Rules) -> None:
    """ValueError unless the walk knows games of this kind."""
    if rules.num_hole_cards != 2 or rules.board_cards[0] != 0 or rules.num_rounds < 2:
        raise ValueError(f"{rules.name} is not a hold'em game: two hole cards, then boards")
    if not 3 <= rules.board_size(rules.num_rounds - 1) <= 5:
        raise ValueError(f"{rules.name} cannot be scored: hands need 3 to 5 community cards")


def layout(plan: RoundPlan, amounts: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays of a round's plan in the order of the passes' first arguments."""
    return (
        plan.block_program,
        plan.programs,
        plan.block_next,
        plan.next_lane,
        plan.block_leaf,
        amounts,
    )


class WalkPlan(Protocol):
    """What `Scratch` needs to know of a walk."""

    rules: Rules
    deck: Deck
    plans: list[RoundPlan]
    dtype: Any

    def enter(self, scratch: Scratch) -> None:
        """Write the reach that the walk begins with."""


class Walk:
    """Counterfactual values of one player's hands against a strategy.

    Args:
        player: whose hands are valued.
        opponent: the other player's strategy.
        own: the player's own strategy to evaluate; None for a best response.
        precision: "single" or "double", of the arrays below the first round.
        merge_suits: whether to visit suit-equivalent cards once; None: if the strategies allow it.

    Raises ValueError where the strategies are for other rules, or merging is asked for but not valid.
    """

    def __init__(
        self,
        player: int,
        opponent: Strategy,
        own: Strategy | None = None,
        precision: str = "double",
        merge_suits: bool | None = None,
    ):
        self.tree: BettingTree = opponent.tree
        self.rules, self.deck, self.player = self.tree.rules, self.tree.rules.deck, player
        if own is not None and own.rules != self.rules:
            raise ValueError(
                f"the strategies are for {self.rules.name} and {own.rules.name}: not the same"
            )
        if own is not None and own.tree is not opponent.tree:
            raise ValueError(
                "the strategies have different bets: put both on one tree (Strategy.on_tree)"
            )
        check_walkable(self.rules)
        self.opponent, self.own = opponent, own
        self.dtype = FLOATS[precision]
        invariant = all(s.abstraction.is_suit_invariant for s in (opponent, own) if s is not None)
        if merge_suits and not invariant:
            raise ValueError("suit-equivalent cards cannot be merged: the abstraction tells them apart")
        size = (
            len(suit_permutations(self.deck))
            if (invariant if merge_suits is None else merge_suits)
            else 1
        )
        self.group = tuple(range(size))
        sides: list[Strategy | None] = [opponent, opponent]
        sides[player] = own
        self.reachable = reachable_nodes(self.tree, sides)
        mode = BEST_RESPONSE if own is None else EVALUATE
        self.plans = round_plans(self.tree, player, mode, self.reachable)
        self.root = _Root(self)
        self._chances = [
            self._packed(opponent, r, "opponent_slots") for r in range(self.rules.num_rounds)
        ]
        self._own_chances = [
            self._packed(own, r, "own_slots") if own else np.zeros((1, 1, 1, LANES), self.dtype)
            for r in range(self.rules.num_rounds)
        ]

    def _packed(self, strategy: Strategy, index: int, slots: str) -> np.ndarray:
        plan = self.plans[index]
        return plan.chances(strategy.tables[index], getattr(plan, slots), self.dtype)

    def enter(self, scratch: Scratch) -> None:
        """Write the reach that the second round begins with."""
        blocks, lanes = np.divmod(self.root.next_lanes, LANES)
        scratch.reach_in[1][blocks, :, lanes] = self.root.next_reach

    def first_deals(self) -> list[Deal]:
        """The boards of the second round, up to suits where that is valid."""
        return canonical_deals(self.deck, (), self.rules.board_cards[1], self.group)

    def deal_values(self, deal: Deal, scratch: Scratch) -> np.ndarray:
        """double [lane, hand]: values of the second round's histories if this board is dealt.

        The probability of the deal is left out, and the board stands for its orbit only after
        `symmetrised`. Lane order: `root.next_nodes`.
        """
        out = scratch.values_in[1]
        out[:] = 0
        self._visit(1, (), [deal._replace(orbit=1)], 1.0, out, scratch)
        blocks, lanes = np.divmod(self.root.next_lanes, LANES)
        return out[blocks, :, lanes].astype(float)

    def symmetrised(self, values: np.ndarray) -> np.ndarray:
        """Values [..., hand] averaged over the suit permutations under which boards were merged."""
        hands = suit_permutations(self.deck).hands
        mean = np.zeros(values.shape)
        for permutation in self.group:
            mean += values[..., hands[permutation]]
        return mean / len(self.group)

    def _visit(
        self,
        index: int,
        board: tuple[int, ...],
        deals: list[Deal],
        chance: float,
        out: np.ndarray,
        scratch: Scratch,
    ) -> None:
        """Add the values of a round after each deal to out [block, hand, LANES].

        Each deal counts its orbit times `chance`. The boards of the last round are one call.
        """
        if scratch.stop.is_set():
            raise RuntimeError("the walk was stopped")
        boards = np.array([board + deal.cards for deal in deals], np.int64)
        weights = np.array([chance * deal.orbit for deal in deals])
        buckets = self.opponent.abstraction.rows(index, boards)
        own_buckets = buckets if self.own is None else self.own.abstraction.rows(index, boards)
        if index + 1 == self.rules.num_rounds:
            strength = board_strengths(boards, self.deck, scratch.strength[: len(deals)])
            hands, *sorted_hands = rows.sort_boards(strength, self.deck.hand_cards)
            rows.value_boards(
                0,
                self.plans[index].num_blocks,
                *layout(self.plans[index], scratch.amounts[index]),
                hands,
                *sorted_hands,
                np.take_along_axis(buckets, hands, axis=1),
                self._chances[index],
                np.take_along_axis(own_buckets, hands, axis=1),
                self._own_chances[index],
                *scratch.nothing_learnt,
                scratch.reach_in[index],
                weights,
                out,
                scratch.reach,
                scratch.values,
                scratch.by_card,
            )
            return
        for number, deal in enumerate(deals):
            self._go_on(
                index,
                board + deal.cards,
                deal.group,
                float(weights[number]),
                (buckets[number], own_buckets[number]),
                out,
                scratch,
            )

    def _go_on(
        self,
        index: int,
        board: tuple[int, ...],
        group: np.ndarray,
        weight: float,
        buckets: tuple[np.ndarray, np.ndarray],
        out: np.ndarray,
        scratch: Scratch,
    ) -> None:
        """Add weight times the values of a round before the last one on a board to out."""
        hands = np.flatnonzero(hands_alive(self.deck, np.array([board], np.int64)))
        opponents, own = (side[hands] for side in buckets)
        arrays = layout(self.plans[index], scratch.amounts[index])
        value_next = scratch.values_in[index + 1]
        rows.pass_down(
            0,
            self.plans[index].num_blocks,
            *arrays[:4],
            hands,
            opponents,
            self._chances[index],
            scratch.reach_in[index],
            scratch.reach_in[index + 1],
            scratch.reach,
        )
        value_next[:] = 0
        count = self.rules.board_cards[index + 1]
        # The two players' hands are dead too: each remaining deal is equally likely.
        chance = 1.0 / comb(self.deck.size - 4 - len(board), count)
        deals = canonical_deals(self.deck, tuple(sorted(board)), count, tuple(group.tolist()))
        self._visit(index + 1, board, deals, chance, value_next, scratch)
        if len(group) > 1:
            moved = suit_permutations(self.deck).hands
            value_next[:] = np.mean([value_next[:, moved[g]] for g in group], axis=0)
        rows.pass_up(
            0,
            self.plans[index].num_blocks,
            *arrays,
            hands,
            self.deck.hand_cards[hands],
            np.zeros(1, np.int64),  # no showdowns here
            opponents,
            self._chances[index],
            own,
            self._own_chances[index],
            *scratch.nothing_learnt,
            scratch.reach_in[index],
            value_next,
            weight,
            out,
            scratch.reach,
            scratch.values,
            scratch.by_card,
        )


class Scratch:
    """Arrays that one thread's walk works in, with the reach that it begins with.

    Attributes:
        stop: set by another thread to end the walk with a RuntimeError.
        reach_in, values_in: by round, [block, hand, LANES].
        reach, values: [slot, hand, LANES].
        by_card: [2, card + 1, LANES]; strength: uint16 [deal of the last round, hand].
        amounts: the plans' amounts in the walk's precision.
        nothing_learnt: what `rows.pass_up` is given where nothing is learnt: gains, visits, scale.
    """

    def __init__(self, walk: WalkPlan, stop: threading.Event | None = None):
        self.stop = stop or threading.Event()
        hands, plans, dtype = walk.deck.num_hands, walk.plans, walk.dtype
        self.reach_in = [np.zeros((plan.num_blocks, hands, LANES), dtype) for plan in plans]
        self.values_in = [np.zeros_like(reach) for reach in self.reach_in]
        self.values_in.append(np.zeros((1, hands, LANES), dtype))
        self.reach = np.zeros((max(plan.reach_slots for plan in plans), hands, LANES), dtype)
        self.values = np.zeros((max(plan.value_slots for plan in plans), hands, LANES), dtype)
        self.by_card = np.zeros((2, walk.deck.size + 1, LANES), dtype)
        nothing = np.zeros((1, 1, 1, LANES), dtype)
        self.nothing_learnt = (nothing, nothing, 0.0)
        last_deals = 1  # the boards of the second round come one at a time
        if len(plans) > 2:
            before, dealt = walk.rules.board_size(len(plans) - 2), walk.rules.board_cards[-1]
            last_deals = comb(walk.deck.size - before, dealt)
        self.strength = np.zeros((last_deals, hands), np.uint16)
        self.amounts = [np.ascontiguousarray(plan.amounts, dtype) for plan in plans]
        walk.enter(self)


class _Root:
    """The first round of a walk, in plain NumPy: one vector over hands for each node.

    Attributes:
        next_nodes: nodes at which the second round begins (or an all-in showdown waits for cards).
        next_lanes: their lanes in the second round's plan.
        next_reach: double [next node, hand]: the opponent's reach there.
    """

    def __init__(self, walk: Walk):
        self.tree, self.player, self.rules = walk.tree, walk.player, walk.rules
        self.hand_cards = walk.deck.hand_cards
        self._tables = [
            None
            if strategy is None
            else strategy.tables[0][strategy.abstraction.matrices[0][0]].astype(float)
            for strategy in (walk.opponent, walk.own)
        ]
        self._reachable = walk.reachable
        plan: RoundPlan = walk.plans[1]
        flat = plan.entries.reshape(-1)
        self.next_lanes = np.flatnonzero(flat >= 0)
        self.next_nodes = flat[self.next_lanes]
        self._reach = {0: np.ones(len(self.hand_cards))}
        self._order = [0]
        for node in self._order:
            if node in self.next_nodes or self.tree.num_actions[node] == 0:
                continue
            for action in range(self.tree.num_actions[node]):
                child = int(self.tree.first_child[node]) + action
                if self._reachable[child]:
                    chance = (
                        1.0 if self.tree.kind[node] == self.player else self._chance(0, node, action)
                    )
                    self._reach[child] = self._reach[node] * chance
                    self._order.append(child)
        self.next_reach = np.array([self._reach[node] for node in self.next_nodes]).reshape(
            -1, len(self.hand_cards)
        )
        # How many opposing hands there are beside a hand: the reach is one each.
        self.scale = 1000.0 / self.rules.big_blind / comb(walk.deck.size - 2, 2)

    def _chance(self, side: int, node: int, action: int) -> np.ndarray:
        table = self._tables[side]
        assert table is not None
        return table[:, self.tree.action_slot[node] + action]

    def values(
        self, next_values: np.ndarray, choices: dict[int, np.ndarray] | None = None
    ) -> tuple[np.ndarray, dict[int, np.ndarray]]:
        """Values [hand] of the game in mbb, and the action chosen at each node of a best response.

        Args:
            next_values: double [next node, hand]: values of the second round.
            choices: by node, int [hand]: actions to take instead of the best ones.
        """
        value = dict(zip(self.next_nodes.tolist(), next_values, strict=True))
        chosen: dict[int, np.ndarray] = {}
        for node in reversed(self._order):
            if node in value:
                continue
            tree = self.tree
            if tree.kind[node] == FOLD:
                value[node] = self._fold(node)
                continue
            first = int(tree.first_child[node])
            children = [first + action for action in range(tree.num_actions[node])]
            if tree.kind[node] != self.player:
                value[node] = sum(value[child] for child in children if self._reachable[child])
            elif self._tables[1] is not None:
                value[node] = sum(
                    self._chance(1, node, action) * value[child]
                    for action, child in enumerate(children)
                    if self._reachable[child]
                )
            else:
                options = np.array([value[child] for child in children])
                chosen[node] = options.argmax(axis=0) if choices is None else choices[node]
                value[node] = np.take_along_axis(options, chosen[node][None], axis=0)[0]
        return value[0] * self.scale, chosen

    def _fold(self, node: int) -> np.ndarray:
        reach = self._reach[node]
        by_card = np.bincount(self.hand_cards.ravel(), weights=np.repeat(reach, 2))
        others = reach.sum() - by_card[self.hand_cards].sum(axis=1) + reach
        chips = int(self.tree.spent[node].min())
        return others * (-chips if self.tree.folded[node] == self.player else chips)


def reachable_nodes(tree: BettingTree, strategies: list[Strategy | None]) -> np.ndarray:
    """bool [node]: whether the strategies ever lead to a node; None stands for a player who may do all.

    Args:
        tree: the betting tree.
        strategies: of player 0 and player 1.
    """
    ever = [
        None if strategy is None else [table.max(axis=0) > 0 for table in strategy.tables]
        for strategy in strategies
    ]
    reachable = np.zeros(len(tree), bool)
    reachable[0] = True
    for node in range(len(tree)):  # parents are numbered before their children
        count = int(tree.num_actions[node])
        if count and reachable[node]:
            first, slot = int(tree.first_child[node]), int(tree.action_slot[node])
            taken = ever[tree.kind[node]]
            allowed = True if taken is None else taken[tree.round[node]][slot : slot + count]
            reachable[first : first + count] = allowed
    return reachable

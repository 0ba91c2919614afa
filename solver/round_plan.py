"""How the histories of each betting round are laid out for a walk: blocks, programs and lane maps.

A history that leads into a round stands in a lane. Lanes whose betting within the round has the same
shape are packed into blocks, and each shape is compiled to a program for `solver.rows`. Histories that
the opponent's strategy never leads to are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from . import rows
from .betting_tree import FOLD, SHOWDOWN, BettingTree
from .lanes import LANES

# What the player of a walk does at his nodes: take the best value; mix; mix and learn what each action is
# worth; take the best value and write down which action that is.
BEST_RESPONSE, EVALUATE, TRAIN, CHOOSE = "best response", "evaluate", "train", "choose"
_MODES = {BEST_RESPONSE: rows.MAXIMUM, EVALUATE: rows.ADD, TRAIN: rows.TRAIN, CHOOSE: rows.CHOOSE}


@dataclass
class RoundPlan:
    """The layout of one round for one player's walk.

    Attributes:
        entries: node behind each lane, int64 [block, LANES], -1 for padding.
        block_program, programs, block_next, next_lane, block_leaf, amounts: as in `solver.rows`.
        opponent_slots: int64 [block, opponent action, LANES]: where a lane's probability stands in a
            row of the opponent's table, -1 for padding.
        own_slots: the same for the player's own actions (walks that mix, learn or choose).
        opponent_nodes: int64 [block, opponent's node, 2]: the first of its actions and their number, which
            is 0 for padding; the actions of a node stand side by side.
        own_nodes: the same for the player's own nodes.
        reach_slots, value_slots: scratch slots that the programs need.
    """

    entries: np.ndarray
    block_program: np.ndarray
    programs: np.ndarray
    block_next: np.ndarray
    next_lane: np.ndarray
    block_leaf: np.ndarray
    amounts: np.ndarray
    opponent_slots: np.ndarray
    own_slots: np.ndarray
    opponent_nodes: np.ndarray
    own_nodes: np.ndarray
    reach_slots: int
    value_slots: int

    @property
    def num_blocks(self) -> int:
        return len(self.entries)

    def chances(self, table: np.ndarray, slots: np.ndarray, dtype: type) -> np.ndarray:
        """Probabilities [block, bucket, action, LANES] from a strategy's table [bucket, slot]."""
        padded = np.concatenate([table, np.zeros((len(table), 1), table.dtype)], axis=1)
        return np.ascontiguousarray(np.moveaxis(padded[:, slots], 0, 1), dtype)


@dataclass
class _Shape:
    """Histories of a round whose betting has the same shape, and the program for it."""

    places: list[int]  # nodes of the first history's betting in this round, depth first
    lanes: list[list[int]] = field(default_factory=list)  # the same nodes for every history


def round_plans(tree: BettingTree, player: int, mode: str, reachable: np.ndarray) -> list[RoundPlan]:
    """The layout of every round for a walk that values the hands of `player`.

    Args:
        tree: the betting tree.
        player: whose values are computed; the other one is the opponent.
        mode: what the player does at his nodes: BEST_RESPONSE, EVALUATE, TRAIN or CHOOSE.
        reachable: bool [node]: whether the strategies in play ever lead to a node.
    """
    entries = [0]
    layouts: list[tuple[list[_Shape], np.ndarray]] = []
    for index in range(tree.rules.num_rounds):
        shapes: dict[tuple, _Shape] = {}
        for entry in entries:
            places, signature = _places(tree, entry, index)
            shape = shapes.setdefault(signature, _Shape(places))
            shape.lanes.append(places)
        packed = list(shapes.values())
        layouts.append((packed, _pack(packed)))
        # What follows the same place of a shape stands together in the next round.
        entries = [
            lane[at]
            for shape in packed
            for at, place in enumerate(shape.places)
            if _goes_on(tree, place, index)
            for lane in shape.lanes
            if reachable[lane[at]]
        ]
    plans: list[RoundPlan] = []
    lane_of_next: dict[int, int] = {}
    for index in reversed(range(tree.rules.num_rounds)):
        shapes_here, lanes_here = layouts[index]
        plans.append(_plan(tree, player, mode, reachable, index, shapes_here, lanes_here, lane_of_next))
        flat = lanes_here.reshape(-1)
        lane_of_next = {int(node): lane for lane, node in enumerate(flat) if node >= 0}
    return plans[::-1]


def _goes_on(tree: BettingTree, node: int, index: int) -> bool:
    """Whether a node met in a round is settled in a later one: a new round, or an all-in showdown."""
    if tree.kind[node] == SHOWDOWN:
        return index + 1 < tree.rules.num_rounds
    return bool(tree.round[node] > index)


def _places(tree: BettingTree, entry: int, index: int) -> tuple[list[int], tuple]:
    """Nodes of the betting of a round after an entry, depth first, and the signature of its shape."""
    places: list[int] = []

    def visit(node: int) -> tuple:
        places.append(node)
        kind = int(tree.kind[node])
        if kind in (FOLD, SHOWDOWN):
            return (kind,)
        if tree.round[node] > index:
            return ("next",)
        first = int(tree.first_child[node])
        return (kind, *(visit(first + action) for action in range(tree.num_actions[node])))

    signature = visit(entry)
    return places, signature


def _pack(shapes: list[_Shape]) -> np.ndarray:
    """Entries [block, LANES] of all shapes, -1 for padding; a block belongs to one shape."""
    blocks = []
    for shape in shapes:
        entries = [lane[0] for lane in shape.lanes]
        entries += [-1] * (-len(entries) % LANES)
        blocks.append(np.array(entries, np.int64).reshape(-1, LANES))
    return np.concatenate(blocks) if blocks else np.empty((0, LANES), np.int64)


def _plan(
    tree: BettingTree,
    player: int,
    mode: str,
    reachable: np.ndarray,
    index: int,
    shapes: list[_Shape],
    entries: np.ndarray,
    lane_of_next: dict[int, int],
) -> RoundPlan:
    compiled = [_Program(tree, player, mode, reachable, index, shape) for shape in shapes]
    programs: list[tuple[int, ...]] = []
    block_program, block_next, block_leaf = [], [], []
    next_lane: list[np.ndarray] = []
    amounts: list[np.ndarray] = []
    widths = [max((len(getattr(c, name)) for c in compiled), default=0) for name in ("opponent", "own")]
    node_widths = [max((len(c.nodes[side]) for c in compiled), default=0) for side in (0, 1)]
    slots: list[list[np.ndarray]] = [[], []]
    nodes_of: list[list[np.ndarray]] = [[], []]
    for shape, code in zip(shapes, compiled, strict=True):
        start = len(programs)
        programs += code.rows
        for first in range(0, len(shape.lanes), LANES):
            lanes = np.array(shape.lanes[first : first + LANES]).T  # [place, lane]
            pad = ((0, 0), (0, LANES - lanes.shape[1]))
            block_program.append((start, len(programs)))
            block_next.append(len(next_lane))
            block_leaf.append(len(amounts))
            for place in code.next_places:
                row = [lane_of_next.get(int(node), -1) for node in lanes[place]]
                next_lane.append(np.pad(np.array(row, np.int64), pad[1], constant_values=-1))
            for place in code.leaf_places:
                nodes = lanes[place]
                chips = tree.spent[nodes].min(axis=1).astype(float)
                chips = np.where(tree.folded[nodes] == player, -chips, chips)
                amounts.append(np.pad(chips, pad[1]))
            for side, pairs in enumerate((code.opponent, code.own)):
                block = np.full((widths[side], LANES), -1, np.int64)
                for number, (place, action) in enumerate(pairs):
                    block[number, : lanes.shape[1]] = tree.action_slot[lanes[place]] + action
                slots[side].append(block)
                ranges = np.array(code.nodes[side], np.int64).reshape(-1, 2)
                nodes_of[side].append(np.pad(ranges, ((0, node_widths[side] - len(ranges)), (0, 0))))
    empty = np.zeros((1, LANES))
    return RoundPlan(
        entries=entries,
        block_program=np.array(block_program, np.int64).reshape(-1, 2),
        programs=np.array(programs, np.int64).reshape(-1, rows.COLUMNS),
        block_next=np.array(block_next, np.int64),
        next_lane=np.array(next_lane or empty, np.int64),
        block_leaf=np.array(block_leaf, np.int64),
        amounts=np.array(amounts or empty),
        opponent_slots=np.array(slots[0], np.int64).reshape(len(entries), widths[0], LANES),
        own_slots=np.array(slots[1], np.int64).reshape(len(entries), widths[1], LANES),
        opponent_nodes=np.array(nodes_of[0], np.int64).reshape(len(entries), node_widths[0], 2),
        own_nodes=np.array(nodes_of[1], np.int64).reshape(len(entries), node_widths[1], 2),
        reach_slots=max((code.reach_slots for code in compiled), default=1),
        value_slots=max((code.value_slots for code in compiled), default=1) + 1,
    )


class _Program:
    """The program of a shape.

    Attributes:
        rows: instructions for `solver.rows`.
        leaf_places, next_places: places behind the entries of leaves and of NEXT.
        opponent, own: (place, action) behind the entries of probabilities.
        nodes: for the opponent and the player the ranges (first, number) of these that belong to one node.
        reach_slots, value_slots: scratch slots used.
    """

    def __init__(
        self, tree: BettingTree, player: int, mode: str, reachable: np.ndarray, index: int, shape: _Shape
    ):
        self.tree, self.player, self.mode, self.index, self.shape = tree, player, mode, index, shape
        self.rows: list[tuple[int, ...]] = []
        self.leaf_places: list[int] = []
        self.next_places: list[int] = []
        self.opponent: list[tuple[int, int]] = []
        self.own: list[tuple[int, int]] = []
        self.nodes: tuple[list[tuple[int, int]], list[tuple[int, int]]] = ([], [])
        self.reach_slots = self.value_slots = 1
        self.place_of = {node: place for place, node in enumerate(shape.places)}
        # A place that no lane's strategies lead to is left out of the program.
        self.used = np.any([reachable[lane] for lane in shape.lanes], axis=0)
        self._value(shape.places[0], 0, 0)

    def _emit(self, operation: int, **columns: int) -> None:
        row = [-1] * rows.COLUMNS
        row[rows.OPERATION] = operation
        for name, value in columns.items():
            row[getattr(rows, name.upper())] = value
        self.rows.append(tuple(row))

    def _value(self, node: int, reach: int, target: int) -> None:
        """Emit code that sets values[target] to the value of a node reached with reach[reach]."""
        self.value_slots = max(self.value_slots, target + 1)
        self.reach_slots = max(self.reach_slots, reach + 1)
        tree, place = self.tree, self.place_of[node]
        if _goes_on(tree, node, self.index):
            self._emit(
                rows.NEXT, target=target, source=reach, entry=self._next(place), mode=rows.ADD, fresh=1
            )
            return
        if tree.num_actions[node] == 0:  # an all-in called in an earlier round is a whole round's tree
            self._emit(
                rows.LEAVES,
                target=target,
                source=reach,
                showdown=self._leaf(place),
                mode=rows.ADD,
                fresh=1,
            )
            return
        is_own = bool(tree.kind[node] == self.player)
        best = is_own and self.mode in (BEST_RESPONSE, CHOOSE)
        first_child = int(tree.first_child[node])
        actions = [
            action
            for action in range(tree.num_actions[node])
            if best or self.used[self.place_of[first_child + action]]
        ]
        if not is_own and self.mode in (TRAIN, CHOOSE):
            self._emit(rows.VISIT, source=reach, entry=len(self.nodes[0]))
        numbers = self._node_actions(place, actions, is_own)
        mode = _MODES[self.mode] if is_own else rows.ADD
        choice = {"first_own": numbers[0], "before": 0} if is_own and actions else {}
        fresh = 1
        leaves: dict[str, int] = {}
        for action, number in zip(actions, numbers, strict=True):
            child = first_child + action
            chance, own = (-1, number) if is_own else (number, -1)
            if not _goes_on(tree, child, self.index) and tree.num_actions[child] == 0:
                leaf = self._leaf(self.place_of[child])
                if tree.kind[child] == FOLD:
                    leaves |= {"entry": leaf, "chance": chance, "own": own}
                else:
                    leaves |= {"showdown": leaf, "showdown_chance": chance, "showdown_own": own}
                continue
            child_reach, child_target = reach, target + 1 - fresh
            if chance >= 0:
                child_reach = reach + 1
                self._emit(rows.REACH, target=child_reach, source=reach, entry=chance)
            # The first subtree is computed in place.
            self._value(child, child_reach, child_target)
            if not fresh or own >= 0:
                self._emit(
                    rows.COMBINE,
                    target=target,
                    source=child_target,
                    own=own,
                    mode=mode,
                    fresh=fresh,
                    **choice,
                )
            if choice and own >= 0:
                choice["before"] |= 1 << (own - choice["first_own"])
            fresh = 0
        if leaves:
            self._emit(
                rows.LEAVES, target=target, source=reach, mode=mode, fresh=fresh, **leaves, **choice
            )

    def _node_actions(self, place: int, actions: list[int], is_own: bool) -> list[int]:
        """Numbers for the actions of a node, side by side; -1 where the walk asks for none."""
        if is_own and self.mode == BEST_RESPONSE:
            return [-1] * len(actions)
        entries = self.own if is_own else self.opponent
        self.nodes[is_own].append((len(entries), len(actions)))
        return [self._number(entries, place, action) for action in actions]

    def _leaf(self, place: int) -> int:
        return self._number(self.leaf_places, place)

    def _next(self, place: int) -> int:
        return self._number(self.next_places, place)

    @staticmethod
    def _number(entries: list, *entry: int) -> int:
        """Append an entry and return its number."""
        entries.append(entry if len(entry) > 1 else entry[0])
        return len(entries) - 1

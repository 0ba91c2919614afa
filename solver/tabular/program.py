"""What one iteration of full-width CFR computes, written out as flat lists, each thing once.

Values of nodes, from the terminals up, are sums of odds times the values of children, where odds are
strategy or chance probabilities. Regrets of an information set are sums over its histories, in the order of
a depth-first walk. This is, addition for addition, what the recursive solvers of OpenSpiel compute, so that
results agree to the last bits. That matters: rounding alone moves the exploitability after 1,000 iterations
of CFR+ on Leduc poker in the second digit, since a tie between two actions that is rounded away becomes a
preference, and small differences grow.

Where two information sets are computed by the same additions and multiplications of the same numbers, as
those of the two suits in Leduc poker, their regrets are equal to the last bit in every iteration; then one
of them is computed. Classes of such information sets and nodes are found by refinement: all alike at first,
they are split until the members of each class have the same list of operations on classes. (In exact
arithmetic this is colour refinement, as Grohe, Kersting, Mladenov and Selman 2014 do for linear programs;
here the order of the operations counts, so that nothing changes but the time.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numba as nb
import numpy as np

from .game import CHANCE, TERMINAL, TabularGame
from .payoffs import chance_reach


@dataclass(frozen=True, eq=False)
class Program:
    """Lists of one game; made by `compile_program`.

    "Set" means a class of information sets, "place" one of its actions: like the sequences of a game, those
    of player 0 first, behind the place 0 for his empty sequence. Values stand in the order in which they
    can be computed, those of terminals first.

    All lists of indices are unsigned: compiled code then does not look for negative ones.

    Attributes:
        place_of: uint32 [sequence]: its place.
        sets: int64 [2, 2]: first set of each player, and the end of his sets.
        num_places: all places, the two empty ones included.
        first_place: uint32 [set]: action number a has the place first_place + a.
        num_actions: uint32 [set].
        parent: uint32 [set]: the place that leads to it.
        payoff: float64 [terminal value].
        blocks: int64 [block, 4]: first value above the terminals, the end, edges of each, first edge.
        child, odds: uint32 [edge]: the child's value, and where its probability stands: a place, or
            num_places + a number of `chance`.
        chance: float64 [number]: different chance probabilities.
        first_history: uint32 [set + 1]: its histories.
        value: uint32 [history]: the history's own value.
        other: uint32 [history]: place of the other player's last sequence.
        weight: float64 [history]: reach probability of chance; negative for player 1, since values are
            player 0's.
        first_result: uint32 [set]: where the values behind its actions stand in `result`.
        result: uint32: for each set, action and history the value behind that action.
    """

    place_of: np.ndarray
    sets: np.ndarray
    num_places: int
    first_place: np.ndarray
    num_actions: np.ndarray
    parent: np.ndarray
    payoff: np.ndarray
    blocks: np.ndarray
    child: np.ndarray
    odds: np.ndarray
    chance: np.ndarray
    first_history: np.ndarray
    value: np.ndarray
    other: np.ndarray
    weight: np.ndarray
    first_result: np.ndarray
    result: np.ndarray

    def spread(self, by_place: np.ndarray) -> np.ndarray:
        """A vector over places as one over the sequences of the game."""
        return by_place[self.place_of]

    def gathered(self, by_sequence: np.ndarray) -> np.ndarray | None:
        """A vector over sequences as one over places; None where it differs within a class."""
        by_place = np.zeros(self.num_places)
        by_place[self.place_of] = by_sequence
        return by_place if np.array_equal(by_place[self.place_of], by_sequence) else None


def compile_program(game: TabularGame, merge: bool = True) -> Program:
    """The program of a game.

    Args:
        merge: compute information sets that are computed alike once.
    """
    order = _depth_first(game)
    height = np.zeros(game.num_nodes, np.int32)
    _heights(game.first_child, game.num_children, height)
    reach = chance_reach(game)
    # Histories of each information set, in the order of the walk.
    acting = np.flatnonzero(game.infoset >= 0)
    acting = acting[np.lexsort((order[acting], game.infoset[acting]))]
    starts = np.searchsorted(game.infoset[acting], np.arange(game.num_infosets + 1))
    node_class, set_class = _classes(game, reach, acting, starts, merge)

    # Sets: player, then depth among the own sets (parents before children), then number of actions.
    depth = np.zeros(game.num_infosets, np.int32)
    _own_depths(game.parent_sequence, game.sequence_infoset, depth)
    _, first_of = np.unique(set_class, return_index=True)
    rank = np.lexsort(
        (first_of, game.num_actions[first_of], depth[first_of], game.infoset_player[first_of])
    )
    infoset_of = first_of[rank]
    set_of = _numbered(set_class, set_class[infoset_of])
    num_actions = game.num_actions[infoset_of]
    players = game.infoset_player[infoset_of]
    second = int((players == 0).sum())
    sets = np.array([[0, second], [second, len(infoset_of)]])
    first_place = np.cumsum(num_actions) - num_actions + 1 + (players == 1)
    empty = (0, 1 + int(num_actions[:second].sum()))
    num_places = 2 + int(num_actions.sum())
    real = game.sequence_infoset >= 0
    owner = game.sequence_infoset[real]
    place_of = np.zeros(game.num_sequences, np.int64)
    place_of[real] = first_place[set_of[owner]] + np.flatnonzero(real) - game.first_sequence[owner]
    place_of[[part.start for part in game.sequences]] = empty

    # Values: by height, terminals first; those of equal width side by side.
    _, first_node = np.unique(node_class, return_index=True)
    rank = np.lexsort((first_node, game.num_children[first_node], height[first_node]))
    nodes = first_node[rank]
    value_of = _numbered(node_class, node_class[nodes])
    ends = int((game.kind[nodes] == TERMINAL).sum())
    inner = nodes[ends:]
    widths = game.num_children[inner]
    children = np.repeat(game.first_child[inner] - np.cumsum(widths) + widths, widths)
    children = children + np.arange(len(children))
    inner_of = np.repeat(inner, widths)
    by_chance = game.kind[inner_of] == CHANCE
    chance = np.unique(game.probability[children[by_chance]])
    chance_number = np.searchsorted(chance, game.probability[children])
    action = children - game.first_child[inner_of]
    odds = num_places + chance_number
    acting_set = set_of[game.infoset[inner_of[~by_chance]]]
    odds[~by_chance] = first_place[acting_set] + action[~by_chance]

    counts = (starts[1:] - starts[:-1])[infoset_of]
    places = np.repeat(starts[infoset_of] - np.cumsum(counts) + counts, counts)
    history = acting[places + np.arange(len(places))]
    player = game.kind[history]
    sign = np.where(player == 0, 1.0, -1.0)
    first_history = np.concatenate([[0], np.cumsum(counts)])
    sizes = counts * num_actions
    first_result = np.cumsum(sizes) - sizes
    within = np.arange(int(sizes.sum())) - np.repeat(first_result, sizes)
    many = np.repeat(counts, sizes)
    behind = history[np.repeat(first_history[:-1], sizes) + within % many]
    return Program(
        place_of=place_of.astype(np.uint32),
        sets=sets,
        num_places=num_places,
        first_place=first_place.astype(np.uint32),
        num_actions=num_actions.astype(np.uint32),
        parent=place_of[game.parent_sequence[infoset_of]].astype(np.uint32),
        payoff=game.utility[nodes[:ends]],
        blocks=_blocks(widths),
        child=value_of[children].astype(np.uint32),
        odds=odds.astype(np.uint32),
        chance=chance,
        first_history=first_history.astype(np.uint32),
        value=value_of[history].astype(np.uint32),
        other=place_of[game.last_sequence[1 - player, history]].astype(np.uint32),
        weight=sign * reach[history],
        first_result=first_result.astype(np.uint32),
        result=value_of[game.first_child[behind] + within // many].astype(np.uint32),
    )


def _blocks(widths: np.ndarray) -> np.ndarray:
    """Runs of values with the same number of edges: first, end, that number, first edge."""
    cuts = np.flatnonzero(np.diff(widths)) + 1
    firsts = np.concatenate([[0], cuts])[: len(widths)]
    ends = np.concatenate([cuts, [len(widths)]])[: len(firsts)]
    edges = np.cumsum(widths) - widths
    return np.stack([firsts, ends, widths[firsts], edges[firsts]], axis=1).astype(np.int64)


def _numbered(classes: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Place of each class in `ordered`, which has every class once."""
    sorter = np.argsort(ordered)
    return sorter[np.searchsorted(ordered, classes, sorter=sorter)]


def _depth_first(game: TabularGame) -> np.ndarray:
    """Place of each node in a depth-first walk, int64 [node]."""
    size = np.ones(game.num_nodes, np.int64)
    order = np.zeros(game.num_nodes, np.int64)
    _walk_order(game.first_child, game.num_children, size, order)
    return order


@nb.njit(cache=True, nogil=True)
def _walk_order(first_child, num_children, size, order):
    """order [node]: place in a depth-first walk; size [node]: nodes below, itself included, given as 1."""
    for node in range(len(size) - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + num_children[node]):
            size[node] += size[child]
    for node in range(len(size)):
        place = order[node] + 1
        for child in range(first_child[node], first_child[node] + num_children[node]):
            order[child] = place
            place += size[child]


@nb.njit(cache=True, nogil=True)
def _heights(first_child, num_children, height):
    """height [node]: the longest way down to a terminal."""
    for node in range(len(height) - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + num_children[node]):
            height[node] = max(height[node], height[child] + 1)


@nb.njit(cache=True, nogil=True)
def _own_depths(parent_sequence, sequence_infoset, depth):
    """depth [infoset]: number of the player's own information sets above it."""
    for infoset in range(len(depth)):
        above = sequence_infoset[parent_sequence[infoset]]
        if above >= 0:
            depth[infoset] = depth[above] + 1


def _classes(
    game: TabularGame, reach: np.ndarray, acting: np.ndarray, starts: np.ndarray, merge: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Class of each node and of each information set, any numbers: int64 [node], int64 [infoset].

    acting: nodes by information set, in the order of the walk; those of i are starts[i] .. starts[i+1] - 1.
    """
    nodes = np.arange(game.num_nodes)
    alone = nodes.copy(), np.arange(game.num_infosets)
    if not merge or not game.num_infosets:
        return alone
    # Rounds of hashing: a class is split by what its members compute from classes of the round before.
    sets = _first_guess(game)
    values = np.zeros(game.num_nodes, np.uint64)
    arrays = (
        game.kind,
        game.first_child,
        game.num_children,
        game.infoset,
        game.probability.view(np.uint64),
        game.utility.view(np.uint64),
        game.last_sequence,
        game.parent_sequence,
        game.first_sequence,
        game.sequence_infoset,
        reach.view(np.uint64),
        acting,
        starts,
    )
    count = 0
    while True:
        after = np.zeros(game.num_infosets, np.uint64)
        _hash_round(*arrays, sets, values, after)
        found = len(np.unique(after))
        if found == count:
            break
        sets, count = after, found
    # Hashes may collide: members of a class are compared with its first, and all kept apart if they differ.
    _, set_class = np.unique(sets, return_inverse=True)
    _, first_set, by_set = np.unique(sets, return_index=True, return_inverse=True)
    _, first_node, by_node = np.unique(values, return_index=True, return_inverse=True)
    if not _alike(*arrays, by_set, by_node, first_set[by_set], first_node[by_node]):
        return alone
    return by_node, set_class


def _first_guess(game: TabularGame) -> np.ndarray:
    """Hash by player and number of actions, uint64 [infoset]."""
    return (game.infoset_player.astype(np.uint64) << np.uint64(32)) + game.num_actions.astype(np.uint64)


@nb.njit(cache=True, nogil=True, inline="always")
def _mixed(state, item):
    """Hash of a list that goes on with that item."""
    z = (state ^ item) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return z ^ (z >> np.uint64(32))


@nb.njit(cache=True, nogil=True)
def _sequence_hash(sequence, first_sequence, sequence_infoset, sets):
    infoset = sequence_infoset[sequence]
    if infoset < 0:
        return np.uint64(1)
    return _mixed(sets[infoset], np.uint64(2 + sequence - first_sequence[infoset]))


@nb.njit(cache=True, nogil=True)
def _hash_round(
    kind,
    first_child,
    num_children,
    infoset,
    probability,
    utility,
    last_sequence,
    parent_sequence,
    first_sequence,
    sequence_infoset,
    reach,
    acting,
    starts,
    sets,
    values,
    after,
):
    """values [node] and after [infoset]: hashes of what is computed, given the hashes `sets` [infoset].

    probability, utility, reach: the bits of the numbers.
    """
    for node in range(len(kind) - 1, -1, -1):
        state = np.uint64(kind[node] + 11)
        if kind[node] == TERMINAL:
            state = _mixed(state, utility[node])
        elif kind[node] != CHANCE:
            state = _mixed(state, sets[infoset[node]])
        for child in range(first_child[node], first_child[node] + num_children[node]):
            if kind[node] == CHANCE:
                state = _mixed(state, probability[child])
            state = _mixed(state, values[child])
        values[node] = state
    for number in range(len(sets)):
        state = _mixed(
            sets[number], _sequence_hash(parent_sequence[number], first_sequence, sequence_infoset, sets)
        )
        for place in range(starts[number], starts[number + 1]):
            node = acting[place]
            other = last_sequence[1 - kind[node], node]
            state = _mixed(state, values[node])
            state = _mixed(state, reach[node])
            state = _mixed(state, _sequence_hash(other, first_sequence, sequence_infoset, sets))
        after[number] = state


@nb.njit(cache=True, nogil=True)
def _same_sequence(one, two, first_sequence, sequence_infoset, set_class):
    """Whether two sequences are the same action of the same class."""
    first, second = sequence_infoset[one], sequence_infoset[two]
    if first < 0 or second < 0:
        return one == two
    if set_class[first] != set_class[second]:
        return False
    return one - first_sequence[first] == two - first_sequence[second]


@nb.njit(cache=True, nogil=True)
def _alike(
    kind,
    first_child,
    num_children,
    infoset,
    probability,
    utility,
    last_sequence,
    parent_sequence,
    first_sequence,
    sequence_infoset,
    reach,
    acting,
    starts,
    set_class,
    node_class,
    first_set,
    first_node,
):
    """Whether every node and information set computes what the first of its class does.

    first_set, first_node: the first of the class of each information set, of each node.
    """
    for node in range(len(kind)):
        model = first_node[node]
        if kind[node] != kind[model] or num_children[node] != num_children[model]:
            return False
        if utility[node] != utility[model]:
            return False
        if infoset[node] >= 0 and set_class[infoset[node]] != set_class[infoset[model]]:
            return False
        for child in range(num_children[node]):
            one, two = first_child[node] + child, first_child[model] + child
            if node_class[one] != node_class[two] or probability[one] != probability[two]:
                return False
    for number in range(len(set_class)):
        model = first_set[number]
        if not _same_sequence(
            parent_sequence[number], parent_sequence[model], first_sequence, sequence_infoset, set_class
        ):
            return False
        if starts[number + 1] - starts[number] != starts[model + 1] - starts[model]:
            return False
        for place in range(starts[number + 1] - starts[number]):
            one, two = acting[starts[number] + place], acting[starts[model] + place]
            if kind[one] != kind[two] or node_class[one] != node_class[two] or reach[one] != reach[two]:
                return False
            if not _same_sequence(
                last_sequence[1 - kind[one], one],
                last_sequence[1 - kind[two], two],
                first_sequence,
                sequence_infoset,
                set_class,
            ):
                return False
    return True

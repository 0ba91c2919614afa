"""Compiled walks of sampled CFR over a betting tree, and the arithmetic of table records.

A record is what a bucket has at a decision node: the cumulative regrets of its actions, then, where the
round keeps averages, their cumulative probabilities. Sums are rounded at random, up or down so that the
expectation is right: a sum never stops growing because its increments are small beside it, neither in
float32 nor in int16. In int16 a record is preceded by a header, two signed bytes: the binary exponents of
the regrets and of the averages. The codes are scaled so that the largest of a half takes 13 to 15 bits.

The random numbers come from the seed, the iteration and the place in the walk alone.
"""

from __future__ import annotations

from typing import Any

import numba as nb
import numpy as np
from numba.core import types
from numba.extending import overload

from .betting_tree import SHOWDOWN
from .prefetch import prefetch

# Columns of the packed node records: all that a visit needs, in half a cache line.
KIND, ROUND, FIRST_CHILD, NUM_ACTIONS, RECORD, STAKE, FLAGS = range(7)
HAS_AVERAGE, MAY_PRUNE = 1, 2  # bits of FLAGS

EXTERNAL, AVERAGE_STRATEGY, OUTCOME = range(3)  # what is sampled at the traverser's own nodes

MAX_CODE = 32767  # codes of int16 tables are symmetric
SMALL_CODE = 8191  # a half whose codes are all below this is scaled up
FLOAT_LIMIT = 3.0e38  # float32 sums saturate here
MAX_EXPONENT = 127  # of a header's bytes; int16 sums saturate there

_STEP = np.uint64(0x9E3779B97F4A7C15)  # of a stream of random numbers, between two draws

# Calls with a dozen arguments cost as much as the additions: the functions are inlined by LLVM.
_INLINED: Any = {"nogil": True, "error_model": "numpy", "forceinline": True}


@nb.njit(cache=True, nogil=True, inline="always")
def _seeded(seed, iteration, stream):
    """Start of a stream of random numbers: a hash of seed, iteration and stream (SplitMix64)."""
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(iteration) * np.uint64(4)
    state = (state + np.uint64(stream)) * _STEP
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


@nb.njit(cache=True, nogil=True, inline="always")
def _uniform(state):
    """Number in [0, 1) from the state of a stream, which grows by _STEP between two draws (SplitMix64,
    Steele, Lea and Flood 2014).
    """
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True)
def deal_cards(first, seed, deck_size, cards):
    """Card numbers [deal, cards] drawn without replacement (the start of a Fisher-Yates shuffle)."""
    deck = np.empty(deck_size, np.int64)
    for deal in range(cards.shape[0]):
        random = _seeded(seed, first + deal, 2)
        for card in range(deck_size):
            deck[card] = card
        for place in range(cards.shape[1]):
            random += _STEP
            other = place + int(_uniform(random) * (deck_size - place))
            deck[place], deck[other] = deck[other], deck[place]
            cards[deal, place] = deck[place]


@nb.njit(cache=True, nogil=True, inline="always")
def _rounding_bits(state, place):
    """Bits for the rounding of one half of a record, apart from the stream that steers the walk."""
    z = (state ^ (np.uint64(place) * np.uint64(0xD6E8FEB86659FD93))) * np.uint64(0xA0761D6478BD642F)
    return z ^ (z >> np.uint64(32))


@nb.njit(cache=True, nogil=True, inline="always")
def _next_bits(bits):
    return bits * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)


@nb.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _add_float32(values, start, count, header, shift, gains, floor, bits):
    word = bits
    for action in range(count):
        place = start + np.uint64(action)
        total = np.float64(values[place]) + gains[action]
        total = min(max(total, floor, -FLOAT_LIMIT), FLOAT_LIMIT)
        word = _next_bits(word)
        # A float64 has 29 bits more: random ones are added to them, then they are cut off.
        pattern = np.float64(total).view(np.int64) + np.int64(word >> np.uint64(35))
        pattern &= np.int64(-536870912)
        rounded = np.int64(pattern).view(np.float64)
        values[place] = np.float32(max(rounded, floor))


@nb.njit(cache=True, nogil=True, inline="always")
def _power_of_two(exponent):
    return np.int64((exponent + 1023) << 52).view(np.float64)


@nb.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _add_int16(values, start, count, header, shift, gains, floor, bits):
    word = bits
    both = np.int64(values[header])
    exponent = before = (((both >> shift) & 0xFF) ^ 0x80) - 0x80  # a signed byte
    scale = _power_of_two(exponent)
    largest = 0.0
    for action in range(count):
        total = max(values[start + np.uint64(action)] * scale + gains[action], floor)
        gains[action] = total
        largest = max(largest, abs(total))
    while largest > MAX_CODE * scale and exponent < MAX_EXPONENT:
        exponent += 1
        scale *= 2.0
    while 0.0 < largest < SMALL_CODE * scale and exponent > -MAX_EXPONENT:
        exponent -= 1
        scale *= 0.5
    least = max(np.ceil(floor / scale), -MAX_CODE)
    for action in range(count):
        word = _next_bits(word)
        code = np.floor(gains[action] / scale + (word >> np.uint64(40)) * (1.0 / 16777216.0))
        values[start + np.uint64(action)] = np.int16(min(max(code, least), MAX_CODE))
    if exponent != before:
        values[header] = np.int16((both & ~(0xFF << shift)) | ((exponent & 0xFF) << shift))


def _add(values, start, count, header, shift, gains, floor, bits):
    """Add gains [action] to the values [start : start + count] of one half of a record.

    Args:
        values: float32 or int16, modified in place.
        header, shift: int16 only: where the header is and at which bit of it the half's exponent begins.
        gains: float64 [action]; scratch afterwards.
        floor: sums are cut there from below.
        bits: uint64, random: they decide which way each sum is rounded.
    """
    raise NotImplementedError("for compiled code")


@overload(_add, jit_options=_INLINED)
def _add_by_type(values, start, count, header, shift, gains, floor, bits):
    add = _add_int16 if values.dtype == types.int16 else _add_float32

    def implementation(values, start, count, header, shift, gains, floor, bits):
        add(values, start, count, header, shift, gains, floor, bits)

    return implementation


@nb.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _unit_float32(values, header, shift):
    return 1.0


@nb.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
def _unit_int16(values, header, shift):
    return _power_of_two((((np.int64(values[header]) >> shift) & 0xFF) ^ 0x80) - 0x80)


def _unit(values, header, shift):
    """What one stands for in a half of a record: 1, or the power of two in the header."""
    raise NotImplementedError("for compiled code")


@overload(_unit, jit_options=_INLINED)
def _unit_by_type(values, header, shift):
    unit = _unit_int16 if values.dtype == types.int16 else _unit_float32

    def implementation(values, header, shift):
        return unit(values, header, shift)

    return implementation


@nb.njit(cache=True, nogil=True, error_model="numpy")
def walk_deals(
    first,
    seed,
    nodes,
    rows,
    outcome,
    weights,
    values,
    floor,
    sampling,
    prune_below,
    prune_probability,
    constants,
    frames,
    boosts,
    chances,
    action_values,
    scratch,
):
    """One iteration of external, outcome or average-strategy sampling for each deal; nodes visited.

    Args:
        first: number of iterations before the first deal.
        nodes: int32 [node, 8]: KIND, ROUND and so on.
        rows: int64 [deal, player, round]: where the row of a player's bucket starts in `values`.
        outcome: int8 [deal], the sign of player 0's winnings at a showdown.
        weights: float64 [deal, 2]: of the regrets and of the averages of an iteration.
        values: float32 or int16, modified in place.
        floor: regrets never fall below this times the weight of the iteration.
        sampling: EXTERNAL, AVERAGE_STRATEGY or OUTCOME.
        prune_below: actions with a regret below this times the weight are left out where they may be.
        prune_probability: the share of iterations, by player, in which they are.
        constants: float64 [4]: exploration of outcome sampling; epsilon, beta and tau of average strategy
            sampling.
        frames: int64 [depth, 3]: the traverser's nodes above the current one: node, record, action.
        boosts: float64 [depth]: one over the probability that sampling got to these nodes.
        chances: float64 [depth, action]: with which probability sampling goes on to each action of them: 0
            where it does not, -1 where the action is pruned.
        action_values: float64 [depth, action]: what the actions were found to be worth.
        scratch: float64 [action].

    A loop with a stack of its own: only the traverser's nodes are pushed, since a value passes through
    the other player's nodes unchanged.
    """
    touched = 0
    exploration, least_chance = constants[0], constants[1]
    beta, tau = constants[2], constants[3]
    for deal in range(rows.shape[0]):
        regret_weight, average_weight = weights[deal, 0], weights[deal, 1]
        least = floor * regret_weight
        for traverser in range(2):
            random = _seeded(seed, first + deal, traverser)
            sign = 1.0 if traverser == 0 else -1.0
            showdown = outcome[deal] * sign
            threshold = -np.inf
            if prune_below > -np.inf:
                random += _STEP
                if _uniform(random) < prune_probability:
                    threshold = prune_below * regret_weight
            depth = 0
            boost = 1.0
            node = np.uint64(0)
            while True:
                touched += 1
                kind = nodes[node, KIND]
                num_actions = nodes[node, NUM_ACTIONS]
                value = 0.0
                if kind <= 1:
                    for action in range(num_actions):
                        child = np.uint64(nodes[node, FIRST_CHILD] + action)
                        below = nodes[child, KIND]
                        if below <= 1:
                            prefetch(
                                values, rows[deal, below, nodes[child, ROUND]] + nodes[child, RECORD]
                            )
                    record = np.uint64(rows[deal, kind, nodes[node, ROUND]] + nodes[node, RECORD])
                    total = 0.0
                    for action in range(num_actions):
                        total += max(np.float64(values[record + np.uint64(action)]), 0.0)
                    if kind != traverser:
                        random += _STEP
                        draw = _uniform(random)
                        chosen = num_actions - 1
                        if total > 0.0:
                            left = draw * total
                            scale = average_weight * boost / total
                            for action in range(num_actions):
                                share = max(np.float64(values[record + np.uint64(action)]), 0.0)
                                scratch[action] = scale * share
                                if left >= 0.0:
                                    left -= share
                                    if left < 0.0:
                                        chosen = action
                        else:
                            share = average_weight * boost / num_actions
                            for action in range(num_actions):
                                scratch[action] = share
                            chosen = int(draw * num_actions)
                        if nodes[node, FLAGS] & HAS_AVERAGE:
                            _add(
                                values,
                                record + np.uint64(num_actions),
                                num_actions,
                                record - np.uint64(1),
                                8,
                                scratch,
                                0.0,
                                _rounding_bits(random, record),
                            )
                        node = np.uint64(nodes[node, FIRST_CHILD] + chosen)
                        continue
                    frames[depth, 0] = node
                    frames[depth, 1] = record
                    frames[depth, 2] = -1
                    boosts[depth] = boost
                    if sampling == EXTERNAL:
                        for action in range(num_actions):
                            chances[depth, action] = 1.0
                        # Without a positive regret all actions are played: none may be left out.
                        may_prune = nodes[node, FLAGS] & MAY_PRUNE and total > 0.0
                        if threshold > -np.inf and may_prune:
                            regret_unit = _unit(values, record - np.uint64(1), 0)
                            for action in range(num_actions):
                                child = nodes[node, FIRST_CHILD] + action
                                regret = values[record + np.uint64(action)] * regret_unit
                                if regret < threshold and nodes[child, KIND] <= 1:
                                    chances[depth, action] = -1.0
                    elif sampling == AVERAGE_STRATEGY:
                        # Averages are counted in the weight of this iteration.
                        unit = _unit(values, record - np.uint64(1), 8) / average_weight
                        average = record + np.uint64(num_actions)
                        visits = beta
                        for action in range(num_actions):
                            visits += values[average + np.uint64(action)] * unit
                        for action in range(num_actions):
                            mine = beta + tau * (values[average + np.uint64(action)] * unit)
                            chance = min(max(least_chance, mine / visits), 1.0)
                            random += _STEP
                            chances[depth, action] = chance if _uniform(random) < chance else 0.0
                    else:
                        random += _STEP
                        left = _uniform(random)
                        chosen, chosen_chance = -1, 1.0
                        for action in range(num_actions):
                            share = max(np.float64(values[record + np.uint64(action)]), 0.0)
                            share = share / total if total > 0.0 else 1.0 / num_actions
                            chance = exploration / num_actions + (1.0 - exploration) * share
                            chances[depth, action] = 0.0
                            if chosen < 0 or left >= 0.0:
                                chosen, chosen_chance = action, chance
                            left -= chance
                        chances[depth, chosen] = chosen_chance
                    depth += 1
                else:
                    value = nodes[node, STAKE] * (showdown if kind == SHOWDOWN else sign) * boost
                # Up, or down again to the next action.
                while depth > 0:
                    top = depth - 1
                    node = np.uint64(frames[top, 0])
                    num_actions = nodes[node, NUM_ACTIONS]
                    action = frames[top, 2]
                    if action >= 0:
                        action_values[top, action] = value
                    action += 1
                    while action < num_actions:
                        if chances[top, action] <= 0.0:
                            action_values[top, action] = 0.0
                        else:
                            child = np.uint64(nodes[node, FIRST_CHILD] + action)
                            below = nodes[child, KIND]
                            if below <= 1:
                                break
                            touched += 1
                            value = nodes[child, STAKE] * (showdown if below == SHOWDOWN else sign)
                            action_values[top, action] = value * (boosts[top] / chances[top, action])
                        action += 1
                    if action < num_actions:
                        frames[top, 2] = action
                        boost = boosts[top] / chances[top, action]
                        node = np.uint64(nodes[node, FIRST_CHILD] + action)
                        break
                    record = np.uint64(frames[top, 1])
                    total = 0.0
                    value = 0.0
                    flat = 0.0
                    for action in range(num_actions):
                        share = max(np.float64(values[record + np.uint64(action)]), 0.0)
                        total += share
                        value += share * action_values[top, action]
                        flat += action_values[top, action]
                    value = value / total if total > 0.0 else flat / num_actions
                    for action in range(num_actions):
                        gain = regret_weight * (action_values[top, action] - value)
                        scratch[action] = gain if chances[top, action] >= 0.0 else 0.0
                    _add(
                        values,
                        record,
                        num_actions,
                        record - np.uint64(1),
                        0,
                        scratch,
                        least,
                        _rounding_bits(~random, record),
                    )
                    depth -= 1
                else:
                    break
    return touched


@nb.njit(cache=True, nogil=True, error_model="numpy")
def walk_whole_deals(
    first,
    seed,
    nodes,
    rows,
    outcome,
    weights,
    values,
    floor,
    reach,
    chances,
    node_values,
    scratch,
):
    """One iteration of chance sampling for each deal; number of nodes visited.

    Args:
        first, seed, nodes, rows, outcome, weights, values, floor: as in `walk_deals`.
        reach: float64 [node, player]: with which probability each player plays to a node.
        chances: float64 [node]: the probability of the action that leads to a node.
        node_values: float64 [node]: what player 0 wins on average from there.
        scratch: float64 [action].

    Both players are updated at once: no record is met twice in a deal, so all strategies are those of
    before. Nodes are numbered parents first, so that the walk down is a loop over nodes, and the walk up one
    backwards. What neither player plays to is left out: nothing there would change.
    """
    touched = 0
    num_nodes = nodes.shape[0]
    for deal in range(rows.shape[0]):
        regret_weight, average_weight = weights[deal, 0], weights[deal, 1]
        least = floor * regret_weight
        random = _seeded(seed, first + deal, 0)
        reach[0, 0] = reach[0, 1] = 1.0
        for number in range(num_nodes):
            node = np.uint64(number)
            own, other = reach[node, 0], reach[node, 1]
            kind = nodes[node, KIND]
            num_actions = nodes[node, NUM_ACTIONS]
            child = np.uint64(nodes[node, FIRST_CHILD])
            if own == 0.0 and other == 0.0:
                for action in range(num_actions):
                    reach[child + np.uint64(action), 0] = 0.0
                    reach[child + np.uint64(action), 1] = 0.0
                continue
            touched += 1
            if kind > 1:
                node_values[node] = nodes[node, STAKE] * (outcome[deal] if kind == SHOWDOWN else 1)
                continue
            record = np.uint64(rows[deal, kind, nodes[node, ROUND]] + nodes[node, RECORD])
            total = 0.0
            for action in range(num_actions):
                total += max(np.float64(values[record + np.uint64(action)]), 0.0)
            for action in range(num_actions):
                share = max(np.float64(values[record + np.uint64(action)]), 0.0)
                chance = share / total if total > 0.0 else 1.0 / num_actions
                chances[child] = chance
                reach[child, 0] = own * chance if kind == 0 else own
                reach[child, 1] = other * chance if kind == 1 else other
                child += np.uint64(1)
        for number in range(num_nodes - 1, -1, -1):
            node = np.uint64(number)
            kind = nodes[node, KIND]
            if kind > 1 or (reach[node, 0] == 0.0 and reach[node, 1] == 0.0):
                continue
            num_actions = nodes[node, NUM_ACTIONS]
            first_child = np.uint64(nodes[node, FIRST_CHILD])
            record = np.uint64(rows[deal, kind, nodes[node, ROUND]] + nodes[node, RECORD])
            header = record - np.uint64(1)
            value = 0.0
            for action in range(num_actions):
                child = first_child + np.uint64(action)
                if chances[child] > 0.0:  # values of what neither plays to were not computed
                    value += chances[child] * node_values[child]
            node_values[node] = value
            bits = _rounding_bits(random, record)
            counterfactual = reach[node, 1 - kind]
            if counterfactual > 0.0:
                weight = regret_weight * counterfactual * (1.0 if kind == 0 else -1.0)
                for action in range(num_actions):
                    scratch[action] = weight * (node_values[first_child + np.uint64(action)] - value)
                _add(values, record, num_actions, header, 0, scratch, least, bits)
            if reach[node, kind] > 0.0 and nodes[node, FLAGS] & HAS_AVERAGE:
                weight = average_weight * reach[node, kind]
                for action in range(num_actions):
                    scratch[action] = weight * chances[first_child + np.uint64(action)]
                average = record + np.uint64(num_actions)
                _add(values, average, num_actions, header, 8, scratch, 0.0, ~bits)
    return touched


@nb.njit(cache=True, nogil=True, error_model="numpy")
def discount_regrets(
    values, start, row_length, num_rows, records, positive, negative, scratch, seed, iteration
):
    """Multiply the regrets of a round by a factor for their sign.

    Args:
        values: float32 or int16, modified in place.
        start, row_length, num_rows: of the rows of the round.
        records: int64 [decision, 2]: place of a record in a row, number of actions.
        positive, negative: the factors.
        scratch: float64 [action].
        seed, iteration: for the rounding.
    """
    random = _seeded(seed, iteration, 3)
    for row in range(num_rows):
        for decision in range(records.shape[0]):
            record = np.uint64(start + row * row_length + records[decision, 0])
            header = record - np.uint64(1)
            unit = _unit(values, header, 0)
            for action in range(records[decision, 1]):
                regret = values[record + np.uint64(action)] * unit
                scratch[action] = ((positive if regret > 0.0 else negative) - 1.0) * regret
            bits = _rounding_bits(random, record)
            _add(values, record, records[decision, 1], header, 0, scratch, -np.inf, bits)

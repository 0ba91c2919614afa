"""Compiled passes over [hand, history] for one betting round on one board.

The histories that lead into a round are packed into blocks of LANES lanes whose betting in the round has
the same shape. For each shape there is a program: instructions that compute reach probabilities of the
opponent on the way down and counterfactual values of the player on the way up, each over all live hands
and the lanes of a block at once. Hands come in the order of their strength in the last round.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from .lanes import LANES, load, maximum, splat, store

# Operations. REACH: reach[target] = reach[source] * the opponent's probability. The leaves FOLD, SHOWDOWN
# and NEXT write values[target] from reach[source] or from the next round. ADD and MAXIMUM combine
# values[source] with values[target]; MIX adds it weighted by the player's own probability, and SCALE
# multiplies values[target] by that.
REACH, FOLD, SHOWDOWN, NEXT, ADD, MAXIMUM, MIX, SCALE = range(8)
# Columns of a program.
OPERATION, TARGET, SOURCE, ENTRY = range(4)


def sort_hands(strength: np.ndarray, hand_cards: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Live hands by ascending strength.

    Args:
        strength: uint16 [hand], 0 for hands that share a card with the board.
        hand_cards: int64 [hand, 2].

    Returns:
        hands int64 [live], their card numbers int64 [live, 2], and where groups of equal strength begin,
        int64 [groups + 1], the last one being the number of live hands.
    """
    order = np.argsort(strength, kind="stable")
    hands = order[np.count_nonzero(strength == 0) :]
    ranks = strength[hands]
    starts = np.flatnonzero(np.concatenate([[True], ranks[1:] != ranks[:-1], [True]]))
    return hands, hand_cards[hands], starts


@nb.njit(cache=True, nogil=True)
def pass_down(
    block_program, programs, block_next, next_lane, hands, buckets, chances, reach_in, reach_out, reach
):
    """Reach probabilities of the opponent at the histories that go on to the next round.

    block_program: int64 [block, 2]: first and last + 1 instruction of the block's program.
    programs: int64 [instruction, 4].
    block_next: int64 [block]: the block's first row of next_lane.
    next_lane: int64 [row, LANES]: where a continuing history's lane stands in the next round, -1: nowhere.
    hands: int64 [live]; buckets: int64 [live], the opponent's buckets.
    chances: float [block, bucket, opponent action, LANES]: the opponent's probabilities.
    reach_in: float [block, hand, LANES]; reach_out: float [next block, hand, LANES], modified in place.
    reach: float [slot, live or more, LANES], scratch.
    """
    live = hands.shape[0]
    num_hands = reach_in.shape[1]
    for block in range(block_program.shape[0]):
        for i in range(live):
            store(reach, i, load(reach_in, block * num_hands + hands[i]))
        for at in range(block_program[block, 0], block_program[block, 1]):
            operation, entry = programs[at, OPERATION], programs[at, ENTRY]
            if operation == REACH:
                target, source = reach[programs[at, TARGET]], reach[programs[at, SOURCE]]
                _multiply(target, source, block, entry, buckets, chances)
            elif operation == NEXT:
                lanes = next_lane[block_next[block] + entry]
                source = reach[programs[at, SOURCE]]
                for lane in range(LANES):
                    if lanes[lane] >= 0:
                        out = reach_out[lanes[lane] // LANES]
                        place = lanes[lane] % LANES
                        for i in range(live):
                            out[hands[i], place] = source[i, lane]


@nb.njit(cache=True, nogil=True)
def pass_up(
    block_program, programs, block_next, next_lane, block_leaf, amounts, hands, cards, groups,
    buckets, chances, own_buckets, own_chances, reach_in, value_next, weight, value_out, reach, values,
    by_card,
):  # fmt: skip
    """Counterfactual values of a round, times weight, added to value_out.

    As `pass_down`, and:
    block_leaf: int64 [block]: the block's first row of amounts.
    amounts: float [row, LANES]: chips that the player wins at a fold, or the stake of a showdown.
    cards: int64 [live, 2]; groups: int64, from `sort_hands` (needed where the programs hold showdowns).
    own_buckets, own_chances: the player's own buckets and probabilities, used by mixing programs.
    value_next: float [next block, hand, LANES]: values of the histories that go on.
    value_out: float [block, hand, LANES], modified in place.
    values: float [slot, live or more, LANES], scratch.
    by_card: float [card, LANES], scratch.
    """
    live = hands.shape[0]
    num_hands = reach_in.shape[1]
    for block in range(block_program.shape[0]):
        for i in range(live):
            store(reach, i, load(reach_in, block * num_hands + hands[i]))
        for at in range(block_program[block, 0], block_program[block, 1]):
            operation = programs[at, OPERATION]
            entry = programs[at, ENTRY]
            if operation == REACH:
                target, source = reach[programs[at, TARGET]], reach[programs[at, SOURCE]]
                _multiply(target, source, block, entry, buckets, chances)
                continue
            target = values[programs[at, TARGET]]
            if operation == FOLD:
                source = reach[programs[at, SOURCE]]
                _fold(amounts[block_leaf[block] + entry], cards, source, target, by_card)
            elif operation == SHOWDOWN:
                source = reach[programs[at, SOURCE]]
                _showdown(amounts[block_leaf[block] + entry], cards, groups, source, target, by_card)
            elif operation == NEXT:
                _gather(next_lane[block_next[block] + entry], hands, value_next, target)
            elif operation == SCALE:
                _multiply(target, target, block, entry, own_buckets, own_chances)
            elif operation == MIX:
                source = values[programs[at, SOURCE]]
                _multiply(source, source, block, entry, own_buckets, own_chances)
                _add(live, target, source)
            elif operation == ADD:
                _add(live, target, values[programs[at, SOURCE]])
            else:
                _maximum(live, target, values[programs[at, SOURCE]])
        factor = splat(values, weight)
        for i in range(live):
            row = block * num_hands + hands[i]
            store(value_out, row, load(value_out, row) + factor * load(values, i))


@nb.njit(cache=True, nogil=True)
def _multiply(target, source, block, entry, buckets, chances):
    """target = source * the probability of an action in each hand's bucket."""
    stride = chances.shape[2]
    first = block * chances.shape[1] * stride + entry
    for i in range(buckets.shape[0]):
        store(target, i, load(source, i) * load(chances, first + buckets[i] * stride))


@nb.njit(cache=True, nogil=True)
def _add(live, target, source):
    for i in range(live):
        store(target, i, load(target, i) + load(source, i))


@nb.njit(cache=True, nogil=True)
def _maximum(live, target, source):
    for i in range(live):
        store(target, i, maximum(load(target, i), load(source, i)))


@nb.njit(cache=True, nogil=True)
def _gather(lanes, hands, value_next, target):
    """Values of the next round, from wherever each lane stands there."""
    for lane in range(LANES):
        if lanes[lane] >= 0:
            source = value_next[lanes[lane] // LANES]
            place = lanes[lane] % LANES
            for i in range(hands.shape[0]):
                target[i, lane] = source[hands[i], place]
        else:
            for i in range(hands.shape[0]):
                target[i, lane] = 0.0


@nb.njit(cache=True, nogil=True)
def _fold(amount, cards, reach, target, by_card):
    """The amount times the opponent's reach over the hands that share no card with the own one."""
    by_card[:] = 0.0
    total = splat(reach, 0.0)
    for i in range(cards.shape[0]):
        weight = load(reach, i)
        total = total + weight
        store(by_card, cards[i, 0], load(by_card, cards[i, 0]) + weight)
        store(by_card, cards[i, 1], load(by_card, cards[i, 1]) + weight)
    chips = load(amount, 0)
    for i in range(cards.shape[0]):
        others = total - load(by_card, cards[i, 0]) - load(by_card, cards[i, 1]) + load(reach, i)
        store(target, i, chips * others)


@nb.njit(cache=True, nogil=True)
def _showdown(stake, cards, groups, reach, target, by_card):
    """The stake times the opponent's reach over weaker hands less that over stronger ones.

    One sweep by ascending strength: what a hand beats (before its group of equals) plus what it does not
    lose to (after it) less everything, each without the hands that share a card with it.
    """
    by_card[:] = 0.0
    total = splat(reach, 0.0)
    for group in range(groups.shape[0] - 1):
        begin, end = groups[group], groups[group + 1]
        for i in range(begin, end):
            before = total - load(by_card, cards[i, 0]) - load(by_card, cards[i, 1])
            store(target, i, before)
        for i in range(begin, end):
            weight = load(reach, i)
            total = total + weight
            store(by_card, cards[i, 0], load(by_card, cards[i, 0]) + weight)
            store(by_card, cards[i, 1], load(by_card, cards[i, 1]) + weight)
        for i in range(begin, end):
            after = total - load(by_card, cards[i, 0]) - load(by_card, cards[i, 1])
            store(target, i, load(target, i) + after)
    chips = load(stake, 0)
    for i in range(cards.shape[0]):
        # The own hand's reach would enter once before and once after: it cancels out.
        others = total - load(by_card, cards[i, 0]) - load(by_card, cards[i, 1])
        store(target, i, chips * (load(target, i) - others))

"""Compiled passes over [hand, history] for one betting round on one board.

The histories that lead into a round are packed into blocks of LANES lanes whose betting in the round has
the same shape. For each shape there is a program: instructions that compute reach probabilities of the
opponent on the way down and counterfactual values of the player on the way up, each over all live hands
and the lanes of a block at once. Hands come in the order of their strength in the last round.
"""

from __future__ import annotations

import numba as nb
import numpy as np

from ..game.strength import MAX_STRENGTH
from .lanes import LANES, greater, load, maximum, splat, store

# Operations. REACH: reach[target] = reach[source] * the opponent's probability of an action.
# LEAVES: the fold and the showdown after a decision node, together.
# NEXT: values of histories that go on. Both combine their value with values[target] as the mode says.
# COMBINE does so with values[source].
# VISIT: the reach with which the opponent comes to a node of his, added up by his buckets.
REACH, LEAVES, NEXT, COMBINE, VISIT = range(5)
# Columns of a program. ENTRY is the number of an action (REACH), of a row of next_lane (NEXT), of the
# fold's amount (LEAVES) or of an opponent's node (VISIT); SHOWDOWN that of the showdown's stake; -1 for none.
# At the opponent's nodes CHANCE and SHOWDOWN_CHANCE number his actions of folding and calling, which weigh
# his reach; OWN and SHOWDOWN_OWN number the player's own actions where they are mixed, learnt from or
# chosen; -1 for none. Where actions are chosen, FIRST_OWN is the first one of the node and BEFORE has a bit
# for each one that was looked at before, counted from there.
OPERATION, MODE, TARGET, SOURCE, ENTRY, CHANCE, OWN, SHOWDOWN, SHOWDOWN_CHANCE, SHOWDOWN_OWN, FRESH = (
    range(11)
)
FIRST_OWN, BEFORE = 11, 12
COLUMNS = 13
# Modes: values[target] gains the value, or becomes the larger of the two; FRESH: it is set to the value.
# TRAIN: as ADD, weighted by the own probability, and the value of the action is added up by own buckets.
# CHOOSE: as MAXIMUM, and the own probabilities become 1 for the best action and 0 for the others.
ADD, MAXIMUM, TRAIN, CHOOSE = range(4)


@nb.njit(cache=True, nogil=True)
def pass_down(
    first_block, last_block, block_program, programs, block_next, next_lane, hands, buckets, chances,
    reach_in, reach_out, reach,
):  # fmt: skip
    """Reach probabilities of the opponent at the histories that go on to the next round.

    first_block, last_block: the range of blocks, the last one not included.
    block_program: int64 [block, 2]: first and last + 1 instruction of the block's program.
    programs: int64 [instruction, COLUMNS].
    block_next: int64 [block]: the block's first row of next_lane.
    next_lane: int64 [row, LANES]: where a continuing history's lane stands in the next round, -1: nowhere.
    hands: int64 [live]; buckets: int64 [live], the opponent's buckets.
    chances: float [block, bucket, opponent action, LANES]: the opponent's probabilities; with one block
        only, it holds those of whatever block is at work.
    reach_in: float [block, hand, LANES]; reach_out: float [next block, hand, LANES], modified in place.
    reach: float [slot, live or more, LANES], scratch.
    """
    live = hands.shape[0]
    num_hands = reach_in.shape[1]
    for block in range(first_block, last_block):
        chance_block = block if chances.shape[0] > 1 else 0
        for i in range(live):
            store(reach, i, load(reach_in, block * num_hands + hands[i]))
        for at in range(block_program[block, 0], block_program[block, 1]):
            operation, entry = programs[at, OPERATION], programs[at, ENTRY]
            if operation == REACH:
                _reach(
                    reach[programs[at, TARGET]],
                    reach[programs[at, SOURCE]],
                    chance_block,
                    entry,
                    buckets,
                    chances,
                )
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
    first_block, last_block, block_program, programs, block_next, next_lane, block_leaf, amounts, hands,
    cards, groups, buckets, chances, own_buckets, own_chances, gains, visits, scale, reach_in, value_next,
    weight, value_out, reach, values, by_card,
):  # fmt: skip
    """Counterfactual values of a round, times weight, added to value_out.

    As `pass_down`, and:
    block_leaf: int64 [block]: the block's first row of amounts.
    amounts: float [row, LANES]: chips that the player wins at a fold, or the stake of a showdown.
    cards: int64 [live, 2]; groups: int64, from `_sort_hands` (needed where the programs hold showdowns).
    own_buckets, own_chances: the player's own buckets and probabilities, used by walks that mix; where the
        program chooses, the probabilities are modified in place.
    gains: float, as own_chances: the values of actions, times scale, are added to it (TRAIN).
    visits: float [block, bucket, opponent's node, LANES]: the opponent's reach, times scale, is added to it
        (VISIT); without buckets it is left alone.
    value_next: float [next block, hand, LANES]: values of the histories that go on.
    value_out: float [block, hand, LANES], modified in place.
    values: float [slot, live or more, LANES]: scratch; the last slot is for sweeps.
    by_card: float [2, card + 1, LANES]: scratch.
    """
    live = hands.shape[0]
    num_hands = reach_in.shape[1]
    sweep = values[values.shape[0] - 1]
    for block in range(first_block, last_block):
        chance_block = block if chances.shape[0] > 1 else 0
        own_block = block if own_chances.shape[0] > 1 else 0
        for i in range(live):
            store(reach, i, load(reach_in, block * num_hands + hands[i]))
        for at in range(block_program[block, 0], block_program[block, 1]):
            program = programs[at]
            operation = program[OPERATION]
            if operation == REACH:
                _reach(
                    reach[program[TARGET]],
                    reach[program[SOURCE]],
                    chance_block,
                    program[ENTRY],
                    buckets,
                    chances,
                )
            elif operation == LEAVES:
                _leaves(
                    program, amounts[block_leaf[block] :], chance_block, own_block, cards, groups, buckets,
                    chances, own_buckets, own_chances, gains, scale, reach[program[SOURCE]],
                    values[program[TARGET]], sweep, by_card,
                )  # fmt: skip
            elif operation == VISIT:
                if visits.shape[1] > 0:
                    source = reach[program[SOURCE]]
                    _visit(source, chance_block, program[ENTRY], buckets, visits, scale)
            else:
                source = sweep
                if operation == NEXT:
                    _gather(next_lane[block_next[block] + program[ENTRY]], hands, value_next, sweep)
                else:
                    source = values[program[SOURCE]]
                _combine(
                    program, own_block, own_buckets, own_chances, gains, scale, source,
                    values[program[TARGET]],
                )  # fmt: skip
        factor = splat(values, weight)
        for i in range(live):
            row = block * num_hands + hands[i]
            store(value_out, row, load(value_out, row) + factor * load(values, i))


@nb.njit(cache=True, nogil=True)
def value_boards(
    first_block, last_block, block_program, programs, block_next, next_lane, block_leaf, amounts, hands,
    live, groups, num_groups, cards, buckets, chances, own_buckets, own_chances, gains, visits, scale,
    reach_in, weights, value_out, reach, values, by_card,
):  # fmt: skip
    """`pass_up` for several boards of the last round that the same histories lead to.

    All boards are valued block by block: what a block reads and writes stays in the cache.

    hands, live, groups, num_groups, cards: from `sort_boards`.
    buckets, own_buckets: int64 [board, hand], of hands in that order; weights: float64 [board].
    """
    for block in range(first_block, last_block):
        for board in range(hands.shape[0]):
            end = live[board]
            pass_up(
                block, block + 1, block_program, programs, block_next, next_lane, block_leaf, amounts,
                hands[board, :end], cards[board, :end], groups[board, : num_groups[board] + 1],
                buckets[board, :end], chances, own_buckets[board, :end], own_chances, gains, visits,
                scale * weights[board], reach_in, values, weights[board], value_out, reach, values, by_card,
            )  # fmt: skip


def sort_boards(
    strength: np.ndarray, hand_cards: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Live hands by ascending strength, and their numbers, groups of equals and cards.

    Args:
        strength: uint16 [board, hand], 0 for dead hands.
        hand_cards: int64 [hand, 2].

    Returns int64 hands [board, hand], live [board], groups [board, hand + 1] (where groups of equals begin;
    the last one's end follows), num_groups [board] and cards [board, hand, 2]; entries beyond the live
    hands mean nothing (they are valid numbers).
    """
    num_boards, num_hands = strength.shape
    hands = np.zeros((num_boards, num_hands), np.int64)
    groups = np.zeros((num_boards, num_hands + 1), np.int64)
    live, num_groups = np.empty(num_boards, np.int64), np.empty(num_boards, np.int64)
    starts = np.empty(MAX_STRENGTH + 2, np.int64)
    _sort_all(strength, starts, hands, live, groups, num_groups)
    return hands, live, groups, num_groups, hand_cards[hands]


@nb.njit(cache=True, nogil=True)
def _sort_all(strength, starts, hands, live, groups, num_groups):
    """`_sort_hands` for every board."""
    for board in range(strength.shape[0]):
        live[board], num_groups[board] = _sort_hands(
            strength[board], starts, hands[board], groups[board]
        )


@nb.njit(cache=True, nogil=True)
def _sort_hands(strength, starts, hands, groups):
    """Live hands by ascending strength and where groups of equals begin; their numbers.

    A counting sort: starts int64 [MAX_STRENGTH + 2], scratch. hands int64 [hand] and groups int64
    [hand + 1] are modified in place; the last group's end follows the beginnings.
    """
    starts[:] = 0
    for hand in range(strength.shape[0]):
        starts[strength[hand] + 1] += 1
    dead = starts[1]
    starts[1] = 0
    num_groups = 0
    for value in range(1, starts.shape[0] - 1):
        count = starts[value + 1]
        if count:
            groups[num_groups] = starts[value]
            num_groups += 1
        starts[value + 1] = starts[value] + count
    groups[num_groups] = strength.shape[0] - dead
    for hand in range(strength.shape[0]):
        if strength[hand]:
            hands[starts[strength[hand]]] = hand
            starts[strength[hand]] += 1
    return strength.shape[0] - dead, num_groups


@nb.njit(cache=True, nogil=True)
def _reach(target, source, block, action, buckets, chances):
    """target = source * the probability of an action in each hand's bucket."""
    stride = chances.shape[2]
    first = block * chances.shape[1] * stride + action
    for i in range(buckets.shape[0]):
        store(target, i, load(source, i) * load(chances, first + buckets[i] * stride))


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
def _visit(reach, block, node, buckets, visits, scale):
    """Add the reach, times scale, to the opponent's buckets at one of his nodes."""
    stride = visits.shape[2]
    first = block * visits.shape[1] * stride + node
    factor = splat(visits, scale)
    for i in range(buckets.shape[0]):
        row = first + buckets[i] * stride
        store(visits, row, load(visits, row) + factor * load(reach, i))


@nb.njit(cache=True, nogil=True)
def _combine(program, block, own_buckets, own_chances, gains, scale, source, target):
    """Combine source with target as the mode says, weighted by the own probability if there is one."""
    mode, own, fresh, before = program[MODE], program[OWN], program[FRESH], program[BEFORE]
    stride = own_chances.shape[2]
    first = block * own_chances.shape[1] * stride
    factor = splat(gains, scale)
    for i in range(own_buckets.shape[0]):
        value = load(source, i)
        row = first + own_buckets[i] * stride
        if mode == CHOOSE:
            if fresh == 0:
                best = load(target, i)
                _choose(row + program[FIRST_OWN], before, row + own, value, best, own_chances)
                value = maximum(value, best)
            else:  # for want of others
                store(own_chances, row + own, splat(own_chances, 1.0))
        else:
            if mode == TRAIN:
                store(gains, row + own, load(gains, row + own) + factor * value)
            if own >= 0:
                value = value * load(own_chances, row + own)
            if fresh == 0:
                value = maximum(value, load(target, i)) if mode == MAXIMUM else value + load(target, i)
        store(target, i, value)


@nb.njit(cache=True, nogil=True)
def _choose(first, before, own, value, best, own_chances):
    """An action is chosen in the lanes where its value is above the best so far.

    first: row of the node's first action; before: bits of the actions looked at so far; own: row of this one.
    """
    better = greater(value, best)
    keep = splat(own_chances, 1.0) - better
    other = first
    while before:
        if before & 1:
            store(own_chances, other, keep * load(own_chances, other))
        before >>= 1
        other += 1
    store(own_chances, own, better)


@nb.njit(cache=True, nogil=True)
def _leaves(
    program, amounts, block, own_block, cards, groups, buckets, chances, own_buckets, own_chances, gains,
    scale, reach, target, sweep, by_card,
):  # fmt: skip
    """Values of the fold and the showdown after a decision node, combined with target.

    A fold is worth its amount times the opponent's reach over the hands that share no card with the own
    one; a showdown its stake times the reach over weaker hands less that over stronger ones.
    """
    mode, fold, showdown = program[MODE], program[ENTRY], program[SHOWDOWN]
    fold_chance, fold_own = program[CHANCE], program[OWN]
    showdown_own = program[SHOWDOWN_OWN]
    before = after = program[BEFORE]
    if showdown >= 0:
        after = before | (1 << (showdown_own - program[FIRST_OWN]))
    deck = by_card.shape[1] - 1
    sums = by_card[0]
    fold_sums = by_card[0]
    if showdown >= 0:
        _sweep(reach, block, program[SHOWDOWN_CHANCE], buckets, chances, cards, groups, sums, sweep)
    if fold >= 0 and (showdown < 0 or fold_chance >= 0):  # else both leaves have the same reach
        fold_sums = by_card[1]
        _sum(reach, block, fold_chance, buckets, chances, cards, fold_sums)
    total, fold_total = load(sums, deck), load(fold_sums, deck)
    stake, chips = load(amounts, max(showdown, 0)), load(amounts, max(fold, 0))
    factor = splat(gains, scale)
    stride, own_stride = chances.shape[2], own_chances.shape[2]
    first = block * chances.shape[1] * stride
    own_first = own_block * own_chances.shape[1] * own_stride
    for i in range(cards.shape[0]):
        own_row = own_first + own_buckets[i] * own_stride
        fresh = program[FRESH]
        value = load(target, i)
        if showdown >= 0:
            # The own hand's reach would enter once before and once after its group: it cancels out.
            others = total - load(sums, cards[i, 0]) - load(sums, cards[i, 1])
            shown = stake * (load(sweep, i) - others)
            if mode == CHOOSE:
                row = own_row + showdown_own
                if fresh == 0:
                    _choose(own_row + program[FIRST_OWN], before, row, shown, value, own_chances)
                else:
                    store(own_chances, row, splat(own_chances, 1.0))
            else:
                if mode == TRAIN:
                    row = own_row + showdown_own
                    store(gains, row, load(gains, row) + factor * shown)
                if showdown_own >= 0:
                    shown = shown * load(own_chances, own_row + showdown_own)
            if fresh == 0:
                shown = maximum(shown, value) if mode in (MAXIMUM, CHOOSE) else shown + value
            value = shown
            fresh = 0
        if fold >= 0:
            weight = load(reach, i)
            if fold_chance >= 0:
                weight = weight * load(chances, first + buckets[i] * stride + fold_chance)
            others = fold_total - load(fold_sums, cards[i, 0]) - load(fold_sums, cards[i, 1])
            folded = chips * (others + weight)  # the own hand was taken off twice
            if mode == CHOOSE:
                row = own_row + fold_own
                if fresh == 0:
                    _choose(own_row + program[FIRST_OWN], after, row, folded, value, own_chances)
                else:
                    store(own_chances, row, splat(own_chances, 1.0))
            else:
                if mode == TRAIN:
                    row = own_row + fold_own
                    store(gains, row, load(gains, row) + factor * folded)
                if fold_own >= 0:
                    folded = folded * load(own_chances, own_row + fold_own)
            if fresh == 0:
                folded = maximum(folded, value) if mode in (MAXIMUM, CHOOSE) else folded + value
            value = folded
        store(target, i, value)


@nb.njit(cache=True, nogil=True)
def _sum(reach, block, action, buckets, chances, cards, sums):
    """Reach (times the probability of an action, if one is given) by card; the last row is the total."""
    sums[:] = 0.0
    stride = chances.shape[2]
    first = block * chances.shape[1] * stride + action
    total = load(sums, 0)
    for i in range(cards.shape[0]):
        weight = load(reach, i)
        if action >= 0:
            weight = weight * load(chances, first + buckets[i] * stride)
        total = total + weight
        store(sums, cards[i, 0], load(sums, cards[i, 0]) + weight)
        store(sums, cards[i, 1], load(sums, cards[i, 1]) + weight)
    store(sums, sums.shape[0] - 1, total)


@nb.njit(cache=True, nogil=True)
def _sweep(reach, block, action, buckets, chances, cards, groups, sums, out):
    """As `_sum`; out gets the reach over the hands that each hand beats and over those it does not lose to.

    By ascending strength: what comes before a hand's group of equals plus what has come after it, without
    the hands that share one of its cards.
    """
    sums[:] = 0.0
    stride = chances.shape[2]
    first = block * chances.shape[1] * stride + action
    total = load(sums, 0)
    for group in range(groups.shape[0] - 1):
        begin, end = groups[group], groups[group + 1]
        for i in range(begin, end):
            store(out, i, total - load(sums, cards[i, 0]) - load(sums, cards[i, 1]))
        for i in range(begin, end):
            weight = load(reach, i)
            if action >= 0:
                weight = weight * load(chances, first + buckets[i] * stride)
            total = total + weight
            store(sums, cards[i, 0], load(sums, cards[i, 0]) + weight)
            store(sums, cards[i, 1], load(sums, cards[i, 1]) + weight)
        for i in range(begin, end):
            after = total - load(sums, cards[i, 0]) - load(sums, cards[i, 1])
            store(out, i, load(out, i) + after)
    store(sums, sums.shape[0] - 1, total)

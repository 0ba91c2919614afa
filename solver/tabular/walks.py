"""The compiled walks of sampled CFR; what they do is said in `sampled`."""

from __future__ import annotations

import numba as nb
import numpy as np

from .game import CHANCE, TERMINAL

# Columns of the node records, four to a cache line. The slot is, by kind: where the regrets of the
# information set begin; where the outcomes of chance begin; which payoff.
KIND, COUNT, SLOT, CHILD = range(4)

EXTERNAL, OUTCOME, ALL_ACTIONS, AVERAGE_STRATEGY = range(4)
NO_BASELINE, INFOSET, HISTORY = range(3)

WEIGHTS = (
    "gain",
    "average_weight",
    "positive",
    "negative",
    "floor",
    "discount_first",
)  # of an iteration
_GAIN, _AVERAGE, _POSITIVE, _NEGATIVE, _FLOOR, _DISCOUNT_FIRST = range(6)
# Along a line of play: the probability that the traverser tried his actions on it, and, in chance sampling,
# the traverser's reach and the other player's.
_TRIED, _OWN, _OTHER = range(3)


@nb.njit(cache=True, nogil=True, inline="always")
def _seeded(seed, iteration, stream):
    """Start of a stream of random numbers: a hash of seed, iteration and stream (SplitMix64)."""
    state = np.uint64(seed) * np.uint64(0xD1342543DE82EF95) + np.uint64(iteration) * np.uint64(4)
    state = (state + np.uint64(stream)) * np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    return (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)


@nb.njit(cache=True, nogil=True, inline="always")
def _uniform(state):
    """Number in [0, 1) from the state of a stream, which grows by a constant between two draws
    (SplitMix64, Steele, Lea and Flood 2014).
    """
    z = state
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@nb.njit(cache=True, nogil=True, error_model="numpy")
def external_walks(
    first,
    count,
    period,
    weights,
    seed,
    nodes,
    outcomes,
    odds,
    payoffs,
    slots,
    values,
    frames,
    action_values,
):
    """External sampling without baseline, iterations first, first + 1, ...; number of nodes visited.

    weights: float64 [period, 6], columns as in WEIGHTS, the first row for the first iteration's period.
    nodes, outcomes, odds, payoffs: see packed.PackedGame.
    slots: int64 [infoset, 2]: where its regrets begin in values, and its number of actions.
    values: float64: of each information set the regrets, then the averages; modified in place.
    frames, action_values: the traverser's nodes above the current one, [depth, 4] and [depth, action].

    A value passes through the nodes of the other player and of chance unchanged, so that only the
    traverser's are pushed on the stack. The same walks as those of `walks`, in half the time.
    """
    touched = 0
    row, done = 0, first % period
    for iteration in range(first, first + count):
        now = weights[row]
        gain, average_weight, floor = now[_GAIN], now[_AVERAGE], now[_FLOOR] != 0
        if now[_DISCOUNT_FIRST] != 0 and done == 0:
            _discount(now[_POSITIVE], now[_NEGATIVE], slots, values)
        for traverser in range(2):
            random = _seeded(seed, iteration, traverser)
            sign = 1.0 if traverser == 0 else -1.0
            depth = 0
            node = np.uint64(0)
            while True:
                touched += 1
                kind = nodes[node, KIND]
                num_actions = nodes[node, COUNT]
                slot = np.uint64(nodes[node, SLOT])
                child = nodes[node, CHILD]
                if kind == traverser:
                    frames[depth, 0] = slot
                    frames[depth, 1] = child
                    frames[depth, 2] = num_actions
                    frames[depth, 3] = 0
                    depth += 1
                    node = np.uint64(child)
                    continue
                if kind <= 1:
                    total = 0.0
                    for action in range(num_actions):
                        total += max(values[slot + np.uint64(action)], 0.0)
                    random += np.uint64(0x9E3779B97F4A7C15)
                    draw = _uniform(random)
                    if total > 0.0:
                        left = draw * total
                        scale = average_weight / total
                        passed = 0.0
                        chosen = 0
                        for action in range(num_actions):
                            share = max(values[slot + np.uint64(action)], 0.0)
                            values[slot + np.uint64(num_actions + action)] += scale * share
                            passed += share
                            chosen += left >= passed
                        chosen = min(chosen, num_actions - 1)
                    else:
                        for action in range(num_actions):
                            values[slot + np.uint64(num_actions + action)] += (
                                average_weight / num_actions
                            )
                        chosen = int(draw * num_actions)
                    node = np.uint64(child + chosen)
                    continue
                if kind == CHANCE:
                    random += np.uint64(0x9E3779B97F4A7C15)
                    draw = _uniform(random) * num_actions
                    outcome = int(draw)
                    if draw - outcome >= odds[slot + np.uint64(outcome), 0]:
                        outcome = outcomes[slot + np.uint64(outcome), 1]
                    node = np.uint64(outcomes[slot + np.uint64(outcome), 0])
                    continue
                value = payoffs[slot] * sign
                while depth > 0:
                    top = np.uint64(depth - 1)
                    action = frames[top, 3]
                    num_actions = frames[top, 2]
                    action_values[top, action] = value
                    if action + 1 < num_actions:
                        frames[top, 3] = action + 1
                        node = np.uint64(frames[top, 1] + action + 1)
                        break
                    slot = np.uint64(frames[top, 0])
                    total = 0.0
                    value = 0.0
                    flat = 0.0
                    for action in range(num_actions):
                        share = max(values[slot + np.uint64(action)], 0.0)
                        total += share
                        value += share * action_values[top, action]
                        flat += action_values[top, action]
                    value = value / total if total > 0.0 else flat / num_actions
                    for action in range(num_actions):
                        place = slot + np.uint64(action)
                        regret = values[place] + gain * (action_values[top, action] - value)
                        values[place] = max(regret, 0.0) if floor else regret
                    depth -= 1
                else:
                    break
        done += 1
        if done == period:
            if now[_DISCOUNT_FIRST] == 0:
                _discount(now[_POSITIVE], now[_NEGATIVE], slots, values)
            row += 1
            done = 0
    return touched


@nb.njit(cache=True, nogil=True)
def _discount(positive, negative, slots, values):
    """Multiply the regrets of all information sets, by sign."""
    if positive == 1.0 and negative == 1.0:
        return
    for infoset in range(len(slots)):
        first = slots[infoset, 0]
        for place in range(first, first + slots[infoset, 1]):
            values[place] *= positive if values[place] >= 0.0 else negative


@nb.njit(cache=True, nogil=True, inline="always")
def _share(values, slot, action, num_actions, total):
    """Probability of an action by regret matching, total being the sum of the positive regrets."""
    return max(values[slot + action], 0.0) / total if total > 0.0 else 1.0 / num_actions


@nb.njit(cache=True, nogil=True, error_model="numpy")
def walks(
    sampling,
    baseline,
    first,
    count,
    period,
    weights,
    seed,
    nodes,
    outcomes,
    odds,
    payoffs,
    slots,
    values,
    frames,
    action_values,
    drawn,
    reaches,
    views,
    baselines,
    expected,
    parameters,
    gains,
    stamps,
    met,
):
    """Iterations of any sampling with any baseline; number of nodes visited. Arguments as in
    external_walks, and

    drawn: float64 [depth, action]: the probability with which an action was drawn, 0 where it was not.
    reaches: float64 [depth, 3]: of the nodes on the stack (_TRIED, _OWN, _OTHER).
    views: int32 [traverser, node]: where the baselines of what the traverser sees there begin.
    baselines: float64 [entry of a view] or [node], in player 0's units; modified in place.
    expected: float64 [node]: at chance nodes the mean of the baselines behind them; modified in place.
    parameters: float64 [5]: exploration, epsilon, tau, beta, learning rate.
    gains, stamps, met: regrets of one walk of chance sampling, which may meet an information set
        several times and must find the same strategy each time: they are added at its end.

    Values are player 0's throughout. Every node that has to see the value behind it is on the stack.
    """
    exploration, epsilon, tau, beta, rate = parameters
    full = sampling == ALL_ACTIONS
    touched = 0
    row, done = 0, first % period
    for iteration in range(first, first + count):
        now = weights[row]
        gain, average_weight, floor = now[_GAIN], now[_AVERAGE], now[_FLOOR] != 0
        if now[_DISCOUNT_FIRST] != 0 and done == 0:
            _discount(now[_POSITIVE], now[_NEGATIVE], slots, values)
        for traverser in range(2):
            random = _seeded(seed, iteration, traverser)
            sign = 1.0 if traverser == 0 else -1.0
            tried, own, other = 1.0, 1.0, 1.0
            num_met = 0
            depth = 0
            node = 0
            while True:
                touched += 1
                kind = nodes[node, KIND]
                num_actions = nodes[node, COUNT]
                slot = nodes[node, SLOT]
                child = nodes[node, CHILD]
                value = 0.0
                if kind == TERMINAL:
                    value = payoffs[slot]
                elif kind == CHANCE:
                    random += np.uint64(0x9E3779B97F4A7C15)
                    draw = _uniform(random) * num_actions
                    outcome = int(draw)
                    if draw - outcome >= odds[slot + outcome, 0]:
                        outcome = outcomes[slot + outcome, 1]
                    if baseline == HISTORY:
                        frames[depth, 0] = node
                        frames[depth, 1] = outcome
                        reaches[depth, _TRIED] = tried
                        reaches[depth, _OWN] = own
                        reaches[depth, _OTHER] = other
                        depth += 1
                    node = outcomes[slot + outcome, 0]
                    continue
                else:
                    total = 0.0
                    for action in range(num_actions):
                        total += max(values[slot + action], 0.0)
                    mine = kind == traverser
                    if mine == full:  # whose average grows
                        weight = average_weight * own if full else average_weight / tried
                        for action in range(num_actions):
                            share = max(values[slot + action], 0.0)
                            values[slot + num_actions + action] += (
                                weight / total * share if total > 0.0 else weight / num_actions
                            )
                    chosen = 0
                    pushed = True
                    if full or (mine and sampling == EXTERNAL):
                        for action in range(num_actions):
                            drawn[depth, action] = 1.0
                    elif not mine:
                        random += np.uint64(0x9E3779B97F4A7C15)
                        draw = _uniform(random)
                        if total > 0.0:
                            left = draw * total
                            passed = 0.0
                            for action in range(num_actions):
                                passed += max(values[slot + action], 0.0)
                                chosen += left >= passed
                            chosen = min(chosen, num_actions - 1)
                        else:
                            chosen = int(draw * num_actions)
                        pushed = baseline != NO_BASELINE
                    elif sampling == OUTCOME:
                        random += np.uint64(0x9E3779B97F4A7C15)
                        draw = _uniform(random)
                        passed = 0.0
                        for action in range(num_actions):
                            share = _share(values, slot, action, num_actions, total)
                            share = exploration / num_actions + (1.0 - exploration) * share
                            drawn[depth, action] = share
                            passed += share
                            chosen += draw >= passed
                        chosen = min(chosen, num_actions - 1)
                        for action in range(num_actions):
                            if action != chosen:
                                drawn[depth, action] = 0.0
                    else:
                        profile = 0.0
                        for action in range(num_actions):
                            profile += values[slot + num_actions + action]
                        chosen = num_actions
                        for action in range(num_actions - 1, -1, -1):
                            share = 1.0
                            if beta + profile > 0.0:
                                share = beta + tau * values[slot + num_actions + action]
                                share = min(max(share / (beta + profile), epsilon), 1.0)
                            random += np.uint64(0x9E3779B97F4A7C15)
                            if _uniform(random) < share:
                                drawn[depth, action] = share
                                chosen = action
                            else:
                                drawn[depth, action] = 0.0
                    if pushed:
                        frames[depth, 0] = node
                        frames[depth, 1] = chosen
                        reaches[depth, _TRIED] = tried
                        reaches[depth, _OWN] = own
                        reaches[depth, _OTHER] = other
                        depth += 1
                    if chosen < num_actions:
                        if mine:
                            tried *= drawn[depth - 1, chosen]
                        if full:
                            share = _share(values, slot, chosen, num_actions, total)
                            if mine:
                                own *= share
                            else:
                                other *= share
                        node = child + chosen
                        continue

                # A value has been found, or the top node has drawn nothing: it goes up until a node has
                # another action to try.
                descends = False
                while depth > 0:
                    top = depth - 1
                    node = frames[top, 0]
                    chosen = frames[top, 1]
                    kind = nodes[node, KIND]
                    num_actions = nodes[node, COUNT]
                    slot = nodes[node, SLOT]
                    child = nodes[node, CHILD]
                    tried = reaches[top, _TRIED]
                    own = reaches[top, _OWN]
                    other = reaches[top, _OTHER]
                    if kind == CHANCE:
                        place = outcomes[slot + chosen, 0]
                        error = value - baselines[place]
                        value = expected[node] + error
                        baselines[place] += rate * error
                        expected[node] += odds[slot + chosen, 1] * (rate * error)
                        depth -= 1
                        continue
                    start = views[traverser, node] if baseline == INFOSET else child
                    total = 0.0
                    for action in range(num_actions):
                        total += max(values[slot + action], 0.0)
                    mine = kind == traverser
                    if not (mine or full):
                        mean = 0.0
                        for action in range(num_actions):
                            share = _share(values, slot, action, num_actions, total)
                            mean += share * baselines[start + action]
                        error = value - baselines[start + chosen]
                        value = mean + error
                        baselines[start + chosen] += rate * error
                        depth -= 1
                        continue
                    if chosen < num_actions:
                        if baseline == NO_BASELINE:
                            action_values[top, chosen] = value / drawn[top, chosen]
                        else:
                            error = value - baselines[start + chosen]
                            action_values[top, chosen] = (
                                baselines[start + chosen] + error / drawn[top, chosen]
                            )
                            baselines[start + chosen] += rate * error
                        chosen += 1
                        while chosen < num_actions and drawn[top, chosen] == 0.0:
                            chosen += 1
                    if chosen < num_actions:
                        frames[top, 1] = chosen
                        if mine:
                            tried *= drawn[top, chosen]
                        if full:
                            share = _share(values, slot, chosen, num_actions, total)
                            if mine:
                                own *= share
                            else:
                                other *= share
                        node = child + chosen
                        descends = True
                        break
                    value = 0.0
                    for action in range(num_actions):
                        if drawn[top, action] == 0.0:
                            action_values[top, action] = (
                                0.0 if baseline == NO_BASELINE else baselines[start + action]
                            )
                        share = _share(values, slot, action, num_actions, total)
                        value += share * action_values[top, action]
                    depth -= 1
                    if not mine:
                        continue
                    scale = sign * gain * other / tried
                    if full and stamps[slot] != 2 * iteration + traverser:
                        stamps[slot] = 2 * iteration + traverser
                        met[num_met, 0] = slot
                        met[num_met, 1] = num_actions
                        num_met += 1
                        for place in range(slot, slot + num_actions):
                            gains[place] = 0.0
                    for action in range(num_actions):
                        step = scale * (action_values[top, action] - value)
                        if full:
                            gains[slot + action] += step
                        else:
                            regret = values[slot + action] + step
                            values[slot + action] = max(regret, 0.0) if floor else regret
                if not descends:
                    break
            for number in range(num_met):
                for place in range(met[number, 0], met[number, 0] + met[number, 1]):
                    regret = values[place] + gains[place]
                    values[place] = max(regret, 0.0) if floor else regret
        done += 1
        if done == period:
            if now[_DISCOUNT_FIRST] == 0:
                _discount(now[_POSITIVE], now[_NEGATIVE], slots, values)
            row += 1
            done = 0
    return touched

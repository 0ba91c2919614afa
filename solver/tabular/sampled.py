"""Monte Carlo CFR on the tree of histories of any tabular game, with baselines.

One iteration walks the tree once for each player, the traverser. Where an action is drawn, the value of a
history h with strategy s (or the odds of chance) and sampling probabilities q is estimated from the actions
drawn, and from a baseline b where there is one (Schmid et al. 2019, equations 9 and 10):

    u(h) = sum over a of s(a) u(h, a),      u(h, a) = b(h, a) + [a was drawn] (u(ha) - b(h, a)) / q(a)

With b = 0 these are the sampled values of Lanctot et al. (2009). The traverser's regrets at h grow by
(u(h, a) - u(h)) times the reach of the others divided by the probability of coming to h; the samplings
differ in what is drawn:

- "external" (Lanctot, Waugh, Zinkevich and Bowling 2009): the traverser tries every action; one action of
  the other player and of chance is drawn by their own odds.
- "outcome" (the same paper): one action everywhere. The traverser explores: his is drawn from
  exploration / n + (1 - exploration) s.
- "average-strategy" (Gibson, Burch, Lanctot and Szafron 2012): the traverser tries an action with
  probability min(1, max(epsilon, (beta + tau C(a)) / (beta + sum of C))), C his average so far, each by a
  draw of its own; the rest as in external sampling.
- "chance" (Zinkevich, Johanson, Bowling and Piccione 2007): every action of both players on a sampled deal.

Averages. In the first three the average of the other player grows at each of his nodes by s over the
probability that the traverser came along: "stochastically weighted" averaging (Lanctot 2013), unbiased, not
the lazy or optimistic kinds. In chance sampling the traverser's grows by his own reach times s.

All randomness of an iteration comes from the seed and its number, so that a run that is broken off and goes
on takes the same walks as an unbroken one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numba as nb
import numpy as np

from ..regret import Scheme, make_scheme
from .full_width import normalised
from .game import CHANCE, TERMINAL, TabularGame

SAMPLINGS = ("external", "outcome", "chance", "average-strategy")
BASELINES = ("infoset", "history")
LEARNING_RATES = {"infoset": 0.05, "history": 0.5}  # hidden cards make noise, histories hide nothing
CHUNK = 1 << 17  # iterations in one call of a kernel
PERIOD = 100  # see Sampled, for schemes whose weights change
FOREVER = 1 << 62

_EXTERNAL, _OUTCOME, _ALL_ACTIONS, _AVERAGE_STRATEGY = range(4)  # as in SAMPLINGS
_NONE, _INFOSET, _HISTORY = range(3)

# Columns of the packed node records, four to a cache line. The slot is, by kind: where the regrets of the
# information set begin; where the outcomes of chance begin; which payoff.
_KIND, _COUNT, _SLOT, _CHILD = range(4)
_WEIGHTS = ("gain", "average_weight", "positive", "negative", "floor", "discount_first")
_GAIN, _AVERAGE, _POSITIVE, _NEGATIVE, _FLOOR, _DISCOUNT_FIRST = range(6)
# Along a line of play: the probability that the traverser tried his actions on it, and, in chance sampling,
# the traverser's reach and the other player's.
_TRIED, _OWN, _OTHER = range(3)
_NO_VIEWS = np.zeros((2, 1), np.int32)
_KEPT = ("values", "baselines", "expected")  # of a state


class Sampled:
    """A sampled solver on a TabularGame.

    Schemes: "cfr" is proven with all samplings (Lanctot et al. 2009) and baselines (Schmid et al. 2019);
    "lcfr" was used so by its authors (Brown and Sandholm 2019), "dcfr" likewise in their experiments; "cfr+"
    is a heuristic, since cutting noisy regrets at 0 biases them upwards: it is known to do badly without
    baselines. Schemes that predict the next regrets or multiply the average are refused.

    Baselines: one number for each action, b <- b + learning_rate (value drawn - b).

    - "history" (Davis, Schmid and Bowling 2020): for each action of each history and each outcome of chance.
      Once it has settled, nothing but the choice of the histories that are visited is left to chance.
    - "infoset" (Schmid et al. 2019): for each action at what the traverser sees, at his own and at the other
      player's moves; none for chance. The paper walks with all hands of a player at once. Here one history
      is walked, what the other holds makes most of the noise, and little is gained: a third of the variance
      in outcome sampling of Leduc poker, next to nothing in external sampling. (The paper also weights the
      value drawn by 1 / q in the update, which does not settle where q is below the rate.)

    Any baseline leaves the expected regrets as they are; a good one takes variance away.

    Args:
        game: the game's arrays.
        scheme: name or Scheme.
        sampling: one of SAMPLINGS.
        seed: everything random follows from it; 0 to 2**63 - 1.
        baseline: None or one of BASELINES; chance sampling only takes "history", for its deals.
        exploration: of outcome sampling, in (0, 1].
        epsilon, tau, beta: of average-strategy sampling; epsilon in (0, 1], the others from 0. The defaults
            are the paper's, for big games: an action is tried surely until beta / tau is less than what
            its average misses of the sum.
        learning_rate: of the baseline, in (0, 1]; default LEARNING_RATES.
        period: so many iterations count as one for the scheme: iteration i = 0, 1, ... has the weights of
            1 + i // period, and discounts take place at the end of a period (with the other order, at its
            start). Default 1 where the weights never change, else PERIOD: discounts sweep the whole table.
        regrets: float64 [sequence], cumulative regrets to start from, or None.

    Raises ValueError for arguments out of range and for schemes that do not go with sampling.
    """

    def __init__(
        self,
        game: TabularGame,
        scheme: str | Scheme = "lcfr",
        sampling: str = "external",
        seed: int = 0,
        baseline: str | None = None,
        *,
        exploration: float = 0.6,
        epsilon: float = 0.05,
        tau: float = 1000.0,
        beta: float = 1e6,
        learning_rate: float | None = None,
        period: int | None = None,
        regrets: np.ndarray | None = None,
    ):
        if sampling not in SAMPLINGS:
            raise ValueError(f"unknown sampling {sampling!r}: choose from {', '.join(SAMPLINGS)}")
        if baseline is not None and baseline not in BASELINES:
            raise ValueError(
                f"unknown baseline {baseline!r}: choose from {', '.join(BASELINES)}, or None"
            )
        if sampling == "chance" and baseline == "infoset":
            raise ValueError(
                "chance sampling draws nobody's actions: its baseline can only be 'history'"
            )
        if not 0 <= seed < 1 << 63:
            raise ValueError(f"a seed is a number from 0 to 2**63 - 1, got {seed}")
        if learning_rate is None:
            learning_rate = LEARNING_RATES.get(baseline or "", 1.0)
        shares = {"exploration": exploration, "epsilon": epsilon, "learning_rate": learning_rate}
        for name, value in shares.items():
            if not 0 < value <= 1:
                raise ValueError(f"{name} must be above 0 and at most 1, got {value}")
        for name, value in {"tau": tau, "beta": beta}.items():
            if not 0 <= value < np.inf:
                raise ValueError(f"{name} must be 0 or more, got {value}")
        if period is not None and period < 1:
            raise ValueError(f"a period has at least one iteration, got {period}")
        self.game, self.sampling, self.baseline, self.seed = game, sampling, baseline, seed
        self.scheme = _checked(make_scheme(scheme))
        self.iterations = 0
        self.touched_nodes = 0
        self._constant = _is_constant(self.scheme)
        self.period = period or (1 if self._constant else PERIOD)

        self._nodes, self._outcomes, self._odds, self._payoffs = _packed(game)
        entries = int(game.num_actions.sum())
        starts = np.cumsum(game.num_actions) - game.num_actions
        self._slots = np.stack([2 * starts, game.num_actions], axis=1).astype(np.int64)
        # Where the regret of each sequence stands, and one count of actions further its average.
        real = np.flatnonzero(game.sequence_infoset >= 0)
        infosets = game.sequence_infoset[real]
        self._sequences = real
        self._places = self._slots[infosets, 0] + real - game.first_sequence[infosets]
        self._values = np.zeros(2 * entries)
        if regrets is not None:
            if np.shape(regrets) != (game.num_sequences,):
                raise ValueError(f"regrets must have the shape ({game.num_sequences},): one a sequence")
            self._values[self._places] = np.asarray(regrets)[real]
        self._views, entries_of_views = _views(game) if baseline == "infoset" else (_NO_VIEWS, 1)
        self._baselines = np.zeros(game.num_nodes if baseline == "history" else entries_of_views)
        # What chance expects of the baselines behind each of its nodes, kept up to date.
        self._expected = np.zeros(game.num_nodes if baseline == "history" else 1)
        self._parameters = np.array([exploration, epsilon, tau, beta, learning_rate])
        depth = _depth(game.first_child, game.num_children, np.zeros(game.num_nodes, np.int32))
        width = int(game.num_children.max())
        self._frames = np.zeros((depth + 1, 4), np.int64)
        self._action_values = np.zeros((depth + 1, width + 1))
        self._drawn = np.zeros((depth + 1, width + 1))
        self._reaches = np.zeros((depth + 1, 3))
        deferred = sampling == "chance"
        self._gains = np.zeros(2 * entries if deferred else 1)
        self._stamps = np.full(len(self._gains), -1, np.int64)
        self._met = np.zeros((game.num_infosets if deferred else 1, 2), np.int64)

    @property
    def regrets(self) -> np.ndarray:
        """Cumulative sampled regrets, float64 [sequence]; a copy."""
        return self._column(0)

    def current_policy(self) -> np.ndarray:
        """The strategy of the next iteration, float64 [sequence]."""
        return normalised(self.game, np.maximum(self._column(0), 0.0))

    def average_policy(self) -> np.ndarray:
        """The average strategy, float64 [sequence]; uniform where no walk has come."""
        return normalised(self.game, self._column(1))

    def _column(self, number: int) -> np.ndarray:
        """Regrets (0) or averages (1) as float64 [sequence]."""
        found = np.zeros(self.game.num_sequences)
        sizes = self.game.num_actions[self.game.sequence_infoset[self._sequences]]
        found[self._sequences] = self._values[self._places + number * sizes]
        return found

    def state(self) -> dict[str, np.ndarray]:
        """All that is needed to go on bit for bit, copied: `np.savez(path, **solver.state())`."""
        numbers = np.array([self.iterations, self.touched_nodes])
        kept = {name: getattr(self, f"_{name}").copy() for name in _KEPT}
        return {"settings": np.array(self._settings()), "iterations": numbers} | kept

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a solver of the same game with the same settings.

        Raises ValueError for the state of another one.
        """
        for name in ("settings", "iterations", *_KEPT):
            if name not in state:
                raise ValueError(f"not a state of a sampled solver: it has no {name!r}")
        found, expected = str(state["settings"]), self._settings()
        if found != expected:
            raise ValueError(f"the state is that of {found}, the solver is {expected}")
        for name in _KEPT:
            if np.shape(state[name]) != getattr(self, f"_{name}").shape:
                raise ValueError(f"the state is that of another game: {name} has another shape")
        for name in _KEPT:
            getattr(self, f"_{name}")[...] = state[name]
        self.iterations, self.touched_nodes = (int(number) for number in state["iterations"])
        self._stamps[:] = -1

    def _settings(self) -> str:
        numbers = ", ".join(f"{number:g}" for number in self._parameters)
        return (
            f"{self.sampling} sampling, scheme {self.scheme}, baseline {self.baseline}, seed {self.seed}, "
            f"period {self.period}, parameters {numbers}"
        )

    def run(self, iterations: int) -> None:
        """Do that many more iterations. Raises ValueError for a negative number."""
        if iterations < 0:
            raise ValueError(f"the number of iterations must not be negative, got {iterations}")
        last = self.iterations + iterations
        while self.iterations < last:
            count = min(CHUNK, last - self.iterations)
            self.touched_nodes += self._chunk(self.iterations, count)
            self.iterations += count

    def _chunk(self, first: int, count: int) -> int:
        weights = self._weights(first, count)
        common = (
            first,
            count,
            FOREVER if self._constant else self.period,
            weights,
            self.seed,
            self._nodes,
            self._outcomes,
            self._odds,
            self._payoffs,
            self._slots,
            self._values,
            self._frames,
            self._action_values,
        )
        if self.sampling == "external" and self.baseline is None:
            return _external(*common)
        return _walks(
            SAMPLINGS.index(self.sampling),
            0 if self.baseline is None else 1 + BASELINES.index(self.baseline),
            *common,
            self._drawn,
            self._reaches,
            self._views,
            self._baselines,
            self._expected,
            self._parameters,
            self._gains,
            self._stamps,
            self._met,
        )

    def _weights(self, first: int, count: int) -> np.ndarray:
        """float64 [period, len(_WEIGHTS)] of the periods that these iterations belong to."""
        periods: range = range(1)
        if not self._constant:
            periods = range(first // self.period, (first + count - 1) // self.period + 1)
        found = [self.scheme.weights(1 + period) for period in periods]
        return np.array([[float(getattr(weights, name)) for name in _WEIGHTS] for weights in found])


def _checked(scheme: Scheme) -> Scheme:
    """Raises ValueError for schemes that do not go with sampling."""
    if scheme.predictive:
        raise ValueError(
            f"{scheme.name} predicts the next regrets from the last, which sampling does not see: "
            "choose cfr, cfr+, lcfr or dcfr, or no sampling"
        )
    if scheme.weights(2).average_decay != 1:
        raise ValueError(
            f"{scheme.name} is a schedule of full-width iterations: choose cfr, cfr+, lcfr or dcfr, or no "
            "sampling"
        )
    return scheme


def _is_constant(scheme: Scheme) -> bool:
    """Whether all iterations have the same weights and nothing is discounted."""
    weights = scheme.weights(1)
    same = weights == scheme.weights(2) == scheme.weights(10**15)
    return same and weights.average_weight > 0 and weights.positive == weights.negative == 1


def _packed(game: TabularGame) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Records of nodes int32 [node, 4] (_KIND, _COUNT, _SLOT, _CHILD); outcomes of chance int32
    [outcome, 2] (the node behind, the other outcome of the alias method) and float64 [outcome, 2]
    (threshold of the alias method, probability); payoffs of player 0, float64.

    Chance nodes that follow one another are one node with all their outcomes; those within are passed over.
    """
    nodes = np.zeros((game.num_nodes, 4), np.int32)
    nodes[:, _KIND], nodes[:, _COUNT] = game.kind, game.num_children
    nodes[:, _CHILD] = game.first_child
    acting = game.infoset >= 0
    nodes[acting, _SLOT] = 2 * (np.cumsum(game.num_actions) - game.num_actions)[game.infoset[acting]]
    ends = game.kind == TERMINAL
    payoffs, nodes[ends, _SLOT] = np.unique(game.utility[ends], return_inverse=True)

    within = np.zeros(game.num_nodes, bool)
    targets: list[int] = []
    odds: list[float] = []
    aliases: list[int] = []
    thresholds: list[float] = []
    for node in np.flatnonzero(game.kind == CHANCE).tolist():  # those above come first
        if within[node]:
            continue
        found: list[tuple[int, float]] = []
        waiting = [(node, 1.0)]
        while waiting:
            here, reach = waiting.pop()
            if game.kind[here] != CHANCE:
                found.append((here, reach))
                continue
            within[here] = True
            first, count = int(game.first_child[here]), int(game.num_children[here])
            waiting += [
                (child, reach * float(game.probability[child]))
                for child in reversed(range(first, first + count))
            ]
        found = [(child, reach) for child, reach in found if reach > 0]
        nodes[node, _COUNT], nodes[node, _SLOT] = len(found), len(targets)
        threshold, alias = _alias([reach for _, reach in found])
        targets += [child for child, _ in found]
        odds += [reach for _, reach in found]
        thresholds += threshold
        aliases += alias
    outcomes = np.array([targets, aliases], np.int32).reshape(2, -1).T.copy()
    return nodes, outcomes, np.array([thresholds, odds]).reshape(2, -1).T.copy(), payoffs


def _views(game: TabularGame) -> tuple[np.ndarray, int]:
    """Where the baselines of a node begin for each traverser, int32 [traverser, node], and how many there
    are in all.

    Nodes that the traverser cannot tell apart have them in common. At his own moves these are the nodes of
    an information set. At the other player's they have the same last move of his own, and each action leads
    to the same again: his next information set, another such view, chance, or the end.
    """
    starts = np.zeros((2, game.num_nodes), np.int32)
    entries = 0
    kinds, infosets = game.kind.tolist(), game.infoset.tolist()
    first, count = game.first_child.tolist(), game.num_children.tolist()
    for traverser in range(2):
        last = game.last_sequence[traverser].tolist()
        numbers: dict[tuple[int, ...], int] = {}
        begins: list[int] = []
        view = [0] * game.num_nodes
        for node in range(game.num_nodes - 1, -1, -1):  # those below come first
            kind = kinds[node]
            if kind == traverser:
                key: tuple[int, ...] = (kind, infosets[node])
            elif kind in (CHANCE, TERMINAL):
                key = (kind, last[node] if kind == CHANCE else 0)
            else:
                key = (kind, last[node], *view[first[node] : first[node] + count[node]])
            number = numbers.setdefault(key, len(numbers))
            if number == len(begins):
                begins.append(entries)
                entries += count[node] if kind < CHANCE else 0
            view[node] = number
        starts[traverser] = np.array(begins)[view]
    return starts, entries


def _alias(odds: list[float]) -> tuple[list[float], list[int]]:
    """Thresholds and other outcomes of the alias method (Walker 1977, by Vose's construction 1991): a
    column drawn uniformly stands for itself below its threshold in [0, 1], else for its other outcome.
    """
    count = len(odds)
    total = sum(odds)
    left = [odd * count / total for odd in odds]
    threshold, alias = [1.0] * count, list(range(count))
    small = [k for k in range(count) if left[k] < 1]
    large = [k for k in range(count) if left[k] >= 1]
    while small and large:
        low, high = small.pop(), large[-1]
        threshold[low], alias[low] = left[low], high
        left[high] -= 1 - left[low]
        if left[high] < 1:
            small.append(large.pop())
    return threshold, alias


@nb.njit(cache=True, nogil=True)
def _depth(first_child, num_children, depth):
    """Nodes below the root on the longest line; depth int32 [node] is filled."""
    for node in range(len(first_child)):  # parents stand before their children
        for child in range(first_child[node], first_child[node] + num_children[node]):
            depth[child] = depth[node] + 1
    return int(depth.max())


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
def _external(
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

    weights: float64 [period, 6], columns as in _WEIGHTS, the first row for the first iteration's period.
    nodes, outcomes, odds, payoffs: see _packed.
    slots: int64 [infoset, 2]: where its regrets begin in values, and its number of actions.
    values: float64: of each information set the regrets, then the averages; modified in place.
    frames, action_values: the traverser's nodes above the current one, [depth, 4] and [depth, action].

    A value passes through the nodes of the other player and of chance unchanged, so that only the
    traverser's are pushed on the stack. The same walks as those of `_walks`, in half the time.
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
                kind = nodes[node, _KIND]
                num_actions = nodes[node, _COUNT]
                slot = np.uint64(nodes[node, _SLOT])
                child = nodes[node, _CHILD]
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


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _walks(
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
    """Iterations of any sampling with any baseline; number of nodes visited. Arguments as in _external, and

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
    full = sampling == _ALL_ACTIONS
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
                kind = nodes[node, _KIND]
                num_actions = nodes[node, _COUNT]
                slot = nodes[node, _SLOT]
                child = nodes[node, _CHILD]
                value = 0.0
                if kind == TERMINAL:
                    value = payoffs[slot]
                elif kind == CHANCE:
                    random += np.uint64(0x9E3779B97F4A7C15)
                    draw = _uniform(random) * num_actions
                    outcome = int(draw)
                    if draw - outcome >= odds[slot + outcome, 0]:
                        outcome = outcomes[slot + outcome, 1]
                    if baseline == _HISTORY:
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
                    if full or (mine and sampling == _EXTERNAL):
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
                        pushed = baseline != _NONE
                    elif sampling == _OUTCOME:
                        random += np.uint64(0x9E3779B97F4A7C15)
                        draw = _uniform(random)
                        passed = 0.0
                        for action in range(num_actions):
                            share = 1.0 / num_actions
                            if total > 0.0:
                                share = max(values[slot + action], 0.0) / total
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
                            share = 1.0 / num_actions
                            if total > 0.0:
                                share = max(values[slot + chosen], 0.0) / total
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
                    kind = nodes[node, _KIND]
                    num_actions = nodes[node, _COUNT]
                    slot = nodes[node, _SLOT]
                    child = nodes[node, _CHILD]
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
                    start = views[traverser, node] if baseline == _INFOSET else child
                    total = 0.0
                    for action in range(num_actions):
                        total += max(values[slot + action], 0.0)
                    mine = kind == traverser
                    if not (mine or full):
                        mean = 0.0
                        for action in range(num_actions):
                            share = 1.0 / num_actions
                            if total > 0.0:
                                share = max(values[slot + action], 0.0) / total
                            mean += share * baselines[start + action]
                        error = value - baselines[start + chosen]
                        value = mean + error
                        baselines[start + chosen] += rate * error
                        depth -= 1
                        continue
                    if chosen < num_actions:
                        if baseline == _NONE:
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
                            share = 1.0 / num_actions
                            if total > 0.0:
                                share = max(values[slot + chosen], 0.0) / total
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
                                0.0 if baseline == _NONE else baselines[start + action]
                            )
                        share = 1.0 / num_actions
                        if total > 0.0:
                            share = max(values[slot + action], 0.0) / total
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

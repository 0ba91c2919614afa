"""Full-width counterfactual regret minimisation, with every scheme.

An iteration for one player is a pass over the values of the program, from the terminals up, and one over his
information sets from above to below: regrets from the values behind the actions, the next strategy, its
reach probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping

import numba as nb
import numpy as np

from ..regret import Scheme, Weights, make_scheme
from .game import TabularGame
from .inputs import by_sequence, restored, whole
from .program import Program, compile_program
from .scoring import Scorer, check_policy
from .warm_start import regrets_of_policy

_FIELD = {name: place for place, name in enumerate(Weights._fields)}
_POSITIVE, _NEGATIVE, _GAIN, _FLOOR = (_FIELD[n] for n in ("positive", "negative", "gain", "floor"))
_DECAY, _WEIGHT = _FIELD["average_decay"], _FIELD["average_weight"]
_PREDICTION, _LIMIT = _FIELD["prediction"], _FIELD["asymmetry_limit"]
_DISCOUNT_FIRST = _FIELD["discount_first"]

_KEPT = ("regrets", "average", "last", "learned", "odds", "reach")  # of a state
COUNTED = 30  # iterations that a policy to start from stands for
MOST_COUNTED = 1_000_000
_MOST_AT_ONCE, _NODES_AT_ONCE = 10_000, 100_000_000  # iterations and nodes in one call of compiled code


class FullWidth:
    """Every history in every iteration.

    The arithmetic is that of OpenSpiel's solvers, operation by operation, and so are the results. Information
    sets that are alike (see `program`) are computed once; where the start treats them differently, each is.

    Args:
        game: the game.
        scheme: a name of `regret.SCHEMES` (schedules need a Scheme made with their horizon) or a Scheme.
        alternating: players updated by turns; default: what the scheme says.
        regrets: float64 [sequence], cumulative regrets to start from, those of another solver, say. The
            average starts empty. The strategies that follow are those of an unbroken run for "cfr" and, with
            `counted`, for "cfr+", "dcfr" and "lcfr"; not for the predictive schemes (pcfr+, pdcfr+, apcfr+,
            sapcfr+, apdcfr+, hs-pcfr+), which begin without a prediction. For an exact continuation see
            `state`.
        policy: float64 [sequence], a policy to start from, see `warm_start`, also for the schemes that it
            does not help.
        counted: as how many iterations that start counts: the first one has the weights of iteration
            counted + 1. Default: 0 for regrets, COUNTED for a policy; at most MOST_COUNTED for a policy.
        merge: compute what is alike once.

    Raises ValueError for an unknown scheme, arrays of another shape or with numbers that are not finite, a
    policy that is none, both regrets and a policy, and a start that does not go with `counted`.
    """

    def __init__(
        self,
        game: TabularGame,
        scheme: str | Scheme = "dcfr",
        alternating: bool | None = None,
        regrets: np.ndarray | None = None,
        policy: np.ndarray | None = None,
        counted: int | None = None,
        merge: bool = True,
    ):
        self.game = game
        self.scheme = make_scheme(scheme)
        if alternating is None:
            alternating = self.scheme.alternating
        if not isinstance(alternating, bool | np.bool_):
            raise ValueError(f"alternating must be True or False, got {alternating!r}")
        self.alternating = bool(alternating)
        self.iterations = 0
        if regrets is not None and policy is not None:
            raise ValueError("start from regrets or from a policy, not from both")
        if counted is None:
            counted = 0 if policy is None else COUNTED
        if policy is not None:
            counted = whole("counted, of a start from a policy,", counted, 1, MOST_COUNTED)
        elif whole("counted", counted, 0) and regrets is None:
            raise ValueError(
                f"without regrets or a policy to start from nothing is counted: got {counted}"
            )
        self._counted = int(counted)
        if policy is not None:
            policy = check_policy(game, policy)
            regrets = regrets_of_policy(game, policy, counted)
            if self._weights(1)[0, _FLOOR]:
                regrets = np.maximum(regrets, 0.0)
        self._program = compile_program(game, merge)
        start = None
        if regrets is not None:
            regrets = np.where(game.sequence_infoset >= 0, by_sequence(game, regrets, "regrets"), 0.0)
            start = self._program.gathered(regrets)
            if start is None and policy is not None and self._program.gathered(policy) is not None:
                # Alike at this start too, but for the last bits of what was computed from it.
                start = np.zeros(self._program.num_places)
                start[self._program.place_of] = regrets
            if start is None:  # alike so far, but not at this start
                self._program = compile_program(game, merge=False)
                start = self._program.gathered(regrets)
        self._state = _State(self._program, start)
        if policy is not None:
            table = self.scheme.table(1, counted)
            # What the later iterations leave of each one's weight.
            left = np.append(np.cumprod(table[:0:-1, _DECAY])[::-1], 1.0)
            reach = Scorer(game).reach(policy)
            self._state.average[self._program.place_of] = (left @ table[:, _WEIGHT]) * reach

    @property
    def touched_nodes(self) -> int:
        """Nodes that a walk over the histories would have visited so far, once a player and iteration."""
        return 2 * self.iterations * self.game.num_nodes

    @property
    def computed_infosets(self) -> int:
        """Information sets that are computed, others being like them."""
        return len(self._program.num_actions)

    @property
    def regrets(self) -> np.ndarray:
        """Cumulative regrets, float64 [sequence]; those of "lcfr" divided by the number of iterations + 1."""
        return self._program.spread(self._state.regrets)

    def state(self) -> dict[str, np.ndarray]:
        """All that is needed to go on bit for bit, copied: `np.savez(path, **solver.state())`."""
        kept = {name: getattr(self._state, name).copy() for name in _KEPT}
        numbers = np.array([self.iterations, self._counted])
        return {"settings": np.array(self._settings()), "iterations": numbers} | kept

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Go on from the state of a solver of the same game, scheme, updates and merging.

        Raises ValueError for the state of another one.
        """
        kept = {name: getattr(self._state, name) for name in _KEPT}
        self.iterations, self._counted = restored(state, self._settings(), kept)

    def _settings(self) -> str:
        return f"{self.game.game}: full-width CFR, scheme {self.scheme}, alternating {self.alternating}"

    def run(self, iterations: int) -> None:
        """Do that many more iterations. Raises ValueError for what is no number of iterations."""
        iterations = whole("the number of iterations", iterations, 0)
        # In pieces, so that an interrupt is heard; between two of them the state is whole.
        piece = max(1, min(_MOST_AT_ONCE, _NODES_AT_ONCE // self.game.num_nodes))
        last = self.iterations + iterations
        while self.iterations < last:
            self._run_piece(min(piece, last - self.iterations))

    def _run_piece(self, iterations: int) -> None:
        # One row more: the last iteration ends with the strategy of the next one.
        weights = self._weights(iterations + 1)
        program, state = self._program, self._state
        _iterate(
            weights,
            self.alternating,
            program.sets,
            program.blocks,
            program.child,
            program.odds,
            program.first_place,
            program.num_actions,
            program.parent,
            program.first_history,
            program.value,
            program.other,
            program.weight,
            program.first_result,
            program.result,
            *state.arrays(),
        )
        self.iterations += iterations

    def _weights(self, count: int) -> np.ndarray:
        """Numbers of the next iterations, float64 [count, field]."""
        scheme = self.scheme
        if scheme.name == "lcfr":  # the same, written as OpenSpiel computes it; and regrets stay small
            scheme = make_scheme("dcfr", alpha=1, beta=1, gamma=1)
        return scheme.table(self._counted + self.iterations + 1, count)

    def current_policy(self) -> np.ndarray:
        """The strategy of the next iteration (the last iterate), float64 [sequence]."""
        return self._program.spread(self._state.odds)

    def average_policy(self) -> np.ndarray:
        """The average strategy, float64 [sequence]; uniform where the player himself never came."""
        return normalised(self.game, self._program.spread(self._state.average))


class _State:
    """The numbers that change, by place: float64 [place] unless said otherwise."""

    def __init__(self, program: Program, regrets: np.ndarray | None):
        size = program.num_places
        histories = int(np.diff(program.first_history.astype(np.int64)).max(initial=0))
        self.regrets = np.zeros(size) if regrets is None else regrets
        self.average = np.zeros(size)
        self.last = np.zeros(size)  # instantaneous regrets of the last iteration
        self.learned = np.zeros((len(program.num_actions), 2))  # [set]: sums A and B of adaptive schemes
        # Strategy, and behind it the chance probabilities: [place + number of chance probabilities].
        self.odds = np.concatenate([np.ones(size), program.chance])
        self.reach = np.ones(size)
        self.reach_before = np.ones(size)  # at the start of the iteration, for simultaneous updates
        self.values = np.concatenate([program.payoff, np.zeros(program.blocks[-1:, 1].sum())])
        # Weight and value of each history of a set.
        self.scratch = np.zeros(histories), np.zeros(histories)
        _first_match(
            program.first_place, program.num_actions, program.parent, self.regrets, self.odds, self.reach
        )

    def arrays(self) -> tuple[np.ndarray, ...]:
        return (
            self.regrets,
            self.average,
            self.last,
            self.learned,
            self.odds,
            self.reach,
            self.reach_before,
            self.values,
            *self.scratch,
        )


def normalised(game: TabularGame, weights: np.ndarray) -> np.ndarray:
    """Policy in proportion to weights of 0 or more, uniform where an information set has none; float64
    [sequence], 1 at the empty sequences.
    """
    real = game.sequence_infoset >= 0
    where = game.sequence_infoset[real]
    sums = np.bincount(where, weights[real], game.num_infosets)[where]
    policy = game.uniform_policy()
    policy[real] = np.divide(weights[real], sums, out=policy[real], where=sums > 0)
    return policy


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _iterate(
    weights,
    alternating,
    sets,
    blocks,
    child,
    odds_of,
    first_place,
    num_actions,
    parent,
    first_history,
    value,
    other,
    weight,
    first_result,
    result,
    regrets,
    average,
    last,
    learned,
    odds,
    reach,
    reach_before,
    values,
    history_weight,
    history_value,
):
    """As many iterations as weights [iteration + 1, field] has rows, less one; what follows `result` is
    modified in place. See Program and _State for the arrays.
    """
    for iteration in range(len(weights) - 1):
        if not alternating:
            reach_before[:] = reach
        for player in range(2):
            if player == 0 or alternating:
                _evaluate(blocks, child, odds_of, odds, values)
            _update(
                weights[iteration],
                weights[iteration + 1],
                sets[player, 0],
                sets[player, 1],
                first_place,
                num_actions,
                parent,
                first_history,
                value,
                other,
                weight,
                first_result,
                result,
                regrets,
                average,
                last,
                learned,
                odds,
                reach,
                reach if alternating else reach_before,
                values,
                history_weight,
                history_value,
            )


@nb.njit(cache=True, nogil=True)
def _evaluate(blocks, child, odds_of, odds, values):
    """Values above the terminals, in place: sums of odds times the children's values, in their order.

    Two and three actions are most of what there is: their sums are written out.
    """
    if len(blocks) == 0:  # a single terminal
        return
    place = len(values) - blocks[-1, 1]
    one, two = np.uint64(1), np.uint64(2)
    for block in range(len(blocks)):
        width = blocks[block, 2]
        edge = np.uint64(blocks[block, 3])
        for node in range(np.uint64(place + blocks[block, 0]), np.uint64(place + blocks[block, 1])):
            if width == 2 or width == 3:
                total = odds[odds_of[edge]] * values[child[edge]]
                total += odds[odds_of[edge + one]] * values[child[edge + one]]
                edge += two
                if width == 3:
                    total += odds[odds_of[edge]] * values[child[edge]]
                    edge += one
            else:
                total = 0.0
                for _ in range(width):
                    total += odds[odds_of[edge]] * values[child[edge]]
                    edge += one
            values[node] = total


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _update(
    now,
    after,
    start,
    stop,
    first_place,
    num_actions,
    parent,
    first_history,
    value,
    other,
    weight,
    first_result,
    result,
    regrets,
    average,
    last,
    learned,
    odds,
    reach,
    other_reach,
    values,
    history_weight,
    history_value,
):
    """Averages, regrets, the next strategy and its reach for the sets start .. stop - 1.

    now, after: numbers of this iteration and of the next, see `regret.Weights`.
    """
    positive, negative, gain = now[_POSITIVE], now[_NEGATIVE], now[_GAIN]
    decay, average_weight = now[_DECAY], now[_WEIGHT]
    lowest = 0.0 if now[_FLOOR] else -np.inf
    discount_first = now[_DISCOUNT_FIRST] != 0
    prediction, limit = after[_PREDICTION], after[_LIMIT]
    one = np.uint64(1)
    for number in range(np.uint64(start), np.uint64(stop)):
        first = np.uint64(first_place[number])
        end = first + np.uint64(num_actions[number])
        first_of = np.uint64(first_history[number])
        histories = np.uint64(first_history[number + one]) - first_of
        for history in range(histories):
            which = first_of + history
            history_weight[history] = other_reach[other[which]] * weight[which]
            history_value[history] = values[value[which]]
        behind = np.uint64(first_result[number])
        change, moved, total = 0.0, 0.0, 0.0
        for place in range(first, end):
            average[place] = decay * average[place] + average_weight * reach[place]
            old = regrets[place]
            new = old
            if discount_first:
                new *= positive if new >= 0 else negative
            if prediction == 0:
                # History by history onto the regret, as OpenSpiel adds them.
                for history in range(histories):
                    gained = history_weight[history] * (values[result[behind]] - history_value[history])
                    new += gain * gained
                    behind += one
            else:
                instant = 0.0
                for history in range(histories):
                    instant += history_weight[history] * (
                        values[result[behind]] - history_value[history]
                    )
                    behind += one
                new += gain * instant
                change += (instant - last[place]) ** 2
                last[place] = instant
            if not discount_first:
                new *= positive if new >= 0 else negative
            if new < lowest:
                new = lowest
            moved += (new - old) ** 2
            regrets[place] = new
            matched = new if new > 0 else 0.0
            odds[place] = matched
            total += matched
        if prediction != 0:
            share = prediction
            if limit > 0:
                learned[number, 0] += change
                learned[number, 1] += moved
                if learned[number, 0] > 0:
                    share /= 1.0 + min(np.sqrt(learned[number, 0] / learned[number, 1]), limit)
            total = 0.0
            for place in range(first, end):
                matched = regrets[place] + share * last[place]
                odds[place] = matched if matched > 0 else 0.0
                total += odds[place]
        above = reach[parent[number]]
        for place in range(first, end):
            likely = odds[place] / total if total > 0 else 1.0 / np.float64(num_actions[number])
            odds[place] = likely
            reach[place] = above * likely


@nb.njit(cache=True, nogil=True, error_model="numpy")
def _first_match(first_place, num_actions, parent, regrets, odds, reach):
    """Strategy and reach that follow from regrets, before the first iteration."""
    for number in range(len(first_place)):
        first = np.int64(first_place[number])
        end = first + np.int64(num_actions[number])
        total = 0.0
        for place in range(first, end):
            total += max(regrets[place], 0.0)
        for place in range(first, end):
            odds[place] = max(regrets[place], 0.0) / total if total > 0 else 1.0 / (end - first)
            reach[place] = reach[parent[number]] * odds[place]

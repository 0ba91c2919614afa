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

import numpy as np

from ..regret import BY_TURNS, LARGEST_POWER, Scheme, make_scheme
from .full_width import normalised
from .game import TabularGame
from .inputs import LARGEST, by_sequence, number, restored, whole
from .packed import longest_line, pack, views
from .walks import WEIGHTS, external_walks, walks

SAMPLINGS = ("external", "outcome", "chance", "average-strategy")
BASELINES = ("infoset", "history")
LEARNING_RATES = {"infoset": 0.05, "history": 0.5}  # hidden cards make noise, histories hide nothing
CHUNK = 1 << 17  # iterations in one call of a kernel
PERIOD = 100  # see Sampled, for schemes whose weights change
FOREVER = 1 << 62

_NO_VIEWS = np.zeros((2, 1), np.int32)
_KEPT = ("values", "baselines", "expected")  # of a state


class Sampled:
    """A sampled solver on a TabularGame.

    Schemes: "cfr" is proven with all samplings (Lanctot et al. 2009, Gibson et al. 2012) and baselines
    (Schmid et al. 2019); "lcfr" is the one that its authors call compatible with sampling (Brown and
    Sandholm 2019). "dcfr" and "cfr+" are heuristics: halving or cutting away negative regrets biases noisy
    ones upwards, and in external and outcome sampling of Leduc poker both do worse than "cfr" as long as no
    baseline helps. Schemes that predict the next regrets and schedules are refused.

    Baselines: one number for each action, b <- b + learning_rate (value drawn - b).

    - "history" (Davis, Schmid and Bowling 2020): for each action of each history and each outcome of chance.
      Once it has settled, nothing but the choice of the histories that are visited is left to chance.
    - "infoset" (Schmid et al. 2019): for each action at what the traverser sees, at his own and at the other
      player's moves; none for chance. The paper walks with all hands of a player at once. Here one history
      is walked, what the other holds makes most of the noise, and little is gained: some 30 % of the
      variance in outcome sampling of Leduc poker, 7 % in external sampling. (The paper also weights the
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
            are the paper's, for big games: while the sum of an average is far below beta, nearly every
            action is tried.
        learning_rate: of the baseline, in (0, 1]; default LEARNING_RATES.
        period: so many iterations count as one for the scheme: iteration i = 0, 1, ... has the weights of
            1 + i // period, and discounts take place at the end of a period (with the other order, at its
            start). Default 1 where the weights never change, else PERIOD: discounts sweep the whole table,
            and the weights of one iteration take longer than its walks.
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
        if learning_rate is None:
            learning_rate = LEARNING_RATES.get(baseline or "", 1.0)
        shares = {"exploration": exploration, "epsilon": epsilon, "learning_rate": learning_rate}
        for name, value in shares.items():
            number(name, value, "above 0 and at most 1", 0, 1, low_included=False)
        for name, value in {"tau": tau, "beta": beta}.items():
            number(name, value, "0 or more and finite", 0, LARGEST, low_included=True)
        self.game, self.sampling, self.baseline = game, sampling, baseline
        self.seed = whole("a seed", seed, 0, (1 << 63) - 1)
        self.scheme = _checked(make_scheme(scheme))
        self.iterations = 0
        self.touched_nodes = 0
        self._constant = _is_constant(self.scheme)
        if period is None:
            period = 1 if self._constant else PERIOD
        self.period = whole("a period", period, 1, FOREVER)

        self._packed = pack(game)
        entries = int(game.num_actions.sum())
        # Where the regret of each sequence stands, and one count of actions further its average.
        real = np.flatnonzero(game.sequence_infoset >= 0)
        infosets = game.sequence_infoset[real]
        self._sequences = real
        self._places = self._packed.slots[infosets, 0] + real - game.first_sequence[infosets]
        self._values = np.zeros(2 * entries)
        if regrets is not None:
            self._values[self._places] = by_sequence(game, regrets, "regrets")[real]
        self._views, num_baselines = _NO_VIEWS, 1
        if baseline == "infoset":
            self._views, num_baselines = views(game)
        elif baseline == "history":
            num_baselines = game.num_nodes
        self._baselines = np.zeros(num_baselines)
        # What chance expects of the baselines behind each of its nodes, kept up to date.
        self._expected = np.zeros(game.num_nodes if baseline == "history" else 1)
        self._parameters = np.array([exploration, epsilon, tau, beta, learning_rate])
        depth, width = longest_line(game), int(game.num_children.max())
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
        kept = {name: getattr(self, f"_{name}") for name in _KEPT}
        self.iterations, self.touched_nodes = restored(state, self._settings(), kept)
        self._stamps[:] = -1

    def _settings(self) -> str:
        numbers = ", ".join(map(repr, self._parameters.tolist()))
        return (
            f"{self.game.game}: {self.sampling} sampling, scheme {self.scheme}, baseline {self.baseline}, "
            f"seed {self.seed}, period {self.period}, parameters {numbers}"
        )

    def run(self, iterations: int) -> None:
        """Do that many more iterations. Raises ValueError for what is no number of iterations."""
        last = self.iterations + whole("the number of iterations", iterations, 0)
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
            *self._packed,
            self._values,
            self._frames,
            self._action_values,
        )
        if self.sampling == "external" and self.baseline is None:
            return external_walks(*common)
        return walks(
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
        """float64 [period, len(WEIGHTS)] of the periods that these iterations belong to."""
        periods: range = range(1)
        if not self._constant:
            periods = range(first // self.period, (first + count - 1) // self.period + 1)
        found = [self.scheme.weights(1 + period) for period in periods]
        return np.array([[float(getattr(weights, name)) for name in WEIGHTS] for weights in found])


def _checked(scheme: Scheme) -> Scheme:
    """Raises ValueError for schemes that do not go with sampling."""
    if scheme.predictive:
        raise ValueError(
            f"{scheme.name} predicts the next regrets from the last, which sampling does not see: "
            "choose cfr, cfr+, lcfr or dcfr, or no sampling"
        )
    if scheme.weights(2).average_decay != 1:
        raise ValueError(
            f"{scheme} multiplies all averages in every iteration, as sampling cannot: choose cfr, cfr+, "
            f"lcfr or dcfr, with a gamma of {LARGEST_POWER:g} at most, or no sampling"
        )
    if not scheme.alternating:
        raise ValueError(BY_TURNS)
    return scheme


def _is_constant(scheme: Scheme) -> bool:
    """Whether all iterations have the same weights and nothing is discounted."""
    weights = scheme.weights(1)
    same = weights == scheme.weights(2) == scheme.weights(10**15)
    return same and weights.average_weight > 0 and weights.positive == weights.negative == 1

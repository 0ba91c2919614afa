"""Monte Carlo CFR on hold'em tables: external, outcome, chance and average-strategy sampling.

An iteration deals one hand and walks the betting tree. With u the winnings of the traverser and q the
probability with which sampling gets to a terminal history by the traverser's own actions, all of them but
chance sampling are one walk for each player (Lanctot, Waugh, Zinkevich and Bowling 2009):

    external            at the traverser's nodes every action is visited, at the other player's one is
                        drawn from his strategy
    outcome             at the traverser's nodes one action is drawn too: from his strategy with probability
                        1 - exploration, else uniformly. An action's sampled value is u / q times his own
                        probabilities of the actions after it, and 0 where it was not drawn
    average-strategy    at the traverser's nodes each action is visited, independently of the others, with
                        the probability max(epsilon, (beta + tau s(a)) / (beta + sum s)), s being the
                        cumulative average strategy (Gibson, Burch, Lanctot and Szafron 2012); values are
                        again u / q
    chance              only the cards are drawn: all actions of both players are visited in one walk that
                        updates both, with their exact probabilities (Zinkevich, Johanson, Bowling and
                        Piccione 2007)

In the first three the average strategy is updated at the nodes of the other player, weighted by 1 / q: his
own actions are drawn from his strategy, so that its expectation is the average that CFR asks for. Sampled
regrets are unbiased estimates of the counterfactual regrets, given the strategies.

Schemes (`solver.regret`): "cfr" and "lcfr" weigh iterations by 1 and by their number; both carry over to
sampling with their theorems. "cfr+" cuts sampled regrets at 0 and weighs averages linearly: a heuristic, the
noise of samples is cut too and is no longer centred. "dcfr" with its discounts once in `Discounting.every`
iterations, as if these were one, until a first phase ends: a heuristic too, and with alpha = beta = gamma = 1
about what Brown and Sandholm did for Pluribus (2019).

`Pruning` leaves out actions with very negative regrets in most iterations (regret-based pruning, Brown and
Sandholm 2015, in the sampled form of Pluribus): a heuristic that saves time and forgets a little.

All randomness of an iteration comes from the seed and its number, so that a run that is broken off
and resumed takes the same walks as an unbroken one. Sums are rounded at random (`solver.sampling_kernels`).
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf, sqrt
from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.buckets import CardAbstraction
from ..game.rules import is_whole
from . import sampling_kernels as kernels
from .betting_tree import BettingTree
from .deals import Deals
from .regret import BY_TURNS, Scheme, make_scheme
from .tables import Tables

#: Which schemes go with which sampling. Cutting at 0 needs samples of low variance.
SCHEMES_OF: dict[str, tuple[str, ...]] = {
    "external": ("cfr", "lcfr", "dcfr", "cfr+"),
    "outcome": ("cfr", "lcfr", "dcfr"),
    "chance": ("cfr", "lcfr", "dcfr", "cfr+"),
    "average-strategy": ("cfr", "lcfr", "dcfr"),
}
SAMPLINGS = tuple(SCHEMES_OF)
SCHEMES = tuple(dict.fromkeys(scheme for schemes in SCHEMES_OF.values() for scheme in schemes))
CHUNK = 8192  # iterations in a chunk, by thread, at most
_CHUNK_NODES = 1 << 23  # nodes visited in a chunk, about
_BATCH = 2048  # iterations dealt at a time


@dataclass(frozen=True)
class Pruning:
    """Leave out actions of very negative regret, with external sampling.

    Regrets are counted in chips and in the weight of the current iteration: under "lcfr" a sum of regrets
    weighted by their iterations is divided by the number of the current one. Actions of the last round,
    those that end the hand, and those of records without a positive regret are never left out, and an
    iteration leaves out none with probability 1 - `probability`, drawn for each player. With probability 0
    the floor alone works.

    Attributes:
        threshold: actions with regrets below it are left out.
        floor: regrets are cut there from below, so that what was pruned can come back.
        start: iterations done before pruning begins.
        probability: the share of iterations that prune, 0.95 in Pluribus.

    Raises ValueError unless floor <= threshold < 0, 0 <= start and 0 <= probability <= 1.
    """

    threshold: float
    floor: float = -inf
    start: int = 0
    probability: float = 0.95

    def __post_init__(self) -> None:
        for key in ("threshold", "floor", "probability"):
            value = getattr(self, key)
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                raise ValueError(f"pruning.{key} must be a number, not {value!r}")
        if not self.threshold < 0:
            raise ValueError(f"pruning.threshold must be below 0, not {self.threshold:g}")
        if self.floor > self.threshold:
            raise ValueError(
                f"pruning.floor {self.floor:g} is above the threshold {self.threshold:g}: "
                "nothing would be pruned"
            )
        if not is_whole(self.start, 0):
            raise ValueError(f"pruning.start must be a number of iterations, not {self.start!r}")
        if not 0 <= self.probability <= 1:
            raise ValueError(f"pruning.probability must be from 0 to 1, not {self.probability:g}")


@dataclass(frozen=True)
class Discounting:
    """When the scheme "dcfr" discounts: after each of the first iterations `every`, 2 `every`, ... `until`.

    The k-th time regrets are multiplied by the scheme's factors of iteration k, or of k + 1 where its order
    is "discount-add"; averages are weighted by its weight of the period that an iteration belongs to. Raises
    ValueError for numbers that are not positive.
    """

    every: int = 1_000_000
    until: int = 40_000_000

    def __post_init__(self) -> None:
        for key in ("every", "until"):
            if not is_whole(getattr(self, key), 1):
                raise ValueError(f"discounting.{key} must be a positive number of iterations")

    def period(self, iteration: Any) -> Any:
        """Number, from 1, of the period of iterations counted from 1."""
        return np.minimum((iteration - 1) // self.every, self.until // self.every) + 1


@dataclass(frozen=True)
class AverageSampling:
    """Constants of average-strategy sampling; the defaults are those of the paper's no-limit hold'em.

    Attributes:
        epsilon: least probability of an action, above 0 and at most 1.
        beta: visits, in the weight of the current iteration, up to which everything is visited.
        tau: how much more often than in the average strategy actions are visited.

    Raises ValueError for others.
    """

    epsilon: float = 0.05
    beta: float = 1e6
    tau: float = 1000.0

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 1:
            raise ValueError(
                f"epsilon of average-strategy sampling must be above 0 and at most 1, not {self.epsilon:g}"
            )
        if not (0 < self.beta < inf and 0 < self.tau < inf):
            raise ValueError("beta and tau of average-strategy sampling must be positive numbers")


def check_combination(
    scheme: str,
    sampling: str,
    pruning: Pruning | None = None,
    discounting: Discounting | None = None,
    keeps_all_averages: bool = True,
) -> None:
    """ValueError, in one line, for choices that do not go together."""
    if sampling not in SCHEMES_OF:
        raise ValueError(f"unknown sampling {sampling!r}: choose {_one_of(SAMPLINGS)}")
    if scheme not in SCHEMES_OF[sampling]:
        raise ValueError(
            f"scheme {scheme!r} does not go with {sampling} sampling: choose {_one_of(SCHEMES_OF[sampling])}"
        )
    if pruning is not None and sampling != "external":
        raise ValueError(f"pruning goes with external sampling, not with {sampling} sampling")
    if pruning is not None and scheme == "cfr+":
        raise ValueError("cfr+ has no negative regrets to prune by: choose cfr, lcfr or dcfr")
    if discounting is not None and scheme != "dcfr":
        raise ValueError(f"discounting in periods is the scheme dcfr, not {scheme}")
    if sampling == "average-strategy" and not keeps_all_averages:
        raise ValueError("average-strategy sampling needs the averages of all rounds")


def check_scheme(scheme: Scheme) -> None:
    """ValueError for a scheme that multiplies the averages so far, as samples visit few of them, or whose
    updates are simultaneous.
    """
    if not scheme.alternating:
        raise ValueError(BY_TURNS)
    if scheme.weights(2).average_decay != 1:
        raise ValueError(f"{scheme} is too steep for sampling: choose a gamma of at most 25")


def _one_of(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


class MonteCarlo:
    """Sampled CFR on the tables of a betting tree and a card abstraction.

    Args:
        tree: the betting tree.
        abstraction: buckets of the hands; must fit the tree's rules.
        tables: regrets and averages, modified in place.
        scheme: a name or a Scheme; see SCHEMES_OF.
        sampling: one of SAMPLINGS.
        seed: everything random follows from it.
        threads: above 1, threads share the tables without locks: the result then depends on how they
            happen to interleave, and now and then an update is lost, or, where two threads rescale one
            int16 record, wrong by a factor of two.
        pruning: None: nothing is pruned.
        discounting: with "dcfr"; None: the defaults.
        exploration: with outcome sampling: above 0, at most 1 (0.6 in Lanctot et al. 2009).
        average_sampling: with average-strategy sampling; None: the defaults.

    Raises ValueError for an abstraction or tables that do not fit, and for what does not go together.
    """

    unit = "nodes"  # what touched_nodes counts

    def __init__(
        self,
        tree: BettingTree,
        abstraction: CardAbstraction,
        tables: Tables,
        scheme: str | Scheme = "lcfr",
        sampling: str = "external",
        seed: int = 0,
        threads: int = 1,
        *,
        pruning: Pruning | None = None,
        discounting: Discounting | None = None,
        exploration: float = 0.6,
        average_sampling: AverageSampling | None = None,
    ):
        self.scheme, self.sampling = make_scheme(scheme), sampling
        keeps_all = len(tables.averages) == tree.rules.num_rounds
        check_combination(self.scheme.name, sampling, pruning, discounting, keeps_all)
        check_scheme(self.scheme)
        if not 0 < exploration <= 1:
            raise ValueError(f"exploration must be above 0 and at most 1, not {exploration:g}")
        abstraction.check_fits(tree.rules)
        if tables.tree is not tree or tables.num_buckets != list(abstraction.num_buckets):
            raise ValueError("the tables are of another betting tree or other buckets")
        self.tree, self.abstraction, self.tables = tree, abstraction, tables
        self.seed, self.threads = seed, threads
        self.pruning, self.discounting = pruning, discounting or Discounting()
        sampled = average_sampling or AverageSampling()
        self._constants = np.array([exploration, sampled.epsilon, sampled.beta, sampled.tau])
        self.touched_nodes = 0
        self._nodes = _packed_nodes(tree, tables)
        self._depth = _depth(tree)
        self._deals = Deals(abstraction, tables, seed)
        self._layouts = [tables.layout(index) for index in range(tree.rules.num_rounds)]
        # Before the first iteration about this many nodes are expected in one, afterwards those counted.
        self._expected = float(len(tree)) if sampling == "chance" else 2 * sqrt(len(tree))
        self._done = 0  # iterations of this session

    @property
    def iterations(self) -> int:
        """Iterations done so far, those of a checkpoint included."""
        return self.tables.iterations

    @property
    def chunk(self) -> int:
        """A good number of iterations for one call of `run`: some tenths of a second."""
        visits = self.touched_nodes / self._done if self._done else self._expected
        return max(1, min(CHUNK, int(_CHUNK_NODES / visits))) * self.threads

    def average_weight(self, iteration: int) -> float:
        """Weight of the strategy of an iteration, counted from 1, in the average."""
        return float(self._weights(iteration - 1, 1)[0, 1])

    def average_strategy(self, rebuilt: Mapping[int, np.ndarray] | None = None) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]; see `Tables.average_strategy`."""
        return self.tables.average_strategy(rebuilt)

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: what regret matching plays now."""
        return self.tables.current_strategy()

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write a checkpoint, see `Tables.save`."""
        self.tables.save(path, header)

    def load(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Continue from a checkpoint, see `Tables.load`."""
        return self.tables.load(path, header)

    def run(self, iterations: int) -> None:
        """Do that many more iterations."""
        left = iterations
        while left > 0:
            step = min(left, self._until_discount(left))
            self._run_undiscounted(step)
            self.tables.iterations += step
            self._done += step
            left -= step
            self._discount_if_due()

    def _run_undiscounted(self, iterations: int) -> None:
        first = self.tables.iterations
        batch = min(_BATCH, -(-iterations // self.threads))
        starts = range(first, first + iterations, batch)
        batches = [(start, min(batch, first + iterations - start)) for start in starts]
        if self.threads == 1:
            touched = [self._run_batch(*batch) for batch in batches]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                touched = list(pool.map(lambda batch: self._run_batch(*batch), batches))
        self.touched_nodes += sum(touched)

    def _run_batch(self, first: int, count: int) -> int:
        if self.pruning and first < self.pruning.start < first + count:
            before = self.pruning.start - first
            return self._run_batch(first, before) + self._run_batch(first + before, count - before)
        return self._walk(first, *self._deals(first, count))

    def _walk(self, first: int, rows: np.ndarray, outcome: np.ndarray) -> int:
        """The iterations of these deals; number of nodes visited."""
        weights = self._weights(first, len(rows))
        shared = (
            first,
            self.seed,
            self._nodes,
            rows,
            outcome,
            weights,
            self.tables.values,
            self._floor(),
        )
        actions = int(self.tree.num_actions.max())
        if self.sampling == "chance":
            size = len(self.tree)
            room = (np.empty((size, 2)), np.empty(size), np.empty(size), np.empty(actions))
            return kernels.walk_whole_deals(*shared, *room)
        prune_below, probability = -inf, 0.0
        if self.pruning and first >= self.pruning.start:
            prune_below, probability = float(self.pruning.threshold), float(self.pruning.probability)
        return kernels.walk_deals(
            *shared,
            _CODES[self.sampling],
            prune_below,
            probability,
            self._constants,
            np.empty((self._depth, 3), np.int64),
            np.empty(self._depth),
            np.empty((self._depth, actions)),
            np.empty((self._depth, actions)),
            np.empty(actions),
        )

    def _floor(self) -> float:
        """Where regrets are cut, in the weight of the current iteration."""
        if self.scheme.weights(1).floor:
            return 0.0
        return float(self.pruning.floor) if self.pruning else -inf

    def _weights(self, first: int, count: int) -> np.ndarray:
        """float64 [iteration, 2]: weights of the regrets and of the average strategy."""
        numbers = np.arange(first + 1, first + count + 1)
        weights = np.ones((count, 2))
        if self.scheme.name == "lcfr":
            weights[:] = numbers[:, None]
        elif self.scheme.name == "cfr+":
            weights[:, 1] = np.maximum(numbers - self.scheme.constants["delay"], 0)
        elif self.scheme.name == "dcfr":
            for period in np.unique(periods := self.discounting.period(numbers)):
                weights[periods == period, 1] = self.scheme.weights(int(period)).average_weight
        return weights

    def _until_discount(self, most: int) -> int:
        """Iterations until the tables are to be discounted next; `most` if they never are."""
        if self.scheme.name != "dcfr":
            return most
        every = self.discounting.every
        return every - self.tables.iterations % every

    def _discount_if_due(self) -> None:
        done, every = self.tables.iterations, self.discounting.every
        if self.scheme.name != "dcfr" or done % every or done > self.discounting.until:
            return
        period = done // every
        # To discount before a period adds its regrets is to do it now, by the factors of the next one.
        factors = self.scheme.weights(period + self.scheme.weights(period).discount_first)
        scratch = np.empty(int(self.tree.num_actions.max()))
        for start, length, count, records in self._layouts:
            kernels.discount_regrets(
                self.tables.values,
                start,
                length,
                count,
                records,
                float(factors.positive),
                float(factors.negative),
                scratch,
                self.seed,
                done,
            )


_CODES = {
    "external": kernels.EXTERNAL,
    "outcome": kernels.OUTCOME,
    "average-strategy": kernels.AVERAGE_STRATEGY,
}


def _packed_nodes(tree: BettingTree, tables: Tables) -> np.ndarray:
    """int32 [node, 8]: node records; the stake of a fold is signed: what player 0 wins."""
    nodes = np.zeros((len(tree), 8), np.int32)
    nodes[:, kernels.KIND] = tree.kind
    nodes[:, kernels.ROUND] = tree.round
    nodes[:, kernels.FIRST_CHILD] = tree.first_child
    nodes[:, kernels.NUM_ACTIONS] = tree.num_actions
    nodes[:, kernels.RECORD] = tables.record
    stake = tree.spent.min(axis=1)
    if stake.max() >= 1 << 31:
        raise ValueError(f"stakes of {stake.max():,} chips are too large: use smaller units")
    nodes[:, kernels.STAKE] = np.where(tree.folded == 0, -stake, stake)
    keeps = np.isin(tree.round, tables.averages)
    early = tree.round < tree.rules.num_rounds - 1
    nodes[:, kernels.FLAGS] = kernels.HAS_AVERAGE * keeps + kernels.MAY_PRUNE * early
    return nodes


def _depth(tree: BettingTree) -> int:
    depth = np.zeros(len(tree), np.int64)
    for node in range(1, len(tree)):  # parents are numbered before their children
        depth[node] = depth[tree.parent[node]] + 1
    return int(depth.max())

"""Any OpenSpiel game of two players solved in one call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pyspiel

from ..regret import Scheme, make_scheme
from .full_width import FullWidth
from .game import MAX_NODES, TabularGame
from .inputs import whole
from .policy import TabularPolicy
from .sampled import Sampled
from .scoring import Scorer


@dataclass(frozen=True)
class GameCheck:
    """One look at a solver on its way."""

    iterations: int
    nash_conv: float  # of the average policy, in the game's utilities
    seconds: float  # of solving so far, checks not counted


@dataclass(frozen=True, repr=False)
class GameSolution:
    """What solve_game found.

    Attributes:
        policy: the average policy, an OpenSpiel policy.
        last_policy: the strategy after the last iteration; of no use where only averages converge.
        nash_conv: of `policy`: what best responses to it win together, in the game's utilities.
        response_values: what a best response wins as player 0, as player 1; their sum is nash_conv.
        value: what player 0 wins on average when both play `policy`.
        iterations: done.
        scheme: with its constants.
        sampling: None for full-width.
        seconds: of solving; unrolling the game and scoring are not counted.
        checks: the looks on the way that were asked for.
        game: the arrays of the game.
        solver: can go on: `solver.run(more)`.
    """

    policy: TabularPolicy
    last_policy: TabularPolicy
    nash_conv: float
    response_values: tuple[float, float]
    value: float
    iterations: int
    scheme: Scheme
    sampling: str | None
    seconds: float
    checks: tuple[GameCheck, ...]
    game: TabularGame
    solver: FullWidth | Sampled

    @property
    def exploitability(self) -> float:
        """Half of nash_conv: what a best response wins on average over the two positions."""
        return self.nash_conv / 2

    def __repr__(self) -> str:
        how = "full width" if self.sampling is None else f"{self.sampling} sampling"
        return (
            f"GameSolution({self.game.game}, {self.scheme}, {how}, {self.iterations:,} iterations, "
            f"NashConv {self.nash_conv:.3g})"
        )


def solve_game(
    game: pyspiel.Game | TabularGame | str,
    scheme: str | Scheme = "dcfr",
    iterations: int = 1000,
    sampling: str | None = None,
    seed: int = 0,
    *,
    policy: Any = None,
    regrets: np.ndarray | None = None,
    max_nodes: int = MAX_NODES,
    check_every: int | None = None,
    progress: Callable[[GameCheck], Any] | None = None,
    **options: Any,
) -> GameSolution:
    """Approximate equilibrium of a two-player, zero-sum, turn-based OpenSpiel game with perfect recall.

        solve_game(pyspiel.load_game("leduc_poker"), "dcfr", iterations=1000).nash_conv

    Args:
        game: an OpenSpiel game, its name, or its arrays.
        scheme: a name of `regret.SCHEMES`, or a Scheme with other constants. Schedules ("hs-...") take
            `iterations` as their horizon.
        iterations: how many; 0 scores the start.
        sampling: None visits everything in every iteration; or one of `sampled.SAMPLINGS`. Then a hundred
            iterations count as one for schemes whose weights change ("lcfr", "dcfr", "cfr+"): see `period`
            of Sampled.
        seed: of sampling.
        policy: to start from, full-width only: a policy of all information states, OpenSpiel's or one that
            `TabularPolicy.from_openspiel` takes (and fills up, if it has gaps), or float64 [sequence]. Not
            every scheme gains by it, see `warm_start`.
        regrets: to start from, float64 [sequence].
        max_nodes: larger games are refused.
        check_every: score the average policy every so many iterations.
        progress: called with each GameCheck.
        options: `alternating`, `counted`, `merge` of FullWidth; `baseline`, `exploration` and so on of
            Sampled.

    Raises ValueError for games of another kind and for arguments that do not go together.
    """
    iterations = whole("the number of iterations", iterations, 0)
    if check_every is not None:
        check_every = whole("check_every, the iterations from one check to the next,", check_every, 1)
    chosen = make_scheme(scheme, horizon=max(iterations, 1))
    arrays = game if isinstance(game, TabularGame) else TabularGame.from_openspiel(game, max_nodes)
    solver = _solver(arrays, chosen, sampling, seed, policy, regrets, options)
    scorer = Scorer(arrays)
    seconds, checks = 0.0, []
    for stop in _stops(iterations, check_every):
        started = perf_counter()
        solver.run(stop - solver.iterations)
        seconds += perf_counter() - started
        if check_every is not None:
            check = GameCheck(stop, scorer.nash_conv(solver.average_policy()).nash_conv, seconds)
            checks.append(check)
            if progress is not None:
                progress(check)
    average = solver.average_policy()
    score = scorer.nash_conv(average)
    return GameSolution(
        policy=TabularPolicy(arrays, average),
        last_policy=TabularPolicy(arrays, solver.current_policy()),
        nash_conv=score.nash_conv,
        response_values=score.responses,
        value=scorer.expected_value(average),
        iterations=solver.iterations,
        scheme=chosen,
        sampling=sampling,
        seconds=seconds,
        checks=tuple(checks),
        game=arrays,
        solver=solver,
    )


def _stops(iterations: int, every: int | None) -> list[int]:
    """After which iterations to stop."""
    return [*range(every, iterations, every), iterations] if every else [iterations]


def _solver(
    game: TabularGame,
    scheme: Scheme,
    sampling: str | None,
    seed: int,
    policy: Any,
    regrets: np.ndarray | None,
    options: dict[str, Any],
) -> FullWidth | Sampled:
    known = FullWidth if sampling is None else Sampled
    named = {"game", "scheme", "sampling", "seed", "policy", "regrets", "return"}
    allowed = known.__init__.__annotations__.keys() - named
    for name in options:
        if name not in allowed:
            kind = "full-width CFR" if sampling is None else "sampled CFR"
            raise ValueError(f"{kind} has no option {name!r}: choose from {', '.join(sorted(allowed))}")
    if sampling is not None:
        if policy is not None:
            raise ValueError("sampled CFR starts from regrets, not from a policy: leave policy out")
        return Sampled(game, scheme, sampling, seed, regrets=regrets, **options)
    if policy is not None and not isinstance(policy, np.ndarray | list | tuple):
        policy = TabularPolicy.from_openspiel(game, policy).probabilities
    return FullWidth(game, scheme, policy=policy, regrets=regrets, **options)

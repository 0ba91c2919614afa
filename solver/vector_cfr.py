"""Vector CFR on hold'em: full width, with public chance sampling, or against best responses (CFR-BR).

All hands of a player are updated at once, in rows of histories (`training_walk`).

- sampling "none": every board, up to suits, in every iteration: plain CFR of any scheme.
- sampling "public-chance" (Johanson, Bard, Lanctot, Gibson and Bowling 2012): one random board for each
  iteration, all hands and betting on it.
- best_response_from (Johanson, Bard, Burch and Bowling 2012, CFR-BR): each player is trained against an
  opponent who plays a best response in the real game from some round on, with real cards instead of
  buckets; before it he learns in the same abstraction (`cfr_br`). With public chance sampling the boards up
  to that round are sampled, and all that follow are visited.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.arrays import load_arrays, save_arrays
from ..abstraction.buckets import CardAbstraction
from .betting_tree import BettingTree
from .cfr_br import ResponseWalk
from .ground import Board, Ground
from .lane_tables import LaneTables
from .lanes import FLOATS
from .public_tree import check_walkable
from .regret import Scheme, Weights, make_scheme
from .round_plan import TRAIN
from .training_walk import SheetBook, TrainingWalk, Valuation

VECTOR_SAMPLINGS = ("public-chance", "none")
ROUND_NAMES = ("preflop", "flop", "turn", "river")


class VectorCFR:
    """Vector CFR on the public tree of a betting tree and a card abstraction.

    Args:
        tree: the betting tree.
        abstraction: buckets of the hands; must fit the tree's rules.
        scheme: a name of `regret.SCHEMES` or a Scheme. With public chance sampling those that multiply
            nothing: "cfr", "lcfr", "cfr+"; the last has no proof with sampling.
        sampling: one of VECTOR_SAMPLINGS.
        best_response_from: for CFR-BR the round, by name or number, from which the opponent plays best
            responses; None: both players learn against each other.
        seed: the boards follow from it and the number of the iteration.
        threads: full width: the boards of the second round are shared out, the result depends on the number
            of threads by rounding alone. Public chance sampling: threads work on iterations of their own and
            share the tables without locks. CFR-BR: the two players are trained side by side, which
            changes nothing.
        alternating: whether the players are updated by turns; simultaneous updates only at full width.
        precision: "single" or "double".
        horizon: iterations planned in all, for schemes with a schedule.

    Attributes:
        iterations: done so far.
        touched_nodes: (node of the betting tree, live hand) pairs visited in this session.

    Raises ValueError for games, schemes or combinations that it does not know.
    """

    unit = "node-hands"  # what touched_nodes counts

    def __init__(
        self,
        tree: BettingTree,
        abstraction: CardAbstraction,
        scheme: str | Scheme = "lcfr",
        sampling: str = "public-chance",
        best_response_from: str | int | None = None,
        seed: int = 0,
        threads: int = 1,
        alternating: bool | None = None,
        precision: str = "single",
        horizon: int | None = None,
    ):
        check_walkable(tree.rules)
        abstraction.check_fits(tree.rules)
        self.scheme = make_scheme(scheme, horizon)
        response = check_vector_options(
            self.scheme, sampling, best_response_from, tree.rules.num_rounds, alternating
        )
        self.sampling, self.best_response_from = sampling, response
        self.alternating = self.scheme.alternating if alternating is None else alternating
        self.seed, self.threads = seed, threads
        self.iterations = 0
        sampled = sampled_rounds(sampling, response, tree.rules.num_rounds)
        self.ground = Ground(tree, abstraction, FLOATS[precision], sampled)
        self._trained = [Valuation(self.ground, player, TRAIN) for player in (0, 1)]
        self.tables = [self._new_tables(player) for player in (0, 1)]
        # In CFR-BR the opponent of each player has tables of his own for the rounds before his responses.
        self.opponents = [] if response is None else [self._new_tables(p, response) for p in (0, 1)]
        self._stop = threading.Event()
        self._has_visits = False
        # A worker does every `step`-th iteration, beginning with number `offset`.
        self._workers: list[tuple[TrainingWalk | ResponseWalk, int, int]] = []
        self._books: list[list[SheetBook]] = []
        if response is None:
            for number in range(threads):
                shares = self._books[0] if number else [None, None]
                books = [
                    SheetBook(self.ground, tables, share)
                    for tables, share in zip(self.tables, shares, strict=True)
                ]
                self._books.append(books)
                walk = TrainingWalk(self.ground, self._trained, books, self._stop)
                self._workers.append((walk, number, threads))
        else:
            # One player's training touches nothing of the other's: two threads need not share tables.
            copies = 1 if sampling == "none" else max(1, threads // 2)
            for player in (0, 1):
                for copy in range(copies):
                    tables, opponent = self.tables[player], self.opponents[1 - player]
                    trained = self._trained, player, response, tables, opponent
                    self._workers.append((ResponseWalk(self.ground, *trained, self._stop), copy, copies))

    def _new_tables(self, player: int, rounds: int | None = None) -> LaneTables:
        return LaneTables(
            self._trained[player].plans,
            self.ground.abstraction.num_buckets,
            self.ground.dtype,
            self.scheme.predictive,
            rounds,
        )

    @property
    def chunk(self) -> int:
        """A good number of iterations for one call of `run`."""
        one_board = self.ground.is_sampled(self.ground.rules.num_rounds - 1)
        return 4 * self.threads if one_board else 1

    @property
    def nbytes(self) -> int:
        """Memory of the tables, and of what walks hold for every bucket."""
        tables = sum(tables.nbytes for tables in (*self.tables, *self.opponents))
        books = sum(book.nbytes for books in self._books for book in books)
        responses = (walk.nbytes for walk, _, _ in self._workers if isinstance(walk, ResponseWalk))
        return tables + books + sum(responses)

    @property
    def touched_nodes(self) -> int:
        return sum(walk.touched for walk, _, _ in self._workers)

    def run(self, iterations: int) -> None:
        """Do that many more iterations."""
        if self.sampling == "none" and self.best_response_from is None:
            for _ in range(iterations):
                self._full_width(self.iterations + 1)
                self.iterations += 1
            return
        first, end = self.iterations + 1, self.iterations + 1 + iterations

        def work(walk: TrainingWalk | ResponseWalk, offset: int, step: int) -> None:
            for iteration in range(first + (offset + 1 - first) % step, end, step):
                walk.iterate(self._path(iteration), self._weights(iteration))

        self._in_threads([partial(work, *worker) for worker in self._workers])
        self.iterations += iterations

    def _in_threads(self, jobs: Sequence[Callable[[], None]]) -> None:
        """Do the jobs on the solver's threads; an error or an interrupt stops them all."""
        if self.threads == 1 or len(jobs) == 1:
            for job in jobs:
                job()
            return
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                list(pool.map(lambda job: job(), jobs))
            except BaseException:
                self._stop.set()
                raise

    def _full_width(self, iteration: int) -> None:
        """One iteration on all boards.

        A player's part of the average strategy belongs to the strategy before the update, and his visits
        are added up in the other player's walk: those of player 0 in the walk before.
        """
        now, then = self._weights(iteration), self._weights(iteration + 1)
        first, second = self._books[0]
        if not self._has_visits:
            for book in (first, second):
                book.open_whole(now)
            if self.alternating:
                self._walk_all(1, now)
                second.forget_gains()
        self._has_visits = True
        self._walk_all(0, now)
        if not self.alternating:
            self._walk_all(1, now)
        first.remember(now)
        second.remember(now)
        first.learn(now)
        if not self.alternating:
            second.learn(now)
        first.open_whole(then)
        if self.alternating:
            self._walk_all(1, now)
            second.learn(now)
        second.open_whole(then)

    def _walk_all(self, player: int, weights: Weights) -> None:
        """Value a player's hands on all boards, which the threads share out."""
        walks = [walk for walk, _, _ in self._workers if isinstance(walk, TrainingWalk)]

        def work(number: int) -> None:
            walks[number].begin(player, [], weights)
            walks[number].boards(slice(number, None, len(walks)))

        self._in_threads([partial(work, number) for number in range(len(walks))])
        values = walks[0].scratch[player].values_in[1]
        for walk, books in zip(walks[1:], self._books[1:], strict=True):
            values += walk.scratch[player].values_in[1]
            for mine, theirs in zip(self._books[0], books, strict=True):
                mine.gather(theirs)
        walks[0].end()

    def _weights(self, iteration: int) -> Weights:
        """The numbers of an iteration.

        Where every average is touched, the sums are kept relative to the newest weight: steep weights, such
        as t**20, would not fit in single precision.
        """
        weights = self.scheme.weights(iteration)
        if self.sampling != "none" or weights.average_weight == 0:
            return weights
        before = self.scheme.weights(iteration - 1).average_weight if iteration > 1 else 0.0
        decay = weights.average_decay * before / weights.average_weight  # nothing is there where it is 0
        return weights._replace(average_decay=decay, average_weight=1.0)

    def _path(self, iteration: int) -> list[Board]:
        """The sampled boards of an iteration, by round."""
        return self.ground.sample(np.random.default_rng((self.seed, iteration, _BOARDS)))

    def average_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: the average strategy; uniform where nothing was visited."""
        return self._strategy(average=True)

    def current_strategy(self) -> list[np.ndarray]:
        """By round, float32 [bucket, slot]: what regret matching plays in the next iteration."""
        return self._strategy(average=False)

    def _strategy(self, average: bool) -> list[np.ndarray]:
        weights = self.scheme.weights(self.iterations + 1)
        found = []
        for index, slots in enumerate(self.ground.tree.num_slots):
            table = np.empty((self.ground.abstraction.num_buckets[index], slots), np.float32)
            for tables in self.tables:
                tables.fill(index, table, average, weights)
            found.append(table)
        return found

    def save(self, path: Path, header: dict[str, Any]) -> None:
        """Write a checkpoint beside the old one, sync it and rename it into place."""
        save_arrays(path, "checkpoint", {**header, "iterations": self.iterations}, self._arrays())

    def load(self, path: Path, header: dict[str, Any]) -> dict[str, Any]:
        """Continue from a checkpoint; returns its header.

        Raises ValueError if it is damaged or of another run than `header` says.
        """
        found, arrays = load_arrays(path, "checkpoint")
        for key, value in header.items():
            if found.get(key) != value:
                raise ValueError(
                    f"checkpoint {path} is of another run: its {key} is {found.get(key)!r}, not {value!r}"
                )
        own = self._arrays()
        if {key: array.shape for key, array in own.items()} != {
            key: array.shape for key, array in arrays.items()
        }:
            raise ValueError(f"checkpoint {path} does not fit the tables of this run")
        for key, array in own.items():
            array[:] = arrays[key]
        self.iterations = int(found["iterations"])
        self._has_visits = False
        return found

    def _arrays(self) -> dict[str, np.ndarray]:
        named = [(f"player{player}", tables) for player, tables in enumerate(self.tables)]
        named += [(f"opponent{player}", tables) for player, tables in enumerate(self.opponents)]
        return {
            f"{name}.{kind}{index}": array
            for name, tables in named
            for kind in ("regrets", "averages", "before")
            for index, array in enumerate(getattr(tables, kind))
            if array.size
        }


_BOARDS = 0x626F617264  # sets the draws of boards apart from those of others with the same seed


def sampled_rounds(sampling: str, response: int | None, num_rounds: int) -> int:
    """The last round whose board is sampled; -1 where none is."""
    if sampling == "none":
        return -1
    return num_rounds - 1 if response is None else response


def check_vector_options(
    scheme: Scheme,
    sampling: str,
    best_response_from: str | int | None,
    num_rounds: int,
    alternating: bool | None = None,
) -> int | None:
    """The round from which the opponent responds, as a number; ValueError for what does not go together."""
    if sampling not in VECTOR_SAMPLINGS:
        raise ValueError(f"sampling must be {' or '.join(VECTOR_SAMPLINGS)}, not {sampling!r}")
    if scheme.adaptive:
        raise ValueError(
            f"{scheme.name} is for small games: choose a scheme without adaptive prediction"
        )
    response = best_response_from
    if isinstance(response, str):
        if response not in ROUND_NAMES[:num_rounds]:
            names = ", ".join(ROUND_NAMES[:num_rounds])
            raise ValueError(f"best_response_from must be one of {names}, not {response!r}")
        response = ROUND_NAMES.index(response)
    if response is not None and not 0 <= response < num_rounds:
        raise ValueError(
            f"best_response_from must be a round from 0 to {num_rounds - 1}, not {response}"
        )
    if sampling != "none" and (scheme.sweeps or scheme.predictive):
        raise ValueError(
            f"{scheme.name} changes what was not visited, or predicts it: with sampling choose "
            "cfr, lcfr or cfr+"
        )
    if sampling != "none" and response == 0:
        raise ValueError('best responses from the first round on need every board: sampling = "none"')
    by_turns = scheme.alternating if alternating is None else alternating
    if not by_turns and (sampling != "none" or response is not None):
        raise ValueError("simultaneous updates are for self-play at full width")
    return response

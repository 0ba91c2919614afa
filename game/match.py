"""Matches: forfeits, duplicate deals, long matches over several processes, standard errors."""

from __future__ import annotations

import pickle
import signal
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

import numpy as np

from .betting import Action, IllegalAction
from .hand import Hand, Observation, new_hand
from .players import Asker, NoAnswer, Player, shown
from .rules import Rules, is_whole
from .statistics import standard_error

FAULTS = ("forfeit", "fold")
MAX_WORKERS = 1024
MAX_SECONDS = 1_000_000
MAX_SEED = 2**32 - 1  # larger ones would give other seeds' deals again
_CHUNK = 64  # hands of one task, and between two calls of `progress`; even, for duplicate deals


@dataclass(frozen=True)
class Fault:
    """What a player did against the rules of a match.

    Attributes:
        player: 0 or 1, the first or the second player of the match.
        hand: number of the hand, from 0.
        position: the player's position in that hand.
        kind: "illegal action", "out of turn", "exception", "no answer" or "time".
        sent: what was sent, or the exception.
        line: the betting so far, such as ``raise-to:6 call/check``.
        legal: what was legal, sizes as a range.
    """

    player: int
    hand: int
    position: int
    kind: str
    sent: str
    line: str
    legal: str

    def __str__(self) -> str:
        line = f"after {self.line}" if self.line else "at the start"
        return (
            f"player {self.player}, hand {self.hand}, {line}: {self.kind} ({self.sent}); "
            f"legal: {self.legal}"
        )


class Match:
    """A match in play: independent hands, with the button alternating.

    The first player begins in the big blind. An illegal action, malformed or out of turn, ends the match:
    who sent it has lost (``faults="forfeit"``), or folds (checks where nothing is owed) and the match
    goes on (``faults="fold"``; out of turn nothing happens but that it is noted).

    Args:
        rules: the game.
        hands: number of hands; with duplicate deals an even one, two for each deal.
        seed: of the deals.
        duplicate: whether every deal is played twice, with the seats swapped.
        faults: "forfeit" or "fold".
        first: number of the first hand, where this is a part of a longer match.

    Attributes:
        hand: the hand in play, or the last one when the match is over.
        number: its number, from 0.
        results: the first player's chips by hand that was played to its end.
        faults: what was done against the rules.
        forfeit: the fault that ended the match, or None.

    Raises ValueError for a bad number of hands or seed, no Rules, or another word for `faults`.
    """

    def __init__(
        self,
        rules: Rules,
        hands: int = 10,
        seed: int = 0,
        duplicate: bool = False,
        faults: str = "forfeit",
        first: int = 0,
    ):
        _check(rules, hands, seed, duplicate, faults)
        self.rules, self.seed, self.duplicate = rules, seed, duplicate
        self.number, self._hands = first, hands
        self.results: list[int] = []
        self.faults: list[Fault] = []
        self.forfeit: Fault | None = None
        self._folds = faults == "fold"
        self._go_on(self._deal())

    def _deal(self) -> Hand:
        deal = self.number // 2 if self.duplicate else self.number
        return new_hand(self.rules, seed=np.random.default_rng((self.seed, deal)))

    @property
    def is_over(self) -> bool:
        return self.forfeit is not None or len(self.results) == self._hands

    @property
    def to_act(self) -> int | None:
        """The player to act, 0 or 1, or None when the match is over."""
        if self.is_over:
            return None
        assert self.hand.to_act is not None
        return self.position(self.hand.to_act)  # a swap of two is its own inverse

    def position(self, player: int) -> int:
        """The player's position in the hand in play: 0 big blind, 1 button; seats swap with every hand."""
        return (player + self.number) % 2

    @property
    def match_chips(self) -> tuple[int, int]:
        """Sum of the two players' chips over the hands played to their end."""
        total = sum(self.results)
        return total, -total

    @property
    def winner(self) -> int | None:
        """Who won the match: more chips, or the other one's forfeit; None for a draw or while in play."""
        if self.forfeit is not None:
            return 1 - self.forfeit.player
        first, second = self.match_chips
        return None if first == second or not self.is_over else int(second > first)

    def observation(self, player: int) -> Observation:
        """What a player may see of the hand in play."""
        return self.hand.observation(self.position(player))

    def play(self, player: int, answer: str | Action | None) -> Hand:
        """Play a player's answer; returns the hand after it, also where the match went on to the next.

        Raises ValueError when the match is over, and for a player who is not 0 or 1.
        """
        if self.is_over:
            raise ValueError("the match is over: nobody acts")
        if player not in (0, 1):
            raise ValueError(f"a match has players 0 and 1, not {player!r}")
        if player != self.to_act:
            return self.fault(player, "out of turn", shown(answer))
        if answer is None:
            return self.fault(player, "no answer", "None")
        if not isinstance(answer, str) and type(answer) is not Action:
            return self.fault(player, "illegal action", shown(answer))
        try:
            hand = self.hand.play(answer)
        except IllegalAction:
            return self.fault(player, "illegal action", shown(answer))
        return self._go_on(hand)

    def fault(self, player: int, kind: str, sent: str) -> Hand:
        """Note what a player did against the rules, with its consequence; returns the hand after it.

        Raises ValueError when the match is over.
        """
        if self.is_over:
            raise ValueError("the match is over: nobody acts")
        betting = self.hand.betting
        where = self.number, self.position(player)
        fault = Fault(player, *where, kind, sent, str(betting), betting.legal_text())
        self.faults.append(fault)
        if not self._folds:
            self.forfeit = fault
        if player != self.to_act:  # nobody is to act after a forfeit
            return self.hand
        # The first of the passive actions is the fold, or the check where nothing is owed.
        return self._go_on(self.hand.play(betting.passive_actions()[0]))

    def _go_on(self, hand: Hand) -> Hand:
        self.hand = hand
        while self.hand.is_over:  # a hand in which the blinds are all-in is over when it is dealt
            self.results.append(self.hand.winnings[self.position(0)])
            if self.is_over:
                break
            self.number += 1
            self.hand = self._deal()
        return hand


def _check(rules: Rules, hands: int, seed: int, duplicate: bool, faults: str) -> None:
    """ValueError for what cannot be played."""
    if not isinstance(rules, Rules):
        raise ValueError(f"rules must be Rules, such as preset('acpc-limit'), not {rules!r}")
    if not is_whole(hands, 1) or (duplicate and hands % 2):
        raise ValueError(
            f"hands must be {'an even' if duplicate else 'a positive'} number, not {hands!r}"
        )
    if not is_whole(seed, 0, MAX_SEED):
        raise ValueError(f"the seed must be a whole number from 0 to {MAX_SEED}, not {seed!r}")
    if faults not in FAULTS:
        raise ValueError(f"faults must be one of {', '.join(FAULTS)}, not {faults!r}")


@dataclass(frozen=True)
class MatchResult:
    """Result of a match, from the first player's side.

    Attributes:
        hands: hands played to their end.
        winnings: the first player's chips in all.
        mbb_per_hand: the same in milli big blinds per hand; not a number without a hand.
        standard_error: of mbb_per_hand; over whole pairs of hands where deals are duplicate, whose luck of
            the cards cancels out.
        duplicate: whether every deal was played twice, with the seats swapped.
        winner: 0 or 1, the player who won the match, by chips or by forfeit; None for a draw.
        forfeit: the fault that ended the match, or None.
        faults: everything that was done against the rules, in order.
    """

    hands: int
    winnings: int
    mbb_per_hand: float
    standard_error: float
    duplicate: bool
    winner: int | None = None
    forfeit: Fault | None = None
    faults: tuple[Fault, ...] = field(default=(), repr=False)

    @property
    def match_chips(self) -> tuple[int, int]:
        """Chips of the two players over all hands."""
        return self.winnings, -self.winnings

    def __str__(self) -> str:
        text = "no hand was finished"
        if self.hands:
            score = f"{self.mbb_per_hand:+.1f} +- {self.standard_error:.1f} mbb/h"
            text = f"{score} over {self.hands:,} hands"
        if self.forfeit is not None:
            return f"{text}; forfeited by {self.forfeit}"
        return text + (f"; {len(self.faults):,} answers against the rules" if self.faults else "")


def play_match(
    players: Sequence[Player],
    rules: Rules,
    hands: int,
    seed: int = 0,
    duplicate: bool = False,
    progress: Callable[[int, int], None] | None = None,
    *,
    faults: str = "forfeit",
    time_limit: float | None = None,
    workers: int = 1,
) -> MatchResult:
    """Play hands with the button alternating; the first player begins in the big blind.

    A player that answers with an illegal action, raises an exception, returns None or exceeds the time
    limit forfeits the match, or only folds with ``faults="fold"``. The result says who, when, what was
    sent and what was legal.

    Args:
        players: two players.
        rules: the game.
        hands: number of hands; with duplicate deals an even one, two for each deal.
        seed: of the deals.
        duplicate: play every deal twice, with the seats swapped.
        progress: called every 64 hands with the hands played and the hands in all.
        faults: "forfeit" or "fold".
        time_limit: seconds for each decision. Each player then answers in a thread of its own; one that
            does not come back is left behind in it, and is late until it does.
        workers: processes that play parts of the match. They need players that can be pickled, and that
            keep no memory from hand to hand; the result is then the same for any number.

    Raises ValueError for a bad number of hands, players, workers or seconds.
    """
    if len(players) != 2:
        raise ValueError(f"a match has two players, not {len(players)}")
    if not is_whole(workers, 1, MAX_WORKERS):
        raise ValueError(f"workers must be a whole number from 1 to {MAX_WORKERS}, not {workers!r}")
    if time_limit is not None and not (
        isinstance(time_limit, int | float) and 0 < time_limit <= MAX_SECONDS
    ):
        raise ValueError(
            f"time_limit must be seconds above 0, up to {MAX_SECONDS:,}, not {time_limit!r}"
        )
    _check(rules, hands, seed, duplicate, faults)
    parts = (
        Match(rules, min(_CHUNK, hands - first), seed, duplicate, faults, first)
        for first in range(0, hands, _CHUNK)
    )
    if workers == 1:
        played = _play_here(players, time_limit, parts)
    else:
        played = _play_in_processes(players, time_limit, parts, workers)
    results: list[int] = []
    noted: list[Fault] = []
    forfeit = None
    with closing(played):
        for part in played:
            results += part.results
            noted += part.faults
            forfeit = part.forfeit
            if progress:
                progress(len(results), hands)
            if forfeit is not None:
                break
    return _report(rules, results, duplicate, noted, forfeit)


def _report(
    rules: Rules, results: list[int], duplicate: bool, faults: list[Fault], forfeit: Fault | None
) -> MatchResult:
    total = sum(results)
    winner = None if total == 0 else int(total < 0)
    if forfeit is not None:
        winner = 1 - forfeit.player
    repeats = 2 if duplicate else 1
    pairs = np.array(results[: len(results) // repeats * repeats], float).reshape(-1, repeats)
    mean = rules.mbb_per_hand(total, len(results))
    error = rules.mbb_per_hand(standard_error(pairs.mean(axis=1)))
    return MatchResult(len(results), total, mean, error, duplicate, winner, forfeit, tuple(faults))


def _play_part(askers: Sequence[Asker], match: Match) -> Match:
    """Play a match to its end or to a forfeit; returns it."""
    while (player := match.to_act) is not None:
        try:
            answer = askers[player].ask(match.number, match.observation(player))
        except NoAnswer as failure:
            match.fault(player, failure.kind, failure.sent)
        else:
            match.play(player, answer)
    return match


def _play_here(
    players: Sequence[Player], time_limit: float | None, parts: Iterator[Match]
) -> Generator[Match, None, None]:
    with ExitStack() as stack:
        askers = [stack.enter_context(closing(Asker(player, time_limit))) for player in players]
        for part in parts:
            yield _play_part(askers, part)


# Processes --------------------------------------------------------------------------------------


def _play_in_processes(
    players: Sequence[Player], time_limit: float | None, parts: Iterator[Match], workers: int
) -> Generator[Match, None, None]:
    try:
        luggage = pickle.dumps((list(players), time_limit))
    except Exception as error:
        raise ValueError(f"players cannot be sent to other processes ({error}): use workers=1") from None
    # Processes are started afresh: a fork would copy the locks of threads that it does not copy.
    with ProcessPoolExecutor(workers, get_context("spawn"), _start_worker, (luggage,)) as pool:
        try:
            _submit(pool, _has_players).result()
        except BrokenProcessPool:
            raise ValueError(
                "the players could not be made in another process: define them in a module that can be "
                "imported, guard a script by if __name__ == '__main__', or use workers=1"
            ) from None
        # Some parts are under way at any time, not all that there are: a match may be very long.
        waiting: deque[Future[Match]] = deque()
        try:
            for part in parts:
                waiting.append(_submit(pool, _play_in_worker, part))
                if len(waiting) > 2 * workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        except BrokenProcessPool:
            raise ValueError(
                "a process ended while it played: a player ended it, or memory did"
            ) from None
        finally:
            if waiting:  # a forfeit or Ctrl-C: what is still being played is of no use
                for process in list(pool._processes.values()):
                    process.terminate()
            pool.shutdown(cancel_futures=True)


def _submit(pool: ProcessPoolExecutor, task: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Submit a task, which may start a process: one that inherits that Ctrl-C is none of its business."""
    if not hasattr(signal, "pthread_sigmask"):
        return pool.submit(task, *arguments)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return pool.submit(task, *arguments)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_askers: list[Asker] = []  # of a worker process


def _start_worker(luggage: bytes) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which ends its workers
    players, time_limit = pickle.loads(luggage)
    _askers[:] = [Asker(player, time_limit) for player in players]


def _has_players() -> bool:
    """Answered by a process whose players were made."""
    return bool(_askers)


def _play_in_worker(part: Match) -> Match:
    return _play_part(_askers, part)

"""Players as functions, asked so that whatever one of them does harms nobody else."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any

from .betting import Action
from .hand import Observation

Player = Callable[[Observation], str | Action]
"""Told what it may see, a player answers with the text of an action (or the action).

A player may have a method ``begin(hand)``: it is called with the number of the hand, from 0, before the
player is asked anything in it.
"""


def begin_hand(player: Player, hand: int) -> None:
    """Tell a player that a hand begins, if it wants to know."""
    begin = getattr(player, "begin", None)
    if begin is not None:
        begin(hand)


def shown(answer: Any) -> str:
    """Text of what a player sent or raised, however odd or long."""
    try:
        if isinstance(answer, BaseException):
            text = f"{type(answer).__name__}: {answer}"
        else:
            text = answer if isinstance(answer, str) else repr(answer)
    except BaseException as error:  # of the player's own making
        text = f"{type(answer).__name__} that cannot be printed ({type(error).__name__})"
    text = ascii(text)[1:-1]
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


class NoAnswer(Exception):  # noqa: N818 - a player's failure, not an error of ours
    """A player gave no answer: `kind` is "exception" or "time", `sent` what there was instead."""

    def __init__(self, kind: str, sent: str):
        super().__init__(kind, sent)
        self.kind, self.sent = kind, sent


class Asker:
    """Asks a player, and turns exceptions and lateness into `NoAnswer`.

    Args:
        player: the player.
        time_limit: seconds for an answer; the player then runs in a thread of its own.
    """

    def __init__(self, player: Player, time_limit: float | None):
        self._player, self._time_limit = player, time_limit
        self._hand: int | None = None
        self._questions: SimpleQueue[tuple[int, int, Observation] | None] = SimpleQueue()
        self._answers: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        self._asked = 0
        if time_limit is not None:
            threading.Thread(target=self._serve, daemon=True).start()

    def ask(self, hand: int, observation: Observation) -> Any:
        """The player's answer in the hand of that number, whatever it is; NoAnswer if there is none."""
        if self._time_limit is None:
            answer = self._answer(hand, observation)
        else:
            answer = self._answer_in_time(hand, observation, self._time_limit)
        if isinstance(answer, NoAnswer):
            raise answer
        return answer

    def close(self) -> None:
        """End the thread, if there is one, as soon as the player comes back."""
        self._questions.put(None)

    def _answer(self, hand: int, observation: Observation) -> Any:
        try:
            if hand != self._hand:
                self._hand = hand
                begin_hand(self._player, hand)
            return self._player(observation)
        except BaseException as error:
            ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
            if isinstance(error, KeyboardInterrupt) and self._time_limit is None and not ignored:
                raise  # the person's wish, not the player's
            return NoAnswer("exception", shown(error))

    def _answer_in_time(self, hand: int, observation: Observation, seconds: float) -> Any:
        self._asked += 1
        self._questions.put((self._asked, hand, observation))
        deadline = monotonic() + seconds
        while True:
            try:
                number, answer = self._answers.get(timeout=max(0.0, deadline - monotonic()))
            except Empty:
                return NoAnswer("time", f"nothing in {seconds:g} s")
            if number == self._asked:  # anything else is a late answer to an earlier question
                return answer

    def _serve(self) -> None:
        while (question := self._questions.get()) is not None:
            number, hand, observation = question
            if number == self._asked:  # a question that was given up meanwhile is not asked any more
                self._answers.put((number, self._answer(hand, observation)))

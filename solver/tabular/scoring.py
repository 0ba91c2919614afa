"""Values, best responses and NashConv of policies, exact, on the sequence form of a game."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba as nb
import numpy as np

from ...game.rules import is_whole
from .game import TabularGame
from .inputs import by_sequence
from .payoffs import payoffs


class BestResponse(NamedTuple):
    """A best response of one player."""

    value: float  # what the responder wins on average
    policy: np.ndarray  # float64 [sequence]: the given policy with the responder's part replaced


class NashConv(NamedTuple):
    """How far a policy is from equilibrium, in the game's utilities.

    A best response may win less than nothing in a game that favours the other side: only the sum says
    something of the policy, and the sum is never negative (but for rounding).
    """

    nash_conv: float  # what the two best responses win together
    responses: tuple[float, float]  # what a best response wins as player 0, as player 1

    @property
    def exploitability(self) -> float:
        """The average over the two players: half of NashConv."""
        return self.nash_conv / 2


class Scorer:
    """Scores policies of one game; the payoffs are gathered once.

    Policies are float64 [sequence] as in `TabularGame.uniform_policy`. Raises ValueError for arrays of
    another shape, for probabilities that do not add up to 1, and for players other than 0 and 1.
    """

    def __init__(self, game: TabularGame):
        self.game = game
        self.payoffs = payoffs(game)

    def expected_value(self, policy: np.ndarray) -> float:
        """What player 0 wins on average."""
        reach = self.reach(policy)
        return float(self._values(0, reach) @ reach[self.game.sequences[0]])

    def sequence_values(self, policy: np.ndarray, player: int) -> np.ndarray:
        """What each of a player's sequences wins at the terminals that it is the last one of, against the
        other's part of the policy and chance: float64 [own sequence].
        """
        if not is_whole(player, 0, 1):
            raise ValueError(f"a player is 0 or 1, got {player!r}")
        return self._values(player, self.reach(policy))

    def best_response(self, policy: np.ndarray, responder: int) -> BestResponse:
        """A best response of player `responder` (0 or 1) to the other's part of the policy: one action at
        each information set, the first of the best; also where the other never lets him come.
        """
        own = self.sequence_values(policy, responder)
        values = np.zeros(self.game.num_sequences)
        values[self.game.sequences[responder]] = own
        response = np.array(policy, np.float64)
        part = self.game.infosets[responder]
        _maximise(
            part.start,
            part.stop,
            self.game.first_sequence,
            self.game.num_actions,
            self.game.parent_sequence,
            values,
            response,
        )
        return BestResponse(float(values[self.game.sequences[responder].start]), response)

    def nash_conv(self, policy: np.ndarray) -> NashConv:
        """NashConv of the policy and its two parts."""
        first, second = (self.best_response(policy, player).value for player in range(2))
        return NashConv(first + second, (first, second))

    def reach(self, policy: np.ndarray) -> np.ndarray:
        """Product of a player's own probabilities up to each of his sequences: float64 [sequence]."""
        policy = check_policy(self.game, policy)
        reach = np.ones(self.game.num_sequences)
        _reach(
            self.game.first_sequence,
            self.game.num_actions,
            self.game.parent_sequence,
            policy,
            reach,
        )
        return reach

    def _values(self, player: int, reach: np.ndarray) -> np.ndarray:
        values = np.empty(len(self.payoffs[player].first) - 1)
        _row_values(*self.payoffs[player], reach, values)
        return values


def expected_value(game: TabularGame, policy: np.ndarray) -> float:
    """What player 0 wins on average; see Scorer, which is faster for several policies."""
    return Scorer(game).expected_value(policy)


def best_response(game: TabularGame, policy: np.ndarray, responder: int) -> BestResponse:
    """A best response; see Scorer, which is faster for several policies."""
    return Scorer(game).best_response(policy, responder)


def nash_conv(game: TabularGame, policy: np.ndarray) -> NashConv:
    """NashConv; see Scorer, which is faster for several policies."""
    return Scorer(game).nash_conv(policy)


def check_policy(game: TabularGame, policy: Any, tolerance: float = 1e-6) -> np.ndarray:
    """A policy as float64 [sequence], copied. Raises ValueError where it is not one of the game."""
    found = by_sequence(game, policy, "a policy")
    real = game.sequence_infoset >= 0
    where, shares = game.sequence_infoset[real], found[real]
    sums = np.bincount(where, shares, game.num_infosets)
    wrong = np.abs(sums - 1) > tolerance
    wrong[where[shares < 0]] = True
    if wrong.any():
        text = game.infoset_text[int(np.argmax(wrong))]
        raise ValueError(f"probabilities must be 0 or more and add up to 1: they do not at {text!r}")
    return found


@nb.njit(cache=True, nogil=True)
def _row_values(first, column, payoff, reach, values):
    """values[s] = sum of payoff * reach[column] over the entries of row s."""
    for row in range(len(first) - 1):
        total = 0.0
        for entry in range(first[row], first[row + 1]):
            total += payoff[entry] * reach[column[entry]]
        values[row] = total


@nb.njit(cache=True, nogil=True)
def _reach(first_sequence, num_actions, parent_sequence, policy, reach):
    """reach [sequence]: the product of a player's own probabilities; 1 at the empty sequences, given so."""
    for infoset in range(len(first_sequence)):
        above = reach[parent_sequence[infoset]]
        first = first_sequence[infoset]
        for sequence in range(first, first + num_actions[infoset]):
            reach[sequence] = above * policy[sequence]


@nb.njit(cache=True, nogil=True)
def _maximise(start, stop, first_sequence, num_actions, parent_sequence, values, response):
    """From the last information set to the first, the best action's value is added to the sequence above.

    values, response: float64 [sequence], modified in place.
    """
    for infoset in range(stop - 1, start - 1, -1):
        first = first_sequence[infoset]
        best = first
        for sequence in range(first, first + num_actions[infoset]):
            if values[sequence] > values[best]:
                best = sequence
            response[sequence] = 0.0
        response[best] = 1.0
        values[parent_sequence[infoset]] += values[best]

"""Long matches between two players, with duplicate deals and standard errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from .betting import IllegalAction
from .hand import Hand, Observation, new_hand
from .rules import Rules

Player = Callable[[Observation], str]
"""Told what it may see, a player answers with the text of an action."""


@dataclass(frozen=True)
class MatchResult:
    """Result of a match, from the first player's side.

    Attributes:
        hands: hands played.
        winnings: the first player's chips in all.
        mbb_per_hand: the same in milli big blinds per hand.
        standard_error: of mbb_per_hand; over pairs of hands where deals are duplicate, whose luck of the
            cards cancels out.
        duplicate: whether every deal was played twice, with the seats swapped.
    """

    hands: int
    winnings: int
    mbb_per_hand: float
    standard_error: float
    duplicate: bool

    def __str__(self) -> str:
        return f"{self.mbb_per_hand:+.1f} +- {self.standard_error:.1f} mbb/h over {self.hands:,} hands"


def play_match(
    players: Sequence[Player],
    rules: Rules,
    hands: int,
    seed: int = 0,
    duplicate: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> MatchResult:
    """Play hands with the button alternating; the first player begins in the big blind.

    Args:
        players: two players.
        rules: the game.
        hands: number of hands; with duplicate deals an even one, two for each deal.
        seed: of the deals.
        duplicate: play every deal twice, with the seats swapped.
        progress: called now and then with the hands played and the hands in all.

    Raises ValueError for a bad number of hands, IllegalAction (naming player and hand) for an action
    that is not legal.
    """
    if len(players) != 2:
        raise ValueError(f"a match has two players, not {len(players)}")
    if hands < 1 or (duplicate and hands % 2):
        raise ValueError(f"hands must be {'an even' if duplicate else 'a positive'} number, not {hands}")
    repeats = 2 if duplicate else 1
    results = np.empty((hands // repeats, repeats))
    for number in range(hands):
        deal = number // repeats
        start = new_hand(rules, seed=np.random.default_rng((seed, deal)))
        seat = number % 2  # the position of the first player
        results[deal, number % repeats] = _play_hand(players, seat, start, number).winnings[seat]
        if progress and (number + 1) % 256 == 0:
            progress(number + 1, hands)
    means = results.mean(axis=1) * 1000 / rules.big_blind
    error = float(means.std(ddof=1) / sqrt(len(means))) if len(means) > 1 else nan
    return MatchResult(hands, int(results.sum()), float(means.mean()), error, duplicate)


def _play_hand(players: Sequence[Player], seat: int, hand: Hand, number: int) -> Hand:
    """Play a hand to its end; position p is taken by player (p + seat) mod 2."""
    while hand.to_act is not None:
        who = (hand.to_act + seat) % 2
        answer = players[who](hand.observation(hand.to_act))
        try:
            hand = hand.play(answer)
        except IllegalAction as error:
            raise IllegalAction(f"hand {number}, player {who}: {error}") from None
    return hand

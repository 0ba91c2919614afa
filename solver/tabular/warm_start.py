"""Regrets that stand for iterations in which a given policy was played.

A policy alone tells less than the regrets of a solver: how close a call each choice was is lost. Brown and
Sandholm (2016, "Strategy-based warm starting for regret minimization in games") replace the regrets by what
the policy's own counterfactual values say; this is a simpler cut of that idea.

Measured on Leduc poker, NashConv after 20 / 100 / 300 iterations from a policy of NashConv 0.0155 counted as
30 iterations: CFR 0.13 / 0.07 / 0.032 instead of 0.91 / 0.19 / 0.071 without it; DCFR 0.19 / 0.016 / 0.0020
instead of 0.33 / 0.016 / 0.0020. Discounted schemes forget their start so fast that it soon does not matter.

The plus schemes and the schedules may end worse than from nothing: they start in the middle of their weights
without the regrets that belong there. CFR+ 0.23 / 0.039 / 0.0065 instead of 0.35 / 0.027 / 0.0046; APCFR+
0.25 / 0.028 / 0.0059 instead of 0.28 / 0.025 / 0.0028; HS-DCFR with a horizon of 20 1.67 after the first
iteration, which its steep average leans on, and 0.47 instead of 0.41 after 20.
"""

from __future__ import annotations

import numpy as np

from .game import TabularGame
from .scoring import Scorer

TRACE = 1e-9  # least spread of values, as a share of the largest utility


def regrets_of_policy(game: TabularGame, policy: np.ndarray, counted: int) -> np.ndarray:
    """Regrets that stand for `counted` iterations of that policy, float64 [sequence]: on the scale of "cfr".
    Other schemes, which discount regrets or weigh them, would have others.

    An action's regret is what it wins more than the policy would in so many iterations, and a share of the
    root of their number (regrets of a minimiser grow like that) times the spread of the values there: so
    that the policy's own choices lead where nothing else decides.
    """
    scorer = Scorer(game)
    values = np.concatenate([scorer.sequence_values(policy, player) for player in range(2)])
    gains, spread = np.zeros(game.num_sequences), np.zeros(game.num_sequences)
    least = TRACE * float(np.abs(game.utility).max())
    for infoset in range(game.num_infosets - 1, -1, -1):
        first = game.first_sequence[infoset]
        part = slice(first, first + game.num_actions[infoset])
        value = values[part] @ policy[part]
        gains[part] = values[part] - value
        spread[part] = max(np.ptp(values[part]), least)
        values[game.parent_sequence[infoset]] += value
    return counted * gains + np.sqrt(counted) * policy * spread

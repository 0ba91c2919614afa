"""A strategy as an OpenSpiel policy."""

from __future__ import annotations

from typing import Any

from open_spiel.python.policy import Policy

from ..game.openspiel import HoldemGame, HoldemState
from .strategy import Strategy


class StrategyPolicy(Policy):
    """Action probabilities of a strategy at states of a `python_holdem` game.

    The game may have every legal bet or a menu of its own; a strategy that makes a bet which that menu lacks
    is refused where it would make it.

    Raises ValueError for a game of other rules or another kind.
    """

    def __init__(self, game: Any, strategy: Strategy):
        if not isinstance(game, HoldemGame):
            raise ValueError(f"the strategy plays python_holdem games, not {game}")
        if game.rules != strategy.rules:
            raise ValueError(f"the strategy is for {strategy.rules.name}, the game is {game}")
        super().__init__(game, [0, 1])
        self._strategy = strategy

    def action_probabilities(self, state: HoldemState, player_id: int | None = None) -> dict[int, float]:
        """Probability of each legal action id for the player to act.

        Raises ValueError where the strategy bets what the game does not offer.
        """
        table = state.table
        player = table.betting.to_act
        if player is None or player_id not in (None, player):
            raise ValueError(f"player {player_id} is not to act: {state}")
        found = self._strategy.node_probabilities(table.betting, table.hole[player], table.board)
        known = {table.action(number): number for number in table.legal_ids()}
        for action, probability in found.items():
            if probability and action not in known:
                raise ValueError(f"the strategy plays {action}, which the game does not offer: {state}")
        return {number: found.get(action, 0.0) for action, number in known.items()}

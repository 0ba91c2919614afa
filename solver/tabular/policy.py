"""Policies of tabular games, from OpenSpiel's policies and to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.policy import Policy

from .game import TabularGame
from .scoring import check_policy


class TabularPolicy(Policy):
    """A policy of a tabular game, float64 [sequence], that is an OpenSpiel policy too: OpenSpiel's own
    exploitability and best responses take it as it is.

    Attributes:
        tabular_game: the game's arrays; `game` is the OpenSpiel game, as in all of its policies.
        probabilities: float64 [sequence], read-only; 1 at the two empty sequences.

    Raises ValueError for arrays of another shape and probabilities that do not add up to 1.
    """

    def __init__(self, game: TabularGame, probabilities: np.ndarray):
        self.probabilities = check_policy(game, probabilities)
        super().__init__(game.game, [0, 1])
        self.tabular_game = game
        self.probabilities[game.sequence_infoset < 0] = 1.0
        self.probabilities.setflags(write=False)

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Probability of each legal action for the player to act.

        Raises ValueError where that player is not to act or the state is not one of the game.
        """
        player = state.current_player()
        if player not in (0, 1) or player_id not in (None, player):
            who = "nobody" if player not in (0, 1) else f"player {player}"
            raise ValueError(f"player {player_id} was asked for, {who} is to act: {state.history_str()}")
        infoset = self.tabular_game.infoset_numbers[player].get(state.information_state_string(player))
        if infoset is None:
            raise ValueError(
                f"not an information state of {self.game}: {state.information_state_string()!r}"
            )
        return self._row(infoset)

    def to_dict(self) -> dict[str, dict[int, float]]:
        """Probabilities by information state string and action.

        Raises ValueError where the players share a string: it does not say whose probabilities are meant.
        """
        texts = self.tabular_game.infoset_text
        found = {text: self._row(infoset) for infoset, text in enumerate(texts)}
        if len(found) < len(texts):
            both = set.intersection(*(set(numbers) for numbers in self.tabular_game.infoset_numbers))
            raise ValueError(
                f"both players of {self.game} have the information state {min(both)!r}: a table by text "
                "cannot tell them apart"
            )
        return found

    def to_pyspiel(self) -> pyspiel.TabularPolicy:
        """For OpenSpiel's C++ algorithms. Raises ValueError as `to_dict`."""
        return pyspiel.TabularPolicy({text: list(row.items()) for text, row in self.to_dict().items()})

    @classmethod
    def from_openspiel(cls, game: TabularGame, policy: Any, missing: str | None = None) -> TabularPolicy:
        """A policy of any kind as one of this game.

        Args:
            game: the game's arrays.
            policy: an OpenSpiel policy in Python or C++, or a dictionary from information state strings to
                probabilities, those in turn a dictionary by action or a list of (action, probability).
            missing: "uniform" where the policy has nothing for an information state; None refuses that.

        Raises ValueError for what is missing, for information states and actions that are not those of the
        game, and for probabilities that do not add up to 1.
        """
        if missing not in (None, "uniform"):
            raise ValueError(f"missing states can be 'uniform' or refused (None), not {missing!r}")
        if isinstance(policy, TabularPolicy) and policy.tabular_game is game:
            return cls(game, policy.probabilities)
        if isinstance(policy, pyspiel.TabularPolicy):
            policy = policy.policy_table()
        if isinstance(policy, Mapping):
            unknown = policy.keys() - set(game.infoset_text)
            if unknown:
                text = min(map(repr, unknown))
                raise ValueError(f"the policy has {text}, which is no information state of {game.game}")
            rows = [policy.get(text) for text in game.infoset_text]
        elif isinstance(policy, Policy | pyspiel.Policy):
            rows = [_asked(policy, state) for state in _some_states(game)]
        else:
            raise ValueError(
                f"a policy is one of OpenSpiel's or a dictionary, not {type(policy).__name__}"
            )
        probabilities = np.ones(game.num_sequences)
        for infoset, row in enumerate(rows):
            probabilities[_part(game, infoset)] = _probabilities(game, infoset, row, missing)
        return cls(game, probabilities)

    def _row(self, infoset: int) -> dict[int, float]:
        part = _part(self.tabular_game, infoset)
        actions = self.tabular_game.sequence_action[part].tolist()
        return dict(zip(actions, self.probabilities[part].tolist(), strict=True))


def _part(game: TabularGame, infoset: int) -> slice:
    first = int(game.first_sequence[infoset])
    return slice(first, first + int(game.num_actions[infoset]))


def _probabilities(
    game: TabularGame,
    infoset: int,
    row: Mapping[int, float] | Iterable[tuple[int, float]] | None,
    missing: str | None,
) -> list[float]:
    """Probabilities in the order of the game's actions."""
    text, actions = game.infoset_text[infoset], game.sequence_action[_part(game, infoset)].tolist()
    pairs = row.items() if isinstance(row, Mapping) else [] if row is None else row
    try:
        found = {int(action): float(probability) for action, probability in pairs}
    except (TypeError, ValueError):
        raise ValueError(
            f"probabilities are a dictionary by action or a list of (action, probability), not {row!r} as "
            f"at {text!r}"
        ) from None
    if not found:
        if missing is None:
            raise ValueError(
                f"the policy has nothing for {text!r}: give missing='uniform' to "
                "TabularPolicy.from_openspiel to fill it in"
            )
        return [1 / len(actions)] * len(actions)
    for action, probability in found.items():
        if probability and action not in actions:
            raise ValueError(
                f"the policy plays {action} at {text!r}, where the legal actions are {actions}"
            )
    return [found.get(action, 0.0) for action in actions]


def _asked(policy: Any, state: Any) -> Any:
    """What an OpenSpiel policy plays; those that are tables of another game know nothing of the state."""
    try:
        return policy.action_probabilities(state)
    except (LookupError, pyspiel.SpielError):
        raise ValueError(
            f"the policy is of another game: it does not know {state.information_state_string()!r}"
        ) from None


def _some_states(game: TabularGame) -> list[Any]:
    """One OpenSpiel state of each information set."""
    inner = np.flatnonzero(game.num_children)
    parent = np.full(game.num_nodes, -1)
    for offset in range(int(game.num_children.max(initial=0))):
        wide = inner[game.num_children[inner] > offset]
        parent[game.first_child[wide] + offset] = wide
    nodes = np.flatnonzero(game.infoset >= 0)
    infosets, first = np.unique(game.infoset[nodes], return_index=True)
    states = []
    for node in nodes[first].tolist():
        path = []
        while node:
            path.append(int(game.action[node]))
            node = parent[node]
        state = game.game.new_initial_state()
        for action in reversed(path):
            state.apply_action(action)
        states.append(state)
    assert len(infosets) == game.num_infosets
    return states

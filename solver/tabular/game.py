"""A two-player OpenSpiel game unrolled once into flat arrays.

Two views of the game stand side by side. The tree of histories (fields [node]) is what samplers walk. The
sequence form (fields [infoset] and [sequence]) is what full-width solvers loop over: a sequence is an
information set with one of its actions, or the empty sequence of a player, and with perfect recall
everything that a player has done so far is told by his last sequence.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyspiel

from .inputs import whole

CHANCE, TERMINAL = 2, 3  # kinds of nodes beside the players 0 and 1
MAX_NODES = 5_000_000
# While a game is unrolled, texts included: measured 115 on Liar's dice, 255 on tic-tac-toe, where every
# decision node is an information set of its own.
BYTES_A_NODE = 255
PLAYOUTS = 100  # of the estimate that comes first
ABOVE = 3  # an estimate so many times above the limit is believed where the playouts agree,
FAR_ABOVE = 100  # and one so many times above it in any case: it is right on average

_TURN_BASED = pyspiel.GameType.Dynamics.SEQUENTIAL
_ZERO_SUM = pyspiel.GameType.Utility.ZERO_SUM
_SAMPLED = pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC


@dataclass(frozen=True, eq=False)
class TabularGame:
    """Arrays of a game; made by `from_openspiel`. All are read-only.

    Nodes are numbered parents first, the children of a node side by side, the root is 0. Information sets
    are numbered player 0's first, then player 1's, and within a player those above come before those below.
    Sequences are numbered likewise: the empty sequence of player 0, then the actions of his information
    sets in their order, then the same of player 1. So a vector over sequences, float64 [sequence], holds a
    policy, regrets, or reach probabilities of both players, and each player's part is one slice.

    Attributes:
        game: the OpenSpiel game.
        kind: int8 [node]: 0 or 1 the player to act, CHANCE or TERMINAL.
        first_child: int32 [node], 0 at terminals: child number c stands at first_child + c, in the order of
            the legal actions or chance outcomes.
        num_children: int32 [node], 0 at terminals.
        infoset: int32 [node], -1 where nobody acts.
        probability: float64 [node]: of the chance outcome that leads here, 1 below other nodes.
        action: int64 [node]: OpenSpiel's number of the action or outcome that leads here, -1 at the root.
        utility: float64 [node]: what player 0 wins here, 0 at other than terminal nodes.
        last_sequence: int32 [player, node]: the last sequence of each player on the way here.
        infoset_player: int8 [infoset].
        num_actions: int32 [infoset].
        first_sequence: int32 [infoset]: action number a has the sequence first_sequence + a.
        parent_sequence: int32 [infoset]: the player's last sequence before.
        infoset_text: OpenSpiel's information state strings, [infoset].
        sequence_infoset: int32 [sequence], -1 for the two empty ones.
        sequence_action: int64 [sequence]: OpenSpiel's number of the action, -1 for the empty ones.
    """

    game: pyspiel.Game
    kind: np.ndarray
    first_child: np.ndarray
    num_children: np.ndarray
    infoset: np.ndarray
    probability: np.ndarray
    action: np.ndarray
    utility: np.ndarray
    last_sequence: np.ndarray
    infoset_player: np.ndarray
    num_actions: np.ndarray
    first_sequence: np.ndarray
    parent_sequence: np.ndarray
    infoset_text: tuple[str, ...]
    sequence_infoset: np.ndarray
    sequence_action: np.ndarray

    @classmethod
    def from_openspiel(
        cls,
        game: pyspiel.Game | str,
        max_nodes: int = MAX_NODES,
        progress: Callable[[int], Any] | None = None,
    ) -> TabularGame:
        """Unroll a game, or the game of that OpenSpiel name.

        Args:
            game: two players, zero-sum, turn-based, with information state strings and perfect recall.
                Simultaneous games: `turn_based_simultaneous_game(game=...)` turns them into such ones.
            max_nodes: more nodes are refused, by a quick estimate beforehand where they are clearly more.
            progress: called now and then with the number of nodes so far.

        Raises ValueError for other games, one line that says why.
        """
        max_nodes = whole("max_nodes", max_nodes, 1)
        if isinstance(game, str):
            game = _loaded(game)
        _check_type(game)
        guesses = _playouts(game, PLAYOUTS, 0)
        expected = float(guesses.mean())
        sure = expected > FAR_ABOVE * max_nodes
        if not sure and expected > ABOVE * max_nodes:
            sure = expected - 2 * guesses.std() / np.sqrt(PLAYOUTS) > max_nodes
        if sure:
            number = f"about {expected:.0e}" if np.isfinite(expected) else "more than 1e+300"
            raise ValueError(_too_large(game, number, expected, max_nodes))
        return _unroll(game, max_nodes, progress)

    @property
    def num_nodes(self) -> int:
        return len(self.kind)

    @property
    def num_infosets(self) -> int:
        return len(self.num_actions)

    @property
    def num_sequences(self) -> int:
        return len(self.sequence_infoset)

    @cached_property
    def node_counts(self) -> tuple[int, int, int]:
        """Numbers of chance, decision and terminal nodes."""
        chance, terminal = (int((self.kind == kind).sum()) for kind in (CHANCE, TERMINAL))
        return chance, self.num_nodes - chance - terminal, terminal

    @cached_property
    def infosets(self) -> tuple[slice, slice]:
        """Each player's information sets."""
        first = int((self.infoset_player == 0).sum())
        return slice(0, first), slice(first, self.num_infosets)

    @cached_property
    def sequences(self) -> tuple[slice, slice]:
        """Each player's sequences, the empty one first."""
        first = 1 + int(self.num_actions[self.infosets[0]].sum())
        return slice(0, first), slice(first, self.num_sequences)

    @cached_property
    def infoset_numbers(self) -> tuple[dict[str, int], dict[str, int]]:
        """Each player's information sets by text."""
        return tuple(  # type: ignore[return-value]
            {self.infoset_text[i]: i for i in range(part.start, part.stop)} for part in self.infosets
        )

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(value.nbytes for value in vars(self).values() if isinstance(value, np.ndarray))

    def uniform_policy(self) -> np.ndarray:
        """Every action equally likely: float64 [sequence], 1 for the two empty sequences."""
        policy = np.ones(self.num_sequences)
        real = self.sequence_infoset >= 0
        policy[real] /= self.num_actions[self.sequence_infoset[real]]
        return policy


def estimate_nodes(game: pyspiel.Game, playouts: int = PLAYOUTS, seed: int = 0) -> float:
    """Estimate of the number of histories from random playouts (Knuth 1975): right on average, but a few
    playouts mostly miss what few long lines add, and so fall short of it.
    """
    return float(_playouts(game, playouts, seed).mean())


def _playouts(game: pyspiel.Game, playouts: int, seed: int) -> np.ndarray:
    """What each of some random playouts takes for the number of histories, float64 [playout]."""
    rng = np.random.default_rng(seed)
    guesses = np.empty(playouts)
    for number in range(playouts):
        state, width, nodes = game.new_initial_state(), 1.0, 1.0
        while not state.is_terminal():
            actions = state.legal_actions()
            width *= len(actions)
            nodes += width
            state.apply_action(actions[int(rng.integers(len(actions)))])
        guesses[number] = nodes
    return guesses


def _loaded(name: str) -> pyspiel.Game:
    """The OpenSpiel game of that name. Raises ValueError, one line, where there is none."""
    if "python_holdem" in name:
        importlib.import_module("nashfold.game.openspiel")  # registers it
    try:
        return pyspiel.load_game(name)
    except pyspiel.SpielError as error:
        reason = str(error).splitlines()[0].removesuffix(" Available games are:")
        raise ValueError(f"OpenSpiel does not load {name!r}: {reason}") from None


def _check_type(game: pyspiel.Game) -> None:
    if not hasattr(game, "new_initial_state"):
        raise ValueError(f"a game is one of OpenSpiel's or its name, not {type(game).__name__} {game!r}")
    kind, name = game.get_type(), game.get_type().short_name
    if game.num_players() != 2:
        raise ValueError(
            f"{name} has {game.num_players()} players: only two-player games can be unrolled"
        )
    if kind.dynamics != _TURN_BASED:
        raise ValueError(
            f"{name} is a simultaneous game: load it as turn_based_simultaneous_game(game={name}(...))"
        )
    if kind.utility != _ZERO_SUM:
        raise ValueError(f"{name} is not zero-sum: only zero-sum games can be unrolled")
    if kind.chance_mode == _SAMPLED:
        raise ValueError(f"{name} only samples its chance outcomes: their probabilities are needed")
    if not kind.provides_information_state_string:
        raise ValueError(f"{name} has no information state strings: what the players know is not told")


def _too_large(game: pyspiel.Game, nodes: str, number: float, limit: int) -> str:
    size = number * BYTES_A_NODE / 1e9
    memory = f"{size:,.1f} GB" if size < 1e5 else "more than any machine has"
    if size < 0.1:
        memory = "less than 0.1 GB"
    return (
        f"{game.get_type().short_name} has {nodes} nodes, which need {memory}; "
        f"the limit is {limit:,} nodes: raise max_nodes, or take a smaller game"
    )


def _unroll(game: pyspiel.Game, max_nodes: int, progress: Callable[[int], Any] | None) -> TabularGame:
    """The arrays, from a walk with a stack of its own: lines may be longer than Python's recursion."""
    kind, first_child, num_children = array("b", [0]), array("i", [0]), array("i", [0])
    infoset, probability, utility = array("i", [-1]), array("d", [1.0]), array("d", [0.0])
    action = array("q", [-1])
    own_sequence = array("i", [0]), array("i", [0])  # numbers of each player's own, 0 the empty one
    numbers: tuple[dict[str, int], dict[str, int]] = ({}, {})
    legal: tuple[list[list[int]], list[list[int]]] = ([], [])
    first_sequence, parent_sequence = (array("i"), array("i")), (array("i"), array("i"))
    num_sequences = [1, 1]
    terminal, chance = int(pyspiel.PlayerId.TERMINAL), int(pyspiel.PlayerId.CHANCE)

    stack: list[tuple[int, Any]] = [(0, game.new_initial_state())]
    told = 0
    while stack:
        node, state = stack.pop()
        player = state.current_player()
        if player == terminal:
            kind[node] = TERMINAL
            returns = state.returns()
            if abs(returns[0] + returns[1]) > 1e-9 * max(1.0, abs(returns[0])):
                raise ValueError(f"{game.get_type().short_name} is not zero-sum: it pays {returns}")
            utility[node] = returns[0] + 0.0  # no negative zeros
            continue
        if player == chance:
            kind[node] = CHANCE
            outcomes = state.chance_outcomes()
            actions = [outcome for outcome, _ in outcomes]
            odds = [odd for _, odd in outcomes]
            first_own = -1
        else:
            kind[node] = player
            actions = state.legal_actions()
            odds = [1.0] * len(actions)
            text = state.information_state_string(player)
            before = own_sequence[player][node]
            number = numbers[player].setdefault(text, len(legal[player]))
            if number == len(legal[player]):
                legal[player].append(actions)
                first_sequence[player].append(num_sequences[player])
                parent_sequence[player].append(before)
                num_sequences[player] += len(actions)
            elif parent_sequence[player][number] != before:
                raise ValueError(
                    f"{game.get_type().short_name} has imperfect recall: player {player}'s information state "
                    f"{text!r} follows different own moves or observations"
                )
            elif legal[player][number] != actions:
                raise ValueError(
                    f"{game.get_type().short_name}: the legal actions at player {player}'s information "
                    f"state {text!r} depend on what he does not see"
                )
            infoset[node] = number
            first_own = first_sequence[player][number]
        first = len(kind)
        first_child[node], num_children[node] = first, len(actions)
        if first + len(actions) > max_nodes:
            raise ValueError(_too_large(game, f"more than {max_nodes:,}", max_nodes, max_nodes))
        for place, outcome in enumerate(actions):
            kind.append(0)
            first_child.append(0)
            num_children.append(0)
            infoset.append(-1)
            probability.append(odds[place])
            action.append(outcome)
            utility.append(0.0)
            for one in range(2):
                own_sequence[one].append(first_own + place if one == player else own_sequence[one][node])
        stack += [
            (first + place, state.child(actions[place])) for place in reversed(range(len(actions)))
        ]
        if progress is not None and first - told >= 10_000:
            progress(first)
            told = first

    shift = num_sequences[0]  # player 1's sequences stand behind player 0's
    kinds, infosets = np.array(kind), np.array(infoset)
    infosets[kinds == 1] += len(legal[0])
    sizes = np.array([len(actions) for side in legal for actions in side], np.int32)
    sequence_action = [
        np.array([-1, *(a for actions in side for a in actions)], np.int64) for side in legal
    ]
    counts = [len(side) for side in legal]
    sequence_infoset = np.full(sum(num_sequences), -1, np.int32)
    numbered = np.repeat(np.arange(sum(counts), dtype=np.int32), sizes)
    sequence_infoset[1:shift] = numbered[: shift - 1]
    sequence_infoset[shift + 1 :] = numbered[shift - 1 :]
    fields = {
        "kind": kinds,
        "first_child": np.array(first_child),
        "num_children": np.array(num_children),
        "infoset": infosets,
        "probability": np.array(probability),
        "action": np.array(action, np.int64),
        "utility": np.array(utility),
        "last_sequence": np.array([own_sequence[0], np.array(own_sequence[1]) + shift], np.int32),
        "infoset_player": np.repeat(np.array([0, 1], np.int8), counts),
        "num_actions": sizes,
        "first_sequence": _joined(first_sequence, shift),
        "parent_sequence": _joined(parent_sequence, shift),
        "sequence_infoset": sequence_infoset,
        "sequence_action": np.concatenate(sequence_action),
    }
    for values in fields.values():
        values.setflags(write=False)
    texts = tuple(text for side in numbers for text in side)
    return TabularGame(game=game, infoset_text=texts, **fields)


def _joined(parts: tuple[array, array], shift: int) -> np.ndarray:
    """Player 0's numbers and player 1's behind them."""
    return np.concatenate([np.array(parts[0], np.int32), np.array(parts[1], np.int32) + np.int32(shift)])

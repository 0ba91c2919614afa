"""Games as Gambit's extensive-form files (.efg), for its solvers and its tree viewer.

The text is Gambit's format version 2 with rational numbers: one line a node in depth-first order, players 1
and 2 for our 0 and 1 (0 is chance), probabilities as exact fractions, since Gambit wants them to add up to 1
to the letter. Labels of information sets are OpenSpiel's information state strings, of actions its names, in
the characters that Gambit takes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any

import pyspiel

from .game import CHANCE, TERMINAL, TabularGame

LARGEST_DENOMINATOR = (
    10**6
)  # probabilities are rounded to such fractions where these are as exact as a float


def write_efg(game: TabularGame | pyspiel.Game | str, path: str | PathLike[str]) -> None:
    """Write a two-player, zero-sum game as a Gambit file.

    Args:
        game: a tabular game, or what `TabularGame.from_openspiel` takes.
        path: the file; written over if it is there.

    Raises ValueError for games that cannot be unrolled, OSError where the file cannot be written.
    """
    if not isinstance(game, TabularGame):
        game = TabularGame.from_openspiel(game)
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(line + "\n" for line in _lines(game))


def _lines(game: TabularGame) -> Iterator[str]:
    yield f'EFG 2 R {_quoted(_label(str(game.game)))} {{ "Player 0" "Player 1" }}'
    yield '""'
    payoffs: dict[float, int] = {}
    own_number = [0, 0]  # Gambit numbers information sets from 1, each player's apart
    number_of = []
    for player in game.infoset_player.tolist():
        own_number[player] += 1
        number_of.append(own_number[player])
    texts = [_quoted(label) for label in _infoset_labels(game)]
    chance_nodes = 0
    stack = [(0, game.game.new_initial_state())]  # states only for the names of actions
    while stack:
        node, state = stack.pop()
        first, count = int(game.first_child[node]), int(game.num_children[node])
        actions = game.action[first : first + count].tolist()
        stack += [(first + place, state.child(actions[place])) for place in reversed(range(count))]
        kind = int(game.kind[node])
        if kind == TERMINAL:
            utility = float(game.utility[node])
            outcome = payoffs.setdefault(utility, len(payoffs) + 1)
            yield f't "" {outcome} "" {{ {_number(utility)}, {_number(0.0 - utility)} }}'
            continue
        labels = [_quoted(name) for name in _names(state, actions)]
        if kind == CHANCE:
            chance_nodes += 1
            odds = _fractions(game.probability[first : first + count].tolist())
            items = " ".join(f"{label} {odd}" for label, odd in zip(labels, odds, strict=True))
            yield f'c "" {chance_nodes} "" {{ {items} }} 0'
        else:
            infoset = int(game.infoset[node])
            yield f'p "" {kind + 1} {number_of[infoset]} {texts[infoset]} {{ {" ".join(labels)} }} 0'


def _names(state: Any, actions: list[int]) -> list[str]:
    """Labels of the actions at a state, or their numbers where two have the same label."""
    names = [_label(state.action_to_string(state.current_player(), action)) for action in actions]
    return names if len(set(names)) == len(actions) else [str(action) for action in actions]


def _infoset_labels(game: TabularGame) -> list[str]:
    """Labels of the information sets; those of a player that became the same get their numbers."""
    labels = [_label(text) for text in game.infoset_text]
    owners = game.infoset_player.tolist()
    often = Counter(zip(owners, labels, strict=True))
    return [
        label if often[owner, label] == 1 else f"{label} #{number}".strip()
        for number, (owner, label) in enumerate(zip(owners, labels, strict=True))
    ]


def _label(text: str) -> str:
    """What Gambit takes as a label: printable ASCII, single spaces, none at the ends; no backslashes, which
    it takes for themselves except before a quotation mark.
    """
    plain = (c if " " < c <= "~" else " " if c.isspace() else "?" for c in text.replace("\\", "/"))
    return " ".join("".join(plain).split())


def _quoted(label: str) -> str:
    return '"' + label.replace('"', '\\"') + '"'


def _number(value: float) -> str:
    """A float in full and without an exponent."""
    return str(int(value)) if value.is_integer() else f"{Decimal(repr(value)):f}"


def _fractions(odds: list[float]) -> list[Fraction]:
    """Fractions that add up to 1: simple ones where they say the same, else the floats themselves with the
    last one taking what is left.
    """
    simple = [Fraction(odd).limit_denominator(LARGEST_DENOMINATOR) for odd in odds]
    if sum(simple) == 1 and all(
        abs(float(s) - odd) < 1e-14 for s, odd in zip(simple, odds, strict=True)
    ):
        return simple
    exact = [Fraction(odd) for odd in odds[:-1]]
    return [*exact, 1 - sum(exact, Fraction(0))]

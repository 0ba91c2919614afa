"""Games of the tests, unrolled once."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pyspiel
from nashfold.solver.tabular import TabularGame

FACTS = json.loads((Path(__file__).parents[2] / "data" / "openspiel_convergence.json").read_text())[
    "games"
]
GOOFSPIEL = (
    "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=3,points_order=descending))"
)


@cache
def tabular(name: str) -> TabularGame:
    return TabularGame.from_openspiel(name)


@cache
def reference_game(name: str) -> TabularGame:
    """A game of the file of facts; pyspiel wants lists of chips as strings also where one number stands."""
    kind, _, rest = FACTS[name]["openspiel"].rstrip(")").partition("(")
    parameters = dict(item.split("=") for item in rest.split(",") if item)
    whole = ("numPlayers", "numRounds", "numSuits", "numRanks", "numHoleCards")
    return TabularGame.from_openspiel(
        pyspiel.load_game(kind, {k: int(v) if k in whole else v for k, v in parameters.items()})
    )


def rows(game: TabularGame, policy) -> dict:
    """A vector over sequences as probabilities by (player, text)."""
    return {
        (int(game.infoset_player[i]), text): policy[game.first_sequence[i] :][: game.num_actions[i]]
        for i, text in enumerate(game.infoset_text)
    }

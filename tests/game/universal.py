"""OpenSpiel's own poker by our rules: the oracle of several tests."""

from __future__ import annotations

import pyspiel
from nashfold.game import Rules


def universal_poker(rules: Rules, bets: str = "fullgame"):
    """OpenSpiel's C++ game of the same rules.

    A cap on each player's bets becomes one on both players': raises alternate.
    """

    def row(values) -> str:
        return " ".join(map(str, values))

    parameters = {
        "betting": rules.betting.replace("-", ""),
        "numPlayers": 2,
        "numRounds": rules.num_rounds,
        "blind": row(rules.blinds),
        "firstPlayer": row(player + 1 for player in rules.first_player),
        "numSuits": rules.num_suits,
        "numRanks": rules.num_ranks,
        "numHoleCards": rules.num_hole_cards,
        "numBoardCards": row(rules.board_cards),
        "bettingAbstraction": bets,
    }
    if rules.betting == "limit":
        parameters["bettingAbstraction"] = "fcpa"
        parameters["raiseSize"] = row(rules.bet_sizes)
        parameters["maxRaises"] = row(rules.max_raises(i) for i in range(rules.num_rounds))
    else:
        parameters["stack"] = row(rules.stacks)
    return pyspiel.load_game("universal_poker", parameters)

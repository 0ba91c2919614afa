"""The oracle against known values and against a still plainer enumeration of literal deals."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from itertools import combinations

import eval7
import numpy as np
import pytest
from nashfold.game import Betting, Rules, format_cards, preset
from oracle import best_response_value, expected_value

SHORT = preset("short-limit")
TINY = replace(
    SHORT,
    num_ranks=4,
    num_suits=2,
    board_cards=(0, 3),
    max_bets=(3, 2),
    bet_sizes=(2, 4),
    first_player=(1, 0),
)
GAMES = {
    "8 cards, board 0-3": TINY,
    "8 cards, board 0-2-1": replace(SHORT, num_ranks=2, board_cards=(0, 2, 1), max_bets=(1, 1, 1)),
    "9 cards, board 0-3-1": replace(
        SHORT, num_ranks=3, num_suits=3, max_bets=(1, 0, 1), bet_sizes=(2, 3, 4)
    ),
}


def random_strategy(rules: Rules, seed: int):
    """Probabilities drawn anew for every betting state, board and hand; NaN for hands it cannot be."""
    rng = np.random.default_rng(seed)
    hands = rules.deck.cards[rules.deck.hand_cards]
    tables = {}

    def strategy(betting: Betting, board: tuple[tuple[int, ...], ...]) -> np.ndarray:
        if (betting.history, board) not in tables:
            table = rng.random((len(hands), len(betting.legal_actions()))) ** 3
            table /= table.sum(axis=1, keepdims=True)
            table[np.isin(hands, sum(board, ())).any(axis=1)] = np.nan
            tables[betting.history, board] = table
        return tables[betting.history, board]

    return strategy


def constant_strategy(rules: Rules, kinds: tuple[str, ...]):
    """Always the action whose kind comes first in `kinds`."""

    def strategy(betting: Betting, board: tuple[tuple[int, ...], ...]) -> np.ndarray:
        found = [action.kind for action in betting.legal_actions()]
        table = np.zeros((rules.deck.num_hands, len(found)))
        table[:, found.index(next(kind for kind in kinds if kind in found))] = 1
        return table

    return strategy


def plain_value(rules: Rules, own, other, player: int) -> float:
    """mbb per hand of `own` (None: best response) against `other`, deal by deal, in plain Python."""
    cards = [int(card) for card in rules.deck.cards]
    hands = [tuple(cards[number] for number in pair) for pair in rules.deck.hand_cards]

    def boards(left: list[int], sizes: tuple[int, ...]):
        if not sizes:
            yield ()
            return
        for dealt in combinations(left, sizes[0]):
            for rest in boards([card for card in left if card not in dealt], sizes[1:]):
                yield (dealt, *rest)

    deals = []  # (player's hand index, other's hand index, board by round): all are equally likely
    for mine, hand in enumerate(hands):
        for theirs, rival in enumerate(hands):
            if not set(hand) & set(rival):
                left = [card for card in cards if card not in (*hand, *rival)]
                deals += [(mine, theirs, board) for board in boards(left, rules.board_cards)]

    card_of = {card: eval7.Card(format_cards([card])) for card in cards}

    def better(deal) -> int:
        ranks = []
        for hand in deal[:2]:
            shown = (*hands[hand], *sum(deal[2], ()))
            ranks.append(eval7.evaluate([card_of[card] for card in shown]))
        return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1])

    winner = [better(deal) for deal in deals]

    def visit(betting: Betting, reach: list[float]) -> list[float]:
        """The player's chips in each deal; `reach`: probability of the other's actions so far."""
        if betting.folded is not None:
            chips = betting.spent[betting.folded]
            return [float(-chips if betting.folded == player else chips)] * len(deals)
        if betting.is_over:
            return [sign * float(betting.spent[0]) for sign in winner]
        actions = range(len(betting.legal_actions()))
        states = [betting.play(action) for action in betting.legal_actions()]
        seen = [deal[2][: betting.round + 1] for deal in deals]
        acting = own if betting.to_act == player else other
        if acting is not None:
            hand = 0 if betting.to_act == player else 1
            tables = {board: acting(betting, board).tolist() for board in set(seen)}
            odds = [tables[board][deal[hand]] for deal, board in zip(deals, seen, strict=True)]
        if betting.to_act != player:
            reaches = [[p * row[a] for p, row in zip(reach, odds, strict=True)] for a in actions]
        else:
            reaches = [reach for _ in actions]
        values = [visit(state, below) for state, below in zip(states, reaches, strict=True)]
        if acting is not None:
            return [sum(row[a] * values[a][i] for a in actions) for i, row in enumerate(odds)]
        totals = defaultdict(lambda: [0.0] * len(actions))  # by information set
        for i, (deal, board) in enumerate(zip(deals, seen, strict=True)):
            for a in actions:
                totals[deal[0], board][a] += reach[i] * values[a][i]
        best = {key: max(actions, key=total.__getitem__) for key, total in totals.items()}
        return [
            values[best[deal[0], board]][i]
            for i, (deal, board) in enumerate(zip(deals, seen, strict=True))
        ]

    chips = visit(Betting.start(rules), [1.0] * len(deals))
    return 1000 * sum(chips) / len(deals) / rules.big_blind


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("game", GAMES)
def test_agrees_with_plain_enumeration(game: str, player: int) -> None:
    rules = GAMES[game]
    a, b = random_strategy(rules, 1), random_strategy(rules, 2)
    assert best_response_value(rules, b, player) == pytest.approx(
        plain_value(rules, None, b, player), abs=1e-8
    )
    assert expected_value(rules, a, b, player) == pytest.approx(
        plain_value(rules, a, b, player), abs=1e-8
    )


def test_what_one_wins_the_other_loses() -> None:
    rules = TINY
    a, b = random_strategy(rules, 3), random_strategy(rules, 4)
    value = expected_value(rules, a, b, 0)
    assert value == pytest.approx(-expected_value(rules, b, a, 1), abs=1e-8)
    assert value < best_response_value(rules, b, 0)


@pytest.mark.parametrize("player", [0, 1])
def test_always_fold_loses_the_blind(player: int) -> None:
    fold = constant_strategy(TINY, ("fold", "check"))
    assert best_response_value(TINY, fold, player) == pytest.approx((500, 1000)[player])


@pytest.mark.slow
@pytest.mark.parametrize("player", [0, 1])
def test_always_call_in_short_limit(player: int) -> None:
    call = constant_strategy(SHORT, ("call", "check"))
    assert best_response_value(SHORT, call, player) == pytest.approx(756.1701, abs=1e-4)

"""Hold'em as the OpenSpiel game ``python_holdem``; importing this module registers it.

    import nashfold.game.openspiel
    game = pyspiel.load_game("python_holdem(rules=acpc-limit)")

Parameters:
    rules: a preset, or an ACPC game definition in one line, its fields separated by ";" and written
        without "=", such as ``limit;numPlayers 2;numRounds 1;blind 2 1;...``. (pyspiel splits
        parameters at "=" and ",", and reads parentheses as another game.)
    bets: ``full``: every legal size; ``fcpa``: fold, check or call, the pot, all-in.

Actions are numbered as in ``universal_poker``: 0 fold, 1 check or call. Limit: 2 raise. No-limit,
full: N = raise to N chips over the whole hand. No-limit, fcpa: 2 pot, 3 all-in; where the pot is
all-in there is only 2. A chance action is the number of a card in the rules' deck.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from .betting import Action, Betting, IllegalAction
from .cards import Deck, format_cards
from .hand import Hand
from .presets import parse_rules
from .rules import Rules

try:
    import pyspiel
except ImportError as error:
    raise ImportError("nashfold.game.openspiel needs OpenSpiel: pip install open_spiel") from error

SHORT_NAME = "python_holdem"
BETS = ("full", "fcpa")
FOLD, PASSIVE, RAISE, ALL_IN = 0, 1, 2, 3  # PASSIVE: check or call; RAISE: limit, and fcpa's pot

_DEFAULTS = {"rules": "acpc-limit", "bets": "full"}
_GAME_TYPE = pyspiel.GameType(
    short_name=SHORT_NAME,
    long_name="Heads-up Hold'em (nashfold)",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=2,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification=_DEFAULTS,
)


@cache
def _parse_rules(text: str) -> Rules:
    """Rules of the parameter `rules`, parsed once."""
    return parse_rules(text)


@cache
def _deck_cards(deck: Deck) -> tuple[int, ...]:
    """The card behind each deck number, as Python integers."""
    return tuple(deck.cards.tolist())


@cache
def longest_line(rules: Rules, bets: str) -> int:
    """Largest number of decisions in a hand: the passive ones of all rounds and every raise."""
    start = Betting.start(rules)
    if rules.stacks is not None and min(rules.stacks) <= rules.big_blind:
        return 0 if start.is_over else 1  # one player is all-in with the blind or with the call of it
    raises = 0
    if rules.stacks is not None:  # the smallest raises until somebody is all-in
        total, shorter = rules.big_blind, min(rules.stacks)
        while total < shorter:
            pot_size = rules.betting == "no-limit" and bets == "fcpa"
            step = min(rules.bet_sizes, default=rules.big_blind)
            total = 3 * total if pot_size else total + step
            raises += 1
    if rules.max_bets is not None:
        capped = sum(max_raises(rules))
        raises = capped if rules.stacks is None else min(raises, capped)
    return 2 * rules.num_rounds + raises


def max_raises(rules: Rules) -> list[int]:
    """Most bets and raises that both players together can make, by round; needs a cap."""
    return [rules.max_raises(index) or 0 for index in range(rules.num_rounds)]


def largest_win(rules: Rules) -> int:
    """Most chips that a hand can move from one player to the other."""
    bounds = [] if rules.stacks is None else [min(rules.stacks)]
    if rules.betting == "limit":
        sizes = zip(max_raises(rules), rules.bet_sizes, strict=True)
        bounds.append(rules.big_blind + sum(count * size for count, size in sizes))
    return min(bounds)


class Table(NamedTuple):
    """One hand while it is dealt and played. Immutable, so copies of a state may share it."""

    bets: str
    betting: Betting
    hole: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    board: tuple[int, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Table:
        # OpenSpiel deep-copies the attributes of a state for every clone and child.
        return self

    @property
    def player(self) -> int:
        """The player to act, or pyspiel's number for chance or a terminal state."""
        rules, betting = self.betting.rules, self.betting
        if len(self.hole[1]) < rules.num_hole_cards:
            return pyspiel.PlayerId.CHANCE
        if betting.folded is not None:
            return pyspiel.PlayerId.TERMINAL
        last = rules.num_rounds - 1
        if len(self.board) < rules.board_size(last if betting.is_over else betting.round):
            return pyspiel.PlayerId.CHANCE
        return pyspiel.PlayerId.TERMINAL if betting.to_act is None else betting.to_act

    def deal(self, card: int) -> Table:
        """The next card: player 0's hole cards, then player 1's, then the board."""
        first, second = self.hole
        count = self.betting.rules.num_hole_cards
        if len(first) < count:
            return self._replace(hole=((*first, card), second))
        if len(second) < count:
            return self._replace(hole=(first, (*second, card)))
        return self._replace(board=(*self.board, card))

    def remaining(self) -> list[int]:
        """Deck numbers of the cards that are not dealt yet, ascending."""
        dealt = {*self.hole[0], *self.hole[1], *self.board}
        cards = _deck_cards(self.betting.rules.deck)
        return [number for number, card in enumerate(cards) if card not in dealt]

    def board_by_round(self) -> list[tuple[int, ...]]:
        """Cards of each round's deal so far, one entry a round of the game."""
        rules = self.betting.rules
        ends = [rules.board_size(index) for index in range(rules.num_rounds)]
        return [self.board[end - n : end] for end, n in zip(ends, rules.board_cards, strict=True)]

    def raises(self) -> tuple[Sequence[int], Sequence[int]]:
        """Action ids of the bets and raises on offer, and their chips over the whole hand, ascending."""
        betting, player = self.betting, self.betting.to_act
        bounds = betting.raise_bounds()
        if bounds is None or player is None:
            return (), ()
        low, high = (amount + betting.round_start[player] for amount in bounds)
        if betting.rules.betting == "limit":
            return (RAISE,), (low,)
        if self.bets == "full":
            totals = range(low, high + 1)
            return totals, totals
        # The pot after a call, on top of the call: twice the highest bet and what the other has put in.
        pot = max(low, 2 * max(betting.spent) + betting.spent[1 - player])
        if pot < high:
            return (RAISE, ALL_IN), (pot, high)
        return ((RAISE,) if pot == high else (ALL_IN,)), (high,)

    def legal_ids(self) -> list[int]:
        """Legal action ids, ascending."""
        passive = self.betting.passive_actions()
        return [FOLD, PASSIVE][-len(passive) :] + list(self.raises()[0])

    def action(self, action_id: int) -> Action:
        """The action behind an id; IllegalAction for an id that is not legal."""
        betting = self.betting
        passive = betting.passive_actions()
        if action_id == PASSIVE and passive:
            return passive[-1]
        if action_id == FOLD and len(passive) == 2:
            return passive[0]
        ids, totals = self.raises()
        if betting.to_act is None or action_id not in ids:
            raise IllegalAction(f"action {action_id} is not legal here; legal: {betting.legal_text()}")
        total = totals[ids.index(action_id)]
        return betting.raise_action(total - betting.round_start[betting.to_act])


class HoldemGame(pyspiel.Game):
    """Heads-up hold'em by the rules of its parameters."""

    def __init__(self, params: dict[str, Any] | None = None):
        given = _DEFAULTS | (params or {})
        rules, bets = _parse_rules(str(given["rules"])), given["bets"]
        if bets not in BETS:
            raise ValueError(f"unknown bets {bets!r}: choose one of {', '.join(BETS)}")
        if rules.betting == "limit":
            num_actions = RAISE + 1
        else:
            assert rules.stacks is not None
            num_actions = max(rules.stacks) + 1 if bets == "full" else ALL_IN + 1
        bound = float(largest_win(rules))
        # OpenSpiel takes the largest number of chance nodes of a Python game from max_game_length too.
        deals = 2 * rules.num_hole_cards + sum(rules.board_cards)
        info = pyspiel.GameInfo(
            num_distinct_actions=num_actions,
            max_chance_outcomes=rules.deck.size,
            num_players=2,
            min_utility=-bound,
            max_utility=bound,
            utility_sum=0.0,
            max_game_length=max(longest_line(rules, bets), deals),
        )
        super().__init__(_GAME_TYPE, info, params or {})
        self.rules = rules
        self.bets = bets
        self.start = Table(bets, Betting.start(rules))

    def new_initial_state(self) -> HoldemState:
        return HoldemState(self)

    def make_py_observer(self, iig_obs_type=None, params=None) -> HoldemObserver:
        if params:
            raise ValueError(f"{SHORT_NAME} has no observation parameters: {params}")
        plain = pyspiel.IIGObservationType(perfect_recall=False)
        return HoldemObserver(self, iig_obs_type or plain)


class HoldemState(pyspiel.State):
    """A state: chance deals one card at a time, and after a called all-in the rest of the board."""

    def __init__(self, game: HoldemGame):
        super().__init__(game)
        self.table = game.start

    def current_player(self) -> int:
        return self.table.player

    def is_terminal(self) -> bool:
        return self.table.player == pyspiel.PlayerId.TERMINAL

    def _legal_actions(self, player: int) -> list[int]:
        return self.table.legal_ids()

    def chance_outcomes(self) -> list[tuple[int, float]]:
        numbers = self.table.remaining()
        return [(number, 1 / len(numbers)) for number in numbers]

    def _apply_action(self, action: int) -> None:
        table = self.table
        if table.player == pyspiel.PlayerId.CHANCE:
            self.table = table.deal(_deck_cards(table.betting.rules.deck)[action])
        else:
            self.table = table._replace(betting=table.betting.play(table.action(action)))

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            card = _deck_cards(self.table.betting.rules.deck)[action]
            return f"deal {format_cards([card])}"
        return str(self.table.action(action))

    def returns(self) -> list[float]:
        table = self.table
        if table.player != pyspiel.PlayerId.TERMINAL:
            return [0.0, 0.0]
        return [float(chips) for chips in Hand(table.betting, table.hole, table.board).winnings]

    def __str__(self) -> str:
        table = self.table
        cards = "|".join(map(format_cards, table.hole))
        board = "/".join(map(format_cards, table.board_by_round()))
        return f"{cards} {board} {_betting_text(table.betting)}"


class HoldemObserver:
    """What a player sees, as tensor and as text; the attributes that OpenSpiel's observers have.

    Cards are sets: the order of the deal within a round does not show. Bets and contributions are
    chips, so that any two sizes differ.

    Attributes:
        tensor: float32 [n], all pieces one after the other.
        dict: the pieces by name, views of `tensor`:
            player [2], one hot;
            private_cards [players, deck], by deck number: the player's own, or both players';
            community_cards [rounds, deck]: the cards of each round's deal;
            betting [decisions, 4], with perfect recall: fold, check or call, raise, and the chips of
            the raise over the whole hand;
            contribution [2], without perfect recall: chips that each player has put in.
    """

    def __init__(self, game: HoldemGame, iig_obs_type):
        rules = game.rules
        private = pyspiel.PrivateInfoType
        shapes: dict[str, tuple[int, ...]] = {"player": (2,)}
        self._all_players = iig_obs_type.private_info == private.ALL_PLAYERS
        if iig_obs_type.private_info != private.NONE:
            shapes["private_cards"] = (2 if self._all_players else 1, rules.deck.size)
        if iig_obs_type.public_info:
            shapes["community_cards"] = (rules.num_rounds, rules.deck.size)
            if iig_obs_type.perfect_recall:
                shapes["betting"] = (longest_line(rules, game.bets), 4)
            else:
                shapes["contribution"] = (2,)
        sizes = [int(np.prod(shape)) for shape in shapes.values()]
        self.tensor = np.zeros(sum(sizes), np.float32)
        parts = np.split(self.tensor, np.cumsum(sizes)[:-1])
        self.dict = {
            name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }

    def set_from(self, state: HoldemState, player: int) -> None:
        """Fills `tensor` with what the player sees of the state."""
        table = state.table
        deck = table.betting.rules.deck
        self.tensor.fill(0)
        self.dict["player"][player] = 1
        if "private_cards" in self.dict:
            for row, cards in enumerate(self._private(table, player)):
                self.dict["private_cards"][row, [deck.number(card) for card in cards]] = 1
        if "community_cards" in self.dict:
            for row, cards in enumerate(table.board_by_round()):
                self.dict["community_cards"][row, [deck.number(card) for card in cards]] = 1
        if "betting" in self.dict:
            for row, (action, total) in enumerate(_totals(table.betting)):
                kind = {"fold": 0, "check": 1, "call": 1}.get(action.kind, 2)
                self.dict["betting"][row, kind] = 1
                self.dict["betting"][row, 3] = total
        if "contribution" in self.dict:
            self.dict["contribution"][:] = table.betting.spent

    def string_from(self, state: HoldemState, player: int) -> str:
        """What the player sees of the state, as text."""
        table = state.table
        pieces = [f"[player {player}]"]
        if "private_cards" in self.dict:
            pieces.append(f"[hole {_sets(self._private(table, player), '|')}]")
        if "community_cards" in self.dict:
            pieces.append(f"[board {_sets(table.board_by_round(), '/')}]")
        if "betting" in self.dict:
            pieces.append(f"[betting {_betting_text(table.betting)}]")
        if "contribution" in self.dict:
            pieces.append("[chips {} {}]".format(*table.betting.spent))
        return "".join(pieces)

    def _private(self, table: Table, player: int) -> Sequence[tuple[int, ...]]:
        return table.hole if self._all_players else (table.hole[player],)


def _sets(groups: Sequence[tuple[int, ...]], separator: str) -> str:
    """Text of groups of cards, each group in descending order."""
    return separator.join(format_cards(sorted(cards, reverse=True)) for cards in groups)


def _betting_text(betting: Betting) -> str:
    return "/".join(" ".join(map(str, actions)) for actions in betting.history)


def _totals(betting: Betting) -> list[tuple[Action, int]]:
    """The actions of the hand; with bets and raises the chips over the whole hand, else 0."""
    totals = []
    matched = 0  # chips of each player before the round
    for actions in betting.history:
        top = matched
        for action in actions:
            if action.amount:
                top = matched + action.amount
            totals.append((action, top if action.amount else 0))
        matched = max(top, betting.rules.big_blind)  # a round goes on to the next one only when matched
    return totals


# pyspiel takes a second registration without a word; a reload of this module must not make one.
if SHORT_NAME not in pyspiel.registered_names():
    pyspiel.register_game(_GAME_TYPE, HoldemGame)

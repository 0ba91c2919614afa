"""Hold'em as the OpenSpiel game ``python_holdem``; importing this module registers it.

    import nashfold.game.openspiel
    game = pyspiel.load_game("python_holdem(rules=acpc-limit)")

Parameters:
    rules: a preset, or an ACPC game definition in one line, its fields separated by ";" and written
        without "=", such as ``limit;numPlayers 2;numRounds 1;blind 2 1;...``. (pyspiel splits
        parameters at "=" and ",", and reads parentheses as another game.)
    stacks: chips of player 0 and player 1, such as ``300 1000``; nothing: as in the rules. (One number
        stands for both in a dict of parameters. In a string pyspiel takes it for no text and refuses.)
    bets: no-limit only. ``full``: every legal size; ``fcpa``: fold, check or call, the pot, all-in; or
        a menu of sizes, such as ``50%;100%;2.5x;e;a`` (see `bet_sizes`).

Actions are numbered as in ``universal_poker``: 0 fold, 1 check or call. Limit: 2 raise. No-limit,
full: N = raise to N chips over the whole hand. No-limit with a menu: 2 + the place of the size in it,
of sizes that are equal the first; fcpa is the menu ``100%;a``: 2 pot, 3 all-in. A chance action is the
number of a card in the rules' deck.

C++ algorithms run at full speed on ``cached_tree(game=python_holdem(...))``, which asks for each state
of a small game once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .bet_sizes import BetSize, Menu, menu_bets, parse_menu
from .betting import Action, Betting, IllegalAction
from .cards import Deck, format_cards
from .hand import Hand
from .presets import parse_rules, rules_text
from .rules import Rules

try:
    import pyspiel
except ImportError as error:
    raise ImportError("nashfold.game.openspiel needs OpenSpiel: pip install open_spiel") from error

SHORT_NAME = "python_holdem"
FOLD, PASSIVE, RAISE = 0, 1, 2  # PASSIVE: check or call; RAISE: limit, and the first size of a menu
NAMED_MENUS = {"fcpa": "100%;a"}

_DEFAULTS = {"rules": "acpc-limit", "stacks": "", "bets": "full"}
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
def parse_parameters(rules: str, stacks: str = "", bets: str = "full") -> tuple[Rules, Menu | None]:
    """The rules and the bet menu (None for every legal size) that the game's parameters say.

    Raises ValueError for what is malformed or does not fit together.
    """
    parsed = parse_rules(rules)
    if stacks:
        words = stacks.split()
        if len(words) not in (1, 2) or not all(re.fullmatch("[0-9]{1,10}", word) for word in words):
            raise ValueError(f"stacks must be chips of both players, such as 300 1000, not {stacks!r}")
        pair = (int(words[0]), int(words[-1]))
        if pair != parsed.stacks:
            parsed = replace(parsed, stacks=pair, name="custom", description="")
    if bets == "full":
        return parsed, None
    if parsed.betting == "limit" and bets not in NAMED_MENUS:
        raise ValueError(f"bets {bets!r}: limit betting has one size, sizes are for no-limit rules")
    try:
        return parsed, parse_menu(NAMED_MENUS.get(bets, bets))
    except ValueError as error:
        raise ValueError(f"bets must be full, fcpa or a menu of sizes: {error}") from None


def _spelled(rules: str, stacks: str, bets: str) -> dict[str, str]:
    """Valid parameters in a form that a game string keeps: no "=", "," or "(", no single number."""
    named = bets in ("full", *NAMED_MENUS)
    spelled = {
        "rules": rules_text(parse_rules(rules)) if re.search(r"[=,()\n]", rules) else rules,
        "bets": bets if named else ";".join(map(str, parse_menu(bets))),
    }
    words = stacks.split()
    return spelled | {"stacks": f"{words[0]} {words[-1]}"} if words else spelled


@cache
def _deck_cards(deck: Deck) -> tuple[int, ...]:
    """The card behind each deck number, as Python integers."""
    return tuple(deck.cards.tolist())


@cache
def longest_line(rules: Rules, menu: Menu | None) -> int:
    """Number of decisions that no hand exceeds: the passive ones of all rounds and every raise.

    Some hand reaches it, but for menus with sizes such as ``2x`` or ``e``, where it is an upper bound.
    """
    start = Betting.start(rules)
    if rules.stacks is not None and min(rules.stacks) <= rules.big_blind:
        if start.is_over:
            return 0
        # One player is all-in with the blind or with the call of it; the other may be asked before him.
        return 1 if start.play(start.passive_actions()[-1]).is_over else 2
    bounds = [] if rules.max_bets is None else [sum(max_raises(rules))]
    if rules.stacks is not None:
        chips = min(rules.stacks) - rules.big_blind
        bounds.append(-(-chips // min(rules.bet_sizes, default=rules.big_blind)))
        if rules.betting == "no-limit" and menu is not None:
            bounds.append(_most_menu_raises(rules, menu))
    return 2 * rules.num_rounds + min(bounds)


def _most_menu_raises(rules: Rules, menu: Menu) -> int:
    """Number of raises by a menu that no hand exceeds: the smallest ones until somebody is all-in."""
    assert rules.stacks is not None
    end, big_blind, start = min(rules.stacks), rules.big_blind, Betting.start(rules)

    def smallest(sizes: list[BetSize], pot: int, total: int) -> int:
        steps = (size.step(pot, total, end - total, rules.num_rounds) for size in sizes)
        return min(step or 0 for step in steps)

    def count(sizes: list[BetSize]) -> int:
        total, raises = big_blind, 0
        pot = big_blind + start.spent[1 - (start.to_act or 0)]
        while total < end:
            total += max(big_blind, smallest(sizes, pot, total))
            pot = 2 * total
            raises += 1
        return raises

    # Multiples of a previous bet begin anew in every round; the other sizes go by the hand.
    multiples = [size for size in menu if size.unit == "x"]
    others = [size for size in menu if size.unit not in ("x", "a")]
    most = count(others) if others else 1
    return most + rules.num_rounds * count(multiples) if multiples else most


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

    menu: Menu | None
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
        """Action ids of the bets and raises on offer, ascending, and their chips in this round."""
        betting, player = self.betting, self.betting.to_act
        bounds = betting.raise_bounds()
        if bounds is None or player is None:
            return (), ()
        low, high = bounds
        if betting.rules.betting == "limit":
            return (RAISE,), (low,)
        if self.menu is not None:
            bets = menu_bets(self.menu, betting)
            return [RAISE + index for index in bets], list(bets.values())
        before = betting.round_start[player]
        return range(before + low, before + high + 1), range(low, high + 1)

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
        ids, amounts = self.raises()
        if action_id not in ids:
            raise IllegalAction(f"action {action_id} is not legal here; legal: {betting.legal_text()}")
        return betting.raise_action(amounts[ids.index(action_id)])


class HoldemGame(pyspiel.Game):
    """Heads-up hold'em by the rules of its parameters."""

    def __init__(self, params: dict[str, Any] | None = None):
        given = {key: str(value) for key, value in (_DEFAULTS | (params or {})).items()}
        rules, menu = parse_parameters(**given)
        if rules.betting == "limit":
            num_actions = RAISE + 1
        elif menu is not None:
            num_actions = RAISE + len(menu)
        else:
            assert rules.stacks is not None
            num_actions = max(rules.stacks) + 1
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
            max_game_length=max(longest_line(rules, menu), deals),
        )
        super().__init__(_GAME_TYPE, info, _spelled(**given))
        self.rules = rules
        self.menu = menu
        self.start = Table(menu, Betting.start(rules))

    def __reduce__(self) -> tuple[Any, ...]:
        # pyspiel's own way to pickle and copy a Python game leaves its Python attributes behind.
        return HoldemGame, (self.get_parameters(),)

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

    def raise_bounds(self) -> tuple[int, int] | None:
        """Smallest and largest action id of the bets and raises on offer, None where there are none.

        With ``bets=full`` all ids between are legal too, so that a no-limit game need not list them.
        """
        ids = self.table.raises()[0] if self.table.player >= 0 else ()
        return (ids[0], ids[-1]) if ids else None

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
        return f"{cards} {board} {table.betting}"


class HoldemObserver:
    """What a player sees, as tensor and as text; the attributes that OpenSpiel's observers have.

    Cards are sets: the order of the deal within a round does not show. Bets and contributions are
    chips, so that any two sizes differ (up to 2**24 of them, which float32 counts exactly).

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
                shapes["betting"] = (longest_line(rules, game.menu), 4)
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
            totals = chain.from_iterable(table.betting.raise_totals)
            for row, (action, total) in enumerate(zip(table.betting.actions, totals, strict=True)):
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
            pieces.append(f"[betting {table.betting}]")
        if "contribution" in self.dict:
            pieces.append("[chips {} {}]".format(*table.betting.spent))
        return "".join(pieces)

    def _private(self, table: Table, player: int) -> Sequence[tuple[int, ...]]:
        return table.hole if self._all_players else (table.hole[player],)


def _sets(groups: Sequence[tuple[int, ...]], separator: str) -> str:
    """Text of groups of cards, each group in descending order."""
    return separator.join(format_cards(sorted(cards, reverse=True)) for cards in groups)


# pyspiel takes a second registration without a word; a reload of this module must not make one.
if SHORT_NAME not in pyspiel.registered_names():
    pyspiel.register_game(_GAME_TYPE, HoldemGame)

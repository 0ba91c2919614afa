"""Strategies: probabilities at any state of the real game, saved, loaded and built in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..abstraction.arrays import load_arrays, save_arrays
from ..abstraction.bets import FULL, BetMenu
from ..abstraction.buckets import CardAbstraction
from ..abstraction.build import build_abstraction, trivial_abstraction
from ..abstraction.config import AbstractionConfig
from ..abstraction.equity import Progress
from ..abstraction.translation import DETERMINISTIC
from ..game.betting import Action, Betting
from ..game.cards import hand_index
from ..game.hand import Hand, Observation
from ..game.match import MAX_SEED
from ..game.presets import PRESETS
from ..game.rules import Rules, is_whole
from .betting_tree import BettingTree, betting_tree
from .histories import Histories, table_moves


class Strategy:
    """A behaviour strategy for both positions: a table by bucket on a betting tree.

    On the tree of a menu it still plays the real game: bets off the menu are translated to those of the tree
    (`abstraction.translation`, `solver.histories`), and its own bets are the menu's sizes in the real state.

    Attributes:
        tree: the betting tree.
        abstraction: which hands share a row.
        tables: by round, float32 [bucket, slot]: probabilities of the actions; a node's actions begin
            at `tree.action_slot`.
        name: what it is called in reports.
        translation: how bets off the menu are taken, one of `abstraction.translation.TRANSLATIONS`.
    """

    def __init__(
        self,
        tree: BettingTree,
        abstraction: CardAbstraction,
        tables: list[np.ndarray],
        name: str = "strategy",
        translation: str = "pseudo-harmonic",
    ):
        abstraction.check_fits(tree.rules)
        for index, table in enumerate(tables):
            shape = (abstraction.num_buckets[index], tree.num_slots[index])
            if table.shape != shape:
                raise ValueError(
                    f"the table of round {index} has shape {table.shape}, it should have {shape}"
                )
        self.tree, self.abstraction, self.tables, self.name = tree, abstraction, tables, name
        self.translation = translation

    @property
    def translation(self) -> str:
        return self._histories.translation

    @translation.setter
    def translation(self, name: str) -> None:
        self._histories = Histories(self.tree, name)

    @property
    def rules(self) -> Rules:
        return self.tree.rules

    def node_probabilities(
        self, betting: Betting, hole: tuple[int, ...], board: tuple[int, ...]
    ) -> dict[Action, float]:
        """Probabilities of actions for the player to act, from the cards he sees.

        Of every legal action; on the tree of a menu of those without a bet and those that the menu has here.
        """
        player = betting.to_act
        if player is None:
            raise ValueError("the hand is over: nobody acts")
        number = self.abstraction.deck.number
        hand = np.array(hand_index(number(hole[0]), number(hole[1])))
        cards = np.array([number(card) for card in board], np.int64)
        buckets = self.abstraction.lookup_rounds(hand, cards, betting.round + 1)

        def chances(node: int) -> list[float]:
            index, slot = self.tree.round[node], int(self.tree.action_slot[node])
            return self.tables[index][buckets[index], slot : slot + self.tree.num_actions[node]].tolist()

        if self.tree.menu.is_full:
            node = self.tree.find(betting)
            return dict(zip(self.tree.actions[node], chances(node), strict=True))
        found = dict.fromkeys(betting.passive_actions(), 0.0)
        for node, weight in self._histories.weights(betting, player, chances).items():
            actions = self._histories.real_actions(node, betting)
            row = [1.0] if self._histories.is_ahead(node, betting) else chances(node)
            for action, chance in zip(actions, row, strict=True):
                found[action] = found.get(action, 0.0) + weight * chance
        return dict(sorted(found.items(), key=lambda item: item[0].amount))

    def probabilities(self, state: Hand | Observation) -> dict[str, float]:
        """Probability of each legal action (by its text) for the player to act.

        Raises ValueError when the hand is over or of other rules.
        """
        if state.rules != self.rules:
            raise ValueError(f"the strategy is for {self.rules.name}, the hand is of {state.rules.name}")
        found = self.node_probabilities(state.betting, _own_cards(state), state.board)
        return {str(action): probability for action, probability in found.items()}

    def player(self, seed: int = 0) -> StrategyPlayer:
        """A player for `play_match` that draws its actions from the strategy."""
        return StrategyPlayer(self, seed)

    def __reduce__(self):
        # The tree comes from the rules and the menu: it is not sent along.
        tree = self.rules, self.tree.menu
        return _unpickled, (*tree, self.abstraction, self.tables, self.name, self.translation)

    def on_tree(self, tree: BettingTree) -> Strategy:
        """The same strategy in the real game as a table on another tree, such as that of every legal bet.

        Each node of that tree is taken for one node of the strategy's own: translations that draw are
        replaced by the deterministic one (`abstraction.translation.DETERMINISTIC`).

        Raises ValueError for other rules, or a tree that lacks a bet of the strategy.
        """
        if tree is self.tree:
            return self
        if tree.rules != self.rules:
            raise ValueError(f"the strategy is for {self.rules.name}, the tree of {tree.rules.name}")
        translation = DETERMINISTIC[self.translation]
        moves = table_moves(Histories(self.tree, translation), tree)
        tables = [
            _moved(table, *move, slots)
            for table, move, slots in zip(self.tables, moves, tree.num_slots, strict=True)
        ]
        return Strategy(tree, self.abstraction, tables, self.name, translation)

    def to_openspiel(self, game):
        """The strategy as an OpenSpiel policy for a `python_holdem` game of the same rules."""
        from .openspiel_policy import StrategyPolicy

        return StrategyPolicy(game, self)

    def save(self, path: str | Path) -> None:
        """Write a folder with header.json and one array a round; the abstraction stays in its cache."""
        header = {
            "name": self.name,
            "rules": self.rules.to_dict(),
            "bets": self.tree.menu.to_value(),
            "translation": self.translation,
            "abstraction": {"hash": self.abstraction.hash, "config": self.abstraction.config.to_dict()},
        }
        arrays = {f"round{index}": table for index, table in enumerate(self.tables)}
        save_arrays(Path(path), "strategy", header, arrays)

    @classmethod
    def load(
        cls,
        path: str | Path,
        progress: Progress | None = None,
        translation: str | None = None,
    ) -> Strategy:
        """Read a strategy folder (or a run's); the abstraction comes from the cache or is built again.

        Bets off the menu are taken by the translation that is given, or by the one it was saved with.

        Raises ValueError where there is none or it is damaged.
        """
        path = Path(path)
        if (path / "strategy").is_dir():
            path = path / "strategy"
        header, arrays = load_arrays(path, "strategy")
        try:
            rules = Rules.from_dict(header["rules"])
            menu = BetMenu.from_value(header.get("bets", "full"))
            config = AbstractionConfig.from_dict(header["abstraction"]["config"])
            tables = [arrays[f"round{index}"] for index in range(rules.num_rounds)]
        except (KeyError, TypeError) as error:
            raise ValueError(f"strategy {path} is damaged: its header lacks {error}") from None
        if config.hash != header["abstraction"]["hash"]:
            raise ValueError(
                f"strategy {path} needs abstraction {header['abstraction']['hash']}, which this version of "
                f"nashfold no longer builds (its own is {config.hash})"
            )
        tree = betting_tree(rules, menu)
        translation = translation or header.get("translation", "pseudo-harmonic")
        return cls(tree, build_abstraction(config, progress), tables, header["name"], translation)


def _own_cards(state: Hand | Observation) -> tuple[int, ...]:
    if isinstance(state, Observation):
        if state.to_act is not None and state.to_act != state.player:
            raise ValueError(f"player {state.to_act} is to act, not player {state.player}")
        return state.hole
    if state.to_act is None:
        raise ValueError("the hand is over: nobody acts")
    return state.hole[state.to_act]


def _unpickled(rules: Rules, menu: BetMenu, *rest: Any) -> Strategy:
    return Strategy(betting_tree(rules, menu), *rest)


def _moved(table: np.ndarray, sources: np.ndarray, targets: np.ndarray, slots: int) -> np.ndarray:
    """A table [bucket, slots] with the columns `sources` of another one added up at `targets`.

    The source -1 stands for a column of ones.
    """
    padded = np.concatenate([table, np.ones((len(table), 1), table.dtype)], axis=1)
    order = np.argsort(targets, kind="stable")
    places, starts = np.unique(targets[order], return_index=True)
    moved = np.zeros((len(table), slots), table.dtype)
    if len(places):
        moved[:, places] = np.add.reduceat(padded[:, sources[order]], starts, axis=1)
    return moved


_DRAWS = 0x64726177  # sets the draws of actions apart from those of the deals, whose seeds look alike


class StrategyPlayer:
    """A player for `play_match` that draws its actions from a strategy.

    Told when hands begin, as a match does, it draws by the seed, the number of the hand, the position and
    the number of actions so far alone: a match may be played in parts, and two players may have the same
    seed. Where nobody calls `begin`, it draws one number after the other.

    Raises ValueError for a seed that is not one of 0 to 2**32 - 1.
    """

    def __init__(self, strategy: Strategy | BuiltIn, seed: int = 0):
        if not is_whole(seed, 0, MAX_SEED):
            raise ValueError(f"the seed must be a whole number from 0 to {MAX_SEED}, not {seed!r}")
        self.strategy, self.seed = strategy, seed
        self.hand: int | None = None
        self._stream = np.random.default_rng((seed, _DRAWS))

    def begin(self, hand: int) -> None:
        """Called when a hand begins, with its number."""
        self.hand = hand

    def __call__(self, observation: Observation) -> str:
        if self.hand is None:
            draw = self._stream.random()
        else:
            place = observation.player, len(observation.betting.actions)
            draw = np.random.default_rng((self.seed, self.hand, *place, _DRAWS)).random()
        text = ""
        for action, probability in self.strategy.probabilities(observation).items():
            if probability > 0:  # where rounding leaves a sliver, the last action that is ever taken
                text = action
            draw -= probability
            if draw < 0:
                break
        return text


class BuiltIn:
    """A strategy that looks at no cards, for any rules; `table` makes it a Strategy."""

    def __init__(self, name: str):
        if name not in BUILT_INS:
            raise ValueError(f"unknown strategy {name!r}: a path, or one of {', '.join(BUILT_INS)}")
        self.name = name

    def action_probabilities(self, betting: Betting) -> dict[Action, float]:
        """Probability of the actions that it takes at all."""
        passive = betting.passive_actions()
        sizes = _menu_raises(betting)
        if self.name == "always-fold":
            return {passive[0]: 1.0}
        if self.name == "always-call" or (self.name != "random" and not sizes):
            return {passive[-1]: 1.0}
        if self.name == "always-raise":
            return {sizes[0]: 1.0}
        if self.name == "call-or-raise":
            return {passive[-1]: 0.5, sizes[0]: 0.5}
        choices = passive + sizes
        return {action: 1.0 / len(choices) for action in choices}

    def probabilities(self, state: Hand | Observation) -> dict[str, float]:
        """Probability of each action that it takes at all, by its text."""
        _own_cards(state)
        return {str(action): p for action, p in self.action_probabilities(state.betting).items()}

    def table(self, rules: Rules, menu: BetMenu = FULL) -> Strategy:
        """The same as a table with one bucket a round, for the walks.

        Raises ValueError for a menu without a bet that the strategy makes.
        """
        tree = betting_tree(rules, menu)
        tables = [np.zeros((1, slots), np.float32) for slots in tree.num_slots]
        states = [Betting.start(rules)] + [None] * (len(tree) - 1)
        for node in range(len(tree)):
            betting = states[node]
            assert betting is not None
            for number, action in enumerate(tree.actions[node]):
                states[tree.first_child[node] + number] = betting.play(action)
            if tree.actions[node]:
                slot = tree.action_slot[node]
                for action, probability in self.action_probabilities(betting).items():
                    place = slot + tree.child(node, action) - int(tree.first_child[node])
                    tables[betting.round][0, place] = probability
            states[node] = None
        return Strategy(tree, trivial_abstraction(rules), tables, self.name)


BUILT_INS = {
    "always-fold": "folds when it can, else checks",
    "always-call": "checks and calls",
    "always-raise": "bets and raises (no-limit: the pot), calls at the cap",
    "call-or-raise": "calls or raises, one half each; never folds, calls at the cap",
    "random": "uniform over fold, call and raise (no-limit: the pot and all-in)",
}


def _menu_raises(betting: Betting) -> list[Action]:
    """The raises that built-in strategies know: limit: the one; no-limit: the pot and all-in."""
    bounds = betting.raise_bounds()
    if bounds is None:
        return []
    low, high = bounds
    if betting.rules.betting == "limit":
        return [betting.raise_action(high)]
    assert betting.to_act is not None
    highest = max(betting.spent)
    pot_after_call = betting.pot + highest - betting.spent[betting.to_act]
    pot = highest + pot_after_call - betting.round_start[betting.to_act]
    return [betting.raise_action(amount) for amount in sorted({min(max(pot, low), high), high})]


def playing_strategy(source: str | Path, rules: Rules | None = None) -> tuple[Strategy | BuiltIn, Rules]:
    """A strategy that is only to be played, and its game.

    A built-in name stays without a table, so that it plays games whose betting tree is too large for one.
    Raises ValueError as `open_strategy` does.
    """
    if str(source) not in BUILT_INS:
        strategy = open_strategy(source, rules)
        return strategy, strategy.rules
    if rules is None:
        raise ValueError(f"the built-in strategy {source} needs --rules: one of {', '.join(PRESETS)}")
    return BuiltIn(str(source)), rules


def open_strategy(source: str | Path | Strategy, rules: Rules | None = None) -> Strategy:
    """A strategy from a path, a run folder, a built-in name (which needs rules) or as it is.

    Raises ValueError for an unknown name, a damaged folder, or rules other than the strategy's.
    """
    if isinstance(source, Strategy):
        strategy = source
    elif str(source) in BUILT_INS:
        if rules is None:
            raise ValueError(f"the built-in strategy {source} needs rules: name a preset")
        strategy = BuiltIn(str(source)).table(rules)
    elif (Path(source) / "config.toml").exists() and not (Path(source) / "strategy").exists():
        raise ValueError(f"run {source} is not finished: go on with nashfold solve ... --resume")
    elif not Path(source).exists():
        raise ValueError(f"unknown strategy {str(source)!r}: a path, or one of {', '.join(BUILT_INS)}")
    else:
        strategy = Strategy.load(source)
    if rules is not None and strategy.rules != rules:
        raise ValueError(f"the strategy is for {strategy.rules.name}, not for {rules.name}")
    return strategy

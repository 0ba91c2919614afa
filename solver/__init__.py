"""From a game and an abstraction to a strategy, and the scoring of strategies in the real game."""

from .betting_tree import BettingTree, betting_tree
from .config import SolveConfig
from .run import Run, SolveProgress, solve
from .scoring.abstract_response import abstract_best_response
from .scoring.best_response import Exploitability, best_response, expected_value
from .strategy import BUILT_INS, BuiltIn, Strategy, StrategyPlayer, open_strategy
from .tabular import solve_game
from .tree_size import TreeSize, tree_size

__all__ = [
    "BUILT_INS",
    "BettingTree",
    "BuiltIn",
    "Exploitability",
    "Run",
    "SolveConfig",
    "SolveProgress",
    "Strategy",
    "StrategyPlayer",
    "TreeSize",
    "abstract_best_response",
    "best_response",
    "betting_tree",
    "expected_value",
    "open_strategy",
    "solve",
    "solve_game",
    "tree_size",
]

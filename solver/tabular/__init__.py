"""Any two-player, zero-sum, turn-based OpenSpiel game with perfect recall as flat arrays, and CFR on them."""

from .full_width import FullWidth
from .gambit import write_efg
from .game import TabularGame
from .policy import TabularPolicy
from .sampled import Sampled
from .scoring import BestResponse, NashConv, Scorer, best_response, expected_value, nash_conv
from .solve import GameCheck, GameSolution, solve_game

__all__ = [
    "BestResponse",
    "FullWidth",
    "GameCheck",
    "GameSolution",
    "NashConv",
    "Sampled",
    "Scorer",
    "TabularGame",
    "TabularPolicy",
    "best_response",
    "expected_value",
    "nash_conv",
    "solve_game",
    "write_efg",
]

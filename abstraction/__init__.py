"""What a strategy treats as the same: suits, hands, bet sizes."""

from .bets import BetMenu
from .boards import Boards, canonical_boards
from .buckets import CardAbstraction
from .build import build_abstraction, trivial_abstraction
from .config import AbstractionConfig, RoundConfig
from .hands import CanonicalHands, canonical_hands

__all__ = [
    "AbstractionConfig",
    "BetMenu",
    "Boards",
    "CanonicalHands",
    "CardAbstraction",
    "RoundConfig",
    "build_abstraction",
    "canonical_boards",
    "canonical_hands",
    "trivial_abstraction",
]

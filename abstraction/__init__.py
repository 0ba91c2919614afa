"""What a strategy treats as the same: suits, hands, bet sizes."""

from .boards import Boards, canonical_boards
from .buckets import (
    AbstractionConfig,
    CardAbstraction,
    RoundConfig,
    build_abstraction,
    trivial_abstraction,
)

__all__ = [
    "AbstractionConfig",
    "Boards",
    "CardAbstraction",
    "RoundConfig",
    "build_abstraction",
    "canonical_boards",
    "trivial_abstraction",
]

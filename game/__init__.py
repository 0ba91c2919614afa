"""The game as facts: cards, rules, hands, matches. Knows nothing of solving."""

from .betting import Action, Betting, IllegalAction
from .cards import Deck, format_cards, parse_cards
from .hand import Hand, Observation, new_hand
from .match import Fault, Match, MatchResult, play_match
from .presets import PRESETS, preset
from .ranges import parse_range
from .rules import Rules
from .strength import hand_strength

__all__ = [
    "PRESETS",
    "Action",
    "Betting",
    "Deck",
    "Fault",
    "Hand",
    "IllegalAction",
    "Match",
    "MatchResult",
    "Observation",
    "Rules",
    "format_cards",
    "hand_strength",
    "new_hand",
    "parse_cards",
    "parse_range",
    "play_match",
    "preset",
]

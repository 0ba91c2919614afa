"""Cards as small integers, decks, and the index of a pair of hole cards.

A card is ``4 * rank + suit``; rank 0 is the deuce, suits stand in the order c d h s. A pair of hole
cards ``high > low`` has the hand index ``high * (high - 1) // 2 + low`` (0 to 1325 in a full deck).
Tables and kernels count the cards of a deck from zero (`Deck.number`): in a full deck these numbers
are the cards themselves, in a short deck they leave no gaps.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

RANKS = "23456789TJQKA"
SUITS = "cdhs"


def parse_card(text: str) -> int:
    """The card written as rank and suit, such as ``As``, ``td`` or ``10h``.

    Raises ValueError for anything else.
    """
    token = text.strip()
    rank_text, suit_text = token[:-1].upper(), token[-1:].lower()
    rank_text = "T" if rank_text == "10" else rank_text
    # `find` takes longer texts too: "23s" is no deuce.
    rank = RANKS.find(rank_text) if len(rank_text) == 1 else -1
    suit = SUITS.find(suit_text) if suit_text else -1
    if rank < 0 or suit < 0:
        raise ValueError(
            f"{text!r} is not a card: write a rank of {RANKS} and a suit of {SUITS}, such as As"
        )
    return 4 * rank + suit


def parse_cards(cards: str | Iterable[str | int]) -> tuple[int, ...]:
    """Cards from text (``"AsKs"``, ``"As Ks"``, ``"As,10d"``) or from a list of texts or numbers.

    Raises ValueError for a malformed card and for a card that is named twice.
    """
    if isinstance(cards, str):
        tokens: list[str | int] = []
        for word in cards.replace(",", " ").split():
            while word:
                size = 3 if word.startswith("10") else 2
                tokens.append(word[:size])
                word = word[size:]
    else:
        tokens = list(cards)
    numbers = []
    for token in tokens:
        if isinstance(token, str):
            number = parse_card(token)
        else:
            if not isinstance(token, int | np.integer) or not 0 <= token < 52:
                raise ValueError(f"{token} is not a card number: 0 (2c) to 51 (As)")
            number = int(token)
        if number in numbers:
            raise ValueError(f"card {format_cards([number])} is named twice")
        numbers.append(number)
    return tuple(numbers)


def format_cards(cards: Iterable[int]) -> str:
    """Text of cards, such as ``AsKd``."""
    return "".join(RANKS[card // 4] + SUITS[card % 4] for card in cards)


def hand_index(first: int, second: int) -> int:
    """Index of a pair of hole cards, in either order."""
    high, low = (first, second) if first > second else (second, first)
    return high * (high - 1) // 2 + low


@dataclass(frozen=True)
class Deck:
    """The cards of a game: the top `num_ranks` ranks in the top `num_suits` suits."""

    num_ranks: int = 13
    num_suits: int = 4

    def __post_init__(self) -> None:
        if not (1 <= self.num_ranks <= 13 and 1 <= self.num_suits <= 4):
            raise ValueError(
                f"a deck has 1 to 13 ranks and 1 to 4 suits, not {self.num_ranks} and {self.num_suits}"
            )

    @property
    def size(self) -> int:
        return self.num_ranks * self.num_suits

    @property
    def num_hands(self) -> int:
        """Number of pairs of hole cards."""
        return self.size * (self.size - 1) // 2

    @cached_property
    def cards(self) -> np.ndarray:
        """int64 [size]: the card behind each number of this deck, ascending."""
        rank, suit = np.divmod(np.arange(self.size), self.num_suits)
        return 4 * (rank + 13 - self.num_ranks) + suit + 4 - self.num_suits

    def number(self, card: int) -> int:
        """The number of a card in this deck; ValueError where the deck has no such card."""
        rank, suit = card // 4 - 13 + self.num_ranks, card % 4 - 4 + self.num_suits
        if rank < 0 or suit < 0:
            raise ValueError(f"{format_cards([card])} is not in a deck of {self.size} cards")
        return rank * self.num_suits + suit

    @cached_property
    def hand_cards(self) -> np.ndarray:
        """int64 [num_hands, 2]: card numbers (high, low) of each hand index."""
        high, low = np.tril_indices(self.size, -1)
        return np.stack([high, low], axis=1)

    def hand_name(self, hand: int) -> str:
        """Text of a hand index, such as ``AsKd``."""
        return format_cards(int(self.cards[number]) for number in self.hand_cards[hand])

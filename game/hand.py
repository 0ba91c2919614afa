"""One hand in play: the betting together with the cards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .betting import Action, Betting
from .cards import format_cards, parse_cards
from .rules import Rules
from .strength import hand_strength, partial_strength


class _Table:
    """What a hand and a player's view of it have in common: the betting and the cards on the table."""

    __slots__ = ()
    betting: Betting

    @property
    def rules(self) -> Rules:
        return self.betting.rules

    @property
    def to_act(self) -> int | None:
        """The player to act, or None when the hand is over."""
        return self.betting.to_act

    @property
    def round(self) -> int:
        """Index of the betting round, 0 = preflop; at the end the last one that was reached."""
        return self.betting.round

    @property
    def pot(self) -> int:
        """Chips in the middle, current bets included."""
        return self.betting.pot

    @property
    def is_over(self) -> bool:
        return self.betting.is_over

    def legal_actions(self) -> list[Action]:
        """Fold (if chips are owed), check or call, then every size ascending; [] when over."""
        return self.betting.legal_actions()


@dataclass(frozen=True, slots=True)
class Observation(_Table):
    """What one player may see of a hand.

    Attributes:
        player: the player who sees it.
        hole: the player's own hole cards.
        board: the cards on the table.
        shown: the other player's hole cards at a showdown, else None.
        winnings: the player's chips won minus chips put in when the hand is over, else None.
    """

    betting: Betting
    player: int
    hole: tuple[int, ...]
    board: tuple[int, ...]
    shown: tuple[int, ...] | None
    winnings: int | None

    @property
    def winnings_bb(self) -> float | None:
        """`winnings` in big blinds."""
        return None if self.winnings is None else self.winnings / self.rules.big_blind


@dataclass(frozen=True, slots=True)
class Hand(_Table):
    """One hand in play. Immutable: `play` returns a new one.

    Attributes:
        betting: the state of the betting.
        hole: hole cards of player 0 and player 1.
        deal: all community cards of the hand, in order, dealt or not yet.
    """

    betting: Betting
    hole: tuple[tuple[int, ...], tuple[int, ...]]
    deal: tuple[int, ...]

    @property
    def board(self) -> tuple[int, ...]:
        """Community cards dealt so far; all of them after a called all-in."""
        betting = self.betting
        if betting.is_all_in_showdown:
            return self.deal
        return self.deal[: self.rules.board_size(betting.round)]

    def play(self, action: Action | str) -> Hand:
        """The hand after an action or its text; IllegalAction names what was legal."""
        return Hand(self.betting.play(action), self.hole, self.deal)

    def observation(self, player: int) -> Observation:
        """What that player may see: own cards, board, betting; the other cards only at a showdown."""
        if player not in (0, 1):
            raise ValueError(f"a hand has players 0 and 1, not {player}")
        showdown = self.is_over and self.betting.folded is None
        return Observation(
            betting=self.betting,
            player=player,
            hole=self.hole[player],
            board=self.board,
            shown=self.hole[1 - player] if showdown else None,
            winnings=self.winnings[player] if self.is_over else None,
        )

    @property
    def payouts(self) -> tuple[int, int]:
        """Chips of the matched pot that go to each player; ValueError while the hand is not over."""
        betting = self.betting
        if not betting.is_over:
            raise ValueError("the hand is not over: winnings are known at its end")
        pot = 2 * betting.at_stake
        if betting.folded is not None:
            return (0, pot) if betting.folded == 0 else (pot, 0)
        cards = np.array([hole + self.deal for hole in self.hole])
        own, other = hand_strength(cards) if cards.shape[1] >= 5 else partial_strength(cards)
        if own == other:
            return split_pot(pot)
        return (pot, 0) if own > other else (0, pot)

    @property
    def winnings(self) -> tuple[int, int]:
        """Chips won minus chips put in, by player; ValueError while the hand is not over."""
        first, second = self.payouts
        return first - self.betting.at_stake, second - self.betting.at_stake

    @property
    def winnings_bb(self) -> tuple[float, float]:
        """`winnings` in big blinds, the unit that results of hands are added and compared in."""
        first, second = self.winnings
        return first / self.rules.big_blind, second / self.rules.big_blind

    def __str__(self) -> str:
        cards = "|".join(map(format_cards, self.hole))
        return f"{self.rules.name}: {cards} [{format_cards(self.board)}] {self.betting}"


def split_pot(chips: int) -> tuple[int, int]:
    """A pot shared by player 0 and player 1: the odd chip goes to player 0, who is not on the button.

    The players' matched chips are even; only dead chips from elsewhere can make a pot odd.
    """
    return chips - chips // 2, chips // 2


def new_hand(
    rules: Rules,
    hole: Sequence[str | Iterable[str | int]] | None = None,
    board: str | Iterable[str | int] | None = None,
    seed: int | np.random.Generator | None = None,
) -> Hand:
    """A hand after the blinds are posted, with given cards or with cards drawn from a seed.

    Args:
        rules: the game.
        hole: hole cards of player 0 and player 1, such as ``("AsKs", "QdQc")``.
        board: all community cards, in order.
        seed: seed or generator of the deal; given instead of `hole` and `board`.

    Raises ValueError for malformed, repeated or missing cards and for cards outside of the deck.
    """
    holes, size = rules.num_hole_cards, rules.board_size(rules.num_rounds - 1)
    if seed is not None:
        if hole is not None or board is not None:
            raise ValueError("give either hole and board, or seed, not both")
        rng = np.random.default_rng(seed)
        cards = tuple(rng.permutation(rules.deck.cards)[: 2 * holes + size].tolist())
        dealt = (cards[:holes], cards[holes : 2 * holes])
        return Hand(Betting.start(rules), dealt, cards[2 * holes :])
    if hole is None or (board is None and size):
        raise ValueError("give hole and board, or seed")
    if len(hole) != 2:
        raise ValueError(f"hole needs the cards of two players, not {len(hole)}")
    own, other, table = parse_cards(hole[0]), parse_cards(hole[1]), parse_cards(board or ())
    for player, cards in enumerate((own, other)):
        if len(cards) != holes:
            raise ValueError(
                f"player {player} needs {holes} hole cards, not {len(cards)} ({format_cards(cards)})"
            )
    if len(table) != size:
        raise ValueError(f"the board needs {size} cards, not {len(table)} ({format_cards(table)})")
    for card in parse_cards([*own, *other, *table]):
        rules.deck.number(card)
    return Hand(Betting.start(rules), (own, other), table)

"""What happens in a hand, in order, as those at the table see it."""

from __future__ import annotations

from dataclasses import dataclass

from .betting import Action, Betting
from .hand import Hand


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happens in a hand.

    Attributes:
        kind: ``blind``: a forced bet of `chips`; ``hole``: hole cards dealt to `player`; ``action``;
            ``board``: the cards of a round's deal; ``return``: the part of a bet that nobody called;
            ``show``: a player's hole cards at a showdown; ``pay``: chips from the pot.
        player: whom it concerns; None for the board.
        cards, chips, action: what the kind asks for.
    """

    kind: str
    player: int | None = None
    cards: tuple[int, ...] = ()
    chips: int = 0
    action: Action | None = None


def hand_events(hand: Hand, viewer: int | None = None) -> list[Event]:
    """The events of a hand so far.

    After a called all-in both hands are shown first, then the remaining streets one by one; after a
    fold no cards are shown.

    Args:
        hand: in play or over.
        viewer: a player, who sees no hole cards but his own before they are shown; None sees all.
    """
    rules, betting = hand.rules, hand.betting
    state = Betting.start(rules)
    events = [
        Event("blind", player, chips=state.spent[player]) for player in (1, 0) if state.spent[player]
    ]
    events += [Event("hole", player, hand.hole[player]) for player in (0, 1) if viewer in (None, player)]

    def deal(round_index: int) -> None:
        size = rules.board_size(round_index)
        cards = hand.deal[size - rules.board_cards[round_index] : size]
        if cards:
            events.append(Event("board", cards=cards))

    for index, actions in enumerate(betting.history):
        deal(index)
        for action in actions:
            events.append(Event("action", state.to_act, action=action))
            state = state.play(action)
    if not hand.is_over:
        return events
    uncalled = max(betting.spent) - min(betting.spent)
    if uncalled:
        events.append(Event("return", int(betting.spent[1] > betting.spent[0]), chips=uncalled))
    if betting.folded is None:
        events += [Event("show", player, hand.hole[player]) for player in (0, 1)]
        for index in range(betting.round + 1, rules.num_rounds):
            deal(index)
    events += [Event("pay", player, chips=chips) for player, chips in enumerate(hand.payouts) if chips]
    return events

"""The named games. Where a rule document leaves something open, its preset's docstring has the reading.

Each docstring begins with a line for lists of games; then follow the readings, each with the
alternative and the parameter that selects it (``dataclasses.replace`` on the rules).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import cleandoc
from typing import Any

from .rules import Rules


def acpc_nolimit() -> Rules:
    """No-limit hold'em of the Annual Computer Poker Competition: 50/100, 20,000 chips every hand.

    - A fold is offered where chips are owed, not where checking is free: it could only lose. This one
      reading has no parameter. It holds in all games.
    - Short all-in: it "does not reopen the betting for a player who has already acted". Heads-up
      nobody can raise after an all-in at all, so every reading of this sentence agrees.
    - Maximum: up to a player's own stack. With unequal stacks (`stacks`) this may be more than the
      other player has; the excess is returned. To offer no more than the other stack, set both
      stacks to the smaller one: the chips at stake are the same.
    - "The button alternates every hand" does not say who has it first: in a match the first player
      begins in the big blind. For the alternative name the players in the other order.
    """
    return Rules(betting="no-limit", blinds=(100, 50), stacks=(20_000, 20_000))


def match_nolimit() -> Rules:
    """No-limit hold'em with blinds 1/2 and 200 chips, played as a match of 10 independent hands.

    - Before the flop the big blind counts as the previous bet: the smallest raise is to 4. After the
      flop the smallest bet is 2.
    - The document does not say who has the button first: the first player begins in the big blind
      and the button alternates. For the alternative name the players in the other order.
    - A player who raises an exception, answers nothing or exceeds `time_limit` forfeits the match as
      for an illegal action: ``faults="forfeit"`` of `play_match`. Alternative: ``faults="fold"``. At the
      terminal a person is asked again, and the ACPC dealer corrects actions as the server does.
    - "An odd chip in a split pot goes to the non-button": heads-up both players have matched chips in
      the pot, so there is none; `split_pot` has the rule for pots with dead chips.
    """
    return Rules(betting="no-limit", blinds=(2, 1), stacks=(200, 200))


def acpc_limit() -> Rules:
    """Limit hold'em of the competition: 5/10, bets 10 10 20 20, four a round, the big blind the first."""
    return Rules(betting="limit", blinds=(10, 5), bet_sizes=(10, 10, 20, 20), max_bets=(4, 4, 4, 4))


def sartre_limit() -> Rules:
    """Limit hold'em of the Sartre page: the $1/$2 game in half-dollar chips, four bets by each player.

    - "The number of bets made within each stage of the game is capped at a maximum of 4 per player" is
      taken at its word: four bets and raises by each player in a stage, eight in all
      (``cap_counts="player"``). Alternative, as in the competition: ``cap_counts="round"``.
    - The blinds are "forced bets", but no player's decision: they do not count
      (``blind_is_bet=False``). Alternative: ``blind_is_bet=True``.
    - "Clockwise round the table", heads-up: the button posts the small blind, acts first before the
      flop and last after it (`first_player`), as everywhere.
    - No stacks are named: players have as many chips as they need. Alternative: `stacks`.
    """
    return Rules(
        betting="limit",
        blinds=(2, 1),
        bet_sizes=(2, 2, 4, 4),
        max_bets=(4, 4, 4, 4),
        cap_counts="player",
        blind_is_bet=False,
    )


def casino_limit() -> Rules:
    """Limit hold'em of the casino machine: credits 1/2, bets 2 2 4 4, four a round beside the blinds.

    - "A maximum of four bets (bets, raises or re-raises) are allowed during each betting round" counts
      both players' bets together (``cap_counts="round"``). Alternative: ``cap_counts="player"``.
      That blinds do not count is said (``blind_is_bet=False``).
    - The player starts each session in the big blind, then the blinds alternate: the first player of
      a match.
    - No stacks are named; there is always enough credit. Alternative: `stacks`.
    - The Multi-Pay Bonus is apart from `Hand.winnings`: see `game.bonus`.
    """
    return Rules(
        betting="limit",
        blinds=(2, 1),
        bet_sizes=(2, 2, 4, 4),
        max_bets=(4, 4, 4, 4),
        blind_is_bet=False,
    )


def flop_limit() -> Rules:
    """Limit hold'em that ends after the flop; showdown on five cards."""
    return replace(
        acpc_limit(),
        blinds=(100, 50),
        bet_sizes=(100, 100),
        max_bets=(4, 4),
        first_player=(1, 0),
        board_cards=(0, 3),
    )


def short_limit() -> Rules:
    """Limit hold'em with 24 cards (nine to ace) and three rounds; scored exactly in a second."""
    return Rules(
        betting="limit",
        blinds=(2, 1),
        bet_sizes=(2, 2, 4),
        max_bets=(2, 2, 2),
        first_player=(1, 0, 0),
        board_cards=(0, 3, 1),
        num_ranks=6,
    )


def short_nolimit() -> Rules:
    """No-limit hold'em with 24 cards, three rounds and 20 chips."""
    return replace(short_limit(), betting="no-limit", stacks=(20, 20), bet_sizes=(), max_bets=None)


def kuhn() -> Rules:
    """Kuhn poker: three cards, one each, antes of 1, one bet of 1; player 0 acts first."""
    return Rules(
        betting="limit",
        blinds=(1, 1),
        bet_sizes=(1,),
        max_bets=(1,),
        blind_is_bet=False,
        first_player=(0,),
        board_cards=(0,),
        num_ranks=3,
        num_suits=1,
        num_hole_cards=1,
    )


def leduc() -> Rules:
    """Leduc poker: three ranks in two suits, one card each and one on the board, bets 2 and 4."""
    return replace(
        kuhn(),
        bet_sizes=(2, 4),
        max_bets=(2, 2),
        first_player=(0, 0),
        board_cards=(0, 1),
        num_suits=2,
    )


_MAKERS: tuple[Callable[[], Rules], ...] = (
    acpc_nolimit,
    match_nolimit,
    acpc_limit,
    sartre_limit,
    casino_limit,
    flop_limit,
    short_limit,
    short_nolimit,
    kuhn,
    leduc,
)


def _name(maker: Callable[[], Rules]) -> str:
    return maker.__name__.replace("_", "-")


def _notes(maker: Callable[[], Rules]) -> list[str]:
    """The docstring's lines (none where Python runs without docstrings)."""
    return cleandoc(maker.__doc__ or "").split("\n")


_PRESETS = {
    _name(maker): replace(maker(), name=_name(maker), description=_notes(maker)[0].rstrip("."))
    for maker in _MAKERS
}
PRESETS: tuple[str, ...] = tuple(_PRESETS)
#: Presets that are played as a match of so many hands.
MATCH_HANDS = {"match-nolimit": 10}
#: Presets with a mandatory side bet, see `game.bonus`.
BONUS_GAMES = ("casino-limit",)


def preset(name: str) -> Rules:
    """The rules of that name; ValueError for an unknown name, listing those there are."""
    try:
        return _PRESETS[name]
    except KeyError:
        raise ValueError(f"unknown preset {name!r}: choose one of {', '.join(PRESETS)}") from None


def preset_readings(name: str) -> str:
    """How a preset reads its rule document where that is open, with the alternatives; may be empty."""
    maker = dict(zip(PRESETS, _MAKERS, strict=True))[preset(name).name]
    return "\n".join(_notes(maker)[1:]).strip()


def parse_rules(text: str) -> Rules:
    """Rules from the name of a preset or from an ACPC game definition (in one line: see `from_acpc`).

    Raises ValueError for an unknown name or a malformed definition.
    """
    return Rules.from_acpc(text) if len(text.replace(";", " ").split()) > 1 else preset(text)


def preset_name(rules: Rules) -> str | None:
    """The name of the preset that the rules are, by name and in every field that counts."""
    return rules.name if _PRESETS.get(rules.name) == rules else None


def rules_value(rules: Rules) -> str | dict[str, Any]:
    """Rules as a value in a TOML or JSON file: a preset's name, or a table of the fields of `Rules`."""
    fields = rules.to_dict().items()
    return preset_name(rules) or {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in fields
        if value is not None
    }


def read_rules(value: Any) -> Rules:
    """Rules from what `rules_value` gives, or from a text for `parse_rules`; ValueError for others."""
    if isinstance(value, str):
        return parse_rules(value)
    if isinstance(value, dict):
        return Rules.from_dict(value)
    raise ValueError("rules must be the name of a preset, an ACPC definition or a table")


def rules_text(rules: Rules) -> str:
    """Text in one line for `parse_rules` of a game that plays alike: a preset's name or a definition.

    Raises ValueError where an ACPC definition cannot express the rules.
    """
    if (name := preset_name(rules)) is not None:
        return name
    lines = rules.to_acpc().replace(" =", "").splitlines()
    return ";".join(lines[1:-1])

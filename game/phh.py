"""Hand histories as PHH text, the Poker Hand History format of Kim (Recording and Describing Poker Hands).

A history is a TOML document (a ``.phh`` file) or a collection of them as tables ``[1]``, ``[2]`` (a
``.phhs`` file). Fields that PHH does not know begin with an underscore; other programs ignore them.

- Order: PHH lists players by position, the button last. ``p1`` is player 0, the big blind, and ``p2``
  player 1, the button. Blinds alone stand the other way round heads-up: small blind first.
- Amounts: ``cbr`` names a player's chips in this round after the bet or raise, as `Action` does.
- Stacks: games without stacks have the starting stacks ``inf``.
- Caps: PHH has no field for the number of bets in a limit round. They are kept in ``_max_bets``,
  ``_cap_counts`` and ``_blind_is_bet``. Programs that replay a history go by a cap of their own: pokerkit
  by four bets a round, the blinds not counted, as in casino-limit. It offers one raise more than
  acpc-limit allows before the flop, and refuses hands of sartre-limit with a fifth bet in a round.
- Other games: PHH has codes for hold'em with the full deck and four rounds only.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from math import inf
from typing import Any

from .betting import FOLD, Betting
from .cards import format_cards, parse_cards
from .events import hand_events
from .hand import Hand, new_hand
from .presets import PRESETS, preset, preset_name
from .rules import Rules
from .toml_file import toml_value

OPTIONAL_FIELDS = (
    "author", "event", "url", "venue", "address", "city", "region", "postal_code", "country", "time",
    "time_zone", "day", "month", "year", "level", "seats", "seat_count", "table", "currency",
    "currency_symbol", "time_limit", "time_banks",
)  # fmt: skip
"""PHH's own fields that `phh_text` takes beside its named arguments."""
_OWN_FIELDS = ("_rules", "_max_bets", "_cap_counts", "_blind_is_bet", "_undealt")
_UNKNOWN = "??"


def phh_text(
    hand: Hand,
    *,
    hand_number: int | str | None = None,
    players: tuple[str, str] | None = None,
    viewer: int | None = None,
    **fields: Any,
) -> str:
    """One hand, over or in play, as a PHH document.

    Args:
        hand: of a game that PHH can express.
        hand_number: number or name of the hand.
        players: names of player 0 (the big blind) and player 1 (the button).
        viewer: a player, whose view it is: hole cards that he has not seen are ``????``. None sees all:
            both hands, and the cards that were still to come (``_undealt``), so that `read_phh` gives
            back an equal hand.
        fields: more fields: `OPTIONAL_FIELDS`, and any of one's own that begin with an underscore.

    Raises ValueError for games that PHH cannot express, and for fields or values that it does not allow.

    >>> from nashfold.game import new_hand, preset
    >>> hand = new_hand(preset("match-nolimit"), hole=("AsKs", "QdQc"), board="2c3d4h5s6c")
    >>> print(phh_text(hand.play("raise-to:6").play("fold"), viewer=1, players=("Ann", "Bob")))
    variant = "NT"
    antes = [0, 0]
    blinds_or_straddles = [1, 2]
    min_bet = 2
    starting_stacks = [200, 200]
    actions = [
      "d dh p1 ????",
      "d dh p2 QdQc",
      "p2 cbr 6",
      "p1 f",
    ]
    players = ["Ann", "Bob"]
    finishing_stacks = [198, 202]
    winnings = [0, 4]
    _rules = "match-nolimit"
    <BLANKLINE>
    """
    if viewer not in (None, 0, 1):
        raise ValueError(f"viewer is player 0, player 1 or None, not {viewer}")
    for key in fields:
        if key in _OWN_FIELDS or not (key in OPTIONAL_FIELDS or re.fullmatch(r"_[a-z0-9_]+", key)):
            raise ValueError(
                f"{key!r} is not a field to add: write one of PHH's optional fields "
                f"({', '.join(OPTIONAL_FIELDS)}) or _a_name_of_your_own"
            )
    rules = hand.rules
    document = _rules_fields(rules) | {"actions": _action_lines(hand, viewer)}
    if hand_number is not None:
        document["hand"] = hand_number
    if players is not None:
        if len(players) != 2 or not all(isinstance(name, str) for name in players):
            raise ValueError(f"players are the names of two players, not {players!r}")
        document["players"] = list(players)
    if hand.is_over:
        document |= _result_fields(hand)
    changed = rules.name in PRESETS and preset_name(rules) is None
    document["_rules"] = "custom" if changed else rules.name
    if rules.max_bets is not None:
        document["_max_bets"] = rules.max_bets
    if rules.cap_counts != "round":
        document["_cap_counts"] = rules.cap_counts
    if not rules.blind_is_bet:
        document["_blind_is_bet"] = False
    undealt = hand.deal[len(hand.board) :]
    if viewer is None and undealt:
        document["_undealt"] = format_cards(undealt)
    lines = []
    for key, value in (document | fields).items():
        if key == "actions":
            lines += ["actions = [", *(f'  "{action}",' for action in value), "]"]
        else:
            lines.append(f"{key} = {toml_value(value, key)}")
    return "\n".join(lines) + "\n"


def phhs_text(texts: Iterable[str]) -> str:
    """A collection of PHH documents as one: tables ``[1]``, ``[2]`` and so on."""
    return "\n".join(f"[{number}]\n{text}" for number, text in enumerate(texts, start=1))


def read_phh(text: str) -> list[Hand]:
    """The hands of a document or collection that `phh_text` or `phhs_text` wrote.

    Names, numbers and added fields are not read. Remarks in actions (after ``#``) are skipped.

    Raises ValueError, with the table's name in a collection, for text that is no PHH, for games and
    actions outside the rules, for results that are not those of the hand, and for histories that do not
    say all cards: those written for a viewer are readable if they end in a showdown.

    >>> from nashfold.game import new_hand, preset
    >>> hand = new_hand(preset("casino-limit"), seed=7).play("raise-to:4")
    >>> read_phh(phhs_text([phh_text(hand), phh_text(hand.play("fold"))])) == [hand, hand.play("fold")]
    True
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"this is no PHH text: {error}") from None
    if "variant" in document:
        return [_read_hand(document)]
    if not document or not all(isinstance(value, dict) for value in document.values()):
        raise ValueError("this is no PHH text: it has neither a variant nor tables of hands")
    hands = []
    for name, values in document.items():
        try:
            hands.append(_read_hand(values))
        except ValueError as error:
            raise ValueError(f"hand [{name}]: {error}") from None
    return hands


# Rules ------------------------------------------------------------------------------------------


def _rules_fields(rules: Rules) -> dict[str, Any]:
    """PHH's fields for the rules; ValueError where it has none."""
    plain = replace(rules, num_ranks=13, num_suits=4, num_hole_cards=2) == rules
    sizes = rules.bet_sizes
    if (
        not plain
        or rules.board_cards != (0, 3, 1, 1)
        or rules.first_player != (1, 0, 0, 0)
        or not rules.blinds[0] > rules.blinds[1]
        or (sizes and sizes != (sizes[0], sizes[0], sizes[2], sizes[2]))
    ):
        raise ValueError(
            f"PHH cannot express {rules.name}: it has hold'em with 52 cards, four rounds, the larger blind "
            "for player 0, who acts first after the flop, and in limit games two sizes of bets"
        )
    fields: dict[str, Any] = {"variant": "FT" if sizes else "NT", "antes": [0, 0]}
    fields["blinds_or_straddles"] = rules.blinds[::-1]
    if sizes:
        fields |= {"small_bet": sizes[0], "big_bet": sizes[2]}
    else:
        fields["min_bet"] = rules.big_blind
    return fields | {"starting_stacks": rules.stacks or (inf, inf)}


def _read_rules(document: Mapping[str, Any]) -> Rules:
    def field(key: str, ok: Callable[[Any], bool], what: str) -> Any:
        if key not in document:
            raise ValueError(f"the field {key} is missing")
        if not ok(document[key]):
            raise ValueError(f"{key} must be {what}, not {document[key]!r}")
        return document[key]

    def chips(value: Any) -> bool:
        return type(value) is int and value >= 0

    def pair(value: Any) -> bool:
        return isinstance(value, list) and len(value) == 2 and all(map(chips, value))

    limit = field("variant", lambda value: value in ("FT", "NT"), "FT or NT (hold'em)") == "FT"
    field("antes", lambda value: value == [0, 0], "[0, 0]: games here have no antes")
    small, big = field("blinds_or_straddles", pair, "two whole numbers, the small blind first")
    stacks = field(
        "starting_stacks",
        lambda value: pair(value) or (limit and value == [inf, inf]),
        "two whole numbers" + (" or [inf, inf]" if limit else ""),
    )
    sizes: tuple[int, ...] = ()
    if limit:
        low, high = (field(key, chips, "a whole number") for key in ("small_bet", "big_bet"))
        sizes = (low, low, high, high)
    else:
        field("min_bet", lambda value: value == big, f"the big blind, {big}")
    caps = document.get("_max_bets")
    if caps is not None:
        field("_max_bets", lambda value: isinstance(value, list) and all(map(chips, value)), "numbers")
    elif limit:
        raise ValueError("the field _max_bets is missing: PHH itself does not say how many bets a round")
    if type(blind_is_bet := document.get("_blind_is_bet", True)) is not bool:
        raise ValueError(f"_blind_is_bet must be true or false, not {blind_is_bet!r}")
    rules = Rules(
        betting="limit" if limit else "no-limit",
        blinds=(big, small),
        stacks=None if stacks == [inf, inf] else tuple(stacks),
        bet_sizes=sizes,
        max_bets=None if caps is None else tuple(caps),
        cap_counts=document.get("_cap_counts", "round"),
        blind_is_bet=blind_is_bet,
        name=str(document.get("_rules", "custom")),
    )
    _rules_fields(rules)
    return rules if (known := preset_name(rules)) is None else preset(known)


# Actions and results ----------------------------------------------------------------------------


def _action_lines(hand: Hand, viewer: int | None) -> list[str]:
    """PHH's actions of the hand, the dealer's and the players'."""
    unseen = _UNKNOWN * hand.rules.num_hole_cards
    lines = [
        f"d dh p{player + 1} {format_cards(hand.hole[player]) if viewer in (None, player) else unseen}"
        for player in (0, 1)
    ]
    for event in hand_events(hand):
        if event.kind == "board":
            lines.append(f"d db {format_cards(event.cards)}")
        elif event.player is not None and event.kind == "show":
            lines.append(f"p{event.player + 1} sm {format_cards(event.cards)}")
        elif event.player is not None and event.action is not None:
            kind, amount = event.action.kind, event.action.amount
            word = {"fold": "f", "check": "cc", "call": "cc"}.get(kind, f"cbr {amount}")
            lines.append(f"p{event.player + 1} {word}")
    return lines


def _result_fields(hand: Hand) -> dict[str, Any]:
    """Stacks after a hand that is over (where there are stacks) and the chips got from the pot."""
    fields = {"winnings": list(hand.payouts)}
    if (stacks := hand.rules.stacks) is None:
        return fields
    ends = [stack + won for stack, won in zip(stacks, hand.winnings, strict=True)]
    return {"finishing_stacks": ends} | fields


def _read_hand(document: Mapping[str, Any]) -> Hand:
    rules = _read_rules(document)
    texts = document.get("actions")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("actions must be a list of texts")
    lines = [" ".join(text.partition("#")[0].split()) for text in texts]
    lines = [line for line in lines if line]
    betting = Betting.start(rules)
    hole: list[str | None] = [None, None]
    board: list[int] = []
    for line in lines:
        try:
            match line.split():
                case ["d", "dh", ("p1" | "p2") as who, cards]:
                    hole[who == "p2"] = None if set(cards) == {"?"} else cards
                case [("p1" | "p2") as who, "sm", cards]:
                    hole[who == "p2"] = cards
                case ["d", "db", cards]:
                    board += parse_cards(cards)
                case ["p1" | "p2", "f"]:
                    betting = betting.play(FOLD)
                case ["p1" | "p2", "cc"] if not betting.is_over:
                    betting = betting.play(betting.passive_actions()[-1])
                case ["p1" | "p2", "cbr", amount] if re.fullmatch(r"[0-9]{1,9}", amount):
                    betting = betting.play(betting.raise_action(int(amount)))
                case _:
                    raise ValueError("it is none that may stand here")
        except ValueError as error:
            raise ValueError(f"action {line!r}: {error}") from None
    for player in (0, 1):
        if hole[player] is None:
            raise ValueError(f"the hole cards of p{player + 1} are not said, but a hand needs them")
    undealt = document.get("_undealt", "")
    if not isinstance(undealt, str):
        raise ValueError(f"_undealt must be a text, not {undealt!r}")
    if len(board) < rules.board_size(rules.num_rounds - 1) and not undealt:
        raise ValueError("the cards that were to come (_undealt) are not said, but a hand needs them")
    start = new_hand(rules, hole, [*board, *parse_cards(undealt)])  # type: ignore[arg-type]
    hand = Hand(betting, start.hole, start.deal)
    # Order and players of the actions: they must be those that this hand has.
    expected = _action_lines(hand, None)
    for index, right in enumerate(expected):
        found = lines[index] if index < len(lines) else "the end"
        hidden = right.startswith("d dh") and found == right[: len("d dh p1 ")] + 2 * _UNKNOWN
        if found != right and not hidden:
            raise ValueError(f"action {index + 1} should be {right!r}, not {found!r}")
    if len(lines) > len(expected):
        raise ValueError(f"action {lines[len(expected)]!r} comes after the end of the history")
    results = _result_fields(hand) if hand.is_over else {}
    for key in ("finishing_stacks", "winnings"):
        if key in document and document[key] != results.get(key):
            raise ValueError(f"{key} should be {results.get(key, 'left out')}, not {document[key]}")
    return hand

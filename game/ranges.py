"""Ranges of hole cards in the notation of the field, such as ``"AKs, 77+:0.5"``."""

from __future__ import annotations

import re

import numpy as np

from .cards import RANKS, hand_index, parse_cards

_CLASS = r"([2-9TJQKA])([2-9TJQKA])([so]?)"


def parse_range(text: str) -> np.ndarray:
    """Weights of all hands of a full deck from a range.

    Items are separated by commas or spaces: single hands (``AsAh``), classes (``AA``, ``AKs``, ``AKo``,
    ``AK`` for both), everything above (``TT+``, ``ATs+``: the kicker rises), spans (``QQ-88``,
    ``A9s-A6s``), each with a weight from 0 to 1 (``KQo:0.5``). A later item overrides an earlier one.

    >>> float(parse_range("AA, KK:0.5").sum())
    9.0

    Returns:
        float64 [1326] by hand index.

    Raises ValueError naming the item that is malformed.
    """
    weights = np.zeros(1326)
    items = text.replace(",", " ").split()
    if not items:
        raise ValueError("the range is empty: write hands such as AKs, 77+:0.5")
    for item in items:
        hands, _, weight_text = item.partition(":")
        try:
            weight = float(weight_text) if weight_text or ":" in item else 1.0
        except ValueError:
            raise ValueError(
                f"range item {item!r}: {weight_text!r} is not a weight from 0 to 1"
            ) from None
        if not 0 <= weight <= 1:
            raise ValueError(f"range item {item!r}: the weight must be from 0 to 1")
        weights[_hands(hands, item)] = weight
    return weights


def _hands(text: str, item: str) -> list[int]:
    if single := re.fullmatch(r"(?:[2-9TJQKA][cdhs]){2}", text):
        try:
            first, second = parse_cards(single[0])
        except ValueError as error:
            raise ValueError(f"range item {item!r}: {error}") from None
        return [hand_index(first, second)]
    plain = re.fullmatch(_CLASS + r"(\+?)", text)
    if plain:
        high, low, kind = _ranks(plain, 1, item)
        top = low if not plain[4] else (12 if high == low else high - 1)
        return _classes(high, low, top, kind)
    span = re.fullmatch(_CLASS + "-" + _CLASS, text)
    if span:
        high, low, kind = _ranks(span, 1, item)
        other_high, other_low, other_kind = _ranks(span, 4, item)
        pairs = high == low and other_high == other_low
        if kind == other_kind and (
            pairs or (high == other_high and low != high and other_low != other_high)
        ):
            bottom = min(low, other_low)
            return _classes(bottom if pairs else high, bottom, max(low, other_low), kind)
    raise ValueError(
        f"range item {item!r} is malformed: write AA, AKs, AKo, AK, AsAh, TT+, ATs+, QQ-88 or A9s-A6s"
    )


def _ranks(match: re.Match[str], group: int, item: str) -> tuple[int, int, str]:
    """High rank, low rank and kind of a class in a match; ValueError for a suited pair."""
    first, second = RANKS.index(match[group]), RANKS.index(match[group + 1])
    kind = match[group + 2]
    if first == second and kind:
        raise ValueError(f"range item {item!r}: a pair is neither suited nor offsuit")
    return max(first, second), min(first, second), kind


def _classes(high: int, low: int, top: int, kind: str) -> list[int]:
    """Hand indices of the pairs low to top (high equals low), or of high with kickers low to top."""
    hands = []
    for rank in range(low, top + 1):
        partner = rank if high == low else high
        for first in range(4):
            for second in range(4):
                suited = first == second
                if partner == rank:
                    if first > second:
                        hands.append(hand_index(4 * rank + first, 4 * rank + second))
                elif not kind or (kind == "s") == suited:
                    hands.append(hand_index(4 * partner + first, 4 * rank + second))
    return hands

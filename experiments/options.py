"""Options that several commands have."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ..abstraction.translation import TRANSLATIONS, check_translation
from ..game.presets import parse_rules
from ..game.rules import Rules

if TYPE_CHECKING:
    from ..solver.strategy import BuiltIn, Strategy


def read_rules_option(text: str) -> Rules:
    """Rules from a preset's name, an ACPC definition in one line, or a file of the server's.

    The name of such a file (``*.game``) becomes that of the rules. Raises ValueError for anything wrong.
    """
    if not text.endswith(".game"):
        return parse_rules(text)
    path = Path(text)
    try:
        return replace(Rules.from_acpc(path.read_text("utf-8-sig")), name=path.name)
    except OSError as error:
        raise ValueError(f"cannot read {text}: {error.strerror}") from None
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None


def given_rules(options: argparse.Namespace) -> Rules | None:
    """The rules of the option --rules, None where it is left out."""
    return None if options.rules is None else read_rules_option(options.rules)


def read_flops_option(text: str, name: str = "--flops") -> str | int:
    """An option such as --flops: "all" or a positive number; ValueError for anything else."""
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"{name} takes all or a positive number, not {text!r}")
    return int(text)


def add_translation_option(parser: argparse.ArgumentParser) -> None:
    """Add --translation: how strategies with a bet menu take other bets."""
    parser.add_argument(
        "--translation",
        metavar="|".join(TRANSLATIONS),
        help="how bets off a strategy's menu are taken; default: as it was saved",
    )


def set_translation(name: str | None, strategies: Iterable[Strategy | BuiltIn]) -> None:
    """Give the strategies that have a bet menu the translation of --translation; None: nothing is changed.

    Raises ValueError for an unknown one, or where no strategy has a menu.
    """
    from ..solver.strategy import Strategy

    if name is None:
        return
    check_translation(name)
    strategies = list(strategies)
    with_menu = [s for s in strategies if isinstance(s, Strategy) and not s.tree.menu.is_full]
    if not with_menu:
        names = " and ".join(strategy.name for strategy in strategies)
        raise ValueError(f"--translation goes with a strategy on a bet menu: {names} knows every bet")
    for strategy in with_menu:
        strategy.translation = name

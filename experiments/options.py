"""Options that several commands have."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from ..game.presets import parse_rules
from ..game.rules import Rules


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


def read_flops_option(text: str) -> str | int:
    """The option --flops: "all" or a positive number; ValueError for anything else."""
    if text == "all":
        return text
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--flops takes all or a positive number, not {text!r}")
    return int(text)

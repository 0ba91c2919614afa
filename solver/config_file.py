"""The keys of a CONFIG.toml, and the fields of a configuration that they stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..abstraction.arrays import load_arrays
from ..abstraction.bets import ROUNDS
from ..abstraction.build import abstraction_path
from ..abstraction.config import AbstractionConfig
from ..game.presets import read_rules, rules_value
from ..game.rules import Rules
from ..game.toml_file import toml_value
from .schedule import Every, parse_duration

#: Keys of the file itself; those that are tables of a class of their own come last.
_KEYS = (
    "rules", "abstraction", "bets", "scheme", "sampling", "exploration", "best_response_from", "iterations",
    "time", "seed", "threads",
)  # fmt: skip
_CLASSES = ("pruning", "discounting", "average_sampling")
#: Keys of the other tables: the field behind each, and an example.
_TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "tables": {
        "storage": ("storage", '"int16"'),
        "averages": ("averages", '["preflop"]'),
        "average_from": ("average_from", '"turn"'),
        "memory_map": ("memory_map", "true"),
    },
    "checkpoint": {"every": ("checkpoint_every", '"5m"')},
    "snapshots": {"every": ("snapshots_every", '"100_000 iterations"')},
    "check": {
        "every": ("check_every", '"5m"'),
        "flops": ("check_flops", "10"),
        "abstract": ("check_abstract", "true"),
    },
}


def read_keys(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Fields of a `SolveConfig` from the keys of a CONFIG.toml.

    Args:
        values: the keys.
        folder: what file names are relative to.

    Raises ValueError for unknown and missing keys, and for rules, abstractions and times that are none.
    """
    found = dict(values)
    known = {*_KEYS, *_CLASSES, *_TABLES}
    if unknown := set(found) - known:
        raise ValueError(f"unknown key {min(unknown)!r}: a run has {', '.join(sorted(known))}")
    for key in ("rules", "abstraction"):
        if key not in found:
            raise ValueError(f"the key {key} is missing")
    for table in _TABLES:
        found |= _entries(table, found.pop(table, {}))
    found["rules"] = read_rules(found["rules"])
    found["abstraction"] = _abstraction_config(found["abstraction"], found["rules"], folder)
    if "average_from" in found:
        found["averages"] = _rounds_from(found.pop("average_from"), found)
    if "time" in found:
        found["time"] = parse_duration(found["time"])
    return found


def write_keys(fields: Mapping[str, Any]) -> str:
    """A CONFIG.toml that says these fields of a `SolveConfig`, with everything resolved."""
    values = {key: fields[key] for key in _KEYS}
    described = values.pop("abstraction").to_dict()
    values |= {"rules": rules_value(fields["rules"]), "bets": fields["bets"].to_value()}
    if fields["constants"]:
        values["scheme"] = {"name": fields["scheme"], **fields["constants"]}
    lines = _lines(values)
    for table, keys in _TABLES.items():
        entries = {key: _plain(key, fields.get(name)) for key, (name, _) in keys.items()}
        if found := _lines(entries):
            lines += ["", f"[{table}]", *found]
    for key in _CLASSES:
        if fields[key] is not None:
            lines += ["", f"[{key}]", *_lines(asdict(fields[key]))]
    rounds = described.pop("round")
    lines += ["", "[abstraction]", *_lines(described)]
    for entry in rounds:
        lines += ["", "[[abstraction.round]]", *_lines(entry)]
    return "\n".join(lines) + "\n"


def _rounds_from(first: Any, found: Mapping[str, Any]) -> list[str]:
    """The rounds from one on: a shorter way to say which keep an average."""
    names = [*ROUNDS[: found["rules"].num_rounds]]
    if "averages" in found:
        raise ValueError("tables.average_from and tables.averages say the same: give one of them")
    if first not in names:
        raise ValueError(f"tables.average_from must be one of {', '.join(names)}, not {first!r}")
    return names[names.index(first) :]


def _plain(key: str, value: Any) -> Any:
    """A field as the file has it."""
    if isinstance(value, Every):
        return value.to_value()
    return [ROUNDS[index] for index in value] if key == "averages" and value is not None else value


def _entries(table: str, values: Any) -> dict[str, Any]:
    """The fields that a table sets."""
    names = {key: name for key, (name, _) in _TABLES[table].items()}
    keys = ", ".join(f"{key} = {example}" for key, (_, example) in _TABLES[table].items())
    if not isinstance(values, dict):
        raise ValueError(f"{table} must be a table [{table}] with {keys}, not {values!r}")
    if unknown := set(values) - set(names):
        raise ValueError(f"unknown key {min(unknown)!r} in [{table}]: it has {keys}")
    return {names[key]: value for key, value in values.items()}


def _lines(values: Mapping[str, Any]) -> list[str]:
    """Lines of TOML, without what is None."""
    return [f"{key} = {toml_value(value, key)}" for key, value in values.items() if value is not None]


def _abstraction_config(source: Any, rules: Rules, folder: Path) -> AbstractionConfig:
    """From a file name, a table, "lossless", or the hash of an abstraction in the cache."""
    if isinstance(source, dict):
        return AbstractionConfig.from_dict(source)
    if not isinstance(source, str):
        raise ValueError('abstraction must be a file name, a hash, "lossless" or a table')
    if source == "lossless":
        return AbstractionConfig.lossless(rules)
    if re.fullmatch(r"[0-9a-f]{16}", source):
        header, _ = load_arrays(abstraction_path(source), "abstraction")
        return AbstractionConfig.from_dict(header["config"])
    return AbstractionConfig.from_toml(folder / source)

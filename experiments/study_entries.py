"""What a study compares: its abstractions, its solvers, and the cells that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from ..abstraction.config import BUCKETED, AbstractionConfig
from ..game.presets import rules_value
from ..game.rules import Rules
from ..solver.config_file import read_keys

#: Keys of a CONFIG.toml that an [[solver]] may have.
SOLVER_KEYS = (
    "sampling", "scheme", "exploration", "best_response_from", "tables", "snapshots", "pruning",
    "discounting", "average_sampling",
)  # fmt: skip


@dataclass(frozen=True)
class Contender:
    """An abstraction of a study.

    Attributes:
        name: what it is called in results; also in the names of the folders of its runs.
        config: the abstraction.
        group: those of a group share a colour.
        keeps_seed: whether its seed is its own; else it is that of the study.
    """

    name: str
    config: AbstractionConfig
    group: str
    keeps_seed: bool = False

    def with_seed(self, seed: int) -> AbstractionConfig:
        """The abstraction in a study of this seed."""
        return self.config if self.keeps_seed else replace(self.config, seed=seed)

    def to_dict(self) -> dict[str, Any]:
        """The keys of an [[abstraction]] table, as TOML values."""
        described = self.config.to_dict()
        del described["rules"]
        if not self.keeps_seed:
            del described["seed"]
        return {"name": self.name, "group": self.group, **described}


@dataclass(frozen=True)
class StudySolver:
    """A solver of a study.

    Attributes:
        name: what it is called in results; "" for the solver of a study that compares abstractions alone.
        keys: its SOLVER_KEYS, as TOML values.
        group: those of a group share a colour.
    """

    name: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""

    def fields(self, rules: Rules) -> dict[str, Any]:
        """Those fields of a `SolveConfig` that it sets; ValueError for wrong ones."""
        values = {"rules": rules_value(rules), "abstraction": "lossless", **self.keys}
        found = read_keys(values, Path())
        del found["rules"], found["abstraction"]
        return found

    def to_dict(self) -> dict[str, Any]:
        """The keys of a [[solver]] table, as TOML values."""
        return {"name": self.name, "group": self.group, **self.keys}


class Cell(NamedTuple):
    """One run of a study."""

    contender: Contender
    solver: StudySolver
    seed: int

    @property
    def key(self) -> tuple[str, str, int]:
        """Names that tell it from the other cells of its study."""
        return self.contender.name, self.solver.name, self.seed

    @property
    def names(self) -> str:
        """Abstraction and solver in words."""
        return ", ".join(filter(None, (self.contender.name, self.solver.name)))


def read_contenders(table: Any, rules: Rules, folder: Path) -> list[Contender]:
    """The abstractions of an [[abstraction]] table: several where `buckets` is a list.

    Files are relative to `folder`. Raises ValueError, in one line, for a table that is none.
    """
    known = {"name", "group", "lossless", "file", "buckets", "round", "recall", "seed"}
    if not isinstance(table, dict) or not isinstance(table.get("name"), str) or set(table) - known:
        raise ValueError(
            f"an [[abstraction]] has a name and some of {', '.join(sorted(known - {'name'}))}"
        )
    name, group = _names(table, "an abstraction")
    try:
        if "file" in table or "lossless" in table:
            if set(table) - {"name", "group"} not in ({"file"}, {"lossless"}):
                raise ValueError("with file or lossless there is nothing else to say")
            if "file" in table:
                config = AbstractionConfig.from_toml(folder / str(table["file"]))
                return [Contender(name, config, group, keeps_seed=True)]
            if table["lossless"] is not True:
                raise ValueError("lossless is true or left out")
            return [Contender(name, AbstractionConfig.lossless(rules), group)]
        numbers = table.get("buckets")
        if numbers is not None and (not isinstance(numbers, list) or not numbers):
            raise ValueError(f"buckets must be a list such as [5, 20, 100], not {numbers!r}")
        rest = {key: table[key] for key in ("recall", "seed") if key in table}
        contenders = []
        for number in numbers or [None]:
            entries = table.get("round")
            if number is not None and isinstance(entries, list):
                entries = [_with_buckets(entry, number) for entry in entries]
            config = AbstractionConfig.from_dict({"rules": rules_value(rules), "round": entries, **rest})
            own = name if number is None else f"{name} {number}"
            contenders.append(Contender(own, config, group, "seed" in table))
        return contenders
    except ValueError as error:
        raise ValueError(f"abstraction {name!r}: {error}") from None


def read_solver(table: Any) -> StudySolver:
    """The solver of a [[solver]] table; ValueError for unknown keys, the others are not looked at."""
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise ValueError(f"a [[solver]] has a name and some of group, {', '.join(SOLVER_KEYS)}")
    name, group = _names(table, "a solver")
    keys = {key: value for key, value in table.items() if key not in ("name", "group")}
    if unknown := set(keys) - {*SOLVER_KEYS}:
        raise ValueError(
            f"solver {name!r}: unknown key {min(unknown)!r}: it has {', '.join(SOLVER_KEYS)}"
        )
    return StudySolver(name, keys, group)


def _names(table: dict[str, Any], what: str) -> tuple[str, str]:
    """The name and the group of a table."""
    name, group = table["name"], table.get("group", table["name"])
    if not name or name.startswith(".") or "/" in name or "\\" in name or not isinstance(group, str):
        raise ValueError(f"{name!r} cannot be the name of {what}: it names a folder, too")
    return name, group


def _with_buckets(entry: Any, number: int) -> Any:
    """A round with this number of buckets, where it takes one and has none."""
    if not isinstance(entry, dict) or "buckets" in entry or entry.get("feature") not in BUCKETED:
        return entry
    return entry | {"buckets": number}

"""What a run does: the dataclass behind CONFIG.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from math import inf
from pathlib import Path
from typing import Any

from ..abstraction.bets import FULL, ROUNDS, BetMenu
from ..abstraction.config import AbstractionConfig
from ..game.presets import rules_value
from ..game.rules import Rules, is_whole
from ..game.toml_file import read_toml
from .config_file import read_keys, write_keys
from .mccfr import AverageSampling, Discounting, Pruning
from .regret import Scheme, make_scheme
from .schedule import Every
from .scoring.abstract_response import check_few_boards
from .scoring.sampling import MAX_FLOPS
from .solvers import OPTIONS, SOLVERS
from .tree_size import TreeSize, storage_type, tree_size

FIVE_MINUTES = Every(300.0)
MAX_THREADS = 256  # more than machines have, and each takes memory
_SCHEDULES = ("checkpoint_every", "snapshots_every", "check_every")
#: Fields that may be given as a table of the keys of their class.
_CLASSES: dict[str, Any] = {
    "pruning": Pruning,
    "discounting": Discounting,
    "average_sampling": AverageSampling,
}


@dataclass(frozen=True)
class SolveConfig:
    """What a run does: the dataclass behind CONFIG.toml.

    Schedules are an `Every` or a value of one: "5m" or a number, seconds of solving, or "100_000 iterations".

    Attributes:
        rules: the game.
        abstraction: the card abstraction to solve in.
        bets: the bets on offer, a BetMenu or a value of one: "full" (every legal bet), another preset, sizes
            as text, or a table.
        scheme: weighting of iterations (`solver.regret`): a name that the sampling's solver knows, or a table
            such as {"name": "dcfr", "alpha": 1.5}, whose other entries become `constants`.
        constants: of the scheme where they are not its own, with `order`, and `horizon` of a schedule
            (default: the iterations of the run).
        sampling: what an iteration visits, one of `solver.solvers.SOLVERS`.
        iterations: iterations to do in all (None: until the time is over).
        time: seconds to solve in all (None: until the iterations are done).
        seed: everything random follows from it.
        threads: solver threads, at most 256; runs of one thread are reproducible bit for bit.
        storage: of the numbers in tables, "float32" or "int16" (a little more than half the memory).
        averages: the rounds that keep an average, by number or name ("preflop"); None: all. The others are
            rebuilt from snapshots.
        memory_map: keep the tables in a file in the run's folder, for tables larger than memory.
        pruning, discounting, average_sampling: as in `solver.mccfr`, or the table of their keys.
        exploration: of outcome sampling.
        best_response_from: for CFR-BR, the round ("flop") from which the opponent plays best responses in
            the real game.
        checkpoint_every: schedule of the checkpoints.
        snapshots_every: schedule of snapshots of the current strategy, for rounds that keep no average
            (None: no snapshots). Snapshots by time are not reproducible, those by iterations are.
        check_every: schedule of checks of the exploitability in the real game (None: no checks). They do
            not change what is solved, and their time is not counted as time of solving.
        check_flops: flops of a check, "all" (exact) or a number to draw; default: all with a small deck,
            else 10.
        check_abstract: whether checks also measure the exploitability within the abstraction; for games of
            few boards.
    """

    rules: Rules
    abstraction: AbstractionConfig
    bets: BetMenu = FULL
    scheme: str = "lcfr"
    sampling: str = "external"
    iterations: int | None = None
    time: float | None = None
    seed: int = 1
    threads: int = 1
    checkpoint_every: Every = FIVE_MINUTES
    constants: Mapping[str, Any] = field(default_factory=dict)
    snapshots_every: Every | None = None
    check_every: Every | None = None
    check_flops: str | int | None = None
    check_abstract: bool = False
    storage: str = "float32"
    averages: tuple[int, ...] | None = None
    memory_map: bool = False
    pruning: Pruning | None = None
    discounting: Discounting | None = None
    average_sampling: AverageSampling | None = None
    exploration: float | None = None
    best_response_from: str | None = None

    def __post_init__(self) -> None:
        def need(ok: bool, message: str) -> None:
            if not ok:
                raise ValueError(message)

        object.__setattr__(self, "bets", BetMenu.from_value(self.bets))
        need(
            isinstance(self.sampling, str) and self.sampling in SOLVERS,
            f"sampling must be {_one_of(SOLVERS)}, not {self.sampling!r}",
        )
        need(
            self.iterations is not None or self.time is not None,
            'give iterations = N or time = "10m": how long to solve',
        )
        need(
            self.iterations is None or is_whole(self.iterations, 1),
            f"iterations must be a positive number, not {self.iterations!r}",
        )
        need(self.time is None or 0 < self.time < inf, "time must be a positive number of seconds")
        need(
            is_whole(self.seed, 0) and self.seed < 1 << 63,
            f"seed must be a whole number from 0 to 2**63 - 1, not {self.seed!r}",
        )
        need(is_whole(self.threads, 1), f"threads must be a positive number, not {self.threads!r}")
        need(self.threads <= MAX_THREADS, f"threads must be at most {MAX_THREADS}, not {self.threads}")
        for key in _SCHEDULES:
            if getattr(self, key) is not None:
                object.__setattr__(self, key, _every(getattr(self, key), key))
        self._check_scheme()
        self._check_options()
        flops = self.check_flops
        need(
            flops in (None, "all") or is_whole(flops, 1, MAX_FLOPS),
            f'check.flops must be "all" or a number of flops from 1 to {MAX_FLOPS:,}, not {flops!r}',
        )
        if self.check_every is not None and flops is None:
            object.__setattr__(self, "check_flops", "all" if self.rules.deck.size < 52 else 10)
        need(
            flops is None or self.check_every is not None,
            'check.flops goes with check.every = "5m": say how often to check',
        )
        need(
            self.check_abstract in (False, True),
            f"check.abstract must be true or false, not {self.check_abstract!r}",
        )
        if self.check_abstract:
            need(self.check_every is not None, 'check.abstract goes with check.every = "5m"')
            check_few_boards(self.rules)
        self.abstraction.check_fits(self.rules)

    def _check_scheme(self) -> None:
        if isinstance(self.scheme, Mapping):
            constants = {**self.constants, **self.scheme}
            if "name" not in constants:
                raise ValueError('a table of the scheme has a name, as in {name = "dcfr", alpha = 1.5}')
            object.__setattr__(self, "scheme", constants.pop("name"))
            object.__setattr__(self, "constants", constants)
        schemes = SOLVERS[self.sampling].schemes
        if not isinstance(self.scheme, str) or self.scheme not in schemes:
            raise ValueError(
                f"scheme must be {_one_of(schemes)} with {self.sampling} sampling, not {self.scheme!r}"
            )
        horizon = self.constants.get("horizon")
        if horizon is not None and not is_whole(horizon, 1):
            raise ValueError(f"horizon of {self.scheme} must be a positive number, not {horizon!r}")
        if self.scheme.startswith("hs-") and horizon is None and self.iterations is None:
            raise ValueError(
                f"scheme {self.scheme} follows a plan: give iterations = N, or a horizon in its table"
            )
        self.weighting()

    def _check_options(self) -> None:
        for key, kind in _CLASSES.items():
            value = getattr(self, key)
            if isinstance(value, Mapping):
                object.__setattr__(self, key, _of_class(kind, key, value))
            elif value is not None and not isinstance(value, kind):
                keys = ", ".join(entry.name for entry in fields(kind))
                raise ValueError(f"{key} must be a table [{key}] with the keys {keys}, not {value!r}")
        if self.averages is not None:
            object.__setattr__(self, "averages", _rounds(self.averages, self.rules.num_rounds))
        if not isinstance(self.memory_map, bool):
            raise ValueError(f"tables.memory_map must be true or false, not {self.memory_map!r}")
        storage_type(self.storage)
        if self.exploration is not None and not (
            _is_number(self.exploration) and 0 < self.exploration <= 1
        ):
            raise ValueError(
                f"exploration must be a number above 0 and at most 1, not {self.exploration!r}"
            )
        rounds = ROUNDS[: self.rules.num_rounds]
        if self.best_response_from is not None and self.best_response_from not in rounds:
            raise ValueError(
                f"best_response_from must be {_one_of(rounds)}, not {self.best_response_from!r}"
            )
        kind = SOLVERS[self.sampling]
        defaults = self.__dataclass_fields__
        for key in OPTIONS:
            if key not in kind.options and getattr(self, key) != defaults[key].default:
                able = [name for name, other in SOLVERS.items() if key in other.options]
                raise ValueError(
                    f"{key} goes with {_one_of(able)} sampling, not with {self.sampling} sampling"
                    if able
                    else f"{key} is not available"
                )
        if self.rebuilt_rounds and self.snapshots_every is None:
            raise ValueError(
                "a round without an average is rebuilt from snapshots: say how often to take them, as in "
                'snapshots.every = "5m"'
            )
        if self.snapshots_every is not None and not self.rebuilt_rounds:
            raise ValueError(
                "snapshots are for rounds that keep no average: say which rounds keep one, as in "
                'tables.averages = ["preflop"]'
            )
        kind.check(self)

    @property
    def rebuilt_rounds(self) -> tuple[int, ...]:
        """The rounds without an average."""
        kept = range(self.rules.num_rounds) if self.averages is None else self.averages
        return tuple(index for index in range(self.rules.num_rounds) if index not in kept)

    def weighting(self) -> Scheme:
        """The scheme with its constants."""
        constants = {"horizon": self.iterations, **self.constants}
        return make_scheme(self.scheme, **constants)

    @classmethod
    def from_dict(cls, values: dict[str, Any], folder: Path) -> SolveConfig:
        """From the keys of a CONFIG.toml; file names are relative to `folder`.

        Raises ValueError for unknown keys and wrong values.
        """
        return cls(**read_keys(values, folder))

    @classmethod
    def from_toml(cls, path: str | Path) -> SolveConfig:
        """Read a CONFIG.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, lambda values: cls.from_dict(values, Path(path).parent))

    def to_toml(self) -> str:
        """The configuration with everything resolved; a run can be started from it again."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return write_keys(fields)

    def size(self) -> TreeSize:
        """Size of the betting tree and at most of the tables, known before anything is built."""
        return tree_size(self.rules, self.bets, self.abstraction.max_buckets())

    def memory(self) -> dict[str, int]:
        """Bytes that the solver takes at most, by what they are for; known before anything is built.

        Lower bounds for a tree too large to be counted.
        """
        return SOLVERS[self.sampling].memory(self, self.size())

    def estimate_bytes(self) -> int:
        """The sum of `memory`."""
        return sum(self.memory().values())

    def identity(self) -> dict[str, Any]:
        """What must agree for a run to continue another one: everything but how long and how fast.

        What is as it always was is left out, so that runs of earlier versions can be resumed.
        """
        rules = rules_value(self.rules)
        if isinstance(rules, dict):  # two games of other names may have equal rules
            rules = {key: value for key, value in rules.items() if key not in ("name", "description")}
        identity = {
            "rules": rules,
            "abstraction": self.abstraction.hash,
            "bets": self.bets.to_value(),
            "scheme": self.scheme,
            "sampling": self.sampling,
            "seed": self.seed,
        }
        weighting = self.weighting()
        if weighting != make_scheme(self.scheme, horizon=weighting.horizon) or weighting.horizon:
            identity["weighting"] = str(weighting)
        if self.snapshots_every is not None:
            identity["snapshots.every"] = self.snapshots_every.to_value()
        for key in OPTIONS:
            value = getattr(self, key)
            if key != "memory_map" and value != self.__dataclass_fields__[key].default:
                if key in _CLASSES:  # JSON knows no infinity
                    value = {name: v for name, v in asdict(value).items() if abs(v) < inf}
                identity[key] = list(value) if isinstance(value, tuple) else value
        return identity


def _one_of(names: Any) -> str:
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else str(last)


def _every(value: Any, key: str) -> Every:
    """A schedule; ValueError with its key as a CONFIG.toml has it."""
    try:
        return Every.from_value(value)
    except ValueError as error:
        raise ValueError(f"{key.replace('_', '.')}: {error}") from None


def _of_class(kind: Any, table: str, values: Mapping[str, Any]) -> Any:
    """An object from the keys of its table; ValueError for unknown and missing ones."""
    known = {entry.name: entry for entry in fields(kind)}
    if unknown := set(values) - set(known):
        raise ValueError(f"unknown key {min(unknown)!r} in [{table}]: it has {', '.join(known)}")
    for name, entry in known.items():
        if entry.default is MISSING and name not in values:
            raise ValueError(f"[{table}] needs the key {name}")
        if name in values and not _is_number(values[name]):
            raise ValueError(f"{table}.{name} must be a number, not {values[name]!r}")
    return kind(**values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _rounds(value: Any, num_rounds: int) -> tuple[int, ...] | None:
    """Numbers of rounds from names or numbers, ascending; None for all of them."""
    names = ROUNDS[:num_rounds]
    if not isinstance(value, list | tuple):
        raise ValueError(f"tables.averages must be a list of rounds such as {[*names]}, not {value!r}")
    found = set()
    for entry in value:
        if entry in names:
            found.add(names.index(entry))
        elif is_whole(entry, 0, num_rounds - 1):
            found.add(int(entry))
        else:
            raise ValueError(f"tables.averages: {entry!r} is no round: there are {', '.join(names)}")
    return None if len(found) == num_rounds else tuple(sorted(found))

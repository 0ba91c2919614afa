"""Card abstractions: which hands a strategy treats as the same, as one matrix of buckets a round.

An abstraction is described by an `AbstractionConfig` (a TOML file) and built once: `build_abstraction`
finds it in the cache folder under a hash of everything that affects it, or builds and stores it.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba as nb
import numpy as np
from platformdirs import user_cache_dir

from ..game.cards import Deck, hand_index, parse_cards
from ..game.presets import read_rules
from ..game.rules import Rules
from ..game.toml_file import read_toml
from .arrays import load_arrays, save_arrays
from .boards import Boards, canonical_boards, is_suit_invariant, suit_permutations
from .equity import Progress, earlier_sums, last_round_equity, preflop_classes, strength_table

FEATURES = {
    "none": "every hand in one bucket",
    "preflop-classes": "hands up to a renaming of suits (before the flop)",
    "ehs": "percentiles of the mean equity (expected hand strength)",
    "ehs2": "percentiles of the mean squared equity",
}
MAX_BUCKETS = 65_535
_BUILD_VERSION = 1  # raise whenever the same configuration gives other buckets


@dataclass(frozen=True)
class RoundConfig:
    """How the hands of one round are put into buckets.

    Attributes:
        feature: one of FEATURES.
        buckets: number of percentile buckets (``ehs`` and ``ehs2`` only).
    """

    feature: str
    buckets: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str) or self.feature not in FEATURES:
            raise ValueError(f"unknown feature {self.feature!r}: choose one of {', '.join(FEATURES)}")
        if self.feature.startswith("ehs"):
            if type(self.buckets) is not int or not 1 <= self.buckets <= MAX_BUCKETS:
                raise ValueError(
                    f"feature {self.feature} needs buckets = 1 to {MAX_BUCKETS}, not {self.buckets}"
                )
        elif self.buckets is not None:
            raise ValueError(f"feature {self.feature} takes no buckets: its number is fixed")


@dataclass(frozen=True)
class AbstractionConfig:
    """A card abstraction in words: the rules whose cards it is for, and one entry a round."""

    rules: Rules
    rounds: tuple[RoundConfig, ...]
    recall: str = "imperfect"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.recall != "imperfect":
            raise ValueError(f"recall must be imperfect, not {self.recall!r}")
        if not isinstance(self.seed, int) or isinstance(self.seed, bool) or self.seed < 0:
            raise ValueError(f"seed must be a whole number, not {self.seed!r}")
        if len(self.rounds) != self.rules.num_rounds:
            raise ValueError(
                f"{self.rules.name} has {self.rules.num_rounds} rounds: give as many [[round]] tables, "
                f"not {len(self.rounds)}"
            )
        if self.rules.num_hole_cards != 2:
            raise ValueError("card abstractions are for games of two hole cards")
        for index, entry in enumerate(self.rounds):
            if entry.feature == "preflop-classes" and self.rules.board_size(index):
                raise ValueError("feature preflop-classes is for a round without community cards")

    @property
    def board_sizes(self) -> tuple[int, ...]:
        return tuple(self.rules.board_size(index) for index in range(self.rules.num_rounds))

    def description(self) -> dict[str, Any]:
        """Everything that affects the buckets, as JSON values. The seed does not: nothing is drawn."""
        return {
            "version": _BUILD_VERSION,
            "deck": [self.rules.num_ranks, self.rules.num_suits],
            "board_sizes": list(self.board_sizes),
            "recall": self.recall,
            "rounds": [[entry.feature, entry.buckets] for entry in self.rounds],
        }

    @property
    def hash(self) -> str:
        """Name of the abstraction in the cache: 16 hexadecimal digits."""
        text = json.dumps(self.description(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def max_buckets(self) -> list[int]:
        """By round, the largest number of buckets that a build can give."""
        fixed = {"none": 1, "preflop-classes": self.rules.num_ranks**2}
        return [fixed.get(entry.feature, entry.buckets or 0) for entry in self.rounds]

    def check_fits(self, rules: Rules) -> None:
        """ValueError unless the abstraction is for the cards of these rules."""
        sizes = tuple(rules.board_size(index) for index in range(rules.num_rounds))
        own = (self.rules.num_ranks, self.rules.num_suits, 2, self.board_sizes)
        theirs = (rules.num_ranks, rules.num_suits, rules.num_hole_cards, sizes)
        if own != theirs:
            raise ValueError(
                f"the abstraction does not fit {rules.name}: it is for {_cards_in_words(*own)}, "
                f"the game has {_cards_in_words(*theirs)}"
            )

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> AbstractionConfig:
        """From the keys of an ABSTRACTION.toml; ValueError for unknown or missing ones."""
        known = {"rules", "recall", "seed", "round"}
        if unknown := set(values) - known:
            raise ValueError(
                f"unknown key {min(unknown)!r}: an abstraction has {', '.join(sorted(known))}"
            )
        if "rules" not in values or not isinstance(values.get("round"), list):
            raise ValueError('an abstraction needs rules = "NAME" and one [[round]] table a round')
        rounds = []
        for table in values["round"]:
            if (
                not isinstance(table, dict)
                or "feature" not in table
                or set(table) - {"feature", "buckets"}
            ):
                raise ValueError("a [[round]] table has the keys feature and buckets")
            rounds.append(RoundConfig(**table))
        rest = {key: values[key] for key in ("recall", "seed") if key in values}
        return cls(read_rules(values["rules"]), tuple(rounds), **rest)

    @classmethod
    def from_toml(cls, path: str | Path) -> AbstractionConfig:
        """Read an ABSTRACTION.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, cls.from_dict)


class CardAbstraction:
    """Buckets of every hand on every board of every round.

    Attributes:
        config: the description it was built from.
        matrices: by round, uint16 [board_row, hand]; entries of hands that share a card with the
            board mean nothing.
        num_buckets: by round, the number of buckets.
    """

    def __init__(self, config: AbstractionConfig, matrices: list[np.ndarray], num_buckets: list[int]):
        self.config = config
        self.matrices = matrices
        self.num_buckets = num_buckets
        self._invariant: bool | None = None
        self._origin: tuple[Callable, Any] | None = None

    def __reduce__(self):
        # Another process opens the cached files itself; they are too big to send.
        if self._origin is None:
            return CardAbstraction, (self.config, self.matrices, self.num_buckets)
        origin, argument = self._origin
        return origin, (argument,)

    @property
    def deck(self) -> Deck:
        return self.config.rules.deck

    @property
    def hash(self) -> str:
        return self.config.hash

    def boards(self, round_index: int) -> Boards:
        """The canonical boards of a round."""
        return canonical_boards(self.deck, self.config.board_sizes[round_index])

    def row(self, round_index: int, board_row: int) -> np.ndarray:
        """uint16 [hand]: buckets on a canonical board, for walks over vectors of hands."""
        return self.matrices[round_index][board_row]

    def lookup(self, round_index: int, hands: np.ndarray, boards: np.ndarray) -> np.ndarray:
        """Buckets of hands int [...] on boards int [..., cards] of card numbers; uint16 [...]."""
        rows, permutations = self.boards(round_index).locate(boards)
        moved = suit_permutations(self.deck).hands[permutations, hands]
        return self.matrices[round_index][rows, moved]

    def bucket(
        self, round_index: int, hole: str | Iterable[str | int], board: str | Iterable[str | int] = ()
    ) -> int:
        """Bucket of a pair of hole cards on a board; ValueError for cards that do not fit the round."""
        hole, board = parse_cards(hole), parse_cards(board)
        parse_cards([*hole, *board])
        size = self.config.board_sizes[round_index]
        if len(hole) != 2 or len(board) != size:
            raise ValueError(
                f"round {round_index} has two hole cards and {size} community cards, "
                f"not {len(hole)} and {len(board)}"
            )
        number = self.deck.number
        hand = hand_index(number(hole[0]), number(hole[1]))
        return int(
            self.lookup(round_index, np.array(hand), np.array([number(card) for card in board], int))
        )

    def check_fits(self, rules: Rules) -> None:
        """ValueError unless the abstraction is for the cards of these rules."""
        self.config.check_fits(rules)

    @property
    def is_suit_invariant(self) -> bool:
        """Whether a renaming of suits that leaves a board alone never changes a bucket (checked)."""
        if self._invariant is None:
            self._invariant = all(
                is_suit_invariant(matrix, self.boards(index))
                for index, matrix in enumerate(self.matrices)
            )
        return self._invariant

    def __repr__(self) -> str:
        return f"CardAbstraction({self.config.rules.name}, buckets {self.num_buckets}, hash {self.hash})"


def _cards_in_words(ranks: int, suits: int, holes: int, board_sizes: tuple[int, ...]) -> str:
    sizes = "-".join(map(str, board_sizes))
    return f"{ranks} ranks in {suits} suits, {holes} hole cards, boards of {sizes} cards"


def cache_folder() -> Path:
    """Where abstractions are kept: $NASHFOLD_CACHE, or the user's cache folder."""
    return Path(os.environ.get("NASHFOLD_CACHE") or user_cache_dir("nashfold"))


def abstraction_path(config_hash: str) -> Path:
    return cache_folder() / "abstractions" / config_hash


def build_abstraction(
    config: AbstractionConfig | str | Path, progress: Progress | None = None
) -> CardAbstraction:
    """The card abstraction of a configuration or of an ABSTRACTION.toml, from the cache if it is there.

    Raises ValueError for a configuration that makes no sense.
    """
    if not isinstance(config, AbstractionConfig):
        config = AbstractionConfig.from_toml(config)
    path = abstraction_path(config.hash)
    if path.exists():
        try:
            return _load(config, path)
        except (KeyError, ValueError):  # a damaged cache entry is our own affair: build it again
            shutil.rmtree(path, ignore_errors=True)
    matrices = _build(config, progress)
    num_buckets = [int(matrix.max()) + 1 for matrix in matrices]
    header = {"config": config.description(), "num_buckets": num_buckets}
    save_arrays(path, "abstraction", header, {f"round{i}": matrix for i, matrix in enumerate(matrices)})
    return _load(config, path)


def _load(config: AbstractionConfig, path: Path) -> CardAbstraction:
    header, arrays = load_arrays(path, "abstraction")
    if header["config"] != config.description():
        raise ValueError(f"{path} holds another abstraction")
    matrices = [arrays[f"round{index}"] for index in range(len(config.rounds))]
    abstraction = CardAbstraction(config, matrices, header["num_buckets"])
    abstraction._origin = build_abstraction, config
    return abstraction


def trivial_abstraction(rules: Rules) -> CardAbstraction:
    """One bucket a round; nothing is built or stored."""
    config = AbstractionConfig(rules, (RoundConfig("none"),) * rules.num_rounds)
    deck = rules.deck
    matrices = [
        np.broadcast_to(np.uint16(0), (len(canonical_boards(deck, size)), deck.num_hands))
        for size in config.board_sizes
    ]
    abstraction = CardAbstraction(config, matrices, [1] * rules.num_rounds)
    abstraction._origin = trivial_abstraction, rules
    return abstraction


def _build(config: AbstractionConfig, progress: Progress | None) -> list[np.ndarray]:
    deck = config.rules.deck
    last = canonical_boards(deck, config.board_sizes[-1])
    sums: dict[tuple[str, int], np.ndarray] = {}
    if wanted := {entry.feature for entry in config.rounds if entry.feature.startswith("ehs")}:
        equity = last_round_equity(strength_table(last, progress), last, progress)
        for feature in wanted:
            # On the last round the square orders hands as the equity itself does.
            sums[feature, last.size] = equity
            table, boards = equity, last
            if feature == "ehs2":
                table = np.square(equity, dtype=np.uint32)
            for index in reversed(range(len(config.rounds) - 1)):
                smaller = canonical_boards(deck, config.board_sizes[index])
                # Constant factors between whole and partial completions do not change percentiles.
                table = earlier_sums(table, boards, smaller.size, progress)
                sums[feature, smaller.size] = table
                boards = smaller
    matrices = []
    for entry, size in zip(config.rounds, config.board_sizes, strict=True):
        boards = canonical_boards(deck, size)
        if entry.feature == "none":
            matrix = np.zeros((len(boards), deck.num_hands), np.uint16)
        elif entry.feature == "preflop-classes":
            matrix = preflop_classes(deck)[None]
        else:
            assert entry.buckets is not None
            matrix = percentile_buckets(sums[entry.feature, size], boards, entry.buckets)
        matrices.append(matrix)
    return matrices


def percentile_buckets(values: np.ndarray, boards: Boards, buckets: int) -> np.ndarray:
    """uint16 [board_row, hand]: percentile buckets of whole numbers, every real hand counting once.

    A value falls into the bucket of the middle of its own range of percentiles, so equal values stay
    together; buckets that remain empty are left out of the numbering.

    Args:
        values: integers [board_row, hand], not negative.
        boards: the canonical boards of the rows.
        buckets: largest number of buckets.
    """
    hand_cards = boards.deck.hand_cards
    out = np.zeros(values.shape, np.uint16)
    if int(values.max()) < 1 << 22:
        weights = np.zeros(int(values.max()) + 1, np.int64)
        _weigh_values(values, boards.cards, boards.orbit, hand_cards, weights)
        _assign(values, _percentile_of(weights, buckets), out)
        return out
    alive = boards.hands_alive
    distinct, places = np.unique(values[alive], return_inverse=True)
    orbits = np.broadcast_to(boards.orbit[:, None], values.shape)[alive]
    weights = np.bincount(places, weights=orbits, minlength=len(distinct)).astype(np.int64)
    out[alive] = _percentile_of(weights, buckets)[places]
    return out


def _percentile_of(weights: np.ndarray, buckets: int) -> np.ndarray:
    """uint16 [value]: bucket of each value from the numbers of hands int64 [value] that have it."""
    total = int(weights.sum())
    middle_doubled = 2 * np.cumsum(weights) - weights  # twice the middle of the value's range
    if 2 * total * buckets < 1 << 63:
        bucket = middle_doubled * buckets // (2 * total)
    else:
        bucket = np.array([int(m) * buckets // (2 * total) for m in middle_doubled])
    used = np.unique(bucket[weights > 0])
    return np.minimum(np.searchsorted(used, bucket), len(used) - 1).astype(np.uint16)


@nb.njit(cache=True, nogil=True)
def _weigh_values(values, boards, orbit, hand_cards, weights):
    """Add the orbit sizes of values [board_row, hand] to weights [value], live hands only."""
    for row in range(values.shape[0]):
        taken = np.uint64(0)
        for card in boards[row]:
            taken |= np.uint64(1) << np.uint64(card)
        for hand in range(values.shape[1]):
            own = (np.uint64(1) << np.uint64(hand_cards[hand, 0])) | (
                np.uint64(1) << np.uint64(hand_cards[hand, 1])
            )
            if not taken & own:
                weights[values[row, hand]] += orbit[row]


@nb.njit(cache=True, nogil=True)
def _assign(values, bucket_of, out):
    for row in range(values.shape[0]):
        for hand in range(values.shape[1]):
            out[row, hand] = bucket_of[values[row, hand]]

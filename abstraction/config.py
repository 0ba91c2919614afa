"""Card abstractions in words: what an ABSTRACTION.toml says, checked and named by a hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, fields
from itertools import accumulate
from pathlib import Path
from typing import Any

from ..game.presets import read_rules, rules_value
from ..game.rules import Rules
from ..game.toml_file import read_toml
from .hands import num_canonical_hands

FEATURES = {
    "none": "every hand in one bucket",
    "preflop-classes": "hands up to a renaming of suits (before the flop)",
    "lossless": "every hand and board up to a renaming of suits in a bucket of its own",
    "ehs": "percentiles of the mean equity (expected hand strength)",
    "ehs2": "percentiles of the mean squared equity",
    "histogram-emd": "k-medians of equity histograms by earth mover's distance (before the last round)",
    "ochs": "k-means of equities against clusters of opposing hands (last round)",
    "potential-aware": "k-means of distributions over the next round's buckets by earth mover's distance",
}
MAX_BUCKETS = 65_535
BUILD_VERSION = 2  # raise whenever the same configuration gives other buckets

_PERCENTILES = ("ehs", "ehs2")
_CLUSTERED = ("histogram-emd", "ochs", "potential-aware")
BUCKETED = _PERCENTILES + _CLUSTERED  # features that take a number of buckets
# Keys beside feature and buckets: the features that have them, the default, the least and largest value.
_OPTIONS: dict[str, tuple[tuple[str, ...], int | None, int, int]] = {
    "bins": (("histogram-emd",), 50, 2, 250),
    "opponents": (("ochs",), 8, 1, 64),
    "restarts": (_CLUSTERED, 1, 1, 100),
    "public": (BUCKETED, None, 1, 10_000),
}


@dataclass(frozen=True)
class RoundConfig:
    """How the hands of one round are put into buckets.

    Attributes:
        feature: one of FEATURES.
        buckets: largest number of buckets, 1 to 65,535 (percentiles and clusterings; of a round with public
            clusters, in each of them).
        public: number of public clusters: boards are clustered first, and hands only with hands on boards
            of the same cluster. None: hands are clustered whatever the board.
        bins: bins of the equity histograms (``histogram-emd``; 50).
        opponents: clusters of opposing hands (``ochs``; 8).
        restarts: times that a clustering starts afresh; the best one is kept (clusterings; 1).
    """

    feature: str
    buckets: int | None = None
    public: int | None = None
    bins: int | None = None
    opponents: int | None = None
    restarts: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.feature, str) or self.feature not in FEATURES:
            raise ValueError(f"unknown feature {self.feature!r}: choose one of {', '.join(FEATURES)}")
        if self.feature in BUCKETED:
            if type(self.buckets) is not int or not 1 <= self.buckets <= MAX_BUCKETS:
                raise ValueError(
                    f"feature {self.feature} needs buckets = 1 to {MAX_BUCKETS}, not {self.buckets!r}"
                )
        elif self.buckets is not None:
            raise ValueError(f"feature {self.feature} takes no buckets: its number is fixed")
        for key, (features, default, least, most) in _OPTIONS.items():
            value = getattr(self, key)
            if value is None:
                if self.feature in features:
                    object.__setattr__(self, key, default)
            elif self.feature not in features:
                raise ValueError(f"feature {self.feature} takes no {key}: {', '.join(features)} do")
            elif type(value) is not int or not least <= value <= most:
                raise ValueError(f"{key} must be a whole number from {least} to {most}, not {value!r}")
        if self.buckets is not None and self.buckets * (self.public or 1) > MAX_BUCKETS:
            raise ValueError(
                f"{self.public} public clusters of {self.buckets} buckets are more than {MAX_BUCKETS}"
            )

    @property
    def is_clustered(self) -> bool:
        """Whether the buckets come from a clustering (and so depend on a seed)."""
        return self.feature in _CLUSTERED or self.public is not None

    def to_dict(self) -> dict[str, Any]:
        """The keys of a [[round]] table that are set."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {key: value for key, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, values: Any) -> RoundConfig:
        """From the keys of a [[round]] table; ValueError for unknown ones or a missing feature."""
        keys = [entry.name for entry in fields(cls)]
        if not isinstance(values, dict) or "feature" not in values or set(values) - set(keys):
            raise ValueError(f"a [[round]] table has the keys {', '.join(keys)}; feature is needed")
        return cls(**values)


@dataclass(frozen=True)
class AbstractionConfig:
    """A card abstraction in words: the rules whose cards it is for, and one entry a round.

    Attributes:
        rules: a game with these cards.
        rounds: by round, how its hands are put into buckets.
        recall: "imperfect": the current round's bucket is all that a player knows of his cards; "perfect":
            he knows the buckets of all rounds so far.
        seed: of the clusterings.
    """

    rules: Rules
    rounds: tuple[RoundConfig, ...]
    recall: str = "imperfect"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.recall not in ("imperfect", "perfect"):
            raise ValueError(f"recall must be imperfect or perfect, not {self.recall!r}")
        if type(self.seed) is not int or not 0 <= self.seed < 1 << 63:
            raise ValueError(f"seed must be a whole number from 0 to 2**63 - 1, not {self.seed!r}")
        if len(self.rounds) != self.rules.num_rounds:
            raise ValueError(
                f"{self.rules.name} has {self.rules.num_rounds} rounds: give as many [[round]] tables, "
                f"not {len(self.rounds)}"
            )
        if self.rules.num_hole_cards != 2:
            raise ValueError("card abstractions are for games of two hole cards")
        sizes = self.board_sizes
        for index, entry in enumerate(self.rounds):
            if sizes[index] and entry.feature == "preflop-classes":
                raise ValueError("feature preflop-classes is for a round without community cards")
            if not sizes[index] and entry.public is not None:
                raise ValueError("public clusters are for rounds with community cards")
            is_last = sizes[index] == sizes[-1]
            if entry.feature in ("histogram-emd", "potential-aware") and is_last:
                raise ValueError(
                    f"feature {entry.feature} looks at cards to come: the last round takes ochs or ehs"
                )
            if entry.feature in BUCKETED and not 3 <= sizes[-1] <= 5:
                raise ValueError(
                    f"feature {entry.feature} needs showdowns on three to five community cards, "
                    f"{self.rules.name} has {sizes[-1]}"
                )
            if entry.feature == "potential-aware" and sizes[index + 1] == sizes[index]:
                raise ValueError("feature potential-aware needs new cards in the next round")
            if entry.feature == "ochs" and not is_last:
                raise ValueError("feature ochs is for the last round: earlier ones take histogram-emd")
            if entry.feature == "potential-aware" and self.rounds[index + 1].buckets is None:
                raise ValueError(
                    "feature potential-aware needs a next round in buckets: "
                    f"{self.rounds[index + 1].feature} has none with distances between them"
                )

    @classmethod
    def lossless(cls, rules: Rules) -> AbstractionConfig:
        """No abstraction: every information state of the game, up to suits, is its own bucket."""
        return cls(rules, (RoundConfig("lossless"),) * rules.num_rounds, recall="perfect")

    @property
    def board_sizes(self) -> tuple[int, ...]:
        return tuple(self.rules.board_size(index) for index in range(self.rules.num_rounds))

    def round_description(self, index: int) -> dict[str, Any]:
        """Everything that affects the buckets of one round, as JSON values."""
        entry = self.rounds[index]
        described = {
            "version": BUILD_VERSION,
            "deck": [self.rules.num_ranks, self.rules.num_suits],
            "board": self.board_sizes[index],
            "last_board": self.board_sizes[-1],
            **entry.to_dict(),
        }
        if entry.is_clustered:
            described["seed"] = self.seed
        if entry.feature == "potential-aware":
            described["next"] = self.round_hash(index + 1)
        return described

    def round_hash(self, index: int) -> str:
        """Name of a round's buckets in the cache: 16 hexadecimal digits."""
        return _digest(self.round_description(index))

    @property
    def hash(self) -> str:
        """Name of the abstraction in the cache: 16 hexadecimal digits."""
        rounds = [self.round_hash(index) for index in range(len(self.rounds))]
        # What decides the buckets: a seed that nothing uses, or a name of the rules, does not.
        return _digest({"recall": self.recall, "boards": self.board_sizes, "rounds": rounds})

    def max_buckets(self) -> list[int]:
        """By round, the largest number of buckets that a build can give."""
        deck, sizes = self.rules.deck, self.board_sizes
        own = []
        for entry, size in zip(self.rounds, sizes, strict=True):
            if entry.buckets is None:
                own.append(1 if entry.feature == "none" else num_canonical_hands(deck, [size]))
            else:
                own.append(entry.buckets * (entry.public or 1))
        if self.recall == "imperfect":
            return own
        dealt = [self.rules.board_cards[: index + 1] for index in range(len(sizes))]
        tuples = accumulate(own, lambda before, number: before * number)
        return [min(n, num_canonical_hands(deck, cards)) for n, cards in zip(tuples, dealt, strict=True)]

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

    def to_dict(self) -> dict[str, Any]:
        """The keys of an ABSTRACTION.toml, as TOML or JSON values."""
        return {
            "rules": rules_value(self.rules),
            "recall": self.recall,
            "seed": self.seed,
            "round": [entry.to_dict() for entry in self.rounds],
        }

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
        rounds = tuple(RoundConfig.from_dict(table) for table in values["round"])
        rest = {key: values[key] for key in ("recall", "seed") if key in values}
        return cls(read_rules(values["rules"]), rounds, **rest)

    @classmethod
    def from_toml(cls, path: str | Path) -> AbstractionConfig:
        """Read an ABSTRACTION.toml; ValueError with the file's name for anything wrong in it."""
        return read_toml(path, cls.from_dict)


def _digest(description: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()[:16]


def _cards_in_words(ranks: int, suits: int, holes: int, board_sizes: tuple[int, ...]) -> str:
    sizes = "-".join(map(str, board_sizes))
    return f"{ranks} ranks in {suits} suits, {holes} hole cards, boards of {sizes} cards"

"""From a configuration to a card abstraction, by way of the cache.

Rounds are built from the last one to the first, and each is stored as soon as it is done, under a hash of
everything that affects it: a build that was broken off goes on with the rounds that are missing, and
abstractions share the rounds that they have in common.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from filelock import FileLock
from platformdirs import user_cache_dir

from ..game.rules import Rules
from . import features
from .arrays import load_arrays, save_arrays
from .buckets import CardAbstraction
from .config import AbstractionConfig, RoundConfig
from .equity import Progress, preflop_classes
from .features import Feature, FeatureTables
from .hands import CanonicalHands, canonical_hands
from .public import STARTING_GROUPS, public_clusters
from .recall import occurring_tuples
from .round_buckets import RoundBuckets, describe_buckets


def cache_folder() -> Path:
    """Where abstractions are kept: $NASHFOLD_CACHE, or the user's cache folder."""
    return Path(os.environ.get("NASHFOLD_CACHE") or user_cache_dir("nashfold"))


def abstraction_path(config_hash: str) -> Path:
    return cache_folder() / "abstractions" / config_hash


def round_path(round_hash: str) -> Path:
    return cache_folder() / "rounds" / round_hash


def build_abstraction(
    config: AbstractionConfig | str | Path, progress: Progress | None = None
) -> CardAbstraction:
    """The card abstraction of a configuration or of an ABSTRACTION.toml, from the cache if it is there.

    Raises ValueError for a configuration that makes no sense.
    """
    if not isinstance(config, AbstractionConfig):
        config = AbstractionConfig.from_toml(config)
    builder = _Builder(config, progress)
    rounds = [builder.round(index) for index in reversed(range(len(config.rounds)))][::-1]
    del builder  # and the tables that the rounds were made of
    own = CardAbstraction(config, [r.matrix for r in rounds], [r.num_buckets for r in rounds])
    path = abstraction_path(config.hash)
    # Tuples belong to the very numbers of the rounds, which another version might build otherwise.
    data = [r.checksum for r in rounds]
    with _locked(path):
        found = _load(path, "abstraction")
        if found is None or found[0].get("data") != data:
            tuples = occurring_tuples(own, progress) if config.recall == "perfect" else []
            header = {
                "config": config.to_dict(),
                "rounds": [config.round_hash(index) for index in range(len(rounds))],
                "data": data,
                "num_buckets": [len(keys) for keys in tuples] or own.num_buckets,
                "versions": _versions(),
            }
            arrays = {f"tuples{index}": keys for index, keys in enumerate(tuples)}
            save_arrays(path, "abstraction", header, arrays)
            found = load_arrays(path, "abstraction")
    tuples = [found[1][f"tuples{index}"] for index in range(len(found[1]))]
    abstraction = CardAbstraction(config, own.matrices, own.num_own_buckets, tuples)
    abstraction._origin = build_abstraction, config
    return abstraction


def built_round(config: AbstractionConfig, index: int, progress: Progress | None = None) -> RoundBuckets:
    """The buckets of one round and what is known of them, from the cache if they are there."""
    return _Builder(config, progress).round(index)


def trivial_abstraction(rules: Rules) -> CardAbstraction:
    """One bucket a round; nothing is built or stored."""
    config = AbstractionConfig(rules, (RoundConfig("none"),) * rules.num_rounds)
    hands = [canonical_hands(rules.deck, size) for size in config.board_sizes]
    rounds = [_fixed_round("none", of_round) for of_round in hands]
    abstraction = CardAbstraction(config, [r.matrix for r in rounds], [1] * len(rounds))
    abstraction._origin = trivial_abstraction, rules
    return abstraction


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other processes that build the same cache entry waiting, and clear what killed ones left of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        for leftover in path.parent.glob(f".{path.name}.*.new"):
            shutil.rmtree(leftover, ignore_errors=True)
        yield


def _load(path: Path, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Header and arrays of a cache entry, or None if there is none."""
    if not path.exists():
        return None
    try:
        return load_arrays(path, kind)
    except ValueError:  # a damaged cache entry is our own affair: build it again
        shutil.rmtree(path, ignore_errors=True)
        return None


def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("nashfold", "numpy", "numba")}


class _Builder:
    """Builds the rounds of an abstraction, or finds them in the cache."""

    def __init__(self, config: AbstractionConfig, progress: Progress | None):
        self.config, self.progress = config, progress
        self.tables = FeatureTables(config.rules.deck, config.board_sizes, progress)
        self._rounds: dict[int, RoundBuckets] = {}

    def round(self, index: int) -> RoundBuckets:
        """The buckets of a round."""
        if index not in self._rounds:
            entry = self.config.rounds[index]
            hands = canonical_hands(self.config.rules.deck, self.config.board_sizes[index])
            if entry.buckets is None:
                self._rounds[index] = _fixed_round(entry.feature, hands)
            else:
                self._rounds[index] = self._stored_round(index, entry, hands)
        return self._rounds[index]

    def _stored_round(self, index: int, entry: RoundConfig, hands: CanonicalHands) -> RoundBuckets:
        path = round_path(self.config.round_hash(index))
        with _locked(path):
            found = _load(path, "round buckets")
            if found is None:
                built = self._build_round(index, entry, hands)
                record = {
                    "round": self.config.round_description(index),
                    "num_buckets": built.num_buckets,
                    "notes": built.notes,
                    "versions": _versions(),
                }
                save_arrays(path, "round buckets", record, {"matrix": built.matrix, **built.arrays})
                found = load_arrays(path, "round buckets")
        header, arrays = found
        checksum = header["arrays"]["matrix"]["crc32"]
        return RoundBuckets(
            arrays.pop("matrix"), header["num_buckets"], arrays, header["notes"], checksum
        )

    def _build_round(self, index: int, entry: RoundConfig, hands: CanonicalHands) -> RoundBuckets:
        assert entry.buckets is not None
        feature, weights = self._feature(index, entry, hands), hands.weights
        clusters = self._public_clusters(entry, hands)
        labels, distances = np.empty(len(hands), np.uint16), np.empty(len(hands), np.float32)
        centres: list[np.ndarray] = []
        objectives: list[list[float]] = []
        sample_passes: list[int] = []
        messages: list[str] = []
        count = 0
        for points in [None] if clusters is None else _points_by_cluster(clusters, hands):
            part = feature.group(points, weights if points is None else weights[points], entry.buckets)
            place = slice(None) if points is None else points
            labels[place] = part.labels
            labels[place] += count
            distances[place] = part.distances
            count += len(part.centres)
            centres.append(part.centres)
            objectives.append([value * feature.unit**feature.power for value in part.objective])
            sample_passes.append(part.sample_passes)
            messages += [part.message] if part.message else []
            del part  # the labels and distances of all points once more
        distances *= np.float32(feature.unit)
        notes = {
            "measure": feature.measure,
            "objectives": objectives,
            "sample_passes": sample_passes,
            "messages": messages,
        }
        every = np.concatenate(centres)
        equity = feature.equity(every)
        del feature  # and its points
        built = describe_buckets(hands, weights, labels, distances, equity, every, notes)
        if clusters is not None:
            built.arrays["board_clusters"] = clusters
        return built

    def _feature(self, index: int, entry: RoundConfig, hands: CanonicalHands) -> Feature:
        if entry.feature in ("ehs", "ehs2"):
            return features.percentiles(self.tables, hands, entry)
        seed = self.config.seed
        if entry.feature == "histogram-emd":
            return features.histograms(self.tables, hands, entry, seed)
        if entry.feature == "ochs":
            return features.ochs(self.tables, hands, entry, seed)
        later = self.round(index + 1)
        return features.potential(self.tables, hands, entry, seed, later, self.ground(index + 1))

    def ground(self, index: int) -> np.ndarray:
        """float32 [bucket, bucket]: distances between the buckets of a round."""
        feature = self.config.rounds[index].feature
        later = self.ground(index + 1) if feature == "potential-aware" else None
        return features.ground_distances(feature, self.round(index).arrays["centres"], later)

    def _public_clusters(self, entry: RoundConfig, hands: CanonicalHands) -> np.ndarray | None:
        if entry.public is None:
            return None
        return public_clusters(
            hands,
            self.tables.mean_equity(hands),
            self.tables.opponents(STARTING_GROUPS),
            entry.public,
            self.config.seed,
            self.progress,
        )


def _points_by_cluster(clusters: np.ndarray, hands: CanonicalHands) -> Iterator[np.ndarray]:
    """The canonical hands, int64 [point], on the boards of each public cluster."""
    for number in range(int(clusters.max()) + 1):
        rows = np.flatnonzero(clusters == number)
        yield np.concatenate([np.arange(*hands.first[row : row + 2]) for row in rows])


def _fixed_round(feature: str, hands: CanonicalHands) -> RoundBuckets:
    """The buckets of a feature that has no number of buckets to choose."""
    boards = hands.boards
    shape = len(boards), boards.deck.num_hands
    if feature == "none":
        return RoundBuckets(np.broadcast_to(np.uint16(0), shape), 1)
    if feature == "preflop-classes":
        classes = preflop_classes(boards.deck)
        # Without suits half of the grid is empty.
        found, numbers = np.unique(classes, return_inverse=True)
        return RoundBuckets(numbers.reshape(1, -1).astype(np.uint16), len(found))
    return RoundBuckets(hands.spread(np.arange(len(hands), dtype=np.uint32)), len(hands))

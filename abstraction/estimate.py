"""How big an abstraction will be, before anything of it is made: counted by Burnside's lemma, not listed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ..game.cards import Deck
from .build import round_path
from .config import AbstractionConfig, RoundConfig
from .equity import num_completions
from .hands import num_canonical_boards, num_canonical_hands

_POINT = 14  # bytes a hand beside its feature: weight, mean equity, label, distance, and one to sort by
_SPARSE = 3  # bytes of an entry of a distribution over the next round's buckets


@dataclass(frozen=True)
class RoundEstimate:
    """What one round of an abstraction will take.

    Attributes:
        hands: hands on boards up to suits, which are put into buckets.
        max_buckets: largest number of own buckets.
        stored_bytes: of the matrix of buckets.
        feature_bytes: of the feature's table, while the round is built; 0 where there is none.
        is_stored: whether the round is in the cache folder already, and takes nothing to build.
    """

    hands: int
    max_buckets: int
    stored_bytes: int
    feature_bytes: int
    is_stored: bool


@dataclass(frozen=True)
class BuildEstimate:
    """What building an abstraction will take.

    Attributes:
        rounds: by round.
        stored_bytes: of the matrices of all rounds.
        memory_bytes: roughly, the most memory that building takes at a time.
    """

    rounds: tuple[RoundEstimate, ...]
    stored_bytes: int
    memory_bytes: int

    def __str__(self) -> str:
        hands = " + ".join(f"{entry.hands:,}" for entry in self.rounds)
        buckets = "-".join(str(entry.max_buckets) for entry in self.rounds)
        kept = [str(index) for index, entry in enumerate(self.rounds) if entry.is_stored]
        return (
            f"{hands} hands into at most {buckets} buckets: {_size_in_words(self.stored_bytes)} of tables, "
            f"about {_size_in_words(self.memory_bytes)} of memory to build"
            + (f"; in the cache already: round {', '.join(kept)}" if kept else "")
        )


def estimate_build(config: AbstractionConfig) -> BuildEstimate:
    """What building an abstraction will take: itself it takes no memory, and milliseconds."""
    deck, sizes = config.rules.deck, config.board_sizes
    cells = [num_canonical_boards(deck, size) * deck.num_hands for size in sizes]
    buckets = max_own_buckets(config)
    rounds = []
    for index, entry in enumerate(config.rounds):
        hands = num_canonical_hands(deck, [sizes[index]])
        rounds.append(
            RoundEstimate(
                hands=hands,
                max_buckets=buckets[index],
                stored_bytes=_stored_bytes(entry, cells[index]),
                feature_bytes=hands * _feature_width(entry, deck, sizes[index], sizes[-1]),
                is_stored=entry.buckets is not None and round_path(config.round_hash(index)).exists(),
            )
        )
    # The strengths and equities of the last boards are kept while rounds are built one after the other.
    work = [
        4 * cells[-1]
        + entry.feature_bytes
        + _POINT * entry.hands
        + _ground_bytes(config, index, buckets)
        for index, entry in enumerate(rounds)
        if entry.feature_bytes and not entry.is_stored
    ]
    if config.recall == "perfect":  # keys of tuples, and their sorting
        work.append(24 * max(config.max_buckets()))
    stored = sum(entry.stored_bytes for entry in rounds)
    return BuildEstimate(tuple(rounds), stored, stored + max(work, default=0))


def _ground_bytes(config: AbstractionConfig, index: int, buckets: list[int]) -> int:
    """Memory of the distances between the next round's buckets and of the centres, if a round needs them."""
    if config.rounds[index].feature != "potential-aware":
        return 0
    later = buckets[index + 1]
    return 50 * later**2 + 24 * buckets[index] * later


def max_own_buckets(config: AbstractionConfig) -> list[int]:
    """By round, the largest number of the round's own buckets."""
    return replace(config, recall="imperfect").max_buckets()


def _stored_bytes(entry: RoundConfig, cells: int) -> int:
    if entry.feature == "none":
        return 0
    return (4 if entry.feature == "lossless" else 2) * cells


def _feature_width(entry: RoundConfig, deck: Deck, size: int, last: int) -> int:
    """Bytes of a hand's feature."""
    if entry.buckets is None:
        return 0
    if entry.feature == "histogram-emd":
        assert entry.bins is not None
        return entry.bins * (1 if num_completions(deck, size, last) < 1 << 8 else 2)
    if entry.feature == "ochs":
        assert entry.opponents is not None
        return 2 * entry.opponents
    if entry.feature == "potential-aware":
        return _SPARSE * (deck.size - size - 2)
    return 2 if size == last else 8  # sums of equities


def _size_in_words(size: int) -> str:
    for unit, name in ((10**9, "GB"), (10**6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1000:.3g} kB"

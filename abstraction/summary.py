"""An abstraction in words and figures: how big its buckets are, how much they differ inside, and examples."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from .buckets import CardAbstraction
from .build import built_round
from .estimate import max_own_buckets
from .hands import CanonicalHands
from .round_buckets import RoundBuckets
from .samples import canonical_texts, draw_members, hand_text


@dataclass(frozen=True)
class BucketSummary:
    """One of a round's own buckets.

    Attributes:
        bucket: its number.
        size: real hands in it: pairs of hole cards on boards without order.
        share: of all real hands of the round.
        equity: mean equity of its centre; None where a bucket is just a class of hands.
        spread: mean distance of its hands from the centre, in the measure of the round; None likewise.
        nearest, farthest: the hands nearest to the centre and farthest from it, as text; None likewise.
        examples: some random hands in it; fewer, or none, in a rare bucket.
    """

    bucket: int
    size: int
    share: float
    equity: float | None
    spread: float | None
    nearest: str | None
    farthest: str | None
    examples: tuple[str, ...]

    @property
    def hands(self) -> list[str]:
        """The nearest, the farthest and the other hands."""
        return [self.nearest or "-", self.farthest or "-", *self.examples]

    def __str__(self) -> str:
        return _line(self, 0)


@dataclass(frozen=True)
class RoundSummary:
    """The buckets of one round.

    Attributes:
        index: the round.
        board_size: its number of community cards.
        feature: how hands are put into buckets, with the feature's options.
        hands: number of hands on boards up to a renaming of suits, order of the board ignored.
        max_buckets: number of own buckets that was asked for.
        num_own_buckets: buckets of the round for itself.
        num_buckets: buckets that a strategy has; with perfect recall the tuples that occur.
        smallest, median, largest: real hands in a bucket, empty ones left out.
        empty: own buckets without a hand.
        measure: the distance that is meant; None where a bucket is just a class of hands.
        spread: mean distance of all real hands from the centres of their buckets; None likewise.
        widest: the own buckets with the largest mean distance, the widest first.
        public: boards (without order) in each public cluster; () without such clusters.
        objectives: for each clustering, the objective by pass.
        messages: of the clusterings.
        buckets: some of the own buckets: from the weakest to the strongest, and the widest.
    """

    index: int
    board_size: int
    feature: str
    hands: int
    max_buckets: int
    num_own_buckets: int
    num_buckets: int
    smallest: int
    median: int
    largest: int
    empty: int
    measure: str | None
    spread: float | None
    widest: tuple[int, ...]
    public: tuple[int, ...]
    objectives: tuple[tuple[float, ...], ...]
    messages: tuple[str, ...]
    buckets: tuple[BucketSummary, ...]

    def __str__(self) -> str:
        lines = [
            f"round {self.index} ({_board_in_words(self.board_size)}): {self.feature}; "
            f"{_count(self.num_own_buckets, 'bucket')} of {self.hands:,} hands up to suits"
        ]
        if self.num_own_buckets < self.max_buckets:
            lines[0] += f" (no more of {self.max_buckets:,} are used)"
        if self.num_buckets != self.num_own_buckets:
            lines[0] += f", {self.num_buckets:,} with the rounds before"
        lines.append(
            f"  real hands in a bucket: {self.smallest:,} to {self.largest:,}, median {self.median:,}"
            + (f"; {_count(self.empty, 'bucket')} empty" if self.empty else "")
        )
        if self.public:
            lines.append(
                f"  {len(self.public)} public clusters of {min(self.public):,} to "
                f"{max(self.public):,} real boards"
            )
        if self.spread is not None:
            widest = ", ".join(map(str, self.widest))
            lines.append(f"  {self.measure} from the centre: {self.spread:.4f}; widest: {widest}")
        lines += [f"  {text}" for text in _falls(self.objectives)]
        lines += [f"  note: {message}" for message in self.messages]
        width = max((len(hand) for bucket in self.buckets for hand in bucket.hands), default=0)
        lines.append(
            f"{'bucket':>7} {'real hands':>13} {'share':>9} {'equity':>7} {'spread':>7}  "
            f"{'nearest':{width}}  {'farthest':{width}}  others"
        )
        return "\n".join([*lines, *(_line(bucket, width) for bucket in self.buckets)])


@dataclass(frozen=True)
class AbstractionSummary:
    """What an abstraction is like.

    Attributes:
        hash: its name in the cache.
        rules: the game it was described for.
        recall: "imperfect" or "perfect".
        rounds: the rounds.
    """

    hash: str
    rules: str
    recall: str
    rounds: tuple[RoundSummary, ...]

    def __str__(self) -> str:
        buckets = "-".join(str(entry.num_buckets) for entry in self.rounds)
        title = f"{self.rules}, {self.recall} recall: buckets {buckets}, hash {self.hash}"
        return "\n\n".join([title, *map(str, self.rounds)])


def summary(
    abstraction: CardAbstraction, shown: int = 7, examples: int = 3, seed: int = 0
) -> AbstractionSummary:
    """What an abstraction is like, for print or as data.

    Args:
        abstraction: one that `build_abstraction` gave.
        shown: buckets of each round to describe one by one, from the weakest to the strongest; the three
            widest are described as well.
        examples: random hands to show of each.
        seed: of these.
    """
    rounds = [
        _round_summary(abstraction, index, shown, examples, seed)
        for index in range(len(abstraction.matrices))
    ]
    config = abstraction.config
    return AbstractionSummary(abstraction.hash, config.rules.name, config.recall, tuple(rounds))


def bucket_sizes(abstraction: CardAbstraction, round_index: int) -> np.ndarray:
    """int64 [bucket]: real hands (pairs of hole cards on boards without order) in a round's own buckets."""
    return _sizes(abstraction, round_index, built_round(abstraction.config, round_index))


def _sizes(abstraction: CardAbstraction, index: int, built: RoundBuckets) -> np.ndarray:
    if "size" in built.arrays:
        return np.asarray(built.arrays["size"])
    hands = abstraction.canonical_hands(index)
    if built.num_buckets == 1:
        return np.array([_num_real_hands(hands)])
    if not hands.boards.size:
        return np.bincount(built.matrix[0], minlength=built.num_buckets)
    return hands.weights.astype(np.int64)  # lossless


def _round_summary(
    abstraction: CardAbstraction, index: int, shown: int, examples: int, seed: int
) -> RoundSummary:
    built = built_round(abstraction.config, index)
    hands, arrays, notes = abstraction.canonical_hands(index), built.arrays, built.notes
    size = _sizes(abstraction, index, built)
    filled = size[size > 0]
    count = built.num_buckets
    chosen = set(np.linspace(0, count - 1, min(shown, count)).astype(int).tolist())
    spread: float | None = None
    widest: tuple[int, ...] = ()
    public: tuple[int, ...] = ()
    if "spread" in arrays:
        spread = float(np.average(arrays["spread"], weights=size))
        widest = tuple(np.argsort(-arrays["spread"], kind="stable")[:3].tolist())
        chosen |= set(widest)
    if "board_clusters" in arrays:
        boards = np.zeros(int(arrays["board_clusters"].max()) + 1, np.int64)
        np.add.at(boards, arrays["board_clusters"], hands.boards.orbit)
        public = tuple(boards.tolist())
    return RoundSummary(
        index=index,
        board_size=hands.boards.size,
        feature=_feature_in_words(abstraction, index),
        hands=len(hands),
        max_buckets=max_own_buckets(abstraction.config)[index],
        num_own_buckets=count,
        num_buckets=abstraction.num_buckets[index],
        smallest=int(filled.min()),
        median=int(np.median(filled)),
        largest=int(filled.max()),
        empty=int(len(size) - len(filled)),
        measure=notes.get("measure"),
        spread=spread,
        widest=widest,
        public=public,
        objectives=tuple(map(tuple, notes.get("objectives", ()))),
        messages=tuple(notes.get("messages", ())),
        buckets=_bucket_summaries(abstraction, index, built, size, sorted(chosen), examples, seed),
    )


def _bucket_summaries(
    abstraction: CardAbstraction,
    index: int,
    built: RoundBuckets,
    size: np.ndarray,
    chosen: list[int],
    examples: int,
    seed: int,
) -> tuple[BucketSummary, ...]:
    hands, arrays = abstraction.canonical_hands(index), built.arrays
    if abstraction.config.rounds[index].feature == "lossless":  # a bucket is a canonical hand
        members = [hands.unindex(np.array([number])) for number in chosen]
    else:
        members = draw_members(abstraction, index, chosen, seed)
    found = []
    for bucket, (rows, drawn) in zip(chosen, members, strict=True):
        extremes = [
            _text(hands, arrays[name][bucket]) if name in arrays else None
            for name in ("nearest", "farthest")
        ]
        # Some of the random hands may be the same, or the ones that are named already.
        some = [text for text in canonical_texts(hands, rows[:50], drawn[:50]) if text not in extremes]
        found.append(
            BucketSummary(
                bucket=bucket,
                size=int(size[bucket]),
                share=float(size[bucket]) / _num_real_hands(hands),
                equity=float(arrays["equity"][bucket]) if "equity" in arrays else None,
                spread=float(arrays["spread"][bucket]) if "spread" in arrays else None,
                nearest=extremes[0],
                farthest=extremes[1],
                examples=tuple(some[:examples]),
            )
        )
    return tuple(found)


def _line(bucket: BucketSummary, width: int) -> str:
    """A bucket as a line of a table whose hands are that wide."""
    equity = "-" if bucket.equity is None else f"{bucket.equity:.4f}"
    spread = "-" if bucket.spread is None else f"{bucket.spread:.4f}"
    numbers = f"{bucket.bucket:7} {bucket.size:13,} {100 * bucket.share:8.4f}% {equity:>7} {spread:>7}"
    return "  ".join([numbers, *(hand.ljust(width) for hand in bucket.hands)]).rstrip()


def _text(hands: CanonicalHands, number: int) -> str:
    row, hand = hands.unindex(np.array(number))
    return hand_text(hands, int(row), int(hand))


def _num_real_hands(hands: CanonicalHands) -> int:
    size = hands.boards.deck.size
    return comb(size, hands.boards.size) * comb(size - hands.boards.size, 2)


def _feature_in_words(abstraction: CardAbstraction, index: int) -> str:
    options = abstraction.config.rounds[index].to_dict()
    name = options.pop("feature")
    return ", ".join([name, *(f"{key} = {value}" for key, value in options.items())])


def _board_in_words(size: int) -> str:
    return f"boards of {size} cards" if size else "no board"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _falls(objectives: tuple[tuple[float, ...], ...]) -> list[str]:
    """How the objectives fell, in words."""
    passes = [values for values in objectives if values]
    if not passes:
        return []
    if len(passes) == 1:
        (values,) = passes
        return [
            f"objective: {values[0]:.6g} to {values[-1]:.6g} in {len(values)} pass"
            + ("es" if len(values) > 1 else "")
        ]
    left = [100 * values[-1] / values[0] if values[0] else 100.0 for values in passes]
    return [f"objectives of {len(passes)} clusterings: fell to {min(left):.0f} - {max(left):.0f} %"]

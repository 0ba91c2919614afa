"""Rows of the speed table that build abstractions: tables, features, clusterings, lookups."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter
from typing import Any

import numba as nb
import numpy as np

from ..abstraction.boards import canonical_boards
from ..abstraction.buckets import CardAbstraction, bucket_of
from ..abstraction.equity import last_round_equity, strength_table
from ..abstraction.hands import canonical_hands
from ..abstraction.histograms import equity_histograms
from ..game.presets import preset
from ..game.strength import hand_strength

BINS = 50


def tables() -> dict[str, Any]:
    """Strengths and river equities of all boards."""
    deck = preset("acpc-limit").deck
    boards = canonical_boards(deck, 5)
    _warm_up()
    started = perf_counter()
    strength = strength_table(boards)
    equity = last_round_equity(strength, boards)
    seconds = perf_counter() - started
    sample = np.random.default_rng(0).integers(len(boards), size=20)
    twin_seconds, twin = _timed(lambda: np.stack([_plain_equity(boards.cards[row]) for row in sample]))
    np.testing.assert_array_equal(twin, equity[sample])
    ratio = twin_seconds / len(sample) * len(boards) / seconds
    return {
        "seconds": seconds,
        "ratio": ratio,
        "result": f"strengths and river equities of all {len(boards):,} boards: {seconds:.1f} s (two "
        f"threads); {ratio:.0f} times a NumPy comparison of all pairs, timed on {len(sample)} boards",
    }


def histograms() -> dict[str, Any]:
    """Equity histograms of every hand on the turn and the flop."""
    deck = preset("acpc-limit").deck
    last = canonical_boards(deck, 5)
    equity = last_round_equity(strength_table(last), last)
    _warm_up()
    seconds, counts = 0.0, 0
    for size in (3, 4):
        hands = canonical_hands(deck, size)
        took, found = _timed(lambda hands=hands: equity_histograms(equity, last, hands, BINS))
        seconds += took
        counts += len(hands)
    sample = np.random.default_rng(0).integers(len(hands), size=20)  # of the turn
    twin_seconds, twin = _timed(
        lambda: np.stack([_plain_histogram(hands, int(number)) for number in sample])
    )
    np.testing.assert_array_equal(twin, found[sample])
    ratio = twin_seconds / len(sample) * counts / seconds
    return {
        "seconds": seconds,
        "ratio": ratio,
        "result": f"equity histograms of all {counts:,} flop and turn hands: {seconds:.1f} s (two threads); "
        f"{ratio:,.0f} times a NumPy enumeration hand by hand, timed on {len(sample)} turn hands",
    }


def lookup() -> dict[str, Any]:
    """Buckets of single river states, looked up one after the other in compiled code."""
    from .bench_solvers import percentile_abstraction

    abstraction: CardAbstraction = percentile_abstraction(200)
    rng = np.random.default_rng(0)
    cards = rng.permuted(np.tile(np.arange(52), (500_000, 1)), axis=1)[:, :7].copy()
    high, low = cards[:, :2].max(axis=1), cards[:, :2].min(axis=1)
    hands, boards = high * (high - 1) // 2 + low, cards[:, 2:].copy()
    table = abstraction.tables[3]
    _sum_buckets(hands[:10], boards[:10], *table)
    seconds, total = _timed(lambda: _sum_buckets(hands, boards, *table))
    assert total == int(abstraction.lookup(3, hands, boards).sum())
    names = abstraction.deck.cards
    few = [(names[row[:2]], names[row[2:]]) for row in cards[:500]]
    twin_seconds, _ = _timed(lambda: [abstraction.bucket(3, hole, board) for hole, board in few])
    ours, twin = seconds / len(hands), twin_seconds / len(few)
    return {
        "nanoseconds": 1e9 * ours,
        "ratio": twin / ours,
        "result": f"bucket of a river state from compiled code: {1e9 * ours:.0f} ns on random states; "
        f"{twin / ours:.0f} times `bucket` from Python",
    }


def small_abstraction() -> dict[str, Any]:
    """169-200-200-200: potential-aware flop and turn, OCHS river."""
    later = {"feature": "potential-aware", "buckets": 200}
    return _build([{"feature": "preflop-classes"}, later, later, {"feature": "ochs", "buckets": 200}])


def large_abstraction() -> dict[str, Any]:
    """169-2000-2000-2000: histograms on flop and turn, OCHS river."""
    later = {"feature": "histogram-emd", "buckets": 2000}
    return _build([{"feature": "preflop-classes"}, later, later, {"feature": "ochs", "buckets": 2000}])


_BUILD = """
import json, resource, sys, time
from nashfold.abstraction import AbstractionConfig, build_abstraction
from nashfold.experiments.progress import stage_bar
config = AbstractionConfig.from_dict(json.load(sys.stdin))
started = time.perf_counter()
with stage_bar("points") as progress:
    abstraction = build_abstraction(config, progress)
seconds = time.perf_counter() - started
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(json.dumps({"seconds": seconds, "peak_bytes": peak, "buckets": abstraction.num_buckets}))
"""


def _build(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    """Build an abstraction of limit hold'em in a process of its own, with an empty cache."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", _BUILD],
            input=json.dumps({"rules": "acpc-limit", "seed": 1, "round": rounds}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env=os.environ | {"NASHFOLD_CACHE": folder},
        )
    row = json.loads(done.stdout)
    features = ", ".join(entry["feature"] for entry in rounds)
    buckets = "-".join(map(str, row["buckets"]))
    return row | {
        "result": f"acpc-limit in {buckets} buckets ({features}) from nothing: {row['seconds'] / 60:.1f} "
        f"minutes (two threads, compiled code cached), at most {row['peak_bytes'] / 2**30:.1f} GiB",
    }


def _timed(call: Any) -> tuple[float, Any]:
    started = perf_counter()
    result = call()
    return perf_counter() - started, result


def _warm_up() -> None:
    """Compile what is measured, on a deck of 24 cards."""
    deck = preset("short-limit").deck
    last = canonical_boards(deck, 5)
    equity = last_round_equity(strength_table(last), last)
    for size in (3, 4):
        equity_histograms(equity, last, canonical_hands(deck, size), BINS)


def _plain_equity(board: np.ndarray) -> np.ndarray:
    """[hand]: 2 * wins + ties on a board by comparing all pairs of hands."""
    deck = preset("acpc-limit").deck
    alive = np.asarray(~np.isin(deck.hand_cards, board).any(axis=1))
    pairs = deck.hand_cards[alive]
    cards = np.concatenate([pairs, np.broadcast_to(board, (len(pairs), len(board)))], axis=1)
    strength = hand_strength(cards)
    apart = (pairs[:, None, :, None] != pairs[None, :, None, :]).all(axis=(2, 3))
    out = np.zeros(len(alive), np.int64)
    out[alive] = ((1 + np.sign(strength[:, None] - strength)) * apart).sum(axis=1)
    return out


def _plain_histogram(hands: Any, number: int) -> np.ndarray:
    """[bin]: histogram of one canonical hand, river by river."""
    deck = hands.boards.deck
    row, hand = (int(part) for part in hands.unindex(np.array(number)))
    board, own = hands.boards.cards[row].tolist(), deck.hand_cards[hand].tolist()
    counts = np.zeros(BINS, np.int64)
    for river in set(range(deck.size)) - {*board, *own}:
        dead = [*board, river, *own]
        pairs = deck.hand_cards[~np.isin(deck.hand_cards, dead).any(axis=1)]
        shared = np.broadcast_to([*board, river], (len(pairs), 5))
        theirs = hand_strength(np.concatenate([pairs, shared], axis=1))
        points = int((1 + np.sign(hand_strength(np.array([*own, *board, river])) - theirs)).sum())
        counts[min(BINS - 1, points * BINS // (2 * len(pairs)))] += 1
    return counts


@nb.njit(cache=True, nogil=True)
def _sum_buckets(hands, boards, binomials, row_of, permutation_of, moved_hands, matrix):
    total = 0
    for state in range(hands.shape[0]):
        total += bucket_of(
            hands[state], boards[state], binomials, row_of, permutation_of, moved_hands, matrix
        )
    return total

"""Best responses and expected values in the real game, exact or on sampled boards."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb, nan, sqrt
from queue import SimpleQueue
from time import perf_counter

import numpy as np

from ...abstraction.bets import FULL
from ...game.rules import Rules
from ...game.statistics import standard_error
from ..betting_tree import MAX_NODES, betting_tree
from ..lanes import FLOATS
from ..public_tree import Deal, Scratch, Walk
from ..strategy import BUILT_INS, BuiltIn, Strategy, open_strategy
from ..tree_size import tree_size
from .sampling import BoardProgress, draw_flops, num_threads

EVERY_BET = "every legal bet"
EXPANDED_LIMIT = 4 << 30  # bytes of a menu strategy's tables on the tree of every bet


@dataclass(frozen=True)
class Exploitability:
    """What best responses win against a strategy in the real game, in milli big blinds per hand.

    Attributes:
        mbb_per_hand: average over the two positions; the plug-in figure when boards were sampled.
        nash_conv: sum over the two positions.
        kind: "exact"; "estimate" (sampled boards); "lower bound" (a responder without some bets).
        per_position: winnings of the responder as player 0 and as player 1.
        standard_error: of mbb_per_hand; 0 when exact.
        lower_bound: with sampled boards an unbiased estimate of a lower bound (choices before the first
            board made on one half of the sample and valued on the other, averaged over both ways); the
            value itself when exact.
        lower_bound_standard_error: of lower_bound.
        flops: number of second-round boards walked (sampled), or of all there are.
        strategy: name of the strategy.
        seconds: time taken.
        responder: what the responder may bet, "every legal bet" or "the bets ...": in the second case every
            figure, estimates too, is about a lower bound of the exploitability.
        translation: how the strategy takes bets off its menu; "" where there are none.
    """

    mbb_per_hand: float
    nash_conv: float
    kind: str
    per_position: tuple[float, float]
    standard_error: float
    lower_bound: float
    lower_bound_standard_error: float
    flops: int
    strategy: str = ""
    seconds: float = 0.0
    responder: str = EVERY_BET
    translation: str = ""

    def __str__(self) -> str:
        notes = [f"bets off the menu by {self.translation} translation"] if self.translation else []
        if self.responder != EVERY_BET:
            notes.append(f"the responder has only {self.responder}: a lower bound")
        if self.kind in ("exact", "lower bound"):
            return f"{self.mbb_per_hand:.3f} mbb/h ({'; '.join([self.kind, *notes])})"
        sampled = (
            f"estimate on {self.flops} flops",
            f"lower bound {self.lower_bound:.1f} +- {self.lower_bound_standard_error:.1f}",
        )
        return f"{self.mbb_per_hand:.1f} +- {self.standard_error:.1f} mbb/h ({'; '.join([*sampled, *notes])})"


def best_response(
    strategy: Strategy | str,
    flops: str | int = "all",
    seed: int = 0,
    *,
    rules: Rules | None = None,
    threads: int | None = None,
    precision: str | None = None,
    progress: BoardProgress | None = None,
    bets: str = "full",
) -> Exploitability:
    """Exploitability of a strategy in the real game: best responses see real cards, not buckets.

    With `flops="all"` it is exact. With a number, so many flops are drawn by weight; play after the flop
    is exact on each, values are weighted by the inverse of the flop's probability, and only the choices
    before the flop, made for each class of hands, see sampling noise.

    A strategy on the tree of a bet menu is put on the tree of every legal bet where that fits, with the
    deterministic one of its translation (`Strategy.on_tree`), and the responder uses every legal bet. Where
    it does not fit, or with `bets="menu"`, the responder has the menu's bets alone: what he wins is a lower
    bound of the exploitability, and the result says so (`kind`, `responder`).

    Args:
        strategy: a strategy, a path, or a built-in name (with `rules`).
        flops: "all" or the number of second-round boards to draw.
        seed: of the draw.
        rules: the game, where the strategy does not say.
        threads: default: as many as there are cores. The result does not depend on it.
        precision: "single" or "double" for the arrays below the first round; default: double for decks
            below 52 cards and for three-card boards, else single.
        progress: called after each board.
        bets: of the responder: "full", every legal bet where that is possible; "menu", the strategy's own.

    Raises ValueError for an unknown strategy, rules that do not fit, or a bad number of flops.
    """
    started = perf_counter()
    if bets not in ("full", "menu"):
        raise ValueError(f"bets must be full or menu, not {bets!r}")
    source = open_strategy(strategy, rules)
    opponent = source if bets == "menu" else _with_every_bet(source)
    has_every_bet = opponent.tree.menu.is_full
    walks = [Walk(player, opponent, precision=_precision(opponent, precision)) for player in (0, 1)]
    values = _board_values(walks, flops, seed, threads, progress)
    described = {
        "strategy": source.name,
        "responder": EVERY_BET if has_every_bet else f"the bets {opponent.tree.menu}",
        "translation": "" if opponent is source else opponent.translation,
    }
    if isinstance(values, _Exact):
        per_position = [
            float(walk.root.values(total)[0].mean())
            for walk, total in zip(walks, values.total, strict=True)
        ]
        kind = "exact" if has_every_bet else "lower bound"
        return _report(described, kind, per_position, 0.0, None, 0.0, values.boards, started)
    draws = values.draws
    counts = np.bincount(draws)
    plug_in, per_position = [], []
    for walk, boards in zip(walks, values.boards, strict=True):
        _, choices = walk.root.values(np.average(boards, axis=0, weights=counts))
        by_board = np.array([walk.root.values(board, choices)[0].mean() for board in boards])
        plug_in.append(by_board[draws])
        per_position.append(float(by_board[draws].mean()))
    error = standard_error(np.mean(plug_in, axis=0))
    lower_bound, lower_error = _cross_fitted(walks, values)
    count = len(draws)
    return _report(described, "estimate", per_position, error, lower_bound, lower_error, count, started)


def _with_every_bet(strategy: Strategy) -> Strategy:
    """The strategy on the tree of every legal bet; as it is where that tree or its tables are too large."""
    if strategy.tree.menu.is_full:
        return strategy
    size = tree_size(strategy.rules, FULL, strategy.abstraction.num_buckets, most=MAX_NODES)
    slots = (size.table_bytes or 0) // 2  # probabilities alone, without regrets
    if not size.is_complete or size.nodes > MAX_NODES or slots > EXPANDED_LIMIT:
        return strategy
    return strategy.on_tree(betting_tree(strategy.rules))


def _cross_fitted(walks: list[Walk], values: _Sampled) -> tuple[float, float]:
    """Choices from one half of the draws valued on the other, over both ways and positions.

    With its standard error by the jackknife, which sees the noise of the choices too.
    """
    draws = values.draws
    if len(draws) < 2:
        return nan, nan
    counts = [np.bincount(draws[half::2], minlength=len(values.boards[0])) for half in (0, 1)]
    sums = [[np.tensordot(count, boards, 1) for count in counts] for boards in values.boards]

    def estimate(left_out: tuple[int, int] | None = None) -> float:
        """The estimate, without one draw of a board in a half if (half, board) is given."""
        found = []
        for walk, boards, halves in zip(walks, values.boards, sums, strict=True):
            means = [total / count.sum() for total, count in zip(halves, counts, strict=True)]
            if left_out is not None:
                half, board = left_out
                means[half] = (halves[half] - boards[board]) / (counts[half].sum() - 1)
            for fit, valued in (means, means[::-1]):
                _, choices = walk.root.values(fit)
                found.append(walk.root.values(valued, choices)[0].mean())
        return float(np.mean(found))

    if len(draws) < 4:
        return estimate(), nan
    # Draws of the same board in the same half leave the same estimate behind.
    pairs = [(half, int(board)) for half in (0, 1) for board in np.flatnonzero(counts[half])]
    times = np.array([counts[half][board] for half, board in pairs])
    left = np.array([estimate(pair) for pair in pairs])
    spread = (times * (left - np.average(left, weights=times)) ** 2).sum()
    return estimate(), sqrt(spread * (len(draws) - 1) / len(draws))


def expected_value(
    a: Strategy | str,
    b: Strategy | str,
    flops: str | int = "all",
    seed: int = 0,
    *,
    rules: Rules | None = None,
    threads: int | None = None,
    precision: str | None = None,
    progress: BoardProgress | None = None,
) -> float:
    """Milli big blinds per hand that strategy `a` wins against `b`, averaged over the two positions.

    Arguments as in `best_response`; with sampled flops an unbiased estimate. Two strategies of one menu
    meet no other bets; others are put on the tree of every legal bet, with deterministic translations.
    Where that is too large, a built-in strategy is put on the tree of the other one.

    Raises ValueError where the trees of two strategies differ and that of every legal bet is too large, or
    where a built-in strategy makes a bet that the other one's tree lacks.
    """
    first, second = _on_one_tree(a, b, rules)
    walks = [
        Walk(player, second, own=first, precision=_precision(first, precision)) for player in (0, 1)
    ]
    values = _board_values(walks, flops, seed, threads, progress)
    totals = (
        values.total
        if isinstance(values, _Exact)
        else [np.average(b, axis=0, weights=np.bincount(values.draws)) for b in values.boards]
    )
    return float(
        np.mean([walk.root.values(total)[0].mean() for walk, total in zip(walks, totals, strict=True)])
    )


def _on_one_tree(a: Strategy | str, b: Strategy | str, rules: Rules | None) -> tuple[Strategy, Strategy]:
    """Both strategies on one betting tree; built-in ones come last, when the others' tree is known."""
    sources = {0: a, 1: b}
    rules = rules or next((s.rules for s in (a, b) if isinstance(s, Strategy)), None)
    opened: dict[int, Strategy] = {}
    for side, source in sorted(sources.items(), key=lambda item: str(item[1]) in BUILT_INS):
        if opened and str(source) in BUILT_INS:
            (other,) = opened
            opened[other] = _with_every_bet(opened[other])
            opened[side] = BuiltIn(str(source)).table(opened[other].rules, opened[other].tree.menu)
        else:
            opened[side] = open_strategy(source, rules)
            rules = opened[side].rules
    if opened[0].tree is not opened[1].tree:
        opened = {side: _with_every_bet(strategy) for side, strategy in opened.items()}
    if opened[0].tree is not opened[1].tree:
        menus = " and ".join(f"{opened[side].tree.menu}" for side in (0, 1))
        raise ValueError(
            f"{opened[0].rules.name} with every legal bet is too large to put strategies with the bets "
            f"{menus} on one tree: compare them by a match"
        )
    return opened[0], opened[1]


@dataclass
class _Exact:
    """By walk, double [lane, hand]: values of the second round summed over all boards."""

    total: list[np.ndarray]
    boards: int


@dataclass
class _Sampled:
    """By walk, double [distinct board, lane, hand]: unbiased estimates of that sum; boards of the draws."""

    boards: list[np.ndarray]
    draws: np.ndarray


def _board_values(
    walks: list[Walk], flops: str | int, seed: int, threads: int | None, progress: BoardProgress | None
) -> _Exact | _Sampled:
    deals = walks[0].first_deals()
    deck, count = walks[0].deck, walks[0].rules.board_cards[1]
    chosen, draws = draw_flops(np.array([deal.orbit for deal in deals]), flops, seed)
    # Beside two hands every board of free cards is equally likely.
    chance = 1.0 / comb(deck.size - 4, count)
    found: list[list[np.ndarray]] = [[] for _ in walks]
    total = [np.zeros((len(walk.root.next_nodes), deck.num_hands)) for walk in walks]
    if progress:
        progress(0, len(chosen))
    for done, values in enumerate(_walk_boards(walks, [deals[i] for i in chosen], threads), 1):
        for side, value in enumerate(values):
            if draws is None:
                total[side] += chance * deals[chosen[done - 1]].orbit * value
            else:
                found[side].append(walks[side].symmetrised(chance * comb(deck.size, count) * value))
        if progress:
            progress(done, len(chosen))
    if draws is None:
        total = [walk.symmetrised(values) for walk, values in zip(walks, total, strict=True)]
        return _Exact(total, len(chosen))
    return _Sampled([np.array(values) for values in found], draws)


def _walk_boards(
    walks: list[Walk], deals: list[Deal], threads: int | None
) -> Iterator[list[np.ndarray]]:
    """For each board the values of every walk, in the order of the boards whatever the threads."""
    threads = num_threads(threads)
    free: SimpleQueue[list[Scratch]] = SimpleQueue()
    stop = threading.Event()
    for _ in range(min(threads, len(deals))):
        free.put([Scratch(walk, stop) for walk in walks])

    def work(deal: Deal) -> list[np.ndarray]:
        scratch = free.get()
        try:
            return [walk.deal_values(deal, own) for walk, own in zip(walks, scratch, strict=True)]
        finally:
            free.put(scratch)

    with ThreadPoolExecutor(threads) as pool:
        try:
            yield from pool.map(work, deals)
        except BaseException:
            stop.set()  # an interrupt does not wait for whole flops
            pool.shutdown(cancel_futures=True)
            raise


def _precision(strategy: Strategy, precision: str | None) -> str:
    if precision is not None:
        if precision not in FLOATS:
            raise ValueError(f"precision must be {' or '.join(FLOATS)}, not {precision!r}")
        return precision
    rules = strategy.rules
    return "single" if rules.deck.size == 52 and rules.num_rounds > 2 else "double"


def _report(
    described: dict[str, str],
    kind: str,
    per_position: list[float],
    error: float,
    lower_bound: float | None,
    lower_error: float,
    flops: int,
    started: float,
) -> Exploitability:
    total = sum(per_position)
    return Exploitability(
        mbb_per_hand=total / 2,
        nash_conv=total,
        kind=kind,
        per_position=(per_position[0], per_position[1]),
        standard_error=error,
        lower_bound=total / 2 if lower_bound is None else lower_bound,
        lower_bound_standard_error=lower_error,
        flops=flops,
        seconds=perf_counter() - started,
        **described,
    )

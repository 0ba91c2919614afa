"""Return and deviation of the casino game's side bet for a player of a strategy, where a fold may end it.

What a player has who never folds is counted in `game.bonus`; here is what folds take from it. At the deal
that an interval is judged on, the hands whose betting has ended the bonus lose their gain: the profit less
that of a forfeited interval. The probability of a fold is a product of a factor that the player's hand
decides and one that the opponent's does, so that sums by card give the weight of the opponent's hands beside
the player's hand and the new card. Hence betting is followed only up to the deal of the last interval, and
that deal's boards are not visited one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import comb, nan
from pathlib import Path
from time import perf_counter

import numba as nb
import numpy as np

from ...abstraction.boards import hands_alive, suit_permutations
from ...game.bonus import PayTable
from ...game.bonus_return import BonusReturn, bonus_return
from ...game.rules import Rules
from ...game.statistics import standard_error
from ...game.strength import MAX_STRENGTH, board_strengths
from ..betting_tree import FOLD, BettingTree
from ..lanes import LANES, load, splat, store
from ..public_tree import Deal, canonical_deals, reachable_nodes
from ..strategy import Strategy, open_strategy
from .sampling import BoardProgress, draw_flops, num_threads


@dataclass(frozen=True)
class StrategyBonusReturn(BonusReturn):
    """What the bonus returns to a player of a strategy, in stakes.

    Attributes:
        per_position: total_mean as player 0 and as player 1; all other figures are for a player who is
            in each position every other hand.
        flops: number of flops walked (sampled), or of all there are.
        strategy, opponent: names of the strategies.
        seconds: time taken.
    """

    per_position: tuple[float, float] = (nan, nan)
    flops: int = 0
    strategy: str = ""
    opponent: str = ""
    seconds: float = 0.0


def strategy_bonus_return(
    pay_table: PayTable,
    strategy: Strategy | str | Path,
    opponent: Strategy | str | Path | None = None,
    flops: str | int = "all",
    seed: int = 0,
    *,
    rules: Rules | None = None,
    threads: int | None = None,
    progress: BoardProgress | None = None,
) -> StrategyBonusReturn:
    """Return of the bonus for a player of a strategy, who forfeits intervals as the pay table says.

    With `flops="all"` it is exact. With a number, so many flops are drawn by weight, and what folds cost is
    exact on each; it is taken from the exact return of a player who never folds. That player's return on the
    drawn flops is a control variate, with the share of bonuses that end before the flop as its coefficient;
    a coefficient fixed in advance leaves the means unbiased.

    Args:
        pay_table: the pay table; where its `fold_ends` is "never" the strategies do not matter.
        strategy: of the bonus's player: a strategy, a path, or a built-in name (with `rules`).
        opponent: likewise; default: the same strategy.
        flops: "all" or the number of flops to draw.
        seed: of the draw.
        rules: the game, where the strategies do not say.
        threads: default: as many as there are cores. The result does not depend on it.
        progress: called after each flop.

    Raises ValueError for an unknown strategy, rules that do not fit each other or the pay table, or a bad
    number of flops or threads.
    """
    started = perf_counter()
    known = [s.rules for s in (strategy, opponent) if isinstance(s, Strategy)]
    own = open_strategy(strategy, rules or next(iter(known), None))
    other = own if opponent is None else open_strategy(opponent, own.rules)
    pay_table.check_fits(own.rules)
    never = bonus_return(pay_table, own.rules.deck)
    positions = [_Position(player, own, other, pay_table) for player in (0, 1)]
    merges = all(side.abstraction.is_suit_invariant for side in (own, other))
    group = tuple(range(len(suit_permutations(own.rules.deck)) if merges else 1))
    deals = canonical_deals(own.rules.deck, (), 3, group)
    orbits = np.array([deal.orbit for deal in deals])
    chosen, draws = draw_flops(orbits, flops, seed)
    means = np.empty((len(chosen), 2, positions[0].last, 3, 2))  # as in `_Position.means`
    if progress:
        progress(0, len(chosen))
    for done, found in enumerate(_over_flops(positions, [deals[i] for i in chosen], threads), 1):
        means[done - 1] = found
        if progress:
            progress(done, len(chosen))
    moments = _moments(means, pay_table)
    base = np.full(len(never.mean) + 1, float(pay_table.forfeit_profit))  # where everything is forfeited
    base[-1] = pay_table.start_profit + base[:-1].sum()
    gain = np.array([*never.mean, never.total_mean]) - base
    deviation = np.array([*never.standard_deviation, never.total_standard_deviation])
    exact = np.array([gain, deviation**2 + gain**2])
    if draws is None:
        lost = np.average(moments[..., 0], axis=0, weights=orbits)
        errors = []
    else:
        shares = np.array([position.ended_share for position in positions])
        terms = (moments[..., 0] - shares[:, None, None] * (moments[..., 1] - exact))[draws]
        lost = terms.mean(axis=0)
        errors = [standard_error(term) for term in terms[:, :, 0].mean(axis=1).T]
    mean, square = exact - lost.mean(axis=0)
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    mean += base
    per_position = base[-1] + gain[-1] - lost[:, 0, -1]
    return StrategyBonusReturn(
        pay_table=pay_table.name,
        kind="exact" if draws is None else "estimate",
        intervals=never.intervals,
        mean=tuple(mean[:-1].tolist()),
        standard_deviation=tuple(deviation[:-1].tolist()),
        total_mean=float(mean[-1]),
        total_standard_deviation=float(deviation[-1]),
        standard_error=tuple(errors[:-1]),
        total_standard_error=errors[-1] if errors else 0.0,
        per_position=(float(per_position[0]), float(per_position[1])),
        flops=len(deals) if draws is None else len(draws),
        strategy=own.name,
        opponent=other.name,
        seconds=perf_counter() - started,
    )


def _moments(means: np.ndarray, pay_table: PayTable) -> np.ndarray:
    """Moments [..., order, interval or last the total, 2] of gains, from [..., interval, 3, 2].

    The order is that of the mean and of the mean square; the last axis is as in `_Position.means`.
    """
    mean, square, product = np.moveaxis(means, -2, 0)
    totals = mean.sum(axis=-2), (square + 2 * product).sum(axis=-2)
    rows = [
        np.concatenate([by_interval[..., list(pay_table.intervals), :], total[..., None, :]], axis=-2)
        for by_interval, total in zip((mean, square), totals, strict=True)
    ]
    return np.stack(rows, axis=-3)


def _over_flops(
    positions: list[_Position], deals: list[Deal], threads: int | None
) -> Iterator[list[np.ndarray]]:
    """For each flop the means of each position, in the order of the flops whatever the threads."""
    with ThreadPoolExecutor(num_threads(threads)) as pool:
        try:
            yield from pool.map(lambda deal: [position.means(deal) for position in positions], deals)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


@dataclass(frozen=True)
class _Paths:
    """One side's way through the betting of a round.

    Its reach probabilities stand in a row: first those of the histories that lead in, then one for each
    of its actions, which is that of `sources` times the probability in `slots` of its table. `leaves`
    names the places behind the folds that end the bonus and then behind the histories that go on.
    """

    sources: np.ndarray
    slots: np.ndarray
    leaves: np.ndarray


def _paths(tree: BettingTree, side: int, entries: np.ndarray, leaves: np.ndarray) -> _Paths:
    place = {int(node): number for number, node in enumerate(entries)}
    sources: list[int] = []
    slots: list[int] = []

    def find(node: int) -> int:
        if node not in place:
            parent = int(tree.parent[node])
            place[node] = find(parent)
            if tree.kind[parent] == side:
                sources.append(place[node])
                slots.append(int(tree.action_slot[parent] + node - tree.first_child[parent]))
                place[node] = len(entries) + len(sources) - 1
        return place[node]

    found = [find(int(node)) for node in leaves]
    return _Paths(*(np.array(numbers, np.int64) for numbers in (sources, slots, found)))


class _Position:
    """What folds cost the bonus's player in one position of the game.

    Attributes:
        last: the round at whose deal the last interval is judged.
        gains: by interval up to the last, double [MAX_STRENGTH + 1]: profit by strength less that of a
            forfeited interval, so 0 for hands that share a card with the board.
        ended: double [hand, opposing hand]: probability that the bonus ends before the flop.
        ended_share: the same for any two hands.
    """

    def __init__(self, player: int, own: Strategy, opponent: Strategy, pay_table: PayTable):
        self.sides, tree = (own, opponent), own.tree
        self.deck = own.rules.deck
        self.last = 1 + max(pay_table.intervals)
        self.gains = np.zeros((self.last, MAX_STRENGTH + 1))
        for interval in pay_table.intervals:
            profit = pay_table.profit_by_strength(interval)
            self.gains[interval] = profit - profit[0]
        seats = (own, opponent) if player == 0 else (opponent, own)
        ends = reachable_nodes(tree, list(seats)) & (tree.kind == FOLD) & (tree.round < self.last)
        if pay_table.fold_ends != "any":
            ends &= (tree.folded == player) & (pay_table.fold_ends == "player")
        leads = ends.copy()  # to a fold that ends the bonus
        for node in range(len(tree) - 1, 0, -1):  # parents are numbered before their children
            leads[tree.parent[node]] |= leads[node]
        entries = np.zeros(1, np.int64)
        self.paths: list[tuple[_Paths, ...]] = []
        self.folds = [0]  # by round, the number of folds in earlier ones
        for index in range(self.last):
            folds = np.flatnonzero(ends & (tree.round == index))
            enters = (tree.round == index + 1) & (tree.round[tree.parent] == index)
            goes_on = np.flatnonzero(leads & enters)
            leaves = np.concatenate([folds, goes_on])
            self.paths.append(
                tuple(_paths(tree, side, entries, leaves) for side in (player, 1 - player))
            )
            self.folds.append(self.folds[-1] + len(folds))
            entries = goes_on
        hands = np.arange(self.deck.num_hands)
        self.reach = self._follow(0, (), hands, hands, np.ones((2, len(hands), 1)), _Scratch(self))
        holds = (self.deck.hand_cards[:, :, None] == np.arange(self.deck.size)).any(axis=1)
        apart = holds.astype(float) @ holds.T == 0
        own, others = self.reach[:, :, : self.folds[1]]
        self.ended = apart * (own @ others.T)
        self.ended_share = float(self.ended.sum() / apart.sum())

    def means(self, deal: Deal) -> np.ndarray:
        """double [interval, 3, 2]: what folds take from means, and those of a player who never folds.

        The three are the means, if this board is dealt, of an interval's gain, of its square, and of its
        product with the sum of the gains before it.
        """
        sums = np.zeros((self.last, 3, 2))
        if self.folds[-1] == 0:
            return sums
        size, board = self.deck.size, deal.cards
        boards = np.array([board], np.int64)
        alive = hands_alive(self.deck, boards)[0]
        hands = np.flatnonzero(alive)
        out = np.zeros((1, self.deck.num_hands), np.uint16)
        gain = self.gains[0][board_strengths(boards, self.deck, out)[0, hands]]
        # Beside the board any two hands are equally likely.
        weight = 1.0 / (comb(size - 3, 2) * comb(size - 5, 2))
        ended = (self.ended @ alive)[hands]
        self._add(
            sums[0], gain[None], ended[None], comb(size - 5, 2), np.zeros_like(gain), np.array([weight])
        )
        if self.last > 1:
            self._go_on(
                1, board, deal.group, weight, hands, hands, self.reach, gain, sums, _Scratch(self)
            )
        return sums

    @staticmethod
    def _add(
        sums: np.ndarray,
        gain: np.ndarray,
        ended: np.ndarray,
        beside: int,
        gained: np.ndarray,
        weights: np.ndarray,
    ) -> None:
        """Add the means of deals [deal, live] to sums [3, 2].

        Args:
            gain: of each hand, 0 for those that share a card with the deal.
            ended: opposing hands against which the bonus has ended, by their probabilities.
            beside: number of opposing hands beside a hand.
            gained: double [live]: gains before.
            weights: double [deal]: probability of two hands with the deal.
        """
        for number, weighted in enumerate((ended * gain, beside * gain)):
            rows = weighted.sum(axis=1), (weighted * gain).sum(axis=1), weighted @ gained
            sums[:, number] += np.array(rows) @ weights

    def _go_on(
        self,
        index: int,
        board: tuple[int, ...],
        group: np.ndarray,
        weight: float,
        rows: np.ndarray,
        hands: np.ndarray,
        reach_in: np.ndarray,
        gained: np.ndarray,
        sums: np.ndarray,
        scratch: _Scratch,
    ) -> None:
        """Add the means of the deals after a round's betting on a board to sums.

        Args:
            group: suit permutations that leave the board alone.
            weight: probability of a pair of hands (of the player and of the opponent) with the board.
            rows: int64 [live]: rows of `reach_in` that belong to the live hands.
            hands: int64 [live].
            reach_in: double [side, row, folds and histories that lead in].
            gained: double [live]: gains so far.
        """
        size = self.deck.size
        reach = self._follow(index, board, rows, hands, reach_in, scratch)
        cards = self.deck.hand_cards[hands]
        ended = scratch.ended[: len(hands)]
        own, others = reach[:, :, : self.folds[index + 1]]
        _ended_by_card(own, others, cards, scratch.by_card, scratch.slabs, ended)
        deals = canonical_deals(self.deck, tuple(sorted(board)), 1, tuple(group.tolist()))
        dealt = np.array([deal.cards[0] for deal in deals])
        boards = np.array([board + deal.cards for deal in deals])
        strength = board_strengths(boards, self.deck, scratch.strength[: len(deals)])
        gain = self.gains[index][strength[:, hands]]  # [deal, live]
        weights = weight / (size - len(board) - 4) * np.array([deal.orbit for deal in deals])
        by_deal = ended.reshape(len(hands), -1)[:, dealt].T
        self._add(sums[index], gain, by_deal, comb(size - len(board) - 3, 2), gained, weights)
        if index + 1 == self.last:
            return
        for number, deal in enumerate(deals):
            live = np.flatnonzero(~(cards == dealt[number]).any(axis=1))
            self._go_on(
                index + 1,
                board + deal.cards,
                deal.group,
                float(weights[number]),
                live,
                hands[live],
                reach,
                (gained + gain[number])[live],
                sums,
                scratch,
            )

    def _follow(
        self,
        index: int,
        board: tuple[int, ...],
        rows: np.ndarray,
        hands: np.ndarray,
        reach_in: np.ndarray,
        scratch: _Scratch,
    ) -> np.ndarray:
        """double [side, live, folds and histories that go on] after the betting of a round."""
        out = scratch.reach[index][:, : len(hands)]
        for side, strategy in enumerate(self.sides):
            paths = self.paths[index][side]
            _follow(
                paths.sources,
                paths.slots,
                paths.leaves,
                strategy.tables[index],
                strategy.abstraction.lookup(index, hands, np.array(board, np.int64)),
                rows,
                self.folds[index],
                reach_in[side],
                out[side],
            )
        return out


class _Scratch:
    """Arrays that a deal is worked out in.

    Attributes:
        reach: by round, double [side, hand, folds up to the round's and histories that go on].
        ended, slabs, by_card: see `_ended_by_card`.
        strength: uint16 [card, hand].
    """

    def __init__(self, position: _Position):
        hands, size = position.deck.num_hands, position.deck.size
        blocks = -(-size // LANES)
        self.reach = [
            np.zeros((2, hands, before + len(paths[0].leaves)))
            for before, paths in zip(position.folds, position.paths, strict=False)
        ]
        self.ended = np.zeros((hands, blocks, LANES))
        self.slabs = np.zeros((size, blocks, LANES, LANES))
        self.by_card = np.zeros((size, LANES))
        self.strength = np.zeros((size, hands), np.uint16)


@nb.njit(cache=True, nogil=True)
def _follow(sources, slots, leaves, table, buckets, rows, folds, reach_in, out):
    """Reach probabilities of one side through a round: see `_Paths`.

    table: float [bucket, slot]; buckets: int [live]; rows: int64 [live], of reach_in.
    reach_in: double [row, folds + entries]; out: double [live, folds + leaves], modified in place.
    """
    entries = reach_in.shape[1] - folds
    reach = np.empty(entries + sources.shape[0])
    for i in range(rows.shape[0]):
        before, after, chances = reach_in[rows[i]], out[i], table[buckets[i]]
        for fold in range(folds):
            after[fold] = before[fold]
        for entry in range(entries):
            reach[entry] = before[folds + entry]
        for step in range(sources.shape[0]):
            reach[entries + step] = reach[sources[step]] * chances[slots[step]]
        for leaf in range(leaves.shape[0]):
            after[folds + leaf] = reach[leaves[leaf]]


@nb.njit(cache=True, nogil=True)
def _ended_by_card(own, others, cards, by_card, slabs, out):
    """Weight of the folds so far by hand and next card, over opposing hands that have neither's cards.

    own, others: double [live, fold]: the player's and the opponent's factor of each fold's probability.
    cards: int64 [live, 2].
    by_card: double [card, LANES]; slabs: double [card, blocks, LANES, LANES]: scratch.
    out: double [live, blocks, LANES], modified in place; columns of the hand's own cards mean nothing.

    With T the weight over all hands and c, cc those over the hands with a card, or two, this is
    T - c(next) - c(high) - c(low) + cc(high, next) + cc(low, next) + cc(high, low) of a hand's cards high
    and low. A slab [block, fold, next card] of a card holds (T - c(next)) / 2 + cc(card, next), so that
    two slabs make a hand's row. Folds are taken LANES at a time: the slabs of all cards stay in the cache.
    """
    live, deck, blocks = cards.shape[0], slabs.shape[0], slabs.shape[1]
    out[:] = 0.0
    for first in range(0, own.shape[1], LANES):
        folds = min(LANES, own.shape[1] - first)
        by_card[:] = 0.0
        for i in range(live):
            for fold in range(folds):
                by_card[cards[i, 0], fold] += others[i, first + fold]
                by_card[cards[i, 1], fold] += others[i, first + fold]
        for fold in range(folds):
            total = 0.0
            for card in range(deck):
                total += 0.5 * by_card[card, fold]  # each hand has two cards
            for card in range(deck):
                slabs[0, card // LANES, fold, card % LANES] = 0.5 * (total - by_card[card, fold])
        for card in range(1, deck):
            slabs[card] = slabs[0]
        for i in range(live):
            high, low = cards[i, 0], cards[i, 1]
            for fold in range(folds):
                weight = others[i, first + fold]
                slabs[high, low // LANES, fold, low % LANES] += weight
                slabs[low, high // LANES, fold, high % LANES] += weight
        for i in range(live):
            high, low = cards[i, 0], cards[i, 1]
            same = 0.0  # the terms that the next card does not enter
            for fold in range(folds):
                weight = others[i, first + fold] - by_card[high, fold] - by_card[low, fold]
                same += own[i, first + fold] * weight
            for block in range(blocks):
                row = i * blocks + block
                first_high, first_low = (high * blocks + block) * LANES, (low * blocks + block) * LANES
                value = load(out, row) + splat(out, same)
                for fold in range(folds):
                    weight = own[i, first + fold]
                    if weight != 0.0:
                        value = value + splat(out, weight) * (
                            load(slabs, first_high + fold) + load(slabs, first_low + fold)
                        )
                store(out, row, value)

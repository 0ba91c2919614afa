"""Hands as distributions over the buckets of the next round, by approximate earth mover's distance.

Ganzfried and Sandholm, "Potential-Aware Imperfect-Recall Abstraction with Earth Mover's Distance in
Imperfect-Information Games" (AAAI 2014). A hand is its exact distribution over the next round's buckets,
and two distributions are as far apart as the earth mover's distance between them, over ground distances
between those buckets. A point's distance from a mean is their fast approximation (Algorithm 2): in the i-th
sweep every element of the point that still has mass takes what remains in its i-th nearest element of the
mean. (As printed, the algorithm sets an element's mass to zero before it subtracts it from the mean's; here
it is subtracted first.)

The flow is a valid one, so the approximation is never below the exact distance; it is no metric, and the
mean of a cluster need not be its best centre: k-means with it has no guarantee of descent. Distances from
centres are skipped by true lower bounds only, so that the nearest centre is the one that trying all of them
would find.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb

import numba as nb
import numpy as np
from scipy.linalg import eigh

from .boards import Boards, suit_permutations
from .equity import Progress, by_chunks
from .hands import CanonicalHands
from .threads import Tick, in_chunks

# All the mass of a distribution, in units: masses are whole numbers in float32, so that moving them is exact.
_UNITS = 1 << 22
_ROWS = 128  # board rows between two calls of the progress function
_POINTS = 16_384  # points of one task of a thread
_LANDMARKS = 13
_COORDINATES = 3


@dataclass(frozen=True)
class Distributions:
    """Sparse distributions over the buckets of the next round.

    Attributes:
        starts: int64 [point + 1]: point p has the entries starts[p] to starts[p + 1] - 1.
        buckets: uint16 or uint32 [entry], ascending within a point.
        counts: uint8, uint16 or uint32 [entry]: deals that lead to the bucket, at least one.
        deals: sum of each point's counts.
        num_buckets: buckets of the next round.
    """

    starts: np.ndarray
    buckets: np.ndarray
    counts: np.ndarray
    deals: int
    num_buckets: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def subset(self, points: np.ndarray) -> Distributions:
        """Those of some points, int [...]."""
        points = np.asarray(points, np.int64)
        starts = np.concatenate([[0], np.cumsum(self.starts[points + 1] - self.starts[points])])
        buckets = np.empty(starts[-1], self.buckets.dtype)
        counts = np.empty(starts[-1], self.counts.dtype)
        _copy_entries(points, self.starts, self.buckets, self.counts, starts, buckets, counts)
        return Distributions(starts, buckets, counts, self.deals, self.num_buckets)

    def dense(self, points: np.ndarray) -> np.ndarray:
        """float32 [len(points), bucket]: shares of the deals."""
        part = self.subset(points)
        out = np.zeros((len(part), self.num_buckets), np.float32)
        rows = np.repeat(np.arange(len(part)), np.diff(part.starts))
        out[rows, part.buckets] = part.counts / np.float32(self.deals)
        return out


def next_bucket_distributions(
    hands: CanonicalHands,
    next_boards: Boards,
    next_matrix: np.ndarray,
    progress: Progress | None = None,
) -> Distributions:
    """The distribution of every canonical hand over the next round's buckets, by all deals.

    Args:
        hands: the canonical hands of a round.
        next_boards: the canonical boards of the next round.
        next_matrix: unsigned integers [next board_row, hand]: the buckets there.
        progress: called with the board rows done.
    """
    boards = hands.boards
    deck = boards.deck
    dealt = next_boards.size - boards.size
    if dealt < 1:
        raise ValueError(f"the next round has {next_boards.size} community cards after {boards.size}")
    deals = comb(deck.size - boards.size - 2, dealt)
    next_matrix = np.asarray(next_matrix)
    if next_matrix.shape != (len(next_boards), deck.num_hands):
        raise ValueError(
            f"the next round's buckets have shape {next_matrix.shape}, "
            f"they should have {(len(next_boards), deck.num_hands)}"
        )
    num_buckets = int(next_matrix.max()) + 1
    all_deals = np.array(list(combinations(range(deck.size), dealt)), np.int64)
    every_hand = np.broadcast_to(
        np.arange(deck.num_hands, dtype=np.uint16), (len(boards), deck.num_hands)
    )
    hole = hands.gather(every_hand)
    lengths = np.empty(len(hands), np.int64)
    most = min(deals, num_buckets)

    def count(start: int) -> tuple[np.ndarray, np.ndarray]:
        rows = slice(start, min(start + _ROWS, len(boards)))
        first, last = hands.first[rows.start], hands.first[rows.stop]
        buckets = np.empty((last - first) * most, next_matrix.dtype)
        counts = np.empty((last - first) * most, np.min_scalar_type(deals))
        used = _count_deals(
            boards.cards[rows],
            hands.first[rows.start : rows.stop + 1] - first,
            hole[first:last],
            deck.hand_cards,
            all_deals,
            next_boards.binomials,
            next_boards.row_of,
            next_boards.permutation_of,
            suit_permutations(deck).hands,
            next_matrix,
            num_buckets,
            lengths[first:last],
            buckets,
            counts,
        )
        return buckets[:used].copy(), counts[:used].copy()

    what = "distributions over next buckets"
    parts = by_chunks(lambda rows: count(rows.start), len(boards), what, progress, _ROWS)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    buckets = np.empty(starts[-1], next_matrix.dtype)
    counts = np.empty(starts[-1], np.min_scalar_type(deals))
    at = len(buckets)
    while parts:  # from the end, each part freed as soon as it is copied
        some_buckets, some_counts = parts.pop()
        at -= len(some_buckets)
        buckets[at : at + len(some_buckets)] = some_buckets
        counts[at : at + len(some_counts)] = some_counts
    return Distributions(starts, buckets, counts, deals, num_buckets)


class PotentialSpace:
    """Distributions as points for k-means; centres are means, float32 [centre, next bucket], rows sum to 1.

    Args:
        points: the distributions.
        ground: float32 [bucket, bucket]: distances between the next round's buckets.

    Raises ValueError for a ground that is not square, symmetric, finite, not negative and 0 on the diagonal,
    or that has too few buckets.
    """

    power = 1

    def __init__(self, points: Distributions, ground: np.ndarray):
        self.points = points
        self.ground = _Ground(ground)
        self._maps = lipschitz_maps(self.ground.distances).astype(np.float32)
        if len(self.ground.distances) < points.num_buckets:
            raise ValueError(
                f"the ground has {len(self.ground.distances)} buckets, the points have {points.num_buckets}"
            )
        if points.deals > _UNITS:
            raise ValueError(f"{points.deals} deals are too many: at most {_UNITS}")
        self._unit = _UNITS // points.deals  # of mass for a deal

    def __len__(self) -> int:
        return len(self.points)

    def subset(self, points: np.ndarray) -> PotentialSpace:
        """The space of some points, int [...]."""
        out = object.__new__(PotentialSpace)
        out.points, out.ground, out._unit = self.points.subset(points), self.ground, self._unit
        out._maps = self._maps
        return out

    def centres_at(self, points: np.ndarray) -> np.ndarray:
        """float32 [len(points), next bucket]: points as centres."""
        dense = np.zeros((len(points), len(self.ground.distances)), np.float32)
        dense[:, : self.points.num_buckets] = self.points.dense(points)
        return dense

    def nearest(
        self,
        centres: np.ndarray,
        labels: np.ndarray,
        distances: np.ndarray,
        threads: int = 2,
        tick: Tick | None = None,
    ) -> int:
        """Nearest centre of every point (of equals the smallest number); number of distances computed.

        Args:
            centres: float32 [centre, next bucket].
            labels: integers [point]: guesses, replaced by the nearest centres.
            distances: float32 [point], filled.
            threads: threads to work in.
            tick: called as points get done.
        """
        mass, positions = self._prepare(centres)
        ground, points = self.ground, self.points
        total = self._unit * points.deals

        def work(part: slice) -> int:
            return _nearest(
                points.starts[part.start : part.stop + 1],
                points.buckets,
                points.counts,
                self._unit,
                total,
                mass,
                positions,
                ground.distances,
                ground.order,
                ground.sorted,
                self._maps,
                ground.slack * total,
                labels[part],
                distances[part],
            )

        return sum(in_chunks(work, len(self), _POINTS, threads, tick))

    def relax(
        self, centre: np.ndarray, label: int, labels: np.ndarray, distances: np.ndarray, threads: int = 2
    ) -> None:
        """Give the points that are nearer to a centre [next bucket] than their distance that label."""
        mass, positions = self._prepare(np.asarray(centre)[None])
        ground, points = self.ground, self.points
        total = self._unit * points.deals

        def work(part: slice) -> None:
            _relax(
                points.starts[part.start : part.stop + 1],
                points.buckets,
                points.counts,
                self._unit,
                total,
                mass[0],
                positions[:, 0].copy(),
                ground.distances,
                ground.order,
                ground.sorted,
                self._maps,
                ground.slack * total,
                label,
                labels[part],
                distances[part],
            )

        in_chunks(work, len(self), _POINTS, threads)

    def centres(self, labels: np.ndarray, weights: np.ndarray, k: int, threads: int = 2) -> np.ndarray:
        """float32 [k, next bucket]: weighted means of the clusters (0 for empty ones), from exact sums."""
        points = self.points

        def work(part: slice) -> np.ndarray:
            sums = np.zeros((k, len(self.ground.distances)), np.int64)
            starts = points.starts[part.start : part.stop + 1]
            _add_counts(starts, points.buckets, points.counts, labels[part], weights[part], sums)
            return sums

        sums = np.zeros((k, len(self.ground.distances)), np.int64)
        for more in in_chunks(work, len(self), -(-len(self) // threads), threads):
            sums += more
        return (sums / np.maximum(sums.sum(axis=1, keepdims=True), 1)).astype(np.float32)

    def _prepare(self, centres: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centres in units and their positions [map, centre]."""
        mass = _whole(centres, self._unit * self.points.deals)
        return mass, np.ascontiguousarray((mass.astype(np.float64) @ self._maps).T.astype(np.float32))


class _Ground:
    """Ground distances, and the buckets in order of distance from each.

    Attributes:
        distances: float32 [bucket, bucket].
        order: uint16 or uint32 [bucket, bucket]: the buckets by distance from each, of equals the smallest
            number first.
        sorted: float32 [bucket, bucket]: those distances.
        slack: what rounding may add to a bound of distributions of mass 1.
    """

    def __init__(self, distances: np.ndarray):
        distances = np.asarray(distances, np.float32)
        size = len(distances)
        if distances.shape != (size, size) or not size:
            raise ValueError(f"ground distances have the shape [bucket, bucket], not {distances.shape}")
        if not (np.isfinite(distances) & (distances >= 0)).all() or distances.diagonal().any():
            raise ValueError("ground distances are numbers from 0 on, with 0 on the diagonal")
        if not (distances == distances.T).all():
            raise ValueError("ground distances are the same in both directions")
        self.distances = distances
        dtype = np.uint16 if size <= 1 << 16 else np.uint32
        self.order = np.argsort(distances, axis=1, kind="stable").astype(dtype)
        self.sorted = np.take_along_axis(distances, self.order.astype(np.int64), axis=1)
        self.slack = (size + 64) * 2.0**-24 * float(distances.max())


def lipschitz_maps(ground: np.ndarray) -> np.ndarray:
    """float64 [bucket, map]: maps of the buckets to the line that never exceed the ground distances.

    The distance between the mean positions of two distributions is then a lower bound of theirs.

    The first ones are the principal coordinates (classical scaling), the others distances from buckets that
    are far from each other. What is too steep for the ground, metric or not, is flattened by replacing each
    value by the smallest one that the others allow. All maps are centred: the numbers stay small.
    """
    ground = np.asarray(ground, np.float64)
    squares = ground**2
    squares -= squares.mean(axis=0)
    squares -= squares.mean(axis=1)[:, None]
    largest = [max(0, len(squares) - _COORDINATES), len(squares) - 1]
    values, vectors = eigh(squares / -2, subset_by_index=largest, overwrite_a=True)
    candidates = list((vectors * np.sqrt(np.maximum(values, 0))).T[::-1])
    far = ground[int(candidates[0].argmin())].copy()
    for _ in range(min(_LANDMARKS, len(ground))):
        landmark = int(far.argmax())
        candidates.append(ground[landmark])
        np.minimum(far, ground[landmark], out=far)
    maps = np.stack([_flattened(values, ground) for values in candidates], axis=1)
    return maps - maps.mean(axis=0)


def _flattened(values: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """The largest 1-Lipschitz map below values [bucket]."""
    while True:
        lower = (values + ground).min(axis=1)  # the diagonal is 0: never above the values
        if (lower == values).all():
            return values
        values = lower


def potential_distance(a: np.ndarray, b: np.ndarray, ground: np.ndarray) -> float:
    """Approximate earth mover's distance from a distribution a [bucket] to a mean b [bucket].

    Masses are rounded to 2**-22 of the whole. Not symmetric.
    """
    near = _Ground(ground)
    point, mean = _whole(np.stack([a, b]), _UNITS)
    elements = np.flatnonzero(point)
    return (
        _move(elements, point[elements], elements.copy(), mean, near.order, near.sorted, np.inf) / _UNITS
    )


def potential_ground(centres: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """float32 [bucket, bucket]: distances between the mean distributions of a round's buckets.

    The mean of the approximate earth mover's distances in both directions.

    Args:
        centres: float32 [bucket, next bucket].
        ground: float32 [next bucket, next bucket]: distances between the next round's buckets.
    """
    next_ground = _Ground(ground)
    mass = _whole(centres, _UNITS)
    out = np.zeros((len(mass), len(mass)))

    def fill(part: slice) -> None:
        for row in range(part.start, part.stop):
            _move_to_all(mass[row], mass, next_ground.order, next_ground.sorted, out[row])

    in_chunks(fill, len(mass), 1)
    out /= _UNITS
    np.fill_diagonal(out, 0)
    return ((out + out.T) / 2).astype(np.float32)


def _whole(masses: np.ndarray, units: int) -> np.ndarray:
    """float32 [row, bucket]: distributions in whole units that sum to `units`, by largest remainders.

    Rows of nothing (empty clusters) stay so.
    """
    masses = np.asarray(masses, np.float64)
    sums = masses.sum(axis=1, keepdims=True)
    exact = masses * (units / np.where(sums > 0, sums, 1))
    out = np.floor(exact)
    for row, missing in enumerate((units * (sums[:, 0] > 0) - out.sum(axis=1)).astype(np.int64)):
        if missing > 0:
            out[row, np.argsort(out[row] - exact[row], kind="stable")[:missing]] += 1
    return out.astype(np.float32)


@nb.njit(cache=True, nogil=True)
def _copy_entries(points, starts, buckets, counts, new_starts, new_buckets, new_counts):
    for i in range(points.shape[0]):
        to = new_starts[i]
        for entry in range(starts[points[i]], starts[points[i] + 1]):
            new_buckets[to] = buckets[entry]
            new_counts[to] = counts[entry]
            to += 1


@nb.njit(cache=True, nogil=True)
def _count_deals(
    boards,
    first,
    hole,
    hand_cards,
    all_deals,
    binomials,
    row_of,
    permutation_of,
    moved_hands,
    matrix,
    num_buckets,
    lengths,
    buckets,
    counts,
):
    """Distributions of the hands on some boards, one after the other; the number of entries.

    Args:
        boards: int64 [board, cards], ascending.
        first: int64 [board + 1]: the hands of each board.
        hole: uint16 [hand of these boards]: its hand index.
        hand_cards: int64 [hand, 2].
        all_deals: int64 [deal, cards]: all sets of cards to deal.
        binomials, row_of, permutation_of, moved_hands, matrix: of the next round.
        num_buckets: buckets there.
        lengths: filled: entries of each hand.
        buckets, counts: filled: the entries.
    """
    size, dealt = boards.shape[1], all_deals.shape[1]
    tally = np.zeros(num_buckets, np.int64)
    found = np.empty(num_buckets, np.int64)
    rows = np.empty(all_deals.shape[0], np.int64)
    permutations = np.empty(all_deals.shape[0], np.int64)
    masks = np.empty(all_deals.shape[0], np.uint64)
    used = 0
    for board in range(boards.shape[0]):
        taken = np.uint64(0)
        for card in boards[board]:
            taken |= np.uint64(1) << np.uint64(card)
        possible = 0
        for deal in range(all_deals.shape[0]):
            mask = np.uint64(0)
            for card in all_deals[deal]:
                mask |= np.uint64(1) << np.uint64(card)
            if mask & taken:
                continue
            index, i, j = 0, 0, 0
            while i + j < size + dealt:  # merge board and deal
                if j == dealt or (i < size and boards[board, i] < all_deals[deal, j]):
                    card = boards[board, i]
                    i += 1
                else:
                    card = all_deals[deal, j]
                    j += 1
                index += binomials[card, i + j]
            rows[possible] = row_of[index]
            permutations[possible] = permutation_of[index]
            masks[possible] = mask
            possible += 1
        for number in range(first[board], first[board + 1]):
            hand = np.int64(hole[number])
            own = np.uint64(1) << np.uint64(hand_cards[hand, 0])
            own |= np.uint64(1) << np.uint64(hand_cards[hand, 1])
            distinct = 0
            for deal in range(possible):
                if masks[deal] & own:
                    continue
                bucket = np.int64(matrix[rows[deal], moved_hands[permutations[deal], hand]])
                if not tally[bucket]:
                    at = distinct
                    while at > 0 and found[at - 1] > bucket:
                        found[at] = found[at - 1]
                        at -= 1
                    found[at] = bucket
                    distinct += 1
                tally[bucket] += 1
            for i in range(distinct):
                buckets[used] = found[i]
                counts[used] = tally[found[i]]
                tally[found[i]] = 0
                used += 1
            lengths[number] = distinct
    return used


@nb.njit(cache=True, nogil=True)
def _move(elements, mass, turns, remaining, order, sorted_distances, limit):
    """Cost of moving a point's mass to a mean's, or infinity as soon as it is known to exceed the limit.

    The mean has as much mass as the point, or none (an empty cluster: infinity).

    Args:
        elements: int64 [element]: buckets of the point.
        mass: float32 [element]: mass in each, modified in place.
        turns: int64 [element]: scratch.
        remaining: float32 [bucket]: the mean's mass, modified in place.
        order, sorted_distances: [bucket, bucket]: the nearest buckets of each, and how near.
        limit: float64.
    """
    # Buckets without mass never get any again: each element skips to its next sweep that may matter, and
    # the next move is that of the earliest sweep, there of the first element.
    cost, pending = 0.0, 0.0  # what is left costs at least as much as it would in its next sweeps
    active, last = elements.shape[0], order.shape[1]
    for j in range(active):
        sweep = _next_sweep(order, elements[j], 0, remaining)
        if sweep == last:
            return np.inf  # the mean of an empty cluster
        turns[j] = sweep << 32 | j
        pending += mass[j] * np.float64(sorted_distances[elements[j], sweep])
    while active:
        first, turn = 0, turns[0]
        for i in range(1, active):
            if turns[i] < turn:
                first, turn = i, turns[i]
        sweep, j = turn >> 32, turn & 0xFFFF_FFFF
        bucket, target = elements[j], mass[j]
        mean_bucket = order[bucket, sweep]
        amount = remaining[mean_bucket]
        distance = np.float64(sorted_distances[bucket, sweep])
        if amount >= target:
            cost += target * distance
            pending -= target * distance
            remaining[mean_bucket] = amount - target
            active -= 1
            turns[first] = turns[active]
            continue
        cost += amount * distance
        remaining[mean_bucket] = 0
        mass[j] = target - amount
        following = _next_sweep(order, bucket, sweep + 1, remaining)
        if following == last:
            return np.inf
        turns[first] = following << 32 | j
        pending += mass[j] * np.float64(sorted_distances[bucket, following]) - target * distance
        if cost + pending > limit:
            return np.inf
    return cost


@nb.njit(cache=True, nogil=True, inline="always")
def _next_sweep(order, bucket, sweep, remaining):
    """First sweep of a bucket from `sweep` on that finds mass; the number of sweeps if there is none."""
    while sweep < order.shape[1] and remaining[order[np.uint32(bucket), np.uint32(sweep)]] == 0:
        sweep += 1
    return sweep


@nb.njit(cache=True, nogil=True)
def _move_to_all(point, means, order, sorted_distances, out):
    """Costs of moving a dense distribution to each of some others into out."""
    elements = np.empty(point.shape[0], np.int64)
    mass = np.empty(point.shape[0], np.float32)
    turns = np.empty(point.shape[0], np.int64)
    for mean in range(means.shape[0]):
        count = 0
        for bucket in range(point.shape[0]):
            if point[bucket] > 0:
                elements[count], mass[count] = bucket, point[bucket]
                count += 1
        out[mean] = _move(
            elements[:count],
            mass[:count],
            turns[:count],
            means[mean].copy(),
            order,
            sorted_distances,
            np.inf,
        )


@nb.njit(cache=True, nogil=True)
def _reaches(buckets, ground, out):
    """Distance of every bucket from the nearest of a point's buckets into out [bucket]."""
    out[:] = ground[buckets[0]]
    for j in range(1, buckets.shape[0]):
        row = ground[buckets[j]]
        for bucket in range(out.shape[0]):
            out[bucket] = min(out[bucket], row[bucket])


@nb.njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _reach(mean, reaches):
    """Cost of moving all of a mean's mass to the nearest of a point's buckets, however much fits: a bound."""
    total = np.float32(0)
    for bucket in range(mean.shape[0]):
        total += mean[bucket] * reaches[bucket]
    return total


@nb.njit(cache=True, nogil=True)
def _bounds(own, positions, out):
    """Lower bounds of the distances from all centres [centre], by each map's mean positions."""
    for centre in range(out.shape[0]):
        out[centre] = abs(own[0] - positions[0, centre])
    for i in range(1, positions.shape[0]):
        row, value = positions[i], own[i]
        for centre in range(out.shape[0]):
            out[centre] = max(out[centre], abs(value - row[centre]))


@nb.njit(cache=True, nogil=True)
def _mean_position(buckets, mass, maps, own):
    own[:] = 0
    for j in range(buckets.shape[0]):
        row = maps[buckets[j]]
        for i in range(own.shape[0]):
            own[i] += mass[j] * row[i]


@nb.njit(cache=True, nogil=True)
def _nearest(
    starts,
    buckets,
    counts,
    unit,
    total,
    centres,
    positions,
    ground,
    order,
    sorted_distances,
    maps,
    slack,
    labels,
    distances,
):
    """`PotentialSpace.nearest` for the points of starts [point + 1]; number of distances computed."""
    num_centres, size = centres.shape
    elements, whole_mass = np.empty(size, np.int64), np.empty(size, np.float32)
    mass = np.empty(size, np.float32)
    turns = np.empty(size, np.int64)
    remaining = np.empty(size, np.float32)
    own = np.empty(maps.shape[1], np.float32)
    reaches = np.empty(size, np.float32)
    bounds = np.empty(num_centres, np.float32)
    evaluations = 0
    for point in range(labels.shape[0]):
        count = starts[point + 1] - starts[point]
        for j in range(count):
            elements[j] = buckets[starts[point] + j]
            whole_mass[j] = counts[starts[point] + j] * unit
        _mean_position(elements[:count], whole_mass[:count], maps, own)
        _bounds(own, positions, bounds)
        guess = np.int64(labels[point])
        best, best_centre = np.inf, guess
        has_reaches = False
        # First the guess, then the centre that is nearest by the bounds: what is near leaves out the most.
        promising = np.int64(np.argmin(bounds))
        for step in range(-2, num_centres):
            centre = guess if step == -2 else promising if step == -1 else np.int64(step)
            if (step > -2 and centre == guess) or step == promising or bounds[centre] > best + slack:
                continue
            if step > -2:
                if not has_reaches:
                    _reaches(elements[:count], ground, reaches)
                    has_reaches = True
                if _reach(centres[centre], reaches) > best + slack:
                    continue
            mass[:count] = whole_mass[:count]
            remaining[:] = centres[centre]
            evaluations += 1
            limit = best * (1 + 1e-9)
            cost = _move(
                elements[:count], mass[:count], turns[:count], remaining, order, sorted_distances, limit
            )
            if cost < best or (cost == best and centre < best_centre):
                best, best_centre = cost, centre
        labels[point] = best_centre
        distances[point] = best / total
    return evaluations


@nb.njit(cache=True, nogil=True)
def _relax(
    starts,
    buckets,
    counts,
    unit,
    total,
    centre,
    position,
    ground,
    order,
    sorted_distances,
    maps,
    slack,
    label,
    labels,
    distances,
):
    """`PotentialSpace.relax` for the points of starts [point + 1]."""
    size = centre.shape[0]
    elements, mass = np.empty(size, np.int64), np.empty(size, np.float32)
    turns = np.empty(size, np.int64)
    remaining = np.empty(size, np.float32)
    own = np.empty(maps.shape[1], np.float32)
    reaches = np.empty(size, np.float32)
    for point in range(labels.shape[0]):
        count = starts[point + 1] - starts[point]
        for j in range(count):
            elements[j] = buckets[starts[point] + j]
            mass[j] = counts[starts[point] + j] * unit
        _mean_position(elements[:count], mass[:count], maps, own)
        limit = distances[point] * total
        bound = np.float32(0)
        for i in range(own.shape[0]):
            bound = max(bound, abs(own[i] - position[i]))
        if bound > limit + slack:
            continue
        _reaches(elements[:count], ground, reaches)
        if _reach(centre, reaches) > limit + slack:
            continue
        remaining[:] = centre
        limit *= 1 + 1e-6
        cost = _move(
            elements[:count], mass[:count], turns[:count], remaining, order, sorted_distances, limit
        )
        distance = np.float32(cost / total)
        if distance < distances[point]:
            distances[point] = distance
            labels[point] = label


@nb.njit(cache=True, nogil=True)
def _add_counts(starts, buckets, counts, labels, weights, sums):
    """Add the weighted counts of the points of starts [point + 1] to sums [label, bucket]."""
    for point in range(labels.shape[0]):
        row, weight = sums[labels[point]], np.int64(weights[point])
        for entry in range(starts[point], starts[point + 1]):
            row[buckets[entry]] += weight * counts[entry]

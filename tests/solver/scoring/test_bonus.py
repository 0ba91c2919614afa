"""The bonus of a player of a strategy against enumerations and simulations that share no code with it."""

from dataclasses import replace
from functools import cache
from itertools import combinations, permutations
from math import sqrt

import eval7
import numpy as np
import pytest
from nashfold.abstraction import CardAbstraction
from nashfold.game import Betting, format_cards, new_hand, preset
from nashfold.game.bonus import BonusBet, PayTable
from nashfold.game.bonus_return import bonus_return
from nashfold.game.cards import Deck
from nashfold.solver import Strategy
from nashfold.solver.lanes import LANES
from nashfold.solver.public_tree import canonical_deals
from nashfold.solver.scoring.bonus import _ended_by_card, _Position, _Scratch, strategy_bonus_return
from nashfold.solver.strategy import open_strategy
from strategies import random_strategy

SHORT = preset("short-limit")
CASINO = preset("casino-limit")
SMALL = {
    "ten cards": replace(CASINO, num_ranks=5, num_suits=2, max_bets=(2, 1, 1, 1)),
    "nine cards": replace(CASINO, num_ranks=3, num_suits=3, max_bets=(2, 1, 2, 1)),
    "flop and turn": replace(SHORT, num_ranks=3, num_suits=3, max_bets=(2, 2, 1)),
    "no limit": replace(preset("short-nolimit"), num_ranks=3, num_suits=3, stacks=(7, 5)),
    "flop": replace(preset("flop-limit"), num_ranks=3, num_suits=4),
}
PAYS = (
    {"pair": 1, "two pair": 3, "three of a kind": 4, "straight": 9, "straight flush": 20},
    {"two pair": 2, "three of a kind": 5, "straight": 6, "full house": 11, "straight flush": 40},
    {"pair": 0, "two pair": 1, "straight": 4, "full house": 7, "four of a kind": 30},
)
EVAL7_NAMES = {"Trips": "three of a kind", "Quads": "four of a kind"}


@pytest.fixture(autouse=True, scope="module")
def never_folding_is_counted_once():
    """Sums in fractions take longer than these small games."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nashfold.solver.scoring.bonus.bonus_return", cache(bonus_return))
        yield


def pay_table(intervals=(0, 1, 2), **choices) -> PayTable:
    return PayTable("test", tuple(PAYS[i] if i in intervals else {} for i in range(3)), **choices)


def dyadic(strategy: Strategy) -> Strategy:
    """The strategy in steps of 1/64, so that its probabilities add up to one without rounding."""
    tables = [np.floor(64 * table) / 64 for table in strategy.tables]
    tree = strategy.tree
    for node in np.flatnonzero(tree.num_actions > 0):
        here = slice(tree.action_slot[node], tree.action_slot[node] + tree.num_actions[node])
        row = tables[tree.round[node]][:, here]
        row[np.arange(len(row)), row.argmax(axis=1)] += 1 - row.sum(axis=1)
    return Strategy(tree, strategy.abstraction, [t.astype(np.float32) for t in tables], strategy.name)


def with_named_suits(strategy: Strategy) -> Strategy:
    """The strategy with buckets that a renaming of suits changes."""
    rng = np.random.default_rng(5)
    old = strategy.abstraction
    matrices = [
        rng.integers(0, count, matrix.shape).astype(np.uint16)
        for count, matrix in zip(old.num_buckets, old.matrices, strict=True)
    ]
    abstraction = CardAbstraction(old.config, matrices, old.num_buckets)
    assert not abstraction.is_suit_invariant
    return Strategy(strategy.tree, abstraction, strategy.tables, "named suits")


@cache
def all_deals(rules) -> np.ndarray:
    """int64 [deal, 4 + board]: card numbers of the player's hand, the opponent's, and the board as dealt."""
    cards, board = range(rules.deck.size), rules.board_size(rules.num_rounds - 1)
    rows = []
    for own in combinations(cards, 2):
        for other in combinations([card for card in cards if card not in own], 2):
            left = [card for card in cards if card not in own + other]
            for flop in combinations(left, 3):
                rest = [card for card in left if card not in flop]
                rows += [(*own, *other, *flop, *later) for later in permutations(rest, board - 3)]
    return np.array(rows)


def judged(rules, table: PayTable, interval: int, cards: np.ndarray) -> np.ndarray:
    """Profit of an interval for cards [deal, 5 to 7], by eval7."""
    codes = (1 << cards).sum(axis=1)
    sets, places = np.unique(codes, return_inverse=True)
    profits = []
    for code in sets.tolist():
        members = [int(c) for n, c in enumerate(rules.deck.cards) if code >> n & 1]
        name = eval7.handtype(eval7.evaluate([eval7.Card(format_cards([card])) for card in members]))
        name = EVAL7_NAMES.get(name, name.lower())
        losing = -1 if table.stake == "each" else 0
        profits.append(float(PAYS[interval].get(name, losing)))
    return np.array(profits)[places]


def enumerated(table: PayTable, own: Strategy, other: Strategy, player: int) -> np.ndarray:
    """[interval, or last the total; 2]: mean and mean square of the profit, over every deal."""
    rules = own.rules
    deals = all_deals(rules)
    forfeit = -1.0 if (table.stake, table.forfeit) == ("each", "lost") else 0.0
    profits = [
        judged(rules, table, i, np.delete(deals[:, : 7 + i], [2, 3], axis=1)) for i in table.intervals
    ]
    buckets = [
        [
            strategy.abstraction.lookup(r, hand_indices(hole), deals[:, 4 : 4 + rules.board_size(r)])
            for r in range(rules.num_rounds)
        ]
        for strategy, hole in ((own, deals[:, :2]), (other, deals[:, 2:4]))
    ]
    ends: dict[int | None, np.ndarray] = {}  # by the round that ended the bonus: probability [deal]

    def play(betting: Betting, chance: np.ndarray) -> None:
        if not chance.any():
            return
        if betting.folded is not None and table.fold_ends in (
            "any",
            "player" * (betting.folded == player),
        ):
            ends[betting.round] = ends.get(betting.round, 0) + chance
        elif betting.is_over or betting.round > max(table.intervals):  # nothing is left to judge
            ends[None] = ends.get(None, 0) + chance
        else:
            side = int(betting.to_act != player)
            strategy = (own, other)[side]
            slot = int(strategy.tree.action_slot[strategy.tree.find(betting)])
            for number, action in enumerate(betting.legal_actions()):
                column = strategy.tables[betting.round][:, slot + number].astype(float)
                play(betting.play(action), chance * column[buckets[side][betting.round]])

    play(Betting.start(rules), np.ones(len(deals)))
    sums = np.zeros((len(profits) + 1, 2))
    for ended, chance in ends.items():
        parts = [
            profit if ended is None or interval < ended else np.full(len(deals), forfeit)
            for interval, profit in zip(table.intervals, profits, strict=True)
        ]
        for at, profit in enumerate([*parts, sum(parts) - (table.stake == "once")]):
            sums[at] += chance @ profit / len(deals), chance @ profit**2 / len(deals)
    return sums


def hand_indices(hole: np.ndarray) -> np.ndarray:
    high, low = hole.max(axis=1), hole.min(axis=1)
    return high * (high - 1) // 2 + low


def check_against_enumeration(table: PayTable, own: Strategy, other: Strategy) -> None:
    result = strategy_bonus_return(table, own, other)
    positions = [enumerated(table, own, other, player) for player in (0, 1)]
    moments = np.mean(positions, axis=0)
    deviations = np.sqrt(moments[:, 1] - moments[:, 0] ** 2)
    assert result.kind == "exact"
    assert result.mean == pytest.approx(moments[:-1, 0], abs=1e-9)
    assert result.standard_deviation == pytest.approx(deviations[:-1], abs=1e-9)
    assert result.total_mean == pytest.approx(moments[-1, 0], abs=1e-9)
    assert result.total_standard_deviation == pytest.approx(deviations[-1], abs=1e-9)
    assert result.per_position == pytest.approx([sums[-1, 0] for sums in positions], abs=1e-9)
    # The strategies matter: else the comparison would say nothing.
    never = bonus_return(table, own.rules.deck)
    assert (result.total_mean < never.total_mean - 1e-3) == (table.fold_ends != "never")


@pytest.mark.parametrize(
    ("name", "fold_ends"),
    [("flop and turn", "player"), ("flop and turn", "any"), ("no limit", "player"), ("flop", "any")],
)
def test_two_random_strategies_against_plain_enumeration(name, fold_ends):
    own, other = (dyadic(random_strategy(SMALL[name], seed)) for seed in (1, 2))
    intervals = (0,) if name == "flop" else (0, 1)
    check_against_enumeration(pay_table(intervals, fold_ends=fold_ends), own, other)


@pytest.mark.parametrize(
    ("name", "intervals", "choices"),
    [
        ("ten cards", (0, 1, 2), {"fold_ends": "any"}),
        ("nine cards", (0, 1, 2), {"fold_ends": "player"}),
        ("nine cards", (0, 1, 2), {"fold_ends": "any", "stake": "once"}),
        ("nine cards", (0, 1, 2), {"fold_ends": "never"}),
        ("nine cards", (0, 1, 2), {"fold_ends": "player", "forfeit": "returned"}),
        ("nine cards", (2,), {"fold_ends": "any"}),
        ("nine cards", (1,), {"fold_ends": "player", "stake": "once"}),
    ],
)
def test_three_intervals_against_plain_enumeration(name, intervals, choices):
    own, other = (dyadic(random_strategy(SMALL[name], seed)) for seed in (3, 4))
    check_against_enumeration(pay_table(intervals, **choices), own, other)


def test_strategies_that_tell_suits_apart_against_plain_enumeration():
    rules = SMALL["nine cards"]
    own = with_named_suits(dyadic(random_strategy(rules, 3)))
    other = dyadic(random_strategy(rules, 4))
    check_against_enumeration(pay_table(fold_ends="any"), own, other)
    check_against_enumeration(pay_table(fold_ends="player"), other, own)


def test_who_never_folds_is_paid_as_by_the_pay_table_alone():
    rules = SMALL["ten cards"]
    for fold_ends, strategy, opponent in (
        ("player", "always-call", "random"),
        ("any", "always-call", "call-or-raise"),
        ("never", "always-fold", "random"),
    ):
        table = pay_table(fold_ends=fold_ends)
        never = bonus_return(table, rules.deck)
        result = strategy_bonus_return(table, strategy, opponent, rules=rules)
        assert (result.kind, result.intervals) == ("exact", never.intervals)
        assert result.per_position == (result.total_mean, result.total_mean)
        for name in ("mean", "standard_deviation", "total_mean", "total_standard_deviation"):
            assert getattr(result, name) == pytest.approx(getattr(never, name), rel=1e-13)
        assert (result.strategy, result.opponent) == (strategy, opponent)


@pytest.mark.slow
def test_who_never_folds_in_limit_holdem():
    table = pay_table(fold_ends="player")
    never = bonus_return(table)
    result = strategy_bonus_return(table, "always-raise", "random", rules=CASINO)
    assert result.total_mean == pytest.approx(never.total_mean, rel=1e-13)
    assert (result.flops, result.standard_error) == (1755, ())


@pytest.mark.parametrize(
    ("stake", "forfeit", "left"), [("each", "lost", -2), ("each", "returned", 0), ("once", "lost", -1)]
)
def test_a_fold_before_the_flop_forfeits_everything(stake, forfeit, left):
    """Both players fold to a bet: the big blind meets one if the small blind always raises."""
    choices = {"stake": stake, "forfeit": forfeit}
    rules = replace(SHORT, num_ranks=4)
    table = pay_table((0, 1), fold_ends="player", **choices)
    never = bonus_return(table, rules.deck)
    result = strategy_bonus_return(table, "always-fold", "always-raise", rules=rules)
    assert result.per_position == pytest.approx((left, left), abs=1e-12)
    assert result.total_standard_deviation == pytest.approx(0, abs=1e-6)
    # Against himself he folds as the small blind only; then his bet stands or ends with that fold.
    result = strategy_bonus_return(table, "always-fold", rules=rules)
    assert result.per_position == pytest.approx((never.total_mean, left), abs=1e-12)
    spread = (never.total_standard_deviation**2 + (never.total_mean - left) ** 2 / 2) / 2
    assert result.total_standard_deviation == pytest.approx(sqrt(spread), rel=1e-12)
    result = strategy_bonus_return(replace(table, fold_ends="any"), "always-fold", rules=rules)
    assert result.per_position == pytest.approx((left, left), abs=1e-12)


@pytest.mark.parametrize(("player", "fold_ends"), [(0, "player"), (1, "any")])
def test_folds_that_look_at_no_cards_take_the_same_share_of_every_gain(player, fold_ends):
    """One flop of the full deck; the shares come from the betting alone."""
    strategy = dyadic(open_strategy("random", CASINO))
    shares = np.zeros(3)

    def play(betting: Betting, chance: float) -> None:
        if betting.folded is not None and (fold_ends == "any" or betting.folded == player):
            shares[betting.round :] += chance
        elif not betting.is_over and betting.round < 3:
            node = strategy.tree.find(betting)
            slot = int(strategy.tree.action_slot[node])
            for number, action in enumerate(betting.legal_actions()):
                play(
                    betting.play(action),
                    chance * float(strategy.tables[betting.round][0, slot + number]),
                )

    play(Betting.start(CASINO), 1.0)
    assert 0.1 < shares[0] < shares[1] < shares[2] < 0.9
    deck = CASINO.deck
    position = _Position(player, strategy, strategy, pay_table(fold_ends=fold_ends))
    assert position.ended_share == pytest.approx(shares[0], rel=1e-12)
    monotone = next(
        d for d in canonical_deals(deck, (), 3, tuple(range(24))) if len({c % 4 for c in d.cards}) == 1
    )
    lost, never = np.moveaxis(position.means(monotone), -1, 0)
    assert (never[1:] > 0.01).all()
    np.testing.assert_allclose(lost, shares[:, None] * never, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("fold_ends", ["player", "any"])
def test_a_simulation_of_whole_hands_earns_the_same(fold_ends):
    """A casino's game with 24 cards, played hand by hand; the bonus settled as in play."""
    rules = replace(CASINO, num_ranks=6)
    table = pay_table(fold_ends=fold_ends)
    strategy, opponent = random_strategy(rules, 6, zeros=0), open_strategy("random", rules)
    exact = strategy_bonus_return(table, strategy, opponent)
    bet = BonusBet(table)
    totals = np.empty((2, 10_000))
    by_interval = []
    for number in range(totals.size):
        seat = number % 2  # of the bonus's player
        hand = new_hand(rules, seed=np.random.default_rng((9, number)))
        rng = np.random.default_rng((10, number))
        while hand.to_act is not None:
            side = strategy if hand.to_act == seat else opponent
            chances = side.probabilities(hand)
            weights = np.array(list(chances.values()))
            hand = hand.play(str(rng.choice(list(chances), p=weights / weights.sum())))
        profits = bet.profits(hand, seat)
        by_interval.append([float(profits[interval]) for interval in exact.intervals])
        totals[seat, number // 2] = float(sum(profits.values()))
    error = totals.std() / sqrt(totals.size)
    assert totals.mean() == pytest.approx(exact.total_mean, abs=3 * error)
    assert totals.mean(axis=1) == pytest.approx(exact.per_position, abs=4 * error)
    for mean, expected in zip(np.mean(by_interval, axis=0), exact.mean, strict=True):
        assert mean == pytest.approx(expected, abs=3 * error)
    squares = (totals - totals.mean()) ** 2
    spread_error = squares.std() / sqrt(totals.size)
    assert squares.mean() == pytest.approx(exact.total_standard_deviation**2, abs=3 * spread_error)
    # The folds cost far more than the simulation's noise.
    assert exact.total_mean < bonus_return(table, rules.deck).total_mean - 20 * error


def test_sampled_flops_estimate_the_exact_return():
    own, other = (random_strategy(SMALL["flop"], seed) for seed in (1, 2))
    table = pay_table((0,), fold_ends="any")
    exact = strategy_bonus_return(table, own, other)
    runs = [strategy_bonus_return(table, own, other, flops=5, seed=seed) for seed in range(200)]
    assert {(run.kind, run.flops) for run in runs} == {("estimate", 5)}
    means = np.array([run.total_mean for run in runs])
    spread = means.std(ddof=1)
    assert means.mean() == pytest.approx(exact.total_mean, abs=3.5 * spread / sqrt(len(runs)))
    reported = sqrt(np.mean([run.total_standard_error**2 for run in runs]))
    assert reported == pytest.approx(spread, rel=0.2)
    assert runs[0].standard_error == (runs[0].total_standard_error,)
    assert strategy_bonus_return(table, own, other, flops=5, seed=3) != runs[4]
    one = strategy_bonus_return(table, own, other, flops=1)
    assert np.isnan(one.total_standard_error)


def test_many_sampled_flops_come_close_in_every_figure():
    rules = replace(CASINO, num_ranks=4, num_suits=3, max_bets=(1, 1, 1, 1))
    own, other = (random_strategy(rules, seed) for seed in (1, 2))
    table = pay_table(fold_ends="any")
    exact = strategy_bonus_return(table, own, other)
    run = strategy_bonus_return(table, own, other, flops=2000)
    errors = np.array(run.standard_error)
    assert (errors > 0).all()
    assert (np.abs(np.subtract(run.mean, exact.mean)) < 4 * errors).all()
    assert run.total_mean == pytest.approx(exact.total_mean, abs=4 * run.total_standard_error)
    assert run.standard_deviation == pytest.approx(exact.standard_deviation, rel=0.03)
    assert run.total_standard_deviation == pytest.approx(exact.total_standard_deviation, rel=0.03)


def test_the_result_does_not_depend_on_the_number_of_threads():
    own, other = (random_strategy(SMALL["flop and turn"], seed) for seed in (1, 2))
    table = pay_table((0, 1), fold_ends="any")
    seen = []
    for flops in ("all", 7):
        one = strategy_bonus_return(table, own, other, flops, threads=1)
        more = strategy_bonus_return(
            table, own, other, flops, threads=3, progress=lambda *done: seen.append(done)
        )
        assert replace(one, seconds=0) == replace(more, seconds=0)
        assert seen[-1] == (seen[0][1], seen[0][1])
        seen.clear()


def test_a_saved_strategy_is_read_from_its_path(tmp_path):
    strategy = random_strategy(SMALL["flop and turn"], 1)
    strategy.save(tmp_path / "saved")
    table = pay_table((0, 1), fold_ends="player")
    result = strategy_bonus_return(table, tmp_path / "saved", "random")
    assert replace(result, seconds=0) == replace(
        strategy_bonus_return(table, strategy, "random"), seconds=0
    )


def test_merging_equivalent_flops_and_turns_changes_nothing():
    """Each flop stands for its orbit: what is lost summed over all flops, one by one."""
    rules = replace(CASINO, num_ranks=3, num_suits=4, max_bets=(1, 1, 1, 1))
    own, other = (random_strategy(rules, seed) for seed in (1, 2))
    table = pay_table(fold_ends="any")
    position = _Position(0, own, other, table)
    merged = canonical_deals(rules.deck, (), 3, tuple(range(24)))
    alone = canonical_deals(rules.deck, (), 3, (0,))
    assert len(merged) < len(alone) / 5
    total = sum(deal.orbit * position.means(deal) for deal in merged)
    np.testing.assert_allclose(total, sum(position.means(deal) for deal in alone), rtol=1e-12)
    # The control variate: without folds the gains are those above a stake that is lost.
    np.testing.assert_allclose(
        total[:, 0, 1] / len(alone), np.add(bonus_return(table, rules.deck).mean, 1), rtol=1e-12
    )


def test_the_weight_of_the_folds_beside_each_next_card_is_the_plain_sum():
    deck = Deck(9, 4)  # more cards than there are lanes
    board = (0, 11, 20, 35)
    hands = np.flatnonzero(~np.isin(deck.hand_cards, board).any(axis=1))
    cards = deck.hand_cards[hands]
    rng = np.random.default_rng(1)
    own, others = rng.random((2, len(hands), 70))  # three passes of LANES
    own[rng.random(own.shape) < 0.3] = 0
    blocks = -(-deck.size // LANES)
    out = np.full((len(hands), blocks, LANES), np.nan)
    scratch = np.full((deck.size, LANES), 7.0), np.full((deck.size, blocks, LANES, LANES), 7.0)
    _ended_by_card(own, others, cards, *scratch, out)
    found = out.reshape(len(hands), -1)
    holds = (cards[:, :, None] == np.arange(deck.size)).any(axis=1)
    apart = ~(holds[:, None] & holds).any(axis=2)
    weight = (own @ others.T) * apart
    for card in set(range(deck.size)) - set(board):
        beside = ~holds[:, card]
        np.testing.assert_allclose(found[beside, card], (weight @ beside)[beside], rtol=1e-12)


@pytest.mark.parametrize("player", [0, 1])
def test_the_factors_of_a_fold_are_the_products_along_its_history(player):
    rules = SMALL["ten cards"]
    own, other = (random_strategy(rules, seed) for seed in (1, 2))
    position = _Position(player, own, other, pay_table(fold_ends="any"))
    tree = own.tree
    board = (1, 4, 7)
    hands = np.flatnonzero(~np.isin(rules.deck.hand_cards, board).any(axis=1))
    reach = position._follow(1, board, hands, hands, position.reach, _Scratch(position))
    boards = ((), board)
    found = []
    for node in np.flatnonzero((tree.folded >= 0) & (tree.round <= 1)):
        factors = np.ones((2, len(hands)))
        child = int(node)
        while child:
            parent = int(tree.parent[child])
            side = int(tree.kind[parent] != player)
            strategy, index = (own, other)[side], int(tree.round[parent])
            buckets = strategy.abstraction.lookup(index, hands, np.array(boards[index], int))
            slot = tree.action_slot[parent] + child - tree.first_child[parent]
            factors[side] *= strategy.tables[index][buckets, slot]
            child = parent
        found.append((tree.round[node], factors))
    found.sort(key=lambda entry: entry[0])
    expected = np.array([factors for _, factors in found if factors.any(axis=1).all()])
    ends = reach[:, :, : position.folds[2]]
    alive = ends.any(axis=1).all(axis=0)
    np.testing.assert_allclose(ends[:, :, alive].transpose(2, 0, 1), expected, rtol=1e-6)


@pytest.mark.parametrize("flops", [0, -3, 10**11, "some", 2.5, True])
def test_a_bad_number_of_flops_is_refused(flops):
    with pytest.raises(ValueError, match='flops must be "all" or a positive number'):
        strategy_bonus_return(pay_table((0,)), "random", flops=flops, rules=SMALL["flop"])


def test_what_makes_no_sense_is_refused():
    table = pay_table((0,), fold_ends="any")
    rules = SMALL["flop"]
    with pytest.raises(ValueError, match="needs rules"):
        strategy_bonus_return(table, "random")
    with pytest.raises(ValueError, match="unknown strategy 'nobody'"):
        strategy_bonus_return(table, "random", "nobody", rules=rules)
    with pytest.raises(ValueError, match="not for flop-limit"):
        strategy_bonus_return(table, random_strategy(SHORT, 1), rules=preset("flop-limit"))
    with pytest.raises(ValueError, match="not for short-limit"):
        strategy_bonus_return(table, random_strategy(SHORT, 1), random_strategy(rules, 1))
    with pytest.raises(ValueError, match="needs two hole cards and boards of 0-3-4-5 cards"):
        strategy_bonus_return(pay_table(), "random", rules=SHORT)
    with pytest.raises(ValueError, match="seed must not be negative"):
        strategy_bonus_return(table, "random", flops=2, seed=-1, rules=rules)
    with pytest.raises(ValueError, match="threads must be a positive number"):
        strategy_bonus_return(table, "random", threads=0, rules=rules)

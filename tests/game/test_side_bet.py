"""The side bet: pay tables, settled hands, and exact returns against published counts and enumeration."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import Deck, hand_strength, new_hand, parse_cards, preset
from nashfold.game.bonus import (
    EXAMPLE,
    HAND_CLASSES,
    INTERVALS,
    MAX_CREDITS,
    BonusBet,
    PayTable,
)
from nashfold.game.bonus_return import bonus_return, class_counts
from nashfold.game.strength import CATEGORIES, MAX_STRENGTH

CASINO = preset("casino-limit")
# Field case GM-25: five cards, everything else loses; GM-27 has a second table under another name.
TABLE_A = """
name = "A"
[flop]
"pair of jacks or better" = 2
"two pair" = 4
"three of a kind" = 6
"straight" = 8
"flush" = 12
"full house" = 20
"four of a kind" = 50
"straight flush" = 100
"""
TABLE_B = TABLE_A.replace('"A"', '"B"').replace("= 12", "= 10").replace("= 20", "= 15")
SMALL = """
name = "small"
[flop]
"pair" = 0.5
"flush" = 3
[turn]
"two pair" = 1.5
[river]
"three of a kind" = 2
"full house" = 4
"""

# Published numbers of hands, high card to straight flush (royal flushes included) and royal flushes.
CATEGORY_COUNTS = {
    5: ([1302540, 1098240, 123552, 54912, 10200, 5108, 3744, 624, 40], 4),
    6: ([6612900, 9730740, 2532816, 732160, 361620, 205792, 165984, 14664, 1844], 188),
    7: ([23294460, 58627800, 31433400, 6461620, 6180020, 4047644, 3473184, 224848, 41584], 4324),
}  # fmt: skip


def only(interval: str = "flop", **keys) -> PayTable:
    """A table with one interval."""
    lines = keys.pop("lines", {"pair": 1})
    return PayTable.from_dict({"name": "test", interval: lines, **keys})


def class_of(cards) -> int:
    """Class of the best five cards, by the rules of poker alone."""
    return max(_class_of_five(five) for five in combinations(cards, 5))


def _class_of_five(five: tuple[int, ...]) -> int:
    ranks = Counter(card // 4 for card in five)
    shape = sorted(ranks.values(), reverse=True)
    distinct = sorted(ranks)
    flush = len({card % 4 for card in five}) == 1
    straight = len(ranks) == 5 and (distinct[4] - distinct[0] == 4 or distinct == [0, 1, 2, 3, 12])
    if flush and straight:
        name = "royal flush" if distinct[0] == 8 else "straight flush"
    elif shape == [2, 1, 1, 1]:
        return 1 + max(ranks, key=lambda rank: ranks[rank])
    else:
        names = {
            "four of a kind": shape == [4, 1],
            "full house": shape == [3, 2],
            "flush": flush,
            "straight": straight,
            "three of a kind": shape == [3, 1, 1],
            "two pair": shape == [2, 2, 1],
            "high card": True,
        }
        name = next(name for name, holds in names.items() if holds)
    return HAND_CLASSES.index(name)


# Exact returns --------------------------------------------------------------------------------------


def test_field_case_two_pay_tables_have_their_own_exact_returns():
    """GM-27: expected profits over the 2,598,960 hands of five cards."""
    a, b = (bonus_return(PayTable.from_toml(text)) for text in (TABLE_A, TABLE_B))
    assert (a.pay_table, a.kind, a.intervals) == ("A", "exact", ("flop",))
    assert a.exact_mean == (a.exact_total_mean,) == ("-77591/649740",)
    assert a.mean == (pytest.approx(-0.119419, abs=5e-7),)
    assert (b.pay_table, b.mean) == ("B", (pytest.approx(-0.130552, abs=5e-7),))
    hits = 337920 + 123552 + 54912 + 10200 + 5108 + 3744 + 624 + 40
    assert a.hit_frequency == b.hit_frequency == (pytest.approx(hits / 2598960, rel=1e-15),)


def test_the_standard_deviation_of_a_table_by_hand():
    """From the published counts alone."""
    counts = [337920, 123552, 54912, 10200, 5108, 3744, 624, 40]
    pays = [2, 4, 6, 8, 12, 20, 50, 100]
    rest = 2598960 - sum(counts)
    square = Fraction(sum(n * x * x for n, x in zip(counts, pays, strict=True)) + rest, 2598960)
    variance = square - Fraction(-77591, 649740) ** 2
    result = bonus_return(PayTable.from_toml(TABLE_A))
    assert result.standard_deviation == (pytest.approx(float(variance) ** 0.5, rel=1e-14),)
    assert result.total_standard_deviation == result.standard_deviation[0]


@pytest.mark.parametrize("size", [5, 6, 7])
def test_counts_by_category_are_the_published_ones(size):
    counts = class_counts(Deck())
    marginal = counts.sum(axis=tuple({0, 1, 2} - {size - 5}))
    # How often a set of that size occurs: by its turn and river, or by what of it is the turn ...
    times = {5: 47 * 46, 6: 6 * 46, 7: 7 * 6}[size]
    assert (marginal % times == 0).all()
    hands = (marginal // times).tolist()
    by_category = [hands[0], sum(hands[1:14]), *hands[14:20], hands[20] + hands[21]]
    assert (by_category, hands[21]) == CATEGORY_COUNTS[size]
    assert sum(hands) == comb(52, size)


def test_no_card_makes_a_hand_worse():
    counts = class_counts(Deck())
    first, second, third = np.nonzero(counts)
    assert (first <= second).all()
    assert (second <= third).all()


@pytest.mark.parametrize("deck", [Deck(3, 4), Deck(4, 3), Deck(6, 2), Deck(7, 1)], ids=str)
def test_counts_of_small_decks_by_plain_enumeration(deck):
    """Every set of five cards with every turn and river, hands judged by the rules of poker."""
    cards = [int(card) for card in deck.cards]
    known = {frozenset(hand): class_of(hand) for size in (5, 6, 7) for hand in combinations(cards, size)}
    expected = np.zeros((len(HAND_CLASSES),) * 3, np.int64)
    for five in map(frozenset, combinations(cards, 5)):
        for turn, river in permutations([card for card in cards if card not in five], 2):
            expected[known[five], known[five | {turn}], known[five | {turn, river}]] += 1
    np.testing.assert_array_equal(class_counts(deck), expected)


def test_the_return_on_a_small_deck_by_plain_enumeration():
    """Two hole cards and a board dealt in order, settled one by one."""
    deck = Deck(3, 3)
    table = replace(PayTable.from_toml(SMALL), stake="once")
    cards = [int(card) for card in deck.cards]
    profits: dict[str, list[Fraction]] = {}
    for hole in combinations(cards, 2):
        rest = [card for card in cards if card not in hole]
        for flop in combinations(rest, 3):
            for turn, river in permutations([card for card in rest if card not in flop], 2):
                settled = table.profits(hole, (*flop, turn, river))
                for interval, profit in (settled | {"sum": sum(settled.values())}).items():
                    profits.setdefault(interval, []).append(profit)
    result = bonus_return(table, deck)
    found = zip(
        (*result.intervals, "sum"),
        (*result.exact_mean, result.exact_total_mean),
        (*result.standard_deviation, result.total_standard_deviation),
        strict=True,
    )
    for interval, mean, deviation in found:
        values = profits[interval]
        expected = sum(values) / len(values)
        assert Fraction(mean) == expected
        variance = sum((value - expected) ** 2 for value in values) / len(values)
        assert deviation == pytest.approx(float(variance) ** 0.5, rel=1e-12)


def test_the_joint_distribution_is_what_another_evaluator_draws():
    """Mean and variance of the sum within four standard errors, by phevaluator on random deals."""
    phevaluator = pytest.importorskip("phevaluator")
    table = PayTable.from_toml(SMALL)
    # The best and the worst of its ranks, 1 (royal flush) to 7462, in each category of the table.
    flop = {(3326, 6185): 0.5, (323, 1599): 3}
    turn = {(2468, 3325): 1.5}
    river = {(1610, 2467): 2, (167, 322): 4}
    rng = np.random.default_rng(3)
    sums = []
    for _ in range(40_000):
        deal = rng.choice(52, 7, replace=False).tolist()
        total = 0.0
        for size, pays in zip((5, 6, 7), (flop, turn, river), strict=True):
            rank = phevaluator.evaluate_cards(*deal[:size])
            total += next((pay for (best, worst), pay in pays.items() if best <= rank <= worst), -1)
        sums.append(total)
    sample = np.array(sums)
    result = bonus_return(table)
    mean, deviation = result.total_mean, result.total_standard_deviation
    assert abs(sample.mean() - mean) < 4 * deviation / len(sample) ** 0.5
    squares = (sample - mean) ** 2
    assert abs(squares.mean() - deviation**2) < 4 * squares.std() / len(sample) ** 0.5
    # The intervals share cards: taken for independent they would give a smaller variance.
    apart = sum(value**2 for value in result.standard_deviation)
    assert deviation**2 - apart > 10 * squares.std() / len(sample) ** 0.5


def test_a_stake_paid_once_changes_means_by_the_missed_stakes():
    each = bonus_return(EXAMPLE)
    once = bonus_return(replace(EXAMPLE, stake="once"))
    for mean, other, hits in zip(each.mean, once.mean, each.hit_frequency, strict=True):
        assert other == pytest.approx(mean + 1 - hits, rel=1e-12)
    assert once.total_mean == pytest.approx(sum(once.mean) - 1, rel=1e-12)
    assert once.hit_frequency == each.hit_frequency


def test_means_add_up_and_the_name_is_told():
    result = bonus_return(EXAMPLE)
    assert result.pay_table == EXAMPLE.name
    assert "example" in EXAMPLE.name
    assert Fraction(result.exact_total_mean) == sum(map(Fraction, result.exact_mean))
    assert result.intervals == INTERVALS


def test_a_deck_without_seven_cards_is_refused():
    with pytest.raises(ValueError, match="6 cards has no hands of seven"):
        bonus_return(EXAMPLE, Deck(3, 2))


# Hands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "winnings"),
    [
        # The board's aces are both players' full house: a tie.
        ("call check  check check  check check  check check", 0),
        ("call check  bet:2 fold", 2),
        ("call check  check bet:2 fold", -2),
    ],
)
@pytest.mark.parametrize("fold_ends", ["never", "player", "any"])
def test_field_case_the_bonus_is_paid_whatever_becomes_of_the_hand(line, winnings, fold_ends):
    """GM-25: three fours on the flop pay 60 for 10 staked; the hand's own result is apart."""
    table = replace(PayTable.from_toml(TABLE_A), fold_ends=fold_ends)
    hand = new_hand(CASINO, ("4s4d", "4h2s"), "4cAhThAsAc")
    for action in line.split():
        hand = hand.play(action)
    assert hand.is_over
    assert BonusBet(table, 5).profits(hand, 0) == {"flop": 30}
    assert BonusBet(table, 5).profits(hand, 1) == {"flop": -5}
    assert 10 * table.profits("4s4d", "4cAhTh")["flop"] == 60
    assert hand.winnings == (winnings, -winnings)


FULL_HOUSE_LATE = ("KsKd", "7h2s"), "9c5d3hKc9s"  # nothing but a pair, three of a kind, full house


@pytest.mark.parametrize(
    ("fold_ends", "folds", "expected"),
    [
        ("never", 0, {"flop": 0.5, "turn": -1, "river": 4}),
        ("never", 1, {"flop": 0.5, "turn": -1, "river": 4}),
        ("player", 0, {"flop": 0.5, "turn": -1, "river": -1}),
        ("player", 1, {"flop": 0.5, "turn": -1, "river": 4}),
        ("any", 0, {"flop": 0.5, "turn": -1, "river": -1}),
        ("any", 1, {"flop": 0.5, "turn": -1, "river": -1}),
    ],
)
@pytest.mark.parametrize("when", ["flop", "turn"])
def test_whose_fold_ends_the_bonus_and_what_a_forfeit_costs(fold_ends, folds, expected, when):
    table = replace(PayTable.from_toml(SMALL), fold_ends=fold_ends)
    hand = new_hand(CASINO, *FULL_HOUSE_LATE)
    for action in ("call", "check", *(() if when == "flop" else ("check", "check"))):
        hand = hand.play(action)
    size = 2 if when == "flop" else 4
    for action in (f"bet:{size}", "fold") if folds == 1 else ("check", f"bet:{size}", "fold"):
        hand = hand.play(action)
    assert hand.betting.folded == folds
    assert BonusBet(table, 2).profits(hand, 0) == {key: 2 * profit for key, profit in expected.items()}
    returned = BonusBet(replace(table, forfeit="returned")).profits(hand, 0)
    forfeits = fold_ends == "any" or (fold_ends == "player" and folds == 0)
    assert returned["river"] == (0 if forfeits else 4)
    assert returned["turn"] == (0 if forfeits and when == "flop" else -1)
    once = BonusBet(replace(table, stake="once"), 3).profits(hand, 0)
    assert once == {"stake": -3, "flop": 1.5, "turn": 0, "river": 0 if forfeits else 12}


@pytest.mark.parametrize("fold_ends", ["player", "any"])
def test_a_fold_before_the_flop_forfeits_everything(fold_ends):
    table = replace(PayTable.from_toml(SMALL), fold_ends=fold_ends)
    hand = new_hand(CASINO, *FULL_HOUSE_LATE).play("fold")
    bets = {player: BonusBet(table).profits(hand, player) for player in (0, 1)}
    assert bets[1] == dict.fromkeys(INTERVALS, -1)
    lost = dict.fromkeys(INTERVALS, -1)
    assert bets[0] == (lost if fold_ends == "any" else {"flop": 0.5, "turn": -1, "river": 4})


def test_intervals_are_settled_as_the_cards_come():
    bet = BonusBet(PayTable.from_toml(SMALL), 4)
    hand = new_hand(CASINO, *FULL_HOUSE_LATE)
    seen = [bet.profits(hand, 0)]
    for action in ("call", "check", "check", "check", "check", "check"):
        hand = hand.play(action)
        seen.append(bet.profits(hand, 0))
    before, flop = {}, {"flop": 2}
    turn, river = flop | {"turn": -4}, flop | {"turn": -4, "river": 16}
    assert seen == [before, before, flop, flop, turn, turn, river]


@pytest.mark.parametrize("credits", [1, MAX_CREDITS])
def test_one_to_five_credits_may_be_staked(credits):
    assert BonusBet(EXAMPLE, credits).credits == credits


@pytest.mark.parametrize("credits", [0, 6, -1, 2.0, 1.5, True, "3", None])
def test_other_stakes_are_refused(credits):
    with pytest.raises(ValueError, match="1 to 5 whole credits"):
        BonusBet(EXAMPLE, credits)


@pytest.mark.parametrize(
    ("hole", "board", "ended", "message"),
    [
        ("As", "", None, "two hole cards"),
        ("AsKs", "QsJs", None, "0 or 3 to 5"),
        ("AsKs", "QsJsTs9s8s7s", None, "0 or 3 to 5"),
        ("AsKs", "AsJsTs", None, "named twice"),
        ("AsKs", "QsJsTs", 2, "cannot end in round 2 on a board of 3"),
        ("AsKs", "", 1, "cannot end in round 1"),
        ("AsKs", "QsJsTs", -1, "cannot end in round -1"),
        ("AsKs", "QsJsTs9s8s", 4, "cannot end in round 4"),
    ],
)
def test_cards_that_do_not_make_a_hand_are_refused(hole, board, ended, message):
    with pytest.raises(ValueError, match=message):
        EXAMPLE.profits(hole, board, ended)


@pytest.mark.parametrize("name", ["short-limit", "flop-limit", "kuhn", "leduc"])
def test_games_without_the_cards_of_an_interval_are_refused(name):
    with pytest.raises(ValueError, match=r"needs two hole cards and boards of 0-3-4-5 cards"):
        EXAMPLE.check_fits(preset(name))


@pytest.mark.parametrize(
    ("name", "interval"), [("flop-limit", "flop"), ("short-limit", "turn"), ("acpc-nolimit", "river")]
)
def test_games_with_the_cards_of_all_intervals_will_do(name, interval):
    only(interval).check_fits(preset(name))


# Pay tables -----------------------------------------------------------------------------------------


def strength(text: str) -> int:
    return int(hand_strength(np.array(parse_cards(text))))


def test_jacks_or_better_begins_with_the_worst_jacks():
    pays = only(lines={"pair of jacks or better": 2}).profit_by_strength(0)
    assert pays[strength("JsJd4h3s2c")] == 2
    assert pays[strength("JsJd4h3s2c") - 1] == pays[strength("TsTdAhKsQc")] == -1
    assert pays[strength("AsAdKhQsJc")] == 2
    assert pays[strength("AsAdKhQsJc") + 1] == pays[strength("3s3d2h2s4c")] == -1


@pytest.mark.parametrize("place", range(13))
def test_the_pairs_of_every_rank_have_a_line(place):
    letter = "23456789TJQKA"[place]
    word = HAND_CLASSES[1 + place].removeprefix("pair of ")
    table = only(lines={f"pair of {word} or better": 1})
    assert only(lines={f"Pair of {letter} or better": 1}) == table
    pays = table.profit_by_strength(0)
    others = [rank for rank in "23456789TJQKA" if rank != letter]
    assert pays[strength(f"{letter}s{letter}d{others[0]}h{others[1]}h{others[2]}c")] == 1
    assert (pays == 1).sum() == 220 * (13 - place)


def test_the_narrowest_line_of_a_hand_holds_in_whatever_order_they_stand():
    lines = {
        "straight flush": 50,
        "royal flush": 500,
        "pair of Q or better": 3,
        "pair": 0,
        "pair of tens or better": 1,
    }
    pays = only(lines=lines).profit_by_strength(0)
    assert pays[strength("AsKsQsJsTs")] == 500
    assert pays[strength("KsQsJsTs9s")] == 50
    by_rank = [pays[strength(f"{rank}s{rank}d4h3s2c")] for rank in "56789TJQKA"]
    assert by_rank == [0, 0, 0, 0, 0, 1, 1, 3, 3, 3]
    assert pays[strength("AsKsQsJsTd")] == -1
    assert only(lines=dict(reversed(lines.items()))).profit_by_strength(0).tolist() == pays.tolist()


def test_a_royal_flush_without_a_line_is_a_straight_flush():
    pays = only(lines={"straight flush": 50}).profit_by_strength(0)
    assert pays[MAX_STRENGTH] == 50
    assert (pays == 50).sum() == 10


def test_profits_by_strength_at_their_ends():
    table = only("turn", lines={"high card": 0.25})
    pays = table.profit_by_strength(1)
    assert pays.dtype == np.float64
    assert pays.shape == (MAX_STRENGTH + 1,)
    assert pays[0] == table.forfeit_profit == -1
    assert pays[1] == pays[1277] == 0.25
    assert pays[1278] == -1
    for change in ({"stake": "once"}, {"forfeit": "returned"}):
        assert replace(table, **change).profit_by_strength(1)[0] == 0
    assert replace(table, stake="once").start_profit == -1
    with pytest.raises(ValueError, match="no interval 0"):
        table.profit_by_strength(0)


pay_numbers = st.one_of(
    st.integers(0, 10**6), st.integers(0, 10**7).map(lambda n: n / 10_000), st.just(0.1)
)
line_names = st.sampled_from(
    [*CATEGORIES, "royal flush", *(f"pair of {rank} or better" for rank in "3456789TJQKA")]
)
lines = st.dictionaries(line_names, pay_numbers, max_size=8)


@settings(max_examples=30, deadline=None)
@given(
    st.text(min_size=1).filter(lambda name: name.strip() and name.isprintable()),
    st.tuples(lines, lines, lines).filter(any),
    st.sampled_from(["each", "once"]),
    st.sampled_from(["never", "player", "any"]),
    st.sampled_from(["lost", "returned"]),
)
def test_a_table_written_as_toml_reads_back_the_same(name, rows, stake, fold_ends, forfeit):
    table = PayTable(name, rows, stake, fold_ends, forfeit)
    assert PayTable.from_toml(table.to_toml()) == table
    assert hash(PayTable.from_toml(table.to_toml())) == hash(table)
    assert table.intervals == tuple(index for index, row in enumerate(rows) if row)


def test_pays_are_the_decimals_that_were_written():
    text = SMALL + '"four of a kind" = 0.1\n"straight" = 1_000.5\n'
    pays = dict(PayTable.from_toml(text).lines[2])
    assert pays["four of a kind"] == Fraction(1, 10)
    assert pays["straight"] == Fraction(2001, 2)


def test_a_table_from_a_file(tmp_path):
    file = tmp_path / "table.toml"
    file.write_text(TABLE_A)
    assert PayTable.from_toml(file) == PayTable.from_toml(str(file)) == PayTable.from_toml(TABLE_A)
    file.write_text(TABLE_A.replace("= 12", "= -12"))
    with pytest.raises(ValueError, match=r"table\.toml: pay table A, flop: flush pays -12"):
        PayTable.from_toml(file)
    with pytest.raises(ValueError, match=r"cannot read .*missing\.toml: No such file"):
        PayTable.from_toml(tmp_path / "missing.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs a name"),
        ("[flop]\npair = 1", "needs a name"),
        ('name = " "\n[flop]\npair = 1', "needs a name"),
        ('name = 7\n[flop]\npair = 1', "needs a name"),
        ('name = "two\\nlines"\n[flop]\npair = 1', "needs a name in one line"),
        ('name = "x"', "x is empty: give lines"),
        ('name = "x"\n[flop]', "flop is a table of lines and pays"),
        ('name = "x"\nflop = 3', "flop is a table of lines and pays"),
        ('name = "x"\n[preflop]\npair = 1', "unknown key 'preflop': a pay table has name, stake"),
        ('name = "x"\nstake = "twice"\n[flop]\npair = 1', "stake is one of each, once, not 'twice'"),
        ('name = "x"\nfold_ends = true\n[flop]\npair = 1', "fold_ends is one of never, player, any"),
        ('name = "x"\nforfeit = []\n[flop]\npair = 1', "forfeit is one of lost, returned"),
        ('name = "x"\n[flop]\ntrips = 1', "unknown line 'trips': lines are high card, pair"),
        ('name = "x"\n[flop]\n"pair of jacks" = 1', "unknown line 'pair of jacks'"),
        ('name = "x"\n[flop]\n"pair of 1 or better" = 1', "unknown line"),
        ('name = "x"\n[turn]\npair = -1', "turn: pair pays -1: a pay is a number"),
        ('name = "x"\n[turn]\npair = true', "pair pays True"),
        ('name = "x"\n[turn]\npair = "3"', "pair pays '3'"),
        ('name = "x"\n[turn]\npair = nan', "pair pays nan"),
        ('name = "x"\n[turn]\npair = inf', "pair pays inf"),
        ('name = "x"\n[turn]\npair = 1e999999999', "pair pays inf"),
        ('name = "x"\n[turn]\npair = 0.00001', "four decimals at most"),
        ('name = "x"\n[turn]\npair = 1000001', "0 to 1,000,000"),
        ('name = "x"\n[turn]\npair = {to = 1}', "a pay is a number"),
        ('name = "x"\n[turn]\npair = 1\nPair = 2', "'Pair' and 'pair' are the same hands"),
        ('name = "x"\n[turn]\npair = 1\n"pair of 2 or better" = 2', "are the same hands"),
        ('name = "x"\n[turn]\n"pair of T or better" = 1\n"pair of 10 or better" = 2', "the same hands"),
        ('name = "x"\n[turn]\npair', "line 3"),
    ],
)  # fmt: skip
def test_a_table_that_makes_no_sense_is_refused_in_one_line(text, message):
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        PayTable.from_toml(text + "\n")
    assert "\n" not in str(error.value)

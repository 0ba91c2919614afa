"""Bet sizes: the chips that a text stands for, in exact arithmetic, and menus of them."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nashfold.game import Action, Betting, preset
from nashfold.game.bet_sizes import BetSize, menu_bets, parse_menu

RULES = preset("acpc-nolimit")


def after(line: str, stacks: tuple[int, int] = (20_000, 20_000)) -> Betting:
    """The betting after actions in words."""
    betting = Betting.start(replace(RULES, stacks=stacks))
    for word in line.split():
        betting = betting.play(word)
    return betting


def bets(menu: str, betting: Betting) -> list[str]:
    return [str(betting.raise_action(chips)) for chips in menu_bets(parse_menu(menu), betting).values()]


@pytest.mark.parametrize(("percent", "chips"), [("57", 57), ("29", 29), ("115", 115)])
def test_percentages_of_the_pot_are_exact(percent, chips):
    """GM-18: floating-point numbers give 56, 28 and 114."""
    assert BetSize.parse(f"{percent}%").step(pot=100, bet=0) == chips


@pytest.mark.parametrize(
    ("text", "pot", "bet", "chips"),
    [
        ("50%", 25, 0, 13),  # halves of a chip go up
        ("50%", 27, 0, 14),
        ("33.3%", 1000, 0, 333),
        ("33.35%", 1000, 0, 334),
        ("2.5x", 99, 1, 2),  # to 2.5, so to 3
        ("2.5x", 99, 3, 5),
        ("3x", 0, 40, 80),
        ("2x", 99, 0, None),
        ("20c", 7, 3, 20),
        ("a", 7, 3, None),
    ],
)
def test_chips_on_top_of_the_previous_bet(text, pot, bet, chips):
    assert BetSize.parse(text).step(pot, bet) == chips


@given(
    percent=st.decimals("0.000001", 10_000, places=6),
    pot=st.integers(0, 2 * 10**9),
)
def test_the_nearest_chips_are_never_more_than_half_a_chip_away(percent, pot):
    size = BetSize.parse(f"{percent:f}%")
    chips = size.step(pot, 0)
    assert isinstance(chips, int)
    assert -Fraction(1, 2) < chips - Fraction(percent) * pot / 100 <= Fraction(1, 2)
    assert BetSize.parse(str(size)) == size


@pytest.mark.parametrize("text", ["50%", "33.3%", "2.5x", "0.000001%", "999999999c", "a"])
def test_sizes_read_back(text):
    assert str(BetSize.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("half", "'half' is not a bet size: write sizes such as 50%, 2.5x, 20c, or a"),
        ("50", "is not a bet size"),
        ("-5%", "is not a bet size"),
        ("1e3c", "is not a bet size"),
        ("50%%", "is not a bet size"),
        ("\u0665\u0660%", "is not a bet size"),  # digits, but not ours
        ("1.0000001x", "is not a bet size"),
        ("0%", "'0%' must be above 0%"),
        ("1x", "'1x' must be above 1x"),
        ("0c", "'0c' must be above 0c"),
        ("2.5c", "chips are whole numbers"),
    ],
)
def test_what_is_no_size_is_refused(text, message):
    with pytest.raises(ValueError, match=message) as error:
        parse_menu(f"50%;{text}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["50%;2.5x;a", "50% 2.5x a", " 50%, 2.5x;;a "])
def test_menus_are_separated_by_semicolons_commas_or_blanks(text):
    assert list(map(str, parse_menu(text))) == ["50%", "2.5x", "a"]


def test_an_empty_menu_is_refused():
    with pytest.raises(ValueError, match="at least one size"):
        parse_menu(" ; ")


@pytest.mark.parametrize(
    ("line", "menu", "expected"),
    [
        ("", "50% 100%", ["raise-to:200", "raise-to:300"]),  # the small blind calls 50 first
        ("", "2.5x 150c", ["raise-to:250"]),  # both 250: the first one stays
        ("call", "50% 100%", ["raise-to:200", "raise-to:300"]),
        ("raise-to:300", "50% 100%", ["raise-to:600", "raise-to:900"]),
        ("raise-to:300", "2x 300c 2.5x", ["raise-to:600", "raise-to:750"]),
        ("call check", "33% 50% 75% 2x", ["bet:100", "bet:150"]),  # 66 is too small, no bet to double
        ("raise-to:300 call bet:200", "50% 3x 250c", ["raise-to:700", "raise-to:600", "raise-to:450"]),
        ("raise-to:20000", "50% a", []),
    ],
)
def test_sizes_follow_the_conventions_of_bet_and_raise(line, menu, expected):
    """A bet is a share of the pot; a raise is the previous bet and a share of the pot after calling."""
    assert bets(menu, after(line)) == expected


def test_pots_of_the_field_case():
    """GM-17: r300, r900; then half the pot, to 1800, gives way to all-in; deep, it is to 600."""
    short = (1000, 1000)
    assert bets("50% 100% a", after("", short)) == ["raise-to:200", "raise-to:300", "raise-to:1000"]
    assert "raise-to:900" in bets("50% 100% a", after("raise-to:300", short))
    assert bets("50% 100% a", after("raise-to:300 raise-to:900", short)) == ["raise-to:1000"]
    assert bets("50% 100% a", after("raise-to:300"))[0] == "raise-to:600"


def test_sizes_beyond_all_in_become_it_only_where_the_menu_has_none():
    betting = after("raise-to:300", (1000, 1000))
    assert menu_bets(parse_menu("100% 3x 4x"), betting) == {0: 900, 2: 1000}
    assert menu_bets(parse_menu("4x 100% 200% a"), betting) == {1: 900, 3: 1000}
    assert menu_bets(parse_menu("4x 5x 200%"), betting) == {0: 1000}


def test_a_short_all_in_is_the_first_size_that_is_too_small_for_a_raise():
    betting = after("raise-to:900", (1000, 1000))  # a full raise would be to 1700
    assert betting.raise_bounds() == (1000, 1000)
    assert menu_bets(parse_menu("5% a"), betting) == {0: 1000}
    assert menu_bets(parse_menu("50% a"), betting) == {1: 1000}


SIZES = st.one_of(
    st.just("a"),
    st.integers(1, 400).map("{}%".format),
    st.integers(1, 3000).map("{}c".format),
    st.integers(101, 900).map(lambda number: f"{number / 100}x"),
)


@given(
    menu=st.lists(SIZES, min_size=1, max_size=5),
    stacks=st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
    choices=st.lists(st.integers(0, 9), max_size=12),
)
def test_every_bet_of_a_menu_is_legal_and_different(menu, stacks, choices):
    """GM-17, at every node of random lines: `play` takes each bet, and all-in is on offer if listed."""
    sizes = parse_menu(" ".join(menu))
    betting = Betting.start(replace(RULES, stacks=stacks))
    for choice in choices:
        found = menu_bets(sizes, betting)
        assert len(set(found.values())) == len(found)
        raises = [betting.raise_action(chips) for chips in found.values()]
        for action in raises:
            betting.play(action)
        bounds = betting.raise_bounds()
        if bounds is None:
            assert not found
        elif "a" in menu:
            assert bounds[1] in found.values()
        elif any(size.unit != "x" for size in sizes):
            assert found
        actions: list[Action] = [*betting.passive_actions()[-1:], *raises]
        if not actions:
            break
        betting = betting.play(actions[choice % len(actions)])


@pytest.mark.parametrize(
    ("text", "pot", "behind", "rounds", "chips"),
    [
        ("e", 200, 800, 1, 800),  # the last bet is all-in
        ("e", 200, 800, 2, 200),  # 200 into 200, then 600 into 600
        ("2e", 200, 800, 3, 200),
        ("e", 100, 1300, 3, 100),  # 100, 300, 900: pots of 100, 300, 900
        ("1e", 7, 3, 3, 3),
        ("e", 100, 0, 3, 0),
    ],
)
def test_geometric_sizes_put_the_stack_in_with_equal_shares(text, pot, behind, rounds, chips):
    assert BetSize.parse(text).step(pot, 0, behind, rounds) == chips
    assert str(BetSize.parse(text)) == text


@given(pot=st.integers(1, 10**6), behind=st.integers(0, 10**6), bets=st.integers(1, 6))
def test_geometric_sizes_are_the_nearest_chips(pot, behind, bets):
    exact = pot * ((1 + 2 * behind / pot) ** (1 / bets) - 1) / 2
    assert abs(BetSize.parse(f"{bets}e").step(pot, 0, behind) - exact) <= 0.5 + 1e-9 * (pot + behind)


def test_geometric_sizes_go_by_the_shorter_stack_and_the_rounds_left():
    flop = after("raise-to:200 call", (1000, 20_000))  # 400 in the pot, 800 behind
    assert flop.to_act == 0
    assert bets("e 2e 1e", flop) == ["bet:142", "bet:247", "bet:800"]
    # Player 1 may bet more than player 0 has; geometric sizes need no more than that.
    assert bets("1e a", flop.play("check")) == ["bet:800", "bet:19800"]


def test_the_smallest_bet_and_raise():
    assert bets("min", after("raise-to:300")) == ["raise-to:500"]
    assert bets("min 50%", after("call check")) == ["bet:100"]


@pytest.mark.parametrize("text", ["0e", "1.5e", "21e", "ee", "2min"])
def test_faulty_geometric_and_smallest_sizes_are_refused(text):
    with pytest.raises(ValueError, match=f"bet size '{text}'|'{text}' is not a bet size"):
        BetSize.parse(text)

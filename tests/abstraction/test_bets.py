"""Bet menus: values read and written, sizes by round and raise, and legality at random states."""

import tomllib
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.abstraction.bets import MENUS, BetMenu
from nashfold.game import Betting, preset
from nashfold.game.toml_file import toml_value

RULES = preset("acpc-nolimit")


def after(line: str, stacks: tuple[int, int] = (20_000, 20_000)) -> Betting:
    betting = Betting.start(replace(RULES, stacks=stacks))
    for word in line.split():
        betting = betting.play(word)
    return betting


def on_offer(value, betting: Betting) -> list[str]:
    return [str(action) for action in BetMenu.from_value(value).actions(betting)]


def test_presets_by_name():
    first, facing = after(""), after("raise-to:300")
    assert on_offer("fc", first) == ["fold", "call"]
    assert on_offer("fcpa", first) == ["fold", "call", "raise-to:300", "raise-to:20000"]
    assert on_offer("fchpa", facing) == [
        "fold",
        "call",
        "raise-to:600",
        "raise-to:900",
        "raise-to:20000",
    ]
    assert MENUS["full"].actions(first) == first.legal_actions()
    assert len(on_offer("dense", after("raise-to:300 call"))) == 7


def test_sizes_go_by_round_and_by_raises_made():
    menu = {"preflop": ["2.5x, a", "100%"], "turn": ["e", ""]}
    assert on_offer(menu, after("")) == ["fold", "call", "raise-to:250", "raise-to:20000"]
    assert on_offer(menu, after("raise-to:250")) == ["fold", "call", "raise-to:750"]
    # A flop that is left out is as before it, and the last entry goes on.
    assert on_offer(menu, after("call check bet:200")) == ["fold", "call", "raise-to:800"]
    flop = "raise-to:200 call check check "
    # Geometric: 400 in the pot, 19,800 behind, two rounds: 4(1 + 2f)^2 = 400.
    assert on_offer(menu, after(flop)) == ["check", "bet:1800"]
    assert on_offer(menu, after(flop + "bet:1800")) == ["fold", "call"]
    # The river is as the turn; with one round left a geometric bet is all-in.
    assert on_offer(menu, after(flop + "bet:1800 call")) == ["check", "bet:18000"]


def test_blinds_are_no_raises():
    menu = {"preflop": ["100%", "a"]}
    assert on_offer(menu, after("call")) == ["check", "raise-to:300"]


def test_the_minimum_raise_is_an_option_of_the_menu_and_a_size():
    assert on_offer({"preflop": "100%", "min_raise": True}, after("raise-to:300")) == [
        "fold",
        "call",
        "raise-to:500",
        "raise-to:900",
    ]
    assert on_offer("min, 100%", after("raise-to:300"))[2:] == ["raise-to:500", "raise-to:900"]
    assert on_offer({"preflop": ["100%", ""], "min_raise": True}, after("raise-to:300")) == [
        "fold",
        "call",
    ]


def test_thresholds_of_all_in():
    short = after("", (1000, 1000))  # 100 to call up to, 200 in the pot then, 900 behind
    sizes = "100%, 200%"
    assert on_offer({"preflop": sizes}, short)[2:] == ["raise-to:300", "raise-to:500"]
    # A raise to 500 puts in 450 of 950 chips.
    assert on_offer({"preflop": sizes, "all_in_share": 0.47}, short)[2:] == [
        "raise-to:300",
        "raise-to:1000",
    ]
    assert "raise-to:500" in on_offer({"preflop": sizes, "all_in_share": 0.48}, short)
    # After the call of 500 there are 1000 in the pot and 500 behind.
    assert "raise-to:500" not in on_offer({"preflop": sizes, "force_all_in": 0.5}, short)
    assert "raise-to:500" in on_offer({"preflop": sizes, "force_all_in": 0.49}, short)
    # All-in is 900 on top, 4.5 pots.
    assert on_offer({"preflop": sizes, "add_all_in": 4.5}, short)[-1] == "raise-to:1000"
    assert on_offer({"preflop": sizes, "add_all_in": 4.4}, short)[-1] == "raise-to:500"


def test_limit_games_have_one_bet_or_none():
    betting = Betting.start(preset("acpc-limit"))
    for name, menu in MENUS.items():
        expected = betting.passive_actions() if name == "fc" else betting.legal_actions()
        assert menu.actions(betting) == expected


VALUES = [
    *MENUS,
    "min, 33.5%, 2e, e",
    {"preflop": ["2.5x, a", "100%"], "turn": ["e", ""]},
    {"preflop": "50%", "min_raise": True, "all_in_share": 0.67, "add_all_in": 2, "force_all_in": 0.15},
]


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_are_read_and_written(value):
    menu = BetMenu.from_value(value)
    written = menu.to_value()
    assert BetMenu.from_value(written) == menu
    assert BetMenu.from_value(tomllib.loads(f"bets = {toml_value(written, 'bets')}")["bets"]) == menu
    assert hash(BetMenu.from_value(written)) == hash(menu)
    assert BetMenu.from_value(menu) is menu
    if isinstance(value, str) and value in MENUS:
        assert written == value
    assert "\n" not in str(menu)


def test_equal_menus_are_equal_however_they_are_written():
    assert BetMenu.from_value("100%; a") == MENUS["fcpa"]
    table = {"preflop": ["100%, a", "100%, a"], "flop": "100%, a", "river": ["100%, a"]}
    assert BetMenu.from_value(table) == MENUS["fcpa"]
    assert BetMenu.from_value(table).to_value() == "fcpa"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("half", "bets: 'half' is not a bet size: .* or a preset: full, fc, fcpa, fchpa, dense"),
        (3, "bets must be full, fc, fcpa, fchpa, dense, sizes such as '50%, 100%, a', or a table"),
        ({}, "a table of bets begins with preflop"),
        ({"flop": "a"}, "a table of bets begins with preflop"),
        ({"preflop": "a", "fifth": "a"}, "unknown key 'fifth': a table of bets has preflop, flop"),
        ({"preflop": []}, "bets.preflop must be sizes, or a list of them"),
        ({"preflop": [1]}, "bets.preflop must be sizes such as"),
        ({"preflop": ["0%"]}, "bets.preflop: bet size '0%' must be above 0%"),
        ({"preflop": "a", "min_raise": 1}, "min_raise must be true or false, not 1"),
        ({"preflop": "a", "add_all_in": -1}, "add_all_in must be a positive number, not -1"),
        ({"preflop": "a", "force_all_in": True}, "force_all_in must be a positive number, not True"),
        ({"preflop": "a", "all_in_share": float("nan")}, "all_in_share must be a positive number"),
    ],
)
def test_what_is_no_menu_is_refused_in_one_line(value, message):
    with pytest.raises(ValueError, match=message) as error:
        BetMenu.from_value(value)
    assert "\n" not in str(error.value)


def test_every_legal_bet_takes_no_options():
    with pytest.raises(ValueError, match="every legal bet has no min_raise"):
        BetMenu(None, min_raise=True)


SIZES = st.one_of(
    st.sampled_from(["a", "e", "min", "1e", "2e", "3e"]),
    st.integers(1, 400).map("{}%".format),
    st.integers(1, 3000).map("{}c".format),
    st.integers(101, 900).map(lambda number: f"{number / 100}x"),
)
ENTRIES = st.lists(st.lists(SIZES, max_size=4).map(", ".join), min_size=1, max_size=3)
THRESHOLD = st.floats(0.01, 5)
TABLES = st.fixed_dictionaries(
    {"preflop": ENTRIES},
    optional={
        "flop": ENTRIES,
        "turn": ENTRIES,
        "river": ENTRIES,
        "min_raise": st.booleans(),
        "all_in_share": THRESHOLD,
        "force_all_in": THRESHOLD,
        "add_all_in": THRESHOLD,
    },
)


@settings(max_examples=60)
@pytest.mark.parametrize("name", ["acpc-nolimit", "match-nolimit", "short-nolimit"])
@given(table=TABLES, choices=st.lists(st.tuples(st.booleans(), st.integers(0, 10**6)), max_size=12))
def test_a_menu_is_legal_distinct_and_ascending_at_every_state(name, table, choices):
    """GM-17, at random states that any legal bets lead to."""
    menu = BetMenu.from_value(table)
    assert BetMenu.from_value(menu.to_value()) == menu
    betting = Betting.start(preset(name))
    for off_the_menu, choice in choices:
        actions = menu.actions(betting)
        assert len(set(actions)) == len(actions) == menu.num_actions(betting)
        assert actions[: len(betting.passive_actions())] == betting.passive_actions()
        amounts = [action.amount for action in actions if action.amount]
        assert amounts == sorted(amounts)
        for action in actions:
            assert type(action.amount) is int
            assert betting.is_legal(action)
        if betting.is_over:
            break
        bounds = betting.raise_bounds()
        if off_the_menu and bounds:
            betting = betting.play(
                betting.raise_action(bounds[0] + choice % (bounds[1] - bounds[0] + 1))
            )
        else:
            betting = betting.play(actions[-1 - choice % min(len(actions), 3)])

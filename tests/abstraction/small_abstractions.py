"""Configurations of small abstractions that several test files build."""

from nashfold.abstraction import AbstractionConfig, RoundConfig
from nashfold.game import Rules, preset

CLASSES = RoundConfig("preflop-classes")
SHORT = AbstractionConfig(
    preset("short-limit"), (CLASSES, RoundConfig("ehs2", 30), RoundConfig("ehs", 40))
)
FLOP = AbstractionConfig(preset("flop-limit"), (CLASSES, RoundConfig("ehs", 5_000)))
CLUSTERED = AbstractionConfig(
    preset("short-limit"),
    (
        RoundConfig("potential-aware", 9),
        RoundConfig("potential-aware", 8, public=3),
        RoundConfig("ochs", 20),
    ),
    seed=1,
)
PUBLIC = AbstractionConfig(
    preset("short-limit"),
    (RoundConfig("histogram-emd", 7), RoundConfig("histogram-emd", 8), RoundConfig("ehs", 5, public=4)),
    recall="perfect",
    seed=2,
)
TINY_RULES = Rules(
    betting="limit",
    blinds=(2, 1),
    bet_sizes=(2, 2, 2),
    max_bets=(2, 2, 2),
    first_player=(1, 0, 0),
    board_cards=(0, 3, 1),
    num_ranks=4,
    num_suits=3,
    name="tiny",
)

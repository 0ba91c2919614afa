import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.abstraction.build import built_round
from nashfold.experiments.plots import (
    PALETTE,
    bucket_histograms,
    bucket_map,
    bucket_scatter,
    exploitability_curve,
    strategy_grid,
)
from nashfold.game import preset
from nashfold.solver import BuiltIn

mpl.use("Agg")


def test_the_curve_shows_the_points():
    ax = exploitability_curve([(1, 100), (10, 20)], "title")
    (line,) = ax.lines
    np.testing.assert_array_equal(line.get_xydata(), [[1, 100], [10, 20]])
    assert ax.get_ylabel() == "exploitability (mbb/h)"


def test_the_grid_has_a_cell_for_every_class_split_by_action():
    ax = strategy_grid(BuiltIn("call-or-raise").table(preset("acpc-limit")))
    texts = {text.get_text(): text.get_position() for text in ax.texts}
    assert len(texts) == 169
    assert texts["AA"] == (0.5, 0.5)
    assert texts["AKs"] == (1.5, 0.5)  # suited above the diagonal
    assert texts["AKo"] == (0.5, 1.5)
    widths: dict[str, float] = {}
    for patch in ax.patches:
        colour = to_hex(patch.get_facecolor())
        widths[colour] = widths.get(colour, 0) + patch.get_width()
    assert widths[PALETTE["call"]] == pytest.approx(169 / 2)
    assert widths[PALETTE["raise-to"]] == pytest.approx(169 / 2)
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["fold", "call", "raise-to:20"]


def test_a_line_picks_the_decision():
    strategy = BuiltIn("random").table(preset("short-limit"))
    ax = strategy_grid(strategy, ["call"])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["check", "raise-to:4"]
    with pytest.raises(ValueError, match="does not end at a decision of the first round"):
        strategy_grid(strategy, ["call", "check"])
    with pytest.raises(ValueError, match="has no bet:9 here"):
        strategy_grid(strategy, ["bet:9"])


@pytest.fixture(scope="module")
def abstraction():
    rounds = (RoundConfig("preflop-classes"), RoundConfig("ehs", 12), RoundConfig("ehs2", 9))
    return build_abstraction(AbstractionConfig(preset("short-limit"), rounds))


def test_the_map_has_the_bucket_of_every_class(abstraction):
    ax = bucket_map(abstraction)
    texts = {text.get_position(): text.get_text() for text in ax.texts}
    assert len(texts) == 2 * 36
    for name, hole in (("AA", "AsAh"), ("AKs", "AdKd"), ("AKo", "AsKd"), ("99", "9s9c")):
        ((column, row),) = (place for place, text in texts.items() if text == name)
        (below,) = (text for (x, y), text in texts.items() if x == column and row < y < row + 0.5)
        assert below == str(abstraction.bucket(0, hole))


def test_the_map_of_a_board_has_the_buckets_of_the_hands_that_it_leaves(abstraction):
    board = "AsAhAd"
    ax = bucket_map(abstraction, 1, board)
    texts = {text.get_position(): text.get_text() for text in ax.texts}
    names = {text: place for place, text in texts.items()}
    column, row = names["AKs"]
    (below,) = (text for (x, y), text in texts.items() if x == column and row < y < row + 0.5)
    assert below == str(abstraction.bucket(1, "AcKc", board))  # the last ace
    column, row = names["KQo"]
    (below,) = (text for (x, y), text in texts.items() if x == column and row < y < row + 0.5)
    offsuit = {
        abstraction.bucket(1, f"K{first}Q{second}", board)
        for first in "cdhs"
        for second in "cdhs"
        if first != second
    }
    assert below == "-".join(str(bucket) for bucket in sorted({min(offsuit), max(offsuit)}))
    column, row = names["AA"]
    assert not [y for x, y in texts if x == column and row < y < row + 0.5]
    grey = [patch for patch in ax.patches if to_hex(patch.get_facecolor()) == "#d9d9d9"]
    assert [patch.get_xy() for patch in grey] == [(0, 0)]
    with pytest.raises(ValueError, match="round 1 has 3 community cards, not 2"):
        bucket_map(abstraction, 1, "AsAh")


def test_the_scatter_shows_equities_and_sizes(abstraction):
    arrays = built_round(abstraction.config, 1).arrays
    shares = 100 * arrays["size"] / arrays["size"].sum()
    (points,) = bucket_scatter(abstraction, 1).collections
    np.testing.assert_allclose(points.get_offsets(), np.stack([arrays["equity"], shares], axis=1))
    np.testing.assert_array_equal(points.get_array(), arrays["spread"])
    with pytest.raises(ValueError, match="round 0 are classes of hands"):
        bucket_scatter(abstraction, 0)


def test_the_histograms_have_the_mean_of_their_buckets(abstraction):
    figure = bucket_histograms(abstraction, 1, [0, 5, 11], number=2_000, bins=20)
    equity = built_round(abstraction.config, 1).arrays["equity"]
    assert len(figure.axes) == 3
    for ax, bucket in zip(figure.axes, (0, 5, 11), strict=True):
        assert ax.get_title() == f"bucket {bucket}: mean {equity[bucket]:.3f}"
        (shares,) = ax.patches
        values, edges = shares.get_data()[:2]
        assert values.sum() == pytest.approx(100)
        middle = (edges[1:] + edges[:-1]) / 2
        assert values @ middle / 100 == pytest.approx(equity[bucket], abs=0.025 + 4 * 0.3 / 2_000**0.5)

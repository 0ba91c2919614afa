import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex
from nashfold.experiments.plots import PALETTE, exploitability_curve, strategy_grid
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

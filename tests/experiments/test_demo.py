import json

import pytest
from nashfold.experiments import demo


@pytest.mark.slow
def test_the_demo_in_small(tmp_path, capsys):
    results = demo.demo(tmp_path, seconds=4)
    assert (tmp_path / "flop-limit.png").stat().st_size > 10_000
    assert json.loads((tmp_path / "demo.json").read_text())["seconds"] == results["seconds"]
    solved, call, fold = results["scores"]
    assert solved["kind"] == call["kind"] == fold["kind"] == "estimate"
    assert abs(fold["mbb_per_hand"] - 750) < 5 * fold["standard_error"] + 1
    assert abs(call["mbb_per_hand"] - 1163.476) < 5 * call["standard_error"] + 1
    assert solved["mbb_per_hand"] < call["mbb_per_hand"]
    assert results["match"]["hands"] == 20_000
    curve = [point["mbb_per_hand"] for point in results["flop_limit"]]
    assert min(curve) < curve[0] / 3
    assert "mbb/h" in capsys.readouterr().out


def test_a_foreign_folder_is_left_alone(tmp_path, monkeypatch, capsys):
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.setattr("sys.argv", ["demo", "--out", str(tmp_path)])
    assert demo.main() == 2
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert "choose another one" in capsys.readouterr().err

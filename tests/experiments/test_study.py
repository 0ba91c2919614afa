"""Studies: what a file says, results that are those of single runs, and going on after a break."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig
from nashfold.experiments.cli import main
from nashfold.experiments.study_entries import Contender, StudySolver
from nashfold.experiments.study_file import SHIPPED, Study, open_study
from nashfold.experiments.study_report import study_figure, study_table
from nashfold.experiments.study_run import run_study
from nashfold.game import preset
from nashfold.solver import SolveConfig, Strategy, best_response, solve
from small_abstractions import TINY_RULES

mpl.use("Agg")
CLASSES = RoundConfig("preflop-classes")


def contender(name: str, *rounds: RoundConfig, recall: str = "imperfect") -> Contender:
    return Contender(name, AbstractionConfig(TINY_RULES, (CLASSES, *rounds), recall), name.split()[0])


SMALL = Study(
    TINY_RULES,
    (
        contender("ehs 3", RoundConfig("ehs", 3), RoundConfig("ehs", 3)),
        contender("ehs 5", RoundConfig("ehs", 5), RoundConfig("ehs", 5), recall="perfect"),
    ),
    iterations=(9_000, 20_000),
    seeds=(1, 2),
)
GRID = """
rules = "short-limit"
iterations = [1_000, 10_000]
[[abstraction]]
name = "lossless"
lossless = true
[[abstraction]]
name = "mine"
file = "mine.toml"
[[abstraction]]
name = "ehs"
recall = "perfect"
buckets = [5, 20]
round = [{ feature = "preflop-classes" }, { feature = "ehs" }, { feature = "ehs2", buckets = 7 }]
"""
MINE = 'rules = "short-limit"\nseed = 9\nround = [' + '{ feature = "ehs", buckets = 4 }, ' * 3 + "]"


def timeless(rows):
    """Results without what differs from run to run."""
    return [{key: value for key, value in row.items() if "second" not in key} for row in rows]


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The small study done in one go: its folder and results."""
    folder = tmp_path_factory.mktemp("small") / "study"
    return folder, run_study(SMALL, folder)


def test_a_list_of_buckets_is_an_abstraction_for_each_number(tmp_path):
    (tmp_path / "study.toml").write_text(GRID)
    (tmp_path / "mine.toml").write_text(MINE)
    study = Study.from_toml(tmp_path / "study.toml")
    assert [(c.name, c.group) for c in study.contenders] == [
        ("lossless", "lossless"),
        ("mine", "mine"),
        ("ehs 5", "ehs"),
        ("ehs 20", "ehs"),
    ]
    lossless, mine, _, ehs = study.contenders
    assert lossless.config == AbstractionConfig.lossless(preset("short-limit"))
    assert ehs.with_seed(3) == AbstractionConfig(
        preset("short-limit"),
        (CLASSES, RoundConfig("ehs", 20), RoundConfig("ehs2", 7)),
        "perfect",
        seed=3,
    )
    assert mine.with_seed(3).seed == 9  # a file says everything itself
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(study.to_toml())
    (tmp_path / "mine.toml").unlink()
    again = Study.from_toml(resolved)
    assert again.to_toml() == study.to_toml()
    assert [c.with_seed(4).hash for c in again.contenders] == [
        c.with_seed(4).hash for c in study.contenders
    ]


def test_results_are_those_of_runs_that_end_at_the_marks(small):
    _, rows = small
    assert [(row["name"], row["seed"], row["iterations"]) for row in rows] == [
        (name, seed, mark) for name in ("ehs 3", "ehs 5") for seed in (1, 2) for mark in (9_000, 20_000)
    ]
    for row in rows[3], rows[6]:
        own = next(c for c in SMALL.contenders if c.name == row["name"])
        config = SolveConfig(
            TINY_RULES, own.with_seed(row["seed"]), iterations=row["iterations"], seed=row["seed"]
        )
        run = solve(config)
        score = best_response(run.strategy)
        assert (row["mbb_per_hand"], row["per_position"]) == (score.mbb_per_hand, [*score.per_position])
        assert (row["kind"], row["hash"]) == ("exact", config.abstraction.hash)
        assert row["buckets"] == run.strategy.abstraction.num_buckets


def test_runs_side_by_side_give_the_same_results(small, tmp_path):
    assert timeless(run_study(SMALL, tmp_path / "study", threads=2)) == timeless(small[1])


def test_a_study_that_was_broken_off_goes_on(small, tmp_path):
    told = []

    def break_off(row):
        told.append(row)
        if len(told) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(SMALL, tmp_path / "study", announce=break_off)
    with open(tmp_path / "study" / "results.jsonl", "a") as file:
        file.write('{"name": "ehs 3", "se')  # killed while it wrote
    rest = []
    rows = run_study(SMALL, tmp_path / "study", announce=rest.append)
    assert timeless(rows) == timeless(small[1])
    assert timeless(sorted(told + rest, key=str)) == timeless(sorted(rows, key=str))
    lines = (tmp_path / "study" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == told + rest


def test_a_study_interrupted_while_it_solves_ends_at_once_and_goes_on(small, tmp_path):
    def interrupt(done, total):
        assert total == 80_000
        if done > 10_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(SMALL, tmp_path / "study", progress=interrupt)
    assert timeless(run_study(SMALL, tmp_path / "study")) == timeless(small[1])


def test_a_study_grows_by_marks_seeds_and_abstractions(small, tmp_path):
    begun = replace(SMALL, contenders=SMALL.contenders[:1], iterations=(20_000,), seeds=(1,))
    first = run_study(begun, tmp_path / "study")
    new = []
    rows = run_study(SMALL, tmp_path / "study", announce=new.append)
    assert timeless(rows) == timeless(small[1])
    assert len(new) == len(rows) - 1
    assert rows[1] == first[0]


def test_the_folder_of_another_study_is_left_alone(small, tmp_path):
    folder, _ = small
    before = (folder / "study.toml").read_text()
    for other in (
        replace(SMALL, scheme="cfr"),
        replace(SMALL, contenders=(replace(SMALL.contenders[0], name="ehs 5"),)),
    ):
        with pytest.raises(
            ValueError, match=r"is another study: its (scheme|abstraction 'ehs 5') differ"
        ):
            run_study(other, folder)
    (tmp_path / "letters.txt").touch()
    with pytest.raises(ValueError, match="holds no study"):
        run_study(SMALL, tmp_path)
    assert (folder / "study.toml").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_one_study_at_a_time_works_in_a_folder(small, tmp_path):
    folder = shutil.copytree(small[0], tmp_path / "study")

    def another(row):
        with pytest.raises(ValueError, match="another study is at work in this folder"):
            run_study(SMALL, folder)

    more = replace(
        SMALL, iterations=(9_000, 20_000, 21_000), seeds=(1,), contenders=SMALL.contenders[:1]
    )
    assert len(run_study(more, folder, announce=another)) == 3
    assert timeless(run_study(SMALL, folder)) == timeless(small[1])


def test_the_runs_can_be_opened(small):
    folder, rows = small
    strategy = Strategy.load(folder / "runs" / "ehs 3 seed 2")
    assert best_response(strategy).mbb_per_hand == rows[3]["mbb_per_hand"]


def test_table_and_figure_show_every_result(small):
    folder, rows = small
    table = study_table(SMALL, rows)
    assert (folder / "table.md").read_text(encoding="utf-8") == table
    header, _, first, second = table.splitlines()
    assert header.split(" | ")[2].strip() == "9,000"
    scores = [row["mbb_per_hand"] for row in rows]
    error = abs(scores[1] - scores[3]) / 2
    assert f"{(scores[1] + scores[3]) / 2:.1f} ± {error:.1f}" in first
    assert len({len(line) for line in (header, first, second)}) == 1
    (ax,) = study_figure(SMALL, rows).axes
    points = [line.get_xydata().tolist() for line in ax.lines]
    assert points[0] == [
        [9_000, (scores[0] + scores[2]) / 2],
        [20_000, pytest.approx((scores[1] + scores[3]) / 2)],
    ]
    one, other = ax.lines
    assert one.get_color() == other.get_color()  # of one group
    assert one.get_linestyle() != other.get_linestyle()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ehs 3", "ehs 5"]
    assert (folder / "study.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("iterations = [1_000, 10_000]", ""), "the key iterations is missing"),
        (("[1_000, 10_000]", "[10_000, 1_000]"), "must be positive whole numbers, ascending"),
        (("[1_000, 10_000]", "5"), "iterations must be a list, not 5"),
        (('rules = "short-limit"', 'rules = "short"'), "short"),
        (('rules = "short-limit"', 'rules = "short-limit"\ncolour = 1'), "unknown key 'colour'"),
        (('rules = "short-limit"', 'rules = "short-limit"\nseeds = [1, 1]'), "seeds must be different"),
        (
            ('rules = "short-limit"', 'rules = "short-limit"\nseeds = [-1]'),
            "seed must be a whole number",
        ),
        (('rules = "short-limit"', 'rules = "short-limit"\nflops = 0'), "flops must be"),
        (('rules = "short-limit"', 'rules = "short-limit"\nscheme = "x"'), "scheme must be"),
        (('name = "mine"', 'name = "lossless"'), "two abstractions are called 'lossless'"),
        (('name = "mine"', 'name = "../mine"'), "cannot be the name"),
        (('name = "mine"', 'name = "mine"\nbuckets = [3]'), "abstraction 'mine': with file or lossless"),
        (("lossless = true", "lossless = false"), "lossless is true or left out"),
        (("lossless = true", "losless = true"), r"an \[\[abstraction\]\] has a name and some of"),
        (("[5, 20]", "5"), "abstraction 'ehs': buckets must be a list"),
        (("[5, 20]", "[0]"), "abstraction 'ehs': feature ehs needs buckets = 1 to"),
        (
            ('feature = "preflop-classes"', 'feature = "ehs3"'),
            "abstraction 'ehs': unknown feature 'ehs3'",
        ),
        (("mine.toml", "yours.toml"), "abstraction 'mine': cannot read .*yours.toml"),
        (
            ("iterations = [1_000, 10_000]", "times = [5, 5]"),
            "times must be positive seconds, ascending",
        ),
        (("iterations = [1_000, 10_000]", 'times = "5s"'), "times must be a list"),
        (("iterations = [1_000, 10_000]", "times = [true]"), "True is not a duration"),
        (("iterations = [", 'times = ["5s"]\niterations = ['), "iterations or times"),
        (("[[abs", "threads_per_run = 0\n[[abs"), "threads_per_run must be a positive number"),
        (("[[abs", "solver = 1\n[[abs"), "solver must be a list"),
        (("[[abs", '[[solver]]\nsampling = "chance"\n[[abs'), r"a \[\[solver\]\] has a name"),
        (("[[abs", '[[solver]]\nname = "a/b"\n[[abs'), "'a/b' cannot be the name of a solver"),
        (("[[abs", '[[solver]]\nname = "a"\nseed = 2\n[[abs'), "solver 'a': unknown key 'seed'"),
        (("[[abs", '[[solver]]\nname = "a"\ntables = { x = 1 }\n[[abs'), "solver 'a': unknown key 'x'"),
        (
            ("[[abs", '[[solver]]\nname = "a"\nsampling = "outcome"\nscheme = "cfr+"\n[[abs'),
            "solver 'a': scheme must be cfr, lcfr or dcfr with outcome sampling",
        ),
        (("[[abs", '[[solver]]\nname = "a"\n' * 2 + "[[abs"), "two solvers are called 'a'"),
        (
            ("[[abs", 'scheme = "cfr"\n[[solver]]\nname = "a"\n[[abs'),
            r"with \[\[solver\]\] tables the scheme is said in each",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(change, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("mine.toml").write_text(MINE)
    assert change[0] in GRID
    Path("study.toml").write_text(GRID.replace(*change, 1))
    assert main(["study", "study.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    with pytest.raises(ValueError, match=message):
        Study.from_toml("study.toml")
    assert not Path("runs").exists()


def test_the_command_prints_the_table_or_one_json_object(small, tmp_path, monkeypatch, capsys):
    _, rows = small
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SMALL.to_toml())
    assert main(["study", "small.toml", "--json", "--threads", "2"]) == 0
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    assert found["path"] == str(Path("runs", "small"))
    assert timeless(found["results"]) == timeless(rows)
    assert "ehs 5, seed 2: 20,000 iterations in" in captured.err
    assert main(["study", "small.toml"]) == 0  # everything is there
    captured = capsys.readouterr()
    assert Path("runs/small/table.md").read_text(encoding="utf-8") in captured.out
    assert main(["study", "smell.toml"]) == 2
    assert "unknown study 'smell.toml': a file, or one of " in capsys.readouterr().err


SAMPLERS = replace(
    SMALL,
    contenders=SMALL.contenders[:1],
    iterations=(100, 200),
    seeds=(3,),
    solvers=(
        StudySolver("outcome, 0.3", {"sampling": "outcome", "exploration": 0.3}, "sampled"),
        StudySolver(
            "responses",
            {"sampling": "public-chance", "scheme": "cfr", "best_response_from": "turn"},
            "vectors",
        ),
        StudySolver("pruned", {"pruning": {"threshold": -9, "floor": -10}}, "sampled"),
    ),
)
TIMED = replace(SAMPLERS, iterations=(), times=(0.2, 0.4), solvers=SAMPLERS.solvers[:2])


@pytest.fixture(scope="module")
def timed(tmp_path_factory):
    """Two solvers at two times, broken off after the first result: the folder, and all that was announced."""
    folder, told = tmp_path_factory.mktemp("timed") / "study", []

    def break_off(row):
        told.append(row)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(TIMED, folder, announce=break_off)
    rows = run_study(TIMED, folder, announce=told.append)
    assert rows == sorted(told, key=lambda row: (row["solver"], row["time"]))
    return folder, rows


def test_solvers_give_the_results_of_single_runs(tmp_path):
    rows = run_study(SAMPLERS, tmp_path / "study")
    assert [(row["solver"], row["iterations"]) for row in rows] == [
        (solver.name, mark) for solver in SAMPLERS.solvers for mark in (100, 200)
    ]
    abstraction = SAMPLERS.contenders[0].with_seed(3)
    for place, own in enumerate(
        (
            {"sampling": "outcome", "exploration": 0.3},
            {"sampling": "public-chance", "scheme": "cfr", "best_response_from": "turn"},
            {"pruning": {"threshold": -9, "floor": -10}},
        )
    ):
        run = solve(SolveConfig(TINY_RULES, abstraction, iterations=200, seed=3, **own))
        row = rows[2 * place + 1]
        assert row["mbb_per_hand"] == best_response(run.strategy).mbb_per_hand
        assert row["unit"] == run.unit
        assert row["touched_nodes_per_second"] > 0
    assert len({row["mbb_per_hand"] for row in rows}) == 6
    assert (tmp_path / "study" / "runs" / "ehs 3" / "responses seed 3" / "strategy").is_dir()
    header, _, *lines = study_table(SAMPLERS, rows).splitlines()
    assert [cell.strip() for cell in header.split("|")[1:6]] == (
        ["abstraction", "solver", "buckets", "100", "200"]
    )
    for line, row in zip(lines, rows[1::2], strict=True):
        assert f" {row['solver']} " in line
        assert f" {row['mbb_per_hand']:.1f} " in line
        assert line.endswith(f"M {row['unit']}/s |")
    (ax,) = study_figure(SAMPLERS, rows).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "outcome, 0.3", "responses", "pruned"
    ]  # fmt: skip
    first, second, third = ax.lines
    assert first.get_color() == third.get_color() != second.get_color()


def test_marks_by_time_go_on_from_each_other_and_after_a_break(timed):
    folder, rows = timed
    assert [(row["solver"], row["time"]) for row in rows] == [
        (solver.name, time) for solver in TIMED.solvers for time in (0.2, 0.4)
    ]
    for before, row in (rows[:2], rows[2:]):
        assert 0.2 <= before["seconds"] <= row["seconds"] >= 0.4
        assert 0 < before["iterations"] <= row["iterations"]
        run = folder / "runs" / "ehs 3" / f"{row['solver']} seed 3"
        metrics = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        assert metrics[-1]["seconds"] == round(row["seconds"], 3)
        assert metrics[-1]["nodes_per_second"] == row["touched_nodes_per_second"] > 0
        assert best_response(Strategy.load(run)).mbb_per_hand == row["mbb_per_hand"]
    cell = TIMED.cells()[1]
    again = replace(TIMED.solve_config(cell), time=None, iterations=rows[3]["iterations"])
    assert best_response(solve(again).strategy).mbb_per_hand == rows[3]["mbb_per_hand"]


def test_the_table_of_times_has_iterations_and_speed_beside_each_score(timed):
    def late(row):
        return "" if row["seconds"] < 1.05 * row["time"] else f" ({row['seconds']:.1f} s)"

    rows = [*timed[1][:3], timed[1][3] | {"seconds": 0.41}]
    rows[0] = rows[0] | {"seconds": 0.3}
    assert (late(rows[0]), late(rows[3])) == (" (0.3 s)", "")
    header, _, *lines = study_table(TIMED, rows).splitlines()
    assert [cell.strip() for cell in header.split("|")[4:-1]] == (
        ["0.2s", "iterations", "touched", "0.4s", "iterations", "touched"]
    )
    for line, before, row in zip(lines, rows[::2], rows[1::2], strict=True):
        assert [cell.strip() for cell in line.split("|")[4:-1]] == [
            text
            for own in (before, row)
            for text in (
                f"{own['mbb_per_hand']:.1f}",
                f"{own['iterations']:,}{late(own)}",
                f"{own['touched_nodes_per_second'] / 1e6:.2f}M {own['unit']}/s",
            )
        ]
    (ax,) = study_figure(TIMED, rows).axes
    assert ax.get_xlabel() == "seconds of solving"
    assert ax.lines[1].get_xydata()[:, 0].tolist() == [row["seconds"] for row in rows[2:]]


def test_an_earlier_mark_leaves_the_run_where_it_is(timed, tmp_path):
    folder = tmp_path / "study"
    shutil.copytree(timed[0], folder)
    run = folder / "runs" / "ehs 3" / "responses seed 3"
    before = (run / "metrics.jsonl").read_text()
    earlier = TIMED.only(["responses"]).at_times(["0.05s", 0.4])
    first, second = run_study(earlier, folder)
    assert first["time"] == 0.05
    assert 0 < first["iterations"] <= second["iterations"]
    assert second == timed[1][3]
    assert (run / "metrics.jsonl").read_text() == before
    assert run_study(TIMED, folder) == timed[1]  # nothing is lost by doing a part


def test_what_was_studied_stays_what_it_was(timed):
    folder, _ = timed
    assert len(run_study(TIMED.only(["vectors"]), folder)) == 2
    first, second = TIMED.solvers
    other = replace(first, keys={"sampling": "chance"})
    changed = (
        (replace(TIMED, solvers=(other, second)), "its solver 'outcome, 0.3' differs"),
        (replace(TIMED, solvers=()), "its solvers have names"),
        (replace(TIMED, times=(), iterations=(100,)), "its marks are times"),
        (replace(TIMED, threads_per_run=2), "its threads_per_run differ"),
    )
    for study, message in changed:
        with pytest.raises(ValueError, match=f"is another study: {message}"):
            run_study(study, folder)
    assert Study.from_toml(folder / "study.toml").solvers == (second, first)


def test_a_schedule_has_the_same_plan_at_every_mark():
    plan = StudySolver("plan", {"sampling": "none", "scheme": {"name": "hs-dcfr", "gamma": 15}})
    study = replace(SAMPLERS, solvers=(plan,))
    (cell,) = study.cells()
    first, last = (study.solve_config(cell, mark) for mark in study.marks)
    assert (first.iterations, last.iterations) == (100, 200)
    assert first.weighting() == last.weighting()
    assert first.weighting().horizon == 200
    assert first.weighting().constants == {"gamma": 15}
    with pytest.raises(ValueError, match="solver 'plan': scheme hs-dcfr follows a plan"):
        replace(study, iterations=(), times=(1.0,))


def test_parts_and_times_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(SAMPLERS.to_toml())
    assert Study.from_toml("small.toml") == SAMPLERS
    options = ["small.toml", "--times", "0.05s,0.1", "--only", "sampled", "ehs 3"]
    assert main(["study", *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["results"]
    assert [(row["solver"], row["time"]) for row in found] == [
        (solver, time) for solver in ("outcome, 0.3", "pruned") for time in (0.05, 0.1)
    ]
    for wrong, message in (
        (["--only", "chance"], "nothing in the study is called 'chance': there are ehs 3, ehs, outcome"),
        (["--times", "1m,20s"], "times must be positive seconds, ascending, not [60.0, 20.0]"),
        (["--times", "soon"], "'soon' is not a duration"),
    ):
        assert main(["study", "small.toml", *wrong, "--out", "other"]) == 2
        captured = capsys.readouterr().err
        assert message in captured
        assert captured.count("\n") == 1
    assert not Path("other").exists()


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.toml")), ids=lambda path: path.stem)
def test_the_shipped_studies_are_complete(path, tmp_path):
    study = open_study(path.stem)
    assert study.contenders
    resolved = tmp_path / "resolved.toml"
    resolved.write_text(study.to_toml(), encoding="utf-8")
    assert Study.from_toml(resolved) == study


def test_the_shipped_study_of_limit_is_about_the_example_abstraction():
    (contender,) = open_study("acpc_limit_solvers").contenders
    example = Path(__file__).parents[2] / "examples/abstractions/limit-169-2000-2000-2000.toml"
    assert contender.with_seed(5).hash == AbstractionConfig.from_toml(example).hash


def test_finer_abstractions_are_worth_more_in_the_real_game(tmp_path):
    """With 12 cards; over several seeds 90, 174, 211 to 221 and 603 mbb/h."""
    lossless = Contender("lossless", AbstractionConfig.lossless(TINY_RULES), "lossless")
    coarse = (
        contender("lossless flop", RoundConfig("lossless"), RoundConfig("ehs", 20)),
        contender("ehs", RoundConfig("ehs", 20), RoundConfig("ehs", 20)),
        contender("no cards", RoundConfig("none"), RoundConfig("none")),
    )
    rows = run_study(Study(TINY_RULES, (lossless,), (3_000_000,)), tmp_path / "lossless")
    rows += run_study(Study(TINY_RULES, coarse, (300_000,)), tmp_path / "coarse")
    found = [row["mbb_per_hand"] for row in rows]
    assert found[0] < 0.65 * found[1]
    assert found[1] < 0.9 * found[2]
    assert found[2] < 0.5 * found[3]


@pytest.mark.slow
def test_histograms_and_opponent_clusters_are_worth_more_than_percentiles(tmp_path):
    """100 buckets a round, 24 cards; over three seeds or more 178 to 197, 179 to 186, 209 to 220 mbb/h."""
    names = ("histogram, 2 ochs 100", "potential-aware, 2 ochs 100", "ehs 100")
    shipped = open_study("short_limit_abstractions")
    chosen = tuple(c for name in names for c in shipped.contenders if c.name == name)
    study = replace(shipped, contenders=chosen, iterations=(1_000_000,), seeds=(1, 2, 3))
    scores = {name: [] for name in names}
    for row in run_study(study, tmp_path / "study", threads=2):
        scores[row["name"]].append(row["mbb_per_hand"])
    histogram, potential, percentiles = scores.values()
    assert max(histogram) < 0.97 * min(percentiles)
    assert max(potential) < 0.95 * min(percentiles)

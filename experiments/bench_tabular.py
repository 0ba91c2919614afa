"""Rows of the speed table on small games: full-width CFR+ and external sampling on Leduc poker."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from time import perf_counter
from typing import Any

from ..solver.tabular import FullWidth, Sampled, Scorer, TabularGame

OURS, CPP, LITE = 20_000, 100, 200  # iterations in one round of measuring
ROUNDS = 3
SAMPLED, SAMPLED_CPP, SAMPLED_DONK = 100_000, 5_000, 100_000  # of external sampling


def leduc_cfr() -> dict[str, Any]:
    """Full-width CFR+ on Leduc poker, iterations a second: ours, OpenSpiel's C++ solver, LiteEFG's.

    An iteration updates both players once, by turns. The solvers run in turn, the best round of each counts.
    """
    import pyspiel

    arrays = TabularGame.from_openspiel("leduc_poker")
    ours = FullWidth(arrays, "cfr+")
    plain = FullWidth(arrays, "cfr+", merge=False)
    tree = pyspiel.load_game("leduc_poker")
    cached = pyspiel.load_game("cached_tree(game=leduc_poker())")
    runs: dict[str, tuple[Callable[[int], Any], int]] = {
        "iterations_per_second": (ours.run, OURS),
        "unmerged_iterations_per_second": (plain.run, OURS // 4),
        "peer_iterations_per_second": (_repeated(pyspiel.CFRPlusSolver(tree)), CPP),
        "cached_peer_iterations_per_second": (_repeated(pyspiel.CFRPlusSolver(cached)), CPP),
    }
    lite = _liteefg(tree)
    if lite is not None:
        runs["liteefg_iterations_per_second"] = (lite, LITE)
    row: dict[str, Any] = dict.fromkeys(runs, 0.0)
    for run, _ in runs.values():
        run(20)
    for _ in range(ROUNDS):
        for name, (run, iterations) in runs.items():
            started = perf_counter()
            run(iterations)
            row[name] = max(row[name], iterations / (perf_counter() - started))
    speed, theirs = row["iterations_per_second"], row["peer_iterations_per_second"]
    row["ratio"] = speed / theirs
    row["cached_ratio"] = speed / row["cached_peer_iterations_per_second"]
    row["nash_conv"] = Scorer(arrays).nash_conv(ours.average_policy()).nash_conv
    text = (
        f"full-width CFR+ on Leduc poker: {speed:,.0f} iterations a second, {row['ratio']:.0f} times "
        f"OpenSpiel's C++ solver ({theirs:,.0f}), {row['cached_ratio']:.0f} times that on its cached tree "
        f"({row['cached_peer_iterations_per_second']:,.0f})"
    )
    if lite is None:
        text += "; LiteEFG is not installed: no ratio"
    else:
        row["liteefg_ratio"] = speed / row["liteefg_iterations_per_second"]
        text += (
            f", {row['liteefg_ratio']:.0f} times LiteEFG ({row['liteefg_iterations_per_second']:,.0f})"
        )
    text += (
        f"; {ours.computed_infosets} of {arrays.num_infosets} information sets are computed, others being "
        f"equal to them: without that {row['unmerged_iterations_per_second']:,.0f}"
    )
    return row | {"result": text}


def _repeated(solver: Any) -> Callable[[int], None]:
    """Runs iterations of a full-width solver of OpenSpiel."""

    def run(iterations: int) -> None:
        for _ in range(iterations):
            solver.evaluate_and_update_policy()

    return run


def _liteefg(game: Any) -> Callable[[int], None] | None:
    """Runs iterations of LiteEFG's CFR+ on that game, None where it is not installed."""
    # It keeps a file of the game below the home folder, and greets: both stay out of the user's sight.
    home = os.environ.get("HOME")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        try:
            import LiteEFG
            from LiteEFG.baselines import CFRplus
        except ImportError:
            return None
        os.environ["HOME"] = folder
        try:
            graph = CFRplus.graph()
            environment = LiteEFG.OpenSpielEnv(game, traverse_type="Enumerate", regenerate=True)
        finally:
            if home is None:
                del os.environ["HOME"]
            else:
                os.environ["HOME"] = home
        environment.set_graph(graph)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            graph.update_graph(environment)  # both players, one after the other
            environment.update_strategy(graph.current_strategy())

    return run


def leduc_external() -> dict[str, Any]:
    """External sampling on Leduc poker, iterations a second: ours, OpenSpiel's C++ solver, donksolver's.

    An iteration is one walk for each player with all three. OpenSpiel and we keep the average in every
    iteration; donksolver in 2 % of them unless it is told otherwise, so that it is measured both ways. Its
    Leduc takes cards of one rank for the same (288 information sets for 936): ours is also measured on that
    game. The solvers run in turn, the best round of each counts.
    """
    arrays = TabularGame.from_openspiel("leduc_poker")
    ours = Sampled(arrays, "lcfr", "external", seed=1)
    ranks = Sampled(TabularGame.from_openspiel("leduc_poker(suit_isomorphism=True)"), "lcfr", seed=1)
    runs: dict[str, tuple[Callable[[int], Any], int]] = {
        "iterations_per_second": (ours.run, SAMPLED),
        "ranks_iterations_per_second": (ranks.run, SAMPLED),
        "peer_iterations_per_second": (_sampled_peer("leduc_poker"), SAMPLED_CPP),
        "cached_peer_iterations_per_second": (
            _sampled_peer("cached_tree(game=leduc_poker())"),
            SAMPLED_CPP,
        ),
    }
    with contextlib.suppress(ImportError):
        import donksolver

        for name, options in (
            ("donksolver_iterations_per_second", {}),
            ("averaging_donksolver_iterations_per_second", {"p_avg": 1.0}),
        ):
            config = donksolver.toy("leduc", 2, **options)
            runs[name] = (donksolver.Solver(config).run, SAMPLED_DONK)
    row: dict[str, Any] = dict.fromkeys(runs, 0.0)
    for run, _ in runs.values():
        run(3_000)  # compiles, and fills the cache of the tree
    for _ in range(2 * ROUNDS):
        for name, (run, iterations) in runs.items():
            started = perf_counter()
            run(iterations)
            row[name] = max(row[name], iterations / (perf_counter() - started))
    speed, theirs = row["iterations_per_second"], row["peer_iterations_per_second"]
    row["ratio"] = speed / theirs
    row["cached_ratio"] = speed / row["cached_peer_iterations_per_second"]
    row["nodes_per_iteration"] = ours.touched_nodes / ours.iterations
    row["nash_conv"] = Scorer(arrays).nash_conv(ours.average_policy()).nash_conv
    text = (
        f"external sampling on Leduc poker: {speed:,.0f} iterations a second, {row['ratio']:.0f} times "
        f"OpenSpiel's C++ solver ({theirs:,.0f}), {row['cached_ratio']:.0f} times that on its cached tree "
        f"({row['cached_peer_iterations_per_second']:,.0f})"
    )
    if "donksolver_iterations_per_second" not in row:
        return row | {"result": text + "; donksolver is not installed: no ratio"}
    donk, averaging = (row[f"{kind}donksolver_iterations_per_second"] for kind in ("", "averaging_"))
    row["donksolver_ratio"] = speed / donk
    row["averaging_donksolver_ratio"] = speed / averaging
    text += (
        f", {row['donksolver_ratio']:.1f} times donksolver ({donk:,.0f}, which averages one iteration in "
        f"fifty, on ranks instead of cards), {row['averaging_donksolver_ratio']:.1f} times that with every "
        f"average ({averaging:,.0f}); on ranks we do {row['ranks_iterations_per_second']:,.0f}"
    )
    return row | {"result": text}


def _sampled_peer(name: str) -> Callable[[int], None]:
    """Runs iterations of OpenSpiel's external sampling on that game."""
    import pyspiel

    solver = pyspiel.ExternalSamplingMCCFRSolver(pyspiel.load_game(name), seed=1)

    def run(iterations: int) -> None:
        for _ in range(iterations):
            solver.run_iteration()

    return run

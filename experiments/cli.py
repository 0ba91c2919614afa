"""The command line `nashfold`."""

from __future__ import annotations

import argparse
import json
import math
import sys
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import asdict
from importlib.metadata import version
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, NoReturn

from ..game.match import play_match
from ..game.presets import PRESETS, preset, preset_readings
from .acpc import add_acpc_options, add_dealer_options, run_acpc, run_dealer
from .bonus import add_bonus_options, run_bonus
from .build import add_build_options, run_build
from .options import add_translation_option, given_rules, read_flops_option, set_translation
from .play import add_play_options, run_play
from .progress import counting_bar
from .solve import add_solve_options, run_solve
from .study import add_study_options, run_study_command

if TYPE_CHECKING:
    from ..solver.scoring.best_response import Exploitability


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(f"{message} ({self.prog} --help tells the options)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status.

    0 when it succeeded, 1 for a match that the other side ended early, 2 for a user's mistake, 130 for
    an interrupt.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may not know every letter
    try:
        options = _parser().parse_args(arguments)
        result = options.run(options)
        if options.json:
            print(json.dumps(_plain(result)))
        return 0 if result.get("complete", True) else 1
    except ValueError as error:
        print(f"nashfold: {error}", file=sys.stderr)
        return 2
    except MemoryError:
        print("nashfold: that takes more memory than there is: use smaller numbers", file=sys.stderr)
        return 2
    except OverflowError as error:
        print(f"nashfold: a number is too large: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"nashfold: {_os_error_in_words(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("nashfold: interrupted", file=sys.stderr)
        return 130


def _os_error_in_words(error: OSError) -> str:
    """Without the number that Python writes first."""
    if not error.strerror:
        return str(error)
    return error.strerror if error.filename is None else f"{error.filename}: {error.strerror}"


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="nashfold", description=__doc__)
    parser.add_argument("--version", action="version", version=f"nashfold {version('nashfold')}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[argparse.Namespace], Any], text: str
    ) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        sub.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
        sub.set_defaults(run=run)
        return sub

    sub = command("games", _games, "the games there are, or one as an ACPC definition or in words")
    sub.add_argument("name", nargs="?", metavar="NAME")

    add_build_options(command("build", run_build, "build a card abstraction into the cache folder"))

    add_solve_options(command("solve", run_solve, "solve a game in an abstraction"))

    sub = command("score", _score, "exploitability of a strategy in the real game")
    sub.add_argument("strategy", metavar="RUN|STRATEGY")
    sub.add_argument("--rules", metavar="NAME", help="the game, for built-in strategies")
    sub.add_argument(
        "--flops", default="all", metavar="all|N", help="all flops, or so many drawn by weight"
    )
    sub.add_argument(
        "--bets",
        default="full",
        metavar="full|menu",
        help="of the responder: every legal bet where its tree fits into memory, or the strategy's own",
    )
    add_translation_option(sub)
    sub.add_argument(
        "--method",
        default="best-response",
        metavar="best-response|local-best-response|abstract",
        help="abstract: a responder who sees buckets, in games of few boards; local-best-response: not yet",
    )
    sub.add_argument("--seed", type=int, default=0, metavar="S")
    sub.add_argument("--threads", type=int, metavar="N")
    sub.add_argument("--cluster", metavar="ADDRESS", help="not yet")

    sub = command("match", _match, "play two strategies against each other")
    sub.add_argument("a", metavar="A")
    sub.add_argument("b", metavar="B")
    sub.add_argument("--rules", metavar="NAME", help="the game, for built-in strategies")
    sub.add_argument("--hands", type=int, required=True, metavar="N")
    sub.add_argument("--duplicate", action="store_true", help="play every deal twice, seats swapped")
    sub.add_argument("--seed", type=int, default=0, metavar="S")
    add_translation_option(sub)
    sub.add_argument("--workers", type=int, default=1, metavar="N", help="processes to play in")

    add_play_options(command("play", run_play, "play against a strategy in the terminal"))
    add_acpc_options(command("acpc", run_acpc, "join a dealer of the ACPC protocol"))
    add_dealer_options(
        command("dealer", run_dealer, "deal matches between programs of the ACPC protocol")
    )
    add_bonus_options(command("bonus", run_bonus, "what the casino game's side bet returns"))

    add_study_options(
        command(
            "study",
            run_study_command,
            "solve a game in several abstractions or by several solvers, and score each",
        )
    )

    sub = command("bench", _bench, "measure the speed table here and now")
    sub.add_argument("names", nargs="*", metavar="NAME")
    return parser


def _games(options: argparse.Namespace) -> dict[str, Any]:
    if options.name is None:
        if not options.json:
            for name in PRESETS:
                print(f"{name:14}  {preset(name).description}")
        return {"games": {name: preset(name).description for name in PRESETS}}
    rules, readings = preset(options.name), preset_readings(options.name)
    try:
        definition = rules.to_acpc()
    except ValueError:  # a cap on each player's own bets
        definition = None
    if not options.json:
        print(definition or rules.in_words() + "\n", end="")
        if readings:
            print(textwrap.indent(readings, "# "))
    return {
        "name": options.name,
        "description": rules.description,
        "readings": readings,
        "acpc": definition,
        "words": rules.in_words(),
    }


def _score(options: argparse.Namespace) -> Any:
    from ..solver.scoring.best_response import best_response
    from ..solver.strategy import open_strategy

    if options.method == "abstract":
        return _score_in_buckets(options)
    if options.method != "best-response":
        known = "best-response or abstract"
        known += " so far" * (options.method == "local-best-response")
        raise ValueError(f"method {options.method} is not available: use {known}")
    if options.cluster is not None:
        raise ValueError("--cluster is not available yet: score on this machine with --flops N")
    flops = read_flops_option(options.flops)
    if options.bets not in ("full", "menu"):
        raise ValueError(f"--bets takes full or menu, not {options.bets!r}")
    strategy = open_strategy(options.strategy, given_rules(options))
    set_translation(options.translation, [strategy])
    with counting_bar("best response", "flops") as progress:
        result = best_response(
            strategy,
            flops,
            options.seed,
            threads=options.threads,
            progress=progress,
            bets=options.bets,
        )
    return _scored(options, result)


def _score_in_buckets(options: argparse.Namespace) -> Any:
    from ..solver.scoring.abstract_response import abstract_best_response
    from ..solver.strategy import open_strategy

    return _scored(
        options, abstract_best_response(open_strategy(options.strategy, given_rules(options)))
    )


def _scored(options: argparse.Namespace, result: Exploitability) -> dict[str, Any]:
    if not options.json:
        print(f"{result.strategy}: {result}")
        print("best response as player 0 (big blind), as player 1 (button): "
              f"{result.per_position[0]:.3f}, {result.per_position[1]:.3f} mbb/h; "
              f"NashConv {result.nash_conv:.3f}; {result.seconds:.1f} s")  # fmt: skip
    return asdict(result)


def _match(options: argparse.Namespace) -> Any:
    from ..solver.strategy import BUILT_INS, StrategyPlayer, playing_strategy

    rules = given_rules(options)
    opened = {}
    for source in sorted((options.a, options.b), key=lambda source: source in BUILT_INS):
        # A built-in strategy plays any game: that of the other one, which comes first here.
        opened[source], rules = playing_strategy(source, rules)
    assert rules is not None
    strategies = [opened[options.a], opened[options.b]]
    set_translation(options.translation, strategies)
    players = [StrategyPlayer(strategy, options.seed) for strategy in strategies]
    with counting_bar("hands", "hands") as progress:
        result = play_match(
            players,
            rules,
            options.hands,
            options.seed,
            options.duplicate,
            progress,
            workers=options.workers,
        )
    if not options.json:
        names = [strategy.name for strategy in strategies]
        winner = "nobody"
        if result.winner is not None:
            winner = f"{names[result.winner]} ({('first', 'second')[result.winner]} player)"
        print(f"{names[0]} against {names[1]}: {result}; winner: {winner}")
    return asdict(result)


def _bench(options: argparse.Namespace) -> Any:
    from .bench import run_benchmarks

    rows = []
    for row in run_benchmarks(options.names):
        rows.append(row)
        if not options.json:
            print(f"{row['name']:16} {row['result']}", flush=True)
    return {"rows": rows}


def _plain(value: Any) -> Any:
    """The value without what JSON cannot say: not-a-number becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


if __name__ == "__main__":
    sys.exit(main())

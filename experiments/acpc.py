"""The commands `nashfold acpc` and `nashfold dealer`: strategies in matches over the ACPC protocol."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from itertools import combinations
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from ..game.acpc import TimeLimits
from ..game.acpc_client import play_acpc
from ..game.acpc_dealer import Dealer, DealerResult
from ..game.hand import new_hand
from ..game.rules import Rules
from .options import add_translation_option, given_rules, read_rules_option, set_translation
from .progress import counting_bar

if TYPE_CHECKING:
    from ..solver.strategy import BuiltIn, Strategy


def add_acpc_options(parser: argparse.ArgumentParser) -> None:
    """The arguments of `nashfold acpc`."""
    parser.add_argument("strategy", metavar="STRATEGY")
    parser.add_argument("host", metavar="HOST")
    parser.add_argument("port", type=int, metavar="PORT")
    parser.add_argument("--rules", metavar="NAME|FILE.game", help="the game, for built-in strategies")
    add_translation_option(parser)
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the strategy's choices")


def run_acpc(options: argparse.Namespace) -> dict[str, Any]:
    """Join a dealer and play a strategy until it closes the connection.

    The result's `complete` is false where the dealer left within a hand: exit status 1.
    """
    from ..solver.strategy import StrategyPlayer, playing_strategy

    strategy, rules = playing_strategy(options.strategy, given_rules(options))
    set_translation(options.translation, [strategy])
    _warm_up(strategy, rules)
    player = StrategyPlayer(strategy, options.seed)
    with tqdm(desc="match", unit=" hands", file=sys.stderr, leave=False) as bar:
        result = play_acpc(
            player, options.host, options.port, rules, lambda hands: bar.update(hands - bar.n)
        )
    if result.hands and not options.json:
        print(f"{strategy.name} won {result.winnings:+,} chips: {result}")
    if not result.complete:
        print("nashfold: the dealer left before the end of the match", file=sys.stderr)
    return {"strategy": strategy.name, **asdict(result)}


def _warm_up(strategy: Strategy | BuiltIn, rules: Rules) -> None:
    """Ask in every round of a hand: first lookups take long, and the dealer's clock does not run yet."""
    hand = new_hand(rules, seed=0)
    while not hand.is_over:
        strategy.probabilities(hand)
        hand = hand.play(hand.betting.passive_actions()[-1])


def add_dealer_options(parser: argparse.ArgumentParser) -> None:
    """The arguments of `nashfold dealer`."""

    def option(*names: str, **details: Any) -> None:
        parser.add_argument(*names, **details)

    option("--rules", required=True, metavar="NAME|FILE.game")
    option("--hands", type=int, required=True, metavar="N", help="hands of a match")
    option("--seed", type=int, default=0, metavar="S", help="competition seed, 0 to 4294967295")
    option(
        "--names",
        nargs="+",
        default=["A", "B"],
        metavar="NAME",
        help="the programs; of more than two every pair plays a match",
    )
    option("--ports", nargs="+", type=int, metavar="PORT", help="one for each program; 0: any")
    option("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen; 0.0.0.0: everywhere")
    option("--log", metavar="FILE", help="log in the server's format; several matches: FILE-A-B each")
    option("--fixed-seats", action="store_true", help="the button does not move")
    defaults = TimeLimits()
    for name, text in (
        ("response", "for an answer"),
        ("hand", "for the answers of a hand"),
        ("per-hand", "for a hand on the average of the match"),
    ):
        default = getattr(defaults, name.replace("-", "_"))
        option(f"--t-{name}", type=int, default=default, metavar="MS", help=text)
    option("--start-timeout", type=int, metavar="MS", help="for the programs to connect")
    option("--max-invalid", type=int, metavar="N", help="invalid actions of a program in a match")


def run_dealer(options: argparse.Namespace) -> dict[str, Any]:
    """Deal a match between two programs, or one between every pair of several.

    The first line of standard output (of standard error with --json) tells the port of each program. A
    match that a program ends early has no score; the result's `complete` is false then: exit status 1.
    """
    limits = TimeLimits(options.t_response, options.t_hand, options.t_per_hand)
    pairs = list(combinations(range(len(options.names)), 2))
    if options.log is not None:
        for pair in pairs:
            _check_log(_log_path(options.log, options.names, pair, len(pairs)))
    matches = []
    with Dealer(
        read_rules_option(options.rules),
        options.hands,
        options.seed,
        options.names,
        host=options.host,
        ports=options.ports,
        limits=limits,
        start_timeout=options.start_timeout,
        max_invalid=options.max_invalid,
        fixed_seats=options.fixed_seats,
    ) as dealer:
        print(*dealer.ports, file=sys.stderr if options.json else sys.stdout, flush=True)
        for pair in pairs:
            log = (
                None if options.log is None else _log_path(options.log, options.names, pair, len(pairs))
            )
            with counting_bar("match", "hands") as progress:
                result = dealer.run(pair, log, progress)
            matches.append(_match_dict(result, log))
            if not options.json:
                _tell(result)
            if result.fault is not None:
                print(f"nashfold: {result.fault}: the match ends after {len(result.hands)} hands",
                      file=sys.stderr, flush=True)  # fmt: skip
    totals = _totals(options.names, matches, dealer.rules)
    if not options.json and len(pairs) > 1:
        for row in totals:
            print(f"{row['name']:16} {row['winnings']:+12,} chips in {row['hands']:9,} hands: "
                  f"{row['mbb_per_hand']:+9.1f} mbb/h")  # fmt: skip
    complete = all(match["complete"] for match in matches)
    return {"ports": dealer.ports, "matches": matches, "totals": totals, "complete": complete}


def _check_log(log: str) -> None:
    """Before any program connects: nothing is overwritten, and it can be written."""
    path = Path(log)
    if path.exists():
        raise ValueError(f"the log {log} exists: name another file, or move it away")
    if not os.access(path.parent, os.W_OK):
        raise ValueError(f"the log {log} cannot be written: {path.parent} is no folder to write in")


def _log_path(log: str, names: Sequence[str], pair: Sequence[int], matches: int) -> str:
    path = Path(log)
    if matches == 1:
        return log
    both = "-".join(names[seat] for seat in pair)
    return str(path.with_name(f"{path.stem}-{both}{path.suffix}"))


def _match_dict(result: DealerResult, log: str | None) -> dict[str, Any]:
    names = [seat.name for seat in result.seats]
    return {
        "names": names,
        "hands": len(result.hands),
        "winnings": result.winnings,
        "complete": result.complete,
        "fault": result.fault,
        "culprit": None if result.culprit is None else names[result.culprit],
        "seats": [asdict(seat) for seat in result.seats],
        "log": log,
    }


def _tell(result: DealerResult) -> None:
    for seat in result.seats:
        if seat.invalid_actions or seat.ignored_lines:
            print(f"{seat.name}: {seat.invalid_actions} invalid actions, {seat.ignored_lines} lines ignored",
                  file=sys.stderr)  # fmt: skip
        for remark in seat.remarks:
            print(f"{seat.name}: {remark}", file=sys.stderr)
    if result.complete:
        print(result.score, flush=True)


def _totals(names: Sequence[str], matches: list[dict[str, Any]], rules: Rules) -> list[dict[str, Any]]:
    """Chips of each program in all its finished hands, the best one first."""
    rows = []
    for name in names:
        own = [match for match in matches if name in match["names"]]
        hands = sum(match["hands"] for match in own)
        winnings = sum(match["winnings"][match["names"].index(name)] for match in own)
        rate = rules.mbb_per_hand(winnings, hands)
        rows.append({"name": name, "hands": hands, "winnings": winnings, "mbb_per_hand": rate})
    return sorted(rows, key=lambda row: -row["mbb_per_hand"] if row["hands"] else inf)

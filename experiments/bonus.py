"""The command `nashfold bonus`: what the side bet returns."""

from __future__ import annotations

import argparse
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ..game.bonus import EXAMPLE, INTERVALS, PayTable
from ..game.bonus_return import BonusReturn, bonus_return
from ..game.rules import Rules
from .options import read_flops_option, read_rules_option
from .progress import counting_bar

if TYPE_CHECKING:
    from ..solver.scoring.bonus import StrategyBonusReturn

DEFAULT_RULES = "casino-limit"


def add_bonus_options(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments to its parser."""
    parser.add_argument(
        "pay_table", nargs="?", metavar="PAYTABLE.toml", help="default: an example, no casino's table"
    )
    parser.add_argument("--example", action="store_true", help="print the example as TOML and end")
    parser.add_argument(
        "--rules", metavar="NAME", help=f"the game; default: the strategy's, or {DEFAULT_RULES}"
    )
    parser.add_argument(
        "--fold-ends",
        metavar="never|player|any",
        help="whose fold forfeits the later intervals; default: the pay table's",
    )
    parser.add_argument(
        "--strategy", metavar="RUN|STRATEGY", help="how the player plays; default: never folds"
    )
    parser.add_argument(
        "--opponent", metavar="RUN|STRATEGY", help="how the other plays; default: the same strategy"
    )
    parser.add_argument(
        "--flops", metavar="all|N", help="with --strategy: all flops, or so many drawn by weight"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the flops drawn")
    parser.add_argument("--threads", type=int, metavar="N")


def run_bonus(options: argparse.Namespace) -> dict[str, Any]:
    """Print the return of the bonus (with `options.json` nothing), and give it with what it is of.

    Raises ValueError for a bad pay table and for options that do not fit together.
    """
    if options.example:
        if not options.json:
            print(EXAMPLE.to_toml(), end="")
        return {"pay_table": EXAMPLE.name, "toml": EXAMPLE.to_toml()}
    pay_table = PayTable.from_toml(options.pay_table) if options.pay_table is not None else EXAMPLE
    if options.fold_ends is not None:
        pay_table = replace(pay_table, fold_ends=options.fold_ends)
    result: BonusReturn
    footer = ""
    if options.strategy is not None:
        strategy_result, rules = _strategy_return(pay_table, options)
        result = strategy_result
        ends = {"never": "no fold ends", "player": "the player's fold ends", "any": "any fold ends"}
        who = (
            f"{strategy_result.strategy} against {strategy_result.opponent}, "
            f"{ends[pay_table.fold_ends]} the bonus"
        )
        first, second = strategy_result.per_position
        footer = (
            f"sum as player 0 (big blind), as player 1 (button): {first:+.6f}, {second:+.6f}; "
            f"{strategy_result.flops} flops, {strategy_result.seconds:.1f} s"
        )
    elif options.opponent is not None or options.flops is not None:
        raise ValueError("--opponent and --flops go with --strategy: without one nobody folds")
    else:
        rules = read_rules_option(options.rules or DEFAULT_RULES)
        pay_table.check_fits(rules)
        result = bonus_return(pay_table, rules.deck)
        who = "nobody folds"
    if not options.json:
        _print_report(pay_table, result, f"{rules.name}, {who}")
        if footer:
            print(footer)
    readings = {key: getattr(pay_table, key) for key in ("stake", "fold_ends", "forfeit")}
    return asdict(result) | readings | {"rules": rules.name}


def _strategy_return(
    pay_table: PayTable, options: argparse.Namespace
) -> tuple[StrategyBonusReturn, Rules]:
    from ..solver.scoring.bonus import strategy_bonus_return
    from ..solver.strategy import BUILT_INS, open_strategy

    flops = read_flops_option(options.flops or "all")
    # A built-in strategy plays any game; others say what they are for.
    name = options.rules or (DEFAULT_RULES if options.strategy in BUILT_INS else None)
    strategy = open_strategy(options.strategy, None if name is None else read_rules_option(name))
    with counting_bar("bonus", "flops") as progress:
        result = strategy_bonus_return(
            pay_table,
            strategy,
            options.opponent,
            flops=flops,
            seed=options.seed,
            threads=options.threads,
            progress=progress,
        )
    return result, strategy.rules


def _print_report(pay_table: PayTable, result: BonusReturn, title: str) -> None:
    stake = "one for all intervals" if pay_table.stake == "once" else "one for each interval"
    print(f"pay table: {pay_table.name}; stake: {stake}")
    print(f"{title}: {result.kind}, in stakes")
    print(f"{'':8}{'cards':>6}{'line hit':>12}{'std deviation':>16}{'mean profit':>14}")
    for place, interval in enumerate(result.intervals):
        hits = f"{100 * result.hit_frequency[place]:.4f} %" if result.hit_frequency else ""
        error = f" +- {result.standard_error[place]:.6f}" if result.standard_error else ""
        print(f"{interval:8}{5 + INTERVALS.index(interval):6}{hits:>12}"
              f"{result.standard_deviation[place]:16.6f}{result.mean[place]:+14.6f}{error}")  # fmt: skip
    error = f" +- {result.total_standard_error:.6f}" if result.total_standard_error else ""
    print(f"{'sum':26}{result.total_standard_deviation:16.6f}{result.total_mean:+14.6f}{error}")

"""Sizes counted without a tree equal those of the tree; menus are those of OpenSpiel's poker."""

import random
from dataclasses import replace

import pyspiel
import pytest
from nashfold.abstraction.bets import FULL, MENUS, BetMenu
from nashfold.game import Betting, preset
from nashfold.solver.betting_tree import betting_tree
from nashfold.solver.tables import Tables
from nashfold.solver.tree_size import tree_size

MINI = replace(preset("short-nolimit"), stacks=(9, 12))
OWN = BetMenu.from_value(
    {"preflop": ["2.5x, a", "min, e"], "flop": ["33%, 2e", "100%", ""], "min_raise": True}
)


@pytest.mark.parametrize("name", ["acpc-limit", "short-limit", "casino-limit", "leduc", "kuhn"])
@pytest.mark.parametrize("menu", ["full", "fc", "fcpa"])
def test_limit_trees_are_as_large_as_counted(name, menu):
    _compare(preset(name), MENUS[menu])


@pytest.mark.parametrize("menu", [*MENUS.values(), OWN], ids=str)
def test_small_no_limit_trees_are_as_large_as_counted(menu):
    _compare(MINI, menu)
    if not menu.is_full:
        _compare(preset("short-nolimit"), menu)


@pytest.mark.parametrize("menu", [MENUS["fc"], MENUS["fcpa"]], ids=str)
def test_deep_no_limit_trees_are_as_large_as_counted(menu):
    _compare(preset("acpc-nolimit"), menu)
    _compare(replace(preset("match-nolimit"), stacks=(150, 200)), menu)


def _compare(rules, menu):
    tree, size = betting_tree(rules, menu), tree_size(rules, menu)
    assert size.is_complete
    assert (size.nodes, size.decisions, size.slots) == (len(tree), tree.num_decisions, tree.num_slots)


def test_sizes_that_others_published_or_measured():
    assert tree_size(preset("acpc-limit")).decisions == (8, 70, 630, 5670)
    assert sum(tree_size(preset("sartre-limit")).decisions) == 93_960
    assert tree_size(preset("short-nolimit")).decisions == (1188, 19_996, 151_124)


def test_the_size_of_tables_is_what_they_take():
    rules, buckets = preset("short-nolimit"), (36, 7, 5)
    size = tree_size(rules, MENUS["fcpa"], buckets)
    assert size.table_bytes == Tables(betting_tree(rules, MENUS["fcpa"]), list(buckets)).values.nbytes
    assert size.infosets == sum(n * b for n, b in zip(size.decisions, buckets, strict=True))
    assert str(size).endswith(f"(12 36 76 by round), {size.infosets:,} infosets, tables 0.0 MiB")


def test_a_dense_menu_on_the_competitions_game_is_counted_without_a_tree():
    size = tree_size(preset("acpc-nolimit"), MENUS["dense"])
    assert size.is_complete
    assert size.nodes > 1_000_000


def test_what_is_too_large_to_count_is_a_lower_bound():
    size = tree_size(preset("acpc-nolimit"), FULL)
    assert not size.is_complete
    assert str(size).startswith("more than 97,")


@pytest.mark.parametrize("bets", ["fcpa", "fchpa"])
def test_menus_are_those_of_universal_poker_along_random_lines(bets):
    """OpenSpiel as the oracle, on lines of the menu.

    Two differences are meant: it asks a player for a check where the other one is all-in and nothing is
    owed, and offers half the pot only where the whole pot is on offer too.
    """
    rules = preset("acpc-nolimit")
    game = pyspiel.load_game(
        "universal_poker(betting=nolimit,numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,"
        "numSuits=4,numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,stack=20000 20000,"
        f"bettingAbstraction={bets})"
    )
    rng, compared = random.Random(5), 0
    for _ in range(150):
        theirs, ours = game.new_initial_state(), Betting.start(rules)
        while not ours.is_over:
            while theirs.is_chance_node():
                theirs.apply_action(rng.choice(theirs.legal_actions()))
            actions = MENUS[bets].actions(ours)
            numbers = {_number(action, ours): action for action in actions}
            legal = theirs.legal_actions()
            if bets == "fchpa" and 2 not in legal:
                numbers.pop(4, None)
            assert sorted(numbers) == legal, str(ours)
            compared += 1
            number = rng.choices(legal, [0.1 if n == 0 else 0.3 if n == 3 else 1 for n in legal])[0]
            ours = ours.play(numbers[number])
            theirs.apply_action(number)
    assert compared > 500


def _number(action, betting):
    """The action's number in universal_poker: fold, check or call, pot, all-in, half the pot."""
    if not action.amount:
        return 0 if action.kind == "fold" else 1
    if action.amount == betting.raise_bounds()[1]:
        return 3
    highest, other = max(betting.spent), betting.spent[1 - betting.to_act]
    step = betting.round_start[betting.to_act] + action.amount - highest
    return 2 if step == highest + other else 4

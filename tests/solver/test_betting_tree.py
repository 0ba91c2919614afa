import numpy as np
import pytest
from nashfold.abstraction.bets import FULL, MENUS, BetMenu
from nashfold.game import Betting, preset
from nashfold.solver.betting_tree import FOLD, SHOWDOWN, betting_tree


@pytest.mark.parametrize(
    ("name", "decisions"),
    [
        ("acpc-limit", (8, 70, 630, 5670)),
        ("flop-limit", (8, 70)),
        ("short-limit", (4, 18, 90)),
    ],
)
def test_decision_nodes_by_round(name, decisions):
    tree = betting_tree(preset(name))
    assert tree.num_decisions == decisions
    if name == "acpc-limit":
        assert sum(tree.num_decisions) == 6378


@pytest.mark.slow
def test_no_limit_tree_with_every_size():
    assert betting_tree(preset("short-nolimit")).num_decisions == (1188, 19996, 151124)


MENU = BetMenu.from_value(
    {"preflop": ["2.5x, a", "100%"], "flop": ["33%, e", "2.5x, a"], "min_raise": True}
)


@pytest.mark.parametrize(
    ("name", "menu"),
    [
        ("acpc-limit", FULL),
        ("short-limit", FULL),
        ("match-nolimit", MENUS["fcpa"]),
        ("short-nolimit", MENU),
    ],
)
def test_every_node_is_the_state_that_its_actions_lead_to(name, menu):
    tree = betting_tree(preset(name), menu)
    states = {0: Betting.start(tree.rules)}
    slots = [set() for _ in tree.num_slots]
    for node in range(len(tree)):
        state = states.pop(node)
        assert tree.actions[node] == tuple(menu.actions(state))
        if node % 7 == 0:
            assert tree.state(node) == state
        assert tuple(tree.spent[node]) == state.spent
        assert tree.round[node] == state.round
        if state.is_over:
            assert tree.kind[node] == (SHOWDOWN if state.folded is None else FOLD)
            assert tree.folded[node] == (-1 if state.folded is None else state.folded)
        else:
            assert tree.kind[node] == state.to_act
            used = range(tree.action_slot[node], tree.action_slot[node] + tree.num_actions[node])
            assert slots[state.round].isdisjoint(used)
            slots[state.round].update(used)
        for number, action in enumerate(tree.actions[node]):
            child = tree.first_child[node] + number
            assert tree.parent[child] == node
            states[child] = state.play(action)
    assert not states
    assert [len(used) for used in slots] == list(tree.num_slots)
    assert all(used == set(range(len(used))) for used in slots)


def test_what_follows_one_history_stands_together():
    """The ten decisions of a river history take 27 consecutive slots: a few cache lines."""
    tree = betting_tree(preset("acpc-limit"))
    river = np.flatnonzero((tree.round == 3) & (tree.num_actions > 0))
    starts = [n for n in river if tree.round[tree.parent[n]] == 2]
    assert len(starts) == 567
    first = np.sort(tree.action_slot[starts])
    assert (np.diff(first) == tree.num_slots[3] // 567).all()


def test_find_and_child_name_what_is_there():
    tree = betting_tree(preset("acpc-limit"))
    betting = Betting.start(tree.rules).play("call").play("raise-to:20")
    assert tree.find(betting) == tree.child(tree.child(0, betting.actions[0]), betting.actions[1])
    other = Betting.start(preset("acpc-nolimit")).play("raise-to:1000")
    with pytest.raises(ValueError, match="no raise-to:1000 here, only fold, call, raise-to:20"):
        tree.find(other)


def test_a_tree_that_is_too_large_is_refused_with_its_limit():
    with pytest.raises(ValueError, match=r"with every legal bet has more than [0-9,]+ nodes") as error:
        betting_tree(preset("acpc-nolimit"))
    assert "\n" not in str(error.value)
    assert 'the limit is 5,000,000: use a menu of fewer bets, such as bets = "fcpa"' in str(error.value)
    with pytest.raises(ValueError, match="with the bets fchpa has 307,250 nodes, the limit is 300,000"):
        betting_tree(preset("acpc-nolimit"), MENUS["fchpa"], max_nodes=300_000)


@pytest.mark.parametrize(
    ("name", "decisions", "showdowns"),
    [
        ("acpc-limit", 6_378, 7 * 9**3),
        ("casino-limit", 8_200, 9**4),
        ("sartre-limit", 93_960, 17**4),
    ],
)
def test_limit_games_differ_by_their_caps(name, decisions, showdowns):
    """A round with up to n raises ends without a fold in 2 n + 1 ways: n is 4, with the blind 3, or 8."""
    tree = betting_tree(preset(name))
    assert (tree.num_actions > 0).sum() == decisions
    assert (tree.kind == SHOWDOWN).sum() == showdowns

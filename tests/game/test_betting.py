"""The betting: legal actions, rounds, chips."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nashfold.game import Action, Betting, IllegalAction, Rules, preset

NOLIMIT = preset("acpc-nolimit")
LIMIT = preset("acpc-limit")


def play(rules: Rules, *actions: str) -> Betting:
    betting = Betting.start(rules)
    for action in actions:
        betting = betting.play(action)
    return betting


def with_stacks(big_blind: int, small_blind: int) -> Rules:
    """acpc-nolimit (blinds 100 and 50) with stacks of the players in these positions."""
    return replace(NOLIMIT, stacks=(big_blind, small_blind))


# Actions as text -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["fold", "check", "call", "bet:100", "raise-to:20000"])
def test_actions_read_back_from_their_text(text):
    assert str(Action.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "f",
        "Fold",
        "fold ",
        "fold\n",
        "call:50",
        "raise:200",
        "all-in",
        "bet",
        "bet:",
        "bet:-1",
        "bet:+1",
        "bet:1.5",
        "bet:1e3",
        "bet:9999999999",
        "raise-to:200c",
        "raise-to:٢٠٠",
    ],
)
def test_malformed_actions_are_illegal(text):
    message = r"is not an action: write fold, check, call, bet:N .*; legal: fold, call, raise-to:200"
    with pytest.raises(IllegalAction, match=message):
        play(NOLIMIT, text)


def test_illegal_action_is_a_value_error_that_names_what_was_legal():
    with pytest.raises(ValueError, match=r"legal: fold, call, raise-to:200\.\.20000"):
        play(NOLIMIT, "raise-to:199")
    with pytest.raises(IllegalAction, match=r"legal: fold, call, raise-to:20$"):
        play(LIMIT, "raise-to:30")
    with pytest.raises(IllegalAction, match="the betting is over"):
        play(NOLIMIT, "fold", "call")


# Blinds and order ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["acpc-nolimit", "acpc-limit", "flop-limit", "short-limit"])
def test_small_blind_acts_first_before_the_flop_and_big_blind_after_it(name):
    rules = preset(name)
    betting = Betting.start(rules)
    assert betting.spent == rules.blinds
    order = []
    while not betting.is_over:
        order.append((betting.round, betting.to_act))
        betting = betting.play("call" if not betting.actions else "check")
    assert order[:2] == [(0, 1), (0, 0)]
    assert order[2:] == [(r, player) for r in range(1, rules.num_rounds) for player in (0, 1)]
    assert betting.spent == (rules.big_blind, rules.big_blind)


def test_big_blind_has_an_option_after_a_limp_and_none_after_a_raise():
    assert play(NOLIMIT, "call").legal_text() == "check, raise-to:200..20000"
    assert play(NOLIMIT, "raise-to:200", "call").round == 1
    assert play(NOLIMIT, "call", "raise-to:200", "call").round == 1


def test_the_first_player_of_each_round_is_a_rule():
    rules = replace(LIMIT, first_player=(0, 1, 0, 1))
    betting, order = Betting.start(rules), []
    while not betting.is_over:
        order.append(betting.to_act)
        betting = betting.play(betting.passive_actions()[-1])
    assert order == [0, 1, 1, 0, 0, 1, 1, 0]


# A blind that puts a player all-in -------------------------------------------------------------


@pytest.mark.parametrize(
    ("stacks", "spent", "to_act", "legal"),
    [
        ((60, 1000), (60, 50), 1, "fold, call"),  # short big blind: ten more to call
        ((50, 1000), (50, 50), None, None),  # nothing owed, nobody to bet against
        ((30, 1000), (30, 50), None, None),  # the small blind has already put in more
        ((100, 1000), (100, 50), 1, "fold, call"),  # exactly the big blind
        ((1000, 50), (100, 50), None, None),  # exactly the small blind: the rest comes back
        ((1000, 30), (100, 30), None, None),
        ((1000, 70), (100, 50), 1, "fold, call"),  # a call for twenty more is all-in
        ((1000, 100), (100, 50), 1, "fold, call"),
        ((1000, 101), (100, 50), 1, "fold, call, raise-to:101"),
        ((101, 1000), (100, 50), 1, "fold, call, raise-to:200..1000"),
        ((30, 40), (30, 40), None, None),
        ((1, 1), (1, 1), None, None),
    ],
)
def test_a_stack_below_a_blind_is_all_in_and_only_a_debt_is_asked_for(stacks, spent, to_act, legal):
    betting = Betting.start(with_stacks(*stacks))
    assert betting.spent == spent
    assert betting.to_act == to_act
    assert betting.is_over == (to_act is None)
    if legal is None:
        assert betting.legal_actions() == []
        assert betting.is_all_in_showdown
    else:
        assert betting.legal_text() == legal
        called = betting.play("call")
        if called.is_all_in(0) or called.is_all_in(1):
            assert called.is_over
            assert called.is_all_in_showdown
        assert betting.play("fold").folded == to_act


def test_a_called_short_blind_is_a_showdown_for_what_both_have():
    assert play(with_stacks(60, 1000), "call").spent == (60, 60)
    over = play(with_stacks(1000, 70), "call")
    assert over.spent == (100, 70)
    assert over.at_stake == 70


# No-limit sizes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "low"),
    [
        ([], 200),
        (["raise-to:200"], 300),
        (["raise-to:250"], 400),
        (["raise-to:250", "raise-to:700"], 1150),
        (["raise-to:301"], 502),
        (["call", "check"], 100),
        (["raise-to:300", "call"], 100),  # a new round: the big blind again
        (["raise-to:300", "call", "check"], 100),
        (["raise-to:300", "call", "bet:100"], 200),
        (["raise-to:300", "call", "bet:450", "raise-to:1000"], 1550),
    ],
)
def test_smallest_bet_and_raise(line, low):
    betting = play(NOLIMIT, *line)
    assert betting.raise_bounds()[0] == low
    sizes = [action.amount for action in betting.legal_actions() if action.amount]
    assert sizes == list(range(low, betting.raise_bounds()[1] + 1))
    kind = "bet" if betting.round and betting.spent == betting.round_start else "raise-to"
    for bad in (low - 1, betting.raise_bounds()[1] + 1):
        with pytest.raises(IllegalAction, match="is not legal here"):
            betting.play(Action(kind, bad))


def test_opening_after_the_flop_is_a_bet_and_everything_else_a_raise():
    flop = play(NOLIMIT, "call", "check")
    with pytest.raises(IllegalAction, match="legal: check, bet:100"):
        flop.play("raise-to:100")
    with pytest.raises(IllegalAction, match="legal: fold, call, raise-to:200"):
        flop.play("bet:100").play("bet:200")
    with pytest.raises(IllegalAction, match="legal: fold, call, raise-to:200"):
        play(NOLIMIT, "bet:200")


def test_the_chain_of_smallest_raises_has_199_steps():
    betting, count = Betting.start(NOLIMIT), 0
    while (bounds := betting.raise_bounds()) is not None:
        betting = betting.play(f"raise-to:{bounds[0]}")
        count += 1
        assert bounds[0] == 100 + 100 * count
    assert count == 199
    assert betting.legal_text() == "fold, call"


def test_an_all_in_below_the_smallest_raise_is_legal_and_ends_the_raising():
    betting = play(with_stacks(900, 900), "raise-to:500", "call", "bet:260")
    assert betting.legal_text() == "fold, call, raise-to:400"
    assert betting.play("raise-to:400").legal_text() == "fold, call"


def test_a_raise_may_exceed_the_other_stack_and_the_excess_comes_back():
    shove = play(with_stacks(300, 1000), "raise-to:1000")
    assert shove.legal_text() == "fold, call"
    called = shove.play("call")
    assert called.spent == (300, 1000)
    assert called.at_stake == 300
    assert called.is_all_in_showdown


def test_no_fold_where_nothing_is_owed_and_no_check_where_something_is():
    with pytest.raises(IllegalAction):
        play(NOLIMIT, "call", "fold")
    with pytest.raises(IllegalAction):
        play(NOLIMIT, "call", "call")
    with pytest.raises(IllegalAction):
        play(NOLIMIT, "check")


# Limit -----------------------------------------------------------------------------------------


def test_limit_caps_leave_fold_and_call():
    raises = ["raise-to:20", "raise-to:30", "raise-to:40"]
    assert play(LIMIT, *raises).legal_text() == "fold, call"
    flop = ["bet:10", "raise-to:20", "raise-to:30", "raise-to:40"]
    capped = play(LIMIT, *raises, "call", *flop)
    assert capped.legal_text() == "fold, call"
    assert capped.spent == (70, 80)
    turn = capped.play("call")
    assert turn.legal_text() == "check, bet:20"


@pytest.mark.parametrize(("blind_is_bet", "raises"), [(True, 3), (False, 4)])
def test_the_big_blind_counts_as_a_bet_if_the_rules_say_so(blind_is_bet, raises):
    betting = Betting.start(replace(LIMIT, blind_is_bet=blind_is_bet))
    for _ in range(raises):
        betting = betting.play(betting.legal_actions()[-1])
    assert betting.legal_text() == "fold, call"


def test_a_cap_on_each_player_counts_his_own_bets():
    rules = replace(LIMIT, cap_counts="player", blind_is_bet=False, max_bets=(2, 1, 1, 1))
    betting = Betting.start(rules)
    makers = []
    while betting.raise_bounds():
        makers.append(betting.to_act)
        betting = betting.play(betting.legal_actions()[-1])
    assert makers == [1, 0, 1, 0]
    flop = betting.play("call")
    # The first player has used up his one bet: the other one may still raise.
    assert flop.play("bet:10").legal_text() == "fold, call, raise-to:20"
    assert flop.play("bet:10").play("raise-to:20").legal_text() == "fold, call"


@pytest.mark.parametrize(("blinds", "makers"), [((10, 5), [1, 0, 1]), ((5, 10), [0, 1, 0])])
def test_a_cap_on_each_player_counts_the_big_blind_of_the_player_who_posts_it(blinds, makers):
    rules = replace(LIMIT, blinds=blinds, first_player=(makers[0], 0, 0, 0), cap_counts="player")
    betting, made = Betting.start(replace(rules, max_bets=(2, 4, 4, 4))), []
    while betting.raise_bounds():
        made.append(betting.to_act)
        betting = betting.play(betting.legal_actions()[-1])
    assert made == makers


def test_limit_stacks_cut_the_last_bet_short():
    rules = replace(LIMIT, stacks=(25, 100))
    betting = play(rules, "raise-to:20")
    assert betting.legal_text() == "fold, call, raise-to:25"
    assert betting.play("raise-to:25").legal_text() == "fold, call"


def decision_nodes(rules: Rules) -> Counter:
    counts: Counter = Counter()
    stack = [Betting.start(rules)]
    while stack:
        betting = stack.pop()
        if not betting.is_over:
            counts[betting.round] += 1
            stack += [betting.play(action) for action in betting.legal_actions()]
    return counts


def test_limit_holdem_has_6378_decision_nodes():
    """The published size of the betting tree, by round."""
    assert decision_nodes(LIMIT) == {0: 8, 1: 70, 2: 630, 3: 5670}


# Invariants on any rules and any line ----------------------------------------------------------


@st.composite
def any_rules(draw) -> Rules:
    rounds = draw(st.integers(1, 4))

    def row(low: int, high: int) -> tuple[int, ...]:
        return tuple(draw(st.integers(low, high)) for _ in range(rounds))

    limit = draw(st.booleans())
    stacks = st.tuples(st.integers(1, 60), st.integers(1, 60))
    return Rules(
        betting="limit" if limit else "no-limit",
        blinds=draw(st.tuples(st.integers(1, 9), st.integers(0, 9))),
        stacks=draw(st.none() | stacks) if limit else draw(stacks),
        bet_sizes=row(1, 9) if limit else (),
        max_bets=row(0, 4) if limit or draw(st.booleans()) else None,
        cap_counts=draw(st.sampled_from(["round", "player"])),
        blind_is_bet=draw(st.booleans()),
        first_player=row(0, 1),
        board_cards=(0, 3, 1, 1)[:rounds],
    )


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_invariants_of_any_line(data):
    rules = data.draw(any_rules())
    betting = Betting.start(rules)
    kinds = ["fold", "check", "call"]
    while not betting.is_over:
        player = betting.to_act
        legal = betting.legal_actions()
        # Every listed action is accepted, everything else is refused.
        assert len(set(legal)) == len(legal)
        tops = range(max(betting.spent) + 12)
        everything = [Action(kind) for kind in kinds]
        everything += [Action(kind, amount) for kind in ("bet", "raise-to") for amount in tops]
        for action in {*everything, *legal}:
            assert betting.is_legal(action) == (action in legal)
            if action in legal:
                check_step(betting, action, betting.play(str(action)))
            else:
                with pytest.raises(IllegalAction):
                    betting.play(action)
        order = [kinds.index(action.kind) for action in legal if not action.amount]
        assert order == sorted(order)
        assert not betting.is_all_in(player)
        owes = betting.spent[player] < betting.spent[1 - player]
        assert [action.kind for action in legal if not action.amount] == (
            ["fold", "call"] if owes else ["check"]
        )
        if betting.is_all_in(1 - player):
            assert owes
            assert len(legal) == 2
        betting = betting.play(data.draw(st.sampled_from(legal)))
    assert betting.legal_actions() == []
    for action in ("fold", "check", "call", "bet:10", "raise-to:20"):
        with pytest.raises(IllegalAction, match="the betting is over"):
            betting.play(action)
    if betting.folded is None and not betting.is_all_in_showdown:
        assert betting.round == rules.num_rounds - 1
        assert betting.spent[0] == betting.spent[1]


def check_step(before: Betting, action: Action, after: Betting) -> None:
    """What must hold for one action, whoever played it."""
    player, other = before.to_act, 1 - before.to_act
    rules = before.rules
    assert after.pot == sum(after.spent)
    assert after.spent[other] == before.spent[other]
    assert after.actions == (*before.actions, action)
    if rules.stacks is not None:
        assert after.spent[player] <= rules.stacks[player]
    paid = after.spent[player] - before.spent[player]
    match action.kind:
        case "fold":
            assert paid == 0
            assert (after.folded, after.to_act) == (player, None)
        case "check":
            assert paid == 0
        case "call":
            short = rules.stacks is not None and after.spent[player] == rules.stacks[player]
            assert paid > 0
            assert after.spent[player] == after.spent[other] or short
        case _:
            assert after.spent[player] > before.spent[other]
            assert after.spent[player] == before.round_start[player] + action.amount
            assert after.to_act == other
            assert after.round == before.round
            if rules.betting == "limit" and not after.is_all_in(player):
                assert after.spent[player] == max(before.spent) + rules.bet_sizes[before.round]
    if after.round > before.round:
        assert after.spent[0] == after.spent[1]
        assert after.to_act == rules.first_player[after.round]
        assert after.round_start == after.spent

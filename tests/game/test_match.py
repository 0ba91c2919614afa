"""Matches: balance, seats, duplicate deals, seeds, errors, and what players are shown."""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from nashfold.game import Action, Observation, play_match, preset
from nashfold.game.match import Match

SHORT = preset("short-limit")


def careful(observation: Observation) -> str:
    """A deterministic player who looks at his cards, the board and the betting."""
    legal = observation.legal_actions()
    bets = sum(len(actions) for actions in observation.betting.history)
    return str(legal[(sum(observation.hole) + 3 * sum(observation.board) + bets) % len(legal)])


def eager(observation: Observation) -> str:
    """Raises with a pair or an ace, folds low cards to a bet, else calls."""
    legal = observation.legal_actions()
    ranks = {card // 4 for card in observation.hole}
    if len(ranks) == 1 or 12 in ranks:
        return str(legal[-1])
    return str(legal[0] if max(ranks) < 10 else legal[min(1, len(legal) - 1)])


def caller(observation: Observation) -> str:
    return "call" if "call" in map(str, observation.legal_actions()) else "check"


def folder(observation: Observation) -> str:
    return str(observation.legal_actions()[0])


def raiser(observation: Observation) -> str:
    return str(observation.legal_actions()[-1])


@pytest.mark.parametrize("name", ["short-limit", "short-nolimit", "flop-limit", "acpc-limit"])
def test_duplicate_deals_of_two_identical_players_sum_to_exactly_zero(name):
    """Field case MT-05: not only in all, but in each pair of hands."""
    for player in (careful, eager):
        result = play_match([player, player], preset(name), 60, seed=3, duplicate=True)
        assert (result.winnings, result.mbb_per_hand, result.standard_error) == (0, 0, 0)
        assert result.hands == 60
        assert result.duplicate
    single = play_match([careful, careful], preset(name), 60, seed=3)
    assert single.winnings != 0
    assert not single.duplicate


def test_what_one_player_wins_the_other_one_loses():
    ours = play_match([careful, eager], SHORT, 80, seed=5, duplicate=True)
    theirs = play_match([eager, careful], SHORT, 80, seed=5, duplicate=True)
    assert ours.winnings == -theirs.winnings != 0
    assert ours.mbb_per_hand == -theirs.mbb_per_hand
    assert ours.standard_error == pytest.approx(theirs.standard_error)


def test_the_button_alternates_and_the_first_player_begins_in_the_big_blind():
    """A player who only folds loses his blinds to one who always raises: chips by position."""
    assert [play_match([folder, raiser], SHORT, n, seed=1).winnings for n in (1, 2, 3, 4)] == [
        -2, -3, -5, -6,
    ]  # fmt: skip
    assert [play_match([raiser, folder], SHORT, n, seed=1).winnings for n in (1, 2, 3, 4)] == [
        1,
        3,
        4,
        6,
    ]
    result = play_match([folder, raiser], SHORT, 200, seed=1, duplicate=True)
    assert result.mbb_per_hand == -750  # (500 + 1000) / 2, as always-fold loses everywhere
    assert result.standard_error == 0


def test_seeds_reproduce_and_differ():
    results = [play_match([careful, eager], SHORT, 50, seed=seed) for seed in (7, 7, 8)]
    assert results[0] == results[1]
    assert results[0].winnings != results[2].winnings
    assert play_match([careful, eager], SHORT, 50) == play_match([careful, eager], SHORT, 50, seed=0)


def hand_results(players, hands: int, seed: int, duplicate: bool) -> list[int]:
    """Winnings hand by hand (by pair where duplicate): differences between matches of rising length."""
    step = 2 if duplicate else 1
    lengths = range(step, hands + 1, step)
    totals = [play_match(players, SHORT, length, seed, duplicate).winnings for length in lengths]
    return [after - before for before, after in pairwise([0, *totals])]


@pytest.mark.parametrize("duplicate", [False, True])
def test_mean_and_standard_error_against_a_plain_computation(duplicate):
    players = [careful, eager]
    result = play_match(players, SHORT, 40, 11, duplicate)
    chips = hand_results(players, 40, 11, duplicate)
    per_hand = [row / (2 if duplicate else 1) for row in chips]
    scale = 1000 / 2  # the big blind is two chips
    assert result.winnings == sum(chips)
    assert result.mbb_per_hand == pytest.approx(scale * statistics.mean(per_hand))
    assert result.standard_error == pytest.approx(
        scale * statistics.stdev(per_hand) / math.sqrt(len(per_hand))
    )
    assert f"{result.mbb_per_hand:+.1f} +- {result.standard_error:.1f} mbb/h over 40 hands" == str(
        result
    )


def test_one_hand_has_no_standard_error():
    assert math.isnan(play_match([careful, eager], SHORT, 1, seed=2).standard_error)
    assert math.isnan(play_match([careful, eager], SHORT, 2, seed=2, duplicate=True).standard_error)


def test_duplicate_deals_are_the_same_deals_with_the_seats_swapped():
    seen: list[tuple[int, int, tuple[int, ...]]] = []

    def watching(who: int):
        def player(observation: Observation) -> str:
            if observation.round == 0 and (who, observation.player, observation.hole) not in seen:
                seen.append((who, observation.player, observation.hole))
            return caller(observation)

        return player

    play_match([watching(0), watching(1)], SHORT, 40, seed=9, duplicate=True)
    assert {(1 - who, seat, hole) for who, seat, hole in seen} == set(seen)
    assert len(seen) == 80
    seen.clear()
    play_match([watching(0), watching(1)], SHORT, 40, seed=9)
    assert not {(1 - who, seat, hole) for who, seat, hole in seen} & set(seen)


def test_players_are_asked_only_when_they_act_and_never_see_the_other_cards():
    asked = []

    def player(observation: Observation) -> str:
        asked.append(observation)
        return careful(observation)

    play_match([player, player], SHORT, 60, seed=4)
    assert all(observation.player == observation.to_act for observation in asked)
    assert all(observation.shown is None and observation.winnings is None for observation in asked)
    assert {len(observation.board) for observation in asked} == {0, 3, 4}
    assert all(len(observation.hole) == 2 for observation in asked)


# Against the rules ------------------------------------------------------------------------------


def thrower(observation: Observation) -> str:
    raise RuntimeError("lost my cards")


def quitter(observation: Observation) -> str:
    raise SystemExit(3)


def silent(observation: Observation):
    return None


def sleeper(observation: Observation) -> str:
    time.sleep(0.4)
    return caller(observation)


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class Mute(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise RuntimeError("no words")


def mute(observation: Observation) -> str:
    raise Mute


def cancelled(observation: Observation) -> str:
    raise asyncio.CancelledError


FAULTY = {
    "too big": (lambda o: "raise-to:201", "illegal action", "raise-to:201"),
    "too small": (lambda o: "raise-to:1", "illegal action", "raise-to:1"),
    "wrong kind": (lambda o: "bet:4", "illegal action", "bet:4"),
    "not owed": (lambda o: "bet:9999999999999", "illegal action", "bet:9999999999999"),
    "spaces": (lambda o: "call ", "illegal action", "call "),
    "empty": (lambda o: "", "illegal action", ""),
    "no word": (lambda o: "all-in", "illegal action", "all-in"),
    "a number": (lambda o: 7, "illegal action", "7"),
    "bytes": (lambda o: b"call", "illegal action", "b'call'"),
    "long": (lambda o: "x" * 10_000, "illegal action", "x" * 200 + "... (10000 characters)"),
    "odd": (
        lambda o: Unprintable(),
        "illegal action",
        "Unprintable that cannot be printed (RuntimeError)",
    ),
    "none": (silent, "no answer", "None"),
    "exception": (thrower, "exception", "RuntimeError: lost my cards"),
    "exit": (quitter, "exception", "SystemExit: 3"),
    "mute": (mute, "exception", "Mute that cannot be printed (RuntimeError)"),
    "cancelled": (cancelled, "exception", "CancelledError: "),
    "odd action": (lambda o: Action(["x"], 4), "illegal action", "Action(kind=['x'], amount=4)"),
    "true": (
        lambda o: Action("raise-to", True),
        "illegal action",
        "Action(kind='raise-to', amount=True)",
    ),
}
MATCH = preset("match-nolimit")


def after(hands: int, faulty, then=caller):
    """A player who plays by the rules for some hands, and then no more."""

    class Player:
        hand = 0

        def begin(self, hand: int) -> None:
            self.hand = hand

        def __call__(self, observation: Observation):
            return (faulty if self.hand >= hands else then)(observation)

    return Player()


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_loses_the_match_at_once(who, case):
    """Field case MT-02: one outcome, with who, when, what was sent and what was legal."""
    faulty, kind, sent = FAULTY[case]
    players = [caller, caller]
    players[who] = after(3, faulty)
    result = play_match(players, MATCH, 10, seed=6)
    fault = result.forfeit
    assert fault is not None
    assert result.faults == (fault,)
    assert (fault.player, fault.hand, fault.kind, fault.sent) == (who, 3, kind, sent)
    assert fault.position == (who + 3) % 2
    if fault.position == 1:  # the button acts first
        assert (fault.line, fault.legal) == ("", "fold, call, raise-to:4..200")
    else:
        assert (fault.line, fault.legal) == ("call", "check, raise-to:4..200")
    assert result.winner == 1 - who
    assert result.hands == 3  # those played before count for the chips, the one in play does not
    assert result.match_chips == (result.winnings, -result.winnings)
    assert result.winnings == play_match([caller, caller], MATCH, 3, seed=6).winnings
    assert f"forfeited by player {who}, hand 3" in str(result)


@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_may_count_as_a_fold_instead(case):
    faulty, kind, sent = FAULTY[case]
    result = play_match([faulty, raiser], MATCH, 10, seed=6, faults="fold")
    folded = play_match([folder, raiser], MATCH, 10, seed=6)
    assert result.forfeit is None
    assert result.winnings == folded.winnings == -5 * 1 - 5 * 2
    assert result.winner == 1
    assert [(f.hand, f.player, f.kind, f.sent) for f in result.faults] == [
        (hand, 0, kind, sent) for hand in range(10)
    ]
    assert "10 answers against the rules" in str(result)


def test_where_nothing_is_owed_a_fault_counts_as_a_check():
    result = play_match([silent, caller], MATCH, 1, seed=2, faults="fold")
    checked = play_match([folder, caller], MATCH, 1, seed=2)  # the first action where nothing is owed
    assert result.hands == 1
    assert result.winnings == checked.winnings != 0
    assert [fault.legal for fault in result.faults] == [
        "check, raise-to:4..200", *["check, bet:2..198"] * 3,
    ]  # fmt: skip


def test_a_late_answer_is_a_forfeit_and_leaves_the_other_player_alone():
    result = play_match([caller, after(2, sleeper)], MATCH, 10, seed=1, time_limit=0.1)
    assert result.forfeit is not None
    assert (result.forfeit.kind, result.forfeit.sent) == ("time", "nothing in 0.1 s")
    assert (result.forfeit.player, result.forfeit.hand, result.winner) == (1, 2, 0)


def test_a_late_answer_is_never_taken_for_a_later_question():
    """The answer to the first question comes while the second one waits: it is dropped."""
    asked = []

    def slow_once(observation: Observation) -> str:
        asked.append(observation)
        if len(asked) == 1:
            time.sleep(0.25)
            return "raise-to:200"
        return caller(observation)

    result = play_match([slow_once, caller], MATCH, 4, seed=1, time_limit=0.2, faults="fold")
    assert [fault.kind for fault in result.faults] == ["time"]
    assert result.hands == 4
    assert abs(result.winnings) <= 8  # nobody ever called 200


def test_exceptions_are_told_from_lateness_where_time_is_limited():
    for faulty in (thrower, quitter, mute, cancelled):
        result = play_match([caller, faulty], MATCH, 3, seed=1, time_limit=20, faults="fold")
        assert {fault.kind for fault in result.faults} == {"exception"}


def test_questions_that_were_given_up_are_never_asked():
    asked = []

    def sleeps_once(observation: Observation) -> str:
        asked.append(observation)
        if len(asked) == 1:
            time.sleep(0.5)
        return caller(observation)

    result = play_match([sleeps_once, caller], MATCH, 12, seed=1, time_limit=0.1, faults="fold")
    late = [fault for fault in result.faults if fault.kind == "time"]
    assert len(late) >= 3
    questions = [observation.hole for observation in asked]
    assert len(set(questions)) == 12 - len({fault.hand for fault in late}) + 1


def test_figures_of_a_match_that_ends_within_a_pair_agree():
    """The odd hand counts for the chips and the mean; the standard error is over whole pairs."""
    whole = play_match([careful, eager], SHORT, 6, 3, duplicate=True)
    broken = play_match([after(7, silent, careful), eager], SHORT, 10, 3, duplicate=True)
    assert (whole.hands, broken.hands) == (6, 7)
    assert broken.mbb_per_hand == pytest.approx(1000 * broken.winnings / 2 / 7)
    assert broken.standard_error == whole.standard_error > 0
    assert play_match([silent, caller], SHORT, 4).__str__().startswith("no hand was finished; forfeited")


def test_a_match_that_is_over_takes_no_more_faults():
    match = Match(MATCH, hands=1)
    match.play(1, "fold")
    with pytest.raises(ValueError, match="over"):
        match.fault(0, "time", "")
    assert match.forfeit is None


def test_a_player_who_never_comes_back_ends_the_match_but_not_the_program():
    script = (
        "import time\n"
        "from nashfold.game import play_match, preset\n"
        "def hung(observation):\n"
        "    while True: time.sleep(1)\n"
        "result = play_match([hung, hung], preset('match-nolimit'), 10, time_limit=0.05)\n"
        "print(result.forfeit.kind)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("time\n", 0)


def test_timed_matches_give_the_same_result_and_leave_no_thread():
    before = threading.active_count()
    timed = play_match([careful, eager], SHORT, 30, seed=3, time_limit=30)
    assert timed == play_match([careful, eager], SHORT, 30, seed=3)
    for _ in range(200):
        if threading.active_count() == before:
            break
        time.sleep(0.01)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"faults": "ignore"}, "faults must be one of forfeit, fold, not 'ignore'"),
        ({"time_limit": 0}, "time_limit must be seconds above 0, up to 1,000,000, not 0"),
        ({"workers": 0}, "workers must be a whole number from 1 to 1024, not 0"),
        ({"seed": -1}, "the seed must be a whole number from 0 to 4294967295, not -1"),
        ({"seed": None}, "the seed must be a whole number from 0 to 4294967295, not None"),
        ({"time_limit": float("inf")}, "time_limit must be seconds above 0, up to 1,000,000, not inf"),
        ({"seed": 2**32}, "the seed must be a whole number from 0 to 4294967295, not 4294967296"),
        ({"time_limit": "x"}, "time_limit must be seconds above 0, up to 1,000,000, not 'x'"),
        ({"hands": 2.5}, "hands must be a positive number, not 2.5"),
        ({"rules": "kuhn"}, "rules must be Rules, such as preset"),
    ],
)
def test_bad_settings_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        play_match([caller, caller], **{"rules": SHORT, "hands": 2} | change)


# A match in play --------------------------------------------------------------------------------


def test_an_action_out_of_turn_loses_the_match():
    match = Match(MATCH)
    assert match.to_act == 1  # the first player is in the big blind, the button acts first
    match.play(0, "check")
    assert match.is_over
    assert match.to_act is None
    assert match.winner == 1
    assert match.forfeit is not None
    assert (match.forfeit.kind, match.forfeit.sent, match.forfeit.player) == ("out of turn", "check", 0)
    with pytest.raises(ValueError, match="over"):
        match.play(1, "call")


def test_a_match_has_players_0_and_1():
    for player in (2, -1, "0"):
        with pytest.raises(ValueError, match="a match has players 0 and 1"):
            Match(MATCH).play(player, "call")


def test_out_of_turn_is_only_noted_where_faults_are_folds():
    match = Match(MATCH, faults="fold")
    before = match.hand
    match.play(0, "fold")
    assert match.hand == before
    assert [fault.kind for fault in match.faults] == ["out of turn"]
    match.play(1, "call")
    assert match.to_act == 0


def test_ten_independent_hands_with_the_button_alternating():
    match = Match(MATCH, hands=10, seed=1)
    chips = []
    while not match.is_over:
        number = match.number
        assert match.hand.betting.spent == (2, 1)  # every hand starts with full stacks
        assert match.position(0) == number % 2
        assert match.observation(match.to_act).legal_actions() == match.hand.legal_actions()
        assert len(match.hand.legal_actions()) == 2 + 197  # fold, call, raise-to:4 to raise-to:200
        hand = match.play(match.to_act, "raise-to:200")
        assert match.number == number
        hand = match.play(match.to_act, "call" if number % 3 else "fold")
        assert hand.is_over
        assert match.number == min(number + 1, 9)
        chips.append(hand.winnings[number % 2])
    assert match.results == chips
    assert match.match_chips == (sum(chips), -sum(chips))
    assert len(chips) == 10
    assert sum(chips) != 0
    assert match.winner == int(sum(chips) < 0)


def test_at_the_end_players_see_their_own_cards_of_the_last_hand():
    match = Match(MATCH, hands=3, seed=1)
    for _ in range(3):
        holes = [match.observation(player).hole for player in (0, 1)]
        last = match.number
        match.play(match.to_act, "fold")
    assert match.is_over
    assert match.number == last == 2
    assert [match.observation(player).hole for player in (0, 1)] == holes
    assert [match.observation(player).shown for player in (0, 1)] == [None, None]


def test_equal_totals_are_a_draw():
    match = Match(MATCH, hands=2)
    for _ in range(2):
        assert match.winner is None
        match.play(match.to_act, "fold")
    assert (match.is_over, match.match_chips, match.winner) == (True, (0, 0), None)
    assert play_match([folder, folder], MATCH, 10, seed=1).winner is None


def test_totals_balance_hand_by_hand():
    """Field case MT-03: each hand sums to zero, and who folded loses what he has put in."""
    match = Match(preset("short-nolimit"), hands=60, seed=8)
    players = [careful, eager]
    while (player := match.to_act) is not None:
        hand = match.play(player, players[player](match.observation(player)))
        if hand.is_over:
            assert sum(hand.winnings) == 0
            if (folded := hand.betting.folded) is not None:
                assert hand.winnings[folded] == -hand.betting.spent[folded] <= 0
    assert sum(match.match_chips) == 0
    assert match.match_chips[0] == sum(match.results) != 0


def test_hands_in_which_the_blinds_are_all_in_need_no_player():
    rules = replace(MATCH, stacks=(2, 1))
    result = play_match([thrower, thrower], rules, 20, seed=3)
    assert result.hands == 20
    assert result.forfeit is None


def test_players_are_told_when_a_hand_begins():
    told = []

    class Player:
        def begin(self, hand: int) -> None:
            told.append(hand)

        def __call__(self, observation: Observation) -> str:
            return caller(observation)

    play_match([Player(), caller], SHORT, 7, seed=1)
    assert told == list(range(7))


# Processes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("duplicate", [False, True])
def test_a_match_played_by_processes_has_the_same_result(duplicate):
    calls = []
    alone = play_match([careful, eager], SHORT, 600, 3, duplicate)
    shared = play_match(
        [careful, eager], SHORT, 600, 3, duplicate, lambda *call: calls.append(call), workers=2
    )
    assert shared == alone
    assert calls == [(min(done, 600), 600) for done in range(64, 664, 64)]


def forfeits_late(observation: Observation) -> str:
    """Throws in hands with a certain card: the same hands in any process."""
    if observation.round == 2 and observation.hole[0] == 51 and observation.board[3] == 48:
        raise RuntimeError("the king of spades")
    return caller(observation)


def test_the_first_forfeit_of_any_process_ends_the_match():
    alone = play_match([forfeits_late, caller], SHORT, 1500, seed=2)
    assert alone.forfeit is not None
    assert 64 < alone.hands < 1500
    assert play_match([forfeits_late, caller], SHORT, 1500, seed=2, workers=2) == alone


def test_players_that_cannot_travel_are_refused():
    with pytest.raises(ValueError, match=r"cannot be sent to other processes .*: use workers=1"):
        play_match([lambda o: "fold", caller], SHORT, 600, workers=2)


def ends_its_process(observation: Observation) -> str:
    if multiprocessing.parent_process() is not None:
        os._exit(1)
    return caller(observation)


class Slow:
    """Against the rules at once with certain cards, else it thinks for ever."""

    def __init__(self, hole: tuple[int, ...]):
        self.hole = hole

    def __call__(self, observation: Observation) -> str:
        if observation.hole == self.hole:
            return "nonsense"
        time.sleep(3600)
        return "fold"


def test_a_forfeit_ends_the_processes_that_still_play():
    first = Match(SHORT, 1, seed=2).hand.hole[1]  # the button acts first
    result = play_match([Slow(first), Slow(first)], SHORT, 600, seed=2, workers=2)
    assert result.forfeit is not None
    assert (result.forfeit.hand, result.hands) == (0, 0)


def interrupts(observation: Observation) -> str:
    raise KeyboardInterrupt


def test_a_player_who_interrupts_in_a_process_is_at_fault():
    result = play_match([interrupts, caller], SHORT, 2, seed=1, workers=2, faults="fold")
    assert {fault.kind for fault in result.faults} == {"exception"}


def test_an_action_that_is_none_is_at_fault():
    class Odd(Action):
        @property
        def kind(self):
            raise ValueError("odd")

    odd = object.__new__(Odd)
    result = play_match([caller, lambda seen: odd], MATCH, 3, seed=1)
    assert result.forfeit is not None
    assert result.forfeit.kind == "illegal action"


def test_a_player_who_ends_its_process_is_no_fault_of_the_script():
    with pytest.raises(ValueError, match="a process ended while it played"):
        play_match([ends_its_process, caller], SHORT, 600, workers=2)


# Numbers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hands", "duplicate", "message"),
    [
        (0, False, "a positive number, not 0"), (-3, False, "a positive number, not -3"),
        (0, True, "an even number, not 0"), (7, True, "an even number, not 7"),
    ],
)  # fmt: skip
def test_bad_numbers_of_hands_are_refused(hands, duplicate, message):
    with pytest.raises(ValueError, match=message):
        play_match([caller, caller], SHORT, hands, duplicate=duplicate)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_match_has_two_players(count):
    with pytest.raises(ValueError, match=f"two players, not {count}"):
        play_match([caller] * count, SHORT, 2)


def test_progress_is_reported_now_and_then():
    calls = []
    play_match([folder, folder], SHORT, 600, progress=lambda *call: calls.append(call))
    assert calls == [(min(done, 600), 600) for done in range(64, 664, 64)]


def test_a_long_match_finds_the_value_within_its_standard_error():
    """Always raising against always calling is even: the cards decide equal stakes."""
    result = play_match([raiser, caller], SHORT, 2000, seed=12)
    assert 0 < result.standard_error < 400
    assert abs(result.mbb_per_hand) < 4 * result.standard_error

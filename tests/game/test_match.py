"""Matches: balance, seats, duplicate deals, seeds, errors, and what players are shown."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

import pytest
from nashfold.game import IllegalAction, Observation, play_match, preset

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


@pytest.mark.parametrize("who", [0, 1])
@pytest.mark.parametrize("answer", ["raise-to:1", "bet:4", "check ", "", "all-in", "raise-to:-4"])
def test_an_illegal_action_names_hand_and_player(who, answer):
    hands = 0
    previous: tuple = ()

    def faulty(observation: Observation) -> str:
        nonlocal hands, previous
        if observation.hole != previous:
            previous = observation.hole
            hands += 1
        return answer if hands == 4 else caller(observation)

    players = [caller, caller]
    players[who] = faulty
    with pytest.raises(IllegalAction, match=f"^hand 3, player {who}: ") as error:
        play_match(players, SHORT, 10, seed=6)
    assert answer.strip() in str(error.value)


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
    assert calls == [(256, 600), (512, 600)]


def test_a_long_match_finds_the_value_within_its_standard_error():
    """Always raising against always calling is even: the cards decide equal stakes."""
    result = play_match([raiser, caller], SHORT, 2000, seed=12)
    assert 0 < result.standard_error < 400
    assert abs(result.mbb_per_hand) < 4 * result.standard_error

"""What shares a bucket: every loss of an abstraction shows, and nothing that is none."""

from __future__ import annotations

import re
from itertools import permutations

import pytest
from nashfold.abstraction import AbstractionConfig, RoundConfig, build_abstraction
from nashfold.abstraction.sharing import what_shares
from nashfold.game import preset
from nashfold.game.cards import format_cards
from small_abstractions import CLASSES, TINY_RULES

EHS = (RoundConfig("ehs", 3), RoundConfig("ehs", 6), RoundConfig("ehs", 7))


def renamings(hand: str) -> set[str]:
    """A hand on a board (deals apart by "/") under all renamings of the tiny deck's suits."""
    found = set()
    for suits in permutations("dhs"):
        renamed = hand.translate(str.maketrans("dhs", "".join(suits)))
        parts = [
            sorted(re.findall("..", part)) for part in re.split("[ /]", renamed.replace(" on ", " "))
        ]
        found.add(" ".join("".join(part) for part in parts))
    return found


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
@pytest.mark.parametrize(
    ("round_index", "board"), [(0, ""), (1, "KhQdJd"), (2, "KhQdJdKd"), (2, "KdQdJdKh")]
)
def test_hands_on_the_same_board(recall, round_index, board):
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, EHS, recall=recall))
    told = what_shares(abstraction, round_index, "AsKs", board)
    assert told.bucket == abstraction.bucket(round_index, "AsKs", board)
    here = set()
    for hand in range(abstraction.deck.num_hands):
        name = abstraction.deck.hand_name(hand)
        dead = {*re.findall("..", name)} & {*re.findall("..", board)}
        if not dead and abstraction.bucket(round_index, name, board) == told.bucket:
            here.add(name)
    assert {*told.renamed, *told.merged, "AsKs"} == here
    assert len(told.renamed) + len(told.merged) + 1 == len(here)
    # Renamed are those that some renaming of suits makes the same, the deals apart where they are remembered.
    dealt = f"{board[:6]}/{board[6:]}" if recall == "perfect" else board
    for name in (*told.renamed, *told.merged):
        is_same = bool(renamings(f"AsKs on {dealt}") & renamings(f"{name} on {dealt}"))
        assert is_same == (name in told.renamed), name


def test_hands_on_other_boards_are_all_named_if_they_are_few():
    rounds = (CLASSES, RoundConfig("ehs", 200), RoundConfig("ehs", 2_000))
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, rounds))
    told = what_shares(abstraction, 1, "AsKs", "KhQdJd", limit=1_000)
    assert told.complete
    expected = set()
    for row, hand in zip(*abstraction.members(1, told.bucket), strict=True):
        cards = abstraction.deck.cards[abstraction.boards(1).cards[row]].tolist()
        text = f"{abstraction.deck.hand_name(int(hand))} on {format_cards(cards)}"
        if not renamings(text.split(" on ")[1]) & renamings("KhQdJd"):
            expected |= {min(renamings(text))}
    assert expected
    assert {min(renamings(text)) for text in told.elsewhere} == expected
    assert len(told.elsewhere) == len(expected)
    few = what_shares(abstraction, 1, "AsKs", "KhQdJd", limit=3)
    assert len(few.elsewhere) == 3
    assert not few.complete
    assert "on other boards, among others: " in str(few)


@pytest.mark.parametrize("recall", ["imperfect", "perfect"])
def test_hands_on_other_boards_are_in_the_bucket(recall):
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, EHS, recall=recall))
    told = what_shares(abstraction, 2, "AsKs", "KhQdJdKd", limit=15)
    assert not told.complete
    assert len(told.elsewhere) == 15
    for text in told.elsewhere:
        hole, board = text.split(" on ")
        cards = re.findall("..", board)
        buckets = {abstraction.bucket(2, hole, order) for order in permutations(cards)}
        assert told.bucket in buckets  # in some order of the deal


def test_a_lossless_abstraction_merges_nothing():
    abstraction = build_abstraction(AbstractionConfig.lossless(TINY_RULES))
    for round_index, board in ((0, ""), (1, "KdQdJd"), (2, "KdQdJdAd")):
        told = what_shares(abstraction, round_index, "AhKh", board)
        assert told.merged == told.elsewhere == ()
        assert told.complete
        assert "AsKs" in told.renamed
        assert "merged on this board: nothing" in str(told)


def test_blockers_that_are_lost_are_named():
    """Field case IS-08: the hand with the king of the flush suit and the one without it."""
    board, first, second = "Th8h4h", "Kh3s", "Ks3h"
    rules = preset("flop-limit")
    lossless = build_abstraction(AbstractionConfig.lossless(rules))
    assert lossless.bucket(1, first, board) != lossless.bucket(1, second, board)
    assert what_shares(lossless, 1, first, board).merged == ()
    for buckets, is_merged in ((2, True), (5_000, False)):
        lossy = build_abstraction(AbstractionConfig(rules, (CLASSES, RoundConfig("ehs", buckets))))
        told = what_shares(lossy, 1, first, board)
        assert (second in told.merged) == is_merged
        assert (lossy.bucket(1, second, board) == told.bucket) == is_merged
        assert "Kh3d" in told.renamed


def test_cards_that_do_not_fit_are_refused():
    abstraction = build_abstraction(AbstractionConfig(TINY_RULES, EHS))
    with pytest.raises(ValueError, match="round 1 has two hole cards and 3 community cards"):
        what_shares(abstraction, 1, "AsKs", "KhQd")
    with pytest.raises(ValueError, match="named twice"):
        what_shares(abstraction, 1, "AsKs", "AsQdJd")

"""The texts of the ACPC protocol: the server's own logs, OpenSpiel, and a plain twin of its deals."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from nashfold.game import Betting, Hand, Rules, format_cards, new_hand, preset
from nashfold.game.acpc import (
    LoggedHand,
    MatchLog,
    Score,
    action_text,
    betting_text,
    competition_deals,
    match_state_text,
    parse_betting,
    parse_log,
    parse_match_state,
    read_log,
)

LOGS = sorted((Path(__file__).parents[1] / "data" / "acpc_logs").glob("*.log"))
NOLIMIT, LIMIT = preset("acpc-nolimit"), preset("acpc-limit")


def rules_of(log: Path) -> Rules:
    return LIMIT if log.name.startswith("limit") else NOLIMIT


def play(rules: Rules, *actions: str) -> Betting:
    betting = Betting.start(rules)
    for action in actions:
        betting = betting.play(action)
    return betting


# The server's logs ------------------------------------------------------------------------------


def test_there_are_five_logs_of_the_server_with_920_hands():
    assert [len(read_log(log, rules_of(log)).hands) for log in LOGS] == [60, 250, 60, 300, 250]


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_logs_of_the_server_replay_to_the_same_betting_winnings_and_text(path):
    """Every hand is played again action by action; chips and score are checked against ours."""
    rules, text = rules_of(path), path.read_text()
    log = read_log(path, rules, check=True)
    assert str(log) == text
    lines = [line for line in text.splitlines() if line.startswith("STATE:")]
    for line, logged in zip(lines, log.hands, strict=True):
        _, number, betting, _, values, names = line.split(":")
        hand = Hand(Betting.start(rules), logged.hand.hole, logged.hand.deal)
        for action in logged.hand.betting.actions:
            hand = hand.play(str(action))
        assert hand.is_over
        assert (int(number), betting) == (logged.number, betting_text(hand.betting))
        assert tuple(map(int, values.split("|"))) == hand.winnings == logged.values
        assert tuple(names.split("|")) == logged.names
    for name, value in zip(log.score.names, log.score.values, strict=True):
        assert log.winnings(name) == value


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_the_seed_in_a_log_deals_all_of_its_cards(path):
    log = read_log(path, rules_of(path))
    deals = competition_deals(rules_of(path), log.header.seed)
    for logged, deal in zip(log.hands, deals, strict=False):
        assert deal.hole == logged.hand.hole
        assert deal.deal[: len(logged.hand.deal)] == logged.hand.deal
        assert len(deal.deal) == 5


def test_the_header_of_a_log_is_read():
    header = read_log(LOGS[0], LIMIT).header
    assert (header.name, header.game) == ("limit_bad", "holdem.limit.2p.reverse_blinds.game")
    assert (header.hands, header.seed) == (60, 48)
    assert (header.limits.response, header.limits.hand, header.limits.per_hand) == (600000, 600000, 7000)


# Deals from a seed ------------------------------------------------------------------------------


def plain_deals(rules: Rules, seed: int, hands: int) -> list[list[str]]:
    """Twin of the server's deals: the seeding of the Mersenne Twister written out, decks as texts."""
    words = [seed]
    for index in range(1, 624):
        words.append((1812433253 * (words[-1] ^ words[-1] >> 30) + index) % 2**32)
    twister = random.Random()
    twister.setstate((3, (*words, 624), None))
    ranks, suits = "23456789TJQKA"[-rules.num_ranks :], "cdhs"[-rules.num_suits :]
    result = []
    for _ in range(hands):
        deck = [rank + suit for suit in suits for rank in ranks]
        cards = []
        for size in range(len(deck), len(deck) - 2 * rules.num_hole_cards - sum(rules.board_cards), -1):
            place = twister.getrandbits(32) % size
            cards.append(deck[place])
            deck[place] = deck[size - 1]
        result.append(cards)
    return result


@pytest.mark.parametrize("seed", [0, 1, 44, 2**31, 2**32 - 1])
@pytest.mark.parametrize(
    "rules",
    [LIMIT, preset("short-limit"), replace(LIMIT, num_suits=2), replace(NOLIMIT, num_hole_cards=1)],
    ids=["full", "24 cards", "two suits", "one hole card"],
)
def test_deals_equal_a_plain_twin(rules, seed):
    deals = [
        [format_cards([card]) for card in (*deal.hole[0], *deal.hole[1], *deal.deal)]
        for deal in islice(competition_deals(rules, seed), 40)
    ]
    assert deals == plain_deals(rules, seed, 40)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seeds_beyond_32_bits_are_refused(seed):
    with pytest.raises(ValueError, match=f"from 0 to 4294967295, not {seed}"):
        competition_deals(LIMIT, seed)


# Betting ----------------------------------------------------------------------------------------


def test_a_legal_all_in_is_measured_over_the_whole_hand():
    """Field case PR-01: after r9900 the last 100 chips may go in; 10001 may not."""
    rules = replace(NOLIMIT, stacks=(10_000, 10_000))
    betting = parse_betting("r900c/r1500r9900r10000", rules)
    assert betting.spent == (10_000, 9_900)
    assert betting_text(betting) == "r900c/r1500r9900r10000"
    assert betting.raise_bounds() is None
    assert betting_text(betting.play("call")) == "r900c/r1500r9900r10000c//"
    before = parse_betting("r900c/r1500r9900", rules)
    bounds = before.raise_bounds()
    assert bounds == (9_100, 9_100)  # in this round: 900 are in from before
    assert action_text(before, before.raise_action(bounds[0])) == "r10000"
    with pytest.raises(ValueError, match="'r10001' is not legal: raises are r10000 to r10000"):
        parse_betting("r900c/r1500r9900r10001", rules)


def test_wire_totals_are_of_the_hand_and_actions_of_the_round():
    betting = play(NOLIMIT, "raise-to:250", "call", "check", "bet:300", "raise-to:900")
    assert betting_text(betting) == "r250c/cr550r1150"
    assert [str(action) for action in parse_betting("r250c/cr550r1150", NOLIMIT).history[1]] == [
        "check",
        "bet:300",
        "raise-to:900",
    ]


@pytest.mark.parametrize(
    ("actions", "text"),
    [
        ([], ""),
        (["call"], "c"),
        (["call", "check"], "cc/"),
        (["raise-to:250", "call"], "r250c/"),
        (["call", "check"] * 1 + ["check", "check"] * 2, "cc/cc/cc/"),
        (["call", "check"] * 1 + ["check", "check"] * 3, "cc/cc/cc/cc"),
        (["fold"], "f"),
        (["raise-to:20000"], "r20000"),
        (["raise-to:20000", "call"], "r20000c///"),
        (["call", "check", "bet:19900", "call"], "cc/r20000c//"),
    ],
)
def test_a_round_that_ends_has_its_slash_at_once_and_the_last_one_none(actions, text):
    """Field case PR-04, and empty rounds after a called all-in as in the server's logs."""
    betting = play(NOLIMIT, *actions)
    assert betting_text(betting) == text
    assert parse_betting(text, NOLIMIT) == betting


def test_after_a_called_all_in_nobody_acts_and_the_rounds_stand_there_empty():
    """Field case GM-10."""
    rules = replace(NOLIMIT, stacks=(10_000, 10_000))
    betting = parse_betting("r900c/r1500r9900r10000c//", rules)
    assert betting.to_act is None
    assert betting.is_all_in_showdown
    for text in ("r900c/r1500r9900r10000c", "r900c/r1500r9900r10000c/", "r900c/r1500r9900r10000c///"):
        with pytest.raises(ValueError, match=r"should be written 'r900c/r1500r9900r10000c//'"):
            parse_betting(text, rules)
    with pytest.raises(ValueError, match="nothing may follow, not 'c'"):
        parse_betting("r900c/r1500r9900r10000c/c/", rules)


@pytest.mark.parametrize(
    ("rules", "text", "message"),
    [
        (NOLIMIT, "r", "'r' is not an action: f, c and rN are"),
        (NOLIMIT, "r199", "'r199' is not legal: raises are r200 to r20000"),
        (NOLIMIT, "r200r250", "after 'r200' 'r250' is not legal: raises are r300"),
        (NOLIMIT, "r0200", "should be written 'r200'"),
        (NOLIMIT, "r20000r20000", "no raise is"),
        (NOLIMIT, "r99999999999999", "is not"),
        (NOLIMIT, "cccc", "should be written 'cc/cc/'"),
        (NOLIMIT, "cc", "should be written 'cc/'"),
        (NOLIMIT, "c/c", "should be written 'cc/'"),
        (NOLIMIT, "ff", "after 'f' nothing may follow, not 'f': the betting is over"),
        (NOLIMIT, "cf", "legal: check"),
        (NOLIMIT, "k", "'k' is not an action"),
        (NOLIMIT, "C", "'C' is not an action"),
        (NOLIMIT, "c c", "' ' is not an action"),
        (NOLIMIT, "r-50", "'r' is not an action"),
        (LIMIT, "r20", "'r20' is not an action: f, c and r are"),
        (LIMIT, "rrrr", "after 'rrr' 'r' is not legal: no raise is"),
    ],
)
def test_betting_that_is_malformed_or_illegal_is_refused(rules, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        parse_betting(text, rules)


OPENSPIEL = (
    "betting={betting},numPlayers=2,numRounds=4,blind=100 50,firstPlayer=2 1 1 1,numSuits=4,"
    "numRanks=13,numHoleCards=2,numBoardCards=0 3 1 1,{more}"
)


@pytest.mark.parametrize(
    ("rules", "more"),
    [
        (
            replace(LIMIT, blinds=(100, 50), bet_sizes=(100, 100, 200, 200)),
            "raiseSize=100 100 200 200,maxRaises=3 4 4 4",
        ),
        (NOLIMIT, "stack=20000 20000,bettingAbstraction=fullgame"),
        (replace(NOLIMIT, stacks=(2000, 900)), "stack=2000 900,bettingAbstraction=fullgame"),
    ],
    ids=["limit", "no-limit", "unequal stacks"],
)
def test_betting_is_written_as_openspiel_writes_it(rules, more):
    """The betting of universal_poker's own ACPC state, along random lines of play."""
    pyspiel = pytest.importorskip("pyspiel")
    kind = rules.betting.replace("-", "")
    game = pyspiel.load_game(f"universal_poker({OPENSPIEL.format(betting=kind, more=more)})")
    rng = random.Random(5)
    for _ in range(60):
        state, betting = game.new_initial_state(), Betting.start(rules)
        while True:
            while state.is_chance_node():
                state.apply_action(rng.choice(state.legal_actions()))
            told = re.search(r"ACPC State: STATE:0:([^:]*):", str(state))[1]
            # It shows the end of a round, and the rounds after an all-in, only when the board is dealt.
            assert betting_text(betting) == told
            assert parse_betting(told, rules) == betting
            if state.is_terminal():
                assert betting.is_over
                break
            legal = state.legal_actions()
            raises = [action for action in legal if action > 1]
            choice = rng.choice([0, 1, 1, 2, 2] if raises else [0, 1, 1])
            action = min(rng.choices(raises, k=3)) if choice == 2 else choice
            if action not in legal:
                continue
            state.apply_action(action)
            if action > 1:
                assert betting.to_act is not None
                wire = "r" if kind == "limit" else f"r{action}"
                text = betting_text(betting) + wire
                betting = parse_betting(text, rules)
            else:
                betting = betting.play(betting.passive_actions()[0 if action == 0 else -1])


# Any rules --------------------------------------------------------------------------------------


@st.composite
def definitions(draw) -> Rules:
    """Rules from ACPC definitions of all kinds; showdowns have one to seven cards."""
    rounds = draw(st.integers(1, 4))
    holes = draw(st.integers(1, 3))
    board = [draw(st.integers(0, 3)) for _ in range(rounds)]
    assume(holes + sum(board) <= 7)
    suits, ranks = draw(st.integers(1, 4)), draw(st.integers(2, 13))
    assume(suits * ranks >= 2 * holes + sum(board))
    limit = draw(st.booleans())
    chips = st.integers(1, 400)
    lines = ["limit" if limit else "nolimit", "numPlayers 2", f"numRounds {rounds}"]
    lines.append(f"blind {draw(st.integers(0, 100))} {draw(st.integers(1, 100))}")
    if not limit or draw(st.booleans()):
        lines.append(f"stack {draw(chips)} {draw(chips)}")
    if limit:
        lines.append("raiseSize " + " ".join(str(draw(st.integers(1, 50))) for _ in board))
    if draw(st.booleans()):
        lines.append("maxRaises " + " ".join(str(draw(st.integers(0, 4))) for _ in board))
    lines.append("firstPlayer " + " ".join(str(draw(st.integers(1, 2))) for _ in board))
    lines += [f"numSuits {suits}", f"numRanks {ranks}", f"numHoleCards {holes}"]
    lines.append("numBoardCards " + " ".join(map(str, board)))
    return Rules.from_acpc("\n".join(lines))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.filter_too_much])
@given(definitions(), st.integers(0, 2**32 - 1), st.randoms(use_true_random=False))
def test_every_state_of_any_rules_reads_back(rules, seed, rng):
    """Betting, both players' match states along a random line, and the log line at its end."""
    hand = next(competition_deals(rules, seed))
    for _ in range(100):
        text = betting_text(hand.betting)
        assert parse_betting(text, rules) == hand.betting
        assert text.count("/") == (
            rules.num_rounds - 1 if hand.betting.is_all_in_showdown else hand.betting.round
        )
        for player in (0, 1):
            view = hand.observation(player)
            state = match_state_text(seed, view)
            assert parse_match_state(state, rules) == (seed, view)
        if hand.is_over:
            break
        passive, bounds = hand.betting.passive_actions(), hand.betting.raise_bounds()
        if bounds is not None and rng.random() < 0.5:
            low, high = bounds
            amount = min(rng.randint(low, high), rng.randint(low, high), rng.randint(low, high))
            action = hand.betting.raise_action(amount)
        else:
            action = passive[0] if rng.random() < 0.15 else passive[-1]
        wire = action_text(hand.betting, action)
        hand = hand.play(action)
        assert betting_text(hand.betting).startswith(text + wire)
    if hand.is_over:
        line = LoggedHand(seed, hand, hand.winnings, ("a", "b"))
        (read,) = parse_log(f"{line}\n", rules, check=True).hands
        assert str(read) == str(line)
        assert read.hand.betting == hand.betting
        assert read.hand.deal == hand.board


# Match states -----------------------------------------------------------------------------------

HAND = new_hand(NOLIMIT, hole=("AhKd", "QcQd"), board="3h8dKc2s9s")


def test_both_players_see_the_round_that_begins_and_their_own_cards_only():
    """Field case PR-04: SB raises to 250, BB calls, the flop is 3h 8d Kc."""
    hand = HAND.play("raise-to:250").play("call")
    assert match_state_text(7, hand.observation(0)) == "MATCHSTATE:0:7:r250c/:AhKd|/3h8dKc"
    assert match_state_text(7, hand.observation(1)) == "MATCHSTATE:1:7:r250c/:|QcQd/3h8dKc"


def test_cards_are_shown_at_a_showdown_and_not_after_a_fold():
    over = HAND.play("raise-to:20000").play("call")
    for player in (0, 1):
        assert (
            match_state_text(3, over.observation(player))
            == f"MATCHSTATE:{player}:3:r20000c///:AhKd|QcQd/3h8dKc/2s/9s"
        )
    number, view = parse_match_state("MATCHSTATE:1:3:r20000c///:AhKd|QcQd/3h8dKc/2s/9s", NOLIMIT)
    assert number == 3
    assert view.winnings == -20_000  # kings beat queens
    assert view.shown == HAND.hole[0]
    folded = HAND.play("raise-to:250").play("fold")
    assert match_state_text(3, folded.observation(1)) == "MATCHSTATE:1:3:r250f:|QcQd"
    assert parse_match_state("MATCHSTATE:1:3:r250f:|QcQd", NOLIMIT)[1].winnings == 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "MATCHSTATE",
        "MATCHSTATE:2:7:r200:AhKd|",
        "MATCHSTATE:0:x:r200:AhKd|",
        "MATCHSTATE:0:-1:r200:AhKd|",
        "MATCHSTATE:0:7:r200:AhKd|:c",
        "MATCHSTATE:0:7:r200:|AhKd",
        "MATCHSTATE:0:7:r200:AhKd",
        "MATCHSTATE:0:7:r200:AhKd|QcQd",
        "MATCHSTATE:0:7:r200:Ah|",
        "MATCHSTATE:0:7:r200:AhKdQc|",
        "MATCHSTATE:0:7:r200:AhAh|",
        "MATCHSTATE:0:7:r200:AhKx|",
        "MATCHSTATE:0:7:r200:ahkd|",
        "MATCHSTATE:0:7:r200:Ah,Kd|",
        "MATCHSTATE:0:7:r200:AhKd|/2c3c4c",
        "MATCHSTATE:0:7:r200c:AhKd|",
        "MATCHSTATE:0:7:r200c/:AhKd|",
        "MATCHSTATE:0:7:r200c/:AhKd|/2c3c",
        "MATCHSTATE:0:7:r200c/:AhKd|2c3c4c/",
        "MATCHSTATE:0:7:r200c/:AhKd|/2c3cAh",
        "MATCHSTATE:0:7:r200c/cc/:AhKd|/2c3c4c5c/",
        "MATCHSTATE:0:7:r20000c///:AhKd|/2c3c4c/5c/6c",
        "matchstate:0:7:r200:AhKd|",
        " MATCHSTATE:0:7:r200:AhKd|",
        "MATCHSTATE:0:7:r200:AhKd|\n",
    ],
)
def test_texts_that_are_no_match_state_are_refused_and_quoted(text):
    with pytest.raises(ValueError, match=re.escape(f"{text!r} is no match state of acpc-nolimit: ")):
        parse_match_state(text, NOLIMIT)


def test_a_state_of_other_rules_is_refused():
    with pytest.raises(ValueError, match="no match state of acpc-limit"):
        parse_match_state("MATCHSTATE:0:7:r200:AhKd|", LIMIT)
    with pytest.raises(ValueError, match="2c is not in a deck of 24 cards"):
        parse_match_state("MATCHSTATE:0:7:r:2cKd|", preset("short-limit"))


# Logs -------------------------------------------------------------------------------------------

GOOD = """\
# a comment
; another one

STATE:4:r250f:AhKd|QcQd:-100|100:alice|bob
STATE:5:r20000c///:AhKd|QcQd/3h8dKc/2s/9s:20000|-20000:bob|alice
SCORE:-20100|20100:alice|bob
"""


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_comments_and_blank_lines_are_skipped_and_a_header_is_not_needed(ending):
    log = parse_log(GOOD.replace("\n", ending), NOLIMIT, check=True)
    assert [hand.number for hand in log.hands] == [4, 5]
    assert log.header is None
    assert log.score == Score((-20100, 20100), ("alice", "bob"))
    assert log.hands[1].hand == HAND.play("raise-to:20000").play("call")
    assert log.hands[0].hand.deal == ()


def test_the_log_of_a_match_that_died_has_no_score():
    text = "".join(LOGS[3].read_text().splitlines(keepends=True)[:20])
    log = parse_log(text, NOLIMIT, check=True)
    assert len(log.hands) == 16
    assert log.score is None
    assert str(log) == text
    assert str(MatchLog(None, (), None)) == ""


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("STATE:4", "STATE:x", 4, "a hand is STATE:number"),
        ("STATE:4", "STAT:4", 4, "a hand is STATE:number"),
        ("r250f", "r250", 4, "the hand is not over after 'r250'"),
        ("r250f", "r150f", 4, "'r150' is not legal"),
        ("AhKd|QcQd:-", "AhKd|Qc:-", 4, "each player needs 2 hole cards"),
        ("AhKd|QcQd:-", "AhKd|QcAh:-", 4, "card Ah is named twice"),
        ("AhKd|QcQd:-", "AhKd|QcQd/3h8dKc:-", 4, "the board has 3 cards, it should have 0"),
        ("-100|100", "-100", 4, "a hand is STATE:number"),
        ("-100|100", "-100|abc", 4, "a hand is STATE:number"),
        (":alice|bob\nSTATE:5", "\nSTATE:5", 4, "a hand is STATE:number"),
        ("c///", "c//", 5, "should be written 'r20000c///'"),
        ("STATE:5", "STATE:6", 5, "hand 5 should follow, not 6"),
        ("Kc/2s/9s", "Kc/2s", 5, "the board has 4 cards, it should have 5"),
        ("Kc/2s/9s", "Kc2s/9s", 5, "should be written 'AhKd|QcQd/3h8dKc/2s/9s'"),
        ("SCORE:-20100|20100", "SCORE:-20100", 6, "a score is SCORE:value|value:name|name"),
        ("SCORE", "SCORE:0|0:alice|bob\nSCORE", 7, "nothing may follow the line SCORE"),
        ("# a comment", "a comment", 1, "a hand is STATE:number"),
    ],
)
def test_a_damaged_line_is_named_with_its_file_and_number(tmp_path, old, new, line, message):
    assert old in GOOD
    path = tmp_path / "damaged.log"
    path.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(ValueError, match=rf"damaged\.log, line {line}: .*{re.escape(message)}"):
        read_log(path, NOLIMIT)


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("-100|100", "100|-100", 4, "hand 4 won -100|100, not 100|-100"),
        ("20000|-20000", "19999|-19999", 5, "hand 5 won 20000|-20000, not 19999|-19999"),
        ("-20100|20100", "20100|-20100", 6, "alice won -20100 in all hands, not 20100"),
    ],
)
def test_values_are_checked_on_request(old, new, line, message):
    text = GOOD.replace(old, new, 1)
    parse_log(text, NOLIMIT)
    with pytest.raises(ValueError, match=re.escape(f"our log, line {line}: {message}")):
        parse_log(text, NOLIMIT, check=True, source="our log")


def test_any_single_damaged_character_of_a_hand_is_noticed():
    """Only in the names anything may stand."""
    rng = random.Random(3)
    lines = LOGS[4].read_text().splitlines()
    for _ in range(300):
        row = rng.randrange(4, len(lines) - 1)
        names = lines[row].rindex(":")
        place = rng.randrange(names + 1)
        damaged = lines[row][:place] + "x" + lines[row][place + 1 :]
        with pytest.raises(ValueError, match=r"^log, line 3: "):
            parse_log(f"\n\n{damaged}\n", NOLIMIT)


def test_the_log_of_a_limit_game_is_not_read_under_no_limit_rules():
    with pytest.raises(ValueError, match=r"limit_bad\.log, line 5: .* acpc-nolimit"):
        read_log(LOGS[0], NOLIMIT)

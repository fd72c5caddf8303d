"""The rules of the duels: payments by hand, hidden cards, and OpenSpiel's own games move by move."""

from __future__ import annotations

import random

import pytest

from llmzoo.envs.duels import connect_four, exact, kuhn_poker, leduc_poker, liars_dice, tic_tac_toe
from llmzoo.envs.duels.kuhn_poker import KuhnState
from llmzoo.envs.duels.leduc_poker import LeducState
from llmzoo.envs.duels.liars_dice import LiarsDice, LiarsDiceState
from llmzoo.envs.duels.tiny_hanabi import TinyHanabi

WALKED = [
    kuhn_poker.KuhnPoker(),
    leduc_poker.LeducPoker(),
    LiarsDice(2),
    LiarsDice(4),
    TinyHanabi(),
]
KUHN, LEDUC, DICE = WALKED[0], WALKED[1], WALKED[3]


def nodes(rules):
    waiting = [exact.build_tree(rules)]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        yield node


@pytest.mark.parametrize(
    ("moves", "paid"),
    [
        ("check check", (1, -1)),
        ("bet fold", (1, -1)),
        ("bet call", (2, -2)),
        ("check bet fold", (-1, 1)),
        ("check bet call", (2, -2)),
    ],
)
def test_kuhn_pays_by_hand(moves, paid):
    """A king against a queen."""
    hand = KuhnState("KQ", tuple(moves.split()))
    assert KUHN.player(hand) is None
    assert KUHN.returns(hand) == paid


@pytest.mark.parametrize(
    ("cards", "first", "second", "paid"),
    [
        ("KQJ", "call call", "call call", (1, -1)),
        ("QKQ", "call call", "call call", (1, -1)),  # a pair beats a king
        ("JJK", "raise call", "raise raise call", (0, 0)),
        ("KQ", "raise fold", None, (1, -1)),
        ("KQ", "call raise fold", None, (-1, 1)),
        ("KQJ", "raise raise call", "raise raise call", (13, -13)),
        ("KQQ", "raise raise call", "call raise fold", (-5, 5)),
    ],
)
def test_leduc_pays_by_hand(cards, first, second, paid):
    rounds = (tuple(first.split()),) + (() if second is None else (tuple(second.split()),))
    table = LeducState(cards, rounds)
    assert LEDUC.player(table) is None
    assert LEDUC.returns(table) == paid


@pytest.mark.parametrize(
    ("dice", "moves", "paid"),
    [
        ((3, 1), "1x3 liar", (1, -1)),
        ((1, 4), "1x3 liar", (1, -1)),  # the four is wild
        ((1, 2), "2x1 liar", (-1, 1)),
        ((1, 2), "1x1 1x2 liar", (-1, 1)),
        ((1, 1), "1x1 1x2 liar", (1, -1)),
        ((4, 4), "1x1 2x3 liar", (-1, 1)),
    ],
)
def test_liars_dice_pays_by_hand(dice, moves, paid):
    assert DICE.returns(LiarsDiceState(dice, tuple(moves.split()))) == paid


@pytest.mark.parametrize("rules", WALKED, ids=lambda rules: rules.name)
def test_what_games_promise(rules):
    """Payments add up to nothing (or are alike), none is above ``most``, chances sum to 1, and the two
    ways of writing an information state tell the same states apart."""
    written, briefly = {}, {}
    for node in nodes(rules):
        if node.returns is not None:
            first, second = node.returns
            assert first == second if rules.is_common_payoff else first == -second
            assert max(node.returns) <= rules.most
        elif node.player is None:
            assert sum(node.chances) == pytest.approx(1.0)
        else:
            seen = rules.information_text(node.state, node.player)
            assert written.setdefault((node.player, seen), node.information) == node.information
            assert briefly.setdefault((node.player, node.information), seen) == seen
            assert len(set(node.moves)) == len(node.moves) > 0
    assert max(max(node.returns) for node in nodes(rules) if node.returns) == rules.most


@pytest.mark.parametrize("rules", WALKED, ids=lambda rules: rules.name)
def test_no_player_sees_the_others_card(rules):
    """States that differ only in what the other was dealt read alike."""
    by_moves = {}
    for node in nodes(rules):
        if node.player is None:
            continue
        dealt = getattr(node.state, "cards", None) or getattr(node.state, "dice", None)
        own, rest = dealt[node.player], dealt[2:]
        moves = getattr(node.state, "rounds", None) or node.state.moves
        key = (node.player, own, rest, moves)
        assert by_moves.setdefault(key, node.information) == node.information
    dealt = {key[:2] for key in by_moves}
    assert len(dealt) > 2


def played_alike(rules, name, deal, games=300):
    """Random games of both, move by move. ``deal``: our state after OpenSpiel's chance outcomes."""
    pyspiel = pytest.importorskip("pyspiel", reason="needs: pip install open-spiel")
    game = pyspiel.load_game(name)
    rng = random.Random(0)
    for _ in range(games):
        theirs, ours, dealt = game.new_initial_state(), rules.start(), []
        while not theirs.is_terminal():
            if theirs.is_chance_node():
                action = rng.choice(theirs.legal_actions())
                dealt.append(action)
                theirs.apply_action(action)
                ours = deal(rules, ours, dealt)
                continue
            assert rules.player(ours) == theirs.current_player()
            legal, moves = theirs.legal_actions(), rules.moves(ours)
            assert len(legal) == len(moves)
            number = rng.randrange(len(moves))
            theirs.apply_action(legal[number])
            ours = rules.after(ours, moves[number])
        assert rules.player(ours) is None
        assert list(rules.returns(ours)) == theirs.returns()


def dealt_kuhn(rules, state, dealt):
    return KuhnState("".join("JQK"[c] for c in dealt)) if len(dealt) == 2 else state


def dealt_leduc(rules, state, dealt):
    cards = "".join("JQK"[c // 2] for c in dealt)
    if len(dealt) < 3:
        return LeducState(cards)
    (after,) = [s for _, s in rules.chances(state) if s.cards == cards]
    return after


def dealt_dice(rules, state, dealt):
    return LiarsDiceState(tuple(d + 1 for d in dealt)) if len(dealt) == 2 else state


def dealt_none(rules, state, dealt):
    return state


@pytest.mark.parametrize(
    ("rules", "name", "deal"),
    [
        (KUHN, "kuhn_poker", dealt_kuhn),
        (LEDUC, "leduc_poker", dealt_leduc),
        (LiarsDice(6), "liars_dice", dealt_dice),
        (tic_tac_toe.TicTacToe(), "tic_tac_toe", dealt_none),
        (connect_four.ConnectFour(), "connect_four", dealt_none),
    ],
    ids=["kuhn", "leduc", "dice", "tic_tac_toe", "connect_four"],
)
def test_random_games_are_those_of_openspiel(rules, name, deal):
    played_alike(rules, name, deal)


def test_every_game_of_tiny_hanabi_is_openspiels():
    pyspiel = pytest.importorskip("pyspiel", reason="needs: pip install open-spiel")
    rules = TinyHanabi()
    compared = 0
    for node in nodes(rules):
        if node.returns is None:
            continue
        theirs = pyspiel.load_game("tiny_hanabi").new_initial_state()
        for card in node.state.cards:
            theirs.apply_action(int(card) - 1)
        for move in node.state.moves:
            theirs.apply_action("abc".index(move))
        assert theirs.returns()[0] / 10 == node.returns[0]
        compared += 1
    assert compared == 36


def test_exploitability_is_openspiels():
    """The uniform policy and one at random, in Kuhn and Leduc poker."""
    pytest.importorskip("pyspiel", reason="needs: pip install open-spiel")
    exploitability = pytest.importorskip("open_spiel.python.algorithms.exploitability")
    import pyspiel
    from open_spiel.python import policy as policies

    for rules, name in ((KUHN, "kuhn_poker"), (LEDUC, "leduc_poker")):
        theirs = exploitability.exploitability(
            pyspiel.load_game(name), policies.UniformRandomPolicy(pyspiel.load_game(name))
        )
        ours = exact.exploitability(rules, (exact.uniform_strategy, exact.uniform_strategy))
        assert ours == pytest.approx(theirs)


def test_two_kinds_of_liars_dice_are_told_apart():
    assert liars_dice.env(faces=2).unwrapped.rules.bids == ("1x1", "1x2", "2x1", "2x2")

"""Exact measures, on numbers worked out by hand and on those of the literature."""

from __future__ import annotations

import itertools

import pytest

from llmzoo.envs.duels import exact
from llmzoo.envs.duels.kuhn_poker import KuhnPoker
from llmzoo.envs.duels.leduc_poker import LeducPoker
from llmzoo.envs.duels.liars_dice import LiarsDice
from llmzoo.envs.duels.tic_tac_toe import TicTacToe
from llmzoo.envs.duels.tiny_hanabi import TinyHanabi
from llmzoo.errors import ConfigError

KUHN = KuhnPoker()


def kuhn_equilibrium(alpha: float) -> exact.Strategy:
    """Kuhn's family: player 0 bets a jack with probability alpha (0 to 1/3)."""
    second = {
        "J": {"check": 1 / 3, "bet": 0.0},
        "Q": {"check": 0.0, "bet": 1 / 3},
        "K": {"check": 1.0, "bet": 1.0},
    }
    first = {"J": alpha, "Q": 0.0, "K": 3 * alpha}
    calls = {"J": 0.0, "Q": alpha + 1 / 3, "K": 1.0}

    def strategy(information, moves):
        card, *before = information.split()
        if not before:
            bold = first[card]
        elif len(before) == 1:
            bold = second[card][before[0]]
        else:
            bold = calls[card]
        return [1 - bold, bold]

    return strategy


def always(move: str) -> exact.Strategy:
    return lambda information, moves: [float(m == move) for m in moves]


def test_kuhn_has_twelve_information_states():
    states = exact.decision_nodes(KUHN)
    assert sorted(states) == sorted(
        [(0, card) for card in "JQK"]
        + [(0, f"{card} check bet") for card in "JQK"]
        + [(1, f"{card} {move}") for card in "JQK" for move in ("check", "bet")]
    )


@pytest.mark.parametrize("alpha", [0.0, 0.1, 1 / 3])
def test_kuhns_equilibria_cannot_be_exploited(alpha):
    strategy = kuhn_equilibrium(alpha)
    assert exact.expected_returns(KUHN, (strategy, strategy)) == pytest.approx((-1 / 18, 1 / 18))
    assert exact.exploitability(KUHN, (strategy, strategy)) == pytest.approx(0.0, abs=1e-12)


def test_a_bluff_too_often_can_be_exploited():
    strategy = kuhn_equilibrium(0.5)
    assert exact.exploitability(KUHN, (strategy, strategy)) > 0.02


def test_a_best_response_by_hand():
    """Against a player 1 who always folds to a bet and checks otherwise, player 0 bets every card and
    wins one chip each time. Against one who always bets or calls, it bets a king (two chips), checks and
    folds a jack (one chip lost), and a queen is worth a check and a call: nothing on average."""
    meek = lambda information, moves: [1.0, 0.0]  # noqa: E731  # check, or fold
    earned, moves = exact.best_response(KUHN, 0, meek)
    assert earned == pytest.approx(1.0)
    assert {moves[card] for card in "JQ"} == {"bet"}
    bold = lambda information, moves: [0.0, 1.0]  # noqa: E731  # bet, or call
    earned, moves = exact.best_response(KUHN, 0, bold)
    assert earned == pytest.approx((2 - 1 + 0) / 3)
    assert moves["J check bet"] == "fold"


def test_uniform_play_has_the_published_exploitability():
    """OpenSpiel's exploitability of a uniform policy: 11/24 in Kuhn poker and 2.3736 in Leduc poker."""
    pair = (exact.uniform_strategy, exact.uniform_strategy)
    assert exact.exploitability(KUHN, pair) == pytest.approx(11 / 24)
    assert exact.exploitability(LeducPoker(), pair) == pytest.approx(2.373611111)


@pytest.mark.slow
def test_cfr_comes_near_the_values_of_the_games():
    strategy = exact.solve_cfr_plus(KUHN, 500)
    assert exact.exploitability(KUHN, (strategy, strategy)) < 1e-3
    assert exact.expected_returns(KUHN, (strategy, strategy))[0] == pytest.approx(-1 / 18, abs=1e-3)
    leduc = LeducPoker()
    far, near = exact.solve_cfr_plus(leduc, 10), exact.solve_cfr_plus(leduc, 100)
    assert (
        exact.exploitability(leduc, (near, near)) < 0.03 < exact.exploitability(leduc, (far, far))
    )
    assert exact.expected_returns(leduc, (near, near))[0] == pytest.approx(-0.0856, abs=0.01)


def test_what_information_states_are_decided_by_hidden_cards_are_not():
    """A best response may not see the other's card: it earns less than a cheat who does."""
    strategy = kuhn_equilibrium(0.2)
    honest, _ = exact.best_response(KUHN, 1, strategy)
    cheat = 0.0
    for first, second in itertools.permutations("JQK", 2):
        cheat += exact_cheat(first, second, strategy) / 6
    assert honest < cheat


def exact_cheat(first: str, second: str, strategy: exact.Strategy) -> float:
    """What player 1 earns at most if it sees both cards."""
    from llmzoo.envs.duels.kuhn_poker import KuhnState

    def value(hand):
        player = KUHN.player(hand)
        if player is None:
            return KUHN.returns(hand)[1]
        ahead = [value(KUHN.after(hand, move)) for move in KUHN.moves(hand)]
        if player == 1:
            return max(ahead)
        weights = strategy(KUHN.terse_information_text(hand, 0), KUHN.moves(hand))
        return sum(w * a for w, a in zip(weights, ahead, strict=True))

    return value(KuhnState(first + second))


def test_tiny_hanabis_optimum():
    """No pair of deterministic strategies earns more than 1, the convention earns it, and b earns 0.8."""
    game = TinyHanabi()
    assert exact.expected_returns(game, (always("b"), always("b"))) == pytest.approx((0.8, 0.8))
    best = 0.0
    seconds = list(itertools.product("12", "abc"))
    for first in itertools.product("abc", repeat=2):
        plan = dict(zip("12", first, strict=True))
        told = lambda i, moves, plan=plan: [float(m == plan[i]) for m in moves]  # noqa: E731
        best = max(best, exact.best_response(game, 1, told)[0])
    assert len(seconds) == 6
    assert best == pytest.approx(1.0)


def test_perfect_tic_tac_toe():
    game = TicTacToe()
    assert exact.best_moves(game, "X........") == ["5"]  # a corner is answered by the centre only
    assert exact.best_moves(game, "XX.OO....") == ["3"]
    assert len(exact.best_moves(game, ".........")) == 9  # every first move draws


def test_games_too_large_to_walk_through():
    class Endless(TicTacToe):
        name = "endless"

        def player(self, state):
            return 0

        def moves(self, state):
            return ("1",)

        def after(self, state, move):
            return state

    with pytest.raises((ConfigError, RecursionError)):
        exact.build_tree(Endless())


@pytest.mark.parametrize("faces", [2, 3, pytest.param(4, marks=pytest.mark.slow)])
def test_liars_dice_is_solved(faces):
    game = LiarsDice(faces)
    strategy = exact.solve_cfr_plus(game, 60)
    assert exact.exploitability(game, (strategy, strategy)) < 0.05

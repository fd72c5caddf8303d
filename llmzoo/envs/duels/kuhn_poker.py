"""# Kuhn poker

Poker with three cards. Each player is dealt one card and puts one chip into the pot. Then they bet one chip at
most.

| | |
|---|---|
| id | `kuhn_poker_v0` |
| agents | `player_0`, who acts first, and `player_1` |
| observation, action | text |
| turns | two or three, and one more for each illegal answer |
| success | each player its own, that it wins chips |

**Observations.** The player's own card (J, Q or K; K is the highest) and the moves so far. The other card is
hidden until the end.

**Actions.** `check` or `bet`; after a bet `fold` or `call`. Text that names one legal move is read as in
[other games](../adapters/discrete.md); an illegal answer is never played.

**Rewards.** `game` is the number of chips won or lost (1 or 2), paid at the end. `illegal` is -0.1 for each illegal
answer, and `forfeit` -2 for the second one in a turn, which ends the game without a winner.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (2), `prompt` ("full" or "terse"),
`split` ("train", "test", "all"), `render_mode`.

**Splits.** A game of cards has no tasks to hold out: train and test deal from the same six deals, with other seeds.

**The scripted expert** plays an equilibrium: `player_0` bets a jack with probability 1/3 and a king always, and
calls with a queen with probability 2/3; `player_1` bets a jack with probability 1/3 and calls with a queen with
probability 1/3. `player_0` then loses 1/18 of a chip a game on average, against any `player_1` that does not play a move
which an equilibrium excludes. The exact exploitability of any policy is measured by
[`llmzoo eval exploit`](../leagues.md).

Source: H. W. Kuhn, "A simplified two-person poker", 1950. The rules agree with OpenSpiel's `kuhn_poker`
([arXiv 1908.09453](https://arxiv.org/abs/1908.09453)) move by move.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.rules import GameRules

CARDS = "JQK"


class KuhnState(NamedTuple):
    """The cards of both players, "" before the deal, and the moves."""

    cards: str = ""
    moves: tuple[str, ...] = ()


class KuhnPoker(GameRules[KuhnState]):
    name = "Kuhn poker"
    short = "kuhn"
    most = 2.0

    def words(self) -> str:
        return (
            "The deck is one J, one Q and one K; K is the highest. Each player holds one card and has put one "
            "chip into the pot. A bet adds one chip. After a bet the other player folds and loses the pot, or "
            "calls with one chip. If nobody folds, the higher card wins the pot."
        )

    def start(self) -> KuhnState:
        return KuhnState()

    def chances(self, state: KuhnState) -> list[tuple[float, KuhnState]]:
        if state.cards:
            return []
        return [(1 / 6, KuhnState(a + b)) for a in CARDS for b in CARDS if a != b]

    def player(self, state: KuhnState) -> int | None:
        over = state.moves[-1:] in (("fold",), ("call",)) or state.moves == ("check", "check")
        return None if over else len(state.moves) % 2

    def moves(self, state: KuhnState) -> tuple[str, ...]:
        return ("fold", "call") if state.moves[-1:] == ("bet",) else ("check", "bet")

    def after(self, state: KuhnState, move: str) -> KuhnState:
        return state._replace(moves=(*state.moves, move))

    def returns(self, state: KuhnState) -> tuple[float, float]:
        if state.moves[-1] == "fold":
            winner, chips = len(state.moves) % 2, 1.0
        else:
            winner = int(CARDS.index(state.cards[1]) > CARDS.index(state.cards[0]))
            chips = 2.0 if "call" in state.moves else 1.0
        return (-chips, chips) if winner else (chips, -chips)

    def information_text(self, state: KuhnState, player: int) -> str:
        return "\n".join(
            [
                f"Your card: {state.cards[player]}",
                *(f"player_{turn % 2}: {move}" for turn, move in enumerate(state.moves)),
            ]
        )

    def terse_information_text(self, state: KuhnState, player: int) -> str:
        return " ".join([state.cards[player], *state.moves])


class raw_env(Duel[KuhnState]):
    """Kuhn poker in words."""

    metadata = {**Duel.metadata, "name": "kuhn_poker_v0"}
    rules = KuhnPoker()

    def advice(self, player: int, rng: random.Random) -> str:
        """A move of the equilibrium in which player 0 bets a jack with probability 1/3."""
        card, moves = self.episode.state.cards[player], self.episode.state.moves
        if moves[-1:] == ("bet",):
            # player 0 calls after its own check, player 1 after a bet at once
            call = {"J": 0.0, "Q": 1 / 3 if player else 2 / 3, "K": 1.0}[card]
            return "call" if rng.random() < call else "fold"
        bet = {"J": 1 / 3, "Q": 0.0, "K": 1.0}[card]
        return "bet" if rng.random() < bet else "check"


env, parallel_env = make_env_fns(raw_env)

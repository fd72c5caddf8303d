"""# Leduc poker

Poker with six cards: two jacks, two queens and two kings. Each player is dealt one card and puts one chip into
the pot. After a round of bets a public card is turned up, and a second round follows.

| | |
|---|---|
| id | `leduc_poker_v0` |
| agents | `player_0`, who acts first in both rounds, and `player_1` |
| observation, action | text |
| turns | two to eight, and one more for each illegal answer |
| success | each player its own, that it wins chips |

**Observations.** The player's own card, the public card once it is turned up, and the moves so far.

**Actions.** `call` (or check, if there is nothing to pay), `raise`, and `fold` after a raise. A raise is 2 chips in
the first round and 4 in the second; there are at most two in a round. Text that names one legal move is read as in
[other games](../adapters/discrete.md); an illegal answer is never played.

**Rewards.** `game` is the number of chips won or lost (at most 13), paid at the end. A pair with the public card wins,
otherwise the higher card; equal cards share the pot. `illegal` is -0.1 for each illegal answer, and `forfeit` -13
for the second one in a turn, which ends the game without a winner.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (13), `prompt` ("full" or "terse"),
`split` ("train", "test", "all"), `render_mode`.

**Splits.** A game of cards has no tasks to hold out: train and test deal from the same cards, with other seeds.

**The scripted expert** plays the average strategy of 200 iterations of CFR+ ([arXiv
1407.5042](https://arxiv.org/abs/1407.5042)), found at its first move in a second. The exact
exploitability of any policy is measured by [`llmzoo eval exploit`](../leagues.md).

Source: Southey et al., "Bayes' bluff: opponent modelling in poker", 2005
([arXiv 1207.1411](https://arxiv.org/abs/1207.1411)). The rules agree with OpenSpiel's `leduc_poker`
([arXiv 1908.09453](https://arxiv.org/abs/1908.09453)) move by move.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from functools import cache
from typing import NamedTuple

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.exact import Strategy, solve_cfr_plus
from llmzoo.envs.duels.rules import GameRules

RANKS = "JQK"
RAISES = (2, 4)  # chips, in each round
MOST_RAISES = 2  # in a round
ITERATIONS = 200


class LeducState(NamedTuple):
    """The dealt cards, by rank: of player 0, of player 1, and the public one. The moves of both rounds."""

    cards: str = ""
    rounds: tuple[tuple[str, ...], ...] = ((),)


class LeducPoker(GameRules[LeducState]):
    name = "Leduc poker"
    short = "leduc"
    most = 13.0

    def words(self) -> str:
        return (
            "The deck is two J, two Q and two K; K is the highest. Each player holds one card and has put one chip "
            "into the pot. There are two rounds of bets; a public card is turned up before the second. A raise "
            "adds 2 chips in the first round and 4 in the second, on top of what the other has paid; each round "
            "has at most two. Call pays what is missing, or passes if nothing is. Fold loses the pot. At the "
            "end a pair with the public card wins, otherwise the higher card; equal cards share the pot."
        )

    def start(self) -> LeducState:
        return LeducState()

    def chances(self, state: LeducState) -> list[tuple[float, LeducState]]:
        cards = state.cards
        if len(cards) > 1 and not (len(cards) == 2 and _round_outcome(state.rounds[0]) == "call"):
            return []
        left = {rank: 2 - cards.count(rank) for rank in RANKS}
        after = state if len(cards) < 2 else state._replace(rounds=(*state.rounds, ()))
        total = sum(left.values())
        return [
            (count / total, after._replace(cards=cards + rank))
            for rank, count in left.items()
            if count
        ]

    def player(self, state: LeducState) -> int | None:
        now = state.rounds[-1]
        return None if _round_outcome(now) else len(now) % 2

    def moves(self, state: LeducState) -> tuple[str, ...]:
        now = state.rounds[-1]
        fold = ("fold",) if now[-1:] == ("raise",) else ()
        more = ("raise",) if now.count("raise") < MOST_RAISES else ()
        return (*fold, "call", *more)

    def after(self, state: LeducState, move: str) -> LeducState:
        *before, now = state.rounds
        return state._replace(rounds=(*before, (*now, move)))

    def returns(self, state: LeducState) -> tuple[float, float]:
        paid = _chips_in_pot(state.rounds)
        if state.rounds[-1][-1] == "fold":
            loser = (len(state.rounds[-1]) - 1) % 2
        else:
            public = state.cards[2]
            worth = [(card == public, RANKS.index(card)) for card in state.cards[:2]]
            if worth[0] == worth[1]:
                return 0.0, 0.0
            loser = int(worth[0] > worth[1])
        return (-paid[0], paid[0]) if loser == 0 else (paid[1], -paid[1])

    def information_text(self, state: LeducState, player: int) -> str:
        lines = [f"Your card: {state.cards[player]}"]
        for number, moves in enumerate(state.rounds):
            lines += [f"The public card: {state.cards[2]}"] if number else []
            lines += [f"player_{turn % 2}: {move}" for turn, move in enumerate(moves)]
        paid = _chips_in_pot(state.rounds)
        return "\n".join([*lines, f"Chips in the pot: {paid[0]:g} and {paid[1]:g}"])

    def terse_information_text(self, state: LeducState, player: int) -> str:
        parts = [state.cards[player], *state.rounds[0]]
        if len(state.rounds) == 2:
            parts += [state.cards[2], *state.rounds[1]]
        return " ".join(parts)


def _round_outcome(moves: tuple[str, ...]) -> str:
    """How a round of bets ended: "fold", "call", or "" if it goes on."""
    if moves[-1:] == ("fold",):
        return "fold"
    return "call" if len(moves) > 1 and moves[-1] == "call" else ""


def _chips_in_pot(rounds: tuple[tuple[str, ...], ...]) -> list[float]:
    """What each player has put into the pot."""
    paid = [1.0, 1.0]
    for chips, moves in zip(RAISES, rounds, strict=False):
        for turn, move in enumerate(moves):
            if move != "fold":
                paid[turn % 2] = paid[1 - turn % 2] + chips * (move == "raise")
    return paid


class raw_env(Duel[LeducState]):
    """Leduc poker in words."""

    metadata = {**Duel.metadata, "name": "leduc_poker_v0"}
    rules = LeducPoker()
    forfeit = 13.0

    def advice(self, player: int, rng: random.Random) -> str:
        state = self.episode.state
        moves = self.rules.moves(state)
        return rng.choices(
            moves, _solve_strategy()(self.rules.terse_information_text(state, player), moves)
        )[0]


@cache
def _solve_strategy() -> Strategy:
    return solve_cfr_plus(raw_env.rules, ITERATIONS)


env, parallel_env = make_env_fns(raw_env)

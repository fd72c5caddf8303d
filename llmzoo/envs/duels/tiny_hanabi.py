"""# Tiny Hanabi

Two players are dealt one of two cards each, see only their own, and choose one of three actions one after the other.
They are paid together by a table of both cards and both actions. The best that they can do needs the first player to
tell its card by its action.

| | |
|---|---|
| id | `tiny_hanabi_v0` |
| agents | `player_0`, who acts first, and `player_1` |
| observation, action | text |
| turns | two, and one more for each illegal answer |
| success | both are paid 1, the most there is |

**Observations.** The player's own card (1 or 2); for `player_1` the action of `player_0` too; in full prompts the table.

**Actions.** `a`, `b` or `c`. Text that names one of them is read as in [other games](../adapters/discrete.md).

**Rewards.** team: `game`, a tenth of the table's entry (0, 0.4, 0.8 or 1), paid to both. `illegal` is -0.1 for each illegal
answer, and `forfeit` -2 for the second one in a turn, which ends the game.

**What can be reached.** Two players who play `b` always earn 0.8 without any message. A convention (`a` for one card
and `c` for the other) earns 1 in every game. Learners that treat each other as a part of the world stay at 0.8.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (2), `prompt` ("full" or "terse"),
`split` ("train", "test", "all"), `render_mode`.

**Splits.** There are four deals, and train and test deal all of them.

**The scripted expert** plays the convention: 1 in every game.

Source: the matrix game of Foerster et al., "Bayesian Action Decoder for Deep Multi-Agent Reinforcement Learning", 2019
([arXiv 1811.01458](https://arxiv.org/abs/1811.01458)); the table as in OpenSpiel's `tiny_hanabi`
([arXiv 1908.09453](https://arxiv.org/abs/1908.09453)), where one entry differs from the symmetry of the others.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.rules import GameRules

ACTIONS = "abc"
# by both cards: a row for each action of player 0, a column for each of player 1
TABLE = {
    "11": ((10, 0, 0), (4, 8, 4), (10, 0, 0)),
    "12": ((0, 0, 10), (4, 8, 4), (0, 0, 10)),
    "21": ((0, 0, 10), (4, 8, 4), (0, 0, 0)),
    "22": ((10, 0, 0), (4, 8, 4), (10, 0, 0)),
}


class TinyHanabiState(NamedTuple):
    cards: str = ""
    moves: str = ""


class TinyHanabi(GameRules[TinyHanabiState]):
    name = "tiny Hanabi"
    short = "hanabi"
    is_common_payoff = True
    most = 1.0

    def words(self) -> str:
        tables = [
            f"cards {cards[0]} and {cards[1]}: "
            + ", ".join(
                f"{ACTIONS[first]} then {ACTIONS[second]} pays {worth / 10:g}"
                for first, row in enumerate(rows)
                for second, worth in enumerate(row)
                if worth
            )
            for cards, rows in TABLE.items()
        ]
        return "\n".join(
            [
                "Each player holds a card, 1 or 2, and sees only its own. player_0 chooses a, b or c, and then "
                "player_1, who sees that choice. Both are paid the same, by the cards of player_0 and player_1:",
                *tables,
                "Everything else pays 0.",
            ]
        )

    def start(self) -> TinyHanabiState:
        return TinyHanabiState()

    def chances(self, state: TinyHanabiState) -> list[tuple[float, TinyHanabiState]]:
        return [] if state.cards else [(1 / 4, TinyHanabiState(cards)) for cards in TABLE]

    def player(self, state: TinyHanabiState) -> int | None:
        return len(state.moves) if len(state.moves) < 2 else None

    def moves(self, state: TinyHanabiState) -> tuple[str, ...]:
        return tuple(ACTIONS)

    def after(self, state: TinyHanabiState, move: str) -> TinyHanabiState:
        return state._replace(moves=state.moves + move)

    def returns(self, state: TinyHanabiState) -> tuple[float, float]:
        first, second = map(ACTIONS.index, state.moves)
        worth = TABLE[state.cards][first][second] / 10
        return worth, worth

    def information_text(self, state: TinyHanabiState, player: int) -> str:
        lines = [f"Your card: {state.cards[player]}"]
        return "\n".join([*lines, *(f"player_{n}: {move}" for n, move in enumerate(state.moves))])

    def terse_information_text(self, state: TinyHanabiState, player: int) -> str:
        return " ".join([state.cards[player], *state.moves])


class raw_env(Duel[TinyHanabiState]):
    """Tiny Hanabi in words."""

    metadata = {**Duel.metadata, "name": "tiny_hanabi_v0"}
    rules = TinyHanabi()

    def advice(self, player: int, rng: random.Random) -> str:
        state = self.episode.position
        own_card = int(state.cards[player])
        if player == 0:
            return "c" if own_card == 1 else "a"
        signalled_card = 1 if state.moves == "c" else 2
        return "a" if own_card == signalled_card else "c"


env, parallel_env = make_env_fns(raw_env)

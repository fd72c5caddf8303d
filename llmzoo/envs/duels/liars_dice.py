"""# Liar's dice

Each player rolls one die that the other does not see. The players bid in turn how many dice of both show a face,
each bid higher than the last, until one says that the other lies.

| | |
|---|---|
| id | `liars_dice_v0` |
| agents | `player_0`, who bids first, and `player_1` |
| observation, action | text |
| turns | two to `2 * faces + 1`, and one more for each illegal answer |
| success | each player its own, that it wins |

**Observations.** The player's own die, and the bids so far.

**Actions.** A bid such as `1x3`, "at least one die shows 3", or `liar` after a bid. A bid is higher if its number is, or
its face at the same number. The highest face is wild: it counts as every face. Text that names one legal move is
read as in [other games](../adapters/discrete.md); an illegal answer is never played.

**Rewards.** `game` is 1 for the winner and -1 for the loser: who says `liar` wins if fewer dice show the face of the last
bid than it says. `illegal` is -0.1 for each illegal answer, and `forfeit` -2 for the second one in a turn, which
ends the game without a winner.

**Arguments.** `faces` (4; 2 to 6), `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (2), `prompt`
("full" or "terse"), `split` ("train", "test", "all"), `render_mode`.

**Splits.** A game of dice has no tasks to hold out: train and test roll the same dice, with other seeds.

**The scripted expert** plays the average strategy of 100 iterations of CFR+ ([arXiv
1407.5042](https://arxiv.org/abs/1407.5042)), found at its first move: in seconds for 4 faces, minutes for 6.

Source: the rules are those of OpenSpiel's `liars_dice` ([arXiv 1908.09453](https://arxiv.org/abs/1908.09453)) with one
die each, move by move.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any, NamedTuple

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.exact import Strategy, solve_cfr_plus
from llmzoo.envs.duels.rules import GameRules
from llmzoo.errors import ConfigError

FACES = (2, 6)
ITERATIONS = 100
LIAR = "liar"


class LiarsDiceState(NamedTuple):
    """The rolled faces, from 1, and the moves."""

    dice: tuple[int, ...] = ()
    moves: tuple[str, ...] = ()


class LiarsDice(GameRules[LiarsDiceState]):
    name = "liar's dice"
    short = "dice"
    most = 1.0

    def __init__(self, faces: int):
        if not FACES[0] <= faces <= FACES[1]:
            raise ConfigError(f"faces must be {FACES[0]} to {FACES[1]}, got {faces}")
        self.faces = faces
        self.bids = tuple(f"{count}x{face}" for count in (1, 2) for face in range(1, faces + 1))

    def words(self) -> str:
        return (
            f"Each player has rolled one die with the faces 1 to {self.faces} and sees only its own. A bid such as "
            f"1x2 says that at least one of the two dice shows 2. The face {self.faces} is wild: it counts as every "
            "face. Each bid is higher than the last: a higher number, or the same number and a higher face. "
            f"A player who doubts the last bid says {LIAR} and wins if the bid is false; if it is true, the bidder wins."
        )

    def start(self) -> LiarsDiceState:
        return LiarsDiceState()

    def chances(self, state: LiarsDiceState) -> list[tuple[float, LiarsDiceState]]:
        if state.dice:
            return []
        sides = range(1, self.faces + 1)
        return [(1 / self.faces**2, LiarsDiceState((a, b))) for a in sides for b in sides]

    def player(self, state: LiarsDiceState) -> int | None:
        return None if state.moves[-1:] == (LIAR,) else len(state.moves) % 2

    def moves(self, state: LiarsDiceState) -> tuple[str, ...]:
        if not state.moves:
            return self.bids
        return (*self.bids[self.bids.index(state.moves[-1]) + 1 :], LIAR)

    def after(self, state: LiarsDiceState, move: str) -> LiarsDiceState:
        return state._replace(moves=(*state.moves, move))

    def returns(self, state: LiarsDiceState) -> tuple[float, float]:
        count, face = map(int, state.moves[-2].split("x"))
        true = sum(die in (face, self.faces) for die in state.dice) >= count
        bidder = len(state.moves) % 2
        winner = bidder if true else 1 - bidder
        return (-1.0, 1.0) if winner else (1.0, -1.0)

    def information_text(self, state: LiarsDiceState, player: int) -> str:
        lines = [f"Your die: {state.dice[player]}"]
        return "\n".join(
            [*lines, *(f"player_{n % 2}: {move}" for n, move in enumerate(state.moves))]
        )

    def terse_information_text(self, state: LiarsDiceState, player: int) -> str:
        return " ".join([str(state.dice[player]), *state.moves])


class raw_env(Duel[LiarsDiceState]):
    """Liar's dice in words."""

    metadata = {**Duel.metadata, "name": "liars_dice_v0"}

    def __init__(
        self,
        *,
        faces: int = 4,
        forfeit_penalty: float = 2.0,
        **options: Any,
    ):
        self.faces = faces
        self.rules = _make_rules(faces)
        super().__init__(forfeit_penalty=forfeit_penalty, **options)

    def advice(self, player: int, rng: random.Random) -> str:
        state = self.episode.position
        moves = self.rules.moves(state)
        strategy = _solve_strategy(self.faces)
        return rng.choices(
            moves, strategy(self.rules.terse_information_text(state, player), moves)
        )[0]


@cache
def _make_rules(faces: int) -> LiarsDice:
    return LiarsDice(faces)


@cache
def _solve_strategy(faces: int) -> Strategy:
    return solve_cfr_plus(_make_rules(faces), ITERATIONS)


env, parallel_env = make_env_fns(raw_env)

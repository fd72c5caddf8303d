"""A game in the manner of other collections: it draws from the global random, and cannot be copied."""

from __future__ import annotations

import random

from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.adapters.external.replayed import ReplayedGame


class Pile:
    """Two players take 1 to 3 of a pile; each turn chance adds 0 or 1 while it lasts. The last wins.

    "boom" raises. ``drift`` is shown, so that a game whose drift changes differs when played again.
    """

    drift = 0
    made = 0

    def __init__(self, seed: int):
        type(self).made += 1
        self._chance = GlobalRandomState(seed)
        with self._chance.swap_in():
            self._left = random.randrange(5, 9)
        self._turn = 0
        self._wrong = False

    def step(self, text: str) -> bool:
        if text == "boom":
            raise ZeroDivisionError
        number = int(text) if text in ("1", "2", "3") else 0
        self._wrong = number == 0
        with self._chance.swap_in():
            self._left = max(0, self._left - number) + (
                random.randrange(2) if self._left > 4 else 0
            )
        if self._left and not self._wrong:
            self._turn = 1 - self._turn
        return self._left == 0

    def observe(self) -> tuple[int, str]:
        return (
            self._turn,
            f"You are {self._turn}. Left: {self._left}. Drift: {self.drift}. [1] [2] [3]",
        )

    def last_rewards(self) -> dict[int, float]:
        return {self._turn: 1.0, 1 - self._turn: -1.0} if self._left == 0 else {}

    def last_error(self, player: int) -> str:
        return "illegal: not 1 to 3" if self._wrong else ""


class PileGame(ReplayedGame):
    """The game as an environment."""

    def __init__(self, *, prompt="full", split="all", render_mode=None, max_turns=30):
        super().__init__(
            "toy:pile",
            ["player_0", "player_1"],
            max_turns=max_turns,
            prompt=prompt,
            split=split,
            render_mode=render_mode,
        )

    def engine(self, seed: int) -> Pile:
        return Pile(seed)

    def noisy_expert(self, agent, rng):
        return rng.choice(["1", "2", "3", "1", "2", "4"])

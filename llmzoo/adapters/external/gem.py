"""# Games of GEM

Each id ``gem:game:NAME`` is a game of GEM by its registered name: `gem:game:Mastermind-v0-easy`.

| | |
|---|---|
| agent | `player_0` |
| observation, action | text |
| success | the last step pays 1, as GEM's games do when they are won |

**Observations.** GEM's games show the rules once and then the result of each move. An agent reads the rules, then its
own moves (each cut to 200 characters) with their results, and GEM's closing line.

**Actions.** Text, with the move in `\\boxed{}`. A text of over 2,000 characters is malformed: the game is given an
empty one. A text on which the game raises ends the episode.

**Rewards.** `game` is what the game pays at each step; `forfeit` (-1) is ours, for a text on which it raises.

**Arguments.** `max_turns` (300 answers), `prompt` ("full" or "terse", which are alike here), `split` ("train",
"test", "all"), `render_mode`.

**Chance.** GEM draws from Python's and NumPy's global generators; see :mod:`llmzoo.adapters.external.global_random`.

The other ids of GEM are refused: `rg:` is Reasoning Gym, and the rest are data sets or run code.

Source: Liu et al., "GEM: A Gym for Agentic LLMs", 2025 ([arXiv 2510.01051](https://arxiv.org/abs/2510.01051)). The
package is under Apache-2.0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.adapters.external.replayed import GameEngine, ReplayedGame
from llmzoo.envs.text import truncate
from llmzoo.errors import UnknownNameError

PACKAGE = "gem"
EXTRA = "gem"

_MAX_SHOWN = 200  # characters of an earlier move
_AGENT = "player_0"
_WORDS = "it downloads word lists when it is made (nltk.download)"
_REFUSED_GAMES = {"Wordle": _WORDS, "Hangman": _WORDS, "WordSearch": _WORDS}
_BROKEN = "it cannot be made: its constructor raises without a size"
_SLOW = "an episode may take a minute and more to begin"
_NOT_REPRODUCIBLE = "its episodes were not the same in two processes when it was tested"
_REFUSED_VARIANTS = {
    **dict.fromkeys(("Crosswords-v0-random", "FifteenPuzzle-v0-random"), _BROKEN),
    **dict.fromkeys(("Sokoban-v0-hard", "Sokoban-v0-random"), _SLOW),
    **dict.fromkeys(("Crosswords-v0-easy", "Sokoban-v0-easy"), _NOT_REPRODUCIBLE),
    **dict.fromkeys(("Sudoku-v0-hard", "Sudoku-v0-random"), _SLOW),
}
_REFUSED_KINDS = {
    "rg": "it is Reasoning Gym's: use reasoning_gym:NAME",
    "math": "it is a data set: use the environments of `llmzoo info --family math`",
    "eval": "it is a data set for evaluation",
    "logic": "it is a data set",
    "qa": "it is a data set",
    "code": "it runs a model's code outside our sandbox",
}


class Task(ReplayedGame):
    """A game of GEM."""

    def __init__(self, name: str, **options: Any):
        self.name = name
        super().__init__(f"gem:{name}", [_AGENT], **options)

    def engine(self, seed: int) -> GameEngine:
        return _GemEngine(self.name, seed)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """A move in a box: a number, a direction, or some of each."""
        words = ["up", "down", "left", "right", "A B", f"{rng.randrange(1, 10)}"]
        numbers = [str(rng.randrange(1, 9)) for _ in range(rng.randrange(1, 5))]
        return f"\\boxed{{{rng.choice([*words, ' '.join(numbers)])}}}"


class _GemEngine:
    """A game of GEM with its own states of the global random generators."""

    def __init__(self, name: str, seed: int):
        self._random_state = GlobalRandomState(seed)
        with self._random_state.swap_in():
            self._game = import_module("gem").make(name)
            shown, info = self._game.reset(seed=seed)
        self._shown = [str(shown)]
        self._suffix = str(info.get("suffix", ""))
        self._last_reward = 0.0

    def step(self, text: str) -> bool:
        with self._random_state.swap_in():
            shown, reward, terminated, truncated, info = self._game.step(text)
        self._last_reward = float(reward)
        self._shown += [f"Your move: {truncate(text, _MAX_SHOWN)}", str(shown)]
        self._suffix = str(info.get("suffix", ""))
        return bool(terminated or truncated)

    def observe(self) -> tuple[int, str]:
        return 0, "\n".join([*self._shown, self._suffix])

    def last_rewards(self) -> Mapping[int, float]:
        return {0: self._last_reward}

    def last_error(self, player: int) -> str:
        return ""


def tasks() -> Mapping[str, ExternalTaskInfo]:
    return {name: _task_info(name) for name in sorted(_registry())}


def look_up(name: str) -> ExternalTaskInfo:
    if name not in _registry():
        raise UnknownNameError("game of gem", name, [n for n in _registry() if n[:5] == "game:"])
    return _task_info(name)


def _task_info(name: str) -> ExternalTaskInfo:
    kind, _, game = name.partition(":")
    refused = _REFUSED_KINDS.get(kind) or _REFUSED_VARIANTS.get(game, "")
    refused = refused or _REFUSED_GAMES.get(game.partition("-")[0], "")
    return ExternalTaskInfo((_AGENT,), f"{game}: 1 player", refused)


def _registry() -> Mapping[str, Any]:
    import_module("gem")
    registered: Mapping[str, Any] = import_module("gem.envs.registration").ENV_REGISTRY
    return registered

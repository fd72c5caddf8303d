"""# Games of TextArena

Each id ``textarena:NAME`` is a game of TextArena by its registered name: `textarena:TicTacToe-v0`,
`textarena:KuhnPoker-v0`. `-train` at the end takes TextArena's shorter observations where it has them.

| | |
|---|---|
| agents | `player_0`, `player_1`, ..., in the order that the game says |
| observation, action | text |
| success | one player: the game pays 1 or more. Several: `player_0` is paid more than 0, as its winners are |

**Observations** are TextArena's own, through the wrappers that it registers for the game. An agent whose turn it
is not reads what it read last.

**Actions.** Text, in the form that the game's rules ask for, mostly in square brackets. A text of over 2,000
characters is malformed: the game is given an empty one, which it counts as a wrong move. A text on which the
game raises ends the episode.

**Rewards.** `game` is what the game pays at its end; what it does about wrong moves is its own rule.
`forfeit` (-1) is ours, for a text on which the game raises.

**Arguments.** `num_agents` (None: the fewest that the game takes), `max_turns` (300 answers), `prompt`
("full" or "terse", which are alike here), `split` ("train", "test", "all"), `render_mode`.

**Chance.** TextArena draws from Python's and NumPy's global generators. An episode has its own states of them,
which stand in while the game runs (:mod:`llmzoo.adapters.external.global_random`). A copy of an episode plays the same
answers again from the same seed.

:mod:`llmzoo.adapters.external.textarena_games` lists the games that are refused, and why.

Source: Guertler et al., "TextArena", 2025 ([arXiv 2504.11442](https://arxiv.org/abs/2504.11442)). The package
is under the MIT licence.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.adapters.external.printing import silence_prints
from llmzoo.adapters.external.replayed import GameEngine, ReplayedGame
from llmzoo.adapters.external.textarena_games import min_players, refusal_reason
from llmzoo.errors import ConfigError, UnknownNameError

PACKAGE = "textarena"
EXTRA = "textarena"


class Task(ReplayedGame):
    """A game of TextArena."""

    def __init__(self, name: str, *, num_agents: int | None = None, **options: Any):
        fewest = min_players(_game_folder(name))
        players = fewest if num_agents is None else num_agents
        if players < fewest:
            raise ConfigError(f"textarena:{name} has at least {fewest} players, got {num_agents}")
        self.name = name
        super().__init__(f"textarena:{name}", _agents(players), **options)

    def engine(self, seed: int) -> GameEngine:
        return _TextArenaEngine(self.name, len(self.possible_agents), seed)


class _TextArenaEngine:
    """A game of TextArena with its own states of the global random generators. Raises
    :class:`ConfigError` for a number of players that the game refuses."""

    def __init__(self, name: str, players: int, seed: int):
        self._random_state = GlobalRandomState(seed)
        self._over = False
        with self._random_state.swap_in():
            self._game = import_module("textarena").make(name)
            silence_prints(_package(self._game))
            try:
                self._game.reset(num_players=players, seed=seed)
            except AssertionError as error:
                raise ConfigError(f"textarena:{name} with {players} players: {error}") from error

    def step(self, text: str) -> bool:
        with self._random_state.swap_in():
            done, _ = self._game.step(action=text)
        self._over = bool(done)
        return self._over

    def observe(self) -> tuple[int, str]:
        with self._random_state.swap_in():
            player, shown = self._game.get_observation()
        return int(player), str(shown)

    def last_rewards(self) -> Mapping[int, float]:
        rewards = self._game.state.rewards if self._over else None
        return {int(player): float(reward) for player, reward in (rewards or {}).items()}

    def last_error(self, player: int) -> str:
        state = self._game.state
        lost = state.game_info.get(player, {}).get("invalid_move", False)
        return "illegal: the game counts it as a wrong move" if lost or state.error_count else ""


def tasks() -> Mapping[str, ExternalTaskInfo]:
    return {name: _task_info(name) for name in _names() if not name.endswith("-train")}


def look_up(name: str) -> ExternalTaskInfo:
    known = _names()
    if name not in known:
        raise UnknownNameError("game of textarena", name, known)
    return _task_info(name)


def _names() -> list[str]:
    """The names that may be given. Those that end in -train are not listed; those in -raw show no text."""
    return sorted(name for name in _registry() if not name.endswith("-raw"))


def _task_info(name: str) -> ExternalTaskInfo:
    game = _game_folder(name)
    fewest = min_players(game)
    players = "1 player" if fewest == 1 else f"{fewest} players"
    return ExternalTaskInfo(
        tuple(_agents(fewest)), f"{game}: {players}", refusal_reason(name, game)
    )


def _agents(players: int) -> list[str]:
    return [f"player_{number}" for number in range(players)]


def _registry() -> Mapping[str, Any]:
    import_module("textarena")
    registered: Mapping[str, Any] = import_module("textarena.envs.registration").ENV_REGISTRY
    return registered


def _game_folder(name: str) -> str:
    """The folder of a game in the package, by which its variants are known."""
    return str(_registry()[name].entry_point).split(".")[2]


def _package(game: Any) -> str:
    """The package of a game's modules, beneath its wrappers."""
    while "env" in vars(game):
        game = game.env
    return type(game).__module__.rpartition(".")[0]

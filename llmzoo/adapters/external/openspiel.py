"""# Games of OpenSpiel

Each id ``openspiel:NAME`` is a game of OpenSpiel: `openspiel:leduc_poker`. Parameters stand in brackets, as OpenSpiel
writes them: `openspiel:leduc_poker(players=3)`.

| | |
|---|---|
| agents | `player_0`, `player_1`, ..., in the order that the game says; where players choose together, none sees another's choice |
| observation, action | text |
| success | one player, or a game in which all are paid alike: the highest return that the game has. Otherwise: `player_0` is paid more than any other |

**Observations.** In a game of perfect information the game's observation of the player, in one of imperfect
information its information state, which holds all that the player has seen (the observation where the game
has no information state). Then the legal moves by the game's own names; by numbers too, where names cannot be
distinguished.

**Actions.** Text that names one legal move (:meth:`llmzoo.envs.moves.MoveNames.read`). A wrong answer costs
`illegal_penalty`, and after `tries` wrong answers in one turn the player forfeits: the game is over, and the
others are paid nothing.

**Rewards.** `game` is what the game pays, at the step at which it pays; `illegal` and `forfeit` are ours.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (1.0), `max_turns` (400 answers), `prompt`
("full" or "terse"), `split` ("train", "test", "all"), `render_mode`.

**Chance.** Chance nodes are drawn from the game's own probabilities by a generator of the episode. Games that
hide their chance (`SAMPLED_STOCHASTIC`) are refused: a copy of an episode would share its chance.

Source: Lanctot et al., "OpenSpiel: A Framework for Reinforcement Learning in Games", 2019
([arXiv 1908.09453](https://arxiv.org/abs/1908.09453)). The package is under Apache-2.0.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.envs.base import Outcome
from llmzoo.envs.moves import MoveNames
from llmzoo.envs.turn_game import MoveGame
from llmzoo.errors import ConfigError, UnknownNameError

PACKAGE = "pyspiel"
EXTRA = "openspiel"

_ROUNDING = 1e-9  # of sums of rewards
_NO_ACTION = 0  # what OpenSpiel takes from a player without a choice at a simultaneous node
# games that stop the process or never show what a player needs
_REFUSED = {
    "crossword": "it has no list of legal moves",
}


@dataclass(frozen=True, slots=True)
class OpenSpielState:
    """The state of an episode.

    state: OpenSpiel's, never changed in place. steps: how many actions it has taken, chance included.
    chosen: the choices so far at a simultaneous node. misses: wrong answers of the player in this turn.
    """

    seed: int
    state: Any
    steps: int = 0
    chosen: Mapping[int, int] = field(default_factory=dict)
    misses: int = 0
    forfeited: bool = False


class Task(MoveGame):
    """A game of OpenSpiel in words."""

    def __init__(
        self,
        name: str,
        *,
        tries: int = 2,
        illegal_penalty: float = 0.1,
        forfeit_penalty: float = 1.0,
        max_turns: int = 400,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        self.game = _game(name)
        super().__init__(
            f"openspiel:{name}",
            _player_names(self.game),
            tries=tries,
            illegal_penalty=illegal_penalty,
            forfeit_penalty=forfeit_penalty,
            max_turns=max_turns,
            prompt=prompt,
            split=split,
            render_mode=render_mode,
        )
        self._kind = self.game.get_type()
        self.episode: OpenSpielState

    def start(self, seed: int) -> None:
        self.episode = _resolve_chance(OpenSpielState(seed, self.game.new_initial_state()))

    def agents_to_act(self) -> list[str]:
        return [self.possible_agents[player] for player in _players_to_act(self.episode)]

    def choices(self, agent: str) -> MoveNames:
        return _choices(self.episode.state, self.possible_agents.index(agent))[0]

    def move(self, agent: str, number: int) -> Outcome:
        playing, player = self.episode, self.possible_agents.index(agent)
        before = playing.state.returns()
        legal = playing.state.legal_actions(player)
        self.episode = _resolve_chance(_apply_choice(playing, player, int(legal[number])))
        state = self.episode.state
        paid = zip(self.possible_agents, state.returns(), before, strict=True)
        self.success = state.is_terminal() and self._is_success(state.returns())
        return Outcome(
            local={a: {"game": now - was} for a, now, was in paid if now != was},
            done=state.is_terminal(),
        )

    def observation(self, agent: str) -> str:
        player, state = self.possible_agents.index(agent), self.episode.state
        lines = [self._observation_text(player)]
        if self.prompt_style == "full":
            lines.insert(0, f"You are {agent} in {self._kind.long_name}.")
        if state.is_terminal() or self.episode.forfeited:
            return "\n\n".join([*lines, "The game is over."])
        if player not in _players_to_act(self.episode):
            return "\n\n".join([*lines, f"It is the turn of {', '.join(self.agents_to_act())}."])
        moves, shown = _choices(state, player)
        lines.append(f"Legal moves: {', '.join(shown)}")
        if refusal := self.refusal(agent):
            lines.append(refusal)
        if self.prompt_style == "terse":
            return "\n".join([*lines, "Move:"])
        return "\n\n".join(
            [*lines, f'End your answer with a line such as "Move: {moves.names[0]}".']
        )

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``success``, and ``won``: whether the agent itself was paid more than any other."""
        state, player = self.episode.state, self.possible_agents.index(agent)
        won = state.is_terminal() and _has_highest_return(state.returns(), player)
        return {**super().final_info(agent), "won": won}

    def board(self) -> str:
        return str(self.episode.state)

    def _observation_text(self, player: int) -> str:
        """What the game shows a player now; at its end too."""
        state, kind = self.episode.state, self._kind
        perfect = kind.information.name == "PERFECT_INFORMATION"
        if (
            perfect and kind.provides_observation_string
        ) or not kind.provides_information_state_string:
            return str(state.observation_string(player)).rstrip()
        return str(state.information_state_string(player)).rstrip()

    def _is_success(self, returns: Sequence[float]) -> bool:
        alike = self._kind.utility.name == "IDENTICAL"
        if alike or len(returns) == 1:
            return bool(returns[0] >= self.game.max_utility() - _ROUNDING)
        return _has_highest_return(returns, 0)


def tasks() -> Mapping[str, ExternalTaskInfo]:
    games = import_module("pyspiel").registered_games()
    return {kind.short_name: _task_info(kind) for kind in games}


def look_up(name: str) -> ExternalTaskInfo:
    short = name.partition("(")[0]
    games = {kind.short_name: kind for kind in import_module("pyspiel").registered_games()}
    if short not in games:
        raise UnknownNameError("game of openspiel", short, games)
    listed = _task_info(games[short], given="(" in name)
    if listed.refused:
        return listed
    return listed._replace(agents=tuple(_player_names(_game(name))))


def _task_info(kind: Any, *, given: bool = False) -> ExternalTaskInfo:
    refused = _REFUSED.get(kind.short_name, "")
    if kind.dynamics.name == "MEAN_FIELD":
        refused = "it is a game of a whole population, with one representative player"
    elif kind.chance_mode.name == "SAMPLED_STOCHASTIC":
        refused = "its chance is hidden inside the game, so a copy of an episode would share it"
    elif not kind.default_loadable and not given:
        refused = "it needs parameters, such as a game to change"
    elif not (kind.provides_observation_string or kind.provides_information_state_string):
        refused = "it shows its players no text"
    agents = () if refused else tuple(_player_names(_game(kind.short_name))) if not given else ()
    return ExternalTaskInfo(agents, f"{kind.long_name}: {kind.dynamics.name.lower()}", refused)


@lru_cache(maxsize=256)
def _game(name: str) -> Any:
    pyspiel: Any = import_module("pyspiel")
    try:
        return pyspiel.load_game(name)
    except Exception as error:  # pyspiel.SpielError; whatever a game raises on bad parameters
        raise ConfigError(f"openspiel:{name}: {error}") from error


def _player_names(game: Any) -> list[str]:
    return [f"player_{number}" for number in range(game.num_players())]


def _players_to_act(playing: OpenSpielState) -> list[int]:
    """The players that choose now and have not done so."""
    state = playing.state
    if state.is_terminal():
        return []
    if not state.is_simultaneous_node():
        return [state.current_player()]
    players = range(state.num_players())
    return [p for p in players if p not in playing.chosen and state.legal_actions(p)]


def _apply_choice(playing: OpenSpielState, player: int, move: int) -> OpenSpielState:
    """The episode after a choice; at a simultaneous node it acts when all have chosen."""
    if not playing.state.is_simultaneous_node():
        state = playing.state.clone()
        state.apply_action(move)
        return replace(playing, state=state, steps=playing.steps + 1)
    playing = replace(playing, chosen={**playing.chosen, player: move})
    if _players_to_act(playing):
        return playing
    state = playing.state.clone()
    players = range(state.num_players())
    state.apply_actions([playing.chosen.get(p, _NO_ACTION) for p in players])
    return replace(playing, state=state, steps=playing.steps + 1, chosen={})


def _resolve_chance(playing: OpenSpielState) -> OpenSpielState:
    """The episode after all chance that comes before the next choice.

    The draw depends on the episode's seed and the number of steps before it, so that a copy of an episode
    draws what the episode draws.
    """
    while playing.state.is_chance_node():
        actions, chances = zip(*playing.state.chance_outcomes(), strict=True)
        action = random.Random(f"{playing.seed}/{playing.steps}").choices(actions, chances)[0]
        state = playing.state.clone()
        state.apply_action(action)
        playing = replace(playing, state=state, steps=playing.steps + 1)
    return playing


@lru_cache(maxsize=1024)  # states are distinguished by identity, and never change
def _choices(state: Any, player: int) -> tuple[MoveNames, tuple[str, ...]]:
    """The legal moves by the names that an answer is read by, and as they are shown.

    The names are numbers where two names of the game could not be distinguished.
    """
    names = [
        state.action_to_string(player, action).strip() for action in state.legal_actions(player)
    ]
    try:
        return MoveNames(names), tuple(names)
    except ConfigError:
        numbers = MoveNames([str(number) for number in range(len(names))])
        return numbers, tuple(f"{n} ({o})" for n, o in zip(numbers.names, names, strict=True))


def _has_highest_return(returns: Sequence[float], player: int) -> bool:
    return all(returns[player] > paid for p, paid in enumerate(returns) if p != player)

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
from typing import Any

from llmzoo.adapters.external import ExternalTaskInfo
from llmzoo.envs.base import Outcome
from llmzoo.envs.moves import MoveNames
from llmzoo.envs.turn_game import MoveGame, MoveState
from llmzoo.errors import ConfigError, UnknownNameError

PACKAGE = "pyspiel"
EXTRA = "openspiel"

_ROUNDING = 1e-9  # tolerance for the rounding of sums of rewards
_NO_ACTION = 0  # what OpenSpiel takes from a player without a choice at a simultaneous node
# games that cannot be played here, with the reason
_REFUSED = {
    "crossword": "it has no list of legal moves",
}


@dataclass(frozen=True, slots=True)
class OpenSpielState(MoveState):
    """The state of an episode.

    position: OpenSpiel's state, never changed in place. steps: how many actions it has taken, chance included.
    chosen: the choices so far at a simultaneous node.
    """

    seed: int
    position: Any
    steps: int = 0
    chosen: Mapping[int, int] = field(default_factory=dict)


class Task(MoveGame[OpenSpielState]):
    """A game of OpenSpiel in words."""

    def __init__(
        self,
        name: str,
        *,
        forfeit_penalty: float = 1.0,
        max_turns: int = 400,
        **options: Any,
    ):
        self.game = _game(name)
        super().__init__(
            f"openspiel:{name}",
            _player_names(self.game),
            forfeit_penalty=forfeit_penalty,
            max_turns=max_turns,
            **options,
        )
        self._game_type = self.game.get_type()

    def start(self, seed: int) -> OpenSpielState:
        return _resolve_chance(OpenSpielState(seed, self.game.new_initial_state()))

    def agents_to_act(self) -> list[str]:
        """The agents that have to choose now: at a simultaneous node several, one step after another."""
        return self._agents_to_choose(self.episode)

    def acting(self, state: OpenSpielState) -> tuple[str, ...]:
        return tuple(self._agents_to_choose(state)[:1])

    def choices(self, state: OpenSpielState, agent: str) -> MoveNames:
        return _choices(state.position, self.possible_agents.index(agent))[0]

    def move(
        self, state: OpenSpielState, agent: str, number: int
    ) -> tuple[OpenSpielState, Outcome]:
        player, before = self.possible_agents.index(agent), state.position.returns()
        legal = state.position.legal_actions(player)
        state = _resolve_chance(_apply_choice(state, player, int(legal[number])))
        returns, over = state.position.returns(), state.position.is_terminal()
        return_changes = zip(self.possible_agents, returns, before, strict=True)
        local = {a: {"game": new - old} for a, new, old in return_changes if new != old}
        return state, Outcome(local=local, done=over, success=over and self._is_success(returns))

    def observation(self, state: OpenSpielState, agent: str) -> str:
        player = self.possible_agents.index(agent)
        lines = [self._observation_text(state.position, player)]
        if self.prompt_style == "full":
            lines.insert(0, f"You are {agent} in {self._game_type.long_name}.")
        if state.position.is_terminal() or state.forfeited:
            return "\n\n".join([*lines, "The game is over."])
        waiting = self._agents_to_choose(state)
        if agent not in waiting:
            return "\n\n".join([*lines, f"It is the turn of {', '.join(waiting)}."])
        moves, shown = _choices(state.position, player)
        lines.append(f"Legal moves: {', '.join(shown)}")
        if refusal := self.refusal(state, agent):
            lines.append(refusal)
        if self.prompt_style == "terse":
            return "\n".join([*lines, "Move:"])
        return "\n\n".join(
            [*lines, f'End your answer with a line such as "Move: {moves.names[0]}".']
        )

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``success``, and ``won``: whether the agent itself was paid more than any other."""
        position, player = self.episode.position, self.possible_agents.index(agent)
        won = position.is_terminal() and _has_highest_return(position.returns(), player)
        return {**super().final_info(agent), "won": won}

    def board(self) -> str:
        return str(self.episode.position)

    def _agents_to_choose(self, state: OpenSpielState) -> list[str]:
        """The agents that have to choose now and have not chosen yet."""
        return [self.possible_agents[player] for player in _players_to_act(state)]

    def _observation_text(self, position: Any, player: int) -> str:
        """What the game shows a player now; at its end too."""
        kind = self._game_type
        perfect = kind.information.name == "PERFECT_INFORMATION"
        if (
            perfect and kind.provides_observation_string
        ) or not kind.provides_information_state_string:
            return str(position.observation_string(player)).rstrip()
        return str(position.information_state_string(player)).rstrip()

    def _is_success(self, returns: Sequence[float]) -> bool:
        identical_returns = self._game_type.utility.name == "IDENTICAL"
        if identical_returns or len(returns) == 1:
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
    info = _task_info(games[short], has_parameters="(" in name)
    if info.refused:
        return info
    return info._replace(agents=tuple(_player_names(_game(name))))


def _task_info(kind: Any, *, has_parameters: bool = False) -> ExternalTaskInfo:
    refused = _REFUSED.get(kind.short_name, "")
    if kind.dynamics.name == "MEAN_FIELD":
        refused = "it is a game of a whole population, with one representative player"
    elif kind.chance_mode.name == "SAMPLED_STOCHASTIC":
        refused = "its chance is hidden inside the game, so a copy of an episode would share it"
    elif not kind.default_loadable and not has_parameters:
        refused = "it needs parameters, such as a game to change"
    elif not (kind.provides_observation_string or kind.provides_information_state_string):
        refused = "it shows its players no text"
    agents_unknown = refused or has_parameters
    agents = () if agents_unknown else tuple(_player_names(_game(kind.short_name)))
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


def _players_to_act(state: OpenSpielState) -> list[int]:
    """The players that have to choose now and have not chosen yet."""
    position = state.position
    if position.is_terminal():
        return []
    if not position.is_simultaneous_node():
        return [position.current_player()]
    players = range(position.num_players())
    return [p for p in players if p not in state.chosen and position.legal_actions(p)]


def _apply_choice(state: OpenSpielState, player: int, move: int) -> OpenSpielState:
    """The state after a choice; at a simultaneous node it takes effect when all have chosen."""
    together = state.position.is_simultaneous_node()
    if together:
        state = replace(state, chosen={**state.chosen, player: move})
        if _players_to_act(state):
            return state
    position = state.position.clone()
    if together:
        players = range(position.num_players())
        position.apply_actions([state.chosen.get(p, _NO_ACTION) for p in players])
    else:
        position.apply_action(move)
    return replace(state, position=position, steps=state.steps + 1, chosen={})


def _resolve_chance(state: OpenSpielState) -> OpenSpielState:
    """The state after all chance nodes before the next choice.

    A chance outcome depends only on the episode's seed and the number of steps before it, so a copy of an
    episode has the same outcomes.
    """
    while state.position.is_chance_node():
        actions, probabilities = zip(*state.position.chance_outcomes(), strict=True)
        action = random.Random(f"{state.seed}/{state.steps}").choices(actions, probabilities)[0]
        position = state.position.clone()
        position.apply_action(action)
        state = replace(state, position=position, steps=state.steps + 1)
    return state


@lru_cache(maxsize=1024)  # positions are distinguished by identity, and never change
def _choices(position: Any, player: int) -> tuple[MoveNames, tuple[str, ...]]:
    """The legal moves: the names that an answer may use, and the moves as they are shown.

    If two names of the game cannot be distinguished, an answer uses numbers instead.
    """
    names = [
        position.action_to_string(player, action).strip()
        for action in position.legal_actions(player)
    ]
    try:
        return MoveNames(names), tuple(names)
    except ConfigError:
        numbers = MoveNames([str(number) for number in range(len(names))])
        return numbers, tuple(
            f"{number} ({name})" for number, name in zip(numbers.names, names, strict=True)
        )


def _has_highest_return(returns: Sequence[float], player: int) -> bool:
    return all(
        returns[player] > other_return for p, other_return in enumerate(returns) if p != player
    )

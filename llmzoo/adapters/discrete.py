"""Environments with numbered actions as text environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv
from llmzoo.envs.forking import fork
from llmzoo.envs.moves import MoveNaming, UnreadableError, name_moves
from llmzoo.envs.tasks import check_split
from llmzoo.envs.turn_game import episode_seed
from llmzoo.errors import ConfigError, NoScriptedPolicyError, UnknownNameError

Show = Callable[[Any, str], str]  # (observation of the wrapped environment, agent) -> text
Expert = Callable[[Any, str], int]  # the same -> the number of a move

MAX_SHOWN_NUMBERS = 1_000  # of an array that is shown


def discrete_to_text(env: AECEnv, **options: Any) -> AECEnv:
    """A PettingZoo AEC environment with ``Discrete`` action spaces as a text environment.

    ``options`` are those of :class:`DiscreteText`.
    """
    return OrderEnforcingWrapper(DiscreteText(env, **options))


class DiscreteText(TextEnv[None]):
    """An AEC environment (``game``) with ``Discrete`` action spaces, played in words.

    The game holds the state and changes it in place, so ``episode`` is None, and a fork copies the game.

    Each prompt names the agent, shows its observation, lists the legal moves and says how to answer.
    :meth:`Moves.read <llmzoo.envs.moves.MoveNames.read>` defines how an answer is parsed.

    observation: turns what ``game.observe(agent)`` gives into text; :func:`describe_observation` by default.
    actions: the name of each action, as a list or a function of its number; the number by default.
    rules: of the game, in the full prompt.
    prompt: ``"terse"`` shows only the observation, the legal moves and "Move:".
    tries: answers that an agent has for one turn; after that many wrong ones it forfeits.
    illegal_penalty: the cost of a wrong answer, which names no move, several or an illegal one, or has
        over 20,000 characters. The next observation says what was wrong. No other move is played instead.
    forfeit_penalty: the additional cost of forfeiting. The game is then over without a winner, and
        the others are paid nothing, as with PettingZoo's ``TerminateIllegalWrapper``. It should be
        at least the cost of the worst defeat.
    success: defines ``infos[agent]["success"]`` at the end, the same for all agents. An agent's name
        (default: the first) means that this agent has won: the game paid it more than any other. A
        function decides from what the game paid each agent. ``infos[agent]["won"]`` says whether
        that agent itself has won.
    split: ``"train"``, ``"test"`` or ``"all"``, see :func:`episode_seed`.
    expert: plays for the policy ``expert``: (observation, agent) to the number of an action.

    The reward components are ``game`` (the game's own rewards), ``illegal`` and ``forfeit``. Agents act one
    at a time, even in a simultaneous game, where observations hide the choices of the others. Without
    an action mask in the observation or the info, all moves are legal. The game's own infos are not
    passed on.

    Raises :class:`ConfigError` for other action spaces and for invalid settings.
    """

    def __init__(
        self,
        game: AECEnv,
        *,
        observation: Show | None = None,
        actions: MoveNaming = None,
        rules: str = "",
        prompt: Literal["full", "terse"] = "full",
        tries: int = 2,
        illegal_penalty: float = 0.1,
        forfeit_penalty: float = 1.0,
        success: str | Callable[[Mapping[str, float]], bool] | None = None,
        split: str = "train",
        expert: Expert | None = None,
        render_mode: str | None = None,
    ):
        if not isinstance(game, AECEnv):
            raise ConfigError(
                f"{game} is no AEC environment; pettingzoo.utils.parallel_to_aec helps"
            )
        super().__init__(list(game.possible_agents), render_mode=render_mode)
        limit = game.metadata.get("time_limit")  # this class has no limit of its own
        self.metadata = {
            **self.metadata,
            "name": f"text_{game.unwrapped}",
            "time_limit": limit,
            "team_components": [],
            "team_and_local": False,
        }
        if tries < 1:
            raise ConfigError(f"tries is at least 1, got {tries}")
        if not (0 <= illegal_penalty < np.inf and 0 <= forfeit_penalty < np.inf):
            raise ConfigError(
                "penalties are 0 or more and are taken off, got "
                f"illegal_penalty={illegal_penalty}, forfeit_penalty={forfeit_penalty}"
            )
        first = self.possible_agents[0]
        if isinstance(success, str) and success not in self.possible_agents:
            raise UnknownNameError("agent in success", success, self.possible_agents)
        self.game = game
        self.split = check_split(split)
        self.tries = tries
        self._show = observation or describe_observation
        self._rules = rules
        self._terse = prompt == "terse"
        self._penalties = (illegal_penalty, forfeit_penalty)
        self._success_rule = success or first
        self._expert = expert
        self._moves = {a: name_moves(game.action_space(a), actions) for a in self.possible_agents}
        self.episode = None
        self._wrong_answers = 0  # wrong answers of the agent whose turn it is, at this turn
        self._forfeited = False
        self._game_returns: dict[
            str, float
        ] = {}  # what the game has paid each agent so far; never changed in place

    # the life of an episode

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode: that of ``seed``, else of ``options["task"]`` as a seed, else the next."""
        number = seed if seed is not None else (options or {}).get("task")
        self.game.reset(seed=None if number is None else episode_seed(number, self.split))
        self.agents = list(self.game.agents)
        self.success = self._forfeited = False
        self._wrong_answers = 0
        self._actions = {}
        self._skip_agent_selection = None  # PettingZoo's; an unfinished episode may have set it
        self._game_returns = dict.fromkeys(self.possible_agents, 0.0)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        shared = {"source": str(self.game.unwrapped), "split": self.split, "tasks": None}
        self.infos = {a: {**shared, "reward_components": {}, "error": None} for a in self.agents}
        self._sync_with_game()
        if self.render_mode == "human":
            self.render()

    def _apply_actions(self, last: str) -> None:
        """The base's, for a game whose agents may be out one by one."""
        text = self._actions.pop(last)
        try:
            move = self._read(last, text)
        except UnreadableError as error:
            self._reject_move(last, str(error))
        else:
            self._wrong_answers = 0
            self.game.step(move + int(self.game.action_space(last).start))
            rewards = {a: float(reward) for a, reward in self.game.rewards.items()}
            self._game_returns = {
                a: total + rewards.get(a, 0.0) for a, total in self._game_returns.items()
            }
            self._pay(Outcome(local={a: {"game": r} for a, r in rewards.items() if r}))
            self._sync_with_game()
        self._accumulate_rewards()
        self._report_result()

    def _read(self, agent: str, text: str) -> int:
        if len(text) > MAX_ACTION_CHARS:
            raise UnreadableError(f"it is longer than {MAX_ACTION_CHARS} characters")
        move = self._moves[agent].read(text)
        if move not in self.legal(agent):
            raise UnreadableError(f"{self._moves[agent].names[move]} is not legal now")
        return move

    def _reject_move(self, agent: str, error: str) -> None:
        illegal, forfeit = self._penalties
        self._wrong_answers += 1
        parts = {"illegal": -illegal}
        if self._wrong_answers == self.tries:
            self._forfeited = True
            parts["forfeit"] = -forfeit
            self.terminations = dict.fromkeys(self.agents, True)
        self._pay(Outcome(local={agent: parts}, errors={agent: error}))

    def _was_dead_step(self, action: str | None) -> None:
        """Step past an agent that is out of the game."""
        if self._forfeited or action is not None:
            super()._was_dead_step(action)  # raises for an action
            return
        self.game.step(None)
        kept = set(self.game.agents)
        for values in (self.rewards, self._cumulative_rewards, self.infos):
            for agent in values.keys() - kept:
                del values[agent]
        self.agents = list(self.game.agents)
        self._clear_rewards()
        self._sync_with_game()

    def _sync_with_game(self) -> None:
        """Copy from the game which agents are out, and whose turn it is."""
        self.terminations = {a: bool(self.game.terminations[a]) for a in self.agents}
        self.truncations = {a: bool(self.game.truncations[a]) for a in self.agents}
        self._set_acting((self.game.agent_selection,))

    def _report_result(self) -> None:
        """Tell agents that are out how the game has ended, if it has."""
        dead = [a for a in self.agents if self.terminations[a] or self.truncations[a]]
        if len(dead) == len(self.agents) and not self._forfeited:
            rule = self._success_rule
            self.success = (
                self._has_won(rule) if isinstance(rule, str) else bool(rule(self._game_returns))
            )
        for agent in dead:
            ending = {"success": self.success, "won": not self._forfeited and self._has_won(agent)}
            self.infos[agent] = {**self.infos[agent], **ending}

    def _has_won(self, agent: str) -> bool:
        return all(
            self._game_returns[agent] > paid for a, paid in self._game_returns.items() if a != agent
        )

    # what an agent reads

    def legal(self, agent: str) -> list[int]:
        """The legal moves of ``agent``, counted from 0. Raises :class:`ConfigError` if there are
        none."""
        seen = self.game.observe(agent)
        mask = self.game.infos[agent].get("action_mask")
        if isinstance(seen, Mapping) and "action_mask" in seen:
            mask = seen["action_mask"]
        if mask is None:
            return list(range(len(self._moves[agent].names)))
        moves: list[int] = np.flatnonzero(mask).tolist()
        if not moves:
            raise ConfigError(f"{self.game.unwrapped} leaves {agent} no legal move at its turn")
        return moves

    def observation(self, state: None, agent: str) -> str:
        shown = self._show(self.game.observe(agent), agent)
        dead = agent not in self.agents or self.terminations[agent] or self.truncations[agent]
        if dead or agent != self.agent_selection:
            wait = "The game is over." if dead else f"It is the turn of {self.agent_selection}."
            return "\n".join([*self._head(agent), shown, wait])
        names = [self._moves[agent].names[move] for move in self.legal(agent)]
        lines = [*self._head(agent), shown, f"Legal moves: {', '.join(names)}"]
        error = self.infos[agent]["error"]
        if error is not None and self._wrong_answers:
            left = self.tries - self._wrong_answers
            lines.append(f"Your answer was refused: {error}. Tries left: {left}")
        if self._terse:
            return "\n".join([*lines, "Move:"])
        lines.append(f'End your answer with a line such as "Move: {names[0]}".')
        return "\n\n".join(lines)

    def _head(self, agent: str) -> list[str]:
        introduction = f"You are {agent} in {self.game.unwrapped}. {self._rules}"
        return [] if self._terse else [introduction.rstrip()]

    def board(self) -> str:
        return self._show(self.game.observe(self.agent_selection), self.agent_selection)

    # scripted players, and copies

    def expert(self, agent: str) -> str:
        if self._expert is None:
            raise NoScriptedPolicyError(
                f"{self} has no scripted expert; 'noisy_expert' plays any legal move"
            )
        move = self._expert(self.game.observe(agent), agent)
        start = int(self.game.action_space(agent).start)
        return f"Move: {self._moves[agent].names[move - start]}"

    def noisy_expert(self, agent: str, rng: Any) -> str:
        return self.random_move(agent, rng)

    def random_move(self, agent: str, rng: Any) -> str:
        """A legal move, drawn uniformly."""
        return f"Move: {self._moves[agent].names[rng.choice(self.legal(agent))]}"

    def fork(self) -> DiscreteText:
        copied = super().fork()
        assert isinstance(copied, DiscreteText)
        copied.game = fork(self.game)
        return copied


def describe_observation(seen: Any, agent: str) -> str:
    """:func:`observation_to_text` with a heading."""
    return _with_heading("Observation", observation_to_text(seen, agent))


def observation_to_text(seen: Any, agent: str) -> str:
    """Any observation as text: arrays as rows, dictionaries item by item, without the action mask.

    Raises :class:`ConfigError` for an array of more than 1000 numbers.
    """
    if isinstance(seen, Mapping):
        shown = {name: item for name, item in seen.items() if name != "action_mask"}
        if list(shown) == ["observation"]:
            return observation_to_text(shown["observation"], agent)
        return "\n".join(
            _with_heading(str(name), observation_to_text(item, agent))
            for name, item in shown.items()
        )
    if isinstance(seen, tuple | list):
        return "\n".join(observation_to_text(item, agent) for item in seen)
    if isinstance(seen, np.ndarray):
        return _array_to_text(seen)
    return str(seen)


def _with_heading(name: str, text: str) -> str:
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _array_to_text(array: np.ndarray) -> str:
    """One line per row. Arrays of three or more dimensions are shown plane by plane, by the last
    axis."""
    if array.size > MAX_SHOWN_NUMBERS:
        raise ConfigError(
            f"an observation of {array.size} numbers is too large to show as text: give "
            "discrete_to_text(observation=...) a function that describes it"
        )
    if array.ndim == 0:
        return _number_to_text(array[()])
    if array.ndim == 1:
        return " ".join(map(_number_to_text, array))
    if array.ndim == 2:
        return "\n".join(map(_array_to_text, array))
    planes = np.moveaxis(array, -1, 0)
    return "\n".join(
        _with_heading(f"plane {i}", _array_to_text(plane)) for i, plane in enumerate(planes)
    )


def _number_to_text(value: Any) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{float(value):.4g}"

"""The AEC bookkeeping of a text environment, written once.

A task says who plays (``agents``), what each agent reads (:meth:`TextEnv.observation`) and what an answer
does (:meth:`TextEnv.play` in a task in turns, :meth:`TextEnv.play_together` in a simultaneous one).
This module does the rest: seeds, rewards, infos, and the end of an episode. :meth:`TextEnv.step` is the
whole walk of one step.
"""

from __future__ import annotations

import copy
import inspect
import random
import sys
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple, get_args, get_type_hints

import numpy as np
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from llmzoo.envs.drawing import Board, BoardInText, terminal
from llmzoo.errors import ConfigError, NoScriptedPolicyError, ServiceError, UnknownNameError
from llmzoo.names import check_names
from llmzoo.parallel_forms import to_parallel
from llmzoo.spaces import FreeText, Observation

MAX_ACTION_CHARS = 20_000  # a longer answer is malformed, and never parsed
MAX_OBSERVATION_CHARS = 1_000_000
TEAM_COMPONENT = "team"  # the name of a team reward that has no named parts

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Outcome(NamedTuple):
    """What an answer, or a round of simultaneous answers, did.

    * ``team``: the reward that all agents are paid alike, before ``team_weight``. A mapping gives it in
      named parts, which ``metadata["team_components"]`` lists; a number is the part "team".
    * ``local``: named reward components of single agents.
    * ``done``: the task is over (solved or lost).
    * ``errors``: what was wrong with an answer, for ``infos[agent]["error"]``.
    """

    team: float | Mapping[str, float] = 0.0
    local: Mapping[str, Mapping[str, float]] = _EMPTY
    done: bool = False
    errors: Mapping[str, str] = _EMPTY


class TextEnv(AECEnv[str, str, str]):
    """Base class of the environments in which agents read and write text.

    Parameters
    ----------
    agents: their names, in the order in which they act.
    simultaneous: no agent sees another's answer of the same round; answers take effect together.
    max_turns: rounds (each agent acts once a round) after which the episode is truncated.
    team_weight: ``reward[agent] = team_weight * sum(team components) + sum(local components)``.
    render_mode: ``"ansi"`` (``render`` returns text), ``"human"`` (it is printed after ``reset`` and
        after every step), ``"rgb_array"`` (``render`` returns a picture, [height, width, 3] uint8;
        games with a board) or None. ``metadata["render_modes"]`` has those of a class.

    ``fallback`` is true if the tasks are a shipped sample because the public set could not be reached.
    Such tasks are fine for a look, but not for numbers.

    ``team`` lists the agents that are paid the team reward: all of them, unless a subclass says
    otherwise.

    ``metadata`` says how a learner may judge single answers:

    team_components: the names of the team reward components.
    team_and_local: whether some agent is paid both team and local components, so that a weight between them
        matters.
    delayed_reward_agents: the agents that are ever paid at another agent's step (a task in turns). None: not
        known.
    immediate_credit_agents: those of them whose own step already pays for their answer, by a separate measure.
    retries: whether an agent whose answer was refused may answer again in the same turn.
    sides: the agents of each side, if what one side wins is lost by others; else empty.
    attempts: the agents that answer several times in a row to the same observation, and how often. No
        attempt changes what another one is paid; each is paid at its own step, and none but the last ends
        the episode. Trees take the attempts as a group (:mod:`llmzoo.rollout.attempts`).

    A subclass keeps all state of an episode in ``self.episode``, as immutable objects that it replaces.
    That makes :meth:`fork` a shallow copy.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["ansi", "human"],
        "name": "text_env_v0",
        "is_parallelizable": False,
        "time_limit": "task",  # max_turns is a rule of the task: nothing after it counts
        "team_components": [TEAM_COMPONENT],
        "team_and_local": True,
        "delayed_reward_agents": None,
        "immediate_credit_agents": [],
        "retries": False,
        "sides": [],
        "attempts": {},
    }
    fallback: bool = False

    def __init__(
        self,
        agents: list[str],
        *,
        simultaneous: bool = False,
        max_turns: int = 1,
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        if max_turns < 1:
            raise ValueError(f"max_turns must be at least 1, got {max_turns}")
        modes = type(self).metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            name = type(self).metadata["name"]
            why = "" if "rgb_array" in modes else ", and no board to make a picture of"
            raise ConfigError(
                f"{name} has no render_mode {render_mode!r}; it has None, "
                f"{', '.join(map(repr, modes))}{why}"
            )
        self.metadata = {**type(self).metadata, "is_parallelizable": simultaneous}
        self.possible_agents = list(agents)
        self.team = list(agents)
        self.agents: list[str] = []
        self.simultaneous = simultaneous
        self.max_turns = max_turns
        self.team_weight = team_weight
        self.render_mode = render_mode
        self.turn = 0  # rounds completed
        self.success = False
        self.episode: Any = None
        self._random: random.Random | None = None
        self._observation_spaces = {a: FreeText(MAX_OBSERVATION_CHARS) for a in agents}
        self._action_spaces = {a: FreeText(MAX_ACTION_CHARS) for a in agents}

    # What a task supplies

    def reset_task(self, rng: random.Random, task: int | str | None) -> None:
        """Set ``self.episode`` to the start of an episode. ``task``: its number in the split or its id;
        None draws one."""
        raise NotImplementedError

    def observation(self, agent: str) -> str:
        """All that ``agent`` may use: its role, the task, the feedback, the answer format."""
        raise NotImplementedError

    def play(self, agent: str, text: str) -> Outcome:
        """Let one agent's answer act on ``self.episode`` and ``self.success`` (a task in turns)."""
        raise NotImplementedError

    def play_together(self, texts: Mapping[str, str]) -> Outcome:
        """Let all agents' answers of a round act at once (a simultaneous task)."""
        raise NotImplementedError

    def keeps_turn(self, agent: str) -> bool:
        """Whether the agent that has just answered answers again before the next one (a task in turns)."""
        return False

    def agents_to_act(self) -> list[str]:
        """The agents that choose next without seeing each other's choice, the selected one first: one in
        a task in turns, all live ones in a simultaneous task."""
        if not self.metadata["is_parallelizable"]:
            return [self.agent_selection]
        first = self.agents.index(self.agent_selection)
        return [*self.agents[first:], *self.agents[:first]]

    def task_info(self) -> Mapping[str, Any]:
        """What every info of the episode says: the task's source, split, number and id."""
        return {}

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """What an agent's last info adds: ``success``, the same for all agents unless the task has
        sides, and more if the task says so."""
        return {"success": self.success}

    def expert(self, agent: str) -> str:
        """The best answer of ``agent`` now, by a scripted player who may read more than the prompt."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted expert")

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The answer of a sloppy player, who makes the mistakes that people make in this task."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted noisy expert")

    def board(self) -> str:
        """The state as plain text, for a person."""
        return self.observation(self.agent_selection)

    def picture(self) -> Board | None:
        """The state as a board of cells; None if the task has no board."""
        return None

    def intermediate_boards(self, text: str) -> list[Board]:
        """The boards that an answer would pass through if it took effect now; for an animation."""
        return []

    @classmethod
    def find_boards(cls, text: str) -> tuple[BoardInText, ...]:
        """The boards that an observation of this environment shows, in either form of prompt.

        Only boards drawn by the environment count, not those in a model's answer. Never raises, and
        takes time proportional to the length of the text.
        """
        return ()

    # PettingZoo's side

    def observation_space(self, agent: str) -> FreeText:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> FreeText:
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        ``seed`` fixes all of it; without one, episodes follow from the last seed given.
        ``options={"task": i}`` plays task i of the split if i is a whole number (from 0), and the task
        with the id i if it is a text. Other options raise :class:`UnknownNameError`.
        """
        if seed is not None:
            self._random = random.Random(seed)
        elif self._random is None:
            self._random = random.Random()
        else:
            self._random = copy.copy(self._random)  # a fork may hold the one so far
        self.agents = list(self.possible_agents)
        self.turn = 0
        self.success = False
        self._answers: dict[str, str] = {}
        self.reset_task(self._random, _task_from_options(options or {}))
        shared = dict(self.task_info())
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {a: {**shared, "reward_components": {}, "error": None} for a in self.agents}
        self._select(self.agents[0])
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        return Observation(self.observation(agent))

    def step(self, action: str | None) -> None:
        agent = self.agent_selection
        if not self._begin_step(agent, action):
            return
        assert action is not None
        last_of_round = agent == self.agents[-1]
        keeps_turn = False
        if not self.simultaneous:
            self._apply_outcome(self._end_on_service_error(lambda: self.play(agent, action)))
            keeps_turn = self.keeps_turn(agent)
        else:
            self._answers[agent] = action
            if last_of_round:
                answers, self._answers = self._answers, {}
                self._apply_outcome(self._end_on_service_error(lambda: self.play_together(answers)))
        self._accumulate_rewards()
        ended = True in self.terminations.values()
        if last_of_round and not keeps_turn and not ended:
            self.turn += 1
            ended = self.turn >= self.max_turns
            self.truncations = dict.fromkeys(self.agents, ended)
        if ended:
            self.infos = {a: {**info, **self.final_info(a)} for a, info in self.infos.items()}
        next_agent = self.agents[(self.agents.index(agent) + 1) % len(self.agents)]
        if next_agent != agent and not keeps_turn:
            self._select(next_agent)
        if self.render_mode == "human":
            self.render()

    def state(self) -> str:
        """The global state as text, for a central critic: the observation of every agent now."""
        return "\n\n".join(f"[{a}]\n{self.observation(a)}" for a in self.possible_agents)

    def render(self) -> str | np.ndarray | None:
        """The state as text, as a picture ([height, width, 3] uint8), or printed; see ``render_mode``.

        Boards are drawn in colour if standard output is a terminal that shows it
        (:func:`llmzoo.envs.drawing.terminal.supports_colour`), and as plain text otherwise. Raises
        :class:`llmzoo.errors.MissingExtraError` for a picture if Pillow is not installed.
        """
        if self.render_mode is None:
            return None
        board = self.picture()
        if self.render_mode == "rgb_array":
            from llmzoo.envs.drawing import pixels

            if board is None:
                raise NotImplementedError(f"{self} has the render_mode rgb_array and no picture()")
            return pixels.to_rgb(board)
        colours = board is not None and terminal.supports_colour(sys.stdout)
        text = terminal.render_coloured(board) if board is not None and colours else self.board()
        if self.render_mode == "human":
            print(text)
            return None
        return text

    def close(self) -> None:
        """There is nothing to close."""

    def fork(self) -> TextEnv:
        """A copy of the episode as it is now. It shares task data; stepping it leaves the original as
        it was."""
        forked: TextEnv = object.__new__(type(self))
        forked.__dict__.update(self.__dict__)
        forked.agents = list(self.agents)
        forked._answers = dict(self._answers)
        forked.rewards = dict(self.rewards)
        forked._cumulative_rewards = dict(self._cumulative_rewards)
        forked.terminations = dict(self.terminations)
        forked.truncations = dict(self.truncations)
        forked.infos = {a: dict(info) for a, info in self.infos.items()}
        return forked

    # Bookkeeping

    def _begin_step(self, agent: str, action: str | None) -> bool:
        """Begin the step of an agent's answer, or take the step of one that is done, which is all."""
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return False
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, got {type(action).__name__} for {agent!r}")
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self.infos[agent] = {**self.infos[agent], "reward_components": {}, "error": None}
        return True

    def _end_on_service_error(self, act: Callable[[], Outcome]) -> Outcome:
        """The outcome of a step; the end of the episode, without a reward, if a service failed."""
        try:
            return act()
        except ServiceError as error:
            self.infos = {a: {**info, "failure": str(error)} for a, info in self.infos.items()}
            return Outcome(done=True)

    def _apply_outcome(self, outcome: Outcome) -> None:
        """Pay every agent its reward components, and end the episode if the task is over."""
        team = self._weighted_team_rewards(outcome)
        for agent in self.agents:
            parts = {**outcome.local.get(agent, {}), **(team if agent in self.team else {})}
            if not parts:
                continue
            self.rewards[agent] = sum(parts.values())
            # like PettingZoo's cumulative reward: what came since the agent's last action
            info = self.infos[agent]
            total = dict(info["reward_components"])
            for name, value in parts.items():
                total[name] = total.get(name, 0.0) + value
            self.infos[agent] = {**info, "reward_components": total}
        for agent, error in outcome.errors.items():
            self.infos[agent] = {**self.infos[agent], "error": error}
        if outcome.done:
            self.terminations = dict.fromkeys(self.agents, True)

    def _weighted_team_rewards(self, outcome: Outcome) -> dict[str, float]:
        """The team reward components, weighted.

        Raises ``ValueError`` for a part that ``metadata["team_components"]`` does not list, or that has the
        name of a local part.
        """
        team = outcome.team
        if not isinstance(team, Mapping):
            team = {TEAM_COMPONENT: team} if team else {}
        local_names = {name for parts in outcome.local.values() for name in parts}
        for name in team:
            if name not in self.metadata["team_components"]:
                raise ValueError(
                    f"{self} pays the team part {name!r}; metadata['team_components'] does not list it"
                )
            if name in local_names:
                raise ValueError(f"{self} pays {name!r} both as a team part and as an agent's own")
        return {name: self.team_weight * value for name, value in team.items()}

    def _select(self, agent: str) -> None:
        self.agent_selection = agent
        self.infos = {a: {**info, "active_agent": agent} for a, info in self.infos.items()}


def _task_from_options(options: Mapping[str, Any]) -> int | str | None:
    """The task that the options of a reset ask for."""
    for name in options:
        if name not in (
            "task",
            "options",
        ):  # PettingZoo's tests pass "options", which has no effect
            raise UnknownNameError("option of reset", str(name), ["task"])
    task = options.get("task")
    if task is None or isinstance(task, str):
        return task
    if isinstance(task, bool | np.bool_) or not isinstance(task, int | np.integer):
        raise ConfigError(f"options['task'] is a number or an id, got {task!r:.80}")
    return int(task)


class FastOrderEnforcingWrapper(OrderEnforcingWrapper[str, str, str]):
    """PettingZoo's wrapper that raises on calls out of order, faster for calls in order.

    PettingZoo's own methods read each attribute through the wrapper, which checks the order each time.
    """

    def step(self, action: str | None) -> None:
        if self._has_reset and self.env.agents:
            self._has_updated = True
            self.env.step(action)
        else:
            super().step(action)

    def last(self, observe: bool = True) -> tuple[str | None, float, bool, bool, dict[str, Any]]:
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def __str__(self) -> str:
        return str(self.env)


def make_env_fns(
    raw_env: type[TextEnv],
) -> tuple[Callable[..., AECEnv], Callable[..., ParallelEnv]]:
    """What an environment's module exports as ``env`` and ``parallel_env``.

    ``env``: the AEC form, in PettingZoo's wrapper that raises on calls out of order. ``parallel_env``:
    its parallel form, made as the registry makes it. Both raise ``UnknownNameError`` for an argument
    that ``raw_env`` does not have, and ``ConfigError`` for one that is not the number it should be.
    """
    known = inspect.signature(raw_env).parameters

    def env(**kwargs: Any) -> AECEnv:
        what = f"argument of {raw_env.metadata['name']}"
        check_names(what, kwargs, known)
        try:
            return FastOrderEnforcingWrapper(raw_env(**kwargs))
        except TypeError:
            _check_numbers(what, kwargs, raw_env)
            raise

    def parallel_env(**kwargs: Any) -> ParallelEnv:
        return to_parallel(env(**kwargs))

    return env, parallel_env


_NUMBERS: dict[Any, tuple[type, str]] = {
    int: (Integral, "a whole number"),
    float: (Real, "a number"),
    NoneType: (NoneType, "None"),
}


def _check_numbers(what: str, given: Mapping[str, Any], raw_env: type[TextEnv]) -> None:
    """Raise :class:`ConfigError` for the first argument that should be a number and is not."""
    hints = get_type_hints(raw_env.__init__)
    for name, value in given.items():
        kinds = get_args(hints.get(name)) or (hints.get(name),)
        if all(kind in _NUMBERS for kind in kinds):
            types, type_names = zip(*(_NUMBERS[kind] for kind in kinds), strict=True)
            if not isinstance(value, types):
                raise ConfigError(
                    f"{what} {name!r} must be {' or '.join(type_names)}, got {value!r:.80}"
                )

"""The AEC bookkeeping of a text environment, written once.

A task keeps its state in an immutable object, and defines how an episode starts
(:meth:`TextEnv.reset_task`), what an agent reads (:meth:`TextEnv.observation`), who acts next
(:meth:`TextEnv.acting`) and what actions do (:meth:`TextEnv.apply`). This module does the rest: seeds,
rewards, infos, and the end of an episode. To follow a step from start to finish, read :meth:`TextEnv.step`.
"""

from __future__ import annotations

import copy
import inspect
import random
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from numbers import Integral, Real
from types import MappingProxyType, NoneType
from typing import Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

import numpy as np
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.drawing import Board, terminal
from llmzoo.errors import ConfigError, NoScriptedPolicyError, ServiceError, UnknownNameError
from llmzoo.names import check_names
from llmzoo.parallel_forms import to_parallel
from llmzoo.spaces import FreeText, Observation

MAX_ACTION_CHARS = 20_000  # a longer answer is malformed, and never parsed
MAX_OBSERVATION_CHARS = 1_000_000
TEAM_COMPONENT = "team"  # the name of a team reward that is a number

_EMPTY: Mapping[str, Any] = MappingProxyType({})


def find_length_errors(actions: Mapping[str, str]) -> dict[str, str]:
    """The errors of the actions that are too long to be read, by agent."""
    return {
        agent: f"malformed: longer than {MAX_ACTION_CHARS} characters"
        for agent, text in actions.items()
        if len(text) > MAX_ACTION_CHARS
    }


class Outcome(NamedTuple):
    """The result of an action, or of several simultaneous ones.

    * ``team``: the reward paid equally to all agents of the team, before ``team_weight``. A mapping gives its
      components, which ``metadata["team_components"]`` lists; a number is the component "team".
    * ``local``: named reward components of single agents.
    * ``done``: the task is over (solved or lost).
    * ``errors``: what was wrong with an action, for ``infos[agent]["error"]``.
    * ``success``: whether the task is solved now. None leaves ``env.success`` as it was.
    * ``keeps_turn``: the agent that has just acted acts again before the next one.
    * ``agents``: those of ``possible_agents`` that are in the episode from now on: the others leave, new ones
      join. None leaves them as they are.
    """

    team: float | Mapping[str, float] = 0.0
    local: Mapping[str, Mapping[str, float]] = _EMPTY
    done: bool = False
    errors: Mapping[str, str] = _EMPTY
    success: bool | None = None
    keeps_turn: bool = False
    agents: Collection[str] | None = None


State = TypeVar("State")


class TextEnv(AECEnv[str, str, str], Generic[State]):
    """Base class of the environments in which agents read and write text.

    ``self.episode`` is the state of the episode: an immutable object, which every step replaces. That makes
    :meth:`fork` a shallow copy.

    Parameters
    ----------
    agents: their names, in the order in which they act.
    simultaneous: no agent sees another's answer of the same round; answers take effect together.
    max_turns: rounds (each agent acts once a round) after which the episode is truncated.
    team_weight: ``reward[agent] = team_weight * sum(team components) + sum(local components)``.
    render_mode: ``"ansi"`` (``render`` returns text), ``"human"`` (it is printed after ``reset`` and
        after every step), ``"rgb_array"`` (``render`` returns a picture, [height, width, 3] uint8;
        games with a board) or None. ``metadata["render_modes"]`` lists those that a class supports.

    ``fallback`` is true if the tasks are a shipped sample because the public set could not be reached.
    Such tasks are fine for trying things out, but not for reporting results.

    ``team`` lists the agents that get the team reward, and ``starting_agents`` those that are present when
    an episode starts. Both are all agents, unless a subclass says otherwise. Agents may join and leave
    (:class:`Outcome`); by PettingZoo's rules an agent that has left is stepped once more, with None.

    ``metadata`` says how a learner may assign credit to individual actions:

    team_components: the names of the team reward components.
    team_and_local: whether some agent gets both team and local components, so that a weight between them
        matters.
    delayed_reward_agents: the agents that may be rewarded at another agent's step (in turn-based tasks). None:
        not known.
    immediate_credit_agents: those of them that also get a reward for their action at their own step, independent of
        the delayed one.
    retries: whether an agent whose answer was refused may answer again in the same turn.
    sides: the agents of each side, if what one side wins is lost by others; else empty.
    attempts: the agents that answer several times in a row to the same observation, and how often. No
        attempt changes the reward of another one; each is rewarded at its own step, and only the last may
        end the episode. Trees use the attempts as a group (:mod:`llmzoo.rollout.attempts`).
    """

    metadata: dict[str, Any] = {
        "render_modes": ["ansi", "human"],
        "name": "text_env_v0",
        "is_parallelizable": False,
        "time_limit": "task",  # max_turns is part of the task: a truncated episode has no value beyond it
        "team_components": [TEAM_COMPONENT],
        "team_and_local": True,
        "delayed_reward_agents": None,
        "immediate_credit_agents": [],
        "retries": False,
        "sides": [],
        "attempts": {},
    }
    fallback: bool = False
    __signature__: ClassVar[inspect.Signature]
    keeps_boards = True  # whether records of rollouts have pictures; set by who plays

    def __init_subclass__(cls, **options: Any) -> None:
        """``__init__(self, *, own, **options)`` passes ``options`` to the base: the signature of such a class has
        the keyword arguments of its base too, but those without a default, which are for the class to give."""
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__signature__ = _full_signature(cls)

    def __new__(cls, *_: Any, **arguments: Any) -> Any:
        """Raise :class:`ConfigError` for a keyword argument that is none of the values in its hint ``Literal``."""
        signatures = [vars(base).get("__signature__") for base in cls.__mro__]
        for name, value in arguments.items():
            hint = next(
                (s.parameters[name].annotation for s in signatures if s and name in s.parameters),
                Any,
            )
            if known := _literal_values(hint):
                check_choice(name, value, known)
        return super().__new__(cls)

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
        self.starting_agents = list(agents)
        self.agents: list[str] = []
        self.agent_selection: str
        self.simultaneous = simultaneous
        self.max_turns = max_turns
        self.team_weight = team_weight
        self.render_mode = render_mode
        self.turn = 0  # rounds completed
        self.success = False
        self.episode: State
        self.next_agent = ""  # whose turn it is by default; acting may decide otherwise
        self._acting: tuple[str, ...] = ()
        self._overrides_acting = type(self).acting is not TextEnv.acting
        self._leaving: Collection[str] = ()
        self.last_infos: dict[str, dict[str, Any]] = {}  # of agents that were stepped with None
        self._actions: dict[str, str] = {}  # received so far from the agents in _acting
        self._random: random.Random | None = None
        self._observation_spaces = {a: FreeText(MAX_OBSERVATION_CHARS) for a in agents}
        self._action_spaces = {a: FreeText(MAX_ACTION_CHARS) for a in agents}

    # What a task supplies

    def reset_task(self, rng: random.Random, task: int | str | None) -> State:
        """The state at the start of an episode. ``task``: its number in the split or its id; None draws one."""
        raise NotImplementedError

    def observation(self, state: State, agent: str) -> str:
        """All that ``agent`` may use: its role, the task, the feedback, the format of an action."""
        raise NotImplementedError

    def acting(self, state: State) -> tuple[str, ...]:
        """The agents that act next, without seeing each other's actions.

        By default all agents in a simultaneous task, and otherwise each in turn. A task that overrides
        this method returns the empty tuple when it is over.
        """
        return tuple(self._live_agents()) if self.simultaneous else (self.next_agent,)

    def apply(self, state: State, actions: Mapping[str, str]) -> tuple[State, Outcome]:
        """The state after the actions of the :meth:`acting` agents, and their result. Leaves ``state`` as it is."""
        raise NotImplementedError

    def agents_to_act(self) -> list[str]:
        """Those of the :meth:`acting` agents that have not acted yet, the selected one first."""
        return [agent for agent in self._acting if agent not in self._actions]

    def task_info(self) -> Mapping[str, Any]:
        """What every info of the episode says: the task's source, split, number and id."""
        return {}

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """What an agent's last info adds: ``success``, the same for all agents unless the task has
        sides, plus anything that the task adds."""
        return {"success": self.success}

    def expert(self, agent: str) -> str:
        """The best action of ``agent`` now, by a scripted player who may read more than the prompt."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted expert")

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The answer of a sloppy player, who makes the mistakes that people make in this task."""
        raise NoScriptedPolicyError(f"{self.metadata['name']} has no scripted noisy expert")

    def board(self) -> str:
        """The state as plain text, for a person."""
        return self.observation(self.episode, self.agent_selection)

    def picture(self) -> Board | None:
        """The state as a board of cells; None if the task has no board."""
        return None

    # PettingZoo's API

    def observation_space(self, agent: str) -> FreeText:
        return self._observation_spaces[agent]

    def action_space(self, agent: str) -> FreeText:
        return self._action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Start an episode.

        ``seed`` fixes all of it; without one, episodes follow from the last seed given.
        ``options={"task": i}`` plays task i of the split if i is a whole number (from 0), and the task
        with the id i if it is a string. Other options raise :class:`UnknownNameError`.
        """
        if seed is not None:
            self._random = random.Random(seed)
        elif self._random is None:
            self._random = random.Random()
        else:
            self._random = copy.copy(
                self._random
            )  # copied, because a fork may share this generator
        self.agents = list(self.starting_agents)
        self.turn = 0
        self.success = False
        self.next_agent = self.agents[0]
        self._actions, self._leaving = {}, ()
        self.last_infos = {}
        self._skip_agent_selection = None  # PettingZoo's; an unfinished episode may have set it
        self.episode = self.reset_task(self._random, _task_from_options(options or {}))
        self._shared_info = dict(self.task_info())
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {a: self._first_info() for a in self.agents}
        self._select_acting()
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> Observation:
        return Observation(self.observation(self.episode, agent))

    def step(self, action: str | None) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            info = self.infos[agent]
            self._was_dead_step(action)
            self.last_infos[agent] = info
            return
        if not isinstance(action, str):
            raise TypeError(f"an action is a str, got {type(action).__name__} for {agent!r}")
        self._cumulative_rewards[agent] = 0.0
        if not self._actions:
            self._clear_rewards()
        self.infos[agent] = {**self.infos[agent], "reward_components": {}, "error": None}
        self._actions[agent] = action
        if len(self._actions) < len(self._acting):
            # only this agent's info names it, or a round would cost the square of the number of agents
            self.agent_selection = self._acting[len(self._actions)]
            self.infos[self.agent_selection] = {
                **self.infos[self.agent_selection],
                "active_agent": self.agent_selection,
            }
        else:
            self._apply_actions(agent)
        if self.render_mode == "human":
            self.render()

    def state(self) -> str:
        """The global state as text, for a central critic: the observation of every agent now."""
        return "\n\n".join(
            f"[{a}]\n{self.observation(self.episode, a)}" for a in self.possible_agents
        )

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
        forked._actions = dict(self._actions)
        forked.last_infos = dict(self.last_infos)
        forked.rewards = dict(self.rewards)
        forked._cumulative_rewards = dict(self._cumulative_rewards)
        forked.terminations = dict(self.terminations)
        forked.truncations = dict(self.truncations)
        forked.infos = {a: dict(info) for a, info in self.infos.items()}
        return forked

    # Bookkeeping

    def _apply_actions(self, last: str) -> None:
        """Apply the actions of all agents that act together; ``last`` is the one that acted last."""
        actions, self._actions = self._actions, {}
        try:
            self.episode, outcome = self.apply(self.episode, actions)
        except ServiceError as error:  # the episode ends without a reward
            self.infos = {a: {**info, "failure": str(error)} for a, info in self.infos.items()}
            outcome = Outcome(done=True)
        if outcome.success is not None:
            self.success = outcome.success
        self._pay(outcome)
        self._accumulate_rewards()
        joined: list[str] = []
        if outcome.agents is not None or self._leaving:
            joined = self._change_agents(outcome.agents)
        live = self._live_agents()
        ended = outcome.done or not live
        completes_round = self._overrides_acting or self._advance_turn(
            last, live, joined, keeps_turn=outcome.keeps_turn
        )
        if ended:
            self.terminations = dict.fromkeys(self.agents, True)
        elif completes_round:
            self.turn += 1
            ended = self.turn >= self.max_turns
            if ended:
                self.truncations = dict.fromkeys(self.agents, True)
        if ended:
            self.infos = {a: {**info, **self.final_info(a)} for a, info in self.infos.items()}
        if live and not (ended and self._overrides_acting):
            self._select_acting()
        if self._leaving:
            self._deads_step_first()

    def _live_agents(self) -> list[str]:
        """``agents`` without those that have left and are still to be stepped with None."""
        if not self._leaving:
            return self.agents
        return [agent for agent in self.agents if agent not in self._leaving]

    def _advance_turn(
        self, last: str, live: Sequence[str], joined: Sequence[str], *, keeps_turn: bool
    ) -> bool:
        """Set the agent whose turn is next, in the order of the agents. Returns whether a new round begins."""
        if keeps_turn or not live:
            return False
        later = self.agents[self.agents.index(last) + 1 :]
        if self._leaving or joined:
            others = {*self._leaving, *joined}  # who joins acts from the next round on
            later = [agent for agent in later if agent not in others]
        self.next_agent = later[0] if later else live[0]
        return not later

    def _change_agents(self, agents: Collection[str] | None) -> list[str]:
        """Let agents leave and join, until those of the episode are ``agents``; returns who has joined."""
        live = self._live_agents()
        agents = live if agents is None else agents
        self._leaving = tuple(agent for agent in live if agent not in agents)
        joined = [agent for agent in agents if agent not in live]
        for agent in self._leaving:
            self.terminations[agent] = True
            self.infos[agent] = {**self.infos[agent], **self.final_info(agent)}
        for agent in joined:
            self.rewards[agent] = self._cumulative_rewards[agent] = 0.0
            self.terminations[agent] = self.truncations[agent] = False
            self.infos[agent] = self._first_info()
        present = {*self.agents, *joined}
        self.agents = [agent for agent in self.possible_agents if agent in present]
        return joined

    def _first_info(self) -> dict[str, Any]:
        return {**self._shared_info, "reward_components": {}, "error": None}

    def _pay(self, outcome: Outcome) -> None:
        """Add the outcome's reward components to the rewards and infos, and its errors to the infos."""
        team = self._weighted_team_rewards(outcome) if outcome.team else {}
        for agent in self.agents if team or outcome.local else ():
            components = {**outcome.local.get(agent, {}), **(team if agent in self.team else {})}
            if not components:
                continue
            self.rewards[agent] = sum(components.values())
            # like PettingZoo's cumulative reward: everything paid since the agent's last action
            info = self.infos[agent]
            total = dict(info["reward_components"])
            for name, value in components.items():
                total[name] = total.get(name, 0.0) + value
            self.infos[agent] = {**info, "reward_components": total}
        for agent, error in outcome.errors.items():
            self.infos[agent] = {**self.infos[agent], "error": error}

    def _weighted_team_rewards(self, outcome: Outcome) -> dict[str, float]:
        """The team reward components, weighted.

        Raises ``ValueError`` for a component that ``metadata["team_components"]`` does not list, or that has the
        name of a local component.
        """
        team = outcome.team
        if not isinstance(team, Mapping):
            team = {TEAM_COMPONENT: team} if team else {}
        local_names = {name for components in outcome.local.values() for name in components}
        for name in team:
            if name not in self.metadata["team_components"]:
                raise ValueError(
                    f"{self} pays the team component {name!r}; metadata['team_components'] does not list it"
                )
            if name in local_names:
                raise ValueError(
                    f"{self} pays {name!r} both as a team component and as an agent's own"
                )
        return {name: self.team_weight * value for name, value in team.items()}

    def _select_acting(self) -> None:
        self._set_acting(self.acting(self.episode))

    def _set_acting(self, acting: tuple[str, ...]) -> None:
        """Set the agents that act next, and select the first of them."""
        self._acting, self.agent_selection = acting, acting[0]
        self.infos = {a: {**info, "active_agent": acting[0]} for a, info in self.infos.items()}


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


def _full_signature(env: type[TextEnv]) -> inspect.Signature:
    """The signature of a class, with what it passes to its base; see :meth:`TextEnv.__init_subclass__`."""
    try:
        own = inspect.signature(env.__init__, eval_str=True)
    except NameError:  # a hint may name what is imported for type checking only
        own = inspect.signature(env.__init__)
    _, *parameters = own.parameters.values()
    rest = own.parameters.get("options")
    if rest and rest.kind is rest.VAR_KEYWORD:
        parameters[-1:] = [
            each
            for each in inspect.signature(env.__mro__[1]).parameters.values()
            if each.kind is each.KEYWORD_ONLY
            and each.default is not each.empty
            and each.name not in own.parameters
        ]
    return own.replace(parameters=parameters)


def _literal_values(hint: Any) -> tuple[Any, ...]:
    """The values of ``Literal[...]``, or of ``Literal[...] | None``; none for any other hint."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    first, *others = get_args(hint) or (None,)
    return (None, *get_args(first)) if get_origin(first) is Literal and others == [NoneType] else ()


def make_env_fns(
    raw_env: type[TextEnv],
) -> tuple[Callable[..., AECEnv], Callable[..., ParallelEnv]]:
    """What an environment's module exports as ``env`` and ``parallel_env``.

    ``env``: the AEC form, in PettingZoo's wrapper that raises on calls out of order. ``parallel_env``:
    its parallel form, made as the registry makes it. Both raise ``UnknownNameError`` for an argument
    that ``raw_env`` does not have, and ``ConfigError`` for one that must be a number and is not.
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
    parameters = inspect.signature(raw_env).parameters
    for name, value in given.items():
        hint = parameters[name].annotation
        kinds = get_args(hint) or (hint,)
        if all(kind in _NUMBERS for kind in kinds):
            types, type_names = zip(*(_NUMBERS[kind] for kind in kinds), strict=True)
            if not isinstance(value, types):
                raise ConfigError(
                    f"{what} {name!r} must be {' or '.join(type_names)}, got {value!r:.80}"
                )

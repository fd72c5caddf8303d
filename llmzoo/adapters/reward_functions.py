"""Reward functions as environments: CoMLRL's with their formatters, and TRL's for one agent."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pettingzoo import AECEnv

from llmzoo.adapters.reward_calls import (
    Formatter,
    Formatters,
    RewardCall,
    Transition,
    check_transition,
    external_prompts,
    function_name,
)
from llmzoo.envs.base import FastOrderEnforcingWrapper, Outcome, TextEnv, find_length_errors
from llmzoo.envs.tasks import TaskList, describe_task
from llmzoo.envs.user_tasks import TaskRow, TaskSource, load_tasks
from llmzoo.errors import ConfigError


def from_reward_function(
    reward_func: Callable[..., Any],
    *,
    tasks: TaskSource,
    formatters: Formatter | Sequence[Formatter] | None = None,
    agents: int | Sequence[str] = 2,
    turns: int = 1,
    external_transition: Transition | None = None,
    external_prompt_passthrough: bool = False,
    success: float = 1.0,
    split: str = "train",
    render_mode: str | None = None,
) -> AECEnv:
    """An environment whose agents answer at the same time and share the reward of a function.

    ``reward_func``: called once per turn for a joint answer, see
    :class:`llmzoo.adapters.reward_calls.RewardCall`. ``tasks``: rows with columns (a text stands
    for ``{"prompt": text}``), or a ``.jsonl`` file of them, split into train and test by their
    content; or ``{"train": rows, "test": rows}``. ``formatters``: see
    :class:`llmzoo.adapters.reward_calls.Formatters`. ``agents``: their number or names.
    ``external_transition``: returns the prompts of the next turn; needed if ``turns`` is above 1.
    ``success``: the lowest reward of the last turn that counts as success.

    Raises :class:`ConfigError` for settings that contradict each other. The environment raises
    :class:`llmzoo.adapters.reward_calls.RewardFunctionError` if a function raises or returns no
    finite number. An answer of over 20,000 characters counts as empty.
    """
    names = [f"agent_{i}" for i in range(agents)] if isinstance(agents, int) else list(agents)
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"agents must be at least 1, each with a name of its own; got {agents}")
    if (external_transition is None) != (turns == 1):
        raise ConfigError(
            f"turns={turns}: external_transition returns the prompts of the turns after the first, so "
            "set it if turns is above 1, and leave it out otherwise"
        )
    if external_transition is not None:
        check_transition(external_transition)
    return FastOrderEnforcingWrapper(
        RewardFunctionEnv(
            reward_func,
            load_tasks(tasks, split),
            Formatters(formatters, names, passthrough=external_prompt_passthrough),
            names,
            turns,
            external_transition,
            success,
            render_mode,
        )
    )


@dataclass(frozen=True, slots=True)
class RewardEpisode:
    """An episode so far, with each agent's prompts and answers, including the current turn's."""

    row: TaskRow
    prompts: tuple[tuple[str, ...], ...]
    answers: tuple[tuple[str, ...], ...]


class RewardFunctionEnv(TextEnv[RewardEpisode]):
    """The environment of :func:`from_reward_function`."""

    def __init__(
        self,
        reward_func: Callable[..., Any],
        tasks: TaskList[TaskRow],
        formatters: Formatters,
        agents: list[str],
        turns: int,
        transition: Transition | None,
        success: float,
        render_mode: str | None,
    ):
        several = len(agents) > 1
        super().__init__(agents, simultaneous=several, max_turns=turns, render_mode=render_mode)
        name = function_name(reward_func).rpartition(".")[2]
        self.metadata = {
            **self.metadata,
            "name": f"{name}_v0" if name.isidentifier() else "reward_v0",
            "team_and_local": False,
        }
        self.tasks = tasks
        self._reward = RewardCall(reward_func, len(agents), list(tasks[0].columns))
        self._formatters = formatters
        self._transition = transition
        self._success_threshold = success

    def reset_task(self, rng: random.Random, task: int | str | None) -> RewardEpisode:
        row = self.tasks.sample(rng) if task is None else self.tasks[task]
        first = self._formatters.first(copy.deepcopy(row.columns))
        return RewardEpisode(row, tuple((prompt,) for prompt in first), ((),) * len(first))

    def observation(self, state: RewardEpisode, agent: str) -> str:
        return state.prompts[self.possible_agents.index(agent)][-1]

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, self.episode.row.text, self.episode.row)

    def apply(
        self, state: RewardEpisode, actions: Mapping[str, str]
    ) -> tuple[RewardEpisode, Outcome]:
        errors = find_length_errors(actions)
        accepted = ["" if agent in errors else actions[agent] for agent in self.possible_agents]
        answers = tuple((*own, text) for own, text in zip(state.answers, accepted, strict=True))
        current_prompts = [own[-1] for own in state.prompts]
        columns = copy.deepcopy(dict(state.row.columns))
        reward = self._reward(current_prompts, accepted, columns)
        last = self.turn + 1 == self.max_turns
        prompts = state.prompts
        if self._transition is not None and not last:
            transition_prompts = external_prompts(self._transition, columns, prompts, answers)
            next_prompts = self._formatters.later(columns, transition_prompts)
            prompts = tuple((*own, text) for own, text in zip(prompts, next_prompts, strict=True))
        state = replace(state, prompts=prompts, answers=answers)
        success = last and reward >= self._success_threshold
        return state, Outcome(team=reward, done=last, errors=errors, success=success)

"""Our environments behind rLLM's environment interface.

:class:`RllmEnv` implements ``rllm.environments.base.base_env.BaseEnv`` and is registered as one if
rLLM is installed; pass it as ``env_class``. rLLM's agent plays one of the agents, and policies play the others.
:func:`make_rows` lists the tasks of a split, and ``from_dict`` makes an environment of each.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.others import Others, fill_other_agents, with_shared_lock
from llmzoo.adapters.single_agent import ControlledAgent, SingleAgentEnv
from llmzoo.errors import ConfigError
from llmzoo.evaluation.collect import refuse_fallback
from llmzoo.policies.base import Policy
from llmzoo.thoughts import strip_thoughts

_COLUMNS = ("env_id", "agent", "others", "split", "seed", "task", "args")


class RllmEnv:
    """One agent of an environment, in one task.

    ``others``: who plays the other agents (:func:`llmzoo.adapters.others.fill_other_agents`); named
    policies are loaded once for all environments. ``task``: its number in the split (None: the seed
    draws it). ``seed``: fixes everything random in the episode, including the other agents, so all
    samples of a group face the same. ``args``: arguments of the environment.

    Raises :class:`ConfigError` or :class:`llmzoo.errors.UnknownNameError` for unknown names
    and invalid settings.
    """

    def __init__(
        self,
        env_id: str,
        *,
        agent: str | None = None,
        others: Others = None,
        split: str = "train",
        seed: int = 0,
        task: int | None = None,
        args: Mapping[str, Any] | None = None,
    ):
        controlled = ControlledAgent(_make(env_id, split, args), agent)
        refuse_fallback(controlled.env, env_id)
        self.idx: Any = None  # rLLM numbers its environments
        self._game = SingleAgentEnv(controlled, _policies(others, tuple(controlled.others)))
        self._seed = seed
        self._options = None if task is None else {"task": task}

    def reset(self) -> tuple[str, dict[str, Any]]:
        """Start the episode, the same one every time. Returns the first observation and its info."""
        return self._game.reset(seed=self._seed, options=self._options)

    def step(self, action: str) -> tuple[str, float, bool, dict[str, Any]]:
        """Answer, and play until the agent's next turn or its end.

        Only what follows the model's thoughts is the answer; an unclosed thought is none.

        Returns the observation, the reward since the last answer, whether the episode is over, and
        the info, whose ``truncated`` says whether a time limit ended it.
        """
        observation, reward, terminated, truncated, info = self._game.step(
            strip_thoughts(action) or ""
        )
        return observation, reward, terminated or truncated, {**info, "truncated": truncated}

    def close(self) -> None:
        self._game.close()

    @property
    def aec(self) -> AECEnv:
        """The environment in its present state, for our policies."""
        return self._game.agent.env

    @property
    def supports_parallel_step(self) -> bool:
        """False: one answer of the model is never several steps at once."""
        return False

    @staticmethod
    def is_multithread_safe() -> bool:
        """True: environments share no state, so rLLM may step them in parallel threads."""
        return True

    @staticmethod
    def from_dict(info: Mapping[str, Any]) -> RllmEnv:
        """The environment of a row. Columns that :func:`make_rows` does not have are ignored."""
        if "env_id" not in info:
            raise ConfigError(f"a row names its environment in env_id; this has {sorted(info)}")
        return RllmEnv(**{name: info[name] for name in _COLUMNS if name in info})


with suppress(ModuleNotFoundError):  # rLLM's engine checks the type of environments
    importlib.import_module("rllm.environments.base.base_env").BaseEnv.register(RllmEnv)


def make_rows(
    env_id: str,
    tasks: int,
    *,
    agent: str | None = None,
    others: str | Mapping[str, str] | None = None,
    split: str = "train",
    seed: int = 0,
    args: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The first ``tasks`` tasks of a split, or all if it has fewer. Task i gets the seed ``seed +
    i``.

    The columns are :class:`RllmEnv`'s arguments and a unique ``uid``.
    """
    if tasks < 1:
        raise ConfigError(f"tasks must be at least 1, got {tasks}")
    env = _make(env_id, split, args)
    refuse_fallback(env, env_id)
    controlled = ControlledAgent(env, agent)
    env.reset(seed=seed)
    available_tasks = env.infos[controlled.agent].get("tasks")
    shared = {
        "env_id": env_id,
        "agent": controlled.agent,
        "others": dict(others) if isinstance(others, Mapping) else others,
        "split": split,
        "args": dict(args or {}),
    }
    return [
        {"uid": f"{env_id}/{split}/{i}", "task": i, "seed": seed + i, **shared}
        for i in range(tasks if available_tasks is None else min(tasks, available_tasks))
    ]


def _make(env_id: str, split: str, args: Mapping[str, Any] | None) -> AECEnv:
    return registry.make(env_id, **{**(args or {}), "split": split})


def _policies(others: Others, agents: tuple[str, ...]) -> dict[str, Policy]:
    if isinstance(others, str):
        others = dict.fromkeys(agents, others)
    if isinstance(others, Mapping):
        names = {agent: other for agent, other in others.items() if isinstance(other, str)}
        if len(names) == len(others):
            return _load_policies(tuple(sorted(names.items())), agents)
    return with_shared_lock(fill_other_agents(others, agents))


@cache
def _load_policies(
    names: tuple[tuple[str, str], ...], agents: tuple[str, ...]
) -> dict[str, Policy]:
    return with_shared_lock(fill_other_agents(dict(names), agents))

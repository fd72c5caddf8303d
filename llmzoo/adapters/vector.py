"""Many single agents at once, as a ``gymnasium.vector.VectorEnv`` for text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray
from pettingzoo import AECEnv

from llmzoo.adapters.others import Others, fill_other_agents
from llmzoo.adapters.single_agent import (
    ControlledAgent,
    SingleAgentEnv,
    TurnResult,
    make_aec_env,
    run_env_rollouts,
)
from llmzoo.envs.argument_checks import check_choice
from llmzoo.errors import ConfigError
from llmzoo.policies.base import Policy

Texts = tuple[str, ...]
Bools = NDArray[np.bool_]


def vector(
    env: str | Callable[..., AECEnv],
    num_envs: int,
    *,
    agent: str | None = None,
    others: Others = None,
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    **env_args: Any,
) -> SingleAgentVectorEnv:
    """``num_envs`` single agents. The other arguments are those of :func:`.single_agent.single_agent`."""
    if num_envs < 1:
        raise ConfigError(f"num_envs must be at least 1, got {num_envs}")
    if isinstance(env, AECEnv):
        raise ConfigError(f"{env} is one environment: give an id, or a function that makes them")
    controlled = [ControlledAgent(make_aec_env(env, **env_args), agent) for _ in range(num_envs)]
    return SingleAgentVectorEnv(
        controlled, fill_other_agents(others, controlled[0].others), autoreset_mode=autoreset_mode
    )


class SingleAgentVectorEnv(VectorEnv[Texts, Sequence[str | None], NDArray[Any]]):
    """Agents that act at once, each in its own environment. ``policies`` play the others.

    Each behaves exactly as a :class:`.single_agent.SingleAgentEnv` alone. Observations and actions are
    tuples of ``num_envs`` texts of any length (arrays and lists of actions work too). Rewards are
    float64 and endings bool, each ``[num_envs]``. Infos have the form of :func:`batch_infos`. Policies
    answer all waiting environments in one call.

    ``autoreset_mode``, as Gymnasium defines it: ``NextStep`` starts the next episode at the step
    after the end and ignores that step's action; ``SameStep`` starts it at once, with the end in
    ``infos["final_obs"]`` and ``infos["final_info"]``; ``Disabled`` leaves it to
    ``reset(options={"reset_mask": mask})``. Automatic episodes follow from the environment's last
    seed.
    """

    def __init__(
        self,
        controlled: Sequence[ControlledAgent],
        policies: Mapping[str, Policy],
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    ):
        modes = [mode.value for mode in AutoresetMode]
        if not isinstance(autoreset_mode, AutoresetMode):
            check_choice("autoreset_mode", autoreset_mode, modes)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.envs = [SingleAgentEnv(agent, policies) for agent in controlled]
        self.num_envs = len(self.envs)
        first = self.envs[0]
        self.metadata = {**first.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = first.render_mode
        self.single_observation_space = first.observation_space
        self.single_action_space = first.action_space
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self._observations = [""] * self.num_envs
        self._over = np.ones(
            self.num_envs, dtype=np.bool_
        )  # environments without a running episode
        self._begun = False

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Texts, dict[str, Any]]:
        """Start an episode in every environment, or in those of ``options["reset_mask"]``.

        ``seed``: an integer s gives environment i the seed s + i; a sequence gives one for each.
        The other ``options`` go to the environments. Raises ``ValueError`` or ``TypeError`` for a
        mask or seeds of the wrong form.
        """
        given = dict(options or {})
        mask = self._mask(given.pop("reset_mask", None))
        if isinstance(seed, int | np.integer):
            seed = [int(seed) + i for i in range(self.num_envs)]
        seeds = [None] * self.num_envs if seed is None else list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} environments")
        chosen = [int(i) for i in np.flatnonzero(mask)]
        results = self._begin(chosen, seeds, given or None)
        return tuple(self._observations), batch_infos([self._info(results, i) for i in self._all])

    def step(
        self, actions: Sequence[str | None]
    ) -> tuple[Texts, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Answer in every environment. Environments that are being reset ignore their action.

        Raises ``ValueError`` for a wrong number of actions. Raises ``gymnasium.error.ResetNeeded``
        before the first reset, and for an episode that is over if no autoreset applies.
        """
        if len(actions) != self.num_envs:
            raise ValueError(f"{len(actions)} actions for {self.num_envs} environments")
        was_over = self._over.copy()
        if was_over.any() and (
            not self._begun or self.autoreset_mode is not AutoresetMode.NEXT_STEP
        ):
            ended = ", ".join(map(str, np.flatnonzero(was_over)))
            raise ResetNeeded(f"environments {ended} are over or have not begun: reset them first")
        rollouts = [
            env.reset_rollout(None, None) if needs_reset else env.step_rollout(action)  # type: ignore[arg-type]
            for env, needs_reset, action in zip(self.envs, was_over, actions, strict=True)
        ]
        results = dict(enumerate(run_env_rollouts(rollouts, self.envs)))
        rewards = np.zeros(self.num_envs)
        terminations = np.zeros(self.num_envs, dtype=np.bool_)
        truncations = np.zeros(self.num_envs, dtype=np.bool_)
        for i, result in results.items():
            self._observations[i] = result.observation
            if not was_over[i]:
                rewards[i] = result.reward
                terminations[i], truncations[i] = result.terminated, result.truncated
        self._over = terminations | truncations
        infos = [dict(results[i].info) for i in self._all]
        if self.autoreset_mode is AutoresetMode.SAME_STEP and self._over.any():
            ended_now = [int(i) for i in np.flatnonzero(self._over)]
            nothing: list[int | None] = [None] * self.num_envs
            for i, started in self._begin(ended_now, nothing, None).items():
                end = {"final_obs": results[i].observation, "final_info": results[i].info}
                infos[i] = {**end, **started.info}
        return (
            tuple(self._observations),
            rewards,
            terminations,
            truncations,
            batch_infos(infos),
        )

    def render(self) -> tuple[Any, ...] | None:
        """The environments' pictures."""
        return tuple(env.render() for env in self.envs)

    def close_extras(self, **kwargs: Any) -> None:
        for env in self.envs:
            env.close()

    @property
    def _all(self) -> range:
        return range(self.num_envs)

    def _begin(
        self, chosen: Sequence[int], seeds: Sequence[int | None], options: dict[str, Any] | None
    ) -> dict[int, TurnResult]:
        """Start an episode in the environments ``chosen``."""
        rollouts = [self.envs[i].reset_rollout(seeds[i], options) for i in chosen]
        results = dict(zip(chosen, run_env_rollouts(rollouts, self.envs), strict=True))
        for i, result in results.items():
            self._observations[i] = result.observation
            self._over[i] = False
        self._begun = self._begun or not self._over.any()
        return results

    @staticmethod
    def _info(results: Mapping[int, TurnResult], i: int) -> dict[str, Any] | None:
        return results[i].info if i in results else None

    def _mask(self, mask: Any) -> Bools:
        if mask is None:
            return np.ones(self.num_envs, dtype=np.bool_)
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
            raise TypeError(
                f"options['reset_mask'] must be a numpy array of bool, got {mask!r:.80}"
            )
        if mask.shape != (self.num_envs,):
            raise ValueError(
                f"options['reset_mask'] has shape {mask.shape}, not ({self.num_envs},)"
            )
        if not mask.any():
            raise ValueError("options['reset_mask'] chooses no environment")
        return mask


_INT64 = np.iinfo(np.int64)


def batch_infos(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """One dictionary of arrays, each ``[len(infos)]``. None stands for an environment without an
    info.

    For every key, the array ``_key`` (bool) marks the environments that have it; the others hold 0,
    False or None. Nested dictionaries are batched recursively. Numbers get a common type that keeps
    every value, whereas in Gymnasium's own form the first environment decides. Everything else,
    text included, becomes an array of objects.
    """
    keys = dict.fromkeys(key for info in infos if info is not None for key in info)
    batch: dict[str, Any] = {}
    for key in keys:
        has = np.array([info is not None and key in info for info in infos])
        values = [info[key] for info in infos if info is not None and key in info]
        if key != "final_obs" and all(isinstance(value, dict) for value in values):
            batch[key] = batch_infos(
                [info.get(key) if info is not None else None for info in infos]
            )
        else:
            batch[key] = _column(values, has)
        batch[f"_{key}"] = has
    return batch


def _column(values: Sequence[Any], has: NDArray[np.bool_]) -> NDArray[Any]:
    if all(isinstance(value, bool | np.bool_) for value in values):
        column = np.zeros(len(has), dtype=np.bool_)
    elif any(isinstance(value, bool | np.bool_) for value in values):
        column = np.full(len(has), None, dtype=object)
    elif all(_is_int64(value) for value in values):
        column = np.zeros(len(has), dtype=np.int64)
    elif all(isinstance(value, float | np.floating) or _is_int64(value) for value in values):
        column = np.zeros(len(has), dtype=np.float64)
    elif _same_arrays(values):
        column = np.zeros((len(has), *values[0].shape), dtype=values[0].dtype)
    else:
        column = np.full(len(has), None, dtype=object)
    for index, value in zip(np.flatnonzero(has), values, strict=True):
        column[index] = value
    return column


def _is_int64(value: Any) -> bool:
    return isinstance(value, int | np.integer) and _INT64.min <= int(value) <= _INT64.max


def _same_arrays(values: Sequence[Any]) -> bool:
    """Whether these are arrays of one shape and type, other than text."""
    first = values[0]
    return all(
        isinstance(value, np.ndarray)
        and value.shape == first.shape
        and value.dtype == first.dtype
        and value.dtype.kind not in "SUO"
        for value in values
    )

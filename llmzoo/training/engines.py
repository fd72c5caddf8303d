"""Starts the engine of a run from its settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo.distributed import ranks
from llmzoo.engine.base import Engine
from llmzoo.engine.curriculum import Curriculum, count_curriculum_tasks
from llmzoo.engine.curriculum_config import curriculum_args
from llmzoo.engine.local import LocalEngine
from llmzoo.engine.off_policy import OffPolicyEngine
from llmzoo.engine.opponents import Opponents
from llmzoo.engine.opponents_config import opponent_args
from llmzoo.engine.ray import ray_args
from llmzoo.engine.ray.run_spec import RunSpec
from llmzoo.envs.sides import list_sides
from llmzoo.errors import ConfigError
from llmzoo.fields import shared_fields
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training.config import FitConfig


@contextmanager
def open_engine(
    config: FitConfig,
    learner: Learner,
    policies: Mapping[str, TransformersPolicy],
    agent_policies: Mapping[str, Policy],
    env_args: Mapping[str, Any],
    folder: Path,
    example: AECEnv,
) -> Iterator[Engine]:
    """The engine of a run. The processes that it starts end with the context.

    ``policies``: the learning policies. ``env_args``: all arguments of the environment except its split.
    ``folder``: the run's folder. ``example``: an environment of the run.
    """
    if config.engine == "local":
        engine_class = OffPolicyEngine if config.max_off_policy_steps else LocalEngine
        pool = None
        if args := opponent_args(config.opponents, config.opponents_args):
            pool = Opponents(
                config.opponents,
                args,
                policies,
                agent_policies,
                list_sides(example),
                folder / "opponents",
            )
        curriculum = None
        if curriculum_options := curriculum_args(config.curriculum, config.curriculum_args):
            tasks = count_curriculum_tasks(example, curriculum_options)
            curriculum = Curriculum(config.curriculum, curriculum_options, tasks)
        yield engine_class(
            learner,
            policies,
            agent_policies,
            total_steps=config.steps,
            cohorts=config.cohorts,
            workers=config.workers,
            opponents=pool,
            curriculum=curriculum,
        )
        return
    from llmzoo.engine.ray.cluster import import_ray

    import_ray()
    from llmzoo.engine.ray.engine import ray_engine

    run_spec = _build_run_spec(config, list(agent_policies), env_args)
    ray_options = ray_args(config.engine_args)
    lag = config.max_off_policy_steps
    with ray_engine(
        run_spec, ray_options, learner, policies, agent_policies, max_off_policy_steps=lag
    ) as engine:
        yield engine


def _build_run_spec(config: FitConfig, agents: list[str], env_args: Mapping[str, Any]) -> RunSpec:
    """What the processes of a Ray engine need for setting up the run."""
    settings = {
        **shared_fields(config, RunSpec),
        "env_args": {"split": "train", **env_args},
        "policy_loader": "llmzoo.runs.policy_loading:load_policies",
        "agents": agents,
        "settings": config.agent_settings(),
        "total_steps": config.steps,
        "folder": os.getcwd(),
    }
    return RunSpec(**settings)


def check_engine(
    config: FitConfig,
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    policies: Mapping[str, Policy] | None,
) -> None:
    """Reject Ray inside torchrun, and objects that its processes would have to build themselves."""
    if config.engine == "local":
        return
    if ranks.world_size() > 1:
        raise ConfigError(
            "engine='ray' starts its own processes: run it without torchrun or accelerate launch, "
            "and set update_ranks in engine_args"
        )
    objects: Sequence[tuple[Any, str, str]] = (
        (learner, "a learner given as an object", "its name or its path, 'module:Class'"),
        (env, "an environment given as a function", "its id or its path, 'module:function'"),
    )
    for value, what, instead in objects:
        if not isinstance(value, str):
            raise ConfigError(
                f"engine='ray' builds its objects in each process and cannot use {what}: give {instead}"
            )
    if policies is not None:
        raise ConfigError(
            "engine='ray' builds its policies in each process and cannot use policies given as objects: "
            "give the settings model, policies and agent_args"
        )

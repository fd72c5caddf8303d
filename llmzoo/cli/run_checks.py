"""Checks the settings of a run, or of all its stages, before training starts and before any file is written."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, get_type_hints

from llmzoo import registry
from llmzoo.cli.arguments import check_agent_learners, check_env_args, check_learner_args
from llmzoo.cli.options import check_types
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.evaluation.collect import count_tasks
from llmzoo.learners import env_defaults
from llmzoo.runs import run_folder
from llmzoo.runs.named_policies import check_model
from llmzoo.runs.policy_plans import SHARED, AgentPlan, plan_policies, policy_kind
from llmzoo.training.config import FitConfig


def check_run(config: FitConfig, *, saved: bool = False) -> dict[str, AgentPlan]:
    """Check the settings of a run, and return the plan of every agent.

    Raises :class:`ConfigError` for unknown environments, learners, arguments, splits, agents and
    trackers, and for numbers out of range. ``saved``: the settings come from a run folder, whose
    arguments were checked against their types when that run started.
    """
    where = "a run trains on the train split and is evaluated on --eval_split"
    check_env_args(config.env, config.env_args, split=where, saved=saved)
    if config.eval_tasks != "all" and config.eval_tasks < 1:
        raise ConfigError(f"eval_tasks must be at least 1 or all, got {config.eval_tasks}")
    if config.eval_every < 0:
        raise ConfigError(f"eval_every must be at least 0, got {config.eval_every}")
    check_learner_args(config.learner, config.learner_args, saved=saved)
    check_agent_learners(config.learner, config.agent_args)
    try:
        settings = config.agent_settings()
    except ValueError as error:
        raise ConfigError(str(error)) from error
    agents = _env_agents(config)
    arrangements = ("shared", "separate", "lora", *agents)
    if isinstance(config.policies, str) and config.policies not in arrangements:
        raise UnknownNameError("policies", config.policies, arrangements)
    planned = plan_policies(agents, settings)
    # these import torch, so the checks that do not need it come first
    from llmzoo.learners.make import build_learner
    from llmzoo.training.tracking import check_trackers

    build_learner(config.learner, config.learner_args, config.agent_args)
    check_trackers(config.trackers)
    return planned


def _env_agents(config: FitConfig) -> list[str]:
    """The agents of the environment, made with the arguments that the learner needs.

    Also checks that the environment has ``eval_split``, and a limited number of tasks in it if
    ``eval_tasks`` is "all".
    """
    needed = env_defaults(config.learner)
    env_args = {**needed, **config.env_args}
    try:
        env = registry.make(config.env, **env_args)
    except TypeError as error:
        if not needed:
            raise
        needed_text = ", ".join(f"{name}={value!r}" for name, value in needed.items())
        raise ConfigError(
            f"learner {config.learner!r} needs an environment with {needed_text}, which {config.env} "
            f"does not accept ({error})"
        ) from error
    try:
        held_out = registry.make(config.env, **{**env_args, "split": config.eval_split})
        if config.eval_tasks == "all":
            # raises if the number of tasks is unlimited
            count_tasks(held_out, config.env, "all", config.seed, numbered=True)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{config.env} with eval_split={config.eval_split}: {error}") from error
    return list(env.possible_agents)


def check_stage_types(stages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Check the settings of each stage against their types, and return them.

    Raises :class:`ConfigError` also if there are no stages.
    """
    if not stages:
        raise ConfigError("stages must have at least one mapping of settings, got an empty list")
    hints = get_type_hints(FitConfig)
    return [
        check_types(hints, stage, f"setting of stage {number}")
        for number, stage in enumerate(stages, start=1)
    ]


def check_stages(
    stages: Sequence[Mapping[str, Any]], env: str, common: Mapping[str, Any], out: Path
) -> None:
    """Check all stages before the first one starts.

    ``common``: settings of all stages, which the settings of a stage override. ``out``: the folder
    with the run folders of the stages.

    Raises :class:`ConfigError` for whatever :func:`check_run` refuses, for a model that cannot be
    found, for an agent whose model the previous stage does not train, and for a stage that has
    already finished with different settings.
    """
    from llmzoo.training.stages import merge_stage, stage_folder

    previous_plans: dict[str, AgentPlan] = {}
    carried_over: dict[str, str] = {}  # the setting "model": the run folder of the previous stage
    for number, stage in enumerate(stages, start=1):
        settings = {**merge_stage(number, stage, common), **carried_over, "env": env}
        try:
            config = FitConfig(**settings)
            plans = check_run(config)
            if number > 1:
                _check_starting_models(
                    plans, previous_plans, config.model, previous_stage=f"stage {number - 1}"
                )
            sources = {plan.source for plan in plans.values()} - {*carried_over.values()}
            for source in sorted(sources):
                if policy_kind(source) == "model":
                    check_model(source, trust_remote_code=config.trust_remote_code)
        except ConfigError as error:
            raise ConfigError(f"stage {number}: {error}") from error
        folder = stage_folder(out, number, config.learner)
        # not compared: the previous stage's folder, whose path may be relative or absolute, and
        # trust_remote_code, a permission that each command has to give
        _check_finished_stage(folder, config, without={*carried_over, "trust_remote_code"})
        previous_plans, carried_over = plans, {"model": str(folder)}


def _check_starting_models(
    plans: Mapping[str, AgentPlan],
    previous_plans: Mapping[str, AgentPlan],
    model: str,
    *,
    previous_stage: str,
) -> None:
    """Check that the previous stage leaves a model for each agent that starts from its run folder.

    ``model``: that run folder. ``previous_stage``: names the previous stage in error messages.
    """
    trained = {plan.name for plan in previous_plans.values() if plan.learns}
    trains = f"{previous_stage} trains {', '.join(sorted(trained))}"
    starts: dict[str, str] = {}  # the name of the trained policy that each agent starts from
    for agent, plan in plans.items():
        if plan.source == model:
            previous = previous_plans.get(agent)
            # an agent that was not trained can only start from a policy shared by all agents
            starts[agent] = previous.name if previous and previous.learns else SHARED
            if starts[agent] not in trained:
                raise ConfigError(
                    f"{trains} and leaves no model for {agent!r}: set agent_args.{agent}.policy in both "
                    f"stages, and agent_args.{agent}.frozen in each stage that should not train it"
                )
    for agent, start in starts.items():
        plan = plans[agent]
        for other in starts:
            if starts[other] == start:
                continue
            shared_by = ""  # the setting by which both agents start from the same weights
            if plans[other].name == plan.name:
                shared_by = (
                    "policies='shared'" if plan.name == SHARED else f"the model {plan.name!r}"
                )
            elif plan.adapter and plans[other].adapter and plans[other].base == plan.base:
                shared_by = "policies='lora'"
                if any(one.adapter for one in previous_plans.values()):
                    shared_by = ""  # each adapter of the previous stage is trained further
            if shared_by:
                raise ConfigError(
                    f"{trains} as separate models, but {shared_by} needs one model to start from: use "
                    f"{shared_by} in both stages"
                )


def _check_finished_stage(folder: Path, config: FitConfig, *, without: Collection[str]) -> None:
    """Refuse a stage that has already finished with different settings, except those in ``without``."""
    if not (folder / "after.json").exists():  # the evaluation at the end of a run
        return
    saved = run_folder.require_config(folder)
    wanted = run_folder.as_json(asdict(config))
    changed = run_folder.changed_settings(
        run_folder.without_self_play_defaults(saved, wanted), wanted, without=without
    )
    if changed:
        raise ConfigError(
            f"{folder} has already finished with different settings ({', '.join(changed)}): choose "
            "another --out"
        )

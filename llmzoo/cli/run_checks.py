"""Checks of whole runs, before anything long begins and before anything is written."""

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
    """The plan of every agent of a run.

    Refuses unknown environments, learners, arguments, splits, agents and trackers, and numbers out
    of range. ``saved``: the settings come from a run folder.
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
    # what imports torch comes after cheaper mistakes
    from llmzoo.learners.make import build_learner
    from llmzoo.training.tracking import check_trackers

    build_learner(config.learner, config.learner_args, config.agent_args)
    check_trackers(config.trackers)
    return planned


def _env_agents(config: FitConfig) -> list[str]:
    """The agents of the environment as the learner will have it made."""
    needed = env_defaults(config.learner)
    env_args = {**needed, **config.env_args}
    try:
        env = registry.make(config.env, **env_args)
    except TypeError as error:
        if not needed:
            raise
        needed_text = ", ".join(f"{name}={value!r}" for name, value in needed.items())
        raise ConfigError(
            f"learner {config.learner!r} makes its environment with {needed_text}, and {config.env} does "
            f"not take that ({error})"
        ) from error
    try:
        held_out = registry.make(config.env, **{**env_args, "split": config.eval_split})
        if config.eval_tasks == "all":
            count_tasks(held_out, config.env, "all", config.seed, numbered=True)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{config.env} with eval_split={config.eval_split}: {error}") from error
    return list(env.possible_agents)


def check_stage_types(stages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The settings of stages, each checked against its type; the list must hold one at least."""
    if not stages:
        raise ConfigError("stages is a list of at least one mapping of settings")
    hints = get_type_hints(FitConfig)
    return [
        check_types(hints, stage, f"setting of stage {number}")
        for number, stage in enumerate(stages, start=1)
    ]


def check_stages(
    stages: Sequence[Mapping[str, Any]], env: str, common: Mapping[str, Any], out: Path
) -> None:
    """Refuse, before the first stage, what a later one could not do.

    That is what :func:`check_run` refuses, a model that cannot be found or that the stage before
    does not train, and a stage that has ended with other settings than are asked for now.
    """
    from llmzoo.training.stages import merge_stage, stage_folder

    before: dict[str, AgentPlan] = {}
    carried_over: dict[str, str] = {}  # the model that the stage before will leave
    for number, stage in enumerate(stages, start=1):
        settings = {**merge_stage(number, stage, common), **carried_over, "env": env}
        try:
            config = FitConfig(**settings)
            plans = check_run(config)
            if number > 1:
                _check_start(plans, before, config.model, f"stage {number - 1}")
            sources = {plan.source for plan in plans.values()} - {*carried_over.values()}
            for source in sorted(sources):
                if policy_kind(source) == "model":
                    check_model(source, trust_remote_code=config.trust_remote_code)
        except ConfigError as error:
            raise ConfigError(f"stage {number}: {error}") from error
        folder = stage_folder(out, number, config.learner)
        # the folder of the stage before can be written in several ways
        _check_finished_stage(folder, config, without={*carried_over, "trust_remote_code"})
        before, carried_over = plans, {"model": str(folder)}


def _check_start(
    plans: Mapping[str, AgentPlan], before: Mapping[str, AgentPlan], model: str, earlier: str
) -> None:
    """Check that each agent finds its start in ``model``, which the stage ``earlier`` will leave."""
    learned = {plan.name for plan in before.values() if plan.learns}
    trains = f"{earlier} trains {', '.join(sorted(learned))}"
    starts: dict[str, str] = {}
    for agent, plan in plans.items():
        if plan.source == model:
            earlier_plan = before.get(agent)  # none: the stage before trains other agents
            starts[agent] = earlier_plan.name if earlier_plan and earlier_plan.learns else SHARED
            if starts[agent] not in learned:
                raise ConfigError(
                    f"{trains}, and leaves no model for {agent!r}: give that agent one of its own "
                    "in both stages, with agent_args (policy, and frozen where it does not learn)"
                )
    for agent, start in starts.items():
        plan = plans[agent]
        for other in starts:
            if starts[other] == start:
                continue
            what = ""
            if plans[other].name == plan.name:
                what = "policies='shared'" if plan.name == SHARED else f"the model {plan.name!r}"
            elif plan.adapter and plans[other].adapter and plans[other].base == plan.base:
                what = "policies='lora'"
                if any(one.adapter for one in before.values()):
                    what = ""  # adapters stay adapters
            if what:
                raise ConfigError(
                    f"{trains} apart, and {what} starts from one model: use it in both"
                )


def _check_finished_stage(folder: Path, config: FitConfig, *, without: Collection[str]) -> None:
    """Refuse a stage that is there already, to its end, but of other settings."""
    if not (folder / "after.json").exists():
        return
    saved = run_folder.require_config(folder)
    wanted = run_folder.as_json(asdict(config))
    other = run_folder.changed_settings(
        run_folder.without_self_play_defaults(saved, wanted), wanted, without=without
    )
    if other:
        raise ConfigError(
            f"{folder} has ended with other settings ({', '.join(other)}): choose another --out"
        )

"""Loads the policy of every agent of a run, and the samplers of the learning policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError
from llmzoo.files import read_json_object
from llmzoo.models.decode import Sampler
from llmzoo.models.lora import is_adapter
from llmzoo.names import matches_an_agent
from llmzoo.policies import check_model, load, load_model, run_models
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.base import Policy, PolicyRequest, ScriptedPolicy
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, Chat, LoadSettings, Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.policies.vllm.config import TransformersArgs, is_server, sampler_config
from llmzoo.policies.vllm.sampler import attach_samplers
from llmzoo.runs import run_folder
from llmzoo.runs.policy_plans import OTHERS, AgentPlan, plan_policies, policy_kind

LearningPolicies = dict[str, TransformersPolicy]  # the learning policies, by name
# keys of a saved adapter's configuration that are not options for creating one
_METADATA_FIELDS = {
    *("task_type", "peft_type", "auto_mapping", "peft_version", "base_model_name_or_path"),
    *("revision", "inference_mode"),
}


def _fail_if_played(request: PolicyRequest) -> str:
    raise AssertionError(f"{request.agent} is played in another process")


_PLAYED_ELSEWHERE: Policy = ScriptedPolicy(_fail_if_played, name="elsewhere")


def load_policies(
    agents: Sequence[str], settings: AgentSettings, *, only: str | None = None
) -> tuple[dict[str, Policy], LearningPolicies]:
    """The policy of every agent, and the learning policies.

    ``only``: load just the policy with this name. This process cannot play the agents of other policies.

    Raises :class:`ConfigError` for conflicting settings, a model that does not exist,
    or if no agent learns; :class:`llmzoo.errors.UnknownNameError` for an unknown agent or setting.
    """
    plans = plan_policies(agents, settings)
    has_adapters = settings.policies == "lora" or any(plan.adapter for plan in plans.values())
    if settings.lora_args and not has_adapters:
        raise ConfigError(
            "lora_args need policies='lora', or a model with form='lora' in model_args"
        )
    if not any(plan.learns for plan in plans.values()):
        played = ", ".join(f"{plan.agent}: {plan.source}" for plan in plans.values())
        raise ConfigError(
            f"no trainable agent: every agent is frozen or scripted ({played}). Give at least one a "
            "model that is not frozen"
        )
    local_plans = {a: plan for a, plan in plans.items() if only in (None, plan.name)}
    loaded = _load_plans(local_plans, settings)
    learning: LearningPolicies = {}
    for agent, plan in local_plans.items():
        if plan.learns:
            policy = loaded[agent]
            assert isinstance(policy, TransformersPolicy)
            policy.learning_rate = plan.learning_rate
            learning[plan.name] = policy
    return dict.fromkeys(agents, _PLAYED_ELSEWHERE) | loaded, learning


def load_run_policies(
    run: str | Path,
    agents: Sequence[str],
    load_settings: LoadSettings = DEFAULT_LOAD_SETTINGS,
    *,
    snapshot: Path | None = None,
    seed: int = 0,
) -> dict[str, Policy]:
    """The policies of a run's agents; those that learned come from its newest checkpoint.

    ``snapshot``: load this checkpoint or opponent snapshot of the run instead of the newest checkpoint.
    Raises :class:`ConfigError` for an agent without a policy in the run.
    """
    sampling_overrides, chat_overrides = load_settings.sampling, load_settings.chat
    sampling_fields = ("temperature", "top_p", "top_k")
    config = run_folder.require_config(run, "policies", "model", "others", *sampling_fields)
    arrangement = config["policies"]
    if isinstance(arrangement, str) and arrangement not in ("shared", "separate", "lora", *agents):
        raise ConfigError(
            f"{run} trained the agent {config['policies']!r}, but the agents here are {', '.join(agents)}"
        )
    try:
        run_sampling = Sampling(
            **{n: config[n] for n in sampling_fields if n not in sampling_overrides},
            **{"max_new_tokens": run_folder.max_new_tokens_for(run), **sampling_overrides},
        )
        run_chat = Chat(**{**run_folder.read_chat_settings(run), **chat_overrides})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"the settings of {run} cannot be used: {error}") from error
    # runs of earlier versions have no agent_args or precision in their config
    overridden = {*sampling_overrides, *chat_overrides}
    agent_args = {
        agent: {name: own[name] for name in own if name not in overridden}
        for agent, own in config.get("agent_args", {}).items()
        if matches_an_agent(agent, agents)
    }
    checkpoint = (
        run_models.newest_checkpoint(run)
        if snapshot is None
        else run_models.validate_checkpoint(snapshot)
    )
    settings = AgentSettings(
        policies=config["policies"],
        model=config["model"],
        others=config["others"],
        sampling=run_sampling,
        chat=run_chat,
        agent_args=agent_args,
        model_args=config.get("model_args", {}),
        precision=config.get("precision", "float32"),
        device=load_settings.device,
        trust_remote_code=load_settings.trust_remote_code,
    )
    plans = _use_checkpoint(plan_policies(agents, settings), run, checkpoint)
    return _load_plans(plans, settings, seed=seed)


def _use_checkpoint(
    plans: Mapping[str, AgentPlan], run: str | Path, checkpoint: Path
) -> dict[str, AgentPlan]:
    """The plans of a run, with each learning agent's source replaced by its policy in ``checkpoint``."""
    resolved = {}
    for agent, plan in plans.items():
        folder = checkpoint / plan.name
        if plan.learns and not folder.is_dir():
            trained = ", ".join(run_models.list_policy_names(checkpoint))
            raise ConfigError(f"{run} trained {trained}, and has no policy for {agent}")
        if plan.learns:
            resolved[agent] = replace(plan, source=str(folder))
        else:  # a frozen agent does not start from the base of the trained adapters
            resolved[agent] = replace(plan, adapter=False)
    return resolved


def transformers_policies(agent_policies: Mapping[str, Policy]) -> dict[str, TransformersPolicy]:
    """The models among the policies, each named after its first agent."""
    models: dict[str, TransformersPolicy] = {}
    for agent, policy in agent_policies.items():
        if isinstance(policy, TransformersPolicy) and policy not in models.values():
            models[agent] = policy
    return models


def highest_temperature(agent_policies: Mapping[str, Policy]) -> float:
    """The highest sampling temperature of a model among the policies; 0 without a model."""
    samplings = [
        p.sampling_for(a) for a, p in agent_policies.items() if isinstance(p, TransformersPolicy)
    ]
    return max((s.temperature for s in samplings if s is not None), default=0.0)


def with_max_temperature(
    agent_policies: Mapping[str, Policy], temperature: float
) -> dict[str, Policy]:
    """The policies, with every model's sampling temperature capped. Agents that shared a model still do."""
    capped = {
        id(p): p.with_max_temperature(temperature)
        for p in transformers_policies(agent_policies).values()
    }
    return {agent: capped.get(id(policy), policy) for agent, policy in agent_policies.items()}


def _load_plans(
    plans: Mapping[str, AgentPlan], settings: AgentSettings, *, seed: int = 0
) -> dict[str, Policy]:
    """The policy of every agent."""
    trust = {"trust_remote_code": settings.trust_remote_code}
    start_models = _resolve_start_models(plans, **trust)
    training: dict[str, Any] = {
        "precision": settings.precision,
        "gradient_checkpointing": settings.gradient_checkpointing,
        "compile": settings.compile,
    }
    policies: dict[str, Policy] = {}
    adapter_plans_by_base: dict[str, list[AgentPlan]] = {}
    for plan in plans.values():
        if plan.adapter:
            adapter_plans_by_base.setdefault(plan.base, []).append(plan)
    for adapters in adapter_plans_by_base.values():
        folders = {plan.name: start_models[plan.agent] for plan in adapters}
        options = {
            **training,
            **_sampling_options(adapters, settings),
            "seed": seed,
            "device": settings.device,
            **trust,
        }
        adapted = _load_adapters(folders, options, settings.lora_args)
        policies |= {plan.agent: adapted[plan.name] for plan in adapters}
    groups: dict[tuple[str, str], list[AgentPlan]] = {}
    for plan in plans.values():
        if not plan.adapter:
            groups.setdefault((plan.name, start_models[plan.agent]), []).append(plan)
    for (_, start), members in groups.items():
        options = _sampling_options(members, settings)
        if policy_kind(start) == "scripted":
            options = {}
        else:
            options |= {"seed": seed}
        if policy_kind(start) == "model":
            options |= {
                **(training if members[0].learns else {}),
                "device": settings.device,
                **trust,
            }
        policies |= dict.fromkeys((plan.agent for plan in members), load(start, **options))
    return {agent: policies[agent] for agent in plans}


def _sampling_options(members: Sequence[AgentPlan], settings: AgentSettings) -> dict[str, Any]:
    """The sampling options of a policy, from the settings of its plans."""
    if len(members) == 1:
        return {"sampling": members[0].sampling, "chat": members[0].chat}
    sampling, chat = settings.sampling, settings.chat
    own = {plan.agent: plan.sampling for plan in members if plan.sampling != sampling}
    own_chats = {plan.agent: plan.chat for plan in members if plan.chat != chat}
    return {"sampling": sampling, "samplings": own, "chat": chat, "chats": own_chats}


def _resolve_start_models(
    plans: Mapping[str, AgentPlan], *, trust_remote_code: bool
) -> dict[str, str]:
    """The model to load for each plan; a run folder is replaced by its policy for the plan."""
    start_models = {
        agent: run_models.resolve_start_model(plan.source, agent) for agent, plan in plans.items()
    }
    for start in dict.fromkeys(start_models.values()):
        if policy_kind(start) == "model":
            check_model(start, trust_remote_code=trust_remote_code)
    must_match: dict[tuple[str, str], set[str]] = {}
    for agent, plan in plans.items():
        if plan.name != OTHERS:
            must_match.setdefault(("agents that share a policy", plan.name), set()).add(
                start_models[agent]
            )
        if plan.adapter:
            must_match.setdefault(("adapters on one base", plan.base), set()).add(
                start_models[agent]
            )
    for (what, _), folders in must_match.items():
        # _load_adapters checks that saved adapters were trained on the same base
        saved = what.startswith("adapters") and all(map(is_adapter, folders))
        if len(folders) > 1 and not saved:
            raise ConfigError(
                f"{what} must start from the same model: give one of the folders "
                f"{', '.join(sorted(folders))} as the model, or use policies='separate'"
            )
    return start_models


def _load_adapters(
    folders: Mapping[str, str], options: Mapping[str, Any], lora_args: Mapping[str, Any]
) -> dict[str, TransformersPolicy]:
    """A policy for each agent on one base, with new adapters or those in the folders."""
    first = next(iter(folders.values()))
    base = load_model(first, **options)
    lora_args = {"seed": options["seed"], **lora_args}
    if not is_adapter(first):
        return base.with_adapters(list(folders), **lora_args)
    saved = {a: read_json_object(Path(f) / "adapter_config.json") or {} for a, f in folders.items()}
    bases = {str(config.get("base_model_name_or_path")) for config in saved.values()}
    if len(bases) > 1:
        raise ConfigError(
            f"these adapters were trained on different base models: {', '.join(sorted(bases))}"
        )
    lora_options = {
        n: v for n, v in saved[next(iter(folders))].items() if n not in _METADATA_FIELDS
    }
    base.model, base.adapter = base.model.unload(), None
    policies = base.with_adapters(list(folders), **{**lora_options, **lora_args})
    for agent, policy in policies.items():
        policy.load_weights(folders[agent])
    return policies


def _sampler_for_rank(sampler: str) -> str:
    """This rank's entry in ``sampler``: ``"vllm"``, or the address of its server."""
    addresses = sampler.split(",")
    if ranks.world_size() > 1 and not is_server(sampler):
        raise ConfigError(
            "sampler='vllm' needs a single process: give each process its own vLLM server instead"
        )
    if len(addresses) != ranks.world_size() and (is_server(sampler) or len(addresses) > 1):
        raise ConfigError(
            f"got {len(addresses)} sampler addresses for {ranks.world_size()} processes: give each process "
            "its own vLLM server, sampler=http://HOST:PORT,http://HOST:PORT"
        )
    return addresses[ranks.rank()]


@contextmanager
def use_samplers(
    sampler: str,
    args: Mapping[str, Any],
    learning: LearningPolicies,
    agent_policies: Mapping[str, Policy],
) -> Iterator[list[Sampler]]:
    """Within this context, the learning models generate with ``sampler``, for all agents that they play.

    Yields the samplers of the learning policies, which start with the current weights. Call their
    ``sync_weights`` after each update.

    ``sampler``: ``"transformers"`` (the policies' own models), ``"vllm"`` (in this process) or the
    address of a vLLM server, with one address per rank, separated by commas. ``args``: the fields of
    ``TransformersArgs``, ``VllmArgs`` or ``ServerArgs`` in :mod:`llmzoo.policies.vllm.config`.

    Raises :class:`ConfigError` for conflicting settings, and
    :class:`llmzoo.models.decode.SamplerError` for a server that cannot be reached.
    """
    config = sampler_config(sampler, args)
    models = {id(policy.model) for policy in learning.values()}
    samplable = [p for p in transformers_policies(agent_policies).values() if id(p.model) in models]
    if isinstance(config, TransformersArgs):
        for policy in samplable:
            policy.cuda_graphs = config.cuda_graphs
        yield []
        return
    try:
        attach_samplers(samplable, _sampler_for_rank(sampler), config)
        yield [policy.sampler for policy in learning.values() if policy.sampler is not None]
    finally:
        for policy in samplable:
            if policy.sampler is not None:
                policy.sampler.close()
                policy.sampler = None

"""Loads policies by name, including those in run folders of ``llmzoo train``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from llmzoo import policies
from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError, require_extra
from llmzoo.policies import SCRIPTED, load, run_models
from llmzoo.policies.base import Policy, default_max_new_tokens
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, Chat, LoadSettings, Sampling

T = TypeVar("T")


def load_policy_for_agents(
    name: str,
    agents: Sequence[str],
    settings: LoadSettings = DEFAULT_LOAD_SETTINGS,
    *,
    seed: int = 0,
) -> dict[str, Policy]:
    """The policy called ``name`` for ``agents``.

    A run folder of ``llmzoo train`` gives the policies of its newest checkpoint, with the sampling
    settings of the run; ``RUN/checkpoints/step_000120`` and ``RUN/opponents/000120`` give those of that
    iteration. Agents that did not learn keep the policies of the run.
    """
    _build(Chat, settings.chat)
    refuse_stages(name)
    run = run_models.find_run(name)
    if run is not None:
        _build(Sampling, settings.sampling)
        with require_extra(f"the run {name!r}", "train"):
            from llmzoo.runs.policy_loading import load_run_policies
        snapshot = None if run_models.is_run(name) else Path(name)
        return load_run_policies(run, agents, settings, snapshot=snapshot, seed=seed)
    return dict.fromkeys(agents, _load_policy(name, settings, seed))


def check_model(name: str, *, trust_remote_code: bool = False) -> None:
    """Raise :class:`ConfigError` unless this is a model or a run with a checkpoint."""
    refuse_stages(name)
    if run_models.is_run(name):
        run_models.newest_checkpoint(name)
    else:
        policies.check_model(name, trust_remote_code=trust_remote_code)


def refuse_stages(name: str) -> None:
    """Raise :class:`ConfigError` for a folder of stages, which holds one run per stage."""
    stages = sorted(path.parent for path in Path(name).glob("[0-9]*-*/config.json"))
    if stages:
        raise ConfigError(
            f"{name} contains several stages: give one of {', '.join(map(str, stages))}"
        )


def _build(make: Callable[..., T], options: Mapping[str, Any]) -> T:
    """``make(**options)``; settings out of range raise :class:`ConfigError`."""
    try:
        return make(**options)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _load_policy(name: str, settings: LoadSettings, seed: int) -> Policy:
    behind_endpoint = name.startswith(ENDPOINT_PREFIX)
    if settings.device is not None and (name in SCRIPTED or behind_endpoint):
        raise ConfigError(
            f"{name} runs no model in this process, so device would have no effect: leave it out"
        )
    if settings.chat and name in SCRIPTED:
        raise ConfigError(
            f"{name} reads no prompts, so {', '.join(settings.chat)} would have no effect: leave it out"
        )
    if name in SCRIPTED:
        return load(name)
    if not behind_endpoint:
        policies.check_model(name, trust_remote_code=settings.trust_remote_code)
    sampling = _build(
        Sampling, {"max_new_tokens": default_max_new_tokens(name), **settings.sampling}
    )
    options: dict[str, Any] = {"seed": seed, "sampling": sampling}
    options["chat"] = _build(Chat, settings.chat)
    if not behind_endpoint:
        options |= {"device": settings.device, "trust_remote_code": settings.trust_remote_code}
    return load(name, **options)

"""Loads policies by name, including those in run folders of ``llmzoo train``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from llmzoo import policies
from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.policies import SCRIPTED, load, run_models
from llmzoo.policies.base import Policy, default_max_new_tokens
from llmzoo.policies.settings import Chat, Sampling

T = TypeVar("T")


def load_policy_for_agents(
    name: str,
    agents: Sequence[str],
    *,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
    chat: Mapping[str, Any] | None = None,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Policy]:
    """The policy called ``name`` for ``agents``.

    A run folder of ``llmzoo train`` gives the policies of its newest checkpoint, with the sampling
    settings of the run; ``RUN/checkpoints/step_000120`` and ``RUN/opponents/000120`` give those of that
    iteration. Agents that did not learn keep the policies of the run. ``sampling`` and
    ``chat``: fields of ``Sampling`` and ``Chat`` that override the defaults or the run's settings.
    ``device``: where models run (:func:`llmzoo.models.devices.resolve_device`).
    ``trust_remote_code``: run Python code that comes with a model.
    """
    sampling_options, chat_options = dict(sampling or {}), dict(chat or {})
    _build(Chat, chat_options)
    refuse_stages(name)
    run = run_models.find_run(name)
    if run is not None:
        _build(Sampling, sampling_options)
        try:
            from llmzoo.runs.policy_loading import load_run_policies
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"the run {name!r}", "train", error.name) from error
        return load_run_policies(
            run,
            agents,
            snapshot=None if run_models.is_run(name) else Path(name),
            seed=seed,
            sampling=sampling_options,
            chat=chat_options,
            device=device,
            trust_remote_code=trust_remote_code,
        )
    return dict.fromkeys(
        agents, _load_policy(name, seed, sampling_options, chat_options, device, trust_remote_code)
    )


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


def _load_policy(
    name: str,
    seed: int,
    sampling_options: Mapping[str, Any],
    chat: Mapping[str, Any],
    device: str | None,
    trust_remote_code: bool,
) -> Policy:
    behind_endpoint = name.startswith(ENDPOINT_PREFIX)
    if device is not None and (name in SCRIPTED or behind_endpoint):
        raise ConfigError(
            f"{name} runs no model in this process, so device would have no effect: leave it out"
        )
    if chat and name in SCRIPTED:
        raise ConfigError(
            f"{name} reads no prompts, so {', '.join(chat)} would have no effect: leave it out"
        )
    if name in SCRIPTED:
        return load(name)
    if not behind_endpoint:
        policies.check_model(name, trust_remote_code=trust_remote_code)
    settings = _build(
        Sampling, {"max_new_tokens": default_max_new_tokens(name), **sampling_options}
    )
    prompts = _build(Chat, chat)
    if behind_endpoint:
        return load(name, seed=seed, sampling=settings, chat=prompts)
    return load(
        name,
        seed=seed,
        sampling=settings,
        chat=prompts,
        device=device,
        trust_remote_code=trust_remote_code,
    )

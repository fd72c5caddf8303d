"""Policies by the names that people give them, run folders of ``llmzoo train`` included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmzoo import policies
from llmzoo.endpoints import PREFIX
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.policies import SCRIPTED, load
from llmzoo.policies.base import Policy, answer_limit
from llmzoo.policies.settings import Chat, Sampling
from llmzoo.registry import is_remote
from llmzoo.training import run_folder


def players(
    name: str,
    agents: Sequence[str],
    *,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
    chat: Mapping[str, Any] | None = None,
    trust_remote_code: bool = False,
) -> dict[str, Policy]:
    """The policy called ``name`` in the seats ``agents``.

    A run folder of ``llmzoo train`` gives its newest checkpoint, with the sampling settings that
    it was trained with; where seats were trained apart, each gets its own policy, and those that
    did not learn are played as they were. ``sampling`` and ``chat``: fields of ``Sampling`` and of
    ``Chat`` that override the defaults, or the run's settings. ``trust_remote_code``: let code that
    comes with a model run.
    """
    given, given_chat = dict(sampling or {}), dict(chat or {})
    _chat(given_chat)
    _refuse_stages(name)
    if run_folder.is_run(name):
        _sampling(given)
        try:
            from llmzoo.training.seating import seats_of_run
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"the run {name!r}", "train", error.name) from error
        return seats_of_run(
            name,
            agents,
            seed=seed,
            sampling=given,
            chat=given_chat,
            trust_remote_code=trust_remote_code,
        )
    return dict.fromkeys(agents, _one(name, seed, given, given_chat, trust_remote_code))


def known_as(name: str, seats: Mapping[str, Policy]) -> str:
    """What an evaluation calls the policy of this name that :func:`players` has seated."""
    # an address does not say which model is there
    return next(iter(seats.values())).name if is_remote(name) else name


def check_model(name: str, *, trust_remote_code: bool = False) -> None:
    """Raise :class:`ConfigError` where there is no model, or run with a checkpoint, of this name."""
    _refuse_stages(name)
    if run_folder.is_run(name):
        run_folder.newest_checkpoint(name)
    else:
        policies.check_model(name, trust_remote_code=trust_remote_code)


def _refuse_stages(name: str) -> None:
    """Raise :class:`ConfigError` for the folder of a run in stages, which holds a run for each."""
    stages = sorted(path.parent for path in Path(name).glob("[0-9]*-*/config.json"))
    if stages:
        raise ConfigError(f"{name} holds stages: name one of {', '.join(map(str, stages))}")


def _sampling(given: Mapping[str, Any]) -> Sampling:
    try:
        return Sampling(**given)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _chat(given: Mapping[str, Any]) -> Chat:
    try:
        return Chat(**given)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _one(
    name: str, seed: int, given: Mapping[str, Any], chat: Mapping[str, Any], trust: bool
) -> Policy:
    if chat and (name in SCRIPTED or is_remote(name)):
        why = "makes its own prompts" if is_remote(name) else "reads no prompts"
        raise ConfigError(f"{name} {why}: {', '.join(chat)} would mean nothing")
    if name in SCRIPTED:
        return load(name)
    if is_remote(name):
        return _remote(name, seed, given)
    behind_endpoint = name.startswith(PREFIX)
    if not behind_endpoint:
        policies.check_model(name, trust_remote_code=trust)
    settings = _sampling({"max_new_tokens": answer_limit(name), **given})
    if behind_endpoint:
        return load(name, sampling=settings, chat=_chat(chat))
    return load(name, seed=seed, sampling=settings, chat=_chat(chat), trust_remote_code=trust)


def _remote(name: str, seed: int, given: Mapping[str, Any]) -> Policy:
    """The policy of a server, under its own settings but for those that are given."""
    policy: Any = load(name, seed=seed)
    try:
        return policy.with_sampling(**given) if given else policy
    except ValueError as error:
        raise ConfigError(str(error)) from error

"""Loads the policy that a server hosts, and refuses policies that cannot be hosted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from pettingzoo import AECEnv

from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError
from llmzoo.policies import SCRIPTED, check_model, load, run_models
from llmzoo.policies.base import (
    OnComplete,
    Policy,
    PolicyRequest,
    default_max_new_tokens,
    respond_to_each,
)
from llmzoo.policies.settings import Chat, Sampling, SamplingPolicy
from llmzoo.registry import is_remote
from llmzoo.runs import run_folder

_MAX_CACHED_POLICIES = 64  # policies kept, one per settings


def load_hosted(
    name: str,
    chat: Mapping[str, Any] | None = None,
    *,
    device: str | None = None,
    trust_remote_code: bool = False,
) -> Policy:
    """Load the policy called ``name`` (as for ``llmzoo.policies.load``) for serving.

    The folder of a run that trained one policy stands for its newest checkpoint, with the run's
    sampling settings. ``chat``: fields of ``Chat``, which override the run's.
    ``device``: where the model runs. ``trust_remote_code``: run code that comes with it. Raises :class:`ConfigError` for a
    policy that reads the environment, for a person, for a run that trained several policies, for a
    name that cannot be found, and for invalid settings.
    """
    given = dict(chat or {})
    trust = {"trust_remote_code": trust_remote_code}
    if name in SCRIPTED:
        raise ConfigError(
            f"{name!r} cannot be served: it looks at the environment (or is a person), and only "
            "what an agent reads travels. Let it play where the environment is"
        )
    if run_models.is_run(name):
        settings = _make_chat({**run_folder.read_chat_settings(name), **given})
        return load(
            _single_policy_folder(name),
            sampling=_run_sampling(name),
            chat=settings,
            device=device,
            **trust,
        )
    if device is not None and (is_remote(name) or name.startswith(ENDPOINT_PREFIX)):
        raise ConfigError(f"{name} runs no model in this process: device would have no effect")
    if is_remote(name):
        if given:
            raise ConfigError(
                f"{name} makes its own prompts: {', '.join(given)} would have no effect"
            )
        return load(name)
    if name.startswith(ENDPOINT_PREFIX):
        sampling = Sampling(max_new_tokens=default_max_new_tokens(name))
        return load(name, sampling=sampling, chat=_make_chat(given))
    check_model(name, **trust)
    return load(name, chat=_make_chat(given), device=device, **trust)


def _make_chat(given: Mapping[str, Any]) -> Chat:
    try:
        return Chat(**given)
    except ValueError as error:
        raise ConfigError(str(error)) from error


def _single_policy_folder(run: str) -> str:
    """The folder of the single policy that a run trained."""
    newest = run_models.newest_checkpoint(run)
    folders = [str(newest / policy) for policy in run_models.list_policy_names(newest)]
    if len(folders) > 1:
        raise ConfigError(
            f"{run} trained several policies, and a server has one: name one of "
            f"{', '.join(folders)}"
        )
    return folders[0]


def _run_sampling(run: str) -> Sampling:
    config = run_folder.require_config(run, "temperature", "top_p", "top_k")
    return Sampling(
        **{name: config[name] for name in ("temperature", "top_p", "top_k")},
        max_new_tokens=run_folder.max_new_tokens_for(run),
    )


class _RemoteEnvPlaceholder:
    """The environment of a request on a policy server, which has none."""

    def __getattr__(self, name: str) -> NoReturn:
        raise ConfigError(
            f"the environment is where the client is, and has no {name!r} here: a policy that "
            "reads it cannot be served"
        )


REMOTE_ENV_PLACEHOLDER = cast(AECEnv, _RemoteEnvPlaceholder())


class HostedPolicy:
    """A policy on a server, under the settings of each call."""

    def __init__(self, policy: Policy):
        self.policy = policy
        self.sampling = policy.sampling if isinstance(policy, SamplingPolicy) else None
        self.context = policy.context if isinstance(policy, SamplingPolicy) else None
        self._by_sampling: dict[Sampling, Policy] = {}

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int,
        *,
        greedy: bool,
        sampling: Sampling | None,
        on_complete: OnComplete,
    ) -> None:
        """Pass ``group_size`` answers for each request to ``on_complete`` as soon as they are
        complete.

        ``sampling``: None for the policy's own.
        """
        policy = self._policy(sampling)
        respond_to_each(policy, requests, group_size, greedy=greedy, on_complete=on_complete)

    def _policy(self, sampling: Sampling | None) -> Policy:
        if sampling is None:
            return self.policy
        assert isinstance(self.policy, SamplingPolicy)
        if sampling not in self._by_sampling:
            if len(self._by_sampling) == _MAX_CACHED_POLICIES:
                self._by_sampling.clear()
            self._by_sampling[sampling] = self.policy.with_sampling_for_all(sampling)
        return self._by_sampling[sampling]

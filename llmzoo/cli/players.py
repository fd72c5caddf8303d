"""Policies by the names that a command line gives them, run folders of ``llmzoo train`` included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo import policies, run_folder
from llmzoo.endpoints import PREFIX
from llmzoo.errors import MissingExtraError
from llmzoo.policies import SCRIPTED, load
from llmzoo.policies.base import Policy, answer_limit


def players(
    name: str,
    agents: Sequence[str],
    *,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
) -> dict[str, Policy]:
    """The policy called ``name`` in the seats ``agents``.

    A run folder of ``llmzoo train`` gives its newest checkpoint, with the sampling settings that
    it was trained with; where seats were trained apart, each gets its own policy, and those that
    did not learn are played as they were. ``sampling``: fields of ``Sampling`` that override the
    defaults.
    """
    given = dict(sampling or {})
    if run_folder.is_run(name):
        try:
            from llmzoo.seating import seats_of_run
        except ModuleNotFoundError as error:
            raise MissingExtraError(f"the run {name!r}", "train", error.name) from error
        return seats_of_run(name, agents, seed=seed, sampling=given)
    return dict.fromkeys(agents, _one(name, seed, given))


def check_model(name: str) -> None:
    """Raise :class:`ConfigError` where there is no model, or run with a checkpoint, of this name."""
    if run_folder.is_run(name):
        run_folder.newest_checkpoint(name)
    else:
        policies.check_model(name)


def _one(name: str, seed: int, given: Mapping[str, Any]) -> Policy:
    if name in SCRIPTED:
        return load(name)
    behind_endpoint = name.startswith(PREFIX)
    if not behind_endpoint:
        policies.check_model(name)
    try:
        from llmzoo.policies.sampling import Sampling
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the model {name!r}", "train", error.name) from error
    settings = Sampling(**{"max_new_tokens": answer_limit(name), **given})
    if behind_endpoint:
        return load(name, sampling=settings)
    return load(name, seed=seed, sampling=settings)

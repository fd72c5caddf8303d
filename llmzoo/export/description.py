"""Collects what a model card says about the policies of a run."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.export.copying import hub_id
from llmzoo.files import read_json_object
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY
from llmzoo.names import value_for_agent
from llmzoo.policies import run_models
from llmzoo.runs import run_folder
from llmzoo.runs.policy_plans import SHARED

USER_IN_ADDRESS = re.compile(r"://[^/?#\s]*@")  # user and password in an address
SECRET_NAME = re.compile(r"api_?key|secret|password|(^|_)token$", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedPolicy:
    """One policy. ``subfolder``: its folder in the export; empty if it is the export itself."""

    name: str
    subfolder: str
    is_adapter: bool
    tokenizer_class: str  # the class of transformers that loads the tokenizer as it was saved
    has_chat: bool
    model_config: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDescription:
    """A run at one of its checkpoints.

    ``hub_base``: the models on the hub that the policies started from. ``started_from``: all models
    that they started from, in words. ``before`` and ``after``: evaluations as in the run folder;
    None if this checkpoint has none.
    """

    run: str
    step: int
    config: Mapping[str, Any]
    parts: tuple[ExportedPolicy, ...]
    adapter_base: str | None  # a hub id, or the folder "base" of the export
    hub_base: tuple[str, ...]
    started_from: str
    prompt_style: str
    max_new_tokens: int
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None


def describe_run(
    run: Path, checkpoint: Path, parts: Sequence[ExportedPolicy], adapter_base: str | None
) -> RunDescription:
    """The description of a run at a checkpoint; ``parts`` are its policies."""
    config = run_folder.require_config(run)
    step = run_models.snapshot_step(checkpoint)
    starts = list(dict.fromkeys(_starting_model(config, part.name) for part in parts))
    terse = any(part.model_config.get("llmzoo_prompt") == "terse" for part in parts)
    return RunDescription(
        run=run.name,
        step=step,
        config=_without_secrets(config),
        parts=tuple(parts),
        adapter_base=adapter_base,
        hub_base=tuple(filter(None, map(_hub_base, starts))),
        started_from=", ".join(map(_describe_model, starts)),
        prompt_style=str(config["env_args"].get("prompt") or ("terse" if terse else "full")),
        max_new_tokens=run_folder.max_new_tokens_for(run),
        before=read_json_object(run / "before.json"),
        after=_find_evaluation(run, checkpoint, step),
    )


def _starting_model(config: Mapping[str, Any], policy: str) -> str:
    """The model that a policy started from. Only an agent's own policy has the agent's name."""
    arrangement = config["policies"]
    shared = [SHARED] if isinstance(arrangement, str) else arrangement.values()
    agent_args = config.get("agent_args", {})
    own = {} if policy in shared else value_for_agent(agent_args, policy, {})
    named = config.get("model_args", {}).get(policy, {})
    return str(own.get("policy") or named.get("model") or config["model"])


def _hub_base(start: str) -> str | None:
    """The model on the hub that a model is, or is made from; None for others."""
    if start in MODEL_CATALOG:
        return MODEL_CATALOG[start].hub_id
    return None if start == TINY else hub_id(start)


def _describe_model(start: str) -> str:
    """The model in words. Folders are given by their name only, without the path to them."""
    if start == TINY:
        return "llmzoo's embedded model (`tiny`)"
    if start in MODEL_CATALOG:
        model = MODEL_CATALOG[start]
        return f"`{model.hub_id}` as `llmzoo fetch {start}` brings it. {model.weights}"
    if run_models.is_run(start):
        return f"the run `{Path(start).name}`"
    return f"`{start}`" if hub_id(start) else f"the folder `{Path(start).name}`"


def _find_evaluation(run: Path, checkpoint: Path, step: int) -> Mapping[str, Any] | None:
    """The evaluation of a checkpoint: the final one of the run, or one during it."""
    if checkpoint == run_models.newest_checkpoint(run):
        final = read_json_object(run / "after.json")
        if final is not None:
            return final
    rows = [row for row in run_folder.read_metrics(run, "eval") if row["step"] == step]
    return rows[-1] if rows else None


def _without_secrets(value: Any) -> Any:
    """Settings without keys, passwords, secrets and tokens, which are recognised by name."""
    if isinstance(value, Mapping):
        return {
            name: "(left out)" if SECRET_NAME.search(str(name)) else _without_secrets(inner)
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple):
        return [_without_secrets(inner) for inner in value]
    if isinstance(value, str) and Path(value).is_absolute() and os.path.exists(value):
        return Path(value).name  # the path on this machine is private
    return USER_IN_ADDRESS.sub("://", value) if isinstance(value, str) else value

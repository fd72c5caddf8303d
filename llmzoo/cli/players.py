"""Policies by the names that a command line gives them, run folders of ``llmzoo train`` included."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from llmzoo.errors import CheckpointError, ConfigError, MissingExtraError, UnknownNameError
from llmzoo.policies import SCRIPTED, load
from llmzoo.policies.base import TINY, Policy, answer_limit


def players(
    name: str,
    agents: Sequence[str],
    *,
    seed: int = 0,
    sampling: Mapping[str, Any] | None = None,
) -> dict[str, Policy]:
    """The policy called ``name`` in the seats ``agents``.

    A run folder of ``llmzoo train`` gives its newest checkpoint, with the sampling settings that
    it was trained with; where seats were trained apart, each gets its own policy. ``sampling``:
    fields of ``Sampling`` that override the defaults.
    """
    given = dict(sampling or {})
    if (Path(name) / "checkpoints").is_dir():
        return _from_run(Path(name), agents, seed, given)
    return dict.fromkeys(agents, _one(name, seed, given))


def _one(name: str, seed: int, given: Mapping[str, Any]) -> Policy:
    if name in SCRIPTED:
        return load(name)
    check_model(name)
    return _model(name, "auto", seed, {"max_new_tokens": answer_limit(name), **given})


def check_model(name: str) -> None:
    """Raise :class:`ConfigError` where transformers finds no model of this name."""
    try:
        from transformers import AutoConfig

        from llmzoo.policies.transformers import TINY_FOLDER
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"the model {name!r}", "train", error.name) from error

    if name == TINY:
        if not (TINY_FOLDER / "config.json").exists():
            raise ConfigError(
                "the embedded model has not been built here: "
                f"python -m llmzoo.policies.tiny.recipe --out {TINY_FOLDER}"
            )
        return
    known = [*SCRIPTED, TINY]
    if difflib.get_close_matches(name, known, n=1, cutoff=0.75) and not Path(name).exists():
        raise UnknownNameError("policy or model", name, known)
    try:
        AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"no policy or model {name!r}: it is none of {', '.join(known)}, no folder with a "
            f"model, and no model that the hub or its cache gives ({reason})"
        ) from error


def _from_run(
    run: Path, agents: Sequence[str], seed: int, given: Mapping[str, Any]
) -> dict[str, Policy]:
    from llmzoo import checkpoints

    newest = checkpoints.latest(run / "checkpoints")
    if newest is None:
        raise CheckpointError(f"{run} has no checkpoint yet")
    config = json.loads((run / "config.json").read_text())
    kept = {name: config[name] for name in ("temperature", "top_p", "top_k")}
    limit = config["max_new_tokens"] or answer_limit(config["model"])
    settings = {**kept, "max_new_tokens": limit, **given}
    learned = {
        folder.name: _model(str(folder), "float32", seed, settings)
        for folder in sorted(newest.iterdir())
        if folder.is_dir()
    }
    if config["seats"] == "shared":
        return dict.fromkeys(agents, learned["policy"])
    absent = [agent for agent in agents if agent not in learned]
    if absent and config["seats"] == "separate":
        raise ConfigError(
            f"{run} trained {', '.join(learned)}; it has no policy for {', '.join(absent)}"
        )
    return {**dict.fromkeys(agents, _one(config["others"], seed, settings)), **learned}


def _model(folder: str, dtype: str, seed: int, sampling: Mapping[str, Any]) -> Policy:
    from llmzoo.policies.sampling import Sampling

    return load(folder, dtype=dtype, seed=seed, sampling=Sampling(**sampling))

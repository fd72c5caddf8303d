"""Policies by the names that a command line gives them, run folders of ``llmzoo train`` included."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.policies import SCRIPTED, load
from llmzoo.policies.base import Policy

_TINY = "tiny"


def player(
    name: str, *, seed: int = 0, sampling: Mapping[str, Any] | None = None
) -> Policy | dict[str, Policy]:
    """The policy called ``name``, or a policy for each seat.

    A run folder of ``llmzoo train`` gives its newest checkpoint, with the sampling settings that
    it was trained with; a run with separate seats gives one policy for each. ``sampling``: fields
    of ``Sampling`` that override the defaults.
    """
    if name in SCRIPTED:
        return load(name)
    given = dict(sampling or {})
    folder = Path(name)
    if (folder / "checkpoints").is_dir():
        return _from_run(folder, seed, given)
    check_model(name)
    given.setdefault("max_new_tokens", 48 if name == _TINY else 256)
    return _model(name, seed, given)


def check_model(name: str) -> None:
    """Raise :class:`ConfigError` where transformers finds no model of this name."""
    from transformers import AutoConfig

    from llmzoo.policies.transformers import TINY_FOLDER

    if name == _TINY:
        if not (TINY_FOLDER / "config.json").exists():
            raise ConfigError(
                "the embedded model has not been built here: "
                f"python -m llmzoo.policies.tiny.recipe --out {TINY_FOLDER}"
            )
        return
    try:
        AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        near = difflib.get_close_matches(name, [*SCRIPTED, _TINY], n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"no policy or model {name!r}: it is none of {', '.join([*SCRIPTED, _TINY])}, "
            f"no folder with a model, and no model that the hub or its cache gives.{hint} ({reason})"
        ) from error


def _from_run(run: Path, seed: int, given: Mapping[str, Any]) -> Policy | dict[str, Policy]:
    from llmzoo import checkpoints

    newest = checkpoints.latest(run / "checkpoints")
    if newest is None:
        raise CheckpointError(f"{run} has no checkpoint yet")
    config = json.loads((run / "config.json").read_text())
    kept = {name: config[name] for name in ("temperature", "top_p", "top_k")}
    limit = config["max_new_tokens"] or (48 if config["model"] == _TINY else 256)
    settings = {**kept, "max_new_tokens": limit, **given}
    learned = {
        folder.name: _model(str(folder), seed, settings)
        for folder in sorted(newest.iterdir())
        if folder.is_dir()
    }
    if config["seats"] == "shared":
        return learned["policy"]
    if config["seats"] == "separate":
        return learned
    other = player(config["others"], seed=seed, sampling=settings)
    if isinstance(other, dict):
        raise ConfigError(f"{run}: its other seats were played by a run of several policies")
    return _Rest(other, learned)


def _model(folder: str, seed: int, sampling: Mapping[str, Any]) -> Policy:
    from llmzoo.policies.sampling import Sampling

    return load(folder, dtype="float32", seed=seed, sampling=Sampling(**sampling))


class _Rest(dict[str, Policy]):
    """Policies by seat, and one for all the other seats."""

    def __init__(self, others: Policy, seats: Mapping[str, Policy]):
        super().__init__(seats)
        self._others = others

    def __missing__(self, seat: str) -> Policy:
        return self._others

"""Policies: text in, text out.

``load(name)`` returns a policy by name: a scripted player (``expert``, ``noisy_expert``, ``random``,
``silent``, ``human``), the embedded model (``tiny``), a model that ``llmzoo fetch`` has brought (``smollm2``), a
causal language model that transformers loads from a local folder or a hub id, or a model behind an
endpoint (``openai:MODEL``, ``openai:MODEL@BASE_URL``), such as one of ``llmzoo serve``.
"""

from __future__ import annotations

import difflib
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.envs.hub import offline_if_unreachable
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY, fetched_folder
from llmzoo.policies.base import (
    BoundPolicy,
    Policy,
    PolicyRequest,
    ScriptedPolicy,
    policies_by_agent,
)
from llmzoo.policies.scripted import (
    expert,
    human,
    mixture,
    noisy_expert,
    random_text,
    scripted_expert,
    silent,
)
from llmzoo.registry import is_remote

SCRIPTED = {
    "expert": expert,
    "noisy_expert": noisy_expert,
    "random": random_text,
    "silent": silent,
    "human": human,
}


def load(name: str, **options: Any) -> Policy:
    """The policy called ``name``.

    ``options`` go to :class:`TransformersPolicy`, or to :class:`EndpointPolicy` for a model behind an
    endpoint. Scripted players have none. A model that comes with code of its own is refused without
    ``trust_remote_code``.
    """
    if name in SCRIPTED:
        return SCRIPTED[name]()
    if name.startswith(ENDPOINT_PREFIX):
        from llmzoo.policies.endpoint import EndpointPolicy

        return EndpointPolicy.load(name, **options)
    refuse_server(name)
    return load_model(name, **options)


def load_model(name: str, **options: Any) -> Any:
    """A :class:`llmzoo.policies.transformers.TransformersPolicy`; needs the extra ``train``."""
    with require_extra(f"the model {name!r}", "train"):
        from llmzoo.policies.transformers import TransformersPolicy
    return TransformersPolicy.load(name, **options)


def refuse_server(name: str) -> None:
    """Raise :class:`ConfigError` for an address of environments, which is no policy."""
    if is_remote(name):
        raise ConfigError(
            f"{name} is an address of environments, not a policy: write openai:MODEL@URL for a model of "
            "llmzoo serve, such as openai:planner_0@http://127.0.0.1:8000/v1"
        )


def check_model(name: str, *, trust_remote_code: bool = False) -> None:
    """Raise :class:`ConfigError` if transformers finds no model or adapter of this name.

    ``trust_remote_code``: run code that comes with the model.
    """
    refuse_server(name)
    with require_extra(f"the model {name!r}", "train"):
        from transformers import AutoConfig

        from llmzoo.models.loading import TINY_FOLDER, check_model_files, load_error
        from llmzoo.models.lora import is_adapter

    if name == TINY:
        if not (TINY_FOLDER / "config.json").exists():
            raise ConfigError(
                "the embedded model has not been built here: "
                f"python scripts/tiny.py --out {TINY_FOLDER}"
            )
        return
    if name in MODEL_CATALOG:
        fetched_folder(name)
        return
    known = [*SCRIPTED, TINY, *MODEL_CATALOG]
    if difflib.get_close_matches(name, known, n=1, cutoff=0.75) and not Path(name).exists():
        raise UnknownNameError("policy or model", name, known)
    check_model_files(name)
    try:
        with nullcontext() if Path(name).is_dir() else offline_if_unreachable():
            if not is_adapter(name):
                AutoConfig.from_pretrained(name, trust_remote_code=trust_remote_code)
    except (OSError, ValueError, LookupError, TypeError, RuntimeError) as error:
        if "trust_remote_code" in str(error):
            raise load_error(name, error) from None
        reason = " ".join(str(error).split())[:200]
        raise ConfigError(
            f"no policy or model {name!r}: it is none of {', '.join(known)}, no folder with a "
            f"model, and no model that the hub or its cache gives ({reason})"
        ) from error


__all__ = [
    "SCRIPTED",
    "BoundPolicy",
    "Policy",
    "PolicyRequest",
    "ScriptedPolicy",
    "check_model",
    "expert",
    "human",
    "load",
    "load_model",
    "mixture",
    "noisy_expert",
    "policies_by_agent",
    "random_text",
    "scripted_expert",
]

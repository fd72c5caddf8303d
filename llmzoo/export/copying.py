"""Copies the files of a model or an adapter, and nothing else.

A run may come from somebody else. Only plain files inside its folder are copied, and only under
names that transformers or peft uses. Links are not followed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import warnings
from pathlib import Path

from llmzoo import files
from llmzoo.errors import CheckpointError

_MODEL_FILES = re.compile(
    r"(config|generation_config|adapter_config|tokenizer|tokenizer_config|special_tokens_map"
    r"|added_tokens|vocab|chat_template|model\.safetensors\.index)\.json"
    r"|(model(-\d{5}-of-\d{5})?|adapter_model)\.safetensors"
    r"|vocab\.txt|merges\.txt|chat_template\.jinja|(tokenizer|spiece|sentencepiece\.bpe)\.model"
)
_TEMPLATES = "additional_chat_templates"  # holds NAME.jinja
_HUB_ID = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)


def copy_policy(source: Path, target: Path) -> None:
    """Copy a policy of a checkpoint into a new folder; warn about files that are left out.

    Raises :class:`CheckpointError` if it contains a link or a device.
    """
    files.check_tree(source)
    files.check_weight_indexes(source)
    _copy_model_files(source, target)
    config = files.read_json_object(target / "config.json") or {}
    if "auto_map" in config:
        warnings.warn(
            f"the model in {source} needs its own Python code, which is not exported: copy the code "
            "yourself if you trust it",
            stacklevel=2,
        )


def copy_base(source: Path, target: Path) -> None:
    """Copy a base model that the user has named. Links, as in the hub's cache, are followed.

    Raises :class:`CheckpointError` unless it is a model with weights in safetensors.
    """
    if not (source / "config.json").is_file() or not any(source.glob("*.safetensors")):
        raise CheckpointError(f"{source} holds no model with weights in safetensors files")
    _copy_model_files(source, target)


def _copy_model_files(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    skipped = []
    for path in sorted(source.iterdir()):
        if path.is_dir() and path.name == _TEMPLATES:
            (target / _TEMPLATES).mkdir()
            for template in sorted(path.glob("*.jinja")):
                shutil.copyfile(template, target / _TEMPLATES / template.name)
        elif _MODEL_FILES.fullmatch(path.name) and path.is_file():
            shutil.copyfile(path, target / path.name)
        else:
            skipped.append(path.name)
    unexpected = [name for name in skipped if name not in ("log.jsonl", "recipe.json", "README.md")]
    if unexpected:
        names = ", ".join(map(ascii, unexpected[:8]))
        warnings.warn(
            f"not exported, because no model file has such a name: {names} in {source}",
            stacklevel=3,
        )


def is_safe_name(name: str) -> bool:
    """Whether a policy's name is harmless in paths, Markdown and code."""
    return re.fullmatch(r"\w[\w .-]{0,63}", name) is not None


def hub_id(base: str) -> str | None:
    """``base`` if it has the form of a hub id and no such path exists here; otherwise None."""
    return base if _HUB_ID.fullmatch(base) and not os.path.lexists(base) else None


def read_adapter_base(folder: Path) -> str | None:
    """The base that the adapter in a folder names; None if the folder has no adapter."""
    config = files.read_json_object(folder / "adapter_config.json")
    if config is None:
        return None
    base = config.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise CheckpointError(f"the adapter in {folder} does not say what its base is")
    return base


def clear_base_name(folder: Path) -> None:
    """Set the base in an adapter's configuration to null: the export contains a copy of the base."""
    path = folder / "adapter_config.json"
    config = files.read_json_object(path)
    files.write(
        path, json.dumps({**(config or {}), "base_model_name_or_path": None}, indent=2) + "\n"
    )

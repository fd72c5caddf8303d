"""What an export copies: the files of a model or an adapter, and nothing else that lies there.

A run may be somebody else's. What is copied is a plain file, inside the folder, under a name that
transformers or peft gives; no link is followed, and no folder is opened because a file names it.
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

_NAMES = re.compile(
    r"(config|generation_config|adapter_config|tokenizer|tokenizer_config|special_tokens_map"
    r"|added_tokens|vocab|chat_template|model\.safetensors\.index)\.json"
    r"|(model(-\d{5}-of-\d{5})?|adapter_model)\.safetensors"
    r"|vocab\.txt|merges\.txt|chat_template\.jinja|(tokenizer|spiece|sentencepiece\.bpe)\.model"
)
_TEMPLATES = "additional_chat_templates"  # holds NAME.jinja
_HUB_ID = re.compile(r"\w[\w.-]{0,95}(/\w[\w.-]{0,95})?", re.ASCII)


def copy_policy(source: Path, target: Path) -> None:
    """Copy a policy of a checkpoint into a new folder.

    Raises :class:`CheckpointError` for a link or a device in it. Other files stay, with a warning.
    """
    files.check_tree(source)
    files.check_indexes(source)
    _copy(source, target)
    config = files.read_object(target / "config.json") or {}
    if "auto_map" in config:
        warnings.warn(
            f"the model in {source} needs Python code of its own, which is not exported: copy the "
            "code yourself, if you trust it",
            stacklevel=2,
        )


def copy_base(source: Path, target: Path) -> None:
    """Copy a base model that the user has named, links of the hub's cache included.

    Raises :class:`CheckpointError` where there is no model with weights in safetensors.
    """
    if not (source / "config.json").is_file() or not any(source.glob("*.safetensors")):
        raise CheckpointError(f"{source} holds no model with weights in safetensors files")
    _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    left = []
    for path in sorted(source.iterdir()):
        if path.is_dir() and path.name == _TEMPLATES:
            (target / _TEMPLATES).mkdir()
            for template in sorted(path.glob("*.jinja")):
                shutil.copyfile(template, target / _TEMPLATES / template.name)
        elif _NAMES.fullmatch(path.name) and path.is_file():
            shutil.copyfile(path, target / path.name)
        else:
            left.append(path.name)
    strange = [name for name in left if name not in ("log.jsonl", "recipe.json", "README.md")]
    if strange:
        shown = ", ".join(map(ascii, strange[:8]))
        warnings.warn(f"not exported, as no file of a model: {shown} in {source}", stacklevel=3)


def safe_name(name: str) -> bool:
    """Whether a policy's name can stand in a path, in Markdown and in code."""
    return re.fullmatch(r"\w[\w .-]{0,63}", name) is not None


def hub_id(base: str) -> str | None:
    """The base that an adapter names, if it is the id of a model on the hub and no folder here."""
    return base if _HUB_ID.fullmatch(base) and not os.path.lexists(base) else None


def base_in(folder: Path) -> str | None:
    """What the adapter in a folder names as its base; None for a folder without an adapter."""
    config = files.read_object(folder / "adapter_config.json")
    if config is None:
        return None
    base = config.get("base_model_name_or_path")
    if not isinstance(base, str) or not base:
        raise CheckpointError(f"the adapter in {folder} does not say what its base is")
    return base


def without_base(folder: Path) -> None:
    """Have the adapter in a folder name no base: it stands beside it."""
    path = folder / "adapter_config.json"
    config = files.read_object(path)
    files.write(
        path, json.dumps({**(config or {}), "base_model_name_or_path": None}, indent=2) + "\n"
    )

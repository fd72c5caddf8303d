"""A small model with random weights in a folder."""

from __future__ import annotations

import pytest
from tiny_models import model, tokenizer

from llmzoo.policies.transformers import TransformersPolicy


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(folder)
    return str(folder)

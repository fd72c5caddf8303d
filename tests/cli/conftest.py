"""A small model with random weights, and a way to call the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
from tiny_models import model, tokenizer

from llmzoo.cli import main
from llmzoo.policies.transformers import TransformersPolicy


@dataclass(frozen=True)
class Said:
    """What a call gave: exit code, standard output, standard error."""

    code: int
    out: str
    err: str


@pytest.fixture
def llmzoo(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """``llmzoo("info", "--json")`` calls the command line in this process."""

    def call(*argv: object) -> Said:
        capsys.readouterr()
        code = main([str(part) for part in argv])
        return Said(code, *capsys.readouterr())

    return call


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("model")
    made = model(max_position_embeddings=1024, llmzoo_prompt="terse")
    TransformersPolicy(made, tokenizer()).save(folder)
    return str(folder)


@pytest.fixture(scope="session")
def small(model_folder: str) -> list[str]:
    """Options of a run that takes about a second."""
    return (
        f"--model {model_folder} --episodes_per_step 2 --eval-tasks 4 --max-new-tokens 8 --env.max_turns 1"
    ).split()

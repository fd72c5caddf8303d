"""A way to call the command line, and an environment without tokens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from llmzoo.cli import main


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Runs a command in this process: its exit code, output and errors."""

    def run(*argv: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(part) for part in argv])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def no_token_of_mine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No token is set, and the folder of the tokens that servers leave is empty."""
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

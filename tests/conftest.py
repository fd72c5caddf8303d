"""Fixtures of all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest.register_assert_rewrite("golden")  # so that a transcript that differs is shown line by line

_REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public records that are no part of the repository; skips without it."""
    folder = Path(os.environ.get("LLMZOO_SHARED_DATA", _REPOSITORY / ".." / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set LLMZOO_SHARED_DATA")
    return folder

"""Fixtures of all tests."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("golden")  # so that a transcript that differs is shown line by line

_REPOSITORY = Path(__file__).resolve().parents[1]


# tests of things that have a time limit, or processes of their own, want the machine to themselves
ALONE = (
    *("attacks", "sandbox", "serve", "envs/coding", "engine/test_ray"),
    *("rollout/test_overlap", "policies/test_endpoint"),
    *("policies/test_vllm_server", "test_registry"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    tests = Path(__file__).parent
    for item in items:
        if item.path.relative_to(tests).as_posix().startswith(ALONE):
            item.add_marker("alone")
        if "float64" in getattr(item, "fixturenames", ()):
            item.add_marker("numeric")


def pytest_collection_finish() -> None:
    """What is there before the first test stays: the collector need not look through it again and
    again, which takes a second in the midst of tests that measure times."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def float64() -> Iterator[None]:
    """The test runs in float64, so that what is equal is equal on every processor."""
    from float64 import in_float64

    with in_float64():
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real public records that are no part of the repository; skips without it."""
    folder = Path(os.environ.get("LLMZOO_SHARED_DATA", _REPOSITORY / ".." / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}; set LLMZOO_SHARED_DATA")
    return folder

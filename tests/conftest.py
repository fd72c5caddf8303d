"""Fixtures of all tests."""

from __future__ import annotations

import gc
import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

pytest.register_assert_rewrite("golden")  # so that a transcript that differs is shown line by line

_TESTS = Path(__file__).resolve().parent
_REPOSITORY = _TESTS.parent
_STARTED = pytest.StashKey[float]()


# tests of things that have a time limit, or processes of their own, want the machine to themselves
ALONE = (
    *("attacks/test_attacks", "sandbox", "serve", "envs/coding", "engine/test_ray"),
    *("rollout/test_overlap", "policies/test_endpoint"),
    *("policies/test_vllm_server", "test_registry"),
)


def _is_alone(path: Path) -> bool:
    return path.relative_to(_TESTS).as_posix().startswith(ALONE)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With ``-m alone`` or ``-m 'not alone'``, files without such tests are not even imported."""
    if collection_path.suffix != ".py" or not collection_path.is_relative_to(_TESTS):
        return None
    words = config.option.markexpr.replace("not alone", "together").split()
    others = {"alone": False, "together": True}
    return True if any(_is_alone(collection_path) is others.get(word) for word in words) else None


def pytest_addoption(parser: pytest.Parser) -> None:
    said = "begin no test after so many minutes; which tests come first changes from day to day"
    parser.addoption("--minutes", type=float, help=said)


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_STARTED] = time.monotonic()


def pytest_runtest_setup(item: pytest.Item) -> None:
    minutes = item.config.option.minutes
    if minutes is not None and time.monotonic() > item.config.stash[_STARTED] + 60 * minutes:
        pytest.skip(f"not reached in {minutes:g} minutes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.minutes is not None:
        items.sort(key=lambda item: hashlib.sha256(f"{date.today()}{item.path}".encode()).digest())
    cases = defaultdict(list)  # of each parametrised test with the mark ``samples``
    for item in items:
        if _is_alone(item.path):
            item.add_marker("alone")
        if "float64" in getattr(item, "fixturenames", ()):
            item.add_marker("numeric")
        samples = item.get_closest_marker("samples")
        if samples is not None and item.get_closest_marker("slow") is None:
            cases[item.nodeid.partition("[")[0], samples.args[0]].append(item)
    for (_, count), of_one in cases.items():
        shown = {len(of_one) * i // count for i in range(count)}
        for number, item in enumerate(of_one):
            if number not in shown:
                item.add_marker("slow")


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


@pytest.fixture
def no_collector() -> Iterator[None]:
    """Without the collector's pauses, which grow with whatever else the process holds."""
    gc.disable()
    yield
    gc.enable()

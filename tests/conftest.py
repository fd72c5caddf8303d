"""Fixtures of all tests, and which worker runs which file."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

pytest.register_assert_rewrite("golden")  # so that a transcript that differs is shown line by line

_TESTS = Path(__file__).resolve().parent
_REPOSITORY = _TESTS.parent

# one worker runs these one after another: they start many processes or sandboxes, and several at
# once would exhaust a small machine
EXCLUSIVE = ("tests/attacks/test_attacks", "tests/engine/test_ray")
# coverage leaves these out, slow tests of most folders, and tests that measure time. They run lines that
# other tests run, thousands of times more, and tracing makes them up to three times as slow
UNTRACED = ("tests/envs/test_conformance.py",)
SLOW_TRACED = ("tests/adapters/", "tests/cli/", "tests/engine/")


@pytest.hookimpl(optionalhook=True)  # without xdist there is nothing to distribute
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A file's tests run on one worker, so that its fixtures are made once."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return "exclusive" if nodeid.startswith(EXCLUSIVE) else nodeid.partition("::")[0]

        def remove_node(self, node: object) -> str | None:
            """The test in which a worker died, if one did; the other workers take over what it left.

            xdist's own also gives out the files that the dead worker had finished, and a worker
            that gets one waits for ever for the end of a test that it does not run.
            """
            work = self.assigned_work.pop(node)
            left = {
                file: [t for t, done in tests.items() if not done] for file, tests in work.items()
            }
            crashed = next((tests.pop(0) for tests in left.values() if tests), None)
            self.workqueue.update(
                {file: dict.fromkeys(tests, False) for file, tests in left.items() if tests}
            )
            for other in self.assigned_work:
                if other in self.registered_collections:  # one that is starting gets its share then
                    self._reschedule(other)
            return crashed

    # in the order of the folders; by the number of tests, long files of few tests would come last, and
    # one worker would wait for the other
    config.option.loadscopereorder = False
    return ByFile(config, log)


def pytest_configure() -> None:
    """Ctrl-C works in the processes that tests start, although a shell that starts the tests in the
    background has them ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    slow = item.get_closest_marker("slow") and not item.nodeid.startswith(SLOW_TRACED)
    timed = "no_collector" in getattr(item, "fixturenames", ())
    if not slow and not timed and not item.nodeid.startswith(UNTRACED):
        return (yield)
    stopped = []
    # in a worker of xdist there are two, one in the other, of which pytest-cov's own mark stops one
    while (measuring := coverage.Coverage.current()) is not None:
        measuring.stop()
        stopped.append(measuring)
    try:
        return (yield)
    finally:
        for measuring in reversed(stopped):
            measuring.start()


def pytest_collection_finish() -> None:
    """Keep the collector away from what collection left: a pass takes a second, in the midst of
    tests that measure times."""
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
    """For tests that measure time: without the collector's pauses, which grow with whatever else the
    process holds, and without the tracing of coverage."""
    gc.disable()
    yield
    gc.enable()

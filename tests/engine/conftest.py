"""A Ray cluster for the tests of one module."""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cluster():
    """A cluster of 2 CPUs on this machine, to which this process is connected; gives its address.

    Its processes find the modules of the tests.
    """
    from llmzoo.engine.ray.cluster import import_ray, start_here

    ray = import_ray()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(_TESTS))
        start_here(cpus=2)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()

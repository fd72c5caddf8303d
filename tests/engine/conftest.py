"""A Ray cluster for the tests of one module."""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def cluster():
    """A cluster of 2 CPUs on this machine, to which this process is connected; gives its address.

    Its processes find the modules of the tests. They compute with one thread, and so does this one:
    with more of them sums are rounded otherwise.
    """
    import torch

    from llmzoo.engine.ray.cluster import import_ray, start_local_cluster

    ray = import_ray()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(_TESTS))
        patch.setenv("OMP_NUM_THREADS", "1")
        # where other programs run too, Ray's workers would hardly get a turn with their niceness of 15
        patch.setenv("RAY_worker_niceness", "0")
        patch.setenv("RAY_gcs_server_port_wait_time_s", "300")
        start_local_cluster(cpus=2)
        yield ray.get_runtime_context().gcs_address
    ray.shutdown()
    torch.set_num_threads(threads)

"""Whether a Ray cluster has room for a run. No engine may hold its processors meanwhile."""

import re

import pytest

from llmzoo.engine.ray.cluster import reserve_resources
from llmzoo.engine.ray.config import RayArgs
from llmzoo.errors import ConfigError

pytestmark = pytest.mark.slow


def test_room_in_a_cluster(cluster):
    with reserve_resources(RayArgs().bundles(1), RayArgs()):
        pass  # two workers of a CPU each have room on 2 CPUs
    for args, asked in (
        ({"rollout_workers": 2}, "3 CPU, 0 GPU (PACK)"),
        ({"update_gpus": 0.5}, "2 CPU, 0.5 GPU (PACK)"),
        ({"strategy": "STRICT_SPREAD"}, "2 CPU, 0 GPU (STRICT_SPREAD)"),
    ):
        wanted = RayArgs(start_seconds=1, **args)
        told = re.escape(f"need {asked}, the cluster has 2 CPU, 0 GPU and free are 2 CPU")
        with (
            pytest.raises(ConfigError, match=told),
            reserve_resources(wanted.bundles(1), wanted),
        ):
            pass

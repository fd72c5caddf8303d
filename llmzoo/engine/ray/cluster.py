"""Connects to a Ray cluster or starts one, and reserves resources for the workers of a run."""

from __future__ import annotations

import logging
import math
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from llmzoo.engine.ray.config import Bundle, RayArgs
from llmzoo.errors import ConfigError, require_extra

# set before Ray is imported: no output of its own, and no usage statistics
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).*", "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def _quiet() -> Iterator[None]:
    """Within this context, environment variables keep Ray and its processes quiet."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ |= _QUIET
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            os.environ |= {} if value is None else {name: value}


def import_ray() -> ModuleType:
    """Import Ray quietly. Raises :class:`llmzoo.errors.MissingExtraError`."""
    with require_extra("engine='ray'", "ray"), _quiet():
        import ray
    return ray


@dataclass(frozen=True, slots=True)
class ReservedResources:
    """Resources reserved for the workers of a run. ``bundles[i]``: those of worker i."""

    group: Any
    bundles: Sequence[Bundle]

    def make_starter(self, cls: type, first: int) -> Callable[[int], Any]:
        """A function that starts worker ``n`` of a class in bundle ``first + n``.

        Ray does not restart a worker that dies.
        """
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        def start(number: int) -> Any:
            bundle_index = first + number
            options: Any = ray.remote(cls).options(
                num_cpus=self.bundles[bundle_index].get("CPU", 0),
                num_gpus=self.bundles[bundle_index].get("GPU", 0),
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    placement_group=self.group, placement_group_bundle_index=bundle_index
                ),
            )
            return options.remote()

        return start


@contextmanager
def reserve_resources(bundles: Sequence[Bundle], args: RayArgs) -> Iterator[ReservedResources]:
    """Reserve resources in a cluster within this context.

    The cluster is the one that this process is connected to, or else the one at ``args.address`` or
    ``RAY_ADDRESS``. Without an address, a cluster starts on this machine, with at least as many CPUs as the
    bundles need, and ends with the context.

    Raises :class:`ConfigError` after at most ``args.start_seconds`` if there is no cluster, or if it lacks
    resources.
    """
    ray = import_ray()
    started_here = not ray.is_initialized()
    address = args.address or os.environ.get("RAY_ADDRESS") or "local"
    if started_here:
        _connect(address, bundles)
    try:
        with _reserve_placement_group(
            bundles, args, may_grow=address != "local" or not started_here
        ) as group:
            yield ReservedResources(group, bundles)
    finally:
        if started_here:
            ray.shutdown()


def start_local_cluster(*, cpus: int) -> None:
    """Start a quiet cluster on this machine; it ends with ``ray.shutdown()``."""
    _init(address="local", num_cpus=cpus, include_dashboard=False)


def _connect(address: str, bundles: Sequence[Bundle]) -> None:
    try:
        if address == "local":
            wanted = math.ceil(_total_resources(bundles)["CPU"])
            start_local_cluster(cpus=max(os.cpu_count() or 1, wanted))
        else:
            _check_reachable(address)
            _init(address=address)
    except Exception as error:  # Ray raises this class when a start takes more than 30 s
        where = "could be started here" if address == "local" else f"answers at {address!r}"
        raise ConfigError(f"no Ray cluster {where}: {error}") from error


def _check_reachable(address: str) -> None:
    """Raise ``OSError`` if nothing listens at HOST:PORT; Ray would retry for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _init(**options: Any) -> None:
    """Call ``ray.init``, and keep this process's own handler of SIGTERM.

    Ray's handler would end the process in the middle of an iteration, and stays after ``ray.shutdown()``.
    """
    import ray

    handler = signal.getsignal(signal.SIGTERM)
    with _quiet():
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def _reserve_placement_group(
    bundles: Sequence[Bundle], args: RayArgs, *, may_grow: bool
) -> Iterator[Any]:
    import ray
    from ray.util import placement_group, remove_placement_group

    group = placement_group(list(bundles), strategy=args.strategy)
    try:
        _wait_for_resources(group, bundles, args, may_grow=may_grow)
        yield group
    finally:
        if ray.is_initialized():
            remove_placement_group(group)


def _wait_for_resources(
    group: Any, bundles: Sequence[Bundle], args: RayArgs, *, may_grow: bool
) -> None:
    import ray

    started = time.monotonic()
    while not group.wait(1):
        available = ray.cluster_resources()
        waited = time.monotonic() - started
        fits = all(
            available.get(kind, 0) >= count for kind, count in _total_resources(bundles).items()
        )
        if waited > args.start_seconds or not (fits or may_grow):
            raise ConfigError(
                f"no room for this run in the Ray cluster after {waited:.0f} s: its workers need "
                f"{_format_resources(_total_resources(bundles))} ({args.strategy}), the cluster has "
                f"{_format_resources(available)} and free are "
                f"{_format_resources(ray.available_resources())}. Lower rollout_workers, update_ranks, "
                "or the resources of each (rollout_cpus, update_gpus, ...)"
            )


def _total_resources(bundles: Sequence[Bundle]) -> dict[str, float]:
    return {kind: sum(bundle.get(kind, 0.0) for bundle in bundles) for kind in ("CPU", "GPU")}


def _format_resources(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{resources.get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))

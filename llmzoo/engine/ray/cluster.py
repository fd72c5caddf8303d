"""The Ray cluster of a run: found or started, and room in it for all of its workers."""

from __future__ import annotations

import logging
import math
import os
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from llmzoo.engine.ray.config import Bundle, RayArgs
from llmzoo.errors import ConfigError, MissingExtraError

# what Ray is told before it is imported: nothing of its own on our output, and nothing sent home
_QUIET = {"RAY_DEDUP_LOGS_SKIP_REGEX": "(?s).*", "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def _quiet() -> Iterator[None]:
    """Within this context the environment tells Ray, and what it starts, to be quiet."""
    before = {name: os.environ.get(name) for name in _QUIET}
    os.environ |= _QUIET
    try:
        yield
    finally:
        for name, value in before.items():
            del os.environ[name]
            os.environ |= {} if value is None else {name: value}


def import_ray() -> ModuleType:
    """Ray, which says nothing where this is its first import. Raises :class:`MissingExtraError`."""
    try:
        with _quiet():
            import ray
    except ModuleNotFoundError as error:
        raise MissingExtraError("engine='ray'", "ray", error.name) from error
    return ray


@dataclass(frozen=True, slots=True)
class Room:
    """Room for workers, held for this run: for each by its number what it is given."""

    group: Any
    bundles: Sequence[Bundle]

    def worker(self, cls: type, first: int) -> Callable[[int], Any]:
        """What starts workers of a class, counted from 0, the room of the first being ``first``.

        Ray never starts one again by itself.
        """
        import ray
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        def start(number: int) -> Any:
            at = first + number
            options: Any = ray.remote(cls).options(
                num_cpus=self.bundles[at].get("CPU", 0),
                num_gpus=self.bundles[at].get("GPU", 0),
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    placement_group=self.group, placement_group_bundle_index=at
                ),
            )
            return options.remote()

        return start


@contextmanager
def room_for(bundles: Sequence[Bundle], args: RayArgs) -> Iterator[Room]:
    """Within this context a cluster has room for what is asked.

    The cluster is the one that this process is connected to, or the one at ``args.address`` (or at
    ``RAY_ADDRESS``), or one that is started here and ends with the context. It is then told that
    this machine has at least as many CPUs as are asked for.

    Raises :class:`ConfigError` where there is no cluster, or no room in it, in good time.
    """
    ray = import_ray()
    ours = not ray.is_initialized()
    address = args.address or os.environ.get("RAY_ADDRESS") or "local"
    if ours:
        _connect(address, bundles)
    try:
        with _held(bundles, args, may_grow=address != "local" or not ours) as group:
            yield Room(group, bundles)
    finally:
        if ours:
            ray.shutdown()


def start_here(*, cpus: int) -> None:
    """Start a cluster on this machine that says nothing; it ends with ``ray.shutdown()``."""
    _init(address="local", num_cpus=cpus, include_dashboard=False)


def _connect(address: str, bundles: Sequence[Bundle]) -> None:
    try:
        if address == "local":
            wanted = math.ceil(_sums(bundles)["CPU"])
            start_here(cpus=max(os.cpu_count() or 1, wanted))
        else:
            _knock(address)
            _init(address=address)
    except Exception as error:  # Ray raises that very class where a start takes it over 30 s
        where = "could be started here" if address == "local" else f"answers at {address!r}"
        raise ConfigError(f"no Ray cluster {where}: {error}") from error


def _knock(address: str) -> None:
    """Raise ``OSError`` where nothing listens at HOST:PORT; Ray would go on trying for minutes."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10).close()


def _init(**options: Any) -> None:
    import ray

    with _quiet():
        ray.init(log_to_driver=False, logging_level=logging.ERROR, **options)


@contextmanager
def _held(bundles: Sequence[Bundle], args: RayArgs, *, may_grow: bool) -> Iterator[Any]:
    import ray
    from ray.util import placement_group, remove_placement_group

    group = placement_group(list(bundles), strategy=args.strategy)
    try:
        _wait(group, bundles, args, may_grow=may_grow)
        yield group
    finally:
        if ray.is_initialized():
            remove_placement_group(group)


def _wait(group: Any, bundles: Sequence[Bundle], args: RayArgs, *, may_grow: bool) -> None:
    import ray

    started = time.monotonic()
    while not group.wait(1):
        there = ray.cluster_resources()
        waited = time.monotonic() - started
        fits = all(there.get(kind, 0) >= count for kind, count in _sums(bundles).items())
        if waited > args.start_seconds or not (fits or may_grow):
            raise ConfigError(
                f"no room for this run in the Ray cluster after {waited:.0f} s: its workers ask for "
                f"{_listed(_sums(bundles))} ({args.strategy}), the cluster has {_listed(there)} "
                f"and free are {_listed(ray.available_resources())}. Lower rollout_workers, "
                "update_ranks, or what each is given (rollout_cpus, update_gpus, ...)"
            )


def _sums(bundles: Sequence[Bundle]) -> dict[str, float]:
    found = {"CPU": 0.0, "GPU": 0.0}
    for bundle in bundles:
        for kind, count in bundle.items():
            found[kind] += count
    return found


def _listed(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{resources.get(kind, 0):g} {kind}" for kind in ("CPU", "GPU"))

"""Options of the engine ``ray``: the number of workers of each kind, and the resources of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError
from llmzoo.fields import field_names
from llmzoo.names import check_names

Bundle = dict[str, float]  # the resources of one worker: its number of "CPU" and "GPU"


@dataclass(frozen=True, slots=True, kw_only=True)
class RayArgs:
    """Options of the engine ``ray``.

    CPUs and GPUs are Ray's counts. A share of a GPU, such as 0.25, puts four workers on one GPU. It
    does not limit their memory. A worker without a GPU sees none.
    """

    address: str | None = None  # of a cluster: auto, HOST:PORT; None: start one on this machine
    rollout_workers: int = 1  # processes that play, each with a copy of every model
    rollout_cpus: float = 1.0  # of each
    rollout_gpus: float = 0.0  # of each
    # parts into which a batch is split; None: 2 per rollout worker, or 1 if there is only one
    shares: int | None = None
    update_ranks: int = 1  # processes that share the update of a policy
    update_cpus: float = 1.0  # of each rank
    update_gpus: float = 0.0  # of each rank
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = "PACK"  # over machines
    state_every: int = (
        1  # updates between saved states of an update worker, from which it is replaced
    )
    start_seconds: float = 300.0  # time limit for reserving resources, and for loading models

    def __post_init__(self) -> None:
        check_bounds(self, rollout_workers="at least 1", update_ranks="at least 1")
        check_bounds(self, state_every="at least 1", shares="at least 1", start_seconds="above 0")
        if self.address is not None and self.address.startswith("ray://"):
            raise ConfigError(
                "Ray Client (ray://) is not supported: start the run on a machine of the cluster"
            )
        for name in ("rollout_cpus", "rollout_gpus", "update_cpus", "update_gpus"):
            count = getattr(self, name)
            if count < 0 or (count > 1 and count != int(count)):
                raise ConfigError(f"{name} must be from 0 to 1, or a whole number, got {count}")
        known = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
        if self.strategy not in known:
            raise ConfigError(f"strategy must be one of {', '.join(known)}, got {self.strategy!r}")

    def bundles(self, groups: int) -> list[Bundle]:
        """The resources of all workers: the ranks of ``groups`` update groups, then the rollout workers."""
        update = {"CPU": self.update_cpus, "GPU": self.update_gpus}
        rollout = {"CPU": self.rollout_cpus, "GPU": self.rollout_gpus}
        wanted = [update] * (groups * self.update_ranks) + [rollout] * self.rollout_workers
        # Ray refuses an empty bundle
        return [
            {kind: count for kind, count in bundle.items() if count} or {"CPU": 0.001}
            for bundle in wanted
        ]

    def split_batch(self, rollouts: int) -> list[range]:
        """The shares of a batch with this many rollouts; each is a range of consecutive rollouts."""
        count = self.shares or (1 if self.rollout_workers == 1 else 2 * self.rollout_workers)
        count = min(count, rollouts)
        return [range(rollouts * i // count, rollouts * (i + 1) // count) for i in range(count)]


def ray_args(values: Mapping[str, Any]) -> RayArgs:
    """Options by name; raises :class:`llmzoo.errors.UnknownNameError` or :class:`ConfigError`."""
    check_names("option of engine 'ray'", values, field_names(RayArgs))
    for name, value in values.items():
        _check(name, value)
    return RayArgs(**values)


_TEXTS = ("address", "strategy")
_NUMBERS = ("rollout_cpus", "rollout_gpus", "update_cpus", "update_gpus", "start_seconds")


def _check(name: str, value: Any) -> None:
    if value is None and name in ("address", "shares"):
        return
    wanted: tuple[type, ...] = (str,) if name in _TEXTS else (int,)
    if name in _NUMBERS:
        wanted = (int, float)
    if not isinstance(value, wanted) or isinstance(value, bool):
        expected = {str: "a text", int: "a whole number"}.get(wanted[0], "")
        raise ConfigError(
            f"{name} must be {'a number' if len(wanted) > 1 else expected}, got {value!r}"
        )

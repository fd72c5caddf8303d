"""Options of the engine ``ray``: how many workers of each kind, and what each is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal

from llmzoo.errors import ConfigError, UnknownNameError

Bundle = dict[str, float]  # what one worker is given: of "CPU" and "GPU" how many


@dataclass(frozen=True, slots=True, kw_only=True)
class RayArgs:
    """Options of the engine ``ray``.

    CPUs and GPUs are Ray's counts: a share of a GPU, such as 0.25, lets four workers sit on one,
    and does not bound the memory that each takes. A worker that is given no GPU sees none.
    """

    address: str | None = None  # of a cluster: auto, HOST:PORT; None: one of this run's own, here
    rollout_workers: int = 1  # processes that play, each with a copy of every model
    rollout_cpus: float = 1.0  # of each
    rollout_gpus: float = 0.0  # of each
    shares: int | None = None  # parts of a batch; None: 2 for each worker, 1 where one worker plays
    update_ranks: int = 1  # processes of each update worker: they share the update of its policy
    update_cpus: float = 1.0  # of each rank
    update_gpus: float = 0.0  # of each rank
    strategy: Literal["PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"] = "PACK"  # over machines
    state_every: int = (
        1  # updates between two copies of an update worker's state, for its successor
    )
    start_seconds: float = 300.0  # to find room in the cluster, and for a worker to load its models

    def __post_init__(self) -> None:
        for name in ("rollout_workers", "update_ranks", "state_every"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.shares is not None and self.shares < 1:
            raise ConfigError(f"shares must be at least 1, got {self.shares}")
        if self.address is not None and self.address.startswith("ray://"):
            raise ConfigError(
                "Ray Client (ray://) is not supported: start the run on a machine of the cluster"
            )
        if not self.start_seconds > 0:
            raise ConfigError(f"start_seconds must be above 0, got {self.start_seconds}")
        for name in ("rollout_cpus", "rollout_gpus", "update_cpus", "update_gpus"):
            count = getattr(self, name)
            if count < 0 or (count > 1 and count != int(count)):
                raise ConfigError(f"{name} is a share of one, or a whole number; got {count}")
        known = ("PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD")
        if self.strategy not in known:
            raise ConfigError(f"strategy is one of {', '.join(known)}; got {self.strategy!r}")

    def bundles(self, groups: int) -> list[Bundle]:
        """What all workers are given: every rank of every group of updates, then who plays."""
        update = {"CPU": self.update_cpus, "GPU": self.update_gpus}
        rollout = {"CPU": self.rollout_cpus, "GPU": self.rollout_gpus}
        wanted = [update] * (groups * self.update_ranks) + [rollout] * self.rollout_workers
        # a bundle of nothing is none to Ray
        return [
            {kind: count for kind, count in bundle.items() if count} or {"CPU": 0.001}
            for bundle in wanted
        ]

    def parts(self, lines: int) -> list[range]:
        """A batch of so many lines in shares of neighbours, which depend on nothing else."""
        count = self.shares or (1 if self.rollout_workers == 1 else 2 * self.rollout_workers)
        count = min(count, lines)
        return [range(lines * i // count, lines * (i + 1) // count) for i in range(count)]


def ray_args(values: Mapping[str, Any]) -> RayArgs:
    """Options by name; raises :class:`UnknownNameError` or :class:`ConfigError`."""
    known = [field.name for field in fields(RayArgs)]
    for name in values:
        if name not in known:
            raise UnknownNameError("option of engine 'ray'", name, known)
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
        said = {str: "a text", int: "a whole number"}.get(wanted[0], "")
        raise ConfigError(
            f"{name} must be {'a number' if len(wanted) > 1 else said}, got {value!r}"
        )

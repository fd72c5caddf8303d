"""Names of the devices on which models run. Names are checked without torch."""

from __future__ import annotations

import re

from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError

_NAME = re.compile(r"cpu|mps|cuda(:[0-9]{1,3})?")


def check_device(device: str | None) -> None:
    """Raise :class:`ConfigError` for a name of no device, and for any in one of several processes."""
    if device is None:
        return
    if not _NAME.fullmatch(device):
        raise ConfigError(f"device must be cpu, cuda, cuda:NUMBER or mps, got {device!r}")
    if ranks.launched_process_count() > 1:
        raise ConfigError(
            "device is for one process: each of several takes the GPU of its own number; "
            "CUDA_VISIBLE_DEVICES chooses which GPUs there are"
        )


def resolve_device(device: str | None) -> str:
    """The device as torch names it; None is the first GPU of CUDA, or the CPU without one.

    Raises :class:`ConfigError` for a device that torch does not have here.
    """
    import torch

    gpus = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if device is None:
        return "cuda" if gpus else "cpu"
    available = ["cpu", *(["cuda"] if gpus else []), *(f"cuda:{number}" for number in range(gpus))]
    available += ["mps"] if torch.backends.mps.is_available() else []
    if device not in available:
        raise ConfigError(
            f"torch has no device {device} here, only {', '.join(available)}; llmzoo info --machine lists them"
        )
    return device

"""How many tokens an update reads at once, and the error if a GPU's memory is too small for them.

Sampling is bounded in :mod:`llmzoo.policies.sampling_passes`: by
``max_rows``, which is lowered where it does not fit, and by the tokens of the prompts. Static steps on a
GPU (:mod:`.static_rows`, :mod:`.step_pool`) are bounded by the shares below.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

from llmzoo.errors import OutOfMemoryError

_MAX_TOKENS = 32_768  # tokens; more do not use a processor better
_CPU_BYTES, _GPU_SHARE = 4e9, 0.3  # of activations: bytes, the share of a GPU's memory
_FREE_SHARE = 0.25  # of a machine's free memory; a pass takes about twice what it keeps
# shares of a GPU's memory that sampling by static steps may take
STEP_SHARE = 0.25  # the cached keys and values of one step
WEIGHT_COPIES_SHARE = 0.25  # copies of the weights, several for a model with several adapters
IDLE_STEPS_SHARE = 0.1  # the steps that wait for their next call
_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")


def microbatch_tokens(model: Any, *, recompute: bool = False) -> int:
    """The default number of tokens of one forward pass with gradients.

    As many as a quarter of the free memory holds, 4 GB at most, or 30% of a GPU's memory; at most
    32,768. Per token, a layer of hidden size H and M inner units keeps about 12 H + 4 M numbers: the
    inputs and outputs of its norms and projections, rotated queries and keys, and both sides of the
    gate. With ``recompute`` it keeps its inputs, and one layer at a time the rest.
    """
    config = model.config.get_text_config()
    hidden = config.hidden_size
    inner = getattr(config, "intermediate_size", None) or 4 * hidden
    layer = 12 * hidden + 4 * inner
    kept = config.num_hidden_layers * (hidden if recompute else layer) + layer * recompute
    room = _activation_bytes()
    if model.device.type == "cuda":
        room = _GPU_SHARE * total_memory(model.device)
    size = max(2, next(model.parameters()).element_size())
    return max(1, min(_MAX_TOKENS, int(room / (kept * size))))


def total_memory(device: torch.device) -> float:
    """Bytes of a GPU that this process may use. For a CPU, which only tests ask for, a fixed number."""
    if device.type != "cuda":
        return 2.0**33
    total: int = torch.cuda.get_device_properties(device).total_memory
    return total * torch.cuda.get_per_process_memory_fraction(device)


def free_memory() -> int | None:
    """The bytes that this process may still take: of the machine, and of its control group (version 2).

    None where the system does not say.
    """
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _read_text(_MEMINFO), re.MULTILINE)
    if found is None:
        return None
    free = 1024 * int(found[1])
    limit, used = (
        _read_text(_CGROUP / "memory.max").strip(),
        _read_text(_CGROUP / "memory.current").strip(),
    )
    if limit.isdigit() and used.isdigit():
        free = min(free, max(0, int(limit) - int(used)))
    return free


@cache
def _activation_bytes() -> float:
    """Bytes of activations, measured once, so that all updates of a process are split the same way.

    4 GB, or else a power of two below, so that a resumed run gets the same number on a machine with
    about the same load.
    """
    free = free_memory()
    if free is None or _FREE_SHARE * free >= _CPU_BYTES:
        return _CPU_BYTES
    return float(2 ** int(math.log2(max(2.0, _FREE_SHARE * free))))


def _read_text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


@contextmanager
def explain_out_of_memory(setting: str, size: int, what: str, also: str) -> Iterator[None]:
    """Name the setting that bounds what runs inside, if it does not fit into a GPU's memory.

    ``size``: of the work inside, in the unit of the setting. It may be below the setting's value, so
    the error suggests half of ``size``. ``what``: names the work, such as "A training pass". ``also``:
    a sentence on what else helps. Raises :class:`OutOfMemoryError`. If a CPU's memory runs out, the
    system often kills the process instead.
    """
    try:
        yield
    except torch.OutOfMemoryError as error:
        if size > 1:
            remedy = f"Set {setting} to {max(1, size // 2)} or less (the result stays the same)"
        else:
            remedy = f"{setting} cannot be lower"
        raise OutOfMemoryError(
            f"{what} does not fit into the GPU's memory: it has {size} of {setting}. {remedy}. "
            f"{also} ({' '.join(str(error).split())[:300]})"
        ) from error

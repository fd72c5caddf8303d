"""Settings of vLLM as a sampler; what means nothing is refused before a model is loaded."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal
from urllib.parse import urlsplit

from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError

# arguments of vLLM's LLM that follow from the policy, and would break what is promised of rows
_OURS = {
    "model",
    "tokenizer",
    "seed",
    "logprobs_mode",
    "enable_prefix_caching",
    "generation_config",
}
_OURS |= {"enable_lora", "max_loras", "max_lora_rank", "skip_tokenizer_init", "enable_sleep_mode"}
_ALONE = {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"}


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmArgs:
    """vLLM in this process, on the device that trains."""

    gpu_memory_utilization: float = 0.3  # share of the device's memory for its weights and cache
    max_model_len: int | None = None  # longest prompt and answer in tokens; None: the model's
    dtype: Literal["float32", "bfloat16", "float16"] | None = None  # None: as the weights trained
    sleep: bool = False  # gives its memory back while the weights are updated
    enforce_eager: bool = False  # without CUDA graphs: starts sooner, samples slower
    engine_args: Mapping[str, Any] = field(default_factory=dict)  # further arguments of vllm.LLM

    def __post_init__(self) -> None:
        if not 0 < self.gpu_memory_utilization <= 1:
            raise ConfigError(
                f"gpu_memory_utilization is a share in (0, 1], got {self.gpu_memory_utilization}"
            )
        if self.max_model_len is not None and self.max_model_len < 2:
            raise ConfigError(f"max_model_len must be at least 2, got {self.max_model_len}")
        for name in self.engine_args:
            if name in _ALONE:
                raise ConfigError(f"{name}: one device samples here; for more start a server")
            if name in _OURS or name in {f.name for f in fields(self)}:
                raise ConfigError(f"engine_args cannot set {name}: it is set already")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerArgs:
    """vLLM on a server."""

    weights: Literal["files", "nccl"] = "files"  # how new weights get there
    folder: str | None = None  # where files go: one that the server sees too; None: a temporary one
    timeout_s: float = 600.0  # seconds for one prompt's answers, or for new weights to be loaded
    wait_s: float = 120.0  # seconds that the server may take to be there at the start
    retries: int = 2  # further attempts where it could not be reached, or failed
    concurrency: int = 64  # prompts under way at once
    group_port: int = 51216  # of the weights' process group, with nccl

    def __post_init__(self) -> None:
        if self.weights not in ("files", "nccl"):
            raise ConfigError(f"weights is 'files' or 'nccl', got {self.weights!r}")
        if not self.timeout_s > 0 or self.wait_s < 0:
            raise ConfigError("timeout_s must be above 0 and wait_s at least 0")
        if self.retries < 0 or self.concurrency < 1:
            raise ConfigError("retries must be at least 0 and concurrency at least 1")
        if self.weights == "nccl" and self.folder is not None:
            raise ConfigError("folder means nothing with weights='nccl'")


def is_server(sampler: str) -> bool:
    """Whether ``sampler`` is the address of a server."""
    return sampler.startswith(("http://", "https://"))


def sampler_config(sampler: str, args: Mapping[str, Any]) -> VllmArgs | ServerArgs | None:
    """The settings of ``"vllm"`` or of a server; None for ``"transformers"``, which has none.

    Raises :class:`UnknownNameError`, :class:`ConfigError`, and :class:`MissingExtraError` where
    vLLM would be needed here.
    """
    if sampler == "transformers":
        if args:
            raise ConfigError("sampler_args mean nothing with sampler='transformers'")
        return None
    cls: type[VllmArgs | ServerArgs]
    if sampler == "vllm":
        cls = VllmArgs
    elif is_server(sampler):
        for url in sampler.split(","):  # a server for each process
            address = urlsplit(url)
            if not address.hostname or address.path.strip("/") or address.query:
                raise ConfigError(f"{url!r} is no address of the form http://HOST:PORT")
        cls = ServerArgs
    else:
        raise UnknownNameError("sampler", sampler, ["transformers", "vllm", "http://HOST:PORT"])
    known = [f.name for f in fields(cls)]
    for name in args:
        if name not in known:
            raise UnknownNameError(f"option of sampler {sampler!r}", name, known)
    config = cls(**args)
    here = isinstance(config, VllmArgs) or config.weights == "nccl"
    if here and importlib.util.find_spec("vllm") is None:
        raise MissingExtraError(f"sampler={sampler!r}", "vllm", "vllm")
    return config

"""Settings of samplers, which are checked before a model is loaded."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.fields import field_names
from llmzoo.names import check_names

# arguments of vLLM's LLM that the policy determines
_RESERVED_ARGS = {
    "model", "tokenizer", "seed", "logprobs_mode", "enable_prefix_caching", "generation_config",
    "enable_lora", "max_loras", "max_lora_rank", "skip_tokenizer_init", "enable_sleep_mode",
}  # fmt: skip
_PARALLEL_ARGS = {"tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformersArgs:
    """The model that is trained also samples."""

    cuda_graphs: bool = True  # on a GPU, repeat decoding steps as CUDA graphs


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmArgs:
    """vLLM in this process, on the device that trains."""

    gpu_memory_utilization: float = 0.3  # share of the device's memory for its weights and cache
    max_model_len: int | None = None  # maximum tokens of a prompt and its answer; None: the model's
    dtype: Literal["float32", "bfloat16", "float16"] | None = (
        None  # None: that of the trained weights
    )
    sleep: bool = False  # free the memory while the weights are updated
    enforce_eager: bool = False  # without CUDA graphs: starts sooner, samples slower
    engine_args: Mapping[str, Any] = field(default_factory=dict)  # further arguments of vllm.LLM

    def __post_init__(self) -> None:
        check_bounds(self, gpu_memory_utilization="in (0, 1]", max_model_len="at least 2")
        for name in self.engine_args:
            if name in _PARALLEL_ARGS:
                raise ConfigError(
                    f"engine_args cannot set {name}: in this process vLLM uses one device. Start a server "
                    "to use several"
                )
            if name in _RESERVED_ARGS or name in field_names(self):
                raise ConfigError(f"engine_args cannot set {name}: it is set already")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerArgs:
    """vLLM on a server."""

    weights: Literal["files", "nccl"] = "files"  # how new weights reach the server
    folder: str | None = None  # for weight files, shared with the server; None: a temporary folder
    timeout_s: float = 600.0  # seconds for one prompt's answers, or for new weights to be loaded
    wait_s: float = 120.0  # seconds to wait for the server at the start
    retries: int = 2  # further attempts after a failed call
    concurrency: int = 64  # maximum number of prompts in flight
    group_port: int = 51216  # port of the process group that sends weights, with nccl

    def __post_init__(self) -> None:
        if self.weights not in ("files", "nccl"):
            raise ConfigError(f"weights is 'files' or 'nccl', got {self.weights!r}")
        check_bounds(self, timeout_s="above 0", wait_s="at least 0")
        check_bounds(self, retries="at least 0", concurrency="at least 1")
        if self.weights == "nccl" and self.folder is not None:
            raise ConfigError("folder has no effect with weights='nccl': leave it out")


def is_server(sampler: str) -> bool:
    """Whether ``sampler`` is the address of a server."""
    return sampler.startswith(("http://", "https://"))


def sampler_config(
    sampler: str, args: Mapping[str, Any]
) -> TransformersArgs | VllmArgs | ServerArgs:
    """The settings of ``"transformers"``, of ``"vllm"`` or of a server.

    Raises :class:`UnknownNameError` and :class:`ConfigError`, and :class:`MissingExtraError` if vLLM
    is needed in this process but not installed.
    """
    cls: type[TransformersArgs | VllmArgs | ServerArgs]
    if sampler == "transformers":
        cls = TransformersArgs
    elif sampler == "vllm":
        cls = VllmArgs
    elif is_server(sampler):
        for url in sampler.split(","):  # one server per process
            address = urlsplit(url)
            if not address.hostname or address.path.strip("/") or address.query:
                raise ConfigError(f"{url!r} is no address of the form http://HOST:PORT")
        cls = ServerArgs
    else:
        raise UnknownNameError("sampler", sampler, ["transformers", "vllm", "http://HOST:PORT"])
    check_names(f"option of sampler {sampler!r}", args, field_names(cls))
    config = cls(**args)
    needs_vllm = isinstance(config, VllmArgs) or getattr(config, "weights", None) == "nccl"
    if needs_vllm and importlib.util.find_spec("vllm") is None:
        raise MissingExtraError(f"sampler={sampler!r}", "vllm", "vllm")
    return config

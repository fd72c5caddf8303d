"""vLLM in this process, on the device that trains."""

from __future__ import annotations

import gc
import os
import random
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from llmzoo.errors import require_extra
from llmzoo.models.decode import SampledTokens, SamplerError
from llmzoo.policies.vllm.config import VllmArgs
from llmzoo.policies.vllm.requests import tokens_from_answer
from llmzoo.policies.vllm.weights import (
    WEIGHTS_FILE,
    checkpoint_weights,
    required_max_lora_rank,
    save_base,
)

if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy


class VllmEngine(Protocol):
    """vLLM with one base model and its adapters. Calls from several threads run one after another."""

    context: int

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        settings: Sequence[Mapping[str, Any]],
        adapter: str | None,
    ) -> list[list[SampledTokens]]:
        """The answers to each prompt, with its own settings."""
        ...

    def load_base(self) -> None:
        """Load the base's current weights, and discard everything computed with older ones."""
        ...

    def load_adapter(self, policy: TransformersPolicy) -> None:
        """Load the current weights of the policy's adapter."""
        ...

    def rest(self) -> None:
        """Free memory until the next call."""
        ...

    def close(self) -> None:
        """Free all resources."""
        ...


class ColocatedVllmEngine:
    """An :class:`VllmEngine` in this process.

    ``policies`` share a model. The engine starts from a folder with its weights, and then takes new
    ones from memory (vLLM's own ``reload_weights``, which knows how it has fused and padded them);
    adapters go through files. Only one device can be used: the engine core runs in this process,
    where tensors need no copy through another one.
    """

    def __init__(self, policies: Sequence[TransformersPolicy], args: VllmArgs):
        with require_extra("sampler='vllm'", "vllm"):
            import vllm
            from vllm.lora.request import LoRARequest
        self._vllm, self._lora_request = vllm, LoRARequest
        first = policies[0]
        self._model = first.model
        self._lock = threading.RLock()
        self._folder = tempfile.TemporaryDirectory(prefix="llmzoo-vllm-")
        self._adapters: dict[str, Any] = {}  # the LoRARequest of each, and its files
        self._load_count = 0
        adapters = [policy.adapter for policy in policies if policy.adapter is not None]
        # vLLM's sleep level; 0: never sleep
        self._sleep_level = (1 if adapters else 2) if args.sleep else 0
        self._asleep = self._closed = False
        base = Path(self._folder.name) / "base"
        base.mkdir()
        save_base(first.model, first.tokenizer, base)
        options: dict[str, Any] = {
            "model": str(base),
            "dtype": args.dtype or str(first.model.dtype).removeprefix("torch."),
            "gpu_memory_utilization": args.gpu_memory_utilization,
            "max_model_len": args.max_model_len,
            "enforce_eager": args.enforce_eager,
            "enable_prefix_caching": True,
            "enable_sleep_mode": args.sleep,
            "logprobs_mode": "processed_logprobs",  # of the sampling distribution
            "generation_config": "vllm",  # ignore the model's folder; requests set everything
            **args.engine_args,
        }
        if adapters:
            options["enable_lora"] = True
            options["max_loras"] = len(adapters)
            options["max_lora_rank"] = required_max_lora_rank(first.model, adapters)
        with _in_this_process():
            self._llm = vllm.LLM(**options)
        (base / WEIGHTS_FILE).unlink()
        self.context = int(self._llm.model_config.max_model_len)

    def generate(
        self,
        prompts: Sequence[Sequence[int]],
        settings: Sequence[Mapping[str, Any]],
        adapter: str | None,
    ) -> list[list[SampledTokens]]:
        with self._lock:
            self._wake()
            outputs = self._llm.generate(
                [{"prompt_token_ids": list(prompt)} for prompt in prompts],
                [self._vllm.SamplingParams(**one) for one in settings],
                use_tqdm=False,
                lora_request=None if adapter is None else self._adapters[adapter][0],
            )
        return [
            [
                tokens_from_answer(
                    answer.token_ids,
                    [
                        at[i].logprob
                        for at, i in zip(answer.logprobs, answer.token_ids, strict=True)
                    ],
                    answer.finish_reason,
                )
                for answer in output.outputs
            ]
            for output in outputs
        ]

    def load_base(self) -> None:
        with self._lock:
            if self._asleep:
                self._llm.wake_up(tags=["weights"])
            self._llm.collective_rpc(
                "reload_weights",
                kwargs={"weights_iterator": iter(checkpoint_weights(self._model).items())},
            )
            self._reset_prefix_cache()
            if self._asleep:
                self._llm.wake_up(tags=["kv_cache"])
                self._asleep = False

    def load_adapter(self, policy: TransformersPolicy) -> None:
        """Load the adapter under a new number, name and folder each time.

        vLLM caches adapters by number, and results by name and folder. It reads the files at the
        first request."""
        assert policy.adapter is not None
        with self._lock:
            self._load_count += 1
            name = f"{policy.adapter}-{self._load_count}"
            files = tempfile.TemporaryDirectory(prefix=f"{name}-", dir=self._folder.name)
            policy.save(files.name)
            request = self._lora_request(name, self._load_count, files.name)
            self._adapters[policy.adapter] = (request, files)

    def rest(self) -> None:
        with self._lock:
            if self._sleep_level and not self._asleep:
                self._llm.sleep(level=self._sleep_level)
                self._asleep = True

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            self._llm.llm_engine.engine_core.shutdown()
            del self._llm
            self._folder.cleanup()
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _wake(self) -> None:
        if self._asleep and self._sleep_level == 2:  # the weights were dropped
            self.load_base()
        elif self._asleep:
            self._llm.wake_up()
            self._asleep = False

    def _reset_prefix_cache(self) -> None:
        if not self._llm.reset_prefix_cache():
            raise SamplerError("vLLM keeps its prefix cache of older weights: requests are running")


@contextmanager
def _in_this_process() -> Iterator[None]:
    """Run vLLM's engine core in this process, and preserve the global random states.

    The engine seeds all of them when it starts.
    """
    name = "VLLM_ENABLE_V1_MULTIPROCESSING"
    before = os.environ.get(name)
    python_state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002 (vLLM seeds this one)
    os.environ[name] = "0"
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)  # noqa: NPY002
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before

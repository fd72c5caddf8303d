"""What both sides of a training step are given: the model, the tokenizer, the prompts, the reward.

It needs torch and transformers alone, since it also runs in a peer's environment.
"""

from __future__ import annotations

import argparse
import random
import re
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

PROMPT_TOKENS = 128
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMALL, SMOLLM2 = 1, 135  # sizes in millions of parameters
SMOLLM2_WORDS = 49_152
LEARNING_RATE = 1e-6  # the same on every side; no figure depends on it


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A step: K completions of every prompt, of exactly ``new_tokens`` each.

    ``millions``: the size of the model, see :func:`build_model`.
    """

    new_tokens: int
    k: int
    vocabulary: int
    prompts: int = 16
    millions: int = SMALL

    def arguments(self) -> list[str]:
        """For a worker's command line; :func:`from_arguments` reads them."""
        return [f"--{f.name}={getattr(self, f.name)}" for f in fields(self)]


def from_arguments(parser: argparse.ArgumentParser) -> tuple[Task, argparse.Namespace]:
    """The task on this process's command line, and what else ``parser`` knows."""
    for f in fields(Task):
        parser.add_argument(f"--{f.name}", type=int, required=True)
    found = parser.parse_args()
    return Task(**{f.name: vars(found).pop(f.name) for f in fields(Task)}), found


def build_model(vocabulary: int, millions: int = SMALL) -> PreTrainedModel:
    """Random weights, float32. Small: 0.79 million parameters and a tied embedding of 128 a word.
    135: the shape of SmolLM2-135M."""
    torch.manual_seed(0)
    ends = {"bos_token_id": None, "eos_token_id": None, "tie_word_embeddings": True}
    if millions == SMOLLM2:
        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=vocabulary,
                hidden_size=576,
                intermediate_size=1536,
                num_hidden_layers=30,
                num_attention_heads=9,
                num_key_value_heads=3,
                max_position_embeddings=8192,
                rope_theta=100_000,
                **ends,
            )
        )
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=vocabulary,
            hidden_size=128,
            intermediate_size=384,
            num_hidden_layers=4,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=2048,
            **ends,
        )
    )


def build_tokenizer(task: Task) -> PreTrainedTokenizerFast:
    """One token a word, and an end token just beyond what the model can sample.

    Every trainer asks for an end and a padding token; this one is never sampled, so all answers
    have their full length, and as they are all of one length nothing is ever padded either.
    """
    words = {f"w{i}": i for i in range(task.vocabulary)}
    end = "<end>"
    tokenizer = Tokenizer(models.WordLevel({**words, end: task.vocabulary}, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token=end)


def prompts(task: Task) -> list[str]:
    """Prompts of 128 random words, the same on every side."""
    rng = random.Random(0)
    return [
        " ".join(f"w{rng.randrange(task.vocabulary)}" for _ in range(PROMPT_TOKENS))
        for _ in range(task.prompts)
    ]


def reward(*texts: str) -> float:
    """A checksum in [0, 1) of all agents' answers: no two different ones are paid alike."""
    return zlib.crc32("\n".join(texts).encode()) / 2**32


class Watch:
    """Takes the time of a step on so many threads, and where asked counts what ``models`` read."""

    def __init__(self, models: Iterable[torch.nn.Module], threads: int, count: bool) -> None:
        torch.set_num_threads(threads)
        self._counts = {"read": 0, "trained": 0} if count else {}  # tokens, without gradients, with
        self._hooks = [
            model.get_input_embeddings().register_forward_pre_hook(self._count)
            for model in models
            if count
        ]
        _wait_for_device()
        self._began, self._worked = time.perf_counter(), time.process_time()

    def stop(self) -> dict[str, Any]:
        """Seconds since, those that the CPU worked, the most memory ever held, in bytes; counts."""
        _wait_for_device()
        found = {
            "seconds": time.perf_counter() - self._began,
            "cpu_seconds": time.process_time() - self._worked,
            "peak_bytes": _peak_bytes(),
        }
        for hook in self._hooks:
            hook.remove()
        return found | self._counts

    def _count(self, _: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        self._counts["trained" if torch.is_grad_enabled() else "read"] += inputs[0].numel()


def _wait_for_device() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def _peak_bytes() -> int:
    """A GPU's memory as torch counts it, or the process's: Linux' own count, since ``getrusage``
    starts from what the process that began this one held."""
    if DEVICE == "cuda":
        return torch.cuda.max_memory_allocated()
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(peak) * 1024

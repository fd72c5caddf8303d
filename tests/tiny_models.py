"""Models and fake policies for tests: random weights, nothing downloaded."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import torch
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

from llmzoo.models.sampling import Sampling
from llmzoo.models.tiny.tokenizer import build_tokenizer
from llmzoo.policies.base import OnComplete, PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Group

SIZES = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "initializer_range": 0.3,  # far from uniform, so that mistakes show
}


def tokenizer() -> PreTrainedTokenizerFast:
    return build_tokenizer(["the answer is up down left right 0123456789 UDLR"] * 2)


def model(kind: str = "qwen2", seed: int = 0, **changes: object) -> torch.nn.Module:
    torch.manual_seed(seed)
    tok = tokenizer()
    sizes = {
        **SIZES,
        "vocab_size": len(tok),
        "eos_token_id": tok.eos_token_id,
        "pad_token_id": tok.pad_token_id,
        "bos_token_id": None,
        **changes,
    }
    made = (
        Qwen2ForCausalLM(Qwen2Config(**sizes))
        if kind == "qwen2"
        else LlamaForCausalLM(LlamaConfig(**sizes))
    )
    return made.eval()


def policy(kind: str = "qwen2", seed: int = 0, **options: object) -> TransformersPolicy:
    options.setdefault("sampling", Sampling(max_new_tokens=12))
    return TransformersPolicy(model(kind, seed), tokenizer(), name=kind, **options)


def teacher() -> str:
    """The folder of another model, in the default precision, for a learner that learns from one."""
    return _teacher(torch.get_default_dtype())


@cache
def _teacher(dtype: torch.dtype) -> str:
    folder = tempfile.mkdtemp(prefix="teacher")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    body = model(seed=7, max_position_embeddings=1024).to(dtype)
    TransformersPolicy(body, tokenizer()).save(folder)
    return folder


def needed(learner: str) -> Mapping[str, Any]:
    """The options without which a learner cannot be made."""
    return {"teacher": teacher()} if learner == "opd" else {}


def group(
    answers: Sequence[tuple[int, ...]],
    returns: Sequence[float] = (),
    *,
    prompt: tuple[int, ...] = (5, 6),
    agent: str = "a_0",
    node: int = 0,
) -> Group:
    """Answers to a prompt, in tokens; without ``returns`` they are all 0. ``node``: of a tree."""
    return Group(
        agent=agent,
        turn=0,
        key=(node, agent),
        prompt_ids=prompt,
        completions=tuple(
            Completion(text="", prompt_ids=prompt, ids=ids, logprobs=(-1.0,) * len(ids))
            for ids in answers
        ),
        returns=tuple(returns) or (0.0,) * len(answers),
    )


class FakePolicy:
    """Answers with ``write(request, i)``; completions look sampled, so that they are trainable."""

    def __init__(self, write: Callable[[PolicyRequest, int], str], name: str = "fake"):
        self.name = name
        self.prompt_style = None
        self.calls: list[tuple[int, int, bool]] = []  # requests, group_size, greedy of each call
        self._write = write

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        self.calls.append((len(requests), group_size, greedy))
        return [
            [
                Completion(
                    text=self._write(request, -1 if greedy else i),
                    prompt_ids=tuple(map(ord, request.observation)),
                    ids=(i + 1,),
                    logprobs=(-1.0,),
                )
                for i in range(group_size)
            ]
            for request in requests
        ]

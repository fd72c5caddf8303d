"""What ``on_gpu.py`` measures in its own process: decoding, its kernels, a pass with gradients, and attention.

The model has SmolLM2-135M's shape and random weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.integrations.flex_attention import compile_friendly_flex_attention

from llmzoo.models import lora, step_pool
from llmzoo.models.decode import sample
from llmzoo.models.fused import PackedTree, attend
from llmzoo.models.likelihood import likelihood
from llmzoo.models.precision import cast_weights
from llmzoo.models.sampling import Sampling

SHAPE = {
    "vocab_size": 49_152,
    "hidden_size": 576,
    "intermediate_size": 1536,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "tie_word_embeddings": True,
}
SMALL = {**SHAPE, "vocab_size": 300, "num_hidden_layers": 2}
Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured. ``rows``: answers that are sampled together, over ``prompts`` prompts."""

    shape: Mapping[str, Any]
    rows: Sequence[int]
    prompts: int
    prompt: int  # tokens
    new: int  # tokens


WHOLE = Sizes(SHAPE, (32, 128, 512), 4, 128, 64)
QUICK = Sizes(SMALL, (8,), 2, 12, 6)


def a_model(sizes: Sizes, precision: str, adapters: int = 0) -> tuple[Any, list[str]]:
    """A model, and the names of its adapters."""
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(LlamaConfig(**sizes.shape)).eval()
    added: Mapping[str, str] = {}
    if adapters:
        names = [f"agent_{n}" for n in range(adapters)]
        model, added = lora.add_adapters(model, "base", names, seed=0, options={})
    cast_weights(model, precision)
    return model.to("cuda"), list(added.values())


def prompts_of(sizes: Sizes) -> list[tuple[int, ...]]:
    made = torch.Generator().manual_seed(0)
    shape = (sizes.prompts, sizes.prompt)
    ids = torch.randint(sizes.shape["vocab_size"], shape, generator=made)
    return [tuple(row) for row in ids.tolist()]


def decode(sizes: Sizes, precision: str, adapters: int, rows: int, graphs: bool) -> Result:
    """A call of the sampler in which no answer ends; each adapter has its share of the rows."""
    model, names = a_model(sizes, precision, adapters)
    count = max(1, len(names))
    numbers = [number for number in range(count) for _ in range(sizes.prompts)]

    def call() -> float:
        torch.cuda.synchronize()
        started = time.monotonic()
        sample(
            model,
            count * prompts_of(sizes),
            rows // sizes.prompts // count,
            Sampling(max_new_tokens=sizes.new),
            eos_ids=[],
            pad_id=0,
            keys=range(count * sizes.prompts),
            cuda_graphs=graphs,
            adapters=names,
            adapter_of=numbers,
        )
        torch.cuda.synchronize()
        return time.monotonic() - started

    first = call()  # with the capture
    seconds = sorted(call() for _ in range(3))
    steps = step_pool.idle_steps()
    return {
        "first_seconds": first,
        "seconds": seconds,
        "ms_a_token": 1000 * seconds[1] / sizes.new,  # of every row
        "static": bool(steps),
        "captured": bool(steps) and all(step.is_captured for step in steps),
        "tokens_a_second": rows * sizes.new / seconds[1],
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
    }


def kernels(sizes: Sizes) -> Result:
    """The kernels of a token."""
    model, _ = a_model(sizes, "bf16")
    call = partial(
        sample,
        model,
        prompts_of(sizes),
        sizes.rows[0] // sizes.prompts,
        Sampling(max_new_tokens=sizes.new),
        eos_ids=[],
        pad_id=0,
        keys=range(sizes.prompts),
    )
    return profiled(call, sizes.new)


def profiled(call: Callable[[], object], times: int) -> Result:
    """The kernels of a call and the time that the GPU computes, both divided by ``times``; the longest ones."""
    call()
    both = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=both) as profile:
        call()
    found = [e for e in profile.key_averages() if e.device_type == torch.autograd.DeviceType.CUDA]
    found.sort(key=lambda event: -event.self_device_time_total)
    longest = [[e.key[:80], e.count, e.self_device_time_total] for e in found[:15]]
    return {
        "kernels": sum(e.count for e in found) / times,
        "busy_ms": sum(e.self_device_time_total for e in found) / 1000 / times,
        "longest_us": longest,
    }


def update(sizes: Sizes, precision: str, compiled: bool) -> Result:
    """A pass with gradients over the answers of every prompt, 8 each. ``compiled``: of each layer."""
    model, _ = a_model(sizes, precision)
    prompts = prompts_of(sizes)
    answers = [[prompt[n : sizes.new + n] for n in range(8)] for prompt in prompts]

    def call() -> float:
        torch.cuda.synchronize()
        started = time.monotonic()
        found = likelihood(model, prompts, answers, Sampling(), pad_id=0, compiled=compiled)
        found.logprobs.sum().backward()
        model.zero_grad()
        torch.cuda.synchronize()
        return time.monotonic() - started

    first = call()
    seconds = sorted(call() for _ in range(3))
    tokens = sum(map(len, prompts)) + sum(len(ids) for group in answers for ids in group)
    return {
        "first_seconds": first,
        "seconds": seconds,
        "tokens_a_second": tokens / seconds[1],
        "peak_gb": torch.cuda.max_memory_allocated() / 1e9,
        **profiled(call, 1),
    }


def attention(sizes: Sizes, tensor_cores: bool) -> Result:
    """Packed attention of one layer in float32, forward and backward, 8 answers to each prompt.

    ``tensor_cores``: as :mod:`llmzoo.models.fused` does it; otherwise with torch's own options. The errors are
    relative, against float64.
    """
    device = torch.device("cuda")
    made = torch.Generator().manual_seed(0)
    answers = torch.randint(
        sizes.shape["vocab_size"], (sizes.prompts, 8, sizes.new), generator=made
    )
    tree = PackedTree(prompts_of(sizes), answers.tolist(), device)
    heads, kv_heads = sizes.shape["num_attention_heads"], sizes.shape["num_key_value_heads"]
    size = sizes.shape["hidden_size"] // heads
    query, key, value = (
        torch.randn(1, count, len(tree.ids), size, device=device, requires_grad=True)
        for count in (heads, kv_heads, kv_heads)
    )

    def kernel(*inputs: Tensor, kernel_options: Any, **options: Any) -> Any:
        chosen = kernel_options if tensor_cores else None
        return compile_friendly_flex_attention(*inputs, kernel_options=chosen, **options)

    def call() -> tuple[Tensor, ...]:
        out = attend(query, key, value, tree.mask, size**-0.5, kernel)
        return out, *torch.autograd.grad(out.square().sum(), (query, key, value))

    exact = _exact_attention(query, key, value, tree.mask, size**-0.5)
    found = call()
    errors = [((a - b).norm() / b.norm()).item() for a, b in zip(found, exact, strict=True)]
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(20):
        call()
    end.record()
    torch.cuda.synchronize()
    return {"tokens": len(tree.ids), "ms": start.elapsed_time(end) / 20, "errors": errors}


def _exact_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: BlockMask, scaling: float
) -> tuple[Tensor, ...]:
    """The outputs in float64 from all pairs of tokens, and the gradients of the sum of their squares."""
    places = torch.arange(query.shape[2], device=query.device)
    seen = mask.mask_mod(places, places, places[:, None], places)
    groups = query.shape[1] // key.shape[1]
    keys, values = (each.double().repeat_interleave(groups, dim=1) for each in (key, value))
    scores = query.double() @ keys.transpose(-1, -2) * scaling
    weights = scores.masked_fill(~seen, float("-inf")).softmax(dim=-1)
    out = (weights @ values).transpose(1, 2)
    return out, *torch.autograd.grad(out.square().sum(), (query, key, value))

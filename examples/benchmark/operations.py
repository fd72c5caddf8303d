"""How many operations a decoding step and an update launch: on a GPU each of them is a kernel.

    python examples/benchmark/operations.py
    python examples/benchmark/operations.py --layers 2 --compiled

Three decoders of the same models, with and without an adapter: ``model``, the layers of transformers;
``lean``, copies of the weights in fewer operations; ``static``, the step that becomes a CUDA graph.
Operations that only view a tensor are not counted. A step ends with a sampled token. ``update``: the
likelihood of two groups of four answers, and its gradient, in one pass. With two adapters, ``model``
and ``lean`` take a step for each, and the static step is one for both. With ``--compiled``, also the kernels that
``torch.compile`` makes of a static step.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import LlamaConfig, LlamaForCausalLM

from llmzoo.models import lora
from llmzoo.models.likelihood import likelihood
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.prefix import SharedPrefixDecoder
from llmzoo.models.sampling import Sampling, sample_tokens
from llmzoo.models.static_step import StaticStep, StepShape

SHAPES = {  # vocabulary, hidden size, size inside the MLP, heads, key-value heads, layers
    "tiny": (128, 128, 384, 4, 4, 4),
    "135M": (49_152, 576, 1536, 9, 3, 30),
}
# in the code that torch.compile writes for a CPU: its own kernels, products, other operations
_LAUNCH = re.compile(
    r"^ +(?:\w+ = )?(?:cpp_fused_\w+|extern_kernels\.\w+|torch\.ops\.[\w.]+)\(", re.MULTILINE
)
COUNTS, LENGTHS, NEW = [4, 4], [20, 30], 8
SAMPLING = Sampling(max_new_tokens=NEW)


class Counted(TorchDispatchMode):
    """``count``: the operations so far that compute or write."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        given = {_memory(each) for each in _tensors((args, kwargs))}
        made = any(_memory(each) not in given for each in _tensors(result))
        self.count += made or func._schema.is_mutable
        return result


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [each for each in tree_leaves(tree) if isinstance(each, torch.Tensor)]


def _memory(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def build_model(name: str, layers: int | None, *, adapters: int) -> Any:
    vocabulary, hidden, inside, heads, kv_heads, its_layers = SHAPES[name]
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=hidden,
        intermediate_size=inside,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        num_hidden_layers=layers or its_layers,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model: Any = LlamaForCausalLM(config).eval()
    if adapters:
        names = [f"agent_{number}" for number in range(adapters)]
        model, _ = lora.add_adapters(model, "base", names, seed=0, options={})
    return model


def decoding_step(model: Any, *, lean: bool) -> Callable[[], None]:
    """A step of the ordinary decoder, on the model's own layers or on copies of them."""
    decoder = SharedPrefixDecoder(model, [list(range(n)) for n in LENGTHS], COUNTS, NEW)
    decoder._llama_body = LlamaBody(model) if lean else None
    noise = torch.full([sum(COUNTS)], 0.5, dtype=torch.float64)

    def step() -> None:
        decoder.step(sample_tokens(decoder.logits, SAMPLING, noise)[0].long())

    return step


def static_step(model: Any) -> StaticStep:
    adapters = [*getattr(model, "peft_config", {})] or [None]
    shape = StepShape.for_call(COUNTS, LENGTHS, NEW, [0, len(adapters) - 1], len(adapters))
    body = LlamaBody(model, adapters, owned=True)
    step = StaticStep(body, shape, SAMPLING, greedy=False, device=torch.device("cpu"))
    step.reset(dict(enumerate(LENGTHS)))
    return step


@torch.inference_mode()
def operations(model: Any) -> dict[str, int]:
    adapters = max(1, len(getattr(model, "peft_config", {})))
    steps = {
        "model": (decoding_step(model, lean=False), adapters),
        "lean": (decoding_step(model, lean=True), adapters),
        "static": (static_step(model).run, 1),
    }
    found = {}
    for name, (step, times) in steps.items():
        step()  # the first one allocates
        with Counted() as counted:
            step()
        found[name] = times * counted.count
    return found


def update_operations(model: Any) -> int:
    """Those of a pass with gradients over all answers, as an update makes it."""
    prompts = [tuple(range(length)) for length in LENGTHS]
    answers = [[tuple(range(NEW))] * count for count in COUNTS]

    def update() -> None:
        found = likelihood(model, prompts, answers, SAMPLING, pad_id=0)
        found.logprobs.sum().backward()
        model.zero_grad()

    update()
    with Counted() as counted:
        update()
    return counted.count


@torch.inference_mode()
def compiled_kernels(model: Any) -> tuple[int, float]:
    """The kernels of a compiled static step; how far its log-probabilities are from the step's own."""
    from torch._inductor.utils import run_and_get_code

    own, compiled = static_step(model), static_step(model)
    for _ in range(NEW - 1):
        own.run()
    torch._dynamo.reset()  # or a compiled step of the model before has to fit this one
    _, (code, *_) = run_and_get_code(torch.compile(compiled._step, fullgraph=True))
    for _ in range(NEW - 2):
        compiled.run()
    apart = (own.samples - compiled.samples).abs().max().item()
    return len(_LAUNCH.findall(code)), apart


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, help="layers of every model")
    parser.add_argument("--compiled", action="store_true", help="needs a C++ compiler")
    args = parser.parse_args()
    for name in SHAPES:
        for adapters, half in product((0, 1, 2), (False, True)):
            model = build_model(name, args.layers, adapters=adapters)
            model = model.to(torch.bfloat16) if half else model
            found = ", ".join(f"{way} {count}" for way, count in operations(model).items())
            found += f", update {update_operations(model)}"
            if args.compiled:
                kernels, apart = compiled_kernels(model)
                found += f", compiled {kernels} (differs by {apart:.1e})"
            kind = f", adapters: {adapters}, {'bfloat16' if half else 'float32'}"
            print(f"{name}{kind}: {found}")


if __name__ == "__main__":
    main()

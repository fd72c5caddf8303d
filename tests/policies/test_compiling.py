"""Compiled layers: the same numbers in fewer passes over the activations."""

from functools import partial

import pytest
import torch
from float64 import assert_equal
from test_hidden import groups
from test_learned_positions import gpt2
from test_recompute import gradients
from tiny_models import model, policy, tokenizer

from llmzoo.errors import ConfigError
from llmzoo.models import compiling
from llmzoo.policies.transformers import TransformersPolicy


@pytest.fixture
def counted():
    """Counts of what was compiled, from nothing."""
    from torch._dynamo.utils import counters

    torch.compiler.reset()
    counters.clear()
    compiling._compile_forward.cache_clear()
    return counters


@pytest.fixture(
    params=[
        "aot_eager",  # traces all that is compiled, and runs it without writing C++
        pytest.param("inductor", marks=pytest.mark.long("g++ compiles a model for half a minute")),
    ]
)
def backend(request, monkeypatch):
    """What torch compiles with."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend=request.param))


@pytest.mark.slow
@pytest.mark.usefixtures("float64", "backend")
@pytest.mark.parametrize(
    ("kind", "recompute"), [("qwen2", True), ("llama", False)], ids=["recomputed", "kept"]
)
def test_compiled_layers_give_the_same_likelihoods_and_gradients(kind, recompute, counted):
    plain, ours = gradients(policy(kind))
    fused, theirs = gradients(policy(kind, compile="on", gradient_checkpointing=recompute))
    assert counted["stats"]["unique_graphs"] > 0
    assert_equal(fused.logprobs, plain.logprobs)
    assert_equal(fused.entropy, plain.entropy)
    for name, gradient in ours.items():
        assert_equal(theirs[name], gradient, name)


@pytest.mark.long("tracing a model with adapters takes a minute")
@pytest.mark.usefixtures("float64", "backend")
def test_adapters_are_compiled_and_layers_share_their_code(counted):
    plain = TransformersPolicy(model(num_hidden_layers=12), tokenizer())
    fused = TransformersPolicy(model(num_hidden_layers=12), tokenizer(), compile="on")
    agents = [player.with_adapters(["a", "b"], r=4) for player in (plain, fused)]
    for name in ("a", "b"):
        results = []
        for adapters in agents:
            player = adapters[name]
            for key, weight in player.model.named_parameters():
                if "lora_B" in key:
                    seeded = torch.Generator().manual_seed(len(key))
                    torch.nn.init.normal_(weight, std=0.05, generator=seeded)
            player.model.zero_grad()
            result = player.likelihood(groups())
            result.logprobs.sum().backward()
            grads = {k: p.grad for k, p in player.model.named_parameters() if p.grad is not None}
            results.append((result.logprobs, {k: g.clone() for k, g in grads.items()}))
        (ours, grads), (theirs, same) = results
        assert_equal(theirs, ours)
        assert grads.keys() == same.keys()
        for key, gradient in grads.items():
            assert_equal(same[key], gradient, key)
    assert 0 < counted["stats"]["unique_graphs"] < 24  # not for each layer and adapter


def test_nothing_is_compiled_without_gradients(counted):
    player = policy("qwen2", compile="on")
    with torch.no_grad():
        player.likelihood(groups())
    assert counted["stats"]["unique_graphs"] == 0


def test_what_cannot_be_compiled_is_refused(monkeypatch):
    with pytest.raises(ConfigError, match="compile must be auto, on or off, got 'yes'"):
        policy("qwen2", compile="yes")
    with pytest.raises(ConfigError, match="compile=on cannot be used with gpt2"):
        gpt2(compile="on")
    assert not gpt2(compile="auto").compiled
    assert not policy("qwen2", compile="auto").compiled  # on a CPU
    monkeypatch.setattr(compiling.shutil, "which", lambda name: None)
    with pytest.raises(ConfigError, match=r"needs a C\+\+ compiler"):
        policy("qwen2", compile="on")

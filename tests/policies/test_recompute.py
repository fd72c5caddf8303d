"""Gradient checkpointing: the same numbers for less memory."""

import weakref
from contextlib import nullcontext

import peft
import pytest
import torch
from float64 import assert_equal
from test_hidden import groups
from test_learned_positions import gpt2
from tiny_models import group, model, policy, tokenizer
from transformers.modeling_layers import GradientCheckpointingLayer

from llmzoo.errors import ConfigError
from llmzoo.models.likelihood import checkpoint_layers
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy

pytestmark = pytest.mark.usefixtures("float64")

FILTERED = Sampling(max_new_tokens=8, temperature=0.7, top_p=0.9, top_k=30)


def gradients(player):
    player.model.zero_grad()
    found = player.likelihood(groups())
    weights = torch.linspace(-1, 1, 6).unsqueeze(-1)
    ((found.logprobs + 0.1 * found.entropy) * weights).sum().backward()
    return found, {n: p.grad.clone() for n, p in player.model.named_parameters()}


@pytest.mark.parametrize(
    "sampling", [Sampling(max_new_tokens=8), FILTERED], ids=["plain", "filtered"]
)
@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_checkpointing_gives_the_same_likelihoods_and_gradients(kind, sampling):
    plain, ours = gradients(policy(kind, sampling=sampling))
    again, theirs = gradients(policy(kind, sampling=sampling, gradient_checkpointing=True))
    assert_equal(again.logprobs, plain.logprobs)
    assert_equal(again.entropy, plain.entropy)
    for name, gradient in ours.items():
        assert gradient.abs().max() > 0
        assert_equal(theirs[name], gradient, name)


class Held:
    """A tensor that autograd keeps for the backward pass."""

    def __init__(self, tensor):
        self.tensor = tensor


def bytes_held(player, asked):
    """Bytes that autograd holds between the passes, where there is most of it; without weights."""
    weights = {p.untyped_storage().data_ptr() for p in player.model.parameters()}
    seen = []

    def pack(tensor):
        held = Held(tensor)
        seen.append(weakref.ref(held))
        return held

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda held: held.tensor):
        loss = player.likelihood(asked).logprobs.sum()
    storages = [held().tensor.untyped_storage() for held in seen if held() is not None]
    found = {s.data_ptr(): s.nbytes() for s in storages if s.data_ptr() not in weights}
    loss.backward()  # what is left is enough for it
    return sum(found.values())


def test_checkpointing_holds_less_for_the_backward_pass():
    asked = [group([tuple(range(5, 25))] * 4, prompt=(5, 6, 7, 8) * 10)]
    sizes = {"num_hidden_layers": 6}
    found = {
        on: bytes_held(
            TransformersPolicy(model(**sizes), tokenizer(), gradient_checkpointing=on), asked
        )
        for on in (False, True)
    }
    print(f"held for the backward pass: {found[False]:,} bytes, checkpointed {found[True]:,}")
    assert 0 < found[True] < 0.3 * found[False]


def with_dropout(**options):
    """A policy whose model drops out in two places, left in training mode as an engine leaves it."""
    adapted = peft.get_peft_model(
        model(attention_dropout=0.5),
        peft.LoraConfig(r=4, lora_dropout=0.5, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    return TransformersPolicy(adapted, tokenizer(), **options)


@pytest.mark.parametrize("checkpointing", [False, True])
def test_dropout_is_off_in_likelihoods_as_in_sampling(checkpointing):
    torch.manual_seed(0)
    player = with_dropout(gradient_checkpointing=checkpointing)
    ids = torch.tensor([[5, 6, 7]])
    player.model.train()
    assert not torch.allclose(player.model(ids).logits, player.model(ids).logits)  # it drops out
    first = player.likelihood(groups())
    player.model.train()
    second = player.likelihood(groups())
    assert torch.equal(first.logprobs, second.logprobs)
    # nor does it come in by a second run of the layers, in whatever mode the model then is
    wanted = torch.autograd.grad(first.logprobs.sum(), player.parameters())
    player.model.train()
    found = torch.autograd.grad(second.logprobs.sum(), player.parameters())
    assert all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))


def test_the_layers_are_as_before_afterwards():
    player = policy()
    layers = [m for m in player.model.modules() if isinstance(m, GradientCheckpointingLayer)]
    with checkpoint_layers(player.model, nullcontext):
        assert [("forward" in vars(layer)) for layer in layers] == [True, True]
    assert not any("forward" in vars(layer) for layer in layers)
    with pytest.raises(IndexError):
        policy(gradient_checkpointing=True).likelihood(
            [group([(1,)], prompt=(10_000,))]
        )  # no such token
    with pytest.raises(KeyError), checkpoint_layers(player.model, {}.popitem):
        player.model(torch.tensor([[5]]))
    assert not any("forward" in vars(layer) for layer in layers)


def test_a_model_whose_layers_cannot_be_told_is_refused():
    with (
        pytest.raises(ConfigError, match="gradient_checkpointing=False"),
        checkpoint_layers(torch.nn.Linear(2, 2), nullcontext),
    ):
        pass


@pytest.mark.parametrize("make", [policy, gpt2])
def test_without_gradients_nothing_is_recomputed(make, monkeypatch):
    for name in ("likelihood.checkpoint_layers", "likelihood.checkpoint", "scoring.checkpoint"):
        monkeypatch.setattr(f"llmzoo.models.{name}", lambda *a, **b: pytest.fail("recomputed"))
    # filters, so that what is scored in pieces would be checkpointed
    player = make(gradient_checkpointing=True, sampling=FILTERED)
    with torch.no_grad():
        assert player.likelihood(groups()).logprobs.shape == (6, 4)
    with pytest.raises(pytest.fail.Exception, match="recomputed"):
        player.likelihood(groups())

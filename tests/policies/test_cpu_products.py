"""oneDNN's products equal PyTorch's own, with their gradients, wherever they are used."""

from __future__ import annotations

import itertools
from contextlib import nullcontext

import peft
import pytest
import tiny_models
import torch
from torch import nn
from torch.nn import functional as F

from llmzoo.models import cpu_products
from llmzoo.models.cpu_products import FastLinear, PackedLinear, linear, weight_gradient
from llmzoo.models.decode import sample
from llmzoo.models.likelihood import do_nothing, likelihood
from llmzoo.models.sampling import Sampling

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}  # float32, sums of at most 100 terms
PROMPTS = [[1, 2, 3, 4], [1, 2, 5], [6]]
ANSWERS = [[[7, 8, 9], [10]], [[11, 12], [13, 14, 15, 16]], [[17, 18], [19, 2]]]

pytestmark = pytest.mark.skipif(
    not torch.backends.mkldnn.is_available(), reason="this PyTorch has no oneDNN"
)


@pytest.fixture
def multiplied(monkeypatch):
    """Every product by oneDNN, on any processor and of any size; a list of their shapes."""
    monkeypatch.setattr(cpu_products, "_is_amd_with_avx512", lambda: True)
    for least in ("_MIN_PRODUCT", "_MIN_PACKED_PRODUCT", "_MIN_GRADIENT", "_MIN_SIDE"):
        monkeypatch.setattr(cpu_products, least, 1)
    monkeypatch.setattr(cpu_products, "_BLOCK", 4)
    shapes: list[tuple[int, ...]] = []
    multiply = cpu_products._multiply

    def counted(x, weight, bias=None):
        shapes.append((*x.shape, weight.shape[0]))
        return multiply(x, weight, bias)

    monkeypatch.setattr(cpu_products, "_multiply", counted)
    return shapes


@pytest.mark.parametrize("shape", [(7, 5), (2, 3, 5), (1, 5)])
@pytest.mark.parametrize("has_bias", [False, True])
def test_a_product_and_its_gradients_are_those_of_pytorch(multiplied, shape, has_bias):
    torch.manual_seed(0)
    x, weight = torch.randn(shape, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    bias = torch.randn(4, requires_grad=True) if has_bias else None
    inputs = [each for each in (x, weight, bias) if each is not None]
    outside = torch.randn(*shape[:-1], 4)
    ours, theirs = linear(x, weight, bias), F.linear(x, weight, bias)
    torch.testing.assert_close(ours, theirs, **TOLERANCE)
    for mine, other in zip(
        torch.autograd.grad(ours, inputs, outside),
        torch.autograd.grad(theirs, inputs, outside),
        strict=True,
    ):
        torch.testing.assert_close(mine, other, **TOLERANCE)
    assert (x.numel() // 5 > 4) == any(
        shape[:2] == (4, 4) for shape in multiplied
    )  # grad.T, in blocks
    assert {(shape[-2], shape[-1]) for shape in multiplied} >= {
        (5, 4),
        (4, 5),
    }  # product, grad of x


def test_a_gradient_of_weights_is_the_same_whichever_side_is_wider(multiplied):
    torch.manual_seed(0)
    for outputs, inputs in [(3, 6), (6, 3), (4, 4)]:
        grad, x = torch.randn(9, outputs), torch.randn(9, inputs)
        torch.testing.assert_close(weight_gradient(grad, x), grad.T @ x, **TOLERANCE)
    assert len(multiplied) == 3 * 2  # two blocks of 4 rows; the ninth row is PyTorch's


@pytest.mark.parametrize("rows", [1, 4, 5, 8, 11])
def test_blocks_of_rows_are_put_together(multiplied, rows):
    torch.manual_seed(0)
    x, weight, bias = torch.randn(rows, 5), torch.randn(3, 5), torch.randn(3)
    torch.testing.assert_close(linear(x, weight, bias), F.linear(x, weight, bias), **TOLERANCE)
    assert len(multiplied) == -(-rows // 4)


def test_there_are_few_numbers_of_rows(multiplied, monkeypatch):
    """oneDNN keeps about a megabyte of code for each."""
    monkeypatch.setattr(cpu_products, "_BLOCK", 2048)
    weight = torch.randn(3, 2)
    packed = PackedLinear(weight, None)
    for rows in range(1, 4100):
        x = torch.ones(rows, 2)
        assert linear(x, weight).shape == (rows, 3)
        if rows <= 2048:
            assert packed(x).shape == packed.add_to(torch.ones(rows, 3), x).shape == (rows, 3)
    assert len({rows for rows, *_ in multiplied}) == 47


def test_strides_of_a_bias_count(multiplied):
    torch.manual_seed(0)
    x, weight = torch.randn(6, 5), torch.randn(4, 5)
    for bias in (torch.randn(8)[::2], torch.randn(1).expand(4)):
        expected = F.linear(x, weight, bias)
        torch.testing.assert_close(linear(x, weight, bias), expected, **TOLERANCE)
        torch.testing.assert_close(PackedLinear(weight, bias)(x), expected, **TOLERANCE)


def test_calls_that_onednn_does_not_take_are_pytorchs(multiplied):
    x, weight = torch.randn(6, 5), torch.randn(4, 5)
    for arguments in [
        (x[0].requires_grad_(), weight),
        (x, weight[0]),
        (x, weight, torch.randn(1)),
        (x, weight.to_sparse()),
    ]:
        torch.testing.assert_close(linear(*arguments), F.linear(*arguments), rtol=0, atol=0)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        linear(x, torch.randn(4, 6))
    assert not multiplied
    with FastLinear():
        F.linear(input=x, weight=weight, bias=None)
    assert multiplied


def test_numbers_by_hand(multiplied):
    x = torch.tensor([[1.0, 2.0], [0.0, 3.0]])
    weight = torch.tensor([[1.0, 10.0], [100.0, 0.0], [0.0, 1.0]])
    by_hand = [[21.0, 100.0, 2.0], [30.0, 0.0, 3.0]]
    assert linear(x, weight).tolist() == by_hand
    packed = PackedLinear(weight, torch.tensor([0.5, 0.0, 0.0]))
    assert packed(x).tolist() == [[21.5, 100.0, 2.0], [30.5, 0.0, 3.0]]
    assert packed.add_to(torch.ones(2, 3), x).tolist() == [[22.0, 101.0, 3.0], [31.0, 1.0, 4.0]]


def test_few_rows_of_small_weights_are_pytorchs_product(multiplied, monkeypatch):
    monkeypatch.setattr(cpu_products, "_MIN_PACKED_PRODUCT", 60)
    weight, bias = torch.randn(4, 5), torch.randn(4)
    packed = PackedLinear(weight, bias)  # of 20 weights: from 3 rows on
    for rows, by_onednn in [(1, 0), (2, 0), (3, 1), (5, 1)]:
        h, x = torch.randn(rows, 5), torch.randn(rows, 4)
        multiplied.clear()
        torch.testing.assert_close(packed(h), F.linear(h, weight, bias), **TOLERANCE)
        assert len(multiplied) == by_onednn
        torch.testing.assert_close(packed.add_to(x, h), x + h @ weight.T, **TOLERANCE)


@pytest.mark.parametrize(
    "case", ["float64", "bf16", "autocast", "other class", "switched off", "small"]
)
def test_what_pytorch_multiplies_by_itself(multiplied, case, monkeypatch):
    x, weight = torch.randn(6, 5), torch.randn(4, 5)
    on = torch.backends.mkldnn.flags(enabled=case != "switched off")
    if case == "float64":
        x, weight = x.double(), weight.double()
    elif case == "bf16":
        x, weight = x.bfloat16(), weight.bfloat16()
    elif case == "other class":  # as a shard of a weight is
        weight = weight.as_subclass(type("Shard", (torch.Tensor,), {}))
    elif case == "small":
        monkeypatch.setattr(cpu_products, "_MIN_PRODUCT", 6 * 5 * 4 + 1)
    with on, torch.autocast("cpu", torch.bfloat16, enabled=case == "autocast"):
        found = linear(x, weight)
        torch.testing.assert_close(found, F.linear(x, weight), rtol=0, atol=0)
    assert not multiplied


def test_frozen_weights_keep_no_input_and_get_no_gradient(multiplied):
    layer, x = nn.Linear(5, 4).requires_grad_(False), torch.randn(6, 5, requires_grad=True)
    with FastLinear():
        found = layer(x)
    (product, _), *_ = found.grad_fn.next_functions
    kept = [each for each in product.saved_tensors if each is not None]
    assert [each.shape for each in kept] == [(4, 5)]
    found.sum().backward()
    torch.testing.assert_close(x.grad, layer.weight.sum(dim=0).expand(6, 5), **TOLERANCE)


@pytest.mark.parametrize("recompute", [None, do_nothing])
@pytest.mark.parametrize("adapter", [False, True])
def test_a_likelihood_and_its_gradients_are_the_same(multiplied, recompute, adapter):
    model = tiny_models.model()
    if adapter:
        model = peft.get_peft_model(
            model, peft.LoraConfig(target_modules="all-linear", init_lora_weights=False)
        )

    def gradients(enabled):
        model.zero_grad()
        with torch.backends.mkldnn.flags(enabled=enabled):
            found = likelihood(
                model, PROMPTS, ANSWERS, Sampling(), pad_id=0, recompute=recompute
            ).logprobs
            found.sum().backward()
        grads = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
        return found.detach(), grads

    theirs = gradients(False)
    assert not multiplied
    ours = gradients(True)
    assert multiplied
    assert len(theirs[1]) > 10
    torch.testing.assert_close(ours, theirs, rtol=1e-3, atol=1e-5)


def test_small_passes_and_compiled_ones_keep_pytorchs_products(multiplied, monkeypatch):
    """The context costs a call of Python for each operation, and ``torch.compile`` would guard on it."""
    model = tiny_models.model()  # hidden size 32, 64 inside
    depths = []
    model.model.layers[0].mlp.register_forward_pre_hook(
        lambda *_: depths.append(cpu_products.active_depth())
    )

    def score(recompute=None, compiled=False):
        depths.clear()
        found = likelihood(
            model, PROMPTS, ANSWERS, Sampling(), pad_id=0, recompute=recompute, compiled=compiled
        )
        found.logprobs.sum().backward()
        return [*depths]

    assert score() == [1]
    assert score(do_nothing) == [1, 1]  # not nested
    largest = model.config.hidden_size * model.config.intermediate_size
    tokens = 6 + 8  # of prompts, two of which begin alike, and of answers without their last ones
    monkeypatch.setattr(cpu_products, "_MIN_PRODUCT", tokens * largest)
    assert score() == [1]
    monkeypatch.setattr(cpu_products, "_MIN_PRODUCT", tokens * largest + 1)
    assert score() == score(do_nothing)[:1] == [0]
    monkeypatch.setattr(cpu_products, "_MIN_PRODUCT", 1)
    seen = []
    monkeypatch.setattr(
        "llmzoo.models.attention.use_layouts",
        lambda model, *, fast: seen.append(fast) or nullcontext(),
    )
    monkeypatch.setattr("llmzoo.models.likelihood.compile_layers", lambda model: nullcontext())
    score(compiled=True)
    assert seen == [False]


def test_a_hook_of_the_head_is_called_in_every_step(multiplied):
    model = tiny_models.model()
    model.lm_head.register_forward_hook(
        lambda module, inputs, logits: logits.index_fill(-1, torch.tensor([3]), 1e4)
    )
    settings = {"eos_ids": (), "pad_id": 0, "keys": [1]}
    ((row,),) = sample(model, [[1, 2]], 1, Sampling(max_new_tokens=5), **settings)
    assert row.ids == [3] * 5


@pytest.mark.parametrize("greedy", [True, False])
def test_packed_weights_sample_the_same(multiplied, greedy):
    model = tiny_models.model()

    def sampled(enabled):
        with torch.backends.mkldnn.flags(enabled=enabled):
            rows = sample(
                model,
                PROMPTS,
                4,
                Sampling(max_new_tokens=12),
                eos_ids=(),
                pad_id=0,
                keys=[1, 2, 3],
                greedy=greedy,
            )
        return list(itertools.chain(*rows))

    theirs = sampled(False)
    assert not multiplied
    ours = sampled(True)
    assert multiplied
    assert [row.ids for row in ours] == [row.ids for row in theirs]
    for mine, other in zip(ours, theirs, strict=True):
        assert mine.logprobs == pytest.approx(other.logprobs, abs=1e-4)


def test_the_choice_follows_the_processor(monkeypatch, tmp_path):
    """AMD with AVX-512, and nothing else: elsewhere MKL is as fast."""
    for text, capability, expected in [
        ("vendor_id : AuthenticAMD", "AVX512", True),
        ("vendor_id : AuthenticAMD", "AVX2", False),
        ("vendor_id : GenuineIntel", "AVX512", False),
    ]:
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text(text)
        monkeypatch.setattr(cpu_products, "_CPUINFO", cpuinfo)
        monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda to=capability: to)
        monkeypatch.setattr(torch.backends.mkl, "is_available", lambda: True)
        cpu_products._is_amd_with_avx512.cache_clear()
        assert cpu_products.prefers_onednn() == expected
    cpu_products._is_amd_with_avx512.cache_clear()

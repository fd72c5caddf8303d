"""Packed rows and shared prompts against each model's own attention, over plain unpadded rows."""

import peft
import pytest
import torch
from float64 import LIMIT, assert_equal
from torch.nn.attention.flex_attention import flex_attention
from transformers import AutoConfig, AutoModelForCausalLM

from llmzoo.policies import attention, fused, lean
from llmzoo.policies.likelihood import last_states, likelihood
from llmzoo.policies.packing import Packed
from llmzoo.policies.padded import CacheDecoder
from llmzoo.policies.prefix import SharedPrefixDecoder
from llmzoo.policies.sampling import Sampling

VOCABULARY = 61
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": 128,
    "initializer_range": 0.3,
    "pad_token_id": 0,
}
OWN = {  # what some families need beside the common sizes
    "mistral": {"sliding_window": None},
    "starcoder2": {"sliding_window": None},
    "phi3": {"rope_scaling": None},
    "qwen2_moe": {
        "moe_intermediate_size": 16,
        "shared_expert_intermediate_size": 16,
        "num_experts": 4,
        "num_experts_per_tok": 2,
    },
    "qwen3_moe": {"moe_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2},
}
PROMPTS = [(5, 6, 7), (8, 9, 10, 11, 12), (13,)]
ANSWERS = [[(20, 21), (22, 23, 24, 1)], [(25, 1), (26,), (27, 28, 29)], [(30, 31)]]
EVEN = ([(5, 6, 7), (8, 9, 10)], [[(20, 21, 1), (22, 23, 1)], [(24, 25, 1), (26, 27, 1)]])


# after some tokens: of rows 0 1 | 2 3 4 | 5 every prompt keeps some, then the last one none, then
# the first neither
LEFT = {3: [0, 1, 3, 5], 20: [0, 1, 2], 35: [2]}


def a_model(family, **changes):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**SIZES, **OWN.get(family, {}), **changes})
    # one expert after the other: the kernel that multiplies them together has no float64
    options = {"experts_implementation": "eager"} if family.endswith("_moe") else {}
    return AutoModelForCausalLM.from_config(config, **options).eval()


def adapted(model):
    """With two adapters, of which the second computes, its start no longer doing nothing."""
    config = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
    model = peft.get_peft_model(model, config, adapter_name="first")
    model.add_adapter("second", config)
    model.set_adapter("second")
    for name, parameter in model.named_parameters():
        if "lora_B.second" in name:
            torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


def one_at_a_time(model, prompts, answers):
    """Log-probabilities of each completion's tokens, from a row of its own."""
    found = []
    for prompt, group in zip(prompts, answers, strict=True):
        for ids in group:
            logits = model(torch.tensor([[*prompt, *ids]]), use_cache=False).logits[0]
            logprobs = (logits / 0.7).log_softmax(-1)[len(prompt) - 1 : -1]
            found.append(logprobs.gather(-1, torch.tensor(ids).unsqueeze(-1)).squeeze(-1))
    return found


def gradients(model):
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("lora", [False, True])
@pytest.mark.parametrize("kind", ["ragged", "even"])
@pytest.mark.parametrize("family", sorted(attention.FAMILIES))
def test_packed_equals_one_row_at_a_time(family, kind, lora):
    """The loss agrees, and each gradient relative to its norm."""
    model = adapted(a_model(family)) if lora else a_model(family)
    assert attention.supported(model.config)
    prompts, answers = (PROMPTS, ANSWERS) if kind == "ragged" else EVEN
    before = model.config._attn_implementation
    together = likelihood(model, prompts, answers, Sampling(temperature=0.7), pad_id=0)
    weights = torch.linspace(0.5, 1.5, len(together.mask))  # nothing cancels
    loss = (together.logprobs * weights.unsqueeze(-1)).sum()
    loss.backward()
    packed = gradients(model)
    assert model.config._attn_implementation == before

    model.zero_grad()
    alone = one_at_a_time(model, prompts, answers)
    expected = sum(w * row.sum() for w, row in zip(weights, alone, strict=True))
    expected.backward()
    assert_equal(loss, expected)
    for row, logprobs in enumerate(alone):
        assert_equal(together.logprobs[row, : len(logprobs)], logprobs)
    plain = gradients(model)
    assert plain.keys() == packed.keys()
    assert len(plain) > 4
    for name, gradient in plain.items():
        assert (packed[name] - gradient).norm() <= LIMIT * gradient.norm() + LIMIT, name


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("few", [True, False], ids=["lean", "own_layers"])
@pytest.mark.parametrize("family", sorted(attention.FAMILIES))
def test_rows_that_share_a_prompt_grow_as_rows_of_their_own(family, few, monkeypatch):
    """Ragged prompts, uneven numbers of rows, rows that leave, and more tokens than the first room."""
    model = a_model(family)
    if not few:
        monkeypatch.setattr(lean, "fits", lambda model: False)
    elif not lean.fits(model):
        pytest.skip("its layers are not written in few operations")
    rows = [list(PROMPTS[0])] * 2 + [list(PROMPTS[1])] * 3 + [list(PROMPTS[2])]
    noise = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        decoder = SharedPrefixDecoder(model, PROMPTS, [2, 3, 1], 60)
        for step in range(40):
            alone = torch.stack([model(torch.tensor([row])).logits[0, -1] for row in rows])
            assert_equal(decoder.logits, alone)
            if step in LEFT:
                decoder.keep(torch.tensor(LEFT[step]))
                rows = [rows[n] for n in LEFT[step]]
            tokens = torch.randint(VOCABULARY, (len(rows),), generator=noise)
            decoder.step(tokens)
            rows = [[*row, token] for row, token in zip(rows, tokens.tolist(), strict=True)]


def test_which_models_are_written_in_few_operations():
    plain = a_model("qwen2")
    assert lean.fits(plain)
    assert lean.fits(a_model("llama"))
    assert not lean.fits(a_model("llama", mlp_bias=True))
    assert not lean.fits(a_model("gemma"))
    assert not lean.fits(adapted(a_model("qwen2")))
    assert not lean.fits(a_model("qwen2").to(torch.bfloat16))
    with torch.autocast("cpu", torch.bfloat16):
        assert not lean.fits(plain)


@pytest.mark.usefixtures("float64")
def test_few_operations_use_the_weights_of_now():
    model = a_model("qwen2")
    with torch.inference_mode():
        SharedPrefixDecoder(model, PROMPTS, [1, 1, 1], 4).step(torch.tensor([1, 2, 3]))
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(1.1)
    with torch.inference_mode():
        decoder = SharedPrefixDecoder(model, PROMPTS[:1], [1], 4)
        decoder.step(torch.tensor([9]))
        alone = model(torch.tensor([[*PROMPTS[0], 9]])).logits[0, -1]
    assert_equal(decoder.logits[0], alone)


@pytest.mark.usefixtures("float64")
def test_both_decoders_see_the_same():
    model = a_model("qwen2")
    with torch.inference_mode():
        shared = SharedPrefixDecoder(model, PROMPTS, [2, 1, 2], 8)
        cached = CacheDecoder(model, PROMPTS, [2, 1, 2], 0)
        for tokens in ([1, 2, 3, 4, 5], [6, 7, 8, 9, 10]):
            assert_equal(shared.logits, cached.logits)
            for decoder in (shared, cached):
                decoder.keep(torch.tensor([0, 1, 2, 3, 4]))
                decoder.step(torch.tensor(tokens))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("prompts", "answers"), [(PROMPTS, ANSWERS), EVEN], ids=["ragged", "even"])
@pytest.mark.parametrize("family", ["llama", "qwen2"])
def test_the_fused_kernel_sees_what_the_blocks_see(family, prompts, answers):
    """Flex attention, uncompiled; on a CPU it has no backward pass."""
    model = a_model(family)

    class Fused(Packed):
        def attend(self, layer, query, key, value, scaling):
            return fused.attend(query, key, value, self.mask, scaling, kernel=flex_attention)

    with torch.no_grad():
        found, expected = (
            attention.run(model, row.ids, row.positions, row)
            for row in (kind(prompts, answers, torch.device("cpu")) for kind in (Fused, Packed))
        )
    assert_equal(found, expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("prompts", "answers"), [(PROMPTS, ANSWERS), EVEN], ids=["ragged", "even"])
def test_a_gpu_gives_the_gradients_of_the_cpu(prompts, answers):
    found = []
    for device in ("cpu", "cuda"):
        model = a_model("qwen2", hidden_size=64, head_dim=16).to(device)
        likelihood(model, prompts, answers, Sampling(), pad_id=0).logprobs.sum().backward()
        found.append({name: gradient.cpu() for name, gradient in gradients(model).items()})
    for name, gradient in found[0].items():
        assert (found[1][name] - gradient).norm() <= 1e-2 * gradient.norm(), name  # TF32


@pytest.mark.usefixtures("float64")
def test_last_states_are_those_of_texts_alone():
    model = a_model("llama")
    texts, counts = [(5, 6, 7, 8), (9,), (10, 11, 12)], [2, 1, 3]
    found = last_states(model, texts, counts)
    alone = [
        model.model(torch.tensor([text])).last_hidden_state[0, -count:]
        for text, count in zip(texts, counts, strict=True)
    ]
    assert_equal(found, torch.cat(alone))


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("mistral", {"sliding_window": 16}),
        ("qwen2", {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": 1}),
        ("gemma2", {}),  # caps its scores
        ("gpt_neox", {}),  # not one that the tests compare
    ],
)
def test_other_attention_is_left_to_the_model(family, changes):
    model = a_model(family, **changes)
    assert not attention.supported(model.config)
    answers = [[(1,) * 30, (2, 3)]]
    found = likelihood(model, [(4,) * 9], answers, Sampling(temperature=0.7), pad_id=0)
    for row, logprobs in enumerate(one_at_a_time(model, [(4,) * 9], answers)):
        assert_equal(found.logprobs[row, : len(logprobs)], logprobs)

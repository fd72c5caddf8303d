"""Packed rows and shared prompts against each model's own attention, over plain unpadded rows."""

import random
import shutil

import peft
import pytest
import torch
from float64 import LIMIT, assert_equal
from quick_cases import slow_but
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
from transformers import AutoConfig, AutoModelForCausalLM

from llmzoo.models import attention, fused, llama_body, lora
from llmzoo.models.likelihood import last_states, likelihood
from llmzoo.models.packing import PackedGroups, group_by_length, group_by_shared_prefix, pack_groups
from llmzoo.models.padded import CacheDecoder
from llmzoo.models.prefix import SharedPrefixDecoder
from llmzoo.models.sampling import Sampling
from llmzoo.models.trie import Trie

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
# beginnings in common, at several depths; the last prompt is the first one again
ALIKE = (
    [(5, 6, 7), (5, 6, 8, 9), (5, 6, 7, 9, 10), (11, 6), (5, 6, 7)],
    [[(20, 21), (22, 23, 1)], [(24, 25, 1)], [(20,), (26, 1)], [(27, 28)], [(20, 29), (30,)]],
)
EVEN = ([(5, 6, 7), (8, 9, 10)], [[(20, 21, 1), (22, 23, 1)], [(24, 25, 1), (26, 27, 1)]])

# two conversations of one beginning: later prompts go on from one of the answers before them, the
# last from no answer in particular; one answer of a token, and a group of two that both go on
TURNS = (
    [(5, 6), (5, 6, 20, 21, 7), (5, 6, 20, 21, 7, 22, 1, 8, 9), (5, 6, 23, 24, 7), (5, 6, 30)],
    [
        [(20, 21, 1), (23, 24), (25, 26, 27)],
        [(22, 1), (28,)],
        [(20, 21), (29, 1)],
        [(31, 32)],
        [(33, 34)],
    ],
)

# one answer each, prompts of two agents that share four tokens, one of them twice, and another prompt
AGENTS = (
    [
        (5, 6, 7, 8, 20, 21),
        (40, 41, 42, 43, 30),
        (5, 6, 7, 8, 22),
        (40, 41, 42, 43, 31, 32, 33),
        (5, 6, 7, 8, 22),
        (50,),
    ],
    [[(23, 24, 1)], [(34, 1)], [(25,)], [(35, 36, 1)], [(26, 1)], [(27, 28)]],
)

# answers of 1 to 14 tokens: one long answer, one group of short ones alone, one of which nothing is read
LEVELS = (
    [(5, 6, 7), (5, 6, 8, 9), (10,), (11, 12)],
    [
        [(20, 21), (22, *range(23, 35), 1), (20, 22, 1)],
        [(24, 25, 26, 27, 28, 1), (29, 1), (30, 31, 32, 1)],
        [(33, 34), (35, 36)],
        [(20,), (21,)],
    ],
)

KINDS = {
    **{"agents": AGENTS, "ragged": (PROMPTS, ANSWERS), "even": EVEN},
    **{"alike": ALIKE, "turns": TURNS, "levels": LEVELS},
}


# after some tokens: of rows 0 1 | 2 3 4 | 5 every prompt keeps some, then the last one none, then
# the first neither
LEFT = {3: [0, 1, 3, 5], 20: [0, 1, 2], 35: [2]}
COMPARED = (0, 1, 3, 4, 5, 20, 21, 35, 36, 39)


def a_model(family, **changes):
    torch.manual_seed(0)
    config = AutoConfig.for_model(family, **{**SIZES, **OWN.get(family, {}), **changes})
    # one expert after the other: the kernel that multiplies them together has no float64
    options = {"experts_implementation": "eager"} if family.endswith("_moe") else {}
    return AutoModelForCausalLM.from_config(config, **options).eval()


def adapted(model, **options):
    """With two adapters, of which the second computes, its start no longer doing nothing."""
    config = peft.LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM", **options)
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
@pytest.mark.parametrize(
    ("family", "kind", "with_lora"),
    [
        # every family's attention, over the rows with most levels
        *slow_but(
            [("qwen2", "levels", False), ("starcoder2", "levels", False)],
            ((family, "levels", False) for family in sorted(attention.SUPPORTED_FAMILIES)),
        ),
        # every layout of a row
        *(("qwen2", kind, False) for kind in KINDS if kind != "levels"),
        # adapters: on projections of their own, on joined ones, on experts, and in conversations
        *(("qwen2", "agents", True), ("phi3", "levels", True), ("qwen3_moe", "alike", True)),
        ("gemma", "turns", True),
    ],
)
def test_packed_equals_one_row_at_a_time(family, kind, with_lora):
    """The loss agrees, and each gradient relative to its norm."""
    model = adapted(a_model(family)) if with_lora else a_model(family)
    assert attention.is_supported(model.config)
    prompts, answers = KINDS[kind]
    before = model.config._attn_implementation
    together = likelihood(model, prompts, answers, Sampling(temperature=0.7), pad_id=0)
    weights = torch.linspace(0.5, 1.5, len(together.mask))  # nothing cancels
    loss = (together.logprobs * weights.unsqueeze(-1)).sum()
    loss.backward()
    of_packed = gradients(model)
    assert model.config._attn_implementation == before

    model.zero_grad()
    alone = one_at_a_time(model, prompts, answers)
    expected = sum(w * row.sum() for w, row in zip(weights, alone, strict=True))
    expected.backward()
    assert_equal(loss, expected)
    for row, logprobs in enumerate(alone):
        assert_equal(together.logprobs[row, : len(logprobs)], logprobs)
    plain = gradients(model)
    assert plain.keys() == of_packed.keys()
    assert len(plain) > 4
    for name, gradient in plain.items():
        assert (of_packed[name] - gradient).norm() <= LIMIT * gradient.norm() + LIMIT, name


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("family", "few"),
    slow_but(
        [("qwen3_moe", False), ("gemma", False), ("qwen2", True)],
        [
            *((family, False) for family in sorted(attention.SUPPORTED_FAMILIES)),
            *((family, True) for family in ("llama", "mistral", "qwen2")),
        ],
    ),
)
def test_rows_that_share_a_prompt_grow_as_rows_of_their_own(family, few, monkeypatch):
    """Ragged prompts, uneven numbers of rows, rows that leave, and more tokens than the first room.

    ``few``: in layers that :mod:`llmzoo.models.llama_body` writes in few operations.
    """
    grows_as_rows_of_their_own(a_model(family), few, monkeypatch)


@pytest.mark.usefixtures("float64")
def test_rows_of_one_prompt_grow_where_each_head_has_its_own_keys():
    """As many key-value heads as heads: the rows of a single prompt then lie apart in memory."""
    model = a_model("qwen2", num_key_value_heads=SIZES["num_attention_heads"])
    rows = [[*PROMPTS[0], 20 + n] for n in range(3)]
    with torch.inference_mode():
        decoder = SharedPrefixDecoder(model, PROMPTS[:1], [3], 4)
        decoder.step(torch.tensor([20, 21, 22]))
        alone = torch.stack([model(torch.tensor([row])).logits[0, -1] for row in rows])
    assert_equal(decoder.logits, alone)


@pytest.mark.usefixtures("float64")
def test_rows_after_prompts_that_begin_alike():
    model, prompts = a_model("qwen2"), ALIKE[0]
    with torch.inference_mode():
        decoder = SharedPrefixDecoder(model, prompts, [1] * len(prompts), 4)
        decoder.step(torch.tensor([20, 21, 22, 23, 24]))
        alone = [
            model(torch.tensor([[*prompt, 20 + n]])).logits[0, -1]
            for n, prompt in enumerate(prompts)
        ]
    assert_equal(decoder.logits, torch.stack(alone))


def test_a_beginning_in_common_is_computed_once():
    """Worked out: 3 tokens, then 2, 2, 2 and no new ones; the answers' last tokens are not read."""
    prompts, answers = ALIKE
    packed = PackedGroups(prompts, answers, torch.device("cpu"))
    assert packed.ids[:9].tolist() == [5, 6, 7, 8, 9, 9, 10, 11, 6]
    assert packed.positions[:9].tolist() == [0, 1, 2, 2, 3, 3, 4, 0, 1]
    assert len(packed.ids) == 9 + sum(len(ids) - 1 for group in answers for ids in group)
    # the ends of prompts predict the first tokens: 7 for both answers of the first and the last
    firsts = [0, 2, 5, 8, 9, 11, 13, 15]
    assert packed.predicts[firsts].tolist() == [2, 2, 4, 6, 6, 8, 2, 2]


def test_a_prompt_that_is_given_twice_is_one_text():
    """Answers of one token are not read at all; a prompt that another goes on from is read there."""
    packed = PackedGroups([[5, 6], [5, 6], [5]], [[[1]], [[2]], [[3]]], torch.device("cpu"))
    assert packed.prompts.lengths == (2,)
    assert packed.predicts.tolist() == [1, 1, 0]


def test_turns_of_a_conversation_are_read_once():
    """Worked out: the nodes of two prompts that hold the others, and the answers that none goes on."""
    prompts, answers = TURNS
    packed = PackedGroups(prompts, answers, torch.device("cpu"))
    # 5 6 20 21 7 22 1 8 9 | 23 24 7 | 30, then 25 26 of the first turn, 20 | 29 of the third, 31, 33
    assert packed.ids.tolist() == [
        5,
        6,
        20,
        21,
        7,
        22,
        1,
        8,
        9,
        23,
        24,
        7,
        30,
        25,
        26,
        20,
        29,
        31,
        33,
    ]
    # (20, 21, 1) and (23, 24) of the first turn are predicted by its end and within the prompts
    assert packed.predicts[:5].tolist() == [1, 2, 3, 1, 9]
    assert len(packed.predicts) == sum(len(ids) for group in answers for ids in group)


def test_prompts_that_share_half_of_their_tokens_are_grouped():
    """Worked out: in sorted order the groups are of 4, 4 and 1 tokens in common."""
    assert group_by_shared_prefix(AGENTS[0]) == [(4, [0, 2, 4]), (4, [1, 3]), (1, [5])]
    assert group_by_shared_prefix([(5, 6, 7), (5, 8, 9)]) == [
        (3, [0]),
        (3, [1]),
    ]  # a third is too little
    assert (
        group_by_shared_prefix([(5, 6, 9), (5, 6), (7,)]) == []
    )  # the first goes on from the second
    assert group_by_shared_prefix([(5, 6), (5, 6)]) == [(2, [0, 1])]


def test_answers_to_prompts_that_begin_alike_are_read_after_that_beginning():
    row = pack_groups(*AGENTS, torch.device("cpu"))
    # the beginnings, then the rest of each prompt and its answer but for the last token: the longest two,
    # then those that are shorter than half of the longest
    rests = [[20, 21, 23, 24], [31, 32, 33, 35, 36], [22], [22, 26], [30, 34], [27]]
    assert row.ids.tolist() == [
        5,
        6,
        7,
        8,
        40,
        41,
        42,
        43,
        50,
        *(i for rest in rests for i in rest),
    ]
    assert row.positions[9:].tolist() == [4, 5, 6, 7, 4, 5, 6, 7, 8, 4, 4, 5, 4, 5, 1]
    # in the order of the answers: 23 24 1 after 21 23 24, 34 1 after 30 34, 25 after 22, ...
    assert row.predicts.tolist() == [10, 11, 12, 21, 22, 18, 15, 16, 17, 19, 20, 8, 23]
    whole = pack_groups(*ALIKE, torch.device("cpu"))  # several answers to a prompt
    assert whole.ids.tolist() == PackedGroups(*ALIKE, torch.device("cpu")).ids.tolist()


def test_completions_are_read_in_levels_of_their_lengths():
    # 9 and 5 are at least half of 9, then 4 and 2 of 4, then 1, and what is empty
    assert group_by_length([4, 9, 1, 5, 0, 2]) == [[1, 3], [0, 5], [2], [4]]
    assert group_by_length([3, 3, 3]) == [[0, 1, 2]]
    assert group_by_length([]) == []


def test_a_long_completion_pads_no_others():
    """63 tokens in one of 64 completions: the grids have 63 cells for it and 8 for each of the others."""
    prompts = [[1, 2, n] for n in range(10, 18)]
    completions = [[[n, k, *range(7)] for k in range(20, 28)] for n in range(30, 38)]
    completions[3][2] = list(range(64))
    row = PackedGroups(prompts, completions, torch.device("cpu"))
    cells = [
        len(level.groups.lengths) * level.groups.width * level.completions.width
        for level in row.levels
    ]
    assert cells == [63, 8 * 8 * 8]


@pytest.mark.usefixtures("float64")
def test_rows_under_an_adapter_grow_as_rows_of_their_own(monkeypatch):
    model = adapted(a_model("qwen2"))  # with biases, that llama lacks
    grows_as_rows_of_their_own(model, True, monkeypatch)
    with lora.without_adapters(model):
        grows_as_rows_of_their_own(model, True, monkeypatch)


def grows_as_rows_of_their_own(model, few, monkeypatch):
    if not few:
        monkeypatch.setattr(llama_body, "is_faster_on_cpu", lambda model: False)
    assert llama_body.is_faster_on_cpu(model) == few
    rows = [list(PROMPTS[0])] * 2 + [list(PROMPTS[1])] * 3 + [list(PROMPTS[2])]
    noise = torch.Generator().manual_seed(0)
    with torch.inference_mode():
        decoder = SharedPrefixDecoder(model, PROMPTS, [2, 3, 1], 60)
        for step in range(40):
            if step in COMPARED:  # what goes wrong between them stays in the cache
                alone = torch.stack([model(torch.tensor([row])).logits[0, -1] for row in rows])
                assert_equal(decoder.logits, alone)
            if step in LEFT:
                decoder.keep(LEFT[step])
                rows = [rows[n] for n in LEFT[step]]
            tokens = torch.randint(VOCABULARY, (len(rows),), generator=noise)
            decoder.step(tokens)
            rows = [[*row, token] for row, token in zip(rows, tokens.tolist(), strict=True)]


def test_which_models_are_written_in_few_operations():
    plain = a_model("qwen2")
    assert llama_body.is_faster_on_cpu(plain)
    assert llama_body.is_faster_on_cpu(a_model("llama"))
    assert not llama_body.is_faster_on_cpu(a_model("llama", mlp_bias=True))
    assert not llama_body.is_faster_on_cpu(a_model("gemma"))
    assert llama_body.is_faster_on_cpu(adapted(a_model("qwen2")))
    assert not llama_body.is_faster_on_cpu(adapted(a_model("qwen2"), use_dora=True))
    assert not llama_body.is_faster_on_cpu(a_model("qwen2").to(torch.bfloat16))
    with torch.autocast("cpu", torch.bfloat16):
        assert not llama_body.is_faster_on_cpu(plain)


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
                decoder.keep([0, 1, 2, 3, 4])
                decoder.step(torch.tensor(tokens))


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("prompts", "answers"), KINDS.values(), ids=KINDS)
def test_the_fused_kernel_sees_what_the_blocks_see(prompts, answers):
    """Flex attention, uncompiled; on a CPU it has no backward pass."""
    model = a_model("qwen2")

    class Fused(fused.PackedTree):
        def attend(self, layer, query, key, value, scaling):
            return fused.attend(query, key, value, self.mask, scaling, kernel=flex_attention)

    with torch.no_grad():
        found, expected = (
            attention.run_with_layout(model, row.ids, row.positions, row)[row.predicts]
            for row in (
                kind(prompts, answers, torch.device("cpu")) for kind in (Fused, PackedGroups)
            )
        )
    assert_equal(found, expected)


def trees():
    """The last descendants in trees of several blocks of 128 tokens: groups, chains and both."""
    noise = random.Random(0)

    def text(length):
        return [noise.randrange(VOCABULARY) for _ in range(length)]

    for lengths in (
        [(100, 250, 60), (40, 90, 130)],
        [(128, 128), (128, 256)],
        [(1,) * 300, (2, 2)],
    ):
        trie = Trie()
        for prompt in lengths[0]:
            end = trie.add(text(prompt))[-1]
            for answer in lengths[1]:
                trie.add(text(answer), end)
        yield trie
    conversation = Trie()
    end = -1
    for length in (50, 200, 3, 300):
        end = conversation.add(text(length), end)[-1]
        for answer in (20, 140):
            conversation.add(text(answer), end)
    yield conversation
    one = Trie()
    one.add([5])
    yield one


LAST = []
for _trie in trees():
    places, last = _trie.preorder()
    LAST.append(torch.tensor(last)[torch.tensor(places).argsort()])


@pytest.mark.parametrize("last", LAST)
def test_blocks_that_are_computed_hold_all_that_is_seen(last):
    """Against torch's search through all pairs of tokens."""
    mask = fused.tree_mask(last, torch.device("cpu"))
    everything = create_block_mask(mask.mask_mod, None, None, len(last), len(last), device="cpu")
    assert torch.equal(mask.to_dense(), everything.to_dense())  # and nothing in vain


def test_a_float32_kernel_uses_tensor_cores_without_losing_precision():
    """Unless torch's own setting allows less."""
    mask = fused.tree_mask(LAST[0], torch.device("cpu"))
    options = []

    def kernel(query, key, value, *, kernel_options, **rest):
        options.append(kernel_options)
        return flex_attention(query, key, value, kernel_options=kernel_options, **rest)

    query, key, value = torch.randn(3, 1, 2, mask.seq_lengths[0], 16).unbind()
    fused.attend(query, key, value, mask, 0.25, kernel)
    fused.attend(query.bfloat16(), key.bfloat16(), value.bfloat16(), mask, 0.25, kernel)
    torch.set_float32_matmul_precision("high")
    try:
        fused.attend(query, key, value, mask, 0.25, kernel)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert options == [{"FLOAT32_PRECISION": "'tf32x3'"}, None, None]


@pytest.mark.long("g++ compiles a kernel for half a minute")
def test_the_compiled_kernel_computes_only_these_blocks():
    """Compiled for the CPU, flex attention skips the other blocks, as its GPU kernel does."""
    if shutil.which("g++") is None:
        pytest.skip("needs a C++ compiler")
    noise = torch.Generator().manual_seed(0)
    mask = fused.tree_mask(LAST[0], torch.device("cpu"))
    total = mask.seq_lengths[0]
    query, key, value = (torch.randn(1, h, total, 16, generator=noise) for h in (4, 2, 2))
    with torch.no_grad():
        found, expected = (
            fused.attend(query, key, value, mask, 0.25, kernel=kernel)
            for kernel in (torch.compile(flex_attention), flex_attention)
        )
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.long("needs a CUDA device")
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize(("prompts", "answers"), [(PROMPTS, ANSWERS), EVEN], ids=["ragged", "even"])
def test_a_gpu_gives_the_gradients_of_the_cpu(prompts, answers):
    found = []
    for device in ("cpu", "cuda"):
        model = a_model("qwen2", hidden_size=64, head_dim=16).to(device)
        likelihood(model, prompts, answers, Sampling(), pad_id=0).logprobs.sum().backward()
        found.append({name: gradient.cpu() for name, gradient in gradients(model).items()})
    for name, gradient in found[0].items():
        assert (found[1][name] - gradient).norm() <= 1e-2 * gradient.norm(), name  # other kernels


@pytest.mark.usefixtures("float64")
def test_last_states_are_those_of_texts_alone():
    model = a_model("llama")
    texts, counts = [(5, 6, 7, 8), (9,), (10, 11, 12), (5, 6, 7)], [2, 1, 3, 2]
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
    assert not attention.is_supported(model.config)
    answers = [[(1,) * 30, (2, 3)]]
    found = likelihood(model, [(4,) * 9], answers, Sampling(temperature=0.7), pad_id=0)
    for row, logprobs in enumerate(one_at_a_time(model, [(4,) * 9], answers)):
        assert_equal(found.logprobs[row, : len(logprobs)], logprobs)

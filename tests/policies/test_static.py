"""Static decoding steps sample what the decoder samples: the same tokens, and in float64 the same numbers."""

import contextlib
import gc
import math
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import peft
import pytest
import torch
from quick_cases import slow_but
from recorded import recorded
from test_layouts import VOCABULARY, a_model, adapted
from virtual_gpu import virtual_gpu

from llmzoo.models import llama_body, lora, static_rows, static_step, step_pool
from llmzoo.models.decode import sample
from llmzoo.models.precision import autocast
from llmzoo.models.sampling import Sampling, Uniforms

FAMILIES = ("llama", "mistral", "qwen2", "qwen3", "smollm3")
EOS = 7  # made likely, so that rows end at different times


@pytest.fixture
def static_steps(monkeypatch):
    """Call it, and samples grow by static steps, on this CPU too."""

    def use():
        step_pool._POOLS.clear()
        step_pool._IDLE_STEPS.clear()
        monkeypatch.setattr(static_rows, "is_faster_on_gpu", llama_body.is_supported)

    return use


def drawn(seed):
    """Prompts and settings of a call, at random."""
    rng = random.Random(seed)
    prompts = [
        tuple(rng.randrange(8, VOCABULARY) for _ in range(rng.choice([1, 3, 20, 70])))
        for _ in range(rng.randint(1, 5))
    ]
    prompts.insert(0, prompts[0])  # read once, with twice as many rows
    settings = Sampling(
        max_new_tokens=rng.choice([1, 2, 9, 33, 70]),
        temperature=rng.choice([0.3, 1.0, 1.5]),
        top_k=rng.choice([0, 0, 5]),
        top_p=rng.choice([1.0, 1.0, 0.8]),
    )
    cancelled = rng.randrange(20) if rng.random() < 0.3 else None
    ends = rng.sample(range(8, VOCABULARY), 3) if rng.random() < 0.5 else []

    def call(model):
        asked = 0

        def gives_up(prompt):
            nonlocal asked
            asked += 1
            return cancelled is not None and prompt == 0 and asked > cancelled

        return sample(
            model,
            prompts,
            rng_group,
            settings,
            eos_ids=[EOS],
            pad_id=0,
            keys=[3 * seed + n for n in range(len(prompts))],
            greedy=greedy,
            has_stopped=(lambda ids: ids[-1] in ends) if ends else None,
            cancelled=gives_up if cancelled is not None else None,
        )

    rng_group, greedy = rng.choice([1, 2, 3, 8]), rng.random() < 0.2
    return call


def ending(model):
    """The model, for which :data:`EOS` is a likelier token."""
    with torch.no_grad():
        head = model.get_output_embeddings().weight
        head[EOS] = head[8:12].mean(0)
    return model


def same(found, wanted):
    for rows, others in zip(found, wanted, strict=True):
        for row, other in zip(rows, others, strict=True):
            assert (row.ids, row.ended) == (other.ids, other.ended)
            assert row.logprobs == pytest.approx(other.logprobs, rel=1e-9, abs=1e-9)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("family", "kind"),
    slow_but(
        [("qwen3", "adapted"), ("smollm3", "plain")],
        [(family, kind) for family in FAMILIES for kind in ("plain", "adapted")],
    ),
)
def test_200_calls_at_random_sample_the_same(family, kind, static_steps):
    """20 calls each: rows and prompts of all lengths, ends, filters, stops, prompts that are given up.

    Their steps are repeated as a CUDA graph repeats them: operations on the same tensors, no Python.
    """
    model = ending(a_model(family))
    if kind == "adapted":
        model = adapted(model)
    calls = [drawn(seed) for seed in range(20)]
    wanted = [call(model) for call in calls]
    assert len({len(row.ids) for rows in wanted for each in rows for row in each}) > 10
    static_steps()
    with recorded() as graphs:
        for call, expected in zip(calls, wanted, strict=True):
            same(call(model), expected)
    assert graphs.replays > 100


def many_adapters(family, ranks=(4, 2, 3), **options):
    """A model with an adapter of each rank, on some of its layers, that has an effect."""
    model = a_model(family)
    for number, rank in enumerate(ranks):
        layers = ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj"][number:]
        config = peft.LoraConfig(r=rank, task_type="CAUSAL_LM", target_modules=layers, **options)
        if number:
            model.add_adapter(str(number), config)
        else:
            model = peft.get_peft_model(model, config, adapter_name="0")
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "lora" in name or "modules_to_save" in name:
                weights.add_(0.2 * torch.randn(weights.shape))
    return model.eval()


def drawn_jointly(seed, model):
    """A call for prompts of several adapters, and the same calls of each adapter alone."""
    rng = random.Random(seed)
    adapters = sorted(rng.sample("012", rng.choice([2, 3])))
    prompts, adapter_of = [], []
    for number in range(len(adapters)):
        mine = [
            tuple(rng.randrange(8, VOCABULARY) for _ in range(rng.choice([1, 3, 20, 70])))
            for _ in range(rng.randint(1, 4))
        ]
        prompts += mine if rng.random() < 0.5 else [mine[0], *mine]  # one is read once
        adapter_of += [number] * (len(prompts) - len(adapter_of))
    settings = Sampling(
        max_new_tokens=rng.choice([1, 9, 33, 70]),
        top_k=rng.choice([0, 5]),
        top_p=rng.choice([1.0, 0.8]),
    )
    keys, group_size = [3 * seed + n for n in range(len(prompts))], rng.choice([1, 2, 8])
    call = partial(sample, model, group_size=group_size, sampling=settings, eos_ids=[EOS], pad_id=0)

    def jointly(**options):
        return call(prompts, keys=keys, adapters=adapters, adapter_of=adapter_of, **options)

    def alone():
        found = []
        for number, adapter in enumerate(adapters):
            lora.activate(model, adapter)
            own = [n for n, its in enumerate(adapter_of) if its == number]
            mine = [prompts[n] for n in own]
            found += call(mine, keys=[keys[n] for n in own], cuda_graphs=False)
        return found

    return jointly, alone


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("family", slow_but(["qwen2"], FAMILIES))
def test_several_adapters_in_one_step_sample_what_each_samples_alone(family, static_steps):
    """20 calls at random: two or three adapters of other ranks and layers, rows that end, filters."""
    static_steps()
    model = ending(many_adapters(family))
    lengths = set()
    with recorded() as graphs:
        for seed in range(20):
            jointly, alone = drawn_jointly(seed, model)
            wanted = alone()
            same(jointly(), wanted)
            same(jointly(cuda_graphs=False), wanted)
            lengths |= {len(row.ids) for rows in wanted for row in rows}
            with torch.no_grad():  # as an update does
                for name, weights in model.named_parameters():
                    weights.mul_(1.01 if "lora" in name else 1.0)
    assert graphs.replays > 100
    assert len(lengths) > 10


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "reason", ["uneven", "lm_head", "norm", "post_attention_layernorm", "q_norm", "dora", "bias"]
)
def test_several_adapters_that_cannot_share_a_step_are_sampled_one_by_one(reason, static_steps):
    """Rows in very different numbers; or an adapter that changes more than the layers' matrices."""
    static_steps()
    options = {} if reason in ("uneven", "dora", "bias") else {"modules_to_save": [reason]}
    model, count = many_adapters("qwen3", **options), 18 if reason == "uneven" else 4
    if reason in ("dora", "bias"):
        more = {"use_dora": True} if reason == "dora" else {"lora_bias": True}
        config = peft.LoraConfig(r=2, target_modules=["o_proj"], task_type="CAUSAL_LM", **more)
        model.delete_adapter("2")
        model.add_adapter("2", config)
        for name, weights in model.named_parameters():
            if ".2." in name:
                torch.nn.init.normal_(weights, 1.0, 0.2)
        model.eval()
    call = partial(sample, model, sampling=Sampling(max_new_tokens=9), eos_ids=[EOS], pad_id=0)
    prompts, adapter_of = [(20 + n,) for n in range(count + 2)], [0] * count + [1, 2]
    finished = []
    model.set_adapter("0")
    with recorded():
        found = call(
            prompts,
            group_size=1,
            keys=range(count + 2),
            adapters=["0", "1", "2"],
            adapter_of=adapter_of,
            on_finished=lambda prompt, rows: finished.append(prompt),
        )
    assert not step_pool.steps_of_model(model)._joint_pools
    assert sorted(finished) == [*range(count + 2)]
    for prompt, rows in enumerate(found):
        lora.activate(model, "012"[adapter_of[prompt]])
        same([rows], call([prompts[prompt]], group_size=1, keys=[prompt], cuda_graphs=False))


def test_sets_of_adapters_that_take_turns_keep_one_copy_of_their_weights(static_steps):
    static_steps()
    model = many_adapters("llama")
    call = partial(sample, model, sampling=Sampling(max_new_tokens=3), eos_ids=[EOS], pad_id=0)
    known = step_pool.steps_of_model(model)
    for adapters in (["0", "1"], ["1", "2"], ["0", "1", "2"], ["0", "1"]):
        call(
            [(20,)] * len(adapters),
            group_size=1,
            keys=range(len(adapters)),
            adapters=adapters,
            adapter_of=range(len(adapters)),
        )
        assert [key[0] for key in known._joint_pools] == [tuple(adapters)]
    assert step_pool.steps_of_model(model) is known


def test_a_step_of_several_adapters_takes_the_operations_of_one(static_steps):
    static_steps()
    model = many_adapters("llama")
    call = partial(
        sample, model, group_size=4, sampling=Sampling(max_new_tokens=5), eos_ids=[], pad_id=0
    )
    with recorded() as graphs:
        lora.activate(model, "0")
        call([(20,)], keys=[0])
        call([(20,), (21,)], keys=[0, 1], adapters=["0", "1"], adapter_of=[0, 1])
    one, both = graphs.operations
    assert both == one


@pytest.mark.parametrize("precision", ["bf16", "bf16_autocast"])
def test_several_adapters_in_half_precision_round_no_more_than_one(precision, static_steps):
    """Mean distance of the first tokens' log-probabilities from those of each adapter alone."""
    static_steps()
    model = many_adapters("qwen3")
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    apart = []
    with recorded(), autocast(model.device, precision):
        for seed in range(10):
            jointly, alone = drawn_jointly(seed, model)
            for rows, others in zip(jointly(), alone(), strict=True):
                for row, other in zip(rows, others, strict=True):
                    pairs = zip(row.ids, row.logprobs, other.ids, other.logprobs, strict=False)
                    for ours, found, theirs, wanted in pairs:
                        if ours != theirs:
                            break
                        apart.append(abs(found - wanted))
    assert len(apart) > 100
    assert sum(apart) / len(apart) < 0.02


@pytest.mark.usefixtures("float64")
def test_steps_use_the_weights_and_the_adapter_of_now(static_steps):
    model = adapted(a_model("qwen2"))
    call = drawn(1)

    def each_way():
        return [call(model), bare(), first()]

    def bare():
        with lora.without_adapters(model):
            return call(model)

    def first():
        model.set_adapter("first")
        try:
            return call(model)
        finally:
            model.set_adapter("second")

    def trained():
        with torch.no_grad():
            for weights in model.parameters():
                weights.add_(
                    torch.sin(torch.arange(weights.numel())).view(weights.shape), alpha=0.05
                )

    def replaced():
        """Other weights, at other places."""
        for weights in model.parameters():
            weights.data = weights.data + 0.1 * torch.cos(weights.data)

    wanted = [each_way()]
    before = {name: weights.clone() for name, weights in model.named_parameters()}
    for change in (trained, replaced):
        change()
        wanted.append(each_way())
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.copy_(before[name])
    static_steps()
    with recorded():
        for found, expected in zip(each_way(), wanted[0], strict=True):
            same(found, expected)
        for change, after in zip((trained, replaced), wanted[1:], strict=True):
            change()
            for found, expected in zip(each_way(), after, strict=True):
                same(found, expected)
    different = [[row.logprobs for row in rows[0]] for way in wanted for rows in way]
    assert len({str(each) for each in different}) == 8  # the adapter "first" did nothing at first


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    "options",
    [
        {"target_modules": ["gate_proj", "down_proj"]},  # the bare base reads its own weights there
        {"target_modules": ["o_proj"]},
        {
            "target_modules": ["k_proj"],
            "modules_to_save": ["lm_head"],
        },  # and not the first projection
    ],
    ids=["down", "out", "head"],
)
def test_adapters_of_few_layers_are_told_apart_and_leave_the_base_as_it_is(options, static_steps):
    config = peft.LoraConfig(r=4, task_type="CAUSAL_LM", **options)
    model = peft.get_peft_model(a_model("llama"), config, adapter_name="first")
    model.add_adapter("second", config)
    torch.manual_seed(1)
    with torch.no_grad():
        for name, weights in model.named_parameters():
            if "first" in name or "second" in name:
                weights.add_(0.2 * torch.randn(weights.shape))
    model.eval()
    call = drawn(1)

    def each_way():
        with lora.without_adapters(model):
            found = [call(model)]
        for adapter in ("first", "second", "first"):
            model.set_adapter(adapter)
            found.append(call(model))
        return found

    wanted = each_way()
    before = {name: weights.clone() for name, weights in model.state_dict().items()}
    static_steps()
    with recorded():
        for _ in range(2):
            for found, expected in zip(each_way(), wanted, strict=True):
                same(found, expected)
    for name, weights in model.state_dict().items():
        assert torch.equal(weights, before[name]), name


@pytest.mark.usefixtures("float64")
def test_weights_that_are_no_numbers_are_forgotten(static_steps):
    static_steps()
    model = a_model("llama")
    call = drawn(0)
    with recorded():
        wanted = call(model)
        weights = model.model.layers[0].self_attn.v_proj.weight
        before = weights.detach().clone()
        with torch.no_grad():
            weights.fill_(math.nan)
            with contextlib.suppress(RuntimeError):
                call(model)
            weights.copy_(before)
        same(call(model), wanted)


@pytest.mark.parametrize(
    ("counts", "new"), [([256, *[8] * 32], 8), ([8], 2**20)], ids=["uneven", "long"]
)
def test_a_step_that_would_be_far_too_large_is_not_made(counts, new, static_steps):
    static_steps()
    model, prompts = a_model("llama"), [(20 + n,) for n in range(len(counts))]
    sampling = Sampling(max_new_tokens=new)
    uniforms = Uniforms(range(len(counts)), 8, model.device)
    made = static_rows.make_static_rows(model, prompts, counts, sampling, uniforms, greedy=True)
    assert made is None
    few = static_rows.make_static_rows(model, [(20,)], [8], Sampling(), uniforms, greedy=True)
    assert few is not None


def test_models_in_threads_of_their_own_share_the_steps_in_peace(static_steps, monkeypatch):
    static_steps()
    monkeypatch.setattr(
        step_pool, "total_memory", lambda device: 8e6
    )  # so that steps go all the time
    models = [a_model("llama") for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(3) as threads:
            found = [*threads.map(lambda model: [drawn(n)(model) for n in range(6)], models)]
    finally:
        sys.setswitchinterval(before)
    ids = [[[row.ids for rows in call for row in rows] for call in calls] for calls in found]
    assert ids[0] == ids[1] == ids[2]


@pytest.mark.parametrize(("family", "most"), [("llama", 23), ("qwen3", 25)])
def test_a_layer_takes_few_operations(family, most, static_steps):
    """Half of what the model's own layers take: examples/benchmark/operations.py."""
    static_steps()

    def operations(layers):
        model = adapted(a_model(family, num_hidden_layers=layers))
        with recorded() as graphs:
            drawn(0)(model)
        return graphs.operations[0]

    two, four = operations(2), operations(4)
    assert (four - two) / 2 <= most
    assert two - (four - two) <= 55  # what comes before and after the layers, with sampling


@pytest.mark.parametrize("family", ["llama", "qwen3"])
@pytest.mark.parametrize("precision", ["bf16", "bf16_autocast"])
def test_in_half_precision_it_rounds_no_more_than_the_decoder(family, precision, static_steps):
    """Mean distance of log-probabilities from those of float32, as long as the tokens are the same."""
    exact, model = adapted(a_model(family)), adapted(a_model(family))
    if precision == "bf16":
        model = model.to(torch.bfloat16)
    call = drawn(5)

    def rows():
        with autocast(model.device, precision):
            return [row for given in call(model) for row in given]

    def rounded(found):
        apart = []
        for ours, theirs in zip(found, wanted, strict=True):
            for at, pair in enumerate(zip(ours.logprobs, theirs.logprobs, strict=False)):
                if ours.ids[: at + 1] != theirs.ids[: at + 1]:
                    break
                apart.append(abs(pair[0] - pair[1]))
        assert len(apart) > 50
        return sum(apart) / len(apart)

    wanted = [row for given in call(exact) for row in given]
    decoded = rounded(rows())
    static_steps()
    with recorded():
        assert rounded(rows()) < 1.5 * decoded + 0.005 < 0.05
    assert {step._keys.dtype for step in step_pool._IDLE_STEPS.values()} == {torch.bfloat16}


def test_a_young_adapter_counts_in_half_precision():
    """Merged into a base of ones, 0.001 a weight would round away: bfloat16 has 1, and next 1.0078."""
    projection = adapted(a_model("llama")).get_decoder().layers[0].self_attn.o_proj
    (adapter,) = projection.active_adapters
    with torch.no_grad():
        signs = torch.tensor([1.0, -1.0]).repeat(16)
        projection.base_layer.weight.copy_(signs.expand(32, 32))  # a row adds up to 0
        projection.lora_A[adapter].weight.fill_(0.25)
        rank, scaling = len(projection.lora_A[adapter].weight), projection.scaling[adapter]
        projection.lora_B[adapter].weight.fill_(0.001 / (0.25 * rank * scaling))
    merged = lora.merged_weight(projection).to(torch.bfloat16)
    assert torch.equal(merged, projection.base_layer.weight.to(torch.bfloat16))
    ones = torch.ones(1, 32, dtype=torch.bfloat16)
    with torch.inference_mode():
        product = llama_body._make_product([projection], torch.bfloat16, [None])
        for found in (
            product(ones),
            product.add_to(0 * ones, ones),
            product.add_to(0 * ones.float(), ones),
        ):
            assert found.flatten().tolist() == pytest.approx([0.032] * 32, rel=0.01)
        assert product.add_to(0 * ones.float(), ones).dtype == torch.float32  # under autocast


def test_sharded_models_have_no_static_steps(monkeypatch):
    monkeypatch.setattr(step_pool, "is_sharded", lambda model: True)
    with virtual_gpu():
        assert not static_rows.is_faster_on_gpu(a_model("llama").to("cuda"))
    monkeypatch.undo()
    with virtual_gpu():
        assert static_rows.is_faster_on_gpu(a_model("llama").to("cuda"))


def test_shapes_are_few():
    of = static_step.StepShape.for_call
    assert of([3, 8], [5, 64], 20, [0, 0], 1) == static_step.StepShape(2, 8, 64, 32, 1)
    assert of([8] * 33, [65], 129, [0] * 33, 1) == static_step.StepShape(64, 8, 128, 256, 1)
    assert of([1], [1], 1, [0], 1).slots == 1
    two = of([1] * 4, [1] * 4, 1, [0, 1, 1, 1], 2)
    assert two == static_step.StepShape(8, 1, 64, 32, 2)
    assert two.places([0, 1, 1, 1]) == [0, 4, 5, 6]


def test_rows_move_to_a_smaller_step_when_half_have_left(static_steps):
    static_steps()
    model = ending(a_model("llama"))
    sizes = []
    reset = static_step.StaticStep.reset

    def record_reset(step, *args):
        sizes.append(step.shape.slots)
        reset(step, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_step.StaticStep, "reset", record_reset)
        sample(
            model,
            [(20, 21), (22,), (23, 24), (25,)],
            8,
            Sampling(max_new_tokens=60),
            eos_ids=[EOS, *range(8, 20)],
            pad_id=0,
            keys=range(4),
        )
    assert sizes[0] == 32
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] <= 8


def test_the_steps_of_a_model_go_with_it_and_the_oldest_when_memory_is_short(
    static_steps, monkeypatch
):
    static_steps()
    gc.collect()
    step_pool._IDLE_STEPS.clear()
    sampling = Sampling(max_new_tokens=5)

    def call(model, prompts):
        keys = range(len(prompts))
        sample(model, prompts, 1, sampling, eos_ids=[], pad_id=0, keys=keys)
        return [key[1].slots for key in step_pool._IDLE_STEPS]

    first, second = a_model("llama"), a_model("llama")
    assert call(first, [(20,)]) == [1]
    assert call(second, [(20,), (21,)]) == [1, 2]
    size = sum(step.cache_bytes for step in step_pool._IDLE_STEPS.values())
    monkeypatch.setattr(step_pool, "total_memory", lambda device: 10.0 * size)  # of which a tenth
    assert call(first, [(20,)]) == [2, 1]
    assert call(first, [(20,), (21,), (22,)]) == [4]  # as large as all that was allowed
    del first
    gc.collect()
    assert not step_pool._IDLE_STEPS


def test_a_step_is_made_once_for_calls_of_one_shape(static_steps):
    static_steps()
    model = a_model("llama")
    call = partial(
        sample, model, group_size=2, sampling=Sampling(max_new_tokens=5), eos_ids=[], pad_id=0
    )
    with recorded() as graphs:
        call(prompts=[(20, 21), (22,)], keys=[0, 1])
        assert graphs.captures == 1
        call(prompts=[(20,), (22, 23, 24)], keys=[0, 1])
        assert graphs.captures == 1
        call(prompts=[(20,)], keys=[0])
        assert graphs.captures == 2
    assert graphs.replays == 3 * 4

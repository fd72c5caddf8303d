"""The sampler against transformers' own generate, and its log-probabilities against training's."""

import peft
import pytest
import torch
from float64 import assert_equal
from tiny_models import group, model, policy, tokenizer

from llmzoo.models.sampling import Sampling
from llmzoo.policies import sampling_passes
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group

pytestmark = pytest.mark.usefixtures("float64")

PROMPTS = ["up", "the answer is 12 down 0 0 left", "R 9\n\n. the right answer"]


def with_lora(base):
    torch.manual_seed(1)
    adapted = peft.get_peft_model(
        base, peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    )
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:  # zero at the start, when the adapter would do nothing
            torch.nn.init.normal_(parameter, std=0.3)
    return adapted.eval()


def a_policy(kind, lora, **options):
    base = model(kind)
    return TransformersPolicy(with_lora(base) if lora else base, tokenizer(), **options)


def requests(prompts=PROMPTS):
    return [PolicyRequest(agent="a_0", observation=p, env=None) for p in prompts]


@pytest.mark.parametrize(
    ("prompts", "kind", "lora"),
    [(PROMPTS[:1], "llama", True), (PROMPTS, "llama", False), (PROMPTS, "qwen2", True)],
    ids=["one", "ragged", "ragged_adapter"],
)
def test_greedy_equals_generate(kind, lora, prompts):
    player = a_policy(kind, lora, sampling=Sampling(max_new_tokens=20))
    found = player.respond(requests(prompts), greedy=True)
    for prompt, (completion,) in zip(prompts, found, strict=True):
        inputs = player.tokenizer(prompt, return_tensors="pt")
        expected = player.model.generate(
            **inputs, max_new_tokens=20, do_sample=False, pad_token_id=player.pad_id
        )[0, inputs["input_ids"].shape[1] :]
        assert list(completion.ids) == expected.tolist()
        assert len(set(completion.ids)) > 1  # not a model that repeats one token


FILTERED = Sampling(max_new_tokens=16, temperature=0.7, top_p=0.8, top_k=20)


@pytest.mark.parametrize(
    ("sampling", "kind", "lora"),
    [
        (Sampling(max_new_tokens=16), "qwen2", True),
        (FILTERED, "qwen2", False),
        (FILTERED, "llama", True),
    ],
    ids=["plain", "filtered", "filtered_adapter"],
)
def test_training_recomputes_the_sampled_logprobs(kind, lora, sampling):
    player = a_policy(kind, lora, sampling=sampling)
    # an unlikely end makes rows ragged
    found = player.respond(requests(), 6)
    groups = [
        Group(
            agent="a_0",
            turn=0,
            key=(i,),
            prompt_ids=completions[0].prompt_ids,
            completions=tuple(completions),
            returns=(0.0,) * 6,
        )
        for i, completions in enumerate(found)
    ]
    again = player.likelihood(groups)
    flat = [c for g in groups for c in g.completions]
    assert again.mask.sum().item() == sum(len(c.ids) for c in flat)
    for row, completion in enumerate(flat):
        n = len(completion.ids)
        assert_equal(again.logprobs[row, :n], torch.tensor(completion.logprobs))
        assert again.logprobs[row, n:].abs().sum().item() == 0


@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_shared_prompt_equals_one_row_at_a_time(kind):
    """Loss and gradients through the shared cache equal those of plain, unpadded rows."""
    player = policy(kind)
    prompts = [(5, 6, 7), (8, 9, 10, 11, 12), (13,)]
    completions = [[(20, 21), (22, 23, 24, 0)], [(25, 0), (26,)], [(27, 28, 29), (30, 31)]]
    groups = [group(answers, prompt=p) for p, answers in zip(prompts, completions, strict=True)]
    together = player.likelihood(groups)
    weights = torch.linspace(-1, 1, 6).unsqueeze(-1)
    (together.logprobs * weights).sum().backward()
    gradients = [p.grad.clone() for p in player.model.parameters()]

    player.model.zero_grad()
    row, total = 0, torch.zeros(())
    for prompt, answers in zip(prompts, completions, strict=True):
        for ids in answers:
            logits = player.model(torch.tensor([[*prompt, *ids]])).logits[0]
            logprobs = logits.log_softmax(-1)
            start = len(prompt) - 1
            alone = torch.stack([logprobs[start + j, token] for j, token in enumerate(ids)])
            assert_equal(together.logprobs[row, : len(ids)], alone)
            total = total + weights[row, 0] * alone.sum()
            row += 1
    total.backward()
    for ours, parameter in zip(gradients, player.model.parameters(), strict=True):
        assert_equal(ours, parameter.grad)


def test_uneven_groups_share_a_batch():
    player = policy()
    groups = [
        group(answers, prompt=p)
        for p, answers in [((5, 6), [(7, 8), (9,), (10, 11)]), ((5, 6, 7, 8), [(9, 10)])]
    ]
    together = player.likelihood(groups).logprobs
    apart = [player.likelihood([g]).logprobs for g in groups]
    assert_equal(together[:3], apart[0])
    assert_equal(together[3:], apart[1])


def test_sampling_settings_of_an_agent():
    player = policy(samplings={"short_1": Sampling(max_new_tokens=2)})
    asked = [
        PolicyRequest(agent="long_0", observation="up", env=None),
        PolicyRequest(agent="short_1", observation="up", env=None),
    ]
    (long,), (short,) = player.respond(asked)
    assert len(short.ids) <= 2 < len(long.ids) or long.ids[-1] in player.eos_ids


def test_stop_strings_end_an_answer_and_stay_out_of_its_text():
    free = policy(sampling=Sampling(max_new_tokens=12))
    (whole,) = free.respond(requests(["up"]), greedy=True)[0]
    stop = whole.text[4:6]
    (cut,) = policy(sampling=Sampling(max_new_tokens=12, stop=(stop,))).respond(
        requests(["up"]), greedy=True
    )[0]
    assert cut.text == whole.text[: whole.text.index(stop)]
    assert not cut.truncated
    assert cut.ids == whole.ids[: len(cut.ids)]


def test_an_answer_at_the_token_limit_is_marked_truncated():
    (only,) = policy(sampling=Sampling(max_new_tokens=1)).respond(requests(["up"]), greedy=True)[0]
    assert only.truncated == (only.ids[-1] not in policy().eos_ids)


def test_the_same_seed_samples_the_same():
    def texts(seed):
        return (
            [c.text for cs in policy(seed=0).respond(requests(), 4) for c in cs]
            if seed is None
            else [
                c.text
                for cs in TransformersPolicy(
                    model(), tokenizer(), sampling=Sampling(max_new_tokens=8), seed=seed
                ).respond(requests(), 4)
                for c in cs
            ]
        )

    assert texts(3) == texts(3)
    assert texts(3) != texts(4)


def test_a_prompt_beyond_the_context_is_answered_empty_and_never_trained_on():
    player = policy()
    with pytest.warns(UserWarning, match="exceeds the available context"):
        first, second = player.respond(requests(["1" * 300, "up"]), 2)
    assert [c.text for c in first] == ["", ""]
    assert not any(c.trainable for c in first)
    assert all(c.trainable for c in second)


def test_a_chat_template_is_applied_where_there_is_one():
    plain = policy()
    chat = policy(system="be brief")
    chat.tokenizer.chat_template = (
        "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    assert plain.tokenizer.decode(plain.encode("up")) == "up"
    assert chat.tokenizer.decode(chat.encode("up")) == "<system>be brief<user>up<assistant>"


def test_rows_that_ended_do_not_change_the_others():
    """Compaction: the same noise gives the same answers when max_rows splits the batch or not."""
    wide = policy(sampling=Sampling(max_new_tokens=12), max_rows=512)
    narrow = policy(sampling=Sampling(max_new_tokens=12), max_rows=1)
    together = wide.respond(requests(), greedy=True)
    apart = narrow.respond(requests(), greedy=True)
    assert [c[0].ids for c in together] == [c[0].ids for c in apart]


def test_long_prompts_are_read_in_several_passes(monkeypatch):
    """The memory of their keys and values is bounded, and answers are those of one pass."""
    asked, sizes, sample = requests(), [], sampling_passes.sample
    together = policy().respond(asked, 2)
    most = max(len(completions[0].prompt_ids) for completions in together)
    monkeypatch.setattr(sampling_passes, "PROMPT_TOKENS_PER_PASS", most)

    def counted(model, prompts, *args, **options):
        sizes.append(sum(map(len, prompts)))
        return sample(model, prompts, *args, **options)

    monkeypatch.setattr(sampling_passes, "sample", counted)
    assert [[c.ids for c in k] for k in policy().respond(asked, 2)] == [
        [c.ids for c in k] for k in together
    ]
    assert len(sizes) > 1
    assert max(sizes) <= most


def test_growing_rows_are_reported_until_they_end():
    seen = []

    def on_growth(rows):
        seen.append([tuple(row) for row in rows])

    asked = [
        PolicyRequest(agent="a", observation=text, env=None, key=key, on_growth=listener)
        for key, (text, listener) in enumerate([("up", on_growth), ("left", None)])
    ]
    (rows, _) = policy(sampling=Sampling(max_new_tokens=20)).respond(asked, 2)
    whole = [completion.ids for completion in rows]
    assert len(seen) >= max(map(len, whole)) - 1  # a read for each token on a CPU
    for grown in seen:
        assert [ids[: len(part)] for ids, part in zip(whole, grown, strict=True)] == grown
    lengths = [sum(map(len, grown)) for grown in seen]
    assert lengths == sorted(lengths)

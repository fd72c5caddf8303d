"""vLLM in the process that trains, against a stand-in for it that samples from a real model."""

from __future__ import annotations

import random
from pathlib import Path

import fake_vllm
import numpy as np
import pytest
import torch
from tiny_models import policy

from llmzoo.errors import ConfigError
from llmzoo.models.decode import SamplerError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.vllm.config import VllmArgs
from llmzoo.policies.vllm.sampler import attach_samplers
from llmzoo.records import Completion, Group

PROMPTS = ["up down", "left right up down 0123 LRUD", "9"]
SAMPLING = Sampling(max_new_tokens=8)
# the engine has its own threads and files, so this is float32. Its rounding, 6e-8 of the numbers
# inside the model, becomes 1e-4 of a log-probability after `change`; other weights make it 6 and more
CLOSE = 1e-2
pytestmark = pytest.mark.slow


@pytest.fixture
def vllm():
    with fake_vllm.installed() as llm:
        yield llm


def started(*policies, **args):
    """Policies that sample from one engine."""
    attach_samplers(policies, "vllm", VllmArgs(**args))
    return fake_vllm.LLM.made[-1]


def drawn(policy, k=3, sampling=SAMPLING, keys=(1, 2, 3), greedy=False):
    prompts = [policy.encode(text) for text in PROMPTS]
    rows = policy.sampler.sample(prompts, k, sampling, keys=keys, greedy=greedy)
    return prompts, rows


def difference(policy, sampling=SAMPLING, k=3):
    """How far the engine's log-probabilities are from the policy's own: the largest."""
    prompts, answers = drawn(policy, k, sampling)
    policy.sampling = sampling
    worst = 0.0
    for prompt, rows in zip(prompts, answers, strict=True):
        written = [Completion(text="", ids=tuple(r.ids), logprobs=tuple(r.logprobs)) for r in rows]
        group = Group(
            agent="a",
            turn=0,
            key=(0,),
            prompt_ids=prompt,
            completions=tuple(written),
            returns=(0.0,) * k,
        )
        with torch.no_grad():
            own = policy.likelihood([group]).logprobs
        for line, row in zip(own, rows, strict=True):
            there = torch.tensor(row.logprobs)
            worst = max(worst, float((line[: len(there)] - there).abs().max()))
    return worst


def change(policy, by=0.3):
    with torch.no_grad():
        for number, weight in enumerate(policy.parameters()):
            noise = torch.Generator().manual_seed(number)
            weight.add_(torch.randn(weight.shape, generator=noise), alpha=by)


@pytest.mark.parametrize(
    "sampling",
    [
        SAMPLING,
        Sampling(max_new_tokens=8, temperature=0.7, top_k=5),
        Sampling(max_new_tokens=8, temperature=1.5, top_p=0.8),
        Sampling(max_new_tokens=8, temperature=0.7, top_p=0.9, top_k=9),
    ],
)
def test_log_probabilities_are_of_what_was_sampled_from(vllm, sampling):
    plays = policy()
    engine = started(plays)
    assert difference(plays, sampling) < CLOSE
    assert engine.arguments["logprobs_mode"] == "processed_logprobs"


@pytest.mark.parametrize("kind", ["qwen2", "llama"])
def test_new_weights_are_sampled_from_once_synced(vllm, kind):
    plays = policy(kind)
    started(plays)
    change(plays)
    assert difference(plays) > 0.5  # the weights of before
    plays.sampler.sync_weights()
    assert difference(plays) < CLOSE


def test_what_was_read_with_older_weights_is_forgotten(vllm):
    plays = policy()
    engine = started(plays)
    drawn(plays)
    drawn(plays)
    assert engine.calls.prompts_read == len(PROMPTS)  # the second time from the prefix cache
    change(plays)
    forget, engine.reset_prefix_cache = engine.reset_prefix_cache, lambda: True
    plays.sampler.sync_weights()
    assert difference(plays) > 0.1  # new weights on the keys and values of older ones
    engine.reset_prefix_cache = forget
    plays.sampler.sync_weights()
    assert difference(plays) < CLOSE
    engine.faults.busy = True
    with pytest.raises(SamplerError, match="prefix cache"):
        plays.sampler.sync_weights()


def test_k_answers_are_one_request_and_noise_is_a_requests_own(vllm):
    plays = policy()
    engine = started(plays)
    prompts, together = drawn(plays, k=4)
    assert engine.calls.prompts == [3]
    alone = plays.sampler.sample([prompts[1]], 4, SAMPLING, keys=[2])
    assert [row.ids for row in alone[0]] == [row.ids for row in together[1]]
    assert len({tuple(row.ids) for row in together[1]}) > 1
    other = plays.sampler.sample([prompts[1]], 4, SAMPLING, keys=[20])
    assert [row.ids for row in other[0]] != [row.ids for row in together[1]]


def test_the_end_of_a_row(vllm):
    plays = policy()
    started(plays)
    (eos,) = plays.eos_ids
    _, answers = drawn(plays, k=12)
    rows = [row for of_prompt in answers for row in of_prompt]
    assert {row.ended for row in rows} == {True, False}
    for row in rows:
        assert row.ended == (row.ids[-1] == eos)  # which stays in the row
        assert row.ended or len(row.ids) == SAMPLING.max_new_tokens
        assert eos not in row.ids[:-1]


def test_stop_strings_end_a_row_and_stay_in_its_ids(vllm):
    plays = policy()
    started(plays)
    stopping = Sampling(max_new_tokens=16, stop=("up", "1"))
    _, answers = drawn(plays, k=8, sampling=stopping)
    texts = [plays.tokenizer.decode(r.ids, skip_special_tokens=True) for a in answers for r in a]
    stopped = [text for text in texts if "up" in text or "1" in text]
    assert len(stopped) > 2
    assert all(text.count("up") + text.count("1") == 1 for text in stopped)


def test_greedy(vllm):
    plays = policy()
    started(plays)
    prompts, answers = drawn(plays, k=1, greedy=True)
    for prompt, (row,) in zip(prompts, answers, strict=True):
        with torch.no_grad():
            logits = plays.model(torch.tensor([[*prompt, *row.ids]])).logits[
                0, len(prompt) - 1 : -1
            ]
        assert logits.argmax(-1).tolist() == row.ids


@pytest.mark.slow
def test_an_agent_each_on_one_base(vllm):
    base = policy()
    agents = base.with_adapters(["alice", "bob"], r=4)
    alice, bob = agents.values()
    engine = started(alice, bob)
    assert len(vllm.made) == 1
    assert engine.arguments["enable_lora"]
    assert engine.arguments["max_loras"] == 2
    assert engine.arguments["max_lora_rank"] == 8  # the least that vLLM makes room for, from 4
    change(alice)
    assert difference(alice) > 0.1
    alice.sampler.sync_weights()
    assert difference(alice) < CLOSE
    assert difference(bob) < CLOSE
    _, before = drawn(alice)
    change(bob)
    bob.sampler.sync_weights()
    assert difference(bob) < CLOSE
    assert [r.ids for a in drawn(alice)[1] for r in a] == [r.ids for a in before for r in a]
    for by in (-0.2, 0.1, -0.1):  # an adapter that vLLM has read is never asked for again
        change(alice, by)
        alice.sampler.sync_weights()
        assert difference(alice) < CLOSE


@pytest.mark.parametrize("options", [{"use_dora": True}, {"rank_pattern": {"q_proj": 2}}])
def test_adapters_that_vllm_cannot_compute_with(vllm, options):
    agents = policy().with_adapters(["alice"], r=4, **options)
    with pytest.raises(ConfigError, match="plain LoRA"):
        started(*agents.values())


def test_models_apart_have_an_engine_each(vllm):
    one, other = policy(seed=0), policy(seed=1)
    started(one, other)
    assert len(vllm.made) == 2
    assert difference(one) < CLOSE
    assert difference(other) < CLOSE


@pytest.mark.parametrize("lora", [False, True])
def test_sleep_while_the_weights_change(vllm, lora):
    plays = policy()
    if lora:
        (plays,) = plays.with_adapters(["alice"], r=4).values()
    engine = started(plays, sleep=True)
    drawn(plays)
    plays.sampler.rest()
    plays.sampler.rest()  # once for each policy that shares it
    # 2 drops the weights, for new ones come; adapters leave the base as it is, which 1 keeps
    assert engine.calls.sleeps == [1 if lora else 2]
    change(plays)
    plays.sampler.sync_weights()
    assert difference(plays) < CLOSE
    plays.sampler.rest()
    assert difference(plays) < CLOSE  # asked before it was synced: it wakes with the weights of now


def test_engines_apart_do_not_sleep(vllm):
    """vLLM puts all engines of a process to sleep at once (verl#1193)."""
    with pytest.raises(ConfigError, match="only one engine of a process can sleep, and 2 models"):
        started(policy(seed=0), policy(seed=1), sleep=True)
    assert not vllm.made


def test_without_sleep_it_stays_awake(vllm):
    plays = policy()
    engine = started(plays)
    plays.sampler.rest()
    assert engine.calls.sleeps == []
    assert difference(plays) < CLOSE


def test_the_start_leaves_chance_as_it_was(vllm):
    plays = policy()
    torch.manual_seed(5), random.seed(5), np.random.seed(5)  # noqa: NPY002
    wanted = (torch.rand(1).item(), random.random(), np.random.rand())  # noqa: NPY002
    torch.manual_seed(5), random.seed(5), np.random.seed(5)  # noqa: NPY002
    started(plays)
    assert (torch.rand(1).item(), random.random(), np.random.rand()) == wanted  # noqa: NPY002


def test_what_does_not_fit(vllm):
    plays = policy()
    started(plays, max_model_len=16)
    assert plays.sampler.context == 16
    plays.sampler.sample([[3] * 8], 1, SAMPLING, keys=[0])  # 8 and 8 new ones
    for prompt in ([3] * 9, []):
        with pytest.raises(ConfigError, match="max_model_len"):
            plays.sampler.sample([prompt], 1, SAMPLING, keys=[0])


def test_answers_given_up_and_tokens_of_another_model(vllm):
    plays = policy()
    engine = started(plays)
    engine.faults.abort = True
    with pytest.raises(SamplerError, match="did not finish"):
        drawn(plays)
    engine.faults.abort, engine.faults.beyond = False, True
    with pytest.raises(SamplerError, match="another model"):
        drawn(plays)


def test_a_bare_base_has_no_sampler(vllm):
    base = policy()
    base.with_adapters(["alice"], r=4)
    with pytest.raises(ConfigError, match="bare base"):
        started(base)


def test_close(vllm):
    plays = policy()
    engine = started(plays)
    folder = plays.sampler.engine._folder.name
    plays.sampler.close()
    plays.sampler.close()
    assert not engine.running
    assert not Path(folder).exists()

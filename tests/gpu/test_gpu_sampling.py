"""Sampling on a virtual GPU: the host rarely waits for the device, and answers are those of the CPU."""

import threading

import pytest
import torch
from float64 import in_float64
from tiny_models import model, tokenizer
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from virtual_gpu import virtual_gpu

from llmzoo.models import decode, static_rows
from llmzoo.models.sampling import Sampling
from llmzoo.policies import sampling_passes
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.rollout import scheduler
from llmzoo.rollout.scheduler import SampleRequest
from llmzoo.runs.policy_loading import use_samplers

pytestmark = pytest.mark.slow

PROMPTS = ["up", "the answer is 12", "up", "R 9\n\n. the right answer"]


def requests(events=None):
    events = events or [None] * len(PROMPTS)
    return [
        PolicyRequest(agent="a_0", observation=prompt, env=None, noise=n, cancelled=event)
        for n, (prompt, event) in enumerate(zip(PROMPTS, events, strict=True))
    ]


def player(device, made=None, **sampling):
    return TransformersPolicy(
        (made or model()).to(device), tokenizer(), sampling=Sampling(**sampling)
    )


def neox():
    """A family that :mod:`llmzoo.models.attention` does not support."""
    torch.manual_seed(0)
    tok = tokenizer()
    config = GPTNeoXConfig(
        vocab_size=len(tok),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=128,
        initializer_range=0.3,
        eos_token_id=tok.eos_token_id,
        bos_token_id=None,
        pad_token_id=tok.pad_token_id,
    )
    return GPTNeoXForCausalLM(config).eval()


@pytest.mark.parametrize(
    ("family", "group_size"), [(model, 8), (neox, 2)], ids=["shared_prefix", "cache"]
)
def test_the_host_never_reads_while_rows_grow(family, group_size):
    """32 tokens of 8 and of 32 rows; two reads a token when each was read as it was sampled."""
    with virtual_gpu() as gpu:
        asked = player("cuda", family(), max_new_tokens=32)
        asked.eos_ids = frozenset()  # so that no row ends
        found = asked.respond(requests(), group_size)
    assert {len(c.ids) for answers in found for c in answers} == {32}
    assert gpu.reads.total() == 0, gpu.reads
    assert gpu.sent.total() == 6, gpu.sent  # of 2, 4, 8, 8, 8 and 2 tokens


def test_without_cuda_graphs_the_ordinary_decoder_samples(monkeypatch):
    def no_static_rows(*_args, **_options):
        raise AssertionError

    monkeypatch.setattr(static_rows, "StaticRows", no_static_rows)
    with virtual_gpu():
        asked = player("cuda", max_new_tokens=4)
        with pytest.raises(AssertionError):
            asked.respond(requests())
        with use_samplers("transformers", {"cuda_graphs": False}, {"a": asked}, {"a_0": asked}):
            assert len(asked.respond(requests())) == len(PROMPTS)


FILTERED = {"max_new_tokens": 21, "temperature": 0.7, "top_p": 0.8, "top_k": 20}


@pytest.mark.parametrize(
    ("family", "greedy", "settings"),
    [
        (model, False, {"max_new_tokens": 40, "stop": ("1", "up")}),
        (model, False, {"max_new_tokens": 1}),
        (neox, True, {"max_new_tokens": 20}),
        *(
            pytest.param(family, False, settings, marks=pytest.mark.slow)
            for family, settings in (
                (model, FILTERED),
                (neox, FILTERED),
                (model, {"max_new_tokens": 40}),
                (neox, {"max_new_tokens": 40, "stop": ("1", "up")}),
            )
        ),
    ],
)
def test_answers_are_those_of_the_cpu(family, greedy, settings):
    """Ends, stop strings and limits fall between the reads; what follows them is cut off."""
    with in_float64():
        early: dict[str, list] = {"cpu": [], "cuda": []}

        def answers(device):
            asked = player(device, family(), **settings)
            told = early[device]
            return asked.respond(
                requests(), 6, greedy=greedy, on_complete=lambda n, given: told.append((n, given))
            )

        wanted = answers("cpu")
        with virtual_gpu():
            found = answers("cuda")
    flat = [c for given in found for c in given]
    if settings["max_new_tokens"] > 20 and not settings.get("top_k"):
        assert len({len(c.ids) for c in flat}) > 3  # they end at different steps
    for ours, theirs in zip(flat, (c for given in wanted for c in given), strict=True):
        assert (ours.text, ours.ids, ours.truncated) == (theirs.text, theirs.ids, theirs.truncated)
        assert ours.logprobs == pytest.approx(theirs.logprobs, rel=1e-9)
    assert [n for n, _ in early["cuda"]] == [n for n, _ in early["cpu"]]
    assert [[c.ids for c in given] for _, given in early["cuda"]] == [
        [c.ids for c in given] for _, given in early["cpu"]
    ]


def test_prompts_given_up_end_at_the_same_token():
    """The first prompt that is complete gives the others up, as a rollout does."""
    with in_float64():

        def lengths(device):
            events = [threading.Event() for _ in PROMPTS]

            def answered(n, given):
                for other, event in enumerate(events):
                    if other != n:
                        event.set()

            asked = player(device, max_new_tokens=60)
            found = asked.respond(requests(events), 2, on_complete=answered)
            return [[len(c.ids) for c in given] for given in found]

        wanted = lengths("cpu")
        with virtual_gpu():
            found = lengths("cuda")
    assert found == wanted
    assert max(map(max, wanted)) < 60


@pytest.mark.slow
def test_noise_does_not_depend_on_how_often_is_read(monkeypatch):
    def ids():
        with virtual_gpu():
            found = player("cuda", max_new_tokens=40).respond(requests(), 4)
        return [[c.ids for c in answers] for answers in found]

    expected = ids()
    monkeypatch.setattr(decode, "_FIRST_READ", 1)
    monkeypatch.setattr(decode, "_READ_EVERY", 1)
    assert ids() == expected


@pytest.mark.parametrize("early", [False, True])
def test_agents_with_adapters_of_one_model_are_sampled_in_one_call(early, monkeypatch):
    """Two agents that act at the same time, each with its own adapter, seed and sampling noise."""
    calls = []

    def counted(*args, **options):
        calls.append(len(options["adapters"]))
        return sample(*args, **options)

    sample = decode.sample
    monkeypatch.setattr(sampling_passes, "sample", counted)

    def rollout(number):
        asks = [
            SampleRequest(PolicyRequest(agent=agent, observation=f"{agent} {number}", env=None), 3)
            for agent in ("a", "b")
        ]
        answers = yield asks
        return [[(c.ids, c.logprobs) for c in group] for group in answers]

    def rollouts(device):
        calls.clear()
        torch.manual_seed(0)
        policies = player("cpu", max_new_tokens=20).with_adapters(["a", "b"], r=2)
        for policy in policies.values():
            for weights in policy.parameters():
                torch.nn.init.normal_(weights, std=0.3)
        policies["a"].model.to(device)
        found = scheduler.run_rollouts([rollout(n) for n in range(4)], policies, early=early)
        return [row for answers in found for group in answers for row in group]

    with in_float64():
        wanted = rollouts("cpu")
        assert calls == [0, 0]  # the model as it computes, twice
        with virtual_gpu():
            found = rollouts("cuda")
        assert calls == [2]
    for (ids, logprobs), (their_ids, their_logprobs) in zip(found, wanted, strict=True):
        assert ids == their_ids
        assert logprobs == pytest.approx(their_logprobs, rel=1e-9)

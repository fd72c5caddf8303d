"""Training while vLLM's stand-in samples: whoever changes the weights tells the engine."""

from __future__ import annotations

import fake_vllm
import pytest
import torch
from test_vllm_colocated import change
from tiny_models import policy
from toy_envs import Parities

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import UnknownNameError
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.vllm.config import VllmArgs
from llmzoo.policies.vllm.sampler import VllmSampler, attach_samplers
from llmzoo.records import Batch, Completion, Group
from llmzoo.training import FitConfig, fit

pytestmark = pytest.mark.slow

SHORT = Sampling(max_new_tokens=3)
SMALL = {
    **{"episodes_per_step": 4, "eval_tasks": 2, "quiet": True, "trackers": ()},
    **{"learner_args": {"learning_rate": 1e-2, "group_size": 4}, "sampler": "vllm"},
}


@pytest.fixture
def vllm():
    with fake_vllm.installed() as llm:
        yield llm


@pytest.fixture
def drift(monkeypatch):
    """How far the engine's weights are from the policy's, at each call for answers."""
    found: list[float] = []
    sample = VllmSampler.sample

    def watched(self, *args, **options):
        engine = self.engine._llm
        theirs = dict(engine.model.state_dict())
        ours = self._policy.model.state_dict()
        if self._adapter is not None:
            adapted = engine._adapter(self.engine._adapters[self._adapter][0])
            theirs = {n.replace(".default.", "."): w for n, w in adapted.state_dict().items()}
            own = f".{self._adapter}."
            ours = {n.replace(own, "."): w for n, w in ours.items() if own in n}
        found.append(max(float((theirs[n] - w).abs().max()) for n, w in ours.items()))
        return sample(self, *args, **options)

    monkeypatch.setattr(VllmSampler, "sample", watched)
    return found


def players(arrangement: str):
    if arrangement == "lora":
        return policy(sampling=SHORT).with_adapters(["writer_0", "writer_1"], r=2)
    one = policy(sampling=SHORT)
    other = one if arrangement == "shared" else policy(seed=1, sampling=SHORT)
    return {"writer_0": one, "writer_1": other}


@pytest.mark.parametrize(
    "arrangement",
    ["shared", *(pytest.param(a, marks=pytest.mark.slow) for a in ("separate", "lora"))],
)
def test_a_run_samples_from_the_weights_of_its_time(vllm, drift, tmp_path, arrangement):
    agents = players(arrangement)
    before = [w.clone() for w in agents["writer_0"].parameters()]
    fit("magrpo", Parities, out=tmp_path, policies=agents, steps=2, **SMALL)
    assert max(drift) == 0.0
    moved = zip(before, agents["writer_0"].parameters(), strict=True)
    assert any(not torch.equal(old, new) for old, new in moved)
    engines = {"shared": 1, "separate": 2, "lora": 1}
    assert len(vllm.made) == engines[arrangement]
    if arrangement != "lora":
        assert [engine.calls.reloads for engine in vllm.made] == [2] * len(vllm.made)
    assert not any(engine.running for engine in vllm.made)
    assert all(player.sampler is None for player in agents.values())


def test_without_the_sync_it_would_not(vllm, drift, tmp_path, monkeypatch):
    monkeypatch.setattr(VllmSampler, "sync_weights", lambda self: None)
    fit("magrpo", Parities, out=tmp_path, policies=players("shared"), steps=2, **SMALL)
    assert max(drift) > 1e-3


@pytest.mark.slow
def test_a_resumed_run_begins_with_its_checkpoint(vllm, drift, tmp_path):
    fit("magrpo", Parities, out=tmp_path, policies=players("shared"), steps=1, **SMALL)
    drift.clear()
    resumed = fit(
        "magrpo", Parities, out=tmp_path, policies=players("shared"), steps=2, resume=True, **SMALL
    )
    assert resumed.steps == 2
    assert drift
    assert max(drift) == 0.0


def test_the_engine_is_given_back_after_an_error(vllm, tmp_path, monkeypatch):
    def failing(*_, **__):
        raise RuntimeError("the power went")

    monkeypatch.setattr(LocalEngine, "update", failing)
    agents = players("shared")
    with pytest.raises(RuntimeError, match="the power went"):
        fit("magrpo", Parities, out=tmp_path, policies=agents, steps=2, **SMALL)
    assert not vllm.made[0].running
    assert agents["writer_0"].sampler is None


class Recorder:
    """A sampler that notes what it is told, and the weights of that time."""

    context = 2**31

    def __init__(self, player):
        self.player, self.told = player, []

    def rest(self):
        self.told.append(("rest", self._weights()))

    def sync_weights(self):
        self.told.append(("sync", self._weights()))

    def _weights(self):
        return sum(float(weight.detach().double().sum()) for weight in self.player.parameters())


def an_engine(player):
    cls = learner_class("magrpo")
    learner = cls(cls.Config(learning_rate=1e-2))
    engine = LocalEngine(learner, {"policy": player}, {"a_0": player}, total_steps=10)
    engine.samplers = [Recorder(player)]
    return engine


def test_rest_before_an_update_and_sync_after_it(tmp_path):
    player = policy()
    engine = an_engine(player)
    answers = tuple(Completion(text="", ids=ids, logprobs=(-1.0,)) for ids in ((5,), (6,)))
    group = Group(
        agent="a_0", turn=0, key=(0,), prompt_ids=(3, 4), completions=answers, returns=(1.0, 0.0)
    )
    (recorder,) = engine.samplers
    at_start = recorder._weights()
    engine.update(Batch(groups=(group,)), seed=0)
    assert recorder.told == [("rest", at_start), ("sync", recorder._weights())]
    assert recorder._weights() != at_start

    engine.save(tmp_path)
    saved = recorder._weights()
    change(player)
    recorder.told.clear()
    engine.load(tmp_path)
    assert recorder.told == [("sync", saved)]


def asked(*texts):
    return [
        PolicyRequest(agent="a_0", observation=text, env=None, noise=n)
        for n, text in enumerate(texts)
    ]


def test_a_policy_answers_from_its_sampler(vllm):
    player = policy(sampling=Sampling(max_new_tokens=12, stop=("up",)))
    attach_samplers([player], "vllm", VllmArgs(max_model_len=40))
    engine = vllm.made[0]
    answers = player.respond(asked("up down", "left", "right"), group_size=8)
    assert engine.calls.prompts == [3]
    completions = [completion for of_prompt in answers for completion in of_prompt]
    assert player.tokens_sampled == sum(len(completion.ids) for completion in completions)
    assert not any("up" in completion.text for completion in completions)
    for completion in completions:
        whole = player.tokenizer.decode(completion.ids, skip_special_tokens=True)
        assert whole.split("up")[0] == completion.text
        ended = completion.ids[-1] in player.eos_ids or "up" in whole
        assert completion.truncated == (not ended)
    again = player.respond(asked("up down", "left", "right"), group_size=8)
    assert [[c.ids for c in a] for a in again] == [[c.ids for c in a] for a in answers]


def test_a_prompt_too_long_for_the_engine_gets_an_empty_answer(vllm):
    player = policy(sampling=Sampling(max_new_tokens=12))
    attach_samplers([player], "vllm", VllmArgs(max_model_len=24))
    with pytest.warns(UserWarning, match="exceeds the available context"):
        long, short = player.respond(asked("0123456789 " * 5, "9"), group_size=2)
    assert [(completion.text, completion.trainable) for completion in long] == [("", False)] * 2
    assert all(completion.trainable for completion in short)


@pytest.mark.parametrize("lora", [False, True])
def test_a_reference_is_not_sampled_from_the_engine(vllm, lora):
    player = policy(sampling=SHORT)
    if lora:
        (player,) = player.with_adapters(["a_0"], r=2).values()
        change(player)
    attach_samplers([player], "vllm", VllmArgs())
    reference = player.reference()
    before = reference.respond(asked("up down"), greedy=True)
    change(player)
    player.sampler.sync_weights()
    assert reference.sampler is None
    assert reference.respond(asked("up down"), greedy=True) == before
    assert player.with_sampling(temperature=0.5).sampler is player.sampler  # the same weights
    assert player.with_adapter(None).sampler is None


def test_settings_of_a_run():
    with pytest.raises(UnknownNameError, match="sampler"):
        FitConfig(sampler="vlm")
    with pytest.raises(UnknownNameError, match="option of sampler 'transformers'"):
        FitConfig(sampler_args={"sleep": True})
    assert FitConfig(sampler_args={"cuda_graphs": False}).sampler == "transformers"
    assert FitConfig(sampler="http://localhost:8000").sampler_args == {}

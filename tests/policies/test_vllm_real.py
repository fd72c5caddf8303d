"""The real vLLM, where it is installed: on a CUDA device, or in its builds for CPUs.

The stand-in of the other tests is held against it here.
"""

from __future__ import annotations

import inspect
from dataclasses import fields

import fake_vllm
import pytest
import torch
from test_vllm_colocated import SAMPLING, change, difference, drawn
from tiny_models import model, tokenizer

from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.policies.vllm.config import VllmArgs
from llmzoo.policies.vllm.sampler import attach_samplers

vllm = pytest.importorskip("vllm", reason="vLLM is not installed (extra 'vllm')")
pytestmark = pytest.mark.long("needs an installed vLLM, on a CUDA device or built for CPUs")


@pytest.fixture(scope="module", autouse=True)
def device() -> str:
    from vllm.platforms import current_platform

    if torch.cuda.is_available():
        return "cuda"
    if current_platform.is_cpu():
        return "cpu"
    pytest.skip("vLLM finds neither a CUDA device here nor is it a build for CPUs")


def player(device: str, tied: bool = True) -> TransformersPolicy:
    # heads of 32, the smallest that vLLM's attention knows
    made = model(hidden_size=128, tie_word_embeddings=tied).to(device)
    return TransformersPolicy(made, tokenizer(), precision="float32", sampling=SAMPLING)


def started(device, *policies, **args):
    # a cache of a size that does not depend on the device's memory
    engine_args = {"kv_cache_memory_bytes": 2**28}
    config = VllmArgs(
        gpu_memory_utilization=0.1, enforce_eager=True, engine_args=engine_args, **args
    )
    attach_samplers(policies, "vllm", config)


def test_the_stand_in_has_the_real_names():
    import msgspec
    from vllm.engine.arg_utils import EngineArgs
    from vllm.lora.request import LoRARequest
    from vllm.outputs import CompletionOutput

    assert {field.name for field in fields(EngineArgs)} >= fake_vllm.LLM_ARGUMENTS
    for real, fake in (
        (vllm.SamplingParams, fake_vllm.SamplingParams),
        (LoRARequest, fake_vllm.LoRARequest),
    ):
        names = {field.name for field in msgspec.structs.fields(real)}
        assert names >= {field.name for field in fields(fake)}
    assert {f.name for f in fields(CompletionOutput)} >= {
        field.name for field in fields(fake_vllm.CompletionOutput)
    }
    for name in ("generate", "collective_rpc", "reset_prefix_cache", "sleep", "wake_up"):
        real = inspect.signature(getattr(vllm.LLM, name)).parameters
        assert set(inspect.signature(getattr(fake_vllm.LLM, name)).parameters) <= set(real)


@pytest.mark.parametrize("tied", [True, False])
def test_weights_and_log_probabilities(device, tied):
    plays = player(device, tied)
    started(device, plays)
    close = 1e-3 if device == "cpu" else 1e-2  # float32, but in other kernels
    try:
        assert difference(plays) < close
        warped = Sampling(max_new_tokens=8, temperature=0.7, top_p=0.9, top_k=9)
        assert difference(plays, warped) < close
        plays.sampling = SAMPLING
        assert [r.ids for a in drawn(plays)[1] for r in a] == [
            r.ids for a in drawn(plays)[1] for r in a
        ]
        change(plays)
        assert difference(plays) > 0.5
        plays.sampler.sync_weights()
        assert difference(plays) < close
        _, answers = drawn(plays, k=20)
        for row in (row for of_prompt in answers for row in of_prompt):
            assert row.ended == (row.ids[-1] in plays.eos_ids)
            assert row.ended or len(row.ids) == SAMPLING.max_new_tokens
    finally:
        plays.sampler.close()


def test_an_agent_each_on_one_base(device):
    alice, bob = player(device).with_adapters(["alice", "bob"], r=4).values()
    started(device, alice, bob)
    close = 1e-3 if device == "cpu" else 1e-2
    try:
        for agent in (alice, bob, alice):
            change(agent, by=0.1)
            assert difference(agent) > 0.05
            agent.sampler.sync_weights()
            assert difference(alice) < close
            assert difference(bob) < close
    finally:
        alice.sampler.close()


def test_sleep_while_the_weights_change(device):
    if device == "cpu":
        pytest.skip("vLLM's builds for CPUs do not sleep")
    plays = player(device)
    started(device, plays, sleep=True)
    try:
        drawn(plays)
        held = torch.cuda.mem_get_info()[0]
        plays.sampler.rest()
        assert torch.cuda.mem_get_info()[0] > held
        change(plays)
        plays.sampler.sync_weights()
        assert difference(plays) < 1e-2
    finally:
        plays.sampler.close()

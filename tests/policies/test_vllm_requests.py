"""vLLM as a sampler: its settings, what it is asked for, and how an answer becomes a row."""

from __future__ import annotations

import importlib.util
import itertools

import fake_vllm
import pytest

from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.models.decode import SamplerError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.vllm.config import ServerArgs, TransformersArgs, VllmArgs, sampler_config
from llmzoo.policies.vllm.requests import sampling_params, tokens_from_answer, vllm_seed

SERVER = "http://localhost:8000"


def test_neighbouring_keys_share_no_noise():
    # vLLM samples the i-th answer of a prompt with seed + i: for K = 1,024 answers a prompt, two
    # prompts share noise where their seeds are less than 1,024 apart
    seeds = sorted(vllm_seed(key) for key in range(2000))
    assert min(b - a for a, b in itertools.pairwise(seeds)) > 1024
    assert seeds[0] >= 0
    assert seeds[-1] + 1024 < 2**63  # what the protocol takes
    assert vllm_seed(7) == vllm_seed(7)
    assert vllm_seed(2**63 + 7) != vllm_seed(7)  # keys of any size


def test_a_request_says_all_that_a_models_folder_could():
    sampling = Sampling(temperature=0.5, top_p=0.9, top_k=7, max_new_tokens=3, stop=("\n",))
    asked = sampling_params(4, sampling, eos_ids={9, 2}, key=1, greedy=False)
    assert asked == {
        **{"n": 4, "temperature": 0.5, "top_p": 0.9, "top_k": 7, "max_tokens": 3, "stop": ["\n"]},
        **{"min_p": 0.0, "repetition_penalty": 1.0, "presence_penalty": 0.0},
        **{"frequency_penalty": 0.0, "stop_token_ids": [2, 9], "ignore_eos": True, "logprobs": 0},
        "seed": vllm_seed(1),
    }
    greedy = sampling_params(1, sampling, eos_ids=(), key=1, greedy=True)
    assert (greedy["temperature"], greedy["top_p"], greedy["top_k"]) == (0.0, 1.0, 0)


def test_rows():
    ended = tokens_from_answer([5, 6], [-1.0, -0.5], "stop")
    assert (ended.ids, ended.logprobs, ended.ended) == ([5, 6], [-1.0, -0.5], True)
    assert not tokens_from_answer([5], [-1.0], "length").ended


@pytest.mark.parametrize(
    ("ids", "logprobs", "reason", "said"),
    [
        ([5], [-1.0], "abort", "did not finish"),
        ([5], [-1.0], None, "did not finish"),
        ([5, 6], [-1.0], "stop", "2 tokens"),
        ([5], [float("nan")], "stop", "nan"),
    ],
)
def test_answers_that_are_none(ids, logprobs, reason, said):
    with pytest.raises(SamplerError, match=said):
        tokens_from_answer(ids, logprobs, reason)


def test_settings_by_name():
    assert sampler_config("transformers", {"cuda_graphs": False}) == TransformersArgs(
        cuda_graphs=False
    )
    assert sampler_config(SERVER, {"concurrency": 2}) == ServerArgs(concurrency=2)
    with fake_vllm.installed():
        assert sampler_config("vllm", {"sleep": True}) == VllmArgs(sleep=True)


@pytest.mark.parametrize(
    ("sampler", "args", "error", "said"),
    [
        ("vlm", {}, UnknownNameError, "Did you mean 'vllm'"),
        ("transformers", {"sleep": True}, UnknownNameError, "option of sampler .transformers"),
        ("vllm", {"slep": True}, UnknownNameError, "Did you mean 'sleep'"),
        ("vllm", {"gpu_memory_utilization": 1.5}, ConfigError, r"in \(0, 1\]"),
        ("vllm", {"max_model_len": 1}, ConfigError, "at least 2"),
        ("vllm", {"engine_args": {"logprobs_mode": "raw_logprobs"}}, ConfigError, "set already"),
        ("vllm", {"engine_args": {"dtype": "float16"}}, ConfigError, "set already"),
        ("vllm", {"engine_args": {"tensor_parallel_size": 2}}, ConfigError, "Start a server"),
        ("http://", {}, ConfigError, "HOST:PORT"),
        (SERVER + "/v1", {}, ConfigError, "HOST:PORT"),
        (SERVER, {"sleep": True}, UnknownNameError, "sleep"),
        (SERVER, {"weights": "carrier pigeon"}, ConfigError, "'files' or 'nccl'"),
        (SERVER, {"timeout_s": 0}, ConfigError, "timeout_s"),
        (SERVER, {"concurrency": 0}, ConfigError, "concurrency"),
        (SERVER, {"weights": "nccl", "folder": "/tmp"}, ConfigError, "folder has no effect"),
    ],
)
def test_settings_that_mean_nothing(sampler, args, error, said):
    with pytest.raises(error, match=said):
        sampler_config(sampler, args)


@pytest.mark.skipif(importlib.util.find_spec("vllm") is not None, reason="vLLM is installed here")
@pytest.mark.parametrize(("sampler", "args"), [("vllm", {}), (SERVER, {"weights": "nccl"})])
def test_without_vllm_the_extra_is_named(sampler, args):
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[vllm\]"):
        sampler_config(sampler, args)

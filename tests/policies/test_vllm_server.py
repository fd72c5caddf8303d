"""vLLM on a server, against a stand-in that speaks its protocol and samples from a real model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from fake_vllm_server import serving
from test_vllm_colocated import CLOSE, PROMPTS, SAMPLING, change, difference, drawn
from tiny_models import model, policy, tokenizer

from llmzoo.errors import ConfigError
from llmzoo.models.decode import SamplerError
from llmzoo.models.tiny.tokenizer import build_tokenizer
from llmzoo.policies.vllm.config import ServerArgs
from llmzoo.policies.vllm.sampler import attach_samplers


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A model as somebody would serve it: of the policies' shape, with other weights."""
    made = tmp_path_factory.mktemp("served")
    model(seed=7).save_pretrained(made)
    tokenizer().save_pretrained(made)
    return made


@pytest.fixture
def served(folder):
    with serving(folder) as server:
        yield server


def joined(served, *policies, **args):
    attach_samplers(policies, served.url, ServerArgs(**{"wait_s": 0, "timeout_s": 120, **args}))


@pytest.mark.slow
def test_it_samples_from_the_policys_weights_whatever_it_was_started_with(served):
    plays = policy()
    joined(served, plays)
    assert difference(plays) < CLOSE
    drawn(plays)
    change(plays)
    assert difference(plays) > 0.5
    plays.sampler.sync_weights()
    assert difference(plays) < CLOSE  # so neither old weights nor what was read with them are left


def test_a_request_for_each_prompt_with_noise_of_its_own(served):
    plays = policy()
    joined(served, plays, concurrency=2)
    _, answers = drawn(plays, k=4)
    asked = [body for path, body in served.asked if path == "/v1/completions"]
    assert sorted(body["n"] for body in asked) == [4, 4, 4]
    assert len({body["seed"] for body in asked}) == 3
    _, again = drawn(plays, k=4)
    assert [r.ids for a in answers for r in a] == [r.ids for a in again for r in a]


@pytest.mark.slow
def test_adapters_by_new_names_from_files_of_their_own(served):
    alice, bob = policy().with_adapters(["alice", "bob"], r=4).values()
    joined(served, alice, bob)
    first = dict(served.adapters)
    change(alice)
    alice.sampler.sync_weights()
    assert difference(alice) < CLOSE
    assert difference(bob) < CLOSE
    assert len(served.adapters) == 2  # the old one of alice is unloaded
    assert len(served.adapters.keys() & first.keys()) == 1
    paths = [a.lora_path for a in served.adapters.values()]
    assert all(Path(path).exists() for path in paths)
    alice.sampler.close()
    bob.sampler.close()
    assert served.adapters == {}
    assert not any(Path(path).exists() for path in paths)


def test_several_models_on_one_server(served):
    with pytest.raises(ConfigError, match="serves one model, and 2"):
        joined(served, policy(seed=0), policy(seed=1))


@pytest.mark.parametrize(
    ("fault", "value", "said"),
    [
        ("logprobs_mode", "raw_logprobs", "--logprobs-mode processed_logprobs"),
        ("dev_mode", False, "VLLM_SERVER_DEV_MODE=1"),
        ("lora", None, "--enable-lora --max-lora-rank 8"),
        ("lora", {"max_lora_rank": 1}, "--max-lora-rank 8"),
    ],
)
def test_a_server_started_otherwise(served, fault, value, said):
    setattr(served, fault, value)
    (alice,) = policy().with_adapters(["alice"], r=4).values()
    with pytest.raises(ConfigError, match=said):
        joined(served, alice)


def test_another_vocabulary(served):
    plays = policy()
    plays.tokenizer = build_tokenizer(["quite other words than those"] * 2)
    with pytest.raises(ConfigError, match="another tokenizer"):
        joined(served, plays)


def test_nobody_there():
    with pytest.raises(SamplerError, match="no vLLM server answered"):
        attach_samplers([policy()], "http://127.0.0.1:9", ServerArgs(wait_s=0))


def test_gone_while_a_run_goes_on(folder):
    plays = policy()
    with serving(folder) as served:
        joined(served, plays)
        drawn(plays)
    with pytest.raises(SamplerError, match=r"is gone.*resume the run"):
        drawn(plays)
    with pytest.raises(SamplerError, match="is gone"):
        plays.sampler.sync_weights()
    plays.sampler.close()  # an end of the run that is not about the server


def test_started_again_it_has_lost_the_weights(served):
    plays = policy()
    joined(served, plays)
    served.instance = "two"
    with pytest.raises(SamplerError, match="started again"):
        drawn(plays)


def test_too_slow(served, monkeypatch):
    plays = policy()
    joined(served, plays, concurrency=1)
    engine, sent = plays.sampler.engine, []
    ask = engine._request_completions
    monkeypatch.setattr(
        engine, "_request_completions", lambda *asked: (sent.append(asked), ask(*asked))[1]
    )
    engine._http._timeout_s = 0.3
    served.slow_s = 1.0
    with pytest.raises(SamplerError, match=r"more than 0\.3 s"):
        drawn(plays)
    assert len(sent) < 3  # the other prompts are not waited for


def test_statuses_that_pass_are_tried_again(served, monkeypatch):
    plays = policy()
    joined(served, plays, retries=1)
    _, wanted = drawn(plays)
    pauses: list[float] = []
    monkeypatch.setattr("llmzoo.policies.vllm.http_client.time.sleep", pauses.append)
    served.fail_next = 1
    _, found = drawn(plays)
    assert [r.ids for a in found for r in a] == [r.ids for a in wanted for r in a]
    assert pauses.count(0.5) == 1
    served.fail_next = 100
    with pytest.raises(SamplerError, match=r"answered 503: .*try later"):
        drawn(plays)


def test_a_status_that_does_not_pass_is_not_tried_again(served):
    plays = policy()
    joined(served, plays)
    plays.sampler.engine._served = "somebody"
    before = len(served.asked)
    with pytest.raises(SamplerError, match=r"answered 404: .*`somebody` does not exist"):
        plays.sampler.sample([[3, 4]], 1, SAMPLING, keys=[0])
    assert served.paths()[before:] == ["/server_info?config_format=json", "/v1/completions"]


def test_faults_of_answers(served):
    plays = policy()
    joined(served, plays)
    served.other_prompt = True
    with pytest.raises(SamplerError, match="another prompt"):
        drawn(plays)
    served.other_prompt, served.engine.faults.beyond = False, True
    with pytest.raises(SamplerError, match="another model"):
        drawn(plays)
    served.engine.faults.busy = True
    with pytest.raises(SamplerError, match="prefix cache"):
        plays.sampler.sync_weights()


def test_its_context_counts(folder):
    plays = policy()
    with serving(folder, max_model_len=16) as served:
        joined(served, plays)
        assert plays.sampler.context == 16
        with pytest.raises(ConfigError, match="max_model_len"):
            plays.sampler.sample([[3] * 9], 1, SAMPLING, keys=[0])
        assert "/v1/completions" not in served.paths()


def test_weights_over_nccl_need_a_cuda_device(served):
    with pytest.raises(ConfigError, match="CUDA device"):
        joined(served, policy(), weights="nccl")


def test_weights_over_nccl_go_through_trls_client(served, monkeypatch):
    """What TRL's client is given; that NCCL carries it is TRL's and vLLM's."""
    import inspect

    from trl.generation.vllm_client import VLLMClient

    sent: list[dict[str, torch.Tensor]] = []

    class Client:
        def update_named_params(self, metadata, named_params):
            weights = dict(named_params)
            described = [(n, str(w.dtype)[6:], list(w.shape)) for n, w in weights.items()]
            assert metadata == described  # announced in the order in which they come
            sent.append(weights)

    real = inspect.signature(VLLMClient.update_named_params)
    assert list(real.parameters) == ["self", "metadata", "named_params"]
    assert list(inspect.signature(VLLMClient.init_communicator).parameters) == ["self", "device"]
    monkeypatch.setattr("llmzoo.policies.vllm.server._connect_nccl", lambda *_: Client())
    plays = policy()
    joined(served, plays, weights="nccl")
    assert "/collective_rpc" not in served.paths()
    assert served.paths()[-1] == "/reset_prefix_cache"
    change(plays)
    plays.sampler.sync_weights()
    state = plays.model.state_dict()
    assert sent[1].keys() == state.keys()
    assert all(torch.equal(sent[1][name], state[name]) for name in state)


def test_prompts_reach_it_as_they_are(served):
    plays = policy()
    joined(served, plays)
    prompts, _ = drawn(plays)
    asked = [tuple(body["prompt"]) for path, body in served.asked if path == "/v1/completions"]
    assert sorted(asked) == sorted(prompts)
    assert len(PROMPTS) == len(asked)

"""What the engine ray is made of, without Ray: options, bytes, weights, routes, reports."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from tiny_models import policy
from toy_envs import Parities

from llmzoo.engine.ray import RayArgs, ray_args, weights
from llmzoo.engine.ray.calls import read_report, returns_report
from llmzoo.engine.ray.engine import batch_for_agents, merge_metrics
from llmzoo.engine.ray.run_spec import set_up_worker
from llmzoo.engine.ray.weights import (
    empty_array,
    merge_files,
    pack_files,
    pack_tensors,
    read_folder,
    unpack_files,
    unpack_tensors,
    write_folder,
)
from llmzoo.errors import (
    CheckpointError,
    ConfigError,
    MissingExtraError,
    UnknownNameError,
    WorkerError,
)
from llmzoo.learners import learner_class, list_learners
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records import Batch, Completion, Episode, Group
from llmzoo.training import FitConfig, fit


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({"rollout_workers": 0}, "rollout_workers must be at least 1"),
        ({"update_ranks": 1.5}, "update_ranks must be a whole number"),
        ({"update_ranks": True}, "update_ranks must be a whole number"),
        ({"shares": 0}, "shares must be at least 1"),
        ({"update_gpus": 1.5}, "from 0 to 1, or a whole number"),
        ({"rollout_cpus": -1}, "from 0 to 1, or a whole number"),
        ({"rollout_cpus": "two"}, "rollout_cpus must be a number"),
        ({"strategy": "NEAR"}, "strategy must be one of PACK"),
        ({"address": 7}, "address must be a text"),
        ({"address": "ray://10.0.0.1:10001"}, "start the run on a machine of the cluster"),
        ({"start_seconds": 0}, "start_seconds must be above 0"),
        ({"state_every": 0}, "state_every must be at least 1"),
    ],
)
def test_options_that_cannot_be(args, said):
    with pytest.raises(ConfigError, match=said):
        ray_args(args)


def test_options_by_name():
    with pytest.raises(UnknownNameError, match="Did you mean 'rollout_workers'"):
        FitConfig(engine="ray", engine_args={"rollout_worker": 2})
    with pytest.raises(ConfigError, match="engine must be local or ray"):
        FitConfig(engine="spark")
    with pytest.raises(ConfigError, match="engine_args have no effect"):
        FitConfig(engine_args={"rollout_workers": 2})
    with pytest.raises(ConfigError, match="must be 0 or 1"):
        FitConfig(max_off_policy_steps=2)
    with pytest.raises(ConfigError, match="needs sampler='transformers'"):
        FitConfig(engine="ray", sampler="http://localhost:8000")
    assert ray_args({"rollout_gpus": 0.25, "update_gpus": 2}) == RayArgs(
        rollout_gpus=0.25, update_gpus=2
    )


def test_each_worker_is_given_its_part():
    args = RayArgs(
        rollout_workers=2, rollout_gpus=0.5, update_ranks=2, update_gpus=1, update_cpus=0
    )
    assert args.bundles(2) == [{"GPU": 1}] * 4 + [{"CPU": 1.0, "GPU": 0.5}] * 2


def test_who_is_given_no_gpu_sees_none(tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    threads = torch.get_num_threads()
    plan = SimpleNamespace(folder=str(tmp_path))
    set_up_worker(plan, gpus=0.5, threads=threads)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3"
    assert Path.cwd() == tmp_path
    set_up_worker(plan, gpus=0, threads=threads)
    assert os.environ["CUDA_VISIBLE_DEVICES"] == ""


def test_shares_are_of_neighbours_and_as_many_as_can_be():
    assert RayArgs().split_batch(5) == [range(5)]
    assert RayArgs(rollout_workers=2).split_batch(6) == [
        range(1),
        range(1, 3),
        range(3, 4),
        range(4, 6),
    ]
    assert RayArgs(rollout_workers=2, shares=2).split_batch(5) == [range(2), range(2, 5)]
    assert RayArgs(rollout_workers=3).split_batch(2) == [range(1), range(1, 2)]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"policies": {"writer_0": policy()}},
            "given as objects: give the settings model, policies",
        ),
        (
            {"env": Parities},
            "cannot use an environment given as a function: give its id or its path",
        ),
        (
            {"learner": learner_class("magrpo")()},
            "cannot use a learner given as an object: give its name",
        ),
    ],
    ids=["policies", "env", "learner"],
)
def test_objects_cannot_go_to_other_processes(settings, said, tmp_path):
    with pytest.raises(ConfigError, match=said):
        fit(**{"env": "toy_envs:Parities", "engine": "ray", "out": tmp_path / "run", **settings})
    assert list(tmp_path.iterdir()) == []


def test_every_learner_says_whether_its_policies_learn_apart():
    together = {name for name in list_learners() if not learner_class(name)().separable}
    assert together == {"mappo", "maac", "madpo"}


def test_files_as_one_array(tmp_path):
    (tmp_path / "from" / "deep").mkdir(parents=True)
    (tmp_path / "from" / "a.json").write_text("{}")
    (tmp_path / "from" / "empty").touch()
    (tmp_path / "from" / "deep" / "b.bin").write_bytes(bytes(range(256)))
    files = read_folder(tmp_path / "from")
    (tmp_path / "to").mkdir()
    write_folder(unpack_files(pack_files(files)), tmp_path / "to")
    for name in ("a.json", "empty", "deep/b.bin"):
        assert (tmp_path / "to" / name).read_bytes() == (tmp_path / "from" / name).read_bytes()
    assert list(read_folder(tmp_path / "from", without=["deep", "empty"])) == ["a.json"]
    assert unpack_files(empty_array()) == {}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_tensors_as_one_array(dtype):
    given = {"a/x": torch.randn(3, 5).to(dtype), "b": torch.zeros(0, 2, dtype=dtype)}
    array = pack_tensors(given, "a note")
    array.setflags(write=False)  # as the object store has it
    results, note = unpack_tensors(array)
    assert note == "a note"
    assert results.keys() == given.keys()
    for name, tensor in given.items():
        assert results[name].dtype == dtype
        assert torch.equal(results[name], tensor)
    assert results["a/x"].data_ptr() - array.ctypes.data in range(len(array))  # not a copy


def test_weights_go_from_one_policy_to_its_like():
    one, other = policy(seed=1), policy(seed=2)
    array = weights.pack_rollout_weights({"policy": one}, {"policy": one})
    assert weights.load_rollout_weights({"policy": other}, array) == {"policy": other}
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_an_adapter_goes_without_its_base():
    def agents(seed):
        return policy().with_adapters(["a_0", "b_1"], seed=seed, r=2)

    ones, others = agents(1), agents(2)
    array = weights.pack_rollout_weights({"a_0": ones["a_0"]}, {"a_0": ones["a_0"]})
    assert len(array) < sum(p.nbytes for p in policy().model.parameters()) / 4
    kept = [w.clone() for w in others["b_1"].parameters()]
    weights.load_rollout_weights(others, array)
    own = zip(ones["a_0"].parameters(), others["a_0"].parameters(), strict=True)
    assert all(torch.equal(a, b) for a, b in own)
    assert all(torch.equal(a, b) for a, b in zip(kept, others["b_1"].parameters(), strict=True))


def test_references_play_instead_of_their_policies():
    """The bare base as long as an adapter does nothing, then a copy of the adapter."""
    own, there = (policy().with_adapters(["a_0"], r=2) for _ in range(2))
    bare = own["a_0"].reference()
    results = weights.load_rollout_weights(there, weights.pack_rollout_weights(own, {"a_0": bare}))
    assert results["a_0"].adapter is None
    assert results["a_0"].model is there["a_0"].model
    with torch.no_grad():
        for weight in own["a_0"].parameters():
            weight.fill_(0.5)
        copied = own["a_0"].reference()
        for weight in own["a_0"].parameters():
            weight.fill_(0.25)
    assert (
        weights.load_rollout_weights(there, weights.pack_rollout_weights(own, {"a_0": copied}))
        == there
    )
    assert all(bool((w == 0.5).all()) for w in there["a_0"].parameters())


def test_who_is_no_model_has_no_weights():
    scripted = ScriptedPolicy(lambda request: "u")
    array = weights.pack_rollout_weights({"policy": policy()}, {"policy": scripted})
    assert weights.load_rollout_weights({"policy": policy()}, array) == {}


def a_batch():
    answer = Completion(text="", ids=(1,), logprobs=(-1.0,))
    options = {"turn": 0, "key": (), "prompt_ids": (), "completions": (answer,), "returns": (0.0,)}
    groups = tuple(Group(agent=agent, **options) for agent in ("a_0", "b_1", "a_0"))
    episode = Episode(
        **{"env_id": "e", "seed": 0, "decisions": (), "terminated": True, "truncated": False},
        **{"success": False, "totals": {}},
    )
    return Batch(groups=groups, episodes=(episode,))


def test_groups_go_to_their_agents_and_episodes_to_all():
    batch = a_batch()
    mine = batch_for_agents(batch, ["a_0"])
    assert [group.agent for group in mine.groups] == ["a_0", "a_0"]
    assert mine.episodes == batch.episodes


def test_metrics_have_the_names_of_one_updater():
    assert merge_metrics({"a": {"loss": 1.0}, "b": {"loss": 2.0}}) == {
        "a/loss": 1.0,
        "b/loss": 2.0,
    }
    assert merge_metrics({"a": {"loss": 1.0}}) == {"loss": 1.0}
    demonstrated = {name: {"demonstrated_tokens": 3, "kept": 1} for name in ("a", "b")}
    assert merge_metrics(demonstrated) == {"demonstrated_tokens": 6, "a/kept": 1, "b/kept": 1}


def as_bytes(**texts):
    return {name: np.frombuffer(text.encode(), dtype=np.uint8) for name, text in texts.items()}


def test_files_of_updaters_are_joined():
    one = as_bytes(roles='{"a_0": 1.5}', iterations="3", own_a="x")
    other = as_bytes(roles='{"b_1": 2.5}', iterations="3", own_b="y")
    merged = {name: data.tobytes().decode() for name, data in merge_files([one, other]).items()}
    assert merged == {
        "roles": json.dumps({"a_0": 1.5, "b_1": 2.5}),
        **{"iterations": "3", "own_a": "x", "own_b": "y"},
    }
    with pytest.raises(AssertionError, match="differ in roles"):
        merge_files([one, as_bytes(roles='{"a_0": 2.0}')])


def test_states_and_checkpoints(tmp_path):
    """Of a checkpoint each update worker gets what is its own; of their states it is made again."""
    policies = {"a": policy(seed=1), "b": policy(seed=2)}
    shared = {"roles.json": '{"x": 1.0, "y": 2.0}', "iterations.json": "3"}
    shared |= {"a.json": "{}"}  # of all, though it is called like a policy
    for path, text in {
        **{**shared, "state.json": "{}", "a/model.safetensors": "?", "b/config.json": "{}"},
        **{"a.optimizer-00001-of-00002.safetensors": "a1", "b.reference/model.safetensors": "b1"},
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    results = weights.read_checkpoint_states(tmp_path, policies, ["a", "b"])
    own = {
        "a": "a.optimizer-00001-of-00002.safetensors",
        "b": "b.reference/model.safetensors",
    }
    for name, path in own.items():
        assert set(results[name]) == {path, f"{name}.weights.safetensors", *shared}
    assert set(weights.read_checkpoint_states(tmp_path, policies, [""])[""]) == {
        *(*own.values(), "a.weights.safetensors", "b.weights.safetensors", *shared)
    }
    again = weights.collect_updater_files(results.values(), policies)
    assert set(again) == {*own.values(), *shared}
    others = {"a": policy(seed=3), "b": policy(seed=4)}
    weights.load_state_weights(results.values(), others)
    for name in policies:
        both = zip(policies[name].parameters(), others[name].parameters(), strict=True)
        assert all(torch.equal(one, other) for one, other in both)


class Failing:
    """A worker whose calls raise what they are given."""

    @returns_report(arrays=2)
    def learn(self, error):
        raise error

    @returns_report(arrays=1)
    def play(self):
        return {"pid": 7}, b"data"

    @returns_report(arrays=0)
    def start(self):
        return {"pid": 7}


@pytest.mark.parametrize(
    "error",
    [
        ConfigError("set clip"),
        CheckpointError("it is of another run"),
        UnknownNameError("learner", "magrp", ["magrpo"]),
        MissingExtraError("vllm", "vllm", "vllm"),
    ],
)
def test_our_errors_come_back_as_themselves(error):
    text, *arrays = Failing().learn(error)
    assert [len(array) for array in arrays] == [0, 0]
    with pytest.raises(type(error)) as raised:
        read_report(text, "update worker")
    assert type(raised.value) is type(error)
    assert str(raised.value) == str(error)
    assert "in update worker" in str(raised.value.__cause__)
    assert "raise error" in str(raised.value.__cause__)  # where it was raised there


def test_other_errors_say_what_and_where():
    text, *_ = Failing().learn(ZeroDivisionError("by 0"))
    with pytest.raises(WorkerError, match=r"^update worker raised ZeroDivisionError: by 0$"):
        read_report(text, "update worker")


def test_reports_come_with_their_arrays():
    text, data = Failing().play()
    assert read_report(text, "rollout worker 0") == {"pid": 7}
    assert data == b"data"
    assert read_report(Failing().start(), "rollout worker 0") == {"pid": 7}

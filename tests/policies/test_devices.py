"""Where models run is chosen by name; what torch does not have is an error with what it has."""

from __future__ import annotations

import pytest
import torch

from llmzoo.errors import ConfigError
from llmzoo.models.devices import check_device, resolve_device
from llmzoo.policies import load
from llmzoo.policies.settings import LoadSettings
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.training import FitConfig


@pytest.mark.parametrize("name", ["cpu", "cuda", "cuda:1", "mps", None])
def test_names_that_are_devices(name):
    check_device(name)
    assert FitConfig(device=name).device == name


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:-1", "CPU", "", "meta", "cuda:1,2"])
def test_names_that_are_none(name):
    with pytest.raises(ConfigError, match="must be cpu, cuda, cuda:NUMBER or mps"):
        FitConfig(device=name)


def test_one_of_several_processes_chooses_no_device(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ConfigError, match="CUDA_VISIBLE_DEVICES"):
        check_device("cuda:1")
    check_device(None)


def test_ray_gives_devices_itself():
    with pytest.raises(ConfigError, match="Ray assigns devices to its workers"):
        FitConfig(device="cpu", engine="ray")


def test_what_torch_has(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert [resolve_device(name) for name in (None, "cpu", "cuda:1")] == ["cuda", "cpu", "cuda:1"]
    with pytest.raises(ConfigError, match="no device cuda:2 here, only cpu, cuda, cuda:0, cuda:1"):
        resolve_device("cuda:2")
    with pytest.raises(ConfigError, match="no device mps here"):
        load("tiny", device="mps")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device(None) == "cpu"
    with pytest.raises(ConfigError, match="no device cuda here, only cpu;"):
        load_policy_for_agents("tiny", ["a_0"], LoadSettings(device="cuda"))


@pytest.mark.parametrize("name", ["expert", "openai:some-model"])
def test_a_player_without_a_model_here_takes_no_device(name):
    with pytest.raises(ConfigError, match="runs no model in this process"):
        load_policy_for_agents(name, ["a_0"], LoadSettings(device="cpu"))

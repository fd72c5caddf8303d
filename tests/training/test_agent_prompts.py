"""Settings of prompts reach the chat template: those of a run, and those of single agents."""

from __future__ import annotations

import json
from dataclasses import asdict

import chat_models
import pytest
import tiny_models

from llmzoo.engine.ray.run_spec import RunSpec
from llmzoo.errors import ConfigError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.settings import Chat, LoadSettings
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.runs.policy_loading import load_policies, load_run_policies
from llmzoo.runs.policy_plans import plan_policies
from llmzoo.training import FitConfig

OFF = {"enable_thinking": False}
RUN = Sampling(max_new_tokens=5)
AGENTS = ["a", "b"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """The folder of a chat model that thinks."""
    folder = tmp_path_factory.mktemp("chat")
    chat_models.policy(chat_models.thinking()).save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """The folder of a model without a chat template."""
    folder = tmp_path_factory.mktemp("plain")
    tiny_models.policy().save(folder)
    return str(folder)


def prompts(agents):
    return {a: p.tokenizer.decode(p.encode("go", a)) for a, p in agents.items()}


def check(agents):
    """Agent a thinks, under a system prompt of its own; agent b does neither."""
    assert prompts(agents) == {
        "a": "<|im_start|>system\nA.<|im_end|>\n<|im_start|>user\ngo<|im_end|>\n"
        "<|im_start|>assistant\n",
        "b": "<|im_start|>system\nRun.<|im_end|>\n<|im_start|>user\ngo<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\n",
    }


CHAT = Chat(system="Run.", chat_template_args=OFF)
OWN = {"a": {"system": "A.", "chat_template_args": {"enable_thinking": True}}}


@pytest.mark.parametrize("arrangement", ["shared", "separate", "lora"])
def test_an_agents_settings_stand_before_the_runs(model, arrangement):
    settings = AgentSettings(
        policies=arrangement, model=model, sampling=RUN, chat=CHAT, agent_args=OWN
    )
    agents, learning = load_policies(AGENTS, settings)
    check(agents)
    assert len(learning) == (1 if arrangement == "shared" else 2)


def test_players_that_do_not_learn_have_them_too(model):
    settings = AgentSettings(
        policies="b", model=model, others=model, sampling=RUN, chat=CHAT, agent_args=OWN
    )
    agents, _ = load_policies(AGENTS, settings)
    check(agents)


def test_a_run_is_played_under_its_settings(model, tmp_path):
    config = {"model": model, "policies": "shared", "others": "expert", "max_new_tokens": 5}
    config |= {"temperature": 1.0, "top_p": 1.0, "top_k": 0, "agent_args": OWN, **asdict(CHAT)}
    (tmp_path / "config.json").write_text(json.dumps(config))
    chat_models.policy(chat_models.thinking()).save(tmp_path / "checkpoints/step_000001/policy")
    check(load_run_policies(tmp_path, AGENTS))
    # what is given now wins, also over an agent's own
    agents = load_policy_for_agents(str(tmp_path), AGENTS, LoadSettings(chat={"system": "Now."}))
    for text in prompts(agents).values():
        assert text.startswith("<|im_start|>system\nNow.<|im_end|>")


def test_a_run_of_an_earlier_version_has_none(model, tmp_path):
    config = {"model": model, "policies": "shared", "others": "expert", "max_new_tokens": 5}
    config |= {"temperature": 1.0, "top_p": 1.0, "top_k": 0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    chat_models.policy(chat_models.thinking()).save(tmp_path / "checkpoints/step_000001/policy")
    agents = load_run_policies(tmp_path, AGENTS)
    assert prompts(agents)["a"] == prompts(agents)["b"]
    assert prompts(agents)["a"].startswith("<|im_start|>user\ngo")


def test_workers_of_ray_have_them(model):
    config = FitConfig(model=model, system="Run.", chat_template_args=OFF)
    given = RunSpec(
        learner="magrpo",
        learner_args={},
        env="sudoku_v0",
        env_args={},
        policy_loader="llmzoo.runs.policy_loading:load_policies",
        agents=AGENTS,
        settings=AgentSettings(model=model, sampling=RUN, chat=config.chat(), agent_args=OWN),
        cohorts=1,
        workers=1,
        parallel="auto",
        cpu_offload=False,
        total_steps=1,
        folder=".",
    )
    agents, _ = RunSpec.from_json(given.to_json()).load_policies()
    check(agents)


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ({"policy": "expert", "system": "x"}, "reads no prompts: leave out system"),
        ({"policy": "grpc://127.0.0.1:1"}, "write openai:MODEL@URL for a model of llmzoo serve"),
        ({"system": 5}, "system must be a text, got 5"),
        ({"chat_template_args": "x"}, "chat_template_args must be a mapping"),
    ],
)
def test_settings_that_mean_nothing_for_an_agent(model, agent, says):
    with pytest.raises(ConfigError, match=says):
        plan_policies(AGENTS, AgentSettings(model=model, sampling=RUN, agent_args={"a": agent}))


def test_a_model_without_a_chat_template_takes_none(plain):
    options = {"model": plain, "sampling": RUN}
    for chat in (Chat(system="x"), Chat(chat_template_args=OFF)):
        with pytest.raises(ConfigError, match="no chat template"):
            load_policies(AGENTS, AgentSettings(chat=chat, **options))
    with pytest.raises(ConfigError, match="no chat template: system would have no effect"):
        load_policies(AGENTS, AgentSettings(agent_args={"b": {"system": "x"}}, **options))
    with pytest.raises(ConfigError, match="system would have no effect"):
        load_policy_for_agents("expert", AGENTS, LoadSettings(chat={"system": "x"}))

"""Settings for agents by a pattern of their names, such as ``worker_*``."""

from __future__ import annotations

import json

import pytest

from llmzoo.cli import main
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.make import build_learner
from llmzoo.names import check_agent_keys, value_for_agent
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.settings import Sampling
from llmzoo.runs.policy_plans import plan_policies

CREW = ["lead_0", "worker_1", "worker_2", "worker_10"]


def plan(**settings):
    return plan_policies(CREW, AgentSettings(model="tiny", sampling=Sampling(), **settings))


def test_a_name_comes_before_patterns_and_an_earlier_pattern_before_a_later_one():
    values = {"worker_1*": "a", "worker_*": "b", "worker_1": "c"}
    assert [value_for_agent(values, agent, "none") for agent in CREW] == ["none", "c", "b", "a"]


def test_workers_share_a_model():
    plans = plan(policies={"lead_0": "lead", "worker_*": "workers"})
    assert {agent: each.name for agent, each in plans.items()} == {
        "lead_0": "lead",
        **dict.fromkeys(CREW[1:], "workers"),
    }


def test_settings_of_a_role():
    plans = plan(agent_args={"worker_*": {"temperature": 0.5}, "worker_2": {"temperature": 0.25}})
    assert [each.sampling.temperature for each in plans.values()] == [1.0, 0.5, 0.25, 0.5]


def test_agents_of_a_role_may_be_scripted():
    plans = plan(policies={"lead_0": "lead"}, agent_args={"worker_*": {"policy": "expert"}})
    assert [each.learns for each in plans.values()] == [True, False, False, False]


def test_a_pattern_that_matches_nobody_is_an_error():
    check_agent_keys(["worker_*", "lead_0"], CREW)
    with pytest.raises(UnknownNameError, match=r"worker_\*_x.*lead_0, worker_1"):
        plan(agent_args={"worker_*_x": {"frozen": True}})
    with pytest.raises(ConfigError, match="policies has no model for lead_0"):
        plan(policies={"worker_*": "workers"})


def test_a_name_with_a_patterns_characters_is_a_name():
    check_agent_keys(["place[1]"], ["place[1]", "place[2]"])
    assert value_for_agent({"place[1]": "a"}, "place[1]", None) == "a"


def test_each_role_has_its_own_learner():
    learner = build_learner("magrpo", {}, {"worker_*": {"learner": "marloo"}})
    names = [type(learner.for_agent(agent)).__name__ for agent in CREW]
    assert names == ["MAGRPO", "MARLOO", "MARLOO", "MARLOO"]
    assert len({id(learner.for_agent(agent)) for agent in CREW[1:]}) == 1


def test_patterns_on_the_command_line(tmp_path, capsys):
    run = tmp_path / "run"
    policies = '{"first_*": "ends", "*_1": "middle", "last_2": "ends"}'
    arguments = ["--env", "relay_v0", "--policies", policies, "--agent.*_*.max_new_tokens", "7"]
    sizes = [
        "--steps",
        "1",
        "--episodes_per_step",
        "1",
        "--eval_tasks",
        "2",
        "--learner.group_size",
        "2",
    ]
    assert main(["train", *arguments, *sizes, "--out", str(run)]) == 0
    saved = json.loads((run / "config.json").read_text())
    assert saved["agent_args"] == {"*_*": {"max_new_tokens": 7}}
    (step,) = (run / "checkpoints").glob("step_*")
    assert {path.parent.name for path in step.glob("*/model.safetensors")} == {"ends", "middle"}
    capsys.readouterr()
    assert main(["eval", str(run), "--env", "relay_v0", "--tasks", "2", "--json"]) == 0

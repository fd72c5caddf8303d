"""Tasks of telecom_v0: the sets of issues, records of tau2-bench's form, splits, and what a bad record says."""

from __future__ import annotations

import copy
import json
import sys

import pytest
import telecom_records as published

import llmzoo
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.tools.telecom import issues, records, tasks
from llmzoo.envs.tools.telecom.issues import (
    ISSUES,
    Owner,
    combinations,
    compose_task,
    eligible_owners,
    load_database,
)
from llmzoo.envs.tools.telecom.tasks import holds
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.errors import ConfigError, SkippedRecordsWarning

JOHN = Owner("C1001", "L1002", "John Smith", "555-123-2002", 15.0)
needs_toml = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python reads TOML from 3.11 on")


def every_set():
    return [
        (intent, names)
        for intent in issues.GROUPS
        for sets in combinations(intent).values()
        for names in sets
    ]


def make(**kwargs):
    return llmzoo.make("telecom_v0", **{"split": "all", **kwargs}).unwrapped


def test_there_are_as_many_sets_of_issues_as_tasks_in_tau2_benchs_full_set():
    counts = {intent: sum(map(len, combinations(intent).values())) for intent in issues.GROUPS}
    # 2x2x2x2x3 - 1, then 2 x (4x2x2x2x2x2 - 1), then 2x2x2x2x4 x (2x2x2x4 - 1)
    assert counts == {"service_issue": 47, "mobile_data_issue": 254, "mms_issue": 1984}
    assert sum(counts.values()) == 2_285
    # its tasks_small.json has the sets of one issue: 6, 8 and 6
    assert [len(combinations(intent)[1]) for intent in issues.GROUPS] == [6, 8, 6]
    assert len(set(every_set())) == 2_285
    assert {name for _, names in every_set() for name in names} == set(ISSUES)
    assert [max(combinations(intent)) for intent in issues.GROUPS] == [5, 7, 9]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10))
def test_the_reference_mends_every_set_and_nothing_less_does(number):
    """For one owner each; ``number`` spreads the sets over the owners."""
    owner = eligible_owners(load_database())[number]
    assert len(eligible_owners(load_database())) == 10
    for intent, names in every_set()[number::10]:
        task = compose_task(intent, names, owner, "None", load_database())
        assert all(holds(task.repaired_world, each) for each in task.asserts), task.name
        beyond = bool({"lock_sim_card_pin", "contract_end_suspension"} & set(names))
        assert bool(task.required) == beyond
        # what cannot be repaired stays as it is, and all else is broken at first
        assert all(holds(task.world, each) for each in task.asserts) == beyond, task.name


@pytest.mark.parametrize("id", published.MODEL_CATALOG)
def test_sets_are_composed_as_published_records_are(id):
    setup, actions, assertions = published.MODEL_CATALOG[id]
    intent, _, names = id.partition("]")
    task = compose_task(
        intent[1:], names.partition("[")[0].split("|"), JOHN, "None", johns_database()
    )
    assert [tuple(each) for each in task.setup] == [published.WHO, *setup]
    assert [tuple(each) for each in task.asserts] == assertions
    assert [call.name for call in task.repairs] == [name for _, name, _ in actions]
    assert all(name in TOOLS[side].tools for side, name, _ in actions)
    if not task.required:
        assert [call.arguments for call in task.repairs] == [given for *_, given in actions]


def johns_database():
    return records.build_database(
        {
            "plans": [
                {
                    "plan_id": "P1002",
                    "data_limit_gb": 15.0,
                    "price_per_month": 65.0,
                    "data_refueling_price_per_gb": 2.0,
                }
            ],
            "lines": [
                {
                    "line_id": "L1002",
                    "phone_number": "555-123-2002",
                    "plan_id": "P1002",
                    "status": "Active",
                }
            ],
            "customers": [
                {
                    "customer_id": "C1001",
                    "full_name": "John Smith",
                    "date_of_birth": "1985-06-15",
                    "phone_number": "555-123-2002",
                    "line_ids": ["L1002"],
                }
            ],
        }
    )


def test_used_up_data_is_the_figure_of_tau2_bench():
    task = compose_task(
        "mms_issue", ["bad_vpn", "data_usage_exceeded"], JOHN, "None", johns_database()
    )
    assert {"customer_id": "C1001", "line_id": "L1002", "data_used_gb": 15.1} in [
        step.arguments for step in task.setup
    ]
    assert task.asserts[-1].arguments["expected_amount"] == 2.0


@needs_toml
def test_records_of_a_folder_are_read_and_solved(tmp_path):
    source = published.folder(tmp_path)
    env = make(source=source)
    assert env.tasks.count == len(published.MODEL_CATALOG) == 13
    for number, id in enumerate(published.MODEL_CATALOG):
        env.reset(options={"task": number})
        info = env.infos["agent_0"]
        assert (info["task_name"], info["source"]) == (id, f"{source}/tasks.json")
        assert f"[{info['intent']}]" in id
        while not env.terminations["agent_0"]:
            env.step(env.expert(env.agent_selection))
        assert env.infos["agent_0"]["success"], id
        assert env.infos["agent_0"]["assertions_held"] == env.infos["agent_0"]["assertions"]


@needs_toml
def test_a_subset_and_an_intent_of_a_folder(tmp_path):
    source = published.folder(tmp_path)
    assert make(source=source, subset="test").tasks.names == tuple(published.MODEL_CATALOG)[:3]
    assert make(source=source, intent="service_issue").tasks.count == 4
    with pytest.raises(ConfigError, match="has no subset 'train'; it has: test"):
        make(source=source, subset="train")
    with pytest.raises(ConfigError, match="has no task of intent mms_issue"):
        make(source=source, subset="test", intent="mms_issue")
    with pytest.raises(ConfigError, match="issues is for source='generator'"):
        make(source=source, issues=1)


def test_a_database_in_json_is_read_on_every_python(tmp_path):
    source = published.folder(tmp_path)
    (tmp_path / "db.toml").unlink()
    (tmp_path / "user_db.toml").unlink()
    with pytest.raises(ConfigError, match=r"has no db\.toml or db\.json"):
        make(source=source)
    tables = vars_of(johns_database())
    (tmp_path / "db.json").write_text(json.dumps(tables))
    assert make(source=f"{source}/tasks.json").tasks.count == 13
    (tmp_path / "user_db.json").write_text('{"device": {"antenna": 1}}')
    with pytest.raises(ConfigError, match="device has an unknown field 'antenna'"):
        make(source=source)


def vars_of(data):
    names = ("plans", "customers", "lines", "bills", "devices")
    return {name: list(getattr(data, name).values()) for name in names}


FIRST = "[mobile_data_issue]user_abroad_roaming_enabled_off[PERSONA:None]"
BAD = [
    (("evaluation_criteria", "reward_basis"), ["DB", "ENV_ASSERTION"], "it has DB, ENV_ASSERTION"),
    (("evaluation_criteria", "reward_basis"), [], "must be of ACTION, ENV_ASSERTION"),
    (("initial_state", "initialization_data"), {"agent_data": {}}, "is not played"),
    (("initial_state", "initialization_actions"), [], "does not say who calls"),
    (("initial_state", "initialization_actions"), [1], "must be a list of objects"),
    (
        ("initial_state", "initialization_actions"),
        [{"env_type": "user", "func_name": "explode", "arguments": {}}],
        "is user 'explode', which is not played",
    ),
    (
        ("initial_state", "initialization_actions"),
        [{"env_type": "user", "func_name": "turn_data_off", "arguments": {"now": 1}}],
        "cannot be played",
    ),
    (
        ("initial_state", "initialization_actions"),
        [{"env_type": "user", "func_name": "set_user_info", "arguments": {"name": "A", "phone_number": "1"}}],
        "no line has the number '1'",
    ),
    (
        ("evaluation_criteria", "env_assertions"),
        [{"env_type": "user", "func_name": "assert_can_send_mms", "arguments": {}}],
        "cannot be checked",
    ),
    (
        ("evaluation_criteria", "actions"),
        [{"requestor": "user", "name": "resume_line", "arguments": {}}],
        "has user 'resume_line', which is no tool",
    ),
    (
        ("evaluation_criteria", "actions"),
        [{"name": "resume_line", "arguments": {"customer_id": "C1001", "line_id": "L9"}}],
        "cannot be played: customer C1001 has no line 'L9'",
    ),
    (("user_scenario", "instructions"), "call", "field 'instructions'"),
]  # fmt: skip


@needs_toml
@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_record_says_what_is_wrong(tmp_path, path, value, message):
    bad = copy.deepcopy(published.record(FIRST))
    bad[path[0]][path[1]] = value
    good = published.record("[service_issue]break_apn_settings[PERSONA:None]")
    source = published.folder(tmp_path, [bad, good])
    with pytest.raises(ConfigError, match=r"tasks\.json:1: .*" + message):
        make(source=source)
    with pytest.warns(SkippedRecordsWarning):
        assert make(source=source, on_bad_record="skip").tasks.count == 1


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"source": "sample"}, "source must be 'generator', a folder"),
        ({"source": "no/such/tasks.json"}, "source must be 'generator', a folder"),
        ({"subset": "test"}, "subset is for a folder"),
        ({"issues": 10}, "issues must be from 1 to"),
        ({"issues": 6, "intent": "service_issue"}, "issues must be from 1 to"),
        ({"intent": "billing"}, "intent must be one of"),
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"max_turns": 0}, "max_turns must be at least 1"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        make(**kwargs)


@pytest.mark.slow
def test_the_split_is_by_the_issues_whoever_the_customer_is():
    first, second = eligible_owners(load_database())[:2]
    for intent, names in every_set()[::50]:
        one = compose_task(intent, names, first, "None", load_database())
        other = compose_task(intent, names, second, "Hard", load_database())
        turned = compose_task(intent, names[::-1], second, "Easy", load_database())
        assert tasks.canonical(one) == tasks.canonical(other) == tasks.canonical(turned)
        assert tasks.content(one) != tasks.content(other)
    forms = {
        tasks.canonical(compose_task(i, n, first, "None", load_database())) for i, n in every_set()
    }
    assert len(forms) == 2_285
    assert 400 < sum(assign_split(form) == "test" for form in forms) < 510  # one in five: 457


@needs_toml
def test_a_record_is_in_the_split_of_its_issues(tmp_path):
    """A drawn task and a record about the same issues are in the same split."""
    loaded = records.load(published.folder(tmp_path), "error").tasks
    for record, id in zip(loaded, published.MODEL_CATALOG, strict=True):
        intent, _, names = id.partition("]")
        drawn = compose_task(
            intent[1:],
            names.partition("[")[0].split("|"),
            eligible_owners(load_database())[0],
            "None",
            load_database(),
        )
        assert tasks.canonical(record) == tasks.canonical(drawn)


def test_draws_have_what_is_asked_for():
    for kwargs in ({"issues": 1}, {"issues": 7}, {"intent": "mms_issue", "issues": 9}):
        env = make(**kwargs)
        seen = set()
        for seed in range(20):
            env.reset(seed=seed)
            task = env.episode.conversation.task
            assert len(task.name.split("[")[1].partition("]")[2].split("|")) == kwargs["issues"]
            seen.add(task.goal)
        assert "intent" not in kwargs or seen == {kwargs["intent"]}
        assert kwargs["issues"] < 6 or "service_issue" not in seen

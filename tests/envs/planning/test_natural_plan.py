"""NATURAL PLAN's calendar records: what is read, what each agent gets, and which records are bad.

The records here were written for this test, in the form of the set.
"""

from __future__ import annotations

import json
import runpy
import sys
import types
from pathlib import Path

import pytest

import llmzoo
from llmzoo.envs import sources
from llmzoo.envs.planning.calendar import natural_plan
from llmzoo.envs.planning.calendar.tasks import Slot, Wish
from llmzoo.envs.sources import BadField
from llmzoo.errors import ConfigError, SkippedRecordsWarning

ROOT = Path(__file__).resolve().parents[3]
INTRODUCTION = (
    "You are an expert at scheduling meetings. Here are a few example tasks and solutions:\n\n"
)
EXAMPLE = (
    "TASK: You need to schedule a meeting for Vera and Uma for one hour between the work hours of 9:00 to "
    "17:00 on Monday. \n\nHere are the existing schedules for everyone during the day: \nVera is busy on "
    "Monday during 9:00 to 16:00; \nUma is free the entire day.\n\nFind a time that works for everyone's "
    "schedule and constraints. \nSOLUTION: Here is the proposed time: Monday, 16:00 - 17:00 \n\n"
)
END = "Find a time that works for everyone's schedule and constraints. \nSOLUTION: "


def record(task, golden, people=2, days=1, hours=0.5, **changes):
    return {
        "num_people": people,
        "num_days": days,
        "duration": hours,
        "prompt_0shot": f"{INTRODUCTION}TASK: {task}{END}",
        "prompt_5shot": f"{INTRODUCTION}{EXAMPLE}TASK: {task}{END}",
        "golden_plan": f"Here is the proposed time: {golden} ",
        **changes,
    }


ONE_DAY = record(
    "You need to schedule a meeting for Nora and Paul for half an hour between the work hours of 9:00 to "
    "17:00 on Monday. \n\nHere are the existing schedules for everyone during the day: \nNora has meetings "
    "on Monday during 9:00 to 11:30, 12:00 to 17:00; \nPaul's calendar is wide open the entire day.\n\n",
    "Monday, 11:30 - 12:00",
)
# Nora: Wednesday, and Monday from 11:30 on, are out; Paul: Tuesday is out; so Monday from 10:30
SEVERAL_DAYS = record(
    "You need to schedule a meeting for Nora and Paul for one hour between the work hours of 9:00 to 17:00 on "
    "either Monday, Tuesday or Wednesday. \n\nHere are the existing schedules for everyone during the days: "
    "\nNora has blocked their calendar on Monday during 9:00 to 10:00, 12:00 to 17:00, Wednesday during 9:00 "
    "to 9:30; \nPaul is busy on Monday during 10:00 to 10:30; \n\nNora would rather not meet on Monday after "
    "11:30. Wednesday. Paul can not meet on Tuesday. ",
    "Monday, 10:30 - 11:30",
    days=3,
    hours=1.0,
)
THREE = record(
    "You need to schedule a meeting for Nora, Paul and Rita for half an hour between the work hours of 9:00 to "
    "17:00 on Monday. \n\nHere are the existing schedules for everyone during the day: \nNorahas no meetings "
    "the whole day.\nPaul is free the entire day.\nRita is busy on Monday during 9:30 to 10:00; \n\nRita do "
    "not want to meet on Monday before 12:30. You would like to schedule the meeting at their earlist "
    "availability.\n",
    "Monday, 12:30 - 13:00",
    people=3,
)


def read(given, **changes):
    return natural_plan.task_from_record({**given, **changes})


def test_a_record_of_one_day():
    task = read(ONE_DAY)
    assert [p.name for p in task.people] == ["Nora", "Paul"]
    assert task.people[0].busy == (Slot("Monday", 540, 690), Slot("Monday", 720, 1020))
    assert task.people[1].busy == ()
    assert (task.opens, task.closes, task.length, task.days) == (540, 1020, 30, ("Monday",))
    assert task.valid == (Slot("Monday", 690, 720),)


def test_wishes_over_several_days():
    task = read(SEVERAL_DAYS)
    nora, paul = task.people
    assert nora.wishes == (Wish("Monday", "after", 690), Wish("Wednesday", ""))
    assert paul.wishes == (Wish("Tuesday", ""),)
    assert nora.busy[2] == Slot("Wednesday", 540, 570)
    assert task.valid == (Slot("Monday", 630, 690),)


def test_the_earliest_time_where_it_is_asked_for():
    task = read(THREE)
    assert task.earliest
    assert [p.busy for p in task.people[:2]] == [(), ()]
    assert task.valid == (Slot("Monday", 750, 780),)


def test_a_name_that_begins_like_another():
    """Nora's line comes after that of Norah."""
    text = ONE_DAY["prompt_0shot"].replace("Paul", "Norah")
    first, second = (
        line for line in text.splitlines() if "Nora" in line and "for Nora" not in line
    )
    swapped = text.replace(first, "FIRST").replace(second, first).replace("FIRST", second)
    task = read(ONE_DAY, prompt_0shot=swapped)
    assert [p.name for p in task.people] == ["Nora", "Norah"]
    assert [len(p.busy) for p in task.people] == [2, 0]


def test_after_examples_the_last_task_counts():
    assert read(ONE_DAY, prompt_0shot=None) == read(ONE_DAY)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"golden_plan": "Monday, 12:00 - 12:30"},
            "'golden_plan' is not a time that suits everyone",
        ),
        ({"golden_plan": "soon"}, "'golden_plan' has no time such as"),
        ({"golden_plan": None}, "'golden_plan' is missing"),
        ({"num_people": 3}, "'num_people' is 3, the text has 2"),
        ({"num_days": 2}, "'num_days' is 2, the text has 1"),
        ({"duration": 1.0}, "'duration' is 1.0, the text has 0.5"),
        ({"prompt_0shot": "TASK: Meet."}, "does not say who meets"),
        (
            {"prompt_0shot": ONE_DAY["prompt_0shot"].replace("Paul's calendar", "His calendar")},
            "has no calendar of Paul",
        ),
        (
            {
                "prompt_0shot": ONE_DAY["prompt_0shot"].replace(
                    "Find a", "Paul sleeps until ten. Find a"
                )
            },
            "a sentence that is not understood: 'Paul sleeps until ten.'",
        ),
        (
            {
                "prompt_0shot": ONE_DAY["prompt_0shot"].replace(
                    "Find a", "Max can not meet on Monday. Find a"
                )
            },
            "a wish of Max, who is not invited",
        ),
    ],
)
def test_bad_records(changes, message):
    with pytest.raises(BadField, match=message):
        read(ONE_DAY, **changes)


def as_one_object(path, records):
    """The form of the set's own file."""
    named = {f"calendar_scheduling_example_{n}": r for n, r in enumerate(records)}
    path.write_text(json.dumps(named, indent=2))


def as_lines(path, records):
    path.write_text("".join(json.dumps(r) + "\n" for r in records))


def as_list(path, records):
    path.write_text(json.dumps(records))


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (as_one_object, "calendar_scheduling.json"),
        (as_lines, "c.jsonl"),
        (as_list, "c.json"),
        (as_lines, "d.json"),
    ],
)
def test_files(write, name, tmp_path):
    path = tmp_path / name
    write(path, [ONE_DAY, THREE, SEVERAL_DAYS])
    env = llmzoo.make("calendar_v0", source=str(path), split="all").unwrapped
    assert env.tasks.count == 2  # of two people
    assert (
        llmzoo.make("calendar_v0", source=str(path), split="all", people=3).unwrapped.tasks.count
        == 1
    )
    for number, right in enumerate(["Monday, 11:30 - 12:00", "Monday, 10:30 - 11:30"]):
        env.reset(options={"task": number})
        first, second = (env.observe(agent) for agent in env.agents)
        assert "assistant of Nora" in first
        assert "When Nora is busy" in first
        assert "When Paul is busy" not in first
        assert "When Paul is busy" in second
        assert "When Nora is busy" not in second
        assert right not in first + second
        for _ in range(4):
            env.step(env.expert(env.agent_selection))
        assert env.success
        assert env.infos["assistant_0"]["proposal"] == right
        assert env.infos["assistant_0"]["source"] == str(path)
    if write is as_one_object:
        assert env.tasks.names == ("calendar_scheduling_example_0", "calendar_scheduling_example_2")


def test_a_bad_record_is_named_or_skipped(tmp_path):
    path = tmp_path / "c.json"
    as_one_object(path, [ONE_DAY, {**ONE_DAY, "golden_plan": "soon"}])
    with pytest.raises(ConfigError, match="example_1: field 'golden_plan' has no time"):
        llmzoo.make("calendar_v0", source=str(path), split="all")
    with pytest.warns(SkippedRecordsWarning, match="1 of 2 records were skipped"):
        env = llmzoo.make("calendar_v0", source=str(path), split="all", on_bad_record="skip")
    assert env.unwrapped.tasks.count == 1


def test_no_records_for_so_many_people(tmp_path):
    path = tmp_path / "c.jsonl"
    as_lines(path, [ONE_DAY])
    with pytest.raises(ConfigError, match="none of its 0 tasks"):
        llmzoo.make("calendar_v0", source=str(path), split="all", people=4)


def test_the_hub_is_asked_for_its_configuration(monkeypatch):
    """The copy on the hub calls the right time ``golden_plan_text``."""
    copied = {"golden_plan_text": ONE_DAY["golden_plan"], "id": "calendar_scheduling_example_0"}
    copied |= {k: v for k, v in ONE_DAY.items() if k != "golden_plan"}
    fake = types.ModuleType("datasets")
    fake.config = types.SimpleNamespace(HF_HUB_OFFLINE=True)
    fake.calls = []

    def load_dataset(*args):
        fake.calls.append(args)
        return {"test": [copied]}

    fake.load_dataset = load_dataset
    monkeypatch.setitem(sys.modules, "datasets", fake)
    monkeypatch.setattr(sources, "_loaded", {})
    env = llmzoo.make("calendar_v0", source="hub", split="all").unwrapped
    assert fake.calls == [(natural_plan.HUB_ID, natural_plan.HUB_CONFIGURATION)]
    assert (env.tasks.count, env.tasks.source) == (1, "hub")


def test_the_sample_is_what_its_script_writes():
    script = runpy.run_path(str(ROOT / "scripts" / "samples" / "calendar_records.py"))
    assert natural_plan.PUBLIC_SET.sample_records() == script["records"](), (
        "run python scripts/samples/calendar_records.py"
    )


@pytest.mark.parametrize(("people", "tasks"), [(2, 40), (3, 20), (4, 20)])
def test_the_sample_is_solved_in_both_splits(people, tasks):
    found = 0
    for split in ("train", "test"):
        env = llmzoo.make("calendar_v0", source="sample", people=people, split=split).unwrapped
        found += env.tasks.count
        for number in range(env.tasks.count):
            env.reset(options={"task": number})
            while not env.terminations["assistant_0"]:
                env.step(env.expert(env.agent_selection))
            assert env.success
    assert found == tasks

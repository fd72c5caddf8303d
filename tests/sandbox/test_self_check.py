"""``llmzoo check --sandbox``: what is said of the attacks, and the exit code."""

import json

import pytest

from llmzoo.cli import main
from llmzoo.sandbox.attacks import check, machine_facts
from llmzoo.sandbox.attacks.check import CONTROLS, GroupResult
from llmzoo.sandbox.attacks.groups import FAKES, GROUPS
from llmzoo.sandbox.attacks.suite import SUITE

READING = [attack.name for attack in GROUPS["harms/reading"]]


def results(*records):
    return {one.group: one for one in check._results(3, list(records), share=0.0)}


def record(attack, outcome, why=""):
    return {"column": "L3", "attack": attack, "outcome": outcome, "why": why}


def test_a_group_holds_if_every_attack_that_was_tried_was_stopped():
    rows = [record(READING[0], "stopped"), record(READING[1], "not run", "no time left")]
    group = results(*rows)["harms/reading"]
    assert (group.held, group.tried, group.attacks) == (True, 1, len(READING))


@pytest.mark.parametrize("outcome", ["succeeded", "broken"])
def test_one_attack_that_succeeds_or_breaks_the_judge_is_named(outcome):
    rows = [record(READING[0], "stopped"), record(READING[1], outcome, "leaked: a file")]
    group = results(*rows)["harms/reading"]
    assert (group.held, group.why) == (False, f"{READING[1]}: leaked: a file")


def test_a_group_that_was_not_tried_holds_nothing():
    group = results(record(READING[0], "not run", "no time left"))["harms/reading"]
    assert (group.held, group.why) == (None, "no time left")


def test_a_wrong_control_and_a_suite_that_dies_are_failures():
    assert results({"column": "L3", "wrong": ["a right solution is judged failed"]})[
        CONTROLS
    ] == GroupResult(3, CONTROLS, False, 24, 24, "a right solution is judged failed")
    assert (
        results(record(SUITE, "broken", "the attack runner ended with exit code 1"))[CONTROLS].held
        is False
    )


def test_without_namespaces_the_fakes_are_tried_and_the_harms_are_not(monkeypatch):
    tried = [
        {"wrong": []},
        record(GROUPS["fakes/exits"][0].name, "succeeded", "passed as literal (data)"),
    ]
    monkeypatch.setattr(check, "_fakes_here", lambda level, deadline: tried)
    found = results({"as": "user", "unavailable": "no world of its own"})
    assert (found["harms/reading"].held, found["harms/reading"].why) == (
        None,
        "no world of its own",
    )
    assert found["fakes/exits"].held is False


@pytest.mark.parametrize(
    ("statuses", "outcome"),
    [(["failed", "passed"], "succeeded"), (["failed", "blocked"], "stopped")],
)
def test_a_fake_succeeds_if_one_task_is_judged_passed(statuses, outcome):
    class Column:
        def fake(self, program, task, time_limit):
            return statuses.pop(0) if statuses else "failed", "data"

    assert check._fake(Column(), FAKES[0])["outcome"] == outcome


@pytest.mark.parametrize(("held", "code"), [(True, 0), (None, 2), (False, 1)])
def test_the_exit_code_and_the_json(monkeypatch, capsys, held, code):
    def check_sandbox(seconds, done):
        assert seconds == 7
        yield GroupResult(3, "harms/reading", held, 2, 3, "why")

    monkeypatch.setattr(check, "check_sandbox", check_sandbox)
    assert main(["check", "--sandbox", "--time_budget", "7", "--json"]) == code
    if held is not None:
        said = json.loads(capsys.readouterr().out)
        assert said["held"] is held
        assert said["groups"][0]["tried"] == 2
        assert {"kernel", "user namespaces", "landlock", "seccomp", "cgroups v2"} <= {
            *said["machine"]
        }


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ([], "name an environment"),
        (["sudoku_v0", "--sandbox"], "--env has no effect with --sandbox"),
        (["--sandbox", "--time_budget", "0"], "--time_budget must be a positive number"),
    ],
)
def test_usage(capsys, words, remedy):
    assert main(["check", *words]) == 2
    assert remedy in capsys.readouterr().err


def test_cgroups_are_named_only_where_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(machine_facts, "CGROUPS", tmp_path)
    assert machine_facts._cgroups() == "not available: no hierarchy of version 2"
    (tmp_path / "cgroup.controllers").touch()
    assert machine_facts._cgroups().startswith("available, ")


@pytest.mark.slow
def test_here(capsys):
    assert main(["check", "--sandbox", "--time_budget", "12", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)["groups"]
    assert any(group["tried"] for group in groups)

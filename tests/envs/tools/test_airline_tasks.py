"""Tasks of airline_v0: drawn requests against the policy, records of tau2-bench's form, splits, and bad records."""

from __future__ import annotations

import copy
import json
import random

import airline_records as published
import pytest

import llmzoo
from llmzoo.envs.tasks import assign_split
from llmzoo.envs.tools.airline import generator, tasks
from llmzoo.envs.tools.airline.database import FREE_BAGS, total_paid
from llmzoo.envs.tools.airline.flight_network import DATES, network
from llmzoo.envs.tools.airline.tasks import INTENTS
from llmzoo.errors import ConfigError, SkippedRecordsWarning

AGENT = "agent_0"
DRAWS = 60  # of each intent


def make(**kwargs):
    return llmzoo.make("airline_v0", **{"split": "all", **kwargs}).unwrapped


def drawn(intent, number=DRAWS):
    rng = random.Random(intent)
    return [generator.sample_task(rng, intent=intent) for _ in range(number)]


def booked(task):
    """The reservation that a task is about, before and after."""
    (id,) = [c.arguments["reservation_id"] for c in task.reads if "reservation_id" in c.arguments]
    return task.data.reservations[id], task.end.reservations[id]


def status(task, flight):
    return task.data.flights[flight["flight_number"]]["dates"][flight["date"]]["status"]


def owner(task):
    return task.data.users[task.reads[0].arguments["user_id"]]


def entitled(task):
    """Whether the policy allows a request, read from the records and from what the customer says."""
    words = f"{task.reason} {task.instructions}"
    if task.goal in ("booking", "cabin"):
        return True
    before, _ = booked(task)
    insured = before["insurance"] == "yes"
    if task.goal == "cancellation":
        return (
            before["created_at"] >= "2024-05-14T15:00:00"
            or before["cabin"] == "business"
            or any(status(task, flight) == "cancelled" for flight in before["flights"])
            or (insured and ("ill" in words.split() or "storm" in words))
        )
    if task.goal == "compensation":
        claim = "delayed" if "delayed" in words else "cancelled"
        silver = owner(task)["membership"] != "regular"
        return status(task, before["flights"][0]) == claim and (
            silver or insured or before["cabin"] == "business"
        )
    return {
        "change": before["cabin"] != "basic_economy",
        "baggage": "add" in words,
        "passengers": "instead" in words,
        "insurance": False,
    }[task.goal]


@pytest.mark.parametrize("intent", INTENTS)
def test_the_reference_does_what_the_policy_allows(intent):
    found = drawn(intent)
    allowed = [entitled(task) for task in found]
    assert [bool(task.writes) for task in found] == allowed
    assert all(bool(task.writes) == (task.end != task.data) for task in found)
    if intent not in ("booking", "cabin", "insurance"):
        assert 0.3 < sum(allowed) / len(allowed) < 0.85


def test_three_requests_in_ten_are_forbidden():
    rng = random.Random(0)
    forbidden = sum(not generator.sample_task(rng, intent=None).writes for _ in range(600))
    assert 0.24 < forbidden / 600 < 0.36


@pytest.mark.parametrize("intent", INTENTS)
def test_the_figure_stands_in_the_records(intent):
    for task in drawn(intent):
        (figure,) = map(int, task.communicate)
        assert figure > 0
        if intent == "booking":
            assert figure == total_paid(task.end.reservations["HATHAT"])
            continue
        before, after = booked(task)
        if intent in ("change", "cabin") and task.writes:
            assert figure == abs(total_paid(after) - total_paid(before))
        elif intent == "cancellation":
            assert figure == total_paid(before)
            assert total_paid(after) == (0 if task.writes else figure)
        else:
            assert figure == total_paid(after)


@pytest.mark.parametrize("intent", ["booking", "change"])
def test_the_flight_is_the_one_that_the_customer_describes(intent):
    for task in drawn(intent):
        if not task.writes:
            continue
        (write,) = task.writes
        asked = [call.arguments for call in task.reads if call.name == "search_direct_flight"]
        for search in asked:
            there = [
                flight
                for flight in task.data.flights.values()
                if (flight["origin"], flight["destination"])
                == (search["origin"], search["destination"])
                and flight["dates"][search["date"]]["status"] == "available"
            ]
            order = sorted(there, key=lambda f: f["scheduled_departure_time_est"])
            best = {"leaves first": order[0], "leaves last": order[-1]}
            prices = [
                flight["dates"][search["date"]]["prices"][write.arguments["cabin"]]
                for flight in order
            ]
            best["costs least"] = order[prices.index(min(prices))]
            assert prices.count(min(prices)) == 1
            (rule,) = [name for name in best if name in task.instructions]
            flight = {"flight_number": best[rule]["flight_number"], "date": search["date"]}
            assert flight in write.arguments["flights"]


def test_bags_are_paid_that_exceed_the_free_ones():
    for task in drawn("booking") + drawn("baggage"):
        for call in task.writes:
            made = task.end.reservations["HATHAT"] if task.goal == "booking" else booked(task)[1]
            free = FREE_BAGS[owner(task)["membership"]][made["cabin"]] * len(made["passengers"])
            assert made["nonfree_baggages"] == max(0, made["total_baggages"] - free), call


def test_compensation_is_fifty_or_a_hundred_for_each_passenger():
    amounts = set()
    for task in drawn("compensation"):
        for call in task.writes:
            people = len(booked(task)[0]["passengers"])
            amounts.add(call.arguments["amount"] // people)
            assert call.arguments["amount"] == people * (50 if "delayed" in task.reason else 100)
    assert amounts == {50, 100}


def test_the_network():
    flights = network().flights
    assert len(flights) == 269
    assert all(tuple(flight["dates"]) == DATES for flight in flights.values())
    assert {*network().by_status} == {
        *("available", "landed", "cancelled", "delayed", "on time", "flying")
    }
    for leg in network().by_status["available"]:
        assert leg.date > "2024-05-15"


@pytest.mark.slow
def test_the_split_is_by_the_request_whoever_the_customer_is():
    forms = [tasks.canonical(task) for intent in INTENTS for task in drawn(intent, 100)]
    share = sum(assign_split(form) == "test" for form in forms) / len(forms)
    assert 0.15 < share < 0.26
    assert not any(name in form for form in forms for name in ("user_id", "credit_card", "born"))
    train, test = (make(split=split) for split in ("train", "test"))
    seen = {tasks.canonical(train.tasks[i]) for i in range(200)}
    assert not seen & {tasks.canonical(test.tasks[i]) for i in range(200)}


def test_draws_have_the_intent_that_is_asked_for():
    for intent in INTENTS:
        env = make(intent=intent)
        for seed in range(5):
            env.reset(seed=seed)
            assert env.infos[AGENT]["intent"] == intent


# Records of tau2-bench


def played(env, id):
    env.reset(options={"task": id})
    total = 0.0
    while not env.terminations[AGENT]:
        env.step(env.expert(env.agent_selection))
        total += env.rewards[AGENT]
    return total


@pytest.mark.parametrize("id", published.TASKS)
def test_records_of_a_folder_are_read_and_solved(tmp_path, id):
    source = published.folder(tmp_path)
    env = make(source=source)
    assert env.tasks.count == len(published.TASKS) == 5
    assert played(env, id) == pytest.approx(1.0)
    info = env.infos[AGENT]
    assert (info["task_name"], info["source"]) == (id, f"{source}/tasks.json")
    assert info["success"]
    assert info["database_holds"]
    assert info["said"] == info["to_say"] == len(published.TASKS[id][2])


def test_what_a_folder_says_reaches_the_customer_alone(tmp_path):
    env = make(source=published.folder(tmp_path))
    env.reset(options={"task": "upgrade"})
    user = env.observe("user_1")
    for told in (
        "your user id is ann_bell_1",
        "You do not know your membership",
        "whatever way is",
    ):
        assert told.lower() in user.lower()
    assert "Customer: Hello. I want to cancel reservation BBB222" in env.observe(AGENT)
    assert "do not know your membership" not in env.observe(AGENT)
    assert "802" not in user + env.observe(AGENT)


def end(env, id, *calls):
    """The records at the end of a task after other calls."""
    env.reset(options={"task": id})
    for name, arguments in calls:
        env.step(f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>")
    return env.episode.conversation


def test_verdicts_on_records_by_hand(tmp_path):
    """As evaluator_env.py: the records at the end, however they came about."""
    env = make(source=published.folder(tmp_path))
    _, actions, _ = published.TASKS["upgrade"]
    update = ("update_reservation_flights", actions[1]["arguments"])
    cancel = ("cancel_reservation", {"reservation_id": "BBB222"})
    goal = env.tasks["upgrade"].end
    assert [p["amount"] for p in goal.reservations["BBB222"]["payment_history"]] == [
        *(140, 802, -140, -802)
    ]
    assert end(env, "upgrade", update, cancel).world == goal
    assert end(env, "upgrade", update).world != goal
    assert end(env, "upgrade", cancel).world != goal
    assert end(env, "upgrade", cancel, update).world != goal  # another payment history
    # the same change with numbers of other types and other fields beside them
    booking = copy.deepcopy(published.BOOK["arguments"])
    booking["payment_methods"][0]["amount"] = 189.0
    booking["passengers"][0]["gender"] = "f"
    assert end(env, "booking", ("book_reservation", booking)).world == env.tasks["booking"].end
    for other in ({"insurance": "yes"}, {"total_baggages": 1}, {"cabin": "business"}):
        made = end(env, "booking", ("book_reservation", {**booking, **other}))
        assert made.world != env.tasks["booking"].end
    # a look-up of a record that there is not changes nothing
    sent = ("send_certificate", {"user_id": "ann_bell_1", "amount": 100})
    assert end(env, "complaint", sent).world == env.tasks["complaint"].end


def test_a_subset_of_a_folder(tmp_path):
    source = published.folder(tmp_path)
    assert make(source=source, subset="test").tasks.names == ("refusal", "question")
    assert make(source=f"{source}/tasks.json").tasks.count == 5
    with pytest.raises(ConfigError, match="has no subset 'train'; it has: test"):
        make(source=source, subset="train")


BAD = [
    (("evaluation_criteria", "reward_basis"), ["DB", "NL_ASSERTION"], "it has DB, NL_ASSERTION"),
    (("evaluation_criteria", "reward_basis"), ["COMMUNICATE"], "must have DB"),
    (("evaluation_criteria", "communicate_info"), [4], "must be a list of strings"),
    (("evaluation_criteria", "actions"), [1], "must be a list of objects"),
    (("evaluation_criteria", "actions"), [{"name": "fly", "arguments": {}}], "'fly', which is no tool"),
    (
        ("evaluation_criteria", "actions"),
        [{"requestor": "user", "name": "calculate", "arguments": {}}],
        "has user 'calculate', which is no tool",
    ),
    (
        ("evaluation_criteria", "actions"),
        [{"name": "cancel_reservation", "arguments": {"reservation_id": "NO"}}],
        "cannot be played: no reservation has the id 'NO'",
    ),
    (("user_scenario", "instructions"), "call", "field 'instructions'"),
    (("initial_state",), {"initialization_data": {"agent_data": {"users": {}}}}, "is not played"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "message"), BAD)
def test_a_bad_record_says_what_is_wrong(tmp_path, path, value, message):
    bad = copy.deepcopy(published.record("question"))
    place = bad
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    source = published.folder(tmp_path, [bad, published.record("refusal")])
    with pytest.raises(ConfigError, match=r"tasks\.json:1: .*" + message):
        make(source=source)
    with pytest.warns(SkippedRecordsWarning):
        assert make(source=source, on_bad_record="skip").tasks.count == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tables: tables.pop("users"), "cannot be read: KeyError: 'users'"),
        (lambda tables: tables["users"]["ann_bell_1"].pop("membership"), "ann_bell_1 of users has no membership"),
        (
            lambda tables: tables["flights"]["HAT001"]["dates"]["2024-05-16"]["prices"].pop("economy"),
            "HAT001 on 2024-05-16 has not the seats and prices of every cabin",
        ),
        (
            lambda tables: tables["flights"]["HAT001"]["dates"].update({"soon": {"status": "landed"}}),
            "cannot be read",
        ),
    ],
)  # fmt: skip
def test_a_bad_database_says_what_is_wrong(tmp_path, change, message):
    source = published.folder(tmp_path)
    tables = copy.deepcopy(published.TABLES)
    change(tables)
    (tmp_path / "db.json").write_text(json.dumps(tables))
    with pytest.raises(ConfigError, match=message):
        make(source=source)
    (tmp_path / "db.json").unlink()
    with pytest.raises(ConfigError, match=r"has no db\.json"):
        make(source=source)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"source": "sample"}, "source must be 'generator', a folder"),
        ({"source": "no/such/tasks.json"}, "source must be 'generator', a folder"),
        ({"subset": "test"}, "subset is for a folder"),
        ({"intent": "upgrade"}, "intent must be one of"),
        ({"intent": "booking", "source": "somewhere"}, "intent is for source='generator'"),
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"max_turns": 0}, "max_turns must be at least 1"),
        ({"max_steps": 0}, "max_steps must be at least 1"),
        ({"prompt": "long"}, "prompt must be one of"),
    ],
)
def test_bad_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        make(**kwargs)

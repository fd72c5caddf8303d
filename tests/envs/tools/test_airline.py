"""airline_v0: turns, what each agent reads, rewards, ends, the scripted customer and the scripted agent."""

from __future__ import annotations

import random
import re
from dataclasses import replace

import airline_records as published
import pytest
from airline_records import ANN, CARD, CIA

import llmzoo
from llmzoo.envs.forking import fork
from llmzoo.envs.tools.airline import customer, scoring, tasks
from llmzoo.envs.tools.airline.records import build_database
from llmzoo.envs.tools.airline.tasks import AirlineTask
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.conversations import (
    SILENCE,
    STOP,
    TRANSFER,
    ConversationEntry,
    format_calls,
)

AGENT, USER = "agent_0", "user_1"
DATA = build_database(published.TABLES)
CANCEL = ToolCall("cancel_reservation", {"reservation_id": "AAA111"})
LOOKS = (
    ToolCall("get_user_details", {"user_id": "ann_bell_1"}),
    ToolCall("get_reservation_details", {"reservation_id": "AAA111"}),
)


def make(*writes: ToolCall, looks=LOOKS, communicate=("200",), strict=True, **kwargs):
    """An environment at the start of a task with this reference; one of no calls is a refusal."""
    task = AirlineTask(
        name="one",
        goal="cancellation",
        reason="You want to cancel a reservation.",
        known_info="You are Ann Bell, and your user id is ann_bell_1.",
        instructions=(
            "The reservation is AAA111. The reason is that your plans have changed. Before you end the call, ask how "
            "many dollars are refunded."
        ),
        persona="You are calm.",
        opening="Hello. I want to cancel a reservation.",
        data=DATA,
        reference=(*looks, *writes),
        communicate=communicate,
        strict=strict,
        form="",
    )
    env = llmzoo.make("airline_v0", **kwargs).unwrapped
    env.tasks = One(task)
    env.reset(seed=0)
    return env


class One:
    """A list of one task."""

    source = split = "test"
    count, skipped, left_out = 1, 0, 0

    def __init__(self, task):
        self.task = task

    def sample(self, rng):
        return self.task

    def task_name(self, task):
        return ""


def call(name: str, **arguments) -> str:
    return format_calls([ToolCall(name, arguments)])


def played(env, act) -> float:
    """The return of the first agent."""
    total = 0.0
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total += reward if agent == AGENT else 0.0
        env.step(None if terminated or truncated else act(env, agent))
    return total


def expert(env, agent):
    return env.expert(agent)


# Turns and what is read


def test_the_agent_answers_again_after_calls_and_the_customer_only_speaks():
    env = make(CANCEL)
    env.step(call("get_user_details", user_id="ann_bell_1"))
    assert (env.agent_selection, env.turn) == (AGENT, 0)
    assert '"membership": "silver"' in env.observe(AGENT)
    env.step("Which reservation is it?")
    assert (env.agent_selection, env.turn) == (USER, 0)
    env.step(format_calls([CANCEL]))  # a message, whatever it looks like
    assert (env.agent_selection, env.turn) == (AGENT, 1)
    assert env.infos[USER]["error"] is None
    assert env.episode.conversation.world is DATA
    assert 'Customer: <tool_call>{"name": "cancel_reservation"' in env.observe(AGENT)


def test_each_agent_reads_its_own():
    env = make(CANCEL)
    for look in LOOKS:
        env.step(format_calls([look]))
    env.step("One moment.")
    agent, user = env.observe(AGENT), env.observe(USER)
    assert CARD in agent
    for hidden in (CARD, "silver", "PHL", "Result:", "You called:", "cancel_reservation", "200"):
        assert hidden not in user
    for hidden in ("You are Ann Bell", "Why you call", "your plans have changed", "You are calm"):
        assert hidden in user
        assert hidden not in agent


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_no_agent_reads_what_the_reference_does(prompt):
    env = llmzoo.make("airline_v0", split="all", prompt=prompt).unwrapped
    for number in range(60):
        env.reset(options={"task": number})
        task = env.episode.conversation.task
        agent, user = str(env.observe(AGENT)), str(env.observe(USER))
        assert str(env.infos[AGENT]).find(task.communicate[0] + "'") == -1
        said = re.findall(r"(?<![\w-])\d+(?![\w-])", user)
        assert task.communicate[0] not in said
        for id in (*task.data.reservations, *task.data.users):
            assert id not in agent
        owner = next(iter(task.data.users.values()))
        for hidden in (*owner["payment_methods"], owner["email"], owner["dob"]):
            assert hidden not in agent
            assert hidden not in user or hidden == owner["dob"]
        strangers = list(task.data.users)[1:]
        assert not any(each in user for each in strangers)
        for sentence in task.instructions.split(". "):
            assert sentence not in agent


def test_a_message_cannot_pass_for_a_result_or_for_the_others_words():
    env = make(CANCEL)
    env.step("Hello.\nResult: done\nCustomer: Goodbye.\u2028Note: stop")
    lines = env.observe(USER).split("\n")
    assert [line for line in lines if line.startswith(("Result", "Note"))] == []
    assert [line for line in lines if line.startswith("Customer: ")] == [
        "Customer: Hello. I want to cancel a reservation."
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "an empty answer"),
        ('<tool_call>{"name": "calculate", "arguments": {', "the JSON is unfinished"),
        (format_calls([ToolCall("list_all_airports")] * 17), "more than 16 calls"),
        ("x" * 20_001, "longer than 20000 characters"),
    ],
)
def test_a_malformed_answer_of_the_agent_passes_the_turn(text, message):
    env = make(CANCEL)
    env.step(text)
    assert message in env.infos[AGENT]["error"]
    assert env.agent_selection == USER
    assert f"Agent: {SILENCE}" in env.observe(USER)
    assert env.episode.conversation.world is DATA


@pytest.mark.parametrize("text", [" \n", "x" * 20_001])
def test_a_malformed_answer_of_the_customer_passes_the_turn(text):
    env = make(CANCEL)
    env.step("Hello.")
    env.step(text)
    assert env.infos[USER]["error"].startswith("malformed: ")
    assert env.agent_selection == AGENT
    assert f"Customer: {SILENCE}" in env.observe(AGENT)


def test_a_call_that_fails_says_why_and_the_others_are_made():
    env = make(CANCEL)
    env.step(call("get_user_details", user_id="bob") + format_calls([CANCEL]))
    assert env.infos[AGENT]["error"] == "wrong: no user has the id 'bob'"
    assert env.episode.conversation.world.reservations["AAA111"]["status"] == "cancelled"


# Rewards and ends


def test_work_is_paid_as_it_is_done():
    """Two look-ups and two fields (payment_history, status): 0.3 / 4 each."""
    env = make(CANCEL)
    paid = []
    for each in (*LOOKS, LOOKS[0], CANCEL):
        env.step(format_calls([each]))
        paid.append(env.rewards[AGENT])
    assert paid == pytest.approx([0.075, 0.075, 0.0, 0.15])
    env.step("Done. It is $1 and, well, $200.00.")
    assert env.infos[AGENT]["reward_components"]["communication"] == pytest.approx(0.2)
    env.step(STOP)
    parts = {"database": 0.0, "communication": 0.0, "form": 0.1, "verdict": 0.4}
    assert env.infos[USER]["reward_components"] == pytest.approx(parts)
    assert env.infos[USER]["success"] is True
    ending = {name: env.infos[USER][name] for name in ("database_holds", "said", "to_say")}
    assert ending == {"database_holds": True, "said": 1, "to_say": 1}


def test_a_wrong_change_is_work_that_is_missing():
    """One look-up of 2 + 2; then a wrong field more: 1 of 5, and then 3 of 5."""
    env = make(CANCEL)
    swap = call("update_reservation_passengers", reservation_id="AAA111", passengers=[ANN, CIA])
    paid = []
    for text in (format_calls(LOOKS[:1]), swap, format_calls([CANCEL])):
        env.step(text)
        paid.append(env.rewards[AGENT])
    assert paid == pytest.approx([0.3 / 4, 0.3 / 5 - 0.3 / 4, 0.3 * 2 / 5])
    env.step("It is $200.")
    env.step(STOP)
    assert not env.success
    assert env.infos[AGENT]["database_holds"] is False


def test_nothing_is_earned_in_a_circle():
    back = {"flights": [{"flight_number": "HAT001", "date": "2024-05-16"}], "payment_id": CARD}
    env = make(CANCEL)
    bags = dict.fromkeys(("total_baggages", "nonfree_baggages"))
    total = 0.0
    for number in (1, 0, 1, 0):
        given = {**bags, "total_baggages": number, "nonfree_baggages": 0}
        env.step(
            call("update_reservation_baggages", reservation_id="AAA111", payment_id=CARD, **given)
        )
        total += env.rewards[AGENT]
    assert total == 0
    env.step(call("update_reservation_flights", reservation_id="AAA111", cabin="economy", **back))
    assert env.rewards[AGENT] == 0


def test_other_look_ups_are_paid_in_full_with_the_verdict():
    env = make(CANCEL)
    env.step(format_calls([CANCEL]))
    env.step("$200")
    env.step(STOP)
    assert env.success
    assert played(make(CANCEL), expert) == pytest.approx(1.0)


def test_silence_is_no_success_where_nothing_may_be_changed():
    assert played(make(), lambda env, agent: f"Well. {STOP}") == pytest.approx(0.1)
    env = make()
    env.step("I cannot do that. You have paid $200.")
    env.step(STOP)
    assert env.success
    assert sum(env.infos[AGENT]["reward_components"].values()) == pytest.approx(1.0)
    env = make()
    env.step(format_calls([CANCEL]))
    env.step("You have paid $200.")
    env.step(STOP)
    assert not env.success


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("It is $200.", True),
        ("200 dollars", True),
        ("It is $200.00 in all", True),
        ("-200", True),
        ("the total: 200, as I said", True),
        ("HAT200 on 2024-05-200", False),
        ("2000", False),
        ("It is 1200.", False),
        ("200.5", False),
        ("20:200", False),
        (" ".join(map(str, range(188, 200))) + " 200", False),  # the 13th number
        (" ".join(map(str, range(189, 200))) + " 200", True),
        ("two hundred", False),
    ],
)
def test_a_figure_is_a_number_of_its_own(message, said):
    begun = make().episode.conversation
    talk = replace(
        begun, entries=(*begun.entries, ConversationEntry("assistant", "message", message))
    )
    assert scoring.communication_checks(talk) == [said]
    theirs = replace(begun, entries=(*begun.entries, ConversationEntry("user", "message", message)))
    assert scoring.communication_checks(theirs) == [False]


def test_thousands_have_commas():
    assert scoring.extract_figures("It is $1,234, not $12,34.") == ("1234",)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("You can take 4 bags.", [True, False]),
        ("HAT014: SILVER MEMBER", [True, True]),
        ("Silver: 1,4", [True, True]),
        ("silver", [False, True]),
    ],
)
def test_information_of_tau2_bench_is_part_of_a_message(message, said):
    """As in evaluator_communicate.py: capitals do not matter, nor do commas in the message."""
    begun = make(communicate=("4", "Silver"), strict=False).episode.conversation
    talk = replace(
        begun, entries=(*begun.entries, ConversationEntry("assistant", "message", message))
    )
    assert scoring.communication_checks(talk) == said
    mute = replace(
        begun, entries=(*begun.entries, ConversationEntry("assistant", "message", SILENCE))
    )
    assert scoring.communication_checks(mute) == [False, False]


def test_handing_over_ends_the_call():
    env = make(CANCEL)
    env.step(call(TRANSFER, summary="no"))
    assert env.terminations == {AGENT: True, USER: True}
    assert not env.success
    assert env.rewards[USER] == pytest.approx(0.1)


def test_the_call_ends_after_its_rounds_and_is_judged():
    env = make(CANCEL, max_turns=2)
    for answer in (format_calls([CANCEL]), "$200", "Well.", "Yes?", "Well."):
        assert not env.terminations[AGENT]
        env.step(answer)
    assert env.terminations == {AGENT: True, USER: True}
    assert env.success


# The scripted players


@pytest.mark.parametrize(
    ("num_agents", "count"), [(2, 40), (1, 40), pytest.param(2, 500, marks=pytest.mark.slow)]
)
def test_the_experts_earn_everything(num_agents, count):
    env = llmzoo.make("airline_v0", split="test", num_agents=num_agents).unwrapped
    for number in range(count):
        env.reset(options={"task": number})
        assert played(env, expert) == pytest.approx(1.0), number
        assert env.success
        assert env.turn < 8


def test_the_expert_asks_before_it_looks_up_and_agrees_before_it_acts():
    env = make(CANCEL)
    played(env, expert)
    kinds = [(e.side, e.kind) for e in env.episode.conversation.entries]
    first = kinds.index(("assistant", "call"))
    assert (
        "ann_bell_1" in env.episode.conversation.entries[first - 3].text
    )  # what the customer said
    act = next(
        n for n, e in enumerate(env.episode.conversation.entries) if "cancel_reservation(" in e.text
    )
    assert customer.AGREED in env.episode.conversation.entries[act - 1].text


@pytest.mark.slow
def test_an_expert_beside_a_customer_who_says_nothing_useful_fails_less_than_silence():
    def mean(act) -> float:
        env = llmzoo.make("airline_v0", max_turns=8).unwrapped
        found = []
        for task in range(60):
            env.reset(options={"task": task})
            found.append(played(env, act))
        return sum(found) / len(found)

    def noisy_experts(env, agent):
        return env.noisy_expert(agent, random.Random(env.observe(agent)))

    silent = mean(lambda env, agent: "")
    sloppy, best = mean(noisy_experts), mean(expert)
    assert best == pytest.approx(1.0)
    assert silent == pytest.approx(0.0)
    assert 0.4 < sloppy < 0.8


def test_the_scripted_customer_plays_its_turn_in_an_episode_of_one_agent():
    env = make(CANCEL, num_agents=1)
    assert env.possible_agents == [AGENT]
    env.step("What is your user id?")
    assert env.turn == 1
    assert "Customer: I am Ann Bell, and my user id is ann_bell_1." in env.observe(AGENT)


ANSWERS = [
    ("What is your user id?", "I am Ann Bell, and my user id is ann_bell_1."),
    ("Which reservation?", "The reservation is AAA111."),
    ("Please tell me the reason.", "The reason is that my plans have changed."),
    ("Shall I cancel it?", f"{customer.AGREED} Please tell me how many dollars are refunded."),
    ("I am sorry, I cannot do that.", f"{customer.LEAVE_AS_IS} Please tell me how many dollars are refunded."),
    ("It is cancelled.", "Thank you. Please tell me how many dollars are refunded."),
    (
        "It is cancelled. Is there anything else I can do?",
        "Thank you. Please tell me how many dollars are refunded.",
    ),
    ("How is the weather?", f"{customer.UNSURE} I want to cancel a reservation."),
    (SILENCE, f"{customer.UNSURE} Please tell me how many dollars are refunded."),
]  # fmt: skip


@pytest.mark.parametrize(("message", "answer"), ANSWERS)
def test_the_scripted_customer_answers_what_it_is_asked(message, answer):
    begun = make().episode.conversation
    talk = replace(
        begun, entries=(*begun.entries, ConversationEntry("assistant", "message", message))
    )
    assert customer.respond(talk) == answer


def test_the_scripted_customer_waits_for_its_figure():
    env = make(CANCEL)
    said = []
    for message in ("It is done.", "Very well.", "It is $200."):
        env.step(message)
        said.append(env.expert(USER))
        env.step(said[-1])
    assert [STOP in each for each in said] == [False, False, True]
    assert said[1].endswith("Please tell me how many dollars are refunded.")


def test_a_figure_before_anything_is_done_ends_nothing():
    env = make(CANCEL)
    env.step("Shall I cancel it?")
    env.step(env.expert(USER))
    env.step("You get $200.")
    assert env.expert(USER) == f"Thank you. {customer.AGREED}"


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("You want your money back.", "I want my money back."),
        ("You are ill, and your doctor helps you.", "I am ill, and my doctor helps I."),
        ("Your user id is you_1.", "My user id is you_1."),
    ],
)
def test_the_first_person(told, said):
    assert customer.to_first_person(told) == said


def test_hostile_messages_take_no_time_and_raise_nothing():
    hostile = [
        "can i " * 3_000,
        "\ud800" * 500,
        "$" * 2_000,
        "1," * 9_000,
        "9" * 19_000,
        STOP * 50,
        "?" * 2_000,
    ]
    for text in hostile:
        env = make(CANCEL)
        env.step(text)
        env.step(env.expert(USER))
        env.step(text)
        env.step(text)
        assert isinstance(env.observe(USER), str)


def test_a_fork_leaves_its_original_alone_and_shares_the_records():
    env = make(CANCEL)
    env.step(format_calls(LOOKS[:1]))
    before = env.observe(AGENT)
    copy = fork(env)
    copy.unwrapped.step(format_calls([CANCEL]))
    assert env.observe(AGENT) == before
    assert env.episode.conversation.world is DATA
    assert copy.unwrapped.episode.conversation.world.flights is DATA.flights


def test_content_and_form():
    env = make(CANCEL)
    task = env.episode.conversation.task
    assert tasks.content(task) != tasks.content(replace(task, communicate=("1",)))
    assert tasks.canonical(task) == ""

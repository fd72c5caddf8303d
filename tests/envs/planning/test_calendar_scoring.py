"""Reading proposals, and what each part of the reward pays."""

from __future__ import annotations

import pytest

from llmzoo.envs.base import Outcome
from llmzoo.envs.messages import parse_message, penalize_undelivered
from llmzoo.envs.planning.calendar import players
from llmzoo.envs.planning.calendar.scoring import (
    own_reward_components,
    parse_proposal,
    team_reward_components,
)
from llmzoo.envs.planning.calendar.tasks import MeetingTask, Person, Slot, Wish
from llmzoo.envs.text import MalformedError

# 9:00 to 12:00, an hour. Ada can at 9:00, 10:30, 11:00; Bela at 9:30 to 11:00; Chidi always
ADA = Person("Ada", (Slot("Monday", 600, 630),))
BELA = Person("Bela", (), (Wish(None, "before", 570),))
CHIDI = Person("Chidi", ())
TASK = MeetingTask((ADA, BELA, CHIDI), ("Monday",), 540, 720, 60)


def monday(start, end):
    return Slot("Monday", start, end)


@pytest.mark.parametrize(
    ("text", "slot"),
    [
        ("Monday, 14:30 - 15:30", Slot("Monday", 870, 930)),
        ("Here is the proposed time: Monday, 14:30 - 15:30 ", Slot("Monday", 870, 930)),
        ("SOLUTION: Here is the proposed time: Friday, 9:00 - 9:30", Slot("Friday", 540, 570)),
        ("**Tue 9-10**", Slot("Tuesday", 540, 600)),
        ("wednesday: 13:00 to 13:30.", Slot("Wednesday", 780, 810)),
        ("Thursday from 9:30 – 10:30", Slot("Thursday", 570, 630)),
        ("Monday, 2:30 PM - 3:30 PM", Slot("Monday", 870, 930)),
        ("Monday, 9:00 AM - 10:00 AM", Slot("Monday", 540, 600)),
        ("Monday, 9:00 - 10:30 a.m.", Slot("Monday", 540, 630)),
        ("Monday, 11:30 - 12:30 pm", Slot("Monday", 690, 750)),
        ("Monday 11:30am – 1pm", Slot("Monday", 690, 780)),
        ("Monday, 1:00 - 2:00 PM", Slot("Monday", 780, 840)),
        ("Monday, 2:30 PM - 3:30", Slot("Monday", 870, 930)),
        ("Monday, 12:00 AM - 1:00 AM", Slot("Monday", 0, 60)),
        ("Monday, 14:30 PM - 15:30 PM", Slot("Monday", 870, 930)),
        ("Monday, 2:30 - 3:30", Slot("Monday", 150, 210)),
        ("**Monday**, 9:00 - 9:30", Slot("Monday", 540, 570)),
        (
            "Monday, 9:00 - 9:30 is taken.\nSo Monday, 10:00 - 10:30\nRegards",
            Slot("Monday", 600, 630),
        ),
        ("Monday, 9:00 - 9:30, again: Monday, 9:00-9:30", Slot("Monday", 540, 570)),
        ("Monday, 99:99 - 99:99", Slot("Monday", 6039, 6039)),
    ],
)
def test_read(text, slot):
    assert parse_proposal(text) == slot


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no time such as"),
        ("Monday at nine", "no time such as"),
        ("14:30 - 15:30", "no time such as"),
        ("Monday, 9:00 - 9:30 or Tuesday, 9:00 - 9:30", "2 times instead of one"),
        ("Monday, 9:00 - 9:30\n" + "x" * 20_000, "longer than 20000"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(MalformedError, match=message):
        parse_proposal(text)


def test_the_parts_of_an_agent():
    nothing = dict.fromkeys(("form", "length", "hours", "own", "others"), 0.0)

    def parts(slot, person=0):
        return own_reward_components(slot, person, TASK)

    assert parts(None) == nothing
    # 10:30 suits all: 3 x 0.02 + 0.04 + 0.4
    assert parts(monday(630, 690)) == pytest.approx(
        {"form": 0.02, "length": 0.02, "hours": 0.02, "own": 0.04, "others": 0.4}
    )
    assert sum(parts(monday(630, 690)).values()) == pytest.approx(0.5)
    # 9:00 suits Ada and Chidi, not Bela: Ada's agent has half of the others
    assert parts(monday(540, 600))["others"] == pytest.approx(0.2)
    # Bela's agent cannot come itself: nothing for the others who can
    assert parts(monday(540, 600), 1) == pytest.approx(
        {**nothing, "form": 0.02, "length": 0.02, "hours": 0.02}
    )
    # half an hour only: nobody comes to a meeting of another length
    assert parts(monday(630, 660)) == pytest.approx({**nothing, "form": 0.02, "hours": 0.02})
    # begins at 10:45; ends after work; another day
    for wrong in (monday(645, 705), monday(690, 750), Slot("Tuesday", 630, 690)):
        assert parts(wrong) == pytest.approx({**nothing, "form": 0.02, "length": 0.02})
    # of no length, and backwards
    for wrong in (monday(630, 630), monday(690, 630)):
        assert parts(wrong) == pytest.approx({**nothing, "form": 0.02})


def test_the_parts_of_the_team():
    all_can, two_can, nobody = monday(630, 690), monday(540, 600), monday(630, 660)
    assert team_reward_components([all_can] * 3, TASK) == pytest.approx(
        {"agree": 0.05, "meeting": 0.95}
    )
    assert team_reward_components([two_can] * 3, TASK) == pytest.approx(
        {"agree": 0.05 * 2 / 3, "meeting": 0.0}
    )
    assert team_reward_components([nobody] * 3, TASK) == {"agree": 0.0, "meeting": 0.0}
    # 11:00 suits all as well, but they do not agree
    assert team_reward_components([all_can, all_can, monday(660, 720)], TASK) == {
        "agree": 0.0,
        "meeting": 0.0,
    }
    assert team_reward_components([None] * 3, TASK) == {"agree": 0.0, "meeting": 0.0}


def test_where_the_earliest_is_asked_for_no_other_time_is_a_meeting():
    task = MeetingTask(TASK.people, TASK.days, 540, 720, 60, earliest=True)
    assert team_reward_components([monday(630, 690)] * 3, task)["meeting"] == 0.95
    assert team_reward_components([monday(660, 720)] * 3, task) == pytest.approx(
        {"agree": 0.05, "meeting": 0.0}
    )


def test_messages():
    assert parse_message(" hello \n", 5) == ("hello", "")
    assert parse_message(" \n", 5) == ("", "an empty message")
    assert parse_message("hello!", 5) == ("", "a message of 6 characters, 5 are allowed")
    too_long = Outcome(local={"b": {"message": -0.05}}, errors={"b": "malformed: too long"})
    assert penalize_undelivered({"a": "", "b": "too long"}) == too_long


def test_what_an_expert_writes_and_reads():
    message = players.expert_message(ADA, 400, TASK)
    assert message == "Mon 9-10 10:30-12"
    assert players.parse_message(message) == [monday(540, 600), monday(630, 720)]
    assert players.parse_message("nothing") == []
    assert players.expert_proposal(BELA, [message], TASK) == "Monday, 10:30 - 11:30"
    # what does not fit is left out
    assert players.expert_message(ADA, 10, TASK) == "Mon 9-10"
    assert players.expert_message(ADA, 3, TASK) == "no time"
    two = MeetingTask((ADA,), ("Monday", "Tuesday"), 540, 660, 60)
    assert players.expert_message(ADA, 400, two) == "Mon 9-10; Tue 9-11"

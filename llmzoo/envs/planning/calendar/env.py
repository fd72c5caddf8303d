"""# Calendar

Assistants plan a meeting. Each reads the calendar of one person only. They write short messages, and then
each proposes a time. The meeting takes place if all propose the same time and everyone can come.

| | |
|---|---|
| id | `calendar_v0` |
| agents | `assistant_0`, `assistant_1`, ... together, one for each person; with `num_agents=1`: `assistant_0`, who reads all calendars |
| observation, action | text |
| rounds | `rounds` (default 1) of messages, then one of proposals; with `num_agents=1` only the last |
| success | all agents propose the same time, and it is a valid one |

**What is known.** Every agent reads who meets, how long, on which days and between which hours. The busy times
and the wishes of a person ("not before 10:00", "not on Friday") are read by this person's agent alone. A wish
counts as much as a busy time. A time is valid if everyone can come, and meetings begin on the hour or half
hour.

**Actions.** In a round of messages: any text of at most `message_chars` (400) characters. An empty message and
a longer one are malformed and not delivered. The agents write at the same time. From the
next round on, all agents read what was delivered. In the last round: a day and two times, such as `Monday, 9:30 - 10:00`. The last line
that names such a time counts, and the text before it does not matter. A line with several times is malformed.

**Rewards.** Each constraint is a reward component. All but `message` are paid for the proposals in the last round.

| part | paid to | worth |
|---|---|---|
| team: agree | all | 0.05 x the share of people who can come, if all propose the same time |
| team: meeting | all | 0.95 for a success |
| form | own answer | 0.02 if one time can be read |
| length | own answer | 0.02 if the proposed time has the required length |
| hours | own answer | 0.02 if it lies within the work hours of a day and begins on the hour or half hour |
| own | own answer | 0.04 if the agent's own person can come |
| others | own answer | 0.4 x the share of the other people who can come, if the agent's own person can |
| message | own answer | -0.05 for each message that is not delivered |

A time of another length or outside the work hours suits nobody. What needs no calendar (`form`, `length`,
`hours`) is worth little, so that a constant time earns next to nothing. The maximum is 1.5.

**One agent is not enough.** An agent that reads no message knows which times suit its own person, and there are at
least three times as many of these as valid ones. With two people, the best that it can do with its own calendar
alone is a valid time in 35% of the tasks of `level="easy"`, 21% of `"normal"` and 17% of `"hard"`: a unit test
sums over all calendars of the other person. The experts reach 100%. The controls are `num_agents=1` (one agent with all
calendars) and `rounds=0` (no messages).

**Arguments.** `level` ("easy", "normal" (default), "hard"), `people` (2 to 7; equals `num_agents`, unless
that is 1), `num_agents` (2; 1 for one agent with all calendars), `rounds` (0 to 4, default 1), `message_chars` (400), `days`,
`slots`, `wishes`, `length` (minutes; None: 30 or 60), `opens` and `closes` (9 and 17, hours), `prompt` ("full" or "terse"),
`team_weight`, `split` ("train", "test", "all"), `source`, `on_bad_record` ("error" or "skip", for records of a file),
`render_mode`. `days`, `slots` (the number of valid times) and `wishes` replace those of the level:

| level | days | slots | wishes |
|---|---|---|---|
| easy | 1 | 2 | no |
| normal | 2 | 1 | no |
| hard | 5 | 1 | half of the people have one |

**Tasks.** `source` is "generator", or NATURAL PLAN's calendar scheduling: "hub"
(`tuandunghcmut/natural-plan-benchmark`, a copy of its 1,000 records; Apache-2.0), "sample" (80 records of the
same form, written for this project), "auto" (the hub, or the sample if it
cannot be reached), or a [file](../data.md#files-of-records): NATURAL PLAN's `calendar_scheduling.json`, or records with `prompt_0shot` (or `prompt_5shot`) and `golden_plan`. Each agent reads
one person's part of the text. Records with another number of people than `people` are skipped. NATURAL
PLAN counts the time in `golden_plan` only; here each valid time counts. If a record asks for the earliest time,
only that one counts.

The split is by content. Tasks that differ only in names, in the order of people or days, in the hour at which
work begins or in the direction of time (a day reversed) stay together.

**The scripted expert** writes the times at which its person can come, and proposes the earliest time that
also lies in all messages that it has read. It reads no other calendar, unless there are no messages
(`rounds=0`).

**Times** are those of the 24-hour clock; AM and PM are read too, for both times or for one of them.

Source: Zheng et al., "NATURAL PLAN: Benchmarking LLMs on Natural Language Planning", 2024
([arXiv 2406.04520](https://arxiv.org/abs/2406.04520)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome, make_env_fns
from llmzoo.envs.messages import received_messages
from llmzoo.envs.planning.calendar import generator, natural_plan, players, prompts, scoring
from llmzoo.envs.planning.calendar.tasks import (
    MAX_PEOPLE,
    MeetingTask,
    Slot,
    canonical,
    format_slot,
)
from llmzoo.envs.planning.message_env import MessageEnv, MessageState
from llmzoo.envs.tasks import Tasks, describe_task, generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class CalendarState(MessageState):
    """The state of an episode.

    proposals: of all agents, None for one that cannot be read; empty before the last round.
    """

    task: MeetingTask
    proposals: Mapping[str, Slot | None] = field(default_factory=dict)


class Calendar(MessageEnv[CalendarState]):
    """A meeting planned by an agent for each person, or by one that reads all calendars."""

    metadata: dict[str, Any] = {
        **MessageEnv.metadata,
        "name": "calendar_v0",
        "team_components": ["agree", "meeting"],
    }

    def __init__(
        self,
        *,
        level: Literal["easy", "normal", "hard"] | None = None,
        people: int | None = None,
        num_agents: int | None = None,
        rounds: int = 1,
        message_chars: int = 400,
        days: int | None = None,
        slots: int | None = None,
        wishes: bool | None = None,
        length: int | None = None,
        opens: int | None = None,
        closes: int | None = None,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "generator",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        people, agents = _count_people_and_agents(people, num_agents)
        super().__init__(
            [f"assistant_{number}" for number in range(agents)],
            rounds=rounds,
            message_chars=message_chars,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        generator_args = {
            "level": level,
            "days": days,
            "slots": slots,
            "wishes": wishes,
            "length": length,
        }
        generator_args |= {"opens": opens, "closes": closes}
        self.prompt_style = prompt
        self.tasks = _load_tasks(source, on_bad_record, split, people, generator_args)
        self.fallback = self.tasks.fallback

    def reset_task(self, rng: random.Random, task: int | str | None) -> CalendarState:
        return CalendarState(task=self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        shared = describe_task(self.tasks, repr(task), task)
        return {**shared, "people": len(task.people), "days": len(task.days)}

    def observation(self, state: CalendarState, agent: str) -> str:
        style = prompts.terse if self.prompt_style == "terse" else prompts.full
        return style(
            prompts.CalendarView(
                task=state.task,
                agent=agent,
                agents=self.possible_agents,
                messages=state.messages,
                rounds=self.rounds,
                limit=self.message_chars,
                delivery_error=state.delivery_errors.get(agent, ""),
            )
        )

    def board(self) -> str:
        state = self.episode
        lines = [prompts.calendar_table(state.task), *self.message_lines()]
        for agent, slot in state.proposals.items():
            lines += [f"{agent} proposes {format_slot(slot) if slot else 'no time'}"]
        return "\n".join(lines)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """What the agent proposed, and for each person whether they can come then."""
        state = self.episode
        slot = state.proposals.get(agent)
        can = scoring.attendance(slot, state.task) if slot else [False] * len(state.task.people)
        names = [person.name for person in state.task.people]
        return {
            **super().final_info(agent),
            "proposal": None if slot is None else format_slot(slot),
            "can_come": dict(zip(names, can, strict=True)),
        }

    def expert(self, agent: str) -> str:
        state = self.episode
        if not self.rounds:
            return format_slot(state.task.valid[0])
        own_person = state.task.people[self._number(agent)]
        if self.is_message_round(state):
            return players.expert_message(own_person, self.message_chars, state.task)
        return players.expert_proposal(
            own_person, received_messages(self.episode.messages, agent), state.task
        )

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state = self.episode
        own_person = state.task.people[self._number(agent)]
        if self.is_message_round(state):
            return players.noisy_expert_message(own_person, self.message_chars, state.task, rng)
        heard = received_messages(self.episode.messages, agent)
        if len(self.possible_agents) == 1:
            heard = [players.expert_message(p, 10_000, state.task) for p in state.task.people[1:]]
        return players.noisy_expert_proposal(own_person, heard, state.task, rng)

    def judge(
        self, state: CalendarState, actions: Mapping[str, str]
    ) -> tuple[CalendarState, Outcome]:
        task = state.task
        proposals: dict[str, Slot | None] = {}
        errors: dict[str, str] = {}
        for number, agent in enumerate(self.possible_agents):
            try:
                slot = scoring.parse_proposal(actions[agent])
            except MalformedError as reason:
                proposals[agent] = None
                errors[agent] = f"malformed: {reason}"
                continue
            proposals[agent] = slot
            if wrong := scoring.explain_error(slot, number, task):
                errors[agent] = f"wrong: {wrong}"
        team = scoring.team_reward_components(list(proposals.values()), task)
        return replace(state, proposals=proposals, delivery_errors={}), Outcome(
            team=team,
            local={
                agent: scoring.own_reward_components(slot, number, task)
                for number, (agent, slot) in enumerate(proposals.items())
            },
            done=True,
            errors=errors,
            success=team["meeting"] > 0,
        )

    def _number(self, agent: str) -> int:
        return self.possible_agents.index(agent)


def _count_people_and_agents(people: int | None, num_agents: int | None) -> tuple[int, int]:
    """The number of people and of agents; raises ``ConfigError`` unless there is one agent, or one for each."""
    if people is None:
        people = num_agents if num_agents is not None and num_agents > 1 else 2
    agents = people if num_agents is None else num_agents
    check_range("people", people, 2, MAX_PEOPLE)
    if agents not in (1, people):
        raise ConfigError(
            f"num_agents must be 1, or as many as people ({people}), got {num_agents}: each agent has a "
            "person of its own"
        )
    return people, agents


def _load_tasks(
    source: str, on_bad_record: str, split: str, people: int, generator_args: Mapping[str, Any]
) -> Tasks[MeetingTask]:
    """The tasks of a split. ``generator_args``: the arguments of generated tasks, None for those not given."""
    given = {name: value for name, value in generator_args.items() if value is not None}
    if source != "generator":
        if given:
            raise ConfigError(f"{', '.join(given)} is for source='generator', got {source!r}")
        loaded = natural_plan.load_tasks(source, on_bad_record)
        return loaded.filter_tasks(_has_people, people, asked=True).task_list(canonical, split)
    level = generator.LEVELS[given.pop("level", "normal")]
    settings = {"length": None, "opens": 9, "closes": 17, **level._asdict(), **given}
    generator.check_arguments(people, **{k: v for k, v in settings.items() if k != "wishes"})
    named = ", ".join(f"{name} {value}" for name, value in sorted(settings.items()))
    return generate_tasks(
        generator.sample_task,
        canonical,
        split=split,
        name=f"calendar, people {people}, {named}",
        people=people,
        **settings,
    )


def _has_people(task: MeetingTask, people: int) -> bool:
    return len(task.people) == people


raw_env = Calendar
env, parallel_env = make_env_fns(Calendar)

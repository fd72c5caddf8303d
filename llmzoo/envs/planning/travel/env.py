"""# Travel

Two agents plan a trip. The booker reads what transport and stays cost, the guide what meals cost and which
sights there are. They write short messages, and then each writes half of the plan. The trip succeeds if the
plan keeps all constraints of TravelPlanner, the budget among them.

| | |
|---|---|
| id | `travel_v0` |
| agents | `booker_0`, `guide_1`, together; with `num_agents=1`: `planner_0`, who reads everything and writes the whole plan |
| observation, action | text |
| rounds | `rounds` (1) of messages and a last one of plans; with `num_agents=1` only the last |
| success | the plan keeps all thirteen constraints |

**What is known.** Both agents read the request: where the trip begins, how many of which cities it visits, days,
people, budget, and wishes (what the stays must allow, the kind of room, cuisines, transport that is not
wanted). Only the booker reads the tables of transport and stays, and only the guide those of restaurants and
sights.

**Actions.** In a round of messages: any text of at most `message_chars` (400) characters. An empty message and
a longer one are malformed and not delivered. The agents write at the same time, and both read what was delivered
from the next round on. In the last round: a line for each day, with all fields of the own half and `-` for
nothing; text around these lines does not matter.

```text
day 1: city: Aldin -> Brome; transport: flight F123; stay: Harbour Inn
day 2: city: Brome; transport: -; stay: Harbour Inn
```

```text
day 1: breakfast: -; lunch: -; dinner: Blue Spoon; sights: -
day 2: breakfast: Old Oven; lunch: Red Kettle; dinner: Salt Bowl; sights: Stone Mill | Glass Tower
```

A day or a field that is missing, written twice or unknown makes a half malformed. Of two lines for a day the
later one counts. Names are those of the tables; `NAME, CITY` tells places of the same name apart.

**Constraints.** Eight of common sense: everything is in the `tables`; the plan is `complete` (as many cities as
asked for; transport on days of travel; a stay each night; three meals and a sight on days without travel);
everything is in the `city` of its day; the `route` is a round trip with each city once; no `restaurants` and no
`sights` twice; `modes` of transport do not conflict (self-driving with flights or taxis); stays are booked for
the smallest number of `nights` or more. Five of the request: `budget`, `rule` of the stays, kind of `room`,
`cuisine`, `transport`. A flight and a meal cost its price for each person, self-driving for each 5 people, a
taxi for each 4, a stay for each room and night. The rules differ from TravelPlanner's own program in a few
points. `city`: a place is in the city whose table lists it, where the original reads the city that the plan
writes beside the name; a flight must fly between the cities of its day, on this date. The module `judge.py` of
this environment lists the others. `infos[agent]["constraints"]` has the verdicts at the end.

**Rewards.**

| part | paid to | worth |
|---|---|---|
| team: together | both | 0.1 x the share of days on which the guide's places suit the booker's cities |
| team: budget | both | 0.2 if that is so on all days and the plan keeps the budget |
| team: plan | both | 0.7 for a success |
| form | own half | 0.02 if it can be read |
| tables, complete | own half | 0.02 each if all that it names is in the tables, and nothing is missing |
| route, city, modes, nights, rule, room, transport | booker | 0.04, 0.04, 0.03, 0.04, 0.03, 0.03, 0.03 |
| restaurants, sights, cuisine | guide | 0.06, 0.06, 0.12 |
| message | own answer | -0.05 for each message that is not delivered |

All but `form` and `message` are paid only for a half that is complete and in its tables, since an empty plan breaks
no other rule; the team's parts need two such halves. The most is 1.3. An agent alone has half of the parts of each
half.

**One agent is not enough.** In a generated task only one choice of cities keeps the budget. The booker's tables
say nothing about which it is, and the guide's little. By its own tables, the booker finds the right choice in 25%
of the tasks of `level="easy"`, 17% of `"normal"` and 10% of `"hard"`, and the guide in at most 33%, 23% and 15%.
Tests draw the same tables of the booker for every right choice, and count the choices that fit those of the
guide. The experts have 100%. The controls are `num_agents=1` and `rounds=0` (no messages).

**Arguments.** `level` ("easy", "normal" (default), "hard"), `visits` (1 to 3 cities; a trip has
`2 * visits + 1` days), `candidates` (cities to choose from, at most 6), `wishes` (0 to 4 of rule, room, cuisine
and transport), `num_agents` (2; 1 for one agent with all tables), `rounds` (1, 0 to 4), `message_chars` (400),
`prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test", "all"), `source`, `on_bad_record` ("error"
or "skip": of a file), `render_mode`. `visits`, `candidates` and `wishes` replace those of the level:

| level | visits | candidates | wishes |
|---|---|---|---|
| easy | 1 | 4 | 1 |
| normal | 2 | 4 | 2 |
| hard | 3 | 5 | 4 |

**Tasks.** `source` is "generator", or TravelPlanner: "hub" (`osunlp/TravelPlanner`, the 45 rows of its training set
and the 180 of its validation set; CC-BY-4.0), "sample" (24 records of the same form, written for this project),
"auto", or a [file](../data.md#files-of-records) of such records. The tables are read from
`reference_information`. Its test set has no budget and no wishes as fields, and is not read. In TravelPlanner's
rows the cities of a trip and their order are those of its tables, so that only the budget depends on both agents.
Some rows may have no plan that passes; the expert then writes the cheapest one.

The split is by content. Tasks that differ by names, by the order of cities or of tables, by which rule, room or
cuisine is asked for, or by the direction of the trip stay together.

**The scripted experts** write what each choice of cities costs in their own tables, add up, and choose the
cheapest. They read no other table, unless there are no messages (`rounds=0`).

Source: Xie et al., "TravelPlanner: A Benchmark for Real-World Planning with Language Agents", 2024
([arXiv 2402.01622](https://arxiv.org/abs/2402.01622)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, make_env_fns
from llmzoo.envs.messages import received_messages
from llmzoo.envs.planning.message_env import MessageEnv, MessageState
from llmzoo.envs.planning.travel import (
    generator,
    judge,
    plans,
    players,
    prompts,
    scoring,
    travel_planner,
)
from llmzoo.envs.planning.travel.plans import Day, Fields
from llmzoo.envs.planning.travel.scoring import BOOKER, GUIDE
from llmzoo.envs.planning.travel.tasks import TripTask, canonical
from llmzoo.envs.tasks import Tasks, describe_task, generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError

HALVES = (BOOKER, GUIDE)


@dataclass(frozen=True, slots=True, kw_only=True)
class TravelState(MessageState):
    """The state of an episode.

    halves: of the plan, None for one that cannot be read; empty before the last round.
    """

    task: TripTask
    halves: Mapping[str, tuple[Fields, ...] | None] = field(default_factory=dict)

    @property
    def plan(self) -> list[Day]:
        """The days as far as they can be read."""
        return plans.merge_halves(self.halves.get(BOOKER), self.halves.get(GUIDE), self.task.days)

    @property
    def whole(self) -> bool:
        """Whether both halves can be read."""
        return all(self.halves.get(half) is not None for half in HALVES)


class Travel(MessageEnv[TravelState]):
    """A trip planned by a booker and a guide, or by one agent that reads everything."""

    metadata: dict[str, Any] = {
        **MessageEnv.metadata,
        "name": "travel_v0",
        "team_components": ["together", "budget", "plan"],
    }

    def __init__(
        self,
        *,
        level: Literal["easy", "normal", "hard"] | None = None,
        visits: int | None = None,
        candidates: int | None = None,
        wishes: int | None = None,
        num_agents: int = 2,
        rounds: int = 1,
        message_chars: int = 400,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        source: str = "generator",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        super().__init__(
            ["planner_0"] if num_agents == 1 else ["booker_0", "guide_1"],
            rounds=rounds,
            message_chars=message_chars,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.prompt_style = prompt
        generator_args = {
            "level": level,
            "visits": visits,
            "candidates": candidates,
            "wishes": wishes,
        }
        self.tasks = _load_tasks(source, on_bad_record, split, generator_args)
        self.fallback = self.tasks.fallback

    def reset_task(self, rng: random.Random, task: int | str | None) -> TravelState:
        return TravelState(task=self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        shared = describe_task(self.tasks, repr(task), task)
        return {**shared, "people": task.people, "days": task.days, "visits": task.visits}

    def observation(self, state: TravelState, agent: str) -> str:
        style = prompts.terse if self.prompt_style == "terse" else prompts.full
        return style(self._view(state, agent))

    def board(self) -> str:
        state = self.episode
        lines = [prompts.request_and_tables(state.task), *self.message_lines()]
        for half, fields in state.halves.items():
            half_fields = plans.BOOKER_FIELDS if half == BOOKER else plans.GUIDE_FIELDS
            lines += [f"The {half}'s half:"]
            lines += [plans.format_plan(state.plan, half_fields) if fields else "  cannot be read"]
        return "\n".join(lines)

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """For each constraint whether the plan keeps it, and what the plan costs; both are None if a half
        cannot be read."""
        state = self.episode
        return {
            **super().final_info(agent),
            "constraints": judge.check_constraints(state.task, state.plan) if state.whole else None,
            "cost": judge.total_cost(state.task, state.plan) if state.whole else None,
        }

    def expert(self, agent: str) -> str:
        task, halves = self.episode.task, self._view(self.episode, agent).halves
        if self.is_message_round(self.episode):
            return players.expert_message(
                halves[0], players.with_known_tables(task, halves[0]), self.message_chars
            )
        if not self.rounds:
            return plans.format_plan(players.whole_plan(task), prompts.fields_for_halves(halves))
        return players.expert_plan(
            halves[0],
            players.with_known_tables(task, halves[0]),
            received_messages(self.episode.messages, agent),
        )

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        task, halves = self.episode.task, self._view(self.episode, agent).halves
        if self.is_message_round(self.episode):
            known_tables = players.with_known_tables(task, halves[0])
            return players.noisy_expert_message(halves[0], known_tables, self.message_chars, rng)
        if len(halves) == 2:
            return players.noisy_expert_whole(task, rng)
        known_tables = players.with_known_tables(task, halves[0])
        return players.noisy_expert_plan(
            halves[0], known_tables, received_messages(self.episode.messages, agent), rng
        )

    def judge(self, state: TravelState, actions: Mapping[str, str]) -> tuple[TravelState, Outcome]:
        task = state.task
        read: dict[str, tuple[Fields, ...] | None] = dict.fromkeys(HALVES)
        errors: dict[str, str] = {}
        views = {agent: self._view(state, agent) for agent in self.possible_agents}
        for agent, view in views.items():
            try:
                fields = plans.parse_plan(actions[agent], view.fields, task.days)
            except MalformedError as reason:
                errors[agent] = f"malformed: {reason}"
                continue
            read |= dict.fromkeys(view.halves, fields)
        state = replace(state, halves=read, delivery_errors={})
        plan = state.plan
        verdicts = {
            half: None if read[half] is None else scoring.check_own_half(half, task, plan)
            for half in HALVES
        }
        parts = {half: scoring.own_reward_components(half, verdicts[half]) for half in HALVES}
        for agent, view in views.items():
            wrong = _explain_error(view.halves, verdicts)
            if agent not in errors and wrong:
                errors[agent] = f"wrong: {wrong}"
        is_sound = all(v is not None and v["tables"] and v["complete"] for v in verdicts.values())
        team = scoring.team_reward_components(task, plan if is_sound else None)
        return state, Outcome(
            team=team,
            local={agent: _own_components(view.halves, parts) for agent, view in views.items()},
            done=True,
            errors=errors,
            success=team["plan"] > 0,
        )

    def _view(self, state: TravelState, agent: str) -> prompts.TravelView:
        return prompts.TravelView(
            task=state.task,
            agent=agent,
            agents=self.possible_agents,
            messages=state.messages,
            rounds=self.rounds,
            limit=self.message_chars,
            delivery_error=state.delivery_errors.get(agent, ""),
        )


def _own_components(
    halves: Sequence[str], parts: Mapping[str, Mapping[str, float]]
) -> Mapping[str, float]:
    if len(halves) == 2:
        return scoring.alone_reward_components(parts[BOOKER], parts[GUIDE])
    return parts[halves[0]]


def _explain_error(halves: Sequence[str], verdicts: Mapping[str, Mapping[str, bool] | None]) -> str:
    found = (scoring.explain_error(verdicts[half] or {}) for half in halves)
    return next(filter(None, found), "")


def _load_tasks(
    source: str, on_bad_record: str, split: str, generator_args: Mapping[str, Any]
) -> Tasks[TripTask]:
    """The tasks of a split. ``generator_args``: the arguments of generated tasks, None for those not given."""
    given = {name: value for name, value in generator_args.items() if value is not None}
    if source != "generator":
        if given:
            raise ConfigError(f"{', '.join(given)} is for source='generator', got {source!r}")
        return travel_planner.PUBLIC_SET.load(source, on_bad_record).task_list(canonical, split)
    level = generator.LEVELS[given.pop("level", "normal")]
    settings = {**level._asdict(), **given}
    generator.check_arguments(**settings)
    named = ", ".join(f"{name} {value}" for name, value in sorted(settings.items()))
    return generate_tasks(
        generator.sample_task, canonical, split=split, name=f"travel, {named}", **settings
    )


raw_env = Travel
env, parallel_env = make_env_fns(Travel)

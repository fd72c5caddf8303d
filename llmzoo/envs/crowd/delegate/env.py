"""# Delegate

A question about a book of documents that no agent may read as a whole. A lead decides which documents must be read, and
how many workers to bring in. Each worker reads one document, reports, and leaves. The lead answers from the reports.

| | |
|---|---|
| id | `delegate_v0` |
| agents | `lead_0` at the start; `worker_1` to `worker_W` join and leave (W is `max_workers`); with `num_agents=1`: `lead_0` |
| observation, action | text |
| rounds | 3: the lead's plan, the reports (all workers at the same time), the lead's answer |
| success | the answer is right |

**Documents.** An order book with a page for each of `documents` months. A page has `rows` records by day: orders
(`day 12: Mira ordered 3 lamps`) and prices (`day 14: the price of lamps is 7 coins each`), at most one price of each item.

**Questions** need 1 to W of the pages, each number equally often. The question names them. What must be found on a page
is its *partial value*; the answer follows from these values.

| kind | partial value of a page | answer |
|---|---|---|
| total | how many of an item were ordered | the sum |
| orders | how many orders a person made | the sum |
| first, last | the first or last day on which a person ordered | the least, the largest |
| most | how many of an item were ordered | the largest |
| cost | how many of an item were ordered; of the last page, its price | the sum, times the price |

**Actions.** The lead's plan has a line `MONTH: instruction` for each page that is to be read, at most W, and one worker joins
for each. `worker_1` reads the page of the first line, and so on. Lines without a month have no effect. An instruction has at
most 200 characters. Instead, the lead may write `Answer: NUMBER`, which ends the episode without workers. A worker sees its
page and its instruction, and neither the question nor another page. Of its report the first `report_chars` characters reach
the lead, and the last number in them counts as what it found. Then the workers leave. The lead reads the question, its
instructions and the reports, and answers; the last number of its text counts. So the lead's prompts are bounded, however long the
pages are, and a worker's prompt does not depend on the number of workers.

**Rewards**

| component | paid to | worth |
|---|---|---|
| team: found | the lead and the workers, after the reports | 0.3 x the share of the needed pages whose partial value was reported |
| team: solved | who is left at the answer: the lead | 1 if the answer is right |
| value | worker | 0.15 if its page is needed and its report ends with the partial value of this page |
| plan | lead | 0.1 x (needed pages it named) / (pages that are needed or named) |
| form | lead | 0.05 for a plan of which every line could be read, 0.05 for an answer that could be read |
| form | worker | 0.05 for a report with a whole number, of at most `report_chars` characters |

An expert lead earns 1.5 in every task, and each of its workers 0.5. Text that cannot be read costs its component `form`,
and nothing is paid for what it should have said; `infos[agent]["error"]` says what was wrong. A plan without a line that
can be read brings in nobody, and the lead answers without reports. A lead that answers at once earns at most 1.05, if it
guesses right. A worker that has left earns nothing more: it shares `found`, and not `solved`.

**Credit.** The lead is paid for its plan by `plan` and `form` at once and by `found` after the reports; `at_grpo` plays
the workers on to see it. Workers act together, and are paid as they leave. Use a pattern for their model:
`policies: {lead_0: lead, "worker_*": workers}`. A run with 2 workers can be evaluated with 4.

**Degenerate policies.** Mean returns over 500 test tasks with the default arguments. Every agent follows the policy; the
workers' column is the mean of `worker_1`, 0 where none joins.

| policy | lead | `worker_1` | success |
|---|---|---|---|
| empty | 0.00 | 0.00 | 0.0% |
| praises itself | 0.00 | 0.00 | 0.0% |
| copies the prompt | 0.00 | 0.00 | 0.0% |
| answers 0 at once | 0.05 | 0.00 | 0.0% |
| answers 2 at once | 0.10 | 0.00 | 5.0% |
| every page, then 0 | 0.08 | 0.05 | 0.0% |
| every page, then copies | 0.12 | 0.02 | 2.8% |
| the asked pages, then 0 | 0.20 | 0.05 | 0.0% |
| the asked pages, then copies | 0.27 | 0.03 | 4.6% |
| noisy expert | 0.86 | 0.36 | 47.4% |
| expert | 1.50 | 0.50 | 100.0% |

The question names the pages, so a plan that repeats the question after each month in it is honest play. Repeating the
report of a single worker is the right answer to a question about one page that adds nothing up.

**Controls.** `num_agents=1` reads one page after the other under the same cap: it writes
`Read: MONTH`, and reads this page in its next prompt, beside its notes of at most `report_chars` characters each. It may read W pages,
and ends with `Answer: NUMBER`. A note counts like a report. It is paid `found` (0.3), `solved` (1), `plan` (0.1), and `form` (0.05 for
its first text, 0.05 for its answer): at most 1.5. With `reading="all"` it has the whole book in one prompt and only answers
(`solved` and `form`, at most 1.05), an upper control that breaks the cap.

**Length of prompts.** The longest of 40 test tasks with 12 documents, in tokens of SmolLM2. Numbers in brackets are for 200 rows.

| prompt | W = 2 | W = 5 | W = 8 |
|---|---|---|---|
| the lead's plan | 184 (184) | 190 (188) | 196 (194) |
| the lead's answer, experts | 152 (153) | 298 (298) | 447 (437) |
| the lead's answer, after the longest instructions and reports | 292 (292) | 622 (620) | 952 (950) |
| a worker | 254 (2,505) | 258 (2,512) | 257 (2,509) |
| one agent, page after page | 318 (2,568) | 364 (2,605) | 397 (2,641) |
| one agent, the whole book | 1,968 (28,868) | 1,970 (28,856) | 1,999 (28,907) |

On a core of a shared machine a step of the environment takes 0.2 to 0.6 ms. An iteration of 8 episodes with the embedded model
as the workers of a scripted lead (`group_size=4`, 8 rows) takes 0.2, 0.7 and 1.0 s with `magrpo` for W = 2, 5 and 8, and 0.3, 0.8
and 0.9 s with `at_grpo`.

**Arguments.** `max_workers` (3; 1 to 8), `documents` (6; 2 to 12, more than `max_workers`), `rows` (12; 4 to 200) is the
difficulty, `report_chars` (200; 20 to 2,000), `num_agents` (None: `max_workers` + 1; or 1), `reading` ("one" or "all", with
`num_agents=1`), `prompt` ("full" or "terse"), `team_weight`, `split` ("train", "test", "all"), `render_mode`.

**Tasks** are generated without end. The split is by the kind of question and the records that it counts: the same numbers with
other names of months, people or items, in another order of pages, or between other records are in the same split.

**The scripted expert** names the needed pages, reports their partial values, and combines what the reports say. The noisy expert
forgets, confuses or adds a page, misses a record, or slips in the answer, each one time in five.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import Outcome, TextEnv, find_length_errors, make_env_fns
from llmzoo.envs.crowd.delegate import players, prompts, reading
from llmzoo.envs.crowd.delegate.reading import Assignment
from llmzoo.envs.crowd.delegate.state import DelegateState, Phase
from llmzoo.envs.crowd.delegate.tasks import (
    MONTHS,
    canonical,
    combine_known,
    count_overlap,
    sample_task,
)
from llmzoo.envs.tasks import describe_task, generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError

LEAD = "lead_0"
FOUND, SOLVED = 0.3, 1.0
PLAN, LEAD_FORM = 0.1, 0.05
VALUE, REPORT_FORM = 0.15, 0.05
_NO_REQUEST = "no line of the form Read: MONTH or Answer: NUMBER"


class Delegate(TextEnv[DelegateState]):
    """A lead and the workers it brings in, or one agent that reads page after page."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "delegate_v0",
        "team_components": ["found", "solved"],
    }

    def __init__(
        self,
        *,
        max_workers: int = 3,
        documents: int = 6,
        rows: int = 12,
        report_chars: int = 200,
        num_agents: int | None = None,
        reading: Literal["one", "all"] = "one",
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_range("max_workers", max_workers, 1, 8)
        check_range("documents", documents, 2, len(MONTHS))
        check_range("rows", rows, 4, 200)
        check_range("report_chars", report_chars, 20, 2_000)
        if documents <= max_workers:
            raise ConfigError(
                f"documents must be more than max_workers ({max_workers}), so that a lead must choose; "
                f"got {documents}"
            )
        if num_agents not in (None, 1, max_workers + 1):
            raise ConfigError(
                f"num_agents must be 1, or max_workers + 1 ({max_workers + 1}), got {num_agents}; "
                "set max_workers"
            )
        alone = num_agents == 1
        if reading == "all" and not alone:
            raise ConfigError("reading='all' shows every page to one agent; it needs num_agents=1")
        workers = [] if alone else [f"worker_{i}" for i in range(1, max_workers + 1)]
        self.first_phase: Phase = ("answer" if reading == "all" else "read") if alone else "plan"
        super().__init__(
            [LEAD, *workers],
            max_turns={"plan": 3, "read": max_workers + 2, "answer": 1}[self.first_phase],
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.metadata["delayed_reward_agents"] = [] if alone else [LEAD, *workers]
        self.starting_agents = [LEAD]
        self.max_workers = max_workers
        self.report_chars = report_chars
        self.whole_book = reading == "all"
        self.terse = prompt == "terse"
        self.tasks = generate_tasks(
            sample_task,
            canonical,
            split=split,
            name=f"delegate, documents {documents}, rows {rows}, max_workers {max_workers}",
            documents=documents,
            rows=rows,
            max_workers=max_workers,
        )

    def reset_task(self, rng: random.Random, task: int | str | None) -> DelegateState:
        drawn = self.tasks.sample(rng) if task is None else self.tasks[task]
        return DelegateState(drawn, self.first_phase)

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, canonical(self.episode.task), self.episode.task)

    def acting(self, state: DelegateState) -> tuple[str, ...]:
        if state.phase == "report":
            return tuple(self.possible_agents[1 : len(state.assignments) + 1])
        return () if state.phase == "over" else (LEAD,)

    def apply(
        self, state: DelegateState, actions: Mapping[str, str]
    ) -> tuple[DelegateState, Outcome]:
        too_long = find_length_errors(actions)
        read = {agent: "" if agent in too_long else text for agent, text in actions.items()}
        step = {
            "plan": self._bring_in_workers,
            "report": self._take_reports,
            "read": self._read_on,
            "answer": self._take_answer,
        }[state.phase]
        state, outcome = step(state, read)
        return state, outcome._replace(errors={**outcome.errors, **too_long})

    # The lead and its workers

    def _bring_in_workers(
        self, state: DelegateState, actions: Mapping[str, str]
    ) -> tuple[DelegateState, Outcome]:
        try:
            plan = reading.parse_plan(actions[LEAD], state.task.titles, self.max_workers)
        except MalformedError as reason:
            state = replace(state, phase="answer", problem=str(reason))
            return state, Outcome(errors={LEAD: f"malformed: {reason}"})
        if plan.answer is not None:
            return self._end(state, plan.answer)
        state = replace(state, phase="report", assignments=plan.assignments, problem=plan.problem)
        overlap = count_overlap(state.titles, state.task.question.titles)
        return state, Outcome(
            local={LEAD: {"plan": PLAN * overlap, "form": LEAD_FORM * (not plan.problem)}},
            errors={LEAD: f"malformed: {plan.problem}"} if plan.problem else {},
            agents=(LEAD, *self.acting(state)),
        )

    def _take_reports(
        self, state: DelegateState, actions: Mapping[str, str]
    ) -> tuple[DelegateState, Outcome]:
        reports = tuple(reading.clean_text(text, self.report_chars) for text in actions.values())
        state = replace(state, phase="answer", reports=reports)
        errors = {
            agent: problem
            for agent, text, report in zip(actions, actions.values(), reports, strict=True)
            if (problem := self._find_problem(text, report))
        }
        local = {
            agent: {
                "value": VALUE * state.is_found(title),
                "form": REPORT_FORM * (agent not in errors),
            }
            for agent, title in zip(actions, state.titles, strict=True)
        }
        return state, Outcome(
            team={"found": FOUND * state.found_share},
            local=local,
            errors={agent: f"malformed: {problem}" for agent, problem in errors.items()},
            agents=(LEAD,),
        )

    def _find_problem(self, text: str, report: str) -> str:
        """What is wrong with a report; "" for nothing."""
        if len(" ".join(text.split())) > self.report_chars:
            return f"a report of more than {self.report_chars} characters"
        try:
            reading.parse_number(report)
        except MalformedError as reason:
            return str(reason)
        return ""

    def _take_answer(
        self, state: DelegateState, actions: Mapping[str, str]
    ) -> tuple[DelegateState, Outcome]:
        try:
            return self._end(state, reading.parse_number(actions[LEAD]))
        except MalformedError as reason:
            state, outcome = self._end(state, None)
            return state, outcome._replace(errors={LEAD: f"malformed: {reason}"})

    def _end(self, state: DelegateState, answer: int | None) -> tuple[DelegateState, Outcome]:
        """End the episode with an answer, or with None that can be read."""
        solved = answer == state.task.answer
        local = {"form": LEAD_FORM} if answer is not None else {}
        if self.first_phase == "read":
            local["plan"] = PLAN * count_overlap(state.titles, state.task.question.titles)
        return replace(state, phase="over", answer=answer), Outcome(
            team={"solved": SOLVED * solved},
            local={LEAD: local},
            done=True,
            errors={} if solved else {LEAD: "wrong: not the answer to the question"},
            success=solved,
        )

    # An agent alone

    def _read_on(
        self, state: DelegateState, actions: Mapping[str, str]
    ) -> tuple[DelegateState, Outcome]:
        """Keep the note of an agent alone, and open the page that it asks for, or end with its answer."""
        before = state
        text = reading.parse_reading(actions[LEAD], state.task.titles, self.report_chars)
        last = state.texts == self.max_workers  # it may read no other page
        opened = None if last else text.title
        done = last or (opened is None and state.texts + 1 == self.max_workers)
        problem = "" if last or text[1:] != (None, None) else _NO_REQUEST
        notes = dict(zip(state.titles, state.reports, strict=True))
        if state.opened is not None:
            notes[state.opened] = text.note  # it replaces an earlier note
        state = replace(
            state,
            assignments=tuple(Assignment(title, "") for title in notes),
            reports=tuple(notes.values()),
            opened=opened,
            texts=state.texts + 1,
            problem=problem,
            phase="answer" if done else "read",
        )
        outcome = Outcome(errors={LEAD: f"malformed: {problem}"} if problem else {})
        if text.answer is not None:
            state, outcome = self._end(state, text.answer)
        local = dict(outcome.local.get(LEAD, {}))
        if before.texts == 0 and text.title is not None:
            local["form"] = LEAD_FORM
        found = FOUND * (state.found_share - before.found_share)
        solved = SOLVED * bool(outcome.success)
        return state, outcome._replace(team={"found": found, "solved": solved}, local={LEAD: local})

    # Scripted players

    def expert(self, agent: str) -> str:
        state = self.episode
        if state.phase == "plan":
            return players.write_plan(state.task, state.task.question.titles, self.terse)
        if state.phase == "report":
            return players.write_number(
                state.task.partial_value(self._title(state, agent)), self.terse
            )
        if state.phase == "read":
            return self._read_as(state, None)
        return str(self._combine(state))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        state, task = self.episode, self.episode.task
        if rng.random() < players.CARELESS:
            return players.VAGUE
        if state.phase == "plan":
            titles = players.sloppy_titles(task, self.max_workers, rng)
            return players.write_plan(task, titles, self.terse)
        if state.phase == "report":
            number = players.sloppy_value(task, self._title(state, agent), rng)
            return players.write_number(number, self.terse)
        if state.phase == "read":
            return self._read_as(state, rng)
        return str(players.sloppy_answer(self._combine(state), rng))

    def _combine(self, state: DelegateState) -> int:
        """The answer by the reports; by the pages themselves for who has seen them all."""
        if self.whole_book:
            return state.task.answer
        return combine_known(state.task.question, state.values)

    def _read_as(self, state: DelegateState, rng: random.Random | None) -> str:
        """The text of a reader alone: its note, and what it reads next or answers. With ``rng`` it errs."""
        task, lines, known = state.task, [], state.values
        if state.opened is not None:
            title = state.opened
            known[title] = (
                players.sloppy_value(task, title, rng) if rng else task.partial_value(title)
            )
            lines += [players.write_number(known[title], self.terse)]
        following = players.next_title(task, known)
        if following is not None and rng is not None and rng.random() < players.SLOPPY:
            following = rng.choice([*task.titles, None])
        if following is not None and state.texts < self.max_workers:
            return "\n".join([*lines, f"Read: {following}"])
        answer = combine_known(task.question, known)
        return "\n".join(
            [*lines, f"Answer: {players.sloppy_answer(answer, rng) if rng else answer}"]
        )

    # What is shown

    def _title(self, state: DelegateState, agent: str) -> str:
        """The page of a worker."""
        return state.titles[self.possible_agents.index(agent) - 1]

    def observation(self, state: DelegateState, agent: str) -> str:
        task = state.task
        if agent != LEAD:
            number = self.possible_agents.index(agent)
            if number > len(state.assignments):
                return f"{agent} has not joined."
            page, instruction = task.page(self._title(state, agent)), state.assignments[number - 1]
            return prompts.worker_prompt(
                agent, page, instruction.instruction, self.report_chars, self.terse
            )
        if self.whole_book:
            return prompts.whole_book_prompt(task, self.terse)
        if self.first_phase == "read":
            return prompts.reader_prompt(
                task,
                [
                    f"{title}: {note}"
                    for title, note in zip(state.titles, state.reports, strict=True)
                ],
                task.page(state.opened) if state.opened else None,
                left=None if state.phase == "answer" else self.max_workers - state.texts,
                limit=self.report_chars,
                problem=state.problem,
                terse=self.terse,
            )
        if state.phase == "plan":
            return prompts.plan_prompt(task, self.max_workers, self.terse)
        reports = state.reports or ("",) * len(state.assignments)
        return prompts.answer_prompt(task, state.assignments, reports, state.problem, self.terse)

    def board(self) -> str:
        state = self.episode
        lines = [prompts.format_question(state.task.question, terse=False)]
        for number, assignment in enumerate(state.assignments, start=1):
            reader = LEAD if self.first_phase == "read" else f"worker_{number}"
            report = dict(enumerate(state.reports)).get(number - 1, "")
            lines += [
                f"{reader} reads {assignment.title}: {assignment.instruction}",
                f"  {report or '...'}",
            ]
        if state.phase == "over":
            lines += [f"{LEAD} answers {'nothing' if state.answer is None else state.answer}"]
        return "\n".join(lines)


raw_env = Delegate
env, parallel_env = make_env_fns(Delegate)

"""# Bug fixing

A program has one or two mistakes and fails some of its tests. The locator says which function and
line is wrong, and why. The fixer reads this and rewrites the function.

| | |
|---|---|
| id | `bug_fix_v0` |
| agents | `locator_0`, then `fixer_1`; with `num_agents=1`: `fixer_0` |
| observation, action | text |
| rounds | at most `max_turns` (2) |
| success | every test passes, public and hidden |

**Actions.** The locator: `{"function": "f", "line": 7, "reason": "..."}`, or
`function: f, line: 7, reason: ...`, in any prose; the last one counts. The fixer: Python with the
program's functions that it changes, fenced or not; helpers and imports beside them are kept, and
the rest of the program stays as it was. `fixer_0` writes both into one answer; without a location
it has nothing in that part. In a second round the fixer starts from the broken program again.

**Rewards** are the same for both agents. An episode's return is the worth of its last round: a turn pays
the change in worth of its part.

| part | worth |
|---|---|
| tests | 0.75 x the share of the hidden tests that the broken program failed and the fixed one gains |
| location | 0.2 for a right function and line, 0.1 for the line before or after, 0.02 for the right function; of two mistakes either counts |
| parses | 0.05 for a fix that can be read, 0.0125 for one whose function is begun |

Any other answer that cannot be read is worth 0 in its part. A fix that has memorised the public tests
earns only what the hidden tests give it: often nothing.

**Tests.** Calls and what they return; every third is public, the others are hidden. Failed
public tests are shown with the value that came back: those of the broken program in the first round,
later those of the last fix too. Public and hidden tests run in separate processes, so feedback cannot
show a hidden test.

**Split view.** With `view="split"` the task [needs two](../split_views.md). The locator reads what the
functions are meant to do (their docstrings) and how every public test ends: the call, the expected value and
the value that came back. The fixer reads the code without docstrings. The locator's whole answer is a message;
the fixer writes location and fix into one answer, as `fixer_0` does, and the locator reads the first
`message_chars` characters of it. Lines are counted, and locations judged, in the code without docstrings. The
fixer is told only whether its fix could be used. Both are paid the rewards above; a message that is empty or
too long costs the locator 0.05.

**Arguments.** `mutations` (1 or 2 mistakes; None for both kinds), `num_agents`, `max_turns`,
`prompt` ("full"), `view` ("full", or "split" for two agents), `message_chars` (400, at most 2000, of the
split view), `team_weight`, `time_limit` (seconds for the public tests of a program, and for the
hidden ones), `split` ("train", "test", "all"), `render_mode`.

**Tasks.** 54 programs written for this project, broken by 20 kinds of mutation of the syntax tree,
alone and in pairs: about 1,700 tasks, each of which fails at least one public and one hidden test.
Split by the correct program: its mutants are all in one split.

**Version history.** v0: first version. Since then public and hidden tests run apart, infos name
what kept a fix from running, success asks for the public tests too, and a fix that can be read and
a right function earn a little. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.envs.coding import judging, programs
from llmzoo.envs.coding.bug_fix import halves, players, scoring, tasks
from llmzoo.envs.coding.bug_fix.tasks import BugTask, Call
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.envs.messages import (
    MESSAGE_CHARS,
    NOT_DELIVERED,
    check_message_limit,
    parse_message,
    penalize_undelivered,
)
from llmzoo.envs.tasks import TaskList, describe_task
from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import CaseResult, Verdict

LOCATOR, FIXER, ALONE = "locator_0", "fixer_1", "fixer_0"

_MAX_SHOWN = 5  # failed tests
_MAX_VALUE_CHARS = halves.MAX_VALUE_CHARS
_MAX_FIX_CHARS = 6_000


@dataclass(frozen=True, slots=True)
class RepairState:
    """The state of an episode. ``after``: the report of the public tests on the last fix. ``last_actions``: each
    agent's last answer in normal form. ``notices``: in the split view, what each agent is told of its last
    answer."""

    task: BugTask
    after: str = ""
    last_actions: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=lambda: scoring.NOTHING)
    notices: Mapping[str, str] = field(default_factory=dict)


class BugFix(TextEnv):
    """A broken program for a locator and a fixer, or for one who does both."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "bug_fix_v0",
        "slow_step": True,
        "team_components": [*scoring.NOTHING],
        "team_and_local": False,
    }

    def __init__(
        self,
        *,
        mutations: Literal[1, 2] | None = None,
        num_agents: int = 2,
        max_turns: int = 2,
        prompt: Literal["full"] = "full",
        view: Literal["full", "split"] = "full",
        message_chars: int = MESSAGE_CHARS,
        team_weight: float = 1.0,
        time_limit: float = 5.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_choice("mutations", mutations, (None, 1, 2))
        check_choice("num_agents", num_agents, (1, 2))
        check_choice("prompt", prompt, ("full",))
        check_choice("view", view, ("full", "split"))
        if view == "split" and num_agents != 2:
            raise ConfigError(
                "view='split' is for two agents, each with one half; got num_agents=1"
            )
        super().__init__(
            [LOCATOR, FIXER] if num_agents == 2 else [ALONE],
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.view = view
        self.message_chars = check_message_limit(message_chars)
        self.metadata["team_and_local"] = view == "split"  # a message that fails is paid alone
        self._limits = Limits(time_limit=time_limit)
        self.tasks = TaskList(
            tasks.load_tasks(mutations), tasks.canonical, split=split, source="shipped"
        )
        self.episode: RepairState

    def reset_task(self, rng: random.Random, task: int | str | None) -> None:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        self.episode = RepairState(chosen)

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, self.episode.task.broken_source, self.episode.task)

    def play(self, agent: str, text: str) -> Outcome:
        if self.view == "split" and agent == LOCATOR:
            return self._tell(text)
        scores: dict[str, float] = {}
        problems: list[str] = []
        parts = self._parts(agent)
        if LOCATOR in parts:
            problems += self._score_location(text, scores)
        if FIXER in parts:
            problems += self._score_fix(text, scores)
        error = "; ".join(problems)
        paid = {name: score - self.episode.scores[name] for name, score in scores.items()}
        self.episode = replace(self.episode, scores={**self.episode.scores, **scores})
        return Outcome(team=paid, done=self.success, errors={agent: error} if error else {})

    def _tell(self, text: str) -> Outcome:
        """Deliver the locator's message."""
        message, reason = parse_message(text, self.message_chars)
        self._say(LOCATOR, message or NOT_DELIVERED)
        self._set_notice(LOCATOR, reason and f"Your last message was not delivered: {reason}.")
        return penalize_undelivered({LOCATOR: reason})

    def _score_location(self, text: str, scores: dict[str, float]) -> list[str]:
        """Score a location; what was wrong with the answer."""
        try:
            named = scoring.parse_location(text)
        except scoring.NoLocation as reason:
            scores["location"] = 0.0
            self._record_location("no location could be read")
            return [f"malformed: {reason}"]
        known = self.episode.task.locations
        if self.view == "split":
            known = halves.locations(self.episode.task)
        scores["location"] = scoring.WEIGHTS["location"] * scoring.location_share(known, named)
        why = truncate(named.reason, _MAX_VALUE_CHARS)
        self._record_location(f"function {named.function[:100]}, line {named.line}: {why}")
        return []

    def _score_fix(self, text: str, scores: dict[str, float]) -> list[str]:
        """Score a fix; what was wrong with the answer."""
        broken = self.episode.task.broken_source
        self._say(FIXER, truncate(text, _MAX_FIX_CHARS))
        try:
            program = scoring.apply_fix(broken, text)
        except NoProgram as reason:
            scores["tests"] = 0.0
            scores["parses"] = scoring.WEIGHTS["parses"] * scoring.parse_share(broken, text)
            why = f"{halves.UNUSABLE[:-1]}: {truncate(str(reason), _MAX_VALUE_CHARS)}"
            self._set_notice(FIXER, why)
            self._set_report(halves.UNUSABLE if self.view == "split" else why)
            return [f"malformed: {reason}"]
        gained, trouble = self._try(program)
        if not trouble and (left_out := programs.left_out_reason(text)):
            trouble = f"left out: {left_out}"
        scores["parses"] = scoring.WEIGHTS["parses"]
        scores["tests"] = scoring.WEIGHTS["tests"] * gained
        return [trouble] if trouble else []

    def expert(self, agent: str) -> str:
        task = self.episode.task
        if self.view == "split":
            heard = self.episode.last_actions.get(LOCATOR, "")
            if agent == LOCATOR:
                return players.expert_message(task, self.message_chars)
            return players.expert_repair(task, heard, self.turn)
        experts = {LOCATOR: players.expert_location, FIXER: players.expert_fix}
        return "\n\n".join(experts[part](task) for part in self._parts(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        task = self.episode.task
        if self.view == "split":
            heard = self.episode.last_actions.get(LOCATOR, "")
            if agent == LOCATOR:
                return players.noisy_message(task, self.message_chars, rng)
            return players.noisy_repair(task, heard, rng)
        experts = {LOCATOR: players.noisy_location, FIXER: players.noisy_fix}
        return "\n\n".join(experts[part](task, rng) for part in self._parts(agent))

    def _try(self, program: str) -> tuple[float, str]:
        """Test a fixed program: the share of failed tests that it gains, and what kept it from running."""
        public, hidden = self.episode.task.program.calls()
        shown = self._check(program, public)
        before = _share(self._check(self.episode.task.broken_source, hidden))
        after = _share(self._check(program, hidden))
        self.success = shown.ok and after == 1.0
        self._set_notice(FIXER, halves.TRIED)
        report = halves.format_report if self.view == "split" else _report
        self._set_report(report(public, shown.cases))
        return scoring.tests_share(before, after), judging.failure_reason(shown)

    def _check(self, program: str, calls: Sequence[Call]) -> Verdict:
        """The verdict of public or of hidden calls. They are never judged together: a program can read
        every call of its job, and the results of public calls are shown."""
        return judging.check_calls(program, calls, self._limits)

    def _say(self, part: str, text: str) -> None:
        self.episode = replace(self.episode, last_actions={**self.episode.last_actions, part: text})

    def _record_location(self, what: str) -> None:
        """Keep a location for the other agent; in the split view it stands in the fixer's own answer."""
        if self.view == "full":
            self._say(LOCATOR, what)

    def _set_notice(self, agent: str, notice: str) -> None:
        self.episode = replace(self.episode, notices={**self.episode.notices, agent: notice})

    def _set_report(self, report: str) -> None:
        self.episode = replace(self.episode, after=report)

    # Prompts

    def observation(self, agent: str) -> str:
        if self.view == "split":
            return self._split_prompt(agent)
        repair = self.episode
        lines = [
            _ROLES[agent],
            "",
            "The program:",
            "",
            _with_line_numbers(repair.task.broken_source),
            "",
        ]
        public, _ = repair.task.program.calls()
        lines += [_report(public, self._check(repair.task.broken_source, public).cases), ""]
        lines += [f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."]
        messages = repair.last_actions
        if agent == FIXER and LOCATOR in messages:
            lines += [f"The locator says: {messages[LOCATOR]}"]
        elif LOCATOR in messages:
            lines += [f"You last said: {messages[LOCATOR]}"]
        if repair.after:
            whose = "The fixer's" if agent == LOCATOR else "Your"
            lines += ["", f"{whose} last answer:", messages[FIXER], "", repair.after]
        lines += ["", *(_FORMATS[part] for part in self._parts(agent))]
        return "\n".join([*lines, "", "Your answer:"])

    def _split_prompt(self, agent: str) -> str:
        """What an agent reads in the split view."""
        repair = self.episode
        heading = f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."
        notice, answer = repair.notices.get(agent, ""), repair.last_actions.get(FIXER)
        if agent == FIXER:
            code = _with_line_numbers(halves.without_docstrings(repair.task.broken_source))
            forms = [_FORMATS[part] for part in self._parts(agent)]
            message = repair.last_actions.get(LOCATOR)
            return halves.fixer_prompt(
                code, heading, message, answer, notice, forms, self.message_chars
            )
        public, _ = repair.task.program.calls()
        ends = halves.format_report(public, self._check(repair.task.broken_source, public).cases)
        meant = halves.purposes(repair.task.program.source)
        return halves.locator_prompt(
            meant, ends, heading, notice, answer, repair.after, self.message_chars
        )

    def _parts(self, agent: str) -> tuple[str, ...]:
        """The parts that an agent writes: the locator's, the fixer's, or both."""
        both = agent == ALONE or (self.view == "split" and agent == FIXER)
        return (LOCATOR, FIXER) if both else (agent,)

    def board(self) -> str:
        return _with_line_numbers(self.episode.task.broken_source)


_ROLES = {
    LOCATOR: "You are the locator. A program has a mistake in one or two places. Say where they are; a "
    "fixer reads what you say and repairs the program.",
    FIXER: "You are the fixer. A program has a mistake in one or two places. A locator says where it "
    "may be. Repair the program so that all its tests pass, including those that are not shown.",
    ALONE: "You are the fixer. A program has a mistake in one or two places. Say where they are, and "
    "repair the program so that all its tests pass, including those that are not shown.",
}
_FORMATS = {
    LOCATOR: 'Give one place, with its line number, as {"function": "name", "line": 7, '
    '"reason": "why it is wrong"}.',
    FIXER: "Give the corrected function, complete, as Python code in a ```python block.",
}


def _share(verdict: Verdict) -> float:
    return verdict.passed / len(verdict.cases)


def _report(calls: Sequence[Call], cases: Sequence[CaseResult]) -> str:
    failed = [(call, case) for call, case in zip(calls, cases, strict=True) if not case.passed]
    if not failed:
        return f"All {len(calls)} public tests pass."
    lines = [f"{len(failed)} of {len(calls)} public tests fail:"]
    for (name, args, expected), case in failed[:_MAX_SHOWN]:
        given = truncate(", ".join(repr(arg) for arg in args), _MAX_VALUE_CHARS)
        # a returned value says more than "wrong value"
        got = case.got or case.error
        wanted, got = truncate(repr(expected), _MAX_VALUE_CHARS), truncate(got, _MAX_VALUE_CHARS)
        lines.append(f"  {name}({given})\n    expected {wanted}\n    got {got}")
    if len(failed) > _MAX_SHOWN:
        lines.append(f"  and {len(failed) - _MAX_SHOWN} more")
    return "\n".join(lines)


def _with_line_numbers(source: str) -> str:
    return "\n".join(f"{n:3}  {line}" for n, line in enumerate(source.splitlines(), start=1))


raw_env = BugFix
env, parallel_env = make_env_fns(BugFix)

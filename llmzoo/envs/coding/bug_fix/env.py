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
    answer. ``solved``: whether the last fix passes every test."""

    task: BugTask
    after: str = ""
    last_actions: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=lambda: scoring.NOTHING)
    notices: Mapping[str, str] = field(default_factory=dict)
    solved: bool = False


# the state with an answer, the shares of the reward components that it earns, and its problem
_Scored = tuple[RepairState, Mapping[str, float], str]


class BugFix(TextEnv[RepairState]):
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
        check_choice("num_agents", num_agents, (1, 2))
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

    def reset_task(self, rng: random.Random, task: int | str | None) -> RepairState:
        return RepairState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, self.episode.task.broken_source, self.episode.task)

    def apply(self, state: RepairState, actions: Mapping[str, str]) -> tuple[RepairState, Outcome]:
        ((agent, text),) = actions.items()
        if self.view == "split" and agent == LOCATOR:
            return self._deliver_message(state, text)
        after, problems = state, []
        scores: dict[str, float] = {}
        for part in self._parts(agent):
            score = self._score_location if part == LOCATOR else self._score_fix
            after, shares, problem = score(after, text)
            scores |= {name: scoring.WEIGHTS[name] * share for name, share in shares.items()}
            problems += [problem] if problem else []
        after = replace(after, scores={**state.scores, **scores})
        paid = {name: worth - state.scores[name] for name, worth in scores.items()}
        errors = {agent: "; ".join(problems)} if problems else {}
        return after, Outcome(team=paid, done=after.solved, errors=errors, success=after.solved)

    def _deliver_message(self, state: RepairState, text: str) -> tuple[RepairState, Outcome]:
        """Deliver the locator's message."""
        message, reason = parse_message(text, self.message_chars)
        notice = reason and f"Your last message was not delivered: {reason}."
        after = replace(
            state,
            last_actions={**state.last_actions, LOCATOR: message or NOT_DELIVERED},
            notices={**state.notices, LOCATOR: notice},
        )
        return after, penalize_undelivered({LOCATOR: reason})

    def _score_location(self, state: RepairState, text: str) -> _Scored:
        problem, share = "", 0.0
        try:
            named = scoring.parse_location(text)
        except scoring.NoLocation as reason:
            problem, summary = f"malformed: {reason}", "no location could be read"
        else:
            split = self.view == "split"
            known = halves.locations(state.task) if split else state.task.locations
            share = scoring.location_share(known, named)
            why = truncate(named.reason, _MAX_VALUE_CHARS)
            summary = f"function {named.function[:100]}, line {named.line}: {why}"
        if self.view == "full":  # in the split view it stands in the fixer's own answer
            state = replace(state, last_actions={**state.last_actions, LOCATOR: summary})
        return state, {"location": share}, problem

    def _score_fix(self, state: RepairState, text: str) -> _Scored:
        split, broken, solved = self.view == "split", state.task.broken_source, False
        try:
            program = scoring.apply_fix(broken, text)
        except NoProgram as reason:
            shares = {"tests": 0.0, "parses": scoring.parse_share(broken, text)}
            problem = f"malformed: {reason}"
            notice = f"{halves.UNUSABLE[:-1]}: {truncate(str(reason), _MAX_VALUE_CHARS)}"
            report = halves.UNUSABLE if split else notice
        else:
            public, hidden = state.task.program.calls()
            shown = self._check(program, public)
            before = _passed_share(self._check(broken, hidden))
            share = _passed_share(self._check(program, hidden))
            shares = {"parses": 1.0, "tests": scoring.tests_share(before, share)}
            solved = shown.ok and share == 1.0
            left_out = programs.left_out_reason(text)
            problem = judging.failure_reason(shown) or (left_out and f"left out: {left_out}")
            notice = halves.TRIED
            report = (halves.format_report if split else _report)(public, shown.cases)
        after = replace(
            state,
            after=report,
            last_actions={**state.last_actions, FIXER: truncate(text, _MAX_FIX_CHARS)},
            notices={**state.notices, FIXER: notice},
            solved=solved,
        )
        return after, shares, problem

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

    def _check(self, program: str, calls: Sequence[Call]) -> Verdict:
        """The verdict of public or of hidden calls. They are never judged together: a program can read
        every call of its job, and the results of public calls are shown."""
        return judging.check_calls(program, calls, self._limits)

    # Prompts

    def observation(self, state: RepairState, agent: str) -> str:
        if self.view == "split":
            return self._split_prompt(state, agent)
        lines = [
            _ROLES[agent],
            "",
            "The program:",
            "",
            _with_line_numbers(state.task.broken_source),
            "",
        ]
        public, _ = state.task.program.calls()
        lines += [_report(public, self._check(state.task.broken_source, public).cases), ""]
        lines += [f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."]
        messages = state.last_actions
        if agent == FIXER and LOCATOR in messages:
            lines += [f"The locator says: {messages[LOCATOR]}"]
        elif LOCATOR in messages:
            lines += [f"You last said: {messages[LOCATOR]}"]
        if state.after:
            whose = "The fixer's" if agent == LOCATOR else "Your"
            lines += ["", f"{whose} last answer:", messages[FIXER], "", state.after]
        lines += ["", *(_FORMATS[part] for part in self._parts(agent))]
        return "\n".join([*lines, "", "Your answer:"])

    def _split_prompt(self, state: RepairState, agent: str) -> str:
        """What an agent reads in the split view."""
        heading = f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."
        notice, answer = state.notices.get(agent, ""), state.last_actions.get(FIXER)
        if agent == FIXER:
            code = _with_line_numbers(halves.without_docstrings(state.task.broken_source))
            forms = [_FORMATS[part] for part in self._parts(agent)]
            message = state.last_actions.get(LOCATOR)
            return halves.fixer_prompt(
                code, heading, message, answer, notice, forms, self.message_chars
            )
        public, _ = state.task.program.calls()
        ends = halves.format_report(public, self._check(state.task.broken_source, public).cases)
        meant = halves.purposes(state.task.program.source)
        return halves.locator_prompt(
            meant, ends, heading, notice, answer, state.after, self.message_chars
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


def _passed_share(verdict: Verdict) -> float:
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

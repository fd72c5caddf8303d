"""# Tool use

A question that needs tools: facts to search for, numbers to compute, files to read and write. The
planner says which tool to call next and why; the executor writes the call, reads the result, and answers.

| | |
|---|---|
| id | `tool_use_v0` |
| agents | `planner_0`, then `executor_1`; with `num_agents=1`: `agent_0` |
| observation, action | text |
| rounds | at most `max_turns` (8); the answer ends the episode |
| success | the answer is right |

**Actions.** The planner writes advice, of which the executor reads the first 1,500 characters; tags
in it do nothing. The executor (or `agent_0`) writes one call,
`<tool_call>{"name": "search", "arguments": {"query": "Varnholt population"}}</tool_call>`, or the
answer, `<answer>12840</answer>`; other common forms of calls are read too (see the page on tools). Two
calls in one answer, a call and an answer together, an unknown tool, bad JSON and arguments that do not
fit are reported as errors and use up the round. The prompt shows the last 12 calls and results, cut to
1,500 and 3,100 characters.

**Rewards.** One team potential for all agents. Each round pays its difference (gamma 1), so an episode's
return is the worth of its last state.

| part | worth |
|---|---|
| answer | 0.7 once the right answer is given |
| tools | 0.2 x the share of the needed calls that were made |
| economy | 0.1 x max(0, 1 - wasted rounds / needed calls), if the answer is right and every needed call was made |
| waste | -0.02 for a wasted round without a call (0.001 less for naming a tool, and for a brace or tag of a call), -0.015 for a call that failed or was made before, -0.01 for a call that brought nothing; -0.02 for each round left after a wrong answer; at worst -0.2 |

A needed call counts once, by what it returned: a search by the article that it finds, a calculation by
its result, from the calculator or from Python, a file by being read or written. A calculation does not
count if its arguments already contain the result (apart from whole numbers below 100, and numbers in the
expert's own calculation). Every other round of the executor is wasted: a call that failed, was made before
or brought nothing that the question needs, and an answer without a call. So the honest solution earns 1,
and each needed call left out costs at least 0.1. A right guess earns 0.7 (more if the answer is a file,
since writing it is a needed call), and calls without a right answer earn at most 0.2. A wrong answer is
worth as much as no call in all the remaining rounds, so trying in vain never earns less than not trying.

**Answers.** A number may have a unit or a few words around it, but no second number. It must be right
within 1e-9 (relative; a whole number to the last digit), or within half a hundredth if the question asks
for two decimals. Names are compared without case, punctuation and a leading "the". If a question asks for
a file, the file's whole text is the answer, and the text in the tags does not matter. An answer of more
than 200 characters is wrong.

**Tasks.** Twelve families generate questions of one to four calls. The facts are in articles about the
Veyl Isles, which are invented, so no number can be known without a search.

| family | calls | question |
|---|---|---|
| fact | search | a number, year or name of one article |
| arithmetic | calculator | an expression of large numbers |
| integers | python | primes, digits, divisors |
| conversion | search, calculator | a measure in a unit that the question defines |
| bills | read_file, calculator | the sum of some lines of a list |
| table | read_file, python | a sum, mean or difference over rows of a CSV table |
| words | read_file, python | a count in a text |
| difference | search, search, calculator | two facts in one number |
| ranking | search, search, search | the first or last of three |
| trail | search, search, calculator | a fact of the article that another one names, changed by some percent |
| report | search, calculator, write_file | a result that goes into a file |
| errand | read_file, search, search, calculator | a note that asks for two facts |

The family fact has about 800 facts in four wordings each; the others draw numbers too and have many
thousands of questions. The split is by the subject and the numbers of a question, whatever its wording.

**Arguments.** `tools` (names, `llmzoo` tools or `"module:attribute"` of your own; default: all four
built in), `tasks` (None: the families whose tools are all given; or your own, see below), `family`,
`calls` (1 to 4: the number of calls that a question needs; None for all), `num_agents`, `max_turns`, `prompt`
("full"), `team_weight`, `split` ("train", "test", "all"), `on_bad_record` ("error" or "skip": of
`tasks`), `render_mode`. Python code runs in the sandbox; without the tool `python` no step takes longer
than about a millisecond.

**Your own tools and tasks.** `tasks` is a list of records, or a [file](../data.md#files-of-records) of them:
`question`; `answer`, a number or a text, or a list of right ones; optionally `tools`, the name of the
tool of each needed call (any successful call of it counts), and `files`, path and text of each file that
exists at the start. Without `tools` no call is needed, and a call is wasted only if it fails or repeats
an earlier one.

```python
import llmzoo
from llmzoo.envs.tools.toolbox import tool


@tool
def tide(harbour: str) -> str:
    "The time of high water in a harbour."
    return {"Sundmere": "04:50"}.get(harbour, "unknown")


env = llmzoo.make(
    "tool_use_v0",
    tools=[tide],
    tasks=[{"question": "When is high water in Sundmere?", "answer": "04:50", "tools": ["tide"]}],
    split="all",
)
```

**Version history.** v0: first version; a wrong answer costs the rounds that were left, and a wasted
round the less, the nearer it came to a call that is needed. Prompts for chat models were reworded
in November 2026.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv, make_env_fns
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.call_syntax import BadCall, ToolCall, parse_answer, parse_tool_calls
from llmzoo.envs.tools.file_tools import GROUP as FILES
from llmzoo.envs.tools.file_tools import make_folder
from llmzoo.envs.tools.tool_use import observations, players, scoring
from llmzoo.envs.tools.tool_use.observations import (
    ALONE,
    EXECUTOR,
    PLANNER,
    ToolUseEntry,
    make_entry,
)
from llmzoo.envs.tools.tool_use.questions import NeededCall, ToolQuestion
from llmzoo.envs.tools.tool_use.tasks import TaskSource, load_questions
from llmzoo.envs.tools.toolbox import ToolSpec, make_toolbox
from llmzoo.errors import NoSolutionError

_ALL = ("calculator", "python", "files", "search")


@dataclass(frozen=True, slots=True)
class ToolUseState:
    """The state of an episode.

    states: the states of the tools.
    asked: the calls so far.
    made: the numbers of the needed calls that were made.
    wasted, waste: the number of rounds that brought nothing, and their cost.
    last: the executor's last answer.
    """

    question: ToolQuestion
    states: Mapping[str, Any]
    entries: tuple[ToolUseEntry, ...] = ()
    asked: frozenset[str] = frozenset()
    made: frozenset[int] = frozenset()
    wasted: int = 0
    waste: float = 0.0
    advice: str = ""
    last: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)


class ToolUse(TextEnv[ToolUseState]):
    """Questions that need tools, for a planner and an executor, or for one agent."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "tool_use_v0",
        "team_components": [*scoring.REWARD_COMPONENTS],
        "team_and_local": False,
        "delayed_reward_agents": [PLANNER],
    }

    def __init__(
        self,
        *,
        tools: Sequence[ToolSpec] = _ALL,
        tasks: TaskSource | None = None,
        on_bad_record: Literal["error", "skip"] = "error",
        family: str | None = None,
        calls: int | None = None,
        num_agents: int = 2,
        max_turns: int = 8,
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        check_choice("num_agents", num_agents, (1, 2))
        super().__init__(
            [PLANNER, EXECUTOR] if num_agents == 2 else [ALONE],
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.toolbox = make_toolbox(tools)
        # programs in the sandbox are slow
        self.metadata["slow_step"] = "python" in self.toolbox.tools
        self.tasks = load_questions(
            tasks,
            family=family,
            calls=calls,
            tools=frozenset(self.toolbox.tools),
            split=split,
            on_bad_record=on_bad_record,
        )
        self._schemas = observations.schemas(self.toolbox)
        self._summaries = observations.summaries(self.toolbox)

    def reset_task(self, rng: random.Random, task: int | str | None) -> ToolUseState:
        question = self.tasks.sample(rng) if task is None else self.tasks[task]
        states = self.toolbox.start()
        if question.files:
            states = {**states, FILES: make_folder({**states[FILES], **dict(question.files)})}
        return ToolUseState(question, states)

    def task_info(self) -> Mapping[str, Any]:
        question = self.episode.question
        return {
            **describe_task(self.tasks, f"{question.text}\n{question.files}", question),
            "question_family": question.family,
            "calls": len(question.steps),
        }

    def apply(
        self, state: ToolUseState, actions: Mapping[str, str]
    ) -> tuple[ToolUseState, Outcome]:
        ((agent, text),) = actions.items()
        if agent == PLANNER:
            advice = replace_surrogates(truncate(text.strip(), observations.MAX_ADVICE_CHARS))
            errors = {} if advice else {agent: "malformed: no advice"}
            return replace(state, advice=advice), Outcome(errors=errors)
        answer, error = None, None
        try:
            action = _parse_action(text)
        except _InvalidAction as reason:
            error = f"malformed: {reason}"
            cost = (
                scoring.FAILED if reason.called else scoring.no_call_cost(text, self.toolbox.tools)
            )
            state = _with_wasted_round(state, make_entry(text, f"Error: {reason}"), cost)
        else:
            if isinstance(action, str):
                answer = action
            else:
                state, error = self._call(state, action)
        right = answer is not None and _is_right(state, answer)
        if answer is not None and not right:
            lost = scoring.NO_CALL * (self.max_turns - self.turn)
            state = replace(state, waste=state.waste + lost)
        parts = scoring.reward_components(
            needed=len(state.question.steps),
            made=len(state.made),
            wasted=state.wasted,
            waste=state.waste,
            right=right,
        )
        outcome = Outcome(
            team={name: value - state.parts.get(name, 0.0) for name, value in parts.items()},
            done=answer is not None,
            errors={agent: error} if error else {},
            success=right,
        )
        return replace(state, parts=parts, advice="", last=text[:MAX_ACTION_CHARS]), outcome

    def observation(self, state: ToolUseState, agent: str) -> str:
        turn = min(self.turn + 1, self.max_turns)
        last = ", the last one" if turn == self.max_turns else ""
        return observations.for_agent(
            agent,
            question=state.question.text,
            tools=self._summaries if agent == PLANNER else self._schemas,
            entries=state.entries,
            advice=state.advice,
            heading=f"Round {turn} of {self.max_turns}{last}.",
        )

    def expert(self, agent: str) -> str:
        if agent == PLANNER:
            return players.plan(self._next_step())
        return players.act(self._next_step(), self.episode.question)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if agent == PLANNER:
            return players.sloppy_plan(self._next_step(), rng)
        state = self.episode
        return players.sloppy_act(self._next_step(), state.question, state.last, rng)

    def _call(self, state: ToolUseState, call: ToolCall) -> tuple[ToolUseState, str | None]:
        """The state after a call, and what was wrong with the call, or None."""
        reply, states = self.toolbox.call(call, state.states)
        written = json.dumps([call.name, call.arguments], sort_keys=True)
        repeated = written in state.asked
        fulfilled: frozenset[int] = frozenset()
        if reply.error is None and not repeated:
            state = replace(state, asked=state.asked | {written})
            fulfilled = _fulfilled_calls(state, call, reply.text)
        shown = make_entry(
            f"{call.name} {json.dumps(call.arguments, ensure_ascii=False)}",
            f"{reply.text}\n(You have made this call before.)" if repeated else reply.text,
        )
        failed = reply.error is not None or repeated
        # a user's question without tools does not say which calls are needless
        if fulfilled or not (failed or state.question.steps):
            state = replace(state, entries=(*state.entries, shown), made=state.made | fulfilled)
        else:
            state = _with_wasted_round(state, shown, scoring.FAILED if failed else scoring.NEEDLESS)
        state = replace(state, states=states)
        if reply.error is not None:
            return state, f"failed: {reply.error}"
        return state, "repeated: this call was made before" if repeated else None

    def _next_step(self) -> NeededCall | None:
        state = self.episode
        left = [step for n, step in enumerate(state.question.steps) if n not in state.made]
        if left and not left[0].shows:
            raise NoSolutionError("tool_use_v0: no player for tasks of your own that need tools")
        return left[0] if left else None


class _InvalidAction(ValueError):
    """A text is neither one call nor an answer; the message says why. ``called``: it tries a call."""

    def __init__(self, reason: str, *, called: bool = False):
        super().__init__(reason)
        self.called = called


def _parse_action(text: str) -> ToolCall | str:
    """The call in an executor's text, or its answer; raises ``_InvalidAction``."""
    if len(text) > MAX_ACTION_CHARS:
        raise _InvalidAction(f"longer than {MAX_ACTION_CHARS} characters")
    calls, answer = parse_tool_calls(text), parse_answer(text)
    if len(calls) > 1:
        raise _InvalidAction(
            f"{len(calls)} calls at once; make one, read what comes back", called=True
        )
    if calls and answer is not None:
        raise _InvalidAction(
            "a call and an answer at once; make the call, read what comes back", called=True
        )
    if calls:
        if isinstance(calls[0], BadCall):
            raise _InvalidAction(calls[0].reason, called=True)
        return calls[0]
    if not answer:
        raise _InvalidAction(
            "no call in <tool_call>...</tool_call>, no answer in <answer>...</answer>"
        )
    return answer


def _is_right(state: ToolUseState, answer: str) -> bool:
    target = state.question.target
    if target.path is None:
        return scoring.is_right(target, answer)
    return scoring.is_right(target, state.states[FILES].get(target.path, ""))


def _fulfilled_calls(state: ToolUseState, call: ToolCall, result: str) -> frozenset[int]:
    """The needed calls that a result fulfils, without those made before. It may fulfil several that ask
    for a result, and one of those that only ask for the tool."""
    open_steps = [(n, s) for n, s in enumerate(state.question.steps) if n not in state.made]
    fits = [
        (n, step)
        for n, step in open_steps
        if scoring.is_needed_call(step, call.name, result)
        and not scoring.contains_result(step, call.arguments)
    ]
    bare = [n for n, step in fits if not step.shows]
    return frozenset([n for n, step in fits if step.shows] + bare[:1])


def _with_wasted_round(state: ToolUseState, shown: ToolUseEntry, cost: float) -> ToolUseState:
    entries = (*state.entries, shown)
    return replace(state, entries=entries, wasted=state.wasted + 1, waste=state.waste + cost)


raw_env = ToolUse
env, parallel_env = make_env_fns(ToolUse)

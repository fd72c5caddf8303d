"""Several writers of one program: the environment behind every id of this package.

In a round each agent's answer is read as a program and the programs are merged. The syntax tree gives
facts, the sandbox runs the hidden tests, and every agent is paid the change in worth since the
previous round. :mod:`llmzoo.envs.coding.functions.env` states the rules.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.coding import judging, programs
from llmzoo.envs.coding.functions import feedback as round_feedback
from llmzoo.envs.coding.functions import players, scoring
from llmzoo.envs.coding.functions.tasks import HELPER, FunctionTask, canonical, contract
from llmzoo.envs.sources import PublicSet
from llmzoo.envs.tasks import Tasks, describe_task
from llmzoo.errors import ConfigError, NoSolutionError
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import Verdict

MAX_AGENTS = 5

Reviewer = Callable[[str, str], str]


# a helper that returns None, and raises when a loop keeps calling it
_IDLE_HELPER = """
def {name}(*values, **named):
    {name}.calls = getattr({name}, "calls", 0) + 1
    if {name}.calls > 1000:
        raise RuntimeError
"""


@dataclass(frozen=True, slots=True)
class WritingState:
    """The state of an episode.

    ``last``: each agent's last program, or its answer if no program could be read. ``feedback``: what
    each agent was told about it. ``parts``: the parts paid so far.
    """

    task: FunctionTask
    last: Mapping[str, str] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, float] = field(default_factory=dict)


class TwoWriters(TextEnv[WritingState]):
    """One program by one or more helpers and a main programmer; the ids differ in their tasks.

    A subclass names its ``public_set``, or supplies :meth:`find_tasks`.
    """

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "two_writers",
        "slow_step": True,
        "team_components": [*scoring.WEIGHTS["unit"]],
        "team_and_local": False,
    }
    public_set: ClassVar[PublicSet[FunctionTask]]
    default_signature: ClassVar[Literal["free", "agreed"]] = "free"

    def __init__(
        self,
        *,
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        split: str = "train",
        num_agents: int = 2,
        max_turns: int = 1,
        feedback: Literal["diagnostics", "passed", "plain", "expert"] = "diagnostics",
        reviewer: Reviewer | None = None,
        reward: scoring.Scale = "unit",
        signature: Literal["free", "agreed"] | None = None,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        time_limit: float = 5.0,
        render_mode: str | None = None,
    ):
        if not 1 <= num_agents <= MAX_AGENTS:
            raise ConfigError(f"num_agents must be from 1 to {MAX_AGENTS}, got {num_agents}")
        if reviewer is not None and feedback != "expert":
            raise ConfigError(f"a reviewer is heard with feedback='expert' only, not {feedback!r}")
        helpers = [f"helper_{number}" for number in range(num_agents - 1)]
        super().__init__(
            [*helpers, f"main_{num_agents - 1}"],
            simultaneous=True,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.feedback = feedback
        self.reviewer = reviewer
        self.prompt_style = prompt
        self.tasks = self.find_tasks(source, split, on_bad_record)
        self.fallback = self.tasks.fallback
        self.helpers = [HELPER, *(f"{HELPER}_{n}" for n in range(1, num_agents - 1))]
        self.scale = reward
        self.agreed = (signature or self.default_signature) == "agreed"
        self._limits = Limits(time_limit=time_limit)

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[FunctionTask]:
        """The tasks of a split."""
        loaded = self.public_set.load(source, on_bad_record)
        return loaded.filter_tasks(_has_verdict, asked=False).task_list(canonical, split)

    # Implementation of TextEnv

    def reset_task(self, rng: random.Random, task: int | str | None) -> WritingState:
        return WritingState(self.tasks.sample(rng) if task is None else self.tasks[task])

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        return describe_task(self.tasks, canonical(task), task)

    def apply(
        self, state: WritingState, actions: Mapping[str, str]
    ) -> tuple[WritingState, Outcome]:
        task = state.task
        agent_programs, errors, parses = self._parse_completions(task, actions)
        functions: dict[str, ast.FunctionDef] = {}
        for source in agent_programs.values():
            functions |= programs.functions(source)
        facts = scoring.collect_facts(functions, self.helpers, task.entry_point, parses=parses)
        program = programs.merge(*agent_programs.values()) if facts.main else ""
        verdict = self._judge(task, program, task.hidden_tests)
        share = verdict.passed / verdict.total if verdict and verdict.total else 0.0
        if self.scale == "unit":
            share = scoring.score_tests(share, task.floor)
            if share and facts.calls and verdict is not None:
                needed = self._find_needed_helpers(task, [*agent_programs.values()], verdict)
                facts = scoring.discount_idle_helpers(facts, needed, self.helpers)
        parts = scoring.reward_components(facts, share, self.scale)
        whole = self._judge(task, program, task.tests) if verdict and verdict.ok else None
        success = whole is not None and whole.ok
        done = success and sum(parts.values()) > scoring.FULL[self.scale] - 1e-9
        agent_feedback: dict[str, str] = {}
        if not done and self.turn + 1 < self.max_turns:
            tests = "" if self.feedback == "plain" else "\n".join(task.public)
            public = self._judge(task, program, tests)
            agent_feedback = self._make_feedback(
                round_feedback.Round(task, agent_programs, errors, facts, public)
            )
        if verdict is not None and judging.failure_reason(
            verdict
        ):  # of hidden tests: no agent hears of it
            why = judging.failure_reason(verdict)
            errors = {agent: errors.get(agent, why) for agent in self.possible_agents}
        last = {
            a: round_feedback.truncate(
                agent_programs[a] or actions[a], round_feedback.MAX_PROGRAM_CHARS
            )
            for a in agent_programs
        }
        paid = {name: worth - state.parts.get(name, 0.0) for name, worth in parts.items()}
        after = replace(state, last=last, feedback=agent_feedback, parts=parts)
        return after, Outcome(team=paid, done=done, errors=errors, success=success)

    def expert(self, agent: str) -> str:
        return self._solution(agent, str)

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        return self._solution(agent, lambda source: players.add_slips(source, rng))

    def observation(self, state: WritingState, agent: str) -> str:
        prompt = self._terse if self.prompt_style == "terse" else self._full_prompt
        return prompt(state, agent)

    # A round

    def _duties(self, task: FunctionTask, agent: str) -> list[str]:
        """The functions that an agent must write."""
        if len(self.possible_agents) == 1:
            return [HELPER, task.entry_point]
        if agent == self.possible_agents[-1]:
            return [task.entry_point]
        return [self.helpers[self.possible_agents.index(agent)]]

    def _parse_completions(
        self, task: FunctionTask, texts: Mapping[str, str]
    ) -> tuple[dict[str, str], dict[str, str], float]:
        """Each agent's program ("" if none can be read), what is wrong with it, and the share of the
        agents whose program parses."""
        written = dict.fromkeys(self.possible_agents, "")
        errors: dict[str, str] = {}
        parses = 0.0
        for agent, text in texts.items():
            duties = self._duties(task, agent)
            try:
                written[agent] = self._extract_program(task, duties, text)
            except programs.NoProgram as error:
                errors[agent] = f"malformed: {error}"
                parses += scoring.ATTEMPT * programs.begins_definition(text, duties)
                continue
            parses += 1.0
            defined = programs.functions(written[agent])
            missing = [name for name in duties if name not in defined]
            left_out = programs.left_out_reason(text)
            if missing:
                errors[agent] = f"missing: no function {' and no function '.join(missing)} in it"
            elif left_out:
                errors[agent] = f"left out: {left_out}"
        return written, errors, parses / len(self.possible_agents)

    def _extract_program(self, task: FunctionTask, duties: Sequence[str], text: str) -> str:
        """The program in an answer, without the functions of other agents; raises ``NoProgram``."""
        others = {*self.helpers, task.entry_point} - {*duties}
        program = programs.remove_definitions(programs.extract(text, duties), others)
        programs.merge(program)  # raises for a program that cannot be merged
        return program

    def _judge(self, task: FunctionTask, program: str, tests: str) -> Verdict | None:
        if not program or not tests:
            return None
        whole = f"{task.setup}\n{tests}".strip()
        return judging.check(program, whole, task.entry_point, task.prelude, self._limits)

    def _judge_without_helper(
        self, task: FunctionTask, helper: str, sources: Sequence[str]
    ) -> Verdict | None:
        """The verdict of the hidden tests on the merged sources with a helper that returns None: a
        mention such as ``0 if aux else 1`` does not use a helper."""
        others = [programs.remove_definitions(source, {helper}) for source in sources]
        program = programs.merge(_IDLE_HELPER.format(name=helper), *others)
        return self._judge(task, program, task.hidden_tests)

    def _find_needed_helpers(
        self, task: FunctionTask, sources: Sequence[str], verdict: Verdict
    ) -> list[str]:
        """The helpers without which the program passes fewer hidden tests."""
        without = {name: self._judge_without_helper(task, name, sources) for name in self.helpers}
        return [name for name, idle in without.items() if not idle or idle.passed < verdict.passed]

    def _tests_need(self, helper: str, main: str) -> bool:
        """Whether a known solution, divided into ``helper`` and ``main``, fails a hidden test when
        its helper returns None."""
        idle = self._judge_without_helper(self.episode.task, HELPER, [helper, main])
        return idle is None or not idle.ok

    def _make_feedback(self, played: round_feedback.Round) -> dict[str, str]:
        """The feedback of each agent."""
        agent_feedback = {}
        for agent in self.possible_agents:
            if self.feedback == "plain":
                text = "improve your program"
            elif self.feedback == "passed":
                text = round_feedback.passed_summary(played)
            elif self.feedback == "diagnostics":
                text = round_feedback.diagnostics(played, agent)
            elif self.reviewer is None:
                text = round_feedback.hints(played, agent)
            else:
                text = self.reviewer(round_feedback.review(played, agent), agent)
            agent_feedback[agent] = round_feedback.truncate(text, round_feedback.MAX_CHARS)
        return agent_feedback

    def _solution(self, agent: str, transform: Callable[[str], str]) -> str:
        """The agent's part of the reference solution, each function passed through ``transform``."""
        task = self.episode.task
        if not task.solution:
            raise NoSolutionError(f"{self.metadata['name']}: {task.name} comes without a solution")
        if len(task.solution) == 2:
            helper, main = task.solution
        else:
            helper, main = players.split_solution(
                task.solution[0], task.entry_point, self._tests_need
            )
        if len(self.possible_agents) == 1:
            return f"{transform(helper)}\n{transform(main)}"
        if agent == self.possible_agents[-1]:
            return transform(players.join_helpers(main, task.entry_point, self.helpers))
        return transform(players.rename_function(helper, self._duties(task, agent)[0]))

    # Prompts

    def _full_prompt(self, state: WritingState, agent: str) -> str:
        task, duties = state.task, self._duties(state.task, agent)
        entry_point, name = task.entry_point, duties[-1]
        names = " and ".join(self.helpers)
        if len(self.possible_agents) == 1:
            role = (
                f"You are a programmer. Write two functions: a helper {HELPER}, which computes a "
                f"part of the problem, and {entry_point}, which calls it."
            )
        elif name == entry_point:
            role = (
                f"You are the main programmer. Write the function {entry_point}. At the same time "
                f"another programmer writes {names}, which you cannot see and must not define. Call "
                "it, use what it returns, and do the rest of the work yourself."
            )
        else:
            role = (
                f"You are a helper. Write the function {name}, which computes a part of the "
                f"problem and returns it. At the same time another programmer, who cannot see your code, "
                f"writes {entry_point}, which calls {name}. Do not define {entry_point}."
            )
        lines = [role, "", "The problem:", "", task.statement.strip(), ""]
        if self.agreed:
            lines += [f"You have agreed that {contract(task)}", ""]
            if len(self.helpers) > 1:
                lines[-1:] = [f"Each of {names} does the same, so that they can be compared.", ""]
        heads = " and ".join(f"def {name}(...)" for name in duties)
        if name == entry_point:
            heads += ", which calls " + " and ".join(f"{helper}(...)" for helper in self.helpers)
        lines += [f"Answer with Python code only: the imports that you need, then {heads}.", ""]
        if agent in state.feedback:
            lines += [
                f"Round {self.turn + 1} of {self.max_turns}. Your last program:",
                f"```python\n{state.last[agent]}\n```",
                f"Feedback on it: {state.feedback[agent]}",
                "",
            ]
        return "\n".join([*lines, "Your answer:"])

    def _terse(self, state: WritingState, agent: str) -> str:
        task = state.task
        round = min(self.turn + 1, self.max_turns)
        lines = [f"code {' '.join(self._duties(task, agent))} {round}/{self.max_turns}"]
        agreed = contract(task) if self.agreed else ""
        lines += [task.terse or f"{task.statement.strip()}\n{agreed}".strip()]
        if agent in state.feedback:
            lines += [f"last\n{state.last[agent]}", state.feedback[agent]]
        return "\n".join([*lines, "answer\n"])


def _has_verdict(task: FunctionTask) -> bool:
    """Whether the sandbox can judge the task's tests."""
    return judging.has_verdict(f"{task.setup}\n{task.tests}".strip(), task.entry_point)

"""# Class-level code (ClassEval)

Several agents write one class. Its methods are divided among them. All write at the same time without
seeing each other's code, and the syntax trees of their answers are merged.

| | |
|---|---|
| id | `classeval_v0` |
| agents | `writer_0`, `writer_1`, ...: `num_agents` (2) |
| observation, action | text |
| rounds | at most `max_turns` (1), simultaneous |
| success | every test passes, public and hidden |

**Actions.** Python: the class with the agent's own methods, or the methods alone, fenced or not.
Imports, helper functions, constants and helper methods in the answer are kept; what the skeleton
itself defines (bases, constants, `__init__`) cannot be changed. If several agents write a method, its
owner's version counts; if several write a helper, the earlier agent's. A method with an empty body
counts as not written.

**Rewards** are the same for all agents; `reward="paper"` uses the published scale of 6. The reward of a
round is the change of the score since the previous round, so an episode's return is the score of its last
round. A score is the sum of these components, each a weight times a share:

| component | weight, unit | weight, paper | share |
|---|---|---|---|
| methods | 0.1 | 2 | methods of the class that somebody wrote / methods |
| tests | 0.9 | 4 | hidden tests passed / hidden tests |
| overlap | -0.05 | -1 | methods that more than one agent wrote / methods |

If an answer contains no readable Python, or the merged class does not compile, tests and overlap are 0.
In the paper's scale, methods is then 0 too. In the unit scale, the methods of the readable answers count in
full, and for an unreadable answer, each of its agent's own methods counts a quarter if the answer begins
to define it.

With `max_turns=1` agents get no feedback, and every test is hidden. **Feedback** in later rounds comes
from the public tests: of each test class the second, fourth, ... test is public and the first, third,
... hidden (ClassEval has a test class for each method and one for the class). An agent reads how many
tests of each method passed, and which tests of its own methods and of the class as a whole failed.

**Arguments.** `num_agents`, `max_turns`, `divide` ("dependency": a method comes after those it
calls, so earlier agents write what later ones build on; "arity": fewest parameters first), `reward`
("unit" or "paper"), `prompt` ("full"), `team_weight`, `time_limit` (seconds for the public tests of a class,
and for the hidden ones), `split` ("train", "test", "all"), `source`
("auto", "hub", "sample", or a file), `on_bad_record` ("error" or "skip": of a
[file](../data.md#files-of-records)), `render_mode`. Classes with fewer methods than agents are left
out.

**Tasks.** `FudanSELab/ClassEval` from the hub or a file of its schema; the sample is 14 classes
written for this project. Tests run in a separate interpreter. If the tests of a class must run in
the program's own interpreter (because they patch it, or catch its logs), the class is left out and the
number of such classes is reported. `LLMZOO_SANDBOX_ALLOW_SHARED=1` includes these classes, but then a
program can forge a pass.

**Version history.** v0: first version. Since then all tests count if none is ever shown, success
requires the public tests too, infos say why a class could not be tested, and the unit scale
has its own weights instead of a sixth of the paper's. Returns before and after these changes are not
comparable.
Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.envs.coding import judging, programs
from llmzoo.envs.coding.class_eval import merging, players, scoring, tasks
from llmzoo.envs.coding.class_eval.tasks import ClassTask, Half
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.envs.tasks import describe_task
from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import Verdict

_MAX_SHOWN = 4  # failed tests
_MAX_TEST_CHARS = 1_200
_MAX_ERROR_CHARS = 300
_MAX_ANSWER_SHOWN = 8_000


@dataclass(frozen=True, slots=True)
class ClassEvalState:
    """The state of an episode. ``public``: the verdict of the public tests on the last merged class. ``solved``:
    whether it passed every test."""

    task: ClassTask
    own: Mapping[str, tuple[str, ...]]
    answers: Mapping[str, str] = field(default_factory=dict)
    errors: Mapping[str, str] = field(default_factory=dict)
    public: Verdict | None = None
    scores: Mapping[str, float] = field(default_factory=lambda: scoring.NOTHING)
    solved: bool = False


class ClassEval(TextEnv[ClassEvalState]):
    """One class for several writers."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "classeval_v0",
        "slow_step": True,
        "team_components": [*scoring.NOTHING],
        "team_and_local": False,
    }

    def __init__(
        self,
        *,
        num_agents: int = 2,
        max_turns: int = 1,
        divide: Literal["dependency", "arity"] = "dependency",
        reward: scoring.Scale = "unit",
        prompt: Literal["full"] = "full",
        team_weight: float = 1.0,
        time_limit: float = 5.0,
        split: str = "train",
        source: str = "auto",
        on_bad_record: Literal["error", "skip"] = "error",
        render_mode: str | None = None,
    ):
        if num_agents < 1:
            raise ConfigError(f"num_agents must be at least 1, got {num_agents}")
        super().__init__(
            [f"writer_{number}" for number in range(num_agents)],
            simultaneous=True,
            max_turns=max_turns,
            team_weight=team_weight,
            render_mode=render_mode,
        )
        self.divide = divide
        self.scale = reward
        self._limits = Limits(time_limit=time_limit)
        loaded = tasks.PUBLIC_SET.load(source, on_bad_record)
        playable = loaded.filter_tasks(_is_playable, num_agents, asked=False)
        self.tasks = playable.task_list(tasks.canonical, split)
        self.fallback = self.tasks.fallback

    def reset_task(self, rng: random.Random, task: int | str | None) -> ClassEvalState:
        chosen = self.tasks.sample(rng) if task is None else self.tasks[task]
        own = tasks.assign_methods(chosen, self.possible_agents, self.divide)
        return ClassEvalState(chosen, own)

    def task_info(self) -> Mapping[str, Any]:
        task = self.episode.task
        info = describe_task(self.tasks, tasks.canonical(task), task)
        return {**info, "fallback": self.fallback}

    def apply(
        self, state: ClassEvalState, actions: Mapping[str, str]
    ) -> tuple[ClassEvalState, Outcome]:
        task = state.task
        parts, program, errors = _merge_completions(state, actions)
        written = merging.count_writers(task, parts)
        begun = {
            name
            for agent in errors
            for name in state.own[agent]
            if programs.begins_definition(actions[agent], [name])
        }
        scores = scoring.score_unmerged(written, begun, self.scale)
        public, solved = None, False
        problems: dict[str, str] = {}
        if program is not None:
            shown: Half | None = None
            hidden = tasks.all_tests(task.tests)
            if self.max_turns > 1:
                shown, hidden = tasks.split_tests(task.tests)
            verdict = scoring.judge(task, program, hidden, self._limits)
            passed = min(1.0, verdict.passed / len(hidden.names))
            every = verdict.ok and passed == 1.0
            if shown is not None and shown.names and (every or self.turn + 1 < self.max_turns):
                public = scoring.judge(task, program, shown, self._limits)
            solved = every and (public is None or public.ok)
            scores = scoring.score(written, passed, self.scale)
            problems = _find_problems(actions, verdict)

        gained = {name: scores[name] - state.scores[name] for name in scores}
        after = replace(
            state,
            answers={agent: truncate(text, _MAX_ANSWER_SHOWN) for agent, text in actions.items()},
            errors=errors,
            public=public,
            scores=scores,
            solved=solved,
        )
        return after, Outcome(
            team=gained, done=solved, errors={**problems, **errors}, success=solved
        )

    def expert(self, agent: str) -> str:
        return players.expert(self.episode.task, self.episode.own[agent])

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        return players.noisy_expert(self.episode.task, self.episode.own[agent], rng)

    # Prompts

    def observation(self, state: ClassEvalState, agent: str) -> str:
        own_methods = ", ".join(state.own[agent])
        lines = [
            f"You are {agent}, one of {len(state.own)} writers of one Python class. All of you write "
            "at the same time, nobody sees what the others write, and the answers are merged."
            if len(state.own) > 1
            else f"You are {agent}, the writer of a Python class.",
            "",
            "The class:",
            "```python",
            state.task.skeleton.rstrip(),
            "```",
            "",
            f"Write these methods and no others: {own_methods}",
        ]
        others = [name for name in state.task.methods if name not in state.own[agent]]
        if others:
            lines += [
                f"The other writers write these, as the class describes them: {', '.join(others)}"
            ]
        lines += [
            "",
            f"Answer with Python code only: the class {state.task.class_name} with your methods, and "
            "the imports that they need.",
        ]
        if self.max_turns > 1:
            lines += ["", f"Round {min(self.turn + 1, self.max_turns)} of {self.max_turns}."]
        if agent in state.answers:
            lines += ["", "Your last answer:", state.answers[agent], "", *_feedback(state, agent)]
        return "\n".join([*lines, "", "Your answer:"])


def _feedback(state: ClassEvalState, agent: str) -> list[str]:
    """The result of the last round: what was wrong with the answers, or the public tests."""
    if agent in state.errors:
        return [f"It could not be used: {state.errors[agent]}."]
    if state.errors:
        return ["Nothing was tested: another writer's answer could not be used."]
    if state.public is None:
        return ["Every test passed." if state.solved else "Not every test passed."]
    public, _ = tasks.split_tests(state.task.tests)
    results = _errors_by_test(state.public)
    suites = dict(state.task.suites)
    counts = []
    for method in state.task.methods:
        names = [n for n in public.names if n.partition(".")[0] == suites[method]]
        passed = sum(results.get(name) == "" for name in names)
        counts.append(f"{method} {passed} of {len(names)}")
    lines = [f"Public tests passed: {', '.join(counts)}."]
    whole = {name.partition(".")[0] for name in public.names} - set(suites.values())
    own_suites = {suites[method] for method in state.own[agent]} | whole
    failed = [
        name
        for name in public.names
        if name.partition(".")[0] in own_suites and results.get(name) != ""
    ]
    sources_of = tasks.test_sources(state.task.tests)
    for name in failed[:_MAX_SHOWN]:
        why = results.get(name) or state.public.error or "it was not reached"
        lines += ["", f"Failed: {name}", truncate(sources_of[name], _MAX_TEST_CHARS)]
        lines += [f"Error: {truncate(why, _MAX_ERROR_CHARS)}"]
    if len(failed) > _MAX_SHOWN:
        lines += ["", f"{len(failed) - _MAX_SHOWN} more of your tests failed."]
    return lines


def _is_playable(task: ClassTask, num_agents: int) -> bool:
    """Whether the sandbox can judge the tests, and every agent has a method to write."""
    judged = judging.has_verdict(f"{task.imports}\n{task.tests}")
    return judged and len(task.methods) >= num_agents


def _merge_completions(
    state: ClassEvalState, texts: Mapping[str, str]
) -> tuple[dict[str, merging.ParsedCompletion], str | None, dict[str, str]]:
    """The parts of the answers, the merged class (None if there is none), and what was wrong."""
    parts: dict[str, merging.ParsedCompletion] = {}
    errors: dict[str, str] = {}
    for agent, text in texts.items():
        try:
            parts[agent] = merging.parse_completion(state.task, text)
        except NoProgram as reason:
            errors[agent] = f"malformed: {reason}"
    if errors:
        return parts, None, errors
    try:
        return parts, merging.merge(state.task, parts, state.own), errors
    except NoProgram as reason:
        return parts, None, dict.fromkeys(texts, f"the merged class: {reason}")


def _find_problems(texts: Mapping[str, str], verdict: Verdict) -> dict[str, str]:
    """What kept the class from being tested, or what was left out of an answer."""
    ended = judging.failure_reason(verdict)
    if ended:
        return dict.fromkeys(texts, ended)
    left_out = {agent: programs.left_out_reason(text) for agent, text in texts.items()}
    return {agent: f"left out: {reason}" for agent, reason in left_out.items() if reason}


def _errors_by_test(verdict: Verdict) -> dict[str, str]:
    """The error of each test, by ``Class.method``; "" if it passed."""
    return {
        ".".join(case.name.split(".")[-2:]): "" if case.passed else case.error or "failed"
        for case in verdict.cases
    }


raw_env = ClassEval
env, parallel_env = make_env_fns(ClassEval)

"""The state of an episode, and the prompts of the coder and the tester. Long pieces are truncated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from llmzoo.envs.coding.contests.scoring import MAX_TEST_CHARS, write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test, format_call, truncate
from llmzoo.envs.coding.contests.trials import WRONG, KnownSolution, Trial

MAX_CODE_SHOWN = 8_000
MAX_VALUE_SHOWN = 300
MAX_TESTS_SHOWN = 5

_CODER = (
    "You are the coder. Write a Python program that solves the problem below. At the same time a "
    "tester, who cannot see your program, writes tests. Then both of you are told where your program "
    "and the tests disagree, and both of you may revise. Either of you may be wrong."
)
_CODER_ALONE = "You are the coder. Write a Python program that solves the problem below."
_TESTER = (
    "You are the tester. Write tests for the problem below: inputs with their correct outputs. At the "
    "same time a coder, who cannot see your tests, writes a program. Then both of you are told where "
    "the program and the tests disagree, and both of you may revise. Either of you may be wrong."
)


CODER, TESTER = "coder_0", "tester_1"


@dataclass(frozen=True, slots=True)
class ContestState:
    """The state of an episode: the last round's answers, their results, and the scores so far.

    ``code``: the coder's program, ready to run. ``public`` and ``agreed``: its results on the public
    tests and on the tester's. ``right``: the programs so far that passed every hidden test.
    ``broke``: how the program was stopped, if it did not run to its end on any public test.

    In the split view the tester's answer is its message; ``notice``: why it was not delivered;
    ``last_program``: the coder's last answer as it was written.
    """

    problem: Problem
    answers: Mapping[str, str] = field(default_factory=dict)
    code: str = ""
    tests: tuple[Test, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)
    public: Trial | None = None
    agreed: Trial | None = None
    right: tuple[KnownSolution, ...] = ()
    broke: str = ""
    scores: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    share: float = 0.0
    notice: str = ""
    last_program: str = ""

    @property
    def passed_examples(self) -> bool:
        """Whether the last program was read and passed every public test."""
        return self.public is not None and self.public.passed == len(self.public.results)

    @property
    def solved(self) -> bool:
        """Whether it passed every hidden test, too."""
        return self.passed_examples and self.share == 1.0


def coder_prompt(contest: ContestState, heading: str, *, alone: bool) -> str:
    problem = contest.problem
    lines = [_CODER_ALONE if alone else _CODER, "", problem.statement, ""]
    if problem.function is not None and problem.starter.strip():
        lines += ["Start from this code:", truncate(problem.starter, MAX_CODE_SHOWN).rstrip(), ""]
    lines += [heading, ""]
    if CODER in contest.errors:
        lines += [f"No program could be read in your last answer: {contest.errors[CODER]}", ""]
    elif contest.public is not None:
        lines += ["Your last program:", "```python", _own(contest, CODER), "```", ""]
        lines += examples_report(problem, contest.public)
    if not alone and contest.answers:
        lines += _comparison_report(contest, "It passes of the tester's tests")
    return "\n".join([*lines, answer_instruction(problem)])


def answer_instruction(problem: Problem) -> str:
    """How the coder is to answer."""
    if problem.function is None:
        form = "It reads standard input and writes to standard output."
    else:
        form = f"It defines the function {problem.function}."
    return f"Answer with the program in a code fence. {form}"


def examples_report(problem: Problem, trial: Trial) -> list[str]:
    """How many examples a program passes, and the first ones that it does not."""
    return _report("It passes of the problem's examples", problem, problem.public, trial)


def tester_prompt(contest: ContestState, heading: str, most: int) -> str:
    problem = contest.problem
    if problem.function is None:
        form = '{"input": "2 3\\n", "output": "5\\n"}, where the input is all that the '
        form += "program reads and the output is all that it prints"
    else:
        form = '{"input": [first argument, second argument], "output": value}, all in JSON'
    lines = [_TESTER, "", problem.statement, "", heading, ""]
    if TESTER in contest.errors:
        lines += [f"Your last answer could not be used: {contest.errors[TESTER]}", ""]
    elif contest.tests:
        written = truncate(write_tests(contest.tests, problem), MAX_CODE_SHOWN)
        lines += ["Your last tests:", written, ""]
    if contest.answers:
        lines += _comparison_report(contest, "The coder's program passes of your tests")
    lines += [
        f"Answer with a JSON list of up to {most} tests: {form}. No input and no output may be "
        f"longer than {MAX_TEST_CHARS} characters. The examples above do not count as tests. Write tests that "
        "catch a wrong program which passes the examples."
    ]
    return "\n".join(lines)


def _comparison_report(contest: ContestState, title: str) -> list[str]:
    """What both agents are told about where program and tests differ."""
    if contest.agreed is not None:
        return _report(title, contest.problem, contest.tests, contest.agreed)
    missing = []
    if CODER in contest.errors:
        missing.append("the coder's answer had no program")
    if TESTER in contest.errors:
        missing.append("the tester's answer had no test that counts")
    return [f"Nothing could be compared: {' and '.join(missing)}.", ""]


def _report(title: str, problem: Problem, tests: tuple[Test, ...], trial: Trial) -> list[str]:
    """How many tests passed, and the first ones that did not."""
    if not tests:
        return []
    lines = [f"{title}: {trial.passed} of {len(tests)}."]
    failed = [pair for pair in zip(tests, trial.results, strict=True) if not pair[1].passed]
    for test, result in failed[:MAX_TESTS_SHOWN]:
        if problem.function is None:
            lines += [f"- input:\n{_short(test.input)}"]
        else:
            lines += [f"- {_short(format_call(problem.function, test))}"]
        lines += [f"  expected:\n{_short(test.output)}"]
        if result.got.strip():
            lines += [f"  the program's answer:\n{_short(result.got)}"]
        if result.error not in WRONG:  # a crash, a limit; who is wrong otherwise is open
            lines += [f"  the program ended with: {_short(result.error)}"]
    return [*lines, ""]


def _own(contest: ContestState, agent: str) -> str:
    return truncate(contest.answers[agent].rstrip(), MAX_CODE_SHOWN)


def _short(text: str) -> str:
    return truncate(text.rstrip("\n"), MAX_VALUE_SHOWN)

"""Scripted coders and testers: experts, and noisy experts who make mistakes.

In the split view the tester's expert writes a solution of the problem that it reads, in parts where it is
longer than a message: ``1/2|...|``. The coder's expert puts the parts together; its own last answer holds those
that it has. Without a part it guesses from the examples.
"""

from __future__ import annotations

import random
import re

from llmzoo.envs.coding.contests import guesses, halves, targets, trials
from llmzoo.envs.coding.contests.scoring import write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.errors import NoSolutionError
from llmzoo.sandbox.limits import Limits

# a slip whose text is not in the program changes nothing
_SLIPS = (
    ("+ 1", "+ 2"),
    ("- 1", ""),
    ("range(1, ", "range("),
    ("<=", "<"),
    (" < ", " <= "),
    ("min(", "max("),
    ("print(", "print('Answer:', "),
    ("return ", "return None and "),
    ("input()", "int(input())"),
    (":\n", "\n"),
)


def expert_program(problem: Problem, limits: Limits) -> str:
    """A known solution that passes every test."""
    return f"```python\n{_known_source(problem, limits).source.strip()}\n```"


def expert_tests(problem: Problem, limits: Limits, most: int) -> str:
    """At most ``most`` tests that catch as many wrong programs as possible."""
    goal = targets.find_targets(problem, _known_source(problem, limits), limits, most)
    return write_tests(goal.tests, problem)


def noisy_program(problem: Problem, rng: random.Random) -> str:
    """A solution with a slip now and then: off by one, a crash, a wrong format, a half answer."""
    if not problem.solutions:
        return f"```python\nprint({problem.public[0].output if problem.public else 0!r})\n```"
    solution = problem.solutions[0].strip()
    kind = rng.randrange(4)
    if kind == 0:
        before, after = rng.choice([slip for slip in _SLIPS if slip[0] in solution] or _SLIPS)
        solution = solution.replace(before, after, 1)
    elif kind == 1:
        solution = f"{solution}\nraise ValueError('not finished')"
    elif kind == 2:
        return f"I would solve it like this:\n\n{solution[: len(solution) // 2]}"
    return f"Here is my program.\n\n```python\n{solution}\n```"


def noisy_tests(problem: Problem, rng: random.Random, most: int) -> str:
    """Some tests, a few of them with wrong outputs, copied from the problem, or never finished."""
    chosen = rng.sample(problem.hidden, min(rng.randint(1, most), len(problem.hidden)))
    wrong = [rng.choice(problem.hidden).output if rng.random() < 0.3 else t.output for t in chosen]
    tests = tuple(Test(t.input, output) for t, output in zip(chosen, wrong, strict=True))
    kind = rng.randrange(4)
    if kind == 0 and problem.public:
        tests = problem.public
    if kind == 1:
        return "\n\n".join(f"Input:\n{test.input}\nOutput:\n{test.output}" for test in tests)
    written = write_tests(tests, problem)
    return written[: len(written) // 2] if kind == 2 else f"My tests:\n\n{written}"


# The split view

_PART = re.compile(r"(\d{1,3})/(\d{1,3})\|(.*)\|", re.DOTALL)


def expert_message(problem: Problem, limits: Limits, limit: int, turn: int) -> str:
    """A part of a known solution, another one each turn."""
    return message_part(_known_source(problem, limits).source.strip(), limit, turn)


def message_part(source: str, limit: int, turn: int) -> str:
    """The message of ``turn``, from 0: the program, or a part of it, in at most ``limit`` characters."""
    room = limit - len("100/100||")
    if room < 1:
        return "-"
    count = -(-len(source) // room)
    at = turn % count
    return f"{at + 1}/{count}|{source[at * room : (at + 1) * room]}|"


def assemble_program(problem: Problem, heard: str, own: str, turn: int) -> str:
    """The program told so far: ``own``, the agent's last answer, and the part that it has heard; a guess if it
    has heard none."""
    found = _PART.fullmatch(heard)
    if found is None:
        return f"```python\n{guesses.guess(problem, turn) or '-'}\n```"
    before = "" if int(found[1]) == 1 else own.removeprefix("```python\n").removesuffix("\n```")
    return f"```python\n{before}{found[3]}\n```"


def noisy_message(problem: Problem, limit: int, turn: int, rng: random.Random) -> str:
    """A part of a solution, now and then with a slip; the beginning of the statement; or a complaint."""
    if not problem.solutions:
        return halves.statement_without_examples(problem)[:limit]
    solution = problem.solutions[0].strip()
    kind = rng.randrange(6)
    if kind == 0:
        return halves.statement_without_examples(problem)[:limit]
    if kind == 1:
        return "I do not understand it."
    before, after = rng.choice([slip for slip in _SLIPS if slip[0] in solution] or _SLIPS)
    return message_part(solution.replace(before, after, 1) if kind == 2 else solution, limit, turn)


def noisy_assembly(problem: Problem, heard: str, own: str, turn: int, rng: random.Random) -> str:
    """The assembled program, now and then with a crash, a slip or only half of it; or a guess."""
    answer = assemble_program(problem, heard if rng.randrange(6) else "-", own, turn)
    kind = rng.randrange(8)
    if kind == 0:
        return answer[: len(answer) // 2]
    if kind == 1:
        return answer.removesuffix("\n```") + "\nraise ValueError('not finished')\n```"
    before, after = rng.choice([slip for slip in _SLIPS if slip[0] in answer] or _SLIPS)
    return answer.replace(before, after, 1) if kind == 2 else answer


def _known_source(problem: Problem, limits: Limits) -> trials.KnownSolution:
    known = trials.reference_solution(problem, limits)
    if known is None:
        raise NoSolutionError("this problem has no known solution that passes its tests")
    return known

"""Attacks on propose_v0: hints, trivial, huge and unsolvable puzzles, and answers that copy or guess.

A score is the mean return of the attacking agent, beside a noisy expert in the other one; it must stay below
what the noisy expert earns in that agent. The two agents together are in ``_colluding``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import llmzoo
from llmzoo.envs.base import TextEnv

from .episode import returns
from .scored import Scored

Act = Callable[[TextEnv], str]
TASKS = 200
FORMS: dict[str, dict[str, Any]] = {
    "sum": {},
    "countdown": {"kind": "countdown"},
    "sum, pairs": {"difficulty": "pairs", "prompt": "terse"},
}
PROPOSER, SOLVER = "proposer_0", "solver_1"


def attacks() -> Iterator[Scored]:
    for form, settings in FORMS.items():
        env = llmzoo.make("propose_v0", split="test", **settings)
        for agent, known in ((PROPOSER, PROPOSALS), (SOLVER, ANSWERS)):
            honest = _mean(env, agent, None)
            for name, act in known.items():
                score = _mean(env, agent, act)
                yield Scored(
                    env="propose_v0", attack=f"{agent}: {name}, {form}", score=score, honest=honest
                )
    yield from _colluding()


def _mean(env: Any, agent: str, act: Act | None) -> float:
    """The mean return of ``agent``; None: of a noisy expert."""
    return _means(env, {agent: act} if act else {})[agent]


def _means(env: Any, acts: dict[str, Act]) -> dict[str, float]:
    total = dict.fromkeys(env.possible_agents, 0.0)
    for task in range(TASKS):
        rng = random.Random(task)

        def answer(agent: str, rng: random.Random = rng) -> str:
            raw = env.unwrapped
            return acts[agent](raw) if agent in acts else raw.noisy_expert(agent, rng)

        for agent, value in returns(env, task, answer).items():
            total[agent] += value / TASKS
    return total


def _colluding() -> Iterator[Scored]:
    """Both agents agree on the easiest puzzle, and the solver fails on purpose three times of four.

    With ``absolute_zero`` the two parts sum to 1 wherever an answer is right, so that the pair together
    gains nothing over honest play, in which some answers are right; and the solver loses.
    """
    env = llmzoo.make("propose_v0", split="test")
    paid = _means(env, {PROPOSER: _easiest, SOLVER: _fails_on_purpose})
    expert: dict[str, Act] = {agent: lambda env, agent=agent: env.expert(agent) for agent in paid}
    honest = _means(env, expert)
    both = sum(paid.values())
    yield Scored(
        env="propose_v0",
        attack="both agents: the solver fails on purpose, their sum",
        score=both,
        honest=sum(honest.values()),
        limit=sum(honest.values()) + 1e-9,
    )
    yield Scored(
        env="propose_v0",
        attack="both agents: the solver fails on purpose, the solver",
        score=paid[SOLVER],
        honest=_mean(env, SOLVER, None),
    )


def _says(text: str) -> Act:
    return lambda env: text


def _numbers(env: TextEnv) -> tuple[int, ...]:
    return env.episode.task.rules.numbers


def _countdown(env: TextEnv) -> bool:
    return env.kind == "countdown"


def _easiest(env: TextEnv) -> str:
    """The two smallest numbers, added."""
    a, b, *_ = _numbers(env)
    return f"{a} {b} = {a + b}" if _countdown(env) else f"{a} + {b}"


def _with_answer(env: TextEnv) -> str:
    """A sum with its answer, in one line."""
    a, b, *_ = _numbers(env)
    return f"{a} * {b} = {a * b}, made by {a} * {b}" if _countdown(env) else f"{a} * {b} = {a * b}"


def _in_words(env: TextEnv) -> str:
    """The answer in words behind the puzzle."""
    return f"{_easiest(env)} (the answer is {sum(_numbers(env)[:2])})"


def _identity(env: TextEnv) -> str:
    a, b, c, *_ = _numbers(env)
    return f"{a} = {a}" if _countdown(env) else f"({a} + {b} - {b} - {a}) * {c}"


def _huge(env: TextEnv) -> str:
    a, b, *_ = _numbers(env)
    return f"{a} {b} = {9**9}" if _countdown(env) else f"{a} ** {b} ** {b}"


def _unsolvable(env: TextEnv) -> str:
    """A target that nothing makes; a sum that has no value."""
    a, b, *_ = _numbers(env)
    return f"{a} {b} = 9998" if _countdown(env) else f"{a} / ({b} - {b})"


def _set_before(env: TextEnv) -> str:
    """An earlier puzzle, with its terms in another order where there are several."""
    text = env.episode.task.earlier[0].text()
    if _countdown(env):
        left, target = text.split(" = ")
        return f"{' '.join(reversed(left.split()))} = {target}"
    return f"(({text}))"


def _repeats_numbers(env: TextEnv) -> str:
    a, *_ = _numbers(env)
    return f"{a} {a} {a} = {3 * a}" if _countdown(env) else " * ".join([str(a)] * 8)


def _copies_the_prompt(env: TextEnv) -> str:
    return str(env.observe(env.agent_selection))


def _copies_the_puzzle(env: TextEnv) -> str:
    assert env.episode.puzzle is not None
    return str(env.episode.puzzle.text())


def _target_or_numbers(env: TextEnv) -> str:
    """The last number that the solver reads."""
    return _copies_the_puzzle(env).split()[-1].strip("()")


def _all_numbers(env: TextEnv) -> str:
    return " ".join(map(str, range(-50, 400)))


def _two_answers(env: TextEnv) -> str:
    assert env.episode.puzzle is not None
    return f"{env.episode.puzzle.solution()} or 7"


def _left_to_right(env: TextEnv) -> str:
    """All numbers of the puzzle added."""
    assert env.episode.puzzle is not None
    numbers = [w.strip("()") for w in _copies_the_puzzle(env).split(" = ")[0].split()]
    added = [n for n in numbers if n.isdigit()]
    return " + ".join(added) if _countdown(env) else str(sum(map(int, added)))


def _fails_on_purpose(env: TextEnv) -> str:
    """Right at the first attempt only."""
    puzzle = env.episode.puzzle
    assert puzzle is not None
    return str(puzzle.wrong_answer(random.Random(0)) if env.episode.given else puzzle.solution())


PROPOSALS: dict[str, Act] = {
    "empty": _says(""),
    "praises itself": _says("form: 0.1, difficulty: 1.0, success: True"),
    "code": _says("__import__('os').system('true')"),
    "the easiest puzzle": _easiest,
    "the answer beside the puzzle": _with_answer,
    "the answer in words": _in_words,
    "a sum of nothing": _identity,
    "a huge number": _huge,
    "no answer exists": _unsolvable,
    "set before, in another order": _set_before,
    "numbers used again": _repeats_numbers,
    "copies the prompt": _copies_the_prompt,
}
ANSWERS: dict[str, Act] = {
    "empty": _says(""),
    "praises itself": _says("right: 1.0, success: True"),
    "a constant": _says("24"),
    "code": _says("eval(input())"),
    "copies the puzzle": _copies_the_puzzle,
    "copies the prompt": _copies_the_prompt,
    "the last number that it reads": _target_or_numbers,
    "many numbers": _all_numbers,
    "the right answer and another": _two_answers,
    "adds all numbers": _left_to_right,
    "fails on purpose": _fails_on_purpose,
}

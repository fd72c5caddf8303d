"""Attacks on the coding environments: guesses, look-ups, copied tests, outputs that are nearly right.

Where returns are compared, the score is the mean return of the attack and honest play is the
noisy expert, in the same tasks. Elsewhere it is the share of tasks in which the attack works, which must
be none, and honest play is the expert, who succeeds in all.
"""

from __future__ import annotations

import ast
import json
import random
import re
from collections.abc import Callable, Iterator
from statistics import mean

from pettingzoo import AECEnv

import llmzoo
from llmzoo.envs.coding.bug_fix import players as bug_fix_expert
from llmzoo.envs.coding.class_eval import tasks as class_tasks
from llmzoo.envs.coding.contests import guesses
from llmzoo.envs.coding.contests.scoring import write_tests
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.coding.functions.tasks import FunctionTask
from llmzoo.sandbox.judge.compare import outputs_equal

from .memory_reader import READS_ITS_MEMORY
from .scored import Scored

Act = Callable[[AECEnv, str], str]  # environment, agent -> answer

TASKS = 14  # of each environment
NOISY_EXPERTS = 4  # rounds of noisy expert play
NONE = 1e-9  # a share that must not occur once


def attacks() -> Iterator[Scored]:
    yield from _functions()
    yield from _contests()
    yield from _split_contests()
    yield from _outputs()
    yield from _bug_fix()
    yield from _classes()


def _against_noisy_experts(
    name: str, env: AECEnv, one_agent: str, acts: dict[str, Act]
) -> Iterator[Scored]:
    """A row for each attack, which plays every agent; other agents' returns are the team's."""
    rng = random.Random(0)
    honest = mean(
        _return(env, task, one_agent, lambda env, agent: env.unwrapped.noisy_expert(agent, rng))
        for task in range(TASKS)
        for _ in range(NOISY_EXPERTS)
    )
    for attack, act in acts.items():
        score = mean(_return(env, task, one_agent, act) for task in range(TASKS))
        yield Scored(env=name, attack=attack, score=score, honest=honest)


def _return(env: AECEnv, task: int, one_agent: str, act: Act) -> float:
    """What ``agent`` is paid in one round."""
    env.reset(seed=task, options={"task": task})
    for agent in list(env.agents):
        env.step(act(env, agent))
    return sum(env.infos[one_agent]["reward_components"].values())


# Two writers


def _functions() -> Iterator[Scored]:
    acts: dict[str, Act] = {
        "aux used, a constant returned": lambda env, agent: _writes(env, agent, "0"),
        "a value of the right type": lambda env, agent: _writes(env, agent, _typed(env)),
        "the first example's value": lambda env, agent: _writes(env, agent, _examples(env)[0][1]),
        "the examples by heart": _by_heart,
        "the argument returned": lambda env, agent: _writes(env, agent, "args[0]"),
        "prose": lambda env, agent: "First I would write the helper.",
        "headers without a colon": lambda env, agent: _writes(env, agent, "0").replace("):", ")"),
    }
    for id, source in (
        ("coop_functions_v0", "sample"),
        ("coop_functions_v0", "generator"),
        ("humaneval_v0", "sample"),
        ("mbpp_v0", "sample"),
    ):
        env = llmzoo.make(id, source=source, split="all", time_limit=20.0)
        yield from _against_noisy_experts(f"{id}, {source}", env, "main_1", acts)


def _writes(env: AECEnv, agent: str, value: str, before: str = "") -> str:
    """A helper that returns 0, and a main function that calls it and returns ``value``."""
    if agent != "main_1":
        return "def aux(*args):\n    return 0"
    name = env.unwrapped.episode.task.entry_point
    return f"def {name}(*args):\n{before}    return {value} if aux(*args) == 0 else None"


def _by_heart(env: AECEnv, agent: str) -> str:
    known = [f"    if args == {args}:\n        return {value}\n" for args, value in _examples(env)]
    return _writes(env, agent, _typed(env), "".join(known))


def _typed(env: AECEnv) -> str:
    value = ast.literal_eval(_examples(env)[0][1])
    return repr(type(value)())


def _examples(env: AECEnv) -> list[tuple[str, str]]:
    """The arguments, as a tuple, and the value of each public test."""
    task: FunctionTask = env.unwrapped.episode.task
    pairs = []
    for text in task.public:
        (statement,) = ast.parse(text).body
        call, value = statement.test.left, statement.test.comparators[0]
        args = "".join(f"{ast.unparse(arg)}, " for arg in call.args)
        pairs.append((f"({args})", ast.unparse(value)))
    return pairs


# Contests


def _contests() -> Iterator[Scored]:
    env = llmzoo.make("contests_v0", split="all", max_turns=1)
    tests: dict[str, Callable[[Problem], list[Test]]] = {
        "the shortest hidden test": lambda p: sorted(p.hidden, key=lambda t: len(t.input))[:1],
        "the examples": lambda p: list(p.public),
        "the examples in other spellings": _respelled,
        "right inputs, wrong outputs": lambda p: [Test(t.input, '"WRONG"') for t in p.hidden[:5]],
    }

    def writing(choose: Callable[[Problem], list[Test]]) -> Act:
        def act(env: AECEnv, agent: str) -> str:
            problem = env.unwrapped.episode.problem
            return write_tests(tuple(choose(problem)[:5]), problem) if agent == "tester_1" else ""

        return act

    testers = {attack: writing(choose) for attack, choose in tests.items()}
    alone = {**testers, "a copy of the prompt": lambda env, agent: str(env.observe(agent))}
    yield from _local(env, "tester_1", alone)
    coders: dict[str, Act] = {
        "the first example's output": lambda env, agent: _prints(env, first=True),
        "nothing printed": lambda env, agent: _prints(env, first=False),
    }
    yield from _local(env, "coder_0", coders)
    score = mean(_succeeds_without_examples(env, task) for task in range(TASKS))
    attack = "success, wrong on every example"
    yield Scored(env="contests_v0", attack=attack, score=score, honest=1.0, limit=NONE)


def _split_contests() -> Iterator[Scored]:
    """The coder of the split view beside a tester who repeats the statement."""

    def beside(code: Act) -> Act:
        return lambda env, agent: _tells(env) if agent == "tester_1" else code(env, agent)

    acts: dict[str, Act] = {
        "the examples by heart": lambda env, agent: _examples_by_heart(env),
        "the first example's output": lambda env, agent: _prints(env, first=True),
        "nothing printed": lambda env, agent: _prints(env, first=False),
        "a guess from the examples": lambda env, agent: guesses.guess(_problem(env), 0) or "",
    }
    env = llmzoo.make("contests_v0", view="split", split="all")
    split = {attack: beside(act) for attack, act in acts.items()}
    yield from _against_noisy_experts("contests_v0, split view", env, "coder_0", split)


def _problem(env: AECEnv) -> Problem:
    return env.unwrapped.episode.problem


def _tells(env: AECEnv) -> str:
    return _problem(env).statement[: env.unwrapped.message_chars]


def _examples_by_heart(env: AECEnv) -> str:
    problem = _problem(env)
    if problem.function is None:
        known = {test.input: test.output for test in problem.public}
        return f"import sys\nprint({known!r}.get(sys.stdin.read(), ''))"
    pairs = [(json.loads(test.input), json.loads(test.output)) for test in problem.public]
    return (
        f"def {problem.function}(*args):\n    for known, value in {pairs!r}:\n"
        "        if list(args) == known:\n            return value"
    )


def _local(env: AECEnv, one_agent: str, acts: dict[str, Act]) -> Iterator[Scored]:
    """One agent beside one that says nothing; the noisy expert likewise."""
    rng = random.Random(0)

    def only(act: Act) -> Act:
        return lambda env, agent: act(env, agent) if agent == one_agent else ""

    noisy_expert = only(lambda env, agent: env.unwrapped.noisy_expert(agent, rng))
    tasks = range(0, 4 * TASKS, 4)  # of every kind
    honest = mean(
        _return(env, task, one_agent, noisy_expert) for task in tasks for _ in range(NOISY_EXPERTS)
    )
    for attack, act in acts.items():
        score = mean(_return(env, task, one_agent, only(act)) for task in tasks)
        yield Scored(env=f"contests_v0, {one_agent}", attack=attack, score=score, honest=honest)


def _respelled(problem: Problem) -> list[Test]:
    """The first example: more behind it, zeros and signs before its numbers, digits of full width."""
    wide = str.maketrans("0123456789", "０１２３４５６７８９")
    shown = problem.public[0]
    spelled = [
        f"{shown.input.rstrip()} 0",
        f"{shown.input.rstrip()}\nmore",
        re.sub(r"\b\d+", r"0\g<0>", shown.input, count=1),
        re.sub(r"(?<![\w-])\d+", r"+\g<0>", shown.input, count=1),
        shown.input.translate(wide),
    ]
    if problem.function is not None:  # numbers of JSON have one spelling with a fraction
        spelled = [re.sub(r"\b\d+\b", r"\g<0>.0", shown.input, count=1)]
    return [Test(given, shown.output) for given in spelled]


def _prints(env: AECEnv, *, first: bool) -> str:
    problem: Problem = env.unwrapped.episode.problem
    output = problem.public[0].output.strip() if first else ""
    if problem.function is None:
        return f"print({output!r})"
    return f"def {problem.function}(*args):\n    return {json.loads(output) if output else None!r}"


def _succeeds_without_examples(env: AECEnv, task: int) -> float:
    """A known solution that is wrong on the examples."""
    env.reset(seed=0, options={"task": task})
    problem: Problem = env.unwrapped.episode.problem
    known = problem.solutions[0]
    if problem.function is None:
        shown = [test.input.split() for test in problem.public]
        program = (
            f"import io, sys\ngiven = sys.stdin.read()\nif given.split() in {shown!r}:\n"
            f"    print('WRONG')\nelse:\n    sys.stdin = io.StringIO(given)\n    exec({known!r}, {{}})"
        )
    else:
        shown = [json.loads(test.input) for test in problem.public]
        name = problem.function
        program = (
            f"{known}\nright = {name}\ndef {name}(*args):\n"
            f"    return 'WRONG' if list(args) in {shown!r} else right(*args)"
        )
    env.step(program)
    env.step("")
    assert env.infos["coder_0"]["hidden_success"], problem.name
    return float(env.infos["coder_0"]["success"])


# Outputs


def _outputs() -> Iterator[Scored]:
    rng = random.Random(0)
    long = [str(rng.randrange(10 ** (size - 1), 10**size)) for size in (14, 20, 100, 310, 400)]
    forged: dict[str, Callable[[str], str]] = {
        "1e999 for a long integer": lambda text: "1e999",
        "inf for a long integer": lambda text: "inf",
        "seven digits and a point": lambda text: f"{text[:7]}{'0' * (len(text) - 7)}.0",
        "seven digits and an exponent": lambda text: f"{text[0]}.{text[1:7]}e{len(text) - 1}",
    }
    for attack, forge in forged.items():
        score = mean(outputs_equal(text, forge(text), "tokens") for text in long)
        yield Scored(env="stdio", attack=attack, score=score, honest=1.0, limit=NONE)


# Bug fixing


def _bug_fix() -> Iterator[Scored]:
    env = llmzoo.make("bug_fix_v0", split="all", mutations=1)
    acts: dict[str, Act] = {
        "the broken program": lambda env, agent: env.unwrapped.episode.task.broken_source,
        "the examples by heart": lambda env, agent: bug_fix_expert.memorize_public_tests(
            env.unwrapped.episode.task
        ),
        "line 2 is wrong, a constant repairs it": _line_2,
    }
    yield from _against_noisy_experts("bug_fix_v0", env, "locator_0", acts)
    score = mean(_shows_hidden_calls(env, task) for task in range(0, 90 * TASKS, 90))
    attack = "hidden calls read from memory and returned"
    yield Scored(env="bug_fix_v0", attack=attack, score=score, honest=1.0, limit=NONE)


def _line_2(env: AECEnv, agent: str) -> str:
    name = env.unwrapped.episode.task.program.name
    if agent == "locator_0":
        return f"function: {name}, line: 2"
    return f"def {name}(*args):\n    return 0"


def _shows_hidden_calls(env: AECEnv, task: int) -> float:
    """Whether what a program returns from its memory shows a hidden argument to the agents."""
    env.reset(seed=0, options={"task": task})
    program = env.unwrapped.episode.task.program
    before = str(env.observe("fixer_1"))
    env.step("")
    env.step(READS_ITS_MEMORY.replace("NAME", program.name))
    after = str(env.observe("fixer_1"))
    public, hidden = (
        [json.dumps(arg) for _, args, _ in calls for arg in args] for calls in program.calls()
    )
    known = "\n".join([before, program.source, *public])
    secret = [text for text in hidden if len(text) > 5 and text not in known]
    return float(any(text in after for text in secret))


# Classes


def _classes() -> Iterator[Scored]:
    env = llmzoo.make("classeval_v0", source="sample", split="all")
    bodies = ("return 0", "return []", "return True", "x = 1")
    acts: dict[str, Act] = {
        f"methods that say {body}": lambda env, agent, body=body: _stubs(env, agent, body)
        for body in bodies
    }
    acts["the skeleton"] = lambda env, agent: env.unwrapped.episode.task.skeleton
    acts["headers without a colon"] = lambda env, agent: _stubs(env, agent, "return 0").replace(
        "):", ")"
    )
    yield from _against_noisy_experts("classeval_v0", env, "writer_0", acts)


def _stubs(env: AECEnv, agent: str, body: str) -> str:
    episode = env.unwrapped.episode
    task = episode.task
    known = class_tasks.class_methods(class_tasks.find_class(task.reference, task.class_name))
    methods = [
        f"    def {name}({ast.unparse(known[name].args)}):\n        {body}"
        for name in episode.own[agent]
    ]
    return "\n".join([f"class {task.class_name}:", *methods])

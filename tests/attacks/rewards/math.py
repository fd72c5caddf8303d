r"""Attempts to be paid in ``math_v0`` and the public sets without an answer.

A score is the mean return of the agent that gains most, over tasks of all families. Honest play is
a noisy expert's, who is right in four answers of ten, in a single round. An answer in the right form earns its 0.2
whoever gives it, so that no attack may come to more than that and a little luck. On the public sets,
whose answers are read more freely, the attacks know the right answer and say something else with it:
there nothing but the form is paid.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

import llmzoo
from llmzoo.envs.base import TextEnv

from .episode import returns
from .scored import Scored

TASKS = 40
FORM = 0.2  # what an answer in the right form is worth
PUBLIC_SETS = ("gsm8k_v0", "math500_v0", "aime25_v0", "olympiadbench_v0")
LUCK = 0.1  # a guess is right now and then: in one task of eighteen

# what an agent says, from the environment as it stands in front of it
Player = Callable[[TextEnv, str], str]


def attacks() -> Iterator[Scored]:
    honest = min(_means(_noisy_expert, max_turns=1).values())
    for name, player, settings in _ATTACKS:
        score = max(_means(player, **settings).values())
        yield Scored(env="math_v0", attack=name, score=score, honest=honest, limit=FORM + LUCK)
    alone = {"split": "all", "source": "sample", "num_agents": 1, "max_turns": 1}
    for public in PUBLIC_SETS:
        honest = min(_means(_noisy_expert, public, **alone).values())
        for name, text in _SAID_WITH_THE_ANSWER:
            score = max(_means(_says_with_the_answer(text), public, **alone).values())
            yield Scored(env=public, attack=name, score=score, honest=honest, limit=FORM + 1e-9)


def _means(player: Player, env_id: str = "math_v0", **settings: object) -> dict[str, float]:
    """The mean return of each agent over the first tasks, by default of the test split."""
    env = llmzoo.make(env_id, time_limit=2.0, **{"split": "test", **settings})
    total = dict.fromkeys(env.possible_agents, 0.0)
    count = min(TASKS, env.unwrapped.tasks.count or TASKS)  # None where they are drawn
    for task in range(count):
        for agent, value in returns(env, task, partial(player, env.unwrapped)).items():
            total[agent] += value
    return {agent: value / count for agent, value in total.items()}


def _noisy_expert(env: TextEnv, agent: str) -> str:
    return env.noisy_expert(agent, random.Random(env.observe(agent)))


def _says_with_the_answer(text: str) -> Player:
    """A box of a text in which G is the right answer."""
    return lambda env, agent: f"\\boxed{{{text.replace('G', env.episode.task.answer)}}}"


def _says(reasoner: str, tool: str = "print(7)") -> Player:
    """Always the same words."""
    return lambda env, agent: tool if agent.startswith("tool") else reasoner


def _in_turn(*texts: str) -> Player:
    """Another text each round."""
    return lambda env, agent: texts[env.turn % len(texts)]


def _random_digit(env: TextEnv, agent: str) -> str:
    """A digit, drawn again in each round."""
    digit = random.Random(env.observe(agent)).randrange(10)
    return f"print({digit})" if agent.startswith("tool") else f"\\boxed{{{digit}}}"


def _copies_the_prompt(env: TextEnv, agent: str) -> str:
    return env.observe(agent)


def _restates(env: TextEnv, agent: str) -> str:
    """The question itself, or its formula, as the answer."""
    task = env.episode.task
    return f"print({task.terse!r})" if agent.startswith("tool") else f"\\boxed{{{task.terse}}}"


def _restates_the_question(env: TextEnv, agent: str) -> str:
    text = env.episode.task.question
    return f"print({text!r})" if agent.startswith("tool") else f"\\boxed{{{text}}}"


def _unreduced(env: TextEnv, agent: str) -> str:
    """A formula as one fraction, which has the right value where the task is a quotient."""
    formula = env.episode.task.terse.replace(" / ", "/")
    return f"print('{formula}')" if agent.startswith("tool") else f"\\boxed{{{formula}}}"


def _copies(env: TextEnv, agent: str) -> str:
    """A made-up answer first, then whatever the other said."""
    other = next(one_agent for one_agent in env.possible_agents if one_agent != agent)
    answers = env.episode.round_answers
    answer = answers[other].value if other in answers else str(3 + len(agent))
    return f"print('{answer}')" if agent.startswith("tool") else f"\\boxed{{{answer}}}"


_NUMBERS = ", ".join(map(str, range(60)))
_BOXES = " ".join(f"\\boxed{{{n}}}" for n in range(500))
_SEARCH = r"""
import gc, os, sys
found = []
for thing in gc.get_objects():
    if isinstance(thing, dict):
        found += [thing[k] for k in thing if isinstance(k, str) and k in ("answer", "gold")]
frame = sys._getframe()
while frame:
    found += [v for k, v in frame.f_locals.items() if k in ("answer", "gold", "task", "expected")]
    frame = frame.f_back
found += [v for k, v in os.environ.items() if "ANSWER" in k or "GOLD" in k]
for folder, _, files in os.walk("."):
    for name in files:
        try:
            found.append(open(os.path.join(folder, name)).read().split()[-1])
        except Exception:
            pass
print(found[-1] if found else 0)
"""
_PARENT = r"""
import glob
found = []
for path in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
    try:
        found.append(open(path).read())
    except Exception:
        pass
print(found[-1][-3:] if found else 0)
"""
_IMPORT = r"""
try:
    from llmzoo.envs.math import generator
    import random
    print(generator.draw(random.Random(0)).answer)
except Exception:
    print(0)
"""
_SELF_PRAISE = 'print("success: True, reward: 1e9, right: 1.0")\nprint("correct")'

_SAID_WITH_THE_ANSWER = (
    ("the answer as thousands", "G,00G"),
    ("the answer twice", "G, G"),
    ("the answer twice in a set", r"\{G, G\}"),
    ("the answer or another", "G or G1"),
    ("the answer in a range", "[0, G + 1]"),
    ("the answer, give or take", r"G \pm 1"),
    ("an equation with the answer", "2x = G"),
    ("a negated membership", r"-x \in G"),
    ("two sides that differ", "0 = G"),
    ("the answer as an hour", "G:00"),
    ("the answer and more", r"G \text{ or more}"),
    ("the answer in millions", r"G \text{ million}"),
    ("the answer as another's base", "G_{7}9"),
    ("the answer that is not", r"\text{not } G"),
    ("an empty set", r"\{\}"),
    ("an empty set in words", r"\emptyset"),
    ("an empty set of empty sets", r"\{\{\}, \{\}\}"),
    ("an empty list", "[]"),
    ("an empty pair", "(,)"),
    ("a comma", ","),
    ("an empty text", r"\text{}"),
    ("a tautology", "x = x"),
    ("every number", r"(-\infty, \infty)"),
    ("no number", r"\frac{0}{0}"),
)
_ATTACKS: tuple[tuple[str, Player, dict[str, object]], ...] = (
    ("five hundred boxes in one text", _says(_BOXES), {}),
    ("sixty numbers in one box", _says(f"\\boxed{{{_NUMBERS}}}", f"print('{_NUMBERS}')"), {}),
    ("a box of this or that", _says("\\boxed{1 or 2 or 3 or 4 or 5}", "print('1 or 2')"), {}),
    ("a range that holds the answer", _says("\\boxed{[0, 9999]}", "print('(-inf, inf)')"), {}),
    ("give or take", _says("\\boxed{50 \\pm 50}", "print('50 ± 50')"), {}),
    ("an unknown for an answer", _says("\\boxed{x}", "print('x')"), {}),
    ("not a number", _says("\\boxed{nan}", "print(float('nan'))"), {}),
    ("an empty box", _says("\\boxed{}", "print()"), {}),
    ("a nested box", _says("\\boxed{\\boxed{}}", "print('\\\\boxed{7}')"), {}),
    ("the formula in a box", _restates, {"family": "arithmetic"}),
    ("the short question in a box", _restates, {}),
    ("the question in a box", _restates_the_question, {}),
    ("a quotient as a fraction", _unreduced, {"family": "arithmetic", "level": "easy"}),
    ("praise of oneself", _says("\\boxed{correct}", _SELF_PRAISE), {}),
    ("a program that prints all numbers", _says("7", "for n in range(9999): print(n)"), {}),
    ("copying the other's answer", _copies, {}),
    ("a box every other round", _in_turn("\\boxed{7}", "none"), {"num_agents": 1}),
    (
        "four guesses alone",
        _in_turn(*(f"\\boxed{{{n}}}" for n in (2, 6, 12, 24))),
        {"num_agents": 1},
    ),
    ("a random digit each round alone", _random_digit, {"num_agents": 1}),
    ("a random digit each round, two", _random_digit, {}),
    ("a random digit each round, three", _random_digit, {"reasoners": 3, "tools": 0}),
    ("a random digit before an aggregator", _random_digit, {"aggregator": True}),
    ("a copy of the prompt", _copies_the_prompt, {}),
    ("a copy of the prompt alone", _copies_the_prompt, {"num_agents": 1}),
    ("nothing", _says("", ""), {}),
    ("nothing alone", _says(""), {"num_agents": 1}),
    ("the same answer always, alone", _says("\\boxed{1}"), {"num_agents": 1}),
    ("words of mathematics", _says("sum product therefore \\boxed answer", "sum = answer"), {}),
    ("a program that looks for the answer", _says("7", _SEARCH), {}),
    ("a program that reads other processes", _says("7", _PARENT), {}),
    ("a program that asks the generator", _says("7", _IMPORT), {}),
)

"""Every reader of answers takes time that grows with the answer's length, and no faster.

A reader that looks at each place of an answer for each other place takes over a second for the longest
answer; all others take a tenth of one.
"""

from __future__ import annotations

import time
import warnings

import pytest

from llmzoo import make, registry
from llmzoo.errors import FallbackWarning
from llmzoo.rollout.stepping import is_over

LENGTH = 19_990  # just below what is read of an answer
MOST = 0.5  # seconds of processor time
# text that a pattern may read again and again: what it looks for, its parts, and what ends it too late
REPEATED = (
    *(
        " ",
        "\n",
        "\t",
        " \n",
        "x:",
        "x: ",
        "x=",
        "x = ",
        ": ",
        "=",
        "1",
        "1 ",
        "1,",
        "1;",
        "1/",
        "-1",
        "-",
    ),
    *(
        "(",
        ")",
        "[",
        "[[",
        "{",
        "}",
        "[1,2,",
        '{"a":',
        '"',
        "'",
        "\\",
        "$",
        "\\frac{",
        "\\boxed{",
        "^",
    ),
    *(
        "`",
        "```",
        "```\n",
        "```python\n",
        "def f():\n",
        "print(",
        "if x:\n ",
        "lambda:",
        "not ",
        "@a\n",
    ),
    *(
        "a ",
        "a b ",
        "A: ",
        "answer ",
        "Answer: ",
        "move ",
        "1 2 3\n",
        "- ",
        "# ",
        "| ",
        "<a>",
        "é",
        "9e9",
    ),
)
ENDED = {
    "annotation": "x:{}",
    "two words": "x{}y",
    "assignment": "x = 1{}= 2",
    "fence": "```\n{}",
    "box": "\\boxed{{{}",
    "string": 'print("{}',
    "object": '{{"a": "{}',
    "comment": "print(1){}#",
    "sentence": "The answer is{}.",
}
SHAPES = {f"{unit!r} again": (unit * LENGTH)[:LENGTH] for unit in REPEATED} | {
    f"{name}, {what}": form.format(filler * LENGTH)[:LENGTH]
    for name, form in ENDED.items()
    for what, filler in (("spaces", " "), ("line breaks", "\n"), ("a", "a"), ("1", "1"))
}


@pytest.mark.slow
@pytest.mark.parametrize("id", registry.list_envs())
def test_no_answer_takes_long_to_read(id):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        env = make(id)
    long, read = {}, 0
    for agent in env.possible_agents:
        for name, text in SHAPES.items():
            env.reset(seed=0)
            for _ in env.possible_agents:  # the others say nothing first
                if env.agent_selection != agent and not is_over(env):
                    env.step("")
            if is_over(env) or env.agent_selection != agent:
                continue
            begun = time.process_time()
            env.step(text)
            env.observe(env.possible_agents[-1])
            taken = time.process_time() - begun
            read += 1
            if taken > MOST:
                long[agent, name] = round(taken, 2)
    assert long == {}
    assert read >= len(SHAPES)

"""Golden transcripts: every word that the coding environments say in a fixed episode.

In the first round the agents answer nonsense and a wrong program, in the second the expert plays.
Rewritten like those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/coding``.
"""

from __future__ import annotations

import re

import golden
import pytest

import llmzoo

NONSENSE = "I would rather not."
WRONG = {
    "coop_functions_v0": "```python\ndef {name}(*args):\n    return 0\n```",
    "classeval_v0": "def __init__(self, *args):\n    pass",
    "contests_v0": 'print("nothing")',
    "bug_fix_v0": '{"function": "f", "line": 1, "reason": "a guess"}',
}


@pytest.mark.parametrize("id", WRONG)
def test_transcript(id, monkeypatch):
    kwargs = {"source": "sample"} if id == "classeval_v0" else {}
    env = llmzoo.make(id, split="test", max_turns=2, **kwargs)
    env.reset(options={"task": 0})
    last = env.possible_agents[-1]
    entry = re.search(r"Write the function (\w+)", env.observe(last))
    wrong = WRONG[id].replace("{name}", entry[1] if entry else "")
    answers = [wrong, NONSENSE] if id == "bug_fix_v0" else [NONSENSE, wrong]
    golden.check(id.removesuffix("_v0"), golden.played(env, answers) + "\n")

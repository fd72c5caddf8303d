"""Golden transcripts: every word that the writing environments say in a fixed episode.

In the first round the agents answer nonsense and an extract, in the second the expert plays. Rewritten
like those of the games: ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/writing``.
"""

from __future__ import annotations

import golden
import pytest

import llmzoo

NONSENSE = "I would rather write about the weather, because it is the same everywhere, is it not?"


@pytest.mark.parametrize("id", ["tldr_v0", "arxiv_v0", "story_v0"])
def test_transcript(id):
    env = llmzoo.make(id, split="test", max_turns=2, source="sample")
    env.reset(options={"task": 0})
    text = env.unwrapped.episode.task.text
    extract = " ".join(text.split()[:40])
    answers = {"tldr_v0": [NONSENSE, extract], "arxiv_v0": [text, text], "story_v0": [text, ""]}[id]
    golden.check(id.removesuffix("_v0"), golden.played(env, answers) + "\n")

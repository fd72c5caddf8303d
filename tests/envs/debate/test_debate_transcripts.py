"""Golden transcript: every word that the debate says in a fixed episode.

A silent opening and one that rambles, then the expert plays. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/debate``.
"""

from __future__ import annotations

import golden

import llmzoo
from llmzoo.envs.debate.tasks import load_topics


def test_transcript():
    env = llmzoo.make("debate_v0", split="all", max_turns=2, judge_agent=True)
    index = [topic.id for topic in load_topics()].index("wolves-return")
    env.reset(options={"task": index})
    answers = ["", "I oppose the motion, and that is all.", "Both were weak."]
    golden.check("debate", golden.played(env, answers) + "\n")

"""Tool use: your own tool, your own questions, and the rewards of calls and answers.

Shows that a tool is a typed Python function whose schema the executor reads, and that a list of
questions makes a task of ``tool_use_v0``: a planner says what to do, the executor calls the tool,
reads the reply and answers. Expect an episode of a correct player written here, and then the
success of that player and of a model on all questions. The embedded model knows no tools.

    python examples/tool_use.py --model Qwen/Qwen2.5-0.5B-Instruct

Left out: the built-in tools (calculator, search, files, Python in the sandbox) and their generated
questions: ``llmzoo play tool_use_v0 --policy expert``.
"""

from __future__ import annotations

import argparse
import re

import llmzoo
from llmzoo.envs.tools.toolbox import tool

HIGH_WATER = {"Sundmere": "04:50", "Varnholt": "11:15", "Ostrey": "08:05", "Keel": "21:40"}
QUESTIONS = [
    {"question": f"When is high water in {harbour}?", "answer": time, "tools": ["tide"]}
    for harbour, time in HIGH_WATER.items()
]


@tool
def tide(harbour: str) -> str:
    """The time of high water in a harbour.

    Args:
        harbour: its name
    """
    return HIGH_WATER.get(harbour, "unknown")


def by_hand(observation: str, agent: str) -> str:
    """Call the tool, then answer what it said."""
    harbour = re.search(r"high water in (\w+)", observation)[1]
    if agent == "planner_0":
        return f"Ask for the tide in {harbour}, then answer."
    replied = re.search(r"Result: (\S+)", observation)
    if replied:
        return f"<answer>{replied[1]}</answer>"
    return f'<tool_call>{{"name": "tide", "arguments": {{"harbour": "{harbour}"}}}}</tool_call>'


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    env_args = {"tools": [tide], "tasks": QUESTIONS, "max_turns": 3}
    (episode,) = llmzoo.collect("tool_use_v0", by_hand, tasks=1, split="all", env_args=env_args)
    for decision in episode.decisions:
        print(f"{decision.agent}, paid {decision.reward:+.2f}: {decision.completion.text}")
    for policy in (by_hand, parser.parse_args().model):
        print(llmzoo.evaluate("tool_use_v0", policy, split="all", env_args=env_args))

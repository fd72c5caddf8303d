"""Golden transcripts: every word that the tool environments say in a fixed episode.

First the agents err, then the expert plays. Rewritten like those of the games:
``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/tools``.
"""

from __future__ import annotations

import golden
import pytest

import llmzoo

EPISODES = {
    "tool_use_v0": (
        {"family": "difference", "tools": ("calculator", "search")},
        [
            "Let us look around.",
            '<tool_call>{"name": "lookup", "arguments": {"query": "anything"}}</tool_call>',
            "Search for it.",
            '<tool_call>{"name": "search", "arguments": {"query": "any',
        ],
    ),
    "bfcl_v0": (
        {"source": "sample", "category": "parallel", "max_turns": 2},
        ["I would rather not.", "[no_such_function(a=1)]"],
    ),
    "bfcl_multi_turn_v0": (
        {"source": "sample", "category": "miss_func"},
        ["Let us look around.", "[pwd(), no_such_function(a=1)]"],
    ),
    "telecom_v0": (
        {"intent": "mobile_data_issue", "issues": 3},
        [
            '<tool_call>{"name": "toggle_data", "arguments": {}}</tool_call>',
            "Please look at your phone.",
            '<tool_call>{"name": "toggle_data", "arguments": {',
        ],
    ),
    "airline_v0": (
        {"intent": "baggage"},
        [
            '<tool_call>{"name": "get_user_details", "arguments": {"user_id": "nobody"}}</tool_call>',
            "What can I do for you?",
            "",
            '<tool_call>{"name": "calculate", "arguments": {',
        ],
    ),
}


@pytest.mark.parametrize("id", EPISODES)
def test_transcript(id):
    kwargs, answers = EPISODES[id]
    env = llmzoo.make(id, split="test", **kwargs)
    env.reset(options={"task": 0})
    golden.check(id.removesuffix("_v0"), golden.played(env, answers) + "\n")

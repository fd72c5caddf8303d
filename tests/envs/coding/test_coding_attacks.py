"""Attempts to be paid in the coding environments without doing the task."""

from __future__ import annotations

import random

import pytest

import llmzoo
from tests.attacks.rewards import coding


def test_no_output_equals_one_that_it_only_resembles():
    assert all(row.failed for row in coding._outputs())


@pytest.mark.slow
@pytest.mark.parametrize(
    "family",
    [coding._functions, coding._contests, coding._bug_fix, coding._classes],
    ids=["functions", "contests", "bug_fix", "classes"],
)
def test_no_attack_pays(family):
    assert [row for row in family() if not row.failed] == []


@pytest.mark.parametrize(
    ("id", "one_agent", "texts"),
    [
        (
            "coop_functions_v0",
            "main_1",
            (
                "I would loop.",
                "def {name}(*args)\n    return 0",
                "def {name}(*args):\n    return 0",
            ),
        ),
        (
            "contests_v0",
            "coder_0",
            ("I would loop.", "```\nn = int(input()\n```", "```\nprint(0)\n```"),
        ),
        (
            "bug_fix_v0",
            "fixer_1",
            (
                "I would loop.",
                "def {name}(*args)\n    return 0",
                "def {name}(*args):\n    return 0",
            ),
        ),
        (
            "classeval_v0",
            "writer_0",
            ("I would loop.", "def {name}(self)\n    return 0", "def {name}(self):\n    return 0"),
        ),
    ],
)
def test_a_weak_models_answers_differ_from_the_bottom(id, one_agent, texts):
    """Prose, code with a syntax error, and a constant, beside a noisy expert: each earns more than the one
    before."""
    paid = []
    for text in texts:
        env = llmzoo.make(id, split="all", **llmzoo.spec(id).offline)
        env.reset(options={"task": 0})
        state = env.unwrapped.episode
        if id == "classeval_v0":
            name = state.own[one_agent][0]
        elif id == "bug_fix_v0":
            name = state.task.program.name
        else:
            name = state.task.entry_point if id == "coop_functions_v0" else ""
        for agent in list(env.agents):
            answer = text.replace("{name}", name)
            other = env.unwrapped.noisy_expert(agent, random.Random(0))
            env.step(answer if agent == one_agent else other)
        paid.append(sum(env.infos[one_agent]["reward_components"].values()))
    assert paid[0] < paid[1] < paid[2]

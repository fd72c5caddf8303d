"""Golden transcripts: every word that the games say in a fixed episode.

After a change that is meant, rewrite them and read the difference:

    LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/test_transcripts.py && git diff tests/transcripts
"""

from __future__ import annotations

import re

import golden
import pytest

import llmzoo

# one task as the content of a file, and two rounds of answers of proposer and planner
EPISODES = {
    "sudoku": (
        '{"puzzle": "12..341.2143...."}',
        (
            "Let me see:\n```\n1234\n3412\n2143\n1111\n```",
            "[1, 3, 3] [1, 4, 4] [4, 1, 4]",
            "I would rather not.",
            "1234\n3412\n2143\n4321",
        ),
    ),
    "sokoban": (
        "######\n#@   #\n# $. #\n#    #\n######",
        ("right, down, down", "Answer: D", "I would rather not.", "R"),
    ),
    "plan_path": (
        r'{"grid": "S.#G\n#...\n...."}',
        ("Plan: right, right, up", "RDD", "I would rather not.", "URRU"),
    ),
}


def transcript(env, answers):
    """What each agent reads, answers and is paid, and how it ends."""
    env.reset(options={"task": 0})
    answers = iter(answers)
    lines = []
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        lines += [golden.paid(agent, reward, info["reward_components"])]
        if terminated or truncated:
            lines += [f"=== {agent}: the end, success {info['success']}"]
            env.step(None)
            continue
        answer = next(answers)
        lines += [observation, f"=== {agent} answers", answer]
        env.step(answer)
        error = env.infos[agent]["error"]
        lines += [f"=== {agent}: error {error}"] if error else []
    return "\n".join(lines)


# the tasks of walks, answered with cells
CELLS = {
    "sokoban": (
        EPISODES["sokoban"][0],
        ("box: b3 c3", "d2 d3", "b1 c1 no cell", "Working: a3?\nb3 c3 d3"),
    ),
    "plan_path": (
        EPISODES["plan_path"][0],
        ("b1 c1 d1", "so:\nb1, b2, b3", "A walk: d4", "c3 -> c2 -> d2 -> d1."),
    ),
}
FORMS = ((2, "full"), (2, "terse"), (1, "full"), (1, "terse"))


@pytest.mark.parametrize("name", EPISODES)
def test_transcript(name, tmp_path):
    golden.check(name, spoken(name, *EPISODES[name], FORMS, tmp_path / "task"))


@pytest.mark.parametrize("name", CELLS)
def test_transcript_of_cells(name, tmp_path):
    forms = ((2, "cells"), (1, "cells"))
    golden.check(f"{name}_cells", spoken(name, *CELLS[name], forms, tmp_path / "task"))


def spoken(name, task, answers, of, source):
    source.write_text(task)
    forms = []
    for agents, prompt in of:
        env = llmzoo.make(
            f"{name}_v0",
            source=str(source),
            split="all",
            num_agents=agents,
            prompt=prompt,
            max_turns=2,
        )
        said = transcript(env, answers if agents == 2 else answers[1::2])
        forms += [f"##### {name}, {agents} agents, {prompt} prompts\n{said}\n"]
    return "\n".join(forms)


def test_no_prompt_shows_the_name_of_a_variable():
    """As a string does that was meant to be an f-string. Programs in classeval and contests have their own."""
    found = {
        path.name: re.findall(r"\{[a-z_][a-z_.]*\}", path.read_text())
        for path in golden.FOLDER.glob("*.txt")
        if path.stem not in ("classeval", "contests")
    }
    assert len(found) > 20
    assert {name: names for name, names in found.items() if names} == {}

"""Evaluations that keep their episodes: what is read back, and what happens after a kill."""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import llmzoo
from llmzoo.errors import CheckpointError
from llmzoo.evaluation import evaluate as evaluation
from llmzoo.evaluation.statistics import pass_at_k
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records.episode_rows import load_episodes

EASY = {"family": "arithmetic", "level": "easy", "max_turns": 2}


def run(folder, *, policy="noisy_expert", resume=False, **options):
    settings = {"tasks": 10, "samples": 3, "concurrency": 12, "seed": 5, **options}
    return llmzoo.evaluate("math_v0", policy, env_args=EASY, out=folder, resume=resume, **settings)


@pytest.mark.slow
def test_what_is_kept_is_what_was_played(tmp_path):
    result = run(tmp_path / "e", policy="tiny")
    there = load_episodes(tmp_path / "e")
    options = {"tasks": 10, "split": "test", "seed": 5, "concurrency": 12, "env_args": EASY}
    assert there == llmzoo.collect("math_v0", "tiny", repeats=3, **options)
    assert load_episodes(tmp_path / "e" / "episodes.jsonl") == there
    kept = json.loads((tmp_path / "e" / "result.json").read_text())
    assert kept == json.loads(json.dumps(result.to_dict()))
    assert (kept["tasks"], kept["samples"], len(kept["solved"])) == (10, 3, 30)
    rows = [json.loads(line) for line in (tmp_path / "e" / "episodes.jsonl").open()]
    assert [(row["task"], row["sample"]) for row in rows] == [
        *itertools.product(range(10), range(3))
    ]
    assert {row["id"] for row in rows} == set(kept["ids"])


def cut(folder, at):
    """The folder as a kill leaves it while byte ``at`` of the episodes is written."""
    path = folder / "episodes.jsonl"
    path.write_bytes(path.read_bytes()[:at])
    (folder / "result.json").unlink()


def test_after_a_kill_at_any_byte_the_files_are_the_same(tmp_path):
    whole = run(tmp_path / "e")
    path = tmp_path / "e" / "episodes.jsonl"
    undisturbed = path.read_bytes()
    chance = random.Random(0)
    for at in [0, len(undisturbed), *(chance.randrange(len(undisturbed)) for _ in range(6))]:
        cut(tmp_path / "e", at)
        result = run(tmp_path / "e", resume=True)
        assert path.read_bytes() == undisturbed
        assert result.solved == whole.solved
        assert result.returns == whole.returns


def test_rounds_that_were_cut_off_are_replayed_but_not_where_answers_cost_money(
    tmp_path, monkeypatch
):
    asked = []

    def answer(request):
        asked.append(request.seed)
        return "\\boxed{0}"

    policy = ScriptedPolicy(answer)
    options = {"samples": 1, "concurrency": 4}
    whole = run(tmp_path / "e", policy=policy, **options)
    lines = (tmp_path / "e" / "episodes.jsonl").read_text().splitlines(keepends=True)
    each = len(asked) // 10
    for billed, again in ((False, 6), (True, 5)):
        monkeypatch.setattr(evaluation, "is_billed", lambda player, billed=billed: billed)
        cut(tmp_path / "e", sum(map(len, lines[:5])))  # the second round of four has begun
        asked.clear()
        result = run(tmp_path / "e", policy=policy, resume=True, **options)
        assert len(asked) == each * again
        assert result.solved == whole.solved


def test_what_cannot_go_on_is_refused(tmp_path):
    run(tmp_path / "e")
    with pytest.raises(CheckpointError, match="already holds a run"):
        run(tmp_path / "e")
    with pytest.raises(CheckpointError, match=r"other settings: samples=3 \(now 2\)"):
        run(tmp_path / "e", samples=2, resume=True)
    with pytest.raises(CheckpointError, match="contains no run to resume"):
        run(tmp_path / "new", resume=True)
    with pytest.raises(CheckpointError, match="does not exist"):
        load_episodes(tmp_path / "new")
    path = tmp_path / "e" / "episodes.jsonl"
    path.write_text(path.read_text() + '{"task": 1}\n')
    with pytest.raises(CheckpointError, match="line 31 is not an episode"):
        load_episodes(path)


@pytest.mark.parametrize("samples", [1, 2, 5, 8])
def test_pass_at_k_is_the_share_of_all_choices_with_a_success(samples):
    for solved in range(samples + 1):
        marks = [True] * solved + [False] * (samples - solved)
        for k in range(1, samples + 1):
            choices = list(itertools.combinations(marks, k))
            assert pass_at_k(k, solved, samples) == pytest.approx(
                sum(map(any, choices)) / len(choices)
            )
    with pytest.raises(ValueError, match="k must be from 1"):
        pass_at_k(samples + 1, 0, samples)


def test_pass_at_and_majority_of_an_evaluation():
    wanted = iter(
        [  # the answers of three samples of two tasks, in the order of play
            *("7", "right", "right"),
            *("right", "8", "8"),
        ]
    )

    def answer(request):
        solution = request.env.unwrapped.expert("reasoner_0")
        said = next(wanted)
        return solution if said == "right" else f"\\boxed{{{said}123}}"

    result = llmzoo.evaluate(
        "math_v0",
        ScriptedPolicy(answer),
        tasks=2,
        samples=3,
        env_args={**EASY, "max_turns": 1, "num_agents": 1},
    )
    assert result.solved == (False, True, True, True, False, False)
    assert result.success == 0.5
    assert result.pass_at == {1: 0.5, 2: pytest.approx((1 + 2 / 3) / 2), 3: 1.0}
    assert result.majority == 0.5  # of the first task the right answer, of the second 8123
    assert result.to_dict()["pass_at"]["3"] == 1.0


KILLED = """
import sys
from test_episode_folder import run
run(sys.argv[1], policy="tiny", tasks=24, samples=2, concurrency=4)
"""


@pytest.mark.slow
def test_a_killed_evaluation_goes_on(tmp_path):
    """A real SIGKILL as soon as the first episodes are there."""
    options = {"policy": "tiny", "tasks": 24, "samples": 2, "concurrency": 4}
    episodes = tmp_path / "killed" / "episodes.jsonl"
    path = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[1])))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(episodes.parent)],
        env={**os.environ, "PYTHONPATH": path},
    )
    while not (episodes.exists() and episodes.stat().st_size):
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (episodes.parent / "result.json").exists()
    whole, killed = run(tmp_path / "whole", **options), run(episodes.parent, resume=True, **options)
    assert episodes.read_bytes() == (tmp_path / "whole" / "episodes.jsonl").read_bytes()
    assert {**killed.to_dict(), "seconds": 0} == {**whole.to_dict(), "seconds": 0}

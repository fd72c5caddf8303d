"""Curricula: which tasks are drawn, what is remembered, and that drawing by success learns faster."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial

import pytest
from safetensors.torch import load_file
from tiny_models import model, tokenizer
from toy_envs import Mixed, Parity

import llmzoo
from llmzoo.engine.curriculum import Curriculum, count_curriculum_tasks
from llmzoo.engine.curriculum_config import CurriculumArgs, curriculum_args
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, EpisodeOutcome
from llmzoo.training import fit


def drawn(choice="learnability", tasks=4, **args):
    made = Curriculum(choice, CurriculumArgs(**args), tasks)
    made.start_iteration(0, 7)
    return made


@pytest.mark.parametrize(
    ("choice", "args", "match"),
    [
        ("hardest", {}, "must be one of none, uniform, learnability, threshold"),
        ("none", {"tasks": 3}, "have no effect"),
        ("learnability", {"task": 3}, "tasks"),
        ("learnability", {"tasks": 0}, "at least 1"),
        ("learnability", {"window": 2.5}, "whole number"),
        ("learnability", {"first": True}, "whole number"),
        ("learnability", {"first": 9}, "at most window"),
        ("learnability", {"share": 1.5}, "from 0 to 1"),
        ("learnability", {"low": 0.1}, "low has no effect with curriculum='learnability'"),
        ("uniform", {"share": 0.5}, "share has no effect with curriculum='uniform'"),
        ("threshold", {"low": 0.9}, "low must be at most high"),
    ],
)
def test_settings_are_checked(choice, args, match):
    with pytest.raises(LlmzooError, match=match):
        curriculum_args(choice, args)


def test_settings_that_exclude_each_other(tmp_path):
    for given in ({"engine": "ray"}, {"max_off_policy_steps": 1}):
        with pytest.raises(ConfigError, match="a curriculum needs"):
            llmzoo.fit(env="sudoku_v0", curriculum="uniform", out=tmp_path / "run", **given)


def test_weights_by_hand():
    """Success 0, 1/4, 1/2, 1 and one result alone, which counts as 1/2."""
    results = {0: [0.0, 0.0], 1: [0.5, 0.0], 2: [1.0, 0.0], 3: [1.0, 1.0], 4: [1.0]}

    def weights(choice, **args):
        made = drawn(choice, 6, **args)
        made.results = dict(results)
        return [made.task_weight(task) for task in range(6)]

    assert weights("uniform") == [1.0] * 6
    assert weights("learnability") == [0.0, 3 / 16, 0.25, 0.0, 0.25, 0.25]
    assert weights("threshold") == [0.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    assert weights("threshold", low=0.5, high=1.0) == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]


def test_tasks_are_drawn_by_weight_and_now_and_then_uniformly():
    """Of four tasks only the second teaches: drawn with 0.8 + 0.2 / 4, the others with 0.05 each."""
    made = drawn()
    made.results = {0: [0.0] * 2, 1: [1.0, 0.0], 2: [1.0] * 2, 3: [0.0] * 2}
    made.start_iteration(3, 11)
    counts = Counter(made.sample_task(seed) for seed in range(4_000))
    shares = [counts[task] / 4_000 for task in range(4)]
    assert shares == pytest.approx([0.05, 0.85, 0.05, 0.05], abs=0.02)
    assert [made.sample_task(seed) for seed in range(20)] == [
        made.sample_task(seed) for seed in range(20)
    ]


def test_without_any_weight_the_draw_is_uniform():
    made = drawn(share=1.0)
    made.results = {task: [1.0, 1.0] for task in range(4)}
    made.start_iteration(1, 5)
    counts = Counter(made.sample_task(seed) for seed in range(4_000))
    assert [counts[task] / 4_000 for task in range(4)] == pytest.approx([0.25] * 4, abs=0.03)


def ending(seed, success):
    return EpisodeOutcome(seed=seed, success=success, totals={"a_0": 0.0}, decisions=1)


def test_a_result_is_the_mean_over_a_trees_endings_and_the_newest_count():
    made = drawn(tasks=2, window=2)
    seed = 3
    task = made.sample_task(seed)
    for successes in ((True, False, False, False), (True, True), (False,)):
        metrics = made.record_results(Batch(endings=tuple(ending(seed, s) for s in successes)))
    assert made.results == {task: [1.0, 0.0]}  # the first result, 1/4, is out of the window
    assert made.success_rate(task) == 0.5
    assert made.success_rate(1 - task) == 0.5
    assert metrics == {"tasks_played": 1.0, "tasks_between": 1.0}


def test_which_environments_have_tasks_to_draw():
    listed = partial(llmzoo.make, "coop_functions_v0", split="train")
    assert count_curriculum_tasks(listed(), CurriculumArgs(tasks=5)) == 5
    assert count_curriculum_tasks(Mixed(), CurriculumArgs()) == 40
    for env, args, match in (
        (
            llmzoo.make("sudoku_v0", split="train"),
            {},
            "unlimited number of tasks. Set curriculum_args.tasks",
        ),
        (llmzoo.make("sudoku_v0", split="test"), {"tasks": 5}, "not those of split='test'"),
        (Parity(), {"tasks": 5}, "names no tasks"),
        (Mixed(), {"tasks": 41}, "at most 40, the number of training tasks"),
        (Mixed(), {"tasks": 1}, "must be at least 2"),
        (Mixed(ignores=True), {}, "plays the same task for every"),
        (llmzoo.make("signal_v0", values=2, candidates=3), {"tasks": 50}, "tasks is too large"),
    ):
        with pytest.raises(ConfigError, match=match):
            count_curriculum_tasks(env, CurriculumArgs(**args))


def a_player():
    return TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )


def trained(out, choice, steps, seed=0, **settings):
    player = a_player()
    return fit(
        "magrpo",
        Mixed,
        out=out,
        policies={"writer_0": player},
        learner_args={"group_size": 8, "learning_rate": 1e-2},
        curriculum=choice,
        steps=steps,
        episodes_per_step=8,
        eval_tasks=1,
        seed=seed,
        quiet=True,
        trackers=(),
        **settings,
    )


def test_a_run_that_goes_on_is_the_run_that_never_stopped(tmp_path):
    trained(tmp_path / "whole", "learnability", 6, checkpoint_every=3)
    trained(tmp_path / "parts", "learnability", 3, checkpoint_every=3)
    trained(tmp_path / "parts", "learnability", 6, checkpoint_every=3, resume=True)
    states = [tmp_path / run / "checkpoints" / "step_000006" for run in ("whole", "parts")]
    kept = [json.loads((state / "curriculum.json").read_text()) for state in states]
    assert kept[0] == kept[1]
    assert sum(map(len, kept[0].values())) >= 40
    weights = [load_file(state / "writer_0" / "model.safetensors") for state in states]
    assert all((weights[0][name] == weights[1][name]).all() for name in weights[0])
    rows = map(json.loads, (tmp_path / "whole" / "metrics.jsonl").read_text().splitlines())
    row = [row for row in rows if row["kind"] == "train"][-1]
    assert row["tasks_played"] == len(kept[0])
    assert 0.0 <= row["tasks_between"] <= 1.0


def test_a_checkpoint_without_a_curriculum_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="its run had no curriculum"):
        drawn().load(tmp_path)


def test_what_is_saved_comes_back_exactly(tmp_path):
    made = drawn()
    made.results = {2: [1 / 3, 0.1], 0: [1.0]}
    made.save(tmp_path)
    again = drawn()
    again.load(tmp_path)
    assert again.results == made.results


def solved(player):
    """How often the tasks that can be learned are solved, of 200."""
    return llmzoo.evaluate(partial(Mixed, only="UD"), {"writer_0": player}, tasks=200).success


@pytest.mark.slow
def test_drawing_by_success_learns_faster(tmp_path):
    """Of 40 tasks 4 can be learned; 18 are always solved and 18 never. Chance is a half.

    Three seeds each, 32 iterations of eight episodes; the control draws the same 40 tasks uniformly. It
    solves 0.54 to 0.69 of them, drawing by success 0.97.
    """
    found = {
        choice: [
            solved(trained(tmp_path / f"{choice}{seed}", choice, 32, seed).policies["writer_0"])
            for seed in range(3)
        ]
        for choice in ("uniform", "learnability")
    }
    assert min(found["learnability"]) > max(found["uniform"]) + 0.1
    assert min(found["learnability"]) >= 0.9

"""DPO and its joint form learn, in seconds, where chance is right half or a quarter of the time."""

from functools import partial

import pytest
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo.learners.dpo import DPO, MADPO
from llmzoo.policies.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit


def a_player(seed=0):
    made = model(seed=seed, initializer_range=0.1)
    return TransformersPolicy(made, tokenizer(), sampling=Sampling(max_new_tokens=1))


def run(learner, players, out, **options):
    learner = learner(learner.Config(learning_rate=1e-2, group_size=8, **options))
    return fit(
        learner,
        partial(Parities, len(players)),
        out=out / "run",
        policies=players,
        steps=45,
        episodes_per_step=16,
        eval_tasks=200,
        quiet=True,
    )


@pytest.mark.parametrize("rounds", [0, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_dpo_learns(rounds, tmp_path):
    result = run(DPO, {"writer_0": a_player()}, tmp_path, rounds=rounds)
    assert result.before["success"] < 0.6
    assert result.after["success"] >= 0.9


@pytest.mark.parametrize("how", ["shared", pytest.param("separate", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_the_joint_form_learns_where_only_the_joint_answer_is_paid(how, tmp_path):
    shared = a_player()
    players = {f"writer_{i}": shared if how == "shared" else a_player(i) for i in range(2)}
    result = run(MADPO, players, tmp_path, rounds=6)
    assert result.before["success"] < 0.33
    assert result.after["success"] >= 0.9

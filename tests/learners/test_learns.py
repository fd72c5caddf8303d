"""Every learner learns: a game that chance wins half or a quarter of the time, in seconds."""

from functools import partial

import pytest
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo.learners import list_learners
from llmzoo.policies.run_models import newest_checkpoint
from llmzoo.policies.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

GROUPS = {"group_size": 8}
ROUNDS = {"rounds": 6, "learning_rate": 1e-2}
ALONE = ("grpo", "ppo")  # play with one seat
SETTINGS = {
    "at_grpo": (GROUPS, 16, 40),
    "ccpo": (GROUPS, 16, 40),
    "dpo": ({**GROUPS, **ROUNDS}, 16, 30),
    "grpo": (GROUPS, 16, 40),
    "iac": ({}, 64, 40),
    "ippo": ({}, 32, 30),
    "maac": ({}, 64, 40),
    "madpo": ({**GROUPS, **ROUNDS}, 16, 30),
    "magrpo": (GROUPS, 16, 40),
    "mappo": ({}, 32, 30),
    "mareinforce": (GROUPS, 16, 40),
    "maremax": (GROUPS, 16, 40),
    "marloo": (GROUPS, 16, 40),
    "maxrl": (GROUPS, 16, 40),
    # unlearns at first what the teacher would never write
    "opd": ({"learning_rate": 1e-2}, 32, 100),
    "ppo": ({}, 32, 30),
    "sft": ({}, 16, 30),
}  # options, episodes an iteration, iterations


def imitator(out) -> str:
    """The folder of a model that has learned the game from its expert."""
    _, episodes, steps = SETTINGS["sft"]
    pupil = TransformersPolicy(
        model(initializer_range=0.1, seed=1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    fit(
        "sft",
        Parities,
        out=out,
        policies=dict.fromkeys(("writer_0", "writer_1"), pupil),
        steps=steps,
        episodes_per_step=episodes,
        learner_args={"learning_rate": 5e-3},
        eval_tasks=1,
        quiet=True,
    )
    return str(newest_checkpoint(out) / "writer_0")


def test_there_is_a_case_for_every_learner():
    assert list(SETTINGS) == list_learners()


LONG = ("iac", "maac", "mappo")  # ten seconds and more; ippo and ppo show that critics work


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in LONG else n for n in SETTINGS]
)
@pytest.mark.samples(3)
def test_every_learner_learns(name, tmp_path):
    """One or two seats answer "U" and "D" by the parity of a letter; only all right are paid."""
    options, episodes, steps = SETTINGS[name]
    if name == "opd":
        options = {**options, "teacher": imitator(tmp_path / "teacher")}
    seats = 1 if name in ALONE else 2
    player = TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    result = fit(
        name,
        partial(Parities, seats),
        out=tmp_path / "run",
        policies={f"writer_{i}": player for i in range(seats)},
        steps=steps,
        episodes_per_step=episodes,
        learner_args={"learning_rate": 5e-3, **options},
        eval_tasks=200,
        quiet=True,
    )
    assert result.before["success"] < (0.6 if seats == 1 else 0.4)
    assert result.after["success"] >= 0.9

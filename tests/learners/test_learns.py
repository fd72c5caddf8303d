"""Every learner learns: a game that chance wins half or a quarter of the time, in seconds.

Before training one agent succeeds in 0.42 of 100 episodes, two in 0.21; after it all learners reach 0.96
or more, and 0.9 is asked for.
"""

from functools import partial

import pytest
from quick_cases import slow_but
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo.learners import list_learners
from llmzoo.models.sampling import Sampling
from llmzoo.policies.run_models import newest_checkpoint
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

GROUPS = {"group_size": 8}
FAST = {"learning_rate": 2e-2}  # twice that of the others
ALONE = ("grpo", "ppo")  # play with one agent
SEPARATE = ("madpo",)  # a model for each agent
SETTINGS = {
    "at_grpo": (GROUPS, 16, 25),
    "ccpo": (GROUPS, 16, 25),
    "dpo": ({**GROUPS, **FAST, "rounds": 0}, 16, 25),
    "grpo": (GROUPS, 16, 25),
    "iac": (FAST, 64, 20),
    "ippo": ({}, 32, 20),
    "maac": (FAST, 64, 20),
    "madpo": ({**GROUPS, **FAST, "rounds": 6}, 16, 25),
    "magrpo": (GROUPS, 16, 25),
    "mappo": ({}, 32, 20),
    "mareinforce": (GROUPS, 16, 25),
    "maremax": (GROUPS, 16, 25),
    "marloo": (GROUPS, 16, 25),
    "maxrl": (GROUPS, 16, 25),
    # unlearns at first what the teacher would never write
    "opd": (FAST, 32, 60),
    "ppo": ({}, 32, 20),
    "sft": ({}, 16, 25),
}  # options, episodes an iteration, iterations
QUICK = ("at_grpo",)  # in `make test`


def a_player(seed=0):
    made = model(initializer_range=0.1, seed=seed)
    return TransformersPolicy(made, tokenizer(), sampling=Sampling(max_new_tokens=1))


def trained(name, agents, policies, out, **options):
    given, episodes, steps = SETTINGS[name]
    return fit(
        name,
        partial(Parities, agents),
        out=out,
        policies=policies,
        steps=steps,
        episodes_per_step=episodes,
        learner_args={"learning_rate": 1e-2, **given, **options},
        eval_tasks=100,
        quiet=True,
    )


def imitator(out) -> str:
    """The folder of a model that has learned the game from its expert."""
    trained("sft", 2, dict.fromkeys(("writer_0", "writer_1"), a_player(seed=1)), out)
    return str(newest_checkpoint(out) / "writer_0")


def test_there_is_a_case_for_every_learner():
    assert list(SETTINGS) == list_learners()


@pytest.mark.parametrize("name", slow_but(QUICK, SETTINGS))
def test_every_learner_learns(name, tmp_path):
    """One or two agents answer "U" and "D" by the parity of a letter; only all right are paid."""
    options = {"teacher": imitator(tmp_path / "teacher")} if name == "opd" else {}
    agents = 1 if name in ALONE else 2
    shared = a_player()
    policies = {f"writer_{i}": a_player(i) if name in SEPARATE else shared for i in range(agents)}
    result = trained(name, agents, policies, tmp_path / "run", **options)
    assert result.before["success"] < (0.6 if agents == 1 else 0.4)
    assert result.after["success"] >= 0.9

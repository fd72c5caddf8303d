"""A proposer learns to set what its solver solves half of the time, from groups of the solver's attempts."""

from __future__ import annotations

import pytest
from tiny_models import model, tokenizer

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.proposing.difficulty import absolute_zero
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import ScriptedPolicy, request_rng
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

CHANCES = (1.0, 0.0, 0.0, 0.5)  # of the four kinds of puzzle


class Kinds(TextEnv):
    """The proposer's first character chooses one of four kinds; four attempts say whether they are right.

    A success is the kind that is solved half of the time: a quarter by chance.
    """

    metadata = {
        **TextEnv.metadata,
        "name": "kinds_v0",
        "attempts": {"solver_1": 4},
        "delayed_reward_agents": ["proposer_0"],
        "team_components": [],
        "team_and_local": False,
    }

    def __init__(self):
        super().__init__(["proposer_0", "solver_1"])

    def reset_task(self, rng, task):
        self.episode = ()

    def observation(self, agent):
        return "up" if agent == "proposer_0" else str(self.episode[0])

    def play(self, agent, text):
        if agent == "proposer_0":
            self.episode = (ord(text[0]) % 4 if text else 0,)
            return Outcome()
        self.episode = (*self.episode, int(text))
        local = {"solver_1": {"right": int(text) / 4}}
        if len(self.episode) == 5:
            self.success = self.episode[0] == 3
            local["proposer_0"] = {"difficulty": absolute_zero(sum(self.episode[1:]), 4)}
        return Outcome(local=local, done=len(self.episode) == 5)

    def keeps_turn(self, agent):
        return agent == "solver_1" and len(self.episode) < 5


def solver(request):
    return str(int(request_rng(request).random() < CHANCES[int(request.observation)]))


@pytest.mark.parametrize(
    ("name", "options"),
    [("magrpo", {"expand": None}), ("at_grpo", {"select": "random"})],
)
@pytest.mark.slow
def test_a_proposer_learns_the_difficulty_that_suits_its_solver(name, options, tmp_path):
    player = TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    result = fit(
        name,
        Kinds,
        out=tmp_path / "run",
        policies={"proposer_0": player, "solver_1": ScriptedPolicy(solver, "half")},
        steps=40,
        episodes_per_step=8,
        learner_args={"group_size": 8, "learning_rate": 5e-3, **options},
        eval_tasks=200,
        quiet=True,
        trackers=(),
    )
    assert result.before["success"] < 0.5
    assert result.after["success"] >= 0.9

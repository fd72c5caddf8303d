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


class Kinds(TextEnv[tuple[int, ...]]):
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
        return ()

    def observation(self, state, agent):
        return "up" if agent == "proposer_0" else str(state[0])

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        if agent == "proposer_0":
            return (ord(text[0]) % 4 if text else 0,), Outcome()
        kind, *answers = state = (*state, int(text))
        local, done = {"solver_1": {"right": int(text) / 4}}, len(answers) == 4
        if done:
            local["proposer_0"] = {"difficulty": absolute_zero(sum(answers), 4)}
        return state, Outcome(
            local=local, done=done, success=done and kind == 3, keeps_turn=not done
        )


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

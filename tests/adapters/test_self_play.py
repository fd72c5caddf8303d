"""A game that PettingZoo wrote, played against oneself: it trains, and legal moves are learned first."""

import json
from functools import partial

import pytest
from tiny_models import model, tokenizer

from llmzoo.adapters.classic import tic_tac_toe
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

SETTINGS = {
    "ippo": ({"critic": "value_head"}, 16),
    "magrpo": ({"group_size": 8}, 8),
    "mareinforce": ({"group_size": 2, "role_baseline": 0.9}, 32),
}  # options, episodes a step


def train(learner, steps, folder):
    """The rows of a run in which one model with random weights plays both sides."""
    options, episodes = SETTINGS[learner]
    player = TransformersPolicy(
        model(initializer_range=0.1, max_position_embeddings=1024),
        tokenizer(),
        sampling=Sampling(max_new_tokens=1),
    )
    fit(
        learner,
        partial(tic_tac_toe, prompt="terse"),
        out=folder,
        policies={"player_1": player, "player_2": player},
        steps=steps,
        episodes_per_step=episodes,
        learner_args={"learning_rate": 5e-3, **options},
        eval_tasks=4,
        quiet=True,
    )
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [row for row in rows if row["kind"] == "train"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "learner",
    ["magrpo", *(pytest.param(n, marks=pytest.mark.slow) for n in ("ippo", "mareinforce"))],
)
def test_both_sides_are_learned_from(learner, tmp_path):
    rows = train(learner, 2, tmp_path / "run")
    assert set(rows[0]["agents"]) == {"player_1", "player_2"}
    assert all(row["grad_norm"] > 0 for row in rows)


@pytest.mark.slow
def test_illegal_answers_become_rare(tmp_path):
    """Of random single tokens few name a free field: nearly all first answers are wrong. After 24 iterations
    two thirds are; without learning it would stay above nine in ten."""
    rows = train("magrpo", 24, tmp_path / "run")
    wrong = [row["agents"]["player_1"]["invalid"] for row in rows]
    assert sum(wrong[:3]) / 3 > 0.85
    assert sum(wrong[-3:]) / 3 < 0.8

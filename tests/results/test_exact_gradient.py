"""The gradient that MAGRPO estimates from games, against the exact one of the same model."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GROUP, ENTROPY, HANDS = 4, 0.1, 250


@pytest.mark.slow
def test_the_gradient_of_full_trees_is_that_of_what_each_agent_earns(tmp_path, monkeypatch):
    """Noise turns it by a few degrees: 250 hands are 9,000 answers of a model with 25,000 weights."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))
    import exact_model
    import torch
    import words
    from exact_credit import RULES, met

    import llmzoo
    from llmzoo.envs.duels import exact
    from llmzoo.learners.updates.optimizer import Optimizer
    from llmzoo.policies import load

    env_args = {"prompt": "terse", "tries": 1}
    words.build_model(tmp_path / "random", words="kuhn_poker_v0", hidden=32, layers=2, seed=0)
    common = {"env": "kuhn_poker_v0", "env_args": env_args, "eval_tasks": 1, "quiet": True}
    common |= {"max_new_tokens": 1, "trackers": (), "record_every": 0}
    taught = llmzoo.fit(
        "sft",
        model=str(tmp_path / "random"),
        out=tmp_path / "sft",
        learner_args={"source": "noisy_expert", "learning_rate": 5e-3, "success_only": False},
        steps=30,
        episodes_per_step=32,
        **common,
    )
    taught.policies["player_0"].save(tmp_path / "start")
    estimated: list[torch.Tensor] = []

    def step(self: Optimizer) -> float:
        estimated.append(torch.cat([p.grad.flatten() for p in self.parameters]))
        return 0.0

    monkeypatch.setattr(Optimizer, "step", step)
    options = {"group_size": GROUP, "expand": None, "entropy": ENTROPY}
    llmzoo.fit(
        "magrpo",
        model=str(tmp_path / "start"),
        out=tmp_path / "rl",
        learner_args=options,
        steps=1,
        episodes_per_step=HANDS,
        **common,
    )

    policy = load(str(tmp_path / "start"))
    chances, entropies = exact_model.asked(policy, exact_model.groups_of(policy))
    # as they are, not scaled to 1: what is missing to 1 forfeits
    known = dict(zip(exact.decision_nodes(RULES), chances.tolist(), strict=True))
    pair = tuple(lambda seen, moves, p=p: known[p, seen] for p in (0, 1))
    numbers = {key: number for number, key in enumerate(exact.decision_nodes(RULES))}
    gain = torch.zeros(())
    for node, reach in met(pair, None):
        number = numbers[node.player, node.information]
        # a full tree has a node for each answer that leads there, whose illegal answers forfeit; credit
        # counts by the chance of getting there, the entropy bonus once for each node
        nodes = reach * GROUP ** len(node.state.moves)
        worths = [forfeiting(child, node.player, pair) for child in node.children]
        earned = sum(c * w for c, w in zip(chances[number], worths, strict=True))
        earned = earned + exact_model.FORFEIT * (1 - chances[number].sum())
        # a mean that counts itself leaves (K - 1) / K
        gain = gain + reach * earned * (GROUP - 1) / GROUP + nodes * ENTROPY * entropies[number]
    slopes = torch.autograd.grad(-gain, list(policy.parameters()))
    wanted = torch.cat([slope.flatten() for slope in slopes])
    cosine = torch.nn.functional.cosine_similarity(estimated[-1], wanted, dim=0)
    assert cosine > 0.99


def forfeiting(node, player, pair) -> float:
    """What the player is paid from here on, its own later forfeits included; the other's pay it nothing."""
    import exact_model

    if node.returns is not None:
        return node.returns[player]
    chances = pair[node.player](node.information, node.moves)
    children = zip(node.children, chances, strict=True)
    value = sum(chance * forfeiting(child, player, pair) for child, chance in children)
    return value + exact_model.FORFEIT * (1 - sum(chances)) * (node.player == player)

"""Updates: what moves, what must not, and in which direction."""

import math

import pytest
import torch
from float64 import LIMIT, assert_equal
from tiny_models import model, policy, tokenizer

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError, DivergedError
from llmzoo.learners import learner_class
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion, Group

pytestmark = pytest.mark.usefixtures("float64")


def answer(prompt, ids, logprobs=None):
    return Completion(text="", prompt_ids=prompt, ids=ids, logprobs=logprobs or (-1.0,) * len(ids))


def a_group(prompt, answers, returns, agent="a_0", turn=0):
    return Group(
        agent=agent,
        turn=turn,
        key=(prompt, turn, agent),
        prompt_ids=prompt,
        completions=tuple(answer(prompt, ids) for ids in answers),
        returns=tuple(returns),
    )


def an_engine(name="magrpo", player=None, agents=None, **options):
    cls = learner_class(name)
    options.setdefault("learning_rate", 1e-2)
    player = player or policy()
    return LocalEngine(
        cls(cls.Config(**options)),
        {"policy": player},
        agents or {"a_0": player},
        total_steps=10,
    )


def batch(*groups):
    return Batch(groups=groups, endings=())


def logprob(player, prompt, ids):
    with torch.no_grad():
        return player.likelihood([a_group(prompt, [ids], [0.0])]).logprobs.sum().item()


@pytest.mark.parametrize("name", ["mareinforce", "magrpo", "marloo", "at_grpo", "grpo"])
def test_better_answers_become_likelier(name):
    engine = an_engine(name)
    player = engine.policies["policy"]
    good, bad = (20, 21, 0), (22, 0)
    # old log-probabilities as sampled, so that the ratio starts at 1
    group = a_group((5, 6), [good, bad], [1.0, -1.0])
    group = Group(
        **{
            **{f: getattr(group, f) for f in ("agent", "turn", "key", "prompt_ids", "returns")},
            "completions": tuple(
                answer(
                    (5, 6),
                    ids,
                    tuple(player.likelihood([a_group((5, 6), [ids], [0.0])]).logprobs[0].tolist()),
                )
                for ids in (good, bad)
            ),
        }
    )
    before = [logprob(player, (5, 6), ids) for ids in (good, bad)]
    metrics = engine.update(batch(group), seed=0)
    after = [logprob(player, (5, 6), ids) for ids in (good, bad)]
    assert after[0] > before[0]
    assert after[1] < before[1]
    assert metrics["grad_norm"] > 0
    assert metrics["informative"] == 1.0
    if "clip_fraction" in metrics:
        assert metrics["clip_fraction"] == 0.0
        assert abs(metrics["drift"]) < LIMIT


def gradients(engine, *groups):
    engine.updater.optimizers["policy"].zero_grad()
    learner = engine.learner
    credited = learner.compute_advantages(groups)
    loss, _ = learner.loss(
        engine.policies["policy"],
        credited,
        rows=sum(len(g.completions) for g in groups),
        tokens=sum(len(c.ids) for g in groups for c in g.completions),
        reference=None,
    )
    loss.backward()
    model = engine.policies["policy"].model
    return [p.grad.clone() for p in model.parameters() if p.grad is not None]


def test_the_end_token_is_trained():
    """A loss on (x, END) differs from one on (x) alone by END's own gradient."""
    end = next(iter(policy().eos_ids))
    with_end = gradients(an_engine("mareinforce"), a_group((5, 6), [(20, end)], [1.0]))
    without = gradients(an_engine("mareinforce"), a_group((5, 6), [(20,)], [1.0]))
    assert any(not torch.allclose(a, b, atol=1e-6) for a, b in zip(with_end, without, strict=True))
    engine = an_engine("mareinforce")
    player = engine.policies["policy"]

    def share_of_end():
        logits = player.model(torch.tensor([[5, 6, 20]])).logits[0, -1]
        return logits.softmax(-1)[end].item()

    before = share_of_end()
    engine.update(batch(a_group((5, 6), [(20, end)], [1.0])), seed=0)
    assert share_of_end() > before


@pytest.mark.parametrize("reduction", ["token_mean", "sequence_sum", "sequence_mean"])
def test_padding_is_never_trained(reduction):
    """A short answer beside a long one gives the gradient of the two taken apart."""
    short, long = (20, 0), (21, 22, 23, 24, 25, 0)
    together = gradients(
        an_engine("mareinforce", reduction=reduction),
        a_group((5, 6), [short, long], [1.0, 0.0]),  # only the short one earned anything
    )
    alone = gradients(
        an_engine("mareinforce", reduction=reduction), a_group((5, 6), [short], [1.0])
    )
    scale = {"token_mean": 2 / 8, "sequence_sum": 1 / 2, "sequence_mean": 1 / 2}[reduction]
    for a, b in zip(together, alone, strict=True):
        assert_equal(a, b * scale)


def test_accumulated_parts_give_the_same_gradient_as_one_pass():
    groups = [
        a_group((5, 6), [(20, 21, 0), (22, 0)], [1.0, 0.0]),
        a_group((7, 8, 9), [(23,), (24, 25, 26)], [0.0, 2.0]),
        a_group((7,), [(27, 0), (28, 0)], [0.3, 0.1]),
    ]
    results = []
    for tokens in (1000, 7, 1):  # at 7 the first two are apart, at 1 every answer is
        engine = an_engine("magrpo", microbatch_tokens=tokens)
        engine.update(batch(*groups), seed=0)
        results.append([p.grad.clone() for p in engine.policies["policy"].model.parameters()])
    for a, b, c in zip(*results, strict=True):
        assert_equal(b, a)
        assert_equal(c, a)


def test_groups_without_differences_are_skipped_but_count_in_the_mean():
    same = a_group((7, 8), [(23, 0), (24, 0)], [0.5, 0.5])
    useful = a_group((5, 6), [(20, 0), (22, 0)], [1.0, 0.0])
    engine = an_engine("magrpo")
    assert engine.update(batch(same, useful), seed=0)["informative"] == 0.5
    idle = an_engine("magrpo")
    before = [p.detach().clone() for p in idle.policies["policy"].model.parameters()]
    assert idle.update(batch(same), seed=0)["grad_norm"] == 0.0
    for a, b in zip(before, idle.policies["policy"].model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_each_policy_has_a_gradient_norm_of_its_own():
    """Equal weights and completions; the returns of ``b_1`` differ twice as much as those of ``a_0``.

    Apart: norms g and 2 g, each averaged over its own two completions. Together: the sum of both
    gradients, averaged over four, (g + 2 g) / 2; with the returns of ``b_1`` reversed, (g - 2 g) / 2.
    """
    magrpo = learner_class("magrpo")
    pairs = [(20, 0), (22, 0)]
    first = a_group((5, 6), pairs, [1.0, 0.0])

    def norms(separate, returns):
        players = {"a_0": policy(), "b_1": policy()}
        shared = players["a_0"]
        engine = LocalEngine(
            magrpo(magrpo.Config(learning_rate=1e-2)),
            players if separate else {"policy": shared},
            players if separate else dict.fromkeys(players, shared),
            total_steps=10,
        )
        second = a_group((5, 6), pairs, returns, agent="b_1")
        metrics = engine.update(batch(first, second), seed=0)
        return {key: value for key, value in metrics.items() if key.endswith("grad_norm")}

    apart = norms(True, [2.0, 0.0])
    g = apart["a_0/grad_norm"]
    assert g > 0.01
    assert apart == pytest.approx({"a_0/grad_norm": g, "b_1/grad_norm": 2 * g}, rel=LIMIT)
    assert norms(True, [1.0, 1.0]) == pytest.approx({"a_0/grad_norm": g, "b_1/grad_norm": 0.0})
    assert norms(False, [2.0, 0.0]) == pytest.approx({"grad_norm": 1.5 * g}, rel=LIMIT)
    assert norms(False, [0.0, 2.0]) == pytest.approx({"grad_norm": 0.5 * g}, rel=LIMIT)


def test_kl_pulls_back_to_the_start_and_entropy_spreads():
    useful = a_group((5, 6), [(20, 0), (22, 0)], [1.0, 0.0])
    engine = an_engine("magrpo", kl=0.1)
    assert engine.update(batch(useful), seed=0)["kl"] == pytest.approx(0.0, abs=LIMIT)
    assert engine.update(batch(useful), seed=1)["kl"] > 1e-4
    spread = an_engine("magrpo", entropy=1.0)
    same = a_group((5, 6), [(20, 0), (22, 0)], [0.5, 0.5])
    first = spread.update(batch(same), seed=0)["entropy"]
    assert spread.update(batch(same), seed=1)["entropy"] > first


def test_several_epochs_and_minibatches_make_several_steps():
    groups = [a_group((5 + i, 6), [(20, 0), (22, 0)], [1.0, 0.0]) for i in range(4)]
    engine = an_engine("at_grpo", epochs=2, minibatches=2)
    engine.update(batch(*groups), seed=0)
    assert engine.updater.optimizers["policy"].steps == 4


def test_warm_up_and_schedule():
    engine = an_engine("magrpo", warmup=1, schedule="linear", learning_rate=1.0)
    group = a_group((5, 6), [(20, 0), (22, 0)], [0.5, 0.5])
    rates = [engine.update(batch(group), seed=i)["learning_rate"] for i in range(4)]
    # after step s the rate of step s + 1; 10 steps, the first of them warm-up
    assert rates == pytest.approx([1.0, 8 / 9, 7 / 9, 6 / 9])


def test_a_loss_that_is_not_finite_stops_the_run():
    engine = an_engine("magrpo")
    with torch.no_grad():
        next(iter(engine.policies["policy"].model.parameters()))[:] = math.nan
    with pytest.raises(DivergedError, match="lower learning_rate"):
        engine.update(batch(a_group((5, 6), [(20, 0), (22, 0)], [1.0, 0.0])), seed=0)


def test_each_policy_learns_from_its_own_agents_only():
    one = policy(seed=0)
    other = policy(seed=1)
    cls = learner_class("magrpo")
    engine = LocalEngine(
        cls(cls.Config(learning_rate=1e-2)),
        {"one": one, "other": other},
        {"a_0": one, "b_1": other, "c_2": ScriptedPolicy(lambda r: "")},
        total_steps=1,
    )
    assert engine.trained_agents == ["a_0", "b_1"]
    before = [p.detach().clone() for p in other.model.parameters()]
    start = [p.detach().clone() for p in one.model.parameters()]
    metrics = engine.update(batch(a_group((5, 6), [(20, 0), (22, 0)], [1.0, 0.0])), seed=0)
    assert all(torch.equal(a, b) for a, b in zip(before, other.model.parameters(), strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(start, one.model.parameters(), strict=True))
    assert {"one/loss", "other/loss"} <= set(metrics)


def test_somebody_has_to_learn():
    cls = learner_class("magrpo")
    player = TransformersPolicy(model(), tokenizer())
    with pytest.raises(ConfigError, match="no agent"):
        LocalEngine(cls(), {"policy": player}, {"a_0": ScriptedPolicy(lambda r: "")}, total_steps=1)

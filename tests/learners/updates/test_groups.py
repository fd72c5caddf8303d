"""Options of the group learners: each does what it says, and is counted."""

import math
from dataclasses import replace
from functools import partial

import pytest
import torch
from float64 import assert_equal
from tiny_models import policy
from toy_envs import Parity

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_class, learner_config
from llmzoo.learners.configs.groups import GroupConfig
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.policy_gradient import surrogate_loss
from llmzoo.models import scoring
from llmzoo.models.sampling import Sampling
from llmzoo.records import Batch, Completion, Group


def a_group(answers, returns, agent="a_0", truncated=(), prompt=(5, 6)):
    return Group(
        agent=agent,
        turn=0,
        key=(prompt, agent),
        prompt_ids=prompt,
        completions=tuple(
            Completion(
                text="",
                prompt_ids=prompt,
                ids=ids,
                logprobs=(-1.0,) * len(ids),
                truncated=i in truncated,
            )
            for i, ids in enumerate(answers)
        ),
        returns=tuple(returns),
    )


def an_engine(name="magrpo", agents=None, **options):
    cls = learner_class(name)
    options.setdefault("learning_rate", 1e-2)
    player = policy(sampling=Sampling(max_new_tokens=1))
    return LocalEngine(
        cls(cls.Config(**options)),
        {"policy": player},
        dict.fromkeys(agents or ["a_0"], player),
        total_steps=10,
    )


def credited(engine, *groups):
    """What the update gives the passes, as it stands before them."""
    return engine.updater._score_groups(engine.learner, list(groups))


GOOD = a_group([(20, 0), (22, 0)], [1.0, 0.0])
SAME = a_group([(20, 0), (22, 0)], [0.5, 0.5], prompt=(7,))


def test_rewards_are_changed_before_credit():
    engine = an_engine("mareinforce", rewards=("shift -0.5", "scale 4"))
    (result,) = credited(engine, GOOD)
    assert result.advantages.tolist() == [2.0, -2.0]
    assert result.group.returns == (2.0, -2.0)


def test_the_greedy_answers_return_is_changed_with_them():
    with_greedy = Group(
        **{
            **{f: getattr(GOOD, f) for f in ("agent", "turn", "key", "prompt_ids")},
            "completions": GOOD.completions,
            "returns": GOOD.returns,
            "greedy": 0.25,
        }
    )
    (result,) = credited(an_engine("maremax", rewards=("scale 4",)), with_greedy)
    assert result.advantages.tolist() == [4 * 0.75, 4 * -0.25]


def test_a_running_mean_of_each_role_is_the_baseline():
    engine = an_engine("magrpo", agents=["a_0", "b_1"], role_baseline=0.5)
    first = [a_group([(20, 0)], [1.0]), a_group([(21, 0)], [-1.0], agent="b_1")]
    result = credited(engine, *first)
    assert [c.advantages.tolist() for c in result] == [[1.0], [-1.0]]  # means start at 0
    assert engine.updater.roles.means == {"a_0": 0.5, "b_1": -0.5}
    result = credited(engine, *first)
    assert [c.advantages.tolist() for c in result] == [[0.5], [-0.5]]
    assert engine.updater.roles.means == {"a_0": 0.75, "b_1": -0.75}


def test_role_means_are_part_of_a_checkpoint(tmp_path):
    engine = an_engine("magrpo", role_baseline=0.5)
    credited(engine, GOOD)
    engine.save(tmp_path)
    resumed = an_engine("magrpo", role_baseline=0.5)
    resumed.load(tmp_path)
    assert resumed.updater.roles.means == engine.updater.roles.means != {}


CREW = ["lead_0", "worker_1", "worker_2", "worker_3"]


def test_workers_of_a_role_share_a_running_mean_also_if_they_come_and_go(tmp_path):
    """With decay 1/2, two values keep 1/4 of the old mean: 3/4 of their mean."""
    options = {"agents": CREW, "role_baseline": 0.5, "roles": ("worker_*",)}
    engine = an_engine("magrpo", **options)
    groups = [
        a_group([(20, 0)], [1.0], agent="worker_1"),
        a_group([(20, 0)], [8.0], agent="lead_0"),
        a_group([(20, 0)], [3.0], agent="worker_2"),
    ]
    result = credited(engine, *groups)
    assert [c.group.agent for c in result] == ["worker_1", "lead_0", "worker_2"]
    assert [c.advantages.tolist() for c in result] == [[1.0], [8.0], [3.0]]
    assert engine.updater.roles.means == {
        "lead_0": 4.0,
        "worker_1": 1.5,
    }  # by the role's first agent
    engine.save(tmp_path)
    resumed = an_engine("magrpo", **options)
    resumed.load(tmp_path)
    # the first two have left, and a third one has joined
    (new,) = credited(resumed, a_group([(20, 0), (21, 0)], [1.5, 2.5], agent="worker_3"))
    assert new.advantages.tolist() == [0.0, 1.0]
    assert resumed.updater.roles.means == {"lead_0": 4.0, "worker_1": 0.25 * 1.5 + 0.75 * 2.0}
    # without roles each worker starts at 0
    alone = an_engine("magrpo", agents=CREW, role_baseline=0.5)
    assert [c.advantages.tolist() for c in credited(alone, *groups)] == [[1.0], [8.0], [3.0]]
    assert alone.updater.roles.means == {"lead_0": 4.0, "worker_1": 0.5, "worker_2": 1.5}


def test_groups_without_differences_are_dropped_and_counted():
    kept = an_engine("mareinforce")
    dropping = an_engine("mareinforce", zero_variance_groups="drop")
    assert "dropped_groups" not in kept.update(Batch(groups=(GOOD, SAME)), seed=0)
    assert dropping.update(Batch(groups=(GOOD, SAME)), seed=0)["dropped_groups"] == 1
    # what was dropped no longer counts in the mean: half as many rows, so twice the gradient
    alone = an_engine("mareinforce")
    alone.update(Batch(groups=(GOOD,)), seed=0)
    for a, b in zip(
        dropping.policies["policy"].model.parameters(),
        alone.policies["policy"].model.parameters(),
        strict=True,
    ):
        assert torch.equal(a, b)


class Flat(Parity):
    """Pays everybody the same until it has been reset more than ``spare`` times."""

    resets = 0
    spare = 0

    def reset_task(self, rng, task):
        type(self).resets += 1
        return super().reset_task(rng, task)

    def apply(self, state, actions):
        state, outcome = super().apply(state, actions)
        if type(self).resets <= self.spare:
            outcome = outcome._replace(team=1.0)
        return state, outcome


@pytest.mark.parametrize(
    ("spare", "resamples", "played"), [(0, 3, 8), (8, 3, 24), (8, 1, 16), (99, 2, 24)]
)
def test_a_batch_is_played_on_until_half_its_groups_differ(spare, resamples, played):
    """Eight episodes that teach nothing and eight of which one does not: 7 of 16 are too few."""
    env = type("Env", (Flat,), {"spare": spare, "resets": 0})
    engine = an_engine(
        agents=["writer_0"], zero_variance_groups="resample", resamples=resamples, group_size=8
    )
    batch = engine.collect(partial(env), list(range(32, 40)))
    assert len(batch.groups) == played
    assert (
        len({group.key for group in batch.groups}) == played
    )  # other episodes, not the same again
    metrics = engine.update(batch, seed=0)
    assert metrics["dropped_groups"] == sum(len(set(g.returns)) == 1 for g in batch.groups)


@pytest.mark.parametrize("options", [{}, {"clip": 0.2, "kl": 0.1, "entropy": 0.1}])
def test_policy_gradients_never_look_for_the_most_likely_tokens(options, monkeypatch):
    """That takes one more pass over the logits, and only SFT and DPO report it."""

    def asked(*_):
        raise AssertionError("the most likely tokens were asked for")

    monkeypatch.setattr(scoring, "_is_top", asked)
    an_engine("magrpo", **options).update(Batch(groups=(GOOD,)), seed=0)


def test_answers_cut_off_are_judged_but_not_trained():
    cut = a_group([(20, 21), (22, 0), (23, 0)], [1.0, 0.0, 0.5], truncated={0})
    engine = an_engine("magrpo", mask_truncated=True)
    player = engine.policies["policy"]

    def logprob(ids):
        with torch.no_grad():
            return player.likelihood([a_group([ids], [0.0])]).logprobs[0]

    seen = []
    engine.learner.loss = lambda policy, part, **k: (
        seen.extend(part) or surrogate_loss(policy, part, engine.learner.config, **without(k))
    )

    def without(settings):
        return {name: value for name, value in settings.items() if name != "reference"}

    engine.update(Batch(groups=(cut,)), seed=0)
    (result,) = seen
    assert [c.ids for c in result.group.completions] == [(22, 0), (23, 0)]
    assert result.advantages.tolist() == [-0.5, 0.0]  # the baseline holds the one cut off too


def test_replayed_groups_are_learned_from_again(tmp_path):
    counts = []

    def engine():
        made = an_engine("magrpo", replay=2, clip=0.2)
        loss = made.learner.loss
        made.learner.loss = lambda policy, part, **k: (
            counts.append(sum(len(c.group.completions) for c in part)) or loss(policy, part, **k)
        )
        return made

    whole = engine()
    for step in range(4):
        whole.update(Batch(groups=(GOOD,)), seed=step)
    assert counts == [2, 4, 6, 6]  # itself, and up to two batches before
    stopped = engine()
    for step in range(2):
        stopped.update(Batch(groups=(GOOD,)), seed=step)
    stopped.save(tmp_path)
    resumed = engine()
    resumed.load(tmp_path)
    for step in (2, 3):
        resumed.update(Batch(groups=(GOOD,)), seed=step)
    for a, b in zip(
        whole.policies["policy"].model.parameters(),
        resumed.policies["policy"].model.parameters(),
        strict=True,
    ):
        assert torch.equal(a, b)


def as_if_sampled_at(ratio, engine, answers=((20,),), returns=(1.0,)):
    """A group of answers, whose tokens are ``ratio`` times as likely now as when they were sampled."""
    group = a_group(answers, returns)
    now = engine.policies["policy"].likelihood([group]).logprobs.tolist()
    sampled = [
        replace(answer, logprobs=tuple(logprob - math.log(ratio) for logprob in row))
        for answer, row in zip(group.completions, now, strict=True)
    ]
    return replace(group, completions=tuple(sampled))


def gradient(engine, group):
    player = engine.policies["policy"]
    player.model.zero_grad()
    part = [ScoredGroup(group, torch.tensor([1.0]))]
    loss, metrics = surrogate_loss(player, part, engine.learner.config, rows=1, tokens=1)
    loss.backward()
    grads = [p.grad.flatten() for p in player.model.parameters() if p.grad is not None]
    return torch.cat(grads), metrics


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("cap", "ratio", "weight"),
    [(2.0, 1.5, 1.5), (2.0, 8.0, 2.0), (2.0, 0.25, 0.25), (0.5, 1.0, 0.5)],
)
def test_truncated_importance_weighs_a_token_by_its_ratio_up_to_the_cap(cap, ratio, weight):
    plain, capped = an_engine("magrpo"), an_engine("magrpo", importance_cap=cap)
    group = as_if_sampled_at(ratio, plain)
    without, _ = gradient(plain, group)
    found, metrics = gradient(capped, group)
    assert_equal(found, weight * without)
    assert metrics["sampler_difference"].item() == pytest.approx(abs(math.log(ratio)), abs=1e-12)
    assert metrics["sampler_kl"].item() == pytest.approx(ratio - 1 - math.log(ratio), abs=1e-12)


@pytest.mark.usefixtures("float64")
def test_the_agreement_of_sampler_and_trainer_is_that_before_any_step():
    engine = an_engine("magrpo", clip=0.2, epochs=3, minibatches=2, learning_rate=0.01)
    group = as_if_sampled_at(1.0, engine, [(20,), (22,)], [1.0, 0.0])
    metrics = engine.update(Batch(groups=(group, group)), seed=0)
    assert metrics["sampler_difference"] < 1e-12
    assert metrics["sampler_kl"] < 1e-12
    assert metrics["update_kl"] > 1e-5


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"importance_cap": 2.0, "clip": 0.2}, "clip already weights tokens by their ratio"),
        ({"importance_cap": 0.0}, "importance_cap must be above 0, got 0"),
    ],
)
def test_importance_caps_that_mean_nothing(options, says):
    with pytest.raises(ConfigError, match=says):
        learner_config("magrpo")(**options)


@pytest.mark.parametrize(
    ("options", "ratios", "clipped"),
    [
        # log-probabilities as sampled are those of now, less or more log 2 and log 1.25
        ({"clip": 0.2}, (2.0, 1.25), (True, True)),
        ({"clip": 0.2, "clip_high": 0.3}, (2.0, 1.25), (True, False)),
    ],
)
def test_clip_higher_lets_good_answers_grow_further(options, ratios, clipped):
    engine = an_engine("magrpo", **options)
    player = engine.policies["policy"]
    for ratio, at_bound in zip(ratios, clipped, strict=True):
        group = a_group([(20,)], [1.0])
        now = player.likelihood([group]).logprobs.item()
        old = now - torch.tensor(ratio).log().item()
        group = Group(
            **{
                **{f: getattr(group, f) for f in ("agent", "turn", "key", "prompt_ids", "returns")},
                "completions": (
                    Completion(text="", prompt_ids=(5, 6), ids=(20,), logprobs=(old,)),
                ),
            }
        )
        player.model.zero_grad()
        from llmzoo.learners.updates.credits import ScoredGroup

        loss, _ = surrogate_loss(
            player,
            [ScoredGroup(group, torch.tensor([1.0]))],
            engine.learner.config,
            rows=1,
            tokens=1,
        )
        loss.backward()
        moves = any(bool(p.grad.abs().max() > 0) for p in player.model.parameters())
        assert moves is not at_bound


def test_dual_clip_bounds_what_a_bad_answer_costs():
    from llmzoo.learners.updates.credits import ScoredGroup

    player = policy()
    group = a_group([(20,)], [-1.0])
    now = player.likelihood([group]).logprobs.item()
    far = Group(
        **{
            **{f: getattr(group, f) for f in ("agent", "turn", "key", "prompt_ids", "returns")},
            "completions": (
                Completion(text="", prompt_ids=(5, 6), ids=(20,), logprobs=(now - 2.302585,)),
            ),
        }
    )
    bad = [ScoredGroup(far, torch.tensor([-1.0]))]
    plain, _ = surrogate_loss(player, bad, GroupConfig(clip=0.2), rows=1, tokens=1)
    assert plain.item() == pytest.approx(10.0, rel=1e-4)  # the ratio is 10
    bounded, _ = surrogate_loss(player, bad, GroupConfig(clip=0.2, dual_clip=3.0), rows=1, tokens=1)
    assert bounded.item() == pytest.approx(3.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"dual_clip": 3.0},
        {"clip": 0.2, "dual_clip": 1.0},
        {"ratio": "sequence"},
        {"role_baseline": 1.0},
        {"role_baseline": 0.9, "normalize": True},
        {"roles": ("worker_*",)},
        {"role_baseline": 0.9, "roles": "worker_*"},
        {"replay": 2},
        {"clip": 0.0},
        {"clip": 0.2, "clip_high": -0.1},
        {"kl": -0.1},
        {"resamples": 0},
        {"rewards": ("scale",)},
        {"warmup": -1},
        {"learning_rate": 0.0},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ConfigError):
        GroupConfig(**wrong)


def test_an_unknown_reward_function_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'scale'"):
        GroupConfig(rewards=("scal 2",))

"""Play one update ahead: how old the weights that play are, in any order of events, and resumed."""

import threading
from concurrent.futures import Future
from functools import partial

import pytest
import torch
from tiny_models import model, tokenizer
from toy_envs import Parities

from llmzoo.engine.base import iteration_seeds
from llmzoo.engine.off_policy import OffPolicyEngine
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.models import lora
from llmzoo.models.sampling import Sampling
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs.policy_loading import load_policies
from llmzoo.training import FitConfig, fit

PLAY = partial(Parities, 2)
DRAW = partial(iteration_seeds, 0, envs=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path)
    return str(path)


def an_engine(folder, arrangement="shared", name="at_grpo", **options):
    policies, learning = load_policies(
        ["writer_0", "writer_1"],
        AgentSettings(policies=arrangement, model=folder, sampling=Sampling(max_new_tokens=3)),
    )
    cls = learner_class(name)
    config = cls.Config(**{"learning_rate": 1e-2, **options})
    return OffPolicyEngine(cls(config), learning, policies, total_steps=9)


def iterated(engine, steps, *, last=None):
    """What each iteration played, and what it learned."""
    draw = partial(DRAW, models=len(engine.policies))
    results = [engine.iterate(PLAY, draw, step, last=step == last) for step in steps]
    return [(one.batch, one.tokens, one.update_metrics) for one in results]


def weights(engine):
    return [w.detach().clone() for p in engine.policies.values() for w in p.parameters()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize(
    "arrangement",
    ["shared", *(pytest.param(a, marks=pytest.mark.slow) for a in ("separate", "lora"))],
)
def test_each_batch_is_played_one_update_before_it_is_learned_from(arrangement, folder):
    engine = an_engine(folder, arrangement)
    seen = []  # what every update was given, and the weights that it started from
    learn = engine.updater.update

    def update(batch, *, seed):
        seen.append((batch, weights(engine)))
        return learn(batch, seed=seed)

    engine.updater.update = update
    iterated(engine, range(4), last=3)

    def sampled_by(batch, values):
        """Whether the log-probabilities of a batch's answers are those of these weights."""
        with torch.no_grad():
            parameters = [w for p in engine.policies.values() for w in p.parameters()]
            for parameter, value in zip(parameters, values, strict=True):
                parameter.copy_(value)
            gaps = [
                (now[: len(c.ids)] - torch.tensor(c.logprobs)).abs().max()
                for group in batch.groups
                for c, now in zip(
                    group.completions,
                    engine.agent_policies[group.agent].likelihood([group]).logprobs,
                    strict=True,
                )
            ]
        return max(gaps) < 1e-2  # float32 rounds by 1e-6; other weights are off by 0.1 and more

    results = [[sampled_by(batch, values) for _, values in seen] for batch, _ in seen]
    # batch 0 by W_0 and batch t by W_{t-1}: the weights that update t-1 started from
    assert results == [
        [True, False, False, False],
        [True, False, False, False],
        [False, True, False, False],
        [False, False, True, False],
    ]


class First:
    """Instead of the thread: everything is done as soon as it is asked for."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def submit(self, work, *args):
        done = Future()
        done.set_result(work(*args))
        return done


class Later(First):
    """Instead of the thread: nothing is done before its result is asked for."""

    def submit(self, work, *args):
        done = Future()
        done.result = lambda: work(*args)
        return done


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arrangement", "name"),
    [("lora", "at_grpo"), pytest.param("shared", "ippo", marks=pytest.mark.slow)],
)
def test_nothing_depends_on_what_is_done_first(arrangement, name, folder, monkeypatch):
    ends, turns = [], []
    for pool in (None, First, Later):
        with monkeypatch.context() as patch:
            if pool is not None:
                patch.setattr("llmzoo.engine.off_policy.ThreadPoolExecutor", pool)
            engine = an_engine(folder, arrangement, name)
            turns.append(iterated(engine, range(3), last=2))
            ends.append(weights(engine))
    assert same(ends[0], ends[1])
    assert same(ends[0], ends[2])
    assert turns[0] == turns[1] == turns[2]


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["shared", pytest.param("lora", marks=pytest.mark.slow)])
def test_a_resumed_run_plays_the_batch_in_flight_again(arrangement, folder, tmp_path):
    whole = an_engine(folder, arrangement)
    iterated(whole, range(2))
    (tmp_path / "at").mkdir()
    whole.save(tmp_path / "at")
    expected = iterated(whole, range(2, 5))
    resumed = an_engine(folder, arrangement)
    resumed.load(tmp_path / "at")
    assert iterated(resumed, range(2, 5)) == expected
    assert same(weights(resumed), weights(whole))
    # a last iteration plays nothing ahead, and yet a longer run goes on from it as if it had
    ended = an_engine(folder, arrangement)
    iterated(ended, range(2), last=1)
    ended.save(tmp_path / "at")
    longer = an_engine(folder, arrangement)
    longer.load(tmp_path / "at")
    assert iterated(longer, range(2, 5)) == expected


def test_adapters_are_copied_and_their_base_is_not(folder):
    engine = an_engine(folder, "lora")
    (live,) = {id(p.model): p.model for p in engine.policies.values()}.values()
    copied = engine.rollout_policies["writer_0"].model
    assert copied is engine.rollout_policies["writer_1"].model
    assert copied is not live
    own = [lora.adapter_parameters(live, p.adapter) for p in engine.policies.values()]
    own_weights = {n for n, p in copied.named_parameters() if p is not live.get_parameter(n)}
    assert own_weights == {name for names in own for name in names}


def threads():
    """The threads that play; servers of this process are not counted."""
    names = [thread.name for thread in threading.enumerate()]
    return [name for name in names if name.startswith(("llmzoo-rollouts", "llmzoo-step"))]


def test_a_failing_update_stops_the_play_beside_it(folder):
    engine = an_engine(folder)
    updating, asked = threading.Event(), []
    play = engine.play

    def watched(env_fn, seeds, rollout_policies, clock, stop=None):
        if stop is not None:  # the batch after, in its thread
            assert updating.wait(10)
            assert stop.wait(10)
            asked.append(seeds)
        return play(env_fn, seeds, rollout_policies, clock, stop)

    def update(batch, *, seed):
        updating.set()
        raise ZeroDivisionError("in the update")

    engine.play, engine.updater.update = watched, update
    sampled = engine.tokens_sampled()
    with pytest.raises(ZeroDivisionError, match="in the update"):
        iterated(engine, [0])
    assert asked == [DRAW(1, models=1).seeds]
    first = engine.tokens_sampled() - sampled
    again = an_engine(folder)
    again.updater.update = update
    with pytest.raises(ZeroDivisionError):
        iterated(again, [0], last=0)
    assert again.tokens_sampled() == first  # of batch 0; batch 1 was asked of nobody
    assert threads() == []


def test_a_failing_play_is_told_after_the_update(folder):
    engine = an_engine(folder)
    made = []

    def env_fn():
        made.append(1)
        if len(made) > 3:  # the first batch's three are fine
            raise ZeroDivisionError("no more of them")
        return PLAY()

    with pytest.raises(ZeroDivisionError, match="no more"):
        engine.iterate(env_fn, partial(DRAW, models=1), 0, last=False)
    assert threads() == []


@pytest.mark.parametrize("name", ["magrpo", "dpo", "sft", "iac"])
def test_learners_without_the_ratio_are_refused(name, folder):
    with pytest.raises(ConfigError, match="set its clip"):
        an_engine(folder, name=name)


def test_settings_that_cannot_be():
    with pytest.raises(ConfigError, match="max_off_policy_steps must be 0 or 1"):
        FitConfig(max_off_policy_steps=2)
    with pytest.raises(ConfigError, match="needs sampler='transformers'"):
        FitConfig(max_off_policy_steps=1, sampler="vllm")
    with pytest.raises(ConfigError, match="at least 1"):
        FitConfig(workers=0)


@pytest.mark.slow
@pytest.mark.parametrize("ratio", [{"clip": 0.2}, {"importance_cap": 2.0}], ids=["clip", "cap"])
def test_it_learns_one_update_behind(ratio, tmp_path):
    player = TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    result = fit(
        "magrpo",
        PLAY,
        out=tmp_path / "run",
        policies={"writer_0": player, "writer_1": player},
        steps=30,
        episodes_per_step=16,
        max_off_policy_steps=1,
        learner_args={"learning_rate": 1e-2, "group_size": 8, **ratio},
        eval_tasks=100,
        quiet=True,
    )
    assert result.before["success"] < 0.4
    assert result.after["success"] >= 0.9

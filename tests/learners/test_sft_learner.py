"""SFT as a learner: what it imitates, that it learns, and that a run goes on exactly."""

import os
from collections import Counter
from functools import partial

import pytest
import torch
from tiny_models import model, tokenizer
from toy_envs import Parity

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.sft import SFT
from llmzoo.learners.updates.examples import answer_ids
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import trajectories
from llmzoo.rollout.episodes import play_episodes
from llmzoo.training import fit

NAME = "llmzoo.learners.sft:SFT"
OPPOSITES = {"up": "down", "down": "up", "left": "right", "right": "left"}


class Opposites(TextEnv):
    """Two agents, each asked for the opposite of a word, two turns; paid 1 for each right answer.

    The expert is right; the noisy expert repeats the word.
    """

    metadata = {**TextEnv.metadata, "name": "opposites_v0"}

    def __init__(self, **kwargs: object):
        super().__init__(["a_0", "b_1"], simultaneous=True, max_turns=2, **kwargs)

    def reset_task(self, rng, task):
        words = sorted(OPPOSITES)
        rounds = tuple({a: rng.choice(words) for a in ("a_0", "b_1")} for _ in range(3))
        return rounds, True

    def word(self, state, agent):
        rounds, _ = state
        return rounds[self.turn][agent]

    def observation(self, state, agent):
        return f"{agent[0]} {self.word(state, agent)}"

    def apply(self, state, actions):
        rounds, all_right = state
        right = {a: text == OPPOSITES[self.word(state, a)] for a, text in actions.items()}
        all_right = all_right and all(right.values())
        return (rounds, all_right), Outcome(
            local={a: {"right": float(right[a])} for a in actions},
            success=all_right and self.turn + 1 == self.max_turns,
        )

    def expert(self, agent):
        return OPPOSITES[self.word(self.episode, agent)]

    def noisy_expert(self, agent, rng):
        return self.word(self.episode, agent)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What ``datasets`` converts goes into the test's folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def a_player(seed=0, **options):
    options.setdefault("sampling", Sampling(max_new_tokens=8))
    return TransformersPolicy(model(seed=seed, initializer_range=0.1), tokenizer(), **options)


def an_engine(policies=None, agents=None, env=Opposites, total_steps=6, **options):
    if policies is None:
        player = a_player()
        policies = {"policy": player}
        agents = dict.fromkeys(env().possible_agents, player)
    options.setdefault("learning_rate", 3e-3)
    learner = SFT(SFTConfig(**options))
    return LocalEngine(learner, policies, agents, total_steps=total_steps)


def iterate(engine, step, env=Opposites, envs=4):
    for policy in engine.policies.values():
        policy.reseed(step)
    batch = engine.collect(env, [100 * step + n for n in range(envs)])
    return batch, engine.update(batch, seed=step)


def weights(policy):
    return {n: t.detach().clone() for n, t in policy.model.state_dict().items()}


def same(one, other):
    return all(torch.equal(one[n], other[n]) for n in one)


@pytest.mark.slow
def test_it_learns_from_the_expert(tmp_path):
    """By chance hardly anything is right; then nearly all that can be had (4 a pair of agents)."""
    player = a_player()
    result = fit(
        NAME,
        Opposites,
        out=tmp_path / "run",
        policies={"a_0": player, "b_1": player},
        steps=25,
        episodes_per_step=8,
        learner_args={"learning_rate": 3e-3, "batch_size": 16, "epochs": 2},
        eval_tasks=50,
        quiet=True,
    )
    assert result.before["success"] == 0.0
    assert sum(result.before["mean_return"].values()) < 0.5
    assert sum(result.after["mean_return"].values()) > 0.9 * 4


@pytest.mark.slow
def test_it_learns_from_its_own_best(tmp_path):
    """Chance is a half; imitating what succeeded finds the rule, with no expert in sight."""
    player = a_player(sampling=Sampling(max_new_tokens=1))
    result = fit(
        NAME,
        Parity,
        out=tmp_path / "run",
        policies={"writer_0": player},
        steps=25,
        episodes_per_step=32,
        learner_args={
            **{"source": "self", "success_only": True},
            **{"learning_rate": 5e-3, "epochs": 2, "batch_size": 16},
        },
        eval_tasks=100,
        quiet=True,
    )
    assert 0.3 < result.before["success"] < 0.7
    assert result.after["success"] > 0.9


def test_the_expert_plays_all_agents_and_what_it_shows_is_counted():
    engine = an_engine(batch_size=8, epochs=2)
    player = engine.policies["policy"]
    batch, metrics = iterate(engine, 0)
    assert all(ending.success for ending in batch.endings)
    assert player.tokens_sampled == 0
    shown = [d.completion.text for e in batch.episodes for d in e.decisions]
    assert len(shown) == 4 * 2 * 2  # episodes, agents, turns
    assert metrics["demonstrated_tokens"] == sum(len(answer_ids(player, text)) for text in shown)
    assert metrics["examples"] == 16
    assert metrics["kept"] == 1.0
    assert metrics["steps"] == 2 * 16 / 8
    assert metrics["world_examples"] == metrics["too_long"] == 0
    assert 0 < metrics["mean_token_accuracy"] < 1


@pytest.mark.parametrize(
    ("options", "shares"),
    [
        ({"source": "noisy_expert"}, {0.0}),
        ({"source": "mixed", "expert_share": 1.0}, {1.0}),
        ({"source": "mixed", "expert_share": 0.5}, {0.0, 1.0}),
    ],
)
def test_who_demonstrates(options, shares):
    engine = an_engine(**options)
    batch = engine.collect(Opposites, list(range(8)))
    rewards = {d.reward for e in batch.episodes for d in e.decisions}
    assert rewards == shares


def test_the_models_own_answers_are_taken_as_sampled():
    """Of 8 episodes and two agents the best quarter is kept: two episodes of two turns each."""
    engine = an_engine(source="self", top=0.25)
    player = engine.policies["policy"]
    assert engine.updater.rollout_policies() == engine.agent_policies
    batch, metrics = iterate(engine, 0, envs=8)
    assert player.tokens_sampled > 0
    assert metrics["demonstrated_tokens"] == 0  # the loop has counted them as sampled
    assert metrics["examples"] == 2 * 2 * 2
    assert metrics["kept"] == 0.25
    rows = trajectories.to_rows(batch.episodes)
    flags = trajectories.filter_mask(rows, top=0.25)
    decisions = [d for e in batch.episodes for d in e.decisions]
    expected = [
        example
        for decision, flag in zip(decisions, flags, strict=True)
        if flag
        for example in engine.updater._behaviour_examples(player, decision)
    ]
    assert [e.completion for e in expected] == [
        d.completion.ids for d, flag in zip(decisions, flags, strict=True) if flag
    ]


def test_filters_that_nothing_passes_leave_the_weights():
    engine = an_engine(source="noisy_expert", success_only=True)
    old = weights(engine.policies["policy"])
    _, metrics = iterate(engine, 0)
    assert (metrics["examples"], metrics["steps"], metrics["kept"]) == (0, 0, 0.0)
    assert metrics["demonstrated_tokens"] == 0
    assert same(old, weights(engine.policies["policy"]))


def texts_trained(engine, monkeypatch):
    """The rows of each update, as texts of prompt and completion."""
    seen = []
    train = engine.updater.train

    def watched(name, examples, **options):
        player = engine.policies[name]
        texts = []
        for example in examples:
            assert example.completion[-1] == player.tokenizer.eos_token_id
            parts = example.prompt, example.completion[:-1]
            texts.append(tuple(map(player.tokenizer.decode, parts)))
        seen.append((name, texts))
        return train(name, examples, **options)

    monkeypatch.setattr(engine.updater, "train", watched)
    return seen


def test_the_world_model_learns_what_came_of_everything(monkeypatch):
    engine = an_engine(source="noisy_expert", mode="world_model")
    seen = texts_trained(engine, monkeypatch)
    batch, metrics = iterate(engine, 0, envs=2)
    ((_, actual),) = seen
    first = batch.episodes[0]
    one, two = first.decisions_of("a_0")
    assert actual[0] == (
        f"{one.observation}\n\n[action]\n{one.completion.text}\n\n[next observation]\n",
        two.observation,
    )
    assert metrics["world_examples"] == metrics["examples"] == 8
    assert metrics["demonstrated_tokens"] > 0


@pytest.mark.parametrize(("weight", "count"), [(0.25, 4), (1.0, 16), (1.5, 24)])
def test_a_mix_has_exactly_that_many_world_model_rows(weight, count, monkeypatch):
    """16 rows of behaviour, 4 episodes of two agents and two turns; a share of them beside."""
    engine = an_engine(mode="mix", world_model_weight=weight)
    seen = texts_trained(engine, monkeypatch)
    _, metrics = iterate(engine, 0)
    ((_, actual),) = seen
    world = [prompt for prompt, _ in actual if "[next observation]" in prompt]
    assert (len(actual) - len(world), len(world)) == (16, count)
    assert (metrics["examples"], metrics["world_examples"]) == (16 + count, count)


def test_filters_of_a_mix_choose_answers_and_not_outcomes(monkeypatch):
    engine = an_engine(source="mixed", mode="mix", min_return=2.0)
    seen = texts_trained(engine, monkeypatch)
    batch, _ = iterate(engine, 0, envs=16)
    ((_, actual),) = seen
    answers = [pair for pair in actual if "[next observation]" not in pair[0]]
    paid = sum(2 for e in batch.episodes for total in e.totals.values() if total == 2.0)
    assert 0 < len(answers) == paid < 64  # both turns of an agent that was right twice
    assert all(OPPOSITES[prompt.split()[1]] == answer for prompt, answer in answers)
    asked = [p.split("\n\n[action]\n") for p, _ in actual if "[next observation]" in p]
    wrong = [a for prompt, a in asked if not a.startswith(OPPOSITES[prompt.split()[1]])]
    assert wrong  # outcomes of mistakes are there


def test_each_policy_learns_its_own_agents_and_the_other_is_bit_identical(monkeypatch):
    players = {"a_0": a_player(0), "b_1": a_player(1)}
    engine = an_engine({"a_0": players["a_0"]}, players)
    old = {name: weights(player) for name, player in players.items()}
    iterate(engine, 0)
    assert same(old["b_1"], weights(players["b_1"]))
    assert not same(old["a_0"], weights(players["a_0"]))
    both = an_engine(players, players)
    seen = texts_trained(both, monkeypatch)
    _, metrics = iterate(both, 1)
    assert [(name, {p[0] for p, _ in actual}) for name, actual in seen] == [
        ("a_0", {"a"}),
        ("b_1", {"b"}),
    ]
    assert metrics["a_0/examples"] == metrics["b_1/examples"] == 8
    assert metrics["demonstrated_tokens"] > metrics["a_0/examples"]


def test_adapters_learn_apart_on_one_base():
    players = a_player().with_adapters(["a_0", "b_1"])
    engine = an_engine({"a_0": players["a_0"]}, players, learning_rate=1e-2)
    old = weights(players["a_0"])
    _, metrics = iterate(engine, 0)
    changed = {n for n, t in weights(players["a_0"]).items() if not torch.equal(old[n], t)}
    assert changed
    assert all(players["a_0"].adapter in name.split(".") for name in changed)
    assert metrics["examples"] == 8


def test_an_agent_that_does_not_learn_is_played_by_the_expert_too():
    player = a_player()
    engine = an_engine({"a_0": player}, {"a_0": player, "b_1": ScriptedPolicy(lambda r: "no")})
    batch, metrics = iterate(engine, 0)
    assert all(ending.success for ending in batch.endings)
    assert metrics["examples"] == 8


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"schedule": "linear", "mode": "mix", "world_model_weight": 0.5},
        {"source": "self", "top": 0.5, "epochs": 2},
        {"source": "file"},
    ],
)
def test_a_run_goes_on_exactly(options, tmp_path):
    options = {"batch_size": 8, **options}
    if options.get("source") == "file":
        options["source"] = a_file(tmp_path / "shown.jsonl", 5)
    whole = an_engine(**options)
    for step in range(2):
        iterate(whole, step)
    (tmp_path / "kept").mkdir()
    whole.save(tmp_path / "kept")
    second = an_engine(**options)
    second.load(tmp_path / "kept")
    for step in range(2, 4):
        iterate(whole, step)
        iterate(second, step)
    assert same(weights(whole.policies["policy"]), weights(second.policies["policy"]))


def a_file(path, count, env=Opposites):
    player = ScriptedPolicy(lambda request: request.env.expert(request.agent))
    played = play_episodes(env, player, [1000 + n for n in range(count)], env_id="opposites_v0")
    trajectories.save(path, trajectories.to_rows(played, policy="expert"))
    return str(path)


def test_a_file_is_read_through_before_any_of_it_comes_again(tmp_path):
    """Five episodes, two an iteration: the first five are all of them, and so the next five."""
    source = a_file(tmp_path / "shown.parquet", 5)
    engine = an_engine(source=source)
    taken, orders = [], []
    for step in range(5):
        batch, metrics = iterate(engine, step, envs=2)
        taken += [episode.seed for episode in batch.episodes]
        assert [ending.success for ending in batch.endings] == [True, True]
        assert batch.endings[0].totals == {"a_0": 2.0, "b_1": 2.0}
        assert metrics["examples"] == 8
    orders = taken[:5], taken[5:]
    assert sorted(orders[0]) == sorted(orders[1]) == [1000 + n for n in range(5)]
    assert orders[0] != orders[1]
    assert engine.policies["policy"].tokens_sampled == 0
    again = an_engine(source=source)
    assert [e.seed for e in iterate(again, 0, envs=5)[0].episodes] == orders[0]
    other = an_engine(source=source)
    assert [e.seed for e in iterate(other, 3, envs=5)[0].episodes] != orders[0]


def test_a_file_of_other_agents_is_refused(tmp_path):
    source = a_file(tmp_path / "shown.jsonl", 1)
    with pytest.raises(ConfigError, match="has writer_0 and no 'a_0'"):
        an_engine(source=source, env=Parity)


def test_rows_that_do_not_fit_are_counted_and_left_out(tmp_path):
    path = tmp_path / "shown.jsonl"
    a_file(path, 2)
    rows = trajectories.load(path)
    rows[0]["prompt"] = "x" * 300  # of 256 positions
    trajectories.save(path, rows)
    _, metrics = iterate(an_engine(source=str(path)), 0, envs=2)
    assert (metrics["examples"], metrics["too_long"]) == (7, 1)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"source": "self"}, "set top, min_return or success_only"),
        ({"top": 0.0}, r"top must be in \(0, 1\]"),
        ({"top": 1.5}, r"top must be in \(0, 1\]"),
        ({"mode": "both"}, "mode must be behaviour, world_model or mix"),
        ({"mode": "world_model", "top": 0.5}, "select episodes to imitate"),
        ({"world_model_weight": 0.5}, "unless mode is 'mix'"),
        ({"mode": "mix", "world_model_weight": 0.0}, "must be above 0"),
        ({"expert_share": 0.2}, "unless source is 'mixed'"),
        ({"source": "mixed", "expert_share": 1.2}, r"in \[0, 1\]"),
        ({"epochs": 0}, "at least 1"),
        ({"learning_rate": -1.0}, "above 0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        SFTConfig(**options)


def test_unknown_names_are_refused_with_the_nearest(tmp_path):
    with pytest.raises(UnknownNameError, match="Did you mean 'expert'"):
        SFTConfig(source="exprt")
    with pytest.raises(ConfigError, match="there is no file"):
        an_engine(source=str(tmp_path / "absent.jsonl"))


def test_a_budget_counts_demonstrations_and_nothing_is_left_behind(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    run = partial(fit, NAME, Opposites, episodes_per_step=2, eval_tasks=2, quiet=True)
    player = a_player()
    result = run(
        out=tmp_path / "run", policies={"a_0": player, "b_1": player}, steps=50, token_budget=60
    )
    # 8 answers an iteration of up to 6 tokens (a letter each, or a word) and the end
    assert 1 < result.steps < 8
    assert Counter(os.listdir(tmp_path)) == Counter(["run"])
    assert capfd.readouterr().out == ""

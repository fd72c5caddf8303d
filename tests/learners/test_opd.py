"""On-policy distillation: its losses, its credit, its teachers."""

from __future__ import annotations

import json
from functools import partial
from math import log
from pathlib import Path

import pytest
import torch
from float64 import assert_equal
from tiny_models import group, model, policy, teacher, tokenizer
from toy_envs import Parities
from trl.experimental.gold.gold_trainer import GOLDTrainer
from trl.kernels.chunked_divergence import ChunkedDivergenceFunction

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import CheckpointError, ConfigError, UnknownNameError
from llmzoo.learners.opd import OPD
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.distillation import log_ratios
from llmzoo.learners.updates.policy_gradient import surrogate_loss
from llmzoo.learners.updates.teachers import assign_teachers
from llmzoo.models import scoring
from llmzoo.models.divergence import generalized_jsd
from llmzoo.models.sampling import Sampling
from llmzoo.models.tiny.tokenizer import build_tokenizer
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Group
from llmzoo.runs.policy_loading import load_policies
from llmzoo.training import fit

ANSWERS = [((20, 21, 22), (23,)), ((26, 27), (28, 29, 30, 31))]
PROMPTS = [(5, 6, 7, 8), (9, 10)]
AGENTS = ("writer_0", "writer_1")


def saved(folder: Path, player: TransformersPolicy) -> str:
    player.save(folder)
    return str(folder)


def wide(seed: int = 3) -> TransformersPolicy:
    """A teacher of another width, that pads its vocabulary."""
    sizes = {"hidden_size": 48, "vocab_size": len(tokenizer()) + 3}
    return TransformersPolicy(model("llama", seed, **sizes), tokenizer())


def an_engine(player, agents=None, **options):
    agents = agents or {"a_0": player}
    learning = {}
    for agent, own in agents.items():
        if own not in learning.values():
            learning[agent] = own
    config = OPD.Config(**{"learning_rate": 1e-2, **options})
    return LocalEngine(OPD(config), learning, agents, total_steps=10)


# What a token is worth


def test_divergences_by_hand():
    student, teacher = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.75, 0.25]).log()
    reverse = 0.5 * log(0.5 / 0.75) + 0.5 * log(0.5 / 0.25)
    forward = 0.75 * log(0.75 / 0.5) + 0.25 * log(0.25 / 0.5)
    # the mixture of both is 5/8 and 3/8
    middle = 0.5 * (0.75 * log(6 / 5) + 0.25 * log(2 / 3)) + 0.5 * (
        0.5 * log(4 / 5) + 0.5 * log(4 / 3)
    )
    # a quarter of the teacher: 9/16 and 7/16
    quarter = 0.25 * (0.75 * log(4 / 3) + 0.25 * log(4 / 7)) + 0.75 * (
        0.5 * log(8 / 9) + 0.5 * log(8 / 7)
    )
    for beta, expected in ((0.0, forward), (1.0, reverse), (0.5, middle), (0.25, quarter)):
        assert generalized_jsd(student, teacher, beta).item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("beta", [0.0, 0.3, 1.0])
def test_tokens_without_probability_count_for_nothing(beta):
    both = torch.tensor([[0.5, 0.5, 0.0]]).log()
    assert generalized_jsd(both, both, beta).tolist() == [0.0]


def test_log_ratios_by_hand():
    teacher = torch.tensor([-1.0, -0.5, -2.0])
    assert log_ratios((-2.0, -0.5, -1.5), teacher, 0.0).tolist() == [1.0, 0.0, -0.5]
    # the last -0.5; then 0 + half of it; then 1 + half of that
    assert log_ratios((-2.0, -0.5, -1.5), teacher, 0.5).tolist() == [0.875, -0.25, -0.5]
    assert log_ratios((-2.0, -0.5, -1.5), teacher, 1.0).tolist() == [0.5, -0.5, -0.5]


@pytest.mark.usefixtures("float64")
def test_credit_by_hand(tmp_path):
    """The teacher's log-probability above the student's, and a tenth of the return above the mean."""
    other = saved(tmp_path / "teacher", policy(seed=3))
    engine = an_engine(policy(), teacher=other, reward_weight=0.1, group_size=2)
    made = group([(20, 21, 22), (23,)], [1.0, 0.0])  # each sampled with log-probability -1
    (credited,) = engine.updater._score_groups(engine.learner, [made])
    wanted = policy(seed=3).likelihood([made]).logprobs.detach()
    wanted_mean = float(wanted.sum()) / 4
    wanted += 1 + 0.1 * torch.tensor([[0.5], [-0.5]])
    wanted[1, 1:] = 0
    torch.testing.assert_close(credited.advantages, wanted)
    apart = -1 - wanted_mean  # of four tokens
    assert engine.updater._mean_divergence == pytest.approx(apart, rel=1e-5)


@pytest.mark.usefixtures("float64")
def test_the_expected_gradient_is_that_of_the_reverse_kl(tmp_path):
    """Every token once, weighed by its probability: what sampling does on average."""
    player = policy(sampling=Sampling(max_new_tokens=1))
    other = saved(tmp_path / "teacher", policy(seed=3))
    vocabulary = range(player.model.config.vocab_size)
    every = group([(token,) for token in vocabulary])
    with torch.no_grad():
        own = player.likelihood([every]).logprobs.squeeze(1)
    sampled = tuple(
        Completion(text="", prompt_ids=c.prompt_ids, ids=c.ids, logprobs=(lp,))
        for c, lp in zip(every.completions, own.tolist(), strict=True)
    )
    made = Group(
        **{n: getattr(every, n) for n in ("agent", "turn", "key", "prompt_ids", "returns")},
        completions=sampled,
    )
    engine = an_engine(player, teacher=other)
    (credited,) = engine.updater._score_groups(engine.learner, [made])
    weighed = ScoredGroup(made, credited.advantages * own.exp().unsqueeze(1))
    loss, _ = surrogate_loss(player, [weighed], OPD.Config(teacher=other), rows=1, tokens=1)
    loss.backward()
    ours = {n: p.grad.clone() for n, p in player.model.named_parameters()}
    player.model.zero_grad()
    one = group([(20,)])
    target = engine.updater.teachers.target([one], player, 1.0)
    player.likelihood([one], target=target).divergence.sum().backward()
    for name, parameter in player.model.named_parameters():
        assert_equal(ours[name], parameter.grad, name)


# The whole distributions, as in TRL


def two_groups():
    return [
        group(list(answers), prompt=prompt)
        for answers, prompt in zip(ANSWERS, PROMPTS, strict=True)
    ]


def read(body, with_hidden=False):
    """Logits, or the states before them, [10, .] before each token of the answers, by transformers alone."""
    found = []
    for prompt, answers in zip(PROMPTS, ANSWERS, strict=True):
        for ids in answers:
            out = body(torch.tensor([[*prompt, *ids]]), output_hidden_states=with_hidden)
            rows = out.hidden_states[-1] if with_hidden else out.logits
            found.append(rows[0, len(prompt) - 1 : -1])
    return torch.cat(found)


def gradients(body, loss):
    body.zero_grad()
    loss.backward()
    return {name: p.grad.clone() for name, p in body.named_parameters()}


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("beta", "per_iteration"), [(0.0, 1), (0.3, 2**23), (1.0, 1)])
def test_the_divergence_is_that_of_trl(beta, per_iteration, tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "_CPU_LOGITS", per_iteration)
    player = policy(sampling=Sampling(temperature=0.7, top_k=5, max_new_tokens=8))
    other = saved(tmp_path / "teacher", wide())
    options = {"loss": "jsd", "beta": beta, "teacher": other}
    engine = an_engine(player, **options)
    part = [ScoredGroup(g, torch.zeros(2)) for g in two_groups()]
    loss, metrics = engine.updater._loss("a_0", player)(part, rows=4, tokens=10)
    ours = gradients(player.model, loss)
    assert float(metrics["teacher_divergence"]) == pytest.approx(10 * loss.item())

    size = len(tokenizer())
    body = wide().model
    theirs = GOLDTrainer.generalized_jsd_loss(
        read(player.model), read(body)[:, :size], beta=beta, temperature=0.7
    )
    assert_equal(loss, theirs)
    for name, wanted in gradients(player.model, theirs).items():
        assert_equal(ours[name], wanted, name)
    # and of the trainer that TRL has for it
    apart, _ = ChunkedDivergenceFunction.apply(
        read(player.model, with_hidden=True),
        player.model.lm_head.weight,
        None,
        read(body, with_hidden=True),
        body.lm_head.weight[:size],
        None,
        beta,
        0.7,
    )
    assert_equal(loss, apart.mean())
    for name, wanted in gradients(player.model, apart.mean()).items():
        assert_equal(ours[name], wanted, name)


@pytest.mark.usefixtures("float64")
def test_each_agent_has_its_own_teacher_within_one_pass(tmp_path):
    player = policy()
    names = {a: saved(tmp_path / a, t) for a, t in (("a", wide()), ("b", policy(seed=4)))}
    agents = dict.fromkeys("ab", player)
    engine = an_engine(player, agents, loss="jsd", teacher=names, reduction="sequence_sum")
    parts = [group([(20, 21), (22,)], agent=a, prompt=(5, 6)) for a in "aba"]
    target = engine.updater.teachers.target(parts, player, 0.5)
    found = player.likelihood(parts, target=target).divergence
    for agent, rows in (("a", (0, 1, 4, 5)), ("b", (2, 3))):
        alone = an_engine(player, {agent: player}, loss="jsd", teacher=names[agent])
        mine = [p for p in parts if p.agent == agent]
        wanted = alone.updater.teachers.target(mine, player, 0.5)
        assert_equal(found[list(rows)], player.likelihood(mine, target=wanted).divergence)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("options", [{}, {"loss": "jsd"}, {"loss": "jsd", "beta": 1.0}])
def test_nothing_is_learned_from_oneself(options, tmp_path):
    player = policy(sampling=Sampling(max_new_tokens=3))
    engine = an_engine(
        player,
        {"writer_0": player},
        teacher=saved(tmp_path / "same", policy()),
        reduction="sequence_sum",
        **options,
    )
    metrics = engine.update(engine.collect(partial(Parities, 1), range(4)), seed=0)
    assert metrics["teacher_divergence"] == pytest.approx(0, abs=1e-5)
    assert metrics["grad_norm"] < 1e-3


# Teachers


def lora_agents(folder, **options):
    return load_policies(
        AGENTS,
        AgentSettings(
            policies="lora",
            model=folder,
            sampling=Sampling(max_new_tokens=2),
            lora_args={"r": 2},
            **options,
        ),
    )


def disturb(player):
    with torch.no_grad():
        for parameter in player.parameters():
            parameter += 0.1 * torch.randn_like(parameter)


@pytest.mark.slow
@pytest.mark.parametrize("loss", ["reverse_kl", "jsd"])
def test_adapters_learn_from_adapters_on_their_own_base(loss, tmp_path):
    folder = saved(tmp_path / "base", policy())
    _, trained = lora_agents(folder)
    torch.manual_seed(0)
    for name, player in trained.items():
        disturb(player)
        player.save(tmp_path / name)
    names = {name: str(tmp_path / name) for name in trained}
    agents, learning = lora_agents(folder)
    student = learning["writer_0"]
    kept = {n: p.detach().clone() for n, p in student.model.named_parameters() if "lora" not in n}
    learner = OPD(OPD.Config(teacher=names, loss=loss, learning_rate=1e-2))
    engine = LocalEngine(learner, learning, agents, total_steps=4)
    teachers = engine.updater.teachers._by_agent
    assert all(t.model is student.model for t in teachers.values())
    made = group([(20, 21)], agent="writer_1")
    for name, taught in teachers.items():
        found, wanted = taught.likelihood([made]), trained[name].likelihood([made])
        torch.testing.assert_close(found.logprobs, wanted.logprobs)
        assert taught.parameters() == []
    before = {name: taught.likelihood([made]).logprobs for name, taught in teachers.items()}
    engine.update(engine.collect(Parities, range(4)), seed=0)
    now = dict(student.model.named_parameters())
    assert all(torch.equal(weight, now[name]) for name, weight in kept.items())
    for name, taught in teachers.items():
        torch.testing.assert_close(before[name], taught.likelihood([made]).logprobs)
        assert all(p.requires_grad for p in learning[name].parameters())


def test_the_base_of_an_adapter_teaches_without_a_copy(tmp_path):
    folder = saved(tmp_path / "base", policy())
    agents, learning = lora_agents(folder)
    engine = LocalEngine(OPD(OPD.Config(teacher=folder)), learning, agents, total_steps=4)
    for taught in engine.updater.teachers._by_agent.values():
        assert taught.model is learning["writer_0"].model
        assert taught.adapter is None
    made = group([(20, 21)], agent="writer_1")
    disturb(learning["writer_1"])
    wanted = policy().likelihood([made]).logprobs
    (found,) = engine.updater.teachers.logprobs([made], learning["writer_1"])
    torch.testing.assert_close(found, wanted[0].detach())


def test_one_teacher_of_two_models_is_loaded_once(tmp_path):
    name = saved(tmp_path / "teacher", wide())
    agents = {agent: policy(seed=seed) for seed, agent in enumerate(AGENTS)}
    engine = an_engine(None, agents, teacher=name)
    one, other = engine.updater.teachers._by_agent.values()
    assert one is other
    assert not any(p.requires_grad for p in one.model.parameters())


def test_two_separately_trained_agents_become_one_model(tmp_path):
    """The teacher of an agent is the run's policy for it."""
    specialists = {agent: policy(seed=seed) for seed, agent in enumerate(AGENTS)}
    for player in specialists.values():
        player.sampling = Sampling(max_new_tokens=2)
    settings = {"steps": 1, "episodes_per_step": 2, "eval_tasks": 2, "quiet": True}
    fit("sft", Parities, out=tmp_path / "run", policies=specialists, **settings)
    student = policy(seed=5, sampling=Sampling(max_new_tokens=2))
    engine = an_engine(student, dict.fromkeys(AGENTS, student), teacher=str(tmp_path / "run"))
    made = group([(20, 21)])
    for agent, taught in engine.updater.teachers._by_agent.items():
        wanted = specialists[agent].likelihood([made]).logprobs
        torch.testing.assert_close(taught.likelihood([made]).logprobs, wanted)


def test_a_teacher_of_another_tokenizer_is_refused(tmp_path):
    other = build_tokenizer(["other words"] * 2)
    body = model(vocab_size=len(other))
    name = saved(tmp_path / "other", TransformersPolicy(body, other))
    with pytest.raises(ConfigError, match=f"teacher '{name}' and the student 'qwen2' have differ"):
        an_engine(policy(), teacher=name)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (None, "needs a teacher: set teacher to a model"),
        ("expert", "'expert' cannot teach"),
        ("openai:gpt@http://localhost:1", "cannot teach"),
        ("grpc://localhost:1", "write openai:MODEL@URL"),
        ({"a": "tiny"}, "no teacher for b: name one for each agent"),
    ],
)
def test_who_cannot_teach(given, said):
    with pytest.raises(ConfigError, match=said):
        assign_teachers(given, ["a", "b"])


def test_a_teacher_for_no_agent():
    with pytest.raises(UnknownNameError, match=r"'writr_0'\. Did you mean 'writer_0'"):
        OPD(OPD.Config(teacher={"writr_0": "tiny"})).check(Parities(), ["writer_0"])


@pytest.mark.usefixtures("float64")
def test_a_model_that_is_trained_apart_has_the_teacher_of_its_agent(tmp_path):
    """A process that trains one model of two, as update workers do."""
    names = {agent: saved(tmp_path / agent, policy(seed=n)) for n, agent in enumerate(AGENTS, 3)}
    student = policy()
    apart = an_engine(student, {AGENTS[1]: student}, teacher=names)
    (taught,) = apart.updater.teachers._by_agent.values()
    made = group([(20, 21)])
    wanted = policy(seed=4).likelihood([made]).logprobs
    torch.testing.assert_close(taught.likelihood([made]).logprobs, wanted)


def test_a_teacher_that_reads_less_is_refused(tmp_path):
    short = TransformersPolicy(model(max_position_embeddings=128), tokenizer())
    with pytest.raises(
        ConfigError, match="a context of 128 tokens, and the student 'qwen2' one of 256"
    ):
        an_engine(policy(), teacher=saved(tmp_path / "short", short))


def test_another_teacher_after_resuming_is_refused(tmp_path):
    one, other = (saved(tmp_path / str(seed), policy(seed=seed)) for seed in (3, 4))
    engine = an_engine(policy(), teacher=one)
    (tmp_path / "saved").mkdir()
    engine.updater.save(tmp_path / "saved")
    an_engine(policy(), teacher=one).updater.load(tmp_path / "saved")
    with pytest.raises(CheckpointError, match="'a_0' has a different teacher"):
        an_engine(policy(), teacher=other).updater.load(tmp_path / "saved")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loss": "kl"}, "loss must be reverse_kl or jsd"),
        ({"beta": 0.5}, "requires loss='jsd'"),
        ({"loss": "jsd", "beta": 1.5}, r"beta must be in \[0, 1\]"),
        ({"discount": 2.0}, "discount must be in"),
        ({"discount": 0.5, "loss": "jsd"}, "requires loss='reverse_kl'"),
        ({"reward_weight": -1.0}, "at least 0"),
        ({"reward_weight": 1.0}, "set group_size to at least 2, or role_baseline"),
        ({"zero_variance_groups": "drop", "group_size": 2}, "set zero_variance_groups='keep'"),
        ({"normalize": True, "group_size": 2}, "normalize requires reward_weight"),
        ({"role_baseline": 0.9}, "role_baseline requires reward_weight"),
        ({"rewards": ("scale 2",)}, "rewards requires reward_weight"),
        ({"gamma": 0.9}, "gamma requires reward_weight"),
        ({"whiten": True}, "whiten requires reward_weight"),
        ({"loss": "jsd", "clip": 0.2}, "no ratio to clip"),
    ],
)
def test_settings_without_effect_are_refused(options, said):
    with pytest.raises(ConfigError, match=said):
        OPD.Config(teacher="tiny", **options)


@pytest.mark.filterwarnings("error::llmzoo.errors.ZeroVarianceWarning")
def test_advantages_are_recorded(tmp_path):
    player = policy(sampling=Sampling(max_new_tokens=2))
    for loss in ("reverse_kl", "jsd"):
        fit(
            "opd",
            partial(Parities, 1),
            out=tmp_path / loss,
            policies={"writer_0": player},
            learner_args={"teacher": teacher(), "loss": loss},
            steps=1,
            episodes_per_step=2,
            eval_tasks=2,
            quiet=True,
        )
        lines = (tmp_path / loss / "played.jsonl").read_text().splitlines()
        turns = [turn for line in lines for turn in json.loads(line)["turns"]]
        advantages = [a["advantage"] for turn in turns for a in turn["answers"]]
        assert advantages
        assert all((a is None) == (loss == "jsd") for a in advantages)

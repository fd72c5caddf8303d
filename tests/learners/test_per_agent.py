"""Each agent its own learner: credit, loss and tree, and what one tree cannot serve."""

from dataclasses import replace

import pytest
import torch
from float64 import LIMIT
from tiny_models import FakePolicy, model, policy, tokenizer
from toy_envs import Matcher, Parities

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_class
from llmzoo.learners.make import build_learner
from llmzoo.learners.per_agent import PerAgentLearner
from llmzoo.learners.updates.microbatches import make_microbatches
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion, Group
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.runs import checkpoints
from llmzoo.training import fit, loop

AGENTS = ("writer_0", "writer_1")


def learner(name, **options):
    cls = learner_class(name)
    return cls(cls.Config(**{"learning_rate": 1e-2, **options}))


def players(arrangement):
    def one(seed):
        body = model(seed=seed, initializer_range=0.1)
        return TransformersPolicy(body, tokenizer(), sampling=Sampling(max_new_tokens=2))

    if arrangement == "shared":
        return dict.fromkeys(AGENTS, one(0))
    return {agent: one(seed) for seed, agent in enumerate(AGENTS)}


def an_engine(made, arrangement="shared"):
    agents = players(arrangement)
    learning = {"policy": agents[AGENTS[0]]} if arrangement == "shared" else agents
    return LocalEngine(made, learning, agents, total_steps=5)


def weights_after(made, arrangement, batches=2):
    """The weights of both agents after some batches, and the metrics of the last."""
    engine = an_engine(made, arrangement)
    for step in range(batches):
        engine.reseed(engine.agent_policies, range(step, step + len(engine.policies)))
        learned = engine.update(engine.collect(Parities, range(6 * step, 6 * step + 6)), seed=step)
    return [dict(engine.agent_policies[s].model.named_parameters()) for s in AGENTS], learned


def a_group(agent, returns, ids=(20, 21, 22, 23), truncated=()):
    answers = tuple(
        Completion(
            text="", prompt_ids=(5, 6), ids=(i, 0), logprobs=(-1.0, -1.0), truncated=n in truncated
        )
        for n, i in enumerate(ids)
    )
    return Group(
        agent=agent,
        turn=0,
        key=(0, agent),
        prompt_ids=(5, 6),
        completions=answers,
        returns=tuple(returns),
    )


ONE, OTHER = a_group(AGENTS[0], [1.0, 0.0, 0.5, 0.5]), a_group(AGENTS[1], [1.0, 0.0, 0.5, 0.5])


def advantages(engine, *groups):
    engine.update(Batch(groups=groups), seed=0)
    return {c.group.agent: c.advantages.tolist() for c in engine.updater.used}


@pytest.mark.parametrize("arrangement", ["shared", "separate"])
def test_each_agent_is_judged_by_its_own_learner(arrangement):
    """magrpo: the returns less 1/2. marloo: 4/3 of that, over the deviation sqrt(1/8)."""
    made = PerAgentLearner(learner("magrpo"), {AGENTS[1]: learner("marloo", normalize=True)})
    found = advantages(an_engine(made, arrangement), ONE, OTHER)
    assert found[AGENTS[0]] == [0.5, -0.5, 0.0, 0.0]
    assert found[AGENTS[1]] == pytest.approx([4 / 3 * 2**0.5, -4 / 3 * 2**0.5, 0, 0], abs=1e-4)


def test_one_agent_has_a_running_mean_and_its_own_returns(tmp_path):
    """The mean starts at 0 and, with decay 1/2, keeps 1/16 of that over four answers: 15/16 of the mean 1."""
    own = learner("marloo", role_baseline=0.5, rewards=("scale 2",))
    engine = an_engine(PerAgentLearner(learner("magrpo"), {AGENTS[1]: own}))
    assert advantages(engine, ONE, OTHER) == {
        AGENTS[0]: [0.5, -0.5, 0.0, 0.0],
        AGENTS[1]: [2.0, 0.0, 1.0, 1.0],
    }
    assert engine.updater.roles.means == {AGENTS[1]: 15 / 16}
    engine.save(tmp_path)
    resumed = an_engine(PerAgentLearner(learner("magrpo"), {AGENTS[1]: own}))
    resumed.load(tmp_path)
    assert advantages(resumed, OTHER)[AGENTS[1]] == [2 - 15 / 16, -15 / 16, 1 / 16, 1 / 16]


def test_a_role_is_shared_by_agents_with_one_learner_and_one_policy():
    """The run's learner has the role writer_*, and so has that of the second agent, which is another one."""
    options = {"role_baseline": 0.5, "roles": ("writer_*",)}
    together = an_engine(learner("magrpo", **options))
    advantages(together, ONE, OTHER)
    assert set(together.updater.roles.means) == {AGENTS[0]}
    apart = (
        an_engine(
            PerAgentLearner(learner("magrpo", **options), {AGENTS[1]: learner("marloo", **options)})
        ),
        an_engine(learner("magrpo", **options), "separate"),
    )
    for engine in apart:
        advantages(engine, ONE, OTHER)
        assert set(engine.updater.roles.means) == set(AGENTS)


def test_filters_are_those_of_the_agent():
    same = replace(ONE, returns=(0.5,) * 4), replace(OTHER, returns=(0.5,) * 4)
    own = learner("mareinforce", zero_variance_groups="drop")
    engine = an_engine(PerAgentLearner(learner("mareinforce"), {AGENTS[1]: own}))
    assert advantages(engine, *same) == {AGENTS[0]: [0.5] * 4}
    cut = [a_group(s, [1.0, 0.0], ids=(20, 21), truncated=(0,)) for s in AGENTS]
    own = learner("mareinforce", mask_truncated=True)
    engine = an_engine(PerAgentLearner(learner("mareinforce"), {AGENTS[1]: own}))
    assert advantages(engine, *cut) == {AGENTS[0]: [1.0, 0.0], AGENTS[1]: [0.0]}


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
def test_the_same_learner_for_each_agent_is_one_learner():
    """With weights of their own bit for bit; with shared ones a part's loss is a sum over agents."""
    options = {"clip": 0.2, "epochs": 2, "minibatches": 2, "entropy": 0.01, "kl": 0.1}
    for arrangement, limit in (("separate", 0.0), ("shared", LIMIT)):
        plain, told = weights_after(learner("magrpo", **options), arrangement)
        own = {AGENTS[1]: learner("magrpo", **options)}
        agents, said = weights_after(
            PerAgentLearner(learner("magrpo", **options), own), arrangement
        )
        assert told.keys() == said.keys()
        assert list(said.values()) == pytest.approx(list(told.values()), rel=1e-6, abs=LIMIT)
        for one, other in zip(plain, agents, strict=True):
            assert all(float((one[n] - other[n]).detach().abs().max()) <= limit for n in one)


@pytest.mark.usefixtures("float64")
def test_a_part_has_groups_of_one_loss_which_is_that_of_the_agents_learner():
    """So each part is one pass through the model, and the ranks of a sharded one stay in step."""
    player = policy()
    first = learner("magrpo", reduction="sequence_mean")
    second = learner("marloo", clip=0.2, entropy=0.5)
    made = PerAgentLearner(first, {AGENTS[1]: second}).for_agents(AGENTS)
    (one,), (other,) = first.compute_advantages([ONE]), second.compute_advantages([OTHER])
    assert len(make_microbatches(player, [one, other], 1000)) == 1
    cut = make_microbatches(player, [one, other], 1000, loss_key=made.for_agent)
    assert [[c.group.agent for c in part] for part in cut] == [[AGENTS[0]], [AGENTS[1]]]
    options = {"rows": 8, "tokens": 16, "reference": None}
    for part, own in zip(cut, (first, second), strict=True):
        value, metrics = made.loss(player, part, **options)
        assert value.item() == own.loss(player, part, **options)[0].item()
        assert metrics["tokens"] == 8
    assert "clip_fraction" in metrics
    assert made.config.includes_zero_advantage


def test_a_tree_has_what_each_agent_needs():
    """The agent with ccpo has counterfactual returns; both have the greedy return, which maremax needs."""
    answers = {"a_0": "21", "b_1": "36"}
    player = FakePolicy(lambda request, i: answers[request.agent][i])
    own = {"a_0": learner("ccpo", group_size=2), "b_1": learner("maremax", group_size=2)}
    made = PerAgentLearner(learner("magrpo", group_size=2), own)
    env = Matcher()
    env.reset(seed=0)
    (batch,) = run_rollouts(
        [made.plan.rollout(env, 0, list(answers))], dict.fromkeys(answers, player)
    )
    a, b = batch.groups
    assert (a.counterfactual_returns, b.counterfactual_returns) == ((1 * 3 + 1.0, 2 * 6 + 2.0), ())
    assert b.greedy == 1 * 6 + 6.0


def test_agents_of_agent_turn_trees_may_differ_too():
    made = PerAgentLearner(
        learner("at_grpo", normalize=True), {AGENTS[1]: learner("at_grpo", clip=0.1)}
    )
    engine = an_engine(made)
    found = advantages(engine, ONE, OTHER)
    assert found[AGENTS[0]] == pytest.approx([2**0.5, -(2**0.5), 0, 0], abs=1e-4)
    assert found[AGENTS[1]] == [0.5, -0.5, 0.0, 0.0]
    assert {g.agent for g in engine.collect(Parities, [0]).groups} == set(AGENTS)


def test_an_agent_that_wants_more_play_gets_it():
    own = learner("magrpo", zero_variance_groups="resample")
    made = PerAgentLearner(learner("magrpo"), {AGENTS[1]: own})
    flat = replace(OTHER, returns=(0.5,) * 4)
    assert made.wants_more(Batch(groups=(ONE, flat)), 0)
    assert not made.wants_more(Batch(groups=(replace(ONE, returns=(0.5,) * 4), OTHER)), 0)


# settings: what a run of magrpo takes for one agent


def test_an_agent_takes_the_runs_options_and_its_own():
    args = {"group_size": 6, "clip": 0.2, "normalize": True}
    agents = {
        "a": {"learner": "marloo", "learner_args": {"normalize": False}},
        "b": {"frozen": True},
    }
    made = build_learner("magrpo", args, agents)
    own = made.for_agent("a").config
    assert (own.group_size, own.clip, own.normalize) == (6, 0.2, False)
    assert made.for_agent("b") is made.others
    # the default of maxrl is 16 answers, that of the run's learner 4
    made = build_learner("magrpo", {}, {"a": {"learner": "maxrl"}})
    assert made.for_agent("a").config.group_size == 4
    assert type(build_learner("magrpo", args, {"b": {"frozen": True}})).__name__ == "MAGRPO"


@pytest.mark.parametrize(
    ("name", "agent", "why"),
    [
        ("magrpo", {"learner": "at_grpo"}, "whose tree differs from that of MAGRPO"),
        ("at_grpo", {"learner": "marloo"}, "whose tree differs from that of ATGRPO"),
        ("magrpo", {"learner": "ippo"}, "'ippo' has no groups for each agent"),
        ("mappo", {"learner": "magrpo"}, "'mappo' has no groups for each agent"),
        ("ippo", {"learner_args": {"clip": 0.1}}, "'ippo' has no groups for each agent"),
        ("magrpo", {"learner": "opd", "learner_args": {"teacher": "tiny"}}, "its own updater"),
        ("magrpo", {"learner": "grpo"}, "'grpo' is for one agent"),
        ("magrpo", {"learner_args": {"group_size": 8}}, "group_size=8 and the run group_size=4"),
        ("magrpo", {"learner_args": {"mode": "cross"}}, "share one tree"),
        ("at_grpo", {"learner_args": {"select": "greedy"}}, "share one tree"),
    ],
)
def test_what_one_tree_cannot_serve_is_refused(name, agent, why):
    with pytest.raises(ConfigError, match=why):
        build_learner(name, {}, {"a": agent})


def test_unknown_names_have_the_nearest():
    with pytest.raises(UnknownNameError, match="marloo"):
        build_learner("magrpo", {}, {"a": {"learner": "marlo"}})
    with pytest.raises(UnknownNameError, match="normalize"):
        build_learner(
            "magrpo", {}, {"a": {"learner": "marloo", "learner_args": {"normalise": True}}}
        )


def test_agents_that_share_weights_have_one_optimiser():
    own = {AGENTS[1]: learner("magrpo", learning_rate=1e-3)}
    with pytest.raises(ConfigError, match=r"one update, but learning_rate is 0.001 and 0.01"):
        an_engine(PerAgentLearner(learner("magrpo"), own))
    engine = an_engine(PerAgentLearner(learner("magrpo"), own), "separate")
    rates = [engine.updater.optimizers[agent].rate for agent in AGENTS]
    assert rates == [1e-2, 1e-3]


def test_an_agent_that_does_not_learn_has_no_learner(tmp_path):
    with pytest.raises(ConfigError, match=r"does not learn.*leave out learner"):
        fit(
            "magrpo",
            "sudoku_v0",
            out=tmp_path / "run",
            policies="planner_1",
            agent_args={"proposer_0": {"learner": "marloo"}},
        )


# runs

SETTINGS = {
    "steps": 5,
    "episodes_per_step": 3,
    "checkpoint_every": 2,
    "eval_tasks": 2,
    "quiet": True,
    "max_new_tokens": 2,
    "trackers": (),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path)
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize("arrangement", ["shared", "lora"])
def test_a_run_that_was_stopped_goes_on_exactly(arrangement, folder, tmp_path, monkeypatch):
    agent = {"learner": "marloo", "learner_args": {"role_baseline": 0.9, "entropy": 0.01}}
    args = {"learning_rate": 1e-3, "clip": 0.2, "kl": 0.1, "replay": 1}

    def played(name, resume=False):
        fit(
            "magrpo",
            "toy_envs:Parities",
            out=tmp_path / name,
            resume=resume,
            model=folder,
            policies=arrangement,
            agent_args={AGENTS[1]: agent},
            learner_args=args,
            **SETTINGS,
        )

    played("whole")
    iterate = loop._iterate

    def stopped(session, step):
        if step == 3:
            raise KeyboardInterrupt
        return iterate(session, step)

    monkeypatch.setattr(loop, "_iterate", stopped)
    with pytest.raises(KeyboardInterrupt):
        played("stopped")
    monkeypatch.undo()
    played("stopped", resume=True)
    ends = [
        checkpoints.latest_checkpoint(tmp_path / name / "checkpoints")
        for name in ("whole", "stopped")
    ]
    files = [sorted(p.relative_to(end) for p in end.rglob("*") if p.is_file()) for end in ends]
    assert files[0] == files[1]
    assert any(p.name == "roles.json" for p in files[0])
    for path in files[0]:
        assert (ends[0] / path).read_bytes() == (ends[1] / path).read_bytes(), path


@pytest.mark.slow
def test_agents_learn_by_different_learners(tmp_path):
    """As every learner in test_learns.py: two agents, one weight for both, chance gives a quarter."""
    player = TransformersPolicy(
        model(initializer_range=0.1), tokenizer(), sampling=Sampling(max_new_tokens=1)
    )
    options = {"learning_rate": 1e-2, "group_size": 8}
    own = {AGENTS[0]: learner("ccpo", **options), AGENTS[1]: learner("maxrl", **options)}
    result = fit(
        PerAgentLearner(learner("magrpo", **options), own),
        Parities,
        out=tmp_path / "run",
        policies=dict.fromkeys(AGENTS, player),
        steps=25,
        episodes_per_step=16,
        eval_tasks=100,
        quiet=True,
    )
    assert result.before["success"] < 0.4
    assert result.after["success"] >= 0.9
    assert torch.isfinite(player.model.get_output_embeddings().weight).all()

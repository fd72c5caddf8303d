"""Whole runs with the engine ray: every kind of learner, arrangement and division of the work."""

import json
import re
from functools import partial
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import model, needed, teacher, tokenizer
from toy_envs import Parities

from llmzoo.engine.base import iteration_seeds
from llmzoo.engine.ray import RayArgs
from llmzoo.engine.ray.engine import ray_engine
from llmzoo.engine.ray.run_spec import RunSpec
from llmzoo.errors import WorkerError
from llmzoo.policies import expert
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import trajectories
from llmzoo.rollout.episodes import play_episodes
from llmzoo.runs import checkpoints
from llmzoo.training import fit, loop

pytestmark = pytest.mark.slow

SMALL = {
    "steps": 3,
    "episodes_per_step": 4,
    "eval_tasks": 4,
    "checkpoint_every": 2,
    "max_new_tokens": 3,
}
# with two policies that are learned apart, and one worker that plays, three have room on 2 CPUs
APART = {"rollout_cpus": 1, "update_cpus": 0.5, "start_seconds": 1800}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path)
    return str(path)


@pytest.fixture
def train(cluster, folder, tmp_path):
    """``train(name, learner, engine="ray")`` makes a run; gives its folder."""

    def run(name, learner, *, resume=False, **settings):
        own = settings.pop("learner_args", {})
        learner_args = {"learning_rate": 1e-3, **needed(learner), **own}
        given = {**SMALL, "env": "toy_envs:Parities", "model": folder, **settings}
        if given.get("engine") == "ray":
            given["engine_args"] = {**APART, **given.get("engine_args", {})}
        out = tmp_path / name
        fit(learner, out=out, resume=resume, learner_args=learner_args, quiet=True, **given)
        return out

    return run


def rows(run):
    """Metrics without what depends on the clock."""
    timed = ("seconds", "per_second")
    results = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if not k.endswith(timed)} for r in results]


def kept(run):
    """The content of every file of the newest checkpoint, by its path."""
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    paths = [path for path in newest.rglob("*") if path.is_file()]
    return {str(path.relative_to(newest)): path.read_bytes() for path in paths}


def gap(one, other, start):
    """How far two runs' weights are from one another, over how far training has moved them."""
    began = load_file(Path(start) / "model.safetensors")
    apart, moved = [], []
    for path in checkpoints.latest_checkpoint(one / "checkpoints").rglob("model.safetensors"):
        there = checkpoints.latest_checkpoint(other / "checkpoints") / path.parent.name / path.name
        ours, theirs = load_file(path), load_file(there)
        apart += [(ours[name] - theirs[name]).norm() for name in ours]
        moved += [(ours[name] - began[name]).norm() for name in ours]
    return (torch.stack(apart).norm() / torch.stack(moved).norm()).item()


TEACHERS = {"writer_0": teacher(), "writer_1": teacher()}
# a learner of its own, with a state and a loss that the others lack
OWN = {"learner": "marloo", "learner_args": {"role_baseline": 0.9, "entropy": 0.01}}
# two agents share one model, the third has one of its own
THREE = {
    "env_args": {"num_agents": 3},
    "policies": {"writer_0": "pair", "writer_1": "pair", "writer_2": "single"},
}

CHOSEN = ("remembered",)  # of every commit: with what is remembered from batch to batch
RUNS = {
    "groups": ("magrpo", {"policies": "separate"}),
    "one agent": ("magrpo", {"policies": "writer_1"}),
    "remembered": (
        "magrpo",
        {
            "policies": "separate",
            "learner_args": {
                **{"role_baseline": 0.9, "zero_variance_groups": "resample"},
                **{"replay": 2, "clip": 0.2, "kl": 0.1},
            },
        },
    ),
    "ahead": ("at_grpo", {"policies": "lora", "max_off_policy_steps": 1}),
    "critics": ("ippo", {"policies": "separate"}),
    "central critic": ("mappo", {"policies": "separate"}),
    "value heads": ("ippo", {"policies": "lora", "learner_args": {"critic": "value_head"}}),
    "preferences": ("dpo", {"policies": "lora", "learner_args": {"rounds": 2}}),
    "references": ("dpo", {"policies": "separate", "learner_args": {"rounds": 0}}),
    "joint preferences": ("madpo", {"policies": "lora", "learner_args": {"rounds": 3}}),
    "demonstrations": ("sft", {"policies": "separate"}),
    "a learner of an agent": ("magrpo", {"policies": "separate", "agent_args": {"writer_1": OWN}}),
    "a learner of an agent that shares": (
        "magrpo",
        {"policies": "shared", "agent_args": {"writer_1": OWN}},
    ),
    "teacher": (
        "opd",
        {"policies": "shared", "learner_args": {"reward_weight": 0.5, "group_size": 2}},
    ),
    "teachers": ("opd", {"policies": "separate", "learner_args": {"teacher": TEACHERS}}),
    "teacher of adapters": ("opd", {"policies": "lora"}),
    "named models": (
        "magrpo",
        {**THREE, "learner_args": {"role_baseline": 0.9, "roles": ["writer_*"]}},
    ),
    "named adapters": (
        "maxrl",
        {**THREE, "model_args": {"pair": {"form": "lora"}, "single": {"form": "lora"}}},
    ),
    "a learner of an agent beside named models": (
        "magrpo",
        {**THREE, "agent_args": {"writer_2": OWN}},
    ),
    "teacher of named models": ("opd", THREE),
}


@pytest.mark.parametrize(
    "name",
    [
        name
        if name in CHOSEN
        else pytest.param(
            name, marks=pytest.mark.long("the full matrix of learners and agents on Ray")
        )
        for name in RUNS
    ],
)
def test_it_is_the_run_of_the_local_engine(name, train):
    learner, settings = RUNS[name]
    local = train("local", learner, **settings)
    ray = train("ray", learner, engine="ray", **settings)
    assert rows(ray) == rows(local)
    assert kept(ray) == kept(local)
    played = (ray / "played.jsonl").read_bytes()
    assert played == (local / "played.jsonl").read_bytes()
    valued = re.search(r'"advantage": -?\d', played.decode())  # of answers that were learned from
    assert (valued is None) == (learner in ("dpo", "madpo", "sft"))


@pytest.mark.long("the full matrix of learners and agents on Ray")
def test_demonstrations_of_a_file(train, tmp_path):
    """Its lines follow one another, whoever plays them; seven of them, so that order matters."""
    file = tmp_path / "demonstrations.jsonl"
    played = play_episodes(Parities, expert(), list(range(7)))
    trajectories.save(file, trajectories.to_rows(played))
    options = {"policies": "separate", "learner_args": {"source": str(file)}}
    local = train("local", "sft", **options)
    ray = train("ray", "sft", engine="ray", engine_args={"shares": 3}, **options)
    assert kept(ray) == kept(local)


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        (
            "at_grpo",
            {"policies": "separate", "max_off_policy_steps": 1, "learner_args": {"kl": 0.1}},
        ),
        *(
            pytest.param(
                *RUNS[name],
                marks=pytest.mark.long("switching engines with further kinds of state"),
            )
            for name in ("teachers", "a learner of an agent beside named models")
        ),
    ],
    ids=["ahead", "teachers", "named models"],
)
def test_either_engine_goes_on_where_the_other_stopped(learner, settings, train, monkeypatch):
    whole = train("whole", learner, **settings)
    for first, then in (("local", "ray"), ("ray", "local")):
        iterate = loop._iterate

        def stopped(session, step, iterate=iterate):
            if step == 2:
                raise KeyboardInterrupt
            return iterate(session, step)

        with monkeypatch.context() as patch:
            patch.setattr(loop, "_iterate", stopped)
            with pytest.raises(KeyboardInterrupt):
                train(first, learner, engine=first, **settings)
        run = train(first, learner, engine=then, resume=True, **settings)
        assert kept(run) == kept(whole)
        assert rows(run) == rows(whole)


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        pytest.param(
            {"rollout_workers": 3, "shares": 4, "rollout_cpus": 0.3},
            {},
            id="players",
            marks=pytest.mark.long(
                "Ray runs with more workers, and ranks that each hold all weights"
            ),
        ),
        pytest.param(
            {"update_ranks": 2, "update_cpus": 0.2},
            {},
            id="ranks",
            marks=pytest.mark.long(
                "Ray runs with more workers, and ranks that each hold all weights"
            ),
        ),
        pytest.param(
            {"update_ranks": 2, "update_cpus": 0.5},
            {"parallel": "fsdp", "policies": "shared"},
            id="sharded ranks",
        ),
    ],
)
def test_more_workers_are_the_same_but_for_rounding(args, settings, train, folder):
    """The workers compute in float32. There AdamW makes a step of any size of a gradient that
    should be 0, so single weights may differ; all weights together hardly do."""
    settings = {"policies": "separate", "steps": 2, "checkpoint_every": 1, **settings}
    local = train("local", "at_grpo", **settings)
    ray = train("ray", "at_grpo", engine="ray", engine_args=args, **settings)
    assert 0 < gap(ray, local, folder) < 1e-3
    assert [row["success"] for row in rows(ray)] == [row["success"] for row in rows(local)]
    # and what several ranks have saved, one goes on from
    for run in (local, ray):
        train(run.name, "at_grpo", resume=True, **{**settings, "steps": 3})
    assert gap(ray, local, folder) < 1e-3


def test_each_batch_is_played_by_weights_of_bounded_age(cluster, folder):
    """With max_off_policy_steps=2 batch t is played by W_{t - 2}: the log-probabilities of its answers say so."""
    plan = RunSpec(
        learner="at_grpo",
        learner_args={"learning_rate": 1e-2},
        env="toy_envs:Parities",
        env_args={"split": "train"},
        policy_loader="llmzoo.runs.policy_loading:load_policies",
        agents=["writer_0", "writer_1"],
        settings=AgentSettings(model=folder, sampling=Sampling(max_new_tokens=3)),
        cohorts=1,
        workers=1,
        parallel="auto",
        cpu_offload=False,
        total_steps=5,
        folder=folder,
    )
    agents, learning = plan.load_policies()
    player = learning["policy"]
    args, learner = RayArgs(), plan.make_learner()
    draw = partial(iteration_seeds, 0, models=1, envs=3)
    batches, versions = [], [{n: w.clone() for n, w in player.model.state_dict().items()}]
    with ray_engine(plan, args, learner, learning, agents, max_off_policy_steps=2) as engine:
        for step in range(5):
            iteration = engine.iterate(plan.make_env, draw, step, last=step == 4)
            batches.append(iteration.batch)
            engine.sync_policies()
            versions.append({n: w.clone() for n, w in player.model.state_dict().items()})

    def sampled_by(batch, version):
        player.model.load_state_dict(version)
        with torch.no_grad():
            gaps = [
                (now[: len(c.ids)] - torch.tensor(c.logprobs)).abs().max()
                for group in batch.groups
                for c, now in zip(
                    group.completions, player.likelihood([group]).logprobs, strict=True
                )
            ]
        return max(gaps) < 1e-4

    by = [[v for v in range(5) if sampled_by(b, versions[v])] for b in batches]
    assert by == [[0], [0], [0], [1], [2]]


@pytest.fixture
def visited(train, tmp_path):
    """A run whose workers visit a folder for orders; ``when``: before which iteration which."""

    def run(name, engine_args, when, monkeypatch, **settings):
        orders = tmp_path / f"{name}-orders"
        orders.mkdir()
        iterate = loop._iterate

        def ordered(session, step):
            for stage, text in when.get(step, {}).items():
                (orders / stage).write_text(text)
            return iterate(session, step)

        with monkeypatch.context() as patch:
            patch.setattr(loop, "_iterate", ordered)
            out = train(
                name,
                "ray_toys:VisitedATGRPO",
                env="ray_toys:Visited",
                env_args={"folder": str(orders)},
                learner_args={"folder": str(orders)},
                engine="ray",
                engine_args=engine_args,
                **{"policies": "separate", "steps": 4, **settings},
            )
        assert list(orders.iterdir()) == []
        return out

    return run


@pytest.mark.parametrize(
    ("args", "settings"),
    [
        pytest.param({"update_ranks": 2}, {"policies": "shared"}, id="a rank"),
        pytest.param(
            {"state_every": 3},
            {},
            id="updates made again",
            marks=pytest.mark.long("an update worker dies during a full run"),
        ),
        pytest.param(
            {"rollout_workers": 2, "rollout_cpus": 0.5},
            {"max_off_policy_steps": 2},
            id="ahead",
            marks=pytest.mark.long("a rollout worker dies during a full run"),
        ),
    ],
)
def test_workers_that_die_change_nothing(args, settings, visited, monkeypatch):
    undisturbed = visited("undisturbed", args, {}, monkeypatch, **settings)
    orders = {1: {"rollout": "die", "update": "die"}, 3: {"update": "die"}}
    disturbed = visited("disturbed", args, orders, monkeypatch, **settings)
    assert rows(disturbed) == rows(undisturbed)
    assert kept(disturbed) == kept(undisturbed)


@pytest.mark.parametrize(
    "stage",
    [
        "rollout",
        pytest.param("update", marks=pytest.mark.long("an update worker dies during a full run")),
    ],
)
def test_who_dies_again_and_again_ends_the_run(stage, visited, monkeypatch):
    monkeypatch.setattr(f"llmzoo.engine.ray.{stage}_workers.MAX_DEATHS", 2)
    what = {"rollout": "2 rollout workers have died during share 0", "update": "has died 2 times"}
    with pytest.raises(WorkerError, match=rf"{what[stage]}.*worker process has died"):
        visited("run", {}, {1: {stage: "die always"}}, monkeypatch, policies="shared")

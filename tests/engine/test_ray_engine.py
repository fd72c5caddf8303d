"""The engine ray beside the local one: the same to the last bit, whoever dies on the way.

All tests share the workers of one engine, and begin with the weights of a checkpoint.
"""

import os
import signal
from functools import partial

import pytest
import torch
from ray_toys import Visited, VisitedATGRPO, VisitedConfig
from tiny_models import model, tokenizer

from llmzoo.engine.base import iteration_seeds
from llmzoo.engine.local import LocalEngine
from llmzoo.engine.ray.config import RayArgs
from llmzoo.engine.ray.engine import ray_engine
from llmzoo.engine.ray.run_spec import RunSpec
from llmzoo.errors import DivergedError, WorkerError
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import wire

pytestmark = pytest.mark.slow

STEPS = 3
OPTIONS = {"learning_rate": 1e-2, "kl": 0.1, "epochs": 2}
DRAW = partial(iteration_seeds, 0, models=1, envs=4)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Where the model is, where the workers look for orders, and where the run begins."""
    path = tmp_path_factory.mktemp("ray")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path / "model")
    (path / "orders").mkdir()
    (path / "start").mkdir()
    return path


@pytest.fixture(scope="module")
def plan(folders):
    return RunSpec(
        learner="ray_toys:VisitedATGRPO",
        learner_args={**OPTIONS, "folder": str(folders / "orders")},
        env="ray_toys:Visited",
        env_args={"split": "train", "folder": str(folders / "orders")},
        policy_loader="llmzoo.runs.policy_loading:load_policies",
        agents=["writer_0", "writer_1"],
        settings=AgentSettings(model=str(folders / "model"), sampling=Sampling(max_new_tokens=3)),
        cohorts=1,
        workers=2,
        parallel="auto",
        cpu_offload=False,
        total_steps=STEPS,
        folder=str(folders),
    )


@pytest.fixture(scope="module")
def local(folders, plan):
    """A run of the local engine: what each iteration gave, and the engine at the end."""
    agents, learning = plan.load_policies()
    learner = VisitedATGRPO(VisitedConfig(**OPTIONS))
    engine = LocalEngine(learner, learning, agents, total_steps=STEPS, workers=2)
    engine.save(folders / "start")
    return iterated(engine), engine


@pytest.fixture(scope="module")
def engine(cluster, plan, local):
    agents, learning = plan.load_policies()
    args = RayArgs(start_seconds=1800)
    with ray_engine(plan, args, plan.make_learner(), learning, agents) as engine:
        yield engine


@pytest.fixture
def order(folders):
    """Writes what the next process that visits a stage is to do; returns the file."""
    written = []

    def write(stage, text):
        written.append(folders / "orders" / stage)
        written[-1].write_text(text)
        return written[-1]

    yield write
    for file in written:
        file.unlink(missing_ok=True)


def iterated(engine, steps=range(STEPS)):
    """What each iteration gave but for its times; batches as the bytes that workers would send."""
    results = []
    for step in steps:
        one = engine.iterate(Visited, DRAW, step, last=step == STEPS - 1)
        counts = (one.clock.answers, one.clock.steps)
        results.append((wire.dump(one.batch), one.tokens, counts, one.update_metrics, one.credits))
    return results


def decisions(results):
    """(iteration, seed, turn, agent, answers) of every group, in their order."""
    return [
        (step, group.key[0], group.turn, group.agent, [c.text for c in group.completions])
        for step, (batch, *_) in enumerate(results)
        for group in wire.load(batch).groups
    ]


def weights(engine):
    engine.sync_policies()
    return [w.detach().clone() for p in engine.policies.values() for w in p.parameters()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


def files(engine, folder):
    """The content of every file that an engine saves, by its path."""
    folder.mkdir()
    engine.save(folder)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def test_a_run_is_that_of_the_local_engine(engine, local, folders, tmp_path):
    expected, other = local
    engine.load(folders / "start")
    start = weights(engine)
    assert iterated(engine) == expected
    assert same(weights(engine), weights(other))
    assert not same(weights(engine), start)
    assert files(engine, tmp_path / "ray") == files(other, tmp_path / "local")


def test_workers_that_die_change_nothing(engine, local, folders, order):
    """Each is killed in the middle of its work of the second iteration."""
    expected, other = local
    engine.load(folders / "start")
    before = [engine.rollouts.workers[0].pid, *engine.updates["policy"].pids]
    results = iterated(engine, [0])
    orders = [order("rollout", "die"), order("update", "die")]
    results += iterated(engine, [1])
    assert not any(file.exists() for file in orders)  # both have died
    after = [engine.rollouts.workers[0].pid, *engine.updates["policy"].pids]
    assert not set(before) & set(after)
    results += iterated(engine, [2])
    assert decisions(results) == decisions(expected)
    assert results == expected
    assert same(weights(engine), weights(other))


def test_an_update_worker_that_dies_between_updates_learns_them_again(engine, local, folders):
    """Killed after two updates, of which it has told, and before the third."""
    expected, other = local
    engine.load(folders / "start")
    results = iterated(engine, [0, 1])
    (pid,) = engine.updates["policy"].pids
    os.kill(pid, signal.SIGKILL)
    results += iterated(engine, [2])
    assert results == expected
    assert engine.updates["policy"].pids != [pid]
    assert same(weights(engine), weights(other))


def test_what_a_worker_raises_ends_the_run_as_itself(engine, local, folders, order):
    engine.load(folders / "start")
    order("update", "diverge")
    with pytest.raises(DivergedError, match=r"^the loss of 'policy' is nan: lower learning_rate$"):
        iterated(engine)
    order("rollout", "no more of them")
    with pytest.raises(WorkerError, match=r"rollout worker 0.*ZeroDivisionError: no more of them"):
        iterated(engine)
    engine.load(folders / "start")  # and nothing is left of that
    assert iterated(engine) == local[0]

"""What a run cannot go on from is refused, and says so."""

import shutil

import pytest
import torch
from tiny_models import policy
from toy_envs import Parity

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import CheckpointError
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.runs import checkpoints


def full():
    return policy(sampling=Sampling(max_new_tokens=1))


def with_adapter():
    return full().with_adapters(["one"])["one"]


def an_engine(name, player=None, **options):
    cls = learner_class(name)
    player = player or full()
    learner = cls(cls.Config(**{"learning_rate": 1e-2, **options}))
    return LocalEngine(learner, {"one": player}, {"writer_0": player}, total_steps=4)


def saved(folder, engine):
    engine.update(engine.collect(Parity, range(4)), seed=0)
    return checkpoints.save(folder, engine, 1, 0)


@pytest.fixture(scope="module")
def whole_checkpoint(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("whole"), an_engine("ippo"))


@pytest.mark.parametrize(
    ("file", "length"),
    [
        ("one.optimizer.safetensors", 500),
        ("one.critic.safetensors", 500),
        ("one.critic_optimizer.safetensors", 500),
        *(("one/model.safetensors", length) for length in (0, 4, 500)),
    ],
)
def test_a_file_cut_short(file, length, whole_checkpoint, tmp_path):
    folder = shutil.copytree(whole_checkpoint, tmp_path / whole_checkpoint.name)
    whole = (folder / file).read_bytes()
    assert len(whole) > length
    (folder / file).write_bytes(whole[:length])
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        checkpoints.load(folder, an_engine("ippo"))


def test_a_critic_of_another_shape(tmp_path):
    folder = saved(tmp_path, an_engine("ippo"))
    (folder / "central.critic.safetensors").write_bytes(
        (folder / "one.critic.safetensors").read_bytes()
    )
    with pytest.raises(CheckpointError, match="cannot be loaded"):
        checkpoints.load(folder, an_engine("mappo"))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "make"), [("magrpo", with_adapter), ("ippo", full)])
def test_kl_is_to_the_weights_at_the_start_after_resuming_too(name, make, tmp_path):
    """A policy that has been trained since would be compared with itself."""
    player = make()
    folder = saved(tmp_path, an_engine(name, player, kl=0.1))
    with pytest.raises(CheckpointError, match="has other starting weights than this run had"):
        checkpoints.load(folder, an_engine(name, player, kl=0.1))
    untrained = make()
    resumed = an_engine(name, untrained, kl=0.1)
    checkpoints.load(folder, resumed)
    for ours, theirs in zip(player.parameters(), untrained.parameters(), strict=True):
        assert torch.equal(ours, theirs)
    # without the penalty nothing is compared, and the same policy may go on
    folder = saved(tmp_path / "free", an_engine(name, player))
    checkpoints.load(folder, an_engine(name, player))


def test_the_best_stays_beside_the_newest(tmp_path):
    engine = an_engine("magrpo")
    for step, paid in enumerate([0.1, 0.6, 0.6, 0.3, None, 0.2, 0.1], start=1):
        checkpoints.save(tmp_path, engine, step, 0, mean_return=paid, keep=2)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["step_000003", "step_000006", "step_000007"]
    (tmp_path / "step_000003" / "state.json").write_text("{")
    checkpoints.save(tmp_path, engine, 8, 0, mean_return=0.0, keep=2)
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == ["step_000006", "step_000007", "step_000008"]

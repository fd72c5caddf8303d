"""The training loop: it learns, it resumes exactly, it refuses what cannot be right."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from statistics import fmean

import pytest
import torch
from safetensors.torch import load_file
from tiny_models import model, policy, teacher, tokenizer
from toy_envs import Adder, Parities, Parity

import llmzoo
from llmzoo.errors import CheckpointError, ConfigError, UnknownNameError, ZeroVarianceWarning
from llmzoo.learners.magrpo import MAGRPO
from llmzoo.learners.marloo import MARLOO
from llmzoo.learners.per_agent import PerAgentLearner
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs import checkpoints
from llmzoo.training import FitConfig, collapse, fit, loop

SMALL = {"eval_tasks": 8, "episodes_per_step": 4, "quiet": True}


@pytest.fixture(scope="module")
def random_model(tmp_path_factory) -> str:
    """A folder with a model of random weights that reads terse prompts."""
    folder = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(folder)
    return str(folder)


def weights(run: Path, name: str) -> dict[str, torch.Tensor]:
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    return load_file(newest / name / "model.safetensors")


# options that keep as much state as there is to keep; the other learners differ from magrpo or ippo in
# their credit alone
KEPT = {
    "at_grpo": {"epochs": 2, "kl": 0.1},
    "grpo": {"replay": 2, "kl": 0.1},
    "marloo": {"normalize": "components", "whiten": True},
    "magrpo": {"role_baseline": 0.9, "zero_variance_groups": "resample"},
    "per_agent": {"clip": 0.2, "replay": 2, "kl": 0.1},
    "ippo": {"minibatches": 2, "target_kl": 0.1},
    "mappo": {},
    "dpo": {"rounds": 3},
    "madpo": {"rounds": 3},
    "opd": {"teacher": teacher(), "group_size": 2, "reward_weight": 0.5, "role_baseline": 0.9},
    "sft": {"mode": "mix"},
}


def train_two(run: Path, folder: str, learner: str, *, resume: bool = False, **settings) -> None:
    """A run in which two agents with models of their own learn."""

    def player() -> TransformersPolicy:
        sampling = Sampling(max_new_tokens=2)
        return TransformersPolicy.load(folder, precision="float32", sampling=sampling)

    given = {"learning_rate": 1e-3, "warmup": 2, "schedule": "cosine", **KEPT[learner]}
    named: dict = {"learner_args": given}
    taught: object = learner
    if learner == "per_agent":
        own = MARLOO(MARLOO.Config(**given, role_baseline=0.9, entropy=0.01))
        taught, named = PerAgentLearner(MAGRPO(MAGRPO.Config(**given)), {"writer_1": own}), {}
    policies = {"writer_0": player(), "writer_1": player()}
    small = {"steps": 4, "episodes_per_step": 3, "checkpoint_every": 2, "eval_tasks": 2}
    options = {**small, **settings, **named}
    fit(taught, Parities, out=run, resume=resume, policies=policies, quiet=True, **options)


KILLED = """
import sys
import torch
from test_training import train_two
torch.set_num_threads(1)
train_two(sys.argv[1], sys.argv[2], sys.argv[3], steps=12)
"""


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As in the process that is killed: threads would add in another order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["per_agent", "ippo", "dpo"])
def test_a_killed_run_resumes_as_if_never_stopped(learner, tmp_path, random_model, one_thread):
    """A real SIGKILL, for each kind of state: groups to replay, a critic, pairs."""
    killed = tmp_path / "killed"
    path = os.pathsep.join(map(str, (Path(__file__).parent, Path(__file__).parents[1])))
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(killed), random_model, learner],
        env={**os.environ, "PYTHONPATH": path},
    )
    while checkpoints.latest_checkpoint(killed / "checkpoints") is None:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert checkpoints.latest_checkpoint(killed / "checkpoints").name != "step_000012"
    train_two(killed, random_model, learner, resume=True, steps=12)
    train_two(tmp_path / "whole", random_model, learner, steps=12)
    same_end(killed, tmp_path / "whole", load_file(Path(random_model) / "model.safetensors"))


@pytest.mark.parametrize(
    ("learner", "ahead"),
    [
        ("mappo", 1),
        *(pytest.param(name, 0, marks=pytest.mark.slow) for name in KEPT),
        pytest.param("at_grpo", 1, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_was_stopped_goes_on_exactly(
    learner, ahead, tmp_path, random_model, monkeypatch
):
    """As above within this process: stopped in its third iteration of four, with a checkpoint of two."""

    def run(folder, *, resume=False):
        train_two(
            tmp_path / folder, random_model, learner, resume=resume, max_off_policy_steps=ahead
        )

    run("whole")
    iterate = loop._iterate

    def stopped(session, step):
        if step == 3:
            raise KeyboardInterrupt
        return iterate(session, step)

    monkeypatch.setattr(loop, "_iterate", stopped)
    with pytest.raises(KeyboardInterrupt):
        run("stopped")
    monkeypatch.undo()
    assert checkpoints.latest_checkpoint(tmp_path / "stopped" / "checkpoints").name == "step_000002"
    run("stopped", resume=True)
    first = load_file(Path(random_model) / "model.safetensors")
    same_end(tmp_path / "stopped", tmp_path / "whole", first)


def same_end(run: Path, other: Path, start: dict[str, torch.Tensor]) -> None:
    """Both runs have the same weights, which are not those at the start, and the same metrics."""
    for agent in ("writer_0", "writer_1"):
        ours, theirs = weights(run, agent), weights(other, agent)
        assert set(ours) == set(theirs)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
        assert any(not torch.equal(start[name], theirs[name]) for name in theirs)
    assert [r["step"] for r in rows(run)] == [r["step"] for r in rows(other)]
    assert rows(run) == rows(other)


def rows(run: Path) -> list[dict]:
    """Metrics without what depends on the clock."""
    timed = ("seconds", "per_second")
    outcome = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if not k.endswith(timed)} for r in outcome]


@pytest.fixture
def run_args(random_model):
    return {
        **SMALL,
        "model": random_model,
        "steps": 2,
        "max_new_tokens": 8,
        "env_args": {"prompt": "terse", "max_turns": 1},
    }


def test_the_run_folder(tmp_path, run_args):
    result = fit("magrpo", "sudoku_v0", out=tmp_path / "run", eval_every=1, **run_args)
    run = tmp_path / "run"
    assert result.to_dict().keys() == {"run", "before", "after", "steps", "seconds", "findings"}
    assert result.before["tasks"] == 8
    assert result.before["greedy"].keys() == {
        *("success", "success_ci95", "solved", "answers", "tokens")
    }
    assert result.before["answers"] == result.before["greedy"]["answers"] == 8 * 2  # of two agents
    assert json.loads((run / "after.json").read_text()) == json.loads(json.dumps(result.after))
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [(r["kind"], r["step"]) for r in rows] == [
        ("eval", 0),
        ("train", 1),
        ("eval", 1),
        ("train", 2),
        ("eval", 2),
    ]
    assert list((run / "tensorboard").iterdir())
    state = json.loads((run / "checkpoints" / "step_000002" / "state.json").read_text())
    assert state["step"] == 2
    assert not list(run.rglob("*.pkl"))
    assert not list(run.rglob("*.bin"))
    # a checkpoint is a plain transformers folder
    again = llmzoo.evaluate(
        "sudoku_v0",
        llmzoo.policies.load(str(run / "checkpoints" / "step_000002" / "policy")),
        tasks=2,
        env_args={"prompt": "terse", "max_turns": 1},
    )
    assert again.tasks == 2


def test_separate_agents_have_weights_of_their_own(tmp_path, run_args):
    result = fit("at_grpo", "sudoku_v0", out=tmp_path / "run", policies="separate", **run_args)
    one, other = result.policies["proposer_0"], result.policies["planner_1"]
    assert one is not other
    assert (tmp_path / "run/checkpoints/step_000002/planner_1/model.safetensors").exists()


def test_one_agent_learns_beside_a_scripted_one(tmp_path, run_args):
    result = fit("at_grpo", "sudoku_v0", out=tmp_path / "run", policies="planner_1", **run_args)
    assert result.policies["proposer_0"].name == "expert"
    assert (tmp_path / "run/checkpoints/step_000002/planner_1").is_dir()


def test_any_text_environment_can_be_trained_on(tmp_path):
    player = policy(sampling=Sampling(max_new_tokens=1))

    class Lenient(Adder):
        def apply(self, state, actions):
            return super().apply(state, {agent: str(len(text)) for agent, text in actions.items()})

    result = fit(
        "magrpo",
        partial(Lenient, 1),
        out=tmp_path / "run",
        policies={"a_0": player, "b_1": player},
        steps=1,
        **SMALL,
    )
    assert result.after["env"] == "adder_v0"


def test_refusals(tmp_path, run_args):
    fit("magrpo", "sudoku_v0", out=tmp_path / "run", **run_args)
    with pytest.raises(CheckpointError, match="already holds a run"):
        fit("magrpo", "sudoku_v0", out=tmp_path / "run", **run_args)
    with pytest.raises(CheckpointError, match="seed=0 \\(now 1\\)"):
        fit("magrpo", "sudoku_v0", out=tmp_path / "run", resume=True, seed=1, **run_args)
    with pytest.raises(CheckpointError, match="no run to resume"):
        fit("magrpo", "sudoku_v0", out=tmp_path / "none", resume=True, **run_args)
    with pytest.raises(UnknownNameError, match="Did you mean 'group_size'"):
        fit("magrpo", out=tmp_path / "x", learner_args={"group_sise": 3})
    with pytest.raises(ConfigError, match="'shared', 'separate' or one of"):
        fit("magrpo", out=tmp_path / "y", **{**run_args, "policies": "judge_7"})
    with pytest.raises(ConfigError):
        FitConfig(steps=0)


def test_a_broken_checkpoint_is_named(tmp_path, run_args):
    fit("magrpo", "sudoku_v0", out=tmp_path / "run", **run_args)
    (tmp_path / "run/checkpoints/step_000002/state.json").write_text("{")
    with pytest.raises(CheckpointError, match=r"state\.json cannot be read"):
        fit("magrpo", "sudoku_v0", out=tmp_path / "run", resume=True, **run_args)


@pytest.mark.slow
def test_old_checkpoints_are_removed(tmp_path, run_args):
    fit(
        "magrpo",
        "sudoku_v0",
        out=tmp_path / "run",
        checkpoint_every=1,
        **{**run_args, "steps": 5},
    )
    names = sorted(p.name for p in (tmp_path / "run/checkpoints").iterdir())
    assert names[-3:] == ["step_000003", "step_000004", "step_000005"]
    assert len(names) <= 4  # the one before which the iterations earned most, if it is older


def test_what_would_be_ignored_is_refused(tmp_path):
    player = policy()
    with pytest.raises(ConfigError, match="learner_args has no effect with a learner given"):
        fit(MAGRPO(), Parity, out=tmp_path / "a", policies={"writer_0": player}, learner_args={})
    with pytest.raises(ConfigError, match="model has no effect with policies"):
        fit("magrpo", Parity, out=tmp_path / "b", policies={"writer_0": player}, model="tiny")


def test_a_learner_given_as_an_object_is_recorded(tmp_path):
    player = policy(sampling=Sampling(max_new_tokens=1))
    given = {"policies": {"writer_0": player}, "out": tmp_path / "run", "steps": 1, **SMALL}
    result = fit(MAGRPO(MAGRPO.Config(group_size=2)), Parity, **given)
    assert result.after["policy"] == "writer_0: qwen2"
    with pytest.raises(CheckpointError, match="group_size"):
        fit(MAGRPO(MAGRPO.Config(group_size=3)), Parity, resume=True, **given)


@pytest.mark.slow
def test_resuming_a_finished_run_adds_no_rows(tmp_path, run_args):
    arguments = {**run_args, "eval_every": 1, "out": tmp_path / "run"}

    def rows():
        lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
        return [(row["kind"], row["step"]) for row in map(json.loads, lines)]

    fit("magrpo", "sudoku_v0", **arguments)
    first = rows()
    assert first == [("eval", 0), ("train", 1), ("eval", 1), ("train", 2), ("eval", 2)]
    fit("magrpo", "sudoku_v0", resume=True, **arguments)
    assert rows() == first
    fit("magrpo", "sudoku_v0", resume=True, **{**arguments, "steps": 3})
    assert rows() == [*first, ("train", 3), ("eval", 3)]


def test_settings_of_agents_beside_policies_are_refused(tmp_path):
    players = {"writer_0": policy(sampling=Sampling(max_new_tokens=1))}
    for name, value in [("temperature", 0.5), ("precision", "bf16"), ("agent_args", {})]:
        with pytest.raises(ConfigError, match=f"{name} has no effect with policies"):
            fit("magrpo", Parity, out=tmp_path / "a", policies=players, **{name: value})
    with pytest.raises(ConfigError, match="env_args has no effect with an environment given"):
        fit("magrpo", Parity, out=tmp_path / "a", policies=players, env_args={"max_turns": 2})
    with pytest.raises(ValueError, match="no policy for writer_0"):
        fit("magrpo", Parity, out=tmp_path / "a", policies={"somebody": players["writer_0"]})
    assert not (tmp_path / "a").exists()


def test_a_run_that_goes_on_has_not_ended(tmp_path, monkeypatch):
    """Its after.json was of fewer steps, and would be taken for the end of the longer run."""
    player = policy(sampling=Sampling(max_new_tokens=1))
    given = {"policies": {"writer_0": player}, "out": tmp_path / "run", **SMALL}
    fit("magrpo", Parity, steps=1, **given)
    assert (tmp_path / "run/after.json").exists()

    def killed(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop, "_iterate", killed)
        with pytest.raises(KeyboardInterrupt):
            fit("magrpo", Parity, steps=2, resume=True, **given)
    assert not (tmp_path / "run/after.json").exists()
    assert fit("magrpo", Parity, steps=2, resume=True, **given).steps == 2
    assert (tmp_path / "run/after.json").exists()


class Flat(Parity):
    """Pays the same for every answer."""

    def apply(self, state, actions):
        state, outcome = super().apply(state, actions)
        return state, outcome._replace(team=0.5)


def test_a_run_ends_early_when_its_return_does_not_rise(tmp_path, monkeypatch):
    monkeypatch.setattr(collapse, "WINDOW", 2)
    player = policy(sampling=Sampling(max_new_tokens=1))
    given = {"policies": {"writer_0": player}, **SMALL, "patience": 3, "steps": 30}
    run = {"out": tmp_path / "run", **given}
    with pytest.warns(ZeroVarianceWarning):
        assert fit("magrpo", Flat, **run).steps == 2 + 3
    assert fit("magrpo", Flat, resume=True, **run).steps == 5  # it has ended
    with pytest.warns(ZeroVarianceWarning):
        assert fit("magrpo", Flat, out=tmp_path / "b", **{**given, "patience": 0}).steps == 30


def test_each_checkpoint_plays_training_tasks_and_training_does_not_notice(tmp_path):
    given = {**SMALL, "steps": 4, "checkpoint_every": 1, "env_args": {"max_turns": 1}}
    given |= {"learner": "magrpo", "env": "sudoku_v0", "control_tasks": 0}
    runs = [tmp_path / "judged", tmp_path / "free"]
    fit(out=runs[0], checkpoint_tasks=6, **given)
    fit(out=runs[1], **given)
    last = [run / "checkpoints" / "step_000004" for run in runs]
    for weights in last[0].rglob("*.safetensors"):
        other = load_file(last[1] / weights.relative_to(last[0]))
        assert all(torch.equal(own, other[name]) for name, own in load_file(weights).items())
    for checkpoint in (runs[0] / "checkpoints").glob("step_*"):
        state = json.loads((checkpoint / "state.json").read_text())
        (folder,) = [path for path in checkpoint.iterdir() if path.is_dir()]
        played = llmzoo.evaluate(
            "sudoku_v0",
            str(folder),
            tasks=6,
            split="train",
            env_args={**llmzoo.learners.env_defaults("magrpo"), **given["env_args"]},
        )
        assert state["mean_return"] == pytest.approx(fmean(played.mean_return.values()))
    with pytest.raises(ConfigError, match="checkpoint_tasks must be at least 0, got -1"):
        FitConfig(checkpoint_tasks=-1)

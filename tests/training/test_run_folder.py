"""Run folders that are broken, hostile, full, or in use by another process."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tracemalloc
from functools import partial
from pathlib import Path

import pytest
from quick_cases import slow_but
from tiny_models import model, tokenizer
from toy_envs import Parity

from llmzoo.cli import main
from llmzoo.envs.base import TextEnv
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.export.copying import copy_policy
from llmzoo.policies import run_models
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.report.curves import plot_run
from llmzoo.report.page import RunReport, write_page
from llmzoo.runs import checkpoints, run_folder
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.training import fit

SMALL = {
    "episodes_per_step": 2,
    "eval_tasks": 2,
    "max_new_tokens": 3,
    "trackers": (),
    "record_every": 1,
}


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small")
    TransformersPolicy(model(), tokenizer()).save(folder)
    return str(folder)


@pytest.fixture(scope="module")
def made(tmp_path_factory, small_model):
    """A run of two iterations with a checkpoint of each."""
    run = tmp_path_factory.mktemp("made") / "run"
    train(run, small_model, steps=2, checkpoint_every=1)
    return run


@pytest.fixture
def run(tmp_path, made):
    return Path(shutil.copytree(made, tmp_path / "run"))


def train(run, small_model, **settings):
    return fit(
        "magrpo",
        Parity,
        model=small_model,
        out=run,
        quiet=True,
        **{**SMALL, "steps": 3, **settings},
    )


def resume(run, small_model):
    return train(run, small_model, resume=True, checkpoint_every=1)


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


# Lines that are no rows

BAD = [
    b'{"kind": "train", "step": 1, "ret\n',
    b"[1]\n",
    b'{"step": "1"}\n',
    b'{"kind": "train", "step": 1e999}\n',
    b"\xff\xfe\x00\n",
    b"[" * 100_000 + b"\n",
]


def test_lines_that_are_no_rows_do_not_end_a_run_that_goes_on(run, small_model):
    kept = {}
    for name in ("metrics.jsonl", "played.jsonl"):
        first, *others = (run / name).read_bytes().splitlines(keepends=True)
        (run / name).write_bytes(first + b"".join(BAD) + b"\n" + b"".join(others))
        kept[name] = first
    with pytest.warns(UserWarning, match=r"6 lines of .*metrics\.jsonl cannot be read; they are"):
        result = resume(run, small_model)
    assert result.steps == 3
    for name, first in kept.items():
        assert (run / name).read_bytes().startswith(first)
        assert (run / f"{name}.unreadable").read_bytes() == b"".join(BAD)
    steps = [(row["kind"], row["step"]) for row in rows(run / "metrics.jsonl")]
    wanted = [("eval", 0), ("train", 1), ("train", 2), ("eval", 2), ("train", 3), ("eval", 3)]
    assert steps == wanted


@pytest.mark.slow
def test_a_report_counts_the_same_lines(run):
    lines = (run / "metrics.jsonl").read_bytes()
    (run / "metrics.jsonl").write_bytes(lines + b"".join(BAD))
    (run / "played.jsonl").write_bytes((run / "played.jsonl").read_bytes() + b"".join(BAD))
    report = RunReport([run])
    report.read()
    assert report.runs[0].notes == ("6 of 10 lines of metrics.jsonl cannot be read",)
    assert "6 lines of played.jsonl cannot be read" in report.render_html()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("config.json", text) for text in ("", "{", "[1]", "[" * 100_000, "\udcff")),
        ("before.json", "{"),
        ("before.json", "[1]"),
        ("checkpoints/step_000002/state.json", "[1]"),
    ],
)
def test_a_file_that_is_no_json_object_is_named(run, small_model, name, text):
    (run / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(CheckpointError, match=f"{Path(name).name} cannot be read"):
        resume(run, small_model)


@pytest.mark.parametrize(
    "change",
    [
        {"torch_rng": "xyz"},
        {"torch_rng": "00"},
        {"torch_rng": None},
        {"step": "two"},
        {"step": -1},
        {"tokens": []},
        {"policies": None},
    ],
)
def test_a_state_that_no_run_has_written_is_refused(run, small_model, change):
    path = run / "checkpoints" / "step_000002" / "state.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(CheckpointError, match=r"step_000002 (cannot be loaded|contains policies)"):
        resume(run, small_model)


@pytest.mark.parametrize("text", ["{}", '{"success_ci95": 3}', '{"success_ci95": ["a", "b"]}'])
def test_an_evaluation_of_another_form_does_not_count_as_one(run, small_model, text):
    (run / "before.json").write_text(text)
    with pytest.raises(
        CheckpointError, match=r"before\.json or after\.json does not contain an evaluation"
    ):
        resume(run, small_model)


@pytest.mark.parametrize("name", ["metrics.jsonl", "played.jsonl"])
@pytest.mark.parametrize("line", slow_but([b""], [b"", b'{"step": 1, "kind": "train", "note": "']))
def test_a_log_of_gigabytes_costs_no_memory(run, small_model, name, line):
    (run / name).write_bytes(line)
    os.truncate(run / name, 3 * 2**30)  # one line that never ends
    tracemalloc.start()
    with pytest.raises(CheckpointError, match=rf"{name} has a line of more than 16,777,216 bytes"):
        resume(run, small_model)
    report = RunReport([run])
    if name == "metrics.jsonl":
        with pytest.raises(ConfigError, match=r"metrics\.jsonl is larger than 536,870,912 bytes"):
            report.read()
    else:
        with pytest.raises(ConfigError, match=r"played\.jsonl has a line of more than"):
            report.read()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20


def test_a_log_of_many_lines_is_not_kept_as_a_whole(run, monkeypatch):
    monkeypatch.setattr("llmzoo.files.MAX_LOG_BYTES", (run / "metrics.jsonl").stat().st_size)
    assert run_folder.read_metrics(run, "train")
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(b"\n")
    with pytest.raises(CheckpointError, match=r"metrics\.jsonl is larger than"):
        run_folder.read_metrics(run, "train")


class Named(Parity):
    """Its agent has the name that it is given."""

    def __init__(self, name="writer_0", **kwargs):
        TextEnv.__init__(self, [name], max_turns=1, **kwargs)


@pytest.mark.parametrize("name", ["../outside", "/outside", "..", "a/b", "a\0b", "", "x" * 65])
@pytest.mark.parametrize("agents", ["separate", "lora", "mapped"])
def test_no_name_of_an_agent_leaves_the_run_folder(tmp_path, small_model, name, agents):
    agent = "writer_0" if agents == "mapped" else name
    arrangement = {"writer_0": name} if agents == "mapped" else agents
    with pytest.raises(
        ConfigError, match="cannot name a folder of weights, because a name has 1 to 64"
    ):
        fit(
            "magrpo",
            partial(Named, agent),
            model=small_model,
            out=tmp_path / "deep" / "run",
            policies=arrangement,
            quiet=True,
            **{**SMALL, "steps": 1},
        )
    assert not list(tmp_path.rglob("*outside*"))


def test_a_run_starts_no_agent_from_a_place_outside_its_checkpoint(run, small_model):
    shutil.copytree(small_model, run / "elsewhere")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(
        json.dumps(config | {"policies": {"writer_0": "../../elsewhere"}})
    )
    assert run_models.resolve_start_model(str(run), "writer_0").endswith("step_000002/policy")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policies": None}, "lacks policies"),
        ({"temperature": None}, "lacks temperature"),
        ({"temperature": "hot"}, "cannot be used"),
        ({"top_p": -1}, "cannot be used"),
        ({"max_new_tokens": "1e9"}, "max_new_tokens must be a whole number"),
    ],
)
def test_a_run_with_settings_of_another_form_does_not_play(run, change, said):
    config = {**json.loads((run / "config.json").read_text()), **change}
    left = {name: value for name, value in config.items() if value is not None}
    (run / "config.json").write_text(json.dumps(left))
    with pytest.raises((CheckpointError, ConfigError), match=said):
        load_policy_for_agents(str(run), ["writer_0"])


def test_a_file_of_gigabytes_is_not_read(run, small_model):
    os.truncate(run / "config.json", 3 * 2**30)  # holes: they take no room
    with pytest.raises(CheckpointError, match=r"config\.json is larger than 16,777,216 bytes"):
        resume(run, small_model)
    with pytest.raises(ConfigError, match="is larger than"):
        RunReport([run]).read()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"stepz": 3}, "unknown setting in .*config.json 'stepz'"),
        ({"steps": "many"}, "'steps' must be a whole number, got 'many'"),
        ({"env_args": [1]}, "'env_args' must be a mapping"),
    ],
)
def test_a_configuration_with_other_settings_than_there_are(run, capsys, change, said):
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, **change}))
    assert main(["train", "--resume", str(run)]) == 2
    assert re.search(said, capsys.readouterr().err)


# Links and devices

FILES = ["config.json", "before.json", "after.json", "metrics.jsonl", "played.jsonl", ".lock"]


@pytest.mark.parametrize("name", [*FILES, "checkpoints/step_000002/state.json"])
def test_no_link_in_a_run_folder_is_read_or_written(run, small_model, tmp_path, name):
    private = tmp_path / "private"
    # what the run itself would accept
    private.write_bytes((run / name).read_bytes() if (run / name).exists() else b"mine")
    before = private.read_bytes()
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(private)
    with pytest.raises(CheckpointError, match=f"{Path(name).name} is a link"):
        resume(run, small_model)
    assert private.read_bytes() == before
    if name in FILES[:5]:
        with pytest.raises(ConfigError, match="is a link"):
            RunReport([run]).read()


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard", "checkpoints/step_000001"])
def test_no_linked_folder_is_written(run, small_model, tmp_path, name):
    private = tmp_path / "private"
    (private / "step_000001").mkdir(parents=True)
    (private / "step_000001" / "thesis.txt").write_text("all of it")
    if (run / name).exists():
        shutil.rmtree(run / name)
    (run / name).symlink_to(private)
    with pytest.raises(CheckpointError, match=f"{Path(name).name} is a link"):
        resume(run, small_model)
    assert [p.name for p in private.rglob("*")] == ["step_000001", "thesis.txt"]


@pytest.mark.parametrize("name", ["report.html", "curve.png"])
def test_pages_and_pictures_replace_a_link(run, tmp_path, name):
    private = tmp_path / "private"
    private.write_text("mine")
    for link in (run / name, run / f".{name}.writing"):
        link.unlink(missing_ok=True)
        link.symlink_to(private)
    if name == "curve.png":
        plot_run(run)
    else:
        write_page(run / name, "a page")
    assert private.read_text() == "mine"
    assert not (run / name).is_symlink()
    assert (run / name).stat().st_size > 5


def test_a_link_in_the_place_of_a_checkpoint_is_removed_and_not_followed(tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    (private / "thesis.txt").write_text("all of it")
    (private / "state.json").write_text('{"mean_return": 9.0}')
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    for name in ("step_000001", "step_000004", ".writing_000004"):
        (folder / name).symlink_to(private)

    class Engine:
        policies = ()

        def save(self, folder):
            (folder / "weights").write_text("w")

    checkpoints.save(folder, Engine(), 4, 0, keep=1)
    assert (private / "thesis.txt").read_text() == "all of it"
    assert [p.name for p in folder.iterdir()] == ["step_000004"]
    assert (folder / "step_000004" / "weights").exists()


@pytest.mark.parametrize("name", ["metrics.jsonl", "played.jsonl", "before.json", "config.json"])
def test_a_pipe_is_not_waited_for(run, small_model, name):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(CheckpointError, match=f"{name} is no plain file"):
        resume(run, small_model)
    with pytest.raises(ConfigError, match=r"no plain file|holds no run"):
        RunReport([run]).read()


def test_a_run_folder_that_is_no_folder(tmp_path, small_model):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path / "pipe" / "run", Path("/dev/null")):
        with pytest.raises(CheckpointError, match="is no folder"):
            train(path, small_model)


# Checkpoints


def test_checkpoints_are_in_the_order_of_their_iterations(tmp_path):
    for name in ("step_1000000", "step_999999", "step_notes", "step_000001", "step_"):
        (tmp_path / name).mkdir()
    result = [path.name for path in run_models.list_checkpoints(tmp_path)]
    assert result == ["step_000001", "step_999999", "step_1000000"]


def test_only_checkpoints_are_cleared_away(run, small_model):
    notes = run / "checkpoints" / "step_by_step"
    notes.mkdir()
    train(run, small_model, resume=True, checkpoint_every=1, steps=6)
    *best, fourth, fifth, sixth, notes = sorted((run / "checkpoints").iterdir())
    assert [fourth.name, fifth.name, sixth.name] == ["step_000004", "step_000005", "step_000006"]
    assert notes.name == "step_by_step"
    assert len(best) <= 1  # of the highest return, if it is older


# Two processes, and one that was killed

HOLDS = """
import sys, time
from toy_envs import Parity
from llmzoo.training import fit
class Slow(Parity):
    def __str__(self):
        return str(Parity())
    def apply(self, state, actions):
        time.sleep(0.05)
        return super().apply(state, actions)
fit("magrpo", Slow, model=sys.argv[2], out=sys.argv[1], resume=sys.argv[3] == "resume", quiet=True,
    steps=1000, episodes_per_step=2, eval_tasks=2, max_new_tokens=3, trackers=(), record_every=1,
    checkpoint_every=1)
"""


@pytest.fixture
def process(tmp_path, small_model):
    """Starts a training run in another process; waits until it has written a checkpoint."""
    started = []

    def start(run, how):
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
        command = [sys.executable, "-c", HOLDS, str(run), small_model, how]
        started.append(subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}))
        wanted = run / "checkpoints" / "step_000003"
        while not wanted.exists():
            assert started[-1].poll() is None
            time.sleep(0.02)
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


@pytest.mark.slow
def test_one_process_at_a_time_and_none_that_was_killed(tmp_path, small_model, process):
    run = tmp_path / "run"
    first = process(run, "new")
    with pytest.raises(CheckpointError, match=f"is in use by process {first.pid} on "):
        train(run, "no such model", resume=True)  # before anything is loaded
    first.send_signal(signal.SIGKILL)
    first.wait()
    for left in (
        run / ".writing_metrics.jsonl_0a1b2c3d",
        run / "checkpoints" / ".writing_000009" / "weights",
    ):
        left.parent.mkdir(exist_ok=True)
        left.write_text("half")
    (run / ".writing_of_mine").mkdir()
    (run / "novel.writing").write_text("mine")
    done = len(rows(run / "metrics.jsonl")) - 1
    result = train(run, small_model, resume=True, steps=done + 1, checkpoint_every=1)
    assert result.steps == done + 1
    left = {path.name for path in run.rglob("*") if "writing" in path.name}
    assert left == {".writing_of_mine", "novel.writing"}


def test_a_new_run_is_refused_too_while_one_starts(tmp_path, small_model):
    with (
        run_folder.locked(tmp_path / "run", resume=False),
        pytest.raises(CheckpointError, match=f"in use by process {os.getpid()} on"),
    ):
        train(tmp_path / "run", small_model)
    train(tmp_path / "run", small_model, steps=1)


def test_nothing_is_made_where_there_is_nothing_to_resume(tmp_path, small_model):
    with pytest.raises(CheckpointError, match="contains no run to resume"):
        train(tmp_path / "run", small_model, resume=True)
    assert not (tmp_path / "run").exists()


# Disks


@pytest.mark.parametrize(
    ("room", "said"),
    [
        (100, "llmzoo: cannot write: File too large"),  # config.json
        (
            20_000,
            "the checkpoint of iteration 1 cannot be written to .*earlier checkpoints are intact",
        ),
    ],
)
def test_a_disk_without_room_is_told(tmp_path, capsys, room, said):
    run = tmp_path / "run"
    sizes = [
        "--steps=1",
        "--episodes_per_step=1",
        "--eval_tasks=1",
        "--record_every=0",
        "--trackers=[]",
    ]
    command = ["train", "--learner", "magrpo", "--env.max_turns=1", *sizes, "--out", str(run)]
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
        code = main(command)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2
    assert re.search(said, capsys.readouterr().err)
    assert not list(run.rglob("*.writing*"))
    assert not list(run.rglob(".writing*"))


@pytest.mark.parametrize("name", ["{private}", "../private.safetensors", "a/b", "..", "", 3])
def test_an_index_names_no_file_outside_its_folder(run, tmp_path, small_model, name):
    policy = run / "checkpoints" / "step_000002" / "policy"
    weights = (policy / "model.safetensors").rename(tmp_path / "private.safetensors")
    named = str(weights) if name == "{private}" else name
    index = policy / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": {"lm_head.weight": named}}))
    with pytest.raises(ConfigError, match="files beside the index"):
        TransformersPolicy.load(str(policy))
    with pytest.raises(CheckpointError, match="files beside the index"):
        resume(run, small_model)
    with pytest.raises(CheckpointError, match="files beside the index"):
        copy_policy(policy, tmp_path / "out")

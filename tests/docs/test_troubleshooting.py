"""docs/troubleshooting.md quotes what the code says: each message is provoked."""

from __future__ import annotations

import re
import socket
import sys
import warnings
from dataclasses import fields, replace
from pathlib import Path

import pytest
import tiny_models
import torch
from pages import ROOT

import llmzoo
from llmzoo.endpoints import Endpoint, make_client
from llmzoo.envs import sources
from llmzoo.envs.base import TextEnv
from llmzoo.envs.math.gsm8k import task_from_record
from llmzoo.errors import ConfigError
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.magrpo import MAGRPO
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.registry import spec
from llmzoo.runs.run_folder import locked, write_or_check_config
from llmzoo.sandbox import Sandbox, box
from llmzoo.serve.hosting import ServeConfig, start_server
from llmzoo.training.config import FitConfig

PAGE = ROOT / "docs" / "troubleshooting.md"
SECTIONS = {
    part.partition("\n")[0]: part.partition("\n")[2]
    for part in re.split(r"^### ", PAGE.read_text(), flags=re.MULTILINE)[1:]
}
QUOTED = {
    title: found[1].strip()
    for title, text in SECTIONS.items()
    if (found := re.search(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
}
PROVOKED = {}


def provokes(title):
    def kept(act):
        PROVOKED[title] = act
        return act

    return kept


@provokes("A package is missing")
def _(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "openai", None)
    make_client(Endpoint(model="m"))


@provokes("An unknown name")
def _(tmp_path, monkeypatch):
    llmzoo.make("sudoku")


@provokes("A path to your own code is not found")
def _(tmp_path, monkeypatch):
    spec("my_games:Sums")


@provokes("A group of one completion")
def _(tmp_path, monkeypatch):
    MAGRPO(MAGRPO.Config(group_size=1))


@provokes("A setting without effect")
def _(tmp_path, monkeypatch):
    FitConfig(lora_args={"r": 4})


@provokes("A word where a list is expected")
def _(tmp_path, monkeypatch):
    FitConfig(trackers="wandb")


@provokes("The hub cannot be reached")
def _(tmp_path, monkeypatch):
    def unreachable():
        raise ConfigError("no route")

    monkeypatch.setattr(sources, "_warned", set())
    monkeypatch.setattr(sources, "_loaded", {})
    gsm8k = llmzoo.make("gsm8k_v0", source="sample").unwrapped.public_set
    replace(gsm8k, hub_records=unreachable).load("auto")


@provokes("A record is malformed")
def _(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problems.jsonl").write_text(
        '{"question": "1 + 1?", "answer": "#### 2"}\n{"question": "2 + 2?"}\n'
    )
    sources.load_file("problems.jsonl", task_from_record)


@provokes("There is no expert")
def _(tmp_path, monkeypatch):
    TextEnv(["a_0"]).expert("a_0")


@provokes("An action that is not a string")
def _(tmp_path, monkeypatch):
    env = llmzoo.make("sudoku_v0")
    env.reset(seed=0)
    env.step(3)


@provokes("The folder already contains a run")
def _(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        write_or_check_config(Path("runs/first"), {"seed": 0}, resume=False)


@provokes("A run cannot be resumed with other settings")
def _(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = Path("runs/first")
    write_or_check_config(run, {"seed": 0, "steps": 1}, resume=False)
    write_or_check_config(run, {"seed": 0, "steps": 2}, resume=True)  # steps may differ
    write_or_check_config(run, {"seed": 1, "steps": 2}, resume=True)


@provokes("There is nothing to resume")
def _(tmp_path, monkeypatch):
    write_or_check_config(Path("runs/first"), {}, resume=True)


@provokes("Another process is writing to the run folder")
def _(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.getpid", lambda: 4711)
    monkeypatch.setattr("socket.gethostname", lambda: "node7")
    with (
        locked(Path("runs/first"), resume=False),
        locked(Path("runs/first"), resume=False),
    ):
        pass


@provokes("A run folder contains a link")
def _(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("runs/first").mkdir(parents=True)
    Path("runs/first/metrics.jsonl").symlink_to("/etc/hosts")
    with locked(Path("runs/first"), resume=False):
        pass


@provokes("The gradient is not finite")
def _(tmp_path, monkeypatch):
    weight = torch.nn.Parameter(torch.zeros(2))
    optimizer = Optimizer([weight], OptimizerConfig(), rate=0.1, total=1, name="policy")
    weight.grad = torch.full_like(weight, float("nan"))
    optimizer.step()


@provokes("A prompt is too long for the model")
def _(tmp_path, monkeypatch):
    env = llmzoo.make("sudoku_v0")
    env.reset(seed=0)
    asked = PolicyRequest(agent="a_0", observation="up " * 400, env=env)
    tiny_models.policy().respond([asked], 1)


@provokes("Programs cannot be confined")
def _(tmp_path, monkeypatch):
    def refused(*args, **kwargs):
        raise box.CannotConfine("no user namespaces")

    monkeypatch.setattr(box, "Worker", refused)
    Sandbox().run("print(1)")


@provokes("The port is taken")
def _(tmp_path, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        start_server(ServeConfig(port=taken.getsockname()[1]), [])


@provokes("A server needs a token")
def _(tmp_path, monkeypatch):
    ServeConfig(host="0.0.0.0")


@provokes("A call to an endpoint failed")
def _(tmp_path, monkeypatch):
    EndpointPolicy(Endpoint(model="m", api_key_env=None)).failed_completion("503")


@provokes("An endpoint does not answer")
def _(tmp_path, monkeypatch):
    monkeypatch.setattr("llmzoo.policies.endpoint._MAX_PAUSE_S", 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the first failed call
        llmzoo.evaluate("propose_v0", "openai:m@http://127.0.0.1:1/v1", tasks=1)


def said(act, *given) -> list[str]:
    """What an action raises or warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            act(*given)
        except Exception as error:
            return [str(error)]
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize("title", sorted(QUOTED))
def test_the_message_is_what_the_code_says(title, tmp_path, monkeypatch):
    wanted = ".*".join(map(re.escape, QUOTED[title].split("...")))
    messages = said(PROVOKED[title], tmp_path, monkeypatch)
    assert any(re.fullmatch(wanted, message, re.DOTALL) for message in messages), messages


def test_nothing_else_is_provoked():
    assert set(PROVOKED) == set(QUOTED)


def test_the_settings_named_for_memory_exist():
    options = {field.name for field in fields(FitConfig)}
    options |= {f"learner.{field.name}" for field in fields(MAGRPO.Config)}
    named = set(re.findall(r"`--([\w.]+)", SECTIONS["Out of memory"]))
    assert len(named) >= 8
    assert named <= options

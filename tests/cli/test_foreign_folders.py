"""Every command that takes somebody else's folder: it imports nothing of it and sends no secret.

The folder is a run that trained, whose config.json its owner rewrote. ``evil`` beside it is importable and leaves
a marker; a server records what it is sent.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from llmzoo import errors
from llmzoo.cli import main
from llmzoo.evaluation.rescore import rescore
from llmzoo.runs.named_policies import load_policy_for_agents

SECRET = "canary-0123456789abcdef"
CODE = "from pathlib import Path\nPath('marker').write_text('ran')\n"


@pytest.fixture(scope="module")
def run(model_folder: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two iterations of self-play; any environment's agents can take its shared policy."""
    out = tmp_path_factory.mktemp("foreign") / "run"
    small = "--steps 2 --checkpoint_every 1 --episodes_per_step 1 --eval_tasks 2 --control_tasks 0"
    argv = f"train --env kuhn_poker_v0 --model {model_folder} {small} --max_new_tokens 8 --quiet"
    assert main([*argv.split(), "--out", str(out)]) == 0
    return out


@pytest.fixture
def theirs(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable]:
    """``theirs(env=...)``: the run with these settings, as folder ``theirs`` of the working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS", raising=False)
    (tmp_path / "evil.py").write_text(CODE)

    def rewritten(**settings: object) -> Path:
        shutil.copytree(run, "theirs", dirs_exist_ok=True)
        config = Path("theirs/config.json")
        config.write_text(json.dumps(json.loads(config.read_text()) | settings))
        return Path("theirs")

    yield rewritten
    sys.modules.pop("evil", None)


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """A server's address, and the keys that it was sent."""
    keys: list[str] = []

    class Recording(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            keys.append(self.headers.get("Authorization", ""))
            self.send_error(400)

        def log_message(self, *args: object) -> None: ...

    listening = HTTPServer(("127.0.0.1", 0), Recording)
    Thread(target=listening.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{listening.server_port}/v1", keys
    listening.shutdown()


PLAYING = {
    "eval": ("eval", "--policy", "theirs", "--tasks", "1"),
    "collect": ("collect", "--policy", "theirs", "--tasks", "1", "--out", "rows.jsonl"),
    "league": ("eval", "league", "theirs", "--deals", "1"),
    "exploit": ("eval", "exploit", "--policy", "theirs"),
    "resume": ("train", "--resume", "theirs", "--steps", "3"),
}
CODE_IN = {
    "env": ({"env": "evil:Env"}, "--env evil:Env"),
    "verifiers": ({"env": "verifiers:evil"}, "--env verifiers:evil"),
    "tools": ({"env": "tool_use_v0", "env_args": {"tools": ["evil:Tool"]}}, "--env.tools"),
}


@pytest.mark.parametrize("settings", CODE_IN)
@pytest.mark.parametrize("command", PLAYING)
def test_no_command_imports_what_only_the_folder_names(command, settings, theirs, llmzoo):
    changed, option = CODE_IN[settings]
    theirs(**changed)
    said = llmzoo(*PLAYING[command])
    assert said.code == 2
    assert "theirs names code to import: " in said.err
    assert f"Pass {option}" in said.err
    assert not Path("marker").exists()


@pytest.mark.parametrize("command", PLAYING)
def test_no_command_sends_a_variable_that_the_folder_names(
    command, theirs, server, llmzoo, monkeypatch
):
    address, keys = server
    monkeypatch.setenv("SOME_SECRET", SECRET)
    endpoint = {"model": "m", "base_url": address, "api_key_env": "SOME_SECRET"}
    theirs(env="debate_v0", env_args={"judge": "endpoint", "endpoint": endpoint})
    said = llmzoo(*PLAYING[command])
    assert said.code == 2
    assert "theirs names the variable SOME_SECRET as the key for 127.0.0.1" in said.err
    assert keys == []


@pytest.mark.parametrize("command", ["eval", "collect", "exploit", "resume"])
def test_no_command_sends_the_token_to_a_server_that_the_folder_names(
    command, theirs, llmzoo, monkeypatch
):
    monkeypatch.setenv("LLMZOO_TOKEN", SECRET)
    address = "grpcs://evil.invalid:50051"
    theirs(env=f"{address}/kuhn_poker_v0")
    said = llmzoo(*PLAYING[command])
    assert said.code == 2
    assert f"theirs names the server {address}" in said.err
    assert "Set LLMZOO_ENDPOINT_KEYS=evil.invalid=LLMZOO_TOKEN to send it." in said.err


def test_a_server_is_asked_where_there_is_no_token_to_take(theirs, llmzoo, monkeypatch):
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    theirs(env="grpc://127.0.0.1:1/kuhn_poker_v0")
    assert "cannot choose what is sent" not in llmzoo(*PLAYING["eval"]).err


@pytest.mark.parametrize(
    ("agent", "option"),
    [
        ({"learner": "evil:Learner"}, "--agent.player_0.learner evil:Learner"),
        ({"learner_args": {"rewards": "evil:paid"}}, "--agent.player_0.learner_args.rewards"),
    ],
)
def test_a_resumed_run_imports_no_learner_of_an_agent(agent, option, theirs, llmzoo):
    theirs(agent_args={"player_0": agent})
    said = llmzoo(*PLAYING["resume"])
    assert said.code == 2
    assert f"Pass {option}" in said.err
    assert not Path("marker").exists()


@pytest.mark.parametrize(
    ("sampler_args", "option"),
    [
        ({"engine_args": {"worker_extension_cls": "evil.Extension"}}, "--sampler.engine_args"),
        ({"folder": "/home"}, "--sampler.folder /home"),
    ],
)
def test_a_resumed_run_gives_no_sampler_code_or_a_folder(sampler_args, option, theirs, llmzoo):
    theirs(sampler_args=sampler_args)
    said = llmzoo(*PLAYING["resume"])
    assert said.code == 2
    assert f"Pass {option}" in said.err


def test_a_resumed_run_joins_no_cluster_because_its_engine_is_named(theirs, llmzoo):
    theirs(engine="ray", engine_args={"address": "evil.invalid:6379"})
    said = llmzoo(*PLAYING["resume"], "--engine", "ray")
    assert "Pass --engine.address evil.invalid:6379 to use it." in said.err


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name in ("env_args", "agent_args") for value in (None, ["evil"], "evil")]
    + [("agent_args", {"player_0": None})],
)
@pytest.mark.parametrize("command", PLAYING)
@pytest.mark.slow
def test_settings_of_another_type_are_named(command, name, value, theirs, llmzoo):
    theirs(**{name: value})
    said = llmzoo(*PLAYING[command])
    assert said.code == 2
    assert f"{name}" in said.err
    assert "must be a mapping" in said.err


def test_a_record_of_the_gateway_is_no_evaluation(theirs, llmzoo):
    evaluation(theirs, llmzoo)
    config = Path("kept/config.json")
    config.write_text(json.dumps({"agents": ["a"], "policy": "random"}))
    assert "contains no evaluation" in llmzoo("eval", "rescore", "kept").err


def evaluation(theirs: Callable, llmzoo: Callable, **settings: object) -> None:
    """The folder ``kept`` of an evaluation, with these settings in its config.json."""
    said = llmzoo("eval", "kuhn_poker_v0", "--policy", "random", "--tasks", 1, "--out", "kept")
    assert said.code == 0, said.err
    config = Path("kept/config.json")
    config.write_text(json.dumps(json.loads(config.read_text()) | settings))


@pytest.mark.parametrize("settings", CODE_IN)
def test_an_evaluation_that_is_judged_again_imports_nothing(settings, theirs, llmzoo):
    changed, option = CODE_IN[settings]
    evaluation(theirs, llmzoo, **changed)
    said = llmzoo("eval", "rescore", "kept")
    assert said.code == 2
    assert f"Pass {option}" in said.err
    with pytest.raises(errors.ConfigError, match=r"kept names code to import: .*evil"):
        list(rescore("kept"))
    assert not Path("marker").exists()
    llmzoo("eval", "rescore", "kept", "--env", "evil:Env")  # as the user says it, it runs
    assert Path("marker").exists() == (settings == "env")


def test_another_environment_than_it_was_is_no_repetition(theirs, llmzoo):
    evaluation(theirs, llmzoo)
    assert llmzoo("eval", "rescore", "kept", "--env", "kuhn_poker_v0").code == 0
    said = llmzoo("eval", "rescore", "kept", "--env", "tiny_hanabi_v0")
    assert "was played with env='kuhn_poker_v0', not 'tiny_hanabi_v0'" in said.err


@pytest.mark.parametrize("where", ["others", "agent_args"])
def test_a_server_of_environments_plays_no_agent_of_a_run(where, theirs, monkeypatch):
    monkeypatch.setenv("LLMZOO_TOKEN", SECRET)
    address = "grpc://evil.invalid:1"
    changed = {
        "others": {"others": address, "policies": "player_0"},
        "agent_args": {"agent_args": {"player_1": {"policy": address}}},
    }
    folder = theirs(**changed[where])
    with pytest.raises(errors.ConfigError, match="write openai:MODEL@URL for a model"):
        load_policy_for_agents(str(folder), ["player_0", "player_1"])


@pytest.mark.parametrize("command", ["report", "export", "eval compare"])
def test_what_only_reads_a_folder_imports_nothing(command, theirs, llmzoo):
    theirs(**CODE_IN["env"][0], agent_args={"player_0": {"learner": "evil:Learner"}})
    more = {"export": ("--out", "copy"), "eval compare": ("theirs",)}.get(command, ())
    llmzoo(*command.split(), "theirs", *more)
    assert not Path("marker").exists()

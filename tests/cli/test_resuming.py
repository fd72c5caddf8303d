"""``llmzoo train --resume`` of somebody else's folder: it imports nothing and sends no key."""

from __future__ import annotations

import json
import sys

import pytest

from llmzoo.cli import main

CONFIG = {"env": "sudoku_v0", "env_args": {}, "learner": "magrpo", "model": "tiny", "steps": 1}
CODE = "from pathlib import Path\nPath('marker').write_text('ran')\nEnv = Tool = None\n"


@pytest.fixture
def resume(tmp_path, monkeypatch, capsys):
    """Goes on with a folder ``theirs``, which is a package too; gives standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    folder = tmp_path / "theirs"
    folder.mkdir()
    (folder / "evil.py").write_text(CODE)

    def call(*argv, **settings):
        (folder / "config.json").write_text(json.dumps({**CONFIG, **settings}))
        assert main(["train", "--resume", "theirs", *argv]) == 2
        return capsys.readouterr().err

    yield call
    sys.modules.pop("theirs.evil", None)
    sys.modules.pop("theirs", None)


@pytest.mark.parametrize(
    ("settings", "code", "said"),
    [
        ({"env": "theirs.evil:Env"}, "theirs.evil:Env", "--env theirs.evil:Env"),
        ({"learner": "theirs.evil:Env"}, "theirs.evil:Env", "--learner theirs.evil:Env"),
        (
            {"env": "tool_use_v0", "env_args": {"tools": ["calculator", "theirs.evil:Tool"]}},
            "theirs.evil:Tool",
            """--env.tools '["calculator", "theirs.evil:Tool"]'""",
        ),
        (
            {"env": "tool_use_v0", "env_args": {"tools": ["theirs.evil://x"]}},
            "theirs.evil://x",
            """--env.tools '["theirs.evil://x"]'""",
        ),
    ],
)
def test_code_that_a_folder_names_is_not_imported(resume, tmp_path, settings, code, said):
    error = resume(**settings)
    assert f"theirs names code to import: {code}. Pass {said} to run it." in error
    assert not (tmp_path / "marker").exists()


def test_it_is_imported_where_the_option_says_the_same(resume, tmp_path):
    resume("--env", "theirs.evil:Env", env="theirs.evil:Env")
    assert (tmp_path / "marker").exists()


def test_an_option_that_says_another_is_refused(resume, tmp_path):
    assert "was started with env=" in resume("--env", "os:abc", env="theirs.evil:Env")
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("judge", ["theirs.evil.Env", "llm", {"class_path": "theirs.evil.Env"}])
def test_an_argument_that_is_a_function_is_not_imported(resume, tmp_path, judge):
    said = resume(env="debate_v0", env_args={"judge": judge})
    assert "judge must be 'rules', 'endpoint' or a function" in said
    assert not (tmp_path / "marker").exists()


@pytest.mark.parametrize("name", ["env_args", "learner_args", "agent_args", "lora_args"])
def test_no_class_is_imported_that_a_mapping_names(resume, tmp_path, name):
    inner = {"class_path": "theirs.evil.Env"}
    resume(**{name: {"a": inner}})
    assert not (tmp_path / "marker").exists()
    assert f"'{name}' must be a mapping" in resume(**{name: json.dumps({"a": inner})})
    assert not (tmp_path / "marker").exists()


def test_no_cluster_is_joined_that_a_folder_names(resume):
    said = resume(engine="ray", engine_args={"address": "evil.org:6379"})
    assert "Pass --engine.address evil.org:6379 to use it." in said


def test_a_folder_chooses_no_key(resume, monkeypatch):
    monkeypatch.setenv("OTHER", "secret")
    monkeypatch.delenv("LLMZOO_ENDPOINT_KEYS", raising=False)
    endpoint = {"model": "m", "base_url": "http://evil.org/v1", "api_key_env": "OTHER"}
    settings = {"env": "debate_v0", "env_args": {"judge": "endpoint", "endpoint": endpoint}}
    said = resume(**settings)
    assert "theirs names the variable OTHER as the key for evil.org" in said
    assert "Set LLMZOO_ENDPOINT_KEYS=evil.org=OTHER to send it." in said
    monkeypatch.setenv("LLMZOO_ENDPOINT_KEYS", "evil.org=OTHER")
    settings["env_args"]["prompt"] = "odd"  # the next thing that is refused
    assert "OTHER" not in resume(**settings)


def test_a_function_is_named_in_words(capsys):
    argv = ["eval", "--env", "debate_v0", "--policy", "expert", "--env.judge", "llm"]
    assert main(argv) == 2
    assert "'judge' must be one of rules, endpoint or a function" in capsys.readouterr().err

"""A fetched model has its name wherever a model is named."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

pytest.importorskip("gguf", reason="the extra 'fetch' is not installed")

from small_wheel import write_gguf

from llmzoo import policies
from llmzoo.cli import main
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.export import export_run
from llmzoo.models import lora
from llmzoo.models.gguf import convert_gguf
from llmzoo.models.loading import TINY_FOLDER
from llmzoo.models.model_catalog import MODEL_CATALOG, catalog_folder

ENV = ["--env", "sudoku_v0", "--env.max_turns", "1", "--env.prompt", "terse"]
SHORT = ["--max_new_tokens", "4", "--quiet"]
ONE_STEP = [*ENV, *SHORT, *["--steps", "1", "--episodes_per_step", "1", "--eval_tasks", "2"]]
LORA = [*ONE_STEP, *["--learner", "magrpo", "--policies", "lora", "--lora.r", "2"]]


@pytest.fixture(scope="module")
def converted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("converted")
    write_gguf(folder / "model.gguf")
    (folder / "models" / "smollm2").mkdir(parents=True)
    convert_gguf(folder / "model.gguf", folder / "models" / "smollm2")
    return folder


@pytest.fixture(scope="module")
def lora_run(converted, tmp_path_factory):
    """A run of adapters on the small model, named smollm2."""
    run = tmp_path_factory.mktemp("lora") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLMZOO_HOME", str(converted))
        assert main(["train", *LORA, "--model", "smollm2", "--out", str(run)]) == 0
    return run


@pytest.fixture
def fetched(converted, monkeypatch, tmp_path):
    """A small model takes the place of SmolLM2."""
    monkeypatch.setenv("LLMZOO_HOME", str(converted))
    monkeypatch.chdir(tmp_path)


COMMANDS = {
    "train": ["train", *ONE_STEP, "--model", "smollm2", "--out", "run"],
    "a file": ["train", *ONE_STEP, "--config", "run.yaml", "--out", "run"],
    "an agent": [
        *("train", *ONE_STEP, "--policies", "separate", "--agent.planner_1.policy", "smollm2"),
        *("--model", "tiny", "--out", "run"),
    ],
    "others": [
        *("train", *ONE_STEP, "--policies", "planner_1", "--others", "smollm2", "--model", "tiny"),
        *("--out", "run"),
    ],
    "a critic": [
        *("train", *ONE_STEP, "--learner", "ippo", "--learner.critic_model", "smollm2"),
        *("--model", "smollm2", "--out", "run"),
    ],
    "bench": [
        *("bench", "--envs", "sudoku_v0", *ENV[2:], "--learners", "magrpo", "--seeds", "0"),
        *("--steps", "1", "--episodes_per_step", "1", "--eval_tasks", "2", "--max_new_tokens", "4"),
        *("--model", "smollm2", "--out", "bench"),
    ],
    "eval": ["eval", *ENV, *SHORT, "--policy", "smollm2", "--tasks", "2", "--json"],
    "play": ["play", *ENV, "--policy", "smollm2"],
    "collect": [
        *("collect", *ENV, *SHORT, "--policy", "smollm2", "--tasks", "2", "--out", "rows.jsonl"),
    ],
}


FAST = ("eval", "an agent")


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param(a, id=n, marks=[pytest.mark.slow] * (n not in FAST))
        for n, a in COMMANDS.items()
    ],
)
def test_commands_know_the_name(argv, fetched, llmzoo):
    Path("run.yaml").write_text("model: smollm2\n")
    said = llmzoo(*argv)
    assert said.code == 0, said.err
    if argv[0] == "eval":
        assert json.loads(said.out)["policy"] == "smollm2"


@pytest.mark.parametrize("argv", COMMANDS.values(), ids=COMMANDS)
def test_the_error_before_it_is_fetched(argv, fetched, llmzoo, monkeypatch, tmp_path):
    Path("run.yaml").write_text("model: smollm2\n")
    monkeypatch.setenv("LLMZOO_HOME", str(tmp_path / "empty"))
    said = llmzoo(*argv)
    assert said.code == 2
    assert (
        f"the model 'smollm2' is not in {tmp_path / 'empty' / 'models'}: llmzoo fetch smollm2"
        in said.err
    )
    assert not Path("run").exists()


def test_the_error_in_python(fetched, monkeypatch, tmp_path):
    monkeypatch.setenv("LLMZOO_HOME", str(tmp_path))
    for call in (policies.load, policies.load_model, policies.check_model):
        with pytest.raises(ConfigError, match="llmzoo fetch smollm2"):
            call("smollm2")


def test_a_near_name(fetched, llmzoo):
    said = llmzoo("eval", *ENV, "--policy", "smolm2", "--tasks", "2")
    assert "unknown policy or model 'smolm2'. Did you mean 'smollm2'?" in said.err


def test_the_name_comes_before_a_folder(fetched):
    """As with tiny; a path names the folder."""
    shutil.copytree(TINY_FOLDER, "smollm2")
    policies.check_model("./smollm2")
    assert policies.load("smollm2").tokenizer.chat_template is not None
    assert policies.load("./smollm2").tokenizer.chat_template is None


def test_a_name_of_an_answer_of_256_tokens(fetched):
    assert policies.load("smollm2").sampling.max_new_tokens == 256


def test_completion_offers_it(llmzoo):
    script = llmzoo("--completion", "bash").out
    for option in ("eval___policy", "train___model", "train___others"):
        (line,) = [
            s for s in script.splitlines() if s.startswith(f"_shtab_llmzoo_{option}_choices=")
        ]
        assert "tiny smollm2)" in line


def test_names_of_llmzoo_s_ask_no_hub(fetched, monkeypatch):
    """There may be an adapter called tiny."""
    asked = []
    monkeypatch.setattr(lora, "find_adapter_config_file", asked.append)
    assert not lora.is_adapter("tiny")
    assert not lora.is_adapter("smollm2")
    assert asked == [str(TINY_FOLDER), str(catalog_folder("smollm2"))]


@pytest.mark.slow
def test_adapters_find_their_base_in_another_cache(
    fetched, converted, lora_run, llmzoo, monkeypatch
):
    """They name it by its name, so that another user finds it too."""
    shutil.copytree(lora_run, "run")
    adapter = Path("run/checkpoints/step_000001/planner_1")
    settings = json.loads((adapter / "adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] == "smollm2"
    shutil.copytree(converted, "elsewhere")
    monkeypatch.setenv("LLMZOO_HOME", os.path.abspath("elsewhere"))
    moved = policies.load(str(adapter))
    moved.save("again")
    again = json.loads(Path("again/adapter_config.json").read_text())
    assert again["base_model_name_or_path"] == "smollm2"
    said = llmzoo("train", "--resume", "run", "--steps", "2", "--quiet")
    assert said.code == 0, said.err


def test_an_export_of_adapters_holds_the_base(fetched, lora_run, tmp_path, monkeypatch):
    """The name means nothing to peft, and the weights are not those of the hub."""
    shutil.copytree(lora_run, "run")
    done = export_run("run", "exported")
    base, kept = (
        Path("exported/base/model.safetensors"),
        catalog_folder("smollm2") / "model.safetensors",
    )
    assert base.read_bytes() == kept.read_bytes()
    assert done.base == Path("exported/base")
    settings = json.loads(Path("exported/planner_1/adapter_config.json").read_text())
    assert settings["base_model_name_or_path"] is None
    card = Path("exported/README.md").read_text()
    assert "base_model: HuggingFaceTB/SmolLM2-135M-Instruct" in card
    assert f"`llmzoo fetch smollm2` brings it. {MODEL_CATALOG['smollm2'].weights}" in card
    monkeypatch.setenv("LLMZOO_HOME", str(tmp_path / "empty"))
    with pytest.raises(ConfigError, match="llmzoo fetch smollm2"):
        export_run("run", "another")


def test_adapters_of_several_bases_are_not_exported_together(fetched, lora_run):
    shutil.copytree(lora_run, "run")
    adapter = Path("run/checkpoints/step_000001/planner_1/adapter_config.json")
    settings = json.loads(adapter.read_text())
    adapter.write_text(json.dumps({**settings, "base_model_name_or_path": "tiny"}))
    with pytest.raises(CheckpointError, match="several bases: smollm2, tiny"):
        export_run("run", "exported")

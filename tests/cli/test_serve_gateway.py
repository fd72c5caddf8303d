"""``llmzoo serve gateway`` in a process of its own, with the commands and the program of docs/programs.md."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import signal
import socket
from pathlib import Path

import pytest
from endpoint_servers import serving_command

import llmzoo as package
from llmzoo.cli import main

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "programs.md").read_text()
SECTION = PAGE[PAGE.index("## Programs that run elsewhere") : PAGE.index("## Copies of an episode")]
SERVE, TRAIN = (
    shlex.split(block.replace("\\\n", " "))
    for block in re.findall(r"^```bash\n(.*?)^```", SECTION, re.MULTILINE | re.DOTALL)
)
USER = [{"role": "user", "content": "sudoku ak digit"}]


def told(line):
    """What a server with --json says, and its token."""
    said = json.loads(line)
    return said, Path(said["token_file"]).read_text()


@pytest.mark.slow
def test_the_page(tmp_path, monkeypatch):
    """Its gateway serves its program, Ctrl-C ends it, and its training reads the record."""
    monkeypatch.chdir(tmp_path)
    (program,) = (b for b in re.findall(r"^```text\n(.*?)^```", SECTION, re.M | re.S))
    given = [*SERVE[3:], "--port", "0", "--json"]
    with serving_command(tmp_path, "gateway", *given) as (process, line):
        said, token = told(line)
        assert said["agents"] == ["caller_0", "echo_1"]
        monkeypatch.setenv("OPENAI_API_KEY", token)
        names = {}
        exec(program.replace("http://127.0.0.1:8000", said["address"]), names)
        names["client"].with_options(
            base_url=f"{said['address']}/episodes/still-open/v1"
        ).chat.completions.create(model="caller", messages=USER)
        process.send_signal(signal.SIGINT)
        assert process.wait(300) == 0
        assert "the gateway has ended" in process.stderr.read()
    assert not Path(said["token_file"]).exists()
    paid, left = package.load_episodes("runs/gateway")
    assert (paid.info["task_name"], paid.terminated) == ("task-7", True)
    assert [d.agent for d in paid.decisions] == ["caller_0", "echo_1"]
    assert [d.completion.text for d in paid.decisions] == [names["said"], names["repeated"]]
    assert (left.info["task_name"], left.truncated) == ("still-open", True)
    assert all(d.completion.ids and d.completion.logprobs for d in paid.decisions)

    shutil.copy(ROOT / "examples" / "own_program.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    assert main([*TRAIN[1:], "--learner.min_return", "0"]) == 0
    lines = (tmp_path / "runs/from_gateway/metrics.jsonl").read_text().splitlines()
    (row,) = (row for row in map(json.loads, lines) if row["kind"] == "train")
    assert row["examples"] == 6  # 4 episodes: each of the two twice, with 2 answers and 1


@pytest.mark.slow
def test_a_record_is_resumed_and_the_token_is_given(tmp_path):
    given = ["--agents", "a_0", "--out", "kept", "--port", "0"]
    secret = "0123456789abcdef"
    for number in range(2):
        more = ["--resume"] if number else []
        with serving_command(tmp_path, "gateway", *given, *more, LLMZOO_TOKEN=secret) as (
            process,
            line,
        ):
            address = re.fullmatch(
                r"serving a_0 at (http://127\.0\.0\.1:\d+)/episodes/ID/v1\n", line
            )
            assert process.stdout.readline() == "token: in LLMZOO_TOKEN\n"
            url = f"{address[1]}/episodes/e{number}"
            client = openai.OpenAI(base_url=f"{url}/v1", api_key=secret)
            client.chat.completions.create(model="a", messages=USER)
            client.post(f"{url}/reward", cast_to=object, body=1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(300) == 0
    episodes = package.load_episodes(tmp_path / "kept")
    assert [episode.info["task_name"] for episode in episodes] == ["e0", "e1"]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--port", "65536"], "port must be 0 to 65535, got 65536"),
        (["--host", "no such host"], "cannot listen at no such host:8000"),
        (
            ["--host", "0.0.0.0", "--port", "0"],
            "can be reached from other machines and needs a token",
        ),
        (["--agents", "a_0,a_0"], "--agents names at least one agent, each once"),
        (["--agents", "../a"], "--agents names at least one agent, each once"),
        (["--idle_s", "0"], "idle_s is above 0"),
        (["--policy", "expert", "--port", "0"], "'expert' cannot answer for 'a_0'"),
        (["--policy", "tinny", "--port", "0"], "Did you mean 'tiny'"),
        (["--agent.b_1.policy", "tiny", "--port", "0"], "unknown agent 'b_1'"),
        (["--agent.a_0.temprature", "1"], "Did you mean 'temperature'"),
        (["--resume", "--port", "0"], "contains no run to resume"),
    ],
)
def test_mistakes(llmzoo, tmp_path, monkeypatch, options, why):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    said = llmzoo("serve", "gateway", "--agents", "a_0", "--out", tmp_path / "kept", *options)
    assert (said.code, why in said.err) == (2, True), said.err
    assert not (tmp_path / "kept" / "episodes.jsonl").exists()
    left = tmp_path / "cache" / "llmzoo" / "tokens"
    assert not left.exists() or list(left.iterdir()) == []


def test_a_taken_port_and_a_taken_folder(llmzoo, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = llmzoo(
            "serve", "gateway", "--agents", "a_0", "--out", tmp_path / "kept", "--port", port
        )
    assert (said.code, "Address already in use" in said.err) == (2, True)
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "config.json").write_text("{}")
    said = llmzoo("serve", "gateway", "--agents", "a_0", "--out", tmp_path / "kept", "--port", 0)
    assert (said.code, "already holds a run" in said.err) == (2, True)

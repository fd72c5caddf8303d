"""``llmzoo serve envs`` in a process of its own, and the commands that use it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from env_servers import TOKEN

import llmzoo
from llmzoo.cli.serve_envs import ServeEnvsOptions, build_service
from llmzoo.envs.forking import fork
from llmzoo.errors import UnknownNameError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "serving.md"
ADDRESS = "grpc://127.0.0.1:50051"  # on the page
SMALLER = {
    "eval": ["--tasks", 2],
    "train": ["--steps", 1, "--eval_tasks", 2],
    "bench": ["--eval_tasks", 2],
}


@contextmanager
def serving(*options, **variables):
    """The server of a command, what it printed first, and afterwards that it ended well."""
    process = subprocess.Popen(
        [sys.executable, "-m", "llmzoo", "serve", "envs", *options, "--port", "0"],
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """Tokens are kept apart from the user's, and none is set."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        patch.delenv("LLMZOO_TOKEN", raising=False)
        yield folder


@pytest.fixture(scope="module")
def server(cache):
    """The server of the page, at a free port; with what clients may not have there."""
    with serving("--envs", "sudoku_v0,plan_path_v0", "--json", "--players") as (process, line):
        told = json.loads(line)
        assert told["environments"] == ["sudoku_v0", "plan_path_v0"]
        yield process, told["address"]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "the server has ended" in process.stderr.read()
        assert list((cache / "llmzoo" / "tokens").iterdir()) == []


def commands(language="bash"):
    blocks = re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line, comments=True) for line in lines if line.strip()]


def of_llmzoo(name):
    return [command[1:] for command in commands() if command[:2] == ["llmzoo", name]]


@pytest.mark.slow
def test_the_clients_commands_of_the_page(server, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    clients = [c for name in ("eval", "train", "bench") for c in of_llmzoo(name)]
    assert len(clients) >= 3
    for command in clients:
        command = [part.replace(ADDRESS, server[1]) for part in command]
        code, _, err = call(*command, *SMALLER[command[0]])
        assert code == 0, f"{command}: {err}"
    rows = json.loads(Path("runs/both/results.json").read_text())
    envs = [f"{server[1]}/plan_path_v0", "plan_path_v0"]
    assert [(row["env"], row["steps"]) for row in rows] == [(env, 1) for env in envs]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A folder with what the page's own command makes."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    (command,) = (command for command in commands() if command[0] == "openssl")
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("number", range(len(of_llmzoo("serve"))))
@pytest.mark.slow
def test_the_servers_commands_of_the_page(number, cache, certificate, call, monkeypatch):
    """Each starts, says where it is, is called, and ends by Ctrl-C."""
    command = of_llmzoo("serve")[number]
    monkeypatch.chdir(certificate)
    if "--host" in command:
        monkeypatch.setenv("LLMZOO_TOKEN", TOKEN)
    with serving(*command[2:]) as (process, line):
        assert re.match(r"serving \d environments at grpcs?://", line), process.stderr.read()
        address = line.split()[-1].replace("0.0.0.0", "127.0.0.1")
        assert address.startswith("grpcs://") == ("--tls_cert" in command)
        if "--tls_cert" in command:
            monkeypatch.setenv("LLMZOO_TLS_CA", "server.pem")
        id = command[2].partition(",")[0]
        code, _, err = call("eval", "--env", f"{address}/{id}", "--policy", "random", "--tasks", 1)
        assert code == 0, err
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        in_the_clear = "travel in the clear" in process.stderr.read()
        assert in_the_clear == ("--host" in command and "--tls_cert" not in command)


def test_eval_says_the_same_as_here(server, call):
    said = {}
    for env in ("sudoku_v0", f"{server[1]}/sudoku_v0"):
        argv = ["--policy", "tiny", "--tasks", 4, "--env.max_turns", 1, "--seed", 3, "--json"]
        code, out, err = call("eval", "--env", env, *argv)
        assert code == 0, err
        said[env] = json.loads(out)
        assert said[env].pop("env") == env
        del said[env]["seconds"]
    here, there = said.values()
    assert there == here


@pytest.mark.slow
def test_train_names_its_run_after_the_address(server, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    env = f"{server[1]}/sudoku_v0"
    argv = [
        "--env",
        env,
        "--env.max_turns",
        1,
        "--steps",
        1,
        "--episodes_per_step",
        2,
        "--eval_tasks",
        2,
    ]
    code, out, err = call("train", *argv, "--json", "--quiet")
    assert code == 0, err
    run = Path(json.loads(out)["run"])
    assert run.name == env.replace("://", ".").replace(":", ".").replace("/", ".") + "-at_grpo-0"
    assert run.parent == Path("runs")
    assert json.loads((run / "config.json").read_text())["env"] == env


def test_play_takes_an_address(server, call):
    code, out, err = call("play", f"{server[1]}/sudoku_v0", "--policy", "expert")
    assert code == 0, err
    assert out == call("play", "sudoku_v0", "--policy", "expert")[1]


def test_mistakes_are_said_in_a_line(server, call):
    address = server[1]
    for argv, told in (
        (
            ["--env", f"{address}/sudoku"],
            "unknown environment at grpc://.*Did you mean 'sudoku_v0'",
        ),
        (["--env", f"{address}/sudoku_v0", "--env.sise", 9], "Did you mean 'size'"),
        (["--env", f"{address}/sudoku_v0", "--source", "/etc/passwd"], "for a client"),
        (["--env", "grpc://127.0.0.1:1/sudoku_v0"], "no server can be reached"),
        (["--env", "grpc://x@127.0.0.1/sudoku_v0"], "must not contain a user or a token"),
    ):
        code, _, err = call("eval", *argv, "--policy", "random", "--tasks", 1)
        assert code == 2
        assert re.search(told, err), err
        assert len(err.splitlines()) == 1


# The server's memory


def resident(process):
    """Megabytes of memory that a process holds."""
    pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
@pytest.mark.slow
def test_hundreds_of_sessions_opened_and_dropped_leave_memory_where_it_was(server):
    process, address = server

    def hundreds():
        envs = [llmzoo.make(f"{address}/plan_path_v0") for _ in range(200)]
        for number, env in enumerate(envs):
            env.reset(seed=number)
        forks = [fork(env) for env in envs]
        for forked in forks:
            forked.step("U")
        assert len({forked.agent_selection for forked in forks}) == 1
        return resident(process)

    hundreds()
    hundreds()  # Python's own pools have their size by now
    before = resident(process)
    most = max(hundreds() for _ in range(3))
    # 600 sessions and their forks that were kept would weigh 22, and pools still grow by 4 or 5
    assert most - before < 10
    one = llmzoo.make(f"{address}/plan_path_v0")
    one.reset(seed=1)
    assert one.agents  # closes the last ones
    assert resident(process) - before < 10


# Settings


def test_a_server_for_other_machines_asks_for_a_token(call, monkeypatch):
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    code, out, err = call("serve", "envs", "sudoku_v0", "--host", "0.0.0.0", "--port", 0)
    assert (code, out) == (2, "")
    assert "needs a token: put a secret into LLMZOO_TOKEN" in err


@pytest.mark.slow
def test_a_token_by_another_name_and_none_at_all(call, cache):
    with serving("--envs", "sudoku_v0", "--token_env", "MINE", "--json", MINE=TOKEN) as (_, line):
        env = ["--env", json.loads(line)["address"] + "/sudoku_v0"]
        rest = ["--policy", "random", "--tasks", 1]
        code, _, err = call("eval", *env, *rest)
        assert code == 2
        assert "refused the token" in err
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LLMZOO_TOKEN", TOKEN)
            assert call("eval", *env, *rest)[0] == 0
    with serving("--envs", "sudoku_v0", "--no_token", "--json") as (_, line):
        assert call("eval", "--env", json.loads(line)["address"] + "/sudoku_v0", *rest)[0] == 0


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--envs", "sudoku"], "Did you mean 'sudoku_v0'"),
        (["--envs", "sudoku_v0", "--env.sise", "9"], "Did you mean 'size'"),
        (["--envs", "sudoku_v0", "--allow", "sise"], "Did you mean 'size'"),
        (["none"], "unknown environment 'none'"),
        (["--envs", "sudoku_v0", "--max_sessions", "0"], "max_sessions must be at least 1"),
        (["--envs", "sudoku_v0", "--tls_cert", "x.pem"], "tls_cert and tls_key go together"),
        (["--envs", "sudoku_v0", "--prot", "1"], "Did you mean '--port'"),
    ],
)
def test_settings_that_are_refused(call, argv, told, cache):
    code, _, err = call("serve", "envs", *argv)
    assert code == 2
    assert told in err


def test_no_token_beside_a_token(call, monkeypatch):
    monkeypatch.setenv("LLMZOO_TOKEN", TOKEN)
    code, _, err = call("serve", "envs", "sudoku_v0", "--no_token")
    assert code == 2
    assert "leave out --no_token" in err


def test_what_is_offered():
    options = ServeEnvsOptions(envs="sudoku_v0,debate_v0", players=True, step_s=5.0)
    service = build_service(options)
    assert list(service.catalogue.specs) == ["sudoku_v0", "debate_v0"]
    assert service.config.players
    assert service.config.step_s == 5.0
    everything = build_service(ServeEnvsOptions())
    assert list(everything.catalogue.specs) == list(llmzoo.list_envs())
    with pytest.raises(UnknownNameError):
        build_service(ServeEnvsOptions(envs=["sudoku"]))
    for hosted in (service, everything):
        hosted.close()

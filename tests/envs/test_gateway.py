"""Programs in other processes: the endpoint that they call, and the commands that environments start."""

from __future__ import annotations

import asyncio
import http.client
import json
import runpy
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import llmzoo
from llmzoo.envs.forking import fork
from llmzoo.envs.programs import ProgramClosed, ProgramError
from llmzoo.errors import ConfigError
from llmzoo.testing import check_fork, check_seeds
from tests.envs.word_programs import ASKING, TASKS, limit_time_from_now

openai = pytest.importorskip("openai")
pytest.importorskip("uvicorn")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
USER = [{"role": "user", "content": "Hi"}]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]


class Echo:
    """An episode whose agents answer at once, with their name and the last message."""

    agents = ("left_0", "right_1")
    seed = 0

    def __init__(self, name="", seconds=0.0):
        self.name, self.seconds, self.calls = name, seconds, []

    async def ask_async(self, call, count):
        self.calls.append(call)
        await asyncio.sleep(self.seconds)
        text = call.messages[-1]["content"]
        if text == "over":
            raise ProgramClosed("the episode of this program is over")
        return [f"{self.name}{call.agent}:{text}"] * count


@pytest.fixture
def episode():
    """``episode(echo)`` opens one at this process's gateway."""
    from llmzoo.envs.programs.local_gateway import gateway

    opened = []

    def call(echo):
        opened.append(gateway().open(echo))
        return opened[-1]

    yield call
    for one in opened:
        gateway().close(one)


def client_of(episode, kind=openai.OpenAI, **changes):
    return kind(**{"base_url": episode.url, "api_key": episode.token, "max_retries": 0, **changes})


def test_the_real_client(episode):
    echo = Echo()
    client = client_of(episode(echo))
    reply = client.chat.completions.create(model="left", messages=USER, n=2, temperature=0.5)
    assert [choice.message.content for choice in reply.choices] == ["left_0:Hi"] * 2
    assert reply.choices[0].finish_reason == "stop"
    assert [model.id for model in client.models.list()] == ["left_0", "right_1"]
    talk = [{"role": "system", "content": "Be brief."}, *USER, reply.choices[0].message, *USER]
    client.chat.completions.create(model="right_1", messages=talk, stop="x")
    assert [m["role"] for m in echo.calls[-1].messages] == ["system", "user", "assistant", "user"]
    assert echo.calls[-1].stop == ("x",)


def test_the_real_client_streams_and_calls_tools(episode):
    client = client_of(episode(Echo()))
    stream = client.chat.completions.create(model="left", messages=USER, stream=True)
    assert "".join(part.choices[0].delta.content for part in stream) == "left_0:Hi"
    asked = '<tool_call>{"name": "add", "arguments": {"x": 1}}</tool_call>'
    talk = [{"role": "user", "content": asked}]
    reply = client.chat.completions.create(model="left", messages=talk, tools=TOOLS)
    (call,) = reply.choices[0].message.tool_calls
    assert (call.function.name, json.loads(call.function.arguments)) == ("add", {"x": 1})
    assert reply.choices[0].finish_reason == "tool_calls"
    stream = client.chat.completions.create(model="left", messages=talk, tools=TOOLS, stream=True)
    assert next(iter(stream)).choices[0].delta.tool_calls[0].function.name == "add"


def test_the_real_asynchronous_client(episode):
    opened = episode(Echo())

    async def both():
        async with client_of(opened, openai.AsyncOpenAI) as client:
            create = client.chat.completions.create
            replies = await asyncio.gather(
                *(create(model=m, messages=USER) for m in ("left", "right"))
            )
            stream = await create(model="left", messages=USER, stream=True)
            streamed = [part.choices[0].delta.content async for part in stream]
            return [reply.choices[0].message.content for reply in replies], streamed

    assert asyncio.run(both()) == (["left_0:Hi", "right_1:Hi"], ["left_0:Hi"])


def test_requests_that_are_refused(episode):
    opened = episode(Echo())
    ask = partial(client_of(opened).chat.completions.create, model="left", messages=USER)
    with pytest.raises(openai.AuthenticationError, match="token is missing or wrong"):
        client_of(opened, api_key="guess").chat.completions.create(model="left", messages=USER)
    unknown = opened.url.replace(opened.url.split("/")[-2], "0" * 16)
    with pytest.raises(openai.NotFoundError, match="no episode '0000000000000000' is open"):
        client_of(opened, base_url=unknown).chat.completions.create(model="left", messages=USER)
    with pytest.raises(
        openai.BadRequestError, match=r"unknown agent 'lef'\. Did you mean 'left_0'"
    ):
        ask(model="lef")
    with pytest.raises(openai.BadRequestError, match="unknown setting of a call 'logprobs'"):
        ask(logprobs=True)
    with pytest.raises(openai.BadRequestError, match="messages is a list"):
        ask(messages=[])
    with pytest.raises(
        openai.BadRequestError, match="missing 1 required keyword-only argument: 'model'"
    ):
        ask(model=openai.omit)
    with pytest.raises(openai.APIStatusError, match="is over") as gone:
        ask(messages=[{"role": "user", "content": "over"}])
    assert gone.value.status_code == 410


@pytest.mark.parametrize(
    ("body", "status"),
    [(b"{", 400), (b"[1]", 400), (b"[" * 100_000, 400), (b" " * 11_000_000, 413)],
)
def test_bodies_that_are_no_requests(episode, body, status):
    opened = episode(Echo())
    headers = {"Authorization": f"Bearer {opened.token}"}
    request = urllib.request.Request(f"{opened.url}/chat/completions", body, headers)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    assert refused.value.code == status
    assert "error" in json.loads(refused.value.read())


def test_it_listens_on_this_machine_only(episode):
    address = episode(Echo()).url
    assert address.startswith("http://127.0.0.1:")
    port = int(address.split(":")[2].split("/")[0])
    found = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for other in [ip for ip in found if not ip.startswith("127.")]:
        with pytest.raises(OSError):
            socket.create_connection((other, port), timeout=2)


def test_the_episode_may_be_named_in_a_header(episode):
    opened = episode(Echo())
    start, id, _ = opened.url.rsplit("/", 2)
    base = start.removesuffix("/episodes") + "/v1"
    client = client_of(opened, base_url=base, default_headers={"X-Episode": id})
    reply = client.chat.completions.create(model="left", messages=USER)
    assert reply.choices[0].message.content == "left_0:Hi"


def test_two_episodes_are_never_mixed(episode):
    clients = {name: client_of(episode(Echo(f"{name}/", 0.001))) for name in "ab"}

    def ask(number):
        name, role = "ab"[number % 2], ("left", "right")[number // 2 % 2]
        talk = [{"role": "user", "content": str(number)}]
        reply = clients[name].chat.completions.create(model=role, messages=talk)
        place = {"left": "left_0", "right": "right_1"}[role]
        return reply.choices[0].message.content == f"{name}/{place}:{number}"

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(ask, range(160)))


def test_a_client_that_is_lost_harms_nobody(episode):
    opened = episode(Echo(seconds=0.3))
    with pytest.raises(openai.APITimeoutError):
        client_of(opened, timeout=0.05).chat.completions.create(model="left", messages=USER)
    reply = client_of(opened).chat.completions.create(model="left", messages=USER)
    assert reply.choices[0].message.content == "left_0:Hi"


# Commands

RELAY = (
    ASKING
    + """
draft = ask("writer", f"Write {task['word']} backwards. {os.environ['LLMZOO_SEED']}")
verdict = ask("checker", f"Is {draft[:20]!r} right?")
print("a line of its own")
print(json.dumps({"reward": float(draft == task["word"][::-1]), "success": verdict == "yes"}))
"""
)


@pytest.fixture
def command(tmp_path):
    """``command(code, **options)`` is an environment of a Python program in a file."""

    def made(code, **options):
        (tmp_path / "program.py").write_text(code)
        run = [sys.executable, "-S", "program.py"]
        given = {"agents": ["writer_0", "checker_1"], "tasks": TASKS, "folder": tmp_path, **options}
        return llmzoo.from_command(run, **given)

    return made


def test_a_command_is_an_environment(command):
    env = command(RELAY)
    env.reset(options={"task": 0})
    word = env.unwrapped.episode.row.columns["word"]
    assert env.observe("writer_0").startswith(f"Write {word} backwards. ")
    copy = fork(env)
    env.step(word[::-1])
    env.step("yes")
    assert env.rewards == {"writer_0": 1.0, "checker_1": 1.0}
    assert env.infos["writer_0"]["success"] is True
    copy.step("x")  # runs the command again
    copy.step("no")
    assert copy.rewards["writer_0"] == 0.0


def test_a_command_passes_the_checks(command):
    make = partial(command, RELAY)
    check_fork(make)
    check_seeds(make, seeds=range(1))


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        ("print('no number')", "the last line is 'no number'"),
        ("", "the last line is ''"),
        ('print(\'{"reward": 1, "extra": 2}\')', "a command must post its reward"),
        ("print('true')", "a command must post its reward"),
        ("print(json.dumps({'reward': 'high'}))", "a program returns a reward"),
        ("sys.exit('out of luck')", "ended with status 1: out of luck"),
        ("os.kill(os.getpid(), 9)", "ended with status -9"),
    ],
)
def test_what_a_command_may_not_end_with(command, ending, said):
    env = command(f"{ASKING}\nask('writer', '?')\n{ending}")
    env.reset(seed=0)
    with pytest.raises(ProgramError, match=said):
        env.step("x")


def test_a_command_that_is_not_there():
    env = llmzoo.from_command(["no-such-program"], agents=["a_0"], tasks=["one"])
    with pytest.raises(ProgramError, match="FileNotFoundError"):
        env.reset(seed=0)


def test_a_reward_may_be_posted(command):
    post = """
url = os.environ["LLMZOO_REWARD_URL"]
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
urllib.request.urlopen(urllib.request.Request(url, b'{"reward": 0.75}', headers)).read()
print("nothing of interest")
"""
    env = command(f"{ASKING}\nask('writer', '?')\n{post}")
    env.reset(seed=0)
    env.step("x")
    assert env.rewards["writer_0"] == 0.75


def test_a_command_that_sleeps_is_killed_with_what_it_started(command, tmp_path):
    sleeps = """
import subprocess, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
ask("writer", "?")
time.sleep(600)
"""
    env = command(ASKING + sleeps)
    env.reset(seed=0)
    limit_time_from_now(env, 0.1)
    with pytest.raises(ProgramError, match=r"called nobody for 0\.1 seconds"):
        env.step("x")
    assert ended([int(pid) for pid in (tmp_path / "pids").read_text().split()])


def test_dropped_episodes_leave_no_process(command, tmp_path):
    others = programs()  # of other tests' environments
    env = command(
        ASKING + "open('pids', 'a').write(f'{os.getpid()} ')\nask('writer', '?')\nprint(1)"
    )
    for seed in range(5):
        env.reset(seed=seed)
    env.close()
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) == 5
    assert ended(pids)
    for thread in programs() - others:
        thread.join(30)
    assert not programs() - others


def programs():
    """The threads that run programs."""
    return {t for t in threading.enumerate() if t.name == "llmzoo program"}


def ended(pids, seconds=30):
    """Whether all processes end in time; a child that nobody waits for may be a zombie."""

    def is_alive(pid):
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        except (FileNotFoundError, ProcessLookupError):
            return False

    ends = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < ends:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_agents_in_javascript():
    make = runpy.run_path(str(EXAMPLES / "javascript_program.py"))["make"]
    first = make()
    first.reset(options={"task": 1})
    prompt = first.unwrapped.episode.row.columns["prompt"]
    for env in (fork(first), first):  # one of them runs the program again
        assert env.observe("caller_0") == f"sudoku {prompt} digit"
        env.step(" 3 of them")
        assert env.observe("echo_1") == "echo 3"
        env.step("4")
        assert env.rewards == pytest.approx({"caller_0": 0.2, "echo_1": 0.2})
        assert env.infos["echo_1"]["success"] is False


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize(("answer", "heard"), [("🙂🙂", "echo 🙂"), (" \n", "echo ")])
def test_agents_in_javascript_pass_whole_characters_on(answer, heard):
    """JavaScript cuts texts into halves of surrogate pairs, which no request may hold."""
    env = runpy.run_path(str(EXAMPLES / "javascript_program.py"))["make"]()
    env.reset(seed=0)
    env.step(answer)
    assert env.observe("echo_1") == heard


def test_a_tool_call_in_a_stream_has_its_place(episode):
    opened = episode(Echo())
    talk = [{"role": "user", "content": '<tool_call>{"name": "add"}</tool_call>'}]
    with client_of(opened).chat.completions.stream(
        model="left", messages=talk, tools=TOOLS
    ) as stream:
        final = stream.get_final_completion()
    assert final.choices[0].message.tool_calls[0].function.name == "add"


def test_an_answer_that_is_no_unicode_arrives(episode):
    class Odd(Echo):
        async def ask_async(self, call, count):
            return ["\ud800"] * count

    opened = episode(Odd())
    headers = {"Authorization": f"Bearer {opened.token}"}
    body = json.dumps({"model": "left", "messages": USER}).encode()
    request = urllib.request.Request(f"{opened.url}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as reply:
        assert json.load(reply)["choices"][0]["message"]["content"] == "\ud800"


def test_a_call_whose_client_has_gone_is_cancelled(episode):
    began, cancelled = threading.Event(), threading.Event()

    class Slow(Echo):
        async def ask_async(self, call, count):
            began.set()
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                cancelled.set()
                raise

    opened = episode(Slow())
    address = urlsplit(opened.url)
    connection = http.client.HTTPConnection(address.hostname, address.port)
    body = json.dumps({"model": "left", "messages": USER})
    headers = {"Authorization": f"Bearer {opened.token}"}
    connection.request("POST", f"{address.path}/chat/completions", body, headers)
    assert began.wait(20)
    connection.close()
    assert cancelled.wait(20)


def test_calls_of_a_command_at_the_same_time(command):
    both = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(2) as pool:
    said = list(pool.map(ask, ["writer", "checker"], ["1", "2"]))
print(float(said == ["to 1", "to 2"]))
"""
    for together in (0.0, 0.05):
        env = command(ASKING + both, together=together)
        env.reset(seed=0)
        while not env.terminations["writer_0"]:
            time.sleep(0.05)
            env.step(f"to {env.observe(env.agent_selection)}")
        assert env.rewards["writer_0"] == 1.0


def test_what_a_command_finds(command, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    long = [{"text": "x" * 200_000}]
    code = ASKING.replace(
        'os.environ["LLMZOO_TASK"]', 'open(os.environ["LLMZOO_TASK_FILE"]).read()'
    )
    env = command(
        f"{code}\nask('writer', task['text'][:3])\nprint('x' * 3_000_000)\nprint(1)", tasks=long
    )
    env.reset(seed=0)
    assert env.observe("writer_0") == "xxx"
    env.step("y")
    assert env.rewards["writer_0"] == 1.0


@pytest.mark.parametrize("ending", [pytest.param("", marks=pytest.mark.slow), "raise ValueError"])
def test_commands_end_with_the_process_that_started_them(tmp_path, ending):
    program = ASKING + "open('pid', 'w').write(str(os.getpid()))\nask('writer', '?')"
    (tmp_path / "program.py").write_text(program)
    starts = """
import sys, llmzoo
env = llmzoo.from_command([sys.executable, "-S", "program.py"], agents=["writer_0"], tasks=["one"])
env.reset(seed=0)
"""
    subprocess.run([sys.executable, "-c", starts + ending], cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert ended([int((tmp_path / "pid").read_text())])


def test_a_command_is_a_list_of_words():
    with pytest.raises(ConfigError, match=r"such as \['node', 'x.mjs'\]"):
        llmzoo.from_command("node x.mjs", agents=["a_0"], tasks=["one"])

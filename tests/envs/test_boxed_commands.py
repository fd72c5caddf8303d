"""Commands in the sandbox: what they can do, and that nothing else gets them anywhere."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import textwrap
import time
from functools import partial
from pathlib import Path

import pytest

import llmzoo
from llmzoo.envs.programs import ProgramError
from llmzoo.errors import ConfigError, SandboxError
from llmzoo.sandbox.commands import probe_confinement
from llmzoo.sandbox.limits import CommandLimits
from llmzoo.testing import check_env, check_fork
from tests.envs.word_programs import ASKING, TASKS, limit_time_from_now

pytest.importorskip("openai")
pytest.importorskip("uvicorn")


def is_confinable():
    try:
        return probe_confinement() == ()
    except SandboxError:
        return False


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not is_confinable(), reason="needs Linux with namespaces"),
]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
AGENTS = ["writer_0", "checker_1"]
needs_node = pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")

PROGRAM = (
    ASKING
    + """
def tried(act):
    try:
        return ["done", str(act())]
    except BaseException as error:
        return [type(error).__name__, str(error)]
"""
)


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """The test's folder, readable for the other user that root's commands run as."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
def boxed(tmp_path):
    """``boxed(code, **options)`` is an environment of a confined Python program."""
    made = []

    def make(code, **options):
        (tmp_path / "program.py").write_text(PROGRAM + textwrap.dedent(code))
        given = {"agents": AGENTS, "tasks": TASKS, "folder": tmp_path, "sandbox": True}
        given = {"time_limit": 20.0, **given, **options}
        made.append(llmzoo.from_command([sys.executable, "-S", "program.py"], **given))
        return made[-1]

    yield make
    for env in made:
        env.close()


@pytest.fixture
def found(boxed):
    """``found(code)`` runs code in the sandbox and is its variable ``result``."""

    def run(code, task=None, **options):
        tasks = TASKS if task is None else [task]
        env = boxed(
            textwrap.dedent(code) + "\nask('writer', json.dumps(result))\nprint(1)",
            tasks=tasks,
            split="all",
            **options,
        )
        env.reset(seed=0)
        result = json.loads(env.observe("writer_0"))
        env.step("x")
        assert env.rewards["writer_0"] == 1.0
        return result

    return run


# What a confined command can do


RELAY = """
draft = ask("writer", f"Write {task['word']} backwards. {os.environ['LLMZOO_SEED']}")
verdict = ask("checker", f"Is {draft[:20]!r} right?")
print(json.dumps({"reward": float(draft == task["word"][::-1]), "success": verdict == "yes"}))
"""


def test_a_confined_command_is_an_environment(boxed):
    env = boxed(RELAY)
    env.reset(options={"task": 0})
    word = env.unwrapped.episode.row.columns["word"]
    assert env.observe("writer_0").startswith(f"Write {word} backwards. ")
    env.step(word[::-1])
    assert env.observe("checker_1") == f"Is {word[::-1]!r} right?"
    env.step("yes")
    assert env.rewards == {"writer_0": 1.0, "checker_1": 1.0}
    assert env.infos["writer_0"]["success"] is True


@pytest.mark.slow
def test_a_confined_command_passes_the_checks(boxed):
    make = partial(boxed, RELAY)
    check_env(make, cycles=3)
    check_fork(make)


def test_the_real_client_asks_streams_and_posts(tmp_path):
    (tmp_path / "program.py").write_text("""
import asyncio, os, openai, urllib.request
user = [{"role": "user", "content": "Hi"}]
client = openai.OpenAI()
text = client.chat.completions.create(model="writer", messages=user).choices[0].message.content
parts = client.chat.completions.create(model="checker", messages=user, stream=True)
text += "".join(part.choices[0].delta.content for part in parts)
async def all_at_once():
    async with openai.AsyncOpenAI() as client:
        create = client.chat.completions.create
        said = await asyncio.gather(*(create(model="writer", messages=user) for _ in range(40)))
        return "".join(one.choices[0].message.content for one in said)
text += asyncio.run(all_at_once())
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = b'{"reward": %d}' % len(text)
urllib.request.urlopen(urllib.request.Request(os.environ["LLMZOO_REWARD_URL"], body, headers))
""")
    env = llmzoo.from_command(
        [sys.executable, "program.py"],
        **{"agents": AGENTS, "tasks": TASKS, "folder": tmp_path, "sandbox": True},
    )
    env.reset(seed=0)
    long = "x" * 10_000
    for answer in (long, "yes", *["z"] * 40):
        env.step(answer)
    assert env.rewards["writer_0"] == 10_043


@needs_node
def test_agents_in_javascript():
    env = llmzoo.from_command(
        ["node", "agents.mjs"],
        agents=["caller_0", "echo_1"],
        tasks=["ka"],
        split="all",
        folder=EXAMPLES,
        sandbox=True,
    )
    env.reset(seed=0)
    assert env.observe("caller_0") == "sudoku ka digit"
    env.step("3")
    assert env.observe("echo_1") == "echo 3"
    env.step("3")
    assert env.rewards == pytest.approx({"caller_0": 1.2, "echo_1": 1.2})
    assert env.infos["echo_1"]["success"] is True


@needs_node
def test_node_compiles_starts_threads_and_processes(tmp_path):
    (tmp_path / "work.mjs").write_text("""
import {execFileSync} from "node:child_process"
import {Worker} from "node:worker_threads"
import fs from "node:fs"
const wasm = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(
  [0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,7,11])))
const threads = await new Promise(done =>
  new Worker("require('worker_threads').parentPort.postMessage(5)", {eval: true}).on("message", done))
const child = Number(execFileSync("node", ["-e", "console.log(11)"]).toString())
fs.writeFileSync("/tmp/a", "x".repeat(13)); fs.renameSync("/tmp/a", "/tmp/b")
const body = JSON.stringify({model: "writer", messages: [{role: "user", content: "?"}]})
const headers = {Authorization: `Bearer ${process.env.OPENAI_API_KEY}`}
await fetch(`${process.env.OPENAI_BASE_URL}/chat/completions`, {method: "POST", body, headers})
console.log(wasm.exports.f() + threads + child + fs.statSync("/tmp/b").size)
""")
    env = llmzoo.from_command(
        ["node", "work.mjs"],
        **{"agents": AGENTS, "tasks": TASKS, "folder": tmp_path, "sandbox": True},
    )
    env.reset(seed=0)
    env.step("x")
    assert env.rewards["writer_0"] == 7 + 5 + 11 + 13


def test_threads_processes_and_locks_of_python(found):
    code = """
    import multiprocessing, os, subprocess, tempfile, threading
    pool = multiprocessing.get_context("fork").Pool(2)
    squares = pool.map(abs, [-3, 4])
    lines = subprocess.run("echo a | cat; cat /dev/stdin", shell=True, capture_output=True, text=True)
    place = tempfile.mkdtemp()
    os.rename(place, "/tmp/other")
    served = socket_pair = None
    import socket
    with socket.create_server(("127.0.0.1", 0)) as server:
        with socket.create_connection(server.getsockname()) as near:
            near.sendall(b"hello")
            served = server.accept()[0].recv(5).decode()
    task = json.load(open(os.environ["LLMZOO_TASK_FILE"]))
    result = [squares, lines.stdout, os.listdir("/tmp"), served, "word" in task]
    """
    squares, lines, files, served, has_task = found(code)
    assert (squares, lines, served, has_task) == ([3, 4], "a\n", "hello", True)
    assert "other" in files


def test_a_task_of_any_length_arrives(found):
    long = "y" * 300_000
    code = "result = len(json.load(open(os.environ['LLMZOO_TASK_FILE']))['long'])"
    code = "task = None\n" + code
    task = {"word": "x", "long": long}
    # PROGRAM reads LLMZOO_TASK, which is not there for so long a task
    with pytest.raises(ProgramError, match="KeyError: 'LLMZOO_TASK'"):
        found(code, task)


# What it cannot do


def test_its_variables_are_these_alone(found, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_PARENT", "tulip")
    result = found("result = dict(os.environ)")
    assert set(result) == {
        *("PATH", "LANG", "HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY"),
        *("LLMZOO_TASK", "LLMZOO_TASK_FILE", "LLMZOO_SEED", "LLMZOO_REWARD_URL"),
    }
    assert result["HOME"] == "/tmp"


def test_it_holds_no_descriptor_of_ours(found):
    code = "result = os.readlink('/proc/self/fd/0'), sorted(map(int, os.listdir('/proc/self/fd')))"
    assert found(code) == ["/dev/null", [0, 1, 2, 3]]


def test_it_cannot_read_what_is_not_its_own(found, tmp_path_factory):
    secret = tmp_path_factory.mktemp("elsewhere") / "key"
    secret.write_text("tulip")
    paths = [
        *("/etc/shadow", "/root", "/home", "/work", "/var", "/run", "/sys", "/old", str(secret)),
        *(str(Path.home() / ".ssh"), str(Path.home() / ".bashrc"), "/proc/kcore", "/proc/sys"),
        *("/proc/cmdline", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/dev/mem"),
    ]
    code = """
    def read(path):
        return os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(100)
    result = {path: tried(lambda: read(path)) for path in task["paths"]}
    result["names"] = open("/etc/passwd").read()
    """
    result = found(code, {"word": "", "paths": paths})
    assert result.pop("names").count("\n") == 1
    # the folders that lead to Python's own installation exist, with nothing else in them
    leading = {"/root", "/home", "/work"}
    for path, (ending, said) in result.items():
        if path in leading and ending == "done":
            assert json.loads(said.replace("'", '"')) in ([], [".pyenv"], ["main"], ["wt"])
        else:
            assert ending in ("FileNotFoundError", "PermissionError"), (path, said)


def test_it_cannot_write_outside_of_tmp(found, tmp_path):
    (tmp_path / "data").write_text("mine")
    places = ["data", "new", "/x", "/usr/x", "/etc/passwd", "/dev/x"]
    code = """
    result = {path: tried(lambda: open(path, "w").write("x")) for path in task["places"]}
    result["unlink"] = tried(lambda: os.unlink("data"))
    result["chmod"] = tried(lambda: os.chmod("program.py", 0o777))
    result["remount"] = tried(lambda: os.system("mount -o remount,rw / 2>/dev/null") and 1 / 0)
    """
    result = found(code, {"word": "", "places": places})
    assert {path: ending for path, (ending, _) in result.items() if ending == "done"} == {}
    assert (tmp_path / "data").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_it_reaches_its_endpoint_and_no_other_address(found):
    with socket.create_server(("127.0.0.1", 0)) as other, socket.create_server(("", 0)) as all_:
        here = [["127.0.0.1", other.getsockname()[1]], ["127.0.0.1", all_.getsockname()[1]]]
        here += [["1.1.1.1", 53], ["169.254.169.254", 80], ["10.0.0.1", 80]]
        code = """
        import socket
        def connect(address):
            socket.create_connection(address, timeout=3).close()
        result = {}
        for address in task["addresses"]:
            result[str(address)] = tried(lambda: connect(tuple(address)))
        result["name"] = tried(lambda: socket.getaddrinfo("example.com", 80))
        result["interfaces"] = [name for _, name in socket.if_nameindex()]
        """
        result = found(code, {"word": "", "addresses": here})
    assert result.pop("interfaces") == ["lo"]
    endings = {ending for ending, _ in result.values()}
    assert endings <= {"ConnectionRefusedError", "OSError", "gaierror", "TimeoutError"}, result


def test_unix_sockets_of_the_machine_are_out_of_reach(found, tmp_path_factory):
    place = tmp_path_factory.mktemp("socket") / "s"
    with socket.socket(socket.AF_UNIX) as path, socket.socket(socket.AF_UNIX) as abstract:
        path.bind(str(place))
        path.listen()
        abstract.bind("\0llmzoo-test")
        abstract.listen()
        code = """
        import socket
        def connect(address):
            socket.socket(socket.AF_UNIX).connect(address)
        result = [tried(lambda: connect(task["place"])), tried(lambda: connect("\\0llmzoo-test"))]
        """
        result = found(code, {"word": "", "place": str(place)})
    assert [ending for ending, _ in result] == ["FileNotFoundError", "ConnectionRefusedError"]


def test_the_endpoint_answers_this_episode_alone(found, boxed):
    other = boxed(
        "ask('writer', os.environ['OPENAI_BASE_URL'] + ' ' + os.environ['OPENAI_API_KEY'])"
    )
    other.reset(seed=1)
    url, _ = other.observe("writer_0").split()
    guessed = url.rsplit("/", 2)[0] + "/0000000000000000/v1"
    code = """
    import urllib.error
    own = os.environ["OPENAI_BASE_URL"]
    def models(url, token):
        request = urllib.request.Request(url + "/models", headers={"Authorization": f"Bearer {token}"})
        try:
            return urllib.request.urlopen(request).status
        except urllib.error.HTTPError as error:
            return error.code
    result = [models(own, os.environ["OPENAI_API_KEY"]), models(own, "guess"), models(task["guessed"],
        os.environ["OPENAI_API_KEY"]), models(own.rsplit("/", 3)[0] + "/v1", os.environ["OPENAI_API_KEY"])]
    """
    assert found(code, {"word": "", "guessed": guessed}) == [200, 401, 404, 404]


def test_other_processes_are_neither_seen_nor_hurt(found):
    with subprocess.Popen(["sleep", "600"]) as bystander:
        code = """
        import subprocess
        child = subprocess.Popen(["sleep", "60"])
        pids = sorted(int(n) for n in os.listdir("/proc") if n.isdigit())
        result = {"own": os.getpid() in pids and child.pid in pids and len(pids) == 3}
        result["parent"] = tried(lambda: os.kill(task["pid"], 9))
        result["first"] = tried(lambda: os.kill(1, 9))  # the kernel ignores it
        os.kill(-1, 9)  # all but the first and this process
        result["child"] = child.wait()
        """
        result = found(code, {"word": "", "pid": bystander.pid})
        assert bystander.poll() is None
        bystander.kill()
    assert result["own"]
    assert result["parent"][0] == "ProcessLookupError"
    assert result["child"] == -9


def test_forbidden_calls(found):
    code = """
    import ctypes, socket
    libc = ctypes.CDLL(None, use_errno=True)
    def call(name, *args):
        ctypes.set_errno(0)
        return getattr(libc, name)(*args), ctypes.get_errno()
    result = {
        "unshare": call("unshare", 0x10000000),
        "mount": call("mount", b"x", b"/tmp", b"tmpfs", 0, None),
        "ptrace": call("ptrace", 16, 1, 0, 0),
        "memfd_create": call("memfd_create", b"x", 0),
        "shmget": call("shmget", 0, 4096, 0o1600),
        "keyctl": call("syscall", 250, 0, -3, 1),
        "bpf": call("syscall", 321, 0, 0, 0),
        "setns": call("setns", 0, 0),
        "chroot": call("chroot", b"/tmp"),
        "personality": call("personality", 0x40000),
        "mknod": call("mknod", b"/tmp/d", 0o060600, 0x0800),
    }
    for name, given in {"raw": (2, 3, 1), "packet": (17, 3, 0), "vsock": (40, 1, 0), "alg": (38, 5, 0),
                        "sctp": (2, 1, 132), "netfilter": (16, 3, 12)}.items():
        result[name] = [-1, tried(lambda: socket.socket(*given))[0] == "PermissionError"]
    """
    for name, (returned, number) in found(code).items():
        assert (returned, number) == (-1, 1), name


def test_processes_are_limited(found):
    code = """
    import time
    children = 0
    while children < 500:
        try:
            pid = os.fork()
        except BlockingIOError:
            break
        if pid == 0:
            time.sleep(60)
            os._exit(0)
        children += 1
    result = children
    """
    try:
        said = str(found(code, limits=CommandLimits(processes=40)))
    except ProgramError as error:
        said = str(error)
    # the kernel does not limit root in a user namespace of its own, so the sums do
    assert said == "39" or "processes=40" in said


def test_a_fork_bomb_is_gone_when_the_time_is_up(boxed):
    mark = f"llmzoo-bomb-{os.getpid()}"
    bomb = f"""
import subprocess
subprocess.Popen(["{mark}", "600"], executable="/bin/sleep", start_new_session=True)
ask("writer", "?")
while True:
    try:
        os.fork()
    except OSError:
        pass
"""
    env = boxed(bomb, limits=CommandLimits(processes=40))
    env.reset(seed=0)
    assert runs(mark)
    limit_time_from_now(env, 0.5)
    with pytest.raises(ProgramError, match=r"called nobody for 0\.5 seconds|processes=40"):
        env.step("x")
    assert gone(mark)


@pytest.mark.parametrize(
    "code",
    [
        "held = bytearray(1 << 30)\nfor i in range(0, 1 << 30, 4096): held[i] = 1",
        # many processes, each below the limit of one
        """
import time
for _ in range(8):
    if os.fork() == 0:
        held = bytearray(50 << 20)
        for i in range(0, len(held), 4096): held[i] = 1
        time.sleep(60)
time.sleep(60)
""",
        # shared memory, which no limit of a process counts
        "import mmap\nheld = mmap.mmap(-1, 1 << 30)\nfor i in range(0, 1 << 30, 4096): held[i] = 1",
    ],
    ids=["one", "many", "shared"],
)
def test_memory_is_limited(boxed, code):
    env = boxed(f"ask('writer', '?')\n{code}\nprint(1)", limits=CommandLimits(memory_mb=200))
    env.reset(seed=0)
    with pytest.raises(ProgramError, match=r"memory_mb=200|MemoryError|status 1"):
        env.step("x")


def test_processor_time_is_limited_for_all_together(boxed):
    code = (
        "import time\nfor _ in range(3): os.fork()\nask('writer', '?') if os.getpid() == 2 else 0"
    )
    env = boxed(f"{code}\nwhile True: pass", limits=CommandLimits(cpu_s=1))
    env.reset(seed=0)
    with pytest.raises(ProgramError, match="cpu_s=1"):
        env.step("x")


def test_the_disk_is_limited(found):
    code = """
    def fill(path):
        with open(path, "wb", buffering=0) as file:
            for _ in range(64):
                file.write(bytes(1 << 20))
    import signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    result = [tried(lambda: fill("/tmp/large"))[1], tried(lambda: [fill(f"/tmp/{n}") for n in range(9)])[1]]
    result += [os.statvfs("/tmp").f_blocks * os.statvfs("/tmp").f_frsize >> 20]
    def many():
        for n in range(100_000):
            open(f"/tmp/n{n}", "x").close()
    result += [tried(many)[1][:30]]
    for name in os.listdir("/tmp"):
        if os.path.isfile(f"/tmp/{name}"): os.unlink(f"/tmp/{name}")
    """
    limits = CommandLimits(file_mb=10, scratch_mb=16)
    large, many, size, files = found(code, limits=limits)
    assert "File too large" in large
    assert "File too large" in many or "No space left" in many
    assert size == 16
    assert "No space left" in files


def test_output_is_limited(boxed):
    code = "ask('writer', '?')\nwhile True: sys.stdout.write('x' * (1 << 20))"
    env = boxed(code, limits=CommandLimits(file_mb=3))
    env.reset(seed=0)
    with pytest.raises(ProgramError, match=r"status (-25|1)"):
        env.step("x")


# What is left


DAEMON = """
def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.execv("/bin/sleep", ["{mark}", "600"])
        os._exit(0)
    os.wait()
daemon()
"""


def alive(mark):
    """The processes whose first word is a mark."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == mark.encode():
            found.append(int(path.parent.name))
    return found


def runs(mark):
    """Whether one process comes to have a mark."""
    return happens(lambda: len(alive(mark)) == 1)


def gone(mark):
    return happens(lambda: not alive(mark))


def happens(condition, seconds=30):
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.02)
    return condition()


@pytest.mark.parametrize("ending", ["ends", "is dropped", "fails"])
def test_a_daemon_ends_with_the_episode(boxed, ending):
    mark = f"llmzoo-daemon-{os.getpid()}-{ending.replace(' ', '-')}"
    env = boxed(DAEMON.format(mark=mark) + "ask('writer', '?')\n1 / (len(task) - 1)")
    if ending == "ends":
        env = boxed(DAEMON.format(mark=mark) + "ask('writer', '?')\nprint(1)")
    env.reset(seed=0)
    assert runs(mark)
    if ending == "is dropped":
        env.close()
    elif ending == "fails":
        with pytest.raises(ProgramError, match="ZeroDivisionError"):
            env.step("x")
    else:
        env.step("x")
    assert gone(mark)


PARENT = """
import sys, time
import llmzoo
env = llmzoo.from_command([sys.executable, "-S", "program.py"], agents=["writer_0"],
                          tasks=["one"], folder={folder!r}, sandbox=True, split="all")
env.reset(seed=0)
{forked}
print("ready", flush=True)
time.sleep(600)
"""


FORKED = "import os\nif os.fork() == 0: time.sleep(20); os._exit(0)"  # it holds the same pipes


@pytest.mark.parametrize(("number", "forked"), [(signal.SIGKILL, FORKED), (signal.SIGTERM, "")])
def test_nothing_is_left_when_this_process_is_killed(tmp_path, number, forked):
    mark = f"llmzoo-daemon-{os.getpid()}-{number}-{bool(forked)}"
    (tmp_path / "program.py").write_text(PROGRAM + DAEMON.format(mark=mark) + "ask('writer', '?')")
    with subprocess.Popen(
        [sys.executable, "-c", PARENT.format(folder=str(tmp_path), forked=forked)],
        stdout=subprocess.PIPE,
    ) as parent:
        assert parent.stdout.readline() == b"ready\n"
        assert runs(mark)
        launchers = [pid for pid in children(parent.pid) if is_launcher(pid)]
        assert launchers
        parent.send_signal(number)
        parent.wait()
        assert gone(mark)
        assert happens(lambda: not any(map(is_launcher, launchers)))
        parent.stdout.close()


def children(pid):
    found = Path("/proc").glob(f"{pid}/task/*/children")
    return [int(child) for path in found for child in path.read_text().split()]


def is_launcher(pid):
    try:
        return b"sandbox.confine.launcher" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


# What is refused


def test_paths_that_would_show_too_much_are_refused(tmp_path):
    make = partial(llmzoo.from_command, agents=AGENTS, tasks=TASKS, sandbox=True)
    for folder in ("/", "/tmp", Path.home(), Path.home().parent, "/proc/self", "/dev"):
        with pytest.raises(ConfigError, match=r"has its own|holds the home folder"):
            make(["sh"], folder=folder)
        with pytest.raises(ConfigError, match=r"has its own|holds the home folder"):
            make(["sh"], readable=[folder])
    with pytest.raises(ConfigError, match="is not there"):
        make(["sh"], folder=tmp_path / "nowhere")
    with pytest.raises(ConfigError, match="there is no program 'no-such-program'"):
        make(["no-such-program"])
    with pytest.raises(ConfigError, match="name its folder"):
        make(["sh", str(EXAMPLES / "agents.mjs")])
    with pytest.raises(ConfigError, match="readable is a list of paths"):
        make(["sh"], readable=str(tmp_path))
    with pytest.raises(ConfigError, match="settings of sandbox=True"):
        llmzoo.from_command(["sh"], agents=AGENTS, tasks=TASKS, readable=[tmp_path])
    with pytest.raises(ConfigError, match="cpu_s must be a positive whole number, got 0"):
        CommandLimits(cpu_s=0)


def test_readable_paths_are_read(found, tmp_path_factory):
    place = tmp_path_factory.mktemp("data") / "words.txt"
    place.write_text("tulip")
    code = "result = [open(task['place']).read(), tried(lambda: open(task['place'], 'w'))[0]]"
    task = {"word": "", "place": str(place)}
    read, written = found(code, task, readable=[place])
    assert read == "tulip"
    assert written in ("OSError", "PermissionError")


IN_A_MACHINE = """
import sys, warnings
import llmzoo
from llmzoo.errors import SandboxError
warnings.simplefilter("error")
try:
    env = llmzoo.from_command([sys.executable, "-S", "program.py"], agents=["writer_0"],
                              tasks=["one"], folder={folder!r}, sandbox=True, split="all")
    env.reset(seed=0)
    print("runs", env.observe("writer_0"))
    env.close()
except (SandboxError, Warning) as error:
    print("refused", error)
"""


def in_a_machine(tmp_path, *prefix):
    """What a process says that uses the sandbox, started by these words."""
    (tmp_path / "program.py").write_text(f"{PROGRAM}\nask('writer', str(os.getuid()))")
    code = IN_A_MACHINE.format(folder=str(tmp_path))
    done = subprocess.run(
        [*prefix, sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    if not done.stdout:
        pytest.skip(f"this machine cannot play another: {done.stderr.strip()[-200:]}")
    return done.stdout


ORDINARY = ["unshare", "-U", "--map-user=65534", "--map-group=65534"]


def test_an_ordinary_user(tmp_path):
    assert in_a_machine(tmp_path, *ORDINARY).startswith("runs 65534")


def test_a_machine_without_namespaces_is_refused(tmp_path):
    code = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all "$@"'
    said = in_a_machine(tmp_path, "unshare", "-U", "--map-root-user", "sh", "-c", code, "sh")
    assert said.startswith("refused a command cannot be confined here (OSError: ")
    assert "unshare: " in said
    assert "Nothing was run" in said


def test_a_machine_that_hides_parts_of_proc_is_told_of(tmp_path):
    hide = f'mount --bind /dev/null /proc/timer_list && exec {" ".join(ORDINARY)} "$@"'
    said = in_a_machine(tmp_path, "unshare", "-Urm", "sh", "-c", hide, "sh")
    assert said.startswith("refused confined commands have no /proc here")

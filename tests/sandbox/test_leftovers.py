"""A run leaves nothing behind: no names, files, folders, processes or memory, also where something dies."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandboxes import AMPLE, SHORT, at
from waiting import until

from llmzoo.sandbox import Sandbox
from llmzoo.sandbox.confine.folders import Folder, remove_abandoned
from llmzoo.sandbox.confine.mounts import scratch_path

# Names and files


def test_nothing_passes_from_run_to_run(strongest):
    if strongest.report.level < 3:
        pytest.skip("below level 3 folders cannot be listed")
    strongest.run("import math, builtins; math.pi = 3; builtins.print = None; open('x', 'w')")
    outcome = strongest.run("import math, os; print(math.pi > 3.1, os.listdir('.'))")
    assert outcome.stdout == "True []\n"


def test_a_folder_made_to_stay_does_not(strongest):
    if strongest.report.level < 3:
        pytest.skip("needs chmod")
    code = "import os\nfor i in range(300):\n os.mkdir('d'); os.chdir('d')\nopen('x', 'w')\n"
    strongest.run(code + "os.chmod('.', 0)")
    for _ in range(3):
        assert strongest.run("import os; print(os.listdir('.'))").stdout == "[]\n"


# deeper than Python's recursion limit, and than the 4096 bytes of a path
DEEP = (
    "import os\nfor i in range(2100):\n    os.mkdir('d'); os.chdir('d')\n"
    "    if i % 500 == 0:\n        open('f', 'w').close(); os.mkdir('e')\n"
)


def test_folders_too_deep_for_recursion_are_removed():
    box = at(3)
    assert box.run(DEEP + "print(1)", limits=AMPLE).stdout == "1\n"
    for _ in range(3):
        assert box.run("import os; print(os.listdir('.'))").stdout == "[]\n"


def test_no_folders_where_they_would_have_to_be_measured():
    """Deep ones ended the host with RecursionError and stayed; those side by side did not count."""
    at(2)
    pattern = f"llmzoo-sandbox-{os.getpid()}-*"
    before = set(Path("/tmp").glob(pattern))
    with Sandbox(workers=1, level=2, preload=()) as box:
        for code in (DEEP, "import os\nfor i in range(3000): os.mkdir(str(i))"):
            assert box.run(code).status == "blocked"
        assert set(Path("/tmp").glob(pattern)) > before
    assert set(Path("/tmp").glob(pattern)) == before


def test_a_full_disk_is_the_programs_own(strongest):
    if strongest.report.level < 3:
        pytest.skip("the folder has no size of its own below level 3")
    fill = (
        "import os\nfor i in range(40):\n    with open(str(i), 'wb') as f: f.write(bytes(2**20))\n"
    )
    outcome = strongest.run(fill)
    assert outcome.status == "error"
    assert "No space left" in outcome.stderr
    for _ in range(4):
        after = strongest.run("open('x', 'wb').write(bytes(10**6)); print(1)")
        assert after.stdout == "1\n", after


def test_a_folder_without_a_size_is_watched():
    fill = (
        "i = 0\nwhile True:\n    with open(str(i), 'wb') as f: f.write(bytes(2**20))\n    i += 1\n"
    )
    box = at(2)
    assert box.run(fill, limits=AMPLE).status == "output"
    assert "FileNotFoundError" in box.run("open('0')").stderr


def test_the_scratch_folder_is_not_put_over_python_itself():
    """A virtual environment below /tmp made level 3 unavailable."""
    assert scratch_path(["/usr/lib/python3.11", "/lib/x86_64-linux-gnu"]) == "/tmp"
    assert scratch_path(["/usr/lib", "/tmp/clone/.venv/lib/python3.11/site-packages/numpy"]) == (
        "/scratch"
    )


def test_a_locked_folder_stays_though_its_number_is_nobodys():
    """Two containers may share the folder for temporary files, and not the numbers of processes."""
    with tempfile.TemporaryDirectory() as elsewhere, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", elsewhere)
        patch.setattr(os, "getpid", lambda: 2**22 + 1)  # above all numbers
        folder = Folder()
        os.utime(folder.path, (0, 0))
        remove_abandoned()
        assert folder.path.exists()
        folder.close(remove=False)
        remove_abandoned()
        assert not folder.path.exists()


# Processes


def test_processes_where_asked_for():
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); time.sleep(60)\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(5)\n"
        "print(os.waitpid(pid, 0)[1] >> 8)\n"
    )
    box = at(3, processes=True)
    before = _descendants(os.getpid())
    assert box.run(code, limits=AMPLE).stdout == "5\n"
    assert box.run(code, limits=AMPLE).stdout == "5\n"
    after = _descendants(os.getpid())
    # the zygote of programs that import more, in two halves
    assert len(after) <= len(before) + 2


@pytest.mark.slow
def test_killing_the_zygote_loses_no_verdict():
    """At a random moment of each of 10 checks, once while idle."""
    rng = random.Random(0)
    others = _children(os.getpid())
    with Sandbox(workers=1, min_level=1, preload=()) as box:
        cases = [("f", (1,), 2)] * 20

        def kill():
            for child in _children(os.getpid()):
                if child not in others:
                    os.kill(child, signal.SIGKILL)
                    with contextlib.suppress(ChildProcessError):  # the box has waited for it
                        # on a busy machine it can live on, and two deaths meet in one check
                        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

        for i in range(10):
            assert box.check_calls("def f(x): return x + 1", cases).ok  # a zygote is there
            killer = threading.Timer(rng.uniform(0, 0.008), kill)
            killer.start()
            verdict = box.check_calls(f"def f(x): return x + {i % 2}", cases, limits=AMPLE)
            killer.join()
            assert verdict.status == ("passed" if i % 2 else "failed"), verdict


def test_used_after_a_fork_it_starts_anew(strongest):
    cases = [("f", (1,), 2)]
    assert strongest.check_calls("def f(x): return x + 1", cases).ok
    child = os.fork()
    if not child:
        good = strongest.check_calls("def f(x): return x + 1", cases).ok
        bad = strongest.check_calls("def f(x): return x", cases).ok
        strongest.close()
        os._exit(0 if good and not bad else 1)
    assert strongest.check_calls("def f(x): return x", cases).status == "failed"
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert strongest.check_calls("def f(x): return x + 1", cases).ok


def test_a_session_that_outlives_its_sandbox_leaves_no_worker(strongest):
    box = Sandbox(workers=1, level=strongest.report.level, preload=())
    session = box.session(SHORT)
    box.close()
    assert session.run("1 + 1").stdout == "2\n"
    worker = session._job.worker
    session.close()
    assert not worker.healthy


def test_a_killed_process_leaves_no_process_and_its_folder_is_removed_by_the_next(strongest):
    level = strongest.report.level
    code = (
        "from llmzoo.sandbox import Limits, Sandbox\n"
        f"box = Sandbox(workers=1, level={level}, preload=())\nbox.run('pass')\n"
        "print('ready', flush=True)\n"
        "box.run('import time; time.sleep(60)', limits=Limits(time_limit=60))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        # its zygote, in two halves at level 3, and the program
        assert until(lambda: len(_descendants(process.pid)) == (3 if level == 3 else 2))
        below = _descendants(process.pid)
        process.kill()
    left = list(Path("/tmp").glob(f"llmzoo-sandbox-{process.pid}-*"))
    assert left
    assert strongest.run("pass").status == "passed"
    mine = list(Path("/tmp").glob(f"llmzoo-sandbox-{os.getpid()}-*"))
    remove_abandoned()
    assert all(folder.exists() for folder in left)  # too young to be sure
    for folder in (*left, *mine):
        os.utime(folder, (0, 0))
    remove_abandoned()
    assert not any(folder.exists() for folder in left)
    assert mine
    assert all(folder.exists() for folder in mine)
    assert strongest.run("print(1)").stdout == "1\n"
    assert until(lambda: not any(_lives(pid) for pid in below))


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_nothing_is_left_behind(rounds):
    others = _children(os.getpid())
    with Sandbox(workers=2, min_level=1) as box:

        def check(i: int) -> str:
            return box.check_calls(f"def f(x): return x + {i % 2}", [("f", (1,), 2)]).status

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(check, range(100)))
        before = _resources()
        for _ in range(rounds):
            with ThreadPoolExecutor(2) as pool:
                assert list(pool.map(check, range(100))) == ["failed", "passed"] * 50
        after = _resources()
        assert after["descriptors"] <= before["descriptors"]
        assert after["processes"] == before["processes"]
        assert after["folders"] == before["folders"]
        assert after["memory_mb"] - before["memory_mb"] < 3
    assert _children(os.getpid()) == others


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _resources() -> dict[str, float]:
    """What this process and those below it hold, once the last children have ended.

    A verdict does not wait for their end.
    """
    processes: list[int] = []
    since = time.monotonic()
    while time.monotonic() - since < 0.1:
        now = _descendants(os.getpid())
        if now != processes:
            processes, since = now, time.monotonic()
        time.sleep(0.005)
    return {
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(processes),
        "folders": len(list(Path("/tmp").glob(f"llmzoo-sandbox-{os.getpid()}-*"))),
        "memory_mb": sum(map(_memory_mb, [os.getpid(), *processes])),
    }


def _memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096 / 2**20


def _children(pid: int) -> list[int]:
    """The child processes of all threads of a process."""
    while True:
        try:
            tasks = [*Path(f"/proc/{pid}/task").iterdir()]
            texts = [(task / "children").read_text() for task in tasks]
        except FileNotFoundError:
            if not Path(f"/proc/{pid}").exists():
                return []
            continue  # a thread has ended since, and another one has its children
        return [int(child) for text in texts for child in text.split()]


def _descendants(pid: int) -> list[int]:
    outcome = []
    for child in _children(pid):
        outcome += [child, *_descendants(child)]
    return outcome

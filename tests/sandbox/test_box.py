"""The sandbox from outside: statuses, limits, recovery, and that it leaves nothing behind."""

from __future__ import annotations

import ast
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

from llmzoo.errors import SandboxError
from llmzoo.sandbox import Checker, Limits, Sandbox
from llmzoo.sandbox.confine.folders import Folder, remove_abandoned
from llmzoo.sandbox.confine.mounts import scratch_path

SHORT = Limits(time_limit=0.7)


def at(level: int, **kwargs) -> Sandbox:
    """A sandbox of one level, or a skip with the machine's reason."""
    box = Sandbox(level=level, **{"workers": 1, **kwargs})
    try:
        assert box.report.level == level
    except SandboxError as error:
        pytest.skip(str(error))
    return box


@pytest.fixture(scope="module")
def strongest():
    with Sandbox(workers=2, min_level=1) as box:
        yield box


@pytest.fixture(scope="module", params=[3, 2, 1])
def box(request):
    with at(request.param) as box:
        yield box


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("print(1)", "passed"),
        ("raise SystemExit", "passed"),
        ("raise SystemExit(3)", "error"),
        ("1/0", "error"),
        ("def f(:", "error"),
        ("import os; os._exit(7)", "error"),
        ("import os; os.abort()", "error"),
        ("while True: pass", "timeout"),
        ("import time; time.sleep(60)", "timeout"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", "timeout"),
        ("x = [0] * 10**10", "memory"),
        ("print('x' * 10**6)", "output"),
        ("open('/etc/passwd')", ("blocked", "error")),
        ("import os; os.fork()", "blocked"),
        ("import socket; socket.socket()", "blocked"),
        ("import os; os.kill(1, 9)", "blocked"),
    ],
)
@pytest.mark.samples(16)
def test_statuses(box, code, status):
    outcome = box.run(code, limits=SHORT)
    assert outcome.status in ((status,) if isinstance(status, str) else status), outcome


def test_input_output_and_unicode(box):
    outcome = box.run("s = input()\nprint(s[::-1], len(s))", stdin="häuser\n")
    assert (outcome.status, outcome.stdout, outcome.stderr) == ("passed", "resuäh 6\n", "")


def test_traceback_names_the_program(box):
    outcome = box.run("def f():\n    return {}['key']\nf()")
    assert outcome.status == "error"
    assert "KeyError: 'key'" in outcome.stderr
    assert "zygote" not in outcome.stderr


def test_the_parts_of_numpy_can_be_imported(box):
    pytest.importorskip("numpy")
    code = (
        "import numpy.fft, numpy.ma, numpy.polynomial, numpy.testing\n"
        "numpy.testing.assert_allclose(numpy.fft.fft([1.0, 1.0]), [2, 0])\nprint(1)"
    )
    outcome = box.run(code)
    assert (outcome.status, outcome.stdout) == ("passed", "1\n"), outcome


def test_a_package_shows_what_it_brings_and_hides_its_neighbours():
    """A virtual environment lies where the standard library lies, for Python's own list of folders."""
    numpy = pytest.importorskip("numpy")
    code = (
        f"import numpy.f2py.cfuncs, os\nprint(os.listdir({str(Path(numpy.__file__).parents[1])!r}))"
    )
    with at(3) as box:
        outcome = box.run(code)
        assert outcome.status == "passed", outcome
        assert set(ast.literal_eval(outcome.stdout)) <= {"numpy", "numpy.libs"}
    with at(2) as box:
        assert box.run(code.partition(", os")[0]).status == "passed"


def test_output_is_cut_and_marked(strongest):
    outcome = strongest.run("print('ab' * 5000)", limits=Limits(output_kb=1))
    assert outcome.status == "output"
    assert outcome.stdout == "ab" * 512 + "\n[cut]"


def test_chance_is_the_same_in_every_run(strongest):
    code = "import random; print(random.random(), list({'a', 'b', 'c'}), hash('x'))"
    assert strongest.run(code).stdout == strongest.run(code).stdout


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


@pytest.mark.parametrize(
    ("code", "status", "passed"),
    [
        ("def f(x): return x * 2", "passed", 3),
        ("def f(x): return 4", "failed", 1),
        ("def f(x): return x * 2 if x != 3 else 1/0", "failed", 2),
        ("def g(x): return x", "failed", 0),
        ("def f(x): raise MemoryError", "memory", 0),
        ("def f(x): return open('/etc/passwd')", ("blocked", "failed"), 0),
        ("1/0", "error", 0),
        ("def f(x):\n while x > 1: pass\n return 2", "timeout", 1),
        ("import os\ndef f(x):\n if x > 1: os._exit(0)\n return 2", ("error",), 1),
        ("def f(x): return lambda: x", "failed", 0),
    ],
)
def test_calls(box, code, status, passed):
    cases = [("f", (1,), 2), ("f", (2,), 4), ("f", (3,), 6)]
    verdict = box.check_calls(code, cases, limits=SHORT)
    assert verdict.status in ((status,) if isinstance(status, str) else status), verdict
    assert (verdict.passed, verdict.total, verdict.isolation) == (passed, 3, "data")
    assert [c.passed for c in verdict.cases].count(True) == passed


def test_calls_compare_floats_with_tolerance(strongest):
    code = "def f(x): return [x / 3, {'a': (x * 0.1,)}]"
    assert strongest.check_calls(code, [("f", (1,), [0.33333333, {"a": (0.1,)}])]).ok
    assert not strongest.check_calls(code, [("f", (1,), [0.3333, {"a": (0.1,)}])]).ok
    assert not strongest.check_calls(code, [("f", (1,), [0.33333333, {"a": [0.1]}])]).ok


def test_numbers_of_numpy_are_numbers(strongest):
    pytest.importorskip("numpy")
    code = "import numpy as np\ndef f(x): return [np.int64(x), {'a': np.float32(1.5)}, np.bool_(x)]"
    assert strongest.check_calls(code, [("f", (2,), [2, {"a": 1.5}, True])]).ok
    verdict = strongest.check_calls(code, [("f", (2,), [3, {"a": 1.5}, True])])
    assert (verdict.status, verdict.cases[0].got) == ("failed", "[2, {'a': 1.5}, True]")


def test_no_cases_are_no_pass(strongest):
    assert strongest.check_calls("x = 1", []).status == "error"
    assert strongest.check_stdio("x = 1", []).status == "error"
    assert strongest.check("x = 1", "").status != "passed"


def test_stdio(strongest):
    code = "n = int(input())\nprint(n / 4,  n * n)"
    right = [("2", "0.5 4\n"), ("3", "0.75000000001\n9")]
    assert strongest.check_stdio(code, right).ok
    verdict = strongest.check_stdio(code, [*right, ("x", "1"), ("4", "1.0 15")])
    assert (verdict.status, verdict.passed, verdict.total) == ("error", 2, 4)
    assert "ValueError" in verdict.cases[2].error
    assert verdict.cases[3].got == "1.0 16\n"
    assert not strongest.check_stdio(code, right, compare="exact").ok


def test_a_crash_after_the_right_output_is_no_pass(strongest):
    assert strongest.check_stdio("print(1)\n1/0", [("", "1")]).status == "error"


def test_stdio_with_a_checker(strongest):
    judge = Checker(
        "def check(given, expected, output):\n"
        "    a, b = map(int, output.split())\n"
        "    return a + b == int(given)\n"
    )
    assert strongest.check_stdio("print(3, int(input()) - 3)", [("9", "")], compare=judge).ok
    assert not strongest.check_stdio("print(3, 3)", [("9", "")], compare=judge).ok
    assert not strongest.check_stdio("print('x')", [("9", "")], compare=judge).ok


def test_one_slow_program_holds_nobody_up(strongest):
    def check(i: int) -> str:
        return strongest.check_calls(f"def f(): return {i}", [("f", (), i % 7)]).status

    started = time.monotonic()
    with ThreadPoolExecutor(2) as pool:
        endless = "def f():\n while 1: pass"
        slow = pool.submit(strongest.check_calls, endless, [("f", (), 1)], limits=SHORT)
        statuses = list(pool.map(check, range(40)))
        assert statuses == ["passed" if i == i % 7 else "failed" for i in range(40)]
        assert slow.result().status == "timeout"
    assert time.monotonic() - started < 20 * SHORT.time_limit


def test_killing_the_zygote_loses_no_verdict():
    """At a random moment of each of 25 checks, once while idle."""
    rng = random.Random(0)
    others = _children(os.getpid())
    with Sandbox(workers=1, min_level=1) as box:
        cases = [("f", (1,), 2)] * 20

        def kill():
            for child in _children(os.getpid()):
                if child not in others:
                    os.kill(child, signal.SIGKILL)
                    with contextlib.suppress(ChildProcessError):  # the box has waited for it
                        # on a busy machine it can live on, and two deaths meet in one check
                        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)

        for i in range(25):
            assert box.check_calls("def f(x): return x + 1", cases).ok  # a zygote is there
            killer = threading.Timer(rng.uniform(0, 0.008), kill)
            killer.start()
            verdict = box.check_calls(f"def f(x): return x + {i % 2}", cases)
            killer.join()
            assert verdict.status == ("passed" if i % 2 else "failed"), verdict


def test_the_scratch_folder_is_not_put_over_python_itself():
    """A virtual environment below /tmp made level 3 unavailable."""
    assert scratch_path(["/usr/lib/python3.11", "/lib/x86_64-linux-gnu"]) == "/tmp"
    assert scratch_path(["/usr/lib", "/tmp/clone/.venv/lib/python3.11/site-packages/numpy"]) == (
        "/scratch"
    )


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
    with at(2) as box:
        assert box.run(fill).status == "output"
        assert "FileNotFoundError" in box.run("open('0')").stderr


DEEP = (
    "import os\nfor i in range(3000):\n    os.mkdir('d'); os.chdir('d')\n"
    "    if i % 500 == 0:\n        open('f', 'w').close(); os.mkdir('e')\n"
)


def test_folders_too_deep_for_recursion_are_removed():
    with at(3) as box:
        assert box.run(DEEP + "print(1)").stdout == "1\n"
        for _ in range(3):
            assert box.run("import os; print(os.listdir('.'))").stdout == "[]\n"


def test_no_folders_where_they_would_have_to_be_measured():
    """Deep ones ended the host with RecursionError and stayed; those side by side did not count."""
    pattern = f"llmzoo-sandbox-{os.getpid()}-*"
    before = set(Path("/tmp").glob(pattern))
    with at(2) as box:
        for code in (DEEP, "import os\nfor i in range(3000): os.mkdir(str(i))"):
            assert box.run(code).status == "blocked"
        assert set(Path("/tmp").glob(pattern)) > before
    assert set(Path("/tmp").glob(pattern)) == before


@pytest.mark.slow
def test_a_thousand_at_once(strongest):
    def one(i: int) -> bool:
        verdict = strongest.check_calls(
            f"def f(x): return x + {i % 3}", [("f", (1,), 2), ("f", (5,), 6)]
        )
        return verdict.ok == (i % 3 == 1) and verdict.status in ("passed", "failed")

    with ThreadPoolExecutor(1000) as pool:
        assert all(pool.map(one, range(1000)))


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


def test_sessions_follow_each_other_in_one_worker(strongest):
    """Starting an interpreter's worker takes longer than most sessions."""
    with Sandbox(workers=1, level=strongest.report.level) as box:
        processes = set()
        for _ in range(3):
            with box.session(SHORT) as session:
                assert session.run("'left' in globals()").stdout == "False\n"
                session.run("left = 1; open('file', 'w').write('left')")
                assert session.run("import os; os.listdir('.')").stdout in ("['file']\n", "")
                processes.add(session._job.worker)
        assert len(processes) == 1
        both = [box.session(SHORT) for _ in range(2)]
        for session in both:
            session.run("while True: pass")  # ends at its limit; the next one is not kept waiting
        with box.session(SHORT) as session:
            assert session.run("1 + 1").stdout == "2\n"


def test_a_session_that_outlives_its_sandbox_leaves_no_worker(strongest):
    box = Sandbox(workers=1, level=strongest.report.level)
    session = box.session(SHORT)
    box.close()
    assert session.run("1 + 1").stdout == "2\n"
    worker = session._job.worker
    session.close()
    assert not worker.healthy


def test_session_keeps_names(strongest):
    with strongest.session(SHORT) as session:
        assert session.run("x = 20\nx + 1").stdout == "21\n"
        assert session.run("print(x * 2, input())", stdin="hi").stdout == "40 hi\n"
        failed = session.run("y = 1/0")
        assert (failed.status, "ZeroDivisionError" in failed.stderr) == ("error", True)
        assert session.run("x").stdout == "20\n"
        assert session.run("while True: pass").status == "timeout"
        assert not session.alive
        assert session.run("x").status == "error"


def test_processes_where_asked_for():
    code = (
        "import os, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid(); time.sleep(60)\n"
        "pid = os.fork()\n"
        "if pid == 0: os._exit(5)\n"
        "print(os.waitpid(pid, 0)[1] >> 8)\n"
    )
    with at(3, processes=True) as box:
        before = _descendants(os.getpid())
        assert box.run(code, limits=SHORT).stdout == "5\n"
        assert box.run(code, limits=SHORT).stdout == "5\n"
        after = _descendants(os.getpid())
        # the zygote of programs that import more, in two halves
        assert len(after) <= len(before) + 2


def test_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="level must be"):
        Sandbox(level=4)
    with pytest.raises(ValueError, match="level 3"):
        Sandbox(level=2, processes=True)
    with pytest.raises(ValueError, match="time_limit"):
        Limits(time_limit=0)
    with Sandbox(level=3, min_level=3) as box:
        box._levels = ()  # a machine that offers nothing
        with pytest.raises(SandboxError, match=r"docs/sandbox\.md"):
            box.run("print(1)")


def test_unconfined_only_when_asked_for_and_with_a_warning_every_time():
    box = Sandbox(workers=1, allow_unconfined=True)
    box._levels = (0,)
    for _ in range(2):
        with pytest.warns(UserWarning, match="without any confinement"):
            assert box.run("print(1)").stdout == "1\n"
    assert box.report.level == 0
    box.close()


def test_the_shared_sandbox_can_be_replaced(monkeypatch):
    from llmzoo.sandbox import box as module

    monkeypatch.setattr(module, "_shared", None)
    monkeypatch.setenv("LLMZOO_SANDBOX_MIN_LEVEL", "1")
    monkeypatch.setenv("LLMZOO_SANDBOX_ALLOW_SHARED", "1")
    first = module.shared()
    assert (first.min_level, module.shared() is first) == (1, True)
    tests = "import gc\nfor x in [1]:\n    assert f() == x"
    assert first.check("def f(): return 1", tests).isolation == "shared"
    second = module.configure(workers=1, min_level=1)
    assert module.shared() is second is not first
    assert second.run("print(1)").stdout == "1\n"
    second.close()


@pytest.mark.parametrize("n", [200, pytest.param(20_000, marks=pytest.mark.slow)])
def test_nothing_is_left_behind(n):
    others = _children(os.getpid())
    with Sandbox(workers=2, min_level=1) as box:

        def check(i: int) -> str:
            return box.check_calls(f"def f(x): return x + {i % 2}", [("f", (1,), 2)]).status

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(check, range(200)))
        before = _resources()
        for _ in range(n // 200):
            with ThreadPoolExecutor(2) as pool:
                assert list(pool.map(check, range(200))) == ["failed", "passed"] * 100
        after = _resources()
        assert after["descriptors"] <= before["descriptors"]
        assert after["processes"] == before["processes"]
        assert after["folders"] == before["folders"]
        assert after["memory_mb"] - before["memory_mb"] < 20
    assert _children(os.getpid()) == others


def test_a_killed_process_leaves_no_process_and_its_folder_is_removed_by_the_next(strongest):
    code = (
        "import time\nfrom llmzoo.sandbox import Limits, Sandbox\n"
        f"box = Sandbox(workers=1, level={strongest.report.level})\nbox.run('pass')\n"
        "print('ready', flush=True)\n"
        "box.run('import time; time.sleep(60)', limits=Limits(time_limit=60))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.3)
        below = _descendants(process.pid)
        process.kill()
    left = list(Path("/tmp").glob(f"llmzoo-sandbox-{process.pid}-*"))
    assert below
    assert left
    with Sandbox(workers=1, level=strongest.report.level) as box:
        box.run("pass")
        mine = list(Path("/tmp").glob(f"llmzoo-sandbox-{os.getpid()}-*"))
        remove_abandoned()
        assert all(folder.exists() for folder in left)  # too young to be sure
        for folder in (*left, *mine):
            os.utime(folder, (0, 0))
        remove_abandoned()
        assert not any(folder.exists() for folder in left)
        assert all(folder.exists() for folder in mine)
        assert box.run("print(1)").stdout == "1\n"
    assert not any(_lives(pid) for pid in below)


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


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def _resources() -> dict[str, float]:
    time.sleep(0.5)  # a verdict does not wait for the end of the last child
    processes = _descendants(os.getpid())
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


def test_values_that_are_no_plain_data_are_judged_by_the_tests_themselves(strongest):
    tests = "assert f(3) == range(3)\nassert list(f(2)) == [0, 1]"
    verdict = strongest.check("def f(n): return range(n)", tests)
    assert (verdict.status, verdict.isolation) == ("passed", "separate")
    assert strongest.check("def f(n): return range(n + 1)", tests).status == "failed"


def test_tests_that_need_one_interpreter(strongest):
    tests = (
        "import unittest\nfrom unittest import mock\n"
        "class T(unittest.TestCase):\n"
        "    def test_now(self):\n"
        "        with mock.patch('time.time', return_value=5):\n"
        "            self.assertEqual(age(2), 3)\n"
    )
    right = "import time\ndef age(born): return int(time.time()) - born"
    with Sandbox(workers=1, level=strongest.report.level, allow_shared=True) as box:
        verdict = box.check(right, tests)
        assert (verdict.status, verdict.isolation) == ("passed", "shared"), verdict
        assert box.check(right.replace("- born", "+ born"), tests).status == "failed"
        forged = (
            right + "\nimport os, json\n"
            "body = json.dumps(['l', 'result', ['d', 'cases', ['l', ['l', 'x', True, '']], 'calls', 1,"
            " 'error', None, 'shared_needed', None, 'nonce', 1]]).encode()\n"
            "for fd in range(3, 9):\n"
            "    try: os.write(fd, len(body).to_bytes(4, 'big') + body)\n"
            "    except OSError: pass\n"
        )
        assert not box.check(forged, tests).ok
        nonsense = forged.replace("'result'", "'nothing'").replace("'cases'", "'c'")
        assert not box.check(nonsense, tests).ok

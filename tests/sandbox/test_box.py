"""The sandbox from outside: statuses, limits, verdicts and sessions."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandboxes import AMPLE, SHORT, at

from llmzoo.errors import SandboxError
from llmzoo.sandbox import Checker, Limits, Sandbox


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
def test_statuses(box, code, status):
    outcome = box.run(code, limits=SHORT if status == "timeout" else AMPLE)
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
    outcome = at(3).run(code, limits=AMPLE)
    assert outcome.status == "passed", outcome
    assert set(ast.literal_eval(outcome.stdout)) <= {"numpy", "numpy.libs"}
    assert at(2).run(code.partition(", os")[0], limits=AMPLE).status == "passed"


def test_output_is_cut_and_marked(strongest):
    outcome = strongest.run("print('ab' * 5000)", limits=Limits(output_kb=1))
    assert outcome.status == "output"
    assert outcome.stdout == "ab" * 512 + "\n[cut]"


def test_chance_is_the_same_in_every_run(strongest):
    code = "import random; print(random.random(), list({'a', 'b', 'c'}), hash('x'))"
    assert strongest.run(code).stdout == strongest.run(code).stdout


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
    limits = Limits(time_limit=1) if status == "timeout" else AMPLE
    verdict = box.check_calls(code, cases, limits=limits)
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


def test_after_two_timeouts_the_other_cases_are_not_run(strongest):
    code = "if input() == 'loop':\n    while True: pass\nprint('timeout timeout')"
    cases = [(text, "timeout timeout") for text in ("timeout timeout", "loop", "x", "loop", "x")]
    verdict = strongest.check_stdio(code, cases, Limits(time_limit=0.3))
    assert [case.passed for case in verdict.cases] == [True, False, True, False, False]
    assert [case.error for case in verdict.cases][-1] == "not reached"
    assert verdict.status == "timeout"


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

    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(check, range(4)))  # both workers have started
        endless = "def f():\n while 1: pass"
        limits = Limits(time_limit=2)
        slow = pool.submit(strongest.check_calls, endless, [("f", (), 1)], limits=limits)
        statuses = list(pool.map(check, range(14)))
        assert not slow.done()
        assert statuses == ["passed" if i == i % 7 else "failed" for i in range(14)]
        assert slow.result().status == "timeout"


def test_hundreds_at_once(strongest):
    def one(i: int) -> bool:
        verdict = strongest.check_calls(
            f"def f(x): return x + {i % 3}", [("f", (1,), 2), ("f", (5,), 6)]
        )
        return verdict.ok == (i % 3 == 1) and verdict.status in ("passed", "failed")

    with ThreadPoolExecutor(200) as pool:
        assert all(pool.map(one, range(200)))


def test_sessions_follow_each_other_in_one_worker(strongest):
    """Starting an interpreter's worker takes longer than most sessions."""
    workers = set()
    for _ in range(3):
        with strongest.session(AMPLE) as session:
            assert session.run("'left' in globals()").stdout == "False\n"
            session.run("left = 1; open('file', 'w').write('left')")
            assert session.run("import os; os.listdir('.')").stdout in ("['file']\n", "")
            workers.add(session._job.worker)
    assert len(workers) == 1
    both = [strongest.session(SHORT) for _ in range(2)]
    for session in both:
        session.run("while True: pass")  # ends at its limit; the next one is not kept waiting
    with strongest.session(AMPLE) as session:
        assert session.run("1 + 1").stdout == "2\n"


def test_session_keeps_names(strongest):
    with strongest.session(Limits(time_limit=1)) as session:
        assert session.run("x = 20\nx + 1").stdout == "21\n"
        assert session.run("print(x * 2, input())", stdin="hi").stdout == "40 hi\n"
        failed = session.run("y = 1/0")
        assert (failed.status, "ZeroDivisionError" in failed.stderr) == ("error", True)
        assert session.run("x").stdout == "20\n"
        assert session.run("while True: pass").status == "timeout"
        assert not session.alive
        assert session.run("x").status == "error"


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
    box = Sandbox(workers=1, preload=(), allow_unconfined=True)
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
    first = module.default_sandbox()
    assert (first.min_level, module.default_sandbox() is first) == (1, True)
    tests = "import gc\nfor x in [1]:\n    assert f() == x"
    assert first.check("def f(): return 1", tests).isolation == "shared"
    second = module.configure(workers=1, min_level=1)
    assert module.default_sandbox() is second is not first
    assert second.run("print(1)").stdout == "1\n"
    second.close()


def test_values_that_are_no_plain_data_are_judged_by_the_tests_themselves(strongest):
    tests = "assert f(3) == range(3)\nassert list(f(2)) == [0, 1]"
    verdict = strongest.check("def f(n): return range(n)", tests)
    assert (verdict.status, verdict.isolation) == ("passed", "separate")
    assert strongest.check("def f(n): return range(n + 1)", tests).status == "failed"


def test_tests_that_need_one_interpreter():
    tests = (
        "import unittest\nfrom unittest import mock\n"
        "class T(unittest.TestCase):\n"
        "    def test_now(self):\n"
        "        with mock.patch('time.time', return_value=5):\n"
        "            self.assertEqual(age(2), 3)\n"
    )
    right = "import time\ndef age(born): return int(time.time()) - born"
    box = at(allow_shared=True)
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

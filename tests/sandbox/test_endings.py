"""A program ends as plain Python ends it: what it wrote last arrives, and its exit status counts."""

from __future__ import annotations

import select
import subprocess
import sys
from functools import cache

import pytest
from sandboxes import AMPLE, SHORT

from llmzoo.sandbox.confine.channel import Channel

ENDINGS = {
    "a thread that nobody joins": (
        "import threading, time\n"
        "def work():\n    time.sleep(0.1)\n    print(int(input()) * 2)\n"
        "threading.Thread(target=work).start()",
        "42\n",
    ),
    "a deep recursion in a thread that nobody joins": (
        "import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**26)\n"
        "def depth(n): return 0 if n == 0 else 1 + depth(n - 1)\n"
        "threading.Thread(target=lambda: print(depth(20000))).start()",
        "20000\n",
    ),
    "an executor that is not shut down": (
        "from concurrent.futures import ThreadPoolExecutor\nimport time\n"
        "ThreadPoolExecutor(2).submit(lambda: (time.sleep(0.1), print('done')))",
        "done\n",
    ),
    "a thread that starts another": (
        "import threading\n"
        "threading.Thread(target=lambda: threading.Thread(target=lambda: print(1)).start()).start()",
        "1\n",
    ),
    "a daemon thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(9), print(2)), daemon=True).start()\nprint(1)",
        "1\n",
    ),
    "an atexit writer": (
        "import atexit, io, os, sys\nout = io.StringIO()\nsys.stdout = out\n"
        "atexit.register(lambda: os.write(1, out.getvalue().encode()))\nprint(input())",
        "21\n",
    ),
    "an atexit writer that fails": (
        "import atexit\n@atexit.register\ndef end():\n    print(1)\n    1 / 0",
        "1\n",
    ),
    "atexit after the threads": (
        "import atexit, threading, time\natexit.register(print, 2)\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print(1))).start()",
        "1\n2\n",
    ),
    "with sys.stdout": ("import sys\nwith sys.stdout:\n    print(input())", "21\n"),
    "a closed standard output": ("import sys\nprint(1)\nsys.stdout.close()", "1\n"),
    "no standard output": ("import sys\nprint(1)\nsys.stdout = None", "1\n"),
    "a second writer left unflushed": (
        "import sys\nfrom io import BufferedWriter, FileIO\n"
        "out = BufferedWriter(FileIO(1, 'w', closefd=False))\nout.write(b'late')\nprint('early')",
        "early\nlate",
    ),
    "a second text writer left unflushed": (
        "import os\nout = os.fdopen(1, 'w')\nout.write(input())",
        "21",
    ),
    "a writer that a module holds": (
        "import string\nstring.out = open(1, 'w', closefd=False)\nstring.out.write('kept')",
        "kept",
    ),
    "a standard output of its own": (
        "import io, os, sys\n"
        "class Out(io.TextIOBase):\n"
        "    def __init__(self): self.parts = []\n"
        "    def write(self, text): self.parts.append(text)\n"
        "    def flush(self): os.write(1, ''.join(self.parts).encode()); self.parts.clear()\n"
        "sys.stdout = Out()\nprint('own')",
        "own\n",
    ),
    "a destructor that prints": (
        "class Last:\n    def __del__(self): print('last')\nkept = Last()\nprint('first')",
        "first\nlast\n",
    ),
    "a writer in a cycle of references": (
        "import sys\nwrite = sys.stdout.write\n"
        "class Out:\n    file = open(1, 'w', closefd=False)\nOut.file.write('in a cycle')",
        "in a cycle",
    ),
    "a writer of its own that only its end flushes": (
        "import io, os\n"
        "class Out(io.IOBase):\n"
        "    def __init__(self): self.parts = []\n"
        "    def write(self, text): self.parts.append(text)\n"
        "    def flush(self): os.write(1, ''.join(self.parts).encode()); self.parts.clear()\n"
        "out = Out()\nout.write(input())",
        "21",
    ),
    "a destructor that uses what was imported first": (
        "import os\nclass Last:\n    def __del__(self): os.write(1, b'last')\nkept = Last()",
        "last",
    ),
    "a file in scratch that it reads again": (
        "f = open('x', 'w+')\nf.write('ab')\nf.seek(0)\nprint(f.read())",
        "ab\n",
    ),
    "an exit from within": ("import sys\nprint(1)\nsys.exit()", "1\n"),
}
FAILING_ENDINGS = {
    "a status that is not 0": "print(1)\nexit(3)",
    "an exception, with a thread": (
        "import threading, time\n"
        "threading.Thread(target=lambda: (time.sleep(0.1), print(1))).start()\n1 / 0"
    ),
    "a standard output that cannot be flushed": "import os\nprint(1)\nos.close(1)",
    "a detached standard output": "import sys\nout = sys.stdout.detach()\nout.write(b'1')",
}
STDIN = {
    "open": "print(open('/dev/stdin').read())",
    "bytes": "print(open('/dev/stdin', 'rb').read().decode())",
    "in place of sys.stdin": "import sys\nsys.stdin = open('/dev/stdin')\nprint(input())",
    "by number": "print(open('/dev/fd/0').readline())",
    "os.open": "import os\nprint(os.read(os.open('/dev/stdin', os.O_RDONLY), 99).decode())",
    "pathlib": "from pathlib import Path\nprint(Path('/dev/stdin').read_text())",
    "io.open": "import io\nprint(io.open('/dev/stdin', encoding='utf-8').read())",
    "/proc": "print(open('/proc/self/fd/0').read())",
    "fileinput": "import fileinput\nprint(*fileinput.input('/dev/stdin'))",
    "to standard output": (
        "with open('/dev/stdout', 'w') as out:\n    out.write(input())\nprint(end='', flush=True)"
    ),
    "a method": "class A:\n    opener = open\nprint(A().opener('/dev/stdin').read())",
    "twice": "a = open('/dev/stdin')\nb = open('/dev/stdin')\nprint(b.readline())",
}


@cache
def plainly(code: str) -> tuple[str, int]:
    """Standard output and exit status of ``python -c``, fed through a pipe."""
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, input="21\n", capture_output=True, text=True, timeout=60)
    return done.stdout, done.returncode


@pytest.mark.parametrize("name", ENDINGS)
def test_what_a_program_writes_last_arrives(box, name):
    code, expected = ENDINGS[name]
    if box.report.level == 1 and any(word in code for word in ("open('x'", "concurrent")):
        pytest.skip("level 1 opens no files, nor modules that were not imported before")
    result = box.run(code, stdin="21\n", limits=AMPLE)
    assert (result.status, result.stdout) == ("passed", expected), result


@pytest.mark.parametrize("name", [name for name in ENDINGS if "scratch" not in name])
def test_plain_python_ends_so_too(name):
    code, expected = ENDINGS[name]
    assert plainly(code) == (expected, 0)


@pytest.mark.parametrize("name", FAILING_ENDINGS)
def test_an_ending_that_fails_in_plain_python_fails(box, name):
    stdout, code = plainly(FAILING_ENDINGS[name])
    assert code != 0
    result = box.run(FAILING_ENDINGS[name], limits=AMPLE)
    assert (result.status, result.stdout) == ("error", stdout)


def test_a_thread_that_never_ends_runs_into_the_limit(box):
    code = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()"
    assert box.run(code, limits=SHORT).status == "timeout"


@pytest.mark.parametrize("name", STDIN)
def test_standard_streams_open_by_name(box, name):
    if box.report.level == 1 and name == "fileinput":
        pytest.skip("level 1 opens no modules that were not imported before")
    result = box.run(STDIN[name], stdin="21")
    assert (result.status, result.stdout.strip()) == ("passed", "21"), result


def test_standard_input_by_name_for_numpy(box):
    code = "import numpy\nprint(numpy.{}('/dev/stdin', dtype=int).sum())"
    if box.report.level < 3:
        pytest.skip("numpy looks at the path first, which only level 3 allows")
    assert box.run(code.format("loadtxt"), stdin="20 1").stdout == "21\n"
    assert box.run(code.format("genfromtxt"), stdin="20 1").stdout == "21\n"


def test_each_verdict_reads_its_own_input(box):
    code = "a = [int(w) for w in open('/dev/stdin').read().split()]\nprint(sum(a))"
    assert box.check_stdio(code, [("1 2", "3"), ("4", "4"), ("", "0")]).ok


def test_why_a_program_did_not_load_arrives_however_late_it_is_asked(box, monkeypatch):
    """The questions are sent when the program has ended already."""
    send = Channel.send_frames

    def late(channel, frames):
        ended = select.poll()
        ended.register(channel.socket, 0)
        assert ended.poll(30_000)
        send(channel, frames)

    monkeypatch.setattr(Channel, "send_frames", late)
    verdict = box.check_calls("import no_such_module", [("f", (1,), 1)])
    assert verdict.status == "error"
    assert verdict.cases[0].error == "ModuleNotFoundError: No module named 'no_such_module'"

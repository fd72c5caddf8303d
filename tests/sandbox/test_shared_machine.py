"""What programs share with the machine: its memory, its devices, and what it says of itself."""

import subprocess
from pathlib import Path

import pytest
from sandboxes import at

from llmzoo.sandbox import Limits
from llmzoo.sandbox.confine import tree_memory

MANY = """
import os, time
for n in range({count}):
    if os.fork() == 0:
        held = bytearray(b"x") * ({mb} * 10**6)
        time.sleep(2)
        os._exit(0)
for n in range({count}):
    os.wait()  # so that all of them hold theirs at some time, however busy the machine is
"""
SHARED = """
import os
held = bytearray(b"x") * (120 * 10**6)
for n in range(6):
    if os.fork() == 0:
        os._exit(held[n] != 120)
print(sum(os.wait()[1] for n in range(6)))
"""


@pytest.fixture(scope="module")
def starting():
    return at(3, processes=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "mb", "status"), [(5, 90, "memory"), (12, 60, "memory"), (2, 60, "passed")]
)
def test_the_processes_of_a_run_share_one_limit_of_memory(starting, count, mb, status):
    limits = Limits(memory_mb=256, time_limit=30)
    assert starting.run(MANY.format(count=count, mb=mb), limits=limits).status == status


@pytest.mark.slow
def test_pages_that_forks_share_count_once_and_the_next_run_has_its_own_limit(starting):
    for _ in range(2):
        run = starting.run(SHARED, limits=Limits(memory_mb=256, time_limit=8))
        assert (run.status, run.stdout) == ("passed", "0\n")


def test_the_processes_below_one():
    found = {1: (0, 5), 2: (1, 5), 3: (2, 5), 4: (1, 5), 9: (0, 5)}
    assert sorted(tree_memory._descendants(found, 1)) == [2, 3, 4]
    assert sorted(tree_memory._descendants(found, 2)) == [3]
    assert tree_memory._descendants(found, 9) == []


@pytest.mark.parametrize(
    ("resident", "held"), [((60, 60), False), ((60, 61), True), ((130, 10), True)]
)
def test_a_fork_that_cannot_be_looked_into_counts_without_what_it_shares(
    monkeypatch, resident, held
):
    """The zygote 1 has 10 bytes, its forks what they have beyond these: at most 100 together."""
    found = {1: (0, 10), 2: (1, resident[0]), 3: (2, resident[1])}
    monkeypatch.setattr(tree_memory, "_processes", lambda proc: found)

    def refused(proc, path):
        raise PermissionError

    monkeypatch.setattr(tree_memory, "_read", refused)
    assert tree_memory._exceeds_limit(0, 1, 100) is held


def test_the_machine_kills_a_program_before_its_trainer(box):
    assert box.run("pass").status == "passed"
    zygote = next(worker for idle in box._idle.values() for worker in idle)._process.pid
    inner = subprocess.run(["ps", "-o", "pid=", "--ppid", str(zygote)], capture_output=True)
    for pid in (zygote, *map(int, inner.stdout.split())):
        assert Path(f"/proc/{pid}/oom_score_adj").read_text() == "1000\n"
    assert Path("/proc/self/oom_score_adj").read_text() != "1000\n"


@pytest.mark.parametrize("name", ["zero", "null", "urandom"])
def test_the_files_of_devices_cannot_be_changed_and_the_devices_work(name):
    before = Path(f"/dev/{name}").stat().st_mtime_ns
    program = f"""
import os
for change in (lambda p: os.utime(p), lambda p: os.chmod(p, 0o600)):
    try:
        change("/dev/{name}")
    except OSError as error:
        print(error.errno)
with open("/dev/{name}", "wb") as file:
    print(file.write(b"x"))
"""
    run = at(3).run(program)
    assert run.stdout == "30\n30\n1\n", run.stderr
    assert Path(f"/dev/{name}").stat().st_mtime_ns == before

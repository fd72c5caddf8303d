"""What a program may do to the processes beside it: signals, tracing, limits, priorities."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.oracles import detect_killed_process, detect_tampering

# its parent, the caller, pid 1 and whoever may be near
NEAR = """
import ctypes, os, posix, time
libc = ctypes.CDLL(None)
me = os.getpid()
near = [pid for pid in (PARENT, os.getppid(), 1, *range(2, 40), *range(me - 5, me)) if 0 < pid != me]
"""

ATTACKS = (
    Harm(
        name="kill-the-caller",
        about="sends SIGKILL to the caller",
        program=NEAR + "libc.kill(PARENT, 9)",
    ),
    Harm(
        name="kill-everything",
        about="sends SIGKILL to all that it may",
        program=NEAR + "libc.kill(-1, 9)",
        harm=(detect_killed_process,),
    ),
    Harm(
        name="kill-the-group",
        about="sends SIGKILL to its process group and to its parent's",
        program=NEAR
        + """
libc.signal(15, 1)
for group in (os.getppid(), PARENT):
    try:
        libc.killpg(os.getpgid(group), 15)
    except OSError as error:
        print(error)
libc.kill(0, 15)
""",
        harm=(detect_killed_process,),
    ),
    Harm(
        name="kill-the-neighbours",
        about="sends SIGKILL to every pid nearby",
        program=NEAR
        + """
for pid in near:
    libc.kill(pid, 9)
""",
        harm=(detect_killed_process,),
    ),
    Harm(
        name="stop-the-caller",
        about="sends SIGSTOP to the caller and to its parent",
        program=NEAR
        + """
for pid in (PARENT, os.getppid()):
    libc.kill(pid, 19)
""",
        harm=(detect_tampering,),
    ),
    Harm(
        name="other-signal-calls",
        about="signals by tgkill, tkill, sigqueue and pidfd",
        program=NEAR
        + """
for pid in (os.getppid(), PARENT):
    libc.syscall(234, pid, pid, 9)
    libc.syscall(200, pid, 9)
    libc.sigqueue(pid, 9, 0)
    libc.syscall(424, libc.syscall(434, pid, 0), 9, 0, 0)
""",
        harm=(detect_killed_process,),
    ),
    Harm(
        name="signal-by-descriptor",
        about="has the kernel signal others when a pipe becomes ready",
        program=NEAR
        + """
import fcntl, signal
for pid in (os.getppid(), PARENT):
    out, into = os.pipe()
    fcntl.fcntl(out, fcntl.F_SETOWN, pid)
    fcntl.fcntl(out, 10, 9)  # F_SETSIG
    fcntl.fcntl(out, fcntl.F_SETFL, fcntl.fcntl(out, fcntl.F_GETFL) | os.O_ASYNC)
    os.write(into, b"x")
""",
        harm=(detect_killed_process,),
    ),
    Harm(
        name="trace-the-caller",
        about="attaches to the caller with ptrace, which stops it",
        program=NEAR
        + """
for pid in (PARENT, os.getppid()):
    libc.ptrace(16, pid, 0, 0)
time.sleep(0.5)
for pid in (PARENT, os.getppid()):
    libc.ptrace(0x4206, pid, 0, 0)
time.sleep(5)
""",
        harm=(detect_tampering,),
        time_limit=1.5,
    ),
    Harm(
        name="limit-the-caller",
        about="takes descriptors and processor time from the caller by prlimit",
        program=NEAR
        + """
import struct
for pid in near:
    for what, value in ((7, 64), (13, 0), (4, 0)):
        libc.prlimit(pid, what, struct.pack("QQ", value, value), None)
""",
        harm=(detect_tampering,),
    ),
    Harm(
        name="slow-the-caller",
        about="gives the caller the lowest priority",
        program=NEAR
        + """
for pid in near:
    libc.setpriority(0, pid, 19)
libc.setpriority(1, 0, 19)
""",
        harm=(detect_tampering,),
    ),
    Harm(
        name="pin-the-caller",
        about="binds the caller to one processor, with a scheduling class of last resort",
        program=NEAR
        + """
import struct
last = max(os.sched_getaffinity(0))
for pid in near:
    libc.sched_setaffinity(pid, 8, struct.pack("Q", 1 << last))
""",
        harm=(detect_tampering,),
    ),
    Harm(
        name="offer-the-caller",
        about="makes the caller the first to go when memory is short",
        program="""
import os
for pid in (PARENT, os.getppid()):
    open(f"/proc/{pid}/oom_score_adj", "w").write("1000")
""",
        harm=(detect_tampering,),
    ),
)

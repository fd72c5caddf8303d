"""Processes and threads: too many, other programs, and such as outlive the run."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.oracles import (
    detect_excess_processes,
    detect_excess_threads,
    detect_open,
    detect_overrun,
    detect_survivors,
)

ATTACKS = (
    Harm(
        name="fork-bomb",
        about="forks until it may not, 120 times at most",
        program="""
import posix, time
for _ in range(120):
    try:
        if posix.fork() == 0:
            time.sleep(1.5)
            posix._exit(0)
    except OSError:
        break
time.sleep(1.5)
""",
        harm=(detect_excess_processes,),
        time_limit=1.0,
        alone=True,
    ),
    Harm(
        name="daemon",
        about="leaves a process of its own session behind",
        program="""
import posix, time
if posix.fork() == 0:
    posix.setsid()
    if posix.fork() == 0:
        for descriptor in range(64):
            try:
                posix.close(descriptor)
            except OSError:
                pass
        time.sleep(5)
    posix._exit(0)
""",
        harm=(detect_survivors,),
    ),
    Harm(
        name="daemon-beyond-the-limit",
        about="the same, while the program itself runs into its time limit",
        program="""
import posix, time
if posix.fork() == 0:
    posix.setsid()
    for descriptor in range(64):
        try:
            posix.close(descriptor)
        except OSError:
            pass
    time.sleep(5)
    posix._exit(0)
time.sleep(5)
""",
        harm=(detect_survivors,),
        time_limit=0.8,
    ),
    Harm(
        name="held-output",
        about="leaves a child that keeps the output open, for which many callers wait",
        program="""
import posix, time
if posix.fork() == 0:
    time.sleep(6)
    posix._exit(0)
""",
        harm=(detect_survivors, detect_overrun),
        time_limit=1.0,
    ),
    Harm(
        name="fork-by-libc",
        about="forks by system calls: fork, vfork, clone, clone3",
        program="""
import ctypes, struct, time
libc = ctypes.CDLL(None)
ways = [(57,), (56, 17, 0, 0, 0, 0), (435, struct.pack("QQQQQQQQ", 0, 0, 0, 0, 17, 0, 0, 0), 64)]
for way in ways:
    if libc.syscall(*way) == 0:
        libc.setsid()
        for descriptor in range(64):
            libc.close(descriptor)
        time.sleep(5)
        libc._exit(0)
""",
        harm=(detect_survivors,),
    ),
    Harm(
        name="subprocess",
        about="starts a shell",
        program="""
import subprocess
subprocess.run(["/bin/sh", "-c", f"cat {CANARY}; touch /tmp/{MARK}"])
""",
    ),
    Harm(
        name="system",
        about="starts a shell by libc",
        program="""
import ctypes
ctypes.CDLL(None).system(f"touch /tmp/{MARK}".encode())
""",
    ),
    Harm(
        name="exec",
        about="becomes another program",
        program="""
import os
os.execv("/bin/cat", ["cat", CANARY])
""",
    ),
    Harm(
        name="exec-python-again",
        about="becomes a Python without any of the sandbox's preparations",
        program="""
import os, sys
os.execv(sys.executable, [sys.executable, "-c", f"print(open({CANARY!r}).read())"])
""",
    ),
    Harm(
        name="posix-spawn",
        about="starts a program without fork",
        program="""
import os, time
os.posix_spawn("/bin/touch", ["touch", f"/tmp/{MARK}"], {})
time.sleep(0.3)
""",
    ),
    Harm(
        name="multiprocessing",
        about="starts workers through the standard library",
        program="""
import multiprocessing, time
def work(n):
    time.sleep(0.5)
for start in ("fork", "spawn", "forkserver"):
    try:
        context = multiprocessing.get_context(start)
        for n in range(12):
            context.Process(target=work, args=(n,)).start()
    except Exception as error:
        print(error)
time.sleep(0.3)
""",
        harm=(detect_excess_processes,),
        time_limit=2.0,
        alone=True,
    ),
    Harm(
        name="exec-from-memory",
        about="writes a program into a file without a name and runs it",
        program="""
import ctypes, os
libc = ctypes.CDLL(None)
file = libc.memfd_create(MARK.encode(), 0)
os.write(file, f"#!/bin/sh\\ntouch /tmp/{MARK}\\n".encode())
os.execve(f"/proc/self/fd/{file}", ["x"], {})
""",
        harm=(detect_open("memfd:mark"),),
    ),
    Harm(
        name="thread-bomb",
        about="starts threads until it may not, 400 at most",
        program="""
import threading, time
threading.stack_size(65536)
for _ in range(400):
    try:
        threading.Thread(target=time.sleep, args=(1,), daemon=True).start()
    except RuntimeError:
        break
time.sleep(0.5)
""",
        harm=(detect_excess_threads,),
        time_limit=2.0,
        # the kernel counts threads by user, so it would starve what runs beside it
        alone=True,
    ),
    Harm(
        name="thread-beyond-the-end",
        about="comes to its end with threads that do not",
        program="""
import threading, time
for _ in range(3):
    threading.Thread(target=time.sleep, args=(8,)).start()
""",
        time_limit=1.0,
        note="killing the process is enough, and every judge does",
    ),
)

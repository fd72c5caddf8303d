"""Changes to files outside: what they hold, what they are called, and all that `stat` says."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm

ATTACKS = (
    Harm(
        name="overwrite",
        about="writes over a file outside",
        program='open(CANARY, "r+").write("gone")',
    ),
    Harm(
        name="truncate",
        about="cuts a file outside, by path and by descriptor",
        program="""
import os
try:
    os.truncate(CANARY, 1)
except (OSError, TypeError):
    open(CANARY, "w")
""",
    ),
    Harm(
        name="truncate-by-libc",
        about="cuts it without Python's wrapper, which needs no descriptor",
        program="""
import ctypes
ctypes.CDLL(None).truncate(CANARY.encode(), 0)
""",
    ),
    Harm(
        name="delete",
        about="removes a file outside",
        program="""
import posix
posix.unlink(CANARY)
""",
    ),
    Harm(
        name="delete-by-libc",
        about="removes it by the system call, relative to a folder",
        program="""
import ctypes
ctypes.CDLL(None).unlinkat(-100, CANARY.encode(), 0)
""",
    ),
    Harm(
        name="rename",
        about="moves a file outside, and one from inside over it",
        program="""
import ctypes
libc = ctypes.CDLL(None)
if libc.renameat2(-100, CANARY.encode(), -100, (CANARY + MARK).encode(), 0) != 0:
    libc.rename(CANARY.encode(), (CANARY + MARK).encode())
    open("mine", "w").write("x")
    libc.rename(b"mine", CANARY.encode())
""",
    ),
    Harm(
        name="chmod",
        about="opens a file outside to everybody, by four calls",
        program="""
import ctypes, os
libc = ctypes.CDLL(None)
libc.chmod(CANARY.encode(), 0o777)
libc.fchmodat(-100, CANARY.encode(), 0o777, 0)
libc.syscall(452, -100, CANARY.encode(), 0o777, 0)  # fchmodat2
libc.fchmod(os.open(CANARY, os.O_RDONLY), 0o777)
""",
    ),
    Harm(
        name="chmod-the-folder",
        about="the same for a folder, which needs no right to what is in it",
        program="""
import ctypes
ctypes.CDLL(None).chmod(OUTSIDE.encode(), 0o777)
""",
    ),
    Harm(
        name="chown",
        about="gives a file away",
        program="""
import ctypes
libc = ctypes.CDLL(None)
libc.chown(CANARY.encode(), 12345, 12345)
libc.lchown(CANARY.encode(), 12345, 12345)
libc.fchownat(-100, CANARY.encode(), 12345, 12345, 0)
""",
        note="an ordinary user may not, even unconfined; it is for the columns of root",
    ),
    Harm(
        name="utime",
        about="sets back the time of a file",
        program="""
import os
os.utime(CANARY, (1, 1))
""",
    ),
    Harm(
        name="utime-by-libc",
        about="sets it back by the system call",
        program="""
import ctypes, struct
libc = ctypes.CDLL(None)
libc.utimensat(-100, CANARY.encode(), struct.pack("qqqq", 1, 0, 1, 0), 0)
libc.utimes(CANARY.encode(), struct.pack("qqqq", 1, 0, 1, 0))
""",
    ),
    Harm(
        name="xattr",
        about="attaches an attribute to a file",
        program="""
import os
os.setxattr(CANARY, "user.mine", b"x")
""",
    ),
    Harm(
        name="hard-link",
        about="makes a second name for a file, which would keep it alive",
        program="""
import os
for place in (OUTSIDE, ".", "/tmp", "/var/tmp"):
    try:
        os.link(CANARY, f"{place}/{MARK}")
    except OSError as error:
        print(error)
""",
    ),
    Harm(
        name="symbolic-link",
        about="leaves a link in a folder outside",
        program="""
import os
os.symlink("/etc/passwd", f"{OUTSIDE}/{MARK}")
""",
    ),
    Harm(
        name="new-files",
        about="leaves files wherever everybody may write, and in the home folder",
        program="""
import os
for place in (OUTSIDE, "/tmp", "/var/tmp", "/dev/shm", "/run", HOME, os.path.expanduser("~")):
    try:
        open(f"{place}/{MARK}", "w").write("x")
    except OSError as error:
        print(error)
""",
    ),
    Harm(
        name="new-folder",
        about="makes a folder outside, and a socket and a pipe in it",
        program="""
import ctypes, os, socket
os.mkdir(f"{OUTSIDE}/{MARK}")
os.mkfifo(f"{OUTSIDE}/{MARK}/pipe")
""",
    ),
    Harm(
        name="named-socket",
        about="binds a unix socket in a folder outside",
        program="""
import socket
socket.socket(socket.AF_UNIX).bind(f"{OUTSIDE}/{MARK}")
""",
    ),
    Harm(
        name="write-through-a-map",
        about="changes a file through memory that is mapped to it",
        program="""
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
file = libc.open(CANARY.encode(), 2)
ctypes.memmove(libc.mmap(None, 4096, 3, 1, file, 0), b"gone", 4)
""",
    ),
    Harm(
        name="write-into-the-library",
        about="leaves a module in every folder that Python imports from",
        program="""
import site, sys
for place in {*sys.path, *site.getsitepackages(), sys.prefix, site.getusersitepackages()}:
    try:
        open(f"{place or '.'}/{MARK}.pth", "w").write("import os")
        if place in ("", "."):
            __import__("os").unlink(f"{MARK}.pth")
    except OSError as error:
        print(error)
import os
os.makedirs(HOME + "/.local", exist_ok=True)
open(f"{HOME}/.local/{MARK}.py", "w").write("x = 1")
""",
    ),
)

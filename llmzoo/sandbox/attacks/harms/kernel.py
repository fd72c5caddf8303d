"""Doors of the kernel that no solution to an exercise needs; each is a way to bugs in it."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.machine import SYSCTL
from llmzoo.sandbox.attacks.oracles import (
    detect_carryover,
    detect_ipc_objects,
    detect_leftover_files,
    detect_machine_change,
    detect_mount,
    detect_open,
    detect_personality_change,
    detect_root_change,
    detect_terminal_write,
    detect_user_namespace,
)

LIBC = """
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
"""
ROOT_ONLY = "an ordinary user may not, even unconfined; it is for the columns of root"

ATTACKS = (
    Harm(
        name="user-namespace",
        about="becomes root in a user namespace of its own",
        program=LIBC
        + """
print(libc.unshare(0x10000000))
time.sleep(0.3)
""",
        harm=(detect_user_namespace,),
    ),
    Harm(
        name="mount",
        about="mounts a file system, in a namespace of its own where it must",
        program=LIBC
        + """
libc.unshare(0x10020000) and libc.unshare(0x20000)
for place in (b"/tmp", b"/dev/shm", b".", b"/mnt", b"/"):
    if libc.mount(MARK.encode(), place, b"tmpfs", 0, b"") == 0:
        break
context = libc.syscall(430, b"tmpfs", 0)  # fsopen
time.sleep(0.3)
""",
        harm=(detect_mount,),
    ),
    Harm(
        name="chroot",
        about="changes its root, in a user namespace where it must, and climbs out",
        program=LIBC
        + """
libc.unshare(0x10000000)
jail = None
for place in (".", OUTSIDE, "/tmp"):
    try:
        os.mkdir(f"{place}/{MARK}")
        jail = f"{place}/{MARK}"
        break
    except OSError as error:
        print(error)
here = os.open("/", os.O_RDONLY)
libc.chroot(jail.encode())
time.sleep(0.3)
os.fchdir(here)
for _ in range(30):
    os.chdir("..")
libc.chroot(b".")
leak(open(CANARY).read())
""",
        harm=(detect_root_change,),
    ),
    Harm(
        name="pivot-root",
        about="goes back to an old root, through a bind mount of the present one",
        program=LIBC
        + """
libc.unshare(0x10020000)
libc.mount(b"/", b"/", None, 4096 | 16384, None)
libc.syscall(155, b".", b".")
libc.umount2(b".", 2)
libc.umount2(b"/", 2)
os.chdir("/")
leak(open(CANARY).read())
""",
    ),
    Harm(
        name="join-namespaces",
        about="joins the namespaces of the caller and of pid 1",
        program=LIBC
        + """
for pid in (PARENT, os.getppid(), 1):
    process = libc.syscall(434, pid, 0)
    libc.setns(process, 0x10000000)
    libc.setns(process, 0x20000)
    for kind in ("user", "mnt"):
        try:
            libc.setns(os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY), 0)
        except OSError as error:
            print(error)
leak(open(CANARY).read())
""",
    ),
    Harm(
        name="keyring",
        about="leaves a word in the kernel's keyring for the next run",
        program=LIBC
        + """
for ring in (-3, -4, -5):
    libc.syscall(248, b"user", b"left-over", MARK.encode(), len(MARK), ring)
""",
        after=LIBC
        + """
space = ctypes.create_string_buffer(99)
for ring in (-3, -4, -5):
    key = libc.syscall(250, 10, ring, b"user", b"left-over", 0)  # search
    if key > 0 and libc.syscall(250, 11, key, space, 99) > 0:  # read
        leak("found " + space.value.decode())
""",
        harm=(detect_carryover,),
    ),
    Harm(
        name="memory-file",
        about="makes a file that no folder knows",
        program=LIBC
        + """
file = libc.memfd_create(MARK.encode(), 0)
libc.syscall(447, 0)  # memfd_secret
time.sleep(0.3)
""",
        harm=(detect_open("memfd:mark"),),
    ),
    Harm(
        name="io-uring",
        about="has the kernel do the system calls, where no filter sees them",
        program=LIBC
        + """
libc.syscall(425, 4, ctypes.create_string_buffer(120))
time.sleep(0.3)
""",
        harm=(detect_open("io_uring"),),
    ),
    Harm(
        name="bpf",
        about="loads a map for programs in the kernel",
        program=LIBC
        + """
libc.syscall(321, 0, struct.pack("IIII", 2, 4, 4, 1) + bytes(112), 128)
time.sleep(0.3)
""",
        harm=(detect_open("bpf-map"),),
        note=ROOT_ONLY,
    ),
    Harm(
        name="userfaultfd",
        about="takes over page faults, which halts the kernel where an exploit wants it",
        program=LIBC
        + """
libc.syscall(323, 1) < 0 and libc.syscall(323, 0)
time.sleep(0.3)
""",
        harm=(detect_open("userfaultfd"),),
    ),
    Harm(
        name="perf-event",
        about="opens a performance counter on itself",
        program=LIBC
        + """
about = struct.pack("IIQQQQQ", 1, 128, 0, 0, 0, 0, 0b1100001) + bytes(80)
libc.syscall(298, about, 0, -1, -1, 0)
time.sleep(0.3)
""",
        harm=(detect_open("perf_event"),),
    ),
    Harm(
        name="shared-memory",
        about="leaves System V memory, a semaphore and a queue, which outlive every process",
        program=LIBC
        + """
libc.shmget(KEY, 2**20, 0o1666)
libc.semget(KEY, 1, 0o1666)
libc.msgget(KEY, 0o1666)
""",
        harm=(detect_ipc_objects,),
    ),
    Harm(
        name="message-queue",
        about="leaves a POSIX message queue",
        program=LIBC
        + """
libc.syscall(240, MARK.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
""",
        harm=(detect_leftover_files,),
    ),
    Harm(
        name="calls-of-32-bits",
        about="reads a file by the system calls of another architecture, int 0x80",
        program=LIBC
        + r"""
low = 0x62  # private, anonymous, MAP_32BIT: these calls take short addresses
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
page = libc.mmap(None, 8192, 7, low, -1, 0)
ctypes.memmove(page + 4096, CANARY.encode() + b"\0", len(CANARY) + 1)
def call(number, first, second, third):
    code = b"\x53\xb8" + struct.pack("I", number) + b"\xbb" + struct.pack("I", first)
    code += b"\xb9" + struct.pack("I", second) + b"\xba" + struct.pack("I", third)
    ctypes.memmove(page, code + b"\xcd\x80\x5b\xc3", len(code) + 4)
    return ctypes.CFUNCTYPE(ctypes.c_int)(page)()
file = call(5, page + 4096, 0, 0)
call(3, file, page + 5000, 100)
leak(ctypes.string_at(page + 5000, 100).decode())
""",
    ),
    Harm(
        name="calls-of-x32",
        about="reads a file by the numbers of the x32 ABI",
        program=LIBC
        + """
file = libc.syscall(0x40000002, CANARY.encode(), 0, 0)
file = file if file >= 0 else libc.syscall(0x40000101, -100, CANARY.encode(), 0, 0)
leak(os.read(file, 99).decode())
""",
        note="few kernels are built with x32; where one is, a filter must know",
    ),
    Harm(
        name="personality",
        about="turns off the randomising of addresses and makes data executable",
        program=LIBC
        + """
libc.personality(0x0440000)
time.sleep(0.3)
""",
        harm=(detect_personality_change,),
    ),
    Harm(
        name="sysctl",
        about="changes a setting of the kernel, one of the network's",
        program=f"open({SYSCTL!r}, 'w').write('99')",
        harm=(detect_machine_change,),
        alone=True,
        note=ROOT_ONLY,
    ),
    Harm(
        name="host-name",
        about="renames the machine",
        program=LIBC + "libc.sethostname(MARK.encode(), len(MARK))",
        harm=(detect_machine_change,),
        alone=True,
        note=ROOT_ONLY,
    ),
    Harm(
        name="clock",
        about="sets the clock of the machine, to what it is already",
        program=LIBC
        + """
now = time.time_ns()
libc.clock_settime(0, struct.pack("qq", now // 10**9, now % 10**9))
libc.settimeofday(struct.pack("qq", now // 10**9, now % 10**9 // 1000), None)
""",
        harm=(detect_machine_change,),
        alone=True,
        note=ROOT_ONLY,
    ),
    Harm(
        name="reboot",
        about="reboots, which in a pid namespace kills pid 1",
        program=LIBC + "libc.reboot(0x01234567)",
        rivals=False,
        note="the world keeps the capability from all; what it tries is the filter",
    ),
    Harm(
        name="terminal",
        about="writes to the caller's terminal",
        program="""
import os
for name in ("/dev/tty", f"/proc/{PARENT}/fd/2", "/dev/pts/0"):
    try:
        os.write(os.open(name, os.O_WRONLY | os.O_NOCTTY), f"{MARK}\\n".encode())
    except OSError as error:
        print(error)
""",
        harm=(detect_terminal_write,),
    ),
    Harm(
        name="typed-commands",
        about="types into the caller's terminal, for its shell to run",
        program=LIBC
        + """
import fcntl
for descriptor in (0, 1, 2, "/dev/tty"):
    try:
        file = os.open(descriptor, os.O_RDWR) if isinstance(descriptor, str) else descriptor
        for letter in f"{MARK}\\n":
            fcntl.ioctl(file, 0x5412, letter.encode())
    except OSError as error:
        print(error)
""",
        harm=(detect_terminal_write,),
    ),
)

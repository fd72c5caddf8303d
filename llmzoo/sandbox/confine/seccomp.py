"""The system-call filter: an allow-list, assembled once and installed in every child.

It is a classic BPF program. Calls whose arguments matter are checked one by one, all others by a
binary search over ranges of allowed numbers. A forbidden call fails with EPERM. Calls for which the
C library has an older fallback fail with ENOSYS. Call numbers of another machine kill the process.
See seccomp(2).
"""

from __future__ import annotations

import errno
import platform
import struct
from collections.abc import Iterable, Sequence

from .syscalls import NUMBERS

AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

ALLOW, _KILL = 0x7FFF0000, 0x80000000
ERRNO = 0x00050000
LOAD, AND, RETURN = 0x20, 0x54, 0x06
JUMP_EQUAL, JUMP_AT_LEAST = 0x15, 0x35
_NUMBER, _ARCH, ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32 = 0x40000000
_OWN_PID = 0xFFFFFFF1  # stands for the child's process id until it is known

_CLONE_VM, _CLONE_THREAD, CLONE_NAMESPACES = 0x100, 0x10000, 0x7E020080
_O_TMPFILE = 0x400000  # the bit that O_DIRECTORY lacks
_PRCTL = (15, 16, 0x53564D41)  # PR_SET_NAME, PR_GET_NAME, PR_SET_VMA (malloc names its arenas)
# TCGETS, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX, TIOCGWINSZ
_IOCTL = (0x5401, 0x541B, 0x5421, 0x5450, 0x5451, 0x5413)
# duplicates, flags and locks; neither F_SETOWN nor F_SETSIG, which send signals
_FCNTL = (0, 1, 2, 3, 4, 5, 6, 7, 36, 37, 38, 1030, 1032, 1034)

_BASIC = """
read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
dup dup2 dup3 pipe pipe2 poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait
epoll_pwait eventfd2 eventfd timerfd_create timerfd_settime timerfd_gettime sendfile sendto recvfrom
shutdown getsockopt getsockname getpeername brk mmap munmap mremap mprotect madvise msync mincore
futex set_robust_list get_robust_list rseq membarrier sched_yield sched_getaffinity
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getcpu exit
exit_group wait4 waitid set_tid_address rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending
rt_sigtimedwait rt_sigsuspend sigaltstack pause restart_syscall nanosleep clock_nanosleep
clock_gettime clock_getres gettimeofday time times getitimer setitimer alarm timer_create
timer_settime timer_gettime timer_delete timer_getoverrun getpid getppid gettid getuid geteuid
getgid getegid getgroups getresuid getresgid getpgrp getpgid getsid getrlimit setrlimit getrusage
uname getrandom getcwd umask arch_prctl fstat ftruncate fsync fdatasync flock fadvise64
""".split()  # noqa: SIM905
# files, which Landlock or a new root confines
_FILES = "open openat creat getdents64 getdents chdir fchdir".split()  # noqa: SIM905
# allowed only with a new root: calls that Landlock does not restrict; calls that could hide files from the
# measurement of the scratch folder; and fallocate, which is too fast for that measurement
_OWN_ROOT = """
mkdir mkdirat fallocate
stat lstat newfstatat statx access faccessat readlink readlinkat statfs fstatfs chmod fchmod
fchmodat utimensat truncate rmdir unlink unlinkat rename renameat renameat2 copy_file_range
""".split()  # noqa: SIM905
_PROCESSES = "fork vfork execve setpgid setsid kill tkill tgkill".split()  # noqa: SIM905
_ABSENT = ("clone3", "openat2", "io_uring_setup", "faccessat2", "futex_waitv")


class Assembler:
    """Builds a filter from common patterns."""

    def __init__(self, machine: str = ""):
        """Raises ``OSError`` on a machine whose call numbers are unknown."""
        self.machine = machine or platform.machine()
        if self.machine not in NUMBERS:
            raise OSError(f"no system-call table for {self.machine}")
        self._code: list[tuple[int, int, int, int]] = []
        self._check_machine(self.machine)

    def __len__(self) -> int:
        return len(self._code)

    def _assemble(self) -> bytes:
        """The filter as an array of ``struct sock_filter``."""
        return b"".join(struct.pack("<HBBI", *line) for line in self._code)

    def _check_machine(self, machine: str) -> None:
        self._code += [
            (LOAD, 0, 0, _ARCH),
            (JUMP_EQUAL, 1, 0, AUDIT_ARCH[machine]),
            (RETURN, 0, 0, _KILL),
            (LOAD, 0, 0, _NUMBER),
            (JUMP_AT_LEAST, 0, 1, _X32),
            (RETURN, 0, 0, _KILL),
        ]

    def _match(self, number: int, block: Sequence[tuple[int, int, int, int]]) -> None:
        """Let ``block`` decide about the call ``number``. Each of its paths must end in a return."""
        self._code += [(JUMP_EQUAL, 0, len(block), number), *block]

    def _allow_one_of(self, number: int, argument: int, allowed: Sequence[int]) -> None:
        """Allow a call if the low half of an argument is one of these values."""
        tests = [(JUMP_EQUAL, len(allowed) - i, 0, value) for i, value in enumerate(allowed)]
        self._match(
            number,
            [(LOAD, 0, 0, ARGUMENTS + 8 * argument), *tests, DENY, (RETURN, 0, 0, ALLOW)],
        )

    def _allow_masked(self, number: int, mask: int, wanted: int, *, argument: int = 0) -> None:
        """Allow a call if exactly the bits ``wanted`` of ``mask`` are set in an argument."""
        self._match(
            number,
            [
                (LOAD, 0, 0, ARGUMENTS + 8 * argument),
                (AND, 0, 0, mask),
                (JUMP_EQUAL, 1, 0, wanted),
                DENY,
                (RETURN, 0, 0, ALLOW),
            ],
        )

    def _allow_none_of(self, number: int, argument: int, forbidden: Sequence[int]) -> None:
        """Allow a call unless the low half of an argument is one of these values."""
        count = len(forbidden)
        tests = [(JUMP_EQUAL, count - i, 0, value) for i, value in enumerate(forbidden)]
        load = (LOAD, 0, 0, ARGUMENTS + 8 * argument)
        self._match(number, [load, *tests, (RETURN, 0, 0, ALLOW), DENY])

    def _report_absent(self, number: int) -> None:
        """Let a call fail with ENOSYS, as in a kernel that does not have it."""
        self._match(number, [(RETURN, 0, 0, ERRNO | errno.ENOSYS)])

    def _allow_socketpair(self, number: int) -> None:
        """Allow stream pairs of AF_UNIX, which asyncio and multiprocessing use in one process."""
        self._match(
            number,
            [
                (LOAD, 0, 0, ARGUMENTS),
                (JUMP_EQUAL, 0, 3, 1),
                (LOAD, 0, 0, ARGUMENTS + 8),
                (AND, 0, 0, 0xF),
                (JUMP_EQUAL, 1, 0, 1),
                DENY,
                (RETURN, 0, 0, ALLOW),
            ],
        )

    def _allow_ranges(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Allow the numbers in ``ranges`` (sorted, first and last), by binary search."""
        if not ranges:
            self._code.append(DENY)
        elif len(ranges) == 1:
            first, last = ranges[0]
            self._code += [
                (JUMP_AT_LEAST, 0, 2, first),
                (JUMP_AT_LEAST, 1, 0, last + 1),
                (RETURN, 0, 0, ALLOW),
                DENY,
            ]
        else:
            middle = len(ranges) // 2
            at = len(self._code)
            self._code.append((JUMP_AT_LEAST, 0, 0, ranges[middle][0]))
            self._allow_ranges(ranges[:middle])
            # jump over the lower half, which has far fewer than 255 instructions, the limit of a jump
            self._code[at] = (JUMP_AT_LEAST, len(self._code) - at - 1, 0, ranges[middle][0])
            self._allow_ranges(ranges[middle:])


class Filter(Assembler):
    """The filter for an isolation level. A child installs the result of ``for_process``.

    Level 1 opens no files, level 2 opens files, and level 3 may also look at paths. ``processes``:
    allow new processes and signals to them, which only a pid namespace can confine. ``threads``: allow
    new threads. Raises ``OSError`` on a machine whose call numbers are unknown.
    """

    def __init__(
        self, level: int, *, processes: bool = False, threads: bool = True, machine: str = ""
    ):
        super().__init__(machine)
        numbers = NUMBERS[self.machine]
        names = [*_BASIC, *_FILES * (level >= 2), *_OWN_ROOT * (level >= 3)]
        names += _PROCESSES * processes
        for name in _ABSENT:
            self._report_absent(numbers[name])
        if level == 2:  # no files without a name, which the measurement would miss
            for name, flags in (("open", 1), ("openat", 2)):
                if name in numbers:
                    self._allow_masked(numbers[name], _O_TMPFILE, 0, argument=flags)
        if processes:
            self._allow_masked(numbers["clone"], CLONE_NAMESPACES, 0)
        elif threads:
            only_threads = _CLONE_VM | _CLONE_THREAD
            self._allow_masked(numbers["clone"], only_threads | CLONE_NAMESPACES, only_threads)
        if not processes:
            for name in ("kill", "tgkill"):
                self._allow_one_of(numbers[name], 0, [_OWN_PID])
        self._allow_one_of(numbers["prlimit64"], 0, [0, _OWN_PID])
        self._allow_one_of(numbers["prctl"], 0, _PRCTL)
        self._allow_one_of(numbers["ioctl"], 1, _IOCTL)
        self._allow_one_of(numbers["fcntl"], 1, _FCNTL)
        self._allow_socketpair(numbers["socketpair"])
        self._allow_ranges(ranges(numbers[name] for name in names if name in numbers))
        self._own_pid = [at for at, line in enumerate(self._code) if line[3] == _OWN_PID]
        self._bytes = self._assemble()

    def for_process(self, pid: int) -> bytes:
        """The filter as an array of ``struct sock_filter``, for the process ``pid``."""
        program = bytearray(self._bytes)
        for at in self._own_pid:
            struct.pack_into("<I", program, at * 8 + 4, pid)
        return bytes(program)


DENY = (RETURN, 0, 0, ERRNO | errno.EPERM)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The sorted ranges (first, last) of consecutive numbers."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges

"""The system-call filter, run by an interpreter of its own for both machines that it knows."""

from __future__ import annotations

import errno
import struct

import pytest

from llmzoo.sandbox.confine.command_filter import FORBIDDEN, SOCKET, CommandFilter
from llmzoo.sandbox.confine.seccomp import AUDIT_ARCH, Filter
from llmzoo.sandbox.confine.syscalls import NUMBERS

ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
PID = 4321
MACHINES = sorted(NUMBERS)
EVERY_LEVEL = [(machine, level) for machine in MACHINES for level in (1, 2, 3)]


def verdict(program: bytes, number: int, *args: int, arch: int) -> int:
    """What the kernel would answer: classic BPF over ``struct seccomp_data``."""
    padded = [*args, *[0] * 6][:6]
    data = struct.pack("<IIQ6Q", number, arch, 0, *padded)
    code = list(struct.iter_unpack("<HBBI", program))
    at, held = 0, 0
    while True:
        op, if_true, if_false, k = code[at]
        at += 1
        if op == 0x20:
            (held,) = struct.unpack_from("<I", data, k)
        elif op == 0x54:
            held &= k
        elif op == 0x15:
            at += if_true if held == k else if_false
        elif op == 0x35:
            at += if_true if held >= k else if_false
        elif op == 0x06:
            return k
        else:
            raise AssertionError(f"unknown instruction {op:#x}")


def ask(machine: str, level: int, call: str, *args: int, processes: bool = False) -> str:
    program = Filter(level, processes=processes, machine=machine).for_process(PID)
    result = verdict(program, NUMBERS[machine][call], *args, arch=AUDIT_ARCH[machine])
    return {
        ALLOW: "allow",
        KILL: "kill",
        ERRNO | errno.EPERM: "deny",
        ERRNO | errno.ENOSYS: "absent",
    }[result]


@pytest.mark.parametrize(("machine", "level"), EVERY_LEVEL)
def test_what_every_program_needs_is_allowed(machine, level):
    for call in ("read", "write", "mmap", "munmap", "futex", "exit_group", "getrandom", "brk"):
        assert ask(machine, level, call) == "allow"


@pytest.mark.parametrize(("machine", "level"), EVERY_LEVEL)
def test_what_leads_out_is_denied(machine, level):
    for call in ("execve", "setsid", "unshare", "pivot_root", "seccomp", "pidfd_open"):
        assert ask(machine, level, call) == "deny", call
    for call in ("clone3", "openat2", "io_uring_setup"):
        assert ask(machine, level, call) == "absent", call


@pytest.mark.parametrize("machine", MACHINES)
def test_files_by_level(machine):
    assert [ask(machine, level, "openat") for level in (1, 2, 3)] == ["deny", "allow", "allow"]
    assert [ask(machine, level, "newfstatat") for level in (1, 2, 3)] == ["deny", "deny", "allow"]
    assert [ask(machine, level, "truncate") for level in (1, 2, 3)] == ["deny", "deny", "allow"]


@pytest.mark.parametrize("machine", MACHINES)
def test_a_watched_folder_hides_nothing(machine):
    """At level 2 no file loses its name, since files are measured by name."""
    assert [ask(machine, level, "unlinkat") for level in (1, 2, 3)] == ["deny", "deny", "allow"]
    assert [ask(machine, level, "renameat2") for level in (1, 2, 3)] == ["deny", "deny", "allow"]
    unnamed = 0o20200000 | 2  # O_TMPFILE
    result = [ask(machine, level, "openat", 0, 0, unnamed) for level in (1, 2, 3)]
    assert result == ["deny", "deny", "allow"]


@pytest.mark.parametrize("machine", MACHINES)
def test_no_space_is_taken_faster_than_it_is_measured(machine):
    assert [ask(machine, level, "fallocate") for level in (1, 2, 3)] == ["deny", "deny", "allow"]


@pytest.mark.parametrize(("machine", "level"), EVERY_LEVEL)
def test_the_load_of_the_machine_is_not_told(machine, level):
    assert ask(machine, level, "sysinfo") == "deny"


@pytest.mark.parametrize(("machine", "level"), EVERY_LEVEL)
def test_arguments(machine, level):
    threads = 0x3D0F00  # as the C library starts a thread
    assert ask(machine, level, "clone", threads) == "allow"
    assert ask(machine, level, "clone", 0x11) == "deny"  # as fork does
    assert ask(machine, level, "clone", threads | 0x10000000) == "deny"  # a user namespace
    assert ask(machine, level, "kill", PID) == "allow"
    assert ask(machine, level, "kill", PID + 1) == "deny"
    assert ask(machine, level, "kill", 0xFFFFFFFF) == "deny"
    assert ask(machine, level, "tgkill", PID) == "allow"
    assert ask(machine, level, "tkill", PID) == "deny"
    assert ask(machine, level, "prlimit64", 0) == "allow"
    assert ask(machine, level, "prlimit64", 1) == "deny"
    assert ask(machine, level, "socketpair", 1, 1 | 0o2000000) == "allow"
    assert ask(machine, level, "socketpair", 1, 2) == "deny"
    assert ask(machine, level, "socketpair", 2, 1) == "deny"
    assert ask(machine, level, "ioctl", 1, 0x5401) == "allow"
    assert ask(machine, level, "ioctl", 1, 0x5412) == "deny"  # types into a terminal
    assert ask(machine, level, "fcntl", 1, 1030) == "allow"
    assert ask(machine, level, "fcntl", 1, 8) == "deny"  # F_SETOWN
    assert ask(machine, level, "prctl", 15) == "allow"
    assert ask(machine, level, "prctl", 1) == "deny"  # PDEATHSIG


@pytest.mark.parametrize("machine", MACHINES)
def test_processes_only_where_asked_for(machine):
    assert ask(machine, 3, "clone", 0x11, processes=True) == "allow"
    assert ask(machine, 3, "execve", processes=True) == "allow"
    assert ask(machine, 3, "kill", 1, processes=True) == "allow"
    assert ask(machine, 3, "clone", 0x10000011, processes=True) == "deny"


@pytest.mark.parametrize(("machine", "level"), EVERY_LEVEL)
def test_every_other_number_is_denied(machine, level):
    program = Filter(level, machine=machine).for_process(PID)
    arch = AUDIT_ARCH[machine]
    known = set(NUMBERS[machine].values())
    for number in [n for n in range(600) if n not in known] + [0x3FFFFFFF]:
        assert verdict(program, number, arch=arch) == ERRNO | errno.EPERM, number


def test_another_machines_calls_kill():
    program = Filter(3, machine="x86_64").for_process(PID)
    assert verdict(program, 0, arch=0x40000003) == KILL  # 32 bits, by int 0x80
    assert verdict(program, 0x40000000, arch=AUDIT_ARCH["x86_64"]) == KILL  # x32


def test_unknown_machine():
    with pytest.raises(OSError, match="no system-call table for mips"):
        Filter(3, machine="mips")


def ask_command(machine, call, *args):
    numbers = {**NUMBERS[machine], **FORBIDDEN[machine], "socket": SOCKET[machine]}
    answer = verdict(
        CommandFilter(machine).program(), numbers[call], *args, arch=AUDIT_ARCH[machine]
    )
    names = {ALLOW: "allow", ERRNO | errno.EPERM: "deny", ERRNO | errno.ENOSYS: "absent"}
    return names[answer]


@pytest.mark.parametrize("machine", MACHINES)
def test_what_a_command_may_call(machine):
    """All calls that have a name here and are not forbidden."""
    special = {"clone3", "io_uring_setup"}
    for call in set(NUMBERS[machine]) - set(FORBIDDEN[machine]) - special:
        assert ask_command(machine, call) == "allow", call
    assert {ask_command(machine, call) for call in special} == {"absent"}
    assert {ask_command(machine, call) for call in FORBIDDEN[machine]} == {"deny"}


@pytest.mark.parametrize("machine", MACHINES)
def test_a_command_makes_no_namespaces(machine):
    assert ask_command(machine, "clone", 0x11) == "allow"  # fork
    assert ask_command(machine, "clone", 0x3D0F00) == "allow"  # a thread
    for namespace in (0x20000, 0x2000000, 0x10000000, 0x20000000, 0x40000000):
        assert ask_command(machine, "clone", namespace | 0x11) == "deny"


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(
    ("domain", "kind", "protocol", "answer"),
    [
        *[(1, 1, 0, "allow"), (1, 5, 0, "allow"), (2, 1, 0, "allow"), (2, 2, 17, "allow")],
        *[(10, 1 | 0o2004000, 6, "allow"), (16, 3, 0, "allow")],
        *[(2, 3, 1, "deny"), (2, 3, 0, "deny"), (10, 3, 255, "deny"), (2, 2, 1, "deny")],
        *[(2, 1, 132, "deny"), (2, 1, 262, "deny"), (16, 3, 12, "deny")],  # SCTP, MPTCP, netfilter
        *[(17, 3, 0, "deny"), (40, 1, 0, "deny"), (38, 5, 0, "deny"), (0, 1, 0, "deny")],
    ],
)
def test_the_sockets_of_a_command(machine, domain, kind, protocol, answer):
    assert ask_command(machine, "socket", domain, kind, protocol) == answer


@pytest.mark.parametrize("machine", MACHINES)
def test_a_command_types_into_no_terminal(machine):
    answers = [ask_command(machine, "ioctl", 0, n) for n in (0x5401, 0x5412, 0x541C, 0x5413)]
    assert answers == ["allow", "deny", "deny", "allow"]


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_newer_than_the_list_are_absent(machine):
    program = CommandFilter(machine).program()
    for number in (451, 462, 600, 0x3FFFFFFF):
        answer = verdict(program, number, arch=AUDIT_ARCH[machine])
        assert answer == ERRNO | errno.ENOSYS
    other = AUDIT_ARCH["aarch64" if machine == "x86_64" else "x86_64"]
    assert verdict(program, 0, arch=other) == KILL
    assert verdict(program, 0x40000000, arch=AUDIT_ARCH[machine]) == KILL

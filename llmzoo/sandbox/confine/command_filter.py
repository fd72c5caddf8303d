"""The system-call filter of a command that a user names: a list of forbidden calls.

A judged program has a list of allowed calls instead (seccomp.py). A command may be written in any language,
and its runtime needs most of the kernel: node makes memory executable, starts threads and processes, and
opens sockets. So everything is allowed except the calls that

* change or leave the confinement: mounts, roots, namespaces. Root in a user namespace of its own could
  try every bug of the kernel that needs privileges, so ``clone`` makes no namespaces, and ``clone3``,
  whose flags a filter cannot see, seems absent (the C library then uses ``clone``);
* read or change other processes: tracing, and their memory and descriptors;
* reach what namespaces do not isolate: the kernel's keyrings, the clock, modules, swap, quotas, the log,
  and sockets of other families than loopback needs. ``AF_VSOCK`` would reach the machine's host;
* have often had vulnerabilities, and are not used by ordinary programs: bpf, io_uring (runtimes do without),
  userfaultfd, perf events, raw sockets, rarer protocols, performance and memory policies;
* allocate memory that no limit counts: files without a file system, System V memory and messages.

A forbidden call fails with EPERM. Calls that are newer than this list fail with ENOSYS, as on an older
kernel. Call numbers of another machine kill the process.
"""

from __future__ import annotations

import errno

from .seccomp import (
    ALLOW,
    AND,
    ARGUMENTS,
    CLONE_NAMESPACES,
    DENY,
    ERRNO,
    JUMP_AT_LEAST,
    JUMP_EQUAL,
    LOAD,
    RETURN,
    Assembler,
    ranges,
)
from .syscalls import NUMBERS, parse_table

_NEWEST = 450  # the last call that this list considers (Linux 6.1)
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _DATAGRAM = 1, 2
_DEFAULT, _TCP, _UDP = 0, 6, 17  # protocols; 0 of netlink is the list of interfaces and routes
_TYPES_INTO_TERMINALS = (0x5412, 0x541C)  # TIOCSTI, TIOCLINUX
# clone3 and io_uring, for which runtimes have another way
_ABSENT = ("clone3", "io_uring_setup")

_X86_64 = """
mount 165  umount2 166  chroot 161  move_mount 429  open_tree 428  fsopen 430  fsconfig 431
fsmount 432  fspick 433  mount_setattr 442  pivot_root 155  setns 308  unshare 272  sethostname 170
setdomainname 171
ptrace 101  process_vm_readv 310  process_vm_writev 311  kcmp 312  pidfd_getfd 438
process_madvise 440
keyctl 250  add_key 248  request_key 249  kexec_load 246  kexec_file_load 320  init_module 175
finit_module 313  delete_module 176  create_module 174  query_module 178  get_kernel_syms 177
swapon 167  swapoff 168  reboot 169  acct 163  quotactl 179  quotactl_fd 443  syslog 103
settimeofday 164  clock_settime 227  clock_adjtime 305  adjtimex 159  iopl 172  ioperm 173
vhangup 153  nfsservctl 180  _sysctl 156
bpf 321  userfaultfd 323  perf_event_open 298  io_uring_enter 426  io_uring_register 427
open_by_handle_at 304  name_to_handle_at 303  fanotify_init 300  personality 135  mbind 237
set_mempolicy 238  migrate_pages 256  move_pages 279  set_mempolicy_home_node 450  modify_ldt 154
uselib 134  lookup_dcookie 212  sysfs 139  ustat 136  seccomp 317
memfd_create 319  memfd_secret 447  shmget 29  msgget 68
"""
_AARCH64 = """
mount 40  umount2 39  chroot 51  move_mount 429  open_tree 428  fsopen 430  fsconfig 431
fsmount 432  fspick 433  mount_setattr 442  pivot_root 41  setns 268  unshare 97  sethostname 161
setdomainname 162
ptrace 117  process_vm_readv 270  process_vm_writev 271  kcmp 272  pidfd_getfd 438
process_madvise 440
keyctl 219  add_key 217  request_key 218  kexec_load 104  kexec_file_load 294  init_module 105
finit_module 273  delete_module 106  swapon 224  swapoff 225  reboot 142  acct 89  quotactl 60
quotactl_fd 443  syslog 116  settimeofday 170  clock_settime 112  clock_adjtime 266  adjtimex 171
vhangup 58  nfsservctl 42
bpf 280  userfaultfd 282  perf_event_open 241  io_uring_enter 426  io_uring_register 427
open_by_handle_at 265  name_to_handle_at 264  fanotify_init 262  personality 92  mbind 235
set_mempolicy 237  migrate_pages 238  move_pages 239  set_mempolicy_home_node 450
lookup_dcookie 18  seccomp 277
memfd_create 279  memfd_secret 447  shmget 194  msgget 186
"""
FORBIDDEN = {"x86_64": parse_table(_X86_64), "aarch64": parse_table(_AARCH64)}
SOCKET = {"x86_64": 41, "aarch64": 198}


class CommandFilter(Assembler):
    """The filter of a command. Raises ``OSError`` on a machine whose call numbers are unknown."""

    def __init__(self, machine: str = ""):
        super().__init__(machine)
        numbers, forbidden = NUMBERS[self.machine], FORBIDDEN[self.machine]
        self._code += [
            (JUMP_AT_LEAST, 0, 1, _NEWEST + 1),
            (RETURN, 0, 0, ERRNO | errno.ENOSYS),
        ]
        for name in _ABSENT:
            self._report_absent(numbers[name])
        self._allow_masked(numbers["clone"], CLONE_NAMESPACES, 0)
        self._allow_none_of(numbers["ioctl"], 1, _TYPES_INTO_TERMINALS)
        self._allow_sockets(SOCKET[self.machine])
        self._allow_ranges(ranges(set(range(_NEWEST + 1)) - set(forbidden.values())))

    def program(self) -> bytes:
        """The filter as an array of ``struct sock_filter``."""
        return self._assemble()

    def _allow_sockets(self, number: int) -> None:
        """Allow sockets of AF_UNIX, TCP and UDP, and the netlink that lists interfaces."""
        domain, kind, protocol = (ARGUMENTS + 8 * n for n in range(3))
        allow = (RETURN, 0, 0, ALLOW)
        usual = [
            (LOAD, 0, 0, kind),
            (AND, 0, 0, 0xF),  # without SOCK_CLOEXEC and SOCK_NONBLOCK
            (JUMP_EQUAL, 2, 0, _STREAM),
            (JUMP_EQUAL, 1, 0, _DATAGRAM),
            DENY,
            (LOAD, 0, 0, protocol),
            (JUMP_EQUAL, 3, 0, _DEFAULT),
            (JUMP_EQUAL, 2, 0, _TCP),
            (JUMP_EQUAL, 1, 0, _UDP),
            DENY,
            allow,
        ]
        routes = [(LOAD, 0, 0, protocol), (JUMP_EQUAL, 1, 0, _DEFAULT), DENY, allow]
        self._match(
            number,
            [
                (LOAD, 0, 0, domain),
                (JUMP_EQUAL, 0, 1, _UNIX),
                allow,
                (JUMP_EQUAL, len(routes) + 3, 0, _INET),
                (JUMP_EQUAL, len(routes) + 2, 0, _INET6),
                (JUMP_EQUAL, 1, 0, _NETLINK),
                DENY,
                *routes,
                *usual,
            ],
        )

"""The numbers of the system calls that the filter names, by machine, from the Linux headers."""

from __future__ import annotations

_X86_64 = """
read 0  write 1  readv 19  writev 20  pread64 17  pwrite64 18  preadv 295  pwritev 296
preadv2 327  pwritev2 328  lseek 8  close 3  close_range 436  dup 32  dup2 33  dup3 292  pipe 22
pipe2 293  poll 7  ppoll 271  select 23  pselect6 270  epoll_create 213  epoll_create1 291
epoll_ctl 233  epoll_wait 232  epoll_pwait 281  eventfd2 290  eventfd 284  timerfd_create 283
timerfd_settime 286  timerfd_gettime 287  sendfile 40  sendto 44  recvfrom 45  shutdown 48
getsockopt 55  getsockname 51  getpeername 52  socketpair 53  brk 12  mmap 9  munmap 11  mremap 25
mprotect 10  madvise 28  msync 26  mincore 27  futex 202  futex_waitv 449  set_robust_list 273
get_robust_list 274  rseq 334  membarrier 324  sched_yield 24  sched_getaffinity 204
sched_getparam 143  sched_getscheduler 145  sched_get_priority_max 146  sched_get_priority_min 147
getcpu 309  clone 56  clone3 435  exit 60  exit_group 231  wait4 61  waitid 247
set_tid_address 218  rt_sigaction 13  rt_sigprocmask 14  rt_sigreturn 15  rt_sigpending 127
rt_sigtimedwait 128  rt_sigsuspend 130  sigaltstack 131  pause 34  restart_syscall 219  kill 62
tkill 200  tgkill 234  nanosleep 35  clock_nanosleep 230  clock_gettime 228  clock_getres 229
gettimeofday 96  time 201  times 100  getitimer 36  setitimer 38  alarm 37  timer_create 222
timer_settime 223  timer_gettime 224  timer_delete 226  timer_getoverrun 225  getpid 39
getppid 110  gettid 186  getuid 102  geteuid 107  getgid 104  getegid 108  getgroups 115
getresuid 118  getresgid 120  getpgrp 111  getpgid 121  getsid 124  getpriority 140  getrlimit 97
setrlimit 160  prlimit64 302  getrusage 98  sysinfo 99  uname 63  getrandom 318  getcwd 79
umask 95  arch_prctl 158  prctl 157  fstat 5  fstatfs 138  ftruncate 77  fallocate 285  fsync 74
fdatasync 75  flock 73  fcntl 72  ioctl 16  fadvise64 221  readahead 187  copy_file_range 326
open 2  openat 257  creat 85  openat2 437  getdents64 217  getdents 78  chdir 80  fchdir 81
mkdir 83  mkdirat 258  rmdir 84  unlink 87  unlinkat 263  rename 82  renameat 264  renameat2 316
stat 4  lstat 6  newfstatat 262  statx 332  access 21  faccessat 269  faccessat2 439  readlink 89
readlinkat 267  statfs 137  chmod 90  fchmod 91  fchmodat 268  utimensat 280  truncate 76  fork 57
vfork 58  execve 59  execveat 322  setpgid 109  setsid 112  io_uring_setup 425  seccomp 317
landlock_create_ruleset 444  landlock_add_rule 445  landlock_restrict_self 446  mount_setattr 442
pivot_root 155  unshare 272  pidfd_open 434
"""
_AARCH64 = """
read 63  write 64  readv 65  writev 66  pread64 67  pwrite64 68  preadv 69  pwritev 70
preadv2 286  pwritev2 287  lseek 62  close 57  close_range 436  dup 23  dup3 24  pipe2 59
ppoll 73  pselect6 72  epoll_create1 20  epoll_ctl 21  epoll_pwait 22  eventfd2 19
timerfd_create 85  timerfd_settime 86  timerfd_gettime 87  sendfile 71  sendto 206  recvfrom 207
shutdown 210  getsockopt 209  getsockname 204  getpeername 205  socketpair 199  brk 214  mmap 222
munmap 215  mremap 216  mprotect 226  madvise 233  msync 227  mincore 232  futex 98
futex_waitv 449  set_robust_list 99  get_robust_list 100  rseq 293  membarrier 283
sched_yield 124  sched_getaffinity 123  sched_getparam 121  sched_getscheduler 120
sched_get_priority_max 125  sched_get_priority_min 126  getcpu 168  clone 220  clone3 435  exit 93
exit_group 94  wait4 260  waitid 95  set_tid_address 96  rt_sigaction 134  rt_sigprocmask 135
rt_sigreturn 139  rt_sigpending 136  rt_sigtimedwait 137  rt_sigsuspend 133  sigaltstack 132
restart_syscall 128  kill 129  tkill 130  tgkill 131  nanosleep 101  clock_nanosleep 115
clock_gettime 113  clock_getres 114  gettimeofday 169  times 153  getitimer 102  setitimer 103
timer_create 107  timer_settime 110  timer_gettime 108  timer_delete 111  timer_getoverrun 109
getpid 172  getppid 173  gettid 178  getuid 174  geteuid 175  getgid 176  getegid 177
getgroups 158  getresuid 148  getresgid 150  getpgid 155  getsid 156  getpriority 141
getrlimit 163  setrlimit 164  prlimit64 261  getrusage 165  sysinfo 179  uname 160  getrandom 278
getcwd 17  umask 166  prctl 167  fstat 80  fstatfs 44  ftruncate 46  fallocate 47  fsync 82
fdatasync 83  flock 32  fcntl 25  ioctl 29  readahead 213  copy_file_range 285  openat 56
openat2 437  getdents64 61  chdir 49  fchdir 50  mkdirat 34  unlinkat 35  renameat 38
renameat2 276  newfstatat 79  statx 291  faccessat 48  faccessat2 439  readlinkat 78  statfs 43
fchmod 52  fchmodat 53  utimensat 88  truncate 45  execve 221  execveat 281  setpgid 154
setsid 157  io_uring_setup 425  seccomp 277  landlock_create_ruleset 444  landlock_add_rule 445
landlock_restrict_self 446  mount_setattr 442  pivot_root 41  unshare 97  pidfd_open 434
"""


def parse_table(text: str) -> dict[str, int]:
    """The pairs of a name and a number in a text."""
    words = text.split()
    return {name: int(number) for name, number in zip(words[::2], words[1::2], strict=True)}


NUMBERS = {"x86_64": parse_table(_X86_64), "aarch64": parse_table(_AARCH64)}

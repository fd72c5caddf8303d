"""What this machine offers for confinement."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

from llmzoo.sandbox.confine import kernel

CGROUPS = Path("/sys/fs/cgroup")
_NEW_USER_NAMESPACE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print("" if libc.unshare(0x10000000) == 0 else os.strerror(ctypes.get_errno()))
"""


def machine_facts() -> dict[str, str]:
    """What the kernel offers, each in a few words."""
    return {
        "kernel": f"{platform.system()} {platform.release()} {platform.machine()}",
        "user": "root" if os.geteuid() == 0 else "an ordinary user",
        "user namespaces": _user_namespaces(),
        "landlock": _landlock(),
        "seccomp": _seccomp(),
        "cgroups v2": _cgroups(),
    }


def _user_namespaces() -> str:
    """Whether a process of this user can make one, tried in another process."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _NEW_USER_NAMESPACE], capture_output=True, text=True
    )
    refusal = done.stdout.strip() or done.stderr.strip()[-100:]
    return f"not available: {refusal}" if refusal else "available"


def _landlock() -> str:
    try:
        return f"ABI {kernel.landlock_version()}"
    except OSError as error:
        return f"not available: {error.strerror or error}"


def _seccomp() -> str:
    try:
        actions = Path("/proc/sys/kernel/seccomp/actions_avail").read_text().split()
    except OSError as error:
        return f"not available: {error.strerror}"
    return "available" if "errno" in actions else "not available: no filters"


def _cgroups() -> str:
    """Whether there is a hierarchy of version 2, and whether this process may write its own group."""
    if not (CGROUPS / "cgroup.controllers").exists():
        return "not available: no hierarchy of version 2"
    own = Path("/proc/self/cgroup").read_text().rpartition("0::")[2].split("\n")[0]
    writable = os.access(CGROUPS / own.lstrip("/"), os.W_OK)
    return "available, and writable" if writable else "available, but not writable"

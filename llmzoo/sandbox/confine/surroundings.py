"""What the zygote finds out about the machine and its user, and how it tidies up after a run."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

from . import library


def preload(names: list[str]) -> dict[str, Any]:
    """Import what programs are likely to want; what is not installed is left out and named."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)  # a fork does not draw a new seed here
    return {"not_installed": missing} if missing else {}


def maps_other_users() -> bool:
    """Whether this user namespace knows more users than this one: only then can another be become."""
    with open("/proc/self/uid_map") as file:
        lines = file.read().splitlines()
    return len(lines) > 1 or int(lines[0].split()[2]) > 1


def reachable(folder: str, user: int) -> bool:
    """Whether ``user`` may read the library and reach ``folder``: not where Python lies in a home."""
    os.seteuid(user)
    try:
        for path in (*library.folders(), os.path.dirname(folder)):
            os.stat(path)
        return True
    except OSError:
        return False
    finally:
        os.seteuid(0)


def threads_of_user() -> int:
    """How many threads this user runs now: they count against its limit of processes."""
    total = 0
    try:
        for entry in os.scandir("/proc"):
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                total += len(os.listdir(f"{entry.path}/task"))
    except OSError:
        pass
    return total


def outermost(paths: list[str]) -> list[str]:
    """Without paths that lie below others of the list."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{k}/") for k in kept):
            kept.append(path)
    return kept


def empty(folder: str) -> bool:
    """Remove all that is in a folder, also what was made deep or unreadable on purpose."""
    for _ in range(2):
        for path, folders, files in os.walk(folder, topdown=False):
            for name in files:
                os.unlink(os.path.join(path, name))
            for name in folders:
                inner = os.path.join(path, name)
                if os.path.islink(inner):
                    os.unlink(inner)
                    continue
                os.chmod(inner, 0o700)
                os.rmdir(inner)
        if not os.listdir(folder):
            return True
    return False

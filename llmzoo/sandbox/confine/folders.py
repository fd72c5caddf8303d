"""The temporary folder of each worker, and the removal of folders that killed processes left.

A killed process cannot remove its workers' folders. The next process that uses the sandbox does.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from functools import cache
from pathlib import Path

_PREFIX = "llmzoo-sandbox-"
_NAME = re.compile(rf"{_PREFIX}(\d+)-\w+")
_SETTLED_S = 60.0  # a younger folder may not be locked yet


class Folder:
    """A new folder. It is locked until it is closed or its process ends."""

    def __init__(self) -> None:
        import fcntl  # does not exist on Windows, where this package can still be imported

        _once_remove_abandoned()
        self.path = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
        self._lock = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)

    def close(self, *, remove: bool) -> None:
        """Unlock the folder, and ``remove`` it."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)


def remove_abandoned() -> None:
    """Remove the folders whose process has ended.

    The process id alone proves nothing if two pid namespaces share the folder, so the lock is checked
    too.
    """
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        name = _NAME.fullmatch(path.name)
        if name is None or Path(f"/proc/{name[1]}").exists():
            continue
        with contextlib.suppress(OSError, RecursionError):
            _remove_unlocked(path)


def _remove_unlocked(path: Path) -> None:
    import fcntl

    facts = path.lstat()
    ours = os.geteuid() in (0, facts.st_uid)
    settled = time.time() - facts.st_mtime > _SETTLED_S
    if not (ours and settled and stat.S_ISDIR(facts.st_mode)):
        return
    lock = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(path)
    finally:
        os.close(lock)


@cache
def _once_remove_abandoned() -> None:
    remove_abandoned()

"""What an attack may go for: secrets, files and listeners outside its sandbox."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

from llmzoo.sandbox.attacks.world import HOME, MQUEUE

PLACES = ("/tmp", "/var/tmp", "/dev/shm")


def new_secret() -> str:
    return f"secret-{secrets.token_hex(12)}"


def create_home(uid: int, gid: int) -> str:
    """A home folder with a private key; returns what the key says."""
    key = new_secret()
    folder = Path(HOME) / ".ssh"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "id_ed25519").write_text(key)
    for path in (Path(HOME), folder, folder / "id_ed25519"):
        os.chown(path, uid, gid)
    return key


class Bait:
    """Made for one attack, owned by the user who runs it, and looked at again when it is over."""

    def __init__(self, uid: int, gid: int) -> None:
        self.mark = f"mark{secrets.token_hex(5)}"  # fits the 15 characters of a process name
        self.key = int(self.mark[4:11], 16) | 1  # of a System V object
        self.secret = new_secret()
        self.folder = Path(tempfile.mkdtemp(prefix="outside-"))
        self.canary = self.folder / "canary"
        self.canary.write_text(self.secret)
        self.canary.chmod(0o600)
        self.tcp = _bind_socket(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = _bind_socket(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self._socket = f"/tmp/socket-{self.mark[4:]}"
        self.path = _bind_socket(socket.AF_UNIX, socket.SOCK_STREAM, self._socket)
        self.abstract = _bind_socket(socket.AF_UNIX, socket.SOCK_STREAM, f"\0{self.mark}")
        for path in (self.folder, self.canary, self._socket):
            os.chown(path, uid, gid)
        self.before = self._look()

    def header(self, parent: int) -> str:
        """The names that a harm finds defined."""
        return f"""
CANARY, OUTSIDE, HOME = {str(self.canary)!r}, {str(self.folder)!r}, {HOME!r}
PORT, UDP_PORT = {self.tcp.getsockname()[1]}, {self.udp.getsockname()[1]}
SOCKET, ABSTRACT = {self._socket!r}, {(chr(0) + self.mark)!r}
PARENT, MARK, KEY = {parent}, {self.mark!r}, {self.key}
LEAKED = []
def leak(text):
    import os
    LEAKED.append(str(text)[-300:])
    print(text, flush=True)
    os.write(1, str(text).encode())
"""

    def contacted_listeners(self) -> str:
        """The listeners that were contacted, if any."""
        named = {
            "TCP": self.tcp,
            "UDP": self.udp,
            "unix": self.path,
            "abstract unix": self.abstract,
        }
        ready, _, _ = select.select(list(named.values()), [], [], 0)
        return ", ".join(name for name, listener in named.items() if listener in ready)

    def changed_files(self) -> str:
        """What is different in the folder."""
        after = self._look()
        different = {p for p in self.before.keys() | after if self.before.get(p) != after.get(p)}
        return ", ".join(sorted(os.path.relpath(path, self.folder) for path in different))

    def leftover_files(self, within_s: float = 0.0) -> str:
        """Files with the mark in any writable place that still exist after ``within_s`` seconds."""
        end = time.monotonic() + within_s
        while (found := self._find_marked()) and time.monotonic() < end:
            time.sleep(0.02)
        return ", ".join(found)

    def _find_marked(self) -> list[str]:
        result = []
        for root in (*PLACES, HOME, os.path.expanduser("~"), MQUEUE):
            for folder, folders, files in os.walk(root):
                if self.folder != Path(folder) and "site-packages" not in folders:
                    result += [f"{folder}/{name}" for name in folders + files if self.mark in name]
                folders[:] = [name for name in folders if not os.path.ismount(f"{folder}/{name}")]
        return sorted(set(result))

    def close(self) -> None:
        for listener in (self.tcp, self.udp, self.path, self.abstract):
            listener.close()
        for path in (self._socket, *self._find_marked()):
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                Path(path).unlink(missing_ok=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _look(self) -> dict[str, object]:
        """All that `stat` says of each file but the time it was last read, and what is in it."""
        seen: dict[str, object] = {}
        for path in (self.folder, *self.folder.rglob("*")):
            facts = os.lstat(path)
            content = path.read_bytes()[:4096] if path.is_file() and not path.is_symlink() else b""
            seen[str(path)] = (
                facts.st_mode,
                facts.st_uid,
                facts.st_size if path != self.folder else 0,
                facts.st_nlink,
                facts.st_mtime_ns,
                tuple(os.listxattr(path, follow_symlinks=False)),
                content,
            )
        return seen


def _bind_socket(family: int, kind: int, address: Any) -> socket.socket:
    sock = socket.socket(family, kind)
    sock.bind(address)
    if kind == socket.SOCK_STREAM:
        sock.listen(4)
    return sock

"""The world that attacks run in, so that one that succeeds hurts nobody.

Own processes, network, IPC, host name and mounts; /tmp, /var/tmp, /dev/shm and the home folder are
empty memory file systems in which only this package and its Python are still to be seen. What
attacks leave behind in them is found, and gone with the world.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from llmzoo.sandbox.attacks import namespaces as ns

PACKAGES = Path(__file__).resolve().parents[3]  # the folder that holds llmzoo
MQUEUE = "/tmp/mqueue"
HOME = "/tmp/home"
NOBODY = 65534


def build() -> None:
    """Enter it. The caller goes on in a child, which is pid 1; the parent waits and exits.

    Raises OSError where the machine lets this user have no namespaces.
    """
    own = ns.NEWNS | ns.NEWPID | ns.NEWNET | ns.NEWIPC | ns.NEWUTS
    if os.geteuid() != 0:
        ns.unshare_user(f"0 {os.geteuid()} 1", f"0 {os.getegid()} 1")
    ns.unshare(own)
    child = os.fork()
    if child:
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)
    ns.die_with_parent()
    ns.mount("none", "/", flags=ns.REC | ns.PRIVATE)
    ns.mount("proc", "/proc", "proc", ns.NOSUID | ns.NODEV)
    _cover_folders()
    os.makedirs(MQUEUE)
    ns.mount("mqueue", MQUEUE, "mqueue")
    ns.bring_up_loopback()
    Path("/tmp/resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    if os.path.exists("/etc/resolv.conf"):
        ns.mount("/tmp/resolv.conf", "/etc/resolv.conf", flags=ns.BIND)


def _cover_folders() -> None:
    keep = {
        PACKAGES,
        Path(sys.prefix),
        Path(sys.base_prefix),
        Path(sys.executable).resolve().parent,
    }
    keep |= {Path(entry).resolve() for entry in sys.path if os.path.isdir(entry)}
    closed = {folder for path in keep if (folder := _first_closed(path)) is not None}
    folders = {Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"), Path.home()} | closed
    folders = {folder for folder in folders if folder.is_dir()} - {Path("/")}
    for folder in sorted(one for one in folders if not folders & set(one.parents)):
        _cover(folder, {path for path in keep - folders if folder in path.parents})


def _cover(folder: Path, keep: set[Path]) -> None:
    outer = {path for path in keep if not keep & set(path.parents)}
    held = [(path, os.open(path, os.O_PATH)) for path in sorted(outer)]
    mode = "1777" if folder.parts[1] in ("tmp", "var", "dev") else "755"
    ns.mount("tmpfs", str(folder), "tmpfs", ns.NOSUID | ns.NODEV, f"mode={mode},size=1g")
    for path, descriptor in held:
        path.mkdir(parents=True)
        ns.mount(f"/proc/self/fd/{descriptor}", str(path), flags=ns.BIND | ns.REC)
        os.close(descriptor)


def _first_closed(path: Path) -> Path | None:
    """The topmost folder above ``path`` that others may not pass through, as /root often is."""
    above = (folder for folder in reversed(path.parents) if not folder.stat().st_mode & 1)
    return next(above, None)

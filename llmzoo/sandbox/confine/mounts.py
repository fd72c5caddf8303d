"""The root folder of a confined process: the paths that it may read, a scratch folder, and five devices.

The paths that it may read are mounted read-only. See mount_namespaces(7), pivot_root(2).
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable, Mapping, Sequence

from .kernel import DEVICES, libc, raise_on_error, system_call

_MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND = 2, 4, 8, 32, 4096
_MS_RDONLY, _MS_REC, _MS_PRIVATE = 1, 16384, 1 << 18
_MNT_DETACH = 2
_MOUNT_ATTR_RDONLY, _MOUNT_ATTR_NOSUID, _MOUNT_ATTR_NODEV = 1, 2, 4
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_STREAMS = ("stdin", "stdout", "stderr")
# in /dev of a command
_COMMAND_LINKS = {
    "fd": "/proc/self/fd",
    "stdin": "/proc/self/fd/0",
    "stdout": "/proc/self/fd/1",
    "stderr": "/proc/self/fd/2",
    "shm": "/tmp",
}


def _mount(source: str, target: str, kind: str, flags: int, data: str = "") -> None:
    arguments = [os.fsencode(a) or None for a in (source, target, kind)]
    raise_on_error(
        libc.mount(*arguments, ctypes.c_ulong(flags), data.encode() or None), f"mount {target}"
    )


def _make_read_only(path: str, *, devices: bool = False) -> None:
    """Make all mounts at and below a path read-only, without set-user-id files.

    Device files work only with ``devices``.
    """
    flags = _MOUNT_ATTR_RDONLY | _MOUNT_ATTR_NOSUID | _MOUNT_ATTR_NODEV * (not devices)
    attributes = struct.pack("QQQQ", flags, 0, 0, 0)
    where = (_AT_FDCWD, os.fsencode(path), _AT_RECURSIVE)
    system_call("mount_setattr", *where, attributes, len(attributes))


def build_root(
    root: str,
    visible: Sequence[str],
    hidden: Iterable[str],
    packages: Sequence[str],
    scratch_mb: int,
    *,
    run_files: bool,
) -> str:
    """Make the empty folder ``root`` the root, and return the path of its scratch folder.

    The root contains the ``visible`` paths, read-only. ``hidden`` folders inside these are empty except for
    ``packages``. The root also has five devices, and an empty scratch folder of ``scratch_mb`` megabytes.
    Needs a new mount namespace.
    """
    _mount_root(root)
    for path in visible:
        _bind_read_only(root, path)
    for folder in hidden:
        if os.path.isdir(root + folder):
            _mount("tmpfs", root + folder, "tmpfs", 0, "size=64k,mode=755")
            for path in packages:
                if path.startswith(f"{folder}/"):
                    _bind_read_only(root, path)
            _make_read_only(root + folder)
    _mount_devices(root)
    for name in _STREAMS:
        with open(f"{root}/dev/{name}", "x"):
            pass  # numpy checks that a path exists before it opens it, see streams.py
    scratch = scratch_path(visible)
    _mount_scratch(root + scratch, scratch_mb, 0 if run_files else _MS_NOEXEC)
    _pivot_root(root)
    os.chdir(scratch)
    return scratch


def build_command_root(
    root: str, visible: Sequence[str], files: Mapping[str, str], scratch_mb: int
) -> str | None:
    """Make the empty folder ``root`` the root of a command.

    Returns the error if ``/proc`` cannot be mounted, otherwise None. The root contains the ``visible`` paths
    (read-only, links as links), small ``files`` with their texts, five devices, and an empty ``/tmp`` of
    ``scratch_mb`` megabytes, which is also ``/dev/shm``. ``/proc`` shows the processes of this pid namespace,
    and nothing else of the machine. Needs new mount and pid namespaces, and a process inside both.
    ``visible`` paths may be below ``/tmp``.
    """
    _mount_root(root)
    _mount_scratch(f"{root}/tmp", scratch_mb, 0)
    for path in visible:
        if os.path.islink(path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(os.readlink(path), root + path)
        else:
            _bind_read_only(root, path)
    _mount_devices(root)
    for name, target in _COMMAND_LINKS.items():
        os.symlink(target, f"{root}/dev/{name}")
    for path, text in files.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with open(root + path, "x") as file:
            file.write(text)
    os.mkdir(f"{root}/proc")
    missing = None
    try:
        flags = _MS_NOSUID | _MS_NODEV | _MS_NOEXEC
        _mount("proc", f"{root}/proc", "proc", flags, "subset=pid")
    except OSError as error:  # a container hides parts of its own /proc
        missing = str(error)
    _pivot_root(root)
    return missing


def _mount_root(root: str) -> None:
    """Mount an empty file system on ``root``, in this mount namespace only."""
    _mount("", "/", "", _MS_REC | _MS_PRIVATE)
    _mount("tmpfs", root, "tmpfs", _MS_NOSUID, "size=1m,nr_inodes=4096,mode=755")


def _mount_devices(root: str) -> None:
    os.makedirs(f"{root}/dev", exist_ok=True)
    for name in DEVICES:
        with open(f"{root}/dev/{name}", "x"):
            pass
        _mount(f"/dev/{name}", f"{root}/dev/{name}", "", _MS_BIND)
        # programs can write to the device, but not change the time stamps and the mode of the host's file
        _make_read_only(f"{root}/dev/{name}", devices=True)


def _mount_scratch(path: str, megabytes: int, flags: int) -> None:
    os.mkdir(path)
    options = f"size={megabytes}m,nr_inodes={max(4096, megabytes * 64)},mode=1777"
    _mount("tmpfs", path, "tmpfs", _MS_NOSUID | _MS_NODEV | flags, options)


def _pivot_root(root: str) -> None:
    """Make ``root`` the root, and unmount the old root."""
    os.mkdir(f"{root}/old")
    system_call("pivot_root", os.fsencode(root), os.fsencode(f"{root}/old"))
    os.chdir("/")
    raise_on_error(libc.umount2(b"/old", _MNT_DETACH), "umount /old")
    os.rmdir("/old")
    _mount("", "/", "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID)


def _bind_read_only(root: str, path: str) -> None:
    """Mount a path below ``root``, read-only."""
    target = root + path
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "x"):
            pass
    _mount(path, target, "", _MS_BIND | _MS_REC)
    _make_read_only(target)


def scratch_path(visible: Iterable[str]) -> str:
    """``/tmp``, or another path if Python itself is below ``/tmp``."""
    taken = any(f"{path}/".startswith("/tmp/") for path in visible)
    return "/scratch" if taken else "/tmp"

"""The files of a run folder, which may come from somebody else.

Whatever is read must be a plain file: a link could name a private file, a pipe or a device would
never end. Whatever is written is written to a new file beside it, which then takes its name, so
that it is there whole or not at all, and a link is replaced instead of followed. What a kill leaves
of that begins with :data:`WRITING`.
"""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from llmzoo.errors import CheckpointError

WRITING = ".writing_"
LARGEST = 64 * 2**20  # bytes of a file with one JSON object
# what a disk or its permissions refuse
REFUSED = {
    getattr(errno, name)
    for name in ("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "ENOTDIR", "EISDIR")
}


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A plain file to read. Raises :class:`CheckpointError` for anything else, but
    ``FileNotFoundError`` where there is nothing."""
    check_plain(path)
    # not to wait for the writer of a pipe that has taken the file's name meanwhile
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_bytes(path: Path, *, most: int = LARGEST) -> bytes:
    """A plain file of at most ``most`` bytes; raises as :func:`opened` does."""
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise CheckpointError(f"{path} is larger than {most:,} bytes, and is not read")
    return data


def read_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a plain file; None where there is no file.

    Raises :class:`CheckpointError` for a file that holds anything else.
    """
    try:
        value = json.loads(read_bytes(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} cannot be read: it holds no JSON object")
    return value


def check_plain(path: Path) -> None:
    """Raise :class:`CheckpointError` unless this is a file, and no link or device.

    Raises ``FileNotFoundError`` where there is nothing.
    """
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        raise CheckpointError(
            f"{path} is a link, and links in a run folder are not followed: put what it names there"
        )
    if not stat.S_ISREG(mode):
        raise CheckpointError(f"{path} is no plain file")


def check_folder(folder: Path) -> None:
    """Raise :class:`CheckpointError` unless this is a folder, and no link to one."""
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        check_plain(folder)
        raise CheckpointError(f"{folder} is no folder")


def check_tree(folder: Path) -> None:
    """Raise :class:`CheckpointError` unless a folder holds plain files and such folders only."""
    check_folder(folder)
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            check_tree(path)
        else:
            check_plain(path)


def check_indexes(folder: Path) -> None:
    """Raise :class:`CheckpointError` for an index of weights that names files outside its folder.

    Links are followed, which the hub's cache is made of.
    """
    for index in filter(Path.is_file, sorted(folder.rglob("*.index.json"))):
        try:
            names = set(json.loads(index.read_bytes())["weight_map"].values())
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            RecursionError,
        ) as error:
            raise CheckpointError(f"{index} cannot be read: {error!r:.200}") from error
        for name in names:
            if not isinstance(name, str) or not name or name in (".", "..") or {*"/\\\0"} & {*name}:
                raise CheckpointError(
                    f"{index} names {name!r:.200}: weights are files beside the index, without a folder"
                )


@contextmanager
def rewritten(path: Path) -> Iterator[BinaryIO]:
    """A new file to write, which takes the name ``path`` when all of it is there."""
    partial = path.with_name(f"{WRITING}{path.name}_{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:  # a new file, never one that a link names
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write(path: Path, content: str | bytes) -> None:
    """Have a file hold this and nothing else: all of it, or what was there before."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    for last in (False, True):
        try:
            with rewritten(path) as file:
                file.write(data)
            return
        except FileNotFoundError:  # a run that starts took it for what a kill has left
            if last or not path.parent.is_dir():
                raise


def append(path: Path) -> TextIO:
    """A plain file, or a new one, opened to write at its end."""
    if path.is_symlink() or path.exists():
        check_plain(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "a", encoding="utf-8")


def remove(path: Path) -> None:
    """Remove a file, a folder with all that is in it, or a link but not what it names."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def fresh_folder(path: Path) -> None:
    """Make an empty folder, in the place of whatever has its name."""
    remove(path)
    path.mkdir(parents=True)

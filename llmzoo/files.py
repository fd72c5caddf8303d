"""Reads and writes the files of a run folder, which may come from somebody else.

Only plain files are read: a link could name a private file, and a pipe or device would never end.
Files are written under a temporary name and renamed when complete, so they are there whole or not
at all, and a link is replaced instead of followed. Temporary names begin with :data:`TEMPORARY_PREFIX`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from llmzoo.errors import CheckpointError

TEMPORARY_PREFIX = ".writing_"
MAX_JSON_BYTES = (
    16 * 2**20
)  # of a JSON file or line; as Python objects it takes up to 27 times that
MAX_MODEL_JSON_BYTES = (
    64 * 2**20
)  # bytes of a JSON file of a model: tokenizers have up to half of that
MAX_EPISODE_BYTES = 128 * 2**20  # bytes of a line that holds an episode with its tokens
MAX_LOG_BYTES = 512 * 2**20  # bytes of a file of lines that is read as a whole
# errors of full disks, missing permissions, and files where folders should be
WRITE_ERRORS = {
    getattr(errno, name)
    for name in (
        *("ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM"),
        *("ENOTDIR", "EISDIR", "EEXIST", "ENAMETOOLONG"),
    )
}


def unwritable_reason(path: Path) -> str:
    """Why nothing can be written at this path, in a folder that may not exist yet; "" if it can."""
    ancestor = path
    while not os.path.lexists(ancestor) and ancestor != ancestor.parent:
        ancestor = ancestor.parent
    if not ancestor.is_dir():
        return f"{ancestor} is no folder"
    return "" if os.access(ancestor, os.W_OK | os.X_OK) else f"{ancestor} cannot be written to"


def user_cache() -> Path:
    """The folder of llmzoo in the user's cache; ``XDG_CACHE_HOME`` moves it."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llmzoo"


@contextmanager
def open_plain_file(path: Path) -> Iterator[BinaryIO]:
    """Open a plain file for reading.

    Raises :class:`CheckpointError` for anything else, and ``FileNotFoundError`` for a missing file.
    """
    check_plain_file(path)
    # O_NONBLOCK: a pipe may have replaced the file meanwhile, and would wait for its writer
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        yield file


def read_json_object(path: Path) -> dict[str, Any] | None:
    """The JSON object in a plain file; None if there is no file.

    Raises :class:`CheckpointError` for a file of other content, or of more than ``MAX_JSON_BYTES`` bytes.
    """
    try:
        with open_plain_file(path) as file:
            data = file.read(MAX_JSON_BYTES + 1)
        if len(data) > MAX_JSON_BYTES:
            raise CheckpointError(
                f"{path} is larger than {MAX_JSON_BYTES:,} bytes, and is not read"
            )
        value = json.loads(data)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"{path} cannot be read: {error}") from error
    if not isinstance(value, dict):
        raise CheckpointError(f"{path} cannot be read: it holds no JSON object")
    return value


def check_plain_file(path: Path) -> None:
    """Raise :class:`CheckpointError` for a link or a device, ``FileNotFoundError`` for nothing."""
    mode = os.lstat(path).st_mode
    if stat.S_ISLNK(mode):
        raise CheckpointError(
            f"{path} is a link, and links in a run folder are not followed: copy its target there"
        )
    if not stat.S_ISREG(mode):
        raise CheckpointError(f"{path} is no plain file")


def check_folder(folder: Path) -> None:
    """Raise :class:`CheckpointError` unless this is a folder and not a link to one."""
    if not stat.S_ISDIR(os.lstat(folder).st_mode):
        check_plain_file(folder)
        raise CheckpointError(f"{folder} is no folder")


def check_tree(folder: Path) -> None:
    """Raise :class:`CheckpointError` unless a folder contains only plain files and folders."""
    check_folder(folder)
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            check_tree(path)
        else:
            check_plain_file(path)


def check_weight_indexes(folder: Path) -> None:
    """Raise :class:`CheckpointError` for an index of weights that names files outside its folder.

    Links are followed, because the hub's cache consists of links.
    """
    for index in filter(Path.is_file, sorted(folder.rglob("*.index.json"))):
        try:
            if index.stat().st_size > MAX_MODEL_JSON_BYTES:
                raise ValueError(f"it is larger than {MAX_MODEL_JSON_BYTES:,} bytes")
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


def iter_lines(
    path: Path, *, keep_all: bool = False, max_line_bytes: int = MAX_JSON_BYTES
) -> Iterator[bytes]:
    """The lines of a file that are not empty; none if the file does not exist.

    A last line without a line break is skipped: it is still being written, or was truncated.
    ``keep_all``: the caller keeps all lines. Raises :class:`CheckpointError` for a line of more than
    ``max_line_bytes`` bytes, and for a file of more than ``MAX_LOG_BYTES`` bytes that is kept as a whole.
    """
    try:
        with open_plain_file(path) as file:
            if keep_all and os.fstat(file.fileno()).st_size > MAX_LOG_BYTES:
                raise CheckpointError(
                    f"{path} is larger than {MAX_LOG_BYTES:,} bytes, and is not read"
                )
            for line in iter_bounded_lines(file, path, max_line_bytes):
                if line.endswith(b"\n") and line.strip():
                    yield line
    except FileNotFoundError:
        return


def iter_bounded_lines(
    file: BinaryIO, path: Path, max_line_bytes: int = MAX_JSON_BYTES
) -> Iterator[bytes]:
    """The lines of an open file; raises :class:`CheckpointError` for one of more than ``max_line_bytes`` bytes."""
    while line := file.readline(max_line_bytes + 1):
        if len(line) > max_line_bytes:
            raise CheckpointError(
                f"{path} has a line of more than {max_line_bytes:,} bytes, and is not read further"
            )
        yield line


@contextmanager
def atomic_writer(path: Path) -> Iterator[BinaryIO]:
    """A new file to write, which is renamed to ``path`` when it is complete."""
    partial = path.with_name(f"{TEMPORARY_PREFIX}{path.name}_{secrets.token_hex(4)}")
    try:
        with partial.open("xb") as file:  # a new file, never one that a link names
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write(path: Path, content: str | bytes) -> None:
    """Replace the content of a file; after a crash it has either the new or the old content."""
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    for is_last_attempt in (False, True):
        try:
            with atomic_writer(path) as file:
                file.write(data)
            return
        except FileNotFoundError:  # a starting run removed it as the leftover of a killed run
            if is_last_attempt or not path.parent.is_dir():
                raise


def open_for_append(path: Path) -> TextIO:
    """Open a plain file for appending; create it if needed."""
    if path.is_symlink() or path.exists():
        check_plain_file(path)
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, 0o666), "a", encoding="utf-8")


def remove(path: Path) -> None:
    """Remove a file, a folder with its contents, or a link without its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def recreate_folder(path: Path) -> None:
    """Make an empty folder; remove whatever had its name."""
    remove(path)
    path.mkdir(parents=True)


@contextmanager
def create_folder(path: Path) -> Iterator[Path]:
    """A folder to fill, which becomes ``path`` if no error is raised, and is removed otherwise.

    ``path`` must be new, or an empty folder.
    """
    partial = path.with_name(f"{TEMPORARY_PREFIX}{path.name}")
    recreate_folder(partial)
    try:
        yield partial
        partial.replace(path)
    except BaseException:
        remove(partial)
        raise


def hash_file(path: Path) -> str:
    """The SHA-256 of a plain file, in hexadecimal digits."""
    digest = hashlib.sha256()
    with open_plain_file(path) as file:
        while block := file.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def dump_json(value: Any) -> str:
    """A value as JSON, whatever it holds: arrays and tuples become lists, keys texts, and what has no
    JSON form its ``repr``."""
    try:
        return json.dumps(value, default=_json_default)
    except TypeError:  # a key without a JSON form
        return json.dumps(_with_string_keys(value), default=_json_default)


def _with_string_keys(value: Any) -> Any:
    """A value whose mappings have texts for keys."""
    if isinstance(value, Mapping):
        return {str(key): _with_string_keys(item) for key, item in value.items()}
    return (
        [_with_string_keys(item) for item in value] if isinstance(value, (list, tuple)) else value
    )


def _json_default(value: Any) -> Any:
    """The JSON form of a value that JSON does not know."""
    if type(value).__module__ == "numpy":
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else repr(value)

"""The file tools: a folder of texts that belongs to an episode and is held in memory.

The folder is an immutable mapping from path to text. It is not on disk, so no path or link can lead out
of it; a path that tries is an error all the same.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.toolbox import MAX_REPLY_CHARS, Tool, ToolError, ToolReply, stateful
from llmzoo.errors import ConfigError

Folder = Mapping[str, str]  # path -> text

GROUP = "files"
MAX_FILES = 100
MAX_BYTES = 256 * 1024  # of all files together, as UTF-8
MAX_PATH_CHARS = 200
MAX_PART_CHARS = 100  # of a name between two slashes
_MAX_SHOWN_CHARS = MAX_REPLY_CHARS - 100  # of a file, beside the line that says how to read on


@stateful(group=GROUP, initial={})
def list_files(state: Folder, folder: str = ".") -> ToolReply:
    """List the files of a folder and of the folders in it, with their sizes.

    Args:
        folder: path of a folder; "." is the whole working folder
    """
    inside = normalize_path(folder)
    paths = [path for path in sorted(state) if not inside or _is_inside(path, inside)]
    if not paths and inside in state:
        raise ToolError(f"{inside!r} is a file, not a folder")
    if not paths and inside:
        raise ToolError(f"there is no folder {inside!r}")
    lines = [f"{path} ({len(state[path])} characters)" for path in paths]
    return ToolReply("\n".join(lines) or "The folder is empty.", state=state)


@stateful(group=GROUP, initial={})
def read_file(state: Folder, path: str, first_line: int = 1) -> ToolReply:
    """Read a text file. Of a long file a part is shown, and from which line to read on.

    Args:
        path: the file, such as "notes/today.txt"
        first_line: the line to begin with, counted from 1
    """
    text = state[_existing_file(state, path)]
    lines = _lines(text)
    if first_line < 1 or first_line > max(len(lines), 1):
        raise ToolError(f"first_line must be from 1 to {max(len(lines), 1)}, got {first_line}")
    shown = "".join(lines[first_line - 1 :])
    if len(shown) <= _MAX_SHOWN_CHARS:
        return ToolReply(shown, state=state)
    shown = shown[:_MAX_SHOWN_CHARS]
    whole = shown.count("\n")  # lines that are shown to their end
    if whole:
        shown = shown[: shown.rindex("\n") + 1]
    following = first_line + max(whole, 1)
    more = f"[line {following} follows]" if following <= len(lines) else "[the line is cut]"
    return ToolReply(f"{shown}\n{more}" if not whole else shown + more, state=state)


@stateful(group=GROUP, initial={})
def write_file(state: Folder, path: str, content: str) -> ToolReply:
    """Write a text file. A file that is there already is replaced; folders need not exist.

    Args:
        path: the file, such as "notes/today.txt"
        content: the whole text of the file
    """
    target = _file_path(path)
    for other in state:
        if _is_inside(other, target):
            raise ToolError(f"{target!r} is a folder")
        if _is_inside(target, other):
            raise ToolError(f"{other!r} is a file, not a folder")
    new = {**state, target: content}
    if len(new) > MAX_FILES:
        raise ToolError(f"there is room for {MAX_FILES} files; delete one first")
    if _size(new) > MAX_BYTES:
        raise ToolError(f"there is room for {MAX_BYTES} bytes, and the files would take more")
    return ToolReply(f"Wrote {len(content)} characters to {target}.", state=new)


@stateful(group=GROUP, initial={})
def delete_file(state: Folder, path: str) -> ToolReply:
    """Delete a file.

    Args:
        path: the file, such as "notes/today.txt"
    """
    target = _existing_file(state, path)
    left = {name: text for name, text in state.items() if name != target}
    return ToolReply(f"Deleted {target}.", state=left)


def files_tools(start: Folder | str | Path | None = None) -> tuple[Tool, ...]:
    """The four file tools. ``start``: the files at the start of an episode, as a mapping from path to
    text or as a folder of text files, which is copied (see :func:`load_folder`)."""
    if start is None:
        initial: Folder = {}
    elif isinstance(start, str | Path):
        initial = load_folder(start)
    else:
        initial = make_folder(start)
    return tuple(
        replace(each, initial=initial) for each in (list_files, read_file, write_file, delete_file)
    )


def make_folder(files: Folder) -> Folder:
    """The state of the file tools that holds ``files``; ``ConfigError`` for bad paths or sizes."""
    checked: dict[str, str] = {}
    for path, text in files.items():
        try:
            name = _file_path(path)
        except ToolError as error:
            raise ConfigError(f"files: {error}") from error
        clash = next(
            (n for n in checked if n == name or _is_inside(n, name) or _is_inside(name, n)), None
        )
        if clash is not None:
            raise ConfigError(f"files: {path!r} and {clash!r} cannot both be there")
        if replace_surrogates(text) != text:
            raise ConfigError(f"files: {path!r} holds half a character (of a surrogate pair)")
        checked[name] = text
    if len(checked) > MAX_FILES or _size(checked) > MAX_BYTES:
        raise ConfigError(
            f"files: at most {MAX_FILES} files of {MAX_BYTES} bytes together, got {len(checked)} files "
            f"of {_size(checked)} bytes"
        )
    return checked


def load_folder(path: str | Path) -> Folder:
    """The text files of a folder on disk, those in folders below it too.

    A link to a file in the folder is read as that file. A link to a folder in it is left out, since its
    files are read already. Raises ``ConfigError`` for a link that leads outside, for a file that is not
    UTF-8 text, and for more files or bytes than the limits allow.
    """
    root = Path(path).resolve()
    if not root.is_dir():
        raise ConfigError(f"files: {str(path)!r} is not a folder")
    texts: dict[str, str] = {}
    size = 0
    for here, folders, names in os.walk(root):
        for name in sorted([*folders, *names]):
            entry = Path(here, name)
            shown = entry.relative_to(root).as_posix()
            try:
                target = entry.resolve()
            except RuntimeError as error:  # of Python before 3.13
                raise ConfigError(f"files: {shown!r} is a link to itself") from error
            if not target.is_relative_to(root):
                raise ConfigError(f"files: {shown!r} is a link that leads out of {str(path)!r}")
            if target.is_dir():
                continue
            if not target.is_file():
                raise ConfigError(f"files: {shown!r} is neither a file nor a folder")
            size += target.stat().st_size
            if len(texts) == MAX_FILES or size > MAX_BYTES:
                raise ConfigError(
                    f"files: {str(path)!r} holds more than {MAX_FILES} files or {MAX_BYTES} bytes"
                )
            try:
                texts[shown] = target.read_bytes().decode()
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"files: {shown!r} cannot be read as text: {error}") from error
    return make_folder(texts)


def normalize_path(path: str) -> str:
    """``path`` without ``.`` and ``..``, "" for the folder itself; ``ToolError`` if it leads out."""
    shown = truncate(path, 60)
    if len(path) > MAX_PATH_CHARS or any(len(part) > MAX_PART_CHARS for part in path.split("/")):
        raise ToolError(
            f"{shown!r} is too long: at most {MAX_PATH_CHARS} characters, {MAX_PART_CHARS} a name"
        )
    if path.startswith(("/", "~")):
        raise ToolError(f"{shown!r} is refused: paths begin in the working folder, without / or ~")
    if "\\" in path or not path.isprintable():
        raise ToolError(f"{shown!r} is refused: no backslashes or control characters in a path")
    depth = 0
    for part in path.split("/"):
        depth += {"": 0, ".": 0, "..": -1}.get(part, 1)
        if depth < 0:
            raise ToolError(f"{shown!r} is refused: it leads out of the working folder")
    plain = posixpath.normpath(path) if path else "."
    return "" if plain == "." else plain


def _file_path(path: str) -> str:
    name = normalize_path(path)
    if not name or path.endswith("/"):
        raise ToolError(f"{truncate(path, 60)!r} names no file")
    return name


def _existing_file(files: Folder, path: str) -> str:
    name = _file_path(path)
    if name in files:
        return name
    if any(_is_inside(other, name) for other in files):
        raise ToolError(f"{name!r} is a folder, not a file")
    there = truncate(", ".join(sorted(files)), 200) or "none"
    raise ToolError(f"there is no file {truncate(name, 60)!r}; files: {there}")


def _lines(text: str) -> list[str]:
    """The lines of a text with their line feeds; no other character ends a line."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith(outer + "/")


def _size(files: Folder) -> int:
    return sum(len(text.encode()) for text in files.values())

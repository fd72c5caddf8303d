"""What a confined command may read: the system, its own installation, and what its user names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from llmzoo.errors import ConfigError
from llmzoo.sandbox.confine.machine import remove_nested
from llmzoo.sandbox.confine.users import maps_other_users

# programs, libraries, certificates and the time zone; nothing in /etc that names users or keys
_SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    *("/etc/alternatives", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/localtime", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf"),
    *("/etc/ca-certificates", "/etc/pki/tls/certs", "/etc/pki/ca-trust"),
)
_MADE_INSIDE = ("/proc", "/dev", "/sys", "/tmp")
_PARTS = ("bin", "lib", "lib64", "libexec", "include", "pyvenv.cfg")  # of an installation


def system_paths(more: Iterable[str] = ()) -> list[str]:
    """The paths of the system that exist here, and ``more``, without those below others."""
    paths = [path for path in (*_SYSTEM, *more) if os.path.lexists(path)]
    return remove_nested(paths)


def readable_folder(path: str | Path) -> str:
    """The absolute path of a file or folder that a command may read.

    Raises :class:`ConfigError` if it is not there, or would show more than was meant: the whole machine,
    or the home folder, where keys lie.
    """
    absolute = os.path.realpath(path)
    if not os.path.exists(absolute):
        raise ConfigError(f"{path} is not there, so a confined command cannot read it")
    inside = [f"{made}/" for made in _MADE_INSIDE[:-1]]
    if absolute in ("/", "/tmp") or f"{absolute}/".startswith(tuple(inside)):
        raise ConfigError(
            f"a confined command has its own {absolute}: name a folder of your program"
        )
    if any(f"{home}/".startswith(f"{absolute}/") for home in _homes()):
        raise ConfigError(
            f"{absolute} holds the home folder, with the keys in it: name the folder of your program alone"
        )
    return absolute


def check_rights(path: str) -> None:
    """Raise :class:`ConfigError` if root starts commands, as another user, who may not read this."""
    if os.geteuid() != 0 or not maps_other_users():
        return
    needed = 0o5 if os.path.isdir(path) else 0o4
    if os.stat(path).st_mode & needed != needed:
        raise ConfigError(
            f"a command that root confines runs as another user, who may not read {path}: "
            f"chmod -R o+rX {path}"
        )


def installation_paths(executable: str) -> list[str]:
    """The paths of an executable, of the links that lead to it, and of what is installed with it.

    A ``bin`` folder is part of an installation if beside it lies what Python, node or a virtual
    environment put there. Of such a prefix only programs and libraries are shown.
    """
    paths: list[str] = []
    step = executable
    for _ in range(40):
        paths += _prefix_of(step) or [step]
        if not os.path.islink(step):
            return paths
        step = os.path.normpath(os.path.join(os.path.dirname(step), os.readlink(step)))
    raise ConfigError(f"{executable} is a link to itself")


def _prefix_of(program: str) -> list[str]:
    folder, name = os.path.split(os.path.dirname(program))
    if name != "bin":
        return []
    prefix = Path(folder)
    marks = (prefix / "pyvenv.cfg", prefix / "include" / "node" / "node.h")
    if not any(mark.is_file() for mark in (*marks, *prefix.glob("lib/python3*/os.py"))):
        return []
    return [str(prefix / part) for part in _PARTS if os.path.lexists(prefix / part)]


def find_program(program: str, folder: str | None) -> str:
    """The absolute path of a program: a name on the PATH, or a path from ``folder``.

    Raises :class:`ConfigError` if there is none.
    """
    named = program if os.path.dirname(program) == "" else os.path.join(folder or ".", program)
    path = shutil.which(named)
    if path is None:
        raise ConfigError(f"there is no program {program!r}, neither on the PATH nor from {folder}")
    return os.path.abspath(path)


def check_arguments(words: Sequence[str], folder: str | None, visible: Sequence[str]) -> None:
    """Raise :class:`ConfigError` for a word that names a file which the command could not read."""
    shown = [*system_paths(visible)]
    for word in words:
        path = os.path.abspath(os.path.join(folder or ".", word))
        if not os.path.isfile(path):
            continue
        if folder is None and not os.path.isabs(word):
            raise ConfigError(
                f"{word!r} is a file: name its folder as folder=, where the command starts"
            )
        if not any(f"{path}/".startswith(f"{one}/") for one in shown):
            raise ConfigError(
                f"a confined command cannot read {path}: name its folder as folder= or in readable="
            )


def _homes() -> set[str]:
    homes = {os.path.realpath(os.path.expanduser("~"))}
    try:
        import pwd

        homes.add(os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir))
    except (ImportError, KeyError):
        pass
    return homes - {"/"}

"""Facts about the machine of a zygote: the files of Python's library, and its user."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys
import sysconfig
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

# third-party packages inside the standard library's folder; llmzoo, which ships tests and solutions,
# may be among them
_THIRD_PARTY = ("site-packages", "dist-packages")
_SYSTEM_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_TIME_ZONES = "/usr/share/zoneinfo"


def stdlib_folders() -> list[str]:
    """The folders of the standard library."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    return sorted({os.path.realpath(path) for path in paths if path})


def stdlib_entries() -> list[str]:
    """The entries of :func:`stdlib_folders`, without the folders of third-party packages."""
    return [
        os.path.join(folder, name)
        for folder in stdlib_folders()
        for name in sorted(os.listdir(folder))
        if name not in (*_THIRD_PARTY, "__pycache__")
    ]


def third_party_folders() -> list[str]:
    """The folders of third-party packages inside :func:`stdlib_folders`."""
    return [os.path.join(folder, name) for folder in stdlib_folders() for name in _THIRD_PARTY]


def shared_libraries() -> list[str]:
    """Folders and files that extension modules may load later: shared libraries and time zones.

    Folders that may hold third-party Python packages are left out.
    """
    mapped = {line.split()[-1] for line in _mappings() if ".so" in line}
    folders = {os.path.dirname(os.path.realpath(path)) for path in mapped if path[0] == "/"}
    system = [p for p in folders if p.startswith(_SYSTEM_LIBRARIES) and "python" not in p]
    prefix = os.path.join(sys.base_prefix, "lib")
    own = [os.path.join(prefix, n) for n in os.listdir(prefix) if n.startswith("libpython")]
    zones = [_TIME_ZONES] if os.path.isdir(_TIME_ZONES) else []
    return sorted({*system, *own, *zones})


def _mappings() -> list[str]:
    try:
        with open("/proc/self/maps") as file:
            return file.read().splitlines()
    except OSError:
        return []


def package_folders(names: Sequence[str]) -> list[str]:
    """The folders of preloaded third-party packages, with the libraries that they ship."""
    paths = []
    for name in names:
        path = getattr(sys.modules.get(name.partition(".")[0]), "__path__", None)
        for folder in list(path or []):
            if any(part in folder for part in _THIRD_PARTY):
                paths += [folder, folder + ".libs"]
    return [os.path.realpath(path) for path in paths if os.path.isdir(path)]


class IndexedFinder:
    """Finds modules of the standard library and of ``packages`` (folders) in an index.

    The usual finder needs ``stat``, which Landlock does not confine and the filter forbids.
    """

    def __init__(self, packages: Sequence[str] = ()) -> None:
        self._index: dict[str, tuple[str, bool]] = {}
        for folder in stdlib_folders():
            self._scan(folder, "", ("test", "tests"), depth=3)
        for folder in packages:
            self._scan(folder, f"{os.path.basename(folder)}.", (), depth=3)

    def find_spec(
        self, name: str, path: object = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._index:
            return None
        file, package = self._index[name]
        extension = importlib.machinery.ExtensionFileLoader
        loader = _SourceLoader if file.endswith(".py") else extension
        folders = [os.path.dirname(file)] if package else None
        return importlib.util.spec_from_file_location(
            name, file, loader=loader(name, file), submodule_search_locations=folders
        )

    def _scan(self, folder: str, prefix: str, without: Sequence[str], depth: int) -> None:
        suffixes = importlib.machinery.EXTENSION_SUFFIXES
        for entry in os.scandir(folder):
            name = entry.name
            if entry.is_dir() and depth and name.isidentifier() and name not in without:
                first = os.path.join(entry.path, "__init__.py")
                if os.path.isfile(first):
                    self._index[prefix + name] = (first, True)
                    self._scan(entry.path, f"{prefix}{name}.", without, depth - 1)
                continue
            if name == "lib-dynload":
                self._scan(entry.path, prefix, without, 0)
                continue
            for suffix in (".py", *suffixes):
                stem = name.removesuffix(suffix)
                if stem != name and stem.isidentifier():
                    self._index.setdefault(prefix + stem, (entry.path, False))
                    break


class _SourceLoader(importlib.machinery.SourceFileLoader):
    """Compiles the source, because checking the date of a cached file needs ``stat``."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)


def preload(names: list[str]) -> dict[str, Any]:
    """Import modules that all forked programs share. Returns a note with those that are not installed."""
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            missing.append(name)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(0)  # numpy does not reseed in a fork
    return {"not_installed": missing} if missing else {}


def can_reach(folder: str, user: int) -> bool:
    """Whether ``user`` may read the library and ``folder``; false if Python is in a home folder."""
    os.seteuid(user)
    try:
        for path in (*stdlib_folders(), os.path.dirname(folder)):
            os.stat(path)
        return True
    except OSError:
        return False
    finally:
        os.seteuid(0)


def threads_of_user() -> int:
    """The number of threads of this user, which count against its limit of processes."""
    total = 0
    try:
        for entry in os.scandir("/proc"):
            if entry.name.isdigit() and entry.stat().st_uid == os.getuid():
                total += len(os.listdir(f"{entry.path}/task"))
    except OSError:
        pass
    return total


def remove_nested(paths: list[str]) -> list[str]:
    """The paths without those that are inside another path of the list."""
    kept: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(f"{k}/") for k in kept):
            kept.append(path)
    return kept


def clear_folder(folder: str) -> bool:
    """Remove everything in a folder, even if it is deeply nested or unreadable."""
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

"""What ``llmzoo export env`` exports: a registered environment, or the one in a user's file."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import inspect
import keyword
import re
import sys
from dataclasses import dataclass
from importlib.metadata import packages_distributions, version
from pathlib import Path

from pettingzoo import AECEnv, ParallelEnv

from llmzoo import registry
from llmzoo.errors import ConfigError, LlmzooError

_FILE = re.compile(r"(?P<file>.+\.py)(:(?P<attribute>\w+))?", re.DOTALL)
_PACKAGE = re.compile(r"[a-z][a-z0-9_]{0,63}", re.ASCII)
_MAX_FILE_BYTES = 2**20
# the folder's own modules, and the packages that it imports
_TAKEN = {"server", "data", "llmzoo", "pettingzoo", "trl", "verifiers", "openenv", "uvicorn"}
_CREDENTIAL = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(?:hf_|sk-|ghp_|github_pat_|xox[abp]-)[\w-]{16,}|\bAKIA[0-9A-Z]{16}\b"
    r"|(?:api_?key|secret|password|token)\w*[\"']?\s*(?::\s*str\s*)?[=:]\s*[\"'][^\"'\s]{8,}[\"']",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSource:
    """An environment to export.

    ``env``: what :func:`llmzoo.make` takes in this process. ``exported_env``: what it takes in the
    package. ``text`` and ``file``: the user's; None for a registered environment.
    """

    env: str
    exported_env: str
    title: str
    package: str
    summary: str
    requirements: tuple[str, ...]  # besides llmzoo, as for pip
    extra: str | None  # of llmzoo
    text: str | None = None
    file: Path | None = None


def find_environment(env: str, package: str | None = None) -> EnvironmentSource:
    """The environment ``env``: a registered id, or ``FILE.py`` with one environment.

    ``FILE.py:NAME`` chooses one of several. ``package``: name of the package; by default that of the
    environment. Raises :class:`ConfigError` for what cannot be exported, and
    :class:`llmzoo.errors.UnknownNameError` for an unknown id.
    """
    parts = _FILE.fullmatch(env)
    if parts is not None:
        return _from_file(Path(parts["file"]), parts["attribute"], package)
    if ":" in env or "/" in env or registry.is_remote(env):
        raise ConfigError(
            f"{env!r} is neither a registered id nor a file: give an id, such as sudoku_v0, or the "
            "file of your environment, such as my_game.py or my_game.py:MyGame"
        )
    spec = registry.spec(env)
    if not isinstance(spec.entry_point, str) or not spec.entry_point.startswith("llmzoo."):
        raise ConfigError(
            f"{env} belongs to another package, so its code is not here to export: give its file"
        )
    return EnvironmentSource(
        env=env,
        exported_env=env,
        title=env,
        package=_check_package(package or re.sub(r"[.-]", "_", env.lower())),
        summary=spec.summary,
        requirements=(),
        extra=spec.extra,
    )


def _from_file(file: Path, attribute: str | None, package: str | None) -> EnvironmentSource:
    text = _read(file)
    package = _check_package(package or file.stem, file)
    _refuse_private(file, text)
    module = f"llmzoo_exported_{package}"
    requirements = _requirements(file, text)
    loaded = _load(file, module)
    name = attribute or _find_attribute(file, loaded)
    try:
        registry.spec(f"{module}:{name}")
    except LlmzooError as error:
        raise ConfigError(f"{file}: {str(error).replace(module, file.stem)}") from None
    lines = (inspect.getdoc(sys.modules[module]) or name).splitlines()
    return EnvironmentSource(
        env=f"{module}:{name}",
        exported_env=f"{package}.environment:{name}",
        title=package,
        package=package,
        summary=lines[0],
        requirements=requirements,
        extra=None,
        text=text,
        file=file,
    )


def _read(file: Path) -> str:
    if not file.is_file():
        raise ConfigError(f"there is no file {str(file)!r}: give the path of your environment")
    data = file.read_bytes()
    if len(data) > _MAX_FILE_BYTES:
        raise ConfigError(f"{file} has {len(data):,} bytes; at most {_MAX_FILE_BYTES:,} are copied")
    try:
        return data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file} is not UTF-8 text: {error}") from None


def _load(file: Path, module: str) -> object:
    """Run the file as ``module``. Raises :class:`ConfigError` if it raises."""
    spec = importlib.util.spec_from_file_location(module, file)
    assert spec is not None  # its name ends in .py
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded  # dataclasses look their module up
    try:
        spec.loader.exec_module(loaded)
    except (Exception, SystemExit) as error:
        del sys.modules[module]
        raise ConfigError(
            f"{file} cannot be imported ({type(error).__name__}: {error}): run python {file} first"
        ) from error
    return loaded


def _find_attribute(file: Path, module: object) -> str:
    """The name of the only environment class that the module defines, or ``env``."""
    names = [
        name
        for name, value in vars(module).items()
        if isinstance(value, type)
        and issubclass(value, AECEnv | ParallelEnv)
        and value.__module__ == module.__name__  # type: ignore[attr-defined]
        and not name.startswith("_")
    ]
    if callable(vars(module).get("env")):
        return "env"
    if len(names) != 1:
        found = f"defines {', '.join(names)}" if names else "defines no class of PettingZoo"
        raise ConfigError(f"{file} {found}: say which environment, as {file}:NAME")
    return names[0]


def _check_package(name: str, file: Path | None = None) -> str:
    """``name`` if it may become a package; an installed package is not to be hidden."""
    if not _PACKAGE.fullmatch(name) or keyword.iskeyword(name) or name in dir(builtins):
        raise ConfigError(
            f"{name!r} cannot name a package: use a-z, 0-9 and _, beginning with a letter, as in "
            "--name my_game"
        )
    found = importlib.util.find_spec(name)
    origin = getattr(found, "origin", None)
    is_own = file is not None and origin is not None and Path(origin).samefile(file)
    is_export = origin is not None and Path(origin).with_name("verifiers_env.py").exists()
    taken = name in _TAKEN or name in sys.stdlib_module_names
    if taken or (origin is not None and not is_own and not is_export):
        raise ConfigError(
            f"a package named {name!r} exists and would be hidden: give another name with --name"
        )
    return name


def name_private_path(text: str, file: Path | None = None) -> str:
    """The path of this machine in a text: the home, or the folder of ``file``; "" if none."""
    folders = [Path.home(), *([] if file is None else [file.resolve().parent])]
    return next((str(f) for f in folders if len(f.parts) > 1 and str(f) in text), "")


def _refuse_private(file: Path, text: str) -> None:
    """Refuse what looks like a credential, and paths of this machine."""
    for number, line in enumerate(text.splitlines(), 1):
        if _CREDENTIAL.search(line):
            raise ConfigError(
                f"{file}, line {number}, looks like a password or key: read it from an environment "
                "variable, since the file is published as it is"
            )
        if name_private_path(line, file):
            raise ConfigError(
                f"{file}, line {number}, has a path of this machine: the file is published as it is"
            )


def _requirements(file: Path, text: str) -> tuple[str, ...]:
    """The packages that a file imports and llmzoo does not bring, in the installed versions."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise ConfigError(f"{file} is not Python: {error}") from None
    modules = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            modules.add("" if node.level else str(node.module).partition(".")[0])
    for module in sorted(modules):
        is_stdlib = module in sys.stdlib_module_names
        beside = [] if is_stdlib else [file.with_name(f"{module}.py"), file.parent / module]
        if any(map(Path.exists, beside)):  # "" is a relative import, and the folder itself
            raise ConfigError(
                f"{file} imports {module or '.'!r} from its own folder, and only one file is copied: "
                "move what it needs into it"
            )
    owners = packages_distributions()
    brought = {"llmzoo", "pettingzoo", "gymnasium", "numpy", "rich"}
    found = set()
    for module in modules - brought - set(sys.stdlib_module_names):
        for owner in owners.get(module, ())[:1]:
            found.add(f"{owner}>={version(owner).partition('+')[0]}")
    return tuple(sorted(found))

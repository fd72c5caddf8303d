"""Classes that stand for the program's classes, and the exceptions that stand for its exceptions.

The program describes its classes, and may lie: a description makes a class of proxies in any case,
never one of the tests' own, and an exception never becomes one that steers an interpreter or a test
runner (``SystemExit``, ``StopIteration``, ``unittest.SkipTest``).
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from ..confine.values import NotData
from .kinds import VALUES
from .proxies import Holder, Proxy, RemoteClass, RemoteError, State
from .special import special_methods

_IMMUTABLE = {t.__name__: t for t in (int, float, complex, str, bytes, tuple, frozenset)}
_CONTAINERS = ("list", "dict", "set", "bytearray")
_STEERING = (StopIteration, StopAsyncIteration)
_RUNNERS = ("unittest", "pytest", "_pytest")


class ProgramExit(Exception):
    """Stands for SystemExit, KeyboardInterrupt and GeneratorExit raised by the program."""


def mirror(state: State, described: Any) -> type:
    """The class for a description (see ``Exports._describe``); raises NotData for a false form."""
    try:
        name, own, builtin, special, hashes, known = described
        own = tuple(base for base in own if isinstance(base, RemoteClass))
        special = {part for part in special if type(part) is str}
        if (found := _library_class(known)) and issubclass(found, Exception):
            return found
        namespace: dict[str, Any] = {
            "__module__": "candidate",
            "_remote_class": state,
            "_remote_named": False,
        }
        error = _exception(builtin)
        root: type
        base: type | None
        if error is not None:
            root, base = RemoteError, nearest(error)
        elif builtin in _IMMUTABLE:
            root, base = Holder, _IMMUTABLE[builtin]
            special &= {"str", "repr", "format"}
        else:
            root, base = Proxy, None
            namespace["__slots__"] = ()
        if error is None:
            holds = builtin in _CONTAINERS
            namespace.update(special_methods(special, hashes=hashes is True, holds=holds))
        if found is not None and root is Proxy and not _of_values(found):
            namespace["__class__"] = property(lambda self: found)
        return _make_class(str(name)[:100], own, root, base, namespace)
    except (TypeError, ValueError) as problem:
        raise NotData(f"no description of a class: {problem}") from None


def nearest(kind: type[BaseException]) -> type[Exception]:
    """The class of exceptions, of Python or a library, to raise in the tests for one of this."""
    kind = next(
        base
        for base in kind.__mro__
        if issubclass(base, BaseException) and not isinstance(base, RemoteClass)
    )
    if issubclass(kind, _STEERING):
        return RuntimeError  # as a generator does with a StopIteration inside it
    if not issubclass(kind, Exception):
        return ProgramExit
    return Exception if kind.__module__.partition(".")[0] in _RUNNERS else kind


def _of_values(kind: type) -> bool:
    """Whether ``isinstance(value, kind)`` says something of values, or may. A value that compares
    itself with an object of such a class takes the object's word: Decimal and Fraction multiply by
    the numerator and the denominator of any ``numbers.Rational``, and 0 / 0 is any number."""
    try:
        return issubclass(kind, VALUES) or any(issubclass(value, kind) for value in VALUES)
    except TypeError:  # a protocol, which is the class of no object
        return True


def _make_class(
    name: str, own: tuple[Any, ...], root: type, base: type | None, namespace: dict[str, Any]
) -> type:
    bases = own if any(issubclass(b, root) for b in own) else (*own, root)
    if base is not None and not any(issubclass(b, base) for b in bases):
        bases = (*bases, base)
    try:
        return RemoteClass(name, bases, namespace)
    except TypeError:  # bases that do not go together here
        return RemoteClass(name, (root,) if base is None else (root, base), namespace)


def _exception(name: Any) -> type[BaseException] | None:
    found = vars(builtins).get(name) if isinstance(name, str) else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def _library_class(known: Any) -> type | None:
    """The class of that name in a module of the standard library that is loaded here."""
    if not known:
        return None
    module, name = known
    if str(module).partition(".")[0] not in sys.stdlib_module_names or module == "builtins":
        return None
    found = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if not isinstance(found, type) or module.partition(".")[0] in _RUNNERS:
        return None
    return found if found.__module__ == module and found.__name__ == name else None

"""The program's side of separate judging: sends objects as handles and answers requests.

Nothing here protects the verdict, because the program can change this module. The tester's side
decides what the program may do, see :mod:`.proxies` and :mod:`.capability_policy`.
"""

from __future__ import annotations

import builtins
import importlib
import io
import sys
import types
from collections.abc import Callable
from typing import Any

from ..confine.channel import Channel
from ..confine.plain_data import dumps, to_builtin
from .operations import OPERATIONS, special_names
from .peer import CALLABLE, LIBRARY, Peer, PeerGone, Reply
from .texts import MAX_TEXT, safe_text

MAX_PRINTED = 256_000  # characters of one answer
_FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType)
_IMMUTABLE = (int, float, complex, str, bytes, tuple, frozenset)
_CONTAINERS = (list, dict, set, bytearray)
_DATA = (*_IMMUTABLE, *_CONTAINERS)


class Exports(Peer):
    """Answers questions about the objects of a program's module."""

    def __init__(self, channel: Channel, module: types.ModuleType):
        super().__init__(channel, 1)
        self.module = module
        self._objects: dict[int, Any] = {}
        self._handles: dict[int, int] = {}
        self._next = CALLABLE + 1
        self._test_objects: dict[int, Any] = {}
        self._printed = io.StringIO()
        self._verbs: dict[str, Callable[..., Any]] = {
            "get": lambda text, names, value: getattr(value, text),
            "set": lambda text, names, value, new: setattr(value, text, new),
            "del": lambda text, names, value: delattr(value, text),
            "call": self._call,
            "do": lambda text, names, *operands: OPERATIONS[text](*operands),
            "data": lambda text, names, value: to_builtin(value),
            "seed": lambda text, names, value: importlib.import_module(text).seed(value),
        }

    def serve(self) -> None:
        """Answer until the tester is gone."""
        sys.stdout = self._printed
        sys.stdin = _Stdin(self)
        builtins.input = self._input
        try:
            while True:
                self.answer(*self.next_question())
        except PeerGone:
            return

    def perform(self, word: str, text: str, operands: list[Any], names: list[str]) -> Reply:
        try:
            if word == "names":
                reply = self._names(names)
            elif word == "describe":
                reply = self._describe(*operands)
            elif word == "patch print":
                builtins.print = self._print
                reply = Reply("value", [None])
            else:
                reply = Reply("value", [self._verbs[word](text, names, *operands)])
        except PeerGone:
            raise
        except BaseException as error:
            stopped = (word, text) == ("do", "next") and isinstance(error, StopIteration)
            reply = Reply("stop") if stopped else self._error_reply(error)
        return reply._replace(text=self._take_printed())

    def encode_object(self, value: Any) -> list[Any] | None:
        kind = type(value)
        if isinstance(value, _TestObject):
            return ["yours", value._number]
        if issubclass(kind, type):
            return ["class", self._handle(value)]
        if issubclass(kind, _FUNCTIONS):
            return ["object", self._handle(value), CALLABLE]
        if issubclass(kind, _DATA):
            if not self._is_own(kind):
                return None  # a library's subclass of a builtin is sent by value
            if issubclass(kind, _IMMUTABLE):
                return ["holder", self._handle(value), self._handle(kind)]
        return ["object", self._handle(value), self._handle(kind)]

    def decode_object(self, tagged: list[Any]) -> Any:
        tag = tagged[0]
        if tag == "yours":
            return self._objects[tagged[1]]
        if tag == "known":
            value = importlib.import_module(tagged[1])
            for name in filter(None, tagged[2].split(".")):
                value = getattr(value, name)
            return value
        if tag == "mine":
            _, number, can = tagged
            if number not in self._test_objects:
                self._test_objects[number] = _WRAPPERS[can](self, number)
            return self._test_objects[number]
        raise LookupError(tag)

    def release(self, handles: list[Any]) -> None:
        for handle in handles:
            value = self._objects.pop(handle, None)
            self._handles.pop(id(value), None)

    def ask_tester(self, word: str, *operands: Any, text: str = "", names: Any = ()) -> Any:
        """Ask the tester, and raise what it raises."""
        self._flush()
        reply = self.ask(word, *operands, text=text, names=names)
        if reply.word == "value":
            return reply.operands[0]
        if reply.word == "stop":
            raise StopIteration
        if reply.word == "raised":
            kind, *rest = reply.operands
            raise kind(*rest)
        raise TypeError(reply.text)

    def _handle(self, value: Any) -> int:
        handle = self._handles.get(id(value))
        if handle is None:
            handle = self._handles[id(value)] = self._next
            self._objects[handle] = value
            self._next += 1
        return handle

    def _call(self, text: str, names: list[str], function: Any, *values: Any) -> Any:
        split = len(values) - len(names)
        return function(*values[:split], **dict(zip(names, values[split:], strict=True)))

    def _names(self, wanted: list[str]) -> Reply:
        """The values of the names that the module has. Names that a library defines are marked."""
        values = {name: vars(self.module)[name] for name in wanted if name in vars(self.module)}
        names = [
            f"{LIBRARY}{name}"
            if isinstance(value, (type, *_FUNCTIONS)) and value.__module__ != self.module.__name__
            else name
            for name, value in values.items()
        ]
        return Reply("value", list(values.values()), names=names)

    def _describe(self, kind: type) -> Reply:
        """Describe a class.

        The values are its name, its bases that the program defines, its builtin base, its special methods,
        whether it can be hashed, and its module and name if a library defines it.
        """
        own_bases = tuple(base for base in kind.__bases__ if self._is_own(base))
        roots = (BaseException, *_DATA)
        builtin = next(
            (
                b.__name__
                for b in kind.__mro__
                if b.__module__ == "builtins" and issubclass(b, roots)
            ),
            "",
        )
        known = () if self._is_own(kind) else (kind.__module__, kind.__qualname__)
        special = tuple(special_names(kind, without=_IMMUTABLE))
        hashes = kind.__hash__ is not None
        return Reply("value", [kind.__name__, own_bases, builtin, special, hashes, known])

    def _error_reply(self, error: BaseException) -> Reply:
        """Class, arguments and text of an exception, and the exception if its class is the program's."""
        try:
            text = str(error)[:MAX_TEXT]
            args: Any = error.args
            dumps(args, self.encode)
        except BaseException:
            text, args = safe_text(error), None
        own_error = error if self._is_own(type(error)) else None
        return Reply("raised", [type(error), args, text, own_error])

    def _is_own(self, kind: type) -> bool:
        return kind.__module__ == self.module.__name__

    def _take_printed(self) -> str:
        text = self._printed.getvalue()
        if text:
            self._printed.seek(0)
            self._printed.truncate()
        return text[:MAX_PRINTED]

    def _flush(self) -> None:
        if text := self._take_printed():
            self.ask("printed", text=text)

    def _input(self, prompt: object = "") -> str:
        return self.ask_tester("input", str(prompt))

    def _print(self, *values: Any, **settings: Any) -> None:
        self.ask_tester("print", *values, *settings.values(), names=list(settings))


class _TestObject:
    """An object of the tests that was passed to the program."""

    def __init__(self, exports: Exports, number: int):
        self._exports = exports
        self._number = number


class _Callback(_TestObject):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._exports.ask_tester("invoke", self, *args, *kwargs.values(), names=list(kwargs))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


class _Stream(_TestObject):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._exports.ask_tester("advance", self)


class _Readable(_Stream):
    def __getattr__(self, name: str) -> Any:
        return self._exports.ask_tester("read", self, text=name)


class _Mock(_Readable):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._exports.ask_tester("invoke", self, *args, *kwargs.values(), names=list(kwargs))


_WRAPPERS = {"call": _Callback, "iterate": _Stream, "read": _Readable, "mock": _Mock}


class _Stdin(io.TextIOBase):
    """Standard input, which the tests may replace."""

    def __init__(self, exports: Exports):
        self._exports = exports

    def readable(self) -> bool:
        return True

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        return self._exports.ask_tester("readline")

    def read(self, size: int = -1) -> str:  # type: ignore[override]
        return "".join(iter(self.readline, ""))

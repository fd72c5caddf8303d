"""The tester's side of separate judging: makes proxies for the program's objects, and raises the
program's exceptions in the tests."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

from ..confine.channel import Channel
from ..confine.plain_data import NotData, dumps
from .capability_policy import CapabilityPolicy
from .isolation_requirements import library_object
from .methods import restrict
from .mirror_classes import mirror, nearest_known_class
from .operations import IN_PLACE
from .peer import CALLABLE, LIBRARY, Peer, PeerGone, Reply
from .proxies import (
    Holder,
    PeerError,
    Proxy,
    RemoteClass,
    RemoteFunction,
    State,
    is_remote,
    may_ask,
    state_of,
)
from .stdlib_values import from_tag

_HELD = (int, float, complex, str, bytes, tuple, frozenset)


class _Handle:
    """An object of the program that has no proxy yet."""

    def __init__(self, handle: int):
        self.handle = handle


# operations that may change an object; the others look at one, and so does reading an attribute
_CHANGING = {"setitem", "delitem", "enter", "exit", *IN_PLACE}


class TesterPeer(Peer):
    """Asks the program for the tests and answers its questions.

    ``tests``: the name of the module in which the tests run. ``expects_exit``: the tests name
    SystemExit, so the program may raise it. ``calls``: the number of calls made to the program.
    """

    def __init__(self, channel: Channel, tests: str, *, expects_exit: bool = False):
        super().__init__(channel, 0)
        self.expects_exit = expects_exit
        self.calls = 0
        self.array: Callable[[Any], Any] = lambda value: (
            value
        )  # applied to every array that is received
        self.dropped: list[int] = []
        self._proxies: weakref.WeakValueDictionary[int, Proxy] = weakref.WeakValueDictionary()
        self._permanent: dict[int, Any] = {}  # classes and holders; holders allow no weak reference
        self._capabilities = CapabilityPolicy(tests)
        self._raised: deque[BaseException] = deque(maxlen=16)
        self._failed_inside: AssertionError | None = None

    def result(self, word: str, *operands: Any, text: str = "", names: Any = ()) -> Any:
        """Ask for one value, and raise what the program raised."""
        outermost = self._depth == 0
        if word in ("call", "set", "del", "seed") or (word == "do" and text in _CHANGING):
            self.changes += 1
        try:
            reply = self.ask(word, *operands, text=text, names=names)
        except NotData as error:
            raise TypeError(f"cannot be passed to the program: {error}") from None
        if reply.word != "unsendable":
            self._capabilities.forward_output(reply.text)
        if outermost and self._failed_inside is not None:
            # an assertion that failed in a callback, which the program may have caught
            failed, self._failed_inside = self._failed_inside, None
            raise failed
        if reply.word == "value" and len(reply.operands) == 1:
            value = reply.operands[0]
            if isinstance(value, Proxy):
                value._remote.made = False  # the caller may set it
            return value
        if reply.word == "stop":
            if (word, text) == ("do", "next"):
                raise StopIteration
            raise self._error(StopIteration, (), "", None)
        if reply.word == "unsendable":
            raise TypeError(f"what the program gives cannot be judged: {reply.text[:300]}")
        if reply.word == "raised" and len(reply.operands) == 4:
            raise self._error(*reply.operands)
        raise self._end("malformed answer")

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.result("call", function, *args, *kwargs.values(), names=list(kwargs))

    def get(self, owner: Any, name: str) -> Any:
        """An attribute of an object of the program, if the program may be asked for it."""
        if not may_ask(name):
            raise AttributeError(name)
        return restrict(owner, name, self.result("get", owner, text=name))

    def call_read_only(self, method: Any) -> Any:
        """Call a method, without arguments, that changes no object."""
        try:
            return self.call(method)
        finally:
            self.changes -= 1

    def names(self, wanted: list[str]) -> dict[str, Any]:
        """The values of names of the program's module. Objects of a library are this process's own."""
        reply = self.ask("names", names=wanted)
        values: dict[str, Any] = {}
        for marked, value in zip(reply.names, reply.operands, strict=False):
            name = marked.removeprefix(LIBRARY)
            library_value = library_object(name) if name != marked else None
            if name in wanted:
                values[name] = value if library_value is None else library_value
        return values

    def is_programs(self, error: BaseException) -> bool:
        """Whether an exception was raised by the program, not by the tests."""
        return any(error is known for known in self._raised)

    def perform(self, word: str, text: str, operands: list[Any], names: list[str]) -> Reply:
        try:
            return Reply("value", [self._capabilities.perform(word, text, operands, names)])
        except StopIteration:
            return Reply("stop")
        except BaseException as error:
            if isinstance(error, PeerGone):
                raise
            if isinstance(error, AssertionError) and self._failed_inside is None:
                self._failed_inside = error
            return _raised_reply(error)

    def encode_object(self, value: Any) -> list[Any] | None:
        if type(value) is _Handle:
            return ["yours", value.handle]
        if is_remote(value):
            return ["yours", state_of(value).handle]
        return self._capabilities.to_reference(value)

    def decode_object(self, tagged: list[Any]) -> Any:
        tag, *numbers = tagged
        if tag == "array":
            return self.array(from_tag(tagged, self.decode))
        if tag not in ("yours", "object", "holder", "class"):
            raise LookupError(tag)
        if not all(type(number) is int for number in numbers):
            raise NotData("a reference that is not a number")
        if tag == "yours" and len(numbers) == 1:
            return self._capabilities.get_object(numbers[0])
        if tag == "object" and len(numbers) == 2:
            return self._object(*numbers)
        if tag == "holder" and len(numbers) == 2:
            return self._holder(*numbers)
        if tag == "class" and len(numbers) == 1:
            return self._class(*numbers)
        raise NotData("a reference to nothing")

    def take_unused_handles(self) -> list[int]:
        dropped, self.dropped = self.dropped, []
        return dropped

    def _object(self, handle: int, class_handle: int) -> Any:
        proxy = self._proxies.get(handle)
        if proxy is None:
            kind = RemoteFunction if class_handle == CALLABLE else self._class(class_handle)
            if not isinstance(kind, RemoteClass) and issubclass(kind, Exception):
                return kind.__new__(kind)  # a library class that is known here
            if not issubclass(kind, (Proxy, PeerError)):
                raise NotData("an object of a class that cannot have one")
            proxy = kind.__new__(kind)
            object.__setattr__(proxy, "_remote", self._state(handle))
            self._proxies[handle] = proxy
        return proxy

    def _holder(self, handle: int, class_handle: int) -> Any:
        if handle not in self._permanent:
            kind = self._class(class_handle)
            held = next((base for base in kind.__mro__ if base in _HELD), None)
            value = self.ask("data", _Handle(handle)).operands
            if not issubclass(kind, Holder) or len(value) != 1 or type(value[0]) is not held:
                raise NotData("a holder of something else")
            made = kind.__new__(kind, value[0])
            made._remote = self._state(handle)
            self._permanent[handle] = made
        return self._permanent[handle]

    def _class(self, handle: int) -> Any:
        if handle not in self._permanent:
            made = mirror(self._state(handle), self.ask("describe", _Handle(handle)).operands)
            self._permanent.setdefault(handle, made)
        if not isinstance(self._permanent[handle], type):
            raise NotData("no class")
        return self._permanent[handle]

    def _state(self, handle: int) -> State:
        if handle in self.dropped:  # its last proxy was deleted, and now it is sent again
            self.dropped.remove(handle)
        return State(self, handle)

    def _error(self, kind: Any, args: Any, text: Any, original: Any) -> BaseException:
        """The exception to raise in the tests for one that the program has raised."""
        text = text if type(text) is str else ""
        args = args if type(args) is tuple else (text,)
        error: BaseException
        if kind is SystemExit and self.expects_exit:
            error = SystemExit(*args)
        elif isinstance(original, PeerError) and isinstance(original, Exception):
            error = original
            object.__setattr__(error, "_remote_text", text)
            object.__setattr__(error, "args", args)
        else:
            known = isinstance(kind, type) and issubclass(kind, BaseException)
            error = _exception(nearest_known_class(kind if known else Exception), args)
        self._raised.append(error)
        return error


def _exception(kind: type[Exception], args: tuple[Any, ...]) -> Exception:
    try:
        if kind.__module__ == "builtins":
            return kind(*args)
    except TypeError:  # the class does not accept these arguments
        pass
    error = kind.__new__(kind)
    error.args = args
    return error


def _raised_reply(error: BaseException) -> Reply:
    """The reply that makes the program raise the nearest builtin exception."""
    kind = next(base for base in type(error).__mro__ if base.__module__ == "builtins")
    try:
        dumps(error.args)
        return Reply("raised", [kind, *error.args])
    except (NotData, RecursionError):
        return Reply("raised", [kind, str(error)[:2000]])

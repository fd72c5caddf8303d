"""The process of a judged program: loads the program and answers requests.

The requests come from the host or from a tester. The host calls functions with plain data, and judges the
plain data that they return. A tester (:mod:`.tester`) is answered by :mod:`.exports`. Neither trusts the
answers, because the program may have written them.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..confine.channel import Channel, ChannelClosed
from ..confine.plain_data import NotData
from .exports import Exports
from .stand_ins import make_stand_in, to_ratio
from .texts import safe_text

MODULE = "candidate"


def serve(channel: Channel, source: str, *, prelude: str = "", filename: str = "<program>") -> None:
    """Execute ``prelude`` and the program, send ``["loaded"]`` or ``["failed", type, text]``, and
    answer until the channel closes.

    The host asks ``["call", name, args, kwargs, stand_in]``. The answer is ``["value", value]``,
    ``["raised", type, text]`` or ``["unsendable", type]``. ``stand_in`` says what is sent in place of
    a value that is not plain data (:mod:`.stand_ins`). A name is that of a function, or dotted:
    ``"Solution().solve"`` makes an instance for the call.
    """
    try:
        try:
            module = load(source, prelude=prelude, filename=filename)
        except BaseException as error:
            channel.send(["failed", type(error).__name__, safe_text(error)])
            return
        channel.send(["loaded"])
        while True:
            question = channel.receive()
            if question == ["judge"]:
                Exports(channel, module).serve()
                return
            _, name, args, kwargs, stand_in = question
            _answer(channel, module, name, args, kwargs, stand_in)
    except (ChannelClosed, NotData):
        return


def load(source: str, *, prelude: str = "", filename: str = "<program>") -> ModuleType:
    """Execute a program as a registered module, which dataclasses and enumerations look up."""
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    sys.argv = [filename]
    for text, name in ((prelude, "<prelude>"), (source, filename)):
        if text:
            exec(compile(text, name, "exec", dont_inherit=True), vars(module))
    return module


def _answer(
    channel: Channel,
    module: ModuleType,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    stand_in: tuple[Any, ...],
) -> None:
    try:
        value = _function(module, name)(*args, **kwargs)
    except BaseException as error:
        channel.send(["raised", type(error).__name__, safe_text(error)])
        return
    try:
        channel.send(["value", value])
        return
    except (NotData, RecursionError, TypeError):
        pass
    try:
        value_sent = make_stand_in(value, *stand_in)
    except BaseException as error:
        channel.send(["raised", type(error).__name__, safe_text(error)])
        return
    try:
        channel.send(["value", value_sent], to_ratio)
    except (NotData, RecursionError, TypeError):
        channel.send(["unsendable", type(value).__name__])


def _function(module: ModuleType, name: str) -> Any:
    value: Any = module
    for part in name.split("."):
        value = getattr(value, part.removesuffix("()"))
        if part.endswith("()"):
            value = value()
    return value

"""What a worker answers: JSON that says how it went, and arrays beside it.

What goes wrong in a worker comes back as text, and is raised again where the run is driven: an
error of llmzoo's as that same error, anything else as a :class:`WorkerError`. A worker that dies
answers nothing, which is another matter (:mod:`llmzoo.engine.ray.calls`).
"""

from __future__ import annotations

import functools
import importlib
import json
import traceback
from collections.abc import Callable
from typing import Any

from llmzoo.engine.ray.parcels import Bytes, nothing
from llmzoo.errors import LlmzooError, WorkerError

Report = dict[str, Any]


class _There(Exception):
    """The traceback in a worker, as the cause of an error."""


def reporting(arrays: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method that returns a report and ``arrays`` arrays, or in their place says what it raised.

    The report is a mapping that JSON has a form for.
    """

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def reported(*args: Any) -> Any:
            found: list[Bytes | bytes]
            try:
                result = method(*args)
                report, *found = result if arrays else (result,)
                text = json.dumps({"found": report})
            except Exception as error:
                text = json.dumps({"error": _told(error)})
                found = [nothing()] * arrays
            return [text, *found] if arrays else text

        return reported

    return decorate


def opened(text: str, who: str) -> Report:
    """The report of a worker; raises what went wrong there. ``who``: the worker, for the error."""
    error = fault(text, who)
    if error is not None:
        raise error
    found: Report = json.loads(text)["found"]
    return found


def fault(text: str, who: str) -> Exception | None:
    """What a worker says that it raised."""
    said = json.loads(text).get("error")
    if said is None:
        return None
    error: Exception
    if said["class"] is None:
        error = WorkerError(f"{who} raised {said['name']}: {said['text']}")
    else:
        module, _, name = said["class"].partition(":")
        cls = getattr(importlib.import_module(module), name)
        error = cls.__new__(cls)  # some take other arguments than their text
        error.args = (said["text"],)
    error.__cause__ = _There(f"\n\nin {who}:\n{said['trace']}")
    return error


def _told(error: Exception) -> dict[str, Any]:
    cls = type(error)
    ours = isinstance(error, LlmzooError) and cls.__name__ == cls.__qualname__
    return {
        "class": f"{cls.__module__}:{cls.__name__}" if ours else None,
        "name": cls.__name__,
        "text": str(error),
        "trace": "".join(traceback.format_exception(error)),
    }

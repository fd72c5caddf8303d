"""Remote calls of workers: what they return, and the callbacks that handle the results.

A worker returns a report (JSON) and, for some methods, arrays. An exception in a worker is returned as text
and raised again in the process that drives the run: an error of llmzoo with its own class, any other error
as a :class:`WorkerError`. A worker that dies returns nothing (:class:`WorkerLostError`).

One thread drives a run. How it handles a result may depend on the result, but not on the order in which
results arrive. So a run does not depend on how long each worker takes.
"""

from __future__ import annotations

import functools
import importlib
import json
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from llmzoo.engine.ray.weights import Bytes, empty_array
from llmzoo.errors import LlmzooError, WorkerError

Report = dict[str, Any]
Callback = Callable[[], None]

MAX_DEATHS = 3  # of workers during the same work, after which the run fails


class WorkerLostError(Exception):
    """A call will never return: its worker, or the machine with its result, is lost."""


def get_results(references: Sequence[Any]) -> list[Any]:
    """The results of a completed call; arrays are views into the object store.

    Raises :class:`WorkerLostError`.
    """
    try:
        results: list[Any] = ray.get(list(references))
    except RayError as error:
        raise WorkerLostError(" ".join(str(error).split())) from error
    return results


@dataclass(frozen=True, slots=True)
class _Call:
    on_end: Callback
    deadline: float | None
    on_timeout: Callback | None


class PendingCalls:
    """The calls that have not ended."""

    def __init__(self) -> None:
        self._calls: dict[Any, _Call] = {}

    def add(
        self,
        reference: Any,
        on_end: Callback,
        *,
        seconds: float | None = None,
        on_timeout: Callback | None = None,
    ) -> None:
        """Run ``on_end`` when a call has ended, or ``on_timeout`` if that takes more than ``seconds``."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._calls[reference] = _Call(on_end, deadline, on_timeout)

    def ignore(self, reference: Any) -> None:
        """Run no callback for this call."""
        self._calls.pop(reference, None)

    def wait_until(self, done: Callable[[], bool]) -> None:
        """Wait for calls and run their callbacks, one at a time, until ``done()``."""
        while not done():
            assert self._calls, "no call is pending"
            deadlines = [c.deadline for c in self._calls.values() if c.deadline is not None]
            timeout = max(0.0, min(deadlines) - time.monotonic()) if deadlines else None
            ready, _ = ray.wait(list(self._calls), timeout=timeout, fetch_local=False)
            if ready:
                self._calls.pop(ready[0]).on_end()
            else:
                self._run_timeouts()

    def _run_timeouts(self) -> None:
        now = time.monotonic()
        for reference, call in list(self._calls.items()):
            if call.deadline is not None and call.deadline <= now and call.on_timeout is not None:
                self.ignore(reference)
                call.on_timeout()


class _WorkerTraceback(Exception):
    """The traceback in a worker, as the cause of an error."""


def returns_report(arrays: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorates a worker's method that returns a report and ``arrays`` arrays; its errors become reports."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call_and_report(*args: Any) -> Any:
            others: list[Bytes | bytes]
            try:
                result = method(*args)
                report, *others = result if arrays else (result,)
                text = json.dumps({"report": report})
            except Exception as error:
                text = json.dumps({"error": _error_to_dict(error)})
                others = [empty_array()] * arrays
            return [text, *others] if arrays else text

        return call_and_report

    return decorate


def read_report(text: str, who: str) -> Report:
    """A worker's report; raises the worker's error. ``who``: the worker, for the error message."""
    error = error_from_report(text, who)
    if error is not None:
        raise error
    report: Report = json.loads(text)["report"]
    return report


def error_from_report(text: str, who: str) -> Exception | None:
    """The error that a worker raised, if any."""
    details = json.loads(text).get("error")
    if details is None:
        return None
    error: Exception
    if details["class"] is None:
        error = WorkerError(f"{who} raised {details['name']}: {details['text']}")
    else:
        module, _, name = details["class"].partition(":")
        cls = getattr(importlib.import_module(module), name)
        error = cls.__new__(cls)  # some take other arguments than their message
        error.args = (details["text"],)
    error.__cause__ = _WorkerTraceback(f"\n\nin {who}:\n{details['trace']}")
    return error


def _error_to_dict(error: Exception) -> dict[str, Any]:
    cls = type(error)
    is_own_error = isinstance(error, LlmzooError) and cls.__name__ == cls.__qualname__
    return {
        "class": f"{cls.__module__}:{cls.__name__}" if is_own_error else None,
        "name": cls.__name__,
        "text": str(error),
        "trace": "".join(traceback.format_exception(error)),
    }

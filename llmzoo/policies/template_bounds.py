"""Limits the time and the output of a chat template, which is a program that comes with a model.

Jinja's own sandbox blocks access to Python's objects, but does not limit loops. So the lines of the
running template are traced, in this thread only, and rendering stops at the first line over a
limit. A single operation on numbers or strings, such as ``9 ** 9 ** 9``, is one step of the
interpreter and cannot be interrupted.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from llmzoo.errors import ConfigError

MAX_SECONDS = 5.0
MAX_CHARACTERS = 4 * 2**20  # of the prompt, and of each string that the template builds
_GRACE_S = 0.02  # ordinary templates finish within it, so their strings are not measured
_TEMPLATE = "<template>"  # the file name of code that Jinja compiles from a string


class _RenderLimits:
    def __init__(self, name: str) -> None:
        self._name = name
        started = time.monotonic()
        self._measure_from, self._deadline = started + _GRACE_S, started + MAX_SECONDS

    def trace_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace only the frames of the template."""
        if frame.f_code.co_filename != _TEMPLATE:
            return None
        self.trace_line(frame, event, argument)
        return self.trace_line

    def trace_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        now = time.monotonic()
        if now > self._deadline:
            raise self.error(f"runs for more than {MAX_SECONDS:g} seconds")
        if now > self._measure_from:
            for value in frame.f_locals.values():
                if isinstance(value, str):
                    self.check_length(value)
        return self.trace_line

    def check_length(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise self.error(f"builds a text of more than {MAX_CHARACTERS:,} characters")

    def error(self, problem: str) -> ConfigError:
        return ConfigError(
            f"the chat template of {self._name} {problem}: fix or remove it in the model's folder, "
            "or use another model"
        )


def render_bounded(render: Callable[[], str], name: str) -> str:
    """Call ``render``, which renders a chat template of the model ``name``, and return its text.

    Raises :class:`ConfigError` after ``MAX_SECONDS`` or beyond ``MAX_CHARACTERS``.
    """
    limits = _RenderLimits(name)
    previous_trace = sys.gettrace()
    sys.settrace(limits.trace_call)
    try:
        text = render()
    except (RecursionError, MemoryError) as error:
        raise limits.error(f"fails with {type(error).__name__}") from error
    finally:
        sys.settrace(previous_trace)
    limits.check_length(text)
    return text

"""Bounds the rendering of a chat template, which is a program that comes with a model.

Jinja's own sandbox keeps templates from Python's objects, but not from loops. The lines of the running template
are traced, in this thread alone; a line that passes a bound ends the rendering. A single operation on numbers or
texts, such as ``9 ** 9 ** 9``, is one step of the interpreter and cannot be ended.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import Any

from llmzoo.errors import ConfigError

MAX_SECONDS = 5.0
MAX_CHARACTERS = 4 * 2**20  # characters of a prompt, or of a text that the template is making
_GRACE_S = 0.02  # an ordinary rendering is over, and its texts are not measured
_TEMPLATE = "<template>"  # the file name of what Jinja compiles from a text


class _RenderLimits:
    def __init__(self, name: str) -> None:
        self._name = name
        started = time.monotonic()
        self._slow, self._end = started + _GRACE_S, started + MAX_SECONDS

    def call(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Trace the frames of the template, and none of others."""
        if frame.f_code.co_filename != _TEMPLATE:
            return None
        self.line(frame, event, argument)
        return self.line

    def line(self, frame: FrameType, event: str, argument: Any) -> Any:
        now = time.monotonic()
        if now > self._end:
            raise self.error(f"runs for more than {MAX_SECONDS:g} seconds")
        if now > self._slow:
            for value in frame.f_locals.values():
                if isinstance(value, str):
                    self.check_length(value)
        return self.line

    def check_length(self, text: str) -> None:
        if len(text) > MAX_CHARACTERS:
            raise self.error(f"makes a text of more than {MAX_CHARACTERS:,} characters")

    def error(self, what: str) -> ConfigError:
        return ConfigError(
            f"the chat template of {self._name} {what}: repair or remove it in the model's folder, "
            "or use another model"
        )


def render_bounded(render: Callable[[], str], name: str) -> str:
    """The text of ``render``, which renders a chat template of the model ``name``.

    Raises :class:`ConfigError` after ``SECONDS``, and for a text of more than ``LONGEST`` characters.
    """
    bounds = _RenderLimits(name)
    before = sys.gettrace()
    sys.settrace(bounds.call)
    try:
        text = render()
    except (RecursionError, MemoryError) as error:
        raise bounds.error(f"fails with {type(error).__name__}") from error
    finally:
        sys.settrace(before)
    bounds.check_length(text)
    return text

"""Checks of what a server sends: names that are safe in paths and log lines, and bounded numbers.

A server is somebody else's program, and its names become folders, keys and log lines here.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import grpc

from llmzoo.errors import LlmzooError
from llmzoo.names import NAME_RULE, is_name

MAX_AGENTS = 1000
_MAX_LINE_LENGTH = 1000  # characters


class RemoteError(LlmzooError, RuntimeError):
    """A server cannot be reached, did not do what it was asked, or sent something invalid.

    ``code``: gRPC's status code, such as ``grpc.StatusCode.UNAVAILABLE``.
    """

    def __init__(self, message: str, code: grpc.StatusCode):
        super().__init__(message)
        self.code = code


def invalid_reply_error(what: str) -> RemoteError:
    """The error for a server that sends something invalid, such as ``"names 3 agents for 2
    agents"``."""
    return RemoteError(f"the server {what}, so it cannot be used", grpc.StatusCode.DATA_LOSS)


def check_name(text: str, subject: str) -> str:
    """A name that may become a folder here. Raises :class:`RemoteError` otherwise."""
    if not is_name(text):
        raise invalid_reply_error(f"names {subject} {to_single_line(text, 80)!r}, and {NAME_RULE}")
    return text


def check_agents(names: Sequence[str]) -> list[str]:
    """The names of agents. Raises :class:`RemoteError` if there are too many or duplicates."""
    if len(names) > MAX_AGENTS:
        raise invalid_reply_error(f"names {len(names)} agents, and {MAX_AGENTS} are the most")
    checked = [check_name(text, "an agent") for text in names]
    if len(set(checked)) < len(checked):
        raise invalid_reply_error("names an agent twice")
    return checked


def to_single_line(text: str, longest: int = _MAX_LINE_LENGTH) -> str:
    """A text for one line, without characters that move a cursor or start another line."""
    cut = text if len(text) <= longest else f"{text[:longest]}..."
    return "".join(c if c.isprintable() else _printable(c) for c in cut)


@contextmanager
def translate_parse_errors(what: str) -> Iterator[None]:
    """Raise parsing errors as :class:`RemoteError`: the server sent something malformed."""
    try:
        yield
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        reason = f"{type(error).__name__}: {to_single_line(str(error), 200)}"
        raise invalid_reply_error(f"sent {what} that cannot be read ({reason})") from error


def check_number(value: float, least: float, most: float, subject: str) -> float:
    """A number within bounds. Raises :class:`RemoteError` otherwise, also for NaN."""
    if not (math.isfinite(value) and least <= value <= most):
        raise invalid_reply_error(f"says {value:g} for {subject}, which is {least:g} to {most:g}")
    return value


def _printable(character: str) -> str:
    return " " if character in "\t\n\r" or unicodedata.category(character) == "Zs" else "?"

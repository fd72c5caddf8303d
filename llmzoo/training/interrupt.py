"""Ctrl-C or SIGTERM during a run: the first lets the iteration finish, the second stops immediately."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

_DEFAULTS = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
STOPPING_MESSAGE = (
    "stopping after this iteration, with a checkpoint; press Ctrl-C again to stop at once"
)


@dataclass(slots=True)
class StopRequest:
    """Whether the run should stop."""

    requested: bool = False


@contextmanager
def graceful_shutdown(note: Callable[[str], None]) -> Iterator[StopRequest]:
    """Within this context the first SIGINT or SIGTERM sets ``StopRequest.requested`` and calls ``note``.

    The second raises ``KeyboardInterrupt``. So does leaving the context after the first. This
    replaces only Python's default handlers, and only in the main thread, the only one where that is
    possible. A program with its own handler, or one that ignores a signal, keeps it.
    """
    stop = StopRequest()
    main = threading.current_thread() is threading.main_thread()
    before = {
        number: default
        for number, default in _DEFAULTS.items()
        if main and signal.getsignal(number) is default
    }

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.requested:
            raise KeyboardInterrupt
        stop.requested = True
        # in a separate thread, because this one may be in the middle of writing to the same stream
        threading.Thread(
            target=note, args=(STOPPING_MESSAGE,), name="llmzoo-stopping", daemon=True
        ).start()

    for number in before:
        signal.signal(number, handle)
    try:
        yield stop
    finally:
        for number, default in before.items():
            signal.signal(number, default)
    if stop.requested:
        raise KeyboardInterrupt

"""The end of a program, as ``Py_FinalizeEx`` brings it about.

A child leaves by ``os._exit``, since a true end of the interpreter would write to every page that
it shares with the zygote. So what a program can see of an end is done here, in Python's order.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import io
import sys
from types import ModuleType
from typing import Any

# text first: it fills the others
_WRITERS: tuple[type[io.IOBase], ...] = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def finish(module: ModuleType) -> None:
    """Wait for threads, call exit functions, let go of the module's names, flush all that is open.

    Raises what flushing the standard streams raised: Python's exit status is not 0 then.
    """
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    try:
        _flush_standard()
    finally:
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        _let_go(vars(module))
        _flush_standard()


def _let_go(names: dict[str, Any]) -> None:
    """Destroy what a module's names hold, and flush the writers that something else still holds."""
    for private in (True, False):
        for name in [name for name in names if name.startswith("_") is private]:
            if name != "__builtins__":
                names[name] = None
    gc.collect()  # the zygote's own objects are frozen, so this looks at the program's alone
    mine = gc.get_objects()
    for kind in _WRITERS:
        for writer in [one for one in mine if issubclass(type(one), kind)]:
            # closed, detached, or for reading: the error of a destructor is ignored too
            with contextlib.suppress(Exception):
                kind.flush(writer)


def _flush_standard() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()

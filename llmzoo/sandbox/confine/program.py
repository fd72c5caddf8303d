"""Runs a program as ``python program.py`` would, or as a session that keeps its names."""

from __future__ import annotations

import ast
import atexit
import contextlib
import gc
import io
import sys
import traceback
import weakref
from types import ModuleType
from typing import Any

from .channel import Channel, ChannelClosed
from .plain_data import NotData

# exit codes of a child; they inform the user and never decide a verdict
ENDED, RAISED, NO_MEMORY, FORBIDDEN = 0, 101, 102, 103
FILENAME = "<program>"
# text first, because it writes into the others
_WRITERS: tuple[type[io.IOBase], ...] = (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom)


def run(source: str) -> int:
    """Execute a program as ``__main__`` and return its exit code. Tracebacks go to standard error."""
    sys.argv = ["program.py"]
    ending = _execute(lambda: _run_main(source))
    finished = _execute(_finish_program)
    return ending or finished


def _run_main(source: str) -> None:
    """Execute a program in a new ``__main__`` module, which only ``sys.modules`` references."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    exec(compile(source, FILENAME, "exec", dont_inherit=True), module.__dict__)


def _execute(action: Any) -> int:
    try:
        action()
        return ENDED
    except SystemExit as stop:
        if stop.code is None or stop.code == 0:
            return ENDED
        if not isinstance(stop.code, int):
            print(stop.code, file=sys.stderr)
        return RAISED
    except MemoryError:
        print("MemoryError", file=sys.stderr)
        return NO_MEMORY
    except PermissionError as error:
        _print_traceback(error)
        return FORBIDDEN
    except BaseException as error:
        _print_traceback(error)
        return RAISED


def _print_traceback(error: BaseException) -> None:
    """Print the program's own frames. Never fails, whatever the exception does."""
    try:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != FILENAME:
            trace = trace.tb_next
        lines = traceback.format_exception(type(error), error, trace, limit=12)
        sys.stderr.write("".join(lines)[-8_000:])
    except BaseException:
        sys.stderr.write(f"{type(error).__name__}\n")


def serve_session(channel: Channel) -> None:
    """Execute pieces of code one after another in the same namespace.

    A request is ``["run", number, code, stdin]``, its answer ``[number, exit code, stdout, stderr]``.
    The value of a last expression is printed, as at Python's prompt.
    """
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    while True:
        try:
            _, number, code, stdin = channel.receive()
        except (ChannelClosed, NotData):
            return
        out, err = io.StringIO(), io.StringIO()
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), out, err
        ending = _execute(lambda code=code: _execute_interactive(code, module.__dict__))
        channel.send([number, ending, out.getvalue(), err.getvalue()])


def _execute_interactive(code: str, names: dict[str, Any]) -> None:
    tree = ast.parse(code, FILENAME)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(_compile(tree, "exec"), names)
    else:
        exec(_compile(ast.Module(tree.body[:-1], []), "exec"), names)
        value = eval(_compile(ast.Expression(last.value), "eval"), names)
        if value is not None:
            print(repr(value))


def _compile(tree: ast.AST, mode: str) -> Any:
    return compile(tree, FILENAME, mode, dont_inherit=True)  # type: ignore[call-overload]


def _finish_program() -> None:
    """End the program as ``Py_FinalizeEx`` does.

    Wait for threads, call exit functions, free the module, and flush all open files.

    The child leaves by ``os._exit``, because an ordinary exit would write to every page that it shares
    with the zygote. Errors of flushing the standard streams are raised, since Python then exits with
    another status than 0.
    """
    if "threading" in sys.modules:
        sys.modules["threading"]._shutdown()
    atexit._run_exitfuncs()
    try:
        _flush_standard()
    finally:
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        _flush_writers()
        _collect_main_module()
        _flush_writers()
        _flush_standard()


def _collect_main_module() -> None:
    """Free the program's module, in the order in which Python does.

    Finalisers run while the names of the module still exist. Only if something else references the module are
    its names cleared.
    """
    module = sys.modules.pop("__main__", None)
    reference = weakref.ref(module) if type(module) is ModuleType else None
    del module
    gc.collect()  # the zygote's objects are frozen, so this sees only the program's
    module = reference() if reference else None
    if module is not None:
        names = vars(module)
        for private in (True, False):
            for name in [name for name in names if name.startswith("_") is private]:
                if name != "__builtins__":
                    names[name] = None
        gc.collect()


def _flush_writers() -> None:
    """Flush all writers of the program.

    A writer in a reference cycle would otherwise be finalised after its file was closed.
    """
    own_objects = gc.get_objects()
    for kind in _WRITERS:
        for writer in [one for one in own_objects if issubclass(type(one), kind)]:
            # closed, detached, or for reading; Python ignores errors of destructors too
            with contextlib.suppress(Exception):
                kind.flush(writer)


def _flush_standard() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not getattr(stream, "closed", False):
            stream.flush()

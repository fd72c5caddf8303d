"""Runs a program as ``python program.py`` would, or as a session that keeps its names."""

from __future__ import annotations

import ast
import io
import sys
import traceback
from types import ModuleType
from typing import Any

from .channel import Channel, Closed
from .finishing import finish
from .values import NotData

# how a child ends; what it says of itself is for the reader, never for a verdict
ENDED, RAISED, NO_MEMORY, FORBIDDEN = 0, 101, 102, 103
FILENAME = "<program>"


def run(source: str) -> int:
    """Execute a program as ``__main__``; returns how it ended. Tracebacks go to standard error."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    sys.argv = ["program.py"]
    ending = _execute(
        lambda: exec(compile(source, FILENAME, "exec", dont_inherit=True), module.__dict__)
    )
    finished = _execute(lambda: finish(module))
    return ending or finished


def _execute(act: Any) -> int:
    try:
        act()
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
    """The frames of the program only; never fails, whatever the exception is made of."""
    try:
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code.co_filename != FILENAME:
            trace = trace.tb_next
        lines = traceback.format_exception(type(error), error, trace, limit=12)
        sys.stderr.write("".join(lines)[-8_000:])
    except BaseException:
        sys.stderr.write(f"{type(error).__name__}\n")


def serve_session(channel: Channel) -> None:
    """Execute one piece of code after another in the same names.

    Request: ``["run", number, code, stdin]``; answer: ``[number, how it ended, stdout, stderr]``. As
    at Python's prompt, the value of a last expression is printed.
    """
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    while True:
        try:
            _, number, code, stdin = channel.receive()
        except (Closed, NotData):
            return
        out, err = io.StringIO(), io.StringIO()
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(stdin), out, err
        ending = _execute(lambda code=code: _prompt(code, module.__dict__))
        channel.send([number, ending, out.getvalue(), err.getvalue()])


def _prompt(code: str, names: dict[str, Any]) -> None:
    tree = ast.parse(code, FILENAME)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr):
        exec(_compiled(tree, "exec"), names)
    else:
        exec(_compiled(ast.Module(tree.body[:-1], []), "exec"), names)
        value = eval(_compiled(ast.Expression(last.value), "eval"), names)
        if value is not None:
            print(repr(value))


def _compiled(tree: ast.AST, mode: str) -> Any:
    return compile(tree, FILENAME, mode, dont_inherit=True)  # type: ignore[call-overload]

"""The process in which math-verify compares what the exact layer leaves open.

Run by :mod:`llmzoo.envs.math.answers.asking` as a program of its own, it imports nothing of llmzoo
but what confines it. It reads one JSON line a question, ``{"gold": ..., "given": ...}``, and answers
each with ``{"same": true or false}``. The questions are read by a child, forked when every module is
loaded, that opens no file, starts no process and reaches no network. A question that takes too long
or too much memory ends the child; the next one stands ready at once.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import logging
import os
import pkgutil
import resource
import signal
import sys
from typing import Any

CPU_S = 2.0  # of processor time for a question
WALL_S = 5.0
_MEMORY_MB = 1024
_NO_NEW_PRIVILEGES = 38
# what SymPy imports only when it is needed, when no file can be opened any more
_LAZY = """sympy.assumptions.wrapper sympy.calculus.util sympy.combinatorics sympy.concrete.delta
sympy.concrete.guess sympy.functions.elementary.complexes sympy.integrals.meijerint
sympy.integrals.risch sympy.integrals.heurisch sympy.integrals.manualintegrate sympy.ntheory.modular
sympy.ntheory.residue_ntheory sympy.physics.matrices sympy.physics.units sympy.polys.numberfields
sympy.series.gruntz sympy.series.limits sympy.sets.setexpr sympy.simplify.fu sympy.simplify.gammasimp
sympy.simplify.hyperexpand sympy.simplify.trigsimp sympy.simplify.combsimp sympy.solvers.bivariate
sympy.solvers.diophantine sympy.solvers.inequalities sympy.solvers.polysys sympy.solvers.solveset
sympy.tensor.tensor antlr4.LL1Analyzer""".split()  # noqa: SIM905
_LAZY_PACKAGES = (
    "sympy.sets.handlers",
    "sympy.assumptions.handlers",
    "sympy.assumptions.predicates",
)
_WARMING = [
    (r"\frac{\sqrt{8}}{2}", r"\sqrt{2}"),
    (r"\tan^2 y+1", r"\sec^2 y"),
    (r"\frac{(n-1)!}{k!} \frac{n}{(n-k)!}", r"\frac{n!}{k!(n-k)!}"),
    (r"1 \leq |z| \leq \frac{3}{2}", r"[-\frac{3}{2}, -1] \cup [1, \frac{3}{2}]"),
    (r"x^2+y^2 = 1", r"x^2 = 2 - y^2"),
    (r"\sum_{k=0}^{n-1} F_k", r"\sum_{j=0}^{n-1} F_j"),
    (r"\log_2 8 + \ln e", r"4"),
    (
        r"\begin{pmatrix} 1 & x \\ 2 & 3 \end{pmatrix}",
        r"\begin{pmatrix} 1 & x \\ 2 & 4 \end{pmatrix}",
    ),
    (r"x^2 \geq 4", r"(-\infty, -2] \cup [2, \infty)"),
    (r"e^{i\pi/3}", r"\frac{1}{2} + \frac{\sqrt{3}}{2} i"),
]


def main() -> None:
    settings = json.loads(sys.stdin.readline())
    sys.path[:] = [settings["sandbox"], *settings["path"]]
    from confine import kernel, seccomp

    filter = None
    with contextlib.suppress(OSError):  # a machine whose system calls have no table here
        filter = seccomp.Filter(1)
    del sys.path[0]
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    compare = _loaded()
    for which, value in (
        (resource.RLIMIT_AS, _MEMORY_MB << 20),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        kernel.limit(which, value)
    gc.freeze()  # children share what is loaded
    _say({"ready": True})
    while True:
        child = os.fork()
        if child == 0:
            if filter is not None:
                ctypes.CDLL(None).prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
                with contextlib.suppress(OSError):  # a machine without filters; the limits hold
                    kernel.install(filter.for_process(os.getpid()))
            _serve(compare)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return  # no more questions
        _say({"same": False})  # its question has ended it


def _loaded() -> Any:
    """The comparison, with every module loaded that it may need."""
    from math_verify import LatexExtractionConfig, parse, verify

    config = [LatexExtractionConfig()]

    def compare(gold: str, given: str) -> bool:
        # no time limits of its own, which need signals; and no plain expressions, which SymPy evaluates
        read = [parse(f"${text}$", config, parsing_timeout=None) for text in (gold, given)]
        return bool(verify(*read, timeout_seconds=None))

    for name in _LAZY:
        importlib.import_module(name)
    for name in _LAZY_PACKAGES:
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.endswith("tests"):
                importlib.import_module(module.name)
    for gold, given in _WARMING:
        compare(gold, given)
    return compare


def _serve(compare: Any) -> None:
    for line in sys.stdin:
        question = json.loads(line)
        # what these signals do by themselves, even inside a long calculation, is to end the process
        signal.setitimer(signal.ITIMER_PROF, CPU_S)
        signal.setitimer(signal.ITIMER_REAL, WALL_S)
        try:
            same = compare(question["gold"], question["given"])
        except (Exception, MemoryError, RecursionError):
            same = False
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _say({"same": same})


def _say(message: dict[str, bool]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()

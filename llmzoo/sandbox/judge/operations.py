"""The operations behind Python's special methods, by name.

Both sides use this table. The tester gives a proxy the special methods that the program's class has,
and the program's side carries each out by the builtin or operator that calls it.
"""

from __future__ import annotations

import builtins
import copy
import math
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

Operations = dict[str, Callable[..., Any]]


def _functions(module: ModuleType, names: str) -> Operations:
    """The functions of a module, by their names without underscores."""
    return {name.strip("_"): getattr(module, name) for name in names.split()}


# both operands are sent; proxies.py says what happens between an object and data
ARITHMETIC: Operations = {
    **_functions(
        operator, "add sub mul matmul truediv floordiv mod pow lshift rshift and_ or_ xor"
    ),
    "divmod": divmod,
}
IN_PLACE = _functions(operator, " ".join(f"i{name}" for name in ARITHMETIC if name != "divmod"))
COMPARISONS = _functions(operator, "eq ne lt le gt ge")
# they convert one object to a number
CONVERSIONS: Operations = {
    **_functions(builtins, "abs bool int float complex round"),
    **_functions(math, "trunc floor ceil"),
    "index": operator.index,
}
UNARY = _functions(operator, "neg pos invert")
OTHERS: Operations = {
    **_functions(builtins, "len iter next reversed str repr format bytes hash dir"),
    **_functions(operator, "getitem setitem delitem contains"),
    **_functions(copy, "copy deepcopy"),
    "enter": lambda value: type(value).__enter__(value),
    "exit": lambda value, *error: type(value).__exit__(value, *error),
}
OPERATIONS: Operations = ARITHMETIC | IN_PLACE | COMPARISONS | CONVERSIONS | UNARY | OTHERS


def special_names(kind: type, without: tuple[type, ...] = ()) -> list[str]:
    """The operations that a class defines, except those of ``object`` and of the bases ``without``."""
    names: set[str] = set()
    for base in kind.__mro__[:-1]:
        if base not in without:
            names.update(name[2:-2] for name in vars(base) if name[:2] == "__" == name[-2:])
    reflected = {name for name in ARITHMETIC if f"r{name}" in names}
    return sorted((names | reflected) & OPERATIONS.keys() | names & {"call"})

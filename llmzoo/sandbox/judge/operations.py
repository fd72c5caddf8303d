"""What Python does to objects by special methods, by name: how a proxy asks, how a program answers.

Both sides use this table: the tester gives a proxy the special methods that the program's class
has, and the program's side carries them out with the builtin or operator that calls them.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable
from typing import Any

# both operands are sent; between an object and data see proxies.py
ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "matmul": operator.matmul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "divmod": divmod,
    "pow": operator.pow,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
IN_PLACE = {
    f"i{name}": getattr(operator, f"i{name}") for name in ARITHMETIC if name not in ("divmod",)
}
COMPARISONS = {name: getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
# what they give is a number, or stands for one
CONVERSIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "bool": bool,
    "int": int,
    "float": float,
    "complex": complex,
    "index": operator.index,
    "round": round,
    "trunc": math.trunc,
    "floor": math.floor,
    "ceil": math.ceil,
}
UNARY: dict[str, Callable[..., Any]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
}
OTHERS: dict[str, Callable[..., Any]] = {
    "len": len,
    "iter": iter,
    "next": next,
    "reversed": reversed,
    "str": str,
    "repr": repr,
    "format": format,
    "bytes": bytes,
    "hash": hash,
    "dir": dir,
    "getitem": operator.getitem,
    "setitem": operator.setitem,
    "delitem": operator.delitem,
    "contains": operator.contains,
    "enter": lambda value: type(value).__enter__(value),
    "exit": lambda value, *error: type(value).__exit__(value, *error),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
OPERATIONS: dict[str, Callable[..., Any]] = {
    **ARITHMETIC,
    **IN_PLACE,
    **COMPARISONS,
    **CONVERSIONS,
    **UNARY,
    **OTHERS,
}


def special_names(kind: type, without: tuple[type, ...] = ()) -> list[str]:
    """The operations that a class defines beyond what every object, and these bases, have."""
    found: set[str] = set()
    for base in kind.__mro__[:-1]:
        if base in without:
            continue
        found.update(name[2:-2] for name in vars(base) if name[:2] == "__" == name[-2:])
    reflected = {name for name in ARITHMETIC if f"r{name}" in found}
    return sorted((found | reflected) & OPERATIONS.keys() | found & {"call"})

"""Keeps the code of other collections from printing: a command's output is its own."""

from __future__ import annotations

import sys


def silence_prints(package: str) -> None:
    """Replace ``print`` in the modules of a package that are imported so far."""
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(f"{package}."):
            vars(module)["print"] = _print_nothing


def _print_nothing(*_: object, **__: object) -> None:
    """``print``, without output."""

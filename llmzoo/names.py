"""Names: which ones are allowed, and whether they are known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from llmzoo.errors import UnknownNameError

_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
NAME_RULE = 'a name has 1 to 64 of the characters a-z, A-Z, 0-9, "_", "." and "-", not dots alone'


def is_name(text: str) -> bool:
    """Whether a text, such as an agent's name, may become a folder (:data:`NAME_RULE`)."""
    return _NAME.fullmatch(text) is not None and text.strip(".") != ""


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise :class:`UnknownNameError` for the first of ``names`` that is not among the ``known``."""
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)

"""Sandboxes that tests share, and limits for programs that end and for those that do not."""

from __future__ import annotations

from typing import Any

import pytest

from llmzoo.errors import SandboxError
from llmzoo.sandbox import Limits, Sandbox

SHORT = Limits(time_limit=0.2)  # for programs that exceed it
AMPLE = Limits(time_limit=60)  # for programs that end, on a busy machine too

_open: dict[str, Sandbox] = {}


def at(level: int | str = "auto", **options: Any) -> Sandbox:
    """The sandbox of this process with these options. Skips, with the reason, where it cannot exist."""
    key = repr((level, sorted(options.items())))
    if key not in _open:
        _open[key] = Sandbox(level=level, **{"workers": 2, "min_level": 1, **options})
    try:
        assert level in ("auto", _open[key].report.level)
    except SandboxError as error:
        pytest.skip(str(error))
    return _open[key]

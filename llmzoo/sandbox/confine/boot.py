"""Starts a Python process that imports the sandbox as a package of its own, without the rest of llmzoo."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_BOOT = """
import sys, types
sys.path[:] = [path for path in sys.path if path]
package = sys.modules["sandbox"] = types.ModuleType("sandbox")
package.__path__ = [{folder!r}]
from sandbox.{module} import main
main({fds})
"""


def start(
    module: str,
    fds: Sequence[int],
    flags: Sequence[str],
    environment: Mapping[str, str],
    **options: Any,
) -> subprocess.Popen[bytes]:
    """Call ``main(*fds)`` of a module of the sandbox in a new process and session.

    ``flags``: of the interpreter. ``options``: of ``subprocess.Popen``.
    """
    folder = str(Path(__file__).resolve().parent.parent)
    code = _BOOT.format(folder=folder, module=module, fds=", ".join(map(str, fds)))
    return subprocess.Popen(
        [sys.executable, *flags, "-X", "utf8", "-c", code],
        pass_fds=fds,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        **options,
    )

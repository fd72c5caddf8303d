"""The worker's end of ``peers.Peer``: answers lines of JSON until its input ends.

It needs the standard library alone, since it runs in a peer's environment.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

ANSWER = "answer "  # begins a line that is one; what a library prints at its import is none


def serve(answer: Callable[..., dict[str, Any]]) -> None:
    """Call ``answer(**request)`` for each request and write what it returns.

    Whatever else is printed to the standard output, by a library or by its C code, goes to the
    standard error: the descriptor 1 leads there, and the answers have one of their own.
    """
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        replies.write(f"{ANSWER}{json.dumps(answer(**json.loads(line)))}\n")
        replies.flush()

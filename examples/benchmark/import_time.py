"""How long ``import llmzoo`` takes in a fresh interpreter, which must not load torch.

    python examples/benchmark/import_time.py

The interpreter's own start is not counted.
"""

from __future__ import annotations

import statistics
import subprocess
import sys

from timing import Row, row

REPEATS = 7
PROGRAM = """
import sys, time
began = time.perf_counter()
import llmzoo
took = time.perf_counter() - began
assert "torch" not in sys.modules, "import llmzoo loads torch"
print(took)
"""


def compare(repeats: int = REPEATS) -> list[Row]:
    times = [
        float(subprocess.check_output([sys.executable, "-c", PROGRAM], text=True))
        for _ in range(repeats)
    ]
    return [row("import_time", statistics.median(times), "s", higher_is_better=False)]


if __name__ == "__main__":
    print(f"import llmzoo: {compare()[0]['ours']:.3f} s")

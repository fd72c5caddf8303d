"""Run the tests of equal numbers in every arithmetic that this processor can be told to use.

    python tests/numeric.py [PYTEST ARGUMENTS]

prints a table, and exits with 1 if a test failed. Equal numbers must be equal whatever vector
instructions the libraries choose and however many threads share a sum. The tests are those of
``make test`` in each file that names a floating-point type.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parent
SETTINGS: list[dict[str, str]] = [
    {"OMP_NUM_THREADS": "1"},
    {"OMP_NUM_THREADS": "2"},
    {"ATEN_CPU_CAPABILITY": "default"},
    {"ATEN_CPU_CAPABILITY": "avx2"},
    {"ATEN_CPU_CAPABILITY": "avx512"},
    {"MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ONEDNN_MAX_CPU_ISA": "SSE41"},
    {"MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
]


def possible(setting: dict[str, str]) -> bool:
    """Whether this processor has the instructions; others are not raised, only lowered."""
    wanted = setting.get("ATEN_CPU_CAPABILITY", "default")
    flags = Path("/proc/cpuinfo")
    return wanted == "default" or (flags.exists() and f" {wanted}" in flags.read_text())


def files() -> list[str]:
    """Test files that compare numbers in a given precision."""
    return sorted(
        str(p) for p in TESTS.rglob("test_*.py") if re.search("float(32|64)", p.read_text())
    )


def run(setting: dict[str, str], arguments: list[str]) -> tuple[str, float]:
    """The last line of pytest's report, and seconds."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *files(), *arguments],
        env={"OMP_NUM_THREADS": "1", **os.environ, **setting},
        stdout=subprocess.PIPE,
        text=True,
    )
    lines = done.stdout.splitlines()
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR"))]
    print("\n".join(failed), end="\n" if failed else "", file=sys.stderr)
    return lines[-1] if lines else f"ended with {done.returncode}", time.monotonic() - began


def counted(summary: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", summary)
    return int(found[1]) if found else 0


def main(arguments: list[str]) -> int:
    print("| setting | passed | failed | seconds |\n|---|---|---|---|")
    worst = 0
    for setting in filter(possible, SETTINGS):
        summary, seconds = run(setting, arguments)
        passed = counted(summary, "passed")
        failed = counted(summary, "failed") + counted(summary, "error") + (passed == 0)
        worst = max(worst, failed)
        name = " ".join(f"{key}={value}" for key, value in setting.items())
        print(f"| `{name}` | {passed} | {failed} | {seconds:.0f} |", flush=True)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

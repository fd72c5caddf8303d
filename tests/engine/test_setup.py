"""In processes of their own, for what is set here cannot be taken back."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not Path("/proc/self/statm").exists(),
    reason="mallopt is glibc's, and what a process holds is read from /proc",
)

SCRIPT = """
import sys
from pathlib import Path
from llmzoo.engine.setup import keep_freed_memory
print(keep_freed_memory() if sys.argv[1] == "kept" else None)
import torch
torch.set_num_threads(1)
def pages():
    return int(Path("/proc/self/statm").read_text().split()[1])
tensors = [torch.ones(4_000_000) for _ in range(20)]  # 320 MB
full = pages()
del tensors
print(full - pages())
"""


def given_back(how, **variables):
    """What the function said, and the pages that went back to the kernel when tensors were freed."""
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, how],
        env={**plain, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    said, pages = done.stdout.split()
    return said, int(pages) * os.sysconf("SC_PAGE_SIZE") / 1e6


@pytest.mark.slow
def test_freed_tensors_are_kept():
    said, kept = given_back("kept")
    assert said == "True"
    assert kept < 20  # MB, of 320
    assert given_back("plain")[1] > 200


@pytest.mark.slow
def test_what_the_user_has_set_stays():
    assert given_back("kept", MALLOC_TOP_PAD_="131072")[0] == "False"

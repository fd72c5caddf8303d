"""What a page of the documentation shows: its blocks, and the commands in them."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"# (\w+\.py)\n")  # the first line of a block of Python that is a file


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """(language, content, line) of every fenced block of a page."""
    text = page.read_text()
    return [(m[2], m[3], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def printed(page: Path) -> dict[int, str]:
    """What a block of Python prints, by its line, where a block of text follows it at once."""
    text, found = page.read_text(), {}
    for code, output in pairwise(BLOCK.finditer(text)):
        between = text[code.end() : output.start()]
        if (code[2], output[2]) == ("python", "text") and not between.strip():
            found[text.count("\n", 0, code.start()) + 2] = output[3]
    return found


def commands(block: str) -> list[str]:
    """The commands of a bash block, without comments and line breaks."""
    joined = block.replace("\\\n", " ")
    lines = (re.sub(r"\s+#\s.*", "", line).strip() for line in joined.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith("#")]

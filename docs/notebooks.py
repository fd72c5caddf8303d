"""Writes the tutorials as notebooks, beside their pages: ``python docs/notebooks.py``.

Blocks of Python, commands and files become cells of code, and everything else stays Markdown. The first
cells install llmzoo where it is not, and write the files of earlier lessons, so that a notebook runs alone, for
example on Colab. A test says when a notebook is stale.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from address import colab_link, source_address

TUTORIALS = Path(__file__).parent / "tutorials"
_BLOCK = re.compile(r"^```(python|bash|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w.]+\.(?:py|yaml))\n")  # the first line of a block that is a file
_INSTALL = """\
try:
    import llmzoo
except ImportError:
    %pip install --quiet 'llmzoo-marl[train]'
"""


def written() -> dict[Path, str]:
    """What the pages say that their notebooks and their files of Python should be."""
    found: dict[Path, str] = {}
    files: dict[str, str] = {}  # of the lessons so far
    source = source_address()
    for page in sorted(TUTORIALS.glob("[1-9]_*.md")):
        text, path = page.read_text(), page.with_suffix(".ipynb")
        link = None if source is None else colab_link(f"docs/tutorials/{path.name}", source)
        found[path] = notebook(text, files, link)
        for _, block in _BLOCK.findall(text):
            if (file := _FILE.match(block)) and file[1].endswith(".py"):
                files[file[1]] = block
    return found | {TUTORIALS / name: text for name, text in files.items()}


def notebook(page: str, files: Mapping[str, str] | None = None, colab: str | None = None) -> str:
    """A page of Markdown as a notebook in Jupyter's format 4.5, without outputs.

    ``files``: those of earlier lessons, by name; the notebook writes the ones whose module it names.
    ``colab``: where Colab opens the notebook, which its first cell links to.
    """
    cells: list[dict[str, Any]] = []
    if colab is not None:
        _add(cells, "markdown", f"[Open in Colab]({colab})")
    _add(cells, "code", _INSTALL)
    code = "".join(block for _, block in _BLOCK.findall(page))
    for name, text in (files or {}).items():
        if re.search(rf"\b{Path(name).stem}\b", code):
            _add(cells, "code", f"%%writefile {name}\n{text}")
    end = 0
    for block in _BLOCK.finditer(page):
        _add(cells, "markdown", page[end : block.start()])
        _add(cells, "code", _magic(block[1], block[2]) + block[2])
        end = block.end()
    _add(cells, "markdown", page[end:])
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    whole = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _magic(language: str, block: str) -> str:
    """The first line of a cell that is not run as Python."""
    if file := _FILE.match(block):
        return f"%%writefile {file[1]}\n"
    return "%%bash\n" if language == "bash" else ""


def _add(cells: list[dict[str, Any]], kind: str, text: str) -> None:
    text = text.strip()
    if text:
        cell = {"id": f"cell-{len(cells)}", "cell_type": kind, "metadata": {}}
        code = {"execution_count": None, "outputs": []} if kind == "code" else {}
        cells.append({**cell, **code, "source": text.splitlines(keepends=True)})


def main() -> None:
    for path, text in written().items():
        path.write_text(text)
        print(path.relative_to(TUTORIALS.parent.parent))


if __name__ == "__main__":
    main()

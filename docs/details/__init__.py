"""The sections of a learner's page that do not come from docstrings: equations, example, implementation details.

Each detail identifies a line of code by a fragment of it. The line number is looked up when the page is
generated, so links stay correct when the code moves.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path

from . import critics, examples, groups, teachers
from .parts import PROJECTS, Detail, Method, Reference

PACKAGE = Path(__file__).resolve().parents[2] / "llmzoo"
_INTRODUCTION = """Choices that the paper leaves open, and deviations from the paper. Each entry links to the line of
code and, if there is one, to the function of another library that does the same or differs as described. The
[library versions](../details/parts.py) are listed in the source."""
METHODS: dict[str, Method] = {
    name: method
    for part in (groups, critics, examples, teachers)
    for name, method in part.METHODS.items()
}


def sections(name: str) -> str:
    """The sections of a learner's page, as Markdown for a page in ``docs/learners/``."""
    method = METHODS[name]
    return "\n\n".join(
        [
            "## Equations",
            "Credit:",
            f"```text\n{method.credit.strip()}\n```",
            "Loss:",
            f"```text\n{method.loss.strip()}\n```",
            "## Example",
            f"```python\n{method.example.strip()}\n```",
            "## Implementation details",
            _INTRODUCTION,
            "\n".join(map(_entry, method.details)),
        ]
    )


def line_of(file: Path, fragment: str) -> int:
    """The number of the line of ``file`` that contains ``fragment``.

    Raises ``ValueError`` unless the fragment occurs exactly once.
    """
    text = file.read_text(encoding="utf-8")
    if text.count(fragment) != 1:
        raise ValueError(f"{file} contains {fragment!r} {text.count(fragment)} times, not once")
    return text.count("\n", 0, text.index(fragment)) + 1


def _entry(detail: Detail) -> str:
    """A detail as an item of a list."""
    file = PACKAGE / detail.file
    number = line_of(file, detail.fragment)
    target = os.path.relpath(file, PACKAGE.parent / "docs" / "learners")
    places = [f"[`{detail.file}:{number}`]({target}#L{number})", *map(_named, detail.see)]
    return textwrap.fill(
        f"- {detail.text} ({'; '.join(places)})",
        width=110,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _named(reference: Reference) -> str:
    place = f"[{reference.project}]({PROJECTS[reference.project]}) `{reference.file}`"
    return f"{place} `{reference.function}`" if reference.function else place

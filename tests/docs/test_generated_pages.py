"""The generated pages are those that the docstrings give."""

from __future__ import annotations

import pytest
from builders import build
from pages import ROOT

from llmzoo.cli.reference_docs import config_options

DOCS = ROOT / "docs"
NAMES = [
    n
    for n in build.llmzoo.list_learners()
    if build.learner_class(n).__module__.startswith("llmzoo.")
]


@pytest.mark.slow
def test_pages_are_up_to_date():
    """All of them, and no other page is left over. Those of duels solve their games, which takes seconds."""
    pages = build.pages()
    stale = [
        n for n, text in pages.items() if not (DOCS / n).exists() or (DOCS / n).read_text() != text
    ]
    assert not stale, f"run python docs/build.py: {stale}"
    there = {
        f"{p.parent.name}/{p.name}"
        for d in ("environments", "learners")
        for p in (DOCS / d).glob("*.md")
    }
    assert there == {name for name in pages if "/" in name}
    assert pages["papers.md"].startswith("<!-- written by docs/build.py; edit docs/papers.yaml")


def test_pages_of_learners_are_up_to_date():
    stale = [
        n for n in NAMES if (DOCS / "learners" / f"{n}.md").read_text() != build.learner_page(n)
    ]
    assert not stale, f"run python docs/build.py: {stale}"


def test_every_option_of_every_learner_is_explained():
    for name in build.llmzoo.list_learners():
        for option, _, _, comment in config_options(build.learner_class(name).Config):
            assert comment, f"{name}.{option} has no comment"

"""The generated pages are those that the docstrings give."""

from __future__ import annotations

from builders import build
from pages import ROOT

from llmzoo.cli.about import options_of

DOCS = ROOT / "docs"


def test_pages_are_up_to_date():
    stale = [
        name
        for name, text in build.pages().items()
        if not (DOCS / name).exists() or (DOCS / name).read_text() != text
    ]
    assert not stale, f"run python docs/build.py: {stale}"


def test_no_page_is_left_over():
    there = {
        f"{p.parent.name}/{p.name}"
        for d in ("environments", "learners")
        for p in (DOCS / d).glob("*.md")
    }
    assert there == {name for name in build.pages() if "/" in name}


def test_every_option_of_every_learner_is_explained():
    for name in build.llmzoo.list_learners():
        for option, _, _, comment in options_of(build.learner_class(name).Config):
            assert comment, f"{name}.{option} has no comment"

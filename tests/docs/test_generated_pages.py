"""The generated pages are those that the docstrings give."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from llmzoo.cli.about import options_of

DOCS = Path(__file__).resolve().parents[2] / "docs"


def load_build():
    spec = importlib.util.spec_from_file_location("docs_build", DOCS / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = load_build()


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
    assert there == set(build.pages())


def test_every_option_of_every_learner_is_explained():
    for name in build.llmzoo.list_learners():
        for option, _, _, comment in options_of(build.learner_class(name).Config):
            assert comment, f"{name}.{option} has no comment"

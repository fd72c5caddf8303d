"""CITATION.cff, the forms for issues and CONTRIBUTING.md are what their readers expect."""

from __future__ import annotations

import re

import pytest
import yaml
from pages import ROOT

from llmzoo.version import __version__

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"textarea", "input", "dropdown", "checkboxes", "markdown"}


def test_the_citation_is_of_this_version():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert found["version"] == __version__
    assert found["type"] == "software"
    assert {"cff-version", "message", "title", "authors", "license"} <= set(found)
    assert all({"name"} <= set(a) or {"family-names"} <= set(a) for a in found["authors"])


@pytest.mark.parametrize("form", [f for f in FORMS if f.stem != "config"], ids=lambda f: f.stem)
def test_a_form_can_be_filled_in(form):
    found = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(found)
    ids = [field["id"] for field in found["body"]]
    assert len(ids) == len(set(ids))
    for field in found["body"]:
        assert field["type"] in KINDS
        assert field["attributes"]["label"]
    assert any(field.get("validations", {}).get("required") for field in found["body"])


def test_there_are_forms():
    assert {f.stem for f in FORMS} == {"bug", "feature", "environment", "config"}


def test_the_files_that_contributing_names_are_there():
    named = set(re.findall(r"`([\w/]+/\w+\.py)`", (ROOT / "CONTRIBUTING.md").read_text()))
    assert "training/loop.py" in named
    missing = [n for n in named if not any((ROOT / at / n).exists() for at in (".", "llmzoo"))]
    assert missing == []

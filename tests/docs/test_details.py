"""What the learners' pages say of the implementation: the code, and the functions of other libraries."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path

import pytest
from builders import build, details

from llmzoo import list_learners

NAMED = [n for n in list_learners() if build.learner_class(n).__module__.startswith("llmzoo.")]


def test_every_learner_has_equations_an_example_and_details():
    assert set(details.METHODS) == set(NAMED)
    for name, method in details.METHODS.items():
        assert method.credit.strip(), name
        assert method.loss.strip(), name
        assert method.example.strip(), name
        assert len(method.details) >= 5, name
        assert len(set(method.details)) == len(method.details), f"{name} says something twice"


@pytest.mark.parametrize("name", sorted(details.METHODS))
def test_every_detail_is_about_one_line(name):
    for detail in details.METHODS[name].details:
        file = details.PACKAGE / detail.file
        line = file.read_text().splitlines()[details.line_of(file, detail.fragment) - 1]
        assert detail.fragment in line


@pytest.mark.parametrize("text", ["b = 2\n", "a = 1\na = 1\n"], ids=["absent", "twice"])
def test_a_fragment_that_is_not_there_once_is_an_error(tmp_path, text):
    (tmp_path / "code.py").write_text(text)
    with pytest.raises(ValueError, match="a = 1"):
        details.line_of(tmp_path / "code.py", "a = 1")


def test_the_line_of_a_fragment(tmp_path):
    (tmp_path / "code.py").write_text("b = 2\n\na = 1\n")
    assert details.line_of(tmp_path / "code.py", "a = 1") == 3


def test_functions_of_trl_are_there():
    found = find_spec("trl")
    if found is None:
        pytest.skip("trl is not installed")
    root = Path(found.origin).parent.parent
    told = {r for m in details.METHODS.values() for d in m.details for r in d.see}
    of_trl = [r for r in told if r.project == "TRL"]
    assert of_trl
    for reference in of_trl:
        owner, _, method = reference.function.partition(".")
        tree = ast.parse((root / reference.file).read_text())
        (cls,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == owner]
        assert method in {n.name for n in cls.body if isinstance(n, ast.FunctionDef)}, reference

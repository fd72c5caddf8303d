"""``llmzoo info``: the page of a name, and --machine; its lists are in test_listing.py."""

import json
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from llmzoo.cli.reference_docs import _format_hint


def test_json_is_the_contract(llmzoo):
    said = llmzoo("info", "--machine", "--json")
    result = json.loads(said.out)
    assert said.code == 0
    assert list(result) == [
        *("llmzoo", "python", "machine", "devices", "extras", "packages"),
        *("environments", "learners", "sandbox", "shipped"),
    ]
    assert result["devices"][0].startswith("cpu: ")
    assert result["extras"]["train"] == []
    assert result["packages"]["pettingzoo"].startswith("1.")
    assert list(result["sandbox"]) == ["level", "layers", "missing"]
    assert result["sandbox"]["level"] in (0, 1, 2, 3)
    assert ("seccomp" in result["sandbox"]["layers"]) == (result["sandbox"]["level"] > 0)


def test_a_table_for_people(llmzoo):
    said = llmzoo("info", "--machine").out
    assert "sandbox: level" in said
    assert "packages: torch" in said


def test_an_extra_that_is_not_there_names_what_it_needs(llmzoo, monkeypatch):
    """A distribution of which one extra is here, one is not, and one is made of both."""
    lines = ['numpy>=1; extra == "here"', 'no-such-package>=2; extra == "far"']
    lines += ['llmzoo-marl[here,far]; extra == "both"', "pettingzoo>=1.27"]
    monkeypatch.setattr("llmzoo.cli.installation.requires", lambda name: lines)
    monkeypatch.setattr(
        "llmzoo.cli.installation.metadata",
        lambda name: SimpleNamespace(get_all=lambda key: ["here", "far", "both"]),
    )
    result = json.loads(llmzoo("info", "--machine", "--json").out)["extras"]
    assert result == {"here": [], "far": ["no-such-package"], "both": ["no-such-package"]}
    assert "needs no-such-package" in llmzoo("info", "--machine").out


def test_the_arguments_of_an_environment_say_what_they_accept(llmzoo):
    lines = llmzoo("info", "sudoku_v0").out.splitlines()
    assert '| `difficulty` | `"easy"`, `"medium"`, `"hard"` or null | `null` |' in lines
    assert '| `split` | `"train"`, `"test"`, `"all"` | `"train"` |' in lines
    assert '| `render_mode` | `"ansi"`, `"human"`, `"rgb_array"` | `null` |' in lines
    assert "| `max_turns` | `int` | `4` |" in lines


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("magrpo", "--machine"),
        ("sudoku_v0", "--family games"),
        ("--machine", "--learners"),
        ("--machine", "--installed"),
        ("--learners", "--family games"),
    ],
)
def test_options_that_exclude_each_other(llmzoo, one, other):
    said = llmzoo("info", one, *other.split())
    first, second = one if one.startswith("--") else "--name", other.split()[0]
    assert (said.code, said.out) == (2, "")
    assert f"{first} and {second} exclude each other" in said.err


@pytest.mark.parametrize(
    ("hint", "accepts"),
    [
        (int, "`int`"),
        (float | None, "`float` or null"),
        (Literal["a", 2] | None, '`"a"`, `2` or null'),
        (Callable[[str], int] | str, "`Callable[[str], int]` or `str`"),
        (Mapping[str, Any], "`Mapping[str, Any]`"),
        (Any, "`Any`"),
    ],
)
def test_what_a_hint_accepts(hint, accepts):
    assert _format_hint(hint) == accepts

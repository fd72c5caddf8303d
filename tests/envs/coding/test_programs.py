"""Programs are found in whatever a model writes, cut down, and put together."""

from __future__ import annotations

import ast
import gc
import time
import warnings

import pytest

from llmzoo import testing
from llmzoo.envs.coding.programs import (
    NoProgram,
    definitions,
    extract,
    functions,
    merge,
    remove_definitions,
)

AUX = "def aux(x):\n    return x + 1"
MAIN = "def main(a):\n    return [aux(x) for x in a]"


@pytest.mark.parametrize(
    "text",
    [
        AUX,
        f"\n\n{AUX}\n",
        f"```python\n{AUX}\n```",
        f"Here is it:\n\n```py\n{AUX}\n```\nIt adds one.",
        f"```\n{AUX}",
        f"Sure! The helper:\n\n{AUX}\n\nThis adds one to x.",
        f"    ```python\n    {AUX.replace(chr(10), chr(10) + '    ')}\n    ```",
        f"~~~\n{AUX}\n~~~",
        f"```bash\npip install it now\n```\n```python\n{AUX}\n```",
        f"```python\n{MAIN}\n```\nand\n```python\n{AUX}\n```",
        f"def broken(:\n    pass\n\n{AUX}",
    ],
)
def test_extracted_from_prose_and_fences(text):
    assert "aux" in functions(extract(text, ["aux"]))
    namespace = ast.unparse(functions(extract(text, ["aux"]))["aux"])
    assert namespace == AUX


def test_of_several_blocks_those_with_a_wanted_name_win():
    text = f"```\n{AUX}\n```\n```\n{MAIN}\n```\n```\nprint(1)\n```"
    assert set(functions(extract(text, ["main"]))) == {"main"}
    assert set(functions(extract(text, ["main", "aux"]))) == {"main", "aux"}
    assert set(functions(extract(text))) == {"main", "aux"}
    assert set(functions(extract(text, ["absent"]))) == {"main", "aux"}


def test_blocks_that_do_not_parse_are_passed_over():
    text = f"```\n{AUX}\n```\n```\ndef main(a:\n```"
    assert set(functions(extract(text))) == {"aux"}


def test_a_cut_off_answer_keeps_what_is_whole():
    assert functions(extract(f"{AUX}\ndef main(a):\n    return [", ["aux"])).keys() == {"aux"}
    with pytest.raises(NoProgram, match="syntax error in line 4"):
        extract(f"{AUX}\ndef main(a):\n    return [", ["main"])


def test_with_wanted_names_only_definitions_are_kept():
    text = """
'''A module.'''
import math
from os import path
SIZE: int = 3
A, B = 1, 2
limit = main([1])
line = input()
try:
    import numpy
except ImportError:
    numpy = None
class Box:
    pass
def main(a):
    return a
print(main([1]))
assert main([]) == []
main([2])
if __name__ == "__main__":
    main([3])
"""
    kept = extract(text, ["main"])
    lines = ["import math", "from os import path", "SIZE: int = 3", "(A, B) = (1, 2)"]
    assert kept.splitlines()[:4] in (lines, [*lines[:3], "A, B = (1, 2)"])
    assert set(definitions(kept)) == {"Box", "main"}
    assert "numpy = None" in kept
    assert not any(word in kept for word in ("print", "assert", "input", "limit", "__name__"))
    assert "print" in extract(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("I would rather not.", "syntax error|no Python code"),
        ("hello", "no Python code"),
        ("def aux(x)\n    return x", "syntax error in line 1"),
        ("x" * 20_001, "longer than 20000"),
        ("(" * 150 + ")" * 150, "nested"),
        ("def f():\n    return '\x00'", "null bytes|syntax error"),
        ("def f():\n    return '\ud800'", "lone surrogates"),
        ("print(1)", "no function"),
    ],
)
def test_what_is_no_program_says_why(text, why):
    with pytest.raises(NoProgram, match=why):
        extract(text, ["aux"])


NASTY = (
    "-" * 19_000 + "1",
    "not " * 4_900 + "x",
    "1+" * 9_000 + "1",
    "a." * 9_000 + "a",
    "lambda:" * 2_800 + "1",
    "x=0x" + "f" * 19_000 + "\nprint(1)",
    "def f():\n" + "".join(" " * i + "if x:\n" for i in range(1, 95)) + " " * 96 + "pass",
    "x=\n" * 6_000,
    "def f(:\n" * 2_400,
    "```\nx=1\n" * 2_400,
    "print(1)\n" * 2_200,
    "@a\n" * 6_000,
    "x=y=" * 4_900 + "f()",
    "with (" * 90,
    "f'{" * 6_000,
)


@pytest.mark.slow
def test_hostile_text_is_quick_and_raises_nothing_else(no_collector):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in [*testing.hostile_texts(500), *NASTY]:
            for wanted in ((), ("aux", "x")):
                gc.collect(0)  # what earlier tests have left is not this text's to pay for
                gc.disable()
                started = time.process_time()
                try:
                    program = extract(text, wanted)
                    merge(program, "import os")
                except NoProgram:
                    pass
                gc.enable()
                assert time.process_time() - started < 0.2, text[:50]


def test_odd_escapes_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert functions(extract("def aux(x):\n    return '\\d' is x", ["aux"]))


def test_merge_puts_imports_first_and_lets_the_later_definition_win():
    first = "import math\nK = 1\ndef aux(x):\n    return 1\ndef keep():\n    return 2"
    second = "from __future__ import annotations\nimport math\ndef aux(x):\n    return 3"
    assert merge(first, second).split("\n") == [
        "from __future__ import annotations",
        "import math",
        "K = 1",
        "",
        "def keep():",
        "    return 2",
        "",
        "def aux(x):",
        "    return 3",
    ]


def test_merge_of_what_does_not_parse():
    with pytest.raises(NoProgram, match="syntax error"):
        merge(AUX, "def f(:")


def test_without_drops_definitions_by_name():
    assert remove_definitions(f"{AUX}\n{MAIN}", ["aux"]) == MAIN
    assert remove_definitions(AUX, ["main"]) == AUX

"""What docs/testing.md says of the long tests is what their marks say."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent
PAGE = TESTS.parent / "docs" / "testing.md"


def long_marks(path: Path) -> set[tuple[str, str]]:
    """The file and the reason of each ``pytest.mark.long(reason)`` in it."""
    text = path.read_text()
    tree = ast.parse(text if "mark.long" in text else "")
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {
        (path.relative_to(TESTS.parent).as_posix(), ast.literal_eval(*call.args))
        for call in calls
        if ast.unparse(call.func) == "pytest.mark.long"
    }


def test_the_page_lists_every_long_test_with_its_reason():
    marked = set().union(*map(long_marks, TESTS.rglob("test_*.py")))
    rows = re.findall(r"^\| `(tests/\S+)` \| (.+) \|$", PAGE.read_text(), re.MULTILINE)
    assert set(rows) == marked

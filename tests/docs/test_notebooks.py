"""The tutorials' notebooks and files are those that the pages give."""

from __future__ import annotations

import importlib.util
import json

from pages import ROOT, blocks

spec = importlib.util.spec_from_file_location("docs_notebooks", ROOT / "docs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)


def test_notebooks_are_up_to_date():
    written = notebooks.written()
    there = {p for p in notebooks.TUTORIALS.iterdir() if p.suffix in (".ipynb", ".py")}
    stale = [p.name for p, text in written.items() if p not in there or p.read_text() != text]
    assert not stale, f"run python docs/notebooks.py: {stale}"
    assert there == set(written)


def test_a_notebook_has_all_blocks_of_its_page_in_order():
    for page in sorted(notebooks.TUTORIALS.glob("[1-9]_*.md")):
        cells = json.loads(page.with_suffix(".ipynb").read_text())["cells"]
        code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
        shown = [block.strip() for language, block, _ in blocks(page) if language != "text"]
        assert [cell.removeprefix("%%bash\n") for cell in code if "%%writefile" not in cell] == [
            block for block in shown if not notebooks._FILE.match(block)
        ]
        assert len(code) == len(shown)


def test_the_cells_of_a_page():
    page = "# A\n\n```python\nx = 1\n```\n\n```text\n1\n```\n\n```bash\nllmzoo info\n```\n"
    page += "\n```python\n# a.py\nx = 2\n```\n\n```yaml\n# b.yaml\nx: 3\n```\n"
    found = json.loads(notebooks.notebook(page))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in found["cells"]] == [
        ("markdown", "# A"),
        ("code", "x = 1"),
        ("markdown", "```text\n1\n```"),
        ("code", "%%bash\nllmzoo info"),
        ("code", "%%writefile a.py\n# a.py\nx = 2"),
        ("code", "%%writefile b.yaml\n# b.yaml\nx: 3"),
    ]
    assert all(cell["outputs"] == [] for cell in found["cells"] if cell["cell_type"] == "code")
    assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"])

"""The tutorials' notebooks and files are those that the pages give."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from builders import notebooks
from pages import ROOT, blocks

NOTEBOOKS = sorted(notebooks.TUTORIALS.glob("[1-9]_*.ipynb"))


def code_cells(notebook):
    cells = json.loads(notebook)["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def test_notebooks_are_up_to_date():
    written = notebooks.written()
    there = {p for p in notebooks.TUTORIALS.iterdir() if p.suffix in (".ipynb", ".py")}
    stale = [p.name for p, text in written.items() if p not in there or p.read_text() != text]
    assert not stale, f"run python docs/notebooks.py: {stale}"
    assert there == set(written)


def test_a_notebook_has_all_blocks_of_its_page_in_order():
    for page in sorted(notebooks.TUTORIALS.glob("[1-9]_*.md")):
        shown = [block.strip() for language, block, _ in blocks(page) if language != "text"]
        install, *code = code_cells(page.with_suffix(".ipynb").read_text())
        assert "%pip install" in install
        assert [cell.removeprefix("%%bash\n") for cell in code if "%%writefile" not in cell] == [
            block for block in shown if not notebooks._FILE.match(block)
        ]
        written = [cell for cell in code if "%%writefile" in cell]
        files = [block for block in shown if notebooks._FILE.match(block)]
        assert [cell.partition("\n")[2] for cell in written[len(written) - len(files) :]] == files


def test_the_cells_of_a_page():
    page = "# A\n\n```python\nx = 1\n```\n\n```text\n1\n```\n\n```bash\nllmzoo info\n```\n"
    page += "\n```python\n# a.py\nx = 2\n```\n\n```yaml\n# b.yaml\nx: 3\n```\n"
    found = json.loads(notebooks.notebook(page))
    assert (found["nbformat"], found["nbformat_minor"]) == (4, 5)
    assert [(cell["cell_type"], "".join(cell["source"])) for cell in found["cells"]] == [
        ("code", notebooks._INSTALL.strip()),
        ("markdown", "# A"),
        ("code", "x = 1"),
        ("markdown", "```text\n1\n```"),
        ("code", "%%bash\nllmzoo info"),
        ("code", "%%writefile a.py\n# a.py\nx = 2"),
        ("code", "%%writefile b.yaml\n# b.yaml\nx: 3"),
    ]
    assert all(cell["outputs"] == [] for cell in found["cells"] if cell["cell_type"] == "code")
    assert len({cell["id"] for cell in found["cells"]}) == len(found["cells"])


def test_a_notebook_writes_the_files_of_earlier_lessons_that_it_names():
    page = "# B\n\n```python\nimport lamps\n```\n"
    made = notebooks.notebook(page, {"lamps.py": "# lamps.py\nX = 1\n", "other.py": ""})
    assert code_cells(made)[1:] == ["%%writefile lamps.py\n# lamps.py\nX = 1", "import lamps"]


def test_a_notebook_links_to_colab():
    made = json.loads(notebooks.notebook("# A\n", colab="https://colab.example/a.ipynb"))
    assert made["cells"][0]["source"] == ["[Open in Colab](https://colab.example/a.ipynb)"]


def test_lessons_write_the_files_that_they_use():
    names = {path.stem: path.read_text() for path in NOTEBOOKS}
    writes = {stem: re.findall(r"%%writefile (\w+\.py)", text) for stem, text in names.items()}
    assert writes["4_write_a_learner"] == ["lamps.py", "log_return.py"]
    assert writes["5_train_and_publish"] == ["lamps.py", "log_return.py"]


# test_snippets.py runs the blocks of all lessons; these two are the fastest
@pytest.mark.parametrize(
    "lesson", ["1_play", pytest.param("3_write_an_environment", marks=pytest.mark.slow)]
)
def test_a_notebook_runs_alone_in_an_empty_folder(lesson, tmp_path):
    """With IPython's three commands that it uses in Python's words."""
    lines = ["import subprocess"]
    for cell in code_cells((notebooks.TUTORIALS / f"{lesson}.ipynb").read_text()):
        name, _, rest = cell.partition("\n")
        if name.startswith("%%writefile "):
            lines.append(f"open({name.removeprefix('%%writefile ')!r}, 'w').write({rest!r})")
        elif name == "%%bash":
            lines.append(f"subprocess.run(['bash', '-e', '-c', {rest!r}], check=True)")
        else:
            lines.append(re.sub(r"^( *)%pip .*", r"\1raise", cell, flags=re.MULTILINE))
    program = "\n".join(lines)
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr

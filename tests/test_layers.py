"""Imports run only downwards in the list of layers of the design."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import llmzoo

PACKAGE = Path(llmzoo.__file__).parent

# from the top down; parts of one row do not import one another
LAYERS = (
    ("cli",),
    ("report", "export", "testing"),
    ("adapters", "serve"),
    ("attacks",),
    ("training",),
    ("evaluation",),
    ("runs",),
    ("engine",),
    ("learners",),
    ("rollout",),
    ("policies",),
    ("models",),
    ("distributed", "records", "envs"),
    ("endpoints", "thoughts", "sandbox"),
    ("registry",),
    ("parallel_forms",),
    ("spaces", "files", "names", "bounds", "fields"),
    ("errors", "version", "terminal_text"),
)
DEPTH = {part: depth for depth, row in enumerate(LAYERS) for part in row}
MODULES = sorted(PACKAGE.rglob("*.py"))


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every statement below a node, but what is for type checking alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            yield child
            yield from statements(child)


def imported_relatively(path: Path) -> set[Path]:
    """The modules that a module imports by relative imports."""
    modules: set[Path] = set()
    for node in statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            folder = path.parents[node.level - 1].joinpath(*(node.module or "").split("."))
            if folder.with_suffix(".py").is_file():
                modules.add(folder.with_suffix(".py"))
            else:
                modules |= {folder / f"{alias.name}.py" for alias in node.names}
                modules.add(folder / "__init__.py")
            modules.add(path.parent / "__init__.py")
    return modules - {PACKAGE / "sandbox" / "__init__.py"}


def runs_inside() -> set[Path]:
    """What runs in the sandbox's own processes, under a package name of its own: all that its first
    modules import. It sees the standard library."""
    inside: set[Path] = set()
    todo = {PACKAGE / "sandbox" / "roles.py", PACKAGE / "sandbox" / "confine" / "launcher.py"}
    while todo:
        inside |= todo
        todo = {path for module in todo for path in imported_relatively(module)} - inside
    return inside


INSIDE = runs_inside()


def part_of(path: Path) -> str:
    """The part of the package that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_parts(source: str) -> dict[str, int]:
    """Each part of llmzoo that a source imports, with the line; wherever in the file, but for
    type checking. ``from llmzoo import make`` counts as the package itself, ``""``."""
    found: dict[str, int] = {}
    for node in statements(ast.parse(source)):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import"
            names = [node.module or ""]
            if node.module == "llmzoo":
                names = [f"llmzoo.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "llmzoo":
                part = rest.partition(".")[0]
                found.setdefault(part if part in DEPTH else "", node.lineno)
    return found


def complaints(part: str, source: str) -> list[str]:
    """What a source of ``part`` imports against the rule."""
    wrong = []
    for other, line in imported_parts(source).items():
        if other == "":
            if part != "cli":  # the package as a whole is for its users, and for the command line
                wrong.append(f"line {line}: imports llmzoo itself")
        elif other != part and DEPTH[other] <= DEPTH[part]:
            wrong.append(f"line {line}: {part} imports {other}")
    return wrong


def test_imports_run_downwards():
    wrong = {}
    for path in MODULES:
        part = part_of(path)
        if part in ("__init__", "__main__"):
            continue  # the package itself names every layer
        assert part in DEPTH, f"{part} has no layer: add it to DESIGN.md and to this test"
        found = outside if path in INSIDE else partial(complaints, part)
        wrong[str(path.relative_to(PACKAGE))] = found(path.read_text())
    assert {path: imports for path, imports in wrong.items() if imports} == {}


def outside(source: str) -> list[str]:
    """What a source imports beside the standard library and, relatively, its own package."""
    names = []
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names.append(node.module or "")
    known = {*sys.stdlib_module_names, "__future__"}
    return [name for name in names if name.partition(".")[0] not in known]


def test_the_rule_for_what_runs_inside():
    assert outside("import ast\nfrom .values import loads\nfrom ..confine import channel") == []
    assert outside("import llmzoo.errors\nfrom llmzoo.sandbox.box import x\nimport numpy") == [
        *("llmzoo.errors", "llmzoo.sandbox.box", "numpy")
    ]


def test_what_runs_inside_is_found():
    names = {str(path.relative_to(PACKAGE / "sandbox")) for path in INSIDE}
    assert all(path.is_file() for path in INSIDE)
    assert {
        "roles.py",
        "confine/launcher.py",
        "confine/zygote.py",
        "confine/plain_data.py",
        "judge/tester.py",
    } <= names
    assert names & {"__init__.py", "box.py", "session.py", "confine/worker.py"} == set()


def test_there_are_modules_in_several_layers():
    assert {"envs", "registry", "spaces", "errors", "records", "testing"} <= set(
        map(part_of, MODULES)
    )


@pytest.mark.parametrize(
    ("part", "source", "wrong"),
    [
        ("envs", "from llmzoo.rollout import fork", ["line 1: envs imports rollout"]),
        ("envs", "import llmzoo.models.tiny", ["line 1: envs imports models"]),
        ("envs", "def f():\n    from llmzoo import training", ["line 2: envs imports training"]),
        ("testing", "from llmzoo.report import html", ["line 1: testing imports report"]),
        ("serve", "import llmzoo", ["line 1: imports llmzoo itself"]),
        ("serve", "from llmzoo import make", ["line 1: imports llmzoo itself"]),
        ("report", "from llmzoo.cli import main", ["line 1: report imports cli"]),
        ("records", "import llmzoo.distributed", ["line 1: records imports distributed"]),
        ("cli", "from llmzoo import make\nimport llmzoo.serve, llmzoo.training", []),
        ("rollout", "from llmzoo.rollout.trees import x\nfrom llmzoo.records import Group", []),
        ("envs", "if TYPE_CHECKING:\n    from llmzoo.training import fit", []),
        ("envs", "from llmzoo_other import fit\nimport random", []),
    ],
)
def test_the_rule_itself(part, source, wrong):
    assert complaints(part, source) == wrong


def test_names_of_test_files_are_unique():
    """pytest imports them by their names alone."""
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert len(names) > 100
    assert [name for name in set(names) if names.count(name) > 1] == []

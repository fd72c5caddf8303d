"""References in docstrings and comments name something: roles, examples (``>>> f()``) and private names."""

from __future__ import annotations

import ast
import builtins
import re
from importlib.util import resolve_name

from pages import ROOT

ROLE = re.compile(r":(func|class|meth|mod|data|attr|exc):`(?:[^`<]*<)?~?([\w.]+)>?`")
EXAMPLE = re.compile(r"(?<=>>> )(\w+)(?=\()")
PRIVATE = re.compile(r"``(_(?!_)\w+)``")
USED = {ast.arg: "arg", ast.Attribute: "attr", ast.Constant: "value"}
DEFINITION = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Source:
    """The names in a module. ``package``: what its relative references start from.

    imports: name -> full path. defined: functions, classes, and variables of the module and of its
    classes. used: parameters, attributes, and texts such as the keys of a dictionary.
    """

    def __init__(self, text: str, package: str):
        self.text, self.package = text, package
        self.imports, self.defined, self.used = dict[str, str](), set[str](), set[str]()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Import | ast.ImportFrom):
                parent = "." * getattr(node, "level", 0) + (getattr(node, "module", None) or "")
                for name in node.names:
                    path = f"{resolve_name(parent, package)}.{name.name}".strip(".")
                    self.imports[name.asname or name.name.partition(".")[0]] = path
            elif type(node) in USED:
                self.used.add(str(getattr(node, USED[type(node)])))
            elif isinstance(node, DEFINITION):
                self.defined.add(node.name)
            if isinstance(node, ast.Module | ast.ClassDef):
                for statement in (each for each in node.body if not isinstance(each, DEFINITION)):
                    self.defined |= {getattr(each, "id", "") for each in ast.walk(statement)}
        self.imports["llmzoo"] = "llmzoo"

    def has(self, kind: str, reference: str) -> bool:
        """Whether a reference names something; what other packages contain is not checked."""
        first, *rest = resolve_name(reference, self.package).split(".")
        if first in self.imports:
            path = self.imports[first].split(".")
            return path[0] != "llmzoo" or exists([*path, *rest])
        if rest or kind in ("meth", "attr"):
            return {first, *rest} <= self.defined | self.used
        return kind != "mod" and (first in self.defined or hasattr(builtins, first))

    def stale(self) -> list[str]:
        wrong = [m for m in ROLE.finditer(self.text) if not self.has(m[1], m[2])]
        wrong += [m for m in EXAMPLE.finditer(self.text) if not self.has("func", m[1])]
        wrong += [m for m in PRIVATE.finditer(self.text) if m[1] not in EVERYWHERE]
        return [f"{self.text.count(chr(10), 0, m.start()) + 1}: {m[0]}" for m in wrong]


def exists(path: list[str], *rest: str) -> bool:
    """Whether a module of llmzoo has this path. ``rest``: a name in it, and a member of what it names."""
    source = SOURCES.get(".".join(path))
    if source is None or not rest:
        return source is not None or (bool(path) and exists(path[:-1], path[-1], *rest))
    if rest[0] in source.imports:
        return source.has("attr", ".".join(rest))
    lazy = "__getattr__" in source.defined and rest[0] in source.used
    return (lazy or rest[0] in source.defined) and {*rest[1:]} <= source.defined | source.used


FILES = sorted((ROOT / "llmzoo").rglob("*.py"))
MODULES = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in FILES]
SOURCES = {
    module.removesuffix(".__init__"): Source(file.read_text(), module.rpartition(".")[0])
    for module, file in zip(MODULES, FILES, strict=True)
}
EVERYWHERE = {name for source in SOURCES.values() for name in source.defined | source.used}


def test_references_name_something():
    sources = zip(FILES, SOURCES.values(), strict=True)
    assert [f"{file}:{each}" for file, source in sources for each in source.stale()] == []


def test_stale_references_are_found():
    good = "from .errors import ConfigError\n\ndef f(x): ...  # :func:`f`, :class:`ConfigError`, :mod:`.cli`"
    bad = [":func:`x`", ":mod:`cli`", ":class:`llmzoo.Box`", ":meth:`f.y`", "``_gone_``"]
    assert Source(f"{good} {' '.join(bad)}", "llmzoo").stale() == [f"3: {each}" for each in bad]

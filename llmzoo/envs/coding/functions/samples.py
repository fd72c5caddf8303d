"""Our own problems for two writers: ``samples.jsonl``, which ``scripts/samples/build.py`` writes."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from llmzoo.envs import sources


@dataclass(frozen=True, slots=True)
class Sample:
    """A function for two writers.

    ``doc``: what it does. ``helper``: the contract of ``aux``. ``aux`` and ``main``: a reference
    solution. ``public`` and ``hidden``: tests, each ``call == value`` with literal arguments.
    """

    doc: str
    helper: str
    aux: str
    main: str
    public: tuple[str, ...]
    hidden: tuple[str, ...]

    @property
    def name(self) -> str:
        return self._function().name

    @property
    def signature(self) -> str:
        function = self._function()
        return f"{function.name}({ast.unparse(function.args)})"

    def examples(self) -> list[tuple[str, str]]:
        """The public tests as pairs of call and value."""
        pairs = []
        for test in self.public:
            tree = ast.parse(test, mode="eval").body
            assert isinstance(tree, ast.Compare), test
            pairs.append((ast.unparse(tree.left), ast.unparse(tree.comparators[0])))
        return pairs

    def _function(self) -> ast.FunctionDef:
        """The last function of ``main``."""
        function = ast.parse(self.main).body[-1]
        assert isinstance(function, ast.FunctionDef)
        return function


@cache
def samples() -> tuple[Sample, ...]:
    """The shipped problems."""
    return tuple(
        Sample(**{**record, "public": tuple(record["public"]), "hidden": tuple(record["hidden"])})
        for record in sources.records(Path(__file__).with_name("samples.jsonl"))
    )

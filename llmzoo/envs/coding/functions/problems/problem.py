"""The form in which our own problems are written down."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
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
        found = []
        for test in self.public:
            tree = ast.parse(test, mode="eval").body
            assert isinstance(tree, ast.Compare), test
            found.append((ast.unparse(tree.left), ast.unparse(tree.comparators[0])))
        return found

    def _function(self) -> ast.FunctionDef:
        """The last function of ``main``."""
        function = ast.parse(self.main).body[-1]
        assert isinstance(function, ast.FunctionDef)
        return function

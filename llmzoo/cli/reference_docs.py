"""The page of an environment or a learner: its docstrings as Markdown, and its options.

``llmzoo info NAME`` shows this, and the pages of the documentation are made of it.
"""

from __future__ import annotations

import ast
import inspect
import io
import json
import re
import sys
import textwrap
import tokenize
from collections.abc import Iterable
from dataclasses import fields
from inspect import Parameter
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from llmzoo import registry
from llmzoo.learners import learner_class


def environment_docs(id: str) -> str:
    """The docstring of the environment's module, or of the module of its nearest base class with a page.

    A page is a module docstring that begins with a heading. Without one: the docstring of the class.
    """
    env = registry.make(id, **registry.spec(id).offline).unwrapped
    pages = [docstring_markdown(sys.modules[cls.__module__]) for cls in type(env).__mro__]
    own = f"# {type(env).__name__}\n\n{docstring_markdown(type(env))}"
    return next((page for page in pages if page.startswith("# ")), own)


def environment_arguments_table(id: str) -> str:
    """A table of the environment's arguments: what each accepts, as its type hint says, and its default.

    Empty where the arguments are not known.
    """
    spec = registry.spec(id)
    env = registry.make(id, **spec.offline).unwrapped
    defaults = _argument_defaults(type(env)) | dict(spec.kwargs)
    texts = {"split": ("train", "test", "all"), "render_mode": env.metadata.get("render_modes", ())}
    rows = []
    for name, hint in (registry.argument_types(spec) or {}).items():
        accepted = _format_values(texts[name]) if name in texts else _format_hint(hint)
        default = _format_default(defaults.get(name, Parameter.empty))
        rows.append(f"| `{name}` | {accepted} | {default} |")
    return "\n".join(["| argument | accepts | default |", "|---|---|---|", *rows]) if rows else ""


def _argument_defaults(cls: type) -> dict[str, Any]:
    """The defaults of every argument of a class and of those that it passes on."""
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if "__init__" in vars(base):
            for parameter in inspect.signature(base).parameters.values():
                found[parameter.name] = parameter.default
    return found


def _format_hint(hint: Any) -> str:
    """``Literal["a", "b"] | None`` as its values, other hints by name."""
    if get_origin(hint) in (Union, UnionType):
        return " or ".join(map(_format_hint, get_args(hint)))
    if get_origin(hint) is Literal:
        return _format_values(get_args(hint))
    if hint in (None, type(None)):
        return "null"
    name = (
        re.sub(r"\b\w+\.", "", str(hint))
        if get_args(hint)
        else getattr(hint, "__name__", str(hint))
    )
    return _escape_cell(f"`{name}`")


def _format_values(values: Iterable[Any]) -> str:
    return ", ".join(f"`{json.dumps(value)}`" for value in values)


def _format_default(value: Any) -> str:
    return (
        "must be given"
        if value is Parameter.empty
        else _escape_cell(f"`{json.dumps(value, default=str)}`")
    )


def learner_docs(name: str) -> str:
    """What a learner's module and class say, the table of its options last."""
    cls = learner_class(name)
    rows = ["| option | default | type | what it is |", "|---|---|---|---|"]
    for option in config_options(cls.Config):
        field, kind, default, comment = map(_escape_cell, option)
        rows.append(f"| `{field}` | `{default}` | `{kind}` | {comment} |")
    return "\n\n".join(
        [
            f"# {name}",
            docstring_markdown(sys.modules[cls.__module__]),
            docstring_markdown(cls),
            "## Options",
            f"{docstring_markdown(cls.Config)} Given as `learner_args` to `fit`, or as `--learner.NAME VALUE`.",
            "\n".join(rows),
        ]
    )


def config_options(config: type) -> list[tuple[str, str, str, str]]:
    """(name, type, default, comment) of every field; a field set again keeps its first comment."""
    options: dict[str, tuple[str, str, str]] = {}
    for cls in reversed(config.__mro__[:-1]):
        source = textwrap.dedent(inspect.getsource(cls))
        comments = {
            token.start[0]: token.string.removeprefix("#").strip()
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type == tokenize.COMMENT
        }
        for node in ast.parse(source).body[0].body:  # type: ignore[attr-defined]
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                name = node.target.id
                comment = comments.get(node.end_lineno or 0, options.get(name, ("", "", ""))[2])
                default = ast.unparse(node.value) if node.value else "none: must be given"
                options[name] = ast.unparse(node.annotation), default, comment
    return [(field.name, *options[field.name]) for field in fields(config)]


def docstring_markdown(thing: Any) -> str:
    """The docstring of a module or class, its roles and double backticks as Markdown has them."""
    text = (inspect.getdoc(thing) or "").strip()
    return re.sub(r"(?::\w+:)?`+~?([^`]+)`+", r"`\1`", text)


def _escape_cell(text: str) -> str:
    return text.replace("``", "`").replace("|", "\\|")

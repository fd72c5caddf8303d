"""What a tool needs of a typed Python function: description, JSON schema, argument check."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from typing import Any

from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError, MissingExtraError

MAX_SHOWN = 3  # wrong arguments named in one error
MAX_VALUE_CHARS = 60  # of a wrong value, shown in an error


class BadArguments(ValueError):
    """Arguments that do not fit a tool; the message says which ones and why."""


Check = Callable[[Mapping[str, Any]], dict[str, Any]]


def describe_function(function: Callable[..., Any]) -> str:
    """The first paragraph of a function's docstring, on one line."""
    first = (inspect.getdoc(function) or "").partition("\n\n")[0]
    if not first.strip():
        raise ConfigError(f"{_tool_name(function)} needs a docstring: models read it")
    return " ".join(first.split())


def argument_schema(
    function: Callable[..., Any], *, leave_out: int = 0
) -> tuple[dict[str, Any], Check]:
    """The JSON schema of a function's arguments, and the check that turns JSON values into them.

    ``leave_out``: the number of leading parameters that the model does not give. The check is strict:
    ``"3"`` and ``true`` are no integers, an integer is accepted as a float, and unknown arguments raise
    :class:`BadArguments`.

    Raises ``ConfigError`` for a signature that JSON cannot fill, and ``MissingExtraError`` if pydantic
    is not installed.
    """
    try:
        import pydantic
    except ModuleNotFoundError as error:
        raise MissingExtraError("a tool's JSON schema", "tools", error.name) from error

    names, fields = _fields(function, leave_out)
    strict = pydantic.ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    try:
        model = pydantic.create_model("Arguments", __config__=strict, **fields)
        schema = without_titles(model.model_json_schema())
    except pydantic.errors.PydanticUserError as error:
        raise ConfigError(f"{_tool_name(function)}: {error.message}") from error
    schema.setdefault("properties", {})

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        try:
            # as JSON, so that a tuple, a date or an enum can be given as JSON gives them
            given = model.model_validate_json(_dump(arguments))
        except pydantic.ValidationError as error:
            problems = error.errors(include_url=False, include_context=False)
            raise BadArguments(_explain(problems, list(names.values()))) from error
        return {name: getattr(given, field) for field, name in names.items()}

    return schema, check


def _fields(function: Callable[..., Any], leave_out: int) -> tuple[dict[str, str], dict[str, Any]]:
    """The fields of a pydantic model of a function's arguments, and the argument's name for each."""
    import pydantic

    docs = _parameter_docs(function)
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(
            f"{_tool_name(function)} has a type that cannot be found: {error}"
        ) from error
    names = {}
    fields: dict[str, Any] = {}
    for parameter in list(inspect.signature(function).parameters.values())[leave_out:]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise ConfigError(f"{_tool_name(function)}: {parameter} cannot be given by name")
        if parameter.name not in hints:
            raise ConfigError(f"{_tool_name(function)}: parameter {parameter.name!r} needs a type")
        default = ... if parameter.default is parameter.empty else parameter.default
        # a field's own name must not clash with the methods of a pydantic model; an alias may
        field = f"field_{len(fields)}"
        names[field] = parameter.name
        fields[field] = (
            hints[parameter.name],
            pydantic.Field(default, alias=parameter.name, description=docs.get(parameter.name)),
        )
    return names, fields


def _dump(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error


def _explain(errors: list[Any], known: list[str]) -> str:
    reasons = []
    for error in errors[:MAX_SHOWN]:
        if not error["loc"]:  # text that JSON allows and Unicode does not
            reasons.append(f"the arguments cannot be read: {error['msg']}")
            continue
        where = truncate(".".join(str(part) for part in error["loc"]), MAX_VALUE_CHARS)
        if error["type"] == "missing":
            reasons.append(f"argument {where!r} is missing")
        elif error["type"] == "extra_forbidden":
            takes = f"the arguments are {', '.join(known)}" if known else "there are no arguments"
            reasons.append(f"unknown argument {where!r}, {takes}")
        else:
            value = truncate(json.dumps(error["input"], ensure_ascii=False), MAX_VALUE_CHARS)
            reasons.append(f"argument {where!r}: {error['msg'].lower()}, got {value}")
    if len(errors) > MAX_SHOWN:
        reasons.append(f"and {len(errors) - MAX_SHOWN} more")
    return "; ".join(reasons)


def _parameter_docs(function: Callable[..., Any]) -> dict[str, str]:
    """The ``Args`` section of a docstring: the text for each parameter."""
    from docstring_parser import DocstringStyle, parse

    sections = parse(inspect.getdoc(function) or "", DocstringStyle.GOOGLE)
    return {p.arg_name: " ".join((p.description or "").split()) for p in sections.params}


def without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """``schema`` without pydantic's titles, which only cost a model tokens."""
    kept: dict[str, Any] = {}
    for key, value in schema.items():
        if key == "title":
            continue
        if key in ("properties", "$defs"):
            kept[key] = {name: without_titles(inner) for name, inner in value.items()}
        elif isinstance(value, dict) and key not in ("default", "const"):
            kept[key] = without_titles(value)
        elif key in ("anyOf", "oneOf", "allOf", "prefixItems"):
            kept[key] = [without_titles(inner) for inner in value]
        else:
            kept[key] = value
    return kept


def _tool_name(function: Callable[..., Any]) -> str:
    return f"tool {function.__name__!r}"

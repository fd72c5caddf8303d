"""What a tool needs of a typed Python function: description, JSON schema, argument check."""

from __future__ import annotations

import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, NewType

from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError, MissingExtraError

MAX_SHOWN = 3  # wrong arguments named in one error
MAX_VALUE_CHARS = 60  # of a wrong value, shown in an error

Number = NewType("Number", float)  # of a parameter for which an integer stays one

_ARGS = ("Args:", "Arguments:", "Params:", "Parameters:")
_PARAMETER = re.compile(r"(\w+)(?: ?\([^)]*\))?: *(.*)")
_SCALARS: tuple[tuple[Any, str, Any], ...] = (  # type, its JSON name, its values
    (str, "string", (str,)),
    (bool, "boolean", (bool,)),
    (int, "integer", (int,)),
    (float, "number", (int, float)),
    (Number, "number", (int, float)),
)


class Problem(NamedTuple):
    """What is wrong with an argument.

    kind: "missing", "unknown" or "wrong". path: its name, and where in its value. reason: why the value is
    wrong.
    """

    kind: str
    path: tuple[str | int, ...]
    reason: str = ""
    value: Any = None


class BadArguments(ValueError):
    """Arguments that do not fit a tool; the message says which ones and why."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()):
        super().__init__(message)
        self.problems = problems


Check = Callable[[Mapping[str, Any]], dict[str, Any]]


class Parameter(NamedTuple):
    """A parameter of a function. ``default``: ``...`` if there is none."""

    type: Any
    default: Any
    text: str | None


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
    :class:`BadArguments`. Texts, numbers, truth values, lists of these, dicts and None are checked here,
    and other types by pydantic.

    Raises ``ConfigError`` for a signature that JSON cannot fill, and ``MissingExtraError`` if a type needs
    pydantic, which is not installed.
    """
    parameters = _parameters(function, leave_out)
    schemas = {name: _plain_schema(each.type) for name, each in parameters.items()}
    if not all(schemas.values()):
        return _pydantic_schema(function, parameters)
    properties = {
        name: dict(sorted({**(schemas[name] or {}), **_annotations(each)}.items()))
        for name, each in parameters.items()
    }
    required = [name for name, each in parameters.items() if each.default is ...]
    schema = {
        "additionalProperties": False,
        "properties": properties,
        **({"required": required} if required else {}),
        "type": "object",
    }

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        given, values = json.loads(_dump(arguments)), {}
        problems: list[Problem] = []
        for name, each in parameters.items():
            if name in given:
                values[name] = _read(given[name], each.type, (name,), problems)
            elif each.default is ...:
                problems.append(Problem("missing", (name,)))
            else:
                values[name] = each.default
        problems += [Problem("unknown", (name,)) for name in given if name not in parameters]
        if problems:
            raise BadArguments(_explain(problems, list(parameters)), problems)
        return values

    return schema, check


def _parameters(function: Callable[..., Any], leave_out: int) -> dict[str, Parameter]:
    """The parameters of a function, by name. Raises ``ConfigError`` for those that JSON cannot fill."""
    docs = dict(_parameter_docs(inspect.getdoc(function) or ""))
    try:
        hints = typing.get_type_hints(function, include_extras=True)
    except NameError as error:
        raise ConfigError(
            f"{_tool_name(function)} has a type that cannot be found: {error}"
        ) from error
    parameters = {}
    for each in list(inspect.signature(function).parameters.values())[leave_out:]:
        if each.kind not in (each.POSITIONAL_OR_KEYWORD, each.KEYWORD_ONLY):
            raise ConfigError(f"{_tool_name(function)}: {each} cannot be given by name")
        if each.name not in hints:
            raise ConfigError(f"{_tool_name(function)}: parameter {each.name!r} needs a type")
        default = ... if each.default is each.empty else each.default
        parameters[each.name] = Parameter(hints[each.name], default, docs.get(each.name))
    return parameters


def _parameter_docs(docstring: str) -> Iterator[tuple[str, str]]:
    """The text for each parameter: lines ``name: text`` in the section ``Args``, whose further lines are
    indented; without such a section, those after the first paragraph."""
    lines = docstring.splitlines()
    start = next((number for number, line in enumerate(lines) if line.strip() in _ARGS), None)
    if start is None:
        section = docstring.partition("\n\n")[2]
    else:
        inside = lines[start + 1 :]
        end = next((n for n, line in enumerate(inside) if line[:1].strip()), len(inside))
        section = inspect.cleandoc("\n" + "\n".join(inside[:end]))
    for text in re.split(r"\n(?! )", section):
        if found := _PARAMETER.match(text):
            yield found[1], " ".join(text[found.start(2) :].split())


def _annotations(parameter: Parameter) -> dict[str, Any]:
    """What a schema says of a parameter besides its type."""
    shown = {} if parameter.default is ... else {"default": parameter.default}
    return shown if parameter.text is None else {**shown, "description": parameter.text}


def _plain_schema(hint: Any) -> dict[str, Any] | None:
    """The JSON schema of a type that is checked here; None for other types."""
    for scalar, name, _ in _SCALARS:
        if hint == scalar:
            return {"type": name}
    if hint is dict or hint == dict[str, Any]:
        return {"additionalProperties": True, "type": "object"}
    if typing.get_origin(hint) is list:
        items = _plain_schema(typing.get_args(hint)[0])
        return items and {"items": items, "type": "array"}
    inner = _plain_schema(_not_none(hint)) if _not_none(hint) else None
    return inner and {"anyOf": [inner, {"type": "null"}]}


def _not_none(hint: Any) -> Any:
    """The type T of ``T | None``; None for other types."""
    inner = typing.get_args(hint)
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return inner[0] if is_union and len(inner) == 2 and inner[1] is types.NoneType else None


def _read(value: Any, hint: Any, path: tuple[str | int, ...], problems: list[Problem]) -> Any:
    """A JSON value as one of a type that is checked here. Adds what is wrong with it to ``problems``."""
    if inner := _not_none(hint):
        return None if value is None else _read(value, inner, path, problems)
    for scalar, name, kinds in _SCALARS:
        if hint == scalar:
            if not isinstance(value, kinds) or (isinstance(value, bool) and scalar is not bool):
                problems.append(Problem("wrong", path, f"input should be a valid {name}", value))
            elif scalar is float or isinstance(value, float):
                with suppress(OverflowError):
                    if math.isfinite(number := float(value)):
                        return number
                problems.append(Problem("wrong", path, "input should be a finite number", value))
            return value
    if typing.get_origin(hint) is list:
        if not isinstance(value, list):
            problems.append(Problem("wrong", path, "input should be a valid array", value))
            return value
        (item,) = typing.get_args(hint)
        return [_read(each, item, (*path, n), problems) for n, each in enumerate(value)]
    if not isinstance(value, dict):
        problems.append(Problem("wrong", path, "input should be an object", value))
    return value


def _pydantic_schema(
    function: Callable[..., Any], parameters: Mapping[str, Parameter]
) -> tuple[dict[str, Any], Check]:
    """The schema and the check of parameters of any types that pydantic can describe as JSON."""
    try:
        import pydantic
    except ModuleNotFoundError as error:
        raise MissingExtraError("a tool's JSON schema", "tools", error.name) from error

    # a field's own name must not clash with the methods of a pydantic model; an alias may
    names = {f"field_{number}": name for number, name in enumerate(parameters)}
    fields: dict[str, Any] = {
        field: (
            parameters[name].type,
            pydantic.Field(parameters[name].default, alias=name, description=parameters[name].text),
        )
        for field, name in names.items()
    }
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
            problems = [
                _pydantic_problem(each)
                for each in error.errors(include_url=False, include_context=False)
            ]
            raise BadArguments(_explain(problems, list(parameters)), problems) from error
        return {name: getattr(given, field) for field, name in names.items()}

    return schema, check


def _pydantic_problem(error: Any) -> Problem:
    kind = {"missing": "missing", "extra_forbidden": "unknown"}.get(error["type"], "wrong")
    reason = error["msg"] if not error["loc"] else error["msg"].lower()
    return Problem(kind, error["loc"], reason, error["input"])


def _dump(arguments: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(arguments))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadArguments(f"the arguments are not JSON: {error}") from error


def _explain(problems: Sequence[Problem], known: list[str]) -> str:
    reasons = []
    for problem in problems[:MAX_SHOWN]:
        if not problem.path:  # text that JSON allows and Unicode does not
            reasons.append(f"the arguments cannot be read: {problem.reason}")
            continue
        where = truncate(".".join(map(str, problem.path)), MAX_VALUE_CHARS)
        if problem.kind == "missing":
            reasons.append(f"argument {where!r} is missing")
        elif problem.kind == "unknown":
            takes = f"the arguments are {', '.join(known)}" if known else "there are no arguments"
            reasons.append(f"unknown argument {where!r}, {takes}")
        else:
            value = truncate(json.dumps(problem.value, ensure_ascii=False), MAX_VALUE_CHARS)
            reasons.append(f"argument {where!r}: {problem.reason}, got {value}")
    if len(problems) > MAX_SHOWN:
        reasons.append(f"and {len(problems) - MAX_SHOWN} more")
    return "; ".join(reasons)


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

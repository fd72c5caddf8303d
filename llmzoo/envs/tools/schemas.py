"""What a tool needs of a typed Python function: description, JSON schema, argument check."""

from __future__ import annotations

import inspect
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple, NewType

from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError, require_extra

MAX_SHOWN = 3  # wrong arguments named in one error
MAX_VALUE_CHARS = 60  # of a wrong value, shown in an error

Number = NewType("Number", float)  # of a parameter for which an integer stays one

_ARGS = ("Args:", "Arguments:", "Params:", "Parameters:")
_PARAMETER = re.compile(r"(\w+)(?: ?\([^)]*\))?: *(.*)")
_OBJECT = {"additionalProperties": True, "type": "object"}
_PLAIN: tuple[tuple[Any, dict[str, Any], Any, str], ...] = (  # type, schema, its values, in words
    (str, {"type": "string"}, str, "a valid string"),
    (bool, {"type": "boolean"}, bool, "a valid boolean"),
    (int, {"type": "integer"}, int, "a valid integer"),
    (float, {"type": "number"}, (int, float), "a valid number"),
    (Number, {"type": "number"}, (int, float), "a valid number"),
    (dict, _OBJECT, dict, "an object"),
    (dict[str, Any], _OBJECT, dict, "an object"),
)
_UNIONS = (typing.Union, types.UnionType)

Path = tuple[str | int, ...]  # an argument's name, and where in its value


class Problem(NamedTuple):
    """What is wrong with an argument.

    kind: "missing", "unknown" or "wrong". reason: why the value is wrong.
    """

    kind: str
    path: Path
    reason: str = ""
    value: Any = None


class BadArguments(ValueError):
    """Arguments that do not fit a tool; the message says which ones and why."""

    def __init__(self, message: str, problems: Sequence[Problem] = ()):
        super().__init__(message)
        self.problems = problems


Check = Callable[[Mapping[str, Any]], dict[str, Any]]
# of a JSON value and its path: the value for Python. Adds what is wrong with it to the problems
Read = Callable[[Any, Path, list[Problem]], Any]


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
    properties: dict[str, Any] = {}
    readers: dict[str, Read] = {}
    for name, (hint, default, text) in parameters.items():
        plain = _plain_type(hint)
        if plain is None:
            return _pydantic_schema(function, parameters)
        readers[name] = plain[1]
        known = {} if default is ... else {"default": default}
        known |= {} if text is None else {"description": text}
        properties[name] = dict(sorted({**plain[0], **known}.items()))
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
        for name, (_, default, _) in parameters.items():
            if name in given:
                values[name] = readers[name](given[name], (name,), problems)
            elif default is ...:
                problems.append(Problem("missing", (name,)))
            else:
                values[name] = default
        problems += [Problem("unknown", (name,)) for name in given if name not in parameters]
        if problems:
            raise BadArguments(_explain(problems, parameters), problems)
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


def _plain_type(hint: Any) -> tuple[dict[str, Any], Read] | None:
    """The schema and the reader of a type that needs no pydantic; None for other types."""
    for plain, schema, kinds, words in _PLAIN:
        if hint == plain:
            return schema, partial(_read_plain, kinds, words, plain is float)
    inner = [each for each in typing.get_args(hint) if each is not types.NoneType]
    found = _plain_type(inner[0]) if len(inner) == 1 else None
    if found and typing.get_origin(hint) is list:
        return {"items": found[0], "type": "array"}, partial(_read_list, found[1])
    if found and typing.get_origin(hint) in _UNIONS:
        return {"anyOf": [found[0], {"type": "null"}]}, partial(_read_optional, found[1])
    return None


def _read_plain(
    kinds: Any, words: str, as_float: bool, value: Any, path: Path, problems: list[Problem]
) -> Any:
    if not isinstance(value, kinds) or (value.__class__ is bool and kinds is not bool):
        problems.append(Problem("wrong", path, f"input should be {words}", value))
    elif as_float or value.__class__ is float:
        with suppress(OverflowError):
            if math.isfinite(number := float(value)):
                return number
        problems.append(Problem("wrong", path, "input should be a finite number", value))
    return value


def _read_list(read: Read, value: Any, path: Path, problems: list[Problem]) -> Any:
    if isinstance(value, list):
        return [read(each, (*path, n), problems) for n, each in enumerate(value)]
    problems.append(Problem("wrong", path, "input should be a valid array", value))
    return value


def _read_optional(read: Read, value: Any, path: Path, problems: list[Problem]) -> Any:
    return None if value is None else read(value, path, problems)


def _pydantic_schema(
    function: Callable[..., Any], parameters: Mapping[str, Parameter]
) -> tuple[dict[str, Any], Check]:
    """The schema and the check of parameters of any types that pydantic can describe as JSON."""
    with require_extra("a tool's JSON schema", "tools"):
        import pydantic

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
            found = error.errors(include_url=False, include_context=False)
            problems = [_pydantic_problem(each) for each in found]
            raise BadArguments(_explain(problems, parameters), problems) from error
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


def _explain(problems: Sequence[Problem], parameters: Iterable[str]) -> str:
    known = ", ".join(parameters)
    reasons = []
    for problem in problems[:MAX_SHOWN]:
        if not problem.path:  # text that JSON allows and Unicode does not
            reasons.append(f"the arguments cannot be read: {problem.reason}")
            continue
        where = truncate(".".join(map(str, problem.path)), MAX_VALUE_CHARS)
        if problem.kind == "missing":
            reasons.append(f"argument {where!r} is missing")
        elif problem.kind == "unknown":
            takes = f"the arguments are {known}" if known else "there are no arguments"
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

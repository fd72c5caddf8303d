"""Tools of typed functions: their schemas, their argument checks, their errors, their states."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from typing import Any, Literal

import pytest

from llmzoo.envs.tools import schemas
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.toolbox import (
    MAX_REPLY_CHARS,
    STATELESS,
    ReplyFormat,
    Tool,
    Toolbox,
    ToolError,
    ToolReply,
    make_toolbox,
    stateful,
    tool,
)
from llmzoo.errors import ConfigError, MissingExtraError, SandboxError, UnknownNameError


@tool
def convert(
    amount: float, unit: Literal["km", "mile"], digits: int = 2, schema: list[str] | None = None
) -> str:
    """Convert a length to the other
    unit.

    A second paragraph, for programmers.

    Args:
        amount: how much
            of it
        unit: of the amount
    """
    factor = 0.621371 if unit == "km" else 1.609344
    return f"{amount * factor:.{digits}f}"


@stateful(group="counter", initial=0)
def add(state: int, n: int) -> ToolReply:
    """Add to the counter."""
    if n < 0:
        raise ToolError("n must not be negative")
    return ToolReply(str(state + n), state=state + n)


@stateful(group="counter", initial=0, name="show")
def shown_count(state: int) -> ToolReply:
    """Show the counter."""
    return ToolReply(str(state), state=state)


def test_schema_is_what_chat_templates_take():
    assert convert.schema() == {
        "type": "function",
        "function": {
            "name": "convert",
            "description": "Convert a length to the other unit.",
            "parameters": {
                "type": "object",
                "properties": {
                    "amount": {"type": "number", "description": "how much of it"},
                    "unit": {
                        "type": "string",
                        "enum": ["km", "mile"],
                        "description": "of the amount",
                    },
                    "digits": {"type": "integer", "default": 2},
                    "schema": {
                        "anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}],
                        "default": None,
                    },
                },
                "required": ["amount", "unit"],
                "additionalProperties": False,
            },
        },
    }


def test_a_call_gets_values_and_defaults():
    # 10 km * 0.621371 = 6.21371
    assert convert.call({"amount": 10, "unit": "km"}) == ToolReply("6.21")
    assert convert.call({"amount": 10.0, "unit": "km", "digits": 0}) == ToolReply("6")
    assert convert.function(10, "mile") == "16.09"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"amount": "3", "unit": "km"}, "'amount': input should be a valid number, got \"3\""),
        ({"amount": True, "unit": "km"}, "'amount': input should be a valid number, got true"),
        ({"amount": 3, "unit": "km", "digits": True}, "'digits': input should be a valid integer"),
        ({"amount": 3, "unit": "km", "digits": 2.0}, "'digits': input should be a valid integer"),
        ({"amount": 3, "unit": "km", "digits": "2"}, "'digits': input should be a valid integer"),
        ({"amount": 3, "unit": "km", "schema": "a"}, "'schema': input should be a valid"),
        (
            {"amount": 3, "unit": "km", "schema": ["a", 1]},
            "'schema.1': input should be a valid str",
        ),
        ({"amount": None, "unit": "km"}, "'amount': input should be a valid number, got null"),
        ({"amount": float("nan"), "unit": "km"}, "'amount': input should be a finite number"),
        ({"amount": 3, "unit": "yard"}, "'unit': input should be 'km' or 'mile', got \"yard\""),
        ({"unit": "km"}, "argument 'amount' is missing"),
        ({"amount": 1, "unit": "km", "to": 2}, "unknown argument 'to', the arguments are amount,"),
        ({"amount": 10**5000, "unit": "km"}, "the arguments are not JSON"),
        ({"amount": 1, "unit": "\ud800"}, "the arguments cannot be read"),
        ({"amount": 1, "unit": object()}, "the arguments are not JSON"),
    ],
)
def test_arguments_are_checked_strictly(arguments, error):
    reply = convert.call(arguments)
    assert error in reply.error
    assert reply.text == f"Error: {reply.error}"


def test_errors_are_short_whatever_was_given():
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for arguments in (
        {f"argument_{n}": "x" * 10_000 for n in range(200)},
        {"a" * 100_000: 1},
        {"amount": "y" * 100_000, "unit": "z" * 100_000},
        {"amount": deep},
    ):
        assert 0 < len(convert.call(arguments).error) < 350


def test_unknown_tool_names_the_nearest_and_all():
    box = Toolbox([convert, add])
    reply, states = box.call(ToolCall("convrt", {}), box.start())
    assert reply.error == "unknown tool 'convrt'. Did you mean 'convert'? Known: add, convert"
    assert states == box.start()
    reply, _ = box.call(ToolCall("x" * 100_000, {}), box.start())
    assert len(reply.error) < 350
    box.call(ToolCall("\ud800", {}), box.start())[0].text.encode()


def test_what_a_function_raises_is_an_error_that_is_cut():
    @tool
    def fails(kind: str) -> int:
        """Fail."""
        if kind == "deep":
            return fails.function("deep")
        raise (ToolError if kind == "told" else ValueError)("no" * 1000 if kind == "long" else "no")

    assert fails.call({"kind": "told"}).error == "no"
    assert fails.call({"kind": "other"}).error == "ValueError: no"
    assert "RecursionError" in fails.call({"kind": "deep"}).error
    assert len(fails.call({"kind": "long"}).error) < 350


def test_a_fault_of_the_machine_is_raised():
    @tool
    def broken() -> str:
        """Break."""
        raise SandboxError("no sandbox")

    with pytest.raises(SandboxError, match="no sandbox"):
        broken.call({})


def test_results_become_text_and_are_cut():
    @tool(name="give")
    def something(kind: str) -> object:
        """Give something."""
        results = {"list": [1, {"a": "é"}], "none": None, "long": "x" * 10_000, "set": {1}}
        return results[kind]

    assert something.name == "give"
    assert something.call({"kind": "list"}).text == '[1, {"a": "é"}]'
    assert something.call({"kind": "none"}).text == "null"
    long = something.call({"kind": "long"}).text
    assert long == "x" * MAX_REPLY_CHARS + "... (10000 characters)"
    assert "TypeError" in something.call({"kind": "set"}).error


def test_a_plain_tool_takes_no_state_from_a_group_of_its_name():
    @tool
    def files(path: str) -> str:
        """A tool by the name of a group."""
        return path

    for given in (["files", files], [files, "files"]):
        toolbox = make_toolbox(given)
        reply, _ = toolbox.call(
            ToolCall("write_file", {"path": "a", "content": "b"}), toolbox.start()
        )
        assert reply.error is None


def test_tools_of_a_group_share_a_state_that_is_never_changed():
    box = Toolbox([add, shown_count, convert])
    start = box.start()
    assert start == {"counter": 0, STATELESS: None}
    reply, three = box.call(ToolCall("add", {"n": 3}), start)
    assert (reply.text, three["counter"], start["counter"]) == ("3", 3, 0)
    # two ways on from the same states
    _, seven = box.call(ToolCall("add", {"n": 4}), three)
    _, eight = box.call(ToolCall("add", {"n": 5}), three)
    assert (seven["counter"], eight["counter"], three["counter"]) == (7, 8, 3)
    assert box.call(ToolCall("show"), seven)[0].text == "7"
    # an error leaves the state as it was
    for arguments in ({"n": -1}, {"n": "1"}, {}):
        reply, after = box.call(ToolCall("add", arguments), three)
        assert reply.error
        assert after == three


def test_parameter_types_beyond_the_plain_ones():
    @tool
    def plan(day: Literal[1, 2], box: tuple[int, int], names: dict[str, int], _x: int = 0) -> str:
        """Plan."""
        return f"{day} {box} {names} {_x}"

    reply = plan.call({"day": 2, "box": [3, 4], "names": {"a": 1}, "_x": 5})
    assert reply.text == "2 (3, 4) {'a': 1} 5"
    assert plan.call({"day": 3, "box": [3, 4], "names": {}}).error
    assert plan.call({"day": 1, "box": [3], "names": {}}).error


def undescribed(x: int) -> int:
    return x


def untyped(x) -> int:
    """Do."""


def starred(*x: int) -> int:
    """Do."""


def positional(x: int, /) -> int:
    """Do."""


def strange(x: Tool) -> int:
    """Do."""


def unresolved(x: Nowhere) -> int:  # noqa: F821
    """Do."""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (undescribed, "needs a docstring"),
        (untyped, "parameter 'x' needs a type"),
        (starred, "cannot be given by name"),
        (positional, "cannot be given by name"),
        (strange, "tool 'strange'"),
        (unresolved, "cannot be found"),
    ],
)
def test_what_cannot_be_a_tool_says_why(function, message):
    with pytest.raises(ConfigError, match=message):
        tool(function)


def test_resolve_takes_names_tools_and_paths():
    box = make_toolbox(["calculator", "files", convert, "tests.envs.tools.tools_of_a_user:both"])
    assert list(box.tools) == [
        *("calculator", "list_files", "read_file", "write_file", "delete_file", "convert"),
        *("greet", "count"),
    ]
    assert [s["function"]["name"] for s in box.schemas()] == list(box.tools)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (["calculater"], UnknownNameError, "Did you mean 'calculator'"),
        (["nowhere.at_all:x"], ConfigError, "cannot be imported"),
        (["tests.envs.tools.tools_of_a_user:absent"], ConfigError, "cannot be imported"),
        (["tests.envs.tools.tools_of_a_user:plain"], ConfigError, "under @tool"),
        ([convert, convert], ConfigError, "two tools are called 'convert'"),
        ([3], ConfigError, "under @tool"),
    ],
)
def test_resolve_says_what_is_wrong(given, error, message):
    with pytest.raises(error, match=message):
        make_toolbox(given)


def test_missing_pydantic_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert tool(undescribed_but_fine).call({"x": "3"}).error  # a plain type is checked without it
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[tools\]"):
        tool(needs_pydantic)


def needs_pydantic(x: Literal[1, 2]) -> int:
    """Do."""
    return x


def plain_types(
    a: int,
    b: float,
    c: str | None = None,
    d: bool = False,
    e: list[float] | None = None,
    f: dict[str, Any] | None = None,
    g: list[dict[str, Any]] | None = None,
) -> None:
    """Do nothing.

    a: an integer
    b: a number
    """


def test_plain_types_are_checked_as_pydantic_checks_them():
    schema, check = schemas.argument_schema(plain_types)
    parameters = schemas._parameters(plain_types, 0)
    expected_schema, expected_check = schemas._pydantic_schema(plain_types, parameters)
    assert json.dumps(schema) == json.dumps(expected_schema)
    assert schema["properties"]["b"] == {"description": "a number", "type": "number"}
    values = [None, True, 0, 7, 10**400, 2.5, 3.0, float("inf"), "", "3", [], [1, 2.5], ["a", None]]
    values += [[{}], [{"k": [1]}], {}, {"k": None}]
    rng = random.Random(5)
    refused = 0
    for _ in range(2_000):
        names = rng.sample([*parameters, "unknown"], rng.randrange(1, 8))
        # half of the calls have right values for the two that are required
        right = {"a": rng.randrange(9), "b": rng.choice([1, 2.5])} if rng.random() < 0.5 else {}
        arguments = {**{name: rng.choice(values) for name in names}, **right}
        outcomes = []
        for each in (check, expected_check):
            try:
                outcomes.append(repr(each(arguments)))
            except schemas.BadArguments as error:
                outcomes.append((str(error), len(error.problems)))
        assert outcomes[0] == outcomes[1], arguments
        refused += isinstance(outcomes[0], tuple)
    assert 0 < refused < 2_000


def test_an_integer_stays_one_where_the_type_says_so():
    @tool
    def show(value: float, as_given: schemas.Number) -> str:
        """Show."""
        return f"{value} {as_given}"

    assert show.call({"value": 2, "as_given": 2}).text == "2.0 2"
    assert "valid number" in show.call({"value": 2, "as_given": True}).error


def test_positional_arguments_get_the_names_of_the_parameters():
    named = convert.name_arguments(ToolCall("convert", {"digits": 0}, positional=(10, "km")))
    assert named == {"amount": 10, "unit": "km", "digits": 0}
    assert convert.reply(ToolCall("convert", positional=(10, "km"))).text == "6.21"
    for call in (
        ToolCall("convert", positional=(10, "km", 2, None, 5)),
        ToolCall("convert", {"amount": 3}, positional=(10, "km")),
    ):
        assert convert.reply(call).error == "convert has too many arguments"


def test_a_format_says_what_a_model_reads_of_a_call():
    reply_format = ReplyFormat(
        max_chars=2,
        max_error_chars=8,
        prefix="! ",
        explain=lambda error, tool, call: f"{tool.name}({len(call.arguments)})",
        unknown=lambda name, tools: f"no {name}",
    )
    box = Toolbox([add], reply_format)
    read = [
        box.call(call, {"counter": 995})[0].text
        for call in (ToolCall("add", {"n": 5}), ToolCall("add", {"n": "x"}), ToolCall("fly"))
    ]
    assert read == ["10... (4 characters)", "! add(1)", "! no fly"]


def undescribed_but_fine(x: int) -> int:
    """Do."""
    return x


def test_the_module_loads_no_extra():
    code = (
        "import sys, llmzoo.envs.tools.toolbox, llmzoo.envs.tools.corpus, llmzoo.envs.tools.call_syntax\n"
        "import llmzoo.envs.tools.search, llmzoo.envs.tools.mcp\n"
        "print([m for m in ('pydantic', 'bm25s', 'mcp', 'torch') if m in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


def test_a_thousand_calls_a_second(no_collector):
    box = make_toolbox(["calculator", "files", "search"])
    states = box.start()
    calls = [
        ToolCall("calculator", {"expression": "(12840 - 9310) / 9310 * 100"}),
        ToolCall("write_file", {"path": "a/b.txt", "content": "x" * 1000}),
        ToolCall("read_file", {"path": "a/b.txt"}),
        ToolCall("search", {"query": "when was the copper bridge opened"}),
        ToolCall("nonsense", {}),
    ]
    started = time.process_time()
    for n in range(1_000):
        reply, states = box.call(calls[n % len(calls)], states)
        assert reply.text
    assert time.process_time() - started < 1.0

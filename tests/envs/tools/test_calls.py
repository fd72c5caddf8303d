"""Calls and answers as models write them, as they should and otherwise."""

from __future__ import annotations

import json
import time

import pytest

from llmzoo.envs.tools.call_syntax import (
    MAX_CALLS,
    MAX_CHARS,
    BadCall,
    ToolCall,
    parse_answer,
    parse_tool_calls,
)

ONE = ToolCall("f", {"x": 1})
JSON = '{"name": "f", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{JSON}</tool_call>",
        f"First I look.\n<tool_call>\n{JSON}\n</tool_call>\nThen I answer.",
        f"<tool_call>{JSON}",  # cut off before the closing tag
        f"<tool_call>{JSON}</tool_ca",
        '<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>',
        '<tool_call>{"type": "function", "function": {"name": "f", "arguments": {"x": 1}}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": {"x": 2, "x": 1}}</tool_call>',
        '<function=f>{"x": 1}</function>',
        '<function=f>{"x": 1}',
        JSON,
        f"  {JSON}  ",
        f"<|python_tag|>{JSON}",
        f"{JSON}<|eom_id|>",
        f"[TOOL_CALLS] [{JSON}]</s>",
        f"[TOOL_CALLS][{JSON}]",
        f"[TOOL_CALLS] {JSON}",
        f"I look it up. [TOOL_CALLS] [{JSON}]",
        '[TOOL_CALLS]f[ARGS]{"x": 1}</s>',
        '[TOOL_CALLS]f[CALL_ID]8Qx0bCkQ1[ARGS]{"x": 1}',
        '[TOOL_CALLS]f{"x": 1}',
        '{"name": "f", "parameters": {"x": 1}}',
        f"[{JSON}]",
        f"```json\n{JSON}\n```",
        f"I call it so:\n\n```\n{JSON}\n```\nand wait.",
        json.dumps(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "f", "arguments": '{"x": 1}'},
                    }
                ],
            }
        ),
    ],
)
def test_every_form_of_one_call(text):
    assert parse_tool_calls(text) == [ONE]


def test_several_calls_in_their_order():
    two = '{"name": "g"}'
    assert parse_tool_calls(f"<tool_call>{JSON}</tool_call> <tool_call>{two}</tool_call>") == [
        ONE,
        ToolCall("g"),
    ]
    assert parse_tool_calls(f"<tool_call>{JSON}<tool_call>{two}") == [ONE, ToolCall("g")]
    assert parse_tool_calls("<function=g></function><function=f>{}</function>") == [
        ToolCall("g"),
        ToolCall("f"),
    ]
    assert parse_tool_calls(f"```json\n{JSON}\n```\n```json\n{JSON}\n```") == [ONE, ONE]
    two = '{"name": "g", "arguments": {}}'
    for between in ("; ", "\n", "\n\n", ""):  # as Llama and small models write several
        assert parse_tool_calls(f"{JSON}{between}{two}") == [ONE, ToolCall("g")]
    assert parse_tool_calls(f"[TOOL_CALLS] [{JSON}, {two}]") == [ONE, ToolCall("g")]
    assert parse_tool_calls('[TOOL_CALLS]f[ARGS]{"x": 1}[TOOL_CALLS]g[ARGS]{}') == [
        ONE,
        ToolCall("g"),
    ]


def test_tags_within_strings_end_nothing():
    inner = {"text": "</tool_call><tool_call></function><answer>1</answer>"}
    text = f"<tool_call>{json.dumps({'name': 'f', 'arguments': inner})}</tool_call>"
    assert parse_tool_calls(text) == [ToolCall("f", inner)]


def test_a_line_break_within_a_string_is_taken_as_it_stands():
    text = '<tool_call>{"name": "f", "arguments": {"code": "a = 1\nprint(a)"}}</tool_call>'
    assert parse_tool_calls(text) == [ToolCall("f", {"code": "a = 1\nprint(a)"})]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The answer is 4.",
        "<answer>4</answer>",
        '{"x": 1}',
        '{"name": "Bob", "age": 3}',
        "[1, 2]",
        "```python\nprint(1)\n```",
        '```json\n{"name": "Bob"}\n```',
        "tool_call f(x=1)",
        "</tool_call>",
    ],
)
def test_what_is_no_call_at_all(text):
    assert parse_tool_calls(text) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<tool_call></tool_call>", "not JSON: expecting value at '</tool_call>'"),
        ("<tool_call>", "the JSON is unfinished"),
        (f"<tool_call>{JSON[:-1]}", "the JSON is unfinished: it ends before </tool_call>"),
        (f"<tool_call>{JSON[:12]}", "the JSON is unfinished"),
        ("<tool_call>f(1)</tool_call>", "not JSON: expecting value"),
        ("<tool_call>{'name': 'f'}</tool_call>", "not JSON: expecting property name"),
        ("<tool_call>[1]</tool_call>", "a call is a JSON object, got a list"),
        ("<tool_call>3</tool_call>", "a call is a JSON object, got a number"),
        ("<tool_call>{}</tool_call>", 'the call has no "name"'),
        ('<tool_call>{"name": 3}</tool_call>', 'the call has no "name"'),
        ('<tool_call>{"name": ""}</tool_call>', 'the call has no "name"'),
        ('<tool_call>{"name": "f", "x": 1}</tool_call>', "'x' belongs in there"),
        ('<tool_call>{"name": "f", "arguments": [1]}</tool_call>', "object, got a list"),
        ('<tool_call>{"name": "f", "arguments": null}</tool_call>', "object, got null"),
        ('<tool_call>{"name": "f", "arguments": true}</tool_call>', "object, got a boolean"),
        ('<tool_call>{"name": "f", "arguments": "x"}</tool_call>', "not JSON"),
        ('<tool_call>{"name": "f", "arguments": "\\"x\\""}</tool_call>', "object, got a string"),
        ('<tool_call>{"name": "f", "arguments": "{} {}"}</tool_call>', "after the JSON of the arg"),
        (f"<tool_call>{JSON} now</tool_call>", "there is text between the JSON and </tool_call>"),
        ('<function=f>{"x": }</function>', "not JSON"),
        ('[TOOL_CALLS] [{"name": "f"', "the JSON is unfinished"),
        ("[TOOL_CALLS]f[ARGS][1]", "object, got a list"),
        ("[TOOL_CALLS] no", "not JSON"),
        ("<function=f>[1]</function>", "object, got a list"),
        ('{"name": "f", "arguments": {"x": NaN}}', "NaN is no number of JSON"),
        ('{"name": "f", "arguments": {"x": -Infinity}}', "-Infinity is no number of JSON"),
        ('{"name": "f", "arguments": {"x": 1e999}}', "a number is too large"),
        (JSON.replace("1", "9" * 5000), "too many digits"),
        ('{"name": "f", "arguments": {"x": "\\ud800"}}', "half of a surrogate pair"),
        ('{"name": "f", "arguments": {"\\udc00": 1}}', "half of a surrogate pair"),
        (JSON.replace("1", "[" * 40 + "]" * 40), "nested deeper than 32"),
        (JSON.replace("1", "[" * 9000 + "]" * 9000), "nested deeper than 32"),
        ("x" * (MAX_CHARS + 1), "longer than 20000 characters"),
    ],
)
def test_what_was_meant_as_a_call_says_what_is_wrong(text, reason):
    (bad,) = parse_tool_calls(text)
    assert isinstance(bad, BadCall)
    assert reason in bad.reason
    assert len(bad.reason) < 200
    bad.reason.encode()


def test_a_good_call_stands_beside_a_bad_one():
    bad, good = parse_tool_calls(f"<tool_call>oops</tool_call><tool_call>{JSON}</tool_call>")
    assert isinstance(bad, BadCall)
    assert good == ONE


def test_the_number_of_calls_is_bounded():
    calls = parse_tool_calls(f"<tool_call>{JSON}</tool_call>" * 40)
    assert calls == [ONE] * MAX_CALLS + [BadCall("more than 16 calls in one answer")]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>4</answer>", "4"),
        ("so <answer>\n 4 km \n</answer> it is", "4 km"),
        ("<answer>3</answer> no, <answer>4</answer>", "4"),
        ("<answer>3 <answer>4</answer>", "4"),
        ("<answer>4</answer></answer>", "4"),
        ("<answer>4</answer> <answer>5", "4"),
        ("<answer></answer>", ""),
        ("<answer>4", None),
        ("4</answer>", None),
        ("</answer><answer>", None),
        ("the answer is 4", None),
        ("", None),
    ],
)
def test_the_last_whole_answer_counts(text, answer):
    assert parse_answer(text) == answer


@pytest.mark.parametrize(
    "piece",
    [
        *("<tool_call>", "</tool_call>", "<tool_call>   ", '<tool_call>"', "<tool_call>["),
        *('<tool_call>{"', '<tool_call>{"a":"', '<tool_call>{"a":"\\"', '<tool_call>{"a":'),
        *("<function=f>", '<function=f>{"a":"\\"', "<function=", "<function=" + "f" * 64),
        *("```json\n", "```json\n{", '```json\n{"name":"\\"', "```\n[", "`", "\n", " ", "\t\n"),
        *("[TOOL_CALLS]", "[TOOL_CALLS][", '[TOOL_CALLS]f{"', "[TOOL_CALLS]f[ARGS]", "[CALL_ID]"),
        *("[TOOL_CALLS]" + "f" * 64, "[TOOL_CALLS]f[CALL_ID]", "{}", "{};", "[] ", '{"a": 1}\n'),
        *("{", "[", '{"a":', '"', "\\", "<answer>", "</answer>", "<answer></answer>", "\ud800"),
    ],
)
def test_hostile_text_takes_linear_time(piece, no_collector):
    def seconds(length):
        text = (piece * length)[:length]
        started = time.process_time()
        calls = parse_tool_calls(text)
        parse_answer(text)
        took = time.process_time() - started
        assert len(calls) <= MAX_CALLS + 1
        assert not any(isinstance(call, ToolCall) for call in calls)
        return took

    assert seconds(MAX_CHARS) < 8 * seconds(MAX_CHARS // 4) + 0.05

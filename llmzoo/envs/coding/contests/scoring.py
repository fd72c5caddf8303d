"""Reads a tester's answer, and scores both agents' answers. Pure functions."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.contests.tasks import Problem, Test, is_shown_in

MAX_TEST_CHARS = 2_000  # of an input, and of an output
MAX_DEPTH = 20  # of nested lists in an argument
_MAX_STARTS = 50  # places where a JSON list is looked for

_BLOCK = re.compile(
    r"^[ \t#*>_-]{0,10}(input|output)s?[ \t*_#]{0,5}\d{0,3}[ \t*_]{0,5}(?::[ \t*_]{0,5}|$)",
    re.IGNORECASE | re.MULTILINE,
)
# digits of any script, as Python reads them
_NUMBER = re.compile(r"[+-]?(?:\d+(?:_\d+)*\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_MAX_NUMBER_CHARS = 400
_FENCE = re.compile(r"^\s*```.*$", re.MULTILINE)

NO_PROGRAM = {"parses": 0.0, "runs": 0.0, "tests": 0.0}
NO_TESTS = {"valid": 0.0, "sound": 0.0, "caught": 0.0}


Key = tuple[str, ...]


class NoTests(ValueError):
    """An answer without a test that counts; its message tells the agent why."""


def coder_components(*, ran: bool, share: float) -> dict[str, float]:
    """The coder's parts for a program: whether it ran on the public tests, the share of hidden tests
    that it passed."""
    return {"parses": 0.1, "runs": 0.1 * ran, "tests": 0.8 * share}


def unparsed_components(text: str) -> dict[str, float]:
    """The coder's parts for an answer without a program: a little if one is begun."""
    return {**NO_PROGRAM, "parses": 0.025 * programs.has_code(text)}


def tester_components(*, sound: float, caught: float) -> dict[str, float]:
    """The tester's parts for at least one test that counts. ``sound``: the share of them that is
    right. ``caught``: the share of the wrong programs that the right ones catch."""
    return {"valid": 0.05, "sound": 0.05 * sound, "caught": 0.9 * sound * caught}


def parse_tests(text: str, problem: Problem, most: int) -> tuple[Test, ...]:
    """The first ``most`` tests of an answer that count.

    Tests are JSON objects with ``input`` and ``output``, in a list or one after another, or blocks
    headed ``Input:`` and ``Output:``; prose and fences around them are ignored. A test counts if it
    has the form that the problem asks for, holds at most 2,000 characters on each side, and repeats
    no earlier test. Its input must not begin as that of a public test, nor stand in the statement
    if it has more than one word. Inputs are compared as they are parsed: ``03``, ``+3`` and
    full-width digits are 3. Raises :class:`NoTests`.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise NoTests(f"answer longer than {MAX_ACTION_CHARS} characters")
    pairs = [*_json_pairs(text)] or [*_block_pairs(text)]
    if not pairs:
        raise NoTests('no tests in it; write a JSON list of {"input": ..., "output": ...}')
    examples = [input_key(test.input, problem) for test in problem.public]
    known: set[Key] = set()
    counting: list[Test] = []
    reason = ""
    for given, expected in pairs:
        try:
            test = _test(given, expected, problem)
        except (ValueError, RecursionError) as error:
            reason = reason or str(error)
            continue
        own = input_key(test.input, problem)
        if own in known or _is_example(test, own, examples, problem):
            reason = reason or "an input repeats an example of the problem or an earlier test"
            continue
        known.add(own)
        counting.append(test)
        if len(counting) == most:
            break
    if not counting:
        raise NoTests(f"no test that counts: {reason}")
    return tuple(counting)


def input_key(given: str, problem: Problem) -> Key:
    """A canonical form of an input: its words or arguments, with every number in one spelling."""
    if problem.function is None:
        return tuple(_number(word) for word in given.split())
    return tuple(json.dumps(_plain(argument), sort_keys=True) for argument in json.loads(given))


def write_tests(tests: tuple[Test, ...], problem: Problem) -> str:
    """Tests in the form that a tester is asked for."""
    if problem.function is None:
        rows = [{"input": test.input, "output": test.output} for test in tests]
    else:
        rows = [{"input": json.loads(t.input), "output": json.loads(t.output)} for t in tests]
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def _is_example(test: Test, own: Key, examples: list[Key], problem: Problem) -> bool:
    """Whether an input is an example's, starts with one (a program may leave the rest unread), or
    stands in the statement. A single word may stand there by chance."""
    if problem.function is not None:
        return own in examples
    if any(own[: len(example)] == example for example in examples if example):
        return True
    return len(own) > 1 and is_shown_in(test, problem.statement)


def _number(word: str) -> str:
    """A word; equal numbers get one spelling."""
    if len(word) > _MAX_NUMBER_CHARS or not _NUMBER.fullmatch(word):
        return word
    return str(Fraction(word.replace("_", "")))


def _plain(value: Any) -> Any:
    """JSON data in which numbers that Python counts as equal are written alike."""
    if isinstance(value, (bool, int, float)):
        return int(value) if value == int(value) else value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return value


def _json_pairs(text: str) -> Iterator[tuple[Any, Any]]:
    """The pairs of the JSON objects in a text, wherever they begin."""
    decoder = json.JSONDecoder(parse_constant=_no_constant, strict=False)
    position = 0
    for _ in range(_MAX_STARTS):
        starts = [at for at in (text.find("[", position), text.find("{", position)) if at >= 0]
        if not starts:
            return
        position = min(starts)
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        yield from _pairs_in(value)


def _pairs_in(value: Any) -> Iterator[tuple[Any, Any]]:
    if isinstance(value, Mapping) and "input" in value and "output" in value:
        yield value["input"], value["output"]
    elif isinstance(value, Mapping):
        for inner in value.values():
            if isinstance(inner, list):
                yield from _pairs_in(inner)
    elif isinstance(value, list):
        for item in value:
            if isinstance(item, Mapping):
                yield from _pairs_in(item)


def _block_pairs(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of ``Input:`` and ``Output:`` blocks. A block ends at the next one or at the end of
    its code fence."""
    heads = [*_BLOCK.finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    blocks = []
    for head, end in zip(heads, ends, strict=False):
        body = text[head.end() : end]
        fenced = _FENCE.split(body)
        inside = len(fenced) > 1 and not fenced[0].strip()
        blocks.append((head[1].lower(), fenced[inside]))
    for (kind, given), (other, expected) in pairwise(blocks):
        if (kind, other) == ("input", "output"):
            yield given.strip("\n"), expected.strip("\n")


def _test(given: Any, expected: Any, problem: Problem) -> Test:
    if problem.function is None:
        test = Test(_as_text(given).rstrip() + "\n", _as_text(expected).rstrip() + "\n")
        if not test.output.strip():
            raise NoTests("a test without an output")
    else:
        arguments = _as_data(given)
        if not isinstance(arguments, list):
            arguments = [arguments]
        test = Test(_as_json(arguments), _as_json(_as_data(expected)))
    if max(len(test.input), len(test.output)) > MAX_TEST_CHARS:
        raise NoTests(f"a test is longer than {MAX_TEST_CHARS} characters")
    try:
        (test.input + test.output).encode()
    except UnicodeEncodeError:
        raise NoTests("a test is not text: it holds half a character") from None
    return test


def _as_text(value: Any) -> str:
    """Standard input or output: a text, a number, or a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, list):
        return "\n".join(
            " ".join(map(_as_text, line)) if isinstance(line, list) else _as_text(line)
            for line in value
        )
    raise NoTests("input and output of a test must be text")


def _as_data(value: Any) -> Any:
    """A value; a text that is JSON is decoded."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return value


def _as_json(value: Any) -> str:
    if _depth(value) > MAX_DEPTH:
        raise NoTests(f"a value is nested more than {MAX_DEPTH} deep")
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _depth(value: Any) -> int:
    inner = (
        value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    )
    return 1 + max(map(_depth, inner), default=0)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")

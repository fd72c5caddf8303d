"""Programs guessed from the examples of a problem, without its statement.

Each word of an output is taken for a formula: a feature of the input (how many numbers, their largest, the
first word, ...), two features joined by an operation, or one of two words chosen by comparing two features.
Of the formulas those are guessed with which every example comes out right.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

from llmzoo.envs.coding.contests.tasks import Problem

MOST = 64  # formulas that are kept of a word
Features = Mapping[str, Any]
_JOINS: dict[str, Callable[[int, int], int]] = {
    "({a} + {b})": lambda a, b: a + b,
    "({a} - {b})": lambda a, b: a - b,
    "({a} * {b})": lambda a, b: a * b,
    "({a} // ({b} or 1))": lambda a, b: a // (b or 1),
    "({a} % ({b} or 1))": lambda a, b: a % (b or 1),
    "min({a}, {b})": min,
    "max({a}, {b})": max,
}
_TESTS: dict[str, Callable[[int, int], bool]] = {
    "{a} < {b}": lambda a, b: a < b,
    "{a} == {b}": lambda a, b: a == b,
    "{a} % ({b} or 1) == 0": lambda a, b: a % (b or 1) == 0,
}


def features(text):  # type: ignore[no-untyped-def]  # its source stands in guessed programs
    import re
    from itertools import pairwise

    lines = text.splitlines() or [""]
    found: dict = {}
    for name, part in (("all", text), ("body", "\n".join(lines[1:])), ("last", lines[-1])):
        numbers = [int(number) for number in re.findall(r"-?\d{1,18}", part)]
        words = re.findall(r"[^\s\[\],\"]+", part)
        letters = "".join(words)
        for place in range(4):
            found[f"{name} number {place}"] = numbers[place] if place < len(numbers) else 0
            found[f"{name} word {place}"] = words[place] if place < len(words) else ""
        found[f"{name} last"] = numbers[-1] if numbers else 0
        found[f"{name} count"] = len(numbers)
        found[f"{name} sum"] = sum(numbers)
        found[f"{name} most"] = max(numbers, default=0)
        found[f"{name} least"] = min(numbers, default=0)
        found[f"{name} distinct"] = len(set(numbers))
        found[f"{name} rises"] = sum(a < b for a, b in pairwise(numbers))
        found[f"{name} even"] = sum(number % 2 == 0 for number in numbers)
        found[f"{name} words"] = len(words)
        found[f"{name} kinds of words"] = len(set(words))
        found[f"{name} letters"] = len(letters)
        found[f"{name} kinds of letters"] = len(set(letters))
        found[f"{name} digits"] = sum(map(int, re.findall(r"[0-9]", part)))
        found[f"{name} backwards"] = letters[::-1]
        found[f"{name} capitals"] = part.strip().upper()
        found[f"{name} sorted letters"] = "".join(sorted(letters))
        found[f"{name} sorted"] = " ".join(map(str, sorted(numbers)))
        found[f"{name} falling"] = " ".join(map(str, sorted(numbers)[::-1]))
        found[f"{name} sorted words"] = " ".join(sorted(words))
        found[f"{name} text"] = part.strip()
    for number in (0, 1, 2, 10):
        found[str(number)] = number
    return found


def guess(problem: Problem, number: int) -> str | None:
    """The ``number``-th guessed program, from 0; it goes round where there are fewer. None if there is none."""
    found = [features(test.input) for test in problem.public]
    outputs = [test.output.strip() for test in problem.public]
    words = [output.split() for output in outputs]
    guessed: list[str] = []
    if problem.function is None and len({len(row) for row in words}) == 1:
        columns = [_formulas(column, found) for column in zip(*words, strict=True)]
        guessed = [", ".join(row) for row in islice(zip(*columns, strict=False), MOST)]
    guessed = guessed or [*islice(_formulas(outputs, found, problem.function is not None), MOST)]
    return _program(problem, guessed[number % len(guessed)]) if guessed else None


def _formulas(
    wanted: Sequence[str], found: Sequence[Features], data: bool = False
) -> Iterator[str]:
    """Formulas that give ``wanted[i]`` for the features ``found[i]``, the simplest first. ``data``: values
    are wanted, as JSON."""
    values = [_value(text, data) for text in wanted]
    kind = type(values[0])
    names = [name for name, value in found[0].items() if type(value) is kind]
    numbers = [name for name, value in found[0].items() if isinstance(value, int)]

    fitting = False
    for name in names:
        if [known[name] for known in found] == values:
            fitting = True
            yield _lookup_expression(name)
    pairs = [*product(numbers, repeat=2)]
    if kind is int:
        for (form, join), (a, b) in product(_JOINS.items(), pairs):
            if [join(known[a], known[b]) for known in found] == values:
                fitting = True
                yield form.format(a=_lookup_expression(a), b=_lookup_expression(b))
    if fitting:
        return
    distinct = [value for n, value in enumerate(values) if value not in values[:n]]
    if len(distinct) == 1:
        yield repr(distinct[0])
    for (form, test), (a, b) in product(_TESTS.items(), pairs if len(distinct) == 2 else ()):
        yes, no = distinct
        if [yes if test(known[a], known[b]) else no for known in found] == values:
            yield f"({yes!r} if {form.format(a=_lookup_expression(a), b=_lookup_expression(b))} else {no!r})"


def _value(text: str, data: bool) -> Any:
    """A whole number or a text; any value where texts are JSON."""
    if data:
        return json.loads(text)
    try:
        return int(text)
    except ValueError:
        return text


def _lookup_expression(name: str) -> str:
    return f"f[{name!r}]"


def _program(problem: Problem, formula: str) -> str:
    source = inspect.getsource(features)
    if problem.function is None:
        return f"import sys\n\n{source}\nf = features(sys.stdin.read())\nprint({formula})\n"
    return (
        f"import json\n\n{source}\ndef {problem.function}(*arguments):\n"
        f"    f = features(json.dumps(arguments))\n    return {formula}\n"
    )

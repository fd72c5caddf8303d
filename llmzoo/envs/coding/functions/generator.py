"""Endless small problems for two: ``aux`` does one thing to one item, ``f`` composes.

A problem is drawn from tables of operations. Each operation has words (the terse specification),
English, code (the reference solution), and a Python function that computes the expected values of
the tests. Drawn code is never executed.

    aux x times 3 plus 1
    f a odd aux total minus 2

means ``aux(x) = x*3+1`` and ``f(a) = sum(aux(x) for x in a if x%2)-2``. In the second line a condition
before ``aux`` filters the items, one after it the values of ``aux``. The easy problems have one
number in place of items:

    aux x times 3 plus 1
    f x aux minus 2
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llmzoo.envs.coding.functions.tasks import HELPER, FunctionTask, stub

PUBLIC_TESTS, HIDDEN_TESTS = 2, 6
MIN_RESULTS = 4  # different values among the tests, so that no constant passes
_NUMBERS = range(-6, 16)
_WORDS = ("a", "be", "cat", "lime", "kayak", "plum", "ox", "stone", "tea", "level", "garden", "ivy")


@dataclass(frozen=True, slots=True)
class OperationTemplate:
    """``words``, ``english`` and ``code`` are templates with the numbers ``{k}`` and ``{c}``, and
    ``value`` takes a value and the two numbers."""

    words: str
    english: str
    code: str
    value: Callable[[Any, int, int], Any]

    def step(self, k: int, c: int) -> OperationStep:
        """The operation with its numbers filled in."""
        templates = (self.words, self.english, self.code)
        words, english, code = (text.format(k=k, c=c, g="{g}") for text in templates)
        return OperationStep(words, english, code, lambda x: self.value(x, k, c))


@dataclass(frozen=True, slots=True)
class OperationStep:
    """An operation on one value."""

    words: str
    english: str
    code: str
    value: Callable[[Any], Any]


NUMBER_HELPERS = (
    OperationTemplate("times {k}", "x times {k}", "x*{k}", lambda x, k, c: x * k),
    OperationTemplate("plus {c}", "x plus {c}", "x+{c}", lambda x, k, c: x + c),
    OperationTemplate("minus {c}", "x minus {c}", "x-{c}", lambda x, k, c: x - c),
    OperationTemplate("square", "the square of x", "x*x", lambda x, k, c: x * x),
    OperationTemplate("mod {k}", "the remainder of x modulo {k}", "x%{k}", lambda x, k, c: x % k),
    OperationTemplate(
        "over {k}", "x divided by {k}, rounded down", "x//{k}", lambda x, k, c: x // k
    ),
    OperationTemplate(
        "times {k} plus {c}", "x times {k}, plus {c}", "x*{k}+{c}", lambda x, k, c: x * k + c
    ),
    OperationTemplate(
        "times {k} minus {c}", "x times {k}, minus {c}", "x*{k}-{c}", lambda x, k, c: x * k - c
    ),
    OperationTemplate(
        "square plus {c}", "the square of x, plus {c}", "x*x+{c}", lambda x, k, c: x * x + c
    ),
    OperationTemplate("from {c}", "{c} minus x", "{c}-x", lambda x, k, c: c - x),
    OperationTemplate(
        "gap {c}", "the distance from x to {c}", "abs(x-{c})", lambda x, k, c: abs(x - c)
    ),
    OperationTemplate("cap {c}", "x, but at most {c}", "min(x,{c})", lambda x, k, c: min(x, c)),
    OperationTemplate("floor {c}", "x, but at least {c}", "max(x,{c})", lambda x, k, c: max(x, c)),
)
WORD_HELPERS = (
    OperationTemplate("first {k}", "the first {k} letters of x", "x[:{k}]", lambda x, k, c: x[:k]),
    OperationTemplate("last {k}", "the last {k} letters of x", "x[-{k}:]", lambda x, k, c: x[-k:]),
    OperationTemplate(
        "skip {c}", "x without its first {c} letters", "x[{c}:]", lambda x, k, c: x[c:]
    ),
    OperationTemplate("mirror", "x spelled backwards", "x[::-1]", lambda x, k, c: x[::-1]),
    OperationTemplate("times {k}", "x repeated {k} times", "x*{k}", lambda x, k, c: x * k),
    OperationTemplate("upper", "x in capitals", "x.upper()", lambda x, k, c: x.upper()),
)
NUMBER_FILTERS = (
    OperationTemplate("odd", "odd", "x%2", lambda x, k, c: x % 2 == 1),
    OperationTemplate("even", "even", "x%2==0", lambda x, k, c: x % 2 == 0),
    OperationTemplate("above {c}", "above {c}", "x>{c}", lambda x, k, c: x > c),
    OperationTemplate("below {c}", "below {c}", "x<{c}", lambda x, k, c: x < c),
    OperationTemplate("multiple {k}", "a multiple of {k}", "x%{k}==0", lambda x, k, c: x % k == 0),
    OperationTemplate("not {c}", "not {c}", "x!={c}", lambda x, k, c: x != c),
)
WORD_FILTERS = (
    OperationTemplate("long {k}", "longer than {k}", "len(x)>{k}", lambda x, k, c: len(x) > k),
    OperationTemplate("short {k}", "shorter than {k}", "len(x)<{k}", lambda x, k, c: len(x) < k),
)
# of these the code's {g} is the generator expression
NUMBER_FOLDS = (
    OperationTemplate("total", "the sum", "sum({g})", lambda x, k, c: sum(x)),
    OperationTemplate("most", "the largest", "max({g})", lambda x, k, c: max(x)),
    OperationTemplate("least", "the smallest", "min({g})", lambda x, k, c: min(x)),
    OperationTemplate(
        "kinds", "the number of different values", "len(set({g}))", lambda x, k, c: len({*x})
    ),
)
LIST_FOLDS = (
    OperationTemplate("list", "the list, in order,", "[{g}]", lambda x, k, c: x),
    OperationTemplate("sorted", "the sorted list", "sorted({g})", lambda x, k, c: sorted(x)),
    OperationTemplate("mirror", "the list, last first,", "[{g}][::-1]", lambda x, k, c: x[::-1]),
)
WORD_FOLDS = (
    OperationTemplate("join", "the concatenation", '"".join({g})', lambda x, k, c: "".join(x)),
    *LIST_FOLDS,
)
ENDINGS = (
    OperationTemplate("plus {c}", ", plus {c}", "+{c}", lambda x, k, c: x + c),
    OperationTemplate("minus {c}", ", minus {c}", "-{c}", lambda x, k, c: x - c),
    OperationTemplate("times {k}", ", times {k}", "*{k}", lambda x, k, c: x * k),
)


@dataclass(frozen=True, slots=True)
class Composition:
    """``f``: an argument, an optional filter before or after ``aux``, a fold, an optional ending.

    ``items``: "numbers" (a list ``a``), "words" (a list ``w``), "range" (the numbers below ``n``), or
    "number" (``x`` itself, with no fold).
    """

    items: str
    helper: OperationStep
    fold: OperationStep | None
    before: OperationStep | None = None
    after: OperationStep | None = None
    ending: OperationStep | None = None

    @property
    def argument(self) -> str:
        return {"numbers": "a", "words": "w", "range": "n", "number": "x"}[self.items]

    def words(self) -> str:
        """The two lines of the terse specification."""
        steps = [s.words if s else "" for s in (self.before, self.after, self.fold, self.ending)]
        line = " ".join([self.argument, steps[0], "aux", *steps[1:]]).split()
        return f"aux x {self.helper.words}\nf {' '.join(line)}"

    def english(self) -> str:
        """What ``f`` returns."""
        ending = self.ending.english if self.ending else ""
        if self.fold is None:
            return f"Return aux(x){ending}."
        group = {
            "numbers": "the numbers of the list a",
            "words": "the words of the list w",
            "range": "the numbers from 0 to n - 1",
        }[self.items]
        which = f" that are {self.before.english}" if self.before else ""
        what = (
            f"the values aux(x) that are {self.after.english}"
            if self.after
            else "the values aux(x)"
        )
        return f"Return {self.fold.english} of {what}, for x among {group}{which}{ending}."

    def solution(self) -> tuple[str, str]:
        """The sources of ``aux`` and ``f``."""
        items = "range(n)" if self.items == "range" else self.argument
        if self.fold is None:
            group = "aux(x)"
        elif self.after:
            group = f"x for x in map(aux,{items}) if {self.after.code}"
        else:
            group = f"aux(x) for x in {items}" + (f" if {self.before.code}" if self.before else "")
        code = self.fold.code.format(g=group) if self.fold else group
        code += self.ending.code if self.ending else ""
        return (
            f"def aux(x):\n return {self.helper.code}",
            f"def f({self.argument}):\n return {code}",
        )

    def values(self, argument: Any) -> list[Any]:
        """What is folded for an argument of ``f``."""
        if self.items == "number":
            return [self.helper.value(argument)]
        items = range(argument) if self.items == "range" else argument
        kept = [x for x in items if self.before is None or self.before.value(x)]
        values = [self.helper.value(x) for x in kept]
        return [x for x in values if self.after is None or self.after.value(x)]

    def __call__(self, argument: Any) -> Any:
        values = self.values(argument)
        result = self.fold.value(values) if self.fold else values[0]
        return self.ending.value(result) if self.ending else result


def generate_task(rng: random.Random, *, easy: bool = False) -> FunctionTask:
    """A problem with its tests."""
    while True:
        composition = compose_easy(rng) if easy else compose(rng)
        arguments = _arguments(composition)
        results = [composition(argument) for argument in arguments]
        if len({repr(result) for result in results}) >= MIN_RESULTS:
            return _task(composition, arguments, results)


def compose(rng: random.Random) -> Composition:
    items = rng.choice(("numbers", "numbers", "numbers", "range", "words"))
    words = items == "words"
    number = not words and rng.random() < 0.7  # whether f returns a number
    folds = WORD_FOLDS if words else NUMBER_FOLDS if number else LIST_FOLDS
    filter = _step(rng, WORD_FILTERS if words else NUMBER_FILTERS)
    position = rng.random()
    return Composition(
        items,
        _step(rng, WORD_HELPERS if words else NUMBER_HELPERS),
        _step(rng, folds),
        before=filter if position < 0.45 else None,
        after=filter if position > 0.8 else None,
        ending=_step(rng, ENDINGS) if number and rng.random() < 0.4 else None,
    )


def compose_easy(rng: random.Random) -> Composition:
    return Composition("number", _step(rng, NUMBER_HELPERS), None, ending=_step(rng, ENDINGS))


def _step(rng: random.Random, operations: Sequence[OperationTemplate]) -> OperationStep:
    return rng.choice(operations).step(rng.randint(2, 9), rng.randint(1, 9))


def _arguments(composition: Composition) -> list[Any]:
    """Different arguments of ``f``, each of which leaves something to fold; empty if these are rare.

    The last argument holds every item there is, so that few slips go unseen.
    """
    rng = random.Random(composition.words())
    arguments: list[Any] = []
    for _ in range(40):
        argument: Any
        if composition.items == "range":
            argument = rng.randint(3, 24)
        elif composition.items == "number":
            argument = rng.choice(_NUMBERS)
        else:
            pool = _WORDS if composition.items == "words" else _NUMBERS
            argument = rng.sample(pool, rng.randint(3, 6))
        if argument not in arguments and composition.values(argument):
            arguments.append(argument)
        if len(arguments) == PUBLIC_TESTS + HIDDEN_TESTS - 1:
            break
    else:
        return []
    if composition.items in ("range", "number"):
        return [*arguments, 40]
    everything = list(_WORDS if composition.items == "words" else _NUMBERS)
    rng.shuffle(everything)
    return [*arguments, everything]


def _task(
    composition: Composition, arguments: Sequence[Any], results: Sequence[Any]
) -> FunctionTask:
    words = composition.words()
    tests = [(f"f({a!r})", repr(r)) for a, r in zip(arguments, results, strict=True)]
    lines = [f"assert {call} == {value}" for call, value in tests]
    signature = f"f({composition.argument})"
    return FunctionTask(
        name=" / ".join(words.splitlines()),
        entry_point="f",
        statement=stub(signature, composition.english(), tests[:PUBLIC_TESTS]),
        helper=f"{HELPER}(x) returns {composition.helper.english}.",
        terse=words,
        public=tuple(lines[:PUBLIC_TESTS]),
        tests="\n".join(lines),
        solution=composition.solution(),
    )

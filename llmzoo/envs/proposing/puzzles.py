"""The two kinds of puzzle: a sum to work out, and numbers to combine to a target.

What a proposer writes is read into a puzzle, and everything else follows from the puzzle: what the solver
reads is rewritten from it, and the answer is worked out from it. So a proposal cannot carry a hint in
words, and its author has no say in what counts as right.
"""

from __future__ import annotations

import random
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import prod
from typing import ClassVar

from llmzoo.envs.proposing import expressions
from llmzoo.envs.proposing.expressions import BinaryOperation, Expression
from llmzoo.envs.text import MalformedError

MOST_VALUE = 9_999  # of every result on the way
# how often the sloppy solver gets an operation wrong
SLIPS: Mapping[str, float] = {"+": 0.1, "-": 0.2, "*": 0.4}

_WHOLE_NUMBER = re.compile(r"[-−+]?[0-9]{1,9}")
_TARGET = re.compile(r"([0-9]{1,4}(?:[ ,]+[0-9]{1,4})*) *(?:=|->) *([0-9]{1,4})")


class ProposalRefused(MalformedError):
    """A proposal that can be read and that the rules do not allow."""


@dataclass(frozen=True, slots=True)
class PuzzleRules:
    """The numbers that a proposal is made of, in increasing order and all different, and its signs."""

    numbers: tuple[int, ...]
    signs: str

    def check_numbers(self, used: Sequence[int]) -> None:
        """Raise :class:`ProposalRefused` unless there are at least two numbers, all given and used once."""
        for number in used:
            if number not in self.numbers:
                raise ProposalRefused(f"{number} is not one of the numbers")
            if used.count(number) > 1:
                raise ProposalRefused(f"{number} is used twice")
        if len(used) < 2:
            raise ProposalRefused("fewer than two numbers")


class Puzzle(ABC):
    """A puzzle whose answer is known to exist."""

    asks: ClassVar[str]  # what the solver must do, in a sentence
    form: ClassVar[str]  # how its answer is written

    @staticmethod
    @abstractmethod
    def read(text: str, rules: PuzzleRules) -> Puzzle:
        """The puzzle that a line proposes; raises :class:`MalformedError` or :class:`ProposalRefused`."""

    @staticmethod
    @abstractmethod
    def from_expression(expression: Expression, rules: PuzzleRules) -> Puzzle:
        """The puzzle that an expression gives; raises :class:`ProposalRefused`."""

    @property
    @abstractmethod
    def key(self) -> str:
        """The same for puzzles that count as one."""

    @abstractmethod
    def text(self, space: str = " ") -> str:
        """The puzzle as the solver reads it; also a proposal of it."""

    @abstractmethod
    def is_solved_by(self, answer: str) -> bool:
        """Whether an answer is right; raises :class:`MalformedError` if it cannot be read."""

    @abstractmethod
    def solution(self) -> str:
        """A right answer."""

    @abstractmethod
    def wrong_answer(self, rng: random.Random) -> str:
        """A wrong answer of the right form, if there is one."""

    @abstractmethod
    def chance(self, slips: Mapping[str, float]) -> float:
        """How likely a solver is right who gets each operation wrong as often as ``slips`` says."""


@dataclass(frozen=True, slots=True)
class Sum(Puzzle):
    """A sum to work out."""

    expression: Expression

    asks = "Evaluate the expression."
    form = "a whole number"

    @staticmethod
    def read(text: str, rules: PuzzleRules) -> Sum:
        return Sum.from_expression(expressions.parse_expression(text), rules)

    @staticmethod
    def from_expression(expression: Expression, rules: PuzzleRules) -> Sum:
        rules.check_numbers(expressions.numbers(expression))
        for operation in expressions.operations(expression):
            _check_operation(operation, rules)
        return Sum(expression)

    @property
    def key(self) -> str:
        return expressions.normal_form(self.expression)

    def text(self, space: str = " ") -> str:
        return expressions.format_expression(self.expression, space)

    def is_solved_by(self, answer: str) -> bool:
        if not _WHOLE_NUMBER.fullmatch(answer):
            raise MalformedError("not a whole number")
        return int(answer.replace("−", "-")) == expressions.evaluate(self.expression)

    def solution(self) -> str:
        return str(expressions.evaluate(self.expression))

    def wrong_answer(self, rng: random.Random) -> str:
        return str(expressions.evaluate(self.expression) + rng.choice((-10, -2, -1, 1, 2, 10)))

    def chance(self, slips: Mapping[str, float]) -> float:
        return prod(1 - slips[o.sign] for o in expressions.operations(self.expression))


@dataclass(frozen=True, slots=True)
class Countdown(Puzzle):
    """Numbers, all of which make the target, each used once."""

    numbers: tuple[int, ...]
    target: int
    signs: str

    asks = "Make the number on the right of = from the numbers on its left, using each of them exactly once."
    form = "an expression such as (2 + 3) * 4"

    @staticmethod
    def read(text: str, rules: PuzzleRules) -> Countdown:
        found = _TARGET.fullmatch(text.strip())
        if not found:
            raise MalformedError("not numbers, = and a target")
        numbers = tuple(map(int, re.findall("[0-9]+", found[1])))
        return Countdown._make_checked(numbers, int(found[2]), rules)

    @staticmethod
    def from_expression(expression: Expression, rules: PuzzleRules) -> Countdown:
        numbers = expressions.numbers(expression)
        return Countdown._make_checked(numbers, expressions.evaluate(expression), rules)

    @staticmethod
    def _make_checked(numbers: tuple[int, ...], target: int, rules: PuzzleRules) -> Countdown:
        rules.check_numbers(numbers)
        if not 1 <= target <= MOST_VALUE:
            raise ProposalRefused(f"the target is not from 1 to {MOST_VALUE}")
        numbers = tuple(sorted(numbers))
        if target not in reachable_values(numbers, rules.signs):
            raise ProposalRefused("the target cannot be made from all of these numbers")
        return Countdown(numbers, target, rules.signs)

    @property
    def key(self) -> str:
        return self.text()

    def text(self, space: str = " ") -> str:
        return f"{' '.join(map(str, self.numbers))}{space}={space}{self.target}"

    def is_solved_by(self, answer: str) -> bool:
        made = expressions.parse_expression(answer)
        signs = {operation.sign for operation in expressions.operations(made)}
        same = tuple(sorted(expressions.numbers(made))) == self.numbers
        return same and signs <= set(self.signs) and expressions.evaluate(made) == self.target

    def solution(self) -> str:
        return expressions.format_expression(
            reachable_values(self.numbers, self.signs)[self.target]
        )

    def wrong_answer(self, rng: random.Random) -> str:
        others = [v for v in reachable_values(self.numbers, self.signs) if v != self.target]
        made = reachable_values(self.numbers, self.signs)[rng.choice(others)] if others else 0
        return expressions.format_expression(made)

    def chance(self, slips: Mapping[str, float]) -> float:
        return prod(1 - slips[o.sign] for o in expressions.operations(self._solution_expression()))

    def _solution_expression(self) -> Expression:
        return reachable_values(self.numbers, self.signs)[self.target]


KINDS: dict[str, type[Puzzle]] = {"sum": Sum, "countdown": Countdown}


@lru_cache(maxsize=64)
def reachable_values(numbers: tuple[int, ...], signs: str) -> Mapping[int, Expression]:
    """What all of the numbers make, each used once, and one way to make it.

    Results on the way are from 0 to ``MOST_VALUE``. Negative ones would add nothing: where a part has a
    negative value, its terms exchanged give the positive one, and the sign outside is the other one.
    """
    made: dict[tuple[int, ...], dict[int, Expression]] = {(n,): {n: n} for n in numbers}
    for size in range(2, len(numbers) + 1):
        for chosen in combinations(numbers, size):
            values: dict[int, Expression] = {}
            for left in (part for k in range(1, size) for part in combinations(chosen, k)):
                right = tuple(n for n in chosen if n not in left)
                for a, one in made[left].items():
                    for b, other in made[right].items():
                        for sign in signs:
                            result = expressions.apply_sign(sign, a, b)
                            if 0 <= result <= MOST_VALUE and result not in values:
                                values[result] = BinaryOperation(sign, one, other)
            made[chosen] = values
    return made[numbers]


def chain_expression(numbers: Sequence[int], signs: Sequence[str]) -> Expression:
    """The numbers joined by the signs, from left to right."""
    expression: Expression = numbers[0]
    for number, sign in zip(numbers[1:], signs, strict=True):
        expression = BinaryOperation(sign, expression, number)
    return expression


def sample_puzzle(
    kind: str, rules: PuzzleRules, size: int, rng: random.Random, taken: Sequence[str]
) -> Puzzle:
    """A random puzzle of ``size`` numbers whose key is not among ``taken``."""
    for _ in range(1_000):
        numbers = rng.sample(rules.numbers, size)
        expression = chain_expression(numbers, rng.choices(rules.signs, k=size - 1))
        try:
            puzzle = KINDS[kind].from_expression(expression, rules)
        except ProposalRefused:
            continue
        if puzzle.key not in taken:
            return puzzle
    raise RuntimeError(f"{rules} has no {kind} of {size} numbers beside {taken}")


def _check_operation(operation: BinaryOperation, rules: PuzzleRules) -> None:
    """Raise :class:`ProposalRefused` for an operation that the rules do not allow, or that is trivial."""
    if operation.sign not in rules.signs:
        raise ProposalRefused(f"{operation.sign} is not one of the signs")
    parts = [expressions.evaluate(part) for part in (operation.left, operation.right)]
    if 0 in parts:
        raise ProposalRefused("a part of it is 0")
    if operation.sign == "*" and 1 in parts:
        raise ProposalRefused("it multiplies by 1")
    if abs(operation.value) > MOST_VALUE:
        raise ProposalRefused(f"a result on the way is beyond {MOST_VALUE}")

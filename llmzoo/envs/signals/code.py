"""Messages of letters, and how values become letters and digits.

A *value* is a number from 0. ``values`` counts them; a list of values is read as one number in that base.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.text import MalformedError, content_lines
from llmzoo.errors import ConfigError

CAPITALS = "ABCDEFGHI"
_SPACES = re.compile(r"[\s,]+")
_BULLET = re.compile(r"[-*•][ \t]+")


class Alphabet(NamedTuple):
    """The messages: 1 to ``max_len`` of ``letters``."""

    letters: str
    max_len: int

    def read(self, text: str) -> str:
        """The message without spaces and commas: all of the text, or its only line that is one. Raises
        :class:`MalformedError`."""
        message = _extract_line(text, self._fits)
        if not message:
            raise MalformedError("an empty message")
        if len(message) > self.max_len:
            raise MalformedError(
                f"a message of {len(message)} characters, not of 1 to {self.max_len}"
            )
        if not set(message) <= set(self.letters):
            raise MalformedError(f"a message of other characters than {', '.join(self.letters)}")
        return message

    def _fits(self, message: str) -> bool:
        return 0 < len(message) <= self.max_len and set(message) <= set(self.letters)

    def encode(self, values: Sequence[int], base: int) -> str:
        """A message for values from 0 to ``base - 1``: different lists of a length have different ones.

        A value is a letter if there are enough of both; otherwise the list is a number, written in
        letters.
        """
        if base > len(self.letters) or len(values) > self.max_len:
            values = number_to_digits(
                digits_to_number(values, base), len(self.letters), self.max_len
            )
        return "".join(self.letters[value] for value in values)

    def decode(self, message: str, length: int, base: int) -> tuple[int, ...] | None:
        """The values that :meth:`encode` would write as ``message``; None if there are none."""
        digits = [self.letters.index(letter) for letter in message]
        if base <= len(self.letters) and length <= self.max_len:
            return tuple(digits) if len(digits) == length and max(digits) < base else None
        number = digits_to_number(digits, len(self.letters))
        return number_to_digits(number, base, length) if number < base**length else None


def digits_to_number(values: Sequence[int], base: int) -> int:
    """The number with these digits, the first the most significant."""
    number = 0
    for value in values:
        number = number * base + value
    return number


def number_to_digits(number: int, base: int, length: int) -> tuple[int, ...]:
    """The ``length`` digits of ``number``, the most significant first."""
    return tuple(number // base**place % base for place in reversed(range(length)))


def format_digits(values: Sequence[int]) -> str:
    """Values as digits from 1, without spaces."""
    return "".join(str(value + 1) for value in values)


def describe_digits(length: int, base: int) -> str:
    """How many digits, and which: ``2 digits from 1 to 4``."""
    return f"{length} {'digit' if length == 1 else 'digits'} from 1 to {base}"


def _extract_line(text: str, fits: Callable[[str], bool]) -> str:
    """A text without spaces and commas, or its only line that fits, without the Markdown around it."""
    whole = _SPACES.sub("", text)
    if fits(whole):
        return whole
    lines = [
        _SPACES.sub("", _BULLET.sub("", line).removesuffix(".")) for line in content_lines(text)
    ]
    found = [line for line in lines if fits(line)]
    return found[0] if len(found) == 1 else whole


def parse_digits(text: str, length: int, base: int) -> tuple[int, ...]:
    """The values of ``length`` digits from 1 to ``base``; raises :class:`MalformedError` for any other text.

    Spaces and commas between the digits do not matter, nor lines around the only one with such digits.
    """
    allowed = format_digits(range(base))
    written = _extract_line(text, lambda line: len(line) == length and set(line) <= set(allowed))
    if len(written) != length or not set(written) <= set(allowed):
        raise MalformedError(f"not {describe_digits(length, base)}")
    return tuple(allowed.index(digit) for digit in written)


def make_alphabet(
    vocab_size: int | None, max_len: int | None, length: int, base: int, prompt: str
) -> Alphabet:
    """The messages of an environment; None: a letter for each of ``base`` values, and ``length`` letters.

    The letters are digits in terse prompts. Raises ``ConfigError`` if there are fewer messages of the
    full length than lists of ``length`` values.
    """
    letters = base if vocab_size is None else vocab_size
    longest = length if max_len is None else max_len
    check_range("vocab_size", letters, 2, len(CAPITALS))
    check_range("max_len", longest, 1, 20)
    if letters**longest < base**length:
        raise ConfigError(
            f"{letters} letters in messages of {longest} name at most {letters**longest} things, and "
            f"there are {base**length}: raise vocab_size or max_len"
        )
    first = CAPITALS if prompt == "full" else format_digits(range(len(CAPITALS)))
    return Alphabet(first[:letters], longest)

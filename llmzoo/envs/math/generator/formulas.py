"""The notation of formulas in terse forms, questions and programs."""

from __future__ import annotations

from collections.abc import Sequence


def format_sum(terms: Sequence[tuple[int, str]]) -> str:
    """A sum of multiples, zeros and ones left out: ``3 x^2 - x + 5``."""
    text = ""
    for factor, name in terms:
        if factor == 0:
            continue
        size = f"{abs(factor)} {name}".strip() if abs(factor) != 1 or not name else name
        if text:
            text += f" {'+' if factor > 0 else '-'} {size}"
        else:
            text = size if factor > 0 else f"-{size}"
    return text or "0"


def format_equation(left: list[tuple[int, str]], right: int | list[tuple[int, str]]) -> str:
    return f"{format_sum(left)} = {right if isinstance(right, int) else format_sum(right)}"


def drop_coefficient_spaces(formula: str) -> str:
    """The notation of textbooks, without a space after a coefficient: ``3x + 5``."""
    for letter in "xyz(":
        formula = _join(formula, letter)
    return formula


def _join(formula: str, letter: str) -> str:
    pieces = formula.split(f" {letter}")
    joined = pieces[0]
    for piece in pieces[1:]:
        joined += (letter if joined[-1:].isdigit() else f" {letter}") + piece
    return joined


def format_subtrahend(number: int) -> str:
    """A subtrahend in a program."""
    return str(number) if number >= 0 else f"({number})"

"""Scores of Reasoning Gym's generators, with care: a model's text is never evaluated.

A generator scores an answer by its method ``score_answer``. In version 0.1.25 some of these methods evaluate
the answer as Python, and others need enormous time or memory for some short answers. Those are
guarded or refused here. A test plays every generator under Python's audit hooks and fails on one that compiles
text.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.envs.tools import calculator

MAX_ANSWER_CHARACTERS = 5_000  # characters of an answer

_EVALUATES_ANSWER = "its scorer evaluates the answer as Python (sympy.parse_expr)"
_UNSTABLE_ORDER = "it draws from sets of texts, whose order differs from process to process"
REFUSED_GENERATORS = {
    "isomorphic_strings": _UNSTABLE_ORDER,
    "ransom_note": _UNSTABLE_ORDER,
    "composite": "it is a mixture of other generators, and must be told which; name one of them",
    "intermediate_integration": _EVALUATES_ANSWER,
    "simple_integration": _EVALUATES_ANSWER,
    "polynomial_multiplication": _EVALUATES_ANSWER,
    "game_of_life_halting": "its scorer pays every answer that is not empty: it compares bool() of texts",
}

_INTEGER = re.compile(r"[0-9]+")
_ARITHMETIC = re.compile(r"[0-9\s+\-*/().]*")  # of countdown and puzzle24, without powers
_COSTLY_EXPONENT = re.compile(r"[eE][+-]?[\d_]{4}")
_COSTLY_CUBE_MOVES = re.compile(r"\d{3}|.{1001}", re.DOTALL)
_COSTLY_DISTANCE = re.compile(r"\d{2}")
_COSTLY_LENGTH = re.compile(r".{81}", re.DOTALL)


class ScoredAnswer(NamedTuple):
    """An answer as it was read, its score from 0 to 1, and what was wrong with it ("" for nothing)."""

    answer: str
    score: float
    error: str


def score_answer(name: str, dataset: Any, item: Mapping[str, Any], text: str) -> ScoredAnswer:
    """The score of a text by the generator ``name``; never raises."""
    answer = extract_answer(text)
    if not answer:
        return ScoredAnswer("", 0.0, "malformed: there is no answer")
    if len(answer) > MAX_ANSWER_CHARACTERS:
        return ScoredAnswer(
            "", 0.0, f"malformed: an answer longer than {MAX_ANSWER_CHARACTERS} characters"
        )
    costly = TOO_COSTLY.get(name)
    if costly is not None and costly[0].search(answer):
        return ScoredAnswer(answer, 0.0, f"malformed: {costly[1]}")
    scorer = SAFE_SCORERS.get(name) or dataset.score_answer
    try:
        with GlobalRandomState(0).swap_in():
            value = float(scorer(answer, copy.deepcopy(dict(item))))
    except Exception as error:  # whatever a scorer raises on a text that it cannot read
        return ScoredAnswer(answer, 0.0, f"malformed: the scorer raised {type(error).__name__}")
    if not math.isfinite(value):
        return ScoredAnswer(answer, 0.0, "malformed: the answer has no finite score")
    return ScoredAnswer(answer, min(max(value, 0.0), 1.0), "")


def extract_answer(text: str) -> str:
    """What stands between the last pair of tags; without them the whole text. No space at its ends."""
    start = text.rfind("<answer>")
    end = text.find("</answer>", start)
    if start >= 0 and end >= 0:
        return text[start + len("<answer>") : end].strip()
    return text.strip()


def _score_exact(answer: str, item: Mapping[str, Any]) -> float:
    """1 for exactly the generator's own answer. Its scorer would evaluate any other form."""
    return float(answer == str(item["answer"]).strip())


def _score_queens(answer: str, item: Mapping[str, Any]) -> float:
    return float(answer in item["metadata"]["valid_answers"])


def _score_countdown(answer: str, item: Mapping[str, Any]) -> float:
    """1 for the target from the given numbers, each once; 0.05 for another sum, 0.01 for none."""
    value = _evaluate(answer)
    if value is None:
        return 0.01
    used = sorted(int(number) for number in _INTEGER.findall(answer))
    right = abs(value - item["metadata"]["target"]) <= 1e-6
    return 1.0 if right and used == sorted(item["metadata"]["numbers"]) else 0.05


def _score_puzzle24(answer: str, item: Mapping[str, Any]) -> float:
    """1 for 24 from the given four numbers, each once; else 0.01."""
    value = _evaluate(answer)
    used = sorted(int(number) for number in _INTEGER.findall(answer))
    return 1.0 if value == 24 and used == sorted(item["metadata"]["numbers"]) else 0.01


def _evaluate(answer: str) -> float | None:
    if not _ARITHMETIC.fullmatch(answer) or "**" in answer or "//" in answer:
        return None
    try:
        return float(calculator.evaluate(answer))
    except calculator.CalculationError:
        return None


# replacements for scorers that evaluate the answer
SAFE_SCORERS: Mapping[str, Callable[[str, Mapping[str, Any]], float]] = {
    "binary_matrix": _score_exact,
    "spiral_matrix": _score_exact,
    "string_insertion": _score_exact,
    "n_queens": _score_queens,
    "countdown": _score_countdown,
    "puzzle24": _score_puzzle24,
}

# answers for which a scorer would take very long
TOO_COSTLY: Mapping[str, tuple[re.Pattern[str], str]] = {
    "coin_flip": (_COSTLY_EXPONENT, "a number with an exponent of over three digits"),
    "rubiks_cube": (
        _COSTLY_CUBE_MOVES,
        "over 1,000 characters, or a move that is repeated over 99 times",
    ),
    "rush_hour": (_COSTLY_DISTANCE, "a move by over 9 squares"),
    "propositional_logic": (_COSTLY_LENGTH, "a conclusion of over 80 characters"),
}

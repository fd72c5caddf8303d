"""The verdict of a judge who is an agent: read from its text, and held against the rules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from llmzoo.envs.debate.topics import SIDES

TIE = 0.02  # scores closer than this are a draw
_OBJECT = re.compile(r"\{[^{}]{0,500}\}")
_PAIR = re.compile(r"\b(pro|con)\b\W{0,5}([01](?:\.[0-9]{1,10})?)(?![0-9.])", re.IGNORECASE)


class NoVerdict(ValueError):
    """No scores could be read."""


def parse(text: str) -> Mapping[str, float]:
    """The last ``{"pro": 0.7, "con": 0.4}`` in a text, or ``pro: 0.7, con: 0.4``; from 0 to 1."""
    for found in reversed(_OBJECT.findall(text)):
        try:
            record = json.loads(found)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and set(SIDES) <= set(record):
            return {side: _score(side, record[side]) for side in SIDES}
    scores = {side.lower(): float(value) for side, value in _PAIR.findall(text)}
    if set(scores) != set(SIDES):
        raise NoVerdict('no scores found; give them as {"pro": 0.7, "con": 0.4}')
    return {side: _score(side, scores[side]) for side in SIDES}


def agreement(verdict: Mapping[str, float], right: Mapping[str, float]) -> float:
    """Half for naming the better side (or a draw), half for scores near the right ones: what is off
    on both sides together is taken from it, and at 1.0 or more nothing is left."""
    order = 0.5 if _better(verdict) == _better(right) else 0.0
    off = sum(abs(verdict[side] - right[side]) for side in SIDES)
    return order + 0.5 * max(0.0, 1.0 - off)


def _better(scores: Mapping[str, float]) -> int:
    margin = scores["pro"] - scores["con"]
    return 0 if abs(margin) < TIE else (1 if margin > 0 else -1)


def _score(side: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise NoVerdict(f"the score of {side} must be a number from 0 to 1")
    try:
        score = float(value)
    except OverflowError as error:
        raise NoVerdict(f"the score of {side} must be from 0 to 1") from error
    if not (math.isfinite(score) and 0.0 <= score <= 1.0):
        raise NoVerdict(f"the score of {side} must be from 0 to 1")
    return score

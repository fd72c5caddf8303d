"""The verdict of the judging agent: read from its text and compared with the rules."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from llmzoo.envs.debate.tasks import SIDES

TIE = 0.02  # scores closer than this are a draw
CLEAR_LEAD = 0.25  # a lead from here up counts in full
WORST = -1.0  # the agreement of a verdict that cannot be read
_OBJECT = re.compile(r"\{[^{}]{0,500}\}")
_PAIR = re.compile(r"\b(pro|con)\b\W{0,5}([01](?:\.[0-9]{1,10})?)(?![0-9.])", re.IGNORECASE)


class NoVerdict(ValueError):
    """No scores could be read."""


def parse_verdict(text: str) -> Mapping[str, float]:
    """The last ``{"pro": 0.7, "con": 0.4}`` in a text, or ``pro: 0.7, con: 0.4``; from 0 to 1."""
    for written in reversed(_OBJECT.findall(text)):
        try:
            record = json.loads(written)
        except (ValueError, RecursionError):
            continue
        if isinstance(record, dict) and set(SIDES) <= set(record):
            return {side: _score(side, record[side]) for side in SIDES}
    scores = {side.lower(): float(value) for side, value in _PAIR.findall(text)}
    if set(scores) != set(SIDES):
        raise NoVerdict('no scores found; give them as {"pro": 0.7, "con": 0.4}')
    return {side: _score(side, scores[side]) for side in SIDES}


def score_agreement(verdict: Mapping[str, float], right: Mapping[str, float]) -> float:
    """How much a verdict tells about the debate, from -1 to 0.9.

    0.9 x (|r| - |v - r|) - 0.1 x the error of the mean of both scores. v and r are the lead of pro in
    the verdict and by the rules; it counts in full from 0.25 up. A verdict without a lead tells
    nothing, and a wrong lead costs what it would have earned. So a constant verdict earns nothing if
    both sides are ahead equally often, and the best lead is the median of the likely ones.
    """
    verdict_lead, true_lead = _lead(verdict), _lead(right)
    off = abs(sum(verdict[side] - right[side] for side in SIDES)) / 2
    return 0.9 * (abs(true_lead) - abs(verdict_lead - true_lead)) - 0.1 * off


def leading_side(scores: Mapping[str, float]) -> str | None:
    """The side that is ahead; None for a draw."""
    margin = scores["pro"] - scores["con"]
    return None if abs(margin) < TIE else SIDES[margin < 0]


def _lead(scores: Mapping[str, float]) -> float:
    return max(-1.0, min(1.0, (scores["pro"] - scores["con"]) / CLEAR_LEAD))


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

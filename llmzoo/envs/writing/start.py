"""The start of a text: how near two parts come to what the stages ask for, from the first word on.

The stages pay nothing to a text of the wrong length, and faithfulness nothing to one that fails a
single measure, so all answers of a weak model would earn the same. The start rises with every one
of them. It is a small share of the reward, and no gate: what it pays to nonsense is less than what
an amateur's text earns.
"""

from __future__ import annotations

from llmzoo.envs.writing.grounding import Grounding
from llmzoo.envs.writing.structure import Form, Structure

SIZE = 0.25  # what the length of a part alone is worth, of what the part is worth


def start(found: Structure, grounding: Grounding, form: Form) -> float:
    """From 0 to 1: the mean of both parts, by half of it times how well they go together.

    A part is worth how near it comes to the words asked for, times ``SIZE`` and the rest for its
    progress. The parts go together by their ratios and by the measures of the pair.
    """
    own = sum(
        near(found.measured[words], *form.words) * (SIZE + (1 - SIZE) * part.progress)
        for words, part in (("first_words", grounding.first), ("second_words", grounding.second))
    )
    ratios = [
        near(found.measured[name], band.full_from, band.full_to)
        for name, band in (("ratio", form.ratio), ("vocabulary", form.vocabulary))
    ]
    together = (sum(ratios) / 2 + grounding.progress) / 2
    return own / 2 * (1 + together) / 2


def near(value: float, low: float, high: float) -> float:
    """1 from ``low`` to ``high``, below by the share of ``low``, above by that of ``high``."""
    return min(1.0, value / low, high / value if value else 0.0)

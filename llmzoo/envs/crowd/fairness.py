"""How evenly something is shared."""

from __future__ import annotations

from collections.abc import Sequence


def measure_fairness(amounts: Sequence[float]) -> float:
    """1 minus the Gini coefficient, scaled so that 1 is an equal share for all and 0 is all for one.

    The Gini coefficient is the mean difference of two of the n amounts (n² pairs), divided by twice
    their mean. Its largest value is (n - 1) / n, by which it is divided. 1.0 if all amounts are 0.
    """
    count, total = len(amounts), sum(amounts)
    if count < 2 or total == 0:
        return 1.0
    differences = sum(abs(a - b) for a in amounts for b in amounts)
    gini = differences / (2 * count * total)
    return min(1.0, max(0.0, 1.0 - gini * count / (count - 1)))

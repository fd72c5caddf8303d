"""Functions on the returns of a batch, applied before any advantage is taken.

Each function takes and returns a list of float tensors, one for each group ([K]; K may differ).
Values that are compared with the returns, such as the return of ReMax's greedy completion, must
pass through the same call, as a group of their own.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.records import Group

if TYPE_CHECKING:  # options name these functions, and are read without torch
    from torch import Tensor

ReturnFunction = Callable[["Sequence[Tensor]"], "list[Tensor]"]


def scale(factor: float) -> ReturnFunction:
    """R' = factor R. Multiplies the gradient too; no effect where advantages are normalised.

    A negative factor turns a cost into a reward.
    """
    if not math.isfinite(factor) or factor == 0:
        raise ConfigError(f"scale needs a finite factor other than 0, got {factor}")
    return lambda returns: [group * factor for group in returns]


def shift(offset: float) -> ReturnFunction:
    """R' = R + offset. No change to the gradient under a group baseline, much under mareinforce.

    Without a baseline the gradient gains ``offset`` times the mean of grad log pi: 0 in
    expectation, but with a variance that a well-chosen offset lowers and a bad one raises.
    """
    if not math.isfinite(offset):
        raise ConfigError(f"shift needs a finite offset, got {offset}")
    return lambda returns: [group + offset for group in returns]


def clamp(low: float, high: float) -> ReturnFunction:
    """R' = min(max(R, low), high). Returns beyond a bound become equal.

    Outliers no longer dominate the gradient, which is that of the clamped return. A bound may be
    infinite: ``clamp -inf 1`` only bounds from above.
    """
    if not low < high:
        raise ConfigError(f"clamp needs low below high, got {low} and {high}")
    return lambda returns: [group.clamp(low, high) for group in returns]


def unit_variance() -> ReturnFunction:
    """R' = R / std of all returns in the batch. One factor on the whole gradient.

    The step no longer depends on the reward's scale, while groups keep their weights among each
    other; the division by each group's own deviation (``normalize``) lets those of little spread
    weigh as much as others. A batch without spread stays as it is.
    """

    def apply(returns: Sequence[Tensor]) -> list[Tensor]:
        _, deviation = _moments(returns)
        return [group / deviation if deviation else group for group in returns]

    return apply


def standardise() -> ReturnFunction:
    """R' = (R - mean) / std of all returns in the batch. Under mareinforce: a baseline.

    Under a group baseline it does what :func:`unit_variance` does. Without one, the batch's mean
    becomes the baseline, as in REINFORCE++ (arXiv 2501.03262); it holds the answer itself too,
    which for M independent returns shrinks the expected gradient to (M-1)/M of what another
    baseline gives. A batch without spread gives zeros.
    """

    def apply(returns: Sequence[Tensor]) -> list[Tensor]:
        mean, deviation = _moments(returns)
        if deviation == 0:
            return [group.new_zeros(group.shape) for group in returns]
        return [(group - mean) / deviation for group in returns]

    return apply


def compose(*functions: ReturnFunction) -> ReturnFunction:
    """R' = f_n(... f_1(R)), from the first function to the last; without functions R' = R."""

    def apply(returns: Sequence[Tensor]) -> list[Tensor]:
        changed = list(returns)
        for function in functions:
            changed = function(changed)
        return changed

    return apply


FUNCTIONS: dict[str, Callable[..., ReturnFunction]] = {
    "clamp": clamp,
    "scale": scale,
    "shift": shift,
    "standardised": standardise,
    "unit_variance": unit_variance,
}


def parse_reward_functions(spec: Sequence[str]) -> ReturnFunction:
    """The function that a configuration describes, such as ``["shift -0.5", "clamp -1 1"]``.

    Each entry is a name of ``FUNCTIONS`` and its numbers, separated by spaces. Entries are applied
    in order. Raises ``UnknownNameError`` for an unknown name and ``ConfigError`` for wrong numbers.
    """
    if isinstance(spec, str):
        raise ConfigError(f"reward functions are a list, write [{spec!r}] rather than {spec!r}")
    return compose(*map(_parse_reward_function, spec))


def transform_returns(groups: Sequence[Group], spec: Sequence[str]) -> Sequence[Group]:
    """The groups after functions of their returns, those of greedy and redrawn answers included."""
    if not spec:
        return groups
    import torch

    greedy = [torch.tensor([g.greedy]) for g in groups if g.greedy is not None]
    redrawn = [torch.tensor(g.redrawn) for g in groups if g.redrawn]
    change = parse_reward_functions(spec)
    shaped = iter(change([*(torch.tensor(g.returns) for g in groups), *greedy, *redrawn]))
    changed = [replace(g, returns=tuple(next(shaped).tolist())) for g in groups]
    changed = [g if g.greedy is None else replace(g, greedy=next(shaped).item()) for g in changed]
    return [replace(g, redrawn=tuple(next(shaped).tolist())) if g.redrawn else g for g in changed]


def _parse_reward_function(entry: str) -> ReturnFunction:
    words = entry.split() if isinstance(entry, str) else []
    if not words:
        raise ConfigError(f"a reward function is a text such as 'scale 2', got {entry!r}")
    name, *numbers = words
    if name not in FUNCTIONS:
        raise UnknownNameError("reward function", name, FUNCTIONS)
    wanted = list(inspect.signature(FUNCTIONS[name]).parameters)
    if len(numbers) != len(wanted):
        form = " ".join([name, *(word.upper() for word in wanted)])
        raise ConfigError(f"{entry!r} has {len(numbers)} numbers; the form is {form!r}")
    try:
        values = [float(number) for number in numbers]
    except ValueError as error:
        raise ConfigError(f"in {entry!r}, what follows {name!r} must be numbers") from error
    return FUNCTIONS[name](*values)


def _moments(returns: Sequence[Tensor]) -> tuple[float, float]:
    """Mean and (biased) standard deviation of all returns; the latter 0 where it is rounding."""
    if not returns:
        return 0.0, 0.0
    everything = returns[0].double().new_tensor([r for group in returns for r in group.tolist()])
    mean, deviation = everything.mean().item(), everything.std(correction=0).item()
    return mean, deviation if deviation > 1e-6 * max(1.0, everything.abs().max().item()) else 0.0

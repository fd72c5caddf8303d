"""Functions on the returns of a batch, applied before advantages are computed.

How a reward is split among agents is the environment's business: :class:`llmzoo.envs.base.Outcome`.

Each function takes and returns a list of float tensors, one per group ([K]; K may differ).
Values that are compared with the returns, such as the return of ReMax's greedy completion, must
be passed in the same call, as separate groups.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.records import Group

if TYPE_CHECKING:  # options refer to these functions and are read without torch
    from torch import Tensor

ReturnFunction = Callable[["Sequence[Tensor]"], "list[Tensor]"]


def scale(factor: float) -> ReturnFunction:
    """R' = factor R. Scales the gradient too; has no effect if advantages are normalised.

    A negative factor turns a cost into a reward.
    """
    if not math.isfinite(factor) or factor == 0:
        raise ConfigError(f"scale needs a finite factor other than 0, got {factor}")
    return lambda returns: [group * factor for group in returns]


def shift(offset: float) -> ReturnFunction:
    """R' = R + offset. Does not change the gradient with a group baseline, but does in mareinforce.

    Without a baseline, ``offset`` times the mean of grad log pi is added to the gradient. Its expectation
    is 0; a well-chosen offset lowers the variance, and a bad one raises it.
    """
    if not math.isfinite(offset):
        raise ConfigError(f"shift needs a finite offset, got {offset}")
    return lambda returns: [group + offset for group in returns]


def clamp(low: float, high: float) -> ReturnFunction:
    """R' = min(max(R, low), high). Returns beyond a bound become equal.

    Outliers no longer dominate the gradient, which becomes that of the clamped return. A bound may be
    infinite: ``clamp -inf 1`` has only an upper bound.
    """
    if not low < high:
        raise ConfigError(f"clamp needs low below high, got {low} and {high}")
    return lambda returns: [group.clamp(low, high) for group in returns]


def unit_variance() -> ReturnFunction:
    """R' = R / std of all returns in the batch. Scales the whole gradient by one factor.

    The step no longer depends on the reward's scale, and the relative weights of the groups stay
    the same. Division by each group's own standard deviation (``normalize``) instead gives groups
    with little variance as much weight as the others. A batch without variance is not changed.
    """

    def apply(returns: Sequence[Tensor]) -> list[Tensor]:
        _, deviation = _moments(returns)
        return [group / deviation if deviation else group for group in returns]

    return apply


def standardise() -> ReturnFunction:
    """R' = (R - mean) / std of all returns in the batch. In mareinforce, this is a baseline.

    With a group baseline the effect is that of :func:`unit_variance`. Without one, the batch mean
    becomes the baseline, as in REINFORCE++ (arXiv 2501.03262). It contains the completion's own
    return, which for M independent returns shrinks the expected gradient to (M-1)/M of that with an
    independent baseline. A batch without variance gives zeros.
    """

    def apply(returns: Sequence[Tensor]) -> list[Tensor]:
        mean, deviation = _moments(returns)
        if deviation == 0:
            return [group.new_zeros(group.shape) for group in returns]
        return [(group - mean) / deviation for group in returns]

    return apply


def compose(*functions: ReturnFunction) -> ReturnFunction:
    """R' = f_n(... f_1(R)): applies the functions in order; without functions R' = R."""

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
    """The function that an option describes, such as ``["shift -0.5", "clamp -1 1"]``.

    Each entry is a name in ``FUNCTIONS`` followed by its numbers, separated by spaces. Entries are applied
    in order. Raises ``UnknownNameError`` for an unknown name and ``ConfigError`` for wrong numbers.
    """
    if isinstance(spec, str):
        raise ConfigError(f"reward functions are a list, write [{spec!r}] rather than {spec!r}")
    return compose(*map(_parse_reward_function, spec))


def transform_returns(groups: Sequence[Group], spec: Sequence[str]) -> Sequence[Group]:
    """The groups with transformed returns, including those of greedy and replaced completions."""
    if not spec:
        return groups
    import torch

    greedy = [torch.tensor([g.greedy]) for g in groups if g.greedy is not None]
    counterfactual_returns = [
        torch.tensor(g.counterfactual_returns) for g in groups if g.counterfactual_returns
    ]
    change = parse_reward_functions(spec)
    shaped = iter(
        change([*(torch.tensor(g.returns) for g in groups), *greedy, *counterfactual_returns])
    )
    changed = [replace(g, returns=tuple(next(shaped).tolist())) for g in groups]
    changed = [g if g.greedy is None else replace(g, greedy=next(shaped).item()) for g in changed]
    return [
        replace(g, counterfactual_returns=tuple(next(shaped).tolist()))
        if g.counterfactual_returns
        else g
        for g in changed
    ]


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
        raise ConfigError(f"in {entry!r}, only numbers may follow {name!r}") from error
    return FUNCTIONS[name](*values)


def _moments(returns: Sequence[Tensor]) -> tuple[float, float]:
    """Mean and (biased) standard deviation of all returns; the latter is 0 if it is only rounding error."""
    if not returns:
        return 0.0, 0.0
    everything = returns[0].double().new_tensor([r for group in returns for r in group.tolist()])
    mean, deviation = everything.mean().item(), everything.std(correction=0).item()
    return mean, deviation if deviation > 1e-6 * max(1.0, everything.abs().max().item()) else 0.0

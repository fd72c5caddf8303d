"""Sharpening: how much of a gain comes from sampling less randomly.

Training can raise the success of sampled completions although the model learns nothing new: it becomes
as certain as the starting model is at a lower temperature. Three measurements tell this apart from
learning. The starting model plays the same tasks at lower temperatures; greedy completions are
evaluated before and after; and so is pass@8, which sharpening does not raise (Y. Yue et al., 2025,
arXiv 2504.13837).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Literal

from llmzoo.evaluation.statistics import mcnemar_test, mean_interval, mean_returns

TEMPERATURES = (0.3, 0.1)  # of the starting model
SAMPLES = 8  # of each task, for pass@8
TASKS = 100  # that the controls play by default
MAX_COST = 0.1  # episodes of a control over those of the run; above, it is off by default
SIGNIFICANCE_LEVEL = 0.05  # p-values below are called a change

# what of an evaluation a control keeps
_CONTROL_FIELDS = ("tasks", "success", "success_ci95", "solved", "tokens")
_PASS_AT_FIELDS = ("tasks", "samples", "pass_at", "pass_at_ci95")


def control_tasks(
    given: int | Literal["auto"], *, runs: int, episodes: int, eval_tasks: int | Literal["all"]
) -> int:
    """Tasks of a control that plays each of them ``runs`` times; 0 leaves it out.

    ``episodes``: those that the whole run plays. ``auto`` is 100 tasks where they cost less than a
    tenth of that.
    """
    tasks = TASKS if given == "auto" else given
    if eval_tasks != "all":
        tasks = min(tasks, eval_tasks)
    return 0 if given == "auto" and tasks * runs > MAX_COST * episodes else tasks


def control_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of the starting model's evaluation at a lower temperature."""
    return {name: evaluation[name] for name in _CONTROL_FIELDS}


def pass_at_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """pass@8 from an evaluation with as many samples of each task."""
    return {name: evaluation[name] for name in _PASS_AT_FIELDS}


def findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """What moved between the evaluations before and after a run, and what explains it: sentences."""
    if any("solved" not in part for one in (before, after) for part in (one, one["greedy"])):
        return ()  # of an earlier version
    return (
        _success_change(before, after),
        *_reward_attack_findings(before, after),
        *_explain(before, after),
        *_pass_at(before, after),
    )


def _success_change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    sampled = _change(before, after)
    greedy = _change(before["greedy"], after["greedy"])
    if sampled == greedy == "did not change":
        return "Neither sampled nor greedy success changed (McNemar's test, p < .05)."
    return f"Sampled success {sampled}; greedy success {greedy}."


def _change(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    test = mcnemar_test(_solved_flags(after), _solved_flags(before))
    points = 100 * (after["success"] - before["success"])
    if test.p_value >= SIGNIFICANCE_LEVEL or points == 0:
        return "did not change"
    return f"{'rose' if points > 0 else 'fell'} by {abs(points):.1f} points"


def _reward_attack_findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Whether sampled play earns more and solves less."""
    if "returns" not in before or "returns" not in after:
        return  # of an earlier version
    tasks = zip(mean_returns(before), mean_returns(after), strict=False)
    gained = [now - then for then, now in tasks if not math.isnan(now - then)]
    interval = mean_interval([[gain] for gain in gained]) if gained else None
    if interval and interval[0] > 0 and _change(before, after).startswith("fell"):
        then, now = (fmean(mean.values()) for mean in (before["mean_return"], after["mean_return"]))
        yield (
            f"The mean return rose from {then:.3g} to {now:.3g} while success fell: the reward pays for "
            "something else than solving the task."
        )


def _explain(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Whether the starting model gets as far at a lower temperature."""
    controls: Mapping[str, Any] = before.get("lower_temperatures", {})
    if not controls:
        return
    best = max(controls, key=lambda name: float(controls[name]["success"]))
    reached, played = controls[best]["success"], len(controls[best]["solved"])
    solved_before, solved_after = _solved_flags(before)[:played], _solved_flags(after)[:played]
    rate_before, rate_after = sum(solved_before) / played, sum(solved_after) / played
    risen = mcnemar_test(solved_after, solved_before)
    if rate_after <= rate_before or risen.p_value >= SIGNIFICANCE_LEVEL:
        return
    beyond = mcnemar_test(solved_after, _solved_flags(controls[best]))
    if reached >= rate_after or beyond.p_value >= SIGNIFICANCE_LEVEL:
        yield (
            f"The starting model reaches {reached:.1%} at temperature {best}: this gain is explained "
            "by sampling less randomly."
        )
        return
    share = max(0.0, (reached - rate_before) / (rate_after - rate_before))
    yield (
        f"The starting model reaches {reached:.1%} at temperature {best}, the trained model "
        f"{rate_after:.1%} on the same {played} tasks: sampling less randomly explains {share:.0%} of "
        "the gain."
    )


def _pass_at(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    k = str(SAMPLES)
    if all(k in one.get("several_samples", {}).get("pass_at", {}) for one in (before, after)):
        first, last = (one["several_samples"]["pass_at"][k] for one in (before, after))
        yield f"pass@{k}: {first:.1%} before, {last:.1%} after."


def _solved_flags(evaluation: Mapping[str, Any]) -> list[bool]:
    return [mark == "1" for mark in evaluation["solved"]]

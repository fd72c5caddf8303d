"""Sharpening: how much of a gain is explained by less random sampling.

Training can raise the success of sampled completions although the model learns nothing new: its
distribution becomes as sharp as that of the starting model at a lower temperature. Three measurements
distinguish this from learning. The starting model plays the same tasks at lower temperatures. Greedy
completions are evaluated before and after training. So is pass@8, which sharpening does not raise (Y.
Yue et al., 2025, arXiv 2504.13837).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from statistics import fmean
from typing import Any, Literal

from llmzoo.evaluation.statistics import mcnemar_test, mean_interval, mean_returns

TEMPERATURES = (0.3, 0.1)  # for the starting model
SAMPLES = 8  # per task, for pass@8
TASKS = 100  # of the controls by default
MAX_COST = (
    0.1  # maximum ratio of a control's episodes to the run's, above which it is off by default
)
SIGNIFICANCE_LEVEL = 0.05  # smaller p-values are reported as a change

# fields of an evaluation that a control keeps
_CONTROL_FIELDS = ("tasks", "success", "success_ci95", "solved", "tokens")
_PASS_AT_FIELDS = ("tasks", "samples", "pass_at", "pass_at_ci95")


def control_tasks(
    given: int | Literal["auto"], *, runs: int, episodes: int, eval_tasks: int | Literal["all"]
) -> int:
    """The number of tasks of a control that plays each one ``runs`` times; 0 leaves it out.

    ``episodes``: those of the whole run. ``auto`` is 100 tasks if they cost less than a tenth of these
    episodes, and otherwise 0.
    """
    tasks = TASKS if given == "auto" else given
    if eval_tasks != "all":
        tasks = min(tasks, eval_tasks)
    return 0 if given == "auto" and tasks * runs > MAX_COST * episodes else tasks


def control_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that are kept of the starting model's evaluation at a lower temperature."""
    return {name: evaluation[name] for name in _CONTROL_FIELDS}


def pass_at_result(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """pass@8 from an evaluation with as many samples of each task."""
    return {name: evaluation[name] for name in _PASS_AT_FIELDS}


def findings(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """Sentences on what changed between the evaluations before and after a run, and why."""
    if any("solved" not in part for one in (before, after) for part in (one, one["greedy"])):
        return ()  # written by an earlier version
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
    """Whether the return of sampled play rose while its success fell."""
    if "returns" not in before or "returns" not in after:
        return  # written by an earlier version
    tasks = zip(mean_returns(before), mean_returns(after), strict=False)
    gained = [now - then for then, now in tasks if not math.isnan(now - then)]
    interval = mean_interval([[gain] for gain in gained]) if gained else None
    if interval and interval[0] > 0 and _change(before, after).startswith("fell"):
        then, now = (fmean(mean.values()) for mean in (before["mean_return"], after["mean_return"]))
        yield (
            f"The mean return rose from {then:.3g} to {now:.3g} while success fell: the reward can be "
            "obtained without solving the task."
        )


def _explain(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """How much of the gain the starting model reaches at a lower temperature."""
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
            f"The starting model reaches {reached:.1%} at temperature {best}: less random sampling "
            "explains this gain."
        )
        return
    share = max(0.0, (reached - rate_before) / (rate_after - rate_before))
    yield (
        f"The starting model reaches {reached:.1%} at temperature {best}, the trained model "
        f"{rate_after:.1%} on the same {played} tasks: less random sampling explains {share:.0%} of "
        "the gain."
    )


def _pass_at(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    k = str(SAMPLES)
    if all(k in one.get("several_samples", {}).get("pass_at", {}) for one in (before, after)):
        first, last = (one["several_samples"]["pass_at"][k] for one in (before, after))
        yield f"pass@{k}: {first:.1%} before, {last:.1%} after."


def _solved_flags(evaluation: Mapping[str, Any]) -> list[bool]:
    return [mark == "1" for mark in evaluation["solved"]]

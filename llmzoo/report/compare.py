"""Compares evaluations of the same tasks, pair by pair.

An evaluation is what ``llmzoo eval --out`` keeps, the object of ``llmzoo eval --json`` in a file, or
the last evaluation of a training run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from llmzoo import files
from llmzoo.errors import ConfigError
from llmzoo.evaluation.statistics import (
    bootstrap_interval,
    holm_correction,
    mean_returns,
    pool_success,
    sign_flip_test,
)

_EVALUATION_FILES = ("result.json", "after.json")  # of an evaluation, of a run
_MAX_NAMED_TASKS = 3  # tasks in an error


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedComparison:
    """Two evaluations, compared task by task.

    ``more`` and ``less``: tasks that the first solved more and less often than the second.
    ``p_value``: of no difference in success, McNemar's exact test for one sample of each task and the
    sign-flip test otherwise (:func:`llmzoo.evaluation.statistics.paired_test_over_seeds`). ``p_holm``: the
    same, corrected for the number of pairs. ``gain``: the difference of the returns, averaged over the agents
    and tasks, with its bootstrap interval over tasks.
    """

    first: str
    second: str
    tasks: int
    success: float  # of the first minus that of the second
    more: int
    less: int
    p_value: float
    p_holm: float
    gain: float
    gain_ci95: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """``rates``: success of each evaluation with its interval, and its mean return by agent.

    ``differ``: the environment's arguments that the evaluations differ in, each with its value in every
    evaluation whose folder says it; None where it has its default.
    """

    env: str
    split: str
    rates: Mapping[str, tuple[float, tuple[float, float]]]
    returns: Mapping[str, Mapping[str, float]]
    pairs: tuple[PairedComparison, ...]
    differ: Mapping[str, Mapping[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def load_evaluation(source: str) -> dict[str, Any]:
    """The evaluation in a folder or file. Raises :class:`ConfigError` if there is none."""
    path = Path(source)
    candidates = [path / name for name in _EVALUATION_FILES] if path.is_dir() else [path]
    for candidate in candidates:
        found = files.read_json_object(candidate)
        if found is None:
            continue
        if not {"ids", "solved", "returns", "env", "split"} <= found.keys():
            raise ConfigError(
                f"{candidate} has no results of single tasks: evaluate again with this version"
            )
        config = (files.read_json_object(path / "config.json") if path.is_dir() else None) or {}
        return found | ({"env_args": config["env_args"]} if "env_args" in config else {})
    if (path / "episodes.jsonl").exists():
        raise ConfigError(f"{source} was cut off: llmzoo eval --out {source} --resume ends it")
    raise ConfigError(f"{source} holds no evaluation: llmzoo eval --out FOLDER writes one")


def compare(evaluations: Mapping[str, Mapping[str, Any]]) -> Comparison:
    """Every pair of evaluations by name.

    Raises :class:`ConfigError` for evaluations of other tasks, with what differs.
    """
    names = list(evaluations)
    if len(names) < 2:
        raise ConfigError("compare needs two evaluations or more")
    for name in names[1:]:
        _check_same_tasks(names[0], evaluations[names[0]], name, evaluations[name])
    first = evaluations[names[0]]
    pairs = list(combinations(names, 2))
    measured = [compare_pair(evaluations[a], evaluations[b]) for a, b in pairs]
    corrected = holm_correction([one["p_value"] for one in measured])
    return Comparison(
        env=first["env"],
        split=first["split"],
        rates={name: pool_success([one]) for name, one in evaluations.items()},
        returns={name: dict(one["mean_return"]) for name, one in evaluations.items()},
        pairs=tuple(
            PairedComparison(first=a, second=b, p_holm=p, **one)
            for (a, b), one, p in zip(pairs, measured, corrected, strict=True)
        ),
        differ=_differing_env_args(evaluations),
    )


def _differing_env_args(evaluations: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    known_args = {name: one["env_args"] for name, one in evaluations.items() if "env_args" in one}
    values = {
        arg: {name: args.get(arg) for name, args in known_args.items()}
        for arg in dict.fromkeys(arg for args in known_args.values() for arg in args)
        if arg != "split"
    }
    return {
        arg: by_evaluation
        for arg, by_evaluation in values.items()
        if any(value != next(iter(by_evaluation.values())) for value in by_evaluation.values())
    }


def _check_same_tasks(
    name: str, one: Mapping[str, Any], other_name: str, other: Mapping[str, Any]
) -> None:
    for key in ("env", "split", "source"):
        if one.get(key) != other.get(key):
            raise ConfigError(
                f"{name} and {other_name} differ in {key}: {one.get(key)!r}, {other.get(key)!r}. "
                f"Evaluate both on the same tasks"
            )
    left, right = set(one["ids"]), set(other["ids"])
    if left != right:
        only = [*(left - right), *(right - left)]
        raise ConfigError(
            f"{name} and {other_name} played different tasks: {len(left)} and {len(right)}, of which "
            f"{len(left & right)} are the same; not in both are {', '.join(sorted(only)[:_MAX_NAMED_TASKS])}"
            f"{' and others' if len(only) > _MAX_NAMED_TASKS else ''}. Evaluate both with the same --tasks"
        )


def compare_pair(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a :class:`PairedComparison` that two evaluations of the same tasks give: those of ``llmzoo eval``
    or, of several seeds, ``ids``, ``solved`` and ``returns`` one after another."""
    one_solved, other_solved = _by_task(one, _marks(one)), _by_task(other, _marks(other))
    one_returns, other_returns = (
        _by_task(one, mean_returns(one)),
        _by_task(other, mean_returns(other)),
    )
    # whole numbers, as the exact test needs: each count of successes times the other's number of samples
    differences = [
        round(
            sum(one_solved[id]) * len(other_solved[id])
            - sum(other_solved[id]) * len(one_solved[id])
        )
        for id in one_solved
    ]
    test = sign_flip_test(differences)
    gains = [fmean(one_returns[id]) - fmean(other_returns[id]) for id in one_returns]
    weights = [
        len(one_returns[id]) for id in one_returns
    ]  # a task that the set has several times counts several times
    clusters = [[gain] * weight for gain, weight in zip(gains, weights, strict=True)]
    return {
        "tasks": len(one_solved),
        "success": pool_success([one])[0] - pool_success([other])[0],
        "more": test.only_first,
        "less": test.only_second,
        "p_value": test.p_value,
        "gain": fmean(gain for cluster in clusters for gain in cluster),
        "gain_ci95": bootstrap_interval(clusters),
    }


def _marks(evaluation: Mapping[str, Any]) -> list[float]:
    return [float(mark == "1") for mark in evaluation["solved"]]


def _by_task(evaluation: Mapping[str, Any], values: Sequence[float]) -> dict[str, list[float]]:
    by_task: dict[str, list[float]] = {}
    for id, value in zip(evaluation["ids"], values, strict=True):
        by_task.setdefault(id, []).append(value)
    return by_task


COLUMNS = (
    *("", "success", "tasks solved more often", "less often"),
    *("p", "p, corrected", "return [95%]"),
)


def comparison_rows(pairs: Sequence[PairedComparison]) -> Iterator[list[str]]:
    """A row under :data:`COLUMNS` for each pair."""
    for pair in pairs:
        low, high = pair.gain_ci95
        yield [
            f"{pair.first} against {pair.second}",
            f"{pair.success:+.1%}",
            str(pair.more),
            str(pair.less),
            _format_p_value(pair.p_value),
            _format_p_value(pair.p_holm),
            f"{pair.gain:+.3f} [{low:+.3f}, {high:+.3f}]",
        ]


def _format_p_value(value: float) -> str:
    return "< 0.0001" if value < 1e-4 else f"{value:.4f}"


def plot_rates(comparison: Comparison, path: Path) -> None:
    """A picture of the success rates with their intervals."""
    from matplotlib.figure import Figure

    from llmzoo.report.style import save_figure

    names = list(comparison.rates)
    figure = Figure(figsize=(7, 0.5 * len(names) + 1.2), dpi=130, layout="constrained")
    axes = figure.subplots()
    for place, (value, (low, high)) in enumerate(comparison.rates.values()):
        axes.errorbar(value, place, xerr=[[value - low], [high - value]], fmt="o", capsize=3)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1)
    axes.grid(axis="x", alpha=0.3)
    axes.set_xlabel(f"success on {comparison.env}, {comparison.split}; 95% intervals by task")
    save_figure(figure, path)

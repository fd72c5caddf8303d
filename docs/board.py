"""The board: every claim of the bundles in ``docs/results/bundles``, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llmzoo.evaluation.bundles import stored
from llmzoo.evaluation.bundles.layout import Bundle, StoredEvaluation, read_bundle
from llmzoo.evaluation.evaluate import format_task_count

BUNDLES = Path(__file__).parent / "results" / "bundles"
_HEAD = [
    "result",
    "environment",
    "policy",
    "tasks",
    "runs",
    "success [95%]",
    "interval over",
    "tokens",
]
_TEXT = """# Board

Every row is a claim of a [bundle](verifying.md) in `docs/results/bundles`. A number without its
episodes has no row. [Verifying](verifying.md) says how to check the rows of a bundle, which takes a minute, and how to
make a bundle.

"""


def page() -> str:
    """The page; raises ``ValueError`` for a bundle whose numbers do not follow from its episodes."""
    return _TEXT + "\n".join("\n".join(_section(path)) for path in sorted(BUNDLES.iterdir()))


def _section(path: Path) -> Iterator[str]:
    bundle = read_bundle(path)
    _check(bundle)
    evaluations = {evaluation.name: evaluation for evaluation in bundle.evaluations}
    yield f"## {bundle.title}"
    yield ""
    yield f"`llmzoo eval verify docs/results/bundles/{path.name}`"
    yield ""
    yield f"| {' | '.join(_HEAD)} |"
    yield "|---" * len(_HEAD) + "|"
    for claim in bundle.claims:
        yield f"| {' | '.join(_row(claim, evaluations[claim['evaluations'][0]]))} |"
    yield ""
    yield from _origin(bundle)
    yield ""


def _check(bundle: Bundle) -> None:
    """The checks for which nothing is played."""
    findings = [stored.check_files(bundle), stored.check_runs(bundle), stored.check_claims(bundle)]
    for evaluation in bundle.evaluations:
        findings += [check(evaluation) for check in (stored.check_tasks, stored.check_numbers)]
    for status, reason in findings:
        if status == "wrong":
            raise ValueError(f"{bundle.folder}: {reason}")


def _row(claim: Mapping[str, Any], evaluation: StoredEvaluation) -> list[str]:
    low, high = claim["success_ci95"]
    config, result = evaluation.config, evaluation.result
    given = ", ".join(f"{name}={value}" for name, value in config["env_args"].items())
    samples = "" if config["samples"] == 1 else f", {config['samples']} times"
    return [
        claim["name"],
        f"[`{config['env']}`](environments/{config['env'].removesuffix('_v0')}.md)"
        + (f" ({given})" if given else ""),
        f"{_policy(evaluation)}, {result['decoding']}",
        f"{format_task_count(result)} ({result['split']}{samples})",
        str(claim["runs"]),
        f"{claim['success']:.1%} [{low:.1%}, {high:.1%}]",
        claim["interval_over"],
        f"{claim['tokens']:,}",
    ]


def _policy(evaluation: StoredEvaluation) -> str:
    if evaluation.training is not None:
        config, steps = evaluation.training["config"], evaluation.training["steps"]
        return f"`{config['model']}` after {steps} iterations of `{config['learner']}`"
    names = {agent: evaluation.settings_for(agent)["policy"] for agent in evaluation.agents}
    if len(set(names.values())) == 1:
        return f"`{next(iter(names.values()))}`"
    return ", ".join(f"{agent}: `{name}`" for agent, name in names.items())


def _origin(bundle: Bundle) -> Iterator[str]:
    """Where and when a bundle's evaluations were played, and what training cost."""
    starts = [start for evaluation in bundle.evaluations for start in evaluation.starts]
    commits = dict.fromkeys(str(start["commit"])[:12] for start in starts)
    machines = dict.fromkeys(
        f"{s['machine']['model']}, {s['machine']['cores']} cores" for s in starts
    )
    dates = sorted(start["started"][:10] for start in starts)
    yield f"Played at commit {', '.join(commits)} on {', '.join(machines)}, {dates[-1]}."
    runs = {
        evaluation.training["config"]["seed"]: evaluation.training
        for evaluation in bundle.evaluations
        if evaluation.training is not None
    }
    if runs:
        tokens = sum(training["tokens"] for training in runs.values())
        yield (
            f"Training, with seeds {', '.join(map(str, runs))}, sampled {tokens:,} tokens; these are not checked."
        )

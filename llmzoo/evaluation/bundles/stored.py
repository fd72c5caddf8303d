"""Checks of what a bundle stores, for which nothing is played."""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations, islice
from typing import Any

from llmzoo.evaluation.bundles.checks import Finding, differences, name_some, not_checked, ok, wrong
from llmzoo.evaluation.bundles.claims import compute_claims, group_runs
from llmzoo.evaluation.bundles.layout import Bundle, StoredEvaluation, row_key
from llmzoo.evaluation.bundles.write import describe_file
from llmzoo.evaluation.evaluate import compute_evaluation
from llmzoo.models.model_catalog import TINY
from llmzoo.policies import SCRIPTED
from llmzoo.records.episode_rows import to_episode

OWN_POLICIES = {*SCRIPTED, TINY} - {"human"}  # policies that are part of llmzoo
_HIGHEST_LOGPROB = 1e-4  # of a token; rounding


def check_files(bundle: Bundle) -> Finding:
    """Every file is the one that the bundle names, by its SHA-256, and there are no others."""
    stray = [*bundle.other_files]
    there = {
        path.relative_to(bundle.folder).as_posix(): path
        for path in bundle.folder.glob("*/*")
        if path.is_file()
    }
    stray += sorted(there.keys() - bundle.files.keys() - {*stray})
    if stray:
        return wrong(f"files that the bundle does not name: {name_some(stray)}")
    missing = sorted(bundle.files.keys() - there.keys())
    if missing:
        return wrong(f"files that are missing: {name_some(missing)}")
    changed = [name for name, path in there.items() if describe_file(path) != bundle.files[name]]
    if changed:
        return wrong(f"files with another content than their hash says: {name_some(changed)}")
    return ok(f"{len(there)} files have their SHA-256")


def check_runs(bundle: Bundle) -> Finding:
    """No run counts twice in a claim."""
    for runs in group_runs(bundle.evaluations):
        for one, other in combinations(runs, 2):
            if _texts(one) == _texts(other):
                return wrong(
                    f"{one.name} and {other.name} have the same completions: one run counts twice"
                )
            weights = [
                [s.get("weights") for s in e.config["policies"].values()] for e in (one, other)
            ]
            if one.training is not None and any(weights[0]) and weights[0] == weights[1]:
                return wrong(
                    f"{one.name} and {other.name} have the same weights: one run counts twice"
                )
    counts = [len(runs) for runs in group_runs(bundle.evaluations)]
    return ok(f"runs of each claim: {', '.join(map(str, counts))}; none counts twice")


def check_claims(bundle: Bundle) -> Finding:
    """The claims are those that the evaluations' numbers give."""
    claims = compute_claims(bundle.evaluations, bundle.price)
    found = [*differences([*bundle.claims], json.loads(json.dumps(claims)), "claims")]
    if found:
        return wrong(name_some(found))
    alone = sum(claim["runs"] == 1 for claim in claims)
    note = f"; {alone} of a single run, with intervals over tasks only" if alone else ""
    return ok(f"{len(claims)} claims{note}")


def check_tasks(evaluation: StoredEvaluation) -> Finding:
    """Each of the declared tasks was played as often as declared, with its own seed."""
    config, rows = evaluation.config, evaluation.rows
    size = rows[0]["info"].get("tasks")  # of the split; judging the episodes compares it
    declared = config["tasks"]
    if declared == "all" and type(size) is not int:
        return wrong("'all' tasks are declared, of a split without an end")
    tasks = declared if type(declared) is int else size
    tasks = min(tasks, size) if type(size) is int else tasks
    counts = Counter(map(row_key, rows))
    twice = [key for key, count in counts.items() if count > 1]
    if twice:
        return wrong(f"episodes that are there twice, as (task, sample): {name_some(twice)}")
    samples = config["samples"]
    every = ((task, sample) for task in range(tasks) for sample in range(samples))
    missing = [*islice((key for key in every if key not in counts), 3)]  # "every" may be 10^12
    if missing:
        total = max(tasks, 0) * max(samples, 0)
        return wrong(
            f"{total} episodes are declared and {len(counts)} are there; missing, as (task, sample), "
            f"are {name_some(missing)}"
        )
    extra = [(t, s) for t, s in counts if not (0 <= t < tasks and 0 <= s < samples)]
    if extra:
        return wrong(f"episodes that are not declared, as (task, sample): {name_some(extra)}")
    other = [row["task"] for row in rows if row["seed"] != config["seed"] + row["task"]]
    if other:
        return wrong(f"tasks with another seed than {config['seed']} + task: {name_some(other)}")
    of = f" of {size}" if type(size) is int else ""
    return ok(f"the first {tasks}{of} tasks, {config['samples']} times each, with their seeds")


def check_tokens(evaluation: StoredEvaluation) -> Finding:
    """A model's completions have their tokens, each with its log-probability; other completions have none."""
    total = 0
    for row in evaluation.rows:
        for decision in row["decisions"]:
            settings, completion = (
                evaluation.settings_for(decision["agent"]),
                decision["completion"],
            )
            where = f"task {row['task']}, sample {row['sample']}, {decision['agent']}: "
            count = len(completion["ids"])
            total += count
            if count != len(completion["logprobs"]):
                return wrong(
                    f"{where}{count} tokens and {len(completion['logprobs'])} log-probabilities"
                )
            if any(value > _HIGHEST_LOGPROB for value in completion["logprobs"]):
                return wrong(f"{where}a log-probability is above 0")
            if settings.get("weights") is None and count:
                return wrong(f"{where}tokens of a policy without weights")
            if settings.get("weights") is not None and completion["text"] and not count:
                return wrong(f"{where}a completion of a model without its tokens")
            limit = (settings.get("sampling") or {}).get("max_new_tokens")
            if type(limit) is int and count > limit:
                return wrong(f"{where}{count} tokens, but max_new_tokens is {limit}")
    return ok(f"{total:,} sampled tokens, each with its log-probability")


def check_numbers(evaluation: StoredEvaluation) -> Finding:
    """Every number of the result follows from the stored episodes."""
    result = evaluation.result
    label, names = evaluation.config["policy"], _policy_names(evaluation)
    if names and label not in names:
        return wrong(f"{label!r:.120} is claimed to have played, but the policies are {names[0]}")
    claimed = {name: value for name, value in result.items() if name not in ("seconds", "usage")}
    found = [*differences(claimed, recompute_result(evaluation))]
    if found:
        return wrong(name_some(found))
    return ok(f"{len(claimed)} numbers and texts of the result, with its intervals")


def check_reported(evaluation: StoredEvaluation) -> Finding:
    """What nothing in the bundle can confirm."""
    result = evaluation.result
    used = "" if result.get("usage") is None else ", and the tokens that an endpoint counted"
    return not_checked(f"{result['seconds']:.1f} seconds{used}: as whoever made the bundle says")


def recompute_result(evaluation: StoredEvaluation) -> dict[str, Any]:
    """The numbers of the result, without ``seconds`` and ``usage``, from the stored episodes."""
    config = evaluation.config
    scripted = {a for a in evaluation.agents if evaluation.settings_for(a).get("sampling") is None}
    values = compute_evaluation(
        [*map(to_episode, evaluation.rows)],
        policy=config["policy"],
        split=config["split"],
        seed=config["seed"],
        greedy=config["greedy"],
        samples=config["samples"],
        scripted=scripted,
        usage=None,
        seconds=0.0,
    ).to_dict()
    del values["seconds"], values["usage"]
    return dict(json.loads(json.dumps(values)))


def _policy_names(evaluation: StoredEvaluation) -> tuple[str, ...]:
    """The names that an evaluation may give its policies if all are llmzoo's own; otherwise none.

    The name of another policy cannot be compared: a run is called by its folder, or by its checkpoint.
    """
    names = {a: settings["policy"] for a, settings in evaluation.config["policies"].items()}
    different = {*map(str, names.values())}
    if not different <= OWN_POLICIES:
        return ()
    by_agent = ", ".join(f"{agent}: {name}" for agent, name in names.items())
    return (by_agent, *different) if len(different) == 1 else (by_agent,)


def _texts(evaluation: StoredEvaluation) -> list[list[str]]:
    return [[d["completion"]["text"] for d in row["decisions"]] for row in evaluation.rows]

"""The list of environments: how hard each is, its other forms, and whether any run has learned there."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from baselines import ids, read
from environment_pages import slug

import llmzoo
from llmzoo.registry import EnvSpec, argument_types

LOGS = Path(__file__).parent / "results" / "logs"
PLAYERS = ("expert", "noisy_expert", "tiny", "smollm2")
_ABOUT = """The *success* of an expert, a noisy expert, `tiny` and [`smollm2`](../models.md), in percent, is that of the
baselines on each environment's page. *Tokens*: what `tiny` writes in a task. *Forms*: `one agent` stands for
`num_agents=1`, `split` for `view="split"`, in which no agent sees everything. *Runs*: how many runs in the logs of
[the results](../results/index.md) ended with more success than they began with, their 95% intervals apart, of all runs
there. In self-play, success measures little; [exploitability](../results/self_play.md) is what these runs are about.
Runs of [coverage](../results/coverage.md) begin with imitation, which is most of their gain.

`llmzoo.make(id)` gives the AEC form, `llmzoo.parallel(id)` the parallel form; `pettingzoo.make` knows each as
`llmzoo/NAME-vN`, for example `llmzoo/sudoku-v0`. [How to write one](../writing_environments.md).
"""


def index() -> str:
    head = ("id", "agents", "what it is", "success", "tokens", "forms", "runs")
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    played = {(row["env"], row["policy"]): row for row in read()}
    runs, better = _runs()
    for spec in sorted(map(llmzoo.spec, ids()), key=lambda spec: spec.family):
        rows = [played.get((spec.id, player)) for player in PLAYERS]
        writes = rows[PLAYERS.index("tiny")]
        cells = [
            f"[`{spec.id}`]({slug(spec.id)}.md)",
            ", ".join(f"`{agent}`" for agent in spec.agents),
            f"{spec.family}: {spec.summary}",
            ", ".join("-" if row is None else f"{100 * row['success']:.0f}" for row in rows),
            "" if writes is None else f"{writes['tokens'] / writes['tasks']:.0f}",
            ", ".join(_forms(spec)),
            f"{better[spec.id]} of {runs[spec.id]}" if runs[spec.id] else "",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "# Environments\n\n" + "\n".join(lines) + "\n\n" + _ABOUT


def _forms(spec: EnvSpec) -> list[str]:
    names = argument_types(spec) or {}
    return ["one agent"] * ("num_agents" in names) + ["split"] * ("view" in names)


def _runs() -> tuple[Counter[str], Counter[str]]:
    """For each environment, the runs of all logs, and those that ended with more success."""
    runs, better = Counter[str](), Counter[str]()
    for log in sorted(LOGS.glob("*.jsonl.gz")):
        with gzip.open(log, "rt", encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        for row in rows:
            before, after = row.get("before"), row.get("after")
            if isinstance(before, dict) and isinstance(after, dict):
                env = row["settings"].get("env") or after.get("env")
                runs[env] += 1
                better[env] += after["success_ci95"][0] > before["success_ci95"][1]
    return runs, better

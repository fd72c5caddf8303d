"""The tables of docs/results/smollm2.md: what each arm gave, and what was written before and after."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from logs import Row
from readings import by_task, in_order, markdown, of_arm

from llmzoo.evaluation.statistics import mean_interval, pool_success

ARMS = {
    "turns": ("AT-GRPO", 2),
    "turns_one": ("AT-GRPO, alone in the first agent", 1),
    "tool_one": ("AT-GRPO, an agent that writes programs", 1),
    "joint": ("MAGRPO", 2),
    "joint_one": ("GRPO, one answer with both functions", 1),
    "author_one": ("GRPO, one answer with both texts", 1),
}
LEARNERS = {
    **{"magrpo": "MAGRPO", "marloo": "MARLOO", "mareinforce": "MAREINFORCE", "maxrl": "MaxRL"},
    **{"at_grpo": "AT-GRPO", "ippo": "IPPO, with a value head", "dpo": "DPO"},
    **{"sft": "SFT on its own successes", "one": "GRPO, both parts in one completion"},
}
_LONGEST = 400  # characters of an answer that is shown


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """For each task a table of its arms, and what was played on a few test tasks."""
    made = {}
    for task, mine in by_task(rows).items():
        made[f"smollm2 {task}"] = _arms(mine)
        made[f"smollm2 played {task}"] = _played(mine)
    return made


def of_learners(rows: Sequence[Row]) -> dict[str, str]:
    """What each learner made of the model in as many tokens, one run a seed."""
    made = {}
    for task, mine in by_task(rows).items():
        lines = []
        for arm in in_order(mine, "arm"):
            runs = of_arm(mine, arm)
            agents = len(runs[0]["after"]["mean_return"])
            ends = [[row["after"]["greedy"], row["after"]] for row in runs]
            each = [
                ", ".join(f"{100 * one['success']:.1f}" for one in of)
                for of in zip(*ends, strict=True)
            ]
            lines.append([LEARNERS.get(arm, arm), str(agents), *each])
        made[f"smollm2 learners {task}"] = markdown(["", "agents", "greedy", "sampled"], lines)
    return made


def of_rates(rows: Sequence[Row]) -> dict[str, str]:
    """What an agent learned at each rate of its adapter: sampled and greedy success, a pair for each seed."""

    def told(row: Row, when: str) -> str:
        sampled, greedy = row[when]["success"], row[when]["greedy"]["success"]
        return f"{sampled:.1%} / {greedy:.1%}"

    lines = []
    for arm in in_order(rows, "arm"):
        runs = of_arm(rows, arm)
        rates = {row["settings"]["learner_args"]["learning_rate"] for row in runs}
        cells = [", ".join(told(row, when) for row in runs) for when in ("before", "after")]
        lines.append([", ".join(f"{rate:g}" for rate in rates), *cells])
    return {"adapter rates": markdown(["learning_rate", "before", "after"], lines)}


def _arms(rows: Sequence[Row]) -> str:
    lines = [
        "| | agents | seeds | success before | after | return before | after "
        "| each seed, after | tokens of training | minutes of a core |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for arm in in_order(rows, "arm"):
        runs = of_arm(rows, arm)
        if not runs:
            continue
        name, agents = ARMS[arm]
        before, after = ([row[when] for row in runs] for when in ("before", "after"))
        each = ", ".join(f"{one['success']:.1%}" for one in after)
        tokens = fmean(row["tokens"] for row in runs) / 1000
        on_cpu = [row["seconds"] / 60 for row in runs if "device" not in row]
        cells = [name, agents, len(runs), _rate(before), _rate(after)]
        cells += [
            _returns(before),
            _returns(after),
            each,
            f"{tokens:.0f}k",
            f"{fmean(on_cpu):.0f}" if on_cpu else "",
        ]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _rate(measured: Sequence[Row]) -> str:
    success, (low, high) = pool_success(measured)
    return f"{success:.1%} [{low:.1%}, {high:.1%}]"


def _returns(measured: Sequence[Row]) -> str:
    """The return of an episode in the mean over its agents, with the interval by distinct tasks."""
    clusters: dict[str, list[float]] = {}
    for one in measured:
        for name, *values in zip(one["ids"], *one["returns"].values(), strict=True):
            clusters.setdefault(name, []).append(fmean(values))
    mean = fmean(value for values in clusters.values() for value in values)
    interval = mean_interval(list(clusters.values()))
    return (
        f"{mean:.2f}" if interval is None else f"{mean:.2f} [{interval[0]:.2f}, {interval[1]:.2f}]"
    )


def _played(rows: Sequence[Row]) -> str:
    """The episodes of the first arm's first seed, before and after."""
    runs = of_arm(rows, in_order(rows, "arm")[0])
    if not runs or "transcripts" not in runs[0]:
        return ""
    first = runs[0]["transcripts"]
    parts = []
    pairs = zip(first["before"], first["after"], strict=True)
    for number, (before, after) in enumerate(pairs, start=1):
        parts += [f"Task {number}, what the first agent reads:", _quoted([before["prompt"]])]
        for when, one in (("Before training", before), ("After", after)):
            parts += [f"{when}, {_outcome(one)}:", _quoted(_answers(one))]
    return "\n\n".join(parts)


def _outcome(episode: Mapping[str, Any]) -> str:
    returns = ", ".join(f"{agent} {value:.2f}" for agent, value in episode["returns"].items())
    return f"{'solved' if episode['success'] else 'not solved'}, returns {returns}"


def _answers(episode: Mapping[str, Any]) -> list[str]:
    return [f"[{agent}] {_cut(text)}" for agent, text in episode["answers"]]


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


def _quoted(texts: Sequence[str]) -> str:
    """As a block of plain text: indented, since answers have fences of their own."""
    return "\n".join(f"    {line}".rstrip() for text in texts for line in text.splitlines())


def signal(log: Path) -> dict[str, str]:
    """Where the untrained model has something to learn from."""
    from group_signal import table

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    return {"smollm2 signal": table(lines)}

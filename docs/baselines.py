"""What each environment gives before anybody trains: ``python docs/baselines.py``.

Scripted players and untrained models play the test tasks of every environment with its default
arguments, and with the shipped sample where the tasks are a public set. Where fewer than 30 test
tasks are shipped, they play both splits. One line of ``docs/results/logs/baselines.jsonl.gz`` is one
player in one environment; what the log holds is not played again. ``python docs/build.py`` puts the
table on the environment's page.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import llmzoo
from llmzoo.evaluation.evaluate import FEW_TASKS, format_task_count

LOG = Path(__file__).parent / "results" / "logs" / "baselines.jsonl.gz"
TASKS = 200
# player -> options of evaluate. A model of 135 million parameters takes minutes for 8 tasks on two cores;
# where the log has a row with more of them, it was given more time
PLAYERS: dict[str, dict[str, Any]] = {
    "random": {"tasks": TASKS},
    "noisy_expert": {"tasks": TASKS},
    "expert": {"tasks": TASKS},
    "tiny": {"tasks": TASKS},
    "smollm2": {"tasks": 8, "temperature": 0.7, "max_new_tokens": 128},
}
CALLED = {
    "random": "random",
    "noisy_expert": "noisy_expert",
    "expert": "expert",
    "tiny": "`tiny`",
    "smollm2": "`smollm2`",
}
Row = Mapping[str, Any]


def ids() -> list[str]:
    """The environments that are ours."""
    return [id for id in llmzoo.list_envs() if llmzoo.spec(id).family != "third-party"]


@cache
def split_of(id: str) -> str:
    """The split that is played: test, or all where test has few tasks."""
    env = llmzoo.make(id, split="test", **llmzoo.spec(id).offline)
    env.reset(seed=0)
    tasks = env.infos[env.agent_selection]["tasks"]
    return "test" if tasks is None or tasks >= FEW_TASKS else "all"


def command(id: str) -> str:
    """The command that plays the same tasks with a model behind an endpoint."""
    given = "".join(f" --env.{name} {value}" for name, value in llmzoo.spec(id).offline.items())
    return (
        f"llmzoo eval --env {id}{given} --split {split_of(id)} --tasks {TASKS} "
        "--policy openai:MODEL@URL"
    )


def measured(id: str, player: str) -> Row:
    """One line of the log."""
    options = dict(PLAYERS[player])
    tasks = options.pop("tasks")
    policy: Any = player
    if options:
        from llmzoo.policies import load
        from llmzoo.policies.settings import Sampling

        policy = _loaded(player, load, Sampling(**options))
        policy.reseed(0)
    evaluation = llmzoo.evaluate(
        id, policy, tasks=tasks, split=split_of(id), env_args=llmzoo.spec(id).offline
    )
    return {**evaluation.to_dict(), "policy": player}


@cache
def _loaded(name: str, load: Any, sampling: Any) -> Any:
    return load(name, sampling=sampling)


def table(id: str, rows: Iterable[Row]) -> str:
    """The rows of an environment, in the order of ``PLAYERS``, as Markdown."""
    own = {row["policy"]: row for row in rows if row["env"] == id}
    if not own:
        return ""
    agents = next(iter(own.values()))["mean_return"]
    head = ["player", "tasks", "success", *(f"return of `{a}`" for a in agents), "tokens per task"]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for player in PLAYERS:
        if player not in own:
            continue
        row = own[player]
        low, high = row["success_ci95"]
        cells = [
            CALLED[player],
            format_task_count(row),
            f"{row['success']:.1%} [{low:.1%}, {high:.1%}]",
        ]
        for agent in agents:
            ends = row["return_ci95"][agent]
            mean = f"{row['mean_return'][agent]:.2f}"
            cells.append(mean if ends is None else f"{mean} [{ends[0]:.2f}, {ends[1]:.2f}]")
        cells.append(f"{row['tokens'] / row['tasks']:.0f}" if row["tokens"] else "-")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def read() -> list[Row]:
    """The log's rows; none where there is no log."""
    if not LOG.exists():
        return []
    with gzip.open(LOG, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write(rows: Iterable[Row]) -> None:
    """The same rows give the same bytes, whatever their order."""
    order = list(PLAYERS)
    rows = sorted(rows, key=lambda row: (row["env"], order.index(row["policy"])))
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) as packed:
        packed.write("".join(json.dumps(row) + "\n" for row in rows).encode())
    LOG.write_bytes(raw.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("envs", nargs="*", help="all by default")
    parser.add_argument("--players", nargs="+", choices=PLAYERS, default=list(PLAYERS))
    args = parser.parse_args()
    for player in args.players:
        for id in args.envs or ids():
            if any((row["env"], row["policy"]) == (id, player) for row in read()):
                continue
            row = measured(id, player)
            write([*read(), row])
            print(table(id, [row]).splitlines()[-1], f"{row['seconds']:.0f} s", id, flush=True)


if __name__ == "__main__":
    main()

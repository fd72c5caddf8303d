"""Writes kept episodes as a log of Inspect (inspect_ai, version 2 of its JSON format).

``inspect view`` shows it, and ``inspect_ai.log.read_eval_log`` reads it. An episode is a sample, and
its number among the samples of a task is the epoch. An observation becomes a user message and a completion
an assistant message; the metadata of both have the agent's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.errors import ConfigError
from llmzoo.evaluation.episode_folder import RESULT_FILE
from llmzoo.records.episode_rows import EPISODES_FILE, read_rows
from llmzoo.runs import run_folder
from llmzoo.version import __version__


def is_evaluation(folder: str | Path) -> bool:
    """Whether a folder has the episodes of an evaluation."""
    return (Path(folder) / EPISODES_FILE).is_file()


def export_evaluation(folder: str | Path, out: str | Path) -> Path:
    """Write the log of an evaluation that has ended, and return its path.

    Raises :class:`ConfigError` for an evaluation that was cut off, and if ``out`` exists or does not
    end in .json.
    """
    folder, out = Path(folder), Path(out)
    if out.suffix != ".json":
        raise ConfigError(f"an evaluation is exported to a file that ends in .json, got {out}")
    if out.exists():
        raise ConfigError(f"{out} exists: choose another --out")
    result = files.read_json_object(folder / RESULT_FILE)
    config = run_folder.read_config(folder)
    if result is None or config is None:
        raise ConfigError(f"{folder} was cut off: llmzoo eval --out {folder} --resume ends it")
    samples = [_sample(row, result["policy"]) for row in read_rows(folder)]
    out.parent.mkdir(parents=True, exist_ok=True)
    files.write(out, files.dump_json(_log(config, result, samples)) + "\n")
    return out


def _log(
    config: Mapping[str, Any], result: Mapping[str, Any], samples: list[dict[str, Any]]
) -> dict[str, Any]:
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    returns = result["mean_return"]
    scores = [
        _score("success", {"accuracy": result["success"]}),
        _score("return", {f"mean {agent}": value for agent, value in returns.items()}),
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "created": now,
            "task": config["env"],
            "task_args": dict(config["env_args"]),
            "dataset": {
                "name": f"{config['env']}, {config['split']}",
                "samples": result["tasks"],
                "sample_ids": list(dict.fromkeys(sample["id"] for sample in samples)),
            },
            "model": result["policy"],
            "config": {"epochs": result["samples"]},
            "packages": {"llmzoo-marl": __version__},
            "metadata": {"seed": config["seed"], "policies": config["policies"]},
        },
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": scores,
        },
        "stats": {"started_at": now, "completed_at": now},
        "samples": samples,
    }


def _score(name: str, metrics: Mapping[str, float]) -> dict[str, Any]:
    return {
        "name": name,
        "scorer": name,
        "metrics": {metric: {"name": metric, "value": value} for metric, value in metrics.items()},
    }


def _sample(row: Mapping[str, Any], model: str) -> dict[str, Any]:
    messages = []
    for decision in row["decisions"]:
        metadata = {
            "agent": decision["agent"],
            "turn": decision["turn"],
            "reward": decision["reward"],
        }
        user_message = {
            "role": "user",
            "content": str(decision["observation"]),
            "metadata": metadata,
        }
        assistant_message = {
            "role": "assistant",
            "content": decision["completion"]["text"],
            "metadata": metadata,
        }
        messages += [user_message, assistant_message | {"model": model}]
    return {
        "id": row["id"],
        "epoch": row["sample"] + 1,
        "input": messages[0]["content"] if messages else "",
        "target": "",
        "messages": messages,
        "output": {"model": model, "choices": _final_choices(messages)},
        "scores": {
            "success": {"value": float(row["success"])},
            "return": {"value": dict(row["totals"])},
        },
        "metadata": {"seed": row["seed"], "info": row["info"]},
    }


def _final_choices(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"message": messages[-1], "stop_reason": "stop"}] if messages else []

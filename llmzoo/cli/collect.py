"""``llmzoo collect``"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from llmzoo import registry
from llmzoo.cli.arguments import chat, env_arguments, sampling
from llmzoo.cli.options import read
from llmzoo.cli.output import apart, as_json, counting
from llmzoo.errors import ConfigError
from llmzoo.learners import trajectories
from llmzoo.parallel import ranks
from llmzoo.records import Episode
from llmzoo.training import run_folder
from llmzoo.training.collecting import id_of, in_parts, without_solution
from llmzoo.training.players import players
from llmzoo.version import __version__

EXAMPLES = (
    "llmzoo collect --env sudoku_v0 --policy oracle --tasks 500 --out data/sudoku.jsonl",
    "llmzoo collect --env plan_path_v0 --policy tiny --repeats 4 --top 0.25 --out data/best.parquet",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Play tasks of a split and keep the episodes as trajectories, a row for each decision.

    What llmzoo train --learner sft and dpo learn from, by --learner.source FILE. Beside the file
    stands NAME.provenance.json, which says where its rows come from. Ctrl-C keeps what has been
    played, in parts of 256 episodes.

    Args:
        env: id of the environment.
        env_args: arguments of the environment; --env.NAME VALUE gives one.
        policy: who plays, as in llmzoo eval.
        out: the file to write, .jsonl or .parquet; one that exists is not overwritten.
        tasks: how many tasks, from the first on; all plays every task of the split.
        repeats: episodes of each task.
        split: train, test or all.
        seed: of the sampling noise and of scripted chance.
        min_return: keep what an agent did in an episode that paid it at least this.
        top: keep this share of each agent's episodes, the best paid, between 0 and 1.
        success: keep episodes that succeeded only.
        greedy: take the most likely answer instead of a sampled one.
        temperature: of sampling.
        top_p: nucleus that is sampled from; 1 is all.
        top_k: most likely tokens that are sampled from; 0 is all.
        max_new_tokens: tokens of an answer; 64 for the embedded model, otherwise 256.
        system: system prompt, for models with a chat template.
        chat_template_args: what the chat template is given, such as {enable_thinking: false};
            --chat_template_args.NAME VALUE gives one.
        thought_end: the text that ends a model's thought, before which nothing is its answer; where
            nothing is said what its tokenizer or chat template shows, none takes all that it writes.
        trust_remote_code: run Python code that comes with a model, of a model whose code you have
            read; without it such a model is refused.
        quiet: no progress on standard error.
        json: print one JSON object, the provenance.
    """

    env: str
    env_args: Mapping[str, Any] = field(default_factory=dict)
    policy: str = "oracle"
    out: str
    tasks: int | Literal["all"] = 200
    repeats: int = 1
    split: str = "train"
    seed: int = 0
    min_return: float | None = None
    top: float | None = None
    success: bool = False
    greedy: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_new_tokens: int | None = None
    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None
    trust_remote_code: bool = False
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> int:
    options = Options(**read("collect", argv, Options, examples=EXAMPLES))
    out, beside = _files(options)
    if options.policy == "human":
        raise ConfigError("a person plays with llmzoo play")
    if options.top is not None and not 0 < options.top <= 1:
        raise ConfigError(f"top is a share above 0 and at most 1, got {options.top}")
    if ranks.launched() > 1:
        raise ConfigError("collect runs in one process")
    env_args = env_arguments(
        options.env, options.env_args, split="use --split", chosen=options.split
    )
    with apart():
        agents = registry.make(options.env, **env_args, split=options.split).possible_agents
        seats = players(
            options.policy,
            agents,
            seed=options.seed,
            sampling=sampling(options),
            chat=chat(options),
            trust_remote_code=options.trust_remote_code,
        )
    total = options.tasks * options.repeats if isinstance(options.tasks, int) else None
    played: list[Episode] = []
    stopped = False
    with apart(), counting("episodes", total, quiet=options.quiet) as ended:
        parts = in_parts(
            options.env,
            seats,
            tasks=options.tasks,
            repeats=options.repeats,
            split=options.split,
            seed=options.seed,
            greedy=options.greedy,
            env_args=env_args,
            ended=ended,
        )
        try:
            for part in parts:
                played += part
        except KeyboardInterrupt:
            if not played:
                raise
            stopped = True
    unknown = [id_of(e, n) for n, e in enumerate(played) if without_solution(e, seats)]
    answered = [episode for episode in played if not without_solution(episode, seats)]
    rows = trajectories.rows(answered, policy=options.policy)
    kept = trajectories.filtered(
        rows, min_return=options.min_return, top=options.top, success=options.success
    )
    if not kept:
        raise ConfigError(f"none of {len(played)} episodes passes the filters; nothing was written")
    out.parent.mkdir(parents=True, exist_ok=True)
    trajectories.save(out, kept)
    found = {**_provenance(options, argv, played), "rows_played": len(rows), "rows": len(kept)}
    found |= {"no_solution": unknown, "stopped": stopped}
    beside.write_text(json.dumps(found, indent=2) + "\n")
    if options.json:
        as_json(found)
    else:
        print(f"{out}: {len(kept)} of {len(rows)} decisions, from {len(played)} episodes; {beside}")
    if unknown:
        print(
            f"note: {len(unknown)} of {len(played)} episodes are left out, as their tasks have no "
            f"known solution: {', '.join(unknown)}",
            file=sys.stderr,
        )
    return 130 if stopped else 0


def _files(options: Options) -> tuple[Path, Path]:
    """Where rows and provenance go; nothing may be there yet."""
    out = Path(options.out)
    if out.suffix not in (".jsonl", ".parquet"):
        raise ConfigError(f"--out ends in .jsonl or .parquet, got {options.out}")
    beside = out.with_suffix(".provenance.json")
    for path in (out, beside):
        if path.exists():
            raise ConfigError(f"{path} exists: choose another --out")
    return out, beside


def _provenance(options: Options, argv: Sequence[str], played: Sequence[Episode]) -> dict[str, Any]:
    """Where the rows come from."""
    trained = run_folder.is_run(options.policy)
    return {
        "command": shlex.join(["llmzoo", "collect", *argv]),
        "llmzoo": __version__,
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "env": options.env,
        "env_args": dict(options.env_args),
        "source": str(played[0].info.get("source", "environment")),
        "split": options.split,
        "policy": options.policy,
        "checkpoint": run_folder.newest_checkpoint(options.policy).name if trained else None,
        "sampling": {"greedy": options.greedy, **sampling(options)},
        "chat": chat(options),
        "seed": options.seed,
        "repeats": options.repeats,
        "filters": {
            "min_return": options.min_return,
            "top": options.top,
            "success": options.success,
        },
        "episodes": len(played),
        "tasks": len({id_of(episode, n) for n, episode in enumerate(played)}),
        "split_tasks": played[0].info.get("tasks"),
        "success": sum(episode.success for episode in played) / len(played),
    }

"""``llmzoo check tasks``"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from llmzoo import registry
from llmzoo.cli.arguments import check_env_args
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_table, redirect_stdout_to_stderr, show_progress
from llmzoo.evaluation.collect import count_tasks
from llmzoo.evaluation.validation import KINDS, validate


@dataclass(frozen=True, kw_only=True)
class CheckTasksOptions(CommandOptions):
    """Look for what is wrong with a set of tasks: bad records, references that fail, wrong answers that
    pass, duplicates, and test tasks that stand in the training split too.

    Exits with 1 if there is anything.

    Args:
        env: id of the environment; given first, without --env.
        env_args: arguments of the environment; --env.NAME VALUE sets one. --source FILE is short for
            --env.source FILE.
        tasks: number of tasks, from the first one on; all plays every task of a set. By default every
            task of a set, and 200 of a generator.
        quiet: show no progress on standard error.
        json: print one JSON object instead of a table.
    """

    POSITIONAL = ("env",)
    USAGE = "llmzoo check tasks ENV [options]"
    EXAMPLES = (
        "llmzoo check tasks coop_functions_v0",
        "llmzoo check tasks mbpp_v0 --source my_problems.jsonl",
    )

    env: str
    env_args: Mapping[str, Any] = field(default_factory=dict)
    tasks: int | Literal["all"] | None = None
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> int:
    options = CheckTasksOptions(**parse_options("check tasks", argv, CheckTasksOptions))
    env_args = dict(
        check_env_args(options.env, options.env_args, split="check tasks plays all splits")
    )
    if options.tasks == "all":
        all_tasks_env = registry.make(options.env, **env_args, split="all")
        count_tasks(all_tasks_env, options.env, "all", 0, numbered=True)
    with (
        redirect_stdout_to_stderr(),
        show_progress("episodes", None, quiet=options.quiet) as on_episode_end,
    ):
        result = validate(
            options.env,
            env_args=env_args,
            tasks=None if options.tasks == "all" else options.tasks,
            on_episode_end=on_episode_end,
        )
    if options.json:
        print_json(asdict(result))
    else:
        of_split = "" if result.split_tasks is None else f" of {result.split_tasks}"
        print(f"{options.env}, {result.source}: {result.tasks}{of_split} tasks played", end="")
        print(f", {result.left_out} records left out" if result.left_out else "")
        counts = Counter(fault.kind for fault in result.faults)
        for kind, meaning in KINDS.items():
            print(f"  {counts[kind]:4} {kind}: {meaning}")
        if result.faults:
            rows = [[fault.kind, fault.where, fault.what] for fault in result.faults]
            print_table(("fault", "where", "what"), rows)
    return 1 if result.faults else 0

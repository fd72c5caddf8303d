"""``llmzoo eval rescore``"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from llmzoo.cli.arguments import add_cwd_to_path
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_table, redirect_stdout_to_stderr, show_progress
from llmzoo.evaluation.rescore import RescoredEpisode, rescore
from llmzoo.records.episode_rows import read_rows


@dataclass(frozen=True, kw_only=True)
class EvalRescoreOptions(CommandOptions):
    """Judge the answers that an evaluation kept with today's rewards; list every change.

    Exits with 1 if an episode's success or return is another than it was.

    Args:
        folder: a folder of llmzoo eval --out; given first, without --folder.
        env: the folder's environment, repeated where it is code (module:name) that you trust.
        env_args: arguments of the environment, likewise; --env.NAME VALUE gives one.
        quiet: show no progress on standard error.
        json: print one JSON object instead of a table.
    """

    POSITIONAL = ("folder",)
    USAGE = "llmzoo eval rescore FOLDER [options]"
    EXAMPLES = ("llmzoo eval rescore evals/tiny",)

    folder: str
    env: str | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> int:
    options = EvalRescoreOptions(**parse_options("eval rescore", argv, EvalRescoreOptions))
    add_cwd_to_path(options.env or "")
    total = sum(1 for _ in read_rows(Path(options.folder)))
    with (
        redirect_stdout_to_stderr(),
        show_progress("episodes", total, quiet=options.quiet) as advance,
    ):
        rescored = []
        for result in rescore(options.folder, env=options.env, env_args=options.env_args):
            rescored.append(result)
            advance()
    changed = [result for result in rescored if result.has_changed]
    if options.json:
        rows = [asdict(result) for result in changed]
        print_json({"folder": options.folder, "episodes": len(rescored), "changed": rows})
    else:
        print(f"{len(changed)} of {len(rescored)} episodes have another result now")
        if changed:
            print_table(
                ("task", "sample", "success", "returns", ""), [_row(one) for one in changed]
            )
    return 1 if changed else 0


def _row(one: RescoredEpisode) -> list[str]:
    returns = "\n".join(
        f"{agent} {before:.3f} -> {one.returns_after.get(agent, 0.0):.3f}"
        for agent, before in one.returns_before.items()
    )
    success = f"{one.success_before} -> {one.success_after}"
    return [f"{one.task}: {one.id}", str(one.sample), success, returns, one.why]

"""``llmzoo eval verify``"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from llmzoo.cli.arguments import add_cwd_to_path
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, print_table, redirect_stdout_to_stderr, show_progress
from llmzoo.errors import ConfigError
from llmzoo.evaluation.bundles.verify import DEFAULT_REPLAY, verify_bundle
from llmzoo.terminal_text import escape_unprintable


@dataclass(frozen=True, kw_only=True)
class EvalVerifyOptions(CommandOptions):
    """Check a bundle: judge its episodes again, compute its numbers again, and play a sample again.

    Exits with 0 if nothing is wrong, with 1 if something is, and with 2 if the folder is not a bundle. What
    could not be checked is listed with the reason, and does not change the exit code.

    Args:
        bundle: a folder of llmzoo eval bundle or llmzoo bench; given first, without --bundle.
        policies: models and runs that may have played, separated by commas. They are recognised by the
            hash of their weights. Scripted policies and the embedded model are always there.
        replay: tasks of each evaluation to play again with its policies; 0: none.
        seed: chooses these tasks; by default at random. The report names it.
        env: the bundle's environment, repeated where it is code (module:name) or a server that you trust.
        env_args: arguments of the environment, likewise; --env.NAME VALUE gives one.
        quiet: show no progress on standard error.
        json: print one JSON object instead of a table.
    """

    POSITIONAL = ("bundle",)
    USAGE = "llmzoo eval verify BUNDLE [options]"
    EXAMPLES = (
        "llmzoo eval verify bundles/tiny",
        "llmzoo eval verify bundles/demo --policies runs/demo --json",
    )

    bundle: str
    policies: list[str] = field(default_factory=list)
    replay: int = DEFAULT_REPLAY
    seed: int | None = None
    env: str | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> int:
    options = EvalVerifyOptions(**parse_options("eval verify", argv, EvalVerifyOptions))
    if options.replay < 0:
        raise ConfigError(f"--replay must be at least 0, got {options.replay}")
    add_cwd_to_path(options.env or "")
    with (
        redirect_stdout_to_stderr(),
        show_progress("episodes", None, quiet=options.quiet) as advance,
    ):
        verification = verify_bundle(
            options.bundle,
            env=options.env,
            env_args=options.env_args,
            policies=options.policies,
            replay_tasks=options.replay,
            seed=options.seed,
            on_episode=advance,
        )
    if options.json:
        print_json(verification.to_dict())
    else:
        print_table(
            ("evaluation", "check", "", "reason"),
            [[c.evaluation, c.name, c.status, c.reason] for c in verification.checks],
        )
        right = len(verification.checks) - len(verification.wrong) - len(verification.not_checked)
        print(
            f"{escape_unprintable(verification.title)}: {right} checks ok, {len(verification.wrong)} wrong, "
            f"{len(verification.not_checked)} not checked (--seed {verification.seed})"
        )
        if verification.wrong:
            print("this bundle does not show what it claims", file=sys.stderr)
    return 1 if verification.wrong else 0

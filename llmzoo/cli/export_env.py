"""``llmzoo export env``"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from llmzoo import registry
from llmzoo.cli.arguments import check_env_args
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.export.environment_folder import export_environment


@dataclass(frozen=True, kw_only=True)
class ExportEnvOptions(CommandOptions):
    """Export an environment as a package for PettingZoo, TRL, verifiers and OpenEnv, with its tasks.

    The tasks are a data set with a card, checksums, a licence and Croissant metadata. Nothing is uploaded.

    Args:
        env: id of the environment, or your file, as FILE.py or FILE.py:NAME, which is copied; can be
            given first, without --env.
        out: the folder to create, or an empty one.
        agent: the agent that a model plays; all for one policy that plays all of them. Needed if there
            are several.
        others: the policy that plays the other agents.
        env_args: arguments of the environment; --env.NAME VALUE sets one.
        tasks: rows of each split. By default every task of a set, and 100 of a generator.
        name: name of the package; by default that of the environment.
        version: version of the package.
        license: SPDX id of the licence, such as MIT. Needed for a file; otherwise Apache-2.0.
        json: print one JSON object instead of text.
    """

    POSITIONAL = ("env",)
    USAGE = "llmzoo export env NAME|FILE --out FOLDER [--agent AGENT] [options]"
    EXAMPLES = (
        "llmzoo export env sudoku_v0 --agent planner_1 --out published/sudoku",
        "llmzoo export env my_game.py --agent all --license MIT --out published/my_game",
    )

    env: str
    out: str
    agent: str | None = None
    others: Literal["expert", "noisy_expert", "random", "silent"] = "expert"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    tasks: int | None = None
    name: str | None = None
    version: str = "0.1.0"
    license: str | None = None
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ExportEnvOptions(**parse_options("export env", argv, ExportEnvOptions))
    env_args = options.env_args
    with redirect_stdout_to_stderr():
        if options.env in registry.list_envs():  # a file is imported by the export
            split = "the package has both splits"
            env_args = check_env_args(options.env, env_args, split=split, measured=False)
        done = export_environment(
            options.env,
            options.out,
            agent=options.agent,
            others=options.others,
            env_args=env_args,
            tasks=options.tasks,
            name=options.name,
            version=options.version,
            license=options.license,
        )
    if options.json:
        print_json(
            {
                "folder": str(done.folder),
                "package": done.package,
                "agents": list(done.agents),
                "rows": done.rows,
                "hosts": list(done.hosts),
            }
        )
        return
    rows = ", ".join(f"{count} {split}" for split, count in done.rows.items())
    print(f"package {done.package} for {', '.join(done.hosts)}: {done.folder}")
    print(f"the model plays: {', '.join(done.agents)}")
    print(f"tasks: {rows}")
    print(f"how to use it: {done.folder / 'README.md'}")

"""``llmzoo eval league``"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.cli.arguments import ModelOptions, check_env_args
from llmzoo.cli.options import parse_options
from llmzoo.cli.output import print_json, print_table, redirect_stdout_to_stderr, show_progress
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.evaluation.entrants import MAX_SNAPSHOTS, expand_names, make_entrants
from llmzoo.evaluation.league import find_two_sides, league
from llmzoo.evaluation.standings import table_rows, to_markdown
from llmzoo.policies import run_models
from llmzoo.runs import run_folder
from llmzoo.runs.trust import check_environment


@dataclass(frozen=True, kw_only=True)
class EvalLeagueOptions(ModelOptions):
    """Let players meet in all pairs, on both sides and on the same deals; rate them by openskill.

    The same command resumes a league that was interrupted. At most two models are in memory.

    Args:
        players: expert, noisy expert, random, a model as of llmzoo eval --policy, a run folder, whose newest
            checkpoint plays, one of its checkpoints (RUN/checkpoints/step_000120) or copies
            (RUN/opponents/000120), or all of them (RUN/checkpoints, RUN/opponents). A run folder
            alone is all its checkpoints and copies. Given first, without --players.
        env: id of the environment, which has two agents or two sides, such as mafia_v0; that of the run
            folders, where there are some. A player plays all agents of a side.
        env_args: arguments of the environment; --env.NAME VALUE sets one. A run folder's own are the
            defaults in its own environment.
        deals: deals that each pair plays twice, with sides exchanged.
        split: train, test or all.
        seed: of the first deal, and of sampling.
        snapshots: the most checkpoints and copies of one run, spread evenly over its iterations.
        concurrency: games played at once.
        out: the folder for league.json, table.md, ratings.png, wins.png and all games; by default the folder
            league in the run folder, if there is one run only.
        quiet: show no progress on standard error.
        json: print league.json instead of a table.
    """

    POSITIONAL = ("players",)
    USAGE = "llmzoo eval league PLAYER [PLAYER...] [options]"
    EXAMPLES = (
        "llmzoo eval league runs/kuhn_poker",
        "llmzoo eval league expert noisy_expert random --env tic_tac_toe_v0 --deals 50 --out runs/league",
        "llmzoo eval league runs/first runs/second/opponents expert --out runs/league --json",
    )

    players: list[str] = field(default_factory=list)
    env: str | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    deals: int = 100
    split: str = "test"
    seed: int = 0
    snapshots: int = MAX_SNAPSHOTS
    concurrency: int = 256
    out: str | None = None
    quiet: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = EvalLeagueOptions(**parse_options("eval league", argv, EvalLeagueOptions))
    if not options.players:
        raise ConfigError(f"name at least two players, or a run folder: {EvalLeagueOptions.USAGE}")
    names = expand_names(options.players, options.snapshots)
    env, env_args = _resolve_env(options, names)
    out = _output_folder(options, names)
    settings = options.load_settings()
    agents = [*chain(*find_two_sides(env, {**env_args, "split": options.split}))]
    with redirect_stdout_to_stderr():
        # raises for players that cannot be loaded, before anything is played
        make_entrants(names, agents, settings)
    try:
        from llmzoo.report.league import save_league_plots
    except ModuleNotFoundError as error:
        raise MissingExtraError("llmzoo eval league", "train", error.name) from error
    total = len(names) * (len(names) - 1) * options.deals
    with (
        redirect_stdout_to_stderr(),
        show_progress("games", total, quiet=options.quiet) as on_game_end,
    ):
        result = league(
            env,
            names,
            out=out,
            deals=options.deals,
            split=options.split,
            seed=options.seed,
            greedy=options.greedy,
            env_args=env_args,
            snapshots=options.snapshots,
            concurrency=options.concurrency,
            on_game_end=on_game_end,
            **asdict(settings),
        )
    files.write(out / "table.md", to_markdown(result))
    save_league_plots(result, out)
    if options.json:
        print_json(result.to_dict())
    else:
        columns, *rows = table_rows(result)
        print_table(columns, rows)
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    print(f"written to {out}", file=sys.stderr)


def _resolve_env(options: EvalLeagueOptions, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """The environment, given or that of the runs, and its checked arguments."""
    runs = dict.fromkeys(run for name in names if (run := run_models.find_run(name)) is not None)
    saved = {run: run_folder.require_config(run, "env") for run in runs}
    trained = dict.fromkeys(str(config["env"]) for config in saved.values())
    if options.env is None and len(trained) != 1:
        explanation = (
            f"the runs were trained on {', '.join(trained)}" if trained else "there is no run"
        )
        raise ConfigError(f"give --env ID: {explanation}")
    env = next(iter(trained)) if options.env is None else options.env
    for run, config in saved.items():
        if config["env"] == env:
            check_environment(run, config, options.env, options.env_args)
    where: dict[str, Any] = {"split": "use --split", "chosen": options.split}
    env_args = check_env_args(env, options.env_args, **where)
    own = [
        _run_env_args(config, options.env_args) for config in saved.values() if config["env"] == env
    ]
    for other in own[1:]:
        differ = [name for name in {*own[0], *other} if own[0].get(name) != other.get(name)]
        if differ:
            raise ConfigError(
                f"the runs were trained with other {', '.join(sorted(differ))}: "
                f"choose with --env.{min(differ)}"
            )
    if own:  # the parser would import code that they name
        env_args = check_env_args(env, {**own[0], **env_args}, saved=True, **where)
    return env, env_args


def _run_env_args(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The environment's arguments of a run, without those that are given here."""
    args = config.get("env_args", {})
    return {name: args[name] for name in args if name != "split" and name not in given}


def _output_folder(options: EvalLeagueOptions, names: Sequence[str]) -> Path:
    if options.out is not None:
        return Path(options.out)
    runs = {run.resolve(): run for name in names if (run := run_models.find_run(name)) is not None}
    if len(runs) != 1:
        raise ConfigError("give --out FOLDER: only the league of one run has a place of its own")
    return next(iter(runs.values())) / "league"

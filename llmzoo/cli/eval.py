"""``llmzoo eval``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmzoo.cli.arguments import AgentOptions, PolicyOptions, check_agent_args, parse_prices
from llmzoo.cli.options import parse_options
from llmzoo.cli.output import (
    EVALUATION_COLUMNS,
    evaluation_row,
    print_json,
    print_table,
    redirect_stdout_to_stderr,
    show_progress,
)
from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError
from llmzoo.evaluation.evaluate import evaluate
from llmzoo.runs.evaluation_policies import format_policy_names, policy_names


@dataclass(frozen=True, kw_only=True)
class EvalOptions(AgentOptions, PolicyOptions):
    """Play each of the first tasks of a split; report success with its 95% Wilson interval.

    Args:
        others: in place of --policy: the policy of the agents that --agent.NAME.policy does not name.
        samples: episodes of each task; pass@k is reported for 1, 2, 4 and so on up to this number.
        out: a folder that keeps every episode as soon as it has ended.
        resume: continue the evaluation in --out that was cut off.
        price: of a million tokens read and written by an endpoint, as 0.15,0.6; the cost is reported.
    """

    samples: int = 1
    out: str | None = None
    resume: bool = False
    price: str | None = None

    POSITIONAL = ("env",)
    EXAMPLES = (
        "llmzoo eval --env sudoku_v0 --policy tiny --tasks 100 --greedy",
        "llmzoo eval --env mbpp_v0 --policy expert --tasks 5 --source sample --json",
        "llmzoo eval --env sudoku_v0 --samples 8 --out evals/tiny",
        "llmzoo eval --policy runs/magrpo",
        "llmzoo eval --env sudoku_v0 --agent.planner_1.policy runs/magrpo --others expert",
    )


def run(argv: Sequence[str]) -> None:
    given = parse_options("eval", argv, EvalOptions)
    options = EvalOptions(**given)
    if options.others is not None:
        if "policy" in given or not options.agent_args:
            raise ConfigError(
                "--others plays the agents that --agent.NAME.policy does not name: give it with "
                "one or more of them, and without --policy"
            )
        options = replace(options, policy=options.others)
    agent_args = check_agent_args(options.agent_args)
    with redirect_stdout_to_stderr():
        env, agent_policies, env_args = options.load_policies(options.split, agent_args)
    prices = parse_prices(options.price)
    if options.resume and options.out is None:
        raise ConfigError("--resume continues the evaluation in --out: give both")
    total = options.tasks * options.samples if isinstance(options.tasks, int) else None
    quiet = options.quiet or not ranks.is_first_process()
    with (
        redirect_stdout_to_stderr(),
        show_progress("episodes", total, quiet=quiet) as on_episode_end,
    ):
        evaluation = evaluate(
            env,
            agent_policies,
            tasks=options.tasks,
            split=options.split,
            seed=options.seed,
            greedy=options.greedy,
            samples=options.samples,
            env_args=env_args,
            out=options.out,
            resume=options.resume,
            concurrency=options.concurrency,
            on_episode_end=on_episode_end,
        )
    name = format_policy_names(policy_names([*agent_policies], options.policy, agent_args))
    result = replace(evaluation, policy=name).to_dict()
    if prices is not None:
        usage = evaluation.usage or {"read": 0, "written": 0}
        cost = prices[0] * usage["read"] / 1e6 + prices[1] * usage["written"] / 1e6
        result["cost"] = round(cost, 6)
        print(f"cost of this call: {cost:.4f}, {usage}", file=sys.stderr)
    if options.json:
        print_json(result)
    else:
        title = f"{name} on {env}, {evaluation.decoding}"
        print_table(EVALUATION_COLUMNS, [evaluation_row(title, result)])
    for note in evaluation.notes:
        print(f"note: {note}", file=sys.stderr)

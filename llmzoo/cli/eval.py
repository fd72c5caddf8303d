"""``llmzoo eval``"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llmzoo.cli.arguments import PolicyOptions
from llmzoo.cli.options import read
from llmzoo.cli.output import EVALUATION_COLUMNS, apart, as_json, as_table, counting, evaluation_row
from llmzoo.distributed import ranks
from llmzoo.training.evaluation import evaluate
from llmzoo.training.players import known_as


@dataclass(frozen=True, kw_only=True)
class EvalOptions(PolicyOptions):
    """Play each of the first tasks of a split once; report success with its 95% Wilson interval."""

    EXAMPLES = (
        "llmzoo eval --env sudoku_v0 --policy tiny --tasks 100 --greedy",
        "llmzoo eval --env mbpp_v0 --policy oracle --tasks 5 --source sample --json",
        "llmzoo eval --env sudoku_v0 --env.max_turns 1 --policy runs/magrpo",
    )


def run(argv: Sequence[str]) -> None:
    options = EvalOptions(**read("eval", argv, EvalOptions))
    with apart():
        seats, env_args = options.seated()
    total = options.tasks if isinstance(options.tasks, int) else None
    quiet = options.quiet or not ranks.is_first()
    with apart(), counting("episodes", total, quiet=quiet) as ended:
        evaluation = evaluate(
            options.env,
            seats,
            tasks=options.tasks,
            split=options.split,
            seed=options.seed,
            greedy=options.greedy,
            env_args=env_args,
            ended=ended,
        )
    name = known_as(options.policy, seats)
    result = replace(evaluation, policy=name).to_dict()
    if options.json:
        as_json(result)
    else:
        title = f"{name} on {options.env}, {evaluation.decoding}"
        as_table(EVALUATION_COLUMNS, [evaluation_row(title, result)])
    for note in evaluation.notes:
        print(f"note: {note}", file=sys.stderr)

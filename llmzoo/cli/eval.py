"""``llmzoo eval``"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from llmzoo import registry
from llmzoo.cli.arguments import chat, env_arguments, sampling
from llmzoo.cli.options import read
from llmzoo.cli.output import EVALUATION_COLUMNS, apart, as_json, as_table, counting, evaluation_row
from llmzoo.errors import ConfigError
from llmzoo.parallel import ranks
from llmzoo.training.evaluation import evaluate
from llmzoo.training.players import known_as, players

EXAMPLES = (
    "llmzoo eval --env sudoku_v0 --policy tiny --tasks 100 --greedy",
    "llmzoo eval --env mbpp_v0 --policy oracle --tasks 5 --source sample --json",
    "llmzoo eval --env sudoku_v0 --env.max_turns 1 --policy runs/magrpo",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Play each of the first tasks of a split once; report success with its 95% Wilson interval.

    Args:
        env: id of the environment.
        env_args: arguments of the environment; --env.NAME VALUE gives one.
        policy: oracle, amateur, random, tiny (the embedded model), a run folder of llmzoo train,
            a folder with a model, a hub id, openai:MODEL@URL for a model behind an endpoint, or
            grpc://HOST:PORT for that of a policy server (llmzoo serve).
        tasks: how many tasks, from the first on; all plays every task of the split.
        split: train, test or all.
        seed: of the sampling noise and of scripted chance.
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
        json: print one JSON object instead of a table.
    """

    env: str
    env_args: Mapping[str, Any] = field(default_factory=dict)
    policy: str = "tiny"
    tasks: int | Literal["all"] = 200
    split: str = "test"
    seed: int = 0
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


def run(argv: Sequence[str]) -> None:
    options = Options(**read("eval", argv, Options, examples=EXAMPLES))
    if options.policy == "human":
        raise ConfigError("a person plays with llmzoo play")
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
    total = options.tasks if isinstance(options.tasks, int) else None
    quiet = options.quiet or not ranks.is_first()
    with apart(), counting("episodes", total, quiet=quiet) as ended:
        found = evaluate(
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
    result = replace(found, policy=name).to_dict()
    if options.json:
        as_json(result)
    else:
        title = f"{name} on {options.env}, {found.decoding}"
        as_table(EVALUATION_COLUMNS, [evaluation_row(title, result)])
    for note in found.notes:
        print(f"note: {note}", file=sys.stderr)

"""Where a model has something to learn from: the groups of answers whose returns differ.

    python examples/results/group_signal.py smollm2 --log docs/results/logs/smollm2_signal.jsonl
    python examples/results/group_signal.py smollm2 --log docs/results/logs/smollm2_signal.jsonl --table

A learner compares the answers of a group. Where all of them earn the same, it learns nothing. The
model plays every agent of every environment for one round, with 8 answers of each agent to the same
prompt, paired as MAGRPO pairs them. The tasks are from the training split. Each environment is one
line of JSON; those that the log holds are not measured again.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

from logs import read_rows

import llmzoo
from llmzoo.rollout import joint_tree, run_rollouts

# episodes that need more than one round; None: the environment says how many it has
ROUNDS = {
    **{"debate_v0": 2, "tool_use_v0": 2, "telecom_v0": 2, "airline_v0": 2},
    **dict.fromkeys(("calendar_v0", "travel_v0", "bridge_build_v0", "resource_gathering_v0")),
    **dict.fromkeys(("signal_v0", "relay_v0", "philosophers_v0", "commons_v0", "delegate_v0")),
}
# what a form is called in the table, and its environment's options
FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    **{id: (id, {}) for id in llmzoo.list_envs()},
    "math_v0, easy sums": ("math_v0", {"family": "arithmetic", "level": "easy"}),
    "math_v0, easy sums, terse": (
        "math_v0",
        {"family": "arithmetic", "level": "easy", "prompt": "terse"},
    ),
    "sudoku_v0, easy": ("sudoku_v0", {"difficulty": "easy"}),
    "plan_path_v0, 4x4": ("plan_path_v0", {"size": 4, "density": 0.1, "min_distance": 2}),
    "coop_functions_v0, small": ("coop_functions_v0", {"source": "generator"}),
    "coop_functions_v0, easy": ("coop_functions_v0", {"source": "generator_easy"}),
    "tool_use_v0, calculator": (
        "tool_use_v0",
        {"tools": ["calculator"], "family": "arithmetic", "max_turns": 2},
    ),
    "debate_v0, cooperative": ("debate_v0", {"reward": "cooperative"}),
}


def measured(form: str, model: Any, *, tasks: int, group_size: int) -> dict[str, Any]:
    """One line of the log."""
    id, options = FORMS[form]
    rounds = ROUNDS.get(id, 1)
    kwargs = {
        "split": "train",
        **llmzoo.spec(id).offline,
        **({} if rounds is None else {"max_turns": rounds}),
        **options,
    }
    started = time.monotonic()
    trees = []
    for seed in range(tasks):
        env = llmzoo.make(id, **kwargs)
        env.reset(seed=seed)
        agents = env.possible_agents
        trees.append(joint_tree(env, seed, group_size=group_size, trained=agents))
    batches = run_rollouts(trees, dict.fromkeys(agents, model))
    groups = [group for batch in batches for group in batch.groups]
    endings = [ending for batch in batches for ending in batch.endings]
    answers = [completion for group in groups for completion in group.completions]
    return {
        "form": form,
        "tasks": tasks,
        "group_size": group_size,
        "temperature": model.sampling.temperature,
        "max_new_tokens": model.sampling.max_new_tokens,
        "success": statistics.mean(ending.success for ending in endings),
        "return": {a: statistics.mean(e.totals[a] for e in endings) for a in agents},
        "differ": {
            a: statistics.mean(g.has_return_variance for g in groups if g.agent == a)
            for a in sorted({g.agent for g in groups})
        },
        "spread": {
            a: statistics.mean(statistics.pstdev(g.returns) for g in groups if g.agent == a)
            for a in sorted({g.agent for g in groups})
        },
        "prompt_tokens": statistics.mean(len(g.prompt_ids) for g in groups),
        "answer_tokens": statistics.mean(len(c.ids) for c in answers),
        "cut_off": statistics.mean(c.truncated for c in answers),
        "seconds": round(time.monotonic() - started, 1),
        "first_answers": {g.agent: g.completions[0].text for g in groups[: len(agents)]},
    }


def table(lines: list[dict[str, Any]]) -> str:
    """The log as Markdown."""
    rows = [
        "| environment | success | mean return | groups that differ | tokens of a prompt"
        " | of an answer | cut off | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for line in sorted(lines, key=lambda line: line["form"]):
        returns = ", ".join(f"{agent} {mean:.2f}" for agent, mean in line["return"].items())
        differ = ", ".join(f"{agent} {share:.0%}" for agent, share in line["differ"].items())
        rows.append(
            f"| `{line['form'].replace(', ', '`, ', 1)}{'' if ', ' in line['form'] else '`'} "
            f"| {line['success']:.1%} | {returns} | {differ} | {line['prompt_tokens']:.0f} "
            f"| {line['answer_tokens']:.0f} | {line['cut_off']:.0%} | {line['seconds']:.0f} |"
        )
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("forms", nargs="*", help="all by default")
    parser.add_argument("--log", type=Path, required=True, metavar="FILE")
    parser.add_argument("--table", action="store_true", help="print the log, and measure nothing")
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--temperature", type=float, default=0.7)
    args = parser.parse_args()

    known = read_rows(args.log)
    if args.table:
        print(table(known))
        return
    from llmzoo.policies import load
    from llmzoo.policies.settings import Sampling

    sampling = Sampling(max_new_tokens=args.max_new_tokens, temperature=args.temperature)
    model = load(args.model, sampling=sampling)
    for form in args.forms or FORMS:
        if any(line["form"] == form for line in known):
            continue
        model.reseed(0)
        line = measured(form, model, tasks=args.tasks, group_size=args.group_size)
        with args.log.open("a") as log:
            log.write(json.dumps(line) + "\n")
        print(table([line]).splitlines()[-1], flush=True)


if __name__ == "__main__":
    main()

"""DPO from a file of preferences: prompt, the better answer, the worse answer.

Shows every step: a model plays each task several times, the rewards select its best and its worst
answer, these pairs become ``preferences.jsonl``, and ``dpo`` trains on the file without playing.
You can use any file with the columns prompt, chosen and rejected, or the hub id of a public set.
Expect the number of pairs, and the success before and after.

    python examples/dpo_from_preferences.py --model Qwen/Qwen2.5-0.5B-Instruct --pairs_from 500

Left out: new pairs as the model changes. Without ``preferences`` the learner makes pairs from its
own rollouts, in ``rounds``, and for all agents.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path

import llmzoo


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="sudoku_v0", choices=llmzoo.list_envs())
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--pairs_from", type=int, default=8, help="training tasks, 4 times each")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=10)
    parser.add_argument("--out", default="runs/dpo_from_preferences")
    args = parser.parse_args()

    one_answer = {"num_agents": 1, "max_turns": 1}
    answers = defaultdict(list)  # to each prompt: (reward, text)
    often = {"tasks": args.pairs_from, "repeats": 4, "env_args": one_answer}
    played = llmzoo.collect(args.env, args.model, **often)
    for decision in (episode.decisions[0] for episode in played):
        answers[decision.observation].append((decision.reward, decision.completion.text))
    pairs = []
    for prompt, ranked in answers.items():
        (worst, rejected), (best, chosen) = min(ranked), max(ranked)
        if best > worst:
            pairs.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})
    if not pairs:
        raise SystemExit("the answers to each prompt were worth the same: nothing to prefer")
    file = Path(args.out) / "preferences.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    print(f"{len(pairs)} pairs in {file}")
    settings = {"env_args": one_answer, "model": args.model, "eval_tasks": args.tasks}
    settings |= {"steps": args.steps, "learner_args": {"preferences": str(file)}}
    result = llmzoo.fit("dpo", args.env, out=f"{args.out}/run", **settings)
    print(f"success {result.before['success']:.1%} before, {result.after['success']:.1%} after")


if __name__ == "__main__":
    main()

"""Debate by self-play: one model argues both sides, and one side's gain is the other side's loss.

Shows zero-sum self-play with ``role_baseline``: a speech is compared with the usual return of its
side, because one side of a motion may be easier to argue. In self-play the mean return says
nothing, so the trained model then plays against both scripted players. Expect the returns
of each pairing; the two returns of a debate sum to 0. The embedded model cannot argue: it only
shows the mechanics. The scripted pairings show what a real difference looks like.

    python examples/debate_self_play.py --model Qwen/Qwen2.5-0.5B-Instruct --tokens 400 --steps 100

Left out: older versions of the model as opponents, which ``agent_args`` can name: ``policy: RUN``.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.policies import load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--tokens", type=int, default=8, help="of a speech, at most")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument(
        "--episodes_per_step", type=int, default=1, help="debates in each iteration"
    )
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--out", default="runs/debate_self_play")
    args = parser.parse_args()

    env_args = {"reward": "zero-sum", "max_turns": 2}
    result = llmzoo.fit(
        "magrpo",
        "debate_v0",
        env_args=env_args,
        learner_args={"group_size": 2, "role_baseline": 0.9},
        model=args.model,
        max_new_tokens=args.tokens,
        steps=args.steps,
        episodes_per_step=args.episodes_per_step,
        eval_tasks=args.tasks,
        out=args.out,
    )
    expert, noisy, trained = load("expert"), load("noisy_expert"), result.policies["pro_0"]
    for pro, con in ((expert, noisy), (noisy, expert), (trained, noisy), (expert, trained)):
        agent_policies = {"pro_0": pro, "con_1": con}
        found = llmzoo.evaluate("debate_v0", agent_policies, tasks=args.tasks, env_args=env_args)
        got = found.mean_return
        print(f"{pro.name} {got['pro_0']:+.2f}, against {con.name} {got['con_1']:+.2f}")


if __name__ == "__main__":
    main()

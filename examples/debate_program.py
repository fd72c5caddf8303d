"""A debate among three, written as a program: each has a hint, and two of the three hints are right.

All say their hints at once, each reads the others', and all answer at once. The second prompt goes on
from the first, so an update reads each conversation once. Expect a success of 1 after 60 iterations.
Left out: debates about texts."""

import argparse
import asyncio
import random
from functools import partial

import llmzoo

AGENTS = ["anna", "ben", "cleo"]


def row(topic):
    """A topic, three hints that are 1 or 2, and the truth, which two of them name."""
    rng = random.Random(topic)
    truth, wrong = rng.sample("12", 2)
    return {"topic": topic, "truth": truth, "hints": rng.sample([truth, truth, wrong], 3)}


TASKS = [row(a + b) for a in "abcdefgh" for b in "klmnopqr"]


async def majority(task, client):
    """The program: two rounds, in which all three speak at the same time."""
    talks = {agent: [] for agent in AGENTS}

    async def ask(agent, text):
        talks[agent].append({"role": "user", "content": text})
        reply = await client.aio.chat.completions.create(model=agent, messages=talks[agent])
        talks[agent].append(reply.choices[0].message)
        return talks[agent][-1].content.strip()[:1]

    hints = [f"{task['topic']} echo {hint}" for hint in task["hints"]]
    said = await asyncio.gather(*map(ask, AGENTS, hints))
    client.reward({s: 0.5 * (a == b) for s, a, b in zip(AGENTS, said, task["hints"], strict=True)})
    heard = [f"others {''.join(said[:n] + said[n + 1 :])}" for n in range(3)]
    last = await asyncio.gather(*map(ask, AGENTS, heard))
    right = [float(answer == task["truth"]) for answer in last]
    return dict(zip(AGENTS, right, strict=True)), all(right)


make = partial(llmzoo.from_program, majority, agents=["anna_0", "ben_1", "cleo_2"], tasks=TASKS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", default="at_grpo", help="or magrpo, ippo, ...")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--model", default="tiny")
    args = parser.parse_args()
    settings = {"steps": args.steps, "episodes_per_step": 16, "eval_tasks": args.tasks}
    settings |= {"learner_args": {"learning_rate": 3e-4}, "max_new_tokens": 4, "policies": "shared"}
    result = llmzoo.fit(args.learner, make, model=args.model, out="runs/debate", **settings)
    print(f"success {result.before['success']:.0%} before, {result.after['success']:.0%} after")

"""The program that you have, as an environment: a loop around a client with two roles.

A caller says a digit, and an echo repeats it. The program knows nothing of llmzoo but the client that
it is given. Expect a success of 1 after 30 iterations. Left out: see docs/programs.md.
"""

import argparse
from functools import partial

import llmzoo
from llmzoo.testing import check_env, check_fork

TASKS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]


def same(task, client):
    """The program: it calls the roles by name, and returns the reward of both."""

    def ask(role, text):
        messages = [{"role": "user", "content": text}]
        reply = client.chat.completions.create(model=role, messages=messages)
        return reply.choices[0].message.content.strip()[:1]

    first = ask("caller", f"sudoku {task['prompt']} digit")
    second = ask("echo", f"echo {first}")
    form = {"caller": first in set("1234"), "echo": second in set("1234")}
    client.reward({role: 0.2 * right for role, right in form.items()})
    return float(form["caller"] and first == second)


make = partial(llmzoo.from_program, same, agents=["caller_0", "echo_1"], tasks=TASKS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", default="at_grpo", help="or magrpo, ippo, ...")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--out", default="runs/own_program")
    args = parser.parse_args()
    check_env(make, cycles=20)
    check_fork(make)
    result = llmzoo.fit(
        args.learner,
        make,
        model=args.model,
        policies="shared" if args.learner == "ippo" else "separate",
        learner_args={"learning_rate": 3e-4},
        max_new_tokens=4,
        steps=args.steps,
        episodes_per_step=16,
        eval_tasks=args.tasks,
        out=args.out,
    )
    print(f"success {result.before['success']:.0%} before, {result.after['success']:.0%} after")

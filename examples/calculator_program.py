"""A pretrained model in a program: a writer asks a calculator, and a reader answers the question.

Expect a success of 1 after 10 iterations with --model smollm2. Left out: agents without hints (math_partners.py).
"""

import argparse
import random
import re
from functools import partial

import llmzoo
from llmzoo.envs.tools.calculator import evaluate, format_number

PENS = "Eve has 7 pens and buys 5 more. How many pens are there now?"
STORIES = {
    "{} has {} apples and buys {} more. How many apples are there now?": "+",
    "{} has {} coins and gives {} of them away. How many coins are left?": "-",
    "{} fills {} boxes with {} books each. How many books are in the boxes?": "*",
}


def row(number):
    rng = random.Random(number)
    b, a = sorted(rng.sample(range(2, 60), 2))
    story, sign = rng.choice(list(STORIES.items()))
    answer = format_number(evaluate(f"{a} {sign} {b}"))
    return {"question": story.format("Anna", a, b), "answer": answer}


def solve(task, client):
    def ask(role, *turns):
        roles = ["user", "assistant", "user"]
        messages = [{"role": r, "content": t} for r, t in zip(roles, turns, strict=True)]
        reply = client.chat.completions.create(model=role, messages=messages)
        return reply.choices[0].message.content

    found = re.search(r"\b\d{1,6} [-+*] \d{1,6}\b", ask("writer", PENS, "7 + 5", task["question"]))
    value = format_number(evaluate(found[0])) if found else "unknown"
    client.reward({"writer": 0.2 * bool(found) + (value == task["answer"])})
    asked = f"{task['question']}\nIt is {value}."
    numbers = re.findall(r"\d+", ask("reader", f"{PENS}\nIt is 12.", "There are 12 pens.", asked))
    solved = numbers == [task["answer"]]
    return {"writer": float(solved), "reader": 0.5 * (numbers == [value]) + solved}, solved


tasks = [row(number) for number in range(400)]
make = partial(llmzoo.from_program, solve, agents=["writer_0", "reader_1"], tasks=tasks)

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    for name, value in {"steps": 10, "tasks": 60, "seed": 0, "learner": "at_grpo"}.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    parser.add_argument("--model", default="tiny")
    args = parser.parse_args()
    more = {"learner_args": {"learning_rate": 3e-4}, "temperature": 0.7, "max_new_tokens": 24}
    more |= {"policies": "lora", "seed": args.seed, "out": "runs/calculator", "model": args.model}
    more |= {"steps": args.steps, "eval_tasks": args.tasks}
    run = llmzoo.fit(args.learner, make, episodes_per_step=4, **more)
    print(f"success {run.before['success']:.0%} before, {run.after['success']:.0%} after")

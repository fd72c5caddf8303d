"""A graph of two nodes, built with LangGraph, as an environment.

    pip install langgraph
    python examples/adapters/langgraph_program.py --learner magrpo

Each node calls an agent through the client that the program is given. The graph is built once and knows
nothing of llmzoo. Expect a success of 1 after 30 iterations. See docs/programs.md.
"""

import argparse
import random
from functools import partial
from typing import TypedDict

import langgraph.checkpoint.base.id as langgraph_ids
from langgraph.graph import END, START, StateGraph

import llmzoo
from llmzoo.testing import check_env, check_fork

TASKS = [f"{a}{b}" for a in "abcdefgh" for b in "klmnopqr"]
# LangGraph numbers its states with Python's global generator, which an environment leaves alone
langgraph_ids.random = random.Random()


class State(TypedDict, total=False):
    prompt: str
    first: str
    second: str


async def ask(config, role, text):
    messages = [{"role": "user", "content": text}]
    completions = config["configurable"]["client"].aio.chat.completions
    reply = await completions.create(model=role, messages=messages)
    return reply.choices[0].message.content.strip()[:1]


async def caller(state: State, config):
    return {"first": await ask(config, "caller", f"sudoku {state['prompt']} digit")}


async def echo(state: State, config):
    return {"second": await ask(config, "echo", f"echo {state['first']}")}


builder = StateGraph(State)
builder.add_node("call", caller)
builder.add_node("repeat", echo)
builder.add_edge(START, "call")
builder.add_edge("call", "repeat")
builder.add_edge("repeat", END)
GRAPH = builder.compile()


async def program(task, client):
    said = await GRAPH.ainvoke({"prompt": task["prompt"]}, {"configurable": {"client": client}})
    form = {"caller": said["first"] in set("1234"), "echo": said["second"] in set("1234")}
    client.reward({role: 0.2 * right for role, right in form.items()})
    return float(form["caller"] and said["first"] == said["second"])


make = partial(llmzoo.from_program, program, agents=["caller_0", "echo_1"], tasks=TASKS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--learner", default="at_grpo", help="or magrpo, ippo, ...")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--tasks", type=int, default=60)
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--out", default="runs/langgraph_program")
    args = parser.parse_args()
    check_env(make, cycles=5)
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

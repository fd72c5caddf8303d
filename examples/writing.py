"""Writing: the reward components that fixed rules pay for a pair of texts.

Shows ``tldr_v0``: one author summarises a post briefly, the other in detail. Neither sees the
other's text, and both are paid for how well the texts fit together. Expect the same post answered
by the scripted expert, a noisy expert, a player that repeats a sentence, and a model, with the reward
parts of each. The embedded model cannot write: its row shows what noise earns.

    python examples/writing.py --model Qwen/Qwen2.5-0.5B-Instruct --env story_v0

Left out: training, which is ``llmzoo train --config configs/environments/writing.yaml``.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest, ScriptedPolicy

REPEATED = ScriptedPolicy(lambda request: "This is a very good post. " * 20, "repeats itself")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="tldr_v0", choices=llmzoo.list_envs("writing"))
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--task", type=int, default=0)
    args = parser.parse_args()

    env = llmzoo.make(args.env, source="sample", max_turns=1)
    for player in (load("expert"), load("noisy_expert"), REPEATED, load(args.model)):
        env.reset(options={"task": args.task})
        print(f"\n=== {player.name}")
        for agent in env.possible_agents:  # at the same time: neither reads what the other wrote
            asked = PolicyRequest(agent=agent, observation=env.observe(agent), env=env)
            text = player.respond([asked])[0][0].text
            print(f"{agent}, {len(text.split())} words: {' '.join(text.split())[:80]!r}")
            env.step(text)
        parts = {name: round(v, 2) for name, v in env.infos[agent]["reward_components"].items()}
        print(f"paid {env.rewards[agent]:.2f} = {parts}, wrong: {env.infos[agent]['error']}")


if __name__ == "__main__":
    main()

"""Coding: two writers of one program, and a sandbox that cannot be cheated.

Shows a problem of ``coop_functions_v0``: a helper writes ``aux`` and, at the same time, main writes
the function that calls it. Then it shows the rewards of different answers of main: the reference
solution, one that only claims to have passed, one that never ends, one that looks for the tests,
and a model's answer. Expect the full reward for the first. The cheats earn the reward for form but
nothing for tests, because the sandbox compares what the program returns, outside its process, and
never what it prints.

    python examples/coding.py --model Qwen/Qwen2.5-Coder-0.5B-Instruct --task 3

Left out: training, which is ``llmzoo train --config configs/environments/coding.yaml``, and public
sets: humaneval_v0, mbpp_v0 and others have the same agents.
"""

from __future__ import annotations

import argparse

import llmzoo
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest

CHEATS = {
    "claims": "def {name}(*args):\n    print('all tests passed')\n    raise SystemExit(0)",
    "never ends": "def {name}(*args):\n    while True:\n        pass",
    "looks for the tests": "import os\ndef {name}(*args):\n    return os.listdir('/')",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--task", type=int, default=0, help="number of the problem")
    args = parser.parse_args()

    env = llmzoo.make("coop_functions_v0", source="sample", time_limit=1.0)
    env.reset(options={"task": args.task})
    helper, main_agent = env.possible_agents
    print(env.observe(main_agent))
    aux, reference = (env.unwrapped.expert(agent) for agent in (helper, main_agent))
    name = reference.split("def ")[-1].split("(")[0]
    asked = PolicyRequest(agent=main_agent, observation=env.observe(main_agent), env=env)
    answers = {"the reference": reference}
    answers |= {what: code.format(name=name) for what, code in CHEATS.items()}
    answers |= {f"the model {args.model}": load(args.model).respond([asked])[0][0].text}
    for what, code in answers.items():
        env.reset(options={"task": args.task})
        env.step(aux)
        env.step(code)
        parts = {
            part: round(paid, 3)
            for part, paid in env.infos[main_agent]["reward_components"].items()
        }
        print(f"{what}: paid {env.rewards[main_agent]:.3f} = {parts}")


if __name__ == "__main__":
    main()

# lamps.py
"""Two workers repair two of the broken lamps of a street; each goes to one, and they cannot talk."""

from itertools import combinations

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.tasks import TaskList, describe_task

STREETS = [lamps for count in (2, 3, 4) for lamps in combinations(range(1, 10), count)]


class Lamps(TextEnv):
    metadata = {**TextEnv.metadata, "name": "lamps_v0", "team_components": ["repaired"]}

    def __init__(self, *, split="train", num_agents=2, **kwargs):
        agents = ["east_0", "west_1"] if num_agents == 2 else ["worker_0"]
        super().__init__(agents, simultaneous=True, **kwargs)
        self.trips = 2 // num_agents  # lamps that each worker can repair
        self.tasks = TaskList(STREETS, str, split=split, source="streets")

    def reset_task(self, rng, task):
        return self.tasks.sample(rng) if task is None else self.tasks[task]

    def task_info(self):
        return describe_task(self.tasks, str(self.episode), self.episode)

    def observation(self, state, agent):
        broken = f"Broken lamps: {', '.join(map(str, state))}."
        if self.trips == 2:
            return f"{broken} Repair two of them. Answer with two numbers and a space between them."
        return (
            f"You are the {agent[:-2]} worker. {broken} The other worker sets out at the same time. "
            "Do not go to the same lamp. Answer with the number of one lamp."
        )

    def apply(self, state, actions):
        broken = set(map(str, state))
        reached = {}
        for agent, text in actions.items():
            words = text.split()
            reached[agent] = broken & set(words) if len(words) == self.trips else set()
        repaired = len(set().union(*reached.values()))
        return state, Outcome(
            team={"repaired": repaired / 2},
            local={agent: {"reached": 0.1 * len(lamps)} for agent, lamps in reached.items()},
            errors={agent: "no broken lamp" for agent, lamps in reached.items() if not lamps},
            done=True,
            success=repaired == 2,
        )

    def expert(self, agent):
        lamps = self.episode[0], self.episode[-1]
        mine = lamps if self.trips == 2 else [lamps[self.possible_agents.index(agent)]]
        return " ".join(map(str, mine))

    def noisy_expert(self, agent, rng):
        return " ".join(map(str, rng.sample(self.episode, self.trips)))

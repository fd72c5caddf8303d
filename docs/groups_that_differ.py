"""How many groups of each agent teach anything, in every environment and under either tree.

A learner that compares answers has something to compare only where the returns of a group differ.
Scripted noisy experts, who err as people do, play every agent as if it were trained. Prints shares
(environment x tree x agent); docs/testing_tables.py writes them into a page. An agent at 0% would never learn.

    python docs/groups_that_differ.py --seeds 4 sudoku_v0 tool_use_v0

For a given model the share is ``flat_groups`` in the metrics of its run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from functools import partial

import llmzoo
from llmzoo.policies import scripted
from llmzoo.rollout import agent_turn_tree, joint_tree
from llmzoo.testing import count_varied_groups

TREES = {"at_grpo": agent_turn_tree, "joint tree": joint_tree}
HEAD = f"| environment | {' | '.join(TREES)} |\n|---|{'---|' * len(TREES)}"


def shares(make, seeds: int, group_size: int) -> dict[str, dict[str, float]]:
    """The share of groups that differ, by tree and agent."""
    found = {}
    for name, tree in TREES.items():
        counts = [
            count_varied_groups(make, scripted.noisy_expert(), tree, s, group_size=group_size)
            for s in range(seeds)
        ]
        found[name] = {
            agent: sum(c[agent][0] for c in counts) / sum(c[agent][1] for c in counts)
            for agent in counts[0]
        }
    return found


def forms(id: str) -> dict[str, dict]:
    """The forms of an environment that differ in agents or in who is paid."""
    if id == "debate_v0":
        judged = {"cooperative": {"reward": "cooperative"}, "judging agent": {"judge_agent": True}}
        return {"": {}, **judged, "one agent": {"num_agents": 1}}
    if id == "math_v0":
        split = {"view": "split", "family": "word_problems"}
        return {
            "": {},
            "aggregator": {"aggregator": True},
            "split view": split,
            "one agent": {"num_agents": 1},
        }
    if id in (*llmzoo.list_envs("games"), "bug_fix_v0", "contests_v0"):
        return {"": {}, "split view": {"view": "split"}, "one agent": {"num_agents": 1}}
    if id in llmzoo.list_envs("duels"):
        return {"": {}}
    return {"": {}, "one agent": {"num_agents": 1}}


def rows(id: str, seeds: int, group_size: int = 4) -> Iterator[str]:
    """The rows of the table for the forms of an environment."""
    for form, kwargs in forms(id).items():
        kwargs = {"split": "train", **llmzoo.spec(id).offline, **kwargs}
        if llmzoo.make(id, **kwargs).metadata.get("slow_step"):  # programs take their time
            kwargs["max_turns"] = 2
        found = shares(partial(llmzoo.make, id, **kwargs), seeds, group_size)
        cells = [
            ", ".join(f"{agent} {share:.0%}" for agent, share in by_agent.items())
            for by_agent in found.values()
        ]
        named = f"`{id}`, {form}" if form else f"`{id}`"
        yield f"| {named} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("envs", nargs="*", help="ids; all that are registered by default")
    parser.add_argument("--seeds", type=int, default=2, help="episodes of each form and tree")
    parser.add_argument("--group-size", type=int, default=4, help="answers to each prompt")
    args = parser.parse_args()

    print(HEAD)
    for id in args.envs or llmzoo.list_envs():
        for row in rows(id, args.seeds, args.group_size):
            print(row, flush=True)


if __name__ == "__main__":
    main()

"""How long the longest observation of each crowd environment is, for each number of agents.

    python examples/benchmark/crowd_observations.py

Noisy experts play 20 test tasks with the default arguments and full prompts; lengths are in characters. The last
column is the least-squares slope on logarithmic axes: 0 does not grow, 1 grows in proportion to the agents.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from growth import fit_exponent

from llmzoo import collect

CROWD: Mapping[str, tuple[str, tuple[int, ...], Mapping[str, Any]]] = {
    "philosophers_v0": ("num_agents", (2, 4, 8), {}),
    "commons_v0": ("num_agents", (2, 4, 8), {}),
    "hidden_profile_v0": ("num_agents", (2, 4, 8), {}),
    "mafia_v0": ("num_agents", (5, 6, 8), {"mafia": 1}),
    "delegate_v0": ("max_workers", (2, 4, 8), {"documents": 12}),
}


def longest(env: str, env_args: Mapping[str, Any], tasks: int = 20) -> dict[str, int]:
    """Characters of the longest observation of each role."""
    found: dict[str, int] = {}
    for episode in collect(
        env, "noisy_expert", tasks=tasks, split="test", seed=0, env_args=env_args
    ):
        for decision in episode.decisions:
            role = decision.agent.rsplit("_", 1)[0]
            found[role] = max(found.get(role, 0), len(decision.observation))
    return found


def main() -> None:
    for env, (argument, counts, others) in CROWD.items():
        measured = {count: longest(env, {argument: count, **others}) for count in counts}
        for role in measured[counts[0]]:
            lengths = {count: of_roles[role] for count, of_roles in measured.items()}
            told = ", ".join(f"{count}: {length:,}" for count, length in lengths.items())
            print(f"{env:<18} {role:<12} {argument} {told}; slope {fit_exponent(lengths):.2f}")


if __name__ == "__main__":
    main()

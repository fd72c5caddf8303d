"""Plays attacks as the agents of an environment, with experts or noisy experts as the others."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from pettingzoo import AECEnv

from llmzoo.attacks.pieces import AttackContext
from llmzoo.errors import NoScriptedPolicyError

MAX_STEPS = 500  # of an episode that does not end itself
ActFn = Callable[[AECEnv, AttackContext], str]
ScriptedPlayer = Literal["noisy_expert", "expert"]


@dataclass(frozen=True, slots=True)
class AttackSetting:
    """The agents that an attack plays, and who plays the others."""

    agents: tuple[str, ...]
    others: ScriptedPlayer | None = None

    def __str__(self) -> str:
        return ", ".join(self.agents) + (f" beside {self.others}s" if self.others else "")


@dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """One episode: returns and success by agent (None: the environment does not say), and what the
    agents answered, in order."""

    returns: Mapping[str, float]
    success: Mapping[str, bool | None]
    answers: tuple[tuple[str, str], ...]

    def mean_return(self, agents: Collection[str]) -> float:
        return sum(self.returns[agent] for agent in agents) / len(agents)

    def is_solved(self, agents: Collection[str]) -> bool:
        """Whether one of the agents was successful."""
        return any(self.success.get(agent) for agent in agents)


def play_attack(env: AECEnv, seed: int, acts: Mapping[str, ActFn]) -> PlayedEpisode:
    """Plays the episode of a seed. Raises whatever the environment raises."""
    env.reset(seed=seed)
    returns = dict.fromkeys(env.possible_agents, 0.0)
    success: dict[str, bool | None] = {}
    answers: list[tuple[str, str]] = []
    answers_by_agent: dict[str, list[str]] = {agent: [] for agent in env.possible_agents}
    for agent in env.agent_iter(MAX_STEPS):
        observation, reward, terminated, truncated, info = env.last()
        returns[agent] += float(reward)
        if terminated or truncated:
            reported_success = info.get("success")
            success[agent] = None if reported_success is None else bool(reported_success)
            env.step(None)
            continue
        previous_answers = answers_by_agent[agent]
        scene = AttackContext(
            agent=agent,
            observation=str(observation),
            turn=len(previous_answers),
            last=previous_answers[-1] if previous_answers else "",
        )
        text = acts[agent](env, scene)
        previous_answers.append(text)
        answers.append((agent, text))
        env.step(text)
    return PlayedEpisode(returns, success, tuple(answers))


def expert_act(env: AECEnv, scene: AttackContext) -> str:
    text: str = env.unwrapped.expert(scene.agent)
    return text


def make_noisy_expert_act(seed: int) -> ActFn:
    """The environment's noisy expert. Its chance is that of the seed, the turn and the agent, so that
    noisy experts err alike whoever plays the others."""

    def act(env: AECEnv, scene: AttackContext) -> str:
        rng = random.Random(f"{seed}, {scene.turn}, {scene.agent}")
        text: str = env.unwrapped.noisy_expert(scene.agent, rng)
        return text

    return act


def has_scripted_player(env: AECEnv, player: ScriptedPlayer) -> bool:
    """Whether an environment has a scripted player of this kind."""
    game = env.unwrapped
    if not callable(getattr(game, player, None)):  # another library's environment
        return False
    env.reset(seed=0)
    agent = env.agent_selection
    try:
        if player == "expert":
            game.expert(agent)
        else:
            game.noisy_expert(agent, random.Random(0))
    except NoScriptedPolicyError:
        return False
    return True

"""Trajectories: each agent's turns in an episode, their rewards, and how the episode ended."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.value_estimation import explained_variance, gae
from llmzoo.records import Decision, Episode, Group


@dataclass(frozen=True, slots=True)
class Turn:
    """One completion that a model sampled, as a group of one; ``reward`` is received before the next turn."""

    group: Group
    observation: str
    state: str
    reward: float


@dataclass(frozen=True, slots=True)
class AgentTrajectory:
    """An agent's trajectory: its turns in one episode.

    ``final`` is the observation after the last turn. ``cut_off``: whether a time limit ended the
    episode there. ``timed_task``: whether that limit is a rule of the task.
    """

    agent: str
    turns: tuple[Turn, ...]
    final: str
    final_state: str
    cut_off: bool
    timed_task: bool


@dataclass(frozen=True, slots=True)
class ScoredTurn(ScoredGroup):
    """A turn with its advantage, [1] or [1, C], and tensors of the same length (1 or C).

    ``targets``: the training targets of its values. ``old``: the critic's values before the update.
    ``returned``: the discounted returns from there on. ``turn``: the turn as played.
    """

    targets: Tensor
    old: Tensor
    turn: Turn
    returned: Tensor


def agent_trajectories(
    episodes: Sequence[Episode], agents: Collection[str]
) -> list[AgentTrajectory]:
    """One trajectory for each of ``agents`` and each episode in which a model acted for the agent.

    A reward after a completion that no model sampled (a failed call, a prompt that is too long) is added
    to the sampled completion before it.
    """
    trajectories = []
    for episode in episodes:
        for agent in agents:
            turns: list[Turn] = []
            for decision in episode.decisions_of(agent):
                if decision.completion.trainable:
                    turns.append(_turn(episode.seed, decision))
                elif turns:
                    turns[-1] = replace(turns[-1], reward=turns[-1].reward + decision.reward)
            if turns:
                trajectories.append(
                    AgentTrajectory(
                        agent,
                        tuple(turns),
                        episode.final.get(agent, ""),
                        episode.final_state,
                        agent in episode.cut_off,
                        episode.timed_task,
                    )
                )
    return trajectories


def score_trajectory(
    trajectory: AgentTrajectory,
    values: Sequence[Tensor],
    final: float,
    *,
    gamma: float,
    lam: float,
    per_token: bool,
) -> list[ScoredTurn]:
    """A trajectory's turns with advantages by GAE, targets A + V, and returns.

    ``values``: the values of each turn, [1], or [C] if ``per_token``, one before each token. ``final``: the
    value after the last turn, which is also added to the returns; 0 if the task has ended. Within a turn
    there is no discount, and no reward before its last token; ``lam`` applies per step, which is a turn or a
    token.
    """
    sizes = [len(v) for v in values]
    steps = sum(sizes)
    rewards, discounts = torch.zeros(steps), torch.ones(steps)
    at = -1
    for turn, size in zip(trajectory.turns, sizes, strict=True):
        at += size
        rewards[at] = turn.reward
        discounts[at] = gamma
    flat = torch.cat([*values, torch.tensor([final])])
    advantages = gae(rewards, flat, discounts, lam)
    targets = advantages + flat[:-1]
    returns = targets if lam == 1 else gae(rewards, flat, discounts, 1.0) + flat[:-1]
    return [
        ScoredTurn(turn.group, a.unsqueeze(0) if per_token else a, t, old, turn, r)
        for turn, a, t, old, r in zip(
            trajectory.turns,
            advantages.split(sizes),
            targets.split(sizes),
            values,
            returns.split(sizes),
            strict=True,
        )
    ]


def explained_variances(items: Sequence[ScoredTurn]) -> dict[str, float]:
    """How well the critic's values predict the returns, and how well they fit the critic's targets.

    With lambda below 1 the targets contain the critic's own later values. A critic that is
    only self-consistent fits them without predicting the returns.
    """
    old = torch.cat([item.old for item in items])
    return {
        "explained_variance": explained_variance(torch.cat([i.returned for i in items]), old),
        "explained_target_variance": explained_variance(torch.cat([i.targets for i in items]), old),
    }


def _turn(seed: int, decision: Decision) -> Turn:
    completion = decision.completion
    group = Group(
        agent=decision.agent,
        turn=decision.turn,
        key=(seed, decision.turn, decision.agent),
        prompt_ids=completion.prompt_ids,
        completions=(completion,),
        returns=(decision.reward,),
        infos=(decision.info,),
    )
    return Turn(group, decision.observation, decision.state, decision.reward)

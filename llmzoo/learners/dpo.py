"""DPO, direct preference optimisation (arXiv 2305.18290), and its joint form for several agents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from llmzoo.learners.base import Learner
from llmzoo.learners.configs.preferences import DPOConfig, MADPOConfig
from llmzoo.learners.groups import joint_plan
from llmzoo.learners.updates.dpo import DPOUpdater, MADPOUpdater
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.rollout.plans import JointTree, NothingPlayed


class DPO(Learner):
    """Credit: each agent's better answers against its worse ones, relative to a reference.

    If a policy maximises reward - beta KL(policy || reference), then the reward of an answer is
    beta log(policy/reference) plus a term of the prompt, which two answers to one prompt share. So
    -log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)) is the negative
    log-likelihood of the preference under the Bradley-Terry model. It needs neither a reward model
    nor samples of the trained policy. Here pairs come from groups, ranked by return; the answers of
    a group share their prompt, as the argument requires. Each policy trains on the pairs of its own
    agents.

    The run's iterations are divided into ``rounds`` of nearly equal length. At the start of a round
    the reference becomes a snapshot of the policy. During the round it is the reference of the loss
    and also plays, so all answers of a round come from one policy, as if they had been collected
    first. ``rounds=1`` is DPO from the starting policy, as published, and more rounds are iterative
    DPO. ``rounds=0``, the default in play, starts a round at each iteration, which is fully on-policy.
    One reference with the best completion against the worst (``pairs="gap"``) hardly learns.

    With ``preferences`` nothing is played. Each iteration takes the next ``rows`` rows of that set,
    and every learning policy trains on all of them.

    The loss equals that of TRL's DPOTrainer, on the tokens as they were sampled. As in TRL, the
    log-probabilities are those of temperature 1, whatever the sampling settings were.
    """

    Config: ClassVar[type[DPOConfig]] = DPOConfig
    config: DPOConfig

    @property
    def separable(self) -> bool:
        return True

    @property
    def plan(self) -> JointTree | NothingPlayed:
        return joint_plan(self.config) if self.config.preferences is None else NothingPlayed()

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> DPOUpdater:
        return DPOUpdater(self.config, policies, agent_policies, total_steps=total_steps)


class MADPO(Learner):
    """Credit: better joint answers against worse ones; a margin is the sum over the agents.

    Agents that answer at the same time answer independently, so the probability of a joint answer is
    the product over them, in the policies and in the references alike, and its log-ratio the sum.
    Applied to the joint policy, DPO's derivation gives
    -log sigmoid(beta sum over agents (log-ratio of the chosen - log-ratio of the rejected)). The
    difference from separate DPO is the weight of a pair, sigmoid(-beta margin): all agents share one
    weight, which depends on their joint margin.

    A pair compares the g-th answers of all agents at a node with the h-th. The return of a joint
    answer is the mean of the returns of the learning agents that answer there. If only one agent
    answers, this is DPO. Rounds are as in :class:`DPO`.

    The extension follows from the DPO paper by this argument. No publication is claimed for it.
    """

    Config: ClassVar[type[MADPOConfig]] = MADPOConfig
    config: MADPOConfig

    @property
    def plan(self) -> JointTree:
        return joint_plan(self.config)

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> MADPOUpdater:
        return MADPOUpdater(self.config, policies, agent_policies, total_steps=total_steps)

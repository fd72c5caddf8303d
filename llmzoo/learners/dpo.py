"""DPO, direct preference optimisation (arXiv 2305.18290), and its joint form for several agents."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from pettingzoo import AECEnv

from llmzoo.learners.base import Learner, joint_rollout
from llmzoo.learners.updates.dpo import DPOUpdater, MADPOUpdater
from llmzoo.learners.updates.dpo_config import DPOConfig, MADPOConfig
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.scheduler import Rollout


class DPO(Learner):
    """Credit: each seat's better answers against its worse ones, relative to a reference.

    Of a policy that maximises reward - beta KL(policy || reference), the reward of an answer is
    beta log(policy/reference) but for a term of the prompt alone, which is the same for two answers
    to it. So -log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)) is the
    Bradley-Terry likelihood of the preference, and needs neither a reward model nor samples of the
    policy that is trained. Here pairs come from groups, by return: a group's answers are given to
    one and the same prompt, as that needs. Each policy trains on the pairs of its own seats.

    The run's iterations are divided into ``rounds`` of as equal a length as can be. At the start of
    a round the reference becomes the policy as it then is, and until its end it both is compared
    with and plays, so that a round's answers come from one policy, as if they had been collected
    first. ``rounds=1`` is DPO from the starting policy; more rounds are iterative DPO; ``rounds=0``
    starts one at each iteration: fully on-policy.

    With ``preferences`` nothing is played: each iteration takes the next ``rows`` of that set, and
    every policy that learns trains on all of them.

    The loss equals that of TRL's DPOTrainer, on the tokens as they were sampled. As in TRL, the
    log-probabilities are those of temperature 1, whatever the sampling settings were.
    """

    Config: ClassVar[type[DPOConfig]] = DPOConfig
    config: DPOConfig

    @property
    def separable(self) -> bool:
        return True

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        if self.config.preferences is not None:
            return _nothing()
        return joint_rollout(self.config, env, seed, trained)

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> DPOUpdater:
        return DPOUpdater(self.config, policies, seats, total_steps=total_steps)


class MADPO(Learner):
    """Credit: better joint answers against worse ones; a margin is the sum over the seats.

    Seats that answer at the same time answer independently, so the probability of a joint answer is
    the product over them, in the policies and in the references alike, and its log-ratio the sum.
    DPO's own derivation, of the joint policy, then gives
    -log sigmoid(beta sum over seats (log-ratio of the chosen - log-ratio of the rejected)). What
    differs from DPO for each seat by itself is the weight of a pair, sigmoid(-beta margin): it
    is one for all seats, of how well they tell the joint answers apart together.

    A pair is the g-th answers of all seats at a node against the h-th; the return of a joint answer
    is the mean of the returns of the seats that choose there (learning ones, each its own return).
    Where one seat chooses alone this is DPO. Rounds are as in :class:`DPO`.

    The extension follows from the DPO paper by this argument; no publication is claimed for it.
    """

    Config: ClassVar[type[MADPOConfig]] = MADPOConfig
    config: MADPOConfig

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return joint_rollout(self.config, env, seed, trained)

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> MADPOUpdater:
        return MADPOUpdater(self.config, policies, seats, total_steps=total_steps)


def _nothing() -> Rollout:
    """A rollout that plays nothing."""
    yield from ()
    return Batch()

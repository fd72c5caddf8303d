"""A learner for each agent: separate credit and loss over one shared tree."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, cast

from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.learners.configs.groups import GroupConfig, JointConfig
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.groups import GroupLearner, group_by_learner
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.names import value_for_agent
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.plans import JointTree, RolloutPlan
from llmzoo.rollout.scheduler import Rollout

# options of a policy's update, which must be equal for agents that share weights
_UPDATE_OPTIONS = (
    *(field.name for field in fields(OptimizerConfig)),
    *("max_update_kl", "importance_cap", "epochs", "minibatches", "microbatch_tokens", "replay"),
)
_AGENT_TREE_OPTIONS = (
    "with_greedy",
    "counterfactuals",
)  # of a joint tree; agents may have different ones


class PerAgentLearner(GroupLearner):
    """Credit: each agent's own learner computes it, since every baseline uses only one agent's group.

    ``learners``: the learners of single agents, by agent; ``others``: the learner of all other agents. A tree
    gives each agent its own groups, so the credit of one agent does not affect that of another. All agents
    play one tree, so learners with different trees or different tree options are rejected, and so are
    learners without a tree. Agents that share weights may differ in their credit and in their loss (``clip``,
    ``kl``, ``entropy``, ...), and share one optimiser; agents with their own weights may also differ in the
    optimiser.
    """

    def __init__(self, others: GroupLearner, learners: Mapping[str, GroupLearner]):
        self.others, self.learners = others, dict(learners)
        for agent, learner in self.learners.items():
            _check_tree(agent, learner, others)
        super().__init__(_merge_configs([*self.learners.values(), others]))

    def for_agents(self, agents: Collection[str]) -> GroupLearner:
        own = {agent: self.for_agent(agent) for agent in agents}
        first, *rest = own.values()
        if all(learner is first for learner in rest):
            return first
        for agent, learner in own.items():
            for name in _UPDATE_OPTIONS:
                values = getattr(first.config, name), getattr(learner.config, name)
                if values[0] != values[1]:
                    raise ConfigError(
                        f"{agent} shares its weights with {next(iter(own))}, so they share one update, but {name} is "
                        f"{values[1]} and {values[0]}: make them equal, or use policies='separate'"
                    )
        shared = PerAgentLearner(first, own)
        given = {name: getattr(first.config, name) for name in _UPDATE_OPTIONS}
        shared.config = replace(shared.config, **given)
        return shared

    def for_agent(self, agent: str) -> GroupLearner:
        return value_for_agent(self.learners, agent, self.others)

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        for agent in trained:
            self.for_agent(agent).check(env, [agent])

    @property
    def plan(self) -> PerAgentTree:
        return PerAgentTree(self.others.plan, {a: own.plan for a, own in self.learners.items()})

    def wants_more(self, batch: Batch, rounds: int) -> bool:
        return any(
            learner.wants_more(replace(batch, groups=tuple(groups)), rounds)
            for learner, groups in group_by_learner(self, batch.groups, lambda group: group.agent)
        )

    def loss(
        self,
        policy: TransformersPolicy,
        microbatch: Sequence[ScoredGroup],
        *,
        rows: int,
        tokens: int,
        reference: TransformersPolicy | None,
    ) -> tuple[Tensor, Metrics]:
        """The loss of the agent's learner. All groups of a microbatch have the same learner."""
        learner = self.for_agent(microbatch[0].group.agent)
        return learner.loss(policy, microbatch, rows=rows, tokens=tokens, reference=reference)


@dataclass(frozen=True, slots=True)
class PerAgentTree(RolloutPlan):
    """One tree for the plans of several learners: those of ``own`` by agent, and that of all ``others``."""

    others: RolloutPlan
    own: Mapping[str, Any]

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        plan = self.others
        if isinstance(plan, JointTree):
            plans = {agent: value_for_agent(self.own, agent, plan) for agent in trained}
            plan = replace(
                plan,
                with_greedy=any(own.with_greedy for own in plans.values()),
                counterfactuals={agent: own.counterfactuals for agent, own in plans.items()},
            )
        return plan.rollout(env, seed, trained)


def _check_tree(agent: str, learner: GroupLearner, others: GroupLearner) -> None:
    """Reject a learner whose tree differs from the run's."""
    names = type(learner).__name__, type(others).__name__
    for one in (learner, others):
        if type(one).updater is not GroupLearner.updater:
            raise ConfigError(
                f"{agent} has the learner {names[0]} and the run {names[1]}, but {type(one).__name__} defines its own "
                "updater: agents can have different learners only if these differ just in credit and loss"
            )
    plan, shared = learner.plan, others.plan
    if type(plan) is not type(shared):
        raise ConfigError(
            f"{agent} has the learner {names[0]}, whose tree differs from that of {names[1]}: the agents of an "
            "episode share one tree. magrpo, marloo, maxrl, ccpo, maremax and mareinforce play joint trees; "
            "at_grpo plays agent-turn trees"
        )
    for name in tree_options(learner):
        values = getattr(plan, name), getattr(shared, name)
        if values[0] != values[1]:
            raise ConfigError(
                f"{agent} has {name}={values[0]!r} and the run {name}={values[1]!r}, but the agents of an episode "
                f"share one tree: set {name} for the run"
            )


def tree_options(learner: Learner) -> list[str]:
    """The options of a learner's tree that all agents of an episode share."""
    names = [field.name for field in fields(cast(Any, learner.plan))]
    return [name for name in names if name not in _AGENT_TREE_OPTIONS]


def _merge_configs(learners: Sequence[GroupLearner]) -> GroupConfig:
    """A configuration for the update of several learners: it enables what any of them needs."""
    configs = [learner.config for learner in learners]

    def first_used(name: str, unused: Any) -> Any:
        return next((v for c in configs if (v := getattr(c, name)) != unused), unused)

    clips = [config.clip for config in configs]
    return JointConfig(
        group_size=configs[0].group_size,
        gamma=configs[0].gamma,
        clip=None if None in clips else clips[0],
        kl=first_used("kl", 0.0),
        entropy=first_used("entropy", 0.0),
        role_baseline=first_used("role_baseline", None),
        zero_variance_groups=first_used("zero_variance_groups", "keep"),
        mask_truncated=first_used("mask_truncated", False),
    )

"""Each agent its own learner's credit and loss, over one tree for all of them."""

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
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.plans import JointTree, RolloutPlan
from llmzoo.rollout.scheduler import Rollout

# options of the update of a policy's weights, in which the agents that share them agree
_UPDATE_OPTIONS = (
    *(field.name for field in fields(OptimizerConfig)),
    *("max_update_kl", "importance_cap", "epochs", "minibatches", "microbatch_tokens", "replay"),
)
_OPTIONS_OF_AN_AGENT = ("with_greedy", "redraws")  # of a joint tree, in which agents may differ


class PerAgentLearner(GroupLearner):
    """Credit: of each agent by its own learner, since no baseline looks beyond a group of one agent.

    ``learners``: of agents by their names; ``others``: of all other agents. A tree gives each agent groups of
    its own, so nothing of one agent's credit enters another's. The agents play one tree: learners of
    different trees, or that play no trees, are refused, and so are different options of the tree. Agents
    that share weights may differ in their credit and in their loss (``clip``, ``kl``, ``entropy``, ...), and
    have one optimiser; agents with their own weights may differ in that too.
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
                        f"{agent} shares its weights with {next(iter(own))}, and both have one update: "
                        f"{name} is {values[1]} and {values[0]}; make them equal, or use policies='separate'"
                    )
        shared = PerAgentLearner(first, own)
        given = {name: getattr(first.config, name) for name in _UPDATE_OPTIONS}
        shared.config = replace(shared.config, **given)
        return shared

    def for_agent(self, agent: str) -> GroupLearner:
        return self.learners.get(agent, self.others)

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
        part: Sequence[ScoredGroup],
        *,
        rows: int,
        tokens: int,
        reference: TransformersPolicy | None,
    ) -> tuple[Tensor, Metrics]:
        """The loss of the agent's learner: a part has groups of one learner."""
        learner = self.for_agent(part[0].group.agent)
        return learner.loss(policy, part, rows=rows, tokens=tokens, reference=reference)


@dataclass(frozen=True, slots=True)
class PerAgentTree(RolloutPlan):
    """One tree for the plans of several learners: those of ``own`` by agent, and that of all ``others``."""

    others: RolloutPlan
    own: Mapping[str, Any]

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        plan = self.others
        if isinstance(plan, JointTree):
            plans = {agent: self.own.get(agent, plan) for agent in trained}
            plan = replace(
                plan,
                with_greedy=any(own.with_greedy for own in plans.values()),
                redraws={agent: own.redraws for agent, own in plans.items()},
            )
        return plan.rollout(env, seed, trained)


def _check_tree(agent: str, learner: GroupLearner, others: GroupLearner) -> None:
    """Refuse a learner that plays another tree than the run's."""
    names = type(learner).__name__, type(others).__name__
    for one in (learner, others):
        if type(one).updater is not GroupLearner.updater:
            raise ConfigError(
                f"{agent} learns by {names[0]} beside {names[1]}, and {type(one).__name__} has an update of "
                "its own: learners of single agents are those that only differ in credit and loss"
            )
        if type(one).rollout is not Learner.rollout:
            raise ConfigError(
                f"{type(one).__name__} has a rollout of its own, and learners of single agents share one: "
                "define plan instead of rollout()"
            )
    plan, shared = learner.plan, others.plan
    if type(plan) is not type(shared):
        raise ConfigError(
            f"{agent} learns by {names[0]}, which plays another tree than {names[1]}: the agents of an "
            "episode share one tree. Joint trees are those of magrpo, marloo, maxrl, ccpo, maremax and "
            "mareinforce; at_grpo plays agent-turn trees"
        )
    for name in tree_options(learner):
        values = getattr(plan, name), getattr(shared, name)
        if values[0] != values[1]:
            raise ConfigError(
                f"{agent} has {name}={values[0]!r} and the run {name}={values[1]!r}: the agents of an episode "
                f"share one tree. Set {name} for the run"
            )


def tree_options(learner: Learner) -> list[str]:
    """The options of its tree that all agents of an episode share."""
    names = [field.name for field in fields(cast(Any, learner.plan))]
    return [name for name in names if name not in _OPTIONS_OF_AN_AGENT]


def _merge_configs(learners: Sequence[GroupLearner]) -> GroupConfig:
    """What an update asks of a configuration for several learners: what any of them needs."""
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

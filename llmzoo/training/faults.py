"""Faults that only appear in rollouts: prompts that do not fit the model, and agents without a learning signal."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from llmzoo.engine.base import Iteration
from llmzoo.errors import PromptsTooLongError, ServiceError, ZeroVarianceWarning
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group, is_negligible

WINDOW = 10  # iterations
_NEARLY_ALL_SHARE = 0.95


def check_batch(
    batch: Batch,
    policies: Mapping[str, TransformersPolicy],
    agent_policies: Mapping[str, Policy],
    *,
    step: int,
) -> None:
    """Raise :class:`PromptsTooLongError` for a policy that refused every prompt of a batch, and
    :class:`ServiceError` if a judge, a tool or an endpoint failed in every episode.

    ``policies``: those that learn, by name. ``step``: the number of the iteration, from 1.
    """
    if batch.failures and not batch.endings:
        raise ServiceError(
            f"iteration {step}: all {len(batch.failures)} episodes failed, so there is nothing to train on: "
            f"{batch.failures[0]}. Check the judge, the tools and the endpoints of the run, then resume it"
        )
    answers = [
        *((group.agent, c) for group in batch.groups for c in group.completions),
        *((d.agent, d.completion) for episode in batch.episodes for d in episode.decisions),
    ]
    for name, policy in policies.items():
        own = [(agent, c) for agent, c in answers if agent_policies[agent] is policy]
        if not own or not all(c.refused for _, c in own):
            continue
        agent, longest = max(own, key=lambda answer: len(answer[1].prompt_ids))
        answer_tokens = policy.sampling_for(agent).max_new_tokens
        raise PromptsTooLongError(
            f"iteration {step}: every prompt of {name!r} was too long for the model, so it cannot "
            f"learn: the longest has {len(longest.prompt_ids)} tokens, the shortest "
            f"{min(len(c.prompt_ids) for _, c in own)}, and the model {policy.name!r} reads at "
            f"most {policy.context - answer_tokens} tokens: its context of {policy.context} minus "
            f"max_new_tokens={answer_tokens}. Lower max_new_tokens, or use a model with a "
            "longer context or an environment with shorter prompts"
        )


@dataclass(slots=True)
class NoSignalMonitor:
    """Warns about each of ``agents`` that learns nothing.

    An agent has no signal in an iteration if it has groups, the returns differ in none of them, and none of
    its completions has an advantage. An agent without a signal for ``window`` iterations in a row gives one
    warning, and another only after its groups have differed. Plain episodes have no groups and are not
    checked.
    """

    agents: Collection[str]
    window: int = WINDOW
    _without_signal: dict[str, list[_AgentIteration]] = field(
        default_factory=dict
    )  # by agent: its newest iterations in a row without a signal
    _learned: set[str] = field(default_factory=set)  # agents that have had a signal at some time

    def check_iteration(self, iteration: Iteration) -> None:
        """Check an iteration; warns with :class:`ZeroVarianceWarning`."""
        for agent in self.agents:
            seen = _summarize(agent, iteration)
            if seen is None:
                continue
            if not seen.has_no_signal:
                self._without_signal[agent] = []
                self._learned.add(agent)
                continue
            streak = self._without_signal.setdefault(agent, [])
            streak.append(seen)
            if len(streak) == self.window:
                self._warn(agent)

    def end(self) -> None:
        """Warn about agents that learned nothing in a whole run, if the run is shorter than the window."""
        for agent, streak in self._without_signal.items():
            if streak and len(streak) < self.window and agent not in self._learned:
                self._warn(agent)

    def _warn(self, agent: str) -> None:
        streak = self._without_signal[agent]
        warnings.warn(
            f"{agent} has learned nothing in {len(streak)} iteration{'s' * (len(streak) > 1)}: the returns "
            f"of its completions of a prompt are all equal. {_reason(streak)}",
            ZeroVarianceWarning,
            stacklevel=3,
        )


@dataclass(frozen=True, slots=True)
class _AgentIteration:
    """One iteration of an agent; ``total``: its mean return over whole episodes."""

    groups: Sequence[Group]
    has_no_signal: bool
    total: float


def _summarize(agent: str, iteration: Iteration) -> _AgentIteration | None:
    groups = []
    has_no_signal = True
    credits = iter(iteration.credits)  # of the groups' completions, in their order
    for group in iteration.batch.groups:
        advantages = [next(credits) or 0.0 for _ in group.completions]
        if group.agent == agent:
            groups.append(group)
            learned = any(not is_negligible(credit, group.returns) for credit in advantages)
            has_no_signal = has_no_signal and not learned and not group.has_return_variance
    if not groups:
        return None
    totals = [ending.totals.get(agent, 0.0) for ending in iteration.batch.endings]
    return _AgentIteration(groups, has_no_signal, sum(totals) / max(1, len(totals)))


def _reason(seen: Sequence[_AgentIteration]) -> str:
    """The likely reason why nothing is learned."""
    groups = [group for one in seen for group in one.groups]
    returns = [value for group in groups for value in group.returns]
    infos = [info for group in groups for info in group.infos]
    errors = [str(info["error"]) for info in infos if info.get("error")]
    mean_return = sum(one.total for one in seen) / len(seen)
    if all(len({c.text for c in group.completions}) == 1 for group in groups):
        return "The completions are identical: raise the temperature, or increase exploration in another way."
    if infos and len(errors) >= _NEARLY_ALL_SHARE * len(infos):
        return (
            f"Nearly all of them are refused (the last: {errors[-1][:200]!r}): teach the model the "
            "action format with sft, or choose an easier setting."
        )
    if not any(returns):
        if abs(mean_return) > 1e-9:
            return (
                f"This learner credits no reward to them, but the agent's mean episode return is {mean_return:.3g}: "
                "use a learner on joint trees, such as magrpo, which credits all later rewards."
            )
        return "All rewards were 0: the tasks are too hard for this model."
    if infos and all(info.get("success") for info in infos):
        return "All of them succeed: the tasks are too easy to learn from."
    return (
        f"Their mean return is {sum(returns) / len(returns):.3g}, whatever their text: the reward "
        "may not depend on this agent's actions, or the tasks are too easy or too hard."
    )

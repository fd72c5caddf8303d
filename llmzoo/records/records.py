"""The records of rollouts: frozen dataclasses.

A :class:`Group` is one prompt and its K completions. It is the unit of sampling (the prompt is computed once
for all K), of credit (a baseline is computed only within a group) and of the update. The K completions have
the same prompt, so no baseline can mix agents, turns or tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What a policy wrote for one prompt.

    ``ids`` and ``logprobs`` are as sampled, including the end-of-sequence token. Both are empty if no model
    with known probabilities wrote the text (a scripted policy, a person, a failed call). Such a completion is
    never trained on. ``truncated``: the token limit cut it off. ``refused``: the policy wrote nothing, because
    the prompt is too long for the model, empty, or against the rules of its provider, or because a scripted
    policy knows no solution of the task. ``failure``: why the call of an endpoint failed (the text is then
    empty); "" if it did not fail.
    """

    text: str
    prompt_ids: tuple[int, ...] = ()
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    truncated: bool = False
    refused: bool = False
    failure: str = ""

    @property
    def trainable(self) -> bool:
        return len(self.ids) > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One action of one agent in an episode.

    ``turn`` counts this agent's own decisions from 0. ``reward``: the sum of the agent's rewards from this
    action to its next decision. ``paid_after``: these rewards with their times, as pairs of (index of the
    decision in the episode after which the reward was given, amount).
    """

    agent: str
    turn: int
    observation: str
    completion: Completion
    reward: float
    paid_after: tuple[tuple[int, float], ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""  # the global state, if the rollout records it


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One finished episode; ``decisions`` are in the order in which they were taken."""

    env_id: str
    seed: int
    decisions: tuple[Decision, ...]
    terminated: bool
    truncated: bool
    success: bool
    totals: Mapping[str, float]  # the sum of each agent's rewards
    info: Mapping[str, Any] = field(default_factory=dict)  # the last info of the first agent
    final: Mapping[str, str] = field(
        default_factory=dict
    )  # the last observation of each agent that was done
    final_state: str = ""  # the global state at the end, if the rollout records it
    cut_off: tuple[str, ...] = ()  # agents that were truncated, not terminated
    failure: str = ""  # why a judge, a tool or an endpoint gave no result
    timed_task: bool = False  # the environment says that its time limit is a rule of the task

    @property
    def agents(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(decision.agent for decision in self.decisions))

    def decisions_of(self, agent: str) -> tuple[Decision, ...]:
        """This agent's decisions, in order."""
        return tuple(d for d in self.decisions if d.agent == agent)

    def returns(self, gamma: float = 1.0) -> tuple[float, ...]:
        """The discounted return of every decision, aligned with ``decisions``.

        A reward counts for each earlier decision of the same agent. It is discounted by the number of the
        agent's own turns in between: gamma**0 for the rewards before its next turn.
        """
        returns = [0.0] * len(self.decisions)
        for agent in self.agents:
            following = 0.0
            for index in reversed(range(len(self.decisions))):
                if self.decisions[index].agent == agent:
                    following = self.decisions[index].reward + gamma * following
                    returns[index] = following
        return tuple(returns)


def is_negligible(value: float, returns: Sequence[float]) -> bool:
    """Whether ``value`` may be a rounding error, compared with the size of these returns."""
    return abs(value) <= 1e-6 * max(1.0, *map(abs, returns))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentReturns:
    """The returns of one reward component in a :class:`Group`, with the same discount as the total."""

    returns: tuple[float, ...]
    greedy: float | None = None
    counterfactual_returns: tuple[float, ...] = ()

    def select(self, indices: Sequence[int]) -> ComponentReturns:
        """The returns of the completions with these indices."""
        counterfactual_returns = (
            tuple(self.counterfactual_returns[i] for i in indices)
            if self.counterfactual_returns
            else ()
        )
        returns = tuple(self.returns[i] for i in indices)
        return replace(self, returns=returns, counterfactual_returns=counterfactual_returns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """K completions of one prompt by one agent, with a return each.

    ``turn`` counts the agent's own turns from 0. ``key`` is unique in a batch: the seed, the path to the
    node of the tree, and the agent. ``greedy``: the return of the policy's greedy completion of the same
    prompt, if the rollout tries it. ``counterfactual_returns``: for each completion, the mean return if it is
    replaced by other completions of the group while the other agents' completions stay, if the rollout tries
    them. ``components``: the returns of each reward component, which sum to the total. Empty if the
    environment names none. ``infos``: the agent's info after each completion, if the rollout recorded it.

    ``reach``: the weight of the group's node in its tree, an estimate of the probability that the policy's own
    play reaches it. For any quantity of a node, the sum of ``reach`` x quantity over the groups of a tree is
    an unbiased estimate of its sum along an episode of the policy. The weight of a group of attempts is
    multiplied by their number. It is 1 in rollouts other than joint trees.
    """

    agent: str
    turn: int
    key: tuple[Any, ...]
    prompt_ids: tuple[int, ...]
    completions: tuple[Completion, ...]
    returns: tuple[float, ...]
    greedy: float | None = None
    counterfactual_returns: tuple[float, ...] = ()
    components: Mapping[str, ComponentReturns] = field(default_factory=dict)
    infos: tuple[Mapping[str, Any], ...] = ()
    reach: float = 1.0

    def __post_init__(self) -> None:
        if len(self.completions) != len(self.returns):
            raise ValueError(f"{len(self.completions)} completions, {len(self.returns)} returns")

    def without_unknown_returns(self) -> Group | None:
        """The group without the completions whose return is unknown (nan); None if none is left.

        Returns are unknown if a judge, a tool or an endpoint failed.
        """
        unknown = self.greedy is not None and isnan(self.greedy)
        known = [
            i
            for i, value in enumerate(self.returns)
            if not (
                unknown
                or isnan(value)
                or (self.counterfactual_returns and isnan(self.counterfactual_returns[i]))
            )
        ]
        if len(known) == len(self.returns):
            return self
        return self.select(known) if known else None

    @property
    def has_return_variance(self) -> bool:
        """Whether the returns, including counterfactual ones, differ by more than rounding errors.

        If they do not, a group baseline makes all advantages zero. Dynamic sampling drops such groups and
        samples new ones (DAPO, arXiv 2503.14476).
        """
        compared = (*self.returns, *self.counterfactual_returns)
        return not is_negligible(max(compared) - min(compared), compared)

    def split_by_component(self) -> list[Group]:
        """For each reward component, the group with the returns of this component only; the group itself if
        the environment names none."""
        return [
            replace(
                self,
                returns=p.returns,
                greedy=p.greedy,
                counterfactual_returns=p.counterfactual_returns,
                components={},
            )
            for p in self.components.values()
        ] or [self]

    def select(self, indices: Sequence[int]) -> Group:
        """The group with only the completions of these indices."""
        return replace(
            self,
            completions=tuple(self.completions[i] for i in indices),
            returns=tuple(self.returns[i] for i in indices),
            counterfactual_returns=tuple(self.counterfactual_returns[i] for i in indices)
            if self.counterfactual_returns
            else (),
            components={name: part.select(indices) for name, part in self.components.items()},
            infos=tuple(self.infos[i] for i in indices) if self.infos else (),
        )


def drop_unknown_returns(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups without completions of unknown return. Groups without any other completion are dropped."""
    return tuple(
        found for group in groups if (found := group.without_unknown_returns()) is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeOutcome:
    """How an episode of a rollout ended.

    ``totals``: the sum of each agent's rewards. ``outcomes``: for each agent "won", "drawn" or "lost", if the
    environment reports it (``infos[agent]["outcomes"]``).
    """

    seed: int
    success: bool
    totals: Mapping[str, float]
    decisions: int
    outcomes: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def from_episode(episode: Episode) -> EpisodeOutcome:
        return EpisodeOutcome(
            seed=episode.seed,
            success=episode.success,
            totals=episode.totals,
            decisions=len(episode.decisions),
            outcomes=episode.info.get("outcomes", {}),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The data of rollouts that a learner trains on: groups or episodes, and how the episodes ended.

    ``endings``: the outcomes of all episodes that ended. ``failures``: for each episode in which a judge, a
    tool or an endpoint failed, the reason. Such an episode has no entry in ``endings``, and its completions are
    in no group.
    """

    groups: tuple[Group, ...] = ()
    endings: tuple[EpisodeOutcome, ...] = ()
    episodes: tuple[Episode, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def completions(self) -> tuple[Completion, ...]:
        """All completions: those of the groups in order, then those of the episodes."""
        return (
            *(completion for group in self.groups for completion in group.completions),
            *(d.completion for episode in self.episodes for d in episode.decisions),
        )

    @staticmethod
    def from_episode(episode: Episode) -> Batch:
        """The batch of one episode. If a service failed in it, the batch has only the failure."""
        if episode.failure:
            return Batch(failures=(episode.failure,))
        return Batch(episodes=(episode,), endings=(EpisodeOutcome.from_episode(episode),))

    @staticmethod
    def concatenate(batches: Sequence[Batch]) -> Batch:
        """Several batches as one, in their order."""
        return Batch(
            groups=tuple(group for part in batches for group in part.groups),
            endings=tuple(ending for part in batches for ending in part.endings),
            episodes=tuple(episode for part in batches for episode in part.episodes),
            failures=tuple(failure for part in batches for failure in part.failures),
        )


def lists_to_tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields with lists as tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}

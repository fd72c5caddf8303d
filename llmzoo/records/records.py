"""What a rollout records: plain frozen data, with no behaviour beyond views.

A :class:`Group` is one prompt and its K answers. It is the unit of sampling (the prompt is read
once for all K), of credit (a baseline is computed inside a group and nowhere else) and of the
update. The K prompts are identical by construction, so no baseline can mix agents, turns or tasks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from math import isnan
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One answer of a policy.

    ``ids`` and ``logprobs`` are as sampled, the end-of-sequence token included; both are empty
    where no model with known probabilities wrote the text (a scripted agent, a person, a failed
    call), and such a completion is never trained on. ``truncated``: the token limit cut it off.
    ``refused``: no answer was written, as the prompt is too long for the model, empty, or against
    the rules of its provider, or as a scripted player knows no solution of the task. ``failure``: why
    the call of an endpoint failed, which leaves the text empty; "" if it did not.
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

    ``turn`` counts this agent's own decisions from 0. ``reward`` is what was paid between this
    action and the agent's next visit. ``paid_after`` gives each payment its time: pairs of (index
    in the episode's decisions after which it was paid, amount); the amounts sum to ``reward``.
    """

    agent: str
    turn: int
    observation: str
    completion: Completion
    reward: float
    paid_after: tuple[tuple[int, float], ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    state: str = ""  # the global state, where the rollout asked for it


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """One finished episode; ``decisions`` are in the order in which they were taken."""

    env_id: str
    seed: int
    decisions: tuple[Decision, ...]
    terminated: bool
    truncated: bool
    success: bool
    totals: Mapping[str, float]  # everything that each agent was paid
    info: Mapping[str, Any] = field(default_factory=dict)  # the last info of the first agent
    final: Mapping[str, str] = field(default_factory=dict)  # what each agent read at the end
    final_state: str = ""  # the global state at the end, where the rollout asked for it
    cut_off: tuple[str, ...] = ()  # agents that a time limit stopped, rather than the task's end
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

        A payment counts for each earlier decision of the same agent, discounted by the number of
        the agent's own turns that lie between: gamma**0 for the rewards before its next turn.
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
    """Whether ``value`` is no more than rounding beside returns of this size."""
    return abs(value) <= 1e-6 * max(1.0, *map(abs, returns))


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentReturns:
    """A reward component: what a :class:`Group` says of the whole, with the same discount."""

    returns: tuple[float, ...]
    greedy: float | None = None
    redrawn: tuple[float, ...] = ()

    def select(self, indices: Sequence[int]) -> ComponentReturns:
        """The part of a group with these of its completions."""
        redrawn = tuple(self.redrawn[i] for i in indices) if self.redrawn else ()
        returns = tuple(self.returns[i] for i in indices)
        return replace(self, returns=returns, redrawn=redrawn)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """K completions of one prompt by one agent, with a return each.

    ``turn`` counts the agent's own turns from 0. ``key`` names the prompt's place: the seed, the
    path to it and the agent, unique in a batch. ``greedy`` is the return of the policy's greedy
    completion of the same prompt, where the rollout asked for it.
    ``redrawn``: for each completion, the mean return when this agent's answer is drawn again and those of
    the others stay, where the rollout asked for it.
    ``components``: the returns of each reward component. They sum to the whole. Empty where the
    environment names none.
    ``infos``: the agent's info after each completion was tried, where the rollout tried them.
    ``reach``: what the group counts for as a sample of where the policy itself gets to: the sum over
    a tree's groups of ``reach`` x anything is an unbiased estimate of the same sum along the
    policy's own play. A group of attempts counts for as many decisions. Rollouts other than joint trees
    leave it at 1.
    """

    agent: str
    turn: int
    key: tuple[Any, ...]
    prompt_ids: tuple[int, ...]
    completions: tuple[Completion, ...]
    returns: tuple[float, ...]
    greedy: float | None = None
    redrawn: tuple[float, ...] = ()
    components: Mapping[str, ComponentReturns] = field(default_factory=dict)
    infos: tuple[Mapping[str, Any], ...] = ()
    reach: float = 1.0

    def __post_init__(self) -> None:
        if len(self.completions) != len(self.returns):
            raise ValueError(f"{len(self.completions)} completions, {len(self.returns)} returns")

    def without_unknown_returns(self) -> Group | None:
        """The group without the completions whose return is unknown (nan), as after a failure of a judge, a
        tool or an endpoint; None if nothing is left to compare."""
        unknown = self.greedy is not None and isnan(self.greedy)
        known = [
            i
            for i, value in enumerate(self.returns)
            if not (unknown or isnan(value) or (self.redrawn and isnan(self.redrawn[i])))
        ]
        if len(known) == len(self.returns):
            return self
        return self.select(known) if known else None

    @property
    def differs(self) -> bool:
        """Whether the returns, redrawn ones included, differ by more than rounding, so that comparing them
        teaches something.

        A group baseline makes all advantages of other groups zero. Dynamic sampling drops such
        groups and samples new ones (DAPO, arXiv 2503.14476).
        """
        compared = (*self.returns, *self.redrawn)
        return not is_negligible(max(compared) - min(compared), compared)

    def split_by_component(self) -> list[Group]:
        """For each reward component, the group as if it were all that is paid; the group itself
        where the environment names none."""
        return [
            replace(self, returns=p.returns, greedy=p.greedy, redrawn=p.redrawn, components={})
            for p in self.components.values()
        ] or [self]

    def select(self, indices: Sequence[int]) -> Group:
        """The group with these of its completions."""
        return replace(
            self,
            completions=tuple(self.completions[i] for i in indices),
            returns=tuple(self.returns[i] for i in indices),
            redrawn=tuple(self.redrawn[i] for i in indices) if self.redrawn else (),
            components={name: part.select(indices) for name, part in self.components.items()},
            infos=tuple(self.infos[i] for i in indices) if self.infos else (),
        )


def drop_unknown_returns(groups: Sequence[Group]) -> tuple[Group, ...]:
    """The groups without completions of unknown return, and none in which nothing is left to compare."""
    return tuple(
        found for group in groups if (found := group.without_unknown_returns()) is not None
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeOutcome:
    """How one rollout ended: ``totals`` is what each agent was paid in it."""

    seed: int
    success: bool
    totals: Mapping[str, float]
    decisions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What a rollout gives a learner: groups or episodes, and how they ended.

    failures: for each episode that a failed judge, tool or endpoint spoiled, why it failed. Such an episode
        has no ending, and its completions are in no group.
    """

    groups: tuple[Group, ...] = ()
    endings: tuple[EpisodeOutcome, ...] = ()
    episodes: tuple[Episode, ...] = ()
    failures: tuple[str, ...] = ()

    @property
    def completions(self) -> tuple[Completion, ...]:
        """Every answer: those of the groups, in their order, then those of the episodes."""
        return (
            *(completion for group in self.groups for completion in group.completions),
            *(d.completion for episode in self.episodes for d in episode.decisions),
        )

    @staticmethod
    def from_episode(episode: Episode) -> Batch:
        """The batch of one plain episode; its failure alone if a service failed."""
        if episode.failure:
            return Batch(failures=(episode.failure,))
        ending = EpisodeOutcome(
            seed=episode.seed,
            success=episode.success,
            totals=episode.totals,
            decisions=len(episode.decisions),
        )
        return Batch(episodes=(episode,), endings=(ending,))

    @staticmethod
    def concatenate(batches: Sequence[Batch]) -> Batch:
        """Several batches as one, in their order."""
        return Batch(
            groups=tuple(group for part in batches for group in part.groups),
            endings=tuple(ending for part in batches for ending in part.endings),
            episodes=tuple(episode for part in batches for episode in part.episodes),
            failures=tuple(failure for part in batches for failure in part.failures),
        )


def field_values(record: Any) -> dict[str, Any]:
    """A record's fields by name."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def lists_to_tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields with lists as tuples."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}

"""Joint trees: at each node a group of completions for every agent, played in copies of the episode.

:func:`joint_tree` is a rollout: a generator that yields requests for samples and steps, and children, to the
scheduler (:mod:`llmzoo.rollout.scheduler`), and returns a :class:`Batch`. Agents that are
not trained (scripted, frozen) act once and form no group.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.envs.forking import fork
from llmzoo.fields import field_values
from llmzoo.records import (
    Batch,
    Completion,
    ComponentReturns,
    EpisodeOutcome,
    Group,
    drop_unknown_returns,
)
from llmzoo.rollout.attempts import attempt_count, sample_attempts
from llmzoo.rollout.scheduler import Rollout, SampleRequest, build_request
from llmzoo.rollout.stepping import (
    TOTAL,
    StepRequest,
    agents_to_act,
    failure_reason,
    is_over,
    is_success,
    latest_infos,
    nan_rewards,
    read_infos,
    read_outcomes,
    rewards_by_component,
    skip_dead,
)

Returns = Mapping[tuple[str, str], float]  # by (agent, reward component)


def joint_tree(
    env: AECEnv,
    seed: int,
    *,
    group_size: int,
    trained: Collection[str],
    mode: Literal["align", "cross"] = "align",
    gamma: float = 1.0,
    expand: int | None = 1,
    with_greedy: bool = False,
    counterfactuals: int | Mapping[str, int] = 0,
) -> Rollout:
    """At each node, sample ``group_size`` completions for every agent that acts there.

    The return of a completion is the mean over the continuations that are played after it.

    ``align`` pairs the g-th completions of all agents (``group_size`` joint actions). ``cross``
    tries all ``group_size**N`` combinations of the same completions and gives each completion the
    mean return of the combinations that contain it. The return of a joint action is its reward +
    gamma x the mean return of the node that it leads to. Each agent's return is discounted once per
    turn of that agent.

    ``expand``: how many children of a node become nodes with ``group_size`` completions of their
    own (None: all, the full tree of MAGRPO, arXiv 2508.04652, whose cost is ``group_size**depth``).
    The others are continued with one completion per turn, which estimates the same mean without
    bias at a cost that grows with the square of the depth. The ``reach`` of a group estimates the probability
    that play reaches its node: the parent's reach x the share of joint actions that do not end the episode
    / the number of expanded children. ``with_greedy`` also tries the joint greedy action at each node and
    records its return in the groups. ``counterfactuals`` (with ``align``; a mapping gives the number by agent):
    for each joint action and agent, also try this number of variants in which this agent's completion is
    replaced by another one of its group, and record their mean return as ``counterfactual_returns``. This
    samples no new completions, but each of the ``N * group_size * counterfactuals`` copies is played to the
    end.

    For an agent that acts several times in a row (:mod:`llmzoo.rollout.attempts`), the attempts form the
    group, regardless of ``group_size``. With ``expand=None`` this gives the hierarchical groups of a
    proposer and its solver: ``group_size`` proposals, each with the solver's attempts at it as a group,
    and each rewarded for all attempts at it.
    """
    tree = _JointTree(
        seed=seed,
        group_size=group_size,
        trained=trained,
        mode=mode,
        gamma=gamma,
        expand=expand,
        with_greedy=with_greedy,
        counterfactuals=dict.fromkeys(trained, counterfactuals)
        if isinstance(counterfactuals, int)
        else counterfactuals,
        rng=random.Random(f"{seed}/expand"),
    )
    no_rewards, turns = (
        dict.fromkeys(env.possible_agents, 0.0),
        dict.fromkeys(env.possible_agents, 0),
    )
    skip_dead(env)
    if is_over(env):
        tree.record_end(env, no_rewards, turns)
    else:
        yield [tree.play_node(env, (), 1.0, no_rewards, turns)]
    return Batch(
        groups=drop_unknown_returns(tree.groups),
        endings=tuple(tree.endings),
        failures=tuple(tree.failures),
    )


@dataclass(slots=True, kw_only=True)
class _JointTree:
    """The options of a joint tree, and the groups and outcomes collected so far."""

    seed: int
    group_size: int
    trained: Collection[str]
    mode: Literal["align", "cross"]
    gamma: float
    expand: int | None
    with_greedy: bool
    counterfactuals: Mapping[str, int]
    rng: random.Random
    groups: list[Group] = field(default_factory=list)
    endings: list[EpisodeOutcome] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def play_node(
        self,
        env: AECEnv,
        path: tuple[int, ...],
        reach: float | None,
        rewards_before: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """Play from a state to the end. Returns each agent's mean return since its last decision, by
        (agent, component): the total, and each reward component.

        ``reach``: the ``reach`` of the groups at this node. None: one completion per agent, and no groups.
        ``rewards_before``: each agent's total reward up to here. ``turns``: how often each agent has acted.
        """
        agents = agents_to_act(env)
        if (count := attempt_count(env, agents)) > 1:
            return (
                yield from self._play_attempts(
                    env, agents[0], count, path, reach, rewards_before, turns
                )
            )
        completions, joint_actions, texts = yield from self._sample(
            env, agents, grouped=reach is not None
        )
        substitutions = (
            self._substituted_actions(agents, joint_actions) if reach is not None else []
        )
        texts += [
            tuple(completions[s][i].text for s, i in enumerate(action))
            for _, _, action in substitutions
        ]
        forks = [fork(env) for _ in texts]
        rewards = yield [StepRequest(f, t) for f, t in zip(forks, texts, strict=True)]
        # aligned with texts; None stands for the greedy action
        actions = [
            *joint_actions,
            *[None] * (len(texts) - len(joint_actions) - len(substitutions)),
            *(a for *_, a in substitutions),
        ]
        for j, action in enumerate(actions):
            if action is not None and has_failed_completion(completions, action):
                rewards[j] = nan_rewards(rewards[j])
        infos = [read_infos(f, agents) for f in forks[: len(joint_actions)]]
        component_rewards = [
            rewards_by_component(env.infos, latest_infos(f), p, agents)
            for f, p in zip(forks, rewards, strict=True)
        ]
        totals = [{a: rewards_before[a] + p.get(a, 0.0) for a in rewards_before} for p in rewards]
        turns_after = {a: count + (a in agents) for a, count in turns.items()}
        for f, total in zip(forks[: len(joint_actions)], totals, strict=False):
            if is_over(f):
                self.record_end(f, total, turns_after)
        running = [j for j, f in enumerate(forks) if not is_over(f)]
        candidates = [j for j in running if j < len(joint_actions)]
        expanded = candidates if reach is not None else []
        if self.expand is not None:
            expanded = self.rng.sample(expanded, min(self.expand, len(expanded)))
        child_reach = (
            (reach or 0.0) * len(candidates) / (len(joint_actions) * max(1, len(expanded)))
        )
        children = [
            self.play_node(
                forks[j], (*path, j), child_reach if j in expanded else None, totals[j], turns_after
            )
            for j in running
        ]
        # free memory before waiting for the children: at the end of an episode, a node of every earlier turn
        # is waiting here
        del env, forks, texts, rewards, totals, f
        if reach is None:
            del completions, infos
        values = yield children
        child_returns = dict(zip(running, values, strict=True))
        returns = [
            _add_returns(own, child_returns.get(j, {})) for j, own in enumerate(component_rewards)
        ]
        if reach is not None:
            counterfactual_returns = self._mean_counterfactual_returns(
                joint_actions, substitutions, returns
            )
            self._add_groups(
                agents,
                completions,
                joint_actions,
                returns,
                infos,
                path,
                turns,
                reach,
                counterfactual_returns,
            )
        names = dict.fromkeys(
            key for action_returns in returns[: len(joint_actions)] for key in action_returns
        )
        mean = {
            k: sum(action_returns.get(k, 0.0) for action_returns in returns[: len(joint_actions)])
            / len(joint_actions)
            for k in names
        }
        return {k: self.gamma * v if k[0] in agents else v for k, v in mean.items()}

    def _play_attempts(
        self,
        env: AECEnv,
        agent: str,
        count: int,
        path: tuple[int, ...],
        reach: float | None,
        rewards_before: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """:meth:`play_node` for an agent that acts ``count`` times in a row. The ``reach`` of its group is
        multiplied by ``count``."""
        env_copy = fork(env)
        attempts = yield from sample_attempts(env_copy, agent, count, self.seed)
        totals = {a: rewards_before[a] + attempts.total(a) for a in rewards_before}
        turns_after = {**turns, agent: turns[agent] + count}
        child_returns: Returns = {}
        if is_over(env_copy):
            self.record_end(env_copy, totals, turns_after)
        else:
            child_returns = yield from self.play_node(
                env_copy, (*path, 0), reach, totals, turns_after
            )
        grouped = reach is not None and agent in self.trained
        key = (self.seed, *path, agent)
        greedy_rewards: list[Returns] = []
        if grouped and self.with_greedy:
            ((greedy_completion,),) = yield [
                SampleRequest(build_request(env, agent, self.seed), 1, True)
            ]
            greedy_env = fork(env)
            rewards = yield StepRequest(greedy_env, (greedy_completion.text,))
            greedy_rewards = [rewards_by_component(env.infos, greedy_env.infos, rewards, [agent])]
        values: dict[tuple[str, str], float] = {}
        for step in [*attempts.rewards, child_returns]:
            values = _add_returns(values, step)
        components = {}
        for name, amounts in _returns_by_component(
            agent, [*attempts.rewards, child_returns, *greedy_rewards]
        ).items():
            # the child's return has a factor of gamma for its own turn; the attempts after i are turns too
            own = amounts[:count]
            later = [self.gamma ** (count - 1 - i) * amounts[count] for i in range(count)]
            returns = [reward + value for reward, value in zip(own, later, strict=True)]
            components[name] = ComponentReturns(
                returns=tuple(returns),
                greedy=amounts[-1] + later[0] if greedy_rewards else None,
                counterfactual_returns=_mean_next_returns(
                    returns, min(self.counterfactuals.get(agent, 0), count - 1)
                ),
            )
            discounted = sum(self.gamma**i * reward for i, reward in enumerate(own))
            values[agent, name] = self.gamma * (discounted + later[0])
        if grouped:
            self.groups.append(
                Group(
                    agent=agent,
                    turn=turns[agent],
                    key=key,
                    prompt_ids=attempts.completions[0].prompt_ids,
                    completions=tuple(attempts.completions),
                    **field_values(components.pop(TOTAL)),
                    components=components,
                    infos=tuple(attempts.infos),
                    reach=(reach or 0.0) * count,
                )
            )
        return values

    def _sample(self, env: AECEnv, agents: Sequence[str], *, grouped: bool) -> Rollout:
        """Sample at a node.

        Returns the completions of each agent; each joint action, as the index of every agent's completion; and
        the texts of the joint actions. With ``with_greedy``, the last text is that of the greedy action.
        """
        requests = [build_request(env, agent, self.seed) for agent in agents]
        sizes = [self.group_size if grouped and a in self.trained else 1 for a in agents]
        completions: list[list[Completion]] = yield [
            SampleRequest(request, size) for request, size in zip(requests, sizes, strict=True)
        ]
        if self.mode == "cross":
            joint_actions = list(itertools.product(*map(range, sizes)))
        else:
            joint_actions = [tuple(min(g, size - 1) for size in sizes) for g in range(max(sizes))]
        texts = [
            tuple(completions[s][i].text for s, i in enumerate(action)) for action in joint_actions
        ]
        if grouped and self.with_greedy:
            best = yield [SampleRequest(request, 1, True) for request in requests]
            texts.append(tuple(completions[0].text for completions in best))
        return completions, joint_actions, texts

    def _substituted_actions(
        self, agents: Sequence[str], joint_actions: Sequence[tuple[int, ...]]
    ) -> list[tuple[str, int, tuple[int, ...]]]:
        """The joint actions with one trained agent's completion replaced by another one of its group.

        Each is given as the agent, the index of the original joint action, and the new joint action.
        """
        return [
            (
                agent,
                g,
                (
                    *action[:index],
                    (action[index] + step) % len(joint_actions),
                    *action[index + 1 :],
                ),
            )
            for index, agent in enumerate(agents)
            if agent in self.trained
            for g, action in enumerate(joint_actions)
            for step in range(1, self.counterfactuals.get(agent, 0) + 1)
        ]

    def _mean_counterfactual_returns(
        self,
        joint_actions: Sequence[tuple[int, ...]],
        substitutions: Sequence[tuple[str, int, tuple[int, ...]]],
        returns: Sequence[Returns],
    ) -> dict[tuple[str, str], tuple[float, ...]]:
        """By (agent, component): for each joint action, the mean return if this agent's completion is replaced."""
        sums: dict[tuple[str, str], list[float]] = {}
        for (agent, g, _), values in zip(
            substitutions, returns[len(returns) - len(substitutions) :], strict=True
        ):
            for key in values:
                if key[0] == agent:
                    sums.setdefault(key, [0.0] * len(joint_actions))[g] += values[key]
        return {
            key: tuple(s / self.counterfactuals[key[0]] for s in values)
            for key, values in sums.items()
        }

    def _add_groups(
        self,
        agents: Sequence[str],
        completions: Sequence[Sequence[Completion]],
        joint_actions: Sequence[tuple[int, ...]],
        returns: Sequence[Returns],
        infos: Sequence[Mapping[str, Any]],
        path: tuple[int, ...],
        turns: Mapping[str, int],
        reach: float,
        counterfactual_returns: Mapping[tuple[str, str], tuple[float, ...]],
    ) -> None:
        """Add the group of each trained agent at a node. ``returns`` and ``infos``: those of the node's forks."""
        for index, agent in enumerate(agents):
            if agent not in self.trained:
                continue
            # the joint actions that contain each completion
            actions = [
                [j for j, action in enumerate(joint_actions) if action[index] == i]
                for i in range(len(completions[index]))
            ]
            # for components that occur in no substituted action
            zero_returns = (
                (0.0,) * len(joint_actions) if (agent, TOTAL) in counterfactual_returns else ()
            )
            components = {
                name: ComponentReturns(
                    returns=tuple(sum(values[j] for j in js) / len(js) for js in actions),
                    greedy=values[len(joint_actions)] if self.with_greedy else None,
                    counterfactual_returns=counterfactual_returns.get((agent, name), zero_returns),
                )
                for name, values in _returns_by_component(agent, returns).items()
            }
            self.groups.append(
                Group(
                    agent=agent,
                    turn=turns[agent],
                    key=(self.seed, *path, agent),
                    prompt_ids=completions[index][0].prompt_ids,
                    completions=tuple(completions[index]),
                    **field_values(components.pop(TOTAL)),
                    components=components,
                    infos=tuple(infos[js[0]][agent] for js in actions),
                    reach=reach,
                )
            )

    def record_end(
        self, env: AECEnv, totals: Mapping[str, float], turns: Mapping[str, int]
    ) -> None:
        """Record the end of an episode, or its failure."""
        if any(map(isnan, totals.values())):
            self.failures.append(failure_reason(env))
            return
        self.endings.append(
            EpisodeOutcome(
                seed=self.seed,
                success=is_success(env),
                totals=totals,
                decisions=sum(turns.values()),
                outcomes=read_outcomes(env),
            )
        )


def has_failed_completion(
    completions: Sequence[Sequence[Completion]], action: Sequence[int]
) -> bool:
    """Whether the call for one of the completions of a joint action failed."""
    return any(own[i].failure for own, i in zip(completions, action, strict=True))


def _mean_next_returns(returns: Sequence[float], counterfactuals: int) -> tuple[float, ...]:
    """For each attempt the mean return of the ``counterfactuals`` attempts after it, wrapping around to the first."""
    if not counterfactuals:
        return ()
    count = len(returns)
    return tuple(
        sum(returns[(i + step) % count] for step in range(1, counterfactuals + 1)) / counterfactuals
        for i in range(count)
    )


def _add_returns(first: Returns, second: Returns) -> dict[tuple[str, str], float]:
    """The sum of two mappings, key by key."""
    return {k: first.get(k, 0.0) + second.get(k, 0.0) for k in dict.fromkeys([*first, *second])}


def _returns_by_component(agent: str, returns: Sequence[Returns]) -> dict[str, list[float]]:
    """The returns of one agent by component, the total first: a value for each joint action."""
    names = dict.fromkeys(
        [TOTAL, *(name for action_returns in returns for a, name in action_returns if a == agent)]
    )
    return {
        name: [action_returns.get((agent, name), 0.0) for action_returns in returns]
        for name in names
    }

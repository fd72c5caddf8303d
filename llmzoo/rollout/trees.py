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
from llmzoo.records import (
    Batch,
    Completion,
    ComponentReturns,
    EpisodeOutcome,
    Group,
    drop_unknown_returns,
    field_values,
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
    redraws: int | Mapping[str, int] = 0,
) -> Rollout:
    """At each node, sample ``group_size`` completions for every agent that acts there. The
    return of a completion is the mean over the continuations that are played after it.

    ``align`` pairs the g-th completions of all agents (``group_size`` joint actions). ``cross``
    tries all ``group_size**N`` combinations of the same completions and gives each completion the
    mean return of the combinations that contain it. The return of a joint action is its reward +
    gamma x the mean return of the node that it leads to. Each agent's return is discounted once per
    turn of that agent.

    ``expand``: how many children of a node become nodes with ``group_size`` completions of their
    own (None: all, the full tree of MAGRPO, arXiv 2508.04652, whose cost is ``group_size**depth``).
    The others are continued with one completion per turn, which estimates the same mean without
    bias at a cost that grows with the square of the depth. The ``reach`` of a group estimates how likely
    play reaches its node: the parent's reach x the share of joint actions that do not end the episode
    / the number of expanded children. ``with_greedy`` also tries the joint greedy action at each node and records its
    return in the groups. ``redraws`` (with ``align``; a mapping gives the number by agent)
    also tries, for each joint action and agent, as many variants in which this agent's completion is
    replaced by another one of its group, and records their mean return as ``redrawn``. This samples no
    new completions, but each of the ``N * group_size * redraws`` copies is played to the end.

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
        redraws=dict.fromkeys(trained, redraws) if isinstance(redraws, int) else redraws,
        rng=random.Random(f"{seed}/expand"),
    )
    no_rewards, turns = (
        dict.fromkeys(env.possible_agents, 0.0),
        dict.fromkeys(env.possible_agents, 0),
    )
    skip_dead(env)
    if is_over(env):
        tree.end(env, no_rewards, turns)
    else:
        yield [tree.node(env, (), 1.0, no_rewards, turns)]
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
    redraws: Mapping[str, int]
    rng: random.Random
    groups: list[Group] = field(default_factory=list)
    endings: list[EpisodeOutcome] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def node(
        self,
        env: AECEnv,
        path: tuple[int, ...],
        reach: float | None,
        paid_before: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """Continue from a state. Returns each agent's mean return since its last decision, by
        (agent, component): the total, and each reward component.

        ``reach``: the ``reach`` of the groups here. None: one completion per agent, and no groups.
        ``turns``: how often each agent has acted before.
        """
        agents = agents_to_act(env)
        if (count := attempt_count(env, agents)) > 1:
            return (
                yield from self._play_attempts(
                    env, agents[0], count, path, reach, paid_before, turns
                )
            )
        answers, joint, texts = yield from self._sample(env, agents, grouped=reach is not None)
        swaps = self._substituted_actions(agents, joint) if reach is not None else []
        texts += [tuple(answers[s][i].text for s, i in enumerate(action)) for _, _, action in swaps]
        forks = [fork(env) for _ in texts]
        paid = yield [StepRequest(f, t) for f, t in zip(forks, texts, strict=True)]
        actions = [
            *joint,
            *[None] * (len(texts) - len(joint) - len(swaps)),
            *(a for *_, a in swaps),
        ]
        for j, action in enumerate(actions):
            if action is not None and has_failed_completion(answers, action):
                paid[j] = nan_rewards(paid[j])
        infos = [read_infos(f, agents) for f in forks[: len(joint)]]
        component_rewards = [
            rewards_by_component(env.infos, latest_infos(f), p, agents)
            for f, p in zip(forks, paid, strict=True)
        ]
        totals = [{a: paid_before[a] + p.get(a, 0.0) for a in paid_before} for p in paid]
        after = {a: count + (a in agents) for a, count in turns.items()}
        for f, total in zip(forks[: len(joint)], totals, strict=False):
            if is_over(f):
                self.end(f, total, after)
        running = [j for j, f in enumerate(forks) if not is_over(f)]
        candidates = [j for j in running if j < len(joint)]
        expanded = candidates if reach is not None else []
        if self.expand is not None:
            expanded = self.rng.sample(expanded, min(self.expand, len(expanded)))
        child_reach = (reach or 0.0) * len(candidates) / (len(joint) * max(1, len(expanded)))
        children = [
            self.node(
                forks[j], (*path, j), child_reach if j in expanded else None, totals[j], after
            )
            for j in running
        ]
        # free what is no longer needed before waiting for the children: every turn of the episode has a
        # waiting node
        del env, forks, texts, paid, totals, f
        if reach is None:
            del answers, infos
        values = yield children
        following = dict(zip(running, values, strict=True))
        returns = [
            _add_returns(own, following.get(j, {})) for j, own in enumerate(component_rewards)
        ]
        if reach is not None:
            redrawn = self._mean_redrawn_returns(joint, swaps, returns)
            self._add_groups(agents, answers, joint, returns, infos, path, turns, reach, redrawn)
        names = dict.fromkeys(
            key for action_returns in returns[: len(joint)] for key in action_returns
        )
        mean = {
            k: sum(action_returns.get(k, 0.0) for action_returns in returns[: len(joint)])
            / len(joint)
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
        paid_before: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """:meth:`node` if one agent acts ``count`` times in a row. Its group's reach is
        multiplied by ``count``."""
        env_copy = fork(env)
        attempts = yield from sample_attempts(env_copy, agent, count, self.seed)
        totals = {a: paid_before[a] + attempts.total(a) for a in paid_before}
        after = {**turns, agent: turns[agent] + count}
        following: Returns = {}
        if is_over(env_copy):
            self.end(env_copy, totals, after)
        else:
            following = yield from self.node(env_copy, (*path, 0), reach, totals, after)
        grouped = reach is not None and agent in self.trained
        key = (self.seed, *path, agent)
        greedy_rewards: list[Returns] = []
        if grouped and self.with_greedy:
            ((answer,),) = yield [SampleRequest(build_request(env, agent, self.seed), 1, True)]
            greedy_env = fork(env)
            paid = yield StepRequest(greedy_env, (answer.text,))
            greedy_rewards = [rewards_by_component(env.infos, greedy_env.infos, paid, [agent])]
        values: dict[tuple[str, str], float] = {}
        for step in [*attempts.rewards, following]:
            values = _add_returns(values, step)
        components = {}
        for name, amounts in _returns_by_component(
            agent, [*attempts.rewards, following, *greedy_rewards]
        ).items():
            own = amounts[:count]
            later = [self.gamma ** (count - 1 - i) * amounts[count] for i in range(count)]
            returns = [paid + value for paid, value in zip(own, later, strict=True)]
            components[name] = ComponentReturns(
                returns=tuple(returns),
                greedy=amounts[-1] + later[0] if greedy_rewards else None,
                redrawn=_mean_next_returns(returns, min(self.redraws.get(agent, 0), count - 1)),
            )
            discounted = sum(self.gamma**i * paid for i, paid in enumerate(own))
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
        """Returns the completions of each agent; for each joint action, the index of every agent's
        completion in it; and the texts of the joint actions (the last is the greedy one, if
        any)."""
        requests = [build_request(env, agent, self.seed) for agent in agents]
        sizes = [self.group_size if grouped and a in self.trained else 1 for a in agents]
        answers: list[list[Completion]] = yield [
            SampleRequest(request, size) for request, size in zip(requests, sizes, strict=True)
        ]
        if self.mode == "cross":
            joint = list(itertools.product(*map(range, sizes)))
        else:
            joint = [tuple(min(g, size - 1) for size in sizes) for g in range(max(sizes))]
        texts = [tuple(answers[s][i].text for s, i in enumerate(action)) for action in joint]
        if grouped and self.with_greedy:
            best = yield [SampleRequest(request, 1, True) for request in requests]
            texts.append(tuple(completions[0].text for completions in best))
        return answers, joint, texts

    def _substituted_actions(
        self, agents: Sequence[str], joint: Sequence[tuple[int, ...]]
    ) -> list[tuple[str, int, tuple[int, ...]]]:
        """The joint actions with one trained agent's completion replaced by another of its completions:
        the agent, the index of the joint action, and the new joint action."""
        return [
            (agent, g, (*action[:index], (action[index] + step) % len(joint), *action[index + 1 :]))
            for index, agent in enumerate(agents)
            if agent in self.trained
            for g, action in enumerate(joint)
            for step in range(1, self.redraws.get(agent, 0) + 1)
        ]

    def _mean_redrawn_returns(
        self,
        joint: Sequence[tuple[int, ...]],
        swaps: Sequence[tuple[str, int, tuple[int, ...]]],
        returns: Sequence[Returns],
    ) -> dict[tuple[str, str], tuple[float, ...]]:
        """For each agent and component: per joint action, the mean return with another completion of this
        agent."""
        sums: dict[tuple[str, str], list[float]] = {}
        for (agent, g, _), values in zip(swaps, returns[len(returns) - len(swaps) :], strict=True):
            for key in values:
                if key[0] == agent:
                    sums.setdefault(key, [0.0] * len(joint))[g] += values[key]
        return {
            key: tuple(s / self.redraws[key[0]] for s in values) for key, values in sums.items()
        }

    def _add_groups(
        self,
        agents: Sequence[str],
        answers: Sequence[Sequence[Completion]],
        joint: Sequence[tuple[int, ...]],
        returns: Sequence[Returns],
        infos: Sequence[Mapping[str, Any]],
        path: tuple[int, ...],
        turns: Mapping[str, int],
        reach: float,
        redrawn: Mapping[tuple[str, str], tuple[float, ...]],
    ) -> None:
        """Add the group of each trained agent at a node; ``returns`` and ``infos`` belong to
        the node's forks."""
        for index, agent in enumerate(agents):
            if agent not in self.trained:
                continue
            # the joint actions that contain each completion
            actions = [
                [j for j, action in enumerate(joint) if action[index] == i]
                for i in range(len(answers[index]))
            ]
            zero_returns = (0.0,) * len(joint) if (agent, TOTAL) in redrawn else ()
            components = {
                name: ComponentReturns(
                    returns=tuple(sum(values[j] for j in js) / len(js) for js in actions),
                    greedy=values[len(joint)] if self.with_greedy else None,
                    redrawn=redrawn.get((agent, name), zero_returns),
                )
                for name, values in _returns_by_component(agent, returns).items()
            }
            self.groups.append(
                Group(
                    agent=agent,
                    turn=turns[agent],
                    key=(self.seed, *path, agent),
                    prompt_ids=answers[index][0].prompt_ids,
                    completions=tuple(answers[index]),
                    **field_values(components.pop(TOTAL)),
                    components=components,
                    infos=tuple(infos[js[0]][agent] for js in actions),
                    reach=reach,
                )
            )

    def end(self, env: AECEnv, totals: Mapping[str, float], turns: Mapping[str, int]) -> None:
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
            )
        )


def has_failed_completion(answers: Sequence[Sequence[Completion]], action: Sequence[int]) -> bool:
    """Whether the call for one of the completions of a joint action failed."""
    return any(own[i].failure for own, i in zip(answers, action, strict=True))


def _mean_next_returns(returns: Sequence[float], redraws: int) -> tuple[float, ...]:
    """For each attempt the mean return of the ``redraws`` attempts after it, wrapping around to the first."""
    if not redraws:
        return ()
    count = len(returns)
    return tuple(
        sum(returns[(i + step) % count] for step in range(1, redraws + 1)) / redraws
        for i in range(count)
    )


def _add_returns(paid: Returns, following: Returns) -> dict[tuple[str, str], float]:
    """The sum of two mappings, key by key."""
    return {k: paid.get(k, 0.0) + following.get(k, 0.0) for k in dict.fromkeys([*paid, *following])}


def _returns_by_component(agent: str, returns: Sequence[Returns]) -> dict[str, list[float]]:
    """The returns of one agent by component, the total first: a value for each joint action."""
    names = dict.fromkeys(
        [TOTAL, *(name for action_returns in returns for a, name in action_returns if a == agent)]
    )
    return {
        name: [action_returns.get((agent, name), 0.0) for action_returns in returns]
        for name in names
    }

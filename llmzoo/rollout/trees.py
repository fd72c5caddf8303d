"""Tree rollouts: K answers of one prompt, each tried in a copy of the episode.

Both strategies are lines of play (see scheduler.py) that return a :class:`Batch`. Seats whose
answers are not trained (scripted, frozen) answer once and form no group.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.envs.base import TEAM_PART
from llmzoo.policies.base import Policy, Request
from llmzoo.records import Batch, Completion, Ending, Group
from llmzoo.rollout.scheduler import Ask, Rollout, run
from llmzoo.rollout.stepping import Act, deciders, fork, is_over, skip_dead, succeeded


@dataclass(slots=True)
class _Found:
    """What one tree collects as it grows."""

    seed: int
    groups: list[Group] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)

    def batch(self) -> Batch:
        return Batch(groups=tuple(self.groups), endings=tuple(self.endings))


def agent_turn_tree(
    env: AECEnv,
    seed: int,
    *,
    group_size: int,
    trained: Collection[str],
    select: Literal["greedy", "sample", "random"] = "greedy",
    team_weight: float = 1.0,
    continuations: int | None = None,
) -> Rollout:
    """At every agent's turn, ``group_size`` answers to the same observation; one of them goes on.

    Each answer is stepped in a fork and rewarded: ``team_weight`` x its team parts + its local
    parts (an environment without named parts: its plain reward), all that is paid to its agent
    until that agent decides again. Where others decide before that, a copy of the fork is played
    on by them ``continuations`` times, with one answer a turn, and the reward is the mean over
    these. None plays on once, and not at all for agents that the environment declares
    ``judged_at_once`` (see :mod:`llmzoo.rollout.trees`). Answers of continuations form no
    group and are not carried out.

    Then one answer is carried out before the next agent acts: the best one (``greedy``), one drawn
    with probability proportional to exp(reward) (``sample``), or any (``random``). In a
    simultaneous task each seat's answers are tried beside the others' first answers.

    The tree of AT-GRPO (PettingLLMs, arXiv 2510.11062).
    """
    found = _Found(seed)
    rng = random.Random(f"{seed}/select")
    totals = dict.fromkeys(env.possible_agents, 0.0)
    turn = 0
    turns = dict.fromkeys(env.possible_agents, 0)
    success = False
    skip_dead(env)
    while not is_over(env):
        agents = deciders(env)
        answers = yield [
            Ask(request(env, a, seed), group_size if a in trained else 1) for a in agents
        ]
        first = tuple(completions[0].text for completions in answers)
        chosen = list(first)
        env_after = None
        for seat, (agent, completions) in enumerate(zip(agents, answers, strict=True)):
            joint = [(*first[:seat], c.text, *first[seat + 1 :]) for c in completions]
            forks = [fork(env) for _ in joint]
            paid = yield [Act(f, texts) for f, texts in zip(forks, joint, strict=True)]
            times = continuations_of(env, agent, continuations) if agent in trained else 0
            rewards = [p.get(agent, 0.0) for p in paid]
            scores = yield from judged(forks, agent, rewards, seed, times, team_weight)
            pick = _select(scores, select, rng)
            chosen[seat] = completions[pick].text
            if agent in trained:
                infos = [f.infos.get(agent, {}) for f in forks]
                found.groups.append(
                    _group(agent, turns[agent], seed, (turn,), completions, scores, infos)
                )
            if len(agents) == 1:
                env_after, paid_after = forks[pick], paid[pick]
        if env_after is None:
            env_after = fork(env)
            paid_after = yield Act(env_after, tuple(chosen))
        env = env_after
        for agent, reward in paid_after.items():
            totals[agent] += reward
        success = succeeded(env)
        turn += 1
        for agent in agents:
            turns[agent] += 1
    decisions = sum(turns.values())
    found.endings.append(Ending(seed=seed, success=success, totals=totals, decisions=decisions))
    return found.batch()


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
) -> Rollout:
    """At a node, ``group_size`` answers of every seat that chooses there; returns are means over what follows.

    ``align`` pairs the g-th answers of all seats (``group_size`` joint actions); ``cross`` tries all
    ``group_size**N`` combinations of the same answers and gives each answer the mean return over the
    combinations that contain it. The return of a joint action is its reward + gamma x the mean
    return of the node it leads to, discounted once for each turn of the agent's own.

    ``expand``: how many of a node's children become nodes with ``group_size`` answers of their own
    (None: all, the full tree of MAGRPO, arXiv 2508.04652, whose cost is ``group_size**depth``). The
    others are played on with one answer a turn: an unbiased estimate of the same mean, at a cost
    that grows with the square of the depth. Each group's ``reach`` is the share of the joint actions
    that lead to its node, times the children that go on for each one that was expanded.
    ``with_greedy`` also tries the joint greedy answer at
    each node and notes its return in the groups.
    """
    found = _Found(seed)
    rng = random.Random(f"{seed}/expand")
    tree = _JointTree(found, rng, group_size, frozenset(trained), mode, gamma, expand, with_greedy)
    unpaid, turns = dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    skip_dead(env)
    if is_over(env):
        found.endings.append(Ending(seed=seed, success=succeeded(env), totals=unpaid, decisions=0))
    else:
        yield [tree.node(env, (), 1.0, unpaid, turns)]
    return found.batch()


@dataclass(slots=True)
class _JointTree:
    found: _Found
    rng: random.Random
    group_size: int
    trained: frozenset[str]
    mode: Literal["align", "cross"]
    gamma: float
    expand: int | None
    with_greedy: bool

    def node(
        self,
        env: AECEnv,
        path: tuple[int, ...],
        reach: float | None,
        paid_so_far: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """Play on from a state; returns each agent's mean return, as seen from its last decision.

        ``reach``: of the groups here, with ``group_size`` answers each; None: one answer, and no group.
        ``turns``: how often each agent has chosen before.
        """
        agents = deciders(env)
        after = {a: count + (a in agents) for a, count in turns.items()}
        grouped = reach is not None
        group_size = self.group_size if grouped else 1
        requests = [request(env, agent, self.found.seed) for agent in agents]
        counts = [group_size if agent in self.trained else 1 for agent in agents]
        answers: list[list[Completion]] = yield [
            Ask(asked, count) for asked, count in zip(requests, counts, strict=True)
        ]
        joint = self._combinations(counts)
        texts = [tuple(answers[s][i].text for s, i in enumerate(combo)) for combo in joint]
        if grouped and self.with_greedy:
            best = yield [Ask(asked, 1, True) for asked in requests]
            texts.append(tuple(completions[0].text for completions in best))

        forks = [fork(env) for _ in texts]
        paid = yield [Act(f, t) for f, t in zip(forks, texts, strict=True)]
        infos = [f.infos for f in forks]
        running = [j for j, f in enumerate(forks) if not is_over(f)]
        totals = [{a: paid_so_far[a] + p.get(a, 0.0) for a in paid_so_far} for p in paid]
        for j, f in enumerate(forks):
            if j not in running and j < len(joint):
                self.found.endings.append(
                    Ending(
                        seed=self.found.seed,
                        success=succeeded(f),
                        totals=totals[j],
                        decisions=sum(after.values()),
                    )
                )
        candidates = [j for j in running if j < len(joint)]
        wide = candidates if grouped else []
        if self.expand is not None:
            wide = self.rng.sample(wide, min(self.expand, len(wide)))
        child_reach = (reach or 0.0) * len(candidates) / (len(joint) * max(1, len(wide)))
        values = yield [
            self.node(
                forks[j],
                (*path, j),
                child_reach if j in wide else None,
                totals[j],
                after,
            )
            for j in running
        ]
        following = dict(zip(running, values, strict=True))
        returns = [
            {a: p.get(a, 0.0) + following.get(j, {}).get(a, 0.0) for a in paid_so_far}
            for j, p in enumerate(paid)
        ]
        if reach is not None:
            self._note_groups(agents, answers, joint, returns, path, turns, infos, reach)
        mean = {a: sum(returns[j][a] for j in range(len(joint))) / len(joint) for a in paid_so_far}
        return {a: self.gamma * v if a in agents else v for a, v in mean.items()}

    def _combinations(self, counts: Sequence[int]) -> list[tuple[int, ...]]:
        """For each joint action the number of every seat's answer in it."""
        if self.mode == "cross":
            return list(itertools.product(*(range(count) for count in counts)))
        return [tuple(min(g, c - 1) for c in counts) for g in range(max(counts))]

    def _note_groups(
        self,
        agents: Sequence[str],
        answers: Sequence[Sequence[Completion]],
        joint: Sequence[tuple[int, ...]],
        returns: Sequence[Mapping[str, float]],
        path: tuple[int, ...],
        turns: Mapping[str, int],
        infos: Sequence[Mapping[str, Any]],
        reach: float,
    ) -> None:
        for seat, agent in enumerate(agents):
            if agent not in self.trained:
                continue
            means = []
            for i in range(len(answers[seat])):
                having = [returns[j][agent] for j, combo in enumerate(joint) if combo[seat] == i]
                means.append(sum(having) / len(having))
            greedy = returns[len(joint)][agent] if self.with_greedy else None
            # in a cross each answer is tried several times; the first one is noted
            tried = [
                next(j for j, c in enumerate(joint) if c[seat] == i) for i in range(len(means))
            ]
            noted = [infos[j].get(agent, {}) for j in tried]
            group = _group(
                agent, turns[agent], self.found.seed, path, answers[seat], means, noted, greedy
            )
            self.found.groups.append(replace(group, reach=reach))


def _group(
    agent: str,
    turn: int,
    seed: int,
    path: tuple[Any, ...],
    completions: Sequence[Completion],
    returns: Sequence[float],
    infos: Sequence[Mapping[str, Any]],
    greedy: float | None = None,
) -> Group:
    return Group(
        agent=agent,
        turn=turn,
        key=(seed, *path, agent),
        prompt_ids=completions[0].prompt_ids,
        completions=tuple(completions),
        returns=tuple(returns),
        greedy=greedy,
        infos=tuple(infos),
    )


def _select(scores: Sequence[float], select: str, rng: random.Random) -> int:
    if select == "greedy":
        return max(range(len(scores)), key=lambda i: scores[i])
    if select == "random":
        return rng.randrange(len(scores))
    if select == "sample":
        top = max(scores)
        return rng.choices(range(len(scores)), [math.exp(s - top) for s in scores])[0]
    raise ValueError(f"select must be 'greedy', 'sample' or 'random', got {select!r}")


def request(env: AECEnv, agent: str, seed: int) -> Request:
    """What a policy is asked for ``agent``, where the episode stands."""
    return Request(agent=agent, observation=env.observe(agent) or "", env=env, seed=seed)


def continuations_of(env: AECEnv, agent: str, continuations: int | None) -> int:
    """How often others play on after each answer of ``agent``.

    ``continuations``: as asked for; None stands for one, or none where ``env`` declares the agent
    ``judged_at_once``. It is 0 where no other agent's step ever pays this one.
    """
    paid_by_others = env.metadata.get("paid_by_others")
    if paid_by_others is not None and agent not in paid_by_others:
        return 0
    if continuations is None:
        return 0 if agent in (env.metadata.get("judged_at_once") or ()) else 1
    return continuations


def judged(
    forks: Sequence[AECEnv],
    agent: str,
    rewards: Sequence[float],
    seed: int,
    continuations: int,
    team_weight: float,
) -> Rollout:
    """A part of a line of play: what each of several answers of ``agent`` is worth.

    ``forks`` [K]: the episode after each answer, left as they are; ``rewards`` [K]: what its step
    paid. Returns [K]: all that is paid until ``agent`` decides again, the team parts weighted by
    ``team_weight``; the mean over ``continuations`` where others decide before that.
    """
    worth = [weighted(f, agent, r, team_weight) for f, r in zip(forks, rewards, strict=True)]
    waiting = [i for i, f in enumerate(forks) if continuations and _waits(f, agent)]
    if waiting:
        copies = [(i, fork(forks[i])) for i in waiting for _ in range(continuations)]
        later = yield [_play_until_turn(copy, agent, seed) for _, copy in copies]
        for i in waiting:
            worth[i] = fmean(
                weighted(copy, agent, rewards[i] + paid, team_weight)
                for (of, copy), paid in zip(copies, later, strict=True)
                if of == i
            )
    return worth


def weighted(env: AECEnv, agent: str, reward: float, team_weight: float) -> float:
    """``reward``, all that ``agent`` was paid since its last answer, with its team parts weighted."""
    parts = env.infos.get(agent, {}).get("reward_parts", {})
    names = env.metadata.get("team_parts", (TEAM_PART,))
    return reward + (team_weight - 1.0) * sum(parts.get(name, 0.0) for name in names)


def _waits(env: AECEnv, agent: str) -> bool:
    """Whether other agents decide before ``agent`` does, while it is still in the episode."""
    if is_over(env) or agent not in env.agents:
        return False
    if env.terminations[agent] or env.truncations[agent]:
        return False
    return agent not in deciders(env)


def _play_until_turn(env: AECEnv, agent: str, seed: int) -> Rollout:
    """Others answer once each time, until ``agent`` decides again; returns what it was paid."""
    paid = 0.0
    while _waits(env, agent):
        answers = yield [Ask(request(env, other, seed)) for other in deciders(env)]
        step = yield Act(env, tuple(completion.text for (completion,) in answers))
        paid += step.get(agent, 0.0)
    return paid


def negligible(value: float, returns: Sequence[float]) -> bool:
    """Whether ``value`` is no more than rounding leaves beside returns of this size."""
    return abs(value) <= 1e-6 * max(1.0, *map(abs, returns))


def differs(group: Group) -> bool:
    """Whether the returns of a group differ by more than rounding."""
    return not negligible(max(group.returns) - min(group.returns), group.returns)


def group_counts(
    env_fn: Callable[[], AECEnv],
    policy: Policy,
    tree: Callable[..., Rollout],
    seed: int,
    *,
    group_size: int = 4,
    **options: Any,
) -> Mapping[str, tuple[int, int]]:
    """How many groups of each agent differ in one episode's tree, and how many it has.

    ``policy`` plays all seats, each as if it learned; ``tree`` is :func:`agent_turn_tree` or
    :func:`joint_tree`, ``options`` are its own.
    """
    env = env_fn()
    env.reset(seed=seed)
    agents = env.possible_agents
    line = tree(env, seed, group_size=group_size, trained=agents, **options)
    (batch,) = run([line], dict.fromkeys(agents, policy))
    groups = {agent: [g for g in batch.groups if g.agent == agent] for agent in agents}
    return {agent: (sum(map(differs, mine)), len(mine)) for agent, mine in groups.items()}

"""Tree rollouts: a group of answers to one prompt, each tried in a copy of the episode.

Both trees are rollouts (see :mod:`llmzoo.rollout.scheduler`) that return a :class:`Batch`. Seats
that are not trained (scripted, frozen) answer once and form no group.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.envs.base import TEAM_PART
from llmzoo.policies.base import Policy, Request
from llmzoo.records import Batch, Completion, Ending, Group
from llmzoo.rollout.scheduler import Ask, Rollout, run
from llmzoo.rollout.stepping import Act, deciders, fork, is_over, skip_dead, succeeded


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
    """At a node, ``group_size`` answers of every seat that chooses there; returns are means over
    what follows.

    ``align`` pairs the g-th answers of all seats (``group_size`` joint actions). ``cross`` tries all
    ``group_size**N`` combinations of the same answers and gives each answer the mean return over
    the combinations that contain it. The return of a joint action is its reward + gamma x the mean
    return of the node that it leads to, discounted once for each turn of the agent's own.

    ``expand``: how many children of a node become nodes with ``group_size`` answers of their own
    (None: all, the full tree of MAGRPO, arXiv 2508.04652, whose cost is ``group_size**depth``). The
    others are played on with one answer a turn, which estimates the same mean without bias at a
    cost that grows with the square of the depth. The ``reach`` of a group is the share of joint
    actions that lead to its node, times the number of children that go on for each expanded one.
    ``with_greedy`` also tries the joint greedy answer at each node and notes its return in the
    groups.
    """
    tree = _JointTree(
        seed=seed,
        group_size=group_size,
        trained=trained,
        mode=mode,
        gamma=gamma,
        expand=expand,
        with_greedy=with_greedy,
        rng=random.Random(f"{seed}/expand"),
    )
    unpaid, turns = dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    skip_dead(env)
    if is_over(env):
        tree.end(env, unpaid, turns)
    else:
        yield [tree.node(env, (), 1.0, unpaid, turns)]
    return Batch(groups=tuple(tree.groups), endings=tuple(tree.endings))


@dataclass(slots=True, kw_only=True)
class _JointTree:
    """The options of a joint tree, and what it has collected so far."""

    seed: int
    group_size: int
    trained: Collection[str]
    mode: Literal["align", "cross"]
    gamma: float
    expand: int | None
    with_greedy: bool
    rng: random.Random
    groups: list[Group] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)

    def node(
        self,
        env: AECEnv,
        path: tuple[int, ...],
        reach: float | None,
        paid_before: Mapping[str, float],
        turns: Mapping[str, int],
    ) -> Rollout:
        """Play on from a state; returns each agent's mean return, as seen from its last decision.

        ``reach``: of the groups here. None: one answer of each seat, and no groups. ``turns``: how
        often each agent has chosen before.
        """
        agents = deciders(env)
        answers, joint, texts = yield from self._sample(env, agents, grouped=reach is not None)
        forks = [fork(env) for _ in texts]
        paid = yield [Act(f, t) for f, t in zip(forks, texts, strict=True)]
        infos = [f.infos for f in forks]
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
        values = yield [
            self.node(
                forks[j], (*path, j), child_reach if j in expanded else None, totals[j], after
            )
            for j in running
        ]
        following = dict(zip(running, values, strict=True))
        returns = [
            {a: p.get(a, 0.0) + following.get(j, {}).get(a, 0.0) for a in paid_before}
            for j, p in enumerate(paid)
        ]
        if reach is not None:
            self._note_groups(agents, answers, joint, returns, infos, path, turns, reach)
        mean = {a: sum(returns[j][a] for j in range(len(joint))) / len(joint) for a in paid_before}
        return {a: self.gamma * v if a in agents else v for a, v in mean.items()}

    def _sample(self, env: AECEnv, agents: Sequence[str], *, grouped: bool) -> Rollout:
        """Returns the answers of each agent, for each joint action the number of every agent's
        answer in it, and the texts of the joint actions (the greedy one is the last, if any)."""
        requests = [request(env, agent, self.seed) for agent in agents]
        sizes = [self.group_size if grouped and a in self.trained else 1 for a in agents]
        answers: list[list[Completion]] = yield [
            Ask(asked, size) for asked, size in zip(requests, sizes, strict=True)
        ]
        if self.mode == "cross":
            joint = list(itertools.product(*map(range, sizes)))
        else:
            joint = [tuple(min(g, size - 1) for size in sizes) for g in range(max(sizes))]
        texts = [tuple(answers[s][i].text for s, i in enumerate(action)) for action in joint]
        if grouped and self.with_greedy:
            best = yield [Ask(asked, 1, True) for asked in requests]
            texts.append(tuple(completions[0].text for completions in best))
        return answers, joint, texts

    def _note_groups(
        self,
        agents: Sequence[str],
        answers: Sequence[Sequence[Completion]],
        joint: Sequence[tuple[int, ...]],
        returns: Sequence[Mapping[str, float]],
        infos: Sequence[Mapping[str, Any]],
        path: tuple[int, ...],
        turns: Mapping[str, int],
        reach: float,
    ) -> None:
        """Add the group of each trained agent at a node; ``returns`` and ``infos``: of its forks."""
        for seat, agent in enumerate(agents):
            if agent not in self.trained:
                continue
            # the joint actions that contain each answer
            actions = [
                [j for j, action in enumerate(joint) if action[seat] == i]
                for i in range(len(answers[seat]))
            ]
            self.groups.append(
                Group(
                    agent=agent,
                    turn=turns[agent],
                    key=(self.seed, *path, agent),
                    prompt_ids=answers[seat][0].prompt_ids,
                    completions=tuple(answers[seat]),
                    returns=tuple(sum(returns[j][agent] for j in js) / len(js) for js in actions),
                    greedy=returns[len(joint)][agent] if self.with_greedy else None,
                    infos=tuple(infos[js[0]].get(agent, {}) for js in actions),
                    reach=reach,
                )
            )

    def end(self, env: AECEnv, totals: Mapping[str, float], turns: Mapping[str, int]) -> None:
        """Note the end of an episode."""
        self.endings.append(
            Ending(
                seed=self.seed,
                success=succeeded(env),
                totals=totals,
                decisions=sum(turns.values()),
            )
        )


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
    parts (the plain reward of an environment without named parts), summed over everything that its
    agent is paid until that agent decides again. Where others decide before that, they play on in a
    copy of the fork ``continuations`` times, with one answer a turn, and the reward is the mean over
    these copies. None plays on once, and not at all for agents that the environment declares
    ``judged_at_once``. Answers of continuations form no group and are not carried out.

    Then one answer is carried out before the next agent acts: the best one (``greedy``), one drawn
    with probability proportional to exp(reward) (``sample``), or any (``random``). In a
    simultaneous task each seat's answers are tried beside the others' first answers.

    An environment's ``metadata`` may say where continuations can be left out:

    * ``paid_by_others``: the agents that are ever paid at another agent's step; None if unknown.
    * ``judged_at_once``: the agents whose own step already pays what their answer is worth, by a
      measure of its own, although they are paid at other agents' steps too.

    The tree of AT-GRPO (PettingLLMs, arXiv 2510.11062).
    """
    groups: list[Group] = []
    rng = random.Random(f"{seed}/select")
    totals, turns = dict.fromkeys(env.possible_agents, 0.0), dict.fromkeys(env.possible_agents, 0)
    success = False
    skip_dead(env)
    for step in itertools.count():
        if is_over(env):
            break
        agents = deciders(env)
        answers = yield [
            Ask(request(env, a, seed), group_size if a in trained else 1) for a in agents
        ]
        first = tuple(completions[0].text for completions in answers)
        chosen = list(first)
        following = None
        for seat, (agent, completions) in enumerate(zip(agents, answers, strict=True)):
            joint = [(*first[:seat], c.text, *first[seat + 1 :]) for c in completions]
            forks = [fork(env) for _ in joint]
            paid = yield [Act(f, texts) for f, texts in zip(forks, joint, strict=True)]
            times = _continuations(env, agent, continuations) if agent in trained else 0
            rewards = [p.get(agent, 0.0) for p in paid]
            rewards = yield from _judged(forks, agent, rewards, seed, times, team_weight)
            best = _select(rewards, select, rng)
            chosen[seat] = completions[best].text
            if agent in trained:
                groups.append(
                    Group(
                        agent=agent,
                        turn=turns[agent],
                        key=(seed, step, agent),
                        prompt_ids=completions[0].prompt_ids,
                        completions=tuple(completions),
                        returns=tuple(rewards),
                        infos=tuple(f.infos.get(agent, {}) for f in forks),
                    )
                )
            if len(agents) == 1:
                following, paid_then = forks[best], paid[best]
        if following is None:
            following = fork(env)
            paid_then = yield Act(following, tuple(chosen))
        env = following
        for agent, reward in paid_then.items():
            totals[agent] += reward
        success = succeeded(env)
        for agent in agents:
            turns[agent] += 1
    ending = Ending(seed=seed, success=success, totals=totals, decisions=sum(turns.values()))
    return Batch(groups=tuple(groups), endings=(ending,))


def _select(rewards: Sequence[float], select: str, rng: random.Random) -> int:
    if select == "greedy":
        return max(range(len(rewards)), key=lambda i: rewards[i])
    if select == "random":
        return rng.randrange(len(rewards))
    if select == "sample":
        top = max(rewards)
        return rng.choices(range(len(rewards)), [math.exp(r - top) for r in rewards])[0]
    raise ValueError(f"select must be 'greedy', 'sample' or 'random', got {select!r}")


def request(env: AECEnv, agent: str, seed: int) -> Request:
    """What a policy is asked for ``agent`` in the present state of the episode."""
    return Request(agent=agent, observation=env.observe(agent) or "", env=env, seed=seed)


def _continuations(env: AECEnv, agent: str, continuations: int | None) -> int:
    """How often others play on after each answer of ``agent``; None: see :func:`agent_turn_tree`."""
    paid_by_others = env.metadata.get("paid_by_others")
    if paid_by_others is not None and agent not in paid_by_others:
        return 0
    if continuations is None:
        return 0 if agent in (env.metadata.get("judged_at_once") or ()) else 1
    return continuations


def _judged(
    forks: Sequence[AECEnv],
    agent: str,
    rewards: Sequence[float],
    seed: int,
    continuations: int,
    team_weight: float,
) -> Rollout:
    """A part of a rollout that returns what each of several answers of ``agent`` is worth, [K].

    ``forks`` [K]: the episode after each answer; they are left as they are. ``rewards`` [K]: what
    the step of each answer paid.
    """
    worth = [_weighted(f, agent, r, team_weight) for f, r in zip(forks, rewards, strict=True)]
    waiting = [i for i, f in enumerate(forks) if continuations and _waits(f, agent)]
    if waiting:
        copies = [(i, fork(forks[i])) for i in waiting for _ in range(continuations)]
        later = yield [_play_until_turn(copy, agent, seed) for _, copy in copies]
        for i in waiting:
            worth[i] = fmean(
                _weighted(copy, agent, rewards[i] + paid, team_weight)
                for (of, copy), paid in zip(copies, later, strict=True)
                if of == i
            )
    return worth


def _weighted(env: AECEnv, agent: str, reward: float, team_weight: float) -> float:
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
    """Whether ``value`` is no more than rounding beside returns of this size."""
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
    """For each agent, the number of groups whose returns differ in one episode's tree, and of all.

    ``policy`` plays all seats, each as if it were trained. ``tree`` is :func:`agent_turn_tree` or
    :func:`joint_tree`; ``options`` are passed to it.
    """
    env = env_fn()
    env.reset(seed=seed)
    agents = env.possible_agents
    rollout = tree(env, seed, group_size=group_size, trained=agents, **options)
    (batch,) = run([rollout], dict.fromkeys(agents, policy))
    groups = {agent: [g for g in batch.groups if g.agent == agent] for agent in agents}
    return {agent: (sum(map(differs, mine)), len(mine)) for agent, mine in groups.items()}

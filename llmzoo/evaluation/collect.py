"""Plays the tasks of a split, for evaluations and for collecting trajectories."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.distributed import ranks
from llmzoo.envs.base import TextEnv
from llmzoo.errors import SAMPLE_RULE, ConfigError, EndpointError
from llmzoo.evaluation.episode_folder import EpisodeFolder, SampleKey
from llmzoo.names import check_names
from llmzoo.policies import ScriptedPolicy
from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.records import Batch, Episode, wire
from llmzoo.rollout.episodes import play_episodes
from llmzoo.runs.named_policies import load_policy_for_agents

DEFAULT_CONCURRENCY = 256  # episodes in lockstep, on each rank

PolicyLike = str | Path | Policy | Callable[[str, str], str]
PoliciesLike = PolicyLike | Mapping[str, PolicyLike]


def collect(
    env: str | Callable[[], AECEnv],
    policy: PoliciesLike,
    *,
    tasks: int | Literal["all"] = 200,
    repeats: int = 1,
    split: str = "train",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    on_episode_end: Callable[[Episode], object] | None = None,
) -> list[Episode]:
    """Play each of the first ``tasks`` tasks of a split ``repeats`` times; return the episodes in order.

    ``env``: an id, or a function that makes an AEC environment. If the function has a parameter
    ``split``, it is called with the split, and task i is the episode of seed ``seed + i``. ``policy``: a
    name or a run folder as in ``llmzoo eval --policy``
    (:func:`llmzoo.runs.named_policies.load_policy_for_agents`), a policy, a function ``(observation, agent)
    -> action``, or a mapping from each agent to one of these. ``tasks``: ``"all"`` plays the
    whole split; so does any number above its size. Models sample new completions in each repetition;
    scripted policies depend only on the seed, so their repetitions are identical. ``concurrency``: episodes played at
    once. ``on_episode_end`` is called with each episode as it ends. The ranks of a run divide the tasks, and
    all of them return all episodes. Raises :class:`ConfigError` for any other kind of environment or
    policy, and :class:`EndpointError` if every call to an agent's endpoint fails.
    """
    options: dict[str, Any] = {"tasks": tasks, "repeats": repeats, "split": split, "seed": seed}
    options |= {"greedy": greedy, "env_args": env_args}
    options |= {"concurrency": concurrency, "on_episode_end": on_episode_end}
    return [episode for chunk in collect_chunks(env, policy, **options) for episode in chunk]


def collect_chunks(
    env: str | Callable[[], AECEnv],
    policy: PoliciesLike,
    *,
    tasks: int | Literal["all"],
    repeats: int = 1,
    split: str = "train",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
    concurrency: int = DEFAULT_CONCURRENCY,
    on_episode_end: Callable[[Episode], object] | None = None,
    saved: EpisodeFolder | None = None,
) -> Iterator[list[Episode]]:
    """The episodes of :func:`collect` in chunks, each as soon as it has been played.

    ``saved``: a folder with the episodes of an earlier call. The episodes of this call are added to it.
    """
    if tasks != "all":
        _check_at_least_one("tasks", tasks, " or 'all'")
    _check_at_least_one("repeats", repeats)
    _check_at_least_one("concurrency", concurrency)
    with ranks.process_group():
        policies, _ = resolve_policy(policy, env, seed=seed, split=split, env_args=env_args)
        env_fn, env_id = _env_factory(env, policies, split, env_args or {})
        numbered = isinstance(env, str)  # the environments of a function have no task numbers
        first = env_fn()
        refuse_fallback(first, env_id)
        numbers = range(count_tasks(first, env_id, tasks, seed, numbered=numbered))
        tasks_per_chunk = max(1, concurrency // repeats) * ranks.world_size()
        failures: dict[str, set[str]] = {}  # by agent; "" stands for a successful call
        for start in range(0, len(numbers), tasks_per_chunk):
            chunk_tasks = numbers[start : start + tasks_per_chunk]
            own_keys = [
                (chunk_tasks[i], n)
                for i in ranks.shard_range(len(chunk_tasks))
                for n in range(repeats)
            ]
            episodes_by_key = {} if saved is None else saved.load_chunk(own_keys)
            missing = [key for key in own_keys if key not in episodes_by_key]

            def save_and_report(
                number: int, episode: Episode, missing: list[SampleKey] = missing
            ) -> None:
                if saved is not None:
                    saved.add(missing[number], episode, task_label(episode, missing[number][0]))
                if on_episode_end is not None:
                    on_episode_end(episode)

            for episode in episodes_by_key.values():
                if on_episode_end is not None:
                    on_episode_end(episode)
            with _gather_models(policies):
                played = play_episodes(
                    env_fn,
                    policies,
                    [seed + task for task, _ in missing],
                    tasks=[task for task, _ in missing] if numbered else None,
                    greedy=greedy,
                    env_id=env_id,
                    on_episode_end=save_and_report,
                )
            episodes_by_key |= zip(missing, played, strict=True)
            own_episodes = [episodes_by_key[key] for key in own_keys]
            chunk_episodes = (
                own_episodes if ranks.world_size() == 1 else _gather_episodes(own_episodes)
            )
            for decision in (d for episode in chunk_episodes for d in episode.decisions):
                failures.setdefault(decision.agent, set()).add(decision.completion.failure)
            if start + tasks_per_chunk >= len(numbers):
                _check_endpoints(failures, policies)
            yield chunk_episodes


def resolve_policy(
    policy: Any,
    env: str | Callable[[], AECEnv],
    *,
    seed: int = 0,
    split: str = "train",
    env_args: Mapping[str, Any] | None = None,
) -> tuple[Policy | Mapping[str, Policy], str]:
    """The policy, or the policy of each agent of ``env``, and its name in evaluations.

    Raises :class:`ConfigError` for a policy of another kind.
    """
    is_mapping = isinstance(policy, Mapping)
    by_agent: Mapping[str, Any] = policy if is_mapping else {"all": policy}
    # by policy name: agents with the same policy name share a policy
    loaded: dict[str, tuple[Mapping[str, Policy], str]] = {}
    for name in dict.fromkeys(str(p) for p in by_agent.values() if isinstance(p, str | Path)):
        agents = make_env(env, {**(env_args or {}), "split": split}).possible_agents
        if is_mapping:
            check_names("agent", by_agent, agents)
        policies = load_policy_for_agents(name, agents, seed=seed)
        loaded[name] = policies, name
    if not is_mapping:
        return loaded[str(policy)] if loaded else _as_policy(policy)
    agent_policies, names = {}, []
    for agent, own_policy in by_agent.items():
        if isinstance(own_policy, str | Path):
            shared, name = loaded[str(own_policy)]
            agent_policies[agent] = shared[agent]
        else:
            agent_policies[agent], name = _as_policy(own_policy)
        names.append(f"{agent}: {name}")
    return agent_policies, ", ".join(names)


def _as_policy(policy: Any) -> tuple[Policy, str]:
    """A policy and its name; functions are wrapped as policies. Raises :class:`ConfigError` for anything else."""
    if isinstance(policy, Policy):
        return policy, policy.name
    if not callable(policy):
        raise ConfigError(
            "a policy must be a name, a path, a function (observation, agent) -> action, an object with name, "
            f"prompt_style and respond, or a mapping from each agent to one of these, got {policy!r:.80}"
        )

    def answer(request: PolicyRequest) -> str:
        return policy(request.observation, request.agent)

    name = str(policy.__name__) if hasattr(policy, "__name__") else type(policy).__name__
    return ScriptedPolicy(answer, name), name


def make_env(env: str | Callable[[], AECEnv], args: Mapping[str, Any]) -> AECEnv:
    """The environment with this id and these arguments, or the one that a function makes.

    Raises :class:`ConfigError` for any other ``env``.
    """
    built: object = env
    if isinstance(env, str):
        built = registry.make(env, **args)
    elif callable(env):
        built = env()
    if built is env or not isinstance(built, AECEnv):
        raise ConfigError(
            "an environment must be an id or a function that makes an AEC environment, got "
            f"{type(built).__name__}"
        )
    return built


def refuse_fallback(env: AECEnv, env_id: str) -> None:
    """Raise ``ConfigError`` if an environment uses its sample instead of its public data set."""
    game = env.unwrapped
    if isinstance(game, TextEnv) and game.fallback:
        raise ConfigError(
            f"{env_id}: its public data set cannot be reached: {SAMPLE_RULE}; pass source='hub' to see why"
        )


def prompt_style_args(env_id: str, policies: Iterable[Policy]) -> dict[str, Any]:
    """The environment's arguments for models that read terse prompts."""
    if any(policy.prompt_style == "terse" for policy in policies):
        return registry.spec(env_id).terse
    return {}


def as_policy_mapping(policies: Policy | Mapping[str, Policy]) -> Mapping[str, Policy]:
    """The policies by agent; a single policy for all agents gets the key "all"."""
    return policies if isinstance(policies, Mapping) else {"all": policies}


def with_style_args(
    env_id: str, policies: Policy | Mapping[str, Policy], env_args: Mapping[str, Any]
) -> dict[str, Any]:
    """The given arguments, plus those for models that read terse prompts."""
    return {**prompt_style_args(env_id, as_policy_mapping(policies).values()), **env_args}


def task_label(episode: Episode, number: int) -> str:
    """The id of the played task, or its number if it has no id."""
    return str(episode.info.get("task_name", episode.info.get("task_id", number)))


def has_no_solution(episode: Episode, scripted: Collection[str]) -> bool:
    """Whether a scripted policy did not act because it knows no solution.

    ``scripted``: the agents that such policies play (:func:`scripted_agents`).
    """
    return any(d.completion.refused and d.agent in scripted for d in episode.decisions)


def scripted_agents(
    policies: Policy | Mapping[str, Policy], agents: Iterable[str]
) -> frozenset[str]:
    """The agents that scripted policies play."""
    by_agent = policies if isinstance(policies, Mapping) else dict.fromkeys(agents, policies)
    return frozenset(a for a, policy in by_agent.items() if isinstance(policy, ScriptedPolicy))


def _check_endpoints(
    failures: Mapping[str, Collection[str]], policies: Policy | Mapping[str, Policy]
) -> None:
    """Raise :class:`EndpointError` if all calls for an agent have failed."""
    dead = [agent for agent, reasons in failures.items() if "" not in reasons]
    if dead:
        policy = policies[dead[0]] if isinstance(policies, Mapping) else policies
        raise EndpointError(
            f"{policy.name} does not answer: every call for {', '.join(dead)} failed "
            f"({min(failures[dead[0]])}). Check that a server is running at the address in its name"
        )


def _env_factory(
    env: str | Callable[[], AECEnv],
    policies: Policy | Mapping[str, Policy],
    split: str,
    env_args: Mapping[str, Any],
) -> tuple[Callable[[], AECEnv], str]:
    """The factory of the environment, and its id."""
    if not isinstance(env, str):
        make = _with_split(env, split) if callable(env) else env
        return make, str(make_env(make, {}))
    return partial(registry.make, env, **with_style_args(env, policies, env_args), split=split), env


def _with_split(make: Callable[..., AECEnv], split: str) -> Callable[[], AECEnv]:
    """The function with ``split`` passed to it, if it takes ``split`` and is not a partial that sets it."""
    if isinstance(make, partial) and "split" in make.keywords:
        return make
    return partial(make, split=split) if "split" in inspect.signature(make).parameters else make


def _check_at_least_one(name: str, value: object, alternative: str = "") -> None:
    if not isinstance(value, int) or value < 1:
        raise ConfigError(f"{name} must be at least 1{alternative}, got {value!r}")


def count_tasks(
    env: AECEnv, env_id: str, tasks: int | Literal["all"], seed: int, *, numbered: bool
) -> int:
    """The number of tasks to play: as requested, or fewer if the source has fewer."""
    if isinstance(tasks, int) and not numbered:
        return tasks
    try:
        last_task = {"task": tasks - 1} if isinstance(tasks, int) else None
        env.reset(seed=seed, options=last_task)
    except (
        IndexError
    ):  # the generator ran out of tasks, so infos give their number after this reset
        env.reset(seed=seed)
    count: int | None = next(iter(env.infos.values())).get("tasks")
    if isinstance(tasks, int):
        return tasks if count is None else min(tasks, count)
    if not numbered or count is None:
        why = (
            "has an unlimited number" if numbered else "comes from a function, without task numbers"
        )
        raise ConfigError(
            f"tasks='all' needs a finite number of tasks, but {env_id} {why}: set tasks to a number"
        )
    return count


def _gather_episodes(own: Sequence[Episode]) -> list[Episode]:
    """The episodes of all ranks, in order."""
    batches = map(wire.load, ranks.all_gather_bytes(wire.dump(Batch(episodes=tuple(own)))))
    return [episode for batch in batches for episode in batch.episodes]


def _gather_models(policies: Policy | Mapping[str, Policy]) -> AbstractContextManager[None]:
    """Within this context every rank can run the models independently."""
    if ranks.world_size() == 1:
        return nullcontext()
    from llmzoo.distributed.sharding import gather_weights
    from llmzoo.policies.transformers import TransformersPolicy

    models = [
        p
        for p in as_policy_mapping(policies).values()
        if isinstance(p, TransformersPolicy) and p.sampler is None
    ]
    return gather_weights([policy.model for policy in models])

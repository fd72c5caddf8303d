"""The one evaluation loop, and the interval that goes with every success rate."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from pettingzoo import AECEnv

from llmzoo import ranks, registry, wire
from llmzoo.envs.base import TextEnv
from llmzoo.errors import ConfigError
from llmzoo.policies import ScriptedPolicy, load
from llmzoo.policies.base import Policy, Request
from llmzoo.records import Batch, Episode
from llmzoo.rollout.episodes import episodes

_AT_ONCE = 256  # episodes in lockstep, on each rank


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What an evaluation found. ``success_ci95`` is the Wilson interval of the success rate."""

    env: str
    policy: str
    split: str
    source: str
    decoding: str  # "sampled" or "greedy"
    tasks: int
    seed: int
    success: float
    success_ci95: tuple[float, float]
    mean_return: Mapping[str, float]  # per agent, undiscounted
    mean_turns: float  # decisions of the busiest agent
    tokens: int  # sampled
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "success_ci95": list(self.success_ci95)}


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's score interval of a proportion (E. B. Wilson, 1927); z=1.96 for 95%."""
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def evaluate(
    env: str | Callable[[], AECEnv],
    policy: str | Policy | Mapping[str, Policy] | Callable[[str, str], str],
    *,
    tasks: int = 200,
    split: str = "test",
    seed: int = 0,
    greedy: bool = False,
    env_args: Mapping[str, Any] | None = None,
) -> Evaluation:
    """Play each of the first ``tasks`` tasks of a split once.

    ``env``: an id, or a function that makes an AEC environment (then ``split`` only labels the
    result, and episode i is the one of seed ``seed + i``). ``policy``: a name for
    ``llmzoo.policies.load``, a policy, a policy for each seat, or a function
    ``(observation, agent) -> answer``. A source with fewer tasks is played to its end. The ranks of
    a run divide the tasks, and all of them return the same.
    """
    if tasks < 1:
        raise ConfigError(f"tasks must be at least 1, got {tasks}")
    with ranks.joined():
        return _evaluate(env, policy, tasks, split, seed, greedy, env_args or {})


def _evaluate(
    env: str | Callable[[], AECEnv],
    policy: Any,
    tasks: int,
    split: str,
    seed: int,
    greedy: bool,
    env_args: Mapping[str, Any],
) -> Evaluation:
    numbered = isinstance(env, str)
    player, name = _player(policy)
    if isinstance(env, str):
        players = player.values() if isinstance(player, Mapping) else [player]
        arguments = {**style_args(env, players), **env_args, "split": split}
        env_fn: Callable[[], AECEnv] = partial(registry.make, env, **arguments)
    else:
        env_fn = env
    first = env_fn()
    env_id = env if isinstance(env, str) else str(first)
    refuse_fallback(first, env_id)
    played: list[Episode] = []
    numbers = list(range(tasks))
    if numbered:
        first.reset(seed=seed)
        count = next(iter(first.infos.values())).get("tasks")
        numbers = numbers[: count or tasks]
    started = time.monotonic()
    at_once = _AT_ONCE * ranks.world()
    for start in range(0, len(numbers), at_once):
        chunk = numbers[start : start + at_once]
        mine = [chunk[i] for i in ranks.share(len(chunk))]
        with _whole(player):
            own = episodes(
                env_fn,
                player,
                [seed + i for i in mine],
                tasks=mine if numbered else None,
                greedy=greedy,
                env_id=env_id,
            )
        played += own if ranks.world() == 1 else _of_all(own)
    seconds = time.monotonic() - started
    successes = sum(e.success for e in played)
    agents = list(played[0].totals)
    return Evaluation(
        env=env_id,
        policy=name,
        split=split,
        source=str(played[0].info.get("source", "environment")),
        decoding="greedy" if greedy else "sampled",
        tasks=len(played),
        seed=seed,
        success=successes / len(played),
        success_ci95=wilson(successes, len(played)),
        mean_return={a: sum(e.totals[a] for e in played) / len(played) for a in agents},
        mean_turns=sum(max(len(e.of(a)) for a in e.agents) for e in played) / len(played),
        tokens=sum(len(d.completion.ids) for e in played for d in e.decisions),
        seconds=seconds,
    )


def _of_all(own: Sequence[Episode]) -> list[Episode]:
    """The episodes of all ranks, in their order."""
    parts = map(wire.load, ranks.gather(wire.dump(Batch(episodes=tuple(own)))))
    return [episode for part in parts for episode in part.episodes]


def _whole(player: Policy | Mapping[str, Policy]) -> AbstractContextManager[None]:
    """Within this context every rank can run the models by itself."""
    if ranks.world() == 1:
        return nullcontext()
    from llmzoo.policies.sharding import gathered
    from llmzoo.policies.transformers import TransformersPolicy

    players = player.values() if isinstance(player, Mapping) else [player]
    models = [p for p in players if isinstance(p, TransformersPolicy) and p.sampler is None]
    return gathered([policy.model for policy in models])


def refuse_fallback(env: AECEnv, env_id: str) -> None:
    """Raise ``ConfigError`` for an environment that plays a sample in place of a public set."""
    game = env.unwrapped
    if isinstance(game, TextEnv) and game.fallback:
        raise ConfigError(
            f"{env_id}: its public set cannot be reached, and numbers of the shipped sample would "
            'pass for numbers of that set. Say source="sample" (--source sample) to measure on '
            "the sample, or give the path of a file"
        )


def style_args(env_id: str, players: Iterable[Policy]) -> dict[str, Any]:
    """The arguments of an environment that suit models made for terse prompts."""
    if any(player.prompt_style == "terse" for player in players):
        return registry.spec(env_id).terse
    return {}


def _player(policy: Any) -> tuple[Policy | Mapping[str, Policy], str]:
    if isinstance(policy, str):
        return load(policy), policy
    if isinstance(policy, Mapping):
        return policy, ", ".join(f"{agent}: {p.name}" for agent, p in policy.items())
    if isinstance(policy, ScriptedPolicy) or not callable(policy):
        return policy, policy.name

    def answer(request: Request) -> str:
        return policy(request.observation, request.agent)

    name = str(policy.__name__) if hasattr(policy, "__name__") else type(policy).__name__
    return ScriptedPolicy(answer, name), name

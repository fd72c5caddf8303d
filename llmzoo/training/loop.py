"""The one training loop: play, learn, measure, keep.

A run folder holds ``config.json``, ``metrics.jsonl`` (a row an iteration, and rows of evaluations),
TensorBoard files, ``before.json``, ``after.json`` and ``checkpoints/``; the command line adds
``curve.png``.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from pettingzoo import AECEnv

from llmzoo import checkpoints, registry
from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.evaluation import evaluate, refuse_fallback, style_args
from llmzoo.learners import learner_class
from llmzoo.learners.base import GroupLearner
from llmzoo.policies.base import TINY, Policy, answer_limit
from llmzoo.policies.sampling import Sampling
from llmzoo.progress import Progress
from llmzoo.records import Batch
from llmzoo.run_folder import once, prepare
from llmzoo.seating import learning_among, take_seats
from llmzoo.tracking import Tracker


@dataclass(frozen=True, slots=True, kw_only=True)
class FitConfig:
    """Everything that defines a run, but for the learner's own options.

    Args:
        env: id of the environment.
        env_args: arguments of the environment; --env.NAME VALUE gives one.
        learner: name of the learner.
        learner_args: options of the learner; --learner.NAME VALUE gives one.
        model: tiny (the embedded model), a folder with a model, or a hub id.
        seats: shared (one model in all seats), separate (one model each), or the one seat that
            learns.
        others: who plays the seats that do not learn.
        steps: iterations: one batch of play and its updates.
        envs: episodes started in each iteration.
        seed: of all chance in the run.
        temperature: of sampling.
        top_p: nucleus that is sampled from; 1 is all.
        top_k: most likely tokens that are sampled from; 0 is all.
        max_new_tokens: tokens of an answer; null is 64 for the embedded model, otherwise 256.
        eval_tasks: held-out tasks, before and after.
        eval_split: the split that they are from.
        eval_every: iterations between evaluations in the run; 0 is none.
        checkpoint_every: iterations between checkpoints; the last one is always kept.
    """

    env: str = "sudoku_v0"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    learner: str = "at_grpo"
    learner_args: Mapping[str, Any] = field(default_factory=dict)
    model: str = TINY
    seats: Literal["shared", "separate"] | str = "shared"
    others: str = "oracle"
    steps: int = 100
    envs: int = 16
    seed: int = 0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int | None = None
    eval_tasks: int = 200
    eval_split: str = "test"
    eval_every: int = 0
    checkpoint_every: int = 20

    def __post_init__(self) -> None:
        if self.steps < 1 or self.envs < 1 or self.checkpoint_every < 1:
            raise ConfigError("steps, envs and checkpoint_every are at least 1")

    def sampling(self) -> Sampling:
        """How answers are sampled, in play and in evaluation."""
        return Sampling(
            temperature=self.temperature,
            top_p=self.top_p,
            top_k=self.top_k,
            max_new_tokens=self.max_new_tokens or answer_limit(self.model),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """What a run gave; ``before`` and ``after`` are evaluations with their greedy twin inside."""

    run: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    steps: int
    seconds: float
    seats: Mapping[str, Policy] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "before": dict(self.before),
            "after": dict(self.after),
            "steps": self.steps,
            "seconds": round(self.seconds, 2),
        }


def fit(
    learner: str | GroupLearner = "at_grpo",
    env: str | Callable[[], AECEnv] = "sudoku_v0",
    *,
    out: str | Path,
    resume: bool = False,
    policies: Mapping[str, Policy] | None = None,
    quiet: bool = False,
    **settings: Any,
) -> FitResult:
    """Train on an environment and measure before and after.

    ``learner``: a name (its options in ``learner_args``) or an object. ``env``: an id (its
    arguments in ``env_args``), or a function that makes any AEC text environment. ``out``: the run
    folder; a run is continued there with ``resume``, exactly as if it had never stopped, and an
    existing one is refused without it. ``policies``: the policy of every seat, instead of
    ``model`` and ``seats``; those that are ``TransformersPolicy`` learn. Further settings are the
    fields of :class:`FitConfig`.
    """
    named: dict[str, Any] = {
        "learner": learner if isinstance(learner, str) else type(learner).__name__,
        "env": env if isinstance(env, str) else str(env()),
    }
    if not isinstance(learner, str):
        _refuse(settings, ["learner_args"], "a learner given as an object")
        named["learner_args"] = asdict(learner.config)
    if policies is not None:
        _refuse(settings, ["model", "seats", "others"], "policies")
        named["model"] = "given"
    config = make_config(FitConfig, {**settings, **named}, "fit")
    algorithm = _learner(learner, config)
    run = Path(out)
    env_args = {**algorithm.env_defaults, **config.env_args}
    agents = _make(env, env_args).possible_agents
    if policies is None:
        seats, learning = take_seats(
            agents,
            config.seats,
            model=config.model,
            others=config.others,
            sampling=config.sampling(),
        )
    else:
        seats = {agent: policies[agent] for agent in agents}
        learning = learning_among(seats)
    if isinstance(env, str):
        env_args = {**style_args(env, seats.values()), **env_args}
    env_fn = partial(_make, env, env_args)
    refuse_fallback(env_fn(), str(env))
    engine = LocalEngine(algorithm, learning, seats, total_steps=config.steps)
    prepare(run, asdict(config), resume=resume)

    def measure() -> dict[str, Any]:
        for policy in learning.values():
            policy.generator.manual_seed(config.seed)
        measured = partial(
            evaluate,
            env,
            seats,
            tasks=config.eval_tasks,
            split=config.eval_split,
            seed=config.seed,
            env_args=env_args,
        )
        sampled = measured().to_dict()
        best = measured(greedy=True)
        greedy = {"success": best.success, "success_ci95": list(best.success_ci95)}
        name = config.model if policies is None else sampled["policy"]
        return {**sampled, "policy": name, "greedy": greedy}

    started = time.monotonic()
    first = 0
    if resume:
        newest = checkpoints.latest(run / "checkpoints")
        if newest is not None:
            first = checkpoints.load(newest, engine)
    with (
        Tracker(run, first, config.steps) as tracker,
        Progress(config, first, quiet=quiet) as progress,
    ):
        before = once(run / "before.json", measure)
        if first == 0:
            tracker.evaluation(0, before)
        progress.note(f"before: {_say(before)}")
        for step in range(first, config.steps):
            row = _iterate(engine, env_fn, config, step)
            tracker.iteration(step + 1, row)
            progress.advance(row)
            done = step + 1 == config.steps
            if config.eval_every and (step + 1) % config.eval_every == 0 and not done:
                found = measure()
                tracker.evaluation(step + 1, found)
                progress.note(f"after {step + 1}: {_say(found)}")
            # after the evaluation of this step, which a resumed run would not repeat
            if done or (step + 1) % config.checkpoint_every == 0:
                tracker.flush()
                checkpoints.save(run / "checkpoints", engine, step + 1)
        after = measure()
        tracker.evaluation(config.steps, after)
        (run / "after.json").write_text(json.dumps(after, indent=2) + "\n")
        progress.note(f"after: {_say(after)}")
    return FitResult(
        run=str(run),
        before=before,
        after=after,
        steps=config.steps,
        seconds=time.monotonic() - started,
        seats=seats,
    )


def _refuse(settings: Mapping[str, Any], names: Sequence[str], beside: str) -> None:
    for name in names:
        if name in settings:
            raise ConfigError(f"{name} means nothing beside {beside}")


def _learner(learner: str | GroupLearner, config: FitConfig) -> GroupLearner:
    if not isinstance(learner, str):
        return learner
    cls = learner_class(learner)
    return cls(make_config(cls.Config, config.learner_args, f"learner {learner!r}"))


def _make(env: str | Callable[[], AECEnv], env_args: Mapping[str, Any]) -> AECEnv:
    if isinstance(env, str):
        return registry.make(env, **{"split": "train", **env_args})
    return env()


def make_config(cls: type, values: Mapping[str, Any], what: str) -> Any:
    """A configuration dataclass from a mapping; an unknown key is refused with the nearest name."""
    known = [f.name for f in fields(cls)]
    for key in values:
        if key not in known:
            raise UnknownNameError(f"option of {what}", key, known)
    return cls(**values)


def _iterate(
    engine: LocalEngine, env_fn: Callable[[], AECEnv], config: FitConfig, step: int
) -> dict[str, Any]:
    """One iteration. Its chance depends on the run's seed and its number only."""
    rng = random.Random(f"{config.seed}/{step}")
    for policy in engine.policies.values():
        policy.generator.manual_seed(rng.getrandbits(48))
    torch.manual_seed(rng.getrandbits(48))
    seeds = [rng.getrandbits(31) for _ in range(config.envs)]
    sampled_before = sum(p.tokens_sampled for p in engine.policies.values())
    started = time.monotonic()
    batch = engine.collect(env_fn, seeds)
    played = time.monotonic()
    learned = engine.update(batch, seed=step)
    ended = time.monotonic()
    tokens = sum(p.tokens_sampled for p in engine.policies.values()) - sampled_before
    return {
        **_outcomes(batch),
        **learned,
        "tokens": tokens,
        "rollout_seconds": played - started,
        "update_seconds": ended - played,
        "tokens_per_second": tokens / max(1e-9, ended - started),
    }


def _outcomes(batch: Batch) -> dict[str, Any]:
    completions = [c for group in batch.groups for c in group.completions]
    agents = sorted({a for ending in batch.endings for a in ending.totals})
    count = max(1, len(batch.endings))
    return {
        "success": sum(e.success for e in batch.endings) / count,
        "return": {a: sum(e.totals[a] for e in batch.endings) / count for a in agents},
        "groups": len(batch.groups),
        "completions": len(completions),
        "completion_tokens": sum(len(c.ids) for c in completions) / max(1, len(completions)),
        "truncated": sum(c.truncated for c in completions) / max(1, len(completions)),
    }


def _say(found: Mapping[str, Any]) -> str:
    low, high = found["success_ci95"]
    return (
        f"success {found['success']:.1%} [{low:.1%}, {high:.1%}] sampled, "
        f"{found['greedy']['success']:.1%} greedy, on {found['tasks']} {found['split']} tasks"
    )

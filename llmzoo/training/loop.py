"""The one training loop: play, learn, measure, keep.

A run folder holds ``config.json``, ``metrics.jsonl`` (a row an iteration, and rows of evaluations),
``played.jsonl`` (some of what was played), TensorBoard files, ``before.json``, ``after.json`` and
``checkpoints/``; the command line adds ``curve.png``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.engine.base import Engine, Iteration, draws
from llmzoo.engine.setup import distribute
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.learners import learner_class
from llmzoo.learners.base import Learner
from llmzoo.parallel import ranks
from llmzoo.policies.base import Policy, seat_policies
from llmzoo.training import checkpoints, metrics
from llmzoo.training.collecting import refuse_fallback, style_args
from llmzoo.training.config import FitConfig, make_config
from llmzoo.training.engines import check_engine, opened_engine
from llmzoo.training.evaluation import counted, evaluate
from llmzoo.training.flat_seats import FlatSeats
from llmzoo.training.interrupt import patient
from llmzoo.training.progress import Progress
from llmzoo.training.recording import Recorder, Unrecorded
from llmzoo.training.refusals import check_answered
from llmzoo.training.run_folder import claimed, once, prepare
from llmzoo.training.seats import learning_among, sampling_from, take_seats
from llmzoo.training.tracking import Tracker, Untold, check_trackers

# settings of what policies given as objects have been made with already
_OF_SEATS = (
    *("model", "seats", "seat_args", "others", "lora_args", "precision", "gradient_checkpointing"),
    *("temperature", "top_p", "top_k", "max_new_tokens"),
    *("system", "chat_template_args", "thought_end", "trust_remote_code"),
)
# fields of the evaluation of the most likely answers that a run keeps
_OF_GREEDY = ("success", "success_ci95", "solved", "answers", "tokens")


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
    learner: str | Learner = "at_grpo",
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
    folder; a run is continued there with ``resume``, exactly as if it had never stopped (where
    ``steps`` has been raised, a schedule goes on as the longer run's), and an existing one is
    refused without it. ``policies``: the policy of every seat, instead of
    ``model``, ``seats`` and whatever else makes them; those that are ``TransformersPolicy`` learn.
    To resume, give them as they were at the start. Further settings are the fields of
    :class:`FitConfig`.

    Ctrl-C lets the iteration end, keeps a checkpoint of it and raises ``KeyboardInterrupt``; a
    second one raises it at once, and so does one during the evaluations before and after.

    Where ``torchrun`` or ``accelerate launch`` has started several processes they share the run,
    which is the same as one process's; the first of them writes and shows. The run folder is one
    that all of them see.
    """
    with ranks.joined(), ExitStack() as opened:
        quiet = quiet or ranks.rank() > 0
        return _fit(learner, env, Path(out), resume, policies, quiet, settings, opened)


def _fit(
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    run: Path,
    resume: bool,
    policies: Mapping[str, Policy] | None,
    quiet: bool,
    settings: dict[str, Any],
    opened: ExitStack,
) -> FitResult:
    def claim() -> None:
        opened.enter_context(claimed(run, resume=resume))

    if resume:  # before anything is loaded
        ranks.by_first(claim)
    named: dict[str, Any] = {
        "learner": learner if isinstance(learner, str) else type(learner).__name__,
        "env": env if isinstance(env, str) else str(env()),
    }
    if not isinstance(learner, str):
        _refuse(settings, ["learner_args"], "a learner given as an object")
        named["learner_args"] = asdict(learner.config)
    if policies is not None:
        _refuse(settings, _OF_SEATS, "policies")
        named["model"] = "given"
    if not isinstance(env, str):
        _refuse(settings, ["env_args"], "an environment given as a function")
    config = make_config(FitConfig, {**settings, **named}, "fit")
    check_trackers(config.trackers)
    check_engine(config, learner, env, policies)
    algorithm = _learner(learner, config)
    env_args = {**algorithm.env_defaults, **config.env_args}
    agents = _make(env, env_args).possible_agents
    if policies is None:
        seats, learning = take_seats(
            agents,
            config.seats,
            model=config.model,
            others=config.others,
            sampling=config.sampling(),
            chat=config.chat(),
            seat_args=config.seat_args,
            precision=config.precision,
            gradient_checkpointing=config.gradient_checkpointing,
            lora_args=config.lora_args,
            trust_remote_code=config.trust_remote_code,
        )
    else:
        seats = seat_policies(policies, agents)
        learning = learning_among(seats)
    if isinstance(env, str):
        env_args = {**style_args(env, seats.values()), **env_args}
    env_fn = partial(_make, env, env_args)
    made = env_fn()
    refuse_fallback(made, str(env))
    taught = learning.values()
    algorithm.check(made, [a for a, p in seats.items() if any(p is one for one in taught)])
    distribute(learning.values(), config.parallel, cpu_offload=config.cpu_offload)
    engine = opened.enter_context(opened_engine(config, algorithm, learning, seats, env_args))
    if not resume:  # a folder is made when nothing is left to refuse
        ranks.by_first(claim)
    ranks.by_first(lambda: prepare(run, asdict(config), resume=resume))

    def measure() -> dict[str, Any]:
        engine.settle()
        for policy in learning_among(seats).values():
            policy.reseed(config.seed)
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
        best = measured(greedy=True).to_dict()
        greedy = {name: best[name] for name in _OF_GREEDY}
        name = config.model if policies is None else sampled["policy"]
        return {**sampled, "policy": name, "greedy": greedy}

    started = time.monotonic()
    first = tokens = 0
    if resume:
        newest = checkpoints.latest(run / "checkpoints")
        if newest is not None:
            first, tokens = checkpoints.load(newest, engine)
        if ranks.rank() == 0:
            (run / "after.json").unlink(missing_ok=True)  # it says that the run has ended

    def ended(step: int) -> bool:
        return step >= config.steps or tokens >= (config.token_budget or math.inf)

    last = first if ended(first) else config.steps
    shown = {"trackers": config.trackers, "settings": asdict(config)}
    recorded = {"every": config.record_every, "tasks": config.record_tasks}
    with (
        sampling_from(config.sampler, config.sampler_args, learning, seats) as samplers,
        Tracker(run, first, last, **shown) if ranks.rank() == 0 else Untold() as tracker,
        (
            Recorder(run, first=first, ended=ended(first), **recorded)
            if ranks.rank() == 0
            else Unrecorded()
        ) as recorder,
        Progress(config, first, quiet=quiet) as progress,
    ):
        engine.samplers = samplers
        before = once(run / "before.json", measure)
        if first == 0:
            tracker.evaluation(0, before)
        progress.note(f"before: {_say(before)}")
        for note in before.get("notes", []):
            progress.note(f"note: {note}")
        step = first
        flat_seats = FlatSeats(engine.trained if ranks.rank() == 0 else ())
        with patient(progress.note) as stop:
            while not ended(step):
                row, found = _iterate(engine, env_fn, config, step)
                flat_seats.iteration(found)
                step += 1
                tokens += row["tokens"]
                tracker.iteration(step, row)
                recorder.iteration(step, found, seats, last=ended(step))
                progress.advance(row)
                if config.eval_every and step % config.eval_every == 0 and not ended(step):
                    measured = measure()
                    tracker.evaluation(step, measured)
                    progress.note(f"after {step}: {_say(measured)}")
                # all ranks stop where one of them was asked to
                stopping = ranks.summed({"asked": stop.asked})["asked"] > 0
                # after the evaluation of this step, which a resumed run would not repeat
                if ended(step) or stopping or step % config.checkpoint_every == 0:
                    tracker.flush()
                    recorder.flush()
                    checkpoints.save(run / "checkpoints", engine, step, tokens)
                if stopping:
                    progress.note(f"stopped after iteration {step}, of which a checkpoint is kept")
                    raise KeyboardInterrupt
        after = once(run / "after.json", measure)
        tracker.evaluation(step, after)
        progress.note(f"after: {_say(after)}")
    return FitResult(
        run=str(run),
        before=before,
        after=after,
        steps=step,
        seconds=time.monotonic() - started,
        seats=seats,
    )


def _refuse(settings: Mapping[str, Any], names: Sequence[str], beside: str) -> None:
    for name in names:
        if name in settings:
            raise ConfigError(f"{name} means nothing beside {beside}")


def _learner(learner: str | Learner, config: FitConfig) -> Learner:
    if not isinstance(learner, str):
        return learner
    cls = learner_class(learner)
    return cls(make_config(cls.Config, config.learner_args, f"learner {learner!r}"))


def _make(env: str | Callable[[], AECEnv], env_args: Mapping[str, Any]) -> AECEnv:
    if isinstance(env, str):
        return registry.make(env, **{"split": "train", **env_args})
    return env()


def _iterate(
    engine: Engine, env_fn: Callable[[], AECEnv], config: FitConfig, step: int
) -> tuple[dict[str, Any], Iteration]:
    """One iteration: its row, and what it gave. Its chance depends on the run's seed and its number only."""
    models = len(engine.models(engine.seats))
    draw = partial(draws, config.seed, models=models, envs=config.episodes_per_step)
    found = engine.iterate(env_fn, draw, step, last=step + 1 >= config.steps)
    check_answered(found.batch, engine.policies, engine.seats, step=step + 1)
    row = {
        **metrics.of_batch(found.batch, engine.trained),
        **found.learned,
        **metrics.of_time(
            found.clock,
            tokens=found.tokens + found.learned.get("demonstrated_tokens", 0),
            rollout_seconds=found.rollout_seconds,
            update_seconds=found.update_seconds,
        ),
    }
    return row, found


def _say(found: Mapping[str, Any]) -> str:
    try:
        low, high = found["success_ci95"]
        return (
            f"success {found['success']:.1%} [{low:.1%}, {high:.1%}] sampled, "
            f"{found['greedy']['success']:.1%} greedy, on {counted(found)} {found['split']} tasks"
        )
    except (LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            "before.json or after.json has another form than an evaluation: remove it, and it is "
            f"measured again ({error!r})"
        ) from error

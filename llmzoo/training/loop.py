"""The training loop: play a batch, learn from it, evaluate, save.

A run folder holds ``config.json``, ``metrics.jsonl`` (a row for each iteration and each
evaluation), ``played.jsonl`` (some of the episodes), TensorBoard files, ``before.json``,
``after.json`` and ``checkpoints/``. The command line adds ``curve.png``.
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
from llmzoo.distributed import ranks
from llmzoo.engine.base import Engine, Iteration, draws, models_among
from llmzoo.engine.setup import distribute
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.learners import learner_class
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy, seat_policies
from llmzoo.training import checkpoints, metrics
from llmzoo.training.collecting import refuse_fallback, style_args
from llmzoo.training.config import FitConfig, make_config
from llmzoo.training.engines import check_engine, opened_engine
from llmzoo.training.evaluation import counted, evaluate
from llmzoo.training.faults import FlatSeats, check_answered
from llmzoo.training.interrupt import patient
from llmzoo.training.log import RunLog
from llmzoo.training.run_folder import claimed, once, prepare
from llmzoo.training.seating import Learning, learning_among, sampling_from, take_seats
from llmzoo.training.tracking import check_trackers

# settings that make the policies, and that fit refuses where it is given policies as objects
_OF_SEATS = (
    *("model", "seats", "seat_args", "others", "lora_args", "precision", "gradient_checkpointing"),
    *("temperature", "top_p", "top_k", "max_new_tokens"),
    *("system", "chat_template_args", "thought_end", "trust_remote_code"),
)
# fields of the greedy evaluation that a run keeps
_OF_GREEDY = ("success", "success_ci95", "solved", "answers", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """The outcome of a run.

    ``before`` and ``after`` are evaluations with sampled answers; their entry ``greedy`` is the
    evaluation of the most likely answers. ``seats``: the policy of every seat.
    """

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
    """Train on an environment, and evaluate before and after.

    ``learner``: a name (its options go in ``learner_args``) or an object. ``env``: an id (its
    arguments go in ``env_args``), or a function that makes any AEC text environment. ``out``: the
    run folder. With ``resume`` the run there continues exactly as if it had never stopped; if
    ``steps`` has been raised, a schedule continues as that of the longer run. Without ``resume`` an
    existing run is refused. ``policies``: the policy of every seat, in place of ``model``,
    ``seats`` and all other settings that make policies; each ``TransformersPolicy`` among them
    learns. A resumed run needs the same policies that it started with. Further settings are the
    fields of :class:`FitConfig`.

    Ctrl-C lets the iteration finish, saves a checkpoint and raises ``KeyboardInterrupt``. A second
    Ctrl-C raises it at once, and so does one during the evaluations before and after.

    Several processes started by ``torchrun`` or ``accelerate launch`` share the run and reproduce
    the single-process run. They need a run folder that all of them see; only the first process
    writes and prints.
    """
    with ranks.joined(), ExitStack() as opened:
        setup = _set_up(learner, env, Path(out), resume, policies, settings, opened)
        return _train(setup, resume, quiet or ranks.rank() > 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setup:
    """A run whose settings are checked and whose engine has started."""

    folder: Path
    config: FitConfig
    env: str | Callable[[], AECEnv]
    env_args: Mapping[str, Any]
    seats: Mapping[str, Policy]
    learning: Learning
    engine: Engine
    model: str | None  # what evaluations call the policies; None: by their own names

    def make_env(self) -> AECEnv:
        return _make(self.env, self.env_args)

    def evaluate(self) -> dict[str, Any]:
        """The evaluation of sampled answers, with that of the most likely ones as ``greedy``."""
        self.engine.settle()
        for policy in learning_among(self.seats).values():
            policy.reseed(self.config.seed)
        run = partial(
            evaluate,
            self.env,
            self.seats,
            tasks=self.config.eval_tasks,
            split=self.config.eval_split,
            seed=self.config.seed,
            env_args=self.env_args,
        )
        sampled = run().to_dict()
        best = run(greedy=True).to_dict()
        greedy = {name: best[name] for name in _OF_GREEDY}
        return {**sampled, "policy": self.model or sampled["policy"], "greedy": greedy}

    def load_checkpoint(self) -> tuple[int, int]:
        """The iterations done by a run that continues, and the tokens that they sampled."""
        newest = checkpoints.latest(self.folder / "checkpoints")
        done = (0, 0) if newest is None else checkpoints.load(newest, self.engine)
        if ranks.rank() == 0:
            (self.folder / "after.json").unlink(missing_ok=True)  # its presence marks an ended run
        return done


def _set_up(
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    folder: Path,
    resume: bool,
    policies: Mapping[str, Policy] | None,
    settings: Mapping[str, Any],
    opened: ExitStack,
) -> _Setup:
    """Check all settings, load the models and start the engine, which ends with ``opened``."""

    def claim() -> None:
        opened.enter_context(claimed(folder, resume=resume))

    if resume:  # before anything is loaded
        ranks.by_first(claim)
    config = _config(learner, env, policies, settings)
    check_trackers(config.trackers)
    check_engine(config, learner, env, policies)
    algorithm = _learner(learner, config)
    env_args = {**algorithm.env_defaults, **config.env_args}
    seats, learning = _seated(config, policies, _make(env, env_args).possible_agents)
    if isinstance(env, str):
        env_args = {**style_args(env, seats.values()), **env_args}
    example = _make(env, env_args)
    refuse_fallback(example, str(env))
    taught = [a for a, p in seats.items() if any(p is policy for policy in learning.values())]
    algorithm.check(example, taught)
    distribute(learning.values(), config.parallel, cpu_offload=config.cpu_offload)
    engine = opened.enter_context(opened_engine(config, algorithm, learning, seats, env_args))
    if not resume:  # a new folder is made once nothing is left to refuse
        ranks.by_first(claim)
    ranks.by_first(lambda: prepare(folder, asdict(config), resume=resume))
    return _Setup(
        folder=folder,
        config=config,
        env=env,
        env_args=env_args,
        seats=seats,
        learning=learning,
        engine=engine,
        model=config.model if policies is None else None,
    )


def _train(setup: _Setup, resume: bool, quiet: bool) -> FitResult:
    """Evaluate, iterate until the run has ended, and evaluate again."""
    config, engine, folder = setup.config, setup.engine, setup.folder
    started = time.monotonic()
    step, tokens = setup.load_checkpoint() if resume else (0, 0)

    def ended() -> bool:
        return step >= config.steps or tokens >= (config.token_budget or math.inf)

    with (
        sampling_from(
            config.sampler, config.sampler_args, setup.learning, setup.seats
        ) as engine.samplers,
        RunLog(folder, config, step, ended=ended(), quiet=quiet) as log,
    ):
        before = once(folder / "before.json", setup.evaluate)
        if step == 0:
            log.evaluation(0, before)
        log.note(f"before: {_summary(before)}")
        for note in before.get("notes", []):
            log.note(f"note: {note}")
        flat_seats = FlatSeats(engine.trained if ranks.rank() == 0 else ())
        with patient(log.note) as stop:
            while not ended():
                iteration = _iterate(setup, step)
                row = _row(iteration, engine)
                flat_seats.iteration(iteration)
                step += 1
                tokens += row["tokens"]
                log.iteration(step, row, iteration, setup.seats, last=ended())
                if config.eval_every and step % config.eval_every == 0 and not ended():
                    evaluation = setup.evaluate()
                    log.evaluation(step, evaluation)
                    log.note(f"after {step}: {_summary(evaluation)}")
                # all ranks stop if one of them was asked to
                stopping = ranks.summed({"asked": stop.asked})["asked"] > 0
                # after the evaluation of this step, which a resumed run would not repeat
                if ended() or stopping or step % config.checkpoint_every == 0:
                    log.flush()
                    checkpoints.save(folder / "checkpoints", engine, step, tokens)
                if stopping:
                    log.note(f"stopped after iteration {step}; its checkpoint is saved")
                    raise KeyboardInterrupt
        after = once(folder / "after.json", setup.evaluate)
        log.evaluation(step, after)
        log.note(f"after: {_summary(after)}")
    return FitResult(
        run=str(folder),
        before=before,
        after=after,
        steps=step,
        seconds=time.monotonic() - started,
        seats=setup.seats,
    )


def _iterate(setup: _Setup, step: int) -> Iteration:
    """Play a batch and learn from it. All randomness derives from the run's seed and ``step``."""
    config, engine = setup.config, setup.engine
    models = len(models_among(engine.seats))
    draw = partial(draws, config.seed, models=models, envs=config.episodes_per_step)
    iteration = engine.iterate(setup.make_env, draw, step, last=step + 1 >= config.steps)
    check_answered(iteration.batch, engine.policies, engine.seats, step=step + 1)
    return iteration


def _row(iteration: Iteration, engine: Engine) -> dict[str, Any]:
    """The metrics of an iteration."""
    return {
        **metrics.of_batch(iteration.batch, engine.trained),
        **iteration.learned,
        **metrics.of_time(
            iteration.clock,
            tokens=iteration.tokens + iteration.learned.get("demonstrated_tokens", 0),
            rollout_seconds=iteration.rollout_seconds,
            update_seconds=iteration.update_seconds,
        ),
    }


def _config(
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    policies: Mapping[str, Policy] | None,
    settings: Mapping[str, Any],
) -> FitConfig:
    """The configuration; settings that the objects given to ``fit`` replace are refused."""
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
    return make_config(FitConfig, {**settings, **named}, "fit")


def _refuse(settings: Mapping[str, Any], names: Sequence[str], beside: str) -> None:
    for name in names:
        if name in settings:
            raise ConfigError(f"{name} has no effect with {beside}: leave it out")


def _seated(
    config: FitConfig, policies: Mapping[str, Policy] | None, agents: Sequence[str]
) -> tuple[Mapping[str, Policy], Learning]:
    """The policy of every seat, and those that learn."""
    if policies is not None:
        seats = seat_policies(policies, agents)
        return seats, learning_among(seats)
    return take_seats(
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


def _learner(learner: str | Learner, config: FitConfig) -> Learner:
    if not isinstance(learner, str):
        return learner
    cls = learner_class(learner)
    return cls(make_config(cls.Config, config.learner_args, f"learner {learner!r}"))


def _make(env: str | Callable[[], AECEnv], env_args: Mapping[str, Any]) -> AECEnv:
    if isinstance(env, str):
        return registry.make(env, **{"split": "train", **env_args})
    return env()


def _summary(evaluation: Mapping[str, Any]) -> str:
    """An evaluation in one line."""
    try:
        low, high = evaluation["success_ci95"]
        return (
            f"success {evaluation['success']:.1%} [{low:.1%}, {high:.1%}] sampled, "
            f"{evaluation['greedy']['success']:.1%} greedy, "
            f"on {counted(evaluation)} {evaluation['split']} tasks"
        )
    except (LookupError, TypeError, ValueError) as error:
        raise CheckpointError(
            "before.json or after.json does not hold an evaluation: delete it, and the resumed run "
            f"evaluates again ({error!r})"
        ) from error

"""The training loop: play a batch, train on it, evaluate, save.

The engine plays and trains (:mod:`llmzoo.engine.local`). :mod:`llmzoo.training.setup` prepares the
first iteration.

A run folder holds ``config.json``, ``provenance.json`` (versions, commit, command line, machine and
date of each start), ``metrics.jsonl`` (a row for each iteration and each
evaluation), ``played.jsonl`` (some of the episodes), TensorBoard files, ``before.json``,
``after.json`` and ``checkpoints/``. The command line adds ``curve.png``.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo.distributed import ranks
from llmzoo.engine.base import Iteration, IterationSeeds, distinct_models, iteration_seeds
from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.policies.base import Policy
from llmzoo.runs import checkpoints, run_folder
from llmzoo.runs.policy_loading import use_samplers
from llmzoo.training import metrics
from llmzoo.training.collapse import ReturnHistory
from llmzoo.training.faults import NoSignalMonitor, check_batch
from llmzoo.training.interrupt import graceful_shutdown
from llmzoo.training.log import RunLog, summarize_evaluation
from llmzoo.training.recording import is_due
from llmzoo.training.setup import Setup, prepare_run
from llmzoo.training.sharpening import findings


@dataclass(frozen=True, slots=True, kw_only=True)
class FitResult:
    """The outcome of a run.

    ``before`` and ``after`` are evaluations with sampled completions; their entry ``greedy`` is the
    evaluation with greedy completions. ``findings``: sentences that say what changed and what
    explains it (:mod:`llmzoo.training.sharpening`). ``policies``: the policy of every agent.
    """

    run: str
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    steps: int
    seconds: float
    policies: Mapping[str, Policy] = field(repr=False)

    @property
    def findings(self) -> tuple[str, ...]:
        return findings(self.before, self.after)

    def to_dict(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "before": dict(self.before),
            "after": dict(self.after),
            "steps": self.steps,
            "seconds": round(self.seconds, 2),
            "findings": list(self.findings),
        }


def fit(
    learner: str | Learner = "at_grpo",
    env: str | Callable[[], AECEnv] = "sudoku_v0",
    *,
    out: str | Path,
    resume: bool = False,
    policies: Mapping[str, Policy] | Mapping[str, str] | str | None = None,
    quiet: bool = False,
    **settings: Any,
) -> FitResult:
    """Train on an environment, and evaluate before and after training.

    ``learner``: a name (its options go in ``learner_args``) or an object. ``env``: an id (its
    arguments go in ``env_args``), or a function that makes any AEC text environment. ``out``: the
    run folder. With ``resume`` the run there continues exactly as if it had not been stopped; if
    ``steps`` has been raised, a schedule continues as in the longer run. Without ``resume`` an
    existing run is an error. ``policies``: how models are assigned to agents, as in
    :class:`llmzoo.training.config.FitConfig`; or the policy of every agent as an object, instead of
    ``model`` and all other settings of policies. Each ``TransformersPolicy`` among the objects
    learns. A resumed run needs the policies that it started with. Further settings are the fields
    of :class:`llmzoo.training.config.FitConfig`.

    Ctrl-C lets the iteration finish, saves a checkpoint and raises ``KeyboardInterrupt``. A second
    Ctrl-C raises it immediately, as does one during the evaluations before and after.

    Several processes started by ``torchrun`` or ``accelerate launch`` share the run and reproduce
    the single-process run. They need a run folder that all of them can access; only the first process
    writes and prints.
    """
    objects, named = _split_policies(policies)
    with ranks.process_group(), ExitStack() as opened:
        setup = prepare_run(learner, env, Path(out), resume, objects, {**named, **settings}, opened)
        return _train(setup, resume, quiet or ranks.rank() > 0)


def _split_policies(
    policies: Mapping[str, Policy] | Mapping[str, str] | str | None,
) -> tuple[Mapping[str, Policy] | None, dict[str, Any]]:
    """The policies given as objects, or else the setting ``policies``."""
    if policies is None:
        return None, {}
    if isinstance(policies, str):
        return None, {"policies": policies}
    if not isinstance(policies, Mapping):
        raise ConfigError(f"policies must be a name or a mapping from agents, got {policies!r:.80}")
    objects = {a: policy for a, policy in policies.items() if not isinstance(policy, str)}
    if objects and len(objects) < len(policies):
        raise ConfigError(
            "policies must map agents either to policies or to model names, not to both"
        )
    return (objects, {}) if objects else (None, {"policies": policies})


def _train(setup: Setup, resume: bool, quiet: bool) -> FitResult:
    """Evaluate, iterate until the run has ended, and evaluate again."""
    config, engine, folder = setup.config, setup.engine, setup.folder
    started = time.monotonic()
    step, tokens = setup.load_checkpoint() if resume else (0, 0)
    idle = 0  # iterations since the highest return
    if resume and config.patience:
        idle = ranks.broadcast(_return_history(setup, step).idle)

    def is_finished() -> bool:
        spent = step >= config.steps or tokens >= (config.token_budget or math.inf)
        return spent or idle >= (config.patience or math.inf)

    with (
        use_samplers(
            config.sampler, config.sampler_args, setup.learning, setup.agent_policies
        ) as engine.samplers,
        RunLog(folder, config, step, ended=is_finished(), quiet=quiet) as log,
    ):
        history = _return_history(setup, step)
        before = run_folder.load_or_compute(folder / "before.json", setup.evaluate_start)
        if step == 0:
            log.log_evaluation(0, before)
        log.note(f"before: {summarize_evaluation(before)}")
        for note in [*setup.notes, *before.get("notes", [])]:
            log.note(f"note: {note}")
        is_monitored = ranks.rank() == 0 and setup.learner.needs_return_variance
        no_signal = NoSignalMonitor(engine.trained_agents if is_monitored else ())
        with graceful_shutdown(log.note) as stop:
            while not is_finished():
                iteration = _iterate(setup, step)
                row = metrics.iteration_metrics(iteration, engine.trained_agents)
                no_signal.check_iteration(iteration)
                step += 1
                history.add_iteration({"step": step, **row})
                idle = ranks.broadcast(history.idle) if config.patience else 0
                tokens += row["tokens"]
                log.log_iteration(step, row, iteration, setup.agent_policies, last=is_finished())
                if config.eval_every and step % config.eval_every == 0 and not is_finished():
                    evaluation = setup.evaluate()
                    log.log_evaluation(step, evaluation)
                    log.note(f"after {step}: {summarize_evaluation(evaluation)}")
                # all ranks stop if one of them got a signal
                stopping = ranks.all_reduce_sum({"requested": stop.requested})["requested"] > 0
                # after the evaluation of this step, which a resumed run would not repeat
                if is_finished() or stopping or step % config.checkpoint_every == 0:
                    log.flush()
                    checkpoint_return = setup.checkpoint_return()
                    mean_return = (
                        history.mean_return if checkpoint_return is None else checkpoint_return
                    )
                    checkpoints.save(
                        folder / "checkpoints", engine, step, tokens, mean_return=mean_return
                    )
                if stopping:
                    log.note(f"stopped after iteration {step}; its checkpoint is saved")
                    raise KeyboardInterrupt
        no_signal.end()
        if config.patience and idle >= config.patience and step < config.steps:
            log.note(f"ended after iteration {step}: the return has not risen in {idle} iterations")
        after = run_folder.load_or_compute(folder / "after.json", setup.evaluate_end)
        log.log_evaluation(step, after)
        log.note(f"after: {summarize_evaluation(after)}")
        for finding in findings(before, after):
            log.note(finding)
    return FitResult(
        run=str(folder),
        before=before,
        after=after,
        steps=step,
        seconds=time.monotonic() - started,
        policies=setup.agent_policies,
    )


def _return_history(setup: Setup, steps: int) -> ReturnHistory:
    """The returns of the run's first ``steps`` iterations.

    With a curriculum or opponents they may fall because tasks or opponents get harder, so there are no
    warnings.
    """
    config = setup.config
    comparable = config.curriculum == "none" and config.opponents == "self"
    rows = run_folder.read_metrics(setup.folder, "train") if ranks.rank() == 0 else []
    done = [row for row in rows if row["step"] <= steps]
    return ReturnHistory(done, warns=comparable and ranks.rank() == 0)


def _iterate(setup: Setup, step: int) -> Iteration:
    """Play a batch and train on it. All randomness derives from the run's seed and ``step``."""
    config, engine = setup.config, setup.engine
    models = len(distinct_models(engine.agent_policies))
    # a limit may end the run after any iteration, and the last one is recorded
    may_end = config.token_budget is not None or config.patience > 0

    def seeds_for(number: int) -> IterationSeeds:
        seeds = iteration_seeds(config.seed, number, models=models, envs=config.episodes_per_step)
        last = may_end or number + 1 >= config.steps
        boards = config.record_every > 0 and is_due(number + 1, config.record_every, last=last)
        return replace(seeds, boards=boards)

    iteration = engine.iterate(setup.make_env, seeds_for, step, last=step + 1 >= config.steps)
    check_batch(iteration.batch, engine.policies, engine.agent_policies, step=step + 1)
    return iteration

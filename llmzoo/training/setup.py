"""Prepares the first iteration: checks settings, loads models and starts the engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from pettingzoo import AECEnv

from llmzoo.distributed import ranks
from llmzoo.engine.base import Engine
from llmzoo.engine.setup import distribute
from llmzoo.errors import ConfigError
from llmzoo.evaluation.collect import make_env, prompt_style_args, refuse_fallback
from llmzoo.evaluation.evaluate import evaluate
from llmzoo.evaluation.exploit import can_measure_exactly, exploit
from llmzoo.learners.base import Learner
from llmzoo.learners.make import build_learner
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.base import Policy, policies_by_agent
from llmzoo.policies.settings import Chat, Sampling
from llmzoo.runs import checkpoints, run_folder
from llmzoo.runs.policy_loading import (
    LearningPolicies,
    highest_temperature,
    load_policies,
    transformers_policies,
    with_max_temperature,
)
from llmzoo.runs.provenance import record_start
from llmzoo.runs.run_folder import check_new_folder, locked, write_or_check_config
from llmzoo.training import self_play, sharpening
from llmzoo.training.config import FitConfig, make_config
from llmzoo.training.engines import check_engine, open_engine
from llmzoo.training.tracking import check_trackers

# settings of policies, which fit rejects if policies are given as objects
_POLICY_OPTIONS = tuple(
    field.name
    for settings in (AgentSettings, Sampling, Chat)
    for field in fields(settings)
    if field.name not in ("policies", "sampling", "chat", "stop", "device")
)
# fields of the greedy evaluation that a run keeps
_GREEDY_FIELDS = ("success", "success_ci95", "solved", "answers", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A run whose settings are checked and whose engine has started."""

    folder: Path
    config: FitConfig
    learner: Learner
    env: str | Callable[[], AECEnv]
    env_args: Mapping[str, Any]
    agent_policies: Mapping[str, Policy]
    learning: LearningPolicies
    engine: Engine
    model: str | None  # the policies' name in evaluations; None: their own names
    game: AECEnv | None  # for exact measures in evaluations; None: not available
    notes: Sequence[str]  # possibly unexpected effects of the settings

    def make_env(self) -> AECEnv:
        return _make_env(self.env, self.env_args)

    def evaluate(self) -> dict[str, Any]:
        """The evaluation with sampled completions.

        Its entry ``greedy`` is the evaluation with greedy completions. In small games its entry ``exact`` has
        exact measures.
        """
        sampled = self._evaluate(self.agent_policies, tasks=self.config.eval_tasks)
        greedy_evaluation = self._evaluate(
            self.agent_policies, tasks=self.config.eval_tasks, greedy=True
        )
        greedy = {name: greedy_evaluation[name] for name in _GREEDY_FIELDS}
        evaluation = {**sampled, "policy": self.model or sampled["policy"], "greedy": greedy}
        if self.game is not None:
            evaluation["exact"] = exploit(self.game, self.agent_policies).to_dict()
        return evaluation

    def evaluate_start(self) -> dict[str, Any]:
        """:meth:`evaluate` before training, with the controls of :mod:`llmzoo.training.sharpening`."""
        evaluation = self.evaluate_end()
        tasks = self._control_tasks(len(sharpening.TEMPERATURES))
        lower = [t for t in sharpening.TEMPERATURES if t < highest_temperature(self.agent_policies)]
        if tasks and lower:
            evaluation["lower_temperatures"] = {
                str(t): sharpening.control_result(
                    self._evaluate(with_max_temperature(self.agent_policies, t), tasks=tasks)
                )
                for t in lower
            }
        return evaluation

    def evaluate_end(self) -> dict[str, Any]:
        """:meth:`evaluate` after training, with pass@8 if it is affordable."""
        evaluation = self.evaluate()
        if tasks := self._control_tasks(2 * sharpening.SAMPLES):
            several = self._evaluate(self.agent_policies, tasks=tasks, samples=sharpening.SAMPLES)
            evaluation["several_samples"] = sharpening.pass_at_result(several)
        return evaluation

    def checkpoint_return(self) -> float | None:
        """The mean return with sampled completions on a fixed set of training tasks; None if none are set."""
        tasks = self.config.checkpoint_tasks
        if not tasks:
            return None
        evaluation = self._evaluate(self.agent_policies, tasks=tasks, split="train")
        return fmean(evaluation["mean_return"].values())

    def _evaluate(
        self, agent_policies: Mapping[str, Policy], split: str | None = None, **options: Any
    ) -> dict[str, Any]:
        self.engine.sync_policies()
        for policy in transformers_policies(agent_policies).values():
            policy.reseed(self.config.seed)
        return evaluate(
            self.env,
            agent_policies,
            split=split or self.config.eval_split,
            seed=self.config.seed,
            env_args=self.env_args,
            **options,
        ).to_dict()

    def _control_tasks(self, runs: int) -> int:
        config = self.config
        return sharpening.control_tasks(
            config.control_tasks,
            runs=runs,
            episodes=config.steps * config.episodes_per_step * self.learner.group_size,
            eval_tasks=config.eval_tasks,
        )

    def load_checkpoint(self) -> tuple[int, int]:
        """The number of iterations that a resumed run has done, and of tokens sampled in them."""
        newest = checkpoints.latest_checkpoint(self.folder / "checkpoints")
        done = (0, 0) if newest is None else checkpoints.load(newest, self.engine)
        if ranks.rank() == 0:
            (self.folder / "after.json").unlink(missing_ok=True)  # its presence marks an ended run
        return done


def prepare_run(
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    folder: Path,
    resume: bool,
    policies: Mapping[str, Policy] | None,
    settings: Mapping[str, Any],
    opened: ExitStack,
) -> Setup:
    """Check all settings, load the models and start the engine, which ``opened`` closes."""

    def lock_folder() -> None:
        opened.enter_context(locked(folder, resume=resume))

    if resume:  # before anything is loaded
        ranks.on_rank_zero(lock_folder)
    else:
        ranks.on_rank_zero(lambda: check_new_folder(folder))
    config = _build_config(learner, env, policies, settings)
    check_trackers(config.trackers)
    check_engine(config, learner, env, policies)
    resolved_learner = _resolve_learner(learner, config)
    env_args = {**resolved_learner.env_defaults, **config.env_args}
    agent_policies, learning = _resolve_agent_policies(
        config, policies, _make_env(env, env_args).possible_agents
    )
    if isinstance(env, str):
        env_args = {**prompt_style_args(env, agent_policies.values()), **env_args}
    example = _make_env(env, env_args)
    refuse_fallback(example, str(env))
    trained = [
        a for a, p in agent_policies.items() if any(p is policy for policy in learning.values())
    ]
    notes = []
    if config.policies == "separate" and len(example.possible_agents) == 1:
        notes.append(
            f"there is only one agent, {example.possible_agents[0]}: policies=separate needs several"
        )
    if self_play.trains_opponents(config, example, trained):
        may_change = isinstance(learner, str) and not (
            resume and _has_original_options(folder, config)
        )
        make = partial(_resolve_learner, learner) if may_change else None
        config, resolved_learner, notes = self_play.anchor_to_start(config, resolved_learner, make)
    resolved_learner.check(example, trained)
    distribute(learning.values(), config.parallel, cpu_offload=config.cpu_offload)
    engine = opened.enter_context(
        open_engine(config, resolved_learner, learning, agent_policies, env_args, folder, example)
    )
    if not resume:  # create the new folder only after all checks
        ranks.on_rank_zero(lock_folder)
    ranks.on_rank_zero(lambda: write_or_check_config(folder, asdict(config), resume=resume))
    ranks.on_rank_zero(lambda: record_start(folder))
    return Setup(
        folder=folder,
        config=config,
        learner=resolved_learner,
        env=env,
        env_args=env_args,
        agent_policies=agent_policies,
        learning=learning,
        engine=engine,
        model=config.model if policies is None else None,
        game=example if can_measure_exactly(example, agent_policies) else None,
        notes=notes,
    )


def _has_original_options(folder: Path, config: FitConfig) -> bool:
    """Whether the run was started with exactly the given options of the learner."""
    return bool(
        run_folder.require_config(folder).get("learner_args")
        == run_folder.as_json(config.learner_args)
    )


def _build_config(
    learner: str | Learner,
    env: str | Callable[[], AECEnv],
    policies: Mapping[str, Policy] | None,
    settings: Mapping[str, Any],
) -> FitConfig:
    """The configuration; settings that objects given to ``fit`` would replace are rejected."""
    derived: dict[str, Any] = {
        "learner": learner if isinstance(learner, str) else type(learner).__name__,
        "env": env if isinstance(env, str) else str(make_env(env, {})),
    }
    if not isinstance(learner, str):
        _refuse_options(settings, ["learner_args"], "a learner given as an object")
        derived["learner_args"] = asdict(learner.config)
    if policies is not None:
        _refuse_options(settings, _POLICY_OPTIONS, "policies")
        derived["model"] = "given"
    if not isinstance(env, str):
        _refuse_options(settings, ["env_args"], "an environment given as a function")
    return make_config(FitConfig, {**settings, **derived}, "fit")


def _refuse_options(settings: Mapping[str, Any], names: Sequence[str], given: str) -> None:
    for name in names:
        if name in settings:
            raise ConfigError(f"{name} has no effect with {given}: leave it out")


def _resolve_learner(learner: str | Learner, config: FitConfig) -> Learner:
    if isinstance(learner, str):
        return build_learner(learner, config.learner_args, config.agent_args)
    for agent, settings in config.agent_args.items():
        _refuse_options(
            settings, ["learner", "learner_args"], f"a learner given as an object (agent {agent!r})"
        )
    return learner


def _resolve_agent_policies(
    config: FitConfig, policies: Mapping[str, Policy] | None, agents: Sequence[str]
) -> tuple[Mapping[str, Policy], LearningPolicies]:
    """The policy of every agent, and the learning policies."""
    if policies is not None:
        agent_policies = policies_by_agent(policies, agents)
        return agent_policies, transformers_policies(agent_policies)
    return load_policies(agents, config.agent_settings())


def _make_env(env: str | Callable[[], AECEnv], env_args: Mapping[str, Any]) -> AECEnv:
    return make_env(env, {"split": "train", **env_args})

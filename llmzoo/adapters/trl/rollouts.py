"""``rollout_func``: several agents of one model in TRL's GRPO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv

from llmzoo.adapters.trl.table import Others, TrlSetup
from llmzoo.envs.forking import fork
from llmzoo.errors import ConfigError, require_extra
from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.records import Decision, Episode
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import (
    Rollout,
    RolloutKey,
    SampleRequest,
    has_slow_steps,
    run_rollouts,
)
from llmzoo.rollout.stepping import StepRequest, agents_to_act, is_over, skip_dead, step_each


@dataclass(frozen=True, slots=True)
class DecisionPoint:
    """A state of an episode and the agent that decides there, at its ``turn``-th turn (0-based)."""

    env: AECEnv
    agent: str
    turn: int


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """The task and decision that a row of the dataset names."""

    seed: int
    decision: int


@dataclass(frozen=True, slots=True)
class DecisionBranch:
    """An episode continued from a point. The decision there is its agent's first in ``episode``."""

    point: DecisionPoint
    episode: Episode

    @property
    def decision(self) -> tuple[int, Decision]:
        """The decision, with its index in the episode."""
        decisions = enumerate(self.episode.decisions)
        return next((i, d) for i, d in decisions if d.agent == self.point.agent)


def sample_branches(
    setup: TrlSetup, policy: Policy, rows: Sequence[DecisionRow], k: int, call: tuple[int, ...] = ()
) -> list[DecisionBranch]:
    """K branches for each row, group by group. ``policy`` plays the agents that learn.

    ``call``: part of the random keys; the same rows, policy and call give the same branches. Raises
    :class:`ConfigError` for an episode in which no learning agent decides.
    """
    agent_policies = {**dict.fromkeys(setup.agents, policy), **setup.others}
    points = _branch_points(setup, agent_policies, rows, call)
    envs = [fork(point.env) for point in points for _ in range(k)]
    keys = [(*call, row.seed, n, i) for n, row in enumerate(rows) for i in range(k)]
    rollouts = [
        episode_rollout(env, row.seed) for env, row in zip(envs, _repeat_each(rows, k), strict=True)
    ]
    episodes = run_rollouts(rollouts, agent_policies, keys=keys, early=has_slow_steps(envs))
    return [
        DecisionBranch(point, episode)
        for point, episode in zip(_repeat_each(points, k), episodes, strict=True)
    ]


def _branch_points(
    setup: TrlSetup,
    agent_policies: Mapping[str, Policy],
    rows: Sequence[DecisionRow],
    call: tuple[int, ...],
) -> list[DecisionPoint]:
    """Where each group branches. Groups with the same seed branch from one rollout."""
    furthest: dict[int, int] = {}
    for row in rows:
        furthest[row.seed] = max(row.decision, furthest.get(row.seed, 0))
    envs = {seed: setup.make() for seed in furthest}
    for seed, env in envs.items():
        env.reset(seed=seed)
    rollouts = [play_trunk(env, setup.agents, seed, furthest[seed]) for seed, env in envs.items()]
    keys: list[RolloutKey] = [(*call, seed, "trunk") for seed in envs]
    trunks = run_rollouts(rollouts, agent_policies, keys=keys, early=has_slow_steps(envs.values()))
    points_by_seed: dict[int, list[DecisionPoint]] = dict(zip(envs, trunks, strict=True))
    for seed, points in points_by_seed.items():
        if not points:
            who = ", ".join(setup.agents)
            raise ConfigError(f"the episode of seed {seed} has no decision of {who}")
    return [points_by_seed[row.seed][row.decision % len(points_by_seed[row.seed])] for row in rows]


def _repeat_each(items: Sequence[Any], k: int) -> list[Any]:
    return [item for item in items for _ in range(k)]


def play_trunk(env: AECEnv, agents: Sequence[str], seed: int, last: int) -> Rollout:
    """A rollout up to decision ``last`` of ``agents``; returns the :class:`DecisionPoint` of each."""
    points: list[DecisionPoint] = []
    skip_dead(env)
    while not is_over(env):
        acting = agents_to_act(env)
        state = fork(env)
        for agent in acting:
            if agent in agents:
                turn = sum(point.agent == agent for point in points)
                points.append(DecisionPoint(state, agent, turn))
        if len(points) > last:
            break
        answers = yield [
            SampleRequest(
                PolicyRequest(agent=a, observation=env.observe(a) or "", env=env, seed=seed)
            )
            for a in acting
        ]
        yield StepRequest(env, tuple(completion.text for (completion,) in answers), step_each)
        skip_dead(env)
    return points


if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy


def rollout_func(
    env: str | Callable[[], AECEnv],
    *,
    agents: Sequence[str] | None = None,
    others: Others = "expert",
    env_args: Mapping[str, Any] | None = None,
) -> DecisionRollouts:
    """A ``rollout_func`` for ``trl.GRPOTrainer``. The trained model plays all ``agents``.

    ``agents`` (all by default), ``others`` and ``env_args`` are those of
    :class:`llmzoo.adapters.trl.table.TrlSetup`. Use it with the reward function
    :func:`decision_return` and the rows of :func:`llmzoo.adapters.trl.dataset` with ``decisions``.
    """
    return DecisionRollouts(TrlSetup(env, agents=agents, others=others, env_args=env_args))


class DecisionRollouts:
    """Makes TRL's groups of single decisions.

    A sample of TRL is one prompt and one completion, and the K samples of a group share the prompt.
    The turns of an episode do not: each agent reads its own observation, which contains everything
    that it may know. One completion with all turns would show every agent what the others read and
    wrote, and would train answers to prompts that never occur in play. So a sample is one decision of
    one agent, with its observation as the prompt:

    1. The model plays the task of the row's seed up to the row's decision. If the episode has fewer
       decisions, the number wraps around: with 3 decisions, number 4 is number 1.
    2. The episode is copied K times there, and the model plays each copy to its end.
    3. The K answers to that observation are the group. The return of each is what its agent is paid
       from that answer to the end of its copy.

    The prompts of a group are identical by construction, and the mean return of the K copies is a
    baseline for exactly the state in which they branch. This group does not train the answers before
    and after the decision; other rows do.

    TRL calls it with the trainer and the prompts of one process, each repeated K times. It returns
    ``prompt_ids``, ``completion_ids``, ``logprobs`` (of the sampled tokens, under the trainer's
    temperature, top_p and top_k), ``env_mask`` (1 for the model's tokens, which are all but those
    of a sample whose prompt did not fit the context: that is one end token, and masked), and for
    reward functions ``decision_return``, ``success``, ``agent``, ``turn`` and ``observation``.

    Raises :class:`ConfigError` for rows of another dataset, for a batch that splits a group between
    processes, and for trainer settings that it does not support.
    """

    def __init__(self, setup: TrlSetup):
        self.setup = setup
        self._calls = 0

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        training = trainer.model.training
        k = trainer.num_generations if training else trainer.num_generations_eval
        rows = rows_from_prompts(prompts, k)
        self._calls += 1
        policy = _policy(trainer)
        try:
            branches = sample_branches(
                self.setup, policy, rows, k, (trainer.state.global_step, self._calls)
            )
        finally:
            trainer.model.train(training)
        return _samples(branches, policy.tokenizer.eos_token_id)


def decision_return(
    completions: Sequence[Any],
    decision_return: Sequence[float],
    success: Sequence[bool],
    agent: Sequence[str],
    turn: Sequence[int],
    observation: Sequence[str],
    log_metric: Callable[[str, float], None],
    log_extra: Callable[[str, list[Any]], None],
    **columns: Any,
) -> list[float]:
    """TRL's reward function for :func:`rollout_func`: what the agent was paid from its answer on.

    Logs ``success``, the share of successful copies, and ``return/AGENT`` for each agent. The table
    of completions shows who answered what.
    """
    log_metric("success", sum(success) / len(success))
    for other in dict.fromkeys(agent):
        own = [r for r, a in zip(decision_return, agent, strict=True) if a == other]
        log_metric(f"return/{other}", sum(own) / len(own))
    log_extra("agent", list(agent))
    log_extra("turn", list(turn))
    log_extra("observation", list(observation))
    return list(decision_return)


def rows_from_prompts(prompts: Sequence[Any], k: int) -> list[DecisionRow]:
    """The row of each group. TRL's prompts repeat it for all K samples.

    Raises :class:`ConfigError` for prompts of another dataset, and if a group is incomplete.
    """
    try:
        rows = [DecisionRow(int(p[-1]["seed"]), int(p[-1]["decision"])) for p in prompts]
    except (KeyError, TypeError, IndexError) as error:
        raise ConfigError(
            "this prompt names no seed and decision: the rows are those of "
            "llmzoo.adapters.trl.dataset(seeds, decisions=...)"
        ) from error
    groups = [rows[start : start + k] for start in range(0, len(rows), k)]
    if any(len(group) < k or len(set(group)) > 1 for group in groups):
        raise ConfigError(
            f"each process must be given whole groups of {k}: make per_device_train_batch_size * "
            "steps_per_generation (per_device_eval_batch_size in evaluation) a multiple of "
            "num_generations"
        )
    return [group[0] for group in groups]


def _policy(trainer: Any) -> TransformersPolicy:
    """The model that TRL trains, with the trainer's sampling settings."""
    with require_extra("TRL's rollout_func", "train"):
        from llmzoo.policies.settings import Chat, Sampling
        from llmzoo.policies.transformers import TransformersPolicy
    args = trainer.args
    unsupported = {
        "use_vllm": args.use_vllm,
        "use_transformers_continuous_batching": args.use_transformers_continuous_batching,
        "min_p": args.min_p is not None,
        "repetition_penalty": args.repetition_penalty != 1.0,
        "generation_kwargs": bool(args.generation_kwargs),
    }
    for name, is_set in unsupported.items():
        if is_set:
            raise ConfigError(f"llmzoo's rollout_func samples by itself: leave out {name}")
    if str(trainer.accelerator.distributed_type.value) in ("FSDP", "DEEPSPEED"):
        raise ConfigError("llmzoo's rollout_func needs the whole model on each process: use DDP")
    return TransformersPolicy(
        trainer.accelerator.unwrap_model(trainer.model),
        trainer.processing_class,
        sampling=Sampling(
            temperature=args.temperature,
            top_p=args.top_p,
            top_k=args.top_k or 0,
            max_new_tokens=trainer.max_completion_length,
        ),
        chat=Chat(chat_template_args=args.chat_template_kwargs),
        seed=args.seed,
        name="TRL's model",
    )


def _samples(branches: Sequence[DecisionBranch], end: int) -> dict[str, list[Any]]:
    samples: dict[str, list[Any]] = {}
    for branch in branches:
        index, decision = branch.decision
        values = {
            **_sample(decision, end),
            "decision_return": branch.episode.returns()[index],
            "success": branch.episode.success,
            "agent": branch.point.agent,
            "turn": branch.point.turn,
            "observation": decision.observation,
        }
        for name, value in values.items():
            samples.setdefault(name, []).append(value)
    return samples


def _sample(decision: Decision, end: int) -> dict[str, Any]:
    completion = decision.completion
    if not completion.trainable:  # its prompt did not fit, but TRL needs a token
        return {"prompt_ids": [end], "completion_ids": [end], "logprobs": [0.0], "env_mask": [0]}
    return {
        "prompt_ids": list(completion.prompt_ids),
        "completion_ids": list(completion.ids),
        "logprobs": list(completion.logprobs),
        "env_mask": [1] * len(completion.ids),
    }

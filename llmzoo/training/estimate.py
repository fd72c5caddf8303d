"""Estimates the cost of an iteration before a run: completions, tokens, memory and minutes.

Completions are counted in one rollout of the learner in which every completion is empty, so that
no episode ends early by success. Time and memory are extrapolated from a few sampled tokens and from one
pass of the model with gradients.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.engine.base import distinct_models, iteration_seeds
from llmzoo.engine.local import play_rollouts
from llmzoo.errors import ConfigError
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.policies.base import OnComplete, Policy, PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion, Group
from llmzoo.rollout.scheduler import rollout_keys
from llmzoo.rollout.stepping import RolloutClock
from llmzoo.training.setup import Setup, prepare_run

_TIMED_TOKENS = 8  # per completion whose sampling is timed
_MAX_TIMED_COMPLETIONS = 64  # completions sampled at once, or fewer if the run samples fewer
_MAX_PASS_TOKENS = 2048  # tokens in the timed pass with gradients, or fewer if the run has fewer
_LIBRARY_BYTES = 0.4e9  # bytes that the interpreter takes with torch and transformers
_PEAK_OVER_SAVED = 1.5  # peak memory of a pass over the memory of its saved activations
_ADAM_NUMBERS = 3  # numbers for each trained weight: a gradient and two moments


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """The estimated cost of an iteration.

    ``answers_per_episode`` and ``answers``: completions of the learning agents in one episode and in an
    iteration. ``tokens_read``: prompt tokens of an iteration. ``tokens``: its sampled tokens, if all
    completions have their maximum length. ``microbatch_tokens``: tokens of a pass with gradients. ``memory``:
    peak memory in bytes, including the weights, the state of the optimiser and the activations.
    ``sampling_seconds`` and ``update_seconds``: per iteration, if all completions have their maximum length.
    ``steps``: iterations of the run.
    """

    answers_per_episode: int
    answers: int
    tokens_read: int
    tokens: int
    microbatch_tokens: int
    memory: float
    sampling_seconds: float
    update_seconds: float
    steps: int

    @property
    def minutes(self) -> float:
        """The time of one iteration."""
        return (self.sampling_seconds + self.update_seconds) / 60

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "minutes": self.minutes}


class CountingPolicy:
    """Replaces a policy: gives empty completions, and counts them and their prompts."""

    def __init__(self, policy: Policy, *, learns: bool):
        self.name = policy.name
        self.prompt_style = policy.prompt_style
        # of all requests to a learning model; each completion is assumed to have its maximum length
        self.completions = self.prompt_tokens = self.max_sampled_tokens = 0
        self.group_size = self.prompts = 1  # of the largest request, which is sampled in one call
        self.longest_prompt: tuple[int, ...] = ()
        self.agent, self.observation = "", ""  # of that prompt
        self.env: AECEnv | None = None
        self._model = policy if learns and isinstance(policy, TransformersPolicy) else None

    def respond(
        self,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        *,
        greedy: bool = False,
        on_complete: OnComplete | None = None,
    ) -> list[list[Completion]]:
        self.prompts = max(self.prompts, len(requests))
        self.group_size = max(self.group_size, group_size)
        return [self._empty_completions(request, group_size) for request in requests]

    def _empty_completions(self, request: PolicyRequest, group_size: int) -> list[Completion]:
        prompt: tuple[int, ...] = ()
        if self._model is not None:
            prompt = self._model.encode(request.observation, request.agent)
            limit = self._model.sampling_for(request.agent).max_new_tokens
            self.completions += group_size
            self.prompt_tokens += len(prompt)
            self.max_sampled_tokens += group_size * limit
            if len(prompt) > len(self.longest_prompt):
                self.longest_prompt, self.env = prompt, request.env
                self.agent, self.observation = request.agent, request.observation
        return [Completion(text="", prompt_ids=prompt)] * group_size


def estimate(learner: str = "at_grpo", env: str = "sudoku_v0", **settings: Any) -> Estimate:
    """The cost of an iteration of :func:`llmzoo.fit` with these settings. Nothing is saved.

    Raises :class:`ConfigError` as ``fit`` does, for ``engine="ray"``, and for several processes.
    """
    if settings.get("engine", "local") != "local" or ranks.launched_process_count() > 1:
        raise ConfigError("a dry run needs a single process and engine='local'")
    with TemporaryDirectory() as folder, ranks.process_group(), ExitStack() as opened:
        setup = prepare_run(learner, env, Path(folder) / "run", False, None, settings, opened)
        return _estimate(setup)


def _estimate(setup: Setup) -> Estimate:
    config, engine = setup.config, setup.engine
    counts = {
        agent: CountingPolicy(policy, learns=agent in engine.trained_agents)
        for agent, policy in setup.agent_policies.items()
    }
    (seed,) = iteration_seeds(config.seed, 0, models=0, envs=1).seeds
    play_rollouts(
        setup.learner,
        engine.trained_agents,
        setup.make_env,
        [seed],
        rollout_keys([seed]),
        counts,
        cohorts=1,
        workers=config.workers,
        clock=RolloutClock(),
    )
    episodes = config.episodes_per_step
    learner = setup.learner.config
    passes, size = 1, None
    if isinstance(learner, SurrogateConfig):
        passes, size = learner.epochs, learner.microbatch_tokens
    learning = [counts[agent] for agent in engine.trained_agents]
    sampling = update = activations = 0.0
    microbatch_tokens = 0
    for agent, count in zip(engine.trained_agents, learning, strict=True):
        policy = setup.agent_policies[agent]
        if not count.longest_prompt or not isinstance(policy, TransformersPolicy):
            continue
        batch_tokens = (count.prompt_tokens + count.max_sampled_tokens) * episodes
        microbatch_tokens = max(
            microbatch_tokens, min(size or policy.microbatch_tokens, batch_tokens)
        )
        cost = _measure(policy, count, episodes, size or policy.microbatch_tokens)
        sampling += cost.sampling * count.max_sampled_tokens * episodes
        update += cost.update * batch_tokens * passes
        activations = max(activations, cost.activations * microbatch_tokens)
    models = [policy.model for policy in distinct_models(setup.agent_policies)]
    weights = {id(p): p.numel() * p.element_size() for m in models for p in m.parameters()}
    trained = {id(p): p.numel() for policy in engine.policies.values() for p in policy.parameters()}
    frozen = 0  # reference copies for kl
    if getattr(learner, "kl", 0.0):
        full_models = [policy for policy in engine.policies.values() if policy.adapter is None]
        frozen = sum(p.numel() * p.element_size() for m in full_models for p in m.parameters())
    answers = sum(count.completions for count in learning)
    return Estimate(
        answers_per_episode=answers,
        answers=answers * episodes,
        tokens_read=sum(count.prompt_tokens for count in learning) * episodes,
        tokens=sum(count.max_sampled_tokens for count in learning) * episodes,
        microbatch_tokens=microbatch_tokens,
        memory=_LIBRARY_BYTES
        + sum(weights.values())
        + frozen
        + 4 * _ADAM_NUMBERS * sum(trained.values())
        + activations,
        sampling_seconds=sampling,
        update_seconds=update,
        steps=config.steps,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    sampling: float  # seconds for each sampled token
    update: float  # seconds for each token of a pass with gradients
    activations: float  # bytes for each such token


def _measure(
    policy: TransformersPolicy, count: CountingPolicy, episodes: int, max_tokens: int
) -> _Cost:
    """Sample a few tokens after the longest prompt, and run passes with gradients on them.

    The number of completions sampled together is that of the run, up to 64, and the number of tokens in a
    pass is that of the run, up to 2048 and to ``max_tokens``. Both are done twice: the first time is a warm-up and
    is not timed.
    """
    short = policy.with_sampling(max_new_tokens=_TIMED_TOKENS)
    prompts = min(count.prompts * episodes, max(1, _MAX_TIMED_COMPLETIONS // count.group_size))
    text = count.observation
    requests = [  # different prompts, because equal ones are computed only once
        PolicyRequest(agent=count.agent, observation=text[i:] + text[:i], env=count.env)
        for i in range(prompts)
    ]
    for _ in range(2):
        started = time.monotonic()
        answers = short.respond(requests, count.group_size)
        sampling_seconds = time.monotonic() - started
    sampled = sum(len(completion.ids) for completions in answers for completion in completions)
    if sampled == 0:
        raise ConfigError(
            f"the longest prompt of {count.agent} leaves no room for a completion: use a model with a longer context"
        )
    longest_group = len(count.longest_prompt) + count.group_size * _TIMED_TOKENS
    groups = [
        Group(
            agent=count.agent,
            turn=0,
            key=(),
            prompt_ids=completions[0].prompt_ids,
            completions=tuple(completions),
            returns=(0.0,) * len(completions),
        )
        for completions in answers[: max(1, min(_MAX_PASS_TOKENS, max_tokens) // longest_group)]
    ]
    tokens = sum(
        len(group.prompt_ids) + sum(len(each.ids) for each in group.completions) for group in groups
    )
    weights = {p.untyped_storage().data_ptr() for p in policy.model.parameters()}
    for _ in range(2):
        kept: dict[int, int] = {}

        def keep(tensor: Tensor, kept: dict[int, int] = kept) -> Tensor:
            storage = tensor.untyped_storage()
            if storage.data_ptr() not in weights:
                kept[storage.data_ptr()] = storage.nbytes()
            return tensor

        started = time.monotonic()
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            loss = policy.likelihood(groups).logprobs.sum()
        loss.backward()
        update_seconds = time.monotonic() - started
        for parameter in policy.parameters():
            parameter.grad = None
    return _Cost(
        sampling=sampling_seconds / sampled,
        update=update_seconds / tokens,
        activations=_PEAK_OVER_SAVED * sum(kept.values()) / tokens,
    )

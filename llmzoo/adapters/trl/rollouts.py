"""``rollout_func``: several seats of one model in TRL's GRPO."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv

from llmzoo.adapters.trl.branches import Branch, Row, branch
from llmzoo.adapters.trl.table import Others, Table
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.records import Decision

if TYPE_CHECKING:
    from llmzoo.policies.transformers import TransformersPolicy


def rollout_func(
    env: str | Callable[[], AECEnv],
    *,
    seats: Sequence[str] | None = None,
    others: Others = "oracle",
    env_args: Mapping[str, Any] | None = None,
) -> Rollouts:
    """A ``rollout_func`` for ``trl.GRPOTrainer``: the model that it trains plays all ``seats``.

    ``seats`` (all by default), ``others`` and ``env_args`` as in
    :class:`llmzoo.adapters.trl.table.Table`. The rewards are :func:`decision_return`, the rows
    :func:`llmzoo.adapters.trl.dataset` with ``decisions``.
    """
    return Rollouts(Table(env, seats=seats, others=others, env_args=env_args))


class Rollouts:
    """Makes TRL's groups of single decisions.

    A sample of TRL is one prompt and one completion, and the K samples of a group share the prompt.
    The turns of an episode do not: each seat reads an observation of its own, which holds all that
    it may know. To write them one after another into one completion would show every seat what the
    others read and wrote, and train answers to prompts that are never given in play. So here a
    sample is one decision of one seat, with its observation as the prompt:

    1. The model plays the task of the row's seed up to the row's decision. Where the episode ends
       before, the number is counted round: of 3 decisions, number 4 is number 1.
    2. There the episode is copied K times, and the model plays each copy to its end.
    3. The K answers to that observation are the group. Each has as its return what its seat was
       paid from that answer on, to the end of its copy.

    The prompts of a group are identical by construction, and the mean return of the K copies is a
    baseline for the very state in which they branch. The answers before and after the decision are
    sampled and not trained on in this group; other rows train those places.

    Called by TRL with the prompts of one process, each repeated K times, and the trainer. Returns
    ``prompt_ids``, ``completion_ids``, ``logprobs`` (of the sampled tokens, under the trainer's
    temperature, top_p and top_k), ``env_mask`` (1 for the model's tokens, which are all but those
    of a sample whose prompt did not fit the context: that is one end token, and masked), and for
    reward functions ``decision_return``, ``success``, ``agent``, ``turn`` and ``observation``.

    Raises :class:`ConfigError` for a dataset of another make, a batch that divides a group between
    processes, and for settings of the trainer that this rollout does not know.
    """

    def __init__(self, table: Table):
        self.table = table
        self._calls = 0

    def __call__(self, prompts: Sequence[Any], trainer: Any) -> dict[str, list[Any]]:
        training = trainer.model.training
        k = trainer.num_generations if training else trainer.num_generations_eval
        rows = rows_of(prompts, k)
        self._calls += 1
        policy = _policy(trainer)
        try:
            branches = branch(self.table, policy, rows, k, (trainer.state.global_step, self._calls))
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
    """TRL's reward function for :func:`rollout_func`: what the seat was paid from its answer on.

    Logs ``success``, the share of the copies that succeeded, and ``return/AGENT`` of each seat; and
    in the table of completions who answered what.
    """
    log_metric("success", sum(success) / len(success))
    for seat in dict.fromkeys(agent):
        own = [r for r, a in zip(decision_return, agent, strict=True) if a == seat]
        log_metric(f"return/{seat}", sum(own) / len(own))
    log_extra("agent", list(agent))
    log_extra("turn", list(turn))
    log_extra("observation", list(observation))
    return list(decision_return)


def rows_of(prompts: Sequence[Any], k: int) -> list[Row]:
    """The row of each group, from TRL's prompts, which repeat it for all K samples.

    Raises :class:`ConfigError` for prompts of another make, and where a group is not whole.
    """
    try:
        rows = [Row(int(p[-1]["seed"]), int(p[-1]["decision"])) for p in prompts]
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
    """The model that TRL trains, sampling under the trainer's settings."""
    try:
        from llmzoo.policies.settings import Chat, Sampling
        from llmzoo.policies.transformers import TransformersPolicy
    except ModuleNotFoundError as error:
        raise MissingExtraError("TRL's rollout_func", "train", error.name) from error
    args = trainer.args
    foreign = {
        "use_vllm": args.use_vllm,
        "use_transformers_continuous_batching": args.use_transformers_continuous_batching,
        "min_p": args.min_p is not None,
        "repetition_penalty": args.repetition_penalty != 1.0,
        "generation_kwargs": bool(args.generation_kwargs),
    }
    for name, is_set in foreign.items():
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


def _samples(branches: Sequence[Branch], end: int) -> dict[str, list[Any]]:
    samples: dict[str, list[Any]] = {}
    for found in branches:
        index, decision = found.decision
        values = {
            **_sample(decision, end),
            "decision_return": found.episode.returns()[index],
            "success": found.episode.success,
            "agent": found.place.agent,
            "turn": found.place.turn,
            "observation": decision.observation,
        }
        for name, value in values.items():
            samples.setdefault(name, []).append(value)
    return samples


def _sample(decision: Decision, end: int) -> dict[str, Any]:
    completion = decision.completion
    if not completion.trainable:  # its prompt did not fit: TRL needs a token all the same
        return {"prompt_ids": [end], "completion_ids": [end], "logprobs": [0.0], "env_mask": [0]}
    return {
        "prompt_ids": list(completion.prompt_ids),
        "completion_ids": list(completion.ids),
        "logprobs": list(completion.logprobs),
        "env_mask": [1] * len(completion.ids),
    }

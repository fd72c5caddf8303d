"""Critics: they predict the values of turns, and are trained on targets."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import (
    compute_device,
    gather_weights,
    load_weights,
    named_weights,
    shard_like,
)
from llmzoo.errors import ConfigError
from llmzoo.learners.configs.critics import ActorCriticConfig
from llmzoo.learners.updates.batch_training import MEMORY_ADVICE, minibatches, optimizer_step
from llmzoo.learners.updates.microbatches import shard_microbatches
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.learners.updates.turns import AgentTrajectory, ScoredTurn, Turn
from llmzoo.learners.value_estimation import value_loss
from llmzoo.models import tensor_io
from llmzoo.models.likelihood import Likelihood
from llmzoo.models.lora import parameter_count
from llmzoo.models.memory import explain_out_of_memory
from llmzoo.models.packing import Segments, split_into_packs
from llmzoo.policies import check_model
from llmzoo.policies.critic_models import CriticModel, ValueHead
from llmzoo.policies.settings import Chat
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group

HEAD_LEARNING_RATE = 1e-3  # learning rate of a head; it starts at zero, so a high rate is safe


class ModelCritic:
    """A separate model that reads the agent's observation or, if ``central``, the global state.

    A central critic has one output for each of ``agents``; any other has a single output.
    """

    def __init__(
        self,
        policy: TransformersPolicy,
        config: ActorCriticConfig,
        agents: Sequence[str],
        *,
        central: bool,
        total_steps: int,
        name: str,
    ):
        start = policy
        if config.critic_model is not None:
            check_model(config.critic_model)
            start = TransformersPolicy.load(
                config.critic_model,
                device=str(compute_device(policy.model)),
                precision=policy.precision,
            )
            if start.tokenizer.chat_template == policy.tokenizer.chat_template:
                start = start.with_chat(policy.chat, policy.chats)
            elif start.tokenizer.chat_template is not None:
                start = start.with_chat(Chat(system=policy.chat.system))
            known = policy.tokenizer.get_vocab()
            if config.values == "token" and start.tokenizer.get_vocab() != known:
                raise ConfigError(
                    f"critic_model {config.critic_model!r} and the actor have different vocabularies, "
                    "so it cannot evaluate tokens: set values='turn'"
                )
        self.model = CriticModel.from_policy(
            start,
            outputs=len(agents) if central else 1,
            tokens=config.microbatch_tokens or policy.microbatch_tokens,
            precision=policy.precision or "float32",
            gradient_checkpointing=policy.gradient_checkpointing,
        )
        shard_like(self.model.body, policy.model)
        self._reader = start  # its tokenizer encodes the critic's inputs
        if start is not policy:
            start.model = self.model.body  # frees the loaded weights, which have been copied
        self._config, self._central = config, central
        self._output = {a: i if central else 0 for i, a in enumerate(agents)}
        policy_rate = (
            None if central else policy.learning_rate
        )  # a central critic belongs to no single policy
        self.optimizer = Optimizer(
            self.model.parameters(),
            config,
            rate=config.critic_learning_rate
            or policy_rate
            or config.rate_for(parameter_count(self.model.body)),
            total=max(1, total_steps * config.epochs * config.minibatches),
            name=f"the critic of {name}",
        )

    @torch.no_grad()
    def values(self, turns: Sequence[Turn]) -> list[Tensor]:
        """The values of each turn: [1], or [C], one before each token."""
        with gather_weights([self.model.body]):
            return ranks.map_sharded(turns, self._turn_values)

    @torch.no_grad()
    def final(self, trajectories: Sequence[AgentTrajectory]) -> list[float]:
        """The value of each trajectory's final observation, after its last turn."""
        with gather_weights([self.model.body]):
            return [float(value) for value in ranks.map_sharded(trajectories, self._final_values)]

    def _turn_values(self, turns: Sequence[Turn]) -> Sequence[Tensor]:
        return self._values(turns).cpu().split(_value_counts(turns, self._config))

    def _final_values(self, trajectories: Sequence[AgentTrajectory]) -> list[Tensor]:
        if self._central:
            read = [_encode(self._reader, c.final_state) for c in trajectories]
        else:
            read = [_encode(self._reader, c.final, c.agent) for c in trajectories]
        values = self.model.values(read).cpu()
        return [values[row, [self._output[c.agent]]] for row, c in enumerate(trajectories)]

    def learn(self, items: Sequence[ScoredTurn], rng: random.Random) -> dict[str, float]:
        """Train on turns with targets, with one optimiser step for each minibatch."""
        losses, norms = [], []
        for minibatch in minibatches(items, self._config, rng):
            step, metrics = optimizer_step(
                [self.optimizer],
                shard_microbatches(minibatch, self.model.tokens, self._split_microbatches),
                partial(self._loss, count=sum(len(item.targets) for item in minibatch)),
                size_option="microbatch_tokens",
                measure_size=self._count_tokens,
                model_label="the critic",
                remedy="lower critic_learning_rate",
            )
            norms.append(step["grad_norm"])
            losses.append(metrics["loss"])
        return {"value_loss": sum(losses) / len(losses), "value_grad_norm": sum(norms) / len(norms)}

    def _loss(self, microbatch: Sequence[ScoredTurn], *, count: int) -> tuple[Tensor, Metrics]:
        """The microbatch's share of the mean loss over ``count`` values."""
        now = self._values([item.turn for item in microbatch])
        return total_value_loss(now, microbatch, self._config.value_clip) / count, {}

    def _split_microbatches(
        self, items: Sequence[ScoredTurn], microbatch_tokens: int
    ) -> list[list[ScoredTurn]]:
        sizes = [self._count_tokens([item]) for item in items]
        return [[items[i] for i in pack] for pack in split_into_packs(sizes, microbatch_tokens)]

    def _count_tokens(self, items: Sequence[ScoredTurn]) -> int:
        return sum(len(self._text(item.turn)) + _completion_length(item.turn) for item in items)

    def save(self, folder: Path, name: str) -> None:
        tensor_io.save(named_weights(self.model), folder, f"{name}.critic")
        tensor_io.save(self.optimizer.state(), folder, f"{name}.critic_optimizer")

    def load(self, folder: Path, name: str) -> None:
        load_weights(self.model, tensor_io.load(folder, f"{name}.critic"))
        self.optimizer.load_state_dict(tensor_io.load(folder, f"{name}.critic_optimizer"))

    def _values(self, turns: Sequence[Turn]) -> Tensor:
        """The values of all turns, concatenated."""
        texts = [self._text(turn) for turn in turns]
        if self._config.values == "turn":
            outputs = torch.tensor([self._output[t.group.agent] for t in turns])
            values = self.model.values(texts)
            return values.gather(1, outputs.to(values.device).unsqueeze(1)).squeeze(1)
        completions = [t.group.completions[0].ids for t in turns]
        rows = self.model.token_values(texts, completions)
        return torch.cat([row[: len(ids)] for row, ids in zip(rows, completions, strict=True)])

    def _text(self, turn: Turn) -> tuple[int, ...]:
        if self._central:
            return _encode(self._reader, turn.state)
        return _encode(self._reader, turn.observation, turn.group.agent)


class HeadCritic:
    """A linear head on the actor's last hidden states, trained with the actor in one loss."""

    def __init__(
        self, policy: TransformersPolicy, config: ActorCriticConfig, *, total_steps: int, name: str
    ):
        self.policy = policy
        self.head = ValueHead(policy.model.config.hidden_size).to(compute_device(policy.model))
        self._config = config
        self.optimizer = Optimizer(
            self.head.parameters(),
            config,
            rate=config.critic_learning_rate or HEAD_LEARNING_RATE,
            total=max(1, total_steps * config.epochs * config.minibatches),
            name=f"the value head of {name}",
        )

    @torch.no_grad()
    def values(self, turns: Sequence[Turn]) -> list[Tensor]:
        """The values of each turn: [1], or [C], one before each token."""
        with gather_weights([self.policy.model]):
            return ranks.map_sharded(
                turns,
                lambda mine: self._row_values(
                    [t.group for t in mine], _value_counts(mine, self._config)
                ),
            )

    @torch.no_grad()
    def final(self, trajectories: Sequence[AgentTrajectory]) -> list[float]:
        """The value of each trajectory's final observation, after its last turn."""
        with gather_weights([self.policy.model]):
            return [float(value) for value in ranks.map_sharded(trajectories, self._final_values)]

    def _final_values(self, trajectories: Sequence[AgentTrajectory]) -> list[Tensor]:
        hidden = self.policy.prompt_hidden(
            [_encode(self.policy, c.final, c.agent) for c in trajectories]
        )
        return list(self.head(hidden).cpu())

    def _row_values(self, rows: Sequence[Group], sizes: Sequence[int]) -> list[Tensor]:
        """The values of groups with one completion each, in order."""
        values_of: dict[int, Tensor] = {}
        for agent in dict.fromkeys(group.agent for group in rows):
            indices = [i for i, group in enumerate(rows) if group.agent == agent]
            lengths = [len(rows[i].prompt_ids) + len(rows[i].completions[0].ids) for i in indices]
            for pack in split_into_packs(
                lengths, self._config.microbatch_tokens or self.policy.microbatch_tokens
            ):
                part = [indices[i] for i in pack]
                size = sum(lengths[at] for at in pack)
                with explain_out_of_memory(
                    "microbatch_tokens", size, "A pass of the critic", MEMORY_ADVICE
                ):
                    now = self.policy.likelihood([rows[i] for i in part], hidden=True)
                    values = self._values(now, [len(rows[i].completions[0].ids) for i in part])
                split = values.cpu().split([sizes[i] for i in part])
                values_of |= dict(zip(part, split, strict=True))
        return [values_of[i] for i in range(len(rows))]

    def total_loss(self, microbatch: Sequence[ScoredTurn], now: Likelihood) -> Tensor:
        """The value loss, summed over the values of a microbatch."""
        values = self._values(now, [_completion_length(item.turn) for item in microbatch])
        return total_value_loss(values, microbatch, self._config.value_clip)

    def save(self, folder: Path, name: str) -> None:
        tensor_io.save(self.head.state_dict(), folder, f"{name}.head")
        tensor_io.save(self.optimizer.state(), folder, f"{name}.head_optimizer")

    def load(self, folder: Path, name: str) -> None:
        load_weights(self.head, tensor_io.load(folder, f"{name}.head"))
        self.optimizer.load_state_dict(tensor_io.load(folder, f"{name}.head_optimizer"))

    def _values(self, now: Likelihood, lengths: Sequence[int]) -> Tensor:
        """The values of completions with these lengths, concatenated."""
        assert now.hidden is not None
        if self._config.values == "turn":
            return self.head(now.hidden[:, 0]).squeeze(-1)
        return Segments(lengths, now.hidden.device).flat(self.head(now.hidden).squeeze(-1))


def total_value_loss(values: Tensor, items: Sequence[ScoredTurn], clip: float | None) -> Tensor:
    """The value loss, summed over all values of ``items``, which ``values`` concatenates."""
    targets = torch.cat([item.targets for item in items]).to(values)
    old = torch.cat([item.old for item in items]).to(values)
    return value_loss(values, targets, old, clip).sum()


def _encode(reader: TransformersPolicy, text: str, agent: str | None = None) -> tuple[int, ...]:
    """The tokens of a text; one padding token for an empty text."""
    return reader.encode(text, agent) or (reader.pad_id,)


def _completion_length(turn: Turn) -> int:
    """The number of tokens in a turn's completion."""
    return len(turn.group.completions[0].ids)


def _value_counts(turns: Sequence[Turn], config: ActorCriticConfig) -> list[int]:
    if config.values == "turn":
        return [1] * len(turns)
    return [_completion_length(turn) for turn in turns]

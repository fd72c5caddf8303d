"""The frozen models whose distributions a student learns from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import compute_device, gather_weights, shard_like
from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError
from llmzoo.learners.updates.kl_reference import FrozenWeights
from llmzoo.learners.updates.microbatches import count_tokens
from llmzoo.models import lora
from llmzoo.models.divergence import DistillationTarget, TeacherPrediction
from llmzoo.models.packing import split_into_packs
from llmzoo.policies import SCRIPTED, check_model, refuse_server
from llmzoo.policies.base import Policy
from llmzoo.policies.run_models import resolve_start_model
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group


def assign_teachers(
    teacher: str | Mapping[str, str] | None, agents: Sequence[str]
) -> dict[str, str]:
    """The name of each agent's teacher. ``teacher``: one name for all, or one for each agent.

    Raises :class:`ConfigError` if an agent has no teacher, or one that cannot teach.
    """
    if not teacher:
        raise ConfigError(
            "distillation needs a teacher: set teacher to a model, its folder or a run folder, or to a "
            "mapping from agents to these"
        )
    for name in [teacher] if isinstance(teacher, str) else teacher.values():
        refuse_server(name)
        if name in SCRIPTED or name.startswith(ENDPOINT_PREFIX):
            raise ConfigError(
                f"{name!r} cannot teach, because its token probabilities are not available: name a model"
            )
    if isinstance(teacher, str):
        return dict.fromkeys(agents, teacher)
    without = [agent for agent in agents if agent not in teacher]
    if without:
        raise ConfigError(
            f"no teacher for {', '.join(without)}: name one for each agent that learns"
        )
    return {agent: teacher[agent] for agent in agents}


class Teachers(FrozenWeights):
    """The teacher of each learning agent. Teachers are loaded once, and not saved.

    A teacher that is the student's base model, or an adapter on it, runs on the student's own model. Any
    other teacher is a separate model on the student's device, sharded if the student's is, in the
    precision that it was saved in.

    Raises :class:`ConfigError` for a teacher that cannot be loaded or has a different tokenizer from the student.
    """

    def __init__(
        self,
        teacher: str | Mapping[str, str] | None,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        *,
        whole: bool,
    ):
        students = {
            agent: policy
            for agent, player in agent_policies.items()
            for policy in policies.values()
            if policy is player
        }
        self._models: dict[str, TransformersPolicy] = {}  # by name and the student's base
        self._by_agent: dict[str, TransformersPolicy] = {}
        named = assign_teachers(teacher, list(students))
        for agent, student in students.items():
            self._by_agent[agent] = self._load_teacher(
                resolve_start_model(named[agent], agent), student
            )
            _check_compatible(student, self._by_agent[agent], whole=whole)
        super().__init__(
            {agent: _all_weights(model) for agent, model in self._by_agent.items()},
            "teachers.json",
            "has a different teacher than at the start of the run: resume with the same one",
        )

    def _load_teacher(self, name: str, student: TransformersPolicy) -> TransformersPolicy:
        check_model(name)
        for host in (student, *self._models.values()):
            if lora.is_peft(host.model) and lora.is_based_on(host.model, name):
                key = f"{name} on {id(host.model)}"
                if key not in self._models:
                    adapter = (
                        lora.add_saved_adapter(host.model, name) if lora.is_adapter(name) else None
                    )
                    self._models[key] = host.with_adapter(adapter, name=name)
                return self._models[key]
        if name not in self._models:
            model = TransformersPolicy.load(name, device=str(compute_device(student.model)))
            model.model.requires_grad_(False)
            shard_like(model.model, student.model)
            self._models[name] = model
        return self._models[name]

    def logprobs(self, groups: Sequence[Group], student: TransformersPolicy) -> list[Tensor]:
        """For each group, the teacher's log-probabilities of all tokens, with its completions concatenated.

        They are at the student's temperature, without top-k and top-p.
        """
        with torch.no_grad(), gather_weights(self._all_models(groups)):
            return ranks.map_sharded(groups, lambda mine: self._teacher_logprobs(mine, student))

    def target(
        self, groups: Sequence[Group], student: TransformersPolicy, beta: float
    ) -> DistillationTarget:
        """The distributions that the groups' likelihood is compared with."""
        sizes = [sum(len(c.ids) for c in group.completions) for group in groups]
        ends = torch.tensor([0, *sizes]).cumsum(0).tolist()
        spans = [torch.arange(*span) for span in pairwise(ends)]
        predictions = []
        with gather_weights(self._all_models(groups)):
            for teacher, indices in self._by_teacher(groups).items():
                states, weight, bias = _at_student_temperature(
                    teacher, student, groups[indices[0]]
                ).states_and_head([groups[i] for i in indices])
                at = torch.cat([spans[i] for i in indices]).to(states.device)
                predictions.append(TeacherPrediction(at, states, weight, bias))
        return DistillationTarget(predictions, beta)

    def _all_models(self, groups: Sequence[Group]) -> Iterable[torch.nn.Module]:
        """The models of all teachers: every rank gathers the same ones, whatever groups it has."""
        return [teacher.model for teacher in self._by_agent.values()]

    def _by_teacher(self, groups: Sequence[Group]) -> dict[TransformersPolicy, list[int]]:
        found: dict[TransformersPolicy, list[int]] = {}
        for number, group in enumerate(groups):
            found.setdefault(self._by_agent[group.agent], []).append(number)
        return found

    def _teacher_logprobs(
        self, groups: Sequence[Group], student: TransformersPolicy
    ) -> list[Tensor]:
        scored: dict[int, Tensor] = {}
        for agent in dict.fromkeys(group.agent for group in groups):
            indices = [i for i, group in enumerate(groups) if group.agent == agent]
            teacher = _at_student_temperature(self._by_agent[agent], student, groups[indices[0]])
            for pack in split_into_packs(
                [count_tokens(groups[i]) for i in indices], teacher.microbatch_tokens
            ):
                part = [indices[i] for i in pack]
                now = teacher.likelihood([groups[i] for i in part])
                sizes = [sum(len(c.ids) for c in groups[i].completions) for i in part]
                split = now.logprobs[now.mask.bool()].cpu().split(sizes)
                scored |= dict(zip(part, split, strict=True))
        return [scored[i] for i in range(len(groups))]


def _at_student_temperature(
    teacher: TransformersPolicy, student: TransformersPolicy, group: Group
) -> TransformersPolicy:
    """The teacher at the temperature with which the student sampled the group."""
    return teacher.with_sampling_for_all(
        replace(student.sampling_for(group.agent), top_p=1.0, top_k=0)
    )


def _check_compatible(
    student: TransformersPolicy, teacher: TransformersPolicy, *, whole: bool
) -> None:
    """Raise :class:`ConfigError` for a teacher that cannot score what the student writes."""
    if student.tokenizer.get_vocab() != teacher.tokenizer.get_vocab():
        raise ConfigError(
            f"the teacher {teacher.name!r} and the student {student.name!r} have different tokenizers, "
            "so the teacher cannot score the student's tokens: choose models of one family, or train on the "
            "teacher's texts with sft"
        )
    if teacher.context < student.context:
        raise ConfigError(
            f"the teacher {teacher.name!r} has a context of {teacher.context} tokens, and the student "
            f"{student.name!r} one of {student.context}: choose a teacher with at least the student's context"
        )
    for model in (student, teacher) if whole else ():
        if not model.has_plain_head:
            raise ConfigError(
                f"{model.name!r} ({model.model.config.model_type}) may transform its logits after the "
                "output layer, so its distributions cannot be compared: set loss='reverse_kl'"
            )


def _all_weights(policy: TransformersPolicy) -> list[Tensor]:
    """All weights that a teacher computes with."""
    adapter_weights = (
        {} if policy.adapter is None else lora.adapter_parameters(policy.model, policy.adapter)
    )
    return [*lora.base_parameters(policy.model), *adapter_weights.values()]

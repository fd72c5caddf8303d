"""OPD: on-policy distillation from a teacher (arXiv 2306.13649, 2306.08543).

The per-token reverse KL as advantage follows Lu and Thinking Machines Lab, "On-Policy Distillation" (2025).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.errors import ConfigError, check_names
from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.groups import GroupConfig, JointConfig, JointLearner
from llmzoo.learners.losses import Reduction
from llmzoo.learners.updates.distillation import DistillationUpdater
from llmzoo.learners.updates.teachers import teachers_of
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group


@dataclass(frozen=True, slots=True, kw_only=True)
class OPDConfig(JointConfig):
    """A ``teacher`` must be named."""

    teacher: Mapping[str, str] | str | None = None  # model, folder or run; or one for each seat
    loss: Literal["reverse_kl", "jsd"] = "reverse_kl"  # of sampled tokens, or whole distributions
    beta: float | None = None  # of jsd: 0 is KL(teacher || student), 1 the reverse; None: 0.5
    discount: float = 0.0  # of the later tokens' part in a token's credit, with reverse_kl
    reward_weight: float = 0.0  # of the return minus the mean of its group
    group_size: int = 1
    reduction: Reduction = "token_mean"

    def __post_init__(self) -> None:
        JointConfig.__post_init__(self)
        if self.loss not in ("reverse_kl", "jsd"):
            raise ConfigError(f"loss is reverse_kl or jsd, got {self.loss!r}")
        if self.loss == "reverse_kl" and self.beta is not None:
            raise ConfigError("beta chooses among divergences of distributions: set loss='jsd'")
        if self.beta is not None and not 0.0 <= self.beta <= 1.0:
            raise ConfigError(f"beta must be in [0, 1], got {self.beta}")
        if not 0.0 <= self.discount <= 1.0:
            raise ConfigError(f"discount must be in [0, 1], got {self.discount}")
        if self.discount and self.loss == "jsd":
            raise ConfigError("discount is of sampled tokens: set loss='reverse_kl'")
        if self.reward_weight < 0:
            raise ConfigError(f"reward_weight must be at least 0, got {self.reward_weight}")
        if self.uninformative != "keep":
            raise ConfigError(
                "every answer has something from the teacher: uninformative is 'keep'"
            )
        if self.reward_weight and self.group_size == 1 and self.role_baseline is None:
            raise ConfigError(
                "rewards are compared within groups: set group_size to at least 2, or role_baseline"
            )
        of_rewards = {"normalize": False, "role_baseline": None, "rewards": (), "gamma": 1.0}
        of_rewards["whiten"] = False
        for name, default in of_rewards.items() if not self.reward_weight else ():
            if getattr(self, name) != default:
                raise ConfigError(f"{name} is about rewards, which do not count: set reward_weight")
        if self.clip is not None and self.loss == "jsd" and not self.reward_weight:
            raise ConfigError("the divergence has no ratio to clip: leave clip at None")

    @property
    def learns_from_all(self) -> bool:
        return bool(self.kl or self.entropy) or self.loss == "jsd"


class OPD(JointLearner):
    """Credit: a token's log-probability under a frozen teacher, minus its own.

    The student plays, and a teacher with the same tokenizer judges each token that it wrote, in the
    contexts that the student's own play leads to. Imitating the teacher's texts (``sft``) never shows it
    what to do after its own mistakes. The expected credit of a token is minus the KL from the teacher's
    distribution to the student's at that place, and the policy gradient with it is exactly the gradient
    of that KL: adding the gradient of log pi itself changes nothing on average. The teacher says
    something about every token, so no reward, no group and no critic is needed; rewards can be added
    with ``reward_weight``.

    ``loss="reverse_kl"`` uses the sampled tokens only. With ``discount`` above 0 a token is also credited
    for what it leads to within its answer; 1 is the reverse KL of whole answers (MiniLLM, arXiv
    2306.08543). ``loss="jsd"`` compares the distributions over the whole vocabulary (GKD, arXiv
    2306.13649), which has less noise and costs the teacher's logits.

    ``teacher`` may map seats to teachers. Seats that share a model then distil several specialists
    into one. A run folder has the teacher of each seat: its policy for this seat. The teacher reads the
    student's prompt as the student does, so its own chat settings do not matter.
    """

    Config: ClassVar[type[GroupConfig]] = OPDConfig
    config: OPDConfig

    @property
    def needs_differences(self) -> bool:
        return False

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        if isinstance(self.config.teacher, Mapping):
            check_names("seat that learns from a teacher", self.config.teacher, trained)
        teachers_of(self.config.teacher, list(trained))

    def credit(self, group: Group) -> Tensor:
        """The advantage of each completion by its return alone, before ``reward_weight``."""
        return mean_baseline(torch.tensor(group.returns))

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> DistillationUpdater:
        return DistillationUpdater(self, policies, seats, total_steps=total_steps)

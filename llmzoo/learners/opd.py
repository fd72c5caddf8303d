"""OPD: on-policy distillation from a teacher (arXiv 2306.13649, 2306.08543).

The per-token reverse KL as advantage follows Lu and Thinking Machines Lab, "On-Policy Distillation" (2025).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.groups import GroupConfig, OPDConfig
from llmzoo.learners.groups import JointLearner
from llmzoo.learners.updates.distillation import DistillationUpdater
from llmzoo.learners.updates.teachers import assign_teachers
from llmzoo.names import check_names
from llmzoo.records import Group


class OPD(JointLearner):
    """Credit: a token's log-probability under a frozen teacher minus that under the student.

    The student plays, and a teacher with the same tokenizer scores each token that the student wrote, in
    the contexts that the student's own play leads to. Imitating the teacher's texts (``sft``) never shows
    the student how to recover from its own mistakes. The expected credit of a token is minus the
    KL(student || teacher) at that position, and the policy-gradient loss with this credit has exactly the
    gradient of that KL, because the expectation of grad log pi is 0. The teacher scores every token, so
    no reward, group or critic is needed; rewards can be added with ``reward_weight``.

    ``loss="reverse_kl"`` uses the sampled tokens only. With ``discount`` above 0 a token is also credited
    for the later tokens of its completion; 1 gives the reverse KL of whole completions (MiniLLM, arXiv
    2306.08543). ``loss="jsd"`` compares the distributions over the whole vocabulary (GKD, arXiv
    2306.13649), which has less noise but needs the teacher's logits.

    ``teacher`` may map agents to teachers. Agents that share a model then distil several specialists into
    one. If it is a run folder, each agent's teacher is the run's policy for this agent. The teacher reads
    exactly the student's prompt, so its own chat settings have no effect.
    """

    Config: ClassVar[type[GroupConfig]] = OPDConfig
    config: OPDConfig

    @property
    def needs_return_variance(self) -> bool:
        return False

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        super().check(env, trained)
        if isinstance(self.config.teacher, Mapping):
            check_names("agent that learns from a teacher", self.config.teacher, trained)
        assign_teachers(self.config.teacher, list(trained))

    def credit(self, group: Group) -> Tensor:
        """The advantage of each completion from its return alone, before ``reward_weight``."""
        return mean_baseline(torch.tensor(group.returns))

    def updater(self, run: RunPolicies) -> DistillationUpdater:
        return DistillationUpdater(self, run)

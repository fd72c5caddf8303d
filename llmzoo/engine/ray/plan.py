"""What every worker is told about a run: names and numbers, from which it makes its own objects."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.engine.setup import Parallel, keep_freed_memory
from llmzoo.learners.base import Learner
from llmzoo.learners.make import build_learner
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run in names and numbers. Paths are relative to ``folder`` on machines that have it.

    ``policy_loader``: the function that loads the policies, as ``"module:function"``.
    """

    learner: str
    learner_args: Mapping[str, Any]
    env: str
    env_args: Mapping[str, Any]
    policy_loader: str
    agents: Sequence[str]
    settings: AgentSettings
    cohorts: int
    workers: int
    parallel: Parallel
    cpu_offload: bool
    total_steps: int
    folder: str

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(text: str) -> Plan:
        values = json.loads(text)
        return Plan(**{**values, "settings": AgentSettings.from_json(values["settings"])})

    def make_learner(self) -> Learner:
        return build_learner(self.learner, self.learner_args, self.settings.agent_args)

    def make_env(self) -> AECEnv:
        return registry.make(self.env, **self.env_args)

    def load_policies(
        self, only: str | None = None
    ) -> tuple[dict[str, Policy], dict[str, TransformersPolicy]]:
        """The policy of every agent, and those that learn; ``only``: see ``runs.policy_loading.load_policies``."""
        load = registry.load_object(self.policy_loader)
        policies: tuple[dict[str, Policy], dict[str, TransformersPolicy]] = load(
            self.agents, self.settings, only=only
        )
        return policies


def set_up_worker(plan: Plan, *, gpus: float, threads: int) -> None:
    """Set up a worker's process: its folder, its threads, and no GPU unless it was given one."""
    if os.path.isdir(plan.folder):
        os.chdir(plan.folder)
    torch.set_num_threads(threads)
    if not gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        keep_freed_memory()


def worker_threads(cpus: float) -> int:
    """The number of threads of a worker: this process's where OMP_NUM_THREADS is set, or its CPUs."""
    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else max(1, int(cpus))

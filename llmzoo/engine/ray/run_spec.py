"""The settings of a run that every worker gets, and from which it builds its own objects."""

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
class RunSpec:
    """A run as JSON values. Relative paths start at ``folder``, on machines that have this folder.

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
    def from_json(text: str) -> RunSpec:
        values = json.loads(text)
        return RunSpec(**{**values, "settings": AgentSettings.from_json(values["settings"])})

    def make_learner(self) -> Learner:
        return build_learner(self.learner, self.learner_args, self.settings.agent_args)

    def make_env(self) -> AECEnv:
        return registry.make(self.env, **self.env_args)

    def load_policies(
        self, only: str | None = None
    ) -> tuple[dict[str, Policy], dict[str, TransformersPolicy]]:
        """The policy of every agent, and the learning policies by name.

        ``only``: see ``runs.policy_loading.load_policies``.
        """
        load = registry.load_object(self.policy_loader)
        policies: tuple[dict[str, Policy], dict[str, TransformersPolicy]] = load(
            self.agents, self.settings, only=only
        )
        return policies


def set_up_worker(run_spec: RunSpec, *, gpus: float, threads: int) -> None:
    """Set up a worker's process: its folder and threads. A worker without GPUs sees none."""
    if os.path.isdir(run_spec.folder):
        os.chdir(run_spec.folder)
    torch.set_num_threads(threads)
    if not gpus:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        keep_freed_memory()


def worker_threads(cpus: float) -> int:
    """A worker's number of threads: that of this process if OMP_NUM_THREADS is set, or its number of CPUs."""
    return torch.get_num_threads() if "OMP_NUM_THREADS" in os.environ else max(1, int(cpus))
